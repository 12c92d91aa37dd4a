//! The user's settings: `config.toml`, the environment, and the locations of files.
//!
//! [`table`] has a row for each setting, [`value`] their types. [`trust`] reads the settings of projects;
//! [`mod@write`] saves a setting.

pub mod chosen_mode;
pub mod chosen_models;
pub mod claude_permissions;
pub mod config_file;
pub mod folder;
pub mod guards;
pub mod hooks;
pub mod images;
pub mod local_file;
pub mod local_zone;
pub mod mcp_edit;
pub mod mcp_servers;
pub mod mcp_variables;
mod names;
mod network;
pub mod other_folders;
pub mod package_folders;
pub mod paths;
pub mod permission_rules;
pub mod private_files;
pub mod sandbox;
pub mod servers;
pub mod spending;
pub mod table;
pub mod toml_errors;
mod toml_file;
pub mod trust;
pub mod value;
pub mod web;
pub mod write;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::config_file::ConfigFile;
use self::spending::{SpendingFile, SpendingLimits};
use super::protocol::goal::GoalLimits;
use super::protocol::run::CompactionSettings;
pub use paths::Paths;
pub use table::Settings;
use tau_tools::user_error::UserError;
pub(crate) use toml_file::parse_toml;
pub use toml_file::{Problem, line_of, line_of_key, read_toml, read_toml_text};

/// The size limit of a settings file, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;

impl Settings {
    /// The settings of `config.toml`; empty if the file does not exist.
    pub fn load(paths: &Paths) -> Result<Self, UserError> {
        Ok(read_toml(&paths.config_file())?.unwrap_or_default())
    }

    /// Like [`Settings::load`], for a front end that can show problems: invalid keys are left unset, and the
    /// others are used.
    pub fn load_leniently(paths: &Paths) -> (Self, Vec<UserError>) {
        let file = ConfigFile::read(paths);
        (file.settings().clone(), file.problems().to_vec())
    }

    /// Overrides settings by environment variables. A blank variable counts as unset. `lookup` returns the
    /// value of a variable. Fails when the value of a variable is invalid for its setting.
    pub fn with_env(self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, UserError> {
        let (settings, wrong) = self.with_env_leniently(lookup);
        wrong.into_iter().next().map_or(Ok(settings), Err)
    }

    /// Like [`Settings::with_env`], but a variable with an invalid value is ignored.
    pub fn with_env_leniently(self, lookup: &dyn Fn(&str) -> Option<String>) -> (Self, Vec<UserError>) {
        let (mut over, mut wrong) = (Settings::default(), Vec::new());
        for row in table::TABLE {
            let Some(name) = row.columns.env else { continue };
            let Some(value) = lookup(name).filter(|value| !value.trim().is_empty()) else { continue };
            if let Err(error) = row.set(&mut over, OsStr::new(&value)) {
                wrong.push(UserError::new(format!("{name}: {error}")));
            }
        }
        (self.overlaid(over), wrong)
    }

    /// When and how the context is compacted.
    pub fn compaction(&self) -> CompactionSettings {
        let usual = CompactionSettings::default();
        CompactionSettings { auto: self.auto_compact.unwrap_or(usual.auto), ..usual }
    }

    /// The limits of goals that are set without any.
    pub fn goal_limits(&self) -> GoalLimits {
        let some = |number: u64| Some(number).filter(|number| *number > 0);
        GoalLimits {
            rounds: some(self.goal_rounds()).map(|rounds| u32::try_from(rounds).unwrap_or(u32::MAX)),
            dollars: self.goal_cost().limit(),
            seconds: some(self.goal_minutes()).map(|minutes| minutes.saturating_mul(60)),
        }
    }

    /// The limits of cost of a session, and of all sessions in 24 hours.
    pub fn spending_limits(&self, paths: &Paths) -> SpendingLimits {
        SpendingLimits {
            session: self.session_cost().limit(),
            day: self.day_cost().limit(),
            log: Some(Arc::new(SpendingFile::new(paths))),
            shared: None,
        }
    }

    /// The folder for new sessions of `cwd`.
    pub fn session_dir_for(&self, paths: &Paths, cwd: &Path) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| paths.sessions_for(cwd))
    }

    /// The root folder for lists of sessions.
    pub fn session_root(&self, paths: &Paths) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| paths.sessions())
    }
}
