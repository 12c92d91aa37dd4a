//! Pending requests, each in a separate task.
//!
//! Nothing here blocks the loop: a reply comes back by channel with its ticket. A forgotten request is
//! aborted. The work of requests is in [`crate::services`].

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::context::TokioContext;

use super::questions::ClipboardAsk;
use crate::attach::requests::AttachedRequests;
use crate::attach::server::Server;
use crate::compose::reload;
use crate::services::Services;
use crate::services::call::Call;
use crate::services::files::FileIndex;
use tau_agent::settings::paths;
use tau_app::effect::SavedSetting;
use tau_app::request::{ScreenReply, ScreenRequest, SettingsUpdate, Ticket};
use tau_protocol::trust::Folder;
use tau_protocol::worktree;
use tau_tools::user_error::UserError;

/// The pending requests.
pub struct RequestRunner {
    services: Arc<Services>,
    /// For an attached screen: answers most of them.
    attached: Option<Arc<AttachedRequests>>,
    /// Settings to save, and the lock held while saving one.
    to_save: Arc<(Mutex<VecDeque<SavedSetting>>, Mutex<()>)>,
    replies: mpsc::Sender<(Ticket, ScreenReply)>,
    running: HashMap<Ticket, RunningRequest>,
    /// The channel of queries from requests to the terminal.
    asks: (mpsc::Sender<ClipboardAsk>, mpsc::Receiver<ClipboardAsk>),
    /// Runs them off the screen's thread.
    runtime: Handle,
}

/// A request with its performer.
struct RequestTask {
    request: ScreenRequest,
    services: Arc<Services>,
    attached: Option<Arc<AttachedRequests>>,
    call: Call,
}

impl RequestTask {
    async fn run(self) -> (ScreenReply, Call) {
        let reply = match &self.attached {
            Some(attached) => attached.perform(self.request, &self.call).await,
            None => self.request.perform(&self.services, &self.call).await,
        };
        (reply, self.call)
    }
}

/// A pending request.
struct RunningRequest {
    task: AbortHandle,
    /// Set when blocking work should end on its own.
    cancelled: Arc<AtomicBool>,
}

impl RequestRunner {
    /// Runs requests in the current runtime, and sends replies to `replies`.
    pub fn new(services: Arc<Services>, replies: mpsc::Sender<(Ticket, ScreenReply)>) -> Self {
        RequestRunner {
            services,
            attached: None,
            to_save: Arc::default(),
            replies,
            running: HashMap::new(),
            asks: mpsc::channel(1),
            runtime: Handle::current(),
        }
    }

    /// Like [`Self::new`], for a screen that is attached to a session of a server.
    pub(crate) fn for_attached(
        requests: AttachedRequests,
        replies: mpsc::Sender<(Ticket, ScreenReply)>,
    ) -> Self {
        let runner = Self::new(Arc::clone(&requests.here), replies);
        RequestRunner { attached: Some(Arc::new(requests)), ..runner }
    }

    /// The server of an attached screen, and the session there.
    pub(crate) fn server(&self) -> Option<(&Server, String)> {
        self.attached.as_ref().map(|requests| (&requests.server, requests.session.borrow().clone()))
    }

    pub(super) fn services(&self) -> Arc<Services> {
        Arc::clone(&self.services)
    }

    /// Starts a request.
    pub fn start(&mut self, ticket: Ticket, request: ScreenRequest) {
        let performed = self.request_task(request, ticket);
        let cancelled = performed.call.cancel_flag();
        let task = self.runtime.spawn(async move {
            let (reply, call) = performed.run().await;
            call.send_last(reply).await;
        });
        self.running.insert(ticket, RunningRequest { task: task.abort_handle(), cancelled });
    }

    /// A request that the loop itself awaits, as it needs the terminal.
    pub(crate) fn run_here(&self, request: ScreenRequest) -> impl Future<Output = ScreenReply> + use<> {
        let performed = self.request_task(request, Ticket::default());
        TokioContext::new(async move { performed.run().await.0 }, self.runtime.clone())
    }

    fn request_task(&self, request: ScreenRequest, ticket: Ticket) -> RequestTask {
        let (services, attached) = (Arc::clone(&self.services), self.attached.clone());
        RequestTask { request, services, attached, call: self.call(ticket) }
    }

    fn call(&self, ticket: Ticket) -> Call {
        Call::new(ticket, self.replies.clone(), self.asks.0.clone())
    }

    /// The next query for the terminal. Safe to drop before there is one.
    pub(crate) async fn next_ask(&mut self) -> Option<ClipboardAsk> {
        self.asks.1.recv().await
    }

    /// Stops a request whose reply is no longer wanted.
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        if let Some(request) = self.running.remove(&ticket) {
            request.cancelled.store(true, Ordering::Relaxed);
            request.task.abort();
        }
    }

    /// Records a reply.
    pub fn on_reply(&mut self, ticket: Ticket, reply: &ScreenReply) {
        if !reply.is_partial() {
            self.running.remove(&ticket);
        }
    }

    /// Stops all requests.
    pub fn close(&mut self) {
        let tickets: Vec<Ticket> = self.running.keys().copied().collect();
        for ticket in tickets {
            self.forget(ticket);
        }
    }

    /// Adds a prompt to the history. Losing one is no reason to stop.
    pub fn remember(&self, text: String) {
        let services = Arc::clone(&self.services);
        self.runtime.spawn_blocking(move || {
            if let Err(error) = services.history.append(&services.cwd, &text) {
                tracing::warn!(%error, "the prompt history could not be written");
            }
        });
    }

    /// Applies the project settings of the open session's directory: returns the differences, and the folders
    /// to ask about. `None` when the directory is the same.
    pub(crate) fn enter_directory(
        &self,
        dir: &Path,
    ) -> Option<Result<(SettingsUpdate, Vec<Folder>), UserError>> {
        if self.attached.is_some() {
            // The directory belongs to the server.
            return None;
        }
        let services = &self.services;
        let mut setup = services.setup.lock();
        let entered = reload::in_directory(&setup, &services.prompt, dir).transpose()?;
        let shown = entered.and_then(|(mut new, applied)| {
            let folders = new.refresh_projects()?.into_iter().filter(Folder::is_open).collect();
            *setup = new;
            *services.files.lock() = Arc::new(FileIndex::new(dir.to_owned()));
            Ok((applied, folders))
        });
        Some(shown.map_err(|refusal| refusal.text.into()))
    }

    /// Saves a setting, after pending ones.
    pub fn save(&self, setting: SavedSetting) {
        let (services, attached) = (Arc::clone(&self.services), self.attached.is_some());
        let waiting = Arc::clone(&self.to_save);
        waiting.0.lock().push_back(setting);
        self.runtime.spawn_blocking(move || {
            let _writes = waiting.1.lock();
            let Some(setting) = waiting.0.lock().pop_front() else { return };
            if let Err(error) = services.save(&setting, attached) {
                tracing::warn!(%error, ?setting, "the setting could not be stored");
            }
        });
    }
}

/// A directory in the status line.
pub(super) fn place_label(dir: &Path) -> String {
    worktree::of(dir).map_or_else(|| paths::in_short(dir), |here| here.to_string())
}
