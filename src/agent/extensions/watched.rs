//! Determines the directories to watch for changes of extensions.
//!
//! For used places, these are all directories that are searched on loading; for a missing path, the directory
//! in which it would appear. Untrusted directories are not among the places, so nothing in them is opened or
//! watched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::places::{Place, Places};
use super::skills;
use super::walk::{Entry, Walk};

/// The maximum number of levels above a missing path at which a directory is searched.
const MAX_LEVELS: usize = 4;
/// The maximum number of watched directories.
const MAX_WATCHES: usize = 8 * 1024;

/// The relevant changes in a watched directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Everything but hidden files.
    All,
    /// These names: with `contents`, also writes to these files, else only their creation and removal.
    Names { names: BTreeSet<OsString>, contents: bool },
}

/// The directories to watch for these places. Blocks.
pub fn directories(places: &Places) -> BTreeMap<PathBuf, Interest> {
    let mut found = BTreeMap::new();
    for place in &places.skills {
        add_folder(place, Content::Skills, &mut found);
    }
    for place in places.prompts.iter().chain(&places.tools) {
        add_folder(place, Content::Files, &mut found);
    }
    for path in &places.files {
        add_path(path, true, &mut found);
        // A link's target is where the file is written.
        let is_link = path.symlink_metadata().is_ok_and(|file| file.is_symlink());
        if let Some(target) = path.canonicalize().ok().filter(|_| is_link) {
            add_path(&target, true, &mut found);
        }
    }
    found
}

/// The kind of content below a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Folders with a file `SKILL.md`; folders in them belong to the skill.
    Skills,
    /// Files in any folder.
    Files,
}

fn add_folder(place: &Place, content: Content, found: &mut BTreeMap<PathBuf, Interest>) {
    add_path(&place.folder, false, found);
    let mut walk = Walk::new(place);
    let Some(start) = walk.start() else { return };
    let mut open = vec![(start, 0)];
    while let Some((folder, depth)) = open.pop() {
        if found.len() >= MAX_WATCHES {
            return;
        }
        let is_skill = content == Content::Skills && depth > 0 && folder.join(skills::FILE).exists();
        if !is_skill {
            let folders = walk.entries(&folder, depth).into_iter().filter_map(|entry| match entry {
                Entry::Folder(inner) => Some((inner, depth + 1)),
                Entry::File(_) => None,
            });
            open.extend(folders);
        }
        found.insert(folder, Interest::All);
    }
}

/// Watches a path in its parent directory, or else in the nearest existing directory above.
fn add_path(path: &Path, contents: bool, found: &mut BTreeMap<PathBuf, Interest>) {
    let pairs = path.ancestors().zip(path.ancestors().skip(1)).take(MAX_LEVELS);
    for (depth, (part, above)) in pairs.enumerate() {
        let Some(name) = part.file_name().filter(|_| above.is_dir()) else { continue };
        let contents = contents && depth == 0;
        let none = Interest::Names { names: BTreeSet::new(), contents };
        if let Interest::Names { names, contents: of_all } = found.entry(above.to_owned()).or_insert(none) {
            names.insert(name.to_owned());
            *of_all |= contents;
        }
        return;
    }
}

impl Interest {
    /// Whether a change of the entry with this name is relevant; without a name, of the directory itself.
    pub fn includes(&self, name: Option<&OsStr>) -> bool {
        match (self, name) {
            (_, None) => true,
            (Interest::All, Some(name)) => !name.as_encoded_bytes().starts_with(b"."),
            (Interest::Names { names, .. }, Some(name)) => names.contains(name),
        }
    }

    /// Adds the changes that are relevant for `other`.
    pub fn join(&mut self, other: &Interest) {
        match (&mut *self, other) {
            (Interest::All, _) => {}
            (_, Interest::All) => *self = Interest::All,
            (Interest::Names { names, contents }, Interest::Names { names: more, contents: of_more }) => {
                names.extend(more.iter().cloned());
                *contents |= of_more;
            }
        }
    }
}
