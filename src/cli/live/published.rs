//! The session of a screen, served to other processes by the screen's own.
//!
//! The screen passes on every event of its agent. Sockets and records are made beside it, after the first
//! frame.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::host;
use super::hosting::{self, Hosting, follow};
use super::own_flags;
use super::registry::{Ending, Keeper};
use crate::compose::Setup;
use crate::process::exit::Exit;
use crate::process::signals::Signals;
use crate::serve::facts::Facts;
use crate::serve::hub::HelperChannel;
use crate::serve::live::LiveSession;
use crate::services::Services;
use tau_agent::engine::task::AgentHandle;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::event::SessionEvent;

/// Time limit for saving what could not be saved, when the user quits.
const SAVING: Duration = Duration::from_secs(2);

/// A session of this process that other processes can attach to.
pub(crate) struct PublishedSession {
    live: Arc<LiveSession>,
    others: mpsc::UnboundedReceiver<AgentEvent>,
    orders: mpsc::UnboundedSender<Order>,
    task: JoinHandle<Exit>,
}

/// An order for the task that serves the session.
enum Order {
    /// The screen has another session open.
    Replace(Arc<LiveSession>),
    /// The session continues without the screen.
    Leave(AgentHandle),
    /// The screen ends.
    End(ScreenEnding, oneshot::Sender<Vec<String>>),
}

/// The end of a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScreenEnding {
    /// The fate of its own session.
    pub ending: Ending,
    /// Whether the process continues for sessions that other screens have begun in it and use.
    pub stays: bool,
}

/// The sessions that other screens have begun in a process whose own screen ends, and use.
#[derive(Debug, Default)]
pub(crate) struct OtherSessions {
    pub ids: Vec<String>,
    /// Their task, whose result is the end of the process, if they continue.
    pub task: Option<JoinHandle<Exit>>,
}

impl PublishedSession {
    /// Publishes a session, in the current runtime.
    pub fn start(
        setup: Setup,
        facts: Facts,
        agent: &AgentHandle,
        services: Arc<Services>,
        helpers: HelperChannel,
    ) -> Self {
        let changes = watch::Sender::default();
        let (live, others) =
            LiveSession::of_screen(facts, agent.commands.clone(), services, watch::Sender::clone(&changes));
        let live = Arc::new(live);
        let (orders, received) = mpsc::unbounded_channel();
        let task = tokio::spawn(serve(setup, changes, helpers, Arc::clone(&live), received));
        PublishedSession { live, others, orders, task }
    }

    /// Passes on an event of the agent; returns whether the screen folds it, too.
    pub fn observe(&mut self, event: &AgentEvent) -> bool {
        if let AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) = event
            && session.id != self.live.id
        {
            self.live = Arc::new(self.live.hand_over(session));
            // The task ends only with this value.
            let _ = self.orders.send(Order::Replace(Arc::clone(&self.live)));
        }
        self.live.observe(event)
    }

    /// Passes on a command of the screen.
    pub fn note_command(&self, command: &AgentCommand) {
        self.live.note_command(command);
    }

    /// Whether the agent works, commands or background jobs run, or the end is not saved.
    pub fn is_at_work(&self) -> bool {
        self.live.read_facts(|facts, _| facts.is_at_work() || facts.unsaved.is_some())
    }

    /// Why other processes cannot find it.
    pub fn unreachable(&self) -> Option<String> {
        self.live.read_facts(|facts, _| facts.unreachable.clone())
    }

    /// Tries to save what could not be saved; returns whether everything is saved. The caller passes on the agent's events
    /// meanwhile.
    pub fn save(&self) -> impl Future<Output = bool> + use<> {
        let live = Arc::clone(&self.live);
        async move {
            !live.read_facts(|facts, _| facts.unsaved.is_some())
                || tokio::time::timeout(SAVING, live.flush())
                    .await
                    .is_ok_and(|stored| matches!(stored, Ok(Ok(()))))
        }
    }

    /// The next event that another screen caused without the agent. Safe to drop before it completes.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        self.others.recv().await
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.live.id
    }

    /// Ends with the screen; returns the sessions of other screens.
    pub async fn end(self, end: ScreenEnding) -> OtherSessions {
        let (told, others) = oneshot::channel();
        let _ = self.orders.send(Order::End(end, told));
        let ids = others.await.unwrap_or_default();
        if end.stays && !ids.is_empty() {
            return OtherSessions { ids, task: Some(self.task) };
        }
        let _ = self.task.await;
        OtherSessions { ids, task: None }
    }

    /// Lets the session continue without the screen; the result is the end of the process.
    pub fn leave(self, agent: AgentHandle) -> JoinHandle<Exit> {
        let _ = self.orders.send(Order::Leave(agent));
        self.task
    }
}

/// Serves the session of a screen until that ends, and then, if it was left running, until it is at rest.
async fn serve(
    setup: Setup,
    changes: watch::Sender<u64>,
    helpers: HelperChannel,
    first: Arc<LiveSession>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) -> Exit {
    let mut current = first;
    let hosting = Hosting::start_with(setup, changes, helpers, Keeper::Screen);
    let trouble = hosting.as_ref().err().map(io::Error::to_string);
    let mut hosting = hosting.inspect_err(hosting::unreachable).ok();
    current.set_unreachable(trouble.clone());
    if let Some(hosting) = &mut hosting {
        hosting.hub().add(Arc::clone(&current));
        hosting.refresh();
    }
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            () = follow(hosting.as_mut()) => continue,
        };
        match order {
            Some(Order::Replace(next)) => {
                own_flags::keep(&next);
                next.set_unreachable(trouble.clone());
                if let Some(hosting) = &mut hosting {
                    hosting.hub().forget(&current.id);
                    hosting.hub().add(Arc::clone(&next));
                    hosting.refresh();
                }
                current = next;
            }
            Some(Order::Leave(agent)) => return continue_alone(hosting, &current, agent).await,
            Some(Order::End(ScreenEnding { ending, stays }, told)) => {
                let Some(mut hosting) = hosting else { return Exit::Ok };
                current.close();
                let others = hosting.others_in_use(&current.id);
                let continues = stays && !others.is_empty();
                // The screen waits for it.
                let _ = told.send(others);
                if continues {
                    hosting.end_session(&current.id, ending);
                    return until_at_rest(hosting).await;
                }
                hosting.end(ending).await;
                return Exit::Ok;
            }
            None => return Exit::Ok,
        }
    }
}

/// Serves a session whose screen was left, until it is at rest.
async fn continue_alone(hosting: Option<Hosting>, live: &Arc<LiveSession>, agent: AgentHandle) -> Exit {
    live.follow(agent.events, Some(agent.task), |_| {}, || {});
    // The user was told that it continues. A failure has been reported.
    let _ = live.flush().await;
    let Some(hosting) = hosting else {
        // It cannot be reached, but ends its work.
        let _ = live.idle().await;
        while !live.save().await {
            tokio::time::sleep(hosting::SAVE_AGAIN).await;
        }
        live.end().await;
        return Exit::Ok;
    };
    until_at_rest(hosting).await
}

/// Serves sessions whose screen was left or has ended, until they are at rest.
async fn until_at_rest(mut hosting: Hosting) -> Exit {
    hosting.leave_front_end();
    let mut signals = match Signals::for_batch() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::warn!(%error, "signals cannot be watched");
            hosting.until_at_rest().await;
            hosting.end(Ending::AtRest).await;
            return Exit::Ok;
        }
    };
    let end = host::until_end(&mut hosting, &mut signals).await;
    hosting.end(end.into()).await;
    end
}
