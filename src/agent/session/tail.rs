//! Opens a large session at its end: what is shown first is there.
//!
//! The part before is looked at, not read: its name, model and level count, its messages are
//! counted. `back` reads the rest when somebody needs it, and most sessions that are this large
//! have a compaction in their last part, so that the model never does.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::entry::{Body, Entry};
use super::file::{Access, Opened, SessionFile};
use super::header::{Form, Header};
use super::read::{self, Contents};
use super::{Session, SessionError};

/// As much of the end of a file is read at first, in bytes; smaller files are read whole.
pub(crate) const TAIL: u64 = 4 * 1024 * 1024;
/// Longest line that is parsed while the part before is skipped, in bytes.
const SHORT: usize = 8 * 1024;
/// How the line of a message begins.
const MESSAGE: &[u8] = br#"{"type":"message","#;

/// What is known of the part of a file that has not been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnreadPart {
    /// Messages of people and models in it.
    pub messages: u64,
    /// Where it ends and what has been read begins, in bytes.
    pub(super) end: u64,
    name: Option<String>,
    model: Option<(String, String)>,
    thinking: Option<String>,
}

impl Session {
    /// As [`Session::open_as`], but of a large file only the end is read: the tree then begins
    /// with the first entry there, and [`Session::unread`] says what is missing.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_tail(path: &Path, access: Access, tail: u64) -> Result<Self, SessionError> {
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        let mut opened = SessionFile::open(path, access)?;
        let end = End::read(&mut opened.file, tail).map_err(failed)?;
        match end {
            Some(end) => Ok(end.session(opened)),
            None => {
                let bytes = opened.whole()?;
                Self::read(path, opened, &bytes, access)
            }
        }
    }

    /// What has not been read of the file; `None` when all has been.
    pub fn unread(&self) -> Option<&UnreadPart> {
        self.unread.as_ref()
    }

    /// Whether the model's context can be made of what has been read: the path begins here, or a
    /// compaction and all that it kept are here.
    pub fn context_is_loaded(&self) -> bool {
        let path = self.tree.branch();
        let Some(_) = &self.unread else { return true };
        let whole = path.first().is_some_and(|first| first.parent.is_none());
        let compaction = path.iter().rposition(|entry| matches!(entry.body, Body::Compaction { .. }));
        let kept = compaction.and_then(|at| Some((path.get(at)?, path.get(..at)?)));
        whole
            || kept.is_some_and(|(entry, before)| match &entry.body {
                Body::Compaction { first_kept_entry_id: first, .. } => {
                    first.is_empty()
                        || **first == *entry.id
                        || before.iter().any(|entry| *entry.id == **first)
                }
                _ => false,
            })
    }
}

/// The end of a file and what was seen before it.
struct End {
    header: Header,
    line: Box<str>,
    unread: UnreadPart,
    entries: Vec<Entry>,
    skipped: usize,
    len: u64,
    last: Option<u8>,
}

impl End {
    /// Reads the end; `None` when the whole file has to be read.
    fn read(file: &mut std::fs::File, tail: u64) -> io::Result<Option<Self>> {
        let len = file.metadata()?.len();
        let Some(from) = len.checked_sub(tail).filter(|from| *from > 0) else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(tail).unwrap_or_default()];
        file.read_exact_at(&mut bytes, from)?;
        let Some(first) = memchr::memchr(b'\n', &bytes) else { return Ok(None) };
        let skip = first.saturating_add(1);
        let end = bytes.get(skip..).unwrap_or_default();
        let before = from.saturating_add(skip as u64);
        let mut reader = BufReader::with_capacity(1024 * 1024, (&*file).take(before));
        let Some((header, line)) = header(&mut reader)? else { return Ok(None) };
        if header.form() != Form::Current {
            return Ok(None);
        }
        // Passing over a long part takes as long as reading the end, so both at once.
        let (unread, (entries, skipped)) = std::thread::scope(|scope| {
            let unread = scope.spawn(|| UnreadPart::look(&mut reader));
            let entries = read::entries(end);
            (unread.join(), entries)
        });
        let gone = |_| io::Error::other("the earlier part could not be read");
        let unread = UnreadPart { end: before, ..unread.map_err(gone)?? };
        if entries.is_empty() {
            return Ok(None);
        }
        Ok(Some(End { header, line, unread, entries, skipped, len, last: bytes.last().copied() }))
    }

    fn session(self, opened: Opened) -> Session {
        let file = opened.done(self.len, self.last);
        let mut header = self.header.clone();
        if let Some((provider, model)) = self.unread.model.clone() {
            (header.provider, header.model_id) = (Some(provider), Some(model));
        }
        header.thinking_level = self.unread.thinking.clone().or(header.thinking_level);
        let contents = Contents { header, entries: self.entries, skipped: self.skipped };
        let mut session = Session::opened(file, contents, self.line.as_bytes());
        let named = session.tree.entries().iter().any(|entry| matches!(entry.body, Body::SessionInfo { .. }));
        if !named {
            session.info.name.clone_from(&self.unread.name);
        }
        session.unread = Some(self.unread);
        session
    }
}

/// The header and its line.
pub(super) fn header(reader: &mut impl BufRead) -> io::Result<Option<(Header, Box<str>)>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = reader.by_ref().take(read::HEADER_LIMIT);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let bare = read::bare(&line);
        if serde_json::from_slice::<serde::de::IgnoredAny>(bare).is_ok() {
            return Ok(Header::parse(bare).map(|header| (header, String::from_utf8_lossy(bare).into())));
        }
    }
}

/// Whether a line is a message of the user or of the model.
pub(super) fn is_conversation_message(line: &[u8]) -> bool {
    line.starts_with(MESSAGE) && super::list::is_conversation(line)
}

impl UnreadPart {
    /// Passes over the lines of `reader`.
    fn look(reader: &mut impl BufRead) -> io::Result<Self> {
        let mut unread = UnreadPart::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                return Ok(unread);
            }
            unread.note(&line);
        }
    }

    fn note(&mut self, line: &[u8]) {
        if line.starts_with(MESSAGE) {
            self.messages = self.messages.saturating_add(u64::from(is_conversation_message(line)));
            return;
        }
        if line.len() > SHORT {
            return;
        }
        let entry = std::str::from_utf8(line).ok().and_then(Entry::parse);
        match entry.map(|entry| entry.body) {
            Some(Body::SessionInfo { name }) => self.name = Some(name).filter(|name| !name.is_empty()),
            Some(Body::ModelChange { provider, model_id }) => self.model = Some((provider, model_id)),
            Some(Body::ThinkingLevelChange { thinking_level }) => self.thinking = Some(thinking_level),
            _ => {}
        }
    }
}
