//! Cuts long results for the model in the middle, and saves them completely in a file.

use tau_tools::counted::pluralize;
use tau_tools::scratch::Scratch;
use tau_tools::{OutputLimits, budget, paths};

/// The maximum size of a result for the model, as for commands.
const MAX_WEIGHT: usize = 48 * 1024;

/// The text, or its start and end and the file with all of it, whose name begins with `stem`.
pub(super) fn within(text: &str, stem: &str, limits: &OutputLimits, scratch: &Scratch) -> String {
    let most = limits.token_weight().min(MAX_WEIGHT);
    if budget::token_weight(text) <= most {
        return text.to_owned();
    }
    let end = limits.secrets.end(text, budget::start_within(text, most / 4 * 3));
    let start = limits.secrets.start(text, budget::end_within(text, most / 4));
    let (head, tail) = (text.get(..end).unwrap_or_default(), text.get(start..).unwrap_or_default());
    let kept = scratch.create(stem).and_then(|mut file| {
        file.append(text.as_bytes())?;
        Ok(file.path().to_path_buf())
    });
    let place = match kept {
        Ok(path) => format!("all of it is in {}", path.display()),
        Err(error) => format!("all of it could not be saved: {}", paths::reason(&error)),
    };
    let left_out = text.len().saturating_sub(head.len() + tail.len());
    format!("{head}\n[… {} left out; {place} …]\n{tail}", pluralize(left_out, "byte"))
}
