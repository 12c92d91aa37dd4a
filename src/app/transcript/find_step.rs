//! Steps between matches, including ones in unloaded messages. The agent searches these and sends the page
//! around the match.

use std::ops::Range;

use super::Transcript;
use super::find::{FindStep, Occurrence, Seeking};
use super::window::Segment;
use tau_protocol::query::{HistoryPage, PageFrom, PageGoal};

/// The location of the next place.
enum Nearest {
    At(Occurrence),
    /// Perhaps in this page.
    Unloaded(PageFrom),
    Nowhere,
}

impl Transcript {
    /// Goes to the next place in this direction; past the last one, wraps around.
    pub(crate) fn step_find(&mut self, step: FindStep) {
        self.look_again();
        let Some(find) = &self.find else { return };
        if find.query().is_empty() {
            return;
        }
        match find.current() {
            Some(current) => self.continue_find(step, Some(current), false),
            None => self.go_to_first(),
        }
    }

    /// Goes to the nearest place from the given one, or from the end.
    fn continue_find(&mut self, step: FindStep, from: Option<Occurrence>, has_wrapped: bool) {
        match self.nearest(step, from) {
            Nearest::At(place) => self.go_to(Some(place)),
            Nearest::Unloaded(from) => self.seek(Seeking { step, from, has_wrapped }),
            Nearest::Nowhere if has_wrapped => self.stop_seeking(),
            Nearest::Nowhere => self.continue_find(step, None, true),
        }
    }

    fn nearest(&self, step: FindStep, from: Option<Occurrence>) -> Nearest {
        let places = self.find.as_ref().map(|find| find.places()).unwrap_or_default();
        let found = match step {
            FindStep::Older => places.iter().rev().find(|place| from.is_none_or(|from| **place < from)),
            FindStep::Newer => places.iter().find(|place| from.is_none_or(|from| **place > from)),
        };
        let segment = |place: &Occurrence| Segment::of(place.entry);
        let unloaded = match step {
            FindStep::Older => {
                let from = from.as_ref().map_or(Segment::Sent, segment);
                self.page_above(from, found.map_or(Segment::Head, segment))
            }
            FindStep::Newer => {
                let from = from.as_ref().map_or(Segment::Head, segment);
                self.page_below(from, found.map_or(Segment::Sent, segment))
            }
        };
        match (unloaded, found) {
            (Some(from), _) => Nearest::Unloaded(from),
            (None, Some(place)) => Nearest::At(*place),
            (None, None) => Nearest::Nowhere,
        }
    }

    /// The unloaded messages on the way up from one segment to another.
    fn page_above(&self, from: Segment, to: Segment) -> Option<PageFrom> {
        if self.has_gap() && from == Segment::Sent && to < Segment::Sent {
            return Some(PageFrom::default());
        }
        (!self.window.has_first() && from > Segment::Head && to == Segment::Head)
            .then(|| self.window.before())
    }

    /// The unloaded messages on the way down from one segment to another.
    fn page_below(&self, from: Segment, to: Segment) -> Option<PageFrom> {
        if !self.window.has_first() && from == Segment::Head && to > Segment::Head {
            return Some(PageFrom::After { position: 0 });
        }
        (self.has_gap() && from < Segment::Sent && to == Segment::Sent).then(|| self.window.after())
    }

    /// Searches unloaded messages when the loaded ones have no match; from the screen upward.
    pub(super) fn seek_first(&mut self, origin: Segment) {
        let from = if origin == Segment::Window { self.window.before() } else { PageFrom::default() };
        self.seek(Seeking { step: FindStep::Older, from, has_wrapped: origin != Segment::Window });
    }

    fn seek(&mut self, seeking: Seeking) {
        if let Some(find) = &mut self.find {
            find.seeking = Some(seeking);
        }
        self.look_earlier(-1);
    }

    pub(super) fn stop_seeking(&mut self) {
        if let Some(find) = &mut self.find {
            find.seeking = None;
        }
    }

    /// The page that a search waits for.
    pub(super) fn page_for_search(&self) -> Option<(PageFrom, PageGoal)> {
        let find = self.find.as_ref()?;
        Some((find.seeking?.from, PageGoal::Text { text: find.query().to_owned() }))
    }

    /// Whether unloaded messages are being searched for this text.
    pub(super) fn is_sought(&self, text: &str) -> bool {
        self.find.as_ref().is_some_and(|find| find.seeking.is_some() && find.query() == text)
    }

    /// Goes to the match, if it is in the page, and else continues.
    pub(super) fn find_in_page(&mut self, asked: &PageGoal, page: &HistoryPage, entries: Range<usize>) {
        self.look_again();
        let Some(find) = &mut self.find else { return };
        let text = find.query();
        if *asked != (PageGoal::Text { text: text.to_owned() }) {
            // The page was requested earlier: it may have the match, or the search continues from there.
            let (current, seeking) = (find.current, find.seeking);
            return seeking.into_iter().for_each(|Seeking { step, has_wrapped, .. }| {
                self.continue_find(step, current, has_wrapped);
            });
        }
        let entries = self.entries.get(entries).unwrap_or_default();
        let ids = entries.first().zip(entries.last()).map(|(first, last)| first.id..=last.id);
        let is_here = |place: &&Occurrence| ids.as_ref().is_some_and(|ids| ids.contains(&place.entry));
        let Some(seeking) = &mut find.seeking else { return };
        let found = match seeking.step {
            FindStep::Older => {
                seeking.from = PageFrom::Before { position: Some(page.start) };
                find.places.iter().rev().find(is_here)
            }
            FindStep::Newer => {
                seeking.from = PageFrom::After { position: page.end };
                find.places.iter().find(is_here)
            }
        };
        if let Some(place) = found.copied() {
            self.go_to(Some(place));
        }
    }

    /// Handles an unloaded range without a match, seen from the start of its search.
    pub(super) fn on_find_miss(&mut self) {
        let Some(seeking) = self.find.as_mut().and_then(|find| find.seeking.take()) else { return };
        let places = self.find.as_ref().map(|find| find.places()).unwrap_or_default();
        let is_in = |segment| move |place: &&Occurrence| Segment::of(place.entry) == segment;
        let beyond = match seeking.step {
            FindStep::Older => places.iter().rev().find(is_in(Segment::Head)),
            FindStep::Newer => places.iter().find(is_in(Segment::Sent)),
        };
        let is_first = self.find.as_ref().is_some_and(|find| find.current.is_none());
        match beyond.copied() {
            Some(place) => self.go_to(Some(place)),
            // The part above the screen has been searched; the part below is left.
            None if is_first && self.has_gap() && !seeking.has_wrapped => {
                let (step, from) = (FindStep::Newer, self.window.after());
                self.seek(Seeking { step, from, has_wrapped: true });
            }
            None if seeking.has_wrapped => {}
            None => self.continue_find(seeking.step, None, true),
        }
    }
}
