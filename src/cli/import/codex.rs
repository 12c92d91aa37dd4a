//! Codex.

use std::path::Path;

use serde_json::Value;

use super::Places;
use super::claude::setting;
use super::found::{Change, Collector, Provider, SetUp, fields, text_in, toml};
use super::servers::server;
use tau_protocol::model::ThinkingLevel;

/// The set-up of Codex.
pub(super) fn read(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Codex");
    let folder = places.folder("CODEX_HOME", ".codex");
    let file = folder.join("config.toml");
    match toml(&file) {
        Some(Ok(config)) => of_config(&mut found, &file, &config),
        Some(Err(error)) => found.left(&file, "settings", &error),
        None => {}
    }
    found.in_place(&folder.join("prompts"), "entry", "slash commands");
    found.in_place(&folder.join("skills"), "entry", "skills");
    found.in_place(&folder.join("agents"), "entry", "kinds of helpers");
    // The first of them is all that Codex reads.
    let own = ["AGENTS.override.md", "AGENTS.md"].map(|name| folder.join(name));
    if let Some(file) = own.iter().find(|file| file.is_file()) {
        found.instructions(file);
    }
    found.unlike(
        &folder.join("rules"),
        "file",
        "command rules; write them as permissions.allow and permissions.deny",
    );
    let why = "settings of the project; those for tau are in .tau/config.toml and .mcp.json";
    if places.cwd != places.home {
        found.unlike(&places.cwd.join(".codex/config.toml"), "file", why);
    }
    found.done()
}

fn of_config(found: &mut Collector, file: &Path, config: &Value) {
    let provider = text_in(config, "model_provider").unwrap_or("openai");
    let model = text_in(config, "model");
    for (name, value) in fields(config, "model_providers") {
        let models = model.filter(|_| name == provider).map(str::to_owned).into_iter().collect();
        of_provider(found, file, name, value, models);
    }
    if let Some(model) = model {
        found.change(file, format!("model: {model}"), setting("model", &format!("{provider}/{model}")));
    }
    if let Some(effort) = text_in(config, "model_reasoning_effort") {
        let what = format!("model_reasoning_effort: {effort}");
        match ThinkingLevel::named(effort) {
            Some(level) => found.change(file, what, setting("thinking", level.name())),
            None => found.left(file, what, "tau has no such level"),
        }
    }
    if let Some(policy) = text_in(config, "approval_policy") {
        let what = format!("approval_policy: {policy}");
        match policy {
            "untrusted" => found.change(file, what, setting("permission_mode", "ask")),
            "on-request" | "on-failure" => found.change(file, what, setting("permission_mode", "edits")),
            _ => {
                found.left(file, what, "a mode without questions is your choice: /mode auto, or the sandbox");
            }
        }
    }
    if let Some(mode) = text_in(config, "sandbox_mode") {
        let what = format!("sandbox_mode: {mode}");
        match mode {
            "read-only" | "workspace-write" => found.change(file, what, setting("sandbox.level", mode)),
            _ => found.left(file, what, "commands are not confined unless you set sandbox.level"),
        }
    }
    for (name, value) in fields(config, "mcp_servers") {
        let what = format!("MCP server {name}");
        match server(name, value) {
            Ok(server) => found.change(file, what, Change::Server(server)),
            Err(why) => found.left(file, what, &why),
        }
    }
    if config.get("notify").is_some() {
        found.left(file, "notify", "tau notifies by itself; a hook on Stop runs a command");
    }
    if config.get("profiles").is_some() {
        found.left(file, "profiles", "tau has none; a shell alias with flags does the same");
    }
}

fn of_provider(found: &mut Collector, file: &Path, name: &str, value: &Value, models: Vec<String>) {
    let what = format!("model provider {name}");
    let api = match text_in(value, "wire_api").unwrap_or("responses") {
        "chat" => "openai-completions",
        "responses" => "openai-responses",
        _ => return found.left(file, what, "a wire format that tau does not know"),
    };
    let Some(base_url) = text_in(value, "base_url") else {
        return found.left(file, what, "it has no address");
    };
    let variable = text_in(value, "env_key").map(str::to_owned);
    let provider = Provider { name: name.to_owned(), base_url: base_url.to_owned(), api, variable, models };
    found.change(file, what, Change::Provider(provider));
}
