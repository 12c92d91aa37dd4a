//! Events of the agent: folded into transcript and status, and what else they ask for.

use super::tree;
use crate::agent::AgentEvent;
use crate::agent::event::NoticeLevel;
use crate::app::effect::{Effect, Request};
use crate::app::model::{Model, Purpose};
use crate::app::overlay::Overlay;

pub(super) fn take(model: &mut Model, event: &AgentEvent, effects: &mut Vec<Effect>) {
    model.transcript.fold(event, model.now);
    model.status.fold(event, model.now);
    match event {
        AgentEvent::QueueReturned { texts } => give_back(model, texts),
        AgentEvent::Asked { id, question } => {
            model.overlays.push(Overlay::Asked { id: id.clone(), question: question.clone(), selected: 0 });
        }
        AgentEvent::TreeShown { outline } => tree::fill(model, outline),
        AgentEvent::ContextShown { weights } => {
            model.transcript.notice(NoticeLevel::Info, &tree::weights(weights), None);
        }
        AgentEvent::AgentSettled { .. } => settled(model, effects),
        AgentEvent::Stopped => {
            let hint = "quit with ctrl+d; the session is kept, `tau --continue` opens it again";
            model.transcript.notice(NoticeLevel::Error, "the agent has ended", Some(hint));
        }
        _ => {}
    }
}

/// Queued messages come back in front of what is being written.
fn give_back(model: &mut Model, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    let written = model.composer.expanded().0;
    let mut parts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if !written.is_empty() {
        parts.push(&written);
    }
    let text = parts.join("\n\n");
    model.composer.set_text(&text);
}

fn settled(model: &mut Model, effects: &mut Vec<Effect>) {
    model.overlays.retain(|overlay| !matches!(overlay, Overlay::Asked { .. }));
    model.ask(Purpose::Branch, Request::Branch, effects);
    if !model.focused {
        effects.push(Effect::Bell);
    }
}
