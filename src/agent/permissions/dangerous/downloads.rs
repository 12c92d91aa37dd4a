//! Detects downloaded text that is run: `curl … | sh` and similar commands.

use std::borrow::Cow;
use std::ops::Range;

use crate::permissions::programs::{self, base, is_interpreter};
use crate::permissions::shell::{Analysis, Part, Piece, Word};
use crate::permissions::strict::inner_commands;
use crate::permissions::subcommands::{has, words};

const DOWNLOADING: &[&str] = words!(
    "curl wget fetch aria2c http https xh curlie lynx links w3m elinks nc ncat socat ftp lftp \
                           axel ssh scp sftp rsync gh"
);
/// Builtins that run a text or a file in the shell itself.
const EVALUATING: &[&str] = words!("eval source .");

/// The danger of a command that downloads something and runs an unknown text, or the file it downloads to, and its
/// place in the command.
pub(super) fn run(command: &str, analysis: &Analysis) -> Option<(String, Range<usize>)> {
    let parts = analysis.parts.iter();
    let commands: Vec<(&Part, Cow<'_, [Word]>)> =
        parts.flat_map(|part| commands(part).map(move |words| (part, words))).collect();
    let is_download = |(_, words): &&(&Part, Cow<'_, [Word]>)| {
        programs::name(words)
            .is_some_and(|name| DOWNLOADING.contains(&name.as_ref()) && !is_remote_shell(&name))
    };
    let mut downloads: Vec<(&Part, Cow<'_, [Word]>)> = commands.iter().filter(is_download).cloned().collect();
    downloads.extend(analysis.parts.iter().filter_map(|part| Some((part, connection(part)?))));
    let (_, first) = downloads.first()?;
    let written = analysis
        .parts
        .iter()
        .flat_map(|part| &part.redirects)
        .filter_map(|redirect| redirect.target.literal());
    let named = downloads.iter().flat_map(|(_, words)| words.iter().skip(1).filter_map(Word::literal));
    let names: Vec<Cow<'_, str>> = named.chain(written).collect();
    let is_of_network = |script: &str| {
        let file = base(script);
        !file.is_empty()
            && names.iter().any(|name| base(name.split(['?', '#']).next().unwrap_or(name)) == file)
    };
    let gets_download = |part: &Part, words: &[Word]| {
        let within = |word: &Word| {
            let is_in = |(of, _): &(&Part, Cow<'_, [Word]>)| word.span.contains(&of.span.start);
            is_process_substitution(word) && downloads.iter().any(is_in)
        };
        words.iter().any(within) && !programs::takes_data(words, part.more_arguments)
    };
    let (runner, _) = commands.iter().find(|(part, words)| match script(words) {
        Script::None => gets_download(part, words),
        Script::Unknown => true,
        Script::File(file) => is_of_network(&file) || gets_download(part, words),
    })?;
    let from = first.iter().skip(1).filter_map(Word::literal).find_map(|text| {
        if let Some(address) = text.strip_prefix("/dev/tcp/") {
            return Some(format!(" from {}", address.split('/').next()?));
        }
        let host = text.split_once("://")?.1.split(['/', '?', '#']).next()?.to_owned();
        Some(format!(" from {host}"))
    });
    let from = from.unwrap_or_default();
    // Both are the reason; where there are lines between them, the one that runs it.
    let before =
        downloads.iter().map(|(part, _)| part.span.start).filter(|start| *start <= runner.span.start).max();
    let start = before.filter(|start| {
        command.get(*start..runner.span.start).is_some_and(|between| !between.contains('\n'))
    });
    let span = start.unwrap_or(runner.span.start)..runner.span.end;
    Some((format!("it runs a program that it downloads{from}, which nobody has read"), span))
}

/// The words of a redirection that opens a connection, as those of a command that downloads.
fn connection(part: &Part) -> Option<Cow<'static, [Word]>> {
    let opens = |word: &Word| {
        word.literal()
            .is_some_and(|text| ["/dev/tcp/", "/dev/udp/"].iter().any(|start| text.starts_with(start)))
    };
    let target = part.redirects.iter().map(|redirect| &redirect.target).find(|target| opens(target))?;
    Some(Cow::Owned(vec![Word::default(), target.clone()]))
}

/// Whether a word is the output of a command, as a file: `<(curl …)`.
fn is_process_substitution(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Text(text), Piece::Unknown] if text == "/dev/fd/")
}

fn is_remote_shell(name: &str) -> bool {
    has("ssh scp sftp rsync", name)
}

/// The commands of a part: itself, and the relevant ones among its words.
fn commands(part: &Part) -> impl Iterator<Item = Cow<'_, [Word]>> {
    let wanted =
        |name: &str| DOWNLOADING.contains(&name) || EVALUATING.contains(&name) || is_interpreter(name);
    let inner = inner_commands(&part.words, part.more_arguments, &wanted);
    inner.into_iter().map(Cow::Owned).chain([Cow::Borrowed(part.words.as_slice())])
}

/// The program text that a command runs.
enum Script {
    None,
    File(String),
    /// Its standard input, or an unknown text.
    Unknown,
}

fn script(words: &[Word]) -> Script {
    let Some(first) = words.first() else { return Script::None };
    let Some(name) = first.literal() else { return Script::Unknown };
    let program = base(&name);
    if EVALUATING.contains(&program) {
        let literals: Option<Vec<Cow<'_, str>>> = words.iter().skip(1).map(Word::literal).collect();
        return match (program, literals) {
            ("eval", Some(_)) => Script::None,
            (_, Some(files)) => {
                files.into_iter().next().map_or(Script::None, |file| Script::File(file.into_owned()))
            }
            (_, None) => Script::Unknown,
        };
    }
    if has("awk gawk mawk sed make gmake ninja", program) {
        let is = |word: &Word, list: &str| word.literal().is_some_and(|text| has(list, &text));
        let is_pair = |pair: &[Word]| match pair {
            [option, value] => is(option, "-f --file --makefile") && is(value, "- /dev/stdin"),
            _ => false,
        };
        let reads = words.windows(2).any(is_pair) || words.iter().any(|word| is(word, "-f- --file=-"));
        return if reads { Script::Unknown } else { Script::None };
    }
    if !is_interpreter(program) {
        return if name.contains('/') { Script::File(name.into_owned()) } else { Script::None };
    }
    let is_shell = program.ends_with("sh");
    // Letters of the options whose value is the program text.
    let letters = match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        _ if is_shell => "c",
        "python" | "pypy" => "cm",
        "php" => "rfB",
        _ => "enpE",
    };
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else { return Script::Unknown };
        if ["-", "--", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&text.as_ref()) {
            if text == "--" {
                continue;
            }
            return Script::Unknown;
        }
        if !text.starts_with(['-', '+']) {
            return Script::File(text.into_owned());
        }
        if is_shell && !text.starts_with("--") && text.contains('s') {
            return Script::Unknown;
        }
        let gives = !text.starts_with("--") && text.contains(|c| letters.contains(c))
            || ["--eval", "--print", "--command"].iter().any(|long| text.starts_with(long));
        if gives {
            let value = words.get(at + 1);
            return match value.map(Word::literal) {
                Some(Some(_)) => Script::None,
                None if text.len() > 2 => Script::None,
                Some(None) | None => Script::Unknown,
            };
        }
    }
    Script::Unknown
}
