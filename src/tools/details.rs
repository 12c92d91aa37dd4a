//! The closed set of shapes in which tools answer: [`Content`] for the model, [`Details`] for
//! the user, with one renderer each in the view.
//!
//! Plain data: it is stored in the session file, recorded and replayed. Text in it is raw,
//! and becomes safe when it enters the model (`app::printable`).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::sandbox::SandboxDenial;

/// One piece of a tool's answer to the model, in the shape of the session file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content {
    /// Plain text.
    Text { text: String },
    /// A picture: base64 data and its mime type.
    Image { data: String, mime_type: String },
}

impl Content {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text { text: text.into() }
    }
}

/// The answer of a tool; while it runs, the answer so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// For the model; already within its budget.
    pub content: Vec<Content>,
    /// For the user.
    #[serde(default, deserialize_with = "lenient")]
    pub details: Details,
}

impl ToolOutput {
    /// An answer of one text block for the model and `details` for the user.
    pub fn new(text: impl Into<String>, details: Details) -> Self {
        ToolOutput { content: vec![Content::text(text)], details }
    }
}

/// What the user sees of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Details {
    /// Nothing but what the model got.
    #[default]
    None,
    /// Text, shown as it is.
    Text { text: String },
    /// A window of a text file; its lines are in the content.
    Lines(LineFacts),
    /// A change of one file.
    Diff(FileDiff),
    /// Output of a command.
    Terminal(TerminalOutput),
    /// A list of paths, and whether it was cut.
    Paths { paths: Vec<String>, cut: bool },
    /// A picture: its size in pixels and bytes. The data is in the content.
    Image { mime_type: String, width: u32, height: u32, bytes: u64 },
}

/// Reads details leniently: other programs and later versions have other shapes, which count as
/// [`Details::None`], so that any session file opens. For `#[serde(deserialize_with)]`.
///
/// # Errors
/// Only when the input is not JSON at all.
pub fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Details, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Which lines of a text file an answer has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineFacts {
    /// Absolute path of the file.
    pub file_path: String,
    /// Lines of the file, or as many of a very large one as were counted in a moment.
    pub total_lines: u64,
    /// Lines in the answer.
    pub lines_read: u64,
    /// Number of the first of them, from 1.
    pub offset: u64,
    /// True if lines follow the last one.
    pub truncated: bool,
}

/// A change of one file as unified hunks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The path as the model gave it.
    pub path: String,
    /// Lines added, in all.
    pub added: u32,
    /// Lines removed, in all.
    pub removed: u32,
    /// The hunks, top to bottom.
    pub hunks: Vec<Hunk>,
    /// True when hunks were left out because the change is very large.
    #[serde(default)]
    pub cut: bool,
    /// What a tool did to make it; absent for a change that was only proposed.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ChangeFacts>,
}

/// How a tool changed a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ChangeFacts {
    /// Text was replaced.
    Replaced {
        /// Absolute path of the file.
        file_path: String,
        /// The text that was to be replaced, and what was put in its place: of several replacements the
        /// first, and of each the first [`FACT_BYTES`].
        old_string: String,
        new_string: String,
        /// Places that were found, of all replacements.
        match_count: u64,
        /// Lines added or removed, whichever are more.
        lines_changed: u32,
    },
    /// The file was created or replaced.
    Written {
        /// Absolute path of the file.
        file_path: String,
        /// Bytes of its new content.
        size: u64,
        /// True if there was no such file before.
        is_new: bool,
    },
}

impl ChangeFacts {
    /// The texts that may hold anything.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            ChangeFacts::Replaced { file_path, old_string, new_string, .. } => {
                vec![file_path, old_string, new_string]
            }
            ChangeFacts::Written { file_path, .. } => vec![file_path],
        }
    }

    /// The bytes of these texts.
    pub fn size(&self) -> usize {
        match self {
            ChangeFacts::Replaced { file_path, old_string, new_string, .. } => {
                file_path.len() + old_string.len() + new_string.len()
            }
            ChangeFacts::Written { file_path, .. } => file_path.len(),
        }
    }
}

/// Most bytes of a text of a call that its details repeat.
pub const FACT_BYTES: usize = 4 * 1024;

/// The start of a text of a call, as its details repeat it.
pub(crate) fn fact(text: &str) -> String {
    let end = (0..=FACT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let start = text.get(..end.unwrap_or(0)).unwrap_or_default();
    if start.len() == text.len() { start.to_owned() } else { format!("{start}…") }
}

impl FileDiff {
    /// The hunks as text, `@@` lines included.
    pub fn unified(&self) -> String {
        let mut text = String::new();
        for hunk in &self.hunks {
            let count = |other: char| hunk.lines.iter().filter(|line| !line.starts_with(other)).count();
            let (old, new) = (count('+'), count('-'));
            text.push_str(&format!("@@ -{},{old} +{},{new} @@\n", hunk.old_start, hunk.new_start));
            for line in &hunk.lines {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }

    /// The number of the first line that is new or follows one that was removed.
    pub fn first_changed_line(&self) -> Option<u32> {
        let hunk = self.hunks.first()?;
        let context = hunk.lines.iter().take_while(|line| line.starts_with(' ')).count();
        Some(hunk.new_start.saturating_add(u32::try_from(context).ok()?).max(1))
    }
}

/// A run of changed lines with their context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// Number of the first old line, from 1.
    pub old_start: u32,
    /// Number of the first new line, from 1.
    pub new_start: u32,
    /// The lines without their line end, each after `' '`, `'-'` or `'+'`.
    pub lines: Vec<String>,
}

/// Output of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutput {
    /// The end of the output, carriage returns folded, colour sequences (SGR) kept.
    pub text: String,
    /// Exit code; absent while it runs and if a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of the signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// True if `text` is not all of it.
    #[serde(default)]
    pub truncated: bool,
    /// Where the full output is, if it was too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Lines of the whole output so far.
    #[serde(default)]
    pub total_lines: u64,
    /// What the sandbox probably refused, if the command failed in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<SandboxDenial>,
    /// The command that ran, if the user put it in the place of the call's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// The command, or the start of a long one; absent where it is known from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How long it ran, in milliseconds; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// True if the command ran a second time, because the sandbox had refused a part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_again: bool,
}
