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
    /// The folders for this environment. `home` is the value of `TAU_HOME`, if set; an empty one
    /// counts as not set.
    ///
    /// # Errors
    /// A sentence, when there is neither `TAU_HOME` nor a home directory.
    pub fn discover(home: Option<&Path>) -> Result<Self, String> {
        if let Some(home) = home.filter(|home| !home.as_os_str().is_empty()) {
            return Ok(Self::under(home));
        }
        let project = directories::ProjectDirs::from("", "", "tau")
            .ok_or("there is no home directory: set HOME, or TAU_HOME to a folder for tau's files")?;
        Ok(Paths {
            config: project.config_dir().to_owned(),
            data: project.data_dir().to_owned(),
            state: project.state_dir().unwrap_or(project.data_local_dir()).to_owned(),
            cache: project.cache_dir().to_owned(),
        })
    }

    /// Everything under one folder.
    pub fn under(home: &Path) -> Self {
        Paths {
            config: home.to_owned(),
            data: home.to_owned(),
            state: home.join("logs"),
            cache: home.join("cache"),
        }
    }

    /// The folder that holds one folder of sessions a directory.
    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The folder of the sessions that run in `cwd`.
    pub fn sessions_for(&self, cwd: &Path) -> PathBuf {
        self.sessions().join(cwd_name(cwd))
    }

    /// Which folders the person trusts.
    pub fn trust_file(&self) -> PathBuf {
        self.config.join("trust.json")
    }

    /// What lists remember of session files.
    pub fn session_index(&self) -> PathBuf {
        self.cache.join("sessions.index")
    }

    /// The settings of the person.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

/// The name of the folder for the sessions of a directory: `/srv/web app/x` gives
/// `--srv-web app-x--`. Two directories can have one name; the header of a session decides.
pub fn cwd_name(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let path = path.strip_prefix('/').unwrap_or(&path);
    format!("--{}--", path.replace(['/', '\\', ':'], "-"))
}
