//! The queued messages, kept in the session until they are sent: a message that was accepted outlives the process.

use serde_json::json;

use super::state::Engine;
use crate::engine::base::queue::KeptQueues;
use crate::session::entry::Body;
use tau_protocol::command::{AgentCommand, RunCommand};
use tau_protocol::message::{Message, UserMessage};

/// The type of the session entries that hold the queued messages.
const ENTRY: &str = "tau.queue";

/// Saves the queued messages in the session.
pub(crate) fn save(engine: &mut Engine) {
    let Some(KeptQueues { steering, follow_up }) = engine.queues.mark_kept() else { return };
    // Copies of the session do not have the messages to send, too.
    let data = json!({
        "session": engine.config.session.info().id, "steering": steering, "followUp": follow_up,
    });
    let saved = engine.config.session.append_custom_aside(ENTRY, data);
    engine.report_save_result(saved);
}

/// Saves the prompts that were accepted and are not in the session yet: what comes before may take long, as a compaction
/// does.
pub(crate) fn save_prompts(engine: &mut Engine) {
    for command in &engine.pending.commands {
        if let AgentCommand::Run(RunCommand::PromptMessage { message, .. }) = command
            && !message.is_blank()
        {
            engine.queues.deliver(message);
        }
    }
    if engine.queues.has_new() {
        save(engine);
        let made = engine.config.session.make_file();
        engine.report_save_result(made);
    }
}

/// Has a session with a running command of the user saved, also if it has no messages: others can find it by its id,
/// and what the command prints is kept.
pub(crate) fn save_place_of_commands(engine: &mut Engine) {
    if !engine.shells.is_empty() {
        let made = engine.config.session.make_file();
        engine.report_save_result(made);
    }
}

/// Notes that the messages that were delivered are in the session, or were refused.
pub(crate) fn finish_delivery(engine: &mut Engine) {
    if engine.queues.finish_delivery() {
        save(engine);
    }
}

/// Called when a run has ended: the end of a large session file, which is read first, then has what is queued.
pub(crate) fn on_run_end(engine: &mut Engine) {
    if !engine.queues.is_empty() {
        save(engine);
    }
}

/// Restores the messages that were queued when the session was last open, and reports them if there are any.
pub(crate) fn restore(engine: &mut Engine) {
    let session = &engine.config.session;
    let mut sent = Vec::new();
    let mut kept = None;
    for entry in session.tree().entries().iter().rev() {
        if let Body::Message { message } = &entry.body
            && let Message::User(user) = message.as_ref()
        {
            sent.push(user);
        }
        kept = entry.custom_data(ENTRY);
        if kept.is_some() {
            break;
        }
    }
    let Some(data) = kept.filter(|data| data["session"] == session.info().id.as_str()) else { return };
    let Ok(mut kept) = serde_json::from_value::<KeptQueues>(data) else { return };
    // The process may have ended between the message and the note that it is no longer queued.
    let is_waiting = |one: &UserMessage| {
        sent.iter().all(|sent| (sent.timestamp, &sent.content) != (one.timestamp, &one.content))
    };
    kept.steering.retain(is_waiting);
    kept.follow_up.retain(is_waiting);
    engine.queues.restore(kept);
    if !engine.queues.is_empty() {
        engine.emit(engine.queues.update());
    }
}
