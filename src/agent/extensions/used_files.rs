//! Remembers used skills and prompt templates, to detect new and changed ones.
//!
//! They grant nothing until the user has reviewed them.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ring::digest::{Context, SHA256};

use crate::settings::private_files::{LockFile, read_capped, read_json, write_private};
use tau_protocol::extension::ExtensionSource;
use tau_tools::hashes::hexadecimal;

/// The size limit of a compared file, in bytes; a larger one always counts as changed.
const MAX_BYTES: u64 = 1024 * 1024;
/// The maximum number of files in a skill's folder that are checked, and their maximum depth.
const MAX_FILES: usize = 1_000;
const MAX_DEPTH: usize = 4;
/// The size limit of the list, in bytes.
const MAX_LIST_BYTES: u64 = 8 * 1024 * 1024;

/// The list of used files, with their digests.
#[derive(Clone, Debug)]
pub struct UsedFiles {
    list: PathBuf,
    /// Whether new files of projects grant nothing. Files newer than this list never do.
    asks: bool,
    since: SystemTime,
}

/// The state of a file compared to its last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastUse {
    /// It has never been used.
    None,
    Same,
    Changed,
}

impl UsedFiles {
    /// The list in a file, which is created if missing. `asks`: whether a user can be asked about new files.
    pub fn new(list: PathBuf, asks: bool) -> Self {
        UsedFiles { list, asks, since: SystemTime::now() }
    }

    /// The reason a file that was never used grants nothing yet.
    pub(crate) fn objection(&self, path: &Path, source: ExtensionSource) -> Option<&'static str> {
        if self.asks && matches!(source, ExtensionSource::Project | ExtensionSource::Package) {
            return Some("was not used before");
        }
        // The change time, which cannot be set by programs.
        let changed = path.metadata().ok().and_then(|it| {
            let (seconds, nanos) = (u64::try_from(it.ctime()).ok()?, u32::try_from(it.ctime_nsec()).ok()?);
            SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
        });
        changed.is_none_or(|changed| changed >= self.since).then_some("was written since tau was started")
    }

    /// Compares a file with its last use, and returns its current digest. If the list cannot be read, the
    /// file counts as changed.
    pub(crate) fn compare(&self, path: &Path) -> (LastUse, Option<String>) {
        let digest = digest(path);
        let last = match (self.read(), &digest) {
            (Ok(list), Some(digest)) => match list.get(&key(path)) {
                None => LastUse::None,
                Some(known) if known == digest => LastUse::Same,
                Some(_) => LastUse::Changed,
            },
            _ => LastUse::Changed,
        };
        (last, digest)
    }

    /// Records a file as used in its current version. Fails when the list cannot be read or written.
    pub(crate) fn note(&self, path: &Path, digest: &str) -> io::Result<()> {
        let _lock = LockFile::take(&self.list.with_extension("lock"))?;
        let mut list = self.read()?;
        if list.insert(key(path), digest.to_owned()).as_deref() == Some(digest) {
            return Ok(());
        }
        write_private(&self.list, &serde_json::to_vec_pretty(&list)?)
    }

    fn read(&self) -> io::Result<BTreeMap<String, String>> {
        Ok(read_json(&self.list, MAX_LIST_BYTES)?.unwrap_or_default())
    }
}

/// The digest of a template; for a skill, it includes the files of its folder that it names.
fn digest(path: &Path) -> Option<String> {
    let bytes = read_capped(path, MAX_BYTES).ok()?;
    let mut context = Context::new(&SHA256);
    context.update(&bytes);
    if let Some(folder) = path.parent().filter(|_| path.ends_with("SKILL.md")) {
        let mut named = Vec::new();
        find_named_files(folder, &String::from_utf8_lossy(&bytes), MAX_DEPTH, &mut named);
        named.sort();
        for file in named.iter().filter(|file| *file != path) {
            context.update(key(file.strip_prefix(folder).unwrap_or(file)).as_bytes());
            match (read_capped(file, MAX_BYTES), file.metadata()) {
                (Ok(bytes), _) => context.update(ring::digest::digest(&SHA256, &bytes).as_ref()),
                // Too large to be read at each use, or not a regular file.
                (Err(_), Ok(it)) => {
                    context.update(format!("{} {}.{}", it.len(), it.ctime(), it.ctime_nsec()).as_bytes());
                }
                (Err(_), Err(_)) => context.update(b"?"),
            }
        }
    }
    Some(hexadecimal(context.finish()))
}

/// The files below a folder whose names occur in a text.
fn find_named_files(folder: &Path, text: &str, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.take(MAX_FILES) {
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if is_folder && depth > 1 {
            find_named_files(&entry.path(), text, depth - 1, found);
        } else if !is_folder && text.contains(entry.file_name().to_string_lossy().as_ref()) {
            found.push(entry.path());
        }
        if found.len() >= MAX_FILES {
            return;
        }
    }
}

fn key(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (file, used) =
            (folder.path().join("SKILL.md"), UsedFiles::new(folder.path().join("used.json"), false));
        std::fs::write(&file, "one").unwrap();
        let (last, digest) = used.compare(&file);
        assert_eq!(last, LastUse::None);
        used.note(&file, &digest.unwrap()).unwrap();
        assert_eq!(used.compare(&file).0, LastUse::Same);
        std::fs::write(&file, "two").unwrap();
        assert_eq!(used.compare(&file).0, LastUse::Changed);
        std::fs::write(folder.path().join("used.json"), "{").unwrap();
        assert_eq!(used.compare(&file).0, LastUse::Changed);
        assert_eq!(used.compare(&folder.path().join("none")).0, LastUse::Changed);
    }

    #[test]
    fn a_skill_changes_with_the_files_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let skill = folder.path().join("SKILL.md");
        std::fs::create_dir(folder.path().join("scripts")).unwrap();
        std::fs::write(&skill, "Run scripts/do.sh.").unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join("scripts").join(name), text);
        write("do.sh", "one").unwrap();
        let before = digest(&skill);
        write("log.txt", "one").unwrap();
        assert_eq!(digest(&skill), before, "it is not named");
        write("do.sh", "two").unwrap();
        assert_ne!(digest(&skill), before);
        write("do.sh", &"x".repeat(1 << 21)).unwrap();
        let large = digest(&skill);
        write("do.sh", &"y".repeat(1 << 21)).unwrap();
        assert_ne!(digest(&skill), large);
    }

    #[test]
    fn what_is_new_grants_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (list, file) = (folder.path().join("used.json"), folder.path().join("x.md"));
        std::fs::write(&file, "one").unwrap();
        let (alone, asks) = (UsedFiles::new(list.clone(), false), UsedFiles::new(list, true));
        for (used, source, objects) in [
            (&alone, ExtensionSource::User, false),
            (&alone, ExtensionSource::Project, false),
            (&asks, ExtensionSource::User, false),
            (&asks, ExtensionSource::Project, true),
        ] {
            assert_eq!(used.objection(&file, source).is_some(), objects, "{used:?} {source:?}");
        }
        let since = SystemTime::now() - Duration::from_secs(60);
        for used in [UsedFiles { since, ..alone }, UsedFiles { since, ..asks }] {
            for source in [ExtensionSource::User, ExtensionSource::Project, ExtensionSource::Session] {
                assert!(used.objection(&file, source).is_some(), "{used:?} {source:?}");
            }
        }
    }
}
