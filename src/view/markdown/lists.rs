//! Lists: bullets and numbers, loose and tight ones, task lists.

use pulldown_cmark::{Event, Tag};
use ratatui::text::Line;

use super::Writer;
use crate::theme::ThemeToken;

/// The bullets of unordered lists, by depth.
const BULLETS: [&str; 3] = ["• ", "◦ ", "– "];

/// The facts about a list that are needed before its items.
#[derive(Clone, Copy, Default)]
pub(super) struct ListFacts {
    items: u64,
    /// True if its items are separated by empty lines.
    loose: bool,
}

/// The facts about each list, in the order in which they begin.
pub(super) fn list_facts(events: &[Event<'_>]) -> Vec<ListFacts> {
    let mut facts: Vec<ListFacts> = Vec::new();
    let mut open: Vec<(&Tag<'_>, usize)> = Vec::new();
    for event in events {
        match event {
            Event::Start(tag) => {
                let list = open.last().map(|(_, list)| *list);
                if matches!(tag, Tag::List(_)) {
                    facts.push(ListFacts::default());
                    open.push((tag, facts.len() - 1));
                    continue;
                }
                let in_item = matches!(open.last(), Some((Tag::Item, _)));
                if let Some(facts) = list.and_then(|list| facts.get_mut(list)) {
                    facts.items += u64::from(matches!(tag, Tag::Item));
                    facts.loose |= in_item && matches!(tag, Tag::Paragraph);
                }
                open.push((tag, list.unwrap_or(usize::MAX)));
            }
            Event::End(_) => drop(open.pop()),
            _ => {}
        }
    }
    facts
}

/// A list that is being written.
pub(super) struct List {
    /// The number of the next item; `None` for bullets.
    pub(super) number: Option<u64>,
    /// The number of digits of the last number.
    digits: usize,
    pub(super) loose: bool,
}

/// The state of a task in a list.
pub(super) enum Task {
    Open,
    Done,
}

impl Writer<'_> {
    pub(super) fn start_list(&mut self, first: Option<u64>) {
        self.flush();
        let facts = self.facts.next().unwrap_or_default();
        let last = first.unwrap_or(0).saturating_add(facts.items.saturating_sub(1));
        self.lists.push(List { number: first, digits: last.to_string().len(), loose: facts.loose });
    }

    pub(super) fn start_item(&mut self) {
        self.start_block();
        let bullets = self.lists.iter().filter(|list| list.number.is_none()).count();
        let marker = match self.lists.last_mut() {
            Some(List { number: Some(number), digits, .. }) => {
                let marker = format!("{number:>digits$}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => BULLETS.get(bullets.saturating_sub(1) % BULLETS.len()).copied().unwrap_or("• ").to_owned(),
        };
        self.enclose(marker, ThemeToken::ListMarker);
    }

    pub(super) fn end_item(&mut self) {
        self.flush();
        if self.enclosing.last().is_some_and(|item| !item.begun) {
            self.write(vec![Line::default().into()]);
        }
        self.enclosing.pop();
        self.gap = self.lists.last().is_some_and(|list| list.loose);
    }

    /// Replaces the bullet of the item with a checkbox.
    pub(super) fn task(&mut self, task: Task) {
        self.enclosing.pop();
        match task {
            Task::Done => self.enclose("☑ ".to_owned(), ThemeToken::Success),
            Task::Open => self.enclose("☐ ".to_owned(), ThemeToken::ListMarker),
        }
    }
}
