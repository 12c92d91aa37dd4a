//! A form that an MCP server asks the user to fill in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::quiet::Quiet;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use tau_protocol::command::QuestionAnswer;
use tau_protocol::form::{FieldKind, FormField};
use tau_tools::user_error::UserError;

/// The form on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct FormView {
    /// The id of the question that it answers.
    pub id: String,
    /// The server that asks.
    pub server: String,
    pub message: String,
    pub fields: Vec<FieldView>,
    /// Index of a field, or behind the fields of the button that sends or the one that declines.
    pub selected: usize,
    /// The reason why the form was not sent.
    pub wrong: Option<Printable>,
    pub(crate) quiet: Quiet,
}

/// A field with the user's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldView {
    pub field: FormField,
    pub entry: FieldEntry,
}

/// The content of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FieldEntry {
    Line(LineEdit),
    /// Yes or no; `None` until it is decided.
    Switch(Option<bool>),
    /// The number of an option; `None` until one is chosen.
    Choice(Option<usize>),
    /// The chosen options, and the option at the cursor.
    Choices {
        chosen: Vec<bool>,
        at: usize,
    },
}

impl FieldView {
    fn new(field: FormField) -> Self {
        let default = field.default.as_ref();
        let entry = match &field.kind {
            FieldKind::String { .. } => FieldEntry::Line(LineEdit::new(
                default.and_then(Value::as_str).map(clean).unwrap_or_default(),
            )),
            FieldKind::Number { .. } => {
                FieldEntry::Line(LineEdit::new(default.map(Value::to_string).unwrap_or_default()))
            }
            FieldKind::Boolean => FieldEntry::Switch(default.and_then(Value::as_bool)),
            FieldKind::Choice { options } => {
                let is_default = |value: &str| default.and_then(Value::as_str) == Some(value);
                FieldEntry::Choice(options.iter().position(|option| is_default(&option.value)))
            }
            FieldKind::Choices { options, .. } => {
                let defaults = default.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let is_default = |value: &str| defaults.iter().any(|default| default == value);
                let chosen = options.iter().map(|option| is_default(&option.value)).collect();
                FieldEntry::Choices { chosen, at: 0 }
            }
        };
        FieldView { field, entry }
    }

    /// Whether it was changed.
    pub(crate) fn is_begun(&self) -> bool {
        *self != FieldView::new(self.field.clone())
    }

    /// The value; `None` if the field is empty.
    fn value(&self) -> Result<Option<Value>, UserError> {
        let value = match (&self.entry, &self.field.kind) {
            (FieldEntry::Line(line), _) => return self.field.parse(line.text()),
            (FieldEntry::Switch(on), _) => on.map(Value::from),
            (FieldEntry::Choice(at), FieldKind::Choice { options }) => {
                at.and_then(|at| options.get(at)).map(|option| json!(option.value))
            }
            (FieldEntry::Choices { chosen, .. }, FieldKind::Choices { options, .. }) => {
                let values = options.iter().zip(chosen).filter(|(_, chosen)| **chosen);
                let values: Vec<Value> = values.map(|(option, _)| json!(option.value)).collect();
                (self.field.required || !values.is_empty()).then_some(Value::Array(values))
            }
            (FieldEntry::Choice(_) | FieldEntry::Choices { .. }, _) => None,
        };
        match &value {
            Some(value) => self.field.check(value)?,
            None if self.field.required => return Err("it is required".into()),
            None => {}
        }
        Ok(value)
    }

    /// Handles a key; false when the field does not use it.
    fn key(&mut self, key: Key) -> bool {
        let step = match key.code {
            KeyCode::Left => Some(-1),
            KeyCode::Right => Some(1),
            _ => None,
        };
        let is_space = key.typed_char() == Some(' ');
        match &mut self.entry {
            FieldEntry::Line(line) => line.key(key) || line.move_key(key),
            FieldEntry::Switch(on) if is_space || step.is_some() => {
                *on = Some(!on.unwrap_or(false));
                true
            }
            FieldEntry::Choice(at) => {
                let FieldKind::Choice { options } = &self.field.kind else { return false };
                let Some(step) = step.or(is_space.then_some(1)) else { return false };
                *at = Some(match at {
                    Some(at) => step_wrapping(*at, step, options.len()),
                    None if step > 0 => 0,
                    None => options.len().saturating_sub(1),
                });
                true
            }
            FieldEntry::Choices { chosen, at } => match step {
                Some(step) => {
                    *at = step_wrapping(*at, step, chosen.len());
                    true
                }
                None if is_space => {
                    if let Some(chosen) = chosen.get_mut(*at) {
                        *chosen = !*chosen;
                    }
                    true
                }
                None => false,
            },
            FieldEntry::Switch(_) => false,
        }
    }
}

/// The index `step` further, wrapping at the ends.
fn step_wrapping(at: usize, step: isize, count: usize) -> usize {
    at.checked_add_signed(step).map_or(count.saturating_sub(1), |at| if at < count { at } else { 0 })
}

/// A text without control characters, as if typed.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

impl FormView {
    /// A form with the defaults of its fields.
    pub(crate) fn new(id: String, server: &str, message: &str, fields: &[FormField], now: Millis) -> Self {
        FormView {
            id,
            server: server.to_owned(),
            message: message.to_owned(),
            fields: fields.iter().cloned().map(FieldView::new).collect(),
            selected: 0,
            wrong: None,
            quiet: Quiet::new(now),
        }
    }

    /// Whether it has these fields.
    pub(crate) fn asks(&self, others: &[FieldView]) -> bool {
        let is_same = |(own, other): (&FieldView, &FieldView)| own.field == other.field;
        self.fields.len() == others.len() && self.fields.iter().zip(others).all(is_same)
    }

    /// Whether the send button is selected.
    pub fn is_at_send(&self) -> bool {
        self.selected == self.fields.len()
    }

    /// Whether the decline button is selected.
    pub fn is_at_decline(&self) -> bool {
        self.selected > self.fields.len()
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key) -> KeyOutcome<QuestionAnswer> {
        let back = (KeyCode::Tab, Mods::SHIFT) == (key.code, key.mods);
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => {
                return KeyOutcome::Done(QuestionAnswer::Cancelled);
            }
            (KeyCode::Up, _) => self.selected = self.selected.saturating_sub(1),
            _ if back => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down | KeyCode::Tab, _) => self.next(),
            (KeyCode::Enter, _) if self.is_at_decline() => return KeyOutcome::Done(QuestionAnswer::Declined),
            (KeyCode::Enter, _) if self.is_at_send() => {
                if let Some(values) = self.values() {
                    return KeyOutcome::Done(QuestionAnswer::Form(values));
                }
            }
            (KeyCode::Enter, _) => self.next(),
            _ => {
                let field = self.fields.get_mut(self.selected);
                if !field.is_some_and(|field| field.key(key)) {
                    return KeyOutcome::Ignored;
                }
                self.wrong = None;
            }
        }
        KeyOutcome::Handled
    }

    fn next(&mut self) {
        self.selected = (self.selected + 1).min(self.fields.len() + 1);
    }

    /// The values of all fields. Selects the first field that cannot be sent.
    fn values(&mut self) -> Option<Map<String, Value>> {
        let mut values = Map::new();
        for (index, view) in self.fields.iter().enumerate() {
            match view.value() {
                Ok(Some(value)) => drop(values.insert(view.field.name.clone(), value)),
                Ok(None) => {}
                Err(why) => {
                    self.wrong = Some(Printable::line(&format!("{}: {why}", view.field.title)));
                    self.selected = index;
                    return None;
                }
            }
        }
        Some(values)
    }

    /// Inserts pasted text.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(FieldView { entry: FieldEntry::Line(line), .. }) = self.fields.get_mut(self.selected) {
            line.paste(text);
            self.wrong = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> FormView {
        let field =
            |name: &str, required, schema: Value| FormField::of_schema(name, required, &schema).unwrap();
        let fields = [
            field("name", true, json!({"type": "string"})),
            field("age", false, json!({"type": "integer", "minimum": 1, "default": 7})),
            field("news", true, json!({"type": "boolean"})),
            field("color", false, json!({"type": "string", "enum": ["red", "blue"]})),
            field("days", false, json!({"type": "array", "items": {"enum": ["mo", "tu", "we"]}})),
        ];
        FormView::new("e1".to_owned(), "demo", "Who?", &fields, 0)
    }

    fn press(form: &mut FormView, keys: &[&str]) -> Option<QuestionAnswer> {
        let mut answer = None;
        for name in keys {
            match form.key(name.parse().unwrap()) {
                KeyOutcome::Done(done) => answer = Some(done),
                KeyOutcome::Closed | KeyOutcome::Handled | KeyOutcome::Ignored => {}
            }
        }
        answer
    }

    #[test]
    fn a_form_is_filled_in_and_sent() {
        let mut form = form();
        let keys =
            ["A", "d", "a", "enter", "backspace", "4", "enter", "space", "enter", "right", "right", "down"];
        assert_eq!(press(&mut form, &keys), None);
        assert_eq!(press(&mut form, &["space", "left", "space", "tab", "shift+tab", "down"]), None);
        assert!(form.is_at_send());
        let values = json!({"name": "Ada", "age": 4, "news": true, "color": "blue", "days": ["mo", "we"]});
        let answer = press(&mut form, &["enter"]);
        assert_eq!(answer, Some(QuestionAnswer::Form(values.as_object().unwrap().clone())));
    }

    #[test]
    fn what_is_wrong_is_said_and_selected() {
        let mut form = form();
        form.selected = 5;
        assert_eq!(press(&mut form, &["enter"]), None);
        assert_eq!((form.selected, form.wrong.as_ref().unwrap().as_str()), (0, "name: it is required"));
        form.paste("Ada\nLovelace");
        press(&mut form, &["down", "backspace", "0", "down", "down", "down", "down", "enter"]);
        assert_eq!((form.selected, form.wrong.as_ref().unwrap().as_str()), (1, "age: it must be at least 1"));
        assert_eq!(press(&mut form, &["esc"]), Some(QuestionAnswer::Cancelled));
        form.selected = 6;
        assert_eq!(press(&mut form, &["enter"]), Some(QuestionAnswer::Declined));
    }
}
