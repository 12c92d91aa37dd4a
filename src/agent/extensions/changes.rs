//! The difference between two loads, for a user who has changed a file.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::SystemTime;

use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionState};

/// The maximum number of extensions named per kind of change; the rest is counted.
const NAMED: usize = 3;

/// The modification times of files, and their sizes in bytes.
pub(super) type FileStamps = HashMap<PathBuf, (SystemTime, u64)>;

/// How an extension has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    Added,
    Changed,
    Removed,
}

/// An extension that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionChange {
    pub kind: ExtensionKind,
    pub name: String,
    pub difference: Difference,
    /// Whether its new version cannot be used.
    pub has_failed: bool,
}

/// The changes in the rows and files of `new`, by kind and name. A file that was written counts as changed,
/// even if its listing is the same.
pub(super) fn between(
    old: (&[ExtensionRow], &FileStamps),
    new: (&[ExtensionRow], &FileStamps),
) -> Vec<ExtensionChange> {
    let (before, after) = (fields_by_key(old), fields_by_key(new));
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    let removed = removed.map(|key| change(key, Difference::Removed, false));
    let others = after.iter().filter_map(|(key, now)| {
        let has_failed = now.iter().any(|listed| listed.state == ExtensionState::Failed);
        match before.get(key) {
            None => Some(change(key, Difference::Added, has_failed)),
            Some(then) if then != now => Some(change(key, Difference::Changed, has_failed)),
            Some(_) => None,
        }
    });
    others.chain(removed).collect()
}

/// The compared fields of an extension: not its cost, which depends on the others.
#[derive(PartialEq)]
struct ComparedFields<'a> {
    description: &'a str,
    path: Option<&'a PathBuf>,
    state: ExtensionState,
    problems: &'a [String],
    stamp: Option<&'a (SystemTime, u64)>,
}

type Key<'a> = (ExtensionKind, &'a str);

/// Lists extensions by kind and name; several may have the same.
fn fields_by_key<'a>(
    (rows, stamps): (&'a [ExtensionRow], &'a FileStamps),
) -> BTreeMap<Key<'a>, Vec<ComparedFields<'a>>> {
    let mut listed: BTreeMap<Key<'_>, Vec<ComparedFields<'_>>> = BTreeMap::new();
    for row in rows {
        let ExtensionRow { kind, name, description, path, state, problems, .. } = row;
        let stamp = path.as_ref().and_then(|path| stamps.get(path));
        let row = ComparedFields { description, path: path.as_ref(), state: *state, problems, stamp };
        listed.entry((*kind, name)).or_default().push(row);
    }
    listed
}

fn change((kind, name): &Key<'_>, difference: Difference, has_failed: bool) -> ExtensionChange {
    ExtensionChange { kind: *kind, name: (*name).to_owned(), difference, has_failed }
}

/// The changes as part of a sentence: `added skill a; changed prompt template b and 2 more`.
pub fn summary(changes: &[ExtensionChange]) -> String {
    let ways =
        [(Difference::Added, "added"), (Difference::Changed, "changed"), (Difference::Removed, "removed")];
    let part = |(way, verb): (Difference, &str)| {
        let of_way: Vec<&ExtensionChange> =
            changes.iter().filter(|change| change.difference == way).collect();
        let names: Vec<String> = of_way
            .iter()
            .take(NAMED)
            .map(|change| format!("{} {}", change.kind.noun(), change.name))
            .collect();
        let more = of_way.len().saturating_sub(NAMED);
        match (names.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(format!("{verb} {}", names.join(", "))),
            (false, more) => Some(format!("{verb} {} and {more} more", names.join(", "))),
        }
    };
    ways.into_iter().filter_map(part).collect::<Vec<_>>().join("; ")
}
