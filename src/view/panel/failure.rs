//! The visible part of a failed command's folded output: the lines that say what failed, and the end.

use std::ops::Range;

use tau_app::ansi::AnsiLine;

/// The number of lines shown of a failed command, if it has that many.
pub(super) const FAILED_LINES: usize = 15;
/// The number of these lines that are taken from the end.
const END_LINES: usize = 4;
/// The maximum number of lines of a paragraph shown before the line that says what failed.
const LINES_BEFORE: usize = 4;

/// Words that name a failure, at the start of a word.
const FAILURES: [&str; 12] = [
    "assert", "panicked", "fatal", "traceback", "segmentation fault", "undefined reference",
    "command not found", "no such file", "permission denied", "expected", "cannot ", "not ok",
];
/// Word endings that name a failure: `TypeError: x`.
const KINDS: [&str; 4] = ["error", "exception", "err!", "failure"];
/// Starts of lines that report success or a warning.
const HARMLESS: [&str; 10] = ["ok ", "pass", "✓", "✔", "warning", "warn", "info", "debug", "note", "help"];

/// The indices of the lines without leading and trailing blank ones, and with runs of blank lines reduced to
/// one.
pub(super) fn squeeze_blank_lines(lines: &[AnsiLine]) -> Vec<usize> {
    let is_blank = |index: usize| lines.get(index).is_none_or(|line| text(line).trim().is_empty());
    let mut kept: Vec<usize> = Vec::new();
    for index in 0..lines.len() {
        if !is_blank(index) || kept.last().is_some_and(|last| !is_blank(*last)) {
            kept.push(index);
        }
    }
    if kept.last().is_some_and(|last| is_blank(*last)) {
        kept.pop();
    }
    kept
}

/// The ranges of lines to show, in order: all, or about `most` of them. Gaps between them are larger
/// than `slack`.
pub(super) fn visible_ranges(lines: &[&AnsiLine], most: usize, slack: usize) -> Vec<Range<usize>> {
    let all = lines.len();
    if all <= most + slack {
        return Vec::from([Range { start: 0, end: all }]);
    }
    let texts: Vec<String> = lines.iter().map(|line| text(line)).collect();
    let end = all - END_LINES;
    let first = texts.iter().position(|line| names_failure(line));
    let Some(first) =
        first.or_else(|| texts.iter().position(|line| says_failed(line))).filter(|at| *at < end)
    else {
        return Vec::from([Range { start: all - most, end: all }]);
    };
    let paragraph =
        texts.iter().take(first).rev().take(LINES_BEFORE).take_while(|line| !line.trim().is_empty());
    let mut start = (first - paragraph.count()).min(all - most);
    if start <= slack {
        start = 0;
    }
    let until = start.max(first.saturating_sub(LINES_BEFORE)) + most - END_LINES;
    if until + slack >= end {
        return Vec::from([Range { start, end: all }]);
    }
    Vec::from([Range { start, end: until }, Range { start: end, end: all }])
}

fn text(line: &AnsiLine) -> String {
    line.iter().map(|run| run.text.as_str()).collect()
}

/// True if a line says what is wrong.
fn names_failure(line: &str) -> bool {
    let line = line.trim_start().to_lowercase();
    if is_harmless(&line) {
        return false;
    }
    // pytest marks the lines of an error this way.
    if line.starts_with("e   ") {
        return true;
    }
    let ends = |end: usize, more: &[char]| {
        let rest = line.get(end..).unwrap_or_default();
        let next = rest.chars().next();
        let is_name = rest.starts_with('.') && rest.chars().nth(1).is_some_and(char::is_alphanumeric);
        next.is_none_or(|next| !next.is_alphanumeric() && !more.contains(&next)) && !is_name
    };
    let starts = |start: usize| {
        let before = line.get(..start).and_then(|before| before.chars().next_back());
        before.is_none_or(|before| !before.is_alphanumeric() && !['_', '-', '/'].contains(&before))
    };
    let is_counted = |start: usize| {
        let before = line.get(..start).unwrap_or_default().trim_end();
        before.ends_with(|c: char| c.is_ascii_digit()) || before.ends_with("no")
    };
    FAILURES.iter().any(|word| line.match_indices(word).any(|(at, _)| starts(at)))
        || KINDS.iter().any(|word| {
            let mut found = line.match_indices(word);
            found.any(|(at, _)| {
                let whole = starts(at) && !is_counted(at) && ends(at + word.len(), &['_', '-', '/', 's']);
                // The end of a name: `ValueError: x`.
                whole || !starts(at) && line.get(at + word.len()..).is_some_and(|rest| rest.starts_with(": "))
            })
        })
}

/// True if a line says that something failed.
fn says_failed(line: &str) -> bool {
    let line = line.trim_start().to_lowercase();
    !is_harmless(&line)
        && ["fail", "✗", "✕", "●", "× "].iter().any(|word| line.contains(word))
        && !line.match_indices("0 failed").any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            !before.ends_with(|c: char| c.is_ascii_digit())
        })
}

fn is_harmless(line: &str) -> bool {
    HARMLESS.iter().any(|start| line.starts_with(start)) || line.ends_with(" ok") || line.ends_with(" passed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_app::ansi;

    /// The visible lines of an output, with `…` for gaps.
    fn excerpt(output: &str) -> Vec<String> {
        let lines = ansi::lines(output);
        let kept: Vec<&AnsiLine> =
            squeeze_blank_lines(&lines).into_iter().map(|index| &lines[index]).collect();
        let mut shown_lines = Vec::new();
        let mut next = 0;
        for range in visible_ranges(&kept, FAILED_LINES, 4) {
            if range.start > next {
                shown_lines.push("…".to_owned());
            }
            next = range.end;
            shown_lines.extend(kept[range].iter().map(|line| text(line)));
        }
        shown_lines
    }

    #[test]
    fn the_line_that_says_what_failed_is_shown_for_every_kind_of_program() {
        let noise = |count: usize, line: &str| format!("{line}\n").repeat(count);
        let unittest = "FAIL: test_add (t.T)\n------\nTraceback (most recent call last):\n  File \"t.py\", line 7, in \
            test_add\n    self.assertEqual(add(1, 2), 4)\nAssertionError: 3 != 4\n\n";
        let pytest = format!(
            "=== FAILURES ===\n___ test_add ___\n\n    def test_add():\n{}>       check(3)\nE       AssertionError\n\nt.py:5\n",
            noise(30, "        step()")
        );
        for (output, shown) in [
            (
                format!(
                    "{}{}Ran 4 tests in 0.1s\n\nFAILED (failures=4)\n",
                    noise(3, "."),
                    unittest.repeat(4)
                ),
                "AssertionError: 3 != 4",
            ),
            (
                format!("{}{pytest}{}1 failed\n", noise(20, "t.py ...."), noise(20, "-- docs")),
                "E       AssertionError",
            ),
            (
                format!(
                    "{}\nthread 'b' panicked at src/lib.rs:7:9:\nleft: 3\nright: 4\n{}error: test failed\n",
                    noise(40, "test parse_error ... ok"),
                    noise(20, "note: x")
                ),
                "thread 'b' panicked at src/lib.rs:7:9:",
            ),
            (
                format!(
                    "{}a.c:3:5: error: expected ';'\n{}make: *** [a.o] Error 1\n",
                    noise(30, "cc -Werror -c a.c"),
                    noise(20, "  ^~~")
                ),
                "a.c:3:5: error: expected ';'",
            ),
            (
                format!(
                    "{}src/a.ts(3,5): error TS2322: no\n{}Found 9 errors.\n",
                    noise(30, "Building"),
                    noise(20, "  x: y")
                ),
                "src/a.ts(3,5): error TS2322: no",
            ),
            (
                format!(
                    "{}--- FAIL: TestAdd (0.00s)\n    t.go:8: got 3; want 4\n{}FAIL\n",
                    noise(30, "=== RUN   TestX"),
                    noise(20, "--- PASS: x")
                ),
                "    t.go:8: got 3; want 4",
            ),
            (noise(30, "b: 0 failed") + "a: 10 failed\n" + &noise(20, "log"), "a: 10 failed"),
            (
                format!("{}npm ERR! missing script\n{}", noise(30, "npm http fetch"), noise(20, "npm log")),
                "npm ERR! missing script",
            ),
            (
                format!(
                    "{}{}sh: line 9: foo: command not found\n{}",
                    noise(30, "   Compiling quick-error v2.0.1"),
                    noise(2, "0 errors, no errors"),
                    noise(20, "+ set")
                ),
                "sh: line 9: foo: command not found",
            ),
        ] {
            let excerpt = excerpt(&output);
            assert!(excerpt.iter().any(|line| line == shown), "{shown} is not in {excerpt:#?}");
            let last = output.lines().last();
            assert_eq!(excerpt.last().map(String::as_str), last);
            assert!((FAILED_LINES..=FAILED_LINES + 8).contains(&excerpt.len()), "{excerpt:#?}");
        }
    }

    #[test]
    fn few_lines_are_shown_whole_and_blank_ones_once() {
        assert_eq!(excerpt("\n\na\n\n\n \nb\n\n"), ["a", "", "b"]);
        let lines = |count: usize| (0..count).map(|number| format!("{number}\n")).collect::<String>();
        assert_eq!(excerpt(&lines(19)).len(), 19);
        assert_eq!(excerpt(&lines(20)).len(), 16, "15 and how many are hidden");
        for count in 0..60 {
            for at in 0..count {
                let output = lines(count).replacen(&format!("{at}\n"), "error: x\n", 1);
                let shown = excerpt(&output);
                assert!(shown.len() >= count.min(FAILED_LINES), "{count} {at}: {shown:?}");
                let hidden = count - shown.iter().filter(|line| *line != "…").count();
                let gaps = shown.iter().filter(|line| *line == "…").count();
                assert!(hidden >= gaps * 5 || hidden == 0, "{count} {at}: {shown:?}");
                assert!(shown.iter().any(|line| line == "error: x"), "{count} {at}: {shown:?}");
            }
        }
    }
}
