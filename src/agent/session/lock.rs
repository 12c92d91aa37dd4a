//! The writer of a session: a note beside the file that names the owner of its lock.
//!
//! The lock itself is the kernel's, on the session file, and ends with the process that holds it. The note
//! only identifies the owner, and replaces the lock on file systems without locks. It is created when a
//! session is opened for writing and removed afterwards.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::entry::{iso, now};
use crate::settings::private_files::{open_regular, open_with};

/// The maximum length of a note, in bytes.
const MAX_LEN: u64 = 4_096;

/// Whether another descriptor holds the lock. Any other error means that the file system has no
/// locks.
pub(super) fn is_held(error: &TryLockError) -> bool {
    matches!(error, TryLockError::WouldBlock)
}

/// Takes the advisory lock for the only writer. The lock ends with the process in any case. The error is the
/// owner, if another descriptor holds the lock.
pub(super) fn acquire(file: &File, path: &Path) -> Result<(), Owner> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(error) if is_held(&error) => {
            let noted = read_owner(path);
            Err(match (lock_owner(file), noted) {
                (Some(pid), Some(noted)) if noted.pid == pid => noted,
                (Some(pid), _) => Owner::process(pid),
                (None, noted) => noted.unwrap_or_default(),
            })
        }
        // On a file system without locks only the note shows another writer.
        Err(_) => match read_owner(path) {
            Some(owner) if owner.life() != Life::Ended => Err(owner),
            _ => Ok(()),
        },
    }
}

/// Whether a process that runs, as far as this machine knows, has the session open for writing.
pub fn is_open(path: &Path) -> bool {
    read_owner(path).is_some_and(|owner| owner.life() != Life::Ended)
}

/// Takes the lock of a session that is to be deleted; it is held until the result is dropped. The error is the owner, if
/// a process has the session open.
pub fn lock_for_deletion(path: &Path) -> Result<Option<File>, Owner> {
    if let Some(owner) = read_owner(path).filter(|owner| owner.life() != Life::Ended) {
        return Err(owner);
    }
    // What cannot be opened cannot be written by its user.
    let Ok(file) = open_regular(path) else { return Ok(None) };
    acquire(&file, path).map(|()| Some(file))
}

/// The process that holds the lock, from the kernel's table of locks (Linux, proc(5)):
/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
fn lock_owner(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        match fields.as_slice() {
            [_, "FLOCK", _, _, owner, place, ..] if place.rsplit(':').next() == Some(&inode) => {
                owner.parse().ok().filter(|pid| *pid > 0)
            }
            _ => None,
        }
    })
}

/// The program that has a session open for writing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    /// Its process id; 0 if unknown.
    pub pid: u32,
    /// The machine it runs on; empty if unknown.
    pub host: String,
    /// The time since it has been the owner, in the format of session files.
    pub since: String,
    /// Distinguishes it from an earlier process with the same id, if the system supports that.
    started: Option<String>,
}

/// Whether an owner is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Runs,
    Ended,
    /// It is on another machine, or nothing is known about it.
    Unknown,
}

impl Owner {
    /// This process.
    fn this() -> Self {
        let pid = std::process::id();
        Owner { pid, host: host(), since: iso(now()), started: Stat::of(pid).map(|stat| stat.started) }
    }

    /// An owner of which only the process is known.
    pub fn process(pid: u32) -> Self {
        Owner { pid, host: host(), ..Owner::default() }
    }

    /// Whether it is still running, as far as this machine knows.
    pub fn life(&self) -> Life {
        if self.pid == 0 || self.host != host() {
            return Life::Unknown;
        }
        let Some(pid) = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw) else {
            return Life::Unknown;
        };
        if rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH) {
            return Life::Ended;
        }
        let Some(stat) = Stat::of(self.pid) else { return Life::Runs };
        // Another process may have been assigned the same id.
        let is_other = self.started.as_ref().is_some_and(|then| *then != stat.started);
        if is_other || stat.is_over { Life::Ended } else { Life::Runs }
    }

    fn is_this(&self) -> bool {
        self.pid == std::process::id() && self.host == host()
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pid {
            0 => f.write_str("unknown process")?,
            pid => write!(f, "process {pid}")?,
        }
        if self.host != host() && !self.host.is_empty() {
            write!(f, " on {}", self.host)?;
        }
        if self.life() == Life::Ended { f.write_str(", which has exited") } else { Ok(()) }
    }
}

/// The note of this process next to a session; dropping it removes the note, unless there is a later one.
#[derive(Debug)]
pub(crate) struct Note {
    path: PathBuf,
    file: File,
}

impl Note {
    /// Leaves a note for the session at `path`, replacing any existing one. An unwritable folder gets no
    /// note; the lock itself does not depend on it.
    pub fn leave(path: &Path) -> Option<Self> {
        let note = note_path(path);
        // A new file each time: an existing link with this name is never followed.
        let _ = std::fs::remove_file(&note);
        let mut options = OpenOptions::new();
        let mut file = open_with(options.write(true).create_new(true).mode(0o600), &note).ok()?;
        let written = serde_json::to_vec(&Owner::this()).map_err(io::Error::from);
        match written.and_then(|text| file.write_all(&text)) {
            Ok(()) => Some(Note { path: note, file }),
            Err(_) => {
                // On a full disk, an empty note would say nothing.
                let _ = std::fs::remove_file(&note);
                None
            }
        }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let is_there = self.file.metadata().is_ok_and(|facts| facts.nlink() > 0);
        let is_ours = || read(&self.path).is_some_and(|owner| owner.is_this());
        if is_there && is_ours() {
            // A remaining note does no harm: its owner has then ended.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The owner named by the note beside a session.
pub fn read_owner(path: &Path) -> Option<Owner> {
    read(&note_path(path))
}

/// Removes the notes below the folder of sessions whose owners have ended without doing so.
pub fn sweep(sessions: &Path) {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries(sessions).map(|entry| entry.path()).filter(|path| path.is_dir());
    let is_note = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') && name.ends_with(".jsonl.lock")
    };
    for folder in folders.chain([sessions.to_owned()]) {
        for note in entries(&folder).map(|entry| entry.path()).filter(is_note) {
            if read(&note).is_some_and(|owner| owner.life() == Life::Ended) {
                let _ = std::fs::remove_file(&note);
            }
        }
    }
}

/// The path of a session's note: a hidden file in the same folder.
pub fn note_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lock"))
}

fn read(note: &Path) -> Option<Owner> {
    let mut text = Vec::new();
    open_regular(note).ok()?.take(MAX_LEN).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Facts about a process (Linux, proc(5)): `/proc/PID/stat`.
struct Stat {
    /// The start time, in the kernel's own units.
    started: String,
    /// Whether it has ended, and its parent was not told yet.
    is_over: bool,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain blanks and brackets. The state follows it, and the 22nd field is the start time.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let is_over = matches!(fields.next()?, "Z" | "X");
        Some(Stat { started: fields.nth(18)?.to_owned(), is_over })
    }
}
