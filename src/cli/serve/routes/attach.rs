//! Requests of `tau attach`: the session for a whole screen. They are tau's own and undocumented for clients,
//! since their content may change with every version.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use super::super::app::App;
use super::super::extract::{AlreadyOpen, JsonBody, Names, OpenedSession, Params};
use super::super::live::AgentEnded;
use super::super::problem::Problem;
use super::super::screen_stream::ScreenStream;
use super::super::sender::Sender;
use super::super::{attached, far_attempts};
use crate::attach::wire::{
    AttachReply, AttachRequest, Commands, CommandsAccepted, HEADER, Leave, NextSession, OtherSession,
    StreamRequest, protocol_version,
};
use tau_app::request::{ScreenReply, ScreenRequest};
use tau_protocol::command::{AgentCommand, QuestionCommand, TaskCommand};
use tau_protocol::event::{AgentEvent, Question, TaskEvent};
use tau_protocol::live_session::{WaitingQuestion, WaitingQuestions};
use tau_protocol::query::{Query, QueryAnswer};

/// Maximum length of a client's name, in bytes.
const NAME: usize = 64;

/// The check that the client has this server's protocol version.
pub(super) struct SameProtocol;

impl FromRequestParts<App> for SameProtocol {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let theirs = parts.headers.get(HEADER).and_then(|value| value.to_str().ok());
        let ours = protocol_version();
        if theirs == Some(&ours) {
            return Ok(SameProtocol);
        }
        let theirs: String = theirs.unwrap_or("something else").chars().take(64).collect();
        Err(Problem::conflict(
            "other-version",
            format!(
                "the server speaks \"{ours}\" and you \"{theirs}\"; use the same version of tau on both sides, and \
                 between releases the same build"
            ),
        ))
    }
}

/// Finds the session to attach to, or makes one.
pub(super) async fn find(
    State(app): State<App>,
    _: SameProtocol,
    JsonBody(wanted): JsonBody<AttachRequest>,
) -> Result<Json<AttachReply>, Problem> {
    attached::find(app.hub(), wanted).await.map(|id| Json(AttachReply { id }))
}

/// The stream of a screen.
pub(super) async fn stream(
    State(app): State<App>,
    _: SameProtocol,
    OpenedSession(live): OpenedSession,
    Params(joining): Params<StreamRequest>,
) -> Result<Response, Problem> {
    check_name(&joining.client)?;
    let counted = app.open_stream()?;
    let after = live.read_facts(|_, log| joining.after.and_then(|id| log.position(&id)));
    let hub = app.clone();
    let server_ends = move || hub.hub().is_closing();
    let stream = ScreenStream::new(&live, &joining.client, after, server_ends, app.metrics(), counted);
    Ok(stream.into_response())
}

/// Accepts commands of a screen, in their order, each once.
pub(super) async fn commands(
    State(app): State<App>,
    _: SameProtocol,
    AlreadyOpen(live): AlreadyOpen,
    JsonBody(body): JsonBody<Commands>,
) -> Result<Json<CommandsAccepted>, Problem> {
    let Commands { client, first, commands } = body;
    let not_attached = || Problem::conflict("not-attached", "this client is not attached to the session");
    let turn = live.turn(&client).ok_or_else(not_attached)?;
    let _turn = turn.lock().await;
    for (number, command) in (first..).zip(commands) {
        let next = live.next_of(&client).ok_or_else(not_attached)?;
        if number > next {
            let text = format!("command {next} is missing; {number} cannot come before it");
            return Err(Problem::conflict("out-of-order", text));
        }
        if number == next {
            let carried = attached::route_command(app.hub(), &live, &client, command).await;
            live.carry_out(&client, carried).await?;
        }
    }
    let next = live.next_of(&client).ok_or_else(not_attached)?;
    Ok(Json(CommandsAccepted { next }))
}

/// Finds or makes the session that a screen continues with instead.
pub(super) async fn leave(
    State(app): State<App>,
    _: SameProtocol,
    Names(id): Names<String>,
    JsonBody(body): JsonBody<Leave>,
) -> Result<Json<NextSession>, Problem> {
    attached::leave(app.hub(), app.hub().find(&id), body.command).await.map(Json)
}

/// Answers a request of a screen about files, models or sessions of the server. It opens nothing: the session
/// may have been closed on purpose.
pub(super) async fn request(
    State(app): State<App>,
    _: SameProtocol,
    Names(id): Names<String>,
    JsonBody(request): JsonBody<ScreenRequest>,
) -> Result<Json<ScreenReply>, Problem> {
    let live = app.hub().find(&id);
    let services = match &live {
        Some(live) => live.services(),
        None => app.hub().services()?,
    };
    if let (ScreenRequest::BeginAttempts { order }, Some(live)) = (&request, &live) {
        return far_attempts::begin(live, (**order).clone()).map(Json);
    }
    Ok(Json(attached::perform(services, live, request).await))
}

/// Tells how attempts of this session have ended; `None` if they are at work for some time yet.
pub(super) async fn attempts(_: SameProtocol, AlreadyOpen(live): AlreadyOpen) -> Json<Option<ScreenReply>> {
    Json(far_attempts::end_of(&live).await)
}

/// Tells the screens here that another session waits.
pub(super) async fn other_waits(
    State(app): State<App>,
    _: SameProtocol,
    JsonBody(other): JsonBody<OtherSession>,
) -> StatusCode {
    let OtherSession { id, title } = other;
    let event = AgentEvent::Task(TaskEvent::OtherWaits { id, title });
    app.hub().all().iter().for_each(|live| live.tell_screens(&event));
    StatusCode::NO_CONTENT
}

/// Returns the calls and questions that wait for the user in a session.
pub(super) async fn waiting(_: SameProtocol, AlreadyOpen(live): AlreadyOpen) -> Json<WaitingQuestions> {
    Json(live.read_facts(|facts, _| {
        let question = |(id, question): &(String, Question)| WaitingQuestion {
            id: id.clone(),
            question: question.clone(),
        };
        let questions = facts.mirror.questions.iter().map(question).collect();
        WaitingQuestions { approvals: facts.mirror.approvals.clone(), questions }
    }))
}

/// Takes an answer of the user, or answers a question about what waits, without a stream.
pub(super) async fn answer(
    _: SameProtocol,
    AlreadyOpen(live): AlreadyOpen,
    JsonBody(command): JsonBody<AgentCommand>,
) -> Result<Json<Option<QueryAnswer>>, Problem> {
    match command {
        AgentCommand::Questions(answer) => {
            live.claim_answer(&Sender::Program, &answer).map_err(Problem::not_found)?;
            match answer {
                QuestionCommand::Answer { id, answer } => drop(live.answer_question(id, answer).await?),
                command @ QuestionCommand::AnswerApproval { .. } => live.send(command).await?,
            }
        }
        AgentCommand::Task(TaskCommand::Query {
            query: query @ (Query::RuleCoverage { .. } | Query::ProposedText { .. }),
            ..
        }) => {
            let ask = |ticket| AgentCommand::Task(TaskCommand::Query { ticket, query });
            let (answer, _) = live.begin_asking(ask).await?.await.map_err(|_| AgentEnded)?;
            return answer.map(|answer| Json(Some(answer))).map_err(Problem::refused);
        }
        _ => return Err(Problem::refused("this is neither an answer nor a question about what waits")),
    }
    live.sync().await?;
    Ok(Json(None))
}

fn check_name(name: &str) -> Result<(), Problem> {
    let is_sound =
        !name.is_empty() && name.len() <= NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match is_sound {
        true => Ok(()),
        false => Err(Problem::invalid("client: use up to 64 letters, digits and `-`")),
    }
}
