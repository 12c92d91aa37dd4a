//! Keys and pastes of the overlay on top, and routing of choices in it.

use super::{
    actions, approval, attempts, board, changes, extensions, job_list, key_list, login, misdirected, models,
    offers, overlay_paste, pickers, plan, prompts, questions, queue, rule_list, sessions, settings,
    side_question, slash, themes, thinking, tree, trust, undo, worktrees,
};
use crate::action;
use crate::effect::Effect;
use crate::geometry::ScreenKind;
use crate::key::{Key, KeyCode};
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::form::FormView;
use crate::overlays::list_keys::{ListLetter, PendingLetters};
use crate::overlays::offer::OfferView;
use crate::overlays::overlay::{self, Overlay};
use crate::overlays::picker::{Picker, PickerChoice, PickerKind};
use crate::overlays::plan::PlanView;
use crate::overlays::quiet::Quiet;
use crate::overlays::user_questions::QuestionsView;
use crate::request::Ticket;
use crate::slash::Slash;
use tau_protocol::command::{QuestionAnswer, QuestionCommand};
use tau_protocol::event::Question;

/// The rows of the screen that are not text: the frame, the filter, and two below the box.
const BOX_BORDER: usize = 5;

/// Passes a key to the overlay on top.
pub(super) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    if misdirected::ends_ignored_word(model, key) || is_refused(model, key) {
        return;
    }
    model.misdirected.answers();
    if waits(model, key, effects) {
        return;
    }
    let asked = misdirected::without_words(model, key);
    press_at(model, key, effects);
    if asked.is_some_and(|asked| model.overlays.last() == Some(&asked)) {
        model.misdirected.note_ignored_letter(model.now);
    }
}

fn press_at(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let now = model.now;
    if decides(key) && model.overlays.last_mut().is_some_and(|top| top.is_early(now)) {
        return;
    }
    let before = sessions::Before::of(model);
    let asked = questions::on_top(model);
    press(model, key, usize::from(model.laid.list_page), effects);
    questions::appears(model, asked.as_deref());
    sessions::follow(model, &before, effects);
}

/// Whether a key goes no further: it is a letter that waits for what follows, or the list that it was for has closed.
fn waits(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> bool {
    end_wait(model, effects);
    let before = model.begun.take();
    if let Some(Overlay::Questions(view)) = model.overlays.last_mut() {
        view.begin_text(key, model.now);
    }
    let is_question = model.overlays.last().is_some_and(|top| !top.is_list());
    let Some(letters) = model.overlays.last().and_then(Overlay::held_letters) else {
        // At a question the rest of a word is for the draft.
        model.begun = PendingLetters::by_move(key, "jk", model.now);
        return false;
    };
    let held = before.as_ref().and_then(|before| before.held);
    let (meant, begun) = PendingLetters::follow(before, key, letters, model.now);
    model.begun = begun;
    match meant {
        ListLetter::Waits => {
            if let Some(Overlay::Questions(view)) = model.overlays.last_mut() {
                view.points(key);
            }
            true
        }
        // The digit has selected its choice, and Enter decides without the wait.
        ListLetter::Acts if matches!(model.overlays.last(), Some(Overlay::Questions(_))) => {
            let held = held.filter(|_| key.code == KeyCode::Enter);
            held.into_iter().for_each(|held| press_at(model, held, effects));
            held.is_some()
        }
        ListLetter::Acts => held.is_some_and(|held| {
            let open = model.overlays.len();
            press_at(model, held, effects);
            model.overlays.len() != open
        }),
        ListLetter::Continues(text) => {
            if let (Some(Overlay::Questions(view)), Some(held)) = (model.overlays.last(), held)
                && view.begins_text(held, key)
            {
                return false;
            }
            // A number is for the draft where nothing can be typed.
            if !overlay_paste::paste(model, &text, effects) && is_question {
                misdirected::drafts(model, &text);
                misdirected::drafts(model, &key.typed_char().map(String::from).unwrap_or_default());
                return true;
            }
            false
        }
    }
}

/// Carries out a letter that has waited long enough for what follows.
pub(super) fn end_wait(model: &mut Model, effects: &mut Vec<Effect>) {
    let now = model.now;
    let Some(held) = model.begun.take_if(|begun| begun.is_over(now)).and_then(|begun| begun.held) else {
        return;
    };
    let is_key = |letters: &str| held.typed_char().is_some_and(|letter| letters.contains(letter));
    if model.overlays.last().and_then(Overlay::held_letters).is_some_and(is_key) {
        let (open, edited) = (model.overlays.len(), queue::edited_message(model));
        press_at(model, held, effects);
        if model.overlays.len() < open && !queue::begins_edit(model, edited.as_ref()) {
            model.misdirected.note_list_closed(held, now);
        }
    }
}

/// Whether an Enter was meant for the question before, or would give the model a command as an answer.
fn is_refused(model: &mut Model, key: Key) -> bool {
    if let Some(Overlay::Questions(view)) = model.overlays.last().filter(|_| key.code == KeyCode::Enter)
        && view.is_for_last(model.now)
    {
        return true;
    }
    let text = match model.overlays.last().filter(|_| key.code == KeyCode::Enter) {
        Some(Overlay::Questions(view)) => view
            .current_question()
            .filter(|shown| shown.is_at_text())
            .map(|shown| shown.text.text().to_owned()),
        Some(Overlay::Plan(view)) => view.comment.as_ref().map(|line| line.text().to_owned()),
        _ => None,
    };
    text.is_some_and(|text| misdirected::refuses(model, &text))
}

/// Whether a typed character belongs to the draft: it was meant for it before the overlay appeared, the overlay
/// takes no text, or it is in a word that a question has no use for.
pub(super) fn is_for_draft(model: &mut Model, key: Key) -> bool {
    let now = model.now;
    let is_question = model.overlays.last().is_some_and(|top| !top.is_list());
    // What is not on the screen is not answered.
    if is_question && (model.size.is_too_small() || misdirected::sends_command(model, key)) {
        return true;
    }
    // It is sent from below the box of a side question, which takes no text.
    let sends = key.code == KeyCode::Enter && matches!(model.overlays.last(), Some(Overlay::SideQuestion(_)));
    if key.typed_char().is_none() && key.code != KeyCode::Backspace && !sends {
        return false;
    }
    let is_typed = key.typed_char().is_some();
    if is_typed && queue::is_written_over(model, key) {
        return true;
    }
    let is_draft = model.misdirected.is_drafting(now)
        || is_typed && model.overlays.last().is_some_and(|top| top.is_no_answer(key));
    let is_early = model.overlays.last_mut().is_some_and(|top| top.is_early(now));
    let is_for_draft = match model.overlays.last_mut() {
        Some(Overlay::Questions(_) | Overlay::Form(_)) => is_early,
        Some(Overlay::Plan(view)) => is_early || is_draft && view.id.is_some(),
        Some(Overlay::Offer(_) | Overlay::Mode(_) | Overlay::Asked { .. }) => is_early || is_draft,
        Some(Overlay::Leave(_) | Overlay::Trust(_)) => is_draft,
        // The box only shows an answer: one writes on below it.
        Some(Overlay::SideQuestion(_)) => return !model.composer.is_empty() || is_typed,
        _ => false,
    };
    if is_for_draft && is_typed {
        misdirected::write_pending_letters(model);
        misdirected::drafts(model, "");
    }
    is_for_draft
}

/// Repeats an Enter that was pressed before a list had its rows.
pub(super) fn enter_again(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(Overlay::Picker { picker, .. }) = model.overlays.last_mut()
        && !picker.loading
        && std::mem::take(&mut picker.entered)
    {
        key(model, Key::plain(KeyCode::Enter), effects);
    }
}

fn press(model: &mut Model, key: Key, page: usize, effects: &mut Vec<Effect>) {
    use KeyOutcome::{Closed, Done, Handled, Ignored};
    let Some(top) = model.overlays.pop() else { return };
    // A list that stays open until it is closed, or something in it is chosen.
    macro_rules! list {
        ($kind:ident, $view:ident, $outcome:expr, $chosen:path) => {
            match $outcome {
                Done(choice) => $chosen(model, $view, choice, effects),
                Closed => {}
                Ignored | Handled => model.overlays.push(Overlay::$kind($view)),
            }
        };
    }
    match top {
        Overlay::Picker { mut picker, ticket } => match picker.key(key, page) {
            Done(choice) => apply_choice(model, picker, ticket, choice, effects),
            Closed => {
                model.forget(picker.search.take(), effects);
                model.forget(ticket, effects);
            }
            Ignored | Handled => model.overlays.push(Overlay::Picker { picker, ticket }),
        },
        Overlay::Help(mut view) => match view.key(key, page, whole_page(model)) {
            Done(()) | Closed => {}
            Ignored | Handled => model.overlays.push(Overlay::Help(view)),
        },
        Overlay::Login { provider, mut line, how, ticket, failed } => {
            match overlay::login_key(&mut line, key) {
                Done(secret) => login::submit(model, provider, how, line, secret, effects),
                Closed => model.forget(ticket, effects),
                Ignored | Handled => {
                    model.overlays.push(Overlay::Login { provider, line, how, ticket, failed });
                }
            }
        }
        Overlay::SignIn(view) => login::sign_in_key(model, view, key, effects),
        Overlay::Trust(mut view) => match view.key(key, page) {
            Done(answer) => trust::on_answer(model, view.folder.root, answer, effects),
            Closed | Ignored | Handled => model.overlays.push(Overlay::Trust(view)),
        },
        Overlay::Tree(mut view) => list!(Tree, view, view.key(key, page), tree::apply_choice),
        Overlay::Settings(mut view) => list!(Settings, view, view.key(key, page), settings::apply_choice),
        Overlay::Extensions(mut view) => {
            list!(Extensions, view, view.press(key, page), extensions::apply_choice);
        }
        Overlay::Board(mut view) => list!(Board, view, view.key(key, page), board::apply_choice),
        Overlay::Jobs(view) => job_list::press(model, view, key, page, effects),
        Overlay::Worktrees(view) => worktrees::press(model, view, key, page, effects),
        Overlay::Attempts(view) => attempts::press(model, view, key, page, effects),
        Overlay::Leave(view) => job_list::leave_key(model, view, key, effects),
        Overlay::Keys(mut view) => {
            list!(Keys, view, view.key(key, &model.keymap, page), key_list::apply_choice);
        }
        Overlay::Rules(mut view) => list!(Rules, view, view.key(key, page), rule_list::apply_choice),
        Overlay::Changes(mut view) => {
            list!(Changes, view, view.key(key, page, whole_page(model)), changes::apply_choice);
        }
        Overlay::Queue(mut view) => {
            list!(Queue, view, view.key(key, &model.status, page), queue::apply_choice);
        }
        Overlay::SideQuestion(view) => side_question::press(model, view, key, page, effects),
        Overlay::Plan(view) => plan_key(model, view, key, page, effects),
        Overlay::Mode(mut question) => match question.key(key) {
            Done(chosen) => approval::apply_mode_choice(model, chosen, effects),
            Closed => approval::postpone_mode(model, effects),
            Ignored | Handled => model.overlays.push(Overlay::Mode(question)),
        },
        Overlay::Offer(view) => offer_key(model, view, key, page, effects),
        Overlay::Form(form) => form_key(model, form, key, effects),
        Overlay::Questions(view) => questions_key(model, view, key, page, effects),
        Overlay::Asked { id, question, selected, quiet } => {
            dialog_key(model, id, quiet, question, selected, key, effects);
        }
    }
}

/// The rows that PageDown scrolls in a long text: all that a box as high as the screen has, and no more than one on
/// the shell's screen.
fn whole_page(model: &Model) -> usize {
    let height = usize::from(model.size.height);
    match model.boot.screen {
        ScreenKind::Full => height.saturating_sub(BOX_BORDER).max(1),
        ScreenKind::Inline | ScreenKind::Reader => height / 2,
    }
}

fn dialog_key(
    model: &mut Model,
    id: String,
    quiet: Quiet,
    question: Question,
    mut selected: usize,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    match overlay::dialog_key(&question, &mut selected, key) {
        KeyOutcome::Done(answer) => {
            model.subtract_run_wait(quiet.since);
            effects.push(QuestionCommand::Answer { id, answer }.into());
        }
        KeyOutcome::Closed | KeyOutcome::Ignored | KeyOutcome::Handled => {
            model.overlays.push(Overlay::Asked { id, question, selected, quiet });
        }
    }
}

fn offer_key(model: &mut Model, mut view: OfferView, key: Key, page: usize, effects: &mut Vec<Effect>) {
    match view.key(key, page) {
        KeyOutcome::Done(answer) => offers::on_answer(model, view.offer, Some(answer), effects),
        KeyOutcome::Closed => offers::on_answer(model, view.offer, None, effects),
        KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::Offer(view)),
    }
}

fn form_key(model: &mut Model, mut form: Box<FormView>, key: Key, effects: &mut Vec<Effect>) {
    match form.key(key) {
        KeyOutcome::Done(answer) => {
            model.subtract_run_wait(form.quiet.since);
            effects.push(QuestionCommand::Answer { id: form.id, answer }.into());
        }
        KeyOutcome::Closed | KeyOutcome::Ignored | KeyOutcome::Handled => {
            model.overlays.push(Overlay::Form(form));
        }
    }
}

fn questions_key(
    model: &mut Model,
    mut view: Box<QuestionsView>,
    key: Key,
    page: usize,
    effects: &mut Vec<Effect>,
) {
    match view.key(key, page) {
        KeyOutcome::Done(answer) => send_answers(model, &view, answer, effects),
        KeyOutcome::Closed | KeyOutcome::Ignored | KeyOutcome::Handled => {
            view.follow(model.now);
            model.overlays.push(Overlay::Questions(view));
        }
    }
}

/// Handles answered or declined questions of the model; a declined one keeps the typed text.
fn send_answers(model: &mut Model, view: &QuestionsView, answer: QuestionAnswer, effects: &mut Vec<Effect>) {
    model.subtract_run_wait(view.quiet.since);
    let typed = view.typed_text();
    if answer == QuestionAnswer::Declined && !typed.is_empty() {
        model.composer.paste(&typed);
    }
    effects.push(QuestionCommand::Answer { id: view.id.clone(), answer }.into());
}

fn plan_key(model: &mut Model, mut view: Box<PlanView>, key: Key, page: usize, effects: &mut Vec<Effect>) {
    match view.key(key, page) {
        KeyOutcome::Done(choice) => plan::apply_choice(model, view, choice, effects),
        KeyOutcome::Closed => plan::on_close(model, &view, effects),
        KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::Plan(view)),
    }
}

/// Whether a key answers a question or declines it.
fn decides(key: Key) -> bool {
    matches!(key.code, KeyCode::Enter | KeyCode::Esc | KeyCode::Char(_))
}

/// Carries out a choice in a list.
fn apply_choice(
    model: &mut Model,
    mut picker: Picker,
    ticket: Option<Ticket>,
    choice: PickerChoice,
    effects: &mut Vec<Effect>,
) {
    match choice {
        PickerChoice::Pick(key) => {
            model.forget(picker.search.take(), effects);
            model.forget(ticket, effects);
            on_pick(model, &picker, &key, effects);
        }
        PickerChoice::Scope => sessions::open_other_scope(model, picker, ticket, effects),
        PickerChoice::Rename(key, name) => {
            let source = picker.source(&key);
            pickers::reopen(model, picker, ticket);
            if !sessions::is_refused(model, source) {
                sessions::rename(model, &key, &name, effects);
            }
        }
        PickerChoice::Archive(key) => {
            let source = picker.source(&key);
            pickers::reopen(model, picker, ticket);
            if !sessions::is_refused(model, source) {
                sessions::archive(model, &key, effects);
            }
        }
        PickerChoice::Mark(key) => {
            pickers::reopen(model, picker, ticket);
            models::mark(model, &key, effects);
        }
        PickerChoice::Delete(key) => {
            let source = picker.source(&key);
            pickers::reopen(model, picker, ticket);
            if !sessions::is_refused(model, source) {
                sessions::delete(model, &key, effects);
            }
        }
    }
}

fn on_pick(model: &mut Model, picker: &Picker, key: &str, effects: &mut Vec<Effect>) {
    match picker.kind {
        PickerKind::Sessions { .. } => sessions::on_pick(model, picker, key, effects),
        PickerKind::Forks => tree::fork(model, key, effects),
        PickerKind::Models => login::on_model_pick(model, key, effects),
        PickerKind::Thinking => thinking::on_pick(model, key, effects),
        PickerKind::Themes => themes::set(model, key, effects),
        PickerKind::StoredKeys => login::remove(model, key, effects),
        PickerKind::Providers => login::on_pick(model, key, effects),
        PickerKind::Prompts => prompts::on_pick(model, key),
        PickerKind::Palette => run(model, key, effects),
        PickerKind::Checkpoints => undo::on_pick(model, key),
        PickerKind::UndoScope => undo::on_scope_pick(model, key, effects),
        PickerKind::UndoConflict => undo::on_conflict_pick(model, key, effects),
    }
}

/// Runs a choice in the palette.
fn run(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let command = |name: &str| model.commands.find(name).map(|row| row.slash);
    if key.strip_prefix('/').and_then(command) == Some(Slash::Prompt) {
        model.composer.set_text(&format!("{key} "));
    } else if let Some(command) = key.strip_prefix('/').and_then(command) {
        slash::run(model, command, "", effects);
    } else if let Some(row) = action::of(key) {
        actions::run(model, row.action, effects);
    }
}
