//! The plan that the user accepted: kept in the session, and repeated after a compaction.

use serde_json::json;

use super::state::Engine;
use crate::engine::base::clock::now;
use tau_protocol::event::SessionEvent;
use tau_protocol::message::{CustomMessage, Message};
use tau_tools::plan::WorkPlan;
use tau_tools::user_error::UserError;

/// The type of the session entries and messages that hold the plan.
const ENTRY: &str = "tau.plan";

/// Replaces the accepted plan; `None` drops it.
pub(crate) fn set(engine: &mut Engine, plan: Option<WorkPlan>) {
    engine.plan = plan;
    save(engine);
    let plan = engine.plan.clone();
    engine.emit(SessionEvent::PlanChanged { plan });
}

/// Marks steps as done and returns the progress of the plan. Fails when there is no such step.
pub(crate) fn finish(engine: &mut Engine, numbers: &[usize]) -> Result<String, UserError> {
    let Some(mut plan) = engine.plan.clone() else {
        return Err("the user has not accepted a plan".into());
    };
    plan.finish(numbers)?;
    let progress = plan.progress();
    if engine.plan.as_ref() != Some(&plan) {
        set(engine, Some(plan));
    }
    Ok(progress)
}

/// Appends the current plan to the session.
fn save(engine: &mut Engine) {
    let saved = engine.config.session.append_custom(ENTRY, json!(engine.plan));
    engine.report_save_result(saved);
}

/// Restores the plan of the opened session, and reports it if there is one.
pub(crate) fn restore(engine: &mut Engine) {
    let branch = engine.config.session.tree().branch();
    let data = branch.iter().rev().find_map(|entry| entry.custom_data(ENTRY));
    engine.plan = data.and_then(|data| serde_json::from_value::<Option<WorkPlan>>(data).ok()).flatten();
    report(engine);
}

/// Reports the plan, if there is one.
pub(crate) fn report(engine: &mut Engine) {
    if engine.plan.is_some() {
        let plan = engine.plan.clone();
        engine.emit(SessionEvent::PlanChanged { plan });
    }
}

/// Called when a run begins: a plan that is complete is no longer reported.
pub(crate) fn on_run_start(engine: &mut Engine) {
    engine.plan = engine.plan.take().filter(|plan| !plan.is_finished());
}

/// Called when a run has ended: the end of a large session file, which is read first, then has the plan.
pub(crate) fn on_run_end(engine: &mut Engine) {
    if engine.plan.as_ref().is_some_and(|plan| !plan.is_finished()) {
        save(engine);
    }
}

/// The message that repeats the plan and its progress for the model after a compaction.
pub(crate) fn note(engine: &Engine) -> Option<Message> {
    let plan = engine.plan.as_ref().filter(|plan| !plan.is_finished())?;
    let text =
        format!("[tau] The plan that the user has accepted, and what of it is done:\n\n{}", plan.checklist());
    Some(Message::Custom(CustomMessage::new_hidden(ENTRY, text, None, now())))
}
