//! The screen's loop: waits for keys, signals, the agent and replies; carries out effects.

mod end;
mod handover;
mod leaving;
mod may_leave;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::alarm::Alarm;
use super::event::TerminalEvent;
use super::extension_watch::{ExtensionNews, ExtensionWatch};
use super::input::TerminalInput;
use super::live_screen::LiveScreen;
use super::pacing::FramePacer;
use super::pictures::FinishedPicture;
use super::questions::ClipboardAsk;
use super::requests::{RequestRunner, place_label};
use super::terminal;
use super::theme_files::ThemeFiles;
use crate::live::published::PublishedSession;
use crate::live::{own_flags, record};
use crate::process::exit::Exit;
use crate::process::signals::{CaughtSignal, Signals};
use crate::process::stopped_jobs::StoppedJobs;
use crate::process::{crash, waiter};
use tau_agent::api::events::join;
use tau_agent::engine::task::AgentHandle;
use tau_agent::session::list;
use tau_agent::{AgentCommand, AgentEvent};
use tau_app::connection::Connection;
use tau_app::geometry::Size;
use tau_app::request::{ScreenReply, ScreenRequest, Ticket};
use tau_app::screen_place::ScreenPlace;
use tau_app::{Effect, Msg};
use tau_protocol::command::{SessionChange, SessionCommand};
use tau_protocol::event::{NoticeLevel, SessionEvent, SettingsEvent, TaskEvent};
use tau_protocol::screen_settings::OnHangup;
use tau_protocol::session_row::SessionOrigin;

use leaving::Leaving;

/// Maximum number of agent events taken before keys are checked again, and the maximum time for them.
const EVENT_BATCH: usize = 512;
const BATCH_TIME: Duration = Duration::from_millis(1);
/// Maximum size of joined pieces of a text, in bytes.
const JOINED: usize = 16 * 1024;
/// Time after which tau looks whether the shell has given the terminal back.
const BACK_LOOK: Duration = Duration::from_millis(200);

/// The running front end.
pub struct Shell {
    screen: LiveScreen,
    input: TerminalInput,
    alarm: Alarm,
    signals: Signals,
    agent: AgentHandle,
    /// Commands that wait until the agent accepts them.
    outbox: VecDeque<AgentCommand>,
    requests: RequestRunner,
    replies: mpsc::Receiver<(Ticket, ScreenReply)>,
    /// The agent has reported that it stopped.
    agent_gone: bool,
    pacer: FramePacer,
    themes: ThemeFiles,
    extensions: ExtensionWatch,
    /// For an attached screen: the connection to the server.
    connection: Option<watch::Receiver<Connection>>,
    /// The session as other processes of the user reach it.
    published: Option<PublishedSession>,
    on_hangup: OnHangup,
    /// The place that is lost with the screen, as the user was told.
    unkept: Option<ScreenPlace>,
    /// The processes that were stopped, for the report at the end.
    stopped: StoppedJobs,
    /// Whether the place of the screen is kept already.
    is_kept: bool,
    /// Messages of work in the background.
    news: mpsc::Receiver<String>,
    /// Events of the terminal that arrived during the wait for its answer.
    held: VecDeque<TerminalEvent>,
}

/// The agent of a screen, and its sources.
pub(super) struct ConnectedAgent {
    pub agent: AgentHandle,
    pub requests: RequestRunner,
    pub replies: mpsc::Receiver<(Ticket, ScreenReply)>,
    pub themes: ThemeFiles,
    /// Facts for the screen: notices, then prompts of the command line.
    pub facts: Vec<Msg>,
    /// The first commands for the agent.
    pub commands: Vec<AgentCommand>,
    /// For an attached screen: the connection to the server.
    pub connection: Option<watch::Receiver<Connection>>,
    /// The session as other processes of the user reach it, which continues without its terminal as set.
    pub published: Option<(PublishedSession, OnHangup)>,
    /// Messages of work in the background: of the first start, and of what tau does once a day.
    pub news: mpsc::Receiver<String>,
}

/// How the screen was left, and the id of the live session that is opened next.
pub(super) enum ScreenEnd {
    /// The program ends.
    Quit(Exit, Option<String>),
    /// The session, or one of another screen, continues; the result is the end of the program.
    Running(JoinHandle<Exit>, Option<String>),
}

/// A cause of waking the loop.
enum Wake {
    Terminal(TerminalEvent),
    Signal(CaughtSignal),
    Crashed,
    Agent(Option<AgentEvent>),
    Reply(Ticket, ScreenReply),
    /// A request needs the terminal's clipboard.
    ClipboardAsked(ClipboardAsk),
    Picture(FinishedPicture),
    /// Extensions were loaded again.
    Extensions(ExtensionNews),
    Connection(Connection),
    /// Another screen has answered a question.
    Others(AgentEvent),
    /// A message of work in the background.
    News(String),
    /// The folders of the user's themes have changed.
    Themes,
    Tick,
    FrameDue,
    /// The shell may have given the terminal back.
    BackLook,
    /// Events of the agent are taken again.
    WindowEnded,
    /// The agent accepts commands again.
    AgentReady,
}

impl Shell {
    /// Connects a screen to an agent; `held` are events of the terminal that were not handled yet. Must be
    /// called in the agent's runtime; runs in the input's.
    pub(super) fn new(
        mut screen: LiveScreen,
        input: TerminalInput,
        alarm: Alarm,
        signals: Signals,
        held: VecDeque<TerminalEvent>,
        connected: ConnectedAgent,
    ) -> io::Result<Self> {
        let ConnectedAgent { agent, requests, replies, themes, facts, commands, connection, published, news } =
            connected;
        screen.effects.extend(commands.into_iter().map(Effect::Agent));
        facts.into_iter().try_for_each(|fact| screen.fold(fact))?;
        let pacer = FramePacer::new(Instant::now());
        let extensions = match requests.server() {
            Some(_) => ExtensionWatch::of_server(),
            None => ExtensionWatch::start(requests.services()),
        };
        let (published, on_hangup) = published.unzip();
        Ok(Shell {
            screen,
            input,
            alarm,
            signals,
            agent,
            outbox: VecDeque::new(),
            requests,
            replies,
            agent_gone: false,
            pacer,
            themes,
            extensions,
            connection,
            published,
            on_hangup: on_hangup.unwrap_or_default(),
            unkept: None,
            stopped: StoppedJobs::default(),
            is_kept: false,
            news,
            held,
        })
    }

    /// Runs until the user quits or leaves, or a signal ends the program.
    pub(super) async fn run(mut self) -> ScreenEnd {
        // After an error the terminal is gone, so a message has no place.
        let leaving = self.run_loop().await.unwrap_or(Leaving::End(Exit::HungUp));
        if leaving.continues(self.on_hangup)
            && self.is_at_work()
            // One that nobody could find or stop would run on unseen.
            && let Some(published) = self.published.take_if(|published| published.unreachable().is_none())
        {
            return ScreenEnd::Running(self.leave(published).await, leaving.next());
        }
        let exit = leaving.exit();
        match self.end(exit).await {
            Some(others) => ScreenEnd::Running(others, leaving.next()),
            None => ScreenEnd::Quit(crash::or_crash(exit), leaving.next()),
        }
    }

    /// The session that a command opens, if another process has it open or it has rights and limits of its own: this
    /// terminal becomes a screen of it.
    fn opens_elsewhere(&self, command: &AgentCommand) -> Option<String> {
        let AgentCommand::Session(SessionCommand::Change(
            SessionChange::Open { path } | SessionChange::Offer { path, source: SessionOrigin::Tau },
        )) = command
        else {
            return None;
        };
        let published = self.published.as_ref().filter(|_| waiter::can_leave())?;
        let setup = self.requests.services().setup.lock().clone();
        if let Some(found) = record::open_elsewhere(&setup.paths, path) {
            return Some(found.id);
        }
        let id = list::row_of(path)?.id;
        (id != published.id() && own_flags::has_own_rights(&setup, &id)).then_some(id)
    }

    async fn run_loop(&mut self) -> io::Result<Leaving> {
        let mut tick: Option<(u64, Instant)> = None;
        loop {
            if let Some(leaving) = self.perform().await? {
                return Ok(leaving);
            }
            let wants = self.screen.wants();
            let is_away = self.screen.tty.is_away();
            if !is_away {
                self.screen.show_title(&wants.title)?;
                self.screen.tty.show_progress(wants.progress)?;
                self.screen.tty.shape_cursor(wants.cursor)?;
                self.screen.ask(wants.background)?;
            }
            tick = match (wants.tick, tick) {
                (Some(period), Some((known, at))) if known == period => Some((period, at)),
                (Some(period), _) => Some((period, Instant::now() + Duration::from_millis(period))),
                (None, _) => None,
            };
            let due = match is_away {
                true => Some((Instant::now() + BACK_LOOK, Wake::BackLook)),
                false => self.screen.needs_draw().then(|| (self.pacer.frame_at(), Wake::FrameDue)),
            };
            let wake = self.wait(tick.map(|(_, at)| at), due).await;
            let at_once = matches!(wake, Wake::Terminal(_) | Wake::FrameDue | Wake::Signal(_));
            let mut user_came = matches!(wake, Wake::Terminal(_));
            if matches!(wake, Wake::Tick) {
                tick = None;
            }
            if let Some(exit) = self.on_wake(wake)? {
                return Ok(Leaving::End(exit));
            }
            let is_due = at_once || Instant::now() >= self.pacer.frame_at();
            if is_due && self.screen.needs_draw() && !self.screen.tty.is_away() {
                // A key that arrived in the meantime is shown in the same frame, unless it must wait for an
                // effect.
                if self.screen.effects.is_empty()
                    && self.held.is_empty()
                    && let Some(event) = self.input.try_next()
                {
                    user_came = true;
                    if let Some(exit) = self.on_input(event)? {
                        return Ok(Leaving::End(exit));
                    }
                }
                self.screen.draw()?;
                let interactive = self.screen.model().is_some_and(|model| model.jobs.owner().is_some());
                self.pacer.note_frame(Instant::now(), interactive);
            }
            // Later than the frame, which does not wait for files.
            if user_came {
                self.themes.follow(&mut self.screen)?;
            }
        }
    }

    /// Waits for a fact. There is one timer, as each costs extra wake-ups: while the agent's events are taken
    /// in windows, a tick waits for the end of the window.
    async fn wait(&mut self, tick: Option<Instant>, due: Option<(Instant, Wake)>) -> Wake {
        if let Some(event) = self.held.pop_front() {
            return Wake::Terminal(event);
        }
        let now = Instant::now();
        let window = Some(self.pacer.listen_at()).filter(|end| *end > now && !self.agent_gone);
        let listens = window.is_none() && !self.agent_gone;
        let tick = tick.max(tick.and(window));
        let is_away = matches!(due, Some((_, Wake::BackLook)));
        let alarms = [due, tick.map(|at| (at, Wake::Tick)), window.map(|at| (at, Wake::WindowEnded))];
        let alarm = alarms.into_iter().flatten().min_by_key(|(at, _)| *at);
        let alarm = async {
            match alarm {
                Some((at, wake)) => {
                    self.alarm.until(at).await;
                    wake
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = crash::wait_for_crash() => Wake::Crashed,
            caught = self.signals.next() => Wake::Signal(caught),
            event = self.input.next(), if !is_away => Wake::Terminal(event),
            Some((ticket, reply)) = self.replies.recv() => Wake::Reply(ticket, reply),
            Some(ask) = self.requests.next_ask() => Wake::ClipboardAsked(ask),
            done = self.screen.pictures.next() => Wake::Picture(done),
            Some(news) = self.extensions.next() => Wake::Extensions(news),
            () = self.themes.wait_for_change() => Wake::Themes,
            Some(text) = self.news.recv() => Wake::News(text),
            Some(connection) = next_connection(self.connection.as_mut()) => Wake::Connection(connection),
            Some(event) = of_others(self.published.as_mut()) => Wake::Others(event),
            event = self.agent.events.recv(), if listens => Wake::Agent(event),
            _ = self.agent.commands.reserve(), if !self.outbox.is_empty() => Wake::AgentReady,
            wake = alarm => wake,
        }
    }

    fn on_wake(&mut self, wake: Wake) -> io::Result<Option<Exit>> {
        match wake {
            Wake::Terminal(event) => return self.on_input(event),
            Wake::Signal(caught) => return self.on_signal(caught),
            Wake::Crashed => return Ok(Some(Exit::Crash)),
            Wake::Agent(event) => self.on_agent_event(event)?,
            Wake::Reply(ticket, reply) => {
                self.requests.on_reply(ticket, &reply);
                self.screen.fold(Msg::Finished(ticket, reply))?;
            }
            Wake::ClipboardAsked(ask) => self.screen.tty.ask_for_clipboard(ask)?,
            Wake::Picture(done) => self.screen.add_picture(done),
            Wake::Extensions(news) => self.on_extensions(news)?,
            Wake::Themes => self.themes.follow(&mut self.screen)?,
            Wake::Others(event) => self.screen.fold(Msg::Agent(event))?,
            Wake::Connection(connection) => self.screen.fold(Msg::Connection(connection))?,
            Wake::News(text) => {
                let (level, hint) = (NoticeLevel::Info, None);
                self.screen.fold(Msg::Agent(AgentEvent::Task(TaskEvent::Notice { level, text, hint })))?;
            }
            Wake::Tick => {
                self.screen.fold(Msg::Ticked)?;
                self.take_events()?;
            }
            Wake::FrameDue => {
                self.send_waiting();
                self.take_events()?;
            }
            Wake::BackLook => {
                if self.screen.tty.come_back()? {
                    self.screen.fold(Msg::Continued)?;
                }
            }
            Wake::WindowEnded => self.take_events()?,
            Wake::AgentReady => self.send_waiting(),
        }
        Ok(None)
    }

    fn on_extensions(&mut self, news: ExtensionNews) -> io::Result<()> {
        let ExtensionNews { level, text, hint, commands } = news;
        self.screen.effects.extend(commands.into_iter().map(Effect::Agent));
        self.screen.fold(Msg::Agent(AgentEvent::Task(TaskEvent::Notice { level, text, hint })))?;
        self.screen.fold(Msg::Agent(AgentEvent::Settings(SettingsEvent::ExtensionsChanged)))
    }

    /// Takes the pending events, which belong in the next frame.
    fn take_events(&mut self) -> io::Result<()> {
        match self.agent.events.try_recv() {
            Ok(event) => self.on_agent_event(Some(event)),
            Err(_) => Ok(()),
        }
    }

    /// Folds an event of the terminal, and other pending ones: a paste sent as keys is one frame, not
    /// thousands. So are letters for a list that looks something up for each: only the last is looked up.
    fn on_input(&mut self, event: TerminalEvent) -> io::Result<Option<Exit>> {
        self.extensions.on_user_activity();
        let mut next = Some(event);
        while let Some(event) = next {
            if event == TerminalEvent::Ended {
                return Ok(Some(Exit::HungUp));
            }
            self.screen.take(event)?;
            if !self.screen.effects.iter().all(Effect::lets_letters_pass) {
                return Ok(None);
            }
            next = self.held.pop_front().or_else(|| self.input.waiting());
            // Any other key is about what the screen shows, so it waits for the frame.
            let looks_up = self.screen.effects.iter().any(|effect| !matches!(effect, Effect::Agent(_)));
            if let Some(key) = next.take_if(|event| looks_up && !event.is_letter()) {
                self.held.push_front(key);
            }
        }
        Ok(None)
    }

    fn on_signal(&mut self, caught: CaughtSignal) -> io::Result<Option<Exit>> {
        match caught {
            CaughtSignal::Resize => {
                let area = terminal::size();
                self.screen.tty.redraw();
                self.screen.fold(Msg::Resized(Size { width: area.width, height: area.height }))?;
            }
            CaughtSignal::Suspend => self.screen.effects.push_back(Effect::Suspend),
            CaughtSignal::Continue => {
                if self.screen.tty.resume()? {
                    self.screen.fold(Msg::Continued)?;
                }
            }
            CaughtSignal::Interrupt
            | CaughtSignal::Terminate
            | CaughtSignal::HangUp
            | CaughtSignal::Pipe
            | CaughtSignal::Fatal(_) => {
                return Ok(caught.exit());
            }
        }
        Ok(None)
    }

    fn on_agent_event(&mut self, event: Option<AgentEvent>) -> io::Result<()> {
        let mut next = event;
        self.agent_gone = next.is_none();
        // Large events (a flood of output) end the batch sooner: keys must not wait for them.
        let begun = Instant::now();
        for _ in 0..EVENT_BATCH {
            let Some(mut event) = next else { return Ok(()) };
            self.pacer.count_events(1);
            next = self.agent.events.try_recv().ok();
            // The cost of a piece is mostly in its consequences, so several are folded as one.
            while let Some(piece) = &next
                && begun.elapsed() < BATCH_TIME
                && join(&mut event, piece, JOINED)
            {
                self.pacer.count_events(1);
                next = self.agent.events.try_recv().ok();
            }
            self.fold_event(event)?;
            if begun.elapsed() >= BATCH_TIME {
                self.pacer.skip_window();
                break;
            }
        }
        match next {
            Some(event) => {
                self.pacer.count_events(1);
                self.fold_event(event)
            }
            None => Ok(()),
        }
    }

    /// Folds an event. The newly opened session may run in another directory, whose project settings then
    /// apply.
    fn fold_event(&mut self, event: AgentEvent) -> io::Result<()> {
        self.stopped.take(&event);
        if self.published.as_mut().is_some_and(|published| !published.observe(&event)) {
            return Ok(());
        }
        let dir = match &event {
            AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) => Some(session.cwd.clone()),
            _ => None,
        };
        self.screen.fold(Msg::Agent(event))?;
        let Some(dir) = dir else { return Ok(()) };
        match self.requests.enter_directory(&dir) {
            None => Ok(()),
            Some(Ok((applied, folders))) => {
                let place = place_label(&dir);
                self.screen.fold(Msg::DirectoryChanged { applied, folders, place })
            }
            Some(Err(text)) => {
                let hint = Some("/trust shows the settings of this folder".to_owned());
                let notice = AgentEvent::Task(TaskEvent::Notice {
                    level: NoticeLevel::Warning,
                    text: text.into(),
                    hint,
                });
                self.screen.fold(Msg::Agent(notice))
            }
        }
    }

    /// Carries out the queued effects, in order.
    async fn perform(&mut self) -> io::Result<Option<Leaving>> {
        while let Some(effect) = self.screen.effects.pop_front() {
            match effect {
                Effect::Quit => {
                    if self.may_quit().await? {
                        return Ok(Some(Leaving::End(Exit::Ok)));
                    }
                }
                Effect::Abandon => return Ok(Some(Leaving::End(Exit::Ok))),
                Effect::Background => {
                    if self.may_leave().await? {
                        return Ok(Some(Leaving::Background));
                    }
                }
                Effect::OpenLive(id) => {
                    if self.may_leave().await? {
                        return Ok(Some(Leaving::Open(id)));
                    }
                }
                Effect::Agent(command) => {
                    if let Some(id) = self.opens_elsewhere(&command) {
                        if self.may_leave().await? {
                            return Ok(Some(Leaving::Open(id)));
                        }
                        continue;
                    }
                    if let Some(published) = &self.published {
                        published.note_command(&command);
                    }
                    self.outbox.push_back(command);
                }
                Effect::Ask(
                    ticket,
                    request @ (ScreenRequest::Editor { .. } | ScreenRequest::OpenInEditor { .. }),
                ) => {
                    if let Some(exit) = self.edit(ticket, request).await? {
                        return Ok(Some(Leaving::End(exit)));
                    }
                }
                Effect::Ask(ticket, request) => self.requests.start(ticket, request),
                Effect::Forget(ticket) => self.requests.forget(ticket),
                Effect::Copy(text) => {
                    self.screen.tty.copy(&text)?;
                }
                Effect::Remember(text) => self.requests.remember(text),
                Effect::Save(setting) => {
                    self.requests.save(setting);
                    // It may be another theme.
                    self.themes.follow(&mut self.screen)?;
                }
                Effect::Notify(text) => self.screen.tty.notify(&text)?,
                Effect::UseTerminal(terminal_use) => self.screen.tty.use_for(terminal_use)?,
                Effect::Suspend => self.suspend().await?,
            }
        }
        self.send_waiting();
        Ok(None)
    }

    fn send_waiting(&mut self) {
        while let Some(command) = self.outbox.pop_front() {
            if let Err(mpsc::error::TrySendError::Full(command)) = self.agent.commands.try_send(command) {
                return self.outbox.push_front(command);
            }
        }
    }
}

/// The state of the connection after its next change; `None` when it can no longer change.
async fn next_connection(connection: Option<&mut watch::Receiver<Connection>>) -> Option<Connection> {
    let connection = connection?;
    connection.changed().await.ok()?;
    Some(connection.borrow_and_update().clone())
}

/// The next event that another screen caused without the agent.
async fn of_others(published: Option<&mut PublishedSession>) -> Option<AgentEvent> {
    published?.next().await
}
