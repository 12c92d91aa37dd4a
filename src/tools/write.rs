//! write: creates or replaces a file.
//!
//! Owns the tool's arguments, the guard against overwriting changes the model has not seen, and the wording
//! of its result. `proposal.rs` writes what was approved.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use super::edit::normalize::{LineEnd, LineEnds};
use super::encoding::{self, Encoding};
use super::file_task::FileTask;
use super::file_versions::{Freshness, Stamp};
use super::proposal::{self, MAX_SHOWN, Proposal, TextFormat};
use super::replace_file::{ExpectedState, MAX_FILE};
use super::{
    Access, ChangeFacts, PreparedCall, Tool, ToolContext, ToolError, ToolSpec, args, diff, editor, paths,
};
use crate::counted::pluralize;

tool! {
    /// The `write` tool.
    pub struct Write(WriteArgs, "write", "write.md");
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct WriteArgs {
    /// Path of the file.
    pub path: String,
    /// The entire new content.
    pub content: String,
}

impl Tool for Write {
    type Args = WriteArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        args::partial(args, "path").unwrap_or_default().into()
    }

    fn touches(&self, args: &serde_json::Value, cwd: &Path) -> Option<Access> {
        args::partial(args, "path").map(|path| Access::change(paths::find(cwd, path)))
    }

    async fn prepare(&self, args: WriteArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let WriteArgs { path, content } = args;
        proposal::prepare(path, context, move |task| propose(task, content)).await
    }
}

fn propose(task: &FileTask, content: String) -> Result<Proposal, ToolError> {
    let given = &task.given;
    if given.ends_with('/') {
        return Err(ToolError::refused(format!(
            "{given} is the path of a directory; pass the path of a file"
        )));
    }
    let (old, expected) = match fs::metadata(&task.path) {
        Ok(metadata) => (existing(task, &metadata)?, ExpectedState::Version(Stamp::from(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => (Some(Vec::new()), ExpectedState::Nothing),
        Err(error) => return Err(paths::cannot(given, &task.path, "write", &error)),
    };
    let is_new = expected == ExpectedState::Nothing;
    let FormattedText { old, new, format, note } = keep_format(old, content);
    if !is_new && old.as_ref() == Some(&new) {
        return Err(ToolError::refused(format!("{given} already has this content; nothing was written")));
    }
    let change = old.as_deref().map(|old| diff::between(given, old, &new)).unwrap_or_default();
    let done = if is_new { "Created new file" } else { "Overwrote" };
    let path = given.clone();
    let file_path = task.path.display().to_string();
    Ok(Proposal {
        old,
        new: Arc::new(new),
        format,
        change,
        expected,
        words: Box::new(move |_, size| format!("{done} {path} ({}){note}", pluralize(size, "byte"))),
        facts: Box::new(move |_, size| ChangeFacts::Written { file_path, size: size as u64, is_new }),
    })
}

/// A new text in the format of the old one.
struct FormattedText {
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    format: TextFormat,
    /// The note about what was or could not be kept, for the end of the answer.
    note: String,
}

/// The new text with the encoding, byte order mark and line ends of the old one.
fn keep_format(old: Option<Vec<u8>>, content: String) -> FormattedText {
    let plain = |old, content: String, note: &str| FormattedText {
        old,
        new: content.into_bytes(),
        format: TextFormat::PLAIN,
        note: note.to_owned(),
    };
    let bytes = match old {
        None => {
            return plain(
                None,
                content,
                "\nIts encoding and line ends could not be kept, as it could not be read.",
            );
        }
        Some(bytes) if bytes.is_empty() => return plain(Some(bytes), content, ""),
        Some(bytes) => bytes,
    };
    let Some(format) = TextFormat::of(&bytes) else { return plain(Some(bytes), content, "") };
    let name = format.encoding.name();
    let Some(text) = format.text(bytes.clone()) else {
        let note = format!("\nThe old content was not valid {name}, so the file is UTF-8 now.");
        return plain(Some(bytes), content, &note);
    };
    let content = content.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(content);
    let mut notes = Vec::new();
    let content = match line_end(&text) {
        Some(end) if end != LineEnd::Lf || content.contains('\r') => {
            notes.push(format!("line ends ({})", end.name()));
            with_line_ends(&content, end)
        }
        Some(_) => content,
        None => {
            let note = "\nThe old content had different line ends; the new ones are as you wrote them.";
            return FormattedText {
                new: content.into_bytes(),
                old: Some(text),
                format,
                note: note.to_owned(),
            };
        }
    };
    if !format.mark.is_empty() {
        notes.insert(0, "byte order mark".to_owned());
    }
    if format.encoding != Encoding::Utf8 {
        if encoding::encode(&content, format.encoding).is_none() {
            let note =
                format!("\nThe file was {name}, which lacks a character of the new text; it is UTF-8 now.");
            return plain(Some(text), content, &note);
        }
        notes.insert(0, format!("encoding ({name})"));
    }
    let mut note =
        if notes.is_empty() { String::new() } else { format!("\nKept its {}.", notes.join(" and ")) };
    if std::str::from_utf8(&text).is_err() {
        note.push_str("\nThe old content had bytes that are not UTF-8; they are gone.");
    }
    FormattedText { old: Some(text), new: content.into_bytes(), format, note }
}

/// The line end of a text, if it is the same everywhere; LF for a text without any.
fn line_end(text: &[u8]) -> Option<LineEnd> {
    let ends = LineEnds::of(text);
    let mut lines = memchr::memchr_iter(b'\n', text);
    let is_pair = |at: usize| at.checked_sub(1).and_then(|before| text.get(before)) == Some(&b'\r');
    match ends.prevailing {
        LineEnd::Cr => Some(LineEnd::Cr),
        LineEnd::CrLf => lines.all(is_pair).then_some(LineEnd::CrLf),
        LineEnd::Lf => (!ends.has_cr || !lines.any(is_pair)).then_some(LineEnd::Lf),
    }
}

fn with_line_ends(text: &str, end: LineEnd) -> String {
    let plain = text.replace("\r\n", "\n");
    match end {
        LineEnd::Lf => plain,
        LineEnd::CrLf => plain.replace('\n', "\r\n"),
        LineEnd::Cr => plain.replace('\n', "\r"),
    }
}

/// The guarded old content; `None` if it is too large to show a diff.
fn existing(task: &FileTask, metadata: &Metadata) -> Result<Option<Vec<u8>>, ToolError> {
    if let Some(kind) = paths::odd_kind(metadata) {
        return Err(ToolError::refused(format!("{} is {kind}, not a file; choose another path", task.given)));
    }
    let content = if metadata.len() > MAX_FILE { None } else { readable(task) };
    guard(task, Stamp::from(metadata), content.as_deref())?;
    Ok(content)
}

/// The content if it can be read; a file that can only be written may still be overwritten.
fn readable(task: &FileTask) -> Option<Vec<u8>> {
    let (file, _) = paths::open_regular(&task.path, &task.given).ok()?;
    let mut content = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut content).ok()?;
    Some(editor::current(task, content).0)
}

/// Refuses if the file is not the version that the model saw. A file it never saw passes: it can only mean
/// to replace everything. A refusal that shows the whole change counts as seen, so that the next call
/// passes. A refusal has the change for the model.
pub fn guard(task: &FileTask, stamp: Stamp, content: Option<&[u8]>) -> Result<(), ToolError> {
    let file_versions = &task.context.file_versions;
    let Freshness::Changed(seen) = file_versions.freshness(&task.key, stamp, content) else { return Ok(()) };
    let head = format!("{} has changed since you last saw it; nothing was written.", task.given);
    let (Some(seen), Some(content)) = (seen, content) else {
        return Err(ToolError::refused(format!("{head} Read it again before changing it.")));
    };
    let change = diff::between(&task.given, &seen, content);
    let shown = change.to_unified();
    let message = if change.cut || shown.len() > MAX_SHOWN {
        format!(
            "{head} {} added and {} removed; read it again before changing it.",
            if change.added == 1 { "1 line was".to_owned() } else { format!("{} lines were", change.added) },
            change.removed
        )
    } else {
        file_versions.record(&task.key, stamp, Some(content));
        format!("{head} What changed:\n{shown}Check that your change still applies, then call again.")
    };
    // Not as details: the change is not the one of this call.
    Err(ToolError::refused(message))
}
