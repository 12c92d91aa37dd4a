//! Parses unified diffs of `diff -u` and git into changes of files.

use tau_tools::{FileDiff, Hunk};

/// The maximum number of hunk lines that are kept.
const MAX_LINES: usize = 2_000;
/// The maximum length of a line that is kept, in characters.
const MAX_LINE_LEN: usize = 2_000;
/// Git's name for a file that does not exist.
const NO_FILE: &str = "/dev/null";

/// The changes in a text; empty if it is not a diff, or a damaged one.
pub(super) fn parse(text: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut kept = 0_usize;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ")
            && let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ "))
        {
            let (old, new) = (path(old), path(new));
            let path = if new == NO_FILE { old } else { new };
            files.push(FileDiff { path, ..FileDiff::default() });
            lines.next();
            continue;
        }
        let Some(head) = line.strip_prefix("@@ ") else { continue };
        let (Some((old, new)), Some(file)) = (ranges(head), files.last_mut()) else { return Vec::new() };
        let mut hunk = Hunk { old_start: old.0, new_start: new.0, lines: Vec::new() };
        let (mut old_left, mut new_left) = (old.1, new.1);
        while old_left > 0 || new_left > 0 {
            let Some(line) = lines.next() else { return Vec::new() };
            let sign = line.chars().next().unwrap_or(' ');
            match sign {
                ' ' => {
                    (old_left, new_left) = (old_left.saturating_sub(1), new_left.saturating_sub(1));
                }
                '-' => {
                    old_left = old_left.saturating_sub(1);
                    file.removed = file.removed.saturating_add(1);
                }
                '+' => {
                    new_left = new_left.saturating_sub(1);
                    file.added = file.added.saturating_add(1);
                }
                // The last line has no line break.
                '\\' => continue,
                _ => return Vec::new(),
            }
            kept += 1;
            if kept <= MAX_LINES {
                let line: String = line.chars().take(MAX_LINE_LEN).collect();
                hunk.lines.push(if line.is_empty() { " ".to_owned() } else { line });
            } else {
                file.cut = true;
            }
        }
        if !hunk.lines.is_empty() {
            file.hunks.push(hunk);
        }
    }
    files.retain(|file| !file.hunks.is_empty());
    files
}

/// The path in a header line, without the time that diff writes and the folders that git adds.
fn path(text: &str) -> String {
    let path = text.split('\t').next().unwrap_or_default().trim_end();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    path.to_owned()
}

/// The first lines and line counts in `-1,2 +3,4 @@`.
fn ranges(head: &str) -> Option<((u32, u32), (u32, u32))> {
    let mut words = head.split(' ');
    let range = |word: Option<&str>, sign: char| {
        let word = word?.strip_prefix(sign)?;
        match word.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((word.parse().ok()?, 1)),
        }
    };
    Some((range(words.next(), '-')?, range(words.next(), '+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_of_git_and_of_diff_are_read() {
        let git = "diff --git a/src/x.rs b/src/x.rs\nindex 1..2 100644\n--- a/src/x.rs\n+++ b/src/x.rs\n\
                   @@ -1,3 +1,3 @@ fn main() {\n one\n-two\n+deux\n three\n\\ No newline at end of file\n\
                   @@ -9 +9,2 @@\n-nine\n+neuf\n+dix\n";
        let files = parse(git);
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].path.as_str(), files[0].added, files[0].removed), ("src/x.rs", 3, 2));
        assert_eq!(files[0].hunks[0].lines, [" one", "-two", "+deux", " three"]);
        assert_eq!((files[0].hunks[1].old_start, files[0].hunks[1].new_start), (9, 9));
        let plain =
            "--- old.txt\t2026-01-01 00:00:00\n+++ /dev/null\t1970-01-01\n@@ -1,2 +0,0 @@\n-a\n--- b\n";
        let files = parse(plain);
        assert_eq!((files[0].path.as_str(), files[0].removed), ("old.txt", 2));
        let two = format!("{git}--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(parse(&two).len(), 2);
    }

    #[test]
    fn what_is_no_diff_is_none() {
        for text in [
            "",
            "hello",
            "--- a\n+++ b\n",
            "@@ -1 +1 @@\n-a\n+b\n",
            "--- a\n+++ b\n@@ -1,9 +1,9 @@\n a\n",
            "--- a\n+++ b\n@@ -1 +1 @@\nx\n",
            "--- a\n+++ b\n@@ -99999999999 +1 @@\n-a\n+b\n",
        ] {
            assert_eq!(parse(text), [], "{text}");
        }
        let long: String = (0..5_000).map(|n| format!("+{n}\n")).collect();
        let file = parse(&format!("--- a\n+++ b\n@@ -0,0 +1,5000 @@\n{long}")).remove(0);
        assert!(file.cut && file.added == 5_000 && file.hunks[0].lines.len() == MAX_LINES);
        let claims = parse("--- a\n+++ b\n@@ -0,0 +1,4294967295 @@\n+a\n");
        assert_eq!(claims, []);
    }
}
