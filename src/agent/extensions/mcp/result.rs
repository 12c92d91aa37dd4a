//! Converts the result of a call: text and pictures for the model, everything for the user.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, Resource, ResourceContents, Role,
};
use serde_json::Value;

use crate::extensions::long_text::within;
use tau_tools::counted::pluralize;
use tau_tools::read::picture;
use tau_tools::scratch::Scratch;
use tau_tools::user_error::UserError;
use tau_tools::{Content, Details, OutputLimits, ToolError, ToolOutput};

/// The maximum size of a picture, in bytes of base64; it is reduced before it is sent.
const MAX_PICTURE_SIZE: usize = 28 * 1024 * 1024;
/// The minimum length of base64 that is removed from text.
const MIN_REPEATED: usize = 64;
/// The maximum number of pictures in a result.
const MAX_PICTURES: usize = 8;

/// The answer for the model and the user. Fails when the server says that the call failed.
pub(super) fn of_call(
    result: CallToolResult,
    limits: OutputLimits,
    scratch: &Scratch,
) -> Result<ToolOutput, ToolError> {
    let mut parts = Parts::within(limits.clone());
    let has_content = !result.content.is_empty();
    for block in result.content {
        parts.add(block);
    }
    if let Some(structured) = result.structured_content.filter(|value| !value.is_null()) {
        parts.add_structured_content(&structured, has_content);
    }
    parts.leave_out_data();
    if result.is_error == Some(true) {
        let text = within(&parts.text, "mcp", &limits, scratch);
        let details = Details::Text { text: text.clone() };
        let message =
            if text.trim().is_empty() { "the server says that the call failed".to_owned() } else { text };
        return Err(ToolError::Refused { message, details: Box::new(details) });
    }
    Ok(parts.output(scratch))
}

/// The messages of a prompt as one user message. If it includes messages of the model, each begins with its
/// role.
pub(super) fn of_prompt(result: GetPromptResult, limits: OutputLimits, scratch: &Scratch) -> ToolOutput {
    let mut parts = Parts::within(limits);
    let is_dialog = result.messages.iter().any(|message| message.role == Role::Assistant);
    for message in result.messages {
        if is_dialog {
            let who = if message.role == Role::Assistant { "Assistant" } else { "User" };
            parts.line(&format!("{who}:"));
        } else if !parts.text.is_empty() {
            parts.text.push_str("\n\n");
        }
        parts.add(message.content);
    }
    parts.output(scratch)
}

/// A resource as an attachment of a message. The error describes a resource that can be attached neither as
/// text nor as a picture.
pub(super) fn of_resource(
    found: ReadResourceResult,
    server: &str,
    uri: &str,
    limits: OutputLimits,
    scratch: &Scratch,
) -> Result<ToolOutput, UserError> {
    let mut parts = Parts::within(limits);
    for content in found.contents {
        match content {
            ResourceContents::TextResourceContents { text, .. } => parts.line(&text),
            ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                if kind.starts_with("image/") {
                    parts.picture(blob, kind);
                } else if let Some(text) = text_of(&kind, &blob) {
                    parts.line(&text);
                } else {
                    return Err(format!("it is {kind}, which models do not take").into());
                }
            }
            _ => return Err("it is of an unknown kind".into()),
        }
    }
    let text = within(parts.text.trim_end(), "mcp", &parts.limits, scratch);
    let name = format!("<resource server=\"{server}\" uri=\"{uri}\"");
    let text = if text.is_empty() { format!("{name} />") } else { format!("{name}>\n{text}\n</resource>") };
    let content = std::iter::once(Content::text(text)).chain(parts.pictures).collect();
    Ok(ToolOutput { content, details: Details::None })
}

/// The decoded text of base64 data, if it is text.
fn text_of(kind: &str, blob: &str) -> Option<String> {
    let is_text = kind.starts_with("text/") || matches!(kind, "application/json" | "application/xml");
    let bytes = is_text.then(|| BASE64_STANDARD.decode(blob).ok()).flatten()?;
    String::from_utf8(bytes).ok()
}

struct Parts {
    text: String,
    /// Base64 data, which servers repeat in their text and structured content.
    data: Vec<String>,
    pictures: Vec<Content>,
    limits: OutputLimits,
}

impl Parts {
    fn within(limits: OutputLimits) -> Self {
        Parts { text: String::new(), data: Vec::new(), pictures: Vec::new(), limits }
    }

    fn output(self, scratch: &Scratch) -> ToolOutput {
        let text = within(&self.text, "mcp", &self.limits, scratch);
        let details = Details::Text { text: text.clone() };
        let mut content = Vec::new();
        if !text.is_empty() || self.pictures.is_empty() {
            let text = if text.is_empty() { "(no content)".to_owned() } else { text };
            content.push(Content::text(text));
        }
        let has_pictures = !self.pictures.is_empty();
        content.extend(self.pictures);
        // With pictures, the panel shows the model's content.
        ToolOutput { content, details: if has_pictures { Details::None } else { details } }
    }

    fn line(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.line(&text.text),
            ContentBlock::Image(image) => {
                self.data.push(image.data.clone());
                self.picture(image.data, image.mime_type);
            }
            ContentBlock::Audio(audio) => {
                self.data.push(audio.data.clone());
                let bytes = audio.data.len() / 4 * 3;
                self.line(&format!(
                    "[audio, {}, {}: not shown to the model]",
                    audio.mime_type,
                    pluralize(bytes, "byte")
                ));
            }
            ContentBlock::ResourceLink(link) => self.line(&link_text(&link)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    self.line(&format!("[resource {uri}]\n{text}"));
                }
                ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                    let kind = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                    self.data.push(blob.clone());
                    if kind.starts_with("image/") {
                        self.line(&format!("[resource {uri}]"));
                        self.picture(blob, kind);
                    } else {
                        self.line(&format!(
                            "[resource {uri}, {kind}, {}]",
                            pluralize(blob.len() / 4 * 3, "byte")
                        ));
                    }
                }
                _ => self.line("[a resource of an unknown kind]"),
            },
            _ => self.line("[content of an unknown kind]"),
        }
    }

    /// A picture by its data: servers name its kind in many ways, break lines in it, or write it as an address.
    fn picture(&mut self, data: String, mime_type: String) {
        let data: String = data.split_ascii_whitespace().collect();
        let data = data.split_once(";base64,").map_or(data.clone(), |(_, data)| data.to_owned());
        let format = BASE64_STANDARD.decode(&data).ok().and_then(|bytes| picture::format(&bytes));
        let mime_type = format.map_or(mime_type, |format| format.to_mime_type().to_owned());
        let note = if !self.limits.images {
            Some("this model does not take pictures")
        } else if format.is_none() {
            Some("pictures of this kind cannot be sent")
        } else if data.len() > MAX_PICTURE_SIZE || self.pictures.len() >= MAX_PICTURES {
            Some("too large, or one too many")
        } else {
            None
        };
        match note {
            Some(note) => {
                self.line(&format!(
                    "[picture, {mime_type}, {}: {note}]",
                    pluralize(data.len() / 4 * 3, "byte")
                ));
            }
            None => self.pictures.push(Content::Image { data, mime_type }),
        }
    }

    /// Removes data from the text that was sent as a part of its own.
    fn leave_out_data(&mut self) {
        for data in self.data.drain(..).filter(|data| data.len() >= MIN_REPEATED) {
            for written in [data.clone(), data.replace('/', "\\/")] {
                if self.text.contains(&written) {
                    self.text = self.text.replace(&written, "[the data above]");
                }
            }
        }
    }

    /// Adds structured content, unless its text was sent as well, as servers do for older clients.
    fn add_structured_content(&mut self, value: &Value, has_content: bool) {
        let said =
            serde_json::from_str::<Value>(&self.text).unwrap_or_else(|_| Value::from(self.text.as_str()));
        let only =
            value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
        let is_said = || said == *value || only.is_some_and(|only| said == *only);
        if has_content && is_said() {
            return;
        }
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        self.line(&text);
    }
}

fn link_text(link: &Resource) -> String {
    let mut text = format!("[resource {}", link.uri);
    for part in [Some(&link.name), link.title.as_ref(), link.mime_type.as_ref(), link.description.as_ref()] {
        if let Some(part) = part.filter(|part| !part.trim().is_empty() && **part != link.uri) {
            text.push_str(", ");
            text.push_str(part);
        }
    }
    text.push(']');
    text
}
