//! Offers at first use: hooks of another agent, tools for the web. Hooks are offered at the start, web tools
//! before a message that names a page or asks for a search. Such a message waits for the answer.

use super::trust;
use crate::effect::Effect;
use crate::model::{HeldPrompt, Model};
use crate::overlays::offer::{Offer, OfferAnswer, OfferView, WebOffer};
use crate::overlays::overlay::Overlay;
use crate::request::{ScreenRequest, SettingsUpdate};
use tau_protocol::command::{Queue, RunCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::message::Block;
use tau_protocol::model::Api;
use tau_tools::user_error::UserError;

/// Asks about hooks, once a model other than the demo answers.
pub(super) fn at_start(model: &mut Model) {
    let is_real = model.status.mirror.model.as_ref().is_some_and(|ai| ai.api != Api::Scripted);
    if let Some(offer) = model.offers.hooks.take_if(|_| is_real) {
        // Below other questions: trust and the permission mode come first.
        model.overlays.insert(0, Overlay::Offer(OfferView::new(Offer::Hooks(offer), model.now)));
    }
}

/// Sends a message, or asks first: then it waits, and later ones queue behind it.
pub(super) fn prompt(
    model: &mut Model,
    text: String,
    images: Vec<Block>,
    streaming: Queue,
    effects: &mut Vec<Effect>,
) {
    if !model.held.is_empty() {
        return model.held.push(HeldPrompt { text, images, streaming });
    }
    match model.offers.web.take_if(|offer| offer.is_needed(&text)) {
        Some(offer) => {
            model.held.push(HeldPrompt { text, images, streaming });
            model.overlays.push(Overlay::Offer(OfferView::new(Offer::Web(offer), model.now)));
        }
        None => {
            effects.push(RunCommand::Prompt { text, images, streaming }.into());
        }
    }
}

/// Handles the user's answer; `None` if the question was closed.
pub(super) fn on_answer(
    model: &mut Model,
    offer: Offer,
    answer: Option<OfferAnswer>,
    effects: &mut Vec<Effect>,
) {
    let (settings, kept) = match (offer, answer) {
        (Offer::Hooks(_), None | Some(OfferAnswer::Once)) => {
            return model.remark("tau asks again at the next start");
        }
        (Offer::Hooks(offer), Some(answer)) => {
            model.reads_folders = offer.of_project && answer == OfferAnswer::Yes;
            (vec![("claude_hooks".to_owned(), (answer == OfferAnswer::Yes).to_string())], true)
        }
        (Offer::Web(_), None) => return release(model, effects),
        (Offer::Web(offer), Some(answer)) => {
            (web(offer, answer != OfferAnswer::Never), answer != OfferAnswer::Once)
        }
    };
    model.ask(ScreenRequest::Decide { settings, kept }, effects);
}

fn web(offer: WebOffer, on: bool) -> Vec<(String, String)> {
    let search =
        offer.search.map(|(id, _)| ("web_search".to_owned(), if on { id } else { "off".to_owned() }));
    let fetch = (!offer.only_search).then(|| ("web_fetch".to_owned(), on.to_string()));
    fetch.into_iter().chain(search).collect()
}

/// Handles the result of storing the answer: sends the messages that waited for it.
pub(super) fn on_answer_result(
    model: &mut Model,
    answer: Result<SettingsUpdate, UserError>,
    effects: &mut Vec<Effect>,
) {
    match answer {
        Ok(applied) => trust::apply_settings(model, applied, effects),
        Err(error) => model.transcript.notice(NoticeLevel::Warning, &error, None),
    }
    if std::mem::take(&mut model.reads_folders) {
        trust::look(model, effects);
    }
    release(model, effects);
}

fn release(model: &mut Model, effects: &mut Vec<Effect>) {
    let held = std::mem::take(&mut model.held).into_iter();
    effects.extend(
        held.map(|HeldPrompt { text, images, streaming }| {
            RunCommand::Prompt { text, images, streaming }.into()
        }),
    );
}
