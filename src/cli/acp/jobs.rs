//! The command `/jobs` in a prompt: the background jobs of a session, for editors, whose protocol has none.

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, PromptResponse, RequestId, SessionUpdate, StopReason, TextContent,
};

use super::state::{AcpState, SessionKey};
use crate::process::plain;
use tau_protocol::command::ShellCommand;
use tau_tools::jobs::JobRow;

/// The name of the command.
pub(crate) const NAME: &str = "jobs";
/// The hint on its argument.
pub(crate) const HINT: &str = "stop and a number, to stop one";
/// Its purpose.
pub(crate) const PURPOSE: &str = "List the commands that run in the background";

/// Answers a prompt that is the command; the model does not see it.
pub(crate) fn answer(state: &mut AcpState, key: SessionKey, request: &RequestId, argument: &str) {
    let jobs = state.sessions.get(&key).map(|session| session.mirror.jobs.clone()).unwrap_or_default();
    let text = match argument.trim().strip_prefix("stop") {
        None if argument.trim().is_empty() => listed(&jobs),
        Some(number) => match number.trim().parse::<u32>() {
            Ok(job) if jobs.iter().any(|row| row.id == job && row.is_running()) => {
                state.send(key, ShellCommand::StopJob { job });
                format!("Stopping job {job}.")
            }
            Ok(job) => format!("No job {job} is running; /jobs lists them."),
            Err(_) => "Give the number of a job: /jobs stop 1".to_owned(),
        },
        None => "/jobs lists the jobs, /jobs stop 1 stops job 1.".to_owned(),
    };
    let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)));
    state.update(key, SessionUpdate::AgentMessageChunk(chunk));
    state.answer(request, &PromptResponse::new(StopReason::EndTurn));
}

fn listed(jobs: &[JobRow]) -> String {
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
