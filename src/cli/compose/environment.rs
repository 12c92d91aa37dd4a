//! The base of every command-line mode: directories, settings, models, keys.
//!
//! Read from arguments, environment and the user's files, in that order of precedence. The network is not
//! used here. Further needs of an agent are in `compose`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::project_settings::ProjectSettings;
use super::{hook_files, mcp_servers, offers, permission_rules};
use crate::args::CliArgs;
use crate::compose;
use crate::process::exit::{Exit, Refusal, warn};
use parking_lot::Mutex;
use tau_agent::catalogue::keys::{EnvLookup, KeySource, Keys};
use tau_agent::catalogue::providers::{LOCAL_SERVERS, local_provider};
use tau_agent::catalogue::user::{AdHoc, UserFile};
use tau_agent::catalogue::{Catalogue, listing, served};
use tau_agent::permissions::Permissions;
use tau_agent::provider::direct::Direct;
use tau_agent::provider::http::{Http, Network};
use tau_agent::provider::key_refresh::KeyRefresh;
use tau_agent::provider::proxy::Proxy;
use tau_agent::provider::{Failure, Transport};
use tau_agent::secrets::Secret;
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::trust::Project;
use tau_agent::settings::{Paths, Settings, chosen_mode, guards, line_of_key, table};
use tau_agent::undo::UndoOptions;
use tau_app::keymap::{KeyFault, Keymap};
use tau_protocol::model::Model;
use tau_tools::compare::close_matches;
use tau_tools::user_error::UserError;

/// How long an app server may take to list its models.
const LISTING: Duration = Duration::from_secs(2);

/// The treatment of an unreadable settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBadConfig {
    /// The program does not start, because a notice would go unseen.
    Refuse,
    /// A notice on the screen; the defaults apply.
    Warn,
}

/// The facts known before anything is started.
pub struct Environment {
    pub paths: Paths,
    pub settings: Settings,
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
    /// Notices for the user: ignored settings.
    pub notices: Vec<String>,
    pub guards: Guards,
}

/// The part of the files that guards the user.
#[derive(Clone, Debug)]
pub struct Guards {
    /// The rules of all files.
    pub rules: Permissions,
    /// The reason why settings that guard the user cannot be relied on: every call is asked.
    pub settings_fault: Option<String>,
}

/// The folders of tau's files. Fails when the system names no home directory.
pub(crate) fn paths() -> Result<Paths, UserError> {
    Paths::discover(std::env::var_os("TAU_HOME").as_deref().map(Path::new))
}

impl Environment {
    /// The end of a command: a success counts as a fault of the settings if some were ignored.
    pub(crate) fn exit(&self, exit: Exit) -> Exit {
        if exit == Exit::Ok && !self.notices.is_empty() { Exit::Config } else { exit }
    }

    /// Reads arguments, environment and settings.
    pub fn read(args: &CliArgs, on_bad_config: OnBadConfig) -> Result<Self, Refusal> {
        Self::load(args, on_bad_config, None).map(|(environment, _)| environment)
    }

    /// Like [`Environment::read`], for a command of the shell; tells of what is wrong.
    pub(crate) fn of_command() -> Result<Self, Refusal> {
        let environment = Self::read(&CliArgs::without_arguments(), OnBadConfig::Warn)?;
        environment.notices.iter().for_each(|notice| warn(notice));
        Ok(environment)
    }

    /// Like [`Environment::read`], plus the settings of the folder `cwd`, if it is trusted.
    pub(crate) fn read_in(
        args: &CliArgs,
        on_bad_config: OnBadConfig,
        cwd: &Path,
    ) -> Result<(Self, ProjectSettings), Refusal> {
        Self::load(args, on_bad_config, Some(cwd))
    }

    /// Like [`Environment::read_in`], for a command in the current directory; tells of what is wrong.
    pub(crate) fn read_here(args: &CliArgs) -> Result<(Self, ProjectSettings, PathBuf), Refusal> {
        let cwd = compose::here()?;
        let (environment, project) = Self::load(args, OnBadConfig::Warn, Some(&cwd))?;
        environment.notices.iter().chain(&project.notice(Some(&cwd))).for_each(|notice| warn(notice));
        Ok((environment, project, cwd))
    }

    /// Like [`Environment::read`], for a command about sessions, perhaps of another folder.
    pub(crate) fn of_sessions(session_dir: Option<&Path>) -> Result<Self, Refusal> {
        let mut flags = CliArgs::without_arguments();
        flags.settings.0.session_dir = session_dir.map(Path::to_owned);
        Self::read(&flags, OnBadConfig::Refuse)
    }

    fn load(
        args: &CliArgs,
        on_bad_config: OnBadConfig,
        cwd: Option<&Path>,
    ) -> Result<(Self, ProjectSettings), Refusal> {
        let paths = paths().map_err(Refusal::config)?;
        let (mut notices, mut fault) = (Vec::new(), None);
        let config = ConfigFile::read(&paths);
        on_bad_config.tolerate_all(config.problems().to_vec(), &mut notices)?;
        let projects = match ProjectSettings::read(args, &paths, cwd) {
            Ok(projects) => projects,
            Err(error) => {
                on_bad_config.tolerate(error.to_string(), &mut notices)?;
                fault = Some(error);
                ProjectSettings::default()
            }
        };
        fault = fault.or_else(|| hook_files::guards_fault(&config, &projects));
        let mut stand_in = fault.as_ref().map(|_| guards::stand_in(&config)).unwrap_or_default();
        let mut settings = config.settings().clone().overlaid(stand_in.clone());
        for file in projects.trusted_projects().flat_map(Project::settings_of_files) {
            match file {
                Ok(file) => settings = settings.overlaid(file),
                Err(error) => on_bad_config.tolerate(error.to_string(), &mut notices)?,
            }
        }
        notices.extend(projects.read_errors().iter().map(UserError::to_string));
        let has_mode = settings.permission_mode.is_some() || chosen_mode::read(&paths).is_some();
        let found = permission_rules::read(&config, &paths, &projects, has_mode);
        on_bad_config.tolerate_all(found.wrong, &mut notices)?;
        // These files are written for another agent: unsupported parts are no mistake.
        notices.extend(found.unused.into_iter().map(String::from));
        let servers = mcp_servers::read(&config, &paths, &projects);
        on_bad_config.tolerate_all(servers.wrong, &mut notices)?;
        notices.extend(servers.unused.into_iter().map(String::from));
        if settings.hooks.is_some() {
            on_bad_config.tolerate_all(hook_files::faults(&config, &projects), &mut notices)?;
        }
        // Files are shown relative to tau's start directory.
        let here = std::env::current_dir().ok();
        let ignored = (on_bad_config == OnBadConfig::Refuse).then(|| projects.notice(here.as_deref()));
        notices.extend(ignored.flatten());
        let asks_nobody = on_bad_config == OnBadConfig::Refuse && cwd.is_some();
        notices.extend(asks_nobody.then(|| offers::hooks_notice(&settings, &projects)).flatten());
        let env = |name: &str| std::env::var(name).ok();
        let (mut settings, wrong) = settings.with_env_leniently(&env);
        if let Some((of_env, strict)) = guards::fault_of_env(&wrong) {
            fault = fault.or(Some(of_env));
            settings = settings.overlaid(strict.clone());
            stand_in = stand_in.overlaid(strict);
        }
        on_bad_config.tolerate_all(wrong, &mut notices)?;
        let settings = with_flags(settings, args);
        if let Some(fault) = &fault {
            on_bad_config.tolerate(fault.to_string(), &mut notices)?;
            notices.push(
                "settings cannot be read: tau asks before every call; correct them, then /reload".to_owned(),
            );
            notices.extend(guards::instead(&stand_in, &settings));
        }
        let guards = Guards { rules: found.rules, settings_fault: fault.map(String::from) };
        Ok((Self::with(paths, settings, args, on_bad_config, guards, notices)?, projects))
    }

    /// The models and keys for these settings. Fails when `models.toml` is invalid and that is refused.
    pub fn with(
        paths: Paths,
        settings: Settings,
        args: &CliArgs,
        on_bad_config: OnBadConfig,
        guards: Guards,
        mut notices: Vec<String>,
    ) -> Result<Self, Refusal> {
        let catalogue = match Catalogue::load(&paths, &settings, None) {
            Ok(catalogue) => catalogue,
            Err(error) => {
                on_bad_config.tolerate(error.to_string(), &mut notices)?;
                Catalogue::new(UserFile::default(), AdHoc::of(&settings)).with_lists(&paths)
            }
        };
        let env: EnvLookup = Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let has_key_flag = args.settings.0.api_key.is_some();
        // A key on the command line is sent like other keys.
        let addresses = |name: &str| env(name).filter(|_| !(has_key_flag && name.ends_with("_AUTH_TOKEN")));
        let catalogue = catalogue.with_environment(&addresses).map_err(Refusal::config)?;
        let catalogue = match (&args.proxy, &args.proxy_token) {
            (Some(base), Some(token)) => {
                let models = match server_models(&paths, &settings, base, token) {
                    Ok(models) => models,
                    Err(why) => {
                        on_bad_config.tolerate(why.into(), &mut notices)?;
                        Vec::new()
                    }
                };
                catalogue.with_served(models)
            }
            _ => catalogue,
        };
        if let Some(unknown) = provider_fault(&settings, &catalogue) {
            // The user is present to correct it.
            if args.settings.0.provider.is_some() {
                return Err(Refusal::usage(format!("--provider: {unknown}")));
            }
            on_bad_config.tolerate(unknown, &mut notices)?;
        }
        let catalogue = Arc::new(catalogue);
        let flag = args
            .settings
            .0
            .api_key
            .clone()
            .and_then(|key| Some((provider_of_flag(&settings, &catalogue)?, key)));
        let keys = Keys::new(&paths, &settings, Arc::clone(&catalogue), env, flag);
        let keys = Arc::new(keys.behind_proxy(args.proxy.as_ref().and(args.proxy_token.clone())));
        keys.check_flag().map_err(Refusal::usage)?;
        if let Err(failure) = keys.readable() {
            on_bad_config.tolerate(failure.to_string(), &mut notices)?;
        }
        Ok(Environment { paths, settings, catalogue, keys, notices, guards })
    }

    /// The rules of all files, for a command about a folder.
    pub(crate) fn all_rules(&self) -> Permissions {
        self.settings
            .session_dir
            .clone()
            .into_iter()
            .fold(self.guards.rules.clone(), Permissions::with_own_folder)
    }

    /// The connection to the providers.
    pub fn direct(&self) -> Direct {
        direct(&self.settings, Connections::WithAgent)
    }
}

/// The place of connections to providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// The agent's thread: every piece of an answer is reported at once.
    WithAgent,
    /// A separate thread, which passes an answer on at the pace of a screen.
    OwnThread,
    /// The agent's thread, for one of many agents: small pieces are collected only briefly, since they are
    /// collected again on their way to clients.
    ForClients,
}

/// Maximum time for which pieces for clients are collected.
const FOR_CLIENTS: Duration = Duration::from_millis(16);

/// The HTTP clients of agents in one process: agents that connect in the same way share one, with its
/// connections and certificates.
#[derive(Clone, Debug, Default)]
pub struct HttpClients(Arc<Mutex<Vec<KnownClient>>>);

/// A client, and its purpose.
type KnownClient = (Network, Connections, Arc<Http>);

impl HttpClients {
    /// The client for these settings.
    fn of(&self, settings: &Settings, connections: Connections) -> Arc<Http> {
        let network = settings.network();
        let mut known = self.0.lock();
        let same = known.iter().find(|(own, how, _)| *own == network && *how == connections);
        if let Some((.., http)) = same {
            return Arc::clone(http);
        }
        let http = Arc::new(http(settings, connections));
        known.push((network, connections, Arc::clone(&http)));
        http
    }
}

/// The connection to the providers, configured by the settings.
pub fn direct(settings: &Settings, connections: Connections) -> Direct {
    Direct::new(Arc::new(http(settings, connections)), settings.limits())
}

fn http(settings: &Settings, connections: Connections) -> Http {
    let http = Http::new(settings.network());
    match connections {
        Connections::WithAgent => http,
        Connections::ForClients => http.pausing_up_to(FOR_CLIENTS),
        Connections::OwnThread => http.on_own_thread(),
    }
}

/// The transport for requests to models: the app server from flags, or the providers themselves.
pub(crate) fn transport(
    args: &CliArgs,
    settings: &Settings,
    keys: &Arc<Keys>,
    connections: Connections,
    clients: &HttpClients,
) -> Arc<dyn Transport> {
    let http = clients.of(settings, connections);
    match (&args.proxy, &args.proxy_token) {
        (Some(base), Some(token)) => {
            let proxy = Proxy::new(base, token.expose());
            Arc::new(proxy.with_http(http, settings.limits()))
        }
        _ => {
            let direct = Arc::new(Direct::new(http, settings.limits()));
            Arc::new(KeyRefresh::new(direct, Arc::clone(keys) as _))
        }
    }
}

/// The models of the app server at `base`: its last list, else its current one.
fn server_models(
    paths: &Paths,
    settings: &Settings,
    base: &str,
    token: &Secret,
) -> Result<Vec<Model>, UserError> {
    match served::load_models(&paths.cache, base) {
        Some(models) => Ok(models),
        None => fetch_server_models(paths, settings, base, token)
            .map_err(|why| format!("cannot list the models of {base}: {why}").into()),
    }
}

/// Asks the app server at `base` for its models, and stores the list. Blocks, at most [`LISTING`]. The error
/// is the reason why there is no list, in words.
pub(crate) fn fetch_server_models(
    paths: &Paths,
    settings: &Settings,
    base: &str,
    token: &Secret,
) -> Result<Vec<Model>, UserError> {
    let http = http(settings, Connections::WithAgent);
    let asking = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let asked = runtime
            .map_err(UserError::of)?
            .block_on(async { tokio::time::timeout(LISTING, served::ask(&http, base, token)).await });
        match asked {
            Ok(asked) => asked.map_err(|failure| failure.to_string()),
            Err(_) => Err(format!("no answer within {} seconds", LISTING.as_secs())),
        }
    };
    // On a separate thread, as the caller may be in a runtime.
    let asked = std::thread::scope(|scope| scope.spawn(asking).join());
    let models =
        asked.unwrap_or_else(|_| Err("asking for them failed because of a bug in tau".to_owned()))?;
    if let Err(error) = served::keep(&paths.cache, base, &models) {
        tracing::warn!(%error, "cannot save the proxy's list of models");
    }
    Ok(models)
}

/// The place and quota of undo data, from the settings.
pub fn undo_options(settings: &Settings, paths: &Paths) -> UndoOptions {
    let quota = settings.undo_quota().saturating_mul(1024 * 1024);
    UndoOptions { dir: paths.undo(), quota, own: paths.data.clone() }
}

/// Asks a provider for its models and caches the list; returns the models that answer messages. Fails with
/// `Config` when the address or the key is missing.
pub async fn refresh(
    catalogue: &Catalogue,
    keys: &Keys,
    direct: &Direct,
    provider: &str,
) -> Result<Vec<listing::ServerModel>, Failure> {
    use tau_agent::provider::FailureKind;

    let Some(endpoint) = catalogue.endpoint(provider) else {
        return Err(Failure::new(FailureKind::Config, format!("no base URL is known for {provider}")));
    };
    let key = keys.key(&endpoint).await?;
    let asked = listing::ask(direct.http(), &endpoint, key.clone()).await;
    let mut models = match (asked, key) {
        (Err(refusal), Some(key)) if refusal.kind == FailureKind::Auth => {
            let key = keys.replacement_key(&endpoint, &key).await?.ok_or(refusal)?;
            listing::ask(direct.http(), &endpoint, Some(key)).await?
        }
        (asked, _) => asked?,
    };
    if models.iter().any(|model| !model.is_other()) {
        models.retain(|model| !model.is_other());
    }
    if let Err(error) = catalogue.lists().keep(&endpoint, &models) {
        tracing::warn!(%error, provider, "cannot cache the list of models");
    }
    Ok(models)
}

/// The origin of a setting that no flag sets: the environment variable, or the file and the line. Later ones
/// take precedence.
pub(crate) fn origin(paths: &Paths, project: &ProjectSettings, key: &str) -> String {
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    if let Some(name) = table::row(key).and_then(|row| row.columns.env).filter(is_set) {
        return name.to_owned();
    }
    let projects =
        project.trusted_projects().flat_map(|project| project.settings_files().map(|(path, _)| path));
    let files = [paths.config_file()].into_iter().chain(projects);
    let mut lines = files.filter_map(|file| {
        let line = line_of_key(&file, &key.split('.').collect::<Vec<_>>())?;
        Some(format!("{}:{line}", file.display()))
    });
    lines.next_back().unwrap_or_else(|| key.to_owned())
}

/// The faults in the keys of `config.toml`, each with its file and line.
pub(crate) fn key_faults(paths: &Paths, settings: &Settings) -> Vec<String> {
    let (Some(keys), file) = (&settings.keys, paths.config_file()) else { return Vec::new() };
    let placed = |fault: KeyFault| {
        let line = line_of_key(&file, &["keys", &fault.action]);
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: {}", file.display(), fault.text)
    };
    Keymap::new(keys).1.into_iter().map(placed).collect()
}

impl OnBadConfig {
    /// Turns errors into a refusal or notices.
    fn tolerate_all(self, errors: Vec<UserError>, notices: &mut Vec<String>) -> Result<(), Refusal> {
        errors.into_iter().try_for_each(|error| self.tolerate(error.to_string(), notices))
    }

    /// Turns the error into a refusal or a notice.
    pub(crate) fn tolerate(self, error: String, notices: &mut Vec<String>) -> Result<(), Refusal> {
        match self {
            OnBadConfig::Refuse => Err(Refusal::config(error)),
            OnBadConfig::Warn => {
                if !notices.contains(&error) {
                    notices.push(error);
                }
                Ok(())
            }
        }
    }
}

/// Flags take precedence over everything else. A flag that names another provider or address also
/// drops the model, address, format and key of the settings, which belong to a different provider.
fn with_flags(mut settings: Settings, args: &CliArgs) -> Settings {
    // The key takes precedence over every other one, and unknown tools are an error of the flag; both are
    // taken from the arguments.
    let flags = Settings { api_key: None, tools: None, ..args.settings.0.clone() };
    if flags.provider.is_some() || flags.base_url.is_some() {
        settings.provider = None;
        settings.model = None;
        settings.base_url = None;
        settings.api = None;
        settings.api_key = None;
    }
    settings.overlaid(flags)
}

/// The provider for a key on the command line.
fn provider_of_flag(settings: &Settings, catalogue: &Catalogue) -> Option<String> {
    let named = || catalogue.find(settings.model.as_deref()?).ok().map(|model| model.provider.clone());
    catalogue.adhoc_provider().or_else(|| settings.provider.clone()).or_else(named)
}

/// The minimum similarity of a name to one that is suggested.
pub(crate) const LIKENESS: f32 = 0.7;

/// The fault in the configured provider, if no model can belong to it.
fn provider_fault(settings: &Settings, catalogue: &Catalogue) -> Option<String> {
    let name = settings.provider.as_deref().filter(|_| settings.base_url.is_none())?;
    let mut known = catalogue.providers();
    known.extend(LOCAL_SERVERS.map(|(server, _)| local_provider(server)));
    if name == "demo" || known.iter().any(|provider| provider == name) {
        return None;
    }
    let possible: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = close_matches(name, &possible, 3, LIKENESS);
    let hint = match near.as_slice() {
        [] => "run `tau models` to list models with their providers, or set its address with --base-url"
            .to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Some(format!("there is no provider \"{name}\"; {hint}"))
}
