//! The session's tree: told, labelled, and gone about in.
//!
//! Going elsewhere changes no entry; the next message stands below where the conversation then
//! is. A branch that is left can be summed up by the model first. When that fails or is stopped,
//! the conversation stays where it was.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::compact;
use super::compact::Ending;
use super::task::Agent;
use super::{history_paging, session_commands};
use crate::agent::protocol::command::{Parting, Shown};
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::message::Message;
use crate::agent::session::entry::Body;
use crate::agent::session::outline::{Outline, landing};

/// Tells what was asked for.
pub(crate) fn show(agent: &mut Agent, what: Shown) {
    match what {
        Shown::Tree => {
            agent.complete();
            let outline = Outline::of(agent.config.session.tree());
            agent.emit(AgentEvent::TreeShown { outline });
        }
        Shown::Context => {
            let weights = compact::context_usage::weigh(agent);
            agent.emit(AgentEvent::ContextShown { weights });
        }
        Shown::Earlier => history_paging::show(agent),
    }
}

/// Labels an entry, or takes its label away.
pub(crate) fn label(agent: &mut Agent, entry_id: &str, label: Option<String>) {
    agent.complete();
    if agent.config.session.tree().get(entry_id).is_none() {
        return agent.notice(NoticeLevel::Error, format!("there is no entry {entry_id}"), None);
    }
    let one_line = label.map(|label| label.split_whitespace().collect::<Vec<_>>().join(" "));
    let label = one_line.filter(|label| !label.is_empty());
    let body = Body::Label { target_id: entry_id.to_owned(), label };
    let written = agent.config.session.append_aside(body);
    agent.written(written);
    show(agent, Shown::Tree);
}

/// Goes on from another entry.
pub(crate) async fn go_to(agent: &mut Agent, entry_id: &str, parting: Option<&Parting>) {
    agent.complete();
    let Some((leaf, text)) = landing(agent.config.session.tree(), entry_id) else {
        let error = format!("there is no entry {entry_id}");
        agent.notice(NoticeLevel::Error, error.clone(), Some("choose one with /tree"));
        return agent.emit(AgentEvent::SessionRefused { error });
    };
    let summary = match parting {
        Some(parting) => match sum_up(agent, leaf.as_deref(), parting).await {
            Ok(summary) => summary,
            Err(error) => {
                agent.notice(NoticeLevel::Warning, error.clone(), Some("the conversation is where it was"));
                return agent.emit(AgentEvent::SessionRefused { error });
            }
        },
        None => None,
    };
    agent.config.session.go_to(leaf.as_deref());
    if let Some(summary) = summary {
        let written = agent.config.session.append_body(summary);
        agent.written(written);
    }
    agent.flush();
    agent.file_versions = Arc::default();
    session_commands::opened(agent);
    session_commands::restore(agent);
    if let Some(text) = text {
        agent.emit(AgentEvent::QueueReturned { texts: vec![text], images: Vec::new() });
    }
}

/// The summary of what is left when the conversation goes on from `leaf`; none when nothing is.
async fn sum_up(agent: &mut Agent, leaf: Option<&str>, parting: &Parting) -> Result<Option<Body>, String> {
    let (from_id, left) = left_behind(agent, leaf);
    let Some(from_id) = from_id.filter(|_| !left.is_empty()) else { return Ok(None) };
    agent.stop = CancellationToken::new();
    agent.emit(AgentEvent::SummingUp { on: true });
    let result = compact::branch_summary::sum_up(agent, &left, parting.instructions.as_deref()).await;
    agent.emit(AgentEvent::SummingUp { on: false });
    match result {
        Ok((summary, details, usage)) => {
            let (details, usage) = (Some(details), serde_json::to_value(usage).ok());
            Ok(Some(Body::BranchSummary { from_id, summary, details, usage }))
        }
        Err(Ending::Failed(why)) => Err(format!("the branch could not be summed up: {why}")),
        Err(Ending::Aborted | Ending::Done) => Err("the summary was stopped".to_owned()),
    }
}

/// The end of the present path and the messages on it that are on no path to `leaf`.
fn left_behind(agent: &Agent, leaf: Option<&str>) -> (Option<String>, Vec<Arc<Message>>) {
    let tree = agent.config.session.tree();
    let stays = leaf.and_then(|leaf| tree.branch_to(leaf)).unwrap_or_default();
    let path = tree.branch();
    let shared = path.iter().zip(&stays).take_while(|(one, other)| one.id == other.id).count();
    let message = |entry: &&&crate::agent::session::entry::Entry| match &entry.body {
        Body::Message { message } => Some(message.clone()),
        _ => None,
    };
    let left = path.iter().skip(shared).filter_map(|entry| message(&entry)).collect();
    (path.last().map(|entry| entry.id.to_string()), left)
}
