//! Where tau's files are: the XDG rules, or everything under `TAU_HOME`.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The folders tau uses. None is created before something is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `config.toml`, `models.toml`, `auth.json`, `themes/`.
    pub config: PathBuf,
    /// `sessions/`, prompt history, `undo/`, `mcp-logins/`.
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
            .ok_or("no home directory: set HOME, or set TAU_HOME to a folder for tau's files")?;
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

    /// What undo keeps: a folder for each session.
    pub fn undo(&self) -> PathBuf {
        self.data.join("undo")
    }

    /// Which folders the user trusts.
    pub fn trust_file(&self) -> PathBuf {
        self.config.join("trust.json")
    }

    /// What was measured of terminals.
    pub(crate) fn terminals(&self) -> PathBuf {
        self.cache.join("terminals.json")
    }

    /// What lists remember of session files.
    pub(crate) fn session_index(&self) -> PathBuf {
        self.cache.join("sessions.index")
    }

    /// The MCP servers of the user, as other agents write them.
    pub fn mcp_file(&self) -> PathBuf {
        self.config.join("mcp.json")
    }

    /// The logins at MCP servers: a file for each, with its tokens.
    pub fn mcp_logins(&self) -> PathBuf {
        self.data.join("mcp-logins")
    }

    /// The settings of the user.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

/// Longest name of a file on the usual file systems, in bytes.
const LONGEST_NAME: usize = 255;

/// The name of the folder for the sessions of a directory: `/srv/web app/x` gives
/// `--srv-web app-x--`. The end of a name that would be too long for a file system is replaced by
/// a hash of the path. Two directories can have one name; the header of a session decides.
pub(crate) fn cwd_name(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let inner = path.strip_prefix('/').unwrap_or(&path).replace(['/', '\\', ':'], "-");
    let name = format!("--{inner}--");
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let end = format!("-{:016x}--", hash(cwd.as_os_str().as_bytes()));
    let kept = inner.floor_char_boundary(LONGEST_NAME.saturating_sub(end.len()).saturating_sub(2));
    format!("--{}{end}", inner.get(..kept).unwrap_or_default())
}

/// FNV-1a: the same on every machine and in every version.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A path as text that no other path has: the path itself if it is UTF-8,
/// else `bytes:` and its bytes in hexadecimal. For absolute paths.
pub(crate) fn lossless(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("bytes:{}", hexadecimal(path.as_os_str().as_bytes())), str::to_owned)
}

/// Bytes as two lower-case hexadecimal digits each.
pub(in crate::agent) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

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
    fn paths_that_are_no_text_stay_apart() {
        let path = |bytes: &'static [u8]| lossless(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(path(b"/srv/web"), "/srv/web");
        assert_eq!(path(b"/a\xff"), "bytes:2f61ff");
        assert_ne!(path(b"/a\xff"), path(b"/a\xfe"));
    }
}
