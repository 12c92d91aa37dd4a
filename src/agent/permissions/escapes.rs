//! Texts that programs in other languages spell otherwise: `'\x2eenv'`, `x'2e656e76'`, `chr(46)`, `unhex('2e')`.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::programs;
use super::shell::{Part, Word};
use super::subcommands::has;

/// The minimum length of a text in hexadecimal digits or in base64.
const SHORTEST: usize = 4;
/// The maximum length of a text that is decoded, in bytes.
const LONGEST: usize = 20_000;
/// Functions that make characters of numbers, as parts of their names.
const MAKING: [&str; 6] = ["chr", "char", "Char", "CHAR", "byte", "CodePoint"];

/// The words and the input of a part, as a program decodes them, if that makes other texts of them.
pub(super) fn decoded_texts(part: &Part) -> Vec<String> {
    let words = part.words.iter().skip(1).filter_map(Word::literal);
    let texts = words.chain(part.texts.iter().map(|text| Cow::Borrowed(text.as_str())));
    let texts: Vec<String> = texts.filter_map(|text| decode(&text)).collect();
    if texts.is_empty() || programs::takes_data(&part.words, part.more_arguments) {
        Vec::new()
    } else {
        texts
    }
}

/// A text with what is spelled otherwise in it; `None` if there is nothing.
pub(super) fn decode(text: &str) -> Option<String> {
    if text.len() > LONGEST || !text.contains(['\\', '(', '\'', '"', '`']) && !text.contains("0x") {
        return None;
    }
    let decoded = decode_calls(&decode_strings(&decode_escapes(text)));
    (decoded != text).then_some(decoded)
}

/// Decodes `\x2e`, `\u002e`, `\u{2e}` and `\056`.
fn decode_escapes(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match escape(part) {
            Some((c, rest)) => {
                decoded.push(c);
                decoded.push_str(rest);
            }
            None => {
                decoded.push('\\');
                decoded.push_str(part);
            }
        }
    }
    decoded
}

/// The character of an escape behind its `\`, and what follows.
fn escape(text: &str) -> Option<(char, &str)> {
    let (digits, radix, most) = match text.chars().next()? {
        'x' => (text.get(1..)?, 16, 2),
        'u' => (text.get(1..)?, 16, 4),
        'U' => (text.get(1..)?, 16, 8),
        'o' => (text.get(1..)?, 8, 3),
        c if c.is_digit(8) => (text, 8, 3),
        _ => return None,
    };
    let (number, rest) = match digits.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => {
            let length = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
            digits.split_at_checked(length)?
        }
    };
    // One octal digit is more likely a part of a pattern.
    let least = if radix == 8 { 2 } else { 1 };
    let number = u32::from_str_radix(number, radix).ok().filter(|_| number.len() >= least)?;
    Some((char::from_u32(number)?, rest))
}

/// Decodes texts in quotes that are hexadecimal or base64, and numbers that are texts: `0x2e656e76`.
fn decode_strings(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_digit) {
        let (before, token) = rest.split_at(start);
        let end = token.find(|c| !is_digit(c)).unwrap_or(token.len());
        let (token, behind) = token.split_at(end);
        let is_quoted = before.ends_with(['\'', '"', '`']) && behind.starts_with(['\'', '"', '`']);
        decoded.push_str(before);
        match (token.strip_prefix("0x").and_then(of_hex), is_quoted) {
            (Some(text), _) => decoded.extend(["'", &text, "'"]),
            (None, true) => {
                let text = of_hex(token).or_else(|| of_base64(token));
                decoded.push_str(text.as_deref().unwrap_or(token));
            }
            (None, false) => decoded.push_str(token),
        }
        rest = behind;
    }
    decoded + rest
}

/// The text of bytes, if it can be a name.
fn name_of(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains(char::is_control))
}

fn of_hex(text: &str) -> Option<String> {
    let is_hex =
        text.len() >= SHORTEST && text.len().is_multiple_of(2) && text.chars().all(|c| c.is_ascii_hexdigit());
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)?.try_into().ok()).collect();
    name_of(digits.chunks(2).filter_map(|pair| Some(pair.first()? * 16 + pair.get(1)?)).collect())
        .filter(|_| is_hex)
}

fn of_base64(text: &str) -> Option<String> {
    BASE64_STANDARD.decode(text).ok().filter(|_| text.len() >= SHORTEST).and_then(name_of)
}

/// Decodes calls that make characters of numbers: `chr(46)`, `char(46, 101)`, `bytes([46])`.
fn decode_calls(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('(') {
        let name_start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let name = before.get(name_start..).unwrap_or_default();
        let is_making = MAKING.iter().any(|part| name.contains(part)) || has("CHR string", name);
        // In Lisp, the name is within the parentheses.
        let inner = || behind.split_once(')').filter(|(inner, _)| inner.starts_with("string "));
        let call = behind.split_once(')').filter(|_| is_making).or_else(inner);
        match call.and_then(|(numbers, behind)| Some((characters(numbers)?, behind))) {
            Some((made, behind)) => {
                decoded.push_str(before.get(..name_start).unwrap_or_default());
                decoded.extend(["'", &made, "'"]);
                rest = behind;
            }
            None => {
                decoded.push_str(before);
                decoded.push('(');
                rest = behind;
            }
        }
    }
    decoded + rest
}

/// The characters with these numbers.
fn characters(numbers: &str) -> Option<String> {
    let numbers = numbers.strip_prefix("string ").unwrap_or(numbers);
    let numbers = numbers.trim_matches(|c: char| "[]{} ".contains(c)).split([',', ' ']);
    let character = |number: &str| {
        let number = number.trim();
        let value = match number.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        char::from_u32(value.ok()?)
    };
    numbers.filter(|number| !number.trim().is_empty()).map(character).collect::<Option<String>>()
}
