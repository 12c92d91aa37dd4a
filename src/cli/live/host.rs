//! The process of a session in the background: it runs the prompts of `tau -b`, and serves the session to
//! other processes until it is at rest and nobody looks.

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hosting::Hosting;
use super::record::{self, CHANGING_HANDS, FoundRecord};
use super::registry::Ending;
use super::rights::FlaggedMode;
use super::{others, own_flags, rights, start};
use crate::args::{self, CliArgs};
use crate::compose::Setup;
use crate::compose::environment::{Connections, Environment, OnBadConfig};
use crate::compose::profile::FrontEndProfile;
use crate::compose::sessions::{self, NotOpened};
use crate::headless::prompts::{self, CliPrompt};
use crate::headless::{self, NO_PROMPT, answer, stdin_prompts};
use crate::process::crash;
use crate::process::exit::{Exit, Refusal, fail, warn};
use crate::process::plain;
use crate::process::runtime;
use crate::process::signals::Signals;
use crate::serve::PROFILE;
use crate::serve::facts::Facts;
use crate::serve::hub::{Hub, IN_USE, NewSession};
use crate::serve::live::LiveSession;
use crate::serve::problem::Problem;
use crate::tui;
use tau_agent::session::Session;
use tau_agent::settings::Paths;
use tau_protocol::command::{AgentCommand, Queue, QueueCommand, RunCommand};
use tau_protocol::goal::GoalState;

/// The composition of sessions that are opened for a client: its user is at a screen, with all rights.
const OPEN_PROFILE: FrontEndProfile =
    FrontEndProfile { connections: Connections::ForClients, ..tui::start::PROFILE };

/// Runs the process; returns its end. `arguments` are those of `tau -b`, without the program's name.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    // The end of the terminal must not reach it.
    let _ = rustix::process::setsid();
    let (is_again, arguments) = match arguments {
        [first, rest @ ..] if first == start::AGAIN => (true, rest),
        all => (false, all),
    };
    let mut args =
        match CliArgs::read(std::iter::once(OsString::from("tau")).chain(arguments.iter().cloned())) {
            Ok(args) => args,
            Err(error) => return args::print_clap_error(&error),
        };
    let restored = if is_again { restore(&mut args) } else { Ok(()) };
    let started = restored.and_then(|()| Setup::read(args, PROFILE)).and_then(|setup| {
        prompts::check_readable(&setup).map_err(Refusal::config)?;
        let mut prompts = stdin_prompts::text(&setup.args.prompts).map_err(Refusal::config)?;
        let is_goal = prompts.is_empty() && setup.args.until.is_some();
        if !is_goal && prompts.iter().all(is_blank) {
            return Err(Refusal::usage(NO_PROMPT));
        }
        setup.args.output.as_deref().map_or(Ok(()), answer::check_writable).map_err(Refusal::config)?;
        let Some(mut session) = open_or_send(&setup, &mut prompts, is_again)? else { return Ok(None) };
        session.survey();
        let goal = setup.args.goal().or_else(|| interrupted_goal(&setup, &session));
        Ok(Some((setup.continuing(&session).with_model()?, session, goal, prompts)))
    });
    let (setup, session, goal, prompts) = match started {
        Ok(Some(started)) => started,
        Ok(None) => return Exit::Ok,
        Err(refusal) => return refusal.fail(),
    };
    crash::install_for_server(setup.paths.state.clone());
    headless::with_signals(async move |mut signals| {
        if let Err(refusal) = headless::has_key(&setup, &mut signals).await {
            return refusal.fail();
        }
        match host(setup, session, goal, prompts, signals).await {
            Ok(exit) => exit,
            Err(refusal) => refusal.fail(),
        }
    })
}

/// Adds what was kept of the rights of the session that the arguments name.
fn restore(args: &mut CliArgs) -> Result<(), Refusal> {
    let environment = Environment::read(args, OnBadConfig::Warn)?;
    if let Some(id) = args.session.clone() {
        let flagged = FlaggedMode::Holds;
        rights::restore(args, &environment.paths, &environment.settings, &id, flagged);
    }
    Ok(())
}

fn is_blank(prompt: &CliPrompt) -> bool {
    prompt.text.trim().is_empty() && prompt.images.is_empty()
}

/// The goal that the session pursued when its process was interrupted. The record is the user's own, so its command is
/// one that the user has set on this machine.
fn interrupted_goal(setup: &Setup, session: &Session) -> Option<AgentCommand> {
    let found = record::of(&setup.paths, &session.info().id).filter(FoundRecord::is_interrupted)?;
    // One with a masked secret is not what the user has set.
    found.record.goal.filter(|command| !command.contains("[secret ")).map(args::set_goal)
}

/// The line about a goal that is not pursued.
fn paused_goal_notice(facts: &Facts) -> Option<String> {
    let goal = facts.mirror.goal.as_ref().filter(|goal| goal.state == GoalState::Paused)?;
    let command = plain::line(&goal.command);
    Some(format!(
        "the goal of this session is paused; to continue it, pass --until with its command: {command}"
    ))
}

const LOOK: Duration = Duration::from_millis(50);

/// Opens the session; one that another process has open is sent the prompts there, and `None` returned. Of several
/// processes that are started for one session, one opens it. Prompts that were sent are removed. Unless the session is
/// opened `again` with its own rights, flags that would have no effect there are refused.
fn open_or_send(
    setup: &Setup,
    prompts: &mut Vec<CliPrompt>,
    mut again: bool,
) -> Result<Option<Session>, Refusal> {
    let end = Instant::now() + CHANGING_HANDS;
    loop {
        let found = sessions::live(setup).filter(|_| setup.args.goal().is_none());
        let server = found.as_ref().and_then(|found| others::server_of(found, &setup.settings.network()));
        if let (Some(found), Some(server)) = (found.as_ref(), server) {
            let server = server.map_err(Refusal::config)?;
            if !std::mem::replace(&mut again, true) {
                own_flags::check(setup, &found.record.id)?;
            }
            let runtime = runtime::on_this_thread()?;
            let sent = others::deliver(&server, &setup.paths, &found.record, prompts);
            match runtime.block_on(sent) {
                Ok(true) => {
                    tell(&found.record.id);
                    return Ok(None);
                }
                Err(trouble) if !trouble.is_brief() || Instant::now() > end => {
                    return Err(Refusal::config(trouble.text()));
                }
                Ok(false) | Err(_) => {}
            }
        } else {
            match sessions::open(setup) {
                Err(NotOpened::InUse(_)) if Instant::now() < end => {}
                opened => return Ok(Some(opened?)),
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Time for which an opened session waits for its first client.
const FIRST_CLIENT: Duration = Duration::from_secs(60);

/// Runs a process that opens a session for clients that are about to attach; returns its end. The only argument,
/// if there is one, is the session's id.
pub(crate) fn open(arguments: &[OsString]) -> Exit {
    // The end of the connection that it is opened for must not reach it.
    let _ = rustix::process::setsid();
    let id = match arguments {
        [] => None,
        [id] => id.to_str().map(str::to_owned),
        _ => return fail(Exit::Usage, "one session at most can be opened"),
    };
    let setup = Setup::read(CliArgs::without_arguments(), OPEN_PROFILE).and_then(Setup::with_model_if_asked);
    let setup = match setup {
        Ok(setup) => setup,
        Err(refusal) => return refusal.fail(),
    };
    let paths = setup.paths.clone();
    crash::install_for_server(paths.state.clone());
    headless::with_signals(async move |mut signals| {
        let hosting = Hosting::start(setup);
        let mut hosting = match hosting {
            Ok(hosting) => hosting,
            Err(error) => return fail(Exit::Config, &format!("cannot serve the session: {error}")),
        };
        let live = match open_or_find(hosting.hub(), &paths, id).await {
            Ok(Ok(live)) => live,
            Ok(Err(elsewhere)) => {
                hosting.end(Ending::AtRest).await;
                tell(&elsewhere);
                return Exit::Ok;
            }
            Err(problem) => return fail(Exit::Config, &problem.detail),
        };
        if let Err(refusal) = hosting.announce(&live) {
            hosting.end(Ending::AtRest).await;
            return refusal.fail();
        }
        tell(&live.id);
        hosting.wait_for_client(FIRST_CLIENT).await;
        let end = until_end(&mut hosting, &mut signals).await;
        hosting.end(end.into()).await;
        end
    })
}

/// The session with this id, or a new one. Of several processes that are started for one session, one opens it; the
/// others return its id.
async fn open_or_find(
    hub: &Hub,
    paths: &Paths,
    id: Option<String>,
) -> Result<Result<Arc<LiveSession>, String>, Problem> {
    let end = Instant::now() + CHANGING_HANDS;
    loop {
        let problem = match open_or_begin(hub, id.clone()).await {
            Ok(live) => return Ok(Ok(live)),
            Err(problem) if problem.is_of_kind(IN_USE) => problem,
            Err(problem) => return Err(problem),
        };
        let is_elsewhere = |id: &String| record::of(paths, id).is_some_and(|found| found.is_elsewhere());
        if let Some(id) = id.clone().filter(is_elsewhere) {
            return Ok(Err(id));
        }
        if Instant::now() > end {
            return Err(problem);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The session with this id, or a new one.
async fn open_or_begin(hub: &Hub, id: Option<String>) -> Result<Arc<LiveSession>, Problem> {
    match id {
        Some(id) if hub.is_saved(&id).await => hub.open(&id).await,
        id => hub.create(NewSession { id, ..NewSession::default() }).await,
    }
}

/// Runs the prompts in a session and serves it until it is at rest.
async fn host(
    setup: Setup,
    session: Session,
    goal: Option<AgentCommand>,
    prompts: Vec<CliPrompt>,
    mut signals: Signals,
) -> Result<Exit, Refusal> {
    let output = setup.args.output.clone();
    setup.notices.iter().for_each(|notice| warn(notice));
    let mut hosting = Hosting::start(setup)
        .map_err(|error| Refusal::config(format!("cannot serve the session: {error}")))?;
    let live = hosting.hub().adopt(session).await.map_err(|problem| Refusal::config(problem.detail))?;
    // Whoever sends something to the session meanwhile finds it.
    let begun = match hosting.announce(&live) {
        Ok(()) => send(&live, goal, prompts).await,
        Err(refusal) => Err(refusal),
    };
    if let Err(refusal) = begun {
        hosting.end_after(std::future::ready(()), Ending::AtRest).await;
        return Err(refusal);
    }
    if let Some(notice) = live.read_facts(|facts, _| paused_goal_notice(facts)) {
        warn(&notice);
    }
    hosting.refresh();
    tell(&live.id);
    let end = until_end(&mut hosting, &mut signals).await;
    let text = live.read_facts(|facts, _| facts.run.answer.text().map(str::to_owned));
    if let (Some(path), Some(text)) = (output, text)
        && let Err(error) = answer::write(path, text).await
    {
        tracing::warn!(%error, "the answer could not be written");
    }
    hosting.end(end.into()).await;
    Ok(end)
}

/// Serves until everything is at rest, or a signal or a crash ends the process.
pub(super) async fn until_end(hosting: &mut Hosting, signals: &mut Signals) -> Exit {
    tokio::select! {
        () = hosting.until_at_rest() => Exit::Ok,
        exit = signals.exit() => exit,
        () = crash::wait_for_crash() => Exit::Crash,
    }
}

/// Sets the goal and sends the prompts, and waits until the first one is saved. An unknown command is refused.
async fn send(
    live: &LiveSession,
    goal: Option<AgentCommand>,
    prompts: Vec<CliPrompt>,
) -> Result<(), Refusal> {
    let ended = |_| Refusal { exit: Exit::Crash, text: "the agent ended while it was starting".to_owned() };
    for CliPrompt { text, .. } in &prompts {
        live.check_command(text).await.map_err(ended)?.map_err(Refusal::config)?;
    }
    if let Some(goal) = goal {
        live.send(goal).await.map_err(ended)?;
        if prompts.is_empty() {
            live.send(RunCommand::PursueGoal).await.map_err(ended)?;
        }
    }
    for (at, CliPrompt { text, images }) in prompts.into_iter().enumerate() {
        let command = match at {
            0 => AgentCommand::Run(RunCommand::Prompt { text, images, streaming: Queue::default() }),
            _ => AgentCommand::Queue(QueueCommand::Enqueue { text, images, queue: Queue::FollowUp }),
        };
        live.send(command).await.map_err(ended)?;
    }
    live.flush().await.map_err(ended)?.map_err(Refusal::config)
}

/// Tells the process that started this one that the session runs, and lets go of its streams.
fn tell(id: &str) {
    let mut out = std::io::stdout();
    // It may be gone.
    let _ = writeln!(out, "{id}").and_then(|()| out.flush());
    let_go_of_streams();
}

/// Replaces the standard streams by nothing.
pub(crate) fn let_go_of_streams() {
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
