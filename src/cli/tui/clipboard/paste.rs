//! Pasting: reads the clipboard of this machine with the desktop's program, else the terminal's.

use std::time::Duration;

use super::content::{EMPTY, text_of, too_large};
use super::{ClipboardProgram, is_set, terminal, usable};
use crate::services::call::Call;
use crate::services::files::picture_of;
use tau_app::request::ClipboardContent;
use tau_tools::user_error::UserError;

/// Time limit for a program to output the clipboard, which it may have to request from another one.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for tmux to get the clipboard of its terminal.
const TMUX_TIMEOUT: Duration = Duration::from_millis(300);
/// Pictures that models accept, best first: their types, and their other names in lists of types.
const PICTURES: [(&str, &str); 4] = [
    ("image/png", "PNGf"),
    ("image/jpeg", "image/jpeg"),
    ("image/webp", "image/webp"),
    ("image/gif", "image/gif"),
];

/// The ways in which a program outputs a clipboard: commands, empty where unsupported.
pub(super) struct Reading {
    /// Lists the types of the content.
    pub types: &'static [&'static str],
    /// Writes a picture; its type is the last argument.
    pub picture: &'static [&'static str],
    /// Writes the text.
    pub text: &'static [&'static str],
}

/// The content of the clipboard. The error is a sentence for the user: it is empty, or cannot be read, and a
/// remedy.
pub async fn paste(call: &Call) -> Result<ClipboardContent, UserError> {
    for program in usable(is_set) {
        if program.remote {
            // tmux fetches the clipboard of its terminal into a buffer, where the terminal permits it.
            let _ = run(&["tmux", "refresh-client", "-l"]).await;
            tokio::time::sleep(TMUX_TIMEOUT).await;
        }
        if let Some(found) = read(program).await? {
            return Ok(found);
        }
    }
    terminal::read(call).await
}

/// The program's output; `None` when it is not installed.
async fn read(program: &ClipboardProgram) -> Result<Option<ClipboardContent>, UserError> {
    let Reading { types, picture, text } = &program.reading;
    let types = match types {
        [] => String::new(),
        types => match run(types).await? {
            Some(listed) => String::from_utf8_lossy(&listed).into_owned(),
            None => return Ok(None),
        },
    };
    if let Some((mime_type, _)) =
        PICTURES.iter().find(|(name, other)| types.contains(name) || types.contains(other))
    {
        let command: Vec<&str> = picture.iter().copied().chain([*mime_type]).collect();
        let bytes = run(&command).await?.unwrap_or_default();
        if let Some(picture) = picture_of(&decode_applescript(bytes)) {
            return Ok(Some(ClipboardContent::Picture(picture)));
        }
    }
    let Some(bytes) = run(text).await? else { return Ok(None) };
    match text_of(&bytes) {
        Some(text) => Ok(Some(text)),
        None => Err(EMPTY.into()),
    }
}

/// Decodes AppleScript's output of data, `«data PNGf` and hexadecimal digits.
fn decode_applescript(bytes: Vec<u8>) -> Vec<u8> {
    let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().strip_prefix("«data PNGf"));
    let Some(digits) = text.and_then(|text| text.strip_suffix('»')) else { return bytes };
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map_while(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// The output of a command. Empty when it fails, as all of them do without matching content; `None` when it
/// is not installed.
async fn run(command: &[&str]) -> Result<Option<Vec<u8>>, UserError> {
    let ran = super::run(command, None, TIMEOUT).await;
    let Some(finished) = ran.map_err(|error| format!("cannot paste: {error}"))? else { return Ok(None) };
    match finished.status {
        None => Err(too_large().into()),
        Some(status) => Ok(Some(if status.success() { finished.output } else { Vec::new() })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_applescript_is_unwrapped() {
        assert_eq!(decode_applescript("«data PNGf89504E47»\n".into()), b"\x89PNG");
        assert_eq!(decode_applescript("«data PNGf89xx»".into()), b"\x89");
        assert_eq!(decode_applescript(b"\x89PNG".to_vec()), b"\x89PNG");
    }
}
