//! Keeps typing at a question or a list, or right after it, from reaching the model by accident.

use crate::action::Action;
use crate::approval::Approval;
use crate::key::{Key, KeyCode};
use crate::misdirected::Enter;
use crate::model::Model;
use crate::overlays::list_keys::PendingLetters;
use crate::overlays::overlay::Overlay;
use crate::slash::{self, Slash};

/// The number of questions and lists that take keys.
pub(super) fn open(model: &Model) -> usize {
    let answered = |approval: &&Approval| !approval.is_answered;
    model.overlays.len() + model.approvals.pending().iter().filter(answered).count()
}

/// Whether an Enter does not send the draft, because it was meant for a question: a closed or a waiting one.
pub(super) fn holds(model: &mut Model) -> bool {
    let text = model.composer.expanded_content().0;
    let is_command = is_command(model, &text);
    match model.misdirected.enter(model.now) {
        Enter::EndsWord(count) => {
            model.composer.replace_before(count, "");
            return true;
        }
        Enter::Held if !model.composer.is_empty() && !is_command => {
            model.remark("typed as the question closed; enter again sends it");
            return true;
        }
        Enter::Held | Enter::Sends => {}
    }
    let is_held = model.shows_prompt() && !model.approvals.is_draft_meant && !is_command;
    if is_held && !text.trim().is_empty() {
        let key = model.keymap.hint(Action::Answer);
        let writes = key.map(|key| format!("; {key} goes to your draft")).unwrap_or_default();
        model.remark(&format!("not sent while a question waits{writes}"));
    }
    is_held
}

/// Whether an Enter sends the draft though a question waits: a command was typed into it at the question, however
/// long ago.
pub(super) fn sends_command(model: &mut Model, key: Key) -> bool {
    let is_enter = key.code == KeyCode::Enter && model.misdirected.is_drafted();
    let sends = is_enter && is_command(model, &model.composer.expanded_content().0);
    if sends {
        model.misdirected.answers();
    }
    sends
}

/// Whether a text is a command of tau, or nearly one.
fn is_command(model: &Model, text: &str) -> bool {
    slash::is_exit(text)
        || match model.commands.parse(text.trim_end()) {
            Some(Ok((row, _))) => row.slash != Slash::Prompt,
            Some(Err(word)) => model.commands.nearest(word).is_some(),
            None => false,
        }
}

/// Whether to refuse a command as the text of an answer. The second time it is accepted.
pub(super) fn refuses(model: &mut Model, text: &str) -> bool {
    let text = text.trim();
    let refuses = is_command(model, text) && model.misdirected.refuses(text);
    if refuses {
        let word = text.split_whitespace().next().unwrap_or_default();
        model.remark(&format!("`{word}` is a command; enter again sends it as your answer, esc leaves"));
    }
    refuses
}

/// Whether an Enter ends a word that the list on top did not take, and so answers nothing.
pub(super) fn ends_ignored_word(model: &mut Model, key: Key) -> bool {
    let ends = key.code == KeyCode::Enter && model.misdirected.ends_ignored_word(model.now);
    if ends {
        model.remark("enter again takes the selected row");
    }
    ends
}

/// The dialog on top, if it takes no words.
pub(super) fn without_words(model: &Model, key: Key) -> Option<Overlay> {
    let top = model.overlays.last().filter(|_| key.typed_char().is_some())?;
    (!top.takes_words()).then(|| top.clone())
}

/// Writes a text that was typed at a question into the draft.
pub(super) fn drafts(model: &mut Model, text: &str) {
    let now = model.now;
    text.chars().for_each(|letter| model.composer.type_char(letter, now));
    model.misdirected.drafts(now);
    model.remark("typed into your draft; pause to answer");
}

/// Writes the beginning of a word that has had no use, or only moved, into the draft, if it was typed just now.
pub(super) fn write_pending_letters(model: &mut Model) {
    let now = model.now;
    let begun = model.begun.take().filter(|begun| !begun.is_over(now)).map(PendingLetters::into_text);
    begun.iter().flat_map(|text| text.chars()).for_each(|letter| model.composer.type_char(letter, now));
}
