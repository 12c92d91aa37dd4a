//! The changes of attempts: their hunks side by side, of which some are marked to be taken.

use std::collections::BTreeSet;

use super::list::Report;
use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::attempt::{AttemptFile, AttemptPart};

/// The width from which attempts are shown in columns.
const WIDE: u16 = 120;
/// The least width of a column.
const COLUMN: u16 = 50;

/// The changes of an attempt, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptChanges {
    /// The attempt; `None` for all.
    pub number: Option<u32>,
    /// The files that any of them changes.
    pub files: Vec<Printable>,
    /// `None` until they are known. Those of a place in a file are next to each other, then those of an attempt.
    pub hunks: Option<Vec<ShownHunk>>,
    /// Index of the selected one.
    pub selected: usize,
    /// Indices of those that are to be taken.
    pub marked: BTreeSet<usize>,
    /// The number of its rows that are above the screen.
    pub shift: usize,
    /// The result of the last action.
    pub said: Option<Report>,
    /// The attempt that keys up and down stay with.
    pub(crate) attempt: u32,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) change: Option<Ticket>,
}

/// A hunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownHunk {
    /// Index of its file.
    pub file: usize,
    /// The place in the file: hunks of several attempts at the same place change the same lines.
    pub place: usize,
    pub attempt: u32,
    pub title: Printable,
    pub text: Printable,
    part: AttemptPart,
}

/// The number of columns for so many attempts on a screen of this width.
pub fn columns(width: u16, attempts: usize) -> usize {
    let fit = if width < WIDE { 1 } else { usize::from(width / COLUMN) };
    fit.min(attempts.max(1))
}

impl AttemptChanges {
    /// Shows the changes.
    pub(crate) fn fill(&mut self, files: &[AttemptFile]) {
        self.files = files.iter().map(|file| Printable::line(&file.path)).collect();
        let hunks: Vec<ShownHunk> =
            files.iter().enumerate().flat_map(|(at, file)| hunks_of(at, file)).collect();
        self.attempt = hunks.first().map_or(0, |hunk| hunk.attempt);
        self.hunks = Some(hunks);
    }

    /// The attempts that change a file.
    pub fn attempts_of(&self, file: usize) -> Vec<u32> {
        let of_file = self.hunks.iter().flatten().filter(|hunk| hunk.file == file);
        of_file.map(|hunk| hunk.attempt).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The selected hunk.
    pub fn selected_hunk(&self) -> Option<&ShownHunk> {
        self.hunks.as_ref()?.get(self.selected)
    }

    /// The marked parts.
    pub(crate) fn parts(&self) -> Vec<AttemptPart> {
        let hunks = self.hunks.as_deref().unwrap_or_default();
        self.marked.iter().filter_map(|at| hunks.get(*at)).map(|hunk| hunk.part.clone()).collect()
    }

    /// Handles a key; `page` is the number of rows on the screen, `width` its width. Done when the marked hunks are to
    /// be taken.
    pub(crate) fn key(&mut self, key: Key, page: usize, width: u16) -> KeyOutcome<()> {
        if key.code != KeyCode::Char('t') {
            self.said = None;
        }
        let is_side_by_side =
            self.selected_hunk().is_some_and(|hunk| columns(width, self.attempts_of(hunk.file).len()) > 1);
        let rows = self.selected_hunk().map_or(0, |hunk| hunk.text.as_str().lines().count());
        match (key.code, key.mods) {
            (KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q'), _) | (KeyCode::Char('c'), Mods::CTRL) => {
                return KeyOutcome::Closed;
            }
            (KeyCode::Char(' '), _) if self.change.is_none() && self.selected_hunk().is_some() => {
                if !self.marked.remove(&self.selected) {
                    self.marked.insert(self.selected);
                }
            }
            (KeyCode::Char('t'), Mods::NONE) if self.change.is_none() => {
                if !self.marked.is_empty() {
                    return KeyOutcome::Done(());
                }
                self.said = Some(Err(Printable::line("mark hunks with space first")));
            }
            (KeyCode::Up | KeyCode::Char('k'), _) => self.step(false, is_side_by_side),
            (KeyCode::Down | KeyCode::Char('j'), _) => self.step(true, is_side_by_side),
            (KeyCode::Left | KeyCode::Char('h'), _) => self.aside(false),
            (KeyCode::Right | KeyCode::Char('l'), _) => self.aside(true),
            (KeyCode::PageDown, _) if self.shift + page < rows => self.shift += page.max(1),
            (KeyCode::PageDown, _) => self.step(true, is_side_by_side),
            (KeyCode::PageUp, _) if self.shift > 0 => self.shift = self.shift.saturating_sub(page.max(1)),
            (KeyCode::PageUp, _) => self.step(false, is_side_by_side),
            (KeyCode::Home, _) => self.select(0),
            (KeyCode::End, _) => self.select(usize::MAX),
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }

    fn select(&mut self, index: usize) {
        let count = self.hunks.as_ref().map_or(0, Vec::len);
        (self.selected, self.shift) = (index.min(count.saturating_sub(1)), 0);
    }

    /// Selects the next hunk of the attempt, or the previous one; where it has none, that of another one.
    fn step(&mut self, down: bool, is_side_by_side: bool) {
        let (Some(hunks), Some(from)) = (&self.hunks, self.selected_hunk()) else { return };
        let at = self.selected;
        let other = |at: Option<usize>| at.and_then(|at| Some((at, hunks.get(at)?)));
        let next = if down { Some(at + 1) } else { at.checked_sub(1) };
        let is_here = |hunk: &ShownHunk| (hunk.file, hunk.place) == (from.file, from.place);
        let next = match other(next) {
            None => return,
            Some((next, hunk)) if !is_side_by_side || is_here(hunk) && hunk.attempt == from.attempt => next,
            Some(_) => {
                let beyond = |(_, hunk): &(usize, &ShownHunk)| !is_here(hunk);
                let mut rest: Vec<(usize, &ShownHunk)> = match down {
                    true => hunks.iter().enumerate().skip(at).filter(beyond).collect(),
                    false => hunks.iter().enumerate().take(at).rev().filter(beyond).collect(),
                };
                let Some(place) = rest.first().map(|(_, hunk)| (hunk.file, hunk.place)) else { return };
                rest.retain(|(_, hunk)| (hunk.file, hunk.place) == place);
                let nearest = rest.iter().min_by_key(|(_, hunk)| hunk.attempt.abs_diff(self.attempt));
                nearest.map_or(at, |(next, _)| *next)
            }
        };
        self.select(next);
    }

    /// Selects the hunk of the next attempt at the same place, or of the previous one.
    fn aside(&mut self, right: bool) {
        let (Some(hunks), Some(from)) = (&self.hunks, self.selected_hunk()) else { return };
        let is_beside = |hunk: &ShownHunk| {
            (hunk.file, hunk.place) == (from.file, from.place)
                && if right { hunk.attempt > from.attempt } else { hunk.attempt < from.attempt }
        };
        let mut beside = hunks.iter().enumerate().filter(|(_, hunk)| is_beside(hunk));
        let found = if right { beside.next() } else { beside.next_back() };
        if let Some((next, hunk)) = found {
            self.attempt = hunk.attempt;
            self.select(next);
        }
    }
}

/// The hunks of a file, those at the same place next to each other.
fn hunks_of(index: usize, file: &AttemptFile) -> Vec<ShownHunk> {
    let all = file.patches.iter().flat_map(|patch| patch.hunks.iter().map(move |hunk| (patch.attempt, hunk)));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(_, hunk)| (hunk.start, hunk.end));
    let (mut place, mut end) = (0, 0);
    let mut hunks = Vec::new();
    for (attempt, hunk) in all {
        if hunk.start >= end {
            place += 1;
        }
        end = end.max(hunk.end);
        let part = AttemptPart { attempt, path: file.path.clone(), hunk: hunk.number };
        let title = match hunk.number {
            Some(number) => format!("hunk {number} {}", hunk.title),
            None => hunk.title.clone(),
        };
        let (title, text) = (Printable::line(&title), Printable::new(&hunk.text));
        hunks.push(ShownHunk { file: index, place, attempt, title, text, part });
    }
    hunks.sort_by_key(|hunk| (hunk.place, hunk.attempt));
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::attempt::{AttemptHunk, AttemptPatch};

    fn patch(attempt: u32, ranges: &[(u64, u64)]) -> AttemptPatch {
        let hunk = |(at, (start, end)): (usize, &(u64, u64))| AttemptHunk {
            number: Some(at + 1),
            start: *start,
            end: *end,
            ..AttemptHunk::default()
        };
        AttemptPatch { attempt, hunks: ranges.iter().enumerate().map(hunk).collect() }
    }

    fn changes() -> AttemptChanges {
        let file = |path: &str, patches| AttemptFile { path: path.to_owned(), patches };
        let files = [
            file(
                "a",
                vec![patch(1, &[(1, 5), (20, 25)]), patch(2, &[(4, 8)]), patch(3, &[(7, 9), (30, 31)])],
            ),
            file("b", vec![patch(2, &[(0, 1)])]),
        ];
        let mut changes = AttemptChanges::default();
        changes.fill(&files);
        changes
    }

    fn press(changes: &mut AttemptChanges, keys: &[KeyCode]) -> (u32, usize) {
        for code in keys {
            changes.key(Key { code: *code, mods: Mods::NONE }, 10, 160);
        }
        let hunk = changes.selected_hunk().unwrap();
        (hunk.attempt, hunk.place)
    }

    #[test]
    fn hunks_that_meet_are_at_one_place() {
        let places: Vec<_> =
            changes().hunks.unwrap().iter().map(|hunk| (hunk.file, hunk.place, hunk.attempt)).collect();
        assert_eq!(places, [(0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 2, 1), (0, 3, 3), (1, 1, 2)]);
    }

    #[test]
    fn keys_move_within_columns_and_between_them() {
        use KeyCode::{Char, Down, End, Left, Right, Up};
        let mut changes = changes();
        assert_eq!(press(&mut changes, &[Down]), (1, 2));
        assert_eq!(press(&mut changes, &[Down]), (3, 3), "only another attempt has one there");
        assert_eq!(press(&mut changes, &[Up, Up]), (1, 1));
        assert_eq!(press(&mut changes, &[Right, Right, Right]), (3, 1));
        assert_eq!(press(&mut changes, &[Char(' '), Left, Char(' '), End, Char(' '), Char(' ')]), (2, 1));
        let parts = changes.parts();
        assert_eq!(
            parts.iter().map(|part| (part.attempt, part.hunk)).collect::<Vec<_>>(),
            [(2, Some(1)), (3, Some(1))]
        );
    }

    #[test]
    fn columns_are_as_many_as_fit() {
        for (width, attempts, expected) in
            [(119, 3, 1), (120, 3, 2), (149, 3, 2), (150, 3, 3), (250, 3, 3), (250, 0, 1)]
        {
            assert_eq!(columns(width, attempts), expected, "{width} {attempts}");
        }
    }
}
