//! Reads back through a large session whose end was read first: the piece before what is known,
//! then the one before that.
//!
//! [`Session::page_before`] says what is to be read, [`PageRead::read`] reads it wherever the caller has
//! time, [`Session::take`] puts it in its place. A piece ends where the known part begins and
//! begins with a whole line, so nothing is read twice and no line is cut.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::entry::Entry;
use super::header::Header;
use super::open::initial;
use super::read::{self, Contents};
use super::tree::Tree;
use super::{Session, SessionError, tail};

/// What is to be read next, going back.
#[derive(Debug)]
pub struct PageRead {
    path: PathBuf,
    /// The first line of the file, by which it is known again.
    header: Box<str>,
    /// Where the known part begins.
    end: u64,
    size: u64,
}

/// A piece that was read.
#[derive(Debug)]
pub struct FilePage {
    begin: u64,
    end: u64,
    entries: Vec<Entry>,
    skipped: usize,
    /// Messages of people and models in it.
    messages: u64,
    /// The header, of the piece with which the file begins.
    header: Option<Header>,
}

impl Session {
    /// The next page to be read, of about `size` bytes: more when a line is longer. `None` when all
    /// has been read.
    pub fn page_before(&self, size: u64) -> Option<PageRead> {
        let (unread, path) = (self.unread.as_ref()?, self.info.file.clone()?);
        Some(PageRead { path, header: self.header.clone(), end: unread.end, size: size.max(1) })
    }

    /// Adds a page. The current entry stays the same. False when something else was
    /// read since the step was made, or all: what is known then stays as it is.
    pub fn add_page(&mut self, page: FilePage) -> bool {
        let Some(unread) = self.unread.as_mut().filter(|unread| unread.end == page.end) else {
            return false;
        };
        unread.end = page.begin;
        unread.messages = unread.messages.saturating_sub(page.messages);
        self.skipped = self.skipped.saturating_add(page.skipped);
        self.tree.put_before(page.entries);
        if let Some(header) = page.header {
            self.unread = None;
            let (model, thinking) = initial(&header);
            self.tree.begin_with(model, thinking);
        }
        true
    }

    /// The whole tree, for code that needs every entry. Reads what has not been read yet; the
    /// current entry stays the same.
    ///
    /// # Errors
    /// As [`PageRead::read`]; what was known stays.
    pub fn whole(&mut self) -> Result<&Tree, SessionError> {
        if let Some(unread) = self.page_before(u64::MAX) {
            let page = unread.read()?;
            self.add_page(page);
        }
        Ok(&self.tree)
    }

    /// Whether the path to the current entry begins in the part that has not been read.
    pub(crate) fn path_is_cut(&self) -> bool {
        let root = || self.tree.branch().first().is_some_and(|first| first.parent.is_none());
        self.unread.is_some() && !root()
    }
}

impl PageRead {
    /// Reads it. Blocks.
    ///
    /// # Errors
    /// `Io` when the file cannot be read any more or is another one by now.
    pub fn read(self) -> Result<FilePage, SessionError> {
        self.piece().map_err(|source| SessionError::Io { path: self.path, source })
    }

    fn piece(&self) -> io::Result<FilePage> {
        let file = crate::agent::settings::private_files::open_regular(&self.path)?;
        let mut reader = BufReader::new(&file);
        if tail::header(&mut reader)?.is_none_or(|(_, line)| line != self.header) {
            return Err(changed());
        }
        let mut size = self.size;
        loop {
            let begin = self.end.saturating_sub(size);
            let bytes = self.bytes(&file, begin)?;
            if begin == 0 {
                return self.first(&bytes);
            }
            let line = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at.saturating_add(1));
            let lines = bytes.get(line..).unwrap_or_default();
            if !lines.is_empty() {
                return Ok(self.middle(begin.saturating_add(line as u64), lines));
            }
            // A line that is longer than the piece.
            size = size.saturating_mul(2);
        }
    }

    /// The bytes from `begin` up to what is known.
    fn bytes(&self, file: &File, begin: u64) -> io::Result<Vec<u8>> {
        let len = usize::try_from(self.end.saturating_sub(begin)).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, begin).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(),
            _ => error,
        })?;
        if bytes.last() == Some(&b'\n') { Ok(bytes) } else { Err(changed()) }
    }

    /// The piece with which the file begins.
    fn first(&self, bytes: &[u8]) -> io::Result<FilePage> {
        let Contents { header, entries, skipped } = read::contents(bytes).ok_or_else(changed)?;
        Ok(FilePage { begin: 0, end: self.end, entries, skipped, messages: 0, header: Some(header) })
    }

    fn middle(&self, begin: u64, bytes: &[u8]) -> FilePage {
        let (entries, skipped) = read::entries(bytes);
        let messages =
            bytes.split(|byte| *byte == b'\n').filter(|line| tail::is_conversation_message(line)).count()
                as u64;
        FilePage { begin, end: self.end, entries, skipped, messages, header: None }
    }
}

fn changed() -> io::Error {
    io::Error::other("the file has changed since it was opened")
}
