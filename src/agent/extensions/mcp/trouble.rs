//! Records why a server ended: its standard error, and faults in its output.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The number of lines of standard error that are kept.
const LINES: usize = 20;
/// The maximum length of a line, in bytes.
const MAX_LEN: usize = 500;

/// The longest wait for the end of standard error once a server has ended.
const SETTLING: Duration = Duration::from_millis(500);

/// The possible reasons for a server's end.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    known: Mutex<Known>,
    /// Cancelled once standard error is read to its end.
    complete: CancellationToken,
}

#[derive(Debug, Default)]
struct Known {
    why: Option<String>,
    /// The exit status of its process.
    status: Option<String>,
    lines: VecDeque<String>,
}

impl Trouble {
    /// Records a fault in its output; the first counts.
    pub(super) fn set(&self, why: String) {
        self.known.lock().why.get_or_insert(why);
    }

    /// Records the exit status of its process.
    pub(super) fn ended_with(&self, status: String) {
        self.known.lock().status.get_or_insert(status);
    }

    /// The fault, or the exit status and the last line of standard error.
    pub(super) fn text(&self) -> Option<String> {
        let known = self.known.lock();
        if known.why.is_some() {
            return known.why.clone();
        }
        let said = known.lines.iter().rev().find(|line| !line.trim().is_empty());
        match (&known.status, said) {
            (Some(status), Some(said)) => Some(format!("{status}, {said}")),
            (status, said) => status.as_ref().or(said).cloned(),
        }
    }

    /// The last lines of standard error.
    #[cfg(test)]
    pub(super) fn lines(&self) -> Vec<String> {
        self.known.lock().lines.iter().cloned().collect()
    }

    /// Reads standard error to its end, and keeps the last lines.
    pub(super) async fn read(&self, stderr: impl AsyncRead + Unpin) {
        let mut stderr = BufReader::new(stderr);
        let mut line: Vec<u8> = Vec::new();
        loop {
            let (taken, ended) = match stderr.fill_buf().await {
                Ok(available) if !available.is_empty() => {
                    let end = memchr::memchr(b'\n', available);
                    let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
                    let fits = MAX_LEN.saturating_sub(line.len()).min(piece.len());
                    line.extend_from_slice(piece.get(..fits).unwrap_or_default());
                    (piece.len() + usize::from(end.is_some()), end.is_some())
                }
                Ok(_) | Err(_) => break,
            };
            stderr.consume(taken);
            if ended {
                self.keep(&std::mem::take(&mut line));
            }
        }
        self.keep(&line);
        self.complete.cancel();
    }

    /// Waits a moment for the last lines to arrive.
    pub(super) async fn settled(&self) {
        // Other processes may hold the stream open.
        let _ = timeout(SETTLING, self.complete.cancelled()).await;
    }

    fn keep(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        if text.is_empty() {
            return;
        }
        let mut known = self.known.lock();
        if known.lines.len() >= LINES {
            known.lines.pop_front();
        }
        known.lines.push_back(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_what_was_written_is_kept() {
        let trouble = Trouble::default();
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        trouble.read((text + &"x".repeat(4000) + "\n\n").as_bytes()).await;
        let lines = trouble.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[19].len()), (20, "line 81", 500));
        trouble.set("first".to_owned());
        trouble.set("second".to_owned());
        assert_eq!(trouble.text().as_deref(), Some("first"));
    }
}
