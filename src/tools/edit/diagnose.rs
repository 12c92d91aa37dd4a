//! Explains why an edit was not made, so that the model gets it right next time.

use std::collections::HashMap;
use std::ops::Range;

use super::Replacement;
use super::matching::MatchKind;
use super::splice::{Splice, line_number};
use crate::counted::pluralize;

/// The maximum number of places listed.
const PLACES: usize = 20;
/// The maximum number of lines shown of the nearest text.
const NEAREST: usize = 12;
/// The maximum number of characters shown of a line.
const WIDTH: usize = 200;
/// The maximum number of lines compared character by character.
const COMPARED: usize = 20_000;

/// The old text occurs more than once.
pub fn several(given: &str, text: &[u8], places: &[Range<usize>], how: MatchKind) -> String {
    let way = match how {
        MatchKind::Exact => format!("old_string occurs {} times in {given}", places.len()),
        _ => format!(
            "old_string is not in {given} exactly, but {} places match {}",
            places.len(),
            how.words().split(',').next().unwrap_or_default()
        ),
    };
    let hint = match how {
        MatchKind::Exact => "include more surrounding lines to identify the one you mean, or set replace_all",
        _ => "give the exact text of the one you mean",
    };
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let mut message = format!("{way}; {hint}:\n");
    for place in places.iter().take(PLACES) {
        let number = line_number(text, place.start);
        message.push_str(&numbered_line(number, lines.get(number - 1).copied().unwrap_or_default()));
    }
    if places.len() > PLACES {
        message.push_str(&format!("[… {} …]\n", pluralize(places.len() - PLACES, "more place")));
    }
    message
}

/// The old text does not occur at all.
pub fn missing(given: &str, text: &[u8], change: &Replacement) -> String {
    if text.is_empty() {
        return format!("{given} is empty, so old_string is not in it; use write to give it content");
    }
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let new = change.new_string.trim();
    // A short new text is in many files by chance and proves nothing.
    let there = if new.len() >= 4 { memchr::memmem::find(text, new.as_bytes()) } else { None };
    if let Some(at) = there {
        return format!(
            "old_string is not in {given}, but new_string already is, at line {}: the edit was probably \
             made before; nothing was changed",
            line_number(text, at)
        );
    }
    let head = format!("old_string is not in {given}; nothing was changed.");
    match nearest(&lines, &change.old_string) {
        None => format!("{head} Nothing in it resembles old_string; read the file again."),
        Some(range) => {
            let cut = range.len().saturating_sub(NEAREST);
            let mut message = format!("{head} The closest text is:\n");
            for index in range.take(NEAREST) {
                message.push_str(&numbered_line(index + 1, lines.get(index).copied().unwrap_or_default()));
            }
            if cut > 0 {
                message.push_str(&format!("[… {} …]\n", pluralize(cut, "more line")));
            }
            message.push_str("Copy old_string exactly from the file.");
            message
        }
    }
}

/// The old text was matched leniently, and the file already contains the new text.
pub(crate) fn no_change(given: &str, text: &[u8], splices: &[Splice], how: MatchKind) -> String {
    let line = splices.first().map_or(1, |splice| line_number(text, splice.place.start));
    if how == MatchKind::Exact {
        return format!("the edit would not change {given} (line {line}); nothing was written");
    }
    format!(
        "old_string is not in {given}, but new_string already is, at line {line}: the edit was probably \
         made before; nothing was changed"
    )
}

fn numbered_line(number: usize, line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(WIDTH).collect();
    let mark = if shown.len() < text.len() { " …" } else { "" };
    format!("{number:>6}  {shown}{mark}\n")
}

/// The lines most similar to the old text: those that share the most whole lines with it, or else those
/// around the line most similar to its longest line.
fn nearest(lines: &[&[u8]], old: &str) -> Option<Range<usize>> {
    let wanted: Vec<&str> = old.trim_matches('\n').lines().map(str::trim).collect();
    let size = wanted.len().clamp(1, lines.len());
    if let Some(start) = best_alignment(lines, &wanted) {
        let start = start.min(lines.len() - size);
        return Some(start..start + size);
    }
    let (offset, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let like = most_like(lines, longest)?;
    let start = like.saturating_sub(offset).min(lines.len() - size);
    Some(start..start + size)
}

/// The line at which the wanted text would begin so that the most of its lines are in place. Long lines
/// weigh more; lines without a letter or digit are too common to count.
fn best_alignment(lines: &[&[u8]], wanted: &[&str]) -> Option<usize> {
    let mut offsets: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (offset, line) in wanted.iter().enumerate() {
        if line.chars().any(char::is_alphanumeric) {
            offsets.entry(line.as_bytes()).or_default().push(offset);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        for offset in offsets.get(line.trim_ascii()).into_iter().flatten().take(PLACES) {
            *votes.entry(index.saturating_sub(*offset)).or_default() += line.len();
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start)
}

/// The line that shares the most pairs of letters with the wanted one, if it shares enough.
fn most_like(lines: &[&[u8]], wanted: &str) -> Option<usize> {
    let pairs = |line: &[u8]| -> Vec<[u8; 2]> {
        let line = line.trim_ascii();
        let line = line.get(..line.len().min(WIDTH)).unwrap_or_default();
        let mut pairs: Vec<[u8; 2]> = line.windows(2).filter_map(|pair| pair.try_into().ok()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    };
    let target = pairs(wanted.as_bytes());
    if target.is_empty() {
        return None;
    }
    let score = |line: &[u8]| {
        let other = pairs(line);
        let shared = other.iter().filter(|pair| target.binary_search(pair).is_ok()).count();
        200 * shared / (other.len() + target.len()).max(1)
    };
    let scored =
        lines.iter().take(COMPARED).enumerate().map(|(index, line)| (score(line), std::cmp::Reverse(index)));
    let (best, std::cmp::Reverse(index)) = scored.max()?;
    (best >= 40).then_some(index)
}
