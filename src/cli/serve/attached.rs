//! The rights of attached screens: sessions to find, commands, and files and settings of this machine.
//!
//! A client with the token can run commands here, so the question is not one of permission, but which
//! requests make sense for a session with several screens, and which parts of a client's own settings must
//! not get here.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::event_record::redact_model;
use super::hub::{Hub, NewSession, SessionOptions};
use super::live::{AgentEnded, LiveSession, Route};
use super::problem::Problem;
use super::sender::Sender;
use crate::attach::wire::{AttachRequest, NextSession};
use crate::services::Services;
use crate::services::call::Call;
use tau_app::request::{ModelsFor, ScreenReply, ScreenRequest, SettingsUpdate, Ticket};
use tau_protocol::command::AgentCommand;
use tau_protocol::command::{QuestionCommand, SessionChange, SessionCommand, SettingsCommand, TaskCommand};
use tau_protocol::model::Model;
use tau_protocol::session_row::SessionOrigin::{Claude, Codex, Opencode, Pi, Tau};
use tau_protocol::session_row::SessionRow;
use tau_tools::compare::close_matches;

/// Maximum number of suggestions for an unknown name.
const NEAR: usize = 3;

/// A session's id, and its name if it has one.
type KnownSession = (String, Option<String>);

/// A way in which a name can mean a session.
type Way<'a> = &'a dyn Fn(&KnownSession) -> bool;

/// The session to attach to. Makes a new one on request, or if no session exists yet. Fails when no session,
/// or more than one, has this name.
pub(super) async fn find(hub: &Hub, wanted: AttachRequest) -> Result<String, Problem> {
    if wanted.new {
        return hub.create(NewSession::default()).await.map(|live| live.id.clone());
    }
    let Some(name) = wanted.session else {
        let open = hub.all().into_iter().max_by_key(|live| live.last_use());
        if let Some(live) = open {
            return Ok(live.id.clone());
        }
        let newest = hub.saved_sessions(None).await?.into_iter().next();
        return match newest {
            Some(row) => Ok(row.id),
            None => hub.create(NewSession::default()).await.map(|live| live.id.clone()),
        };
    };
    let mut known: Vec<KnownSession> = hub
        .all()
        .iter()
        .map(|live| (live.id.clone(), live.read_facts(|facts, _| facts.mirror.session.name.clone())))
        .collect();
    for SessionRow { id, name, .. } in hub.saved_sessions(None).await? {
        if !known.iter().any(|(other, _)| *other == id) {
            known.push((id, name));
        }
    }
    find_session(&known, &name)
}

/// The session with this id or name, or the only one whose id or name begins with it.
fn find_session(known: &[KnownSession], wanted: &str) -> Result<String, Problem> {
    let lower = wanted.to_lowercase();
    let name_is = |name: &Option<String>, is: &dyn Fn(&str) -> bool| {
        name.as_ref().is_some_and(|name| is(&name.to_lowercase()))
    };
    let ways: [Way<'_>; 4] = [
        &|(id, _)| id == wanted,
        &|(_, name)| name_is(name, &|name| name == lower),
        &|(id, _)| id.starts_with(wanted),
        &|(_, name)| name_is(name, &|name| name.starts_with(&lower)),
    ];
    for way in ways.into_iter().filter(|_| !wanted.is_empty()) {
        let found: Vec<&str> =
            known.iter().filter(|session| way(session)).map(|(id, _)| id.as_str()).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok((*only).to_owned()),
            several => {
                let count = several.len();
                let text =
                    format!("{count} sessions match {wanted:?}: {}; give more of the id", join_ids(several));
                return Err(Problem::conflict("ambiguous", text));
            }
        }
    }
    let names: Vec<&str> = known
        .iter()
        .flat_map(|(id, name)| [Some(id.as_str()), name.as_deref()].into_iter().flatten())
        .collect();
    let near = close_matches(wanted, &names, NEAR, 0.5);
    let hint = match near.as_slice() {
        [] => "start tau attach without a session, and /resume lists them".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    let wanted: String = wanted.chars().take(128).collect();
    Err(Problem::not_found(format!("there is no session {wanted:?}; {hint}")))
}

fn join_ids(ids: &[&str]) -> String {
    let more = if ids.len() > NEAR { ", …" } else { "" };
    ids.iter().take(NEAR).copied().collect::<Vec<_>>().join(", ") + more
}

/// Routes a command of the screen with this name.
pub(super) async fn route_command(
    hub: &Hub,
    live: &Arc<LiveSession>,
    screen: &str,
    command: AgentCommand,
) -> Route {
    match command {
        AgentCommand::Task(TaskCommand::Query { ticket, query }) => {
            Route::Ask(ticket, Box::new(move |ticket| TaskCommand::Query { ticket, query }.into()))
        }
        AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, change }) => {
            Route::Ask(ticket, Box::new(move |ticket| SettingsCommand::ChangeRules { ticket, change }.into()))
        }
        // Addresses and keys are this server's, regardless of the client's model.
        AgentCommand::Settings(SettingsCommand::SetModel { model }) => {
            match usable(hub, live, &model.reference()).await {
                Ok(model) => Route::Send(SettingsCommand::SetModel { model }.into()),
                Err(problem) => Route::Refuse(problem.detail),
            }
        }
        AgentCommand::Questions(answer) => {
            if let Err(why) = live.claim_answer(&Sender::Screen(Arc::from(screen)), &answer) {
                return Route::Late(why, answer.words());
            }
            if let QuestionCommand::Answer { id, .. } = &answer {
                live.take_question(id);
            }
            Route::Send(answer.into())
        }
        AgentCommand::Run(_)
        | AgentCommand::Queue(_)
        | AgentCommand::Shell(_)
        | AgentCommand::Settings(
            SettingsCommand::SetPermissionMode { .. } | SettingsCommand::SetThinking { .. },
        )
        | AgentCommand::Task(TaskCommand::SideQuestion { .. } | TaskCommand::StopSideQuestion { .. })
        | AgentCommand::Session(
            SessionCommand::Change(SessionChange::GoTo { .. } | SessionChange::Name { .. })
            | SessionCommand::DropPlan
            | SessionCommand::SetGoal { .. }
            | SessionCommand::Label { .. }
            | SessionCommand::Undo { .. }
            | SessionCommand::Redo { .. }
            | SessionCommand::Revert { .. },
        ) => Route::Send(command),
        AgentCommand::Session(SessionCommand::Change(
            SessionChange::New
            | SessionChange::Continued { .. }
            | SessionChange::Fork { .. }
            | SessionChange::Clone
            | SessionChange::Open { .. }
            | SessionChange::Offer { .. }
            | SessionChange::Import { .. },
        )) => Route::Refuse(
            "a shared session cannot switch to another one; attach to that one instead".to_owned(),
        ),
        AgentCommand::Task(TaskCommand::Shutdown) => {
            Route::Refuse("an attached screen does not end the session; close it on the server".to_owned())
        }
        AgentCommand::Settings(
            SettingsCommand::SetBudgets { .. }
            | SettingsCommand::SetSystem { .. }
            | SettingsCommand::SetTools { .. }
            | SettingsCommand::SetLimits { .. }
            | SettingsCommand::Tune(_),
        )
        | AgentCommand::Session(
            SessionCommand::AddUsage { .. }
            | SessionCommand::AppendMessage { .. }
            | SessionCommand::ReplaceMessages { .. },
        ) => Route::Refuse("the server's settings decide this, not the client's".to_owned()),
    }
}

/// The server's model with this name.
async fn usable(hub: &Hub, live: &LiveSession, reference: &str) -> Result<Arc<Model>, Problem> {
    let request = ScreenRequest::Models { purpose: ModelsFor::Step(1) };
    if let ScreenReply::Models(list) = collect_reply(live.services(), request).await
        && let Some(model) = list.usable.into_iter().find(|model| model.reference() == reference)
    {
        return Ok(model);
    }
    hub.model(reference)
}

/// The session that a screen continues with instead of this one, which may be closed already. Fails when it
/// cannot be made or opened.
pub(super) async fn leave(
    hub: &Hub,
    live: Option<Arc<LiveSession>>,
    command: SessionChange,
) -> Result<NextSession, Problem> {
    let gone = || Problem::conflict("not-open", "this session is no longer open; open another one first");
    let parent = match command {
        SessionChange::New => None,
        SessionChange::Continued { parent } => Some(parent),
        SessionChange::Import { path }
        | SessionChange::Offer { path, source: Claude | Codex | Opencode | Pi } => {
            let copy = hub.import(&*live.ok_or_else(gone)?, path).await?;
            return Ok(NextSession { id: copy.id.clone(), text: None });
        }
        SessionChange::Open { path } | SessionChange::Offer { path, source: Tau } => {
            let rows = hub.saved_sessions(None).await?;
            let row = rows.into_iter().find(|row| row.path == path);
            let row = row.ok_or_else(|| Problem::not_found("the session is no longer in the list"))?;
            return Ok(NextSession { id: hub.open_for_screen(row).await?, text: None });
        }
        SessionChange::Fork { entry_id } => {
            let (fork, text) = hub.fork(&*live.ok_or_else(gone)?, Some(entry_id)).await?;
            return Ok(NextSession { id: fork.id.clone(), text });
        }
        SessionChange::Clone => {
            let (fork, _) = hub.fork(&*live.ok_or_else(gone)?, None).await?;
            return Ok(NextSession { id: fork.id.clone(), text: None });
        }
        SessionChange::GoTo { .. } | SessionChange::Name { .. } => {
            return Err(Problem::refused("this stays in the session; send it as a command"));
        }
    };
    let Some(live) = live else {
        let live = hub.create(NewSession { parent, ..NewSession::default() }).await?;
        return Ok(NextSession { id: live.id.clone(), text: None });
    };
    let (cwd, model, thinking, mode) = live.read_facts(|facts, _| {
        (facts.mirror.session.cwd.clone(), facts.model(), facts.mirror.thinking, facts.mirror.mode)
    });
    // A model from a folder's own settings may be unknown to the server as a whole.
    let model = model.filter(|name| hub.model(name).is_ok());
    let options = SessionOptions { model, thinking: Some(thinking), mode: Some(mode) };
    let new = NewSession { cwd: Some(cwd), options, parent, ..NewSession::default() };
    let live = hub.create(new).await?;
    Ok(NextSession { id: live.id.clone(), text: None })
}

/// Answers a request of a screen. Settings changed by it apply here, and not to the screen.
pub(super) async fn perform(
    services: Arc<Services>,
    live: Option<Arc<LiveSession>>,
    request: ScreenRequest,
) -> ScreenReply {
    // A screen sends it from its own machine. Here it would continue a session with rights above those of this one.
    if matches!(request, ScreenRequest::SendToSession { .. }) {
        return ScreenReply::Failed("messages to other sessions are not sent through this one".into());
    }
    match collect_reply(services, request).await {
        ScreenReply::Applied(applied) => {
            let SettingsUpdate { text, commands, sandbox, warnings, .. } = applied;
            for command in commands {
                let sent = match &live {
                    Some(live) => live.send(command).await,
                    None => Err(AgentEnded),
                };
                if sent.is_err() {
                    return ScreenReply::Failed("the session is not open any more".into());
                }
            }
            ScreenReply::Applied(SettingsUpdate { text, sandbox, warnings, ..SettingsUpdate::default() })
        }
        ScreenReply::Models(mut list) => {
            list.usable = list.usable.iter().map(|model| Arc::new(redact_model(model))).collect();
            ScreenReply::Models(list)
        }
        other => other,
    }
}

/// The complete answer to a request.
async fn collect_reply(services: Arc<Services>, request: ScreenRequest) -> ScreenReply {
    let (sender, mut replies) = mpsc::channel(16);
    let (asks, _) = mpsc::channel(1);
    let call = Call::new(Ticket::default(), sender, asks);
    let work = request.perform(&services, &call);
    let mut work = std::pin::pin!(work);
    let mut before = Vec::new();
    let last = loop {
        tokio::select! {
            biased;
            Some((_, reply)) = replies.recv() => before.push(reply),
            reply = &mut work => break reply,
        }
    };
    while let Ok((_, reply)) = replies.try_recv() {
        before.push(reply);
    }
    match last {
        ScreenReply::Sessions(mut list) => {
            let of =
                |reply| if let ScreenReply::Sessions(earlier) = reply { earlier.rows } else { Vec::new() };
            list.rows.splice(0..0, before.into_iter().flat_map(of));
            ScreenReply::Sessions(list)
        }
        ScreenReply::Found(mut list) => {
            let of = |reply| if let ScreenReply::Found(earlier) = reply { earlier.found } else { Vec::new() };
            list.found.splice(0..0, before.into_iter().flat_map(of));
            ScreenReply::Found(list)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_by_id_name_and_beginning() {
        let known = [("0199-a", Some("Fix the tests")), ("0199-b", None), ("0200-c", Some("fix"))];
        let known = known.map(|(id, name)| (id.to_owned(), name.map(str::to_owned)));
        let cases = [
            ("0199-b", Ok("0199-b")),
            ("02", Ok("0200-c")),
            ("FIX", Ok("0200-c")),
            ("fix the", Ok("0199-a")),
            ("0199", Err("2 sessions")),
            ("", Err("there is no session")),
            ("Fix the test", Ok("0199-a")),
            ("fixx", Err("did you mean fix?")),
            ("nothing like it", Err("/resume lists them")),
        ];
        for (wanted, expected) in cases {
            match (find_session(&known, wanted), expected) {
                (Ok(id), Ok(expected)) => assert_eq!(id, expected, "{wanted}"),
                (Err(problem), Err(part)) => assert!(problem.detail.contains(part), "{}", problem.detail),
                (found, _) => panic!("{wanted}: {found:?}"),
            }
        }
    }
}
