//! The text of the answer to a prompt, as print mode and `--output` write it.

use std::path::{Path, PathBuf};

use rustix::fs::Access;

use tau_protocol::message::{Message, StopReason};

/// Collects the text of the final answer of a run. When an answer was stopped and the model continued, it is all
/// its parts; of one that failed, the next attempt takes the place.
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
                StopReason::Error => {}
                StopReason::Aborted => self.cut.push_str(&answer.text()),
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

/// Checks before anything is paid for that the file can be written, without touching it.
pub fn check_writable(path: &Path) -> Result<(), String> {
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

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write the answer to {}: {error}", path.display())
}

/// `text` with a line break at its end.
pub(crate) fn line_ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
