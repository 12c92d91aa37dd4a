//! A looser reading of what the strict one does not understand, to find what certainly must not go unasked.

use super::words;
use crate::permissions::subcommands::has;

/// The maximum number of places in a command that are left out.
const MAX_PLACES: usize = 8;
/// The maximum number of pieces of a command that is not understood, and their maximum length, in bytes.
const MAX_PIECES: usize = 2_000;
const MAX_PIECE: usize = 500;
/// A variable in the place of a value that may be any: of a variable whose name another one holds, or of a prompt.
const ANY: &str = "REPLY";
/// Words of the shell before a command.
const OPENING: &str = "then do else elif if while until ! { time coproc";
/// Builtins that declare variables, with options.
const DECLARING: [&str; 4] = ["declare", "typeset", "local", "readonly"];

/// The command with expansions that the reader does not know replaced by those that it knows: `${x:?}` becomes `${x}`,
/// and the name of a variable that another one holds the variable itself. `None` if there are none.
pub(in crate::permissions) fn loosen(command: &str) -> Option<String> {
    let (mut loose, mut rest, mut is_changed) = (String::with_capacity(command.len()), command, false);
    let mut given = String::new();
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at_checked(at)?;
        loose.push_str(before);
        let (text, length) = expansion(behind, command);
        let assigned = behind.get(2..length.saturating_sub(1)).and_then(split_default_value);
        given.extend(assigned.map(|(name, value)| format!("{name}={value}; ")));
        is_changed |= behind.get(..length) != Some(text.as_str());
        loose.push_str(&text);
        rest = behind.get(length..)?;
    }
    loose.push_str(rest);
    if !is_changed && !command.contains('(') && !DECLARING.iter().any(|builtin| command.contains(builtin)) {
        return None;
    }
    let plain = without_groups(&rewrite_shell_variables(&format!("{given}{loose}")));
    let plain = without_arithmetic(&plain);
    (is_changed || plain != loose).then_some(plain)
}

/// The command with the texts that stand for variables as their values: `x=y; echo ${x}` of `echo ${x:-y}`. `None` if
/// there are none.
pub(in crate::permissions) fn with_default_values(command: &str) -> Option<String> {
    let (mut given, mut plain, mut rest) = (String::new(), String::new(), command);
    while let Some((before, behind)) = rest.split_once("${") {
        let (inner, after) = behind.split_at_checked(closing(behind)?)?;
        plain.push_str(before);
        match split_default_value(inner) {
            Some((name, value)) => {
                given.push_str(&format!("{name}={value}; "));
                plain.push_str(&format!("${{{name}"));
            }
            None => plain.push_str(&format!("${{{inner}")),
        }
        rest = after;
    }
    (!given.is_empty()).then(|| given + &plain + rest)
}

/// The looser reading of a command that is not understood, without the places where reading it ends.
pub(in crate::permissions) fn loosen_all(command: &str) -> Option<String> {
    let mut loose = loosen(command).unwrap_or_else(|| command.to_owned());
    for _ in 0..MAX_PLACES {
        let doubts = words::tokens(&loose, 0).1;
        let Some(place) = doubts.into_iter().map(|doubt| doubt.span).find(|place| place.start < loose.len())
        else {
            break;
        };
        // Where nothing was read, the reader did not expect a sign; a substitution like a file may be a word of its own.
        let sign = loose.get(place.start..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        let length = if matches!(sign, '<' | '>') { 0 } else { sign.len_utf8() };
        let end = place.end.max(place.start + length);
        let (Some(before), Some(behind)) = (loose.get(..place.start), loose.get(end..)) else { break };
        loose = format!("{before} {behind}");
    }
    (loose != command).then_some(loose)
}

/// The command with what runs in arithmetic in its place: `((i = $(x)))` becomes `: $(x)`, the head of a loop
/// `_ in 0`. What only looks like arithmetic becomes a subshell.
fn without_arithmetic(command: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(command.len()), command);
    while let Some((before, behind)) = rest.find('(').and_then(|at| rest.split_at_checked(at)) {
        plain.push_str(before);
        let inner = behind.get(1..).unwrap_or_default();
        if let Some((runs, length)) = arithmetic(behind) {
            let is_head = before.trim_end().ends_with("for");
            plain.push_str(if is_head { "_ in 0 " } else { ": " });
            plain.push_str(&runs);
            rest = behind.get(length..).unwrap_or_default();
            if is_head && !rest.trim_start().starts_with(';') {
                plain.push(';');
            }
            continue;
        }
        plain.push_str(if inner.trim_start().starts_with('(') { "( :; " } else { "(" });
        rest = inner;
    }
    plain.push_str(rest);
    plain
}

/// The substitutions in the `((…))` at the start of a text, and its length. The parentheses at its ends are next to
/// each other.
fn arithmetic(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix("((")?;
    let end = closing_sign(inner, '(', ')')?;
    let whole = inner.get(..end).filter(|_| inner.get(end..).is_some_and(|rest| rest.starts_with("))")))?;
    Some((substitutions(whole).join(" "), end + 4))
}

/// The `$(…)` and the texts in backquotes in a text, also in quotes.
fn substitutions(text: &str) -> Vec<&str> {
    let (mut found, mut at) = (Vec::new(), 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = if let Some(inner) = rest.strip_prefix("$(") {
            closing_sign(inner, '(', ')').map(|end| end + 3)
        } else if rest.starts_with('`') {
            rest.get(1..).and_then(|rest| rest.find('`')).map(|end| end + 2)
        } else {
            None
        };
        found.extend(length.and_then(|length| rest.get(..length)));
        at += length.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
    }
    found
}

/// The commands of the substitutions in a text, also in quotes.
pub(in crate::permissions) fn substituted_commands(text: &str) -> Vec<String> {
    let inner = |text: &str| {
        let inner = text.strip_prefix("$(").and_then(|inner| inner.strip_suffix(')'));
        inner.unwrap_or(text.trim_matches('`')).to_owned()
    };
    substitutions(text).into_iter().map(inner).collect()
}

/// The texts in a command that may be commands of it: from each place where one may begin to where it may end.
pub(in crate::permissions) fn pieces(command: &str) -> impl Iterator<Item = &str> {
    let signs = ['\n', ';', '&', '|', '(', ')', '{', '`'];
    let ends: [&[char]; 2] = [&['\n', ';'], &['\n', ';', '&', '|']];
    let from = move |start: usize| {
        let rest = command.get(start..).unwrap_or_default().trim_start();
        // Of several signs in a row, a command begins behind the last one.
        let rest = rest.get(..rest.floor_char_boundary(MAX_PIECE)).filter(|rest| !rest.starts_with(signs));
        rest.map(|rest| ends.map(|ends| without_signs(rest.split(ends).next().unwrap_or_default())))
    };
    let starts = command.match_indices(signs).map(|(at, sign)| at + sign.len());
    std::iter::once(0).chain(starts).filter_map(from).take(MAX_PIECES).flatten()
}

/// A command without the words of the shell before it, and without what closes something that began before it.
fn without_signs(piece: &str) -> &str {
    let mut piece = piece.trim();
    while let Some((_, rest)) = piece.split_once([' ', '\t']).filter(|(first, _)| has(OPENING, first)) {
        piece = rest.trim_start();
    }
    let count = |piece: &str, sign: char| piece.matches(sign).count();
    for (open, close) in [('(', ')'), ('{', '}')] {
        while piece.ends_with(close) && count(piece, close) > count(piece, open) {
            piece = piece.strip_suffix(close).unwrap_or(piece).trim_end();
        }
    }
    let is_open = count(piece, '`') % 2 == 1;
    piece.strip_suffix('`').filter(|_| is_open).unwrap_or(piece)
}

/// The variable in an expansion, and the text that may stand for it: `${x:-~}`, `${x:=~}`.
fn split_default_value(inner: &str) -> Option<(&str, &str)> {
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = inner.split_at_checked(end)?;
    let value = [":=", ":-", ":+", "=", "-", "+"].iter().find_map(|operator| rest.strip_prefix(operator))?;
    (!name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty()).then_some((name, value))
}

/// The command with files of variables that shells run as such: `BASH_ENV=<(x) bash` becomes `. <(x) bash`.
fn rewrite_shell_variables(command: &str) -> String {
    let mut plain = command.to_owned();
    for name in ["BASH_ENV", "ENV"] {
        plain = plain.replace(&format!("{name}=<("), "; . <(");
    }
    // An array is one without the builtin that declares it, too.
    for builtin in DECLARING {
        for option in ["-a ", "-A ", "-g ", "-r "] {
            plain = plain.replace(&format!("{builtin} {option}"), "");
        }
    }
    plain
}

/// The command with groups of `extglob` as `*`.
fn without_groups(command: &str) -> String {
    let (mut plain, mut chars, mut open) =
        (String::with_capacity(command.len()), command.chars().peekable(), 0_usize);
    while let Some(c) = chars.next() {
        match c {
            '@' | '!' | '?' | '*' | '+' if chars.peek() == Some(&'(') => {
                chars.next();
                open += 1;
                plain.push('*');
            }
            ')' if open > 0 => open -= 1,
            _ if open > 0 => {}
            c => plain.push(c),
        }
    }
    plain
}

/// A known form of the expansion at the start of a text, and the length of the one that is there.
fn expansion(text: &str, command: &str) -> (String, usize) {
    let plain = || ("$".to_owned(), 1);
    if text.starts_with("$((") {
        let known = text.get(1..).and_then(arithmetic);
        return known.map_or_else(plain, |(runs, length)| (format!("0{runs}"), length + 1));
    }
    if text.starts_with("$[") {
        let end = text.find(']').unwrap_or(text.len());
        let runs = substitutions(text.get(..end).unwrap_or_default()).concat();
        return (format!("0{runs}"), text.len().min(end + 1));
    }
    if text.starts_with("$\"") {
        return (String::new(), 1);
    }
    let Some(inner) = text.strip_prefix("${") else { return plain() };
    let Some(length) = closing(inner) else { return plain() };
    let inner = inner.get(..length).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (start, holds) = inner.strip_prefix('!').map_or((inner, false), |name| (name, true));
    let end = start.find(|c| !is_name(c)).unwrap_or(start.len());
    let name = start.get(..end).unwrap_or_default();
    let behind = start.get(end..).unwrap_or_default();
    // `${!a[@]}`, `${!A@}`
    let is_list = holds && ["@", "*", "[@]", "[*]"].contains(&behind) || start.is_empty();
    let changes = ["@P", "@E", "@U", "@L", "@u"].contains(&behind);
    let mut shown = match if holds { held_name(name, command) } else { Some(name) } {
        _ if is_list => "$_".to_owned(),
        Some(known) if !changes && !known.is_empty() => format!("${{{known}}}"),
        Some("") if !holds => "$_".to_owned(),
        _ => format!("${{{ANY}}}"),
    };
    substitutions(inner).into_iter().for_each(|runs| shown.push_str(runs));
    (shown, length + 3)
}

/// The name that a variable holds, if the command only ever gives it this one, as a text.
fn held_name<'c>(name: &str, command: &'c str) -> Option<&'c str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found: Option<&str> = None;
    for (at, _) in command.match_indices(name).filter(|_| !name.is_empty()) {
        let (before, behind) = (command.get(..at)?, command.get(at + name.len()..)?);
        if before.ends_with(is_name) || behind.starts_with(is_name) || before.ends_with(['$', '!', '{']) {
            continue;
        }
        let value = behind.strip_prefix('=')?.trim_start_matches(['"', '\'']);
        let value = value.get(..value.find(|c| !is_name(c)).unwrap_or(value.len()))?;
        if value.is_empty() || found.replace(value).is_some_and(|known| known != value) {
            return None;
        }
    }
    found
}

/// The index of the `}` that closes an expansion.
pub(in crate::permissions) fn closing(inner: &str) -> Option<usize> {
    closing_sign(inner, '{', '}')
}

/// The index of the sign that closes what was opened before a text.
fn closing_sign(inner: &str, opening: char, closing: char) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in inner.char_indices() {
        if c == opening {
            open += 1;
        } else if c == closing {
            match open.checked_sub(1) {
                Some(left) => open = left,
                None => return Some(at),
            }
        }
    }
    None
}
