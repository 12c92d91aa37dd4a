//! What is behind the wire: the models a client may choose from, the files it wants written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::catalogue::Catalogue;
use crate::agent::catalogue::keys::Keys;
use crate::agent::protocol::model::{Api, Model};
use crate::agent::protocol::query::SessionSource;
use crate::cli::export;

/// What `rpc` needs of the program around it.
pub trait RpcHost: Send {
    /// The model with this provider and id.
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>>;
    /// The models with credentials.
    fn available(&self) -> Vec<Arc<Model>>;
    /// Whether there are credentials for a model, or it needs no credentials.
    fn can_use(&self, model: &Model) -> bool;
    /// Exports a session to `file`, or to one named after it in `dir`; the path of the file.
    ///
    /// # Errors
    /// A message that says what to do.
    fn export(&self, session: &SessionSource, dir: &Path, file: Option<&Path>) -> Result<PathBuf, String>;
}

/// The models of the catalogue.
#[derive(Debug)]
pub(crate) struct CatalogueHost {
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
}

impl RpcHost for CatalogueHost {
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.catalogue.get(provider, id)
    }

    fn available(&self) -> Vec<Arc<Model>> {
        self.catalogue.configured(&self.keys)
    }

    fn can_use(&self, model: &Model) -> bool {
        model.api == Api::Scripted || self.catalogue.usable(&self.keys).contains(&model.provider)
    }

    fn export(&self, session: &SessionSource, dir: &Path, file: Option<&Path>) -> Result<PathBuf, String> {
        export::write(session, &export::ExportTarget::named(file, dir), &export::secrets(&self.keys))
            .map(|(path, _)| path)
    }
}
