//! Questions on the terminal that are answered with yes or no.

use std::io::{BufRead, IsTerminal};

use super::exit::{Exit, Refusal, say};

/// Whether the user of a terminal answers yes. Refuses with `alone` where standard input is no terminal.
pub(crate) fn confirm(question: &str, alone: &str) -> Result<bool, Refusal> {
    if !std::io::stdin().is_terminal() {
        return Err(Refusal::usage(alone));
    }
    is_yes(question)
}

/// Whether a question is answered with yes.
pub(crate) fn is_yes(question: &str) -> Result<bool, Refusal> {
    if say(question) != Exit::Ok {
        return Ok(false);
    }
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(Refusal::config)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
