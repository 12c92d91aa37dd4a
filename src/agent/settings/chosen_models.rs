//! The models that the user has marked as favourites or chosen lately, kept beside the logs: those that the
//! keys for the next and the previous model step through.

use serde::{Deserialize, Serialize};

use super::Paths;
use super::private_files::{LockFile, read_capped, write_private};

/// The file in the state folder.
const FILE: &str = "models.json";
/// Largest file that is read, in bytes; tau writes far less.
const MAX_BYTES: u64 = 64 << 10;
/// So many of the models that were chosen last are kept.
const MAX_RECENT: usize = 5;

/// Models as `provider/id`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChosenModels {
    /// In the order in which they were marked.
    pub favourites: Vec<String>,
    /// The last one that was chosen comes first.
    pub recent: Vec<String>,
}

impl ChosenModels {
    /// What is kept; nothing if it cannot be read.
    pub fn read(paths: &Paths) -> Self {
        let bytes = read_capped(&paths.state.join(FILE), MAX_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Changes what is kept, beside other processes that do.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn change(paths: &Paths, apply: impl FnOnce(&mut Self)) -> Result<(), String> {
        let path = paths.state.join(FILE);
        let failed = |error| format!("{}: {error}", path.display());
        let _lock = LockFile::take(&path.with_extension("json.lock")).map_err(failed)?;
        let mut chosen = Self::read(paths);
        apply(&mut chosen);
        let text = serde_json::to_string(&chosen).map_err(|error| error.to_string())?;
        write_private(&path, text.as_bytes()).map_err(failed)
    }

    /// Notes that the model was chosen.
    pub fn choose(&mut self, reference: &str) {
        self.recent.retain(|known| known != reference);
        self.recent.insert(0, reference.to_owned());
        self.recent.truncate(MAX_RECENT);
    }

    /// Marks the model as a favourite, or takes the mark away.
    pub fn mark(&mut self, reference: &str, favourite: bool) {
        self.favourites.retain(|known| known != reference);
        if favourite {
            self.favourites.push(reference.to_owned());
        }
    }

    /// All of them: favourites, then recent ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        let recent = self.recent.iter().filter(|reference| !self.is_favourite(reference));
        self.favourites.iter().chain(recent)
    }

    /// Whether it is one of them.
    pub(crate) fn contains(&self, reference: &str) -> bool {
        self.all().any(|known| known == reference)
    }

    /// Whether it is a favourite.
    pub fn is_favourite(&self, reference: &str) -> bool {
        self.favourites.iter().any(|known| known == reference)
    }
}
