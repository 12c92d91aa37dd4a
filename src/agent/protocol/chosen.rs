//! The user's choices on the screen that outlive a session: the permission mode and models.

use serde::{Deserialize, Serialize};

use super::approval::PermissionMode;
use tau_tools::sandbox::SandboxLevel;

/// The number of recently chosen models that are kept.
const MAX_RECENT: usize = 5;

/// The chosen mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenMode {
    pub mode: PermissionMode,
    /// The sandbox level chosen with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
}

impl ChosenMode {
    /// The mode `auto` in a sandbox where commands change only the workspace.
    pub const SANDBOXED: ChosenMode =
        ChosenMode { mode: PermissionMode::Auto, sandbox: Some(SandboxLevel::WorkspaceWrite) };
}

/// Models as `provider/id`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChosenModels {
    /// In the order in which they were marked.
    pub favourites: Vec<String>,
    /// Most recently chosen first.
    pub recent: Vec<String>,
}

impl ChosenModels {
    /// Records that the model was chosen.
    pub fn choose(&mut self, reference: &str) {
        self.recent.retain(|known| known != reference);
        self.recent.insert(0, reference.to_owned());
        self.recent.truncate(MAX_RECENT);
    }

    /// Marks or unmarks the model as a favourite.
    pub fn mark(&mut self, reference: &str, favourite: bool) {
        self.favourites.retain(|known| known != reference);
        if favourite {
            self.favourites.push(reference.to_owned());
        }
    }

    /// All models: favourites, then recent ones.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        let recent = self.recent.iter().filter(|reference| !self.is_favourite(reference));
        self.favourites.iter().chain(recent)
    }

    /// True if the model is in one of the lists.
    pub fn contains(&self, reference: &str) -> bool {
        self.all().any(|known| known == reference)
    }

    /// True if the model is a favourite.
    pub fn is_favourite(&self, reference: &str) -> bool {
        self.favourites.iter().any(|known| known == reference)
    }
}
