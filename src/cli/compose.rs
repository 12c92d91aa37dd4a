//! The composition: from arguments, environment and files to an agent that can be started.
//!
//! In two steps, so that the screen need not wait: [`Setup`] reads only what the first frame
//! shows (settings, the model's name); [`Setup::agent`] does what may take longer (instruction
//! files, the session). Settings of flags go before the environment, that before `config.toml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::Args;
use super::exit::Exit;
use super::prompts;
use crate::agent::catalogue::user::AdHoc;
use crate::agent::catalogue::{self, Catalogue};
use crate::agent::demo::{DemoTransport, Pace};
use crate::agent::model::{Model, ThinkingLevel};
use crate::agent::prompt::{ContextFiles, PromptInputs, system_prompt};
use crate::agent::provider::direct::Direct;
use crate::agent::provider::scripted::Router;
use crate::agent::session::{Session, list};
use crate::agent::settings::auth::{EnvLookup, Keys};
use crate::agent::settings::{Paths, Settings};
use crate::agent::task::{AgentConfig, SessionPlace};
use crate::tools::Toolbox;
use crate::tools::process::ChildEnv;
use crate::tools::scratch::Scratch;

/// Tries of one request after the first.
const RETRIES: u32 = 4;

/// Why the program cannot start: a sentence for the person, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub exit: Exit,
    pub text: String,
}

impl Refusal {
    fn config(error: impl std::fmt::Display) -> Self {
        Refusal { exit: Exit::Config, text: error.to_string() }
    }
}

/// What is known before anything is started.
pub struct Setup {
    pub args: Args,
    pub paths: Paths,
    pub settings: Settings,
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The model to begin with; none when nothing is configured.
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    /// True when nothing is configured and the scripted demo stands in.
    pub demo: bool,
    /// What the person should know: settings that were passed over.
    pub notices: Vec<String>,
}

/// Whether a file of settings that cannot be read stops the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFile {
    /// It does: nobody would see a notice.
    Refuse,
    /// It is told on the screen, and the defaults hold.
    Tell,
}

impl Setup {
    /// Reads arguments, environment and settings.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub fn read(args: Args, bad_file: BadFile) -> Result<Self, Refusal> {
        let paths = Paths::discover(std::env::var_os("TAU_HOME").as_deref().map(Path::new))
            .map_err(Refusal::config)?;
        let mut notices = Vec::new();
        let mut tolerate = |error: String| match bad_file {
            BadFile::Refuse => Err(Refusal::config(error)),
            BadFile::Tell => {
                notices.push(error);
                Ok(())
            }
        };
        let settings = match Settings::load(&paths) {
            Ok(settings) => settings,
            Err(error) => {
                tolerate(error.to_string())?;
                Settings::default()
            }
        };
        let settings = settings.with_env(&|name| std::env::var(name).ok()).map_err(Refusal::config)?;
        let settings = with_flags(settings, &args);
        let catalogue = match Catalogue::load(&paths, &settings, None) {
            Ok(catalogue) => catalogue,
            Err(error) => {
                tolerate(error.to_string())?;
                Catalogue::new(catalogue::user::UserFile::default(), AdHoc::of(&settings))
            }
        };
        let catalogue = Arc::new(catalogue);
        let env: EnvLookup = Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let flag = args.api_key.clone().and_then(|key| Some((vendor_of_flag(&settings, &catalogue)?, key)));
        let keys = Arc::new(Keys::new(&paths, &settings, Arc::clone(&catalogue), env, flag));
        let cwd = working_directory(args.cwd.as_deref())?;
        let (model, level) = choose_model(&settings, &catalogue, &keys)?;
        let wished = settings.thinking.or(level).unwrap_or_default();
        let thinking = model.as_ref().map_or(wished, |model| model.nearest(wished));
        Ok(Setup { args, paths, settings, catalogue, keys, cwd, model, thinking, demo: false, notices })
    }

    /// The same, refused when there is no model.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub fn with_model(self) -> Result<Self, Refusal> {
        match self.model {
            Some(_) => Ok(self),
            None => Err(Refusal::config(
                "no model is configured: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, \
                 or give --base-url and --model; --model demo is the scripted demo",
            )),
        }
    }

    /// With nothing configured, the scripted demo.
    pub fn or_demo(mut self) -> Self {
        if self.model.is_none() {
            self.model = Some(Arc::new(catalogue::demo()));
            self.demo = true;
        }
        self
    }

    /// The folder of this directory's session files; none when nothing is to be kept.
    pub fn session_dir(&self) -> Option<PathBuf> {
        (!self.args.no_session).then(|| self.settings.session_dir_for(&self.paths, &self.cwd))
    }

    /// The session that the arguments ask for: an earlier one, or a new one.
    ///
    /// # Errors
    /// When there is none such, or it cannot be opened.
    pub fn session(&self) -> Result<Session, Refusal> {
        let root = self.settings.session_root(&self.paths);
        let path = match &self.args.session {
            Some(wanted) => Some(named_session(&root, wanted)?),
            None if self.args.continue_last => list::newest(&root, &self.cwd),
            None => None,
        };
        let mut session = match path {
            Some(path) => Session::open(&path).map_err(Refusal::config)?,
            None => Session::begin(self.session_dir().as_deref(), &self.cwd, None),
        };
        if let Some(name) = &self.args.name {
            session.set_name(name).map_err(Refusal::config)?;
        }
        Ok(session)
    }

    /// Everything an agent starts with. Reads instruction files. Also what people should know.
    ///
    /// # Errors
    /// When a file that a flag names cannot be read.
    pub fn agent(&self, session: Session) -> Result<(AgentConfig, Vec<String>), Refusal> {
        let tools = self.tools();
        let context = if self.args.no_context_files {
            ContextFiles::default()
        } else {
            ContextFiles::find(&self.cwd, &self.paths.config)
        };
        let system = self.system_prompt(&tools, &context)?;
        let secrets: Vec<String> =
            self.keys.known_values().iter().map(|key| key.expose().to_owned()).collect();
        let env = ChildEnv::new(&secrets, &self.settings.pass_env, &session.info().id);
        let catalogue = Arc::clone(&self.catalogue);
        let scratch = Scratch::new(&std::env::temp_dir()).map_err(Refusal::config)?;
        let shell = self.settings.shell.clone().unwrap_or_else(|| PathBuf::from("bash"));
        let config = AgentConfig {
            transport: Arc::new(Router::new(
                Arc::new(DemoTransport { pace: demo_pace() }),
                Arc::new(Direct::default()),
            )),
            keys: Arc::clone(&self.keys) as _,
            tools,
            model: self.model.clone(),
            thinking: self.thinking,
            place: SessionPlace { dir: self.session_dir(), cwd: self.cwd.clone() },
            session,
            system: system.into(),
            scratch: Arc::new(scratch),
            env: Arc::new(env),
            shell,
            bash_timeout: self.settings.bash_timeout,
            find_model: Arc::new(move |provider, id| catalogue.get(provider, id)),
            max_retries: RETRIES,
            max_turns: self.args.max_turns,
            room: self.settings.room(),
        };
        Ok((config, context.notices))
    }

    fn tools(&self) -> Toolbox {
        if self.args.no_tools {
            return Toolbox::empty();
        }
        match self.args.tools.as_ref().or(self.settings.tools.as_ref()) {
            Some(names) => Toolbox::standard().only(names),
            None => Toolbox::standard(),
        }
    }

    fn system_prompt(&self, tools: &Toolbox, context: &ContextFiles) -> Result<String, Refusal> {
        let text = |value: &String| prompts::text_or_file(value).map_err(Refusal::config);
        let role = self.args.system_prompt.as_ref().map(text).transpose()?;
        let append =
            self.args.append_system_prompt.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n\n");
        let names: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
        let cwd = self.cwd.display().to_string();
        let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
        Ok(system_prompt(&PromptInputs {
            tools: &names,
            cwd: &cwd,
            date: &date,
            role: role.as_deref(),
            append: (!append.is_empty()).then_some(append.as_str()),
            context: &context.files,
        }))
    }
}

/// Flags go before everything else. A flag that names another provider or address leaves the
/// model of the settings behind: it would be a model of somebody else.
fn with_flags(mut settings: Settings, args: &Args) -> Settings {
    if args.provider.is_some() || args.base_url.is_some() {
        settings.model = None;
        settings.base_url = None;
        settings.api = None;
        settings.api_key = None;
    }
    if args.provider.is_some() {
        settings.provider.clone_from(&args.provider);
    } else if args.base_url.is_some() {
        settings.provider = None;
    }
    settings.model = args.model.clone().or(settings.model);
    settings.base_url = args.base_url.clone().or(settings.base_url);
    settings.api = args.api.or(settings.api);
    settings.thinking = args.thinking.or(settings.thinking);
    settings.theme = args.theme.clone().or(settings.theme);
    settings.session_dir = args.session_dir.clone().or(settings.session_dir);
    settings
}

/// The vendor a key on the command line is for.
fn vendor_of_flag(settings: &Settings, catalogue: &Catalogue) -> Option<String> {
    let named = || catalogue.find(settings.model.as_deref()?).ok().map(|model| model.provider.clone());
    catalogue.adhoc_provider().or_else(|| settings.provider.clone()).or_else(named)
}

fn working_directory(wanted: Option<&Path>) -> Result<PathBuf, Refusal> {
    if let Some(dir) = wanted {
        let fail = |error| Refusal { exit: Exit::Usage, text: format!("--cwd {}: {error}", dir.display()) };
        std::env::set_current_dir(dir).map_err(fail)?;
    }
    std::env::current_dir().map_err(|error| Refusal::config(format!("the working directory: {error}")))
}

/// The model that is asked for, else the first of a vendor that has a key, else none.
fn choose_model(
    settings: &Settings,
    catalogue: &Catalogue,
    keys: &Keys,
) -> Result<(Option<Arc<Model>>, Option<ThinkingLevel>), Refusal> {
    if let Some(query) = &settings.model {
        let query = match &settings.provider {
            Some(provider) if !query.starts_with(&format!("{provider}/")) => format!("{provider}/{query}"),
            _ => query.clone(),
        };
        let (model, level) = catalogue.find_for(keys, &query).map_err(Refusal::config)?;
        return Ok((Some(model), level));
    }
    if let Some(model) = catalogue.adhoc_model() {
        return Ok((Some(model), None));
    }
    let usable = catalogue.usable(keys);
    let vendor = settings.provider.as_ref().or(usable.first());
    Ok((vendor.and_then(|vendor| catalogue.default_model(vendor)), None))
}

/// The session that `wanted` names: a path, an id, or the beginning of one.
fn named_session(root: &Path, wanted: &str) -> Result<PathBuf, Refusal> {
    let path = Path::new(wanted);
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path.to_owned());
    }
    match list::with_id(root, wanted).as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Refusal::config(format!("there is no session {wanted}; `tau --resume` lists them"))),
        several => Err(Refusal::config(format!(
            "{} sessions begin with {wanted}; give more of the id",
            several.len()
        ))),
    }
}

/// `TAU_DEMO_SPEED=max` makes the demo answer without pauses, for measuring.
fn demo_pace() -> Pace {
    match std::env::var("TAU_DEMO_SPEED").as_deref() {
        Ok("max") => Pace::NONE,
        _ => Pace::default(),
    }
}
