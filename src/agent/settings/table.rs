//! The table of settings: one row for each.
//!
//! From it come the fields of [`Settings`], what is read from `config.toml`, from trusted projects,
//! from the environment and from flags, `--help`, the table in `docs/configuration.md` and the
//! schema of `config.toml`. A new setting is a row here and the code that uses its value.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::Deserialize;

use super::editing_mode::EditingMode;
use super::hooks::HookTable;
use super::images::ImageProtocol;
use super::mcp_servers::McpTable;
use super::notify::Notify;
use super::sandbox::NetworkAccess;
use super::status_template::StatusTemplate;
use super::support::Support;
use super::value::{self, BaseUrl, DiffLayout, SettingValue, Temperature, ValueKind};
use super::web::{PrivateHosts, WebSearch};
use crate::agent::protocol::approval::PermissionMode;
use crate::agent::protocol::model::{Api, ThinkingLevel};
use crate::agent::protocol::run::ParallelCalls;
use crate::agent::secrets::Secret;
use crate::tools::sandbox::SandboxLevel;

/// What a row says of a setting besides its name, its type and its help.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// What holds when it is not set, as markdown; empty for nothing.
    pub default: &'static str,
    /// The environment variable that sets it.
    pub env: Option<&'static str>,
    /// The flag that sets it.
    pub flag: Option<SettingFlag>,
    /// Whether `.tau/config.toml` of a trusted project may set it.
    pub project: bool,
    /// Whether a change applies while tau runs.
    pub live: bool,
}

/// A flag that sets a setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingFlag {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// The name of its value in help.
    pub value: &'static str,
    /// The section of `--help` that lists it; `None` where it is only in the documents.
    pub heading: Option<&'static str>,
}

const COLUMNS: Columns = Columns { default: "", env: None, flag: None, project: false, live: false };

const fn flag(name: &'static str, value: &'static str, heading: &'static str) -> Option<SettingFlag> {
    Some(SettingFlag { name, value, heading: Some(heading) })
}

/// A flag that is too rare for `--help`.
const fn rare_flag(name: &'static str, value: &'static str) -> Option<SettingFlag> {
    Some(SettingFlag { name, value, heading: None })
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingRow {
    /// Its name in `config.toml`.
    pub key: &'static str,
    /// What it holds.
    pub kind: ValueKind,
    /// One line for people.
    help: &'static str,
    /// The rest of the row.
    pub columns: Columns,
    set: fn(&mut Settings, &OsStr) -> Result<(), String>,
    same: fn(&Settings, &Settings) -> bool,
    text: fn(&Settings) -> Option<String>,
    secret: bool,
}

impl SettingRow {
    /// One line for people, without a period.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// Sets it in `settings` to what a variable or a flag says.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub fn set(&self, settings: &mut Settings, value: &OsStr) -> Result<(), String> {
        (self.set)(settings, value)
    }

    /// What `settings` sets it to, as it is typed; a secret masked. `None` where it is not set.
    pub(crate) fn text(&self, settings: &Settings) -> Option<String> {
        (self.text)(settings)
    }

    /// Whether its value must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether both set it to the same, or neither sets it.
    pub(crate) fn is_same(&self, one: &Settings, other: &Settings) -> bool {
        (self.same)(one, other)
    }

    /// Its default, as it is typed or in words; empty for nothing.
    pub(crate) fn default(&self) -> String {
        self.columns.default.replace('`', "")
    }

    /// Whether both come to the same: a default that is set is the default.
    pub(crate) fn means_same(&self, one: &Settings, other: &Settings) -> bool {
        let is_default = |settings| self.text(settings).is_none_or(|text| text == self.default());
        self.is_same(one, other) || (is_default(one) && is_default(other))
    }
}

macro_rules! settings {
    ($(#[doc = $help:literal] $key:ident: $type:ty, $columns:expr;)*) => {
        /// What is set. A field is `None` where nothing sets it.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Settings {
            $(#[doc = $help] #[serde(deserialize_with = "value::read")] pub $key: Option<$type>,)*
        }

        impl Settings {
            /// These settings, with those that `over` sets in their place.
            pub fn overlaid(self, over: Settings) -> Settings {
                Settings { $($key: over.$key.or(self.$key),)* }
            }
        }

        /// All settings.
        pub const TABLE: &[SettingRow] = &[$(SettingRow {
            key: stringify!($key),
            kind: <$type as SettingValue>::KIND,
            help: $help,
            columns: $columns,
            set: |settings, value| {
                settings.$key = Some(<$type as SettingValue>::parse(value)?);
                Ok(())
            },
            same: |one, other| one.$key == other.$key,
            text: |settings| settings.$key.as_ref().map(SettingValue::show),
            secret: <$type as SettingValue>::SECRET,
        },)*];
    };
}

settings! {
    /// Model: id, provider/id, or part of a name
    model: String, Columns {
        default: "the default of the first provider with a key", env: Some("TAU_MODEL"),
        flag: flag("model", "MODEL", "Model"), project: true, live: true,
    };
    /// Provider; with a base URL, any name
    provider: String, Columns {
        env: Some("TAU_PROVIDER"), flag: flag("provider", "NAME", "Model"), ..COLUMNS
    };
    /// Wire format of the server at the base URL
    api: Api, Columns {
        default: "`openai-completions`", env: Some("TAU_API"), flag: flag("api", "API", "Model"), ..COLUMNS
    };
    /// Server, such as http://localhost:8080/v1
    base_url: BaseUrl, Columns {
        env: Some("TAU_BASE_URL"), flag: flag("base-url", "URL", "Model"), ..COLUMNS
    };
    /// Its API key, $VARIABLE, or a !command
    api_key: Secret, Columns {
        env: Some("TAU_API_KEY"), flag: flag("api-key", "KEY", "Model"), ..COLUMNS
    };
    /// Look for model servers on the usual ports of this machine when no model is configured
    local_servers: bool, Columns { default: "`true`", env: Some("TAU_LOCAL_SERVERS"), ..COLUMNS };
    /// Thinking level
    thinking: ThinkingLevel, Columns {
        default: "`off`", env: Some("TAU_THINKING"), flag: flag("thinking", "LEVEL", "Model"),
        project: true, live: true,
    };
    /// What is asked before a call: nothing (`auto`), whatever changes something (`ask`), or nothing may change (`plan`)
    permission_mode: PermissionMode, Columns {
        default: "`auto`", env: Some("TAU_PERMISSION_MODE"), flag: flag("permission-mode", "MODE", "Model"), live: true,
        ..COLUMNS
    };
    /// As `permission_mode`, but only for the screen, where somebody can be asked: the answer of the first start
    screen_permission_mode: PermissionMode, Columns { default: "`permission_mode`", live: true, ..COLUMNS };
    /// Rules for calls: lists `allow`, `ask` and `deny`; `unprotected` names protected paths that are not asked
    permissions: BTreeMap<String, Vec<String>>, Columns { project: true, live: true, ..COLUMNS };
    /// Tools that the model may use
    tools: Vec<String>, Columns {
        default: "`read`, `bash`, `edit`, `write`", env: None, flag: flag("tools", "A,B", "Model"),
        project: true, live: true,
    };
    /// The model may fetch web pages
    web_fetch: bool, Columns {
        default: "`false`", flag: rare_flag("web-fetch", "BOOL"), live: true, ..COLUMNS
    };
    /// Hosts outside the public internet that may be fetched: names, addresses and ranges such as 10.0.0.0/8
    web_allow_private: PrivateHosts, Columns { live: true, ..COLUMNS };
    /// Service with which the model may search the web
    web_search: WebSearch, Columns { default: "`off`", flag: rare_flag("web-search", "SERVICE"), live: true, ..COLUMNS };
    /// Address of the service that searches, in place of its usual one; SearXNG has none
    web_search_url: BaseUrl, Columns { live: true, ..COLUMNS };
    /// MCP servers: a table for each, as `[mcp.NAME]`
    mcp: McpTable, Columns { project: true, live: true, ..COLUMNS };
    /// Longest wait of the first prompt for MCP servers that are starting, in seconds
    mcp_wait: u64, Columns { default: "`5`", ..COLUMNS };
    /// Percent of the context window that the schemas of MCP tools may take; with more, the model finds them with `tool_search`
    mcp_schema_share: u64, Columns { default: "`10`", ..COLUMNS };
    /// MCP servers run in the sandbox of the model's commands, unless theirs say otherwise
    sandbox_mcp: bool, Columns { default: "`false`", ..COLUMNS };
    /// Commands of yours that run at certain moments: a list for each event, as `[[hooks.PreToolUse]]`
    hooks: HookTable, Columns { project: true, live: true, ..COLUMNS };
    /// Also run the hooks in `~/.claude/settings.json`, and in `.claude/settings*.json` of trusted projects
    claude_hooks: bool, Columns { default: "`false`", live: true, ..COLUMNS };
    /// Folder for session files
    session_dir: PathBuf, Columns {
        default: "`sessions/` in the data folder", env: Some("TAU_SESSION_DIR"),
        flag: rare_flag("session-dir", "DIR"), ..COLUMNS
    };
    /// auto, a name (`/theme` shows all), or a file
    theme: String, Columns {
        default: "`auto`", env: Some("TAU_THEME"), flag: flag("theme", "THEME", "Other"),
        project: true, live: true,
    };
    /// `false` leaves the mouse to the terminal
    mouse: bool, Columns { default: "`true`", live: true, ..COLUMNS };
    /// Start with thinking blocks hidden
    hide_thinking: bool, Columns { default: "`false`", project: true, live: true, ..COLUMNS };
    /// Widest prose, in columns; 0 for no limit
    prose_width: u64, Columns { default: "`100`", project: true, live: true, ..COLUMNS };
    /// Diffs: side by side (split), one below the other (unified), or by the width of the window
    diff: DiffLayout, Columns { default: "`auto`", project: true, live: true, ..COLUMNS };
    /// Links without their addresses, which the terminal opens (OSC 8)
    hyperlinks: Support, Columns { default: "`auto`", live: true, ..COLUMNS };
    /// How pictures are shown: by the protocol of the terminal, as half blocks, or not
    images: ImageProtocol, Columns { default: "`auto`", live: true, ..COLUMNS };
    /// When the window has no focus: how tau reports that a run has finished or waits for an answer
    notify: Notify, Columns { default: "`auto`", live: true, ..COLUMNS };
    /// Show in the terminal's tab or taskbar that a run is under way (OSC 9;4)
    progress: Support, Columns { default: "`auto`", live: true, ..COLUMNS };
    /// `false`: nothing on the screen moves by itself
    animations: bool, Columns {
        default: "`true`", flag: rare_flag("animations", "BOOL"), live: true, ..COLUMNS
    };
    /// Keys that edit your text: those of readline, or those of vim
    editing_mode: EditingMode, Columns { default: "`emacs`", live: true, ..COLUMNS };
    /// Print what is finished on the shell's screen
    inline: bool, Columns {
        default: "`false`", flag: flag("inline", "BOOL", "Other"), ..COLUMNS
    };
    /// Template of the status line
    status_line: StatusTemplate, Columns { live: true, ..COLUMNS };
    /// Command whose first line of output is the part `command` of the status line
    status_command: String, Columns { live: true, ..COLUMNS };
    /// Plain lines for a screen reader
    screen_reader: bool, Columns {
        default: "`false`", flag: flag("screen-reader", "BOOL", "Other"), ..COLUMNS
    };
    /// Skills and other extensions that are off: `skill:name`
    extensions_off: Vec<String>, Columns { live: true, ..COLUMNS };
    /// Tokens that the list of skills may take of the system prompt
    skill_budget: u64, Columns { default: "`6000`", live: true, ..COLUMNS };
    /// Shell that runs commands
    shell: PathBuf, Columns { default: "`bash`", ..COLUMNS };
    /// Time limit for commands of the model that set none themselves
    bash_timeout: u64, Columns { default: "none", project: true, live: true, ..COLUMNS };
    /// Sampling temperature, from 0 to 2, where the model takes one
    temperature: Temperature, Columns {
        default: "the provider's own", env: Some("TAU_TEMPERATURE"), flag: rare_flag("temperature", "NUMBER"), project: true,
        live: true,
    };
    /// Which tool calls of one answer run at the same time: those that only read, or commands as well
    parallel: ParallelCalls, Columns {
        default: "`reads`", env: Some("TAU_PARALLEL"), flag: rare_flag("parallel", "READS|ALL"), project: true,
        live: true,
    };
    /// What commands may change: anything, the workspace, or nothing
    sandbox: SandboxLevel, Columns {
        default: "`off`", env: Some("TAU_SANDBOX"), flag: flag("sandbox", "LEVEL", "Other"), live: true, ..COLUMNS
    };
    /// Whether commands can use the network
    network: NetworkAccess, Columns {
        default: "`on`", env: Some("TAU_NETWORK"), flag: flag("network", "ON|OFF", "Other"), live: true, ..COLUMNS
    };
    /// Further files and directories that sandboxed commands may change
    sandbox_writable: Vec<String>, Columns { live: true, ..COLUMNS };
    /// The sandbox holds for your own `!` commands, too
    sandbox_user_commands: bool, Columns { default: "`false`", live: true, ..COLUMNS };
    /// The sandbox holds for hooks, too
    sandbox_hooks: bool, Columns { default: "`false`", live: true, ..COLUMNS };
    /// Environment variables that commands may see although their names look secret
    pass_env: Vec<String>, Columns { ..COLUMNS };
    /// `false`: secrets in the output of tools and commands are not masked
    mask_secrets: bool, Columns {
        default: "`true`", flag: rare_flag("mask-secrets", "BOOL"), live: true, ..COLUMNS
    };
    /// Summarize the earlier conversation when the context window fills up
    auto_compact: bool, Columns { default: "`true`", project: true, live: true, ..COLUMNS };
    /// Tokens of the context window to keep free; at most half of it is
    compact_reserve: u64, Columns { default: "`20000`", project: true, live: true, ..COLUMNS };
    /// Megabytes kept to undo what tools changed, over all sessions; 0 keeps nothing
    undo_quota: u64, Columns { default: "`512`", ..COLUMNS };
    /// Longest wait for a connection
    connect_timeout: NonZeroU64, Columns { default: "`10`", env: Some("TAU_CONNECT_TIMEOUT"), ..COLUMNS };
    /// Longest wait for the first piece of an answer
    first_token_timeout: NonZeroU64, Columns {
        default: "`300`", env: Some("TAU_FIRST_TOKEN_TIMEOUT"), ..COLUMNS
    };
    /// Longest silence within an answer
    idle_timeout: NonZeroU64, Columns { default: "`60`", env: Some("TAU_IDLE_TIMEOUT"), ..COLUMNS };
    /// Certificates (PEM) to trust besides those of the system
    ca_file: PathBuf, Columns { env: Some("TAU_CA_FILE"), ..COLUMNS };
    /// Proxy URL, or `none`
    proxy: String, Columns { default: "`HTTPS_PROXY`, `HTTP_PROXY`", env: Some("TAU_PROXY"), ..COLUMNS };
    /// Action name to list of keys
    keys: BTreeMap<String, Vec<String>>, Columns { live: true, ..COLUMNS };
}

/// The row of that key.
pub fn row(key: &str) -> Option<&'static SettingRow> {
    TABLE.iter().find(|row| row.key == key)
}
