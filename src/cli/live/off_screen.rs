//! The sessions of a process without a screen: of a print, attempts, an editor or another program. The process serves
//! them to others, as a screen does its own.
//!
//! A print serves its session beside its first request, never before: the start of a script waits for nothing. Attempts are served at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::hosting::{self, Hosting, follow};
use super::own_flags;
use super::record;
use super::registry::Keeper;
use crate::compose::{AgentPrompt, Setup};
use crate::serve::facts::Facts;
use crate::serve::hub::HelperChannel;
use crate::serve::live::{HelperOf, LiveSession};
use crate::services::Services;
use tau_agent::engine::config::AgentConfig;
use tau_agent::engine::live_helper::HelperWatch;
use tau_agent::engine::task::{self, AgentHandle};
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::TaskCommand;
use tau_protocol::event::SessionEvent;
use tau_tools::deadline;

/// Capacity of the queues between an agent and its front end.
const QUEUE: usize = 64;
/// Time from the first work to the socket: a shorter print is over before anybody could reach it, and pays nothing.
const BESIDE: Duration = Duration::from_millis(200);
/// Time for which a session that others watch is still served after its end.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Time for them to read the end of it.
const FAREWELL: Duration = Duration::from_millis(500);

/// The sessions of this process.
#[derive(Debug)]
pub(crate) struct OffScreen {
    orders: mpsc::UnboundedSender<Order>,
    changes: watch::Sender<u64>,
    helpers: HelperWatch,
}

/// An order for the task that serves the sessions.
#[derive(Debug)]
enum Order {
    Add(Arc<LiveSession>),
    /// The session has ended; the sender is dropped once nobody reads it any more.
    Remove(Arc<LiveSession>, oneshot::Sender<()>),
}

impl OffScreen {
    /// Serves the sessions of this process in the current runtime: at once, or when the first one has work.
    pub fn start(setup: Setup, at_once: bool) -> Self {
        let (changes, helpers) = (watch::Sender::default(), HelperChannel::default());
        let watch = helpers.watch.clone();
        let (orders, received) = mpsc::unbounded_channel();
        tokio::spawn(serve(setup, at_once, changes.clone(), helpers, received));
        OffScreen { orders, changes, helpers: watch }
    }

    /// Starts an agent. Others can reach its session, unless that is not kept; `place` is that of an attempt.
    pub fn spawn(
        &self,
        mut config: AgentConfig,
        prompt: AgentPrompt,
        setup: &Setup,
        place: Option<HelperOf>,
    ) -> AgentHandle {
        if setup.args.no_session {
            return task::spawn(config);
        }
        config.behavior.helper_watch = Some(self.helpers.clone());
        let (facts, services) = (Facts::of(&config), Arc::new(Services::of(setup.clone(), prompt)));
        let AgentHandle { commands: agent, events, task } = task::spawn(config);
        let (mut live, others) = LiveSession::of_screen(facts, agent.clone(), services, self.changes.clone());
        live.helper = place;
        let live = Arc::new(live);
        // The receiver ends with the runtime.
        let _ = self.orders.send(Order::Add(Arc::clone(&live)));
        let (commands, inbox) = mpsc::channel(QUEUE);
        let (passed_on, received) = mpsc::channel(QUEUE);
        let orders = self.orders.clone();
        let between = Between { live, orders, inbox, agent, events, others, passed_on, task: EndsWith(task) };
        AgentHandle { commands, events: received, task: tokio::spawn(between.run()) }
    }
}

/// An agent's task, which ends with this value.
struct EndsWith(JoinHandle<()>);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The place between an agent and its front end: everything that passes is noted for others.
struct Between {
    live: Arc<LiveSession>,
    orders: mpsc::UnboundedSender<Order>,
    /// The front end's commands.
    inbox: mpsc::Receiver<AgentCommand>,
    agent: mpsc::Sender<AgentCommand>,
    events: mpsc::Receiver<AgentEvent>,
    /// The events that other processes cause without the agent.
    others: mpsc::UnboundedReceiver<AgentEvent>,
    passed_on: mpsc::Sender<AgentEvent>,
    task: EndsWith,
}

impl Between {
    /// Passes on everything until the agent ends.
    async fn run(mut self) {
        let (mut command, mut is_open) = (None, true);
        loop {
            let next = async {
                let slot = self.passed_on.reserve().await.ok()?;
                let event = tokio::select! {
                    biased;
                    event = self.events.recv() => event,
                    Some(event) = self.others.recv() => Some(event),
                };
                event.map(|event| (slot, event))
            };
            tokio::select! {
                biased;
                slot = self.agent.reserve(), if command.is_some() => {
                    // An agent that has ended takes none.
                    if let (Ok(slot), Some(command)) = (slot, command.take()) {
                        slot.send(command);
                    }
                }
                sent = self.inbox.recv(), if command.is_none() && is_open => {
                    sent.iter().for_each(|command| self.live.note_command(command));
                    is_open = sent.is_some();
                    // Without its front end, an agent ends.
                    command = Some(sent.unwrap_or(AgentCommand::Task(TaskCommand::Shutdown)));
                }
                next = next => {
                    let Some((slot, event)) = next else { break };
                    if let AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) = &event
                        && session.id != self.live.id
                    {
                        let next = Arc::new(self.live.hand_over(session));
                        own_flags::keep(&next);
                        let _ = self.orders.send(Order::Add(Arc::clone(&next)));
                        let (gone, _) = oneshot::channel();
                        let _ = self.orders.send(Order::Remove(std::mem::replace(&mut self.live, next), gone));
                    }
                    if self.live.observe(&event) {
                        slot.send(event);
                    }
                }
            }
        }
        drop(self.events);
        let _ = (&mut self.task.0).await;
        let (gone, is_gone) = oneshot::channel();
        let _ = self.orders.send(Order::Remove(self.live, gone));
        let _ = is_gone.await;
    }
}

/// Serves the sessions until the process ends.
async fn serve(
    setup: Setup,
    at_once: bool,
    changes: watch::Sender<u64>,
    helpers: HelperChannel,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let (paths, mut all) = (setup.paths.clone(), Vec::<Arc<LiveSession>>::new());
    let mut seen = changes.subscribe();
    let mut unserved = Some((setup, changes, helpers));
    let (mut begins, mut hosting) = (at_once.then(Instant::now), None::<Hosting>);
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Add(live)) => {
                    hosting.iter().for_each(|hosting| hosting.hub().add(Arc::clone(&live)));
                    all.push(live);
                }
                Some(Order::Remove(ended, gone)) => {
                    all.retain(|live| live.id != ended.id);
                    match &mut hosting {
                        Some(hosting) => leave(hosting, &ended).await,
                        None if ended.read_facts(|facts, _| facts.run.is_over()) => {
                            record::forget(&paths, &ended.id);
                        }
                        None => {}
                    }
                    drop(gone);
                }
                None => return,
            },
            () = follow(hosting.as_mut()) => {}
            _ = seen.changed(), if begins.is_none() => {
                let is_at_work = all.iter().any(|live| live.read_facts(|facts, _| facts.is_at_work()));
                begins = is_at_work.then(|| Instant::now() + BESIDE);
            }
            () = deadline::until(begins), if unserved.is_some() => {
                let Some((setup, changes, helpers)) = unserved.take() else { continue };
                let started = Hosting::start_with(setup, changes, helpers, Keeper::Program);
                hosting = started.inspect_err(hosting::unreachable).ok();
                if let Some(hosting) = &mut hosting {
                    all.iter().for_each(|live| hosting.hub().add(Arc::clone(live)));
                    hosting.refresh();
                }
            }
        }
    }
}

/// Serves a session no longer, which has ended, once nobody reads it any more.
async fn leave(hosting: &mut Hosting, ended: &LiveSession) {
    // How it has ended.
    hosting.refresh();
    if ended.clients() > 0 {
        // A screen asks for more at the end of a run.
        tokio::time::sleep(LAST_WORDS).await;
    }
    ended.close();
    let read = async {
        while ended.clients() > 0 {
            hosting.follow().await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, read).await;
    hosting.hub().forget(&ended.id);
    hosting.refresh();
}
