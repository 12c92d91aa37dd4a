//! Requests to the outside: one table.
//!
//! A request is plain data with a ticket: `Effect::Ask(ticket, request)` comes back as
//! `Msg::Finished(ticket, reply)`, once or (while rows stream in) several times. A reply is dropped
//! when its ticket was given back.
//!
//! To add one: a row in the table below; the compiler then asks for a method of that name in the
//! two places that implement its traits: the work (`cli/tui/services`, [`PerformRequest`]) and what
//! its answer changes (`update/replies`, [`TakeReply`]). An answer of a new shape is also a variant
//! of [`ShellReply`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::geometry::{Motion, TerminalUse, TextLayout};
use crate::status_facts::StatusFacts;
use tau_protocol::chosen::ChosenMode;
use tau_protocol::chosen::ChosenModels;
use tau_protocol::command::AgentCommand;
use tau_protocol::model::Model as AiModel;
use tau_protocol::query::SessionSource;
use tau_protocol::screen_settings::EditingMode;
use tau_protocol::session_row::SessionRow;
use tau_protocol::session_row::{FoundSession, LastExchange};
use tau_protocol::status_template::StatusTemplate;
use tau_protocol::trust::Folder;

/// The ticket of a query whose answer is used whoever asked.
pub const NO_TICKET: u64 = 0;

/// Names a request that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

macro_rules! requests {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident { $($field:ident: $kind:ty),* } => $method:ident -> $reply:ident($answer:ty);
    )+) => {
        /// Work outside that has an answer.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ShellRequest {
            $($(#[doc = $doc])+ $name { $($field: $kind),* },)+
        }

        /// Does the work: one method for each request. An error is a sentence for the user, with
        /// what to do.
        pub trait PerformRequest {
            /// What a request needs besides its fields: a way to stop it and to send rows early.
            type Call: Sync;
            $(
                $(#[doc = $doc])+
                fn $method(
                    self: &Arc<Self>,
                    call: &Self::Call,
                    $($field: $kind),*
                ) -> impl Future<Output = Result<$answer, String>> + Send;
            )+
        }

        /// Takes the answers: one method for each request, with what was asked.
        pub(crate) trait TakeReply {
            $(
                $(#[doc = $doc])+
                fn $method(&mut self, $($field: $kind,)* answer: Result<$answer, String>);
            )+
        }

        impl ShellRequest {
            /// Does the work.
            pub async fn perform<P: PerformRequest>(self, with: &Arc<P>, call: &P::Call) -> ShellReply {
                match self {
                    $(ShellRequest::$name { $($field),* } => {
                        match with.$method(call, $($field),*).await {
                            Ok(answer) => ShellReply::$reply(answer),
                            Err(error) => ShellReply::Failed(error),
                        }
                    })+
                }
            }

            /// Hands the reply to the method for this request. One of a shape that the request
            /// does not have is dropped.
            pub(crate) fn reply_to(self, to: &mut impl TakeReply, reply: ShellReply) {
                match self {
                    $(ShellRequest::$name { $($field),* } => match reply {
                        ShellReply::$reply(answer) => to.$method($($field,)* Ok(answer)),
                        ShellReply::Failed(error) => to.$method($($field,)* Err(error)),
                        _ => {}
                    })+
                }
            }
        }
    };
}

requests! {
    /// The sessions of this directory, or of all directories; rows stream in.
    Sessions { all: bool } => sessions -> Sessions(SessionRows);
    /// The sessions in which these words occur; files stream in.
    SearchSessions { query: String, all: bool } => search_sessions -> Found(FoundSessions);
    /// The last exchange of a session.
    Preview { path: PathBuf } => preview -> LastExchange(LastExchange);
    /// Name a session that is not open here.
    RenameSession { path: PathBuf, name: String } => rename_session -> Done(String);
    /// Move a session file to the trash, or delete it where there is no trash.
    DeleteSession { path: PathBuf } => delete_session -> Done(String);
    /// Write a session to a file; without a name the file is named after the session.
    Export { session: SessionSource, file: Option<PathBuf> } => export -> Done(String);
    /// The models that can be used, and those that need a key first.
    Models { purpose: ModelsFor } => models -> Models(ModelList);
    /// Model servers on this machine.
    Servers {} => servers -> Servers(Vec<LocalModelServer>);
    /// The providers that take an API key.
    Providers {} => providers -> Providers(Vec<LoginProvider>);
    /// Whether a provider takes an API key; answered with its name.
    LoginName { provider: String } => login_name -> Done(String);
    /// Check an API key and store it.
    Login { provider: String, key: Hidden } => login -> LoggedIn(LoggedIn);
    /// The providers whose API keys are stored.
    StoredKeys {} => stored_keys -> Providers(Vec<LoginProvider>);
    /// Remove a stored API key.
    Logout { provider: String } => logout -> Done(String);
    /// Read settings, models, keys and instruction files again.
    Reload {} => reload -> Applied(Applied);
    /// All settings, with where their values come from.
    Settings {} => settings -> Settings(SettingList);
    /// Change a setting of the user; without a value, reset it.
    SetSetting { key: String, value: Option<Hidden> } => set_setting -> Settings(SettingList);
    /// Keep the answer to the question of the first start.
    ChooseMode { chosen: ChosenMode } => choose_mode -> Applied(Applied);
    /// Set settings, from now on or in this session only.
    Decide { settings: Vec<(String, String)>, kept: bool } => decide -> Applied(Applied);
    /// Change keys of actions.
    SetKeys { keys: KeyChanges } => set_keys -> Applied(Applied);
    /// Turn an extension on or off, by its name in the setting `extensions_off`.
    TurnExtension { id: String, on: bool } => turn_extension -> Applied(Applied);
    /// Run the user's command for the status line.
    StatusCommand { facts: Box<StatusFacts> } => status_command -> Done(String);
    /// The folders that have project settings, as they are now.
    Folders {} => folders -> Folders(Vec<Folder>);
    /// Store whether the settings of a folder are trusted, as they were last shown.
    Trust { root: PathBuf, trusted: bool } => trust -> Applied(Applied);
    /// Files of the project that match.
    Files { query: String } => files -> Matches(FileMatches);
    /// Ways to complete a path.
    Paths { prefix: String } => paths -> Files(Vec<String>);
    /// Put text on the clipboard of this machine. Answered with the name of the program that took it, or
    /// `None` if this machine has no clipboard.
    Clipboard { text: String } => clipboard -> Clipboard(Option<String>);
    /// What is on the clipboard of this machine, or else of the terminal.
    ReadClipboard {} => read_clipboard -> Pasted(Pasted);
    /// Read pictures for the model: those that a pasted text names in the first of these ways in which its
    /// files are there.
    Pictures { text: String, readings: Vec<Vec<PathBuf>> } => pictures -> Pictures(Vec<Picture>);
    /// Earlier prompts, newest first.
    History {} => history -> History(Vec<String>);
    /// Let the user edit text in an editor, as a file whose name ends like this; `None` when nothing was
    /// changed.
    Editor { text: String, ending: String, purpose: EditorUse } => editor -> Edited(Option<String>);
    /// Show a file, or text, in an editor.
    OpenInEditor { source: EditorSource } => open_in_editor -> Done(String);
    /// The branch that is checked out, with a `*` when files differ from it; `None` outside a repository.
    Branch {} => branch -> Branch(Option<String>);
}

/// A key was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedIn {
    /// Whether it was checked, and where it is, for the user.
    pub said: String,
    /// The provider's usual model.
    pub model: Arc<AiModel>,
}

/// A reply to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellReply {
    Sessions(SessionRows),
    /// The folders that have project settings, the nearest last.
    Folders(Vec<Folder>),
    /// Settings have changed.
    Applied(Applied),
    Settings(SettingList),
    Found(FoundSessions),
    /// The last exchange of a session.
    #[serde(rename = "last_words")]
    LastExchange(LastExchange),
    Models(ModelList),
    LoggedIn(LoggedIn),
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
    /// What was on a clipboard.
    Pasted(Pasted),
    Servers(Vec<LocalModelServer>),
    Pictures(Vec<Picture>),
    /// It worked; a sentence for the user.
    Done(String),
    /// It failed; a sentence for the user, with what to do.
    Failed(String),
}

impl ShellReply {
    /// Whether more replies to the same request follow.
    pub fn is_partial(&self) -> bool {
        matches!(
            self,
            ShellReply::Sessions(SessionRows { done: false, .. })
                | ShellReply::Found(FoundSessions { done: false, .. })
        )
    }
}

/// What edited text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditorUse {
    /// The text being written.
    Composer,
    /// A call that waits for approval.
    Approval,
    /// The plan of the model.
    Plan,
}

/// What is opened in an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorSource {
    /// A file as a tool was given it, at a line from 1.
    File { path: String, line: Option<u32> },
    /// Text, as a file whose name ends like this.
    Text { text: String, ending: String },
}

/// What the models are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelsFor {
    /// The model picker.
    Picker,
    /// Switching to the next model in this direction.
    Step(isize),
    /// Switching to the model of this name.
    Named(String),
}

/// The models there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelList {
    /// They can be used now.
    pub usable: Vec<Arc<AiModel>>,
    /// Their provider has no key.
    pub keyless: Vec<KeylessModel>,
    /// Favourites, and those that were chosen lately.
    pub chosen: ChosenModels,
}

/// A model whose provider has no key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeylessModel {
    /// `provider/id`.
    pub reference: String,
    pub provider: String,
    /// The environment variable of the key, where one is known.
    pub needs: Option<String>,
}

/// Some rows of the session list; `done` with the last ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRows {
    pub rows: Vec<SessionRow>,
    pub done: bool,
}

/// Some sessions in which the words occur; `done` with the last ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSessions {
    pub found: Vec<FoundSession>,
    pub done: bool,
}

/// The files that match best, and how many match.
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

/// What was on a clipboard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pasted {
    /// Text; line ends are line feeds. Control characters are still in it.
    Text(String),
    Picture(Picture),
}

/// Text that is shown nowhere, not even in a debug print.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Hidden(pub String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

/// New keys of actions, by the names of the actions; `None` stands for the default keys.
pub type KeyChanges = BTreeMap<String, Option<Vec<String>>>;

/// Settings that apply from now on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Applied {
    /// What the user is shown.
    pub text: String,
    /// What the agent is sent.
    pub commands: Vec<AgentCommand>,
    /// The theme, where it has changed.
    pub theme: Option<String>,
    /// Whether thinking is folded, where that has changed.
    pub hide_thinking: Option<bool>,
    /// How text is laid out, where that has changed.
    pub text_layout: Option<TextLayout>,
    /// How the terminal is used, where that has changed.
    pub terminal: Option<TerminalUse>,
    /// Whether anything moves by itself, where that has changed.
    pub motion: Option<Motion>,
    /// Whose keys edit the text that is being written, where that has changed.
    pub editing_mode: Option<EditingMode>,
    /// The template of the status line, and whether a command has a part in it, where one of them has
    /// changed.
    pub status_line: Option<(StatusTemplate, bool)>,
    /// What commands are confined by, in words for the status line, where that has changed.
    pub sandbox: Option<String>,
    /// Why settings that guard the user cannot be relied on, where that is known; empty where they can.
    pub settings_fault: Option<String>,
    /// Keys of actions, where they have changed.
    pub keys: Option<BTreeMap<String, Vec<String>>>,
    /// What is wrong in the files that were read.
    pub warnings: Vec<String>,
}

/// A setting as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingShown {
    pub key: String,
    /// Its value as it is typed; the default where nothing sets it. A secret one is masked.
    pub value: String,
    /// Where the value comes from: `default`, a file and line, a variable or a flag.
    pub origin: String,
    /// What sets it in place of the user's `config.toml`, which a change here would not reach.
    pub fixed_by: Option<String>,
    /// What it holds, its default, and what it is for.
    pub help: String,
    /// The values to choose from; empty when it is typed.
    pub choices: Vec<String>,
    /// What is typed is not shown.
    pub secret: bool,
    /// It is a table, which only the file can hold.
    pub is_table: bool,
}

/// The settings, and what a change of one of them has led to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingList {
    pub rows: Vec<SettingShown>,
    /// What follows from the change.
    pub applied: Applied,
}

/// A provider that takes an API key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoginProvider {
    pub id: String,
    pub name: String,
    /// The environment variable its key is usually in; of a stored key, where another one is set.
    pub env: String,
    pub has_key: bool,
}

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalModelServer {
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
}
