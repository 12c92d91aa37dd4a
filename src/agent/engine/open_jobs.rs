//! Background jobs that the session keeps until the model has been told how they ended, even if tau crashes meanwhile.

use serde_json::json;
use tokio::task::spawn_blocking;

use super::state::Engine;
use crate::engine::base::clock::now;
use crate::engine::base::job_place::OpenJob;
use crate::session::{Session, SessionError};
use tau_protocol::message::{CustomMessage, Message};
use tau_tools::process::left::{self, LeftProcess};

/// The type of the session entries that hold the jobs.
const ENTRY: &str = "tau.jobs";
/// The type of the message that tells the model.
const LOST: &str = "tau.job";
/// The maximum number of processes that are named for one job.
const MAX_NAMED: usize = 8;

/// Saves the jobs of which the model does not know how they ended, if these have changed.
pub(crate) fn save(engine: &mut Engine) {
    let open = open_jobs(engine);
    if engine.jobs.kept != open {
        write(engine, open);
    }
}

/// Called when a run has ended: the end of a large session file, which is read first, then has them.
pub(crate) fn on_run_end(engine: &mut Engine) {
    let open = open_jobs(engine);
    if !open.is_empty() {
        write(engine, open);
    }
}

fn write(engine: &mut Engine, open: Vec<OpenJob>) {
    // Copies of the session do not have the jobs, too.
    let data = json!({ "session": engine.config.session.info().id, "jobs": open });
    let saved = engine.config.session.append_custom_aside(ENTRY, data);
    engine.report_save_result(saved);
    engine.jobs.kept = open;
}

/// Those of the open session, first those of a process before.
fn open_jobs(engine: &mut Engine) -> Vec<OpenJob> {
    let of_session = engine.jobs.jobs.of_session(&engine.config.session.info().id);
    let secrets = engine.config.behavior.masking.finder();
    let mut open = engine.jobs.lost.clone();
    for job in of_session.iter().filter(|job| job.is_open()) {
        let (mut command, mut outcome) = (job.first_line(&secrets), job.outcome());
        engine.config.behavior.masking.text(&mut command);
        engine.config.behavior.masking.text(&mut outcome);
        open.push(OpenJob { id: job.id, command, mark: job.mark().unwrap_or_default(), outcome });
    }
    open
}

/// Finds the jobs that the opened session had when the process before ended without a word of them.
pub(crate) fn restore(engine: &mut Engine) {
    let session = &engine.config.session;
    let mut lost = named_in(session);
    engine.jobs.kept.clone_from(&lost);
    // A session that was left and is opened again has its jobs still.
    let known = engine.jobs.jobs.of_session(&session.info().id);
    lost.retain(|lost| !known.iter().any(|job| job.mark() == Some(lost.mark)));
    if let Some(last) = lost.iter().map(|job| job.id).max() {
        engine.jobs.jobs.number_beyond(last);
    }
    engine.jobs.lost = lost;
}

/// The jobs that a session names.
fn named_in(session: &Session) -> Vec<OpenJob> {
    let data = session.tree().entries().iter().rev().find_map(|entry| entry.custom_data(ENTRY));
    let data = data.filter(|data| data["session"] == session.info().id.as_str());
    data.and_then(|mut data| serde_json::from_value(data["jobs"].take()).ok()).unwrap_or_default()
}

/// Removes the jobs whose ends a session that was left now tells.
pub(crate) fn remove_told(engine: &Engine, session: &mut Session) -> Result<(), SessionError> {
    let known = engine.jobs.jobs.of_session(&session.info().id);
    let is_told = |open: &OpenJob| known.iter().any(|job| job.mark() == Some(open.mark) && !job.is_open());
    let mut open = named_in(session);
    open.retain(|open| !is_told(open));
    let data = json!({ "session": session.info().id, "jobs": open });
    session.append_custom_aside(ENTRY, data)
}

/// The message that tells the model, once, what became of jobs whose tau has ended without a word of them.
pub(crate) async fn note(engine: &mut Engine) -> Option<Message> {
    let lost = std::mem::take(&mut engine.jobs.lost);
    if lost.is_empty() {
        return None;
    }
    let running = spawn_blocking(left::all).await.unwrap_or_default();
    let reports: Vec<String> = lost.iter().map(|job| report(job, &running)).collect();
    let mut text = reports.join("\n\n");
    engine.config.behavior.masking.text(&mut text);
    Some(Message::Custom(CustomMessage::new_hidden(LOST, text, None, now())))
}

fn report(job: &OpenJob, running: &[LeftProcess]) -> String {
    let OpenJob { id, command, mark, outcome } = job;
    let left: Vec<&LeftProcess> = running.iter().filter(|process| process.has_mark(*mark)).collect();
    let fate = match (left.as_slice(), outcome.as_str()) {
        ([], "") => {
            "it no longer runs: tau ended unexpectedly while it did; its exit code is not known".to_owned()
        }
        ([], outcome) => format!("it has ended: {outcome}"),
        (left, _) => {
            let named: Vec<String> = left
                .iter()
                .take(MAX_NAMED)
                .map(|process| format!("process {}: {}", process.pid, process.name))
                .collect();
            let more = left.len().saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
            format!(
                "it still runs, but tau ended unexpectedly meanwhile, and the tool `jobs` no longer has it; to end \
                 it, kill its processes\n{}{more}",
                named.join("\n")
            )
        }
    };
    format!("[tau] job {id} of before: {fate}\ncommand: {command}")
}
