//! Moves within the session's tree.
//!
//! Moving changes no entry; the next message is added below the new position. The model can summarize the
//! abandoned branch first. If that fails or is stopped, the conversation stays where it was.

use std::sync::Arc;

use crate::engine::announce;
use crate::engine::base::conversation::Conversation;
use crate::engine::compact::CompactionEnd;
use crate::engine::compact::branch_summary::summarize_branch;
use crate::engine::state::Engine;
use crate::session::entry::{Body, Entry};
use crate::session::outline::landing;
use tau_protocol::command::BranchSummaryOptions;
use tau_protocol::event::{NoticeLevel, QueueEvent, RunEvent, SessionEvent};
use tau_protocol::message::Message;
use tau_tools::user_error::UserError;

/// Continues from another entry.
pub(crate) async fn go_to(engine: &mut Engine, entry_id: &str, summary: Option<&BranchSummaryOptions>) {
    engine.load_all();
    let Some((leaf, text)) = landing(engine.config.session.tree(), entry_id) else {
        let error = format!("no entry {entry_id} in this session");
        engine.notice(NoticeLevel::Error, error.clone(), Some("choose one with /tree"));
        return engine.emit(SessionEvent::SessionRefused { error });
    };
    let summary = match summary {
        Some(options) => match summarize(engine, leaf.as_deref(), options).await {
            Ok(summary) => summary,
            Err(error) => {
                engine.notice(NoticeLevel::Warning, error.clone(), Some("you are still on the same branch"));
                return engine.emit(SessionEvent::SessionRefused { error: error.into() });
            }
        },
        None => None,
    };
    engine.config.session.go_to(leaf.as_deref());
    let saved = match summary {
        Some(summary) => engine.config.session.append_body(summary),
        None => engine.config.session.append_place(),
    };
    engine.report_save_result(saved);
    engine.flush();
    engine.conversation = Conversation::default();
    announce::report_session(engine);
    announce::restore_settings(engine);
    if let Some(text) = text {
        engine.emit(QueueEvent::QueueReturned { texts: vec![text], images: Vec::new() });
    }
}

/// The summary of the part that is abandoned when the conversation continues from `leaf`; `None` if nothing
/// is.
async fn summarize(
    engine: &mut Engine,
    leaf: Option<&str>,
    options: &BranchSummaryOptions,
) -> Result<Option<Body>, UserError> {
    let (from_id, messages) = abandoned_branch(engine, leaf);
    let Some(from_id) = from_id.filter(|_| !messages.is_empty()) else { return Ok(None) };
    engine.begin();
    engine.emit(RunEvent::BranchSummary { running: true });
    let result = summarize_branch(engine, &messages, options.instructions.as_deref()).await;
    engine.emit(RunEvent::BranchSummary { running: false });
    match result {
        Ok((summary, details, usage)) => {
            let (details, usage) = (Some(details), serde_json::to_value(usage).ok());
            Ok(Some(Body::BranchSummary { from_id, summary, details, usage }))
        }
        Err(CompactionEnd::Failed(why)) => Err(UserError::new("cannot summarize the branch").because(why)),
        Err(CompactionEnd::Aborted | CompactionEnd::Done) => Err("the summary was stopped".into()),
    }
}

/// The end of the current branch, and its messages that are not on the path to `leaf`.
fn abandoned_branch(engine: &Engine, leaf: Option<&str>) -> (Option<String>, Vec<Arc<Message>>) {
    let tree = engine.config.session.tree();
    let target = leaf.and_then(|leaf| tree.branch_to(leaf)).unwrap_or_default();
    let path = tree.branch();
    let shared = path.iter().zip(&target).take_while(|(one, other)| one.id == other.id).count();
    let message = |entry: &&Entry| match &entry.body {
        Body::Message { message } => Some(message.clone()),
        _ => None,
    };
    let messages = path.iter().skip(shared).filter_map(message).collect();
    (path.last().map(|entry| entry.id.to_string()), messages)
}
