//! The table of settings: one row per setting.
//!
//! It defines the fields of [`Settings`], the keys of `config.toml` and of trusted projects, environment
//! variables and flags, `--help`, the table in `docs/configuration.md` and the schema of `config.toml`. A new
//! setting is a row here and the code that uses its value.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::Deserialize;

use super::hooks::HookTable;
use super::images::ImageProtocol;
use super::mcp_servers::McpTable;
use super::sandbox::NetworkAccess;
use super::servers::Servers;
use super::value::{self, BaseUrl, Dollars, ReleaseUrl, SettingValue, Temperature, ValueKind};
use super::web::{PrivateHosts, WebSearch};
use crate::secrets::Secret;
use tau_protocol::approval::PermissionMode;
use tau_protocol::model::{Api, ThinkingLevel};
use tau_protocol::screen_settings::{DiffLayout, EditingMode, Notify, OnHangup, Support};
use tau_protocol::status_template::StatusTemplate;
use tau_tools::sandbox::SandboxLevel;
use tau_tools::user_error::UserError;

/// The properties of a setting besides its name, its type and its help.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The value if it is not set, as markdown, unless the row has a default; empty for none.
    pub default: &'static str,
    /// The environment variable that sets it.
    pub env: Option<&'static str>,
    /// The flag that sets it.
    pub flag: Option<SettingFlag>,
    /// Whether files may set it; otherwise only a variable or a flag can, for one run.
    pub in_files: bool,
    /// Whether `.tau/config.toml` of a trusted project may set it.
    pub project: bool,
    /// Whether a change applies while tau is running.
    pub live: bool,
    /// Whether it is about the screen and its connection, and not about the agent: a screen that is attached to a
    /// server has its own.
    pub screen: bool,
}

/// A flag for a setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingFlag {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// The name of its value in help.
    pub value: &'static str,
    /// The section of `--help` that lists it; `None` if it is only in the documents.
    pub heading: Option<&'static str>,
}

const COLUMNS: Columns = Columns {
    default: "",
    env: None,
    flag: None,
    in_files: true,
    project: false,
    live: false,
    screen: false,
};

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
    /// The type of its value.
    pub kind: ValueKind,
    /// One line of help.
    help: &'static str,
    /// The other properties.
    pub columns: Columns,
    /// The value that holds when it is not set, as it is typed.
    typed_default: Option<fn() -> String>,
    set: fn(&mut Settings, &OsStr) -> Result<(), UserError>,
    same: fn(&Settings, &Settings) -> bool,
    text: fn(&Settings) -> Option<String>,
    secret: bool,
}

impl SettingRow {
    /// One line of help, without a period.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// Sets it in `settings` to the value of a variable or a flag.
    pub fn set(&self, settings: &mut Settings, value: &OsStr) -> Result<(), UserError> {
        (self.set)(settings, value)
    }

    /// Its value in `settings`, as it is typed; a secret is masked. `None` if it is not set.
    pub fn text(&self, settings: &Settings) -> Option<String> {
        (self.text)(settings)
    }

    /// Whether its value must not be shown.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether both set it to the same value, or neither sets it.
    pub fn is_same(&self, one: &Settings, other: &Settings) -> bool {
        (self.same)(one, other)
    }

    /// Its default, as it is typed or in words; empty for none.
    pub fn default(&self) -> String {
        self.typed_default.map_or_else(|| self.columns.default.replace('`', ""), |show| show())
    }

    /// The default as markdown.
    pub fn default_markdown(&self) -> String {
        self.typed_default.map_or_else(|| self.columns.default.to_owned(), |show| format!("`{}`", show()))
    }

    /// Whether both have the same effective value: setting the default is the same as not setting it.
    pub fn means_same(&self, one: &Settings, other: &Settings) -> bool {
        let is_default = |settings| self.text(settings).is_none_or(|text| text == self.default());
        self.is_same(one, other) || (is_default(one) && is_default(other))
    }
}

/// A row of the table; `$field` is the path of fields to the value.
macro_rules! row {
    ($key:expr, $type:ty, ($($default:expr)?), $help:literal, $columns:expr, $($field:ident).+) => {
        SettingRow {
            key: $key,
            kind: <$type as SettingValue>::KIND,
            help: $help,
            columns: $columns,
            typed_default: row!(@default $type $(, $default)?),
            set: |settings, value| {
                settings.$($field).+ = Some(<$type as SettingValue>::parse(value)?);
                Ok(())
            },
            same: |one, other| one.$($field).+ == other.$($field).+,
            text: |settings| settings.$($field).+.as_ref().map(SettingValue::show),
            secret: <$type as SettingValue>::SECRET,
        }
    };
    (@default $type:ty) => {
        None
    };
    (@default $type:ty, $default:expr) => {
        Some(|| {
            let default: $type = $default;
            SettingValue::show(&default)
        })
    };
}

/// The methods that read settings with a default.
macro_rules! with_defaults {
    ($($help:literal $key:ident: $type:ty, ($($default:expr)?);)*) => {
        $(with_defaults!(@method $help, $key, $type $(, $default)?);)*
    };
    (@method $help:literal, $key:ident, $type:ty) => {};
    (@method $help:literal, $key:ident, $type:ty, $default:expr) => {
        #[doc = $help]
        ///
        /// Its default if nothing sets it.
        pub fn $key(&self) -> $type {
            self.$key.as_ref().map_or_else(|| $default, <$type>::clone)
        }
    };
}

macro_rules! settings {
    (
        not_in_files
        $(#[doc = $run_help:literal] $run:ident: $run_type:ty, $run_columns:expr;)*
        end
        $(#[doc = $help:literal] $key:ident: $type:ty $(= $default:expr)?, $columns:expr;)*
        tables
        $(
            #[doc = $about:literal]
            [$group:ident]: $group_type:ident,
            $(#[doc = $inner_help:literal] $inner:ident: $inner_type:ty $(= $inner_default:expr)?, $inner_columns:expr;)*
            end
        )*
    ) => {
        /// The values of all settings. A field is `None` if it is not set.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Settings {
            $(#[doc = $run_help] #[serde(skip)] pub $run: Option<$run_type>,)*
            $(#[doc = $help] #[serde(deserialize_with = "value::read")] pub $key: Option<$type>,)*
            $(#[doc = $about] pub $group: $group_type,)*
        }

        $(
            /// A table of settings.
            #[doc = ""]
            #[doc = $about]
            #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
            #[serde(default, deny_unknown_fields)]
            pub struct $group_type {
                $(#[doc = $inner_help] #[serde(deserialize_with = "value::read")] pub $inner: Option<$inner_type>,)*
            }

            impl $group_type {
                with_defaults! { $($inner_help $inner: $inner_type, ($($inner_default)?);)* }
            }
        )*

        impl Settings {
            with_defaults! { $($help $key: $type, ($($default)?);)* }

            /// These settings, with those that `over` sets in their place.
            pub fn overlaid(self, over: Settings) -> Settings {
                Settings {
                    $($run: over.$run.or(self.$run),)*
                    $($key: over.$key.or(self.$key),)*
                    $($group: $group_type { $($inner: over.$group.$inner.or(self.$group.$inner),)* },)*
                }
            }
        }

        /// All settings.
        pub const TABLE: &[SettingRow] = &[
            $(row!(stringify!($run), $run_type, (), $run_help, Columns { in_files: false, ..$run_columns }, $run),)*
            $(row!(stringify!($key), $type, ($($default)?), $help, $columns, $key),)*
            $($(row!(
                concat!(stringify!($group), ".", stringify!($inner)),
                $inner_type, ($($inner_default)?), $inner_help, $inner_columns, $group.$inner
            ),)*)*
        ];

        /// The tables in `config.toml` that hold settings, with a description of each.
        pub const GROUPS: &[(&str, &str)] = &[$((stringify!($group), $about),)*];
    };
}

settings! {
    not_in_files
    /// Provider; with a base URL, any name
    provider: String, Columns {
        env: Some("TAU_PROVIDER"), flag: flag("provider", "PROVIDER", "Model"), ..COLUMNS
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
    end

    /// Model: id, provider/id, or part of a name
    model: String, Columns {
        default: "the default of the first provider with a key", env: Some("TAU_MODEL"),
        flag: flag("model", "MODEL", "Model"), project: true, live: true, ..COLUMNS
    };
    /// Look for model servers on the usual ports of this machine when no model is configured
    local_servers: bool = true, Columns { env: Some("TAU_LOCAL_SERVERS"), ..COLUMNS };
    /// Thinking level
    thinking: ThinkingLevel, Columns {
        default: "`off`", env: Some("TAU_THINKING"), flag: flag("thinking", "LEVEL", "Model"),
        project: true, live: true, ..COLUMNS
    };
    /// Permission mode: `ask` before commands and changes, `edits` before commands, `auto` never; in `plan` nothing can change
    permission_mode: PermissionMode, Columns {
        default: "`auto`", env: Some("TAU_PERMISSION_MODE"), flag: flag("permission-mode", "MODE", "Model"), live: true,
        ..COLUMNS
    };
    /// Rules for calls: lists `allow`, `ask` and `deny`; `unprotected` names protected paths that are not asked
    permissions: BTreeMap<String, Vec<String>>, Columns { project: true, live: true, ..COLUMNS };
    /// Tools that the model may use
    tools: Vec<String>, Columns {
        default: "`read`, `bash`, `jobs`, `edit`, `write`, `ask_user`; where commands are asked also `grep`, `find`, `ls`", env: None, flag: flag("tools", "A,B", "Model"),
        project: true, live: true, ..COLUMNS
    };
    /// The model may fetch web pages; the screen asks if it is not set
    web_fetch: bool = false, Columns {
        flag: rare_flag("web-fetch", "BOOL"), live: true, ..COLUMNS
    };
    /// Hosts outside the public internet that may be fetched: names, addresses and ranges such as 10.0.0.0/8
    web_allow_private: PrivateHosts, Columns { live: true, ..COLUMNS };
    /// Service that searches the web for the model
    web_search: WebSearch = WebSearch::default(), Columns { flag: rare_flag("web-search", "SERVICE"), live: true, ..COLUMNS };
    /// Address of the search service; required for SearXNG
    web_search_url: BaseUrl, Columns { live: true, ..COLUMNS };
    /// MCP servers: a table for each, as `[mcp.NAME]`
    mcp: McpTable, Columns { project: true, live: true, ..COLUMNS };
    /// Your commands that run on events: a list for each, as `[[hooks.PreToolUse]]`
    hooks: HookTable, Columns { project: true, live: true, ..COLUMNS };
    /// Also run the hooks in `~/.claude/settings.json`, and in `.claude/settings*.json` of trusted projects; the screen asks if it is not set
    claude_hooks: bool = false, Columns { live: true, ..COLUMNS };
    /// Folder for session files
    session_dir: PathBuf, Columns {
        default: "`sessions/` in the data folder", env: Some("TAU_SESSION_DIR"),
        flag: rare_flag("session-dir", "DIR"), ..COLUMNS
    };
    /// auto, a name (`/theme` shows all), or a file
    theme: String = "auto".to_owned(), Columns {
        env: Some("TAU_THEME"), flag: flag("theme", "THEME", "Other"),
        project: true, live: true, screen: true, ..COLUMNS
    };
    /// `false` leaves the mouse to the terminal
    mouse: bool = true, Columns { live: true, screen: true, ..COLUMNS };
    /// Start with thinking blocks hidden
    hide_thinking: bool = false, Columns { project: true, live: true, screen: true, ..COLUMNS };
    /// Widest prose, in columns; 0 for no limit
    prose_width: u64 = 100, Columns { project: true, live: true, screen: true, ..COLUMNS };
    /// Diffs: split (side by side), unified, or by window width
    diff: DiffLayout = DiffLayout::Auto, Columns { project: true, live: true, screen: true, ..COLUMNS };
    /// Hide the addresses of links; the terminal opens them (OSC 8)
    hyperlinks: Support = Support::Auto, Columns { live: true, screen: true, ..COLUMNS };
    /// Pictures: by the terminal's protocol, as half blocks, or off
    images: ImageProtocol = ImageProtocol::Auto, Columns { live: true, screen: true, ..COLUMNS };
    /// How tau notifies you when a run finishes or waits for you and the window has no focus
    notify: Notify = Notify::Auto, Columns { live: true, screen: true, ..COLUMNS };
    /// Show progress in the terminal's tab or taskbar during a run (OSC 9;4)
    progress: Support = Support::Auto, Columns { live: true, screen: true, ..COLUMNS };
    /// `false` turns animations off
    animations: bool = true, Columns {
        flag: rare_flag("animations", "BOOL"), live: true, screen: true, ..COLUMNS
    };
    /// Editing keys: readline or vim
    editing_mode: EditingMode = EditingMode::Emacs, Columns { live: true, screen: true, ..COLUMNS };
    /// Stay in the normal screen buffer; output scrolls into the scrollback
    inline: bool = false, Columns {
        flag: flag("inline", "BOOL", "Other"), screen: true, ..COLUMNS
    };
    /// Template of the status line
    status_line: StatusTemplate, Columns { live: true, screen: true, ..COLUMNS };
    /// Command whose first line of output is shown as `command` in the status line
    status_command: String, Columns { live: true, screen: true, ..COLUMNS };
    /// Plain lines for a screen reader
    screen_reader: bool = false, Columns {
        flag: flag("screen-reader", "BOOL", "Other"), screen: true, ..COLUMNS
    };
    /// What a session at work does when its terminal closes: stop, or continue in the background
    on_hangup: OnHangup = OnHangup::Stop, Columns { screen: true, ..COLUMNS };
    /// Machines whose sessions the board shows, too: ssh://HOST, or ssh://HOST/FOLDER for those in a folder
    servers: Servers, Columns { live: true, screen: true, ..COLUMNS };
    /// Skills and other extensions to turn off, as `skill:name`
    extensions_off: Vec<String>, Columns { live: true, ..COLUMNS };
    /// Shell that runs commands
    shell: PathBuf, Columns { default: "`bash`", ..COLUMNS };
    /// Default time limit for the model's commands, which then continue as jobs
    bash_timeout: u64, Columns { default: "none", project: true, live: true, ..COLUMNS };
    /// Sampling temperature, from 0 to 2, where the model takes one
    temperature: Temperature, Columns {
        default: "the provider's own", env: Some("TAU_TEMPERATURE"), flag: rare_flag("temperature", "NUMBER"), project: true,
        live: true, ..COLUMNS
    };
    /// Environment variables to pass to commands although their names look secret
    pass_env: Vec<String>, Columns { ..COLUMNS };
    /// `false` stops masking secrets in the output of tools and commands
    mask_secrets: bool = true, Columns {
        flag: rare_flag("mask-secrets", "BOOL"), live: true, ..COLUMNS
    };
    /// Summarize the earlier conversation when the context window fills up
    auto_compact: bool = true, Columns { project: true, live: true, ..COLUMNS };
    /// Megabytes kept for undo, over all sessions; 0 turns undo off
    undo_quota: u64 = 512, Columns { ..COLUMNS };
    /// Most rounds that tau works on a goal; 0 for no limit
    goal_rounds: u64 = 20, Columns { flag: flag("max-rounds", "N", "Front end"), live: true, ..COLUMNS };
    /// Most US dollars that a goal may cost; 0 for no limit
    goal_cost: Dollars = Dollars::default(), Columns { live: true, ..COLUMNS };
    /// Most US dollars that a session may cost, with its helpers; 0 for no limit
    session_cost: Dollars = Dollars::default(), Columns { ..COLUMNS };
    /// Most US dollars that all your sessions may cost in 24 hours; 0 for no limit
    day_cost: Dollars = Dollars::default(), Columns { ..COLUMNS };
    /// Most minutes that tau works on a goal; 0 for no limit
    goal_minutes: u64 = 0, Columns { live: true, ..COLUMNS };
    /// Days after which sessions and undo data that did not change go to the trash; 0 keeps them
    retention: u64 = 0, Columns { ..COLUMNS };
    /// Look for a newer tau once a day; nothing is sent but the request
    update_check: bool = true, Columns { env: Some("TAU_UPDATE_CHECK"), screen: true, ..COLUMNS };
    /// Address of releases, where `tau update` looks
    release_url: ReleaseUrl, Columns {
        default: "the address that tau was built for, if any", env: Some("TAU_RELEASE_URL"), screen: true, ..COLUMNS
    };
    /// Certificates (PEM) to trust besides those of the system
    ca_file: PathBuf, Columns { env: Some("TAU_CA_FILE"), screen: true, ..COLUMNS };
    /// Proxy URL, or `none`
    proxy: String, Columns { default: "`HTTPS_PROXY`, `HTTP_PROXY`", env: Some("TAU_PROXY"), screen: true, ..COLUMNS };
    /// Action name to list of keys
    keys: BTreeMap<String, Vec<String>>, Columns { live: true, screen: true, ..COLUMNS };

    tables

    /// Sandbox for commands; see docs/sandbox.md
    [sandbox]: SandboxSettings,
    /// What commands may change: anything, the workspace, or nothing
    level: SandboxLevel = SandboxLevel::Off, Columns {
        env: Some("TAU_SANDBOX"), flag: flag("sandbox", "LEVEL", "Other"), live: true, ..COLUMNS
    };
    /// Whether commands can use the network
    network: NetworkAccess = NetworkAccess::On, Columns {
        env: Some("TAU_NETWORK"), flag: flag("network", "ON|OFF", "Other"), live: true, ..COLUMNS
    };
    /// More files and directories that sandboxed commands may change
    writable: Vec<String>, Columns { live: true, ..COLUMNS };
    /// Also sandbox your own `!` commands
    user_commands: bool = false, Columns { live: true, ..COLUMNS };
    /// Also sandbox hooks
    hooks: bool = false, Columns { live: true, ..COLUMNS };
    /// Also sandbox MCP servers, unless their own settings say otherwise
    mcp: bool = false, Columns { ..COLUMNS };
    end

    /// Helpers: agents that the model gives tasks to
    [helpers]: HelperSettings,
    /// The model may give tasks to helpers, with the tool `delegate`
    enabled: bool = false, Columns { ..COLUMNS };
    /// Helpers of one agent that work at the same time; others wait
    at_once: u64 = 8, Columns { ..COLUMNS };
    /// Helpers of one prompt, with those of helpers
    total: u64 = 64, Columns { ..COLUMNS };
    /// Model of helpers that explore
    explore_model: String, Columns { default: "a cheap one of the same provider, if tau knows one", ..COLUMNS };
    end

    /// Timeouts for model servers
    [timeouts]: TimeoutSettings,
    /// Longest wait for a connection
    connect: NonZeroU64, Columns { default: "`10`", env: Some("TAU_CONNECT_TIMEOUT"), ..COLUMNS };
    /// Longest wait for the first piece of an answer
    first_token: NonZeroU64, Columns { default: "`300`", env: Some("TAU_FIRST_TOKEN_TIMEOUT"), ..COLUMNS };
    /// Longest silence within an answer
    idle: NonZeroU64, Columns { default: "`60`", env: Some("TAU_IDLE_TIMEOUT"), ..COLUMNS };
    end
}

/// The row with that key.
pub fn row(key: &str) -> Option<&'static SettingRow> {
    TABLE.iter().find(|row| row.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::names;

    #[test]
    fn the_default_tools_are_those_of_the_table() {
        use tau_tools::toolbox::{Availability, TABLE};
        let names = |offered: Availability| {
            let of = TABLE.iter().filter(|row| row.offered == offered).map(|row| format!("`{}`", row.name));
            of.collect::<Vec<_>>().join(", ")
        };
        let (always, asked) = (names(Availability::Always), names(Availability::WhereAsked));
        let default = format!("{always}; where commands are asked also {asked}");
        assert_eq!(row("tools").unwrap().columns.default, default);
    }

    #[test]
    fn the_names_of_tables_are_known_to_the_reader() {
        assert_eq!(GROUPS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names::GROUPS);
        for (gone, _) in names::RENAMED {
            assert!(row(gone).is_none_or(|row| !row.columns.in_files), "{gone}");
        }
    }
}
