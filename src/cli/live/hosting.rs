//! The sessions that this process serves to others: their hub, socket and records.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::registry::{Ending, Keeper, Registry};
use super::socket::LiveSocket;
use super::{record, rights};
use crate::compose::Setup;
use crate::process::exit::{Exit, Refusal};
use crate::process::socket_folder;
use crate::serve::hub::{HelperChannel, Hub, HubLimits};
use crate::serve::live::LiveSession;
use crate::serve::metrics::Metrics;
use crate::tui::extension_watch::DirectoryWatch;
use crate::upkeep;
use tau_agent::session::lock;
use tau_agent::settings::Paths;

/// Maximum number of sessions: a screen that is attached may open others.
const MAX_SESSIONS: usize = 64;
/// Time for which a session at rest waits for another client before its process ends.
const LINGER: Duration = Duration::from_millis(200);
/// Time after which what could not be saved is saved again.
pub(super) const SAVE_AGAIN: Duration = Duration::from_secs(2);
/// Time after which what could not be registered is registered again.
const REGISTER_AGAIN: Duration = Duration::from_secs(2);
/// Time for running work and open connections to end.
const GRACE: Duration = Duration::from_secs(2);

/// The served sessions of this process.
pub(crate) struct Hosting {
    hub: Arc<Hub>,
    registry: Registry,
    changes: watch::Receiver<u64>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    metrics: Arc<Metrics>,
    paths: Paths,
    socket: LiveSocket,
    /// Whether the socket was removed.
    watch: Option<DirectoryWatch>,
}

impl Hosting {
    /// Serves sessions that no front end has open, with this setup, in the current runtime. Fails when there is no
    /// place for the socket.
    pub fn start(setup: Setup) -> io::Result<Self> {
        Self::start_with(setup, watch::Sender::default(), HelperChannel::default(), Keeper::Nobody)
    }

    /// Like [`Self::start`], with this count of changes, helpers of an agent that has started already, and whoever has
    /// the sessions open. Fails when there is no place for the socket.
    pub fn start_with(
        setup: Setup,
        count: watch::Sender<u64>,
        helpers: HelperChannel,
        keeper: Keeper,
    ) -> io::Result<Self> {
        let metrics = Arc::<Metrics>::default();
        let limits = HubLimits { sessions: MAX_SESSIONS, idle: Duration::MAX };
        let hub = Hub::with_changes(setup.clone(), limits, Arc::clone(&metrics), count, helpers);
        Self::of(hub, &setup, metrics, keeper)
    }

    /// Serves the sessions of a hub with this setup to others, too. Fails when there is no place for the socket.
    pub fn of(hub: Arc<Hub>, setup: &Setup, metrics: Arc<Metrics>, keeper: Keeper) -> io::Result<Self> {
        let paths = setup.paths.clone();
        let (socket, listener) = LiveSocket::bind(&paths)?;
        let watch = socket.watch();
        let registry = Registry::new(setup, &socket, keeper);
        let (stop, stopped) = watch::channel(false);
        let serving = socket.serve(listener, &hub, &metrics, stopped);
        let changes = hub.changes();
        remove_left_behind(setup, socket.folder());
        Ok(Hosting { hub, registry, changes, stop, serving, metrics, paths, socket, watch })
    }

    /// Serves the sessions of a server to other processes, too, if there is a place for its socket.
    pub fn of_server(hub: &Arc<Hub>, setup: &Setup, metrics: &Arc<Metrics>) -> Option<Self> {
        Self::of(Arc::clone(hub), setup, Arc::clone(metrics), Keeper::Server).inspect_err(unreachable).ok()
    }

    /// The sessions.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Writes the records that have changed.
    pub fn refresh(&mut self) {
        self.registry.update(&self.hub.all());
    }

    /// Like [`Self::refresh`]. Fails when nobody can find this session: it must not begin to work then.
    pub fn announce(&mut self, live: &LiveSession) -> Result<(), Refusal> {
        self.refresh();
        match live.read_facts(|facts, _| facts.unreachable.clone()) {
            Some(why) => Err(Refusal::config(format!("cannot serve the session: {why}"))),
            None => Ok(()),
        }
    }

    /// Sets that no front end has the sessions open any more.
    pub fn leave_front_end(&mut self) {
        self.registry.leave();
        self.refresh();
    }

    /// The other sessions that are at work or watched, but for helpers.
    pub fn others_in_use(&self, id: &str) -> Vec<String> {
        let all = self.hub.all().into_iter();
        let is_other = |live: &Arc<LiveSession>| live.id != id && live.helper.is_none();
        all.filter(|live| is_other(live) && live.idle_time().is_none()).map(|live| live.id.clone()).collect()
    }

    /// Serves a session no longer, whose front end has ended it.
    pub fn end_session(&mut self, id: &str, ending: Ending) {
        self.hub.forget(id);
        self.registry.end_session(id, ending);
    }

    /// Waits until something has changed, and writes it. Safe to drop before it completes.
    pub async fn follow(&mut self) {
        tokio::select! {
            // The hub, which is the sender, is alive.
            _ = self.changes.changed() => {}
            () = DirectoryWatch::wait_for_change(&mut self.watch) => self.bind_again(),
            () = tokio::time::sleep(REGISTER_AGAIN), if self.registry.is_incomplete() => {}
        }
        self.refresh();
    }

    /// Serves on a new socket if the socket was removed.
    fn bind_again(&mut self) {
        match self.socket.bind_again(&self.paths) {
            Ok(None) => {}
            Ok(Some(listener)) => {
                self.watch = self.socket.watch();
                self.registry.set_address(&self.socket);
                self.serving = self.socket.serve(listener, &self.hub, &self.metrics, self.stop.subscribe());
            }
            Err(error) => unreachable(&error),
        }
    }

    /// Follows changes until the first client looks, or the time is over.
    pub async fn wait_for_client(&mut self, limit: Duration) {
        let watched = async {
            while !self.hub.all().iter().any(|live| live.clients() > 0) {
                self.follow().await;
            }
        };
        // Without a client, the sessions are at rest.
        let _ = tokio::time::timeout(limit, watched).await;
    }

    /// Follows changes until nothing runs in any session, no job is left of one, no question waits, no client looks, and
    /// everything is saved.
    pub async fn until_at_rest(&mut self) {
        let mut since = None;
        loop {
            let all = self.hub.all();
            let is_used = all.iter().any(|live| live.idle_time().is_none());
            let is_unsaved = all.iter().any(|live| live.read_facts(|facts, _| facts.unsaved.is_some()));
            let is_saving = all.iter().any(|live| live.read_facts(|facts, _| facts.is_saving));
            let pause = if is_saving { SAVE_AGAIN } else { Duration::ZERO };
            let now = Instant::now();
            since = if is_used { None } else { since.or(Some(now)) };
            match since.map(|since| since + LINGER) {
                Some(end) if now >= end => {
                    if self.save().await {
                        return;
                    }
                }
                Some(end) => {
                    // Whatever begins or ends a use is a change.
                    let _ = tokio::time::timeout_at(end, self.follow()).await;
                }
                None => tokio::select! {
                    () = self.follow() => {}
                    () = tokio::time::sleep(pause), if is_unsaved => drop(self.save().await),
                },
            }
        }
    }

    /// Saves what is in memory only; returns whether everything is saved. A session that cannot be saved is at work.
    async fn save(&self) -> bool {
        let mut is_saved = true;
        for live in self.hub.all().iter().filter(|live| live.helper.is_none()) {
            is_saved &= live.save().await;
        }
        is_saved
    }

    /// Ends all sessions.
    pub async fn end(self, ending: Ending) {
        let grace = if ending == Ending::AtRest { GRACE } else { Duration::ZERO };
        self.end_after(tokio::time::sleep(grace), ending).await;
    }

    /// Ends all sessions; running work may complete until `patience` ends.
    pub async fn end_after(mut self, patience: impl Future<Output = ()>, ending: Ending) {
        self.stop.send_replace(true);
        self.hub.settle(patience).await;
        self.refresh();
        self.hub.shut_down().await;
        // Who finds no process that has them finds them free.
        self.registry.end(ending);
        // A client that does not read its last bytes must not delay the end.
        let _ = tokio::time::timeout_at(Instant::now() + GRACE, self.serving).await;
    }
}

/// Removes later what processes that were killed have left: sockets, notes of who has a session open, and rights of
/// sessions that are no more, and old results.
fn remove_left_behind(setup: &Setup, sockets: PathBuf) {
    let paths = setup.paths.clone();
    let sessions = setup.settings.session_root(&paths);
    upkeep::sweep_sessions_later(&setup.paths, move || {
        socket_folder::remove_dead(&sockets);
        lock::sweep(&sessions);
        rights::sweep(&paths);
        record::sweep(&paths);
    });
}

/// Follows the changes of served sessions, if any are served. Safe to drop before it completes.
pub(crate) async fn follow(hosting: Option<&mut Hosting>) {
    match hosting {
        Some(hosting) => hosting.follow().await,
        None => std::future::pending().await,
    }
}

/// Ends the sessions of a server; running work may complete until `patience` ends.
pub(crate) async fn end_server(
    hosting: Option<Hosting>,
    hub: &Hub,
    patience: impl Future<Output = ()>,
    exit: Exit,
) {
    match hosting {
        Some(hosting) => hosting.end_after(patience, exit.into()).await,
        None => {
            hub.settle(patience).await;
            hub.shut_down().await;
        }
    }
}

/// Notes that sessions are not served.
pub(super) fn unreachable(error: &io::Error) {
    tracing::warn!(%error, "the sessions of this process cannot be reached from others");
}
