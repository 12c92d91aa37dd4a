//! The board: opening, refreshing, its actions, and the questions of other sessions that are answered on it.

use std::collections::BTreeMap;

use super::{approval, attempts, place, questions};
use crate::approval::QUIET;
use crate::composer::Composer;
use crate::effect::Effect;
use crate::line_edit::LineEdit;
use crate::model::{Answering, Model};
use crate::overlays::board::{BoardChoice, BoardMessage, BoardView, REFRESH};
use crate::overlays::list::report;
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{EditorSource, ScreenRequest, Ticket};
use tau_protocol::approval::ApprovalOutcome;
use tau_protocol::command::{AgentCommand, TaskCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::live_session::{BoardList, LiveState, WaitingQuestions};
use tau_protocol::query::QueryAnswer;
use tau_tools::user_error::UserError;

pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    show(model, BoardView::default(), effects);
}

/// Opens the board with what is known of its sessions.
pub(super) fn open_with(model: &mut Model, list: BoardList, effects: &mut Vec<Effect>) {
    let mut view = BoardView::default();
    view.fill(list);
    show(model, view, effects);
}

fn show(model: &mut Model, view: BoardView, effects: &mut Vec<Effect>) {
    put_aside(model);
    model.overlays.push(Overlay::Board(Box::new(view)));
    ask(model, false, effects);
}

/// Looks at the sessions again from time to time, while the board is open.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let is_due = |asked| now.saturating_sub(asked) >= REFRESH;
    if model.open::<BoardView>().is_some_and(|view| view.list.ticket.is_none() && is_due(view.asked)) {
        ask(model, true, effects);
    }
    if model.answering.as_ref().is_some_and(|it| it.ticket.is_none() && is_due(it.asked)) {
        look_at_questions(model, effects);
    }
}

/// Looks at the sessions now, if the board is open.
pub(super) fn look(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.open::<BoardView>().is_some_and(|view| view.list.rows().is_some()) {
        ask(model, false, effects);
    }
}

fn ask(model: &mut Model, known: bool, effects: &mut Vec<Effect>) {
    let ticket = model.ask(ScreenRequest::Board { known }, effects);
    let now = model.now;
    if let Some(view) = model.open::<BoardView>() {
        (view.list.ticket, view.asked) = (Some(ticket), now);
    }
}

/// Fills in the sessions.
pub(super) fn fill(model: &mut Model, ticket: Ticket, answer: Result<BoardList, UserError>) {
    let own = model.status.mirror.session.id.clone();
    let answered = model.answering.as_ref().map(|answering| answering.id.clone());
    let Some(view) = model.awaiting::<BoardView>(ticket) else { return };
    match answer {
        Ok(mut list) => {
            // A server may be out of reach for a while.
            let busy = [answered, view.message.as_ref().map(|message| message.id.clone())];
            for id in busy.into_iter().flatten() {
                if list.sessions.iter().all(|row| row.id != id) {
                    list.sessions.extend(view.find(&id).cloned());
                }
            }
            view.fill(list);
            // Rows that arrive later, as from servers, may be placed above the open session.
            if !view.is_used && view.list.row().is_some_and(|row| row.id == own) {
                view.list.selected = 0;
            }
        }
        Err(error) => view.list.fail(&error),
    }
}

/// Carries out the action on a session.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: Box<BoardView>,
    choice: BoardChoice,
    effects: &mut Vec<Effect>,
) {
    let own = &model.status.mirror.session.id;
    let request = match choice {
        // It is open here.
        BoardChoice::Open { id } | BoardChoice::Answer { id } if id == *own => return,
        BoardChoice::Open { .. } if attempts::hold(model) => {
            return model.overlays.push(Overlay::Board(view));
        }
        BoardChoice::Open { id } => ScreenRequest::FindSession { id },
        BoardChoice::Answer { id } => {
            if view.find(&id).is_none_or(|row| row.state != LiveState::Waiting) {
                view.list.said = Some(Err(Printable::line("nothing waits in this session")));
                return model.overlays.push(Overlay::Board(view));
            }
            ScreenRequest::WaitingQuestions { id }
        }
        BoardChoice::Stop { id } => ScreenRequest::StopSession { id },
        BoardChoice::Send { id, text } => ScreenRequest::SendToSession { id, text },
        BoardChoice::Archive { id, archived } => ScreenRequest::ArchiveSession { id, archived },
    };
    view.list.said = None;
    view.list.change = Some(model.ask(request, effects));
    model.overlays.push(Overlay::Board(view));
}

/// Opens a session that is there; says why another one cannot be opened.
pub(super) fn on_find_result(
    model: &mut Model,
    ticket: Ticket,
    id: String,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    match answer {
        Ok(_) if model.awaiting::<BoardView>(ticket).is_some() => {
            effects.push(Effect::OpenLive(id));
        }
        Ok(_) => {}
        Err(error) => on_action_result(model, ticket, Err(error), effects),
    }
}

/// Handles the result of an action.
pub(super) fn on_action_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    match model.awaiting::<BoardView>(ticket) {
        Some(view) => {
            view.list.change = None;
            view.list.said = Some(report(&answer));
            look(model, effects);
        }
        None => {
            if let Err(error) = answer {
                model.transcript.notice(NoticeLevel::Warning, &error, None);
            }
        }
    }
}

/// Handles the result of sending a message. One that was not sent stays to be sent again.
pub(super) fn on_send_result(
    model: &mut Model,
    ticket: Ticket,
    text: &str,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    let view = model.awaiting::<BoardView>(ticket);
    if let (Some(view), true) = (view, answer.is_ok()) {
        view.message = view.message.take().filter(|message| message.line.text().trim() != text);
    }
    on_action_result(model, ticket, answer, effects);
}

/// Passes the time on to the questions that are shown; forgets them when the board is gone.
pub(super) fn pass_time(model: &mut Model) {
    if model.answering.is_some() && model.open::<BoardView>().is_none() {
        put_aside(model);
    }
    if let Some(answering) = &mut model.answering {
        answering.model.now = model.now;
    }
}

/// Passes the size of the window on to the questions that are shown.
pub(super) fn pass_size(model: &mut Model) {
    if let Some(answering) = &mut model.answering {
        answering.model.size = model.size;
    }
}

/// Leaves the questions that are shown; answers that were begun stay for the next time.
fn put_aside(model: &mut Model) {
    let Some(Answering { id, model: inner, .. }) = model.answering.take() else { return };
    let begun = place::begun_answers(&inner);
    model.begun_elsewhere.extend((!begun.is_empty()).then_some((id, begun)));
}

fn look_at_questions(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(id) = model.answering.as_ref().map(|answering| answering.id.clone()) else { return };
    let ticket = model.ask(ScreenRequest::WaitingQuestions { id }, effects);
    if let Some(answering) = &mut model.answering {
        (answering.ticket, answering.asked) = (Some(ticket), model.now);
    }
}

/// Handles what waits in a session.
pub(super) fn waiting(
    model: &mut Model,
    ticket: Ticket,
    id: &str,
    answer: Result<WaitingQuestions, UserError>,
    effects: &mut Vec<Effect>,
) {
    if let Some(answering) = model.answering.as_mut().filter(|it| it.ticket == Some(ticket)) {
        answering.ticket = None;
        return match answer {
            Ok(waiting) => follow_questions(model, &waiting, effects),
            // What was typed stays, and is sent once the session can be reached.
            Err(error) => say(model, &error),
        };
    }
    let Some(view) = model.awaiting::<BoardView>(ticket) else { return };
    view.list.change = None;
    let title = view.find(id).map(|row| Printable::line(&row.title)).unwrap_or_default();
    let title = if title.is_empty() { Printable::line("Another session") } else { title };
    match answer {
        Ok(waiting) if !waiting.is_empty() => {
            let mut inner = model.for_questions(&title);
            inner.unfinished = model.begun_elsewhere.remove(id).unwrap_or_default();
            fill_questions(&mut inner, &waiting);
            model.answering = Some(Answering {
                id: id.to_owned(),
                model: Box::new(inner),
                ticket: None,
                asked: model.now,
                sent: BTreeMap::new(),
                given: None,
                has_answered: false,
                is_doubtful: false,
            });
        }
        Ok(_) => {
            view.list.said = Some(Err(Printable::line("it has been answered already")));
            look(model, effects);
        }
        Err(error) => view.list.said = Some(Err(Printable::line(&error))),
    }
}

/// Shows what waits in the session now. Goes back to the list once nothing does, with the words that were typed as an
/// answer.
fn follow_questions(model: &mut Model, waiting: &WaitingQuestions, effects: &mut Vec<Effect>) {
    let Some(answering) = &mut model.answering else { return };
    let (id, has_answered, inner) = (answering.id.clone(), answering.has_answered, &mut answering.model);
    let is_doubtful = answering.is_doubtful;
    inner.composer = Composer::default();
    fill_questions(inner, waiting);
    let mut words = inner.composer.text();
    if !waiting.is_empty() {
        answering.has_answered = false;
        return keep_words(model, id, &words);
    }
    for answer in std::mem::take(&mut inner.unfinished) {
        words = [words, answer.words()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
    }
    keep_words(model, id, &words);
    let is_message = model.open::<BoardView>().is_some_and(|view| view.message.is_some());
    // A key on its way was meant for the prompt.
    let until = Some(model.now + QUIET);
    let said = match (has_answered, is_message) {
        (true, false) => Ok("answered"),
        (_, true) => {
            model.enter_held = until;
            Err(match is_doubtful {
                true => "your answer may have arrived; enter sends your words as a message, too",
                false => "answered elsewhere, or withdrawn; enter sends your words as a message",
            })
        }
        (false, false) => {
            model.typed_ahead = until;
            Err(match is_doubtful {
                true => "your answer may have arrived, or another did",
                false => "answered elsewhere, or withdrawn",
            })
        }
    };
    leave(model, Some(said), effects);
}

/// Keeps words that were typed as an answer in the message to their session.
fn keep_words(model: &mut Model, id: String, words: &str) {
    let Some(view) = model.open::<BoardView>().filter(|_| !words.is_empty()) else { return };
    let message = view.message.take().filter(|message| message.id == id);
    let mut message = message.unwrap_or(BoardMessage { id, line: LineEdit::default() });
    message.line.paste(words);
    view.message = Some(message);
}

/// Shows a remark also where the questions cover the footer.
fn say(model: &mut Model, text: &str) {
    model.remark(text);
    if let Some(answering) = &mut model.answering {
        answering.model.remark(text);
    }
}

/// Makes the model of the questions show what waits in its session, and nothing else.
fn fill_questions(inner: &mut Model, waiting: &WaitingQuestions) {
    let waits = |id: &str| waiting.approvals.iter().any(|request| request.id == id);
    let known = inner.approvals.pending().iter().map(|approval| approval.request.id.clone());
    let gone: Vec<String> = known.filter(|id| !waits(id)).collect();
    gone.iter().for_each(|id| approval::on_end(inner, id, ApprovalOutcome::Withdrawn));
    if !gone.is_empty() {
        // What becomes of their calls is not known here.
        inner.transcript.clear();
        let waiting = inner.approvals.pending().iter();
        waiting.for_each(|approval| inner.transcript.on_approval_request(&approval.request));
    }
    for request in &waiting.approvals {
        if !inner.approvals.pending().iter().any(|known| known.request == *request) {
            approval::on_request(inner, request, &mut Vec::new());
        }
    }
    let asks = |id: &str| waiting.questions.iter().any(|question| question.id == id);
    questions::withdraw(inner, |id| !asks(id));
    inner.overlays.retain(|overlay| overlay.question().is_some());
    for asked in &waiting.questions {
        if !inner.overlays.iter().any(|overlay| overlay.question() == Some(&asked.id)) {
            let dialog = Overlay::of_question(&asked.id, &asked.question, inner.now);
            // The oldest is on top.
            inner.overlays.insert(0, dialog);
        }
    }
    place::resume_answers(inner);
}

/// Goes back to the list, which says this.
pub(super) fn leave(model: &mut Model, said: Option<Result<&str, &str>>, effects: &mut Vec<Effect>) {
    put_aside(model);
    if let Some(view) = model.open::<BoardView>() {
        view.list.said = said.as_ref().map(report);
    }
    look(model, effects);
}

/// Passes on what the model of the questions wants from outside.
pub(super) fn pass_on(model: &mut Model, asked: Vec<Effect>, effects: &mut Vec<Effect>) {
    for effect in asked {
        let Some(id) = model.answering.as_ref().map(|answering| answering.id.clone()) else { return };
        let (request, own) = if let Effect::Agent(command) = effect {
            let own = match &command {
                AgentCommand::Questions(_) => None,
                AgentCommand::Task(TaskCommand::Query { ticket, .. }) => Some(Ticket(*ticket)),
                // Its other parts are not in use.
                AgentCommand::Task(
                    TaskCommand::Shutdown
                    | TaskCommand::SideQuestion { .. }
                    | TaskCommand::StopSideQuestion { .. },
                )
                | AgentCommand::Run(_)
                | AgentCommand::Queue(_)
                | AgentCommand::Session(_)
                | AgentCommand::Settings(_)
                | AgentCommand::Shell(_) => continue,
            };
            (ScreenRequest::AnswerSession { id, command: Box::new(command) }, own)
        } else if is_on_server(&id)
            && matches!(
                &effect,
                Effect::Ask(_, ScreenRequest::OpenInEditor { source: EditorSource::File { .. } })
            )
        {
            if let Some(answering) = &mut model.answering {
                answering.model.remark("this file is on the server; open the session to look at it");
            }
            continue;
        } else if let Effect::Ask(
            own,
            request @ (ScreenRequest::Editor { .. } | ScreenRequest::OpenInEditor { .. }),
        ) = effect
        {
            (request, Some(own))
        } else {
            continue;
        };
        let ticket = model.ask(request, effects);
        if let Some(answering) = &mut model.answering {
            answering.sent.insert(ticket, own);
            if own.is_none() {
                // A query in progress may have been answered before this.
                answering.ticket = None;
                answering.asked = model.now;
            }
        }
    }
}

/// Whether the session of this id is on another machine.
fn is_on_server(id: &str) -> bool {
    id.contains('#')
}

/// The ticket of the model of the questions, if it wanted this from the screen.
pub(super) fn of_questions(model: &mut Model, ticket: Ticket, request: &ScreenRequest) -> Option<Ticket> {
    let is_of_screen = matches!(request, ScreenRequest::Editor { .. } | ScreenRequest::OpenInEditor { .. });
    let answering = model.answering.as_mut().filter(|_| is_of_screen)?;
    answering.sent.remove(&ticket)?
}

/// Handles what a session says to an answer, or to a question about what waits.
pub(super) fn on_reply(
    model: &mut Model,
    ticket: Ticket,
    id: &str,
    answer: Result<Option<QueryAnswer>, UserError>,
    effects: &mut Vec<Effect>,
) {
    let Some(answering) = model.answering.as_mut().filter(|answering| answering.id == id) else {
        if let Err(error) = answer {
            model.transcript.notice(NoticeLevel::Warning, &error, None);
        }
        return;
    };
    match answering.sent.remove(&ticket) {
        Some(Some(own)) => {
            let answer = answer.and_then(|answer| answer.ok_or_else(|| "no answer".to_owned().into()));
            let mut asked = Vec::new();
            approval::on_answer(&mut answering.model, own, &answer, &mut asked);
            pass_on(model, asked, effects);
        }
        Some(None) | None => {
            let given = answering.given.take();
            match answer {
                Ok(_) => answering.has_answered = true,
                Err(error) => {
                    answering.is_doubtful = true;
                    if let Some(prompts) = given {
                        let inner = &mut answering.model;
                        (inner.overlays, inner.approvals) = prompts;
                    }
                    say(model, &error);
                }
            }
            look_at_questions(model, effects);
        }
    }
}
