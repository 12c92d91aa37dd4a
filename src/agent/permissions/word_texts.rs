//! Expands a word to the texts that the shell may make of it: braces, patterns, variables.

use super::path_text::{MAX_ALTERNATIVES, Mark};
use super::shell::{FILLED, Piece, Word};

/// A piece of a word that stands for one character, one hole, or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    Mark(Mark),
    Home,
    Value(String),
}

/// A piece before patterns are parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Raw {
    Char(char),
    Glob(char),
    Atom(Atom),
}

/// Whether an unknown value was put into a word in place of `{}`.
pub(super) fn is_filled_in(word: &Word) -> bool {
    word.is_brace && word.pieces.last() == Some(&Piece::Unknown)
}

/// A piece with what is put into it.
fn fill(piece: &Piece) -> Vec<Piece> {
    let Some(text) = piece.text() else { return vec![piece.clone()] };
    let texts: Vec<Piece> = text.split(FILLED).map(|text| Piece::Text(text.to_owned())).collect();
    let mut filled = Vec::new();
    for text in texts {
        filled.extend((!filled.is_empty()).then_some(Piece::Unknown));
        filled.push(text);
    }
    filled
}

/// The expansions of a word's braces, each as the atoms of a text. If they are unknown, the result is a
/// single text that may be anything.
pub(super) fn atoms(word: &Word) -> Vec<Vec<Atom>> {
    let unknown = || vec![vec![Atom::Mark(Mark::Any)]];
    if is_filled_in(word) {
        let (_, written) = word.pieces.split_last().unwrap_or((&Piece::Unknown, &[]));
        let is_named = written.iter().filter_map(Piece::text).any(|text| text.contains(FILLED));
        if written.first() == Some(&Piece::Unknown) || !is_named {
            return unknown();
        }
        let filled = written.iter().flat_map(fill);
        return atoms(&word.with_pieces(filled.collect()));
    }
    let raw = raw(word);
    if !word.is_brace {
        return vec![patterns(&raw)];
    }
    let mut found = vec![(raw.clone(), false)];
    if expand(&raw, &mut found, 0).is_none() {
        return unknown();
    }
    found.iter().map(|(raw, _)| patterns(raw)).collect()
}

/// The words that a brace expansion yields, in order, each as the atoms of a text; the word itself if it has no braces.
/// Empty if there are too many.
pub(super) fn expand_braces(word: &Word) -> Vec<Vec<Atom>> {
    let raw = raw(word);
    let mut found = Vec::new();
    match word.is_brace.then(|| expand(&raw, &mut found, 0)) {
        Some(None) => Vec::new(),
        Some(Some(true)) => {
            found.iter().filter(|(_, is_last)| *is_last).map(|(raw, _)| patterns(raw)).collect()
        }
        Some(Some(false)) | None => vec![patterns(&raw)],
    }
}

/// The pieces of a word, in which text may be that of braces.
fn raw(word: &Word) -> Vec<Raw> {
    let mut raw = Vec::new();
    // The first piece of a brace expansion only marks it as one.
    for piece in word.pieces.iter().skip(usize::from(word.is_brace)) {
        match piece {
            Piece::Text(text) => raw.extend(text.chars().map(Raw::Char)),
            Piece::Glob(c) => raw.push(Raw::Glob(*c)),
            Piece::Home => raw.push(Raw::Atom(Atom::Home)),
            Piece::Variable(name) => raw.push(Raw::Atom(Atom::Value(name.clone()))),
            Piece::Unknown => raw.push(Raw::Atom(Atom::Mark(Mark::Any))),
        }
    }
    raw
}

/// Adds the expansions of the first braces in a text, and of nested ones, each with whether it has no more braces.
/// Returns whether there were any; `None` if there are too many.
fn expand(raw: &[Raw], found: &mut Vec<(Vec<Raw>, bool)>, depth: usize) -> Option<bool> {
    if depth > 8 || found.len() > MAX_ALTERNATIVES {
        return None;
    }
    for (open, _) in raw.iter().enumerate().filter(|(_, piece)| **piece == Raw::Char('{')) {
        let Some((parts, end)) = inner(raw.get(open + 1..).unwrap_or_default()) else { continue };
        let is_range =
            parts.len() == 1 && parts.iter().flatten().filter(|piece| **piece == Raw::Char('.')).count() > 1;
        if parts.len() < 2 && !is_range {
            continue;
        }
        let (start, rest) =
            (raw.get(..open).unwrap_or_default(), raw.get(open + 1 + end..).unwrap_or_default());
        let range = vec![vec![Raw::Atom(Atom::Mark(Mark::Name))]];
        for part in if is_range { range } else { parts } {
            let whole = [start, part.as_slice(), rest].concat();
            let has_more = expand(&whole, found, depth + 1)?;
            found.push((whole, !has_more));
        }
        return (found.len() <= MAX_ALTERNATIVES).then_some(true);
    }
    Some(false)
}

/// The alternatives up to the closing `}`, and the index of its end.
fn inner(rest: &[Raw]) -> Option<(Vec<Vec<Raw>>, usize)> {
    let (mut parts, mut depth) = (vec![Vec::new()], 0_usize);
    for (at, piece) in rest.iter().enumerate() {
        match piece {
            Raw::Char('{') => depth += 1,
            Raw::Char('}') if depth == 0 => return Some((parts, at + 1)),
            Raw::Char('}') => depth -= 1,
            Raw::Char(',') if depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut()?.push(piece.clone());
    }
    None
}

/// Converts the patterns in a text to holes.
fn patterns(raw: &[Raw]) -> Vec<Atom> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(piece) = raw.get(at) {
        at += 1;
        found.push(match piece {
            Raw::Char(c) => Atom::Mark(Mark::Char(*c)),
            Raw::Glob('*') => Atom::Mark(Mark::Name),
            Raw::Glob('?') => Atom::Mark(Mark::One),
            Raw::Glob('[') => match bracket(raw.get(at..).unwrap_or_default()) {
                Some((length, mark)) => {
                    at += length;
                    Atom::Mark(mark)
                }
                None => Atom::Mark(Mark::Char('[')),
            },
            Raw::Glob(c) => Atom::Mark(Mark::Char(*c)),
            Raw::Atom(atom) => atom.clone(),
        });
    }
    found
}

/// The length of a bracket expression after its `[`, and what it stands for. One with a `/` in it is not a
/// bracket expression. Where its end is not certain, as that of `[[:alpha:]]` and `[[.a.]]`, the rest of the
/// name may be anything.
fn bracket(rest: &[Raw]) -> Option<(usize, Mark)> {
    let is = |piece: Option<&Raw>, sought: &[char]| matches!(piece, Some(Raw::Char(c) | Raw::Glob(c)) if sought.contains(c));
    let negated = matches!(rest.first(), Some(Raw::Char('!' | '^')));
    let start = usize::from(negated) + 1;
    let end = rest.iter().skip(start).position(|piece| *piece == Raw::Glob(']'))? + start;
    let inner = rest.get(..end)?;
    let opens = |at: usize| is(inner.get(at), &['[']) && is(inner.get(at + 1), &[':', '=', '.']);
    if (0..inner.len()).any(opens) {
        let name = rest.iter().position(|piece| is(Some(piece), &['/'])).unwrap_or(rest.len());
        return Some((name, Mark::Name));
    }
    (!inner.contains(&Raw::Char('/'))).then_some((end + 1, Mark::One))
}
