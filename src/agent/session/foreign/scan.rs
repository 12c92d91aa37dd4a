//! Reads the beginning and the end of files, without the rest.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;

use crate::session::read::{bare, lines};
use crate::session::surrogates::{repair, repair_json};
use crate::settings::private_files::open_regular;
use tau_tools::regular_files::read_capped;

/// The size limit of another agent's session, in bytes.
pub(super) const LARGEST: u64 = 512 * 1024 * 1024;
/// The bytes at the beginning in which scanned lines begin: the instructions that come first can be long.
const HEAD: u64 = 1024 * 1024;
/// The size limit of one of these lines, in bytes: a prompt can have pictures.
const LINE: u64 = 64 * 1024 * 1024;
/// The number of bytes read at once.
const PIECE: usize = 16 * 1024;

/// Whether a file is compressed, as Codex does with its older sessions.
pub(super) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "zst")
}

/// The content of a file, uncompressed: as far as it goes, if the rest is damaged or missing, which then is one more
/// unreadable line. Fails with errors of the file system, if nothing can be read, and if it is too large.
pub(super) fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let packed = read_capped(path, LARGEST)?;
    if !is_packed(path) {
        return Ok(packed);
    }
    let mut bytes = Vec::new();
    let reader = StreamingDecoder::new(packed.as_slice()).map_err(|_| damage_error())?;
    if reader.take(LARGEST.saturating_add(1)).read_to_end(&mut bytes).is_err() {
        match bytes.last() {
            None => return Err(damage_error()),
            Some(b'\n') => bytes.push(b'{'),
            Some(_) => {}
        }
    }
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the session is too large"));
    }
    Ok(bytes)
}

fn damage_error() -> io::Error {
    io::Error::other("it is damaged, or was not written to its end")
}

/// Like [`head`], for the file at a path.
pub(super) fn head_of(path: &Path, take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    if is_packed(path) {
        head(&mut whole(path)?.as_slice(), take)
    } else {
        head(&mut open_regular(path)?, take)
    }
}

/// Passes the first lines that are not blank to `take`, until it returns false.
pub(super) fn head(file: &mut impl Read, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(PIECE, file);
    let (mut line, mut scanned) = (Vec::new(), 0_u64);
    while scanned < HEAD {
        line.clear();
        let read = reader.by_ref().take(LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        scanned = scanned.saturating_add(read as u64);
        repair(&mut line);
        let line = bare(&line);
        if !line.is_empty() && !take(line) {
            return Ok(());
        }
    }
    Ok(())
}

/// The last complete lines of a file: at most `most` bytes.
pub(super) fn end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    match is_packed(path) {
        true => end_of(&mut Cursor::new(whole(path)?), most),
        false => end_of(&mut open_regular(path)?, most),
    }
}

/// Like [`end`], for an open file.
pub(super) fn end_of(file: &mut (impl Read + Seek), most: u64) -> io::Result<Vec<u8>> {
    let from = file.seek(SeekFrom::End(0))?.saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if from > 0 {
        let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at.saturating_add(1));
        bytes.drain(..first);
    }
    repair(&mut bytes);
    Ok(bytes)
}

/// Passes each line that is a JSON object to `take`; returns the number of other lines.
pub(super) fn objects(bytes: &[u8], mut take: impl FnMut(&Value)) -> usize {
    let mut torn: usize = 0;
    for line in lines(bytes) {
        // Most agents are written in JavaScript.
        let line = std::str::from_utf8(line).map(repair_json);
        match line.map(|line| serde_json::from_str::<Value>(&line)) {
            Ok(Ok(value)) if value.is_object() => take(&value),
            _ => torn = torn.saturating_add(1),
        }
    }
    torn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_file_is_read_as_far_as_it_goes() {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        let line = |n: u64| format!("{{\"n\":{}}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text: String = (0..50_000).map(line).collect();
        let packed = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl.zst");
        let written = |size: usize| {
            std::fs::write(&path, packed.get(..size).unwrap()).unwrap();
            whole(&path)
        };
        assert_eq!(written(packed.len()).unwrap(), text.as_bytes());
        let half = written(packed.len() / 2).unwrap();
        assert!(
            text.as_bytes().starts_with(half.strip_suffix(b"{").unwrap_or(&half)) && half.len() > 100_000
        );
        assert_eq!(objects(&half, |_| {}), 1, "what is missing is said");
        for size in [3, 20] {
            assert_eq!(
                written(size).unwrap_err().to_string(),
                "it is damaged, or was not written to its end"
            );
        }
    }
}
