//! What the person set: `config.toml`, the environment, the places of files.
//!
//! Only what belongs to the person counts: what a project sets is in [`trust`], and names neither
//! addresses, keys nor programs. Keys are in [`auth`], saving in [`write`].

pub mod private_files;

pub mod auth;
pub mod folder;
mod network;
pub mod paths;
mod toml_file;
pub mod trust;
pub mod write;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use super::protocol::model::{Api, ThinkingLevel};
use super::protocol::run::CompactionSettings;
pub use paths::Paths;
pub(super) use toml_file::{read_toml, read_toml_text};

/// Largest settings file that is read, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Why settings could not be used. The message names the file, the line and the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

/// The settings, all with defaults. In `config.toml` with the same names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Model at start: `provider/id` or a pattern.
    pub model: Option<String>,
    /// Thinking level at start.
    pub thinking: Option<ThinkingLevel>,
    /// Theme: a name or a file.
    pub theme: Option<String>,
    /// The shell that runs commands; `bash` when not set.
    pub shell: Option<PathBuf>,
    /// Timeout of commands the model runs, in seconds; none by default.
    pub bash_timeout: Option<u64>,
    /// Environment variables that commands get although their names look like secrets.
    pub pass_env: Vec<String>,
    /// Folder of session files instead of the default one.
    pub session_dir: Option<PathBuf>,
    /// Action name -> keys, replacing the action's default keys.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Ad-hoc provider: the same as the flags of these names.
    pub provider: Option<String>,
    pub base_url: Option<String>,
    #[serde(deserialize_with = "known_api")]
    pub api: Option<Api>,
    /// A key: literal, `$NAME`, or `!command`.
    pub api_key: Option<String>,
    /// Tools that are on; the standard ones when not set.
    pub tools: Option<Vec<String>>,
    /// False leaves the mouse to the terminal.
    pub mouse: Option<bool>,
    /// True hides thinking blocks at start.
    pub hide_thinking: bool,
    /// Longest wait for a connection, in seconds; 10 when not set.
    pub connect_timeout: Option<NonZeroU64>,
    /// Longest wait for the first piece of an answer, in seconds; 300 when not set.
    pub first_token_timeout: Option<NonZeroU64>,
    /// Longest silence within an answer, in seconds; 60 when not set.
    pub idle_timeout: Option<NonZeroU64>,
    /// Certificates (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// The proxy, or `none`; when not set, what `HTTPS_PROXY` and `HTTP_PROXY` say.
    pub proxy: Option<String>,
    /// False leaves making room in the context to `/compact`.
    pub auto_compact: Option<bool>,
    /// Tokens of the context window that are kept free.
    pub compact_reserve: Option<u64>,
}

impl Settings {
    /// The settings of `config.toml`; the defaults when there is none. A front end with a screen
    /// shows the error and goes on with the defaults, one without ends.
    ///
    /// # Errors
    /// When the file cannot be read or a line in it is not understood.
    pub fn load(paths: &Paths) -> Result<Self, SettingsError> {
        Ok(read_toml(&paths.config_file())?.unwrap_or_default())
    }

    /// The settings with what the environment sets in their place: `TAU_MODEL`, `TAU_PROVIDER`,
    /// `TAU_BASE_URL`, `TAU_API`, `TAU_API_KEY`, `TAU_SESSION_DIR`, `TAU_THEME`,
    /// `TAU_THINKING`, `TAU_CONNECT_TIMEOUT`, `TAU_FIRST_TOKEN_TIMEOUT`, `TAU_IDLE_TIMEOUT`,
    /// `TAU_CA_FILE` and `TAU_PROXY`. Empty variables count as not set. `lookup` gives the value of a variable.
    ///
    /// # Errors
    /// When a variable has a value that is none of those it can have.
    pub fn with_env(mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let get = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let texts = [
            ("TAU_MODEL", &mut self.model),
            ("TAU_PROVIDER", &mut self.provider),
            ("TAU_BASE_URL", &mut self.base_url),
            ("TAU_API_KEY", &mut self.api_key),
            ("TAU_THEME", &mut self.theme),
        ];
        for (name, setting) in texts {
            *setting = get(name).or(setting.take());
        }
        if let Some(dir) = get("TAU_SESSION_DIR") {
            self.session_dir = Some(PathBuf::from(dir));
        }
        if let Some(name) = get("TAU_API") {
            let api =
                Api::named(&name).ok_or_else(|| one_of("TAU_API", &name, Api::NAMES.map(|(name, _)| name)));
            self.api = Some(api?);
        }
        if let Some(name) = get("TAU_THINKING") {
            let names = ThinkingLevel::ALL.map(ThinkingLevel::name);
            let level = ThinkingLevel::named(&name).ok_or_else(|| one_of("TAU_THINKING", &name, names));
            self.thinking = Some(level?);
        }
        self.network_from_env(&get)?;
        Ok(self)
    }

    /// When and how room is made in the context.
    pub fn room(&self) -> CompactionSettings {
        let usual = CompactionSettings::default();
        CompactionSettings {
            auto: self.auto_compact.unwrap_or(usual.auto),
            reserve: self.compact_reserve.unwrap_or(usual.reserve),
            ..usual
        }
    }

    /// The folder new sessions of `cwd` are kept in.
    pub fn session_dir_for(&self, paths: &Paths, cwd: &Path) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| paths.sessions_for(cwd))
    }

    /// The folder to list sessions from.
    pub fn session_root(&self, paths: &Paths) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| paths.sessions())
    }
}

/// Reads a wire format that can be asked for. [`Api`] itself takes any word, as sessions of other
/// programs have others.
pub(super) fn known_api<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Api>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let names = Api::NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
    let unknown = || serde::de::Error::custom(format!("unknown api `{name}`, expected one of {names}"));
    Api::named(&name).map(Some).ok_or_else(unknown)
}

fn one_of<const N: usize>(variable: &str, value: &str, names: [&str; N]) -> SettingsError {
    SettingsError(format!("{variable}: `{value}` is not known; use one of {}", names.join(", ")))
}
