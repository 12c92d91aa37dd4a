//! The budget of one answer to the model, in lines, bytes and estimated tokens.
//!
//! Results over the budget are kept in full in a file. Bytes and tokens are one measure here, the *token
//! weight* of a text: never less than its bytes, and more where tokens are shorter than usual. A budget of N
//! bytes is therefore a budget of N/4 tokens. Each tool words its own note about a cut.

use super::paths;
use super::scratch::{Scratch, SpillFile};

/// The weight of a token: the bytes of a typical one.
pub const TOKEN: usize = 4;
/// The maximum number of bytes of full results that are kept.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes held in memory before a file is created.
const WAITING: usize = 256 * 1024;

/// The weight of a text against a budget in bytes. Tokenisers merge letters but hardly merge digits, and
/// spend one or two tokens per character of other scripts.
pub fn token_weight(text: &str) -> usize {
    text.chars().map(weight_of).sum()
}

fn weight_of(character: char) -> usize {
    match character {
        '0'..='9' => TOKEN / 2,
        _ => match character.len_utf8() {
            length @ (1 | 2) => length,
            3 => TOKEN,
            _ => 2 * TOKEN,
        },
    }
}

/// The first `most` characters of the text.
pub fn start_within_characters(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The first `most` characters of the text, without a word that would be cut: nothing recognises a part of a secret.
pub fn whole_words_within(text: &str, most: usize) -> &str {
    match start_within_characters(text, most) {
        start if start.len() < text.len() => start.rsplit_once(' ').map_or("", |(words, _)| words),
        start => start,
    }
}

/// The first `most` characters of the text, and an ellipsis if there are more.
pub fn shorten(text: &str, most: usize) -> String {
    match start_within_characters(text, most) {
        start if start.len() < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}

/// The length of the longest prefix of `text` that weighs at most `most`.
pub fn start_within(text: &str, most: usize) -> usize {
    within(text.char_indices().map(|(at, character)| (at + character.len_utf8(), character)), most)
        .unwrap_or(0)
}

/// The start of the longest suffix of `text` that weighs at most `most`.
pub fn end_within(text: &str, most: usize) -> usize {
    within(text.char_indices().rev(), most).unwrap_or(text.len())
}

fn within(characters: impl Iterator<Item = (usize, char)>, most: usize) -> Option<usize> {
    let mut sum = 0;
    let fitting = characters.take_while(|(_, character)| {
        sum += weight_of(*character);
        sum <= most
    });
    fitting.last().map(|(at, _)| at)
}

/// Collects results that may exceed one answer.
#[derive(Debug)]
pub(crate) struct FullResults<'a> {
    scratch: &'a Scratch,
    stem: &'static str,
    waiting: String,
    file: Option<SpillFile>,
    bytes: u64,
    trouble: Option<String>,
}

impl<'a> FullResults<'a> {
    /// Starts without results. A file is created once it is needed; its name begins with `stem`.
    pub fn new(scratch: &'a Scratch, stem: &'static str) -> Self {
        FullResults { scratch, stem, waiting: String::new(), file: None, bytes: 0, trouble: None }
    }

    /// Adds the next result.
    pub fn add(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        self.bytes += text.len() as u64;
        self.waiting.push_str(text);
        if self.waiting.len() >= WAITING {
            self.write();
        }
    }

    /// True once no more results are accepted.
    pub fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES || self.trouble.is_some()
    }

    fn write(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if self.file.is_none() {
            match self.scratch.create(self.stem) {
                Ok(file) => self.file = Some(file),
                Err(error) => return self.trouble = Some(paths::reason(&error)),
            }
        }
        if let Some(Err(error)) = self.file.as_mut().map(|file| file.append(waiting.as_bytes())) {
            self.trouble = Some(paths::reason(&error));
        }
    }

    /// Completes the file and returns part of a sentence that says where the full result is.
    pub fn finish(mut self) -> String {
        let full = self.is_full();
        self.write();
        let path = self.file.as_ref().map(|file| file.path().to_path_buf());
        match (path, self.trouble) {
            (Some(path), None) if full => {
                format!("the first {} MB found are in {}", MAX_BYTES >> 20, path.display())
            }
            (Some(path), None) => format!("the full list, unsorted, is in {}", path.display()),
            (Some(path), Some(trouble)) => format!("part of the list is in {}: {trouble}", path.display()),
            (None, trouble) => {
                format!("the full list could not be saved: {}", trouble.as_deref().unwrap_or("no space left"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_weighs_what_its_tokens_do() {
        let cases = [("", 0), ("words", 5), ("2024", 8), ("é", 2), ("漢字", 8), ("👍", 8), ("a\n", 2)];
        for (text, expected) in cases {
            assert_eq!(token_weight(text), expected, "{text}");
            assert!(token_weight(text) >= text.len(), "no text is lighter than its bytes");
        }
        assert_eq!((start_within("漢字x", 4), end_within("x漢字", 4)), (3, 4));
        assert_eq!((start_within("abc", 0), end_within("abc", 0)), (0, 3));
        assert_eq!((start_within("abc", 9), end_within("abc", 9)), (3, 0));
    }

    #[test]
    fn the_full_results_are_in_a_file() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(base.path()).unwrap();
        for lines in [1, 100_000] {
            let mut whole = FullResults::new(&scratch, "find");
            (0..lines).for_each(|n| whole.add(&format!("line {n}\n")));
            let said = whole.finish();
            let path = said.strip_prefix("the full list, unsorted, is in ").unwrap();
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.lines().count() == lines && text.ends_with(&format!("line {}\n", lines - 1)));
        }
        let small = Scratch::with_limit(base.path(), 10);
        let mut whole = FullResults::new(&small, "find");
        whole.add("more than ten bytes\n");
        assert!(whole.finish().starts_with("part of the list is in "));
        let mut whole = FullResults::new(&scratch, "find");
        whole.add(&"x".repeat(17 << 20));
        assert!(whole.is_full() && whole.finish().starts_with("the first 16 MB found are in "));
    }
}
