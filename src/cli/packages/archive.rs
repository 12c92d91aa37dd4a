//! Reads archives, tar and zip: bytes in, files out. Links and special files are left out.
//!
//! Everything is bounded by the size of a package, also what is compressed. Sources: POSIX.1-2017 pax and ustar,
//! PKWARE's APPNOTE.

use std::io::Read;

use flate2::Crc;
use flate2::read::{DeflateDecoder, GzDecoder};
use lzma_rust2::XzReader;
use tau_agent::extensions::packages::digest::{MAX_ENTRIES, MAX_SIZE};
use tau_agent::extensions::packages::layout::inside;
use tau_tools::user_error::UserError;

/// The size of a block of tar.
const BLOCK: usize = 512;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unpacked {
    /// Relative, without `..`.
    pub path: String,
    pub bytes: Vec<u8>,
    pub is_executable: bool,
}

/// The files of an archive in any known format.
pub(super) fn unpack(archive: &[u8]) -> Result<Files, UserError> {
    match archive {
        [0x1f, 0x8b, ..] => tar(&whole(GzDecoder::new(archive))?),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => tar(&whole(XzReader::new(archive, false))?),
        [b'P', b'K', ..] => zip(archive),
        _ => tar(archive),
    }
}

fn whole(reader: impl Read) -> Result<Vec<u8>, UserError> {
    let mut bytes = Vec::new();
    // Some room for the heads of the files.
    let most = MAX_SIZE + 4 * 1024 * 1024;
    reader
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the archive is damaged: {error}"))?;
    if bytes.len() as u64 > most { Err(too_large().into()) } else { Ok(bytes) }
}

fn too_large() -> String {
    format!("the archive holds more than {} MB", MAX_SIZE / 1024 / 1024)
}

fn damaged() -> String {
    "the archive is damaged".to_owned()
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    pub files: Vec<Unpacked>,
    /// The number of links that were left out.
    pub links: usize,
    size: u64,
}

impl Files {
    fn add(&mut self, path: &str, bytes: Vec<u8>, is_executable: bool) -> Result<(), UserError> {
        let path = inside(path).ok_or_else(|| format!("the archive has a file {path}, outside of itself"))?;
        self.size = self.size.saturating_add(bytes.len() as u64);
        if self.size > MAX_SIZE {
            return Err(too_large().into());
        }
        if self.files.len() >= MAX_ENTRIES {
            return Err(format!("the archive has more than {MAX_ENTRIES} files").into());
        }
        if !path.is_empty() {
            self.files.push(Unpacked { path, bytes, is_executable });
        }
        Ok(())
    }
}

fn tar(bytes: &[u8]) -> Result<Files, UserError> {
    let mut found = Files::default();
    // The path of the next file, where it does not fit in its head.
    let mut long: Option<String> = None;
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + BLOCK) {
        if head.iter().all(|byte| *byte == 0) {
            return Ok(found);
        }
        let sum: u64 = head
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
            .sum();
        if octal(head, 148, 8) != Some(sum) {
            return Err(damaged().into());
        }
        let size = octal(head, 124, 12).and_then(|size| usize::try_from(size).ok()).ok_or_else(damaged)?;
        let start = at + BLOCK;
        let end = start.checked_add(size).ok_or_else(damaged)?;
        let content = bytes.get(start..end).ok_or_else(damaged)?;
        let kind = head.get(156).copied().unwrap_or_default();
        match kind {
            b'L' => long = Some(text(content)),
            b'x' => long = pax_path(content).or(long),
            b'0' | 0 | b'7' => {
                let name = long.take().unwrap_or_else(|| name(head));
                let is_executable = octal(head, 100, 8).is_some_and(|mode| mode & 0o111 != 0);
                // Old archives mark folders by their names.
                if !name.ends_with('/') {
                    found.add(&name, content.to_vec(), is_executable)?;
                }
            }
            b'g' => {}
            b'1' | b'2' => (found.links, long) = (found.links + 1, None),
            _ => long = None,
        }
        at = start.checked_add(size.next_multiple_of(BLOCK)).ok_or_else(damaged)?;
    }
    // Without an end, the rest may be missing.
    Err(damaged().into())
}

/// The number in a field: octal digits, then blanks or zero bytes.
fn octal(head: &[u8], at: usize, length: usize) -> Option<u64> {
    let field = text(head.get(at..at + length)?);
    u64::from_str_radix(field.trim(), 8).ok()
}

/// The text up to a zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn name(head: &[u8]) -> String {
    let name = text(head.get(..100).unwrap_or_default());
    let is_ustar = head.get(257..262) == Some(b"ustar");
    let prefix = if is_ustar { text(head.get(345..500).unwrap_or_default()) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// The path in extended headers: lines of a length, a name and a value.
fn pax_path(mut content: &[u8]) -> Option<String> {
    while let Some(blank) = content.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(content.get(..blank)?).ok()?.parse().ok()?;
        let line = content.get(blank + 1..length)?;
        if let Some(path) = line.strip_prefix(b"path=") {
            return Some(String::from_utf8_lossy(path.strip_suffix(b"\n")?).into_owned());
        }
        content = content.get(length..)?;
    }
    None
}

fn zip(bytes: &[u8]) -> Result<Files, UserError> {
    let two = |at: usize| Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let four = |at: usize| usize::try_from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)).ok();
    // The end of the directory is followed by a comment of at most 64 KB.
    let from = bytes.len().saturating_sub(22 + 65_536);
    let end =
        (from..bytes.len().saturating_sub(21)).rev().find(|at| bytes.get(*at..at + 4) == Some(b"PK\x05\x06"));
    let end = end.ok_or_else(damaged)?;
    let (count, mut at) = (two(end + 10).ok_or_else(damaged)?, four(end + 16).ok_or_else(damaged)?);
    let mut found = Files::default();
    for _ in 0..count {
        if bytes.get(at..at.saturating_add(4)) != Some(b"PK\x01\x02") {
            return Err(damaged().into());
        }
        let field = |offset: usize| two(at + offset).ok_or_else(damaged);
        let (flags, method) = (field(8)?, field(10)?);
        let (names, extras, comments) = (field(28)?, field(30)?, field(32)?);
        let sum = four(at + 16).ok_or_else(damaged)?;
        let packed = four(at + 20).ok_or_else(damaged)?;
        let mode = four(at + 38).unwrap_or_default() >> 16;
        let local = four(at + 42).ok_or_else(damaged)?;
        let name = bytes.get(at + 46..at + 46 + names).ok_or_else(damaged)?;
        let name = String::from_utf8_lossy(name).into_owned();
        at += 46 + names + extras + comments;
        let is_link = mode & 0o170_000 == 0o120_000;
        found.links += usize::from(is_link);
        if name.ends_with('/') || is_link {
            continue;
        }
        if flags & 1 != 0 {
            return Err("the archive is encrypted".into());
        }
        // The lengths in the file's own head may be others.
        let start = local
            .checked_add(30)
            .and_then(|head| {
                head.checked_add(two(local.checked_add(26)?)?)?.checked_add(two(local.checked_add(28)?)?)
            })
            .ok_or_else(damaged)?;
        let content = start.checked_add(packed).and_then(|end| bytes.get(start..end)).ok_or_else(damaged)?;
        let content = match method {
            0 => content.to_vec(),
            8 => whole(DeflateDecoder::new(content))?,
            _ => return Err(format!("the archive compresses {name} in a way that tau does not know").into()),
        };
        let mut crc = Crc::new();
        crc.update(&content);
        if usize::try_from(crc.sum()) != Ok(sum) {
            return Err(damaged().into());
        }
        found.add(&name.replace('\\', "/"), content, mode & 0o111 != 0)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut head = vec![0; BLOCK];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[100..107].copy_from_slice(b"0000755");
        head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        head[156] = kind;
        head[257..262].copy_from_slice(b"ustar");
        let sum: u64 = head.iter().map(|byte| u64::from(*byte)).sum::<u64>() + 8 * 32;
        head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        head.extend_from_slice(content);
        head.resize(head.len().next_multiple_of(BLOCK), 0);
        head
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        [entries.concat(), vec![0; 2 * BLOCK]].concat()
    }

    fn paths(files: &[Unpacked]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn a_tar_has_files_with_long_names_and_no_links() {
        let long = "d/".repeat(80) + "x";
        let pax = format!("{} path={long}\n", long.len() + 10);
        let tar = archive(&[
            entry("./a", b'0', b"one"),
            entry("b/", b'5', b""),
            entry("ignored", b'x', pax.as_bytes()),
            entry("short", b'0', b"two"),
            entry("link", b'2', b""),
        ]);
        let found = unpack(&tar).unwrap();
        let files = &found.files;
        assert_eq!((paths(files), found.links), (vec!["a", long.as_str()], 1));
        assert!(files[0].is_executable && files[1].bytes == b"two");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&tar).unwrap();
        assert_eq!(unpack(&gz.finish().unwrap()).unwrap(), found);
        assert!(unpack(&archive(&[entry("../a", b'0', b"x")])).unwrap_err().contains("outside"));
        assert!(unpack(&archive(&[entry("/etc/x", b'0', b"x")])).unwrap_err().contains("outside"));
        // Cut or changed anywhere, it is an error or another content, never a panic.
        for cut in 0..tar.len() {
            let _ = unpack(&tar[..cut]);
        }
        for at in (0..tar.len()).step_by(3) {
            let mut bad = tar.clone();
            bad[at] ^= 0x5a;
            let _ = unpack(&bad);
        }
        assert!(unpack(&tar[..tar.len() - 2 * BLOCK]).is_err() && unpack(b"PK").is_err());
    }

    /// A zip with one file, compressed or not.
    fn zipped(name: &str, content: &[u8], method: u16, mode: u32) -> Vec<u8> {
        let mut packed = content.to_vec();
        if method == 8 {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content).unwrap();
            packed = encoder.finish().unwrap();
        }
        let length = u16::try_from(name.len()).unwrap();
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend_from_slice(&[0; 22]);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&packed);
        let directory = u32::try_from(bytes.len()).unwrap();
        bytes.extend_from_slice(b"PK\x01\x02\0\0\0\0\0\0");
        bytes.extend_from_slice(&method.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let mut crc = Crc::new();
        crc.update(content);
        bytes.extend_from_slice(&crc.sum().to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(packed.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&(mode << 16).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0\0\0\0\0");
        bytes.extend_from_slice(&directory.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes
    }

    #[test]
    fn a_zip_is_read_from_its_directory() {
        for method in [0, 8] {
            let zip = zipped("a/b", b"some text, some text, some text", method, 0o100_755);
            let files = unpack(&zip).unwrap().files;
            assert_eq!((paths(&files), files[0].is_executable), (vec!["a/b"], true));
            assert_eq!(files[0].bytes, b"some text, some text, some text");
            for cut in 0..zip.len() {
                let _ = unpack(&zip[..cut]);
            }
            for at in 2..zip.len() {
                let mut bad = zip.clone();
                bad[at] ^= 0xff;
                let _ = unpack(&bad);
            }
        }
        let linked = unpack(&zipped("link", b"/etc/passwd", 0, 0o120_777)).unwrap();
        assert_eq!((linked.files, linked.links), (Vec::new(), 1));
        let mut other = zipped("a", b"some text", 0, 0);
        let at = other.windows(4).position(|part| part == b"some").unwrap();
        other[at] = b'S';
        assert_eq!(unpack(&other).unwrap_err().to_string(), "the archive is damaged");
        assert!(unpack(&zipped("../x", b"x", 0, 0)).unwrap_err().contains("outside"));
    }
}
