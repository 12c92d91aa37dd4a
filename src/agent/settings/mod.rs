//! What the user sets: `config.toml`, the environment, the places of files.
//!
//! [`table`] has a row for each setting, [`value`] the types they have. What a project sets is in
//! [`trust`]; [`mod@write`] saves one setting.

pub mod chosen_mode;
pub mod chosen_models;
pub mod claude_permissions;
pub mod documents;
pub mod folder;
pub mod guards;
pub mod hooks;
pub mod images;
pub mod local_file;
pub mod mcp_edit;
pub mod mcp_servers;
mod names;
mod network;
pub mod paths;
pub mod permission_rules;
pub mod private_files;
pub mod sandbox;
pub mod table;
mod toml_errors;
mod toml_file;
pub mod trust;
pub mod value;
pub mod web;
pub mod write;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::protocol::run::CompactionSettings;
pub use paths::Paths;
pub use table::Settings;
pub use toml_file::line_of_key;
pub use toml_file::{line_of, read_toml, read_toml_text};

/// Largest settings file that is read, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Why settings could not be used. The message names the file, the line and the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

impl Settings {
    /// The settings of `config.toml`; nothing is set if the file does not exist.
    ///
    /// # Errors
    /// When the file cannot be read or a line in it is not understood.
    pub fn load(paths: &Paths) -> Result<Self, SettingsError> {
        Ok(read_toml(&paths.config_file())?.unwrap_or_default())
    }

    /// As [`Settings::load`], for a front end that can show what is wrong: a key that is not
    /// understood is not set, and the others are.
    pub fn load_leniently(paths: &Paths) -> (Self, Vec<SettingsError>) {
        let (values, wrong) = toml_file::read_toml_leniently(&paths.config_file());
        (values.into_iter().fold(Settings::default(), Settings::overlaid), wrong)
    }

    /// These settings, with those that environment variables set in their place. A blank variable
    /// counts as not set. `lookup` gives the value of a variable.
    ///
    /// # Errors
    /// When a variable has a value that its setting cannot have.
    pub fn with_env(self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let (settings, wrong) = self.with_env_leniently(lookup);
        wrong.into_iter().next().map_or(Ok(settings), Err)
    }

    /// As [`Settings::with_env`]; a variable with a value that its setting cannot have sets nothing.
    pub fn with_env_leniently(self, lookup: &dyn Fn(&str) -> Option<String>) -> (Self, Vec<SettingsError>) {
        let (mut over, mut wrong) = (Settings::default(), Vec::new());
        for row in table::TABLE {
            let Some(name) = row.columns.env else { continue };
            let Some(value) = lookup(name).filter(|value| !value.trim().is_empty()) else { continue };
            if let Err(error) = row.set(&mut over, OsStr::new(&value)) {
                wrong.push(SettingsError(format!("{name}: {error}")));
            }
        }
        (self.overlaid(over), wrong)
    }

    /// When and how the context is compacted.
    pub fn compaction(&self) -> CompactionSettings {
        let usual = CompactionSettings::default();
        CompactionSettings { auto: self.auto_compact.unwrap_or(usual.auto), ..usual }
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
