//! Hints on the screen about keys and commands come from the key map and the list of commands.

use std::sync::Arc;

use tau::agent::protocol::event::{Delta, TaskEvent};
use tau::app::boot::Boot;
use tau::app::geometry::Size;
use tau::app::slash::{CommandRow, Commands, Slash};
use tau::app::{Effect, Msg};

use crate::harness::{Screen, boot, text};

fn rebound(keys: &[(&str, &[&str])]) -> Screen {
    let owned = |keys: &&[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    let keys = keys.iter().map(|(action, keys)| ((*action).to_owned(), owned(keys))).collect();
    Screen::boot(Boot { keys, ..boot() })
}

/// A screen with a running agent that is thinking.
fn at_work(mut screen: Screen) -> String {
    screen.run();
    screen.delta(Delta::ThinkingStart { content_index: 0 });
    screen.delta(Delta::ThinkingDelta { content_index: 0, delta: "hm".into() });
    screen.keys("<ctrl+t>");
    text(&screen.draw())
}

#[test]
fn a_rebound_key_is_the_one_that_hints_name() {
    let frame = at_work(rebound(&[]));
    for hint in
        ["esc stops", "steer with enter, queue with alt+enter, stop with esc", "? keys", "ctrl+t to show"]
    {
        assert!(frame.contains(hint), "{hint}: {frame}");
    }
    let keys: &[(&str, &[&str])] =
        &[("cancel", &["f5"]), ("follow-up", &[]), ("help", &["f6"]), ("toggle-thinking", &["ctrl+t", "f7"])];
    let frame = at_work(rebound(keys));
    for hint in ["f5 stops", "steer with enter, stop with f5", "? keys", "ctrl+t to show"] {
        assert!(frame.contains(hint), "{hint}: {frame}");
    }
    assert!(!frame.contains("esc") && !frame.contains("alt+enter"), "{frame}");
    let frame = at_work(rebound(&[("cancel", &[])]));
    assert!(!frame.contains("stops") && !frame.contains("(no key)"), "{frame}");
}

#[test]
fn a_notice_names_the_rebound_key() {
    let mut screen = rebound(&[("exit", &["f8"])]);
    screen.agent(TaskEvent::Stopped);
    assert!(text(&screen.draw()).contains("quit with f8"), "{}", text(&screen.draw()));
}

#[test]
fn a_command_from_elsewhere_is_completed_listed_and_run() {
    let row = CommandRow {
        slash: Slash::Quit,
        name: "zap".into(),
        arguments: "".into(),
        help: "a command from a file".into(),
        completes_arguments: false,
    };
    let mut screen = Screen::new().with_commands(Arc::new(Commands::new(vec![row])));
    screen.keys("/za");
    assert!(text(&screen.draw()).contains("a command from a file"));
    screen.take_effects();
    screen.keys("<enter>");
    assert!(screen.take_effects().contains(&Effect::Quit));
    screen.keys("<f1><end>");
    assert!(text(&screen.draw()).contains("/zap"));
}

#[test]
fn all_keys_fit_on_one_large_screen_or_two_small_ones() {
    let mut screen = Screen::new();
    screen.send(Msg::Resized(Size { width: 120, height: 40 }));
    screen.keys("<f1>");
    let large = text(&screen.draw());
    for shown in ["send, or steer", "panel", "ctrl+_/alt+_", "!!command", "/quit"] {
        assert!(large.contains(shown), "{shown}: {large}");
    }
    assert!(!large.contains('…') && !large.contains("1–"), "{large}");
    screen.send(Msg::Resized(Size { width: 80, height: 24 }));
    let first = text(&screen.draw());
    screen.keys("<pagedown>");
    let second = text(&screen.draw());
    assert!(first.contains("send, or steer") && second.contains("/quit"), "{first}{second}");
    assert!(!first.contains('…') && !second.contains('…'), "{first}{second}");
}
