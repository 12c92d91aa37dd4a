//! opencode.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Places;
use super::claude::{WITHOUT_QUESTIONS, setting};
use super::found::{Change, Collector, Meaning, Provider, ProviderModel, SetUp, fields, json, text_in};
use super::rules::add_own;
use super::servers::{Variables, add_server};
use tau_agent::catalogue::providers;
use tau_tools::counted::pluralize;

/// Parts of a file that are taken over, or about the program's own screen and service.
const KNOWN: [&str; 20] = *tau_tools::words!(
    "$schema model mcp permission tools instructions provider command agent mode theme keybinds tui \
     share autoshare autoupdate layout username compaction default_agent"
);
/// Parts of a provider that are taken over.
const OF_PROVIDER: [&str; 5] = ["name", "npm", "options", "models", "api"];
/// Parts of a model that are taken over.
const OF_MODEL: [&str; 6] = ["name", "limit", "id", "cost", "modalities", "reasoning"];

/// Why a rule for all tools is left.
pub(super) const EVERY_TOOL: &str = "tau has no rule for all tools; deny them by name, or use /mode plan";

/// The agent that only plans there, and tau's mode.
const PLAN: &str = "plan";

/// Kinds of tokens with a price, there and in tau.
const COSTS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

pub(super) fn read(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("opencode");
    let folder = places.folders.place(".config/opencode");
    // The first one counts here, in opencode the last.
    let names = ["opencode.jsonc", "opencode.json", "config.json"];
    let files = names.iter().map(|name| folder.join(name));
    for file in places.opencode.clone().into_iter().chain(files) {
        match json(&file) {
            Some(Ok(config)) => of_config(&mut found, &file, &config, places),
            Some(Err(error)) => found.leave_out(&file, "settings", &error),
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
    for (names, what) in [
        (["skill", "skills"], "skills; move them to skills of the configuration folder"),
        (["tool", "tools"], "tools in JavaScript; tau's are described in TOML"),
        (["plugin", "plugins"], "plugins in JavaScript; hooks and MCP servers do their work in tau"),
    ] {
        names.iter().for_each(|name| found.unlike(&folder.join(name), "entry", what));
    }
    let why = "settings of the project; those for tau are in .tau/config.toml and .mcp.json";
    for file in ["opencode.json", "opencode.jsonc"].map(|name| places.cwd.join(name)) {
        if places.opencode.as_ref() != Some(&file) {
            found.unlike(&file, "file", why);
        }
    }
    found.finish()
}

fn of_config(found: &mut Collector, file: &Path, config: &Value, places: &Places<'_>) {
    for (name, value) in fields(config, "provider") {
        of_provider(found, file, name, value);
    }
    if let Some(model) = text_in(config, "model") {
        found.change(file, format!("model: {model}"), setting("model", model));
    }
    let is_off = |place: &str| config.pointer(place).and_then(Value::as_bool) == Some(false);
    if is_off("/autoupdate") {
        found.change(file, "autoupdate: false", setting("update_check", "false"));
    }
    if is_off("/compaction/auto") {
        found.change(file, "compaction.auto: false", setting("auto_compact", "false"));
    }
    found.rest(file, "compaction.", config.get("compaction").unwrap_or(&Value::Null), &["auto"]);
    for (name, value) in fields(config, "mcp") {
        add_server(found, file, name, value, Variables::Env);
    }
    of_agents(found, file, config);
    of_permissions(found, file, config);
    for path in config.get("instructions").and_then(Value::as_array).into_iter().flatten() {
        let Some(path) = path.as_str() else { continue };
        let place = match path.strip_prefix("~/") {
            Some(rest) => places.home.join(rest),
            None => PathBuf::from(path),
        };
        if place.is_absolute() && place.is_file() {
            found.instructions(&place);
        } else {
            found.leave_out(file, format!("instructions: {path}"), "import it in AGENTS.md, as @PATH");
        }
    }
    let commands: Vec<&str> = fields(config, "command").map(|(name, _)| name.as_str()).collect();
    if !commands.is_empty() {
        let what = format!("{}: {}", pluralize(commands.len() as u64, "command"), commands.join(", "));
        let why = "write each as a prompt template: NAME.md in prompts of the configuration folder";
        found.leave_out(file, what, why);
    }
    found.rest(file, "", config, &KNOWN);
}

/// The name of the agent that answers you there: its rules are in force. That of `plan` is a mode here, beside the main one.
fn main_agent(config: &Value) -> &str {
    text_in(config, "default_agent").filter(|name| *name != PLAN).unwrap_or("build")
}

/// The main agent's own part of this name; modes are what agents were called before.
fn of_main<'a>(config: &'a Value, part: &str) -> Option<&'a Value> {
    ["agent", "mode"].iter().find_map(|field| config.get(field)?.get(main_agent(config))?.get(part))
}

fn of_agents(found: &mut Collector, file: &Path, config: &Value) {
    let main = main_agent(config);
    match text_in(config, "default_agent") {
        Some(PLAN) => found.change(file, "default_agent: plan", setting("permission_mode", PLAN)),
        Some("build") | None => {}
        Some(name) => {
            let why = "tau has one main agent; the rules of this one are taken over";
            found.leave_out(file, format!("default_agent: {name}"), why);
        }
    }
    for field in ["agent", "mode"] {
        let is_main = |name: &str| name == main || name == PLAN;
        let others: Vec<&str> =
            fields(config, field).map(|(name, _)| name.as_str()).filter(|name| !is_main(name)).collect();
        if !others.is_empty() {
            let what = format!("{}: {}", pluralize(others.len() as u64, field), others.join(", "));
            let why = "write each as a kind of helper: NAME.md in agents of the configuration folder";
            found.leave_out(file, what, why);
        }
        if let Some(value) = config.get(field).and_then(|all| all.get(main)) {
            found.rest(
                file,
                &format!("{field}.{main}."),
                value,
                &["permission", "tools", "mode", "description"],
            );
        }
        if config.get(field).and_then(|all| all.get(PLAN)).is_some() {
            found.leave_out(file, format!("{field}.{PLAN}"), "tau's mode plan has rules of its own");
        }
    }
}

/// The rules for all agents, and those of the main one, which outweigh them.
fn of_permissions(found: &mut Collector, file: &Path, config: &Value) {
    let servers: Vec<&str> = fields(config, "mcp").map(|(name, _)| name.as_str()).collect();
    let shared = config.get("permission");
    let permission = of_main(config, "permission").map(|own| merge_rules(shared, own));
    match permission.as_ref().or(shared) {
        Some(Value::String(action)) => of_every_tool(found, file, "permission", action),
        permission => {
            let rules = permission.and_then(Value::as_object).into_iter().flatten();
            for (tool, value, is_outweighed) in in_order(rules) {
                match value.as_str().filter(|_| is_every(tool)) {
                    Some(action) => of_every_tool(found, file, "permission.*", action),
                    None => of_permission(found, file, (tool, &servers), value, is_outweighed),
                }
            }
        }
    }
    let own = of_main(config, "tools").and_then(Value::as_object).into_iter().flatten();
    let is_off = |(_, value): &(&String, &Value)| value.as_bool() == Some(false);
    for (tool, value) in fields(config, "tools").chain(own).filter(is_off) {
        match is_every(tool) {
            true => of_every_tool(found, file, "tools.*", "deny"),
            false => {
                let names = names_of(tool, "deny", &servers);
                of_rule(found, file, format!("tools.{tool}: {value}"), (&names, None), &"deny".into());
            }
        }
    }
}

/// Rules with others behind them: the last one that fits counts.
fn merge_rules(first: Option<&Value>, last: &Value) -> Value {
    let by_pattern = |value: &Value| match value {
        Value::Object(rules) => rules.clone(),
        action => Map::from_iter([("*".to_owned(), action.clone())]),
    };
    let mut all = first.map(by_pattern).unwrap_or_default();
    for (tool, rules) in by_pattern(last) {
        let mut patterns = all.shift_remove(&tool).as_ref().map(by_pattern).unwrap_or_default();
        for (pattern, action) in by_pattern(&rules) {
            patterns.shift_remove(&pattern);
            patterns.insert(pattern, action);
        }
        let rules = match (rules, is_every(&tool)) {
            (Value::String(action), true) => Value::String(action),
            _ => Value::Object(patterns),
        };
        all.insert(tool, rules);
    }
    Value::Object(all)
}

fn is_every(pattern: &str) -> bool {
    matches!(pattern, "*" | "**")
}

/// Rules in their order, in which the last one that fits counts, and whether a later one for everything outweighs what
/// this one allows.
fn in_order<'a>(
    rules: impl Iterator<Item = (&'a String, &'a Value)>,
) -> impl Iterator<Item = (&'a str, &'a Value, bool)> {
    let rules: Vec<_> = rules.collect();
    let is_limit = |(pattern, action): &(&String, &Value)| {
        is_every(pattern) && action.as_str().is_some_and(|action| action != "allow")
    };
    let last = rules.iter().rposition(is_limit).unwrap_or_default();
    rules.into_iter().enumerate().map(move |(at, (pattern, action))| (pattern.as_str(), action, at < last))
}

fn strictness(action: &Value) -> usize {
    let known = ["allow", "ask", "deny"];
    known.iter().position(|known| action == known).unwrap_or(known.len())
}

fn of_every_tool(found: &mut Collector, file: &Path, field: &str, action: &str) {
    let what = format!("{field}: {action}");
    match action {
        "ask" => found.change(file, what, setting("permission_mode", "ask")),
        "allow" => found.leave_out(file, what, WITHOUT_QUESTIONS),
        _ => {
            found.leave_out(file, what, EVERY_TOOL);
        }
    }
}

/// Rules of a tool: an action for all calls, or one for each pattern.
fn of_permission(
    found: &mut Collector,
    file: &Path,
    (tool, servers): (&str, &[&str]),
    value: &Value,
    is_outweighed: bool,
) {
    let names = |action: &Value| names_of(tool, action.as_str().unwrap_or_default(), servers);
    let is_allow = |action: &Value| action.as_str() == Some("allow");
    let what =
        |name: &str, action: &Value| format!("permission.{name}: {}", action.as_str().unwrap_or_default());
    let outweighed = "a later rule for * outweighs it there";
    match value {
        Value::Object(patterns) => {
            for (at, (pattern, action, is_late)) in in_order(patterns.iter()).enumerate() {
                let what = what(&format!("{tool} {pattern}"), action);
                let mut later = patterns.values().skip(at.saturating_add(1));
                // There the last pattern that fits decides, here the strictest list.
                if is_every(pattern) && later.any(|later| strictness(later) < strictness(action)) {
                    let why = "it would outweigh the patterns beside it; the permission mode asks";
                    found.leave_out(file, what, why);
                } else if (is_late || is_outweighed) && is_allow(action) {
                    found.leave_out(file, what, outweighed);
                } else {
                    of_rule(found, file, what, (&names(action), Some(pattern)), action);
                }
            }
        }
        action if is_outweighed && is_allow(action) => found.leave_out(file, what(tool, action), outweighed),
        action => of_rule(found, file, what(tool, action), (&names(action), None), action),
    }
}

/// tau's names of the tools that a name there stands for: tools of a server are called `SERVER_TOOL`.
fn names_of(tool: &str, action: &str, servers: &[&str]) -> Vec<String> {
    let name = match tool {
        "bash" | "edit" | "read" | "grep" => tool,
        // The right to edit has no parts there. To allow it would be more than was allowed.
        "write" if action == "allow" => tool,
        "write" | "patch" | "multiedit" => "edit",
        "glob" => "find",
        "list" => "ls",
        "task" => "delegate",
        "webfetch" => "web_fetch",
        "websearch" => "web_search",
        _ => {
            let of_server = |server: &&str| {
                let of_all = || tool.strip_suffix('*').filter(|start| server.starts_with(start)).map(|_| "*");
                let own =
                    tool.strip_prefix(server).and_then(|rest| rest.strip_prefix('_')).or_else(of_all)?;
                Some(format!("mcp__{server}__{own}"))
            };
            return servers.iter().filter_map(of_server).collect();
        }
    };
    vec![name.to_owned()]
}

/// A rule for the calls of these tools that fit a pattern, or for all.
fn of_rule(
    found: &mut Collector,
    file: &Path,
    what: String,
    (tools, pattern): (&[String], Option<&str>),
    action: &Value,
) {
    if tools.is_empty() {
        return found.leave_out(file, what, "tau has no tool of this name");
    }
    let list = match action.as_str() {
        Some("allow") => "allow",
        Some("ask") => "ask",
        Some("deny") => "deny",
        _ => return found.leave_out(file, what, "tau knows no such action"),
    };
    for tool in tools {
        let pattern = pattern.filter(|pattern| !is_every(pattern));
        match pattern.map(|pattern| pattern_of(tool, pattern, list)) {
            Some(Err(why)) => {
                found.leave_out(file, &what, why);
                // Nothing is weaker: all that it may be about is asked.
                if list != "allow" {
                    add_own(found, file, &what, "ask", (tool, None));
                }
            }
            Some(Ok(pattern)) => add_own(found, file, &what, list, (tool, Some(&pattern))),
            None => add_own(found, file, &what, list, (tool, None)),
        }
    }
}

/// The pattern in tau's words. There `*` is any text, also with slashes, `?` one character, and the rest is as it is.
fn pattern_of(tool: &str, pattern: &str, list: &str) -> Result<String, &'static str> {
    if tool.starts_with("mcp__") {
        return Err("tools of MCP servers have no patterns in tau");
    }
    let pattern = match pattern.strip_prefix("$HOME/") {
        Some(rest) => format!("~/{rest}"),
        None => pattern.to_owned(),
    };
    match tool {
        "bash" if pattern.contains('?') => Err("tau has no sign for one character of a command"),
        "bash" | "web_fetch" => Ok(pattern),
        "edit" | "read" | "write" | "grep" | "find" | "ls" => {
            let mut path = String::new();
            for c in pattern.chars() {
                path.extend("[]{}(),\\".contains(c).then_some('\\'));
                path.push(c);
            }
            let is_at_top = !path.contains('/') && !path.starts_with(['*', '~']);
            if list == "allow" {
                return Ok(if is_at_top { format!("./{path}") } else { path });
            }
            let deep = format!("/{path}").replace("/*", "/**/*").replace("/**/**", "/**");
            Ok(deep.strip_prefix('/').unwrap_or(&deep).to_owned())
        }
        _ => Err("this tool has no patterns in tau"),
    }
}

fn of_provider(found: &mut Collector, file: &Path, name: &str, value: &Value) {
    let what = format!("provider {name}");
    let models: Vec<ProviderModel> = fields(value, "models").map(|(id, about)| of_model(id, about)).collect();
    let options = value.get("options").unwrap_or(&Value::Null);
    let Some(base_url) = text_in(options, "baseURL") else {
        let limits = models.iter().any(|model| model.context_window.is_some());
        let why = match limits {
            false => "it changes no address; its models are tau's",
            true => "it changes no address; set context_window of its models in models.toml",
        };
        return found.leave_out(file, what, why);
    };
    let api = match text_in(value, "npm").unwrap_or_default() {
        "@ai-sdk/anthropic" => Some("anthropic-messages"),
        "@ai-sdk/openai" => Some("openai-responses"),
        "@ai-sdk/google" => Some("google-generative-ai"),
        // A known provider keeps its format, at another address.
        "" if providers::find_by_id(name).is_some() => None,
        "" | "@ai-sdk/openai-compatible" => Some("openai-completions"),
        _ => return found.leave_out(file, what, "a wire format that tau does not know"),
    };
    let key = text_in(options, "apiKey").unwrap_or_default();
    let variable = key.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}')).map(str::to_owned);
    if variable.is_none() && !key.is_empty() {
        let why = "a key in the file, which is not copied; save it with `tau auth set`";
        found.leave_out(file, format!("{what}: apiKey"), why);
    }
    let headers: Vec<&str> = fields(options, "headers").map(|(name, _)| name.as_str()).collect();
    if !headers.is_empty() {
        let why = "headers can be keys, so they are not copied; set `headers` in models.toml";
        found.leave_out(file, format!("{what}: headers {}", headers.join(", ")), why);
    }
    found.rest(file, &format!("{what}: options."), options, &["baseURL", "apiKey", "headers"]);
    found.rest(file, &format!("{what}: "), value, &OF_PROVIDER);
    for (id, about) in fields(value, "models") {
        found.rest(file, &format!("{what}, model {id}: "), about, &OF_MODEL);
    }
    let provider = Provider { name: name.to_owned(), base_url: base_url.to_owned(), api, variable, models };
    found.add(file, what, Meaning::Change(Box::new(Change::Provider(provider))));
}

fn of_model(id: &str, about: &Value) -> ProviderModel {
    let input = about.get("modalities").and_then(|all| all.get("input")?.as_array());
    let is_taken = |kind: &&str| matches!(*kind, "text" | "image");
    let price = |kind: &str| about.get("cost")?.get(kind)?.as_f64().filter(|price| *price >= 0.0);
    let limit = |field: &str| about.get("limit")?.get(field)?.as_u64().filter(|limit| *limit > 0);
    ProviderModel {
        id: id.to_owned(),
        name: text_in(about, "name").map(str::to_owned),
        context_window: limit("context"),
        max_tokens: limit("output"),
        reasoning: about.get("reasoning").and_then(Value::as_bool),
        input: input
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(is_taken)
            .map(str::to_owned)
            .collect(),
        cost: COSTS.iter().filter_map(|kind| Some((*kind, price(kind)?))).collect(),
    }
}
