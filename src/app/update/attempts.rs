//! Attempts: the list, the changes of each, and taking one.

use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::attempt_list::{AttemptChanges, AttemptChoice, AttemptsView};
use crate::overlays::list::{List, report};
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{ShellRequest, Ticket};
use tau_protocol::attempt::AttemptList;
use tau_protocol::event::NoticeLevel;
use tau_tools::user_error::UserError;

/// Opens the list.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let list = List::waiting(model.ask(ShellRequest::Attempts {}, effects));
    model.overlays.push(Overlay::Attempts(Box::new(AttemptsView { list, ..AttemptsView::default() })));
}

/// Fills in the attempts.
pub(super) fn fill(model: &mut Model, ticket: Ticket, answer: Result<AttemptList, UserError>) {
    let Some(view) = model.open::<AttemptsView>().filter(|view| view.list.ticket == Some(ticket)) else {
        return;
    };
    match answer {
        Ok(AttemptList { id, task, check, rows }) => {
            view.id = id;
            view.task = Printable::line(&if rows.is_empty() {
                String::new()
            } else {
                format!("{task} · until {check}")
            });
            view.list.fill(rows);
        }
        Err(error) => {
            view.list.fill(Vec::new());
            view.list.fail(&error);
        }
    }
}

/// Handles a key.
pub(super) fn press(
    model: &mut Model,
    mut view: Box<AttemptsView>,
    key: Key,
    page: usize,
    effects: &mut Vec<Effect>,
) {
    let id = view.id.clone();
    match view.key(key, page) {
        KeyOutcome::Closed => return,
        KeyOutcome::Ignored | KeyOutcome::Handled => {}
        KeyOutcome::Done(AttemptChoice::Show(number)) => {
            let ticket = Some(model.ask(ShellRequest::AttemptChanges { id, number }, effects));
            view.changes = Some(AttemptChanges { number, ticket, ..AttemptChanges::default() });
        }
        KeyOutcome::Done(AttemptChoice::Take(number)) => {
            view.list.change = Some(model.ask(ShellRequest::TakeAttempt { id, number }, effects));
        }
        KeyOutcome::Done(AttemptChoice::Drop) => {
            view.list.change = Some(model.ask(ShellRequest::DropAttempts { id }, effects));
        }
    }
    model.overlays.push(Overlay::Attempts(view));
}

/// Shows the changes that were asked for.
pub(super) fn changes(model: &mut Model, ticket: Ticket, answer: Result<String, UserError>) {
    let Some(view) = model.open::<AttemptsView>() else { return };
    let Some(shown) = view.changes.as_mut().filter(|shown| shown.ticket == Some(ticket)) else { return };
    shown.ticket = None;
    shown.text = Some(match answer {
        Ok(text) => Printable::new(&text),
        Err(error) => Printable::line(&error),
    });
}

/// Handles the result of an action.
pub(super) fn done(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    match model.open::<AttemptsView>().filter(|view| view.list.change == Some(ticket)) {
        Some(view) => {
            view.list.change = None;
            let said = Some(report(&answer));
            let ticket = model.ask(ShellRequest::Attempts {}, effects);
            if let Some(view) = model.open::<AttemptsView>() {
                (view.list.ticket, view.list.said) = (Some(ticket), said);
            }
        }
        None => match &answer {
            Ok(text) => model.transcript.notice(NoticeLevel::Info, text, None),
            Err(error) => model.transcript.notice(NoticeLevel::Warning, error, None),
        },
    }
    model.ask(ShellRequest::Branch {}, effects);
}
