//! The socket on which a process serves its live sessions to other processes of the same user.
//!
//! It is in a folder that only the user can enter, and nothing listens on the network. Clients send the token
//! from the session's record.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::sync::watch;

use crate::args::serve::LogFormat;
use crate::process::socket_folder;
use crate::serve::accept::{Listener, accept};
use crate::serve::app::{App, AppParts};
use crate::serve::guard::{Guard, new_token};
use crate::serve::hub::Hub;
use crate::serve::metrics::Metrics;
use crate::serve::routes;
use crate::tui::extension_watch::DirectoryWatch;
use tau_agent::extensions::watched::Interest;
use tau_agent::settings::Paths;
use tau_tools::path_text;

/// Maximum body of a request, in bytes.
const MAX_BODY: usize = 32 << 20;
/// Maximum number of open event streams.
const MAX_STREAMS: u64 = 256;
/// Maximum number of requests in a second.
const RATE: u32 = 1_000;

/// A socket of this process; removed on drop.
#[derive(Debug)]
pub(crate) struct LiveSocket {
    path: PathBuf,
    token: String,
}

impl Drop for LiveSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Binds a socket of this process.
fn listen(paths: &Paths) -> io::Result<(PathBuf, UnixListener)> {
    let folder = socket_folder::private(paths)?;
    let path = folder.join(format!("{}.sock", socket_folder::own_name()));
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok((path, listener))
}

impl LiveSocket {
    /// Binds a new socket of this process. Fails when there is no folder for it that only the user can enter,
    /// or the system refuses.
    pub fn bind(paths: &Paths) -> io::Result<(Self, UnixListener)> {
        let token = new_token().map_err(|refusal| io::Error::other(refusal.text))?;
        let (path, listener) = listen(paths)?;
        Ok((LiveSocket { path, token }, listener))
    }

    /// Binds again if the socket was removed, as the folder of a login is with its last end. Fails like [`Self::bind`].
    pub fn bind_again(&mut self, paths: &Paths) -> io::Result<Option<UnixListener>> {
        if self.path.exists() {
            return Ok(None);
        }
        let (path, listener) = listen(paths)?;
        self.path = path;
        Ok(Some(listener))
    }

    /// Watches whether it is removed; `None` where the system does not tell.
    pub fn watch(&self) -> Option<DirectoryWatch> {
        let (folder, name) = (self.path.parent()?, self.path.file_name()?);
        let names = Interest::Names { names: BTreeSet::from([name.to_owned()]), contents: false };
        DirectoryWatch::new(&BTreeMap::from([(folder.to_owned(), names)]))
    }

    /// The folder of all sockets.
    pub fn folder(&self) -> PathBuf {
        self.path.parent().unwrap_or(&self.path).to_owned()
    }

    /// Its address for clients.
    pub fn address(&self) -> String {
        format!("unix:{}", path_text::text(&self.path))
    }

    /// The token of its clients.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Serves the sessions of a hub until `stopped` is true.
    pub fn serve(
        &self,
        listener: UnixListener,
        hub: &Arc<Hub>,
        metrics: &Arc<Metrics>,
        stopped: watch::Receiver<bool>,
    ) -> tokio::task::JoinHandle<()> {
        let app = App::new(AppParts {
            hub: Arc::clone(hub),
            guard: Guard::new(&self.token, None, Vec::new(), RATE),
            metrics: Arc::clone(metrics),
            max_body: MAX_BODY,
            max_streams: MAX_STREAMS,
            log: LogFormat::Off,
            elsewhere: None,
        });
        tokio::spawn(accept(Listener::Unix(listener), move || routes::router(app.clone()), stopped))
    }
}
