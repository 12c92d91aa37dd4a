//! Scans a bounded number of bytes of a text around a position.

/// A stretch of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'t> {
    pub(super) text: &'t str,
}

impl<'t> Run<'t> {
    /// The bytes from `at` on for which `holds` is true, at most `most`.
    pub(super) fn forward(text: &'t str, at: usize, most: usize, holds: impl Fn(u8) -> bool) -> Self {
        let bytes = text.as_bytes().get(at..).unwrap_or_default();
        let length = bytes.iter().take(most).take_while(|byte| holds(**byte)).count();
        let end = text.floor_char_boundary(at + length).max(at);
        Run { text: text.get(at..end).unwrap_or_default() }
    }

    /// The bytes directly before `at` for which `holds` is true, at most `most`.
    pub(super) fn backward(text: &'t str, at: usize, most: usize, holds: impl Fn(u8) -> bool) -> Self {
        let bytes = text.as_bytes().get(..at).unwrap_or_default();
        let length = bytes.iter().rev().take(most).take_while(|byte| holds(**byte)).count();
        let start = text.ceil_char_boundary(at - length).min(at);
        Run { text: text.get(start..at).unwrap_or_default() }
    }
}

/// The byte before `at`.
pub(super) fn before(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at.checked_sub(1)?).copied()
}

/// True if a word can begin at `at`: letters before it must belong to an escape, as in `\nghp_…` and
/// `%3Dghp_…`.
pub(super) fn begins_word(text: &str, at: usize) -> bool {
    let back = |steps: usize| at.checked_sub(steps).and_then(|at| text.as_bytes().get(at)).copied();
    let hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
    match back(1) {
        Some(last) if last.is_ascii_alphanumeric() => {
            (matches!(last, b'n' | b't' | b'r') && back(2) == Some(b'\\'))
                || (hex(Some(last)) && hex(back(2)) && back(3) == Some(b'%'))
        }
        _ => true,
    }
}

/// The longest line whose start is examined, in bytes.
const LINE: usize = 400;

/// The line up to `at`; `None` if its start is too far away.
pub(super) fn line_before(text: &str, at: usize) -> Option<&str> {
    let run = Run::backward(text, at, LINE, |byte| byte != b'\n');
    (run.text.len() < LINE - 4).then_some(run.text)
}

/// The length, in bytes, of the prefix that `read`, `grep` and `git diff` put before a line: a number, a
/// path with a number, a mark.
pub(super) fn prefix_length(line: &str) -> usize {
    line_number_prefix(line).or_else(|| search_hit_prefix(line)).unwrap_or(0)
}

/// `     1  text`, as `read` numbers lines, or with a tab, as `cat -n` does.
fn line_number_prefix(line: &str) -> Option<usize> {
    let digits = line.trim_start_matches(' ');
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let many = digits.len() - rest.len();
    let after = rest.strip_prefix("  ").or_else(|| rest.strip_prefix('\t'))?;
    ((1..=9).contains(&many) && line.len() - rest.len() >= 6).then(|| line.len() - after.len())
}

/// `path:12:text`, or `path-12-text` for a line of context.
fn search_hit_prefix(line: &str) -> Option<usize> {
    let number = |mark: char| {
        line.match_indices(mark).take(8).find_map(|(at, _)| {
            let rest = line.get(at + 1..)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let path =
                line.get(..at).is_some_and(|path| !path.is_empty() && !path.contains(char::is_whitespace));
            (path && (1..=7).contains(&digits) && rest.get(digits..)?.starts_with(mark))
                .then_some(at + 1 + digits + 1)
        })
    };
    number(':').or_else(|| number('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_front_of_a_line_is_known() {
        let check = |line: &str, expected: &str| {
            assert_eq!(line.get(prefix_length(line)..), Some(expected), "{line}");
        };
        check("     1  MIIE", "MIIE");
        check("123456\tMIIE", "MIIE");
        check("a/b-1/c.pem:12:MIIE", "MIIE");
        check("a.pem-12-MIIE", "MIIE");
        check("12  MIIE", "12  MIIE");
        check("see this:12:30", "see this:12:30");
    }

    #[test]
    fn words_begin_after_escapes() {
        assert!(begins_word("\\nghp", 2) && begins_word("a%3Dghp", 4) && begins_word("-ghp", 1));
        assert!(!begins_word("nghp", 1) && !begins_word("a3Dghp", 3));
    }
}
