//! The command `/jobs` in a prompt: the background jobs of a session, for editors, whose protocol has none.

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, PromptResponse, RequestId, SessionUpdate, StopReason, TextContent,
};

use super::state::{AcpState, SessionKey};
use crate::process::plain;
use tau_protocol::command::ShellCommand;
use tau_protocol::query::{Query, QueryAnswer};
use tau_tools::jobs::JobRow;
use tau_tools::user_error::UserError;

/// The name of the command.
pub(crate) const NAME: &str = "jobs";
/// The hint on its argument.
pub(crate) const HINT: &str = "a number, to read its output; stop and a number, to stop one";
pub(crate) const PURPOSE: &str = "List the commands that run in the background";

/// Answers a prompt that is the command; the model does not see it.
pub(crate) fn answer(state: &mut AcpState, key: SessionKey, request: &RequestId, argument: &str) {
    let jobs = state.sessions.get(&key).map(|session| session.mirror.jobs.clone()).unwrap_or_default();
    let argument = argument.trim();
    if let Some(job) = argument.parse::<u32>().ok().filter(|job| jobs.iter().any(|row| row.id == *job)) {
        let ticket = state.query(key, Query::JobOutput { job });
        if let Some(session) = state.sessions.get_mut(&key) {
            session.job_outputs.push((ticket, request.clone()));
        }
        return;
    }
    let text = match argument.strip_prefix("stop") {
        None if argument.is_empty() => format_list(&jobs),
        None if argument.parse::<u32>().is_ok() => format!("There is no job {argument}; /jobs lists them."),
        Some(number) => match number.trim().parse::<u32>() {
            Ok(job) if jobs.iter().any(|row| row.id == job && row.is_running()) => {
                state.send(key, ShellCommand::StopJob { job });
                format!("Stopping job {job}.")
            }
            Ok(job) => format!("No job {job} is running; /jobs lists them."),
            Err(_) => "Give the number of a job: /jobs stop 1".to_owned(),
        },
        None => "/jobs lists the jobs, /jobs 1 shows the output of job 1, /jobs stop 1 stops it.".to_owned(),
    };
    say(state, key, request, text);
}

/// Answers with the output that was asked for; returns whether this ticket is of such a query.
pub(crate) fn output(
    state: &mut AcpState,
    key: SessionKey,
    ticket: u64,
    answer: &Result<QueryAnswer, UserError>,
) -> bool {
    let Some(session) = state.sessions.get_mut(&key) else { return false };
    let Some(at) = session.job_outputs.iter().position(|(known, _)| *known == ticket) else { return false };
    let (_, request) = session.job_outputs.remove(at);
    let text = match answer {
        Ok(QueryAnswer::Text(text)) if text.trim().is_empty() => "It has written nothing yet.".to_owned(),
        Ok(QueryAnswer::Text(text)) => block(&plain::text(text)),
        Ok(_) => "The output cannot be read.".to_owned(),
        Err(error) => plain::text(error),
    };
    say(state, key, &request, text);
    true
}

/// A text as a block of code, with a fence that does not occur in it.
fn block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn say(state: &mut AcpState, key: SessionKey, request: &RequestId, text: String) {
    let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)));
    state.update(key, SessionUpdate::AgentMessageChunk(chunk));
    state.answer(request, &PromptResponse::new(StopReason::EndTurn));
}

fn format_list(jobs: &[JobRow]) -> String {
    if jobs.is_empty() {
        return "No command runs in the background.".to_owned();
    }
    let line = |job: &JobRow| {
        let outcome = if job.is_running() { "running" } else { job.outcome.as_str() };
        // The text is markdown for the editor.
        let command = plain::line(&job.command).replace('`', "'");
        format!("{}. `{command}`: {}\n", job.id, plain::line(outcome))
    };
    jobs.iter().map(line).collect()
}
