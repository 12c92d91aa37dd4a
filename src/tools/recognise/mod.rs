//! Recognises secrets in any text: tool results, command output, exported sessions.
//!
//! One pass searches for words that occur near every secret (prefixes of keys, parts of names, `://`,
//! `-----BEGIN`); only there is the text examined more closely, a bounded number of bytes each. Avoiding
//! false positives matters as much: see `values`. docs/secrets.md has the figures.

mod assignments;
mod blocks;
mod names;
mod shapes;
mod text;
mod values;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use shapes::{MARKED, SHAPES};
use text::{Run, before, begins_word};
use values::{Place, is_placeholder, plausible, random};

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// The start, in bytes.
    pub start: usize,
    /// The end, in bytes.
    pub end: usize,
    /// The kind of secret.
    pub kind: &'static str,
    /// The value, if it differs from the text.
    pub value: Option<String>,
}

/// The kind of secret that a word in the text suggests.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    Shape(usize),
    Marked(usize),
    WebToken,
    Name,
    Address,
    Block,
    BlockEnd,
}

/// Parts of names.
const NAMES: [&str; 9] = ["pass", "pwd", "secret", "token", "key", "credential", "auth", "bearer", "_dsn"];

/// Parameters too short to be parts of names.
const PARAMETERS: [&str; 3] = ["&sig=", "?sig=", "-signature="];

/// The words to search for, and what each may be part of.
fn anchors() -> Vec<(&'static str, Anchor)> {
    let shapes = SHAPES.iter().enumerate().map(|(index, shape)| (shape.begin, Anchor::Shape(index)));
    let marked = MARKED.iter().enumerate().map(|(index, marked)| (marked.mark, Anchor::Marked(index)));
    let names = NAMES.iter().chain(&PARAMETERS).map(|name| (*name, Anchor::Name));
    let marks = [
        ("eyJ", Anchor::WebToken),
        ("://", Anchor::Address),
        ("-----BEGIN ", Anchor::Block),
        ("-----END ", Anchor::BlockEnd),
    ];
    shapes.chain(marked).chain(names).chain(marks).collect()
}

/// The shortest value, in bytes, that is searched for on its own: a shorter one is as likely to be a word.
pub const MIN_LEN: usize = 8;

type Words = (AhoCorasick, Vec<Anchor>);

/// The automaton for all texts but the first: it takes a millisecond to make, which a start does not have.
static FAST: LazyLock<Option<Words>> = LazyLock::new(|| words(AhoCorasickKind::DFA));
/// The automaton for the first texts.
static FIRST: LazyLock<Option<Words>> = LazyLock::new(|| words(AhoCorasickKind::NoncontiguousNFA));
/// The size of the first texts together, in bytes: more than the variables of the environment have.
const FIRST_SIZE: usize = 32_768;
/// The bytes that were searched.
static SEARCHED: AtomicUsize = AtomicUsize::new(0);

/// The words, and an automaton that finds them.
fn words(kind: AhoCorasickKind) -> Option<Words> {
    let anchors = anchors();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(kind))
        // The states of second letters, if dense, take most of the memory of the first automaton, which every process
        // keeps.
        .dense_depth(1)
        .build(anchors.iter().map(|(word, _)| word))
        .ok()?;
    Some((automaton, anchors.into_iter().map(|(_, anchor)| anchor).collect()))
}

/// The automaton for a text. Nothing is found without one; a test ensures that both can be made.
fn words_for(text: &str) -> Option<&'static Words> {
    let searched = SEARCHED.load(Ordering::Relaxed).saturating_add(text.len());
    if searched > FIRST_SIZE {
        return FAST.as_ref();
    }
    SEARCHED.store(searched, Ordering::Relaxed);
    FIRST.as_ref()
}

/// The matches of the words in `text`, in order, with their positions.
fn hits<'t>(
    (automaton, anchors): &'t Words,
    text: &'t str,
) -> impl Iterator<Item = (usize, usize, Anchor)> + 't {
    automaton.find_iter(text).filter_map(|found| {
        anchors.get(found.pattern().as_usize()).map(|anchor| (found.start(), found.end(), *anchor))
    })
}

/// The secrets in `text`, in order and without overlaps.
pub fn find(text: &str) -> Vec<SecretMatch> {
    let Some(words) = words_for(text) else { return Vec::new() };
    let mut found: Vec<SecretMatch> = Vec::new();
    // Words before this place belong to something already examined.
    let (mut named, mut block_end, mut no_token) = (0, 0, 0);
    for (at, end, anchor) in hits(words, text) {
        if at < block_end {
            continue;
        }
        let simple = |(start, end, kind)| SecretMatch { start, end, kind, value: None };
        let secret = match anchor {
            Anchor::Shape(index) => SHAPES.get(index).and_then(|shape| {
                let end = shape.end(text, at)?;
                if shape.kind == "aws key id" {
                    let secret = shapes::aws_secret(text, end);
                    found.extend(secret.map(|(start, end)| simple((start, end, "aws secret key"))));
                }
                Some(simple((at, end, shape.kind)))
            }),
            Anchor::Marked(index) => MARKED.get(index).and_then(|marked| marked.range(text, at)).map(simple),
            Anchor::WebToken if at < no_token => None,
            Anchor::WebToken => match shapes::web_token_end(text, at) {
                Ok(end) => Some(simple((at, end, "json web token"))),
                Err(end) => {
                    no_token = end;
                    None
                }
            },
            Anchor::Name if at < named => None,
            Anchor::Name => {
                // A parameter has its separator before it and its `=` after it.
                let at = if end - at == 5 && matches!(before(text, at + 1), Some(b'&' | b'?')) {
                    at + 1
                } else {
                    at
                };
                let assigned = assignments::find_assignment(text, at);
                named = assigned.seen.max(at);
                assigned.value.map(simple)
            }
            Anchor::Address => password(text, end).map(simple),
            Anchor::Block => {
                let block = blocks::block(text, at);
                block_end = block.as_ref().map_or(block_end, |block| block.end);
                block.map(of_block)
            }
            Anchor::BlockEnd => blocks::tail(text, block_end, at).map(|block| {
                block_end = block.end;
                of_block(block)
            }),
        };
        found.extend(secret);
    }
    merge_overlapping(found)
}

fn of_block(block: blocks::Block) -> SecretMatch {
    SecretMatch { start: block.start, end: block.end, kind: "private key", value: Some(block.value) }
}

/// Kinds that only repeat the name of a value.
const VAGUE: [&str; 5] = ["password", "token", "secret", "api key", "key"];

/// Sorts secrets and merges those that overlap into one of the more specific kind.
pub fn merge_overlapping(mut found: Vec<SecretMatch>) -> Vec<SecretMatch> {
    found.sort_by_key(|found| (found.start, std::cmp::Reverse(found.end)));
    let mut out: Vec<SecretMatch> = Vec::with_capacity(found.len());
    for next in found {
        match out.last_mut().filter(|last| next.start < last.end) {
            Some(last) if next.end > last.end => {
                (last.end, last.value) = (next.end, None);
            }
            Some(last) if last.value.is_none() && VAGUE.contains(&last.kind) => {
                // Punctuation after a key belongs to the sentence.
                let trimmed = next.start == last.start && last.end - next.end == 1;
                last.end = if trimmed { next.end } else { last.end };
                last.kind = next.kind;
            }
            Some(_) => {}
            None => out.push(next),
        }
    }
    out
}

/// The longest user name and password of an address, in bytes.
const USER: usize = 300;

/// The password, or the token in its place, of the address whose `://` ends at `at`.
fn password(text: &str, at: usize) -> Option<(usize, usize, &'static str)> {
    let authority = Run::forward(text, at, USER, |byte| {
        byte > b' '
            && byte < 0x7f
            && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
    });
    let (user, _) = authority.text.rsplit_once('@')?;
    let Some((name, password)) = user.split_once(':') else {
        let token = user.len() >= 20 && random(user) && !is_placeholder(user);
        return token.then_some((at, at + user.len(), "token"));
    };
    let start = at + name.len() + 1;
    let secret = password != name && plausible(password, names::Kind::Password, Place::Variable);
    secret.then_some((start, start + password.len(), "password"))
}

/// The passwords of all addresses in `text`, whatever their form.
pub fn passwords(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
        let rest = text.get(at + mark.len()..)?.split(ends).next()?;
        let (name, after) = rest.split_once(':')?;
        let host = after.split(['/', '?', '#']).next()?;
        // A slash in a password should be encoded, but often is not.
        let (password, _) = host.rsplit_once('@').or_else(|| after.rsplit_once('@'))?;
        let port = password.bytes().take_while(u8::is_ascii_digit).count();
        let is_port = port > 0 && password.get(port..).is_some_and(|rest| rest.starts_with('/'));
        (!password.is_empty() && !is_port && !name.contains(['/', '@', '?', '#'])).then_some(password)
    })
}

/// The length of the part of an unfinished text that can be shown: the text after it may turn out to be a
/// secret once the rest has arrived.
pub fn settled_length(text: &str) -> usize {
    let Some(words) = words_for(text) else { return text.len() };
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let mut open_block = None;
    let mut first = text.len();
    for (at, end, anchor) in hits(words, text) {
        match anchor {
            Anchor::Block if blocks::may_continue(text, at) => open_block = open_block.or(Some(at)),
            Anchor::Block | Anchor::BlockEnd => {}
            _ if at < line => {}
            // A name alone proves nothing: only its value is held back.
            Anchor::Name => first = first.min(value_start(text, end).unwrap_or(first)),
            Anchor::Address => first = first.min(end),
            Anchor::Shape(_) | Anchor::WebToken if begins_word(text, at) => first = first.min(at),
            Anchor::Marked(_) => {
                first = first.min(at - Run::backward(text, at, 90, |byte| byte > b' ').text.len());
            }
            Anchor::Shape(_) | Anchor::WebToken => {}
        }
    }
    first.min(open_block.unwrap_or(text.len())).min(partial_word_start(text))
}

/// The start of a searched word that is cut off at the end of the text.
fn partial_word_start(text: &str) -> usize {
    let begins = |length: &usize| {
        let Some(end) = text.len().checked_sub(*length).and_then(|at| text.get(at..)) else { return false };
        let keys = SHAPES.iter().map(|shape| shape.begin).chain(["-----BEGIN "]);
        let at = text.len() - length;
        // Dashes may also be the end of a mark.
        let ends_mark = end.starts_with('-') && before(text, at) == Some(b'-');
        keys.into_iter().any(|begin| begin.starts_with(end)) && begins_word(text, at) && !ends_mark
    };
    text.len() - (2..24).rev().find(begins).unwrap_or(0)
}

/// The start of the value after the name around `at`, if any of it was written. A prompt for a password has
/// none.
fn value_start(text: &str, at: usize) -> Option<usize> {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name_end = at + Run::forward(text, at, 80, of_name).text.len();
    let of_sign = |byte: u8| byte.is_ascii_whitespace() || b"\\\"'`]?=:>,&<".contains(&byte);
    let sign = Run::forward(text, name_end, 40, of_sign).text;
    let start = name_end + sign.len();
    (start < text.len() && sign.contains(['=', ':', '>', ','])).then_some(start)
}

/// True if a known value can be found on its own as well: it must not be a word or number with another
/// meaning.
pub fn is_telling(value: &str) -> bool {
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.len() >= MIN_LEN && digit && letter
}

/// True if the value of a variable related to secrets looks like one.
pub fn looks_secret(value: &str) -> bool {
    is_telling(value) && plausible(value, names::Kind::Secret, Place::Variable)
}

/// True if the value can only say where a secret is: a path, an address, a number.
pub fn is_reference(value: &str) -> bool {
    values::is_reference(value)
}

/// True if the value of a variable with a secret-sounding name can be searched for: it is not a placeholder,
/// path, address or number.
pub fn is_own_secret(value: &str) -> bool {
    looks_secret(value) || (!is_placeholder(value) && !values::is_reference(value))
}

#[cfg(test)]
mod automaton_tests {
    use super::*;

    #[test]
    fn both_automata_find_the_same_words() {
        let texts: Vec<&str> = anchors().into_iter().map(|(word, _)| word).collect();
        let text =
            texts.iter().flat_map(|word| [*word, " x", *word, "\n"]).collect::<String>().to_uppercase();
        let found = |kind| {
            let words = words(kind).unwrap();
            hits(&words, &text).map(|(start, end, _)| (start, end)).collect::<Vec<_>>()
        };
        let all = found(AhoCorasickKind::DFA);
        assert!(all.len() > texts.len());
        assert_eq!(found(AhoCorasickKind::NoncontiguousNFA), all);
    }
}
