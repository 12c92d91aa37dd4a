//! Whether to use the project settings of folders: asked at the start, and with `/trust`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::effect::Effect;
use crate::keymap::Keymap;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::trust::{TrustAnswer, TrustView};
use crate::request::{ScreenRequest, SettingsUpdate};
use crate::screen_settings::ScreenSettings;
use crate::status_line::StatusLine;
use tau_protocol::event::NoticeLevel;
use tau_protocol::screen_settings::EditingMode;
use tau_protocol::trust::Folder;

/// Reads the current settings of the folders, to ask about them.
pub(super) fn look(model: &mut Model, effects: &mut Vec<Effect>) {
    model.ask(ScreenRequest::Folders {}, effects);
}

/// Asks about every folder; the nearest first.
pub(super) fn ask(model: &mut Model, folders: Vec<Folder>) {
    if folders.is_empty() {
        let hint = "they live in .tau/, here or at the repository root";
        let text = "no project settings here";
        return model.transcript.notice(NoticeLevel::Info, text, Some(hint));
    }
    push_questions(model, folders);
}

/// A question about each folder.
pub(super) fn push_questions(model: &mut Model, folders: impl IntoIterator<Item = Folder>) {
    model.overlays.extend(folders.into_iter().map(|folder| Overlay::Trust(TrustView::new(folder))));
}

/// Stores the answer.
pub(super) fn on_answer(model: &mut Model, root: PathBuf, answer: TrustAnswer, effects: &mut Vec<Effect>) {
    let trusted = match answer {
        TrustAnswer::Use => true,
        TrustAnswer::Never => false,
        TrustAnswer::Later => return model.remark("nothing changed; /trust asks again"),
    };
    model.ask(ScreenRequest::Trust { root, trusted }, effects);
}

/// Applies the settings of the screen that have changed: the others may have been changed by keys.
fn configure(model: &mut Model, new: ScreenSettings, effects: &mut Vec<Effect>) {
    let old = std::mem::replace(&mut model.configured, new.clone());
    if old.hide_thinking != new.hide_thinking {
        model.transcript.thinking_hidden = new.hide_thinking;
    }
    if old.text_layout != new.text_layout {
        model.text_layout = new.text_layout;
    }
    if old.terminal != new.terminal {
        effects.push(Effect::UseTerminal(new.terminal));
    }
    if old.motion != new.motion {
        model.motion = new.motion_on(model.boot.screen);
    }
    if old.editing_mode != new.editing_mode {
        model.composer.set_vim(new.editing_mode == EditingMode::Vim);
    }
    if (&old.status_line, old.status_command) != (&new.status_line, new.status_command) {
        model.status_line = StatusLine::new(new.status_line, new.status_command);
    }
}

/// Applies settings to the screen, and sends the commands for the agent.
pub(super) fn apply_settings(model: &mut Model, applied: SettingsUpdate, effects: &mut Vec<Effect>) {
    effects.extend(applied.commands.into_iter().map(Effect::Agent));
    if let Some(theme) = applied.theme {
        model.theme = theme;
    }
    if let Some(settings) = applied.screen {
        configure(model, settings, effects);
    }
    if let Some(fault) = applied.settings_fault {
        model.settings_fault = Some(fault).filter(|fault| !fault.is_empty());
    }
    if let Some(sandbox) = applied.sandbox {
        model.sandbox = sandbox;
    }
    if let Some(keys) = applied.keys {
        model.keymap = Arc::new(Keymap::new(&keys).0);
    }
    if !applied.text.is_empty() {
        model.transcript.notice(NoticeLevel::Info, &applied.text, None);
    }
    for warning in applied.warnings {
        model.transcript.notice(NoticeLevel::Warning, &warning, None);
    }
}
