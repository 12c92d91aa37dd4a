//! Folds the agent's events into the transcript. The work for a delta does not depend on earlier text.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::arguments::CallArguments;
use super::command_panel::CommandPanel;
use super::paging::Paging;
use super::panel::{CallState, PanelOutput, ToolPanel, fallback_title};
use super::run_end::{FirstEnd, OpenRun};
use super::{EntryBody, Live, LiveBlock, Transcript, TranscriptEntry};
use crate::blocks::MarkdownBlocks;
use crate::geometry::{Anchor, EntryId, ScrollPosition};
use crate::msg::Millis;
use crate::picture::MessagePicture;
use crate::printable::{Printable, decision_name};
use tau_protocol::approval::{ApprovalOutcome, ApprovalRequest};
use tau_protocol::event::{
    AgentEvent, CompactionReason, Delta, NOTHING_TO_COMPACT, NoticeLevel, RunEvent, SessionEvent,
    SettingsEvent, TaskEvent, TurnEvent,
};
use tau_protocol::goal::ROUND;
use tau_protocol::message::{AssistantMessage, Block, Message, StopReason, ToolResultMessage, UserContent};
use tau_protocol::title;
use tau_tools::details::ToolOutput;

impl Transcript {
    /// Applies an event. Events that do not belong to the transcript are ignored.
    pub fn fold(&mut self, event: &AgentEvent, now: Millis) {
        match event {
            AgentEvent::Session(SessionEvent::SessionOpened { messages, titles, .. }) => {
                self.open(messages, titles);
            }
            AgentEvent::Run(RunEvent::AgentStart) => self.on_run_start(now),
            AgentEvent::Run(RunEvent::AgentSettled { .. }) => {
                self.end_calls();
                self.run_settles(now);
            }
            AgentEvent::Turn(TurnEvent::MessageStart { message }) => self.message_start(message, now),
            AgentEvent::Turn(TurnEvent::MessageUpdate { assistant_message_event, .. }) => {
                self.delta(assistant_message_event, now);
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => self.message_end(message, now),
            AgentEvent::Turn(TurnEvent::ToolTitle { tool_call_id, title }) => self.title(tool_call_id, title),
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, tool_name, args }) => {
                self.call_runs(tool_call_id, tool_name, args, now);
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. }) => {
                self.on_call(tool_call_id, |panel| {
                    panel.show(&partial_result.content, &partial_result.details);
                });
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd {
                tool_call_id,
                result,
                is_error,
                duration_ms,
                hooks,
                ..
            }) => {
                self.on_call(tool_call_id, |panel| panel.finish(result, *is_error, *duration_ms, hooks));
            }
            AgentEvent::Task(TaskEvent::Notice { level, text, hint }) => {
                self.notice(*level, text, hint.as_deref());
            }
            // Until a model is connected, the head says how to connect one.
            AgentEvent::Settings(SettingsEvent::ModelChanged { .. }) => self.refresh_welcome(),
            AgentEvent::Run(RunEvent::CompactionEnd { error_message: Some(error), .. })
                if error == NOTHING_TO_COMPACT =>
            {
                self.notice(NoticeLevel::Info, error, None);
            }
            // The failed answer says it.
            AgentEvent::Run(RunEvent::CompactionEnd {
                error_message: Some(_),
                reason: CompactionReason::Overflow,
                ..
            }) => {}
            AgentEvent::Run(RunEvent::CompactionEnd { error_message: Some(error), .. }) => {
                let hint = "the conversation is unchanged; try /compact again, another /model, or /new";
                self.notice(NoticeLevel::Warning, &format!("compaction failed: {error}"), Some(hint));
            }
            // One within a run ends with the run, which says so.
            AgentEvent::Run(RunEvent::CompactionEnd {
                aborted: true,
                reason: CompactionReason::Manual,
                ..
            }) => {
                let text = "compaction stopped; the conversation is unchanged";
                self.notice(NoticeLevel::Info, text, None);
            }
            AgentEvent::Run(RunEvent::CompactionEnd { result: Some(result), .. }) => {
                self.summary("Earlier conversation (summary)", &result.summary);
            }
            _ => {}
        }
    }

    fn refresh_welcome(&mut self) {
        let heads = self.entries.iter().filter(|entry| entry.body == EntryBody::Welcome);
        let ids: Vec<EntryId> = heads.map(|entry| entry.id).collect();
        ids.into_iter().for_each(|id| self.edit(id, |_| {}));
    }

    /// The first session on this screen keeps the head and the notices of the start.
    fn open(&mut self, messages: &[Arc<Message>], titles: &BTreeMap<String, String>) {
        if self.has_opened || self.entries.is_empty() {
            self.clear();
            self.push(EntryBody::Welcome);
        }
        self.has_opened = true;
        self.paging = Paging::default();
        self.window = self.window.without_pages();
        self.run = OpenRun::default();
        self.first_end = FirstEnd::Open;
        for message in messages {
            self.add_stored_message(message, titles);
        }
        self.end_complete_run();
    }

    /// Adds a message that was complete before this screen saw it.
    pub(super) fn add_stored_message(&mut self, message: &Arc<Message>, titles: &BTreeMap<String, String>) {
        self.end_complete_run();
        match message.as_ref() {
            Message::User(user) => {
                self.failed = None;
                self.end_run();
                self.user(message, &user.content);
            }
            Message::Assistant(answer) => {
                self.remove_failed_answer();
                let first = self.next_entry();
                self.add_stored_answer(answer, titles);
                self.note_failed_answer(answer, first);
                self.remember_answer(message, answer);
                self.run_answers(answer);
            }
            Message::ToolResult(result) => self.result(message, result),
            Message::BashExecution(execution) => {
                self.push_command(CommandPanel::from_execution(execution));
            }
            Message::Custom(custom) if custom.display => self.user(message, &custom.content),
            Message::Custom(custom) if custom.custom_type == ROUND => self.reopen_run(),
            Message::Custom(_) | Message::Application(_) => {}
            Message::BranchSummary(summary) => {
                self.summary("Abandoned branch (summary)", &summary.summary);
            }
            Message::CompactionSummary(summary) => {
                self.summary("Earlier conversation (summary)", &summary.summary);
            }
        }
    }

    fn user(&mut self, message: &Arc<Message>, content: &UserContent) {
        let pictures = MessagePicture::all_of(message);
        let text = content.text();
        // Files that pi has put before the words are named.
        let (files, words) = title::files_and_words(&text);
        let names: String = files.iter().map(|path| format!("@{path}\n")).collect();
        self.push(EntryBody::User { text: Printable::new(&(names + words)), pictures });
    }

    fn summary(&mut self, title: &'static str, text: &str) {
        self.push(EntryBody::Summary { title, blocks: MarkdownBlocks::of(&summary_text(text)) });
    }

    fn add_stored_answer(&mut self, answer: &AssistantMessage, titles: &BTreeMap<String, String>) {
        for block in &answer.content {
            match block {
                Block::Text { text, .. } => {
                    self.push(EntryBody::Answer(MarkdownBlocks::of(text)));
                }
                Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    self.push(EntryBody::Thinking {
                        blocks: MarkdownBlocks::of(thinking),
                        since: 0,
                        until: Some(0),
                    });
                }
                Block::ToolCall(call) => {
                    let title = titles.get(&call.id).cloned();
                    let title = title.unwrap_or_else(|| fallback_title(&call.arguments));
                    self.new_call(&call.id, &call.name);
                    self.title(&call.id, &title);
                    self.on_call(&call.id, |panel| {
                        panel.state = CallState::Waiting;
                        panel.arguments = CallArguments::of(&call.arguments);
                    });
                }
                Block::Thinking { .. } | Block::Image { .. } | Block::Unknown(_) => {}
            }
        }
        self.show_stop_reason(answer);
    }

    fn message_start(&mut self, message: &Arc<Message>, now: Millis) {
        match message.as_ref() {
            Message::User(user) => {
                self.failed = None;
                self.next_run(now);
                self.user(message, &user.content);
            }
            Message::Assistant(_) => {
                let is_printed = !self.remove_failed_answer();
                self.live = Live { first: self.next_entry(), is_printed, ..Live::default() };
            }
            Message::Custom(custom) if custom.display => self.user(message, &custom.content),
            _ => {}
        }
    }

    fn message_end(&mut self, message: &Arc<Message>, now: Millis) {
        match message.as_ref() {
            Message::Assistant(answer) => {
                let first = self.live.first;
                self.settle(answer, now);
                self.note_failed_answer(answer, first);
                self.remember_answer(message, answer);
                self.run_answers(answer);
            }
            Message::ToolResult(result) => self.result(message, result),
            _ => {}
        }
    }

    /// Notes a failed answer, whose entries begin with `first`.
    fn note_failed_answer(&mut self, answer: &AssistantMessage, first: EntryId) {
        let has_failed = answer.stop_reason == StopReason::Error;
        self.failed = has_failed.then(|| first..self.next_entry());
    }

    /// Another attempt begins: removes the failed answer. False if the terminal has it already.
    fn remove_failed_answer(&mut self) -> bool {
        let Some(failed) = self.failed.take() else { return true };
        if self.printed.is_some_and(|printed| printed.entry >= failed.start) {
            return false;
        }
        let is_of_it = |body: &EntryBody| match body {
            EntryBody::Answer(_) | EntryBody::Thinking { .. } | EntryBody::Tool(_) => true,
            EntryBody::Notice { level, .. } => *level == NoticeLevel::Error,
            _ => false,
        };
        self.entries.retain(|entry| !(failed.contains(&entry.id) && is_of_it(&entry.body)));
        self.calls.retain(|_, entry| !failed.contains(entry));
        self.selection = None;
        if self.selected_panel().is_some_and(|panel| failed.contains(&panel.entry)) {
            self.panel = None;
        }
        if let ScrollPosition::Top(top) = &mut self.position
            && failed.contains(&top.entry)
        {
            let last = self.entries.iter().map(|entry| entry.id).filter(|id| *id < failed.start).max();
            *top = Anchor { entry: last.unwrap_or_default(), part: 0, row: 0 };
        }
        true
    }

    fn remember_answer(&mut self, message: &Arc<Message>, answer: &AssistantMessage) {
        if answer.content.iter().any(|block| block.as_text().is_some_and(|text| !text.trim().is_empty())) {
            self.last_answer = Some(Arc::clone(message));
        }
    }

    fn delta(&mut self, delta: &Delta, now: Millis) {
        match delta {
            Delta::TextStart { content_index } => {
                self.block(*content_index, || EntryBody::Answer(MarkdownBlocks::default()));
            }
            Delta::ThinkingStart { content_index } => self.block(*content_index, || EntryBody::Thinking {
                blocks: MarkdownBlocks::default(),
                since: now,
                until: None,
            }),
            Delta::TextDelta { content_index, delta } | Delta::ThinkingDelta { content_index, delta } => {
                self.grow(*content_index, delta);
            }
            Delta::TextEnd { content_index, .. } | Delta::ThinkingEnd { content_index, .. } => {
                self.close(*content_index, now);
            }
            Delta::ToolCallStart { content_index, id, tool_name } => {
                let entry = self.new_call(id, tool_name);
                self.live.blocks.insert(*content_index, LiveBlock::new(entry));
            }
            Delta::ToolCallDelta { content_index, delta } => self.arguments(*content_index, delta),
            Delta::ToolCallEnd { tool_call, .. } => {
                let title = fallback_title(&tool_call.arguments);
                self.on_call(&tool_call.id, |panel| {
                    panel.state = CallState::Waiting;
                    panel.arguments = CallArguments::of(&tool_call.arguments);
                    if panel.title.is_empty() {
                        panel.title = decision_name(&title);
                    }
                });
            }
        }
    }

    fn block(&mut self, index: usize, body: impl FnOnce() -> EntryBody) {
        let entry = self.push(body());
        self.live.blocks.insert(index, LiveBlock::new(entry));
    }

    fn grow(&mut self, index: usize, delta: &str) {
        let Some(live) = self.live.blocks.get_mut(&index) else { return };
        live.received += delta.len();
        let entry = live.entry;
        self.edit(entry, |body| {
            if let EntryBody::Answer(blocks) | EntryBody::Thinking { blocks, .. } = body {
                blocks.push(delta);
            }
        });
    }

    /// Adds a piece of a call's arguments.
    fn arguments(&mut self, index: usize, piece: &str) {
        let Some(live) = self.live.blocks.get_mut(&index) else { return };
        let (entry, mut reader) = (live.entry, std::mem::take(&mut live.arguments));
        self.edit(entry, |body| {
            if let EntryBody::Tool(panel) = body {
                reader.feed(piece, &mut panel.arguments);
            }
        });
        if let Some(live) = self.live.blocks.get_mut(&index) {
            live.arguments = reader;
        }
    }

    fn close(&mut self, index: usize, now: Millis) {
        let Some(entry) = self.live.blocks.get(&index).map(|live| live.entry) else { return };
        self.edit(entry, |body| match body {
            EntryBody::Answer(blocks) => blocks.finish(),
            EntryBody::Thinking { blocks, until, .. } => {
                blocks.finish();
                *until = until.or(Some(now));
            }
            _ => {}
        });
    }

    /// Applies the complete message: blocks with missing pieces are replaced.
    fn settle(&mut self, answer: &AssistantMessage, now: Millis) {
        if self.live.blocks.is_empty() {
            // If nothing came after a failed answer, this one has its text.
            let is_failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            return match self.live.is_printed && is_failed {
                true => self.show_stop_reason(answer),
                false => self.add_stored_answer(answer, &BTreeMap::new()),
            };
        }
        let indices: Vec<usize> = self.live.blocks.keys().copied().collect();
        for index in indices {
            self.close(index, now);
        }
        self.repair(answer);
        self.show_stop_reason(answer);
    }

    fn repair(&mut self, answer: &AssistantMessage) {
        let texts = answer.content.iter().filter_map(|block| match block {
            Block::Text { text, .. } | Block::Thinking { thinking: text, .. } => Some(text),
            _ => None,
        });
        let live = std::mem::take(&mut self.live);
        let shown = live.blocks.values().filter(|live| live.received > 0);
        for (live, text) in shown.zip(texts.filter(|text| !text.is_empty())) {
            if live.received != text.len() {
                self.replace(live.entry, text);
            }
        }
    }

    fn show_stop_reason(&mut self, answer: &AssistantMessage) {
        let error = answer.error_message.as_deref();
        match answer.stop_reason {
            StopReason::Error => {
                self.notice(NoticeLevel::Error, error.unwrap_or("the model's answer failed"), None);
            }
            StopReason::Aborted => self.notice(NoticeLevel::Info, "stopped", None),
            StopReason::Length => {
                let hint = "send \"continue\" to let the model continue";
                self.notice(
                    NoticeLevel::Warning,
                    "the answer was cut off at the model's output limit",
                    Some(hint),
                );
            }
            StopReason::Stop | StopReason::ToolUse | StopReason::Other => {}
        }
    }

    fn new_call(&mut self, id: &str, name: &str) -> EntryId {
        let entry = self.push(EntryBody::Tool(Box::new(ToolPanel::new(id, name))));
        self.calls.insert(id.to_owned(), entry);
        entry
    }

    fn call_runs(&mut self, id: &str, name: &str, args: &Value, now: Millis) {
        if !self.calls.contains_key(id) {
            self.new_call(id, name);
            self.on_call(id, |panel| panel.arguments = CallArguments::of(args));
        }
        let title = fallback_title(args);
        self.on_call(id, |panel| {
            panel.state = CallState::Running;
            panel.since = Some(now);
            if panel.title.is_empty() {
                panel.title = decision_name(&title);
            }
        });
    }

    /// Marks a call as awaiting the user's decision.
    pub(crate) fn on_approval_request(&mut self, request: &ApprovalRequest) {
        let id = &request.tool_call_id;
        if !self.calls.contains_key(id) {
            self.new_call(id, &request.tool_name);
        }
        self.on_call(id, |panel| {
            if !panel.state.is_over() {
                panel.state = CallState::Asked;
            }
            if panel.title.is_empty() {
                panel.title = decision_name(&request.title);
            }
        });
    }

    /// Records the decision on a call, or that there will be none. For a call that had begun, its time starts
    /// now.
    pub(crate) fn on_approval_outcome(&mut self, id: &str, outcome: ApprovalOutcome, now: Millis) {
        self.on_call(id, |panel| {
            if panel.state != CallState::Asked {
                return;
            }
            if matches!(panel.output, PanelOutput::Helper { .. }) {
                // The helper asked; the call itself is running.
                panel.state = CallState::Running;
                return;
            }
            panel.state = match (outcome, panel.since) {
                (ApprovalOutcome::Allowed, Some(_)) => CallState::Running,
                (ApprovalOutcome::Allowed | ApprovalOutcome::Denied | ApprovalOutcome::Withdrawn, _) => {
                    CallState::Waiting
                }
            };
            // Its result comes when the calls before it have ended.
            if outcome == ApprovalOutcome::Denied && panel.since.is_none() {
                panel.outcome = Some(Printable::line("denied"));
            }
            panel.since = panel.since.map(|_| now);
        });
    }

    /// Ends the calls that will have no result: the process of the session has ended.
    fn end_calls(&mut self) {
        let is_open = |entry: &&TranscriptEntry| matches!(&entry.body, EntryBody::Tool(panel) if !panel.state.is_over());
        let open: Vec<EntryId> = self.entries.iter().filter(is_open).map(|entry| entry.id).collect();
        for id in open {
            self.edit(id, |body| {
                if let EntryBody::Tool(panel) = body {
                    panel.end_without_result();
                }
            });
        }
    }

    fn title(&mut self, id: &str, title: &str) {
        self.on_call(id, |panel| panel.title = decision_name(title));
    }

    /// Fills the panel from a stored result; for a result that was seen live, changes nothing.
    fn result(&mut self, message: &Arc<Message>, result: &ToolResultMessage) {
        self.add_helper_cost(&result.details);
        let output = ToolOutput { content: result.content.clone(), details: result.details.clone() };
        self.on_call(&result.tool_call_id, |panel| {
            if !panel.state.is_over() {
                panel.finish(&output, result.is_error, result.duration_ms, &result.hooks);
            }
            panel.pictures = MessagePicture::all_of(message);
        });
    }

    fn on_call(&mut self, id: &str, change: impl FnOnce(&mut ToolPanel)) {
        let Some(entry) = self.calls.get(id).copied() else { return };
        self.edit(entry, |body| {
            if let EntryBody::Tool(panel) = body {
                change(panel);
            }
        });
    }
}

/// A readable summary: the marks around its lists of files, which are for the model, become a heading.
fn summary_text(summary: &str) -> String {
    let Some((text, lists)) = summary.split_once("\n<files>\n") else { return summary.to_owned() };
    let lists = lists.trim_end().trim_end_matches("</files>");
    let line = |line: &str| match line {
        "read:" => "\nRead:\n\n".to_owned(),
        "modified:" => "\nModified:\n\n".to_owned(),
        line => format!("{line}\n"),
    };
    let lists: String = lists.lines().map(line).collect();
    format!("{}\n\n## Files\n{lists}", text.trim_end())
}
