//! An agent's start values: transport, keys, tools, prompt, scratch directory, behaviour.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::prompt::AgentPrompt;
use super::{Setup, sandbox, web};
use crate::args::CliArgs;
use crate::attempts::uncounted;
use crate::compose::environment::{self, Environment, OnBadConfig};
use crate::compose::host::ProgramHost;
use crate::compose::project_settings::ProjectSettings;
use crate::compose::{mcp_servers, permission_rules};
use crate::live::{own_flags, rights};
use crate::process::exit::Refusal;
use tau_agent::catalogue::keys::Keys;
use tau_agent::demo::{DemoTransport, Pace};
use tau_agent::engine::behavior::{Behavior, HelperLimits, McpBehavior, OnAsk};
use tau_agent::engine::config::{AgentConfig, SessionPlace};
use tau_agent::engine::hooks::Hooks;
use tau_agent::engine::tool_registry::ToolRegistry;
use tau_agent::export::own_secrets;
use tau_agent::extensions::mcp::names::PREFIX;
use tau_agent::extensions::mcp::oauth::LoginStore;
use tau_agent::extensions::used_files::UsedFiles;
use tau_agent::permissions::Permissions;
use tau_agent::provider::scripted::Router;
use tau_agent::secrets::masking::Masking;
use tau_agent::secrets::vault::Vault;
use tau_agent::session::Session;
use tau_agent::settings::trust::MCP_FILE;
use tau_agent::settings::{Paths, Settings};
use tau_protocol::approval::PermissionMode;
use tau_protocol::run::{RetryMode, RunLimits};
use tau_protocol::worktree;
use tau_tools::access::FileFilter;
use tau_tools::bash::Bash;
use tau_tools::delegate::Delegate;
use tau_tools::paths::reason;
use tau_tools::process::ChildEnv;
use tau_tools::scratch::Scratch;
use tau_tools::{Toolbox, toolbox};

/// Maximum wait of the first prompt for starting MCP servers.
const MCP_WAIT: Duration = Duration::from_secs(5);
/// Maximum share of the context window for schemas of MCP tools, in percent; beyond it, the model finds tools
/// with `tool_search`.
const MCP_SCHEMA_SHARE: u64 = 10;
/// Retries of one request.
const RETRIES: u32 = 4;

/// An agent that can be started.
pub struct ComposedAgent {
    pub config: AgentConfig,
    /// Its system prompt, which may change while it runs.
    pub prompt: AgentPrompt,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// The environment of this process without its secrets.
pub(crate) fn program_env(keys: &Keys, settings: &Settings) -> ChildEnv {
    let pass = settings.pass_env.as_deref().unwrap_or_default();
    ChildEnv::without_secrets(std::env::vars_os(), &secret_texts(keys), pass)
}

/// The environment of commands: this process's without secrets. `session` names what they run for.
pub(crate) fn child_env(keys: &Keys, settings: &Settings, session: &str) -> ChildEnv {
    ChildEnv::new(&secret_texts(keys), settings.pass_env.as_deref().unwrap_or_default(), session)
}

/// The shell of the user's own commands.
pub(crate) fn user_shell(settings: &Settings) -> PathBuf {
    settings.shell.clone().unwrap_or_else(|| PathBuf::from("bash"))
}

fn secret_texts(keys: &Keys) -> Vec<String> {
    keys.secret_values().iter().map(|key| key.expose().to_owned()).collect()
}

impl Setup {
    /// The environment of a session's commands: this process's without secrets, and in a worktree of tau without the
    /// variables that name another repository.
    pub(crate) fn child_env(&self, session: &str) -> ChildEnv {
        let env = child_env(&self.keys, &self.settings, session);
        if worktree::of(&self.cwd).is_some() { env.without_repository() } else { env }
    }

    /// The environment of a program that the user has named, such as an editor: without secrets too, since
    /// commands of the model can read a running program's environment.
    pub(crate) fn program_env(&self) -> ChildEnv {
        program_env(&self.keys, &self.settings)
    }

    /// Composes an agent. Reads instruction files. Fails when a file that a flag names cannot be read, or the
    /// temporary directory does not exist.
    pub fn agent(&self, mut session: Session) -> Result<ComposedAgent, Refusal> {
        if session.info().resumed {
            uncounted::count(&self.paths, &mut session);
        }
        let is_by_command_line = session.info().resumed && !self.profile.is_client;
        let lost =
            is_by_command_line.then(|| own_flags::lost_rights_notice(self, &session.info().id)).flatten();
        let kept = self.keep_rights(&session);
        let tools = self.tools()?;
        let mut source = self.prompt_source(&tools)?;
        // A session runs in its own directory, regardless of the program's.
        let own = &session.info().cwd;
        if own.is_dir() {
            source.cwd.clone_from(own);
        }
        let mut text = source.read();
        if source.cwd != self.cwd {
            let files: Vec<String> = text.files.iter().map(|path| path.display().to_string()).collect();
            let files = if files.is_empty() { "no files".to_owned() } else { files.join(", ") };
            text.notices.push(format!("this session runs in {}; instructions from {files}", own.display()));
        }
        text.notices.extend(lost.into_iter().chain(kept));
        text.notices.extend(sandbox::notices(&self.settings, &self.paths, &source.cwd));
        let cwd = source.cwd.clone();
        let instructions = (!self.args.no_context_files).then(|| source.places());
        let prompt = AgentPrompt::new(source, &text.text);
        let env = self.child_env(&session.info().id);
        let transport = environment::transport(
            &self.args, &self.settings, &self.keys, self.profile.connections, &self.http,
        );
        let config = AgentConfig {
            transport: Arc::new(Router::new(Arc::new(DemoTransport { pace: demo_pace() }), transport)),
            keys: Arc::clone(&self.keys) as _,
            tools,
            model: self.model.clone(),
            thinking: self.thinking,
            place: SessionPlace { dir: self.session_dir(), cwd: self.cwd.clone() },
            session,
            system: text.text.into(),
            scratch: scratch(&self.paths)?,
            env: Arc::new(env),
            shell: user_shell(&self.settings),
            bash_timeout: self.settings.bash_timeout,
            find_model: self.find_model(),
            max_retries: RETRIES,
            retry_mode: match self.profile.retry {
                RetryMode::Headless if self.args.wait_for_quota => RetryMode::WaitForQuota,
                mode => mode,
            },
            limits: RunLimits {
                turns: self.args.max_turns,
                dollars: self.args.max_cost,
                tokens: self.args.max_tokens,
                // A front end that prints enforces it itself, since it covers all prompts together.
                time: self.args.timeout.filter(|_| !self.profile.prints).map(Duration::from_secs),
            },
            behavior: Behavior { instructions, ..self.behavior(prompt.clone(), &cwd) },
            compaction: self.settings.compaction(),
            helper: None,
        };
        Ok(ComposedAgent { config, prompt, notices: text.notices })
    }

    /// Keeps the rights of a session for whoever opens it again; returns why they could not be kept.
    fn keep_rights(&self, session: &Session) -> Option<String> {
        let kept = rights::keep(&self.paths, session.info(), &self.args, &self.settings, self.first_mode());
        kept.err().map(|error| {
            format!("this session's permissions cannot be saved for the next start: {}", reason(&error))
        })
    }

    fn behavior(&self, prompt: AgentPrompt, cwd: &Path) -> Behavior {
        let (args, paths) = (self.args.clone(), self.paths.clone());
        let system_prompt = move |cwd: &Path| {
            prompt.read_in(cwd, || {
                let project = ProjectSettings::read(&args, &paths, Some(cwd)).unwrap_or_default();
                project.prompt_files()
            })
        };
        let mode = self.first_mode();
        let permissions = self.permissions();
        self.rules.lock().clone_from(&permissions);
        let mut behavior = Behavior {
            steer: self.profile.steer,
            on_repeat: self.profile.on_repeat,
            goal_limits: self.goal_limits(),
            spending: self.settings.spending_limits(&self.paths),
            temperature: self.settings.temperature.map(|temperature| temperature.0),
            permission_mode: mode,
            mode_ceiling: self.mode_ceiling(mode),
            rules_of_clients: self.profile.is_client.then(Vec::new),
            on_ask: if self.permission_mode().is_some() { OnAsk::Ask } else { self.profile.on_ask },
            asks_user: self.profile.asks_user,
            search_tools_by_mode: !self.has_chosen_tools(),
            permissions,
            host: Some(Arc::new(ProgramHost {
                args: self.args.clone(),
                paths: self.paths.clone(),
                session_dir: self.session_dir(),
                keys: Arc::clone(&self.keys),
                rules: Arc::clone(&self.rules),
            })),
            hooks: Hooks::default().system_prompt(system_prompt),
            tools: self.tool_registry(),
            sandbox: sandbox::sandboxing(&self.settings, &self.paths, cwd),
            undo: Some(environment::undo_options(&self.settings, &self.paths)),
            masking: self.masking(),
            used_files: Some(Arc::new(self.used_files())),
            extensions: Arc::clone(&self.extensions),
            mcp: self.mcp(),
            helpers: self.helper_limits(),
            helper_events: self.args.helper_events,
            ..Behavior::default()
        };
        behavior.set_settings_fault(self.settings_fault.clone());
        behavior
    }

    /// The most permissive mode that can be chosen in a session that begins in this one. A plan of a session that begins
    /// in the background is to be carried out, too: in the mode that the user has configured.
    fn mode_ceiling(&self, first: PermissionMode) -> PermissionMode {
        match first {
            _ if !self.profile.is_client => PermissionMode::Auto,
            PermissionMode::Plan if self.args.background => rights::configured_mode(&self.paths)
                .filter(|mode| *mode != PermissionMode::Plan)
                .unwrap_or(PermissionMode::Ask),
            first => first,
        }
    }

    /// The skills and prompt templates in use. Where a user can be asked, new ones in projects need an
    /// answer.
    fn used_files(&self) -> UsedFiles {
        let list = self.paths.state.join("used-extensions.json");
        UsedFiles::new(list, self.profile.on_ask == OnAsk::Ask)
    }

    /// The rules of all files. Their faults were reported when the settings were read.
    pub(super) fn permissions(&self) -> Permissions {
        self.session_dir().into_iter().fold(self.file_rules.clone(), Permissions::with_own_folder)
    }

    /// The filter for reading files named by prompts.
    pub(crate) fn file_filter(&self) -> Arc<dyn FileFilter> {
        self.permissions().file_filter(&self.cwd, std::env::home_dir().as_deref())
    }

    /// Like [`Setup::file_filter`], with the rules as they are now, for lists of a screen.
    pub(crate) fn current_file_filter(&self) -> Arc<dyn FileFilter> {
        let file_rules = permission_rules::read_now(&self.paths, &self.project);
        Setup { file_rules, ..self.clone() }.file_filter()
    }

    /// The masking of secrets in output: it knows the keys and the secret variables from the start.
    fn masking(&self) -> Masking {
        let keys = self.keys.secret_values().into_iter().map(|key| key.expose().to_owned());
        let own: Vec<String> = keys.chain(own_secrets()).collect();
        Masking::new(Vault::new(self.settings.mask_secrets(), &own))
    }

    /// Whether a file configures MCP servers.
    pub(crate) fn has_servers(&self) -> bool {
        self.settings.mcp.is_some()
            || self.paths.mcp_file().exists()
            || self.project.trusted_projects().any(|project| project.file(MCP_FILE).is_some())
    }

    /// The MCP servers. Flags that select tools apply to their tools and to custom ones, too.
    fn mcp(&self) -> McpBehavior {
        let named = self.args.settings.0.tools.as_ref();
        let others = |names: &Vec<String>| names.iter().filter(|name| !is_built_in(name)).cloned().collect();
        let only: Option<Vec<String>> = if self.args.no_tools { Some(Vec::new()) } else { named.map(others) };
        let is_wanted = only.as_ref().is_none_or(|only| only.iter().any(|name| is_mcp(name)));
        McpBehavior {
            read: is_wanted
                .then(|| mcp_servers::reading(&self.args, &self.paths, self.settings.sandbox.mcp())),
            wait: MCP_WAIT,
            only,
            network: self.settings.network(),
            logins: Some(LoginStore::new(self.paths.mcp_logins())),
            schema_share: MCP_SCHEMA_SHARE,
        }
    }

    fn helper_limits(&self) -> HelperLimits {
        let set = &self.settings.helpers;
        HelperLimits {
            at_once: usize::try_from(set.at_once()).unwrap_or(usize::MAX).max(1),
            total: u32::try_from(set.total()).unwrap_or(u32::MAX),
            explore_model: set.explore_model.clone(),
        }
    }

    /// The tools that can be turned on later.
    fn tool_registry(&self) -> ToolRegistry {
        let registry = ToolRegistry::default();
        let built_in = self.with_shell(Toolbox::all());
        for tool in built_in.iter().chain(&self.web.all()) {
            registry.register(Arc::clone(tool));
        }
        registry
    }

    /// Whether the user has chosen the tools: only these are on then, in every mode.
    pub(super) fn has_chosen_tools(&self) -> bool {
        self.args.no_tools || self.args.settings.0.tools.is_some() || self.settings.tools.is_some()
    }

    /// The tools that are on. Fails when a named tool does not exist.
    pub fn tools(&self) -> Result<Toolbox, Refusal> {
        if self.args.no_tools {
            return Ok(Toolbox::empty());
        }
        let flag = self.args.settings.0.tools.as_ref();
        let tools = match (flag, &self.settings.tools) {
            (Some(names), _) => {
                let custom = self.custom_tools(names);
                let is_own = |name: &&String| !is_mcp(name) && !custom.contains(*name);
                let own: Vec<String> = names.iter().filter(is_own).cloned().collect();
                let named = web::built_in_tools(&own, &self.settings);
                named.map_err(|text| Refusal::usage(format!("--tools: {text}")))?
            }
            (None, Some(names)) => web::built_in_tools(names, &self.settings).map_err(Refusal::config)?,
            (None, None) => Toolbox::standard(),
        };
        let tools = match self.settings.helpers.enabled() && flag.is_none() {
            true => tools.with(Arc::new(Delegate::default())),
            false => tools,
        };
        let is_wanted = |name: &str| flag.is_none_or(|names| names.iter().any(|wanted| wanted == name));
        // From these settings: state shared with a setup that was read later follows that setup.
        let options = web::options(&self.settings);
        Ok(self.web.add_to(self.with_shell(tools), |name| is_wanted(name) && options.is_on(name)))
    }

    /// The custom tools among these names.
    fn custom_tools(&self, names: &[String]) -> Vec<String> {
        if names.iter().all(|name| is_built_in(name) || is_mcp(name)) {
            return Vec::new();
        }
        let loaded = self.extensions.load(&self.project_dir);
        let is_custom = |name: &&String| loaded.tools.iter().any(|tool| tool.name() == name.as_str());
        names.iter().filter(is_custom).cloned().collect()
    }

    /// Replaces the default shell with the configured one, if there is a shell at all.
    fn with_shell(&self, tools: Toolbox) -> Toolbox {
        match self.settings.shell.as_ref().filter(|_| tools.get("bash").is_some()) {
            Some(shell) => tools.with(Arc::new(Bash::with_shell(shell))),
            None => tools,
        }
    }
}

/// Whether a name belongs to a built-in tool.
fn is_built_in(name: &str) -> bool {
    toolbox::TABLE.iter().any(|row| row.name == name)
}

/// Whether a tool's name belongs to an MCP server.
fn is_mcp(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Tolerates unknown tools in settings, where a user can see a notice.
pub(super) fn check_tools(
    args: &CliArgs,
    on_bad_config: OnBadConfig,
    environment: &mut Environment,
    project: &ProjectSettings,
) -> Result<(), Refusal> {
    if args.no_tools || args.settings.0.tools.is_some() {
        return Ok(());
    }
    let named =
        environment.settings.tools.as_deref().map(|names| web::built_in_tools(names, &environment.settings));
    let Some(Err(error)) = named else { return Ok(()) };
    let origin = environment::origin(&environment.paths, project, "tools");
    on_bad_config.tolerate(format!("{origin}: {error}"), &mut environment.notices)?;
    environment.settings.tools = None;
    Ok(())
}

/// The scratch folder of this process, shared by all its sessions: it is bounded, and a server has many.
static SHARED: OnceLock<Arc<Scratch>> = OnceLock::new();

/// Removes what is in the scratch folder but for output, at the end of the process.
pub(crate) fn clear_scratch() {
    if let Some(scratch) = SHARED.get() {
        scratch.clear();
    }
}

fn scratch(paths: &Paths) -> Result<Arc<Scratch>, Refusal> {
    if let Some(scratch) = SHARED.get() {
        return Ok(Arc::clone(scratch));
    }
    let dir = std::env::temp_dir();
    let scratch = Scratch::new(&dir).map_err(|error| {
        let dir = dir.display();
        Refusal::config(format!(
            "cannot use the temporary directory {dir}: {error}; create it, or set TMPDIR to another one"
        ))
    })?;
    let scratch = scratch.owned_by(&paths.owner());
    Ok(Arc::clone(SHARED.get_or_init(|| Arc::new(scratch))))
}

/// `TAU_DEMO_SPEED=max` makes the demo answer without pauses, for measuring.
fn demo_pace() -> Pace {
    match std::env::var("TAU_DEMO_SPEED").as_deref() {
        Ok("max") => Pace::NONE,
        _ => Pace::default(),
    }
}
