//! Background jobs: their reports to front ends and to the model, and their end with the session or helper.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::state::Engine;
use super::{delegation, open_jobs};
use crate::engine::base::clock::now;
use crate::engine::base::job_place::JobNews;
use crate::session::{Access, Session, tail};
use tau_protocol::event::{NoticeLevel, ShellEvent, TaskEvent};
use tau_protocol::message::{CustomMessage, Message};
use tau_protocol::query::QueryAnswer;
use tau_tools::jobs::{JobChange, JobLink, JobRow, MoveReason, tool};
use tau_tools::process::left;
use tau_tools::user_error::UserError;

/// The type of the message that tells the model about the end of a job.
const ENDED: &str = "tau.job";
/// The number of bytes from the end of a job's output that front ends get.
const TAIL: usize = 64 * 1024;
/// The time that the processes of jobs have to end by themselves at the end of the session.
const GRACE: Duration = Duration::from_millis(300);
/// The time that they have when a helper is stopped: all is over within 200 ms.
const HELPER_GRACE: Duration = Duration::from_millis(100);

/// The jobs as a call sees them.
pub(crate) fn link(engine: &Engine) -> JobLink {
    JobLink {
        jobs: engine.jobs.jobs.clone(),
        session: engine.config.session.info().id.clone(),
        is_offered: engine.config.tools.get(tool::NAME).is_some(),
    }
}

pub(crate) fn report(engine: &mut Engine, news: JobNews) {
    match news {
        JobNews::Changed(change) => {
            // What a job changes beside a call is not clearly the call's.
            match change {
                JobChange::Started => engine.undo.commands.start(),
                JobChange::Ended => {
                    engine.undo.commands.end();
                    tell_left_sessions(engine);
                }
            }
            open_jobs::save(engine);
            tell(engine);
        }
        JobNews::Rows { ticket, rows } => {
            let rows = mask_rows(engine, rows);
            engine.emit(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::Jobs(rows)) });
        }
        JobNews::NotStopped { id } => {
            let text = format!("job {id} was stopped, but not every process of it has ended");
            engine.notice(NoticeLevel::Warning, text, Some("`tau jobs` lists what is left"));
        }
    }
}

/// Reports all jobs.
fn tell(engine: &mut Engine) {
    let rows = engine.jobs.jobs.rows(&engine.config.behavior.masking.finder());
    let jobs = mask_rows(engine, rows);
    engine.emit(ShellEvent::JobsChanged { jobs });
}

/// The rows without secrets: placeholders in commands were replaced by values. Jobs of a session that was left are
/// marked.
fn mask_rows(engine: &mut Engine, mut rows: Vec<JobRow>) -> Vec<JobRow> {
    let own = engine.jobs.jobs.of_session(&engine.config.session.info().id);
    for row in &mut rows {
        row.of_other_session = !own.iter().any(|job| job.id == row.id);
    }
    let vault = &mut engine.config.behavior.masking.vault;
    for text in rows.iter_mut().flat_map(JobRow::texts_mut) {
        if let Some(masked) = vault.mask(text) {
            *text = masked;
        }
    }
    rows
}

/// Answers a query of all jobs, later.
pub(crate) fn query(engine: &mut Engine, ticket: u64) {
    let jobs = engine.jobs.jobs.clone();
    let secrets = engine.config.behavior.masking.finder();
    let work = async move { Some(JobNews::Rows { ticket, rows: jobs.rows_with_usage(secrets).await }) };
    engine.jobs.work.push(work.boxed());
}

/// The end of a job's output.
pub(crate) fn output(engine: &mut Engine, id: u32) -> Result<String, UserError> {
    let job = engine.jobs.jobs.get(id).ok_or_else(|| format!("there is no job {id}"))?;
    let text = job.tail(TAIL);
    Ok(engine.config.behavior.masking.vault.mask(&text).unwrap_or(text))
}

pub(crate) fn stop(engine: &mut Engine, id: u32) {
    let Some(job) = engine.jobs.jobs.get(id) else {
        return engine.notice(NoticeLevel::Warning, format!("there is no job {id}"), None);
    };
    let work = async move { (!job.stop().await).then_some(JobNews::NotStopped { id }) };
    engine.jobs.work.push(work.boxed());
}

/// Sets whether jobs continue when the screen is left.
pub(crate) fn keep(engine: &mut Engine, id: Option<u32>, kept: bool) {
    engine.jobs.jobs.keep(id, kept);
    tell(engine);
}

/// Moves the commands that the model waits for to the background; if the user wants it, those of its helpers as well.
pub(crate) fn move_all(engine: &mut Engine, reason: MoveReason) {
    let count = engine.jobs.jobs.move_all(reason);
    if reason == MoveReason::User && !delegation::move_commands(engine) && count == 0 {
        let hint = "only commands of the tool bash can be moved, while they run";
        engine.notice(
            NoticeLevel::Info,
            "no command is running that could be moved to the background",
            Some(hint),
        );
    }
}

/// Whether a job of this session has ended without the model's knowledge.
pub(crate) fn has_news(engine: &Engine) -> bool {
    engine.jobs.jobs.untold_sessions().contains(&engine.config.session.info().id)
}

/// The message that tells the model, once, which jobs have ended.
pub(crate) fn note(engine: &mut Engine) -> Option<Message> {
    let session = engine.config.session.info().id.clone();
    note_for(engine, &session)
}

fn note_for(engine: &mut Engine, session: &str) -> Option<Message> {
    let ended = engine.jobs.jobs.take_untold(session);
    if ended.is_empty() {
        return None;
    }
    let secrets = engine.config.behavior.masking.finder();
    let reports: Vec<String> = ended.iter().map(|job| format!("[tau] {}", job.report(&secrets))).collect();
    let text = reports.join("\n\n");
    let text = engine.config.behavior.masking.vault.mask(&text).unwrap_or(text);
    Some(Message::Custom(CustomMessage::new_hidden(ENDED, text, None, now())))
}

/// Has the jobs of a helper, and what its commands have left, end at the moment it is stopped: beside its calls,
/// which may take a while to end.
pub(crate) fn follow_stop(engine: &mut Engine) {
    let Some(role) = &engine.config.helper else { return };
    let (stop, jobs) = (role.stop.clone(), engine.jobs.jobs.clone());
    let session = engine.config.session.info().id.clone();
    engine.jobs.ending = Some(tokio::spawn(async move {
        stop.cancelled().await;
        let left = spawn_blocking(move || left::stop_left_by(&session, HELPER_GRACE));
        jobs.end(HELPER_GRACE).await;
        let _ = left.await;
    }));
}

/// Begins to end all jobs with the session, and what those of a helper have left; `None` if there is nothing to
/// end.
pub(crate) fn ending(engine: &mut Engine, deadline: Instant) -> Option<BoxFuture<'static, ()>> {
    let jobs = engine.jobs.jobs.clone();
    let (Some(role), Some(ending)) = (&engine.config.helper, engine.jobs.ending.take()) else {
        let grace = GRACE.min(deadline.saturating_duration_since(Instant::now()));
        return (!jobs.running().is_empty()).then(|| async move { jobs.end(grace).await }.boxed());
    };
    role.stop.cancel();
    Some(
        async move {
            let _ = ending.await;
            // One may have begun when it was stopped.
            jobs.end(Duration::ZERO).await;
        }
        .boxed(),
    )
}

/// Writes the ends of jobs to their sessions: this process will tell no model of them.
pub(crate) fn record_ends(engine: &mut Engine) {
    tell(engine);
    record_own_ends(engine);
    tell_left_sessions(engine);
}

fn record_own_ends(engine: &mut Engine) {
    if let Some(note) = note(engine) {
        engine.record(Arc::new(note));
    }
    open_jobs::save(engine);
}

/// Called before another session is opened. Whoever continues this one, here or elsewhere, learns from its file how its
/// jobs ended.
pub(crate) fn leave_session(engine: &mut Engine) {
    record_own_ends(engine);
    let info = engine.config.session.info();
    if let Some(file) = info.file.clone() {
        engine.jobs.left.insert(info.id.clone(), file);
    }
}

/// Writes the ends of jobs to the sessions that were left. One that is open elsewhere is tried again at the next end.
fn tell_left_sessions(engine: &mut Engine) {
    let open = engine.config.session.info().id.clone();
    for id in engine.jobs.jobs.untold_sessions().into_iter().filter(|id| *id != open) {
        if let Some(file) = engine.jobs.left.get(&id)
            && let Ok(mut session) = Session::open_tail(file, Access::Write, tail::TAIL)
            && let Some(note) = note_for(engine, &id)
        {
            let saved = session
                .append(Arc::new(note))
                .and_then(|()| open_jobs::remove_told(engine, &mut session))
                .and_then(|()| session.flush());
            engine.report_save_result(saved);
        }
    }
}
