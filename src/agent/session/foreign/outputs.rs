//! Large outputs of tools, which other agents put into files of their own and leave a beginning in the session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::entry::{Body, Entry};
use tau_protocol::message::Message;
use tau_protocol::session_row::SessionOrigin;
use tau_tools::regular_files::read_capped;
use tau_tools::{Content, OutputLimits, command_result};

/// The words before the path of such a file, in results of Claude Code and opencode.
const SAVED_TO: &str = "Full output saved to: ";
/// The size limit of such a file, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Puts the outputs of a session into its results, cut to limits if there are any; returns the number of those that
/// cannot be read.
pub(super) fn restore(
    entries: &mut [Entry],
    path: &Path,
    origin: SessionOrigin,
    limits: Option<&OutputLimits>,
) -> usize {
    let mut missing: usize = 0;
    for entry in entries {
        let Body::Message { message } = &mut entry.body else { continue };
        if !matches!(message.as_ref(), Message::ToolResult(result) if result.content.iter().any(is_saved)) {
            continue;
        }
        let Message::ToolResult(result) = Arc::make_mut(message) else { continue };
        for part in result.content.iter_mut().filter(|part| is_saved(part)) {
            let Content::Text { text } = part else { continue };
            match saved_file(text, path, origin)
                .and_then(|file| Some((read_capped(&file, LARGEST).ok()?, file)))
            {
                Some((output, file)) => {
                    let output = String::from_utf8_lossy(&output);
                    let whole = format!("all of it is in {}", file.display());
                    let cut = limits.map(|limits| command_result::cut(&output, limits, &whole));
                    *text = cut.unwrap_or_else(|| output.into_owned());
                }
                None => missing = missing.saturating_add(1),
            }
        }
    }
    missing
}

fn is_saved(part: &Content) -> bool {
    matches!(part, Content::Text { text } if text.contains(SAVED_TO))
}

/// The file that a result names. Only its name counts: the folder is the program's own, beside the session.
fn saved_file(text: &str, path: &Path, origin: SessionOrigin) -> Option<PathBuf> {
    let named = text.split_once(SAVED_TO)?.1.lines().next()?.trim();
    let folder = match origin {
        SessionOrigin::Claude => path.with_extension("").join("tool-results"),
        SessionOrigin::Opencode => {
            path.ancestors().map(|above| above.join("tool-output")).find(|folder| folder.is_dir())?
        }
        SessionOrigin::Tau | SessionOrigin::Codex | SessionOrigin::Pi => return None,
    };
    let file = folder.join(Path::new(named).file_name()?).canonicalize().ok()?;
    // No link leads out of it.
    file.starts_with(folder.canonicalize().ok()?).then_some(file).filter(|_| !folder.is_symlink())
}
