//! The arguments of a call, for the user: its command and other long texts, also while they arrive.
//!
//! Arguments arrive as pieces of JSON. [`ArgumentReader`] follows them character by character, so the cost of
//! a piece does not grow with earlier text, and the text may be cut anywhere.

use serde_json::Value;

use crate::printable::{self, Printable, RETURN, decision_line, spell_hidden};

/// Names of the argument that is a command.
const COMMAND: [&str; 2] = ["command", "cmd"];
/// Names of the argument that is a path.
const PATH: [&str; 2] = ["path", "file_path"];

/// Text of a call's arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallArguments {
    /// The command that the call runs; empty if none.
    pub command: Printable,
    /// The other texts, in order. Of complete arguments, only multi-line ones.
    pub texts: Vec<ArgumentText>,
    /// The file of the call, and its first line; only of complete arguments.
    pub file: Option<(String, Option<u32>)>,
}

/// A text argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgumentText {
    pub name: Printable,
    pub text: Printable,
}

impl CallArguments {
    /// The arguments of a complete call.
    pub(crate) fn of(arguments: &Value) -> Self {
        let mut found = Self::default();
        let Value::Object(fields) = arguments else { return found };
        let line = fields.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
        let path = PATH.iter().find_map(|name| fields.get(*name)?.as_str());
        found.file = path.map(|path| (path.to_owned(), line));
        for (name, value) in fields {
            match value {
                Value::String(text) if COMMAND.contains(&name.as_str()) => found.command = command(text),
                value => found.add(name, value),
            }
        }
        found
    }

    /// The text that is arriving, if it has several lines.
    pub fn growing(&self) -> Option<&ArgumentText> {
        self.texts.last().filter(|argument| argument.text.contains('\n'))
    }

    fn add(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if text.trim_end().contains('\n') => {
                let text = Printable::new(&spell_hidden(text));
                self.texts.push(ArgumentText { name: Printable::line(name), text });
            }
            Value::Array(list) => list.iter().for_each(|value| self.add(name, value)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| self.add(name, value)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// All arguments of a call that needs a decision, each with its name.
pub(crate) fn all(arguments: &Value) -> Vec<ArgumentText> {
    let mut texts = Vec::new();
    add_all("", arguments, &mut texts);
    texts
}

fn add_all(name: &str, value: &Value, texts: &mut Vec<ArgumentText>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => fields.iter().for_each(|(field, value)| {
            let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
            add_all(&name, value, texts);
        }),
        value => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            texts.push(ArgumentText { name: decision_line(name), text: printable::decision_text(&text) });
        }
    }
}

/// A command as multi-line text; carriage returns are marks, and hidden characters are spelled.
pub(crate) fn command(text: &str) -> Printable {
    Printable::new(&spell_hidden(&text.replace('\r', RETURN)))
}

/// Reads arguments while they arrive.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ArgumentReader {
    /// The open objects (true) and arrays (false).
    open: Vec<bool>,
    /// Whether the next string is a key.
    expects_key: bool,
    place: Place,
    key: String,
    escape: Escape,
    /// The first half of a pair of `\u` escapes.
    high: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    #[default]
    Outside,
    Key,
    Command,
    Text,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Escape {
    #[default]
    None,
    Begun,
    /// `\u`, after this many hex digits.
    Unicode(u8, u16),
}

impl ArgumentReader {
    /// Reads the next piece.
    pub(crate) fn feed(&mut self, piece: &str, into: &mut CallArguments) {
        for c in piece.chars() {
            match (self.place, self.escape) {
                (Place::Outside, _) => self.outside(c, into),
                (_, Escape::None) => match c {
                    '"' => self.end(into),
                    '\\' => self.escape = Escape::Begun,
                    c => self.character(c, into),
                },
                (_, Escape::Begun) => self.escape_char(c, into),
                (_, Escape::Unicode(digits, code)) => self.digit(c, digits, code, into),
            }
        }
    }

    fn outside(&mut self, c: char, into: &mut CallArguments) {
        match c {
            '{' | '[' => {
                self.open.push(c == '{');
                self.expects_key = c == '{';
            }
            '}' | ']' => drop(self.open.pop()),
            ',' => self.expects_key = self.open.last().copied().unwrap_or_default(),
            ':' => self.expects_key = false,
            '"' if self.expects_key => {
                self.key.clear();
                self.place = Place::Key;
            }
            '"' if self.open.len() == 1 && COMMAND.contains(&self.key.as_str()) => {
                into.command = Printable::default();
                self.place = Place::Command;
            }
            '"' => {
                let name = Printable::line(&self.key);
                into.texts.push(ArgumentText { name, text: Printable::default() });
                self.place = Place::Text;
            }
            _ => {}
        }
    }

    fn end(&mut self, into: &mut CallArguments) {
        if self.high.take().is_some() {
            self.put('\u{FFFD}', into);
        }
        self.place = Place::Outside;
    }

    fn escape_char(&mut self, c: char, into: &mut CallArguments) {
        self.escape = Escape::None;
        match c {
            'u' => self.escape = Escape::Unicode(0, 0),
            'n' => self.character('\n', into),
            't' => self.character('\t', into),
            'r' => self.character('\r', into),
            'b' => self.character('\u{8}', into),
            'f' => self.character('\u{c}', into),
            c => self.character(c, into),
        }
    }

    fn digit(&mut self, c: char, digits: u8, code: u16, into: &mut CallArguments) {
        let code = (code << 4) | c.to_digit(16).and_then(|digit| u16::try_from(digit).ok()).unwrap_or(0);
        if digits < 3 {
            self.escape = Escape::Unicode(digits + 1, code);
            return;
        }
        self.escape = Escape::None;
        match (self.high.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let pair = char::decode_utf16([high, code]).next().and_then(Result::ok);
                self.put(pair.unwrap_or('\u{FFFD}'), into);
            }
            (lone, 0xD800..=0xDBFF) => {
                if lone.is_some() {
                    self.put('\u{FFFD}', into);
                }
                self.high = Some(code);
            }
            (lone, code) => {
                if lone.is_some() {
                    self.put('\u{FFFD}', into);
                }
                self.put(char::from_u32(u32::from(code)).unwrap_or('\u{FFFD}'), into);
            }
        }
    }

    fn character(&mut self, c: char, into: &mut CallArguments) {
        if self.high.take().is_some() {
            self.put('\u{FFFD}', into);
        }
        self.put(c, into);
    }

    fn put(&mut self, c: char, into: &mut CallArguments) {
        if self.place == Place::Key {
            self.key.push(c);
            return;
        }
        // In other texts it ends a line.
        let is_mark = c == '\r' && self.place == Place::Command;
        let mut bytes = [0; 4];
        self.append(if is_mark { RETURN } else { c.encode_utf8(&mut bytes) }, into);
    }

    fn append(&self, text: &str, into: &mut CallArguments) {
        match self.place {
            Place::Command => into.command.append(text),
            Place::Text => {
                if let Some(last) = into.texts.last_mut() {
                    last.text.append(text);
                }
            }
            Place::Outside | Place::Key => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> CallArguments {
        let (mut reader, mut found) = (ArgumentReader::default(), CallArguments::default());
        pieces.iter().for_each(|piece| reader.feed(piece, &mut found));
        found
    }

    #[test]
    fn a_command_is_read_wherever_its_text_is_cut() {
        let text =
            r#"{"timeout": 5, "command": "echo \"a\\b\"\n\ud83d\ude00 caf\u00e9\r\nrm x\ry", "n": ["p\nq"]}"#;
        let whole = CallArguments::of(&serde_json::from_str(text).unwrap());
        assert_eq!(whole.command.as_str(), "echo \"a\\b\"\n😀 café␍\nrm x␍y");
        assert_eq!(whole.texts[0].text.as_str(), "p\nq");
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (first, last) = text.split_at(cut);
            assert_eq!(read(&[first, last]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn an_unfinished_command_is_there_as_far_as_it_has_come() {
        assert_eq!(read(&[r#"{"command":"cd /tmp\nls -"#]).command.as_str(), "cd /tmp\nls -");
        let edit = read(&[r#"{"path":"a.rs","edits":[{"command":"no","new_string":"fn a() {\n  b"#]);
        assert!(edit.command.is_empty(), "only an argument of the call itself is a command");
        assert_eq!(edit.growing().map(|growing| growing.text.as_str()), Some("fn a() {\n  b"));
        assert_eq!(read(&[r#"{"path":"a.rs"#]).growing(), None, "one line needs no rows of its own");
    }

    #[test]
    fn what_is_no_json_does_no_harm() {
        let lone = read(&[r#"{"command":"a\ud83dx\udc00\uZZ12"#]);
        assert_eq!(lone.command, Printable::new("a\u{FFFD}x\u{FFFD}\u{12}"));
        for text in ["", "]]}}", "{{{{\"", "\"\\", r#"{"a":{"b":"#, "[1,2", "nul"] {
            let _ = read(&[text]);
        }
    }
}
