//! Reads the JSON files of older versions.
//!
//! They are `storage/session/PROJECT/ID.json`, `storage/message/ID/*.json` and `storage/part/MESSAGE/*.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{StoredMessage, StoredSession, is_plain, revert_point, row};
use crate::session::foreign::content::{number_of, text_of};
use crate::session::foreign::scan::LARGEST;
use crate::settings::private_files::parse_json;
use tau_protocol::session_row::SessionRow;
use tau_tools::regular_files::read_capped;

/// The size limit of a session's or message's description, in bytes.
const SMALL: u64 = 4 * 1024 * 1024;

pub(super) fn is_session(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|end| end == "json");
    is_json && storage_of(path).is_some() && read_session(path).is_some()
}

/// The `storage` folder above the file of a session.
fn storage_of(path: &Path) -> Option<&Path> {
    let sessions = path.parent()?.parent()?;
    sessions.parent().filter(|_| sessions.file_name().is_some_and(|name| name == "session"))
}

fn json(path: &Path, most: u64) -> Option<Value> {
    parse_json(read_capped(path, most).ok()?).ok()
}

fn read_session(path: &Path) -> Option<StoredSession> {
    let data = json(path, SMALL)?;
    if text_of(&data, "parentID").is_some() {
        return None;
    }
    let id = text_of(&data, "id").filter(|id| is_plain(id))?;
    let time = |field: &str| data.get("time").map(|time| number_of(time, field)).unwrap_or_default();
    Some(StoredSession {
        id: id.to_owned(),
        directory: PathBuf::from(text_of(&data, "directory")?),
        title: text_of(&data, "title").unwrap_or_default().to_owned(),
        created: i64::try_from(time("created")).unwrap_or_default(),
        updated: i64::try_from(time("updated")).unwrap_or_default(),
        children: 0,
        reverted: data.get("revert").and_then(revert_point),
        messages: 0,
    })
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    names.sort();
    names
}

/// The rows below opencode's data folder.
pub(super) fn rows(folder: &Path, cwd: Option<&Path>) -> Vec<SessionRow> {
    let projects = names(&folder.join("storage/session"));
    let files = projects.iter().flat_map(|project| names(project));
    files.filter_map(|file| row_of(&file)).filter(|row| cwd.is_none_or(|cwd| cwd == row.cwd)).collect()
}

pub(super) fn row_of(path: &Path) -> Option<SessionRow> {
    let stored = read_session(path)?;
    let messages = storage_of(path).map(|storage| names(&storage.join("message").join(&stored.id)).len());
    let stored = StoredSession { messages: messages.unwrap_or_default() as u64, ..stored };
    Some(row(path.to_owned(), stored, || {
        let (_, messages) = read(path, None).ok()?;
        let first = messages.iter().find(|message| text_of(&message.data, "role") == Some("user"))?;
        first.parts.iter().find_map(|(_, part)| text_of(part, "text")).map(str::to_owned)
    }))
}

/// A session and its messages, or only the `last` ones.
pub(super) fn read(path: &Path, last: Option<usize>) -> io::Result<(StoredSession, Vec<StoredMessage>)> {
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "not a session of opencode");
    let storage = storage_of(path).ok_or_else(unreadable)?;
    let stored = read_session(path).ok_or_else(unreadable)?;
    let files = names(&storage.join("message").join(&stored.id));
    let skip = last.map(|last| files.len().saturating_sub(last)).unwrap_or_default();
    let (mut messages, mut left) = (Vec::new(), LARGEST);
    for file in files.iter().skip(skip) {
        let data = json(file, SMALL).unwrap_or_default();
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut parts = Vec::new();
        for part in names(&storage.join("part").join(&id)) {
            let Ok(bytes) = read_capped(&part, left) else { continue };
            left = left.saturating_sub(bytes.len() as u64);
            let id = part.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            parts.push((id, parse_json(&bytes).unwrap_or_default()));
        }
        messages.push(StoredMessage { id, data, parts });
    }
    Ok((stored, messages))
}
