//! Events of the agent: folded into transcript and status, and what else they ask for.

use super::tree;
use crate::agent::AgentEvent;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::message::Block;
use crate::agent::protocol::query::{HistoryPage, QueryAnswer};
use crate::app::effect::{Effect, ShellRequest, Ticket};
use crate::app::model::{Model, Purpose};
use crate::app::overlay::Overlay;

pub(super) fn take(model: &mut Model, event: &AgentEvent, effects: &mut Vec<Effect>) {
    model.transcript.fold(event, model.now);
    model.status.fold(event, model.now);
    match event {
        AgentEvent::QueueReturned { texts, images } => give_back(model, texts, images),
        AgentEvent::Asked { id, question } => {
            model.overlays.push(Overlay::Asked { id: id.clone(), question: question.clone(), selected: 0 });
        }
        AgentEvent::HistoryAvailable { left } => {
            put_earlier(model, &HistoryPage { left: Some(*left), ..HistoryPage::default() });
        }
        AgentEvent::Answered { ticket, answer } => answered(model, Ticket(*ticket), answer, effects),
        AgentEvent::AgentSettled { .. } => settled(model, effects),
        AgentEvent::Stopped => {
            let hint = "quit with ctrl+d; the session is kept, `tau --continue` opens it again";
            model.transcript.notice(NoticeLevel::Error, "the agent has ended", Some(hint));
        }
        _ => {}
    }
}

/// The agent has answered a query.
fn answered(
    model: &mut Model,
    ticket: Ticket,
    answer: &Result<QueryAnswer, String>,
    effects: &mut Vec<Effect>,
) {
    match answer {
        Ok(QueryAnswer::Outline(outline)) => tree::fill(model, outline),
        Ok(QueryAnswer::ContextUsage(usage)) => {
            model.transcript.notice(NoticeLevel::Info, &tree::context_usage(usage), None);
        }
        Ok(QueryAnswer::HistoryPage(page)) => put_earlier(model, page),
        Ok(QueryAnswer::Source(session)) => {
            let Some(Purpose::Export(file)) = model.waiting.remove(&ticket) else { return };
            let session = session.clone();
            model.ask(Purpose::Note, ShellRequest::Export { session, file }, effects);
        }
        Ok(_) => {}
        Err(error) => {
            if let Some(Purpose::Export(_)) = model.waiting.remove(&ticket) {
                model.transcript.notice(NoticeLevel::Warning, error, None);
            }
        }
    }
}

fn put_earlier(model: &mut Model, page: &HistoryPage) {
    // What was on the screen says nothing of what is above it now.
    let rows = std::mem::take(&mut model.laid.rows);
    model.transcript.put_earlier(page, &rows);
}

/// Queued messages come back in front of what is being written, all pictures behind the texts.
fn give_back(model: &mut Model, texts: &[String], images: &[Block]) {
    if texts.is_empty() {
        return;
    }
    let (written, pictures) = model.composer.expanded();
    let written = Some(&written).filter(|written| !written.is_empty());
    let parts: Vec<&str> = texts.iter().chain(written).map(String::as_str).collect();
    model.composer.set_text(&parts.join("\n\n"));
    for picture in images.iter().chain(&pictures) {
        if let Block::Image { data, mime_type } = picture {
            model.composer.insert_picture(data.clone(), mime_type.clone(), None);
        }
    }
}

fn settled(model: &mut Model, effects: &mut Vec<Effect>) {
    model.overlays.retain(|overlay| !matches!(overlay, Overlay::Asked { .. }));
    model.ask(Purpose::Branch, ShellRequest::Branch, effects);
    if !model.focused {
        effects.push(Effect::Bell);
    }
}
