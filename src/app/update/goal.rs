//! The goal of the session: setting, showing, continuing and ending it.

use crate::effect::Effect;
use crate::model::Model;
use crate::msg::Millis;
use crate::time_format::seconds;
use tau_protocol::command::{RunCommand, SessionCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::goal::{Goal, GoalOrder, GoalState};

/// Handles `/goal` with these arguments.
pub(super) fn run(model: &mut Model, arguments: &str, effects: &mut Vec<Effect>) {
    match (arguments, &model.status.mirror.goal) {
        ("", Some(goal)) => {
            let since = match &model.status.run {
                Some(_) if goal.is_active() => model.now.saturating_sub(model.status.goal_at),
                _ => 0,
            };
            let text = describe(goal, since);
            let hint = match goal.state {
                GoalState::Active => "Esc pauses it, /goal off ends it",
                GoalState::Reached => "/goal COMMAND sets another one",
                GoalState::Paused | GoalState::GivenUp | GoalState::Capped => {
                    "/goal resume continues, /goal off ends it"
                }
            };
            model.transcript.notice(NoticeLevel::Info, &text, Some(hint));
        }
        ("" | "resume" | "off", None) => model.remark("no goal; /goal COMMAND works until COMMAND succeeds"),
        ("resume", Some(_)) => pursue(effects),
        ("off", Some(_)) => {
            set(None, effects);
            model.remark("the goal is dropped");
        }
        (command, _) => {
            set(Some(GoalOrder { command: command.to_owned(), limits: None }), effects);
            pursue(effects);
        }
    }
}

fn set(goal: Option<GoalOrder>, effects: &mut Vec<Effect>) {
    effects.push(SessionCommand::SetGoal { goal }.into());
}

fn pursue(effects: &mut Vec<Effect>) {
    effects.push(RunCommand::PursueGoal.into());
}

/// The goal in words, `since` milliseconds after it was so.
fn describe(goal: &Goal, since: Millis) -> String {
    let state = match goal.state {
        GoalState::Active => "at work",
        GoalState::Paused => "paused",
        GoalState::Reached => "reached",
        GoalState::GivenUp => "given up",
        GoalState::Capped => "stopped by a limit",
    };
    let spent = Millis::try_from(goal.milliseconds).unwrap_or(Millis::MAX);
    let spent = seconds(spent.saturating_add(since));
    let last = match goal.exit_code {
        Some(code) => format!(" · last exit code {code}"),
        None => String::new(),
    };
    format!(
        "goal: {}\n{state} · round {} · {spent} · ${:.4}{last}",
        goal.command,
        goal.progress(),
        goal.dollars,
    )
}
