//! Reports output as it arrives: often enough to watch, rarely enough to cost nothing.
//!
//! Owns the output not reported yet, in bounded memory, and cuts it between characters.

use std::time::Duration;

use tokio::time::Instant;

use super::capture::Capture;
use crate::TerminalOutput;

/// Called with the output since the last call, and all output so far.
pub type OnOutput<'a> = dyn FnMut(&str, &TerminalOutput) + Send + 'a;

/// The time between two reports: the first after a pause, and the longest. It doubles while output
/// continues, so that the echo of a key is immediate and a stream costs little.
const FIRST: Duration = Duration::from_millis(2);
const MAX_WAIT: Duration = Duration::from_millis(50);
/// The time without output, after a report was possible, that counts as a pause.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of bytes shown from the end of the output while the command runs.
const SHOWN: usize = 20 * 1024;
/// The amount of output that is reported at once if nothing may be skipped. A screen folds it in a fraction
/// of a millisecond, so keys do not wait.
const FULL: usize = 16 * 1024;

/// How much of a flood of output is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The newest output; at most this many bytes each time.
    Newest(usize),
    /// All output, without the state so far: the receiver sets the pace.
    All,
}

impl Flow {
    /// For receivers that use the state so far and ignore new output.
    pub const LITTLE: Flow = Flow::Newest(2 * SHOWN);
}

/// Output not reported yet.
pub(super) struct Report<'a> {
    pace: Pace,
    pending: Vec<u8>,
    pub(super) fresh: bool,
    flow: Flow,
    tell: &'a mut OnOutput<'a>,
}

/// The time of the next report.
struct Pace {
    due: Instant,
    /// The time from the next report to the one after it.
    interval: Duration,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Pace { due: now, interval: FIRST }
    }

    /// Records new output when none was waiting.
    fn on_output(&mut self, now: Instant) {
        if self.due + PAUSE <= now {
            self.interval = FIRST;
        }
    }

    fn note_report(&mut self, now: Instant) {
        self.due = now + self.interval;
        self.interval = (self.interval * 2).min(MAX_WAIT);
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(flow: Flow, tell: &'a mut OnOutput<'a>) -> Self {
        Report { pace: Pace::new(Instant::now()), pending: Vec::new(), fresh: false, flow, tell }
    }

    /// The time at which fresh output is due.
    pub(super) fn due(&self) -> Instant {
        self.pace.due
    }

    /// Adds the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) {
        if !self.fresh {
            self.pace.on_output(Instant::now());
        }
        self.fresh = true;
        let piece = match self.flow {
            Flow::All => piece,
            Flow::Newest(most) => {
                let piece = piece.get(piece.len().saturating_sub(most)..).unwrap_or_default();
                let over = (self.pending.len() + piece.len()).saturating_sub(most);
                self.pending.drain(..over.min(self.pending.len()));
                piece
            }
        };
        self.pending.extend_from_slice(piece);
    }

    /// True if it is time to report.
    pub(super) fn is_due(&self) -> bool {
        self.pace.due <= Instant::now() || self.is_full()
    }

    /// True if no more output may be added before a report.
    pub(super) fn is_full(&self) -> bool {
        self.flow == Flow::All && self.pending.len() >= FULL
    }

    /// Reports the pending output.
    pub(super) fn now(&mut self, capture: &Capture) {
        self.fresh = false;
        self.pace.note_report(Instant::now());
        let whole = whole_characters(&self.pending);
        let delta = String::from_utf8_lossy(self.pending.get(..whole).unwrap_or_default()).into_owned();
        self.pending.drain(..whole);
        let so_far = match self.flow {
            Flow::All => TerminalOutput::default(),
            Flow::Newest(_) => snapshot(capture, SHOWN),
        };
        (self.tell)(&delta, &so_far);
    }
}

/// The output so far, as at most `most` bytes from its end.
pub(super) fn snapshot(capture: &Capture, most: usize) -> TerminalOutput {
    let (text, truncated) = capture.tail_text(most);
    TerminalOutput { text, truncated, total_lines: capture.total_lines(), ..TerminalOutput::default() }
}

/// The length without an incomplete character at the end.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        Err(error) if error.error_len().is_none() => bytes.len() - (bytes.len().min(4) - error.valid_up_to()),
        // The last four bytes may begin inside a character; start after its end.
        Err(error) => {
            let tail = bytes.len().min(4) - error.valid_up_to() - error.error_len().unwrap_or(0);
            let start = bytes.len() - tail;
            match std::str::from_utf8(bytes.get(start..).unwrap_or_default()) {
                Err(error) if error.error_len().is_none() => start + error.valid_up_to(),
                _ => bytes.len(),
            }
        }
        Ok(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long each of 20 pieces waits if they arrive at this interval, in milliseconds, and the number of
    /// reports.
    fn waits(gap: u64) -> (Vec<u128>, usize) {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let (mut waits, mut reports, mut reported) = (Vec::new(), 0, start);
        for at in (0..20).map(|index| start + Duration::from_millis(index * gap)) {
            if at >= reported {
                pace.on_output(at);
                reported = pace.due.max(at);
                pace.note_report(reported);
                reports += 1;
            }
            waits.push(reported.duration_since(at).as_millis());
        }
        (waits, reports)
    }

    #[test]
    fn the_echo_of_a_key_does_not_wait() {
        assert_eq!(waits(30), (vec![0; 20], 20));
    }

    #[test]
    fn a_stream_is_reported_rarely() {
        let (waits, reports) = waits(5);
        assert!(waits.iter().all(|wait| *wait <= 50) && reports <= 7, "{reports}: {waits:?}");
    }
}
