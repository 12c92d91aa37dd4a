//! Sessions of worktrees: those that are open there, and a session that moves to another directory.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Worktree;
use crate::compose::session_lookup;
use crate::live::record;
use tau_agent::session::lock::{self, Life};
use tau_agent::session::{Session, list};
use tau_agent::settings::{Paths, Settings};
use tau_tools::user_error::UserError;

/// The time for which a session that was stopped just before has to end.
const ENDING: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// Like [`refuse_open`], once a session that is just ending has ended. Blocks meanwhile.
pub(crate) fn wait_or_refuse_open(paths: &Paths, worktree: &Worktree) -> Result<(), UserError> {
    let until = Instant::now() + ENDING;
    loop {
        match refuse_open(paths, worktree, None) {
            Err(_) if Instant::now() < until => sleep(PAUSE),
            answer => return answer,
        }
    }
}

/// Refuses a worktree in which a session is open; `own` is the id of the one that asks.
pub(crate) fn refuse_open(paths: &Paths, worktree: &Worktree, own: Option<&str>) -> Result<(), UserError> {
    let is_other = |id: &str| own != Some(id);
    let live = record::all(paths).into_values().filter(|found| found.is_live).map(|found| found.record);
    let live = live.filter(|record| record.directory.starts_with(&worktree.path)).map(|record| record.id);
    let root = Settings::load_leniently(paths).0.session_root(paths);
    let mut open: Vec<String> = live.filter(|id| is_other(id)).collect();
    list::list(&root, Some(&worktree.path), &mut |row| {
        let runs = lock::read_owner(&row.path).is_some_and(|owner| owner.life() == Life::Runs);
        if runs && is_other(&row.id) && !open.contains(&row.id) {
            open.push(row.id);
        }
        true
    });
    match open.first() {
        None => Ok(()),
        Some(id) => {
            let name = &worktree.name;
            Err(format!("a session works in {name}: end it first; `tau attach {id}` goes to it").into())
        }
    }
}

/// Makes a session in `dir`, or a copy there of the one in a file; returns its file.
pub(crate) fn begin_or_copy(paths: &Paths, file: Option<&Path>, dir: &Path) -> Result<PathBuf, UserError> {
    let folder = Settings::load_leniently(paths).0.session_dir_for(paths, dir);
    let made = match file {
        Some(file) => Session::copy(file, Some(&folder), Some(dir)),
        None => Ok(Session::begin(Some(&folder), dir, None)),
    };
    let mut session = made.map_err(|error| error.to_string())?;
    session.make_file().and_then(|()| session.flush()).map_err(|error| error.to_string())?;
    session.info().file.clone().ok_or_else(|| "the session has no file".to_owned().into())
}

/// The session in `dir` that was changed last, except archived ones.
pub(crate) fn newest(paths: &Paths, dir: &Path) -> Option<PathBuf> {
    let root = Settings::load_leniently(paths).0.session_root(paths);
    session_lookup::newest(paths, &root, dir, false)
}
