//! The agent's activity and usage: folded from its events, shown in the footer and above the composer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::msg::Millis;
use super::printable::Printable;
use tau_protocol::event::{
    AgentEvent, CompactionReason, CompactionResult, Delta, QueueEvent, RunEvent, SessionEvent, SessionInfo,
    ShellEvent, TaskEvent, TurnEvent,
};
use tau_protocol::goal;
use tau_protocol::message::{Message, StopReason, Usage};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::model::{Api, Model as AiModel};
use tau_protocol::query::{HistoryPage, QueryAnswer};
use tau_protocol::title;
use tau_protocol::usage::helper_usage;
use tau_tools::details::Details;

/// The agent's activity.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Activity {
    #[default]
    Waiting,
    Thinking,
    Answering,
    /// A call is being written.
    Calling(Printable),
    /// Calls run: their ids and names.
    Running(Vec<(String, Printable)>),
    /// A transient failure of the provider; the next attempt comes at `until`.
    Retrying {
        until: Millis,
        attempt: u32,
        of: u32,
        error: Printable,
    },
    /// No data since `since`; the request times out at `until`.
    Silent {
        since: Millis,
        until: Millis,
    },
    Compacting,
    /// The abandoned branch is being summarized.
    SummarizingBranch,
}

/// A run of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRun {
    pub since: Millis,
    pub activity: Activity,
    /// Start time of the activity.
    pub activity_since: Millis,
    /// The user has asked it to stop.
    pub stopping: bool,
}

/// The coverage of a session's total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageCoverage {
    /// The usage of the loaded messages.
    #[default]
    Loaded,
    /// The rest is being counted.
    Counting,
    /// Everything.
    All,
}

/// The text of a queued message.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedText {
    /// The text as sent.
    pub text: String,
    /// The displayed text, on one line.
    pub shown: Printable,
}

impl QueuedText {
    fn new(text: &str) -> Self {
        QueuedText { text: text.to_owned(), shown: Printable::line(text) }
    }
}

/// The agent's state as seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    pub run: Option<AgentRun>,
    /// The session, as its events describe it.
    pub mirror: SessionMirror,
    /// The start of the first message, if known: the title of an unnamed session.
    pub began: Option<Printable>,
    /// The session has no messages yet.
    pub fresh: bool,
    /// Queued messages.
    pub steering: Vec<QueuedText>,
    pub follow_up: Vec<QueuedText>,
    /// Tokens and cost of the whole session, as far as `usage_known` says.
    pub total: Usage,
    /// The use of running helpers so far, by the call that asked for each.
    pub(crate) helpers: BTreeMap<String, Usage>,
    /// The part of `total` used before the session was opened.
    pub(crate) before: Usage,
    pub usage_known: UsageCoverage,
    /// False when some of it was used with a model whose price is unknown.
    pub priced: bool,
    /// The current branch.
    pub branch: Option<Printable>,
    /// The time at which the goal was as `mirror` says, later by what the run has waited for the user since.
    pub(crate) goal_at: Millis,
}

impl Status {
    /// Applies an event. Irrelevant events are ignored.
    pub fn fold(&mut self, event: &AgentEvent, now: Millis) {
        self.mirror.apply(event);
        match event {
            AgentEvent::Session(SessionEvent::GoalChanged { .. }) => self.goal_at = now,
            AgentEvent::Run(RunEvent::AgentStart) => {
                self.begin(Activity::Waiting, now);
            }
            AgentEvent::Run(RunEvent::AgentSettled { .. }) | AgentEvent::Task(TaskEvent::Stopped) => {
                self.run = None;
            }
            // The user requested it, so nothing else is running.
            AgentEvent::Run(RunEvent::CompactionStart { reason: CompactionReason::Manual }) => {
                self.begin(Activity::Compacting, now);
            }
            AgentEvent::Run(RunEvent::BranchSummary { running: true }) => {
                self.begin(Activity::SummarizingBranch, now);
            }
            AgentEvent::Run(RunEvent::CompactionEnd { reason: CompactionReason::Manual, result, .. }) => {
                self.run = None;
                self.count_compaction(result.as_deref());
            }
            AgentEvent::Run(RunEvent::CompactionEnd { result: Some(result), .. }) => {
                self.count_compaction(Some(result));
                self.enter(Activity::Waiting, now);
            }
            AgentEvent::Run(RunEvent::BranchSummary { running: false }) => self.run = None,
            AgentEvent::Task(TaskEvent::SideAnswerEnded { usage, .. })
            | AgentEvent::Session(SessionEvent::UsageAdded { usage }) => self.total.add(usage),
            AgentEvent::Session(SessionEvent::SessionOpened { session, messages, .. }) => {
                self.open(session, messages);
            }
            AgentEvent::Queue(QueueEvent::QueueUpdate { steering, follow_up }) => {
                self.steering = steering.iter().map(|text| QueuedText::new(text)).collect();
                self.follow_up = follow_up.iter().map(|text| QueuedText::new(text)).collect();
            }
            AgentEvent::Session(SessionEvent::HistoryAvailable { .. }) => self.began = None,
            AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::HistoryPage(page)), .. }) => {
                let HistoryPage { messages, left, .. } = page;
                if let (None, Some(first)) = (left, messages.first()) {
                    self.began = beginning(first);
                }
                if self.usage_known == UsageCoverage::Loaded {
                    messages.iter().for_each(|message| self.count(message));
                }
            }
            AgentEvent::Session(SessionEvent::SessionUsage { usage: None, .. }) => {
                self.usage_known = UsageCoverage::Counting;
            }
            AgentEvent::Session(SessionEvent::SessionUsage { usage: Some(usage), priced }) => {
                self.total = minus(&self.total, &self.before);
                self.total.add(usage);
                self.before = *usage;
                self.priced &= *priced;
                self.usage_known = UsageCoverage::All;
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                if self.fresh && matches!(**message, Message::User(_) | Message::Assistant(_)) {
                    self.fresh = false;
                    self.began = beginning(message);
                }
                self.count(message);
            }
            _ => {
                self.follow_helpers(event);
                if let Some(activity) = self.activity(event, now) {
                    self.enter(activity, now);
                }
                if let (AgentEvent::Turn(TurnEvent::TurnStart), Some(run)) = (event, &mut self.run) {
                    run.activity_since = now;
                }
            }
        }
    }

    /// Takes what the helper of a call has used so far; its result is counted with its message.
    fn follow_helpers(&mut self, event: &AgentEvent) {
        let (call, details) = match event {
            AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. }) => {
                (tool_call_id, &partial_result.details)
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, result, .. }) => {
                (tool_call_id, &result.details)
            }
            _ => return,
        };
        if let Some(usage) = helper_usage(details) {
            self.helpers.insert(call.clone(), usage);
        }
    }

    fn begin(&mut self, activity: Activity, now: Millis) {
        self.run = Some(AgentRun { since: now, activity, activity_since: now, stopping: false });
    }

    /// Whether more calls are running than the `waiting` ones.
    pub(crate) fn runs_calls_beside(&self, waiting: usize) -> bool {
        match self.run.as_ref().map(|run| &run.activity) {
            Some(Activity::Running(calls)) => calls.len() > waiting,
            _ => false,
        }
    }

    /// Subtracts time that the run has waited for the user.
    pub(crate) fn subtract_run_wait(&mut self, waited: Millis, now: Millis) {
        if let Some(run) = &mut self.run {
            run.since = run.since.saturating_add(waited).min(now);
            run.activity_since = run.activity_since.saturating_add(waited).min(now);
            self.goal_at = self.goal_at.saturating_add(waited).min(now);
        }
    }

    /// The share of the context window in use, in percent; `None` when either is unknown.
    pub fn context_percent(&self) -> Option<u64> {
        let window = self.mirror.model.as_ref().map_or(0, |model| model.context_window);
        (window > 0).then(|| (self.mirror.context.saturating_mul(100) / window).min(999))
    }

    /// The number of queued messages.
    pub fn queued_count(&self) -> usize {
        self.steering.len() + self.follow_up.len()
    }

    fn open(&mut self, session: &SessionInfo, messages: &[Arc<Message>]) {
        self.run = None;
        self.total = Usage::default();
        self.helpers.clear();
        self.priced = true;
        self.fresh = messages.is_empty();
        self.began = messages.first().and_then(|message| beginning(message));
        for message in messages {
            self.count(message);
        }
        self.before = self.total;
        // The earlier usage of a session opened from a file is reported next.
        self.usage_known = if session.resumed { UsageCoverage::Counting } else { UsageCoverage::Loaded };
    }

    /// Counts a compaction, which costs tokens, too.
    fn count_compaction(&mut self, result: Option<&CompactionResult>) {
        if let Some(usage) = result.and_then(|result| result.usage) {
            self.total.add(&usage);
        }
    }

    /// Tokens and cost of the session with what running helpers have used so far.
    pub fn total_with_helpers(&self) -> Usage {
        let mut total = self.total;
        self.helpers.values().for_each(|usage| total.add(usage));
        total
    }

    fn count(&mut self, message: &Message) {
        self.priced &= is_priced(message, self.mirror.model.as_deref());
        if let Message::ToolResult(result) = message {
            self.helpers.remove(&result.tool_call_id);
            self.total.add(&helper_usage(&result.details).unwrap_or_default());
        }
        let Message::Assistant(answer) = message else { return };
        self.total.add(&answer.usage);
    }

    fn enter(&mut self, activity: Activity, now: Millis) {
        if let Some(run) = self.run.as_mut().filter(|run| run.activity != activity) {
            // What still runs began before.
            if !matches!((&run.activity, &activity), (Activity::Running(_), Activity::Running(_))) {
                run.activity_since = now;
            }
            run.activity = activity;
        }
    }

    fn activity(&self, event: &AgentEvent, now: Millis) -> Option<Activity> {
        Some(match event {
            AgentEvent::Turn(TurnEvent::TurnStart)
            | AgentEvent::Run(RunEvent::AutoRetryEnd { .. })
            | AgentEvent::Run(RunEvent::CompactionEnd { .. }) => Activity::Waiting,
            AgentEvent::Turn(TurnEvent::MessageUpdate { assistant_message_event, .. }) => {
                match assistant_message_event {
                    Delta::TextStart { .. } => Activity::Answering,
                    Delta::ThinkingStart { .. } => Activity::Thinking,
                    Delta::ToolCallStart { tool_name, .. } => Activity::Calling(Printable::line(tool_name)),
                    Delta::ThinkingDelta { .. } if self.silent() => Activity::Thinking,
                    _ if self.silent() => Activity::Answering,
                    _ => return None,
                }
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, tool_name, .. }) => {
                let mut calls = self.running();
                calls.push((tool_call_id.clone(), Printable::line(tool_name)));
                Activity::Running(calls)
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, .. }) => {
                let mut calls = self.running();
                calls.retain(|(id, _)| id != tool_call_id);
                if calls.is_empty() { Activity::Waiting } else { Activity::Running(calls) }
            }
            AgentEvent::Shell(ShellEvent::BashStart { id: Some(id), .. }) if id.starts_with(goal::CHECK) => {
                Activity::Running(vec![(id.clone(), Printable::line("the goal's command"))])
            }
            AgentEvent::Shell(ShellEvent::BashEnd { id: Some(id), .. }) if id.starts_with(goal::CHECK) => {
                Activity::Waiting
            }
            AgentEvent::Run(RunEvent::AutoRetryStart { attempt, max_attempts, delay_ms, error_message }) => {
                Activity::Retrying {
                    until: now.saturating_add_unsigned(*delay_ms),
                    attempt: *attempt,
                    of: *max_attempts,
                    error: Printable::line(error_message),
                }
            }
            AgentEvent::Run(RunEvent::Stalled { idle_ms, limit_ms }) => {
                let since = now.saturating_sub_unsigned(*idle_ms);
                Activity::Silent { since, until: since.saturating_add_unsigned(*limit_ms) }
            }
            AgentEvent::Run(RunEvent::CompactionStart { .. }) => Activity::Compacting,
            _ => return None,
        })
    }

    fn silent(&self) -> bool {
        matches!(self.run.as_ref().map(|run| &run.activity), Some(Activity::Silent { .. }))
    }

    fn running(&self) -> Vec<(String, Printable)> {
        match self.run.as_ref().map(|run| &run.activity) {
            Some(Activity::Running(calls)) => calls.clone(),
            _ => Vec::new(),
        }
    }
}

/// Whether the price of a message is known, or nothing was paid. Of answers it is known whether `model` has one.
pub fn is_priced(message: &Message, model: Option<&AiModel>) -> bool {
    match message {
        Message::ToolResult(result) => !matches!(&result.details, Details::Helper(report) if report.unpriced),
        Message::Assistant(answer) => {
            let known = |model: &AiModel| {
                model.id != answer.model || model.cost.is_some() || model.api == Api::Scripted
            };
            let usage = &answer.usage;
            let is_empty = usage.input + usage.output + usage.cache_read + usage.cache_write == 0;
            let has_failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            model.is_none_or(known) || is_empty && has_failed || usage.cost.total > 0.0
        }
        _ => true,
    }
}

fn minus(sum: &Usage, usage: &Usage) -> Usage {
    let mut rest = Usage {
        input: sum.input.saturating_sub(usage.input),
        output: sum.output.saturating_sub(usage.output),
        cache_read: sum.cache_read.saturating_sub(usage.cache_read),
        cache_write: sum.cache_write.saturating_sub(usage.cache_write),
        estimated: sum.estimated,
        ..Usage::default()
    };
    rest.cost.total = (sum.cost.total - usage.cost.total).max(0.0);
    rest
}

/// The title of a session that starts with this message.
fn beginning(message: &Message) -> Option<Printable> {
    let Message::User(user) = message else { return None };
    title::of(&user.content.text()).map(|title| Printable::line(&title))
}
