//! Paths that are not fully known, as text with holes, and whether two can be the same.
//!
//! A word of a command is such a text (`~/.[b]ashrc`, `"$x"/.env`), and so is the pattern of a rule.

mod area;
mod meeting;
mod on_disk;
mod shell_pattern;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

pub(super) use area::Area;
pub(super) use meeting::meets;

/// The maximum number of texts that a word or a pattern stands for; if there are more, they become one that
/// may be anything.
pub(super) const MAX_ALTERNATIVES: usize = 64;
/// The maximum length of a file name (`NAME_MAX`).
const MAX_NAME: usize = 255;
/// Stands for an unknown value where only the literal text counts. It occurs in no path.
const OPAQUE: char = '\u{f8ff}';

/// A character of a path, or a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Char(char),
    /// One character of a name.
    One,
    /// Any number of characters within a name.
    Name,
    /// Any number of digits, also hexadecimal ones, as in numbers and the names of commits.
    Digits,
    /// Any number of whole names, each followed by `/`: `**/` in a rule.
    Folders,
    /// Any text, including none.
    Any,
    /// Nothing, but the next character is not a dot, as in patterns of the shell.
    Visible,
}

/// A path with holes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathText(Vec<Mark>);

impl PathText {
    /// A text of which nothing is known.
    pub(super) fn any() -> Self {
        PathText(vec![Mark::Any])
    }

    /// Text without holes.
    pub(super) fn literal(text: &str) -> Self {
        let mut marks = Vec::with_capacity(text.len());
        marks.extend(text.chars().map(Mark::Char));
        PathText(marks)
    }

    /// A text of these characters and holes.
    pub(super) fn of(marks: &[Mark]) -> Self {
        PathText(marks.to_vec())
    }

    pub(super) fn marks(&self) -> &[Mark] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a mark, unless the previous one includes it.
    pub(super) fn push(&mut self, mark: Mark) {
        if !self.includes(mark) {
            self.0.push(mark);
        }
    }

    /// Whether the last mark includes this one.
    fn includes(&self, mark: Mark) -> bool {
        match (self.0.last(), mark) {
            (Some(Mark::Any), Mark::Name | Mark::Digits | Mark::Any | Mark::Visible) => true,
            (Some(last), Mark::Name | Mark::Digits | Mark::Visible) => *last == mark,
            _ => false,
        }
    }

    pub(super) fn extend(&mut self, other: &PathText) {
        self.extend_by(&other.0);
    }

    /// Adds the marks of a text, none of which includes the next.
    fn extend_by(&mut self, marks: &[Mark]) {
        let new = marks.iter().position(|mark| !self.includes(*mark)).unwrap_or(marks.len());
        self.0.extend_from_slice(marks.get(new..).unwrap_or_default());
    }

    /// Its text, if it has no holes.
    pub(super) fn text(&self) -> Option<String> {
        text_of(&self.0)
    }

    /// Whether it is this text, without holes.
    pub(super) fn is(&self, text: &str) -> bool {
        let mut marks = self.0.iter();
        text.chars().all(|c| marks.next() == Some(&Mark::Char(c))) && marks.next().is_none()
    }

    /// Whether it is nothing but such characters.
    pub(super) fn is_only(&self, chars: &[char]) -> bool {
        self.0.iter().all(|mark| matches!(mark, Mark::Char(c) if chars.contains(c)))
    }

    /// The text before the first hole.
    pub(super) fn known_start(&self) -> String {
        let end = self.0.iter().position(|mark| !matches!(mark, Mark::Char(_))).unwrap_or(self.0.len());
        self.0.get(..end).and_then(text_of).unwrap_or_default()
    }

    /// Whether a part of it may be anything, like the value of a variable.
    pub(super) fn is_open(&self) -> bool {
        self.0.contains(&Mark::Any)
    }

    /// Whether it matches anything in a folder and its subfolders.
    pub(super) fn is_of_folders(&self) -> bool {
        self.0.contains(&Mark::Folders)
    }

    /// Whether its only literal characters are `/`.
    pub(super) fn is_unknown(&self) -> bool {
        self.is_open() && !self.0.iter().any(|mark| matches!(mark, Mark::Char(c) if *c != '/'))
    }

    pub(super) fn is_absolute(&self) -> bool {
        self.0.first() == Some(&Mark::Char('/'))
    }

    pub(super) fn starts_with(&self, start: &str) -> bool {
        self.0.len() >= start.chars().count()
            && start.chars().zip(&self.0).all(|(c, mark)| *mark == Mark::Char(c))
    }

    /// The rest after a prefix without holes.
    pub(super) fn strip_prefix(&self, start: &str) -> Option<PathText> {
        self.starts_with(start)
            .then(|| PathText(self.0.get(start.chars().count()..).unwrap_or_default().to_vec()))
    }

    /// A display form: `*`, `?` and `…` stand for the unknown parts.
    pub(super) fn display(&self) -> String {
        let shown = |mark: &Mark| match mark {
            Mark::Char(c) => c.to_string(),
            Mark::One => "?".to_owned(),
            Mark::Name | Mark::Digits => "*".to_owned(),
            Mark::Folders => "**/".to_owned(),
            Mark::Any => "…".to_owned(),
            Mark::Visible => String::new(),
        };
        self.0.iter().map(shown).collect()
    }

    /// The rest after a folder, which may follow holes.
    pub(super) fn clone_below(&self, folder: &PathText) -> Option<PathText> {
        let mut parts = self.names();
        if !folder.names().all(|name| parts.next().is_some_and(|part| meets(part, name))) {
            return None;
        }
        let mut below = PathText::of(parts.next()?);
        for part in parts {
            below.push(Mark::Char('/'));
            below.extend_by(part);
        }
        Some(below)
    }

    /// The number of literal characters.
    pub(super) fn literal_char_count(&self) -> usize {
        self.0.iter().filter(|mark| matches!(mark, Mark::Char(_))).count()
    }

    /// The parts between the characters that satisfy `cuts`.
    pub(super) fn split(&self, cuts: impl Fn(char) -> bool) -> Vec<PathText> {
        let cut = |mark: &Mark| matches!(mark, Mark::Char(c) if cuts(*c));
        self.0.split(cut).map(|part| PathText(part.to_vec())).collect()
    }

    /// The parts between its `/`.
    pub(super) fn names(&self) -> impl Iterator<Item = &[Mark]> {
        self.0.split(|mark| *mark == Mark::Char('/'))
    }

    /// The parts before and after the first such character.
    pub(super) fn split_once(&self, at: char) -> Option<(PathText, PathText)> {
        let found = self.0.iter().position(|mark| *mark == Mark::Char(at))?;
        let (before, behind) = self.0.split_at_checked(found)?;
        Some((PathText(before.to_vec()), PathText(behind.get(1..).unwrap_or_default().to_vec())))
    }

    /// This path relative to that directory. One that begins with a hole may be absolute.
    pub(super) fn within(&self, directory: &PathText) -> PathText {
        marks_within(&self.0, directory)
    }

    /// The path for the file system, if it is fully known.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.text().map(PathBuf::from)
    }

    /// In lower case.
    pub(super) fn to_lowercase(&self) -> PathText {
        let mut lower = Vec::with_capacity(self.0.len());
        for mark in &self.0 {
            match mark {
                Mark::Char(c) => lower.extend(c.to_lowercase().map(Mark::Char)),
                other => lower.push(*other),
            }
        }
        PathText(lower)
    }

    /// With the characters between its holes composed (NFC).
    pub(super) fn to_nfc(&self) -> Cow<'_, PathText> {
        let is_other = |mark: &Mark| matches!(mark, Mark::Char(c) if !c.is_ascii());
        match self.0.iter().any(is_other) {
            true => Cow::Owned(self.map_text(|text| text.nfc().collect())),
            false => Cow::Borrowed(self),
        }
    }

    /// With the texts between its holes replaced.
    pub(super) fn map_text(&self, change: impl Fn(&str) -> String) -> PathText {
        let is_char = |mark: &Mark| matches!(mark, Mark::Char(_));
        let runs = self.0.chunk_by(|one, next| is_char(one) && is_char(next));
        let changed = runs.flat_map(|run| match text_of(run) {
            Some(text) => change(&text).chars().map(Mark::Char).collect(),
            None => run.to_vec(),
        });
        PathText(changed.collect())
    }

    /// Replaces parts that may be anything by a text that no pattern names.
    pub(super) fn opaque(&self) -> PathText {
        let opaque = |mark: &Mark| if *mark == Mark::Any { Mark::Char(OPAQUE) } else { *mark };
        PathText(self.0.iter().map(opaque).collect())
    }

    /// Without `.` and `..`. The part before a `..` that follows a hole may be anything: a link may lead
    /// anywhere.
    pub(super) fn normalise(&self) -> PathText {
        let mut parts: Vec<&[Mark]> = Vec::new();
        for part in self.names() {
            match part {
                [] | [Mark::Char('.')] => {}
                [Mark::Char('.'), Mark::Char('.')] => match parts.pop() {
                    Some(last) if last.iter().any(|mark| !matches!(mark, Mark::Char(_))) => {
                        parts = vec![&[Mark::Any]];
                    }
                    _ => {}
                },
                _ => parts.push(part),
            }
        }
        let mut whole = PathText(Vec::with_capacity(self.0.len() + 1));
        let begins_open = parts.first().is_some_and(|part| part.first() == Some(&Mark::Any));
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 || !begins_open {
                whole.push(Mark::Char('/'));
            }
            whole.extend_by(part);
        }
        whole
    }

    /// Whether it can be a path at all: no name is longer than file systems allow.
    pub(super) fn is_possible(&self) -> bool {
        let shortest =
            |part: &[Mark]| part.iter().filter(|mark| matches!(mark, Mark::Char(_) | Mark::One)).count();
        self.names().all(|part| shortest(part) <= MAX_NAME)
    }

    /// This path and anything below it.
    pub(super) fn below(&self) -> PathText {
        let mut below = PathText(Vec::with_capacity(self.0.len() + 2));
        below.0.extend_from_slice(&self.0);
        if below.0.last() != Some(&Mark::Char('/')) {
            below.push(Mark::Char('/'));
        }
        below.push(Mark::Any);
        below
    }

    /// Whether some path matches both.
    pub(super) fn meets(&self, other: &PathText) -> bool {
        meets(&self.0, &other.0)
    }

    /// Like [`PathText::meets`], for marks of another text.
    pub(super) fn meets_marks(&self, other: &[Mark]) -> bool {
        meets(other, &self.0)
    }
}

/// A path relative to that directory. One that begins with a hole may be absolute.
fn marks_within(path: &[Mark], directory: &PathText) -> PathText {
    if matches!(path.first(), Some(Mark::Char('/') | Mark::Any)) {
        return PathText::of(path);
    }
    let mut whole = PathText(Vec::with_capacity(directory.0.len() + 1 + path.len()));
    whole.0.extend_from_slice(&directory.0);
    if whole.0.last() != Some(&Mark::Char('/')) {
        whole.push(Mark::Char('/'));
    }
    whole.extend_by(path);
    whole
}

/// Whether a text without holes matches these marks.
pub(super) fn is_match(marks: &[Mark], text: &str) -> bool {
    let mut chars = text.chars();
    let mut known = marks.iter().take_while(|mark| matches!(mark, Mark::Char(_)));
    let begins = known.all(|mark| chars.next().map(Mark::Char) == Some(*mark));
    begins && meets(marks, &PathText::literal(text).0)
}

/// The literal text after all unknown parts.
pub(super) fn literal_tail(marks: &[Mark]) -> &[Mark] {
    let start = marks.iter().rposition(|mark| *mark == Mark::Any).map_or(0, |at| at + 1);
    marks.get(start..).unwrap_or_default()
}

/// The text after the last hole.
pub(super) fn text_behind_holes(marks: &[Mark]) -> String {
    let start = marks.iter().rposition(|mark| !matches!(mark, Mark::Char(_))).map_or(0, |at| at + 1);
    let behind = marks.get(start..).unwrap_or_default();
    behind.iter().map_while(|mark| if let Mark::Char(c) = mark { Some(*c) } else { None }).collect()
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        PathText::literal(&path.to_string_lossy())
    }
}

/// The text of these marks, if there are no holes.
pub(super) fn text_of(marks: &[Mark]) -> Option<String> {
    if marks.iter().any(|mark| !matches!(mark, Mark::Char(_))) {
        return None;
    }
    let mut text = String::with_capacity(marks.len());
    text.extend(marks.iter().filter_map(|mark| if let Mark::Char(c) = mark { Some(*c) } else { None }));
    Some(text)
}

/// The texts of a pattern in a rule: `*`, `?`, `[…]`, `{a,b}`, `**` and `\`.
pub(super) fn of_glob(glob: &str) -> Vec<PathText> {
    let chars: Vec<char> = glob.chars().collect();
    let mut found = vec![PathText::default()];
    let (mut at, mut starts_name) = (0, true);
    while let Some(c) = chars.get(at).copied() {
        let rest = chars.get(at..).unwrap_or_default();
        let mark = match c {
            '\\' if rest.len() > 1 => {
                at += 1;
                Mark::Char(chars.get(at).copied().unwrap_or('\\'))
            }
            '*' if starts_name && rest.starts_with(&['*', '*', '/']) => {
                at += 2;
                Mark::Folders
            }
            '*' if rest.get(1) == Some(&'*') => Mark::Any,
            '*' => Mark::Name,
            '?' => Mark::One,
            '[' => {
                at += bracket(rest).unwrap_or(0);
                Mark::One
            }
            '{' => match braces(rest) {
                Some((inner, length)) => {
                    let behind: String = rest.get(length..).unwrap_or_default().iter().collect();
                    return alternatives(&found, &inner, &behind);
                }
                None => Mark::Any,
            },
            c => Mark::Char(c),
        };
        starts_name = mark == Mark::Folders || mark == Mark::Char('/');
        found.iter_mut().for_each(|text| text.push(mark));
        at += 1;
    }
    found
}

fn alternatives(starts: &[PathText], inner: &[String], behind: &str) -> Vec<PathText> {
    let ends: Vec<PathText> =
        inner.iter().take(MAX_ALTERNATIVES).flat_map(|one| of_glob(&format!("{one}{behind}"))).collect();
    if inner.len() > MAX_ALTERNATIVES || ends.len() * starts.len() > MAX_ALTERNATIVES {
        return vec![PathText::any()];
    }
    let joined = |start: &PathText| {
        let start = start.clone();
        ends.iter().map(move |end| {
            let mut whole = start.clone();
            whole.extend(end);
            whole
        })
    };
    starts.iter().flat_map(joined).collect()
}

/// The length of a bracket expression after its `[`. The `]` of a class in it, such as `[:alpha:]`, does not end it.
fn bracket(rest: &[char]) -> Option<usize> {
    let mut at = if matches!(rest.get(1), Some('!' | '^')) { 2 } else { 1 };
    let first = at;
    loop {
        match (rest.get(at)?, rest.get(at + 1)) {
            (']', _) if at > first => return Some(at),
            ('[', Some(kind @ (':' | '=' | '.'))) => {
                let inner = rest.get(at + 2..)?;
                match inner.windows(2).position(|pair| pair == [*kind, ']']) {
                    Some(length) => at += length + 4,
                    None => at += 1,
                }
            }
            _ => at += 1,
        }
    }
}

/// The alternatives in `{…}`, and the length of all of it.
fn braces(rest: &[char]) -> Option<(Vec<String>, usize)> {
    let (mut parts, mut depth, mut at) = (vec![String::new()], 0_usize, 0);
    while let Some(c) = rest.get(at).copied() {
        at += 1;
        match c {
            '{' if depth == 0 => {
                depth = 1;
                continue;
            }
            '{' => depth += 1,
            '}' if depth == 1 => return Some((parts, at)),
            '}' => depth -= 1,
            ',' if depth == 1 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
            if c == '\\' {
                last.extend(rest.get(at));
                at += 1;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell word: `*`, `?`, and `$` for an unknown part.
    fn word(text: &str) -> PathText {
        let mut word = PathText::default();
        let mut starts_name = true;
        for c in text.chars() {
            if starts_name && "*?".contains(c) {
                word.push(Mark::Visible);
            }
            word.push(match c {
                '*' => Mark::Name,
                '?' => Mark::One,
                '$' => Mark::Any,
                c => Mark::Char(c),
            });
            starts_name = c == '/';
        }
        word
    }

    #[test]
    fn texts_meet_where_a_path_is_both() {
        let meets = |one: &str, glob: &str| of_glob(glob).iter().any(|pattern| word(one).meets(pattern));
        for (one, glob) in [
            (".env", "**/.env"),
            ("a/b/.env", "**/.env"),
            ("$", "**/.env"),
            ("$/.env", "**/.env"),
            (".e*", "**/.env"),
            (".e??", "**/.env"),
            ("x/.en?", "x/*"),
            ("src/*.rs", "src/**"),
            ("a*z", "ab*yz"),
            ("$rc", ".bash{rc,_profile}"),
            ("src/a.rs", "src/{a,b}.rs"),
            ("x", "[xy]"),
            ("a/b/c", "a/**/c"),
            ("a/c", "a/**/c"),
            ("*", "\\*"),
        ] {
            assert!(meets(one, glob), "{one} and {glob}");
        }
        for (one, glob) in [
            ("*", "**/.env"),
            ("*.env", "**/.env"),
            ("?env", "**/.env"),
            ("a/*", "**/.env"),
            ("x.env", "**/.env"),
            ("src/*.rs", "docs/**"),
            ("a?", "abc"),
            ("ab/c", "a*c"),
            ("a/bc", "a/**/c"),
            ("src/$", "docs/**"),
            ("x", "\\*"),
        ] {
            assert!(!meets(one, glob), "{one} and {glob}");
        }
    }

    #[test]
    fn dots_are_resolved_as_far_as_the_names_before_them_are_known() {
        for (given, expected) in [
            ("/a/./b/../c", "/a/c"),
            ("/a//b/", "/a/b"),
            ("/a/*/../c", "$/c"),
            ("$/x/../c", "$/c"),
            ("/..", ""),
        ] {
            let mut text = word(given).normalise();
            text.0.retain(|mark| *mark != Mark::Visible);
            assert_eq!(text, word(expected), "{given}");
        }
    }

    #[test]
    fn texts_of_any_length_are_compared_in_time() {
        let long = word(&"?*".repeat(2_000));
        assert!(!long.is_possible());
        assert!(long.meets(&PathText::any()));
        assert!(of_glob(&"{a,b}".repeat(20)).len() <= MAX_ALTERNATIVES);
    }
}
