//! write: a whole file, new or replaced.
//!
//! Owns the tool's arguments, the guard against overwriting what the model has not seen
//! change, and the words of its result. The bytes are put in place by `replace.rs`.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};

use super::file_task;
use super::file_task::{FileCall, OnAbort};
use super::file_versions::{Stamp, Verdict};
use super::replace_file;
use super::replace_file::{Expected, MAX_FILE};
use super::{Details, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args, diff, paths};

/// Most bytes of a diff in a refusal.
const MAX_SHOWN: usize = 16 * 1024;

/// The tool.
#[derive(Debug)]
pub struct Write {
    spec: ToolSpec,
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Args {
    /// Path of the file.
    pub path: String,
    /// The entire new content.
    pub content: String,
}

impl Default for Write {
    fn default() -> Self {
        Write { spec: args::spec::<Args>("write", include_str!("write.md")) }
    }
}

impl Tool for Write {
    type Args = Args;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        args::partial(args, "path").unwrap_or_default().into()
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { path, content } = args;
        file_task::run(path, context, OnAbort::Wait, move |call| write(call, &content)).await
    }
}

fn write(call: &FileCall, content: &str) -> Result<ToolOutput, ToolError> {
    call.go_on()?;
    let given = &call.given;
    if given.ends_with('/') {
        return Err(ToolError::refused(format!("{given} names a directory; give the path of a file")));
    }
    let (before, expected) = match fs::metadata(&call.path) {
        Ok(metadata) => (existing(call, &metadata)?, Expected::Version(Stamp::from(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            replace_file::make_parents(&call.path, given)?;
            (Some(Vec::new()), Expected::Nothing)
        }
        Err(error) => return Err(paths::cannot(given, &call.path, "write", &error)),
    };
    let stamp = replace_file::replace(&call.path, given, content.as_bytes(), expected, &call.wanted)?;
    // Asked anew, because what was missing has a real path only now.
    call.context.ledger.saw(&paths::identity(&call.path), stamp, Some(content.as_bytes()));
    let done = if expected == Expected::Nothing { "Created new file" } else { "Overwrote" };
    let details = before
        .map_or(Details::None, |before| Details::Diff(diff::between(given, &before, content.as_bytes())));
    Ok(ToolOutput::new(format!("{done} {given} ({} bytes)", content.len()), details))
}

/// The old content, guarded; none when it is too large to show a difference.
fn existing(call: &FileCall, metadata: &Metadata) -> Result<Option<Vec<u8>>, ToolError> {
    if let Some(kind) = paths::odd_kind(metadata) {
        return Err(ToolError::refused(format!("{} is {kind}, not a file; choose another path", call.given)));
    }
    let content = if metadata.len() > MAX_FILE { None } else { readable(call) };
    guard(call, Stamp::from(metadata), content.as_deref())?;
    Ok(content)
}

/// The content when it can be read; a file that can only be written may still be overwritten.
fn readable(call: &FileCall) -> Option<Vec<u8>> {
    let (file, _) = paths::open_regular(&call.path, &call.given).ok()?;
    let mut content = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Refuses when the file is not the version that the model saw. A file it never saw passes:
/// what it asks for is then all it can mean. A refusal that shows the whole change counts as
/// seen, so that the next call passes.
///
/// # Errors
/// The refusal, with the change for people.
pub fn guard(call: &FileCall, stamp: Stamp, content: Option<&[u8]>) -> Result<(), ToolError> {
    let ledger = &call.context.ledger;
    let Verdict::Changed(seen) = ledger.verdict(&call.key, stamp, content) else { return Ok(()) };
    let head = format!("{} has changed since you last saw it; nothing was written.", call.given);
    let (Some(seen), Some(content)) = (seen, content) else {
        return Err(ToolError::refused(format!("{head} Read it again before changing it.")));
    };
    let change = diff::between(&call.given, &seen, content);
    let shown = diff::unified(&change);
    let message = if change.cut || shown.len() > MAX_SHOWN {
        format!(
            "{head} {} lines were added and {} removed; read it again before changing it.",
            change.added, change.removed
        )
    } else {
        ledger.saw(&call.key, stamp, Some(content));
        format!("{head} What changed:\n{shown}Make sure that your change still fits, then call again.")
    };
    Err(ToolError::Refused { message, details: Box::new(Details::Diff(change)) })
}
