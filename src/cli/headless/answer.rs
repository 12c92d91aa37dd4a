//! The text of the answer to a prompt, as written by print mode and `--output`.

use std::path::{Path, PathBuf};

use rustix::fs::Access;

use tau_protocol::message::{Message, StopReason};
use tau_tools::user_error::UserError;

/// Collects the text of a run's final answer. When an answer was stopped and the model continued, it has all
/// parts; a failed answer is replaced by the next attempt.
#[derive(Debug, Default)]
pub(crate) struct AnswerText {
    /// The parts before the cuts.
    cut: String,
    text: Option<String>,
}

impl AnswerText {
    /// Adds a complete message.
    pub fn add(&mut self, message: &Message) {
        match message {
            Message::Assistant(answer) => match answer.stop_reason {
                StopReason::Error => {}
                StopReason::Aborted => self.cut.push_str(&answer.text()),
                _ => self.text = Some(std::mem::take(&mut self.cut) + &answer.text()),
            },
            // The model starts another answer.
            _ => self.cut.clear(),
        }
    }

    /// The text of the last complete answer.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// Writes an answer to the file of `--output`. Off the loop, since a FIFO may wait for its reader. The error
/// is a sentence that names the file.
pub async fn write(path: PathBuf, text: String) -> Result<(), UserError> {
    let written = tokio::task::spawn_blocking(move || {
        std::fs::write(&path, ensure_trailing_newline(&text)).map_err(|error| cannot_write(&path, &error))
    });
    written.await.map_err(UserError::of)?
}

/// Checks that the file can be written before anything is paid for, without touching it.
pub fn check_writable(path: &Path) -> Result<(), UserError> {
    let failed = |error: std::io::Error| cannot_write(path, &error);
    let access = |path: &Path, access| rustix::fs::access(path, access).map_err(|error| failed(error.into()));
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(failed(std::io::ErrorKind::IsADirectory.into())),
        Ok(_) => access(path, Access::WRITE_OK),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            access(folder, Access::EXISTS | Access::WRITE_OK | Access::EXEC_OK)
        }
        Err(error) => Err(failed(error)),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> UserError {
    UserError::new(format!("cannot write the answer to {}", path.display())).because(error)
}

/// `text` with a line break at its end.
pub(crate) fn ensure_trailing_newline(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::message::{AssistantMessage, Block};

    #[test]
    fn a_stopped_answer_keeps_its_parts_and_a_failed_one_is_replaced() {
        for (first, whole) in [(StopReason::Aborted, "half, rest"), (StopReason::Error, "rest")] {
            let mut answer = AnswerText::default();
            for (text, stop_reason) in [("half, ", first), ("rest", StopReason::Stop)] {
                let content = vec![Block::text(text)];
                answer.add(&Message::Assistant(AssistantMessage {
                    content,
                    stop_reason,
                    ..Default::default()
                }));
            }
            assert_eq!(answer.text(), Some(whole));
        }
    }
}
