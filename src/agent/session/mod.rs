//! Sessions: an append-only tree of entries in a file, and the context as a fold over it.
//!
//! The format is specified in the project's session format (version 3, shared with pi). A session is written
//! by one task only; [`list`] reads many without opening any completely. [`entry`] is a line, `file` and
//! `appender` write, `read` and `migrate` read, [`tree`] gives it meaning.

pub mod prompt_history;

pub mod all;
mod appender;
pub mod disk;
pub mod entry;
mod file;
pub mod foreign;
mod fork;
mod header;
pub(crate) mod history;
pub(crate) mod history_search;
pub mod index;
pub mod last_exchange;
pub mod list;
pub mod lock;
mod message_json;
mod migrate;
mod open;
pub mod outline;
pub(crate) mod paging;
mod read;
pub mod row;
#[cfg(feature = "sqlite")]
pub mod search;
pub mod surrogates;
pub(crate) mod survey;
pub mod tail;
pub mod tree;
mod tree_cost;
mod unread;
pub mod unreported;
pub(crate) mod usage;
mod words;

use serde_json::{Value, json};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::protocol::event::{CompactionResult, NoticeLevel, SessionInfo};
use super::protocol::message::Message;
use super::protocol::model::ThinkingLevel;
use super::protocol::run::RunEnd;
use super::protocol::session_row::SessionOrigin;
use entry::{Body, Entry};
pub use file::{Access, NEW_LOCK};
use file::{Flush, SessionFile};
pub use fork::ForkRange;
use header::Beginning;
pub use header::is_session_id;
pub use lock::Owner;
use tau_tools::paths::reason;
use tau_tools::regular_files::open_regular;
use tree::Tree;
pub use unread::UnreadPart;

/// The beginning of the notice that a session could not be saved.
pub const CANNOT_SAVE: &str = "cannot save the session";

/// The type of the entry with the limit that ended the run of a helper.
const LIMIT: &str = "tau.limit";
/// The custom entry below the one from which the conversation continues.
const PLACE: &str = "tau.place";

/// The maximum number of sessions above one of a helper, with those that continue another.
const MAX_ANCESTORS: usize = 64;

/// The reason a session could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file has content but is not a session, or it is empty. It is left alone.
    #[error("{path}: not a session file", path = .0.display())]
    NotASession(PathBuf),
    /// An error of the file system.
    #[error("{path}: {why}", path = .path.display(), why = reason(.source))]
    Io { path: PathBuf, source: std::io::Error },
    /// Another tau is writing to it.
    #[error("{path}: in use by another tau ({owner})", path = .path.display())]
    Locked { path: PathBuf, owner: Owner },
}

/// The part of a session that is sent to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionContext {
    /// The messages on the path from root to leaf, after compaction and edits.
    pub messages: Vec<Arc<Message>>,
    /// Provider and id of the model last used.
    pub model: Option<(String, String)>,
    /// The thinking level last set.
    pub thinking: Option<ThinkingLevel>,
}

/// An open session.
#[derive(Debug)]
pub struct Session {
    info: SessionInfo,
    tree: Tree,
    /// `None` for a session in memory.
    file: Option<SessionFile>,
    skipped: usize,
    /// The first line of the file, without its end.
    header: Box<str>,
    /// The state of the unread part of the file.
    unread: Option<UnreadPart>,
    /// Notices for the user about how it was opened.
    notes: Vec<(NoticeLevel, String)>,
    /// The program whose session this is.
    program: SessionOrigin,
}

impl Session {
    /// A new session for `cwd`. Its file is created in `dir` with the first user or assistant message;
    /// without a `dir` it stays in memory. An `id` that [`is_session_id`] refuses, or none, gives a new UUID.
    pub fn begin(dir: Option<&Path>, cwd: &Path, id: Option<String>) -> Self {
        Self::fresh(dir, cwd, id, None)
    }

    /// Like [`Session::begin`], for a run whose answers are printed.
    pub fn begin_for_printing(dir: Option<&Path>, cwd: &Path, id: Option<String>) -> Self {
        Self::new(dir, cwd, id, Beginning { printed: true, ..Beginning::default() })
    }

    /// Like [`Session::begin`], for a helper of this kind; `parent` is the file of the session that asked for it.
    pub fn begin_helper(dir: Option<&Path>, cwd: &Path, parent: Option<&Path>, kind: &str) -> Self {
        let beginning = Beginning { parent, printed: true, helper: Some(kind), ..Beginning::default() };
        Self::new(dir, cwd, None, beginning)
    }

    /// The kind of helper whose session it is, or continues.
    pub(crate) fn helper_kind(&self) -> Option<String> {
        header::Header::parse(self.header.as_bytes())?.kind().map(str::to_owned)
    }

    /// The number of sessions above that of the helper; `None` if one of them cannot be read any more.
    pub(crate) fn helper_depth(&self) -> Option<u32> {
        let Some(mut header) = header::Header::parse(self.header.as_bytes()) else { return Some(0) };
        let mut depth = 0;
        for _ in 0..MAX_ANCESTORS {
            depth += u32::from(header.helper.is_some());
            if header.kind().is_none() {
                return Some(depth);
            }
            let file = open_regular(&header.parent_session?).ok()?;
            header = read::header_line(&mut BufReader::new(file)).ok()??.0;
        }
        None
    }

    /// Marks it as continued on the screen: lists show it, even if it was begun by a run whose answers are
    /// printed.
    pub fn continue_on_screen(&mut self) -> Result<(), SessionError> {
        let is_printed = header::Header::parse(self.header.as_bytes()).is_some_and(|header| header.printed);
        let is_adopted = |entry: &Entry| entry.custom_data(list::ADOPTED).is_some();
        if !is_printed || self.is_read_only() || self.tree.entries().iter().any(is_adopted) {
            return Ok(());
        }
        self.append_custom(list::ADOPTED, Value::Null)
    }

    fn fresh(dir: Option<&Path>, cwd: &Path, id: Option<String>, parent: Option<&Path>) -> Self {
        Self::new(dir, cwd, id, Beginning { parent, ..Beginning::default() })
    }

    fn new(dir: Option<&Path>, cwd: &Path, id: Option<String>, beginning: Beginning<'_>) -> Self {
        let id = id.filter(|id| is_session_id(id)).unwrap_or_else(|| tau_tools::ids::id().to_string());
        let timestamp = entry::iso(entry::now());
        let name = format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"));
        let header = header::line(&id, &timestamp, cwd, beginning);
        let line = [header.as_bytes(), b"\n"].concat();
        let file = dir.map(|dir| SessionFile::absent(dir.join(name), [line]));
        let path = file.as_ref().map(|file| file.path().to_owned());
        let info =
            SessionInfo { id, file: path, name: None, cwd: cwd.to_owned(), resumed: false, stopped: None };
        let notes = Vec::new();
        let (tree, program) = (Tree::default(), SessionOrigin::Tau);
        Session { info, tree, file, skipped: 0, header: header.into(), unread: None, notes, program }
    }

    /// Like [`Session::begin`], for a session that continues the one in `parent`.
    pub fn begin_after(dir: Option<&Path>, cwd: &Path, parent: &Path) -> Self {
        Self::fresh(dir, cwd, None, Some(parent))
    }

    /// Gives the session another id, as long as it has no file. If another process begins one with this id first, it
    /// gets a new one with its file.
    pub fn under_id(self, id: &str) -> Self {
        if !is_session_id(id) {
            return self;
        }
        let mut session = self.with_field("id", id.into());
        session.file.iter_mut().for_each(|file| file.claim(id));
        session
    }

    /// Marks it as that of a run whose answers are printed, as long as it has no file.
    pub fn for_printing(self) -> Self {
        self.with_field("printed", true.into())
    }

    fn with_field(mut self, name: &str, value: Value) -> Self {
        let Ok(mut header) = serde_json::from_str::<Value>(&self.header) else { return self };
        header[name] = value;
        let line = header.to_string();
        let Some(header) = header::Header::parse(line.as_bytes()) else { return self };
        let (id, begun) = (header.id, header.timestamp.replace([':', '.'], "-"));
        let renamed = self.file.as_mut().is_none_or(|file| {
            let path = file.path().with_file_name(format!("{begun}_{id}.jsonl"));
            file.rename_absent(path, [line.as_bytes(), b"\n"].concat())
        });
        if renamed {
            self.info.file = self.file.as_ref().map(|file| file.path().to_owned());
            (self.info.id, self.header) = (id, line.into());
        }
        self
    }

    /// Creates the file now, so that others can find the session by its id.
    pub fn make_file(&mut self) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let result = file.make();
        self.finish_write(result)
    }

    /// Adds entries to a session whose file does not exist yet.
    fn take_all(&mut self, entries: Vec<Entry>) {
        self.info.resumed = true;
        for entry in entries {
            self.wait(entry.line());
            self.tree.push(entry);
        }
    }

    /// Buffers a line until the file exists. Touches no file, so it cannot fail.
    fn wait(&mut self, line: Vec<u8>) {
        if let Some(file) = &mut self.file {
            file.append(line, Flush::Later).unwrap_or_default();
        }
    }

    /// Uses `disk` for all further operations on its file; tests make it fail.
    pub fn with_disk(mut self, disk: Arc<dyn disk::Disk>) -> Self {
        if let Some(file) = &mut self.file {
            file.set_disk(disk);
        }
        self
    }

    /// Warnings about repaired problems with its file; each is returned once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.file.as_mut().map(SessionFile::take_warnings).unwrap_or_default()
    }

    /// Notices for the user about how it was opened; each is returned once.
    pub fn take_notes(&mut self) -> Vec<(NoticeLevel, String)> {
        std::mem::take(&mut self.notes)
    }

    /// Whether some of it could not be written and is in memory only.
    pub fn has_unsaved(&self) -> bool {
        self.file.as_ref().is_some_and(SessionFile::has_unsaved)
    }

    /// Its description.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// The program whose session this is: another one than tau if it was opened with [`Session::original`].
    pub fn program(&self) -> SessionOrigin {
        self.program
    }

    /// The header: the first line of its file, without the line's end.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Its entries, as a tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether it was opened for reading only ([`Access::Read`]): appended entries stay in memory until it is
    /// forked.
    pub fn is_read_only(&self) -> bool {
        self.file.as_ref().is_some_and(SessionFile::is_read_only)
    }

    /// Continues from another entry of the tree, or from before the first; not saved if nothing is appended
    /// after it. Returns false if there is no entry with that id.
    pub fn go_to(&mut self, id: Option<&str>) -> bool {
        self.tree.move_leaf(id)
    }

    /// Records where the conversation is, if the last entry is elsewhere: whoever opens the file continues from the
    /// last one.
    pub(crate) fn append_place(&mut self) -> Result<(), SessionError> {
        let last = self.tree.entries().last().map(|last| &last.id);
        if self.tree.leaf().map(|leaf| &leaf.id) == last {
            return Ok(());
        }
        let leaf = self.tree.leaf().map(|leaf| leaf.id.clone());
        let written = self.append_custom_later(PLACE, Value::Null);
        self.tree.move_leaf(leaf.as_deref());
        written
    }

    /// The context for the model.
    pub fn context(&self) -> SessionContext {
        self.tree.context()
    }

    /// The messages of the context as JSON, with unknown fields from other programs.
    pub(crate) fn context_json(&self) -> Vec<serde_json::Value> {
        let json = |(id, message): &(Arc<str>, Arc<Message>)| {
            let entry = self.tree.get(id);
            entry.map_or_else(
                || serde_json::to_value(message).unwrap_or_default(),
                |entry| entry.message_json(message),
            )
        };
        self.tree.context_items().iter().map(json).collect()
    }

    /// The number of unreadable lines that were skipped so far.
    pub fn skipped_lines(&self) -> usize {
        self.skipped
    }

    /// Appends a message. It is in memory even if this fails; the write is retried with the next append.
    pub fn append(&mut self, message: Arc<Message>) -> Result<(), SessionError> {
        self.append_body(Body::Message { message })
    }

    /// Appends an entry that is not a message: a compaction, a label, an edit.
    pub fn append_body(&mut self, body: Body) -> Result<(), SessionError> {
        let flush = self.flush_of(&body);
        self.add(body, flush)
    }

    /// Whether an entry begins the file: what the user and the model say does, and then all that is done about it.
    /// Settings alone are not worth one.
    fn flush_of(&self, body: &Body) -> Flush {
        let is_setting = matches!(body, Body::ModelChange { .. } | Body::ThinkingLevelChange { .. });
        let mut entries = self.tree.entries().iter();
        match is_said(body) || !is_setting && entries.any(|entry| is_said(&entry.body)) {
            true => Flush::Now,
            false => Flush::Later,
        }
    }

    /// Appends the limit or guard that ended the run.
    pub(crate) fn append_limit(&mut self, limit: RunEnd) -> Result<(), SessionError> {
        self.append_custom(LIMIT, json!(limit))
    }

    /// The limit or guard that ended the last run, if one did.
    pub fn limit_of_run(&self) -> Option<RunEnd> {
        let is_of_run = |entry: &Entry| {
            let Body::Message { message } = &entry.body else { return false };
            matches!(message.as_ref(), Message::User(_) | Message::Assistant(_))
        };
        let branch = self.tree.branch();
        let data = branch
            .iter()
            .rev()
            .take_while(|entry| !is_of_run(entry))
            .find_map(|entry| entry.custom_data(LIMIT));
        data.and_then(|data| serde_json::from_value(data).ok())
    }

    /// Appends data of this type that gives no message.
    pub(crate) fn append_custom(&mut self, custom_type: &str, data: Value) -> Result<(), SessionError> {
        self.add_custom(custom_type, data, Flush::Now)
    }

    /// Like [`Session::append_custom`], without moving the conversation.
    pub(crate) fn append_custom_aside(&mut self, custom_type: &str, data: Value) -> Result<(), SessionError> {
        let leaf = self.tree.leaf().map(|leaf| leaf.id.clone());
        let written = self.append_custom(custom_type, data);
        self.tree.move_leaf(leaf.as_deref());
        written
    }

    /// Appends what a request beside the conversation cost. It counts in the totals, and the conversation stays
    /// where it is. Money is worth a file, whether or not anything was said. If it cannot be written, the entry is kept
    /// in memory.
    pub fn append_usage(&mut self, usage: Value) -> Result<(), SessionError> {
        self.take_external_appends();
        let leaf = self.tree.leaf().map(|leaf| leaf.id.clone());
        let mut entry = self.grow(Body::Other { line: Box::default() });
        entry.body = Body::Other { line: entry.line_of("usage", json!({ "usage": usage })).into() };
        let written = self.put(entry, Flush::Now);
        self.tree.move_leaf(leaf.as_deref());
        written
    }

    /// Like [`Session::append_custom`], but creates no file.
    pub(crate) fn append_custom_later(&mut self, custom_type: &str, data: Value) -> Result<(), SessionError> {
        self.add_custom(custom_type, data, Flush::Later)
    }

    fn add_custom(&mut self, custom_type: &str, data: Value, flush: Flush) -> Result<(), SessionError> {
        self.take_external_appends();
        let mut entry = self.grow(Body::Other { line: Box::default() });
        entry.body = Body::Other { line: entry.custom_line(custom_type, data).into() };
        self.put(entry, flush)
    }

    /// Appends an entry without moving the conversation: a label of another entry is not part of the branch.
    pub(crate) fn append_aside(&mut self, body: Body) -> Result<(), SessionError> {
        let leaf = self.tree.leaf().map(|leaf| leaf.id.clone());
        let written = self.append_body(body);
        self.tree.move_leaf(leaf.as_deref());
        written
    }

    /// Appends a compaction; returns the id of its entry, and whether it was written. Without `first_kept`
    /// nothing before it is kept, and it refers to itself.
    pub(crate) fn append_compaction(
        &mut self,
        first_kept: Option<&str>,
        result: &CompactionResult,
    ) -> (String, Result<(), SessionError>) {
        self.take_external_appends();
        let mut entry = self.grow(Body::SessionInfo { name: String::new() });
        entry.body = Body::Compaction {
            summary: result.summary.clone(),
            first_kept_entry_id: first_kept.unwrap_or(&entry.id).to_owned(),
            tokens_before: result.tokens_before,
            details: result.details.clone(),
            usage: result.usage.and_then(|usage| serde_json::to_value(usage).ok()),
        };
        let (id, flush) = (entry.id.to_string(), self.flush_of(&entry.body));
        (id, self.put(entry, flush))
    }

    /// Records a change of the model.
    pub fn set_model(&mut self, provider: &str, id: &str) -> Result<(), SessionError> {
        let model = (provider.to_owned(), id.to_owned());
        if self.tree.model().as_ref() == Some(&model) {
            return Ok(());
        }
        self.append_body(Body::ModelChange { provider: model.0, model_id: model.1 })
    }

    /// Records a change of the thinking level.
    pub fn set_thinking(&mut self, level: ThinkingLevel) -> Result<(), SessionError> {
        if self.tree.thinking() == Some(level) {
            return Ok(());
        }
        self.append_body(Body::ThinkingLevelChange { thinking_level: level.name().to_owned() })
    }

    /// Names it, on one line; an empty name removes the name.
    pub fn set_name(&mut self, name: &str) -> Result<(), SessionError> {
        let name = one_line(name);
        // The last name may be in the unread part, or come from another program.
        self.survey();
        let known = [self.tree.name(), self.info.name.as_deref()];
        if known.iter().all(|known| known.unwrap_or_default() == name) {
            return Ok(());
        }
        self.info.name = Some(name.clone()).filter(|name| !name.is_empty());
        self.append_body(Body::SessionInfo { name })
    }

    /// Syncs appended entries to disk (`fdatasync`). Call at the end of a turn. Fails with `Io`, also when
    /// lines are waiting that still cannot be written.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let result = file.flush();
        self.finish_write(result)
    }

    fn add(&mut self, body: Body, flush: Flush) -> Result<(), SessionError> {
        self.take_external_appends();
        let entry = self.grow(body);
        self.put(entry, flush)
    }

    /// A new entry below the leaf.
    fn grow(&self, body: Body) -> Entry {
        let mut entry = self.tree.grow(entry::now(), body);
        if self.unread.is_some() {
            // The short ids in use are not known while a part of the file is unread.
            entry.id = tau_tools::ids::id().to_string().into();
        }
        entry
    }

    /// Adds entries that another program has appended, as a branch beside the current one.
    fn take_external_appends(&mut self) {
        if let Some(file) = &mut self.file {
            let foreign = file.external_appends();
            read::entries(&foreign).0.into_iter().for_each(|entry| self.tree.insert(entry));
        }
    }

    fn put(&mut self, entry: Entry, flush: Flush) -> Result<(), SessionError> {
        let line = entry.line();
        self.tree.push(entry);
        let Some(file) = &mut self.file else { return Ok(()) };
        let result = file.append(line, flush);
        self.finish_write(result)
    }

    fn finish_write(&mut self, result: std::io::Result<()>) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Some(line) = file.take_new_header()
            && let Some(header) = header::Header::parse(line.as_bytes())
        {
            let text =
                format!("another tau has continued {} already: this copy is {}", self.info.id, header.id);
            self.notes.push((NoticeLevel::Warning, text));
            (self.info.id, self.header) = (header.id, line.into());
        }
        let path = file.path();
        // It continues elsewhere if another file was put in its place.
        if self.info.file.as_deref() != Some(path) {
            self.info.file = Some(path.to_owned());
        }
        result.map_err(|source| SessionError::Io { path: path.to_owned(), source })
    }
}

fn is_said(body: &Body) -> bool {
    matches!(body, Body::Message { message } if matches!(**message, Message::User(_) | Message::Assistant(_)))
}

/// A name without ends of lines.
fn one_line(name: &str) -> String {
    let lines: Vec<&str> = name.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}
