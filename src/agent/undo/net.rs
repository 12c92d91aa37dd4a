//! The total changes of several records, path by path. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::journal::{Cause, LostPath, Record};
use super::state::FileState;

/// The total change of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetChange {
    pub(crate) path: PathBuf,
    /// The earlier state and the state the agent left, in order. More than one if someone else changed it in
    /// between.
    pub(crate) segments: Vec<(FileState, FileState)>,
    /// Whether a user command ran while it was changed.
    pub(crate) shared: bool,
}

impl NetChange {
    /// The first state.
    pub(crate) fn before(&self) -> &FileState {
        self.segments.first().map_or(&FileState::Absent, |(before, _)| before)
    }

    /// The last state the agent left.
    pub(crate) fn after(&self) -> &FileState {
        self.segments.last().map_or(&FileState::Absent, |(_, after)| after)
    }

    /// Whether only the agent changed it between its changes.
    pub(crate) fn is_exact(&self) -> bool {
        self.segments.len() == 1 && !self.shared
    }
}

#[derive(Default)]
struct Open {
    /// The changes, each with its record.
    steps: Vec<(usize, FileState, FileState)>,
    shared: bool,
}

/// The total changes of the records from `from` on, in the order of the paths.
pub(crate) fn net(records: &[Record], from: usize) -> Vec<NetChange> {
    let mut open: BTreeMap<&Path, Open> = BTreeMap::new();
    for (index, record) in records.iter().enumerate().skip(from) {
        let undone = match &record.cause {
            Cause::Undo { from: Some(undone), .. } => Some(*undone),
            _ => None,
        };
        for change in &record.changes {
            let path = open.entry(&change.path.0).or_default();
            // A state that an undo left half-way is a change like others.
            if let Some(undone) = undone.filter(|_| !change.halfway) {
                // The state left there was the user's decision.
                path.steps.retain(|(record, ..)| *record < undone);
                continue;
            }
            path.shared |= record.shared;
            path.steps.push((index, change.before.clone(), change.after.clone()));
        }
    }
    let close = |(path, open): (&Path, Open)| {
        let mut segments: Vec<(FileState, FileState)> = Vec::new();
        for (_, before, after) in open.steps {
            match segments.last_mut() {
                Some((_, last)) if last.is_same(&before) => *last = after,
                _ => segments.push((before, after)),
            }
        }
        let (first, last) = (segments.first()?.0.clone(), segments.last()?.1.clone());
        segments.retain(|(before, after)| !before.is_same(after));
        let any = !first.is_same(&last) && !segments.is_empty();
        any.then(|| NetChange { path: path.to_owned(), segments, shared: open.shared })
    };
    open.into_iter().filter_map(close).collect()
}

/// The uncovered changes of the records from `from` on, each path once.
pub(crate) fn lost_paths(records: &[Record], from: usize) -> Vec<LostPath> {
    let all = records.iter().skip(from).flat_map(|record| &record.lost);
    let each: BTreeMap<&Path, &LostPath> = all.map(|lost| (lost.path.0.as_path(), lost)).collect();
    each.into_values().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::content::Hash;
    use super::super::journal::Change;
    use super::super::state::StoredPath;
    use super::*;

    fn file(text: &str) -> FileState {
        if text.is_empty() {
            return FileState::Absent;
        }
        let hash = Some(Hash::of(text.as_bytes()));
        FileState::File { hash, size: text.len() as u64, mode: 0o644, stamp: None }
    }

    fn record(undo: Option<usize>, changes: &[(&str, &str, &str)]) -> Record {
        let cause = match undo {
            Some(from) => Cause::Undo { checkpoint: Some("c".into()), from: Some(from), leaf: None },
            None => Cause::Call { id: "1".into(), tool: "bash".into(), checkpoint: None, any: true },
        };
        let change = |(path, before, after): &(&str, &str, &str)| Change {
            path: StoredPath(PathBuf::from(path)),
            before: file(before),
            after: file(after),
            halfway: false,
        };
        let changes = changes.iter().map(change).collect();
        Record {
            cause,
            at: 0,
            named: vec![],
            to: vec![],
            changes,
            lost: vec![],
            shared: false,
            cut: false,
            ended: true,
        }
    }

    fn check(records: &[Record], from: usize, expected: &[(&str, &str, &str, usize)]) {
        let found = net(records, from);
        let found: Vec<_> = found
            .iter()
            .map(|net| {
                (net.path.to_str().unwrap(), net.before().clone(), net.after().clone(), net.segments.len())
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, before, after, n)| (*path, file(before), file(after), *n)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn changes_of_a_path_add_up() {
        let records = [
            record(None, &[("a", "1", "2"), ("b", "", "x"), ("c", "c", "")]),
            record(None, &[("a", "2", "3"), ("b", "x", "")]),
            record(None, &[("a", "user", "4")]),
        ];
        check(&records, 0, &[("a", "1", "4", 2), ("c", "c", "", 1)]);
        check(&records, 1, &[("a", "2", "4", 2), ("b", "x", "", 1)]);
        check(&records, 3, &[]);
    }

    #[test]
    fn what_was_undone_no_longer_counts() {
        let mut records = vec![
            record(None, &[("a", "1", "2")]),
            record(None, &[("a", "2", "3"), ("b", "", "x")]),
            record(Some(1), &[("a", "3", "2"), ("b", "x", "")]),
        ];
        check(&records, 0, &[("a", "1", "2", 1)]);
        check(&records, 1, &[]);
        records.push(Record { cause: Cause::Redo, ..record(None, &[("a", "2", "3"), ("b", "", "x")]) });
        check(&records, 0, &[("a", "1", "3", 1), ("b", "", "x", 1)]);
        // A half-finished restore can be undone and redone.
        records.push(record(Some(0), &[("a", "3", "half"), ("b", "x", "")]));
        records.last_mut().unwrap().changes[0].halfway = true;
        check(&records, 0, &[("a", "1", "half", 1)]);
        // A merged text is the user's from then on.
        let merged = [record(None, &[("a", "1", "2")]), record(Some(0), &[("a", "2 user", "1 user")])];
        check(&merged, 0, &[]);
    }
}
