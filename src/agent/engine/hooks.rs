//! Functions of the embedding program that change requests to the model.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::request;
use crate::engine::base::panics::catch_panic;
use crate::provider::{Failure, FailureKind};
use tau_protocol::message::Message;
use tau_protocol::model::Model;

type TransformedMessages = Pin<Box<dyn Future<Output = Vec<Arc<Message>>> + Send>>;
type Transform = dyn Fn(Vec<Arc<Message>>, Arc<Model>) -> TransformedMessages + Send + Sync;
type SystemPrompt = dyn Fn(&Path) -> Arc<str> + Send + Sync;
type Convert = dyn Fn(&[Arc<Message>], &Model) -> Vec<Arc<Message>> + Send + Sync;

/// Functions that change requests to the model. They never change the session.
#[derive(Clone, Default)]
pub struct Hooks {
    transform: Option<Arc<Transform>>,
    convert: Option<Arc<Convert>>,
    system_prompt: Option<Arc<SystemPrompt>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (transform, convert) = (self.transform.is_some(), self.convert.is_some());
        f.debug_struct("Hooks").field("transform", &transform).field("convert", &convert).finish()
    }
}

impl Hooks {
    /// Calls `hook` before each request with the messages of the session; it returns the messages to send,
    /// and may drop or add some. It is dropped when the run is stopped.
    pub fn transform<F, M>(mut self, hook: F) -> Self
    where
        F: Fn(Vec<Arc<Message>>, Arc<Model>) -> M + Send + Sync + 'static,
        M: Future<Output = Vec<Arc<Message>>> + Send + 'static,
    {
        self.transform = Some(Arc::new(move |messages, model| Box::pin(hook(messages, model))));
        self
    }

    /// Calls `hook` before each request to turn the conversation into provider messages (user, assistant,
    /// tool result). Without this hook [`request::for_request`] does that: it leaves out messages that only
    /// the user sees, and makes the conversation valid for the model. A hook that treats only some messages
    /// differently can call it for the rest.
    pub fn convert(
        mut self,
        hook: impl Fn(&[Arc<Message>], &Model) -> Vec<Arc<Message>> + Send + Sync + 'static,
    ) -> Self {
        self.convert = Some(Arc::new(hook));
        self
    }

    /// Calls `hook` for the system prompt of a directory after each compaction, and when a session of another
    /// directory is opened: the sources of the prompt may have changed, and the provider's cache is invalid
    /// then anyway.
    pub fn system_prompt(mut self, hook: impl Fn(&Path) -> Arc<str> + Send + Sync + 'static) -> Self {
        self.system_prompt = Some(Arc::new(hook));
        self
    }

    /// The hooks of an agent whose system prompt does not change.
    pub(crate) fn without_system_prompt(self) -> Self {
        Hooks { system_prompt: None, ..self }
    }

    /// The current system prompt for that directory; `None` without such a hook.
    pub(crate) fn current_prompt(&self, cwd: &Path) -> Option<Arc<str>> {
        self.system_prompt.as_ref().map(|hook| hook(cwd))
    }

    /// Applies both message hooks. A hook that panics fails the request.
    pub(crate) async fn apply(
        self,
        messages: Vec<Arc<Message>>,
        model: Arc<Model>,
    ) -> Result<Vec<Arc<Message>>, Failure> {
        let applied = catch_panic(async {
            let messages = match &self.transform {
                Some(transform) => transform(messages, Arc::clone(&model)).await,
                None => messages,
            };
            match &self.convert {
                Some(convert) => convert(&messages, &model),
                None => request::for_request(&messages, &model),
            }
        });
        let crashed = |why| Failure::new(FailureKind::Config, format!("a context hook crashed: {why}"));
        applied.await.map_err(crashed)
    }
}
