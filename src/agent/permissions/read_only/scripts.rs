//! Scripts of sed and awk that only print.

use std::borrow::Cow;

use super::{excluded_option, unknown_arguments_objection};
use crate::permissions::shell::Word;

/// Whether sed does no more than change its files, with a script that names no others.
pub(in crate::permissions) fn sed_edits_only(words: &[Word], more_arguments: bool) -> bool {
    let is_in_place = |word: &Word| {
        let text = word.literal().unwrap_or_default();
        text.starts_with("--in-place") || text.strip_prefix("-i").is_some_and(|rest| !rest.contains('e'))
    };
    let arguments = words.get(1..).unwrap_or_default();
    let others: Vec<Word> = arguments.iter().filter(|word| !is_in_place(word)).cloned().collect();
    sed(&others, more_arguments).is_none()
}

/// The reason sed may do more than print: `-i`, or a script with `w`, `e`, `r`, or anything that is not
/// plain.
pub(super) fn sed(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments_objection("sed", arguments, more_arguments) {
        return Some(why);
    }
    let (mut scripts, mut operands) = (Vec::new(), Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.literal().as_deref() {
            Some("--quiet" | "--silent" | "--regexp-extended" | "--null-data") => {}
            Some("--expression") => scripts.push(words.next()),
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                let letters = text.strip_prefix('-').unwrap_or_default();
                let flags = letters.strip_suffix('e').unwrap_or(letters);
                if !flags.chars().all(|c| "nErsuz".contains(c)) {
                    return Some("sed may write with these options".to_owned());
                }
                if letters.ends_with('e') {
                    scripts.push(words.next());
                }
            }
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() {
        scripts.push(operands.first().copied());
    }
    let texts: Option<Vec<Cow<'_, str>>> =
        scripts.into_iter().map(|script| script.and_then(Word::literal)).collect();
    // A command may begin in one of them and end in the next.
    let prints = texts.is_some_and(|texts| only_prints(&texts.join("\n")));
    (!prints).then(|| "sed may write or run something with this script".to_owned())
}

/// Whether a sed script has only commands that print or change the printed text. Syntax that differs between
/// versions of sed counts as unknown.
fn only_prints(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';']);
        if rest.is_empty() {
            return true;
        }
        let Some(behind) = address(rest) else { return false };
        rest = behind.trim_start_matches([' ', '!']);
        let Some(command) = rest.chars().next() else { return false };
        rest = rest.get(command.len_utf8()..).unwrap_or_default();
        match command {
            'p' | 'd' | '=' | 'q' | 'Q' | 'l' | 'N' | 'n' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'z'
            | '{' | '}' => {}
            's' | 'y' => {
                let Some(behind) = substitution(rest, command == 's') else { return false };
                rest = behind;
                if command == 's' {
                    rest = rest.trim_start_matches(|c: char| "gpIi0123456789".contains(c));
                }
            }
            _ => return false,
        }
        if !(rest.is_empty() || command == '{' || rest.starts_with([';', '\n', ' ', '}'])) {
            return false;
        }
    }
}

/// Whether a sed script may run what it makes of its input: by the command `e` alone, or the flag `e`.
pub(in crate::permissions) fn sed_runs_input(script: &str) -> bool {
    let is_alone = |command: &str| {
        let rest = address(command.trim()).unwrap_or_default();
        rest.trim_start_matches([' ', '!']).trim_end() == "e"
    };
    let flags = |text: &str| {
        let delimiter = text.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace())?;
        let (rest, _) = behind(text.get(delimiter.len_utf8()..)?, delimiter)?;
        let (rest, _) = behind(rest, delimiter)?;
        Some(rest.chars().take_while(|c| "gpIimMe0123456789".contains(*c)).any(|c| c == 'e'))
    };
    script.split([';', '\n', '{', '}']).any(is_alone)
        || script.match_indices('s').any(|(at, _)| script.get(at + 1..).and_then(flags) == Some(true))
}

/// The rest after the address of a command.
fn address(text: &str) -> Option<&str> {
    let mut rest = one_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        let second = second.trim_start_matches(' ').trim_start_matches(['+', '~']);
        rest = one_address(second)?;
    }
    Some(rest)
}

fn one_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('/') {
        return behind_pattern(rest, '/').map(|rest| rest.trim_start_matches('I'));
    }
    let rest = text.strip_prefix('$').unwrap_or(text);
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~'))
}

/// The rest after the next delimiter without a backslash before it, and the text before it.
fn behind(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                // A continued line does not occur in a plain script.
                chars.next().filter(|(_, c)| *c != '\n')?;
            }
            '\n' => return None,
            c if c == delimiter => return Some((text.get(at + c.len_utf8()..)?, text.get(..at)?)),
            _ => {}
        }
    }
    None
}

/// The rest after a regular expression, if it ends at the same place for a sed with and without support for
/// brackets.
fn behind_pattern(text: &str, delimiter: char) -> Option<&str> {
    let (behind, pattern) = behind(text, delimiter)?;
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => rest = behind_bracket(rest.as_str(), delimiter)?.chars(),
            _ => {}
        }
    }
    Some(behind)
}

/// The rest after the bracket expression whose `[` was read; `None` if it is not closed, or has a backslash
/// before a significant character.
fn behind_bracket(text: &str, delimiter: char) -> Option<&str> {
    let negated = text.strip_prefix('^').unwrap_or(text);
    // A leading `]` is one of the characters.
    let mut rest = negated.strip_prefix(']').unwrap_or(negated);
    loop {
        let c = rest.chars().next()?;
        rest = rest.get(c.len_utf8()..)?;
        match c {
            ']' => return Some(rest),
            '[' if rest.starts_with([':', '.', '=']) => {
                let kind = rest.get(..1)?;
                let (_, behind) = rest.get(1..)?.split_once(&format!("{kind}]"))?;
                rest = behind;
            }
            '\\' if rest.starts_with(['\\', '[', ']', delimiter]) => return None,
            _ => {}
        }
    }
}

/// The rest after `/a/b/`, with any delimiter.
fn substitution(text: &str, is_pattern: bool) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| "/|,#@:!%_~+=".contains(*c))?;
    let rest = text.get(delimiter.len_utf8()..)?;
    let rest = if is_pattern { behind_pattern(rest, delimiter)? } else { behind(rest, delimiter)?.0 };
    behind(rest, delimiter).map(|(behind, _)| behind)
}

/// The reason awk may do more than print: it runs programs with `system`, `|` and `getline`, writes with `>`,
/// loads code with `@`, and opens connections by file names.
pub(super) fn awk(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments_objection("awk", arguments, more_arguments) {
        return Some(why);
    }
    let mut at = 0;
    while let Some(text) = arguments.get(at).and_then(Word::literal).filter(|text| text.starts_with('-')) {
        match text.as_ref() {
            "-F" | "-v" => at += 2,
            "--" => {
                at += 1;
                break;
            }
            option if option.starts_with("-F") || option.starts_with("-v") => at += 1,
            _ => return Some("awk may write or run something with these options".to_owned()),
        }
    }
    let Some(program) = arguments.get(at).and_then(Word::literal) else {
        return Some("the program of awk is only known when it runs".to_owned());
    };
    const WAYS_OUT: [&str; 10] =
        ["system", "|", ">", "getline", "@", "close", "fflush", "ARGV", "ARGC", "PROCINFO"];
    let code = awk_code(&program);
    let program = code.as_deref().unwrap_or(&program);
    // Operators that only compare: before the first brace, there is no action that could write.
    let (patterns, actions) = program.split_at(program.find('{').unwrap_or(program.len()));
    let actions = without_comparisons(actions);
    let compared = format!("{}{actions}", patterns.replace('>', " ")).replace("||", " ").replace(">=", " ");
    let found = WAYS_OUT.iter().find(|word| compared.contains(**word));
    if let Some(word) = found {
        return Some(format!("awk may write or run something with `{word}`"));
    }
    let operands = arguments.get(at + 1..).unwrap_or_default();
    if operands.iter().filter_map(Word::literal).any(|operand| operand.contains("/inet")) {
        return Some("awk may open a network connection".to_owned());
    }
    excluded_option(operands, "fiEelo", &["file", "include", "load"])
        .map(|option| format!("awk gets {option}"))
}

/// An awk program without the contents of its texts, regular expressions and comments; `None` if it is uncertain
/// whether a `/` divides, or where one of them ends.
fn awk_code(program: &str) -> Option<String> {
    let (mut code, mut chars) = (String::new(), program.chars());
    // The text up to its end, with a backslash before what does not end it.
    let inner = |chars: &mut std::str::Chars<'_>, end: char| {
        let mut text = String::new();
        loop {
            match chars.next()? {
                '\n' => return None,
                '\\' => text.extend(chars.next().filter(|c| *c != '\n').map(|_| '.')),
                c if c == end => return Some(text),
                c => text.push(c),
            }
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                inner(&mut chars, '"')?;
                code.push_str("\"\"");
            }
            '#' => {
                chars.by_ref().find(|c| *c == '\n');
                code.push('\n');
            }
            '\\' => return None,
            '/' => {
                let before = code.trim_end_matches([' ', '\t']);
                match before.chars().next_back() {
                    None | Some('~' | '(' | ',' | '!' | '{' | '}' | ';' | '&' | '|' | '\n') => {
                        let pattern = inner(&mut chars, '/')?;
                        // Where a bracket expression with `]` or `/` ends, versions of awk disagree.
                        let is_open = pattern.rfind('[') > pattern.rfind(']');
                        if is_open
                            || pattern.contains("[]")
                            || pattern.contains("[^]")
                            || pattern.contains("[:")
                        {
                            return None;
                        }
                        code.push('0');
                    }
                    Some(_) => return None,
                }
            }
            c => code.push(c),
        }
    }
    Some(code)
}

/// The actions of an awk program without `>` in parentheses, which compares. With what may be a regular expression or
/// a comment, it is not known what is in parentheses.
fn without_comparisons(actions: &str) -> String {
    let (mut found, mut depth, mut is_string) = (String::new(), 0_usize, false);
    let mut chars = actions.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_string => {
                found.push(c);
                found.extend(chars.next());
                continue;
            }
            '"' => is_string = !is_string,
            _ if is_string => {}
            '/' | '#' | '\\' => return actions.to_owned(),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '>' if depth > 0 => continue,
            _ => {}
        }
        found.push(c);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{awk_code, only_prints};

    #[test]
    fn texts_of_awk_are_no_code() {
        for (program, code) in [
            ("{print $1 \" > \" $2}", "{print $1 \"\" $2}"),
            ("/a|b/ {print} # > x", "0 {print} \n"),
            ("{gsub(/<[^>]*>/, \"\\\"|\")}", "{gsub(0, \"\")}"),
            ("$1 ~ /x\\/>/ {print > \"f\"}", "$1 ~ 0 {print > \"\"}"),
        ] {
            assert_eq!(awk_code(program).as_deref(), Some(code), "{program}");
        }
        for program in [
            "{x = /\"/; print > \"f\"}", "{print $1 / 2}", "{if (x) /\"/; print > \"f\"}", "/[^]/]/",
            "/[/]/ {print}", "{print \"a\n > b\"}", "{print \"a}", "/[]/\"]/ {print > \"f\"}",
            "{print \\\n > x}",
        ] {
            assert_eq!(awk_code(program), None, "{program}");
        }
    }

    #[test]
    fn scripts_of_sed_that_only_print() {
        for script in [
            "1,5p", "$p", "/a/,/b/p", "s/a/b/g", "s|a|b|", "5q", "1d;s/x/y/;p", "/a\\/b/!d", "10,+3p",
            "s/[0-9]*//", "/x/{p;d}", "s/[]a]/x/", "s|[^]/]*||", "s/[[:space:]]*$//", "/[[:alpha:]_]/p",
            "y/abc/xyz/;p", "s/a/[/;p", "s#/#_#g", "s/[^\\t]*//", "1!G;h;$!d",
        ] {
            assert!(only_prints(script), "{script}");
        }
        for script in [
            "w x", "1w x", "s/a/b/w x", "s/a/b/e", "e", "1e rm", "s/a/b/gw x", "r x", "s/[/]/x/w f",
            "a\\\nx", "p w", "{w x", "y/a/b/w", "/a/Ie", "s/[]/]/;w file/p", "s/[^]/]/;w file/p",
            "s/[[:x:]/]/;w file/p", "s/[a/]/;w file/p", "s/[\\]/]/;w file/p", "s/[[.].]/]/;w file/p",
            "/[]/]/;w file/p", "/[/]/w file", "\\,a,w file", "s,a\\,b,c,w file", "s/a/b/gew",
            "s/a/b/\nw file", "s/a/b\\\nc/;w file", "y/[/w/;w file/", "sxaxbxw file", "s[a[b[w file",
            "R file", "W file", "r file", "F;e", "1~2e", "0,/a/w file", "/a/,/b/!w file", "$!{$!N;w file\n}",
            "a text", "e\n", "s/a/b/;ew", "b;w file", ":a;w file", "#n\nw file",
        ] {
            assert!(!only_prints(script), "{script}");
        }
    }
}
