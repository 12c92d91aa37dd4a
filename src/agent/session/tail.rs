//! Opens a large session by reading only its end, as fast as a short one.
//!
//! The part before is surveyed later (`survey`), and read where the user scrolls (`history`). Everything the
//! model needs is read when something is sent (`paging`).

use std::io::{self, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::entry::{Body, Entry};
use super::file::{Access, OpenFile, SessionFile};
use super::header::{Form, Header};
use super::read::{self, Contents};
use super::unread::UnreadPart;
use super::{Session, SessionError};

/// The bytes at the end of a file that are read first; smaller files are read completely.
pub const TAIL: u64 = 512 * 1024;

impl Session {
    /// Like [`Session::open_as`], but only the end of a large file is read: the tree then begins with the
    /// first entry there, and [`Session::unread`] returns the missing part.
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

    /// Whether the loaded part is sufficient for the model's context: the path begins in it, or it has a
    /// compaction and everything that it kept.
    pub fn is_context_loaded(&self) -> bool {
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

/// The end of a file, and the header.
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
    /// Reads the end; `None` if the whole file must be read.
    fn read(file: &mut std::fs::File, tail: u64) -> io::Result<Option<Self>> {
        let len = file.metadata()?.len();
        let Some(from) = len.checked_sub(tail).filter(|from| *from > 0) else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(tail).unwrap_or_default()];
        file.read_exact_at(&mut bytes, from)?;
        let Some(first) = memchr::memchr(b'\n', &bytes) else { return Ok(None) };
        let skip = first.saturating_add(1);
        let unread = UnreadPart { end: from.saturating_add(skip as u64), is_surveyed: false, len };
        let Some((header, line)) = read::header_line(&mut BufReader::new(&*file))? else { return Ok(None) };
        if header.form() != Form::Current {
            return Ok(None);
        }
        let (entries, skipped) = read::entries(bytes.get(skip..).unwrap_or_default());
        if entries.is_empty() {
            return Ok(None);
        }
        Ok(Some(End { header, line, unread, entries, skipped, len, last: bytes.last().copied() }))
    }

    fn session(self, opened: OpenFile) -> Session {
        let file = opened.into_session_file(self.len, self.last);
        let contents = Contents { header: self.header, entries: self.entries, skipped: self.skipped };
        let mut session = Session::from_contents(file, contents, self.line.as_bytes());
        session.unread = Some(self.unread);
        session
    }
}
