//! One list of the sessions of all agents: tau's own and those of others.

use std::collections::HashSet;
use std::path::Path;

use super::foreign::codex_names;
use super::foreign::places::{self, ForeignPlaces};
use super::index::SessionIndex;
use super::list;
use super::row::{ListedFile, SessionCandidate};
use tau_protocol::session_row::{SessionOrigin, SessionRow};

/// Like [`list::list_with_index`], together with the sessions of other agents.
pub fn list_all(
    root: &Path,
    others: &ForeignPlaces,
    cwd: Option<&Path>,
    known: &mut SessionIndex,
    emit: &mut dyn FnMut(SessionRow) -> bool,
) {
    list_files(root, others, cwd, known, &mut |_, row| emit(row));
}

/// The sessions of all agents, of `cwd` or all: the last changed first, by the time that lists show. `index` is the
/// file of their index, which is brought up to date.
pub fn rows(root: &Path, others: &ForeignPlaces, cwd: Option<&Path>, index: &Path) -> Vec<SessionRow> {
    let (mut known, mut rows) = (SessionIndex::load(index), Vec::new());
    list_all(root, others, cwd, &mut known, &mut |row| {
        rows.push(row);
        true
    });
    if let Err(error) = known.save(index) {
        tracing::warn!(%error, "the index of sessions could not be written");
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.modified));
    rows
}

/// Like [`rows`], without the sessions of other agents that were continued here: a copy under the same id shows them.
pub fn rows_once(root: &Path, others: &ForeignPlaces, cwd: Option<&Path>, index: &Path) -> Vec<SessionRow> {
    let mut rows = rows(root, others, cwd, index);
    let own: HashSet<String> =
        rows.iter().filter(|row| !row.source.is_foreign()).map(|row| row.id.clone()).collect();
    rows.retain(|row| !row.source.is_foreign() || !own.contains(&row.id));
    rows
}

/// Like [`list_all`], with the file of each row.
pub(super) fn list_files(
    root: &Path,
    others: &ForeignPlaces,
    cwd: Option<&Path>,
    known: &mut SessionIndex,
    emit: &mut dyn FnMut(&ListedFile, SessionRow) -> bool,
) {
    let row = |listed: &SessionCandidate| match listed.origin {
        SessionOrigin::Tau => list::row(&listed.file),
        origin => places::row(&listed.file, origin),
    };
    let roots: Vec<&Path> = std::iter::once(root).chain(others.folders()).collect();
    let mut named = |file: &ListedFile, row: SessionRow| {
        // Its name can change without its file.
        let name =
            (row.source == SessionOrigin::Codex).then(|| codex_names::name_of(&row.path, &row.id)).flatten();
        let name = name.or(row.name.clone());
        emit(file, SessionRow { name, ..row })
    };
    list::list_candidates(&roots, || all_candidates(root, others, cwd), row, cwd, known, &mut named);
}

/// Candidates for sessions of all programs, last changed first.
fn all_candidates(root: &Path, others: &ForeignPlaces, cwd: Option<&Path>) -> Vec<SessionCandidate> {
    let mut all = others.candidates(cwd);
    all.extend(
        list::files(root, cwd).into_iter().map(|file| SessionCandidate::new(file, SessionOrigin::Tau)),
    );
    all.sort_by(|SessionCandidate { file: a, .. }, SessionCandidate { file: b, .. }| {
        b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_codex_is_renamed_in_the_list() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".codex/sessions/2026/03/02");
        std::fs::create_dir_all(&folder).unwrap();
        let id = "01a21eb7-9d44-7920-898e-dd8c7a55cbce";
        let meta = serde_json::json!({"type": "session_meta", "timestamp": "2026-03-02T09:00:00Z",
            "payload": {"id": id, "cwd": "/w", "timestamp": "2026-03-02T09:00:00Z"}});
        let prompt = serde_json::json!({"type": "response_item", "timestamp": "2026-03-02T09:00:01Z",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}});
        let file = folder.join(format!("rollout-2026-03-02T09-00-00-{id}.jsonl"));
        std::fs::write(file, format!("{meta}\n{prompt}\n")).unwrap();
        let own = home.path().join("own");
        let others = ForeignPlaces::of(Some(home.path()), &|_| None, &own);
        for name in ["first", "the second"] {
            let index = serde_json::json!({"id": id, "thread_name": name}).to_string();
            std::fs::write(home.path().join(".codex/session_index.jsonl"), index).unwrap();
            let found = rows(&own, &others, Some(Path::new("/w")), &home.path().join("index"));
            assert_eq!(found.iter().map(|row| row.name.as_deref()).collect::<Vec<_>>(), [Some(name)]);
        }
    }

    #[test]
    fn rows_are_in_the_order_of_the_times_that_they_show() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".claude/projects/-w");
        std::fs::create_dir_all(&folder).unwrap();
        // Written again in another order, as after a restore.
        for day in [3, 1, 2] {
            let line = serde_json::json!({
                "type": "user", "sessionId": "s", "cwd": "/w", "uuid": "u",
                "timestamp": format!("2026-03-0{day}T09:00:00.000Z"),
                "message": {"role": "user", "content": format!("day {day}")},
            });
            std::fs::write(folder.join(format!("{day}.jsonl")), format!("{line}\n")).unwrap();
        }
        let own = home.path().join("own");
        let others = ForeignPlaces::of(Some(home.path()), &|_| None, &own);
        let found = rows(&own, &others, Some(Path::new("/w")), &home.path().join("index"));
        let titles: Vec<String> = found.iter().map(SessionRow::title).collect();
        assert_eq!(titles, ["day 3", "day 2", "day 1"]);
    }
}
