//! Commands that are known to nothing.

use super::state::Engine;
use crate::extensions::registry::LoadedExtensions;
use tau_protocol::extension::looks_like_a_command;
use tau_tools::compare::likely_names;
use tau_tools::user_error::UserError;

/// The minimum similarity of a name that was meant, from 0 to 1.
const LIKENESS: f32 = 0.6;

/// An error if a text is a command that is known to nothing. A server that is still starting may know it.
pub(crate) fn check_command(engine: &Engine, text: &str) -> Result<(), UserError> {
    let loaded = engine.config.behavior.extensions.current();
    let Some(word) = lone_command(text).filter(|_| engine.config.helper.is_none()) else { return Ok(()) };
    let is_of_server = || engine.mcp.commands().iter().any(|command| command.name == word);
    let may_be_of_server = word.contains(':') && !engine.mcp.is_settled();
    match loaded.command_target(word).is_some() || may_be_of_server || is_of_server() {
        true => Ok(()),
        false => Err(unknown_command(&loaded, word)),
    }
}

/// The command that a text consists of. Of several words, it may be about a folder: `/tmp is full`.
pub(crate) fn lone_command(text: &str) -> Option<&str> {
    text.trim_end().strip_prefix('/').filter(|word| looks_like_a_command(word))
}

/// The refusal of a command that is known to nothing.
pub(crate) fn unknown_command(loaded: &LoadedExtensions, name: &str) -> UserError {
    let commands = loaded.commands();
    let known: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    let near = likely_names(name, &known, 1, LIKENESS);
    let near = near.first().map(|near| format!(": did you mean /{near}?")).unwrap_or_default();
    UserError::new(format!("unknown command /{name}{near}")).remedy("start with a space to send it as text")
}
