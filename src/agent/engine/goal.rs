//! The goal: kept in the session, counted, and told to the model.

use serde_json::json;

use super::state::Engine;
use crate::engine::base::clock::now;
use crate::session::entry::Entry;
use crate::session::usage::UsageSum;
use tau_protocol::event::{NoticeLevel, SessionEvent};
use tau_protocol::goal::{Goal, GoalOrder, GoalState, ROUND};
use tau_protocol::message::{CustomMessage, Message};
use tau_protocol::run::RunEnd;

/// The type of the session entries that hold the goal.
const ENTRY: &str = "tau.goal";

/// Sets the goal, or ends it. The same command continues a goal that is not reached.
pub(crate) fn set(engine: &mut Engine, order: Option<GoalOrder>) {
    count(engine);
    let Some(GoalOrder { command, limits }) = order.filter(|order| !order.command.trim().is_empty()) else {
        if engine.goal.goal.take().is_some() {
            engine.goal.drop_check();
            save_and_report(engine);
        }
        return;
    };
    let command = command.trim().to_owned();
    engine.goal.confirm(&command);
    let limits = limits.unwrap_or(engine.config.behavior.goal_limits);
    let mut masked = command.clone();
    engine.config.behavior.masking.text(&mut masked);
    let earlier = engine.goal.goal.take();
    if earlier.as_ref().is_some_and(|goal| goal.command != command) {
        engine.goal.drop_check();
    }
    engine.goal.goal = Some(match earlier {
        Some(goal) if goal.state == GoalState::Paused && [&command, &masked].contains(&&goal.command) => {
            Goal { command, state: GoalState::Active, limits, ..goal }
        }
        _ => {
            engine.goal.is_told = false;
            Goal::new(command, limits)
        }
    });
    engine.goal.idle = 0;
    save_and_report(engine);
}

/// Continues a goal that is not active. One whose limits were reached gets as much again.
pub(crate) fn resume(engine: &mut Engine) {
    count(engine);
    let Some(goal) = &mut engine.goal.goal else { return };
    if goal.is_active() {
        return;
    }
    if goal.state != GoalState::Paused {
        (goal.rounds, goal.dollars, goal.milliseconds) = (0, 0.0, 0);
    }
    goal.state = GoalState::Active;
    save_and_report(engine);
}

/// Continues the goal if the user need not be asked about its command; returns whether it does.
pub(crate) fn resume_confirmed(engine: &mut Engine) -> bool {
    let is_confirmed = engine.goal.goal.as_ref().is_some_and(|goal| engine.goal.is_confirmed(&goal.command));
    if is_confirmed {
        resume(engine);
    }
    is_confirmed
}

/// Saves the goal in the session, and reports it.
pub(crate) fn save_and_report(engine: &mut Engine) {
    let goal = masked_goal(engine);
    let saved = engine.config.session.append_custom_later(ENTRY, json!(goal));
    engine.report_save_result(saved);
    engine.emit(SessionEvent::GoalChanged { goal });
    limit_meter(engine);
}

/// The goal, with masked secrets.
fn masked_goal(engine: &mut Engine) -> Option<Goal> {
    let mut goal = engine.goal.goal.clone()?;
    engine.config.behavior.masking.text(&mut goal.command);
    Some(goal)
}

/// Restores the goal of the opened session, paused, and reports it if there is one.
pub(crate) fn restore(engine: &mut Engine) {
    engine.goal.is_told = false;
    engine.goal.goal = in_session(&engine.config.session.tree().branch());
    let Some(goal) = masked_goal(engine) else { return };
    if goal.state == GoalState::Paused {
        let text = format!("the goal of this session is paused after {}: {}", rounds(&goal), goal.command);
        engine.notice(NoticeLevel::Info, text, Some("/goal resume continues, /goal off ends it"));
    }
    engine.emit(SessionEvent::GoalChanged { goal: Some(goal) });
}

/// The goal in these entries of a session. One that was active when the process ended is paused, and what was done for
/// it until then is counted.
fn in_session(branch: &[&Entry]) -> Option<Goal> {
    let at = branch.iter().rposition(|entry| entry.custom_data(ENTRY).is_some())?;
    let (goal, after) = branch.get(at..)?.split_first()?;
    let begun = goal.timestamp;
    let goal = serde_json::from_value::<Option<Goal>>(goal.custom_data(ENTRY)?).ok()??;
    if !goal.is_active() {
        return Some(goal);
    }
    let mut spent = UsageSum::default();
    after.iter().for_each(|entry| spent.add_entry(entry));
    let lasted = after.last().map(|last| last.timestamp.saturating_sub(begun)).unwrap_or_default();
    Some(Goal {
        state: GoalState::Paused,
        dollars: goal.dollars + spent.total.cost.total,
        milliseconds: goal.milliseconds.saturating_add(u64::try_from(lasted).unwrap_or_default()),
        ..goal
    })
}

/// The number of rounds in words.
pub(crate) fn rounds(goal: &Goal) -> String {
    tau_tools::counted::pluralize(u64::from(goal.rounds), "round")
}

/// Counts what the run has spent so far.
pub(crate) fn count(engine: &mut Engine) {
    let dollars = engine.meters.used.usage().cost.total;
    match engine.goal.active() {
        Some(_) => engine.goal.count(dollars),
        None => engine.goal.count_from(dollars),
    }
}

/// Begins a round, if the run is to reach a goal.
pub(crate) fn begin_round(engine: &mut Engine) {
    if engine.goal.active().is_none() {
        return;
    }
    count(engine);
    if let Some(goal) = &mut engine.goal.goal {
        goal.rounds = goal.rounds.saturating_add(1);
    }
    save_and_report(engine);
}

/// Tells the meter of the run what the goal may still cost, so that helpers are held to it too.
pub(crate) fn limit_meter(engine: &Engine) {
    engine.meters.used.limit_goal(engine.goal.budget());
}

/// Moves the goal to a state that ends its work.
pub(crate) fn end(engine: &mut Engine, state: GoalState) {
    count(engine);
    if let Some(goal) = &mut engine.goal.goal {
        goal.state = state;
    }
    save_and_report(engine);
}

/// Called when a run has ended, for this reason if one stopped it.
pub(crate) fn on_run_end(engine: &mut Engine, reason: Option<RunEnd>) {
    if let Some(goal) = engine.goal.active() {
        let text = format!("the goal is paused after {}", rounds(goal));
        let state = match reason {
            Some(
                RunEnd::Rounds
                | RunEnd::Dollars
                | RunEnd::Day
                | RunEnd::Tokens
                | RunEnd::Time
                | RunEnd::Turns,
            ) => GoalState::Capped,
            Some(RunEnd::GivenUp | RunEnd::Repeats) => GoalState::GivenUp,
            None => GoalState::Paused,
        };
        end(engine, state);
        if state == GoalState::Paused {
            engine.notice(NoticeLevel::Info, text, Some("/goal resume continues, /goal off ends it"));
        }
    }
    engine.goal.on_run_end();
}

/// The message that tells the model of a new goal.
pub(crate) fn note(engine: &mut Engine) -> Option<Message> {
    let command = engine.goal.active()?.command.clone();
    if std::mem::replace(&mut engine.goal.is_told, true) {
        return None;
    }
    let text = format!(
        "[tau] The user has set a goal: the work is done when `{command}` succeeds. tau runs it each time you \
         stop, and returns its output to you if it fails. Reach the goal by doing the work, never by weakening \
         the check."
    );
    Some(message(engine, text, None))
}

/// A message of tau for the model, on the round that begins with it.
pub(crate) fn message(engine: &mut Engine, mut text: String, round: Option<u32>) -> Message {
    engine.config.behavior.masking.text(&mut text);
    Message::Custom(CustomMessage::new_hidden(
        if round.is_some() { ROUND } else { ENTRY },
        text,
        round.map(|round| json!({ "round": round })),
        now(),
    ))
}
