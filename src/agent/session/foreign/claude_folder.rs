//! The folders in which Claude Code keeps sessions, each named after a directory: what is in it is of this directory,
//! wherever the lines were written.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The maximum length of a directory name that Claude Code uses in full; the end of a longer one is a hash.
const LONGEST_NAME: usize = 200;
/// The number of folders that are read to find a directory by its name.
const MOST_READ: usize = 500;

/// The name of the folder in which Claude Code keeps the sessions of a directory; `None` if that is shortened.
pub(super) fn name_of(cwd: &Path) -> Option<String> {
    Some(full_name(cwd)).filter(|name| name.len() <= LONGEST_NAME)
}

fn full_name(cwd: &Path) -> String {
    // The program counts in units of UTF-16: what is beyond the first plane has two.
    let text = cwd.to_string_lossy();
    let plain = |unit: u16| u8::try_from(unit).ok().map(char::from).filter(char::is_ascii_alphanumeric);
    text.encode_utf16().map(|unit| plain(unit).unwrap_or('-')).collect()
}

/// One of these folders.
#[derive(Debug, Default)]
pub(in crate::session) struct ClaudeFolder {
    name: String,
    /// The directory whose sessions are asked for, if it can be that of the folder.
    here: Option<PathBuf>,
    /// The only directory with this name on the disk.
    found: OnceLock<Option<PathBuf>>,
}

impl ClaudeFolder {
    /// The folder at this path, when the sessions of `here` are asked for.
    pub(super) fn new(folder: &Path, here: Option<&Path>) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = ClaudeFolder { name, ..ClaudeFolder::default() };
        let here = here.filter(|here| folder.is_of(here)).map(Path::to_owned);
        ClaudeFolder { here, ..folder }
    }

    /// The folder of a session.
    pub(super) fn of_file(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        ClaudeFolder::new(path.parent().unwrap_or(&path), std::env::current_dir().ok().as_deref())
    }

    /// Whether it can be that of a directory.
    pub(super) fn is_of(&self, cwd: &Path) -> bool {
        let name = full_name(cwd);
        // The end of a long name is a hash.
        name.get(..LONGEST_NAME)
            .filter(|_| name.len() > LONGEST_NAME)
            .map_or(self.name == name, |start| self.name.len() > LONGEST_NAME && self.name.starts_with(start))
    }

    /// The directory of a session in it, whose first line was written in `cwd`: the model may have gone to a folder
    /// below, and the folder may have been renamed with its project, or be a link.
    pub(in crate::session) fn directory(&self, cwd: &Path) -> PathBuf {
        let above = cwd.ancestors().find(|above| self.is_of(above)).map(Path::to_owned);
        let found = || self.found.get_or_init(|| find(&self.name)).clone();
        above.or_else(|| self.here.clone()).or_else(found).unwrap_or_else(|| cwd.to_owned())
    }
}

/// Finds the directory whose encoded path is `name`. Returns `None` if no directory matches, or more than one.
fn find(name: &str) -> Option<PathBuf> {
    let (mut found, mut unread, mut read) = (Vec::new(), vec![PathBuf::from("/")], 0_usize);
    while let Some(folder) = unread.pop().filter(|_| read < MOST_READ && name.starts_with('-')) {
        read = read.saturating_add(1);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let own = full_name(&path);
            let rest = name.strip_prefix(&own).filter(|rest| rest.is_empty() || rest.starts_with('-'));
            match rest.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                Some("") => found.push(path),
                Some(_) => unread.push(path),
                None => {}
            }
        }
    }
    found.pop().filter(|_| found.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_in_units_of_utf_16() {
        for (cwd, name) in [("/w/a.b", "-w-a-b"), ("/w/é", "-w--"), ("/w/🚀 é.x", "-w------x")] {
            assert_eq!(name_of(Path::new(cwd)).as_deref(), Some(name), "{cwd}");
        }
    }

    #[test]
    fn a_session_is_of_the_directory_that_its_folder_is_named_after() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let [moved, one, other] = ["moved", "a.b", "a_b"].map(|name| root.join(name));
        for folder in [&moved, &one, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let [moved, one, other] = [&moved, &one, &other].map(|path| path.to_str().unwrap());
        let [long, sibling] = ["a", "b"].map(|end| format!("/{}/{end}", "x".repeat(220)));
        let cases = [
            // What the folder is named after, the directory of the first line, the one that is asked for, and the answer.
            ("/w/a", "/w/a", None, "/w/a"),
            ("/w/a", "/w/a/sub/x", Some("/w/a/sub/x"), "/w/a"),
            ("/w/a.b", "/w/a-b", Some("/w/a.b"), "/w/a-b"),
            ("/w/a", "/gone/old", Some("/w/a"), "/w/a"),
            (moved, "/gone/old", None, moved),
            (one, "/gone/old", None, "/gone/old"),
            (one, "/gone/old", Some(other), other),
            ("/no/such", "/gone/old", Some("/w/a"), "/gone/old"),
            ("plain", "/gone/old", None, "/gone/old"),
            (&long, &sibling, None, &sibling),
        ];
        for (named, cwd, here, expected) in cases {
            let name = full_name(Path::new(named));
            let start = name.get(..LONGEST_NAME).filter(|start| start.len() < name.len());
            let name = start.map_or(name.clone(), |start| format!("{start}-1a2b"));
            let folder = ClaudeFolder::new(&Path::new("/p").join(name), here.map(Path::new));
            assert_eq!(folder.directory(Path::new(cwd)), Path::new(expected), "{named} {cwd} {here:?}");
        }
    }
}
