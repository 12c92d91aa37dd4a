//! The files and folders that a text with holes currently stands for.

use std::path::PathBuf;

use super::{Mark, PathText, meets, text_of};
use crate::permissions::links;

impl PathText {
    /// The existing paths that it may currently stand for, with links at their ends not followed, as far as there are
    /// not more than `limit` names to check. Of folders of any depth, those below a hidden one are meant if `is_deep`.
    pub(in crate::permissions) fn on_disk(&self, limit: usize, is_deep: bool) -> Vec<PathBuf> {
        let known = self.known_start();
        let folder =
            known.rsplit_once('/').map(|(folder, _)| folder).filter(|folder| folder.starts_with('/'));
        let folder = folder.unwrap_or_default();
        let rest = self.0.get(folder.chars().count()..).unwrap_or_default();
        let (mut found, mut left) = (vec![PathBuf::from("/").join(folder)], limit);
        for mut part in rest.split(|mark| *mark == Mark::Char('/')).filter(|part| !part.is_empty()) {
            while let Some((Mark::Folders, behind)) = part.split_first().filter(|_| is_deep) {
                add_hidden_folders(&mut found, limit);
                part = behind;
            }
            match text_of(part) {
                Some(name) => found.iter_mut().for_each(|path| path.push(&name)),
                None => found = matching(&found, part, &mut left),
            }
        }
        found
    }
}

/// The files in these folders whose names match. Each name that is read counts against `left`.
fn matching(folders: &[PathBuf], part: &[Mark], left: &mut usize) -> Vec<PathBuf> {
    let (mut found, mut letters) = (Vec::new(), Vec::new());
    for folder in folders {
        let entries = links::entries(folder, *left + 1);
        for (name, _) in entries.iter().take(*left) {
            letters.clear();
            letters.extend(name.to_string_lossy().chars().map(Mark::Char));
            if meets(part, &letters) {
                found.push(folder.join(name));
            }
        }
        *left = left.saturating_sub(entries.len());
    }
    found
}

/// Adds the hidden folders in these folders, and all that are below those, as far as there are not more than `limit`
/// names.
fn add_hidden_folders(found: &mut Vec<PathBuf>, limit: usize) {
    let (mut at, mut left, given) = (0, limit, found.len());
    while let Some(folder) = found.get(at).cloned().filter(|_| left > 0) {
        let entries = links::entries(&folder, left + 1);
        for (name, kind) in entries.iter().take(left) {
            let is_in = at >= given || name.as_encoded_bytes().starts_with(b".");
            found.extend((is_in && kind.is_dir()).then(|| folder.join(name)));
        }
        left = left.saturating_sub(entries.len());
        at += 1;
    }
}
