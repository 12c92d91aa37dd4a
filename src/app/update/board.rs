//! The board: opening, refreshing, and its actions.

use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::board::{BoardChoice, BoardView, REFRESH};
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{ShellRequest, Ticket};
use tau_protocol::event::NoticeLevel;
use tau_protocol::live_session::LiveRow;

/// Opens the board.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = Some(model.ask(ShellRequest::Board {}, effects));
    let asked = model.now;
    model.overlays.push(Overlay::Board(Box::new(BoardView { ticket, asked, ..BoardView::default() })));
}

fn view(model: &mut Model) -> Option<&mut BoardView> {
    model
        .overlays
        .iter_mut()
        .find_map(|overlay| if let Overlay::Board(view) = overlay { Some(&mut **view) } else { None })
}

/// Looks at the sessions again from time to time, while the board is open.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let is_due = |view: &&mut BoardView| view.ticket.is_none() && now.saturating_sub(view.asked) >= REFRESH;
    if view(model).filter(is_due).is_some() {
        let ticket = model.ask(ShellRequest::Board {}, effects);
        if let Some(view) = view(model) {
            (view.ticket, view.asked) = (Some(ticket), now);
        }
    }
}

/// Fills in the sessions.
pub(super) fn fill(model: &mut Model, ticket: Ticket, answer: Result<Vec<LiveRow>, String>) {
    let Some(view) = view(model).filter(|view| view.ticket == Some(ticket)) else { return };
    match answer {
        Ok(rows) => view.fill(rows),
        Err(error) => {
            view.ticket = None;
            view.said = Some(Err(Printable::line(&error)));
        }
    }
}

/// Handles a key.
pub(super) fn press(
    model: &mut Model,
    mut view: Box<BoardView>,
    key: Key,
    page: usize,
    effects: &mut Vec<Effect>,
) {
    match view.key(key, page) {
        KeyOutcome::Done(choice) => chosen(model, view, choice, effects),
        KeyOutcome::Closed => {}
        KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::Board(view)),
    }
}

/// Carries out the action on a session.
fn chosen(model: &mut Model, mut view: Box<BoardView>, choice: BoardChoice, effects: &mut Vec<Effect>) {
    match choice {
        // Here it is.
        BoardChoice::Open { id } if id == model.status.mirror.session.id => {}
        BoardChoice::Open { id } => effects.push(Effect::OpenLive(id)),
        BoardChoice::Stop { id } => {
            view.change = Some(model.ask(ShellRequest::StopSession { id }, effects));
            model.overlays.push(Overlay::Board(view));
        }
    }
}

/// Handles the result of stopping a run.
pub(super) fn stopped(model: &mut Model, ticket: Ticket, answer: Result<String, String>) {
    match view(model).filter(|view| view.change == Some(ticket)) {
        Some(view) => {
            view.change = None;
            view.said = Some(match answer {
                Ok(text) => Ok(Printable::line(&text)),
                Err(error) => Err(Printable::line(&error)),
            });
        }
        None => {
            if let Err(error) = answer {
                model.transcript.notice(NoticeLevel::Warning, &error, None);
            }
        }
    }
}
