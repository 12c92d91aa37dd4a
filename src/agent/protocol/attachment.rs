//! Files attached to a message, and their conversion for the model.
//!
//! The shape is that of the RPC wire (`prompt.attachments`). An image becomes an image block, a document the
//! text extracted from it (`message::Block::of_attachment`). The caller extracts text; nothing is read here.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tau_tools::user_error::UserError;

/// The kinds of attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    Image,
    Document,
}

/// A file attached to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The front end's id for it.
    #[serde(default)]
    pub id: String,
    #[serde(rename = "type")]
    pub kind: AttachmentKind,
    #[serde(default)]
    pub file_name: String,
    #[serde(default)]
    pub mime_type: String,
    /// The size of the file, in bytes.
    #[serde(default)]
    pub size: u64,
    /// The file in base64.
    #[serde(default)]
    pub content: String,
    /// The extracted text of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_text: Option<String>,
    /// A thumbnail in base64, for users only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

impl Attachment {
    /// An image.
    pub fn image(file_name: impl Into<String>, mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new(AttachmentKind::Image, file_name.into(), mime_type.into(), bytes)
    }

    /// A document and its text.
    pub fn document(
        file_name: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: &[u8],
        extracted_text: Option<String>,
    ) -> Self {
        let document = Self::new(AttachmentKind::Document, file_name.into(), mime_type.into(), bytes);
        Attachment { extracted_text, ..document }
    }

    fn new(kind: AttachmentKind, file_name: String, mime_type: String, bytes: &[u8]) -> Self {
        Attachment {
            id: tau_tools::ids::id().to_string(),
            kind,
            file_name,
            mime_type,
            size: bytes.len() as u64,
            content: STANDARD.encode(bytes),
            extracted_text: None,
            preview: None,
        }
    }
}

/// The bytes of a picture in base64. Fails when it is something else.
pub fn picture_bytes(data: &str) -> Result<Vec<u8>, UserError> {
    STANDARD.decode(data).map_err(|error| format!("the data of an image is not base64: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Block;

    fn check(json: &str, expected: Block) {
        let attachment: Attachment = serde_json::from_str(json).unwrap();
        assert_eq!(Block::of_attachment(&attachment), expected, "{json}");
    }

    #[test]
    fn each_kind_becomes_a_block() {
        check(
            r#"{"id":"1","type":"image","fileName":"a.png","mimeType":"image/png","size":3,"content":"AAAA"}"#,
            Block::Image { data: "AAAA".into(), mime_type: "image/png".into() },
        );
        check(
            r#"{"id":"2","type":"document","fileName":"a.pdf","content":"AAAA","extractedText":"one\ntwo\n"}"#,
            Block::text("<document name=\"a.pdf\">\none\ntwo\n</document>"),
        );
        let unread = Attachment::document("b.doc", "application/msword", b"xyz", None);
        assert_eq!((unread.size, unread.content.as_str()), (3, "eHl6"));
        check(
            &serde_json::to_string(&unread).unwrap(),
            Block::text("[the document \"b.doc\" was attached, but its text could not be read]"),
        );
    }
}
