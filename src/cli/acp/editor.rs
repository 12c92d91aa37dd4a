//! The client as the editor of a session: tools use its files and terminals.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateTerminalResponse, Error, FileSystemCapabilities, ReadTextFileResponse, TerminalExitStatus,
    TerminalOutputResponse,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::calls::lossy_path;
use super::state::SessionKey;
use tau_tools::editor::{Editor, EditorCommand, EditorRun};
use tau_tools::process::ChildEnv;
use tau_tools::user_error::UserError;

/// Interval of checks whether the call is still wanted.
const LOOK: Duration = Duration::from_millis(50);
/// Number of checks until an editor counts as not answering: ten seconds.
const LOOKS: usize = 200;

/// A request to the editor, and the receiver of its answer.
#[derive(Debug)]
pub(crate) struct EditorAsk {
    pub(crate) session: SessionKey,
    pub(crate) request: EditorRequest,
    pub(crate) answer: SyncSender<Result<Value, Error>>,
}

/// A request to an editor. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditorRequest {
    Read {
        path: String,
    },
    Write {
        path: String,
        content: String,
    },
    /// `shown` is the command as the model wrote it, which identifies its call.
    Create {
        shown: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: String,
    },
    Output {
        terminal: String,
    },
    WaitForExit {
        terminal: String,
    },
    Kill {
        terminal: String,
    },
    Release {
        terminal: String,
    },
}

/// The editor of a session.
#[derive(Debug)]
pub(crate) struct EditorLink {
    pub(crate) session: SessionKey,
    pub(crate) asks: mpsc::Sender<EditorAsk>,
    /// The editor's file capabilities.
    pub(crate) files: FileSystemCapabilities,
    /// Whether it has terminals for commands.
    pub(crate) has_terminals: bool,
}

impl EditorLink {
    fn begin(&self, request: EditorRequest) -> Result<Receiver<Result<Value, Error>>, UserError> {
        let (answer, answers) = sync_channel(1);
        let ask = EditorAsk { session: self.session, request, answer };
        self.asks.try_send(ask).map_err(|_| "it takes no requests".to_owned())?;
        Ok(answers)
    }

    fn ask(&self, request: EditorRequest, wanted: &CancellationToken) -> Result<Value, UserError> {
        let answers = self.begin(request)?;
        wait(&answers, wanted)?.map_err(|error| error.message.into())
    }

    /// Waits until the command in a terminal has ended or must end; the known facts of its end.
    fn exit(
        &self,
        terminal: &str,
        timeout: Option<u64>,
        wanted: &CancellationToken,
    ) -> Result<EditorRun, UserError> {
        let answers = self.begin(EditorRequest::WaitForExit { terminal: terminal.to_owned() })?;
        let mut run = EditorRun::default();
        let looks = timeout.map(|seconds| u128::from(seconds) * 1_000 / LOOK.as_millis());
        let mut looked = 0;
        let answer = loop {
            match answers.recv_timeout(LOOK) {
                Ok(answer) => break answer.map_err(|error| error.message)?,
                Err(RecvTimeoutError::Disconnected) => return Err("the session was closed".into()),
                Err(RecvTimeoutError::Timeout) => looked += 1,
            }
            run.cancelled |= wanted.is_cancelled();
            run.timed_out |= !run.cancelled && looks.is_some_and(|looks| looked >= looks);
            if run.cancelled || run.timed_out {
                // The call is over, whatever the editor answers.
                drop(self.begin(EditorRequest::Kill { terminal: terminal.to_owned() }));
                return Ok(run);
            }
        };
        let end: TerminalExitStatus = serde_json::from_value(answer).map_err(UserError::of)?;
        run.exit_code = end.exit_code.and_then(|code| i32::try_from(code).ok());
        if let Some(signal) = end.signal {
            run.output = format!("[ended by {signal}]\n");
        }
        Ok(run)
    }
}

/// Adapts the environment of the editor's terminals to the commands' environment: arguments for `env` that
/// remove variables which commands do not get, and additional variables.
fn environment(env: &ChildEnv) -> (Vec<String>, Vec<(String, String)>) {
    let own: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let given: BTreeMap<&OsString, &OsString> =
        env.variables().iter().map(|(name, value)| (name, value)).collect();
    let hidden = own.keys().filter(|name| !given.contains_key(name));
    let args = hidden.flat_map(|name| ["-u".to_owned(), name.to_string_lossy().into_owned()]).collect();
    let added = given.iter().filter(|(name, value)| own.get(**name) != Some(**value));
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    (args, added.map(|(name, value)| (text(name), text(value))).collect())
}

/// Waits for an answer as long as `wanted`.
fn wait<T>(answers: &Receiver<T>, wanted: &CancellationToken) -> Result<T, UserError> {
    for _ in 0..LOOKS {
        match answers.recv_timeout(LOOK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Err("the session was closed".into()),
            Err(RecvTimeoutError::Timeout) if wanted.is_cancelled() => {
                return Err("the call was aborted".into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Err("it did not answer within ten seconds".into())
}

impl Editor for EditorLink {
    fn read(&self, path: &Path, wanted: &CancellationToken) -> Option<String> {
        // A path that is not text cannot be named.
        let path = path.to_str().filter(|_| self.files.read_text_file)?.to_owned();
        let answer = self.ask(EditorRequest::Read { path }, wanted);
        let answer = answer.inspect_err(|why| tracing::debug!(%why, "the editor gives no text")).ok()?;
        serde_json::from_value::<ReadTextFileResponse>(answer).ok().map(|answer| answer.content)
    }

    fn can_write(&self) -> bool {
        self.files.write_text_file
    }

    fn can_run(&self) -> bool {
        self.has_terminals
    }

    fn run(&self, command: &EditorCommand<'_>, wanted: &CancellationToken) -> Result<EditorRun, UserError> {
        let (mut args, env) = environment(command.env);
        args.extend([
            command.shell.to_string_lossy().into_owned(),
            "-c".to_owned(),
            command.command.to_owned(),
        ]);
        let (shown, cwd) = (command.command.to_owned(), lossy_path(command.cwd));
        let created = self.ask(EditorRequest::Create { shown, args, env, cwd }, wanted)?;
        let created: CreateTerminalResponse = serde_json::from_value(created).map_err(UserError::of)?;
        let terminal = created.terminal_id.0.as_ref().to_owned();
        let ended = self.exit(&terminal, command.timeout, wanted);
        // The output so far is useful even after an abort, which must not end this wait.
        let output =
            self.ask(EditorRequest::Output { terminal: terminal.clone() }, &CancellationToken::new());
        drop(self.begin(EditorRequest::Release { terminal }));
        let mut run = ended?;
        let output: TerminalOutputResponse = serde_json::from_value(output?).map_err(UserError::of)?;
        let cut = if output.truncated { "[the beginning of the output is missing]\n" } else { "" };
        run.output = format!("{cut}{}{}", output.output, run.output);
        Ok(run)
    }

    fn write(&self, path: &Path, text: &str, wanted: &CancellationToken) -> Result<(), UserError> {
        if path.to_str().is_none() {
            return Err("its path is not UTF-8".into());
        }
        let request = EditorRequest::Write { path: lossy_path(path), content: text.to_owned() };
        self.ask(request, wanted).map(drop)
    }
}
