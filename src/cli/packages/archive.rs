//! Reads archives, tar and zip: bytes in, files out. Links and special files are left out.
//!
//! Everything is bounded by the size of a package, also what is compressed.

use std::io::{Cursor, Read};

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use tau_agent::extensions::packages::digest::{MAX_ENTRIES, MAX_SIZE};
use tau_agent::extensions::packages::layout::inside;
use tau_tools::user_error::UserError;
use zip::CompressionMethod;

/// The size of a block of tar.
const BLOCK: u64 = 512;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveFile {
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

fn damage_message() -> String {
    "the archive is damaged".to_owned()
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    pub files: Vec<ArchiveFile>,
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
            self.files.push(ArchiveFile { path, bytes, is_executable });
        }
        Ok(())
    }
}

fn tar(bytes: &[u8]) -> Result<Files, UserError> {
    let mut end = 0;
    let mut found = Files::default();
    for entry in tar::Archive::new(bytes).entries().map_err(|_| damage_message())? {
        let mut entry = entry.map_err(|_| damage_message())?;
        let size = entry.size().checked_next_multiple_of(BLOCK);
        end = size.and_then(|size| size.checked_add(entry.raw_file_position())).ok_or_else(damage_message)?;
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            found.links += 1;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Old archives mark folders by their names.
        if path.ends_with('/') || !(kind.is_file() || kind.is_contiguous()) {
            continue;
        }
        let is_executable = is_executable(entry.header().mode().unwrap_or_default());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|_| damage_message())?;
        found.add(&path, content, is_executable)?;
    }
    // The reader takes an archive that ends between two files as whole.
    let rest = usize::try_from(end).ok().and_then(|end| bytes.get(end..));
    let is_whole = rest
        .and_then(|rest| rest.first_chunk::<512>())
        .is_some_and(|block| block.iter().all(|byte| *byte == 0));
    if is_whole { Ok(found) } else { Err(damage_message().into()) }
}

fn zip(bytes: &[u8]) -> Result<Files, UserError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|_| damage_message())?;
    let mut found = Files::default();
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(unreadable)?;
        if file.is_symlink() {
            found.links += 1;
        }
        if !file.is_file() {
            continue;
        }
        let path = file.name().map_err(unreadable)?.replace('\\', "/");
        if !matches!(file.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(format!("tau does not know how {path} is compressed in the archive").into());
        }
        let is_executable = is_executable(file.unix_mode().unwrap_or_default());
        found.add(&path, whole(file)?, is_executable)?;
    }
    Ok(found)
}

fn unreadable(error: zip::result::ZipError) -> String {
    match error {
        zip::result::ZipError::UnsupportedArchive(why) => format!("tau cannot read this archive: {why}"),
        _ => damage_message(),
    }
}

const fn is_executable(mode: u32) -> bool {
    mode & 0o111 != 0
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[100..107].copy_from_slice(b"0000755");
        head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        head[156] = kind;
        head[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u64 = head.iter().map(|byte| u64::from(*byte)).sum::<u64>() + 8 * 32;
        head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        head.extend_from_slice(content);
        head.resize(head.len().next_multiple_of(512), 0);
        head
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        [entries.concat(), vec![0; 1024]].concat()
    }

    fn paths(files: &[ArchiveFile]) -> Vec<&str> {
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
        assert!(unpack(&tar[..tar.len() - 1024]).is_err() && unpack(b"PK").is_err());
        // What is behind the end is nobody's.
        assert_eq!(unpack(&[&tar[..], b"\n"].concat()).unwrap(), found);
    }

    /// A zip with one file, compressed or not.
    fn make_zip(name: &str, content: &[u8], method: u16, mode: u32) -> Vec<u8> {
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
        // Made on Unix, so that the mode counts.
        bytes.extend_from_slice(b"PK\x01\x02\x14\x03\0\0\0\0");
        bytes.extend_from_slice(&method.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let mut crc = flate2::Crc::new();
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
            let zip = make_zip("a/b", b"some text, some text, some text", method, 0o100_755);
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
        let linked = unpack(&make_zip("link", b"/etc/passwd", 0, 0o120_777)).unwrap();
        assert_eq!((linked.files, linked.links), (Vec::new(), 1));
        let mut other = make_zip("a", b"some text", 0, 0);
        let at = other.windows(4).position(|part| part == b"some").unwrap();
        other[at] = b'S';
        assert!(unpack(&other).unwrap_err().contains("the archive is damaged"));
        assert!(unpack(&make_zip("../x", b"x", 0, 0)).unwrap_err().contains("outside"));
    }
}
