//! Thinking that arrives as text: `<think>…</think>` at the start of an answer.
//!
//! Servers that do not separate a model's thinking from its answer send both as text, sometimes in several pairs
//! of tags, sometimes without the opening tag, which was in their prompt. Pure: text in, pieces out, the same for
//! every split. A tag in code is text, and so is an opening one further on.

/// The opening tags; each is closed by the first closing tag of any kind.
const OPENING: [&str; 2] = ["<think>", "<thinking>"];
const CLOSING: [&str; 2] = ["</think>", "</thinking>"];

/// The start of a line that begins or ends a block of code.
const FENCE: &str = "```";

/// Separates the thinking of two pairs of tags.
const BETWEEN: &str = "\n\n";

/// A piece of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Thinking(String),
    Text(String),
}

/// The position in the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Only blanks and the beginning of a tag have arrived.
    #[default]
    Start,
    /// Only blanks have arrived after the opening tag.
    Opened,
    Thinking,
    /// Only blanks and the beginning of a tag have arrived after the closing tag.
    Closed,
    Text,
}

/// Separates the thinking at the start of an answer from its text.
#[derive(Debug, Default)]
pub(super) struct InlineThinking {
    place: Place,
    /// A possible beginning of a tag, and blanks that may be dropped.
    held: String,
    /// The size of the blanks at the start of it, in bytes.
    blanks: usize,
    code: Code,
    has_thought: bool,
}

/// Tracks whether text is inside of code.
#[derive(Debug, Default)]
struct Code {
    /// Inside a fenced block.
    fenced: bool,
    /// The start of the current line, without blanks: as much as a fence takes.
    line: String,
    /// Between backticks on this line.
    inline: bool,
}

impl Code {
    fn take(&mut self, c: char) {
        if c == '\n' {
            self.fenced ^= self.line == FENCE;
            self.line.clear();
            self.inline = false;
            return;
        }
        if self.line.len() < FENCE.len() && !(self.line.is_empty() && c.is_whitespace()) {
            self.line.push(c);
        }
        self.inline ^= c == '`';
    }

    fn is_in(&self) -> bool {
        self.fenced || self.inline || self.line == FENCE
    }
}

impl InlineThinking {
    /// Handles the next text.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        if self.place == Place::Text {
            return vec![Piece::Text(text.to_owned())];
        }
        let mut pieces = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match self.place {
                Place::Start => self.start(c, &mut pieces),
                Place::Opened | Place::Thinking => self.think(c, &mut pieces),
                Place::Closed if c.is_whitespace() && self.held.is_empty() => {}
                Place::Closed => self.start(c, &mut pieces),
                Place::Text => {
                    add(&mut pieces, Piece::Text(format!("{c}{}", rest.as_str())));
                    break;
                }
            }
        }
        pieces
    }

    /// Ends the text and returns the rest that was held back.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Start | Place::Closed | Place::Text if !held.is_empty() => Some(Piece::Text(held)),
            Place::Thinking if !held.is_empty() => Some(Piece::Thinking(held)),
            _ => None,
        }
    }

    fn start(&mut self, c: char, pieces: &mut Vec<Piece>) {
        self.held.push(c);
        if c.is_whitespace() && self.blanks + c.len_utf8() == self.held.len() {
            self.blanks = self.held.len();
            return;
        }
        let tag = self.held.get(self.blanks..).unwrap_or_default();
        if is_one_of(&OPENING, tag) {
            self.place = Place::Opened;
            self.held.clear();
            self.blanks = 0;
            self.code = Code::default();
        } else if !begins_one_of(&OPENING, tag) {
            self.place = Place::Text;
            add(pieces, Piece::Text(std::mem::take(&mut self.held)));
        }
    }

    fn think(&mut self, c: char, pieces: &mut Vec<Piece>) {
        if self.held.is_empty() {
            if self.place == Place::Opened && c.is_whitespace() {
                return;
            }
            if c == '<' && !self.code.is_in() {
                self.held.push(c);
                return;
            }
        } else {
            self.held.push(c);
            if is_one_of(&CLOSING, &self.held) {
                self.held.clear();
                self.place = Place::Closed;
                return;
            }
            if begins_one_of(&CLOSING, &self.held) {
                return;
            }
            let held = std::mem::take(&mut self.held);
            // It was not a tag; the last character may begin one.
            let (first, again) = held.split_at(held.len() - c.len_utf8());
            self.keep(first, pieces);
            return match again {
                "<" if !self.code.is_in() => self.held.push('<'),
                again => self.keep(again, pieces),
            };
        }
        let mut buffer = [0; 4];
        self.keep(c.encode_utf8(&mut buffer), pieces);
    }

    fn keep(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        text.chars().for_each(|c| self.code.take(c));
        if std::mem::replace(&mut self.place, Place::Thinking) == Place::Opened
            && std::mem::replace(&mut self.has_thought, true)
        {
            add(pieces, Piece::Thinking(BETWEEN.to_owned()));
        }
        add(pieces, Piece::Thinking(text.to_owned()));
    }
}

/// The thinking and the text of an answer that has only the closing tag. Its beginning was taken for text, so
/// this can be told only once the tag has arrived.
pub(super) fn without_opening(answer: &str) -> Option<(&str, &str)> {
    memchr::memmem::find(answer.as_bytes(), b"</")?;
    let mut code = Code::default();
    for (at, c) in answer.char_indices() {
        let rest = answer.get(at..)?;
        let is_tag = |tag: &&&str| rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
        if c == '<' && !code.is_in() {
            if OPENING.iter().any(|tag| is_tag(&tag)) {
                return None;
            }
            if let Some(tag) = CLOSING.iter().find(is_tag) {
                return Some((answer.get(..at)?.trim_start(), rest.get(tag.len()..)?.trim_start()));
            }
        }
        code.take(c);
    }
    None
}

fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Thinking(text)), Piece::Thinking(more))
        | (Some(Piece::Text(text)), Piece::Text(more)) => {
            text.push_str(&more);
        }
        (_, piece) => pieces.push(piece),
    }
}

fn is_one_of(tags: &[&str], text: &str) -> bool {
    tags.iter().any(|tag| tag.eq_ignore_ascii_case(text))
}

fn begins_one_of(tags: &[&str], text: &str) -> bool {
    tags.iter().any(|tag| tag.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thinking and the text of an answer that arrives in these pieces.
    fn split_pieces<'a>(pieces: impl Iterator<Item = &'a str>) -> (String, String) {
        let mut parts = InlineThinking::default();
        let (mut thinking, mut text) = (String::new(), String::new());
        let mut all: Vec<Piece> = pieces.flat_map(|piece| parts.push(piece)).collect();
        all.extend(parts.finish());
        for piece in all {
            match piece {
                Piece::Thinking(more) => thinking.push_str(&more),
                Piece::Text(more) => text.push_str(&more),
            }
        }
        (thinking, text)
    }

    #[test]
    fn thinking_is_parted_however_it_is_cut() {
        let cases = [
            ("<think>quiet</think>Loud.", "quiet", "Loud."),
            ("\n<think>\nquiet\n</think>\n\nLoud.\n", "quiet\n", "Loud.\n"),
            ("<thinking>a < b <</thinking> c", "a < b <", "c"),
            ("<THINK>a</Think>b", "a", "b"),
            ("<think>never closed</thin", "never closed</thin", ""),
            ("<think>a</thinking>b", "a", "b"),
            ("<think>\n\n</think>\n\nb", "", "b"),
            ("<think></think>", "", ""),
            ("<think>a</think>\n\n<think>\nb\n</think>\n\nc", "a\n\nb\n", "c"),
            ("<think></think><thinking>b</thinking><think>c</think>", "b\n\nc", ""),
            ("<think>a</think>\n<thin", "a", "<thin"),
            ("<think>a</think>\n<b>", "a", "<b>"),
            ("<think>a`</think> <think>b</think>c", "a`</think> <think>b</think>c", ""),
            ("<thinker>", "", "<thinker>"),
            ("<thin", "", "<thin"),
            ("  plain", "", "  plain"),
            ("see <think>a</think>", "", "see <think>a</think>"),
            ("`<think>` is a tag", "", "`<think>` is a tag"),
            ("```\n<think>a</think>\n```", "", "```\n<think>a</think>\n```"),
            (
                "<think>say `</think>` or\n```\n</think>\n```\nso</think>é</think>",
                "say `</think>` or\n```\n</think>\n```\nso",
                "é</think>",
            ),
            ("<think>it's a ` tick\n</think>b", "it's a ` tick\n", "b"),
        ];
        for (answer, thinking, text) in cases {
            let expected = (thinking.to_owned(), text.to_owned());
            assert_eq!(split_pieces([answer].into_iter()), expected, "{answer:?}");
            assert_eq!(split_pieces(answer.split_inclusive(|_| true)), expected, "{answer:?}");
            for (at, _) in answer.char_indices() {
                let (first, second) = answer.split_at(at);
                assert_eq!(split_pieces([first, second].into_iter()), expected, "{answer:?} cut at {at}");
            }
        }
    }

    /// Work per character is bounded, whatever has come before.
    #[test]
    fn blanks_and_code_are_read_once() {
        let size = 300_000;
        let started = std::time::Instant::now();
        let blanks = " ".repeat(size);
        assert_eq!(split_pieces(blanks.chars().map(|_| " ")), (String::new(), blanks.clone()));
        let line = format!("<think>x\n{blanks}{}", "<".repeat(size));
        assert_eq!(split_pieces([line.as_str()].into_iter()).0.len(), line.len() - "<think>".len());
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }

    #[test]
    fn thinking_without_an_opening_tag_is_found() {
        for (answer, expected) in [
            ("quiet</think>Loud.", Some(("quiet", "Loud."))),
            ("\nquiet\n</think>\n\nLoud.", Some(("quiet\n", "Loud."))),
            ("a</think>b</think>c", Some(("a", "b</think>c"))),
            ("</think>\nLoud.", Some(("", "Loud."))),
            ("It ends with `</think>`.", None),
            ("```\na</think>\n```\nb", None),
            ("First <think>a</think> b", None),
            ("plain", None),
        ] {
            assert_eq!(without_opening(answer), expected, "{answer:?}");
        }
    }
}
