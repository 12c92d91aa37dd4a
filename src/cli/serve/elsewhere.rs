//! Sessions that other processes of the user have open, in a terminal or in the background: a request for one
//! is passed on to the socket of its process, and so is the answer.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::Value;

use super::answer_types::AnswerQuestion;
use super::metrics::OpenStream;
use super::problem::Problem;
use crate::attach::reach::Address;
use crate::attach::wire::{Commands, HEADER};
use crate::live::others;
use crate::live::record::{self, FoundRecord};
use tau_agent::provider::Headers;
use tau_agent::provider::http::Network;
use tau_agent::provider::http::tau_server::TauServer;
use tau_agent::settings::Paths;
use tau_app::request::ScreenRequest;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{
    AgentCommand, QuestionAnswer, QuestionCommand, RunCommand, SessionCommand, SettingsCommand,
};
use tau_protocol::rules::Verdict;
use tau_tools::process::is_suspended;

/// Interval of checks whether a process that has not answered yet is suspended.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum number of connections that are kept.
const KEPT: usize = 256;
/// The headers of a request that are passed on.
const REQUEST_HEADERS: [&str; 4] = ["accept", "content-type", "last-event-id", HEADER];
/// The headers of an answer that are not passed on: those of the connection.
const OWN_HEADERS: [HeaderName; 3] = [header::CONNECTION, header::TRANSFER_ENCODING, header::DATE];

/// The way to sessions of other processes.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    paths: Paths,
    network: Network,
    /// The highest permission mode that clients of this server can choose; `None` if they are the user, who may also
    /// change every rule.
    ceiling: Option<PermissionMode>,
    /// The connections, by address and token.
    servers: Mutex<HashMap<(String, String), TauServer>>,
}

impl Elsewhere {
    /// The sessions of the user with these folders.
    pub fn new(paths: Paths, network: Network, ceiling: Option<PermissionMode>) -> Self {
        Elsewhere { paths, network, ceiling, servers: Mutex::default() }
    }

    /// The sessions that other processes have open, and those that ended in the background, by id.
    pub fn all(&self) -> HashMap<String, FoundRecord> {
        record::all(&self.paths)
    }

    /// Puts the result of a session away, or brings it back. Fails when a process has it open, or with errors of the
    /// file system.
    pub fn archive(&self, id: &str, archived: bool) -> io::Result<()> {
        record::archive(&self.paths, None, id, archived)
    }

    /// The process that has the session open, if it is another one.
    pub fn owner(&self, id: &str) -> Option<FoundRecord> {
        record::of(&self.paths, id).filter(FoundRecord::is_elsewhere)
    }

    /// Waits until a session that another process has just opened can be found.
    pub async fn wait_for_registration(&self, id: &str) {
        record::wait_for_registration(&self.paths, id).await;
    }

    /// Whether a process that does not answer was about to end, and has left its session.
    pub async fn leaves(&self, owner: &FoundRecord) -> bool {
        !others::still_has(&self.paths, &owner.record).await
    }

    /// The process that has the session of a request open, if it is another one, and the request as that process
    /// takes it.
    pub async fn find(
        &self,
        request: Request,
        is_here: impl Fn(&str) -> bool,
        max_body: usize,
    ) -> Result<(Option<FoundRecord>, Request), Problem> {
        let owner = |id: &str| self.owner(id).filter(|_| !is_here(id));
        if request.uri().path() != "/api/prompt" || request.method() != Method::POST {
            return Ok((session_in(request.uri().path()).and_then(owner), request));
        }
        let (mut parts, body) = request.into_parts();
        let body = read_body(body, max_body).await?;
        let mut prompt: Value = serde_json::from_slice(&body).unwrap_or_default();
        let id = prompt.as_object_mut().and_then(|fields| fields.remove("sessionId"));
        let owner = id.as_ref().and_then(Value::as_str).and_then(owner);
        let path = owner.as_ref().map(|owner| format!("/api/sessions/{}/prompt", owner.record.id).parse());
        let body = match path {
            Some(Ok(path)) => {
                parts.uri = path;
                serde_json::to_vec(&prompt).unwrap_or_default().into()
            }
            Some(Err(_)) | None => body,
        };
        Ok((owner, Request::from_parts(parts, Body::from(body))))
    }

    /// Passes on a request to the owner of a session. Fails when the request is not for other processes, or
    /// the owner is suspended or does not answer.
    pub async fn pass_on(
        &self,
        owner: &FoundRecord,
        request: Request,
        max_body: usize,
        counted: Option<OpenStream>,
    ) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let place = parts.uri.path();
        if parts.method == Method::DELETE || parts.method == Method::POST && place.ends_with("/close") {
            let text = format!(
                "another tau has this session open (process {}); quit it there first",
                owner.record.pid
            );
            return Err(Problem::conflict("session-in-use", text));
        }
        let body = read_body(body, max_body).await?;
        self.check_rights(&parts.method, place, &body)?;
        let server = self.server(owner)?;
        let ceiling = self.ceiling.filter(|ceiling| {
            *ceiling != PermissionMode::Auto && parts.method == Method::POST && starts_work(place, &body)
        });
        let headers = headers_to_pass_on(&parts.headers);
        let answer = async {
            if let Some(ceiling) = ceiling {
                check_owner(&server, &owner.record.id, ceiling).await?;
            }
            let gone = |_| Problem::unavailable("the process that has this session open does not answer");
            server.pass_on(parts.method.as_str(), &path, &headers, body.to_vec()).await.map_err(gone)
        };
        let passed = tokio::select! {
            answer = answer => answer?,
            () = suspension(owner.record.pid) => {
                return Err(Problem::unavailable(record::silence(owner.record.pid)));
            }
        };
        let mut response = Response::new(Body::from_stream(stream::unfold(
            (passed.body, counted),
            async |(mut body, counted)| {
                let piece = body.chunk().await.map_err(|failure| std::io::Error::other(failure.message));
                piece.transpose().map(|piece| (piece.map(Bytes::from), (body, counted)))
            },
        )));
        *response.status_mut() = StatusCode::from_u16(passed.status).unwrap_or(StatusCode::BAD_GATEWAY);
        for (name, value) in passed.headers.0 {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
                && !OWN_HEADERS.contains(&name)
            {
                response.headers_mut().append(name, value);
            }
        }
        Ok(response)
    }

    /// Refuses more rights than clients of this server have: the owner does not know that they are not the user's.
    fn check_rights(&self, method: &Method, path: &str, body: &[u8]) -> Result<(), Problem> {
        let Some(ceiling) = self.ceiling else { return Ok(()) };
        let mut wanted = Vec::new();
        if *method == Method::PATCH {
            let change: Value = serde_json::from_slice(body).unwrap_or_default();
            let name = change.get("permissionMode").and_then(Value::as_str);
            wanted.extend(name.and_then(PermissionMode::from_name));
        }
        if *method == Method::POST && path.ends_with("/attach") {
            let commands: Option<Commands> = serde_json::from_slice(body).ok();
            let commands = commands.map(|body| body.commands).unwrap_or_default();
            commands.iter().try_for_each(check_rules)?;
            wanted.extend(commands.iter().filter_map(wanted_mode));
        }
        if *method == Method::POST && path.ends_with("/attach/answer") {
            let command: Option<AgentCommand> = serde_json::from_slice(body).ok();
            command.iter().try_for_each(check_rules)?;
            wanted.extend(command.as_ref().and_then(wanted_mode));
        }
        if *method == Method::POST && path.contains("/questions/") {
            let answer: Option<AnswerQuestion> = serde_json::from_slice(body).ok();
            wanted.extend(answer.and_then(|answer| answer.mode).map(PermissionMode::from));
        }
        if *method == Method::POST
            && path.ends_with("/attach/request")
            && let Ok(ScreenRequest::BeginAttempts { order }) = serde_json::from_slice(body)
        {
            wanted.push(order.mode);
        }
        for mode in wanted {
            mode.within(ceiling).map_err(Problem::refused)?;
        }
        Ok(())
    }

    fn server(&self, owner: &FoundRecord) -> Result<TauServer, Problem> {
        let key = (owner.record.address.clone(), owner.record.token.clone());
        if let Some(known) = self.servers.lock().get(&key) {
            return Ok(known.clone());
        }
        let Some(Address::Socket(socket)) = owner.address() else {
            return Err(Problem::unavailable("the process that has this session open cannot be reached"));
        };
        let token = vec![("authorization".to_owned(), format!("Bearer {}", owner.record.token))];
        let server = TauServer::at("http://localhost", Some(socket), &Headers(token), &self.network);
        let server = server.map_err(|failure| Problem::failed(failure.message))?;
        let mut servers = self.servers.lock();
        if servers.len() >= KEPT {
            servers.clear();
        }
        servers.insert(key, server.clone());
        Ok(server)
    }
}

/// Waits until a process is suspended.
async fn suspension(process: u32) {
    while !is_suspended(process) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Refuses a change of rules by which more is allowed.
fn check_rules(command: &AgentCommand) -> Result<(), Problem> {
    let AgentCommand::Settings(SettingsCommand::ChangeRules { change, .. }) = command else { return Ok(()) };
    let allows = change.add.as_ref().is_some_and(|new| new.list == Verdict::Allow);
    let guards_less = change.remove.as_ref().is_some_and(|rule| rule.list != Verdict::Allow);
    match allows || guards_less {
        true => Err(Problem::refused(
            "a client can only add rules that ask or deny, and remove rules that allow; the user can change every rule",
        )),
        false => Ok(()),
    }
}

/// Refuses work in a session whose mode is above the one that this server was started with.
async fn check_owner(server: &TauServer, id: &str, ceiling: PermissionMode) -> Result<(), Problem> {
    let found = server.get(&format!("/api/sessions/{id}")).await.ok();
    let session: Option<Value> = found.and_then(|found| serde_json::from_slice(&found.body).ok());
    let mode = session.as_ref().and_then(|session| session.get("permissionMode")?.as_str());
    match mode.and_then(PermissionMode::from_name) {
        Some(mode) if mode.within(ceiling).is_ok() => Ok(()),
        Some(mode) => {
            let (mode, ceiling) = (mode.name(), ceiling.name());
            Err(Problem::refused(format!(
                "the session is in the permission mode {mode}, and this server was started with {ceiling}; lower \
                 the mode of the session first"
            )))
        }
        None => Err(Problem::unavailable("the process that has this session open does not say its mode")),
    }
}

/// Whether a request makes the session, or another one of its process, do something.
fn starts_work(path: &str, body: &[u8]) -> bool {
    let Some((_, what)) = path.strip_prefix("/api/sessions/").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    match what {
        "prompt" | "steer" | "follow-up" | "attempts" | "worktree" => true,
        "attach" => serde_json::from_slice(body).is_ok_and(|of: Commands| of.commands.iter().any(is_work)),
        "attach/answer" => serde_json::from_slice(body).is_ok_and(|command| is_work(&command)),
        "attach/request" => serde_json::from_slice(body).is_ok_and(|request| {
            matches!(
                request,
                ScreenRequest::BeginAttempts { .. }
                    | ScreenRequest::TakeAttempt { .. }
                    | ScreenRequest::TakeAttemptParts { .. }
                    | ScreenRequest::SendToSession { .. }
                    | ScreenRequest::EnterWorktree { .. }
            )
        }),
        _ => what.starts_with("attempts/") && what.ends_with("/take"),
    }
}

/// Whether a command makes a session do something.
fn is_work(command: &AgentCommand) -> bool {
    match command {
        AgentCommand::Run(run) => !matches!(run, RunCommand::Abort | RunCommand::AbortRetry),
        AgentCommand::Queue(_) => true,
        AgentCommand::Session(session) => matches!(session, SessionCommand::SetGoal { .. }),
        // What users do themselves, and answers to what waits, act for the user.
        AgentCommand::Shell(_) | AgentCommand::Questions(_) => false,
        AgentCommand::Task(_) | AgentCommand::Settings(_) => false,
    }
}

/// The mode that a command chooses.
fn wanted_mode(command: &AgentCommand) -> Option<PermissionMode> {
    match command {
        AgentCommand::Settings(SettingsCommand::SetPermissionMode { mode })
        | AgentCommand::Questions(QuestionCommand::Answer {
            answer: QuestionAnswer::PlanAccepted { mode, .. },
            ..
        }) => Some(*mode),
        _ => None,
    }
}

async fn read_body(body: Body, most: usize) -> Result<Bytes, Problem> {
    let too_large = |_| Problem::too_large(format!("a body has at most {most} bytes; see --max-body"));
    to_bytes(body, most).await.map_err(too_large)
}

fn headers_to_pass_on(headers: &HeaderMap) -> Headers {
    let value = |name: &&str| headers.get(*name).and_then(|value| value.to_str().ok());
    let named = REQUEST_HEADERS.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?.to_owned())));
    Headers(named.collect())
}

/// The session that a path of the API is about.
pub(crate) fn session_in(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/api/sessions/")?;
    rest.split('/').next().filter(|id| !id.is_empty())
}
