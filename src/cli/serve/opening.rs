//! The initial events for a screen that joins a session late: a fold over the session's events.
//!
//! Everything complete becomes messages, as if the session had just been opened; incomplete parts (an answer,
//! calls, commands, open questions) follow as events with their pieces joined.

use std::collections::BTreeMap;
use std::sync::Arc;

use tau_agent::api::events::join;
use tau_protocol::approval::PermissionMode;
use tau_protocol::event::AgentEvent;
use tau_protocol::event::{
    QuestionEvent, QueueEvent, RunEvent, SessionEvent, SessionInfo, SettingsEvent, ShellEvent, TaskEvent,
    TurnEvent,
};
use tau_protocol::message::{CompactionSummary, Message, Usage};

/// Bytes of a running command's output that are kept; of more than twice as much, the end.
const KEPT_OUTPUT: usize = 128 * 1024;

/// The facts about a session.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    session: SessionInfo,
    messages: Vec<Arc<Message>>,
    /// The titles of calls, by their ids.
    titles: BTreeMap<String, String>,
    /// The event that there are messages before the loaded ones.
    history: Option<AgentEvent>,
    /// The usage before the session was opened; `None` while unknown.
    before: Option<(Usage, bool)>,
    /// The usage since.
    since: Usage,
    /// The last event of each kind that reports a state.
    settings: [Option<AgentEvent>; 5],
    mode: PermissionMode,
    running: bool,
    calls: Vec<OpenCall>,
    /// The start and the pieces of the unfinished answer.
    answer: Vec<AgentEvent>,
    /// Running commands of the user: their start and their output.
    shells: Vec<[AgentEvent; 2]>,
    /// A compaction, a wait, or a summary in progress.
    busy: Option<AgentEvent>,
    /// The accepted plan.
    plan: Option<AgentEvent>,
    /// Open questions to the user.
    waiting: Vec<AgentEvent>,
}

/// A call whose result is not a message yet.
#[derive(Debug)]
struct OpenCall {
    id: String,
    start: AgentEvent,
    /// Its last update.
    update: Option<AgentEvent>,
    end: Option<AgentEvent>,
}

impl Opening {
    /// The initial facts of a session.
    pub fn new(session: SessionInfo, mode: PermissionMode) -> Self {
        Opening { session, mode, ..Opening::default() }
    }

    /// Applies an event.
    pub fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Session(SessionEvent::SessionOpened { session, messages, titles }) => {
                self.open(session, messages, titles);
            }
            AgentEvent::Session(SessionEvent::HistoryAvailable { .. }) => self.history = Some(event.clone()),
            AgentEvent::Session(SessionEvent::SessionUsage { usage, priced }) => {
                self.before = usage.map(|usage| (usage, *priced));
            }
            AgentEvent::Session(SessionEvent::SessionInfoChanged { name }) => {
                self.session.name.clone_from(name);
            }
            AgentEvent::Settings(SettingsEvent::ModelChanged { .. }) => self.set(0, event),
            AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. }) => self.set(1, event),
            AgentEvent::Queue(QueueEvent::QueueUpdate { .. }) => self.set(2, event),
            AgentEvent::Settings(SettingsEvent::CommandsChanged { .. }) => self.set(3, event),
            AgentEvent::Settings(SettingsEvent::ResourcesChanged { .. }) => self.set(4, event),
            AgentEvent::Settings(SettingsEvent::PermissionModeChanged { mode }) => self.mode = *mode,
            AgentEvent::Session(SessionEvent::PlanChanged { plan }) => {
                self.plan = plan.as_ref().map(|_| event.clone());
            }
            event => self.work(event),
        }
    }

    /// Applies an event about the agent's work.
    fn work(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Run(RunEvent::AgentStart) => self.running = true,
            AgentEvent::Run(RunEvent::AgentSettled { .. }) | AgentEvent::Task(TaskEvent::Stopped) => {
                self.running = false;
                self.calls.clear();
                self.answer.clear();
                self.busy = None;
                self.waiting.clear();
            }
            AgentEvent::Turn(TurnEvent::MessageStart { message }) => {
                if matches!(**message, Message::Assistant(_)) {
                    self.answer = vec![event.clone()];
                }
            }
            AgentEvent::Turn(TurnEvent::MessageUpdate { .. }) => self.piece(event),
            AgentEvent::Turn(TurnEvent::ToolTitle { tool_call_id, title }) => {
                self.titles.insert(tool_call_id.clone(), title.clone());
                if !self.answer.is_empty() {
                    self.answer.push(event.clone());
                }
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => self.message(message),
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, .. }) => {
                let (id, start) = (tool_call_id.clone(), event.clone());
                self.calls.push(OpenCall { id, start, update: None, end: None });
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { tool_call_id, .. }) => {
                self.on_call(tool_call_id, |call| call.update = Some(event.clone()));
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, .. }) => {
                self.on_call(tool_call_id, |call| {
                    call.end = Some(event.clone());
                    call.update = None;
                });
            }
            event => self.happen(event),
        }
    }

    /// Applies an event other than one about answers and calls.
    fn happen(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Shell(ShellEvent::BashStart { id, .. }) => {
                let output = AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id: id.clone(), delta: String::new() });
                self.shells.push([event.clone(), output]);
            }
            AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id, delta }) => self.output(id.as_ref(), delta),
            AgentEvent::Shell(ShellEvent::BashEnd { id, message }) => {
                let is_it =
                    |start: &AgentEvent| matches!(start, AgentEvent::Shell(ShellEvent::BashStart { id: own, .. }) if own == id);
                self.shells.retain(|[start, _]| !is_it(start));
                self.messages.push(Arc::new(Message::BashExecution(message.clone())));
            }
            AgentEvent::Run(RunEvent::CompactionStart { .. })
            | AgentEvent::Run(RunEvent::AutoRetryStart { .. })
            | AgentEvent::Run(RunEvent::BranchSummary { running: true }) => self.busy = Some(event.clone()),
            AgentEvent::Run(RunEvent::CompactionEnd { result, .. }) => {
                self.busy = None;
                if let Some(result) = result {
                    if let Some(usage) = &result.usage {
                        self.since.add(usage);
                    }
                    let summary = CompactionSummary {
                        summary: result.summary.clone(),
                        tokens_before: result.tokens_before,
                        timestamp: 0,
                    };
                    self.messages.push(Arc::new(Message::CompactionSummary(summary)));
                }
            }
            AgentEvent::Run(RunEvent::AutoRetryEnd { .. }) | AgentEvent::Run(RunEvent::BranchSummary { running: false }) => {
                self.busy = None;
            }
            AgentEvent::Questions(QuestionEvent::ApprovalRequested { .. }) | AgentEvent::Questions(QuestionEvent::Asked { .. }) => {
                self.waiting.push(event.clone());
            }
            AgentEvent::Questions(QuestionEvent::ApprovalEnded { id, .. }) => self.decided(id),
            AgentEvent::Questions(QuestionEvent::AskWithdrawn { id }) => self.answered(id),
            // Handled before.
            AgentEvent::Session(SessionEvent::SessionOpened { .. })
            | AgentEvent::Session(SessionEvent::HistoryAvailable { .. })
            | AgentEvent::Session(SessionEvent::SessionUsage { .. })
            | AgentEvent::Session(SessionEvent::SessionInfoChanged { .. })
            | AgentEvent::Settings(SettingsEvent::ModelChanged { .. })
            | AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. })
            | AgentEvent::Queue(QueueEvent::QueueUpdate { .. })
            | AgentEvent::Settings(SettingsEvent::CommandsChanged { .. })
            | AgentEvent::Settings(SettingsEvent::ResourcesChanged { .. })
            | AgentEvent::Settings(SettingsEvent::PermissionModeChanged { .. })
            | AgentEvent::Session(SessionEvent::PlanChanged { .. })
            | AgentEvent::Run(RunEvent::AgentStart)
            | AgentEvent::Run(RunEvent::AgentSettled { .. })
            | AgentEvent::Task(TaskEvent::Stopped)
            | AgentEvent::Turn(TurnEvent::MessageStart { .. })
            | AgentEvent::Turn(TurnEvent::MessageUpdate { .. })
            | AgentEvent::Turn(TurnEvent::MessageEnd { .. })
            | AgentEvent::Turn(TurnEvent::ToolTitle { .. })
            | AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. })
            | AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { .. })
            | AgentEvent::Turn(TurnEvent::ToolExecutionEnd { .. })
            // Events about something already over.
            | AgentEvent::Run(RunEvent::AgentEnd { .. })
            | AgentEvent::Turn(TurnEvent::TurnStart)
            | AgentEvent::Turn(TurnEvent::TurnEnd { .. })
            | AgentEvent::Run(RunEvent::Stalled { .. })
            | AgentEvent::Session(SessionEvent::SessionRefused { .. })
            | AgentEvent::Task(TaskEvent::Answered { .. })
            | AgentEvent::Queue(QueueEvent::QueueReturned { .. })
            | AgentEvent::Queue(QueueEvent::QueueChangeFailed { .. })
            | AgentEvent::Settings(SettingsEvent::RulesChanged)
            | AgentEvent::Task(TaskEvent::Notice { .. })
            | AgentEvent::Run(RunEvent::RunStopped { .. })
            | AgentEvent::Session(SessionEvent::FilesRestored { .. })
            | AgentEvent::Settings(SettingsEvent::ExtensionsChanged) => {}
        }
    }

    /// Records that a question was answered.
    pub fn answered(&mut self, id: &str) {
        self.waiting.retain(|event| !matches!(event, AgentEvent::Questions(QuestionEvent::Asked { id: own, .. }) if own == id));
    }

    fn decided(&mut self, id: &str) {
        self.waiting
            .retain(|event| !matches!(event, AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) if request.id == id));
    }

    fn set(&mut self, kind: usize, event: &AgentEvent) {
        if let Some(place) = self.settings.get_mut(kind) {
            *place = Some(event.clone());
        }
    }

    fn open(&mut self, session: &SessionInfo, messages: &[Arc<Message>], titles: &BTreeMap<String, String>) {
        let (settings, shells) = (std::mem::take(&mut self.settings), std::mem::take(&mut self.shells));
        *self = Opening {
            session: session.clone(),
            messages: messages.to_vec(),
            titles: titles.clone(),
            // A new session has no earlier usage.
            before: (!session.resumed).then(|| (Usage::default(), true)),
            settings,
            mode: self.mode,
            shells,
            ..Opening::default()
        };
    }

    fn piece(&mut self, event: &AgentEvent) {
        let joined = self.answer.last_mut().is_some_and(|last| join(last, event, usize::MAX));
        if !joined && !self.answer.is_empty() {
            self.answer.push(event.clone());
        }
    }

    fn message(&mut self, message: &Arc<Message>) {
        match message.as_ref() {
            Message::Assistant(answer) => {
                self.answer.clear();
                self.since.add(&answer.usage);
            }
            Message::ToolResult(result) => self.calls.retain(|call| call.id != result.tool_call_id),
            _ => {}
        }
        self.messages.push(Arc::clone(message));
    }

    fn on_call(&mut self, id: &str, change: impl FnOnce(&mut OpenCall)) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            change(call);
        }
    }

    fn output(&mut self, id: Option<&String>, piece: &str) {
        for [_, output] in &mut self.shells {
            let AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id: own, delta }) = output else {
                continue;
            };
            if own.as_ref() == id {
                delta.push_str(piece);
                if delta.len() > 2 * KEPT_OUTPUT {
                    // A line begins outside every control sequence.
                    let from = delta.len().saturating_sub(KEPT_OUTPUT);
                    let cut = delta.as_bytes().iter().skip(from).position(|byte| *byte == b'\n');
                    let cut = cut.map_or(delta.len(), |at| from.saturating_add(at).saturating_add(1));
                    *delta = delta.get(cut..).unwrap_or_default().to_owned();
                }
            }
        }
    }

    /// The initial events for a screen.
    pub fn events(&self) -> Vec<AgentEvent> {
        let opened = AgentEvent::Session(SessionEvent::SessionOpened {
            session: self.session.clone(),
            messages: self.messages.clone(),
            titles: self.titles.clone(),
        });
        let usage = self.before.map(|(mut usage, priced)| {
            usage.add(&self.since);
            AgentEvent::Session(SessionEvent::SessionUsage { usage: Some(usage), priced })
        });
        let usage = usage.or(self
            .session
            .resumed
            .then_some(AgentEvent::Session(SessionEvent::SessionUsage { usage: None, priced: true })));
        let calls = self.calls.iter().flat_map(|call| {
            [Some(&call.start), call.update.as_ref(), call.end.as_ref()].into_iter().flatten().cloned()
        });
        let mut events = vec![opened];
        events.extend(self.history.clone());
        events.extend(usage);
        events.extend(self.settings.iter().flatten().cloned());
        events.push(AgentEvent::Settings(SettingsEvent::PermissionModeChanged { mode: self.mode }));
        events.extend(self.plan.clone());
        events.extend(self.running.then_some(AgentEvent::Run(RunEvent::AgentStart)));
        events.extend(calls);
        events.extend(self.answer.iter().cloned());
        events.extend(self.shells.iter().flatten().cloned());
        events.extend(self.busy.clone());
        events.extend(self.waiting.iter().cloned());
        events
    }
}
