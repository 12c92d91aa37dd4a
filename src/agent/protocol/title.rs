//! The default title of a session: the start of its first message. No model is asked.

/// The maximum number of characters in a title.
const MAX_LEN: usize = 60;
/// A shorter sentence is not a title by itself ("Hi.", "e.g.").
const SENTENCE: usize = 10;

/// The title for a user message: its first sentence, in at most 60 characters. `None` if it has no text.
pub fn of(message: &str) -> Option<String> {
    let line = opening(message)?;
    let words = line.trim_start_matches(|c: char| c.is_whitespace() || "#>*-+`".contains(c));
    let words = if words.is_empty() { line } else { words };
    let sentence = first_sentence(words).trim_end_matches(['.', ':', '。', ' ']);
    let sentence = if sentence.is_empty() { words } else { sentence };
    Some(shorten(&sentence.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// The paths of the files that pi has put before a message, each in a `<file name="…">`, and the words.
pub fn files_and_words(message: &str) -> (Vec<&str>, &str) {
    let (mut files, mut rest) = (Vec::new(), message);
    while let Some((path, inside)) =
        rest.trim_start().strip_prefix("<file name=\"").and_then(|rest| rest.split_once("\">"))
    {
        let Some((_, after)) = inside.split_once("</file>") else { break };
        files.push(path);
        rest = after.trim_start_matches(['\n', '\r']);
    }
    (files, rest)
}

/// The opening line of a message: the first that is not blank, not part of a file or block, and not
/// the path above it. For a message that consists only of blocks, the first line; of files, the first path.
pub fn opening(message: &str) -> Option<&str> {
    let (files, words) = files_and_words(message);
    if let (Some(first), true) = (files.first(), words.trim().is_empty()) {
        return Some(*first);
    }
    let message = words;
    let mut fence: Option<&str> = None;
    let mut lines = message.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let ticks = line.get(..line.len() - line.trim_start_matches('`').len()).unwrap_or_default();
        match fence {
            Some(open) if ticks.len() >= open.len() && ticks.len() == line.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None if line.is_empty() => {}
            None if line.ends_with(':') && lines.peek().is_some_and(|next| next.starts_with("```")) => {}
            None => return Some(line),
        }
    }
    message.lines().map(str::trim).find(|line| !line.is_empty())
}

/// The text up to the first mark that ends a sentence.
fn first_sentence(line: &str) -> &str {
    let mut chars = line.char_indices().enumerate().peekable();
    while let Some((count, (at, c))) = chars.next() {
        let next = chars.peek().map(|(_, (_, next))| *next);
        let ends = match c {
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends && count + 1 >= SENTENCE {
            return line.get(..at + c.len_utf8()).unwrap_or(line);
        }
    }
    line
}

/// The text cut after a word if possible, with an ellipsis.
fn shorten(text: &str) -> String {
    if text.chars().count() <= MAX_LEN {
        return text.to_owned();
    }
    let end = text.char_indices().nth(MAX_LEN - 1).map_or(text.len(), |(at, _)| at);
    let cut = text.get(..end).unwrap_or(text);
    let word =
        cut.rfind(' ').filter(|at| cut.get(..*at).is_some_and(|kept| kept.chars().count() >= MAX_LEN / 2));
    format!("{}…", cut.get(..word.unwrap_or(end)).unwrap_or(cut).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence() {
        for (message, title) in [
            ("Fix the failing test in parser.rs. Then commit.", "Fix the failing test in parser.rs"),
            ("  \n# Plan\nmore", "Plan"),
            ("Why does `a.b` fail? It should not.", "Why does `a.b` fail?"),
            ("e.g. this one", "e.g. this one"),
            (
                "Hi. Look at the build of version 1.2.3 please",
                "Hi. Look at the build of version 1.2.3 please",
            ),
            ("src/a.rs:\n```\nfn a() {}\n```\n\nexplain   this\tfile:", "explain this file"),
            ("````\n```\n````\nafter", "after"),
            ("<file name=\"/a.rs\">\nfn a() {}\n\n</file>\nexplain this", "explain this"),
            ("<file name=\"/a.png\"></file>\n<file name=\"/b.png\"></file> compare them", "compare them"),
            ("<file name=\"/a.rs\">\nfn a() {}\n</file>\n", "/a.rs"),
            ("<file name=\"/a.rs\">\nno end", "<file name=\"/a.rs\">"),
            ("```\nonly code\n```", "```"),
            ("テストが失敗するので直してください。それから", "テストが失敗するので直してください"),
            ("...", "..."),
        ] {
            let expected = if title == "```" { Some("```".to_owned()) } else { Some(title.to_owned()) };
            assert_eq!(of(message), expected, "{message:?}");
        }
        assert_eq!(of(" \n\t"), None);
    }

    #[test]
    fn a_title_is_short_and_ends_with_a_word() {
        let long = "please look at every single file in this large repository and rename the variable";
        let title = of(long).unwrap();
        assert_eq!(title, "please look at every single file in this large repository…");
        let title = of(&"é".repeat(200)).unwrap();
        assert_eq!((title.chars().count(), title.ends_with('…')), (60, true));
        for end in 0..=70 {
            let cut: String = long.chars().take(end).collect();
            assert!(of(&cut).is_none_or(|title| title.chars().count() <= 60));
        }
    }
}
