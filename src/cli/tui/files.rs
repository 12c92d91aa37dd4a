//! Files for completion, and pictures: small reads of the file system.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;

use crate::app::fuzzy;
use crate::app::request::{FileMatches, Picture};

/// Files that are considered, at most.
const FILES: usize = 100_000;
/// Rows that are returned.
const ROWS: usize = 50;
/// A walk is used again for this long.
const FRESH: Duration = Duration::from_secs(5);
/// The largest picture that is accepted, in bytes.
const PICTURE: u64 = 20 * 1024 * 1024;

/// The files of the project, read when they are first needed.
pub struct FileIndex {
    root: PathBuf,
    walked: Mutex<Option<(Instant, Arc<Vec<String>>)>>,
}

impl FileIndex {
    /// An index of the files under `root`; nothing is walked yet.
    pub fn new(root: PathBuf) -> Self {
        FileIndex { root, walked: Mutex::new(None) }
    }

    /// The files that match, best first. What `.gitignore` leaves out is left out.
    pub fn find(&self, query: &str, stop: &dyn Fn() -> bool) -> FileMatches {
        let files = self.files(stop);
        let found = fuzzy::rank(query, &files);
        let paths = found.iter().take(ROWS).filter_map(|found| files.get(found.index).cloned()).collect();
        FileMatches { paths, count: found.len() }
    }

    fn files(&self, stop: &dyn Fn() -> bool) -> Arc<Vec<String>> {
        let mut walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, files)) = walked.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Arc::clone(files);
        }
        let files = Arc::new(walk(&self.root, stop));
        if !stop() {
            *walked = Some((Instant::now(), Arc::clone(&files)));
        }
        files
    }
}

fn walk(root: &Path, stop: &dyn Fn() -> bool) -> Vec<String> {
    let mut files: Vec<String> = ignore::WalkBuilder::new(root)
        .require_git(false)
        .build()
        .take_while(|_| !stop())
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() > 0)
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
            Some(if entry.file_type().is_some_and(|kind| kind.is_dir()) { path + "/" } else { path })
        })
        .take(FILES)
        .collect();
    files.sort_by(|a, b| (a.matches('/').count(), a).cmp(&(b.matches('/').count(), b)));
    files
}

/// Ways to complete a path, in order; folders end in a slash. Of very many the first are returned and
/// the last, so that what all begin with can be seen.
pub fn complete(cwd: &Path, prefix: &str) -> Vec<String> {
    if prefix == "~" {
        return vec!["~/".to_owned()];
    }
    let (folder, start) = match prefix.rfind('/') {
        Some(slash) => prefix.split_at(slash + 1),
        None => ("", prefix),
    };
    let Ok(entries) = std::fs::read_dir(resolved(cwd, folder)) else { return Vec::new() };
    let fits = |name: &String| {
        let hidden = name.starts_with('.') && !start.starts_with('.');
        name.starts_with(start) && !hidden && !name.contains(char::is_control)
    };
    let names = entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(fits).collect();
    names.sort();
    if names.len() > ROWS {
        names.drain(ROWS - 1..names.len() - 1);
    }
    let place = resolved(cwd, folder);
    let marked = |name: String| {
        let mark = if place.join(&name).is_dir() { "/" } else { "" };
        format!("{folder}{name}{mark}")
    };
    names.into_iter().map(marked).collect()
}

fn resolved(cwd: &Path, path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => {
            directories::BaseDirs::new().map_or_else(|| cwd.join(path), |dirs| dirs.home_dir().join(rest))
        }
        None => cwd.join(path),
    }
}

/// Reads a picture that was named.
///
/// # Errors
/// A sentence for the user.
pub fn picture(cwd: &Path, path: &Path) -> Result<Picture, String> {
    let path = resolved(cwd, &path.to_string_lossy());
    let failed = |why: &dyn std::fmt::Display| Err(format!("{}: {why}", path.display()));
    let about = match std::fs::metadata(&path) {
        Ok(about) => about,
        Err(error) => return failed(&error),
    };
    if !about.is_file() || about.len() > PICTURE {
        return failed(&"not a regular file of at most 20 MB");
    }
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => return failed(&error),
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

    #[test]
    fn files_are_found_by_parts_of_their_names_and_ignored_ones_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("src/app")).expect("folders");
        for name in ["src/app/update.rs", "src/main.rs", "secret.log", ".gitignore"] {
            std::fs::write(dir.path().join(name), "*.log\n").expect("a file");
        }
        let index = FileIndex::new(dir.path().to_owned());
        let stop = || false;
        assert_eq!(index.find("upd", &stop).paths, ["src/app/update.rs"]);
        assert!(!index.find("", &stop).paths.iter().any(|file| file.contains("secret")));
        assert_eq!(complete(dir.path(), "src/"), ["src/app/", "src/main.rs"]);
        assert_eq!(complete(dir.path(), "src/m"), ["src/main.rs"]);
        assert_eq!(complete(dir.path(), "nowhere/"), Vec::<String>::new());
    }
}
