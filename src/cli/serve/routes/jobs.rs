//! Background jobs of a session.

use axum::Json;
use axum::http::StatusCode;

use super::super::extract::{AlreadyOpen, Names};
use super::super::problem::Problem;
use super::super::types::{JobList, JobText};
use tau_protocol::command::ShellCommand;
use tau_protocol::query::ask;

/// Lists the background jobs, with what their processes use.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/jobs", tag = "jobs", responses(
    (status = 200, description = "The jobs, oldest first", body = JobList),
    (status = 409, description = "The session is not open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn list(AlreadyOpen(live): AlreadyOpen) -> Result<Json<JobList>, Problem> {
    let jobs = live.ask(ask::Jobs).await?.0.map_err(Problem::failed)?;
    Ok(Json(JobList { jobs }))
}

/// Returns the end of the output of a background job.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/jobs/{job}", tag = "jobs", responses(
    (status = 200, description = "The end of its output", body = JobText),
    (status = 404, description = "There is no such job"),
    (status = 409, description = "The session is not open"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("job" = u32, Path, description = "The number of the job"),
)))]
pub(super) async fn output(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, job)): Names<(String, u32)>,
) -> Result<Json<JobText>, Problem> {
    let text = live.ask(ask::JobOutput { job }).await?.0.map_err(Problem::not_found)?;
    Ok(Json(JobText { text }))
}

/// Stops a background job and all its processes. Its end is an event.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/jobs/{job}/stop", tag = "jobs", responses(
    (status = 204, description = "Accepted"),
    (status = 404, description = "There is no such job"),
    (status = 409, description = "The session is not open"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("job" = u32, Path, description = "The number of the job"),
)))]
pub(super) async fn stop(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, job)): Names<(String, u32)>,
) -> Result<StatusCode, Problem> {
    if !live.read_facts(|facts, _| facts.mirror.jobs.iter().any(|known| known.id == job)) {
        return Err(Problem::not_found(format!("there is no job {job}")));
    }
    live.send(ShellCommand::StopJob { job }).await?;
    Ok(StatusCode::NO_CONTENT)
}
