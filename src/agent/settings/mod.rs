//! What the person set: `config.toml`, the environment, the places of files.

pub mod auth;
pub mod paths;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::model::{Api, ThinkingLevel};
pub use paths::Paths;

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
    pub api: Option<Api>,
    /// A key: literal, `$NAME`, or `!command`.
    pub api_key: Option<String>,
    /// Tools that are on; the standard ones when not set.
    pub tools: Option<Vec<String>>,
    /// False leaves the mouse to the terminal.
    pub mouse: Option<bool>,
    /// True hides thinking blocks at start.
    pub hide_thinking: bool,
}
