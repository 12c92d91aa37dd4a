//! The state between a command and its answer: pending calls, and the agent's activity. `commands` and
//! `events` change it, and leave records and agent commands here, which `mod` moves. No input or output.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::host::RpcHost;
use super::partial::PartialMessage;
use super::request::RpcCall;
use crate::args::front_end::RpcEvents;
use crate::protocol;
use tau_protocol::command::{AgentCommand, SettingsCommand, TaskCommand};
use tau_protocol::message::UserMessage;
use tau_protocol::mirror::SessionMirror;
use tau_protocol::query::Query;
use tau_protocol::rules::RuleChange;

/// The phase of a run, as the client knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunPhase {
    #[default]
    Idle,
    /// A prompt was accepted, `agent_start` has not been written.
    Starting,
    Running,
    /// `agent_end` was written, `agent_settled` was not.
    Ended,
}

/// A prompt that waits for its own run.
#[derive(Clone, Debug)]
pub(crate) struct HeldPrompt {
    pub message: UserMessage,
    pub bare: bool,
}

/// A change of session in progress.
#[derive(Clone, Debug)]
pub(crate) struct PendingSessionChange {
    pub call: RpcCall,
    /// True when the text of the message is part of the answer.
    pub fork: bool,
    /// The prompts that waited before it.
    pub held: VecDeque<HeldPrompt>,
}

/// Calls that wait for the agent.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    next_ticket: u64,
    /// Queries, and calls whose prepared answer waits until a mark is reached.
    pub tickets: HashMap<u64, (RpcCall, Option<Value>)>,
    /// Sessions to export, with their files, until their location is known.
    pub exports: HashMap<u64, (RpcCall, Option<PathBuf>)>,
    /// Commands of the user, by the agent's id.
    pub shells: HashMap<String, RpcCall>,
    pub compactions: VecDeque<RpcCall>,
    /// Undo, redo and revert.
    pub restores: VecDeque<RpcCall>,
    pub changes: VecDeque<PendingSessionChange>,
    /// A fork whose session is open and whose text has not come.
    pub forked: Option<RpcCall>,
    /// Calls that empty the queues, with the texts of the prompts that waited for other work.
    pub takes: VecDeque<(RpcCall, Vec<String>)>,
    pub aborts: Vec<RpcCall>,
    /// The mark after a run that may never start.
    pub start: Option<u64>,
}

/// The queues as last reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueueTexts {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

impl QueueTexts {
    /// The form in the answer to `clear_queue`.
    pub fn json(&self) -> Value {
        json!({ "steering": self.steering, "followUp": self.follow_up })
    }
}

/// The state of the front end.
pub(crate) struct RpcState {
    pub host: Box<dyn RpcHost>,
    events: RpcEvents,
    /// Records to write.
    pub records: VecDeque<String>,
    pub commands: VecDeque<AgentCommand>,
    pub waiting: PendingCalls,
    pub phase: RunPhase,
    /// Whether the run was started by a client that does not number its commands.
    pub bare_run: bool,
    pub held: VecDeque<HeldPrompt>,
    /// True when a run was aborted and has left messages in the queues.
    pub unsent: bool,
    /// The known facts about the session.
    pub mirror: SessionMirror,
    /// The content of the queues before they were emptied.
    pub emptied: Option<QueueTexts>,
    /// The message in flight, in the form of the older document.
    pub partial: Option<PartialMessage>,
    /// True once the agent has ended.
    pub stopped: bool,
    shells: u64,
}

impl RpcState {
    /// The state before the first command.
    pub fn new(host: Box<dyn RpcHost>, events: RpcEvents) -> Self {
        RpcState {
            host,
            events,
            records: VecDeque::new(),
            commands: VecDeque::new(),
            waiting: PendingCalls::default(),
            phase: RunPhase::Idle,
            bare_run: false,
            held: VecDeque::new(),
            unsent: false,
            mirror: SessionMirror::default(),
            emptied: None,
            partial: None,
            stopped: false,
            shells: 0,
        }
    }

    /// The current queues.
    pub(crate) fn queues(&self) -> QueueTexts {
        let SessionMirror { steering, follow_up, .. } = &self.mirror;
        QueueTexts { steering: steering.clone(), follow_up: follow_up.clone() }
    }

    /// Takes the prompts that wait for other work; returns their texts.
    pub(crate) fn take_held_prompts(&mut self) -> Vec<String> {
        let of_changes = self.waiting.changes.iter_mut().flat_map(|change| std::mem::take(&mut change.held));
        let held: Vec<HeldPrompt> = of_changes.chain(std::mem::take(&mut self.held)).collect();
        held.iter().map(|prompt| prompt.message.content.text()).collect()
    }

    /// Whether records caused by a client of this kind have the parts of the older document.
    pub(crate) fn sends_all(&self, bare: bool) -> bool {
        match self.events {
            RpcEvents::Auto => bare,
            RpcEvents::Plain => false,
            RpcEvents::All => true,
        }
    }

    /// Whether a run is in progress, or will start without any further command.
    pub fn is_streaming(&self) -> bool {
        self.phase != RunPhase::Idle || !self.held.is_empty()
    }

    /// Whether a prompt that arrives now must wait for work other than a run.
    pub(crate) fn is_busy(&self) -> bool {
        self.phase == RunPhase::Ended
            || !self.waiting.compactions.is_empty()
            || !self.waiting.changes.is_empty()
            || !self.waiting.restores.is_empty()
            || !self.held.is_empty()
    }

    /// Queues a command for the agent.
    pub(crate) fn send(&mut self, command: impl Into<AgentCommand>) {
        self.commands.push_back(command.into());
    }

    /// Writes a record.
    pub fn write(&mut self, record: &Value) {
        self.records.push_back(protocol::record(&record.to_string()));
    }

    /// Answers that a command was accepted, without data.
    pub fn acknowledge(&mut self, call: &RpcCall) {
        self.records.push_back(protocol::record(&response(call, true, "")));
    }

    /// Answers with data.
    pub fn give(&mut self, call: &RpcCall, data: &Value) {
        self.give_json(call, &data.to_string());
    }

    /// Answers with data that is JSON text already.
    pub(crate) fn give_json(&mut self, call: &RpcCall, data: &str) {
        self.records.push_back(protocol::record(&response(call, true, &format!(r#","data":{data}"#))));
    }

    /// Answers with an error.
    pub fn refuse(&mut self, call: &RpcCall, error: &str) {
        let rest = format!(r#","error":{}"#, json!(error));
        self.records.push_back(protocol::record(&response(call, false, &rest)));
        if self.sends_all(call.is_bare()) {
            self.write(&json!({ "type": "error", "error": error }));
        }
    }

    /// Sends a query to the agent, and answers with its result.
    pub fn ask(&mut self, call: RpcCall, query: Query) {
        let ticket = self.ticket();
        self.waiting.tickets.insert(ticket, (call, None));
        self.send(TaskCommand::Query { ticket, query });
    }

    /// Has the agent change the permission rules; answers with all of them.
    pub(crate) fn change_rules(&mut self, call: RpcCall, change: RuleChange) {
        let ticket = self.ticket();
        self.waiting.tickets.insert(ticket, (call, None));
        self.send(SettingsCommand::ChangeRules { ticket, change });
    }

    /// Asks the agent for the session's location, and exports it to `file` then.
    pub fn export(&mut self, call: RpcCall, file: Option<PathBuf>) {
        let ticket = self.ticket();
        self.waiting.exports.insert(ticket, (call, file));
        self.send(TaskCommand::Query { ticket, query: Query::Source });
    }

    /// Answers with `data` once everything sent so far has taken effect and been reported.
    pub(crate) fn answer_after(&mut self, call: RpcCall, data: Value) {
        let ticket = self.ticket();
        self.waiting.tickets.insert(ticket, (call, Some(data)));
        self.send(TaskCommand::Query { ticket, query: Query::Sync });
    }

    /// Has the agent report if a requested run has not begun.
    pub(crate) fn detect_unstarted_run(&mut self) {
        let ticket = self.ticket();
        self.waiting.start = Some(ticket);
        self.send(TaskCommand::Query { ticket, query: Query::Sync });
    }

    fn ticket(&mut self) -> u64 {
        self.waiting.next_ticket += 1;
        self.waiting.next_ticket
    }

    /// An id for a command of the user, which the agent repeats with its output.
    pub fn shell(&mut self, call: RpcCall) -> String {
        self.shells += 1;
        let name = format!("shell-{}", self.shells);
        self.waiting.shells.insert(name.clone(), call);
        name
    }

    /// Refuses every pending call, because there will be no more answers.
    pub(crate) fn give_up(&mut self, why: &str) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut calls: Vec<RpcCall> = waiting.tickets.into_values().map(|(call, _)| call).collect();
        calls.extend(waiting.exports.into_values().map(|(call, _)| call));
        calls.extend(waiting.shells.into_values());
        calls.extend(waiting.compactions);
        calls.extend(waiting.restores);
        calls.extend(waiting.changes.into_iter().map(|change| change.call));
        calls.extend(waiting.forked);
        calls.extend(waiting.takes.into_iter().map(|(call, _)| call));
        for call in calls {
            self.refuse(&call, why);
        }
        for call in waiting.aborts {
            self.acknowledge(&call);
        }
    }
}

/// A response; `rest` follows the common fields.
fn response(call: &RpcCall, success: bool, rest: &str) -> String {
    let id = call.id.as_ref().map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    let command = json!(call.command);
    format!(r#"{{"type":"response",{id}"command":{command},"success":{success}{rest}}}"#)
}
