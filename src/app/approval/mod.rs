//! Calls that wait for the user's decision, and the open prompt.
//!
//! The prompt is drawn at the call's panel. It takes keys once it has been on the screen for a while without
//! typing; until then they go to the draft, for which they were meant.

mod always;
mod choice;
mod keys;
mod marked;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::always::AlwaysList;
pub use self::choice::Choice;
pub use self::keys::{PromptStep, SCOPES};
pub use self::marked::MarkedText;
use super::geometry::{CallRow, FrameLayout, ScrollPosition};
use super::key::KeyCode;
use super::line_edit::LineEdit;
use super::msg::Millis;
use super::printable::{Printable, decision_line, decision_name};
use super::request::Ticket;
use super::transcript::arguments::{self, ArgumentText};
use tau_protocol::approval::{ApprovalReason, ApprovalRequest, RuleScope};
use tau_protocol::query::QueryAnswer;
use tau_tools::access::{Access, Preview};
use tau_tools::details::{FileDiff, Hunk};
use tau_tools::user_error::UserError;

/// Milliseconds that a prompt is on the screen, with nothing typed, before a key answers it; and after it, or a
/// command that had the keyboard, is gone, in which typing was meant for it.
pub(crate) const QUIET: Millis = 400;

/// The pending calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Approvals {
    pending: Vec<Approval>,
    /// Index of the call whose prompt is open.
    open: usize,
    /// The prompt on the screen, and the time since which nothing was typed.
    seen: Option<(String, Millis)>,
    /// The view keeps the prompt in sight; otherwise the user scrolls.
    pub follow: bool,
    /// The user is writing and answers later.
    pub aside: bool,
    /// Scroll position when the first call began to wait, and the time of that.
    pub(crate) came_from: ScrollPosition,
    /// The draft was begun before the prompt appeared, so Enter may send it.
    pub(crate) is_draft_meant: bool,
    since: Millis,
    /// Grows with every change of the content above the prompts.
    revision: u32,
}

/// A pending call.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    pub request: ApprovalRequest,
    /// Its command, with the parts that caused the question.
    pub command: Option<MarkedText>,
    /// The change that it would make.
    pub change: Option<Arc<FileDiff>>,
    /// The tool and the title of the call.
    pub name: Printable,
    pub title: Printable,
    /// The reasons for asking, a line each.
    pub reasons: Vec<Printable>,
    pub sandbox: Printable,
    /// The hunk that keys act on.
    pub hunk: usize,
    /// The hunks that are not applied.
    pub rejected: BTreeSet<usize>,
    pub stage: PromptStage,
    /// The choice that Enter selects.
    pub selected: usize,
    /// The arguments, where there is neither a command nor a change.
    pub arguments: Vec<ArgumentText>,
    /// Whether all of it was seen: on the screen, or in an editor.
    is_seen: bool,
    /// The last row that was on the screen, after all rows before it.
    pub seen_row: Option<CallRow>,
    /// The editor that shows it, until it is closed.
    pub(crate) viewer: Option<Ticket>,
    /// The key that was pressed before all of it was seen. Pressed again, it counts.
    pub insists: Option<KeyCode>,
    /// The reason of a denial that was left.
    reason: LineEdit,
    /// The answer was sent.
    pub is_answered: bool,
    /// An answer was sent that may be refused, and nothing was typed since.
    pub(crate) is_sent: bool,
}

/// The stage of a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PromptStage {
    /// The decision.
    #[default]
    Choice,
    /// The reason of a denial.
    Reason(LineEdit),
    /// The meaning of "always".
    Always(AlwaysList),
    /// The rule that would allow calls like this one.
    Rule(RuleDraft),
    /// A replacement command.
    Command(LineEdit),
    /// The text is being edited elsewhere; the ticket of the request.
    Editor(Ticket),
}

/// A rule that is being written.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleDraft {
    pub line: LineEdit,
    pub scope: RuleScope,
    pub coverage: Coverage,
}

/// The input at a prompt that decides nothing yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptInput {
    /// The reason of a denial.
    pub reason: Option<LineEdit>,
    /// A replacement command.
    pub command: Option<LineEdit>,
    /// The hunks that are not applied.
    pub rejected: BTreeSet<usize>,
}

/// The earlier calls that the rule would have covered.
#[derive(Clone, Debug, PartialEq)]
pub enum Coverage {
    /// Not known yet.
    Asked(Ticket),
    /// The titles of those calls.
    Known(Vec<Printable>),
    /// The reason why the text is not a rule.
    Wrong(Printable),
}

impl Coverage {
    /// The agent's answer.
    pub(crate) fn of(answer: &Result<QueryAnswer, UserError>) -> Self {
        match answer {
            Ok(QueryAnswer::Titles(titles)) => {
                Coverage::Known(titles.iter().map(|title| Printable::line(title)).collect())
            }
            Ok(_) => Coverage::Known(Vec::new()),
            Err(error) => Coverage::Wrong(Printable::line(error)),
        }
    }
}

impl Approval {
    fn new(request: &ApprovalRequest) -> Self {
        let (command, change) = match &request.preview {
            Preview::None | Preview::Arguments { .. } => (None, None),
            Preview::Command { command } => {
                let spans = request.reasons.iter().filter_map(|reason| reason.span);
                (Some(MarkedText::new(command, spans)), None)
            }
            Preview::Change { change } => (None, Some(Arc::new(decision_diff(change)))),
        };
        let by = request.helper.as_ref().map(|name| decision_line(&format!("asked by the helper {name}")));
        let mut reasons: Vec<Printable> = by.into_iter().collect();
        // Several parts of a command may have one reason.
        for reason in request.reasons.iter().map(reason) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        match &change {
            Some(change) if change.hunks.is_empty() && !change.cut => {
                reasons.push(Printable::line("the new file is empty"));
            }
            None if command.is_none() => reasons.extend(access_lines(&request.access)),
            Some(_) | None => {}
        }
        Approval {
            command,
            change,
            arguments: match &request.preview {
                Preview::Arguments { arguments } => arguments::all(arguments),
                Preview::None | Preview::Command { .. } | Preview::Change { .. } => Vec::new(),
            },
            is_seen: false,
            seen_row: None,
            viewer: None,
            insists: None,
            name: decision_line(&request.tool_name),
            title: decision_name(&request.title),
            reasons,
            sandbox: decision_line(&request.sandbox),
            hunk: 0,
            rejected: BTreeSet::new(),
            stage: PromptStage::Choice,
            selected: 0,
            reason: LineEdit::default(),
            is_answered: false,
            is_sent: false,
            request: request.clone(),
        }
    }

    /// The input in its prompt that was not sent.
    pub(crate) fn input(&self) -> PromptInput {
        if self.is_answered {
            return PromptInput::default();
        }
        let (mut reason, mut command) = (None, None);
        match &self.stage {
            PromptStage::Reason(line) => reason = Some(line.clone()),
            PromptStage::Command(line) => command = Some(line.clone()),
            PromptStage::Choice | PromptStage::Always(_) | PromptStage::Rule(_) | PromptStage::Editor(_) => {}
        }
        PromptInput { reason, command, rejected: self.rejected.clone() }
    }

    /// Continues with such an input. An answer that was sent has not arrived.
    pub(crate) fn take_input(&mut self, input: &PromptInput) {
        let PromptInput { reason, command, rejected } = input.clone();
        let reason = reason.map(PromptStage::Reason);
        self.stage = reason.or(command.map(PromptStage::Command)).unwrap_or_default();
        self.rejected = rejected;
    }

    /// Records that it was shown in an editor.
    pub(crate) fn mark_seen(&mut self) {
        self.is_seen = true;
        self.viewer = None;
    }

    /// Whether its title shows the whole command.
    pub fn is_title(&self) -> bool {
        let command = match &self.request.preview {
            Preview::Command { command } => Some(decision_line(command.trim())),
            Preview::None | Preview::Arguments { .. } | Preview::Change { .. } => None,
        };
        command.as_ref() == Some(&self.title)
    }

    /// Whether its end must still be seen before one key allows it.
    pub(crate) fn is_unseen(&self) -> bool {
        !self.is_seen
    }

    /// The number of hunks that can be chosen one by one: 0 for a cut change or a single hunk.
    pub fn hunks(&self) -> usize {
        match &self.change {
            Some(change) if !change.cut && change.hunks.len() > 1 => change.hunks.len(),
            _ => 0,
        }
    }

    /// Whether it is pending and can be answered together with `other`: it is a call of the same tool, and
    /// allowing it means the same for the sandbox.
    pub(crate) fn is_like(&self, other: &Approval) -> bool {
        let kind = |it: &Approval| (it.request.blocked.is_some(), it.request.ran);
        !self.is_answered && self.request.tool_name == other.request.tool_name && kind(self) == kind(other)
    }

    /// Whether the command or text can be replaced. The command of a custom tool is made from its arguments.
    pub(crate) fn can_edit(&self) -> bool {
        self.change.is_some() || self.command.is_some() && !self.request.access.commands.is_empty()
    }

    /// The line being typed.
    pub(crate) fn line(&self) -> Option<&LineEdit> {
        match &self.stage {
            PromptStage::Reason(line) | PromptStage::Command(line) => Some(line),
            PromptStage::Rule(draft) => Some(&draft.line),
            PromptStage::Choice | PromptStage::Always(_) | PromptStage::Editor(_) => None,
        }
    }

    fn line_mut(&mut self) -> Option<&mut LineEdit> {
        match &mut self.stage {
            PromptStage::Reason(line) | PromptStage::Command(line) => Some(line),
            PromptStage::Rule(draft) => Some(&mut draft.line),
            PromptStage::Choice | PromptStage::Always(_) | PromptStage::Editor(_) => None,
        }
    }
}

impl Approvals {
    /// Whether no call is pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The pending calls, oldest first.
    pub fn pending(&self) -> &[Approval] {
        &self.pending
    }

    /// The call whose prompt is open.
    pub fn open(&self) -> Option<&Approval> {
        self.pending.get(self.open)
    }

    /// Index of the open call.
    pub fn open_index(&self) -> usize {
        self.open
    }

    /// Changes with everything drawn of the pending calls except the prompt itself.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// The number of pending calls like the open one, itself included.
    pub fn same_kind(&self) -> usize {
        let Some(open) = self.open() else { return 0 };
        self.pending.iter().filter(|other| other.is_like(open)).count()
    }

    /// Adds a pending call; a known one is asked again.
    pub(crate) fn add(&mut self, request: &ApprovalRequest, now: Millis) {
        if self.pending.is_empty() {
            self.since = now;
            self.open = 0;
            self.look_at_prompt();
        }
        self.revision = self.revision.wrapping_add(1);
        let approval = Approval::new(request);
        match self.pending.iter_mut().find(|known| known.request.id == request.id) {
            Some(known) => *known = approval,
            None => self.pending.push(approval),
        }
    }

    /// Makes the screen follow the prompt, unless the user reads further up.
    pub(crate) fn look_at_prompt(&mut self) {
        self.follow = self.came_from == ScrollPosition::Tail;
    }

    /// Removes a call that no longer waits. Returns how long calls have waited, once none is left, and the
    /// stage of its prompt, if the user was about to answer it.
    pub(crate) fn remove(&mut self, id: &str, now: Millis) -> (Option<Millis>, Option<PromptStage>) {
        let Some(index) = self.pending.iter().position(|known| known.request.id == id) else {
            return (None, None);
        };
        let ended = self.pending.remove(index);
        // Keys on their way to a prompt that has just gone are meant for nothing else.
        let is_seen = self.seen.as_ref().is_some_and(|(seen, _)| seen == id) && !self.aside;
        let is_typed = |it: &Approval| index == self.open && !it.is_sent && (it.line().is_some() || is_seen);
        let typed = Some(ended).filter(is_typed).map(|it| it.stage);
        self.revision = self.revision.wrapping_add(1);
        if index < self.open || self.open >= self.pending.len() {
            self.open = self.open.saturating_sub(1);
        }
        self.open_next();
        let waited = self.pending.is_empty().then(|| (now - self.since).max(0));
        if self.pending.is_empty() {
            self.clear();
        }
        (waited, typed)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        *self = Approvals { revision: self.revision.wrapping_add(1), ..Approvals::default() };
    }

    /// Records that a frame has shown the prompt of a request, or none, and how much of the call. Returns whether the
    /// prompt has just appeared.
    pub(crate) fn note_shown(&mut self, laid: &FrameLayout, now: Millis) -> bool {
        let id = laid.asked.as_deref();
        if let Some(approval) = id.and_then(|id| self.by_id(id)) {
            // The end of a cut change is shown by no frame.
            let is_cut = approval.change.as_ref().is_some_and(|change| change.cut);
            approval.is_seen |= laid.asked_end && !is_cut;
            approval.seen_row = laid.asked_row;
        }
        match id {
            None => self.seen = None,
            Some(id) if self.seen.as_ref().is_some_and(|(seen, _)| seen == id) => {}
            Some(id) => {
                self.seen = Some((id.to_owned(), now));
                return true;
            }
        }
        false
    }

    /// Records that a frame has listed these calls whole.
    pub(crate) fn note_listed(&mut self, ids: &[String]) {
        for approval in self.pending.iter_mut().filter(|approval| ids.contains(&approval.request.id)) {
            approval.is_seen = true;
        }
    }

    /// Whether keys go to the open prompt now: a line is being typed in it, or nothing was typed for a while.
    pub(crate) fn is_ready(&self, now: Millis) -> bool {
        if self.open().is_some_and(|open| open.stage != PromptStage::Choice) {
            return true;
        }
        let id = self.open().map(|open| open.request.id.as_str());
        self.seen.as_ref().is_some_and(|(seen, since)| Some(seen.as_str()) == id && now - since >= QUIET)
    }

    /// Records that an answer was sent. Further typing is for the draft, even if the prompt is still there.
    pub(crate) fn mark_sent(&mut self, id: &str) {
        for approval in self.pending.iter_mut().filter(|approval| approval.request.id == id) {
            approval.is_sent = true;
        }
    }

    /// Continues with the input of an earlier prompt, if `resume` finds one.
    pub(crate) fn resume(&mut self, resume: impl Fn(&mut Approval) -> bool) -> bool {
        let is_resumed = self.pending.iter_mut().any(resume);
        if is_resumed {
            self.revision = self.revision.wrapping_add(1);
        }
        is_resumed
    }

    /// Opens the next pending prompt, because the answer to the open one was sent.
    pub(crate) fn mark_answered(&mut self, id: &str) {
        for approval in self.pending.iter_mut().filter(|approval| approval.request.id == id) {
            approval.is_answered = true;
            approval.insists = None;
            approval.stage = PromptStage::Choice;
        }
        self.revision = self.revision.wrapping_add(1);
        self.open_next();
    }

    /// Opens the next unanswered prompt, if the open one was answered.
    fn open_next(&mut self) {
        if self.open().is_none_or(|open| !open.is_answered) {
            return;
        }
        let count = self.pending.len();
        let unanswered = |at: &usize| self.pending.get(*at).is_some_and(|approval| !approval.is_answered);
        if let Some(next) = (0..count).map(|by| (self.open + by) % count).find(unanswered) {
            self.open = next;
            self.look_at_prompt();
        }
    }

    /// The call that waits for this ticket, with the purpose of the ticket.
    pub(crate) fn waiting_for(&mut self, ticket: Ticket) -> Option<&mut Approval> {
        self.pending.iter_mut().find(|approval| match &approval.stage {
            PromptStage::Editor(asked) => *asked == ticket,
            PromptStage::Rule(RuleDraft { coverage: Coverage::Asked(asked), .. }) => *asked == ticket,
            PromptStage::Choice
            | PromptStage::Always(_)
            | PromptStage::Reason(_)
            | PromptStage::Rule(_)
            | PromptStage::Command(_) => false,
        })
    }

    /// The call that an editor shows, by the ticket of the request.
    pub(crate) fn by_viewer(&mut self, ticket: Ticket) -> Option<&mut Approval> {
        self.pending.iter_mut().find(|approval| approval.viewer == Some(ticket))
    }

    /// The open call, mutable.
    pub(crate) fn open_mut(&mut self) -> Option<&mut Approval> {
        self.pending.get_mut(self.open)
    }

    /// The call with this id, mutable.
    pub(crate) fn by_id(&mut self, id: &str) -> Option<&mut Approval> {
        self.pending.iter_mut().find(|approval| approval.request.id == id)
    }

    /// Adds pasted text to the line being typed; false if no line is being typed.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        let line = self.open_mut().and_then(Approval::line_mut);
        line.map(|line| line.paste(text)).is_some()
    }
}

/// A change that is safe to draw, with no invisible text.
fn decision_diff(diff: &FileDiff) -> FileDiff {
    let clean = |line: &String| decision_line(line).as_str().to_owned();
    let hunk = |hunk: &Hunk| Hunk { lines: hunk.lines.iter().map(clean).collect(), ..hunk.clone() };
    FileDiff {
        path: decision_name(&diff.path).as_str().to_owned(),
        hunks: diff.hunks.iter().map(hunk).collect(),
        ..diff.clone()
    }
}

/// A reason in one line: words, then the rule and the path where the words do not name them.
fn reason(reason: &ApprovalReason) -> Printable {
    let mut text = reason.text.clone();
    if let Some(rule) = reason.rule.as_ref().filter(|rule| !reason.text.contains(rule.as_str())) {
        text.push_str(&format!(" · rule {rule}"));
    }
    if let Some(path) = reason.path.as_ref().filter(|path| !names(&reason.text, path)) {
        text.push_str(&format!(" · {}", path.display()));
    }
    decision_line(text.trim_start_matches(" · "))
}

/// Whether a text names a path: in full, or relative to a directory above it.
fn names(text: &str, path: &Path) -> bool {
    let parts: Vec<Component<'_>> = path.components().collect();
    (0..parts.len()).any(|from| {
        let shown: PathBuf = parts.iter().skip(from).collect();
        let shown = shown.to_string_lossy();
        let mut found = text.match_indices(&*shown);
        found.any(|(at, _)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let after = text.get(at + shown.len()..).and_then(|text| text.chars().next());
            let ends = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || ":;,'\"`()".contains(c));
            ends(before) && ends(after)
        })
    })
}

/// The paths that a call without a preview would touch, a line each.
fn access_lines(access: &Access) -> Vec<Printable> {
    let paths = |word: &str, paths: &[std::path::PathBuf]| -> Vec<String> {
        paths.iter().map(|path| format!("{word} {}", path.display())).collect()
    };
    let mut lines = paths("reads", &access.reads);
    lines.extend(paths("writes", &access.writes));
    lines.extend(access.commands.iter().map(|command| format!("runs {command}")));
    lines.extend(access.network.iter().map(|host| format!("contacts {host}")));
    if access.unknown {
        lines.push("may touch anything; the tool doesn't say what".to_owned());
    }
    lines.iter().map(|line| decision_line(line)).collect()
}
