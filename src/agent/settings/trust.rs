//! What a folder may set for the user who works in it: nothing, until it is trusted.
//!
//! A project's own settings are in `.tau/` of the working directory and of the folders above it up
//! to the root of the repository; the nearer one wins, and each is trusted by itself. They name no
//! address, key, program or place, trusted or not; and nothing of them is used before the user
//! has said so. What was trusted is kept as a copy: a file that changes has to be trusted again,
//! and [`super::folder`] shows what is different. Instruction files (`AGENTS.md`) need no trust,
//! as they are only text for the model.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::claude_permissions;
use super::names::GROUPS;
use super::paths::lossless;
use super::private_files::{SharedFile, read_capped, write_private};
use super::toml_file::line_of;
use super::{MAX_BYTES, Paths, Settings, SettingsError, read_toml_text, table};
use crate::permissions::LOCAL;
use tau_protocol::trust::Trust;
use tau_tools::regular_files::read_text;

/// The folder of a project's own settings.
pub const FOLDER: &str = ".tau";
/// The settings in it: those that its users share, and those of one user, which count more.
pub const SETTINGS: [&str; 2] = [SHARED, LOCAL];
/// The settings that the users of a project share.
pub const SHARED: &str = "config.toml";
/// The files in it that have an effect, besides its settings.
const ACTING: [&str; 2] = ["SYSTEM.md", MCP_FILE];
/// The MCP servers of a project, where other agents have them.
pub const MCP_FILE: &str = "../.mcp.json";
/// The permission rules and hooks of a project, where another agent has them; hooks are used if the user wants that.
pub const OTHERS_HOOKS: [&str; 2] = ["../.claude/settings.json", "../.claude/settings.local.json"];
/// The folders of a project, besides those files, that have an effect, and what the user is shown of them.
/// They are not opened before they are trusted; what is in them may change later.
const EXTENSIONS: [(&str, &str); 8] = [
    (".tau/skills", SKILLS),
    (".agents/skills", SKILLS),
    (".claude/skills", SKILLS),
    (".tau/prompts", PROMPTS),
    (".claude/commands", PROMPTS),
    (".codex/prompts", PROMPTS),
    (".pi/prompts", PROMPTS),
    (".tau/tools", TOOLS),
];
const PROMPTS: &str = "a folder of prompt templates: they become slash commands, and may run commands and read \
                       files when you send them";
const TOOLS: &str = "a folder of tools: commands that the model may run when your permissions let it";
const SKILLS: &str = "a folder of skills: the model sees what each is for, and can read and follow it";
/// Before the names of what is not in `.tau/`.
const BESIDE: &str = "../";
/// The one of them that goes into the system prompt.
pub const PROMPT_FILE: &str = "SYSTEM.md";
/// Largest file of a project that is read, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// Largest file of answers, in bytes: it holds copies of all files that are trusted, escaped.
const MAX_KEPT: u64 = 64 * 1024 * 1024;

/// The acting files of a folder, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder, without links.
    root: PathBuf,
    files: BTreeMap<String, String>,
    /// Files with rules and other guards that are there and cannot be read.
    unread: Vec<(PathBuf, String)>,
}

/// What is kept of answers.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// The files that were trusted, by the directory they belong to ([`lossless`]).
    trusted: BTreeMap<String, BTreeMap<String, String>>,
    refused: Vec<String>,
}

impl Project {
    /// The files of a directory that have an effect; `None` without any, or if they are no plain files of
    /// its own.
    pub fn of(cwd: &Path) -> Option<Self> {
        Project::with_others(cwd, &|| false)
    }

    /// The same with the hooks of another agent, if `uses_others` says that they are used. Its permission rules are.
    pub fn with_others(cwd: &Path, uses_others: &dyn Fn() -> bool) -> Option<Self> {
        let root = cwd.canonicalize().ok()?;
        let text = |name: &&str| {
            let path = place(&root, name);
            let inside = path.canonicalize().ok()?.starts_with(&root);
            let bytes = read_capped(&path, MAX_SIZE).ok().filter(|_| inside)?;
            Some(((*name).to_owned(), String::from_utf8_lossy(&bytes).into_owned()))
        };
        let mut files: BTreeMap<String, String> = ACTING.iter().filter_map(text).collect();
        let mut unread = Vec::new();
        let others = OTHERS_HOOKS.iter().filter(|_| !is_home(&root));
        for name in SETTINGS.iter().chain(others) {
            let text = match guard(&root, name) {
                Ok(Some(text)) if SETTINGS.contains(name) => Some(text),
                Ok(text) => text.and_then(|text| only_used(&text, uses_others)),
                Err(error) => {
                    unread.push((root.join(shown_name(name)), error.to_string()));
                    None
                }
            };
            files.extend(text.map(|text| ((*name).to_owned(), text)));
        }
        files.extend(extensions(&root));
        (!files.is_empty() || !unread.is_empty()).then_some(Project { root, files, unread })
    }

    /// The projects that count in a directory, the nearest last: its own and those above it up to
    /// the folder that holds `.git`. The user's folder of settings, `own`, is not one of them. `uses_others`:
    /// whether hooks of another agent are used.
    pub fn around(cwd: &Path, own: &Path, uses_others: &dyn Fn() -> bool) -> Vec<Self> {
        let Ok(cwd) = cwd.canonicalize() else { return Vec::new() };
        let own = own.canonicalize().ok();
        let is_root = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        let depth = cwd.ancestors().position(is_root).unwrap_or_default();
        let folders: Vec<&Path> = cwd.ancestors().take(depth.saturating_add(1)).collect();
        let not_own =
            |folder: &&&Path| folder.join(FOLDER).canonicalize().ok().is_none_or(|it| Some(it) != own);
        folders
            .iter()
            .rev()
            .filter(not_own)
            .filter_map(|folder| Project::with_others(folder, uses_others))
            .collect()
    }

    /// The directory whose settings they are, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file's place and its text, as it was when it was looked at.
    pub fn file(&self, name: &str) -> Option<(PathBuf, &str)> {
        Some((place(&self.root, name), self.files.get(name)?))
    }

    /// The settings that another agent reads, by their places, with what was kept of them.
    pub fn files_of_others(&self) -> impl Iterator<Item = (PathBuf, &str)> {
        OTHERS_HOOKS.iter().filter_map(|name| Some((self.root.join(shown_name(name)), self.file(name)?.1)))
    }

    /// The files with rules and other guards that cannot be read, and why.
    pub fn unread(&self) -> &[(PathBuf, String)] {
        &self.unread
    }

    /// Whether it has nothing that could be trusted.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files by name, with their texts.
    pub(super) fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// The files as they were when they were trusted; `None` if they never were.
    ///
    /// # Errors
    /// When `file`, which keeps the answers, cannot be read.
    pub(super) fn trusted_before(
        &self,
        file: &Path,
    ) -> Result<Option<BTreeMap<String, String>>, SettingsError> {
        Ok(load(file)?.trusted.remove(&lossless(&self.root)))
    }

    /// The files, as people know them.
    pub fn names(&self) -> Vec<String> {
        self.files.keys().map(|name| shown_name(name)).collect()
    }

    /// The folders of extensions in it, as `.claude/skills`.
    pub fn extension_folders(&self) -> Vec<&str> {
        let folders = EXTENSIONS.iter().map(|(folder, _)| *folder);
        folders.filter(|folder| self.files.contains_key(&format!("{BESIDE}{folder}"))).collect()
    }

    /// Everything in the directory that has an effect once it is trusted, there or not.
    pub fn known_paths(&self) -> impl Iterator<Item = PathBuf> {
        let files = SETTINGS.iter().chain(&ACTING).map(|name| place(&self.root, name));
        let files = files.chain(OTHERS_HOOKS.iter().map(|name| place(&self.root, name)));
        files.chain(EXTENSIONS.iter().map(|(folder, _)| self.root.join(folder)))
    }

    /// The folder they are in.
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The files with its settings and their texts; what a later one sets counts more.
    pub fn settings_files(&self) -> impl DoubleEndedIterator<Item = (PathBuf, &str)> {
        SETTINGS.iter().filter_map(|name| self.file(name))
    }

    /// The settings in its files.
    ///
    /// # Errors
    /// When a line is not understood, or sets what only the user can set.
    pub fn settings(&self) -> Result<Settings, SettingsError> {
        self.settings_of_files().try_fold(Settings::default(), |all, file| Ok(all.overlaid(file?)))
    }

    /// The settings in each of its files; what a later one sets counts more.
    pub fn settings_of_files(&self) -> impl Iterator<Item = Result<Settings, SettingsError>> {
        self.settings_files().map(|(path, text)| settings_in(&path, text))
    }

    /// What the user has answered about it; `file` keeps the answers.
    ///
    /// # Errors
    /// When `file` cannot be read; nothing is trusted then.
    pub fn trust(&self, file: &Path) -> Result<Trust, SettingsError> {
        let kept = load(file)?;
        let root = lossless(&self.root);
        Ok(match kept.trusted.get(&root) {
            Some(files) if *files == self.files => Trust::Trusted,
            Some(_) => Trust::Changed,
            None if kept.refused.contains(&root) => Trust::Refused,
            None => Trust::Unknown,
        })
    }

    /// Keeps an answer: it is trusted as it is now, or not at all.
    ///
    /// # Errors
    /// When `file` cannot be read or written.
    pub fn answer(&self, file: &SharedFile, trusted: bool) -> Result<(), SettingsError> {
        let _lock = file.lock().map_err(|error| SettingsError(error.to_string()))?;
        let file = file.path();
        let failed = |error: io::Error| SettingsError(format!("{}: {error}", file.display()));
        let mut kept = load(file)?;
        let root = lossless(&self.root);
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

/// Whether the user wants the hooks of another agent.
pub fn uses_others_hooks(paths: &Paths) -> bool {
    Settings::load_leniently(paths).0.claude_hooks == Some(true)
}

/// The settings in a text of a project that came from `path`.
fn settings_in(path: &Path, text: &str) -> Result<Settings, SettingsError> {
    let given: BTreeMap<toml::Spanned<String>, toml::Value> = read_toml_text(path, text)?;
    let own = |key: &&toml::Spanned<String>| {
        let key = key.get_ref();
        GROUPS.contains(&&**key) || table::row(key).is_some_and(|row| !row.columns.project)
    };
    match given.keys().find(own) {
        Some(key) => {
            let (line, key) = (line_of(text, key.span().start), key.get_ref());
            let text = format!("a project cannot set `{key}`; set it in your own config.toml");
            Err(SettingsError(format!("{}:{line}: {text}", path.display())))
        }
        None => read_toml_text(path, text),
    }
}

/// Where a file of a project is.
fn place(root: &Path, name: &str) -> PathBuf {
    match name.strip_prefix(BESIDE) {
        Some(beside) => root.join(beside),
        None => root.join(FOLDER).join(name),
    }
}

/// The text of a file with rules and other guards; `None` without one.
fn guard(root: &Path, name: &str) -> io::Result<Option<String>> {
    let path = place(root, name);
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    match path.canonicalize() {
        Err(error) if absent.contains(&error.kind()) => Ok(None),
        Err(error) => Err(error),
        Ok(real) if !real.starts_with(root) => Err(io::Error::other("a link that leads out of the project")),
        Ok(_) => read_text(&path, if SETTINGS.contains(&name) { MAX_SIZE } else { MAX_BYTES }).map(Some),
    }
}

/// A file or folder of a project, as people know it.
pub(super) fn shown_name(name: &str) -> String {
    name.strip_prefix(BESIDE).map_or_else(|| format!("{FOLDER}/{name}"), str::to_owned)
}

/// The folders of extensions in a directory, which are not opened. Those in the user's home directory are
/// the user's own.
fn extensions(root: &Path) -> Vec<(String, String)> {
    let is_home = is_home(root);
    let found = EXTENSIONS.iter().filter(|_| !is_home).filter_map(|(folder, text)| {
        let real = root.join(folder).canonicalize().ok()?;
        (real.starts_with(root) && real.is_dir()).then(|| (format!("{BESIDE}{folder}"), (*text).to_owned()))
    });
    found.collect()
}

fn is_home(root: &Path) -> bool {
    let home = directories::BaseDirs::new().and_then(|dirs| dirs.home_dir().canonicalize().ok());
    home.as_deref() == Some(root)
}

/// The permission rules in settings of another agent, and the hooks if they are used. The rest of them has no
/// effect here, and changes often. What cannot be read is kept as it is, to be shown and reported.
fn only_used(text: &str, uses_hooks: &dyn Fn() -> bool) -> Option<String> {
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

fn load(file: &Path) -> Result<Kept, SettingsError> {
    let wrong = |error: &dyn std::fmt::Display| SettingsError(format!("{}: {error}", file.display()));
    match read_capped(file, MAX_KEPT) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| wrong(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(wrong(&error)),
    }
}
