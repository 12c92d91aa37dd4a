//! The window on a long history: wherever the user looks, pages are loaded and dropped, and the view is the
//! same as if everything were loaded.

use std::sync::Arc;

use tau::agent::AgentCommand;
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::{SessionEvent, TaskEvent};
use tau::agent::protocol::message::{Block, Message, StopReason};
use tau::agent::protocol::query::{HistoryPage, PageFrom, PageGoal, Query, QueryAnswer};
use tau::app::Effect;
use tau::app::geometry::ScrollPosition;
use tau::app::transcript::window::HISTORY_BYTES;

use crate::harness::{Screen, assistant, text, user};

/// The number of messages in a page.
const PAGE: usize = 100;
/// The number of bytes of an answer that are not drawn.
const HIDDEN: usize = 4_000;

/// An agent with a long session: every tenth message is a prompt.
struct Agent {
    history: Vec<Arc<Message>>,
    /// The positions of the sent pages.
    sent: Vec<(usize, usize)>,
}

impl Agent {
    fn new(count: usize) -> Self {
        let answer = |at: usize| {
            // It is larger than its visible part.
            let thinking = Block::Thinking {
                thinking: " ".into(),
                thinking_signature: Some("x".repeat(HIDDEN)),
                redacted: false,
            };
            assistant(vec![thinking, Block::text(format!("answer {at}."))], StopReason::Stop)
        };
        let message =
            |at: usize| if at.is_multiple_of(10) { user(&format!("prompt {at}.")) } else { answer(at) };
        Agent { history: (0..count).map(message).map(Arc::new).collect(), sent: Vec::new() }
    }

    /// A screen that has opened the session: the last messages are loaded.
    fn open(&mut self) -> Screen {
        let mut screen = Screen::new();
        let (session, titles) = Default::default();
        let messages = (0..30).map(|at| Arc::new(user(&format!("late {at}.")))).collect();
        screen.agent(SessionEvent::SessionOpened { session, messages, titles });
        screen.agent(SessionEvent::HistoryAvailable { left: self.history.len() as u64 });
        screen
    }

    /// Answers the screen's requests until there are none; returns their number.
    fn serve(&mut self, screen: &mut Screen) -> usize {
        for count in 0..200 {
            screen.draw();
            let wanted = screen.take_effects().into_iter().find_map(|effect| match effect {
                Effect::Agent(AgentCommand::Task(TaskCommand::Query {
                    query: Query::HistoryPage { from, goal },
                    ..
                })) => Some((from, goal)),
                _ => None,
            });
            let Some((from, goal)) = wanted else { return count };
            let page = self.page(from, &goal);
            screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::HistoryPage(page)) });
            let loaded = screen.model().transcript.history_bytes();
            assert!(loaded <= HISTORY_BYTES, "{loaded} bytes are loaded");
        }
        panic!("it never stops asking");
    }

    fn page(&mut self, from: PageFrom, goal: &PageGoal) -> HistoryPage {
        let all = self.history.len();
        let (range, back) = match from {
            PageFrom::Before { position } => (0..position.map_or(all, |position| position as usize), true),
            PageFrom::After { position } => (position as usize..all, false),
        };
        let nearest = |test: &dyn Fn(usize) -> bool| {
            if back { range.clone().rfind(|at| test(*at)) } else { range.clone().find(|at| test(*at)) }
        };
        let place = match goal {
            PageGoal::Next if back => Some((range.end.saturating_sub(PAGE).max(range.start), range.end)),
            PageGoal::Next => Some((range.start, (range.start + PAGE).min(range.end))),
            PageGoal::Prompt => {
                nearest(&|at| at.is_multiple_of(10)).map(|at| (at, (at + PAGE).min(range.end)))
            }
            PageGoal::Text { text } => {
                nearest(&|at| crate::fake::said(&self.history[at]).contains(text.as_str()))
                    .map(|at| (at.saturating_sub(PAGE / 2).max(range.start), (at + PAGE / 2).min(range.end)))
            }
        };
        let Some((start, end)) = place else { return HistoryPage::default() };
        self.sent.push((start, end));
        HistoryPage {
            messages: self.history[start..end].to_vec(),
            left: (start > 0).then_some(start as u64),
            after: (end < all).then_some((all - end) as u64),
            start: start as u64,
            end: end as u64,
            ..HistoryPage::default()
        }
    }
}

fn shows(screen: &mut Screen, what: &str) {
    let shown = text(&screen.draw());
    assert!(shown.contains(what), "no {what:?} in\n{shown}");
}

/// The numbers of the answers on the screen, from top to bottom.
fn numbers(screen: &mut Screen) -> Vec<usize> {
    let shown = text(&screen.draw());
    let words: Vec<&str> = shown.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "answer");
    pairs.filter_map(|pair| pair[1].strip_suffix('.')?.parse().ok()).collect()
}

#[test]
fn home_and_end_load_one_page_however_long_the_session_is() {
    let mut agent = Agent::new(50_000);
    let mut screen = agent.open();
    screen.keys("<ctrl+home>");
    assert_eq!(agent.serve(&mut screen), 1);
    shows(&mut screen, "prompt 0.");
    assert!(!text(&screen.draw()).contains("earlier messages"));
    screen.keys("<ctrl+end>");
    assert_eq!(agent.serve(&mut screen), 0);
    shows(&mut screen, "late 29.");
    screen.keys("<ctrl+home>");
    assert_eq!(agent.serve(&mut screen), 0, "it is still there");
    shows(&mut screen, "prompt 0.");
}

#[test]
fn what_is_far_from_the_view_is_dropped_and_comes_again() {
    let mut agent = Agent::new(5_000);
    let mut screen = agent.open();
    // Down from the top: everything is seen once, in order, and the end is reached.
    screen.keys("<ctrl+home>");
    agent.serve(&mut screen);
    let mut last = None;
    for _ in 0..20_000 {
        for at in numbers(&mut screen) {
            assert!(last.is_none_or(|last| at <= last + 2), "{at} comes after {last:?}");
            last = last.max(Some(at));
        }
        screen.keys("<pagedown>");
        agent.serve(&mut screen);
        if screen.model().transcript.position == ScrollPosition::Tail {
            break;
        }
    }
    assert_eq!(last, Some(4_999));
    shows(&mut screen, "late 29.");
    let pages = agent.sent.len();
    assert!((50..56).contains(&pages), "{pages} pages of {PAGE}");
    // And up again: the start was dropped.
    let mut first = usize::MAX;
    for _ in 0..20_000 {
        for at in numbers(&mut screen).into_iter().rev() {
            assert!(first == usize::MAX || at + 2 >= first, "{at} comes before {first}");
            first = first.min(at);
        }
        if first == 1 {
            break;
        }
        screen.keys("<pageup>");
        agent.serve(&mut screen);
    }
    assert_eq!(first, 1);
    assert!(agent.sent.len() > pages + 20, "{} pages", agent.sent.len());
}

#[test]
fn nothing_moves_when_pages_come_and_go() {
    let mut agent = Agent::new(10_000);
    let mut screen = agent.open();
    for (key, count) in [("<pageup>", 600), ("<pagedown>", 300), ("<pageup>", 100)] {
        for _ in 0..count {
            screen.keys(key);
            let before = numbers(&mut screen);
            agent.serve(&mut screen);
            assert_eq!(numbers(&mut screen), before);
        }
    }
}

#[test]
fn what_comes_live_goes_to_the_end_wherever_the_view_is() {
    let mut agent = Agent::new(10_000);
    let mut screen = agent.open();
    screen.keys("<ctrl+home>");
    agent.serve(&mut screen);
    screen.user("something new");
    screen.answer("an answer to it", 100);
    agent.serve(&mut screen);
    shows(&mut screen, "prompt 0.");
    shows(&mut screen, "2 new messages");
    screen.keys("<ctrl+end>");
    agent.serve(&mut screen);
    shows(&mut screen, "an answer to it");
    screen.keys("<pageup>");
    agent.serve(&mut screen);
    assert!(!text(&screen.draw()).contains("new messages"));
}

#[test]
fn prompts_that_are_not_loaded_are_jumped_to() {
    let mut agent = Agent::new(50_000);
    let mut screen = agent.open();
    screen.keys("<ctrl+home>");
    agent.serve(&mut screen);
    let before = agent.sent.len();
    for at in 0..50 {
        screen.keys("<ctrl+down>");
        agent.serve(&mut screen);
        shows(&mut screen, &format!("prompt {}.", at * 10));
    }
    assert!(agent.sent.len() - before < 8, "pages, not messages: {}", agent.sent.len());
    screen.keys("<ctrl+end>");
    let is_top = |screen: &mut Screen| text(&screen.draw()).lines().next().unwrap().contains("late 0.");
    for _ in 0..30 {
        if !is_top(&mut screen) {
            screen.keys("<ctrl+up>");
            agent.serve(&mut screen);
        }
    }
    assert!(is_top(&mut screen));
    for at in (49_800..50_000).rev().filter(|at| at % 10 == 0) {
        screen.keys("<ctrl+up>");
        agent.serve(&mut screen);
        shows(&mut screen, &format!("prompt {at}."));
        assert_eq!(numbers(&mut screen).first(), Some(&(at + 1)));
    }
    for keys in ["<ctrl+home>", "<ctrl+up>"] {
        screen.keys(keys);
        agent.serve(&mut screen);
        shows(&mut screen, "prompt 0.");
    }
}

#[test]
fn what_is_far_away_is_found_in_both_directions() {
    let mut agent = Agent::new(50_000);
    for at in [40, 20_005, 20_015, 45_000] {
        agent.history[at] = Arc::new(user(&format!("a quince {at}.")));
    }
    let mut screen = agent.open();
    screen.keys("<ctrl+f>quince");
    agent.serve(&mut screen);
    shows(&mut screen, "a quince 45000.");
    screen.keys("<enter>");
    for at in [20_015, 20_005, 40] {
        screen.keys("n");
        agent.serve(&mut screen);
        shows(&mut screen, &format!("a quince {at}."));
    }
    screen.keys("n");
    agent.serve(&mut screen);
    shows(&mut screen, "a quince 45000.");
    for at in [40, 20_005, 20_015, 45_000, 40] {
        screen.keys("N");
        agent.serve(&mut screen);
        shows(&mut screen, &format!("a quince {at}."));
    }
    shows(&mut screen, "1 of 1+");
    assert!(agent.sent.len() < 20, "{}", agent.sent.len());
    screen.keys("<esc><ctrl+f>medlar");
    agent.serve(&mut screen);
    shows(&mut screen, "no matches");
    screen.keys("<esc>");
    agent.serve(&mut screen);
}

#[test]
fn who_goes_elsewhere_while_a_page_is_read_stays_there() {
    let mut agent = Agent::new(50_000);
    let mut screen = agent.open();
    screen.keys("<ctrl+home>");
    agent.serve(&mut screen);
    screen.keys("<ctrl+f>late 3<enter>");
    screen.keys("/<ctrl+u>answer 49997");
    screen.keys("<esc><esc>");
    let before = text(&screen.draw());
    agent.serve(&mut screen);
    assert_eq!(text(&screen.draw()), before);
}
