//! Programs whose text runs or opens what their input names: `sed 's/^/cat /e'`,
//! `awk '{while ((getline l < $0) > 0) print l}'`.

use super::{is_same, name, runs_texts};
use crate::permissions::read_only::sed_runs_input;
use crate::permissions::shell::{Part, Word};

/// How a text in another language names its input.
const INPUT: [&str; 8] = ["stdin", "STDIN", "<>", "ARGF", "gets", "input(", "fileinput", "readFileSync(0"];
/// How it opens files, or runs commands.
const OPENING: [&str; 15] = [
    "open", "File.read", "IO.read", "system", "exec", "popen", "Popen", "subprocess.run", "check_output",
    "readFile", "readFileSync", "file_get_contents", "execSync", "spawnSync", "Path",
];
/// Names that are among the words of a command.
const GIVEN: [&str; 4] = ["sys.argv", "ARGV", "process.argv", "$argv"];

/// Whether the text of a part runs, or opens, what its input names.
pub(super) fn is_opened(part: &Part) -> bool {
    let Some(name) = name(&part.words) else { return false };
    let texts = || part.words.iter().skip(1).filter_map(Word::literal);
    if name.ends_with("awk") {
        return texts().any(|text| opens_in_awk(&text));
    }
    if name.ends_with("sed") {
        return texts().any(|text| sed_runs_input(&text));
    }
    // Each line is in `$_`.
    let is_loop = |options: &str| {
        options.contains(['n', 'p']) && options.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let loops = || texts().any(|text| text.strip_prefix('-').is_some_and(is_loop));
    let is_looped = ["perl", "ruby"].iter().any(|it| is_same(&name, it)) && loops();
    runs_texts(&name)
        && texts().any(|text| {
            let reads = INPUT.iter().any(|input| text.contains(input)) || is_looped && text.contains("$_");
            reads && OPENING.iter().any(|opening| opens(&text, opening))
        })
}

/// Whether a text calls a function with something else than a name that is written out, or among its arguments.
fn opens(text: &str, function: &str) -> bool {
    text.match_indices(function).any(|(at, _)| {
        let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(at + function.len()..));
        let behind = behind.unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let argument = behind.trim_start_matches([' ', '(']);
        let is_call = !before.ends_with(is_part) && behind.starts_with([' ', '(']);
        is_call && !is_literal(argument) && !GIVEN.iter().any(|given| argument.starts_with(given))
    })
}

/// Whether a text begins with a text in quotes, and nothing is joined to that.
fn is_literal(text: &str) -> bool {
    let Some(quote) = text.chars().next().filter(|c| "'\"".contains(*c)) else { return false };
    let inner = text.strip_prefix(quote).and_then(|inner| inner.split_once(quote));
    inner.is_some_and(|(_, behind)| {
        let behind = behind.trim_start();
        behind.is_empty() || behind.starts_with([')', ',', ';', '}', '>', '|', '\n'])
    })
}

/// Whether a program of awk opens a file, or runs a command, whose name is not written out.
fn opens_in_awk(text: &str) -> bool {
    if !text.contains('$') {
        return false;
    }
    let text = &without_contents(text);
    let behind = |at: usize| text.get(at..).unwrap_or_default().trim_start();
    let places = |of: &'static str| text.match_indices(of).map(move |(at, _)| at + of.len());
    let reads = places("getline").any(|at| {
        let is_variable = |c: char| c.is_alphanumeric() || " _[]$".contains(c);
        let file = behind(at).trim_start_matches(is_variable).strip_prefix('<');
        file.is_some_and(|file| !is_literal(file.trim_start()))
    });
    let runs = places("system").any(|at| {
        let argument = behind(at).strip_prefix('(');
        argument.is_some_and(|argument| !is_literal(argument.trim_start()))
    });
    let pipes = places("|").any(|at| {
        let before = text.get(..at - 1).unwrap_or_default();
        let target = behind(at).trim_start_matches(['&', ' ']);
        if before.ends_with('|') || target.starts_with('|') {
            return false;
        }
        // A command with nothing joined to it is in one pair of quotes.
        let command = before.rsplit([';', '{', '}', '(']).next().unwrap_or_default().trim();
        match target.starts_with("getline") {
            true => command.matches('"').count() != 2 || !command.starts_with('"') || !command.ends_with('"'),
            false => !is_literal(target),
        }
    });
    reads || runs || pipes
}

/// A program of awk without the contents of its texts and regular expressions.
fn without_contents(text: &str) -> String {
    let (mut code, mut open, mut before) = (String::new(), None, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match open {
            Some(_) if c == '\\' => drop(chars.next()),
            Some(end) if c == end => {
                code.push(c);
                (open, before) = (None, Some(c));
            }
            Some(_) => {}
            None => {
                code.push(c);
                let begins = before.is_none_or(|before: char| "~(,!{};&|\n".contains(before));
                open = (c == '"' || c == '/' && begins).then_some(c);
                before = if c == ' ' { before } else { Some(c) };
            }
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::opens_in_awk;

    #[test]
    fn names_that_are_written_out_are_no_input() {
        for program in [
            "{while ((getline l < $0) > 0) print l}", "{system(\"cat \" $0)}",
            "{\"cat \" $1 | getline x; print x}", "{print | \"cat \" $0}",
            "{f = $0; getline l < f; print l}", "{system($1)}", "{print $1 | $2}",
        ] {
            assert!(opens_in_awk(program), "{program}");
        }
        for program in [
            "{print $1}",
            "{print $1 | \"sort -n\"}",
            "BEGIN {\"date\" | getline d} {print d, $1}",
            "$1 == \"a\" || $2",
            "{while ((getline l < \"a.txt\") > 0) print l, $1}",
            "{system(\"date\"); print $0}",
            "{print \"a|b\" $1}",
            "/a|b/ {print $1 / 2}",
            "$1 ~ /x|\\/y/ && $2 {print $1}",
        ] {
            assert!(!opens_in_awk(program), "{program}");
        }
    }
}
