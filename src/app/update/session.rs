//! The open session: its name, copying, its location, exporting.

use std::path::PathBuf;

use super::sessions;
use crate::effect::Effect;
use crate::model::Model;
use crate::request::{ScreenRequest, Ticket};
use crate::time_format::span;
use tau_protocol::command::{SessionChange, SessionCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::plan_limits::PlanWindow;
use tau_protocol::query::{Query, SessionSource};
use tau_tools::counted::thousands;

/// Continues in a copy.
pub(super) fn clone(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.status.fresh {
        return model.remark("this session has no messages to copy yet");
    }
    sessions::leave(model, SessionChange::Clone, effects);
    model.remark("you are now in a copy of this session");
}

/// Names the session, or shows its name.
pub(super) fn name(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if name.is_empty() {
        let text = match (&model.status.mirror.session.name, &model.status.began) {
            (Some(name), _) => format!("this session is named \"{name}\""),
            (None, Some(began)) => format!("this session is unnamed, listed as \"{}\"", began.as_str()),
            (None, None) => "this session is unnamed".to_owned(),
        };
        return model.transcript.notice(NoticeLevel::Info, &text, Some("/name NAME sets one"));
    }
    let name = name.to_owned();
    effects.push(SessionCommand::Change(SessionChange::Name { name }).into());
}

/// Shows the session: its model and settings, its usage, and its location.
pub(super) fn show(model: &mut Model) {
    let status = &model.status;
    let file = match &status.mirror.session.file {
        Some(file) => file.display().to_string(),
        None => "in memory only".to_owned(),
    };
    let total = &status.total_with_helpers();
    let money = match (status.priced, total.estimated) {
        (true, false) => format!("${:.4}", total.cost.total),
        (true, true) => format!("about ${:.4}", total.cost.total),
        (false, _) => "price unknown".to_owned(),
    };
    let answers = status.mirror.model.as_ref().map_or_else(
        || "no model".to_owned(),
        |ai| format!("{}/{} · thinking {}", ai.provider, ai.id, status.mirror.thinking.name()),
    );
    let window = status.mirror.model.as_ref().map_or(0, |ai| ai.context_window);
    let context = match window {
        0 => thousands(status.mirror.context),
        window => format!("{} of {}", thousands(status.mirror.context), thousands(window)),
    };
    let about = if status.mirror.context_is_estimate { "about " } else { "" };
    let text = format!(
        "session {}\n{file}\nmodel: {answers}\nmode: {}{}\ncontext: {about}{context} tokens\ntokens: {} in, {} out, {} read from cache, {} written to cache · {money}",
        status.mirror.session.id,
        status.mirror.mode.name(),
        if model.sandbox.is_empty() { String::new() } else { format!(" · {}", model.sandbox) },
        total.input,
        total.output,
        total.cache_read,
        total.cache_write
    );
    let text = text + &plan(model);
    model.transcript.notice(NoticeLevel::Info, &text, None);
}

/// The limits of the plan, on a line of their own; empty if the provider has reported none.
fn plan(model: &Model) -> String {
    let window = |window: &PlanWindow| {
        let used = format!("{} {}% used", window.name, window.usage_percent(model.now));
        let left = window.resets_at.map(|end| end - model.now).filter(|left| *left > 0);
        left.map_or(used.clone(), |left| format!("{used}, resets in {}", span(left)))
    };
    let windows: Vec<String> = model.status.mirror.plan_windows().iter().map(window).collect();
    if windows.is_empty() { String::new() } else { format!("\nplan: {}", windows.join(" · ")) }
}

/// A path without the quotes around it, as a shell takes it.
fn unquote(path: &str) -> &str {
    let inside = |quote: char| path.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(path)
}

/// Exports the session: asks the agent for its location.
pub(super) fn export(model: &mut Model, file: &str, effects: &mut Vec<Effect>) {
    let file = Some(PathBuf::from(unquote(file))).filter(|file| !file.as_os_str().is_empty());
    let ticket = model.query(Query::Source, effects);
    model.exports.insert(ticket, file);
}

/// Continues in a copy of a session file.
pub(super) fn import(model: &mut Model, file: &str, effects: &mut Vec<Effect>) {
    if file.is_empty() {
        let text = "/import needs the path of a session file";
        return model.transcript.notice(
            NoticeLevel::Warning,
            text,
            Some("for example /import ~/session.jsonl"),
        );
    }
    let path = PathBuf::from(unquote(file));
    sessions::leave(model, SessionChange::Import { path }, effects);
}

/// Handles the agent's answer with the session's location.
pub(super) fn export_from(
    model: &mut Model,
    ticket: Ticket,
    source: &SessionSource,
    effects: &mut Vec<Effect>,
) {
    if let Some(file) = model.exports.remove(&ticket) {
        model.ask(ScreenRequest::Export { session: source.clone(), file }, effects);
    }
}

/// Handles a failed query; only the one of an export has a ticket.
pub(super) fn on_export_failure(model: &mut Model, ticket: Ticket, error: &str) {
    if model.exports.remove(&ticket).is_some() {
        model.transcript.notice(NoticeLevel::Warning, error, None);
    }
}
