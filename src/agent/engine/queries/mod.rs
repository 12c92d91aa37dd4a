//! Answers queries about the session, without changing it.
//!
//! Answers are typed; front ends encode them for their wire. Facts that a front end knows by itself (whether
//! a run is in progress, the list of models) have no query.

pub(crate) mod context_usage;
pub(crate) mod history_paging;
pub(crate) mod session_usage;
pub(crate) mod undo_queries;

use std::collections::HashMap;
use std::sync::Arc;

use super::state::Engine;
use super::{background_jobs, gate, kept_queue, unknown_commands};
use crate::context::compaction::size;
use crate::engine::calls::call_hooks;
use crate::engine::gate::rule_list;
use crate::session::entry::{Body, Entry};
use crate::session::tree::Tree;
use crate::undo::prompts;
use tau_protocol::event::TaskEvent;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionState};
use tau_protocol::message::{Message, ToolCall};
use tau_protocol::query::{
    EntryLabel, ForkMessage, Query, QueryAnswer, SessionEntries, SessionEntry, SessionState, SessionStats,
    TypedQuery, WindowUsage, ask,
};
use tau_tools::sandbox::support::Support;
use tau_tools::user_error::UserError;

/// An empty session has no source.
const EMPTY: &str = "nothing to export: this session is empty";

pub(crate) fn answer(engine: &mut Engine, ticket: u64, query: Query) {
    if let Some(answer) = try_answer(engine, ticket, query) {
        engine.emit(TaskEvent::Answered { ticket, answer });
    }
}

/// The answer, or the reason why the query failed; `None` if it follows later.
fn try_answer(engine: &mut Engine, ticket: u64, query: Query) -> Option<Result<QueryAnswer, UserError>> {
    if reads_all(&query) {
        engine.load_all();
    }
    let session = &engine.config.session;
    Some(match query {
        Query::Sync => reply::<ask::Sync>(Ok(())),
        Query::Stored => {
            kept_queue::save_prompts(engine);
            kept_queue::save_place_of_commands(engine);
            reply::<ask::Stored>(engine.store())
        }
        Query::Idle => reply::<ask::Idle>(Ok(())),
        Query::Sendable { text } => reply::<ask::Sendable>(unknown_commands::check_command(engine, &text)),
        Query::State => reply::<ask::State>(Ok(state(engine))),
        Query::Messages => reply::<ask::Messages>(Ok(session.context().messages)),
        Query::MessageRecords => reply::<ask::MessageRecords>(Ok(session.context_json())),
        Query::History => reply::<ask::History>(Ok(history(engine))),
        Query::HistoryPage { from, goal } => {
            history_paging::request(engine, ticket, from, goal);
            return None;
        }
        Query::LastText => reply::<ask::LastText>(Ok(last_text(&session.context().messages))),
        Query::Entries { since } => reply::<ask::Entries>(entries(session.tree(), since.as_deref())),
        Query::Outline => {
            // Keeps no more of the session in memory than before.
            let tools = &engine.config.tools;
            let title = |call: &ToolCall| Some(tools.get(&call.name)?.title(&call.arguments));
            let (outline, read) = session.outline(&title);
            engine.report_load_result(read);
            reply::<ask::Outline>(Ok(outline))
        }
        Query::ForkMessages => reply::<ask::ForkMessages>(Ok(fork_messages(session.tree()))),
        Query::Stats => reply::<ask::Stats>(Ok(stats(engine))),
        Query::Source => reply::<ask::Source>(session.source().ok_or_else(|| EMPTY.to_owned().into())),
        Query::ContextUsage => reply::<ask::ContextUsage>(Ok(context_usage::by_kind(engine))),
        Query::RuleCoverage { rule, list } => {
            reply::<ask::RuleCoverage>(rule_list::coverage(engine, list, &rule))
        }
        Query::PermissionRules => reply::<ask::PermissionRules>(Ok(rule_list::rules_for_display(engine))),
        Query::ProposedText { id } => reply::<ask::ProposedText>(gate::proposed_text(engine, &id)),
        Query::Checkpoints => {
            let prompts = prompts(session.tree());
            engine.undo.answer::<ask::Checkpoints>(ticket, move |undo| Ok(undo.checkpoints(&prompts)));
            return None;
        }
        Query::Changes => {
            engine.undo.answer::<ask::Changes>(ticket, |undo| Ok(undo.changes()));
            return None;
        }
        Query::UndoPlan { entry_id } => {
            let prompts = prompts(session.tree());
            engine.undo.answer::<ask::UndoPlan>(ticket, move |undo| {
                let plan = match &entry_id {
                    Some(entry_id) => undo.plan(&prompts, entry_id).ok_or("no such prompt on this branch"),
                    None => undo.redo_plan().ok_or("there is nothing to redo"),
                };
                Ok(plan?)
            });
            return None;
        }
        Query::Reveal { placeholders } => {
            reply::<ask::Reveal>(Ok(engine.config.behavior.masking.vault.reveal(&placeholders)))
        }
        Query::Jobs => {
            background_jobs::query(engine, ticket);
            return None;
        }
        Query::JobOutput { job } => reply::<ask::JobOutput>(background_jobs::output(engine, job)),
        Query::Extensions => reply::<ask::Extensions>(Ok(extensions(engine))),
        Query::Commands => reply::<ask::Commands>(Ok(engine.commands())),
        Query::Resources => reply::<ask::Resources>(Ok(engine.mcp.resources())),
        Query::CompleteArgument { command, typed } => {
            engine.mcp.complete(ticket, &command, &typed);
            return None;
        }
    })
}

/// Whether the answer needs the whole session file.
fn reads_all(query: &Query) -> bool {
    matches!(
        query,
        Query::State
            | Query::Messages
            | Query::MessageRecords
            | Query::History
            | Query::LastText
            | Query::Entries { .. }
            | Query::ForkMessages
            | Query::Stats
            | Query::Source
            | Query::Checkpoints
            | Query::UndoPlan { .. }
    )
}

fn reply<Q: TypedQuery>(answer: Result<Q::Answer, UserError>) -> Result<QueryAnswer, UserError> {
    answer.map(Q::give)
}

/// All extensions; those that run in the sandbox are marked, servers mark themselves.
fn extensions(engine: &Engine) -> Vec<ExtensionRow> {
    let behavior = &engine.config.behavior;
    let hooks = &behavior.extensions.current().hooks;
    let facts = call_hooks::facts(engine);
    let tools_are = Support::here().enforces_some(&facts.sandbox);
    let mut rows = behavior.extensions.rows();
    let fault = |model: &str| behavior.host().model_by_name(model)?.err();
    behavior.extensions.current().name_models(&mut rows, fault);
    for row in rows.iter_mut().filter(|row| row.state == ExtensionState::On) {
        let is_sandboxed = match row.kind {
            ExtensionKind::CustomTool => tools_are,
            ExtensionKind::Hook => {
                let hook = hooks.iter().find(|hook| hook.name == row.name && hook.row().path == row.path);
                hook.is_some_and(|hook| {
                    Support::here().enforces_some(&facts.policy(&hook.command, hook.package.as_ref()))
                })
            }
            ExtensionKind::McpServer
            | ExtensionKind::Skill
            | ExtensionKind::PromptTemplate
            | ExtensionKind::HelperKind
            | ExtensionKind::Package => false,
        };
        if is_sandboxed {
            row.add_sandbox_note();
        }
    }
    rows
}

fn state(engine: &Engine) -> SessionState {
    let session = &engine.config.session;
    let info = session.info();
    SessionState {
        session_file: info.file.clone(),
        session_id: info.id.clone(),
        session_name: info.name.clone(),
        auto_compaction_enabled: engine.config.compaction.auto,
        steering_mode: engine.queues.steering_mode(),
        follow_up_mode: engine.queues.follow_up_mode(),
        message_count: session.context().messages.len(),
        pending_message_count: engine.queues.len(),
        thinking_level: engine.thinking(),
    }
}

/// All messages of the current branch, and those that were reported but are recorded only when the run has
/// ended.
fn history(engine: &Engine) -> Vec<Arc<Message>> {
    let mut messages = engine.config.session.tree().path_messages();
    let reported = engine.pending.messages.iter();
    messages.extend(reported.filter(|message| matches!(***message, Message::BashExecution(_))).cloned());
    messages
}

fn last_text(messages: &[Arc<Message>]) -> Option<String> {
    messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    })
}

fn fork_messages(tree: &Tree) -> Vec<ForkMessage> {
    let messages = tree.entries().iter().filter_map(|entry| {
        let Body::Message { message } = &entry.body else { return None };
        let Message::User(user) = message.as_ref() else { return None };
        let text = user.content.text();
        (!text.trim().is_empty()).then(|| ForkMessage { entry_id: entry.id.to_string(), text })
    });
    messages.collect()
}

fn entries(tree: &Tree, since: Option<&str>) -> Result<SessionEntries, UserError> {
    let all = tree.entries();
    let from = match since {
        None => 0,
        Some(since) => match all.iter().position(|entry| *entry.id == *since) {
            Some(at) => at + 1,
            None => return Err(format!("Entry not found: {since}").into()),
        },
    };
    let label_times = label_times(tree);
    let entry = |entry: &Entry| SessionEntry {
        id: entry.id.to_string(),
        parent_id: entry.parent.as_ref().map(ToString::to_string),
        label: tree.label(&entry.id).map(|text| EntryLabel {
            text: text.to_owned(),
            timestamp: label_times.get(&*entry.id).copied().unwrap_or_default(),
        }),
        line: String::from_utf8_lossy(&entry.line()).trim_end().to_owned(),
    };
    let entries = all.iter().skip(from).map(entry).collect();
    Ok(SessionEntries { entries, leaf_id: tree.leaf().map(|leaf| leaf.id.to_string()) })
}

/// The time at which each entry was labelled.
fn label_times(tree: &Tree) -> HashMap<&str, i64> {
    let label = |entry: &'_ Entry| match &entry.body {
        Body::Label { target_id, label: Some(_) } => Some((target_id.clone(), entry.timestamp)),
        _ => None,
    };
    let times: HashMap<String, i64> = tree.entries().iter().filter_map(label).collect();
    let time = |entry: &Entry| times.get(&*entry.id).copied();
    tree.entries().iter().filter_map(|entry| Some((&*entry.id, time(entry)?))).collect()
}

fn stats(engine: &Engine) -> SessionStats {
    let info = engine.config.session.info();
    let window = engine.config.model.as_ref().map_or(0, |model| model.context_window);
    let mut stats = SessionStats {
        session_file: info.file.clone(),
        session_id: info.id.clone(),
        window: (window > 0).then(|| window_usage(engine, window)),
        ..SessionStats::default()
    };
    stats.usage = engine.config.session.usage().total;
    stats.usage.add(&engine.apart);
    for entry in engine.config.session.tree().entries() {
        if let Body::Message { message } = &entry.body {
            count(&mut stats, message);
        }
    }
    stats
}

fn count(stats: &mut SessionStats, message: &Message) {
    stats.total_messages += 1;
    match message {
        Message::User(_) => stats.user_messages += 1,
        Message::ToolResult(_) => stats.tool_results += 1,
        Message::Assistant(answer) => {
            stats.assistant_messages += 1;
            stats.tool_calls += answer.tool_calls().count() as u64;
        }
        Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::Application(_) => {}
    }
}

fn window_usage(engine: &Engine, context_window: u64) -> WindowUsage {
    let stale = size::is_stale(engine.config.session.tree());
    WindowUsage { tokens: (!stale).then(|| context_usage::total(engine)), context_window }
}
