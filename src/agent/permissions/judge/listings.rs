//! Judges commands that list the home directory, or a folder with keys, and use what they find there.

use std::path::{Path, PathBuf};

use super::unnamed::{FINDING, HIDDEN, READING, literals, programs_in};
use super::{Finding, Judge};
use crate::permissions::folders;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::{self, Mark, PathText};
use crate::permissions::protected::{ProtectedKind, Use, encloses, may_be_protected, protected_kind};
use crate::permissions::shell::{Part, Word};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::{NamedPath, Scene};

/// Commands that print the names of what is in folders.
const LISTING: &str = "find bfs fd fdfind rg ls dir vdir tree du";
/// Functions that change files, beside those that open them for writing.
const CHANGING: &str = "write write_text write_bytes writeFile writeFileSync appendFile appendFileSync outputFile \
                        file_put_contents rename replace unlink unlinkSync remove truncate chmod symlink";
/// Functions that unpack files into a folder.
const UNPACKING: &str = "unpack_archive extractall";
/// Modes in which files are opened for writing.
const MODES: &str = "a w x a+ w+ r+ ab wb at wt > >> +< a:utf-8 w:utf-8";
/// Functions that list a folder with all below it.
const DEEP: &str = "walk rglob find finddepth";
/// Signs that a text is about the home directory.
const HOME: [&str; 5] = ["home", "expanduser", "getpw", "'~", "\"~"];
/// The maximum number of texts in a program that are patterns, or choose among names.
const MAX_CHOOSING: usize = 32;

impl Judge<'_> {
    /// The kind of protected files among what a part lists outside of the workspace, and gives to others.
    pub(super) fn kind_of_listed(
        &self,
        part: &Part,
        command: &str,
        scene: &Scene<'_>,
    ) -> Option<ProtectedKind> {
        let program = folders::program(part);
        if !has(LISTING, &program) || !gives(part, command) {
            return None;
        }
        let own = &self.options.own;
        let kind = |path: &NamedPath| match path {
            NamedPath::Known(path) if path.plain != self.places.workspace.plain => {
                encloses(path, &self.places, own, Use::Write)
            }
            NamedPath::Known(_) | NamedPath::Partly(_) => None,
        };
        let kind = scene.path_mentions(part, false).iter().find_map(|it| kind(&it.path))?;
        let found = if program == "find" { scene.results_of_find(&part.words) } else { Vec::new() };
        if found.is_empty() || found.iter().any(PathText::is_open) {
            return Some(kind);
        }
        let paths = found.iter().flat_map(|text| scene.paths_of(text).to_vec());
        paths.into_iter().find_map(|path| match path {
            NamedPath::Known(_) => None,
            NamedPath::Partly(text) => may_be_protected(&text, &self.places, own, Use::Write),
        })
    }

    /// The kind of secrets that are in a folder now.
    pub(super) fn secret_kind_in(&self, folder: &Path) -> Option<ProtectedKind> {
        encloses(&JudgedPath::new(folder), &self.places, &self.options.own, Use::Read)
    }

    /// Judges the home directory, or a folder that holds it, as an operand of a program that may send or serve it.
    pub(super) fn judge_home_operand(
        &self,
        part: &Part,
        path: &JudgedPath,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let mut homes = self.places.home.iter().flat_map(JudgedPath::forms);
        let holds_home = homes.any(|home| home.starts_with(&path.real)) && path.real.parent().is_some();
        // These only put files there.
        let is_receiving = has("wget curl", &folders::program(part));
        if !holds_home || is_receiving || folders::leaves_folders(part) {
            return;
        }
        let mut words = part.words.iter().skip(1);
        if words.any(|word| scene.folder(word).contains(&path.real)) {
            findings.extend(self.secret_kind_in(&path.real).and_then(|kind| self.may_touch(kind)));
        }
    }

    /// Checks for keys in the home directory if a command serves that, or another folder outside of the workspace.
    pub(super) fn judge_served_folder(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        let Some(names) = folders::serves(part, |word| scene.is_there(word)) else { return };
        let folders: Vec<PathBuf> = match names {
            true => part.words.iter().skip(1).flat_map(|word| scene.folder(word)).collect(),
            false => scene.directories_with_outer(part).into_iter().map(|folder| folder.real).collect(),
        };
        let homes: Vec<&Path> = self.places.home.iter().flat_map(JudgedPath::forms).collect();
        let is_outside = |folder: &&PathBuf| {
            !folder.starts_with(&self.places.workspace.real)
                || homes.iter().any(|home| home.starts_with(folder))
        };
        let kind = folders.iter().filter(is_outside).find_map(|folder| self.secret_kind_in(folder));
        findings.extend(kind.and_then(|kind| self.may_touch(kind)));
    }

    /// Checks protected paths for what a program in another language finds in the home directory, and reads or writes:
    /// `[p.read_text() for p in Path.home().glob('.s*/*')]`.
    pub(super) fn judge_listed_home(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        for text in programs_in(part) {
            let lower = text.to_lowercase();
            if HOME.iter().any(|sign| lower.contains(sign)) {
                findings.extend(self.kind_found_at_home(&text, scene).and_then(|kind| self.may_touch(kind)));
            }
        }
    }

    fn kind_found_at_home(&self, text: &str, scene: &Scene<'_>) -> Option<ProtectedKind> {
        let names: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let has_one = |of: &str| names.iter().any(|name| !name.is_empty() && has(of, name));
        let literals: Vec<&str> = literals(text).into_iter().map(|(literal, _)| literal).collect();
        let changes =
            has_one(CHANGING) || has_one(UNPACKING) || literals.iter().any(|literal| has(MODES, literal));
        if !(has_one(FINDING) || has_one(UNPACKING)) || !(changes || has_one(READING)) {
            return None;
        }
        let is_used = if changes { Use::Write } else { Use::Read };
        let is_pattern = |literal: &&&str| literal.contains(['*', '?', '[']);
        let below = |literal: &str| format!("~/{}", literal.trim_start_matches(['~', '/', '.']));
        let folders = |name: &str| {
            scene.paths_of(&PathText::literal(name)).iter().filter_map(NamedPath::folder).collect::<Vec<_>>()
        };
        let named =
            literals.iter().filter(|literal| !is_pattern(literal) && literal.contains(char::is_alphanumeric));
        let mut roots: Vec<JudgedPath> =
            named.clone().take(MAX_CHOOSING).flat_map(|literal| folders(&below(literal))).collect();
        if roots.is_empty() {
            roots = folders("~");
        }
        let patterns: Vec<&str> = literals.iter().filter(is_pattern).copied().take(MAX_CHOOSING).collect();
        let is_deep = has_one(DEEP) || patterns.iter().any(|pattern| pattern.contains("**"));
        let mut chosen: Vec<PathText> =
            patterns.iter().flat_map(|pattern| of_pattern(pattern, has_one(HIDDEN))).collect();
        if chosen.is_empty() && has_one(super::unnamed::CHOOSING) {
            let any = [Mark::Name];
            chosen.extend(named.take(MAX_CHOOSING).filter(|literal| literal.len() > 1).map(|literal| {
                let mut text = PathText::of(&any);
                text.extend(&PathText::literal(literal));
                text.push(Mark::Name);
                text
            }));
        }
        let own = &self.options.own;
        let is_any = |text: &PathText| text.marks().iter().all(|mark| *mark == Mark::Name);
        roots.iter().find_map(|root| {
            let all = || encloses(root, &self.places, own, is_used);
            if chosen.is_empty() || is_deep && chosen.iter().any(is_any) {
                return all();
            }
            // What is found is there.
            let kind = |path: &NamedPath| match path {
                NamedPath::Known(path) => protected_kind(path, &self.places, own, is_used),
                NamedPath::Partly(text) if is_deep => may_be_protected(text, &self.places, own, is_used),
                NamedPath::Partly(_) => None,
            };
            let folder = if is_deep { PathText::any() } else { PathText::from(root.plain.as_path()) };
            chosen.iter().find_map(|text| {
                let mut whole = folder.clone();
                whole.push(Mark::Char('/'));
                whole.extend(text);
                scene.paths_of(&whole).iter().find_map(kind)
            })
        })
    }
}

/// Whether another command receives what a part prints or finds.
fn gives(part: &Part, command: &str) -> bool {
    let behind = command.get(part.span.end..).unwrap_or_default().trim_start();
    let runs = |word: &Word| {
        word.literal().is_some_and(|word| has("-exec -execdir -ok -okdir -x -X --exec --exec-batch", &word))
    };
    behind.starts_with(['|', ')', '`']) || part.words.iter().any(runs)
}

/// The files that a pattern in a program finds in a folder. Some functions find hidden ones, whatever the pattern.
fn of_pattern(pattern: &str, sees_hidden: bool) -> Vec<PathText> {
    let below = pattern.trim_start_matches(['~', '/']);
    let below = below.rsplit_once("**/").map_or(below, |(_, last)| last);
    let texts = path_text::of_glob(below).into_iter();
    texts
        .map(|text| {
            let mut whole = PathText::default();
            text.marks()
                .iter()
                .for_each(|mark| if sees_hidden { whole.push(*mark) } else { whole.push_of_pattern(*mark) });
            whole
        })
        .collect()
}
