//! Keeps the place of a screen that is left, and restores it on the next one.

use crate::composer::Draft;
use crate::geometry::{Anchor, ScrollPosition};
use crate::model::Model;
use crate::screen_place::{ScreenPlace, TopRow};

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
    ScreenPlace { draft: model.composer.draft().into(), set_aside, top }
}

/// Makes this screen look like the one that was left.
pub(super) fn restore(model: &mut Model, place: ScreenPlace) {
    let ScreenPlace { draft, set_aside, top } = place;
    model.drafts.extend(set_aside.into_iter().map(Draft::from));
    let draft = Draft::from(draft);
    // What was typed meanwhile stays.
    match (draft.is_empty(), model.composer.is_empty()) {
        (true, _) => {}
        (false, true) => model.composer.put_draft(draft),
        (false, false) => model.drafts.push(draft),
    }
    if let Some(TopRow { prompts_after, entries, part, row }) = top {
        model.transcript.show_place(prompts_after, entries, (part, row));
    }
}
