//! Paths that are not fully known, as text with holes, and whether two can be the same.
//!
//! A word of a command is such a text (`~/.[b]ashrc`, `"$x"/.env`), and so is the pattern of a rule.

use std::iter::once;
use std::path::{Path, PathBuf};

use super::links;

/// The maximum length of a text that is compared character by character; the rest may be anything.
const MAX_MARKS: usize = 512;
/// The maximum number of texts that a word or a pattern stands for; if there are more, they become one that
/// may be anything.
pub(super) const MAX_ALTERNATIVES: usize = 64;
/// The maximum length of a file name (`NAME_MAX`).
const MAX_NAME: usize = 255;
/// Stands for an unknown value where only the literal text counts. It occurs in no path.
const OPAQUE: char = '\u{f8ff}';

/// A character of a path, or a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    Char(char),
    /// One character of a name.
    One,
    /// Any number of characters within a name.
    Name,
    /// Any number of whole names, each followed by `/`: `**/` in a rule.
    Folders,
    /// Any text, including none.
    Any,
    /// Nothing, but the next character is not a dot, as in patterns of the shell.
    Visible,
}

/// A path with holes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PathText(Vec<Mark>);

/// The result of a step through a text.
#[derive(Clone, Copy)]
enum Taken {
    Char(char),
    InName,
    Anything,
}

impl PathText {
    /// A text of which nothing is known.
    pub(super) fn any() -> Self {
        PathText(vec![Mark::Any])
    }

    /// Text without holes.
    pub(super) fn literal(text: &str) -> Self {
        PathText(text.chars().map(Mark::Char).collect())
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
        let is_said = match (self.0.last(), mark) {
            (Some(Mark::Any), Mark::Name | Mark::Any | Mark::Visible) => true,
            (Some(last), Mark::Name | Mark::Visible) => *last == mark,
            _ => false,
        };
        if !is_said {
            self.0.push(mark);
        }
    }

    /// Adds a mark of a shell pattern: a hole at the start of a name does not match a dot.
    pub(super) fn push_of_pattern(&mut self, mark: Mark) {
        let is_hole = matches!(mark, Mark::One | Mark::Name);
        if is_hole && matches!(self.0.last(), None | Some(Mark::Char('/'))) {
            self.push(Mark::Visible);
        }
        self.push(mark);
    }

    pub(super) fn extend(&mut self, other: &PathText) {
        other.0.iter().for_each(|mark| self.push(*mark));
    }

    /// Its text, if it has no holes.
    pub(super) fn text(&self) -> Option<String> {
        self.0.iter().map(|mark| if let Mark::Char(c) = mark { Some(*c) } else { None }).collect()
    }

    /// The text before the first hole.
    pub(super) fn known_start(&self) -> String {
        self.0.iter().map_while(|mark| if let Mark::Char(c) = mark { Some(*c) } else { None }).collect()
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
    pub(super) fn shown(&self) -> String {
        let shown = |mark: &Mark| match mark {
            Mark::Char(c) => c.to_string(),
            Mark::One => "?".to_owned(),
            Mark::Name => "*".to_owned(),
            Mark::Folders => "**/".to_owned(),
            Mark::Any => "…".to_owned(),
            Mark::Visible => String::new(),
        };
        self.0.iter().map(shown).collect()
    }

    /// The rest after a folder, which may follow holes.
    pub(super) fn clone_below(&self, folder: &PathText) -> Option<PathText> {
        let (depth, parts) = (folder.split(|c| c == '/').len(), self.split(|c| c == '/'));
        let (start, rest) = parts.split_at_checked(depth)?;
        let same = start.iter().zip(folder.split(|c| c == '/')).all(|(part, name)| part.meets(&name));
        (same && !rest.is_empty()).then(|| {
            let mut below = PathText::default();
            for (index, part) in rest.iter().enumerate() {
                if index > 0 {
                    below.push(Mark::Char('/'));
                }
                below.extend(part);
            }
            below
        })
    }

    /// The literal text after all unknown parts.
    pub(super) fn written(&self) -> PathText {
        let start = self.0.iter().rposition(|mark| *mark == Mark::Any).map_or(0, |at| at + 1);
        PathText(self.0.get(start..).unwrap_or_default().to_vec())
    }

    /// The text after the last hole.
    pub(super) fn text_behind_holes(&self) -> String {
        let start = self.0.iter().rposition(|mark| !matches!(mark, Mark::Char(_))).map_or(0, |at| at + 1);
        let behind = self.0.get(start..).unwrap_or_default();
        behind.iter().map_while(|mark| if let Mark::Char(c) = mark { Some(*c) } else { None }).collect()
    }

    /// The number of literal characters.
    pub(super) fn written_marks(&self) -> usize {
        self.0.iter().filter(|mark| matches!(mark, Mark::Char(_))).count()
    }

    /// The parts between the characters that satisfy `cuts`.
    pub(super) fn split(&self, cuts: impl Fn(char) -> bool) -> Vec<PathText> {
        let cut = |mark: &Mark| matches!(mark, Mark::Char(c) if cuts(*c));
        self.0.split(cut).map(|part| PathText(part.to_vec())).collect()
    }

    /// The parts before and after the first such character.
    pub(super) fn split_once(&self, at: char) -> Option<(PathText, PathText)> {
        let found = self.0.iter().position(|mark| *mark == Mark::Char(at))?;
        let (before, behind) = self.0.split_at_checked(found)?;
        Some((PathText(before.to_vec()), PathText(behind.get(1..).unwrap_or_default().to_vec())))
    }

    /// This path relative to that directory. One that begins with a hole may be absolute.
    pub(super) fn within(&self, directory: &PathText) -> PathText {
        if self.is_absolute() || self.0.first() == Some(&Mark::Any) {
            return self.clone();
        }
        let mut whole = directory.clone();
        if whole.0.last() != Some(&Mark::Char('/')) {
            whole.push(Mark::Char('/'));
        }
        whole.extend(self);
        whole
    }

    /// The path for the file system, if it is fully known.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.text().map(PathBuf::from)
    }

    /// In lower case.
    pub(super) fn to_lowercase(&self) -> PathText {
        let lower = |mark: &Mark| match mark {
            Mark::Char(c) => c.to_lowercase().map(Mark::Char).collect::<Vec<_>>(),
            other => vec![*other],
        };
        PathText(self.0.iter().flat_map(lower).collect())
    }

    /// Replaces parts that may be anything by a text that no pattern names.
    pub(super) fn opaque(&self) -> PathText {
        let opaque = |mark: &Mark| if *mark == Mark::Any { Mark::Char(OPAQUE) } else { *mark };
        PathText(self.0.iter().map(opaque).collect())
    }

    /// Without `.` and `..`. The part before a `..` that follows a hole may be anything: a link may lead
    /// anywhere.
    pub(super) fn normalised(&self) -> PathText {
        let mut parts: Vec<PathText> = Vec::new();
        for part in self.split(|c| c == '/') {
            match part.text().as_deref() {
                Some("" | ".") => {}
                Some("..") => match parts.pop() {
                    Some(last) if last.text().is_none() => parts = vec![PathText::any()],
                    _ => {}
                },
                _ => parts.push(part),
            }
        }
        let mut whole = PathText::default();
        let begins_open = parts.first().is_some_and(|part| part.0.first() == Some(&Mark::Any));
        for (index, part) in parts.iter().enumerate() {
            if index > 0 || !begins_open {
                whole.push(Mark::Char('/'));
            }
            whole.extend(part);
        }
        whole
    }

    /// Whether it can be a path at all: no name is longer than file systems allow.
    pub(super) fn is_possible(&self) -> bool {
        let shortest = |part: &PathText| {
            part.0.iter().filter(|mark| matches!(mark, Mark::Char(_) | Mark::One)).count() <= MAX_NAME
        };
        self.split(|c| c == '/').iter().all(shortest)
    }

    /// This path and anything below it.
    pub(super) fn below(&self) -> PathText {
        let mut below = self.clone();
        if below.0.last() != Some(&Mark::Char('/')) {
            below.push(Mark::Char('/'));
        }
        below.push(Mark::Any);
        below
    }

    /// Whether some path matches both.
    pub(super) fn meets(&self, other: &PathText) -> bool {
        // Their common start is quick to compare, and most pairs differ there.
        let mut common = 0;
        while let (Some(Mark::Char(one)), Some(Mark::Char(two))) = (self.0.get(common), other.0.get(common)) {
            if one != two {
                return false;
            }
            common += 1;
        }
        meet(&cut(self.0.get(common..)), &cut(other.0.get(common..)))
    }

    /// The existing paths that it may currently stand for, with links at their ends not followed. `None` if
    /// there are more than `limit` names to check.
    pub(super) fn on_disk(&self, limit: usize) -> Option<Vec<PathBuf>> {
        let (mut found, mut looked_at) = (vec![PathBuf::from("/")], 0_usize);
        for part in self.split(|c| c == '/') {
            if let Some(name) = part.text() {
                found.iter_mut().for_each(|path| path.push(&name));
                continue;
            }
            let mut next = Vec::new();
            for folder in &found {
                for name in links::entries(folder, limit - looked_at + 1).iter() {
                    looked_at += 1;
                    if looked_at > limit {
                        return None;
                    }
                    if part.meets(&PathText::literal(&name.to_string_lossy())) {
                        next.push(folder.join(name));
                    }
                }
            }
            found = next;
        }
        Some(found)
    }
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        PathText::literal(&path.to_string_lossy())
    }
}

/// A text, cut to the length that can be compared.
fn cut(marks: Option<&[Mark]>) -> Vec<Mark> {
    let marks = marks.unwrap_or_default();
    match marks.get(..MAX_MARKS) {
        Some(first) if marks.len() > MAX_MARKS => first.iter().copied().chain(once(Mark::Any)).collect(),
        _ => marks.to_vec(),
    }
}

/// The position in a text: the mark, and whether it is within a name that [`Mark::Folders`] began.
type Place = (usize, bool);

/// The position reached without consuming a character, and whether no dot may follow.
fn skips(marks: &[Mark], (at, inside): Place) -> Option<(Place, bool)> {
    match marks.get(at)? {
        Mark::Name | Mark::Any => Some(((at + 1, false), false)),
        Mark::Folders if !inside => Some(((at + 1, false), false)),
        Mark::Visible => Some(((at + 1, false), true)),
        Mark::Char(_) | Mark::One | Mark::Folders => None,
    }
}

/// The characters that can be consumed here, and the positions after them.
fn takes(marks: &[Mark], (at, inside): Place) -> [Option<(Taken, Place)>; 2] {
    match marks.get(at) {
        Some(Mark::Char(c)) => [Some((Taken::Char(*c), (at + 1, false))), None],
        Some(Mark::One) => [Some((Taken::InName, (at + 1, false))), None],
        Some(Mark::Name) => [Some((Taken::InName, (at, false))), None],
        Some(Mark::Any) => [Some((Taken::Anything, (at, false))), None],
        Some(Mark::Folders) => {
            let end = inside.then_some((Taken::Char('/'), (at, false)));
            [Some((Taken::InName, (at, true))), end]
        }
        Some(Mark::Visible) | None => [None, None],
    }
}

/// Whether both can consume the same character.
fn both(one: Taken, two: Taken, hidden: bool) -> bool {
    match (one, two) {
        (Taken::Char(one), Taken::Char(two)) => one == two && !(hidden && one == '.'),
        (Taken::Char(c), Taken::InName) | (Taken::InName, Taken::Char(c)) => {
            c != '/' && !(hidden && c == '.')
        }
        (Taken::Char(c), Taken::Anything) | (Taken::Anything, Taken::Char(c)) => !(hidden && c == '.'),
        (Taken::InName | Taken::Anything, Taken::InName | Taken::Anything) => true,
    }
}

/// Whether two texts can be the same: both are read in parallel in every possible way.
fn meet(one: &[Mark], two: &[Mark]) -> bool {
    let width = 2 * (two.len() + 1);
    let index = |(at, inside): Place| 2 * at + usize::from(inside);
    let mut seen = vec![false; 2 * 2 * (one.len() + 1) * width];
    let mut open: Vec<(Place, Place, bool)> = vec![((0, false), (0, false), false)];
    while let Some((left, right, hidden)) = open.pop() {
        let state = (index(left) * width + index(right)) * 2 + usize::from(hidden);
        match seen.get_mut(state) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        if left.0 == one.len() && right.0 == two.len() {
            return true;
        }
        open.extend(skips(one, left).map(|(next, sets)| (next, right, hidden || sets)));
        open.extend(skips(two, right).map(|(next, sets)| (left, next, hidden || sets)));
        for (taken, next_left) in takes(one, left).into_iter().flatten() {
            for (other, next_right) in takes(two, right).into_iter().flatten() {
                if both(taken, other, hidden) {
                    open.push((next_left, next_right, false));
                }
            }
        }
    }
    false
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

/// The length of a bracket expression after its `[`.
fn bracket(rest: &[char]) -> Option<usize> {
    let start = if matches!(rest.get(1), Some('!' | '^')) { 2 } else { 1 };
    rest.iter().skip(start + 1).position(|c| *c == ']').map(|at| at + start + 1)
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
            let mut text = word(given).normalised();
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
