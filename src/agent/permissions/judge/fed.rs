//! Finds key files of the project that a command may read because another command or a file supplies their names:
//! `xargs rev < list`, `find . -exec cat {} +`, `cat $(cat list)`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::{Finding, Judge, JudgedPart};
use crate::permissions::dangerous::fed::sources;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::PathText;
use crate::permissions::protected::{ProtectedKind, Use, is_key_name, may_name_key};
use crate::permissions::read_only::find_tracked_file;
use crate::permissions::shell::{Analysis, Part, Piece, Word};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::{NamedPath, Scene};
use crate::permissions::{escapes, folders, programs};

/// The maximum number of files and folders among which key files are looked for.
const MAX_ENTRIES: usize = 10_000;
/// Programs that print the words that they are given, which are judged as such.
const ECHOING: &str = "echo printf seq date pwd basename dirname mktemp";
/// Programs that print names of files, whatever those behind them in a pipe leave out.
const NAMING: &str = "find git";

impl Judge<'_> {
    /// Judges the files that the input of a command names, and those that its texts spell otherwise.
    pub(super) fn judge_input_files(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        let input = part.texts.iter().filter(|_| programs::reads_names(part)).flat_map(|text| text.lines());
        let decoded = escapes::decoded_texts(part);
        let mut texts = input.chain(decoded.iter().map(String::as_str)).map(Word::of_text).peekable();
        if texts.peek().is_none() {
            return;
        }
        let program = part.words.first().cloned().unwrap_or_default();
        let words = std::iter::once(program).chain(texts).collect();
        let read = Part { words, elsewhere: part.elsewhere, ..Part::default() };
        self.judge_names_in_texts(&read, scene, findings);
    }

    /// Checks the key files of the project for a part that reads files that others name.
    pub(super) fn judge_given_names(
        &self,
        judged: &JudgedPart<'_>,
        command: &str,
        analysis: &Analysis,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let part = judged.part;
        let is_given = |piece: &Piece| match piece {
            Piece::Unknown => true,
            Piece::Variable(name) => !scene.assigned_values(name).is_empty(),
            Piece::Text(_) | Piece::Glob(_) | Piece::Home => false,
        };
        let mut pieces = part.words.iter().skip(1).flat_map(|word| &word.pieces);
        if !(part.more_arguments || pieces.any(is_given))
            || folders::prints_no_contents(part)
            || judged.objection.is_some()
        {
            return;
        }
        let given = judged.mentions.iter().filter_map(|it| match &it.path {
            NamedPath::Partly(text) if text.is_open() || text.is_of_folders() => Some(text),
            NamedPath::Partly(_) | NamedPath::Known(_) => None,
        });
        let found = given.into_iter().find_map(|text| match text.is_unknown() && !text.is_of_folders() {
            true => self.find_given_key(part, command, analysis, scene),
            false => self.find_key(text, scene),
        });
        findings.extend(
            found
                .map(|path| {
                    let mut asked = Vec::new();
                    self.check_protected_path(&JudgedPath::new(&path), Use::Read, &mut asked);
                    asked
                })
                .into_iter()
                .flatten(),
        );
    }

    /// A key file among those that the sources of a part may name; any if these are not known.
    fn find_given_key(
        &self,
        part: &Part,
        command: &str,
        analysis: &Analysis,
        scene: &Scene<'_>,
    ) -> Option<PathBuf> {
        let sources = sources(part, command, analysis);
        let name = |part: &Part| folders::program(part).into_owned();
        if !sources.is_empty() && sources.iter().all(|source| has(ECHOING, &name(source))) {
            return None;
        }
        if !sources.iter().any(|source| has(NAMING, &name(source))) {
            return self.find_key(&PathText::any(), scene);
        }
        sources.iter().find_map(|source| match name(source).as_str() {
            "find" => {
                let found = scene.results_of_find(&source.words);
                let paths = found.iter().flat_map(|text| scene.paths_of(text).to_vec());
                paths.into_iter().find_map(|path| match path {
                    NamedPath::Partly(text) => self.find_key(&text, scene),
                    NamedPath::Known(_) => None,
                })
            }
            "git" => scene.working_directories().iter().find_map(|folder| {
                let is_key =
                    |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_key_name);
                find_tracked_file(&folder.real, "keys", is_key).ok().flatten()
            }),
            _ => None,
        })
    }

    /// An existing key file of the project that a text may name.
    pub(super) fn find_key(&self, text: &PathText, scene: &Scene<'_>) -> Option<PathBuf> {
        if self.options.unprotected.contains(&ProtectedKind::Keys) || !may_name_key(text) {
            return None;
        }
        let known = text.known_start();
        let is_it = |path: &Path| text.meets(&PathText::from(path));
        let starts = match known.rsplit_once('/') {
            Some((folder, _)) => vec![JudgedPath::new(Path::new(folder))],
            None => scene.working_directories(),
        };
        let starts = starts.iter().filter(|start| self.is_in_workspace(start));
        starts.into_iter().find_map(|start| first_key(&start.plain, is_it))
    }
}

/// The first file with the name of a key file in a folder, those of the upper folders before those below; none where there
/// is too much to look at.
fn first_key(folder: &Path, is_it: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let (mut folders, mut count) = (VecDeque::from([folder.to_owned()]), 0_usize);
    while let Some(folder) = folders.pop_front() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            count += 1;
            if count > MAX_ENTRIES {
                return None;
            }
            let (name, kind) = (entry.file_name(), entry.file_type().ok()?);
            if kind.is_dir() {
                folders.extend((name != ".git").then(|| entry.path()));
            } else if name.to_str().is_some_and(is_key_name) && is_it(&entry.path()) {
                return Some(entry.path());
            }
        }
    }
    None
}
