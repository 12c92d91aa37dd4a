//! The hash of a folder: of the names, the sizes, the executable bits and the contents of all its files.

use std::fs::Metadata;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use crate::settings::private_files::open_regular;
use tau_tools::hashes::hexadecimal;
use tau_tools::user_error::UserError;

/// The maximum number of files and folders in a package.
pub const MAX_ENTRIES: usize = 5_000;
/// The maximum size of a package, in bytes.
pub const MAX_SIZE: u64 = 64 * 1024 * 1024;
/// The maximum depth of folders.
const MAX_DEPTH: usize = 24;

/// The content of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderDigest {
    /// In hexadecimal.
    pub sha256: String,
    pub files: usize,
    pub bytes: u64,
}

/// The file system's facts about all files of a folder, as a hash. It differs whenever a file was written, replaced,
/// moved, or given other rights: the change time is among them, which programs cannot set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamps {
    /// In hexadecimal.
    pub(super) sha256: String,
    /// The last change time of all files, in seconds since 1970.
    pub(super) changed: i64,
}

/// Collects [`Stamps`], file by file.
struct StampWriter {
    context: Context,
    changed: i64,
}

impl StampWriter {
    fn new(root: &Path) -> Self {
        let mut context = Context::new(&SHA256);
        add_with_length(&mut context, root.as_os_str().as_bytes());
        StampWriter { context, changed: i64::MIN }
    }

    fn add(&mut self, name: &[u8], meta: &Metadata) {
        add_with_length(&mut self.context, name);
        for part in [meta.dev(), meta.ino(), meta.len(), meta.mode().into()] {
            self.context.update(&part.to_be_bytes());
        }
        for part in [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()] {
            self.context.update(&part.to_be_bytes());
        }
        self.changed = self.changed.max(meta.ctime());
    }

    fn finish(self) -> Stamps {
        Stamps { sha256: hexadecimal(self.context.finish()), changed: self.changed }
    }
}

/// The digest of a folder. Blocks. Fails when it is too large, cannot be read, or holds links or special
/// files.
pub fn of_folder(root: &Path) -> Result<FolderDigest, UserError> {
    with_stamps(root).map(|(digest, _)| digest)
}

/// The digest of a folder, and the stamps of the files that were read, from before they were read. Blocks.
pub(super) fn with_stamps(root: &Path) -> Result<(FolderDigest, Stamps), UserError> {
    let mut digest = FolderDigest::default();
    let mut context = Context::new(&SHA256);
    let mut stamps = StampWriter::new(root);
    for path in files(root)? {
        let named = |error: std::io::Error| format!("{}: {error}", path.display());
        let name = name_in(root, &path);
        let file = open_regular(&path).map_err(named)?;
        let meta = file.metadata().map_err(named)?;
        stamps.add(name, &meta);
        digest.bytes = digest.bytes.saturating_add(meta.len());
        if digest.bytes > MAX_SIZE {
            return Err(format!("{} is larger than {} MB", root.display(), MAX_SIZE / 1024 / 1024).into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
        file.take(meta.len()).read_to_end(&mut bytes).map_err(named)?;
        // Lengths before contents, so that no two folders are written alike.
        for part in [name.len() as u64, u64::from(meta.mode() & 0o111 != 0), bytes.len() as u64] {
            context.update(&part.to_be_bytes());
        }
        context.update(name);
        context.update(&bytes);
        digest.files += 1;
    }
    digest.sha256 = hexadecimal(context.finish());
    Ok((digest, stamps.finish()))
}

/// The stamps of a folder's files, which are not read. Blocks.
pub(super) fn stamps(root: &Path) -> Result<Stamps, UserError> {
    let mut stamps = StampWriter::new(root);
    for path in files(root)? {
        let meta = path.symlink_metadata().map_err(|error| format!("{}: {error}", path.display()))?;
        stamps.add(name_in(root, &path), &meta);
    }
    Ok(stamps.finish())
}

fn name_in<'a>(root: &Path, path: &'a Path) -> &'a [u8] {
    path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes()
}

fn add_with_length(context: &mut Context, bytes: &[u8]) {
    context.update(&(bytes.len() as u64).to_be_bytes());
    context.update(bytes);
}

/// All files of a folder, sorted.
pub fn files(root: &Path) -> Result<Vec<PathBuf>, UserError> {
    let (mut files, mut open, mut seen) = (Vec::new(), vec![(root.to_owned(), 0)], 0_usize);
    while let Some((folder, depth)) = open.pop() {
        let named = |error: std::io::Error| format!("{}: {error}", folder.display());
        if depth > MAX_DEPTH {
            return Err(format!("{} is nested too deeply", folder.display()).into());
        }
        for entry in std::fs::read_dir(&folder).map_err(named)? {
            let entry = entry.map_err(named)?;
            let kind = entry.file_type().map_err(named)?;
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(
                    format!("{} has more than {MAX_ENTRIES} files and folders", root.display()).into()
                );
            }
            if kind.is_dir() {
                open.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                files.push(entry.path());
            } else {
                return Err(format!("{} is not a regular file", entry.path().display()).into());
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn every_change_gives_another_hash() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        };
        let mut seen = std::collections::HashSet::new();
        let mut is_new = || seen.insert(of_folder(root).unwrap().sha256);
        assert!(is_new());
        write("a/b", "cd");
        assert!(is_new());
        assert!(!is_new(), "the same folder has the same hash");
        write("a/b", "ce");
        assert!(is_new());
        write("a/b", "c");
        write("a/bc", "");
        assert!(is_new());
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(root.join("a/b"), executable).unwrap();
        assert!(is_new());
        std::fs::rename(root.join("a/b"), root.join("a/d")).unwrap();
        assert!(is_new());
        assert_eq!(of_folder(root).unwrap().files, 2);
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        assert!(of_folder(root).unwrap_err().ends_with("link is not a regular file"));
    }
}
