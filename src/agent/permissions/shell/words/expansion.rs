//! Reads expansions with `$` or a backquote. Only plain forms are known; others are doubts.

use super::{DEEPEST, Lexer, Piece, Substitution, Word};

/// The indexes that stand for all elements of an array.
const ELEMENTS: [&str; 2] = ["[@]", "[*]"];

/// Reads the expansion here. `quoted` is true within double quotes.
pub(super) fn expand(lexer: &mut Lexer<'_>, word: &mut Word, quoted: bool) {
    let start = lexer.at;
    if lexer.peek() == Some('`') {
        return read_backquotes(lexer, word);
    }
    lexer.at += 1;
    match lexer.peek() {
        Some('(') if lexer.rest().starts_with("((") => arithmetic(lexer, word, start),
        Some('(') => substitution(lexer, word, start),
        Some('{') => parameter(lexer, word, start),
        Some('[') => lexer.give_up(start, "arithmetic in an old form"),
        Some('\'') if !quoted => read_ansi_quotes(lexer, word, start),
        Some('"') if !quoted => lexer.give_up(start, "a text that may be translated"),
        Some(c @ '1'..='9') => {
            lexer.at += 1;
            word.pieces.push(Piece::Variable(c.to_string()));
        }
        Some('@' | '*' | '#' | '?' | '$' | '!' | '-' | '0') => {
            // All arguments are words, also in quotes.
            word.splits |= lexer.peek() == Some('@');
            lexer.at += 1;
            word.pieces.push(Piece::Unknown);
        }
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            let name = name(lexer);
            word.pieces.push(Piece::Variable(name));
        }
        _ => word.push_text('$'),
    }
}

fn name(lexer: &mut Lexer<'_>) -> String {
    let rest = lexer.rest();
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = rest.get(..length).unwrap_or_default().to_owned();
    lexer.at += length;
    name
}

/// `$(…)`: it ends where the parser of its own commands finds the `)`.
fn substitution(lexer: &mut Lexer<'_>, word: &mut Word, start: usize) {
    lexer.at += 1;
    let inner = lexer.at;
    if lexer.depth >= DEEPEST {
        return lexer.give_up(start, "substitutions that are nested too deeply");
    }
    lexer.depth += 1;
    lexer.tokens(true);
    lexer.depth -= 1;
    if lexer.peek() != Some(')') {
        return lexer.give_up(start, "a substitution that is not closed");
    }
    word.nested.push(Substitution { inner: inner..lexer.at });
    word.pieces.push(Piece::Unknown);
    lexer.at += 1;
}

fn read_backquotes(lexer: &mut Lexer<'_>, word: &mut Word) {
    let start = lexer.at;
    lexer.at += 1;
    let inner = lexer.at;
    let Some(length) = lexer.rest().find('`') else {
        return lexer.give_up(start, "a substitution that is not closed");
    };
    if lexer.rest().get(..length).is_some_and(|text| text.contains('\\')) {
        return lexer.give_up(start, "a substitution with backslashes in backquotes");
    }
    lexer.at += length + 1;
    word.nested.push(Substitution { inner: inner..inner + length });
    word.pieces.push(Piece::Unknown);
}

/// `$((…))` of numbers. A variable in it is evaluated in turn, and may contain a substitution.
fn arithmetic(lexer: &mut Lexer<'_>, word: &mut Word, start: usize) {
    lexer.at += 2;
    let mut open = 0_usize;
    while let Some(c) = lexer.next() {
        match c {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' if lexer.eat(")") => {
                word.pieces.push(Piece::Unknown);
                return;
            }
            '0'..='9'
            | ' '
            | '+'
            | '-'
            | '*'
            | '/'
            | '%'
            | '<'
            | '>'
            | '='
            | '!'
            | '&'
            | '|'
            | '^'
            | '~'
            | '?'
            | ':' => {}
            _ => break,
        }
    }
    lexer.give_up(start, "arithmetic with more than numbers in it");
}

/// `${…}` in its plain forms.
fn parameter(lexer: &mut Lexer<'_>, word: &mut Word, start: usize) {
    lexer.at += 1;
    let rest = lexer.rest();
    let Some(length) = rest.find('}') else { return lexer.give_up(start, "`${` that is not closed") };
    let inner = rest.get(..length).unwrap_or_default();
    let Some(piece) = plain_parameter(inner) else {
        return lexer.give_up(start, "a `${…}` that may do more than give a value");
    };
    // Every element of an array is a word, also in quotes.
    word.splits |= ELEMENTS.iter().any(|all| inner.ends_with(all)) && matches!(piece, Piece::Variable(_));
    word.pieces.push(piece);
    lexer.at += length + 1;
}

fn plain_parameter(inner: &str) -> Option<Piece> {
    let counted = inner.strip_prefix('#').filter(|rest| !rest.is_empty());
    let rest = counted.unwrap_or(inner);
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, rest) = rest.split_at_checked(length)?;
    if name.is_empty() {
        return matches!(inner, "@" | "*" | "#" | "?" | "$" | "!" | "-").then_some(Piece::Unknown);
    }
    let rest = ELEMENTS.iter().find_map(|all| rest.strip_prefix(all)).unwrap_or_else(|| behind_index(rest));
    let is_digit = |c: char| c.is_ascii_digit();
    let is_known =
        counted.is_none() && name != "0" && (!name.starts_with(is_digit) || name.chars().all(is_digit));
    if rest.is_empty() && is_known {
        return Some(Piece::Variable(name.to_owned()));
    }
    let plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '*' | '?' | '-'))
    };
    let value = if counted.is_some() {
        rest.is_empty()
    } else if let Some(range) =
        rest.strip_prefix(':').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        range.chars().all(|c| c.is_ascii_digit() || c == ':')
    } else {
        let operators =
            [":-", ":+", ":?", "-", "+", "?", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ","];
        let operator = operators.iter().find_map(|operator| rest.strip_prefix(operator));
        operator.map_or(rest.is_empty(), plain)
    };
    let is_edit = is_known && rest.starts_with(['%', '#', '/', '^', ','])
        || rest.starts_with(':') && rest.contains(is_digit);
    value.then(|| if is_edit { Piece::Variable(format!("{name}{rest}")) } else { Piece::Unknown })
}

/// The rest behind an index that is a number, such as `[0]`: it gives one of the elements.
fn behind_index(rest: &str) -> &str {
    let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    index
        .filter(|(index, _)| index.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(rest, |(_, behind)| behind)
}

/// `$'…'` with the escapes that every version of bash knows.
fn read_ansi_quotes(lexer: &mut Lexer<'_>, word: &mut Word, start: usize) {
    lexer.at += 1;
    word.quoted = true;
    word.pieces.push(Piece::Text(String::new()));
    while let Some(c) = lexer.next() {
        match c {
            '\'' => return,
            '\\' => match lexer.next().map(unescape) {
                Some(Some(c)) => word.push_text(c),
                Some(None) if numeric(lexer, word) => {}
                _ => return lexer.give_up(start, "an escape in `$'…'` that is not known"),
            },
            c => word.push_text(c),
        }
    }
    lexer.give_up(start, "a quote that is not closed");
}

fn unescape(c: char) -> Option<char> {
    Some(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '?' => c,
        _ => return None,
    })
}

/// `\xHH` and `\nnn` of ASCII. The character after the backslash has already been read.
fn numeric(lexer: &mut Lexer<'_>, word: &mut Word) -> bool {
    let before = lexer.at.saturating_sub(1);
    let kind = lexer.text.get(before..lexer.at).unwrap_or_default();
    let (base, longest, from) = match kind {
        "x" => (16, 2, lexer.at),
        "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" => (8, 3, before),
        _ => return false,
    };
    let digits = lexer.text.get(from..).unwrap_or_default();
    let length = digits.chars().take(longest).take_while(|c| c.is_digit(base)).count();
    let value = digits.get(..length).and_then(|digits| u32::from_str_radix(digits, base).ok());
    let Some(c) = value.filter(|value| (1..128).contains(value)).and_then(char::from_u32) else {
        return false;
    };
    lexer.at = from + length;
    word.push_text(c);
    true
}
