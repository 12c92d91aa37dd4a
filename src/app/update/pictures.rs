//! Pictures: a path that is pasted or dropped becomes a picture in the composer.

use crate::agent::protocol::event::NoticeLevel;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::request::{Picture, ShellRequest};

/// Reads the picture when the paste is the path of one; false when it is not.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let Some(path) = picture_path(text) else { return false };
    model.ask(ShellRequest::Picture { path: path.into() }, effects);
    true
}

/// Takes a picture that was read.
pub(super) fn read(model: &mut Model, picture: Result<Picture, String>) {
    match picture {
        Ok(Picture { data, mime_type, width, height }) => {
            model.composer.insert_picture(data, mime_type, Some((width, height)));
        }
        Err(error) => model.transcript.notice(NoticeLevel::Warning, &error, None),
    }
}

/// A paste that is nothing but the path of a picture, as terminals give for a dropped file.
fn picture_path(text: &str) -> Option<&str> {
    let path = text.trim().trim_matches(['\'', '"']);
    let path = path.strip_prefix("file://").unwrap_or(path);
    let (_, extension) = path.rsplit_once('.')?;
    let known = ["png", "jpg", "jpeg", "gif", "webp"];
    let is_picture = known.iter().any(|known| known.eq_ignore_ascii_case(extension));
    (is_picture && !path.contains('\n') && path.starts_with(['/', '~', '.'])).then_some(path)
}
