//! The hash of a folder: of the names, the sizes, the executable bits and the contents of all its files.

use std::fmt::Write;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use crate::settings::private_files::open_regular;
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

/// The digest of a folder. Blocks.
///
/// # Errors
/// When it is too large, cannot be read, or holds links or special files; as part of a sentence.
pub fn of_folder(root: &Path) -> Result<FolderDigest, UserError> {
    let mut digest = FolderDigest::default();
    let mut context = Context::new(&SHA256);
    for path in files(root)? {
        let named = |error: std::io::Error| format!("{}: {error}", path.display());
        let name = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes();
        let file = open_regular(&path).map_err(named)?;
        let meta = file.metadata().map_err(named)?;
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
    for byte in context.finish().as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(digest.sha256, "{byte:02x}");
    }
    Ok(digest)
}

/// All files of a folder, sorted.
///
/// # Errors
/// Like [`of_folder`].
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
