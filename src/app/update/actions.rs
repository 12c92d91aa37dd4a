//! The effects of actions: a route for each row of the table.

use super::{
    approval, board, completion, composing, copy, find, interrupt, job_list, models, palette, panels, plan,
    prompts, queue, submit, terminal_focus, thinking,
};
use crate::action::Action;
use crate::effect::Effect;
use crate::geometry::ScreenKind;
use crate::model::Model;
use crate::overlays::help::HelpView;
use crate::overlays::overlay::Overlay;
use tau_protocol::command::Queue;
use tau_protocol::screen_settings::DiffLayout;

pub(super) fn run(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if model.boot.screen != ScreenKind::Full && action.is_of_the_transcript() {
        return model.remark("scroll and search with your terminal; finished output is in its scrollback");
    }
    if action != Action::Mode {
        approval::apply_coming_mode(model, effects);
    }
    let page = i32::from(model.laid.page.saturating_sub(2).max(1));
    match action {
        Action::Send => submit::enter(model, Queue::Steer, effects),
        Action::FollowUp => submit::enter(model, Queue::FollowUp, effects),
        Action::Cancel => interrupt::cancel(model, effects),
        Action::Clear => interrupt::clear(model, effects),
        Action::Exit => interrupt::exit(model, effects),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Background => job_list::leave(model, effects),
        Action::Board => board::open(model, effects),
        Action::Jobs => job_list::open(model, effects),
        Action::MoveToBackground => job_list::move_to_background(model, effects),
        Action::Help => model.overlays.push(Overlay::Help(HelpView::default())),
        Action::Palette => palette::open(model),
        Action::Answer => approval::step_aside(model),
        Action::Mode => approval::next_mode(model, effects),
        Action::GiveKeyboard => terminal_focus::give(model),
        Action::TakeKeyboard => terminal_focus::take_or_give(model),
        Action::EditQueue => queue::open(model),
        Action::FoldPlan => plan::fold(model),
        Action::Complete if model.composer.is_empty() => panels::select(model),
        Action::Complete => completion::tab(model, effects),
        // The model and the agent's answers.
        Action::Models => models::open(model, "", effects),
        Action::NextModel => models::step(model, 1, effects),
        Action::PreviousModel => models::step(model, -1, effects),
        Action::Thinking => thinking::next(model, effects),
        Action::CopyAnswer => copy::answer(model, effects),
        // The display of the transcript.
        Action::ToggleTools => toggle_tools(model),
        Action::ToggleThinking => toggle_thinking(model),
        Action::ToggleDiff => toggle_diff(model),
        Action::PageUp => model.transcript.scroll(-page),
        Action::PageDown => model.transcript.scroll(page),
        Action::RowUp => model.transcript.scroll(-1),
        Action::RowDown => model.transcript.scroll(1),
        Action::Find => find::open(model),
        Action::PreviousPrompt => model.transcript.show_previous_prompt(&model.laid),
        Action::NextPrompt => model.transcript.show_next_prompt(&model.laid),
        Action::Top => model.transcript.scroll(i32::MIN),
        Action::Tail => model.transcript.show_tail(),
        Action::SelectPanel => panels::select(model),
        Action::PanelUp => model.transcript.select_above(),
        Action::PanelDown => model.transcript.select_below(),
        Action::PanelFold => model.transcript.fold_selected_panel(),
        Action::PanelCopy => panels::copy(model, effects),
        Action::PanelCopyCommand => panels::copy_command(model, effects),
        Action::PanelOpen => panels::open(model, effects),
        Action::PanelReveal => panels::reveal(model, effects),
        Action::PanelRerun => panels::run_unconfined(model, effects),
        Action::PanelLeave => model.transcript.leave_panel(),
        Action::Editor => composing::open_editor(model, effects),
        Action::Stash => queue::stash(model),
        Action::Paste => composing::paste(model, effects),
        Action::HistorySearch => prompts::open(model),
        Action::HistoryPrevious => composing::up(model),
        Action::HistoryNext => composing::down(model),
        Action::NewLine => model.composer.new_line(),
        Action::Undo => model.composer.undo(),
        Action::Redo => model.composer.redo(),
        Action::Yank => model.composer.yank(),
        Action::KillToEnd => model.composer.kill_to_end(),
        Action::KillToStart => model.composer.kill_to_start(),
        Action::KillWordBack => model.composer.kill_word_back(),
        Action::KillWordForward => model.composer.kill_word_forward(),
        Action::DeleteBack => model.composer.delete_back(),
        Action::DeleteForward => model.composer.delete_forward(),
        Action::WordLeft => model.composer.word_left(),
        Action::WordRight => model.composer.word_right(),
        Action::LineStart => model.composer.line_start(),
        Action::LineEnd => model.composer.line_end(),
    }
}

/// Printed text does not unfold: reprints the part since the last prompt.
fn print_again(model: &mut Model, open: bool, what: &str) {
    if model.boot.screen == ScreenKind::Full {
        return;
    }
    if open {
        model.transcript.print_again();
    }
    model.remark(&format!("{what} is {} from here on", if open { "shown in full" } else { "folded" }));
}

fn toggle_tools(model: &mut Model) {
    model.transcript.toggle_tools();
    print_again(model, model.transcript.tools_open, "tool output");
}

fn toggle_thinking(model: &mut Model) {
    model.transcript.toggle_thinking();
    print_again(model, !model.transcript.thinking_hidden, "thinking");
}

/// Toggles the layout of diffs.
fn toggle_diff(model: &mut Model) {
    let split = model.text_layout.splits_diffs(model.size.width);
    model.text_layout.diff = if split { DiffLayout::Unified } else { DiffLayout::Split };
    model.remark(if split { "diffs one below the other" } else { "diffs side by side" });
}
