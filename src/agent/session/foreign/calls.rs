//! Converts calls of tools that tau also has to tau's names and arguments.
//!
//! The model that continues then sees its own tools, and the screen draws their panels. All other calls are
//! unchanged.

use serde_json::{Map, Value, json};

use super::content::text_of;
use tau_protocol::message::{Block, ToolCall};

pub(super) fn call(id: &str, name: &str, arguments: Value) -> Block {
    let (name, arguments) = translate(name, arguments);
    Block::ToolCall(ToolCall { id: id.to_owned(), name, arguments, thought_signature: None })
}

fn translate(name: &str, arguments: Value) -> (String, Value) {
    let known = match name {
        "Bash" | "bash" | "exec_command" | "shell_command" | "shell" | "local_shell" => bash(&arguments),
        "Read" | "read" => rename_arguments("read", &arguments, &["offset", "limit"]),
        "Write" | "write" => rename_arguments("write", &arguments, &["content"]),
        "Edit" | "edit" => rename_arguments("edit", &arguments, &["old_string", "new_string", "replace_all"]),
        _ => None,
    };
    known.map_or_else(|| (name.to_owned(), arguments), |(name, arguments)| (name.to_owned(), arguments))
}

fn bash(arguments: &Value) -> Option<(&'static str, Value)> {
    let command = match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(command) => command.clone(),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            match words?.as_slice() {
                [_, "-c" | "-lc", script] => (*script).to_owned(),
                words => words.join(" "),
            }
        }
        _ => return None,
    };
    Some(("bash", json!({ "command": command })))
}

/// Renames arguments: the file to `path`, and the others to tau's names.
fn rename_arguments(name: &'static str, arguments: &Value, kept: &[&str]) -> Option<(&'static str, Value)> {
    let path = ["path", "file_path", "filePath"].iter().find_map(|field| text_of(arguments, field))?;
    let mut fields = Map::from_iter([("path".to_owned(), Value::from(path))]);
    for field in kept {
        let other = camel(field);
        if let Some(value) =
            arguments.get(*field).or_else(|| arguments.get(&other)).filter(|value| !value.is_null())
        {
            fields.insert((*field).to_owned(), value.clone());
        }
    }
    Some((name, Value::Object(fields)))
}

/// `old_string` as `oldString`.
fn camel(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|c| c.to_ascii_uppercase()).into_iter();
        text + &initial.chain(letters).collect::<String>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_known_tools_are_translated() {
        let cases = [
            ("Bash", json!({"command": "ls", "description": "x"}), "bash", json!({"command": "ls"})),
            ("exec_command", json!({"cmd": "ls"}), "bash", json!({"command": "ls"})),
            ("shell", json!({"command": ["bash", "-lc", "ls | wc"]}), "bash", json!({"command": "ls | wc"})),
            ("Read", json!({"file_path": "a", "limit": 3}), "read", json!({"path": "a", "limit": 3})),
            (
                "edit",
                json!({"filePath": "a", "oldString": "b", "newString": "c"}),
                "edit",
                json!({"path": "a", "old_string": "b", "new_string": "c"}),
            ),
            ("Task", json!({"prompt": "x"}), "Task", json!({"prompt": "x"})),
            ("Read", json!("torn"), "Read", json!("torn")),
        ];
        for (name, arguments, to, expected) in cases {
            assert_eq!(translate(name, arguments), (to.to_owned(), expected), "{name}");
        }
    }
}
