//! The instruction files for a directory: `AGENTS.md` or `CLAUDE.md`.
//!
//! They are text for the model, never settings. Any project can bring them, so each file, their
//! number and their total size are bounded, and links that lead out of their folder are refused.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::settings::private_files::read_capped;

/// Largest instruction file, in bytes.
pub const MAX_INSTRUCTION_FILE: u64 = 64 * 1024;

/// Largest total of all instruction files, in bytes: about 32,000 tokens, sent with every request.
pub const MAX_INSTRUCTIONS: usize = 128 * 1024;

/// Most instruction files.
pub const MAX_INSTRUCTION_FILES: usize = 32;

/// The names an instruction file can have; the first that is present in a folder counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// How many of the files that were left out a notice names.
const NAMED: usize = 3;

/// An instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: PathBuf,
    /// Its text; NUL and bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// The instruction files for a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionFiles {
    /// The user's first, then from the root down to the directory.
    pub files: Vec<InstructionFile>,
    /// What the user should know: skipped files, and files with invisible characters.
    pub notices: Vec<String>,
}

impl InstructionFiles {
    /// Looks in `config` (the user's folder of settings) and in every folder from `cwd` up to the
    /// root. When there is too much, the user's file and those nearest to `cwd` are kept.
    pub fn find(cwd: &Path, config: &Path) -> Self {
        let mut search = Search::default();
        // The folder of settings can be one of the parents.
        let mut seen = HashSet::new();
        for folder in std::iter::once(config).chain(cwd.ancestors()) {
            if seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.to_owned())) {
                search.look_in(folder, folder == config);
            }
        }
        search.finish()
    }
}

/// Goes from the files that count most to those that count least.
#[derive(Debug, Default)]
struct Search {
    /// The user's file.
    own: Option<InstructionFile>,
    /// The nearest first.
    nearest: Vec<InstructionFile>,
    bytes: usize,
    left_out: Vec<PathBuf>,
    notices: Vec<String>,
}

impl Search {
    fn look_in(&mut self, folder: &Path, is_own: bool) {
        for name in NAMES {
            let path = folder.join(name);
            // Once something was left out, everything further away is, too.
            if !self.left_out.is_empty() {
                if path.is_file() {
                    self.left_out.push(path);
                    return;
                }
                continue;
            }
            match read(folder, &path) {
                Ok(text) => return self.take(InstructionFile { path, text }, is_own),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return self.notices.push(format!("skipped {}: {error}", path.display())),
            }
        }
    }

    fn take(&mut self, file: InstructionFile, is_own: bool) {
        let full = self.nearest.len() + usize::from(self.own.is_some()) >= MAX_INSTRUCTION_FILES;
        if full || self.bytes + file.text.len() > MAX_INSTRUCTIONS {
            return self.left_out.push(file.path);
        }
        self.bytes += file.text.len();
        self.notices.extend(warning(&file));
        match is_own {
            true => self.own = Some(file),
            false => self.nearest.push(file),
        }
    }

    fn finish(mut self) -> InstructionFiles {
        self.notices.extend(left_out(&self.left_out));
        let files = self.own.into_iter().chain(self.nearest.into_iter().rev()).collect();
        InstructionFiles { files, notices: self.notices }
    }
}

/// What the user is shown about files that did not fit.
fn left_out(files: &[PathBuf]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let named: Vec<String> = files.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "left out {}{more}: at most {MAX_INSTRUCTION_FILES} instruction files with {} KB in total are sent to \
         the model, those nearest to the working directory first",
        named.join(", "),
        MAX_INSTRUCTIONS / 1024
    ))
}

/// What the user is shown about characters that cannot be seen.
fn warning(file: &InstructionFile) -> Option<String> {
    let path = file.path.display();
    match file.text.chars().filter(|c| is_invisible(*c)).count() {
        0 => None,
        1 => Some(format!("{path} has an invisible character; check it before you continue")),
        count => Some(format!("{path} has {count} invisible characters; check them before you continue")),
    }
}

/// The text of a file that really is in the folder: a link to somewhere else would send a file to
/// the provider that the user did not mean to send.
pub(super) fn read(folder: &Path, path: &Path) -> io::Result<String> {
    let inside = path.canonicalize()?.starts_with(folder.canonicalize()?);
    if !inside {
        return Err(io::Error::other("it is a symbolic link to a file outside its folder"));
    }
    let bytes = read_capped(path, MAX_INSTRUCTION_FILE)?;
    Ok(cleaned(&String::from_utf8_lossy(&bytes)))
}

/// Without a byte order mark, and with U+FFFD in place of every NUL.
pub(super) fn cleaned(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// Characters that change what people see without being seen, or are not seen at all: direction
/// marks, tags, separators, zero widths. The joiner of emoji is not one of them.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
