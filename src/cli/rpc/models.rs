//! The models a client may choose from.

use std::sync::Arc;

use crate::agent::catalogue::Catalogue;
use crate::agent::model::{Api, Model};
use crate::agent::settings::auth::Keys;

/// What `rpc` asks about models.
pub trait Models: Send {
    /// The model of that vendor and id.
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>>;
    /// The models with credentials.
    fn available(&self) -> Vec<Arc<Model>>;
    /// Whether there are credentials for a model, or it needs none.
    fn can_use(&self, model: &Model) -> bool;
}

/// The models of the catalogue.
#[derive(Debug)]
pub struct Known {
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
}

impl Models for Known {
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.catalogue.get(provider, id)
    }

    fn available(&self) -> Vec<Arc<Model>> {
        self.catalogue.configured(&self.keys)
    }

    fn can_use(&self, model: &Model) -> bool {
        model.api == Api::Scripted || self.catalogue.usable(&self.keys).contains(&model.provider)
    }
}
