//! The composition: from arguments, environment and files to an agent that can be started.
//!
//! In two steps, so that the screen need not wait: [`Setup`] reads only what the first frame
//! shows (settings, the model's name); [`Setup::agent`] does what may take longer (instruction
//! files, the session). Settings of flags go before the environment, that before `config.toml`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::args::{Args, Front, Terminals};
use super::environment;
pub use super::environment::{BadFile, Refusal};
use super::environment::{Known, Local};
use super::exit::Exit;
use super::{prompts, sessions};
use crate::agent::catalogue::{self, Catalogue};
use crate::agent::context::prompt_source::{InstructionMode, PromptSource};
use crate::agent::demo::{DemoTransport, Pace};
use crate::agent::engine::behavior::Behavior;
use crate::agent::engine::config::{AgentConfig, SessionPlace};
use crate::agent::engine::hooks::Hooks;
use crate::agent::engine::tool_registry::ToolRegistry;
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::agent::protocol::run::{OnRepeat, RetryMode, RunLimits, SteerMode};
use crate::agent::provider::FailureKind;
use crate::agent::provider::key_refresh::KeyRefresh;
use crate::agent::provider::scripted::Router;
use crate::agent::session::Session;
use crate::agent::settings::auth::Keys;
use crate::agent::settings::folder::Folder;
use crate::agent::settings::{Paths, Settings};
use crate::tools::Toolbox;
use crate::tools::bash::Bash;
use crate::tools::process::ChildEnv;
use crate::tools::scratch::Scratch;

/// Tries of one request after the first.
const RETRIES: u32 = 4;
/// How long a server may take to say which models it has.
const LISTING: Duration = Duration::from_secs(2);

/// What is known before anything is started.
#[derive(Clone)]
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
    /// The settings of folders, and whether they are used.
    pub project: Local,
    /// What the prompt is made of at present; the agent that was started has the same.
    source: Arc<Mutex<PromptSource>>,
}

impl Setup {
    /// Reads arguments, environment and settings.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub fn read(args: Args, bad_file: BadFile) -> Result<Self, Refusal> {
        let cwd = working_directory(args.cwd.as_deref())?;
        let (known, project) = Known::read_in(&args, bad_file, &cwd)?;
        Self::choose(args, known, cwd, project)
    }

    /// As it is now that the person may have said something else of a folder's settings.
    ///
    /// # Errors
    /// As [`Setup::read`].
    pub fn anew(&self) -> Result<Self, Refusal> {
        let (known, project) = Known::read_in(&self.args, BadFile::Tell, &self.cwd)?;
        let mut new = Self::choose(self.args.clone(), known, self.cwd.clone(), project)?;
        new.source = Arc::clone(&self.source);
        Ok(new)
    }

    /// The folders that bring settings along, as they are now, for the person to look at; what
    /// holds stays as it is.
    ///
    /// # Errors
    /// When what is kept of earlier answers cannot be read.
    pub fn look_again(&mut self) -> Result<Vec<Folder>, Refusal> {
        let file = self.paths.trust_file();
        self.project.look_again(&self.args, &self.paths, &self.cwd).map_err(Refusal::config)?;
        self.project.folders(&self.cwd, &file).map_err(Refusal::config)
    }

    /// Makes the agent's prompt of this from now on; its text, when it is another.
    ///
    /// # Errors
    /// When a file that a flag names cannot be read.
    pub fn renew_prompt(&self) -> Result<Option<String>, Refusal> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let before = source.read().text;
        // The date stays that of the start, the directory that of the session.
        let (date, cwd) = (source.date.clone(), source.cwd.clone());
        *source = PromptSource { date, cwd, ..self.prompt(&self.tools()?)? };
        let text = source.read().text;
        Ok((text != before).then_some(text))
    }

    fn choose(args: Args, known: Known, cwd: PathBuf, project: Local) -> Result<Self, Refusal> {
        let Known { paths, settings, catalogue, keys, notices } = known;
        let (model, level) = choose_model(&settings, &catalogue, &keys)?;
        let wished = settings.thinking.or(level).unwrap_or_default();
        let thinking = model.as_ref().map_or(wished, |model| model.nearest(wished));
        Ok(Setup {
            args,
            paths,
            settings,
            catalogue,
            keys,
            cwd,
            model,
            thinking,
            demo: false,
            notices,
            project,
            source: Arc::default(),
        })
    }

    /// Whether a server is to be asked which models it has: an address was given, and no model.
    pub fn unnamed(&self) -> bool {
        self.catalogue.unnamed().is_some()
    }

    /// The same with the first model of the server whose address was given without a model; takes
    /// at most two seconds. A server that has no list, or does not answer, gets the name
    /// `default`, which servers of one model do not look at.
    ///
    /// # Errors
    /// When the server lists no model, or does not take the key.
    pub async fn named(mut self) -> Result<Self, Refusal> {
        let Some(endpoint) = self.catalogue.unnamed() else { return Ok(self) };
        let direct = environment::direct(&self.settings);
        let asking = environment::refresh(&self.catalogue, &self.keys, &direct, &endpoint.provider);
        let address = &endpoint.base_url;
        let trouble = match tokio::time::timeout(LISTING, asking).await {
            Ok(Ok(models)) => match models.first() {
                Some(first) => return self.with_model_named(&format!("{}/{}", endpoint.provider, first.id)),
                None => {
                    let text = format!("{address} lists no models; load one there, or name one with --model");
                    return Err(Refusal::config(text));
                }
            },
            Ok(Err(failure)) if failure.kind == FailureKind::Auth => {
                return Err(Refusal::config(format!("{address} does not list its models: {failure}")));
            }
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => format!("no answer within {} seconds", LISTING.as_secs()),
        };
        let text = format!("the models of {address} are not known ({trouble}); name one with --model");
        self.notices.push(text);
        Ok(self)
    }

    fn with_model_named(self, model: &str) -> Result<Self, Refusal> {
        let settings = Settings { model: Some(model.to_owned()), ..self.settings };
        // Files were read before, so what is wrong with them has been told.
        let known = Known::with(self.paths, settings, &self.args, BadFile::Tell, Vec::new())?;
        let mut named = Self::choose(self.args, known, self.cwd, self.project)?;
        named.source = self.source;
        named.notices = self.notices;
        Ok(named)
    }

    /// The same, refused when there is no model. Asks the server which it has when an address was
    /// given without a model, so this must not be called inside a runtime.
    ///
    /// # Errors
    /// A sentence that says what to set.
    pub fn with_model(mut self) -> Result<Self, Refusal> {
        if self.unnamed() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            self = runtime.map_err(Refusal::config)?.block_on(self.named())?;
        }
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

    /// The files that make the system prompt, as far as they are there.
    pub fn instructions(&self) -> Vec<PathBuf> {
        let prompt = self.tools().and_then(|tools| self.prompt(&tools));
        prompt.map(|source| source.read().files).unwrap_or_default()
    }

    /// The folder of this directory's session files; none when nothing is to be kept.
    pub fn session_dir(&self) -> Option<PathBuf> {
        (!self.args.no_session).then(|| self.settings.session_dir_for(&self.paths, &self.cwd))
    }

    /// The session that the arguments ask for: an earlier one, or a new one.
    ///
    /// # Errors
    /// When there is none such, when it cannot be opened as it is, or its directory is gone.
    pub fn session(&self) -> Result<Session, Refusal> {
        sessions::open(self)
    }

    /// As [`Setup::session`], for a person who can be asked: where the session cannot be opened as
    /// it is, a new one, and the path of the other to be offered.
    ///
    /// # Errors
    /// When there is none such.
    pub fn session_or_offer(&self) -> Result<(Session, Option<PathBuf>), Refusal> {
        sessions::open_or_offer(self)
    }

    /// Everything an agent starts with. Reads instruction files. Also what people should know.
    ///
    /// # Errors
    /// When a file that a flag names cannot be read.
    pub fn agent(&self, session: Session) -> Result<(AgentConfig, Vec<String>), Refusal> {
        let tools = self.tools()?;
        let mut source = self.prompt(&tools)?;
        // A session runs in its own directory, wherever the program was started.
        let own = &session.info().cwd;
        if own.is_dir() {
            source.cwd.clone_from(own);
        }
        let mut prompt = source.read();
        if source.cwd != self.cwd {
            let files: Vec<String> = prompt.files.iter().map(|path| path.display().to_string()).collect();
            let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
            prompt.notices.push(format!("this session runs in {}; instructions: {files}", own.display()));
        }
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = source;
        let secrets: Vec<String> =
            self.keys.known_values().iter().map(|key| key.expose().to_owned()).collect();
        let env = ChildEnv::new(&secrets, &self.settings.pass_env, &session.info().id);
        let catalogue = Arc::clone(&self.catalogue);
        let scratch = Scratch::new(&std::env::temp_dir()).map_err(Refusal::config)?;
        let shell = self.settings.shell.clone().unwrap_or_else(|| PathBuf::from("bash"));
        let config = AgentConfig {
            transport: Arc::new(Router::new(
                Arc::new(DemoTransport { pace: demo_pace() }),
                Arc::new(KeyRefresh::new(
                    Arc::new(environment::direct(&self.settings)),
                    Arc::clone(&self.keys) as _,
                )),
            )),
            keys: Arc::clone(&self.keys) as _,
            tools,
            model: self.model.clone(),
            thinking: self.thinking,
            place: SessionPlace { dir: self.session_dir(), cwd: self.cwd.clone() },
            session,
            system: prompt.text.into(),
            scratch: Arc::new(scratch),
            env: Arc::new(env),
            shell,
            bash_timeout: self.settings.bash_timeout,
            find_model: Arc::new(move |provider, id| catalogue.get(provider, id)),
            max_retries: RETRIES,
            retry_mode: match self.args.front(Terminals::here()) {
                Front::Screen | Front::Rpc => RetryMode::Interactive,
                Front::Print | Front::Json => RetryMode::Headless,
            },
            limits: RunLimits {
                turns: self.args.max_turns,
                dollars: self.args.max_cost,
                // The front ends hold `--timeout`, since it is for all prompts together.
                ..RunLimits::default()
            },
            behavior: self.behavior(),
            compaction: self.settings.room(),
        };
        Ok((config, prompt.notices))
    }

    /// On the RPC wire all calls of a turn are carried out before steering is looked at; only
    /// the person in front of a screen is asked anything.
    fn behavior(&self) -> Behavior {
        let source = Arc::clone(&self.source);
        let reread = move |cwd: &Path| {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            source.cwd = cwd.to_owned();
            source.read().text.into()
        };
        let front = self.args.front(Terminals::here());
        Behavior {
            steer: match front {
                Front::Rpc => SteerMode::AfterTurnCalls,
                Front::Screen | Front::Print | Front::Json => SteerMode::SkipRemaining,
            },
            on_repeat: match front {
                Front::Screen => OnRepeat::Ask,
                Front::Rpc | Front::Print | Front::Json => OnRepeat::Stop,
            },
            hooks: Hooks::default().system_prompt(reread),
            tools: self.tool_registry(),
            ..Behavior::default()
        }
    }

    /// The tools that may be turned on later.
    fn tool_registry(&self) -> ToolRegistry {
        let registry = ToolRegistry::default();
        for tool in self.with_shell(Toolbox::all()).iter() {
            registry.register(Arc::clone(tool));
        }
        registry
    }

    /// The tools that are on.
    ///
    /// # Errors
    /// When one of those that are named does not exist.
    pub fn tools(&self) -> Result<Toolbox, Refusal> {
        if self.args.no_tools {
            return Ok(Toolbox::empty());
        }
        let refuse = |exit, text| Refusal { exit, text };
        let tools = match (&self.args.tools, &self.settings.tools) {
            (Some(names), _) => {
                Toolbox::named(names).map_err(|text| refuse(Exit::Usage, format!("--tools: {text}")))
            }
            (None, Some(names)) => Toolbox::named(names)
                .map_err(|text| refuse(Exit::Config, format!("the setting `tools`: {text}"))),
            (None, None) => Ok(Toolbox::standard()),
        }?;
        Ok(self.with_shell(tools))
    }

    /// The shell that is set replaces the usual one, where there is one at all.
    fn with_shell(&self, tools: Toolbox) -> Toolbox {
        match self.settings.shell.as_ref().filter(|_| tools.get("bash").is_some()) {
            Some(shell) => tools.with(Arc::new(Bash::with_shell(shell))),
            None => tools,
        }
    }

    /// What the system prompt is made of.
    fn prompt(&self, tools: &Toolbox) -> Result<PromptSource, Refusal> {
        let text = |value: &String| prompts::text_or_file(value).map_err(Refusal::config);
        let append =
            self.args.append_system_prompt.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n\n");
        Ok(PromptSource {
            tools: tools.specs().into_iter().map(|spec| spec.name).collect(),
            cwd: self.cwd.clone(),
            date: jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
            shell: self.settings.shell.clone(),
            role: self.args.system_prompt.as_ref().map(text).transpose()?,
            append: (!append.is_empty()).then_some(append),
            config: self.paths.config.clone(),
            project: self.project.prompt_files(),
            instructions: match self.args.no_context_files {
                true => InstructionMode::Skip,
                false => InstructionMode::Read,
            },
        })
    }
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

/// `TAU_DEMO_SPEED=max` makes the demo answer without pauses, for measuring.
fn demo_pace() -> Pace {
    match std::env::var("TAU_DEMO_SPEED").as_deref() {
        Ok("max") => Pace::NONE,
        _ => Pace::default(),
    }
}
