//! Reads a TOML file of the user into a type; errors name the file and the line.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use super::MAX_BYTES;
use super::names::GROUPS;
use super::private_files::{read_capped, unless_absent};
use super::toml_errors::{explain, not_toml};
use tau_tools::user_error::UserError;

/// The line number of a byte in a text, from 1.
pub fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte.min(text.len())).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1)
}

/// The value of a file; `None` if it does not exist. The error is `<file>:<line>: <problem>`, also when it is
/// not a regular file or too large.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, UserError> {
    read_file(path)?.map(|text| read_toml_text(path, &text)).transpose()
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read_file(path: &Path) -> Result<Option<String>, UserError> {
    let bytes = match read_capped(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => match unless_absent(path, error) {
            Some(error) => return Err(UserError::new(format!("{}: {error}", path.display()))),
            None => return Ok(None),
        },
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| UserError::new(format!("{}: not UTF-8; save it as UTF-8 text", path.display())))?;
    Ok(Some(text))
}

/// The value of a text from `path`.
pub fn read_toml_text<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, UserError> {
    parse_toml(text).map_err(|problem| {
        let place = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        UserError::new(format!("{}{place}: {}", path.display(), problem.text))
    })
}

/// A problem with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// A sentence.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// The value of a text.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    let text = bare(text);
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_of(text, span.start));
        let text = match DeTable::parse(text) {
            Ok(_) => explain(error.message()),
            Err(_) => not_toml(error.message()),
        };
        Problem { line, text }
    })
}

/// The text without a byte order mark.
pub(super) fn bare(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Problems in a file, in the order of their lines.
pub(super) fn in_lines<T: Display + Ord>(path: &Path, mut wrong: Vec<(usize, T)>) -> Vec<UserError> {
    wrong.sort();
    let place = path.display();
    wrong.into_iter().map(|(line, text)| UserError::new(format!("{place}:{line}: {text}"))).collect()
}

/// The valid values of a text from `path`, one per top-level key, and the problems of the others, each with its key. A
/// text that is not TOML has no values, and a problem with an empty key.
pub(super) fn values_of<T: DeserializeOwned>(path: &Path, text: &str) -> (Vec<T>, Vec<(String, UserError)>) {
    let given: BTreeMap<toml::Spanned<String>, toml::Value> = match read_toml_text(path, text) {
        Ok(given) => given,
        Err(error) => return (Vec::new(), vec![(String::new(), error)]),
    };
    let (mut values, mut wrong) = (Vec::new(), Vec::new());
    let spanned =
        given.into_iter().map(|(key, value)| (line_of(text, key.span().start), key.into_inner(), value));
    for (line, key, alone) in spanned.flat_map(|given| parts(text, given)) {
        match alone.try_into() {
            Ok(value) => values.push(value),
            Err(error) => {
                let place = path.display();
                let why = explain(error.message());
                // The reader reports the place in a table: "in `model`".
                let said = error.to_string();
                let at = said.split_once("\nin `").and_then(|(_, rest)| rest.split_once('`'));
                let why = match (at, why.strip_prefix("this needs ")) {
                    (Some((name, _)), Some(needs)) => format!("`{name}` needs {needs}"),
                    _ => why,
                };
                wrong.push((line, (key, UserError::new(format!("{place}:{line}: {why}")))));
            }
        }
    }
    wrong.sort_by_key(|(line, _)| *line);
    (values, wrong.into_iter().map(|(_, error)| error).collect())
}

/// A top-level key with its value, as a table of its own; for a table of settings, each key of it, as
/// `sandbox.level`.
fn parts(text: &str, (line, key, value): (usize, String, toml::Value)) -> Vec<(usize, String, toml::Table)> {
    let is_group = GROUPS.contains(&&*key);
    match value {
        toml::Value::Table(table) if is_group => {
            let part = |(inner, value): (String, toml::Value)| {
                let line = line_in(text, &[&key, &inner]).unwrap_or(line);
                let name = format!("{key}.{inner}");
                let alone = toml::Table::from_iter([(inner, value)]);
                (line, name, toml::Table::from_iter([(key.clone(), toml::Value::Table(alone))]))
            };
            table.into_iter().map(part).collect()
        }
        value => vec![(line, key.clone(), toml::Table::from_iter([(key, value)]))],
    }
}

/// The line on which a file sets a key, given with the names of its tables; `None` if it does not.
pub fn line_of_key(path: &Path, names: &[&str]) -> Option<usize> {
    line_in(bare(&read_file(path).ok().flatten()?), names)
}

fn line_in(text: &str, names: &[&str]) -> Option<usize> {
    let given = DeTable::parse(text).ok()?;
    let (mut table, mut line) = (Some(given.get_ref()), None);
    for name in names {
        let (key, value) = table?.iter().find(|(key, _)| key.get_ref() == name)?;
        line = Some(line_of(text, key.span().start));
        table = value.get_ref().as_table();
    }
    line
}
