//! The user's running servers on this machine, each announced in a private file. The file has the server's
//! address and token, so that `tau attach` alone finds it.
//!
//! Beside it there is another file whose lock the server holds, which shows whether a file was left behind by
//! a server that ended without cleaning up.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::reach::Address;
use crate::process::socket_folder;
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{LockFile, read_capped, write_private};

/// Maximum size of a file, in bytes.
const MAX_SIZE: u64 = 64 * 1024;

/// A server as its file describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunningServer {
    /// The printed address.
    pub address: String,
    /// Its token, if it generated it. A token from the user is not written anywhere.
    pub token: Option<String>,
}

/// The file of a server; removed on drop.
#[derive(Debug)]
pub(crate) struct Announcement {
    file: PathBuf,
    lock: PathBuf,
    _held: LockFile,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A remaining file counts as left behind, as its lock is free.
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(&self.lock);
    }
}

fn folder(paths: &Paths) -> PathBuf {
    paths.state.join("servers")
}

/// Writes the file of this process.
pub(crate) fn announce(paths: &Paths, server: &RunningServer) -> io::Result<Announcement> {
    let name = socket_folder::own_name();
    let lock = folder(paths).join(format!("{name}.lock"));
    let file = folder(paths).join(format!("{name}.json"));
    let held = LockFile::take(&lock)?;
    write_private(&file, &serde_json::to_vec(server)?)?;
    Ok(Announcement { file, lock, _held: held })
}

/// The running servers, the newest first. Files of ended ones are removed.
pub(crate) fn running(paths: &Paths) -> Vec<RunningServer> {
    let files = std::fs::read_dir(folder(paths)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<(SystemTime, RunningServer)> = files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .filter_map(|path| {
            Some((std::fs::metadata(&path).and_then(|meta| meta.modified()).ok()?, read(&path)?))
        })
        .collect();
    found.sort_by_key(|(started, _)| std::cmp::Reverse(*started));
    found.into_iter().map(|(_, server)| server).collect()
}

fn read(path: &Path) -> Option<RunningServer> {
    let lock = path.with_extension("lock");
    match LockFile::try_take(&lock) {
        Ok(None) => serde_json::from_slice(&read_capped(path, MAX_SIZE).ok()?).ok(),
        Ok(Some(_)) => {
            // It ended without cleaning up; its file is useless.
            let _ = std::fs::remove_file(path);
            let _ = std::fs::remove_file(&lock);
            None
        }
        Err(_) => None,
    }
}

impl RunningServer {
    /// Its address for clients.
    pub(crate) fn client_address(&self) -> Option<Address> {
        Address::read(&self.address).map(|address| match address {
            Address::Url(url) => Address::Url(near(&url)),
            socket @ Address::Socket(_) => socket,
        })
    }

    /// Whether this address leads to it.
    pub(crate) fn is_at(&self, address: &Address) -> bool {
        match (self.client_address(), address) {
            (Some(Address::Url(own)), Address::Url(url)) => own == near(url),
            (Some(Address::Socket(own)), Address::Socket(path)) => {
                own == *path
                    || own.canonicalize().ok().is_some_and(|own| path.canonicalize().ok() == Some(own))
            }
            _ => false,
        }
    }
}

/// The address as seen from this machine: a wildcard address is reached at the loopback one.
fn near(url: &str) -> String {
    let near = [("://0.0.0.0", "://127.0.0.1"), ("://[::]", "://[::1]"), ("://localhost", "://127.0.0.1")];
    let near = near.iter().find_map(|(from, to)| {
        let (scheme, rest) = url.split_once(from)?;
        (rest.is_empty() || rest.starts_with(':')).then(|| format!("{scheme}{to}{rest}"))
    });
    near.unwrap_or_else(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_as_long_as_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        assert!(running(&paths).is_empty());
        let server = RunningServer { address: "http://0.0.0.0:4180".into(), token: Some("t".into()) };
        let announced = announce(&paths, &server).unwrap();
        // A file with a free lock was left behind.
        let left = folder(&paths).join("1.json");
        std::fs::write(&left, serde_json::to_vec(&server).unwrap()).unwrap();
        let found = running(&paths);
        assert_eq!(found.len(), 1);
        assert!(!left.exists());
        for (url, expected) in [
            ("http://127.0.0.1:4180", true),
            ("http://localhost:4180", true),
            ("http://127.0.0.1:4181", false),
            ("http://localhost.example:4180", false),
        ] {
            assert_eq!(found[0].is_at(&Address::Url(url.to_owned())), expected, "{url}");
        }
        drop(announced);
        assert!(running(&paths).is_empty());
        assert_eq!(std::fs::read_dir(folder(&paths)).unwrap().count(), 0);
    }
}
