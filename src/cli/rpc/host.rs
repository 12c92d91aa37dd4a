//! The rpc front end's needs of the rest of the program: models, exports, project settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::commands::export;
use crate::compose::{AgentPrompt, Setup, reload};
use crate::process::exit::warn;
use tau_agent::catalogue::Catalogue;
use tau_agent::catalogue::keys::Keys;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::AgentCommand;
use tau_protocol::model::{Api, Model};
use tau_protocol::query::SessionSource;
use tau_tools::user_error::UserError;

/// The rpc front end's access to the program around it.
pub trait RpcHost: Send {
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>>;
    /// The models with credentials.
    fn available(&self) -> Vec<Arc<Model>>;
    /// Whether there are credentials for a model, or it needs no credentials.
    fn can_use(&self, model: &Model) -> bool;
    /// Exports a session to `file`, or to a file named after it in `dir`; returns the path of the file.
    fn export(&self, session: &SessionSource, dir: &Path, file: Option<&Path>) -> Result<PathBuf, UserError>;
    /// The most permissive mode that the client can choose.
    fn mode_ceiling(&self) -> PermissionMode {
        PermissionMode::Auto
    }
    /// Applies the project settings of `dir`, in which the open session runs: returns commands for the agent.
    /// None if they apply already.
    fn enter_directory(&mut self, dir: &Path) -> Vec<AgentCommand>;
}

/// The models, keys and settings of the program.
pub(crate) struct SetupHost {
    /// The catalogue at the start, regardless of the session's directory.
    catalogue: Arc<Catalogue>,
    keys: Arc<Keys>,
    mode_ceiling: PermissionMode,
    /// With the current project settings.
    setup: Setup,
    prompt: AgentPrompt,
}

impl SetupHost {
    /// The host of an agent that was composed from `setup` and has this prompt.
    pub fn new(setup: Setup, prompt: AgentPrompt) -> Self {
        let (catalogue, keys) = (Arc::clone(&setup.catalogue), Arc::clone(&setup.keys));
        SetupHost { catalogue, keys, mode_ceiling: setup.first_mode(), setup, prompt }
    }
}

impl RpcHost for SetupHost {
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.catalogue.get(provider, id)
    }

    fn available(&self) -> Vec<Arc<Model>> {
        self.catalogue.usable_models(&self.keys)
    }

    fn can_use(&self, model: &Model) -> bool {
        model.api == Api::Scripted || self.catalogue.usable(&self.keys).contains(&model.provider)
    }

    fn mode_ceiling(&self) -> PermissionMode {
        self.mode_ceiling
    }

    fn export(&self, session: &SessionSource, dir: &Path, file: Option<&Path>) -> Result<PathBuf, UserError> {
        export::write(session, &export::ExportTarget::for_file(file, dir), &export::secrets(&self.keys))
            .map(|(path, _)| path)
    }

    fn enter_directory(&mut self, dir: &Path) -> Vec<AgentCommand> {
        match reload::in_directory(&self.setup, &self.prompt, dir) {
            Ok(None) => Vec::new(),
            Ok(Some((new, applied))) => {
                let old = std::mem::replace(&mut self.setup, new);
                let unused = self.setup.project.notice(Some(&self.setup.cwd));
                let notices = self.setup.notices.iter().filter(|notice| !old.notices.contains(notice));
                notices.chain(&unused).for_each(|notice| warn(notice));
                applied.commands
            }
            Err(refusal) => {
                warn(&format!("cannot use the settings of {}: {}", dir.display(), refusal.text));
                Vec::new()
            }
        }
    }
}
