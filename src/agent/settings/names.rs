//! Names of tables in `config.toml`, and names that were removed.

/// The tables that hold settings.
pub(super) const GROUPS: [&str; 3] = ["sandbox", "helpers", "timeouts"];

const MODELS_FILE: &str = "a [vendors.NAME] in models.toml, or use /login (docs/models.md)";
/// The replacement for settings that tau now determines itself.
pub(super) const AUTOMATIC: &str = "";

/// Removed names, and their replacements.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("network", "`network` in the table [sandbox]"),
    ("sandbox_writable", "`writable` in the table [sandbox]"),
    ("sandbox_user_commands", "`user_commands` in the table [sandbox]"),
    ("sandbox_hooks", "`hooks` in the table [sandbox]"),
    ("sandbox_mcp", "`mcp` in the table [sandbox]"),
    ("connect_timeout", "`connect` in the table [timeouts]"),
    ("first_token_timeout", "`first_token` in the table [timeouts]"),
    ("idle_timeout", "`idle` in the table [timeouts]"),
    ("screen_permission_mode", "`permission_mode`; the answer of the first start is kept by itself"),
    ("parallel", AUTOMATIC),
    ("provider", MODELS_FILE),
    ("api", MODELS_FILE),
    ("base_url", MODELS_FILE),
    ("api_key", MODELS_FILE),
    ("mcp_wait", AUTOMATIC),
    ("mcp_schema_share", AUTOMATIC),
    ("skill_budget", AUTOMATIC),
    ("compact_reserve", AUTOMATIC),
];

/// The replacement for a removed name.
pub(super) fn replacement(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == name).map(|(_, instead)| *instead)
}
