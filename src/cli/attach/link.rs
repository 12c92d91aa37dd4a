//! The agent of an attached screen: commands go to the server, events come from it.
//!
//! Commands are numbered and sent in order, one request at a time; the server skips a number that it has
//! already accepted, so it is safe to send a request again whose answer was lost. Events come as a stream,
//! which resumes after the last frame, or begins with the whole session.

mod reader;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::reach::Trouble;
use super::server::Server;
use super::wire::{Commands, EventBatch, Greeting, NextSession, StreamEnd, StreamRequest};
use reader::{LinkEvent, PATIENCE, Reader, Silence, hear};
use tau_agent::engine::task::AgentHandle;
use tau_agent::{AgentCommand, AgentEvent};
use tau_app::connection::Connection;
use tau_protocol::command::{
    QueueCommand, RunCommand, SessionChange, SessionCommand, SettingsCommand, ShellCommand, TaskCommand,
};
use tau_protocol::event::{NoticeLevel, QueueEvent, RunEvent, SessionEvent, TaskEvent};
use tau_protocol::message::Block;
use tau_protocol::query::{Query, QueryAnswer};
use tau_tools::deadline;
use tau_tools::user_error::UserError;

/// Capacity of the queues for commands to this task and events for the screen.
const COMMANDS: usize = 64;
const EVENTS: usize = 256;
/// Maximum number of queued events before reading pauses.
const BACKLOG: usize = 1_024;
/// Maximum number of commands in a request.
const TOGETHER: usize = 64;
/// Delay before the first new attempt, and the maximum.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const MAX_WAIT: Duration = Duration::from_secs(8);

/// Delay before commands are sent again that the server could not accept.
const BUSY: Duration = Duration::from_millis(500);

/// The answer to what the screen asks while no attempt to connect is made.
const NOT_CONNECTED: &str = "not connected: send something to open the session again";

/// The attached session; the screen's requests go there, too.
pub(crate) type CurrentSession = watch::Receiver<String>;

/// An agent on a server.
pub(crate) struct RemoteAgent {
    pub agent: AgentHandle,
    pub session: CurrentSession,
    pub connection: watch::Receiver<Connection>,
}

/// Attaches to a session, in the current runtime.
pub(crate) fn attach(server: Server, session: String) -> RemoteAgent {
    let (commands, inbox) = mpsc::channel(COMMANDS);
    let (outbox, events) = mpsc::channel(EVENTS);
    let (current, session_now) = watch::channel(session.clone());
    let (connection, connection_now) = watch::channel(Connection::Up);
    let link = Link {
        server: Arc::new(server),
        session,
        current,
        connection,
        client: tau_tools::ids::id().simple().to_string(),
        inbox,
        outbox,
        outgoing: VecDeque::new(),
        waiting: VecDeque::new(),
        first: 0,
        tried: 0,
        asked: BTreeMap::new(),
        tickets: 1,
        last: None,
        state: State::Connecting { attempt: 0 },
        reader: None,
        sending: None,
        pause: Duration::ZERO,
        silence: Silence::default(),
        leaving: None,
        opens: true,
    };
    let task = tokio::spawn(link.run());
    RemoteAgent {
        agent: AgentHandle { commands, events, task },
        session: session_now,
        connection: connection_now,
    }
}

/// The state of the stream.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// Being opened; `attempt` counts failures in a row.
    Connecting { attempt: u32 },
    /// Open.
    Open,
    /// To be reopened at this time.
    Waiting { until: Instant, attempt: u32 },
    /// The session was closed, or the server refuses: there are no attempts until the user sends something.
    Down,
}

/// A pending question.
struct PendingRequest {
    /// The screen's ticket.
    ticket: u64,
    command: AgentCommand,
}

type Sending = AbortOnDropHandle<Result<u64, Trouble>>;
type Leaving = AbortOnDropHandle<Result<NextSession, Trouble>>;

struct Link {
    server: Arc<Server>,
    session: String,
    current: watch::Sender<String>,
    connection: watch::Sender<Connection>,
    /// The client's id, by which the server recognises it.
    client: String,
    inbox: mpsc::Receiver<AgentCommand>,
    outbox: mpsc::Sender<AgentEvent>,
    /// Events that the screen has not taken yet.
    outgoing: VecDeque<AgentEvent>,
    /// Commands that the server has not accepted yet, as far as known.
    waiting: VecDeque<AgentCommand>,
    /// The number of the first of them.
    first: u64,
    /// The number of them that were already sent, perhaps in vain.
    tried: usize,
    /// Questions by the tickets that they were sent with.
    asked: BTreeMap<u64, PendingRequest>,
    tickets: u64,
    /// The id of the last frame.
    last: Option<String>,
    state: State,
    reader: Option<Reader>,
    sending: Option<Sending>,
    /// Delay before commands are sent.
    pause: Duration,
    silence: Silence,
    leaving: Option<Leaving>,
    /// Whether the user wants the session even if no process has it open any more.
    opens: bool,
}

/// A cause of waking the task.
enum Wake {
    Command(Option<AgentCommand>),
    Heard(LinkEvent),
    Sent(Result<u64, Trouble>),
    Left(Result<NextSession, Trouble>),
    Taken,
    Retry,
    Unanswered,
    Gone,
}

impl Link {
    async fn run(mut self) {
        loop {
            self.begin();
            match self.wake().await {
                Wake::Command(Some(AgentCommand::Task(TaskCommand::Shutdown)) | None) | Wake::Gone => break,
                Wake::Command(Some(command)) => self.command(command),
                Wake::Heard(heard) => self.on_frame(heard),
                Wake::Sent(result) => self.on_send_result(result),
                Wake::Left(result) => self.on_leave_result(result),
                Wake::Taken => {}
                Wake::Retry => self.state = State::Connecting { attempt: self.attempt() },
                Wake::Unanswered => {
                    let why = self.silence.busy.take().unwrap_or_else(|| self.server.silence(&self.session));
                    self.on_silence(why);
                }
            }
        }
        self.finish().await;
    }

    /// Sends the commands that were given before the screen was left.
    async fn finish(mut self) {
        let sending = self.sending.take();
        let deadline = Instant::now() + Duration::from_secs(1);
        let rest = async {
            if let Some(Ok(Ok(next))) = match sending {
                Some(sending) => Some(sending.await),
                None => None,
            } {
                self.drop_accepted(next);
            }
            if self.state == State::Open && !self.waiting.is_empty() {
                // Commands not accepted now are lost with the screen, which can no longer report it.
                let _ = self.server.send(&self.session, &self.batch()).await;
            }
        };
        let _ = tokio::time::timeout_at(deadline, rest).await;
        let _ = self.outbox.send(AgentEvent::Task(TaskEvent::Stopped)).await;
    }

    fn attempt(&self) -> u32 {
        match self.state {
            State::Connecting { attempt } | State::Waiting { attempt, .. } => attempt,
            State::Open | State::Down => 0,
        }
    }

    /// Starts all possible work: opening the stream, sending commands.
    fn begin(&mut self) {
        if matches!(self.state, State::Connecting { .. }) && self.reader.is_none() {
            let joining = StreamRequest { client: self.client.clone(), after: self.last.clone() };
            self.reader =
                Some(Reader::start(Arc::clone(&self.server), self.session.clone(), joining, self.opens));
        }
        let can_send = self.state == State::Open && self.sending.is_none() && self.leaving.is_none();
        if can_send && !self.waiting.is_empty() {
            let commands = self.batch();
            self.tried = self.tried.max(commands.commands.len());
            let (server, session) = (Arc::clone(&self.server), self.session.clone());
            let wait = std::mem::take(&mut self.pause);
            let task = tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                server.send(&session, &commands).await
            });
            self.sending = Some(AbortOnDropHandle::new(task));
            self.silence.due.get_or_insert_with(|| Instant::now() + PATIENCE);
        }
    }

    fn batch(&self) -> Commands {
        let commands = self.waiting.iter().take(TOGETHER).cloned().collect();
        Commands { client: self.client.clone(), first: self.first, commands }
    }

    async fn wake(&mut self) -> Wake {
        let retry_at = match self.state {
            State::Waiting { until, .. } => Some(until),
            State::Connecting { .. } | State::Open | State::Down => None,
        };
        let retry = async {
            match retry_at {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let reads = self.outgoing.len() < BACKLOG;
        tokio::select! {
            biased;
            command = self.inbox.recv() => Wake::Command(command),
            permit = self.outbox.reserve(), if !self.outgoing.is_empty() => match (permit, self.outgoing.pop_front()) {
                (Ok(permit), Some(event)) => {
                    permit.send(event);
                    Wake::Taken
                }
                (Ok(_), None) => Wake::Taken,
                // The screen is gone.
                (Err(_), _) => Wake::Gone,
            },
            result = await_request(self.sending.as_mut()) => {
                self.sending = None;
                Wake::Sent(result)
            }
            result = await_request(self.leaving.as_mut()) => {
                self.leaving = None;
                Wake::Left(result)
            }
            heard = hear(self.reader.as_mut()), if reads => Wake::Heard(heard),
            () = retry => Wake::Retry,
            () = deadline::until(self.silence.due), if self.silence.told.is_none() => Wake::Unanswered,
        }
    }

    fn command(&mut self, command: AgentCommand) {
        let is_by_user = is_by_user(&command);
        match command {
            AgentCommand::Session(SessionCommand::Change(
                command @ (SessionChange::New
                | SessionChange::Continued { .. }
                | SessionChange::Fork { .. }
                | SessionChange::Clone
                | SessionChange::Open { .. }
                | SessionChange::Offer { .. }
                | SessionChange::Import { .. }),
            )) => return self.leave(command),
            AgentCommand::Task(TaskCommand::Query { ticket, .. }) if self.state == State::Down => {
                // The screen asks by itself, too, so it does not bring the session back.
                self.refuse(ticket, &command, NOT_CONNECTED);
            }
            AgentCommand::Task(TaskCommand::Query { ticket, query }) => {
                self.ask(ticket, |ticket| AgentCommand::Task(TaskCommand::Query { ticket, query }));
            }
            AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, change }) => {
                self.ask(ticket, |ticket| {
                    AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, change })
                });
            }
            command => self.waiting.push_back(command),
        }
        if is_by_user && self.state == State::Down {
            // Sending something means that the user wants the session back.
            (self.state, self.opens) = (State::Connecting { attempt: 0 }, true);
        }
    }

    fn ask(&mut self, ticket: u64, command: impl FnOnce(u64) -> AgentCommand) {
        let own = self.tickets;
        self.tickets += 1;
        let command = command(own);
        self.asked.insert(own, PendingRequest { ticket, command: command.clone() });
        self.waiting.push_back(command);
    }

    fn answer(&mut self, ticket: u64, answer: Result<QueryAnswer, UserError>) {
        self.outgoing.push_back(AgentEvent::Task(TaskEvent::Answered { ticket, answer }));
    }

    /// Answers the questions that get no answer from the session any more.
    fn withdraw(&mut self, is_lost: impl Fn(&AgentCommand) -> bool, why: &str) {
        let (lost, asked): (BTreeMap<u64, PendingRequest>, _) =
            std::mem::take(&mut self.asked).into_iter().partition(|(_, asked)| is_lost(&asked.command));
        self.asked = asked;
        lost.into_values().for_each(|asked| self.refuse(asked.ticket, &asked.command, why));
    }

    /// Answers a question with the reason why there is no answer. The screen asks for its commands by itself, and keeps
    /// those that it knows.
    fn refuse(&mut self, ticket: u64, command: &AgentCommand, why: &str) {
        if !matches!(command, AgentCommand::Task(TaskCommand::Query { query: Query::Commands, .. })) {
            self.answer(ticket, Err(why.to_owned().into()));
        }
    }

    /// Leaves the session for another one.
    fn leave(&mut self, command: SessionChange) {
        if self.leaving.is_some() {
            return self.notice(NoticeLevel::Warning, "another session is being opened already", None);
        }
        let (server, session) = (Arc::clone(&self.server), self.session.clone());
        let task = tokio::spawn(async move { server.leave(&session, command).await });
        self.leaving = Some(AbortOnDropHandle::new(task));
    }

    fn on_leave_result(&mut self, result: Result<NextSession, Trouble>) {
        let left = match result {
            Ok(left) => left,
            Err(trouble) => {
                let text = trouble.text().to_owned();
                self.notice(NoticeLevel::Error, &format!("cannot open the session: {text}"), None);
                return self
                    .outgoing
                    .push_back(AgentEvent::Session(SessionEvent::SessionRefused { error: text }));
            }
        };
        self.give_back_prompts("the session was left before it took your message");
        self.session = left.id;
        self.current.send_replace(self.session.clone());
        (self.reader, self.sending, self.last) = (None, None, None);
        self.withdraw(|_| true, "the session was left");
        self.start_over();
        (self.state, self.opens) = (State::Connecting { attempt: 0 }, true);
        if let Some(text) = left.text {
            self.outgoing.push_back(AgentEvent::Queue(QueueEvent::QueueReturned {
                texts: vec![text],
                images: Vec::new(),
            }));
        }
    }

    /// Starts again without the server's knowledge of this client: its commands are counted from the start.
    fn start_over(&mut self) {
        self.client = tau_tools::ids::id().simple().to_string();
        self.waiting.clear();
        (self.first, self.tried, self.silence.due) = (0, 0, None);
    }

    /// Says why nothing is heard of the session, once for each reason and silence.
    fn on_silence(&mut self, why: String) {
        if self.silence.told.as_ref() != Some(&why) {
            self.notice(NoticeLevel::Warning, &why, None);
            self.silence.told = Some(why);
        }
    }

    fn on_frame(&mut self, heard: LinkEvent) {
        if matches!(heard, LinkEvent::Attached(_) | LinkEvent::Opened(_) | LinkEvent::Happened(_)) {
            self.silence.told = None;
        }
        match heard {
            LinkEvent::Attached(greeting) => self.on_attach(&greeting),
            LinkEvent::Opened(EventBatch { events, id }) => {
                self.last = id;
                // Pages belong to the previous history.
                let is_page = |asked: &PendingRequest| {
                    matches!(
                        asked.command,
                        AgentCommand::Task(TaskCommand::Query { query: Query::HistoryPage { .. }, .. })
                    )
                };
                self.asked.retain(|_, asked| !is_page(asked));
                self.take(events);
            }
            LinkEvent::Happened(EventBatch { events, id }) => {
                self.last = id.or(self.last.take());
                self.take(events);
            }
            LinkEvent::Closed(StreamEnd { server_ends: true, .. }) => {
                self.on_connection_loss("the server is being stopped");
            }
            LinkEvent::Closed(StreamEnd { deleted: true, .. }) => {
                let hint = "/new starts another session, /resume opens one";
                self.disconnect("the session was deleted on the server", false, hint);
            }
            LinkEvent::Closed(StreamEnd { not_deleted, .. }) => {
                let why = not_deleted.map(|why| format!(", but could not be deleted: {why}"));
                let place = if self.server.display_name().is_empty() { "" } else { " on the server" };
                let text = format!("the session was closed{place}{}", why.unwrap_or_default());
                self.disconnect(&text, true, "send something to open it again, or /resume another");
            }
            LinkEvent::Lost(Trouble::Ended(text)) => {
                self.disconnect(&text, true, "send something to open it again");
            }
            LinkEvent::Lost(Trouble::Refused(text)) => {
                self.disconnect(&text, false, "/resume opens another session, /quit leaves");
            }
            LinkEvent::Lost(trouble) => self.on_connection_loss(trouble.text()),
            LinkEvent::Silent(why) => self.on_silence(why),
        }
    }

    fn take(&mut self, events: Vec<AgentEvent>) {
        for event in events {
            match event {
                AgentEvent::Task(TaskEvent::Answered { ticket, answer }) => {
                    // A question repeated after a loss is answered twice.
                    if let Some(PendingRequest { ticket, .. }) = self.asked.remove(&ticket) {
                        self.answer(ticket, answer);
                    }
                }
                // The consequence for the screen follows when the stream ends.
                AgentEvent::Task(TaskEvent::Stopped) => {
                    self.outgoing.push_back(AgentEvent::Run(RunEvent::AgentSettled { aborted: true }));
                }
                event => self.outgoing.push_back(event),
            }
        }
    }

    /// Records that the stream is open; the server has accepted the commands before `next`.
    fn on_attach(&mut self, &Greeting { next, known }: &Greeting) {
        let was_up = matches!(*self.connection.borrow(), Connection::Up);
        if !was_up {
            self.connection.send_replace(Connection::Up);
        }
        (self.state, self.opens) = (State::Open, false);
        if known || (self.first, self.tried) == (0, 0) {
            self.drop_accepted(next);
            self.tried = 0;
        } else {
            // It was restarted in the meantime.
            let unconfirmed = self.take_unconfirmed();
            self.give_back(
                unconfirmed,
                "perhaps not sent: the server was started again before it confirmed it",
            );
            // Its questions may have the names of others.
            let is_answer = |command: &AgentCommand| matches!(command, AgentCommand::Questions(_));
            let (answers, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_answer);
            self.waiting = waiting;
            self.give_back(answers.into(), "not sent: the server was started again, and asks again");
            (self.first, self.tried) = (next, 0);
        }
        let unanswered: Vec<AgentCommand> = self.asked.values().map(|asked| asked.command.clone()).collect();
        let is_waiting = |command: &AgentCommand| self.waiting.contains(command);
        let again: Vec<AgentCommand> =
            unanswered.into_iter().filter(|command| !is_waiting(command)).collect();
        self.waiting.extend(again);
    }

    /// Takes out the commands that were sent without being confirmed: they may or may not be in the session.
    fn take_unconfirmed(&mut self) -> Vec<AgentCommand> {
        self.waiting.drain(..self.tried.min(self.waiting.len())).collect()
    }

    fn drop_accepted(&mut self, next: u64) {
        let count = usize::try_from(next.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let count = count.min(self.waiting.len());
        self.waiting.drain(..count);
        self.first = next;
        self.tried = self.tried.saturating_sub(count);
    }

    fn on_send_result(&mut self, result: Result<u64, Trouble>) {
        match result {
            Ok(next) => {
                self.silence = Silence::default();
                self.drop_accepted(next);
            }
            Err(Trouble::Busy(why)) => (self.pause, self.silence.busy) = (BUSY, Some(why)),
            // It was closed, which the stream is about to report. The user has not asked to reopen it.
            Err(Trouble::NotAttached(_)) if !self.waiting.iter().any(is_by_user) => self.pause = BUSY,
            Err(Trouble::Refused(text)) => {
                // One of them cannot be sent at all; the commands after it must not wait forever.
                self.silence.due = None;
                let count = self.waiting.len().min(TOGETHER);
                let refused: Vec<AgentCommand> = self.waiting.drain(..count).collect();
                self.tried = 0;
                self.withdraw(|command| refused.contains(command), &text);
                self.give_back(refused, &format!("not sent: {text}"));
                self.notice(NoticeLevel::Error, &text, None);
            }
            Err(trouble) => self.on_connection_loss(trouble.text()),
        }
    }

    /// Handles a lost connection: it is retried, a little later each time.
    fn on_connection_loss(&mut self, why: &str) {
        let attempt = self.attempt();
        let wait = FIRST_WAIT.saturating_mul(1 << attempt.min(8)).min(MAX_WAIT);
        (self.reader, self.sending, self.silence.due) = (None, None, None);
        self.state = State::Waiting { until: Instant::now() + wait, attempt: attempt.saturating_add(1) };
        self.connection.send_replace(Connection::Lost { why: why.to_owned() });
    }

    /// Stops all attempts until the user sends something.
    fn disconnect(&mut self, why: &str, returns: bool, hint: &str) {
        (self.reader, self.sending, self.silence.due) = (None, None, None);
        self.state = State::Down;
        self.connection.send_replace(Connection::Down { why: why.to_owned(), returns });
        self.outgoing.push_back(AgentEvent::Run(RunEvent::AgentSettled { aborted: true }));
        self.notice(NoticeLevel::Error, why, Some(hint));
        self.give_back_prompts(why);
        self.withdraw(|_| true, NOT_CONNECTED);
        self.last = None;
        self.start_over();
    }

    /// Returns the messages that the server has not accepted.
    fn give_back_prompts(&mut self, why: &str) {
        let unconfirmed = self.take_unconfirmed();
        self.give_back(unconfirmed, &format!("perhaps not sent: {why}"));
        let waiting: Vec<AgentCommand> = self.waiting.drain(..).collect();
        self.give_back(waiting, &format!("not sent: {why}"));
    }

    /// Returns messages to the composer; `text` says why.
    fn give_back(&mut self, commands: Vec<AgentCommand>, text: &str) {
        let (mut texts, mut all_images): (Vec<String>, Vec<Block>) = (Vec::new(), Vec::new());
        let mut is_answer = false;
        for command in commands {
            match command {
                AgentCommand::Run(RunCommand::Prompt { text, images, .. })
                | AgentCommand::Queue(QueueCommand::Enqueue { text, images, .. }) => {
                    texts.push(text);
                    all_images.extend(images);
                }
                AgentCommand::Shell(ShellCommand::Bash { command, exclude_from_context, .. }) => {
                    texts.push(format!("{}{command}", if exclude_from_context { "!!" } else { "!" }));
                }
                AgentCommand::Questions(answer) => {
                    is_answer = true;
                    texts.extend(Some(answer.words()).filter(|words| !words.is_empty()));
                }
                _ => {}
            }
        }
        if !texts.is_empty() {
            self.outgoing
                .push_back(AgentEvent::Queue(QueueEvent::QueueReturned { texts, images: all_images }));
            self.notice(NoticeLevel::Warning, text, Some("the text is in the composer again"));
        } else if is_answer {
            self.notice(NoticeLevel::Warning, &format!("your answer was {text}"), None);
        }
    }

    fn notice(&mut self, level: NoticeLevel, text: &str, hint: Option<&str>) {
        let (text, hint) = (text.to_owned(), hint.map(str::to_owned));
        self.outgoing.push_back(AgentEvent::Task(TaskEvent::Notice { level, text, hint }));
    }
}

/// Whether a command comes from the user, and not from the screen itself.
fn is_by_user(command: &AgentCommand) -> bool {
    !matches!(command, AgentCommand::Task(TaskCommand::Query { .. }))
}

/// Waits for a request, if there is one.
async fn await_request<T>(request: Option<&mut AbortOnDropHandle<Result<T, Trouble>>>) -> Result<T, Trouble> {
    match request {
        Some(request) => request
            .await
            .unwrap_or_else(|error| Err(Trouble::Unreachable(format!("the request ended: {error}")))),
        None => std::future::pending().await,
    }
}
