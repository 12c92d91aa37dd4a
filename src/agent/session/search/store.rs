//! The index as a database: the texts of all sessions, compressed, and the entries in which each word occurs.
//!
//! A row is an entry of a session, or a piece of a long one: the number of the file, and that of the row in it. The words have no
//! positions: a hit is checked in its text. The sessions are the truth: a database that is missing, damaged or
//! of another version is made again.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::settings::private_files::private_dir;

/// The version of the tables, and of how text is split into words.
const VERSION: i64 = 6;
/// The bits of a row that number it in its file.
const ENTRY_BITS: u32 = 24;
/// The largest id of a file.
pub(super) const LAST_FILE: i64 = i64::MAX >> ENTRY_BITS;
/// The time to wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(5);
/// The pages that are kept in memory, in KiB.
const CACHE: i64 = 16 * 1024;
/// The bytes of words that are collected before they are written.
const COLLECTED: i64 = 16 * 1024 * 1024;
/// The largest text that is read back, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;

const TABLES: &str = "
    CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,
        modified INTEGER NOT NULL, read INTEGER NOT NULL, tail INTEGER NOT NULL, next INTEGER NOT NULL
    );
    CREATE TABLE texts (
        row INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash INTEGER NOT NULL, text BLOB NOT NULL
    );
    CREATE VIRTUAL TABLE words USING fts5(
        text, content='', contentless_delete=1, detail=none, tokenize='ascii'
    );
";

/// The state of a file in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileRow {
    pub(super) id: i64,
    /// Its size and time when it was read completely; until then the size is -1.
    pub(super) size: i64,
    pub(super) modified: i64,
    /// The bytes that were read, of a file that is only appended to.
    pub(super) read: u64,
    /// The hash of the last of them.
    pub(super) tail: u64,
    /// The number of the next row.
    pub(super) next: u32,
}

/// An entry, or a piece of it, to be stored.
#[derive(Debug)]
pub(super) struct NewText {
    pub(super) number: u32,
    pub(super) entry: String,
    /// The hash of the entry's text before secrets were masked, and the number of the piece added.
    pub(super) hash: u64,
    pub(super) words: String,
    pub(super) text: Vec<u8>,
}

/// An open index.
#[derive(Debug)]
pub(super) struct Store {
    db: Connection,
}

fn to_io_error(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

/// Whether the error means that the database is damaged.
pub(super) fn is_damage(error: &io::Error) -> bool {
    let of_sqlite = error.get_ref().and_then(|error| error.downcast_ref::<rusqlite::Error>());
    let code = of_sqlite.and_then(rusqlite::Error::sqlite_error_code);
    let is_of_text = matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    is_of_text
        || matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown))
}

impl Store {
    /// Opens the index, or creates it. Only for a process that holds its lock.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if let Some(store) = Self::open(path) {
            return Ok(store);
        }
        Self::remove(path)?;
        if let Some(folder) = path.parent() {
            private_dir(folder)?;
        }
        // SQLite gives its other files the mode of this one.
        std::os::unix::fs::OpenOptionsExt::mode(
            std::fs::OpenOptions::new().write(true).create_new(true),
            0o600,
        )
        .open(path)?;
        Self::begin(Connection::open(path).map_err(to_io_error)?)
    }

    /// Removes the index. Only for a process that holds its lock.
    pub(super) fn remove(path: &Path) -> io::Result<()> {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            match std::fs::remove_file(PathBuf::from(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// An index that exists only until the end of the process.
    pub(super) fn in_memory() -> io::Result<Self> {
        Self::begin(Connection::open_in_memory().map_err(to_io_error)?)
    }

    /// The index, if there is one that can be used.
    pub(super) fn open(path: &Path) -> Option<Self> {
        if !path.is_file() {
            return None;
        }
        let store = Self::of(Connection::open(path).ok()?).ok()?;
        let version = store.db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        (version.ok()? == VERSION).then_some(store)
    }

    fn of(db: Connection) -> io::Result<Self> {
        let store = Store { db };
        store.db.busy_timeout(BUSY).map_err(to_io_error)?;
        store.db.pragma_update(None, "synchronous", "NORMAL").map_err(to_io_error)?;
        store.db.pragma_update(None, "cache_size", -CACHE).map_err(to_io_error)?;
        Ok(store)
    }

    fn begin(db: Connection) -> io::Result<Self> {
        let store = Self::of(db)?;
        let _: String = store
            .db
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
            .map_err(to_io_error)?;
        store.db.execute_batch(TABLES).map_err(to_io_error)?;
        let collected = "INSERT INTO words(words, rank) VALUES('hashsize', ?1)";
        store.db.execute(collected, [COLLECTED]).map_err(to_io_error)?;
        store.db.pragma_update(None, "user_version", VERSION).map_err(to_io_error)?;
        Ok(store)
    }

    /// The files that it knows.
    pub(super) fn files(&self) -> io::Result<HashMap<PathBuf, FileRow>> {
        let mut query = self
            .db
            .prepare("SELECT path, id, size, modified, read, tail, next FROM files")
            .map_err(to_io_error)?;
        let rows = query.query_map([], |row| {
            let path: Vec<u8> = row.get(0)?;
            let known = FileRow {
                id: row.get(1)?,
                size: row.get(2)?,
                modified: row.get(3)?,
                read: row.get::<_, i64>(4)?.cast_unsigned(),
                tail: row.get::<_, i64>(5)?.cast_unsigned(),
                next: row.get(6)?,
            };
            Ok((PathBuf::from(std::ffi::OsStr::from_bytes(&path)), known))
        });
        rows.map_err(to_io_error)?.collect::<Result<_, _>>().map_err(to_io_error)
    }

    /// Adds a file without entries.
    pub(super) fn add_file(&self, path: &Path) -> io::Result<FileRow> {
        self.db
            .execute(
                "INSERT INTO files (path, size, modified, read, tail, next) VALUES (?1, -1, 0, 0, 0, 0)",
                [path.as_os_str().as_bytes()],
            )
            .map_err(to_io_error)?;
        Ok(FileRow { id: self.db.last_insert_rowid(), size: -1, ..FileRow::default() })
    }

    /// Stores the state of a file.
    pub(super) fn set_file(&self, known: &FileRow) -> io::Result<()> {
        let set = "UPDATE files SET size = ?2, modified = ?3, read = ?4, tail = ?5, next = ?6 WHERE id = ?1";
        let values = params![
            known.id,
            known.size,
            known.modified,
            known.read.cast_signed(),
            known.tail.cast_signed(),
            known.next
        ];
        self.db.execute(set, values).map(drop).map_err(to_io_error)
    }

    /// Removes a file and its entries.
    pub(super) fn forget(&self, id: i64) -> io::Result<()> {
        self.cut(id, 0)?;
        self.db.execute("DELETE FROM files WHERE id = ?1", [id]).map(drop).map_err(to_io_error)
    }

    /// Removes the entries of a file from this number on.
    pub(super) fn cut(&self, id: i64, from: u32) -> io::Result<()> {
        let range = [row(id, from), row(id.saturating_add(1), 0)];
        let words = "DELETE FROM words WHERE rowid IN (SELECT row FROM texts WHERE row >= ?1 AND row < ?2)";
        self.db.execute(words, range).map_err(to_io_error)?;
        self.db
            .execute("DELETE FROM texts WHERE row >= ?1 AND row < ?2", range)
            .map(drop)
            .map_err(to_io_error)
    }

    /// The hashes of the entries of a file, by their numbers.
    pub(super) fn hashes(&self, id: i64) -> io::Result<HashMap<u32, u64>> {
        let mut query = self
            .db
            .prepare_cached("SELECT row, hash FROM texts WHERE row >= ?1 AND row < ?2")
            .map_err(to_io_error)?;
        let numbered =
            |row: &rusqlite::Row<'_>| Ok((number(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned()));
        let rows =
            query.query_map([row(id, 0), row(id.saturating_add(1), 0)], numbered).map_err(to_io_error)?;
        rows.collect::<Result<_, _>>().map_err(to_io_error)
    }

    /// Stores an entry, in place of the one with its number.
    pub(super) fn put(&self, id: i64, new: &NewText) -> io::Result<()> {
        let row = row(id, new.number);
        let known = "SELECT 1 FROM texts WHERE row = ?1";
        let mut known = self.db.prepare_cached(known).map_err(to_io_error)?;
        if known.exists([row]).map_err(to_io_error)? {
            self.execute("DELETE FROM words WHERE rowid = ?1", params![row])?;
        }
        self.execute("INSERT INTO words (rowid, text) VALUES (?1, ?2)", params![row, new.words])?;
        self.execute(
            "INSERT OR REPLACE INTO texts (row, entry, hash, text) VALUES (?1, ?2, ?3, ?4)",
            params![row, new.entry, new.hash.cast_signed(), new.text],
        )
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> io::Result<()> {
        let mut statement = self.db.prepare_cached(sql).map_err(to_io_error)?;
        statement.execute(values).map(drop).map_err(to_io_error)
    }

    /// Runs `work` as one change: all of it is stored, or nothing.
    pub(super) fn all_or_nothing<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.db.execute_batch("BEGIN IMMEDIATE").map_err(to_io_error)?;
        match work() {
            Ok(done) => self.db.execute_batch("COMMIT").map_err(to_io_error).map(|()| done),
            Err(error) => {
                self.db.execute_batch("ROLLBACK").map_err(to_io_error)?;
                Err(error)
            }
        }
    }

    /// The rows that have all words of the expression, of the files with these ids, in order. `take` returns whether
    /// to continue.
    pub(super) fn rows(
        &self,
        expression: &str,
        files: RangeInclusive<i64>,
        mut take: impl FnMut(i64) -> bool,
    ) -> io::Result<()> {
        let query =
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid >= ?2 AND rowid <= ?3 ORDER BY rowid";
        let (from, to) = (row(*files.start(), 0), row(*files.end(), (1 << ENTRY_BITS) - 1));
        let mut query = self.db.prepare_cached(query).map_err(to_io_error)?;
        let mut rows = query.query(params![expression, from, to]).map_err(to_io_error)?;
        while let Some(found) = rows.next().map_err(to_io_error)? {
            if !take(found.get(0).map_err(to_io_error)?) {
                break;
            }
        }
        Ok(())
    }

    /// The id of the entry in a row, and its text, compressed.
    pub(super) fn text(&self, row: i64) -> io::Result<Option<(String, Vec<u8>)>> {
        let query = "SELECT entry, text FROM texts WHERE row = ?1";
        let mut query = self.db.prepare_cached(query).map_err(to_io_error)?;
        let found = query.query_row([row], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)));
        found.optional().map_err(to_io_error)
    }
}

/// The row of an entry.
fn row(file: i64, number: u32) -> i64 {
    (file << ENTRY_BITS) | i64::from(number)
}

pub(super) fn file_of(row: i64) -> i64 {
    row >> ENTRY_BITS
}

/// The number of a row's entry.
fn number(row: i64) -> u32 {
    u32::try_from(row & (most_entries() as i64)).unwrap_or_default()
}

/// The maximum number of rows of a file.
pub(super) fn most_entries() -> u32 {
    (1 << ENTRY_BITS) - 1
}

pub(super) fn compress(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(text.len() / 3), Compression::new(1));
    // Writing to memory does not fail.
    encoder.write_all(text.as_bytes()).unwrap_or_default();
    encoder.finish().unwrap_or_default()
}

pub(super) fn decompress(bytes: &[u8]) -> io::Result<String> {
    let mut text = Vec::new();
    io::copy(&mut DeflateDecoder::new(bytes).take(LARGEST), &mut text)?;
    String::from_utf8(text).map_err(io::Error::other)
}
