//! sed and awk: scripts that only print.

use super::{excluded, unknown_arguments};
use crate::agent::permissions::shell::Word;

/// Why sed may do more than print: `-i`, or a script with `w`, `e`, or anything that is not plain.
pub(super) fn sed(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments("sed", arguments, more_arguments) {
        return Some(why);
    }
    let (mut scripts, mut operands, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(word) = arguments.get(at) {
        at += 1;
        let text = word.literal();
        match text.as_deref() {
            Some("-e" | "--expression") => {
                scripts.push(arguments.get(at));
                at += 1;
            }
            Some(
                "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-nr" | "-En" | "--quiet" | "--silent"
                | "--regexp-extended" | "--null-data",
            ) => {}
            Some("-ne" | "-nEe" | "-Ee") => {
                scripts.push(arguments.get(at));
                at += 1;
            }
            Some(option) if option.len() > 1 && option.starts_with('-') => {
                return Some("sed may write with these options".to_owned());
            }
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() {
        scripts.push(operands.first().copied());
    }
    let prints =
        |script: Option<&Word>| script.and_then(Word::literal).is_some_and(|text| only_prints(&text));
    (!scripts.into_iter().all(prints)).then(|| "sed may write or run something with this script".to_owned())
}

/// Whether a script of sed has only commands that print or change the text that is printed.
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
            'p' | 'd' | '=' | 'q' | 'Q' | 'l' | 'N' | 'n' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | '{'
            | '}' => {}
            's' | 'y' => {
                let Some(behind) = substitution(rest) else { return false };
                rest = behind.trim_start_matches(|c: char| "gpIi0123456789".contains(c));
            }
            _ => return false,
        }
        if !(rest.is_empty() || command == '{' || rest.starts_with([';', '\n', ' ', '}'])) {
            return false;
        }
    }
}

/// What is behind the address of a command.
fn address(text: &str) -> Option<&str> {
    let mut rest = one_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        let second = second.trim_start().trim_start_matches(['+', '~']);
        rest = one_address(second)?;
    }
    Some(rest)
}

fn one_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('/') {
        return behind(rest, '/').map(|rest| rest.trim_start_matches('I'));
    }
    let rest = text.strip_prefix('$').unwrap_or(text);
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~'))
}

/// What is behind the next delimiter that no backslash precedes. A bracket may hold one, so texts with
/// brackets that do are not read.
fn behind(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    let mut bracket = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' => return None,
            '[' => bracket = true,
            ']' => bracket = false,
            c if c == delimiter && bracket => return None,
            c if c == delimiter => return text.get(at + c.len_utf8()..),
            _ => {}
        }
    }
    None
}

/// What is behind `/a/b/`, whatever the delimiter.
fn substitution(text: &str) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    let rest = text.get(delimiter.len_utf8()..)?;
    behind(behind(rest, delimiter)?, delimiter)
}

/// Why awk may do more than print.
pub(super) fn awk(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments("awk", arguments, more_arguments) {
        return Some(why);
    }
    let mut at = 0;
    while let Some(text) = arguments.get(at).and_then(Word::literal).filter(|text| text.starts_with('-')) {
        match text.as_str() {
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
        return Some("the program of awk is not known beforehand".to_owned());
    };
    let writes = ["system", "|", ">", "getline", "@", "close", "fflush", "load", "include"];
    let found = writes.iter().find(|word| program.contains(**word));
    found.map(|word| format!("awk may write or run something with `{word}`")).or_else(|| {
        excluded(arguments.get(at + 1..).unwrap_or_default(), "fiEelo", &["file", "include", "load"])
            .map(|option| format!("awk gets {option}"))
    })
}

#[cfg(test)]
mod tests {
    use super::only_prints;

    #[test]
    fn scripts_of_sed_that_only_print() {
        for script in [
            "1,5p",
            "$p",
            "/a/,/b/p",
            "s/a/b/g",
            "s|a|b|",
            "5q",
            "1d;s/x/y/;p",
            "/a\\/b/!d",
            "10,+3p",
            "s/[0-9]*//",
            "/x/{p;d}",
        ] {
            assert!(only_prints(script), "{script}");
        }
        for script in [
            "w x",
            "1w x",
            "s/a/b/w x",
            "s/a/b/e",
            "e",
            "1e rm",
            "s/a/b/gw x",
            "r x",
            "s/[/]/x/w f",
            "a\\\nx",
            "p w",
            "{w x",
            "y/a/b/w",
            "/a/Ie",
        ] {
            assert!(!only_prints(script), "{script}");
        }
    }
}
