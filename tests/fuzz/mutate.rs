//! Changes to an input of a fuzz target: bytes, lines, JSON values, words of the format.

use std::ops::Range;

use crate::support::dice::Dice;

/// Replacement values for JSON.
const VALUES: &[&str] = &[
    "null", "true", "false", "0", "-1", "1.5", "1e999", "18446744073709551616", "9007199254740993", "\"\"",
    "\"\\u0000\"", "\"\\ud83d\"", "\"\\ud83d\\ude00\"", "\"\\u001b[2J\"", "\"\u{202e}x\"", "[]", "{}",
    "[[[[]]]]", "[null]", "{\"a\":{\"a\":[]}}", "\"stop\"", "\"error\"",
];

/// Bytes and text that break many formats.
const WORDS: &[&str] = &[
    "\0", "\r", "\n", "\r\n", "\n\n", "\t", " ", "\"", "\\", "{", "}", "[", "]", ":", ",", "\u{1b}",
    "\u{1b}[", "\u{7f}", "\u{9b}", "\u{feff}", "\u{200d}", "\u{301}", "\u{fe0f}", "漢", "👨‍👩‍👧", "é",
    "\u{2028}", "0", "-1", "65536", "99999999999999999999", "%s", "../",
];

/// Makes one to six changes.
pub fn mutate(dice: &mut Dice, input: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    for _ in 0..1 + dice.below(6) {
        match dice.below(14) {
            0 => flip(dice, input),
            1 => {
                let range = range(dice, input.len());
                input.drain(range);
            }
            2 => {
                let range = range(dice, input.len());
                let copy = input[range].to_vec();
                let times = if dice.below(20) == 0 { 1 + dice.below(300) } else { 1 };
                insert(dice, input, &copy.repeat(times));
            }
            3 => {
                let at = dice.below(input.len() + 1);
                input.truncate(at);
            }
            4 | 5 => {
                let word = dice.pick(WORDS);
                insert(dice, input, word.as_bytes());
            }
            6 | 7 if !words.is_empty() => {
                let word = dice.pick(words);
                insert(dice, input, word.as_bytes());
            }
            8 => splice(dice, input, other),
            9 => lines(dice, input, other),
            10..=12 => json(dice, input, words),
            _ => {
                let bytes: Vec<u8> = (0..1 + dice.below(4)).map(|_| dice.below(256) as u8).collect();
                insert(dice, input, &bytes);
            }
        }
    }
}

fn range(dice: &mut Dice, length: usize) -> Range<usize> {
    let start = dice.below(length + 1);
    // Usually short.
    let most = if dice.below(4) == 0 { length } else { 16 };
    start..(start + dice.below(most + 1)).min(length)
}

fn insert(dice: &mut Dice, input: &mut Vec<u8>, bytes: &[u8]) {
    let at = dice.below(input.len() + 1);
    // Replaces the existing bytes, or is inserted before them.
    let end = if dice.below(3) == 0 { (at + bytes.len()).min(input.len()) } else { at };
    input.splice(at..end, bytes.iter().copied());
}

fn flip(dice: &mut Dice, input: &mut [u8]) {
    let at = dice.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << dice.below(8);
    }
}

/// A piece of another input.
fn splice(dice: &mut Dice, input: &mut Vec<u8>, other: &[u8]) {
    let start = dice.below(other.len() + 1);
    let length = dice.below(other.len() - start + 1);
    let piece = other[start..start + length].to_vec();
    insert(dice, input, &piece);
}

/// Drops, repeats, swaps or copies whole lines.
fn lines(dice: &mut Dice, input: &mut Vec<u8>, other: &[u8]) {
    let mut all: Vec<Vec<u8>> = input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let foreign: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let (at, to) = (dice.below(all.len()), dice.below(all.len()));
    if all.is_empty() {
        return;
    }
    match dice.below(4) {
        0 => _ = all.remove(at),
        1 => {
            let line = all[at].clone();
            all.insert(to, line);
        }
        2 => all.swap(at, to),
        _ if foreign.is_empty() => {}
        _ => all.insert(to, dice.pick(&foreign).to_vec()),
    }
    *input = all.concat();
}

/// Replaces a JSON value, or drops a key's value.
fn json(dice: &mut Dice, input: &mut Vec<u8>, words: &[&str]) {
    let starts: Vec<usize> = input
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| matches!(pair[0], b':' | b'[' | b',') && !matches!(pair[1], b' ' | b'\n'))
        .map(|(at, _)| at + 1)
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *dice.pick(&starts);
    let end = start + value_length(&input[start..]);
    let value = if words.is_empty() || dice.below(3) > 0 {
        dice.pick(VALUES).as_bytes().to_vec()
    } else {
        format!("\"{}\"", dice.pick(words)).into_bytes()
    };
    input.splice(start..end, value);
}

/// The length of the value at the start of these bytes.
fn value_length(bytes: &[u8]) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_i32, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b'\n' => return at,
            _ => {}
        }
    }
    bytes.len()
}
