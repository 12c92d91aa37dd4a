//! The tools that models call, and the contract that every tool keeps.
//!
//! A tool answers twice: [`ToolOutput::content`] goes to the model, [`ToolOutput::details`] to the user. The
//! view knows the closed set of [`Details`] shapes, but no tool's name. A call has two phases: a tool
//! prepares it, which changes nothing, and applies what was approved (`prepared.rs`). Dropping the future of
//! either phase cancels it. Approval, undo and hooks happen between the phases, in the agent; tools do not
//! know of them, and this module knows nothing of the agent above it.
//!
//! For how to add a tool, see CONTRIBUTING.md.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tools act on the machine")]

/// Declares a tool: its arguments, its name, and the file that describes it to models.
macro_rules! tool {
    (
        $(#[$about:meta])*
        $vis:vis struct $tool:ident($args:ty, $name:expr, $file:literal $(, $field:ident: $value:expr)?);
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        $vis struct $tool {
            spec: $crate::ToolSpec,
        }

        impl Default for $tool {
            fn default() -> Self {
                let spec = $crate::args::spec::<$args>($name, include_str!($file));
                $tool { spec: $crate::ToolSpec { $($field: $value,)? ..spec } }
            }
        }
    };
}

/// Implements `Debug` for a type, of which it shows these fields only.
#[macro_export]
macro_rules! debug_fields {
    ($name:ident { $($field:ident),* }) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

pub mod access;
pub mod args;
pub mod ask_user;
pub mod bash;
pub mod budget;
pub mod command_result;
pub mod compare;
pub mod counted;
pub mod deadline;
pub mod delegate;
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
pub mod git_place;
pub mod grep;
pub mod hashes;
pub mod ids;
pub mod ignore_files;
pub mod invisible;
pub mod jobs;
mod kind;
pub mod line_output;
pub mod ls;
pub mod path_text;
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
pub mod secret_cuts;
pub mod shell_word;
pub mod times;
pub mod toolbox;
pub mod user;
pub mod user_error;
pub mod vt;
pub mod walk;
pub mod word_list;
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
use delegate::HelperLink;
pub use details::{ChangeFacts, Content, Details, FileDiff, Hunk, LineFacts, TerminalOutput, ToolOutput};
use editor::Editor;
use file_versions::FileVersions;
use jobs::JobLink;
pub use kind::ToolKind;
pub use prepared::{ApprovedPart, PreparedCall, PreparingCall};
use process::ChildEnv;
use sandbox::SandboxPolicy;
use scratch::Scratch;
use secret_cuts::SecretFinder;
pub use toolbox::Toolbox;
use user::UserLink;

/// The description of a tool for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name by which the model calls it.
    pub name: String,
    /// The name shown to users. Models do not get it.
    pub label: String,
    /// The prompt text, from `src/tools/<name>.md`.
    pub description: String,
    /// The JSON schema of the arguments: one flat object, no `$ref`.
    pub parameters: Value,
    /// True if calls never change anything, so that several of one turn may run in parallel.
    pub read_only: bool,
}

/// The reason why a call failed. The text of every variant is written for the model: lower case, with a hint
/// about what to do.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call cannot be carried out; the model gets the message and continues. Carries details for the
    /// user, if any (a failed command still has output).
    #[error("{message}")]
    Refused { message: String, details: Box<Details> },
    /// The call was aborted by the user or by the end of the run. Carries the result so far.
    #[error("{message}")]
    Aborted { message: String, details: Box<Details> },
}

impl ToolError {
    /// A refusal with only a message.
    pub fn refused(message: impl Into<String>) -> Self {
        ToolError::Refused { message: message.into(), details: Box::default() }
    }

    /// An abort with nothing to show.
    pub fn aborted() -> Self {
        ToolError::Aborted { message: "aborted by the user".into(), details: Box::default() }
    }
}

/// The sink for a running tool's answer so far. The newest value replaces the previous one, so a fast writer
/// costs a slow reader nothing.
#[derive(Clone, Debug)]
pub struct ToolProgress(Option<watch::Sender<ToolOutput>>);

impl ToolProgress {
    /// A progress sink and its receiver.
    pub fn channel() -> (Self, watch::Receiver<ToolOutput>) {
        let (sender, receiver) = watch::channel(ToolOutput::default());
        (ToolProgress(Some(sender)), receiver)
    }

    /// A progress sink without a receiver.
    pub fn none() -> Self {
        ToolProgress(None)
    }

    /// Replaces what receivers see.
    pub fn show(&self, output: ToolOutput) {
        if let Some(sender) = &self.0 {
            sender.send_replace(output);
        }
    }
}

/// The limits of one answer to the model. Tools cut their answers accordingly.
#[derive(Clone, Debug)]
pub struct OutputLimits {
    /// The largest answer to the model, in bytes of text.
    pub max_bytes: usize,
    /// The largest answer to the model, in lines.
    pub max_lines: usize,
    /// The largest answer to the model, in tokens as estimated by [`budget`].
    pub max_tokens: usize,
    /// The largest answer that consists of a file's lines, in tokens; no other limit in bytes applies to it.
    pub max_file_tokens: usize,
    /// True if the model accepts images.
    pub images: bool,
    /// Finds secrets, through which no answer may be cut.
    pub secrets: SecretFinder,
}

impl Default for OutputLimits {
    fn default() -> Self {
        OutputLimits {
            max_bytes: 256 * 1024,
            max_lines: 5_000,
            max_tokens: 64_000,
            max_file_tokens: 64_000,
            images: false,
            secrets: SecretFinder::default(),
        }
    }
}

impl OutputLimits {
    /// The largest weight of an answer, see [`budget::token_weight`].
    pub fn token_weight(&self) -> usize {
        self.max_bytes.min(self.max_tokens.saturating_mul(budget::TOKEN))
    }

    /// The largest weight of a file's lines in an answer.
    pub fn file_weight(&self) -> usize {
        self.max_file_tokens.saturating_mul(budget::TOKEN)
    }

    /// The limits for a context window of `window` tokens: one answer takes at most a quarter of it, and the
    /// lines of a file may take all of that. 0 means that the size is unknown.
    pub fn within_window(self, window: u64) -> Self {
        match usize::try_from(window / 4) {
            Ok(quarter) if quarter > 0 => {
                OutputLimits { max_tokens: self.max_tokens.min(quarter), max_file_tokens: quarter, ..self }
            }
            _ => self,
        }
    }
}

/// The context of a call, besides its arguments.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The directory that relative paths are resolved against. Absolute.
    pub cwd: Arc<Path>,
    /// Cancelled when the call is aborted. Dropping the future has the same effect; the token lets a tool
    /// stop cleanly and report what it has.
    pub cancel: CancellationToken,
    /// The sink for the answer so far.
    pub progress: ToolProgress,
    /// The file versions that the model has seen; also queues calls on one file.
    pub file_versions: Arc<FileVersions>,
    /// tau's own temporary folder, for output too large for the model.
    pub scratch: Arc<Scratch>,
    /// The environment of child processes.
    pub env: Arc<ChildEnv>,
    /// The restrictions on commands and on file changes.
    pub sandbox: Arc<SandboxPolicy>,
    /// The filter for files that a tool comes across.
    pub files: Arc<dyn FileFilter>,
    /// The editor that hosts the session, if any.
    pub editor: Option<Arc<dyn Editor>>,
    /// The way to ask the user, if anyone can.
    pub user: Option<UserLink>,
    /// The background jobs of the session, if it has any.
    pub jobs: Option<JobLink>,
    /// The helpers of the agent, if it has any.
    pub helpers: Option<HelperLink>,
    /// The limits of the model.
    pub limits: OutputLimits,
    /// The time limit in seconds of shell calls that set none; `None` means no limit.
    pub default_timeout: Option<u64>,
}

impl ToolContext {
    /// The context of a call in `cwd` that is not confined, and that nobody can be asked about.
    pub fn new(cwd: &Path, scratch: Arc<Scratch>) -> Self {
        ToolContext {
            cwd: cwd.into(),
            cancel: CancellationToken::new(),
            progress: ToolProgress::none(),
            file_versions: Arc::default(),
            scratch,
            env: Arc::default(),
            sandbox: Arc::default(),
            files: Arc::new(access::AllFiles),
            editor: None,
            user: None,
            jobs: None,
            helpers: None,
            limits: OutputLimits::default(),
            default_timeout: None,
        }
    }
}

/// A tool with typed arguments. Implement this; the agent sees it as [`AnyTool`].
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Their JSON schema and validation are derived from this type.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// The tool's description for the model.
    fn spec(&self) -> &ToolSpec;

    /// The panel's title, from arguments that may still be streaming in: `args` is the object as far as it
    /// could be read, possibly `null`.
    fn title(&self, args: &Value) -> String;

    /// True if preparing a call depends only on its arguments, so that several calls of one answer can be
    /// prepared, and asked about, before the first has run.
    fn prepares_from_arguments(&self) -> bool {
        false
    }

    /// The access of a call with these arguments, as far as it is known before the call is prepared.
    fn touches(&self, args: &Value, cwd: &Path) -> Option<Access> {
        let _ = (args, cwd);
        None
    }

    /// Repairs unambiguous slips in a model's arguments before they are checked.
    fn repair(&self, args: &mut Value) {
        let _ = args;
    }

    /// Finds out what the call would do without changing anything. Invalid calls fail here, so that the user
    /// is not asked about them.
    fn prepare(
        &self,
        args: Self::Args,
        context: ToolContext,
    ) -> impl Future<Output = Result<PreparedCall<'_>, ToolError>> + Send;
}

/// The future of a running call.
pub type RunningCall<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool as the agent sees it, with JSON arguments.
pub trait AnyTool: Send + Sync {
    /// The tool's description for the model.
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

    /// The arguments as the tool uses them, with the names and types of its schema. Invalid ones are unchanged.
    fn canonical(&self, args: Value) -> Value {
        args
    }

    /// Checks the arguments against the schema and prepares the call. An invalid argument is a refusal that
    /// names the field.
    fn prepare(&self, args: Value, context: ToolContext) -> PreparingCall<'_>;

    /// Prepares the call and carries it out without approval in between.
    fn run(&self, args: Value, context: ToolContext) -> RunningCall<'_> {
        let prepared = self.prepare(args, context);
        Box::pin(async move { prepared.await?.apply(ApprovedPart::all()).await })
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

    fn canonical(&self, args: Value) -> Value {
        let mut repaired = args.clone();
        Tool::repair(self, &mut repaired);
        args::fit_to_schema(repaired, Tool::spec(self)).unwrap_or(args)
    }

    fn prepare(&self, mut args: Value, context: ToolContext) -> PreparingCall<'_> {
        Box::pin(async move {
            Tool::repair(self, &mut args);
            let typed = args::parse::<T::Args>(args, Tool::spec(self))?;
            Tool::prepare(self, typed, context).await
        })
    }
}
