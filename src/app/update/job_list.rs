//! Background jobs: the list, its actions, and moving commands to the background.

use super::attempts;
use crate::ansi;
use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::job_list::{JobChoice, JobTail, JobsView, REFRESH};
use crate::overlays::leave::{LeaveChoice, LeaveView};
use crate::overlays::list::List;
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::command::ShellCommand;
use tau_protocol::query::{Query, QueryAnswer};
use tau_tools::user_error::UserError;

pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let list = List::waiting(model.query(Query::Jobs, effects));
    let asked = model.now;
    model.overlays.push(Overlay::Jobs(Box::new(JobsView { list, asked, ..JobsView::default() })));
}

/// Looks at the jobs again from time to time, while the list is open.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let is_due =
        |view: &&mut JobsView| view.list.ticket.is_none() && now.saturating_sub(view.asked) >= REFRESH;
    if model.open::<JobsView>().filter(is_due).is_some() {
        look(model, effects);
    }
}

/// Handles a change of the jobs.
pub(super) fn on_change(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.open::<JobsView>().is_some() {
        look(model, effects);
    }
}

fn look(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = model.query(Query::Jobs, effects);
    let now = model.now;
    let tail = model.open::<JobsView>().and_then(|view| view.tail.as_ref().map(|tail| tail.job));
    let of_tail = tail.map(|job| model.query(Query::JobOutput { job }, effects));
    if let Some(view) = model.open::<JobsView>() {
        (view.list.ticket, view.asked) = (Some(ticket), now);
        if let Some(tail) = &mut view.tail {
            tail.ticket = of_tail;
        }
    }
}

/// Handles an answer of the agent; returns whether it is one for the list.
pub(super) fn on_answer(model: &mut Model, ticket: Ticket, answer: &Result<QueryAnswer, UserError>) -> bool {
    let Some(view) = model.open::<JobsView>() else { return false };
    if view.list.ticket == Some(ticket) {
        match answer {
            Ok(QueryAnswer::Jobs(rows)) => view.fill(rows.clone()),
            Ok(_) => view.list.ticket = None,
            Err(error) => view.list.fail(error),
        }
        return true;
    }
    let Some(tail) = view.tail.as_mut().filter(|tail| tail.ticket == Some(ticket)) else { return false };
    tail.ticket = None;
    match answer {
        // The text being read does not change until the view is back at the end.
        Ok(QueryAnswer::Text(_)) if tail.above_end > 0 => {}
        Ok(QueryAnswer::Text(text)) => tail.text = Some(ansi::plain(text)),
        Ok(_) => {}
        Err(error) => tail.text = Some(Printable::line(error)),
    }
    true
}

/// Handles a key.
pub(super) fn press(
    model: &mut Model,
    mut view: Box<JobsView>,
    key: Key,
    page: usize,
    effects: &mut Vec<Effect>,
) {
    let choice = match view.key(key, page) {
        KeyOutcome::Closed => return,
        KeyOutcome::Done(choice) => Some(choice),
        KeyOutcome::Ignored | KeyOutcome::Handled => None,
    };
    match choice {
        None => {}
        Some(JobChoice::Tail { job }) => {
            let ticket = Some(model.query(Query::JobOutput { job }, effects));
            view.tail = Some(JobTail { job, ticket, ..JobTail::default() });
        }
        Some(JobChoice::Stop { job }) => effects.push(ShellCommand::StopJob { job }.into()),
        Some(JobChoice::Keep { job, kept }) => {
            effects.push(ShellCommand::KeepJobs { job: Some(job), kept }.into());
        }
    }
    model.overlays.push(Overlay::Jobs(view));
}

/// Moves the commands that the model waits for to the background.
pub(super) fn move_to_background(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.status.run {
        Some(_) => effects.push(ShellCommand::MoveToBackground.into()),
        None if model.jobs.count() > 0 => {
            model.remark("your command already runs beside the model; esc stops it");
        }
        None => model.remark("no command of the model is running"),
    }
}

/// Leaves the session running in the background, unless it is not saved or attempts would end with the screen.
pub(super) fn leave(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.boot.attached.is_none() && model.status.mirror.session.file.is_none() {
        model.remark("this session is not saved (--no-session), so it cannot be left running: /quit ends it");
    } else if !attempts::hold(model) {
        effects.push(Effect::Background);
    }
}

/// Quits, unless background jobs or attempts run: then the user is asked about them.
pub(super) fn quit(model: &mut Model, effects: &mut Vec<Effect>) {
    match question(model) {
        Err(effect) => effects.push(*effect),
        Ok(view) => model.overlays.push(Overlay::Leave(view)),
    }
}

/// The question what becomes of what runs; the error is how to quit without it.
fn question(model: &Model) -> Result<LeaveView, Box<Effect>> {
    let mirror = &model.status.mirror;
    let running = mirror.jobs.iter().filter(|job| job.is_running());
    let (count, kept) = running.fold((0, 0), |(count, kept), job| (count + 1, kept + usize::from(job.kept)));
    let attempts = model.attempts.map_or(0, |running| running.count as usize);
    if (count == 0 && attempts == 0) || model.boot.attached.is_some() {
        return Err(Box::new(Effect::Quit));
    }
    let can_leave = mirror.session.file.is_some() && attempts == 0;
    if kept == count && can_leave {
        return Err(Box::new(Effect::Background));
    }
    Ok(LeaveView::new(count, kept, attempts, can_leave))
}

/// Asks whether to quit although the end of the session cannot be saved.
pub(super) fn ask_about_loss(model: &mut Model) {
    let can_leave = model.status.mirror.session.file.is_some() && model.attempts.is_none();
    model.overlays.push(Overlay::Leave(LeaveView::about_loss(can_leave)));
}

/// Has the question tell what runs now, if it is open; it closes once there is nothing to decide.
pub(super) fn follow_question(model: &mut Model) {
    let is_question = |overlay: &Overlay| matches!(overlay, Overlay::Leave(view) if !view.is_about_loss());
    let Some(at) = model.overlays.iter().position(is_question) else { return };
    match question(model) {
        Ok(now) => {
            if let Some(Overlay::Leave(view)) = model.overlays.get_mut(at) {
                view.follow(now);
            }
        }
        Err(_) => {
            model.overlays.remove(at);
            model.remark("what was running has ended or is kept; quit again");
        }
    }
}

/// Carries out the answer to the question about running jobs.
pub(super) fn leave_key(model: &mut Model, mut view: LeaveView, key: Key, effects: &mut Vec<Effect>) {
    match view.key(key) {
        KeyOutcome::Done(LeaveChoice::Stop) => effects.push(Effect::Quit),
        KeyOutcome::Done(LeaveChoice::Lose) => effects.push(Effect::Abandon),
        KeyOutcome::Done(LeaveChoice::StopOthers) => {
            let others = model.status.mirror.jobs.iter().filter(|job| job.is_running() && !job.kept);
            effects.extend(others.map(|job| ShellCommand::StopJob { job: job.id }.into()));
            effects.push(Effect::Background);
        }
        KeyOutcome::Done(LeaveChoice::Leave) => effects.push(Effect::Background),
        KeyOutcome::Done(LeaveChoice::Stay) | KeyOutcome::Closed => {}
        KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::Leave(view)),
    }
}
