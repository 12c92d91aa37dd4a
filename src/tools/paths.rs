//! Resolves paths given by a model to files that may be opened.
//!
//! Owns resolution, the refusal of anything but regular files, and the wording of errors. Opening never
//! blocks: a FIFO, socket or device is refused, not waited for. Never changes anything on disk; see
//! `replace_file.rs` for that.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use unicode_normalization::UnicodeNormalization;

use super::ToolError;
use super::file_names::display_path;
use crate::compare::close_matches;

/// The maximum number of names in a directory that are compared for a suggestion.
const NAMES_LOOKED_AT: usize = 2_000;

/// The path that `given` means: `~` is the home directory, relative paths start at `cwd`.
pub fn resolve(cwd: &Path, given: &str) -> PathBuf {
    let home = |rest: &str| std::env::home_dir().map(|home| home.join(rest));
    let expanded = match given.strip_prefix('~') {
        Some("") => home(""),
        Some(rest) => rest.strip_prefix('/').and_then(|rest| home(rest.trim_start_matches('/'))),
        None => None,
    };
    expanded.unwrap_or_else(|| cwd.join(given))
}

/// Like [`resolve`], for a path that may be no text.
pub fn resolve_path(cwd: &Path, given: &Path) -> PathBuf {
    given.to_str().map_or_else(|| cwd.join(given), |given| resolve(cwd, given))
}

/// Resolves the path of a file that should exist: if it does not, the only file whose name differs just in
/// how its characters are composed (NFC, NFD) is used.
pub fn find(cwd: &Path, given: &str) -> PathBuf {
    let path = resolve(cwd, given);
    if given.is_ascii() || path.symlink_metadata().is_ok() {
        path
    } else {
        find_by_normal_form(&path).unwrap_or(path)
    }
}

fn find_by_normal_form(path: &Path) -> Option<PathBuf> {
    let (parent, name) = (path.parent()?, path.file_name()?.to_str()?);
    let parent = match parent.symlink_metadata() {
        Ok(_) => parent.to_owned(),
        Err(_) => find_by_normal_form(parent)?,
    };
    let same = |other: &str| other.nfc().eq(name.nfc());
    let entries = fs::read_dir(&parent).ok()?.flatten().take(NAMES_LOOKED_AT);
    let mut found = entries.filter(|entry| entry.file_name().to_str().is_some_and(same));
    match (found.next(), found.next()) {
        (Some(only), None) => Some(only.path()),
        // Perhaps only the directory is spelled differently.
        (None, _) => Some(parent.join(name)),
        (Some(_), Some(_)) => None,
    }
}

/// The directory, or its nearest existing ancestor.
pub fn nearest_folder(path: &Path) -> &Path {
    path.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"))
}

/// The maximum number of links to files that do not exist which are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// The real path of a file, as [`Path::canonicalize`] finds it. A file that is missing costs one system call
/// instead of one for each folder above it: most files that are looked for at the start are.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    path.symlink_metadata()?;
    path.canonicalize()
}

/// The canonical name of a file, whichever path leads to it: links are followed as far as the path exists, and to
/// files that do not exist yet, which a write would create. The key of file versions and of the queue of calls.
pub fn identity(path: &Path) -> PathBuf {
    let mut links = MAX_LINKS;
    follow_links(path, &mut links)
}

fn follow_links(path: &Path, links: &mut usize) -> PathBuf {
    if let Ok(canonical) = fs::canonicalize(path) {
        return canonical;
    }
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return path.to_path_buf();
    };
    let parent = follow_links(parent, links);
    // The path ends in `..`.
    let Some(name) = path.file_name() else { return parent.parent().unwrap_or(&parent).to_path_buf() };
    let own = parent.join(name);
    match fs::read_link(&own) {
        Ok(target) if *links > 0 => {
            *links -= 1;
            follow_links(&parent.join(target), links)
        }
        _ => own,
    }
}

/// The type of anything that is not a regular file.
pub(crate) fn odd_kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () if kind.is_fifo() => Some("a FIFO (named pipe)"),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_char_device() => Some("a character device"),
        () if kind.is_block_device() => Some("a block device"),
        () => Some("not a regular file"),
    }
}

/// Opens a regular file for reading. `given` is the path as written by the model. The error is a refusal:
/// missing (with similar names), not a regular file (naming its type), unreadable.
pub(crate) fn open_regular(path: &Path, given: &str) -> Result<(File, Metadata), ToolError> {
    let refuse_odd = |metadata: &Metadata| match odd_kind(metadata) {
        None => Ok(()),
        Some(kind) => Err(ToolError::refused(format!("{given} is {kind}, not a file{}", odd_hint(metadata)))),
    };
    // Before opening, because opening a device can have side effects.
    refuse_odd(&fs::metadata(path).map_err(|error| cannot(given, path, "read", &error))?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|error| cannot(given, path, "read", &error.into()))?;
    // And again after opening, because the path may have been replaced in between.
    let metadata = file.metadata().map_err(|error| cannot(given, path, "read", &error))?;
    refuse_odd(&metadata)?;
    Ok((file, metadata))
}

fn odd_hint(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "; list it with bash and ls" } else { "; it cannot be read or edited" }
}

/// The refusal for a failed operation on a path; `doing` is a verb such as "read".
pub fn cannot(given: &str, path: &Path, doing: &str, error: &io::Error) -> ToolError {
    if error.kind() == ErrorKind::NotFound {
        return ToolError::refused(missing(given, path));
    }
    ToolError::refused(format!("cannot {doing} {given}: {}", reason(error)))
}

/// The reason for an I/O error in a few lower-case words.
pub fn reason(error: &io::Error) -> String {
    let known = match error.kind() {
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::StorageFull => "no space left on the device",
        ErrorKind::QuotaExceeded => "the disk quota is used up",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        ErrorKind::NotADirectory => "a part of the path is a file, not a directory",
        ErrorKind::IsADirectory => "it is a directory",
        ErrorKind::InvalidFilename => "the name is too long or not allowed",
        ErrorKind::NotFound => "it does not exist",
        ErrorKind::ArgumentListTooLong => "it is too long",
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            "its symbolic links form a loop"
        }
        _ => "",
    };
    if !known.is_empty() {
        return known.into();
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// The message that a path does not exist, with similar names.
fn missing(given: &str, path: &Path) -> String {
    if let Ok(target) = fs::read_link(path) {
        return format!("{given} is a symbolic link to {}, which does not exist", display_path(&target));
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    if !parent.is_dir() {
        let nearest = parent.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/"));
        let first_missing = parent.strip_prefix(nearest).ok().and_then(|rest| rest.iter().next());
        let names = first_missing.map(|name| near(nearest, &name.to_string_lossy())).unwrap_or_default();
        let text = format!(
            "{given} does not exist, nor does its directory; the nearest existing directory is {}",
            display_path(nearest)
        );
        return with_suggestions(text, &names, nearest);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let shown_parent = Path::new(given).parent().unwrap_or(Path::new(""));
    with_suggestions(format!("{given} does not exist"), &near(parent, &name), shown_parent)
}

fn with_suggestions(text: String, names: &[String], parent: &Path) -> String {
    if names.is_empty() {
        return format!("{text}; list the directory with bash and ls");
    }
    let names: Vec<String> = names.iter().map(|name| display_path(&parent.join(name))).collect();
    format!("{text}; did you mean {}?", names.join(" or "))
}

/// Up to three names in `folder` that resemble `name`, best first.
fn near(folder: &Path, name: &str) -> Vec<String> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let names: Vec<(String, String)> = listing
        .take(NAMES_LOOKED_AT)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .map(|found| (plain(&found), found))
        .collect();
    let mut folded: Vec<&str> = names.iter().map(|(plain, _)| plain.as_str()).collect();
    folded.sort_unstable();
    let wanted = plain(name);
    let mut found = close_matches(&wanted, &folded, 3, 0.6);
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    found.extend(folded.iter().filter(|other| stem(other) == stem(&wanted)));
    let mut suggestions: Vec<String> = Vec::new();
    for plain in found {
        let original = names.iter().find(|(folded, _)| folded == plain).map(|(_, original)| original.clone());
        suggestions.extend(original.filter(|name| !suggestions.contains(name)));
    }
    suggestions.truncate(3);
    suggestions
}

/// A name for comparison: lower case, with look-alike characters replaced by plain ones.
fn plain(name: &str) -> String {
    name.chars().map(super::edit::normalize::look_alike).flat_map(char::to_lowercase).collect()
}
