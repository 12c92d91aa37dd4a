//! Events that describe state: the open session, restored settings, returned messages.

use std::sync::Arc;

use super::behavior::Restore;
use super::state::{Engine, Phase};
use super::{accepted_plan, goal, kept_queue, open_jobs};
use crate::engine::base::call_titles::titles_of;
use crate::engine::base::history_cursor::HistoryRead;
use crate::engine::calls::missing_results::missing_results;
use crate::engine::queries::{context_usage, history_paging, session_usage};
use crate::session::SessionError;
use crate::session::survey::{Survey, SurveyJob};
use tau_protocol::event::{NoticeLevel, QueueEvent, SessionEvent, SessionInfo, SettingsEvent, TurnEvent};
use tau_protocol::message::{Block, Message, UserContent, UserMessage};
use tau_protocol::model::{Model, ThinkingLevel};
use tau_protocol::title;

/// Sends the first events: the session, the model, the thinking level.
pub(crate) fn initial_state(engine: &mut Engine) {
    report_session(engine);
    match engine.config.model.clone() {
        None => restore_settings(engine),
        Some(model) => engine.emit(SettingsEvent::ModelChanged { model }),
    }
    let level = engine.thinking();
    engine.emit(SettingsEvent::ThinkingLevelChanged { level });
}

/// Reports the session. Opening a session does not write to it: results missing after a crash are reported
/// here, and recorded when the conversation continues.
pub(crate) fn report_session(engine: &mut Engine) {
    let stopped = engine.config.session.limit_of_run();
    let session = SessionInfo { stopped, ..engine.config.session.info().clone() };
    let mut messages = engine.config.session.context().messages;
    let missing = missing_results(&engine.config.session);
    messages.extend(missing.iter().cloned());
    let titles = titles_of(&engine.config.tools, &messages);
    engine.emit(SessionEvent::SessionOpened { session, messages, titles });
    context_size(engine);
    accepted_plan::restore(engine);
    goal::restore(engine);
    kept_queue::restore(engine);
    open_jobs::restore(engine);
    history_paging::start(engine);
    session_usage::start(engine, &missing);
    let (own, used) = (engine.config.session.info().cwd.clone(), engine.cwd().to_owned());
    if own != used {
        let text = format!("the directory of this session, {}, no longer exists", own.display());
        let hint = format!("commands run in {}", used.display());
        engine.notice(NoticeLevel::Warning, text, Some(&hint));
    }
    let skipped = engine.config.session.skipped_lines();
    if skipped > 0 {
        let lines = if skipped == 1 { "line" } else { "lines" };
        let text = format!("skipped {skipped} unreadable {lines} of the session file");
        engine.notice(NoticeLevel::Warning, text, Some("the file itself was not changed"));
    }
    for (level, text) in engine.config.session.take_notes() {
        engine.notice(level, text, None);
    }
}

/// Reports the size of the context, which no answer has told.
pub(crate) fn context_size(engine: &mut Engine) {
    let tokens = context_usage::total(engine);
    engine.emit(SessionEvent::ContextSize { tokens });
}

/// Reports that a session could not be opened.
pub(crate) fn report_session_refusal(engine: &mut Engine, error: &SessionError) {
    let hint = match error {
        SessionError::NotASession(_) => "choose a session from the list",
        SessionError::Io { .. } => "check that the file exists and that you may read it",
        SessionError::Locked { .. } => "quit the other tau first",
    };
    let text = format!("cannot open the session: {error}");
    engine.notice(NoticeLevel::Error, text.clone(), Some(hint));
    engine.emit(SessionEvent::SessionRefused { error: text });
}

/// Restores the model and the thinking level of the session, unless the user chose others for it.
pub(crate) fn restore_settings(engine: &mut Engine) {
    let keep_model = std::mem::take(&mut engine.config.behavior.keep_model);
    let keep_thinking = std::mem::take(&mut engine.config.behavior.keep_thinking);
    let tree = engine.config.session.tree();
    let (model, level) = (tree.model(), tree.thinking());
    engine.config.behavior.restore_later =
        Restore { model: !keep_model && model.is_none(), thinking: !keep_thinking && level.is_none() };
    restore(engine, model.filter(|_| !keep_model), level.filter(|_| !keep_thinking));
}

fn restore(engine: &mut Engine, model: Option<(String, String)>, level: Option<ThinkingLevel>) {
    if let Some(level) = level.filter(|level| *level != engine.config.thinking) {
        engine.config.thinking = level;
        let level = engine.thinking();
        engine.emit(SettingsEvent::ThinkingLevelChanged { level });
    }
    let Some((provider, id)) = model else { return };
    let same = |model: &Arc<Model>| model.provider == provider && model.id == id;
    if engine.config.model.as_ref().is_some_and(same) {
        return;
    }
    match (engine.config.find_model)(&provider, &id) {
        Ok(model) => use_model(engine, model),
        Err(why) => {
            let used = engine.config.model.as_ref().map(|model| model.reference());
            let used = used.map(|used| format!("; using {used} instead")).unwrap_or_default();
            let text = format!("cannot restore this session's model {provider}/{id}: {why}{used}");
            engine.notice(NoticeLevel::Warning, text, Some("choose another one with /model"));
        }
    }
}

/// Handles a finished read of the session's earlier part.
pub(crate) fn history_read(engine: &mut Engine, read: HistoryRead) {
    match read {
        HistoryRead::Survey(Ok(survey)) => apply_survey(engine, survey),
        HistoryRead::Survey(Err(error)) => {
            session_usage::add_unread_usage(engine, None);
            history_paging::on_survey_failure(engine, &error);
        }
        HistoryRead::Page { ticket, page } => history_paging::take(engine, ticket, page),
    }
    history_paging::advance(engine);
}

/// Completes the survey of the unread part of a session before something is sent in it.
pub(crate) fn finish_survey(engine: &mut Engine) {
    engine.history.survey = None;
    match engine.history.unsurveyed.as_ref().map(SurveyJob::read) {
        Some(Ok(survey)) => {
            apply_survey(engine, survey);
            history_paging::advance(engine);
        }
        Some(Err(_)) => session_usage::add_unread_usage(engine, None),
        None => {}
    }
}

/// Applies settings found in the surveyed part, unless later entries override them.
fn apply_survey(engine: &mut Engine, mut survey: Survey) {
    session_usage::add_unread_usage(engine, Some(std::mem::take(&mut survey.usage)));
    if engine.config.session.take_survey(&survey) {
        let name = engine.config.session.info().name.clone();
        if name.is_some() {
            engine.emit(SessionEvent::SessionInfoChanged { name });
        }
        let Restore { model, thinking } = std::mem::take(&mut engine.config.behavior.restore_later);
        let tree = engine.config.session.tree();
        let (model, level) = (tree.model().filter(|_| model), tree.thinking().filter(|_| thinking));
        restore(engine, model, level);
    }
    history_paging::on_survey(engine, survey);
}

/// Switches to `model`; the thinking level moves to one that it has.
pub(crate) fn use_model(engine: &mut Engine, model: Arc<Model>) {
    let before = engine.thinking();
    engine.config.model = Some(model.clone());
    engine.emit(SettingsEvent::ModelChanged { model });
    let level = engine.thinking();
    if level != before {
        engine.emit(SettingsEvent::ThinkingLevelChanged { level });
    }
}

/// Saves and reports the content of the queues.
pub(crate) fn queues(engine: &mut Engine) {
    kept_queue::save(engine);
    let update = engine.queues.update();
    engine.emit(update);
}

/// Reports why a message is not sent, and returns it to the user. One of another program is not returned: no screen
/// has sent it.
pub(crate) fn refuse_prompt(engine: &mut Engine, level: NoticeLevel, message: UserMessage, reason: String) {
    let text = message.content.text();
    let hint =
        message.stays_queued.then(|| format!("the message was: {}", title::of(&text).unwrap_or_default()));
    engine.notice(level, reason.clone(), hint.as_deref());
    engine.emit(QueueEvent::PromptRefused { text, reason });
    if !message.stays_queued {
        return_messages(engine, vec![message]);
    }
}

/// Returns messages to the user for editing.
pub(crate) fn return_messages(engine: &mut Engine, messages: Vec<UserMessage>) {
    let texts = messages.iter().map(|message| message.content.text()).collect();
    let blocks = messages.into_iter().flat_map(|message| match message.content {
        UserContent::Text(_) => Vec::new(),
        UserContent::Blocks(blocks) => blocks,
    });
    let images = blocks.filter(|block| matches!(block, Block::Image { .. })).collect();
    engine.emit(QueueEvent::QueueReturned { texts, images });
}

/// Records a message from outside and reports it.
pub(crate) fn record_external(engine: &mut Engine, message: Arc<Message>) {
    engine.record(message.clone());
    // The user's commands were reported while they ran.
    if !matches!(*message, Message::BashExecution(_)) {
        engine.emit(TurnEvent::MessageStart { message: message.clone() });
        engine.emit(TurnEvent::MessageEnd { message });
    }
}

/// Nothing is in progress any more: records what arrived from outside in the meantime.
pub(crate) fn idle(engine: &mut Engine) {
    record_pending(engine);
    engine.flush();
    engine.current.phase = Phase::Idle;
}

/// Records the messages that arrived from outside while something was in progress.
pub(crate) fn record_pending(engine: &mut Engine) {
    for message in std::mem::take(&mut engine.pending.messages) {
        record_external(engine, message);
    }
}
