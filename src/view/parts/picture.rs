//! The pictures of an entry, each as a separate part after the others.

use crate::memo::Memo;
use crate::row::{MARGIN, Rows};
use tau_app::Model;
use tau_app::geometry::ScreenKind;
use tau_app::picture::{MessagePicture, PictureRoom};
use tau_app::transcript::{EntryBody, TranscriptEntry};

/// The picture shown by a part: pictures are the last parts of an entry.
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
    // Rows on the shell's screen cannot be redrawn when the picture is ready.
    let is_full = model.boot.screen == ScreenKind::Full;
    let shown = room.filter(|_| is_full && !model.transcript.is_grouped(entry));
    shown.map_or_else(|| Rows::from([]), |room| memo.picture_rows(picture, room))
}
