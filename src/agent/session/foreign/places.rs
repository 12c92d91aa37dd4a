//! Locates the sessions of other agents, and reads their rows for lists.
//!
//! A small file is scanned line by line; of a large one, only the beginning and the end are, and its messages
//! are not counted. Only the fields that lists need are read.

use crate::permissions::path_pattern::normalise;
use crate::settings::local_zone::local_zone;
use crate::settings::other_folders::folder_from_env;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::claude_folder::{self, ClaudeFolder};
use super::content::UserText;
use super::sniff::sniff;
use super::{claude, codex, codex_names, opencode, scan};
use crate::session::entry::millis;
use crate::session::list;
use crate::session::read::lines;
use crate::session::row::{ListedFile, SessionCandidate};
use crate::settings::paths::cwd_name;
use crate::settings::private_files::open_regular;
use tau_protocol::session_row::SessionOrigin::{self, Claude, Codex, Opencode, Pi};
use tau_protocol::session_row::SessionRow;
use tau_protocol::title;
use tau_tools::paths::reason;
use tau_tools::times;

/// The size limit of a file that is scanned completely, in bytes.
const WHOLE: u64 = 128 * 1024;
/// The bytes at the end of a larger file that are scanned.
const END: u64 = 32 * 1024;
/// The maximum length of a first prompt, in characters.
const PROMPT: usize = 200;
/// The length of a UUID as text.
const UUID: usize = 36;
/// The depth of the folders in which Codex stores its files: year, month, day.
const CODEX_DEPTH: usize = 3;

/// The locations of other agents' sessions.
#[derive(Clone, Debug, Default)]
pub struct ForeignPlaces {
    /// The folder of Claude Code, with one subfolder per directory.
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    pi: Option<PathBuf>,
    /// opencode's data folder.
    opencode: Option<PathBuf>,
}

impl ForeignPlaces {
    /// The places in this environment. Files in `own`, the folder of tau's sessions, are tau's.
    pub fn of(home: Option<&Path>, env: &dyn Fn(&str) -> Option<OsString>, own: &Path) -> Self {
        let place = |name: &str, usual: &str, folder: &str| {
            let base = folder_from_env(name, env).or_else(|| home.map(|home| home.join(usual)))?;
            Some(base.join(folder)).filter(|place| !own.starts_with(place) && !place.starts_with(own))
        };
        ForeignPlaces {
            claude: place("CLAUDE_CONFIG_DIR", ".claude", "projects"),
            codex: place("CODEX_HOME", ".codex", "sessions"),
            pi: place("PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
            opencode: place("XDG_DATA_HOME", ".local/share", "opencode"),
        }
    }

    fn roots(&self) -> impl Iterator<Item = (&PathBuf, SessionOrigin)> {
        let roots =
            [(&self.claude, Claude), (&self.codex, Codex), (&self.pi, Pi), (&self.opencode, Opencode)];
        roots.into_iter().filter_map(|(root, origin)| Some((root.as_ref()?, origin)))
    }

    /// The folders whose files are in the index.
    pub(in crate::session) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.roots().map(|(root, _)| root.as_path())
    }

    /// Candidates for sessions of `cwd`, or of all directories.
    pub(in crate::session) fn candidates(&self, cwd: Option<&Path>) -> Vec<SessionCandidate> {
        let mut found = Vec::new();
        for (root, origin) in self.roots() {
            let of = |files: Vec<ListedFile>| {
                files.into_iter().map(|file| SessionCandidate::new(file, origin)).collect()
            };
            found.extend::<Vec<SessionCandidate>>(match origin {
                Claude => claude_files(root, cwd),
                Codex => of(files_below(root, CODEX_DEPTH)),
                Opencode => opencode::rows(root, cwd).into_iter().map(of_row).collect(),
                _ => of(list::files(root, cwd)),
            });
        }
        found
    }

    /// The reasons that keep sessions out of lists, in sentences.
    pub fn troubles(&self) -> Vec<String> {
        self.opencode.as_deref().and_then(opencode::trouble).into_iter().collect()
    }

    /// The sessions whose id is `id`, begins or ends with it; exact matches are returned alone. Of several paths to a
    /// file, that of `here` is returned.
    pub fn with_id(&self, id: &str, here: Option<&Path>) -> Vec<(PathBuf, SessionOrigin)> {
        let (mut exact, mut found, wanted) = (Vec::new(), Vec::new(), id.to_ascii_lowercase());
        for SessionCandidate { file, origin, row: ready, .. } in self.candidates(None) {
            let name = list::stem(&file.path);
            // Names end with the id, unless the file was renamed; then the lines have it.
            let known = match (origin, name.get(name.len().saturating_sub(UUID)..)) {
                (Codex | Pi, Some(end)) if is_uuid(end) => end.to_owned(),
                (Codex | Pi, _) => match ready.or_else(|| row(&file, origin)) {
                    Some(row) => row.id,
                    None => continue,
                },
                _ => name,
            };
            let is_it = known == id;
            let known = known.to_ascii_lowercase();
            if is_it || known.starts_with(&wanted) || known.ends_with(&wanted) {
                let path = if origin == Claude { claude_path(file.path, here) } else { file.path };
                if is_it { &mut exact } else { &mut found }.push((path, origin));
            }
        }
        if exact.is_empty() { found } else { exact }
    }

    /// The file of a new session with this id, where that program finds it; `created` in milliseconds since 1970.
    /// `None` if the program keeps no files, or was never used here.
    pub fn file_for(&self, program: SessionOrigin, cwd: &Path, id: &str, created: i64) -> Option<PathBuf> {
        let root = self.roots().find(|(_, origin)| *origin == program)?.0;
        if !root.parent()?.is_dir() {
            return None;
        }
        let time = jiff::Timestamp::from_millisecond(created).unwrap_or_default();
        match program {
            Claude => Some(root.join(claude_folder::name_of(cwd)?).join(format!("{id}.jsonl"))),
            Codex => {
                let local = time.to_zoned(local_zone());
                let folder = root.join(local.strftime("%Y/%m/%d").to_string());
                Some(folder.join(format!("rollout-{}-{id}.jsonl", local.strftime("%Y-%m-%dT%H-%M-%S"))))
            }
            Pi => {
                let time = format!("{time:.3}").replace([':', '.'], "-");
                Some(root.join(cwd_name(cwd)).join(format!("{time}_{id}.jsonl")))
            }
            SessionOrigin::Tau | Opencode => None,
        }
    }

    /// The program that wrote the file, determined by its location or its beginning.
    pub fn origin(&self, path: &Path) -> SessionOrigin {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_below = |root: &Path| {
            path.starts_with(root) || root.canonicalize().is_ok_and(|root| whole.starts_with(root))
        };
        let placed = self.roots().find(|(root, _)| is_below(root)).map(|(_, origin)| origin);
        placed.or_else(|| sniff(path)).unwrap_or_default()
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == UUID && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn of_row(row: SessionRow) -> SessionCandidate {
    let millis = u64::try_from(row.modified).unwrap_or_default();
    let modified = UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH);
    let file = ListedFile { path: row.path.clone(), modified, size: row.size };
    SessionCandidate { origin: row.source, row: Some(row), ..SessionCandidate::new(file, Opencode) }
}

/// The files of Claude Code that can be of `cwd`, or all.
fn claude_files(root: &Path, cwd: Option<&Path>) -> Vec<SessionCandidate> {
    let is_own = |folder: &PathBuf| cwd.is_none_or(|cwd| ClaudeFolder::new(folder, None).is_of(cwd));
    let mut found = Vec::new();
    for path in distinct(list::read_dir(root, &mut Vec::new()).into_iter().filter(is_own).collect()) {
        let mut files = Vec::new();
        list::read_dir(&path, &mut files);
        // Helpers have their own files there.
        files
            .retain(|file| !file.path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"agent-")));
        let folder = Arc::new(ClaudeFolder::new(&path, cwd));
        let listed = |file| SessionCandidate {
            folder: Some(Arc::clone(&folder)),
            ..SessionCandidate::new(file, Claude)
        };
        found.extend(files.into_iter().map(listed));
    }
    found
}

/// The path to a file of Claude Code through the folder of `here`, if that is a link to its own.
fn claude_path(path: PathBuf, here: Option<&Path>) -> PathBuf {
    let through = || {
        let folder = path.parent()?.with_file_name(claude_folder::name_of(here?)?);
        let other = folder.join(path.file_name()?);
        (other.canonicalize().ok()? == path.canonicalize().ok()?).then_some(other)
    };
    through().unwrap_or(path)
}

/// The files of Codex. One that is there twice is the uncompressed one.
fn files_below(root: &Path, depth: usize) -> Vec<ListedFile> {
    let (mut files, mut level) = (Vec::new(), vec![root.to_owned()]);
    for _ in 0..=depth {
        level = distinct(level.iter().flat_map(|folder| list::read_dir(folder, &mut files)).collect());
    }
    files.retain(|file| !scan::is_packed(&file.path) || !file.path.with_extension("").exists());
    files
}

/// The folders without links to others of them.
fn distinct(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    if folders.iter().any(|folder| folder.is_symlink()) {
        folders.sort_by_key(|folder| folder.is_symlink());
        let mut seen: HashSet<PathBuf> = HashSet::new();
        folders.retain(|folder| folder.canonicalize().is_ok_and(|real| seen.insert(real)));
    }
    folders
}

/// The directory that a session ran in.
pub fn directory(path: &Path, origin: SessionOrigin) -> Option<PathBuf> {
    match origin {
        SessionOrigin::Tau => list::directory(path),
        Pi => list::directory(path).map(|cwd| normalise(&cwd)),
        _ => row_of(path, origin).map(|row| row.cwd),
    }
}

/// The list row of another agent's session.
pub fn row_of(path: &Path, origin: SessionOrigin) -> Option<SessionRow> {
    if origin == Opencode {
        return opencode::row_of(path);
    }
    let row = row(&ListedFile::new(path.to_owned(), &std::fs::metadata(path).ok()?), origin)?;
    let cwd = directory_of(path, origin, &row.cwd);
    Some(SessionRow { cwd, ..row })
}

/// The directory of a session whose lines name `cwd`.
pub(super) fn directory_of(path: &Path, origin: SessionOrigin, cwd: &Path) -> PathBuf {
    let cwd = normalise(cwd);
    if origin == Claude { ClaudeFolder::of_file(path).directory(&cwd) } else { cwd }
}

pub(in crate::session) fn row(file: &ListedFile, origin: SessionOrigin) -> Option<SessionRow> {
    let mut seen = match origin {
        Claude => look::<ClaudeSession>(file).ok()?,
        Codex => match look::<CodexSession>(file) {
            Ok(seen) => seen,
            Err(error) => return unreadable(file, &error),
        },
        _ => {
            let row = list::row(file)?;
            return Some(SessionRow { source: origin, printed: false, cwd: normalise(&row.cwd), ..row });
        }
    };
    if origin == Codex
        && let Some(name) = codex_names::name_of(&file.path, &seen.id)
    {
        seen.name = Some(name);
    }
    seen.name = seen.name.or(seen.summary).filter(|name| !name.trim().is_empty());
    if seen.is_helper || !seen.has_message {
        return None;
    }
    let changed = times::millis(file.modified);
    if seen.id.is_empty() || origin == Claude {
        // A session continued under another id still has the lines of the first.
        seen.id = list::stem(&file.path);
    }
    Some(SessionRow {
        path: file.path.clone(),
        id: seen.id,
        source: origin,
        cwd: normalise(&seen.cwd?),
        name: seen.name,
        first_prompt: seen.first_prompt.or(seen.first_command).unwrap_or_default(),
        created: seen.created.unwrap_or(changed),
        modified: seen.latest.unwrap_or(changed),
        messages: seen.messages,
        size: file.size,
        ..SessionRow::default()
    })
}

/// The row of a compressed session whose content cannot be read.
fn unreadable(file: &ListedFile, error: &io::Error) -> Option<SessionRow> {
    let name = list::stem(&file.path);
    let id = name.get(name.len().saturating_sub(UUID)..).filter(|id| is_uuid(id))?;
    let changed = times::millis(file.modified);
    scan::is_packed(&file.path).then(|| SessionRow {
        path: file.path.clone(),
        id: id.to_owned(),
        source: Codex,
        name: Some(format!("cannot be read: {}", reason(error))),
        created: changed,
        modified: changed,
        size: file.size,
        ..SessionRow::default()
    })
}

/// Facts gathered from the lines of a session.
#[derive(Default)]
struct ForeignFacts {
    id: String,
    cwd: Option<PathBuf>,
    name: Option<String>,
    /// A summary, which is the name if there is no other.
    summary: Option<String>,
    first_prompt: Option<String>,
    /// The first command that the user ran, which is the title without a prompt.
    first_command: Option<String>,
    created: Option<i64>,
    latest: Option<i64>,
    has_message: bool,
    messages: u64,
    /// Whether it belongs to another session.
    is_helper: bool,
}

impl ForeignFacts {
    fn add_text(&mut self, words: UserText) {
        let start = |text: &str| title::opening(text).map(|line| line.chars().take(PROMPT).collect());
        match words {
            UserText::Prompt(text) | UserText::Slash(text) => {
                self.message();
                self.first_prompt = self.first_prompt.take().or_else(|| start(&text));
            }
            UserText::Command(command) => {
                self.first_command = self.first_command.take().or_else(|| start(&format!("!{command}")));
            }
            UserText::Output(_) => self.message(),
            UserText::Nothing => {}
        }
    }

    fn message(&mut self) {
        self.has_message = true;
        self.messages = self.messages.saturating_add(1);
    }

    fn time(&mut self, text: &str) {
        let time = millis(text);
        self.created = self.created.or(time);
        self.latest = self.latest.max(time);
    }

    /// Whether everything needed from the beginning was found.
    fn has_begun(&self) -> bool {
        self.is_helper || self.cwd.is_some() && self.first_prompt.is_some()
    }
}

/// Reads the lines of one format.
trait Look: Default {
    fn line(&mut self, line: &[u8]);
    fn facts_mut(&mut self) -> &mut ForeignFacts;
}

/// Scans a small file, or both ends of a large one.
fn look<L: Look>(file: &ListedFile) -> io::Result<ForeignFacts> {
    let mut looked = L::default();
    if scan::is_packed(&file.path) {
        lines(&scan::whole(&file.path)?).for_each(|line| looked.line(line));
        return Ok(std::mem::take(looked.facts_mut()));
    }
    let mut opened = open_regular(&file.path)?;
    if file.size <= WHOLE {
        let bytes = scan::end_of(&mut opened, WHOLE)?;
        lines(&bytes).for_each(|line| looked.line(line));
    } else {
        scan::head(&mut opened, |line| {
            looked.line(line);
            !looked.facts_mut().has_begun()
        })?;
        if !looked.facts_mut().is_helper {
            // Without a time at the end, as when its last line is longer, the file's is the last.
            looked.facts_mut().latest = None;
            let bytes = scan::end_of(&mut opened, END)?;
            lines(&bytes).for_each(|line| looked.line(line));
        }
        looked.facts_mut().messages = 0;
    }
    Ok(std::mem::take(looked.facts_mut()))
}

#[derive(Default)]
struct ClaudeSession {
    seen: ForeignFacts,
    title: Option<String>,
    /// The message id of the last answer, which can have several lines.
    answer: String,
    /// Whether the previous message announces a command for the program itself.
    is_announced: bool,
    summaries: claude::Summaries,
}

impl Look for ClaudeSession {
    fn line(&mut self, line: &[u8]) {
        let Some(glance) = claude::Glance::of(line) else { return };
        let summary =
            glance.leaf_uuid.as_deref().zip(glance.summary.as_ref().and_then(serde_json::Value::as_str));
        self.seen.summary = self.summaries.of_line(glance.uuid.as_deref(), summary);
        if let Some(time) = &glance.timestamp {
            self.seen.time(time);
        }
        if glance.is_sidechain {
            return;
        }
        if self.seen.cwd.is_none() {
            self.seen.cwd.clone_from(&glance.cwd);
        }
        if let Some(name) = glance.custom_title.clone() {
            (self.seen.name, self.title) = (Some(name.clone()), Some(name));
        } else if self.title.is_none() && glance.ai_title.is_some() {
            self.seen.name.clone_from(&glance.ai_title);
        }
        match glance.answer() {
            Some(answer) if answer != self.answer => {
                self.seen.message();
                self.answer = answer;
            }
            Some(_) => {}
            None => {
                self.seen.add_text(glance.user_text(self.is_announced));
                if glance.message.is_some() {
                    self.is_announced = glance.is_caveat();
                }
            }
        }
    }

    fn facts_mut(&mut self) -> &mut ForeignFacts {
        &mut self.seen
    }
}

#[derive(Default)]
struct CodexSession {
    seen: ForeignFacts,
    has_meta: bool,
}

impl Look for CodexSession {
    fn line(&mut self, line: &[u8]) {
        if !self.has_meta
            && let Some(meta) = codex::meta(line)
        {
            self.has_meta = true;
            self.seen.is_helper =
                meta.source.get("subagent").is_some() || meta.source.get("sub_agent").is_some();
            self.seen.time(&meta.timestamp);
            (self.seen.id, self.seen.cwd) =
                (meta.id, Some(meta.cwd).filter(|cwd| !cwd.as_os_str().is_empty()));
            return;
        }
        if self.seen.cwd.is_none() {
            self.seen.cwd = codex::directory(line);
        }
        if let Some(time) = codex::time(line) {
            self.seen.time(time);
        }
        let words = codex::user_text(line);
        // Its output is in the same line.
        if codex::is_answer(line) || matches!(words, UserText::Command(_)) {
            self.seen.message();
        }
        self.seen.add_text(words);
    }

    fn facts_mut(&mut self) -> &mut ForeignFacts {
        &mut self.seen
    }
}

#[cfg(test)]
mod tests;
