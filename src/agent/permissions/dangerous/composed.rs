//! Texts that a program prints of its own words, around what it reads: `sed 's,^,rm -rf ,'`, `awk '{print "rm " $1}'`.

use std::iter::Peekable;
use std::str::Chars;

use super::has_option;
use crate::permissions::escapes;
use crate::permissions::programs::{self, runs_texts};
use crate::permissions::shell::{FILLED, Part, Word};
use crate::permissions::subcommands::has;

/// Programs that print what they are given, whole or in pieces.
const PASSING: &str = "cat tac head tail grep egrep fgrep rg ag sed gsed awk gawk mawk cut tr sort uniq comm paste tee jq yq gojq \
                       column rev nl fold fmt expand unexpand colrm dd iconv shuf split strings pv sponge envsubst xargs";
/// Programs among them that print other characters than they are given, or leave some out.
const REWRITING: &str = "cut tr rev paste column fold fmt colrm dd iconv strings jq yq gojq envsubst";
/// Programs that print a text in a form which a word sets, and the options before that; operands do where there are none.
const FORMATTING: [(&str, &str); 9] = [
    ("find", "-printf -fprintf"),
    ("stat", "-c --format --printf -f"),
    ("seq", "-f --format -s --separator"),
    ("git", "--format --pretty"),
    ("docker podman", "--format -f"),
    ("kubectl", "-o --output --template"),
    ("ps", "-o --format"),
    ("fd fdfind", "--format"),
    ("date yes", ""),
];
/// Names for the home directory in programs, within texts and beside them.
const HOME: [(&str, &str); 11] = [
    ("\\(env.HOME)", "~"),
    ("\\($ENV.HOME)", "~"),
    ("#{ENV[\"HOME\"]}", "~"),
    ("#{ENV['HOME']}", "~"),
    ("$ENV{HOME}", "~"),
    ("${process.env.HOME}", "~"),
    ("ENVIRON[\"HOME\"]", "\"~\""),
    ("$ENV.HOME", "\"~\""),
    ("process.env.HOME", "\"~\""),
    ("env.HOME", "\"~\""),
    ("os.environ[\"HOME\"]", "\"~\""),
];
/// Means of awk to print other texts than its input, its fields and the texts in its program.
const CUTTING: [&str; 10] = ["$1", "$2", "$3", "$N", "$i", "substr", "sub(", "split(", "tolower", "toupper"];

/// Whether a part prints what it is given, so that texts which are its input may be its output.
pub(in crate::permissions) fn passes_input(part: &Part) -> bool {
    match programs::name(&part.words) {
        Some(name) => has(PASSING, &name),
        // `$(< x)`
        None => part.words.is_empty() && part.shell.is_empty(),
    }
}

/// Whether a part makes other texts of those that the command itself gives it, which nobody can read there.
pub(super) fn rewrites_given_text(part: &Part) -> bool {
    let Some(name) = programs::name(&part.words).filter(|_| !part.texts.is_empty()) else { return false };
    let arguments = part.words.get(1..).unwrap_or_default();
    let mut literals = arguments.iter().filter_map(Word::literal);
    match name.as_ref() {
        "sed" | "gsed" => literals.any(|text| edits_of_sed(&text).iter().any(|edit| !edit.is_of_line())),
        "head" | "tail" => has_option(arguments, "c", "bytes"),
        "grep" | "egrep" | "fgrep" | "rg" => has_option(arguments, "o", "only-matching"),
        "awk" | "gawk" | "mawk" => literals.any(|text| CUTTING.iter().any(|means| text.contains(means))),
        name => {
            has(REWRITING, name)
                // With a program of its own.
                || runs_texts(name) && literals.any(|text| text.starts_with('-') && text.contains(['c', 'e', 'p', 'n']))
        }
    }
}

/// The texts that a part prints of its own words, with `{}` for what it reads.
pub(super) fn texts(part: &Part) -> Vec<String> {
    let Some(name) = programs::name(&part.words) else { return Vec::new() };
    let arguments = part.words.get(1..).unwrap_or_default();
    let shown = || arguments.iter().map(Word::display).filter(|text| !text.is_empty());
    let has_program = has("jq yq gojq", &name) || runs_texts(&name);
    let mut found: Vec<String> = match name.as_ref() {
        "sed" | "gsed" => {
            shown().flat_map(|text| edits_of_sed(&text)).filter_map(|edit| edit.result()).collect()
        }
        "echo" | "printf" => {
            let more = part.more_arguments.then(|| FILLED.to_owned());
            let words: Vec<String> = shown().map(|text| text.replace("$_", FILLED)).chain(more).collect();
            let text = printed_text(&name, &words);
            // Any other is known as it is written.
            let is_open = name == "printf" || text.contains(FILLED) || part.repeats && text.contains("${");
            is_open.then_some(text).into_iter().collect()
        }
        _ if has_program => shown().flat_map(|text| of_program(&text)).collect(),
        name => forms(name, arguments).iter().map(|text| expand_format(text)).collect(),
    };
    if has_program {
        // `-v x=VALUE`, `--arg x VALUE`
        let values: Vec<String> = shown()
            .filter_map(|text| match text.split_once('=') {
                // `OFS=/`
                Some((name, value)) => {
                    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
                    (is_name && !name.ends_with('S')).then(|| value.to_owned())
                }
                None => (text.starts_with(['~', '/']) && has("jq gojq", &name)).then_some(text),
            })
            .collect();
        let open: Vec<String> = found.iter().filter(|text| text.contains(FILLED)).cloned().collect();
        let filled = open.iter().flat_map(|text| values.iter().map(move |value| text.replace(FILLED, value)));
        found.extend(filled.chain(values.iter().cloned()));
    }
    let given: Vec<String> = found
        .iter()
        .filter(|text| text.contains(FILLED))
        .flat_map(|text| part.texts.iter().map(move |given| text.replace(FILLED, given.trim())))
        .collect();
    found.extend(given);
    found.retain(|text| !text.trim().is_empty() && text.trim() != FILLED);
    found
}

/// An edit of a line by sed: `s`, `y`, or `a`, `i` and `c` with a text.
struct Edit {
    command: char,
    pattern: String,
    text: String,
}

impl Edit {
    /// The pattern without what marks the line and groups.
    fn core(&self) -> String {
        self.pattern.chars().filter(|c| !"^$()\\".contains(*c)).collect()
    }

    /// Whether it keeps or replaces a line as a whole, and may put a text before or behind it.
    fn is_of_line(&self) -> bool {
        match self.command {
            's' => {
                has(".* .+", &self.core())
                    || self.core().is_empty() && !self.pattern.is_empty() && !self.text.contains('\\')
            }
            command => command != 'y',
        }
    }

    /// The line that it makes, with `{}` for what was there; `None` if it is empty.
    fn result(&self) -> Option<String> {
        let (mut text, mut chars) = (String::new(), self.text.chars());
        while let Some(c) = chars.next() {
            match c {
                '&' => text.push_str(FILLED),
                '\\' => match chars.next() {
                    Some(c) if c.is_ascii_digit() => text.push_str(FILLED),
                    Some('n') => text.push('\n'),
                    c => text.extend(c),
                },
                c => text.push(c),
            }
        }
        if text.is_empty() || self.command == 'y' {
            return None;
        }
        let is_whole = self.command != 's' || has(".* .+", &self.core());
        let is_start = !is_whole && self.pattern.starts_with('^');
        // A line may begin with blanks.
        let blank = if text.ends_with(|c: char| c.is_ascii_alphabetic()) { " " } else { "" };
        Some(match !is_whole && self.pattern == "$" {
            true => format!("{FILLED}{text}"),
            false if is_start => format!("{text}{blank}{FILLED}"),
            false => text,
        })
    }
}

/// The edits in a script of sed.
fn edits_of_sed(script: &str) -> Vec<Edit> {
    let (mut found, mut chars, mut is_addressed) = (Vec::new(), script.chars().peekable(), false);
    while let Some(command) = chars.next() {
        let next = chars.peek().copied();
        match (command, next) {
            ('s' | 'y', Some(delimiter)) if !delimiter.is_alphanumeric() && !delimiter.is_whitespace() => {
                chars.next();
                let pattern = read_until(&mut chars, delimiter);
                let text = read_until(&mut chars, delimiter);
                found.push(Edit { command, pattern, text });
                while chars.next_if(|c| !";}\n".contains(*c)).is_some() {}
            }
            ('a' | 'i' | 'c', Some(next)) if is_addressed || " \\".contains(next) => {
                let mut text = String::new();
                while let Some(c) = chars.next_if(|c| *c != '\n' || text.ends_with('\\')) {
                    text.push(c);
                }
                let text = text.trim_start_matches([' ', '\\', '\n']).to_owned();
                found.push(Edit { command, pattern: String::new(), text });
            }
            ('/', _) => drop(read_until(&mut chars, '/')),
            _ => {}
        }
        is_addressed = command.is_ascii_digit() || "$/".contains(command);
    }
    found
}

/// The text up to a delimiter that no backslash is before.
fn read_until(chars: &mut Peekable<Chars<'_>>, delimiter: char) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next().filter(|c| *c != delimiter) {
        match c {
            '\\' => match chars.next() {
                Some(c) if c == delimiter => text.push(c),
                next => text.extend(std::iter::once('\\').chain(next)),
            },
            c => text.push(c),
        }
    }
    text
}

/// The words of a program that set the form of what it prints.
fn forms(name: &str, arguments: &[Word]) -> Vec<String> {
    let Some((_, options)) = FORMATTING.iter().find(|(programs, _)| has(programs, name)) else {
        return Vec::new();
    };
    let shown: Vec<String> = arguments.iter().map(Word::display).collect();
    if options.is_empty() {
        let operands: Vec<&str> = shown.iter().map(|text| text.trim_start_matches('+')).collect();
        return vec![operands.join(" ")];
    }
    let behind = shown.windows(2).filter_map(|pair| match pair {
        [option, value] if has(options, option) => Some(value.clone()),
        _ => None,
    });
    let glued = shown.iter().filter_map(|text| {
        let (option, value) = text.split_once('=').or_else(|| text.split_at_checked(2))?;
        (has(options, option) && !value.is_empty()).then(|| value.to_owned())
    });
    behind.chain(glued).collect()
}

/// A format with `{}` for what is put into it: `%p`, `%(refname)`, `{{.ID}}`.
fn expand_format(format: &str) -> String {
    let format = escapes::decode(format).unwrap_or_else(|| format.to_owned());
    let (mut text, mut chars) = (String::new(), format.chars().peekable());
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', Some('%')) => text.extend(chars.next()),
            ('%', Some('(')) => {
                read_until(&mut chars, ')');
                text.push_str(FILLED);
            }
            ('%', Some(_)) => {
                while chars.next_if(|c| !c.is_alphabetic()).is_some() {}
                chars.next();
                text.push_str(FILLED);
            }
            ('{', Some('{')) => {
                read_until(&mut chars, '}');
                chars.next();
                text.push_str(FILLED);
            }
            ('\\', Some('n')) => {
                chars.next();
                text.push('\n');
            }
            (c, _) => text.push(c),
        }
    }
    text
}

/// The text that `echo` or `printf` prints of these words.
pub(in crate::permissions) fn printed_text(name: &str, words: &[String]) -> String {
    let is_option = |word: &&String| has("-n -e -E -ne -en", word);
    match words.split_first().filter(|_| name == "printf") {
        Some((format, words)) => fill_format(format, words),
        None => words.iter().skip_while(is_option).cloned().collect::<Vec<_>>().join(" "),
    }
}

/// The text that `printf` prints of a format and these words.
fn fill_format(format: &str, words: &[String]) -> String {
    let mut words = words.iter();
    let mut text = String::new();
    for (at, piece) in expand_format(format).split(FILLED).enumerate() {
        if at > 0 {
            text.extend(words.next().map(String::as_str));
        }
        text.push_str(piece);
    }
    // It is used again for the others.
    words.fold(text, |text, word| format!("{text} {word}"))
}

/// The texts in a program that it joins with one another and with what it reads: `print "rm -rf " $0`.
fn of_program(program: &str) -> Vec<String> {
    let program = HOME.iter().fold(program.to_owned(), |text, (home, sign)| text.replace(home, sign));
    let (mut found, mut open, mut chars) = (Vec::new(), None::<String>, program.chars().peekable());
    let (mut code, mut texts) = (String::new(), Vec::new());
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' | '`' => {
                let text = fill_in(&read_until(&mut chars, c));
                // `$1 "/"`, `.dir + "/"`, `OFS="/"`
                let is_behind = code.contains(['$', '.']) || code.ends_with("S=");
                let start = if is_behind { FILLED } else { "" };
                open.get_or_insert_with(|| start.to_owned()).push_str(&text);
                texts.push(text);
            }
            ';' | '{' | '}' | '|' | '\n' => {
                found.extend(open.take());
                found.extend(fill_first(&std::mem::take(&mut texts)));
                code.clear();
            }
            c => {
                code.extend((!c.is_whitespace()).then_some(c));
                let Some(text) = &mut open else { continue };
                if c == ',' {
                    text.push(' ');
                } else if (c.is_alphanumeric() || c == '$') && !text.ends_with(FILLED) {
                    text.push_str(FILLED);
                }
            }
        }
    }
    found.extend(open);
    found.extend(fill_first(&texts));
    found
}

/// The first of these texts with the others put into it, as `printf` does.
fn fill_first(texts: &[String]) -> Option<String> {
    let (format, others) = texts.split_first().filter(|(format, _)| format.contains(FILLED))?;
    Some(others.iter().fold(format.clone(), |text, other| text.replacen(FILLED, other, 1)))
}

/// A text in a program with `{}` for what is put into it: `\(.x)`, `%s`, `#{x}`, `$x`.
fn fill_in(text: &str) -> String {
    let text = escapes::decode(text).unwrap_or_else(|| text.to_owned());
    let (mut filled, mut chars) = (String::new(), text.chars().peekable());
    while let Some(c) = chars.next() {
        let end = match (c, chars.peek()) {
            ('\\', Some('(')) => ')',
            ('#' | '$', Some('{')) | ('{', _) => '}',
            ('$', Some(next)) if next.is_alphabetic() || *next == '_' => {
                while chars.next_if(|c| c.is_alphanumeric() || *c == '_').is_some() {}
                filled.push_str(FILLED);
                continue;
            }
            ('%', Some('s' | 'd' | 'r' | 'i')) => {
                chars.next();
                filled.push_str(FILLED);
                continue;
            }
            ('\\', Some('n')) => {
                chars.next();
                filled.push('\n');
                continue;
            }
            ('\\', Some(_)) => {
                filled.extend(chars.next());
                continue;
            }
            (c, _) => {
                filled.push(c);
                continue;
            }
        };
        read_until(&mut chars, end);
        filled.push_str(FILLED);
    }
    filled
}
