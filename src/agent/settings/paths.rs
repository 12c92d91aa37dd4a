//! The locations of tau's files: the XDG rules, or everything under `TAU_HOME`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::private_files::SharedFile;
use tau_protocol::worktree;
use tau_tools::hashes::{FNV_START, fnv1a};
use tau_tools::user_error::UserError;

/// The folders that tau uses. None is created before something is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `config.toml`, `models.toml`, `auth.json`, `themes/`.
    pub config: PathBuf,
    /// `sessions/`, prompt history, `undo/`, `mcp-logins/`.
    pub data: PathBuf,
    /// Logs, crash reports, locks of files that are stored elsewhere, the mode that the user chose, rights of sessions.
    pub state: PathBuf,
    /// Files that may be deleted at any time.
    pub cache: PathBuf,
}

impl Paths {
    /// The folders for this environment. `home` is the value of `TAU_HOME`, if set; an empty one
    /// counts as not set. Fails if there is neither `TAU_HOME` nor a home directory.
    pub fn discover(home: Option<&Path>) -> Result<Self, UserError> {
        if let Some(home) = home.filter(|home| !home.as_os_str().is_empty()) {
            return Ok(Self::under(home));
        }
        let project = directories::ProjectDirs::from("", "", "tau")
            .ok_or("no home directory: set HOME, or set TAU_HOME to a folder for tau's files")?;
        Ok(Paths {
            config: project.config_dir().to_owned(),
            data: project.data_dir().to_owned(),
            state: project.state_dir().unwrap_or(project.data_local_dir()).to_owned(),
            cache: project.cache_dir().to_owned(),
        })
    }

    /// All folders under one folder.
    pub fn under(home: &Path) -> Self {
        Paths {
            config: home.to_owned(),
            data: home.to_owned(),
            state: home.join("logs"),
            cache: home.join("cache"),
        }
    }

    /// All of them.
    pub fn folders(&self) -> [&PathBuf; 4] {
        [&self.config, &self.data, &self.state, &self.cache]
    }

    /// The folder with one folder of sessions per directory.
    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The name of their owner in temporary folders, which several users of a machine or homes of a user share.
    pub fn owner(&self) -> String {
        format!("{:016x}", fnv1a(FNV_START, self.data.as_os_str().as_bytes()))
    }

    /// The folder of sessions that run in `cwd`.
    pub fn sessions_for(&self, cwd: &Path) -> PathBuf {
        self.sessions().join(cwd_name(cwd))
    }

    /// The folder for what packages of extensions keep.
    pub fn package_data(&self) -> PathBuf {
        self.data.join("package-data")
    }

    /// The folder of undo data: one folder per session.
    pub fn undo(&self) -> PathBuf {
        self.data.join("undo")
    }

    /// The folder of the worktrees of a repository: beside tau's own folders, whose files the tools of a session
    /// cannot change. `repository` is the folder of the repository's own working tree.
    pub fn worktrees_of(&self, repository: &Path) -> PathBuf {
        self.worktrees().join(repository_name(repository))
    }

    /// The folder of all worktrees.
    pub fn worktrees(&self) -> PathBuf {
        let mut name = self.data.file_name().unwrap_or(OsStr::new("tau")).to_owned();
        name.push(worktree::FOLDER_END);
        self.data.with_file_name(name)
    }

    /// The folder with the records of these worktrees.
    pub fn worktree_records_of(&self, repository: &Path) -> PathBuf {
        self.worktree_records().join(repository_name(repository))
    }

    /// The folder with the records of all worktrees: a folder for each repository.
    pub fn worktree_records(&self) -> PathBuf {
        self.data.join("worktrees")
    }

    /// The file with the user's decisions on trust.
    pub fn trust_file(&self) -> PathBuf {
        self.config.join("trust.json")
    }

    /// The file with measurements of terminals.
    pub fn terminals(&self) -> PathBuf {
        self.cache.join("terminals.json")
    }

    /// The index of session files for lists.
    pub fn session_index(&self) -> PathBuf {
        self.cache.join("sessions.index")
    }

    /// The index of what was said in sessions, for searches.
    pub fn search_index(&self) -> PathBuf {
        self.cache.join("search.db")
    }

    /// The user's MCP servers in the format of other agents.
    pub fn mcp_file(&self) -> PathBuf {
        self.config.join("mcp.json")
    }

    /// The logins at MCP servers: one file with its tokens for each.
    pub fn mcp_logins(&self) -> PathBuf {
        self.data.join("mcp-logins")
    }

    /// The user's settings file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// A file that several processes may change. Its lock is in the state folder.
    pub fn shared_file(&self, path: PathBuf) -> SharedFile {
        SharedFile::new(path, self.state.join("locks"))
    }
}

/// The maximum length of a folder's name in that of its worktrees, in bytes.
const MAX_STEM_LEN: usize = 60;

/// The maximum length of a file name on the usual file systems, in bytes.
const MAX_NAME_LEN: usize = 255;

/// The name of the session folder of a directory: `/srv/web app/x` gives `--srv-web app-x--`. The end of a
/// name that would be too long for a file system is replaced by a hash of the path. Two directories can have
/// the same name; the header of a session decides.
pub(crate) fn cwd_name(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let inner = path.strip_prefix('/').unwrap_or(&path).replace(['/', '\\', ':'], "-");
    let name = format!("--{inner}--");
    if name.len() <= MAX_NAME_LEN {
        return name;
    }
    let end = format!("-{:016x}--", fnv1a(FNV_START, cwd.as_os_str().as_bytes()));
    let kept = inner.floor_char_boundary(MAX_NAME_LEN.saturating_sub(end.len()).saturating_sub(2));
    format!("--{}{end}", inner.get(..kept).unwrap_or_default())
}

/// The name of a repository among folders of worktrees: that of its folder, and a hash of the path.
fn repository_name(repository: &Path) -> String {
    let name = repository.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let kept = name.get(..name.floor_char_boundary(MAX_STEM_LEN)).unwrap_or_default();
    format!("{kept}-{:016x}", fnv1a(FNV_START, repository.as_os_str().as_bytes()))
}

/// A path with `~` for the home directory.
pub fn in_short(path: &Path) -> String {
    let home = directories::BaseDirs::new();
    let below = home.as_ref().and_then(|dirs| path.strip_prefix(dirs.home_dir()).ok());
    match below {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_fit_into_a_file_system() {
        let long = |last: &str| format!("/{}/{last}", "a".repeat(245));
        let names: Vec<String> =
            ["1234", "12345", "123456", "123457"].map(|last| cwd_name(Path::new(&long(last)))).into();
        assert_eq!(names[0], format!("--{}-1234--", "a".repeat(245)), "the longest name that fits");
        assert!(names.iter().all(|name| name.len() <= 255), "{names:?}");
        assert_eq!(names[2], format!("--{}-ad27198f19b70a25--", "a".repeat(234)), "names stay the same");
        assert_ne!(names[2], names[3]);
        assert!(cwd_name(Path::new(&"\u{20ac}".repeat(200))).len() <= 255);
    }

    #[test]
    fn a_file_has_one_lock_by_whatever_path_and_none_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, paths) = (dir.path().join("work"), Paths::under(&dir.path().join("tau")));
        std::fs::create_dir(&folder).unwrap();
        let lock = |path: PathBuf| paths.shared_file(path).lock_path();
        let missing = lock(folder.join("config.toml"));
        assert!(missing.starts_with(&paths.state), "{missing:?}");
        std::fs::write(folder.join("config.toml"), "").unwrap();
        std::os::unix::fs::symlink(&folder, dir.path().join("link")).unwrap();
        assert_eq!(lock(folder.join("config.toml")), missing);
        assert_eq!(lock(dir.path().join("link/config.toml")), missing);
        assert_ne!(lock(folder.join("config.local.toml")), missing);
        let long = lock(folder.join("\u{20ac}".repeat(80)));
        assert!(long.file_name().unwrap().len() < 100, "{long:?}");
        let file = paths.shared_file(folder.join("config.toml"));
        let held = file.lock().unwrap();
        assert!(super::super::private_files::LockFile::try_take(&missing).unwrap().is_none());
        drop(held);
        let names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["config.toml"]);
    }

    #[test]
    fn worktrees_are_outside_of_the_folders_of_tau() {
        for paths in [Paths::under(Path::new("/h/.tau")), Paths::under(Path::new("/"))] {
            let folder = paths.worktrees_of(Path::new("/srv/web app"));
            assert!(!folder.starts_with("/h/.tau"), "{folder:?}");
            let inside = folder.join("fix/src");
            let found = worktree::of(&inside).unwrap();
            assert_eq!((found.repository.as_ref(), found.name.as_ref()), ("web_app", "fix"));
            assert_ne!(folder, paths.worktrees_of(Path::new("/srv/web_app")), "another repository");
        }
    }
}
