//! The composition: from arguments, environment and files to an agent that can be started.
//!
//! In two steps, so that the screen need not wait: [`Setup`] reads only what the first frame shows (settings,
//! the model's name); [`Setup::agent`] does the slower work (instruction files, the session). Flags take
//! precedence over the environment, which takes precedence over `config.toml`.

pub mod environment;
pub(crate) mod hook_files;
pub mod host;
pub(crate) mod image_support;
pub(crate) mod keycheck;
pub(crate) mod link_support;
pub(crate) mod local_servers;
pub(crate) mod mcp_servers;
pub(crate) mod offers;
pub mod permission_rules;
pub(crate) mod profile;
pub(crate) mod project_settings;
pub mod reload;
pub(crate) mod session_lookup;
pub(crate) mod sessions;
pub(crate) mod setting_list;

pub(crate) mod agent;
mod choose_model;
mod extensions;
mod prompt;
pub(crate) mod sandbox;
mod server_model;
mod session_model;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::args::CliArgs;
use crate::process::exit::{self, Refusal};
use crate::worktrees;
use environment::{Environment, HttpClients, OnBadConfig};
use profile::FrontEndProfile;
use project_settings::ProjectSettings;
use tau_agent::catalogue::keys::Keys;
use tau_agent::catalogue::{self, Catalogue};
use tau_agent::engine::behavior::OnAsk;
use tau_agent::extensions::Extensions;
use tau_agent::permissions::Permissions;
use tau_agent::settings::{Paths, Settings};
use tau_agent::web::Web;
use tau_app::background::AUTO;
use tau_app::geometry::{Addresses, Motion, TerminalUse, TextLayout};
use tau_app::screen_settings::ScreenSettings;
use tau_protocol::approval::PermissionMode;
use tau_protocol::goal::GoalLimits;
use tau_protocol::model::{Model, ThinkingLevel};
use tau_protocol::trust::Folder;
use tau_tools::paths::reason;
use tau_tools::sandbox::support::Support;

pub use agent::ComposedAgent;
use choose_model::LevelFlags;
pub(crate) use extensions::of as extensions_of;
pub use prompt::AgentPrompt;
use server_model::ServerModel;

pub(crate) const DEFAULT_THEME: &str = AUTO;

/// The facts known before anything is started.
#[derive(Clone)]
pub struct Setup {
    pub args: CliArgs,
    /// The front end's profile.
    pub profile: FrontEndProfile,
    pub paths: Paths,
    pub settings: Settings,
    /// The settings at tau's start: some apply until the end.
    pub started: Arc<Settings>,
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The directory whose project settings apply: the session's, which may be another one.
    pub project_dir: PathBuf,
    /// The initial model; `None` when nothing is configured.
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    /// The requested level.
    level: LevelFlags,
    /// Whether the model comes from the continued session.
    has_session_model: bool,
    /// The model named by a server, even while another model is set.
    server_model: Option<ServerModel>,
    /// True when nothing is configured and the scripted demo is used.
    pub demo: bool,
    /// Notices for the user: ignored settings.
    pub notices: Vec<String>,
    /// The reason why settings that guard the user cannot be relied on: every call is asked.
    pub settings_fault: Option<String>,
    /// The settings of directories, and whether they are trusted.
    pub project: ProjectSettings,
    /// Skills and other extensions from files: one value for tau's lifetime.
    pub extensions: Arc<Extensions>,
    /// The tools for the web: one value for tau's lifetime.
    pub web: Web,
    /// The HTTP clients for requests to models: shared by all sessions of this process.
    pub http: HttpClients,
    /// The rules of all files, as they were read.
    file_rules: Permissions,
    /// The rules of files that the agent has: one value for tau's lifetime.
    pub(crate) rules: Arc<Mutex<Permissions>>,
}

impl Setup {
    /// Reads arguments, environment and settings.
    pub fn read(args: CliArgs, profile: FrontEndProfile) -> Result<Self, Refusal> {
        Support::prefetch();
        let (mut args, mut notes) = (args, Vec::new());
        let mut cwd = working_directory(args.cwd.as_deref())?;
        if let Some(name) = args.worktree.take() {
            let name = if name.is_empty() { worktrees::new_name() } else { name };
            let paths = environment::paths().map_err(Refusal::config)?;
            let (entered, folder) = worktrees::enter_to_work(&paths, &cwd, &name).map_err(Refusal::config)?;
            cwd = working_directory(Some(&folder))?;
            (args.cwd, notes) = (Some(cwd.clone()), entered.notes);
        }
        let project_dir =
            session_lookup::directory(&args, profile.on_bad_config).unwrap_or_else(|| cwd.clone());
        let (environment, project) = Environment::read_in(&args, profile.on_bad_config, &project_dir)?;
        let mut setup = Setup { project_dir, ..Self::choose(args, profile, environment, cwd, project)? };
        setup.notices.extend(notes);
        Ok(setup)
    }

    /// Like [`Setup::read`], for a session in `cwd`, regardless of the program's directory.
    pub(crate) fn read_at(args: CliArgs, profile: FrontEndProfile, cwd: &Path) -> Result<Self, Refusal> {
        let (environment, project) = Environment::read_in(&args, profile.on_bad_config, cwd)?;
        Self::choose(args, profile, environment, cwd.to_owned(), project)
    }

    /// A setup for a separate session in `dir`, beside others in this process: with the settings of that
    /// directory, and extensions that no other session shares.
    pub fn of_session(&self, dir: &Path) -> Result<Self, Refusal> {
        let setup = Self::read_at(self.args.clone(), self.profile, dir)?.keeping_server_model(self)?;
        Ok(Setup { http: self.http.clone(), ..setup })
    }

    /// A setup for a session that runs in `dir`: with its project settings instead of the current
    /// directory's.
    pub fn in_directory(&self, dir: &Path) -> Result<Self, Refusal> {
        Setup { project_dir: dir.to_owned(), ..self.clone() }.reread()
    }

    /// Reads everything again, after the user has changed the trust in a directory.
    pub(crate) fn reread(&self) -> Result<Self, Refusal> {
        // A model may be missing only because the list of the user cannot be read: that is the reason then.
        let of_models = || Catalogue::load(&self.paths, &self.settings, None).err().map(Refusal::config);
        self.read_again().map_err(|refusal| of_models().unwrap_or(refusal))
    }

    fn read_again(&self) -> Result<Self, Refusal> {
        let project_dir = self.project_dir.clone();
        let (environment, project) = Environment::read_in(&self.args, OnBadConfig::Warn, &project_dir)?;
        let new = Self::choose(self.args.clone(), self.profile, environment, self.cwd.clone(), project)?
            .keeping_server_model(self)?;
        self.extensions.set_options(extensions::options(&new.settings));
        self.web.set_options(web::options(&new.settings));
        let (extensions, web, http) = (Arc::clone(&self.extensions), self.web.clone(), self.http.clone());
        let (started, rules) = (Arc::clone(&self.started), Arc::clone(&self.rules));
        Ok(Setup { project_dir, started, extensions, web, http, rules, ..new })
    }

    /// The limits of goals that are set without any.
    pub(crate) fn goal_limits(&self) -> GoalLimits {
        let limits = self.settings.goal_limits();
        GoalLimits { dollars: self.args.max_cost.or(limits.dollars), ..limits }
    }

    /// The permission mode from the settings, or chosen on the screen.
    pub(crate) fn permission_mode(&self) -> Option<PermissionMode> {
        self.settings.permission_mode
    }

    /// The initial permission mode: `ask`, if none was chosen and a user can be asked.
    pub(crate) fn first_mode(&self) -> PermissionMode {
        let unset = match self.profile.on_ask {
            OnAsk::Ask => PermissionMode::Ask,
            OnAsk::Allow => PermissionMode::default(),
        };
        self.permission_mode().unwrap_or(unset)
    }

    /// The current directories with settings, for display; the settings in use do not change. Fails when
    /// earlier answers about trust cannot be read.
    pub fn refresh_projects(&mut self) -> Result<Vec<Folder>, Refusal> {
        let file = self.paths.trust_file();
        self.project.refresh(&self.args, &self.paths, &self.project_dir).map_err(Refusal::config)?;
        self.project.folders(&self.project_dir, &file).map_err(Refusal::config)
    }

    fn choose(
        args: CliArgs,
        profile: FrontEndProfile,
        environment: Environment,
        cwd: PathBuf,
        project: ProjectSettings,
    ) -> Result<Self, Refusal> {
        let mut environment = environment;
        let chosen = choose_model::choose(&args, profile.on_bad_config, &mut environment, &project)?;
        agent::check_tools(&args, profile.on_bad_config, &mut environment, &project)?;
        let Environment { paths, mut settings, catalogue, keys, notices, guards } = environment;
        if profile.on_ask == OnAsk::Ask && !profile.is_client {
            sandbox::apply_chosen_mode(&mut settings, &paths, &cwd);
        }
        let demo = false;
        let extensions = extensions::of(&args, &paths, &settings);
        let web = web::of(&settings, &keys);
        Ok(Setup {
            args,
            profile,
            paths,
            started: Arc::new(settings.clone()),
            settings,
            catalogue,
            keys,
            project_dir: cwd.clone(),
            cwd,
            model: chosen.model,
            thinking: chosen.thinking,
            level: chosen.level,
            has_session_model: false,
            server_model: None,
            demo,
            notices,
            settings_fault: guards.settings_fault,
            project,
            extensions,
            web,
            http: HttpClients::default(),
            file_rules: guards.rules,
            rules: Arc::default(),
        })
    }

    /// Falls back to the scripted demo if nothing is configured.
    pub(crate) fn or_demo(mut self) -> Self {
        if self.model.is_none() {
            self.model = Some(Arc::new(catalogue::demo()));
            self.demo = true;
        }
        self
    }

    /// The layout of text: the width of prose, the display of diffs and pictures, and the place of link
    /// addresses.
    fn text_layout(&self) -> TextLayout {
        let prose = self.settings.prose_width();
        let lookup = |name: &str| std::env::var(name).ok();
        let opens_links = || link_support::opens_links(lookup);
        let linked = self.settings.hyperlinks().uses(opens_links);
        TextLayout {
            pictures: image_support::pictures(self.settings.images(), lookup),
            addresses: if linked { Addresses::Linked } else { Addresses::Printed },
            prose_width: u16::try_from(prose).unwrap_or(u16::MAX),
            diff: self.settings.diff(),
        }
    }

    /// The settings of the screen that apply while it runs.
    pub(crate) fn screen_settings(&self) -> ScreenSettings {
        let settings = &self.settings;
        let (mouse, notify, progress) = (settings.mouse(), settings.notify(), settings.progress());
        ScreenSettings {
            hide_thinking: settings.hide_thinking(),
            text_layout: self.text_layout(),
            terminal: TerminalUse { mouse, notify, progress },
            motion: Motion::new(settings.animations()),
            editing_mode: settings.editing_mode(),
            status_line: settings.status_line.clone().unwrap_or_default(),
            status_command: settings.status_command.is_some(),
        }
    }

    /// The name of the theme.
    pub fn theme(&self) -> &str {
        self.settings.theme.as_deref().unwrap_or(DEFAULT_THEME)
    }

    /// The folder of this directory's session files; `None` when nothing is saved.
    pub fn session_dir(&self) -> Option<PathBuf> {
        (!self.args.no_session).then(|| self.settings.session_dir_for(&self.paths, &self.cwd))
    }
}

pub(super) fn working_directory(wanted: Option<&Path>) -> Result<PathBuf, Refusal> {
    if let Some(dir) = wanted {
        let fail = |error| {
            let (dir, why) = (dir.display(), reason(&error));
            Refusal::config(format!(
                "cannot work in {dir} (--cwd): {why}; name a directory that you can enter"
            ))
        };
        std::env::set_current_dir(dir).map_err(fail)?;
    }
    here()
}

/// Enters the home folder if the working directory was removed, for what is about sessions of any directory.
pub(crate) fn leave_removed_directory() {
    let is_gone = std::env::current_dir().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if let Some(home) = std::env::home_dir().filter(|_| is_gone)
        && std::env::set_current_dir(&home).is_ok()
    {
        exit::warn(&format!("the working directory is gone; this is about {}", home.display()));
    }
}

/// The working directory of this process. Fails when it was removed, or cannot be read.
pub(crate) fn here() -> Result<PathBuf, Refusal> {
    std::env::current_dir().map_err(|error| {
        Refusal::config(format!("cannot read the working directory: {error}; start tau in one that exists"))
    })
}
