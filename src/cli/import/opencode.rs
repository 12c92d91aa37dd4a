//! opencode.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Places;
use super::claude::setting;
use super::found::{Change, Collector, Provider, SetUp, fields, json, text_in};
use super::servers::server;

/// The set-up of opencode.
pub(super) fn read(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("opencode");
    let folder = places.folder("XDG_CONFIG_HOME", ".config").join("opencode");
    for name in ["opencode.json", "opencode.jsonc", "config.json"] {
        let file = folder.join(name);
        match json(&file) {
            Some(Ok(config)) => of_config(&mut found, &file, &config, places),
            Some(Err(error)) => found.left(&file, "settings", &error),
            None => {}
        }
    }
    for name in ["command", "commands"] {
        found.in_place(&folder.join(name), "entry", "slash commands");
    }
    for name in ["agent", "agents"] {
        found.in_place(&folder.join(name), "entry", "kinds of helpers");
    }
    found.instructions(&folder.join("AGENTS.md"));
    let why = "settings of the project; those for tau are in .tau/config.toml and .mcp.json";
    for name in ["opencode.json", "opencode.jsonc"] {
        found.unlike(&places.cwd.join(name), "file", why);
    }
    found.done()
}

fn of_config(found: &mut Collector, file: &Path, config: &Value, places: &Places<'_>) {
    for (name, value) in fields(config, "provider") {
        of_provider(found, file, name, value);
    }
    if let Some(model) = text_in(config, "model") {
        found.change(file, format!("model: {model}"), setting("model", model));
    }
    for (name, value) in fields(config, "mcp") {
        let what = format!("MCP server {name}");
        match server(name, value) {
            Ok(server) => found.change(file, what, Change::Server(server)),
            Err(why) => found.left(file, what, &why),
        }
    }
    for (tool, value) in fields(config, "permission") {
        of_permission(found, file, tool, value);
    }
    for path in config.get("instructions").and_then(Value::as_array).into_iter().flatten() {
        let Some(path) = path.as_str() else { continue };
        let place = match path.strip_prefix("~/") {
            Some(rest) => places.home.join(rest),
            None => PathBuf::from(path),
        };
        if place.is_absolute() && place.is_file() {
            found.instructions(&place);
        } else {
            found.left(file, format!("instructions: {path}"), "import it in AGENTS.md, as @PATH");
        }
    }
}

/// Rules of a tool: an action for all calls, or one for each pattern.
fn of_permission(found: &mut Collector, file: &Path, tool: &str, value: &Value) {
    let name = match tool {
        "bash" | "edit" | "read" => tool,
        "webfetch" => "web_fetch",
        _ => return found.left(file, format!("permission.{tool}"), "tau has no tool of this name"),
    };
    let mut rule = |pattern: Option<&str>, action: &Value| {
        let list = match action.as_str() {
            Some("allow") => "allow",
            Some("ask") => "ask",
            Some("deny") => "deny",
            _ => return,
        };
        let rule = match pattern {
            None | Some("*" | "**") => name.to_owned(),
            Some(pattern) => format!("{name}({pattern})"),
        };
        let what = format!("permission.{tool}: {}", action.as_str().unwrap_or_default());
        // There the last pattern that fits decides, here the strictest list.
        if pattern.is_some_and(|pattern| pattern == "*") && list != "allow" {
            return found.left(
                file,
                what,
                "it would outweigh the patterns beside it; the permission mode asks",
            );
        }
        found.change(file, what, Change::Rule { list, rule });
    };
    match value {
        Value::Object(patterns) => {
            patterns.iter().for_each(|(pattern, action)| rule(Some(pattern.as_str()), action));
        }
        action => rule(None, action),
    }
}

fn of_provider(found: &mut Collector, file: &Path, name: &str, value: &Value) {
    let what = format!("provider {name}");
    let address = value.get("options").and_then(|options| text_in(options, "baseURL"));
    let Some(base_url) = address else {
        return found.left(file, what, "it changes no address; its models are tau's");
    };
    let api = match text_in(value, "npm").unwrap_or_default() {
        "@ai-sdk/anthropic" => "anthropic-messages",
        "@ai-sdk/openai" => "openai-responses",
        "" | "@ai-sdk/openai-compatible" => "openai-completions",
        _ => return found.left(file, what, "a wire format that tau does not know"),
    };
    let key = value.get("options").and_then(|options| text_in(options, "apiKey")).unwrap_or_default();
    let variable = key.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}')).map(str::to_owned);
    if variable.is_none() && !key.is_empty() {
        let why = "a key in the file, which is not copied; save it with `tau auth set`";
        found.left(file, format!("{what}: apiKey"), why);
    }
    let models = fields(value, "models").map(|(id, _)| id.clone()).collect();
    let provider = Provider { name: name.to_owned(), base_url: base_url.to_owned(), api, variable, models };
    found.change(file, what, Change::Provider(provider));
}
