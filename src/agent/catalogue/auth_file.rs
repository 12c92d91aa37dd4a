//! `auth.json`: the keys and logins that tau stores, by provider.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use super::login::LoginTokens;
use crate::settings::MAX_BYTES;
use crate::settings::private_files::{SharedFile, check_creatable, read_capped, read_json, write_private};

/// The file. Several processes may change it.
#[derive(Clone, Debug)]
pub(super) struct AuthFile(SharedFile);

impl AuthFile {
    pub(super) fn new(file: SharedFile) -> Self {
        AuthFile(file)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Its entries; none if there is no file. Fails with errors of the file system, and `InvalidData` when
    /// the file cannot be parsed.
    pub(super) fn read(&self) -> io::Result<Map<String, Value>> {
        Ok(read_json(self.path(), MAX_BYTES)?.unwrap_or_default())
    }

    /// The tokens of a provider's login. Fails like [`AuthFile::read`], without the content of the
    /// file.
    pub(super) fn login(&self, provider: &str) -> io::Result<Option<LoginTokens>> {
        let unreadable = |error: io::Error| io::Error::new(error.kind(), "auth.json cannot be read");
        Ok(self.read().map_err(unreadable)?.get(provider).and_then(LoginTokens::of_entry))
    }

    /// Fails when it cannot be changed now. Its content stays. Blocks.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        let _lock = self.0.lock()?;
        match read_capped(self.path(), MAX_BYTES) {
            // Only replacing it tells: it may be mounted, and then cannot be replaced in a folder that is writable.
            Ok(bytes) => write_private(self.path(), &bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => check_creatable(self.path()),
            Err(error) => Err(error),
        }
    }

    /// Changes its entries. Blocks. Fails like [`AuthFile::read`]; the file is then left alone.
    pub(super) fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) -> io::Result<()> {
        let _lock = self.0.lock()?;
        let mut stored = self.read()?;
        change(&mut stored);
        let mut text = serde_json::to_vec_pretty(&stored)?;
        text.push(b'\n');
        write_private(self.path(), &text)
    }
}
