//! Events of the agent: folded into the state, or routed on.

use std::path::Path;

use super::{
    approval, attempts, board, changes, completion, context, extensions, job_list, notify, offers, panels,
    pickers, place, plan, prompt_commands, questions, queue, rule_list, session, side_question, tree, undo,
};
use crate::action::Action;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{NO_TICKET, ScreenRequest, Ticket};
use crate::transcript::KeptPlace;
use tau_protocol::approval::PermissionMode;
use tau_protocol::event::{
    AgentEvent, NoticeLevel, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent,
    TaskEvent,
};
use tau_protocol::extension::ArgumentValues;
use tau_protocol::goal::Goal;
use tau_protocol::query::{HistoryPage, QueryAnswer};
use tau_protocol::worktree;
use tau_tools::user_error::UserError;

pub(super) fn take(model: &mut Model, event: &AgentEvent, effects: &mut Vec<Effect>) {
    if let AgentEvent::Task(TaskEvent::Earlier { ms, event }) = event {
        let now = model.now;
        model.now = now.saturating_sub_unsigned(*ms);
        if matches!(**event, AgentEvent::Run(RunEvent::AgentStart)) {
            let has_goal = model.status.mirror.goal.as_ref().is_some_and(Goal::is_active);
            model.transcript.join_run(has_goal);
        }
        take(model, event, effects);
        model.now = now;
        return;
    }
    let since = model.status.run.as_ref().map(|run| run.since);
    let mode = model.status.mirror.mode;
    let kept = kept_place(model, event);
    model.transcript.fold(event, model.now);
    if let Some(place) = kept {
        model.transcript.show_kept_place(&place);
    }
    model.jobs.fold(event, &mut model.transcript, model.now);
    model.status.fold(event, model.now);
    model.transcript.find_in_changed_entries();
    match event {
        AgentEvent::Run(RunEvent::AgentSettled { .. }) => {
            approval::forget(model);
            plan::on_run_end(model);
            on_settled(model, effects);
            notify::on_run_end(model, since, effects);
        }
        // The transcript, the jobs and the status have folded them.
        AgentEvent::Run(_) | AgentEvent::Turn(_) => {}
        AgentEvent::Queue(event) => match event {
            QueueEvent::QueueReturned { texts, images } => {
                queue::give_back(model, texts, images);
                undo::note_returned_text(model);
            }
            QueueEvent::QueueUpdate { .. } => queue::follow(model),
            // A notice has said it.
            QueueEvent::PromptRefused { .. } => {}
            QueueEvent::QueueChangeFailed { change, .. } => queue::on_change_failure(model, change),
        },
        AgentEvent::Session(event) => of_session(model, event, effects),
        AgentEvent::Settings(event) => of_settings(model, event, mode, effects),
        AgentEvent::Shell(ShellEvent::BashEnd { message, .. }) => {
            if message.blocked.is_some() {
                panels::offer_unconfined_run(model);
            }
            model.ask(ScreenRequest::Branch {}, effects);
        }
        AgentEvent::Shell(ShellEvent::JobsChanged { .. }) => job_list::on_change(model, effects),
        AgentEvent::Shell(ShellEvent::BashStart { .. } | ShellEvent::BashExecutionUpdate { .. }) => {}
        AgentEvent::Questions(event) => of_questions(model, event, effects),
        AgentEvent::Task(TaskEvent::Answered { ticket, answer }) => {
            on_answer(model, Ticket(*ticket), answer, effects);
        }
        AgentEvent::Task(event @ (TaskEvent::SideAnswer { .. } | TaskEvent::SideAnswerEnded { .. })) => {
            side_question::on_answer_event(model, event);
        }
        AgentEvent::Task(TaskEvent::Notice { .. } | TaskEvent::Earlier { .. }) => {}
        AgentEvent::Task(TaskEvent::OtherWaits { title, .. }) => {
            board::look(model, effects);
            notify::other_waits(model, title, effects);
        }
        AgentEvent::Task(TaskEvent::Stopped) => {
            approval::forget(model);
            let key = model.keymap.hint(Action::Exit).unwrap_or_else(|| "/quit".to_owned());
            let hint = format!("quit with {key}; the session is saved, `tau --continue` opens it again");
            model.transcript.notice(NoticeLevel::Error, "the agent has stopped", Some(&hint));
        }
    }
}

/// The place to keep when the open session is opened again: another screen went back or forward in it, or the
/// connection is new.
fn kept_place(model: &mut Model, event: &AgentEvent) -> Option<KeptPlace> {
    let AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) = event else { return None };
    let is_own = std::mem::take(&mut model.goes_elsewhere);
    let is_again = session.id == model.status.mirror.session.id;
    if is_again && !is_own { model.transcript.kept_place() } else { None }
}

fn of_session(model: &mut Model, event: &SessionEvent, effects: &mut Vec<Effect>) {
    match event {
        SessionEvent::PlanChanged { plan } => plan::on_change(model, plan.as_ref()),
        SessionEvent::SessionOpened { session, .. } => {
            approval::forget(model);
            plan::on_change(model, None);
            if let Some(end) = session.stopped {
                model.transcript.notice(NoticeLevel::Warning, end.report(), Some(end.remedy()));
            }
            if let Some(text) = model.arrival.take() {
                model.transcript.notice(NoticeLevel::Info, &text, None);
            }
            if let Some(passage) = model.sought_passage.take() {
                model.transcript.find_passage(&passage);
            }
            let place = place(model, &session.cwd);
            if model.boot.attached.is_none() && place != model.place {
                model.ask(ScreenRequest::Branch {}, effects);
            }
            model.place = place;
            if model.boot.attached.is_some() {
                // Pending questions follow.
                questions::withdraw(model, |_| true);
                model.ask(ScreenRequest::Branch {}, effects);
            }
            if let Some(place) = model.restored.take() {
                place::restore(model, place);
            }
        }
        SessionEvent::HistoryAvailable { left } => {
            let rows = std::mem::take(&mut model.laid.rows);
            model.transcript.history_available(*left, &rows);
            model.transcript.find_in_history();
        }
        SessionEvent::FilesRestored { .. } => {
            changes::on_restore(model, effects);
            model.ask(ScreenRequest::Branch {}, effects);
        }
        SessionEvent::GoalChanged { goal } => attempts::note_goal(model, goal.as_ref()),
        SessionEvent::SessionRefused { .. } => model.arrival = None,
        SessionEvent::SessionInfoChanged { .. }
        | SessionEvent::UsageAdded { .. }
        | SessionEvent::ContextSize { .. }
        | SessionEvent::SessionUsage { .. } => {}
    }
}

/// The place of the session, for the status line.
fn place(model: &Model, cwd: &Path) -> String {
    let here = worktree::of(cwd).map(|here| here.to_string());
    // A directory has a slash; the name of a worktree has none.
    if here.is_none() && model.boot.attached.is_none() && model.boot.place.contains(['/', '~']) {
        return model.boot.place.clone();
    }
    let text = match (here, model.boot.attached.as_deref()) {
        (here, Some(server)) if !server.is_empty() => {
            format!("{server}:{}", here.unwrap_or_else(|| cwd.display().to_string()))
        }
        (here, _) => here.unwrap_or_else(|| model.boot.in_short(cwd)),
    };
    Printable::line(&text).as_str().to_owned()
}

fn of_settings(model: &mut Model, event: &SettingsEvent, former: PermissionMode, effects: &mut Vec<Effect>) {
    match event {
        SettingsEvent::ModelChanged { .. } => {
            approval::ask_for_mode(model);
            offers::at_start(model);
        }
        SettingsEvent::PermissionModeChanged { mode, .. } => approval::on_mode_change(model, former, *mode),
        SettingsEvent::RulesChanged => rule_list::on_change(model, effects),
        SettingsEvent::CommandsChanged { commands } => prompt_commands::on_change(model, commands, effects),
        SettingsEvent::ResourcesChanged { .. } => completion::on_resource_change(model, effects),
        SettingsEvent::ExtensionsChanged => extensions::on_change(model, effects),
        SettingsEvent::ThinkingLevelChanged { .. } => {}
    }
}

fn of_questions(model: &mut Model, event: &QuestionEvent, effects: &mut Vec<Effect>) {
    match event {
        QuestionEvent::Asked { id, question } => {
            let dialog = Overlay::of_question(id, question, model.now);
            questions::ask(model, dialog);
            notify::on_wait(model, effects);
        }
        QuestionEvent::AskWithdrawn { id } => {
            questions::withdraw(model, |question| question == id);
        }
        QuestionEvent::ApprovalRequested { request } => approval::on_request(model, request, effects),
        QuestionEvent::ApprovalEnded { id, outcome } => approval::on_end(model, id, *outcome),
    }
}

/// Handles the agent's answer to a query.
fn on_answer(
    model: &mut Model,
    ticket: Ticket,
    answer: &Result<QueryAnswer, UserError>,
    effects: &mut Vec<Effect>,
) {
    if approval::on_answer(model, ticket, answer, effects)
        || rule_list::on_answer(model, ticket, answer, effects)
        || job_list::on_answer(model, ticket, answer)
    {
        return;
    }
    match answer {
        Ok(QueryAnswer::Outline(outline)) => tree::fill(model, outline),
        Ok(QueryAnswer::ContextUsage(usage)) => context::show(model, usage),
        Ok(QueryAnswer::HistoryPage(page)) => take_page(model, page),
        Ok(QueryAnswer::Source(source)) => session::export_from(model, ticket, source, effects),
        Ok(QueryAnswer::Secrets(secrets)) => model.transcript.show_secrets(secrets),
        // Answers to queries of other front ends.
        Ok(
            QueryAnswer::Done
            | QueryAnswer::State(_)
            | QueryAnswer::Messages(_)
            | QueryAnswer::MessageRecords(_)
            | QueryAnswer::LastText(_)
            | QueryAnswer::Entries(_)
            | QueryAnswer::ForkMessages(_)
            | QueryAnswer::Stats(_)
            | QueryAnswer::Titles(_)
            | QueryAnswer::PermissionRules(_)
            | QueryAnswer::Resources(_)
            | QueryAnswer::Jobs(_)
            | QueryAnswer::Text(_),
        ) => {}
        Ok(QueryAnswer::Checkpoints(checkpoints)) => undo::list(model, ticket, checkpoints),
        Ok(QueryAnswer::Changes(changes)) => changes::fill(model, ticket, changes),
        Ok(QueryAnswer::Commands(found)) => prompt_commands::on_commands(model, found, effects),
        Ok(QueryAnswer::ArgumentValues(found)) => completion::fill_values(model, ticket, found),
        Ok(QueryAnswer::Extensions(rows)) => {
            prompt_commands::on_servers(model, ticket, rows);
            extensions::fill(model, ticket, rows);
        }
        Ok(QueryAnswer::UndoPlan(plan)) => undo::on_plan(model, ticket, plan, effects),
        Err(error) => on_failure(model, ticket, error),
    }
}

/// Handles a query that failed: whatever waits for its answer says so.
fn on_failure(model: &mut Model, ticket: Ticket, error: &UserError) {
    if ticket.0 == NO_TICKET {
        if model.transcript.awaits_page() {
            return take_page(
                model,
                &HistoryPage { failed: Some(error.to_string()), ..HistoryPage::default() },
            );
        }
        tree::on_failure(model);
        return model.transcript.notice(NoticeLevel::Warning, error, None);
    }
    completion::fill_values(model, ticket, &ArgumentValues::default());
    prompt_commands::on_servers(model, ticket, &[]);
    if !undo::on_failure(model, ticket, error) && !pickers::on_failure(model, ticket, error) {
        session::on_export_failure(model, ticket, error);
    }
}

fn take_page(model: &mut Model, page: &HistoryPage) {
    // The facts of the last frame do not apply to the rows above any more.
    let rows = std::mem::take(&mut model.laid.rows);
    model.transcript.take_page(page, &rows);
}

fn on_settled(model: &mut Model, effects: &mut Vec<Effect>) {
    questions::withdraw(model, |_| true);
    model.ask(ScreenRequest::Branch {}, effects);
}
