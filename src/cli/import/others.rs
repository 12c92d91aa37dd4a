//! pi, Gemini CLI and Cursor.

use std::path::Path;

use serde_json::Value;

use super::Places;
use super::claude::{of_servers, setting};
use super::found::{Collector, SetUp, json};

pub(super) fn pi(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("pi");
    let folder = places.folders.place(".pi/agent");
    found.in_place(&folder.join("prompts"), "entry", "slash commands");
    found.in_place(&folder.join("skills"), "entry", "skills");
    // The first of them is all that pi reads.
    let own = ["AGENTS.md", "CLAUDE.md"].map(|name| folder.join(name));
    if let Some(file) = own.iter().find(|file| file.is_file()) {
        found.instructions(file);
    }
    let why = "choose the model with /model, and the rest with /settings";
    found.unlike(&folder.join("settings.json"), "file", why);
    found.unlike(&folder.join("models.json"), "file", "write its providers and models in models.toml");
    found.finish()
}

pub(super) fn gemini(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Gemini CLI");
    let folder = places.home.join(".gemini");
    let file = folder.join("settings.json");
    match json(&file) {
        Some(Ok(mut settings)) => {
            with_braces(&mut settings);
            exclude_servers(&mut settings);
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
    found.unlike(
        &places.cwd.join("GEMINI.md"),
        "file",
        "import it in the project's AGENTS.md, as @GEMINI.md",
    );
    found.finish()
}

/// Parts of its settings that are taken over, or about the program's own screen and state.
const OF_GEMINI: [&str; 9] =
    *tau_tools::words!("$schema mcpServers ui theme ide privacy telemetry output selectedAuthType");
/// Such parts of the groups in them.
const IN_GROUPS: [(&str, &[&str]); 4] = [
    ("general", &["defaultApprovalMode", "vimMode"]),
    ("mcp", &["allowed", "excluded"]),
    ("model", &["name"]),
    ("security", &["auth"]),
];

fn of_gemini(found: &mut Collector, file: &Path, settings: &Value) {
    for (group, value) in settings.as_object().into_iter().flatten().filter(|(_, value)| value.is_object()) {
        if !OF_GEMINI.contains(&group.as_str()) {
            let known = IN_GROUPS.iter().find(|(name, _)| name == group).map_or(&[][..], |(_, known)| *known);
            found.rest(file, &format!("{group}."), value, known);
        }
    }
    let flat = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_object());
    let flat: serde_json::Map<_, _> = flat.map(|(name, value)| (name.clone(), value.clone())).collect();
    found.rest(file, "", &Value::Object(flat), &OF_GEMINI);
    if let Some(model) = settings.pointer("/model/name").and_then(Value::as_str) {
        found.change(file, format!("model.name: {model}"), setting("model", &format!("google/{model}")));
    }
    if settings.pointer("/general/vimMode").and_then(Value::as_bool) == Some(true) {
        found.change(file, "general.vimMode", setting("editing_mode", "vim"));
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

/// Marks the servers that may not be started there as disabled.
fn exclude_servers(settings: &mut Value) {
    let list = |place: &str| settings.pointer(place).and_then(Value::as_array).cloned();
    let (allowed, excluded) = (list("/mcp/allowed"), list("/mcp/excluded").unwrap_or_default());
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

/// Writes `$NAME`, which Gemini CLI replaces in any text, as `${NAME}`.
fn with_braces(value: &mut Value) {
    match value {
        Value::String(text) => {
            let (mut out, mut rest) = (String::new(), text.as_str());
            while let Some((before, after)) = rest.split_once('$') {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
                let (name, behind) = after.split_at(end);
                out.push_str(before);
                match name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
                    true => out.push_str(&format!("${name}")),
                    false => out.push_str(&format!("${{{name}}}")),
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

pub(super) fn cursor(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Cursor");
    let file = places.home.join(".cursor/mcp.json");
    match json(&file) {
        Some(Ok(servers)) => of_servers(&mut found, &file, &servers),
        Some(Err(error)) => found.leave_out(&file, "MCP servers", &error),
        None => {}
    }
    let folder = places.home.join(".cursor");
    let why = "write each as a prompt template: NAME.md in prompts of the configuration folder";
    found.unlike(&folder.join("commands"), "entry", why);
    found.unlike(&folder.join("skills"), "entry", "skills; move them to skills of the configuration folder");
    let project = places.cwd;
    found.unlike(
        &project.join(".cursor/mcp.json"),
        "file",
        "servers of the project; tau reads those in .mcp.json",
    );
    found.unlike(
        &project.join(".cursor/rules"),
        "rule",
        "rules for tau are in .claude/rules, with `paths` for `globs`",
    );
    found.unlike(
        &project.join(".cursorrules"),
        "file",
        "import it in the project's AGENTS.md, as @.cursorrules",
    );
    found.finish()
}
