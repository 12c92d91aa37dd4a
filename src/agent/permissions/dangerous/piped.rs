//! Finds what gives a part the text that it reads or runs: behind a pipe, in a substitution, or in a file that the
//! command writes. Judges what shells are given so.

use std::collections::BTreeSet;
use std::ops::Range;

use super::composed;
use super::downloads::{ADDRESSES, Script, script};
use crate::permissions::programs;
use crate::permissions::shell::{
    Analysis, Direction, FILLED, Part, Piece, Word, file_name, list_files, written_files,
};
use crate::permissions::subcommands::has;
use crate::permissions::word_texts::is_filled_in;

/// The maximum number of bytes between two parts of a pipeline.
const MOST_BETWEEN: usize = 200;
/// The maximum number of parts that give one a text, and of those that run what they are given.
const MAX_PARTS: usize = 16;
/// Clients of databases: what they run is no program of the machine.
const CLIENTS: &str = "sqlite3 psql mysql mariadb";

/// Programs that print what is on other machines or in containers, and the words with which they do; any if there are none.
const FOREIGN: [(&str, &str); 6] = [
    ("host nslookup kdig sftp smbclient mosquitto_sub kcat kafkacat vault consul etcdctl redis-cli op", ""),
    ("docker podman nerdctl", "run exec logs inspect"),
    ("kubectl oc", "get exec logs describe"),
    ("helm", "get show template"),
    ("aws", "ssm secretsmanager s3api"),
    ("gcloud az", "secrets keyvault"),
];
/// Signs behind the last command of a compound command in a pipeline.
const ENDS: [&str; 10] = [")", "}", ";", "\\;", "+", "done", "fi", "esac", "2>&1", "\n"];

/// The text behind the pipe that another begins with, after the end of a compound command and redirections.
pub(super) fn behind_pipe(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches([' ', '\t']);
    loop {
        let end = ENDS.iter().find_map(|end| rest.strip_prefix(end));
        // The input of that one.
        let input = || rest.find('|').filter(|_| rest.starts_with('<')).and_then(|at| rest.get(at..));
        match end.or_else(input) {
            Some(behind) => rest = behind.trim_start_matches([' ', '\t']),
            None => break,
        }
    }
    rest.strip_prefix('|').filter(|rest| !rest.starts_with('|'))
}

/// Whether a part prints what another one reads behind a pipe.
fn pipes_into(other: &Part, part: &Part, command: &str) -> bool {
    let start = part.outer.first().and_then(|(words, _)| words.first());
    let start = start.map_or(part.span.start, |word| word.span.start.min(part.span.start));
    let Some(between) = command.get(other.span.end..start).filter(|text| text.len() <= MOST_BETWEEN) else {
        return false;
    };
    let Some(rest) = behind_pipe(between) else { return false };
    let is_loop = rest.split_whitespace().any(|word| has("read mapfile readarray", word));
    is_loop || !rest.contains(['|', ';', '\n', '`']) && !rest.contains("&&") && !rest.contains("$(")
}

/// A part, and those that only hold the redirections of what it is within: of `xargs`, or of a loop.
pub(super) fn with_redirections<'a>(
    part: &'a Part,
    analysis: &'a Analysis,
) -> impl Iterator<Item = &'a Part> {
    let holds_input = |other: &&Part| {
        let is_outer =
            |words: &[Word]| !words.is_empty() && part.outer.iter().any(|(outer, _)| outer == words);
        let is_compound =
            other.words.is_empty() && other.shell.is_empty() && other.span.start >= part.span.end;
        let is_exec =
            || programs::name(&other.words).is_some_and(|name| name == "exec") && other.words.len() == 1;
        is_compound || is_outer(&other.words) || is_outer(&other.shell) || is_exec()
    };
    analysis.parts.iter().filter(holds_input).chain([part])
}

/// Whether a part copies or renames files, and prints nothing into them.
pub(super) fn copies_files(part: &Part) -> bool {
    programs::name(&part.words).is_some_and(|name| has("cp mv ln link install rsync scp", &name))
}

/// The files that are the input of a part, or of what runs it, and those among its words if it reads these.
fn read_files(part: &Part, reads_words: bool, analysis: &Analysis) -> BTreeSet<String> {
    let read = with_redirections(part, analysis).flat_map(|part| &part.redirects);
    let read = read.filter(|redirect| redirect.direction == Direction::Read).map(|redirect| &redirect.target);
    let words = part.words.iter().filter(|_| reads_words);
    words.chain(read).filter_map(file_name).chain(list_files(part)).collect()
}

/// The parts that write a file which a part reads or runs.
pub(super) fn writers<'a>(part: &Part, reads_words: bool, analysis: &'a Analysis) -> Vec<&'a Part> {
    let is_other = |other: &&Part| !std::ptr::eq(*other, part);
    let writing = analysis.parts.iter().filter(is_other);
    if !writing.clone().any(|other| written_files(other).next().is_some()) {
        return Vec::new();
    }
    let read = read_files(part, reads_words, analysis);
    writing.filter(|other| written_files(other).any(|file| read.contains(&file))).collect()
}

/// The parts whose output a part reads, or has among its words.
fn givers<'a>(part: &Part, command: &str, analysis: &'a Analysis) -> Vec<&'a Part> {
    let is_within = |other: &Part| {
        let is_in = |word: &Word| word.span.start < other.span.start && other.span.end < word.span.end;
        part.words.iter().any(is_in)
    };
    // `<<< "$(x)"`, `< <(x)`
    let is_input = |other: &Part| {
        let between = command.get(part.span.end..other.span.start).unwrap_or_default().trim_start();
        between.starts_with('<') && between.len() <= MOST_BETWEEN && !between.contains(['\n', ';', '|', '&'])
    };
    let gives = |other: &&Part| {
        !std::ptr::eq(*other, part)
            && (is_within(other) || is_input(other) || pipes_into(other, part, command))
    };
    let mut found: Vec<&Part> = analysis.parts.iter().filter(gives).collect();
    let written = writers(part, true, analysis);
    found.extend(written);
    found
}

/// The parts whose output reaches a part, whatever is between them.
pub(super) fn chain<'a>(part: &Part, command: &str, analysis: &'a Analysis) -> Vec<&'a Part> {
    let mut found: Vec<&Part> = Vec::new();
    let mut open = givers(part, command, analysis);
    while let Some(next) = open.pop().filter(|_| found.len() < MAX_PARTS) {
        if !std::ptr::eq(next, part) && !found.iter().any(|known| std::ptr::eq(*known, next)) {
            found.push(next);
            open.extend(givers(next, command, analysis));
        }
    }
    found
}

/// The text of the pipeline that ends with a part.
fn pipeline<'t>(part: &Part, command: &'t str, analysis: &Analysis) -> &'t str {
    let (mut start, mut last, mut count) = (part.span.start, part, 0);
    while let Some(before) = analysis.parts.iter().find(|other| pipes_into(other, last, command))
        && count < MAX_PARTS
    {
        (start, last, count) = (before.span.start, before, count + 1);
    }
    command.get(start..part.span.end).unwrap_or_default()
}

/// The parts that run a text which others give them, each with these.
fn runners<'a>(command: &str, analysis: &'a Analysis) -> Vec<(&'a Part, Vec<&'a Part>)> {
    let is_writing = analysis.parts.iter().any(|part| written_files(part).next().is_some());
    let runs = |part: &&Part| {
        let mut forms = std::iter::once(&part.words).chain(&part.renamed).filter(|words| !words.is_empty());
        forms.any(|words| match script(words, &|_| false) {
            Script::Input | Script::Unknown => true,
            Script::File(_) => is_writing && !writers(part, true, analysis).is_empty(),
            Script::None => false,
        })
    };
    let running = analysis.parts.iter().filter(runs).take(MAX_PARTS);
    running.map(|part| (part, chain(part, command, analysis))).collect()
}

/// The texts that programs print of their own words, and that others run, each with the place of what runs it.
pub(super) fn run_texts(command: &str, analysis: &Analysis) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    if analysis.parts.iter().all(|part| composed::texts(part).is_empty()) {
        return found;
    }
    for (runner, givers) in runners(command, analysis) {
        let is_shell = programs::name(&runner.words)
            .is_none_or(|name| name.ends_with("sh") || has("eval source .", &name));
        let running = command.get(runner.span.clone()).unwrap_or_default();
        // A program of another language may run what it makes itself.
        for giver in givers.into_iter().chain((!is_shell).then_some(runner)) {
            let texts = composed::texts(giver);
            let texts = texts.iter().flat_map(|text| texts_of(text, giver, runner, command, analysis));
            let given = |text: String| match is_shell || std::ptr::eq(giver, runner) {
                true => vec![text],
                false => vec![format!("echo '{}' | {running}", text.replace('\'', "'\\''")), text],
            };
            found.extend(texts.flat_map(given).map(|text| (text, runner.span.clone())));
        }
    }
    found
}

/// The commands that run a text which a part prints: itself, with what the part reads given by `xargs`, and in the place of
/// the part, which knows the variables of a loop.
fn texts_of(text: &str, part: &Part, runner: &Part, command: &str, analysis: &Analysis) -> Vec<String> {
    // Quotes that are not closed are those of the other language.
    let is_open = text.matches(['\'', '"']).count() % 2 == 1;
    let text = if is_open { text.replace(['\'', '"'], "") } else { text.to_owned() };
    let written = writers(part, true, analysis).into_iter().chain([part]);
    let inputs: Vec<&str> = written.map(|input| pipeline(input, command, analysis)).collect();
    let lines = text.lines().filter(|line| line.contains(FILLED));
    let fed =
        lines.flat_map(|line| inputs.iter().map(move |input| format!("{input} | xargs -I{FILLED} {line}")));
    let before = command.get(..part.span.start).unwrap_or_default();
    let end = if runner.span.start < part.span.end { command.len() } else { runner.span.start };
    let behind = command.get(part.span.end..end).unwrap_or_default();
    let is_open = part.repeats && text.contains("${") || !part.outer.is_empty() && text.contains(FILLED);
    let replaced = is_open.then(|| format!("{before}{text}{behind} cat"));
    fed.chain(replaced).chain([text.clone()]).collect()
}

/// The danger of a part that runs what another machine or a container prints, or what a program makes of a text that the
/// command gives it, and its place.
pub(super) fn find_unread(command: &str, analysis: &Analysis) -> Option<(String, Range<usize>)> {
    let is_unread = |part: &Part| is_foreign(part) || composed::rewrites_given_text(part);
    analysis.parts.iter().find(|part| is_unread(part))?;
    let is_client = |part: &Part| programs::name(&part.words).is_some_and(|name| has(CLIENTS, &name));
    // A script that gets a name is written in the command: `xargs -I{} sh -c 'wc {}'`.
    let is_whole = |word: &Word| word.pieces.first().and_then(Piece::text) == Some(FILLED);
    let is_argument = |word: &Word| is_filled_in(word) && !is_whole(word);
    let gets_name = |part: &Part| part.more_arguments && part.words.iter().any(is_argument);
    let is_program = |part: &Part| !is_client(part) && !gets_name(part);
    let running = runners(command, analysis).into_iter().filter(|(runner, _)| is_program(runner));
    let mut unread = running
        .filter_map(|(runner, givers)| Some((runner, givers.into_iter().find(|giver| is_unread(giver))?)));
    let (runner, giver) = unread.next()?;
    let what = if is_foreign(giver) { "gets from elsewhere" } else { "makes of another text" };
    Some((format!("it runs a program that it {what}, which nobody has read"), runner.span.clone()))
}

/// Whether what a part prints comes from another machine or from a container.
fn is_foreign(part: &Part) -> bool {
    let Some(name) = programs::name(&part.words) else { return false };
    let mut literals = part.words.iter().skip(1).filter_map(Word::literal);
    match FOREIGN.iter().find(|(programs, _)| has(programs, &name)) {
        Some((_, words)) => words.is_empty() || literals.any(|text| has(words, &text)),
        None => {
            programs::runs_texts(&name)
                && literals.any(|text| ADDRESSES.iter().any(|sign| text.contains(sign)))
        }
    }
}
