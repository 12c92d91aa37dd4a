//! A command with the parts marked that caused the question.

use std::ops::Range;

use crate::printable::{Printable, decision_text};

/// Text that may be drawn, with its marked parts.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedText {
    pub text: Printable,
    /// Byte ranges of the text, from left to right, without overlap.
    pub marks: Vec<Range<usize>>,
    /// Their ranges in the order of the spans, the most important first; they may overlap.
    pub ranked: Vec<Range<usize>>,
}

impl MarkedText {
    /// A command and the spans of it to mark, in bytes of the command. A span that ends within a character is
    /// widened; one beyond the end is cut.
    pub fn new(command: &str, spans: impl Iterator<Item = (usize, usize)>) -> Self {
        let text = decision_text(command);
        let drawn = |(from, to): (usize, usize)| {
            let (from, to) = (floor(command, from), ceiling(command, to));
            floor(&text, printable_len(command, from))..ceiling(&text, printable_len(command, to))
        };
        let ranked: Vec<Range<usize>> =
            spans.filter(|(from, to)| from < to).map(drawn).filter(|range| !range.is_empty()).collect();
        let mut sorted = ranked.clone();
        sorted.sort_unstable_by_key(|range| (range.start, range.end));
        let mut marks: Vec<Range<usize>> = Vec::new();
        for range in sorted {
            match marks.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => marks.push(range),
            }
        }
        MarkedText { text, marks, ranked }
    }
}

/// The number of drawn bytes for the first `at` bytes of the command.
fn printable_len(command: &str, at: usize) -> usize {
    decision_text(command.get(..at).unwrap_or(command)).len()
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceiling(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked_parts(command: &str, spans: &[(usize, usize)]) -> Vec<String> {
        let found = MarkedText::new(command, spans.iter().copied());
        found.marks.iter().map(|mark| found.text.get(mark.clone()).unwrap().to_owned()).collect()
    }

    #[test]
    fn the_marked_part_is_found_again_in_what_is_drawn() {
        assert_eq!(marked_parts("cd /tmp && rm -rf x", &[(11, 19)]), ["rm -rf x"]);
        assert_eq!(marked_parts("echo \u{1b}[31m && rm x\r\nls", &[(14, 18)]), ["rm x"]);
        assert_eq!(marked_parts("\u{202e}rm x; ls", &[(3, 7)]), ["rm x"], "what is spelled is longer");
        assert_eq!(
            marked_parts("ls\u{200b}; rm x", &[(7, 11)]),
            ["rm x"],
            "and so it is where it is invisible"
        );
        let blanks = " ".repeat(100);
        assert_eq!(marked_parts(&format!("ls{blanks}; rm x"), &[(103, 108)]), [" rm x"], "or folded");
        assert_eq!(
            marked_parts(&format!("ls{blanks}; rm x"), &[(52, 108)]).concat().matches("rm x").count(),
            1
        );
        assert_eq!(marked_parts("a b c", &[(4, 5), (0, 1), (0, 3)]), ["a b", "c"], "in order, joined");
        assert_eq!(marked_parts("한국", &[(1, 2), (9, 99)]), ["한"], "never within a character");
        assert_eq!(marked_parts("", &[(0, 5)]), Vec::<String>::new());
    }
}
