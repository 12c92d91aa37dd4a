//! Detects dangers in texts that a command runs, or in commands that the reader does not understand.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::targets::{Loss, Targets};
use super::{CommandLoss, downloads, fed, has_option, languages, piped};
use crate::permissions::links;
use crate::permissions::programs::{self, base};
use crate::permissions::read_only;
use crate::permissions::shell::{self, Analysis, Part, Word};
use crate::permissions::strict;
use crate::permissions::subcommands::has;
use crate::permissions::word_texts::is_filled_in;
use crate::permissions::words_as_paths::Scene;

/// Builtins that run a text, now or later.
const EVALUATING: &str = "eval source . trap alias mapfile readarray coproc bind complete";
/// The maximum number of pieces of a command that is not understood that are parsed.
const MAX_READ_PIECES: usize = 100;
/// The maximum number of texts that are taken apart.
const MAX_TEXTS: usize = 400;
/// The maximum nesting of such texts.
const MAX_DEPTH: usize = 2;

/// The first danger that is not in the commands that were understood, and its place.
pub(super) fn find_danger(
    command: &str,
    analysis: &Analysis,
    targets: &Targets<'_>,
    depth: usize,
) -> Option<(String, Range<usize>)> {
    let of_part = |part: &Part| {
        texts_of(part, analysis, targets.scene)
            .into_iter()
            .map(|text| (text, part.span.clone()))
            .collect::<Vec<_>>()
    };
    let mut texts: Vec<(String, Range<usize>)> = analysis.parts.iter().flat_map(of_part).collect();
    texts.extend(piped::run_texts(command, analysis));
    let whole = 0..command.len();
    // `select` is like a loop, and an appended value counts as one more value of the variable.
    let similar = [("select ", "for "), ("+=", "=")].into_iter().filter(|(it, _)| command.contains(it));
    texts.extend(similar.map(|(it, other)| (command.replace(it, other), whole.clone())));
    texts.extend(analysis.scripts.iter().map(|script| (script.clone(), whole.clone())));
    // `${x:-VALUE}`
    texts.extend(shell::with_default_values(command).map(|text| (text, whole.clone())));
    if !analysis.doubts.is_empty() {
        texts.extend(unread_texts(command).into_iter().map(|text| (text, whole.clone())));
    }
    let mut seen = HashSet::new();
    texts.retain(|(text, _)| seen.insert(text.clone()));
    let texts = texts.into_iter().filter(|(text, _)| may_be_dangerous(text));
    texts.take(MAX_TEXTS).find_map(|(text, span)| {
        // Editors and debuggers run what is behind these.
        let text = text.trim().trim_start_matches(['!', ':', '\\']);
        let analysis = links::analysis(text);
        let scene = targets.scene.inside(&analysis);
        let targets = Targets::new(text, &analysis, &scene, targets.places);
        let known =
            super::find_dangers(&targets, text, &analysis).into_iter().next().map(|(danger, _)| danger.text);
        let deeper = || find_danger(text, &analysis, &targets, depth + 1).map(|(danger, _)| danger);
        Some((known.or_else(|| (depth < MAX_DEPTH).then(deeper).flatten())?, span))
    })
}

/// The texts that a part may run.
fn texts_of(part: &Part, analysis: &Analysis, scene: &Scene<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    let name = programs::name(&part.words);
    let evaluates = |name: &str| has(EVALUATING, base(name)) || base(name).ends_with("sh");
    let runs = name.as_deref().is_none_or(evaluates) && !part.words.is_empty();
    match name.as_deref() {
        Some("eval") => texts.push(join_arguments(&part.words)),
        // The other machine expands what is quoted here.
        Some("ssh") => texts.push(join_arguments(&part.words)),
        Some("env") => texts.push(command_of_env(&part.words)),
        None | Some(_) => {}
    }
    texts.extend(scene.written_out(part));
    texts.extend(filled_texts(part, name.as_deref()));
    let run = part.values.iter().filter(|(name, _)| strict::is_run(name));
    texts.extend(run.filter_map(|(_, value)| Some(value.literal()?.into_owned())));
    let alias = |word: &Word| word.value_of(name.as_deref()?).map(|value| value.display());
    let aliases =
        analysis.parts.iter().filter(|other| programs::name(&other.words).as_deref() == Some("alias"));
    let values = aliases.flat_map(|other| &other.words).filter_map(alias);
    texts.extend(values.map(|value| format!("{value} {}", join_arguments(&part.words))));
    if runs {
        texts.extend(held_texts(analysis));
    }
    if !part.texts.is_empty() && (runs || programs::may_run_texts(part)) {
        texts.extend(part.texts.iter().cloned());
    }
    let literals = || part.words.iter().skip(1).filter_map(Word::literal);
    if read_only::evaluates(part) {
        texts.extend(literals().flat_map(|text| shell::substituted_commands(&text)));
    }
    let quoted = literals().chain(part.texts.iter().map(|text| Cow::Borrowed(text.as_str())));
    let open = part.words.iter().skip(1).filter(|word| word.literal().is_none()).map(Word::display);
    let open = open.filter(|text| text.contains(' '));
    let quoted: Vec<String> = quoted.flat_map(|text| in_quotes(&text)).chain(open).collect();
    if !quoted.is_empty() && programs::may_run_texts(part) {
        texts.extend(quoted);
    }
    texts
}

/// The texts that may be commands of a command that is not understood as a whole.
fn unread_texts(command: &str) -> Vec<String> {
    let loose = shell::loosen(command);
    let mut texts: Vec<String> = shell::pieces(loose.as_deref().unwrap_or(command))
        .filter(|piece| names_danger(piece))
        .take(MAX_READ_PIECES)
        .map(str::to_owned)
        .collect();
    texts.extend(shell::substituted_commands(command));
    texts.extend(shell::loosen_all(command));
    texts
}

/// The commands in which `xargs` and `parallel` put what they are given in the command itself: `'rm -rf {}' ::: ~`.
fn filled_texts(part: &Part, name: Option<&str>) -> Vec<String> {
    let is_parallel = name == Some("parallel");
    if !part.more_arguments && !is_parallel {
        return Vec::new();
    }
    let written = |word: &Word| {
        let mut word = word.clone();
        if is_filled_in(&word) {
            (word.is_brace, _) = (false, word.pieces.pop());
        }
        word.display()
    };
    let mut words = part.words.iter().skip(1);
    let is_list = |word: &Word| word.literal().is_some_and(|text| text.starts_with(":::"));
    let before: Vec<String> = words.by_ref().take_while(|word| !is_list(word)).map(written).collect();
    let listed: Vec<String> = words.filter(|_| is_parallel).map(Word::display).collect();
    let inputs = part.texts.iter().flat_map(|text| text.split_whitespace());
    let given: Vec<String> = inputs.map(str::to_owned).chain(listed).take(MAX_TEXTS).collect();
    let whole = is_parallel.then(|| before.join(" "));
    let commands: Vec<String> = before.into_iter().filter(|text| text.contains("{}")).chain(whole).collect();
    let fill = |text: &String, given: &String| match text.contains("{}") {
        true => text.replace("{}", given),
        false => format!("{text} {given}"),
    };
    given.iter().flat_map(|given| commands.iter().map(move |text| fill(text, given))).collect()
}

/// The command that `env` runs, as a text; `-S` holds the beginning of one.
fn command_of_env(words: &[Word]) -> String {
    let words = words.iter().skip(1).map(Word::display);
    // Options without a value may be before it in the same word.
    let split = |word: &str| {
        let (options, text) = word.strip_prefix('-')?.split_once('S')?;
        options.chars().all(|c| "i0v".contains(c)).then(|| text.to_owned())
    };
    let long = |word: &str| word.strip_prefix("--split-string=").map(str::to_owned);
    let words = words.map(|word| split(&word).or_else(|| long(&word)).unwrap_or(word));
    words.skip_while(|word| word.is_empty() || word.starts_with('-')).collect::<Vec<_>>().join(" ")
}

/// Whether a text has a word that every danger needs, or a sign of one. Most texts have none, and are not parsed.
fn may_be_dangerous(text: &str) -> bool {
    ["()", "$'"].iter().any(|sign| text.contains(sign)) || names_danger(text)
}

/// Whether a text has a word that every danger needs, quoted or not.
fn names_danger(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_named =
        |word: &str| super::is_dangerous(word) || fed::is_removing(word) || downloads::is_loading(word);
    text.contains("/dev/") || languages::may_remove(text) || plain.split(|c| !is_part(c)).any(is_named)
}

/// The texts that a command holds in variables, and gives to builtins that read.
fn held_texts(analysis: &Analysis) -> Vec<String> {
    let mut found = Vec::new();
    for part in &analysis.parts {
        let words: Vec<String> = part.values.iter().map(|(_, word)| word.display()).collect();
        // The elements of an array are the words of a command.
        found.extend((words.len() > 1).then(|| words.join(" ")));
        found.extend(words);
        found.extend(part.texts.iter().cloned());
        let sets =
            part.words.first().and_then(Word::literal).is_some_and(|name| has("printf set read", &name));
        if sets {
            found.extend(part.words.iter().skip(1).map(Word::display));
            found.push(join_arguments(&part.words));
        }
    }
    found.retain(|text| text.contains(' '));
    found
}

/// The arguments of a command as a text.
fn join_arguments(words: &[Word]) -> String {
    words.iter().skip(1).map(Word::display).collect::<Vec<_>>().join(" ")
}

/// The texts in quotes in a program in another language that may be dangerous commands.
fn in_quotes(text: &str) -> Vec<String> {
    let may_be = |text: &&str| {
        let first = text.split_whitespace().find(|word| !has("sudo env exec", word));
        first.is_some_and(|first| super::is_dangerous(base(first)) || has("curl wget", base(first)))
    };
    let parts = text.split(['\'', '"', '`']).skip(1);
    parts.filter(|part| part.contains(' ')).filter(may_be).map(str::to_owned).collect()
}

/// The loss if a program whose name is not known removes what it is given, as its options look.
pub(super) fn loss_of_unknown_program(
    words: &[Word],
    elsewhere: bool,
    targets: &Targets<'_>,
) -> Option<CommandLoss> {
    let (_, arguments) = words.split_first()?;
    let (options, operands): (Vec<Word>, Vec<Word>) =
        arguments.iter().cloned().partition(|word| word.literal().is_some_and(|text| text.starts_with('-')));
    if !has_option(&options, "rR", "recursive") {
        return None;
    }
    let lost = |word: &Word| targets.loss(word, elsewhere).filter(Loss::is_outside);
    let loss = operands.iter().find_map(lost)?;
    Some((format!("it may remove {}: what runs is only known then", loss.what()), None))
}
