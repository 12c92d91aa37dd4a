//! Finds the files that rules deny, for the kernel to keep them from commands.
//!
//! A rule that names a file or folder in full takes one look. For all others, one walk goes through the working
//! directory and the folders that their patterns begin with, as far as a short time allows; what it does not find is
//! still recognised in commands.

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tau_tools::access::{DeniedFile, DeniedUse};

use super::judge::files::governs;
use super::path_pattern::{Beginning, JudgedPath, PathPattern, Places};
use super::protected::Use;
use super::rule::{Pattern, Rule};

/// How long files are looked for.
const TIME: Duration = Duration::from_millis(300);
/// The maximum number of files and folders that are found: each takes a mount.
const MAX_FOUND: usize = 1_000;
/// Folders of the kernel, without which no command runs.
const OF_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A rule that denies something to commands.
struct Denial<'a> {
    rule: &'a Rule,
    pattern: &'a PathPattern,
    denied: DeniedUse,
}

impl<'a> Denial<'a> {
    /// The denial of a rule that denies; `None` if it is not about files.
    fn of(rule: &'a Rule) -> Option<Self> {
        let Pattern::Path(pattern) = rule.pattern() else { return None };
        let is_about = |is_used| governs(rule, is_used, None) || rule.names_tool("bash");
        let denied = match () {
            () if is_about(Use::Read) => DeniedUse::Read,
            () if is_about(Use::Write) => DeniedUse::Change,
            () => return None,
        };
        Some(Denial { rule, pattern, denied })
    }
}

/// Whether one of these rules keeps files from commands.
pub(super) fn has_denials<'a>(mut denying: impl Iterator<Item = &'a Rule>) -> bool {
    denying.any(|rule| Denial::of(rule).is_some())
}

/// The files that exist and that these rules keep from commands.
pub(super) fn denied_files<'a>(denying: impl Iterator<Item = &'a Rule>, places: &Places) -> Vec<DeniedFile> {
    let denials: Vec<Denial<'_>> = denying.filter_map(Denial::of).collect();
    let mut search = Search { places, until: Instant::now() + TIME, found: BTreeSet::new() };
    let mut tops = BTreeSet::new();
    for denial in &denials {
        match denial.pattern.beginning(places) {
            Some(Beginning::Whole(path)) => search.add(&path, denial),
            Some(Beginning::Folder(folder)) => drop(tops.insert(search.top(folder))),
            None => {}
        }
    }
    search.walk(tops, &denials);
    search.add_other_names();
    let found = search.found;
    let is_within = |file: &DeniedFile, folder: &DeniedFile| {
        folder.denied >= file.denied && folder.path != file.path && file.path.starts_with(&folder.path)
    };
    // In order, a folder comes before what is in it.
    let mut kept: Vec<DeniedFile> = Vec::new();
    for file in found {
        if !kept.iter().any(|folder| is_within(&file, folder)) {
            kept.push(file);
        }
    }
    kept
}

struct Search<'a> {
    places: &'a Places,
    until: Instant,
    found: BTreeSet<DeniedFile>,
}

impl Search<'_> {
    /// The folder to walk for patterns that begin with this one: not the home directory, nor one above the working
    /// directory, which are too large for every command.
    fn top(&self, folder: PathBuf) -> PathBuf {
        let workspace = &self.places.workspace.real;
        let is_home = self.places.home.as_ref().is_some_and(|home| home.real == folder);
        if is_home || workspace.starts_with(&folder) { workspace.clone() } else { folder }
    }

    fn is_over(&self) -> bool {
        self.found.len() >= MAX_FOUND || Instant::now() >= self.until
    }

    /// Adds a file or folder, or what a link leads to. A folder with the working directory in it stays readable.
    fn add(&mut self, path: &Path, denial: &Denial<'_>) {
        let Ok(path) = path.canonicalize() else { return };
        let is_needed = match denial.denied {
            DeniedUse::Read => self.places.workspace.real.starts_with(&path),
            DeniedUse::Change => false,
        };
        if is_needed || OF_KERNEL.iter().any(|folder| path.starts_with(folder)) {
            return;
        }
        self.found.insert(DeniedFile { path, denied: denial.denied, rule: denial.rule.to_string() });
    }

    /// Goes through these folders, those with a shorter way first, without following links.
    fn walk(&mut self, tops: BTreeSet<PathBuf>, denials: &[Denial<'_>]) {
        let mut last: Option<PathBuf> = None;
        let mut folders: VecDeque<PathBuf> = VecDeque::new();
        for top in tops {
            // In order, what is within a folder comes right after it.
            if last.as_ref().is_none_or(|last| !top.starts_with(last)) {
                folders.push_back(top.clone());
                last = Some(top);
            }
        }
        while let Some(folder) = folders.pop_front() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let may_be = |denial: &&Denial<'_>| denial.pattern.may_end_in(name.as_bytes());
                let mut near = denials.iter().filter(may_be).peekable();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if !is_folder && near.peek().is_none() {
                    continue;
                }
                let path = JudgedPath { plain: entry.path(), real: entry.path() };
                let is_about = |denial: &&Denial<'_>| {
                    let pattern = denial.pattern;
                    pattern.concerns(&path, self.places)
                        || is_folder && pattern.is_of_folder(&path, self.places)
                };
                let denial = near.filter(is_about).max_by_key(|denial| denial.denied);
                if let Some(denial) = denial {
                    self.add(&path.real, denial);
                }
                let is_covered = denial.is_some_and(|denial| denial.denied == DeniedUse::Read);
                if is_folder && !is_covered {
                    folders.push_back(path.real);
                }
            }
            if self.is_over() {
                return;
            }
        }
    }

    /// Adds other names in the working directory of the files with several.
    fn add_other_names(&mut self) {
        let of_file = |file: &DeniedFile| {
            let found = file.path.symlink_metadata().ok()?;
            (found.is_file() && found.nlink() > 1).then(|| ((found.dev(), found.ino()), file.clone()))
        };
        let several: Vec<_> = self.found.iter().filter_map(of_file).collect();
        let mut folders = VecDeque::new();
        if !several.is_empty() {
            folders.push_back(self.places.workspace.real.clone());
        }
        while let Some(folder) = folders.pop_front().filter(|_| !self.is_over()) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push_back(entry.path());
                    continue;
                }
                for ((device, number), file) in &several {
                    let is_same = || entry.metadata().is_ok_and(|found| found.dev() == *device);
                    if entry.ino() == *number && is_same() {
                        self.found.insert(DeniedFile { path: entry.path(), ..file.clone() });
                    }
                }
            }
        }
    }
}
