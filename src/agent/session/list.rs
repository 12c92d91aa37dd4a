//! Lists sessions without reading their files completely.
//!
//! A list must be quick with thousands of files, so lines are scanned, not parsed: the required fields are at
//! the beginning of a line in the output of every known program. Other lines are parsed. Nothing here changes
//! or locks a file.

use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Deserialize;

use super::entry::{Body, Entry, millis};
use super::header::{self, Header};
use super::index::SessionIndex;
use super::read;
use super::row::{ListedFile, SessionCandidate};
use crate::settings::paths::cwd_name;
use crate::settings::private_files::open_regular;
use tau_protocol::message::Message;
use tau_protocol::session_row::{SessionOrigin, SessionRow};
use tau_protocol::title;
use tau_tools::times;

/// The ends of the names of session files; those of Codex may be compressed.
const ENDINGS: [&str; 2] = [".jsonl", ".jsonl.zst"];

/// Lists the sessions under `root` (the folder with one subfolder per directory, or a folder of session
/// files), newest first: those that run in `cwd`, or all. Rows are passed to `emit` one by one; it returns
/// whether to continue. Files that are not sessions are skipped.
pub fn list(root: &Path, cwd: Option<&Path>, emit: &mut dyn FnMut(SessionRow) -> bool) {
    list_with_index(root, cwd, &mut SessionIndex::default(), emit);
}

/// Like [`list`], but uses an index: files that have not changed since are not opened. `known` is updated.
pub fn list_with_index(
    root: &Path,
    cwd: Option<&Path>,
    known: &mut SessionIndex,
    emit: &mut dyn FnMut(SessionRow) -> bool,
) {
    let listed =
        || files(root, cwd).into_iter().map(|file| SessionCandidate::new(file, SessionOrigin::Tau)).collect();
    list_candidates(&[root], listed, |listed| row(&listed.file), cwd, known, &mut |_, row| emit(row));
}

/// Lists what `listed` finds in these folders; `row` reads one of them.
pub(super) fn list_candidates(
    roots: &[&Path],
    listed: impl FnOnce() -> Vec<SessionCandidate> + Send,
    row: impl Fn(&SessionCandidate) -> Option<SessionRow>,
    cwd: Option<&Path>,
    known: &mut SessionIndex,
    emit: &mut dyn FnMut(&ListedFile, SessionRow) -> bool,
) {
    // Scanning many files takes as long as reading the index, so both run at once.
    let mut files = std::thread::scope(|scope| {
        let files = scope.spawn(listed);
        known.read();
        files.join().unwrap_or_default()
    });
    roots.iter().for_each(|root| known.keep(root, cwd.is_none(), &files));
    for listed in &mut files {
        let found = match (listed.row.take(), known.row(&listed.file)) {
            (Some(row), _) => Some(row),
            (None, Some(row)) => Some(row.clone()),
            (None, None) => {
                let row = row(listed);
                known.learn(&listed.file, row.clone());
                row
            }
        };
        let Some(mut row) = found else { continue };
        if let Some(folder) = &listed.folder {
            row.cwd = folder.directory(&row.cwd);
        }
        if cwd.is_none_or(|cwd| cwd == row.cwd) && !emit(&listed.file, row) {
            return;
        }
    }
}

/// The session in `cwd` that was changed last; with `printed`, runs of print mode, which lists leave out, count too.
pub fn newest(root: &Path, cwd: &Path, printed: bool) -> Option<PathBuf> {
    newest_of(root, cwd, printed, &|_| true)
}

/// Like [`newest`], of those whose ids are chosen.
pub fn newest_of(
    root: &Path,
    cwd: &Path,
    printed: bool,
    is_chosen: &dyn Fn(&str) -> bool,
) -> Option<PathBuf> {
    let is_listed = |path: &Path| row_of(path).is_some_and(|row| !row.printed);
    let is_here = |file: &ListedFile| {
        header(&file.path).is_some_and(|header| {
            let is_own = header.cwd == cwd && header.helper.is_none();
            is_own && (printed || !header.printed || is_listed(&file.path)) && is_chosen(&header.id)
        })
    };
    files(root, Some(cwd)).into_iter().find(is_here).map(|file| file.path)
}

/// The type of the entry that marks a session as continued on the screen.
pub(super) const ADOPTED: &str = "tau.screen";

/// The newest session of a missing directory that may be `cwd` before a rename or move.
pub fn find_moved_session(root: &Path, cwd: &Path) -> Option<PathBuf> {
    let inode = header::inode(cwd);
    let was_here = |header: &Header| match header.cwd_inode {
        Some(known) if inode == Some(known) => true,
        // The inode changes when a directory is copied, or moved to another file system.
        _ => header.cwd.file_name() == cwd.file_name(),
    };
    let is_it = |file: &ListedFile| {
        let is_own = |header: Header| header.helper.is_none() && was_here(&header) && !header.cwd.is_dir();
        header(&file.path).is_some_and(is_own)
    };
    files(root, None).into_iter().find(is_it).map(|file| file.path)
}

/// The list row of a session file.
pub fn row_of(path: &Path) -> Option<SessionRow> {
    row(&ListedFile::new(path.to_owned(), &std::fs::metadata(path).ok()?))
}

/// The sessions whose id is `id`, begins or ends with it; exact matches are returned alone.
pub fn with_id(root: &Path, id: &str) -> Vec<PathBuf> {
    let (likely, others) = likely_first(root, id);
    let exact: Vec<PathBuf> = likely.into_iter().filter(|path| has_id(path, id)).collect();
    if !exact.is_empty() {
        return exact;
    }
    let (mut exact, mut found, wanted) = (exact, Vec::new(), id.to_ascii_lowercase());
    for path in others {
        let Some(header) = header(&path) else { continue };
        let known = header.id.to_ascii_lowercase();
        if header.id == id {
            exact.push(path);
        } else if known.starts_with(&wanted) || known.ends_with(&wanted) {
            found.push(path);
        }
    }
    if exact.is_empty() { found } else { exact }
}

/// The files whose names end with the id, and the others: a user may have renamed one, and then only its header has
/// the id. Most files need not be opened.
fn likely_first(root: &Path, id: &str) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let end = format!("_{id}.jsonl");
    let paths = files(root, None).into_iter().map(|file| file.path);
    paths.partition(|path| path.to_string_lossy().ends_with(&end))
}

fn has_id(path: &Path, id: &str) -> bool {
    header(path).is_some_and(|header| header.id == id)
}

/// The session with exactly this id.
pub fn of_id(root: &Path, id: &str) -> Option<PathBuf> {
    let (likely, others) = likely_first(root, id);
    likely.into_iter().chain(others).find(|path| has_id(path, id))
}

/// The session with exactly this id: of several, that of `cwd`.
pub fn of_id_in(root: &Path, id: &str, cwd: &Path) -> Option<PathBuf> {
    let (likely, others) = likely_first(root, id);
    let mut exact = likely.into_iter().filter(|path| has_id(path, id)).peekable();
    if exact.peek().is_none() {
        return others.into_iter().find(|path| has_id(path, id));
    }
    let exact: Vec<PathBuf> = exact.collect();
    exact.iter().find(|path| directory(path).is_some_and(|own| own == cwd)).or(exact.first()).cloned()
}

/// The ids of all sessions, by the names of their files.
pub fn ids(root: &Path) -> Vec<String> {
    let id = |file: ListedFile| Some(file.path.file_stem()?.to_str()?.rsplit_once('_')?.1.to_owned());
    files(root, None).into_iter().filter_map(id).collect()
}

/// The `*.jsonl` files that can hold sessions of `cwd`, last changed first.
pub(super) fn files(root: &Path, cwd: Option<&Path>) -> Vec<ListedFile> {
    let mut files = Vec::new();
    let folders = read_dir(root, &mut files);
    let own = cwd.map(|cwd| root.join(cwd_name(cwd)));
    for folder in folders {
        if own.as_ref().is_none_or(|own| *own == folder) {
            read_dir(&folder, &mut files);
        }
    }
    files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
    files
}

/// The directory of a session file; `None` if the file is not a session.
pub fn directory(path: &Path) -> Option<PathBuf> {
    header(path).map(|header| header.cwd)
}

/// The name of a session's file, without its ending.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = ENDINGS.iter().find_map(|end| name.strip_suffix(end));
    ending.unwrap_or(&name).to_owned()
}

/// Collects the session files of a folder; returns its subfolders.
pub(super) fn read_dir(dir: &Path, files: &mut Vec<ListedFile>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_session = ENDINGS.iter().any(|end| entry.file_name().as_bytes().ends_with(end.as_bytes()));
        let Ok(kind) = entry.file_type() else { continue };
        if !is_session && !kind.is_dir() && !kind.is_symlink() {
            continue;
        }
        // Metadata of an entry that is not a link is cheaper through the open folder than by its full path.
        let metadata = if kind.is_symlink() { std::fs::metadata(&path) } else { entry.metadata() };
        let Ok(metadata) = metadata else { continue };
        if metadata.is_dir() {
            folders.push(path);
        } else if is_session {
            files.push(ListedFile::new(path, &metadata));
        }
    }
    folders
}

fn header(path: &Path) -> Option<Header> {
    read::header(&mut open_regular(path).ok()?).ok()?
}

pub(super) fn row(file: &ListedFile) -> Option<SessionRow> {
    let mut reader = BufReader::with_capacity(64 * 1024, open_regular(&file.path).ok()?);
    let (header, _) = read::header_line(&mut reader).ok()??;
    let mut line = Vec::new();
    let mut scan = Scan::default();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
        scan.line(read::bare(&line));
    }
    // A copy of another agent's session has the name of the original.
    let is_named = scan.name.as_ref().is_some_and(|name| !name.is_empty()) && header.parent_source.is_none();
    let times = [millis(&scan.latest), millis(&header.timestamp)];
    let modified = times.into_iter().flatten().next();
    Some(SessionRow {
        path: file.path.clone(),
        name: scan.name.clone().filter(|name| !name.is_empty()),
        first_prompt: scan.first_prompt.unwrap_or_default(),
        created: header.creation_time(),
        modified: modified.unwrap_or_else(|| times::millis(file.modified)),
        messages: scan.messages,
        size: file.size,
        printed: header.printed && !scan.adopted && !is_named,
        archived: false,
        id: header.id,
        source: SessionOrigin::Tau,
        cwd: header.cwd,
        parent: header.parent_session.filter(|_| header.helper.is_some()),
        helper: header.helper,
    })
}

/// Values gathered line by line.
#[derive(Default)]
struct Scan {
    name: Option<String>,
    first_prompt: Option<String>,
    messages: u64,
    /// Whether it was continued on the screen.
    adopted: bool,
    /// The latest time of a user or assistant message, as in the file: such timestamps sort as text.
    latest: String,
}

/// The beginning of messages that are written in the usual order and without blanks.
pub(super) const MESSAGE: &[u8] = br#"{"type":"message","#;

/// A line that could not be scanned.
#[derive(Deserialize)]
struct Slow {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: String,
    name: Option<String>,
    message: Option<SlowMessage>,
}

#[derive(Deserialize)]
struct SlowMessage {
    role: String,
}

impl Scan {
    fn line(&mut self, line: &[u8]) {
        const INFO: &[u8] = br#"{"type":"session_info","#;
        const CUSTOM: &[u8] = br#"{"type":"custom","#;
        if line.starts_with(MESSAGE) {
            match glance(line) {
                Some((role, time)) => self.message(role, time, line),
                None => self.slow(line),
            }
        } else if line.starts_with(CUSTOM) {
            self.adopted |= memmem::find(line, ADOPTED.as_bytes()).is_some();
        } else if line.starts_with(INFO) || is_slow(line) {
            self.slow(line);
        }
    }

    fn slow(&mut self, line: &[u8]) {
        let Ok(slow) = serde_json::from_slice::<Slow>(line) else { return };
        match (slow.kind.as_str(), slow.message) {
            ("session_info", _) => self.name = slow.name,
            ("message", Some(message)) => {
                self.message(message.role.as_bytes(), slow.timestamp.as_bytes(), line);
            }
            _ => {}
        }
    }

    fn message(&mut self, role: &[u8], time: &[u8], line: &[u8]) {
        if !is_user_or_assistant(role) {
            return;
        }
        self.messages = self.messages.saturating_add(1);
        if time > self.latest.as_bytes() {
            self.latest = String::from_utf8_lossy(time).into_owned();
        }
        if role == b"user" && self.first_prompt.is_none() {
            self.first_prompt = first_line(line);
        }
    }
}

/// Role and time of a message whose fields are in the usual order. In JSON a quote inside a string is
/// escaped, so a match is a field.
fn glance(line: &[u8]) -> Option<(&[u8], &[u8])> {
    const ROLE: &[u8] = br#""message":{"role":""#;
    const TIME: &[u8] = br#""timestamp":""#;
    // The head of a line is short; a message in another order is not searched to its end.
    let head = line.get(..line.len().min(512))?;
    let at = memmem::find(head, ROLE)?;
    let (before, rest) = head.split_at_checked(at)?;
    let role = until_quote(rest.get(ROLE.len()..)?)?;
    let time = before.get(memmem::find(before, TIME)?.checked_add(TIME.len())?..)?;
    Some((role, until_quote(time)?))
}

/// The role of a message whose fields are in the usual order.
pub(super) fn role(line: &[u8]) -> Option<&[u8]> {
    glance(line).map(|(role, _)| role)
}

/// Whether a line is a message of the user or the model.
pub(super) fn is_conversation(line: &[u8]) -> bool {
    match glance(line) {
        Some((role, _)) => is_user_or_assistant(role),
        None if is_slow(line) => {
            let slow = serde_json::from_slice::<Slow>(line).ok().filter(|slow| slow.kind == "message");
            let role = slow.and_then(|slow| slow.message).map(|message| message.role);
            role.is_some_and(|role| is_user_or_assistant(role.as_bytes()))
        }
        None => false,
    }
}

fn is_user_or_assistant(role: &[u8]) -> bool {
    role == b"user" || role == b"assistant"
}

/// Whether a line that cannot be scanned must be parsed: it may be a message in another order, or written
/// with blanks.
fn is_slow(line: &[u8]) -> bool {
    line.starts_with(MESSAGE) || !line.starts_with(br#"{"type":""#)
}

fn until_quote(text: &[u8]) -> Option<&[u8]> {
    text.get(..memchr::memchr(b'"', text)?)
}

/// The first line of a user message, cut to 200 characters.
fn first_line(line: &[u8]) -> Option<String> {
    let Body::Message { message } = Entry::parse_any(std::str::from_utf8(line).ok()?)? else {
        return None;
    };
    let Message::User(user) = &*message else { return None };
    let text = user.content.text();
    Some(title::opening(&text)?.chars().take(200).collect())
}
