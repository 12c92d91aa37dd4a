//! tau's own temporary folder for output too large to keep in memory.
//!
//! One folder per process, with mode 0700 and a random name, created on first use. Its files have mode 0600
//! and are newly created (`O_EXCL`), so that no one can put a link in their place. Their total size is
//! bounded; the oldest finished ones are removed. A folder without such files is removed at exit. One with files
//! stays for some days after it, because sessions name them; all such folders together have the same limit.

use std::collections::VecDeque;
use std::fs::{self, DirEntry, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::Pid;
use tempfile::TempDir;

/// The prefix of our folders' names; the process id, the owner and random characters follow.
const PREFIX: &str = "tau-scratch-";
/// The directory of the commands' private folders.
const PRIVATE: &str = "private";
/// The maximum number of bytes of all files together.
const MAX_IN_ALL: u64 = 1024 * 1024 * 1024;
/// The age at which the folder of a dead process is removed.
const KEPT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// The age at which one without output is removed: its process may be one of another container.
const EMPTY_KEPT: Duration = Duration::from_secs(60 * 60);

/// The folder of one process: mode 0700, bounded in total size, removed after some days.
#[derive(Debug)]
pub struct Scratch {
    base: PathBuf,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug)]
struct Shelf {
    folder: Option<PathBuf>,
    /// The part of the folder's name after the process id.
    owner: String,
    files: VecDeque<KeptFile>,
    total: u64,
    most: u64,
    number: u64,
}

#[derive(Debug)]
struct KeptFile {
    path: PathBuf,
    size: u64,
    writing: bool,
}

impl Default for Scratch {
    /// A folder in the system's temporary directory.
    fn default() -> Self {
        Scratch::with_limit(&std::env::temp_dir(), MAX_IN_ALL)
    }
}

impl Scratch {
    /// A scratch folder under `base`, which is usually the system's temporary directory. The folder itself
    /// is created on first use.
    pub fn new(base: &Path) -> io::Result<Self> {
        if !fs::metadata(base)?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Scratch::with_limit(base, MAX_IN_ALL))
    }

    /// Like [`Scratch::new`], with a different limit on the total size, in bytes.
    pub fn with_limit(base: &Path, most: u64) -> Self {
        let shelf =
            Shelf { folder: None, owner: String::new(), files: VecDeque::new(), total: 0, most, number: 0 };
        Scratch { base: base.to_path_buf(), shelf: Arc::new(Mutex::new(shelf)) }
    }

    /// Names its folder after its owner, in letters and digits, for [`abandoned_folders`].
    #[must_use]
    pub fn owned_by(self, owner: &str) -> Self {
        self.shelf.lock().owner = format!("{owner}-");
        self
    }

    /// Creates an empty file whose name begins with `stem`.
    pub fn create(&self, stem: &str) -> io::Result<SpillFile> {
        let mut shelf = self.shelf.lock();
        let (path, file) = match shelf.make(&self.base, stem) {
            // /tmp cleaners remove folders of running programs.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                shelf.folder = None;
                shelf.make(&self.base, stem)?
            }
            made => made?,
        };
        shelf.files.push_back(KeptFile { path: path.clone(), size: 0, writing: true });
        Ok(SpillFile { path, file, shelf: Arc::clone(&self.shelf) })
    }

    /// Creates a folder for one command's temporary files, which is removed with its contents on drop. Fails
    /// if it cannot be created.
    pub(crate) fn private_folder(&self) -> io::Result<TempDir> {
        let mut shelf = self.shelf.lock();
        match shelf.private_folder(&self.base) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                shelf.folder = None;
                shelf.private_folder(&self.base)
            }
            made => made,
        }
    }

    /// The folder `name` with programs, which `make` puts into it on first use.
    pub(crate) fn programs(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let mut shelf = self.shelf.lock();
        if shelf.folder.as_ref().is_some_and(|folder| !folder.exists()) {
            shelf.folder = None;
        }
        let folder = shelf.folder(&self.base)?.join(name);
        if !folder.exists() {
            fs::DirBuilder::new().mode(0o700).create(&folder)?;
            if let Err(error) = make(&folder) {
                fs::remove_dir_all(&folder)?;
                return Err(error);
            }
        }
        Ok(folder)
    }

    /// The folder, if it has been created.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.shelf.lock().folder.clone()
    }

    /// Removes all but the files of output, at the end of the process.
    pub fn clear(&self) {
        self.shelf.lock().clear();
    }

    /// Removes folders of dead processes after three days, those without output sooner, and the oldest of the others
    /// while they hold more than the limit; returns their number. Slow on a full disk: use a background thread.
    pub fn sweep(&self) -> usize {
        let most = self.shelf.lock().most;
        let mut left: Vec<LeftBehind> =
            of_dead_processes(&self.base).map(|entry| LeftBehind::of(entry.path())).collect();
        left.sort_by_key(|folder| folder.age);
        let mut total: u64 = 0;
        let is_old = |folder: &&LeftBehind| {
            total = total.saturating_add(folder.bytes);
            folder.age > KEPT || folder.age > EMPTY_KEPT && (total > most || !folder.has_output)
        };
        left.iter().filter(is_old).filter(|folder| fs::remove_dir_all(&folder.path).is_ok()).count()
    }
}

/// The folders of this owner's dead processes under `base`, but for those in use within the last hour: their processes
/// may be of another container.
pub fn abandoned_folders(base: &Path, owner: &str) -> Vec<PathBuf> {
    let own = format!("-{owner}-");
    let is_own = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.strip_prefix(PREFIX)
            .is_some_and(|rest| rest.trim_start_matches(char::is_numeric).starts_with(&own))
    };
    let paths = of_dead_processes(base).filter(is_own).map(|entry| entry.path());
    paths.filter(|path| LeftBehind::of(path.clone()).age > EMPTY_KEPT).collect()
}

fn of_dead_processes(base: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = fs::read_dir(base).into_iter().flatten().filter_map(Result::ok);
    entries.filter(is_of_dead_process)
}

fn is_of_dead_process(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy().into_owned();
    let number = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
    let Some(pid) = number.and_then(Pid::from_raw) else { return false };
    // The metadata is the entry's own: a link of this name is not followed.
    let Ok(metadata) = entry.metadata() else { return false };
    let ours = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    ours && rustix::process::test_kill_process(pid).is_err()
}

/// The folder of a dead process.
struct LeftBehind {
    path: PathBuf,
    /// The time since something in it has changed.
    age: Duration,
    has_output: bool,
    bytes: u64,
}

impl LeftBehind {
    fn of(path: PathBuf) -> Self {
        let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
        let files: Vec<Metadata> =
            entries.filter_map(|entry| entry.metadata().ok()).filter(|entry| !entry.is_dir()).collect();
        let changed = path.metadata().iter().chain(&files).filter_map(|entry| entry.modified().ok()).max();
        LeftBehind {
            path,
            age: changed.and_then(|at| at.elapsed().ok()).unwrap_or_default(),
            has_output: !files.is_empty(),
            bytes: files.iter().map(Metadata::len).sum(),
        }
    }
}

impl Shelf {
    /// The folder, created on first use.
    fn folder(&mut self, base: &Path) -> io::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-{}", std::process::id(), self.owner))
            .rand_bytes(12)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(base)?
            .keep();
        Ok(self.folder.insert(folder).clone())
    }

    fn private_folder(&mut self, base: &Path) -> io::Result<TempDir> {
        let folder = self.folder(base)?.join(PRIVATE);
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        tempfile::Builder::new().prefix("").rand_bytes(12).tempdir_in(folder)
    }

    fn make(&mut self, base: &Path, stem: &str) -> io::Result<(PathBuf, File)> {
        let folder = self.folder(base)?;
        self.number += 1;
        let path = folder.join(format!("{stem}-{:04}.log", self.number));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((path, file))
    }

    /// Reserves `wanted` more bytes for the file at `path` and returns how many are granted.
    fn grant(&mut self, path: &Path, wanted: u64) -> u64 {
        while self.total + wanted > self.most {
            let Some(oldest) = self.files.iter().position(|file| !file.writing) else { break };
            if let Some(gone) = self.files.remove(oldest) {
                fs::remove_file(&gone.path).ok();
                self.total -= gone.size;
            }
        }
        let granted = wanted.min(self.most.saturating_sub(self.total));
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            file.size += granted;
            self.total += granted;
        }
        granted
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Shelf {
    /// Removes all but the files of output.
    fn clear(&mut self) {
        let Some(folder) = &self.folder else { return };
        // The files' folder stays with them, alone.
        if self.files.is_empty() {
            fs::remove_dir_all(folder).ok();
            return;
        }
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// A file in the scratch folder that is being written. It is kept when this is dropped.
#[derive(Debug)]
pub struct SpillFile {
    path: PathBuf,
    file: File,
    shelf: Arc<Mutex<Shelf>>,
}

impl SpillFile {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends as far as the limit allows. Fails with [`ErrorKind::FileTooLarge`] at the limit; the part that
    /// fits is written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wanted = bytes.len() as u64;
        let granted = self.shelf.lock().grant(&self.path, wanted);
        let part = usize::try_from(granted).ok().and_then(|granted| bytes.get(..granted)).unwrap_or(bytes);
        self.file.write_all(part)?;
        if granted < wanted { Err(ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        let mut shelf = self.shelf.lock();
        if let Some(file) = shelf.files.iter_mut().find(|file| file.path == self.path) {
            file.writing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_folder_is_made_late_and_is_private() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(base.path()).unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        let mut file = scratch.create("bash").unwrap();
        file.append(b"x").unwrap();
        assert_eq!(mode(file.path()), 0o600);
        assert_eq!(mode(file.path().parent().unwrap()), 0o700);
        fs::remove_dir_all(file.path().parent().unwrap()).unwrap();
        assert!(scratch.create("bash").unwrap().path().exists(), "a removed folder is made again");
    }

    #[test]
    fn only_files_of_output_are_left() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(base.path()).unwrap();
        let programs = scratch.programs("some", |folder| fs::write(folder.join("a"), "")).unwrap();
        assert!(programs.exists());
        drop(scratch);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);

        let scratch = Scratch::new(base.path()).unwrap();
        let programs = scratch.programs("some", |folder| fs::write(folder.join("a"), "")).unwrap();
        let file = scratch.create("bash").unwrap().path().to_path_buf();
        drop(scratch);
        assert!(file.exists() && !programs.exists());
    }

    #[test]
    fn all_files_together_are_bounded_and_the_oldest_finished_one_goes() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::with_limit(base.path(), 10);
        let mut first = scratch.create("a").unwrap();
        first.append(b"123456").unwrap();
        let first_path = first.path().to_path_buf();
        let mut second = scratch.create("a").unwrap();
        assert_eq!(second.append(b"123456").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(fs::read(second.path()).unwrap(), b"1234");
        drop(first);
        second.append(b"56").unwrap();
        assert!(!first_path.exists());
        assert_eq!(fs::read(second.path()).unwrap(), b"123456");
    }

    #[test]
    fn only_old_folders_of_dead_processes_are_swept() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: String, age: Duration| {
            let path = base.path().join(name);
            fs::create_dir(&path).unwrap();
            File::open(&path).unwrap().set_modified(std::time::SystemTime::now() - age).unwrap();
            path
        };
        let dead = 0x3fff_fff0;
        let old = make(format!("{PREFIX}{dead}-aaaa"), KEPT + Duration::from_secs(60));
        let young = make(format!("{PREFIX}{dead}-bbbb"), Duration::from_secs(60));
        let empty = make(format!("{PREFIX}{dead}-dddd"), EMPTY_KEPT * 2);
        let with_output = make(format!("{PREFIX}{dead}-eeee"), EMPTY_KEPT * 2);
        fs::write(with_output.join("bash-0001.log"), "x").unwrap();
        let age = std::time::SystemTime::now() - EMPTY_KEPT * 2;
        File::open(&with_output).unwrap().set_modified(age).unwrap();
        let alive = make(format!("{PREFIX}{}-cccc", std::process::id()), KEPT * 2);
        let foreign = make("something-else".into(), KEPT * 2);
        assert_eq!(Scratch::new(base.path()).unwrap().sweep(), 2);
        assert_eq!(
            [&old, &young, &empty, &with_output, &alive, &foreign].map(|path| path.exists()),
            [false, true, false, true, true, true]
        );
    }

    #[test]
    fn a_folder_is_abandoned_by_its_owner_alone() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(base.path()).unwrap().owned_by("0a1b");
        let own = scratch.create("bash").unwrap().path().parent().unwrap().to_path_buf();
        let name = own.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("{PREFIX}{}-0a1b-", std::process::id())), "{name}");
        let dead = 0x3fff_fff0;
        let make = |owner: &str, age: Duration| {
            let path = base.path().join(format!("{PREFIX}{dead}-{owner}x"));
            fs::create_dir(&path).unwrap();
            File::open(&path).unwrap().set_modified(std::time::SystemTime::now() - age).unwrap();
            path
        };
        let mine = make("0a1b-", EMPTY_KEPT * 2);
        let [_, _, _] =
            [("", 2), ("0a1b-y", 0), ("0a1c-", 2)].map(|(owner, hours)| make(owner, EMPTY_KEPT * hours));
        assert_eq!(abandoned_folders(base.path(), "0a1b"), [mine]);
    }

    #[test]
    fn folders_of_dead_processes_have_one_limit_and_the_oldest_go() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str, hours: u32| {
            let folder = base.path().join(format!("{PREFIX}{}-{name}", 0x3fff_fff0));
            fs::create_dir(&folder).unwrap();
            let file = folder.join("bash-0001.log");
            fs::write(&file, "123456").unwrap();
            let at = std::time::SystemTime::now() - EMPTY_KEPT * hours - Duration::from_secs(60);
            for path in [&file, &folder] {
                File::open(path).unwrap().set_modified(at).unwrap();
            }
            folder
        };
        let folders = [make("a", 4), make("b", 0), make("c", 3), make("d", 2)];
        assert_eq!(Scratch::with_limit(base.path(), 13).sweep(), 2);
        assert_eq!(folders.each_ref().map(|folder| folder.exists()), [false, true, false, true]);
        // What was written just now stays, and may belong to a process in another container.
        assert_eq!(Scratch::with_limit(base.path(), 3).sweep(), 1);
        assert!(folders[1].exists());
    }
}
