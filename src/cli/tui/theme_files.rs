//! The user's theme files: which there are, and what is in the one that is shown.
//!
//! A file is looked at when a key is pressed or the window is entered, and read when it has changed
//! since. So nothing runs while nothing happens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::app::background::AUTO;
use crate::view::theme::Theme;

/// How a file's name ends.
const ENDING: &str = ".toml";

/// The user's theme files.
#[derive(Debug)]
pub struct ThemeFiles {
    dir: PathBuf,
    /// What was read: when each file was changed, and how long it was.
    read: HashMap<String, (SystemTime, u64)>,
}

impl ThemeFiles {
    /// The files in this folder, and others that are named by their path.
    pub fn new(dir: PathBuf) -> Self {
        ThemeFiles { dir, read: HashMap::new() }
    }

    /// The names of the themes in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names =
            files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(ENDING)?.to_owned()));
        let mut names: Vec<String> = names.filter(|name| !is_built_in(name)).collect();
        names.sort_unstable();
        names
    }

    /// The file of a theme.
    pub fn path(&self, name: &str) -> PathBuf {
        match name.ends_with(ENDING) {
            true => Path::new(name).to_owned(),
            false => self.dir.join(format!("{name}{ENDING}")),
        }
    }

    /// The theme of that name, where its file was not read in its present state. `None` also where
    /// there is no file: what was read before stays.
    pub fn changed(&mut self, name: &str) -> Option<Result<Theme, String>> {
        if is_built_in(name) {
            return None;
        }
        let path = self.path(name);
        let found = std::fs::metadata(&path).ok()?;
        let state = (found.modified().ok()?, found.len());
        if self.read.insert(name.to_owned(), state) == Some(state) {
            return None;
        }
        Some(read(&path))
    }
}

/// Reads a theme file.
///
/// # Errors
/// Which file, which line and what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<Theme, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Theme::parse(&text).map_err(|error| format!("{}:{}: {}", path.display(), error.line, error.text))
}

fn is_built_in(name: &str) -> bool {
    name == AUTO || Theme::names().any(|known| known == name)
}
