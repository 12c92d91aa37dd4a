//! Requests of an attached screen: answered by the server, or here. Requests about sessions, models and files
//! go to the server; requests about this terminal and its user stay here.

use std::path::PathBuf;
use std::sync::Arc;

use super::link::CurrentSession;
use super::server::{Server, Trouble};
use super::wire::ServerRequest;
use crate::tui::call::Call;
use crate::tui::services::Services;
use tau_agent::settings::chosen_models;
use tau_agent::settings::private_files::write_private;
use tau_agent::settings::table;
use tau_app::request::{
    Applied, EditorSource, EditorUse, FileMatches, FoundSessions, Hidden, KeyChanges, LocalModelServer,
    LoggedIn, LoginProvider, LoginWay, ModelList, ModelsFor, Pasted, PerformRequest, Picture, SessionRows,
    SettingList, ShellReply, SignInStep,
};
use tau_app::status_facts::StatusFacts;
use tau_protocol::chosen::ChosenMode;
use tau_protocol::live_session::LiveRow;
use tau_protocol::query::SessionSource;
use tau_protocol::session_row::LastExchange;
use tau_protocol::trust::Folder;

/// The context for requests of an attached screen.
#[derive(Debug)]
pub(crate) struct AttachedRequests {
    pub server: Server,
    pub session: CurrentSession,
    /// The requests that are answered here.
    pub here: Arc<Services>,
}

/// Keys belong to the server.
const KEYS: &str = "keys stay on the server: log in there, with `tau auth set PROVIDER`, and restart it";

/// Asks the server, and expects an answer of this shape.
macro_rules! asked {
    ($self:ident, $request:expr, $shape:ident) => {
        match $self.ask($request).await? {
            ShellReply::$shape(answer) => Ok(answer),
            ShellReply::Failed(error) => Err(error),
            _ => Err("the server answered something else".to_owned()),
        }
    };
}

impl AttachedRequests {
    async fn ask(&self, request: ServerRequest) -> Result<ShellReply, String> {
        let session = self.session.borrow().clone();
        self.server.ask(&session, &request).await.map_err(|trouble| in_words(&trouble))
    }

    /// The effects of a settings change here: on the screen alone.
    fn of_screen(mut list: SettingList) -> SettingList {
        list.rows.retain(|row| is_of_screen(&row.key));
        list.applied = without_commands(list.applied);
        list
    }
}

/// The changes for this screen; the agent is the server's.
fn without_commands(applied: Applied) -> Applied {
    Applied { commands: Vec::new(), sandbox: None, ..applied }
}

/// Whether a setting affects the screen rather than the agent.
fn is_of_screen(key: &str) -> bool {
    table::row(key).is_some_and(|row| row.columns.screen)
}

fn in_words(trouble: &Trouble) -> String {
    trouble.text().to_owned()
}

impl PerformRequest for AttachedRequests {
    type Call = Call;

    async fn sessions(self: &Arc<Self>, _: &Call, all: bool) -> Result<SessionRows, String> {
        asked!(self, ServerRequest::Sessions { all }, Sessions)
    }

    async fn search_sessions(
        self: &Arc<Self>,
        _: &Call,
        query: String,
        all: bool,
    ) -> Result<FoundSessions, String> {
        asked!(self, ServerRequest::SearchSessions { query, all }, Found)
    }

    async fn board(self: &Arc<Self>, call: &Call) -> Result<Vec<LiveRow>, String> {
        self.here.board(call).await
    }

    async fn stop_session(self: &Arc<Self>, call: &Call, id: String) -> Result<String, String> {
        self.here.stop_session(call, id).await
    }

    async fn preview(self: &Arc<Self>, _: &Call, path: PathBuf) -> Result<LastExchange, String> {
        asked!(self, ServerRequest::Preview { path }, LastExchange)
    }

    async fn rename_session(
        self: &Arc<Self>,
        _: &Call,
        path: PathBuf,
        name: String,
    ) -> Result<String, String> {
        asked!(self, ServerRequest::RenameSession { path, name }, Done)
    }

    async fn delete_session(self: &Arc<Self>, _: &Call, path: PathBuf) -> Result<String, String> {
        asked!(self, ServerRequest::DeleteSession { path }, Done)
    }

    /// Writes the document here, where the user is.
    async fn export(
        self: &Arc<Self>,
        _: &Call,
        _: SessionSource,
        file: Option<PathBuf>,
    ) -> Result<String, String> {
        let ending = match &file {
            None => "html".to_owned(),
            Some(file) => file.extension().unwrap_or_default().to_string_lossy().into_owned(),
        };
        if !["html", "md", "jsonl"].contains(&ending.as_str()) {
            return Err("unknown format: the file must end in .html, .md or .jsonl".to_owned());
        }
        let session = self.session.borrow().clone();
        let document = self.server.document(&session, &ending).await;
        let (text, name) = document.map_err(|trouble| in_words(&trouble))?;
        // A name from elsewhere must not lead to another folder.
        let name = PathBuf::from(name).file_name().map(PathBuf::from).unwrap_or_else(|| "session".into());
        let place = self.here.cwd.join(file.unwrap_or(name));
        let written = place.clone();
        let done = tokio::task::spawn_blocking(move || write_private(&written, &text)).await;
        match done {
            Ok(Ok(())) => Ok(format!("exported to {} on this machine", place.display())),
            Ok(Err(error)) => Err(format!("could not export the session: {}: {error}", place.display())),
            Err(error) => Err(format!("internal error: {error}")),
        }
    }

    async fn models(self: &Arc<Self>, _: &Call, purpose: ModelsFor) -> Result<ModelList, String> {
        let keyless = !matches!(purpose, ModelsFor::Step(_));
        let list: Result<ModelList, String> = asked!(self, ServerRequest::Models { keyless }, Models);
        let chosen = chosen_models::read(&self.here.setup.lock().paths);
        list.map(|list| ModelList { chosen, ..list })
    }

    async fn servers(self: &Arc<Self>, _: &Call) -> Result<Vec<LocalModelServer>, String> {
        Ok(Vec::new())
    }

    async fn providers(self: &Arc<Self>, _: &Call) -> Result<Vec<LoginProvider>, String> {
        Err(KEYS.to_owned())
    }

    async fn login_name(self: &Arc<Self>, _: &Call, _: String) -> Result<LoginWay, String> {
        Err(KEYS.to_owned())
    }

    async fn sign_in(self: &Arc<Self>, _: &Call, _: String) -> Result<SignInStep, String> {
        Err(KEYS.to_owned())
    }

    async fn paste_sign_in(self: &Arc<Self>, _: &Call, _: Hidden) -> Result<String, String> {
        Err(KEYS.to_owned())
    }

    async fn login(self: &Arc<Self>, _: &Call, _: String, _: Hidden) -> Result<LoggedIn, String> {
        Err(KEYS.to_owned())
    }

    async fn stored_keys(self: &Arc<Self>, _: &Call) -> Result<Vec<LoginProvider>, String> {
        Err("keys stay on the server: remove one there, with `tau auth remove PROVIDER`".to_owned())
    }

    async fn logout(self: &Arc<Self>, _: &Call, _: String) -> Result<String, String> {
        Err("keys stay on the server: remove one there, with `tau auth remove PROVIDER`".to_owned())
    }

    /// Reads the files of both sides again.
    async fn reload(self: &Arc<Self>, call: &Call) -> Result<Applied, String> {
        let here = without_commands(self.here.reload(call).await?);
        let there: Applied = asked!(self, ServerRequest::Reload, Applied)?;
        let text = format!("on the server: {}; here: {}", there.text, here.text);
        let warnings = here.warnings.iter().cloned().chain(there.warnings).collect();
        Ok(Applied { text, warnings, sandbox: there.sandbox, ..here })
    }

    async fn settings(self: &Arc<Self>, call: &Call) -> Result<SettingList, String> {
        self.here.settings(call).await.map(AttachedRequests::of_screen)
    }

    async fn set_setting(
        self: &Arc<Self>,
        call: &Call,
        key: String,
        value: Option<Hidden>,
    ) -> Result<SettingList, String> {
        if !is_of_screen(&key) {
            return Err(format!("{key} is a setting of the agent: change it on the server"));
        }
        self.here.set_setting(call, key, value).await.map(AttachedRequests::of_screen)
    }

    async fn choose_mode(self: &Arc<Self>, _: &Call, _: ChosenMode) -> Result<Applied, String> {
        Err("the mode of a session on a server is chosen there".to_owned())
    }

    async fn decide(
        self: &Arc<Self>,
        _: &Call,
        _: Vec<(String, String)>,
        _: bool,
    ) -> Result<Applied, String> {
        Err("what a session on a server may use is chosen there".to_owned())
    }

    async fn set_keys(self: &Arc<Self>, call: &Call, keys: KeyChanges) -> Result<Applied, String> {
        self.here.set_keys(call, keys).await.map(without_commands)
    }

    async fn turn_extension(self: &Arc<Self>, _: &Call, id: String, on: bool) -> Result<Applied, String> {
        asked!(self, ServerRequest::TurnExtension { id, on }, Applied)
    }

    async fn status_command(
        self: &Arc<Self>,
        call: &Call,
        facts: Box<StatusFacts>,
    ) -> Result<String, String> {
        self.here.status_command(call, facts).await
    }

    async fn folders(self: &Arc<Self>, _: &Call) -> Result<Vec<Folder>, String> {
        asked!(self, ServerRequest::Folders, Folders)
    }

    async fn trust(self: &Arc<Self>, _: &Call, root: PathBuf, trusted: bool) -> Result<Applied, String> {
        asked!(self, ServerRequest::Trust { root, trusted }, Applied)
    }

    async fn files(self: &Arc<Self>, _: &Call, query: String) -> Result<FileMatches, String> {
        asked!(self, ServerRequest::Files { query }, Matches)
    }

    async fn paths(self: &Arc<Self>, _: &Call, prefix: String) -> Result<Vec<String>, String> {
        asked!(self, ServerRequest::Paths { prefix }, Files)
    }

    async fn clipboard(self: &Arc<Self>, call: &Call, text: String) -> Result<Option<String>, String> {
        self.here.clipboard(call, text).await
    }

    async fn read_clipboard(self: &Arc<Self>, call: &Call) -> Result<Pasted, String> {
        self.here.read_clipboard(call).await
    }

    async fn pictures(
        self: &Arc<Self>,
        _: &Call,
        text: String,
        readings: Vec<Vec<PathBuf>>,
    ) -> Result<Vec<Picture>, String> {
        asked!(self, ServerRequest::Pictures { text, readings }, Pictures)
    }

    async fn history(self: &Arc<Self>, call: &Call) -> Result<Vec<String>, String> {
        self.here.history(call).await
    }

    async fn editor(
        self: &Arc<Self>,
        call: &Call,
        text: String,
        ending: String,
        purpose: EditorUse,
    ) -> Result<Option<String>, String> {
        self.here.editor(call, text, ending, purpose).await
    }

    async fn open_in_editor(self: &Arc<Self>, call: &Call, source: EditorSource) -> Result<String, String> {
        match source {
            EditorSource::Text { .. } => self.here.open_in_editor(call, source).await,
            EditorSource::File { path, .. } => Err(format!(
                "{path} is on the server; `!cat {path}` shows it, and an editor with a terminal of its own starts \
                 with `!`"
            )),
        }
    }

    async fn branch(self: &Arc<Self>, _: &Call) -> Result<Option<String>, String> {
        asked!(self, ServerRequest::Branch, Branch)
    }
}
