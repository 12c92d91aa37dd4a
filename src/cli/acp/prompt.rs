//! A client's prompt as text and images for the agent.

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, Error, ErrorCode, ResourceLink,
};

use super::wire;
use crate::headless::prompts;
use tau_protocol::attachment::picture_bytes;
use tau_protocol::message::Block;
use tau_tools::user_error::UserError;

/// Reads the blocks of a prompt: texts as paragraphs, inline links as markdown, embedded files between
/// fences. Fails when a block cannot be given to a model; the error names the supported ones.
pub(crate) fn read(blocks: Vec<ContentBlock>) -> Result<(String, Vec<Block>), Error> {
    let mut text = String::new();
    let mut after_link = false;
    let mut files = Vec::new();
    let mut images = Vec::new();
    let wrong = |text: String| wire::error(ErrorCode::InvalidParams, text);
    for block in blocks {
        match block {
            ContentBlock::Text(block) => {
                if joins(after_link, &text, &block.text) {
                    text.push_str("\n\n");
                }
                text.push_str(&block.text);
                after_link = false;
            }
            ContentBlock::ResourceLink(link) => {
                text.push_str(&format_link(&link));
                after_link = true;
            }
            ContentBlock::Image(image) => {
                images.push(image_block(image.data, &image.mime_type).map_err(|error| wrong(error.into()))?);
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    files.push(prompts::fence_file(&place(&file.uri), &file.text));
                }
                EmbeddedResourceResource::BlobResourceContents(file) => {
                    let kind = file.mime_type.unwrap_or_default();
                    match image_block(file.blob, &kind) {
                        Ok(image) => images.push(image),
                        Err(why) => return Err(wrong(format!("{}: {why}", file.uri))),
                    }
                }
                _ => return Err(wrong("embedded resources must be text or images".to_owned())),
            },
            ContentBlock::Audio(_) => {
                return Err(wrong("tau sends no audio to models; write the prompt as text".to_owned()));
            }
            _ => return Err(wrong("a block of the prompt is of a kind that tau does not know".to_owned())),
        }
    }
    if text.trim().is_empty() && files.is_empty() && images.is_empty() {
        return Err(wrong("the prompt is empty; send at least one block of text".to_owned()));
    }
    // A command is the first word of a prompt, so files follow it.
    let is_command = text.starts_with('/');
    let files = files.join("\n\n");
    let text = match (files.is_empty(), is_command) {
        (true, _) => text,
        (false, true) => format!("{text}\n\n{files}"),
        (false, false) => format!("{files}\n\n{text}"),
    };
    Ok((text, images))
}

/// Whether two blocks would run together: clients that resend unanswered text, or the open files, give them
/// separate blocks.
fn joins(after_link: bool, before: &str, next: &str) -> bool {
    let Some(first) = next.chars().next().filter(|_| !before.is_empty()) else { return false };
    if after_link {
        return first.is_alphanumeric();
    }
    !first.is_whitespace() && !before.ends_with(char::is_whitespace)
}

/// A link for the model: the path of a file, or the address.
fn format_link(link: &ResourceLink) -> String {
    format!("[{}]({})", link.title.as_deref().unwrap_or(&link.name), place(&link.uri))
}

/// The path of a `file:` address; any other address unchanged. A `#` and the text after it, with which
/// editors give lines, stays.
fn place(uri: &str) -> String {
    let (address, lines) = uri.split_once('#').map_or((uri, None), |(address, lines)| (address, Some(lines)));
    let path = url::Url::parse(address)
        .ok()
        .filter(|url| url.scheme() == "file")
        .and_then(|url| url.to_file_path().ok());
    match (path, lines) {
        (Some(path), None) => path.display().to_string(),
        (Some(path), Some(lines)) => format!("{}#{lines}", path.display()),
        (None, _) => uri.to_owned(),
    }
}

/// An image that models accept. Its content counts, not its declared type.
fn image_block(data: String, mime_type: &str) -> Result<Block, UserError> {
    let bytes = picture_bytes(&data)?;
    if bytes.len() as u64 > prompts::IMAGE_BYTES {
        return Err(
            format!("an image is larger than {} MB; send a smaller one", prompts::IMAGE_BYTES >> 20).into()
        );
    }
    let Some(mime_type) = prompts::image_type(&bytes) else {
        return Err(format!(
            "\"{mime_type}\" is not an image type that models accept; send PNG, JPEG, GIF or WebP"
        )
        .into());
    };
    Ok(Block::Image { data, mime_type: mime_type.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn check(blocks: serde_json::Value) -> Result<(String, usize), UserError> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        read(blocks).map(|(text, images)| (text, images.len())).map_err(|error| error.message.into())
    }

    #[test]
    fn blocks_become_text_and_images() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        let text = |text: &str| json!({"type": "text", "text": text});
        let file = json!({"type": "resource", "resource": {"uri": "file:///a%20b.rs", "text": "fn"}});
        let link = json!({"type": "resource_link", "name": "b.rs", "uri": "file:///b.rs#L1:2"});
        let web = json!({"type": "resource_link", "name": "x", "title": "X", "uri": "https://x.y/z"});
        let cases = [
            (json!([text("a "), link, text(" b")]), "a [b.rs](/b.rs#L1:2) b", 0),
            (json!([link, text("why?"), text("")]), "[b.rs](/b.rs#L1:2)\n\nwhy?", 0),
            (json!([link, text(", too")]), "[b.rs](/b.rs#L1:2), too", 0),
            (json!([text("slow"), text("run ls")]), "slow\n\nrun ls", 0),
            (json!([text("a"), text(" b\n"), text("c")]), "a b\nc", 0),
            (json!([web]), "[X](https://x.y/z)", 0),
            (json!([text("say"), file]), "/a b.rs:\n```\nfn\n```\n\nsay", 0),
            (json!([text("/do it"), file]), "/do it\n\n/a b.rs:\n```\nfn\n```", 0),
            (json!([{"type": "image", "data": png, "mimeType": "image/x"}]), "", 1),
            (json!([text("x"), {"type": "resource", "resource": {"uri": "u:v", "blob": png}}]), "x", 1),
        ];
        for (blocks, expected, images) in cases {
            assert_eq!(check(blocks.clone()), Ok((expected.to_owned(), images)), "{blocks}");
        }
        let wrong = [
            (json!([]), "empty"),
            (json!([text(" ")]), "empty"),
            (json!([{"type": "image", "data": "!", "mimeType": "image/png"}]), "base64"),
            (json!([{"type": "image", "data": "aaaa", "mimeType": "image/png"}]), "PNG"),
            (json!([{"type": "resource", "resource": {"uri": "u:v", "blob": "aaaa"}}]), "u:v"),
            (json!([{"type": "audio", "data": "aaaa", "mimeType": "audio/wav"}]), "audio"),
        ];
        for (blocks, reason) in wrong {
            let error = check(blocks.clone()).unwrap_err();
            assert!(error.contains(reason), "{blocks}: {error}");
        }
    }
}
