//! Instruction files for a directory: `AGENTS.md` or `CLAUDE.md`, their imports, and rules.
//!
//! They are text for the model, never settings. Any project can bring them, so each file, their number and
//! their total size are bounded, and links that lead out of their folder, or to what the model may not read unasked,
//! are refused.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{folder_rules, imports};
use crate::permissions::refusal;
use crate::secrets::redact::Redactor;
use crate::settings::private_files::read_capped;
use tau_protocol::message::Message;
use tau_tools::access::FileFilter;
use tau_tools::encoding;
use tau_tools::paths;

/// The size limit of an instruction file, in bytes.
pub const MAX_INSTRUCTION_FILE: u64 = 64 * 1024;

/// The total size limit of all instruction files, in bytes: about 32,000 tokens, sent with every request.
pub const MAX_INSTRUCTIONS: usize = 128 * 1024;

/// The maximum number of instruction files.
pub const MAX_INSTRUCTION_FILES: usize = 32;

/// The possible names of a folder's instruction file; the first that exists is used.
const NAMES: [&str; 4] = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];
/// The user's own notes in a project, besides that file.
const LOCAL_NAME: &str = "CLAUDE.local.md";
/// The type of the message that gives the model the files of folders that the work has reached.
pub(crate) const TOLD: &str = "tau.instructions";
/// The maximum depth of nested imports.
const MAX_IMPORT_DEPTH: usize = 5;

/// The maximum number of omitted files that a notice names.
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
    /// Notices for the user: skipped files, and files with invisible characters.
    pub notices: Vec<String>,
}

/// Locations of instruction files besides the project's folders, and the rules for reading files.
#[derive(Clone, Debug, Default)]
pub struct InstructionPlaces {
    /// The user's folder of settings.
    pub config: PathBuf,
    /// The user's folder of Claude Code, usually `~/.claude`.
    pub claude: Option<PathBuf>,
    /// The rules for imports.
    pub rules: Option<Arc<dyn FileFilter>>,
}

impl InstructionFiles {
    /// Like [`InstructionPlaces::find`], but with `config`, the folder of settings, as the user's only
    /// folder.
    pub fn find(cwd: &Path, config: &Path) -> Self {
        InstructionPlaces { config: config.to_owned(), ..InstructionPlaces::default() }.find(cwd)
    }
}

impl InstructionPlaces {
    /// Searches the user's folders and every folder from `cwd` up to the root. If there is too much, the
    /// user's files and those nearest to `cwd` are kept.
    pub fn find(&self, cwd: &Path) -> InstructionFiles {
        self.search(cwd).finish()
    }

    fn search(&self, cwd: &Path) -> Search<'_> {
        let mut search = Search { rules: self.rules.as_deref(), ..Search::default() };
        if let Some(claude) = &self.claude {
            search.own_file(&claude.join("CLAUDE.md"));
            // The user's rules are for every project, so their paths are those of the project.
            let project = project_of(cwd);
            folder_rules::files(claude).iter().for_each(|path| search.rule(path, project, true));
        }
        for name in NAMES {
            if search.own_file(&self.config.join(name)) {
                break;
            }
        }
        cwd.ancestors().for_each(|folder| search.look_in(folder));
        search
    }

    /// The additional instruction files for a session in `cwd` that has reached `paths`: from the folders
    /// below `cwd`, and rules for these paths.
    pub fn files_for_paths(&self, cwd: &Path, paths: &[PathBuf]) -> InstructionFiles {
        let base = self.search(cwd);
        let mut search = Search { rules: base.rules, seen: base.seen, ..Search::default() };
        let mut folders: Vec<&Path> = Vec::new();
        for path in paths {
            let of_path = path.ancestors().filter(|folder| folder.is_dir());
            folders.extend(of_path.take_while(|folder| folder.starts_with(cwd) && *folder != cwd));
        }
        // Deepest first.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        folders.dedup();
        for folder in folders.iter().copied().chain(cwd.ancestors()) {
            let of_paths = base.for_paths.iter().filter(|rule| !rule.is_own && rule.base == folder);
            search.paths_rules(of_paths, paths, cwd);
            if folder != cwd && folder.starts_with(cwd) {
                search.look_in(folder);
                let own = std::mem::take(&mut search.for_paths);
                search.paths_rules(own.iter(), paths, cwd);
            }
        }
        let of_user = base.for_paths.iter().filter(|rule| rule.is_own);
        search.paths_rules(of_user, paths, cwd);
        search.finish()
    }
}

/// The project that a directory belongs to: the repository around it, or itself.
fn project_of(cwd: &Path) -> &Path {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd)
}

/// A rule for certain paths.
#[derive(Debug)]
struct PathRule {
    file: InstructionFile,
    patterns: Vec<String>,
    /// The folder that its patterns are relative to.
    base: PathBuf,
    /// Whether it is one of the user's.
    is_own: bool,
}

/// A search in order of precedence, highest first.
#[derive(Debug, Default)]
struct Search<'a> {
    rules: Option<&'a dyn FileFilter>,
    /// The user's files.
    own: Vec<InstructionFile>,
    /// The files of each folder, the nearest folder first.
    nearest: Vec<Vec<InstructionFile>>,
    /// Rules that are only for certain paths.
    for_paths: Vec<PathRule>,
    /// The files read so far, by real path.
    seen: HashSet<PathBuf>,
    bytes: usize,
    files: usize,
    left_out: Vec<PathBuf>,
    notices: Vec<String>,
}

impl Search<'_> {
    /// Reads the files of a project folder.
    fn look_in(&mut self, folder: &Path) {
        self.nearest.push(Vec::new());
        for name in NAMES {
            if self.file(&folder.join(name), Some(folder), false) {
                break;
            }
        }
        let rules = folder_rules::files(&folder.join(".claude"));
        rules.iter().for_each(|path| self.rule(path, folder, false));
        self.file(&folder.join(LOCAL_NAME), Some(folder), false);
    }

    /// Reads one of the user's own files, following a link. Returns whether it exists.
    fn own_file(&mut self, path: &Path) -> bool {
        self.file(path, None, true)
    }

    /// Reads a file and its imports. Returns whether it exists. A project's file is in `folder`.
    fn file(&mut self, path: &Path, folder: Option<&Path>, is_own: bool) -> bool {
        // Once a file was left out, everything further away is left out too.
        if !self.left_out.is_empty() {
            let is_there = path.is_file();
            self.left_out.extend(is_there.then(|| path.to_owned()));
            return is_there;
        }
        match self.read(path, folder) {
            Ok(Some(text)) => self.take_with_imports(path, text, folder, is_own),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => self.notices.push(format!("skipped {}: {error}", path.display())),
        }
        true
    }

    /// Reads a rule file, which is set aside if it is for certain paths, relative to `folder`.
    fn rule(&mut self, path: &Path, folder: &Path, is_own: bool) {
        let bound = (!is_own).then_some(folder);
        let text = match self.read(path, bound) {
            Ok(Some(text)) if self.left_out.is_empty() => text,
            Ok(Some(_)) => return self.left_out.push(path.to_owned()),
            Ok(None) => return,
            Err(error) => return self.notices.push(format!("skipped {}: {error}", path.display())),
        };
        match folder_rules::parse(&text) {
            (None, text) => self.take_with_imports(path, text.to_owned(), bound, is_own),
            (Some(patterns), text) => {
                let file = InstructionFile { path: path.to_owned(), text: text.to_owned() };
                self.for_paths.push(PathRule { file, patterns, base: folder.to_owned(), is_own });
            }
        }
    }

    /// Adds the rules that apply to one of these paths.
    fn paths_rules<'r>(&mut self, rules: impl Iterator<Item = &'r PathRule>, paths: &[PathBuf], cwd: &Path) {
        let concerns = |rule: &PathRule, base: &Path| folder_rules::concern(&rule.patterns, base, paths);
        // The repository can be far above, as one of a home directory.
        for rule in rules.filter(|rule| concerns(rule, &rule.base) || rule.is_own && concerns(rule, cwd)) {
            self.nearest.push(Vec::new());
            let bound = (!rule.is_own).then_some(rule.base.as_path());
            self.take_with_imports(&rule.file.path, rule.file.text.clone(), bound, false);
        }
    }

    /// The text of a file; `None` if it was already read. A project's file is in `folder`.
    fn read(&mut self, path: &Path, folder: Option<&Path>) -> io::Result<Option<String>> {
        let real = paths::real(path)?;
        let text = match folder {
            Some(folder) => self.read_within(path, &real, folder)?,
            None => read_own(path)?,
        };
        Ok(self.seen.insert(real).then_some(text))
    }

    /// The text of a file that really is in the folder: a link to another place would send a file to the provider
    /// without the user's intention. What a link leads to is read as the model may read it.
    fn read_within(&self, path: &Path, real: &Path, folder: &Path) -> io::Result<String> {
        let within = folder.canonicalize()?;
        if !real.starts_with(&within) {
            return Err(io::Error::other("it is a symbolic link to a file outside its folder"));
        }
        if path.strip_prefix(folder).is_ok_and(|below| within.join(below) == real) {
            return read_own(path);
        }
        match refusal(real, Some(&within), self.rules) {
            Some(why) => Err(io::Error::other(format!("it is a symbolic link to {}: {why}", real.display()))),
            None => read_own(real).map(|text| without_secrets(&text)),
        }
    }

    fn take_with_imports(&mut self, path: &Path, text: String, folder: Option<&Path>, is_own: bool) {
        let project = folder.map(|folder| project_of(folder).to_owned());
        let mut waiting = vec![(path.to_owned(), text, 0)];
        while let Some((path, text, depth)) = waiting.pop() {
            let imported = path.parent().map(|parent| imports::files(&text, parent)).unwrap_or_default();
            let by = path.display().to_string();
            self.take(InstructionFile { path, text }, is_own);
            let next = waiting.len();
            for import in imported {
                let why = match self.import(&import, depth, project.as_deref()) {
                    Ok(Some(text)) => {
                        waiting.push((import, text, depth + 1));
                        continue;
                    }
                    Ok(None) => continue,
                    Err(why) => why,
                };
                let notice = format!("skipped {}, which {by} imports: {why}", import.display());
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
            }
            // In order, each followed by its own imports.
            if let Some(new) = waiting.get_mut(next..) {
                new.reverse();
            }
        }
    }

    /// The text of an imported file; `None` if it was already read. The error is the reason to skip it.
    fn import(
        &mut self,
        path: &Path,
        depth: usize,
        project: Option<&Path>,
    ) -> Result<Option<String>, String> {
        if let Some(why) = refusal(path, project, self.rules) {
            return Err(why);
        }
        if depth < MAX_IMPORT_DEPTH {
            let text = self.read(path, None).map_err(|error| paths::reason(&error))?;
            return Ok(text.map(|text| if project.is_some() { without_secrets(&text) } else { text }));
        }
        match path.canonicalize() {
            Ok(real) if self.seen.contains(&real) => Ok(None),
            Ok(_) => Err(format!("imports are followed {MAX_IMPORT_DEPTH} deep")),
            Err(error) => Err(paths::reason(&error)),
        }
    }

    fn take(&mut self, file: InstructionFile, is_own: bool) {
        let is_full = self.files >= MAX_INSTRUCTION_FILES || self.bytes + file.text.len() > MAX_INSTRUCTIONS;
        if is_full || !self.left_out.is_empty() {
            return self.left_out.push(file.path);
        }
        self.bytes += file.text.len();
        self.files += 1;
        self.notices.extend(warning(&file));
        match self.nearest.last_mut().filter(|_| !is_own) {
            Some(folder) => folder.push(file),
            None => self.own.push(file),
        }
    }

    fn finish(mut self) -> InstructionFiles {
        self.notices.extend(omission_notice(&self.left_out));
        let files = self.own.into_iter().chain(self.nearest.into_iter().rev().flatten()).collect();
        InstructionFiles { files, notices: self.notices }
    }
}

/// The files that such messages have given the model.
pub(crate) fn files_in_messages(messages: &[Arc<Message>]) -> Vec<PathBuf> {
    let paths = |message: &Arc<Message>| match message.as_ref() {
        Message::Custom(note) if note.custom_type == TOLD => {
            let paths = note.details.as_ref()?.get("paths")?.as_array()?;
            Some(paths.iter().filter_map(|path| path.as_str().map(PathBuf::from)).collect::<Vec<_>>())
        }
        _ => None,
    };
    messages.iter().filter_map(paths).flatten().collect()
}

/// The notice about files that did not fit.
fn omission_notice(files: &[PathBuf]) -> Option<String> {
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

/// The notice about invisible characters.
fn warning(file: &InstructionFile) -> Option<String> {
    let path = file.path.display();
    match file.text.chars().filter(|c| is_invisible(*c)).count() {
        0 => None,
        1 => Some(format!("{path} has an invisible character; check it before you continue")),
        count => Some(format!("{path} has {count} invisible characters; check them before you continue")),
    }
}

/// The text of a file that a project leads to, without the secrets in it.
fn without_secrets(text: &str) -> String {
    Redactor::default().text(text)
}

/// The text of the user's own file, wherever it leads; not a pipe or a device.
pub(super) fn read_own(path: &Path) -> io::Result<String> {
    let bytes = read_capped(path, MAX_INSTRUCTION_FILE)?;
    Ok(clean_text(&encoding::text(&bytes)))
}

/// The text without a byte order mark, and with U+FFFD in place of every NUL.
pub(super) fn clean_text(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// Whether a character is invisible or changes the appearance of others: direction marks, tags, separators,
/// zero widths. The joiner of emoji is not one of them.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_users_rules_are_those_of_the_project() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (claude, project) = (root.join("home/.claude"), root.join("elsewhere/project"));
        for (pattern, file, applies) in [
            ("src/**/*.{ts,tsx}", "src/deep/a.tsx", true),
            ("./src/a.ts", "src/a.ts", true),
            ("src/[ab].ts", "src/b.ts", true),
            ("**/*.ts", "src/a.ts", true),
            ("lib/*.ts", "src/a.ts", false),
        ] {
            for (cwd, repository) in [("", true), ("", false), ("src", true)] {
                let rule = claude.join("rules/r.md");
                std::fs::create_dir_all(rule.parent().unwrap()).unwrap();
                std::fs::write(&rule, format!("---\npaths: \"{pattern}\"\n---\nRULE")).unwrap();
                std::fs::create_dir_all(project.join("src/deep")).unwrap();
                let _ = std::fs::remove_dir(project.join(".git"));
                if repository {
                    std::fs::create_dir(project.join(".git")).unwrap();
                }
                let places = InstructionPlaces { claude: Some(claude.clone()), ..Default::default() };
                let found = places.files_for_paths(&project.join(cwd), &[project.join(file)]);
                let found = found.files.iter().any(|file| file.path == rule);
                assert_eq!(found, applies, "{pattern} {file} from {cwd:?}, {repository}");
            }
        }
    }
}
