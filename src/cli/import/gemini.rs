//! Gemini CLI.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Places;
use super::claude::{of_servers, setting};
use super::found::{Collector, SetUp, fields, json, text_in, toml};
use super::opencode::EVERY_TOOL;
use super::rules::add_rule;

pub(super) fn read(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Gemini CLI");
    let folder = places.home.join(".gemini");
    let file = folder.join("settings.json");
    match json(&file) {
        Some(Ok(mut settings)) => {
            with_braces(&mut settings);
            exclude_servers(&mut settings);
            of_tools(&mut found, &file, &settings);
            of_servers(&mut found, &file, &settings);
            of_gemini(&mut found, &file, &settings);
        }
        Some(Err(error)) => found.leave_out(&file, "settings", &error),
        None => {}
    }
    found.instructions(&folder.join("GEMINI.md"));
    found.unlike(
        &folder.join("commands"),
        "entry",
        "commands in TOML; write them as prompt templates in markdown",
    );
    for (name, why) in [
        ("skills", "skills; move them to skills of the configuration folder"),
        ("agents", "write each as a kind of helper: NAME.md in agents of the configuration folder"),
        (
            "extensions",
            "add what is in them by itself: MCP servers to config.toml, commands as prompt templates",
        ),
    ] {
        found.unlike(&folder.join(name), "entry", why);
    }
    policies(&mut found, &folder.join("policies"));
    let why = "rules of the administrator; write them as permissions.deny and permissions.ask";
    found.unlike(Path::new("/etc/gemini-cli/policies"), "file", why);
    found.unlike(
        &places.cwd.join("GEMINI.md"),
        "file",
        "import it in the project's AGENTS.md, as @GEMINI.md",
    );
    let why = "settings of the project; those for tau are in .tau/config.toml and .mcp.json";
    if let Some(folder) = places.of_project(".gemini", &folder) {
        for name in ["settings.json", "policies"] {
            found.unlike(&folder.join(name), "file", why);
        }
    }
    found.finish()
}

/// Parts of its settings that are taken over, or about the program's own screen and state.
const OF_GEMINI: [&str; 14] = *tau_tools::words!(
    "$schema mcpServers ui theme ide privacy telemetry output selectedAuthType excludeTools allowedTools \
     allowMCPServers excludeMCPServers vimMode"
);
/// Such parts of the groups in them.
const IN_GROUPS: [(&str, &[&str]); 5] = [
    ("general", &["defaultApprovalMode", "vimMode"]),
    ("mcp", &["allowed", "excluded"]),
    ("model", &["name"]),
    ("security", &["auth"]),
    ("tools", &["exclude", "allowed"]),
];

fn of_gemini(found: &mut Collector, file: &Path, settings: &Value) {
    for (group, value) in settings.as_object().into_iter().flatten().filter(|(_, value)| value.is_object()) {
        if !OF_GEMINI.contains(&group.as_str()) {
            let known = IN_GROUPS.iter().find(|(name, _)| name == group).map_or(&[][..], |(_, known)| *known);
            found.rest(file, &format!("{group}."), value, known);
        }
    }
    let is_flat =
        |(name, value): &(&String, &Value)| !(value.is_object() || *name == "model" && value.is_string());
    let flat = settings.as_object().into_iter().flatten().filter(is_flat);
    let flat: serde_json::Map<_, _> = flat.map(|(name, value)| (name.clone(), value.clone())).collect();
    found.rest(file, "", &Value::Object(flat), &OF_GEMINI);
    // The names before groups were there are the second ones.
    for place in ["/model/name", "/model"] {
        if let Some(model) = settings.pointer(place).and_then(Value::as_str) {
            let what = format!("{}: {model}", field_name(place));
            found.change(file, what, setting("model", &format!("google/{model}")));
        }
    }
    for place in ["/general/vimMode", "/vimMode"] {
        if settings.pointer(place).and_then(Value::as_bool) == Some(true) {
            found.change(file, field_name(place), setting("editing_mode", "vim"));
        }
    }
    if let Some(mode) = settings.pointer("/general/defaultApprovalMode").and_then(Value::as_str) {
        let what = format!("general.defaultApprovalMode: {mode}");
        match mode {
            "default" => found.change(file, what, setting("permission_mode", "ask")),
            "auto_edit" => found.change(file, what, setting("permission_mode", "edits")),
            "plan" => found.change(file, what, setting("permission_mode", "plan")),
            _ => found.leave_out(file, what, "tau has no such mode"),
        }
    }
}

/// Tools that are off there, or run unasked; the names before groups were there are the second ones.
fn of_tools(found: &mut Collector, file: &Path, settings: &Value) {
    let servers: Vec<&str> = fields(settings, "mcpServers").map(|(name, _)| name.as_str()).collect();
    for (place, list) in [
        ("/tools/exclude", "deny"),
        ("/excludeTools", "deny"),
        ("/tools/allowed", "allow"),
        ("/allowedTools", "allow"),
    ] {
        for tool in settings.pointer(place).and_then(Value::as_array).into_iter().flatten() {
            let tool = tool.as_str().map_or_else(|| tool.to_string(), str::to_owned);
            let what = format!("{}: {tool}", field_name(place));
            let (name, prefix) = match tool.split_once('(') {
                Some((name, rest)) => (name, Some(rest.trim_end_matches(')'))),
                None => (tool.as_str(), None),
            };
            match of_claude(name, prefix, &servers) {
                Some(rule) => add_rule(found, file, &what, list, &rule),
                None => found.leave_out(file, what, NO_TOOL),
            }
        }
    }
}

fn field_name(place: &str) -> String {
    place.trim_start_matches('/').replace('/', ".")
}

const NO_TOOL: &str = "tau has no tool of this name";

/// A rule for a tool, or for its commands that begin so, in the words of Claude Code.
fn of_claude(tool: &str, prefix: Option<&str>, servers: &[&str]) -> Option<String> {
    let name = match tool {
        "run_shell_command" | "ShellTool" => {
            return Some(
                prefix.map_or_else(|| "Bash".to_owned(), |prefix| format!("Bash({}:*)", prefix.trim())),
            );
        }
        "read_file" | "ReadFileTool" | "read_many_files" | "ReadManyFilesTool" => "Read",
        "write_file" | "WriteFileTool" => "Write",
        "replace" | "EditTool" => "Edit",
        "glob" | "GlobTool" => "Glob",
        "search_file_content" | "grep_search" | "GrepTool" => "Grep",
        "list_directory" | "LSTool" => "LS",
        "web_fetch" | "WebFetchTool" => "WebFetch",
        "google_web_search" | "WebSearchTool" => "WebSearch",
        _ => {
            let of_server = |server: &&str| {
                let rest = tool.strip_prefix("mcp_").unwrap_or(tool).strip_prefix(*server)?;
                let tool = rest.strip_prefix("__").or_else(|| rest.strip_prefix('_'))?;
                Some(format!("mcp__{server}__{tool}"))
            };
            return servers.iter().find_map(of_server);
        }
    };
    Some(name.to_owned())
}

/// A rule of a policy.
struct Policy {
    file: PathBuf,
    what: String,
    /// The rule in the words of Claude Code; `None` if tau has no such tool.
    rule: Option<String>,
    /// Without its conditions the rule is about more calls.
    is_partial: bool,
    list: &'static str,
    tool: String,
    priority: i64,
}

/// The rules in the files of a folder. There the one with the highest priority decides, here the strictest.
fn policies(found: &mut Collector, folder: &Path) {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let mut all: Vec<Policy> = Vec::new();
    for file in files {
        match toml(&file) {
            Some(Ok(policy)) => {
                let rules = policy.get("rule").and_then(Value::as_array).into_iter().flatten();
                rules.for_each(|rule| of_policy(found, &file, rule, &mut all));
                found.rest(&file, "", &policy, &["rule"]);
            }
            Some(Err(error)) => found.leave_out(&file, "rules", &error),
            None => {}
        }
    }
    let strictness = |list: &str| ["allow", "ask", "deny"].iter().position(|known| *known == list);
    for policy in &all {
        let is_looser = |other: &Policy| {
            other.tool == policy.tool
                && other.priority > policy.priority
                && strictness(other.list) < strictness(policy.list)
        };
        let (file, what) = (&policy.file, &policy.what);
        match &policy.rule {
            None => found.leave_out(file, what, NO_TOOL),
            Some(_) if policy.is_partial && policy.list == "allow" => {
                found.leave_out(file, what, "tau has no such conditions; what it allows there is asked here");
            }
            Some(_) if all.iter().any(is_looser) => {
                let why = "it would outweigh the rules of a higher priority; the permission mode asks";
                found.leave_out(file, what, why);
            }
            // What would be denied under conditions is asked about.
            Some(rule) => {
                let list = if policy.is_partial { "ask" } else { policy.list };
                add_rule(found, file, what, list, rule);
            }
        }
    }
}

/// Notes what a rule of a policy means, one for each tool and beginning of a command.
fn of_policy(found: &mut Collector, file: &Path, rule: &Value, all: &mut Vec<Policy>) {
    let texts = |field: &str| match rule.get(field) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        value => value.and_then(Value::as_str).map(str::to_owned).into_iter().collect::<Vec<_>>(),
    };
    let decision = text_in(rule, "decision").unwrap_or_default();
    let server = text_in(rule, "mcpName");
    let prefixes = texts("commandPrefix");
    let mut tools = texts("toolName");
    let of_commands = !prefixes.is_empty() || rule.get("commandRegex").is_some();
    if tools.is_empty() && (server.is_some() || of_commands) {
        tools.push(if server.is_some() { "*" } else { "run_shell_command" }.to_owned());
    }
    let list = match decision {
        "allow" => "allow",
        "ask_user" => "ask",
        "deny" => "deny",
        _ => return found.leave_out(file, format!("rule: {decision}"), "tau knows no such decision"),
    };
    let conditions = ["argsPattern", "commandRegex", "modes", "toolAnnotations", "subagent", "interactive"];
    let is_partial = conditions.iter().any(|name| rule.get(name).is_some());
    if tools.is_empty() || server.is_none() && tools.iter().any(|tool| tool == "*") {
        return found.leave_out(file, format!("rule for all tools: {decision}"), EVERY_TOOL);
    }
    for tool in tools {
        let begun = prefixes.iter().map(|prefix| Some(prefix.as_str()));
        let begun: Vec<_> = if prefixes.is_empty() { vec![None] } else { begun.collect() };
        for prefix in begun {
            let about = prefix.map(|prefix| format!("({prefix})")).unwrap_or_default();
            let own = server.map(|server| format!("mcp__{server}__{tool}"));
            let tool = own.clone().unwrap_or_else(|| tool.clone());
            all.push(Policy {
                file: file.to_owned(),
                what: format!("rule for {tool}{about}: {decision}"),
                rule: own.or_else(|| of_claude(&tool, prefix, &[])),
                is_partial,
                list,
                priority: rule.get("priority").and_then(Value::as_i64).unwrap_or_default(),
                tool,
            });
        }
    }
}

/// Marks the servers that may not be started there as disabled.
fn exclude_servers(settings: &mut Value) {
    let list =
        |places: [&str; 2]| places.iter().find_map(|place| settings.pointer(place)?.as_array()).cloned();
    let allowed = list(["/mcp/allowed", "/allowMCPServers"]);
    let excluded = list(["/mcp/excluded", "/excludeMCPServers"]).unwrap_or_default();
    for (name, server) in settings.get_mut("mcpServers").and_then(Value::as_object_mut).into_iter().flatten()
    {
        let is_in = |list: &[Value]| list.iter().any(|item| item == name);
        if let Value::Object(fields) = server
            && (is_in(&excluded) || allowed.as_deref().is_some_and(|allowed| !is_in(allowed)))
        {
            fields.insert("disabled".to_owned(), true.into());
        }
    }
}

/// Writes `$NAME` and `${NAME}`, which Gemini CLI replaces in any text if they are set, as tau's.
fn with_braces(value: &mut Value) {
    match value {
        Value::String(text) => {
            let (mut out, mut rest) = (String::new(), text.as_str());
            while let Some((before, after)) = rest.split_once('$') {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
                let (name, behind) = braced
                    .filter(|(name, _)| name.chars().all(is_name))
                    .unwrap_or_else(|| after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len())));
                out.push_str(before);
                match name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
                    true => out.push_str(&format!("${name}")),
                    false => out.push_str(&format!("${{{name}:-${name}}}")),
                }
                rest = behind;
            }
            *text = out + rest;
        }
        Value::Array(items) => items.iter_mut().for_each(with_braces),
        Value::Object(fields) => fields.values_mut().for_each(with_braces),
        _ => {}
    }
}
