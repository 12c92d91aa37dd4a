//! Reads a TOML file of the user into a type; errors name the file and the line.

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::private_files::read_capped;
use super::{MAX_BYTES, SettingsError};

/// The line that a byte of a text is on, from 1.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte.min(text.len())).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1)
}

/// The value in a file; `None` without a file.
///
/// # Errors
/// `<file>:<line>: <what is wrong>`, also when it is no regular file or too large.
pub(crate) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, SettingsError> {
    let bytes = match read_capped(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SettingsError(format!("{}: {error}", path.display()))),
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| SettingsError(format!("{}: not UTF-8; save it as UTF-8 text", path.display())))?;
    read_toml_text(path, &text).map(Some)
}

/// The value in a text that came from `path`.
///
/// # Errors
/// As [`read_toml`].
pub(crate) fn read_toml_text<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, SettingsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_of(text, span.start));
        let place = line.map_or_else(String::new, |line| format!(":{line}"));
        SettingsError(format!("{}{place}: {}", path.display(), explain(error.message())))
    })
}

/// The reason with the nearest known word in place of a list of all of them.
fn explain(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let Some((head, list)) = first.split_once(", expected ") else { return first.to_owned() };
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let (given, known) = (quoted(head), quoted(list));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = given.first().map(|given| similar::get_close_matches(given.as_str(), &known, 1, 0.6));
    match near.unwrap_or_default().first() {
        Some(near) => format!("{head}, did you mean `{near}`?"),
        None => first.to_owned(),
    }
}
