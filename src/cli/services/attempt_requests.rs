//! Requests about attempts.

use std::collections::BTreeMap;

use super::Services;
use crate::attempts::host::HostOrder;
use crate::attempts::hunks::{self, Choice, Part};
use crate::attempts::{self, Attempt, Attempts, take, words};
use crate::commands::attempts::take_choices;
use tau_protocol::attempt::{AttemptFile, AttemptList, AttemptOrder, AttemptPart, AttemptPatch, AttemptRow};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

impl Services {
    fn find_attempts(&self, id: Option<&str>) -> Result<(tau_agent::settings::Paths, Attempts), UserError> {
        let (dir, paths) = {
            let setup = self.setup.lock();
            (setup.project_dir.clone(), setup.paths.clone())
        };
        let found = attempts::find(&paths, &dir, id)?;
        Ok((paths, found))
    }

    /// The order with what the screen does not know. Refused when the session may cost nothing more.
    pub(crate) fn host_order(&self, order: AttemptOrder) -> Result<HostOrder, UserError> {
        let setup = self.setup.lock();
        let left = match setup.started.session_cost().limit() {
            None => None,
            Some(most) if order.spent >= most => {
                let (spent, text) = (order.spent, "this session has cost");
                return Err(UserError::new(format!("{text} ${spent:.4}; session_cost allows ${most}"))
                    .remedy("raise session_cost in config.toml, or begin a session with /new"));
            }
            Some(most) => Some((most - order.spent, "session_cost leaves")),
        };
        let flag = setup.args.max_cost.map(|most| (most, "--max-cost allows"));
        let least = [left, flag].into_iter().flatten().min_by(|one, other| one.0.total_cmp(&other.0));
        let most = least.map(|(most, _)| most);
        let limit = least.map(|(most, origin)| format!("{origin} ${most}")).unwrap_or_default();
        Ok(HostOrder { order, directory: setup.project_dir.clone(), most, limit })
    }

    pub(super) fn list_attempts(&self) -> AttemptList {
        if let Some(order) = self.hosted.preparing() {
            let AttemptOrder { task, check, .. } = order;
            return AttemptList { task, check, is_running: true, is_own: true, ..AttemptList::default() };
        }
        let Ok((paths, found)) = self.find_attempts(None) else { return AttemptList::default() };
        let is_running = found.is_running(&paths);
        let row = |attempt: &Attempt| {
            let [number, outcome, time, cost, changed, model, session] = words::cells(attempt, is_running);
            let mut row = AttemptRow {
                number: number.parse().unwrap_or_default(),
                outcome,
                reached: attempt.reached,
                time,
                cost,
                changed,
                model,
                session,
                place: attempt.path.display().to_string(),
                is_running: is_running && attempt.exit_code.is_none(),
            };
            if row.is_running {
                // What it has changed is found out at its end.
                row.changed.clear();
                self.hosted.complete(&found.id, &mut row);
            }
            row
        };
        let (rows, is_own) = (found.attempts.iter().map(row).collect(), self.hosted.runs(&found.id));
        AttemptList { id: found.id, task: found.task, check: found.check, rows, is_running, is_own }
    }

    pub(super) fn show_attempts(&self, id: &str, number: Option<u32>) -> Result<Vec<AttemptFile>, UserError> {
        let found = self.find_attempts(Some(id))?.1;
        let mut by_file: BTreeMap<String, Vec<AttemptPatch>> = BTreeMap::new();
        let is_wanted = |attempt: &&Attempt| match number {
            Some(number) => attempt.number == number,
            None => attempt.files.is_some(),
        };
        for attempt in found.attempts.iter().filter(is_wanted) {
            for (path, hunks) in hunks::of(&found, attempt)? {
                let patch = AttemptPatch { attempt: attempt.number, hunks };
                by_file.entry(path).or_default().push(patch);
            }
        }
        Ok(by_file.into_iter().map(|(path, patches)| AttemptFile { path, patches }).collect())
    }

    pub(super) fn take_parts_of(&self, id: &str, parts: &[AttemptPart]) -> Result<String, UserError> {
        let (paths, found) = self.find_attempts(Some(id))?;
        let mut by_attempt: BTreeMap<u32, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
        for AttemptPart { attempt, path, hunk } in parts {
            by_attempt.entry(*attempt).or_default().entry(path).or_default().extend(hunk);
        }
        let mut chosen = Vec::new();
        for (number, files) in by_attempt {
            let part = |(path, hunks): (&str, Vec<usize>)| Part { path: path.to_owned(), hunks };
            let parts = files.into_iter().map(part).collect();
            chosen.push(Choice { attempt: found.attempt(number)?, parts });
        }
        let said = take_choices(&paths, &found, &chosen)?;
        Ok(said.trim_end().replace('\n', "; "))
    }

    pub(super) fn take_attempt_of(&self, id: &str, number: u32) -> Result<String, UserError> {
        let (paths, found) = self.find_attempts(Some(id))?;
        let choice = Choice { attempt: found.attempt(number)?, parts: Vec::new() };
        let said = take_choices(&paths, &found, &[choice])?;
        Ok(said.trim_end().to_owned())
    }

    pub(super) fn drop_attempts_of(&self, id: &str) -> Result<String, UserError> {
        let (paths, found) = self.find_attempts(Some(id))?;
        take::sweep(&paths, &found)?;
        Ok(format!("removed {}", pluralize(found.attempts.len() as u64, "attempt")))
    }
}
