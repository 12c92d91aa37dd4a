//! The servers that Claude Code does not start, by the lists in its settings.
//!
//! An entry names a server (`serverName`), its exact command (`serverCommand`), or addresses (`serverUrl`, with `*`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::patterns;
use crate::settings::MAX_BYTES;
use crate::settings::other_folders::OtherFolders;
use crate::settings::private_files::parse_json;
use tau_tools::regular_files::{read_text, unless_absent};
use tau_tools::user_error::UserError;

/// The settings of the administrator.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];
const OF_USER: &str = ".claude/settings.json";
const OF_PROJECT: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// The lists of all settings together.
#[derive(Clone, Debug, Default)]
pub struct ClaudeServerLists {
    denied: Vec<Value>,
    /// If there is such a list, other servers are not started.
    allowed: Option<Vec<Value>>,
    /// Names of servers of projects.
    disabled: Vec<Value>,
}

impl ClaudeServerLists {
    /// The lists of the administrator, the user and projects. Errors say which settings of the administrator cannot be
    /// read; those of others are reported with their rules.
    pub fn read<'a>(
        folders: Option<&OtherFolders>,
        roots: impl Iterator<Item = &'a Path>,
    ) -> (Self, Vec<UserError>) {
        let (mut lists, mut wrong) = (ClaudeServerLists::default(), Vec::new());
        for path in MANAGED.map(Path::new) {
            match read_text(path, MAX_BYTES) {
                Ok(text) => match parse_json(&text) {
                    Ok(settings) => lists.add(&settings),
                    Err(error) => wrong.push(UserError::new(format!("{}: {error}", path.display()))),
                },
                Err(error) => wrong.extend(
                    unless_absent(path, error)
                        .map(|error| UserError::new(format!("{}: {error}", path.display()))),
                ),
            }
        }
        let of_projects = roots.flat_map(|root| OF_PROJECT.map(|name| root.join(name)));
        let files = folders.map(|folders| folders.place(OF_USER)).into_iter().chain(of_projects);
        let text = |path: PathBuf| read_text(&path, MAX_BYTES).ok();
        let settings = files.filter_map(|path| parse_json::<Value>(text(path)?).ok());
        settings.for_each(|settings| lists.add(&settings));
        (lists, wrong)
    }

    /// Adds the lists of some settings.
    pub fn add(&mut self, settings: &Value) {
        let list = |name: &str| settings.get(name).and_then(Value::as_array);
        self.denied.extend(list("deniedMcpServers").into_iter().flatten().cloned());
        self.disabled.extend(list("disabledMcpjsonServers").into_iter().flatten().cloned());
        if let Some(allowed) = list("allowedMcpServers") {
            self.allowed.get_or_insert_default().extend(allowed.iter().cloned());
        }
    }

    /// The list by which a server of a project's `.mcp.json` is not started.
    pub fn refusal_in_project(&self, name: &str, server: &Value) -> Option<&'static str> {
        let is_disabled = self.disabled.iter().any(|disabled| disabled == name);
        is_disabled.then_some("disabledMcpjsonServers").or_else(|| self.refusal(name, server))
    }

    /// The list by which a server of any file of Claude Code is not started.
    pub fn refusal(&self, name: &str, server: &Value) -> Option<&'static str> {
        if self.denied.iter().any(|entry| is_about(entry, name, server)) {
            return Some("deniedMcpServers");
        }
        let allowed = self.allowed.as_ref()?;
        // Where commands or addresses are listed, a name is not enough.
        let field = if server.get("command").is_some() { "serverCommand" } else { "serverUrl" };
        let is_strict = allowed.iter().any(|entry| entry.get(field).is_some());
        let mut entries = allowed.iter().filter(|entry| !is_strict || entry.get(field).is_some());
        (!entries.any(|entry| is_about(entry, name, server))).then_some("allowedMcpServers")
    }
}

fn is_about(entry: &Value, name: &str, server: &Value) -> bool {
    let text = |value: &Value, field: &str| value.get(field)?.as_str().map(str::to_lowercase);
    if let Some(named) = entry.get("serverName") {
        return named == name;
    }
    if let Some(command) = entry.get("serverCommand").and_then(Value::as_array) {
        let arguments = server.get("args").and_then(Value::as_array).into_iter().flatten();
        return server.get("command").into_iter().chain(arguments).eq(command);
    }
    match (text(entry, "serverUrl"), text(server, "url")) {
        (Some(pattern), Some(url)) => patterns::matches(&pattern, &url),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_are_refused_by_name_command_and_address() {
        let (npx, far) =
            (json!({"command": "npx", "args": ["-y", "p"]}), json!({"url": "https://A.far.example/x"}));
        for (settings, name, server, refusal) in [
            (json!({"deniedMcpServers": [{"serverName": "a"}]}), "a", &npx, Some("deniedMcpServers")),
            (json!({"deniedMcpServers": [{"serverName": "a"}]}), "b", &npx, None),
            (
                json!({"deniedMcpServers": [{"serverCommand": ["npx", "-y", "p"]}]}),
                "b",
                &npx,
                Some("deniedMcpServers"),
            ),
            (json!({"deniedMcpServers": [{"serverCommand": ["npx", "-y"]}]}), "b", &npx, None),
            (
                json!({"deniedMcpServers": [{"serverUrl": "*://*.far.example/*"}]}),
                "b",
                &far,
                Some("deniedMcpServers"),
            ),
            (json!({"deniedMcpServers": [{"serverUrl": "https://near.example/*"}]}), "b", &far, None),
            (json!({"disabledMcpjsonServers": ["a"]}), "a", &far, Some("disabledMcpjsonServers")),
            (json!({"allowedMcpServers": []}), "a", &far, Some("allowedMcpServers")),
            (json!({"allowedMcpServers": [{"serverName": "a"}]}), "a", &far, None),
            (
                json!({"allowedMcpServers": [{"serverName": "a"}, {"serverCommand": ["x"]}]}),
                "a",
                &npx,
                Some("allowedMcpServers"),
            ),
            (
                json!({"allowedMcpServers": [{"serverName": "a"}], "deniedMcpServers": [{"serverName": "a"}]}),
                "a",
                &npx,
                Some("deniedMcpServers"),
            ),
        ] {
            let mut lists = ClaudeServerLists::default();
            lists.add(&settings);
            assert_eq!(lists.refusal_in_project(name, server), refusal, "{settings} {name}");
        }
    }
}
