//! Saves one setting in `config.toml` and leaves the rest of the file as the user wrote it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::private_files::{LockFile, read_capped, write_private};
use super::{MAX_BYTES, Settings, SettingsError, read_toml_text};

/// Sets a text at the top level of the file, which is made when missing.
///
/// # Errors
/// When the file cannot be read or written, when it is not understood (it is then left alone), or
/// when the setting does not take a text.
pub fn save(path: &Path, key: &str, value: &str) -> Result<(), SettingsError> {
    let failed = |error: io::Error| SettingsError(format!("{}: {error}", path.display()));
    let _lock = LockFile::take(&path.with_extension("toml.lock")).map_err(failed)?;
    let text = match read_capped(path, MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| SettingsError(format!("{}: not UTF-8; save it as UTF-8 text", path.display())))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let text = with(path, &text, key, value)?;
    write_private(path, text.as_bytes()).map_err(failed)
}

/// The text with the setting in it.
fn with(path: &Path, text: &str, key: &str, value: &str) -> Result<String, SettingsError> {
    let known: BTreeMap<String, toml::Spanned<toml::Value>> = read_toml_text(path, text)?;
    let value = toml::Value::from(value).to_string();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let changed = match known.get(key).map(toml::Spanned::span) {
        Some(span) => match (text.get(..span.start), text.get(span.end..)) {
            (Some(before), Some(after)) => format!("{before}{value}{after}"),
            _ => text.to_owned(),
        },
        // Settings of the top level must come before the first table.
        None => format!("{key} = {value}\n{text}"),
    };
    read_toml_text::<Settings>(path, &changed)?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::with;

    #[test]
    fn only_the_setting_changes() {
        let check = |text: &str, key: &str, value: &str, expected: &str| {
            let changed = with(Path::new("config.toml"), text, key, value);
            assert_eq!(changed.unwrap_or_else(|error| error.to_string()), expected);
        };
        check("", "theme", "day", "theme = \"day\"\n");
        check("# mine\ntheme = 'x' # why\n", "theme", "day", "# mine\ntheme = \"day\" # why\n");
        check("[keys]\nquit = []\n", "model", "a/b", "model = \"a/b\"\n[keys]\nquit = []\n");
        check("theme = \"a\"", "model", "q\"r", "model = 'q\"r'\ntheme = \"a\"");
        check("them = 1\n", "theme", "x", "config.toml:2: unknown name `them`; did you mean `theme`?");
        check("a = = 1\n", "theme", "x", "config.toml:1: extra `=`, expected nothing");
    }
}
