//! How a failed call ended. Session files hold only the text of its result, so the engine writes these words, and
//! front ends recognise them.

/// The result of a call that was not started before the user stopped the run.
pub const ABORTED: &str = "aborted";
/// The result of a call that waited for a decision when the user stopped the run or closed the session.
pub const UNANSWERED: &str =
    "denied: the run was stopped or the session closed before the user decided; the call was not run";
/// The result of a call that did not end in time when it was aborted.
pub const DROPPED: &str = "aborted; it may have run in part";
/// The result of a call that a message of the user made unnecessary.
pub const SKIPPED: &str = "skipped: not run, because the user sent a message";
/// The result of a call that the user denied; a reason may follow.
pub const DENIED: &str = "the user denied this call, it was not run";
/// The beginning of the result of a call that could not be run; the reason follows.
pub const NOT_RUN: &str = "not run: ";
/// The beginning of the result of a call during which tau was killed.
pub const INTERRUPTED: &str = "interrupted: ";

/// How a failed call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnding<'a> {
    /// A message of the user made it unnecessary.
    Skipped,
    /// The user stopped the run before it started, perhaps at the question about it.
    Unstarted,
    /// It could not be run, for this reason.
    NotRun(&'a str),
    /// The user denied it, perhaps with a reason.
    Denied(Option<&'a str>),
    /// tau was killed during it.
    Interrupted,
    /// The user stopped it while it ran.
    Stopped,
    /// It ended by itself.
    Failed,
}

impl<'a> CallEnding<'a> {
    /// The ending of a failed call with this result, which another program may have written.
    pub fn of(text: &'a str) -> Self {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let last = lines.next_back().unwrap_or(first);
        if first.starts_with("skipped: ") || first.starts_with("Skipped due to queued") {
            return CallEnding::Skipped;
        }
        if first == ABORTED || first == UNANSWERED {
            return CallEnding::Unstarted;
        }
        if let Some(why) = first.strip_prefix(NOT_RUN) {
            return CallEnding::NotRun(why);
        }
        if let Some(rest) = first.strip_prefix(DENIED) {
            return CallEnding::Denied(rest.strip_prefix(": "));
        }
        if first.starts_with(INTERRUPTED) {
            return CallEnding::Interrupted;
        }
        let stopped = ["aborted by the user", "aborted; it may", "Operation aborted", "Command aborted"];
        match stopped.iter().any(|words| last.starts_with(words)) {
            true => CallEnding::Stopped,
            false => CallEnding::Failed,
        }
    }
}
