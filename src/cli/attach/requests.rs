//! Requests of an attached screen: answered by the server, or here. Requests about sessions, models and files
//! go to the server; requests about this terminal and its user stay here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::link::CurrentSession;
use super::reach::Trouble;
use super::server::Server;
use crate::commands::export;
use crate::services::Services;
use crate::services::call::Call;
use tau_agent::settings::{chosen_models, table};
use tau_app::request::{EditorSource, ModelList, ScreenReply, ScreenRequest, SettingsUpdate};
use tau_protocol::attempt::AttemptNews;
use tau_protocol::query::SessionSource;
use tau_tools::user_error::UserError;

/// The context for requests of an attached screen.
#[derive(Debug)]
pub(crate) struct AttachedRequests {
    pub server: Server,
    pub session: CurrentSession,
    /// The requests that are answered here.
    pub here: Arc<Services>,
}

/// The wait before a server that cannot answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);

const NO_LOGIN: &str = "keys stay on the server: log in there, with `tau auth set PROVIDER`, and restart it";
const NO_LOGOUT: &str = "keys stay on the server: remove one there, with `tau auth remove PROVIDER`";

impl AttachedRequests {
    /// Answers a request.
    pub(crate) async fn perform(&self, request: ScreenRequest, call: &Call) -> ScreenReply {
        match request {
            ScreenRequest::Sessions { .. }
            | ScreenRequest::SearchSessions { .. }
            | ScreenRequest::Preview { .. }
            | ScreenRequest::RenameSession { .. }
            | ScreenRequest::DeleteSession { .. }
            | ScreenRequest::ArchiveListed { .. }
            | ScreenRequest::Models { .. }
            | ScreenRequest::TurnExtension { .. }
            | ScreenRequest::Folders {}
            | ScreenRequest::Trust { .. }
            | ScreenRequest::Files { .. }
            | ScreenRequest::Paths { .. }
            | ScreenRequest::Pictures { .. }
            | ScreenRequest::Branch {}
            | ScreenRequest::Attempts {}
            | ScreenRequest::StopAttempts {}
            | ScreenRequest::AttemptChanges { .. }
            | ScreenRequest::TakeAttempt { .. }
            | ScreenRequest::TakeAttemptParts { .. }
            | ScreenRequest::DropAttempts { .. }
            | ScreenRequest::Worktrees {}
            | ScreenRequest::EnterWorktree { .. }
            | ScreenRequest::EndWorktree { .. } => self.ask(&request).await,
            ScreenRequest::BeginAttempts { .. } => self.begin_attempts(&request).await,
            ScreenRequest::Reload {} => self.reload(call).await,
            ScreenRequest::Export { session, file } => {
                self.export(session, file).await.map_or_else(ScreenReply::Failed, ScreenReply::Done)
            }
            ScreenRequest::SetSetting { key, .. } if !is_of_screen(&key) => {
                ScreenReply::Failed(format!("{key} is a setting of the agent: change it on the server").into())
            }
            ScreenRequest::Settings {} | ScreenRequest::SetSetting { .. } | ScreenRequest::SetKeys { .. } => {
                of_screen(request.perform(&self.here, call).await)
            }
            ScreenRequest::Servers {} => ScreenReply::Servers(Vec::new()),
            ScreenRequest::OpenInEditor { source: EditorSource::File { path, .. } } => {
                ScreenReply::Failed(format!(
                    "{path} is on the server; `!cat {path}` shows it, and an editor with a terminal of its own \
                     starts with `!`"
                ).into())
            }
            ScreenRequest::Providers {}
            | ScreenRequest::LoginName { .. }
            | ScreenRequest::SignIn { .. }
            | ScreenRequest::PasteSignIn { .. }
            | ScreenRequest::Login { .. } => ScreenReply::Failed(NO_LOGIN.into()),
            ScreenRequest::StoredKeys {} | ScreenRequest::Logout { .. } => {
                ScreenReply::Failed(NO_LOGOUT.into())
            }
            ScreenRequest::ChooseMode { .. } => {
                ScreenReply::Failed("the mode of a session on a server is chosen there".into())
            }
            ScreenRequest::Decide { .. } => {
                ScreenReply::Failed("what a session on a server may use is chosen there".into())
            }
            ScreenRequest::Board { .. }
            | ScreenRequest::WaitingQuestions { .. }
            | ScreenRequest::AnswerSession { .. }
            | ScreenRequest::SendToSession { .. }
            | ScreenRequest::ArchiveSession { .. }
            | ScreenRequest::FindSession { .. }
            | ScreenRequest::StopSession { .. }
            | ScreenRequest::StatusCommand { .. }
            | ScreenRequest::Clipboard { .. }
            | ScreenRequest::ReadClipboard {}
            | ScreenRequest::ThemeFile { .. }
            | ScreenRequest::History {}
            | ScreenRequest::Editor { .. }
            | ScreenRequest::OpenInEditor { source: EditorSource::Text { .. } } => {
                request.perform(&self.here, call).await
            }
        }
    }

    /// Asks the server. Favourites and recent models are those of the user here.
    async fn ask(&self, request: &ScreenRequest) -> ScreenReply {
        let session = self.session.borrow().clone();
        match self.server.ask(&session, request).await {
            Ok(reply) if !request.fits(&reply) => {
                ScreenReply::Failed("the server gave an unexpected answer".into())
            }
            Ok(ScreenReply::Models(list)) => {
                let chosen = chosen_models::read(&self.here.setup.lock().paths);
                ScreenReply::Models(ModelList { chosen, ..list })
            }
            Ok(reply) => reply,
            Err(trouble) => ScreenReply::Failed(in_words(&trouble).into()),
        }
    }

    /// Begins attempts on the server, and waits for their end. They do not end with this screen.
    async fn begin_attempts(&self, request: &ScreenRequest) -> ScreenReply {
        let session = self.session.borrow().clone();
        match self.ask(request).await {
            ScreenReply::AttemptNews(AttemptNews { ended: false, .. }) => {}
            other => return other,
        }
        loop {
            match self.server.end_of_attempts(&session).await {
                Ok(Some(reply @ (ScreenReply::AttemptNews(_) | ScreenReply::Failed(_)))) => return reply,
                Ok(_) => {}
                Err(Trouble::Unreachable(_) | Trouble::Busy(_)) => tokio::time::sleep(AGAIN).await,
                Err(trouble) => return ScreenReply::Failed(in_words(&trouble).into()),
            }
        }
    }

    /// Writes the document here, where the user is.
    async fn export(&self, source: SessionSource, file: Option<PathBuf>) -> Result<String, UserError> {
        let ending = match &file {
            None => "html".to_owned(),
            Some(file) => file.extension().unwrap_or_default().to_string_lossy().into_owned(),
        };
        if !["html", "md", "jsonl"].contains(&ending.as_str()) {
            return Err("unknown format: the file must end in .html, .md or .jsonl".into());
        }
        let session = self.session.borrow().clone();
        let document = self.server.document(&session, &ending).await;
        let (text, name) = document.map_err(|trouble| in_words(&trouble))?;
        let dir = &self.here.cwd;
        let place = file.map_or_else(|| free_place(dir, &name, &ending), |file| dir.join(file));
        let written = place.clone();
        let done =
            tokio::task::spawn_blocking(move || export::save(&written, &text, export::file_of(&source)))
                .await;
        match done {
            Ok(saved) => saved.map(|()| format!("exported to {} on this machine", place.display())),
            Err(error) => Err(UserError::new("internal error").because(error)),
        }
    }

    /// Reads the files of both sides again.
    async fn reload(&self, call: &Call) -> ScreenReply {
        let here = match (ScreenRequest::Reload {}).perform(&self.here, call).await {
            ScreenReply::Applied(here) => without_commands(here),
            other => return other,
        };
        let there = match self.ask(&ScreenRequest::Reload {}).await {
            ScreenReply::Applied(there) => there,
            other => return other,
        };
        let text = format!("on the server: {}; here: {}", there.text, here.text);
        let warnings = here.warnings.iter().cloned().chain(there.warnings).collect();
        ScreenReply::Applied(SettingsUpdate { text, warnings, sandbox: there.sandbox, ..here })
    }
}

/// The part of a reply about settings that is about the screen: the agent is the server's.
fn of_screen(reply: ScreenReply) -> ScreenReply {
    match reply {
        ScreenReply::Settings(mut list) => {
            list.rows.retain(|row| is_of_screen(&row.key));
            list.applied = without_commands(list.applied);
            ScreenReply::Settings(list)
        }
        ScreenReply::Applied(applied) => ScreenReply::Applied(without_commands(applied)),
        other => other,
    }
}

/// The changes for this screen; the agent is the server's.
fn without_commands(applied: SettingsUpdate) -> SettingsUpdate {
    SettingsUpdate { commands: Vec::new(), sandbox: None, ..applied }
}

/// Whether a setting affects the screen rather than the agent.
fn is_of_screen(key: &str) -> bool {
    table::row(key).is_some_and(|row| row.columns.screen)
}

/// Maximum length of the name of a document, in characters.
const MAX_NAME: usize = 80;

/// A new file for a document that a server names: only letters and digits of that name are used, and no file that
/// exists.
fn free_place(dir: &Path, name: &str, ending: &str) -> PathBuf {
    let stem = name.strip_suffix(ending).unwrap_or(name);
    let words = stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let stem: String = words.collect::<Vec<_>>().join("-").chars().take(MAX_NAME).collect();
    let stem = if stem.is_empty() { "session".to_owned() } else { stem };
    let is_free = |place: &PathBuf| place.symlink_metadata().is_err();
    let numbered = (2..u32::MAX).map(|number| dir.join(format!("{stem}-{number}.{ending}")));
    let usual = dir.join(format!("{stem}.{ending}"));
    std::iter::once(usual.clone()).chain(numbered).find(is_free).unwrap_or(usual)
}

fn in_words(trouble: &Trouble) -> String {
    trouble.text().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_gets_a_new_file_with_its_own_ending() {
        let dir = tempfile::tempdir().unwrap();
        let check = |name: &str, expected: &str| {
            assert_eq!(free_place(dir.path(), name, "html"), dir.path().join(expected), "{name}");
        };
        check("2026-03-02-a-title.html", "2026-03-02-a-title.html");
        check(".bashrc", "bashrc.html");
        check("../../etc/x.sh", "etc-x-sh.html");
        check("", "session.html");
        std::fs::write(dir.path().join("a.html"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere", dir.path().join("a-2.html")).unwrap();
        check("a.html", "a-3.html");
    }
}
