//! Requests about attempts.

use super::Services;
use crate::attempts::{self, Attempt, Attempts, take, words};
use crate::commands::attempts::{diff, taken};
use tau_protocol::attempt::{AttemptList, AttemptRow};
use tau_tools::counted::counted;
use tau_tools::user_error::UserError;

impl Services {
    fn found_attempts(&self, id: Option<&str>) -> Result<(tau_agent::settings::Paths, Attempts), UserError> {
        let (dir, paths) = {
            let setup = self.setup.lock();
            (setup.project_dir.clone(), setup.paths.clone())
        };
        let found = attempts::found(&paths, &dir, id)?;
        Ok((paths, found))
    }

    pub(super) fn list_attempts(&self) -> AttemptList {
        let Ok((_, found)) = self.found_attempts(None) else { return AttemptList::default() };
        let row = |attempt: &Attempt| {
            let [number, outcome, time, cost, changed, model, session] = words::cells(attempt);
            AttemptRow {
                number: number.parse().unwrap_or_default(),
                outcome,
                reached: attempt.reached,
                time,
                cost,
                changed,
                model,
                session,
                place: attempt.path.display().to_string(),
            }
        };
        let rows = found.attempts.iter().map(row).collect();
        AttemptList { id: found.id, task: found.task, check: found.check, rows }
    }

    pub(super) fn show_attempts(&self, id: &str, number: Option<u32>) -> Result<String, UserError> {
        let numbers: Vec<u32> = number.into_iter().collect();
        diff(&self.found_attempts(Some(id))?.1, &numbers)
    }

    pub(super) fn take_attempt_of(&self, id: &str, number: u32) -> Result<String, UserError> {
        let (paths, found) = self.found_attempts(Some(id))?;
        let said = taken(&paths, &found, found.attempt(number)?, &[])?;
        Ok(said.trim_end().to_owned())
    }

    pub(super) fn drop_attempts_of(&self, id: &str) -> Result<String, UserError> {
        let (paths, found) = self.found_attempts(Some(id))?;
        take::sweep(&paths, &found)?;
        Ok(format!("removed {}", counted(found.attempts.len() as u64, "attempt")))
    }
}
