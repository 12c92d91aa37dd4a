//! Side questions: asking beside the run, and the box of the answer.

use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::overlay::Overlay;
use crate::overlays::side_question::SideQuestionView;
use crate::request::Ticket;
use tau_protocol::command::TaskCommand;
use tau_protocol::event::TaskEvent;

/// Handles `/btw` with this question.
pub(super) fn ask(model: &mut Model, question: &str, effects: &mut Vec<Effect>) {
    if question.is_empty() {
        return model.remark("write the question behind it: /btw what does this function do?");
    }
    // Several screens may be attached to one session.
    let Ticket(ticket) = model.next_ticket();
    let id = format!("{}-{}-{ticket}", model.boot.at, model.now);
    model.overlays.push(Overlay::SideQuestion(Box::new(SideQuestionView::new(id.clone(), question))));
    let question = question.to_owned();
    effects.push(TaskCommand::SideQuestion { id, question }.into());
}

/// Adds to the answer, or ends it.
pub(super) fn on_answer_event(model: &mut Model, event: &TaskEvent) {
    match event {
        TaskEvent::SideAnswer { id, text } => {
            if let Some(view) = open(model, id) {
                view.answer.push_str(text);
            }
        }
        TaskEvent::SideAnswerEnded { id, error, .. } => {
            if let Some(view) = open(model, id) {
                view.is_open = false;
                view.error.clone_from(error);
            }
        }
        TaskEvent::Answered { .. }
        | TaskEvent::Notice { .. }
        | TaskEvent::OtherWaits { .. }
        | TaskEvent::Earlier { .. }
        | TaskEvent::Stopped => {}
    }
}

/// The box of this question, if it was asked here and is still there.
fn open<'a>(model: &'a mut Model, id: &str) -> Option<&'a mut SideQuestionView> {
    model.overlays.iter_mut().find_map(|overlay| overlay.as_side_question().filter(|view| view.id == id))
}

/// Handles a key in the box; closing it stops the answer.
pub(super) fn press(
    model: &mut Model,
    mut view: Box<SideQuestionView>,
    key: Key,
    page: usize,
    effects: &mut Vec<Effect>,
) {
    match view.key(key, page) {
        KeyOutcome::Closed | KeyOutcome::Done(()) if view.is_open => {
            let id = view.id;
            effects.push(TaskCommand::StopSideQuestion { id }.into());
        }
        KeyOutcome::Closed | KeyOutcome::Done(()) => {}
        KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::SideQuestion(view)),
    }
}
