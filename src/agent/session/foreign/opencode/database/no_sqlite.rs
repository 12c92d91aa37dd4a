//! The place of SQLite in a program that was built without it: the database cannot be read.

use std::io;
use std::path::Path;

use super::super::{StoredMessage, StoredSession};
use tau_protocol::session_row::SessionRow;

fn not_built<T>() -> io::Result<T> {
    let why = "this program was built without SQLite; build it with the feature `sqlite` of the crate taucode-agent";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

pub(super) fn rows(_: &Path, _: Option<&Path>) -> io::Result<Vec<SessionRow>> {
    not_built()
}

/// Always `None`: the database cannot be read.
pub(in super::super) fn row_of(_: &Path, _: &str) -> Option<SessionRow> {
    None
}

pub(in super::super) fn read(
    _: &Path,
    _: &str,
    _: Option<usize>,
) -> io::Result<(StoredSession, Vec<StoredMessage>)> {
    not_built()
}

/// Says that the database cannot be read, if there is one.
pub(in super::super) fn trouble(file: &Path) -> Option<String> {
    let error = not_built::<()>().err().filter(|_| file.exists())?;
    Some(format!("{}: {error}", file.display()))
}
