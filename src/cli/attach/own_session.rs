//! The process that has a session of this machine open, for as long as a screen is attached: when it has ended,
//! another one may have the session, or is started.

use std::path::PathBuf;

use parking_lot::Mutex;

use super::reach::{Address, Trouble};
use crate::live::record::{self, FoundRecord};
use crate::live::start;
use tau_agent::provider::http::Network;
use tau_agent::provider::http::tau_server::TauServer;
use tau_agent::provider::{Failure, Headers};
use tau_agent::session::list;
use tau_agent::settings::Paths;
use tau_tools::process::is_suspended;
use tau_tools::user_error::UserError;

/// The way to the process of a session.
#[derive(Debug)]
pub(super) struct OwnSession {
    paths: Paths,
    network: Network,
    /// The folder in which it is opened again.
    directory: PathBuf,
    headers: fn(&str) -> Headers,
    http: Mutex<TauServer>,
    /// The session that had a file: it is not begun again after it was deleted.
    saved: Mutex<String>,
}

/// The report that no process has the session open.
pub(crate) const ENDED: &str = "the process of the session has ended";

impl OwnSession {
    /// The way to the process of this record. Fails when its address is unusable.
    pub(super) fn new(
        found: &FoundRecord,
        paths: &Paths,
        network: &Network,
        headers: fn(&str) -> Headers,
    ) -> Result<Self, Failure> {
        let (paths, network) = (paths.clone(), network.clone());
        let http = Mutex::new(client_for(found, &network, headers)?);
        let (directory, saved) = (found.record.directory.clone(), Mutex::default());
        Ok(OwnSession { paths, network, directory, headers, http, saved })
    }

    /// The client for its requests.
    pub(super) fn http(&self) -> TauServer {
        self.http.lock().clone()
    }

    /// Waits until a session that the process has just opened can be found.
    pub(super) async fn wait_for_registration(&self, session: &str) {
        record::wait_for_registration(&self.paths, session).await;
    }

    /// The reason why the process of this session says nothing.
    pub(super) fn silence(&self, session: &str) -> String {
        let process = record::of(&self.paths, session).map(|found| found.record.pid).unwrap_or_default();
        record::silence(process)
    }

    /// The report that the process of this session is suspended, if it is.
    pub(super) fn suspension(&self, session: &str) -> Option<String> {
        let process = record::of(&self.paths, session)?.record.pid;
        is_suspended(process).then(|| record::silence(process))
    }

    /// Finds the process that has this session open now; with `open`, starts one if no process does.
    pub(super) async fn find(&self, session: &str, open: bool) -> Result<(), Trouble> {
        let is_live = || record::of(&self.paths, session).filter(|found| found.is_live);
        let mut found = is_live();
        if self.is_deleted(session).await {
            return Err(Trouble::Refused("the session was deleted, so your message was not sent".to_owned()));
        }
        if found.is_none() && open {
            let (directory, id) = (self.directory.clone(), session.to_owned());
            let opened = tokio::task::spawn_blocking(move || start::open(&directory, Some(&id))).await;
            let opened = opened.unwrap_or_else(|error| Err(UserError::new(error.to_string())));
            opened.map_err(|error| Trouble::Refused(error.to_string()))?;
            found = is_live();
        }
        let found = found.ok_or_else(|| Trouble::Ended(ENDED.to_owned()))?;
        let http = client_for(&found, &self.network, self.headers);
        *self.http.lock() = http.map_err(|failure| Trouble::Refused(failure.to_string()))?;
        Ok(())
    }

    /// Whether the session had a file that is gone.
    async fn is_deleted(&self, session: &str) -> bool {
        let (root, id) = (self.paths.sessions(), session.to_owned());
        let file = tokio::task::spawn_blocking(move || list::of_id(&root, &id)).await;
        let is_there = file.is_ok_and(|file| file.is_some());
        let mut saved = self.saved.lock();
        if is_there {
            session.clone_into(&mut saved);
        }
        *saved == session && !is_there
    }
}

fn client_for(
    found: &FoundRecord,
    network: &Network,
    headers: fn(&str) -> Headers,
) -> Result<TauServer, Failure> {
    let (url, socket) = match found.address() {
        Some(Address::Socket(path)) => ("http://localhost".to_owned(), Some(path)),
        Some(Address::Url(url)) => (url, None),
        None => (String::new(), None),
    };
    TauServer::at(&url, socket, &headers(&found.record.token), network)
}
