//! Removals whose operands another command gives: `find ~ | xargs rm -rf`, `rm -rf "$(pwd)"`.

use super::composed::passes_input;
use super::piped::{behind_pipe, chain, copies_files, with_redirections, writers};
use super::printing::{
    given_names, gives, is_chosen, is_positional, listed_by_git, makes_any_name, printed_names,
    prints_any_folder, word_of,
};
use super::targets::{Loss, Targets};
use super::{CommandLoss, find_starts, git, has_option, is_narrowed};
use crate::permissions::programs;
use crate::permissions::shell::{Analysis, Part, Piece, Word};
use crate::permissions::subcommands::has;
use crate::permissions::word_texts::is_filled_in;

const REMOVING: &str = "rm shred srm unlink truncate trash trash-put";
/// Programs that give others what they read, where the others are not taken apart.
const FEEDING: &str = "parallel xargs";

/// The loss if a part removes what another one names.
pub(super) fn find_loss(
    part: &Part,
    command: &str,
    analysis: &Analysis,
    targets: &Targets<'_>,
) -> Option<CommandLoss> {
    let name = programs::name(&part.words)?;
    if name == "git" {
        return git::loss_of_input(part, analysis);
    }
    let arguments = part.words.get(1..).unwrap_or_default();
    let removes = |word: &Word| word.literal().is_some_and(|text| has(REMOVING, programs::base(&text)));
    if !(has(REMOVING, &name) || has(FEEDING, &name) && arguments.iter().any(removes)) {
        return None;
    }
    let is_recursive = name != "rm" || has_option(arguments, "rR", "recursive");
    // A script that `xargs` runs removes its arguments.
    let scripts = analysis.parts.iter().filter(|other| !other.shell.is_empty() && other.more_arguments);
    let is_argument = |word: &Word| is_positional(word, command);
    let scripts = scripts.filter(|_| arguments.iter().any(is_argument));
    let feeding = std::iter::once(part).filter(|part| part.more_arguments).chain(scripts);
    let given = feeding.flat_map(|part| with_redirections(part, analysis)).flat_map(|part| &part.texts);
    let given = given.flat_map(|text| text.split_whitespace());
    let given = given.map(word_of).find_map(|word| targets.loss(&word, part.elsewhere));
    if let Some(loss) = given.filter(|_| is_recursive) {
        return Some((format!("it removes {}", loss.what()), None));
    }
    let mut sources = sources(part, command, analysis);
    // What they read may come from a file that the command writes.
    let reading = sources.iter().flat_map(|source| writers(source, true, analysis));
    let written: Vec<&Part> = reading.chain(writers(part, false, analysis)).collect();
    let before = written.iter().flat_map(|writer| chain(writer, command, analysis));
    let written: Vec<&Part> = written.iter().copied().chain(before).collect();
    let prints = |writer: &&Part| !std::ptr::eq(*writer, part) && !copies_files(writer);
    sources.extend(written.into_iter().filter(prints));
    // `rm -rf $(cat)` reads what the removal, or the function that does it, is given.
    let is_function = |other: &&Part| targets.is_function(other);
    let reads_all = sources.iter().any(|source| source.texts.is_empty() && passes_input(source));
    let callers =
        analysis.parts.iter().filter(is_function).chain([part]).filter(|_| reads_all && is_recursive);
    let mut given = callers.flat_map(|other| &other.texts).flat_map(|text| text.split_whitespace());
    if let Some(loss) = given.find_map(|text| targets.loss(&word_of(text), part.elsewhere)) {
        return Some((format!("it removes {}", loss.what()), None));
    }
    sources.iter().find_map(|source| {
        let is_chosen = is_chosen(source, sources.iter().copied());
        let found = printed_loss(source, is_chosen, is_recursive, targets)?;
        Some((format!("it removes {found}"), None))
    })
}

/// The parts whose output names what a part gets, and those that choose among it.
pub(in crate::permissions) fn sources<'a>(
    part: &Part,
    command: &str,
    analysis: &'a Analysis,
) -> Vec<&'a Part> {
    let is_of_find =
        part.outer.last().is_some_and(|(words, _)| programs::name(words).is_some_and(|name| name == "find"));
    let is_open = |word: &&Word| is_filled_in(word) || whole(word).is_some();
    let open: Vec<&Word> = part.words.iter().skip(1).filter(is_open).collect();
    let is_whole = |word: &Word| {
        is_filled_in(word) && !word.pieces.iter().filter_map(Piece::text).any(|text| text.contains('/'))
    };
    let is_xargs =
        part.more_arguments && !is_of_find && (open.is_empty() || open.iter().any(|word| is_whole(word)));
    let is_piped = is_xargs || programs::name(&part.words).is_some_and(|name| has(FEEDING, &name));
    let is_positional = open.iter().any(|word| is_positional(word, command));
    let values: Vec<&(String, Word)> = analysis.parts.iter().flat_map(|part| &part.values).collect();
    let mut spans = Vec::new();
    let mut is_read = false;
    for word in open {
        match whole(word) {
            Some(Piece::Variable(name)) => {
                let of_it = values.iter().filter(|(of, _)| of == name);
                spans.extend(of_it.map(|(_, value)| value.span.clone()));
                let reads = |part: &Part| {
                    let literals: Vec<_> = part.words.iter().filter_map(Word::literal).collect();
                    let is_reader =
                        literals.first().is_some_and(|first| has("read mapfile readarray", first));
                    is_reader && literals.iter().any(|word| word == name)
                };
                is_read |= analysis.parts.iter().any(reads);
            }
            _ => spans.push(word.span.clone()),
        }
    }
    let has_script = analysis.parts.iter().any(|other| !other.shell.is_empty() && other.more_arguments);
    let is_source = |other: &&Part| {
        let is_within =
            |span: &std::ops::Range<usize>| span.contains(&other.span.start) && *span != part.span;
        !std::ptr::eq(*other, part)
            && (spans.iter().any(is_within)
                || (is_piped || is_read || is_positional && has_script) && feeds(other, command)
                || is_positional && gives(other, command))
    };
    analysis.parts.iter().filter(is_source).collect()
}

/// Whether another part reads what a part prints.
pub(in crate::permissions) fn feeds(part: &Part, command: &str) -> bool {
    let behind = command.get(part.span.end..).unwrap_or_default();
    let before = command.get(..part.span.start).unwrap_or_default().trim_end();
    // `<<< "$(x)"`
    let text = before.strip_suffix("$(").or_else(|| before.strip_suffix('`')).unwrap_or_default();
    behind_pipe(behind).is_some()
        || before.ends_with("<(")
        || text.trim_end_matches('"').trim_end().ends_with("<<<")
}

/// Whether a program removes what it is given.
pub(super) fn is_removing(name: &str) -> bool {
    has(REMOVING, name)
}

/// The variable or the unknown text that is all of a word.
fn whole(word: &Word) -> Option<&Piece> {
    let mut pieces = word.pieces.iter().filter(|piece| piece.text() != Some(""));
    let only = pieces.next().filter(|piece| matches!(piece, Piece::Variable(_) | Piece::Unknown))?;
    pieces.next().is_none().then_some(only)
}

/// The names that a part prints, in words, if their removal is a loss.
fn printed_loss(part: &Part, is_chosen: bool, is_recursive: bool, targets: &Targets<'_>) -> Option<String> {
    let arguments = part.words.get(1..).unwrap_or_default();
    if let Some(listed) = listed_by_git(part).filter(|_| !is_chosen) {
        return Some(listed.to_owned());
    }
    if programs::name(&part.words)? == "find" {
        let is_narrow = is_chosen || is_narrowed(arguments);
        let starts = find_starts(arguments);
        let loss = starts.iter().find_map(|word| {
            targets.loss(word, part.elsewhere).filter(|loss| loss.is_outside() || !is_narrow)
        })?;
        let what = if is_narrow { "what it finds below" } else { "everything below" };
        return Some(format!("{what} {}", loss.what()));
    }
    if !is_recursive {
        return None;
    }
    let lost = |words: Vec<Word>| words.iter().find_map(|word| targets.loss(word, part.elsewhere));
    let given =
        lost(given_names(part)).or_else(|| makes_any_name(part, targets.analysis).then_some(Loss::Unknown));
    if given.is_some() || is_chosen {
        return given.map(|loss| loss.what());
    }
    let loss = printed_names(part).and_then(lost);
    let is_any = prints_any_folder(part) && !targets.is_function(part);
    loss.or_else(|| is_any.then_some(Loss::Unknown)).map(|loss| loss.what())
}
