//! The live sessions of other processes: finding the way to one, and what waits there, answers and messages.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::record::{self, FoundRecord, LiveRecord};
use crate::attach::reach::Trouble;
use crate::attach::server::Server;
use crate::headless::prompts::CliPrompt;
use tau_agent::provider::http::Network;
use tau_agent::settings::Paths;
use tau_app::slash::Commands;
use tau_protocol::command::AgentCommand;
use tau_protocol::live_session::WaitingQuestions;
use tau_protocol::query::QueryAnswer;
use tau_protocol::undo::{RestoreReport, UndoOrder};
use tau_tools::user_error::UserError;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connections to them.
#[derive(Debug)]
pub(crate) struct Others {
    paths: Paths,
    network: Network,
}

fn words(trouble: &Trouble) -> String {
    trouble.text().to_owned()
}

/// The way to the process of a session that was found.
pub(crate) fn server_of(found: &FoundRecord, network: &Network) -> Option<Result<Server, UserError>> {
    let address = found.address()?;
    let server = Server::new(address, &found.record.token, network);
    Some(server.map_err(|failure| failure.to_string().into()))
}

impl Others {
    /// With the settings of this process.
    pub(crate) fn new(paths: Paths, network: Network) -> Self {
        Others { paths, network }
    }

    /// The way to the process that has a session open; `None` if none has.
    fn server(&self, id: &str) -> Result<Option<Server>, UserError> {
        let found = record::of(&self.paths, id);
        found.and_then(|found| server_of(&found, &self.network)).transpose()
    }

    fn open(&self, id: &str) -> Result<Server, UserError> {
        self.server(id)?.ok_or_else(|| "no process has this session open any more".to_owned().into())
    }

    /// The answer of the process of a session. The error is a sentence.
    async fn answer_of<T>(
        &self,
        id: &str,
        answer: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, UserError> {
        let process = record::of(&self.paths, id).map(|found| found.record.pid).unwrap_or_default();
        in_time(process, answer).await.map_err(|trouble| words(&trouble).into())
    }

    /// The calls and questions that wait for the user in a session. The error is a sentence.
    pub(crate) async fn waiting(&self, id: &str) -> Result<WaitingQuestions, UserError> {
        let Some(server) = self.server(id)? else { return Ok(WaitingQuestions::default()) };
        let path = format!("/api/sessions/{id}/attach/waiting");
        self.answer_of(id, server.get(&path)).await
    }

    /// Gives a session an answer of the user, or asks it about what waits. The error is a sentence.
    pub(crate) async fn answer(
        &self,
        id: &str,
        command: &AgentCommand,
    ) -> Result<Option<QueryAnswer>, UserError> {
        let path = format!("/api/sessions/{id}/attach/answer");
        self.answer_of(id, self.open(id)?.ask_for(&path, command)).await
    }

    /// Stops the run of a session; returns false if nothing runs in it. The error is a sentence.
    pub(crate) async fn stop(&self, id: &str) -> Result<bool, UserError> {
        let is_at_work = record::of(&self.paths, id).is_some_and(|found| found.state().is_at_work());
        let Some(server) = self.server(id)?.filter(|_| is_at_work) else { return Ok(false) };
        let path = format!("/api/sessions/{id}/abort");
        self.answer_of(id, server.tell(&path, &Value::Null)).await?;
        Ok(true)
    }

    /// Restores files in the process that has a session open; `None` if none has. The error is a sentence.
    pub(crate) async fn undo(&self, id: &str, order: &UndoOrder) -> Result<Option<RestoreReport>, UserError> {
        let Some(server) = self.server(id)? else { return Ok(None) };
        if record::of(&self.paths, id).is_some_and(|found| found.state().is_at_work()) {
            return Err(
                UserError::new("this session is at work").remedy(format!("stop it first: tau stop {id}"))
            );
        }
        let path = format!("/api/sessions/{id}/undo");
        self.answer_of(id, server.ask_for(&path, order)).await.map(Some)
    }

    /// Names a session in the process that has it open; false if none has. The error is a sentence.
    pub(crate) async fn rename(&self, id: &str, name: &str) -> Result<bool, UserError> {
        let Some(server) = self.server(id)? else { return Ok(false) };
        let path = format!("/api/sessions/{id}");
        self.answer_of(id, server.change(&path, &json!({ "name": name }))).await?;
        Ok(true)
    }

    /// Sends a message to a session; one that no process has open continues in the background. The error is a
    /// sentence.
    pub(crate) async fn send(&self, id: &str, text: &str) -> Result<(), UserError> {
        let found = record::of(&self.paths, id);
        let server = found.as_ref().and_then(|found| Some((found, server_of(found, &self.network)?)));
        let is_sent = match server {
            Some((found, server)) => deliver(&server?, &self.paths, &found.record, &mut one(text)).await,
            None => Ok(false),
        };
        match is_sent {
            Ok(true) => Ok(()),
            Err(trouble) if !trouble.is_brief() => Err(words(&trouble).into()),
            Ok(false) | Err(_) => begin(id, text).await,
        }
    }

    /// Says to all processes with screens that a session waits, which no screen shows.
    pub(crate) async fn announce(&self, id: &str, title: &str) {
        let all = record::all(&self.paths).into_values();
        let told = all.filter(|found| found.is_elsewhere() && found.record.watched);
        let mut processes: Vec<FoundRecord> = told.collect();
        processes.sort_by(|one, other| one.record.address.cmp(&other.record.address));
        processes.dedup_by(|one, other| one.record.address == other.record.address);
        for found in processes {
            let body = json!({ "id": id, "title": title });
            let Some(Ok(server)) = server_of(&found, &self.network) else { continue };
            if let Err(trouble) = server.tell("/api/attach/waits", &body).await {
                tracing::warn!(trouble = trouble.text(), "a screen does not know that a session waits");
            }
        }
    }
}

/// Time for which a process that is about to end may still have its session.
const ENDING: Duration = Duration::from_secs(1);

/// Whether the process of a session has it open, and does not end right now. Another process may have it by then.
pub(crate) async fn still_has(paths: &Paths, session: &LiveRecord) -> bool {
    let end = Instant::now() + ENDING;
    let has = |found: FoundRecord| found.is_live && found.record.address == session.address;
    while record::of(paths, &session.id).is_some_and(has) {
        if Instant::now() > end {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// Refuses a message that would be a command on the screen of its session, and nothing for the model.
pub(crate) fn refuse_command(text: &str) -> Result<(), UserError> {
    let why = match Commands::default().parse(text.trim_end()) {
        Some(Ok((row, _))) => format!("`/{}` is a command of the screen", row.name),
        _ if text.starts_with('!') => "`!` runs a command on the screen".to_owned(),
        _ => return Ok(()),
    };
    Err(UserError::new(why).remedy(
        "send a message, a template or a skill; for anything else open the session (tau attach ID) and type it there",
    ))
}

/// A text as the only prompt.
pub(crate) fn one(text: &str) -> Vec<CliPrompt> {
    vec![CliPrompt { text: text.to_owned(), images: Vec::new() }]
}

/// Sends prompts to the process that has a session open; false if it has ended, so that another one has to open the
/// session. Prompts that were accepted are removed.
pub(crate) async fn deliver(
    server: &Server,
    paths: &Paths,
    session: &LiveRecord,
    prompts: &mut Vec<CliPrompt>,
) -> Result<bool, Trouble> {
    match in_time(session.pid, send_prompts(server, &session.id, prompts)).await {
        Ok(()) => Ok(true),
        Err(trouble @ Trouble::Refused(_)) => Err(trouble),
        Err(_) if !still_has(paths, session).await => Ok(false),
        Err(Trouble::Unreachable(text)) => Err(Trouble::Unreachable(format!(
            "{text}; what you sent may still arrive: look at the session before you send it again"
        ))),
        Err(trouble) => Err(trouble),
    }
}

/// The answer of a process, unless it takes too long.
pub(crate) async fn in_time<T>(
    process: u32,
    answer: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let silent = |_| Trouble::Unreachable(record::silence(process));
    tokio::time::timeout(PATIENCE, answer).await.map_err(silent).flatten()
}

/// Sends prompts to a session of this process, and removes those that it accepts; while it works, it gets the first one
/// before its next turn.
async fn send_prompts(server: &Server, id: &str, prompts: &mut Vec<CliPrompt>) -> Result<(), Trouble> {
    let mut streaming = "steer";
    while let Some(CliPrompt { text, images }) = prompts.first() {
        let body = json!({ "prompt": text, "images": images, "streaming": streaming, "detach": true });
        server.tell(&format!("/api/sessions/{id}/prompt"), &body).await?;
        prompts.remove(0);
        streaming = "followUp";
    }
    Ok(())
}

/// Continues a session in a process of its own, in the background.
async fn begin(id: &str, text: &str) -> Result<(), UserError> {
    let cannot = |error: std::io::Error| format!("cannot continue the session: {error}");
    let program = std::env::current_exe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(["send", id]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes()).await.map_err(cannot)?;
    }
    let output = child.wait_with_output().await.map_err(cannot)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find_map(|line| line.strip_prefix("tau: ")).unwrap_or("tau send failed");
    Err(line.to_owned().into())
}
