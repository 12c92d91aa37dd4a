//! Caches lookups of links, programs, folders and commands for one judgement.
//!
//! A judgement needs the same ones many times, all for one point in time: within it, each is looked up once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::shell::{self, Analysis};
use tau_tools::paths::identity;
use tau_tools::user_error::UserError;

/// The maximum number of listed names that are compared with one: looking at the disk takes about as long.
const MAX_COMPARED: usize = 256;

/// The results of looking at the disk during one judgement.
#[derive(Default)]
struct LookupCache {
    places: BTreeMap<OsString, Rc<Place>>,
    search: Option<Rc<SearchPath>>,
    programs: BTreeMap<String, Option<Rc<Program>>>,
    entries: BTreeMap<OsString, Rc<[Entry]>>,
    analyses: BTreeMap<String, Rc<Analysis>>,
    /// Objections to running git in a folder.
    objections: BTreeMap<OsString, Option<String>>,
    /// The repositories that `.git` files and folders are or name.
    repositories: BTreeMap<OsString, Option<Result<PathBuf, UserError>>>,
}

/// The target of an absolute path.
struct Place {
    /// The path with links followed as far as it exists.
    real: PathBuf,
    /// The type of the file, which may be a link; `None` if it does not exist.
    kind: Option<FileType>,
}

/// A name in a folder, and its type as it is listed, which may be unknown.
type Entry = (OsString, FileType);

/// The folders of `PATH`, and the programs that were found there.
#[derive(Default)]
pub(super) struct SearchPath {
    absolute: Vec<SearchFolder>,
    /// These depend on the directory in which a command runs.
    pub relative: Vec<PathBuf>,
    /// Kept between judgements, as long as the file at the path of each is the same.
    programs: RefCell<BTreeMap<String, Rc<Program>>>,
}

/// An absolute folder of `PATH`, as it is written there and with links followed.
struct SearchFolder {
    plain: PathBuf,
    real: PathBuf,
}

/// A program in a folder of `PATH`.
pub(super) struct Program {
    pub path: PathBuf,
    /// The path with links followed.
    pub real: PathBuf,
    /// The device and the inode of the file, which may be a link.
    file: (u64, u64),
}

impl SearchPath {
    fn of(path: &OsStr) -> Self {
        let mut search = SearchPath::default();
        for plain in std::env::split_paths(path) {
            // Without `.` and empty names.
            let plain: PathBuf = plain.components().collect();
            if plain.is_relative() {
                search.relative.push(plain);
            } else if search.absolute.iter().all(|known| known.plain != plain) {
                search.absolute.push(SearchFolder { real: identity(&plain), plain });
            }
        }
        search
    }

    /// The absolute folders that are, or lead, where `is_there` tells.
    pub(super) fn absolute_folders(&self, is_there: impl Fn(&Path) -> bool) -> impl Iterator<Item = &Path> {
        let folders = self.absolute.iter();
        folders
            .filter(move |folder| is_there(&folder.plain) || is_there(&folder.real))
            .map(|folder| folder.plain.as_path())
    }

    fn find_program(&self, name: &str) -> Option<Rc<Program>> {
        if let Some(known) = self.programs.borrow().get(name)
            && file_at(&known.path) == Some(known.file)
        {
            return Some(Rc::clone(known));
        }
        let found = self.absolute.iter().find_map(|folder| {
            let path = folder.plain.join(name);
            let file = file_at(&path)?;
            Some(Rc::new(Program { real: follow_links(&path), path, file }))
        });
        let mut programs = self.programs.borrow_mut();
        match &found {
            Some(found) => programs.insert(name.to_owned(), Rc::clone(found)),
            None => programs.remove(name),
        };
        found
    }
}

/// The device and the inode of a file, which may be a link.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    rustix::fs::lstat(path).ok().map(|facts| (facts.st_dev, facts.st_ino))
}

thread_local! {
    static KNOWN: RefCell<Option<LookupCache>> = const { RefCell::new(None) };
    /// The value of `PATH` when it was last taken apart, and its folders.
    static LAST_SEARCH: RefCell<(OsString, Rc<SearchPath>)> = RefCell::default();
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

/// The cached result, or that of `look`, which is cached.
fn once<Key, Found>(
    known: fn(&mut LookupCache) -> &mut BTreeMap<Key::Owned, Found>,
    key: &Key,
    look: impl FnOnce() -> Found,
) -> Found
where
    Key: ToOwned<Owned: Ord> + Ord + ?Sized,
    Found: Clone,
{
    if let Some(found) = KNOWN.with_borrow_mut(|all| known(all.as_mut()?).get(key).cloned()) {
        return found;
    }
    let found = look();
    KNOWN.with_borrow_mut(|all| {
        all.as_mut().map(|all| known(all).insert(key.to_owned(), found.clone()));
    });
    found
}

/// The path with links followed as far as it exists, as by [`identity`].
pub(super) fn follow_links(path: &Path) -> PathBuf {
    match place(path) {
        Some(place) => place.real.clone(),
        None => identity(path),
    }
}

/// The path of something that exists with all links followed, as by [`Path::canonicalize`].
pub(super) fn canonical(path: &Path) -> Option<PathBuf> {
    match place(path) {
        Some(place) => place.kind.map(|_| place.real.clone()),
        None => path.canonicalize().ok(),
    }
}

/// The type of the file at a path, which may be a link; `None` if it does not exist.
pub(super) fn kind(path: &Path) -> Option<FileType> {
    match place(path) {
        Some(place) => place.kind,
        None => kind_now(path),
    }
}

fn kind_now(path: &Path) -> Option<FileType> {
    rustix::fs::lstat(path).ok().map(|facts| FileType::from_raw_mode(facts.st_mode))
}

/// The target of an absolute path; `None` outside of a judgement.
fn place(path: &Path) -> Option<Rc<Place>> {
    let is_moment = KNOWN.with_borrow(Option::is_some);
    if !is_moment || !path.is_absolute() {
        return None;
    }
    let look = || match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let folder = place(parent).map_or_else(|| identity(parent), |parent| parent.real.clone());
            let plain = folder.join(name);
            let kind = listed_kind(&folder, name).or_else(|| kind_now(&plain));
            // An entry of a real folder is its own real path, unless it is a link.
            let real = if kind.is_some_and(|kind| kind.is_symlink()) { identity(&plain) } else { plain };
            Rc::new(Place { real, kind })
        }
        // The root.
        (None, _) => Rc::new(Place { real: path.to_owned(), kind: Some(FileType::Directory) }),
        _ => Rc::new(Place { real: identity(path), kind: kind_now(path) }),
    };
    Some(once(|known| &mut known.places, path.as_os_str(), look))
}

/// The type of the file at a path, with links followed; `None` if it does not exist.
pub(super) fn target_kind(path: &Path) -> Option<FileType> {
    match kind(path)? {
        FileType::Symlink => rustix::fs::stat(path).ok().map(|facts| FileType::from_raw_mode(facts.st_mode)),
        kind => Some(kind),
    }
}

/// Whether a path leads to a folder.
pub(super) fn is_folder(path: &Path) -> bool {
    target_kind(path) == Some(FileType::Directory)
}

/// The folders in which programs are looked up.
pub(super) fn search_path() -> Rc<SearchPath> {
    if let Some(known) = KNOWN.with_borrow(|known| known.as_ref()?.search.clone()) {
        return known;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let search = LAST_SEARCH.with_borrow_mut(|(of, search)| {
        if *of != path {
            (*search, *of) = (Rc::new(SearchPath::of(&path)), path);
        }
        Rc::clone(search)
    });
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known {
            known.search = Some(Rc::clone(&search));
        }
    });
    search
}

/// The first program with this name in the absolute folders of `PATH`; as long as a known one is there, earlier folders
/// are not searched again.
pub(super) fn program(name: &str) -> Option<Rc<Program>> {
    once(|known| &mut known.programs, name, || search_path().find_program(name))
}

/// The names in a folder, in no order; at most `limit`, none if it cannot be read.
pub(super) fn entries(folder: &Path, limit: usize) -> Rc<[Entry]> {
    if let Some(known) = KNOWN.with_borrow(|known| known.as_ref()?.entries.get(folder.as_os_str()).cloned()) {
        return known;
    }
    let found: Rc<[Entry]> = entries_now(folder).take(limit).collect();
    if found.len() < limit {
        KNOWN.with_borrow_mut(|known| {
            known.as_mut().map(|known| known.entries.insert(folder.into(), Rc::clone(&found)))
        });
    }
    found
}

fn entries_now(folder: &Path) -> impl Iterator<Item = Entry> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut dir = rustix::fs::open(folder, flags, Mode::empty()).and_then(Dir::new).ok();
    let entries = std::iter::from_fn(move || {
        let entry = dir.as_mut()?.read()?.ok()?;
        Some((OsString::from_vec(entry.file_name().to_bytes().to_vec()), entry.file_type()))
    });
    entries.filter(|(name, _)| name != "." && name != "..")
}

/// The type of an entry of a small folder whose names were listed before.
fn listed_kind(folder: &Path, name: &OsStr) -> Option<FileType> {
    let listed = |known: &LookupCache| {
        let mut entries = known.entries.get(folder.as_os_str())?.iter().take(MAX_COMPARED);
        entries.find(|(listed, _)| listed == name).map(|(_, kind)| *kind)
    };
    let kind = KNOWN.with_borrow(|known| listed(known.as_ref()?));
    kind.filter(|kind| *kind != FileType::Unknown)
}

pub(super) fn analysis(command: &str) -> Rc<Analysis> {
    once(|known| &mut known.analyses, command, || Rc::new(shell::analyse(command)))
}

/// The objection to running git in a folder, as determined by `look`.
pub(super) fn objection(folder: &Path, look: impl FnOnce() -> Option<String>) -> Option<String> {
    once(|known| &mut known.objections, folder.as_os_str(), look)
}

/// The repository that a `.git` is or names, as determined by `look`.
pub(super) fn repository(
    git: &Path,
    look: impl FnOnce() -> Option<Result<PathBuf, UserError>>,
) -> Option<Result<PathBuf, UserError>> {
    once(|known| &mut known.repositories, git.as_os_str(), look)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

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
            "a", "a/b", "one", "one/b/x/y", "two", "two/../file", "two/..", "gone", "gone/x", "loop",
            "loop/x", "a/file/x", "a/file", "./one/./b", "a//b", "",
        ];
        {
            let _moment = Moment::begin();
            for name in names.into_iter().chain(names) {
                assert_eq!(follow_links(&at(name)), identity(&at(name)), "{name}");
                let found =
                    at(name).symlink_metadata().ok().map(|facts| FileType::from_raw_mode(facts.mode()));
                assert_eq!((kind(&at(name)), is_folder(&at(name))), (found, at(name).is_dir()), "{name}");
            }
            assert_eq!(follow_links(Path::new("/")), Path::new("/"));
        }
        std::fs::remove_file(at("one")).unwrap();
        std::fs::create_dir(at("one")).unwrap();
        let _moment = Moment::begin();
        assert_eq!(follow_links(&at("one/x")), identity(&at("one/x")));
    }

    #[test]
    fn a_program_is_kept_as_long_as_its_file_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| identity(folder.path()).join(name);
        ["a", "b"].iter().for_each(|name| std::fs::create_dir(at(name)).unwrap());
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        std::fs::write(at("b/x"), "").unwrap();
        let path = std::env::join_paths([at("link"), at("b"), "relative".into()]).unwrap();
        let search = SearchPath::of(&path);
        let find =
            |name: &str| search.find_program(name).map(|found| (found.path.clone(), found.real.clone()));
        for _ in 0..2 {
            assert_eq!(find("x"), Some((at("b/x"), at("b/x"))));
        }
        std::fs::remove_file(at("b/x")).unwrap();
        assert_eq!(find("x"), None);
        std::fs::write(at("a/x"), "").unwrap();
        assert_eq!(find("x"), Some((at("link/x"), at("a/x"))));
        assert_eq!(search.relative, [Path::new("relative")]);
        let leading: Vec<&Path> = search.absolute_folders(|folder| folder.starts_with(at("a"))).collect();
        assert_eq!(leading, [at("link")]);
    }
}
