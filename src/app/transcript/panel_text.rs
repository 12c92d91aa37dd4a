//! The selected panel as text, for copying or an editor.

use super::find_text::output_text;
use super::panel::{PanelOutput, ToolPanel};
use super::{EntryBody, Transcript};
use crate::blocks::{MarkdownBlock, MarkdownBlocks};
use crate::request::EditorSource;

/// Tools whose argument is a file that can be opened.
const FILE_TOOLS: [&str; 3] = ["read", "write", "edit"];

/// The content of a panel, and the name ending of a file with it.
pub(crate) struct PanelText {
    pub(crate) text: String,
    ending: String,
}

impl PanelText {
    fn new(text: &str, ending: &str) -> Option<Self> {
        let text = text.trim_end();
        (!text.is_empty()).then(|| PanelText { text: text.to_owned(), ending: format!(".{ending}") })
    }
}

impl Transcript {
    /// The content of the selected panel; `None` when it is empty.
    pub(crate) fn panel_text(&self) -> Option<PanelText> {
        let panel = self.selected_panel()?;
        match &self.selected_entry()?.body {
            EntryBody::User { text, .. } => PanelText::new(text, "md"),
            EntryBody::Answer(blocks) => match panel.code {
                Some(first) => code(blocks, first),
                None => PanelText::new(&markdown(blocks), "md"),
            },
            EntryBody::Thinking { blocks, .. } | EntryBody::Summary { blocks, .. } => {
                PanelText::new(&markdown(blocks), "md")
            }
            EntryBody::Tool(_) => match self.selected_calls().as_slice() {
                [call] => output(&call.output).or_else(|| PanelText::new(&describe_call(call), "txt")),
                calls => {
                    let text = |call: &&ToolPanel| {
                        let text =
                            output(&call.output).map_or_else(|| describe_call(call), |output| output.text);
                        format!("{} {}\n{text}", call.name, call.title)
                    };
                    PanelText::new(&calls.iter().map(text).collect::<Vec<_>>().join("\n\n"), "txt")
                }
            },
            EntryBody::Command(command) => {
                let blocked = || PanelText::new(command.blocked.as_ref()?, "txt");
                output(&command.output).or_else(blocked)
            }
            EntryBody::Welcome
            | EntryBody::Earlier { .. }
            | EntryBody::RunEnd(_)
            | EntryBody::Notice { .. } => None,
        }
    }

    /// The command or the path of the selected panel.
    pub(crate) fn panel_command(&self) -> Option<String> {
        let text = match &self.selected_entry()?.body {
            EntryBody::Command(command) => command.command.trim().to_owned(),
            EntryBody::Tool(_) => {
                self.selected_calls().into_iter().map(command_or_path).collect::<Vec<_>>().join("\n")
            }
            EntryBody::Welcome
            | EntryBody::Earlier { .. }
            | EntryBody::User { .. }
            | EntryBody::Answer(_)
            | EntryBody::Thinking { .. }
            | EntryBody::Summary { .. }
            | EntryBody::RunEnd(_)
            | EntryBody::Notice { .. } => String::new(),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// The editor source of the selected panel: the file of a call, otherwise its content.
    pub(crate) fn panel_source(&self) -> Option<EditorSource> {
        let file = self.selected_calls().into_iter().find_map(|call| {
            let (path, line) = call.arguments.file.as_ref()?;
            let changed = match &call.output {
                PanelOutput::Diff(diff) => diff.first_changed_line(),
                _ => None,
            };
            let is_file = FILE_TOOLS.contains(&call.name.as_str());
            is_file.then(|| EditorSource::File { path: path.clone(), line: changed.or(*line) })
        });
        file.or_else(|| {
            let PanelText { text, ending } = self.panel_text()?;
            Some(EditorSource::Text { text, ending })
        })
    }

    /// The calls in the selected row.
    fn selected_calls(&self) -> Vec<&ToolPanel> {
        match self.selected_entry() {
            Some(entry) if self.is_grouped(entry) => self.group(entry).collect(),
            Some(entry) => match &entry.body {
                EntryBody::Tool(call) => vec![call],
                _ => Vec::new(),
            },
            None => Vec::new(),
        }
    }
}

/// The command of a call, else its path, else the text of its head.
fn command_or_path(call: &ToolPanel) -> &str {
    let path = call.arguments.file.as_ref().map(|(path, _)| path.as_str());
    Some(call.arguments.command.trim()).filter(|text| !text.is_empty()).or(path).unwrap_or(&call.title)
}

/// The description of a call without output.
fn describe_call(call: &ToolPanel) -> String {
    let notes = call.notes.iter().chain(call.remarks.iter());
    let words = call.reason.iter().chain(notes).chain(&call.blocked).chain(&call.outcome);
    words.map(|words| words.as_str()).collect::<Vec<_>>().join("\n")
}

fn output(output: &PanelOutput) -> Option<PanelText> {
    if let PanelOutput::Diff(diff) = output {
        let text = format!("--- a/{path}\n+++ b/{path}\n{}", diff.to_unified(), path = diff.path);
        return PanelText::new(&text, "diff");
    }
    let mut text = String::new();
    output_text(output, &mut text);
    PanelText::new(text.strip_prefix('\n').unwrap_or(&text), "txt")
}

/// The block of code that begins with the part `first`.
fn code(blocks: &MarkdownBlocks, first: u32) -> Option<PanelText> {
    let open = blocks.open();
    let mut parts = blocks.closed_blocks().iter().chain(&open).skip(first as usize);
    let Some(MarkdownBlock::Code { lang, text, .. }) = parts.next() else { return None };
    let mut whole = text.to_string();
    for part in parts.take_while(|part| part.continues()) {
        if let MarkdownBlock::Code { text, .. } = part {
            whole.push_str(text);
        }
    }
    let is_ending = !lang.is_empty() && lang.chars().all(|c| c.is_ascii_alphanumeric());
    PanelText::new(&whole, if is_ending { lang } else { "txt" })
}

/// Approximately the original text: fences are restored.
fn markdown(blocks: &MarkdownBlocks) -> String {
    let open = blocks.open();
    let mut source = String::new();
    for block in blocks.closed_blocks().iter().chain(&open) {
        match block {
            MarkdownBlock::Markdown(text) => {
                source.push_str(text.trim_end());
                source.push_str("\n\n");
            }
            MarkdownBlock::Code { lang, text, part, .. } => {
                if part.starts() {
                    source.push_str(&format!("```{lang}\n"));
                }
                source.push_str(text);
                if part.ends() {
                    source.push_str(if text.is_empty() || text.ends_with('\n') {
                        "```\n\n"
                    } else {
                        "\n```\n\n"
                    });
                }
            }
        }
    }
    source
}
