//! Texts of PowerShell: what they remove, and programs in them that nobody can read.

use std::borrow::Cow;

use super::CommandLoss;
use super::printing::word_of;
use crate::permissions::programs;
use crate::permissions::shell::{Part, Word};
use crate::permissions::subcommands::has;

const PROGRAMS: &str = "pwsh pwsh-preview powershell";
/// Names of the command that removes.
const REMOVING: &str = "remove-item ri rm rmdir del erase rd";
/// Options and commands that choose among what is found.
const CHOOSING: &str = "-include -exclude -filter where-object where ? select-object select";
/// Names of the command that runs a text, and of what downloads.
const EVALUATING: &str = "iex invoke-expression";
const DOWNLOADING: &str = "irm iwr curl wget invoke-restmethod invoke-webrequest downloadstring downloaddata openread start-bitstransfer";
/// The option with a program in base64.
const ENCODED: &str = "encodedcommand";

fn is_powershell(part: &Part) -> bool {
    programs::name(&part.words).is_some_and(|name| has(PROGRAMS, name.trim_end_matches(".exe")))
}

/// The texts that a part may give PowerShell.
fn texts(part: &Part) -> impl Iterator<Item = Cow<'_, str>> {
    let words = part.words.iter().skip(1).map(|word| Cow::Owned(word.display()));
    words.chain(part.texts.iter().map(|text| Cow::Borrowed(text.as_str())))
}

/// The removals by PowerShell, as commands of the shell.
pub(super) fn commands(part: &Part) -> Vec<Vec<Word>> {
    if !is_powershell(part) {
        return Vec::new();
    }
    let texts: Vec<Cow<'_, str>> = texts(part).collect();
    // A command may be given as separate words: `pwsh -c Remove-Item -Recurse x`.
    let joined = texts.join(" ");
    texts.iter().flat_map(|text| removals(text)).chain(removals(&joined)).collect()
}

fn removals(text: &str) -> Vec<Vec<Word>> {
    text.split([';', '\n']).filter_map(removal).collect()
}

/// The removal in a statement, which may get what it removes from the commands before it.
fn removal(statement: &str) -> Option<Vec<Word>> {
    let plain = |word: &str| word.trim_matches(['(', ')', '{', '}', '\'', '"', ',', '&', '@']).to_owned();
    let commands = statement.split('|').map(|command| {
        let words = command.split_whitespace().map(plain).filter(|word| !word.is_empty());
        words.collect::<Vec<String>>()
    });
    let commands: Vec<Vec<String>> = commands.collect();
    let is = |list: &str, word: &String| has(list, &word.to_lowercase());
    // The options of PowerShell itself may be before the command.
    let start = |words: &Vec<String>| words.iter().position(|word| is(REMOVING, word));
    commands.iter().find_map(start)?;
    let all = || commands.iter().flatten();
    let is_recursive = |word: &String| {
        let name = word.to_lowercase();
        name.starts_with("-r") && "-recurse".starts_with(name.split(':').next().unwrap_or_default())
    };
    if !all().any(is_recursive) {
        return None;
    }
    let names = ["$env:HOME", "$env:USERPROFILE", "$env:home", "$Home"];
    let path = |word: &str| {
        let home = names.iter().find_map(|name| word.strip_prefix(name));
        home.map_or_else(|| word.replace('\\', "/"), |rest| format!("~{}", rest.replace('\\', "/")))
    };
    // An option may hold its value: `-Path:x`.
    let operand = |word: &'_ String| match word.starts_with('-') {
        true => word.split_once(':').map(|(_, value)| word_of(&path(value))),
        false => Some(word_of(&path(word))),
    };
    let operands = all().filter_map(operand);
    let is_chosen = all().any(|word| is(CHOOSING, word));
    let (first, last) = match is_chosen {
        true => (vec!["find"], vec!["-name", "x", "-delete"]),
        false => (vec!["rm", "-rf"], vec![]),
    };
    let first = first.into_iter().map(Word::of_text);
    Some(first.chain(operands).chain(last.into_iter().map(Word::of_text)).collect())
}

/// The danger of a text that is encoded, or evaluates what it downloads.
pub(super) fn find_unread_program(part: &Part) -> Option<CommandLoss> {
    if !is_powershell(part) {
        return None;
    }
    // Options may be abbreviated. What is behind a file or a command is for that.
    let is = |text: &str, long: &str| {
        let name = text.strip_prefix(['-', '/']).map(str::to_lowercase).unwrap_or_default();
        !name.is_empty() && long.starts_with(&name)
    };
    let words = part.words.iter().skip(1).map(Word::display);
    let mut own = words.take_while(|text| !is(text, "file") && !is(text, "command")).peekable();
    let has_options = own.peek().is_some_and(|text| text.starts_with(['-', '/']));
    let is_encoded = has_options && own.any(|text| is(&text, ENCODED) || is(&text, "ec"));
    let names = |text: &str, list: &str| {
        let is_name = |c: char| c.is_alphanumeric() || c == '-';
        text.to_lowercase().split(|c| !is_name(c)).any(|word| !word.is_empty() && has(list, word))
    };
    let evaluates = |text: &str| names(text, EVALUATING) && names(text, DOWNLOADING);
    let how = texts(part).find_map(|text| match (is_encoded, evaluates(&text)) {
        (true, _) => Some("decodes"),
        (_, true) => Some("downloads"),
        (false, false) => None,
    })?;
    Some((format!("it runs a program that it {how}, which nobody has read"), None))
}
