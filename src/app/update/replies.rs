//! Replies to requests, routed by the request.

use std::path::Path;

use super::{
    approval, attempts, board, completion, composing, copy, extensions, key_list, keys, login, models,
    offers, pictures, plan, prompts, sessions, settings, status_line, themes, trust, worktrees,
};
use crate::effect::Effect;
use crate::model::Model;
use crate::printable::Printable;
use crate::request::{
    ClipboardContent, EditorUse, LoginProvider, LoginWay, RequestAnswer, ScreenReply, Ticket,
};
use tau_protocol::event::NoticeLevel;
use tau_tools::user_error::UserError;

/// Routes a reply. A reply to a cancelled request is dropped.
pub(super) fn take(model: &mut Model, ticket: Ticket, reply: ScreenReply, effects: &mut Vec<Effect>) {
    let request = match reply.is_partial() {
        true => model.requests.get(&ticket).cloned(),
        false => model.requests.remove(&ticket),
    };
    if let Some(inner) = request.as_ref().and_then(|request| board::of_questions(model, ticket, request)) {
        let Some(answering) = &mut model.answering else { return };
        let mut asked = Vec::new();
        take(&mut answering.model, inner, reply, &mut asked);
        return board::pass_on(model, asked, effects);
    }
    if let Some(answer) = request.and_then(|request| request.answer(reply)) {
        on_answer(model, ticket, answer, effects);
    }
}

/// The effect of each answer.
fn on_answer(model: &mut Model, ticket: Ticket, answer: RequestAnswer, effects: &mut Vec<Effect>) {
    use RequestAnswer::*;
    match answer {
        Sessions { answer } => sessions::on_sessions(model, ticket, answer, effects),
        SearchSessions { query, answer: Ok(found) } => {
            sessions::on_search_results(model, &query, found, effects);
        }
        Board { answer } => board::fill(model, ticket, answer),
        WaitingQuestions { id, answer } => board::waiting(model, ticket, &id, answer, effects),
        AnswerSession { id, answer } => board::on_reply(model, ticket, &id, answer, effects),
        SendToSession { text, answer } => board::on_send_result(model, ticket, &text, answer, effects),
        FindSession { id, answer } => board::on_find_result(model, ticket, id, answer, effects),
        StopSession { answer } | ArchiveSession { answer } => {
            board::on_action_result(model, ticket, answer, effects);
        }
        Attempts { answer } => attempts::fill(model, ticket, answer),
        BeginAttempts { answer } => attempts::news(model, ticket, answer, effects),
        AttemptChanges { answer } => attempts::on_changes(model, ticket, answer),
        TakeAttemptParts { answer } => attempts::on_take_result(model, ticket, answer, effects),
        StopAttempts { answer } | TakeAttempt { answer } | DropAttempts { answer } => {
            attempts::on_action_result(model, ticket, answer, effects);
        }
        Worktrees { answer } => worktrees::fill(model, ticket, answer),
        EnterWorktree { answer } | EndWorktree { answer } => {
            worktrees::on_action_result(model, ticket, answer, effects);
        }
        Preview { path, answer: Ok(words) } => sessions::preview(model, &path, words),
        RenameSession { path, name, answer } => sessions::on_rename_result(model, &path, &name, answer),
        ArchiveListed { answer } => sessions::on_archive_result(model, ticket, answer, effects),
        DeleteSession { path, answer } => on_delete_result(model, &path, answer, effects),
        Export { answer } => with_success(model, answer, tell),
        Models { purpose, answer } => models::on_models(model, ticket, purpose, answer, effects),
        Servers { answer } => with_success(model, answer, models::servers),
        Providers { answer } | StoredKeys { answer } if completes(model, ticket, &answer, effects) => {}
        Providers { answer } => login::on_providers(model, ticket, answer),
        LoginName { provider, answer } => on_login_way(model, &provider, answer, effects),
        SignIn { answer } => login::on_sign_in_step(model, ticket, answer, effects),
        PasteSignIn { answer: Err(error) } => model.remark(&error),
        Login { answer } => login::on_key_result(model, ticket, answer, effects),
        StoredKeys { answer } => login::on_stored_keys(model, ticket, answer),
        Logout { answer } => with_success(model, answer, on_logout),
        Reload { answer } => with_success(model, answer, |model, applied| {
            model.models.clear();
            trust::apply_settings(model, applied, effects);
        }),
        Trust { answer } => {
            with_success(model, answer, |model, applied| trust::apply_settings(model, applied, effects));
        }
        Settings { answer } | SetSetting { answer } => {
            settings::on_settings(model, ticket, answer, effects);
        }
        ChooseMode { chosen, answer } => approval::on_mode_result(model, chosen, answer, effects),
        Decide { answer } => offers::on_answer_result(model, answer, effects),
        SetKeys { answer } => key_list::on_save_result(model, ticket, answer, effects),
        TurnExtension { answer } => extensions::on_turn_result(model, ticket, answer, effects),
        StatusCommand { answer } => status_line::on_output(model, &answer),
        Folders { answer } => with_success(model, answer, trust::ask),
        Files { answer } => {
            with_success(model, answer, |model, found| completion::fill_files(model, ticket, &found));
        }
        Paths { answer } => {
            with_success(model, answer, |model, all| completion::fill_paths(model, ticket, &all, effects));
        }
        Clipboard { text, answer } => copy::report_result(model, &text, answer),
        ReadClipboard { answer } => on_clipboard(model, answer, effects),
        Pictures { text, at, answer } => pictures::read(model, &text, at, answer),
        ThemeFile { answer } => {
            with_success(model, answer, |model, name| themes::set(model, &name, effects));
        }
        History { answer } => with_success(model, answer, on_history),
        Editor { text, purpose, answer } => on_edited(model, ticket, (&text, purpose), answer, effects),
        OpenInEditor { answer } => on_viewer_close(model, ticket, answer),
        Branch { answer: Ok(branch) } => model.status.branch = branch.map(|name| Printable::line(&name)),
        // An extra, a file that was removed, and a branch without a connection, which is shown.
        SearchSessions { answer: Err(_), .. }
        | Preview { answer: Err(_), .. }
        | Branch { answer: Err(_) }
        | PasteSignIn { answer: Ok(_) } => {}
    }
}

fn on_delete_result(
    model: &mut Model,
    path: &Path,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    if answer.is_ok() {
        sessions::remove_row(model, path, effects);
    }
    // The list would hide a notice.
    model.remark(&answer.unwrap_or_else(String::from));
}

fn on_edited(
    model: &mut Model,
    ticket: Ticket,
    (text, purpose): (&str, EditorUse),
    answer: Result<Option<String>, UserError>,
    effects: &mut Vec<Effect>,
) {
    match purpose {
        EditorUse::Composer => {
            with_success(model, answer, |model, edited| composing::take_editor_text(model, text, edited));
        }
        EditorUse::Approval => approval::on_editor_reply(model, ticket, answer, effects),
        EditorUse::Plan => plan::on_editor_reply(model, ticket, answer),
    }
}

fn on_viewer_close(model: &mut Model, ticket: Ticket, answer: Result<String, UserError>) {
    approval::on_viewer_close(model, ticket, answer.is_ok());
    // A question may fill the screen, and would hide a notice.
    if let Err(error) = answer {
        model.remark(&error);
    }
}

fn on_logout(model: &mut Model, text: String) {
    model.models.clear();
    tell(model, text);
}

fn on_history(model: &mut Model, prompts: Vec<String>) {
    model.composer.set_history(prompts);
    prompts::fill(model);
}

/// Uses an answer; an error is shown.
fn with_success<T>(model: &mut Model, answer: Result<T, UserError>, take: impl FnOnce(&mut Model, T)) {
    match answer {
        Ok(answer) => take(model, answer),
        Err(error) => model.transcript.notice(NoticeLevel::Warning, &error, None),
    }
}

fn tell(model: &mut Model, text: String) {
    model.transcript.notice(NoticeLevel::Info, &text, None);
}

fn on_login_way(
    model: &mut Model,
    provider: &str,
    way: Result<LoginWay, UserError>,
    effects: &mut Vec<Effect>,
) {
    match way {
        Ok(LoginWay::Key) => {}
        Ok(LoginWay::Token(how)) => login::ask_for_token(model, provider, &how),
        Ok(LoginWay::Login) => login::sign_in_instead(model, provider, effects),
        Err(error) => login::refuse_provider(model, provider, &error),
    }
}

fn on_clipboard(model: &mut Model, answer: Result<ClipboardContent, UserError>, effects: &mut Vec<Effect>) {
    model.remark = None;
    with_success(model, answer, |model, content| match content {
        ClipboardContent::Text(text) => keys::paste(model, &text, effects),
        ClipboardContent::Picture(picture) => pictures::insert(model, picture),
    });
}

/// Whether the providers were requested for the completion of a name, which gets them.
fn completes(
    model: &mut Model,
    ticket: Ticket,
    answer: &Result<Vec<LoginProvider>, UserError>,
    effects: &mut Vec<Effect>,
) -> bool {
    let providers = answer.as_deref().unwrap_or_default();
    let names: Vec<String> = providers.iter().map(|provider| provider.id.clone()).collect();
    completion::fill_requested_values(model, ticket, &names, effects)
}
