//! The program around an agent: its settings files and its models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::session_model::find_usable;
use super::{permission_rules, sandbox};
use crate::args::CliArgs;
use tau_agent::catalogue::keys::Keys;
use tau_agent::engine::host::{Host, RuleEdit, SavedRule};
use tau_agent::permissions::Permissions;
use tau_agent::settings::Paths;
use tau_protocol::model::Model;
use tau_tools::user_error::UserError;

/// The settings files and the models of this program.
#[derive(Debug)]
pub struct ProgramHost {
    pub args: CliArgs,
    pub paths: Paths,
    /// The folder of the sessions, if they are stored.
    pub session_dir: Option<PathBuf>,
    pub keys: Arc<Keys>,
    /// The rules that were read last.
    pub rules: Arc<Mutex<Permissions>>,
}

/// The model with any name that users give it. The error says why there is no such model, or what it needs.
pub(crate) fn model_by_name(keys: &Keys, name: &str) -> Result<Arc<Model>, UserError> {
    let catalogue = keys.catalogue();
    let model = catalogue.find(name).map_err(UserError::of)?;
    find_usable(&catalogue, keys, &model.provider, &model.id)
}

impl Host for ProgramHost {
    fn read_rules(&self, cwd: &Path) -> Option<Result<Permissions, UserError>> {
        let read = permission_rules::read_again(&self.args, &self.paths, self.session_dir.as_deref(), cwd);
        read.iter().for_each(|rules| self.rules.lock().clone_from(rules));
        Some(read)
    }

    fn save_rule(&self, edit: &RuleEdit, cwd: &Path) -> Result<SavedRule, UserError> {
        permission_rules::save(&self.args, &self.paths, edit, cwd)
    }

    fn model_by_name(&self, name: &str) -> Option<Result<Arc<Model>, UserError>> {
        Some(model_by_name(&self.keys, name))
    }

    fn cheap_model(&self, model: &Model) -> Option<Arc<Model>> {
        let catalogue = self.keys.catalogue();
        let found = catalogue.cheap_model(model)?;
        find_usable(&catalogue, &self.keys, &found.provider, &found.id).ok()
    }

    fn save_writable(&self, path: &Path) -> Result<(), UserError> {
        sandbox::save_writable(&self.paths, path)
    }
}
