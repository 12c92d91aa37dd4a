//! Starts the screen: draws the first frame before any slow work.
//!
//! Order matters here. Settings and the model's name are read (small files); the terminal is taken and the
//! first frame drawn; only then come the runtime, the session, the instruction files, the agent. Typing in
//! the meantime waits in the terminal and is not lost.

use std::collections::HashMap;
use std::io;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::alarm::Alarm;
use super::announce::Announcer;
use super::color_support::detect_colors;
use super::input::TerminalInput;
use super::live_screen::LiveScreen;
use super::measuring::Measuring;
use super::recording::Recording;
use super::requests::{RequestRunner, place_label};
use super::shell::{ConnectedAgent, ScreenEnd, Shell};
use super::terminal::{self, MouseCapture, Tty};
use super::theme_files::ThemeFiles;
use super::{early, first_start};
use crate::args::CliArgs;
use crate::attach::link::{self, RemoteAgent};
use crate::attach::requests::AttachedRequests;
use crate::attach::server::Server;
use crate::compose::environment::{Connections, OnBadConfig};
use crate::compose::profile::FrontEndProfile;
use crate::compose::session_lookup::short_id;
use crate::compose::{ComposedAgent, DEFAULT_THEME, Setup, environment, offers, sandbox, sessions};
use crate::headless::prompts;
use crate::live::host;
use crate::live::kept_screen::KeptScreen;
use crate::live::listed::RowCache;
use crate::live::own_flags;
use crate::live::published::PublishedSession;
use crate::live::record::{self, LiveRecord};
use crate::process::exit::{Exit, Refusal, fail};
use crate::process::signals::Signals;
use crate::process::{crash, plain, waiter};
use crate::serve::facts::Facts;
use crate::serve::hub::HelperChannel;
use crate::services::Services;
use crate::upkeep::{self, daily};
use tau_agent::engine::behavior::OnAsk;
use tau_agent::engine::task;
use tau_agent::provider::http::RuntimeThread;
use tau_agent::session::Session;
use tau_agent::settings::{MAX_BYTES, paths};
use tau_app::background::{AUTO, Background};
use tau_app::boot::Boot;
use tau_app::geometry::{ScreenKind, Size};
use tau_app::overlays::offer::Offers;
use tau_app::request::NO_TICKET;
use tau_app::{self, Msg};
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{AgentCommand, SessionChange, SessionCommand, TaskCommand};
use tau_protocol::event::{AgentEvent, NoticeLevel, TaskEvent};
use tau_protocol::live_session::BoardList;
use tau_protocol::query::Query;
use tau_protocol::run::{OnRepeat, RetryMode, SteerMode};
use tau_protocol::session_row::SessionOrigin;
use tau_protocol::trust::Folder;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;
use tau_view::Memo;
use tau_view::theme::Theme;

/// Capacity of the queue of replies for the loop.
const REPLIES: usize = 64;
/// Capacity of the queue of messages of work in the background.
const NEWS: usize = 4;

/// The composition of this front end's agents: a user is at the screen and can be asked.
pub const PROFILE: FrontEndProfile = FrontEndProfile {
    on_bad_config: OnBadConfig::Warn,
    retry: RetryMode::Interactive,
    steer: SteerMode::SkipRemaining,
    on_repeat: OnRepeat::Ask,
    on_ask: OnAsk::Ask,
    asks_user: true,
    is_client: false,
    prints: false,
    connections: Connections::OwnThread,
};

/// Refuses a terminal that cannot show a screen. Fails when `TERM` is `dumb`.
pub(crate) fn check_terminal() -> Result<(), Refusal> {
    match std::env::var("TERM").as_deref() {
        Ok("dumb") => Err(Refusal::config(
            "cannot show the screen: this terminal cannot move the cursor (TERM=dumb); use tau -p \"PROMPT\", or set TERM \
             to the terminal you have",
        )),
        _ => Ok(()),
    }
}

/// Runs the screen; returns the program's end.
pub fn run(setup: Setup) -> Exit {
    let ignored = own_flags::ignored_flags(&setup.args);
    run_on(setup, None, ignored)
}

/// Like [`run`], on a session that an earlier screen left like this.
pub(crate) fn run_restored(setup: Setup, restored: Option<KeptScreen>) -> Exit {
    run_on(setup, restored, Vec::new())
}

/// Runs the screen. If another process has the session open, the `flags` have no effect.
fn run_on(setup: Setup, restored: Option<KeptScreen>, flags: Vec<&str>) -> Exit {
    if let Some(found) = sessions::live(&setup)
        && let Some(address) = found.address()
        && setup.args.prompts.is_empty()
    {
        // Another process has it open: both screens show it.
        let record = setup.args.record.clone();
        let notice = (!flags.is_empty()).then(|| own_flags::no_effect(&flags));
        let flags = CliArgs { record, no_context_files: true, ..CliArgs::without_arguments() };
        let setup = match Setup::read(flags, PROFILE) {
            Ok(setup) => setup,
            Err(refusal) => return refusal.fail(),
        };
        return match Server::of_session(&found, address, &setup.paths, &setup.settings.network()) {
            Ok(server) => run_attached(&setup, server, found.record.id, restored, notice),
            Err(failure) => fail(Exit::Config, &failure.to_string()),
        };
    }
    crash::install(setup.paths.state.clone());
    let readable = prompts::check_readable(&setup);
    let prompts = match readable.and_then(|()| prompts::gather(&setup.args.prompts, None)) {
        Ok(prompts) => prompts,
        Err(error) => return fail(Exit::Config, &error),
    };
    let (boot, memo) = first_frame(&setup);
    show(&setup, boot, memo, restored, connect(setup.clone(), prompts))
}

/// Runs the screen on a session of a server, with a notice for the user; returns the program's end. The setup is this
/// terminal's.
pub(crate) fn run_attached(
    setup: &Setup,
    server: Server,
    session: String,
    restored: Option<KeptScreen>,
    notice: Option<String>,
) -> Exit {
    let (mut boot, memo) = first_frame(setup);
    boot = Boot {
        place: server.display_name().to_owned(),
        attached: Some(server.display_name().to_owned()),
        model: None,
        ask_permission_mode: false,
        demo: false,
        folders: Vec::new(),
        instructions: Vec::new(),
        sandbox: String::new(),
        offers: Offers::default(),
        pick_session: false,
        ..boot
    };
    show(setup, boot, memo, restored, attach_to(setup.clone(), server, session, notice))
}

/// Takes the terminal, shows the first frame, and runs the screen on what `connect` connects it to. Keys are
/// taken meanwhile.
fn show(
    setup: &Setup,
    boot: Boot,
    memo: Memo,
    restored: Option<KeptScreen>,
    connect: impl Future<Output = Result<ConnectedAgent, Refusal>> + Send + 'static,
) -> Exit {
    let boot = Boot { restored: restored.as_ref().map(|kept| kept.place.clone()), ..boot };
    let recording = match setup.args.record.as_ref().map(|path| Recording::begin(path, &boot)).transpose() {
        Ok(recording) => recording,
        Err(error) => return fail(Exit::Config, &format!("--record: {error}")),
    };
    // One thread for the agent, timers and requests: blocking work has threads of its own, and a scheduler
    // for one thread costs less than one for several.
    let agent_thread = match RuntimeThread::start("agent") {
        Ok(started) => started,
        Err(error) => {
            return fail(Exit::Config, &format!("cannot start the thread of the agent: {error}"));
        }
    };
    // Watched before the terminal is changed, so that ending tau at any moment restores it.
    let signals = {
        let _within = agent_thread.handle().enter();
        match Signals::for_screen() {
            Ok(signals) => signals,
            Err(error) => return fail(Exit::Config, &format!("signals: {error}")),
        }
    };
    let terminal_use = setup.screen_settings().terminal;
    let mut tty = match Tty::enter(boot.screen, MouseCapture::from_setting(terminal_use.mouse)) {
        Ok(tty) => tty,
        Err(error) => return fail(Exit::Config, &format!("cannot use the terminal: {error}")),
    };
    tty.announcer = Announcer::of_terminal(terminal_use);
    let (model, effects) = tau_app::boot(boot);
    let measuring = Measuring::new(setup.paths.terminals());
    let mut screen = LiveScreen::new(tty, memo, model, effects, recording, measuring);
    // Queried after the first frame, which does not wait for the answers.
    let background = screen.wants().background;
    if screen.draw().is_err() || screen.ask(background).is_err() {
        return Exit::HungUp;
    }
    let connecting = agent_thread.handle().spawn(connect);
    // The screen's sources, keys and timers, wake no other thread.
    let (runtime, (mut input, alarm)) = match screen_runtime() {
        Ok(started) => started,
        Err(error) => return fail(Exit::Config, &format!("cannot read the terminal: {error}")),
    };
    let (connected, held) = runtime.block_on(early::take_keys(&mut screen, &mut input, connecting));
    let connected = match connected {
        Ok(Ok(connected)) => connected,
        Ok(Err(refusal)) => {
            drop(screen);
            return refusal.fail();
        }
        Err(_) => return crash::or_crash(Exit::Crash),
    };
    if let Some(kept) = restored {
        kept.remove();
    }
    let shell = {
        let _within = agent_thread.handle().enter();
        Shell::new(screen, input, alarm, signals, held, connected)
    };
    let Ok(shell) = shell else { return Exit::HungUp };
    match runtime.block_on(shell.run()) {
        ScreenEnd::Quit(exit, None) => exit,
        ScreenEnd::Quit(exit, Some(next)) => {
            waiter::leave(Some(&next));
            exit
        }
        ScreenEnd::Running(session, next) => {
            waiter::leave(next.as_deref());
            host::let_go_of_streams();
            agent_thread.handle().block_on(session).unwrap_or(Exit::Crash)
        }
    }
}

/// The runtime of the screen's loop, and its main sources: keys and its timer.
fn screen_runtime() -> io::Result<(Runtime, (TerminalInput, Alarm))> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let waits = {
        let _within = runtime.enter();
        (TerminalInput::new()?, Alarm::new())
    };
    Ok((runtime, waits))
}

/// Starts the agent of a screen.
async fn connect(setup: Setup, prompts: Vec<prompts::CliPrompt>) -> Result<ConnectedAgent, Refusal> {
    let (session, offer, trouble) = open_session(&setup);
    let (setup, news) = for_session(&setup, &session).await;
    let ComposedAgent { mut config, prompt, notices } = setup.agent(session)?;
    if offer.is_some() || setup.args.resume.is_some() {
        setup.keep_flag_choices(&mut config.behavior);
    }
    setup.restore_later(&mut config);
    let facts = Facts::of(&config);
    let helpers = (!setup.args.no_session).then(HelperChannel::default);
    config.behavior.join_deltas = true;
    config.behavior.helper_watch = helpers.as_ref().map(|helpers| helpers.watch.clone());
    let agent = task::spawn(config);
    let services = Arc::new(Services::of(setup.clone(), prompt));
    let published = helpers
        .map(|helpers| PublishedSession::start(setup.clone(), facts, &agent, Arc::clone(&services), helpers));
    let texts = news.into_iter().chain(trouble).chain(notices);
    let mut facts: Vec<Msg> = texts.map(warning).collect();
    facts.extend(prompts.into_iter().map(|prompt| Msg::Started { text: prompt.text, images: prompt.images }));
    let offer = offer.map(|(path, source)| SessionChange::Offer { path, source });
    let mut commands: Vec<AgentCommand> =
        offer.map(|offer| AgentCommand::Session(SessionCommand::Change(offer))).into_iter().collect();
    commands.extend(setup.args.goal());
    commands.push(list_commands());
    let (sender, replies) = mpsc::channel(REPLIES);
    let requests = RequestRunner::new(services, sender);
    let (news_sender, news) = mpsc::channel(NEWS);
    first_start::look_around(&setup, news_sender.clone());
    daily::start(&setup.settings, &setup.paths, news_sender);
    upkeep::sweep_scratch_later(&setup.paths);
    Ok(ConnectedAgent {
        agent,
        requests,
        replies,
        themes: theme_files(&setup),
        facts,
        commands,
        connection: None,
        published: published.map(|published| (published, setup.settings.on_hangup())),
        news,
    })
}

/// A notice for the user.
fn warning(text: String) -> Msg {
    Msg::Agent(AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Warning, text, hint: None }))
}

/// Asks for the commands of prompt templates and skills, which were loaded with the system prompt.
fn list_commands() -> AgentCommand {
    AgentCommand::Task(TaskCommand::Query { ticket: NO_TICKET, query: Query::Commands })
}

/// Connects a screen to a session of a server.
async fn attach_to(
    setup: Setup,
    server: Server,
    session: String,
    notice: Option<String>,
) -> Result<ConnectedAgent, Refusal> {
    let here = Arc::new(Services::of(setup.clone(), setup.prompt_without_session()?));
    server
        .start()
        .map_err(|error| Refusal::config(format!("cannot connect to {}: {error}", server.name())))?;
    let RemoteAgent { agent, session, connection } = link::attach(server.clone(), session);
    let (sender, replies) = mpsc::channel(REPLIES);
    let requests = RequestRunner::for_attached(AttachedRequests { server, session, here }, sender);
    Ok(ConnectedAgent {
        agent,
        requests,
        replies,
        themes: theme_files(&setup),
        facts: notice.map(warning).into_iter().collect(),
        commands: vec![list_commands()],
        connection: Some(connection),
        published: None,
        news: mpsc::channel(NEWS).1,
    })
}

/// The setup with the model of the session, or else of the server whose address was given without one, and
/// notices for the user about that. If this fails, the user can choose another.
async fn for_session(setup: &Setup, session: &Session) -> (Setup, Vec<String>) {
    let continued = setup.clone().continuing(session);
    let (new, refused) = match continued.clone().with_server_model().await {
        Ok(named) => (named, None),
        Err(refusal) => (continued, Some(refusal.text)),
    };
    let news = new.notices.iter().skip(setup.notices.len()).cloned().chain(refused).collect();
    (new, news)
}

/// The requested session; when it cannot be opened, a new one, and the file to offer or the reason. The user
/// is at the screen and can choose another.
fn open_session(setup: &Setup) -> (Session, Option<(PathBuf, SessionOrigin)>, Option<String>) {
    match sessions::open_or_offer(setup) {
        Ok((session, offer)) => (session, offer, None),
        Err(refusal) => {
            let session = Session::begin(setup.session_dir().as_deref(), &setup.cwd, None);
            (session, None, Some(refusal.text))
        }
    }
}

/// The folders with project settings, in display form. Stored answers were read before, and their faults
/// reported.
fn folders(setup: &Setup) -> Vec<Folder> {
    let folders = setup.project.folders(&setup.project_dir, &setup.paths.trust_file()).unwrap_or_default();
    folders
        .into_iter()
        .map(|folder| Folder { place: folder.place.map(|_| paths::in_short(&folder.root)), ..folder })
        .collect()
}

/// The input of the first frame. With nothing configured the demo answers.
fn first_frame(setup: &Setup) -> (Boot, Memo) {
    let mut notices = setup.notices.clone();
    let (theme, custom) = match theme(setup) {
        Ok(found) => found,
        Err(error) => {
            notices.push(format!("{error}; using {DEFAULT_THEME}"));
            (DEFAULT_THEME.to_owned(), HashMap::new())
        }
    };
    let mut themes = theme_files(setup).all_names();
    notices.extend(environment::key_faults(&setup.paths, &setup.settings));
    notices.extend(interruption_notice(setup));
    themes.extend(custom.keys().filter(|name| !themes.contains(name)).cloned().collect::<Vec<_>>());
    let (depth, _) = detect_colors();
    let background = std::env::var("COLORFGBG").ok();
    let background = background.and_then(|value| Background::from_colorfgbg(&value)).unwrap_or_default();
    let area = terminal::size();
    let (settings, dir) = (&setup.settings, &setup.project_dir);
    let boot = Boot {
        at: jiff::Timestamp::now().as_millisecond(),
        size: Size { width: area.width, height: area.height },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        place: place_label(dir),
        home: std::env::home_dir().unwrap_or_default(),
        attached: None,
        model: setup.model.clone(),
        thinking: setup.thinking,
        permission_mode: match setup.settings_fault {
            Some(_) => setup.first_mode().min(PermissionMode::Ask),
            None => setup.first_mode(),
        },
        // A choice could not be stored in an unreadable file.
        ask_permission_mode: setup.permission_mode().is_none() && setup.settings_fault.is_none(),
        can_sandbox: sandbox::is_offered(settings, &setup.paths, dir),
        settings_fault: setup.settings_fault.clone(),
        demo: setup.demo,
        theme,
        themes,
        background,
        keys: settings.keys.clone().unwrap_or_default(),
        settings: setup.screen_settings(),
        screen: ScreenKind::new(settings.inline, settings.screen_reader),
        notices,
        folders: folders(setup),
        instructions: setup.instructions().iter().map(|path| paths::in_short(path)).collect(),
        sandbox: sandbox::in_force(&setup.settings, &setup.paths, dir).unwrap_or_default(),
        more_commands: true,
        // Like the mode: an answer could not be stored.
        offers: match setup.settings_fault {
            Some(_) => Offers::default(),
            None => offers::of(&setup.args, settings, &setup.project, &setup.keys),
        },
        restored: None,
        board: setup
            .args
            .board
            .then(|| BoardList { sessions: RowCache::default().rows(&setup.paths), servers: Vec::new() }),
        pick_session: setup.args.resume.is_some(),
    };
    (boot, Memo::new(depth, custom))
}

/// The notice about sessions of this directory that were interrupted at work.
fn interruption_notice(setup: &Setup) -> Option<String> {
    // The board has them all.
    if setup.args.board {
        return None;
    }
    let opened = sessions::requested_id(setup);
    let mut records = record::take_interrupted(&setup.paths, &setup.cwd);
    records.retain(|record| opened.as_ref() != Some(&record.id));
    let title = |record: &LiveRecord| plain::line(&record.title);
    match records.as_slice() {
        [] => None,
        [only] => {
            let (title, id) = (title(only), short_id(&only.id));
            Some(format!(
                "a session was interrupted ({title}): /resume opens it; `tau send {id} continue` runs it in the \
                 background"
            ))
        }
        several => {
            let titles: Vec<String> = several.iter().map(title).collect();
            let count = several.len();
            Some(format!("{count} sessions were interrupted ({}): /resume opens them", titles.join("; ")))
        }
    }
}

fn theme_files(setup: &Setup) -> ThemeFiles {
    ThemeFiles::new(setup.paths.config.join("themes"))
}

/// The configured theme: a built-in one, or a file (`--theme FILE`, or a name in `themes/`).
fn theme(setup: &Setup) -> Result<(String, HashMap<String, Theme>), UserError> {
    let name = setup.theme().to_owned();
    if name == AUTO || Theme::builtin(&name).is_some() {
        return Ok((name, HashMap::new()));
    }
    let path = theme_files(setup).path(&name);
    let theme = read_text(&path, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let known: Vec<&str> = [AUTO].into_iter().chain(Theme::names()).collect();
            format!("no theme \"{name}\": no file {} and not one of {}", path.display(), known.join(", "))
        }
        _ => format!("{}: {error}", path.display()),
    });
    let theme = theme.and_then(|text| {
        Theme::parse(&text).map_err(|error| format!("{}:{}: {}", path.display(), error.line, error.text))
    });
    match theme {
        Ok(theme) => Ok((name.clone(), HashMap::from([(name, theme)]))),
        Err(error) if setup.args.settings.0.theme.is_some() => Err(UserError::new("--theme").because(error)),
        Err(error) => {
            Err(format!("{}: {error}", environment::origin(&setup.paths, &setup.project, "theme")).into())
        }
    }
}
