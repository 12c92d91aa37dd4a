//! The model of a server that is configured by address alone.

use std::time::Duration;

use super::Setup;
use super::session_model::LOST;
use crate::compose::environment::{self, Connections, Environment, Guards, OnBadConfig};
use crate::process::exit::Refusal;
use crate::process::runtime;
use tau_agent::provider::FailureKind;
use tau_agent::settings::Settings;
use tau_agent::settings::value::BaseUrl;

/// Time limit for a server's list of models.
const LISTING: Duration = Duration::from_secs(2);

const NO_MODEL: &str = "no model is configured: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or \
                        pass --base-url and --model (--model demo needs neither)";

/// The model named by a server whose address was given without one. It is in no settings that are read.
#[derive(Clone)]
pub(super) struct ServerModel {
    reference: String,
    /// Address and provider, as configured.
    server: (Option<BaseUrl>, Option<String>),
}

impl ServerModel {
    fn new(reference: &str, settings: &Settings) -> Self {
        let server = (settings.base_url.clone(), settings.provider.clone());
        ServerModel { reference: reference.to_owned(), server }
    }

    /// Whether the settings have the same server.
    fn is_of(&self, settings: &Settings) -> bool {
        (&self.server.0, &self.server.1) == (&settings.base_url, &settings.provider)
    }
}

impl Setup {
    /// Whether a server must be asked for its models: an address was given, and no model.
    pub(crate) fn needs_server_model(&self) -> bool {
        !self.has_session_model && self.catalogue.unnamed_endpoint().is_some()
    }

    /// Adds the first model of the server whose address was given without a model; takes at most two seconds.
    /// A server that has no list, or does not answer, gets the name `default`, which servers of one model
    /// ignore. Fails when the server lists no model, or rejects the key.
    pub(crate) async fn with_server_model(mut self) -> Result<Self, Refusal> {
        let Some(endpoint) = self.catalogue.unnamed_endpoint().filter(|_| !self.has_session_model) else {
            return Ok(self);
        };
        let direct = environment::direct(&self.settings, Connections::WithAgent);
        let asking = environment::refresh(&self.catalogue, &self.keys, &direct, &endpoint.provider);
        let address = &endpoint.base_url;
        let trouble = match tokio::time::timeout(LISTING, asking).await {
            Ok(Ok(models)) => match models.first() {
                Some(first) => return self.with_reference(&format!("{}/{}", endpoint.provider, first.id)),
                None => {
                    let text = format!("{address} lists no models: load one there, or name one with --model");
                    return Err(Refusal::config(text));
                }
            },
            Ok(Err(failure)) if failure.kind == FailureKind::Auth => {
                return Err(Refusal::config(format!("{address} does not list its models: {failure}")));
            }
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => format!("no answer within {} seconds", LISTING.as_secs()),
        };
        let text = format!("cannot list the models of {address}: {trouble}; name one with --model");
        self.notices.push(text);
        Ok(self)
    }

    /// Adds the model that a server named to the previous or parallel setup.
    pub(super) fn keeping_server_model(mut self, old: &Setup) -> Result<Self, Refusal> {
        let Some(known) = old.server_model.clone().filter(|known| known.is_of(&self.settings)) else {
            return Ok(self);
        };
        if self.catalogue.unnamed_endpoint().is_some() {
            return self.with_reference(&known.reference);
        }
        self.server_model = Some(known);
        Ok(self)
    }

    fn with_reference(self, reference: &str) -> Result<Self, Refusal> {
        let server_model = ServerModel::new(reference, &self.settings);
        let settings = Settings { model: Some(reference.to_owned()), ..self.settings };
        // Files were read before, so their faults have been reported.
        let guards = Guards { rules: self.file_rules, settings_fault: self.settings_fault };
        let (args, mode) = (&self.args, OnBadConfig::Warn);
        let environment = Environment::with(self.paths, settings, args, mode, guards, Vec::new())?;
        let mut named = Self::choose(self.args, self.profile, environment, self.cwd, self.project)?;
        named.project_dir = self.project_dir;
        named.notices = self.notices;
        named.server_model = Some(server_model);
        Ok(named)
    }

    /// Adds the model, and refuses if no model is known. Asks the server for its models when an address was
    /// given without one, so this must not be called inside a runtime. The error is a message that names the
    /// setting to add.
    pub fn with_model(mut self) -> Result<Self, Refusal> {
        if self.needs_server_model() {
            self = runtime::on_this_thread()?.block_on(self.with_server_model())?;
        }
        match self.model {
            Some(_) => Ok(self),
            None => {
                let lost = self.notices.iter().find(|notice| notice.starts_with(LOST));
                let lost = lost.map(|notice| format!("{notice}; ")).unwrap_or_default();
                Err(Refusal::config(format!("{lost}{NO_MODEL}")))
            }
        }
    }

    /// Like [`Setup::with_model`] when a server must be asked; otherwise a model may be chosen later.
    pub(crate) fn with_model_if_asked(self) -> Result<Self, Refusal> {
        if self.needs_server_model() { self.with_model() } else { Ok(self) }
    }
}
