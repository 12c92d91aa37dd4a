//! The unread part of a large session file, which is read on separate threads.

use std::io::{self, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{Session, read};
use crate::settings::private_files::open_regular;

/// The number of bytes read at once; more if a line is longer.
const CHUNK: usize = 1024 * 1024;

/// The unread part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadPart {
    /// Its end in bytes, where the part that was read begins.
    pub(super) end: u64,
    /// Whether it was surveyed: the name, model and level in it are known.
    pub(super) is_surveyed: bool,
    /// The size of the file when it was opened, in bytes.
    pub(super) len: u64,
}

/// The unread part as something to be read: from the start of the file.
#[derive(Clone, Debug)]
pub(crate) struct UnreadFile {
    pub(super) path: PathBuf,
    /// The first line of the file, by which it is recognized again.
    header: Box<str>,
    pub(super) end: u64,
}

impl Session {
    /// The unread part of the file; `None` if everything has been read.
    pub fn unread(&self) -> Option<&UnreadPart> {
        self.unread.as_ref()
    }

    /// Its size relative to the part that was read.
    pub(crate) fn unread_share(&self) -> f64 {
        let share =
            |unread: &UnreadPart| unread.end as f64 / unread.len.saturating_sub(unread.end).max(1) as f64;
        self.unread.as_ref().map_or(0.0, share)
    }

    /// The unread part for reading; `None` if everything has been read.
    pub(crate) fn unread_file(&self) -> Option<UnreadFile> {
        let (unread, path) = (self.unread.as_ref()?, self.info.file.clone()?);
        Some(UnreadFile { path, header: self.header.clone(), end: unread.end })
    }
}

impl UnreadFile {
    /// The file, if it is still the one that was opened.
    pub(super) fn open(&self) -> io::Result<std::fs::File> {
        let file = open_regular(&self.path)?;
        match read::header_line(&mut BufReader::new(&file))? {
            Some((_, line)) if line == self.header => Ok(file),
            _ => Err(file_changed_error()),
        }
    }

    /// Passes every line without its end, and its offset, to `take`.
    pub(super) fn lines(&self, mut take: impl FnMut(u64, &[u8])) -> io::Result<()> {
        let file = self.open()?;
        let mut buffer = vec![0; CHUNK];
        // The buffer begins at offset `begin`; its first `kept` bytes are a line without its end.
        let (mut begin, mut kept) = (0_u64, 0_usize);
        loop {
            let left = self.end.saturating_sub(begin.saturating_add(kept as u64));
            if left == 0 {
                return Ok(());
            }
            if kept == buffer.len() {
                buffer.resize(kept.saturating_mul(2), 0);
            }
            let room = buffer.len().saturating_sub(kept) as u64;
            let filled = kept.saturating_add(left.min(room) as usize);
            let new = buffer.get_mut(kept..filled).unwrap_or_default();
            read_exact(&file, new, begin.saturating_add(kept as u64))?;
            let mut start = 0;
            for at in memchr::memchr_iter(b'\n', buffer.get(kept..filled).unwrap_or_default()) {
                let end = kept.saturating_add(at);
                take(begin.saturating_add(start as u64), buffer.get(start..end).unwrap_or_default());
                start = end.saturating_add(1);
            }
            buffer.copy_within(start..filled, 0);
            (begin, kept) = (begin.saturating_add(start as u64), filled.saturating_sub(start));
        }
    }
}

/// Fills `bytes` from an offset that existed when the file was opened.
pub(super) fn read_exact(file: &std::fs::File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => file_changed_error(),
        _ => error,
    })
}

/// The error for a file that changed between two reads.
pub(super) fn file_changed_error() -> io::Error {
    io::Error::other("the file has changed since it was opened")
}
