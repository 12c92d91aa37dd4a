//! The progress on standard error while a front end without a screen works.
//!
//! One moving line that is wiped before anything else is written, and a line for each call and retry. It
//! exists only when standard error is a terminal; important messages are written either way. Foreign text is
//! stripped of all terminal controls.

use std::io::Write;
use std::time::Duration;

use tokio::time::Instant;

use crate::process::plain::line as plain;
use tau_app::geometry::Motion;
use tau_protocol::event::{AgentEvent, RunEvent, SessionEvent, ShellEvent, TaskEvent, TurnEvent};
use tau_protocol::goal::{Goal, GoalState};

/// Interval of the moving line.
pub(crate) const BEAT: Duration = Duration::from_millis(120);

/// The amount of progress shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveliness {
    /// Only important messages: standard error is a log, not a terminal.
    Quiet,
    /// Also a line for each call and retry.
    Lines,
    /// Also the moving line.
    Moving,
}

impl Liveliness {
    /// The level for standard error, given `motion` and a terminal of type `term`.
    pub(crate) fn new(is_terminal: bool, motion: Motion, term: &str) -> Self {
        match (is_terminal, motion) {
            (false, _) => Liveliness::Quiet,
            (true, Motion::Animated) if term != "dumb" => Liveliness::Moving,
            (true, _) => Liveliness::Lines,
        }
    }
}

const FRAMES: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];
/// Maximum length of a line in characters, so that the moving line never wraps.
const WIDTH: usize = 76;

/// A progress line on standard error.
pub struct ProgressLine {
    err: Box<dyn Write + Send>,
    lively: Liveliness,
    doing: Option<(String, Instant)>,
    frame: usize,
    shown: bool,
}

impl ProgressLine {
    /// A progress line on `err`.
    pub fn new(err: Box<dyn Write + Send>, lively: Liveliness) -> Self {
        ProgressLine { err, lively, doing: None, frame: 0, shown: false }
    }

    /// Whether the moving line must be updated.
    pub fn moves(&self) -> bool {
        self.lively == Liveliness::Moving && self.doing.is_some()
    }

    /// Prints an important message, on a terminal or not.
    pub fn say(&mut self, text: &str) {
        self.wipe();
        let lines: String = text.lines().map(|line| plain(line) + "\n").collect();
        // There is no reader left when standard error is closed.
        let _ = self.err.write_all(lines.as_bytes());
    }

    /// Shows an event.
    pub fn show(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Turn(TurnEvent::TurnStart) => self.begin("waiting for the model"),
            AgentEvent::Turn(TurnEvent::MessageUpdate { .. }) => self.begin_if_new("the model is answering"),
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_name, args, .. }) => {
                let call = cut(&format!("{tool_name} {args}"));
                self.note(&format!("• {call}"));
                self.begin(&format!("running {tool_name}"));
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_name, is_error: true, .. }) => {
                self.note(&format!("  {tool_name} failed; the model sees the error"));
            }
            AgentEvent::Run(RunEvent::AutoRetryStart { attempt, max_attempts, delay_ms, error_message }) => {
                let wait = delay_ms.div_ceil(1000);
                let why = cut(error_message);
                self.note(&format!("• {why}; retrying in {wait}s ({attempt} of {max_attempts})"));
                self.begin("waiting to retry");
            }
            AgentEvent::Run(RunEvent::Stalled { idle_ms, limit_ms }) => {
                let (silence, left) = (idle_ms / 1000, limit_ms.saturating_sub(*idle_ms).div_ceil(1000));
                let text = format!("no data for {silence}s · timing out in {left}s ·");
                let since = self.doing.take().map_or_else(Instant::now, |(_, since)| since);
                self.doing = Some((text, since));
            }
            AgentEvent::Run(RunEvent::CompactionStart { .. }) => self.begin("compacting the conversation"),
            AgentEvent::Shell(ShellEvent::BashStart { command, .. }) => {
                self.note(&format!("• goal: {}", cut(command)));
                self.begin("running the goal's command");
            }
            AgentEvent::Session(SessionEvent::GoalChanged { goal: Some(goal) }) => self.goal(goal),
            AgentEvent::Run(RunEvent::AgentSettled { .. }) | AgentEvent::Task(TaskEvent::Stopped) => {
                self.doing = None;
                self.wipe();
            }
            _ => {}
        }
    }

    /// Shows the progress of the goal.
    fn goal(&mut self, goal: &Goal) {
        match goal.state {
            GoalState::Active if goal.rounds > 0 => self.note(&format!("• goal: round {}", goal.progress())),
            GoalState::Reached => {
                let rounds = tau_tools::counted::pluralize(u64::from(goal.rounds), "round");
                self.note(&format!("• goal: reached after {rounds}"));
            }
            GoalState::Active | GoalState::Paused | GoalState::GivenUp | GoalState::Capped => {}
        }
    }

    /// Moves the moving line.
    pub fn beat(&mut self) {
        let Some((doing, since)) = self.doing.as_ref().filter(|_| self.moves()) else { return };
        self.frame = (self.frame + 1) % FRAMES.len();
        let mark = FRAMES.get(self.frame).copied().unwrap_or('*');
        let line = format!("\r\x1b[2K{mark} {doing} {}s", since.elapsed().as_secs());
        let _ = self.err.write_all(line.as_bytes()).and_then(|()| self.err.flush());
        self.shown = true;
    }

    /// Wipes the moving line.
    pub(crate) fn wipe(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = self.err.write_all(b"\r\x1b[2K").and_then(|()| self.err.flush());
        }
    }

    fn begin(&mut self, doing: &str) {
        self.doing = Some((plain(doing), Instant::now()));
    }

    fn begin_if_new(&mut self, doing: &str) {
        if self.doing.as_ref().is_none_or(|(now, _)| now != doing) {
            self.begin(doing);
        }
    }

    fn note(&mut self, text: &str) {
        if self.lively != Liveliness::Quiet {
            self.say(text);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// The first line of `text`, cut to fit.
fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}
