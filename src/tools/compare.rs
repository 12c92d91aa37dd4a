//! Compares sequences: their differences, and words that resemble another.
//!
//! All comparisons run over numbers that stand for the items, so the algorithms are compiled for one type.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers, patience};
pub use similar::{DiffOp, DiffTag, group_diff_ops};

/// The difference as people see it: items that occur once anchor the rest. After the deadline it is finished
/// coarsely.
pub fn by_anchors<T: Eq + Hash>(old: &[T], new: &[T], deadline: Option<Instant>) -> Vec<DiffOp> {
    let (old, new) = number_items(old, new);
    differences(Way::Anchors, &old, &new, deadline)
}

/// A shortest difference.
pub fn shortest<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let (old, new) = number_items(old, new);
    differences(Way::Shortest, &old, &new, None)
}

/// Whether two words have the same letters: transposed ones are the likeliest mistake.
pub fn has_same_letters(one: &str, other: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(one) == sorted(other)
}

/// The words that resemble `word`, best first, at most `most`: those of a similarity of `least` or more, from
/// 0 to 1. Equally similar ones are in alphabetical order.
pub fn close_matches<'a>(word: &str, possible: &[&'a str], most: usize, least: f32) -> Vec<&'a str> {
    let numbers = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
    let word = numbers(word);
    let mut found: Vec<(f32, &'a str)> = Vec::new();
    for text in possible {
        let other = numbers(text);
        let shorter = word.len().min(other.len());
        // Nothing can be more alike than this.
        if ratio(shorter, word.len() + other.len()) < least {
            continue;
        }
        let same = differences(Way::Shortest, &word, &other, None).iter().map(equal).sum();
        let ratio = ratio(same, word.len() + other.len());
        if ratio >= least {
            found.push((ratio, *text));
        }
    }
    found.sort_by(|(one, first), (other, second)| other.total_cmp(one).then(first.cmp(second)));
    found.into_iter().map(|(_, text)| text).take(most).collect()
}

/// Like [`close_matches`], for names of which `word` may be a typo: they differ in few letters or in their order, or
/// begin alike.
pub fn likely_names<'a>(word: &str, possible: &[&'a str], most: usize, least: f32) -> Vec<&'a str> {
    let mut found = close_matches(word, possible, possible.len(), least);
    found.retain(|name| is_typo(word, name));
    found.truncate(most);
    found
}

/// Names that share as many letters at the beginning are alike.
const BEGINNING: usize = 3;

fn is_typo(word: &str, name: &str) -> bool {
    let letters = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
    let (old, new) = (letters(word), letters(name));
    let operations = differences(Way::Shortest, &old, &new, None);
    let changed = |op: &DiffOp| op.old_range().len().max(op.new_range().len());
    let distance: usize = operations.iter().filter(|op| equal(op) == 0).map(changed).sum();
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    distance <= (old.len().max(new.len()) / 3).max(1) || same >= BEGINNING || has_same_letters(word, name)
}

/// The algorithm of a comparison.
#[derive(Clone, Copy)]
enum Way {
    Anchors,
    Shortest,
}

/// Both sequences as numbers; equal items have the same number.
fn number_items<T: Eq + Hash>(old: &[T], new: &[T]) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<&T, u32> = HashMap::with_capacity(old.len());
    let mut number = |item| {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(item).or_insert(next)
    };
    let old = old.iter().map(&mut number).collect();
    (old, new.iter().map(number).collect())
}

fn differences(way: Way, old: &[u32], new: &[u32], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let (olds, news) = (0..old.len(), 0..new.len());
    let done: Result<(), Infallible> = match way {
        Way::Anchors => patience::diff_deadline(&mut hook, old, olds, new, news, deadline),
        Way::Shortest => myers::diff_deadline(&mut hook, old, olds, new, news, deadline),
    };
    let Ok(()) = done;
    hook.into_inner().into_inner().into_ops()
}

/// The number of items that an operation keeps.
fn equal(op: &DiffOp) -> usize {
    match op {
        DiffOp::Equal { len, .. } => *len,
        DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => 0,
    }
}

/// The part of the items that both sides have, from 0 to 1.
fn ratio(same: usize, all: usize) -> f32 {
    if all == 0 { 1.0 } else { 2.0 * same as f32 / all as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_that_resemble_another() {
        let words = ["appel", "ape", "apple", "peach", "puppy"];
        assert_eq!(close_matches("appel", &words, 3, 0.6), ["appel", "apple", "ape"]);
        assert_eq!(close_matches("appel", &words, 1, 0.6), ["appel"]);
        assert!(close_matches("xyz", &words, 3, 0.6).is_empty());
        assert_eq!(close_matches("ab", &["ac", "bb", "aa"], 3, 0.5), ["aa", "ac", "bb"]);
        assert_eq!(close_matches("", &["", "a"], 3, 0.6), [""]);
    }

    #[test]
    fn names_of_which_a_word_may_be_a_typo() {
        let names = ["init", "model", "again", "compact", "permissions"];
        for (word, name) in [
            ("insights", None),
            ("mdel", Some("model")),
            ("modle", Some("model")),
            ("agian", Some("again")),
            ("cmpct", Some("compact")),
            ("permits", Some("permissions")),
            ("magazine", None),
        ] {
            assert_eq!(likely_names(word, &names, 1, 0.55).first().copied(), name, "{word}");
        }
    }

    /// The old side with the operations carried out.
    fn apply_ops(ops: &[DiffOp], old: &[String], new: &[String]) -> Vec<String> {
        let part = |op: &DiffOp| match op.tag() {
            DiffTag::Equal => old[op.old_range()].to_vec(),
            DiffTag::Delete => Vec::new(),
            DiffTag::Insert | DiffTag::Replace => new[op.new_range()].to_vec(),
        };
        ops.iter().flat_map(part).collect()
    }

    proptest! {
        /// They are the operations that the library finds in the texts themselves.
        #[test]
        fn numbers_change_no_difference(
            old in lines(),
            new in lines(),
            words in prop::collection::vec("[a-c]{0,5}", 0..8),
        ) {
            let anchored = by_anchors(&old, &new, None);
            prop_assert_eq!(&anchored, &similar::capture_diff_slices(similar::Algorithm::Patience, &old, &new));
            prop_assert_eq!(apply_ops(&anchored, &old, &new), &new[..]);
            let short = shortest(&old, &new);
            prop_assert_eq!(&short, &similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new));
            let before: Vec<&str> = old.iter().map(String::as_str).collect();
            let after: Vec<&str> = new.iter().map(String::as_str).collect();
            let mut texts = similar::TextDiff::configure();
            texts.algorithm(similar::Algorithm::Patience);
            let texts = texts.diff_slices(&before, &after);
            prop_assert_eq!(&anchored[..], texts.ops());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            for word in ["abc", "", "aabbc", "cab"] {
                for least in [0.3, 0.5, 0.6, 0.7] {
                    let theirs = similar::get_close_matches(word, &words, 3, least);
                    prop_assert_eq!(close_matches(word, &words, 3, least), theirs);
                }
            }
        }
    }

    fn lines() -> impl Strategy<Value = Vec<String>> {
        prop_oneof![
            prop::collection::vec("[a-d]", 0..40),
            prop::collection::vec("[a-z]", 0..300),
            prop::collection::vec("[a-c]{1,2}", 90..160),
        ]
    }
}
