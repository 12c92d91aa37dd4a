//! The documents generated from the table of settings: a markdown table and a JSON Schema.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use tau::agent::settings::hooks::HookEvent;
use tau::agent::settings::table::{GROUPS, TABLE};
use tau::agent::settings::value::ValueKind;

/// The table of all settings, for `docs/configuration.md`.
pub(super) fn markdown_table() -> String {
    let mut text = "| Key | Type | Default | Environment | Flag | Project | Live | What it does |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let yes = |is: bool| if is { "yes" } else { "no" };
    for row in TABLE {
        let columns = &row.columns;
        let env = columns.env.map(|name| format!("`{name}`")).unwrap_or_default();
        let flag = columns.flag.map(|flag| format!("`--{}`", flag.name)).unwrap_or_default();
        let cells = [
            if columns.in_files { format!("`{}`", row.key) } else { String::new() },
            row.kind.name(),
            row.default_markdown(),
            env,
            flag,
            yes(columns.project).to_owned(),
            yes(columns.live).to_owned(),
            row.help().to_owned(),
        ];
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// The schema of an MCP server's table `oauth`.
fn oauth() -> Value {
    json!({
        "type": "object",
        "properties": {
            "client_id": {"type": "string"},
            "client_secret": {"type": "string"},
            "scopes": {"type": "array", "items": {"type": "string"}},
            "callback_port": {"type": "integer", "minimum": 0, "maximum": 65535},
        },
        "additionalProperties": false,
    })
}

/// A JSON Schema of `config.toml`, which editors use to complete and check it.
pub(super) fn schema() -> String {
    let property = |kind: ValueKind| match kind {
        ValueKind::Text | ValueKind::Path => json!({"type": "string"}),
        ValueKind::Address => {
            json!({"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\s]+\\S*$"})
        }
        ValueKind::AddressOrFolder => {
            json!({"type": "string", "pattern": "^([Hh][Tt][Tt][Pp][Ss]?://[^/?#\\s]+\\S*|file:///.*)$"})
        }
        ValueKind::Switch => json!({"type": "boolean"}),
        ValueKind::Number => json!({"type": "integer", "minimum": 0}),
        ValueKind::Dollars => json!({"type": "number", "minimum": 0}),
        ValueKind::Seconds => json!({"type": "integer", "minimum": 1}),
        ValueKind::Temperature => json!({"type": "number", "minimum": 0, "maximum": 2}),
        ValueKind::List => json!({"type": "array", "items": {"type": "string"}}),
        ValueKind::Choice(names) => json!({"enum": names()}),
        ValueKind::Table => json!({
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        }),
        ValueKind::Servers => json!({
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "args": {"type": "array", "items": {"type": "string"}},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                    "cwd": {"type": "string"},
                    "url": {"type": "string"},
                    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
                    "oauth": oauth(),
                    "enabled": {"type": "boolean"},
                    "allow_tools": {"type": "array", "items": {"type": "string"}},
                    "deny_tools": {"type": "array", "items": {"type": "string"}},
                    "timeout": {"type": "integer", "minimum": 0},
                    "start_timeout": {"type": "integer", "minimum": 0},
                    "sandbox": {"type": "boolean"},
                },
                "additionalProperties": false,
            },
        }),
        ValueKind::Hooks => json!({
            "type": "object",
            "propertyNames": {"enum": HookEvent::ALL.map(HookEvent::name)},
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "command": {"type": "string"},
                        "matcher": {"type": "string"},
                        "timeout": {"type": "integer", "minimum": 1},
                    },
                    "required": ["command"],
                    "additionalProperties": false,
                },
            },
        }),
    };
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.toml of tau",
        "type": "object",
        "properties": properties(property),
        "additionalProperties": false,
    });
    // Text as JSON always succeeds.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// The schema of each setting by its key; settings of a table are in the table's schema.
fn properties(property: impl Fn(ValueKind) -> Value) -> Map<String, Value> {
    let mut properties = Map::new();
    for row in TABLE.iter().filter(|row| row.columns.in_files) {
        let mut value = property(row.kind);
        if let Value::Object(fields) = &mut value {
            fields.insert("description".to_owned(), row.help().into());
        }
        match row.key.split_once('.') {
            Some((group, key)) => {
                let about =
                    GROUPS.iter().find(|(name, _)| *name == group).map_or("", |(_, about)| about.trim());
                let table = properties.entry(group).or_insert_with(|| {
                    json!({"type": "object", "description": about, "properties": {}, "additionalProperties": false})
                });
                if let Some(inner) = table.get_mut("properties").and_then(Value::as_object_mut) {
                    inner.insert(key.to_owned(), value);
                }
            }
            None => drop(properties.insert(row.key.to_owned(), value)),
        }
    }
    properties
}
