//! The pictures of an entry, each a part of its own after the others.

use crate::memo::Memo;
use crate::row::{MARGIN, Rows};
use tau_app::Model;
use tau_app::geometry::ScreenKind;
use tau_app::picture::{MessagePicture, PictureRoom};
use tau_app::transcript::{EntryBody, TranscriptEntry};

/// The picture that a part shows: those of an entry are its last parts.
pub(super) fn of_part(entry: &TranscriptEntry, part: u32) -> Option<&MessagePicture> {
    let (before, pictures) = match &entry.body {
        EntryBody::User { pictures, .. } => (1, pictures),
        EntryBody::Tool(tool) => (2, &tool.pictures),
        EntryBody::Welcome
        | EntryBody::Earlier { .. }
        | EntryBody::Answer(_)
        | EntryBody::Thinking { .. }
        | EntryBody::Command(_)
        | EntryBody::Summary { .. }
        | EntryBody::Notice { .. }
        | EntryBody::RunEnd(_) => return None,
    };
    pictures.get((part as usize).checked_sub(before)?)
}

pub(super) fn rows(
    model: &Model,
    memo: &mut Memo,
    entry: &TranscriptEntry,
    picture: &MessagePicture,
    width: u16,
) -> Rows {
    let inner = width.saturating_sub(MARGIN + 1);
    let room = PictureRoom::new(model.text_layout.pictures, model.terminal, inner, model.size.height);
    // What goes to the shell's screen cannot be drawn again when the picture is there.
    let is_full = model.boot.screen == ScreenKind::Full;
    let shown = room.filter(|_| is_full && !model.transcript.is_grouped(entry));
    shown.map_or_else(|| Rows::from([]), |room| memo.picture_rows(picture, room))
}
