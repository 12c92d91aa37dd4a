//! The words of a program that a row of a table needs.

use std::borrow::Cow;

use super::has_option;
use crate::permissions::shell::Word;

/// The words of a program that a row needs, if all are there.
pub(in crate::permissions) fn needed_words(
    needed: &str,
    words: &[Word],
    literals: &[Cow<'_, str>],
) -> Option<Vec<String>> {
    let is_operand = |text: &str| !text.is_empty() && !text.starts_with('-');
    // The number of options before an operand: each may have the next word as its value.
    let (mut at, mut found, mut is_any, mut is_one_more) = (0, Vec::new(), false, false);
    for need in needed.split(' ').filter(|need| !need.is_empty()) {
        if let Some(written) = need.strip_prefix('!') {
            let literals: Vec<Word> = words.iter().filter(|word| word.literal().is_some()).cloned().collect();
            found.push(option(written, &literals)?);
            continue;
        }
        if need.starts_with('-') {
            found.push(option(need, words)?);
            continue;
        }
        if let Some(end) = need.strip_prefix('=') {
            let ends = |text: &String| text.to_ascii_uppercase().ends_with(end);
            found.push(words.iter().skip(1).map(Word::display).find(ends)?);
            continue;
        }
        if need == "*" || need == "?" {
            (is_any, is_one_more) = (need == "*", need == "?");
            continue;
        }
        let rest = literals.get(at..).unwrap_or_default();
        // The one word that may be any counts like the value of an option: either may come first.
        let mut options = usize::from(is_one_more);
        let place = rest.iter().enumerate().find_map(|(place, text)| {
            if !is_operand(text) {
                options += 1;
                return None;
            }
            if is_one(need, text) {
                return Some(Some(place));
            }
            // It may be the value of an option before it.
            let is_value = is_any || options > 0;
            options = usize::saturating_sub(options, 1);
            (!is_value).then_some(None)
        });
        let place = place.flatten()?;
        let before = rest.get(..place).unwrap_or_default().iter().rev().filter(|_| is_one_more);
        found.extend(before.filter(|text| is_operand(text)).take(1).map(ToString::to_string));
        found.extend(rest.get(place).map(ToString::to_string));
        (at, is_any, is_one_more) = (at + place + 1, false, false);
    }
    Some(found)
}

/// Whether an operand is one of the alternatives.
fn is_one(need: &str, text: &str) -> bool {
    let is = |text: &str| {
        need.trim_start_matches('/').split('|').any(|one| match one.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => one == text,
        })
    };
    if need.starts_with('/') { text.split([',', '/']).any(is) } else { is(text) }
}

/// The option among the words that is one of the alternatives.
fn option(need: &str, words: &[Word]) -> Option<String> {
    let is_it = |word: &&Word| {
        let text = word.literal().unwrap_or_default();
        let name = text.split_once('=').map_or(text.as_ref(), |(name, _)| name);
        need.split('|').any(|one| match one.strip_prefix('-') {
            Some(letter) if letter.len() == 1 => has_option(std::slice::from_ref(*word), letter, "\0"),
            _ => !text.ends_with("=false") && (name == one || name.strip_prefix('-') == Some(one)),
        })
    };
    words.iter().skip(1).find(is_it).map(Word::display)
}
