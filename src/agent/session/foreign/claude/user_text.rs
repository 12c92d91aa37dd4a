//! Tells the words of the user from those that Claude Code writes in the user's role.

use super::super::content::UserText;
use tau_protocol::message::Block;

/// The words of the program before a command for itself, which the model is not to answer.
pub(super) const CAVEAT: &str = "Caveat: The messages below";

/// Commands that Claude Code handles itself, announced or not.
const FOR_ITSELF: [&str; 12] = [
    "/clear", "/compact", "/config", "/context", "/cost", "/exit", "/login", "/logout", "/model", "/rename",
    "/resume", "/status",
];

/// Elements in a prompt that the program, an editor or others have written.
const NOTES: [&str; 8] = *tau_tools::words!(
    "ide_opened_file ide_selection ide_diagnostics system-reminder local-command-caveat task-notification \
     teammate-message channel"
);

/// The text of a prompt behind such elements.
pub(super) fn own_words(text: &str) -> &str {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let note = NOTES.iter().find_map(|name| {
            let inner = trimmed.strip_prefix('<')?.strip_prefix(*name)?;
            let behind = inner.split_once(&format!("</{name}>"))?.1;
            inner.starts_with(['>', ' ']).then_some(behind)
        });
        match note {
            Some(behind) => rest = behind,
            None if rest.len() == text.len() => return text,
            None => return trimmed,
        }
    }
}

/// Classifies by whole elements: words that only begin like one are the user's.
pub(super) fn classify_text(text: &str) -> UserText {
    let inner = |name: &str| {
        let rest = text.split_once(&format!("<{name}>"))?.1;
        Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
    };
    let trimmed = text.trim();
    let begins = |names: &[&str]| names.iter().any(|name| trimmed.starts_with(&format!("<{name}>")));
    if begins(&["command-name", "command-message"])
        && let Some(name) = inner("command-name")
    {
        if FOR_ITSELF.contains(&name.as_str()) {
            return UserText::Nothing;
        }
        let arguments = inner("command-args").unwrap_or_default();
        return UserText::Slash(format!("{name} {arguments}").trim().to_owned());
    }
    if begins(&["bash-input"])
        && let Some(command) = inner("bash-input")
    {
        return UserText::Command(command);
    }
    if begins(&["bash-stdout", "bash-stderr"])
        && let (out, errors) = (inner("bash-stdout"), inner("bash-stderr"))
        && (out.is_some() || errors.is_some())
    {
        let parts = [out, errors].into_iter().flatten().filter(|part| !part.is_empty());
        let texts: Vec<String> = parts.map(|part| part.trim_end_matches('\n').to_owned()).collect();
        return UserText::Output(texts.join("\n"));
    }
    let is_whole = |start: &str, end: char| trimmed.starts_with(start) && trimmed.ends_with(end);
    let is_note = is_whole("<local-command-", '>') || is_whole("[Request interrupted by user", ']');
    if is_note || trimmed.starts_with(CAVEAT) {
        return UserText::Nothing;
    }
    UserText::Prompt(text.to_owned())
}

/// Takes what the program or an editor has written out of a prompt, and returns it.
pub(super) fn split_notes(blocks: &mut Vec<Block>) -> Vec<Block> {
    let mut notes = Vec::new();
    for block in blocks.iter_mut() {
        let Block::Text { text, .. } = block else { continue };
        let words = own_words(text);
        if words.len() < text.len() {
            let note = text.get(..text.len().saturating_sub(words.len())).unwrap_or_default();
            notes.push(Block::text(note.trim()));
            *text = words.to_owned();
        }
    }
    blocks.retain(|block| block.as_text().is_none_or(|text| !text.trim().is_empty()));
    notes
}
