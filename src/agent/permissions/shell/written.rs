//! Texts that a command writes to a file and then gives to a program: `echo 'make x' > y.sh; sh y.sh`.

use std::collections::{BTreeMap, BTreeSet};

use super::words::Word;
use super::{Direction, Part, simple};
use crate::permissions::programs::base;

/// Programs that copy or rename files: their last operand gets the content of the others.
const COPYING: [&str; 5] = ["cp", "mv", "ln", "install", "tee"];
/// Files that programs run by default.
const DEFAULTS: [(&str, &str); 8] = [
    ("make", "Makefile"),
    ("make", "makefile"),
    ("make", "GNUmakefile"),
    ("gmake", "Makefile"),
    ("just", "justfile"),
    ("ninja", "build.ninja"),
    ("npm", "package.json"),
    ("rake", "Rakefile"),
];
/// Programs that never run the files they are given.
const MOVING: [&str; 8] = ["git", "chmod", "cp", "mv", "ln", "install", "tee", "touch"];
/// Files with more texts than this have them joined into one.
const MAX_TEXTS: usize = 8;
/// The maximum number of commands that get texts from files.
const MAX_READERS: usize = 64;
/// The maximum number of passes over the parts: a loop or function may copy a file before the part that writes it.
const MAX_ROUNDS: usize = 3;

/// Whether a program runs a file that no word names.
pub(in crate::permissions) fn reads_by_itself(name: &str) -> bool {
    DEFAULTS.iter().any(|(of, _)| *of == name)
}

/// Gives every part that names a file the texts that other parts write to a file of that name.
pub(super) fn give(parts: &mut [Part]) {
    let mut files: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for _ in 0..MAX_ROUNDS {
        let before: usize = files.values().map(Vec::len).sum();
        for (at, part) in parts.iter().enumerate() {
            let targets: Vec<String> = targets(part).collect();
            if targets.is_empty() {
                continue;
            }
            let copied = given(part, at, &files).map(|(_, text)| text.clone());
            let texts: Vec<String> =
                simple::printed(&part.words, &part.texts).into_iter().chain(copied).collect();
            for target in targets {
                let held = files.entry(target).or_default();
                for text in &texts {
                    if !held.iter().any(|(_, other)| other == text) {
                        held.push((at, text.clone()));
                    }
                }
            }
        }
        if files.values().map(Vec::len).sum::<usize>() == before {
            break;
        }
    }
    files.retain(|_, texts| !texts.is_empty());
    if files.is_empty() {
        return;
    }
    for texts in files.values_mut().filter(|texts| texts.len() > MAX_TEXTS) {
        let whole: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        *texts = vec![(usize::MAX, whole.join("\n"))];
    }
    // Running a file a second time does nothing new.
    let mut readers = BTreeSet::new();
    for (at, part) in parts.iter_mut().enumerate() {
        if part.words.first().and_then(name).is_some_and(|name| MOVING.contains(&name.as_str())) {
            continue;
        }
        let texts: Vec<String> = given(part, at, &files).map(|(_, text)| text.clone()).collect();
        if !texts.is_empty() && readers.len() < MAX_READERS && readers.insert(shown(part)) {
            part.texts.extend(texts);
        }
    }
}

/// The words of a part, and its input.
fn shown(part: &Part) -> Vec<String> {
    let input = part.redirects.iter().map(|redirect| redirect.target.shown());
    part.words.iter().map(Word::shown).chain(input).collect()
}

/// The texts in the files that a part names, other than what it writes itself.
fn given<'a>(
    part: &Part,
    at: usize,
    files: &'a BTreeMap<String, Vec<(usize, String)>>,
) -> impl Iterator<Item = &'a (usize, String)> {
    let read = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Read);
    let named = part.words.iter().chain(read.map(|redirect| &redirect.target)).filter_map(name);
    let program = part.words.first().and_then(name);
    let defaults = DEFAULTS.iter().filter(move |(of, _)| program.as_deref() == Some(of));
    let mut names: Vec<String> = named.chain(defaults.map(|(_, file)| (*file).to_owned())).collect();
    names.dedup();
    let held = names.into_iter().filter_map(|name| files.get(&name)).flatten();
    held.filter(move |(writer, _)| *writer != at)
}

/// The names of the files that a part writes.
fn targets(part: &Part) -> impl Iterator<Item = String> {
    let written = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Write);
    let copies = part.words.first().and_then(name).is_some_and(|name| COPYING.contains(&name.as_str()));
    let last = part.words.last().filter(|_| copies && part.words.len() > 1);
    let written = written.map(|redirect| redirect.target.clone()).chain(last.cloned());
    let of_dd = part.words.iter().filter_map(|word| word.clone().value_of("of"));
    written.chain(of_dd).filter_map(|word| name(&word))
}

/// The last name in a path, as it is written. Files of one name in different folders count as one.
fn name(word: &Word) -> Option<String> {
    let shown = word.shown();
    let name = base(&shown);
    (!name.is_empty() && !name.starts_with('-')).then(|| name.to_owned())
}
