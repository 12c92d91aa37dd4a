//! Claude Code.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::Places;
use super::found::{Change, Collector, Meaning, SetUp, fields, json, text_in};
use super::servers::{Variables, add_server};
use tau_agent::extensions::mcp::ClaudeServerLists;
use tau_agent::extensions::packages::{PackageRecord, layout};
use tau_agent::settings::MAX_BYTES;
use tau_agent::settings::claude_permissions::{self, Owner};
use tau_agent::settings::hooks;
use tau_agent::settings::private_files::parse_json;
use tau_protocol::model::ThinkingLevel;
use tau_tools::counted::pluralize;
use tau_tools::regular_files::read_text;
use tau_tools::shell_word::quote;

/// Parts of the settings that are taken over or said to be left, or about the program's own screen and state.
const KNOWN: [&str; 21] = *tau_tools::words!(
    "$schema permissions hooks disableAllHooks env model statusLine enabledPlugins extraKnownMarketplaces theme \
     deniedMcpServers allowedMcpServers disabledMcpjsonServers \
     includeCoAuthoredBy spinnerTipsEnabled feedbackSurveyState autoUpdatesChannel \
     skipDangerousModePermissionPrompt sandbox editorMode effortLevel"
);
pub(super) const WITHOUT_QUESTIONS: &str =
    "a mode without questions is your choice: /mode auto, or the sandbox";
/// Parts of its permissions that are taken over or said to be left.
const OF_PERMISSIONS: [&str; 5] = ["allow", "ask", "deny", "defaultMode", "additionalDirectories"];

/// Lists of servers that are not started.
const SERVER_LISTS: [&str; 3] = ["deniedMcpServers", "allowedMcpServers", "disabledMcpjsonServers"];

/// Lists of servers that are off in a directory.
const DISABLED: [&str; 2] = ["disabledMcpServers", "disabledMcpjsonServers"];

/// The set-up of Claude Code.
pub(super) fn read(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Claude Code");
    let folder = places.folders.place(".claude");
    let file = folder.join("settings.json");
    let settings = json(&file);
    let (mut lists, unread) = ClaudeServerLists::read(None, std::iter::once(places.cwd));
    if let Some(Ok(settings)) = &settings {
        lists.add(settings);
    }
    unread.iter().for_each(|error| found.leave_out(&file, "settings of the administrator", error));
    match settings {
        Some(Ok(settings)) => {
            // tau reads the rules where they are, and only plain JSON.
            match read_text(&file, MAX_BYTES).map(|text| parse_json::<Value>(&text)) {
                Ok(Ok(_)) => of_settings(&mut found, &file, &settings),
                _ => {
                    found.leave_out(&file, "settings", "not plain JSON: remove comments and trailing commas");
                }
            }
        }
        Some(Err(error)) => found.leave_out(&file, "settings", &error),
        None => {}
    }
    found.in_place(&folder.join("CLAUDE.md"), "file", "instructions");
    found.in_place(&folder.join("rules"), "entry", "rules for the model");
    found.in_place(&folder.join("skills"), "entry", "skills");
    found.in_place(&folder.join("commands"), "entry", "slash commands");
    found.in_place(&folder.join("agents"), "entry", "kinds of helpers");
    found.unlike(
        &folder.join("output-styles"),
        "file",
        "tau has no output styles; write them as instructions",
    );
    plugins(&mut found, &folder, &places.packages);
    let file = places.folders.claude_state();
    match json(&file) {
        Some(Ok(state)) => {
            for (name, server) in fields(&state, "mcpServers") {
                match lists.refusal(name, server) {
                    Some(list) => {
                        found.leave_out(&file, format!("MCP server {name}"), &format!("{list} denies it"));
                    }
                    None => add_server(&mut found, &file, name, server, Variables::Braces),
                }
            }
            let project =
                state.get("projects").and_then(|all| all.get(places.cwd.to_string_lossy().as_ref()));
            // In config.toml they would be started everywhere.
            let why = "tau's own are for every directory; write it into .mcp.json of the directory";
            for (name, _) in project.into_iter().flat_map(|project| fields(project, "mcpServers")) {
                found.leave_out(&file, format!("MCP server {name}, for this directory"), why);
            }
            for name in DISABLED {
                let names = project.and_then(|project| project.get(name)?.as_array());
                if names.is_some_and(|names| !names.is_empty()) {
                    found.leave_out(&file, name, "turn them off in the list of /extensions");
                }
            }
        }
        Some(Err(error)) => found.leave_out(&file, "MCP servers", &error),
        None => {}
    }
    let project = places.cwd;
    found.in_place(&project.join(".mcp.json"), "file", "MCP servers, once you trust the directory");
    let local = project.join(".claude/settings.local.json");
    found.in_place(&local, "file", "permissions and hooks, once you trust the directory");
    if let Some(folder) = places.of_project(".claude", &folder) {
        for (name, one, what) in [
            ("settings.json", "file", "permissions and hooks, once you trust the directory"),
            ("skills", "entry", "skills, once you trust the directory"),
            ("commands", "entry", "slash commands, once you trust the directory"),
            ("agents", "entry", "kinds of helpers, once you trust the directory"),
        ] {
            found.in_place(&folder.join(name), one, what);
        }
    }
    found.finish()
}

fn of_settings(found: &mut Collector, file: &Path, settings: &Value) {
    if let Some(permissions) = settings.get("permissions") {
        let is_used = |list: &str, rule: &Value| {
            let alone = serde_json::json!({ "permissions": { list: [rule] } }).to_string();
            !claude_permissions::of_text(file, &alone, &alone, Owner::User { has_mode: true }).0.is_empty()
        };
        let lists = ["allow", "ask", "deny"].into_iter();
        let rules = lists.filter_map(|list| Some((list, permissions.get(list)?.as_array()?)));
        let (used, unused): (Vec<_>, Vec<_>) = rules
            .flat_map(|(list, rules)| rules.iter().map(move |rule| (list, rule)))
            .partition(|(list, rule)| is_used(list, rule));
        let what = |rules: &[_]| format!("permissions: {}", pluralize(rules.len() as u64, "rule"));
        if !used.is_empty() {
            found.add(file, what(&used), Meaning::InPlace("permission rules"));
        }
        if !unused.is_empty() {
            found.leave_out(file, what(&unused), "not used; `tau permissions` lists the rules that apply");
        }
        if let Some(mode) = text_in(permissions, "defaultMode") {
            let what = format!("permissions.defaultMode: {mode}");
            match mode {
                "acceptEdits" => found.change(file, what, setting("permission_mode", "edits")),
                "plan" => found.change(file, what, setting("permission_mode", "plan")),
                "auto" | "bypassPermissions" => found.leave_out(file, what, WITHOUT_QUESTIONS),
                // The other modes ask, or deny what would be asked.
                _ => found.change(file, what, setting("permission_mode", "ask")),
            }
        }
    }
    for list in SERVER_LISTS.iter().filter(|list| settings.get(**list).is_some()) {
        found.add(file, *list, Meaning::InPlace("servers that are not started"));
    }
    found.rest(file, "", settings, &KNOWN);
    if let Some(permissions) = settings.get("permissions") {
        found.rest(file, "permissions.", permissions, &OF_PERMISSIONS);
        if permissions.get("additionalDirectories").is_some() {
            let why =
                "edits outside the workspace are asked; an allow rule with a path, edit(/DIR/**), is tau's";
            found.leave_out(file, "permissions.additionalDirectories", why);
        }
    }
    of_hooks(found, file, settings);
    let names: Vec<&str> = fields(settings, "env").map(|(name, _)| name.as_str()).collect();
    if !names.is_empty() {
        let why = "tau takes variables from the shell that starts it; set them there";
        found.leave_out(file, format!("env: {}", names.join(", ")), why);
    }
    if let Some(model) = text_in(settings, "model") {
        let what = format!("model: {model}");
        if model.starts_with("claude-") {
            found.change(file, what, setting("model", &format!("anthropic/{model}")));
        } else {
            found.leave_out(file, what, "a name of its own; choose one with /model");
        }
    }
    if let Some(effort) = text_in(settings, "effortLevel") {
        add_effort(found, file, "effortLevel", effort);
    }
    if text_in(settings, "editorMode") == Some("vim") {
        found.change(file, "editorMode: vim", setting("editing_mode", "vim"));
    }
    if let Some(sandbox) = settings.get("sandbox") {
        of_sandbox(found, file, sandbox);
    }
    if let Some(line) = settings.get("statusLine") {
        match text_in(line, "command").filter(|command| !command.trim().is_empty()) {
            Some(command) => found.change(file, "statusLine", setting("status_command", command)),
            None => found.leave_out(file, "statusLine", "it has no command; status_line is tau's"),
        }
    }
}

/// The sandbox. There commands reach the hosts that are allowed, here all or none.
fn of_sandbox(found: &mut Collector, file: &Path, sandbox: &Value) {
    if sandbox.get("enabled").and_then(Value::as_bool) != Some(true) {
        return;
    }
    found.change(file, "sandbox.enabled", setting("sandbox.level", "workspace-write"));
    let network = sandbox.get("network").unwrap_or(&Value::Null);
    let allowed = network.get("allowedDomains").and_then(Value::as_array);
    match allowed.map(Vec::len) {
        Some(0) => found.change(file, "sandbox.network: no domains", setting("sandbox.network", "off")),
        Some(_) => {
            let why = "tau's sandbox.network is on or off, for all hosts";
            found.leave_out(file, "sandbox.network.allowedDomains", why);
        }
        None => {}
    }
    found.rest(file, "sandbox.network.", network, &["allowedDomains"]);
    found.rest(file, "sandbox.", sandbox, &["enabled", "network"]);
}

/// Notes how hard the model thinks.
pub(super) fn add_effort(found: &mut Collector, file: &Path, field: &str, effort: &str) {
    let what = format!("{field}: {effort}");
    match ThinkingLevel::from_name(effort) {
        Some(level) => found.change(file, what, setting("thinking", level.name())),
        None => found.leave_out(file, what, "tau has no such level"),
    }
}

fn of_hooks(found: &mut Collector, file: &Path, settings: &Value) {
    let groups = fields(settings, "hooks").filter_map(|(_, groups)| groups.as_array()).map(Vec::len);
    let what = match groups.sum::<usize>() {
        0 => return,
        groups => format!("hooks: {}", pluralize(groups as u64, "group")),
    };
    if settings.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
        return found.leave_out(file, what, "they are off there (disableAllHooks), so they are here");
    }
    let text = settings.to_string();
    let place = format!("{}: ", file.display());
    if let Some(fault) = hooks::guards_fault(file, &text) {
        let why =
            format!("{}; with claude_hooks = true tau asks before every call", fault.replace(&place, ""));
        return found.leave_out(file, what, &why);
    }
    let (used, unused) = hooks::of_json(file, &text);
    for why in unused {
        found.leave_out(file, "hooks", &why.replace(&place, ""));
    }
    if !used.is_empty() {
        found.change(file, what, setting("claude_hooks", "true"));
    }
}

pub(super) fn setting(key: &'static str, value: &str) -> Change {
    Change::Setting { key, value: value.to_owned() }
}

/// The servers in a field `mcpServers`.
pub(super) fn of_servers(found: &mut Collector, file: &Path, value: &Value) {
    for (name, value) in fields(value, "mcpServers") {
        add_server(found, file, name, value, Variables::Braces);
    }
}

/// Whether a folder is a marketplace with this plugin.
fn lists(folder: &Path, plugin: &str) -> bool {
    let listed = layout::marketplace(folder).ok().flatten().unwrap_or_default();
    listed.iter().any(|listed| listed.name == plugin)
}

/// The plugins that are installed. Their folders are named by version, so a plugin is named by its marketplace, which
/// also describes those that do not describe themselves.
fn plugins(found: &mut Collector, folder: &Path, added: &BTreeMap<String, PackageRecord>) {
    let markets =
        json(&folder.join("plugins/known_marketplaces.json")).and_then(Result::ok).unwrap_or_default();
    let file = folder.join("plugins/installed_plugins.json");
    let Some(Ok(installed)) = json(&file) else { return };
    let settings = json(&folder.join("settings.json")).and_then(Result::ok).unwrap_or_default();
    let is_off =
        |name: &str| settings.get("enabledPlugins").and_then(|all| all.get(name)?.as_bool()) == Some(false);
    for (name, value) in fields(&installed, "plugins") {
        let place = value.get(0).unwrap_or(value);
        let path = text_in(place, "installPath").unwrap_or_default();
        if is_off(name) {
            found.leave_out(&file, format!("plugin {name}"), "it is off there");
            continue;
        }
        let (plugin, market) = name.split_once('@').unwrap_or((name, ""));
        let listed = markets.get(market).and_then(|market| text_in(market, "installLocation"));
        let source = match listed.filter(|folder| lists(Path::new(folder), plugin)) {
            Some(folder) => format!("{} --plugin {plugin}", quote(folder)),
            None => quote(path),
        };
        let why = match added.contains_key(plugin) {
            true => format!("you have a package {plugin}; `tau extensions` lists it"),
            false => format!("`tau add {source}` shows what is in it and adds it as a package"),
        };
        found.leave_out(&file, format!("plugin {name}"), &why);
    }
}
