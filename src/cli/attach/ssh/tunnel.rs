//! The tunnel of an attached screen: a socket on this machine, each connection to which becomes an ssh to the
//! relay on the other one. When a connection is lost, the next one logs in again.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::io::copy;
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{ChildStdin, ChildStdout};

use super::child::{Asks, SshChild};
use super::connect::{Attempt, attempt};
use crate::attach::wire::{Hello, Welcome};
use crate::process::socket_folder;
use tau_agent::settings::Paths;
use tau_agent::settings::servers::SshAddress;
use tau_tools::user_error::UserError;

/// The complaints of ssh when logging in again cannot succeed without the user.
const NEEDS_USER: [&str; 3] =
    ["Permission denied (", "Host key verification failed", "Too many authentication failures"];

/// The reason why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub text: String,
    /// Whether trying again is useless.
    pub is_final: bool,
}

/// A tunnel. Dropping it removes its socket.
#[derive(Debug)]
pub(crate) struct Tunnel {
    address: SshAddress,
    /// The request after a lost connection.
    again: Hello,
    socket: PathBuf,
    /// The connection that was made before the screen was opened.
    first: Mutex<Option<SshChild>>,
    fault: Mutex<Option<Fault>>,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

impl Tunnel {
    /// A tunnel without a connection yet. Fails when there is no folder for its socket.
    pub(crate) fn without_connection(address: SshAddress, again: Hello, paths: &Paths) -> io::Result<Self> {
        Self::new(address, again, None, paths)
    }

    /// A tunnel, perhaps with a first connection. Fails when there is no folder for its socket.
    pub(super) fn new(
        address: SshAddress,
        again: Hello,
        first: Option<SshChild>,
        paths: &Paths,
    ) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.sock", socket_folder::own_name());
        let socket = socket_folder::private(paths)?.join(name);
        let (first, fault) = (Mutex::new(first), Mutex::default());
        Ok(Tunnel { address, again, socket, first, fault })
    }

    /// The machine and its address without the folder.
    pub(crate) fn address(&self) -> &SshAddress {
        &self.address
    }

    /// The token of its requests.
    pub(crate) fn token(&self) -> &str {
        &self.again.token
    }

    /// The socket at this end.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The reason why there was no connection when one was last needed.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault.lock().clone()
    }

    /// Takes connections, in the current runtime, while that runs. Fails when the socket cannot be made.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        // Left by an earlier process with this number.
        let _ = std::fs::remove_file(&self.socket);
        let listener = UnixListener::bind(&self.socket)?;
        std::fs::set_permissions(&self.socket, std::fs::Permissions::from_mode(0o600))?;
        if let Some(first) = self.first.lock().as_ref() {
            first.be_quiet();
        }
        let tunnel = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(Arc::clone(&tunnel).carry(stream))),
                    Err(error) => {
                        tracing::warn!(%error, "the tunnel cannot take a connection");
                        return;
                    }
                }
            }
        });
        Ok(())
    }

    /// Carries a connection to its end.
    async fn carry(self: Arc<Self>, stream: UnixStream) {
        let first = self.first.lock().take();
        let connected = match first {
            Some(first) => Ok(first),
            None => {
                let tunnel = Arc::clone(&self);
                let connecting = tokio::task::spawn_blocking(move || tunnel.connect());
                connecting.await.unwrap_or_else(|error| Err(fault(error.to_string().into())))
            }
        };
        match connected {
            Ok(ssh) => {
                *self.fault.lock() = None;
                self.pass(ssh, stream).await;
            }
            Err(fault) => *self.fault.lock() = Some(fault),
        }
    }

    /// Passes bytes in both directions until one side ends.
    async fn pass(&self, mut ssh: SshChild, stream: UnixStream) {
        let (Some(input), Some(output)) = (ssh.input.take(), ssh.output.take()) else { return };
        let (Ok(input), Ok(output)) = (ChildStdin::from_std(input), ChildStdout::from_std(output)) else {
            return;
        };
        let (mut input, mut output) = (input, output);
        let (mut from, mut to) = stream.into_split();
        // A side that is gone shows in the other one's end.
        tokio::select! {
            _ = copy(&mut from, &mut input) => {}
            _ = copy(&mut output, &mut to) => {}
        }
        drop((input, output));
        let said = tokio::task::spawn_blocking(move || ssh.stop()).await.unwrap_or_default();
        let text = if said.is_empty() { "the connection ended".to_owned() } else { said };
        *self.fault.lock() = Some(fault(text.into()));
    }

    /// Logs in again, without asking anybody.
    fn connect(&self) -> Result<SshChild, Fault> {
        match attempt(&self.address, &self.again, Asks::Nobody).map_err(fault)? {
            Attempt::Answered(ssh, Welcome::Session { .. }) if !self.again.board => Ok(ssh),
            Attempt::Answered(ssh, Welcome::Board) if self.again.board => Ok(ssh),
            Attempt::Answered(_, Welcome::Refused { why }) => Err(Fault { text: why, is_final: true }),
            Attempt::Answered(_, Welcome::Choose { .. } | Welcome::Session { .. } | Welcome::Board) => {
                Err(fault("the tau there gave an unexpected answer".into()))
            }
            Attempt::NoTau(_) if self.again.board => Err(Fault {
                text: format!(
                    "this version of tau is not installed there; tau attach {} copies it",
                    self.address
                ),
                is_final: true,
            }),
            Attempt::NoTau(_) => Err(Fault { text: "the tau there is gone".to_owned(), is_final: true }),
            Attempt::Failed(said) if NEEDS_USER.iter().any(|sign| said.contains(sign)) => Err(Fault {
                text: match self.again.board {
                    true => format!("ssh cannot log in without you: {said}"),
                    false => format!("ssh cannot log in again by itself ({said}); leave, and attach again"),
                },
                is_final: true,
            }),
            Attempt::Failed(said) if said.is_empty() => Err(fault("there is no connection".into())),
            Attempt::Failed(said) => Err(fault(said.into())),
        }
    }
}

fn fault(text: UserError) -> Fault {
    Fault { text: text.into(), is_final: false }
}
