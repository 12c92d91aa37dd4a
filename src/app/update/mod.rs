//! The fold: takes a fact and the model, returns the new model and its effects.
//!
//! Imports run one way: this file, then triggers (keys, mouse, actions, overlays, agent, replies), `submit`,
//! `slash`, subjects (models, sessions, tree, ...), the model. A trigger only routes; the behaviour is in the
//! file of its subject.

#![deny(clippy::wildcard_enum_match_arm)]

mod actions;
mod agent;
mod answering;
mod approval;
mod attempt_order;
mod attempts;
mod board;
mod boot;
mod changes;
mod completion;
mod composing;
mod context;
mod copy;
mod extensions;
mod find;
mod goal;
mod interrupt;
mod job_list;
mod key_list;
mod keys;
mod leader;
mod login;
mod misdirected;
mod models;
mod mouse;
mod notify;
mod offers;
mod overlay_paste;
mod overlays;
mod palette;
mod panels;
mod pickers;
mod pictures;
mod place;
mod plan;
mod prompt_commands;
mod prompts;
mod questions;
mod queue;
mod replies;
mod rule_list;
mod session;
mod sessions;
mod settings;
mod side_question;
mod slash;
mod status_line;
mod submit;
mod terminal_focus;
mod themes;
mod thinking;
mod tree;
mod trust;
mod undo;
mod vim;
mod worktrees;

use std::sync::Arc;

use super::effect::Effect;
use super::geometry::FrameLayout;
use super::model::Model;
use super::msg::{Msg, StampedMsg};
use super::overlays::overlay::Overlay;
use super::printable::Printable;
use super::request::NO_TICKET;
use tau_protocol::command::{AgentCommand, Queue, SessionChange, SessionCommand, TaskCommand};
use tau_protocol::query::Query;

pub use boot::boot;
pub use place::screen_place;

/// Folds one fact into the model. Effects must be carried out in order.
pub fn update(mut model: Model, stamped: StampedMsg) -> (Model, Vec<Effect>) {
    let mut effects = Vec::new();
    model.now = model.now.max(stamped.at);
    board::pass_time(&mut model);
    match stamped.msg {
        Msg::Key(key) => keys::press(&mut model, key, &mut effects),
        Msg::Mouse(event) => mouse::take(&mut model, event, &mut effects),
        Msg::Paste(text) => keys::paste(&mut model, &text, &mut effects),
        Msg::Resized(size) => {
            model.size = size;
            model.transcript.show_selected_panel();
            board::pass_size(&mut model);
        }
        Msg::Focused(focused) => model.focused = focused,
        Msg::TerminalAnswered(answer) => model.terminal = model.terminal.with(&answer),
        Msg::ThemesListed(names) => themes::on_themes(&mut model, names),
        Msg::Ticked => {
            expire(&mut model);
            overlays::end_wait(&mut model, &mut effects);
            answering::end_wait(&mut model, &mut effects);
            place::end_unfinished(&mut model);
            if model.coming_mode.is_some_and(|(_, at)| model.now >= at) {
                approval::apply_coming_mode(&mut model, &mut effects);
            }
            if let Some(answering) = &mut model.answering {
                expire(&mut answering.model);
            }
            board::refresh(&mut model, &mut effects);
            job_list::refresh(&mut model, &mut effects);
            attempts::refresh(&mut model, &mut effects);
        }
        Msg::Agent(event) => agent::take(&mut model, &event, &mut effects),
        Msg::Finished(ticket, reply) => replies::take(&mut model, ticket, reply, &mut effects),
        Msg::Laid(laid) => on_layout(&mut model, laid, &mut effects),
        Msg::DirectoryChanged { applied, folders, place } => {
            model.place = Printable::line(&place).as_str().to_owned();
            Arc::make_mut(&mut model.boot).place.clone_from(&model.place);
            trust::apply_settings(&mut model, applied, &mut effects);
            if !folders.is_empty() {
                trust::ask(&mut model, folders);
            }
        }
        Msg::Connection(connection) => model.connection = connection,
        Msg::Started { text, images } => {
            offers::prompt(&mut model, text, images, Queue::FollowUp, &mut effects);
        }
        Msg::Continued => {}
        Msg::QuitUnsaved => job_list::ask_about_loss(&mut model),
    }
    overlays::enter_again(&mut model, &mut effects);
    job_list::follow_question(&mut model);
    if model.jobs.count() > 0 || model.jobs.owner().is_some() {
        terminal_focus::follow(&mut model, &mut effects);
    }
    if let Some((from, goal)) = model.transcript.wants_page(&model.laid) {
        model.transcript.note_page_request(from, goal.clone());
        effects
            .push(TaskCommand::Query { ticket: NO_TICKET, query: Query::HistoryPage { from, goal } }.into());
    }
    status_line::follow(&mut model, &mut effects);
    for effect in &effects {
        if let Effect::Agent(command) = effect {
            model.status.mirror.apply_command(command);
            model.goes_elsewhere |= goes_elsewhere(command);
        }
    }
    (model, effects)
}

/// Whether a command goes to another place of the conversation, whose end is then shown.
fn goes_elsewhere(command: &AgentCommand) -> bool {
    matches!(
        command,
        AgentCommand::Session(
            SessionCommand::Undo { .. }
                | SessionCommand::Redo { .. }
                | SessionCommand::Change(SessionChange::GoTo { .. })
        )
    )
}

fn expire(model: &mut Model) {
    let now = model.now;
    model.remark = model.remark.take().filter(|(_, until)| now < *until);
    model.quit_armed = model.quit_armed.filter(|until| now < *until);
    model.typed_ahead = model.typed_ahead.filter(|until| now < *until);
    model.enter_held = model.enter_held.filter(|until| now < *until);
}

fn on_layout(model: &mut Model, mut laid: FrameLayout, effects: &mut Vec<Effect>) {
    if let (Some(answering), Some(within)) = (&mut model.answering, &laid.within) {
        on_layout(&mut answering.model, (**within).clone(), &mut Vec::new());
    }
    if model.transcript.pending != 0 {
        model.approvals.follow = false;
    }
    if model.approvals.note_shown(&laid, model.now) {
        model.approvals.is_draft_meant = !model.composer.is_empty();
    }
    model.approvals.note_listed(&laid.asked_beside);
    if let Some(reading) = model.overlays.last_mut().and_then(Overlay::reading_mut) {
        reading.note_shown(&laid);
    }
    model.transcript.apply_layout(&laid);
    copy::selection(model, laid.selected.take(), effects);
    model.laid = laid;
}
