//! The end of a call, in words for the user.
//!
//! A tool's answer is written for the model: it names arguments and suggests the next step. Session files
//! hold only that text, so the short form for the user is derived from it here.

use crate::msg::Millis;
use crate::printable::{Printable, decision_line};
use crate::time_format::seconds;
use tau_protocol::call_ending::CallEnding;
use tau_tools::plan;
use tau_tools::user::DECLINED;

/// Tools whose failures are shown as one line. Answers of other tools are shown unchanged.
const TOOLS: [&str; 8] = ["read", "write", "edit", "bash", "ls", "find", "grep", "ask_user"];
/// Tools that take a file, not a directory.
const FILES: [&str; 3] = ["read", "write", "edit"];

/// The state of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallState {
    /// Its arguments are still arriving.
    #[default]
    Arriving,
    /// It waits for its turn.
    Waiting,
    /// It awaits the user's decision.
    Asked,
    Running,
    Done,
    Failed,
    /// The user stopped it.
    Stopped,
    /// It never ran: the user denied it, a message came in between, or the answer was cut off.
    Skipped,
}

impl CallState {
    /// Whether the call has ended.
    pub fn is_over(self) -> bool {
        match self {
            CallState::Arriving | CallState::Waiting | CallState::Asked | CallState::Running => false,
            CallState::Done | CallState::Failed | CallState::Stopped | CallState::Skipped => true,
        }
    }
}

/// The first words of the tools' sentences, other than paths.
const WORDS: [&str; 6] = ["cannot ", "the ", "two ", "offset ", "no ", "nothing "];

/// Words of other agents in place of the path that does not exist.
const OTHERS: [&str; 4] = ["File", "Directory", "Path", "The file"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallEnd {
    pub state: CallState,
    /// The reason why a call was stopped or did not run, for the head of its panel.
    pub outcome: Option<Printable>,
    /// The reason why it failed or did not run, if it fits on one line.
    pub reason: Option<Printable>,
}

impl CallEnd {
    /// Derives it from the answer's text. `duration` in milliseconds.
    pub(crate) fn of(tool: &str, text: &str, failed: bool, duration: Option<u64>) -> Self {
        let end = |state, outcome: Option<String>, reason: Option<String>| CallEnd {
            state,
            outcome: outcome.as_deref().map(Printable::line),
            // It names what the head of the call names, with the same characters.
            reason: reason.as_deref().map(decision_line),
        };
        let skipped = |outcome: &str, reason| end(CallState::Skipped, Some(outcome.to_owned()), reason);
        if !failed && text == DECLINED {
            return skipped(
                "you declined",
                Some("The model decides by itself, or says what it needs".to_owned()),
            );
        }
        if !failed {
            return end(CallState::Done, None, None);
        }
        // The user's choice is no failure of the model.
        if tool == plan::SUBMIT && text == plan::CLOSED {
            return skipped("you stopped here", None);
        }
        if let Some(comment) = text.strip_prefix(plan::REJECTED).filter(|_| tool == plan::SUBMIT) {
            return skipped("you rejected it", Some(comment.trim_start_matches(": ").to_owned()));
        }
        match CallEnding::of(text) {
            CallEnding::Skipped => skipped("skipped: you sent a message", None),
            CallEnding::Unstarted => skipped("not run: you stopped", None),
            CallEnding::NotRun(why) => skipped("not run", Some(sentence(why))),
            CallEnding::Denied(why) => skipped("not run: you denied it", why.map(str::to_owned)),
            CallEnding::Interrupted => end(CallState::Stopped, Some("interrupted".to_owned()), None),
            CallEnding::Stopped => {
                let after = duration.and_then(|span| Millis::try_from(span).ok()).map(seconds);
                let outcome = after.map_or("stopped".to_owned(), |after| format!("stopped after {after}"));
                end(CallState::Stopped, Some(outcome), None)
            }
            CallEnding::Failed => {
                let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
                end(CallState::Failed, None, reason(tool, first))
            }
        }
    }
}

/// The reason for a failure; `None` if the answer itself is the best description.
fn reason(tool: &str, first: &str) -> Option<String> {
    if let Some(rest) = first.strip_prefix("unknown tool ") {
        let name = rest.split(';').next().unwrap_or_default().trim_matches('"');
        return Some(format!("There is no tool called {name}"));
    }
    if first.starts_with("the arguments are not ") {
        return Some("The model sent an invalid call".to_owned());
    }
    if first.is_empty() || !TOOLS.contains(&tool) {
        return None;
    }
    if let Some(wrong) = first.strip_prefix(tool).and_then(|rest| rest.strip_prefix(": ")) {
        return Some(format!("The model sent an invalid call: {}", clause(wrong)));
    }
    let first = match first.strip_prefix("edits[").and_then(|rest| rest.split_once("]: ")) {
        Some((_, rest)) => rest,
        None => first,
    };
    let clause = clause(first);
    if let Some(path) = missing(clause) {
        let missing = if FILES.contains(&tool) { "File not found" } else { "Not found" };
        return Some(format!("{missing}: {path}"));
    }
    if let Some(rest) = clause.strip_prefix("old_string is not in ") {
        return Some(match rest.split_once(", but new_string already is") {
            Some((path, _)) => format!("{path} already has this change"),
            None => format!("The text to replace is not in {}", rest.split(" exactly, but").next()?),
        });
    }
    if let Some(rest) = clause.strip_prefix("old_string occurs ") {
        return Some(format!("The text to replace occurs {rest}"));
    }
    if let Some((path, _)) = clause.split_once(" is empty, so old_string") {
        return Some(format!("{path} is empty: there is nothing to replace"));
    }
    if let Some((path, _)) = clause.split_once(" has changed since you last saw it") {
        return Some(format!("{path} has changed since the model read it; nothing was written"));
    }
    Some(sentence(clause))
}

/// The path in tau's own sentence that it does not exist. Other agents, whose sessions are shown too, have
/// sentences of their own.
fn missing(clause: &str) -> Option<&str> {
    let (path, rest) = clause.split_once(" does not exist")?;
    let is_ours = rest.is_empty() || rest == ", nor does its directory";
    // Of a link, the sentence says more.
    (is_ours && !OTHERS.contains(&path) && !path.ends_with(", which")).then_some(path)
}

/// A tool's note without its advice to the model.
pub fn brief(note: &str) -> &str {
    if let Some(matched) = note.strip_prefix("The exact text was not found; it was ") {
        return matched.trim_end_matches('.');
    }
    let note = note.strip_prefix('[').and_then(|note| note.strip_suffix(']')).unwrap_or(note);
    clause(note)
}

/// The first clause: advice to the model follows it.
fn clause(text: &str) -> &str {
    let ends = ["; ", ". ", " What changed:"].iter().filter_map(|end| text.find(end));
    let text = text.get(..ends.min().unwrap_or(text.len())).unwrap_or(text);
    text.trim_end().trim_end_matches(['.', ':'])
}

/// A clause with a capital letter, unless it begins with a path or another name.
fn sentence(text: &str) -> String {
    let text = clause(text);
    let mut chars = text.chars();
    match chars.next().filter(|_| WORDS.iter().any(|word| text.starts_with(word))) {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, text: &str, state: CallState, outcome: &str, reason: &str) {
        let end = CallEnd::of(tool, text, true, Some(4_100));
        let found = |text: &Option<Printable>| text.as_ref().map(|text| text.to_string()).unwrap_or_default();
        assert_eq!(
            (end.state, found(&end.outcome).as_str(), found(&end.reason).as_str()),
            (state, outcome, reason),
            "{tool}: {text}"
        );
    }

    #[test]
    fn stops_and_skips_are_no_failures() {
        use CallState::{Skipped, Stopped};
        let skipped = "skipped: you sent a message";
        check("bash", "out\naborted by the user after 4.1 s", Stopped, "stopped after 4.1s", "");
        check("bash", "aborted; it may have run in part", Stopped, "stopped after 4.1s", "");
        check("read", "aborted by the user", Stopped, "stopped after 4.1s", "");
        check("read", "skipped: not run, because the user sent a message", Skipped, skipped, "");
        check("read", "skipped: not run, since you sent a message in between", Skipped, skipped, "");
        check("read", "aborted", Skipped, "not run: you stopped", "");
        // In sessions that have it already, too, so its words stay.
        let unanswered =
            "denied: the run was stopped or the session closed before the user decided; the call was not run";
        check("bash", unanswered, Skipped, "not run: you stopped", "");
        let denied = "the user denied this call, it was not run";
        check("bash", denied, Skipped, "not run: you denied it", "");
        let why = format!("{denied}: use the staging host; not this one");
        check("mcp", &why, Skipped, "not run: you denied it", "use the staging host; not this one");
        check(
            "write",
            "not run: the answer was cut off before it was complete",
            Skipped,
            "not run",
            "The answer was cut off before it was complete",
        );
        let killed = "not run: tau ended before the user decided about this call";
        check("bash", killed, Skipped, "not run", "tau ended before the user decided about this call");
        check("x", "interrupted: this call has no result; it may have run", Stopped, "interrupted", "");
    }

    #[test]
    fn failures_are_said_in_words_for_people() {
        let said = |tool, text, reason| check(tool, text, CallState::Failed, "", reason);
        said(
            "read",
            "a b.txt does not exist; list the directory with bash and ls",
            "File not found: a b.txt",
        );
        said(
            "read",
            "/etc/pas\u{200B}swd does not exist; list the directory with bash and ls",
            "File not found: /etc/pas<U+200B>swd",
        );
        said("edit", "x/y does not exist, nor does its directory; the nearest …", "File not found: x/y");
        said(
            "read",
            "File does not exist. Note: your current working directory is /w.",
            "File does not exist",
        );
        said(
            "read",
            "a is a symbolic link to b, which does not exist",
            "a is a symbolic link to b, which does not exist",
        );
        said("ls", "Path does not exist: /w/src", "Path does not exist: /w/src");
        said("ls", "src does not exist; did you mean srv?", "Not found: src");
        said(
            "read",
            "src is a directory, not a file; list it with bash and ls",
            "src is a directory, not a file",
        );
        said("read", "cannot read a: permission denied", "Cannot read a: permission denied");
        said(
            "edit",
            "old_string is not in a.rs; nothing was changed. Nothing …",
            "The text to replace is not in a.rs",
        );
        said(
            "edit",
            "edits[1]: old_string occurs 3 times in a.rs; include more",
            "The text to replace occurs 3 times in a.rs",
        );
        said(
            "edit",
            "old_string is not in a.rs, but new_string already is, at line 3: the edit was probably made before",
            "a.rs already has this change",
        );
        said(
            "write",
            "a.rs has changed since you last saw it; nothing was written. What changed:\n+b",
            "a.rs has changed since the model read it; nothing was written",
        );
        said(
            "edit",
            "edit: the argument `new_string` is missing",
            "The model sent an invalid call: the argument `new_string` is missing",
        );
        said("nosuch", "unknown tool \"nosuch\"; the tools are: read", "There is no tool called nosuch");
        said("theirs", "line one\nline two", "");
    }

    #[test]
    fn notes_lose_their_advice() {
        assert_eq!(brief("[showing 1 of 5 paths; narrow `pattern` or `path`]"), "showing 1 of 5 paths");
        assert_eq!(
            brief("timed out after 1 s and was killed; set a longer `timeout`"),
            "timed out after 1 s and was killed"
        );
        assert_eq!(brief("The exact text was not found; it was matched x, y."), "matched x, y");
    }
}
