//! Attached screens of a live session: their commands, and events for only one of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as AsyncMutex, Notify};

use super::{AgentEnded, Answer, LiveSession};
use crate::serve::event_log::{Following, Position};
use crate::serve::sender::Sender;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::{QueueCommand, RunCommand, SessionCommand};
use tau_protocol::event::{NoticeLevel, QueueEvent, SessionEvent, TaskEvent};

/// Maximum number of remembered screens; beyond it, the ones that left first are forgotten.
const REMEMBERED: usize = 64;
/// Time after which a departed screen is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Screens {
    by_name: BTreeMap<Arc<str>, ScreenState>,
    /// The sender of the last command that may return messages.
    returns_to: Sender,
}

/// The state of a screen.
#[derive(Debug, Default)]
struct ScreenState {
    /// The number of its next command.
    next: u64,
    /// Events for this screen alone, each with the number of the event before it.
    told: VecDeque<(Position, AgentEvent)>,
    /// Wakes its newest stream: the only one that gets events.
    bell: Arc<Notify>,
    /// Held while its commands are accepted, to keep their order.
    turn: Arc<AsyncMutex<()>>,
    /// The number of its open streams.
    streams: usize,
    left: Option<Instant>,
}

impl Screens {
    /// The sender that alone gets this event: it caused it, and would act on it. `None` for all, also if the screen
    /// that sent it is gone.
    pub(super) fn addressee(&self, event: &AgentEvent) -> Option<Sender> {
        let is_for_sender = matches!(
            event,
            AgentEvent::Queue(QueueEvent::QueueReturned { .. } | QueueEvent::QueueChangeFailed { .. })
                | AgentEvent::Session(SessionEvent::SessionRefused { .. })
        );
        let is_gone = match &self.returns_to {
            Sender::Screen(name) => self.by_name.get(name).is_none_or(|screen| screen.streams == 0),
            Sender::Here | Sender::Program => false,
        };
        (is_for_sender && !is_gone).then(|| self.returns_to.clone())
    }

    fn tell(&mut self, name: &str, after: Position, event: AgentEvent) {
        if let Some(screen) = self.by_name.get_mut(name) {
            screen.told.push_back((after, event));
            screen.bell.notify_one();
        }
    }

    /// Sends an event to every screen.
    pub(super) fn tell_all(&mut self, after: Position, event: &AgentEvent) {
        for screen in self.by_name.values_mut() {
            screen.told.push_back((after, event.clone()));
            screen.bell.notify_one();
        }
    }

    fn forget_old(&mut self) {
        let age =
            |screen: &ScreenState| screen.left.filter(|_| screen.streams == 0).map(|left| left.elapsed());
        self.by_name.retain(|_, screen| age(screen).is_none_or(|age| age < FORGOTTEN));
        while self.by_name.len() > REMEMBERED {
            let left =
                self.by_name.iter().filter_map(|(name, screen)| Some((age(screen)?, Arc::clone(name))));
            let Some((_, oldest)) = left.max() else { return };
            self.by_name.remove(&oldest);
        }
    }
}

/// The stream of a screen; it counts as attached during this value's lifetime.
#[derive(Debug)]
pub(crate) struct Screen {
    session: Arc<LiveSession>,
    name: Arc<str>,
    bell: Arc<Notify>,
    /// Whether it had a stream before.
    pub known: bool,
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut state = self.session.state.lock();
        if let Some(screen) = state.screens.by_name.get_mut(&self.name) {
            screen.streams = screen.streams.saturating_sub(1);
            screen.left = Some(Instant::now());
        }
    }
}

impl Screen {
    /// The number of its next command.
    pub fn next_command(&self) -> u64 {
        self.session.state.lock().screens.by_name.get(&self.name).map_or(0, |screen| screen.next)
    }

    /// The initial events for a screen, and the number of the last event in them.
    pub fn opening(&self) -> (Vec<AgentEvent>, Position) {
        let state = self.session.state.lock();
        (state.opening.events(&state.facts.mirror), state.log.last())
    }

    /// The events after a position: for all, then for this screen. At most about `most` bytes of events. `None` once
    /// the screen has a newer stream, which gets them.
    pub fn after(&self, position: Position, most: usize) -> Option<(Following, Vec<AgentEvent>)> {
        let mut state = self.session.state.lock();
        let known = state.screens.by_name.get(&self.name);
        if known.is_some_and(|screen| !Arc::ptr_eq(&screen.bell, &self.bell)) {
            return None;
        }
        let mut following = state.log.after(position, most);
        let own = Sender::Screen(Arc::clone(&self.name));
        following.events.retain(|kept| kept.only.as_ref().is_none_or(|only| *only == own));
        let reached = following.position;
        let mut told = Vec::new();
        if let Some(screen) = state.screens.by_name.get_mut(&self.name) {
            while screen.told.front().is_some_and(|(after, _)| *after <= reached) {
                told.extend(screen.told.pop_front().map(|(_, event)| event));
            }
        }
        Some((following, told))
    }

    /// Waits until there are events after this position; false when none can follow.
    pub async fn wait_after(&self, position: Position) -> bool {
        tokio::select! {
            more = self.session.wait_after(position) => more,
            () = self.bell.notified() => true,
        }
    }
}

/// The outcome of a command of a screen.
pub(crate) enum Route {
    /// Pass it to the agent.
    Send(AgentCommand),
    /// A query with a ticket, and the way to send it to the agent.
    Ask(u64, Box<dyn FnOnce(u64) -> AgentCommand + Send>),
    /// Not carried out, for this reason.
    Refuse(String),
    /// An answer that does not count, for this reason, and its words.
    Late(String, String),
}

impl LiveSession {
    /// Opens the stream of a screen.
    pub fn attach(self: &Arc<Self>, name: &str) -> Screen {
        let name: Arc<str> = Arc::from(name);
        let mut state = self.state.lock();
        state.screens.forget_old();
        let known = state.screens.by_name.contains_key(&name);
        let screen = state.screens.by_name.entry(Arc::clone(&name)).or_default();
        screen.streams = screen.streams.saturating_add(1);
        let bell = Arc::new(Notify::new());
        // An older stream, whose connection may be lost, ends.
        std::mem::replace(&mut screen.bell, Arc::clone(&bell)).notify_one();
        if let Some(text) = state.facts.interruption.filter(|_| !known) {
            let last = state.log.last();
            state.screens.tell(&name, last, interruption_notice(text));
        }
        if state.facts.unsaved.is_some() {
            let (session, name) = (Arc::clone(self), Arc::clone(&name));
            tokio::spawn(async move { session.tell_if_unsaved(&name).await });
        }
        drop(state);
        Screen { session: Arc::clone(self), name, bell, known }
    }

    /// Tells a screen that the session cannot be saved, if that is still so.
    async fn tell_if_unsaved(&self, name: &str) {
        if let Ok(Err(why)) = self.flush().await {
            let hint = "the conversation is in memory, and saving is tried again";
            let (level, text, hint) = (NoticeLevel::Error, why.to_string(), Some(hint.to_owned()));
            let mut state = self.state.lock();
            let last = state.log.last();
            state.screens.tell(name, last, AgentEvent::Task(TaskEvent::Notice { level, text, hint }));
        }
    }

    /// Notes that its last run was interrupted, and tells all screens, also those that attach before the next run.
    pub fn note_interruption(&self, text: &'static str) {
        self.state.lock().facts.interruption = Some(text);
        self.tell_screens(&interruption_notice(text));
    }

    /// A turn to send commands of this screen; `None` if it is not attached.
    pub fn turn(&self, name: &str) -> Option<Arc<AsyncMutex<()>>> {
        let state = self.state.lock();
        state.screens.by_name.get(name).map(|screen| Arc::clone(&screen.turn))
    }

    /// The number of the screen's next command; `None` if it is not attached.
    pub fn next_of(&self, name: &str) -> Option<u64> {
        self.state.lock().screens.by_name.get(name).map(|screen| screen.next)
    }

    /// Carries out the next command of a screen. Sending and counting it are atomic. Fails when the agent has
    /// ended.
    pub async fn carry_out(self: &Arc<Self>, name: &str, command: Route) -> Result<(), AgentEnded> {
        match command {
            Route::Send(command) => {
                self.send_from(Sender::Screen(Arc::from(name)), command).await?;
                self.count(name);
            }
            Route::Ask(ticket, command) => {
                let answer = self.begin_asking(command).await?;
                self.count(name);
                let (session, name) = (Arc::clone(self), name.to_owned());
                tokio::spawn(async move {
                    // A missing answer means that the session has ended.
                    if let Ok((answer, moment)) = answer.await as Result<Answer, _> {
                        let answered = AgentEvent::Task(TaskEvent::Answered { ticket, answer });
                        session.state.lock().screens.tell(&name, moment.last, answered);
                    }
                });
            }
            Route::Refuse(text) => {
                self.count(name);
                let notice =
                    AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, hint: None });
                // In the log, so that a screen whose connection is lost gets it from the next one.
                self.log(&notice, Some(Sender::Screen(Arc::from(name))));
            }
            Route::Late(text, words) => {
                self.count(name);
                let only = Sender::Screen(Arc::from(name));
                let hint = (!words.is_empty()).then(|| "your words are in the draft".to_owned());
                let returned = QueueEvent::QueueReturned { texts: vec![words], images: Vec::new() };
                if hint.is_some() {
                    self.log(&returned.into(), Some(only.clone()));
                }
                let level = NoticeLevel::Warning;
                self.log(&TaskEvent::Notice { level, text, hint }.into(), Some(only));
            }
        }
        Ok(())
    }

    /// Sends a command of this sender. Fails when the session has ended.
    pub(super) async fn send_from(&self, sender: Sender, command: AgentCommand) -> Result<(), AgentEnded> {
        let slot = self.slot().await?;
        self.note_sender(sender, &command);
        slot.send(command);
        Ok(())
    }

    /// Records who gave an answer, or the last command that may return messages.
    pub(super) fn note_sender(&self, sender: Sender, command: &AgentCommand) {
        if let AgentCommand::Questions(answer) = command {
            self.state.lock().given.note(&sender, answer);
        }
        if may_return(command) {
            self.state.lock().screens.returns_to = sender;
        }
    }

    fn count(&self, name: &str) {
        if let Some(screen) = self.state.lock().screens.by_name.get_mut(name) {
            screen.next = screen.next.saturating_add(1);
        }
    }
}

/// Whether messages may be returned for editing after this command, or it may fail in a way that concerns
/// only its sender.
fn may_return(command: &AgentCommand) -> bool {
    matches!(
        command,
        AgentCommand::Run(RunCommand::Prompt { .. } | RunCommand::PromptMessage { .. })
            | AgentCommand::Queue(
                QueueCommand::Enqueue { .. } | QueueCommand::TakeQueue | QueueCommand::ChangeQueued { .. }
            )
            | AgentCommand::Session(
                SessionCommand::Change(_) | SessionCommand::Undo { .. } | SessionCommand::Redo { .. }
            )
    )
}

fn interruption_notice(text: &str) -> AgentEvent {
    AgentEvent::Task(TaskEvent::Notice {
        level: NoticeLevel::Info,
        text: text.to_owned(),
        hint: Some("send a message to continue".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_returned_is_for_its_sender() {
        let returned: AgentEvent =
            QueueEvent::QueueReturned { texts: vec!["x".to_owned()], images: Vec::new() }.into();
        let (there, gone): (Arc<str>, Arc<str>) = (Arc::from("there"), Arc::from("gone"));
        let mut screens = Screens::default();
        screens.by_name.insert(Arc::clone(&there), ScreenState { streams: 1, ..ScreenState::default() });
        screens.by_name.insert(Arc::clone(&gone), ScreenState::default());
        for (sender, is_known) in [
            (Sender::Here, true),
            (Sender::Program, true),
            (Sender::Screen(there), true),
            (Sender::Screen(gone), false),
        ] {
            screens.returns_to = sender.clone();
            assert_eq!(screens.addressee(&returned), is_known.then_some(sender));
            let updated = QueueEvent::QueueUpdate { steering: Vec::new(), follow_up: Vec::new() };
            assert_eq!(screens.addressee(&updated.into()), None);
        }
    }
}
