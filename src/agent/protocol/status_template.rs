//! The template of the status line: text with named parts, at the left and at the right.
//!
//! `{name}` is a part, `{fill}` separates the left from the right, and text in `[brackets]` is shown only if
//! each part in it has something to show. A doubled `{{`, `}}`, `[[` or `]]` is a literal character.

use std::iter::Peekable;
use std::str::Chars;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tau_tools::user_error::UserError;

/// The content of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusPart {
    /// The directory, with the home directory as `~`.
    Path,
    /// The branch of the repository.
    Branch,
    /// The name of the session, if it has one.
    Session,
    Provider,
    /// The name of the model.
    Model,
    /// The thinking level, if the model has levels.
    Thinking,
    /// The number of tokens sent and received.
    Tokens,
    Cost,
    /// How much of the plan's fullest limit is used.
    Plan,
    /// The fill level of the context window.
    Context,
    /// The mode of Vim keys.
    Mode,
    /// The permission mode.
    Permissions,
    /// The sandbox of commands and files.
    Sandbox,
    /// The goal: its round, or that it is paused.
    Goal,
    /// The number of background jobs that run.
    Jobs,
    /// The output of `status_command`.
    Command,
}

impl StatusPart {
    /// The parts with their names, in the order of the documentation.
    pub const NAMES: [(&'static str, StatusPart); 16] = [
        ("path", StatusPart::Path),
        ("branch", StatusPart::Branch),
        ("session", StatusPart::Session),
        ("provider", StatusPart::Provider),
        ("model", StatusPart::Model),
        ("thinking", StatusPart::Thinking),
        ("tokens", StatusPart::Tokens),
        ("cost", StatusPart::Cost),
        ("plan", StatusPart::Plan),
        ("context", StatusPart::Context),
        ("mode", StatusPart::Mode),
        ("permissions", StatusPart::Permissions),
        ("sandbox", StatusPart::Sandbox),
        ("goal", StatusPart::Goal),
        ("jobs", StatusPart::Jobs),
        ("command", StatusPart::Command),
    ];
}

/// Text or a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusAtom {
    Text(String),
    Part(StatusPart),
}

/// Atoms that are shown together, if each part among them has something to show.
pub type StatusGroup = Vec<StatusAtom>;

/// A template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusTemplate {
    source: String,
    /// The left part.
    pub left: Vec<StatusGroup>,
    /// The right part.
    pub right: Vec<StatusGroup>,
}

/// The default template.
pub const DEFAULT_STATUS_LINE: &str = "{path}[ ({branch})][ · {session}]{fill}[{goal} · ][{jobs} · ][{tokens} · ][{cost} · ][{plan} · ]\
     [{context} · ][{command} · ]{model}[ · {thinking}] · {permissions}[ · {sandbox}]";

impl Default for StatusTemplate {
    fn default() -> Self {
        let nothing = || StatusTemplate { source: String::new(), left: Vec::new(), right: Vec::new() };
        StatusTemplate::parse(DEFAULT_STATUS_LINE).unwrap_or_else(|_| nothing())
    }
}

/// The state of reading a template.
struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    sides: Vec<Vec<StatusGroup>>,
    /// The group in brackets that is being read.
    group: Option<StatusGroup>,
    text: String,
}

impl StatusTemplate {
    /// The template's source text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Parses a template.
    pub fn parse(source: &str) -> Result<Self, UserError> {
        let mut reader = Reader {
            chars: source.chars().peekable(),
            sides: vec![Vec::new()],
            group: None,
            text: String::new(),
        };
        while let Some(c) = reader.chars.next() {
            reader.take(c)?;
        }
        reader.end_text();
        if reader.group.is_some() {
            return Err("`[` without `]` (write `[[` for the sign itself)".into());
        }
        let mut sides = reader.sides.into_iter();
        let (left, right) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
        Ok(StatusTemplate { source: source.to_owned(), left, right })
    }
}

impl Reader<'_> {
    fn take(&mut self, c: char) -> Result<(), UserError> {
        if matches!(c, '{' | '}' | '[' | ']') && self.chars.next_if_eq(&c).is_some() {
            self.text.push(c);
            return Ok(());
        }
        match c {
            '{' => {
                self.end_text();
                let name: String = std::iter::from_fn(|| self.chars.next_if(|c| *c != '}')).collect();
                self.chars.next().ok_or("`{` without `}` (write `{{` for the sign itself)")?;
                return self.part(&name);
            }
            '[' if self.group.is_none() => {
                self.end_text();
                self.group = Some(Vec::new());
            }
            ']' if self.group.is_some() => {
                self.end_text();
                let group = self.group.take();
                self.sides.last_mut().into_iter().for_each(|side| side.extend(group.clone()));
            }
            '[' | ']' | '}' => {
                return Err(
                    format!("`{c}` where it means nothing (write `{c}{c}` for the sign itself)").into()
                );
            }
            c => self.text.push(c),
        }
        Ok(())
    }

    fn part(&mut self, name: &str) -> Result<(), UserError> {
        if name == "fill" {
            if self.sides.len() > 1 || self.group.is_some() {
                return Err("`{fill}` may occur once, outside of brackets".into());
            }
            self.sides.push(Vec::new());
            return Ok(());
        }
        let known = StatusPart::NAMES;
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, part)) => self.push(StatusAtom::Part(*part)),
            None => {
                let names = known.map(|(name, _)| name).join(", ");
                return Err(
                    format!("the status line has no part `{{{name}}}`; it has {names} and fill").into()
                );
            }
        }
        Ok(())
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.push(StatusAtom::Text(text));
        }
    }

    fn push(&mut self, atom: StatusAtom) {
        match (&mut self.group, self.sides.last_mut()) {
            (Some(group), _) => group.push(atom),
            (None, Some(side)) => side.push(vec![atom]),
            (None, None) => {}
        }
    }
}

impl Serialize for StatusTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for StatusTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StatusTemplate::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_two_sides_of_groups() {
        let text = |text: &str| StatusAtom::Text(text.to_owned());
        let part = StatusAtom::Part;
        let read = StatusTemplate::parse("a {path}[ ({branch})]{fill}[[{cost}}}").unwrap();
        assert_eq!(
            read.left,
            [
                vec![text("a ")],
                vec![part(StatusPart::Path)],
                vec![text(" ("), part(StatusPart::Branch), text(")")]
            ]
        );
        assert_eq!(read.right, [vec![text("[")], vec![part(StatusPart::Cost)], vec![text("}")]]);
        assert_eq!(StatusTemplate::default().source(), DEFAULT_STATUS_LINE);
    }

    #[test]
    fn faults_are_named() {
        for (template, fault) in [
            ("{pth}", "no part `{pth}`; it has path, branch, session"),
            ("{path", "`{` without `}`"),
            ("[{path}", "`[` without `]`"),
            ("[a[b]]", "`[` where it means nothing"),
            ("a]", "`]` where it means nothing"),
            ("{fill}{fill}", "may occur once"),
        ] {
            let error = StatusTemplate::parse(template).unwrap_err();
            assert!(error.contains(fault), "{template}: {error}");
        }
    }
}
