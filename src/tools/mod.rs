//! The tools that models call, and the contract that every tool keeps.
//!
//! A tool answers twice: [`ToolOutput::content`] goes to the model, [`ToolOutput::details`] to the
//! user. The view knows the closed set of [`Details`] shapes, but no tool's name.
//! A call has two phases: a tool prepares it, which changes nothing, and applies what was approved
//! (`prepared.rs`). Dropping the future of either cancels it. Approval, undo and hooks are between the
//! phases, in the agent; no tool knows of them, and this module knows nothing of the agent above it.
//!
//! To add a tool, see the recipe in CONTRIBUTING.md.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tools act on the machine")]

pub mod access;
pub mod args;
pub mod ask_user;
pub mod bash;
pub mod budget;
pub mod command_result;
pub mod counted;
pub mod details;
pub mod diff;
pub mod edit;
pub mod editor;
pub mod encoding;
pub mod file_at;
pub mod file_names;
pub mod file_task;
pub mod file_versions;
pub mod find;
pub mod function;
pub mod git_index;
pub mod grep;
pub mod ids;
pub mod ignore_files;
pub mod invisible;
pub mod line_output;
pub mod ls;
pub mod paths;
pub mod plan;
pub mod prepared;
pub mod process;
pub(crate) mod proposal;
pub mod read;
pub mod recognise;
pub mod regular_files;
pub mod replace_file;
pub mod sandbox;
pub mod scratch;
pub mod toolbox;
pub mod user;
pub mod vt;
pub mod walk;
pub mod write;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use access::FileFilter;
pub use access::{Access, Preview};
pub use details::{ChangeFacts, Content, Details, FileDiff, Hunk, LineFacts, TerminalOutput, ToolOutput};
use editor::Editor;
use file_versions::FileVersions;
pub use prepared::{Approved, Prepared, PreparingCall};
use process::ChildEnv;
use sandbox::SandboxPolicy;
use scratch::Scratch;
pub use toolbox::Toolbox;
use user::UserLink;

/// What the model is given for a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// Its name for people. Models do not get it.
    pub label: String,
    /// The prompt text, from `src/tools/<name>.md`.
    pub description: String,
    /// JSON schema of the arguments: one flat object, no `$ref`.
    pub parameters: Value,
    /// True when calls never change anything, so that several of one turn may run at once.
    pub read_only: bool,
}

/// Why a call failed. The text of every variant is written for the model: lower case, with a
/// hint that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call cannot be carried out; the model gets the message and continues. Carries details
    /// for the user if there are any (a failed command still has its output).
    #[error("{message}")]
    Refused { message: String, details: Box<Details> },
    /// The call was aborted by the user or by the end of the run. Carries what was done so far.
    #[error("{message}")]
    Aborted { message: String, details: Box<Details> },
}

impl ToolError {
    /// A refusal with a message only.
    pub fn refused(message: impl Into<String>) -> Self {
        ToolError::Refused { message: message.into(), details: Box::default() }
    }

    /// An abort with nothing to show.
    pub fn aborted() -> Self {
        ToolError::Aborted { message: "aborted by the user".into(), details: Box::default() }
    }
}

/// Where a running tool puts its answer so far. The newest value replaces the previous one, so
/// a fast writer costs a slow reader nothing.
#[derive(Clone, Debug)]
pub struct ToolProgress(Option<watch::Sender<ToolOutput>>);

impl ToolProgress {
    /// A progress sink and the end that watches it.
    pub fn channel() -> (Self, watch::Receiver<ToolOutput>) {
        let (sender, receiver) = watch::channel(ToolOutput::default());
        (ToolProgress(Some(sender)), receiver)
    }

    /// A progress sink that nobody watches.
    pub fn none() -> Self {
        ToolProgress(None)
    }

    /// Replaces what watchers see.
    pub fn show(&self, output: ToolOutput) {
        if let Some(sender) = &self.0 {
            sender.send_replace(output);
        }
    }
}

/// How much the model can take in one answer. Tools cut their answers accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Largest answer to the model, in bytes of text.
    pub max_bytes: usize,
    /// Largest answer to the model, in lines.
    pub max_lines: usize,
    /// Largest answer to the model, in tokens as estimated by [`budget`].
    pub max_tokens: usize,
    /// The same for the lines of a file, which no other limit in bytes holds.
    pub max_file_tokens: usize,
    /// Whether the model takes pictures.
    pub images: bool,
}

impl Default for OutputLimits {
    fn default() -> Self {
        OutputLimits {
            max_bytes: 256 * 1024,
            max_lines: 5_000,
            max_tokens: 64_000,
            max_file_tokens: 64_000,
            images: false,
        }
    }
}

impl OutputLimits {
    /// The largest weight of an answer, see [`budget::token_weight`].
    pub fn token_weight(&self) -> usize {
        self.max_bytes.min(self.max_tokens.saturating_mul(budget::TOKEN))
    }

    /// The same of the lines of a file.
    pub fn file_weight(&self) -> usize {
        self.max_file_tokens.saturating_mul(budget::TOKEN)
    }

    /// The same for a model with a context window of `window` tokens: one answer takes at most a
    /// quarter of it, and the lines of a file may take all of that. 0 if the size is unknown.
    pub fn within_window(self, window: u64) -> Self {
        match usize::try_from(window / 4) {
            Ok(quarter) if quarter > 0 => {
                OutputLimits { max_tokens: self.max_tokens.min(quarter), max_file_tokens: quarter, ..self }
            }
            _ => self,
        }
    }
}

/// Everything a call gets besides its arguments.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// Relative paths resolve against it. Absolute.
    pub cwd: Arc<Path>,
    /// Cancelled when the call is aborted. Dropping the future has the same effect; the token
    /// lets a tool stop in order and report what it had.
    pub cancel: CancellationToken,
    /// Where the answer so far is shown.
    pub progress: ToolProgress,
    /// Which versions of which files the model has seen; also queues calls on one file.
    pub file_versions: Arc<FileVersions>,
    /// tau's own temporary folder, for output too large for the model.
    pub scratch: Arc<Scratch>,
    /// The environment of child processes.
    pub env: Arc<ChildEnv>,
    /// What commands may do, and which files may be changed.
    pub sandbox: Arc<SandboxPolicy>,
    /// What may be read of the files that a tool comes across.
    pub files: Arc<dyn FileFilter>,
    /// The editor that the session works in, if there is one.
    pub editor: Option<Arc<dyn Editor>>,
    /// The way to whoever can ask the user, if there is one.
    pub user: Option<UserLink>,
    /// What the model can take.
    pub limits: OutputLimits,
    /// Timeout in seconds of shell calls that set none; `None` means no timeout.
    pub default_timeout: Option<u64>,
}

/// A tool with typed arguments. Implement this; the loop sees it as [`AnyTool`].
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Their JSON schema and their validation are derived from this type.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// What the model is given for it.
    fn spec(&self) -> &ToolSpec;

    /// The head line of the panel, from arguments that may still be arriving: `args` is the
    /// object as far as it could be read, possibly `null`.
    fn title(&self, args: &Value) -> String;

    /// Whether preparing a call looks at nothing but its arguments, so that several calls of one answer
    /// can be prepared, and asked about, before the first has run.
    fn prepares_from_arguments(&self) -> bool {
        false
    }

    /// What a call with these arguments would touch, as far as that is known before it is prepared.
    fn touches(&self, args: &Value, cwd: &Path) -> Option<Access> {
        let _ = (args, cwd);
        None
    }

    /// Repairs slips in the arguments of a model that can mean one thing only, before they are checked.
    fn repair(&self, args: &mut Value) {
        let _ = args;
    }

    /// Finds out what the call would do. Changes nothing; what is wrong with the call is an error here
    /// already, so that nobody is asked about it.
    fn prepare(
        &self,
        args: Self::Args,
        context: ToolContext,
    ) -> impl Future<Output = Result<Prepared<'_>, ToolError>> + Send;
}

/// The future of a running call.
pub type RunningCall<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool as the agent sees it: arguments are JSON.
pub trait AnyTool: Send + Sync {
    /// What the model is given for it.
    fn spec(&self) -> &ToolSpec;

    /// See [`Tool::title`].
    fn title(&self, args: &Value) -> String;

    /// See [`Tool::prepares_from_arguments`].
    fn prepares_from_arguments(&self) -> bool {
        false
    }

    /// See [`Tool::touches`].
    fn touches(&self, args: &Value, cwd: &Path) -> Option<Access> {
        let _ = (args, cwd);
        None
    }

    /// Checks the arguments against the schema and prepares the call. A wrong argument is a refusal
    /// that names the field.
    fn prepare(&self, args: Value, context: ToolContext) -> PreparingCall<'_>;

    /// Prepares the call and carries it out as it is, with nobody in between.
    fn run(&self, args: Value, context: ToolContext) -> RunningCall<'_> {
        let prepared = self.prepare(args, context);
        Box::pin(async move { prepared.await?.apply(Approved::all()).await })
    }
}

impl<T: Tool> AnyTool for T {
    fn spec(&self) -> &ToolSpec {
        Tool::spec(self)
    }

    fn title(&self, args: &Value) -> String {
        Tool::title(self, args)
    }

    fn prepares_from_arguments(&self) -> bool {
        Tool::prepares_from_arguments(self)
    }

    fn touches(&self, args: &Value, cwd: &Path) -> Option<Access> {
        Tool::touches(self, args, cwd)
    }

    fn prepare(&self, mut args: Value, context: ToolContext) -> PreparingCall<'_> {
        Box::pin(async move {
            Tool::repair(self, &mut args);
            let typed = args::parse::<T::Args>(args, Tool::spec(self))?;
            Tool::prepare(self, typed, context).await
        })
    }
}
