//! The output of a job that the model has not seen.

use super::Job;
use crate::secret_cuts::{self, SecretFinder};
use crate::{encoding, line_output};

/// The maximum length of a line without an end that begins the next output again, in bytes.
const MAX_OPEN_LINE: usize = 4 * 1024;

/// How much of a job's output the model has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenPosition {
    pub(super) end: u64,
    /// The start of its last line if that may continue: the whole line is shown again then.
    line: u64,
}

/// Output of a job that the model has not seen.
#[derive(Debug, Default)]
pub(super) struct NewOutput {
    pub(super) text: String,
    /// The number of bytes before it that are no longer in memory.
    pub(super) omitted: u64,
}

impl Job {
    /// The output that the model has not seen. It counts as seen from now on.
    ///
    /// A last line that may continue begins the next new output, too: nothing may recognise a secret in its parts.
    pub(super) fn take_new(&self, secrets: &SecretFinder) -> NewOutput {
        let has_ended = self.has_ended();
        let mut seen = self.seen.lock();
        let mut new = self.watched.since(seen.line);
        if new.end == seen.end {
            return NewOutput::default();
        }
        let complete = new.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if let Err(error) = std::str::from_utf8(&new.bytes)
            && error.error_len().is_none()
            && !has_ended
        {
            new.end -= (new.bytes.len() - error.valid_up_to()) as u64;
            new.bytes.truncate(error.valid_up_to());
        }
        let text = secret_cuts::of_same_length(&new.bytes);
        let from = text.floor_char_boundary(text.len().saturating_sub(MAX_OPEN_LINE));
        let known = secrets.start_before(&text, from);
        let open = if has_ended { 0 } else { new.bytes.len().saturating_sub(complete.max(known)) };
        *seen = SeenPosition { end: new.end, line: new.end - open as u64 };
        let text = line_output::plain(&encoding::output(&new.bytes));
        NewOutput { text, omitted: new.omitted }
    }
}
