//! Tells the model when plan mode begins and ends.

use serde_json::json;

use super::state::Engine;
use crate::engine::base::clock::now;
use tau_protocol::approval::PermissionMode;
use tau_protocol::message::{CustomMessage, Message};
use tau_tools::plan::SUBMIT as SUBMIT_TOOL;

/// The type of the message that tells the model about plan mode.
const NOTE: &str = "tau.permission_mode";
const PLAN: &str = "[tau] Plan mode is on. You can read and search, but nothing that changes anything is \
    run: such calls are denied. Find out what is needed, ask if something is unclear, and finish with a \
    plan: what you would change, file by file, and how you would check it. The user accepts, edits or \
    rejects the plan.";
const SUBMIT: &str = "[tau] Plan mode is on. You can read and search, but nothing that changes anything is \
    run: such calls are denied. Find out what is needed, ask if something is unclear, and hand in a plan with \
    submit_plan.";
const READS: &str =
    "[tau] Nothing that changes anything is run now: such calls are denied. You can read and search.";
const NO_PLAN: &str = "[tau] Plan mode is off: you can make changes again.";

/// The message before the next answer that says that plan mode has begun or ended. `None` if the model knows.
pub(crate) fn before_answer(engine: &Engine) -> Option<Message> {
    let messages = engine.config.session.context().messages;
    let told = messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::Custom(note) if note.custom_type == NOTE => note.details.as_ref()?.get("plan")?.as_bool(),
        _ => None,
    });
    let plan = engine.config.behavior.permission_mode == PermissionMode::Plan;
    if plan == told.unwrap_or_default() {
        return None;
    }
    let text = match plan {
        true if engine.config.helper.is_some() => READS,
        true if engine.config.tools.get(SUBMIT_TOOL).is_some() => SUBMIT,
        true => PLAN,
        false => NO_PLAN,
    };
    Some(Message::Custom(CustomMessage::new_hidden(
        NOTE,
        text.to_owned(),
        Some(json!({ "plan": plan })),
        now(),
    )))
}
