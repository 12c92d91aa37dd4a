//! Stores logins on disk: one private file per server, with a lock file.
//!
//! The lock ensures that several tau processes renew a token only once.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use url::Url;

use super::Login;
use crate::settings::mcp_servers::{McpServer, McpTransport};
use crate::settings::mcp_variables::{Forms, expand};
use crate::settings::private_files::{LockFile, read_capped, write_private};
use tau_tools::hashes::hexadecimal;
use tau_tools::user_error::UserError;

/// The size limit of a login file, in bytes.
const MAX_SIZE: u64 = 1024 * 1024;
/// The longest wait for another tau that renews the tokens; its requests have shorter limits.
const LOCK_WAIT: Duration = Duration::from_secs(45);

/// The state of the login at a server, without asking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginState {
    /// There was no login, and the server has not asked for one.
    Unknown,
    /// There are tokens.
    LoggedIn,
    /// The server asked for a login, or does not accept the existing tokens.
    Needed,
}

/// A file of the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The address of the server.
    pub(super) url: String,
    /// Whether the server asked for a login when it was last used.
    #[serde(default)]
    pub(super) is_needed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) login: Option<Login>,
}

/// The folder of the logins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStore {
    folder: PathBuf,
}

impl LoginStore {
    /// The logins in `folder`, which is created with the first one.
    pub fn new(folder: PathBuf) -> Self {
        LoginStore { folder }
    }

    /// The state of the login at a server. Blocks.
    pub fn state(&self, server: &McpServer) -> LoginState {
        let record = address(server).ok().and_then(|url| self.read(&url).ok().flatten());
        match record {
            Some(Record { is_needed: true, .. }) => LoginState::Needed,
            Some(Record { login: Some(_), .. }) => LoginState::LoggedIn,
            Some(_) | None => LoginState::Unknown,
        }
    }

    /// Deletes the login at a server; returns whether there was one. Blocks. The error is the reason, as part
    /// of a sentence.
    pub fn forget(&self, server: &McpServer) -> Result<bool, UserError> {
        let url = address(server)?;
        let had = self.state(server) == LoginState::LoggedIn
            || self.read(&url).is_ok_and(|record| record.is_some_and(|record| record.login.is_some()));
        if !self.file(&url).exists() {
            return Ok(false);
        }
        // Another tau that renews the tokens would write them again.
        let _lock = LockFile::take(&self.lock_file(&url)).map_err(UserError::of)?;
        match std::fs::remove_file(self.file(&url)) {
            Ok(()) => Ok(had),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(format!("{} cannot be removed: {error}", self.file(&url).display()).into()),
        }
    }

    /// The record of the server at `url`. Blocks. The error is the reason, as part of a sentence, when a file
    /// cannot be read or is damaged.
    pub(super) fn read(&self, url: &Url) -> Result<Option<Record>, UserError> {
        let path = self.file(url);
        let unusable = |why: &dyn std::fmt::Display| {
            format!(
                "the saved login {} cannot be used: {why}; remove the file and log in again",
                path.display()
            )
        };
        let bytes = match read_capped(&path, MAX_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&error).into()),
        };
        // Only the position of the damage: the error itself would show the content.
        let record: Record = serde_json::from_slice(&bytes)
            .map_err(|error| unusable(&format!("line {}, column {}", error.line(), error.column())))?;
        // Two addresses can only share a file name on purpose.
        Ok((record.url == url.as_str()).then_some(record))
    }

    /// Saves the record of a server. Blocks.
    pub(super) fn write(&self, record: &Record) -> Result<(), UserError> {
        let Ok(url) = Url::parse(&record.url) else { return Ok(()) };
        let path = self.file(&url);
        let bytes =
            serde_json::to_vec_pretty(record).map_err(|_| "the login cannot be written".to_owned())?;
        write_private(&path, &bytes)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()).into())
    }

    /// Waits for the lock of a server. The error is the reason, as part of a sentence, when another process
    /// holds it for too long.
    pub(super) async fn lock(&self, url: &Url) -> Result<LockFile, UserError> {
        let path = self.lock_file(url);
        LockFile::take_within(&path, LOCK_WAIT).await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                UserError::new(format!("another process keeps {} locked", path.display()))
            }
            _ => UserError::new(format!("{} cannot be locked", path.display())).because(error),
        })
    }

    fn lock_file(&self, url: &Url) -> PathBuf {
        self.file(url).with_extension("lock")
    }

    /// The file of a server: its host for readability, and a hash of its address.
    fn file(&self, url: &Url) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' };
        let host: String = url.host_str().unwrap_or_default().chars().map(plain).take(64).collect();
        let hash: String = hexadecimal(digest(&SHA256, url.as_str().as_bytes())).chars().take(16).collect();
        self.folder.join(Path::new(&format!("{host}-{hash}.json")))
    }
}

/// The address of a server, with the variables in it replaced. The error is the reason, as part of a
/// sentence: the server is a program, or its address is invalid.
pub(super) fn address(server: &McpServer) -> Result<Url, UserError> {
    let McpTransport::Http { url, .. } = &server.transport else {
        return Err("it is a program; only servers at a URL have logins".into());
    };
    let url = expand(url, Forms::Braces, &|name| std::env::var(name).ok())?;
    Url::parse(&url).map_err(|error| UserError::new("its URL is not valid").because(error))
}
