//! The database of opencode, and the virtual paths of the sessions in it.

#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(not(feature = "sqlite"))]
#[path = "database/no_sqlite.rs"]
mod sqlite;

use std::io;
use std::path::Path;

use super::is_plain;
use crate::settings::private_files::open_regular;
use tau_protocol::session_row::SessionRow;

pub(super) use sqlite::{read, row_of, trouble};

/// The beginning of every database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The database and the id in the path of a session.
pub(super) fn split(path: &Path) -> Option<(&Path, &str)> {
    let id = path.file_name()?.to_str()?;
    let file = path.parent()?;
    (is_plain(id) && is_database(file)).then_some((file, id))
}

fn is_database(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read = open_regular(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == MAGIC
}

/// The rows of the database, of `cwd` or all; `None` if there is no database.
pub(super) fn rows(file: &Path, cwd: Option<&Path>) -> Option<Vec<SessionRow>> {
    if !is_database(file) {
        return None;
    }
    Some(sqlite::rows(file, cwd).unwrap_or_else(|error| {
        tracing::warn!(%error, "the sessions of opencode could not be listed");
        Vec::new()
    }))
}
