//! pi, Gemini CLI and Cursor.

use serde_json::Value;

use super::Places;
use super::claude::of_servers;
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
            of_servers(&mut found, &file, &settings);
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
    found.unlike(
        &places.cwd.join("GEMINI.md"),
        "file",
        "import it in the project's AGENTS.md, as @GEMINI.md",
    );
    found.finish()
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
