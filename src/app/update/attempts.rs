//! Attempts: beginning them, the list, the changes of each, and taking one.

use super::attempt_order::{self, WrittenOrder};
use super::notify;
use crate::effect::Effect;
use crate::key::Key;
use crate::model::{Model, RunningAttempts};
use crate::outcome::KeyOutcome;
use crate::overlays::attempt_changes::AttemptChanges;
use crate::overlays::attempt_list::{AttemptChoice, AttemptsView, REFRESH};
use crate::overlays::list::{List, report};
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{ScreenRequest, Ticket};
use tau_protocol::approval::PermissionMode;
use tau_protocol::attempt::{AttemptFile, AttemptList, AttemptNews, AttemptOrder};
use tau_protocol::command::SessionCommand;
use tau_protocol::event::NoticeLevel;
use tau_protocol::goal::Goal;
use tau_protocol::message::{Cost, Usage};
use tau_protocol::placeholder;
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// Handles `/attempts`: opens the list, or begins attempts.
pub(super) fn run(model: &mut Model, arguments: &str, effects: &mut Vec<Effect>) {
    if arguments.is_empty() {
        return open(model, effects);
    }
    if let Err((what, hint)) = begin(model, arguments, effects) {
        model.transcript.notice(NoticeLevel::Warning, &what, Some(&hint));
    }
}

/// Opens the list.
fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let list = List::waiting(model.ask(ScreenRequest::Attempts {}, effects));
    let view = AttemptsView { list, asked: model.now, ..AttemptsView::default() };
    model.overlays.push(Overlay::Attempts(Box::new(view)));
}

/// Begins attempts; the error is what is wrong, and what to do.
fn begin(model: &mut Model, arguments: &str, effects: &mut Vec<Effect>) -> Result<(), (String, String)> {
    let WrittenOrder { count, check, models, task } = attempt_order::read(arguments)?;
    if model.attempts.is_some() {
        return Err(("attempts are already running".to_owned(), "/attempts shows them".to_owned()));
    }
    let mirror = &model.status.mirror;
    if mirror.mode == PermissionMode::Plan {
        let what = "attempts cannot change anything in plan mode".to_owned();
        return Err((what, "/mode auto switches it".to_owned()));
    }
    let check = match check {
        Some(check) => check,
        None => goal(model)?,
    };
    let own = mirror.model.as_ref().map(|model| model.reference());
    let (models, thinking) = match models.is_empty() {
        true => (own.into_iter().collect(), Some(mirror.thinking)),
        false => (models, None),
    };
    let (mode, spent) = (mirror.mode, model.status.total.cost.total);
    let text = format!("beginning {} at: {task}", pluralize(u64::from(count), "attempt"));
    let refused = match mode {
        PermissionMode::Auto => "",
        PermissionMode::Ask | PermissionMode::Edits | PermissionMode::Plan => {
            "; nobody can be asked there, so calls that need your approval are denied"
        }
    };
    let hint = format!("until {check} succeeds; /attempts shows them{refused}");
    model.transcript.notice(NoticeLevel::Info, &text, Some(&hint));
    let session = model.status.mirror.session.id.clone();
    let order = Box::new(AttemptOrder { count, check, task, models, thinking, mode, spent, session });
    let ticket = model.ask(ScreenRequest::BeginAttempts { order }, effects);
    let is_far = model.boot.attached.is_some();
    model.attempts = Some(RunningAttempts { ticket, count, is_far });
    open(model, effects);
    Ok(())
}

/// The command of the session's goal, if the user has set or confirmed it here.
fn goal(model: &Model) -> Result<String, (String, String)> {
    let hint = |command: &str| format!("write /attempts 3 --until '{command}' TASK");
    match (&model.status.mirror.goal, &model.confirmed_goal) {
        (Some(goal), Some(confirmed)) if goal.command == *confirmed => Ok(confirmed.clone()),
        (Some(goal), _) => {
            let what = "the goal of this session was not set here, so its command does not run unasked";
            Err((what.to_owned(), hint(&goal.command)))
        }
        (None, _) => Err((
            "attempts need a command that decides which of them succeed".to_owned(),
            format!("{}, or set a goal with /goal", hint("cargo test")),
        )),
    }
}

/// Notes a goal that is at work: the user has set or confirmed its command.
pub(super) fn note_goal(model: &mut Model, goal: Option<&Goal>) {
    // What was masked cannot run.
    let at_work = goal.filter(|goal| goal.is_active() && placeholder::find(&goal.command).next().is_none());
    if let Some(goal) = at_work {
        model.confirmed_goal = Some(goal.command.clone());
    }
}

/// Takes news of attempts that were begun here.
pub(super) fn news(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<AttemptNews, UserError>,
    effects: &mut Vec<Effect>,
) {
    let is_over = answer.as_ref().map_or(true, |news| news.ended);
    if is_over && model.attempts.is_some_and(|running| running.ticket == ticket) {
        model.attempts = None;
    }
    match answer {
        Ok(news) => {
            if news.dollars > 0.0 {
                let cost = Cost { total: news.dollars, ..Cost::default() };
                let usage = Usage { cost, estimated: news.estimated, ..Usage::default() };
                effects.push(SessionCommand::AddUsage { usage }.into());
            }
            if news.ended {
                let text = format!("the attempts have ended: {}", news.said);
                model.transcript.notice(NoticeLevel::Info, &text, Some("/attempts compares them"));
                notify::on_attempts_end(model, effects);
            }
        }
        Err(error) => {
            // The list would hide the reason.
            model.overlays.retain(|overlay| !matches!(overlay, Overlay::Attempts(_)));
            model.transcript.notice(NoticeLevel::Warning, &error, None);
        }
    }
    look(model, effects);
}

/// Says that attempts keep the screen from being left, if any are at work here.
pub(super) fn hold(model: &mut Model) -> bool {
    let holds = model.attempts.is_some_and(|running| !running.is_far);
    if holds {
        model.remark(
            "attempts are running and would end with this screen: stop them first with s in /attempts",
        );
    }
    holds
}

/// Looks at the attempts again from time to time, while they are at work and the list is open.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let is_due = |view: &&mut AttemptsView| view.is_running && now.saturating_sub(view.asked) >= REFRESH;
    if model.open::<AttemptsView>().filter(is_due).is_some() {
        look(model, effects);
    }
}

/// Looks at the attempts now, if the list is open.
fn look(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.open::<AttemptsView>().is_some_and(|view| view.list.ticket.is_none()) {
        let (ticket, now) = (model.ask(ScreenRequest::Attempts {}, effects), model.now);
        if let Some(view) = model.open::<AttemptsView>() {
            (view.list.ticket, view.asked) = (Some(ticket), now);
        }
    }
}

pub(super) fn fill(model: &mut Model, ticket: Ticket, answer: Result<AttemptList, UserError>) {
    // Those that were begun here may not be known yet.
    let begun = model.attempts.is_some();
    let Some(view) = model.awaiting::<AttemptsView>(ticket) else { return };
    let rows = answer.map(|AttemptList { id, task, check, rows, is_running, is_own }| {
        (view.id, view.is_running, view.is_own) = (id, is_running || begun, is_own || begun);
        let task = if check.is_empty() { String::new() } else { format!("{task} · until {check}") };
        view.task = Printable::line(&task);
        rows
    });
    view.list.take(rows);
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
    match view.key(key, page, model.size.width) {
        KeyOutcome::Closed => return,
        KeyOutcome::Ignored | KeyOutcome::Handled => {}
        KeyOutcome::Done(AttemptChoice::Show(number)) => {
            let ticket = Some(model.ask(ScreenRequest::AttemptChanges { id, number }, effects));
            view.changes = Some(AttemptChanges { number, ticket, ..AttemptChanges::default() });
        }
        KeyOutcome::Done(AttemptChoice::Take(number)) => {
            view.list.change = Some(model.ask(ScreenRequest::TakeAttempt { id, number }, effects));
        }
        KeyOutcome::Done(AttemptChoice::TakeParts(parts)) => {
            let ticket = model.ask(ScreenRequest::TakeAttemptParts { id, parts }, effects);
            if let Some(changes) = &mut view.changes {
                changes.change = Some(ticket);
            }
        }
        KeyOutcome::Done(AttemptChoice::Stop) => {
            view.list.change = Some(model.ask(ScreenRequest::StopAttempts {}, effects));
        }
        KeyOutcome::Done(AttemptChoice::Drop) => {
            view.list.change = Some(model.ask(ScreenRequest::DropAttempts { id }, effects));
        }
    }
    model.overlays.push(Overlay::Attempts(view));
}

/// Shows the changes that were asked for.
pub(super) fn on_changes(model: &mut Model, ticket: Ticket, answer: Result<Vec<AttemptFile>, UserError>) {
    let Some(view) = model.open::<AttemptsView>() else { return };
    let Some(shown) = view.changes.as_mut().filter(|shown| shown.ticket == Some(ticket)) else { return };
    shown.ticket = None;
    match answer {
        Ok(files) => shown.fill(&files),
        Err(error) => shown.said = Some(Err(Printable::line(&error))),
    }
}

/// Handles the end of taking marked hunks.
pub(super) fn on_take_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    let shown = model.open::<AttemptsView>().and_then(|view| view.changes.as_mut());
    match shown.filter(|shown| shown.change == Some(ticket)) {
        Some(shown) => {
            (shown.change, shown.said) = (None, Some(report(&answer)));
            if answer.is_ok() {
                shown.marked.clear();
            }
        }
        None => say(model, &answer),
    }
    model.ask(ScreenRequest::Branch {}, effects);
}

fn say(model: &mut Model, answer: &Result<String, UserError>) {
    match answer {
        Ok(text) => model.transcript.notice(NoticeLevel::Info, text, None),
        Err(error) => model.transcript.notice(NoticeLevel::Warning, error, None),
    }
}

/// Handles the result of an action.
pub(super) fn on_action_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    match model.awaiting::<AttemptsView>(ticket) {
        Some(view) => {
            view.list.change = None;
            let said = Some(report(&answer));
            let ticket = model.ask(ScreenRequest::Attempts {}, effects);
            if let Some(view) = model.open::<AttemptsView>() {
                (view.list.ticket, view.list.said) = (Some(ticket), said);
            }
        }
        None => say(model, &answer),
    }
    model.ask(ScreenRequest::Branch {}, effects);
}
