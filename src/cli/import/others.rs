//! pi and Cursor.

use std::path::Path;

use serde_json::Value;

use super::Places;
use super::claude::{WITHOUT_QUESTIONS, of_servers, setting};
use super::found::{Collector, SetUp, json, text_in};
use super::rules::add_rule;

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

pub(super) fn cursor(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Cursor");
    let file = places.home.join(".cursor/mcp.json");
    match json(&file) {
        Some(Ok(servers)) => of_servers(&mut found, &file, &servers),
        Some(Err(error)) => found.leave_out(&file, "MCP servers", &error),
        None => {}
    }
    let folder = places.home.join(".cursor");
    let xdg = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let of_cli = [Some(folder.clone()), xdg.map(|folder| Path::new(&folder).join("cursor"))];
    for file in of_cli.into_iter().flatten().map(|folder| folder.join("cli-config.json")) {
        match json(&file) {
            Some(Ok(config)) => of_cursor(&mut found, &file, &config),
            Some(Err(error)) => found.leave_out(&file, "settings", &error),
            None => {}
        }
    }
    let why = "what runs unasked there; write it as permissions.allow";
    found.unlike(&folder.join("permissions.json"), "file", why);
    let why = "write each as a prompt template: NAME.md in prompts of the configuration folder";
    found.unlike(&folder.join("commands"), "entry", why);
    found.unlike(&folder.join("skills"), "entry", "skills; move them to skills of the configuration folder");
    let project = places.cwd;
    if let Some(folder) = places.of_project(".cursor", &folder) {
        let why = "servers of the project; tau reads those in .mcp.json";
        found.unlike(&folder.join("mcp.json"), "file", why);
        let why =
            "rules of the project; write them as permissions.allow and permissions.deny in .tau/config.toml";
        for name in ["cli.json", "permissions.json"] {
            found.unlike(&folder.join(name), "file", why);
        }
    }
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

/// Parts of the settings of its CLI that are taken over, or about the program's own screen and state.
const OF_CURSOR: [&str; 16] = *tau_tools::words!(
    "version permissions approvalMode editor display model modelParameters selectedModel \
     hasChangedDefaultModel maxMode privacyCache authInfo network channel attribution showThinkingBlocks"
);

fn of_cursor(found: &mut Collector, file: &Path, config: &Value) {
    let permissions = config.get("permissions").unwrap_or(&Value::Null);
    for list in ["allow", "deny"] {
        for rule in permissions.get(list).and_then(Value::as_array).into_iter().flatten() {
            let text = rule.as_str().map_or_else(|| rule.to_string(), str::to_owned);
            let what = format!("permissions.{list}: {text}");
            match of_claude(&text) {
                Some(rule) => add_rule(found, file, &what, list, &rule),
                None => found.leave_out(file, what, "tau knows no such rule"),
            }
        }
    }
    found.rest(file, "permissions.", permissions, &["allow", "deny"]);
    if let Some(mode) = text_in(config, "approvalMode") {
        let what = format!("approvalMode: {mode}");
        match mode {
            "allowlist" => found.change(file, what, setting("permission_mode", "ask")),
            _ => found.leave_out(file, what, WITHOUT_QUESTIONS),
        }
    }
    if config.pointer("/editor/vimMode").and_then(Value::as_bool) == Some(true) {
        found.change(file, "editor.vimMode", setting("editing_mode", "vim"));
    }
    found.rest(file, "", config, &OF_CURSOR);
}

/// A rule of Cursor in the words of Claude Code. There a command is named by its first word, with arguments behind a colon,
/// and a path from the root begins with one slash.
fn of_claude(text: &str) -> Option<String> {
    let (name, inside) = text.trim().strip_suffix(')')?.split_once('(')?;
    let inside = inside.trim();
    Some(match name {
        "Shell" if matches!(inside, "*" | "**") => "Bash".to_owned(),
        "Shell" => match inside.split_once(':') {
            None | Some((_, "*" | "**")) => format!("Bash({}:*)", inside.split(':').next()?),
            Some((program, arguments)) => format!("Bash({program} {arguments})"),
        },
        "Read" | "Write" => {
            let tool = if name == "Read" { "Read" } else { "Edit" };
            format!("{tool}({}{inside})", if inside.starts_with('/') { "/" } else { "" })
        }
        "WebFetch" => format!("WebFetch(domain:{inside})"),
        "Mcp" => {
            let (server, tool) = inside.split_once(':').or_else(|| inside.split_once(','))?;
            format!("mcp__{}__{}", server.trim(), tool.trim())
        }
        _ => return None,
    })
}
