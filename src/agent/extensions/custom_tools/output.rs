//! Turns the output of a program into a result for the model and the user.

use super::definition::OutputKind;
use super::unified;
use crate::extensions::long_text::within;
use tau_tools::counted::pluralize;
use tau_tools::read::picture;
use tau_tools::{Details, ToolContext, ToolError, ToolOutput};

/// The maximum length of a program's error text beside its output, in characters.
const MAX_NOTES_LEN: usize = 2_000;

/// The answer of a successful program. `notes` is its standard error. Fails when its output is not of the
/// declared kind.
pub(super) async fn answer(
    kind: OutputKind,
    name: String,
    stdout: Vec<u8>,
    notes: &str,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let notes: String = notes.trim_end().chars().take(MAX_NOTES_LEN).collect();
    match kind {
        OutputKind::Text | OutputKind::Diff => Ok(diff(&stdout, &notes, context)),
        OutputKind::Image => image(name, stdout, notes, context).await,
    }
}

/// The answer with the standard output of a failed program. Fails like `answer`.
pub(super) fn with_stdout(
    answer: Result<ToolOutput, ToolError>,
    stdout: &[u8],
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    match std::str::from_utf8(stdout) {
        Ok(text) if !text.trim().is_empty() => answer.map_err(|error| match error {
            ToolError::Refused { message, details } => {
                let text = within(text.trim_end(), "tool", &context.limits, &context.scratch);
                ToolError::Refused { message: format!("{text}\n{message}"), details }
            }
            aborted @ ToolError::Aborted { .. } => aborted,
        }),
        _ => answer,
    }
}

fn diff(stdout: &[u8], notes: &str, context: &ToolContext) -> ToolOutput {
    let text = String::from_utf8_lossy(stdout);
    let shown = within(text.trim_end(), "tool", &context.limits, &context.scratch);
    let details = match unified::parse(&text).as_mut_slice() {
        [one] => Details::Diff(std::mem::take(one)),
        // There are no details for several files, and text that is not a diff stays text.
        _ => Details::Text { text: shown.clone() },
    };
    let mut said = if shown.is_empty() { "(no changes)".to_owned() } else { shown };
    if !notes.is_empty() {
        said = format!("{said}\n{notes}");
    }
    ToolOutput::new(said, details)
}

async fn image(
    name: String,
    bytes: Vec<u8>,
    notes: String,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let Some(format) = picture::format(&bytes) else {
        let notes = if notes.is_empty() { notes } else { format!("\n{notes}") };
        return Err(ToolError::refused(format!(
            "{name}: its output ({}) is not a picture; a tool with output = \"image\" writes a PNG, JPEG, GIF or \
             WebP to standard output{notes}",
            pluralize(bytes.len(), "byte")
        )));
    };
    let images = context.limits.images;
    let made = tokio::task::spawn_blocking(move || {
        picture::answer(&name, "the tool has to write a whole picture", images, format, &bytes, &|| Ok(()))
    });
    let mut output = match context.cancel.run_until_cancelled(made).await {
        Some(made) => made.unwrap_or_else(|_| Err(ToolError::refused("the picture cannot be decoded")))?,
        None => return Err(ToolError::aborted()),
    };
    if !notes.is_empty() {
        output.content.push(tau_tools::Content::text(notes));
    }
    Ok(output)
}
