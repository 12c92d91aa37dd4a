//! The model of the first frame, and the initial requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{approval, board, offers, sessions, trust};
use crate::approval::Approvals;
use crate::boot::Boot;
use crate::composer::Composer;
use crate::connection::Connection;
use crate::effect::Effect;
use crate::geometry::Laid;
use crate::jobs::Jobs;
use crate::keymap::Keymap;
use crate::misdirected::Misdirected;
use crate::model::Model;
use crate::overlays::plan::WorkMode;
use crate::request::ShellRequest;
use crate::slash::Commands;
use crate::status::Status;
use crate::status_line::StatusLine;
use crate::terminal_facts::TerminalFacts;
use crate::transcript::{EntryBody, Transcript};
use crate::undo::UndoDialog;
use tau_protocol::chosen::ChosenModels;
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
    model.ask(ShellRequest::History {}, &mut effects);
    model.ask(ShellRequest::Branch {}, &mut effects);
    if boot.demo {
        model.ask(ShellRequest::Servers {}, &mut effects);
    }
    if !boot.instructions.is_empty() {
        let text = format!("instructions: {}", boot.instructions.join(", "));
        model.transcript.notice(NoticeLevel::Info, &text, None);
    }
    if boot.pick_session {
        sessions::open(&mut model, false, &mut effects);
    }
    if boot.board {
        board::open(&mut model, &mut effects);
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
        connection: Connection::Up,
        size: boot.size,
        focused: true,
        transcript: Transcript::default(),
        jobs: Jobs::default(),
        composer: Composer::default(),
        completion: None,
        editing: None,
        drafts: Vec::new(),
        approvals: Approvals::default(),
        attempts: None,
        confirmed_goal: None,
        plan: None,
        is_plan_folded: false,
        is_plan_over: false,
        work_mode: WorkMode::new(boot.permission_mode, boot.at),
        restored: boot.restored.clone(),
        offers: boot.offers.clone(),
        held: Vec::new(),
        reads_folders: false,
        asks_mode: boot.ask_permission_mode,
        asked_modes: Default::default(),
        coming_mode: None,
        sandbox: boot.sandbox.clone(),
        settings_fault: boot.settings_fault.clone(),
        overlays: Vec::new(),
        answering: None,
        is_on_board: false,
        status,
        keymap: Arc::new(keymap),
        commands: Arc::new(Commands::default()),
        commands_follow: boot.more_commands,
        early_command: None,
        early_asked: None,
        theme: boot.theme.clone(),
        terminal: TerminalFacts { background: boot.background, ..TerminalFacts::default() },
        status_line: StatusLine::new(boot.settings.status_line.clone(), boot.settings.status_command),
        text_layout: boot.settings.text_layout,
        motion: boot.settings.motion_on(boot.screen),
        configured: boot.settings.clone(),
        models: Vec::new(),
        chosen_models: ChosenModels::default(),
        remark: None,
        quit_armed: None,
        led: false,
        typed_ahead: None,
        enter_held: None,
        misdirected: Misdirected::default(),
        tree_armed: None,
        click: None,
        copying: false,
        laid: Laid::default(),
        requests: BTreeMap::new(),
        exports: BTreeMap::new(),
        sought_passage: None,
        arrival: None,
        completed_path: String::new(),
        undo: UndoDialog::default(),
        tickets: 0,
        boot: Arc::new(boot),
    }
}
