//! The two phases of a call: what it would do is found out first, and done later.
//!
//! Between the phases the agent judges the call, asks the user, and remembers what is about to change.
//! A tool knows nothing of that: it prepares, and applies what was approved.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::access::{Access, Preview};
use super::sandbox::SandboxPolicy;
use super::{Content, Details, RunningCall, TerminalOutput, ToolError, ToolOutput};

/// What of a prepared call is to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approved {
    /// The hunks of the change to apply, by index; `None` means all of them.
    pub hunks: Option<Vec<usize>>,
    /// What takes the place of the model's proposal: a command, or the text of the whole file.
    pub edited: Option<String>,
    /// What the call's commands may do, in place of what [`super::ToolContext::sandbox`] says.
    pub sandbox: Option<Arc<SandboxPolicy>>,
}

impl Approved {
    /// Everything, as the model proposed it.
    pub fn all() -> Self {
        Approved::default()
    }
}

/// The future of a call that is being prepared.
pub type PreparingCall<'a> = Pin<Box<dyn Future<Output = Result<Prepared<'a>, ToolError>> + Send + 'a>>;

type Apply<'a> = Box<dyn FnOnce(Approved) -> RunningCall<'a> + Send + 'a>;

/// A call that is ready to be carried out. Dropping it leaves everything as it was.
pub struct Prepared<'a> {
    /// What the call touches.
    pub access: Access,
    /// What the user is shown of it before.
    pub preview: Preview,
    /// The whole new text of the file, if it writes one.
    pub proposed_text: Option<Arc<Vec<u8>>>,
    apply: Apply<'a>,
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("access", &self.access).finish_non_exhaustive()
    }
}

impl<'a> Prepared<'a> {
    /// A call that touches `access`, and what carries it out. A tool without anything to choose from
    /// ignores what [`Approved`] says.
    pub fn new<F>(access: Access, apply: impl FnOnce(Approved) -> F + Send + 'a) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'a,
    {
        let apply: Apply<'a> = Box::new(move |approved| Box::pin(apply(approved)));
        Prepared { access, preview: Preview::None, proposed_text: None, apply }
    }

    /// The same with a preview.
    pub fn preview(self, preview: Preview) -> Self {
        Prepared { preview, ..self }
    }

    /// The same with the new text of the file.
    pub fn proposed_text(self, text: Option<Arc<Vec<u8>>>) -> Self {
        Prepared { proposed_text: text, ..self }
    }

    /// Carries the call out. Dropping the future cancels it.
    pub fn apply(self, approved: Approved) -> RunningCall<'a> {
        (self.apply)(approved)
    }
}

/// The answer of a call with a note for the model in front.
pub fn with_note(note: &str, answer: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
    let noted = |message: String| format!("{note}\n{message}");
    match answer {
        Ok(mut output) => {
            output.content.insert(0, Content::text(note));
            Ok(output)
        }
        Err(ToolError::Refused { message, details }) => {
            Err(ToolError::Refused { message: noted(message), details })
        }
        Err(ToolError::Aborted { message, details }) => {
            Err(ToolError::Aborted { message: noted(message), details })
        }
    }
}

/// The answer of a call, with something changed in what it says of its command.
pub fn with_terminal(
    mut answer: Result<ToolOutput, ToolError>,
    change: impl FnOnce(&mut TerminalOutput),
) -> Result<ToolOutput, ToolError> {
    let details = match &mut answer {
        Ok(output) => &mut output.details,
        Err(ToolError::Refused { details, .. } | ToolError::Aborted { details, .. }) => details.as_mut(),
    };
    if let Details::Terminal(output) = details {
        change(output);
    }
    answer
}
