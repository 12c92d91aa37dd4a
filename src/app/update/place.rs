//! Keeps the place of a screen that is left, and restores it on the next one.

use crate::composer::{Composer, Draft};
use crate::geometry::{Anchor, ScrollPosition};
use crate::model::Model;
use crate::screen_place::{ScreenPlace, TopRow};
use tau_protocol::message::Block;

/// The place that the next screen on this session restores.
pub fn screen_place(model: &Model) -> ScreenPlace {
    let (draft, pictures) = model.composer.expanded_content();
    let edited = model.editing.as_ref().map(|edit| &edit.draft).filter(|draft| !draft.is_empty());
    let set_aside = model.drafts.iter().chain(edited).map(Draft::expanded_content);
    let top = match model.transcript.position {
        ScrollPosition::Tail => None,
        ScrollPosition::Top(Anchor { entry, part, row }) => {
            let found = model.transcript.place_of(entry);
            found.map(|(prompts_after, entries)| TopRow { prompts_after, entries, part, row })
        }
    };
    ScreenPlace { draft, pictures, set_aside: set_aside.collect(), top }
}

/// Makes this screen look like the one that was left.
pub(super) fn restore(model: &mut Model, place: ScreenPlace) {
    let ScreenPlace { draft, pictures, set_aside, top } = place;
    for (draft, pictures) in set_aside {
        let mut composer = Composer::default();
        put(&mut composer, &draft, &pictures);
        model.drafts.push(composer.take_draft());
    }
    if model.composer.is_empty() {
        put(&mut model.composer, &draft, &pictures);
    }
    if let Some(TopRow { prompts_after, entries, part, row }) = top {
        model.transcript.show_place(prompts_after, entries, (part, row));
    }
}

/// Inserts a draft with its pictures.
fn put(composer: &mut Composer, draft: &str, pictures: &[Block]) {
    let mut pictures = pictures.iter();
    let draft = composer.adopt(draft, &mut pictures);
    composer.insert(&draft);
    for picture in pictures {
        if let Block::Image { data, mime_type } = picture {
            composer.insert_picture(data.clone(), mime_type.clone(), None);
        }
    }
}
