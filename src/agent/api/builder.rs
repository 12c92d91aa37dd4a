//! The configuration that an agent starts with.
//!
//! Everything has a default that works without files and configuration: no tools, a session in
//! memory, requests directly to the provider, keys from the environment.

use std::path::PathBuf;
use std::sync::Arc;

use super::Agent;
use super::keys::{EnvKeys, NoKeys, OneKey};
use crate::catalogue::keys::KeySource;
use crate::catalogue::user::UserFile;
use crate::catalogue::{Catalogue, NotFound};
use crate::demo::DemoTransport;
use crate::engine::behavior::{Behavior, OnAsk};
use crate::engine::config::{AgentConfig, FindModel, SessionPlace};
use crate::engine::hooks::Hooks;
use crate::provider::direct::Direct;
use crate::provider::key_refresh::KeyRefresh;
use crate::provider::proxy::Proxy;
use crate::provider::scripted::Router;
use crate::provider::{Transport, WireListener, WireRecord};
use crate::secrets::Secret;
use crate::session::Session;
#[cfg(feature = "undo")]
use crate::undo::UndoOptions;
use tau_protocol::approval::PermissionMode;
use tau_protocol::model::{Model, ThinkingBudgets, ThinkingLevel};
use tau_protocol::run::{CompactionSettings, RetryMode, RunLimits};
use tau_tools::process::ChildEnv;
use tau_tools::user_error::UserError;
use tau_tools::{AnyTool, Toolbox};

/// Retries of one request.
const RETRIES: u32 = 4;

/// Builds an [`Agent`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tau_agent::api::Agent;
/// use tau_protocol::model::ThinkingLevel;
///
/// let agent = Agent::builder()
///     .model_by_name("anthropic/claude-sonnet-4-5")?
///     .thinking(ThinkingLevel::Low)
///     .system("You answer in one sentence.")
///     .start();
/// println!("{}", agent.run("Why is the sky blue?").await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct AgentBuilder {
    transport: Option<Arc<dyn Transport>>,
    keys: Option<Arc<dyn KeySource>>,
    key: Option<Secret>,
    tools: Toolbox,
    model: Option<Arc<Model>>,
    thinking: ThinkingLevel,
    session: Option<Session>,
    session_id: Option<String>,
    session_dir: Option<PathBuf>,
    pub(super) cwd: Option<PathBuf>,
    system: Arc<str>,
    shell: Option<PathBuf>,
    bash_timeout: Option<u64>,
    find_model: Option<Arc<FindModel>>,
    retries: Option<u32>,
    listener: Option<WireListener>,
    retry_mode: RetryMode,
    limits: RunLimits,
    behavior: Behavior,
    compaction: CompactionSettings,
}

tau_tools::debug_fields!(AgentBuilder { model });

impl AgentBuilder {
    /// The model. Without one, prompts are refused until one is set.
    pub fn model(mut self, model: impl Into<Arc<Model>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets a model of the built-in catalogue by `query`: `provider/id`, or part of it.
    ///
    /// # Errors
    /// When no model or more than one matches. The error names similar ones.
    pub fn model_by_name(self, query: &str) -> Result<Self, NotFound> {
        let model = Catalogue::new(UserFile::default(), None).find(query)?;
        Ok(self.model(model))
    }

    /// The thinking level; off by default.
    pub fn thinking(mut self, level: ThinkingLevel) -> Self {
        self.thinking = level;
        self
    }

    /// Thinking budgets, in tokens by level.
    pub fn budgets(mut self, budgets: ThinkingBudgets) -> Self {
        self.behavior.budgets = budgets;
        self
    }

    /// The system prompt; empty by default.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system = text.into();
        self
    }

    /// The tools, in the order in which the model sees them.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl AnyTool + 'static) -> Self {
        self.tools = self.tools.with(Arc::new(tool));
        self
    }

    /// How requests reach the model. By default the scripted demo model answers in this process, and all
    /// other requests go to their providers.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Sends all requests through an app server, which holds the keys: see [`Proxy`].
    pub fn proxy(self, proxy: Proxy) -> Self {
        self.keys(NoKeys).transport(proxy)
    }

    /// Calls `listen` with every request to a provider and its answer, without keys. Has no effect if a
    /// transport or a proxy is set.
    pub fn wire_listener(mut self, listen: impl Fn(WireRecord) + Send + Sync + 'static) -> Self {
        self.listener = Some(WireListener::new(listen));
        self
    }

    /// The source of keys; the environment by default.
    pub fn keys(mut self, keys: impl KeySource + 'static) -> Self {
        self.keys = Some(Arc::new(keys));
        self
    }

    /// The key for the provider of the model that is set here, and for no other provider.
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        self.key = Some(Secret::new(key));
        self
    }

    /// The directory that tools run in; by default the current directory of the process.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Records the changes that tools make to files, so that they can be undone; off by default.
    #[cfg(feature = "undo")]
    pub fn undo(mut self, options: UndoOptions) -> Self {
        self.behavior.undo = Some(options);
        self
    }

    /// Continues a session, in its own directory.
    pub fn session(mut self, session: Session) -> Self {
        self.session = Some(session);
        self
    }

    /// Stores sessions in this folder; without one they stay in memory.
    pub fn session_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.session_dir = Some(dir.into());
        self
    }

    /// The id of the new session, which identifies the conversation to provider caches.
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// The shell that runs the user's commands; `bash` by default.
    pub fn shell(mut self, shell: impl Into<PathBuf>) -> Self {
        self.shell = Some(shell.into());
        self
    }

    /// Timeout of shell calls without one of their own, in seconds.
    pub fn bash_timeout(mut self, seconds: u64) -> Self {
        self.bash_timeout = Some(seconds);
        self
    }

    /// The sampling temperature, from 0 to 2; the provider's own by default.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.behavior.temperature = Some(temperature);
        self
    }

    /// Finds the model that an opened session names, by provider and id; by default in the built-in
    /// catalogue.
    pub fn find_model(
        mut self,
        find: impl Fn(&str, &str) -> Option<Arc<Model>> + Send + Sync + 'static,
    ) -> Self {
        let unknown = || UserError::new("no such model is known");
        self.find_model = Some(Arc::new(move |provider, id| find(provider, id).ok_or_else(unknown)));
        self
    }

    /// The maximum number of retries of a request; 4 by default.
    pub fn retries(mut self, most: u32) -> Self {
        self.retries = Some(most);
        self
    }

    /// Whether someone is there to end a long wait that a provider asks for; by default no one is.
    pub fn retry_mode(mut self, mode: RetryMode) -> Self {
        self.retry_mode = mode;
        self
    }

    /// When and how the conversation is compacted.
    pub fn compaction(mut self, settings: CompactionSettings) -> Self {
        self.compaction = settings;
        self
    }

    /// The limits of a run; unlimited by default.
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Functions that change the requests to the model.
    pub fn hooks(mut self, hooks: Hooks) -> Self {
        self.behavior.hooks = hooks;
        self
    }

    /// The permission mode, which decides which calls need approval: something must listen for
    /// `QuestionEvent::ApprovalRequested` and call [`Agent::answer_approval`]. Without a mode every call runs
    /// unless a rule denies it.
    pub fn permission_mode(mut self, mode: PermissionMode) -> Self {
        self.behavior.permission_mode = mode;
        self.behavior.on_ask = OnAsk::Ask;
        self
    }

    /// Whether secrets in the output of tools and commands are masked before they reach the model, the
    /// session and events; on by default.
    pub fn mask_secrets(mut self, masked: bool) -> Self {
        self.behavior.masking.vault.is_on = masked;
        self
    }

    /// Changes optional behavior of the agent.
    pub fn behavior(mut self, change: impl FnOnce(&mut Behavior)) -> Self {
        change(&mut self.behavior);
        self
    }

    /// Starts the agent on the current tokio runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(self) -> Agent {
        Agent::start(self.config())
    }

    /// The configuration of the agent task.
    pub fn config(self) -> AgentConfig {
        let cwd = self.cwd.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
        let dir = self.session_dir;
        let id = self.session_id;
        let session = self.session.unwrap_or_else(|| Session::begin(dir.as_deref(), &cwd, id));
        let keys = self.keys.unwrap_or_else(|| match (self.key.clone(), &self.model) {
            (Some(key), Some(model)) => Arc::new(OneKey { provider: model.provider.clone(), key }),
            _ => Arc::new(EnvKeys),
        });
        let secrets: Vec<String> = self.key.iter().map(|key| key.expose().to_owned()).collect();
        let env = ChildEnv::new(&secrets, &[], &session.info().id);
        AgentConfig {
            transport: self.transport.unwrap_or_else(|| default_transport(Arc::clone(&keys), self.listener)),
            keys,
            tools: self.tools,
            model: self.model,
            thinking: self.thinking,
            place: SessionPlace { dir, cwd },
            session,
            system: self.system,
            scratch: Arc::default(),
            env: Arc::new(env),
            shell: self.shell.unwrap_or_else(|| PathBuf::from("bash")),
            bash_timeout: self.bash_timeout,
            find_model: self.find_model.unwrap_or_else(default_models),
            max_retries: self.retries.unwrap_or(RETRIES),
            retry_mode: self.retry_mode,
            limits: self.limits,
            behavior: self.behavior,
            compaction: self.compaction,
            helper: None,
        }
    }
}

fn default_transport(keys: Arc<dyn KeySource>, listener: Option<WireListener>) -> Arc<dyn Transport> {
    let direct = match listener {
        Some(listener) => Direct::default().with_wire_listener(listener),
        None => Direct::default(),
    };
    let direct = KeyRefresh::new(Arc::new(direct), keys);
    Arc::new(Router::new(Arc::new(DemoTransport::default()), Arc::new(direct)))
}

fn default_models() -> Arc<FindModel> {
    let catalogue = Catalogue::new(UserFile::default(), None);
    let unknown = || UserError::new("no such model is known");
    Arc::new(move |provider, id| catalogue.get(provider, id).ok_or_else(unknown))
}
