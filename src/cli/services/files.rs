//! Files for completion, and pictures: small reads of the file system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use parking_lot::Mutex;
use unicode_normalization::UnicodeNormalization;

use tau_agent::settings::MAX_BYTES;
use tau_agent::undo::git_index::GitIndex;
use tau_app::fuzzy;
use tau_app::request::{FileMatches, Picture};
use tau_tools::access::FileFilter;
use tau_tools::git_place::GitPlace;
use tau_tools::regular_files::{read_capped, read_text};
use tau_tools::user_error::UserError;
use tau_tools::{ignore_files, paths};
use tau_view::theme::Theme;

/// Maximum number of considered files.
const FILES: usize = 100_000;
/// Maximum number of returned rows.
const ROWS: usize = 50;
/// Time for which a walk is reused.
const FRESH: Duration = Duration::from_secs(5);
/// Maximum size of a picture, in bytes.
const PICTURE: u64 = 20 * 1024 * 1024;

/// A source of the rules on files.
type FilterOf<'a> = &'a dyn Fn() -> Arc<dyn FileFilter>;

/// The files of the project, read when they are first needed.
pub struct FileIndex {
    root: PathBuf,
    walked: Mutex<Option<(Instant, Arc<Vec<IndexedFile>>)>>,
}

/// A file or folder of the project.
struct IndexedFile {
    path: String,
    /// The path with composed characters, where different.
    composed: Option<String>,
}

impl IndexedFile {
    fn new(path: String) -> Self {
        let composed = to_nfc(&path).filter(|composed| *composed != path);
        IndexedFile { path, composed }
    }

    /// The sort key: hidden ones last, paths in folders after their siblings.
    fn place(path: &str) -> (bool, usize, &str) {
        (is_hidden(path), path.matches('/').count(), path)
    }
}

impl AsRef<str> for IndexedFile {
    fn as_ref(&self) -> &str {
        self.composed.as_ref().unwrap_or(&self.path)
    }
}

/// The text with composed characters (NFC), if it may differ.
fn to_nfc(text: &str) -> Option<String> {
    (!text.is_ascii()).then(|| text.nfc().collect())
}

fn is_hidden(path: &str) -> bool {
    path.starts_with('.') || path.contains("/.")
}

impl FileIndex {
    /// An index of the files under `root`; nothing is walked yet.
    pub fn new(root: PathBuf) -> Self {
        FileIndex { root, walked: Mutex::new(None) }
    }

    /// The files that match, best first, and the files that the query names as a path, even if hidden,
    /// ignored or elsewhere. Files with denied access are left out.
    pub fn find(&self, query: &str, rules: FilterOf<'_>, stop: &dyn Fn() -> bool) -> FileMatches {
        let mut named = if query.is_empty() { Vec::new() } else { complete(&self.root, query, &*rules()) };
        if query.starts_with(['/', '~']) || query.split('/').any(|part| part == "..") {
            return FileMatches { count: named.len(), paths: named };
        }
        let files = self.files(rules, stop);
        let found = fuzzy::rank(to_nfc(query).as_deref().unwrap_or(query), &files);
        let is_listed = |path: &String| match to_nfc(path) {
            Some(composed) => files.iter().any(|file| file.as_ref() == composed),
            None => {
                let place = IndexedFile::place(path);
                files.binary_search_by(|file| IndexedFile::place(&file.path).cmp(&place)).is_ok()
            }
        };
        named.retain(|path| !is_listed(path));
        let count = found.len() + named.len();
        let best = found.iter().take(ROWS).filter_map(|found| Some(files.get(found.index)?.path.clone()));
        let paths = match query.starts_with('.') || query.contains('/') {
            true => named.into_iter().chain(best).collect(),
            false => best.chain(named).collect(),
        };
        FileMatches { paths, count }
    }

    fn files(&self, rules: FilterOf<'_>, stop: &dyn Fn() -> bool) -> Arc<Vec<IndexedFile>> {
        let mut walked = self.walked.lock();
        if let Some((_, files)) = walked.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Arc::clone(files);
        }
        let files = Arc::new(walk(&self.root, &*rules(), stop));
        if !stop() {
            *walked = Some((Instant::now(), Arc::clone(&files)));
        }
        files
    }
}

/// The files that are not hidden, and the hidden ones that git tracks, without files excluded by `.gitignore`
/// or denied by rules.
fn walk(root: &Path, rules: &dyn FileFilter, stop: &dyn Fn() -> bool) -> Vec<IndexedFile> {
    let shows = shows(root, rules);
    let mut files: Vec<String> = ignore_files::walk(root)
        .require_git(false)
        .build()
        .take_while(|_| !stop())
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() > 0)
        .filter(|entry| entry.path().strip_prefix(root).is_ok_and(&shows))
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
            Some(if entry.file_type().is_some_and(|kind| kind.is_dir()) { path + "/" } else { path })
        })
        .take(FILES)
        .collect();
    let is_there = |path: &String| shows(Path::new(path)) && root.join(path).symlink_metadata().is_ok();
    files.extend(tracked_hidden_paths(root).into_iter().take_while(|_| !stop()).filter(is_there));
    files.sort_unstable_by(|a, b| IndexedFile::place(a).cmp(&IndexedFile::place(b)));
    files.into_iter().map(IndexedFile::new).collect()
}

/// Whether rules do not deny a path below a folder.
fn shows(folder: &Path, rules: &dyn FileFilter) -> impl Fn(&Path) -> bool + use<> {
    let filter = rules.below("read", folder);
    move |below: &Path| {
        let left_out = filter.as_ref().and_then(|filter| filter.leaves_out(below));
        left_out.is_none_or(|left_out| !left_out.name)
    }
}

/// The hidden files that git tracks, with their folders.
fn tracked_hidden_paths(root: &Path) -> BTreeSet<String> {
    let index = GitPlace::find(root).and_then(|place| GitIndex::read(&place, root)).unwrap_or_default();
    let paths = index.from(b"").filter_map(|file| std::str::from_utf8(&file.path).ok());
    let mut hidden = BTreeSet::new();
    for path in paths.filter(|path| is_hidden(path) && !path.contains(char::is_control)).take(FILES) {
        let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
        hidden.extend(folders.filter(|folder| is_hidden(folder)).map(str::to_owned));
        hidden.insert(path.to_owned());
    }
    hidden
}

/// Completions of a path, in order; folders end in a slash. Of very many the first and the last are returned,
/// to show their common prefix.
pub fn complete(cwd: &Path, prefix: &str, rules: &dyn FileFilter) -> Vec<String> {
    if prefix == "~" {
        return vec!["~/".to_owned()];
    }
    let (folder, start) = match prefix.rfind('/') {
        Some(slash) => prefix.split_at(slash + 1),
        None => ("", prefix),
    };
    if start == ".." {
        return vec![format!("{prefix}/")];
    }
    let place = paths::find(cwd, folder);
    let Ok(entries) = std::fs::read_dir(&place) else { return Vec::new() };
    let (shows, wanted) = (shows(&place, rules), to_nfc(start));
    let begins = |name: &str| match &wanted {
        Some(wanted) => to_nfc(name).is_some_and(|name| name.starts_with(wanted.as_str())),
        None => name.starts_with(start),
    };
    let fits = |name: &String| {
        let hidden = name.starts_with('.') && !start.starts_with('.');
        begins(name) && !hidden && !name.contains(char::is_control) && shows(Path::new(name))
    };
    let names = entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(fits).collect();
    names.sort();
    if names.len() > ROWS {
        names.drain(ROWS - 1..names.len() - 1);
    }
    let marked = |name: String| {
        let mark = if place.join(&name).is_dir() { "/" } else { "" };
        format!("{folder}{name}{mark}")
    };
    names.into_iter().map(marked).collect()
}

/// Checks the theme file at a path; returns its name as a setting, which holds in every directory.
pub(super) fn theme(cwd: &Path, written: &str) -> Result<String, UserError> {
    let path = paths::resolve(cwd, written);
    let text = read_text(&path, MAX_BYTES).map_err(|error| {
        UserError::new(format!("cannot read the theme {}", path.display())).because(error)
    })?;
    Theme::parse(&text).map_err(|error| format!("{}:{}: {}", path.display(), error.line, error.text))?;
    Ok(if written.starts_with('~') { written.to_owned() } else { path.display().to_string() })
}

/// Reads pictures from the first of several lists of paths whose files exist.
pub(super) fn pictures(
    cwd: &Path,
    readings: &[Vec<PathBuf>],
    rules: &dyn FileFilter,
) -> Result<Vec<Picture>, UserError> {
    let found = |paths: &Vec<PathBuf>| -> Vec<PathBuf> {
        paths.iter().map(|path| paths::find(cwd, &path.to_string_lossy())).collect()
    };
    let mut readings = readings.iter().map(found);
    let first = readings.next().unwrap_or_default();
    let are_there = |paths: &Vec<PathBuf>| paths.iter().all(|path| path.exists());
    let paths = std::iter::once(first.clone()).chain(readings).find(are_there).unwrap_or(first);
    paths.iter().map(|path| picture(path, rules)).collect()
}

/// Reads a picture.
fn picture(path: &Path, rules: &dyn FileFilter) -> Result<Picture, UserError> {
    let failed = |why: &dyn std::fmt::Display| Err(UserError::of_file(path, why));
    if let Some(why) = rules.denies(path) {
        return failed(&why);
    }
    let bytes = match read_capped(path, PICTURE) {
        Ok(bytes) => bytes,
        Err(error) => return failed(&paths::reason(&error)),
    };
    picture_of(&bytes)
        .ok_or(())
        .or_else(|()| failed(&"not an image that models accept (PNG, JPEG, GIF, WebP)"))
}

/// The picture in `bytes`; `None` if models do not accept its format.
pub(crate) fn picture_of(bytes: &[u8]) -> Option<Picture> {
    let reader = image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format().ok()?;
    let (format, (width, height)) = (reader.format()?, reader.into_dimensions().ok()?);
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Some(Picture { data, mime_type: format.to_mime_type().to_owned(), width, height })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_tools::access::AllFiles;

    fn files(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for name in names {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, "*.log\ntarget/\n").expect("a file");
        }
        dir
    }

    fn find_paths(root: &Path, query: &str) -> Vec<String> {
        let rules = || Arc::new(AllFiles) as Arc<dyn FileFilter>;
        FileIndex::new(root.to_owned()).find(query, &rules, &|| false).paths
    }

    #[test]
    fn files_are_found_by_parts_of_their_names() {
        let dir = files(&["src/app/update.rs", "src/main.rs", "secret.log", ".gitignore"]);
        assert_eq!(find_paths(dir.path(), "upd"), ["src/app/update.rs"]);
        assert_eq!(find_paths(dir.path(), ""), ["src/", "src/main.rs", "src/app/", "src/app/update.rs"]);
        let complete = |prefix: &str| complete(dir.path(), prefix, &AllFiles);
        assert_eq!(complete("src/"), ["src/app/", "src/main.rs"]);
        assert_eq!(complete("src/m"), ["src/main.rs"]);
        assert_eq!(complete("nowhere/"), Vec::<String>::new());
    }

    #[test]
    fn hidden_and_ignored_files_are_found_when_they_are_named() {
        let dir = files(&["main.rs", "secret.log", "target/debug/out", ".gitignore", ".env", ".x/y.yml"]);
        for (query, expected) in [
            ("secr", &["secret.log"][..]),
            ("targ", &["target/"]),
            ("target/", &["target/debug/"]),
            ("target/debug/o", &["target/debug/out"]),
            (".e", &[".env"]),
            (".x/", &[".x/y.yml"]),
            (".", &[".env", ".gitignore", ".x/", "main.rs"]),
            ("log", &[]),
        ] {
            assert_eq!(find_paths(dir.path(), query), expected, "{query}");
        }
    }

    #[test]
    fn paths_elsewhere_are_completed() {
        let dir = files(&["work/main.rs", "beside/notes.txt", "beside/.hidden"]);
        let (root, work) = (dir.path(), dir.path().join("work"));
        let absolute = root.join("beside/n").display().to_string();
        for (query, expected) in [
            ("..", &["../"][..]),
            ("../", &["../beside/", "../work/"]),
            ("../..", &["../../"]),
            ("../be", &["../beside/"]),
            ("../beside/.", &["../beside/.hidden"]),
            ("~", &["~/"]),
            (&absolute, &[&format!("{absolute}otes.txt")]),
            ("/nowhere/", &[]),
        ] {
            assert_eq!(find_paths(&work, query), expected, "{query}");
        }
    }

    #[test]
    fn composed_and_decomposed_names_are_the_same() {
        let dir = files(&["cafe\u{301}/menu.txt", "\u{e9}t\u{e9}.md", ".gitignore"]);
        for (query, expected) in [
            ("caf\u{e9}", &["cafe\u{301}/", "cafe\u{301}/menu.txt"][..]),
            ("caf\u{e9}/m", &["cafe\u{301}/menu.txt"]),
            ("./caf\u{e9}", &["./cafe\u{301}/"]),
            ("e\u{301}te\u{301}", &["\u{e9}t\u{e9}.md"]),
        ] {
            assert_eq!(find_paths(dir.path(), query), expected, "{query}");
        }
        assert_eq!(complete(dir.path(), "caf\u{e9}/", &AllFiles), ["caf\u{e9}/menu.txt"]);
    }
}
