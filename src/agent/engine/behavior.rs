//! How an agent behaves where there is a choice: steering, queues, budgets, repetition, hooks.
//!
//! Data and functions that the caller gives; what they lead to is in `run`, `calls` and `turn`.
//! The defaults are those of a program that embeds the agent and has nobody to ask.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};

use crate::agent::context::request;
use crate::agent::protocol::message::Message;
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::agent::provider::{Failure, FailureKind};
use crate::tools::{AnyTool, Toolbox};

/// What steering does to the calls of the turn it arrives in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerMode {
    /// Looked at after each call that ends: calls that have not started are skipped, and their
    /// results say so.
    #[default]
    SkipRemaining,
    /// All calls of the turn are carried out first: the contract of the RPC wire.
    AfterTurnCalls,
}

/// How many messages leave a queue at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// One, and the model answers before the next.
    #[default]
    OneAtATime,
    /// All that wait.
    All,
}

/// What happens when a model repeats itself in spite of a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnRepeat {
    /// The run ends.
    #[default]
    Stop,
    /// The person is asked whether it is to go on.
    Ask,
}

/// Tokens to think with, by level; levels that are not in it have the format's own.
pub type Budgets = BTreeMap<ThinkingLevel, u64>;

/// The choices.
#[derive(Clone, Debug, Default)]
pub struct Conduct {
    pub steer: SteerMode,
    /// Mode of the steering queue.
    pub steering: QueueMode,
    /// Mode of the queue of follow-ups.
    pub follow_up: QueueMode,
    pub on_repeat: OnRepeat,
    pub budgets: Budgets,
    pub hooks: Hooks,
    /// The tools that `AgentCommand::SetTools` can name, beside those the agent starts with.
    pub shelf: Shelf,
}

/// The messages a hook makes.
pub type Messages = Pin<Box<dyn Future<Output = Vec<Arc<Message>>> + Send>>;
type Transform = dyn Fn(Vec<Arc<Message>>, Arc<Model>) -> Messages + Send + Sync;
type Reread = dyn Fn(&Path) -> Arc<str> + Send + Sync;
type Convert = dyn Fn(&[Arc<Message>], &Model) -> Vec<Arc<Message>> + Send + Sync;

/// What is done to the conversation before every request. The session is never changed by it.
#[derive(Clone, Default)]
pub struct Hooks {
    transform: Option<Arc<Transform>>,
    convert: Option<Arc<Convert>>,
    reread: Option<Arc<Reread>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (transform, convert) = (self.transform.is_some(), self.convert.is_some());
        f.debug_struct("Hooks").field("transform", &transform).field("convert", &convert).finish()
    }
}

impl Hooks {
    /// Before each request, `hook` gets the messages of the session and gives those to be sent:
    /// it may prune or inject. It is dropped when the run is stopped.
    pub fn transform<F, M>(mut self, hook: F) -> Self
    where
        F: Fn(Vec<Arc<Message>>, Arc<Model>) -> M + Send + Sync + 'static,
        M: Future<Output = Vec<Arc<Message>>> + Send + 'static,
    {
        self.transform = Some(Arc::new(move |messages, model| Box::pin(hook(messages, model))));
        self
    }

    /// Before each request, `hook` makes provider messages (user, assistant, tool result) of the
    /// conversation. Without one, [`request::for_request`] does: what is for people only is left
    /// out, and the conversation is made valid for the model. A hook that only wants to treat some
    /// messages otherwise calls that for the rest.
    pub fn convert(
        mut self,
        hook: impl Fn(&[Arc<Message>], &Model) -> Vec<Arc<Message>> + Send + Sync + 'static,
    ) -> Self {
        self.convert = Some(Arc::new(hook));
        self
    }

    /// After each compaction, and when a session of another directory is opened, `hook` gives the
    /// system prompt for the directory anew: what it is made of may have changed, and the
    /// provider's cache is of no use then anyway.
    pub fn reread(mut self, hook: impl Fn(&Path) -> Arc<str> + Send + Sync + 'static) -> Self {
        self.reread = Some(Arc::new(hook));
        self
    }

    /// The system prompt for that directory, made anew; none when it stays.
    pub(crate) fn prompt_anew(&self, cwd: &Path) -> Option<Arc<str>> {
        self.reread.as_ref().map(|hook| hook(cwd))
    }

    /// Both hooks on messages, one after the other. A hook that panics is a failure of the request.
    pub(crate) async fn apply(
        self,
        messages: Vec<Arc<Message>>,
        model: Arc<Model>,
    ) -> Result<Vec<Arc<Message>>, Failure> {
        let hooks = async {
            let messages = match &self.transform {
                Some(transform) => transform(messages, Arc::clone(&model)).await,
                None => messages,
            };
            match &self.convert {
                Some(convert) => convert(&messages, &model),
                None => request::for_request(&messages, &model),
            }
        };
        AssertUnwindSafe(hooks).catch_unwind().await.map_err(|panic| {
            let text = format!("a context hook crashed: {}", super::task::panic_text(&*panic));
            Failure::new(FailureKind::Config, text)
        })
    }
}

/// Tools by name. A command names the tools that are to be on, so that it stays data; the tools
/// themselves lie here. Clones share what is in it.
#[derive(Clone, Default)]
pub struct Shelf(Arc<Mutex<Vec<Arc<dyn AnyTool>>>>);

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl Shelf {
    /// Adds a tool; one of the same name is replaced, but stays on where it is on.
    pub fn put(&self, tool: Arc<dyn AnyTool>) {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tools.retain(|known| known.spec().name != tool.spec().name);
        tools.push(tool);
    }

    /// Adds those of `toolbox` that are not here by name.
    pub(crate) fn stock(&self, toolbox: &Toolbox) {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in toolbox.iter() {
            if !tools.iter().any(|known| known.spec().name == tool.spec().name) {
                tools.push(Arc::clone(tool));
            }
        }
    }

    /// The tools of these names, in this order, and the names of which there is none.
    pub(crate) fn pick(&self, names: &[String]) -> (Toolbox, Vec<String>) {
        let tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing = Vec::new();
        let mut picked = Toolbox::empty();
        for name in names {
            match tools.iter().find(|tool| tool.spec().name == *name) {
                Some(tool) => picked = picked.with(Arc::clone(tool)),
                None => missing.push(name.clone()),
            }
        }
        (picked, missing)
    }
}

/// The model with these budgets among its quirks, where the wire formats look for them.
pub(crate) fn budgeted(model: &Arc<Model>, budgets: &Budgets) -> Arc<Model> {
    if budgets.is_empty() {
        return Arc::clone(model);
    }
    let mut own = Model::clone(model);
    let table: serde_json::Map<String, serde_json::Value> =
        budgets.iter().map(|(level, tokens)| (level.name().to_owned(), (*tokens).into())).collect();
    own.quirks.insert("thinking_budgets".to_owned(), table.into());
    Arc::new(own)
}
