//! What is pasted: how much may be, and what is said where there is nothing.

use crate::app::request::Pasted;
use crate::cli::tui::decode::unify_line_ends;

/// The most that is pasted, in bytes; pictures may not be larger either.
pub(super) const MOST: usize = 20 << 20;

/// What the user is told about a clipboard without anything to paste.
pub(super) const EMPTY: &str =
    "nothing to paste: the clipboard holds neither text nor an image that models accept";

/// Text that was read; `None` when there is none.
pub(super) fn text_of(bytes: &[u8]) -> Option<Pasted> {
    let text = unify_line_ends(bytes);
    (!text.is_empty()).then_some(Pasted::Text(text))
}

/// What the user is told about too large a clipboard.
pub(super) fn too_large() -> String {
    format!("cannot paste: the clipboard holds more than {} MB; save it to a file and name that", MOST >> 20)
}
