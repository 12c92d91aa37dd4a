//! Caches lookups of links, programs and folders for one judgement.
//!
//! A judgement needs the same ones many times, all for one point in time: within it, each is looked up once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tau_tools::paths::identity;

/// The cached lookups.
#[derive(Default)]
struct Known {
    followed: HashMap<PathBuf, PathBuf>,
    programs: HashMap<String, Option<PathBuf>>,
    entries: HashMap<PathBuf, Rc<[OsString]>>,
    /// Objections to running git in a folder.
    objections: HashMap<PathBuf, Option<String>>,
}

thread_local! {
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// The duration of one judgement, on this thread. A nested one is part of the outer one.
pub(super) struct Moment {
    is_part: bool,
}

impl Moment {
    /// Begins a judgement with an empty cache.
    pub(super) fn begin() -> Self {
        KNOWN.with_borrow_mut(|known| {
            let is_part = known.is_some();
            known.get_or_insert_default();
            Moment { is_part }
        })
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        if !self.is_part {
            KNOWN.take();
        }
    }
}

/// The path with links followed as far as it exists, as by [`identity`].
pub(super) fn followed(path: &Path) -> PathBuf {
    let is_moment = KNOWN.with_borrow(Option::is_some);
    if !is_moment || !path.is_absolute() {
        return identity(path);
    }
    if let Some(known) = KNOWN.with_borrow(|known| known.as_ref()?.followed.get(path).cloned()) {
        return known;
    }
    let real = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let plain = followed(parent).join(name);
            // An entry of a real folder is its own real path, unless it is a link.
            if std::fs::read_link(&plain).is_ok() { identity(&plain) } else { plain }
        }
        _ => identity(path),
    };
    KNOWN.with_borrow_mut(|known| {
        known.as_mut().map(|known| known.followed.insert(path.to_owned(), real.clone()))
    });
    real
}

/// The first program with this name in the absolute folders of `PATH`.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    if let Some(known) = KNOWN.with_borrow(|known| known.as_ref()?.programs.get(name).cloned()) {
        return known;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut places = folders.map(|folder| folder.join(name));
    let found = places.find(|place| place.symlink_metadata().is_ok());
    KNOWN.with_borrow_mut(|known| {
        known.as_mut().map(|known| known.programs.insert(name.to_owned(), found.clone()))
    });
    found
}

/// The names in a folder, in no order; at most `limit`, none if it cannot be read.
pub(super) fn entries(folder: &Path, limit: usize) -> Rc<[OsString]> {
    if let Some(known) = KNOWN.with_borrow(|known| known.as_ref()?.entries.get(folder).cloned()) {
        return known;
    }
    let names = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let found: Rc<[OsString]> = names.take(limit).map(|entry| entry.file_name()).collect();
    if found.len() < limit {
        KNOWN.with_borrow_mut(|known| {
            known.as_mut().map(|known| known.entries.insert(folder.to_owned(), Rc::clone(&found)))
        });
    }
    found
}

/// The objection to running git in a folder, as determined by `look`.
pub(super) fn objection(folder: &Path, look: impl FnOnce() -> Option<String>) -> Option<String> {
    if let Some(known) = KNOWN.with_borrow(|known| known.as_ref()?.objections.get(folder).cloned()) {
        return known;
    }
    let found = look();
    KNOWN.with_borrow_mut(|known| {
        known.as_mut().map(|known| known.objections.insert(folder.to_owned(), found.clone()))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_says_the_same_and_forgets_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/file"), "").unwrap();
        for (target, link) in [("a", "one"), ("one/b", "two"), ("missing", "gone"), ("loop", "loop")] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let names = [
            "a",
            "a/b",
            "one",
            "one/b/x/y",
            "two",
            "two/../file",
            "two/..",
            "gone",
            "gone/x",
            "loop",
            "loop/x",
            "a/file/x",
            "a/file",
            "./one/./b",
            "a//b",
            "",
        ];
        {
            let _moment = Moment::begin();
            for name in names.into_iter().chain(names) {
                assert_eq!(followed(&at(name)), identity(&at(name)), "{name}");
            }
            assert_eq!(followed(Path::new("/")), Path::new("/"));
        }
        std::fs::remove_file(at("one")).unwrap();
        std::fs::create_dir(at("one")).unwrap();
        let _moment = Moment::begin();
        assert_eq!(followed(&at("one/x")), identity(&at("one/x")));
    }
}
