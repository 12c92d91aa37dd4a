//! The board: opening, refreshing, and its actions.

use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::board::{BoardChoice, BoardView, REFRESH};
use crate::overlays::list::{List, report};
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{ShellRequest, Ticket};
use tau_protocol::event::NoticeLevel;
use tau_protocol::live_session::LiveRow;

/// Opens the board.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let list = List::waiting(model.ask(ShellRequest::Board {}, effects));
    let asked = model.now;
    model.overlays.push(Overlay::Board(Box::new(BoardView { list, asked })));
}

/// Looks at the sessions again from time to time, while the board is open.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let is_due = |view: &BoardView| view.list.ticket.is_none() && now.saturating_sub(view.asked) >= REFRESH;
    if model.open::<BoardView>().is_some_and(|view| is_due(view)) {
        let ticket = model.ask(ShellRequest::Board {}, effects);
        if let Some(view) = model.open::<BoardView>() {
            (view.list.ticket, view.asked) = (Some(ticket), now);
        }
    }
}

/// Fills in the sessions.
pub(super) fn fill(model: &mut Model, ticket: Ticket, answer: Result<Vec<LiveRow>, String>) {
    let Some(view) = model.open::<BoardView>().filter(|view| view.list.ticket == Some(ticket)) else {
        return;
    };
    match answer {
        Ok(rows) => view.fill(rows),
        Err(error) => {
            view.list.ticket = None;
            view.list.said = Some(Err(Printable::line(&error)));
        }
    }
}

/// Carries out the action on a session.
pub(super) fn chosen(
    model: &mut Model,
    mut view: Box<BoardView>,
    choice: BoardChoice,
    effects: &mut Vec<Effect>,
) {
    match choice {
        // Here it is.
        BoardChoice::Open { id } if id == model.status.mirror.session.id => {}
        BoardChoice::Open { id } => effects.push(Effect::OpenLive(id)),
        BoardChoice::Stop { id } => {
            view.list.change = Some(model.ask(ShellRequest::StopSession { id }, effects));
            model.overlays.push(Overlay::Board(view));
        }
    }
}

/// Handles the result of stopping a run.
pub(super) fn stopped(model: &mut Model, ticket: Ticket, answer: Result<String, String>) {
    match model.open::<BoardView>().filter(|view| view.list.change == Some(ticket)) {
        Some(view) => {
            view.list.change = None;
            view.list.said = Some(report(&answer));
        }
        None => {
            if let Err(error) = answer {
                model.transcript.notice(NoticeLevel::Warning, &error, None);
            }
        }
    }
}
