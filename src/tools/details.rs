//! The closed set of answer shapes: [`Content`] for the model, [`Details`] for the user.
//!
//! The view has one renderer for each shape of details. Plain data: stored in the session file, recorded and
//! replayed. Its text is raw and is sanitized on entering the model (`app::printable`).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::delegate::HelperReport;
use super::sandbox::SandboxDenial;

/// A piece of a tool's answer to the model, in the session file's format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content {
    /// Plain text.
    Text { text: String },
    /// An image: base64 data and its MIME type.
    Image { data: String, mime_type: String },
}

impl Content {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text { text: text.into() }
    }
}

/// A tool's answer; while the tool runs, its answer so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The part for the model, already within its budget.
    pub content: Vec<Content>,
    /// The part for the user.
    #[serde(default, deserialize_with = "lenient")]
    pub details: Details,
}

impl ToolOutput {
    /// An answer with one text block for the model and `details` for the user.
    pub fn new(text: impl Into<String>, details: Details) -> Self {
        ToolOutput { content: vec![Content::text(text)], details }
    }
}

/// The part of a tool's answer that is shown to the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Details {
    /// Nothing beyond the content for the model.
    #[default]
    None,
    /// Text, shown verbatim.
    Text { text: String },
    /// A range of lines of a text file; the lines are in the content.
    Lines(LineFacts),
    /// A change to one file.
    Diff(FileDiff),
    /// The output of a command.
    Terminal(TerminalOutput),
    /// A list of paths, and whether it was truncated.
    Paths { paths: Vec<String>, cut: bool },
    /// An image: its size in pixels and bytes. The data is in the content.
    Image { mime_type: String, width: u32, height: u32, bytes: u64 },
    /// The state of a helper, and its calls.
    Helper(Box<HelperReport>),
}

/// Reads details leniently: shapes from other programs and later versions become [`Details::None`], so that
/// any session file opens. For `#[serde(deserialize_with)]`. Fails only if the input is not JSON at all.
pub fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Details, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The range of lines of a text file in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineFacts {
    /// The absolute path of the file.
    pub file_path: String,
    /// The number of lines in the file; for a very large file, as many as could be counted quickly.
    pub total_lines: u64,
    /// The number of lines in the answer.
    pub lines_read: u64,
    /// The number of the first line in the answer, from 1.
    pub offset: u64,
    /// True if more lines follow the last one.
    pub truncated: bool,
}

/// A change to one file as unified hunks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The path as given by the model.
    pub path: String,
    /// The total number of added lines.
    pub added: u32,
    /// The total number of removed lines.
    pub removed: u32,
    /// The hunks, from top to bottom.
    pub hunks: Vec<Hunk>,
    /// True if hunks were left out because the change is very large.
    #[serde(default)]
    pub cut: bool,
    /// True if the last hunk has the last line of the old text, which has no line end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old_unended: bool,
    /// True if the last hunk has the last line of the new text, which has no line end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_unended: bool,
    /// Facts about the tool's edit; absent for a change that was only proposed.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ChangeFacts>,
}

/// How a tool changed a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ChangeFacts {
    /// Text was replaced.
    Replaced {
        /// The absolute path of the file.
        file_path: String,
        /// The replaced text and its replacement: for several replacements the first, and of each text the
        /// first [`FACT_BYTES`].
        old_string: String,
        new_string: String,
        /// The number of matches of all replacements.
        match_count: u64,
        /// The number of added or removed lines, whichever is greater.
        lines_changed: u32,
    },
    /// The file was created or replaced.
    Written {
        /// The absolute path of the file.
        file_path: String,
        /// The size of its new content in bytes.
        size: u64,
        /// True if the file did not exist before.
        is_new: bool,
    },
}

impl ChangeFacts {
    /// The texts that may contain anything.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            ChangeFacts::Replaced { file_path, old_string, new_string, .. } => {
                vec![file_path, old_string, new_string]
            }
            ChangeFacts::Written { file_path, .. } => vec![file_path],
        }
    }

    /// The size of these texts in bytes.
    pub fn size(&self) -> usize {
        match self {
            ChangeFacts::Replaced { file_path, old_string, new_string, .. } => {
                file_path.len() + old_string.len() + new_string.len()
            }
            ChangeFacts::Written { file_path, .. } => file_path.len(),
        }
    }
}

/// The maximum number of bytes of a call's text that its details repeat.
pub const FACT_BYTES: usize = 4 * 1024;

/// The start of a call's text, as its details repeat it.
pub(crate) fn fact(text: &str) -> String {
    let end = (0..=FACT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let start = text.get(..end.unwrap_or(0)).unwrap_or_default();
    if start.len() == text.len() { start.to_owned() } else { format!("{start}…") }
}

impl FileDiff {
    /// The hunks as text, `@@` lines included.
    pub fn to_unified(&self) -> String {
        let mut text = String::new();
        for (index, hunk) in self.hunks.iter().enumerate() {
            let count = |other: char| hunk.lines.iter().filter(|line| !line.starts_with(other)).count();
            let (old, new) = (count('+'), count('-'));
            // A side without lines is named by the line before it.
            let start = |first: u32, count: usize| first.saturating_sub(u32::from(count == 0));
            let (from, to) = (start(hunk.old_start, old), start(hunk.new_start, new));
            text.push_str(&format!("@@ -{from},{old} +{to},{new} @@\n"));
            let is_last = index + 1 == self.hunks.len();
            let last = |other: char| hunk.lines.iter().rposition(|line| !line.starts_with(other));
            let unended = [(self.old_unended, last('+')), (self.new_unended, last('-'))];
            for (at, line) in hunk.lines.iter().enumerate() {
                text.push_str(line);
                text.push('\n');
                if is_last && unended.contains(&(true, Some(at))) {
                    text.push_str("\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    /// The number of the first line that is new or follows a removed one.
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
    /// The number of the first old line, from 1.
    pub old_start: u32,
    /// The number of the first new line, from 1.
    pub new_start: u32,
    /// The lines without their line ends, each prefixed with `' '`, `'-'` or `'+'`.
    pub lines: Vec<String>,
}

/// The output of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutput {
    /// The end of the output, with carriage returns folded and colour sequences (SGR) kept.
    pub text: String,
    /// The exit code; absent while the command runs and if a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// True if `text` is not the whole output.
    #[serde(default)]
    pub truncated: bool,
    /// The path of the full output, if it was too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// The number of lines of the whole output so far.
    #[serde(default)]
    pub total_lines: u64,
    /// The probable sandbox denial, if the command failed in a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<SandboxDenial>,
    /// The command that ran, if the user replaced the one in the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// The command, or the start of a long one; absent if it is known from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The run time in milliseconds; absent while the command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// True if the command ran a second time because the sandbox had denied part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_again: bool,
    /// The number of the background job that the command has become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
}
