//! The names of Codex's sessions: `session_index.jsonl` beside the folder of sessions; the last line for an id counts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde::Deserialize;

use crate::session::read::lines;
use tau_tools::regular_files::read_capped;

const INDEX: &str = "session_index.jsonl";
/// The size limit of the file, in bytes.
const LARGEST: u64 = 32 * 1024 * 1024;
/// The folders between a session and the index: sessions, year, month, day.
const DEPTH: usize = 5;

/// A state of the file: its time and size.
type State = (PathBuf, SystemTime, u64);
type Names = Arc<HashMap<String, String>>;

/// The last index that was read: a list asks for every one of its rows.
static LAST: Mutex<Option<(State, Names)>> = Mutex::new(None);

#[derive(Deserialize)]
struct Line {
    id: String,
    thread_name: String,
}

/// The name of the session with this id in a file.
pub(in crate::session) fn name_of(session: &Path, id: &str) -> Option<String> {
    let index = session.ancestors().skip(1).take(DEPTH).map(|folder| folder.join(INDEX));
    let (index, metadata) = index.filter_map(|path| Some((path.clone(), path.metadata().ok()?))).next()?;
    let state = (index, metadata.modified().ok()?, metadata.len());
    let mut last = LAST.lock();
    if last.as_ref().is_none_or(|(known, _)| *known != state) {
        let names = read(&state.0);
        *last = Some((state, Arc::new(names)));
    }
    let (_, names) = last.as_ref()?;
    names.get(id).filter(|name| !name.trim().is_empty()).cloned()
}

fn read(index: &Path) -> HashMap<String, String> {
    let bytes = read_capped(index, LARGEST).unwrap_or_default();
    let all = lines(&bytes).filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    all.map(|line| (line.id, line.thread_name)).collect()
}
