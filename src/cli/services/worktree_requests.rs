//! Requests about worktrees.

use std::path::{Path, PathBuf};

use super::Services;
use crate::worktrees::{self, Worktree, keep, session};
use tau_agent::settings::Paths;
use tau_protocol::worktree::{WorktreeDone, WorktreeEnd, WorktreeRow};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

impl Services {
    /// The directory of the open session, and tau's folders.
    fn session_place(&self) -> (PathBuf, Paths) {
        let setup = self.setup.lock();
        (setup.project_dir.clone(), setup.paths.clone())
    }

    pub(super) fn list_worktrees(&self) -> Result<Vec<WorktreeRow>, UserError> {
        let (cwd, paths) = self.session_place();
        let here = worktrees::around(&paths, &cwd);
        let row = |worktree: Worktree| WorktreeRow {
            is_here: here.as_ref() == Some(&worktree),
            has: match worktree.ahead() {
                _ if !worktree.exists() => "its folder is missing".to_owned(),
                Ok(ahead) if ahead.is_nothing() => "nothing of its own".to_owned(),
                Ok(ahead) => {
                    let changes = pluralize(ahead.changes as u64, "change");
                    format!("{}, {changes}", pluralize(ahead.commits, "commit"))
                }
                Err(why) => why.into(),
            },
            place: worktree.path.display().to_string(),
            is_removed: false,
            name: worktree.name,
        };
        let removed = |name: String| WorktreeRow {
            place: format!("tau worktree restore {name}"),
            name,
            has: "removed, its work is kept".to_owned(),
            is_here: false,
            is_removed: true,
        };
        let all = worktrees::all(&paths, &cwd)?;
        Ok(all.into_iter().map(row).chain(keep::kept_names(&cwd)?.into_iter().map(removed)).collect())
    }

    /// Makes or finds a worktree, and a session there: the last one if the user `resumes` it, else a copy of the one
    /// in `file`.
    pub(super) fn go_to_worktree(
        &self,
        name: &str,
        file: Option<&Path>,
        resumes: bool,
    ) -> Result<WorktreeDone, UserError> {
        let (cwd, paths) = self.session_place();
        let (entered, dir) = worktrees::enter_to_work(&paths, &cwd, name)?;
        let last = session::newest(&paths, &dir).filter(|_| resumes);
        let copied = file.is_some() && last.is_none();
        let path = last.map_or_else(|| session::begin_or_copy(&paths, file, &dir), Ok)?;
        let copy = if copied { ", in a copy of the session" } else { "" };
        let said = format!("you are in the worktree {name} now{copy}");
        let said = entered.notes.into_iter().fold(said, |said, note| format!("{said}\n{note}"));
        Ok(WorktreeDone { said, session: Some(path) })
    }

    /// Merges, removes or restores a worktree. A session that is in it moves to where it was made from.
    pub(super) fn finish_worktree(
        &self,
        name: &str,
        end: WorktreeEnd,
        is_here: bool,
        file: Option<&Path>,
        id: &str,
    ) -> Result<WorktreeDone, UserError> {
        let (cwd, paths) = self.session_place();
        if end == WorktreeEnd::Restore {
            let entered = keep::restore(&paths, &cwd, name)?;
            return Ok(WorktreeDone { said: format!("restored {}", entered.worktree.name), session: None });
        }
        let worktree = worktrees::find_by_name(&paths, &cwd, name)?;
        session::refuse_open(&paths, &worktree, Some(id))?;
        let origin = worktree.origin()?;
        let said = match end {
            WorktreeEnd::Merge => worktree.merge(&paths)?.words(name),
            WorktreeEnd::Remove | WorktreeEnd::Restore => worktree.remove(&paths)?.words(name),
        };
        if !is_here {
            return Ok(WorktreeDone { said, session: None });
        }
        let below = cwd.strip_prefix(&worktree.path).unwrap_or(Path::new("")).to_owned();
        let dir = Some(worktrees::folder_below(&origin, &below)).filter(|dir| dir.is_dir()).unwrap_or(origin);
        let path = session::begin_or_copy(&paths, file, &dir)?;
        let said = format!("{said}\nyou are in {} now, in a copy of the session", dir.display());
        Ok(WorktreeDone { said, session: Some(path) })
    }
}
