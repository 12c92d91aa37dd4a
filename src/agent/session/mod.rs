//! Sessions: an append-only tree of entries in one file, and the context that is a fold over it.
//!
//! The format is specified in the project's session format (version 3, shared with pi). A
//! session is written by one task only; [`list`] reads many without opening any whole.
//! [`entry`] is a line, `file` and `appender` write, `read` and `migrate` read, [`tree`] gives it meaning.

pub mod prompt_history;

mod appender;
pub mod disk;
pub mod entry;
mod file;
mod fork;
pub mod index;
pub mod list;
pub mod lock;
mod migrate;
pub mod outline;
pub mod paging;
mod read;
pub mod search;
pub mod tail;
pub mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::protocol::event::{CompactionResult, SessionInfo};
use super::protocol::message::Message;
use super::protocol::model::ThinkingLevel;
use entry::{Body, Entry};
pub use file::Access;
use file::{Opened, SessionFile, Worth};
pub use fork::Part;
pub use lock::Owner;
use read::{Contents, Form, Header};
use tail::Earlier;
use tree::Tree;

/// Why a session could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file has content but is no session, or it is empty. It is left as it is.
    #[error("{path}: not a session file", path = .0.display())]
    NotASession(PathBuf),
    /// The file system said no.
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Another tau writes to it.
    #[error("{path}: in use by another tau ({owner})", path = .path.display())]
    Locked { path: PathBuf, owner: Owner },
}

/// What the model is given of a session.
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
    /// None for a session in memory.
    file: Option<SessionFile>,
    skipped: usize,
    /// The first line of the file, without its end.
    header: Box<str>,
    /// What is known of the part of the file that has not been read.
    earlier: Option<Earlier>,
}

/// The header as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewHeader<'a> {
    r#type: &'static str,
    version: u32,
    id: &'a str,
    timestamp: &'a str,
    cwd: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session: Option<&'a Path>,
}

/// Whether a caller may name a session so: letters, digits, `.`, `_` and `-`, of which the last
/// three stand neither first nor last; at most 128.
pub fn is_session_id(id: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    id.len() <= 128 && id.chars().all(inner) && outer(id.chars().next()) && outer(id.chars().next_back())
}

impl Session {
    /// A new session for `cwd`. Its file is made in `dir` with the first user or assistant
    /// message; without a `dir` it stays in memory. An `id` that [`is_session_id`] refuses, or
    /// none, gives a new UUID.
    pub fn begin(dir: Option<&Path>, cwd: &Path, id: Option<String>) -> Self {
        Self::fresh(dir, cwd, id, None)
    }

    fn fresh(dir: Option<&Path>, cwd: &Path, id: Option<String>, parent: Option<&Path>) -> Self {
        let id = id.filter(|id| is_session_id(id)).unwrap_or_else(|| crate::tools::ids::id().to_string());
        let timestamp = entry::iso(entry::now());
        let name = format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"));
        let header = NewHeader {
            r#type: "session",
            version: 3,
            id: &id,
            timestamp: &timestamp,
            cwd,
            parent_session: parent,
        };
        // A path that is not UTF-8 has no place in JSON; such a session stays in memory.
        let line = serde_json::to_string(&header).ok();
        let header = line.as_deref().unwrap_or_default().into();
        let line = line.map(|line| [line.as_bytes(), b"\n"].concat());
        let file = dir.zip(line).map(|(dir, line)| SessionFile::absent(dir.join(name), [line]));
        let path = file.as_ref().map(|file| file.path().to_owned());
        let info = SessionInfo { id, file: path, name: None, cwd: cwd.to_owned(), resumed: false };
        Session { info, tree: Tree::default(), file, skipped: 0, header, earlier: None }
    }

    /// Opens a session file for appending and locks it. Files of versions 1 and 2 are rewritten
    /// as version 3; documents from before them become a new file beside the old one; files of a
    /// later version, and those that may not be written, are opened for reading: appending then
    /// fails, and what was appended is in memory only.
    ///
    /// # Errors
    /// See [`SessionError`]. The session this process has open itself counts as locked.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_as(path, Access::Write)
    }

    /// As [`Session::open`], with more or less than the usual access. A file of an older version
    /// that is opened for reading only is read as if it had been rewritten.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_as(path: &Path, access: Access) -> Result<Self, SessionError> {
        let mut opened = SessionFile::open(path, access)?;
        let bytes = opened.whole()?;
        Self::read(path, opened, &bytes, access)
    }

    fn read(path: &Path, opened: Opened, bytes: &[u8], access: Access) -> Result<Self, SessionError> {
        let contents = read::contents(bytes).ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
        let file = opened.done(bytes.len() as u64, bytes.last().copied());
        match contents.header.form() {
            Form::Current => Ok(Self::opened(file, contents, bytes)),
            Form::Old if access == Access::Read => {
                let current = migrate::to_current(bytes);
                let contents = read::contents(&current);
                let contents = contents.ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
                Ok(Self::opened(file, contents, &current))
            }
            Form::Old => Self::migrated(path, bytes, file),
            Form::Newer => {
                let reason = "written by a later version, open for reading only";
                Ok(Self::opened(SessionFile::read_only(path.to_owned(), reason), contents, bytes))
            }
            Form::Document => Ok(Self::imported(path, bytes, &contents.header)),
        }
    }

    /// As [`Session::begin`], for a session that goes on from the one in `parent`.
    pub fn begin_after(dir: Option<&Path>, cwd: &Path, parent: &Path) -> Self {
        Self::fresh(dir, cwd, None, Some(parent))
    }

    /// A new session with all entries of `path`, which is not locked and not changed: for a
    /// session that another tau has open, or one to go on from elsewhere. Its file is made, in
    /// `dir`, with the first message.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn copy(path: &Path, dir: Option<&Path>, cwd: Option<&Path>) -> Result<Self, SessionError> {
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        let mut file = super::settings::private_files::open_regular(path).map_err(failed)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).map_err(failed)?;
        let not_a_session = || SessionError::NotASession(path.to_owned());
        let header = read::header(&mut bytes.as_slice()).map_err(failed)?.ok_or_else(not_a_session)?;
        let cwd = cwd.unwrap_or(&header.cwd);
        let mut session = Self::fresh(dir, cwd, None, Some(path));
        if header.form() == Form::Document {
            session.take_all(migrate::import(&bytes));
            return Ok(session);
        }
        if header.form() == Form::Old {
            bytes = migrate::to_current(&bytes);
        }
        let contents = read::contents(&bytes).ok_or_else(not_a_session)?;
        session.skipped = contents.skipped;
        session.tree = tree_of(&contents.header, contents.entries);
        session.info.name = session.tree.name().map(str::to_owned);
        session.info.resumed = true;
        // The lines themselves, so that fields that are not known here stay with them.
        let lines = read::lines(&bytes).filter(|line| Header::parse(line).is_none());
        for line in lines {
            session.wait([line, b"\n"].concat());
        }
        Ok(session)
    }

    fn opened(file: SessionFile, contents: Contents, bytes: &[u8]) -> Self {
        let header = &contents.header;
        let line = read::lines(bytes).find(|line| Header::parse(line).is_some()).unwrap_or_default();
        let line = String::from_utf8_lossy(line).into();
        let info = SessionInfo {
            id: header.id.clone(),
            file: Some(file.path().to_owned()),
            name: None,
            cwd: header.cwd.clone(),
            resumed: true,
        };
        let tree = tree_of(&contents.header, contents.entries);
        let skipped = contents.skipped;
        let mut session = Session { info, tree, file: Some(file), skipped, header: line, earlier: None };
        session.info.name = session.tree.name().map(str::to_owned);
        session
    }

    fn migrated(path: &Path, bytes: &[u8], old: SessionFile) -> Result<Self, SessionError> {
        let current = migrate::to_current(bytes);
        super::settings::private_files::replace(path, &current)
            .map_err(|source| SessionError::Io { path: path.to_owned(), source })?;
        // The old file keeps its lock until the new one is locked in its place.
        let opened = SessionFile::open(path, Access::Write);
        drop(old);
        let mut opened = opened?;
        let bytes = opened.whole()?;
        let contents = read::contents(&bytes).ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
        Ok(Self::opened(opened.done(bytes.len() as u64, bytes.last().copied()), contents, &bytes))
    }

    fn imported(path: &Path, bytes: &[u8], header: &Header) -> Self {
        let mut session = Self::fresh(path.parent(), &header.cwd, None, Some(path));
        session.take_all(migrate::import(bytes));
        session
    }

    /// Takes entries into a session whose file is not made yet.
    fn take_all(&mut self, entries: Vec<Entry>) {
        self.info.resumed = true;
        for entry in entries {
            self.wait(entry.line());
            self.tree.push(entry);
        }
    }

    /// Keeps a line for when the file is made, which takes no file and so cannot fail.
    fn wait(&mut self, line: Vec<u8>) {
        if let Some(file) = &mut self.file {
            file.append(line, Worth::Waits).unwrap_or_default();
        }
    }

    /// From now on what is done to its file is done by `disk`; tests let it fail.
    pub fn with_disk(mut self, disk: Arc<dyn disk::Disk>) -> Self {
        if let Some(file) = &mut self.file {
            file.set_disk(disk);
        }
        self
    }

    /// What people should know of its file although it was mended, once.
    pub fn take_remarks(&mut self) -> Vec<String> {
        self.file.as_mut().map(SessionFile::take_remarks).unwrap_or_default()
    }

    /// Whether some of it could not be written and is in memory only.
    pub fn owes(&self) -> bool {
        self.file.as_ref().is_some_and(SessionFile::owes)
    }

    /// What it is.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// The header: the first line of its file, without the line's end.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Its entries, as a tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether it was opened to be looked at ([`Access::Read`]): what is appended is in memory
    /// only, until a fork takes it over.
    pub fn is_looked_at(&self) -> bool {
        self.file.as_ref().is_some_and(SessionFile::is_looked_at)
    }

    /// Goes on from another entry of the tree, or from before the first; forgotten when nothing
    /// is appended after it. False when there is no entry of that id.
    pub fn go_to(&mut self, id: Option<&str>) -> bool {
        self.tree.move_leaf(id)
    }

    /// What the model is given.
    pub fn context(&self) -> SessionContext {
        self.tree.context()
    }

    /// The messages of the context as JSON, with the fields that other programs gave them.
    pub fn context_json(&self) -> Vec<serde_json::Value> {
        let json = |(id, message): &(Arc<str>, Arc<Message>)| {
            let entry = self.tree.get(id);
            entry.map_or_else(
                || serde_json::to_value(message).unwrap_or_default(),
                |entry| entry.message_json(message),
            )
        };
        self.tree.context_items().iter().map(json).collect()
    }

    /// Unreadable lines that were passed over in what was read of it.
    pub fn skipped_lines(&self) -> usize {
        self.skipped
    }

    /// Appends a message. It is in memory also when this fails; what could not be written is
    /// tried again with the next append.
    ///
    /// # Errors
    /// `Io` when it could not be written.
    pub fn append(&mut self, message: Arc<Message>) -> Result<(), SessionError> {
        let worth = match &*message {
            Message::User(_) | Message::Assistant(_) => Worth::File,
            _ => Worth::Waits,
        };
        self.add(Body::Message { message }, worth)
    }

    /// Appends an entry that is no message: a compaction, a label, an edit.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn append_body(&mut self, body: Body) -> Result<(), SessionError> {
        self.add(body, Worth::Waits)
    }

    /// Appends an entry beside the conversation, which stands where it stood: a label of another
    /// entry does not belong to the branch.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn append_aside(&mut self, body: Body) -> Result<(), SessionError> {
        let leaf = self.tree.leaf().map(|leaf| leaf.id.clone());
        let written = self.append_body(body);
        self.tree.move_leaf(leaf.as_deref());
        written
    }

    /// Appends a compaction; the id of its entry, and whether it was written. With no
    /// `first_kept` nothing of what stands before it is kept, and it names itself.
    pub fn append_compaction(
        &mut self,
        first_kept: Option<&str>,
        result: &CompactionResult,
    ) -> (String, Result<(), SessionError>) {
        self.take_foreign();
        let mut entry = self.grow(Body::SessionInfo { name: String::new() });
        entry.body = Body::Compaction {
            summary: result.summary.clone(),
            first_kept_entry_id: first_kept.unwrap_or(&entry.id).to_owned(),
            tokens_before: result.tokens_before,
            details: result.details.clone(),
            usage: result.usage.and_then(|usage| serde_json::to_value(usage).ok()),
        };
        let id = entry.id.to_string();
        (id, self.put(entry, Worth::Waits))
    }

    /// Notes the model that is now used, if it was another.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn set_model(&mut self, provider: &str, id: &str) -> Result<(), SessionError> {
        let model = (provider.to_owned(), id.to_owned());
        if self.tree.model().as_ref() == Some(&model) {
            return Ok(());
        }
        self.append_body(Body::ModelChange { provider: model.0, model_id: model.1 })
    }

    /// Notes the thinking level that is now set, if it was another.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn set_thinking(&mut self, level: ThinkingLevel) -> Result<(), SessionError> {
        if self.tree.thinking() == Some(level) {
            return Ok(());
        }
        self.append_body(Body::ThinkingLevelChange { thinking_level: level.name().to_owned() })
    }

    /// Names it, on one line; an empty name takes the name away.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn set_name(&mut self, name: &str) -> Result<(), SessionError> {
        let name: Vec<&str> = name.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let name = name.join(" ");
        // The last name may stand in what was not read, or be of another program.
        let known = [self.tree.name(), self.info.name.as_deref()];
        if known.iter().all(|known| known.unwrap_or_default() == name) {
            return Ok(());
        }
        self.info.name = Some(name.clone()).filter(|name| !name.is_empty());
        self.append_body(Body::SessionInfo { name })
    }

    /// Brings what was appended to disk (`fdatasync`). Call at the end of a turn.
    ///
    /// # Errors
    /// `Io`, also when lines wait that still cannot be written.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let result = file.flush();
        self.written(result)
    }

    fn add(&mut self, body: Body, worth: Worth) -> Result<(), SessionError> {
        self.take_foreign();
        let entry = self.grow(body);
        self.put(entry, worth)
    }

    /// A new entry below the leaf.
    fn grow(&self, body: Body) -> Entry {
        let mut entry = self.tree.grow(entry::now(), body);
        if self.earlier.is_some() {
            // Which short ids are taken is not known while a part of the file is unread.
            entry.id = crate::tools::ids::id().to_string().into();
        }
        entry
    }

    /// Another program may have appended: its entries make a branch beside ours.
    fn take_foreign(&mut self) {
        if let Some(file) = &mut self.file {
            let foreign = file.foreign();
            read::entries(&foreign).0.into_iter().for_each(|entry| self.tree.insert(entry));
        }
    }

    fn put(&mut self, entry: Entry, worth: Worth) -> Result<(), SessionError> {
        let line = entry.line();
        self.tree.push(entry);
        let Some(file) = &mut self.file else { return Ok(()) };
        let result = file.append(line, worth);
        self.written(result)
    }

    fn written(&mut self, result: std::io::Result<()>) -> Result<(), SessionError> {
        let Some(file) = &self.file else { return Ok(()) };
        let path = file.path();
        // It goes on elsewhere when another file was put in its place.
        if self.info.file.as_deref() != Some(path) {
            self.info.file = Some(path.to_owned());
        }
        result.map_err(|source| SessionError::Io { path: path.to_owned(), source })
    }
}

/// The tree of the entries of a file; the leaf is the last of them.
fn tree_of(header: &Header, entries: Vec<Entry>) -> Tree {
    let (model, thinking) = initial(header);
    let mut tree = Tree::default();
    tree.begin_with(model, thinking);
    entries.into_iter().for_each(|entry| tree.push(entry));
    tree
}

/// The model and the thinking level that a header names.
fn initial(header: &Header) -> (Option<(String, String)>, Option<ThinkingLevel>) {
    let model = header.provider.clone().zip(header.model_id.clone());
    (model, header.thinking_level.as_deref().and_then(ThinkingLevel::named))
}
