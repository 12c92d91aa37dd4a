//! Splits a shell command into the simple commands that it runs, and doubts.
//!
//! Every simple command of lists, pipelines, loops, functions and substitutions is a [`Part`], and so is
//! every command that `env`, `xargs`, `find -exec`, `sh -c` and similar ones run in turn. Everything that
//! bash runs is among the parts, or there is a [`Doubt`].

#[cfg(feature = "shell")]
mod entered;
mod loose;
mod simple;
#[cfg(feature = "shell")]
mod structure;
#[cfg(not(feature = "shell"))]
#[path = "unanalysed.rs"]
mod structure;
mod words;
mod wrappers;
mod written;

use std::ops::Range;

pub(super) use loose::{closing, loosen, loosen_all, pieces, substituted_commands, with_default_values};
pub(super) use simple::{Direction, Redirect};
pub(super) use words::{Doubt, Piece, Word};
pub(super) use wrappers::skip_options;

use simple::Simple;
use tau_tools::invisible::unseen_characters;
use wrappers::CommandEffect;
pub(super) use written::{list_files, name as file_name, reads_by_itself, targets as written_files};

/// The maximum length of a command that is analysed, in bytes; a longer one needs approval.
const LONGEST: usize = 20_000;
/// The maximum bytes that are parsed in total, counting substitutions again at every level.
const MOST_READ: usize = 3 * LONGEST;
/// The maximum number of words in a simple command.
const MOST_WORDS: usize = 2_000;
/// The maximum nesting of commands that run one another, as in `sudo nice timeout 5 make`.
const MOST_WRAPPERS: usize = 8;
/// The maximum number of invisible characters that are named.
const MOST_UNSEEN: usize = 8;
/// The maximum number of simple commands in one command.
const MOST_PARTS: usize = 400;

/// The mark in a word for text that another command puts into it.
pub(super) const FILLED: &str = "{}";

/// Builtins whose words assign literal values to variables.
pub(super) const DECLARING: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];

/// A simple command that is judged on its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Its position in the whole command, in bytes.
    pub span: Range<usize>,
    /// The variables that are set before it, or only for it.
    pub assigned: Vec<String>,
    /// The words that give variables their values, see [`Simple`].
    pub values: Vec<(String, Word)>,
    /// Its name and arguments.
    pub words: Vec<Word>,
    /// Its words with other programs, if the files that it runs are copies of them or links to them.
    pub renamed: Vec<Vec<Word>>,
    pub redirects: Vec<Redirect>,
    /// Its input in the command itself: here-documents, here-strings after `<<`, what is piped into it or
    /// written to a file that it names.
    pub texts: Vec<String>,
    /// The commands that run this one, from the outside in: their words, and the index at which this one
    /// begins.
    pub outer: Vec<(Vec<Word>, usize)>,
    /// The words of the shell or the wrapper, if what it runs is among the parts and its own words are not judged.
    pub shell: Vec<Word>,
    /// Whether it gets further, unknown arguments.
    pub more_arguments: bool,
    /// Whether it runs in an unknown directory.
    pub elsewhere: bool,
    /// The folders that `cd` entered before it, see [`Simple`].
    pub entered: Vec<Word>,
    /// Whether it may run more than once, or at another time than where it is written.
    pub repeats: bool,
    /// The folders that are chosen for it, from the outside in: each is seen from the one before.
    pub folders: Vec<Word>,
}

/// The analysis of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Analysis {
    pub parts: Vec<Part>,
    pub doubts: Vec<Doubt>,
    /// The scripts that it gives to shells, with their arguments.
    pub scripts: Vec<String>,
    /// The functions that it defines.
    pub functions: Vec<String>,
    /// Whether commands may run more than once, or in another order.
    pub loops: bool,
    /// Whether patterns may match hidden files: `dotglob`, or `GLOBIGNORE`.
    pub sees_hidden: bool,
    /// Whether a descriptor that is written to, such as 1 or 2, may lead to a file that was opened for
    /// reading.
    pub reopens: bool,
}

/// A text to be parsed, with its position and nesting.
struct Source<'a> {
    text: std::borrow::Cow<'a, str>,
    /// Its start in the whole command; or the position reported for all of it, if it does not occur there
    /// verbatim.
    place: Result<usize, Range<usize>>,
    depth: usize,
    /// See [`Part`].
    elsewhere: bool,
    folders: Vec<Word>,
}

impl Source<'_> {
    fn span(&self, span: &Range<usize>) -> Range<usize> {
        match &self.place {
            Ok(base) => base + span.start..base + span.end,
            Err(place) => place.clone(),
        }
    }
}

/// Splits a command into its parts.
pub(super) fn analyse(command: &str) -> Analysis {
    let mut analysis = Analysis::default();
    if command.len() > LONGEST {
        analysis.doubts.push(Doubt::new(0..command.len(), "too long to be analysed"));
        return analysis;
    }
    analysis.doubts.extend(invisible_characters(command));
    let mut sources =
        vec![Source { text: command.into(), place: Ok(0), depth: 0, elsewhere: false, folders: Vec::new() }];
    let mut read = 0_usize;
    while let Some(source) = sources.pop() {
        read += source.text.len();
        if read > MOST_READ || analysis.parts.len() > MOST_PARTS {
            analysis.doubts.push(Doubt::new(0..command.len(), "too much to be analysed"));
            break;
        }
        let found = structure::read(&source.text, source.depth);
        analysis.functions.extend(found.functions);
        analysis.loops |= found.loops;
        analysis.reopens |= found.reopens;
        let doubts = found.doubts.into_iter();
        analysis.doubts.extend(doubts.map(|doubt| Doubt { span: source.span(&doubt.span), ..doubt }));
        for inner in found.nested {
            let text = source.text.get(inner.clone()).unwrap_or_default().to_owned();
            let place = match &source.place {
                Ok(base) => Ok(base + inner.start),
                Err(place) => Err(place.clone()),
            };
            let (depth, folders) = (source.depth + 1, source.folders.clone());
            sources.push(Source { text: text.into(), place, depth, folders, ..source });
        }
        for simple in found.commands {
            let scripts = add(&mut analysis, simple, &source);
            sources.extend(scripts);
        }
    }
    analysis.parts.sort_by_key(|part| part.span.start);
    written::give(command, &mut analysis.parts);
    let doubt = |part: &Part| Doubt::new(part.span.clone(), "it runs a file that this command writes");
    analysis.doubts.extend(written::runners(&analysis.parts).map(doubt));
    if !command.is_ascii()
        && let Some(part) = analysis.parts.iter().find(|part| sets(part, is_locale))
    {
        // Bash reads the following lines in that encoding, in which a backslash can be half of a character.
        analysis.doubts.push(Doubt::new(part.span.clone(), "another encoding for what follows"));
    }
    // With the first, patterns match hidden files; with the second, words are parsed differently.
    let is_mode = |name: &str| ["GLOBIGNORE", "POSIXLY_CORRECT"].contains(&name);
    if let Some(part) = analysis.parts.iter().find(|part| sets(part, is_mode)) {
        analysis.doubts.push(Doubt::new(part.span.clone(), "a variable that changes how commands are read"));
    }
    analysis.sees_hidden = sees_hidden(command, &analysis.parts);
    analysis
}

/// Whether patterns may match hidden files, by an option or a variable of the shell.
fn sees_hidden(command: &str, parts: &[Part]) -> bool {
    let is_said = |text: &str| ["dotglob", "GLOBIGNORE", "BASHOPTS"].iter().any(|name| text.contains(name));
    let unquoted = || command.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect::<String>();
    let sets_unknown = |words: &[Word]| {
        let sets = |word: &Word| matches!(word.literal().as_deref(), Some("shopt" | "-O"));
        words.iter().any(sets) && words.iter().any(|word| word.literal().is_none())
    };
    is_said(command)
        || command.contains(['\'', '"', '\\']) && is_said(&unquoted())
        || parts.iter().any(|part| sets_unknown(&part.words) || sets_unknown(&part.shell))
}

fn is_locale(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_")
}

/// Whether such a variable is set in the shell itself, not only for a program that it runs.
fn sets(part: &Part, is_one: impl Fn(&str) -> bool) -> bool {
    let named = |word: &Word| {
        let text = word.literal().unwrap_or_default();
        is_one(text.split('=').next().unwrap_or_default())
    };
    part.words.is_empty() && part.assigned.iter().any(|name| is_one(name)) || part.words.iter().any(named)
}

/// Invisible characters in a command.
fn invisible_characters(command: &str) -> Vec<Doubt> {
    let doubt = |(at, c): (usize, char)| {
        let text = format!("a character that cannot be seen: U+{:04X}", u32::from(c));
        Doubt::new(at..at + c.len_utf8(), text)
    };
    unseen_characters(command).take(MOST_UNSEEN).map(doubt).collect()
}

/// Adds a simple command and the commands that it runs in turn; returns the scripts that are given to shells.
fn add(analysis: &mut Analysis, simple: Simple, source: &Source<'_>) -> Vec<Source<'static>> {
    let placed = |word: Word| Word { span: source.span(&word.span), ..word };
    let mut part = Part {
        span: source.span(&simple.span),
        assigned: simple.assigned,
        values: simple.values.into_iter().map(|(name, value)| (name, placed(value))).collect(),
        words: simple.words.into_iter().map(placed).collect(),
        texts: simple.texts,
        entered: simple.entered.into_iter().map(placed).collect(),
        repeats: simple.repeats || source.depth > 0,
        redirects: simple
            .redirects
            .into_iter()
            .map(|redirect| Redirect { target: placed(redirect.target), ..redirect })
            .collect(),
        elsewhere: source.elsewhere,
        folders: source.folders.clone(),
        ..Part::default()
    };
    let mut scripts = Vec::new();
    let mut open = Vec::new();
    if part.words.len() > MOST_WORDS {
        analysis.doubts.push(Doubt::new(part.span, "too many words to be analysed"));
        return Vec::new();
    }
    for _ in 0..MOST_WRAPPERS {
        match wrappers::unwrap(&part.words) {
            CommandEffect::Plain => {
                if part.more_arguments && wrappers::runs_arguments(&part.words) {
                    let text = "what it runs cannot be known in advance";
                    analysis.doubts.push(Doubt::new(part.span.clone(), text));
                }
                analysis.parts.push(part);
                match open.pop() {
                    Some(next) => part = next,
                    None => return scripts,
                }
            }
            CommandEffect::Runs(runs) => {
                let mut inner = runs.into_iter().map(|run| inner_part(&part, run));
                let Some(first) = inner.next() else { continue };
                open.extend(inner);
                let is_judged = wrappers::is_judged(&part.words);
                let outer = std::mem::replace(&mut part, first);
                if is_judged || !outer.redirects.is_empty() || !outer.assigned.is_empty() {
                    let (words, shell) =
                        if is_judged { (outer.words, outer.shell) } else { (Vec::new(), outer.words) };
                    analysis.parts.push(Part { words, shell, ..outer });
                }
            }
            CommandEffect::Script { text, at } => {
                let place = part.words.get(at).map_or(part.span.clone(), |word| word.span.clone());
                let depth = source.depth + 1;
                let arguments: Vec<String> = part.words.iter().skip(at + 1).map(Word::display).collect();
                let set = if arguments.is_empty() {
                    String::new()
                } else {
                    format!("set -- {}; ", arguments.join(" "))
                };
                analysis.scripts.push(format!("{set}{text}"));
                let (elsewhere, folders) = (part.elsewhere, part.folders.clone());
                scripts.push(Source { text: text.into(), place: Err(place), depth, elsewhere, folders });
                // The shell itself does nothing more than the script.
                part.shell = std::mem::take(&mut part.words);
            }
            CommandEffect::Doubt { text, at } => {
                let span = part.words.get(at).map_or(part.span.clone(), |word| word.span.clone());
                analysis.doubts.push(Doubt::new(span, text));
                analysis.parts.push(part);
                match open.pop() {
                    Some(next) => part = next,
                    None => return scripts,
                }
            }
        }
    }
    analysis.doubts.push(Doubt::new(part.span, "commands within commands, too deeply"));
    scripts
}

/// Whether the commands that it runs in turn are among the parts, so that its words have no hidden effect.
pub(super) fn is_taken_apart(words: &[Word]) -> bool {
    matches!(wrappers::unwrap(words), CommandEffect::Runs(_))
}

fn inner_part(outer: &Part, run: wrappers::Run) -> Part {
    let mut words = outer.words.get(run.start..run.end).unwrap_or_default().to_vec();
    for word in words.iter_mut().skip(1) {
        let is_replaced = run.replaced.as_ref().is_some_and(|text| {
            let literal = word.literal();
            literal.is_none_or(|literal| text.is_empty() || literal.contains(text.as_str()))
        });
        if is_replaced {
            for piece in &mut word.pieces {
                let token = run.replaced.as_deref().filter(|token| !token.is_empty());
                if let (Piece::Text(text), Some(token)) = (piece, token) {
                    *text = text.replace(token, FILLED);
                }
            }
            word.pieces.push(Piece::Unknown);
            (word.splits, word.is_brace) = (true, true);
        }
    }
    let mut chain = outer.outer.clone();
    chain.push((outer.words.clone(), run.start));
    let span = match (words.first(), words.last()) {
        (Some(first), Some(last)) => first.span.start..last.span.end,
        _ => outer.span.clone(),
    };
    Part {
        span,
        assigned: run.assigned,
        values: run.values,
        words,
        renamed: Vec::new(),
        redirects: Vec::new(),
        texts: outer.texts.clone(),
        entered: outer.entered.clone(),
        repeats: outer.repeats,
        outer: chain,
        shell: Vec::new(),
        more_arguments: outer.more_arguments || run.more_arguments,
        elsewhere: outer.elsewhere || run.elsewhere || run.folder.is_some(),
        folders: outer.folders.iter().cloned().chain(run.folder).collect(),
    }
}
