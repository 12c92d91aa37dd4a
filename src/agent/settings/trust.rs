//! Project settings of a folder, which have no effect until the user trusts it.
//!
//! A project's own settings are in `.tau/` of the working directory and of the folders above it up to the
//! root of the repository; the nearer one wins, and each is trusted separately. They cannot set an address,
//! key, program or place, trusted or not; and nothing of them is used before the user agrees. The trusted
//! text is kept as a copy: a file that changes must be trusted again, and [`super::folder`] shows the
//! difference. Instruction files (`AGENTS.md`) need no trust, as they are only text for the model.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::names::GROUPS;
use super::private_files::{SharedFile, read_json, write_private};
use super::toml_file::line_of;
use super::{MAX_BYTES, Paths, Settings, claude_permissions, read_toml_text, table};
use crate::permissions::LOCAL;
use tau_protocol::trust::Trust;
use tau_tools::path_text;
use tau_tools::paths;
use tau_tools::regular_files::{read_text, unless_absent};
use tau_tools::user_error::UserError;

/// The folder of a project's own settings.
pub const FOLDER: &str = ".tau";
/// Its settings files: shared by all users, and of one user, which takes precedence.
pub const SETTINGS: [&str; 2] = [SHARED, LOCAL];
/// The settings shared by the users of a project.
pub const SHARED: &str = "config.toml";
/// The other files in it that have an effect.
const ACTING: [&str; 2] = ["SYSTEM.md", MCP_FILE];
/// The MCP servers of a project, in the location that other agents use.
pub const MCP_FILE: &str = "../.mcp.json";
/// The permission rules and hooks of a project in another agent's files; the hooks are used only if the user
/// enables that.
pub const OTHERS_HOOKS: [&str; 2] = ["../.claude/settings.json", "../.claude/settings.local.json"];
/// The other folders of a project that have an effect, with descriptions for the user. They are not opened
/// before they are trusted; their content may change later.
const EXTENSIONS: [(&str, &str); 16] = [
    (".tau/skills", SKILLS),
    (".agents/skills", SKILLS),
    (".claude/skills", SKILLS),
    (".pi/skills", SKILLS),
    (".tau/prompts", PROMPTS),
    (".claude/commands", PROMPTS),
    (".codex/prompts", PROMPTS),
    (".opencode/command", PROMPTS),
    (".opencode/commands", PROMPTS),
    (".pi/prompts", PROMPTS),
    (".tau/tools", TOOLS),
    (".tau/agents", KINDS),
    (".claude/agents", KINDS),
    (".codex/agents", KINDS),
    (".opencode/agent", KINDS),
    (".opencode/agents", KINDS),
];
const KINDS: &str = "a folder of kinds of helpers: instructions for agents that the model gives tasks to";
const PROMPTS: &str = "a folder of prompt templates: they become slash commands, and may run commands and read \
                       files when you send them";
const TOOLS: &str = "a folder of tools: commands that the model may run when your permissions let it";
const SKILLS: &str = "a folder of skills: the model sees what each is for, and can read and follow it";
/// The prefix of names outside `.tau/`.
const BESIDE: &str = "../";
/// The file that goes into the system prompt.
pub const PROMPT_FILE: &str = "SYSTEM.md";
/// The size limit of a project's file, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// The size limit of the file with the answers, in bytes: it holds copies of all trusted files, escaped.
const MAX_KEPT: u64 = 64 * 1024 * 1024;

/// The files of a folder that have an effect, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The real path of the folder.
    root: PathBuf,
    files: BTreeMap<String, String>,
    /// Existing files with rules and other protective settings that cannot be read.
    unread: Vec<(PathBuf, String)>,
    /// Other existing files that cannot be read, and are not used.
    unused: Vec<UserError>,
}

/// The user's answers about trust, as in their file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredAnswers {
    /// The trusted files, by the directory they belong to ([`path_text`]).
    trusted: BTreeMap<String, BTreeMap<String, String>>,
    refused: Vec<String>,
}

impl Project {
    /// The files of a directory that have an effect; `None` if there are none, or if they are not plain files
    /// inside it.
    pub fn of(cwd: &Path) -> Option<Self> {
        Project::with_others(cwd, &|| false)
    }

    /// Like [`Project::of`], but includes the hooks of another agent if `uses_others` returns true. Its
    /// permission rules are always included.
    pub fn with_others(cwd: &Path, uses_others: &dyn Fn() -> bool) -> Option<Self> {
        let root = cwd.canonicalize().ok()?;
        let (mut files, mut unread, mut unused) = (BTreeMap::new(), Vec::new(), Vec::new());
        let own = root.join(FOLDER).symlink_metadata();
        let has_own = !own.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let can_be = |name: &&&str| has_own || name.starts_with(BESIDE);
        for name in ACTING.iter().filter(can_be) {
            match text_of(&root, name) {
                Ok(text) => files.extend(text.map(|text| ((*name).to_owned(), text))),
                Err(error) => unused.push(UserError::new(format!(
                    "{} is not used: {error}",
                    root.join(display_name(name)).display()
                ))),
            }
        }
        let is_home = is_home(&root);
        let others = OTHERS_HOOKS.iter().filter(|_| !is_home);
        for name in SETTINGS.iter().filter(can_be).chain(others) {
            let text = match text_of(&root, name) {
                Ok(Some(text)) if SETTINGS.contains(name) => Some(text),
                Ok(text) => text.and_then(|text| effective_settings(&text, uses_others)),
                Err(error) => {
                    unread.push((root.join(display_name(name)), error.to_string()));
                    None
                }
            };
            files.extend(text.map(|text| ((*name).to_owned(), text)));
        }
        // Those in the user's home directory are the user's own.
        files.extend(EXTENSIONS.iter().filter(|_| !is_home).filter_map(|row| extension_folder(&root, row)));
        let is_any = !files.is_empty() || !unread.is_empty() || !unused.is_empty();
        is_any.then_some(Project { root, files, unread, unused })
    }

    /// The projects that apply to a directory, the nearest last: its own and those above it up to the folder
    /// that contains `.git`. The user's settings folder, `own`, is excluded. `uses_others`: whether hooks of
    /// another agent are used.
    pub fn around(cwd: &Path, own: &Path, uses_others: &dyn Fn() -> bool) -> Vec<Self> {
        let Ok(cwd) = cwd.canonicalize() else { return Vec::new() };
        let own = own.canonicalize().ok();
        let is_root = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        let depth = cwd.ancestors().position(is_root).unwrap_or_default();
        let folders: Vec<&Path> = cwd.ancestors().take(depth.saturating_add(1)).collect();
        let not_own =
            |folder: &&&Path| paths::real(&folder.join(FOLDER)).ok().is_none_or(|it| Some(it) != own);
        folders
            .iter()
            .rev()
            .filter(not_own)
            .filter_map(|folder| Project::with_others(folder, uses_others))
            .collect()
    }

    /// The real path of the project's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file's path, and its text when it was read.
    pub fn file(&self, name: &str) -> Option<(PathBuf, &str)> {
        Some((place(&self.root, name), self.files.get(name)?))
    }

    /// The settings files of another agent, with the used parts of their text.
    pub fn files_of_others(&self) -> impl Iterator<Item = (PathBuf, &str)> {
        OTHERS_HOOKS.iter().filter_map(|name| Some((self.root.join(display_name(name)), self.file(name)?.1)))
    }

    /// The unreadable files with rules and other protective settings, and the reasons.
    pub fn unread(&self) -> &[(PathBuf, String)] {
        &self.unread
    }

    /// The other files that cannot be read, with the reasons.
    pub fn read_errors(&self) -> &[UserError] {
        &self.unused
    }

    /// Whether there is nothing to trust.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files by name, with their texts.
    pub(super) fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// The files when they were trusted; `None` if they never were. Fails when `file`, which holds the
    /// answers, cannot be read.
    pub(super) fn last_trusted_files(
        &self,
        file: &Path,
    ) -> Result<Option<BTreeMap<String, String>>, UserError> {
        Ok(load(file)?.trusted.remove(path_text::text(&self.root).as_ref()))
    }

    /// The display names of the files.
    pub fn names(&self) -> Vec<String> {
        self.files.keys().map(|name| display_name(name)).collect()
    }

    /// The folders of extensions in it, such as `.claude/skills`.
    pub fn extension_folders(&self) -> Vec<&str> {
        let folders = EXTENSIONS.iter().map(|(folder, _)| *folder);
        folders.filter(|folder| self.files.contains_key(&format!("{BESIDE}{folder}"))).collect()
    }

    /// All paths in the directory that have an effect once trusted, whether or not they exist.
    pub fn candidate_paths(&self) -> impl Iterator<Item = PathBuf> {
        let files = SETTINGS.iter().chain(&ACTING).map(|name| place(&self.root, name));
        let files = files.chain(OTHERS_HOOKS.iter().map(|name| place(&self.root, name)));
        files.chain(EXTENSIONS.iter().map(|(folder, _)| self.root.join(folder)))
    }

    /// The folder of the settings.
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The settings files and their texts; later ones take precedence.
    pub fn settings_files(&self) -> impl DoubleEndedIterator<Item = (PathBuf, &str)> {
        SETTINGS.iter().filter_map(|name| self.file(name))
    }

    /// The settings in its files. Fails when a line is invalid, or sets something that only the user may set.
    pub fn settings(&self) -> Result<Settings, UserError> {
        self.settings_of_files().try_fold(Settings::default(), |all, file| Ok(all.overlaid(file?)))
    }

    /// The settings in each of its files; later ones take precedence.
    pub fn settings_of_files(&self) -> impl Iterator<Item = Result<Settings, UserError>> {
        self.settings_files().map(|(path, text)| settings_in(&path, text))
    }

    /// The directory without any file that has an effect. Fails when it does not exist.
    pub fn without_files(cwd: &Path) -> io::Result<Self> {
        let root = cwd.canonicalize()?;
        Ok(Project { root, files: BTreeMap::new(), unread: Vec::new(), unused: Vec::new() })
    }

    /// The project with another text of one of its files.
    pub fn with_file(mut self, name: &str, text: String) -> Self {
        self.files.insert(name.to_owned(), text);
        self
    }

    /// The user's answer about it; `file` holds the answers. Fails when `file` cannot be read; nothing is
    /// trusted then.
    pub fn trust(&self, file: &Path) -> Result<Trust, UserError> {
        let kept = load(file)?;
        let root = path_text::text(&self.root).into_owned();
        Ok(match kept.trusted.get(&root) {
            Some(files) if *files == self.files => Trust::Trusted,
            Some(_) => Trust::Changed,
            None if kept.refused.contains(&root) => Trust::Refused,
            None => Trust::Unknown,
        })
    }

    /// The user's answer about another folder, if that has the same files. Nothing is known if they differ.
    pub fn trust_of(&self, root: &Path, file: &Path) -> Result<Trust, UserError> {
        let kept = load(file)?;
        let root = path_text::text(root).into_owned();
        Ok(match kept.trusted.get(&root) {
            Some(files) if *files == self.files => Trust::Trusted,
            None if kept.refused.contains(&root) => Trust::Refused,
            _ => Trust::Unknown,
        })
    }

    /// Saves an answer: it is trusted in its current version, or not at all.
    pub fn answer(&self, file: &SharedFile, trusted: bool) -> Result<(), UserError> {
        let _lock = file.lock().map_err(UserError::of)?;
        let file = file.path();
        let failed = |error: io::Error| UserError::new(format!("{}: {error}", file.display()));
        let mut kept = load(file)?;
        let root = path_text::text(&self.root).into_owned();
        kept.trusted.remove(&root);
        kept.refused.retain(|refused| *refused != root);
        if trusted {
            kept.trusted.insert(root, self.files.clone());
        } else {
            kept.refused.push(root);
        }
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| failed(error.into()))?;
        if text.len() as u64 > MAX_KEPT {
            // It could not be read again, and nothing would be trusted any more.
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        write_private(file, &text).map_err(failed)
    }
}

/// Whether the user has enabled the hooks of another agent.
pub fn uses_others_hooks(paths: &Paths) -> bool {
    Settings::load_leniently(paths).0.claude_hooks == Some(true)
}

/// The settings in a project's text from `path`.
fn settings_in(path: &Path, text: &str) -> Result<Settings, UserError> {
    let given: BTreeMap<toml::Spanned<String>, toml::Value> = read_toml_text(path, text)?;
    let own = |key: &&toml::Spanned<String>| {
        let key = key.get_ref();
        GROUPS.contains(&&**key) || table::row(key).is_some_and(|row| !row.columns.project)
    };
    match given.keys().find(own) {
        Some(key) => {
            let (line, key) = (line_of(text, key.span().start), key.get_ref());
            let text = format!("a project cannot set `{key}`; set it in your own config.toml");
            Err(UserError::new(format!("{}:{line}: {text}", path.display())))
        }
        None => read_toml_text(path, text),
    }
}

/// The path of a project's file.
fn place(root: &Path, name: &str) -> PathBuf {
    match name.strip_prefix(BESIDE) {
        Some(beside) => root.join(beside),
        None => root.join(FOLDER).join(name),
    }
}

/// The text of a file; `None` if it does not exist.
fn text_of(root: &Path, name: &str) -> io::Result<Option<String>> {
    let path = place(root, name);
    match paths::real(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => unless_absent(&path, error).map_or(Ok(None), Err),
        Ok(real) if !real.starts_with(root) => Err(io::Error::other("a link that leads out of the project")),
        Ok(_) => read_text(&path, if OTHERS_HOOKS.contains(&name) { MAX_BYTES } else { MAX_SIZE }).map(Some),
    }
}

/// The display name of a project's file or folder.
pub(super) fn display_name(name: &str) -> String {
    name.strip_prefix(BESIDE).map_or_else(|| format!("{FOLDER}/{name}"), str::to_owned)
}

/// A folder of extensions in a directory, if it is there; it is not opened.
fn extension_folder(root: &Path, (folder, text): &(&str, &str)) -> Option<(String, String)> {
    let real = paths::real(&root.join(folder)).ok()?;
    (real.starts_with(root) && real.is_dir()).then(|| (format!("{BESIDE}{folder}"), (*text).to_owned()))
}

fn is_home(root: &Path) -> bool {
    let home = directories::BaseDirs::new().and_then(|dirs| dirs.home_dir().canonicalize().ok());
    home.as_deref() == Some(root)
}

/// The permission rules in another agent's settings, and the hooks if they are used. The rest has no effect
/// here, and changes often. Unreadable text is kept unchanged, to be shown and reported.
fn effective_settings(text: &str, uses_hooks: &dyn Fn() -> bool) -> Option<String> {
    let Ok(settings) = claude_permissions::settings_of(text) else { return Some(text.to_owned()) };
    let is_there = |value: &&serde_json::Value| {
        !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty())
    };
    let hooks = settings.get("hooks").filter(is_there).filter(|_| uses_hooks());
    let used = [("hooks", hooks), ("permissions", settings.get("permissions").filter(is_there))];
    let used = used.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
    let used: serde_json::Map<String, serde_json::Value> = used.collect();
    (!used.is_empty()).then(|| serde_json::to_string_pretty(&used).ok())?
}

fn load(file: &Path) -> Result<StoredAnswers, UserError> {
    let kept =
        read_json(file, MAX_KEPT).map_err(|error| UserError::new(format!("{}: {error}", file.display())))?;
    Ok(kept.unwrap_or_default())
}
