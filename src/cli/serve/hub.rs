//! The sessions that are open here: opening, finding, closing, deleting.
//!
//! A session is opened when first needed, as a separate agent with the settings of its directory. The lock of
//! its file is the one that every tau uses, so a session that is open in a terminal is refused.

mod composing;
mod deletion;
mod saved;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};
use tokio::task::spawn_blocking;

use self::composing::{
    StartableAgent, compose_agent, compose_copy, compose_foreign_session, compose_fork, compose_new,
    compose_saved_session, inherit,
};
use self::saved::source_of_live;
use super::facts::Facts;
use super::far_attempts;
use super::live::LiveSession;
use super::metrics::{LiveCounts, Metrics};
use super::problem::Problem;
use crate::compose::Setup;
use crate::live::rights;
use crate::services::Services;
use tau_agent::engine::live_helper::{HelperWatch, LiveHelper};
use tau_agent::engine::task;
use tau_agent::session::{Session, is_session_id};
use tau_protocol::approval::PermissionMode;
use tau_protocol::event::{AgentEvent, NoticeLevel, TaskEvent};
use tau_protocol::model::{Api, Model, ThinkingLevel};
use tau_protocol::session_row::SessionOrigin;

/// Interval of checks for unused sessions.
const SWEEP: Duration = Duration::from_secs(5);

/// The kind of the problem that another process has a session open.
pub(crate) const IN_USE: &str = "session-in-use";

/// The server's limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HubLimits {
    /// Maximum number of open sessions.
    pub sessions: usize,
    /// Time after which an unused session is closed.
    pub idle: Duration,
}

/// All sessions.
pub(crate) struct Hub {
    setup: Setup,
    root: PathBuf,
    limits: HubLimits,
    live: Mutex<HashMap<String, Arc<LiveSession>>>,
    /// Held while a session is opened or closed, to open none twice.
    opening: AsyncMutex<()>,
    /// True once the server is shutting down.
    closing: Mutex<bool>,
    metrics: Arc<Metrics>,
    /// Counts changes of what lists show of the sessions.
    changes: watch::Sender<u64>,
    /// The services for screens whose session was closed.
    services: OnceLock<Arc<Services>>,
    /// For the agents that are started here.
    helper_watch: HelperWatch,
    own: Weak<Hub>,
}

/// The way of helpers that begin to the hub that serves them.
pub(crate) struct HelperChannel {
    /// For the agents whose helpers they are.
    pub watch: HelperWatch,
    begun: mpsc::UnboundedReceiver<LiveHelper>,
}

impl Default for HelperChannel {
    fn default() -> Self {
        let (watch, begun) = mpsc::unbounded_channel();
        HelperChannel { watch, begun }
    }
}

/// The properties of a new session.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewSession {
    pub id: Option<String>,
    pub cwd: Option<PathBuf>,
    pub name: Option<String>,
    /// The file of the session that it continues.
    pub parent: Option<PathBuf>,
    pub options: SessionOptions,
}

/// The overrides of settings for an opened session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionOptions {
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub mode: Option<PermissionMode>,
}

impl Hub {
    /// A hub without open sessions.
    pub fn new(setup: Setup, limits: HubLimits, metrics: Arc<Metrics>) -> Arc<Self> {
        Self::with_changes(setup, limits, metrics, watch::Sender::default(), HelperChannel::default())
    }

    /// Like [`Self::new`], with this count of changes, and helpers of an agent that has started already.
    pub fn with_changes(
        setup: Setup,
        limits: HubLimits,
        metrics: Arc<Metrics>,
        changes: watch::Sender<u64>,
        helpers: HelperChannel,
    ) -> Arc<Self> {
        let HelperChannel { watch: helper_watch, mut begun } = helpers;
        let root = setup.settings.session_root(&setup.paths);
        let hub = Arc::new_cyclic(|own| Hub {
            setup,
            root,
            limits,
            live: Mutex::default(),
            opening: AsyncMutex::default(),
            closing: Mutex::new(false),
            metrics,
            changes,
            services: OnceLock::new(),
            helper_watch,
            own: Weak::clone(own),
        });
        let hosting = Arc::downgrade(&hub);
        tokio::spawn(async move {
            while let Some(helper) = begun.recv().await {
                let Some(hub) = hosting.upgrade() else { return };
                hub.add_helper(helper);
            }
        });
        if limits.idle == Duration::MAX {
            return hub;
        }
        let swept = Arc::downgrade(&hub);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP.min(limits.idle)).await;
                let Some(hub) = swept.upgrade() else { return };
                hub.sweep().await;
            }
        });
        hub
    }

    /// Is changed whenever that changes which lists show of the sessions.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The session with this id, if it is open here.
    pub fn find(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.live.lock().get(id).cloned()
    }

    /// All open sessions.
    pub fn all(&self) -> Vec<Arc<LiveSession>> {
        self.live.lock().values().cloned().collect()
    }

    /// The available models.
    pub fn models(&self) -> Vec<Arc<Model>> {
        self.setup.catalogue.usable_models(&self.setup.keys)
    }

    /// The model with this name, if available. The error is the fault in the name, or that there is no key.
    pub fn model(&self, name: &str) -> Result<Arc<Model>, Problem> {
        let model =
            self.setup.catalogue.find(name).map_err(|error| Problem::refused(format!("model: {error}")))?;
        let usable = model.api == Api::Scripted
            || self.setup.catalogue.usable(&self.setup.keys).contains(&model.provider);
        if usable {
            return Ok(model);
        }
        let provider = &model.provider;
        Err(Problem::refused(format!(
            "model: there is no key for {provider}; {}",
            self.setup.catalogue.key_advice(provider)
        )))
    }

    /// The services for screens whose session was closed. Fails when a file named by a flag cannot be read.
    pub fn services(&self) -> Result<Arc<Services>, Problem> {
        if let Some(services) = self.services.get() {
            return Ok(Arc::clone(services));
        }
        let prompt = self.setup.prompt_without_session().map_err(|refusal| Problem::failed(refusal.text))?;
        let services = Arc::new(Services::of(self.setup.clone(), prompt));
        Ok(Arc::clone(self.services.get_or_init(|| services)))
    }

    /// The keys and secret variables that exports must not contain.
    pub fn secrets(&self) -> Vec<String> {
        crate::commands::export::secrets(&self.setup.keys)
    }

    /// The numbers of sessions by state.
    pub fn counts(&self) -> LiveCounts {
        let all = self.all();
        let running = all.iter().filter(|live| live.read_facts(|facts, _| facts.mirror.running)).count();
        let waiting = all.iter().map(|live| live.read_facts(|facts, _| facts.mirror.approvals.len())).sum();
        LiveCounts { sessions: all.len(), running, waiting }
    }

    /// The session with this id, opened if necessary. Fails when no session has this id, another tau uses it,
    /// or the limit of open ones is reached.
    pub async fn open(&self, id: &str) -> Result<Arc<LiveSession>, Problem> {
        if let Some(live) = self.find(id) {
            return Ok(live);
        }
        let _opening = self.opening.lock().await;
        if let Some(live) = self.find(id) {
            return Ok(live);
        }
        let saved = self.saved_place(id).await?;
        self.make_slot().await?;
        let (setup, id) = (self.setup.clone(), id.to_owned());
        let config = blocking(move || match saved {
            (path, SessionOrigin::Tau) => compose_saved_session(&setup, &path),
            (path, source) => compose_foreign_session(&setup, &path, source, &id),
        });
        self.start(config.await??).await
    }

    /// A new session. Fails when the directory does not exist, its settings or the options are invalid, or
    /// the limit of open sessions is reached.
    pub async fn create(&self, new: NewSession) -> Result<Arc<LiveSession>, Problem> {
        let model = new.options.model.as_deref().map(|name| self.model(name)).transpose()?;
        let _opening = self.opening.lock().await;
        if let Some(id) = &new.id {
            if !is_session_id(id) {
                let text = "id: use up to 128 letters, digits, `.`, `_` and `-`, with a letter or digit at both ends";
                return Err(Problem::refused(text));
            }
            let exists = self.find(id).is_some() || self.is_saved(id).await;
            if exists {
                return Err(Problem::conflict("exists", format!("there is a session {id} already")));
            }
        }
        self.make_slot().await?;
        let setup = self.setup.clone();
        let composed = blocking(move || compose_new(&setup, new, model)).await??;
        self.start(composed).await
    }

    /// Adds a session whose agent was started elsewhere.
    pub fn add(&self, live: Arc<LiveSession>) {
        self.live.lock().insert(live.id.clone(), live);
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Adds the session of a helper, until that ends.
    fn add_helper(&self, helper: LiveHelper) {
        let parent = self.find(&helper.parent).map(|live| live.services());
        let Some(services) = parent.or_else(|| self.services().ok()) else { return };
        let (hub, id) = (Weak::clone(&self.own), helper.session.id.clone());
        let ended = move || {
            if let Some(hub) = hub.upgrade() {
                hub.forget(&id);
            }
        };
        self.add(LiveSession::of_helper(helper, services, self.changes.clone(), ended));
    }

    /// Removes a session that was added.
    pub fn forget(&self, id: &str) {
        self.live.lock().remove(id);
    }

    /// The session that was opened or begun for the setup of this hub. Fails when its agent cannot be
    /// composed.
    pub async fn adopt(&self, session: Session) -> Result<Arc<LiveSession>, Problem> {
        let setup = self.setup.clone();
        let composed = blocking(move || compose_agent(setup, session)).await??;
        self.start(composed).await
    }

    /// A new session with the content of this one: everything, or the part before a message of the user,
    /// whose text is returned. Fails when there is no such message, or nothing to copy.
    pub async fn fork(
        &self,
        live: &LiveSession,
        before: Option<String>,
    ) -> Result<(Arc<LiveSession>, Option<String>), Problem> {
        live.sync().await?;
        let mode = live.read_facts(|facts, _| facts.mirror.mode);
        let source = source_of_live(live).await?;
        let source =
            source.ok_or_else(|| Problem::refused("there is nothing to fork: the session is empty"))?;
        let _opening = self.opening.lock().await;
        self.make_slot().await?;
        let setup = self.setup.clone();
        let (mut composed, text) =
            blocking(move || compose_fork(&setup, &source, before.as_deref())).await??;
        inherit(&mut composed, mode);
        Ok((self.start(composed).await?, text))
    }

    /// A new session in this one's directory, with the content of a file. Fails when the file is not a
    /// session.
    pub async fn import(&self, live: &LiveSession, file: PathBuf) -> Result<Arc<LiveSession>, Problem> {
        let (cwd, mode) = live.read_facts(|facts, _| (facts.mirror.session.cwd.clone(), facts.mirror.mode));
        let _opening = self.opening.lock().await;
        self.make_slot().await?;
        let setup = self.setup.clone();
        let mut composed = blocking(move || compose_copy(&setup, &cwd, &file)).await??;
        inherit(&mut composed, mode);
        self.start(composed).await
    }

    /// Starts the agent of a session, and waits until its initial state is known.
    async fn start(&self, composed: StartableAgent) -> Result<Arc<LiveSession>, Problem> {
        let StartableAgent { mut config, services, notices } = composed;
        config.behavior.helper_watch = Some(self.helper_watch.clone());
        if *self.closing.lock() {
            return Err(about_to_end());
        }
        let info = config.session.info().clone();
        let facts = Facts::of(&config);
        let (metrics, hub, id) = (Arc::clone(&self.metrics), Weak::clone(&self.own), info.id.clone());
        let live = LiveSession::start(
            facts,
            task::spawn(config),
            Arc::new(services),
            self.changes.clone(),
            move |event| metrics.event(event),
            move || {
                if let Some(hub) = hub.upgrade() {
                    hub.live.lock().remove(&id);
                }
            },
        );
        self.live.lock().insert(info.id, Arc::clone(&live));
        self.metrics.count_opened_session();
        for text in notices {
            live.note(AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Warning, text, hint: None }));
        }
        if live.sync().await.is_err() {
            self.live.lock().remove(&live.id);
            return Err(Problem::failed("the agent ended while it was starting"));
        }
        Ok(live)
    }

    /// Ensures capacity for one more session: closes the least recently used idle one.
    async fn make_slot(&self) -> Result<(), Problem> {
        // Helpers count with their parents.
        if self.all().iter().filter(|live| live.helper.is_none()).count() < self.limits.sessions {
            return Ok(());
        }
        let unused = self.all().into_iter().filter_map(|live| Some((live.idle_time()?, live)));
        match unused.max_by_key(|(time, _)| *time) {
            Some((_, live)) => {
                live.end().await;
                Ok(())
            }
            None => {
                let most = self.limits.sessions;
                Err(Problem::unavailable(format!(
                    "{} open and in use; close one, or allow more with --max-sessions",
                    if most == 1 { "1 session is".to_owned() } else { format!("{most} sessions are") }
                )))
            }
        }
    }

    /// Closes unused sessions.
    async fn sweep(&self) {
        let _opening = self.opening.lock().await;
        for live in self.all() {
            let is_unused = live.idle_time().is_some_and(|time| time >= self.limits.idle);
            // One that cannot be saved is kept.
            let is_saved = live.read_facts(|facts, _| is_unused || facts.is_saving) && live.save().await;
            if is_saved && is_unused {
                live.end().await;
            }
        }
    }

    /// Closes a session, so that another tau can open it. Aborts running work. Fails when it is not open
    /// here.
    pub async fn close(&self, id: &str) -> Result<(), Problem> {
        let _opening = self.opening.lock().await;
        let live = self.find(id).ok_or_else(|| not_open(id))?;
        // Who opens it next finds the mode that was chosen last.
        rights::keep_mode_of(&self.setup.paths, &live, true);
        far_attempts::end(&live).await;
        live.end().await;
        Ok(())
    }

    /// Accepts no more sessions, and lets running work continue until `patience` ends.
    pub async fn settle(&self, patience: impl Future<Output = ()>) {
        *self.closing.lock() = true;
        let all = self.all();
        let idle = async {
            for live in &all {
                // An ended session is idle.
                let _ = live.idle().await;
            }
        };
        tokio::select! {
            biased;
            () = idle => {}
            () = patience => {}
        }
    }

    /// Accepts no more sessions, and ends all; running work is aborted.
    pub async fn shut_down(&self) {
        *self.closing.lock() = true;
        futures_util::future::join_all(self.all().iter().map(|live| live.end())).await;
    }

    /// Whether the server is shutting down.
    pub fn is_closing(&self) -> bool {
        *self.closing.lock()
    }
}

fn in_use(owner: &str) -> Problem {
    let text = format!("another tau uses this session ({owner}); close it there first");
    Problem::conflict(IN_USE, text)
}

fn no_session(id: &str) -> Problem {
    let id: String = id.chars().take(128).collect();
    Problem::not_found(format!("there is no session {id}; GET /api/sessions lists them"))
}

fn not_open(id: &str) -> Problem {
    let id: String = id.chars().take(128).collect();
    Problem::conflict("not-open", format!("the session {id} is not open on this server"))
}

/// The refusal during shutdown.
pub(crate) fn about_to_end() -> Problem {
    Problem::unavailable("the server is about to end")
}

/// Runs blocking work where it delays nothing else.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    spawn_blocking(work).await.map_err(|error| Problem::failed(error.to_string()))
}
