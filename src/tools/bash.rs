//! bash: runs one command of the model in a shell.
//!
//! Owns the tool's arguments. `process.rs` handles processes, output and termination, `command_result.rs`
//! the wording of the result, and `line_output.rs` escapes and carriage returns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command_result::{self, Wording};
use super::details::fact;
use super::jobs::command::{self, CallEnd, MovedCommand, Running, Waiting};
use super::jobs::{self, JobLink, Place};
use super::prepared::{with_note, with_terminal};
use super::{
    Access, Details, PreparedCall, Preview, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args, editor,
    paths,
};

/// The longest argument a program accepts (Linux: 128 KB including the NUL).
const MAX_COMMAND: usize = 127 * 1024;

/// The `bash` tool.
#[derive(Debug)]
pub struct Bash {
    spec: ToolSpec,
    shell: PathBuf,
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct BashArgs {
    /// The command or script.
    pub command: String,
    /// Time limit in seconds.
    pub timeout: Option<u64>,
    /// Run it as a job: for servers and long work.
    pub background: Option<bool>,
}

impl Default for Bash {
    fn default() -> Self {
        let usual = Path::new("/bin/bash");
        Bash::with_shell(if usual.exists() { usual } else { Path::new("bash") })
    }
}

impl Bash {
    /// The tool with a different shell, which must understand `-c`.
    pub fn with_shell(shell: impl Into<PathBuf>) -> Self {
        Bash { spec: args::spec::<BashArgs>("bash", include_str!("bash.md")), shell: shell.into() }
    }
}

impl Tool for Bash {
    type Args = BashArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        let command = args::partial(args, "command").unwrap_or_default().trim();
        let mut lines = command.lines();
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() { format!("{first} …") } else { first.into() }
    }

    fn prepares_from_arguments(&self) -> bool {
        true
    }

    fn touches(&self, args: &serde_json::Value, _: &Path) -> Option<Access> {
        args::partial(args, "command").map(Access::command)
    }

    async fn prepare(&self, args: BashArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        check(&args, &context)?;
        let command = args.command.clone();
        let place = paths::nearest_folder(&context.cwd).to_owned();
        let prepared = PreparedCall::new(Access::command(command.clone()), move |approved| async move {
            let sandbox = approved.sandbox.unwrap_or_else(|| context.sandbox.clone());
            let context = ToolContext { sandbox, ..context };
            let Some(command) = approved.edited else { return self.execute_in(&place, args, context).await };
            let note = format!("The user changed the command to:\n{command}\nIts output:");
            let args = BashArgs { command: command.clone(), ..args };
            check(&args, &context)?;
            let answer = with_note(&note, self.execute_in(&place, args, context).await);
            with_terminal(answer, |output| output.edited = Some(command))
        });
        Ok(prepared.preview(Preview::Command { command }))
    }
}

impl Bash {
    /// Runs the command in `place`: the working directory at the time the call was judged, or its nearest
    /// existing ancestor.
    async fn execute_in(
        &self,
        place: &Path,
        args: BashArgs,
        context: ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        if paths::nearest_folder(&context.cwd) != place {
            return Err(ToolError::refused(format!(
                "nothing was run: the working directory {} was removed, moved or made meanwhile; call again",
                context.cwd.display()
            )));
        }
        if *place == *context.cwd {
            return self.execute(args, context).await;
        }
        let note = format!(
            "The working directory {} no longer exists, so this ran in {}.",
            context.cwd.display(),
            place.display()
        );
        with_note(&note, self.execute(args, ToolContext { cwd: place.into(), ..context }).await)
    }

    async fn execute(&self, args: BashArgs, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let context = ToolContext { env: Arc::new(context.env.without_editors(&context.scratch)), ..context };
        let timeout = args.timeout.or(context.default_timeout).filter(|seconds| *seconds > 0);
        let wording = Wording {
            timeout,
            on_timeout: "; set a longer `timeout` if it needs more time",
            says_success: true,
            success: &[0],
        };
        let background = args.background == Some(true);
        if !background
            && let Some(finished) = editor::run(&context, &self.shell, &args.command, timeout).await?
        {
            let answer = command_result::answer(finished, wording, &context.limits, &context.scratch).await;
            return with_terminal(answer, |output| output.command = Some(fact(&args.command)));
        }
        let link = context.jobs.as_ref();
        let place = if background { Some(place(link)?) } else { None };
        let kills_after = timeout.filter(|_| !background && link.is_none_or(|link| !link.is_offered));
        let mut running = command::start(&self.shell, &args.command, kills_after, &context);
        running.place = place;
        let waiting = Waiting { timeout: timeout.filter(|_| !background), background, link };
        let finished =
            match command::wait(running, waiting, &context.cancel).await.map_err(ToolError::refused)? {
                CallEnd::Finished(finished) => finished,
                CallEnd::Moved(running, why) => {
                    return match link {
                        Some(link) => Ok(move_to_job(link, running, &why, &context).await),
                        None => Err(ToolError::aborted()),
                    };
                }
            };
        let answer = command_result::answer(finished, wording, &context.limits, &context.scratch).await;
        with_terminal(answer, |output| output.command = Some(fact(&args.command)))
    }
}

/// The place of a command that is started as a job.
fn place(link: Option<&JobLink>) -> Result<Place, ToolError> {
    let link = link.filter(|link| link.is_offered).ok_or_else(|| {
        ToolError::refused(
            "`background` is not possible here, because the tool jobs is off; run the command without it",
        )
    })?;
    link.jobs.place().ok_or_else(|| {
        ToolError::refused(format!(
            "{} jobs are running, which is the most; stop one first",
            jobs::MAX_RUNNING
        ))
    })
}

/// Makes a command a job; returns the answer of its call.
async fn move_to_job(
    link: &JobLink,
    running: Running,
    why: &MovedCommand,
    context: &ToolContext,
) -> ToolOutput {
    let command = fact(&running.command);
    let job = link.jobs.adopt(running, &link.session);
    job.wait_for_place().await;
    let (mut text, mut shown) = job.first_look(&context.limits);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&jobs::background_note(&job, why));
    shown.command = Some(command);
    shown.job = Some(job.id);
    ToolOutput::new(text, Details::Terminal(shown))
}

fn check(args: &BashArgs, context: &ToolContext) -> Result<(), ToolError> {
    if context.cancel.is_cancelled() {
        return Err(ToolError::aborted());
    }
    if args.command.trim().is_empty() || args.command.contains('\0') {
        return Err(ToolError::refused(
            "`command` is empty or contains a NUL character; pass a shell command",
        ));
    }
    if args.command.len() > MAX_COMMAND {
        return Err(ToolError::refused(format!(
            "the command is {} bytes long, but a shell takes at most {MAX_COMMAND}; write it to a file and run that file",
            args.command.len()
        )));
    }
    Ok(())
}
