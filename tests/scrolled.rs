//! Decorations of a scrolled transcript: the prompt, the scroll bar, new content.

use std::sync::Arc;

use tau::agent::AgentCommand;
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::{SessionEvent, TaskEvent};
use tau::agent::protocol::message::{Block, Message, StopReason};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::protocol::undo::UndoPlan;
use tau::app::key::{Mods, Mouse, MouseKind};
use tau::app::{Effect, Msg};

use crate::harness::{Screen, assistant, text, user};

/// A prompt with a long answer, several times.
fn long() -> Screen {
    let mut screen = Screen::new();
    for name in ["first", "second"] {
        screen.user(&format!("the {name} question\nof two lines"));
        let answer: String = (0..60).map(|at| format!("{name} answer {at}\n\n")).collect();
        screen.answer(&answer, 500);
    }
    screen
}

fn shown(screen: &mut Screen) -> Vec<String> {
    text(&screen.draw()).lines().map(|row| row.trim_end().to_owned()).collect()
}

fn thumb(rows: &[String]) -> Vec<usize> {
    rows.iter().enumerate().filter(|(_, row)| row.ends_with('┃')).map(|(at, _)| at).collect()
}

#[test]
fn the_prompt_stays_in_sight_while_its_answer_is_read() {
    let mut screen = long();
    let at_end = shown(&mut screen);
    assert!(!at_end.iter().any(|row| row.contains("question")) && thumb(&at_end).is_empty(), "{at_end:#?}");
    screen.keys("<pageup>");
    let rows = shown(&mut screen);
    assert!(rows[0].starts_with("▌ the second question "), "{rows:#?}");
    assert!(!rows[0].contains("of two lines"));
    screen.keys("<ctrl+up>");
    let rows = shown(&mut screen);
    let own = rows.iter().filter(|row| row.contains("the second question")).count();
    assert_eq!(own, 1, "its own row is on the screen: {rows:#?}");
    screen.keys("<shift+up><shift+up><shift+up>");
    let rows = shown(&mut screen);
    assert!(rows[0].starts_with("▌ the first question"), "{rows:#?}");
    screen.keys("<ctrl+home>");
    assert!(!shown(&mut screen)[0].contains("question"), "no prompt is above");
}

/// Another screen goes back or forward in the conversation: what is read here stays, as far as it is still there.
#[test]
fn the_place_stays_when_the_conversation_is_opened_again_elsewhere() {
    let long_answer =
        |name: usize| -> String { (0..60).map(|at| format!("answer {name}.{at}\n\n")).collect() };
    let said = |count: usize| -> Vec<Arc<Message>> {
        let turn = |at: usize| {
            let answer = vec![Block::text(long_answer(at))];
            // The same prompt each time.
            [user("go"), assistant(answer, StopReason::Stop)].map(Arc::new)
        };
        (0..count).flat_map(turn).collect()
    };
    let open = |screen: &mut Screen, count: usize| {
        let (session, titles) = Default::default();
        screen.agent(SessionEvent::SessionOpened { session, messages: said(count), titles });
    };
    let mut screen = Screen::new();
    open(&mut screen, 4);
    screen.keys("<ctrl+home>");
    (0..8).for_each(|_| screen.keys("<pagedown>"));
    let read = shown(&mut screen);
    assert!(read.iter().any(|row| row.contains("answer 1.")), "{read:#?}");
    for count in [3, 2, 4] {
        open(&mut screen, count);
        let now = shown(&mut screen);
        assert_eq!(now[1], read[1], "{count}: {now:#?}");
    }
    // It is gone.
    open(&mut screen, 1);
    assert!(shown(&mut screen).iter().any(|row| row.contains("answer 0.59")));
    // One's own command shows the end.
    open(&mut screen, 4);
    screen.keys("<ctrl+home>/redo<enter>");
    let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Task(TaskCommand::Query { ticket, query: Query::UndoPlan { .. } })) => {
            Some(ticket)
        }
        _ => None,
    });
    let answer = Ok(QueryAnswer::UndoPlan(UndoPlan::default()));
    screen.agent(TaskEvent::Answered { ticket: ticket.unwrap(), answer });
    open(&mut screen, 4);
    assert!(shown(&mut screen).iter().any(|row| row.contains("answer 3.59")));
}

#[test]
fn the_scroll_bar_says_where_the_screen_is() {
    let mut screen = long();
    screen.keys("<ctrl+home>");
    let top = thumb(&shown(&mut screen));
    assert_eq!(top.first(), Some(&0));
    let mut before = top;
    for _ in 0..4 {
        screen.keys("<pagedown>");
        let now = thumb(&shown(&mut screen));
        assert!(!now.is_empty() && now >= before, "{now:?} after {before:?}");
        before = now;
    }
    assert!(before[0] > 0);
    screen.keys("<ctrl+end>");
    assert_eq!(thumb(&shown(&mut screen)), [0_usize; 0]);
}

#[test]
fn new_messages_are_counted_and_the_key_is_named() {
    let mut screen = long();
    screen.keys("<pageup>");
    let last = |screen: &mut Screen, text: &str| {
        let rows = shown(screen);
        assert!(rows.iter().any(|row| row.ends_with(text)), "{text}: {rows:#?}");
    };
    last(&mut screen, "↓ end · ctrl+end");
    screen.answer("more", 10);
    last(&mut screen, "↓ 1 new message · ctrl+end");
    screen.user("and");
    last(&mut screen, "↓ 2 new messages · ctrl+end");
    screen.keys("<ctrl+end>");
    assert!(!shown(&mut screen).iter().any(|row| row.contains("ctrl+end")));
}

#[test]
fn the_wheel_scrolls_what_is_on_top() {
    let mut screen = long();
    let wheel = |screen: &mut Screen, kind| {
        let mouse = Mouse { kind, column: 10, row: 5, mods: Mods::NONE };
        screen.send(Msg::Mouse(mouse));
        shown(screen)
    };
    let at_end = shown(&mut screen);
    for list in ["<f1>", "/theme<enter>", "/btw what is this?<enter>"] {
        screen.keys(list);
        let open = shown(&mut screen);
        for _ in 0..10 {
            wheel(&mut screen, MouseKind::ScrollUp);
        }
        assert_eq!(shown(&mut screen), open, "{list}");
        if !list.starts_with("/btw") {
            let before = screen.model().overlays.clone();
            wheel(&mut screen, MouseKind::ScrollDown);
            assert_ne!(screen.model().overlays, before, "{list}");
        }
        screen.keys("<esc>");
        assert_eq!(shown(&mut screen).first(), at_end.first(), "{list}");
    }
    // The help turns back at its end at once.
    screen.keys("<f1>");
    for _ in 0..100 {
        wheel(&mut screen, MouseKind::ScrollDown);
    }
    let end = shown(&mut screen);
    screen.keys("<up>");
    assert_ne!(shown(&mut screen), end);
    screen.keys("<esc>");
    assert_ne!(wheel(&mut screen, MouseKind::ScrollUp).first(), at_end.first());
}
