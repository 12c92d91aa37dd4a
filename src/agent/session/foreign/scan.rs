//! Reads the beginning and the end of files, without the rest.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::session::read::{bare, lines};
use crate::settings::private_files::open_regular;

/// The size limit of another agent's session, in bytes.
pub(super) const LARGEST: u64 = 512 * 1024 * 1024;
/// The bytes at the beginning that are scanned: the instructions that come first can be long.
const HEAD: u64 = 1024 * 1024;
/// The number of bytes read at once.
const PIECE: usize = 16 * 1024;

/// Passes the first lines that are not blank to `take`, until it returns false.
pub(super) fn head(file: &mut File, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(PIECE, file.take(HEAD));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let line = bare(&line);
        if !line.is_empty() && !take(line) {
            return Ok(());
        }
    }
}

/// The last complete lines of a file: at most `most` bytes.
pub(super) fn end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    end_of(&mut file, most)
}

/// Like [`end`], for an open file.
pub(super) fn end_of(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let from = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if from > 0 {
        let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at.saturating_add(1));
        bytes.drain(..first);
    }
    Ok(bytes)
}

/// Passes each line that is a JSON object to `take`; returns the number of other lines.
pub(super) fn objects(bytes: &[u8], mut take: impl FnMut(&Value)) -> usize {
    let mut torn: usize = 0;
    for line in lines(bytes) {
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.is_object() => take(&value),
            _ => torn = torn.saturating_add(1),
        }
    }
    torn
}
