//! The settings of version control systems other than git, which name programs that these run.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::nested_git::{MAX_CONFIG, has_only, read};
use crate::words;

/// Settings that run nothing, by section.
type Plain = &'static [(&'static str, &'static [&'static str])];

/// Settings of a clone: the place that it came from.
const PATHS: Plain = &[("paths", words!("default default-push default:pushurl"))];
/// Settings of a new repository of Jujutsu: the name of the main branch.
const ALIASES: Plain = &[("revset-aliases", &["*"])];
/// The files of settings, and files that name other folders with such files, with what they may say.
const FILES: [(&str, Plain); 11] = [
    (".hg/hgrc", PATHS),
    (".hg/hgrc-not-shared", PATHS),
    (".hg/sharedpath", &[]),
    (".sl/config", PATHS),
    (".sl/sharedpath", &[]),
    (".jj/repo", &[]),
    (".jj/repo/config.toml", ALIASES),
    (".jj/workspace-config.toml", ALIASES),
    ("_darcs/prefs/defaults", &[]),
    ("_darcs/prefs/prefs", &[]),
    (".pijul/config", &[]),
];

/// The files of settings at a root.
pub(super) fn files_at(root: &Path) -> impl Iterator<Item = PathBuf> {
    FILES
        .iter()
        .map(|(name, _)| root.join(name))
        .filter(|path| !path.is_dir() && path.symlink_metadata().is_ok())
}

/// The folders that these systems keep at the top of a working tree.
pub(super) fn folders() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(name, _)| name.split('/').next())
}

/// A version of a file: its numbers, which a move keeps, and its text, if that can be read.
type Version = (Option<(u64, u64)>, Option<Vec<u8>>);

/// Settings that may run something, as they were.
#[derive(Debug, Default)]
pub(super) struct KnownSettings(BTreeSet<Version>);

impl KnownSettings {
    /// Records those in these folders.
    pub(super) fn new(folders: &[PathBuf]) -> Self {
        KnownSettings(doubtful(folders).map(|(_, version)| version).collect())
    }

    /// The files in these folders that may make a program run and are not as they were.
    pub(super) fn find_planted(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        let new = doubtful(folders).filter(|(_, version)| !self.0.contains(version));
        new.map(|(path, _)| path).collect()
    }
}

/// The files in these folders with other settings than those that run nothing.
fn doubtful(folders: &[PathBuf]) -> impl Iterator<Item = (PathBuf, Version)> {
    let of_folder = |folder: &PathBuf| {
        let files = files_at(folder).collect::<Vec<_>>();
        files.into_iter().filter_map(|path| {
            let text = read(&path, MAX_CONFIG);
            let plain =
                FILES.iter().find(|(name, _)| path.ends_with(name)).map_or(&[][..], |(_, plain)| plain);
            if text.as_deref().is_some_and(|text| has_only(text, plain)) {
                return None;
            }
            let numbers = path.metadata().ok().map(|found| (found.dev(), found.ino()));
            Some((path, (numbers, text)))
        })
    };
    folders.iter().flat_map(of_folder)
}
