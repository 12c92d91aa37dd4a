//! Finds the folders that are entered before a command, which runs only in these: `cd x && y`, `cd x || exit; y`.

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundListItem, Pipeline, SeparatorOperator,
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
            let is_number = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
            let is_code = |item: &CommandPrefixOrSuffixItem| matches!(item, CommandPrefixOrSuffixItem::Word(word) if is_number(&word.value));
            let behind = simple.suffix.as_ref().map_or(&[][..], |suffix| &suffix.0);
            let is_exit = simple.word_or_name.as_ref().is_some_and(|name| name.value == "exit");
            is_exit && simple.prefix.is_none() && behind.len() < 2 && behind.iter().all(is_code)
        }
        Command::Compound(CompoundCommand::BraceGroup(group), None) => {
            let last = group.list.0.last();
            last.is_some_and(|CompoundListItem(item, separator)| {
                let is_waited_for = matches!(separator, SeparatorOperator::Sequence);
                is_waited_for && item.additional.is_empty() && exits(&item.first)
            })
        }
        Command::Compound(..) | Command::Function(_) | Command::ExtendedTest(..) => false,
    }
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
        && matches!(simple.words.first().and_then(Word::literal).as_deref(), Some("cd" | "pushd"))
    {
        let [_, folder] = simple.words.as_slice() else { return None };
        let is_plain = folder.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Home));
        let is_other = folder.literal().is_some_and(|text| text.is_empty() || text.starts_with(['-', '+']));
        entered.push(folder.clone());
        return Some(entered).filter(|entered| is_plain && !is_other && entered.len() <= MOST_ENTERED);
    }
    if commands.iter().any(changes_directory) {
        return None;
    }
    commands
        .iter_mut()
        .for_each(|simple| simple.entered.splice(0..0, entered.iter().cloned()).for_each(drop));
    Some(entered)
}
