//! What every part of the command line begins with: folders, settings, models, keys.
//!
//! Read from arguments, environment and the person's files, in that order of weight. Nothing is
//! asked of a network here. What an agent needs besides is in `compose`.

use std::path::Path;
use std::sync::Arc;

use super::args::Args;
use super::exit::Exit;
use crate::agent::catalogue::user::{AdHoc, UserFile};
use crate::agent::catalogue::{Catalogue, listing};
use crate::agent::provider::Failure;
use crate::agent::provider::direct::Direct;
use crate::agent::provider::http::Http;
use crate::agent::settings::auth::{EnvLookup, KeySource, Keys};
use crate::agent::settings::trust::{Project, Trust};
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
    /// None where there are none.
    pub project: Option<Project>,
    /// Whether they are used.
    pub trust: Option<Trust>,
}

impl Local {
    fn of(args: &Args, paths: &Paths, cwd: Option<&Path>) -> Result<Self, SettingsError> {
        let Some(project) = cwd.and_then(Project::of) else { return Ok(Local::default()) };
        let trust = if args.trust { Trust::Trusted } else { project.trust(&paths.trust_file())? };
        Ok(Local { project: Some(project), trust: Some(trust) })
    }

    /// The project whose settings are used.
    pub fn trusted(&self) -> Option<&Project> {
        self.project.as_ref().filter(|_| self.trust == Some(Trust::Trusted))
    }

    /// Whether the person is to be asked.
    pub fn is_open(&self) -> bool {
        matches!(self.trust, Some(Trust::Unknown | Trust::Changed))
    }

    /// What is said where nobody can be asked.
    fn notice(&self, bad_file: BadFile) -> Option<String> {
        let names = self.project.as_ref()?.names().join(", ");
        let asked = bad_file == BadFile::Tell;
        (self.is_open() && !asked)
            .then(|| format!("not used, as this folder is not trusted: {names}; --trust uses them"))
    }
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
        let settings = match local.trusted().map(Project::settings).transpose() {
            Ok(project) => settings.with_project(project.unwrap_or_default()),
            Err(error) => {
                bad_file.tolerate(error.to_string(), &mut notices)?;
                settings
            }
        };
        notices.extend(local.notice(bad_file));
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
) -> Result<Vec<listing::Listed>, Failure> {
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
