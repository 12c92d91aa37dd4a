//! Texts with placeholders for the arguments of a call.
//!
//! `{name}` stands for an argument, `{tool_dir}` for the folder of the tool's file, `{{` and `}}` for literal
//! braces.
//!
//! A placeholder is a name of letters, digits and `_`; other braces are text, so words of awk need no
//! escaping. A filled-in value becomes part of one word and is never parsed again.

use serde_json::{Map, Value};
use tau_tools::shell_word;
use tau_tools::user_error::UserError;

/// The placeholder for the folder of the tool's file.
pub(super) const TOOL_DIR: &str = "tool_dir";

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Plain(String),
    /// The value of an argument.
    Argument(String),
    ToolDir,
}

impl Text {
    /// Parses a text; `is_known` tells whether an argument exists. The error is a sentence about a
    /// placeholder without an argument.
    pub(super) fn parse(text: &str, is_known: impl Fn(&str) -> bool) -> Result<Self, UserError> {
        let mut pieces = Vec::new();
        let (mut plain, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
                continue;
            }
            if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
                continue;
            }
            let Some((name, after)) = placeholder(from) else {
                plain.extend(from.chars().next());
                rest = from.get(1..).unwrap_or_default();
                continue;
            };
            let piece = match name {
                TOOL_DIR => Piece::ToolDir,
                name if is_known(name) => Piece::Argument(name.to_owned()),
                name => {
                    return Err(format!(
                        "no argument is called `{name}`; write {{{{{name}}}}} if the text itself is meant"
                    )
                    .into());
                }
            };
            if !plain.is_empty() {
                pieces.push(Piece::Plain(std::mem::take(&mut plain)));
            }
            pieces.push(piece);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        Ok(Text(pieces))
    }

    /// The argument, if the text consists only of its placeholder.
    pub(super) fn only_argument(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// The arguments that it begins with: their values decide whether a program takes the word for an option.
    pub(super) fn first_arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map_while(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Plain(_) | Piece::ToolDir => None,
        })
    }

    /// The arguments that it uses.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Plain(_) | Piece::ToolDir => None,
        })
    }

    /// The words of the text with these values: none without a value for one of its arguments, one for each
    /// value of a list, otherwise one.
    pub(super) fn fill(&self, values: &Map<String, Value>, tool_dir: &str) -> Vec<String> {
        if let Some(name) = self.only_argument() {
            return match values.get(name) {
                None => Vec::new(),
                Some(Value::Array(list)) => list.iter().map(word).collect(),
                Some(value) => vec![word(value)],
            };
        }
        let filled: Option<String> = self
            .0
            .iter()
            .map(|piece| match piece {
                Piece::Plain(text) => Some(text.clone()),
                Piece::ToolDir => Some(tool_dir.to_owned()),
                Piece::Argument(name) => values.get(name).map(word),
            })
            .collect();
        filled.into_iter().collect()
    }

    /// The text for display: an argument without a value leaves a gap, the values of a list are joined.
    pub(super) fn display(&self, values: &Map<String, Value>) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Plain(text) => text.clone(),
            Piece::ToolDir => String::new(),
            Piece::Argument(name) => match values.get(name) {
                None => String::new(),
                Some(Value::Array(list)) => list.iter().map(word).collect::<Vec<_>>().join(" "),
                Some(value) => word(value),
            },
        };
        self.0.iter().map(piece).collect()
    }
}

/// The name of the placeholder at the beginning of `text`, and the rest.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    is_name(name).then_some((name, after))
}

/// Whether `name` is valid for an argument.
pub(super) fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The first placeholder in a command line for a shell, where placeholders are not allowed.
pub(super) fn placeholder_in_shell_text(text: &str, is_known: impl Fn(&str) -> bool) -> Option<&str> {
    let mut before = None;
    for (at, c) in text.char_indices() {
        if c == '{'
            && before != Some('$')
            && let Some((name, _)) = text.get(at..).and_then(placeholder)
            && (is_known(name) || name == TOOL_DIR)
        {
            return Some(name);
        }
        before = Some(c);
    }
    None
}

pub(super) fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Words quoted for a shell, for display.
pub(super) fn quote_words(words: &[String]) -> String {
    words.iter().map(|word| shell_word::quote(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(text: &str, values: &Value) -> Vec<String> {
        let text = Text::parse(text, |name| ["a", "list", "n", "gone"].contains(&name)).unwrap();
        text.fill(values.as_object().unwrap(), "/tools")
    }

    #[test]
    fn values_become_parts_of_one_word() {
        let values = json!({"a": "x; rm -rf {n} $(id) '\"", "list": ["1 2", "{a}"], "n": 3});
        assert_eq!(fill("{a}", &values), ["x; rm -rf {n} $(id) '\""]);
        assert_eq!(fill("--max={n}", &values), ["--max=3"]);
        assert_eq!(fill("{list}", &values), ["1 2", "{a}"]);
        assert_eq!(fill("{tool_dir}/run", &values), ["/tools/run"]);
        assert_eq!(fill("--x={gone}", &values), [""; 0]);
        assert_eq!(fill("{gone}", &values), [""; 0]);
        for text in ["{print $1}", "{}", "}{", "{ a }", "{a"] {
            assert_eq!(fill(text, &values), [text]);
        }
        assert_eq!(fill("{{a}} {{", &values), ["{a} {"]);
        assert!(Text::parse("{other}", |_| false).unwrap_err().contains("no argument is called `other`"));
    }

    #[test]
    fn words_are_quoted_for_people() {
        let words = ["git", "log", "it's", "", "a b", "--x=1"].map(str::to_owned);
        assert_eq!(quote_words(&words), r"git log 'it'\''s' '' 'a b' --x=1");
        let known = |name: &str| name == "a";
        assert_eq!(placeholder_in_shell_text("echo ${a} {b} {a,b} { a; }", known), None);
        assert_eq!(placeholder_in_shell_text("echo \"{a}\"", known), Some("a"));
        assert_eq!(placeholder_in_shell_text("{tool_dir}/x", known), Some("tool_dir"));
    }
}
