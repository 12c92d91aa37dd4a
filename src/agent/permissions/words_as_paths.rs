//! Resolves the words of a command to paths, as far as possible without running it.

mod candidates;
mod derived;
mod directories;
mod found;
mod outputs;
mod usual;
mod values;
mod written_out;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::links;
use super::path_pattern::{JudgedPath, Places, in_normal_form};
use super::path_text::{MAX_ALTERNATIVES, Mark, PathText};
use super::programs;
use super::shell::{Analysis, Direction, Part, Piece, Word};
use candidates::{at_home, candidates, in_text, split};
use derived::{MAX_ENDS, ends_in};
use values::{edit_value, expansion_edit};

/// The maximum number of words of a part whose links are followed; of the others only the text counts.
const MAX_RESOLVED: usize = 64;
/// The maximum number of names on the disk that a pattern is compared with.
const MAX_NAMES: usize = 4_000;
/// The maximum length of a word with its values; a longer one may be any text.
const MAX_TEXT: usize = 8_000;
/// The maximum number of folders of other words that a path may be relative to.
const MAX_FOLDERS: usize = 8;
/// Variables that `read` and `mapfile` set where no others are named. Where their values are not known, they may be any
/// folder, as may be what [`super::shell::loosen`] puts them in the place of.
pub(super) const DEFAULTS: [&str; 2] = ["REPLY", "MAPFILE"];
/// Variables of the shell that are numbers.
const NUMBERS: [&str; 7] = ["RANDOM", "SECONDS", "UID", "EUID", "PPID", "LINENO", "SRANDOM"];

/// A path that a command names.
#[derive(Clone, Debug)]
pub(super) enum NamedPath {
    Known(Rc<JudgedPath>),
    /// Absolute, and not fully known.
    Partly(PathText),
}

/// From where relative paths are seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// As many of the directories of the command.
    Working(usize),
    /// The folders with this index among those that parts entered.
    Entered(usize),
    Unknown,
}

/// How paths are found: from where, and whether links are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Lookup {
    base: Base,
    follows: bool,
}

/// The paths that a text may be.
type KnownPaths = Vec<(Lookup, Rc<[NamedPath]>)>;

/// A path among the words of a part, and how it is named there.
pub(super) struct PathMention {
    pub path: NamedPath,
    pub how: Naming,
    /// False for a bare word that names no file, which cannot be read.
    pub counts: bool,
    /// Whether the part only copies it to another name.
    pub is_copied: bool,
}

/// How a word names a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// As an operand, or the value of an option.
    Word,
    /// Inside a text, such as a program in another language.
    InText,
    /// Inside a text, below a home directory that the text may put before it.
    AtHome,
    /// Relative to a folder that another word names, as in `cp x DIR` and `tar -C DIR x`, or made of words.
    Through,
}

/// The context of a command before it runs: its directories, and the values of its variables.
pub(super) struct Scene<'a> {
    places: &'a Places,
    /// The directories that its parts may run in.
    directories: Vec<PathText>,
    /// These as paths, where they are fully known. Made once all are there.
    known_directories: OnceCell<Vec<Option<PathBuf>>>,
    /// How many of them there are before a part, by its position, if it runs once and in order.
    directories_before: BTreeMap<usize, usize>,
    /// The only folders that parts can run in which entered them.
    entered: RefCell<Vec<Vec<PathBuf>>>,
    /// See [`Scene::enters_known_folders`].
    enters_known: OnceCell<bool>,
    /// The values that it assigns to variables; an unknown one is [`PathText::any`].
    values: BTreeMap<String, Vec<PathText>>,
    analysis: &'a Analysis,
    /// Folders that its words name: links to them may be created before they are used. Commands that only read
    /// do not need them.
    folders: OnceCell<Vec<PathBuf>>,
    /// The cached paths of its texts, once all directories are known.
    paths: RefCell<BTreeMap<PathText, KnownPaths>>,
    /// How much was done to write commands out, see [`Scene::written_out`].
    spent: Cell<usize>,
}

impl NamedPath {
    /// A known path, with links followed or not.
    fn from_path(path: PathBuf, follows: bool) -> Self {
        if follows {
            return NamedPath::Known(Rc::new(JudgedPath::of(path)));
        }
        let plain = in_normal_form(path);
        NamedPath::Known(Rc::new(JudgedPath { real: plain.clone(), plain }))
    }

    /// The folder that is there, if it is fully known.
    pub(super) fn folder(&self) -> Option<JudgedPath> {
        match self {
            NamedPath::Known(path) if links::is_folder(&path.real) => Some(JudgedPath::clone(path)),
            NamedPath::Known(_) | NamedPath::Partly(_) => None,
        }
    }

    /// Whether the path exists, as far as it is known.
    fn is_there(&self) -> bool {
        match self {
            NamedPath::Known(path) => links::kind(&path.plain).is_some(),
            NamedPath::Partly(_) => true,
        }
    }
}

/// The arguments of a part that may be files.
fn used_words(part: &Part) -> impl Iterator<Item = &Word> {
    let words = part.words.iter().enumerate().skip(1);
    words.filter(|(index, _)| !super::operands::is_text(part, *index)).map(|(_, word)| word)
}

impl<'a> Scene<'a> {
    pub(super) fn of(analysis: &'a Analysis, places: &'a Places) -> Self {
        let directories = vec![PathText::from(places.workspace.plain.as_path())];
        Self::from(analysis, places, directories, BTreeMap::new())
    }

    /// The scene of a command that runs within this one.
    pub(super) fn inside<'b>(&'b self, analysis: &'b Analysis) -> Scene<'b> {
        Scene::from(analysis, self.places, self.directories.clone(), self.values.clone())
    }

    fn from(
        analysis: &'a Analysis,
        places: &'a Places,
        directories: Vec<PathText>,
        values: BTreeMap<String, Vec<PathText>>,
    ) -> Self {
        let (folders, paths, known_directories) = (OnceCell::new(), RefCell::default(), OnceCell::new());
        let (directories_before, entered) = (BTreeMap::new(), RefCell::default());
        let enters_known = OnceCell::new();
        let mut scene = Scene {
            places,
            directories,
            known_directories,
            directories_before,
            entered,
            enters_known,
            values,
            analysis,
            folders,
            paths,
            spent: Cell::new(0),
        };
        for part in &analysis.parts {
            scene.assign(part);
            if !part.repeats {
                scene.directories_before.entry(part.span.start).or_insert(scene.directories.len());
            }
            let name = part.words.first().and_then(Word::literal);
            if matches!(name.as_deref(), Some("cd" | "pushd")) {
                scene.change_directory(part);
            }
        }
        analysis.parts.iter().for_each(|part| scene.refer(part));
        scene
    }

    fn home(&self) -> Vec<PathText> {
        let home = self.places.home.iter().map(|home| PathText::from(home.plain.as_path()));
        let all: Vec<PathText> = home.chain(self.values.get("HOME").into_iter().flatten().cloned()).collect();
        if all.is_empty() { vec![PathText::any()] } else { all }
    }

    /// The possible values of a variable.
    fn value(&self, name: &str, splits: bool) -> Vec<PathText> {
        if name == "HOME" {
            return self.home();
        }
        if let Some((name, edit)) = expansion_edit(name) {
            let edited = self.value(name, splits).into_iter().map(|value| edit_value(&value, edit));
            return edited
                .map(|text| text.as_deref().map_or_else(PathText::any, PathText::literal))
                .collect();
        }
        let Some(values) = self.values.get(name) else {
            return match name {
                "PWD" => self.directories.clone(),
                _ if DEFAULTS.contains(&name) => self.home().into_iter().chain([PathText::any()]).collect(),
                "OLDPWD" => self.directories.iter().cloned().chain([PathText::any()]).collect(),
                _ if NUMBERS.contains(&name) => vec![PathText::of(&[Mark::Digits])],
                _ => usual::inherited_values(name),
            };
        };
        if splits { values.iter().map(split).collect() } else { values.clone() }
    }

    /// The texts that a word may become: braces and the values of variables in every combination.
    pub(super) fn texts(&self, word: &Word) -> Vec<PathText> {
        if let Some(text) = word.literal().filter(|_| !word.is_brace) {
            return vec![PathText::literal(&text)];
        }
        let printed = outputs::known_outputs(word, self.analysis);
        let mut all = super::word_texts::atoms(printed.as_ref().unwrap_or(word));
        let at_home = outputs::printed_home(word, self.analysis);
        let program = outputs::printed_program(word, self.analysis);
        all.extend(at_home.iter().chain(&program).flat_map(super::word_texts::atoms));
        let mut found = Vec::new();
        for atoms in all {
            found.extend(self.texts_of_atoms(&atoms, word.splits));
            if found.len() > MAX_ALTERNATIVES {
                return vec![PathText::any()];
            }
        }
        found.dedup();
        found
    }

    fn texts_of_atoms(&self, atoms: &[super::word_texts::Atom], splits: bool) -> Vec<PathText> {
        use super::word_texts::Atom;
        let mut found = vec![PathText::default()];
        let is_wide = self.analysis.sees_hidden;
        let push = if is_wide { PathText::push_of_wide_pattern } else { PathText::push_of_pattern };
        for atom in atoms {
            let values = match atom {
                Atom::Mark(mark) => {
                    found.iter_mut().for_each(|text| push(text, *mark));
                    continue;
                }
                Atom::Home => self.home(),
                Atom::Value(name) => self.value(name, splits),
            };
            if found.len() * values.len() > MAX_ALTERNATIVES {
                return vec![PathText::any()];
            }
            let joined = |text: &PathText| {
                let joined = values.iter().map(|value| {
                    let mut whole = text.clone();
                    whole.extend(value);
                    whole
                });
                joined.collect::<Vec<_>>()
            };
            found = found.iter().flat_map(joined).collect();
            if found.iter().any(|text| text.marks().len() > MAX_TEXT) {
                return vec![PathText::any()];
            }
        }
        found
    }

    /// A path with its `~` replaced, and paths through `/proc` and `/dev/fd` replaced by their targets.
    fn expand<'t>(&self, text: &'t PathText) -> Cow<'t, [PathText]> {
        if text.starts_with("~") {
            let (name, rest) =
                text.split_once('/').map_or((text.clone(), None), |(name, rest)| (name, Some(rest)));
            let folders = match name.text().as_deref() {
                Some("~") => self.home(),
                Some("~+") => self.directories.clone(),
                _ => vec![PathText::any()],
            };
            let rest = rest.unwrap_or_default();
            let below = |folder: &PathText| {
                // What is below it is relative to it, also where its start is not known.
                let mut whole = folder.clone();
                whole.push(Mark::Char('/'));
                whole.extend(&rest);
                whole
            };
            return folders.iter().map(below).collect();
        }
        for start in ["/proc/", "/dev/fd/"] {
            let Some(rest) = text.strip_prefix(start) else { continue };
            let parts = rest.split(|c| c == '/');
            let is_process = start == "/proc/";
            // `/proc/PID/task/TID` is like `/proc/PID`.
            let is_task = parts.get(1).and_then(PathText::text).as_deref() == Some("task");
            let at = if is_process { if is_task { 3 } else { 1 } } else { 0 };
            let Some(inner) = parts.get(at + 1..).filter(|inner| !inner.is_empty()) else { continue };
            let kind = parts.get(at).and_then(PathText::text);
            let froms = match kind.as_deref() {
                Some("root") if is_process => vec![PathText::default()],
                Some("cwd") if is_process => self.directories.clone(),
                _ => vec![PathText::any()],
            };
            let mut rest = PathText::default();
            for part in inner {
                rest.push(Mark::Char('/'));
                rest.extend(part);
            }
            return froms
                .into_iter()
                .map(|mut from| {
                    from.extend(&rest);
                    from
                })
                .collect();
        }
        Cow::Borrowed(std::slice::from_ref(text))
    }

    /// The paths that a text may be, from any directory that the part may run in.
    fn paths(&self, text: &PathText, lookup: Lookup) -> Rc<[NamedPath]> {
        let is_same = |(known, _): &&(Lookup, _)| *known == lookup;
        if let Some((_, known)) = self.paths.borrow().get(text).and_then(|known| known.iter().find(is_same)) {
            return Rc::clone(known);
        }
        let found: Rc<[NamedPath]> = self.resolve_paths(text, lookup).into();
        self.paths.borrow_mut().entry(text.clone()).or_default().push((lookup, Rc::clone(&found)));
        found
    }

    fn resolve_paths(&self, text: &PathText, Lookup { base, follows }: Lookup) -> Vec<NamedPath> {
        let entered = self.entered.borrow();
        let entered: &[PathBuf] = match base {
            Base::Entered(at) => entered.get(at).map_or(&[], Vec::as_slice),
            Base::Working(_) | Base::Unknown => &[],
        };
        let (directories, known) = match base {
            Base::Working(count) => (
                Cow::Borrowed(self.directories.get(..count).unwrap_or(&self.directories)),
                Cow::Borrowed(self.known_directories()),
            ),
            Base::Entered(_) => (
                entered.iter().map(|folder| PathText::from(folder.as_path())).collect(),
                entered.iter().cloned().map(Some).collect(),
            ),
            Base::Unknown => (Cow::Owned(vec![PathText::any()]), Cow::Owned(vec![None])),
        };
        let mut found = Vec::new();
        for text in self.expand(text).iter() {
            let is_fixed = text.is_absolute() || text.marks().first() == Some(&Mark::Any);
            let bases = if is_fixed { directories.get(..1).unwrap_or_default() } else { &directories };
            let literal = text.text();
            for (at, base) in bases.iter().enumerate() {
                match (known.get(at).and_then(Option::as_ref), &literal) {
                    (Some(base), Some(text)) => found.push(NamedPath::from_path(base.join(text), follows)),
                    _ => self.add_path(&text.within(base), follows, &mut found),
                }
            }
        }
        found
    }

    fn add_path(&self, text: &PathText, follows: bool, found: &mut Vec<NamedPath>) {
        if let Some(path) = text.path() {
            return found.push(NamedPath::from_path(path, follows));
        }
        if !text.is_possible() {
            return;
        }
        let normal = text.normalise();
        // The folder before the first hole may be reached through links.
        let known = text.known_start();
        if let Some((folder, _)) = known.rsplit_once('/').filter(|(folder, _)| follows && !folder.is_empty())
        {
            let real = links::follow_links(Path::new(folder));
            let is_linked = real != Path::new(folder);
            if let Some(rest) = is_linked.then(|| text.strip_prefix(folder)).flatten() {
                let mut whole = PathText::from(real.as_path());
                whole.extend(&rest);
                let whole = whole.normalise();
                found.extend((whole != normal).then_some(NamedPath::Partly(whole)));
            }
        }
        if !text.is_open() {
            // The current matches of a pattern may be links.
            let now = text.on_disk(MAX_NAMES, self.analysis.sees_hidden);
            let is_link = |path: &Path| links::kind(path).is_some_and(|kind| kind.is_symlink());
            let links = now.iter().filter(|path| follows && is_link(path));
            found.extend(links.map(|path| NamedPath::from_path(path.clone(), true)));
            found.extend(now.into_iter().map(|path| NamedPath::from_path(path, false)));
        }
        found.push(NamedPath::Partly(normal));
    }

    /// The paths that the target of a redirection may be, and the possible targets of links that are created
    /// before.
    pub(super) fn target(&self, word: &Word, part: &Part) -> (Vec<NamedPath>, Vec<NamedPath>) {
        let texts = self.texts(word);
        let through = |text: &PathText| {
            self.folders().iter().flat_map(|folder| ends_in(text, folder)).collect::<Vec<_>>()
        };
        (
            texts.iter().flat_map(|text| self.paths_from(text, part).to_vec()).collect(),
            texts.iter().flat_map(through).collect(),
        )
    }

    /// The paths that a text may be, from the directories of the command.
    pub(super) fn paths_of(&self, text: &PathText) -> Rc<[NamedPath]> {
        self.paths(text, Lookup { base: self.anywhere(), follows: true })
    }

    /// The paths that a text may be, from where a part runs.
    fn paths_from(&self, text: &PathText, part: &Part) -> Rc<[NamedPath]> {
        self.paths(text, Lookup { base: self.base(part), follows: true })
    }

    /// The values that the command itself gives to a variable.
    pub(super) fn assigned_values(&self, name: &str) -> &[PathText] {
        let name = expansion_edit(name).map_or(name, |(name, _)| name);
        self.values.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The folders that the words of the command name.
    pub(super) fn folders(&self) -> &[PathBuf] {
        self.folders.get_or_init(|| {
            let several = self.analysis.parts.iter().filter(|_| self.analysis.parts.len() > 1);
            let linked = several.clone().flat_map(|part| self.link_targets(part));
            let linked = linked.flat_map(|text| self.folders_of(&text)).take(MAX_FOLDERS);
            // The first word is a program.
            let words = several.clone().flat_map(used_words);
            linked.chain(words.flat_map(|word| self.folder(word)).take(MAX_FOLDERS)).collect()
        })
    }

    /// Whether a word names something that exists.
    pub(super) fn is_there(&self, word: &Word) -> bool {
        self.texts(word).iter().any(|text| {
            self.paths(text, Lookup { base: self.anywhere(), follows: false }).iter().any(NamedPath::is_there)
        })
    }

    /// Whether a redirection of the command writes a file that a word names.
    fn is_written(&self, word: &Word) -> bool {
        let mut redirects = self.analysis.parts.iter().flat_map(|part| &part.redirects);
        let literal = word.literal();
        redirects.any(|it| it.direction == Direction::Write && it.target.literal() == literal)
    }

    /// The existing folders that a word names.
    pub(super) fn folder(&self, word: &Word) -> Vec<PathBuf> {
        let texts = self.texts(word).into_iter().flat_map(|text| match text.starts_with("-") {
            true => candidates(&text, false),
            false => vec![text],
        });
        texts.flat_map(|text| self.folders_of(&text)).collect()
    }

    /// The existing folders that a text may be.
    fn folders_of(&self, text: &PathText) -> Vec<PathBuf> {
        self.paths_of(text).iter().filter_map(NamedPath::folder).map(|path| path.real).collect()
    }

    /// The paths that the name and the arguments of a part may be. `changes` is true if it may do more than
    /// read them.
    pub(super) fn path_mentions(&self, part: &Part, changes: bool) -> Vec<PathMention> {
        let mut named = Vec::new();
        let program = super::folders::program(part);
        let is_editor = changes && programs::is_editor(&program);
        let is_plain = program == "sed" && programs::takes_data(&part.words, part.more_arguments);
        let folders: Vec<PathBuf> = if changes {
            used_words(part).flat_map(|word| self.folder(word)).take(MAX_FOLDERS).collect()
        } else {
            Vec::new()
        };
        // A variable of the shell names nothing until a command gets it, except the files that shells read.
        let is_used = |name: &str| match name {
            "PATH" => false,
            "HISTFILE" | "BASH_ENV" | "ENV" => true,
            _ => !part.words.is_empty(),
        };
        let values = part.values.iter().filter(|(name, _)| is_used(name)).map(|(_, word)| (1, word));
        let subcommands = super::operands::subcommands(part);
        let seen_from = self.base(part);
        for (index, word) in part.words.iter().enumerate().chain(values) {
            let is_argument = part.words.get(index).is_some_and(|it| std::ptr::eq(it, word));
            let is_printed = || !changes && self.is_only_printed(part, index);
            if is_argument && (super::operands::is_text(part, index) || is_printed()) {
                continue;
            }
            let is_copied = is_argument && super::operands::is_copied(part, index);
            // A subcommand is a file only where there is one.
            let is_subcommand = is_argument && subcommands.contains(&index);
            let (texts, is_found) = self.word_texts(part, word);
            // What `find` has found is named from where it runs, wherever it runs the command.
            let base = if is_found && part.elsewhere { self.anywhere() } else { seen_from };
            let lookup = Lookup { base, follows: index < MAX_RESOLVED };
            for text in texts {
                for candidate in candidates(&text, index == 0) {
                    let counts = changes || candidate.marks().contains(&Mark::Char('/'));
                    for path in self.paths(&candidate, lookup).iter() {
                        let is_there = || matches!(path, NamedPath::Known(_)) && path.is_there();
                        let counts = counts || is_there();
                        if !is_subcommand || is_there() {
                            named.push(PathMention {
                                path: path.clone(),
                                how: Naming::Word,
                                counts,
                                is_copied,
                            });
                        }
                    }
                    if changes && index > 0 && !is_subcommand {
                        let through = folders.iter().chain(self.folders());
                        // A copy has the last of its names.
                        let most = if is_copied { 1 } else { MAX_ENDS };
                        let ends =
                            through.flat_map(|folder| ends_in(&candidate, folder).into_iter().take(most));
                        let mention =
                            |path| PathMention { path, how: Naming::Through, counts: true, is_copied: false };
                        named.extend(ends.map(mention));
                    }
                }
                // What was found is a whole name.
                let is_text = changes && !is_plain && !is_found && index > 0;
                let inner = if is_text { in_text(&text, is_editor) } else { Vec::new() };
                let in_home = if inner.is_empty() { Vec::new() } else { at_home(&text) };
                let inner = inner.iter().map(|text| (text, Naming::InText));
                for (text, how) in inner.chain(in_home.iter().map(|text| (text, Naming::AtHome))) {
                    let paths = self.paths(text, Lookup { base: seen_from, follows: true });
                    named.extend(paths.iter().cloned().map(|path| PathMention {
                        path,
                        how,
                        counts: true,
                        is_copied,
                    }));
                }
            }
        }
        if changes {
            self.add_derived_names(part, &mut named);
        }
        self.add_listed_files(part, &program, &mut named);
        named
    }

    /// Adds the names that a part which changes files may make of those it is given, and what it may find.
    fn add_derived_names(&self, part: &Part, named: &mut Vec<PathMention>) {
        let derived = self.derived_names(part).into_iter();
        let derived = derived.flat_map(|text| self.paths_from(&text, part).to_vec());
        named.extend(derived.map(|path| PathMention {
            path,
            how: Naming::Through,
            counts: true,
            is_copied: false,
        }));
        self.add_search_results(part, named);
    }

    /// Adds files that nothing names, if a part takes names from a list.
    fn add_listed_files(&self, part: &Part, program: &str, named: &mut Vec<PathMention>) {
        // To them it is the file with what they send.
        let is_sending = super::subcommands::has("curl http https xh", program);
        let is_list = |word: &Word| {
            let file = programs::response_file(word).filter(|_| !is_sending);
            file.is_some_and(|file| self.is_there(&file) || self.is_written(&file))
        };
        let uses_more = programs::uses_more_files(part) || part.words.iter().skip(1).any(is_list);
        if uses_more && !part.words.iter().any(super::word_texts::is_filled_in) {
            let path = NamedPath::Partly(PathText::any());
            named.push(PathMention { path, how: Naming::Word, counts: false, is_copied: false });
        }
    }

    /// The texts of a word; if `find` fills it in, the results of the search. The second value tells which.
    fn word_texts(&self, part: &Part, word: &Word) -> (Vec<PathText>, bool) {
        let is_whole = matches!(word.pieces.as_slice(), [Piece::Text(text), Piece::Unknown] if text == "{}");
        match part.outer.last().filter(|_| is_whole) {
            Some((outer, _)) => (self.results_of_find(outer), true),
            None => (self.texts(word), false),
        }
    }
}
