//! One list of the sessions of all agents: tau's own and those of others.

use std::path::Path;

use super::foreign::places::{self, ForeignPlaces};
use super::index::SessionIndex;
use super::list;
use super::row::{Listed, ListedFile};
use tau_protocol::session_row::{SessionOrigin, SessionRow};

/// Like [`list::list_known`], together with the sessions of other agents.
pub fn list_all(
    root: &Path,
    others: &ForeignPlaces,
    cwd: Option<&Path>,
    known: &mut SessionIndex,
    emit: &mut dyn FnMut(SessionRow) -> bool,
) {
    list_files(root, others, cwd, known, &mut |_, row| emit(row));
}

/// Like [`list_all`], with the file of each row.
pub(super) fn list_files(
    root: &Path,
    others: &ForeignPlaces,
    cwd: Option<&Path>,
    known: &mut SessionIndex,
    emit: &mut dyn FnMut(&ListedFile, SessionRow) -> bool,
) {
    let row = |listed: &Listed| match listed.origin {
        SessionOrigin::Tau => list::row(&listed.file),
        origin => places::row(&listed.file, origin),
    };
    let roots: Vec<&Path> = std::iter::once(root).chain(others.folders()).collect();
    list::list_listed(&roots, || listed_of_all(root, others, cwd), row, cwd, known, emit);
}

/// Candidates for sessions of all programs, last changed first.
fn listed_of_all(root: &Path, others: &ForeignPlaces, cwd: Option<&Path>) -> Vec<Listed> {
    let mut all = others.listed(cwd);
    all.extend(list::files(root, cwd).into_iter().map(|file| Listed::new(file, SessionOrigin::Tau)));
    all.sort_by(|Listed { file: a, .. }, Listed { file: b, .. }| {
        b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path))
    });
    all
}
