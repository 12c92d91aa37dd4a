//! Checks of tau's own files: places, permissions and sizes; limits of the system.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::Access;
use rustix::process::{Resource, getrlimit};
use serde_json::json;

use super::TIMEOUT;
use super::report::{Advice, Fact, Section};
use crate::compose::session_lookup;
use crate::import::{self, Meaning, SetUp};
use tau_agent::context::instruction_files::InstructionPlaces;
use tau_agent::settings::Paths;
use tau_tools::counted::{byte_size, pluralize};

/// With fewer free bytes, tau cannot save a session.
const NEEDED_BYTES: u64 = 1 << 20;
/// With fewer free bytes, the user should be told.
const LOW_BYTES: u64 = 100 << 20;
/// Fewer open files than this are too few for searches and commands at once.
const FEW_FILES: u64 = 256;

/// The folders with their permissions, and the file of keys.
pub(super) fn paths(paths: &Paths, sessions: &Path) -> Section {
    let mut section = Section::new("paths");
    let folders = [
        ("config", paths.config.as_path()),
        ("data", paths.data.as_path()),
        ("sessions", sessions),
        ("state", paths.state.as_path()),
        ("cache", paths.cache.as_path()),
    ];
    for (name, path) in folders {
        add_path(&mut section, name, path);
        let writable = nearest(path).is_some_and(|path| rustix::fs::access(path, Access::WRITE_OK).is_ok());
        if !writable {
            let text = format!("cannot write to {}: change its permissions, or set TAU_HOME", path.display());
            section.advise(if matches!(name, "data" | "sessions") {
                Advice::Problem(text)
            } else {
                Advice::Hint(text)
            });
        }
    }
    add_path(&mut section, "auth.json", &paths.config.join("auth.json"));
    for (path, mode) in [(paths.config.join("auth.json"), "600"), (sessions.to_owned(), "700")] {
        if std::fs::metadata(&path).is_ok_and(|meta| meta.mode() & 0o077 != 0) {
            let text = format!("others can read {}; run: chmod {mode} {}", path.display(), path.display());
            section.advise(Advice::Hint(text));
        }
    }
    section
}

/// The instruction files for the current directory, and their faults.
pub(super) fn instructions(places: &InstructionPlaces) -> Section {
    let mut section = Section::new("instructions");
    let found = std::env::current_dir().map(|cwd| places.find(&cwd)).unwrap_or_default();
    let files: Vec<String> = found.files.iter().map(|file| file.path.display().to_string()).collect();
    let text = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
    section.add(Fact::value("files", text, files));
    found.notices.into_iter().for_each(|notice| section.advise(Advice::Hint(notice)));
    section
}

/// The files of other agents that are read where they are.
pub(super) fn other_agents(paths: &Paths, sessions: &Path) -> Section {
    let mut section = Section::new("other agents");
    let troubles = session_lookup::places(sessions).troubles();
    troubles.into_iter().for_each(|trouble| section.advise(Advice::Hint(trouble)));
    let Ok(cwd) = std::env::current_dir() else { return section };
    for SetUp { agent, findings } in import::here(paths, &cwd) {
        for finding in findings {
            if let Meaning::InPlace(what) = finding.meaning {
                section.add(Fact::text(agent, format!("{what}: {}", finding.file.display())));
            }
        }
    }
    section
}

fn add_path(section: &mut Section, name: &str, path: &Path) {
    let mode = std::fs::metadata(path).ok().map(|meta| format!("{:04o}", meta.mode() & 0o7777));
    let text = format!("{} ({})", path.display(), mode.as_deref().unwrap_or("not there yet"));
    section.add(Fact::value(name, text, json!({"path": path.to_string_lossy(), "mode": mode})));
}

/// The path itself if it exists, else the nearest folder above it that does.
fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.exists())
}

/// The size of tau's files, and the free space.
pub(super) fn disk(paths: &Paths, sessions: &Path, retention: u64) -> Section {
    let mut section = Section::new("disk");
    // If counting takes longer, the count so far is reported.
    let until = Instant::now() + TIMEOUT.mul_f32(0.8);
    let log = paths.state.join("logs");
    let undo = paths.undo();
    let places = [
        ("sessions", sessions),
        ("undo", undo.as_path()),
        ("cache", paths.cache.as_path()),
        ("log", log.as_path()),
    ];
    for (name, path) in places {
        let Usage { bytes, files, complete } = usage(path, until);
        let least = if complete { "" } else { "at least " };
        let text =
            format!("{least}{} in {files} {}", byte_size(bytes), if files == 1 { "file" } else { "files" });
        let value = json!({"bytes": bytes, "files": files, "complete": complete});
        section.add(Fact::value(name, text, value));
    }
    let kept = match retention {
        0 => "sessions and undo data are kept until you delete them".to_owned(),
        days => format!("sessions and undo data go to the trash after {}", pluralize(days, "day")),
    };
    section.add(Fact::value("retention", kept, retention));
    let free = nearest(sessions).and_then(|path| rustix::fs::statvfs(path).ok());
    if let Some(free) = free.map(|found| found.f_bavail.saturating_mul(found.f_frsize)) {
        section.add(Fact::value("free", byte_size(free), free));
        if free < NEEDED_BYTES {
            section.advise(Advice::Problem(format!(
                "the disk of {} is full; free some space",
                sessions.display()
            )));
        } else if free < LOW_BYTES {
            section
                .advise(Advice::Hint(format!("only {} are free where sessions are saved", byte_size(free))));
        }
    }
    section
}

struct Usage {
    bytes: u64,
    files: u64,
    /// Whether there was time for all of it.
    complete: bool,
}

/// Counts the files below a folder; links are not followed.
fn usage(folder: &Path, until: Instant) -> Usage {
    let mut found = Usage { bytes: 0, files: 0, complete: true };
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            if Instant::now() >= until {
                return Usage { complete: false, ..found };
            }
            // Of the entry itself, not of a link's target.
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                found.files += 1;
                found.bytes = found.bytes.saturating_add(meta.len());
            }
        }
    }
    found
}

/// The system's limits for this process.
pub(super) fn limits() -> Section {
    let mut section = Section::new("limits");
    let current = getrlimit(Resource::Nofile).current;
    let text = current.map_or_else(|| "no limit".to_owned(), |count| count.to_string());
    section.add(Fact::value("open files", text, current));
    if let Some(count) = current.filter(|count| *count < FEW_FILES) {
        let text = format!("only {count} files may be open at once; run `ulimit -n 1024` before tau");
        section.advise(Advice::Hint(text));
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_stops_in_time() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "12345").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        let all = usage(folder.path(), Instant::now() + std::time::Duration::from_secs(60));
        assert!(all.complete && all.files == 2 && all.bytes >= 5);
        assert!(!usage(folder.path(), Instant::now()).complete);
    }
}
