//! The order of models in lists: by provider, newest version first.
//!
//! The catalogue does not say when a model was released, but versions and dates are in its id.

use std::cmp::{Ordering, Reverse};

/// Maximum digits of a number that is a version; longer ones are dates.
const VERSION_DIGITS: usize = 3;
/// The separators between the pieces of an id.
const SEPARATORS: [char; 6] = ['-', '.', ':', '_', '/', ' '];

/// Sorts rows by the `provider/id` from `name`: providers stay in order of first appearance, their models are
/// in the order of [`by_version`].
pub(crate) fn newest_first<T>(rows: &mut [T], name: impl Fn(&T) -> &str) {
    let mut providers: Vec<String> = Vec::new();
    for row in rows.iter() {
        let provider = provider(name(row));
        if !providers.iter().any(|known| known == provider) {
            providers.push(provider.to_owned());
        }
    }
    let place = |name: &str| providers.iter().position(|known| known == provider(name));
    rows.sort_by(|a, b| {
        let (a, b) = (name(a), name(b));
        place(a).cmp(&place(b)).then_with(|| by_version(a, b))
    });
}

fn provider(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

/// A piece of an id.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    Word(&'a str),
    /// Version numbers, largest first.
    Version(Reverse<Vec<u32>>),
    Date(Reverse<&'a str>),
}

/// Compares names alphabetically, then versions, then dates, the largest first; a prefix comes before a
/// longer id.
fn by_version(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(&pieces(b))
}

fn pieces(id: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = id.trim_start_matches(SEPARATORS);
    while let Some(first) = rest.chars().next() {
        let ends = |c: char| c.is_ascii_digit() != first.is_ascii_digit() || SEPARATORS.contains(&c);
        let (piece, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        rest = after.trim_start_matches(SEPARATORS);
        match (piece.parse(), pieces.last_mut()) {
            (Err(_), _) => pieces.push(Piece::Word(piece)),
            (Ok(_), _) if piece.len() > VERSION_DIGITS => pieces.push(Piece::Date(Reverse(piece))),
            (Ok(number), Some(Piece::Version(Reverse(numbers)))) => numbers.push(number),
            (Ok(number), _) => pieces.push(Piece::Version(Reverse(vec![number]))),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_come_first_and_providers_stay() {
        let mut rows = vec![
            "openai/gpt-4-0613", "openai/gpt-4.1", "openai/gpt-5.2-codex", "openai/gpt-5",
            "openai/gpt-5-mini", "openai/gpt-5.2", "openai/gpt-10", "anthropic/claude-3-5-haiku-20241022",
            "anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5",
            "anthropic/claude-sonnet-5-5", "anthropic/claude-opus-4-20250514", "anthropic/claude-opus-4-1",
        ];
        newest_first(&mut rows, |row| row);
        let expected = [
            "openai/gpt-10", "openai/gpt-5.2", "openai/gpt-5.2-codex", "openai/gpt-5", "openai/gpt-5-mini",
            "openai/gpt-4.1", "openai/gpt-4-0613", "anthropic/claude-opus-4-1",
            "anthropic/claude-opus-4-20250514", "anthropic/claude-sonnet-5-5", "anthropic/claude-sonnet-4-5",
            "anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-3-5-haiku-20241022",
        ];
        assert_eq!(rows, expected);
    }
}
