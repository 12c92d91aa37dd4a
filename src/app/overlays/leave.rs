//! The question what becomes of background jobs, attempts and unsaved messages when the user quits.

use super::list_keys::choice_key;
use crate::key::Key;
use crate::outcome::KeyOutcome;
use tau_protocol::event::Question;
use tau_tools::counted::pluralize;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaveChoice {
    /// Stop the jobs and quit.
    Stop,
    /// Stop the jobs that are not kept; the session continues with the others, without the screen.
    StopOthers,
    /// Quit without what cannot be saved.
    Lose,
    /// The session continues without the screen.
    Leave,
    Stay,
}

impl LeaveChoice {
    /// Its words, where so many things are running, and so many jobs kept.
    fn text(self, running: usize, kept: usize) -> String {
        let text = match self {
            LeaveChoice::Stop if kept > 0 => "Stop all of them and quit",
            LeaveChoice::Stop if running == 1 => "Stop it and quit",
            LeaveChoice::Stop => "Stop them and quit",
            LeaveChoice::StopOthers if running.saturating_sub(kept) == 1 => {
                return format!("Stop the other; leave {kept} in the background");
            }
            LeaveChoice::StopOthers => return format!("Stop the others; leave {kept} in the background"),
            LeaveChoice::Lose => "Quit and lose them",
            LeaveChoice::Leave => "Leave the session running in the background",
            LeaveChoice::Stay => "Stay here",
        };
        text.to_owned()
    }
}

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaveView {
    pub question: Question,
    /// The marked answer.
    pub selected: usize,
    choices: Vec<LeaveChoice>,
}

impl LeaveView {
    /// The question about so many running jobs, of which some are kept, and attempts; `can_leave` is whether the
    /// session can continue without the screen.
    pub(crate) fn new(jobs: usize, kept: usize, attempts: usize, can_leave: bool) -> Self {
        let kept = if can_leave { kept } else { 0 };
        let verb = if jobs + attempts == 1 { "is" } else { "are" };
        let running = [(jobs, "background job"), (attempts, "attempt")];
        let running = running.into_iter().filter(|(count, _)| *count > 0);
        let running: Vec<String> = running.map(|(count, name)| pluralize(count as u64, name)).collect();
        let title = format!("{} {verb} still running.", running.join(" and "));
        let choices = [
            Some(LeaveChoice::StopOthers).filter(|_| kept > 0),
            Some(LeaveChoice::Stop),
            Some(LeaveChoice::Leave).filter(|_| can_leave),
            Some(LeaveChoice::Stay),
        ];
        let choices: Vec<LeaveChoice> = choices.into_iter().flatten().collect();
        let options = choices.iter().map(|choice| choice.text(jobs + attempts, kept)).collect();
        LeaveView { question: Question::Select { title, options }, selected: 0, choices }
    }

    /// The question about messages that cannot be saved.
    pub(crate) fn about_loss(can_leave: bool) -> Self {
        let leave = Some(LeaveChoice::Leave).filter(|_| can_leave);
        let choices: Vec<LeaveChoice> =
            [Some(LeaveChoice::Lose), leave, Some(LeaveChoice::Stay)].into_iter().flatten().collect();
        let title = "The last messages of this session cannot be saved.".to_owned();
        let options = choices.iter().map(|choice| choice.text(0, 0)).collect();
        let selected = choices.len().saturating_sub(1);
        LeaveView { question: Question::Select { title, options }, selected, choices }
    }

    /// Whether it is about messages that cannot be saved.
    pub(crate) fn is_about_loss(&self) -> bool {
        self.choices.contains(&LeaveChoice::Lose)
    }

    /// Asks about what runs now; the mark stays on its answer.
    pub(crate) fn follow(&mut self, now: LeaveView) {
        let marked = self.choices.get(self.selected).copied();
        let stays = now.choices.iter().position(|choice| Some(*choice) == marked);
        // An answer that is gone is replaced by the one that changes nothing.
        let selected = stays.unwrap_or(now.choices.len().saturating_sub(1));
        *self = LeaveView { selected, ..now };
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key) -> KeyOutcome<LeaveChoice> {
        // A letter selects the answer that starts with it.
        let begins = |choice: &LeaveChoice| {
            let first = choice.text(0, 0).chars().next().map(|c| c.to_ascii_lowercase());
            first.is_some() && first == key.typed_char().map(|c| c.to_ascii_lowercase())
        };
        if let Some(at) = self.choices.iter().position(begins) {
            self.selected = at;
            return KeyOutcome::Handled;
        }
        choice_key(key, &mut self.selected, &self.choices)
    }
}
