//! Keeps the place of a screen that is left, and restores it on the next one.

use crate::geometry::{Anchor, ScrollPosition};
use crate::model::Model;
use crate::screen_place::{ScreenPlace, TopRow};
use tau_protocol::message::Block;

/// The place that the next screen on this session restores.
pub fn screen_place(model: &Model) -> ScreenPlace {
    let (draft, pictures) = model.composer.expanded();
    let top = match model.transcript.position {
        ScrollPosition::Tail => None,
        ScrollPosition::Top(Anchor { entry, part, row }) => {
            let found = model.transcript.place_of(entry);
            found.map(|(prompts_after, entries)| TopRow { prompts_after, entries, part, row })
        }
    };
    ScreenPlace { draft, pictures, top }
}

/// Makes this screen look like the one that was left.
pub(super) fn restore(model: &mut Model, place: ScreenPlace) {
    let ScreenPlace { draft, pictures, top } = place;
    if model.composer.is_empty() {
        model.composer.insert(&draft);
        for picture in pictures {
            if let Block::Image { data, mime_type } = picture {
                model.composer.insert_picture(data, mime_type, None);
            }
        }
    }
    if let Some(TopRow { prompts_after, entries, part, row }) = top {
        model.transcript.show_place(prompts_after, entries, (part, row));
    }
}
