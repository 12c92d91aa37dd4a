//! The desk where requests with an answer are worked off, each in a task of its own.
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
use crate::agent::protocol::event::Source;
use crate::agent::protocol::model::Model;
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
use crate::app::effect::{Reply, Request, Server, Ticket, Vendor};
use crate::cli::compose::Setup;
use crate::cli::keycheck::{Tried, try_key};
use crate::cli::{export, local_servers, reload};

/// Session rows that are handed on together.
const BATCH: usize = 64;
/// Prompts that are recalled from earlier runs.
const PROMPTS: usize = 500;

/// What requests need to know.
pub struct Office {
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
    /// Models of servers on this machine, once they were found.
    pub served: std::sync::Mutex<Vec<Arc<Model>>>,
}

/// Requests under way.
pub struct Desk {
    office: Arc<Office>,
    answers: mpsc::Sender<(Ticket, Reply)>,
    running: HashMap<Ticket, Job>,
    index: Arc<files::Index>,
}

/// A request under way.
struct Job {
    task: AbortHandle,
    /// Set when blocking work should end by itself.
    cancelled: Arc<AtomicBool>,
}

impl Desk {
    /// A desk that sends answers to `answers`.
    pub fn new(office: Office, answers: mpsc::Sender<(Ticket, Reply)>) -> Self {
        let index = Arc::new(files::Index::new(office.cwd.clone()));
        Desk { office: Arc::new(office), answers, running: HashMap::new(), index }
    }

    /// Starts to work on a request.
    pub fn ask(&mut self, ticket: Ticket, request: Request) {
        let office = Arc::clone(&self.office);
        let answers = self.answers.clone();
        let cancelled = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&cancelled);
        let index = Arc::clone(&self.index);
        let task = tokio::spawn(async move {
            let reply = match request {
                Request::Sessions { all } => return sessions(office, all, ticket, answers, stop).await,
                Request::SearchSessions { query, all } => {
                    return search(office, query, all, ticket, answers, stop).await;
                }
                Request::Preview { path } => blocking(move || preview(&path)).await,
                Request::RenameSession { path, name } => blocking(move || rename(&path, &name)).await,
                Request::Models => blocking(move || Reply::Models(office.models())).await,
                Request::Vendors => Reply::Vendors(office.vendors()),
                Request::Login { vendor, key } => office.login(&vendor, Secret::new(key.0)).await,
                Request::Files { query } => blocking(move || Reply::Files(index.find(&query, &stop))).await,
                Request::Paths { prefix } => {
                    blocking(move || Reply::Files(files::complete(&office.cwd, &prefix))).await
                }
                Request::History => {
                    blocking(move || Reply::History(office.history.load(&office.cwd, PROMPTS))).await
                }
                Request::Branch => blocking(move || Reply::Branch(files::branch(&office.cwd))).await,
                Request::Servers => office.servers().await,
                Request::DeleteSession { path } => blocking(move || office.delete_session(&path)).await,
                Request::Export { session, file } => {
                    blocking(move || office.export(&session, file.as_deref())).await
                }
                Request::Folders => blocking(move || office.folders()).await,
                Request::Trust { root, trusted } => blocking(move || office.trust(&root, trusted)).await,
                Request::Picture { path } => blocking(move || files::picture(&office.cwd, &path)).await,
                // Worked off by the loop itself: it needs the terminal.
                Request::Editor { .. } => return,
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
    pub fn answered(&mut self, ticket: Ticket, reply: &Reply) {
        if !matches!(reply, Reply::Sessions { done: false, .. } | Reply::Found { done: false, .. }) {
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
        let office = Arc::clone(&self.office);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = office.history.append(&office.cwd, &text) {
                tracing::warn!(%error, "the prompt history could not be written");
            }
        });
    }

    /// Keeps a setting.
    pub fn save(&self, key: &'static str, value: String) {
        let office = Arc::clone(&self.office);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = write::save(&office.config_file, key, &value) {
                tracing::warn!(%error, key, "the setting could not be kept");
            }
        });
    }
}

async fn blocking(work: impl FnOnce() -> Reply + Send + 'static) -> Reply {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Reply::Failed(format!("this did not work: {error}")))
}

async fn sessions(
    office: Arc<Office>,
    all: bool,
    ticket: Ticket,
    answers: mpsc::Sender<(Ticket, Reply)>,
    stop: Arc<AtomicBool>,
) {
    let list = move || {
        let mut rows = Vec::with_capacity(BATCH);
        let cwd = (!all).then_some(office.cwd.as_path());
        let mut known = SessionIndex::load(&office.index);
        list::list_known(&office.sessions, cwd, &mut known, &mut |row| {
            rows.push(row);
            if rows.len() == BATCH {
                let rows = std::mem::take(&mut rows);
                return answers.blocking_send((ticket, Reply::Sessions { rows, done: false })).is_ok()
                    && !stop.load(Ordering::Relaxed);
            }
            !stop.load(Ordering::Relaxed)
        });
        let _ = answers.blocking_send((ticket, Reply::Sessions { rows, done: true }));
        if let Err(error) = known.save(&office.index) {
            tracing::warn!(%error, "the index of sessions could not be written");
        }
    };
    let _ = tokio::task::spawn_blocking(list).await;
}

/// Looks for words in sessions; what is found is handed on as it is found.
async fn search(
    office: Arc<Office>,
    query: String,
    all: bool,
    ticket: Ticket,
    answers: mpsc::Sender<(Ticket, Reply)>,
    stop: Arc<AtomicBool>,
) {
    let look = move || {
        let cwd = (!all).then_some(office.cwd.as_path());
        search::search(&office.sessions, cwd, &query, &mut |path| {
            let sent = path.is_none_or(|path| {
                let found = Reply::Found { paths: vec![path], done: false };
                answers.blocking_send((ticket, found)).is_ok()
            });
            sent && !stop.load(Ordering::Relaxed)
        });
        let _ = answers.blocking_send((ticket, Reply::Found { paths: Vec::new(), done: true }));
    };
    let _ = tokio::task::spawn_blocking(look).await;
}

fn preview(path: &Path) -> Reply {
    match search::last_exchange(path) {
        Ok(words) => Reply::LastExchange(words),
        Err(error) => Reply::Failed(format!("{}: {error}", path.display())),
    }
}

fn rename(path: &Path, name: &str) -> Reply {
    let named = Session::open_tail(path, Access::Write, TAIL).and_then(|mut session| {
        session.set_name(name)?;
        session.flush()
    });
    match named {
        Ok(()) => Reply::Done("the session has its new name".to_owned()),
        Err(error) => Reply::Failed(format!("the session cannot be named: {error}")),
    }
}

impl Office {
    /// The models that can be used now; the demo is always one.
    fn models(&self) -> Vec<Arc<Model>> {
        let mut models = self.catalogue.configured(&self.keys);
        models.extend(self.served.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter().cloned());
        models.push(Arc::new(demo()));
        models
    }

    fn vendors(&self) -> Vec<Vendor> {
        let held = self.keys.held(PROVIDERS.iter().map(|vendor| vendor.id));
        let row = |vendor: &crate::agent::catalogue::providers::KnownProvider| Vendor {
            id: vendor.id.to_owned(),
            name: vendor.name.to_owned(),
            env: vendor.env.to_owned(),
            has_key: held.contains(&vendor.id),
        };
        PROVIDERS.iter().map(row).collect()
    }

    async fn servers(&self) -> Reply {
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
        let tell = |server: local_servers::LocalServer| Server {
            name: server.name,
            base_url: server.base_url,
            models: server.models,
        };
        Reply::Servers(found.into_iter().map(tell).collect())
    }

    /// Checks a key with a small real request, and keeps it unless it was refused.
    async fn login(&self, vendor: &str, key: Secret) -> Reply {
        let Some(model) = self.catalogue.default_model(vendor) else {
            return Reply::Failed(format!("there is no vendor `{vendor}`; /login without a name lists them"));
        };
        if let Tried::Refused(message) = try_key(&self.direct, model, Some(key.clone())).await {
            return Reply::Failed(format!("{vendor} refused the key: {message}"));
        }
        match self.keys.store(vendor, &key) {
            Ok(()) => Reply::Done(format!("the key for {vendor} is stored")),
            Err(error) => Reply::Failed(format!("the key could not be stored: {error}")),
        }
    }

    fn export(&self, session: &Source, file: Option<&Path>) -> Reply {
        let place = export::Place::named(file, &self.cwd);
        match export::write(session, &place, &export::secrets(&self.keys)) {
            Ok((file, masked)) => {
                Reply::Done(format!("written to {}; {masked} secrets were masked", file.display()))
            }
            Err(error) => Reply::Failed(format!("the session was not written: {error}")),
        }
    }

    /// The folders that bring settings along, as they are now.
    fn folders(&self) -> Reply {
        let mut setup = self.setup.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match setup.look_again() {
            Ok(folders) => Reply::Folders(folders),
            Err(refusal) => Reply::Failed(refusal.text),
        }
    }

    /// Keeps an answer about a folder as it was shown, and lets what follows from it hold.
    fn trust(&self, root: &Path, trusted: bool) -> Reply {
        let mut setup = self.setup.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(shown) = setup.project.shown(root) else {
            return Reply::Failed("the settings of this folder are gone".to_owned());
        };
        if trusted && Project::of(root).as_ref() != Some(shown) {
            let text = "the settings have changed since they were shown; /trust shows them as they are now";
            return Reply::Failed(text.to_owned());
        }
        if let Err(error) = shown.answer(&setup.paths.trust_file(), trusted) {
            return Reply::Failed(error.to_string());
        }
        match reload::renewed(&setup) {
            Ok((renewed, mut applied)) => {
                *setup = renewed;
                let answer = if trusted { "trusted" } else { "not trusted" };
                applied.text = format!("{answer}; {}", applied.text);
                Reply::Applied(applied)
            }
            Err(refusal) => Reply::Failed(format!("the answer is kept, but: {}", refusal.text)),
        }
    }

    fn delete_session(&self, path: &Path) -> Reply {
        if !path.starts_with(&self.sessions) {
            return Reply::Failed("only files of the sessions folder are deleted".to_owned());
        }
        if let Some(owner) = lock::noted(path).filter(|owner| owner.life() != Life::Ended) {
            let text = format!("the session is open ({owner}); it was not deleted");
            return Reply::Failed(text);
        }
        if trash::delete(path).is_ok() {
            return Reply::Done("the session is in the trash".to_owned());
        }
        match std::fs::remove_file(path) {
            Ok(()) => Reply::Done("the session is deleted; there is no trash here".to_owned()),
            Err(error) => Reply::Failed(format!("{}: {error}", path.display())),
        }
    }
}

/// Lets the person edit text in `$VISUAL` or `$EDITOR`; the terminal must have been given back.
pub async fn edit(text: String) -> Reply {
    match edit_file(&text).await {
        Ok(edited) => Reply::Edited(edited.filter(|edited| edited.trim_end() != text.trim_end())),
        Err(error) => Reply::Failed(error),
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
