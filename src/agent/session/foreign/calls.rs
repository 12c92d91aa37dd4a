//! Converts calls of tools that tau also has to tau's names and arguments.
//!
//! The model that continues then sees its own tools, and the screen draws their panels. All other calls are
//! unchanged.

use std::path::Path;

use serde_json::{Map, Value};

use super::content::text_of;
use tau_protocol::message::{Block, ToolCall};
use tau_tools::shell_word::quote;

/// Shells, whose argument after `-c` is a command.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];

/// A call in a session of the directory `cwd`.
pub(super) fn call(id: &str, name: &str, arguments: Value, cwd: &Path) -> Block {
    let (name, arguments) = translate(name, arguments, cwd);
    Block::ToolCall(ToolCall { id: id.to_owned(), name, arguments, thought_signature: None })
}

fn translate(name: &str, arguments: Value, cwd: &Path) -> (String, Value) {
    let known = match name {
        "Bash" | "bash" | "exec_command" | "shell_command" | "shell" | "local_shell" => bash(&arguments, cwd),
        "Read" | "read" => rename_arguments("read", &arguments, &["offset", "limit"]),
        "Write" | "write" => rename_arguments("write", &arguments, &["content"]),
        "Edit" | "edit" => rename_arguments("edit", &arguments, &["old_string", "new_string", "replace_all"]),
        _ => None,
    };
    known.map_or_else(|| (name.to_owned(), arguments), |(name, arguments)| (name.to_owned(), arguments))
}

/// A command as a text for the shell that does the same in the directory of the session.
fn bash(arguments: &Value, cwd: &Path) -> Option<(&'static str, Value)> {
    let mut command = match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(command) => command.clone(),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            match words?.as_slice() {
                [shell, "-c" | "-lc", script]
                    if SHELLS.contains(&shell.rsplit('/').next().unwrap_or_default()) =>
                {
                    (*script).to_owned()
                }
                words => words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
            }
        }
        _ => return None,
    };
    let folder = ["workdir", "working_directory"].iter().find_map(|field| text_of(arguments, field));
    if let Some(folder) = folder.filter(|folder| !matches!(*folder, "" | ".") && Path::new(folder) != cwd) {
        command = format!("cd {} && {command}", quote(folder));
    }
    let mut fields = Map::from_iter([("command".to_owned(), Value::from(command))]);
    if arguments.get("run_in_background") == Some(&Value::Bool(true)) {
        fields.insert("background".to_owned(), Value::Bool(true));
    }
    Some(("bash", Value::Object(fields)))
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
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_known_tools_are_translated() {
        let cases = [
            ("Bash", json!({"command": "ls", "description": "x"}), "bash", json!({"command": "ls"})),
            ("exec_command", json!({"cmd": "ls"}), "bash", json!({"command": "ls"})),
            ("shell", json!({"command": ["bash", "-lc", "ls | wc"]}), "bash", json!({"command": "ls | wc"})),
            (
                "shell",
                json!({"command": ["/bin/zsh", "-c", "ls"], "workdir": "/w"}),
                "bash",
                json!({"command": "ls"}),
            ),
            (
                "shell",
                json!({"command": ["python3", "-c", "import os; os"]}),
                "bash",
                json!({"command": "python3 -c 'import os; os'"}),
            ),
            (
                "shell",
                json!({"command": ["git", "commit", "-m", "a b; c"]}),
                "bash",
                json!({"command": "git commit -m 'a b; c'"}),
            ),
            (
                "exec_command",
                json!({"cmd": "rm -rf build", "workdir": "/w/old one"}),
                "bash",
                json!({"command": "cd '/w/old one' && rm -rf build"}),
            ),
            (
                "local_shell",
                json!({"command": ["ls"], "working_directory": "sub"}),
                "bash",
                json!({"command": "cd sub && ls"}),
            ),
            (
                "Bash",
                json!({"command": "make", "run_in_background": true}),
                "bash",
                json!({"command": "make", "background": true}),
            ),
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
            assert_eq!(translate(name, arguments, Path::new("/w")), (to.to_owned(), expected), "{name}");
        }
    }
}
