//! Requests to the outside: one table.
//!
//! A request is plain data with a ticket: `Effect::Ask(ticket, request)` comes back as
//! `Msg::Finished(ticket, reply)`, once or (while rows stream in) several times. A reply is dropped once its
//! ticket was forgotten.
//!
//! To add one: a row in the table below; the compiler then asks for the work, a method of that name
//! (`cli/services`, [`PerformRequest`]), and for the effect of its answer (`update/replies`, [`RequestAnswer`]). An
//! answer of a new shape is also a variant of [`ScreenReply`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::screen_settings::ScreenSettings;
use crate::status_facts::StatusFacts;
use tau_protocol::attempt::{AttemptFile, AttemptList, AttemptNews, AttemptOrder, AttemptPart};
use tau_protocol::chosen::{ChosenMode, ChosenModels};
use tau_protocol::command::AgentCommand;
use tau_protocol::live_session::{BoardList, WaitingQuestions};
use tau_protocol::model::Model as AiModel;
use tau_protocol::query::{QueryAnswer, SessionSource};
use tau_protocol::session_row::{FoundSession, LastExchange, SessionRow};
use tau_protocol::trust::Folder;
use tau_protocol::worktree::{WorktreeDone, WorktreeEnd, WorktreeRow};
use tau_tools::path_text;
use tau_tools::user_error::UserError;

/// The ticket of a query whose answer is used regardless of the sender.
pub const NO_TICKET: u64 = 0;

/// The identity of a pending request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

macro_rules! requests {
    ($(
        $(#[doc = $doc:literal])+
        $(#[serde($skip:ident)])?
        $name:ident { $($(#[serde(with = $with:literal)])? $field:ident: $kind:ty),* } => $method:ident($($kept:ident: $kept_kind:ty),*) -> $reply:ident($answer:ty);
    )+) => {
        /// Outside work with an answer. An attached screen sends a request to its server, unless the request is
        /// about the machine that the screen is on: those are not serialized.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "ask", rename_all = "snake_case")]
        pub enum ScreenRequest {
            $($(#[doc = $doc])+ $(#[serde($skip)])? $name { $($(#[serde(with = $with)])? $field: $kind),* },)+
        }

        /// Does the work: one method for each request. An error is a sentence for the user, with a remedy.
        pub trait PerformRequest {
            /// The context of a request besides its fields: a way to stop it and to send rows early.
            type Call: Sync;
            $(
                $(#[doc = $doc])+
                fn $method(
                    self: &Arc<Self>,
                    call: &Self::Call,
                    $($field: $kind),*
                ) -> impl Future<Output = Result<$answer, UserError>> + Send;
            )+
        }

        /// The answer to each request, with the fields in the row's brackets.
        pub(crate) enum RequestAnswer {
            $($name { $($kept: $kept_kind,)* answer: Result<$answer, UserError> },)+
        }

        impl ScreenRequest {
            /// Does the work.
            pub async fn perform<P: PerformRequest>(self, with: &Arc<P>, call: &P::Call) -> ScreenReply {
                match self {
                    $(ScreenRequest::$name { $($field),* } => {
                        match with.$method(call, $($field),*).await {
                            Ok(answer) => ScreenReply::$reply(answer),
                            Err(error) => ScreenReply::Failed(error),
                        }
                    })+
                }
            }

            /// Whether a reply has the shape that belongs to this request.
            pub fn fits(&self, reply: &ScreenReply) -> bool {
                matches!(
                    (self, reply),
                    (_, ScreenReply::Failed(_)) $(| (ScreenRequest::$name { .. }, ScreenReply::$reply(_)))+
                )
            }

            /// The reply as the answer to this request; `None` if it has the wrong shape.
            pub(crate) fn answer(self, reply: ScreenReply) -> Option<RequestAnswer> {
                match self {
                    $(ScreenRequest::$name { $($kept,)* .. } => match reply {
                        ScreenReply::$reply(answer) => Some(RequestAnswer::$name { $($kept,)* answer: Ok(answer) }),
                        ScreenReply::Failed(error) => Some(RequestAnswer::$name { $($kept,)* answer: Err(error) }),
                        _ => None,
                    })+
                }
            }
        }
    };
}

requests! {
    /// The sessions of this directory, or of all directories; rows stream in.
    Sessions { all: bool } => sessions() -> Sessions(SessionRows);
    /// The sessions in which these words occur; files stream in.
    SearchSessions { query: String, all: bool } => search_sessions(query: String) -> Found(FoundSessions);
    /// The live sessions of the user on this machine, and on servers in the settings. Where the last answer is `known`,
    /// once they differ from that, or after some seconds.
    #[serde(skip)]
    Board { known: bool } => board() -> Board(BoardList);
    /// Look whether a session of the board can be opened.
    #[serde(skip)]
    FindSession { id: String } => find_session(id: String) -> Done(String);
    /// Stop the run of a live session.
    #[serde(skip)]
    StopSession { id: String } => stop_session() -> Done(String);
    /// The calls and questions that wait for the user in a live session.
    #[serde(skip)]
    WaitingQuestions { id: String } => waiting_questions(id: String) -> Waiting(WaitingQuestions);
    /// Give a live session an answer to what waits there, or ask it about that.
    #[serde(skip)]
    AnswerSession { id: String, command: Box<AgentCommand> } => answer_session(id: String) -> Answered(Option<QueryAnswer>);
    /// Send a message to a session, which continues in the background if no process has it open.
    #[serde(skip)]
    SendToSession { id: String, text: String } => send_to_session(text: String) -> Done(String);
    /// Put the result of a session of the board away, or bring it back.
    #[serde(skip)]
    ArchiveSession { id: String, archived: bool } => archive_session() -> Done(String);
    /// The worktrees of the session's repository.
    Worktrees {} => worktrees() -> Worktrees(Vec<WorktreeRow>);
    /// Make or find a worktree, and continue there: in its last session, or in a copy of this one.
    EnterWorktree { name: String, #[serde(with = "path_text")] file: Option<PathBuf>, resumes: bool } => enter_worktree() -> WorktreeDone(WorktreeDone);
    /// Merge, remove or restore a worktree; `is_here` tells whether the session with this id is in it.
    EndWorktree { name: String, end: WorktreeEnd, is_here: bool, #[serde(with = "path_text")] file: Option<PathBuf>, id: String } => end_worktree() -> WorktreeDone(WorktreeDone);
    /// The newest attempts at a task in the session's directory.
    Attempts {} => attempts() -> Attempts(AttemptList);
    /// Begin attempts at a task; news comes when one has ended.
    BeginAttempts { order: Box<AttemptOrder> } => begin_attempts() -> AttemptNews(AttemptNews);
    /// Stop the attempts that this screen has begun.
    StopAttempts {} => stop_attempts() -> Done(String);
    /// The changes of one of these attempts, or of all, file by file.
    AttemptChanges { id: String, number: Option<u32> } => attempt_changes() -> AttemptFiles(Vec<AttemptFile>);
    /// Apply hunks and files of several attempts to the directory, and keep the copies.
    TakeAttemptParts { id: String, parts: Vec<AttemptPart> } => take_attempt_parts() -> Done(String);
    /// Apply an attempt to the directory, and remove the copies.
    TakeAttempt { id: String, number: u32 } => take_attempt() -> Done(String);
    /// Remove the copies of these attempts.
    DropAttempts { id: String } => drop_attempts() -> Done(String);
    /// The last exchange of a session.
    Preview { #[serde(with = "path_text")] path: PathBuf } => preview(path: PathBuf) -> LastExchange(LastExchange);
    /// Name a session that is not open here.
    RenameSession { #[serde(with = "path_text")] path: PathBuf, name: String } => rename_session(path: PathBuf, name: String) -> Done(String);
    /// Move a session file to the trash, or delete it where there is no trash.
    DeleteSession { #[serde(with = "path_text")] path: PathBuf } => delete_session(path: PathBuf) -> Done(String);
    /// Put a session of the list away, or bring it back.
    ArchiveListed { id: String, archived: bool } => archive_listed() -> Done(String);
    /// Write a session to a file; without a name the file is named after the session.
    #[serde(skip)]
    Export { session: SessionSource, #[serde(with = "path_text")] file: Option<PathBuf> } => export() -> Done(String);
    /// The available models, and those that need a key first.
    Models { purpose: ModelsFor } => models(purpose: ModelsFor) -> Models(ModelList);
    /// Model servers on this machine.
    #[serde(skip)]
    Servers {} => servers() -> Servers(Vec<LocalModelServer>);
    /// The providers that take an API key.
    #[serde(skip)]
    Providers {} => providers() -> Providers(Vec<LoginProvider>);
    /// How a provider is connected.
    #[serde(skip)]
    LoginName { provider: String } => login_name(provider: String) -> LoginWay(LoginWay);
    /// Log in with the account of a subscription; what the user has to do comes first.
    #[serde(skip)]
    SignIn { login: String } => sign_in() -> SignIn(SignInStep);
    /// Pass the last address of a browser on another machine to the running login.
    #[serde(skip)]
    PasteSignIn { address: HiddenText } => paste_sign_in() -> Done(String);
    /// Check an API key and store it.
    #[serde(skip)]
    Login { provider: String, key: HiddenText } => login() -> LoggedIn(LoggedIn);
    /// The providers whose API keys are stored.
    #[serde(skip)]
    StoredKeys {} => stored_keys() -> Providers(Vec<LoginProvider>);
    /// Remove a stored API key.
    #[serde(skip)]
    Logout { provider: String } => logout() -> Done(String);
    /// Read settings, models, keys and instruction files again.
    Reload {} => reload() -> Applied(SettingsUpdate);
    /// All settings, with where their values come from.
    #[serde(skip)]
    Settings {} => settings() -> Settings(SettingList);
    /// Change a setting of the user; without a value, reset it.
    #[serde(skip)]
    SetSetting { key: String, value: Option<HiddenText> } => set_setting() -> Settings(SettingList);
    /// Store the answer to the question of the first start.
    #[serde(skip)]
    ChooseMode { chosen: ChosenMode } => choose_mode(chosen: ChosenMode) -> Applied(SettingsUpdate);
    /// Set settings, from now on or in this session only.
    #[serde(skip)]
    Decide { settings: Vec<(String, String)>, kept: bool } => decide() -> Applied(SettingsUpdate);
    /// Change keys of actions.
    #[serde(skip)]
    SetKeys { keys: KeyChanges } => set_keys() -> Applied(SettingsUpdate);
    /// Turn an extension on or off, by its name in the setting `extensions_off`.
    TurnExtension { id: String, on: bool } => turn_extension() -> Applied(SettingsUpdate);
    /// Run the user's command for the status line.
    #[serde(skip)]
    StatusCommand { facts: Box<StatusFacts> } => status_command() -> Done(String);
    /// The current folders with project settings.
    Folders {} => folders() -> Folders(Vec<Folder>);
    /// Store whether the settings of a folder are trusted, as they were last shown.
    Trust { #[serde(with = "path_text")] root: PathBuf, trusted: bool } => trust() -> Applied(SettingsUpdate);
    /// Files of the project that match.
    Files { query: String } => files() -> Matches(FileMatches);
    /// Completions of a path.
    Paths { prefix: String } => paths() -> Files(Vec<String>);
    /// Put text on the clipboard of this machine. Answered with the name of the program that did it, or
    /// `None` if this machine has no clipboard.
    #[serde(skip)]
    Clipboard { text: String } => clipboard(text: String) -> Clipboard(Option<String>);
    /// The clipboard of this machine, or else of the terminal.
    #[serde(skip)]
    ReadClipboard {} => read_clipboard() -> Pasted(ClipboardContent);
    /// Read pictures for the model: the ones named by a pasted text, using the first reading whose files
    /// exist. `at` is their place in the draft, as row and column.
    Pictures { text: String, at: (usize, usize), #[serde(with = "path_text")] readings: Vec<Vec<PathBuf>> } => pictures(text: String, at: (usize, usize)) -> Pictures(Vec<Picture>);
    /// Check the theme file at a path; answered with its name as a setting.
    #[serde(skip)]
    ThemeFile { path: String } => theme_file() -> Done(String);
    /// Earlier prompts, newest first.
    #[serde(skip)]
    History {} => history() -> History(Vec<String>);
    /// Let the user edit text in an editor, as a file with this name ending; `None` when nothing was changed.
    #[serde(skip)]
    Editor { text: String, ending: String, purpose: EditorUse } => editor(text: String, purpose: EditorUse) -> Edited(Option<String>);
    /// Show a file, or text, in an editor.
    #[serde(skip)]
    OpenInEditor { source: EditorSource } => open_in_editor() -> Done(String);
    /// The current branch, with a `*` for uncommitted changes; `None` outside a repository.
    Branch {} => branch() -> Branch(Option<String>);
}

/// How a provider is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginWay {
    /// With an API key.
    Key,
    /// With a token that is pasted: how to get it.
    Token(String),
    /// With a login.
    Login,
}

/// A step of a login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInStep {
    /// The user has to do something.
    Waits(SignInPage),
    /// The tokens are stored.
    Done(LoggedIn),
}

/// The page to open for a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInPage {
    /// The login's display name.
    pub name: String,
    /// The address to open.
    pub page: String,
    /// The code to type there; `None` if the browser brings one back.
    pub code: Option<String>,
    /// Whether a browser was opened.
    pub is_open: bool,
}

/// A key was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedIn {
    /// Whether it was checked, and its place, as text for the user.
    pub said: String,
    /// The provider's usual model.
    pub model: Arc<AiModel>,
}

/// A reply to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScreenReply {
    Sessions(SessionRows),
    /// The folders with project settings, the nearest last.
    Folders(Vec<Folder>),
    /// Settings have changed.
    Applied(SettingsUpdate),
    Settings(SettingList),
    Found(FoundSessions),
    Board(BoardList),
    Waiting(WaitingQuestions),
    Worktrees(Vec<WorktreeRow>),
    Attempts(AttemptList),
    AttemptNews(AttemptNews),
    AttemptFiles(Vec<AttemptFile>),
    /// A worktree was entered, merged, removed or restored.
    WorktreeDone(WorktreeDone),
    /// The answer to a question about what waits; `None` after an answer of the user.
    Answered(Option<QueryAnswer>),
    /// The last exchange of a session.
    #[serde(rename = "last_words")]
    LastExchange(LastExchange),
    Models(ModelList),
    LoggedIn(LoggedIn),
    LoginWay(LoginWay),
    SignIn(SignInStep),
    #[serde(rename = "vendors")]
    Providers(Vec<LoginProvider>),
    /// Paths, in order.
    Files(Vec<String>),
    Matches(FileMatches),
    /// Earlier prompts, newest first.
    History(Vec<String>),
    Edited(Option<String>),
    Branch(Option<String>),
    Clipboard(Option<String>),
    /// The clipboard's content.
    Pasted(ClipboardContent),
    Servers(Vec<LocalModelServer>),
    Pictures(Vec<Picture>),
    /// Success, as a sentence for the user.
    Done(String),
    /// Failure, as a sentence for the user, with a remedy.
    Failed(UserError),
}

impl ScreenReply {
    /// Whether more replies to the same request follow.
    pub fn is_partial(&self) -> bool {
        matches!(
            self,
            ScreenReply::Sessions(SessionRows { done: false, .. })
                | ScreenReply::Found(FoundSessions { done: false, .. })
                | ScreenReply::SignIn(SignInStep::Waits(_))
                | ScreenReply::AttemptNews(AttemptNews { ended: false, .. })
        )
    }
}

/// The purpose of edited text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditorUse {
    /// The text being written.
    Composer,
    /// A call that awaits approval.
    Approval,
    /// The plan of the model.
    Plan,
}

/// The source for an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorSource {
    /// A file as named in a tool call, at a line from 1.
    File { path: String, line: Option<u32> },
    /// Text, as a file with this name ending.
    Text { text: String, ending: String },
}

/// The purpose of a list of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelsFor {
    /// The model picker.
    Picker,
    /// Switching to the next model in this direction.
    Step(isize),
    /// Switching to the model of this name.
    Named(String),
    /// Completing a name that is being typed.
    Completion,
}

/// The known models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelList {
    /// The available ones.
    pub usable: Vec<Arc<AiModel>>,
    /// Models whose provider has no key.
    pub keyless: Vec<KeylessModel>,
    /// Favourites and recent choices.
    pub chosen: ChosenModels,
}

/// A model whose provider has no key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeylessModel {
    /// `provider/id`.
    pub reference: String,
    pub provider: String,
    /// The environment variable of the key, if known.
    pub needs: Option<String>,
}

/// A batch of rows of the session list; `done` with the last ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRows {
    pub rows: Vec<SessionRow>,
    pub done: bool,
    /// The reasons that keep other sessions out of the list, in sentences.
    #[serde(default)]
    pub troubles: Vec<String>,
}

/// A batch of matching sessions; `done` with the last ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSessions {
    pub found: Vec<FoundSession>,
    pub done: bool,
}

/// The best matching files, and the number of matches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileMatches {
    pub paths: Vec<String>,
    pub count: usize,
}

/// A picture as base64, with its size in pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub data: String,
    pub mime_type: String,
    pub width: u32,
    pub height: u32,
}

/// The clipboard's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipboardContent {
    /// Text; line ends are line feeds. Control characters are not removed yet.
    Text(String),
    Picture(Picture),
}

/// Text that is never shown, not even in a debug print.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HiddenText(pub String);

impl std::fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

/// New keys of actions, by the names of the actions; `None` stands for the default keys.
pub type KeyChanges = BTreeMap<String, Option<Vec<String>>>;

/// Settings that apply from now on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingsUpdate {
    /// The text for the user.
    pub text: String,
    /// The commands for the agent.
    pub commands: Vec<AgentCommand>,
    /// The theme, if changed.
    pub theme: Option<String>,
    /// The settings of the screen, if one has changed.
    pub screen: Option<ScreenSettings>,
    /// The sandbox of commands, in words for the status line, if changed.
    pub sandbox: Option<String>,
    /// The reason why settings that guard the user cannot be relied on, if known; empty where they can.
    pub settings_fault: Option<String>,
    /// Keys of actions, if changed.
    pub keys: Option<BTreeMap<String, Vec<String>>>,
    /// Faults in the files that were read.
    pub warnings: Vec<String>,
}

/// The origin of a setting's value, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SettingOrigin {
    /// Nothing sets it.
    #[default]
    Default,
    /// A file and line, a variable or a flag.
    Set(String),
}

impl SettingOrigin {
    const DEFAULT: &str = "default";

    /// It in words.
    pub fn as_str(&self) -> &str {
        match self {
            SettingOrigin::Default => Self::DEFAULT,
            SettingOrigin::Set(place) => place,
        }
    }
}

impl From<String> for SettingOrigin {
    fn from(words: String) -> Self {
        if words == Self::DEFAULT { SettingOrigin::Default } else { SettingOrigin::Set(words) }
    }
}

impl From<SettingOrigin> for String {
    fn from(origin: SettingOrigin) -> String {
        origin.as_str().to_owned()
    }
}

/// The current state of a setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingShown {
    pub key: String,
    /// Its value as typed; the default where nothing sets it. A secret is masked.
    pub value: String,
    pub origin: SettingOrigin,
    /// A source that overrides the user's `config.toml`, so that a change here would have no effect.
    pub fixed_by: Option<String>,
    /// Its type, its default, and its purpose.
    pub help: String,
    /// The possible values; empty for free text.
    pub choices: Vec<String>,
    /// Whether typed text is not shown.
    pub secret: bool,
    /// Whether it is a table, which can only be edited in the file.
    pub is_table: bool,
}

/// The settings, and the consequences of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingList {
    pub rows: Vec<SettingShown>,
    /// The consequences of the change.
    pub applied: SettingsUpdate,
}

/// A provider that takes an API key, or a login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoginProvider {
    pub id: String,
    pub name: String,
    /// The usual environment variable of its key; of a stored key, a variable that overrides it.
    pub env: String,
    pub has_key: bool,
    /// The login in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalModelServer {
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
}
