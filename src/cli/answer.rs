//! The text of the answer to a prompt, as print mode and `--output` write it.

use std::path::{Path, PathBuf};

use crate::agent::protocol::message::{Message, StopReason};

/// Collects the text of the final answer of a run. When a stream was cut and the model continued,
/// the answer is all its parts.
#[derive(Debug, Default)]
pub(crate) struct AnswerText {
    /// The parts before the cuts.
    cut: String,
    text: Option<String>,
}

impl AnswerText {
    /// Takes a message that is complete.
    pub fn add(&mut self, message: &Message) {
        match message {
            Message::Assistant(answer) => match answer.stop_reason {
                StopReason::Error | StopReason::Aborted => self.cut.push_str(&answer.text()),
                _ => self.text = Some(std::mem::take(&mut self.cut) + &answer.text()),
            },
            // The model answers something new.
            _ => self.cut.clear(),
        }
    }

    /// The text of the last complete answer.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// Writes an answer to the file that `--output` names. Off the loop, since a FIFO may wait for its
/// reader.
///
/// # Errors
/// A sentence that names the file.
pub async fn write(path: PathBuf, text: String) -> Result<(), String> {
    let written = tokio::task::spawn_blocking(move || {
        std::fs::write(&path, line_ended(&text)).map_err(|error| cannot_write(&path, &error))
    });
    written.await.map_err(|error| error.to_string())?
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write the answer to {}: {error}", path.display())
}

/// `text` with a line break at its end.
pub(crate) fn line_ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
