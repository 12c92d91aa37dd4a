//! The initial events for a screen that joins a session late: a fold over the session's events.
//!
//! The state comes from the mirror. Everything complete becomes messages, as if the session had just been
//! opened; incomplete parts (an answer, calls, commands, open questions) follow as events with their pieces
//! joined.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tau_agent::api::events::join;
use tau_app::status::is_priced;
use tau_protocol::event::{
    AgentEvent, CompactionResult, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent,
    ShellEvent, TaskEvent, TurnEvent,
};
use tau_protocol::message::{CompactionSummary, Message, Usage};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::usage::helper_usage;

/// Bytes of a running command's output that are kept; of more than twice as much, the end.
const KEPT_OUTPUT: usize = 128 * 1024;

/// The messages of a session, and what is incomplete in it.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    messages: Vec<Arc<Message>>,
    /// The titles of calls, by their ids.
    titles: BTreeMap<String, String>,
    /// The usage before the session was opened; `None` while unknown.
    before: Option<(Usage, bool)>,
    since: Usage,
    calls: Vec<OpenCall>,
    /// The start and the pieces of the unfinished answer.
    answer: Vec<OngoingEvent>,
    shells: Vec<OpenShell>,
    /// A compaction, a wait, or a summary in progress.
    busy: Option<OngoingEvent>,
    run: OpenRun,
}

/// An event whose consequences are in progress.
#[derive(Clone, Debug)]
struct OngoingEvent {
    at: Instant,
    event: AgentEvent,
}

/// The time of the run.
#[derive(Debug, Default)]
struct OpenRun {
    began: Option<Instant>,
    /// The start of its latest turn.
    turn: Option<Instant>,
    /// How much of it passed before answers of the user.
    waited: Duration,
    /// Since when it waits for one.
    waits_since: Option<Instant>,
    /// The questions that wait.
    questions: BTreeSet<String>,
}

/// A call whose result is not a message yet.
#[derive(Debug)]
struct OpenCall {
    id: String,
    start: OngoingEvent,
    /// Its end, or its last update.
    last: Option<AgentEvent>,
}

/// A running command of the user.
#[derive(Debug)]
struct OpenShell {
    id: Option<String>,
    start: OngoingEvent,
    output: String,
}

impl Opening {
    /// Applies an event.
    pub fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Session(SessionEvent::SessionOpened { session, messages, titles }) => {
                *self = Opening {
                    messages: messages.clone(),
                    titles: titles.clone(),
                    // A new session has no earlier usage.
                    before: (!session.resumed).then(|| (Usage::default(), true)),
                    shells: std::mem::take(&mut self.shells),
                    ..Opening::default()
                };
            }
            AgentEvent::Session(SessionEvent::SessionUsage { usage, priced }) => {
                self.before = usage.map(|usage| (usage, *priced));
            }
            AgentEvent::Session(SessionEvent::UsageAdded { usage })
            | AgentEvent::Task(TaskEvent::SideAnswerEnded { usage, .. }) => self.since.add(usage),
            AgentEvent::Run(event) => self.run(event),
            AgentEvent::Turn(of_turn) => self.turn(of_turn, event),
            AgentEvent::Shell(event) => self.shell(event),
            AgentEvent::Questions(event) => self.run.on_question_event(event),
            AgentEvent::Task(TaskEvent::Stopped) => self.settle(),
            // The mirror knows them, or they are over.
            _ => {}
        }
    }

    fn run(&mut self, event: &RunEvent) {
        match event {
            RunEvent::AgentStart => {
                self.run = OpenRun { began: Some(Instant::now()), ..OpenRun::default() };
            }
            RunEvent::AgentSettled { .. } => self.settle(),
            RunEvent::CompactionStart { .. }
            | RunEvent::AutoRetryStart { .. }
            | RunEvent::BranchSummary { running: true } => {
                self.busy = Some(OngoingEvent::now(event.clone().into()));
            }
            RunEvent::CompactionEnd { result, .. } => {
                self.busy = None;
                result.iter().for_each(|result| self.on_compaction(result));
            }
            RunEvent::AutoRetryEnd { .. } | RunEvent::BranchSummary { running: false } => self.busy = None,
            _ => {}
        }
    }

    fn settle(&mut self) {
        self.calls.clear();
        self.answer.clear();
        self.busy = None;
        self.run = OpenRun::default();
    }

    fn on_compaction(&mut self, result: &CompactionResult) {
        result.usage.iter().for_each(|usage| self.since.add(usage));
        let (summary, tokens_before) = (result.summary.clone(), result.tokens_before);
        let summary = CompactionSummary { summary, tokens_before, timestamp: 0 };
        self.messages.push(Arc::new(Message::CompactionSummary(summary)));
    }

    fn turn(&mut self, event: &TurnEvent, whole: &AgentEvent) {
        match event {
            TurnEvent::MessageStart { message } => {
                if matches!(**message, Message::Assistant(_)) {
                    self.answer = vec![OngoingEvent::now(whole.clone())];
                }
            }
            TurnEvent::MessageUpdate { .. } => self.piece(whole),
            TurnEvent::ToolTitle { tool_call_id, title } => {
                self.titles.insert(tool_call_id.clone(), title.clone());
                if !self.answer.is_empty() {
                    self.answer.push(OngoingEvent::now(whole.clone()));
                }
            }
            TurnEvent::MessageEnd { message } => self.message(message),
            TurnEvent::ToolExecutionStart { tool_call_id, .. } => {
                let start = OngoingEvent::now(whole.clone());
                self.calls.push(OpenCall { id: tool_call_id.clone(), start, last: None });
            }
            TurnEvent::ToolExecutionUpdate { tool_call_id, .. }
            | TurnEvent::ToolExecutionEnd { tool_call_id, .. } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *tool_call_id) {
                    call.last = Some(whole.clone());
                }
            }
            TurnEvent::TurnStart => self.run.turn = Some(Instant::now()),
            TurnEvent::TurnEnd { .. } | TurnEvent::HelperEvent { .. } => {}
        }
    }

    fn piece(&mut self, event: &AgentEvent) {
        let joined = self.answer.last_mut().is_some_and(|last| join(&mut last.event, event, usize::MAX));
        if !joined && !self.answer.is_empty() {
            self.answer.push(OngoingEvent::now(event.clone()));
        }
    }

    fn message(&mut self, message: &Arc<Message>) {
        match message.as_ref() {
            Message::Assistant(answer) => {
                self.answer.clear();
                self.since.add(&answer.usage);
            }
            Message::ToolResult(result) => {
                self.calls.retain(|call| call.id != result.tool_call_id);
                self.since.add(&helper_usage(&result.details).unwrap_or_default());
            }
            _ => {}
        }
        self.messages.push(Arc::clone(message));
    }

    fn shell(&mut self, event: &ShellEvent) {
        match event {
            ShellEvent::BashStart { id, .. } => {
                let (id, start) = (id.clone(), OngoingEvent::now(event.clone().into()));
                self.shells.push(OpenShell { id, start, output: String::new() });
            }
            ShellEvent::BashExecutionUpdate { id, delta } => {
                self.shells
                    .iter_mut()
                    .filter(|shell| shell.id == *id)
                    .for_each(|shell| shell.on_output(delta));
            }
            ShellEvent::BashEnd { id, message } => {
                self.shells.retain(|shell| shell.id != *id);
                self.messages.push(Arc::new(Message::BashExecution(message.clone())));
            }
            // The mirror knows them.
            ShellEvent::JobsChanged { .. } => {}
        }
    }

    /// The initial events for a screen of the session of which `known` is known.
    pub fn events(&self, known: &SessionMirror) -> Vec<AgentEvent> {
        let mut events: Vec<AgentEvent> = Vec::new();
        let mut add = |event: AgentEvent| events.push(event);
        add(SessionEvent::SessionOpened {
            session: known.session.clone(),
            messages: self.messages.clone(),
            titles: self.titles.clone(),
        }
        .into());
        if let Some(left) = known.history_left {
            add(SessionEvent::HistoryAvailable { left }.into());
        }
        if let Some((mut usage, priced)) = self.before {
            usage.add(&self.since);
            let model = known.model.as_deref();
            let priced = priced && self.messages.iter().all(|message| is_priced(message, model));
            add(SessionEvent::SessionUsage { usage: Some(usage), priced }.into());
        } else if known.session.resumed {
            add(SessionEvent::SessionUsage { usage: None, priced: true }.into());
        }
        if let Some(model) = known.model.clone() {
            add(SettingsEvent::ModelChanged { model }.into());
        }
        add(SettingsEvent::ThinkingLevelChanged { level: known.thinking }.into());
        if known.context > 0 {
            add(SessionEvent::ContextSize { tokens: known.context }.into());
        }
        let (steering, follow_up) = (known.steering.clone(), known.follow_up.clone());
        add(QueueEvent::QueueUpdate { steering, follow_up }.into());
        if let Some(commands) = known.commands.clone() {
            add(SettingsEvent::CommandsChanged { commands }.into());
        }
        add(SettingsEvent::ResourcesChanged { resources: known.resources.clone() }.into());
        add(SettingsEvent::PermissionModeChanged { mode: known.mode, ceiling: known.mode_ceiling }.into());
        if let Some(limits) = known.limits.clone() {
            add(RunEvent::PlanLimits { limits }.into());
        }
        if known.plan.is_some() {
            add(SessionEvent::PlanChanged { plan: known.plan.clone() }.into());
        }
        if known.goal.is_some() {
            add(SessionEvent::GoalChanged { goal: known.goal.clone() }.into());
        }
        // A screen may know those of a process that has ended.
        add(ShellEvent::JobsChanged { jobs: known.jobs.clone() }.into());
        if known.running {
            add(earlier(self.run.lasts(), RunEvent::AgentStart.into()));
            self.run.turn.iter().for_each(|turn| add(earlier(turn.elapsed(), TurnEvent::TurnStart.into())));
        }
        self.calls.iter().for_each(|call| {
            add(call.start.earlier());
            call.last.iter().cloned().for_each(&mut add);
        });
        self.answer.iter().map(OngoingEvent::earlier).for_each(&mut add);
        for OpenShell { id, start, output } in &self.shells {
            add(start.earlier());
            add(ShellEvent::BashExecutionUpdate { id: id.clone(), delta: output.clone() }.into());
        }
        self.busy.iter().map(OngoingEvent::earlier).for_each(&mut add);
        for request in &known.approvals {
            add(QuestionEvent::ApprovalRequested { request: Box::new(request.clone()) }.into());
        }
        for (id, question) in known.questions.iter().cloned() {
            add(QuestionEvent::Asked { id, question }.into());
        }
        events
    }
}

impl OngoingEvent {
    fn now(event: AgentEvent) -> Self {
        OngoingEvent { at: Instant::now(), event }
    }

    fn earlier(&self) -> AgentEvent {
        earlier(self.at.elapsed(), self.event.clone())
    }
}

impl OpenRun {
    /// Measures how long questions wait.
    fn on_question_event(&mut self, event: &QuestionEvent) {
        match event {
            QuestionEvent::ApprovalRequested { request } => drop(self.questions.insert(request.id.clone())),
            QuestionEvent::Asked { id, .. } => drop(self.questions.insert(id.clone())),
            QuestionEvent::ApprovalEnded { id, .. } | QuestionEvent::AskWithdrawn { id } => {
                return self.end_question(id);
            }
        }
        self.waits_since.get_or_insert_with(Instant::now);
    }

    fn end_question(&mut self, id: &str) {
        self.questions.remove(id);
        if self.questions.is_empty() {
            self.waited += self.waits_since.take().map(|since| since.elapsed()).unwrap_or_default();
        }
    }

    /// How long it has lasted, without the time that it has waited for the user.
    fn lasts(&self) -> Duration {
        let waits = self.waits_since.map(|since| since.elapsed()).unwrap_or_default();
        let lasts = self.began.map(|began| began.elapsed()).unwrap_or_default();
        lasts.saturating_sub(self.waited).saturating_sub(waits)
    }
}

/// The event, as something that happened before.
fn earlier(ago: Duration, event: AgentEvent) -> AgentEvent {
    let ms = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
    TaskEvent::Earlier { ms, event: Box::new(event) }.into()
}

impl OpenShell {
    fn on_output(&mut self, piece: &str) {
        let output = &mut self.output;
        output.push_str(piece);
        if output.len() > 2 * KEPT_OUTPUT {
            // A line begins outside every control sequence.
            let from = output.len().saturating_sub(KEPT_OUTPUT);
            let cut = output.as_bytes().iter().skip(from).position(|byte| *byte == b'\n');
            let cut = cut.map_or(output.len(), |at| from.saturating_add(at).saturating_add(1));
            *output = output.get(cut..).unwrap_or_default().to_owned();
        }
    }
}
