//! The process of a call: starts it, sends its arguments as JSON, and ends its children with it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::definition::OutputKind;
use super::output;
use tau_tools::command_result::{self, Wording};
use tau_tools::process::{self, CommandIo, CommandLine, FinishedCommand, Flow};
use tau_tools::{Details, TerminalOutput, ToolContext, ToolError, ToolOutput, line_output, paths};

/// The maximum bytes of output that must be complete.
const MAX_SIZE: usize = 16 * 1024 * 1024;
/// The time that output is still read after the program has ended.
const GRACE: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// A program with its words.
    Words { program: String, words: Vec<String>, variables: Vec<(String, String)> },
    /// A command line for the user's shell.
    Shell { shell: PathBuf, text: String, variables: Vec<(String, String)> },
}

/// A call that is ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) program: Program,
    /// The standard input.
    pub(super) input: Vec<u8>,
    /// The time limit in seconds.
    pub(super) timeout: Option<u64>,
    pub(super) output: OutputKind,
    /// The exit codes of success.
    pub(super) success: Vec<i32>,
}

/// Carries out a call. Fails when the program cannot be started, fails, or is ended.
pub(super) async fn carry_out(call: Call, context: ToolContext) -> Result<ToolOutput, ToolError> {
    if context.cancel.is_cancelled() {
        return Err(ToolError::aborted());
    }
    let failed = |error: &io::Error| {
        let program = match &call.program {
            Program::Words { program, .. } => program.clone(),
            Program::Shell { shell, .. } => shell.display().to_string(),
        };
        ToolError::refused(format!("{}: cannot start {program}: {}", call.name, paths::reason(error)))
    };
    let (finished, stdout) = run(&call, &context).await.map_err(|error| failed(&error))?;
    let wording =
        Wording { timeout: call.timeout, on_timeout: "", says_success: false, success: &call.success };
    if stdout.is_over && !context.cancel.is_cancelled() {
        let message = format!("{}: it wrote more than {} MB and was killed", call.name, MAX_SIZE >> 20);
        return Err(ToolError::Refused { message, details: Box::new(Details::Terminal(finished.output)) });
    }
    if call.output == OutputKind::Text || !command_result::is_fine(&finished, &wording) {
        let answer = command_result::answer(finished, wording, &context.limits, &context.scratch).await;
        return output::with_stdout(answer, &stdout.bytes, &context);
    }
    let notes = finished.capture.plain().0;
    output::answer(call.output, call.name, stdout.bytes, &notes, &context).await
}

/// The standard output of a program, if kept apart.
#[derive(Default)]
struct Stdout {
    bytes: Vec<u8>,
    /// Whether it exceeded the limit.
    is_over: bool,
}

async fn run(call: &Call, context: &ToolContext) -> io::Result<(FinishedCommand, Stdout)> {
    let (stdin, input) = io::pipe()?;
    let mut input = pipe::Sender::from_owned_fd(OwnedFd::from(input))?;
    let write = async move {
        // A program that does not read its input has closed it, which is not an error.
        let _ = input.write_all(&call.input).await;
        drop(input);
    };
    let (own, reader) = match call.output {
        OutputKind::Text => (None, None),
        OutputKind::Diff | OutputKind::Image => {
            let (reader, writer) = io::pipe()?;
            (Some(OwnedFd::from(writer)), Some(pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?))
        }
    };
    let streams = CommandIo::Streams { flow: Flow::LITTLE, stdin: OwnedFd::from(stdin), stdout: own };
    let (program, arguments, variables): (&OsStr, Vec<&str>, _) = match &call.program {
        Program::Words { program, words, variables } => {
            (OsStr::new(program), words.iter().map(String::as_str).collect(), variables)
        }
        Program::Shell { shell, text, variables } => (shell.as_os_str(), vec!["-c", text], variables),
    };
    let line = CommandLine {
        program,
        arguments: &arguments,
        variables,
        cwd: paths::nearest_folder(&context.cwd),
        timeout: call.timeout,
        sandbox: &context.sandbox,
        files: Some(&context.files),
    };
    let cancel = context.cancel.child_token();
    let progress = context.progress.clone();
    let mut show = |_: &str, so_far: &TerminalOutput| {
        let text = line_output::plain(&so_far.text);
        progress.show(ToolOutput::new(text, Details::Terminal(so_far.clone())));
    };
    let mut stdout = Stdout::default();
    let finished = {
        let stop = cancel.clone();
        let running =
            process::run(streams, line, &context.env, &context.scratch, cancel, &mut show, Arc::default());
        let read = async {
            if let Some(mut reader) = reader {
                let mut most = (&mut reader).take(MAX_SIZE as u64 + 1);
                // If reading fails, the bytes read so far are used.
                let _ = most.read_to_end(&mut stdout.bytes).await;
                stdout.is_over = stdout.bytes.len() > MAX_SIZE;
                if stdout.is_over {
                    stop.cancel();
                }
            }
        };
        let (mut running, mut read, mut write) =
            (std::pin::pin!(running), std::pin::pin!(read), std::pin::pin!(write));
        let (mut is_read, mut is_written) = (false, false);
        let finished = loop {
            tokio::select! {
                finished = &mut running => break finished?,
                () = &mut read, if !is_read => is_read = true,
                () = &mut write, if !is_written => is_written = true,
            }
        };
        if !is_read {
            // A background process may hold it open.
            let _ = timeout(GRACE, read).await;
        }
        finished
    };
    Ok((finished, stdout))
}
