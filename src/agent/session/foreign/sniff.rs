//! Determines the program that wrote a file by its content.

use std::path::Path;

use super::{claude, codex, opencode, scan};
use tau_protocol::session_row::SessionOrigin;

/// The other agent that wrote the file, as far as its first lines show. pi's files cannot be distinguished
/// from tau's own.
pub fn sniff(path: &Path) -> Option<SessionOrigin> {
    if opencode::is_session(path) {
        return Some(SessionOrigin::Opencode);
    }
    let mut origin = None;
    scan::head_of(path, |line| {
        origin = of_line(line);
        origin.is_none()
    })
    .ok()?;
    origin
}

fn of_line(line: &[u8]) -> Option<SessionOrigin> {
    if codex::is_first(line) {
        return Some(SessionOrigin::Codex);
    }
    claude::is_line(line).then_some(SessionOrigin::Claude)
}
