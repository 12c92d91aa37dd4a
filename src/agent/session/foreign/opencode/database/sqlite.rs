//! Reads the database without writing to it or creating a file beside it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;

use super::super::{StoredMessage, StoredSession, flag, is_plain, revert_point, row};
use crate::session::foreign::content::text_of;
use crate::session::foreign::scan::LARGEST;
use tau_protocol::session_row::SessionRow;

/// The time to wait for a program that is writing to it.
const BUSY: Duration = Duration::from_millis(500);

/// Opens it without writing anything: if there is no log, without the lock and the shared memory of one;
/// otherwise with the shared memory that the writing program has created.
fn open(file: &Path) -> io::Result<Connection> {
    match needs_repair(file) {
        true => Err(io::Error::other(UNREPAIRED)),
        false => connect(file, has_log(file)),
    }
}

/// Like [`open`], for lists: without the log if nothing but the program itself can read it.
fn open_for_lists(file: &Path) -> io::Result<Connection> {
    connect(file, has_log(file) && !needs_repair(file))
}

/// Says what is wrong with it, in a sentence.
pub(in super::super) fn trouble(file: &Path) -> Option<String> {
    let shown = file.display();
    if !file.exists() {
        return None;
    }
    if needs_repair(file) {
        return Some(format!("{shown}: {UNREPAIRED}; until then, its newest sessions are missing in lists"));
    }
    let error = open(file).and_then(|connection| {
        let all = connection.query_row("SELECT count(*) FROM session", [], |row| row.get::<_, i64>(0));
        all.map_err(to_io_error)
    });
    error.err().map(|error| format!("{shown}: its sessions cannot be read: {error}"))
}

/// Said of a log whose shared memory is gone.
const UNREPAIRED: &str = "opencode did not end properly; start it once, so that it repairs its database";

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn has_log(file: &Path) -> bool {
    std::fs::metadata(beside(file, "-wal")).is_ok_and(|log| log.len() > 0)
}

fn needs_repair(file: &Path) -> bool {
    has_log(file) && !beside(file, "-shm").exists()
}

fn connect(file: &Path, has_log: bool) -> io::Result<Connection> {
    let how = if has_log { "readonly_shm=1" } else { "immutable=1" };
    let address = format!("file:{}?mode=ro&{how}", escape_path(file));
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(address, flags).map_err(to_io_error)?;
    connection.busy_timeout(BUSY).map_err(to_io_error)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(to_io_error)?;
    // A view with such a name could be anything.
    let tables =
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'message', 'part')";
    match connection.query_row(tables, [], |row| row.get::<_, i64>(0)).map_err(to_io_error)? {
        3 => Ok(connection),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "not a database of opencode")),
    }
}

/// A path as part of an address.
fn escape_path(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let escape =
        |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_bytes().iter().map(escape).collect()
}

fn to_io_error(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

const COLUMNS: &str = "SELECT id, directory, title, time_created, time_updated, revert, \
    (SELECT count(*) FROM message WHERE session_id = session.id) FROM session";

fn session_from_row(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    let revert: Option<String> = row.get(5)?;
    let revert = revert.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    Ok(StoredSession {
        id: row.get(0)?,
        directory: PathBuf::from(row.get::<_, String>(1)?),
        title: row.get(2)?,
        created: row.get(3)?,
        updated: row.get(4)?,
        children: 0,
        reverted: revert.as_ref().and_then(revert_point),
        messages: row.get::<_, i64>(6)?.unsigned_abs(),
    })
}

/// The rows of the database, of `cwd` or all.
pub(super) fn rows(file: &Path, cwd: Option<&Path>) -> io::Result<Vec<SessionRow>> {
    let connection = open_for_lists(file)?;
    let own = "WHERE parent_id IS NULL AND time_archived IS NULL AND (?1 IS NULL OR directory = ?1)";
    let mut query = connection.prepare(&format!("{COLUMNS} {own}")).map_err(to_io_error)?;
    let cwd = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
    let found = query.query_map([cwd], session_from_row).map_err(to_io_error)?;
    // A row with invalid content is left out.
    Ok(found
        .flatten()
        .filter(|stored| is_plain(&stored.id))
        .map(|stored| row_in(&connection, file, stored))
        .collect())
}

fn row_in(connection: &Connection, file: &Path, stored: StoredSession) -> SessionRow {
    let id = stored.id.clone();
    row(file.join(&id), stored, || first_prompt(connection, &id))
}

fn first_prompt(connection: &Connection, id: &str) -> Option<String> {
    let query = "SELECT data FROM part WHERE session_id = ?1 AND data LIKE '%\"text\"%' ORDER BY id LIMIT 20";
    let mut query = connection.prepare(query).ok()?;
    let parts = query.query_map([id], |row| row.get::<_, String>(0)).ok()?.flatten();
    let said = parts.filter_map(|data| serde_json::from_str::<Value>(&data).ok());
    // What the program has added is no prompt.
    let mut said = said.filter(|data| !flag(data, "synthetic") && !flag(data, "ignored"));
    said.find_map(|data| text_of(&data, "text").map(str::to_owned))
}

pub(in super::super) fn row_of(file: &Path, id: &str) -> Option<SessionRow> {
    let connection = open_for_lists(file).ok()?;
    let stored = connection.query_row(&format!("{COLUMNS} WHERE id = ?1"), [id], session_from_row).ok()?;
    Some(row_in(&connection, file, stored))
}

/// A session and its messages, or only the `last` ones.
pub(in super::super) fn read(
    file: &Path,
    id: &str,
    last: Option<usize>,
) -> io::Result<(StoredSession, Vec<StoredMessage>)> {
    let connection = open(file)?;
    let stored = connection.query_row(&format!("{COLUMNS} WHERE id = ?1"), [id], session_from_row);
    let mut stored = stored.map_err(|error| match error {
        rusqlite::Error::QueryReturnedNoRows => io::Error::new(io::ErrorKind::NotFound, "no such session"),
        error => to_io_error(error),
    })?;
    let children = "SELECT count(*) FROM session WHERE parent_id = ?1";
    let children = connection.query_row(children, [id], |row| row.get::<_, i64>(0)).unwrap_or_default();
    stored.children = usize::try_from(children).unwrap_or_default();
    let most = last.and_then(|last| i64::try_from(last).ok()).unwrap_or(-1);
    let query =
        "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created DESC, id DESC LIMIT ?2";
    let mut query = connection.prepare(query).map_err(to_io_error)?;
    let texts = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let found = query.query_map(rusqlite::params![id, most], texts).map_err(to_io_error)?;
    let mut parts = connection
        .prepare("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")
        .map_err(to_io_error)?;
    let (mut messages, mut size) = (Vec::new(), 0_u64);
    for (id, data) in found.flatten() {
        let data = serde_json::from_str(&data).unwrap_or_default();
        let mut message = StoredMessage { id, data, parts: Vec::new() };
        for (id, data) in parts.query_map([&message.id], texts).map_err(to_io_error)?.flatten() {
            size = size.saturating_add(data.len() as u64);
            if size > LARGEST {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the session is too large"));
            }
            message.parts.push((id, serde_json::from_str(&data).unwrap_or_default()));
        }
        messages.push(message);
    }
    messages.reverse();
    Ok((stored, messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = "
        PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
        CREATE TABLE session (id, parent_id, directory, title, time_created, time_updated, time_archived, revert);
        CREATE TABLE message (id, session_id, time_created, data);
        CREATE TABLE part (id, message_id, session_id, data);
        INSERT INTO session VALUES ('ses_1', NULL, '/w', '', 1, 2, NULL, NULL), ('ses_2', 'ses_1', '/w', '', 1, 2, NULL, NULL);
        INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{\"role\":\"user\"}');
        INSERT INTO part VALUES
            ('prt_1', 'msg_1', 'ses_1', '{\"type\":\"text\",\"synthetic\":true,\"text\":\"Called the Read tool\"}'),
            ('prt_2', 'msg_1', 'ses_1', '{\"type\":\"text\",\"text\":\"repair it\"}');
        PRAGMA wal_checkpoint(TRUNCATE);
        INSERT INTO session VALUES ('ses_3', NULL, '/w', 'newest', 3, 4, NULL, NULL);";

    #[test]
    fn a_database_that_was_not_closed_is_listed_and_said_to_be_so() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("opencode.db");
        let program = Connection::open(&file).unwrap();
        program.execute_batch(TABLES).unwrap();
        let titles = |file: &Path| {
            let mut rows = rows(file, None).unwrap();
            rows.sort_by_key(|row| row.created);
            rows.iter().map(|row| row.title()).collect::<Vec<_>>()
        };
        assert_eq!(
            (titles(&file), trouble(&file)),
            (vec!["repair it".to_owned(), "newest".to_owned()], None)
        );
        let copied = place.path().join("copy.db");
        std::fs::copy(&file, &copied).unwrap();
        std::fs::copy(beside(&file, "-wal"), beside(&copied, "-wal")).unwrap();
        assert_eq!(titles(&copied), ["repair it"]);
        assert!(trouble(&copied).unwrap().contains("start it once"));
        assert!(read(&copied, "ses_1", None).unwrap_err().to_string().contains("start it once"));
        std::fs::write(&copied, super::super::MAGIC).unwrap();
        std::fs::remove_file(beside(&copied, "-wal")).unwrap();
        assert!(trouble(&copied).unwrap().contains("cannot be read"));
        // A note of the program is for the model, and what stays behind is counted.
        let (stored, messages) = read(&file, "ses_1", None).unwrap();
        let read = super::super::super::conversation(stored, messages);
        assert_eq!(read.left_out.get("subagent transcript"), Some(&1));
        assert_eq!(read.entries.len(), 2);
    }
}
