//! What each action does.

use super::{completion, keys, overlays, submit, terminal_focus, tree};
use crate::agent::AgentCommand;
use crate::agent::protocol::command::Queue;
use crate::agent::protocol::model::ThinkingLevel;
use crate::app::action::Action;
use crate::app::effect::{Effect, ShellRequest};
use crate::app::model::{Model, Purpose, REMARK};
use crate::app::msg::Millis;
use crate::app::overlay::Overlay;

/// Two presses within this time, in milliseconds, count as one after the other.
const TWICE: Millis = 1_000;

pub(super) fn run(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Send => keys::enter(model, Queue::Steer, effects),
        Action::FollowUp => keys::enter(model, Queue::FollowUp, effects),
        Action::Cancel => cancel(model, effects),
        Action::Clear => clear(model, effects),
        Action::Exit if model.composer.is_empty() => effects.push(Effect::Quit),
        Action::Exit => model.composer.delete_forward(),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Editor => edit_outside(model, effects),
        Action::GiveKeyboard => terminal_focus::give(model),
        Action::TakeKeyboard => terminal_focus::take_or_give(model),
        Action::EditQueue => effects.push(Effect::Agent(AgentCommand::TakeQueue)),
        Action::Complete => completion::tab(model, effects),
        Action::HistorySearch => overlays::open_prompts(model),
        Action::HistoryPrevious => up(model),
        Action::HistoryNext => down(model),
        Action::Models => overlays::open_models(model, "", effects),
        Action::Thinking => next_thinking(model, effects),
        Action::NextModel => cycle_model(model, 1, effects),
        Action::PreviousModel => cycle_model(model, -1, effects),
        Action::CopyAnswer => copy_answer(model, effects),
        Action::Help => model.overlays.push(Overlay::Help { scroll: 0 }),
        Action::ToggleTools
        | Action::ToggleThinking
        | Action::PageUp
        | Action::PageDown
        | Action::RowUp
        | Action::RowDown
        | Action::Top
        | Action::Tail => look(model, action),
        _ => edit(model, action),
    }
}

/// Actions on how the transcript is looked at.
fn look(model: &mut Model, action: Action) {
    let page = i32::from(model.laid.page.saturating_sub(2).max(1));
    let transcript = &mut model.transcript;
    match action {
        Action::ToggleTools => transcript.toggle_tools(),
        Action::ToggleThinking => transcript.toggle_thinking(),
        Action::PageUp => transcript.scroll(-page),
        Action::PageDown => transcript.scroll(page),
        Action::RowUp => transcript.scroll(-1),
        Action::RowDown => transcript.scroll(1),
        Action::Top => transcript.scroll(i32::MIN),
        _ => transcript.to_tail(),
    }
}

/// Actions on the text being written.
fn edit(model: &mut Model, action: Action) {
    let composer = &mut model.composer;
    match action {
        Action::NewLine => composer.new_line(),
        Action::Undo => composer.undo(),
        Action::Redo => composer.redo(),
        Action::Yank => composer.yank(),
        Action::KillToEnd => composer.kill_to_end(),
        Action::KillToStart => composer.kill_to_start(),
        Action::KillWordBack => composer.kill_word_back(),
        Action::KillWordForward => composer.kill_word_forward(),
        Action::DeleteBack => composer.delete_back(),
        Action::DeleteForward => composer.delete_forward(),
        Action::WordLeft => composer.word_left(),
        Action::WordRight => composer.word_right(),
        Action::LineStart => composer.line_start(),
        Action::LineEnd => composer.line_end(),
        _ => {}
    }
}

/// Stops the innermost thing that goes on. Queued messages come back to the composer, so
/// nothing that was typed is lost.
fn cancel(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.transcript.selection.take().is_some() {
        return;
    }
    if model.transcript.running_shells() > 0 {
        effects.push(Effect::Agent(AgentCommand::AbortBash));
    } else if let Some(run) = model.status.run.as_mut() {
        run.stopping = true;
        effects.push(Effect::Agent(AgentCommand::TakeQueue));
        effects.push(Effect::Agent(AgentCommand::Abort));
    } else if model.composer.is_empty() && model.completion.is_none() {
        let armed = model.tree_armed.take().is_some_and(|until| model.now < until);
        if armed {
            return tree::open(model, effects);
        }
        model.tree_armed = Some(model.now + TWICE);
    }
}

/// Clears the composer (what was in it can be recalled), else arms, else quits.
fn clear(model: &mut Model, effects: &mut Vec<Effect>) {
    if !model.composer.is_empty() {
        let text = model.composer.expanded().0;
        model.composer.reset(Some(text));
        model.completion = None;
        model.quit_armed = None;
        return model.remark("cleared; up brings it back");
    }
    if model.quit_armed.is_some() {
        return effects.push(Effect::Quit);
    }
    cancel(model, effects);
    model.tree_armed = None;
    model.quit_armed = Some(model.now + REMARK);
    model.remark("press again to quit");
}

fn edit_outside(model: &mut Model, effects: &mut Vec<Effect>) {
    let text = model.composer.expanded().0;
    model.ask(Purpose::Editor, ShellRequest::Editor { text }, effects);
}

fn up(model: &mut Model) {
    let width = model.laid.composer_width;
    if !model.composer.up(width) && !model.composer.recall_earlier() {
        model.composer.line_start();
    }
}

fn down(model: &mut Model) {
    let width = model.laid.composer_width;
    if !model.composer.down(width) && !model.composer.recall_later() {
        model.composer.line_end();
    }
}

fn next_thinking(model: &mut Model, effects: &mut Vec<Effect>) {
    let levels = model.status.model.as_ref().map(|ai| ai.levels()).unwrap_or_default();
    if levels.len() < 2 {
        return model.remark("this model does not think");
    }
    let place = levels.iter().position(|level| *level == model.status.thinking);
    let next = place.map_or(0, |at| (at + 1) % levels.len());
    set_thinking(model, levels.get(next).copied().unwrap_or_default(), effects);
}

/// Sets the level; the nearest one that the model has.
pub(super) fn set_thinking(model: &mut Model, level: ThinkingLevel, effects: &mut Vec<Effect>) {
    let level = model.status.model.as_ref().map_or(level, |ai| ai.nearest(level));
    effects.push(Effect::Agent(AgentCommand::SetThinking { level }));
    model.remark(&format!("thinking: {}", level.name()));
}

fn cycle_model(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    if model.models.is_empty() {
        model.ask(Purpose::Cycle(by), ShellRequest::Models, effects);
        return;
    }
    step_model(model, by, effects);
}

/// Switches to the next model of the list.
pub(super) fn step_model(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    let current = model.status.model.as_ref().map(|ai| ai.reference());
    let count = model.models.len() as isize;
    if count < 2 {
        return model.remark("there is only one model; /login adds more");
    }
    let place = model.models.iter().position(|ai| Some(ai.reference()) == current);
    let next = place.map_or(0, |at| (at as isize + by).rem_euclid(count) as usize);
    if let Some(ai) = model.models.get(next).cloned() {
        submit::set_model(model, ai, effects);
    }
}

/// Copies the last answer as the markdown it was written in.
pub(super) fn copy_answer(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.last_answer() {
        Some(text) => {
            effects.push(Effect::Copy(text));
            model.remark("last answer sent to the terminal's clipboard");
        }
        None => model.remark("there is no answer to copy yet"),
    }
}
