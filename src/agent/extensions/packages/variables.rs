//! Variables in the files of a package: its folders, and those that only Claude Code can fill in.

use serde_json::Value;

use crate::settings::private_files::parse_json;
use tau_tools::user_error::UserError;

/// The names by which files of a package call its folder.
const ROOTS: [&str; 3] = ["${CLAUDE_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT", "${PACKAGE_ROOT}"];
/// The names by which they call the folder for what it keeps.
const DATA: [&str; 2] = ["${CLAUDE_PLUGIN_DATA}", "$CLAUDE_PLUGIN_DATA"];
/// Prefixes of variables that have no value in tau.
const UNKNOWN: [&str; 1] = ["${user_config."];

/// The JSON text with the package's folder in place of its names.
pub(super) fn with_root(text: &str, root: &str) -> String {
    with_folder(text.trim_start_matches('\u{feff}').to_owned(), &ROOTS, root)
}

/// The JSON text with the folder for what the package keeps in place of its names.
pub(super) fn with_data(text: String, data: &str) -> String {
    with_folder(text, &DATA, data)
}

/// Whether a text names the folder for what the package keeps.
pub(super) fn has_data(text: &str) -> bool {
    DATA.iter().any(|name| text.contains(name))
}

fn with_folder(text: String, names: &[&str], folder: &str) -> String {
    let folder = Value::from(folder).to_string();
    names.iter().fold(text, |text, name| text.replace(name, folder.trim_matches('"')))
}

/// Fails when a part needs a value that tau does not have: without it, a command would do something else.
pub(super) fn check_known(part: &Value) -> Result<(), UserError> {
    let text = part.to_string();
    let unknown = UNKNOWN.iter().find_map(|start| text.get(text.find(start)?..));
    match unknown {
        None => Ok(()),
        Some(from) => {
            let end = |c: char| !(c.is_ascii_alphanumeric() || "${_.".contains(c));
            let name = from.split(end).next().unwrap_or_default();
            let close = if name.contains('{') { "}" } else { "" };
            Err(UserError::new(format!("{name}{close} has no value in tau")))
        }
    }
}

/// Removes the hooks that need such a value; returns the file, and an error for each of them.
pub(super) fn usable_hooks(text: String) -> (String, Vec<UserError>) {
    let (mut file, mut problems) = (parse_json(&text).unwrap_or(Value::Null), Vec::new());
    for (event, groups) in file.get_mut("hooks").and_then(Value::as_object_mut).into_iter().flatten() {
        for group in groups.as_array_mut().into_iter().flatten() {
            let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) else { continue };
            hooks.retain(|hook| match check_known(hook) {
                Ok(()) => true,
                Err(error) => {
                    problems.push(UserError::new(format!("a hook of {event} is not used: {error}")));
                    false
                }
            });
        }
    }
    (if problems.is_empty() { text } else { file.to_string() }, problems)
}
