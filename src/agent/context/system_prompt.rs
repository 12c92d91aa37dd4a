//! The system prompt, and the instruction files of the project that go into it.
//!
//! The prompt is made once a session from the parts in `prompt/*.md` and is byte-identical for
//! the same inputs, as provider caches live from that. Instruction files are the project's: text
//! for the model, never settings.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

pub use super::instruction_files::{Instructions, Prompt, PromptSource};
use crate::agent::settings::private_files::read_capped;

/// Largest instruction file that is taken, in bytes.
pub const MAX_CONTEXT_FILE: u64 = 64 * 1024;

/// The names an instruction file can have in a folder; the first that is there counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The parts that speak of one tool, in the order of the prompt.
const TOOL_PARTS: [(&str, &str); 6] = [
    ("grep", include_str!("system_prompt/grep.md")),
    ("find", include_str!("system_prompt/find.md")),
    ("read", include_str!("system_prompt/read.md")),
    ("edit", include_str!("system_prompt/edit.md")),
    ("write", include_str!("system_prompt/write.md")),
    ("bash", include_str!("system_prompt/bash.md")),
];

/// What a system prompt is made of.
#[derive(Clone, Debug, Default)]
pub struct PromptInputs<'a> {
    /// Names of the tools that are on, in the order the model is told of them.
    pub tools: &'a [String],
    /// The directory the session runs in.
    pub cwd: &'a str,
    /// The date when the session began or was opened, `2026-01-02`.
    pub date: &'a str,
    /// The person's own text in place of the first part.
    pub role: Option<&'a str>,
    /// The person's own text at the end.
    pub append: Option<&'a str>,
    /// The instruction files.
    pub context: &'a [ContextFile],
}

/// The system prompt.
pub fn system_prompt(inputs: &PromptInputs<'_>) -> String {
    let mut sections = vec![inputs.role.unwrap_or(include_str!("system_prompt/role.md")).trim().to_owned()];
    if !inputs.tools.is_empty() {
        let mut tools = format!("# Tools\n\nYour tools: {}.\n\n", inputs.tools.join(", "));
        tools.push_str(include_str!("system_prompt/tools.md"));
        for (_, part) in TOOL_PARTS.iter().filter(|(name, _)| inputs.tools.iter().any(|on| on == name)) {
            tools.push_str(part);
        }
        sections.push(tools.trim_end().to_owned());
    }
    if !inputs.context.is_empty() {
        let mut context = format!("# Project instructions\n\n{}", include_str!("system_prompt/context.md"));
        for file in inputs.context {
            let (path, text) = (file.path.display(), file.text.trim());
            context.push_str(&format!("\n<file path=\"{path}\">\n{text}\n</file>\n"));
        }
        sections.push(context.trim_end().to_owned());
    }
    sections.extend(inputs.append.map(|text| text.trim().to_owned()));
    sections.push(format!("Working directory: {}\nDate: {}", inputs.cwd, inputs.date));
    sections.join("\n\n")
}

/// An instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    /// Its text; bytes that are no UTF-8 and zeros replaced.
    pub text: String,
}

/// The instruction files for a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextFiles {
    /// The person's own first, then from the root down to the directory.
    pub files: Vec<ContextFile>,
    /// What people should know: files passed over, and files with invisible characters.
    pub notices: Vec<String>,
}

impl ContextFiles {
    /// Looks for `AGENTS.md`, or `CLAUDE.md` where it is missing, in `config` (the person's own)
    /// and in every folder from the root to `cwd`.
    pub fn find(cwd: &Path, config: &Path) -> Self {
        let mut found = ContextFiles::default();
        let mut seen = HashSet::new();
        let parents: Vec<&Path> = cwd.ancestors().collect();
        let folders = std::iter::once(config).chain(parents.into_iter().rev());
        for folder in folders {
            // The folder of settings can be one of the parents.
            if seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.to_owned())) {
                found.look_in(folder);
            }
        }
        found
    }

    fn look_in(&mut self, folder: &Path) {
        for name in NAMES {
            let path = folder.join(name);
            match read(folder, &path) {
                Ok(text) => {
                    self.announce_invisible(&path, &text);
                    self.files.push(ContextFile { path, text });
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    self.notices.push(format!("{} was passed over: {error}", path.display()));
                    return;
                }
            }
        }
    }

    fn announce_invisible(&mut self, path: &Path, text: &str) {
        let count = text.chars().filter(|c| is_invisible(*c)).count();
        if count > 0 {
            let what = if count == 1 { "character that is" } else { "characters that are" };
            let path = path.display();
            self.notices.push(format!("{path} has {count} {what} invisible: look at it before you go on"));
        }
    }
}

/// The text of an instruction file that really is in the folder: a link to somewhere else would
/// send a file to the provider that nobody meant to send.
pub(super) fn read(folder: &Path, path: &Path) -> io::Result<String> {
    let inside = path.canonicalize()?.starts_with(folder.canonicalize()?);
    if !inside {
        return Err(io::Error::other("it is a link that leads out of its folder"));
    }
    let bytes = read_capped(path, MAX_CONTEXT_FILE)?;
    Ok(cleaned(&String::from_utf8_lossy(&bytes)))
}

/// Without a byte order mark, and with a sign in place of every zero.
pub(super) fn cleaned(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// Characters that change what people see without being seen, or are not seen at all: direction
/// marks, tags, separators, zero widths. The joiner of emoji is none of them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
