//! Files that a command makes and then runs, of texts or of programs: `echo 'make x' > y.sh; sh y.sh`,
//! `cp /usr/bin/make y; ./y x`.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{Piece, Word};
use super::{Direction, Part, simple};
use crate::permissions::programs::{base, takes_data};
use crate::permissions::subcommands::has;

/// Programs that copy or rename files: their last operand gets the content of the others.
const COPYING: [&str; 10] = ["cp", "mv", "ln", "link", "install", "tee", "rsync", "scp", "objcopy", "strip"];
/// Programs, and the files that they run by default, or that tell them what to run.
const DEFAULTS: [(&str, &str); 16] = [
    ("make gmake bmake", "Makefile makefile GNUmakefile BSDmakefile"),
    ("just", "justfile Justfile .justfile"),
    ("ninja samu", "build.ninja"),
    ("npm npx pnpm yarn bun bunx", "package.json"),
    ("rake", "Rakefile"),
    ("bundle", "Gemfile"),
    ("cargo", "build.rs Cargo.toml config.toml rust-toolchain.toml"),
    (
        "pytest py.test python python3 uv tox nox",
        "conftest.py pytest.ini pyproject.toml setup.py setup.cfg tox.ini noxfile.py",
    ),
    ("cmake", "CMakeLists.txt"),
    ("meson", "meson.build"),
    ("gradle gradlew", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"),
    ("mvn mvnw ant", "pom.xml build.xml"),
    ("scons", "SConstruct"),
    ("task", "Taskfile.yml Taskfile.yaml"),
    ("composer", "composer.json"),
    ("deno", "deno.json deno.jsonc"),
];
/// Programs that never run the files they are given.
const MOVING: [&str; 8] = ["git", "chmod", "cp", "mv", "ln", "install", "tee", "touch"];
/// Files with more texts than this have them joined into one.
const MAX_TEXTS: usize = 8;
/// The maximum number of commands that get texts from files.
const MAX_READERS: usize = 64;
/// The maximum number of programs that a file may be.
const MAX_PROGRAMS: usize = 8;
/// The maximum number of passes over the parts: a loop or function may copy a file before the part that writes it.
const MAX_ROUNDS: usize = 3;

/// Whether a program runs a file that no word names.
pub(in crate::permissions) fn reads_by_itself(name: &str) -> bool {
    DEFAULTS.iter().any(|(of, _)| has(of, name))
}

/// The parts that run a file which another part writes, and that no word names as a script: what they do is unknown.
pub(super) fn runners(parts: &[Part]) -> impl Iterator<Item = &Part> {
    let edits = |part: &Part| {
        let is_inner =
            |word: &Word| word.display().starts_with("-i") || word.display().starts_with("--in-place");
        let program = part.words.first().and_then(name).unwrap_or_default();
        has("sed gsed perl ruby", &program) && part.words.iter().any(is_inner)
    };
    let written = |part: &Part| {
        let edited = part.words.iter().skip(1).filter(|_| edits(part)).filter_map(name);
        targets(part).chain(edited).collect::<Vec<_>>()
    };
    let written: Vec<(usize, Vec<String>)> = match parts.len() {
        0 | 1 => Vec::new(),
        _ => parts.iter().map(written).enumerate().filter(|(_, names)| !names.is_empty()).collect(),
    };
    parts.iter().enumerate().filter_map(move |(at, part)| {
        let program = part.words.first().filter(|_| !written.is_empty()).and_then(name)?;
        let files =
            DEFAULTS.iter().filter(|(of, _)| has(of, &program)).flat_map(|(_, files)| files.split(' '));
        let files: Vec<&str> = files.collect();
        let others = written.iter().filter(|(writer, _)| *writer != at).flat_map(|(_, names)| names);
        others.into_iter().any(|name| files.contains(&name.as_str())).then_some(part)
    })
}

/// The files of a command by name, and what is in each.
type Files<T> = BTreeMap<String, Vec<T>>;

/// Gives every part that names a file the texts that other parts write to a file of that name, and its words with the
/// programs that other parts make such a file of.
pub(super) fn give(command: &str, parts: &mut [Part]) {
    if parts.len() < 2 || !parts.iter().any(|part| targets(part).next().is_some()) {
        return;
    }
    give_texts(parts);
    let programs = copied_programs(command, parts);
    if programs.is_empty() {
        return;
    }
    for part in parts.iter_mut() {
        part.renamed = substitute_programs(part, &programs);
    }
}

fn give_texts(parts: &mut [Part]) {
    let mut files: Files<(usize, String)> = BTreeMap::new();
    for _ in 0..MAX_ROUNDS {
        let before: usize = files.values().map(Vec::len).sum();
        for (at, part) in parts.iter().enumerate() {
            let targets: Vec<String> = targets(part).collect();
            if targets.is_empty() {
                continue;
            }
            let copied = named_file_texts(part, at, &files).map(|(_, text)| text.clone());
            let texts: Vec<String> =
                simple::printed_texts(&part.words, &part.texts).into_iter().chain(copied).collect();
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
        let texts: Vec<String> = named_file_texts(part, at, &files).map(|(_, text)| text.clone()).collect();
        if !texts.is_empty() && readers.len() < MAX_READERS && readers.insert(words_and_input(part)) {
            part.texts.extend(texts);
        }
    }
}

/// The words of a part, and its input.
fn words_and_input(part: &Part) -> Vec<String> {
    let input = part.redirects.iter().map(|redirect| redirect.target.display());
    part.words.iter().map(Word::display).chain(input).collect()
}

/// The texts in the files that a part names, other than what it writes itself.
fn named_file_texts<'a>(
    part: &Part,
    at: usize,
    files: &'a BTreeMap<String, Vec<(usize, String)>>,
) -> impl Iterator<Item = &'a (usize, String)> {
    let read = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Read);
    let named = part.words.iter().chain(read.map(|redirect| &redirect.target)).filter_map(name);
    let named = named.chain(list_files(part));
    let program = part.words.first().and_then(name);
    let defaults = DEFAULTS.iter().filter(move |(of, _)| program.as_deref().is_some_and(|it| has(of, it)));
    let defaults = defaults.flat_map(|(_, files)| files.split(' ')).map(str::to_owned);
    let mut names: Vec<String> = named.chain(defaults).collect();
    names.dedup();
    let held = names.into_iter().filter_map(|name| files.get(&name)).flatten();
    held.filter(move |(writer, _)| *writer != at)
}

/// The files that `xargs` and `parallel` read for a part that they run: `xargs -a x`.
pub(in crate::permissions) fn list_files(part: &Part) -> impl Iterator<Item = String> {
    let is_feeding = |(words, _): &&(Vec<Word>, usize)| {
        words.first().and_then(name).is_some_and(|name| has("xargs gxargs parallel", &name))
    };
    let file = |word: &Word| {
        let shown = word.display();
        let glued = ["--arg-file=", "-a"].iter().find_map(|option| shown.strip_prefix(option));
        glued.filter(|file| !file.is_empty()).map(|file| base(file).to_owned()).or_else(|| name(word))
    };
    part.outer.iter().filter(is_feeding).flat_map(|(words, _)| words).filter_map(file)
}

/// The names of the files that a part writes.
pub(in crate::permissions) fn targets(part: &Part) -> impl Iterator<Item = String> {
    let written = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Write);
    let copies = part.words.first().and_then(name).is_some_and(|name| COPYING.contains(&name.as_str()));
    let last = part.words.last().filter(|_| copies && part.words.len() > 1);
    let written = written.map(|redirect| redirect.target.clone()).chain(last.cloned());
    let of_dd = part.words.iter().filter_map(|word| word.value_of("of"));
    written.chain(of_dd).filter_map(|word| name(&word))
}

/// The last name in a path, as it is written. Files of one name in different folders count as one.
pub(in crate::permissions) fn name(word: &Word) -> Option<String> {
    let shown = word.display();
    let name = base(&shown);
    (!name.is_empty() && !name.starts_with('-')).then(|| name.to_owned())
}

/// The programs that files are made of by copying, linking or printing them.
fn copied_programs(command: &str, parts: &[Part]) -> Files<Word> {
    let (mut files, mut piped): (Files<Word>, Vec<Word>) = (BTreeMap::new(), Vec::new());
    for _ in 0..MAX_ROUNDS {
        let before: usize = files.values().map(Vec::len).sum();
        for part in parts {
            let start = command.get(..part.span.start).unwrap_or_default().trim_end();
            if !start.ends_with('|') || start.ends_with("||") {
                piped.clear();
            }
            piped.extend(sources(part, parts));
            for target in targets(part) {
                let copied = piped.iter().filter_map(name).filter_map(|name| files.get(&name)).flatten();
                let found: Vec<Word> = copied.cloned().chain(piped.iter().map(of_program)).collect();
                let held = files.entry(target.clone()).or_default();
                for word in found {
                    let is_other = name(&word).is_some_and(|name| name != target);
                    if is_other && held.len() < MAX_PROGRAMS && !held.contains(&word) {
                        held.push(word);
                    }
                }
            }
        }
        if files.values().map(Vec::len).sum::<usize>() == before {
            break;
        }
    }
    files.retain(|_, programs| !programs.is_empty());
    files
}

/// The files that a part may print or copy, with the values that the command gives to variables, and with the words
/// of substitutions: `$(which make)`.
fn sources(part: &Part, parts: &[Part]) -> Vec<Word> {
    let read = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Read);
    let read = read.map(|redirect| &redirect.target);
    let words = part.words.iter().skip(1).chain(read).filter(|word| !is_option(word));
    let mut found = Vec::new();
    for word in words {
        let word = word.value_of("if").unwrap_or_else(|| word.clone());
        let values = parts.iter().flat_map(|other| &other.values).filter(|(of, _)| {
            word.pieces.iter().any(|piece| matches!(piece, Piece::Variable(name) if name == of))
        });
        let values: Vec<&(String, Word)> = values.take(MAX_PROGRAMS).collect();
        let within = |other: &&Part| {
            let spans = std::iter::once(&word.span).chain(values.iter().map(|(_, value)| &value.span));
            let is_in =
                |span: &std::ops::Range<usize>| span.start < other.span.start && other.span.end < span.end;
            word.literal().is_none() && spans.into_iter().any(is_in)
        };
        found.extend(parts.iter().filter(within).flat_map(|other| other.words.iter().skip(1).cloned()));
        found.extend(values.iter().map(|(of, value)| with_value(&word, of, value)));
        found.push(word);
    }
    found.retain(|word| !is_option(word));
    found
}

/// A word in which a variable has a value.
fn with_value(word: &Word, of: &str, value: &Word) -> Word {
    let replaced = word.pieces.iter().flat_map(|piece| match piece {
        Piece::Variable(name) if name == of => value.pieces.clone(),
        piece => vec![piece.clone()],
    });
    Word { pieces: replaced.collect(), ..word.clone() }
}

/// The name of a program without its folder, as far as it is known.
fn of_program(word: &Word) -> Word {
    let is_folder = |piece: &Piece| piece.text().is_some_and(|text| text.contains('/'));
    let Some(at) = word.pieces.iter().rposition(is_folder) else { return word.clone() };
    let mut pieces: Vec<Piece> = word.pieces.get(at..).unwrap_or_default().to_vec();
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        *text = base(text).to_owned();
    }
    pieces.retain(|piece| piece.text() != Some(""));
    Word { pieces, ..word.clone() }
}

/// The words of a part with the programs that the files it may run are made of.
fn substitute_programs(part: &Part, programs: &Files<Word>) -> Vec<Vec<Word>> {
    if part.words.first().and_then(name).is_some_and(|name| MOVING.contains(&name.as_str())) {
        return Vec::new();
    }
    let named =
        part.words.iter().enumerate().filter_map(|(at, word)| Some((at, programs.get(&name(word)?)?)));
    let runs = |at: usize| at == 0 || !takes_data(&part.words, part.more_arguments);
    let renamed = named.filter(|(at, _)| runs(*at)).flat_map(|(at, programs)| {
        programs.iter().map(move |program| {
            let mut words = part.words.clone();
            words.get_mut(at).into_iter().for_each(|word| *word = program.clone());
            words
        })
    });
    renamed.take(MAX_PROGRAMS).collect()
}

fn is_option(word: &Word) -> bool {
    matches!(word.pieces.first(), Some(Piece::Text(text)) if text.starts_with('-'))
}
