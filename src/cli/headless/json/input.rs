//! Input lines of the json front end: further prompts and interrupts.

use serde_json::Value;

use crate::rpc::lines::InputLine;
use crate::rpc::request;
use tau_protocol::approval::ApprovalAnswer;
use tau_protocol::command::QuestionAnswer;
use tau_tools::user_error::UserError;

/// A parsed line of input.
#[derive(Clone, Debug, PartialEq)]
pub enum InputCommand {
    /// `{"type":"message","content":…}`
    Message(String),
    /// `{"type":"interrupt"}`: ends the prompt in progress.
    Interrupt,
    /// `{"type":"approval","id":…,"decision":…}`: the decision on a pending call.
    Approval(String, ApprovalAnswer),
    /// `{"type":"answer","id":…}`: the answer to a question of an MCP server.
    Answer(String, QuestionAnswer),
}

/// Parses a line. The error is a sentence about its fault.
pub fn parse(line: &InputLine) -> Result<InputCommand, UserError> {
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
        Some("approval") => {
            let Value::Object(fields) = &value else { return Err("not an object".into()) };
            let id = fields.get("id").and_then(Value::as_str).ok_or("id must be a string")?;
            Ok(InputCommand::Approval(id.to_owned(), request::approval_answer(fields)?))
        }
        Some("answer") => {
            let Value::Object(fields) = &value else { return Err("not an object".into()) };
            let id = fields.get("id").and_then(Value::as_str).ok_or("id must be a string")?;
            Ok(InputCommand::Answer(id.to_owned(), request::question_answer(fields)))
        }
        _ => Err("type must be message, interrupt, approval or answer".into()),
    }
}
