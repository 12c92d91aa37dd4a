//! Finds the repositories in a folder, in little time: a folder is read again only when it has changed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::other_systems;

/// The maximum number of folders that are looked at.
const MAX_FOLDERS: usize = 200_000;
/// How old a change must be for the next one to show in the folder's time.
const GRAIN: Duration = Duration::from_millis(50);

/// A folder as it was read.
#[derive(Default)]
struct ReadFolder {
    name: OsString,
    /// `None` if it was never read, or changed so shortly before that another change may not show in its time.
    version: Option<Version>,
    found: Findings,
    folders: Vec<ReadFolder>,
}

/// The device and the number of a folder, and the time of its last change, which no program can set.
type Version = (u64, u64, i64, i64);

/// Whether a folder has a `.git`, is a repository itself, and has files of another version control system.
#[derive(Clone, Copy, Default)]
struct Findings {
    has_git: bool,
    is_repository: bool,
    has_others: bool,
}

/// The repositories in a folder.
#[derive(Default)]
pub(super) struct Repositories {
    /// The folders with a `.git`.
    pub(super) with_git: Vec<PathBuf>,
    /// The ones that git takes for repositories by what is in them, whatever they are called.
    pub(super) bare: Vec<PathBuf>,
    /// The ones with files of other version control systems.
    pub(super) of_others: Vec<PathBuf>,
}

/// The repositories at this folder and below it. No link is followed.
pub(super) fn repositories_in(top: &Path) -> Repositories {
    static READ: Mutex<Option<HashMap<PathBuf, ReadFolder>>> = Mutex::new(None);

    let mut all = READ.lock();
    let folder = all.get_or_insert_default().entry(top.to_path_buf()).or_default();
    let mut search = Search { path: top.to_path_buf(), left: MAX_FOLDERS, found: Repositories::default() };
    search.look_into(folder);
    search.found
}

struct Search {
    /// The folder being looked at.
    path: PathBuf,
    /// How many more folders are looked at.
    left: usize,
    found: Repositories,
}

impl Search {
    /// Visits the folder at the path and everything below it, as deep as the system accepts paths.
    fn look_into(&mut self, folder: &mut ReadFolder) {
        let Some(version) = version(&self.path).filter(|_| self.left > 0) else { return };
        self.left = self.left.saturating_sub(1);
        if folder.version != Some(version) {
            folder.read(&self.path, version);
        }
        let (found, Findings { has_git, is_repository, has_others }) = (&mut self.found, folder.found);
        let lists = [
            (has_git, &mut found.with_git),
            (is_repository, &mut found.bare),
            (has_others, &mut found.of_others),
        ];
        for (_, list) in lists.into_iter().filter(|(is_one, _)| *is_one) {
            list.push(self.path.clone());
        }
        for inner in &mut folder.folders {
            self.path.push(&inner.name);
            self.look_into(inner);
            self.path.pop();
        }
    }
}

impl ReadFolder {
    /// Reads it, and keeps what is known of the folders in it.
    fn read(&mut self, path: &Path, version: Version) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (_, _, seconds, nanoseconds) = version;
        let changed = Duration::new(seconds.unsigned_abs(), u32::try_from(nanoseconds).unwrap_or_default());
        let is_settled = now.checked_sub(changed).is_some_and(|age| age > GRAIN);
        self.version = is_settled.then_some(version);
        let before =
            std::mem::take(&mut self.folders).into_iter().map(|folder| (folder.name.clone(), folder));
        let mut before: HashMap<OsString, ReadFolder> = before.collect();
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let entries = entries.map(|entry| (entry.file_name(), entry.file_type()));
        let entries: Vec<(OsString, _)> = entries.collect();
        let has = |name: &str| entries.iter().any(|(entry, _)| entry.eq_ignore_ascii_case(name));
        self.found = Findings {
            has_git: has(".git"),
            is_repository: has("HEAD") && (has("commondir") || has("objects") && has("refs")),
            has_others: other_systems::folders().any(has),
        };
        let folders = entries.into_iter().filter(|(_, kind)| kind.as_ref().is_ok_and(|kind| kind.is_dir()));
        let names = folders.map(|(name, _)| name).filter(|name| !name.eq_ignore_ascii_case(".git"));
        let known = |name: OsString| {
            before.remove(&name).unwrap_or_else(|| ReadFolder { name, ..ReadFolder::default() })
        };
        self.folders = names.map(known).collect();
    }
}

fn version(path: &Path) -> Option<Version> {
    let found = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}
