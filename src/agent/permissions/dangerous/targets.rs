//! Determines the loss when a path is removed with everything in it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::piped::with_redirections;
use super::printing;
use crate::permissions::links::follow_links;
use crate::permissions::path_pattern::{Places, normalise};
use crate::permissions::path_text::{Mark, PathText};
use crate::permissions::shell::{Analysis, Part, Piece, Word, closing};
use crate::permissions::subcommands::has;
use crate::permissions::word_texts::is_filled_in;
use crate::permissions::words_as_paths::{DEFAULTS, Scene};

/// The maximum number of texts that a word with braces stands for.
const MAX_BRACES: usize = 64;
/// The maximum number of substitutions and variables that are filled in one after another.
const MAX_FILLED: usize = 4;
/// The names of folders at the top of a file system. A path whose beginning is empty may become one.
const TOP: &str = "bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv sys tmp usr var nix snap \
                   Users Applications Library System Volumes private cores";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Root,
    Top(PathBuf),
    Home(PathBuf),
    Workspace(PathBuf),
    /// `.git`.
    History(PathBuf),
    /// A folder that becomes another one if a variable is empty.
    Emptied(Box<Loss>),
    /// A folder that is this one if a variable has that value, which is not known.
    Perhaps(Box<Loss>),
    /// An unknown folder.
    Unknown,
}

impl Loss {
    /// A description for use within a sentence.
    pub(super) fn what(&self) -> String {
        match self {
            Loss::Root => "every file on this machine".to_owned(),
            Loss::Top(path) => format!("{}, with everything in it", path.display()),
            Loss::Home(path) => format!("your home directory {}, with everything in it", path.display()),
            Loss::Workspace(path) => {
                format!("the whole project {}, including uncommitted changes", path.display())
            }
            Loss::History(path) => format!("{}, with all commits that are nowhere else", path.display()),
            Loss::Emptied(loss) => format!("{}, should the variable be empty", loss.what()),
            Loss::Perhaps(loss) => format!("{}, should the variable name it", loss.what()),
            Loss::Unknown => "everything in a folder that is only known when it runs".to_owned(),
        }
    }

    /// Whether it goes beyond the project.
    pub(super) fn is_outside(&self) -> bool {
        match self {
            Loss::Root | Loss::Top(_) | Loss::Home(_) | Loss::Emptied(_) => true,
            Loss::Perhaps(loss) => loss.is_outside(),
            Loss::Workspace(_) | Loss::History(_) | Loss::Unknown => false,
        }
    }
}

/// The context in which words are resolved.
#[derive(Clone)]
pub(super) struct Targets<'a> {
    /// The known working directories.
    directories: Vec<PathBuf>,
    /// Whether there may be others.
    has_others: bool,
    pub places: &'a Places,
    pub scene: &'a Scene<'a>,
    command: &'a str,
    pub analysis: &'a Analysis,
}

/// Whether this is the name of a variable, with nothing that changes its value, and no argument.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| !c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The placeholder for an unknown part of a word.
const UNKNOWN: char = '\u{0}';

impl<'a> Targets<'a> {
    pub(super) fn new(
        command: &'a str,
        analysis: &'a Analysis,
        scene: &'a Scene<'a>,
        places: &'a Places,
    ) -> Self {
        let directories = scene.working_directories().into_iter().map(|path| path.plain).collect();
        let has_others = scene.directories_of(&Part::default()).is_none();
        Targets { directories, has_others, places, scene, command, analysis }
    }

    /// Those of a part, which runs only in the folders that it entered before.
    pub(super) fn of_part(&self, part: &Part) -> Cow<'_, Self> {
        // A function may change the directory.
        if part.entered.is_empty() || !self.analysis.functions.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut directories = self.directories.clone();
        for folder in &part.entered {
            let text = self.text(folder, false);
            directories.iter_mut().for_each(|directory| *directory = directory.join(&text));
        }
        directories.dedup();
        Cow::Owned(Targets { directories, ..self.clone() })
    }

    /// The loss if the paths named by a word are removed.
    pub(super) fn loss(&self, word: &Word, elsewhere: bool) -> Option<Loss> {
        let loss = self.loss_of(word, elsewhere, 0)?;
        let is_default = |piece: &Piece| matches!(piece, Piece::Variable(name) if DEFAULTS.contains(&name.as_str()) && self.scene.assigned_values(name).is_empty());
        Some(if word.pieces.iter().any(is_default) { Loss::Perhaps(Box::new(loss)) } else { loss })
    }

    fn loss_of(&self, word: &Word, elsewhere: bool, depth: usize) -> Option<Loss> {
        // `${X:?}` ends the command where it would be empty.
        let written = self.command.get(word.span.clone()).unwrap_or_default();
        let is_kept = written.contains(":?") && written.matches('$').count() == 1;
        let known = self.texts(word).into_iter().find_map(|text| match text.contains(UNKNOWN) {
            true if is_kept => None,
            true => self.loss_if_empty(&text, elsewhere),
            false => self.loss_of_text(&text, elsewhere),
        });
        let known = known.or_else(|| {
            let filled = if depth < MAX_FILLED { self.expansions(word) } else { Vec::new() };
            filled.iter().find_map(|word| self.loss_of(word, elsewhere, depth + 1))
        });
        known.or_else(|| self.may_print_any(word).then_some(Loss::Unknown))
    }

    /// Whether a word is all that a command prints which may print the name of any folder.
    fn may_print_any(&self, word: &Word) -> bool {
        let is_unknown = |piece: &Piece| *piece == Piece::Unknown;
        let is_all = |piece: &Piece| match piece {
            Piece::Text(text) => text.chars().all(|c| "/.".contains(c)),
            Piece::Glob(c) => *c == '*',
            Piece::Unknown => true,
            Piece::Home | Piece::Variable(_) => false,
        };
        if word.is_brace || !word.pieces.iter().any(is_unknown) || !word.pieces.iter().all(is_all) {
            return false;
        }
        let is_within = |part: &&Part| {
            word.span.start < part.span.start && part.span.end < word.span.end && !self.is_function(part)
        };
        let mut within = self.analysis.parts.iter().filter(is_within);
        let filters = within.clone();
        within.any(|part| {
            printing::makes_any_name(part, self.analysis)
                || printing::prints_any_folder(part) && !printing::is_chosen(part, filters.clone())
        })
    }

    /// Whether a part calls a function of the command, whose commands are judged on their own.
    pub(super) fn is_function(&self, part: &Part) -> bool {
        let name = part.words.first().and_then(Word::literal);
        name.is_none_or(|name| self.analysis.functions.iter().any(|function| *function == name))
    }

    /// The words that a word becomes if it begins with what a command prints, with a part of a variable, or with a
    /// variable that one of these sets: `"$(pwd)/.."`, `${HOME%/*}`, `read x <<< ~`.
    fn expansions(&self, word: &Word) -> Vec<Word> {
        let is_empty = |piece: &&Piece| piece.text() == Some("");
        let first = word.pieces.iter().take_while(is_empty).count();
        let rest = word.pieces.get(first + 1..).unwrap_or_default();
        let behind = rest.iter().find(|piece| !is_empty(piece));
        if word.is_brace || !behind.is_none_or(|piece| piece.text().is_some_and(|text| text.starts_with('/')))
        {
            return Vec::new();
        }
        let begun = match word.pieces.get(first) {
            Some(Piece::Variable(name)) if name.starts_with("BASH_REMATCH") => self.match_words(),
            Some(Piece::Variable(name)) if is_name(name) => self.set(name),
            Some(Piece::Unknown | Piece::Variable(_)) => self.substitution_words(word),
            _ => return Vec::new(),
        };
        let join = |mut word: Word| {
            word.pieces.extend_from_slice(rest);
            word
        };
        begun.into_iter().map(join).collect()
    }

    /// The words that the substitution or the expansion in a word gives.
    fn substitution_words(&self, word: &Word) -> Vec<Word> {
        let is_within = |part: &&Part| word.span.contains(&part.span.start);
        let within: Vec<&Part> = self.analysis.parts.iter().filter(is_within).collect();
        let text = self.command.get(word.span.clone()).unwrap_or_default();
        let shortened = text.split_once("${").and_then(|(_, rest)| {
            let inner = rest.get(..closing(rest)?)?;
            let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && !"_@*#?".contains(c))?;
            let (name, edit) = inner.split_at_checked(end)?;
            // The text that stands for the variable: `${X:-~}`.
            let other = edit.strip_prefix(':').unwrap_or(edit);
            if let Some(other) = other.strip_prefix(['-', '+', '=']) {
                return Some(printing::word_of(other.trim_matches('"')));
            }
            let edit = match edit.strip_prefix('%') {
                Some(edit) => edit,
                None if !edit.starts_with('#') && self.is_set(name) => "/",
                None => return None,
            };
            let mut word = Word::of_text("");
            word.pieces.push(Piece::Variable(name.to_owned()));
            if edit.trim_start_matches('%') != "/" {
                word.pieces.push(Piece::Text("/..".to_owned()));
            }
            Some(word)
        });
        let filters = within.clone();
        let is_given = printing::is_positional(word, self.command);
        let givers =
            self.analysis.parts.iter().filter(|part| is_given && printing::gives(part, self.command));
        let is_printed = |part: &&Part| !printing::is_chosen(part, filters.iter().copied());
        let given: Vec<Word> = within.iter().flat_map(|part| printing::given_names(part)).collect();
        let within = within.into_iter().filter(is_printed).chain(givers);
        let printed = within.filter_map(printing::printed_names).flatten();
        printed.chain(given).chain(shortened).collect()
    }

    /// The words that a test compares with a pattern, which `BASH_REMATCH` may be, or the folders that hold them.
    fn match_words(&self) -> Vec<Word> {
        let before = self.command.match_indices("=~").filter_map(|(at, _)| self.command.get(..at));
        let compared = before.filter_map(|text| text.split_whitespace().next_back()).map(printing::word_of);
        let is_place = |word: &Word| match word.pieces.first() {
            Some(Piece::Home) => true,
            Some(Piece::Variable(name)) => ["PWD", "OLDPWD"].contains(&name.as_str()),
            Some(Piece::Text(text)) => text.starts_with('/'),
            Some(Piece::Glob(_) | Piece::Unknown) | None => false,
        };
        compared
            .flat_map(|word| if is_place(&word) { vec![Word::of_text("/"), word] } else { vec![word] })
            .collect()
    }

    /// The words that a variable is set to by other means than a known text.
    fn set(&self, name: &str) -> Vec<Word> {
        let values = self.analysis.parts.iter().flat_map(|part| &part.values);
        let values = values.filter(|(of, word)| of == name && word.literal().is_none());
        let mut found: Vec<Word> = values.map(|(_, word)| word.clone()).collect();
        if name == "_" {
            // The last word of the command before.
            found.extend(self.analysis.parts.iter().filter_map(|part| part.words.last().cloned()));
        }
        let words = self.analysis.parts.iter().flat_map(|part| &part.words);
        found.extend(words.filter_map(|word| word.value_of(name)));
        for part in &self.analysis.parts {
            let is_named =
                |word: &Word| word.literal().is_some_and(|text| text.trim_start_matches("-v") == name);
            let Some(first) = part.words.first().and_then(Word::literal) else { continue };
            if !has("read mapfile readarray printf", &first) || !part.words.iter().any(is_named) {
                continue;
            }
            if first == "printf" {
                found.extend(part.words.iter().skip(1).filter(|word| !is_named(word)).cloned());
            } else {
                let texts = with_redirections(part, self.analysis).flat_map(|part| &part.texts);
                let others = if part.assigned.iter().any(|name| name == "IFS") { ":,;|=" } else { "" };
                let is_end = |c: char| c.is_whitespace() || others.contains(c);
                found.extend(texts.flat_map(|text| text.split(is_end)).map(printing::word_of));
            }
        }
        found
    }

    /// The texts that a word stands for: with values of variables that the command sets, and without.
    fn texts(&self, word: &Word) -> Vec<String> {
        if is_filled_in(word) {
            // What is put in may be all of the last name.
            let text = self.text(word, false);
            let folder = text.rsplit_once('/').map_or("", |(folder, _)| folder);
            let whole = if text.contains('/') { format!("{folder}/{UNKNOWN}") } else { UNKNOWN.to_string() };
            return vec![whole];
        }
        // An empty one is no word.
        let listed = || braces(&self.text(word, true)).into_iter().filter(|text| !text.is_empty()).collect();
        let plain = if word.is_brace { listed() } else { vec![self.text(word, false)] };
        let is_given =
            |piece: &Piece| matches!(piece, Piece::Variable(name) if name != "HOME" && self.is_set(name));
        if !word.pieces.iter().any(is_given) {
            return plain;
        }
        let known = |text: &PathText| {
            let shown = |mark: &Mark| match mark {
                Mark::Char(c) => Some(*c),
                Mark::One => Some('?'),
                Mark::Name | Mark::Digits => Some('*'),
                Mark::Folders | Mark::Any => Some(UNKNOWN),
                Mark::Visible => None,
            };
            let text: String = text.marks().iter().filter_map(shown).collect();
            match text
                .strip_prefix('~')
                .or_else(|| text.strip_prefix("$HOME"))
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                Some(rest) => format!("{}{rest}", self.home()),
                None => text,
            }
        };
        plain.into_iter().chain(self.scene.texts(word).iter().map(known)).collect()
    }

    /// Whether the value of a variable is known, as far as the shell and the command itself set it.
    fn is_set(&self, name: &str) -> bool {
        !self.scene.assigned_values(name).is_empty()
            || ["HOME", "PWD", "OLDPWD"].contains(&name)
            || DEFAULTS.contains(&name)
    }

    fn home(&self) -> String {
        self.places.home.as_ref().map_or_else(|| "/root".to_owned(), |home| home.plain.display().to_string())
    }

    /// A word as text, with the home directory filled in.
    fn text(&self, word: &Word, is_brace: bool) -> String {
        let mut text = String::new();
        // A brace expansion is preceded by an unknown piece that marks it.
        for piece in word.pieces.iter().skip(usize::from(is_brace)) {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Glob(c) => text.push(*c),
                Piece::Home => text.push_str(&self.home()),
                Piece::Variable(name) if name == "HOME" => text.push_str(&self.home()),
                Piece::Variable(name) if name == "PWD" => {
                    text.push_str(&self.places.workspace.plain.display().to_string());
                }
                // Another user's home directory.
                Piece::Unknown if text.is_empty() && !word.splits && !word.quoted => text.push_str("/root"),
                Piece::Variable(_) | Piece::Unknown => text.push(UNKNOWN),
            }
        }
        text
    }

    /// The loss if the unknown parts of a text are empty.
    fn loss_if_empty(&self, text: &str, elsewhere: bool) -> Option<Loss> {
        let left: String = text.chars().filter(|c| *c != UNKNOWN).collect();
        if left.is_empty() {
            return None;
        }
        let loss = self.loss_of_text(&left, elsewhere)?;
        if let Loss::Top(path) = &loss {
            // `$OUT/build` becomes a top-level folder that does not usually exist.
            let name = path.file_name()?.to_str()?;
            let is_usual = TOP.split_whitespace().any(|top| top == name);
            is_usual.then_some(())?;
        }
        Some(Loss::Emptied(Box::new(loss)))
    }

    fn loss_of_text(&self, text: &str, elsewhere: bool) -> Option<Loss> {
        let path = Path::new(text);
        // These lead to any folder.
        let is_open = |path: &Path| path.starts_with("/dev/fd") || path.starts_with("/proc");
        let loss = |path: &Path| self.loss_of_path(path).or_else(|| is_open(path).then_some(Loss::Unknown));
        if path.is_absolute() {
            return loss(&normalise(path));
        }
        let is_all = |text: &str| matches!(normalise(Path::new(text)).to_str(), Some("" | "*" | ".*" | "**"));
        if (elsewhere || self.has_others) && (is_all(text) || text.starts_with("..")) {
            return Some(Loss::Unknown);
        }
        self.directories.iter().find_map(|base| loss(&normalise(&base.join(path))))
    }

    /// The loss of a path, which may contain `*` and other wildcards.
    fn loss_of_path(&self, path: &Path) -> Option<Loss> {
        // All of a folder counts as the folder.
        let mut path = path.to_owned();
        while path.file_name().and_then(|name| name.to_str()).is_some_and(is_any_name) {
            path.pop();
        }
        let text = without_classes(path.to_str()?);
        let is_pattern = text.contains(['*', '?', '[']);
        let glob = match is_pattern {
            true => Some(GlobBuilder::new(&text).literal_separator(true).build().ok()?.compile_matcher()),
            false => None,
        };
        let meets = |other: &Path| glob.as_ref().is_some_and(|glob| glob.is_match(other));
        let real = if is_pattern { path.clone() } else { normalise(&follow_links(&path)) };
        let is_it = |other: &Path| other == path || other == real || meets(other);
        if path.parent().is_none() || real.parent().is_none() {
            return Some(Loss::Root);
        }
        let homes = self.places.home.iter().flat_map(|home| [&home.plain, &home.real]);
        let workspace = [&self.places.workspace.plain, &self.places.workspace.real];
        let above = |place: &&PathBuf| place.ancestors().any(is_it);
        if let Some(home) = homes.clone().find(|home| above(home)) {
            return Some(Loss::Home(home.clone()));
        }
        if let Some(workspace) = workspace.iter().find(|place| is_it(place)) {
            return Some(Loss::Workspace((*workspace).clone()));
        }
        let is_top = |path: &Path| path.parent().is_some_and(|parent| parent.parent().is_none());
        if is_top(&path) || is_top(&real) {
            return Some(Loss::Top(path));
        }
        if let Some(workspace) = workspace.into_iter().find(above) {
            return Some(Loss::Workspace(workspace.clone()));
        }
        let is_history = match path.parent().filter(|_| is_pattern) {
            Some(parent) => meets(&parent.join(".git")),
            None => path.file_name().is_some_and(|name| name == ".git"),
        };
        is_history.then_some(Loss::History(path))
    }
}

/// Whether a pattern of a name is that of almost all: `*`, `?*`, `[a-zA-Z]*`.
fn is_any_name(name: &str) -> bool {
    let letters = ["a-z", "A-Z"].iter().any(|range| name.contains(range));
    let ranges = if letters { "a-z A-Z 0-9 _" } else { "" };
    let bare = ranges.split_whitespace().fold(name.to_owned(), |name, range| name.replace(range, ""));
    bare.contains('*') && bare.chars().all(|c| "*.?[]!".contains(c))
}

/// A pattern in which names with classes, such as `[[:alpha:]]`, are any names from there on.
fn without_classes(pattern: &str) -> String {
    let name = |name: &str| {
        let class = ["[:", "[=", "[."].iter().filter_map(|open| name.find(open)).min();
        let start = class.and_then(|class| name.get(..class)?.find('['));
        match (start, class) {
            (Some(start), Some(_)) => format!("{}*", name.get(..start).unwrap_or_default()),
            _ => name.to_owned(),
        }
    };
    pattern.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// The texts that a word with braces stands for, if they are plain lists.
fn braces(text: &str) -> Vec<String> {
    let mut open = vec![text.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        let list = text.find('}').and_then(|end| {
            let start = text.get(..end)?.rfind('{')?;
            Some((start, end))
                .filter(|(start, end)| text.get(*start..*end).is_some_and(|list| list.contains(',')))
        });
        match list.filter(|_| open.len() + done.len() < MAX_BRACES) {
            None => done.push(text),
            Some((start, end)) => {
                let (before, behind) =
                    (text.get(..start).unwrap_or_default(), text.get(end + 1..).unwrap_or_default());
                let list = text.get(start + 1..end).unwrap_or_default();
                open.extend(list.split(',').map(|item| format!("{before}{item}{behind}")));
            }
        }
    }
    done
}
