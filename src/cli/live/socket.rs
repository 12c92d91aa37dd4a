//! The socket on which a process serves its live sessions to other processes of the same user.
//!
//! It is in a folder that only the user can enter, and nothing listens on the network. Clients send the token
//! from the session's record.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::sync::watch;

use crate::args::serve::LogFormat;
use crate::serve::accept::{Listener, accept};
use crate::serve::app::{App, Shared};
use crate::serve::guard::Guard;
use crate::serve::hub::Hub;
use crate::serve::metrics::Metrics;
use crate::serve::routes;
use tau_agent::settings::Paths;

/// Maximum length of a socket's path on Linux and macOS, in bytes.
const MAX_PATH: usize = 100;
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

impl LiveSocket {
    /// Binds a new socket of this process. Fails when there is no folder for it that only the user can enter,
    /// or the system refuses.
    pub fn bind(paths: &Paths) -> io::Result<(Self, UnixListener)> {
        let folder = folder(paths)?;
        let token = crate::serve::random().map_err(|refusal| io::Error::other(refusal.text))?;
        let path = folder.join(format!("{}.sock", std::process::id()));
        // Left by an earlier process with this number: this one binds no other.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok((LiveSocket { path, token }, listener))
    }

    /// Its address for clients.
    pub fn address(&self) -> String {
        format!("unix:{}", self.path.display())
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
        let app = App::new(Shared {
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

/// The folder of the user's sockets: below the runtime folder of the login, else in the state folder, else,
/// where that path is too long for a socket, in the folder for temporary files.
fn folder(paths: &Paths) -> io::Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("tau"));
    let user = rustix::process::getuid().as_raw();
    let temporary = std::env::temp_dir().join(format!("tau-{user}"));
    let places = runtime.into_iter().chain([paths.state.join("live"), temporary]);
    let mut refused = io::Error::from(io::ErrorKind::InvalidFilename);
    for place in places.filter(|place| place.as_os_str().len() < MAX_PATH - "/4294967295.sock".len()) {
        match private(&place) {
            Ok(()) => return Ok(place),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Makes sure that only the user can enter the folder.
fn private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = std::fs::symlink_metadata(folder)?;
    let is_private = found.is_dir()
        && found.uid() == rustix::process::getuid().as_raw()
        && found.permissions().mode() & 0o077 == 0;
    if is_private { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
