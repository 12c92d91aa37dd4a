//! The full screen front end: the loop that folds facts into the model, performs the effects
//! that come out, and draws.
//!
//! One task does all of it; whatever takes time runs beside it and reports by message. A key is
//! drawn at once; what the agent tells is drawn at most every [`FRAME`]. When nothing happens,
//! nothing runs and nothing is written.

pub mod decode;
pub mod files;
pub mod input;
pub mod modes;
pub mod output;
pub mod recording;
pub mod requests;
pub mod start;
pub mod terminal;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::crash;
use super::exit::Exit;
use super::signals::{Caught, Signals};
use crate::agent::engine::task::AgentHandle;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::{AgentCommand, AgentEvent};
use crate::app::effect::{SavedSetting, ShellReply, ShellRequest, Ticket};
use crate::app::geometry::Size;
use crate::app::model::Wants;
use crate::app::msg::Millis;
use crate::app::{Effect, Model, Msg, Stamped, update};
use crate::view::{Memo, view};
use input::{TerminalEvent, TerminalInput};
use recording::Recording;
use requests::RequestRunner;
use terminal::{Drawn, Suspended, Tty};

/// Least time between two frames that no key asked for.
const FRAME: Duration = Duration::from_millis(16);
/// Events of the agent taken in one go, so that keys are looked at in between.
const EVENT_BATCH: usize = 512;
/// How long the agent may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The screen and everything it is connected to.
pub struct LiveScreen {
    pub tty: Tty,
    pub memo: Memo,
    /// Taken only while a message is folded.
    model: Option<Model>,
    clock: Clock,
    recording: Option<Recording>,
    title: String,
    /// Effects that wait to be performed.
    effects: VecDeque<Effect>,
    dirty: bool,
}

/// Wall time that never goes backwards.
#[derive(Clone, Copy)]
struct Clock {
    wall: Millis,
    since: Instant,
}

impl Clock {
    fn now(&self) -> Millis {
        self.wall.saturating_add(Millis::try_from(self.since.elapsed().as_millis()).unwrap_or(Millis::MAX))
    }
}

impl LiveScreen {
    /// A screen that shows the model of the start.
    pub fn new(
        tty: Tty,
        memo: Memo,
        model: Model,
        effects: Vec<Effect>,
        recording: Option<Recording>,
    ) -> Self {
        let clock = Clock { wall: model.now, since: Instant::now() };
        let effects = effects.into();
        LiveScreen {
            tty,
            memo,
            model: Some(model),
            clock,
            recording,
            title: String::new(),
            effects,
            dirty: true,
        }
    }

    /// Folds a fact; what it asks for waits in line.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn fold(&mut self, msg: Msg) -> io::Result<()> {
        let Some(model) = self.model.take() else { return Ok(()) };
        let stamped = Stamped { at: self.clock.now(), msg };
        if let Some(recording) = &mut self.recording {
            recording.add(&stamped, model.wants().secret)?;
        }
        let (model, effects) = update(model, stamped);
        self.model = Some(model);
        self.effects.extend(effects);
        self.dirty = true;
        Ok(())
    }

    /// Draws a frame and folds what it found out.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self) -> io::Result<()> {
        let Some(model) = &self.model else { return Ok(()) };
        let memo = &mut self.memo;
        let mut laid = None;
        let drawn = self.tty.draw(|buffer, area| {
            let found = view(model, memo, area, buffer);
            let cursor = found.cursor;
            laid = Some(found);
            cursor
        })?;
        // A terminal that does not take bytes at the moment is tried again with the next frame.
        self.dirty = drawn == Drawn::Busy;
        let before = self.effects.len();
        if let Some(laid) = laid.filter(|laid| model.learns_from(laid)) {
            self.fold(Msg::Laid(laid))?;
            self.dirty = self.effects.len() > before || drawn == Drawn::Busy;
        }
        Ok(())
    }

    fn wants(&self) -> Wants {
        self.model.as_ref().map(Model::wants).unwrap_or_default()
    }

    fn show_title(&mut self, title: &str) -> io::Result<()> {
        if self.title != title {
            title.clone_into(&mut self.title);
            self.tty.set_title(title)?;
        }
        Ok(())
    }

    /// What the model says of itself.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }
}

/// The running front end.
pub struct Shell {
    screen: LiveScreen,
    input: TerminalInput,
    signals: Signals,
    agent: AgentHandle,
    /// Commands that the agent has no room for yet.
    outbox: VecDeque<AgentCommand>,
    requests: RequestRunner,
    answers: mpsc::Receiver<(Ticket, ShellReply)>,
    /// The agent has told that it ended.
    agent_gone: bool,
}

/// What a turn of the loop waited for.
enum Wake {
    Said(TerminalEvent),
    Caught(Caught),
    Crashed,
    Agent(Option<AgentEvent>),
    Answer(Ticket, ShellReply),
    Tick,
    FrameDue,
    Room,
}

impl Shell {
    /// Connects a screen to an agent.
    pub fn new(
        screen: LiveScreen,
        input: TerminalInput,
        signals: Signals,
        agent: AgentHandle,
        requests: RequestRunner,
        answers: mpsc::Receiver<(Ticket, ShellReply)>,
    ) -> Self {
        Shell { screen, input, signals, agent, outbox: VecDeque::new(), requests, answers, agent_gone: false }
    }

    /// Runs until the person leaves or the program is told to end.
    pub async fn run(mut self) -> Exit {
        let exit = match self.turns().await {
            Ok(exit) => exit,
            // The terminal is gone; there is nobody to tell.
            Err(_) => Exit::HungUp,
        };
        self.end().await;
        crash::or_crash(exit)
    }

    async fn turns(&mut self) -> io::Result<Exit> {
        let mut last_frame = Instant::now();
        let mut tick: Option<(u64, tokio::time::Instant)> = None;
        loop {
            if let Some(exit) = self.perform().await? {
                return Ok(exit);
            }
            let wants = self.screen.wants();
            self.screen.show_title(&wants.title)?;
            tick = match (wants.tick, tick) {
                (Some(period), Some((known, at))) if known == period => Some((period, at)),
                (Some(period), _) => {
                    Some((period, tokio::time::Instant::now() + Duration::from_millis(period)))
                }
                (None, _) => None,
            };
            let due = self.screen.dirty.then(|| tokio::time::Instant::from_std(last_frame + FRAME));
            let wake = self.wait(tick.map(|(_, at)| at), due).await;
            let at_once = matches!(wake, Wake::Said(_) | Wake::FrameDue | Wake::Caught(_));
            if matches!(wake, Wake::Tick) {
                tick = None;
            }
            if let Some(exit) = self.take(wake)? {
                return Ok(exit);
            }
            if self.screen.dirty && (at_once || last_frame.elapsed() >= FRAME) {
                self.screen.draw()?;
                last_frame = Instant::now();
            }
        }
    }

    async fn wait(&mut self, tick: Option<tokio::time::Instant>, due: Option<tokio::time::Instant>) -> Wake {
        let sleep_until = |at: Option<tokio::time::Instant>| async move {
            match at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = crash::crashed() => Wake::Crashed,
            caught = self.signals.next() => Wake::Caught(caught),
            said = self.input.next() => Wake::Said(said),
            () = sleep_until(due) => Wake::FrameDue,
            Some((ticket, reply)) = self.answers.recv() => Wake::Answer(ticket, reply),
            event = self.agent.events.recv(), if !self.agent_gone => Wake::Agent(event),
            _ = self.agent.commands.reserve(), if !self.outbox.is_empty() => Wake::Room,
            () = sleep_until(tick) => Wake::Tick,
        }
    }

    fn take(&mut self, wake: Wake) -> io::Result<Option<Exit>> {
        match wake {
            Wake::Said(said) => return self.on_input(said),
            Wake::Caught(caught) => return self.on_signal(caught),
            Wake::Crashed => return Ok(Some(Exit::Crash)),
            Wake::Agent(event) => self.on_agent_event(event)?,
            Wake::Answer(ticket, reply) => {
                self.requests.answered(ticket, &reply);
                self.screen.fold(Msg::Finished(ticket, reply))?;
            }
            Wake::Tick => self.screen.fold(Msg::Ticked)?,
            Wake::FrameDue | Wake::Room => self.send_waiting(),
        }
        Ok(None)
    }

    /// Folds what the terminal said, and what else waits: a paste that comes as keys is one
    /// frame, not thousands.
    fn on_input(&mut self, said: TerminalEvent) -> io::Result<Option<Exit>> {
        let mut next = Some(said);
        while let Some(said) = next {
            let msg = match said {
                TerminalEvent::Key(key) => Msg::Key(key),
                TerminalEvent::Mouse(mouse) => Msg::Mouse(mouse),
                TerminalEvent::Paste(text) => Msg::Paste(text),
                TerminalEvent::FocusGained => Msg::Focused(true),
                TerminalEvent::FocusLost => Msg::Focused(false),
                // Answers of the terminal to questions that nothing here asks.
                TerminalEvent::Report(_) => {
                    next = self.input.waiting();
                    continue;
                }
                TerminalEvent::Ended => return Ok(Some(Exit::HungUp)),
            };
            self.screen.fold(msg)?;
            let asks = self.screen.effects.iter().any(|effect| !matches!(effect, Effect::Agent(_)));
            next = if asks { None } else { self.input.waiting() };
        }
        Ok(None)
    }

    fn on_signal(&mut self, caught: Caught) -> io::Result<Option<Exit>> {
        match caught {
            Caught::Resize => {
                let area = terminal::size();
                self.screen.tty.redraw();
                self.screen.fold(Msg::Resized(Size { width: area.width, height: area.height }))?;
            }
            Caught::Suspend => self.screen.effects.push_back(Effect::Suspend),
            Caught::Continue => {
                self.screen.tty.resume()?;
                self.screen.fold(Msg::Continued)?;
            }
            Caught::Interrupt | Caught::Terminate | Caught::HangUp | Caught::Fatal(_) => {
                return Ok(caught.exit());
            }
        }
        Ok(None)
    }

    fn on_agent_event(&mut self, event: Option<AgentEvent>) -> io::Result<()> {
        let mut next = event;
        self.agent_gone = next.is_none();
        // Large events (a flood of output) end it sooner: keys must not wait for them.
        let begun = Instant::now();
        for _ in 0..EVENT_BATCH {
            let Some(event) = next else { return Ok(()) };
            self.screen.fold(Msg::Agent(event))?;
            if begun.elapsed() >= FRAME {
                return Ok(());
            }
            next = self.agent.events.try_recv().ok();
        }
        match next {
            Some(event) => self.screen.fold(Msg::Agent(event)),
            None => Ok(()),
        }
    }

    /// Performs the effects that wait, in order.
    async fn perform(&mut self) -> io::Result<Option<Exit>> {
        while let Some(effect) = self.screen.effects.pop_front() {
            match effect {
                Effect::Quit => return Ok(Some(Exit::Ok)),
                Effect::Agent(command) => self.outbox.push_back(command),
                Effect::Ask(ticket, ShellRequest::Editor { text }) => self.edit(ticket, text).await?,
                Effect::Ask(ticket, request) => self.requests.ask(ticket, request),
                Effect::Forget(ticket) => self.requests.forget(ticket),
                Effect::Copy(text) => {
                    self.screen.tty.copy(&text)?;
                }
                Effect::Remember(text) => self.requests.remember(text),
                Effect::Save(SavedSetting::Model(name)) => self.requests.save("model", name),
                Effect::Save(SavedSetting::Theme(name)) => self.requests.save("theme", name),
                Effect::Bell => self.screen.tty.bell()?,
                Effect::Suspend => self.suspend()?,
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

    fn suspend(&mut self) -> io::Result<()> {
        self.input.pause();
        let outcome = self.screen.tty.suspend();
        self.input.resume();
        match outcome? {
            Suspended::Back => self.screen.fold(Msg::Continued),
            Suspended::NoShell => Ok(()),
        }
    }

    /// Gives the terminal to the person's editor. The agent is listened to meanwhile.
    async fn edit(&mut self, ticket: Ticket, text: String) -> io::Result<()> {
        self.input.pause();
        self.screen.tty.leave();
        let mut editing = Box::pin(requests::edit(text));
        let reply = loop {
            tokio::select! {
                reply = &mut editing => break reply,
                event = self.agent.events.recv(), if !self.agent_gone => self.on_agent_event(event)?,
            }
        };
        self.screen.tty.resume()?;
        self.input.resume();
        self.screen.fold(Msg::Continued)?;
        self.screen.fold(Msg::Finished(ticket, reply))
    }

    /// Ends the agent in order, gives the terminal back, and says how to go on.
    async fn end(mut self) {
        self.requests.close();
        let mut lines = Vec::new();
        let ended = async {
            self.send_waiting();
            let _ = self.agent.commands.send(AgentCommand::Shutdown).await;
            while let Some(event) = self.agent.events.recv().await {
                // Nobody sees the screen any more.
                if let AgentEvent::Notice { level: NoticeLevel::Error, text, .. } = &event {
                    lines.push(text.clone());
                }
                if self.screen.fold(Msg::Agent(event)).is_err() {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
        lines.extend(self.screen.model().and_then(how_to_resume));
        drop(self.screen.tty.farewell(&lines));
    }
}

/// The line that stands below the prompt afterwards; none when nothing was kept.
fn how_to_resume(model: &Model) -> Option<String> {
    let session = &model.status.session;
    let kept = session.file.as_ref().is_some_and(|file| file.exists());
    kept.then(|| format!("to go on: tau --continue, or tau --session {}", session.id))
}
