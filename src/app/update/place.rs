//! Keeps the place of a screen that is left, and restores it on the next one.

use super::queue;
use crate::composer::Draft;
use crate::geometry::{Anchor, ScrollPosition};
use crate::model::Model;
use crate::msg::Millis;
use crate::screen_place::{ScreenPlace, TopRow};
use crate::unfinished::UnfinishedAnswer;

/// The time in which open questions follow the session.
const AWAITED: Millis = 2_000;

/// The place that the next screen on this session restores.
pub fn screen_place(model: &Model) -> ScreenPlace {
    let edited = model.editing.as_ref().map(|edit| &edit.draft).filter(|draft| !draft.is_empty());
    let set_aside = model.drafts.iter().chain(edited).cloned().map(Into::into).collect();
    let top = match model.transcript.position {
        ScrollPosition::Tail => None,
        ScrollPosition::Top(Anchor { entry, part, row }) => {
            let found = model.transcript.place_of(entry);
            found.map(|(prompts_after, entries)| TopRow { prompts_after, entries, part, row })
        }
    };
    let answers = begun_answers(model);
    ScreenPlace { draft: model.composer.draft().into(), set_aside, answers, top }
}

/// The answers that were begun and not given.
pub(super) fn begun_answers(model: &Model) -> Vec<UnfinishedAnswer> {
    let in_dialogs = model.overlays.iter().filter_map(UnfinishedAnswer::in_dialog);
    let at_calls = model.approvals.pending().iter().filter_map(UnfinishedAnswer::at_call);
    model.unfinished.iter().cloned().chain(in_dialogs).chain(at_calls).collect()
}

/// Continues answers that were begun earlier, where their questions are shown now.
pub(super) fn resume_answers(model: &mut Model) {
    let awaited = std::mem::take(&mut model.unfinished);
    model.unfinished = awaited
        .into_iter()
        .filter(|answer| {
            !model.overlays.iter_mut().any(|dialog| answer.resume_in(dialog))
                && !model.approvals.resume(|approval| answer.resume_at(approval))
        })
        .collect();
}

/// Puts the words of begun answers into the draft whose questions have not come again.
pub(super) fn end_unfinished(model: &mut Model) {
    if model.unfinished.is_empty() || model.now < model.unfinished_until {
        return;
    }
    let gone = std::mem::take(&mut model.unfinished);
    let words: Vec<String> =
        gone.iter().map(UnfinishedAnswer::words).filter(|words| !words.is_empty()).collect();
    if !words.is_empty() {
        model.composer.paste(&words.join("\n"));
        model.remark("the question is gone; your answer to it is in the draft");
    }
}

/// Makes this screen look like the one that was left.
pub(super) fn restore(model: &mut Model, place: ScreenPlace) {
    let ScreenPlace { draft, set_aside, answers, top } = place;
    (model.unfinished, model.unfinished_until) = (answers, model.now + AWAITED);
    resume_answers(model);
    model.drafts.extend(set_aside.into_iter().map(Draft::from));
    let draft = Draft::from(draft);
    // What was typed meanwhile stays.
    match (draft.is_empty(), model.composer.is_empty()) {
        (true, _) => {}
        (false, true) => model.composer.put_draft(draft),
        (false, false) => model.drafts.push(draft),
    }
    if !model.drafts.is_empty() {
        queue::tell_of_drafts(model);
    }
    if let Some(TopRow { prompts_after, entries, part, row }) = top {
        model.transcript.show_place(prompts_after, entries, (part, row));
    }
}
