//! The paths that the words of a command name, as far as they are known without running it.

use std::path::{Path, PathBuf};

use super::path_pattern::{JudgedPath, Places};
use super::protected::Use;
use super::shell::{Analysis, Part, Piece, Word};

/// Most directories that a command may be in after its `cd`s.
const MOST_DIRECTORIES: usize = 6;
/// Most words of a part whose links are followed; of the others only the text counts.
const MOST_RESOLVED: usize = 64;

/// A path that a command names.
pub(super) enum Named {
    Path {
        path: JudgedPath,
        is_used: Use,
        /// False for a bare word that names no file, which cannot be read.
        counts: bool,
    },
    /// Only parts are known; `*` is any text.
    Half(String, Use),
}

/// The directories in which the parts of a command may run.
pub(super) struct Directories {
    known: Vec<PathBuf>,
    /// Whether there may be others.
    others: bool,
}

impl Directories {
    /// The directories that a command may change to.
    pub(super) fn of(analysis: &Analysis, places: &Places) -> Self {
        let mut directories = Directories { known: vec![places.workspace.plain.clone()], others: false };
        for part in &analysis.parts {
            let name = part.words.first().and_then(Word::literal);
            match name.as_deref() {
                Some("cd") => directories.change(part, analysis.loops, places),
                Some("pushd" | "popd") => directories.others = true,
                _ => {}
            }
        }
        directories
    }

    fn change(&mut self, part: &Part, loops: bool, places: &Places) {
        let operands = part.words.get(1..).unwrap_or_default();
        let operand =
            operands.iter().find(|word| !matches!(word.literal().as_deref(), Some("-P" | "-L" | "--")));
        let target = match operand {
            None => places.home.as_ref().map(|home| home.plain.clone()),
            Some(word) => text_of(word, places).filter(|text| text != "-").map(PathBuf::from),
        };
        let Some(target) = target else {
            self.others = true;
            return;
        };
        if target.is_absolute() {
            self.add(target);
            return;
        }
        self.others |= loops;
        for base in self.known.clone() {
            self.add(base.join(&target));
        }
    }

    fn add(&mut self, directory: PathBuf) {
        if self.known.contains(&directory) {
            return;
        }
        if self.known.len() >= MOST_DIRECTORIES {
            self.others = true;
        } else {
            self.known.push(directory);
        }
    }

    /// The paths that a word may be; `None` if that is not known.
    pub(super) fn paths_of(&self, word: &Word, elsewhere: bool, places: &Places) -> Option<Vec<JudgedPath>> {
        let text = text_of(word, places)?;
        let path = Path::new(&text);
        if path.is_absolute() {
            return Some(vec![JudgedPath::new(path)]);
        }
        if self.others || elsewhere {
            return None;
        }
        Some(self.known.iter().map(|base| JudgedPath::new(&base.join(path))).collect())
    }

    /// A word with `*` for what is not known of it.
    pub(super) fn half(&self, word: &Word, places: &Places) -> String {
        half(word, places)
    }
}

/// A word as text, with the home directory in it.
fn text_of(word: &Word, places: &Places) -> Option<String> {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Home => text.push_str(places.home.as_ref()?.plain.to_str()?),
            Piece::Variable(name) if name == "HOME" => text.push_str(places.home.as_ref()?.plain.to_str()?),
            Piece::Variable(name) if name == "PWD" && text.is_empty() => {
                text.push_str(places.workspace.plain.to_str()?);
            }
            Piece::Variable(_) | Piece::Glob(_) | Piece::Unknown => return None,
        }
    }
    Some(text)
}

fn half(word: &Word, places: &Places) -> String {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Home => {
                text.push_str(places.home.as_ref().and_then(|home| home.plain.to_str()).unwrap_or("*"));
            }
            Piece::Variable(_) | Piece::Glob(_) | Piece::Unknown => text.push('*'),
        }
    }
    text
}

/// The paths that the name and the arguments of a part may be.
pub(super) fn named_paths(
    part: &Part,
    is_used: Use,
    directories: &Directories,
    places: &Places,
) -> Vec<Named> {
    let mut named = Vec::new();
    for (index, word) in part.words.iter().enumerate() {
        let Some(text) = text_of(word, places) else {
            named.push(Named::Half(half(word, places), is_used));
            continue;
        };
        for candidate in candidates(&text, index == 0) {
            let path = match (candidate.strip_prefix("~/"), &places.home) {
                (Some(rest), Some(home)) => home.plain.join(rest),
                _ => PathBuf::from(candidate),
            };
            let bases: &[PathBuf] = if path.is_absolute() { &[] } else { &directories.known };
            let paths: Vec<PathBuf> = if path.is_absolute() {
                vec![path.clone()]
            } else {
                bases.iter().map(|base| base.join(&path)).collect()
            };
            for path in paths {
                // A bare word that names no file is no path that could be read.
                let is_there = || path.symlink_metadata().is_ok();
                let counts = is_used == Use::Write || candidate.contains('/') || is_there();
                let judged = if index < MOST_RESOLVED {
                    JudgedPath::new(&path)
                } else {
                    let plain = super::path_pattern::normalised(&path);
                    JudgedPath { real: plain.clone(), plain }
                };
                named.push(Named::Path { path: judged, is_used, counts });
            }
        }
    }
    named
}

/// What of a word may be a path: all of it, what follows `=`, `:` or `@`, and the value of a short option.
fn candidates(text: &str, is_name: bool) -> Vec<&str> {
    if text.is_empty() || text.len() > 4096 || is_name && !text.contains('/') {
        return Vec::new();
    }
    let mut found = Vec::new();
    if !text.starts_with('-') {
        found.push(text);
    }
    if let Some((_, value)) = text.split_once('=') {
        found.push(value);
    }
    found.extend(text.split([':', '@']).filter(|value| *value != text && value.contains(['/', '.'])));
    if text.starts_with('-') && !text.starts_with("--") {
        found.extend(text.get(2..).filter(|value| value.contains(['/', '.'])));
    }
    found.retain(|value| !value.is_empty());
    found
}
