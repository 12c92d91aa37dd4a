//! Search in the transcript: matches are brought onto the screen, marked and counted, even if folded or not
//! loaded.

use std::sync::Arc;

use ratatui::style::Style;
use tau::agent::protocol::event::{SessionEvent, ShellEvent, TaskEvent};
use tau::agent::protocol::message::Message;
use tau::agent::protocol::query::{HistoryPage, QueryAnswer};
use tau::app::Msg;
use tau::app::geometry::ScrollPosition;
use tau::view::theme::{Theme, ThemeToken};

use crate::earlier::asked;
use crate::harness::{Screen, text, user};

fn said(words: &[String]) -> Vec<Arc<Message>> {
    words.iter().map(|text| Arc::new(user(text))).collect()
}

/// 60 messages; those divisible by 20 mention an apple.
fn orchard() -> Screen {
    let mut screen = Screen::new();
    let name = |at: usize| if at.is_multiple_of(20) { "Apple" } else { "pear" };
    let words: Vec<String> = (0..60).map(|at| format!("{} number {at}", name(at))).collect();
    let (session, titles) = Default::default();
    screen.agent(SessionEvent::SessionOpened { session, messages: said(&words), titles });
    screen
}

fn shown(screen: &mut Screen) -> String {
    text(&screen.draw())
}

/// The texts on the screen with this style.
fn marked(screen: &mut Screen, token: ThemeToken) -> String {
    let buffer = screen.draw();
    let style: Style = Theme::default().style(token);
    let same = |cell: &&ratatui::buffer::Cell| Some(cell.bg) == style.bg && Some(cell.fg) == style.fg;
    buffer.content().iter().filter(same).map(|cell| cell.symbol()).collect()
}

#[test]
fn the_search_goes_up_from_the_screen_and_counts() {
    let mut screen = orchard();
    screen.keys("<ctrl+f>apple");
    let first = shown(&mut screen);
    assert!(first.contains("Apple number 40") && first.contains("3 of 3"), "{first}");
    assert_eq!(marked(&mut screen, ThemeToken::MatchMark), "Apple");
    screen.keys("<enter>n");
    let second = shown(&mut screen);
    assert!(second.contains("Apple number 20") && second.contains("2 of 3"), "{second}");
    screen.keys("<enter>");
    assert!(shown(&mut screen).contains("1 of 3"));
    screen.keys("n");
    assert!(shown(&mut screen).contains("3 of 3"), "it begins again at the other end");
    screen.keys("N");
    assert!(shown(&mut screen).contains("1 of 3"));
    screen.keys("N");
    assert!(shown(&mut screen).contains("2 of 3"));
    screen.keys("<up>");
    assert!(shown(&mut screen).contains("1 of 3"));
    screen.keys("<down>");
    assert!(shown(&mut screen).contains("2 of 3"));
    screen.keys("<esc>");
    let stays = shown(&mut screen);
    assert!(stays.contains("Apple number 20") && stays.contains("ask for something"), "{stays}");
}

#[test]
fn a_jump_before_the_match_was_drawn_counts() {
    let mut screen = orchard();
    shown(&mut screen);
    screen.keys("<ctrl+f>apple<enter><ctrl+end>");
    let last = shown(&mut screen);
    assert!(last.contains("pear number 59") && !last.contains("Apple number 40"), "{last}");
}

#[test]
fn escape_goes_back_while_the_query_is_typed() {
    let mut screen = orchard();
    let before = shown(&mut screen);
    screen.keys("<ctrl+f>apple number 0");
    assert!(shown(&mut screen).contains("Apple number 0"));
    screen.keys("<esc>");
    assert_eq!(shown(&mut screen), before);
    assert_eq!(screen.model().transcript.position, ScrollPosition::Tail);
}

#[test]
fn capitals_and_what_is_not_there() {
    let mut screen = orchard();
    screen.keys("<ctrl+f>aPPle");
    assert!(shown(&mut screen).contains("no matches"));
    screen.keys("<ctrl+u>Apple");
    assert!(shown(&mut screen).contains("3 of 3"));
    screen.keys("<ctrl+u>");
    assert!(!shown(&mut screen).contains("matches"));
    assert_eq!(marked(&mut screen, ThemeToken::MatchMark), "");
    screen.keys("n<enter>n<pageup>");
    assert!(shown(&mut screen).contains("of 60"), "typed letters are the query");
}

#[test]
fn what_is_typed_is_for_the_query_and_once_it_is_confirmed_for_the_draft() {
    let mut screen = orchard();
    screen.keys("draft<ctrl+f>pear<esc>");
    assert_eq!(screen.model().composer.text(), "draft");
    for (typed, draft) in
        [("nnN<enter>", "draft"), ("xyz", "draftxyz"), ("next", "draftnext"), (" go", "draft go")]
    {
        let mut screen = orchard();
        screen.keys(&format!("draft<ctrl+f>pear<enter>{typed}"));
        assert_eq!(screen.model().composer.text(), draft, "{typed}");
        assert_eq!(screen.model().transcript.find.is_some(), draft == "draft", "{typed}");
    }
    let mut screen = orchard();
    screen.keys("<ctrl+f>pear<enter>");
    screen.send(Msg::Paste("pasted".into()));
    assert_eq!(screen.model().composer.text(), "pasted");
}

fn page(screen: &mut Screen, words: &[&str], left: Option<u64>) {
    let messages = said(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let page = HistoryPage { messages, left, ..HistoryPage::default() };
    screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::HistoryPage(page)) });
}

#[test]
fn earlier_messages_are_loaded_until_one_matches() {
    let mut screen = orchard();
    screen.agent(SessionEvent::HistoryAvailable { left: 500 });
    assert_eq!(asked(&mut screen), 0);
    screen.keys("<ctrl+f>quince");
    assert!(shown(&mut screen).contains("searching earlier messages…"));
    assert_eq!(asked(&mut screen), 1);
    page(&mut screen, &["a plum", "a cherry"], Some(400));
    assert_eq!(asked(&mut screen), 1, "no match yet");
    page(&mut screen, &["a quince", "a cherry"], Some(300));
    let found = shown(&mut screen);
    assert!(found.contains("a quince") && found.contains("1 of 1+"), "{found}");
    screen.keys("<enter>n");
    assert!(asked(&mut screen) <= 1);
    page(&mut screen, &["another quince"], None);
    let found = shown(&mut screen);
    assert!(found.contains("another quince") && found.contains("1 of 2 "), "{found}");
    screen.keys("<esc><ctrl+f>medlar");
    assert!(shown(&mut screen).contains("no matches"));
    assert_eq!(asked(&mut screen), 0, "there are no more");
}

#[test]
fn what_a_running_command_writes_is_found_as_it_comes() {
    let mut screen = Screen::new();
    let id = Some("1".to_owned());
    let (command, exclude_from_context, size) = ("make".to_owned(), false, Some((77, 24)));
    screen.agent(ShellEvent::BashStart {
        id: id.clone(),
        command,
        exclude_from_context,
        size,
        without_sandbox: false,
    });
    let write = |screen: &mut Screen, delta: String| {
        screen.agent(ShellEvent::BashExecutionUpdate { id: id.clone(), delta });
    };
    let lines: String = (1..=600).map(|n| format!("pear {n}\r\n")).collect();
    write(&mut screen, format!("an apple\r\n{lines}"));
    screen.keys("<ctrl+f>apple");
    let early = shown(&mut screen);
    assert!(early.contains("1 of 1") && early.contains("an apple"), "far above what is drawn: {early}");
    write(&mut screen, "one more apple\r\n".into());
    assert!(shown(&mut screen).contains("1 of 2"), "{}", shown(&mut screen));
    screen.keys("<down>");
    let late = shown(&mut screen);
    assert!(late.contains("2 of 2") && late.contains("one more apple"), "{late}");
}
