//! Replies to requests, routed by the request.

use std::path::PathBuf;

use super::{
    approval, attempts, board, completion, composing, copy, extensions, key_list, keys, login, models,
    offers, pictures, plan, prompts, sessions, settings, status_line, themes, trust, worktrees,
};
use crate::effect::Effect;
use crate::model::Model;
use crate::printable::Printable;
use crate::request::{
    ClipboardContent, EditorUse, FileMatches, FoundSessions, LocalModelServer, LoggedIn, LoginProvider,
    LoginWay, ModelList, ModelsFor, Picture, ScreenReply, SessionRows, SettingList, SettingsUpdate,
    SignInStep, TakeReply, Ticket,
};
use tau_protocol::attempt::{AttemptFile, AttemptList, AttemptNews};
use tau_protocol::chosen::ChosenMode;
use tau_protocol::event::NoticeLevel;
use tau_protocol::live_session::{BoardList, WaitingQuestions};
use tau_protocol::query::QueryAnswer;
use tau_protocol::session_row::LastExchange;
use tau_protocol::trust::Folder;
use tau_protocol::worktree::{WorktreeDone, WorktreeRow};
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
    if let Some(request) = request {
        request.reply_to(&mut Replies { model, ticket, effects }, reply);
    }
}

/// The targets of replies.
struct Replies<'a> {
    model: &'a mut Model,
    ticket: Ticket,
    effects: &'a mut Vec<Effect>,
}

impl Replies<'_> {
    /// The answer; an error is shown.
    fn ok_or_notice<T>(&mut self, answer: Result<T, UserError>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.model.transcript.notice(NoticeLevel::Warning, &error, None);
                None
            }
        }
    }
}

impl TakeReply for Replies<'_> {
    fn sessions(&mut self, answer: Result<SessionRows, UserError>) {
        sessions::on_sessions(self.model, self.ticket, answer, self.effects);
    }

    fn search_sessions(&mut self, query: String, answer: Result<FoundSessions, UserError>) {
        // The search is an extra: its failure does not affect the list.
        if let Ok(found) = answer {
            sessions::on_search_results(self.model, &query, found, self.effects);
        }
    }

    fn board(&mut self, answer: Result<BoardList, UserError>) {
        board::fill(self.model, self.ticket, answer);
    }

    fn waiting_questions(&mut self, id: String, answer: Result<WaitingQuestions, UserError>) {
        board::waiting(self.model, self.ticket, &id, answer, self.effects);
    }

    fn answer_session(&mut self, id: String, answer: Result<Option<QueryAnswer>, UserError>) {
        board::on_reply(self.model, self.ticket, &id, answer, self.effects);
    }

    fn send_to_session(&mut self, text: String, answer: Result<String, UserError>) {
        board::on_send_result(self.model, self.ticket, &text, answer, self.effects);
    }

    fn archive_session(&mut self, answer: Result<String, UserError>) {
        board::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn attempts(&mut self, answer: Result<AttemptList, UserError>) {
        attempts::fill(self.model, self.ticket, answer);
    }

    fn begin_attempts(&mut self, answer: Result<AttemptNews, UserError>) {
        attempts::news(self.model, self.ticket, answer, self.effects);
    }

    fn stop_attempts(&mut self, answer: Result<String, UserError>) {
        attempts::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn attempt_changes(&mut self, answer: Result<Vec<AttemptFile>, UserError>) {
        attempts::on_changes(self.model, self.ticket, answer);
    }

    fn take_attempt_parts(&mut self, answer: Result<String, UserError>) {
        attempts::on_take_result(self.model, self.ticket, answer, self.effects);
    }

    fn take_attempt(&mut self, answer: Result<String, UserError>) {
        attempts::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn drop_attempts(&mut self, answer: Result<String, UserError>) {
        attempts::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn worktrees(&mut self, answer: Result<Vec<WorktreeRow>, UserError>) {
        worktrees::fill(self.model, self.ticket, answer);
    }

    fn enter_worktree(&mut self, answer: Result<WorktreeDone, UserError>) {
        worktrees::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn end_worktree(&mut self, answer: Result<WorktreeDone, UserError>) {
        worktrees::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn find_session(&mut self, id: String, answer: Result<String, UserError>) {
        board::on_find_result(self.model, self.ticket, id, answer, self.effects);
    }

    fn stop_session(&mut self, answer: Result<String, UserError>) {
        board::on_action_result(self.model, self.ticket, answer, self.effects);
    }

    fn preview(&mut self, path: PathBuf, answer: Result<LastExchange, UserError>) {
        // A removed file has nothing to show.
        if let Ok(words) = answer {
            sessions::preview(self.model, &path, words);
        }
    }

    fn rename_session(&mut self, answer: Result<String, UserError>) {
        if let Some(text) = self.ok_or_notice(answer) {
            self.model.remark(&text);
        }
    }

    fn delete_session(&mut self, path: PathBuf, answer: Result<String, UserError>) {
        match answer {
            Ok(text) => {
                sessions::remove_row(self.model, &path, self.effects);
                self.model.remark(&text);
            }
            // The list would hide a notice.
            Err(error) => self.model.remark(&error),
        }
    }

    fn export(&mut self, answer: Result<String, UserError>) {
        if let Some(text) = self.ok_or_notice(answer) {
            self.model.transcript.notice(NoticeLevel::Info, &text, None);
        }
    }

    fn models(&mut self, purpose: ModelsFor, answer: Result<ModelList, UserError>) {
        models::on_models(self.model, self.ticket, purpose, answer, self.effects);
    }

    fn servers(&mut self, answer: Result<Vec<LocalModelServer>, UserError>) {
        if let Some(servers) = self.ok_or_notice(answer) {
            models::servers(self.model, &servers);
        }
    }

    fn providers(&mut self, answer: Result<Vec<LoginProvider>, UserError>) {
        login::on_providers(self.model, self.ticket, answer);
    }

    fn login_name(&mut self, provider: String, answer: Result<LoginWay, UserError>) {
        match answer {
            Ok(LoginWay::Key) => {}
            Ok(LoginWay::Token(how)) => login::ask_for_token(self.model, &provider, &how),
            Ok(LoginWay::Login) => login::sign_in_instead(self.model, &provider, self.effects),
            Err(error) => login::refuse_provider(self.model, &provider, &error),
        }
    }

    fn sign_in(&mut self, answer: Result<SignInStep, UserError>) {
        login::on_sign_in_step(self.model, self.ticket, answer, self.effects);
    }

    fn paste_sign_in(&mut self, answer: Result<String, UserError>) {
        // Beside the box, which still waits.
        if let Err(error) = answer {
            self.model.remark(&error);
        }
    }

    fn login(&mut self, answer: Result<LoggedIn, UserError>) {
        login::on_key_result(self.model, self.ticket, answer, self.effects);
    }

    fn stored_keys(&mut self, answer: Result<Vec<LoginProvider>, UserError>) {
        login::on_stored_keys(self.model, self.ticket, answer);
    }

    fn logout(&mut self, answer: Result<String, UserError>) {
        if let Some(text) = self.ok_or_notice(answer) {
            self.model.models.clear();
            self.model.transcript.notice(NoticeLevel::Info, &text, None);
        }
    }

    fn reload(&mut self, answer: Result<SettingsUpdate, UserError>) {
        if let Some(applied) = self.ok_or_notice(answer) {
            self.model.models.clear();
            trust::apply_settings(self.model, applied, self.effects);
        }
    }

    fn settings(&mut self, answer: Result<SettingList, UserError>) {
        settings::on_settings(self.model, self.ticket, answer, self.effects);
    }

    fn set_setting(&mut self, answer: Result<SettingList, UserError>) {
        settings::on_settings(self.model, self.ticket, answer, self.effects);
    }

    fn choose_mode(&mut self, chosen: ChosenMode, answer: Result<SettingsUpdate, UserError>) {
        approval::on_mode_result(self.model, chosen, answer, self.effects);
    }

    fn decide(&mut self, answer: Result<SettingsUpdate, UserError>) {
        offers::on_answer_result(self.model, answer, self.effects);
    }

    fn set_keys(&mut self, answer: Result<SettingsUpdate, UserError>) {
        key_list::on_save_result(self.model, self.ticket, answer, self.effects);
    }

    fn turn_extension(&mut self, answer: Result<SettingsUpdate, UserError>) {
        extensions::on_turn_result(self.model, self.ticket, answer, self.effects);
    }

    fn status_command(&mut self, answer: Result<String, UserError>) {
        status_line::on_output(self.model, &answer);
    }

    fn folders(&mut self, answer: Result<Vec<Folder>, UserError>) {
        if let Some(folders) = self.ok_or_notice(answer) {
            trust::ask(self.model, folders);
        }
    }

    fn trust(&mut self, answer: Result<SettingsUpdate, UserError>) {
        if let Some(applied) = self.ok_or_notice(answer) {
            trust::apply_settings(self.model, applied, self.effects);
        }
    }

    fn files(&mut self, answer: Result<FileMatches, UserError>) {
        if let Some(matches) = self.ok_or_notice(answer) {
            completion::fill_files(self.model, self.ticket, &matches);
        }
    }

    fn paths(&mut self, answer: Result<Vec<String>, UserError>) {
        if let Some(paths) = self.ok_or_notice(answer) {
            completion::fill_paths(self.model, self.ticket, &paths, self.effects);
        }
    }

    fn clipboard(&mut self, text: String, answer: Result<Option<String>, UserError>) {
        copy::report_result(self.model, &text, answer);
    }

    fn read_clipboard(&mut self, answer: Result<ClipboardContent, UserError>) {
        self.model.remark = None;
        match answer {
            Ok(ClipboardContent::Text(text)) => keys::paste(self.model, &text, self.effects),
            Ok(ClipboardContent::Picture(picture)) => pictures::insert(self.model, picture),
            Err(text) => self.model.transcript.notice(NoticeLevel::Warning, &text, None),
        }
    }

    fn pictures(&mut self, text: String, at: (usize, usize), answer: Result<Vec<Picture>, UserError>) {
        pictures::read(self.model, &text, at, answer);
    }

    fn theme_file(&mut self, answer: Result<String, UserError>) {
        if let Some(name) = self.ok_or_notice(answer) {
            themes::set(self.model, &name, self.effects);
        }
    }

    fn history(&mut self, answer: Result<Vec<String>, UserError>) {
        if let Some(prompts) = self.ok_or_notice(answer) {
            self.model.composer.set_history(prompts);
            prompts::fill(self.model);
        }
    }

    fn editor(&mut self, text: String, purpose: EditorUse, answer: Result<Option<String>, UserError>) {
        match purpose {
            EditorUse::Composer => {
                if let Some(Some(edited)) = self.ok_or_notice(answer) {
                    composing::take_editor_text(self.model, &text, edited.trim_end_matches('\n'));
                }
            }
            EditorUse::Approval => approval::on_editor_reply(self.model, self.ticket, answer, self.effects),
            EditorUse::Plan => plan::on_editor_reply(self.model, self.ticket, answer),
        }
    }

    fn open_in_editor(&mut self, answer: Result<String, UserError>) {
        approval::on_viewer_close(self.model, self.ticket, answer.is_ok());
        self.ok_or_notice(answer);
    }

    fn branch(&mut self, answer: Result<Option<String>, UserError>) {
        // It fails only without a connection, which is shown.
        if let Ok(branch) = answer {
            self.model.status.branch = branch.map(|name| Printable::line(&name));
        }
    }
}
