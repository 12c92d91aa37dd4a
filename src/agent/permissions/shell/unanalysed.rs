//! The place of the parser in a program that was built without it: no command is understood, so all need approval.

use super::simple::ParseResult;
use super::words::Doubt;

/// Doubts the whole text.
pub(super) fn read(text: &str, _: usize) -> ParseResult {
    let why = "not analysed: this program was built without the feature `shell` of the crate taucode-agent";
    ParseResult { doubts: vec![Doubt::new(0..text.len(), why)], ..ParseResult::default() }
}
