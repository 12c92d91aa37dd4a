//! Unwraps commands that run another one: `env`, `xargs`, `find -exec`, `sh -c` and others.

use super::words::{Piece, Word};
use crate::permissions::programs::plain_name;
use crate::permissions::subcommands::has;

/// The effect of a command.
pub(super) enum CommandEffect {
    /// It runs no other command.
    Plain,
    /// It runs other commands among its words.
    Runs(Vec<Run>),
    /// It runs a script in one of its words.
    Script { text: String, at: usize },
    /// It runs something unknown.
    Doubt { text: String, at: usize },
}

/// A command among the words of another.
pub(super) struct Run {
    pub start: usize,
    pub end: usize,
    pub assigned: Vec<String>,
    /// The values of these variables.
    pub values: Vec<(String, Word)>,
    pub more_arguments: bool,
    pub elsewhere: bool,
    /// The folder that is chosen for it.
    pub folder: Option<Word>,
    /// Arguments that contain this placeholder are replaced by others; if it is empty, all arguments are.
    pub replaced: Option<String>,
}

impl Run {
    fn rest(words: &[Word], start: usize) -> Self {
        Run {
            start,
            end: words.len(),
            assigned: Vec::new(),
            values: Vec::new(),
            more_arguments: false,
            elsewhere: false,
            folder: None,
            replaced: None,
        }
    }
}

/// A wrapper with plain options: those that take a value in the next word, and the number of words before the
/// command.
struct Wrapper {
    name: &'static str,
    /// Short options with a value.
    valued: &'static str,
    /// Long options with a value in the next word.
    long_valued: &'static [&'static str],
    operands: usize,
    /// Whether it must be allowed itself.
    judged: bool,
}

const fn free(
    name: &'static str,
    valued: &'static str,
    long_valued: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { name, valued, long_valued, operands, judged: false }
}

const WRAPPERS: [Wrapper; 17] = [
    free("command", "", &[], 0),
    free("builtin", "", &[], 0),
    free("exec", "a", &[], 0),
    free("nice", "n", &["--adjustment"], 0),
    free("nohup", "", &[], 0),
    free("setsid", "", &[], 0),
    free("ionice", "cnpPu", &["--class", "--classdata"], 0),
    free("chrt", "TPD", &[], 1),
    free("timeout", "ks", &["--kill-after", "--signal"], 1),
    free("stdbuf", "ioe", &["--input", "--output", "--error"], 0),
    free("time", "f", &["--format"], 0),
    free("taskset", "", &[], 1),
    free("caffeinate", "tw", &[], 0),
    Wrapper {
        name: "sudo",
        valued: "ugpCTrtDRUh",
        long_valued: tau_tools::words!(
            "--user --group --prompt --chdir --role --type --chroot --other-user --host"
        ),
        operands: 0,
        judged: true,
    },
    Wrapper { name: "doas", valued: "uC", long_valued: &[], operands: 0, judged: true },
    Wrapper { name: "busybox", valued: "", long_valued: &[], operands: 0, judged: true },
    Wrapper { name: "toybox", valued: "", long_valued: &[], operands: 0, judged: true },
];

/// Shells, and whether they parse a script like bash.
const SHELLS: [(&str, bool); 7] = [
    ("bash", true),
    ("sh", false),
    ("dash", false),
    ("ash", false),
    ("ksh", false),
    ("mksh", false),
    ("zsh", false),
];

/// Commands that run something not visible here.
const UNSEEN: [(&str, &str); 12] = [
    ("eval", "eval runs a text as a command"),
    ("source", "source runs a file in this shell"),
    (".", "`.` runs a file in this shell"),
    ("alias", "an alias gives another meaning to a name"),
    ("trap", "trap runs a text as a command later"),
    ("enable", "enable changes what names mean"),
    ("shopt", "shopt changes how commands are read"),
    ("coproc", "a coprocess"),
    ("bind", "bind runs a text as a command"),
    ("complete", "complete runs a text as a command"),
    ("mapfile", "mapfile can run a text as a command"),
    ("readarray", "readarray can run a text as a command"),
];

/// Whether the wrapper itself must be allowed, not only the command that it runs.
pub(super) fn is_judged(words: &[Word]) -> bool {
    let name = words.first().and_then(Word::literal).unwrap_or_default();
    let options = || words.iter().skip(1);
    match plain_name(&name) {
        "find" | "parallel" => true,
        // It reads the file that `-a` names.
        "xargs" | "gxargs" => options().any(|word| {
            let text = word.literal().unwrap_or_default();
            text.starts_with("--a") || text.starts_with('-') && !text.starts_with("--") && text.contains('a')
        }),
        // Programs write to the files that some variables name.
        "env" => options().any(|word| {
            env_assignment(word).is_some() && word.literal().is_none_or(|text| text.contains(['/', '~']))
        }),
        name => WRAPPERS.iter().any(|wrapper| wrapper.judged && wrapper.name == name),
    }
}

/// Whether further arguments may make it run another command.
pub(super) fn runs_arguments(words: &[Word]) -> bool {
    let name = words.first().and_then(Word::literal).unwrap_or_default();
    let name = plain_name(&name);
    let is_wrapper = WRAPPERS.iter().any(|wrapper| wrapper.name == name);
    is_wrapper
        || SHELLS.iter().any(|(shell, _)| *shell == name)
        || ["env", "xargs", "gxargs", "find", "parallel"].contains(&name)
}

/// The commands that these words run.
pub(super) fn unwrap(words: &[Word]) -> CommandEffect {
    let Some(first) = words.first() else { return CommandEffect::Plain };
    let doubt = |text: &str| CommandEffect::Doubt { text: text.to_owned(), at: 0 };
    let Some(name) = first.literal() else {
        return doubt("the name of the command is only known when it runs");
    };
    let name = plain_name(&name);
    if ["mapfile", "readarray"].contains(&name) && only_reads_lines(words) {
        return CommandEffect::Plain;
    }
    if let Some((_, text)) = UNSEEN.iter().find(|(unseen, _)| *unseen == name) {
        return doubt(text);
    }
    match name {
        "env" => env(words),
        "xargs" | "gxargs" => xargs(words),
        "parallel" => parallel(words),
        "find" => find(words),
        "command"
            if words
                .get(1)
                .and_then(Word::literal)
                .is_some_and(|option| option.starts_with("-v") || option.starts_with("-V")) =>
        {
            CommandEffect::Plain
        }
        _ => {
            if let Some((_, reads_bash)) = SHELLS.iter().find(|(shell, _)| *shell == name) {
                return shell(words, *reads_bash);
            }
            let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name);
            wrapper.map_or(CommandEffect::Plain, |wrapper| plain(words, wrapper))
        }
    }
}

/// Whether `mapfile` has no option with which it runs a text for the lines that it reads.
fn only_reads_lines(words: &[Word]) -> bool {
    let Some(start) = skip_options(words, "dnOsu", &[]) else { return false };
    let is_known =
        |word: &Word| word.literal().is_some_and(|text| !text.starts_with('-') || !text.contains(['C', 'c']));
    words.get(1..start.min(words.len())).unwrap_or_default().iter().all(is_known)
}

/// Skips options; returns the index of the first operand. `None` if one of them is unknown before it runs.
pub(in crate::permissions) fn skip_options(
    words: &[Word],
    valued: &str,
    long_valued: &[&str],
) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let literal = word.literal();
        let Some(text) = literal.as_deref() else {
            return (!word.may_be_option()).then_some(at);
        };
        if text == "--" {
            return Some(at + 1);
        }
        if !text.starts_with('-') || text == "-" {
            return Some(at);
        }
        let takes_next = if text.starts_with("--") {
            long_valued.contains(&text)
        } else {
            // The value of the first option that takes one is the rest of the word, or the next word.
            let mut letters = text.chars().skip(1);
            letters.by_ref().find(|c| valued.contains(*c)).is_some() && letters.next().is_none()
        };
        at += if takes_next { 2 } else { 1 };
    }
    Some(at)
}

/// Whether every word before the command is known, so that its position is certain.
fn are_all_known(words: &[Word], end: usize) -> bool {
    words.get(1..end.min(words.len())).unwrap_or_default().iter().all(|word| word.literal().is_some())
}

fn plain(words: &[Word], wrapper: &Wrapper) -> CommandEffect {
    let Some(start) = skip_options(words, wrapper.valued, wrapper.long_valued) else {
        return CommandEffect::Doubt {
            text: format!("what {} runs cannot be known in advance", wrapper.name),
            at: 0,
        };
    };
    if wrapper.name == "time" && has_option(words, start, 'o', "--output") {
        return CommandEffect::Doubt { text: "time writes a file".to_owned(), at: 0 };
    }
    if wrapper.judged {
        if words.get(1..start).unwrap_or_default().iter().filter_map(Word::literal).any(|option| {
            !option.starts_with("--") && option.starts_with('-') && option.contains(['e', 'i', 's'])
                || ["--edit", "--login", "--shell"].contains(&option.as_ref())
        }) {
            return CommandEffect::Doubt {
                text: format!("{} starts a shell or an editor", wrapper.name),
                at: 0,
            };
        }
        let assignments = words.get(start..).unwrap_or_default();
        let skipped = assignments.iter().take_while(|word| assigned_variable(word).is_some()).count();
        if skipped > 0 {
            return CommandEffect::Doubt { text: "variables are set for it".to_owned(), at: start };
        }
    }
    let start = start + wrapper.operands;
    if !are_all_known(words, start) {
        return CommandEffect::Doubt {
            text: format!("what {} runs cannot be known in advance", wrapper.name),
            at: 0,
        };
    }
    if start >= words.len() {
        return CommandEffect::Plain;
    }
    let folder = words.get(1..start).filter(|_| wrapper.name == "sudo");
    let folder = folder.and_then(|options| chosen_folder(options, "-D"));
    CommandEffect::Runs(vec![Run { folder, ..Run::rest(words, start) }])
}

/// The folder that these options choose, with this letter or `--chdir`.
fn chosen_folder(options: &[Word], letter: &str) -> Option<Word> {
    options.iter().enumerate().find_map(|(at, word)| {
        let text = word.literal()?;
        if text == letter || text == "--chdir" {
            return options.get(at + 1).cloned();
        }
        text.strip_prefix("--chdir=").or_else(|| text.strip_prefix(letter)).map(Word::of_text)
    })
}

fn has_option(words: &[Word], end: usize, short: char, long: &str) -> bool {
    let options = words.get(1..end).unwrap_or_default().iter().filter_map(Word::literal);
    options.into_iter().any(|text| {
        text.starts_with(long) || text.starts_with('-') && !text.starts_with("--") && text.contains(short)
    })
}

/// The variable that a word sets, if it is `NAME=…`.
fn assigned_variable(word: &Word) -> Option<String> {
    let Some(Piece::Text(text)) = word.pieces.first() else { return None };
    let (name, _) = text.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
}

/// The variable that a word sets for env, which accepts any name.
fn env_assignment(word: &Word) -> Option<String> {
    let Some(Piece::Text(text)) = word.pieces.first() else { return None };
    let (name, _) = text.split_once('=').filter(|(name, _)| !name.starts_with('-'))?;
    Some(name.to_owned())
}

fn env(words: &[Word]) -> CommandEffect {
    let doubt = |text: &str, at| CommandEffect::Doubt { text: text.to_owned(), at };
    let (mut at, mut set, mut values) = (1, Vec::new(), Vec::new());
    while let Some(word) = words.get(at) {
        if let Some(name) = env_assignment(word) {
            values.extend(word.value_of(&name).map(|value| (name.clone(), value)));
            set.push(name);
            at += 1;
            continue;
        }
        let Some(text) = word.literal() else {
            if word.may_be_option() {
                return doubt("what env runs cannot be known in advance", at);
            }
            break;
        };
        match text.as_ref() {
            "-i" | "-" | "--ignore-environment" | "-0" | "--null" | "--" => at += 1,
            "-u" | "--unset" | "-C" | "--chdir" => at += 2,
            text if ["--chdir=", "-C", "--unset="].iter().any(|option| text.starts_with(option)) => at += 1,
            text if text.starts_with('-') => return doubt("an option of env that can run a text", at),
            _ => break,
        }
    }
    let options = words.get(1..at.min(words.len())).unwrap_or_default();
    if options.iter().any(|word| word.splits) {
        return doubt("what env runs cannot be known in advance", 0);
    }
    if at >= words.len() {
        return CommandEffect::Plain;
    }
    let folder = chosen_folder(options, "-C");
    CommandEffect::Runs(vec![Run { assigned: set, values, folder, ..Run::rest(words, at) }])
}

/// GNU parallel, which takes arguments from its input unless they follow `:::`.
fn parallel(words: &[Word]) -> CommandEffect {
    let long = [
        "--arg-file", "--colsep", "--delay", "--delimiter", "--halt", "--jobs", "--joblog", "--max-args",
        "--memfree", "--process-slot-var", "--results", "--retries", "--sshlogin", "--timeout", "--tmpdir",
        "--workdir",
    ];
    let is_given = |word: &Word| word.literal().is_some_and(|text| text.starts_with(":::"));
    match skip_options(words, "aCDEIJLNPSUdjnqs", &long) {
        Some(start) if start < words.len() && !words.iter().any(is_given) && are_all_known(words, start) => {
            let assigned = slot_variable(words.get(1..start).unwrap_or_default());
            CommandEffect::Runs(vec![Run { more_arguments: true, assigned, ..Run::rest(words, start) }])
        }
        _ => CommandEffect::Plain,
    }
}

/// Letters of `xargs` with a value, in the next word if they are the last.
const XARGS_VALUED: &str = "adEIJLnPRSs";
/// The long options of `xargs`.
const XARGS_LONG: &str = "--null --arg-file --delimiter --eof --replace --max-lines --max-args --open-tty --interactive \
                          --no-run-if-empty --max-chars --verbose --show-limits --exit --max-procs --process-slot-var \
                          --version --help";

fn xargs(words: &[Word]) -> CommandEffect {
    let long = *tau_tools::words!(
        "--arg-file --delimiter --max-args --max-procs --max-lines --max-chars --process-slot-var"
    );
    let doubt =
        |at| CommandEffect::Doubt { text: "what xargs runs cannot be known in advance".to_owned(), at };
    let Some(start) = skip_options(words, XARGS_VALUED, &long) else { return doubt(0) };
    let options = words.get(1..start.min(words.len())).unwrap_or_default();
    let is_unsure = |word: &Word| word.literal().is_none_or(|text| is_unsure_for_xargs(&text));
    if options.iter().any(is_unsure) {
        return doubt(0);
    }
    if start >= words.len() {
        // It runs echo.
        return CommandEffect::Plain;
    }
    let replaced = replaced_by_xargs(options);
    let name = words.get(start).and_then(Word::literal).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if let Some(token) = &replaced
        && (name.is_empty() || !name.chars().all(plain) || !token.is_empty() && name.contains(token))
    {
        return doubt(start);
    }
    let assigned = slot_variable(options);
    CommandEffect::Runs(vec![Run { more_arguments: true, replaced, assigned, ..Run::rest(words, start) }])
}

/// Whether it is uncertain if an option of `xargs` takes the next word: it is abbreviated, or begins with a letter that
/// takes the rest as its value, `-en`.
fn is_unsure_for_xargs(text: &str) -> bool {
    let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else { return false };
    match letters.strip_prefix('-') {
        Some(name) => {
            let name = name.split('=').next().unwrap_or_default();
            !name.is_empty() && !has(XARGS_LONG, &format!("--{name}"))
        }
        None => {
            let decisive = letters.find(|c| "eil".contains(c) || XARGS_VALUED.contains(c));
            let rest = decisive.and_then(|at| letters.get(at..)).unwrap_or_default();
            rest.len() > 1
                && rest.starts_with(['e', 'i', 'l'])
                && rest.ends_with(|c| XARGS_VALUED.contains(c))
        }
    }
}

/// The variable that `xargs` and `parallel` set to a number for each command: `--process-slot-var=X`.
fn slot_variable(options: &[Word]) -> Vec<String> {
    const OPTION: &str = "--process-slot-var";
    let of_pair = |(at, word): (usize, &Word)| {
        let text = word.literal()?;
        let name = text.strip_prefix(OPTION)?;
        if name.is_empty() {
            return options.get(at + 1).and_then(Word::literal).map(std::borrow::Cow::into_owned);
        }
        name.strip_prefix('=').map(str::to_owned)
    };
    options.iter().enumerate().filter_map(of_pair).collect()
}

/// The text that `xargs` replaces by its input, if it does: `-I%`, `-i`, `--replace=x`.
fn replaced_by_xargs(options: &[Word]) -> Option<String> {
    options.iter().enumerate().find_map(|(at, word)| {
        let option = word.literal()?;
        if option.starts_with("--") {
            let value = option.split_once('=').map_or("{}", |(_, value)| value);
            return option.starts_with("--replace").then(|| value.to_owned());
        }
        // Of a cluster, the first option with a value takes the rest.
        let start = option.strip_prefix('-')?.find(|c| "adEIJiLnPRSs".contains(c))? + 1;
        let (letter, value) = option.get(start..)?.split_at_checked(1)?;
        match letter {
            "I" | "J" if value.is_empty() => options.get(at + 1)?.literal().map(std::borrow::Cow::into_owned),
            "i" if value.is_empty() => Some("{}".to_owned()),
            "I" | "J" | "i" => Some(value.to_owned()),
            _ => None,
        }
    })
}

fn find(words: &[Word]) -> CommandEffect {
    if let Some(at) = words.iter().skip(1).position(|word| word.literal().is_none() && word.may_be_option()) {
        return CommandEffect::Doubt {
            text: "what find does is only known when it runs".to_owned(),
            at: at + 1,
        };
    }
    let mut runs = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.literal().unwrap_or_default();
        at += 1;
        if !matches!(text.as_ref(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let rest = words.get(at..).unwrap_or_default();
        let ends = |word: &Word| word.literal().is_some_and(|text| text == ";" || text == "+");
        let Some(length) = rest.iter().position(ends) else {
            return CommandEffect::Doubt { text: "what find runs has no end".to_owned(), at: at - 1 };
        };
        if rest.first().is_some_and(|word| word.literal().is_none_or(|name| name.contains("{}"))) {
            return CommandEffect::Doubt { text: "find runs the files that it finds".to_owned(), at };
        }
        let elsewhere = text.ends_with("dir");
        runs.push(Run {
            end: at + length,
            more_arguments: true,
            elsewhere,
            replaced: Some("{}".to_owned()),
            ..Run::rest(words, at)
        });
        at += length + 1;
    }
    if runs.is_empty() { CommandEffect::Plain } else { CommandEffect::Runs(runs) }
}

/// A shell: its script is parsed if it is literal.
fn shell(words: &[Word], reads_bash: bool) -> CommandEffect {
    let doubt = |text: &str, at| CommandEffect::Doubt { text: text.to_owned(), at };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else {
            return doubt("what the shell runs cannot be known in advance", at);
        };
        let is_short = text.starts_with('-') && !text.starts_with("--") && text.len() > 1;
        let letters = text.trim_start_matches('-');
        match text.as_ref() {
            "--version" | "--help" if words.len() == 2 => return CommandEffect::Plain,
            "--norc" | "--noprofile" | "--posix" => at += 1,
            _ if is_short && letters.chars().all(|c| "ceuxnlvf".contains(c)) => {
                at += 1;
                if letters.contains('l') {
                    return doubt("a login shell reads startup files", at - 1);
                }
                if letters.contains('c') {
                    return script(words, at, reads_bash);
                }
            }
            "-o" | "-eo" | "-euo" | "-uo" | "-euxo" => at += 2,
            "-O" | "+O" if reads_bash && words.get(at + 1).is_some_and(keeps_patterns) => at += 2,
            _ => return doubt("a shell that runs a file", at),
        }
    }
    doubt("a shell that runs what it reads", 0)
}

/// Whether an option of `shopt` changes at most which files a pattern finds, as is known of a whole command.
fn keeps_patterns(option: &Word) -> bool {
    option.literal().is_some_and(|name| ["dotglob", "globstar", "nullglob", "failglob"].contains(&&*name))
}

fn script(words: &[Word], at: usize, reads_bash: bool) -> CommandEffect {
    let doubt = |text: &str| CommandEffect::Doubt { text: text.to_owned(), at };
    let Some(word) = words.get(at) else { return doubt("a script is missing") };
    let Some(text) = word.literal() else { return doubt("a script that is only known when it runs") };
    if text.starts_with('-') {
        return doubt("an option behind -c");
    }
    // Syntax that shells parse differently.
    const OF_BASH: [&str; 13] =
        ["$'", "$\"", "&>", "|&", "<(", ">(", "[[", "((", "<<", "{", "function", "coproc", "\\\n"];
    if !reads_bash && OF_BASH.iter().any(|special| text.contains(special)) {
        return doubt("a script that shells read differently");
    }
    CommandEffect::Script { text: text.into_owned(), at }
}
