//! Keys that begin with ctrl+x, for terminals that send no Alt.

use tau::agent::AgentCommand;
use tau::agent::protocol::command::{Queue, RunCommand};
use tau::app::{Effect, Msg};

use crate::approvals::{answers, command_request, waiting};
use crate::harness::{Screen, text};

fn shown(screen: &mut Screen) -> String {
    text(&screen.draw())
}

#[test]
fn a_second_key_is_asked_for_and_does_what_it_means() {
    let mut screen = Screen::new();
    screen.keys("<ctrl+x>");
    let frame = shown(&mut screen);
    assert!(frame.contains("ctrl+x and: ") && frame.contains("answer"), "{frame}");
    // It types nothing, and Ctrl may still be held.
    screen.keys("x");
    assert!(shown(&mut screen).contains("Commands and actions"), "{}", shown(&mut screen));
    screen.keys("<esc><ctrl+x><ctrl+h>");
    let frame = shown(&mut screen);
    assert!(frame.contains("Keys and commands") && frame.contains("?/f1"), "{frame}");
    screen.keys("<esc>");
    assert!(screen.model().composer.is_empty());
    // An unbound key says so and types nothing; the next key is normal again.
    screen.keys("<ctrl+x>vv");
    let frame = shown(&mut screen);
    assert!(frame.contains("ctrl+x v does nothing; ? lists the keys") && frame.contains("> v"), "{frame}");
    screen.keys("<ctrl+x>");
    screen.send(Msg::Paste("pasted ".into()));
    screen.keys("t");
    assert!(shown(&mut screen).contains("> vpasted t"), "{}", shown(&mut screen));
}

#[test]
fn escape_leaves_it_and_stops_nothing() {
    let mut screen = Screen::new();
    screen.user("go");
    screen.run();
    screen.take_effects();
    screen.keys("<ctrl+x><esc>");
    assert_eq!(screen.take_effects(), []);
    assert!(!shown(&mut screen).contains("ctrl+x"), "{}", shown(&mut screen));
    // A message is queued without Alt.
    screen.keys("later<ctrl+x><enter>");
    let is_queued = |effect: &Effect| {
        matches!(
            effect,
            Effect::Agent(AgentCommand::Run(RunCommand::Prompt { streaming: Queue::FollowUp, .. }))
        )
    };
    assert!(screen.take_effects().iter().any(is_queued));
    assert!(screen.model().composer.is_empty());
}

#[test]
fn it_answers_no_prompt_but_steps_aside() {
    let mut screen = waiting(command_request("a1", "rm -rf build", (0, 12)));
    for key in ["y", "n", "a", "1", "<enter>", "e", "<esc>"] {
        screen.keys("<ctrl+x>");
        screen.keys(key);
        if key == "a" {
            // It is the key that writes first; pressed again, the prompt takes keys once more.
            assert!(shown(&mut screen).contains("waiting"), "{}", shown(&mut screen));
            screen.keys("<ctrl+x>a");
            crate::approvals::pause(&mut screen);
        }
    }
    assert_eq!(answers(&mut screen), []);
    screen.keys("y");
    assert_eq!(answers(&mut screen).len(), 1);
}
