//! Writes a command out as bash makes it of braces, values, printed texts and further arguments, as far as the command
//! itself decides these.

use super::Scene;
use crate::permissions::dangerous::{passes_input, printed_text};
use crate::permissions::path_text::{Mark, PathText};
use crate::permissions::programs;
use crate::permissions::read_only;
use crate::permissions::shell::{FILLED, Part, Piece, Word};
use crate::permissions::subcommands::has;
use crate::permissions::word_texts::{Atom, expand_braces, is_filled_in};

/// The maximum number of combinations of the texts of several words; beyond it, each text is in one.
const MAX_FORMS: usize = 32;
/// The maximum number of words in what a command becomes.
const MAX_WORDS: usize = 2_000;
/// The maximum number of texts that a word or a variable may be.
const MAX_TEXTS: usize = 64;
/// The maximum nesting of values in values.
const MAX_DEPTH: usize = 3;

/// The maximum length of a word that is known: that of a command.
const MAX_LENGTH: usize = 20_000;
/// The maximum of what is done for a command, what a word takes of it, and each byte of its texts one more.
const BUDGET: usize = 2_000_000;
const WORD: usize = 50;

/// A word as bash makes it.
#[derive(Clone, PartialEq, Eq)]
enum Outcome {
    Known(String),
    /// One that is not known, as it is written.
    Open(String),
}

impl Scene<'_> {
    /// The commands that a part may become, as texts; none if it is known as it is written, or not known at all.
    pub(in crate::permissions) fn written_out(&self, part: &Part) -> Vec<String> {
        let is_given = part.more_arguments && !part.texts.is_empty();
        let is_written = !is_given && !part.words.iter().any(is_open);
        // Some lose and write nothing, whatever they are given.
        if is_written || read_only::runs_nothing_else(part) {
            return Vec::new();
        }
        let mut forms = Vec::new();
        if is_given && part.words.iter().any(is_filled_in) {
            let given = part.texts.iter().flat_map(|text| text.split_whitespace()).take(MAX_WORDS);
            let words = |given| part.words.iter().map(|word| put_into(word, given)).collect::<Vec<_>>();
            forms.extend(given.flat_map(|given| self.forms(&words(given), 0)));
        } else {
            forms.extend(self.forms(&part.words, 0));
            let arguments = |text: &String| -> Vec<Outcome> {
                text.split_whitespace().take(MAX_WORDS).map(|text| self.argument(text)).collect()
            };
            let given: Vec<Vec<Outcome>> = part.texts.iter().filter(|_| is_given).map(arguments).collect();
            if is_given {
                let both = [forms, given];
                forms = combine(&both)
                    .into_iter()
                    .map(|form| form.into_iter().flatten().cloned().collect())
                    .collect();
            }
        }
        // A program that is known only now reads its input.
        let is_named = part.words.first().is_some_and(|word| !is_open(word));
        let input = part.texts.first().filter(|_| !is_named && !is_given);
        let input = input.map(|text| format!(" <<< {}", quote(text))).unwrap_or_default();
        let written: Vec<Outcome> = part.words.iter().map(made_as_written).collect();
        forms.retain(|form| *form != written);
        let text = |form: &Vec<Outcome>| {
            let words: Vec<String> = form.iter().map(Outcome::source).collect();
            words.join(" ") + &input
        };
        forms.iter().map(text).collect()
    }

    /// Whether there was more to write out than is looked at.
    pub(in crate::permissions) fn is_spent(&self) -> bool {
        self.spent.get() >= BUDGET
    }

    /// The lists of words that these words may become.
    fn forms<'w>(&self, words: impl IntoIterator<Item = &'w Word>, depth: usize) -> Vec<Vec<Outcome>> {
        let (mut all, mut count) = (Vec::new(), 0);
        for word in words {
            let made = self.outcomes(word, depth);
            count += made.iter().map(Vec::len).sum::<usize>();
            all.push(made);
            if count > MAX_WORDS {
                self.spent.set(BUDGET);
                break;
            }
        }
        combine(&all).into_iter().map(|form| form.into_iter().flatten().cloned().collect()).collect()
    }

    /// The words that a word may become.
    fn outcomes(&self, word: &Word, depth: usize) -> Vec<Vec<Outcome>> {
        if !is_open(word) || depth > MAX_DEPTH || self.is_spent() {
            return vec![vec![made_as_written(word)]];
        }
        let known = |text: &str| Outcome::Known(self.with_home(text));
        let mut found = self.lists(word, depth);
        let mut words = expand_braces(word).into_iter().map(|atoms| self.texts_made(&atoms, word, depth));
        if word.is_brace {
            let texts = words.map(|texts| match texts.is_empty() {
                true => vec![Some(Outcome::Open("\"$_\"".to_owned()))],
                // Bash drops an empty word.
                false => texts.iter().map(|text| (!text.is_empty()).then(|| known(text))).collect(),
            });
            let texts: Vec<Vec<Option<Outcome>>> = texts.collect();
            let forms = combine(&texts).into_iter();
            found.extend(forms.map(|form| form.into_iter().flatten().cloned().collect::<Vec<_>>()));
        } else {
            let split = |text: &String| match word.splits {
                true => text.split_whitespace().map(known).collect(),
                false => vec![known(text)],
            };
            found.extend(words.next().iter().flatten().map(split));
        }
        found.retain(|words| !words.is_empty() || word.splits);
        found.dedup();
        found.truncate(MAX_TEXTS);
        let size: usize = found.iter().flatten().map(|made| made.source().len()).sum();
        self.spent.update(|spent| spent + WORD + size);
        if found.is_empty() { vec![vec![made_as_written(word)]] } else { found }
    }

    /// The words that a word becomes which is all elements of an array, all lines that are read, or all arguments.
    fn lists(&self, word: &Word, depth: usize) -> Vec<Vec<Outcome>> {
        let mut pieces = word.pieces.iter().filter(|piece| piece.text() != Some(""));
        let only = pieces.next().filter(|_| !word.is_brace);
        let parts = &self.analysis.parts;
        match only.filter(|_| pieces.next().is_none()) {
            Some(Piece::Variable(name)) if word.splits => {
                let values = parts.iter().flat_map(|part| &part.values).filter(|(of, _)| of == name);
                let words: Vec<&Word> = values.map(|(_, word)| word).collect();
                let elements = if words.len() > 1 { self.forms(words, depth + 1) } else { Vec::new() };
                let read: Vec<String> =
                    self.assigned_values(name).iter().filter_map(|it| self.pattern_text(it)).collect();
                let words = read.iter().flat_map(|text| text.split_whitespace());
                let all = words.map(|text| Outcome::Known(self.with_home(text))).collect();
                elements.into_iter().chain((read.len() > 1).then_some(all)).collect()
            }
            Some(Piece::Unknown) if self.within(word).next().is_none() => {
                let gives = |part: &&Part| {
                    let name = programs::name(&part.words).unwrap_or_default();
                    name == "set" || self.analysis.functions.iter().any(|function| *function == name)
                };
                let is_end = |word: &&Word| word.literal().is_some_and(|text| text == "--");
                let arguments =
                    |part: &Part| self.forms(part.words.iter().skip(1).skip_while(is_end), depth + 1);
                parts.iter().filter(gives).flat_map(arguments).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The texts that a word may become of which these are the atoms; none if it is not known.
    fn texts_made(&self, atoms: &[Atom], word: &Word, depth: usize) -> Vec<String> {
        let is_char = |atom: &&Atom| matches!(atom, Atom::Mark(Mark::Char(_)));
        if atoms.iter().filter(|atom| !is_char(atom)).count() > MAX_FORMS {
            return Vec::new();
        }
        let mut pieces: Vec<Vec<String>> = Vec::new();
        let mut rest = atoms;
        while let Some((atom, behind)) = rest.split_first() {
            let text: String = rest.iter().map_while(character).collect();
            rest = rest.get(text.chars().count().max(1)..).unwrap_or(behind);
            pieces.push(match atom {
                Atom::Mark(Mark::Char(_)) => vec![text],
                Atom::Mark(Mark::Any) => self.printed_texts(word, depth),
                Atom::Mark(mark) => self.pattern_text(&PathText::of(&[*mark])).into_iter().collect(),
                Atom::Home => self.home().iter().filter_map(PathText::text).collect(),
                Atom::Value(name) => self.known_values(name, depth),
            });
            if pieces.last().is_some_and(Vec::is_empty) {
                return Vec::new();
            }
        }
        let longest = |texts: &Vec<String>| texts.iter().map(String::len).max().unwrap_or_default();
        if pieces.iter().map(longest).sum::<usize>() > MAX_LENGTH {
            self.spent.set(BUDGET);
            return Vec::new();
        }
        combine(&pieces).into_iter().map(|form| form.into_iter().map(String::as_str).collect()).collect()
    }

    /// The values of a variable, as far as they are known.
    fn known_values(&self, name: &str, depth: usize) -> Vec<String> {
        let values = self.analysis.parts.iter().flat_map(|part| &part.values);
        let open = values.filter(|(of, word)| of == name && is_open(word));
        let join = |form: Vec<Outcome>| {
            let texts: Option<Vec<String>> = form.into_iter().map(Outcome::into_text).collect();
            texts.map(|texts| texts.join(" "))
        };
        let made = open.flat_map(|(_, word)| self.outcomes(word, depth + 1)).filter_map(join);
        let values = self.value(name, false);
        let known = values.iter().filter_map(|value| self.pattern_text(value));
        let blank = (name == "IFS").then(|| " ".to_owned());
        let mut found: Vec<String> = made.chain(known).chain(blank).take(MAX_TEXTS).collect();
        found.dedup();
        found
    }

    /// A text with the signs of patterns for its holes, and with the home directory for `~`; `None` if anything else in it
    /// is not known.
    fn pattern_text(&self, text: &PathText) -> Option<String> {
        let mut shown = String::new();
        for mark in text.marks() {
            match mark {
                Mark::Char(c) => shown.push(*c),
                Mark::One => shown.push('?'),
                Mark::Name => shown.push('*'),
                Mark::Visible => {}
                Mark::Digits | Mark::Folders | Mark::Any => return None,
            }
        }
        Some(self.with_home(&shown))
    }

    fn with_home(&self, text: &str) -> String {
        let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|home| text.strip_prefix(home));
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let home = || self.home().iter().find_map(PathText::text);
        rest.and_then(|rest| Some(home()? + rest)).unwrap_or_else(|| text.to_owned())
    }

    /// The parts in the substitutions of a word.
    fn within<'s>(&'s self, word: &'s Word) -> impl Iterator<Item = &'s Part> {
        let is_within = |part: &&Part| word.span.start < part.span.start && part.span.end < word.span.end;
        self.analysis.parts.iter().filter(is_within)
    }

    /// The texts that the substitutions of a word may print, as far as they are known.
    fn printed_texts(&self, word: &Word, depth: usize) -> Vec<String> {
        let printed = |part: &Part| match programs::name(&part.words) {
            Some(name) if has("echo printf", &name) => {
                let forms = self.forms(part.words.iter().skip(1), depth + 1).into_iter();
                let known = forms
                    .filter_map(|form| form.into_iter().map(Outcome::into_text).collect::<Option<Vec<_>>>());
                known.map(|words| printed_text(&name, &words)).collect()
            }
            _ if passes_input(part) => part.texts.clone(),
            _ => Vec::new(),
        };
        self.within(word).flat_map(printed).map(|text| text.trim_end().to_owned()).take(MAX_TEXTS).collect()
    }

    /// A word of the input that becomes an argument.
    fn argument(&self, text: &str) -> Outcome {
        let text = self.with_home(&text.replace(['\'', '"'], ""));
        let is_value = |c: char| c.is_alphanumeric() || "${}_/.-".contains(c);
        match text.contains('$') && text.chars().all(is_value) {
            true => Outcome::Open(format!("\"{text}\"")),
            false => Outcome::Known(text),
        }
    }
}

impl Outcome {
    fn into_text(self) -> Option<String> {
        match self {
            Outcome::Known(text) => Some(text),
            Outcome::Open(_) => None,
        }
    }

    /// It as a word of a command.
    fn source(&self) -> String {
        match self {
            Outcome::Known(text) => quote(text),
            Outcome::Open(source) => source.clone(),
        }
    }
}

/// Whether bash makes something else of a word than a text, a pattern or a path in the home directory.
fn is_open(word: &Word) -> bool {
    let is_value = |piece: &Piece| matches!(piece, Piece::Variable(_) | Piece::Unknown);
    (word.is_brace || word.pieces.iter().any(is_value)) && !is_filled_in(word)
}

/// A word that nothing is put in the place of.
fn made_as_written(word: &Word) -> Outcome {
    if let Some(text) = word.literal() {
        return Outcome::Known(text.into_owned());
    }
    let value = |name: &str| if word.quoted { format!("\"{name}\"") } else { name.to_owned() };
    let source = |piece: &Piece| match piece {
        Piece::Text(text) if text.is_empty() => String::new(),
        Piece::Text(text) => quote(text),
        Piece::Glob(c) => c.to_string(),
        Piece::Home => "~".to_owned(),
        Piece::Variable(name) => value(&format!("${{{name}}}")),
        Piece::Unknown => value("$_"),
    };
    Outcome::Open(word.pieces.iter().skip(usize::from(word.is_brace)).map(source).collect())
}

/// A word with a text in the place of `{}`.
fn put_into(word: &Word, given: &str) -> Word {
    if !is_filled_in(word) {
        return word.clone();
    }
    let written = word.pieces.iter().filter_map(Piece::text).collect::<String>();
    Word::of_text(&written.replace(FILLED, given))
}

/// One of each of these in a row, in every combination; where these would be too many, so many that each is in one.
fn combine<T>(these: &[Vec<T>]) -> Vec<Vec<&T>> {
    let product = these.iter().try_fold(1_usize, |product, one| product.checked_mul(one.len()));
    let is_all = product.is_some_and(|product| product <= MAX_FORMS);
    let most = these.iter().map(Vec::len).max().unwrap_or(1);
    let count = product.filter(|_| is_all).unwrap_or(most);
    let form = |mut number: usize| {
        let chosen = |one: &'_ Vec<T>| {
            let at = number % one.len().max(1);
            number /= if is_all { one.len().max(1) } else { 1 };
            at
        };
        let places: Vec<usize> = these.iter().map(chosen).collect();
        these.iter().zip(places).filter_map(|(one, at)| one.get(at)).collect()
    };
    (0..count).map(form).collect()
}

/// The character that an atom is.
fn character(atom: &Atom) -> Option<char> {
    match atom {
        Atom::Mark(Mark::Char(c)) => Some(*c),
        Atom::Mark(_) | Atom::Home | Atom::Value(_) => None,
    }
}

/// A text as a word of a command.
fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:,@%+-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
