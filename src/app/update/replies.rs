//! Answers to requests. One whose ticket nobody holds any more is dropped.

use super::{actions, completion, overlays, sessions, trust};
use crate::agent::protocol::event::NoticeLevel;
use crate::app::effect::{Effect, LocalModelServer, ShellReply, Ticket};
use crate::app::model::{Model, Purpose};
use crate::app::printable::Printable;

pub(super) fn take(model: &mut Model, ticket: Ticket, reply: ShellReply, effects: &mut Vec<Effect>) {
    let more =
        matches!(reply, ShellReply::Sessions { done: false, .. } | ShellReply::Found { done: false, .. });
    let purpose = if more { model.waiting.get(&ticket).cloned() } else { model.waiting.remove(&ticket) };
    let Some(purpose) = purpose else { return };
    match (purpose, reply) {
        (Purpose::Found(query), reply) => sessions::found(model, &query, reply, effects),
        (Purpose::Preview(key), ShellReply::LastExchange(words)) => sessions::preview(model, &key, words),
        (Purpose::Deleted(key), ShellReply::Done(text)) => {
            sessions::deleted(model, &key, effects);
            model.remark(&text);
        }
        // A notice would be behind the list.
        (Purpose::Deleted(_), ShellReply::Failed(text)) => model.remark(&text),
        // A file that went meanwhile has nothing to show.
        (Purpose::Preview(_), _) => {}
        (Purpose::Overlay, reply) => overlays::fill(model, ticket, reply, effects),
        (Purpose::Completion, ShellReply::Files(paths)) => completion::fill(model, &paths, effects),
        (Purpose::History, ShellReply::History(prompts)) => model.composer.set_history(prompts),
        (Purpose::Branch, ShellReply::Branch(branch)) => {
            model.status.branch = branch.map(|name| Printable::line(&name));
        }
        (Purpose::Editor, ShellReply::Edited(Some(text))) => {
            model.composer.set_text(text.trim_end_matches('\n'))
        }
        (Purpose::Servers, ShellReply::Servers(servers)) => offer(model, &servers),
        (Purpose::Picture, ShellReply::Picture { data, mime_type, width, height }) => {
            model.composer.insert_picture(data, mime_type, Some((width, height)));
        }
        (Purpose::Cycle(by), ShellReply::Models(models)) => {
            model.models = models;
            actions::step_model(model, by, effects);
        }
        (Purpose::Choose(name), ShellReply::Models(models)) => {
            model.models = models;
            overlays::choose_model(model, &name, effects);
        }
        (Purpose::Trust, ShellReply::Folders(folders)) => trust::ask(model, folders),
        (_, ShellReply::Applied(applied)) => trust::applied(model, applied, effects),
        (Purpose::Note, ShellReply::Done(text)) => model.transcript.notice(NoticeLevel::Info, &text, None),
        (_, ShellReply::Done(text)) => model.remark(&text),
        (_, ShellReply::Failed(text)) => model.transcript.notice(NoticeLevel::Warning, &text, None),
        _ => {}
    }
}

/// Tells of model servers on this machine; the model picker lists their models.
fn offer(model: &mut Model, servers: &[LocalModelServer]) {
    for server in servers {
        let text =
            format!("{} answers at {} with {} model(s)", server.name, server.base_url, server.models.len());
        let hint = "press ctrl+l to choose one of them";
        model.transcript.notice(NoticeLevel::Info, &text, Some(hint));
    }
}
