//! The user's hooks at session events: a prompt, a compaction, the end of a run.

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::announce;
use super::attend::{attend, attend_unless_stopped};
use super::state::Engine;
use crate::engine::base::clock::now;
use crate::engine::calls::call_hooks::{HookEffects, runner};
use crate::extensions::hooks::{HookOutcome, HookRunner};
use crate::settings::hooks::HookEvent;
use tau_protocol::event::{CompactionReason, NoticeLevel};
use tau_protocol::message::{CustomMessage, HookNote, Message, UserMessage};

/// The type of the message that passes text of hooks to the model.
const CONTEXT: &str = "tau.hook";

/// The maximum length of a hook note that is kept with a call, in characters.
const MAX_NOTE_LEN: usize = 2_000;

/// The beginning of the notice that a hook has stopped the run.
pub const HOOK_STOPPED: &str = "a hook stopped the run: ";

/// Reports notes about hooks to the user.
pub(crate) fn report(engine: &mut Engine, notes: Vec<HookNote>) {
    for HookNote { hook, text, is_warning } in notes {
        let level = if is_warning { NoticeLevel::Warning } else { NoticeLevel::Info };
        engine.notice(level, format!("hook {hook}: {text}"), None);
    }
}

/// The notes of the hooks around a call, without secrets, for display with its result. Ends the run if a hook
/// demands it. Faults of hooks are reported.
pub(crate) fn after_call(engine: &mut Engine, effects: HookEffects) -> Vec<HookNote> {
    let HookEffects { mut notes, stop: why } = effects;
    for note in &mut notes {
        note.text = note.text.chars().take(MAX_NOTE_LEN).collect();
        if let Some(masked) = engine.config.behavior.masking.vault.mask(&note.text) {
            note.text = masked;
        }
    }
    let wrong = notes.iter().filter(|note| note.is_warning).cloned().collect();
    report(engine, wrong);
    if let Some(why) = why {
        stop(engine, &why);
    }
    notes
}

fn stop(engine: &mut Engine, why: &str) {
    engine.notice(NoticeLevel::Warning, format!("{HOOK_STOPPED}{why}"), None);
    engine.current.stop.cancel();
}

/// Runs the hooks of an event and reports their effects. Nothing is blocked if there are no hooks; `None` if the run
/// is stopped before they have decided.
async fn run(engine: &mut Engine, event: HookEvent, names: &[&str], fields: Value) -> Option<HookOutcome> {
    let Some(runner) = runner(engine, &[event]) else { return Some(HookOutcome::default()) };
    let mut outcome = attend_unless_stopped(engine, runner.run(event, names, fields)).await?;
    report(engine, std::mem::take(&mut outcome.notes));
    Some(outcome)
}

/// Runs the hooks of these prompts and returns their text for the model and the prompts that they let
/// through. Blocked prompts are returned to the user, and so are those on which no hook has decided when the run is
/// stopped.
pub(crate) async fn admit(
    engine: &mut Engine,
    prompts: Vec<UserMessage>,
) -> (Vec<Message>, Vec<UserMessage>) {
    if engine.config.helper.is_some() {
        return (Vec::new(), prompts);
    }
    let (mut added, mut admitted) = (Vec::new(), Vec::new());
    for prompt in prompts {
        let fields = json!({ "prompt": prompt.content.text() });
        let reason = match run(engine, HookEvent::UserPromptSubmit, &[], fields).await {
            None => "stopped before the hooks had checked the prompt".to_owned(),
            Some(HookOutcome { block: Some(why), .. } | HookOutcome { stop: Some(why), .. }) => {
                format!("a hook blocked the prompt: {why}")
            }
            Some(outcome) => {
                added.extend(outcome.context);
                admitted.push(prompt);
                continue;
            }
        };
        announce::refuse_prompt(engine, NoticeLevel::Warning, prompt, reason);
    }
    if !admitted.is_empty() {
        added.splice(0..0, std::mem::take(&mut engine.pending.hook_context));
    }
    (added.into_iter().map(context).collect(), admitted)
}

/// Runs the start hooks for the session that is open from the start.
pub(crate) async fn on_agent_start(engine: &mut Engine) {
    // A helper is part of a session of the user.
    // To know whether it is empty, part of its file must be read.
    if engine.config.helper.is_none() && runner(engine, &[HookEvent::SessionStart]).is_some() {
        let is_empty = engine.config.session.context().messages.is_empty();
        on_session_start(engine, if is_empty { "startup" } else { "resume" }).await;
    }
}

/// Runs the hooks at the start of a session. Their text is sent with its first prompt.
pub(crate) async fn on_session_start(engine: &mut Engine, source: &str) {
    let fields = json!({ "source": source });
    let outcome = run(engine, HookEvent::SessionStart, &[source], fields).await.unwrap_or_default();
    engine.pending.hook_context.extend(outcome.context);
}

/// Runs the hooks at the end of a session, for `reason`, at most until `deadline`.
pub(crate) async fn on_session_end(
    engine: &mut Engine,
    ending: Option<HookRunner>,
    reason: &str,
    deadline: Instant,
) {
    let Some(runner) = ending else { return };
    let names = [reason];
    let run = runner.run(HookEvent::SessionEnd, &names, json!({ "reason": reason }));
    match attend(engine, timeout_at(deadline, run)).await {
        Ok(outcome) => report(engine, outcome.notes),
        Err(_) => engine.notice(NoticeLevel::Warning, "a SessionEnd hook took too long and was killed", None),
    }
}

/// The runner for the hooks at the end of the current session.
pub(crate) fn ending(engine: &Engine) -> Option<HookRunner> {
    engine.config.helper.is_none().then(|| runner(engine, &[HookEvent::SessionEnd]))?
}

/// The reason hooks block a compaction, if they do.
pub(crate) async fn blocks_compaction(
    engine: &mut Engine,
    reason: CompactionReason,
    instructions: Option<&str>,
) -> Option<String> {
    let trigger = if reason == CompactionReason::Manual { "manual" } else { "auto" };
    let fields = json!({ "trigger": trigger, "custom_instructions": instructions.unwrap_or_default() });
    // One that is stopped does not take place.
    let outcome = run(engine, HookEvent::PreCompact, &[trigger], fields).await?;
    outcome.block.or(outcome.stop).map(|why| format!("a hook blocked it: {why}"))
}

/// The request of hooks before a run ends, as a message for the model. `again` is true if the run already
/// continues because of such a message.
pub(crate) async fn before_end(engine: &mut Engine, again: bool) -> Option<Message> {
    if engine.config.helper.is_some() {
        return None;
    }
    let outcome = run(engine, HookEvent::Stop, &[], json!({ "stop_hook_active": again })).await?;
    outcome.block.filter(|_| outcome.stop.is_none()).map(context)
}

/// A hook's text for the model, as a message.
fn context(text: String) -> Message {
    Message::Custom(CustomMessage::new_hidden(
        CONTEXT,
        format!("[tau] A hook of the user adds: {text}"),
        None,
        now(),
    ))
}
