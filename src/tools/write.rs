//! write: creates or replaces a file.
//!
//! Owns the tool's arguments, the guard against overwriting what the model has not seen
//! change, and the words of its result. The bytes are put in place by `replace_file.rs`.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};

use super::file_task;
use super::file_task::{FileTask, OnAbort};
use super::file_versions::{Freshness, Stamp};
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
pub struct WriteArgs {
    /// Path of the file.
    pub path: String,
    /// The entire new content.
    pub content: String,
}

impl Default for Write {
    fn default() -> Self {
        Write { spec: args::spec::<WriteArgs>("write", include_str!("write.md")) }
    }
}

impl Tool for Write {
    type Args = WriteArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        args::partial(args, "path").unwrap_or_default().into()
    }

    async fn run(&self, args: WriteArgs, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let WriteArgs { path, content } = args;
        file_task::run(path, context, OnAbort::Wait, move |task| write(task, &content)).await
    }
}

fn write(task: &FileTask, content: &str) -> Result<ToolOutput, ToolError> {
    task.check_wanted()?;
    let given = &task.given;
    if given.ends_with('/') {
        return Err(ToolError::refused(format!(
            "{given} is the path of a directory; pass the path of a file"
        )));
    }
    let (before, expected) = match fs::metadata(&task.path) {
        Ok(metadata) => (existing(task, &metadata)?, Expected::Version(Stamp::from(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            replace_file::make_parents(&task.path, given)?;
            (Some(Vec::new()), Expected::Nothing)
        }
        Err(error) => return Err(paths::cannot(given, &task.path, "write", &error)),
    };
    let stamp = replace_file::replace_file(&task.path, given, content.as_bytes(), expected, &task.wanted)?;
    // Resolved again, because what was missing has a real path only now.
    task.context.file_versions.record(&paths::identity(&task.path), stamp, Some(content.as_bytes()));
    let done = if expected == Expected::Nothing { "Created new file" } else { "Overwrote" };
    let details = before
        .map_or(Details::None, |before| Details::Diff(diff::between(given, &before, content.as_bytes())));
    Ok(ToolOutput::new(format!("{done} {given} ({} bytes)", content.len()), details))
}

/// The old content, guarded; `None` if it is too large to show a difference.
fn existing(task: &FileTask, metadata: &Metadata) -> Result<Option<Vec<u8>>, ToolError> {
    if let Some(kind) = paths::odd_kind(metadata) {
        return Err(ToolError::refused(format!("{} is {kind}, not a file; choose another path", task.given)));
    }
    let content = if metadata.len() > MAX_FILE { None } else { readable(task) };
    guard(task, Stamp::from(metadata), content.as_deref())?;
    Ok(content)
}

/// The content when it can be read; a file that can only be written may still be overwritten.
fn readable(task: &FileTask) -> Option<Vec<u8>> {
    let (file, _) = paths::open_regular(&task.path, &task.given).ok()?;
    let mut content = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Refuses when the file is not the version that the model saw. A file it never saw passes:
/// what it asks for is then all it can mean. A refusal that shows the whole change counts as
/// seen, so that the next call passes.
///
/// # Errors
/// The refusal, with the change for the user.
pub fn guard(task: &FileTask, stamp: Stamp, content: Option<&[u8]>) -> Result<(), ToolError> {
    let file_versions = &task.context.file_versions;
    let Freshness::Changed(seen) = file_versions.freshness(&task.key, stamp, content) else { return Ok(()) };
    let head = format!("{} has changed since you last saw it; nothing was written.", task.given);
    let (Some(seen), Some(content)) = (seen, content) else {
        return Err(ToolError::refused(format!("{head} Read it again before changing it.")));
    };
    let change = diff::between(&task.given, &seen, content);
    let shown = change.unified();
    let message = if change.cut || shown.len() > MAX_SHOWN {
        format!(
            "{head} {} lines were added and {} removed; read it again before changing it.",
            change.added, change.removed
        )
    } else {
        file_versions.record(&task.key, stamp, Some(content));
        format!("{head} What changed:\n{shown}Check that your change still applies, then call again.")
    };
    Err(ToolError::Refused { message, details: Box::new(Details::Diff(change)) })
}
