//! The requests where requests with an answer are worked off, each in a task of its own.
//!
//! Nothing here waits in the loop: an answer comes back by channel with its ticket. A request
//! that is forgotten is aborted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::files;
use crate::agent::catalogue::providers::PROVIDERS;
use crate::agent::catalogue::user::AdHoc;
use crate::agent::catalogue::{Catalogue, demo};
use crate::agent::protocol::model::Model;
use crate::agent::protocol::query::SessionSource;
use crate::agent::provider::direct::Direct;
use crate::agent::secrets::Secret;
use crate::agent::session::index::SessionIndex;
use crate::agent::session::lock::{self, Life};
use crate::agent::session::prompt_history::PromptHistory;
use crate::agent::session::tail::TAIL;
use crate::agent::session::{Access, Session, list, search};
use crate::agent::settings::auth::Keys;
use crate::agent::settings::trust::Project;
use crate::agent::settings::write;
use crate::app::effect::{LocalModelServer, LoginProvider, ShellReply, ShellRequest, Ticket};
use crate::cli::compose::{AgentPrompt, Setup};
use crate::cli::keycheck::{KeyCheck, check_key};
use crate::cli::{export, local_servers, reload};

/// Session rows that are handed on together.
const BATCH: usize = 64;
/// Prompts that are recalled from earlier runs.
const PROMPTS: usize = 500;

/// What requests need to know.
pub struct Services {
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
    /// The way to the providers.
    pub direct: Direct,
    pub history: PromptHistory,
    pub cwd: PathBuf,
    /// The folder that holds the session files of all directories.
    pub sessions: PathBuf,
    /// What lists remember of them.
    pub index: PathBuf,
    pub config_file: PathBuf,
    /// What holds at present: trust in a folder changes it, and its projects are those that were
    /// shown last.
    pub setup: std::sync::Mutex<Setup>,
    /// The system prompt of the agent, which trust in a folder changes.
    pub prompt: AgentPrompt,
    /// Models of servers on this machine, once they were found.
    pub served: std::sync::Mutex<Vec<Arc<Model>>>,
}

/// Requests under way.
pub struct RequestRunner {
    services: Arc<Services>,
    answers: mpsc::Sender<(Ticket, ShellReply)>,
    running: HashMap<Ticket, Job>,
    index: Arc<files::FileIndex>,
}

/// A request under way.
struct Job {
    task: AbortHandle,
    /// Set when blocking work should end by itself.
    cancelled: Arc<AtomicBool>,
}

impl RequestRunner {
    /// A requests that sends answers to `answers`.
    pub fn new(services: Services, answers: mpsc::Sender<(Ticket, ShellReply)>) -> Self {
        let index = Arc::new(files::FileIndex::new(services.cwd.clone()));
        RequestRunner { services: Arc::new(services), answers, running: HashMap::new(), index }
    }

    /// Starts to work on a request.
    pub fn ask(&mut self, ticket: Ticket, request: ShellRequest) {
        let services = Arc::clone(&self.services);
        let answers = self.answers.clone();
        let cancelled = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&cancelled);
        let index = Arc::clone(&self.index);
        let task = tokio::spawn(async move {
            let reply = match request {
                ShellRequest::Sessions { all } => {
                    return sessions(services, all, ticket, answers, stop).await;
                }
                ShellRequest::SearchSessions { query, all } => {
                    return search(services, query, all, ticket, answers, stop).await;
                }
                ShellRequest::Preview { path } => blocking(move || preview(&path)).await,
                ShellRequest::RenameSession { path, name } => blocking(move || rename(&path, &name)).await,
                ShellRequest::Models => blocking(move || ShellReply::Models(services.models())).await,
                ShellRequest::Vendors => ShellReply::Vendors(services.vendors()),
                ShellRequest::Login { vendor, key } => services.login(&vendor, Secret::new(key.0)).await,
                ShellRequest::Files { query } => {
                    blocking(move || ShellReply::Files(index.find(&query, &stop))).await
                }
                ShellRequest::Paths { prefix } => {
                    blocking(move || ShellReply::Files(files::complete(&services.cwd, &prefix))).await
                }
                ShellRequest::History => {
                    blocking(move || ShellReply::History(services.history.load(&services.cwd, PROMPTS))).await
                }
                ShellRequest::Branch => {
                    blocking(move || ShellReply::Branch(files::branch(&services.cwd))).await
                }
                ShellRequest::Servers => services.servers().await,
                ShellRequest::DeleteSession { path } => {
                    blocking(move || services.delete_session(&path)).await
                }
                ShellRequest::Export { session, file } => {
                    blocking(move || services.export(&session, file.as_deref())).await
                }
                ShellRequest::Folders => blocking(move || services.folders()).await,
                ShellRequest::Trust { root, trusted } => {
                    blocking(move || services.trust(&root, trusted)).await
                }
                ShellRequest::Picture { path } => {
                    blocking(move || files::picture(&services.cwd, &path)).await
                }
                // Worked off by the loop itself: it needs the terminal.
                ShellRequest::Editor { .. } => return,
            };
            let _ = answers.send((ticket, reply)).await;
        });
        self.running.insert(ticket, Job { task: task.abort_handle(), cancelled });
    }

    /// Ends work that nobody waits for.
    pub fn forget(&mut self, ticket: Ticket) {
        if let Some(job) = self.running.remove(&ticket) {
            job.cancelled.store(true, Ordering::Relaxed);
            job.task.abort();
        }
    }

    /// Notes that an answer has come.
    pub fn answered(&mut self, ticket: Ticket, reply: &ShellReply) {
        if !matches!(reply, ShellReply::Sessions { done: false, .. } | ShellReply::Found { done: false, .. })
        {
            self.running.remove(&ticket);
        }
    }

    /// Ends all work.
    pub fn close(&mut self) {
        let tickets: Vec<Ticket> = self.running.keys().copied().collect();
        for ticket in tickets {
            self.forget(ticket);
        }
    }

    /// Keeps a prompt. Losing one is no reason to stop.
    pub fn remember(&self, text: String) {
        let services = Arc::clone(&self.services);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = services.history.append(&services.cwd, &text) {
                tracing::warn!(%error, "the prompt history could not be written");
            }
        });
    }

    /// Keeps a setting.
    pub fn save(&self, key: &'static str, value: String) {
        let services = Arc::clone(&self.services);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = write::save(&services.config_file, key, &value) {
                tracing::warn!(%error, key, "the setting could not be kept");
            }
        });
    }
}

async fn blocking(work: impl FnOnce() -> ShellReply + Send + 'static) -> ShellReply {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| ShellReply::Failed(format!("this did not work: {error}")))
}

async fn sessions(
    services: Arc<Services>,
    all: bool,
    ticket: Ticket,
    answers: mpsc::Sender<(Ticket, ShellReply)>,
    stop: Arc<AtomicBool>,
) {
    let list = move || {
        let mut rows = Vec::with_capacity(BATCH);
        let cwd = (!all).then_some(services.cwd.as_path());
        let mut known = SessionIndex::load(&services.index);
        list::list_known(&services.sessions, cwd, &mut known, &mut |row| {
            rows.push(row);
            if rows.len() == BATCH {
                let rows = std::mem::take(&mut rows);
                return answers.blocking_send((ticket, ShellReply::Sessions { rows, done: false })).is_ok()
                    && !stop.load(Ordering::Relaxed);
            }
            !stop.load(Ordering::Relaxed)
        });
        let _ = answers.blocking_send((ticket, ShellReply::Sessions { rows, done: true }));
        if let Err(error) = known.save(&services.index) {
            tracing::warn!(%error, "the index of sessions could not be written");
        }
    };
    let _ = tokio::task::spawn_blocking(list).await;
}

/// Looks for words in sessions; what is found is handed on as it is found.
async fn search(
    services: Arc<Services>,
    query: String,
    all: bool,
    ticket: Ticket,
    answers: mpsc::Sender<(Ticket, ShellReply)>,
    stop: Arc<AtomicBool>,
) {
    let look = move || {
        let cwd = (!all).then_some(services.cwd.as_path());
        search::search(&services.sessions, cwd, &query, &mut |path| {
            let sent = path.is_none_or(|path| {
                let found = ShellReply::Found { paths: vec![path], done: false };
                answers.blocking_send((ticket, found)).is_ok()
            });
            sent && !stop.load(Ordering::Relaxed)
        });
        let _ = answers.blocking_send((ticket, ShellReply::Found { paths: Vec::new(), done: true }));
    };
    let _ = tokio::task::spawn_blocking(look).await;
}

fn preview(path: &Path) -> ShellReply {
    match search::last_exchange(path) {
        Ok(words) => ShellReply::LastExchange(words),
        Err(error) => ShellReply::Failed(format!("{}: {error}", path.display())),
    }
}

fn rename(path: &Path, name: &str) -> ShellReply {
    let named = Session::open_tail(path, Access::Write, TAIL).and_then(|mut session| {
        session.set_name(name)?;
        session.flush()
    });
    match named {
        Ok(()) => ShellReply::Done("the session has its new name".to_owned()),
        Err(error) => ShellReply::Failed(format!("the session cannot be named: {error}")),
    }
}

impl Services {
    /// The models that can be used now; the demo is always one.
    fn models(&self) -> Vec<Arc<Model>> {
        let mut models = self.catalogue.configured(&self.keys);
        models.extend(self.served.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter().cloned());
        models.push(Arc::new(demo()));
        models
    }

    fn vendors(&self) -> Vec<LoginProvider> {
        let held = self.keys.held(PROVIDERS.iter().map(|vendor| vendor.id));
        let row = |vendor: &crate::agent::catalogue::providers::KnownProvider| LoginProvider {
            id: vendor.id.to_owned(),
            name: vendor.name.to_owned(),
            env: vendor.env.to_owned(),
            has_key: held.contains(&vendor.id),
        };
        PROVIDERS.iter().map(row).collect()
    }

    async fn servers(&self) -> ShellReply {
        let found = local_servers::local_servers(&local_servers::KNOWN).await;
        let models = found.iter().flat_map(|server| {
            server.models.iter().map(|id| {
                let adhoc = AdHoc {
                    provider: Some(server.name.to_ascii_lowercase().replace(' ', "-")),
                    base_url: server.base_url.clone(),
                    api: None,
                    model: Some(id.clone()),
                };
                Arc::new(adhoc.model())
            })
        });
        *self.served.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = models.collect();
        let tell = |server: local_servers::LocalServer| LocalModelServer {
            name: server.name,
            base_url: server.base_url,
            models: server.models,
        };
        ShellReply::Servers(found.into_iter().map(tell).collect())
    }

    /// Checks a key with a small real request, and keeps it unless it was refused.
    async fn login(&self, vendor: &str, key: Secret) -> ShellReply {
        let Some(model) = self.catalogue.default_model(vendor) else {
            return ShellReply::Failed(format!(
                "there is no vendor `{vendor}`; /login without a name lists them"
            ));
        };
        if let KeyCheck::Rejected(message) = check_key(&self.direct, model, Some(key.clone())).await {
            return ShellReply::Failed(format!("{vendor} refused the key: {message}"));
        }
        match self.keys.store(vendor, &key) {
            Ok(()) => ShellReply::Done(format!("the key for {vendor} is stored")),
            Err(error) => ShellReply::Failed(format!("the key could not be stored: {error}")),
        }
    }

    fn export(&self, session: &SessionSource, file: Option<&Path>) -> ShellReply {
        let place = export::ExportTarget::named(file, &self.cwd);
        match export::write(session, &place, &export::secrets(&self.keys)) {
            Ok((file, masked)) => {
                ShellReply::Done(format!("written to {}; {masked} secrets were masked", file.display()))
            }
            Err(error) => ShellReply::Failed(format!("the session was not written: {error}")),
        }
    }

    /// The folders that bring settings along, as they are now.
    fn folders(&self) -> ShellReply {
        let mut setup = self.setup.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match setup.refresh_projects() {
            Ok(folders) => ShellReply::Folders(folders),
            Err(refusal) => ShellReply::Failed(refusal.text),
        }
    }

    /// Keeps an answer about a folder as it was shown, and lets what follows from it hold.
    fn trust(&self, root: &Path, trusted: bool) -> ShellReply {
        let mut setup = self.setup.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(shown) = setup.project.shown(root) else {
            return ShellReply::Failed("the settings of this folder are gone".to_owned());
        };
        if trusted && Project::of(root).as_ref() != Some(shown) {
            let text = "the settings have changed since they were shown; /trust shows them as they are now";
            return ShellReply::Failed(text.to_owned());
        }
        if let Err(error) = shown.answer(&setup.paths.trust_file(), trusted) {
            return ShellReply::Failed(error.to_string());
        }
        match reload::reload(&setup, &self.prompt) {
            Ok((renewed, mut applied)) => {
                *setup = renewed;
                let answer = if trusted { "trusted" } else { "not trusted" };
                applied.text = format!("{answer}; {}", applied.text);
                ShellReply::Applied(applied)
            }
            Err(refusal) => ShellReply::Failed(format!("the answer is kept, but: {}", refusal.text)),
        }
    }

    fn delete_session(&self, path: &Path) -> ShellReply {
        if !path.starts_with(&self.sessions) {
            return ShellReply::Failed("only files of the sessions folder are deleted".to_owned());
        }
        if let Some(owner) = lock::noted(path).filter(|owner| owner.life() != Life::Ended) {
            let text = format!("the session is open ({owner}); it was not deleted");
            return ShellReply::Failed(text);
        }
        if trash::delete(path).is_ok() {
            return ShellReply::Done("the session is in the trash".to_owned());
        }
        match std::fs::remove_file(path) {
            Ok(()) => ShellReply::Done("the session is deleted; there is no trash here".to_owned()),
            Err(error) => ShellReply::Failed(format!("{}: {error}", path.display())),
        }
    }
}

/// Lets the person edit text in `$VISUAL` or `$EDITOR`; the terminal must have been given back.
pub async fn edit(text: String) -> ShellReply {
    match edit_file(&text).await {
        Ok(edited) => ShellReply::Edited(edited.filter(|edited| edited.trim_end() != text.trim_end())),
        Err(error) => ShellReply::Failed(error),
    }
}

async fn edit_file(text: &str) -> Result<Option<String>, String> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let Some(editor) = editor else {
        return Err("no editor is set; set VISUAL or EDITOR".to_owned());
    };
    let told = |error: std::io::Error| format!("{editor}: {error}");
    let file = tempfile::Builder::new().prefix("tau-").suffix(".md").tempfile().map_err(told)?;
    std::fs::write(file.path(), text).map_err(told)?;
    // The variable is a command line by convention: `code --wait`.
    let status = tokio::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file.path())
        .status()
        .await
        .map_err(told)?;
    if !status.success() {
        return Err(format!("{editor} ended with {status}; the text is as it was"));
    }
    std::fs::read_to_string(file.path()).map(Some).map_err(told)
}
