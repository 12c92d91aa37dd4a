//! jobs: lists background jobs, gives their new output, waits for them and stops them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Job, JobLink, MoveReason};
use crate::counted::pluralize;
use crate::secret_cuts::SecretFinder;
use crate::{
    Access, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args, command_result,
    encoding, line_output,
};

/// The tool's name for models.
pub const NAME: &str = "jobs";
/// The time limit of a wait for output that matches, in seconds.
const USUAL_WAIT: u64 = 60;
/// The longest wait, in seconds.
const MAX_WAIT: u64 = 3_600;
/// The time between two looks at new output.
const LOOK: Duration = Duration::from_millis(50);

tool! {
    /// The `jobs` tool.
    pub(crate) struct JobsTool(JobsArgs, NAME, "../jobs.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct JobsArgs {
    pub job: Option<u32>,
    /// Seconds to wait for its end.
    pub wait: Option<u64>,
    /// Regex of output that ends the wait.
    pub until: Option<String>,
    pub stop: Option<bool>,
}

impl Tool for JobsTool {
    type Args = JobsArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        let Some(job) = args.get("job").filter(|job| job.is_number() || job.is_string()) else {
            return String::new();
        };
        let job = job.as_str().map_or_else(|| job.to_string(), str::to_owned);
        if args.get("stop").and_then(serde_json::Value::as_bool) == Some(true) {
            return format!("stop {job}");
        }
        match (args::partial(args, "until"), args.get("wait").and_then(serde_json::Value::as_u64)) {
            (Some(until), _) => format!("{job} until {until}"),
            (None, Some(seconds)) => format!("{job}, wait {seconds} s"),
            (None, None) => job,
        }
    }

    fn prepares_from_arguments(&self) -> bool {
        true
    }

    fn touches(&self, _: &serde_json::Value, _: &Path) -> Option<Access> {
        Some(Access::default())
    }

    async fn prepare(&self, args: JobsArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let refused = |why: String| ToolError::refused(format!("{NAME}: {why}"));
        let Some(link) = context.jobs.clone() else {
            return Err(refused("there are no background jobs here".to_owned()));
        };
        let until = args.until.as_deref().filter(|until| !until.is_empty());
        let until = until.map(RegexMatcher::new_line_matcher).transpose();
        let until = until.map_err(|error| refused(format!("`until` is not a valid regex: {error}")))?;
        let Some(id) = args.job else {
            return match args.wait.is_some() || until.is_some() || args.stop == Some(true) {
                true => Err(refused("name a `job`".to_owned())),
                false => Ok(PreparedCall::new(Access::default(), async move |_| {
                    Ok(list(&link, &context.limits.secrets))
                })),
            };
        };
        let job = link.get(id);
        let job = job.ok_or_else(|| refused(format!("no job {id}; {}", describe_jobs(&link.own()))))?;
        let limit = args.wait.or(until.is_some().then_some(USUAL_WAIT)).filter(|seconds| *seconds > 0);
        let limit = limit.map(|seconds| Duration::from_secs(seconds.min(MAX_WAIT)));
        let stops = args.stop == Some(true);
        Ok(PreparedCall::new(Access::default(), async move |_| {
            let note = match (stops, limit) {
                (true, _) => stop(&job).await,
                (false, Some(limit)) => {
                    let wait = Wait { job: &job, until: until.as_ref(), limit };
                    wait.run(&link, &context.cancel).await?
                }
                (false, None) => None,
            };
            Ok(look(&job, note, &context))
        }))
    }
}

impl JobLink {
    /// The jobs of the session, oldest first; those of a session that was left are not its model's.
    fn own(&self) -> Vec<Arc<Job>> {
        self.jobs.of_session(&self.session)
    }

    fn get(&self, id: u32) -> Option<Arc<Job>> {
        self.jobs.get(id).filter(|job| job.session == self.session)
    }
}

/// The jobs that can be named, as the end of a sentence.
fn describe_jobs(jobs: &[Arc<Job>]) -> String {
    match jobs.len() {
        0 => "this session has no jobs".to_owned(),
        count => {
            let ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
            format!(
                "there {} {}: {}",
                if count == 1 { "is" } else { "are" },
                pluralize(count as u64, "job"),
                ids.join(", ")
            )
        }
    }
}

/// The list for the model. It knows of every end then.
fn list(link: &JobLink, secrets: &SecretFinder) -> ToolOutput {
    let jobs = link.own();
    if jobs.is_empty() {
        return ToolOutput::new("no jobs", Details::None);
    }
    let line = |job: &Arc<Job>| {
        job.mark_end_reported();
        format!("job {}: {}: {}", job.id, job.first_line(secrets), job.status())
    };
    let text = jobs.iter().map(line).collect::<Vec<_>>().join("\n");
    ToolOutput::new(text.clone(), Details::Text { text })
}

/// Stops a job; returns a remark.
async fn stop(job: &Job) -> Option<String> {
    if job.has_ended() {
        return Some("it had already ended".to_owned());
    }
    (!job.stop().await).then(|| "not every process has ended yet".to_owned())
}

/// The new output of a job and its state.
fn look(job: &Job, note: Option<String>, context: &ToolContext) -> ToolOutput {
    job.mark_end_reported();
    let new = job.take_new(&context.limits.secrets);
    let mut text = match new.omitted {
        0 => String::new(),
        bytes => format!("[… {bytes} bytes omitted here; {} …]\n", job.place()),
    };
    match new.text.trim_end() {
        "" => text.push_str("(no new output)"),
        plain => text.push_str(&command_result::cut(plain, &context.limits, &job.place())),
    }
    text.push_str(&format!("\njob {}: {}", job.id, job.status()));
    for remark in job.remarks().into_iter().chain(note) {
        text.push_str(&format!("\n{remark}"));
    }
    ToolOutput::new(text.clone(), Details::Text { text })
}

/// A wait for a job.
struct Wait<'a> {
    job: &'a Job,
    until: Option<&'a RegexMatcher>,
    limit: Duration,
}

impl Wait<'_> {
    /// Waits; returns a remark on what ended the wait, other than the job's end.
    async fn run(&self, link: &JobLink, stop: &CancellationToken) -> Result<Option<String>, ToolError> {
        let mut movable = link.jobs.movable();
        let deadline = Instant::now() + self.limit;
        tokio::select! {
            biased;
            reason = movable.wait_for_interrupt() => Ok(Some(match reason {
                MoveReason::User => "the user ended the wait; the job continues".to_owned(),
                MoveReason::Message | MoveReason::Steering => "the wait ended because the user sent a message; the job continues".to_owned(),
            })),
            () = stop.cancelled() => Err(ToolError::aborted()),
            () = self.wait_for_match() => Ok(None),
            () = self.job.wait_for_end() => Ok(None),
            () = tokio::time::sleep_until(deadline) => {
                Ok(Some(format!("the wait ended after {} s", self.limit.as_secs())))
            }
        }
    }

    /// Waits until a line of new output matches; forever without a regex.
    async fn wait_for_match(&self) {
        let Some(until) = self.until else { return std::future::pending().await };
        let (mut size, mut from) = (self.job.watched.size(), self.job.seen_position());
        loop {
            size.borrow_and_update();
            let new = self.job.watched.since(from);
            let text = line_output::plain(&encoding::output(&new.bytes));
            if text.lines().any(|line| until.is_match(line.as_bytes()).unwrap_or_default()) {
                return;
            }
            // The last line may continue.
            let open = new.bytes.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
            from = new.end - open;
            if size.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
