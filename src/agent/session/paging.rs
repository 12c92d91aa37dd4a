//! Reads backwards through a large session of which only the end was read.
//!
//! The pages are kept: for code that needs every entry, and for the model's context.
//!
//! [`Session::page_before`] determines the next part, [`PageRead::read`] reads it where the caller has time,
//! [`Session::add_page`] inserts it. A part ends where the known part begins and begins with a complete line, so
//! nothing is read twice and no line is cut.

use std::fs::File;
use std::io;

use super::entry::Entry;
use super::header::Header;
use super::open::initial;
use super::read::{self, Contents};
use super::tree::Tree;
use super::unread::{UnreadFile, file_changed_error, read_exact};
use super::{Session, SessionError};

/// The size that is read first if the context begins earlier, in bytes.
const CONTEXT_PIECE: u64 = 1024 * 1024;

/// The next part to be read, going back.
#[derive(Debug)]
pub struct PageRead {
    /// The known part begins where it ends.
    file: UnreadFile,
    size: u64,
}

/// A part that was read.
#[derive(Debug)]
pub struct FilePage {
    begin: u64,
    end: u64,
    entries: Vec<Entry>,
    skipped: usize,
    /// The header, if the part is the beginning of the file.
    header: Option<Header>,
}

impl Session {
    /// The next page to be read, of about `size` bytes: more if a line is longer. `None` if everything has
    /// been read.
    pub fn page_before(&self, size: u64) -> Option<PageRead> {
        Some(PageRead { file: self.unread_file()?, size: size.max(1) })
    }

    /// Adds a page. The current entry stays the same. Returns false if something else was read since the
    /// request was made, or everything: nothing changes then.
    pub fn add_page(&mut self, page: FilePage) -> bool {
        let Some(unread) = self.unread.as_mut().filter(|unread| unread.end == page.end) else {
            return false;
        };
        unread.end = page.begin;
        self.skipped = self.skipped.saturating_add(page.skipped);
        self.tree.put_before(page.entries);
        if let Some(header) = page.header {
            self.unread = None;
            self.info.name = self.tree.name().map(str::to_owned);
            let (model, thinking) = initial(&header);
            self.tree.begin_with(model, thinking);
        }
        true
    }

    /// The whole tree, for code that needs every entry. Reads the unread part; the current entry stays the
    /// same. Fails like [`PageRead::read`]; known entries stay.
    pub fn whole(&mut self) -> Result<&Tree, SessionError> {
        if let Some(unread) = self.page_before(u64::MAX) {
            let page = unread.read()?;
            self.add_page(page);
        }
        Ok(&self.tree)
    }

    /// Reads as much as the model's context needs, and no more. Fails like [`PageRead::read`]; known entries
    /// stay.
    pub(crate) fn load_context(&mut self) -> Result<(), SessionError> {
        let mut size = CONTEXT_PIECE;
        while !self.is_context_loaded()
            && let Some(unread) = self.page_before(size)
        {
            let page = unread.read()?;
            self.add_page(page);
            size = size.saturating_mul(2);
        }
        Ok(())
    }

    /// Whether the path to the current entry begins in the unread part.
    pub(crate) fn path_is_cut(&self) -> bool {
        let root = || self.tree.branch().first().is_some_and(|first| first.parent.is_none());
        self.unread.is_some() && !root()
    }
}

impl PageRead {
    /// Reads it. Blocks. Fails with `Io` when the file can no longer be read or has been replaced.
    pub fn read(self) -> Result<FilePage, SessionError> {
        self.piece().map_err(|source| SessionError::Io { path: self.file.path, source })
    }

    fn piece(&self) -> io::Result<FilePage> {
        let file = self.file.open()?;
        let mut size = self.size;
        loop {
            let begin = self.file.end.saturating_sub(size);
            let bytes = self.bytes(&file, begin)?;
            if begin == 0 {
                return self.first(&bytes);
            }
            let line = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at.saturating_add(1));
            let lines = bytes.get(line..).unwrap_or_default();
            if !lines.is_empty() {
                return Ok(self.middle(begin.saturating_add(line as u64), lines));
            }
            // A line is longer than the part.
            size = size.saturating_mul(2);
        }
    }

    /// The bytes from `begin` to the known part.
    fn bytes(&self, file: &File, begin: u64) -> io::Result<Vec<u8>> {
        let len = usize::try_from(self.file.end.saturating_sub(begin)).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        read_exact(file, &mut bytes, begin)?;
        if bytes.last() == Some(&b'\n') { Ok(bytes) } else { Err(file_changed_error()) }
    }

    /// The part at the beginning of the file.
    fn first(&self, bytes: &[u8]) -> io::Result<FilePage> {
        let Contents { header, entries, skipped } = read::contents(bytes).ok_or_else(file_changed_error)?;
        Ok(FilePage { begin: 0, end: self.file.end, entries, skipped, header: Some(header) })
    }

    fn middle(&self, begin: u64, bytes: &[u8]) -> FilePage {
        let (entries, skipped) = read::entries(bytes);
        FilePage { begin, end: self.file.end, entries, skipped, header: None }
    }
}
