//! The work of requests: one method for each row of the table in `app/request`.

mod attempt_requests;
pub mod board_requests;
pub(crate) mod call;
pub(crate) mod files;
mod login_requests;
mod model_lists;
pub(crate) mod repository;
mod session_files;
mod setting_changes;
mod status_command;
mod trust_answers;
mod worktree_requests;

use std::path::PathBuf;
use std::sync::Arc;

use self::call::Call;
use self::files::FileIndex;
use crate::attempts::host::HostedAttempts;
use crate::compose::environment::{self, Connections};
use crate::compose::{AgentPrompt, Setup, reload, sandbox, setting_list};
use crate::live::board_servers::BoardServers;
use crate::live::listed::RowCache;
use crate::live::{commands, record};
use crate::tui::{clipboard, editor};
use parking_lot::Mutex;
use tau_agent::catalogue::keys::Keys;
use tau_agent::catalogue::login::PastedAddress;
use tau_agent::provider::direct::Direct;
use tau_agent::session::last_exchange::last_exchange;
use tau_agent::session::list;
use tau_agent::session::prompt_history::PromptHistory;
use tau_agent::settings::chosen_models;
use tau_agent::settings::private_files::SharedFile;
use tau_app::request::{
    ClipboardContent, EditorSource, EditorUse, FileMatches, FoundSessions, HiddenText, KeyChanges,
    LocalModelServer, LoggedIn, LoginProvider, LoginWay, ModelList, ModelsFor, PerformRequest, Picture,
    SessionRows, SettingList, SettingsUpdate, SignInStep,
};
use tau_app::status_facts::StatusFacts;
use tau_protocol::attempt::{AttemptFile, AttemptList, AttemptNews, AttemptOrder, AttemptPart};
use tau_protocol::chosen::ChosenMode;
use tau_protocol::command::AgentCommand;
use tau_protocol::live_session::{BoardList, WaitingQuestions};
use tau_protocol::model::Model;
use tau_protocol::query::{QueryAnswer, SessionSource};
use tau_protocol::session_row::LastExchange;
use tau_protocol::trust::Folder;
use tau_protocol::worktree::{WorktreeDone, WorktreeEnd, WorktreeRow};
use tau_tools::access::AllFiles;
use tau_tools::user_error::UserError;
use tokio::sync::mpsc;

/// Maximum number of prompts loaded from earlier runs.
const PROMPTS: usize = 500;

/// The context for requests.
pub struct Services {
    /// The keys, and the models they are for; a reload changes both.
    pub keys: Arc<Keys>,
    /// The connection to the providers.
    pub direct: Direct,
    pub history: PromptHistory,
    pub cwd: PathBuf,
    /// The folder that holds the session files of all directories.
    pub sessions: PathBuf,
    /// The cache of the session list.
    pub index: PathBuf,
    /// The index of what was said in sessions.
    pub search_index: PathBuf,
    pub config_file: SharedFile,
    /// The settings in use: trust in a folder changes them. Their projects are in the state last shown.
    pub setup: Mutex<Setup>,
    /// The agent's system prompt, which trust in a folder changes.
    pub prompt: AgentPrompt,
    /// Models of servers on this machine, once they have been found.
    pub served: Mutex<Vec<Arc<Model>>>,
    /// The files of the project, for completion.
    pub files: Mutex<Arc<FileIndex>>,
    /// The sessions of the board.
    pub board: Mutex<RowCache>,
    /// The last answer about them.
    pub board_shown: Mutex<board_requests::LastBoardList>,
    /// The other machines of the board.
    pub board_servers: BoardServers,
    /// Where the running login takes addresses that are pasted.
    pub pasted: Mutex<Option<mpsc::Sender<PastedAddress>>>,
    /// The attempts that the screen has begun.
    pub(crate) hosted: HostedAttempts,
}

tau_tools::debug_fields!(Services { cwd });

/// The report on putting a session away, or bringing it back.
fn archive_text(archived: bool) -> String {
    if archived { "archived; tab shows what was archived" } else { "brought back" }.to_owned()
}

/// Runs blocking work on a separate thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UserError> + Send + 'static,
) -> Result<T, UserError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(UserError::new("internal error").because(error)))
}

impl PerformRequest for Services {
    type Call = Call;

    async fn sessions(self: &Arc<Self>, call: &Call, all: bool) -> Result<SessionRows, UserError> {
        let call = call.share();
        self.blocking(move |services| Ok(services.list_sessions(&call, all))).await
    }

    async fn search_sessions(
        self: &Arc<Self>,
        call: &Call,
        query: String,
        all: bool,
    ) -> Result<FoundSessions, UserError> {
        let call = call.share();
        self.blocking(move |services| services.search(&call, &query, all)).await
    }

    async fn board(self: &Arc<Self>, _: &Call, known: bool) -> Result<BoardList, UserError> {
        board_requests::list(self, known).await
    }

    async fn waiting_questions(
        self: &Arc<Self>,
        _: &Call,
        id: String,
    ) -> Result<WaitingQuestions, UserError> {
        match self.board_servers.of(&id)? {
            Some(there) => board_requests::waiting(there).await,
            None => self.others().waiting(&id).await,
        }
    }

    async fn answer_session(
        self: &Arc<Self>,
        _: &Call,
        id: String,
        command: Box<AgentCommand>,
    ) -> Result<Option<QueryAnswer>, UserError> {
        match self.board_servers.of(&id)? {
            Some(there) => board_requests::answer(there, command).await,
            None => self.others().answer(&id, &command).await,
        }
    }

    async fn send_to_session(
        self: &Arc<Self>,
        _: &Call,
        id: String,
        text: String,
    ) -> Result<String, UserError> {
        match self.board_servers.of(&id)? {
            Some(there) => board_requests::send(there, text).await?,
            None => self.others().send(&id, &text).await?,
        }
        Ok("sent".to_owned())
    }

    async fn archive_session(
        self: &Arc<Self>,
        call: &Call,
        id: String,
        archived: bool,
    ) -> Result<String, UserError> {
        match self.board_servers.of(&id)? {
            Some(there) => board_requests::archive(there, archived).await?,
            None => return self.archive_listed(call, id, archived).await,
        }
        Ok(archive_text(archived))
    }

    async fn archive_listed(
        self: &Arc<Self>,
        _: &Call,
        id: String,
        archived: bool,
    ) -> Result<String, UserError> {
        let (paths, root) = (self.setup.lock().paths.clone(), self.sessions.clone());
        blocking(move || record::put_away(&paths, list::of_id(&root, &id), &id, archived)).await?;
        Ok(archive_text(archived))
    }

    async fn attempts(self: &Arc<Self>, _: &Call) -> Result<AttemptList, UserError> {
        self.blocking(move |services| Ok(services.list_attempts())).await
    }

    async fn begin_attempts(
        self: &Arc<Self>,
        call: &Call,
        order: Box<AttemptOrder>,
    ) -> Result<AttemptNews, UserError> {
        let order = self.host_order(*order)?;
        let paths = self.setup.lock().paths.clone();
        self.hosted.run(&paths, order, call).await
    }

    async fn stop_attempts(self: &Arc<Self>, _: &Call) -> Result<String, UserError> {
        match self.hosted.stop() {
            true => Ok("stopping: what they have is kept".to_owned()),
            false => Err("no attempts are running here".into()),
        }
    }

    async fn attempt_changes(
        self: &Arc<Self>,
        _: &Call,
        id: String,
        number: Option<u32>,
    ) -> Result<Vec<AttemptFile>, UserError> {
        self.blocking(move |services| services.show_attempts(&id, number)).await
    }

    async fn take_attempt_parts(
        self: &Arc<Self>,
        _: &Call,
        id: String,
        parts: Vec<AttemptPart>,
    ) -> Result<String, UserError> {
        self.blocking(move |services| services.take_parts_of(&id, &parts)).await
    }

    async fn take_attempt(self: &Arc<Self>, _: &Call, id: String, number: u32) -> Result<String, UserError> {
        self.blocking(move |services| services.take_attempt_of(&id, number)).await
    }

    async fn drop_attempts(self: &Arc<Self>, _: &Call, id: String) -> Result<String, UserError> {
        self.blocking(move |services| services.drop_attempts_of(&id)).await
    }

    async fn worktrees(self: &Arc<Self>, _: &Call) -> Result<Vec<WorktreeRow>, UserError> {
        self.blocking(move |services| services.list_worktrees()).await
    }

    async fn enter_worktree(
        self: &Arc<Self>,
        _: &Call,
        name: String,
        file: Option<PathBuf>,
        resumes: bool,
    ) -> Result<WorktreeDone, UserError> {
        self.blocking(move |services| services.go_to_worktree(&name, file.as_deref(), resumes)).await
    }

    async fn end_worktree(
        self: &Arc<Self>,
        _: &Call,
        name: String,
        end: WorktreeEnd,
        is_here: bool,
        file: Option<PathBuf>,
        id: String,
    ) -> Result<WorktreeDone, UserError> {
        self.blocking(move |services| services.finish_worktree(&name, end, is_here, file.as_deref(), &id))
            .await
    }

    async fn find_session(self: &Arc<Self>, _: &Call, id: String) -> Result<String, UserError> {
        if self.board_servers.of(&id)?.is_some() {
            return Ok(String::new());
        }
        let (paths, root) = {
            let setup = self.setup.lock();
            (setup.paths.clone(), setup.settings.session_root(&setup.paths))
        };
        blocking(move || match record::of(&paths, &id).filter(|found| found.is_live) {
            Some(found) if found.address().is_none() => {
                Err("an attempt at work cannot be opened; /attempts and `tau attempts` list what it has"
                    .into())
            }
            None if list::of_id(&root, &id).is_none() => {
                Err("this session has ended, and its file is gone".into())
            }
            _ => Ok(String::new()),
        })
        .await
    }

    async fn stop_session(self: &Arc<Self>, _: &Call, id: String) -> Result<String, UserError> {
        let is_stopped = match self.board_servers.of(&id)? {
            Some(there) => board_requests::stop(there).await?,
            None => self.others().stop(&id).await?,
        };
        Ok(if is_stopped { "stopped" } else { commands::NOTHING_RUNS }.to_owned())
    }

    async fn preview(self: &Arc<Self>, _: &Call, path: PathBuf) -> Result<LastExchange, UserError> {
        let named = move || last_exchange(&path).map_err(|error| UserError::of_file(&path, error));
        blocking(named).await
    }

    async fn rename_session(
        self: &Arc<Self>,
        _: &Call,
        path: PathBuf,
        name: String,
    ) -> Result<String, UserError> {
        let row = path.clone();
        let row = blocking(move || Ok(list::row_of(&row))).await?;
        let is_renamed = match row {
            Some(row) => self.others().rename(&row.id, &name).await?,
            None => false,
        };
        if !is_renamed {
            let sessions = self.sessions.clone();
            blocking(move || session_files::rename(&sessions, &path, &name)).await?;
        }
        Ok("session renamed".to_owned())
    }

    async fn delete_session(self: &Arc<Self>, _: &Call, path: PathBuf) -> Result<String, UserError> {
        self.blocking(move |services| services.delete(&path)).await
    }

    async fn export(
        self: &Arc<Self>,
        _: &Call,
        session: SessionSource,
        file: Option<PathBuf>,
    ) -> Result<String, UserError> {
        self.blocking(move |services| services.write_export(&session, file.as_deref())).await
    }

    async fn models(self: &Arc<Self>, _: &Call, purpose: ModelsFor) -> Result<ModelList, UserError> {
        let services = Arc::clone(self);
        let keyless = matches!(purpose, ModelsFor::Picker | ModelsFor::Named(_));
        let list = move || ModelList {
            usable: services.usable_models(),
            keyless: if keyless { services.keyless_models() } else { Vec::new() },
            chosen: chosen_models::read(&services.setup.lock().paths),
        };
        blocking(move || Ok(list())).await
    }

    async fn servers(self: &Arc<Self>, _: &Call) -> Result<Vec<LocalModelServer>, UserError> {
        if !self.setup.lock().settings.local_servers() {
            return Ok(Vec::new());
        }
        Ok(self.find_servers().await)
    }

    async fn providers(self: &Arc<Self>, _: &Call) -> Result<Vec<LoginProvider>, UserError> {
        self.login_rows()
    }

    async fn login_name(self: &Arc<Self>, _: &Call, provider: String) -> Result<LoginWay, UserError> {
        self.login_way(&provider)
    }

    async fn login(
        self: &Arc<Self>,
        _: &Call,
        provider: String,
        key: HiddenText,
    ) -> Result<LoggedIn, UserError> {
        self.add_key(&provider, key).await
    }

    async fn sign_in(self: &Arc<Self>, call: &Call, login: String) -> Result<SignInStep, UserError> {
        self.log_in(call, &login).await
    }

    async fn paste_sign_in(self: &Arc<Self>, _: &Call, address: HiddenText) -> Result<String, UserError> {
        self.take_address(address).await
    }

    async fn stored_keys(self: &Arc<Self>, _: &Call) -> Result<Vec<LoginProvider>, UserError> {
        self.stored_key_rows()
    }

    async fn logout(self: &Arc<Self>, _: &Call, provider: String) -> Result<String, UserError> {
        self.remove_key(&provider)
    }

    async fn reload(self: &Arc<Self>, _: &Call) -> Result<SettingsUpdate, UserError> {
        self.blocking(move |services| {
            let mut setup = services.setup.lock();
            let reloaded = reload::reload_everything(&setup, &services.prompt);
            let (renewed, mut applied) =
                reloaded.map_err(|refusal| format!("not reloaded: {}", refusal.text))?;
            applied.text = format!("reloaded; {}", applied.text);
            services.keys.adopt(&renewed.keys);
            *setup = renewed;
            Ok(applied)
        })
        .await
    }

    async fn settings(self: &Arc<Self>, _: &Call) -> Result<SettingList, UserError> {
        self.blocking(move |services| {
            let rows = setting_list::rows(&services.setup.lock());
            Ok(SettingList { rows, applied: SettingsUpdate::default() })
        })
        .await
    }

    async fn set_setting(
        self: &Arc<Self>,
        _: &Call,
        key: String,
        value: Option<HiddenText>,
    ) -> Result<SettingList, UserError> {
        self.blocking(move |services| services.change_setting(&key, value.map(|value| value.0).as_deref()))
            .await
    }

    async fn choose_mode(
        self: &Arc<Self>,
        _: &Call,
        chosen: ChosenMode,
    ) -> Result<SettingsUpdate, UserError> {
        self.blocking(move |services| services.keep_mode(chosen)).await
    }

    async fn decide(
        self: &Arc<Self>,
        _: &Call,
        settings: Vec<(String, String)>,
        kept: bool,
    ) -> Result<SettingsUpdate, UserError> {
        self.blocking(move |services| services.decide_settings(&settings, kept)).await
    }

    async fn set_keys(self: &Arc<Self>, _: &Call, keys: KeyChanges) -> Result<SettingsUpdate, UserError> {
        self.blocking(move |services| services.change_keys(&keys)).await
    }

    async fn turn_extension(
        self: &Arc<Self>,
        _: &Call,
        id: String,
        on: bool,
    ) -> Result<SettingsUpdate, UserError> {
        self.blocking(move |services| services.switch_extension(&id, on)).await
    }

    async fn status_command(
        self: &Arc<Self>,
        _: &Call,
        facts: Box<StatusFacts>,
    ) -> Result<String, UserError> {
        let (command, env, policy) = {
            let setup = self.setup.lock();
            let command = setup.settings.status_command.clone().unwrap_or_default();
            let policy = sandbox::policy(&setup.settings, &setup.paths, &self.cwd);
            (command, setup.child_env(&facts.session.id), policy)
        };
        let input = serde_json::to_string(&facts).map_err(UserError::of)?;
        status_command::run(&command, &format!("{input}\n"), &self.cwd, &env, &policy).await
    }

    async fn folders(self: &Arc<Self>, _: &Call) -> Result<Vec<Folder>, UserError> {
        self.blocking(move |services| {
            services.setup.lock().refresh_projects().map_err(|refusal| refusal.text.into())
        })
        .await
    }

    async fn trust(
        self: &Arc<Self>,
        _: &Call,
        root: PathBuf,
        trusted: bool,
    ) -> Result<SettingsUpdate, UserError> {
        self.blocking(move |services| services.store_trust(&root, trusted)).await
    }

    async fn files(self: &Arc<Self>, call: &Call, query: String) -> Result<FileMatches, UserError> {
        let call = call.share();
        self.blocking(move |services| {
            let rules = || services.setup.lock().current_file_filter();
            let files = Arc::clone(&services.files.lock());
            Ok(files.find(&query, &rules, &|| call.is_cancelled()))
        })
        .await
    }

    async fn paths(self: &Arc<Self>, _: &Call, prefix: String) -> Result<Vec<String>, UserError> {
        self.blocking(move |services| Ok(files::complete(&services.dir(), &prefix, &AllFiles))).await
    }

    async fn clipboard(self: &Arc<Self>, _: &Call, text: String) -> Result<Option<String>, UserError> {
        clipboard::copy(&text).await
    }

    async fn read_clipboard(self: &Arc<Self>, call: &Call) -> Result<ClipboardContent, UserError> {
        clipboard::paste(call).await
    }

    async fn pictures(
        self: &Arc<Self>,
        _: &Call,
        _: String,
        _: (usize, usize),
        readings: Vec<Vec<PathBuf>>,
    ) -> Result<Vec<Picture>, UserError> {
        self.blocking(move |services| {
            let rules = services.setup.lock().current_file_filter();
            files::pictures(&services.dir(), &readings, &*rules)
        })
        .await
    }

    async fn theme_file(self: &Arc<Self>, _: &Call, path: String) -> Result<String, UserError> {
        self.blocking(move |services| files::theme(&services.dir(), &path)).await
    }

    async fn history(self: &Arc<Self>, _: &Call) -> Result<Vec<String>, UserError> {
        self.blocking(move |services| Ok(services.history.load(&services.cwd, PROMPTS))).await
    }

    async fn editor(
        self: &Arc<Self>,
        _: &Call,
        text: String,
        ending: String,
        _: EditorUse,
    ) -> Result<Option<String>, UserError> {
        let env = self.setup.lock().program_env();
        editor::edit(&text, &ending, &env).await
    }

    async fn open_in_editor(self: &Arc<Self>, _: &Call, source: EditorSource) -> Result<String, UserError> {
        let (dir, env) = {
            let setup = self.setup.lock();
            (setup.project_dir.clone(), setup.program_env())
        };
        editor::open(&source, &dir, &env).await
    }

    async fn branch(self: &Arc<Self>, _: &Call) -> Result<Option<String>, UserError> {
        Ok(repository::branch_label(&self.dir()).await)
    }
}

impl Services {
    /// Runs blocking work of a request on a separate thread.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, UserError> + Send + 'static,
    ) -> Result<T, UserError> {
        let services = Arc::clone(self);
        blocking(move || work(&services)).await
    }

    /// The directory of the session.
    fn dir(&self) -> PathBuf {
        self.setup.lock().project_dir.clone()
    }

    pub(crate) fn of(setup: Setup, prompt: AgentPrompt) -> Self {
        Services {
            keys: Arc::clone(&setup.keys),
            direct: environment::direct(&setup.settings, Connections::WithAgent),
            history: PromptHistory::new(&setup.paths),
            cwd: setup.project_dir.clone(),
            sessions: setup.settings.session_root(&setup.paths),
            index: setup.paths.session_index(),
            search_index: setup.paths.search_index(),
            prompt,
            config_file: setup.paths.shared_file(setup.paths.config_file()),
            served: Mutex::default(),
            files: Mutex::new(Arc::new(FileIndex::new(setup.project_dir.clone()))),
            board: Mutex::default(),
            board_shown: Mutex::default(),
            board_servers: BoardServers::default(),
            pasted: Mutex::default(),
            hosted: HostedAttempts::default(),
            setup: Mutex::new(setup),
        }
    }
}
