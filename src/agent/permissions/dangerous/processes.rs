//! Detects that every process of a user is ended: `kill -9 -1`, `pkill -u me`.

use super::fed::sources;
use super::printing::is_chosen;
use super::{CommandLoss, has_option};
use crate::permissions::programs;
use crate::permissions::shell::{Analysis, Part, Word, skip_options};
use crate::permissions::subcommands::has;

pub(super) const EVERY_PROCESS: &str =
    "it ends every process of a user, and what they have not saved is lost";
/// Options with a value.
const LONG_VALUED: &[&str] = tau_tools::words!(
    "--signal --queue --pgroup --group --parent --session --terminal --euid --uid --pidfile --older --older-than \
     --younger-than --context --user --ns --nslist --cgroup --env"
);

/// The loss if a command ends every process of a user, or all but some.
pub(super) fn find_loss(name: &str, words: &[Word], part: &Part) -> Option<CommandLoss> {
    let named = |what: &str| Some((EVERY_PROCESS.to_owned(), Some(vec![name.to_owned(), what.to_owned()])));
    if name == "kill" {
        // The first one is a signal, unless what ends options is before it.
        let mut operands = words.iter().skip(2).filter_map(Word::literal);
        let given = part.more_arguments && part.texts.iter().any(|text| is_among(text, "-1"));
        return named("-1").filter(|_| given || operands.any(|text| text == "-1"));
    }
    let texts = words.iter().map(Word::display).filter(|text| !is_signal(text));
    let options: Vec<Word> = texts.map(|text| Word::of_text(&text)).collect();
    let valued = if name == "killall" { "Znosuy" } else { "dFgGPqrstuU" };
    let start = skip_options(&options, valued, LONG_VALUED)?;
    let (options, patterns) = options.split_at_checked(start)?;
    let options = options.get(1..).unwrap_or_default();
    let of_user = || ["euid", "uid", "user"].iter().any(|long| has_option(options, "uU", long));
    // `pkill` takes a part of a name, in which a pattern without a letter is any.
    let is_any = |word: &Word| {
        word.literal().is_some_and(|text| !text.starts_with('$') && !text.contains(char::is_alphanumeric))
    };
    let is_pattern = has("pkill pgrep", name) || name == "killall" && has_option(options, "r", "regexp");
    match patterns {
        [] => named("-u").filter(|_| of_user()),
        [pattern] if is_pattern && is_any(pattern) => named(&pattern.literal().unwrap_or_default()),
        _ if has("pkill pgrep", name) && has_option(options, "v", "inverse") => named("-v"),
        _ => None,
    }
}

/// The loss if a part ends the processes that another one lists: `kill $(pgrep -u me)`, `ps -e | xargs kill`.
pub(super) fn find_listed_loss(part: &Part, command: &str, analysis: &Analysis) -> Option<CommandLoss> {
    if programs::name(&part.words)? != "kill" {
        return None;
    }
    let found = Some((EVERY_PROCESS.to_owned(), None));
    // What is chosen among the names in /proc are numbers of processes.
    let words =
        || analysis.parts.iter().flat_map(|part| part.words.iter().chain(part.values.iter().map(|it| &it.1)));
    let is_given = part.more_arguments || part.words.iter().any(|word| word.literal().is_none());
    if is_given && words().any(|word| names_every_process(&word.display())) {
        return found;
    }
    let sources = sources(part, command, analysis);
    let lists_all = |source: &&&Part| {
        let name = programs::name(&source.words).unwrap_or_default();
        name == "pgrep" && find_loss(&name, &source.words, source).is_some()
            || name == "ps" && source.words.iter().enumerate().skip(1).any(is_of_user)
    };
    let mut listing = sources.iter().filter(lists_all);
    listing.any(|source| !is_chosen(source, sources.iter().copied())).then_some(found).flatten()
}

/// Whether a word of `ps` makes it list the processes of a user, or all; the first may be options without a dash.
fn is_of_user((index, word): (usize, &Word)) -> bool {
    let text = word.literal().unwrap_or_default();
    let letters = if index == 1 { text.as_ref() } else { text.strip_prefix('-').unwrap_or_default() };
    // The names of columns are behind `o`.
    let letters = letters.split('o').next().unwrap_or_default();
    !text.starts_with("--") && letters.contains(['u', 'U', 'e', 'A', 'a', 'x'])
}

/// Whether a text names the folder with all processes, or all that is in it: `/proc`, `/proc/[0-9]*`.
pub(super) fn names_every_process(text: &str) -> bool {
    text.match_indices("/proc").any(|(at, name)| {
        let rest = text.get(at + name.len()..).unwrap_or_default().trim_start_matches('/');
        let before = text.get(..at).unwrap_or_default();
        !before.ends_with(char::is_alphanumeric)
            && (rest.is_empty() || rest.starts_with(['*', '[', '?', '\'', '"', '`']))
    })
}

/// Whether a word of a text is this one.
fn is_among(text: &str, sought: &str) -> bool {
    text.split_whitespace().any(|word| word == sought)
}

/// Whether a word is an option that names a signal: `-9`, `-KILL`.
fn is_signal(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|name| {
        let is_name = name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        is_name || !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
    })
}
