//! Panels of tool calls, ready to be drawn. Panels of the user's commands are in `command_panel.rs`.
//!
//! Details become printable here, once, when they arrive.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;

use super::arguments::CallArguments;
use super::call_end::CallEnd;
pub use super::call_end::CallState;
use super::hidden_secrets::HiddenSecrets;
use crate::ansi::{self, AnsiLine};
use crate::msg::Millis;
use crate::picture::MessagePicture;
use crate::printable::{Printable, decision_line, printable_line};
use crate::token_count;
use tau_protocol::message::HookNote;
use tau_tools::counted::pluralize;
use tau_tools::delegate::report::{HelperReport, HelperState};
use tau_tools::details::{Content, Details, FileDiff, Hunk, TerminalOutput, ToolOutput};
use tau_tools::plan;

/// Maximum lines of a result that are shown besides its output.
const MAX_NOTES: usize = 6;
/// Maximum number of hooks shown for a call.
const MAX_HOOKS: usize = 20;

/// The visible output of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PanelOutput {
    #[default]
    None,
    /// Lines from the start.
    Text(Arc<[Printable]>),
    Diff(Arc<FileDiff>),
    /// The last lines; `hidden` more came before them.
    Terminal {
        lines: Arc<[AnsiLine]>,
        hidden: u64,
        status: Option<Printable>,
    },
    /// One line about a picture.
    Picture(Printable),
    /// A helper: what it has used, what it does now, and what it has done.
    Helper {
        used: Printable,
        doing: Option<Printable>,
        lines: Arc<[Printable]>,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolPanel {
    pub call_id: String,
    pub name: Printable,
    pub title: Printable,
    /// Its command and other long texts.
    pub arguments: CallArguments,
    pub state: CallState,
    /// The reason why the call was stopped or did not run, in a few words.
    pub outcome: Option<Printable>,
    /// The reason why it failed, in a line for the user; the answer has the words for the model.
    pub reason: Option<Printable>,
    pub output: PanelOutput,
    /// The pictures in its result.
    pub pictures: Vec<MessagePicture>,
    /// Notes of the result besides its output: a refusal, a cut, a timeout.
    pub notes: Arc<[Printable]>,
    /// The sandbox's refusal, and its rule.
    pub blocked: Option<Printable>,
    /// Differences between the command that ran and the one of the call, and where it runs on.
    pub remarks: Arc<[Printable]>,
    /// The actions of hooks on it, and whether a hook has a fault.
    pub hooks: Vec<(Printable, bool)>,
    /// The secrets in its output.
    pub secrets: HiddenSecrets,
    /// The time at which the call began to run.
    pub since: Option<Millis>,
    /// Its duration in milliseconds.
    pub duration: Option<u64>,
}

impl ToolPanel {
    /// A panel for a call before its arguments.
    pub fn new(call_id: &str, name: &str) -> Self {
        ToolPanel {
            call_id: call_id.to_owned(),
            name: decision_line(name),
            state: CallState::Arriving,
            ..ToolPanel::default()
        }
    }

    /// Shows a complete or partial result.
    pub fn show(&mut self, content: &[Content], details: &Details) {
        self.output = output(content, details);
        self.secrets = secrets(content, details);
    }

    /// Shows the end of the call, and the actions of hooks on it.
    pub fn finish(&mut self, result: &ToolOutput, failed: bool, duration: Option<u64>, hooks: &[HookNote]) {
        self.hooks = hooks.iter().take(MAX_HOOKS).flat_map(hook_lines).collect();
        self.show(&result.content, &result.details);
        self.notes = notes(result);
        if let Details::Terminal(terminal) = &result.details {
            self.blocked = terminal.blocked.as_ref().map(|it| sandbox_refusal(it, it.is_certain()));
            self.remarks = remarks(terminal);
        }
        self.duration = duration;
        let text: Vec<&str> = result.content.iter().filter_map(text_of).collect();
        let text = text.join("\n");
        let end = CallEnd::of(&self.name, &text, failed, duration);
        self.state = end.state;
        self.outcome = end.outcome;
        let changed = text.strip_prefix(plan::CHANGED).filter(|_| self.name.as_str() == plan::SUBMIT);
        if let Some((_, plan)) = changed.and_then(|rest| rest.split_once("\n\n")) {
            // That of the call is not what is carried out.
            self.arguments.texts.clear();
            self.output = PanelOutput::Text(plan.trim_end().lines().map(decision_line).collect());
        }
        if let Details::Helper(report) = &result.details
            && report.state == HelperState::Stopped
        {
            self.state = CallState::Stopped;
            self.outcome = Some(Printable::line("stopped"));
        }
        // A command's output explains its failure itself.
        self.reason = end.reason.filter(|_| !matches!(self.output, PanelOutput::Terminal { .. }));
        if matches!(self.output, PanelOutput::Diff(_)) {
            self.arguments.texts.clear();
        }
    }

    /// Ends a call that will have no result.
    pub(super) fn end_without_result(&mut self) {
        let asks_for_helper =
            self.state == CallState::Asked && matches!(self.output, PanelOutput::Helper { .. });
        let (state, outcome) = match self.state == CallState::Running || asks_for_helper {
            true => (CallState::Stopped, "interrupted"),
            false => (CallState::Skipped, "not run"),
        };
        (self.state, self.outcome) = (state, Some(Printable::line(outcome)));
    }
}

/// The sandbox's refusal of a command, and its rule.
pub(super) fn sandbox_refusal(denial: &impl Display, is_certain: bool) -> Printable {
    let probably = if is_certain { "" } else { "probably " };
    Printable::line(&format!("the sandbox {probably}blocked {denial}"))
}

/// Differences between the command that ran and the one of the call.
fn remarks(terminal: &TerminalOutput) -> Arc<[Printable]> {
    let edited = terminal.edited.as_ref().map(|command| {
        let (first, lines) = (command.lines().next().unwrap_or_default(), command.lines().count());
        let more = if lines > 1 { format!("… ({lines} lines)") } else { String::new() };
        format!("you changed the command to: {first}{more}")
    });
    let again = "run a second time, because the sandbox had refused a part of it".to_owned();
    let job = terminal.job.map(|job| format!("moved to the background · job {job}"));
    let all = [edited, terminal.ran_again.then_some(again), job];
    all.iter().flatten().map(|remark| Printable::line(remark)).collect()
}

/// The action of a hook, in lines.
fn hook_lines(note: &HookNote) -> impl Iterator<Item = (Printable, bool)> {
    let text = format!("hook {}: {}", note.hook, note.text);
    let lines: Vec<Printable> = text.lines().take(MAX_NOTES).map(Printable::line).collect();
    let is_warning = note.is_warning;
    lines.into_iter().map(move |line| (line, is_warning))
}

/// A head line for a call without a title from its tool: its first text argument.
pub(crate) fn fallback_title(args: &Value) -> String {
    let first = args.as_object().and_then(|fields| fields.values().find_map(Value::as_str));
    first.and_then(|text| text.lines().next()).unwrap_or("").to_owned()
}

fn output(content: &[Content], details: &Details) -> PanelOutput {
    match details {
        Details::Diff(diff) => PanelOutput::Diff(Arc::new(printable_diff(diff))),
        Details::Terminal(output) => terminal(output),
        Details::Text { text } => lines(text),
        Details::Helper(report) => helper(report, content),
        Details::Paths { paths, .. } => {
            PanelOutput::Text(paths.iter().map(|path| Printable::line(path)).collect())
        }
        Details::Image { mime_type, width, height, bytes } => PanelOutput::Picture(Printable::line(
            &format!("{mime_type}, {width}x{height}, {} KB", bytes / 1024),
        )),
        Details::None | Details::Lines(_) => {
            let texts: Vec<&str> = content.iter().filter_map(text_of).collect();
            lines(&texts.join("\n"))
        }
    }
}

/// The hidden secrets in the visible part of a result.
fn secrets(content: &[Content], details: &Details) -> HiddenSecrets {
    match details {
        Details::Text { text } | Details::Terminal(TerminalOutput { text, .. }) => {
            HiddenSecrets::of([text.as_str()])
        }
        Details::Diff(diff) => {
            HiddenSecrets::of(diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(String::as_str))
        }
        Details::Paths { paths, .. } => HiddenSecrets::of(paths.iter().map(String::as_str)),
        Details::Helper(report) => {
            let said = content.iter().filter_map(text_of);
            HiddenSecrets::of(report.steps.iter().map(String::as_str).chain(said))
        }
        Details::None | Details::Lines(_) | Details::Image { .. } => {
            HiddenSecrets::of(content.iter().filter_map(text_of))
        }
    }
}

/// The sentences of an answer that its details leave out, so that no refusal, cut or end goes unmentioned.
fn notes(result: &ToolOutput) -> Arc<[Printable]> {
    let text: Vec<&str> = result.content.iter().filter_map(text_of).flat_map(str::lines).collect();
    let notes: Vec<&str> = match &result.details {
        // The first line repeats the head; others say how the place was found. The applied part of a partly
        // approved change is the diff itself.
        Details::Diff(_) => text.into_iter().skip(1).take_while(|line| !line.starts_with("@@ ")).collect(),
        Details::Paths { paths, .. } => text.into_iter().skip(paths.len()).collect(),
        Details::Terminal(_) => {
            let ours = |line: &&str| {
                // Sessions of earlier versions have the second form.
                let background = [" is still running in the background; ", " still runs in the background; "];
                line.starts_with("timed out after ") || background.iter().any(|form| line.contains(form))
            };
            // They are at the end, before a last line that repeats the head.
            let end = text.len().saturating_sub(MAX_NOTES);
            text.into_iter().skip(end).filter(ours).collect()
        }
        _ => Vec::new(),
    };
    notes.into_iter().take(MAX_NOTES).map(Printable::line).collect()
}

fn text_of(content: &Content) -> Option<&str> {
    match content {
        Content::Text { text } => Some(text),
        Content::Image { .. } => None,
    }
}

fn lines(text: &str) -> PanelOutput {
    if text.trim().is_empty() {
        return PanelOutput::None;
    }
    PanelOutput::Text(text.trim_end().lines().map(Printable::line).collect())
}

/// The calls and the use of a helper.
fn helper(report: &HelperReport, content: &[Content]) -> PanelOutput {
    let mut used = vec![format!("{} tokens", token_count::tokens(report.tokens()))];
    let about = if report.estimated { "~" } else { "" };
    match (report.cost > 0.0, report.unpriced) {
        (true, false) => used.push(format!("{about}${:.3}", report.cost)),
        (true, true) => used.push(format!("{about}${:.3}+?", report.cost)),
        (false, true) => used.push("$?".to_owned()),
        (false, false) => {}
    }
    let doing = match report.state {
        HelperState::Waiting => Some("waits for another helper to end".to_owned()),
        HelperState::Running if report.model.is_empty() => Some(report.doing.clone()),
        HelperState::Running => Some(format!("{} · {}", report.doing, report.model)),
        HelperState::Asking => Some("waits for you".to_owned()),
        HelperState::Done | HelperState::Failed | HelperState::Stopped => None,
    };
    let mut lines = vec![format!("{} · {}", report.name, report.model)];
    let hidden = report.calls.saturating_sub(report.steps.len() as u64);
    if hidden > 0 {
        lines.push(format!("⋯ {} before these", pluralize(hidden, "call")));
    }
    lines.extend(report.steps.iter().cloned());
    lines.extend(content.iter().filter_map(text_of).flat_map(str::lines).map(str::to_owned));
    PanelOutput::Helper {
        used: Printable::line(&used.join(" · ")),
        doing: doing.map(|doing| Printable::line(&doing)),
        lines: lines.iter().map(|line| Printable::line(line)).collect(),
    }
}

fn terminal(output: &TerminalOutput) -> PanelOutput {
    let lines: Arc<[AnsiLine]> = ansi::lines(&output.text).into();
    // What moves the cursor may draw fewer lines than it writes.
    let left_out = if output.truncated { output.total_lines } else { 0 };
    let hidden = left_out.saturating_sub(lines.len() as u64);
    let status = match (output.exit_code, output.signal) {
        (Some(0), _) | (None, None) => None,
        (Some(code), _) => Some(Printable::line(&format!("exit {code}"))),
        (None, Some(signal)) => Some(Printable::line(&format!("signal {signal}"))),
    };
    PanelOutput::Terminal { lines, hidden, status }
}

/// A change whose text may be drawn.
pub(crate) fn printable_diff(diff: &FileDiff) -> FileDiff {
    let clean = |line: &String| printable_line(line).into_owned();
    let hunk = |hunk: &Hunk| Hunk { lines: hunk.lines.iter().map(clean).collect(), ..hunk.clone() };
    FileDiff {
        path: printable_line(&diff.path).into_owned(),
        hunks: diff.hunks.iter().map(hunk).collect(),
        ..diff.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_a_helper_says_what_its_cost_is_known_of() {
        for (unpriced, estimated, expected) in [
            (false, false, "$2.314"),
            (false, true, "~$2.314"),
            (true, false, "$2.314+?"),
            (true, true, "~$2.314+?"),
        ] {
            let report = HelperReport { cost: 2.314, unpriced, estimated, ..HelperReport::default() };
            let PanelOutput::Helper { used, .. } = helper(&report, &[]) else { panic!() };
            assert_eq!(used.as_str(), format!("0 tokens · {expected}"));
        }
    }
}
