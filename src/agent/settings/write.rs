//! Saves a setting in `config.toml` and leaves the rest of the file unchanged.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::private_files::{SharedFile, read_capped, unless_absent, write_as_before};
use super::table::SettingRow;
use super::value::ValueKind;
use super::{MAX_BYTES, Settings, read_toml_text};
use tau_tools::user_error::UserError;

/// Sets a text at the top level of the file, which is created if missing. Fails when the file cannot be read
/// or written, when it cannot be parsed (it is then left alone), or when the setting does not accept a text.
pub fn save(file: &SharedFile, key: &str, value: &str) -> Result<(), UserError> {
    change(file, |table| put(table, key, Some(Value::from(value))))
}

/// Sets a setting to a typed value, or removes it.
pub fn set(file: &SharedFile, row: &SettingRow, value: Option<&str>) -> Result<(), UserError> {
    let value = value.map(|text| parse_value(row.kind, text));
    match row.key.split_once('.') {
        Some((group, key)) => change(file, |table| {
            put_into(table, group, BTreeMap::from([(key.to_owned(), value)]));
        }),
        None => change(file, |table| put(table, row.key, value)),
    }
}

/// Adds a text to the list of a setting in a group, unless it has it. A value that is not a list is left alone.
pub fn append(file: &SharedFile, (group, key): (&str, &str), text: &str) -> Result<(), UserError> {
    change(file, |file| {
        let table = file.entry(group).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut();
        let list = table.map(|table| table.entry(key).or_insert_with(|| Item::Value(Array::new().into())));
        if let Some(list) = list.and_then(Item::as_array_mut)
            && !list.iter().any(|known| known.as_str() == Some(text))
        {
            list.push(text);
        }
    })
}

/// Sets the keys of actions, or removes them.
pub fn set_keys(file: &SharedFile, keys: &BTreeMap<String, Option<Vec<String>>>) -> Result<(), UserError> {
    let list = |keys: &Vec<String>| Value::Array(keys.iter().collect());
    let values = keys.iter().map(|(action, keys)| (action.clone(), keys.as_ref().map(list))).collect();
    change(file, |table| put_into(table, "keys", values))
}

/// The typed text as a TOML value. A malformed number is refused later, when the file is checked.
pub fn parse_value(kind: ValueKind, text: &str) -> Value {
    let text = text.trim();
    match kind {
        ValueKind::Switch => text.parse().map_or_else(|_| Value::from(text), |on: bool| Value::from(on)),
        ValueKind::Number | ValueKind::Seconds => {
            text.parse().map_or_else(|_| Value::from(text), |number: i64| Value::from(number))
        }
        ValueKind::Temperature | ValueKind::Dollars => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Value::from(whole),
            (_, Ok(number)) => Value::from(number),
            _ => Value::from(text),
        },
        ValueKind::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.collect::<Array>())
        }
        ValueKind::Text
        | ValueKind::Path
        | ValueKind::Address
        | ValueKind::AddressOrFolder
        | ValueKind::Choice(_)
        | ValueKind::Table
        | ValueKind::Servers
        | ValueKind::Hooks => Value::from(text),
    }
}

/// Changes the file; the result is refused if it does not match the settings.
pub(super) fn change(file: &SharedFile, apply: impl FnOnce(&mut Table)) -> Result<(), UserError> {
    let path = file.path();
    let failed = |error: io::Error| UserError::new(format!("{}: {error}", path.display()));
    let _lock = file.lock().map_err(UserError::of)?;
    let text = match read_capped(path, MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| UserError::new(format!("{}: not UTF-8; save it as UTF-8 text", path.display())))?,
        Err(error) => match unless_absent(path, error) {
            Some(error) => return Err(failed(error)),
            None => String::new(),
        },
    };
    let changed = with(path, &text, apply)?;
    if changed == text { Ok(()) } else { write_as_before(path, changed.as_bytes()).map_err(failed) }
}

/// Checks a text of a settings file, before it is written by other means. Fails when it is not TOML, or does
/// not match the settings.
pub fn check(path: &Path, text: &str) -> Result<(), UserError> {
    read_toml_text::<Settings>(path, text).map(drop)
}

/// The changed text, with the line ends and the byte order mark of the text.
pub(super) fn with(path: &Path, text: &str, apply: impl FnOnce(&mut Table)) -> Result<String, UserError> {
    // A file that is not TOML is reported like an error in the settings.
    let _: BTreeMap<String, toml::Value> = read_toml_text(path, text)?;
    let bare = text.strip_prefix(MARK).unwrap_or(text);
    let mut file: DocumentMut = bare
        .parse()
        .map_err(|error: toml_edit::TomlError| UserError::new(format!("{}: {error}", path.display())))?;
    apply(file.as_table_mut());
    let mut changed = file.to_string().replace("\r\n", "\n");
    read_toml_text::<Settings>(path, &changed)?;
    let header = header(&bare.replace("\r\n", "\n"));
    if !changed.contains(&header) {
        changed.insert_str(0, &header);
    }
    if bare.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r')) {
        changed = changed.replace('\n', "\r\n");
    }
    Ok(if bare.len() < text.len() { format!("{MARK}{changed}") } else { changed })
}

/// The byte order mark of UTF-8.
const MARK: char = '\u{feff}';

/// The comment at the beginning of a file: to the last blank line before the first setting, if there is one. TOML
/// takes it for a part of that setting.
fn header(text: &str) -> String {
    let is_above = |line: &&str| line.trim_start().starts_with('#') || line.trim().is_empty();
    let above: Vec<&str> = text.split_inclusive('\n').take_while(is_above).collect();
    let blank = above.iter().rposition(|line| line.trim().is_empty());
    above.iter().take(blank.map_or(above.len(), |at| at + 1)).copied().collect()
}

/// Sets a value in a table, or removes it.
fn put(table: &mut dyn TableLike, key: &str, value: Option<Value>) {
    match (table.get_mut(key), value) {
        (Some(item), Some(mut value)) => {
            // A comment after the old value belongs to the setting.
            if let Some(old) = item.as_value() {
                *value.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(value);
        }
        (None, Some(value)) => drop(table.insert(key, Item::Value(value))),
        (_, None) => drop(table.remove(key)),
    }
}

/// Sets values in a table of the file, which is created if missing. A value that is not a table is left
/// alone, and refused when the file is checked.
fn put_into(file: &mut Table, name: &str, values: BTreeMap<String, Option<Value>>) {
    if values.values().all(Option::is_none) && !file.contains_key(name) {
        return;
    }
    let table = file.entry(name).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut();
    let Some(table) = table else { return };
    for (key, value) in values {
        put(table, &key, value);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toml_edit::Value;

    use super::super::table;
    use super::{SharedFile, append, parse_value, put, put_into, with};

    fn text_after_change(text: &str, key: &str, value: Option<Value>) -> String {
        let change = |file: &mut toml_edit::Table| put(file, key, value);
        with(Path::new("config.toml"), text, change).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn keys_go_into_their_table_and_comments_stay() {
        let check = |text: &str, keys: &[(&str, Option<&[&str]>)], expected: &str| {
            let list = |keys: &[&str]| Value::Array(keys.iter().copied().collect());
            let keys = keys.iter().map(|(name, keys)| ((*name).to_owned(), keys.map(list))).collect();
            let written = with(Path::new("config.toml"), text, |file| put_into(file, "keys", keys));
            assert_eq!(written.unwrap_or_else(|error| error.to_string()), expected);
        };
        check("", &[("help", Some(&["f9", "f1"]))], "[keys]\nhelp = [\"f9\", \"f1\"]\n");
        let text = "mouse = false # no\n\n[keys] # mine\nhelp = [\"f9\"] # far\n# two\ntop = []\n";
        let expected = "mouse = false # no\n\n[keys] # mine\nhelp = [\"f8\"] # far\n# two\ntop = []\n";
        check(text, &[("help", Some(&["f8"]))], expected);
        let expected = "mouse = false # no\n\n[keys] # mine\n# two\ntop = []\n";
        check(text, &[("help", None)], expected);
        check(
            "keys = { help = [\"f9\"] }\n",
            &[("top", Some(&[]))],
            "keys = { help = [\"f9\"] , top = [] }\n",
        );
    }

    #[test]
    fn only_the_setting_changes() {
        let check = |text: &str, key: &str, value: &str, expected: &str| {
            assert_eq!(text_after_change(text, key, Some(Value::from(value))), expected);
        };
        check("", "theme", "day", "theme = \"day\"\n");
        check("# mine\ntheme = 'x' # why\n", "theme", "day", "# mine\ntheme = \"day\" # why\n");
        check("[keys]\nquit = []\n", "model", "a/b", "model = \"a/b\"\n[keys]\nquit = []\n");
        check("theme = \"a\"", "model", "q\"r", "theme = \"a\"\nmodel = 'q\"r'\n");
        check("them = 1\n", "theme", "x", "config.toml:1: unknown name `them`; did you mean `theme`?");
        check(
            "a = = 1\n",
            "theme",
            "x",
            "config.toml:1: is not valid TOML (extra `=`, expected nothing); fix the line",
        );
    }

    #[test]
    fn a_setting_is_reset_and_the_comments_of_others_stay() {
        let text = "# one\ntheme = \"a\" # two\n# three\nmouse = false\n\n# four\n[keys]\nquit = [] # five\n";
        let expected = "# one\ntheme = \"a\" # two\n\n# four\n[keys]\nquit = [] # five\n";
        assert_eq!(text_after_change(text, "mouse", None), expected);
        assert_eq!(text_after_change(expected, "mouse", None), expected);
    }

    #[test]
    fn the_comment_at_the_beginning_stays() {
        for (text, expected) in [
            ("# mine\n\n# why\ntheme = \"a\"\nmouse = false\n", "# mine\n\nmouse = false\n"),
            ("# mine\ntheme = \"a\"\n", "# mine\n"),
            ("# mine\n\n[keys]\nquit = []\n", "# mine\n\n[keys]\nquit = []\n"),
            ("\n# mine\n\n\ntheme = \"a\"\n[keys]\n", "\n# mine\n\n\n[keys]\n"),
        ] {
            assert_eq!(text_after_change(text, "theme", None), expected);
            assert_eq!(text_after_change(expected, "theme", None), expected);
        }
        let text = "# mine\n\n[keys]\nquit = []\n";
        let with_theme = text_after_change(text, "theme", Some(Value::from("a")));
        assert_eq!(with_theme.matches("# mine").count(), 1, "{with_theme}");
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_stay() {
        let day = || Some(Value::from("day"));
        let text = "\u{feff}# mine\r\ntheme = \"a\" # why\r\n\r\n[keys]\r\nquit = []\r\n";
        assert_eq!(text_after_change(text, "theme", day()), text.replace("\"a\"", "\"day\""));
        let added = text_after_change("mouse = false\r\n", "theme", day());
        assert_eq!(added, "mouse = false\r\ntheme = \"day\"\r\n");
        assert_eq!(text_after_change("# mine\r\ntheme = \"a\"\r\n", "theme", None), "# mine\r\n");
    }

    #[test]
    fn what_is_typed_is_written_as_its_type() {
        for (key, text, written) in [
            ("mouse", "false", "mouse = false\n"),
            ("prose_width", "80", "prose_width = 80\n"),
            ("undo_quota", "9", "undo_quota = 9\n"),
            ("tools", "read, bash", "tools = [\"read\", \"bash\"]\n"),
            ("thinking", "high", "thinking = \"high\"\n"),
            ("ca_file", "/x y", "ca_file = \"/x y\"\n"),
        ] {
            let row = table::row(key).unwrap();
            assert_eq!(text_after_change("", key, Some(parse_value(row.kind, text))), written);
        }
    }

    #[test]
    fn an_entry_is_added_and_the_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "[sandbox]\nwritable = [\"/srv/a,b\"] # mine\n").unwrap();
        for text in ["/srv/c", "/srv/c"] {
            append(&SharedFile::new(path.clone(), dir.path().join("lock")), ("sandbox", "writable"), text)
                .unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "[sandbox]\nwritable = [\"/srv/a,b\", \"/srv/c\"] # mine\n");
    }
}
