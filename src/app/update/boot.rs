//! The model of the first frame, and the initial requests.

use std::sync::Arc;

use super::{approval, board, offers, sessions, trust};
use crate::boot::Boot;
use crate::effect::Effect;
use crate::keymap::Keymap;
use crate::model::Model;
use crate::request::ScreenRequest;
use crate::status::Status;
use crate::status_line::StatusLine;
use crate::terminal_facts::TerminalFacts;
use crate::transcript::EntryBody;
use tau_protocol::event::NoticeLevel;
use tau_protocol::mirror::SessionMirror;
use tau_protocol::screen_settings::EditingMode;

/// The model of the first frame, and the initial requests.
pub fn boot(boot: Boot) -> (Model, Vec<Effect>) {
    let keymap = Keymap::new(&boot.keys).0;
    let mut model = blank(boot, keymap);
    model.transcript.thinking_hidden = model.configured.hide_thinking;
    model.composer.set_vim(model.configured.editing_mode == EditingMode::Vim);
    model.transcript.push(EntryBody::Welcome);
    let boot = Arc::clone(&model.boot);
    for text in &boot.notices {
        model.transcript.notice(NoticeLevel::Warning, text, None);
    }
    let mut effects = Vec::new();
    model.ask(ScreenRequest::History {}, &mut effects);
    model.ask(ScreenRequest::Branch {}, &mut effects);
    if boot.demo {
        model.ask(ScreenRequest::Servers {}, &mut effects);
    }
    if !boot.instructions.is_empty() {
        let text = format!("instructions: {}", boot.instructions.join(", "));
        model.transcript.notice(NoticeLevel::Info, &text, None);
    }
    if boot.pick_session {
        sessions::open(&mut model, false, &mut effects);
    }
    if let Some(list) = &boot.board {
        board::open_with(&mut model, list.clone(), &mut effects);
    }
    let waiting = boot.folders.iter().filter(|folder| folder.is_open()).cloned();
    trust::push_questions(&mut model, waiting);
    approval::ask_for_mode(&mut model);
    offers::at_start(&mut model);
    (model, effects)
}

fn blank(boot: Boot, keymap: Keymap) -> Model {
    let status = Status {
        mirror: SessionMirror {
            model: boot.model.clone(),
            thinking: boot.thinking,
            mode: boot.permission_mode,
            ..SessionMirror::default()
        },
        priced: true,
        ..Status::default()
    };
    Model {
        now: boot.at,
        place: boot.place.clone(),
        size: boot.size,
        focused: true,
        restored: boot.restored.clone(),
        offers: boot.offers.clone(),
        asks_mode: boot.ask_permission_mode,
        sandbox: boot.sandbox.clone(),
        settings_fault: boot.settings_fault.clone(),
        status,
        keymap: Arc::new(keymap),
        commands_follow: boot.more_commands,
        theme: boot.theme.clone(),
        terminal: TerminalFacts { background: boot.background, ..TerminalFacts::default() },
        status_line: StatusLine::new(boot.settings.status_line.clone(), boot.settings.status_command),
        text_layout: boot.settings.text_layout,
        motion: boot.settings.motion_on(boot.screen),
        configured: boot.settings.clone(),
        boot: Arc::new(boot),
        ..Model::default()
    }
}
