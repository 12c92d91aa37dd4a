//! The effects of slash commands: a route for each command.

use super::{
    approval, attempts, board, changes, context, copy, extensions, goal, job_list, key_list, login, models,
    offers, overlay_paste, plan, rule_list, session, sessions, settings, side_question, themes, thinking,
    tree, trust, undo, worktrees,
};
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::help::HelpView;
use crate::overlays::overlay::Overlay;
use crate::request::ScreenRequest;
use crate::slash::{CommandRow, Slash};
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{Queue, RunCommand, SessionChange};

/// Runs a command of the list. Where it opens a list, words that it has no use for filter that.
pub(super) fn run_with(model: &mut Model, row: &CommandRow, arguments: &str, effects: &mut Vec<Effect>) {
    let open = model.overlays.len();
    run(model, row.slash, arguments, effects);
    if row.arguments.is_empty() && !arguments.is_empty() && model.overlays.len() > open {
        overlay_paste::paste(model, arguments, effects);
    }
}

/// Whether a command has no use for words behind it, not even as a filter.
pub(super) fn refuses(row: &CommandRow, arguments: &str) -> bool {
    use Slash::*;
    let filters =
        [Resume, Tree, Fork, Diff, Permissions, Settings, Extensions, Keys, Hotkeys, Help, Board, Jobs];
    row.arguments.is_empty() && !arguments.is_empty() && !filters.contains(&row.slash)
}

pub(super) fn run(model: &mut Model, command: Slash, arguments: &str, effects: &mut Vec<Effect>) {
    match command {
        Slash::Model if arguments.is_empty() => models::open(model, "", effects),
        Slash::Model => models::choose(model, arguments, effects),
        Slash::Thinking => thinking::set_by_name(model, arguments, effects),
        Slash::Resume => sessions::open(model, false, effects),
        Slash::New => sessions::leave(model, SessionChange::New, effects),
        Slash::Name => session::name(model, arguments, effects),
        Slash::Tree => tree::open(model, effects),
        Slash::Fork => tree::open_forks(model, effects),
        Slash::Clone => session::clone(model, effects),
        Slash::Context => context::ask(effects),
        // Compaction ends a run, and whatever it runs.
        Slash::Compact if model.status.run.is_some() => {
            model.remark("not while the model works: stop it first; a full context is compacted by itself");
        }
        Slash::Compact => {
            let instructions = Some(arguments.to_owned()).filter(|text| !text.is_empty());
            effects.push(RunCommand::Compact { instructions }.into());
        }
        Slash::Diff => changes::open(model, effects),
        Slash::Undo => undo::open(model, effects),
        Slash::Redo => undo::redo(model, effects),
        Slash::Copy => copy::answer(model, effects),
        Slash::Export => session::export(model, arguments, effects),
        Slash::Import => session::import(model, arguments, effects),
        Slash::Session => session::show(model),
        Slash::Theme => themes::set_by_name(model, arguments, effects),
        Slash::Login => login::open(model, arguments, effects),
        Slash::Logout => login::open_stored_keys(model, arguments, effects),
        Slash::Settings => settings::open(model, effects),
        Slash::Extensions => extensions::open(model, effects),
        Slash::Keys => key_list::open(model),
        Slash::Reload => {
            model.ask(ScreenRequest::Reload {}, effects);
        }
        Slash::Permissions => rule_list::open(model, effects),
        Slash::Plan if arguments.is_empty() => plan::open(model),
        Slash::Plan => {
            approval::set_mode(model, PermissionMode::Plan, effects);
            offers::prompt(model, arguments.to_owned(), Vec::new(), Queue::Steer, effects);
        }
        Slash::SideQuestion => side_question::ask(model, arguments, effects),
        Slash::Goal => goal::run(model, arguments, effects),
        Slash::Mode => approval::set_mode_by_name(model, arguments, effects),
        Slash::Trust => trust::look(model, effects),
        Slash::Hotkeys | Slash::Help => model.overlays.push(Overlay::Help(HelpView::default())),
        Slash::Vim => settings::switch_vim(model, effects),
        Slash::Board => board::open(model, effects),
        Slash::Jobs => job_list::open(model, effects),
        Slash::Worktree => worktrees::run(model, arguments, effects),
        Slash::Attempts => attempts::run(model, arguments, effects),
        Slash::Background => job_list::leave(model, effects),
        Slash::Quit => job_list::quit(model, effects),
        // Sent as a message.
        Slash::Prompt => {}
    }
}
