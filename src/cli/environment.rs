//! What every part of the command line begins with: folders, settings, models, keys.
//!
//! Read from arguments, environment and the person's files, in that order of weight. Nothing is
//! asked of a network here. What an agent needs besides is in `compose`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::Args;
use super::exit::Exit;
use crate::agent::catalogue::user::{AdHoc, UserFile};
use crate::agent::catalogue::{Catalogue, listing};
use crate::agent::provider::Failure;
use crate::agent::provider::direct::Direct;
use crate::agent::provider::http::Http;
use crate::agent::settings::auth::{EnvLookup, KeySource, Keys};
use crate::agent::settings::folder::Folder;
use crate::agent::settings::trust::{PROMPT_FILES, Project, Trust};
use crate::agent::settings::{Paths, Settings, SettingsError};

/// Why the program cannot start: a sentence for the person, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub exit: Exit,
    pub text: String,
}

impl Refusal {
    /// A refusal for what is configured.
    pub fn config(error: impl std::fmt::Display) -> Self {
        Refusal { exit: Exit::Config, text: error.to_string() }
    }
}

/// Whether a file of settings that cannot be read stops the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFile {
    /// It does: nobody would see a notice.
    Refuse,
    /// It is told on the screen, and the defaults hold.
    Tell,
}

/// The settings of the folder that is worked in.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// The folders that bring settings along, the nearest last, and whether they are used.
    projects: Vec<(Project, Trust)>,
    /// The same as the person has seen them last: an answer is about these.
    shown: Vec<(Project, Trust)>,
}

impl Local {
    fn of(args: &Args, paths: &Paths, cwd: Option<&Path>) -> Result<Self, SettingsError> {
        let Some(cwd) = cwd else { return Ok(Local::default()) };
        let trust = |project: Project| {
            let trust = if args.trust { Trust::Trusted } else { project.trust(&paths.trust_file())? };
            Ok((project, trust))
        };
        let projects = Project::around(cwd, &paths.config).into_iter().map(trust);
        let projects: Vec<_> = projects.collect::<Result<_, SettingsError>>()?;
        Ok(Local { shown: projects.clone(), projects })
    }

    /// Looks at the folders again, to show them; those that are used stay as they were.
    ///
    /// # Errors
    /// When what is kept of earlier answers cannot be read.
    pub fn look_again(&mut self, args: &Args, paths: &Paths, cwd: &Path) -> Result<(), SettingsError> {
        self.shown = Local::of(args, paths, Some(cwd))?.shown;
        Ok(())
    }

    /// The project of a directory as the person has seen it last.
    pub fn shown(&self, root: &Path) -> Option<&Project> {
        self.shown.iter().map(|(project, _)| project).find(|project| project.root() == root)
    }

    /// The projects whose settings are used, the nearest last.
    pub fn trusted(&self) -> impl DoubleEndedIterator<Item = &Project> {
        self.projects.iter().filter(|(_, trust)| *trust == Trust::Trusted).map(|(project, _)| project)
    }

    /// The texts of the trusted projects that go into the prompt, the nearest first.
    pub fn prompt_files(&self) -> Vec<(PathBuf, String)> {
        let files = |project: &Project| PROMPT_FILES.map(|name| project.file(name).map(owned));
        let owned_files = self.trusted().rev().flat_map(files);
        owned_files.flatten().collect()
    }

    /// The folders as a person who works in `cwd` is shown them, the nearest last.
    ///
    /// # Errors
    /// When what is kept of earlier answers cannot be read.
    pub fn folders(&self, cwd: &Path, kept: &Path) -> Result<Vec<Folder>, SettingsError> {
        let folder = |(project, trust): &(Project, Trust)| Folder::of(project, *trust, cwd, kept);
        self.shown.iter().map(folder).collect()
    }

    /// What is said where nobody can be asked.
    fn notice(&self, bad_file: BadFile, cwd: Option<&Path>) -> Option<String> {
        if bad_file == BadFile::Tell {
            return None;
        }
        let cwd = cwd.and_then(|cwd| cwd.canonicalize().ok());
        let open = self.projects.iter().filter(|(_, trust)| matches!(trust, Trust::Unknown | Trust::Changed));
        let names = open.flat_map(|(project, _)| {
            let here = cwd.as_deref() == Some(project.root());
            let place =
                move |name: String| if here { name } else { project.root().join(name).display().to_string() };
            project.names().into_iter().map(place)
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| {
            format!("not used, as this folder is not trusted: {}; --trust uses them", names.join(", "))
        })
    }
}

fn owned((path, text): (PathBuf, &str)) -> (PathBuf, String) {
    (path, text.to_owned())
}

/// What is known before anything is started.
pub struct Known {
    pub paths: Paths,
    pub settings: Settings,
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
    /// What the person should know: settings that were passed over.
    pub notices: Vec<String>,
}

impl Known {
    /// Reads arguments, environment and settings.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub fn read(args: &Args, bad_file: BadFile) -> Result<Self, Refusal> {
        Self::load(args, bad_file, None).map(|(known, _)| known)
    }

    /// As [`Known::read`], with what the folder `cwd` sets, if it is trusted.
    ///
    /// # Errors
    /// As [`Known::read`].
    pub fn read_in(args: &Args, bad_file: BadFile, cwd: &Path) -> Result<(Self, Local), Refusal> {
        Self::load(args, bad_file, Some(cwd))
    }

    fn load(args: &Args, bad_file: BadFile, cwd: Option<&Path>) -> Result<(Self, Local), Refusal> {
        let paths = Paths::discover(std::env::var_os("TAU_HOME").as_deref().map(Path::new))
            .map_err(Refusal::config)?;
        let mut notices = Vec::new();
        let settings = match Settings::load(&paths) {
            Ok(settings) => settings,
            Err(error) => {
                bad_file.tolerate(error.to_string(), &mut notices)?;
                Settings::default()
            }
        };
        let local = match Local::of(args, &paths, cwd) {
            Ok(local) => local,
            Err(error) => {
                bad_file.tolerate(error.to_string(), &mut notices)?;
                Local::default()
            }
        };
        let mut settings = settings;
        for project in local.trusted() {
            match project.settings() {
                Ok(project) => settings = settings.with_project(project),
                Err(error) => bad_file.tolerate(error.to_string(), &mut notices)?,
            }
        }
        notices.extend(local.notice(bad_file, cwd));
        let settings = settings.with_env(&|name| std::env::var(name).ok()).map_err(Refusal::config)?;
        let known = Self::with(paths, with_flags(settings, args), args, bad_file, notices)?;
        Ok((known, local))
    }

    /// The models and keys for these settings.
    ///
    /// # Errors
    /// When `models.toml` is not understood and that is to be refused.
    pub fn with(
        paths: Paths,
        settings: Settings,
        args: &Args,
        bad_file: BadFile,
        mut notices: Vec<String>,
    ) -> Result<Self, Refusal> {
        let catalogue = match Catalogue::load(&paths, &settings, None) {
            Ok(catalogue) => catalogue,
            Err(error) => {
                bad_file.tolerate(error.to_string(), &mut notices)?;
                Catalogue::new(UserFile::default(), AdHoc::of(&settings)).with_lists(&paths)
            }
        };
        let catalogue = Arc::new(catalogue);
        let env: EnvLookup = Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let flag = args.api_key.clone().and_then(|key| Some((vendor_of_flag(&settings, &catalogue)?, key)));
        let keys = Arc::new(Keys::new(&paths, &settings, Arc::clone(&catalogue), env, flag));
        if let Err(failure) = keys.readable() {
            bad_file.tolerate(failure.to_string(), &mut notices)?;
        }
        Ok(Known { paths, settings, catalogue, keys, notices })
    }

    /// The way to the providers.
    pub fn direct(&self) -> Direct {
        direct(&self.settings)
    }
}

/// The way to the providers, as the settings want it.
pub fn direct(settings: &Settings) -> Direct {
    Direct::new(Arc::new(Http::new(settings.network())), settings.limits())
}

/// Asks a vendor's server for its models and keeps the answer; how many models it has that answer
/// messages.
///
/// # Errors
/// Those of the request, and `Config` when the address or the key is missing.
pub async fn refresh(
    catalogue: &Catalogue,
    keys: &Keys,
    direct: &Direct,
    vendor: &str,
) -> Result<Vec<listing::ServerModel>, Failure> {
    use crate::agent::provider::FailureKind;

    let Some(endpoint) = catalogue.endpoint(vendor) else {
        return Err(Failure::new(FailureKind::Config, format!("{vendor} has no address to ask")));
    };
    let key = keys.key(&endpoint).await?;
    let asked = listing::ask(direct.http(), &endpoint, key.clone()).await;
    let mut models = match (asked, key) {
        (Err(refusal), Some(key)) if refusal.kind == FailureKind::Auth => {
            let key = keys.renewed(&endpoint, &key).await?.ok_or(refusal)?;
            listing::ask(direct.http(), &endpoint, Some(key)).await?
        }
        (asked, _) => asked?,
    };
    if models.iter().any(|model| !model.is_other()) {
        models.retain(|model| !model.is_other());
    }
    if let Err(error) = catalogue.lists().keep(&endpoint, &models) {
        tracing::warn!(%error, vendor, "the list of models could not be kept");
    }
    Ok(models)
}

impl BadFile {
    fn tolerate(self, error: String, notices: &mut Vec<String>) -> Result<(), Refusal> {
        match self {
            BadFile::Refuse => Err(Refusal::config(error)),
            BadFile::Tell => {
                notices.push(error);
                Ok(())
            }
        }
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
