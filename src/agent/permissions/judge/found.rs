//! Judges the protected files that a search in the project finds for what changes them: `find -exec sed -i`,
//! `grep -rl x | xargs sed -i`.

mod programs;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::FileType;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use tau_tools::regular_files::read_capped;

use super::unnamed::{Choice, programs_in};
use super::{Finding, Judge};
use crate::permissions::dangerous::fed::{feeds, sources};
use crate::permissions::dangerous::is_positional;
use crate::permissions::folders;
use crate::permissions::operands::is_left_out;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::PathText;
use crate::permissions::protected::Use;
use crate::permissions::shell::{Analysis, Part, Word};
use crate::permissions::subcommands::has;
use crate::permissions::word_texts::is_filled_in;
use crate::permissions::words_as_paths::{NamedPath, Scene};

/// The maximum number of files and folders that are looked at.
const MAX_ENTRIES: usize = 4_000;
/// The maximum size of a file in which a text is looked for, in bytes.
const MAX_SIZE: u64 = 1 << 20;
/// Searches for files, and searches in files.
const FINDING: &str = "find fd fdfind";
/// Tests of `find` on names alone.
const NAMES: &str = "-name -iname";
const GREPPING: &str = "grep egrep fgrep rgrep rg";

/// Options, each as a letter and in words.
type LetterOptions = &'static [(char, &'static str)];

/// Programs that change every file in the folders that they are given, the options with which they do, and
/// those with which they do not.
const RECURSIVE: [(&str, LetterOptions, LetterOptions); 5] = [
    (
        "gzip gunzip pigz unpigz",
        &[('r', "--recursive")],
        &[('k', "--keep"), ('c', "--stdout --to-stdout"), ('t', "--test"), ('l', "--list")],
    ),
    ("zstd unzstd pzstd lz4", &[('r', "--recursive"), ('\0', "--rm")], &[('c', "--stdout"), ('t', "--test")]),
    ("ccrypt ccencrypt ccdecrypt", &[('r', "--recursive")], &[]),
    ("zip", &[('r', "--recurse-paths"), ('m', "--move")], &[]),
    ("7z 7za 7zz", &[('\0', "-sdel")], &[]),
];

/// The files that a search finds, as far as its words say it.
#[derive(Default)]
struct Search {
    /// The folders in which it begins.
    starts: Vec<JudgedPath>,
    /// The paths that it finds; any if empty.
    paths: Vec<PathText>,
    included: Vec<NamePattern>,
    excluded: Vec<NamePattern>,
    /// The folders in which it does not look.
    closed: Vec<NamePattern>,
    /// The letter of the type that it finds.
    kind: Option<char>,
    depth: Option<usize>,
    /// A text in the files that it finds, in lower case.
    text: Option<String>,
    /// A text in the names that it finds.
    name: Option<String>,
    /// How a program chooses among the names.
    choice: Option<Choice>,
}

/// A pattern of a name, or of a path.
struct NamePattern {
    glob: GlobMatcher,
    is_path: bool,
}

impl Judge<'_> {
    /// Checks protected paths among what searches find for a part that changes it.
    pub(super) fn judge_found_files(
        &self,
        part: &Part,
        command: &str,
        analysis: &Analysis,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let searches = searches(part, command, analysis);
        let is_here = |word: &Word| word.literal().is_some_and(|text| text == "." || text.starts_with('-'));
        let is_below = part.words.get(1).is_some_and(is_here) && folders::removes_found_files(part);
        let entered = is_below.then(|| scene.entered_folders(part)).flatten();
        let run = run_by_fd(part);
        let mut found: Vec<Search> = searches.iter().filter_map(|search| Search::of(search, scene)).collect();
        if !found.is_empty() && self.objection(run.as_ref().unwrap_or(part), scene).is_none() {
            found.clear();
        }
        found.extend(programs_in(part).iter().flat_map(|text| programs::searches(text, part, scene)));
        found.extend(Search::of_recursion(part, scene));
        for search in found {
            let mut asked = Vec::new();
            let is_entered =
                |start: &&JudgedPath| entered.as_ref().is_none_or(|folders| folders.contains(&start.plain));
            for start in search.starts.iter().filter(|start| self.is_in_workspace(start)).filter(is_entered) {
                self.check_found_files(&start.plain, &search, &mut asked);
            }
            findings.extend(asked);
        }
    }

    /// Checks what a search finds below a folder, the upper files before those below, up to the first protected one.
    fn check_found_files(&self, start: &Path, search: &Search, findings: &mut Vec<Finding>) {
        let (mut folders, mut count) = (VecDeque::from([(start.to_owned(), 1_usize)]), 0_usize);
        while let Some((folder, depth)) = folders.pop_front() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                count += 1;
                if count > MAX_ENTRIES || !findings.is_empty() {
                    return;
                }
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if self.is_one(&search.closed, &path) {
                    continue;
                }
                let (found, mut asked) = (JudgedPath { plain: path.clone(), real: path.clone() }, Vec::new());
                self.check_protected_path(&found, Use::Write, &mut asked);
                // Few files are protected, and only these are read.
                if !asked.is_empty() && self.finds(search, &path, kind) {
                    findings.extend(asked);
                }
                let is_deeper = search.depth.is_none_or(|most| depth < most);
                // Git compresses what is there.
                let is_packed = search.text.is_some() && path.ends_with(".git/objects");
                folders.extend((kind.is_dir() && is_deeper && !is_packed).then_some((path, depth + 1)));
            }
        }
    }

    fn finds(&self, search: &Search, path: &Path, kind: FileType) -> bool {
        let is_kind = match search.kind {
            Some('f') => kind.is_file(),
            Some('d') => kind.is_dir(),
            Some('l') => kind.is_symlink(),
            _ => true,
        };
        let text = PathText::from(path);
        let holds = |text: &String| {
            let read = kind.is_file().then(|| read_capped(path, MAX_SIZE).ok()).flatten();
            read.is_some_and(|read| String::from_utf8_lossy(&read).to_lowercase().contains(text))
        };
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        is_kind
            && !self.is_one(&search.excluded, path)
            && (search.paths.is_empty() || search.paths.iter().any(|known| text.meets(known)))
            && search.included.iter().all(|glob| self.is_one(std::slice::from_ref(glob), path))
            && search.name.as_ref().is_none_or(|known| name.contains(known))
            && search.choice.as_ref().is_none_or(|choice| choice.takes(&name))
            && search.text.as_ref().is_none_or(holds)
    }

    /// Whether one of these patterns is that of a path.
    fn is_one(&self, patterns: &[NamePattern], path: &Path) -> bool {
        let below = path.strip_prefix(&self.places.workspace.plain).unwrap_or(path);
        let from_here = Path::new(".").join(below).into_os_string();
        let name = path.file_name().unwrap_or_default();
        patterns.iter().any(|NamePattern { glob, is_path }| match is_path {
            true => [path, below, Path::new(&from_here)].iter().any(|path| glob.is_match(path)),
            false => glob.is_match(name),
        })
    }
}

impl Search {
    /// The files of folders that a program changes with all below: `gzip -r .`.
    fn of_recursion(part: &Part, scene: &Scene<'_>) -> Option<Search> {
        let program = folders::program(part);
        let words: Vec<_> =
            part.words.iter().skip(1).map(|word| word.literal().unwrap_or_default()).collect();
        let is_given = |(letter, long): (char, &str)| {
            let is_letter =
                |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
            words.iter().any(|word| is_letter(word) || has(long, word))
        };
        let (_, changing, keeping) = RECURSIVE.iter().find(|(programs, ..)| has(programs, &program))?;
        let changes = changing.iter().all(|option| is_given(*option))
            && !keeping.iter().any(|option| is_given(*option));
        let named = part.words.iter().skip(1).filter(|_| changes).flat_map(|word| scene.folder(word));
        let starts = named.map(|path| JudgedPath::new(&path)).collect();
        Some(Search { starts, kind: Some('f'), ..Search::default() })
            .filter(|search| !search.starts.is_empty())
    }

    /// The search that a part makes; `None` if it finds no hidden files, or does not search.
    fn of(part: &Part, scene: &Scene<'_>) -> Option<Search> {
        let program = folders::program(part);
        let words: Vec<_> = part.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
        let mut search = Search::default();
        for index in (1..words.len()).filter(|index| is_left_out(part, *index)) {
            let text = words.get(index).map_or("", |text| &**text);
            let value =
                text.split_once('=').filter(|_| text.starts_with("--")).map_or(text, |(_, value)| value);
            let value = value.trim_start_matches('!');
            let of_find = index.checked_sub(1).and_then(|at| words.get(at)).filter(|_| program == "find");
            let is_path =
                of_find.map_or(value.trim_end_matches(['/', '*']).contains('/'), |test| !has(NAMES, test));
            // What is below a folder that is left out, too.
            let patterns = [value, value.trim_end_matches(['/', '*'])];
            let patterns = patterns.into_iter().filter_map(|value| NamePattern::new(value, is_path));
            let is_not = |back: usize| {
                let at = index.checked_sub(back);
                at.and_then(|at| words.get(at)).is_some_and(|word| has("! -not", word))
            };
            let is_pruned = of_find.is_none() || !is_not(2) && !is_not(3);
            if is_pruned { search.closed.extend(patterns) } else { search.excluded.extend(patterns) }
        }
        match &*program {
            "find" => search.of_find(part, &words, scene),
            _ => search.of_others(part, &words, scene),
        }
    }

    /// The search of a program that finds the files with a text, or those with a text in their names.
    fn of_others(mut self, part: &Part, words: &[Cow<'_, str>], scene: &Scene<'_>) -> Option<Search> {
        let program = folders::program(part);
        let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
        let is_flag = |letters: &[char]| words.iter().any(|word| is_short(word) && word.contains(letters));
        let is_long = |long: &str| words.iter().any(|word| has(long, word));
        let sees_all = match &*program {
            "rg" => is_long("--hidden -. -uu -uuu"),
            "fd" | "fdfind" => is_flag(&['H', 'u']) || is_long("--hidden --unrestricted"),
            "rgrep" => true,
            _ => is_flag(&['r', 'R']) || is_long("--recursive --dereference-recursive"),
        };
        if !sees_all {
            return None;
        }
        let named = part.words.iter().enumerate().skip(1).filter(|(index, _)| !is_left_out(part, *index));
        let folders = named.flat_map(|(_, word)| scene.folder(word));
        self.starts = folders.map(|path| JudgedPath::new(&path)).collect();
        if self.starts.is_empty() {
            self.starts = scene.working_directories();
        }
        let mut chosen = words.iter().filter_map(|word| word.strip_prefix("--include="));
        self.included.extend(
            chosen.next().and_then(|glob| NamePattern::new(glob, false)).filter(|_| chosen.next().is_none()),
        );
        let is_plain =
            |text: &&str| text.chars().all(|c| c.is_alphanumeric() || " _-=:/@#,;'\"<>".contains(c));
        // Options with a value may come before the pattern, and others find what does not have it.
        let arguments = words.get(1..).unwrap_or_default();
        let at = arguments.iter().position(|word| !word.starts_with('-')).unwrap_or(arguments.len());
        let is_certain = arguments
            .iter()
            .take(at)
            .filter(|option| !has("--hidden --no-ignore --recursive", option))
            .all(|option| is_short(option) && !option.contains(|c| "efABCmgtEdjLvxX".contains(c)));
        let pattern = arguments.get(at).map(|text| &**text).filter(is_plain).filter(|_| is_certain);
        let pattern = pattern.filter(|text| !text.is_empty()).map(str::to_lowercase);
        if has(GREPPING, &program) {
            self.text = pattern;
        } else {
            self.name = pattern;
        }
        Some(self)
    }

    fn of_find(mut self, part: &Part, words: &[Cow<'_, str>], scene: &Scene<'_>) -> Option<Search> {
        // Nothing is lost with what is empty.
        if words.iter().any(|word| word == "-empty") && words.iter().any(|word| word == "-delete") {
            return None;
        }
        let value = |option: &str| {
            let at = words.iter().position(|word| word == option)?;
            words.get(at + 1).filter(|_| {
                at.checked_sub(1).and_then(|at| words.get(at)).is_none_or(|before| !has("! -not", before))
            })
        };
        let has_others = words.iter().any(|word| has("-o -or ,", word));
        if !has_others {
            self.kind = value("-type").or_else(|| value("-xtype")).and_then(|kind| kind.chars().next());
            let tests = words
                .iter()
                .enumerate()
                .filter(|(_, word)| has("-path -ipath -wholename -iwholename -iname", word));
            let tests = tests.filter(|(at, _)| !is_left_out(part, at + 1));
            self.included = tests
                .filter_map(|(at, test)| NamePattern::new(words.get(at + 1)?, !has(NAMES, test)))
                .collect();
        }
        self.depth = value("-maxdepth").and_then(|depth| depth.parse().ok());
        for text in scene.results_of_find(&part.words) {
            for path in scene.paths_of(&text).iter() {
                let NamedPath::Partly(text) = path else { continue };
                let known = text.known_start();
                let start = JudgedPath::new(Path::new(known.trim_end_matches('/')));
                if !self.starts.iter().any(|other| other.plain == start.plain) {
                    self.starts.push(start);
                }
                self.paths.push(text.clone());
            }
        }
        Some(self)
    }
}

impl NamePattern {
    /// A pattern in which `*` is any part of a path.
    fn new(pattern: &str, is_path: bool) -> Option<Self> {
        let glob = GlobBuilder::new(pattern).literal_separator(false).case_insensitive(true).build();
        let glob =
            glob.ok().filter(|_| pattern.chars().any(char::is_alphanumeric) || pattern.contains('.'))?;
        Some(NamePattern { glob: glob.compile_matcher(), is_path })
    }
}

/// The command that an `fd` runs on what it finds.
fn run_by_fd(part: &Part) -> Option<Part> {
    let runs = |word: &Word| word.literal().is_some_and(|text| has("-x -X --exec --exec-batch", &text));
    let at = part.words.iter().position(runs).filter(|_| has("fd fdfind", &folders::program(part)))?;
    Some(Part { words: part.words.get(at + 1..)?.to_vec(), more_arguments: true, ..Part::default() })
}

/// The searches that give a part the names of files.
fn searches<'a>(part: &'a Part, command: &str, analysis: &'a Analysis) -> Vec<Cow<'a, Part>> {
    let searches =
        |part: &Part| has(FINDING, &folders::program(part)) || has(GREPPING, &folders::program(part));
    let of_outer = |part: &Part| {
        let (words, _) = part.outer.last()?;
        let outer = Part { words: words.clone(), ..Part::default() };
        (folders::program(&outer) == "find").then_some(outer)
    };
    let mut found: Vec<Cow<'a, Part>> = of_outer(part).map(Cow::Owned).into_iter().collect();
    let runs =
        |word: &Word| word.literal().is_some_and(|text| has("-delete -x -X --exec --exec-batch", &text));
    if has(FINDING, &folders::program(part)) && part.words.iter().any(runs) {
        found.push(Cow::Borrowed(part));
    }
    if part.words.iter().any(|word| is_positional(word, command)) {
        let scripts = analysis.parts.iter().filter(|other| !other.shell.is_empty());
        found.extend(scripts.filter_map(of_outer).map(Cow::Owned));
    }
    let is_filled = part.more_arguments || part.words.iter().any(is_filled_in);
    let feeding =
        analysis.parts.iter().filter(|other| is_filled && found.is_empty() && feeds(other, command));
    let feeding: Vec<&Part> =
        feeding.chain(sources(part, command, analysis)).filter(|other| searches(other)).collect();
    found.extend(feeding.into_iter().map(Cow::Borrowed));
    found
}
