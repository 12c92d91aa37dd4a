//! Lists of models: the available ones, those without a key, and those of servers on this machine.

use std::sync::Arc;

use super::Services;
use crate::compose::local_servers;
use tau_agent::catalogue::demo;
use tau_agent::catalogue::providers::LOCAL_SERVERS;
use tau_agent::catalogue::user::AdHoc;
use tau_app::request::{KeylessModel, LocalModelServer};
use tau_protocol::model::Model;

impl Services {
    /// The available models; the demo is always one.
    pub(super) fn usable_models(&self) -> Vec<Arc<Model>> {
        let mut models = self.keys.catalogue().usable_models(&self.keys);
        models.extend(self.served.lock().iter().cloned());
        models.push(Arc::new(demo()));
        models
    }

    /// The models whose provider has no key.
    pub(super) fn keyless_models(&self) -> Vec<KeylessModel> {
        let usable = self.keys.catalogue().usable(&self.keys);
        let needs = |model: &&Arc<Model>| !usable.contains(&model.provider);
        let row = |model: &Arc<Model>| KeylessModel {
            reference: model.reference(),
            provider: model.provider.clone(),
            needs: self.keys.catalogue().key_requirement(&model.provider),
        };
        self.keys.catalogue().models().iter().filter(needs).map(row).collect()
    }

    /// The model servers on this machine; their models are available from now on.
    pub(super) async fn find_servers(&self) -> Vec<LocalModelServer> {
        let found = local_servers::local_servers(&LOCAL_SERVERS).await;
        let mut served = Vec::new();
        for server in &found {
            let endpoint = AdHoc::local(&server.name, server.port, None).model();
            // The next start has them, too. Without the list it only has their names.
            if let Err(error) = self.keys.catalogue().lists().keep(&endpoint, &server.models) {
                tracing::warn!(%error, "cannot keep the models of {}", server.name);
            }
            served.extend(server.models.iter().map(|said| Arc::new(said.clone().model(&endpoint))));
        }
        *self.served.lock() = served;
        let row = |server: local_servers::LocalServer| LocalModelServer {
            name: server.name,
            base_url: server.base_url,
            models: server.models.into_iter().map(|model| model.id).collect(),
        };
        found.into_iter().map(row).collect()
    }
}
