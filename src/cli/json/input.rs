//! Lines of input of the json front end: further prompts and interrupts.

use serde_json::Value;

use crate::cli::rpc::lines::InputLine;

/// What a line of input asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputCommand {
    /// `{"type":"message","content":…}`
    Message(String),
    /// `{"type":"interrupt"}`: ends the prompt in progress.
    Interrupt,
}

/// Reads a line.
///
/// # Errors
/// A sentence about what is wrong with it.
pub fn parse(line: &InputLine) -> Result<InputCommand, String> {
    let text = match line {
        InputLine::Record(text) => text,
        InputLine::TooLong => return Err("the line is longer than 64 MiB".into()),
    };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not a line of JSON: {error}"))?;
    match value.get("type").and_then(Value::as_str) {
        Some("interrupt") => Ok(InputCommand::Interrupt),
        Some("message") => match value.get("content").and_then(Value::as_str) {
            Some(content) => Ok(InputCommand::Message(content.to_owned())),
            None => Err("content must be a string".into()),
        },
        _ => Err("type must be message or interrupt".into()),
    }
}
