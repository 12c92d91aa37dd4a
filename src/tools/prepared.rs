//! The two phases of a call: prepare what it would do, then apply it.
//!
//! Between the phases the agent judges the call, asks the user, and saves what is about to change. Tools
//! know nothing of that: they prepare, and apply what was approved.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::access::{Access, Preview};
use super::sandbox::SandboxPolicy;
use super::{Content, Details, RunningCall, TerminalOutput, ToolError, ToolOutput};

/// The approved part of a prepared call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovedPart {
    /// The indices of the hunks to apply; `None` means all of them.
    pub hunks: Option<Vec<usize>>,
    /// The user's replacement for the model's proposal: a command, or the text of the whole file.
    pub edited: Option<String>,
    /// The sandbox for the call's commands, in place of [`super::ToolContext::sandbox`].
    pub sandbox: Option<Arc<SandboxPolicy>>,
}

impl ApprovedPart {
    /// Approval of everything, as the model proposed it.
    pub fn all() -> Self {
        ApprovedPart::default()
    }
}

/// The future of a call that is being prepared.
pub type PreparingCall<'a> = Pin<Box<dyn Future<Output = Result<PreparedCall<'a>, ToolError>> + Send + 'a>>;

type Apply<'a> = Box<dyn FnOnce(ApprovedPart) -> RunningCall<'a> + Send + 'a>;

/// A call that is ready to run. Dropping it leaves everything unchanged.
pub struct PreparedCall<'a> {
    /// The files, commands and hosts that the call touches.
    pub access: Access,
    /// The preview that the user sees before the call runs.
    pub preview: Preview,
    /// The whole new text of the file, if the call writes one.
    pub proposed_text: Option<Arc<Vec<u8>>>,
    apply: Apply<'a>,
}

impl std::fmt::Debug for PreparedCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("access", &self.access).finish_non_exhaustive()
    }
}

impl<'a> PreparedCall<'a> {
    /// A call that touches `access`, with the closure that runs it. A tool without choices ignores
    /// [`ApprovedPart`].
    pub fn new<F>(access: Access, apply: impl FnOnce(ApprovedPart) -> F + Send + 'a) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'a,
    {
        let apply: Apply<'a> = Box::new(move |approved| Box::pin(apply(approved)));
        PreparedCall { access, preview: Preview::None, proposed_text: None, apply }
    }

    /// Sets the preview.
    pub fn preview(self, preview: Preview) -> Self {
        PreparedCall { preview, ..self }
    }

    /// Sets the new text of the file.
    pub fn with_proposed_text(self, text: Option<Arc<Vec<u8>>>) -> Self {
        PreparedCall { proposed_text: text, ..self }
    }

    /// Runs the call. Dropping the future cancels it.
    pub fn apply(self, approved: ApprovedPart) -> RunningCall<'a> {
        (self.apply)(approved)
    }
}

/// The answer of a call, with a note for the model in front.
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

/// The answer of a call, with its command's details changed.
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
