//! Facts about the machine and the repository for the system prompt.
//!
//! Gathered from a handful of small files when a prompt is built: no process is started, because the first
//! frame waits for it. The content of the files may be hostile, so each value becomes a single line of
//! visible characters before a model gets it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::instruction_files::is_invisible;
use tau_tools::git_place::GitPlace;
use tau_tools::regular_files::read_text;

/// The size limit of files read here, in bytes.
const MAX_FILE: u64 = 4 * 1024;
/// The maximum length of a branch name, in characters.
const MAX_BRANCH: usize = 120;

/// The machine and the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// The operating system, as in `Linux x86_64 (Debian GNU/Linux 12)`.
    pub platform: String,
    /// The shell that runs commands.
    pub shell: String,
    /// The repository that the working directory is in, if any.
    pub repository: Option<Repository>,
}

/// A git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The top of the working tree.
    pub root: PathBuf,
    pub head: Head,
}

/// The checked-out branch or commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    Branch(String),
    /// The start of the commit's id.
    Detached(String),
    /// `HEAD` cannot be read, or holds neither a branch nor a commit.
    Unknown,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Head::Branch(name) => write!(f, "branch `{name}`"),
            Head::Detached(commit) => write!(f, "detached HEAD at {commit}"),
            Head::Unknown => f.write_str("branch unknown"),
        }
    }
}

impl Workspace {
    /// The facts for a session in `cwd` whose commands run in `shell`.
    pub fn find(cwd: &Path, shell: Option<&Path>) -> Self {
        let shell = shell.map_or_else(|| "bash".to_owned(), |shell| shell.display().to_string());
        Workspace { platform: platform(), shell, repository: Repository::find(cwd) }
    }
}

impl Repository {
    /// The repository that `dir` is in.
    pub fn find(dir: &Path) -> Option<Self> {
        let place = GitPlace::find(dir)?;
        Some(Repository { root: place.top, head: Head::read(&place.dir) })
    }
}

impl Head {
    fn read(git_dir: &Path) -> Self {
        let text = read_text(&git_dir.join("HEAD"), MAX_FILE).unwrap_or_default();
        let text = text.trim_end_matches(['\n', '\r']);
        match text.strip_prefix("ref:").map(str::trim_start) {
            Some(reference) => branch(reference).map_or(Head::Unknown, Head::Branch),
            None if is_commit(text) => Head::Detached(text.chars().take(12).collect()),
            None => Head::Unknown,
        }
    }
}

/// The branch's name. `None` for names that git itself does not allow (`git check-ref-format`), for quotes
/// and invisible characters, and for the placeholder of repositories that keep their references elsewhere.
fn branch(reference: &str) -> Option<String> {
    let name = reference.strip_prefix("refs/heads/")?;
    let forbidden =
        |c: char| c.is_control() || c.is_whitespace() || is_invisible(c) || "~^:?*[\\`\"<>".contains(c);
    let valid = !name.is_empty() && name != ".invalid" && !name.contains("..") && !name.contains(forbidden);
    let short = name.chars().count() <= MAX_BRANCH;
    (valid && short).then(|| name.to_owned())
}

/// Whether `text` is a SHA-1 or SHA-256 hash.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The operating system, the architecture, and on Linux the distribution.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        "freebsd" => "FreeBSD",
        other => other,
    };
    let name = format!("{system} {}", std::env::consts::ARCH);
    match distribution() {
        Some(distribution) => format!("{name} ({distribution})"),
        None => name,
    }
}

/// `PRETTY_NAME` of os-release (freedesktop.org).
fn distribution() -> Option<String> {
    let text = read_text(Path::new("/etc/os-release"), MAX_FILE).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name: String = value.trim().trim_matches(['"', '\'']).chars().take(80).collect();
    (!name.is_empty()).then_some(name)
}

/// The text as a single line: control characters, line separators and invisible characters are replaced, so
/// that a name cannot add lines to the prompt.
pub(super) fn single_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c }).collect()
}
