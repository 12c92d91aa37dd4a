//! Where tau's files are: the XDG rules, or everything under `TAU_HOME`.

use std::path::{Path, PathBuf};

/// Folders of tau's own. None of them is made before something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `config.toml`, `models.toml`, `auth.json`, `themes/`.
    pub config: PathBuf,
    /// `sessions/`, prompt history.
    pub data: PathBuf,
    /// Logs and crash reports.
    pub state: PathBuf,
    /// What may be deleted at any time.
    pub cache: PathBuf,
}

impl Paths {
    /// The folders for this environment. `home` is the value of `TAU_HOME`, if set.
    ///
    /// # Errors
    /// A sentence, when there is neither `TAU_HOME` nor a home directory.
    pub fn discover(_home: Option<&Path>) -> Result<Self, String> {
        todo!()
    }

    /// The folder that holds one folder of sessions a directory.
    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The folder of the sessions that run in `cwd`.
    pub fn sessions_for(&self, _cwd: &Path) -> PathBuf {
        todo!()
    }
}
