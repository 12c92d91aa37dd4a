//! Translates tools and arguments to the names that hooks of other agents know.
//!
//! Scripts check `tool_input.command` of `Bash` and `tool_input.file_path` of `Edit`, `Write` and `Read`, so
//! every hook gets these names. Changes by hooks are translated back.

use std::path::Path;

use serde_json::{Map, Value, json};

use tau_tools::paths;

/// A tool of tau, its name for hooks, and its arguments: tau's names, hooks' names.
struct ToolNames {
    own: &'static str,
    other: &'static str,
    fields: &'static [(&'static str, &'static str)],
}

const KNOWN: [ToolNames; 12] = [
    ToolNames { own: "bash", other: "Bash", fields: &[] },
    ToolNames { own: "read", other: "Read", fields: &[("path", "file_path")] },
    ToolNames { own: "write", other: "Write", fields: &[("path", "file_path")] },
    ToolNames { own: "edit", other: "Edit", fields: &[("path", "file_path")] },
    ToolNames { own: "grep", other: "Grep", fields: &[("ignore_case", "-i"), ("context", "-C")] },
    ToolNames { own: "find", other: "Glob", fields: &[] },
    ToolNames { own: "ls", other: "LS", fields: &[] },
    ToolNames { own: "delegate", other: "Task", fields: &[("task", "prompt"), ("kind", "subagent_type")] },
    ToolNames { own: "ask_user", other: "AskUserQuestion", fields: &[] },
    ToolNames { own: "submit_plan", other: "ExitPlanMode", fields: &[] },
    ToolNames { own: "web_fetch", other: "WebFetch", fields: &[] },
    ToolNames { own: "web_search", other: "WebSearch", fields: &[] },
];

fn tool_names(tool: &str) -> Option<&'static ToolNames> {
    KNOWN.iter().find(|known| known.own == tool)
}

/// The name of a tool for hooks; `edit` with several replacements has its own.
pub(crate) fn of_tool<'a>(tool: &'a str, arguments: &Value) -> &'a str {
    match tool_names(tool) {
        Some(known) if known.own == "edit" && has_several(arguments) => "MultiEdit",
        Some(known) => known.other,
        None => tool,
    }
}

fn has_several(arguments: &Value) -> bool {
    arguments.get("edits").and_then(Value::as_array).is_some_and(|edits| !edits.is_empty())
}

/// The arguments in the format of hooks: with absolute paths, and times in milliseconds.
pub(crate) fn to_hook(tool: &str, arguments: &Value, cwd: &Path) -> Value {
    let (Some(known), Some(given)) = (tool_names(tool), arguments.as_object()) else {
        return arguments.clone();
    };
    let field = |(name, value): (&String, &Value)| {
        let other =
            known.fields.iter().find(|(own, _)| own == name).map_or(name.as_str(), |(_, other)| other);
        let value = match (name.as_str(), value) {
            // In a directory that is not UTF-8, the hook gets the path that the model wrote.
            ("path", Value::String(path)) => {
                paths::resolve(cwd, path).to_str().map_or_else(|| value.clone(), Value::from)
            }
            ("timeout", Value::Number(_)) if tool == "bash" => {
                json!(value.as_u64().map(|seconds| seconds.saturating_mul(1_000)))
            }
            _ => value.clone(),
        };
        (other.to_owned(), value)
    };
    Value::Object(given.iter().map(field).collect())
}

/// The arguments of the tool from a hook's answer.
pub(crate) fn from_hook(tool: &str, arguments: &Value) -> Value {
    let (Some(known), Some(given)) = (tool_names(tool), arguments.as_object()) else {
        return arguments.clone();
    };
    let mut own = Map::new();
    for (name, value) in given {
        let field =
            known.fields.iter().find(|(_, other)| other == name).map_or(name.as_str(), |(own, _)| own);
        // Arguments that exist only in other agents.
        if tool == "bash" && !matches!(field, "command" | "timeout") {
            continue;
        }
        let value = match value.as_u64() {
            Some(milliseconds) if tool == "bash" && field == "timeout" => {
                json!(milliseconds.div_ceil(1_000))
            }
            _ => value.clone(),
        };
        own.insert(field.to_owned(), value);
    }
    Value::Object(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_back_as_they_were() {
        let cwd = Path::new("/w");
        for (tool, arguments, name, theirs) in [
            (
                "bash",
                json!({"command": "ls", "timeout": 2}),
                "Bash",
                json!({"command": "ls", "timeout": 2000}),
            ),
            (
                "edit",
                json!({"path": "/a", "old_string": "x", "new_string": "y"}),
                "Edit",
                json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
            ),
            (
                "write",
                json!({"path": "/a", "content": ""}),
                "Write",
                json!({"file_path": "/a", "content": ""}),
            ),
            (
                "grep",
                json!({"pattern": "x", "ignore_case": true}),
                "Grep",
                json!({"pattern": "x", "-i": true}),
            ),
            ("mcp__a__b", json!({"path": "x"}), "mcp__a__b", json!({"path": "x"})),
        ] {
            assert_eq!(of_tool(tool, &arguments), name);
            assert_eq!(to_hook(tool, &arguments, cwd), theirs);
            assert_eq!(from_hook(tool, &theirs), arguments);
        }
        assert_eq!(to_hook("read", &json!({"path": "a/b"}), cwd), json!({"file_path": "/w/a/b"}));
        let described = json!({"command": "ls", "description": "lists"});
        assert_eq!(from_hook("bash", &described), json!({"command": "ls"}));
        assert_eq!(of_tool("edit", &json!({"edits": [{}]})), "MultiEdit");
        assert_eq!(of_tool("edit", &json!({"edits": []})), "Edit");
        let known = KNOWN.iter().map(|known| known.other).chain(["MultiEdit"]);
        let mut known: Vec<&str> = known.collect();
        let mut of_matchers = crate::settings::hooks::TOOL_NAMES.to_vec();
        known.sort_unstable();
        of_matchers.sort_unstable();
        assert_eq!(known, of_matchers, "a matcher knows every name");
    }
}
