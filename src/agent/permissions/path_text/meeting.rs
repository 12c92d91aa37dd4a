//! Decides whether two texts with holes can be the same path.

use std::borrow::Cow;
use std::cell::RefCell;
use std::iter::once;

use super::Mark;

/// The maximum length of a text that is compared character by character; the rest may be anything.
const MAX_MARKS: usize = 512;

/// The result of a step through a text.
#[derive(Clone, Copy)]
enum Step {
    Char(char),
    Digit,
    InName,
    Anything,
}

/// A text, cut to the length that can be compared.
fn cut(marks: &[Mark]) -> Cow<'_, [Mark]> {
    match marks.get(..MAX_MARKS) {
        Some(first) if marks.len() > MAX_MARKS => first.iter().copied().chain(once(Mark::Any)).collect(),
        _ => Cow::Borrowed(marks),
    }
}

/// Whether two texts can be the same.
pub(in crate::permissions) fn meets(one: &[Mark], two: &[Mark]) -> bool {
    meets_up_to(one, two, two.len())
}

/// Whether a text can be the same as another, or as its first `end` marks.
pub(super) fn meets_up_to(one: &[Mark], two: &[Mark], end: usize) -> bool {
    // Their common start is quick to compare, and most pairs differ there.
    let mut common = 0;
    while let (Some(Mark::Char(left)), Some(Mark::Char(right))) = (one.get(common), two.get(common)) {
        if left != right {
            return false;
        }
        common += 1;
    }
    let (one, two) = (one.get(common..).unwrap_or_default(), two.get(common..).unwrap_or_default());
    // If the end is behind, only all of it can be the same.
    let end = end.checked_sub(common).unwrap_or(two.len());
    match (one, two) {
        ([], _) if end == 0 => true,
        // Where one ends, the other must not need another character.
        ([], [Mark::Char(_) | Mark::One, ..]) | ([Mark::Char(_) | Mark::One, ..], []) => false,
        _ if one.len().max(two.len()) > MAX_MARKS => {
            let ends = [two, two.get(..end).unwrap_or_default()];
            ends.iter().any(|two| meet(&cut(one), &cut(two), cut(two).len()))
        }
        _ if end == two.len() && ends_differ(one, two) => false,
        _ => meet(one, two, end),
    }
}

/// Whether two texts end in different characters.
fn ends_differ(one: &[Mark], two: &[Mark]) -> bool {
    for pair in one.iter().rev().zip(two.iter().rev()) {
        match pair {
            (Mark::Char(one), Mark::Char(two)) if one == two => {}
            (Mark::Char(_), Mark::Char(_)) => return true,
            _ => return false,
        }
    }
    false
}

/// The position in a text: the mark, and whether it is within a name that [`Mark::Folders`] began.
type Place = (usize, bool);

/// The position reached without consuming a character, and whether no dot may follow.
fn skips(marks: &[Mark], (at, inside): Place) -> Option<(Place, bool)> {
    match marks.get(at)? {
        Mark::Name | Mark::Digits | Mark::Any => Some(((at + 1, false), false)),
        Mark::Folders if !inside => Some(((at + 1, false), false)),
        Mark::Visible => Some(((at + 1, false), true)),
        Mark::Char(_) | Mark::One | Mark::Folders => None,
    }
}

/// The characters that can be consumed here, and the positions after them.
fn takes(marks: &[Mark], (at, inside): Place) -> [Option<(Step, Place)>; 2] {
    match marks.get(at) {
        Some(Mark::Char(c)) => [Some((Step::Char(*c), (at + 1, false))), None],
        Some(Mark::One) => [Some((Step::InName, (at + 1, false))), None],
        Some(Mark::Name) => [Some((Step::InName, (at, false))), None],
        Some(Mark::Digits) => [Some((Step::Digit, (at, false))), None],
        Some(Mark::Any) => [Some((Step::Anything, (at, false))), None],
        Some(Mark::Folders) => {
            let end = inside.then_some((Step::Char('/'), (at, false)));
            [Some((Step::InName, (at, true))), end]
        }
        Some(Mark::Visible) | None => [None, None],
    }
}

/// Whether both can consume the same character.
fn both(one: Step, two: Step, hidden: bool) -> bool {
    match (one, two) {
        (Step::Char(one), Step::Char(two)) => one == two && !(hidden && one == '.'),
        (Step::Char(c), Step::Digit) | (Step::Digit, Step::Char(c)) => c.is_ascii_hexdigit(),
        (Step::Char(c), Step::InName) | (Step::InName, Step::Char(c)) => c != '/' && !(hidden && c == '.'),
        (Step::Char(c), Step::Anything) | (Step::Anything, Step::Char(c)) => !(hidden && c == '.'),
        (Step::Digit | Step::InName | Step::Anything, Step::Digit | Step::InName | Step::Anything) => true,
    }
}

/// Whether a text can be the same as another, or as its first `end` marks: both are read in parallel in every possible
/// way.
fn meet(one: &[Mark], two: &[Mark], end: usize) -> bool {
    MEETING.with_borrow_mut(|Meeting { seen, open }| {
        seen.clear();
        seen.resize(2 * 2 * (one.len() + 1) * 2 * (two.len() + 1), false);
        open.clear();
        open.push(((0, false), (0, false), false));
        meet_by(one, two, end, seen, open)
    })
}

/// The places that [`meet`] has compared, and has yet to compare. Most texts are short, and thousands are compared in a
/// judgement.
#[derive(Default)]
struct Meeting {
    seen: Vec<bool>,
    open: Vec<(Place, Place, bool)>,
}

thread_local! {
    static MEETING: RefCell<Meeting> = RefCell::default();
}

fn meet_by(
    one: &[Mark],
    two: &[Mark],
    end: usize,
    seen: &mut [bool],
    open: &mut Vec<(Place, Place, bool)>,
) -> bool {
    let width = 2 * (two.len() + 1);
    let index = |(at, inside): Place| 2 * at + usize::from(inside);
    while let Some((left, right, hidden)) = open.pop() {
        let state = (index(left) * width + index(right)) * 2 + usize::from(hidden);
        match seen.get_mut(state) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        if left.0 == one.len() && (right.0 == end || right.0 == two.len()) {
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

#[cfg(test)]
mod tests {
    use super::super::{Area, Mark, PathText};

    /// A text with `*` for any part of a name, and `$` for any text.
    fn text(text: &str) -> PathText {
        let mark = |c| match c {
            '*' => Mark::Name,
            '$' => Mark::Any,
            c => Mark::Char(c),
        };
        PathText::of(&text.chars().map(mark).collect::<Vec<_>>())
    }

    #[test]
    fn an_area_is_a_place_and_all_below_it() {
        let long = "a".repeat(600);
        for (area, path, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b", "/a/b/c/d", true),
            ("/a/b", "/a/bc", false),
            ("/a/b", "/a", false),
            ("/a/b", "/a/*", true),
            ("/a/b", "/a/*/c", true),
            ("/a/b", "/a/*c", false),
            ("/a/b", "$/c", true),
            ("/a/b", "$b", true),
            ("/a/*.x", "/a/b.x", true),
            ("/a/*.x", "/a/b.x/c", true),
            ("/a/*.x", "/a/b.y", false),
            ("", "/a", true),
            ("", "a", false),
            (&long, &long, true),
            (&long, &format!("{long}/b"), true),
        ] {
            assert_eq!(Area::new(&text(area)).meets(&text(path)), expected, "{area} and {path}");
        }
    }
}
