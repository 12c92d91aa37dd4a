//! Pastes into the overlay on top.

use super::{queue, rule_list, sessions};
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::list_keys::PendingLetters;
use crate::overlays::overlay::{Overlay, SignInView};

/// Passes a paste to the overlay on top; false if it is a question that takes no text, so the paste is for the draft.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    if let Some(Overlay::Queue(_)) = model.overlays.last() {
        queue::write_over(model);
        return false;
    }
    let takes_no_text = match model.overlays.last() {
        Some(Overlay::Plan(view)) => view.comment.is_none(),
        Some(
            Overlay::Trust(_)
            | Overlay::Leave(_)
            | Overlay::Mode(_)
            | Overlay::Offer(_)
            | Overlay::Asked { .. },
        ) => true,
        _ => false,
    };
    if takes_no_text {
        model.misdirected.drafts(model.now);
        model.remark("pasted into your draft");
        return false;
    }
    let begun = model.begun.take().filter(|begun| !begun.is_over(model.now));
    let text = &format!("{}{text}", begun.map(PendingLetters::into_text).unwrap_or_default());
    let before = sessions::Before::of(model);
    match model.overlays.last_mut() {
        Some(Overlay::Tree(view)) => view.paste(text),
        Some(Overlay::Picker { picker, .. }) => picker.paste(text),
        Some(Overlay::Login { line, .. } | Overlay::SignIn(SignInView { line, .. })) => line.paste(text),
        Some(Overlay::Help(view)) => view.paste(text),
        Some(Overlay::Settings(view)) => view.paste(text),
        Some(Overlay::Keys(view)) => view.paste(text),
        Some(Overlay::Extensions(view)) => view.paste(text),
        Some(Overlay::Board(view)) => view.paste(text),
        Some(Overlay::Jobs(view)) => view.list.paste(text),
        Some(Overlay::Worktrees(view)) => view.list.paste(text),
        Some(Overlay::Attempts(view)) => view.list.paste(text),
        Some(Overlay::Changes(view)) => view.paste(text),
        Some(Overlay::Rules(_)) => rule_list::paste(model, text, effects),
        Some(Overlay::Plan(view)) => view.paste(text),
        Some(Overlay::Form(form)) => form.paste(text),
        Some(Overlay::Questions(view)) => view.paste(text),
        Some(
            Overlay::Trust(_)
            | Overlay::Leave(_)
            | Overlay::Queue(_)
            | Overlay::SideQuestion(_)
            | Overlay::Mode(_)
            | Overlay::Offer(_)
            | Overlay::Asked { .. },
        )
        | None => {}
    }
    sessions::follow(model, &before, effects);
    true
}
