//! The files that the summarized part of a conversation read and modified.
//!
//! Carried from summary to summary, so that the model still knows after a week which files it read and
//! changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};

use tau_protocol::message::{Message, ToolCall};
use tau_tools::ToolKind;

/// The maximum number of paths listed for the model.
const LISTED: usize = 200;
/// The beginning of the lists at the end of a summary.
const HEAD: &str = "\n\n<files>\n";
const END: &str = "</files>";

/// Files by operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOps {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl FileOps {
    /// The files listed in the details of an earlier compaction.
    pub(crate) fn of_details(details: Option<&Value>) -> Self {
        let list = |name: &str| {
            let paths = details.and_then(|details| details.get(name)).and_then(Value::as_array);
            paths.into_iter().flatten().filter_map(|path| Some(path.as_str()?.to_owned())).collect()
        };
        FileOps { read: list("readFiles"), modified: list("modifiedFiles") }
    }

    /// Adds the files of successful calls.
    pub fn note(&mut self, messages: &[Arc<Message>]) {
        let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
        for message in messages {
            match message.as_ref() {
                Message::Assistant(answer) => {
                    calls.extend(answer.tool_calls().map(|call| (call.id.as_str(), call)));
                }
                Message::ToolResult(result) if !result.is_error => {
                    let call = calls.get(result.tool_call_id.as_str());
                    let path = call.and_then(|call| call.arguments.get("path")).and_then(Value::as_str);
                    if let Some(path) = path {
                        self.add(&result.tool_name, path);
                    }
                }
                _ => {}
            }
        }
        self.read.retain(|path| !self.modified.contains(path));
    }

    fn add(&mut self, tool: &str, path: &str) {
        match ToolKind::of(tool) {
            ToolKind::Read => self.read.insert(path.to_owned()),
            ToolKind::Write => self.modified.insert(path.to_owned()),
            _ => false,
        };
    }

    /// The lists for the session file and the wire.
    pub fn details(&self) -> Value {
        json!({ "readFiles": self.read, "modifiedFiles": self.modified })
    }

    /// The lists for the end of a summary; empty without files.
    pub fn text(&self) -> String {
        let lists = [("read", &self.read), ("modified", &self.modified)];
        let lists: String = lists.iter().map(|(word, paths)| list(word, paths)).collect();
        if lists.is_empty() { lists } else { format!("{HEAD}{lists}{END}") }
    }
}

/// A summary without the lists at its end.
pub(crate) fn without_lists(summary: &str) -> &str {
    // The text may quote other lists.
    let lists = summary.ends_with(END).then(|| summary.rsplit_once(HEAD)).flatten();
    lists.map_or(summary, |(text, _)| text)
}

fn list(word: &str, paths: &BTreeSet<String>) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let mut text = format!("{word}:\n");
    paths.iter().take(LISTED).for_each(|path| text.push_str(&format!("- {path}\n")));
    if paths.len() > LISTED {
        text.push_str(&format!("- and {} more\n", paths.len() - LISTED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, tool: &str, path: &str, failed: bool) -> [Arc<Message>; 2] {
        let call = json!({"role": "assistant", "api": "x", "provider": "", "model": "", "stopReason": "toolUse",
            "content": [{"type": "toolCall", "id": id, "name": tool, "arguments": {"path": path}}]});
        let result = json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": failed});
        [call, result].map(|value| Arc::new(serde_json::from_value(value).unwrap()))
    }

    #[test]
    fn lists_are_carried_over() {
        let mut touched =
            FileOps::of_details(Some(&json!({"readFiles": ["a", "b"], "modifiedFiles": ["m"]})));
        let calls = [
            call("1", "read", "c", false),
            call("2", "edit", "a", false),
            call("3", "write", "never", true),
            call("4", "bash", "x", false),
        ];
        touched.note(&calls.concat());
        assert_eq!(touched.details(), json!({"readFiles": ["b", "c"], "modifiedFiles": ["a", "m"]}));
        let summary = format!("what was done{}", touched.text());
        assert_eq!(without_lists(&summary), "what was done");
        let quoting = format!("what{HEAD}quoted</files> was said");
        assert_eq!(without_lists(&quoting), quoting);
        assert_eq!(without_lists(&format!("{quoting}{}", touched.text())), quoting);
        assert!(summary.contains("read:\n- b\n- c\nmodified:\n- a\n- m\n"), "{summary}");
        assert_eq!(FileOps::default().text(), "");
    }
}
