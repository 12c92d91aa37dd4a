//! Finds the folders that are entered before a command, which runs only in these: `cd x && y`, `cd x || exit; y`.

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, CompoundListItem, Pipeline,
    SeparatorOperator,
};

use super::simple::Simple;
use super::words::{Piece, Word};

/// The maximum number of folders that a command enters one after another.
const MOST_ENTERED: usize = 8;

/// Whether a command may change the directory of the shell.
pub(super) fn changes_directory(simple: &Simple) -> bool {
    const CHANGING: [&str; 8] = ["cd", "pushd", "popd", "eval", "source", ".", "command", "builtin"];
    let is_changing = |word: &Word| word.literal().is_none_or(|name| CHANGING.contains(&name.as_ref()));
    simple.words.first().is_some_and(is_changing)
}

/// Whether nothing runs behind a pipeline: `exit 1`, `{ echo no; exit 1; }`.
pub(super) fn exits(pipeline: &Pipeline) -> bool {
    let [command] = pipeline.seq.as_slice() else { return false };
    match command {
        Command::Simple(simple) => {
            let is_number = |text: &str| text == "$?" || text.bytes().all(|c| c.is_ascii_digit());
            let is_code = |item: &CommandPrefixOrSuffixItem| matches!(item, CommandPrefixOrSuffixItem::Word(word) if is_number(&word.value));
            let behind = simple.suffix.as_ref().map_or(&[][..], |suffix| &suffix.0);
            let is_exit = simple.word_or_name.as_ref().is_some_and(|name| name.value == "exit");
            is_exit && simple.prefix.is_none() && behind.len() < 2 && behind.iter().all(is_code)
        }
        Command::Compound(CompoundCommand::BraceGroup(group), None) => list_exits(&group.list),
        Command::Compound(..) | Command::Function(_) | Command::ExtendedTest(..) => false,
    }
}

fn list_exits(list: &CompoundList) -> bool {
    list.0.last().is_some_and(|item| pipeline_alone(item).is_some_and(exits))
}

/// The pipeline that is all of an item of a list, and waited for.
fn pipeline_alone(CompoundListItem(item, separator): &CompoundListItem) -> Option<&Pipeline> {
    let is_waited_for = matches!(separator, SeparatorOperator::Sequence);
    (is_waited_for && item.additional.is_empty()).then_some(&item.first)
}

/// Whether a command has one of these names.
fn is_named(simple: &Simple, names: &[&str]) -> bool {
    simple.words.first().and_then(Word::literal).is_some_and(|name| names.contains(&&*name))
}

/// The folder that a `cd` enters, if that is known.
fn folder_of(simple: &Simple) -> Option<Word> {
    let [_, folder] = simple.words.as_slice() else { return None };
    let is_plain = folder.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Home));
    let is_other = folder.literal().is_some_and(|text| text.is_empty() || text.starts_with(['-', '+']));
    (is_plain && !is_other).then(|| folder.clone())
}

/// The folders that were entered behind `if ! cd x; then exit; fi`, which has these commands.
pub(super) fn enter_or_leave(pipeline: &Pipeline, read: &[Simple], before: &[Word]) -> Option<Vec<Word>> {
    let [Command::Compound(CompoundCommand::IfClause(clause), None)] = pipeline.seq.as_slice() else {
        return None;
    };
    let [condition] = clause.condition.0.as_slice() else { return None };
    let condition = pipeline_alone(condition)?;
    let [Command::Simple(_)] = condition.seq.as_slice() else { return None };
    let first = read.first().filter(|simple| is_named(simple, &["cd", "pushd"]))?;
    let is_only = !read.iter().skip(1).any(changes_directory);
    if !(condition.bang && clause.elses.is_none() && list_exits(&clause.then) && is_only) {
        return None;
    }
    let entered = before.iter().cloned().chain([folder_of(first)?]).collect::<Vec<_>>();
    Some(entered).filter(|entered| entered.len() <= MOST_ENTERED)
}

/// Whether a command that fails ends the shell behind an item of a list with these commands, in which the pipeline is
/// alone or not.
pub(super) fn stops_behind(before: bool, pipeline: &[Command], read: &[Simple], is_alone: bool) -> bool {
    const CHANGING: [&str; 7] = ["set", "shopt", "eval", "source", ".", "command", "builtin"];
    let changes = |simple: &Simple| simple.words.first().is_some_and(|word| word.literal().is_none());
    match (pipeline, read) {
        ([Command::Simple(_)], [simple]) if is_alone && is_named(simple, &["set"]) => {
            sets_stop(simple, before)
        }
        _ => before && !read.iter().any(|simple| changes(simple) || is_named(simple, &CHANGING)),
    }
}

/// Whether failures end the shell behind a `set`.
fn sets_stop(simple: &Simple, before: bool) -> bool {
    let mut words = simple.words.iter().skip(1).map(Word::literal);
    let mut stops = before;
    while let Some(word) = words.next() {
        let Some(word) = word else { return false };
        let is_on = word.starts_with('-');
        if !is_on && !word.starts_with('+') || word == "-" || word == "--" {
            break;
        }
        let is_named = word.contains('o') && words.next().flatten().is_none_or(|name| name == "errexit");
        if word.contains('e') || is_named {
            stops = is_on;
        }
    }
    stops
}

/// Records the folders that were entered before the commands of a pipeline; returns them with the one that it enters.
/// `None` if that is not known.
pub(super) fn enter(
    pipeline: &Pipeline,
    commands: &mut [Simple],
    mut entered: Vec<Word>,
) -> Option<Vec<Word>> {
    let is_simple = pipeline.seq.iter().all(|command| matches!(command, Command::Simple(_)));
    if let ([simple], true) = (&mut *commands, is_simple && !pipeline.bang)
        && is_named(simple, &["cd", "pushd"])
    {
        entered.push(folder_of(simple)?);
        return Some(entered).filter(|entered| entered.len() <= MOST_ENTERED);
    }
    if commands.iter().any(changes_directory) {
        return None;
    }
    commands
        .iter_mut()
        .for_each(|simple| simple.entered.splice(0..0, entered.iter().cloned()).for_each(drop));
    Some(entered)
}
