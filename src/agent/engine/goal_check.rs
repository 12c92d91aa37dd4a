//! Checks of the goal: its command runs each time the model stops, and decides whether the work is done.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::shell::{OutputBound, UserCommand};
use super::state::Engine;
use super::{announce, attend, commands, goal};
use tau_protocol::command::QuestionAnswer;
use tau_protocol::event::{NoticeLevel, Question};
use tau_protocol::goal::{CHECK, Goal, GoalState};
use tau_protocol::message::{BashExecution, Message};
use tau_protocol::run::RunEnd;

/// The maximum output of a failed check that the model gets.
const OUTPUT: OutputBound = OutputBound { lines: 400, weight: 16 * 1024 };

/// The longest time that a check may take, unless the goal's own time ends before.
const CHECK_LIMIT: Duration = Duration::from_hours(1);

/// The number of rounds in a row without a call after which the model has given up.
const MAX_IDLE: u32 = 2;

/// Whether the goal of the session may be pursued. The user is asked about a command that comes from a file.
pub(crate) async fn may_pursue(engine: &mut Engine) -> bool {
    let Some(Goal { command, .. }) = engine.goal.goal.clone() else { return false };
    if !engine.goal.is_confirmed(&command) {
        let question = Question::Confirm {
            title: "Run the goal of this session, and work until it succeeds?".to_owned(),
            message: format!("the command comes from the session file: {command}"),
        };
        if attend::ask(engine, question).await != QuestionAnswer::Confirmed(true) {
            return false;
        }
        engine.goal.confirm(&command);
    }
    goal::resume(engine);
    engine.goal.active().is_some()
}

/// Runs the goal's command when the model would stop. Returns the message with which the next round begins,
/// or `None` if the run is to end. `called` tells whether the model has called a tool since the last check.
pub(crate) async fn at_end(engine: &mut Engine, called: bool) -> Option<Message> {
    let checked = loop {
        let checked = check(engine).await?;
        announce::record_external(engine, Arc::new(Message::BashExecution(checked.clone())));
        // Another goal may have been set while the command ran: its own command decides.
        if engine.goal.has_valid_check() {
            break checked;
        }
    };
    let goal = engine.goal.goal.as_mut().filter(|goal| goal.is_active())?;
    goal.exit_code = checked.exit_code;
    let (rounds, most, command) = (goal.rounds, goal.limits.rounds, goal.command.clone());
    if checked.exit_code == Some(0) && !checked.cancelled {
        let text = format!("the goal is reached after {}: {command} succeeded", goal::rounds(goal));
        goal::end(engine, GoalState::Reached);
        engine.notice(NoticeLevel::Info, text, None);
        return None;
    }
    if checked.cancelled && !engine.goal.timed_out {
        return None;
    }
    engine.goal.idle = if called { 0 } else { engine.goal.idle.saturating_add(1) };
    let end = match () {
        () if engine.goal.idle >= MAX_IDLE => Some(RunEnd::GivenUp),
        () if most.is_some_and(|most| rounds >= most) => Some(RunEnd::Rounds),
        () => engine.meters.used.spent_limit().map(|limit| limit.end),
    };
    if end.is_some() {
        engine.meters.ended_by = end;
        return None;
    }
    goal::begin_round(engine);
    Some(round(engine, &checked))
}

/// The message with which a round begins.
fn round(engine: &mut Engine, checked: &BashExecution) -> Message {
    let goal = engine.goal.goal.clone().unwrap_or_default();
    let how = match checked.exit_code {
        _ if checked.cancelled => "did not end in time".to_owned(),
        Some(code) => format!("failed with exit code {code}"),
        None => "was ended by a signal".to_owned(),
    };
    let text = format!(
        "[tau] Goal, round {}: `{}` {how}. Its output is above. Continue until it succeeds. If you are sure that it \
         cannot succeed, say why and call no tool.",
        goal.progress(),
        goal.command,
    );
    goal::message(engine, text, Some(goal.rounds))
}

/// Runs the command as the user's own; `None` if the run is to stop.
async fn check(engine: &mut Engine) -> Option<BashExecution> {
    let command = engine.goal.active()?.command.clone();
    let id = format!("{CHECK}{}", tau_tools::ids::id());
    let order = UserCommand {
        id: Some(id.clone()),
        command,
        hidden: false,
        window: None,
        without_sandbox: false,
        output: OUTPUT,
    };
    let stop = commands::start_shell(engine, order);
    let mut ended = engine.goal.begin_check(&id, stop.clone());
    let first = attend::attend_unless_stopped(engine, timeout(CHECK_LIMIT, &mut ended)).await;
    engine.goal.timed_out = matches!(first, Some(Err(_)));
    match first {
        Some(Ok(result)) => result.ok(),
        // It ends at once, and its end is recorded like that of any command.
        None => {
            stop.cancel();
            None
        }
        Some(Err(_)) => {
            stop.cancel();
            attend::attend(engine, ended).await.ok()
        }
    }
}
