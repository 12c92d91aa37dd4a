//! Splits a template's text into plain text, commands and files.
//!
//! Commands are written `` !`git status` ``, files `@src/lib.rs`.
//!
//! They are found before arguments are filled in, so an argument never becomes a command.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    /// A command, without its marks: it is replaced by its output.
    Command(&'a str),
    /// A path, without its mark: it stays, and the file's content is appended at the end.
    File(&'a str),
}

/// Splits the text.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut blank) = (0, true);
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let found = if blank { command(rest).or_else(|| file(rest)) } else { None };
        match found {
            Some((part, length)) => {
                if let Some(before) = text.get(start..at).filter(|before| !before.is_empty()) {
                    parts.push(Part::Text(before));
                }
                parts.push(part);
                at += length;
                start = at;
                blank = false;
            }
            None => {
                // `${@:2}` is a placeholder.
                let is_placeholder = c == '{' && text.get(..at).is_some_and(|before| before.ends_with('$'));
                blank = c.is_whitespace() || "([{".contains(c) && !is_placeholder;
                at += c.len_utf8();
            }
        }
    }
    if let Some(last) = text.get(start..).filter(|last| !last.is_empty()) {
        parts.push(Part::Text(last));
    }
    parts
}

/// A command at the beginning of the text, and its length in bytes with its marks.
fn command(text: &str) -> Option<(Part<'_>, usize)> {
    let (command, _) = text.strip_prefix("!`")?.split_once('`')?;
    let length = command.len() + 3;
    (!command.trim().is_empty()).then_some((Part::Command(command), length))
}

/// A path at the beginning of the text. Punctuation at its end belongs to the sentence.
fn file(text: &str) -> Option<(Part<'_>, usize)> {
    let rest = text.strip_prefix('@')?;
    let ends = |c: char| c.is_whitespace() || "`'\"()[]<>,;".contains(c);
    let word = rest.split(ends).next().unwrap_or_default().trim_end_matches(['.', ':', '!', '?']);
    (!word.is_empty()).then_some((Part::File(word), word.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};

    #[test]
    fn commands_and_files_are_found() {
        use Part::{Command, File, Text};
        assert_eq!(
            parts("!`git diff`\nSee @src/lib.rs, and (@$1). a@b.c x!`no` !`` !`open @"),
            [
                Command("git diff"),
                Text("\nSee "),
                File("src/lib.rs"),
                Text(", and ("),
                File("$1"),
                Text("). a@b.c x!`no` !`` !`open @"),
            ]
        );
        assert_eq!(parts(""), []);
        assert_eq!(parts("Fix ${@:2} ${@:-all}"), [Text("Fix ${@:2} ${@:-all}")]);
        assert_eq!(parts("- @ü/ä.md!"), [Text("- "), File("ü/ä.md"), Text("!")]);
    }
}
