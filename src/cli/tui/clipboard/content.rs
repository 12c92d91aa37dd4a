//! Pasted content: its size limit, and the errors.

use crate::tui::decode::unify_line_ends;
use tau_app::request::ClipboardContent;

/// Maximum size of a paste, in bytes; it applies to pictures, too.
pub(super) const MAX_SIZE: usize = 20 << 20;

/// The error for an empty clipboard.
pub(super) const EMPTY: &str =
    "nothing to paste: the clipboard holds neither text nor an image that models accept";

/// The text in `bytes`; `None` if it is empty.
pub(super) fn text_of(bytes: &[u8]) -> Option<ClipboardContent> {
    let text = unify_line_ends(bytes);
    (!text.is_empty()).then_some(ClipboardContent::Text(text))
}

/// The error for a clipboard that is too large.
pub(super) fn too_large() -> String {
    format!(
        "cannot paste: the clipboard holds more than {} MB; save it to a file and name that",
        MAX_SIZE >> 20
    )
}
