//! Whether the settings that folders bring along are used: asked at the start, and with `/trust`.

use std::path::PathBuf;

use crate::agent::protocol::event::NoticeLevel;
use crate::agent::settings::folder::Folder;
use crate::app::effect::{Applied, Effect, ShellRequest};
use crate::app::model::{Model, Purpose};
use crate::app::overlay::Overlay;
use crate::app::trust::{TrustAnswer, TrustView};

/// Looks which settings the folders have now, to ask about them.
pub(super) fn look(model: &mut Model, effects: &mut Vec<Effect>) {
    model.ask(Purpose::Trust, ShellRequest::Folders, effects);
}

/// Asks about every folder; the nearest first.
pub(super) fn ask(model: &mut Model, folders: Vec<Folder>) {
    if folders.is_empty() {
        let hint = "settings of a folder are in .tau/ in it, or in the root of its repository";
        let text = "this folder has no settings of its own";
        return model.transcript.notice(NoticeLevel::Info, text, Some(hint));
    }
    model.overlays.extend(folders.into_iter().map(|folder| Overlay::Trust(TrustView::new(folder))));
}

/// Keeps the answer.
pub(super) fn answered(model: &mut Model, root: PathBuf, answer: TrustAnswer, effects: &mut Vec<Effect>) {
    let trusted = match answer {
        TrustAnswer::Use => true,
        TrustAnswer::Never => false,
        TrustAnswer::Later => return model.remark("nothing was changed; /trust asks again"),
    };
    model.ask(Purpose::Note, ShellRequest::Trust { root, trusted }, effects);
}

/// Other settings hold from now on.
pub(super) fn applied(model: &mut Model, applied: Applied, effects: &mut Vec<Effect>) {
    effects.extend(applied.commands.into_iter().map(Effect::Agent));
    if let Some(theme) = applied.theme {
        model.theme = theme;
    }
    if let Some(hidden) = applied.hide_thinking {
        model.transcript.thinking_hidden = hidden;
    }
    model.transcript.notice(NoticeLevel::Info, &applied.text, None);
}
