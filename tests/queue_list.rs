//! The list of queued messages: the requests of its keys to the agent, and what happens if the agent is
//! faster.

use tau::agent::AgentCommand;
use tau::agent::protocol::command::{Queue, QueueChange, QueueCommand, QueuedMessage, RunCommand};
use tau::agent::protocol::event::QueueEvent;
use tau::app::{Effect, Msg};

use crate::harness::{Screen, text};

fn queued(screen: &mut Screen, steering: &[&str], follow_up: &[&str]) {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    screen.agent(QueueEvent::QueueUpdate { steering: owned(steering), follow_up: owned(follow_up) });
}

pub(crate) fn working(steering: &[&str], follow_up: &[&str]) -> Screen {
    let mut screen = Screen::new();
    screen.run();
    queued(&mut screen, steering, follow_up);
    screen.take_effects();
    screen
}

fn changes(screen: &mut Screen) -> Vec<(QueuedMessage, QueueChange)> {
    let change = |effect| match effect {
        Effect::Agent(AgentCommand::Queue(QueueCommand::ChangeQueued { message, change })) => {
            Some((message, change))
        }
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(change).collect()
}

fn at(queue: Queue, index: usize, text: &str) -> QueuedMessage {
    QueuedMessage { queue, index, text: text.into() }
}

fn replace(text: &str) -> QueueChange {
    QueueChange::Replace { text: text.into(), images: Vec::new() }
}

#[test]
fn keys_change_the_selected_message() {
    use QueueChange::{Move, Remove, Requeue, SendNow};
    let last = || at(Queue::FollowUp, 0, "c");
    let second = || at(Queue::Steer, 1, "b");
    for (keys, message, change) in [
        ("<alt+up>d", last(), Remove),
        ("<alt+up><delete>", last(), Remove),
        ("<up><up>d", second(), Remove),
        ("<alt+up><up><shift+up>", second(), Move { by: -1 }),
        ("<alt+up><up><shift+down>", second(), Move { by: 1 }),
        ("<alt+up><up><tab>", second(), Requeue { queue: Queue::FollowUp }),
        ("<alt+up><tab>", last(), Requeue { queue: Queue::Steer }),
        ("<alt+up><home>s", at(Queue::Steer, 0, "a"), SendNow),
        ("<alt+up><enter> more<enter>", last(), replace("c more")),
        ("<alt+up><up><enter>/x<alt+enter>", second(), replace("b/x")),
        ("<alt+up>e<wait>xit<enter>", last(), replace("cxit")),
        ("<alt+up>e<wait> MORE<enter>", last(), replace("c MORE")),
    ] {
        let mut screen = working(&["a", "b"], &["c"]);
        for keys in keys.split("<wait>") {
            screen.wait(500);
            screen.keys(keys);
        }
        // A letter may begin a word.
        screen.wait(500);
        assert_eq!(changes(&mut screen), [(message, change)], "{keys}");
    }
}

#[test]
fn without_a_queue_there_is_no_list() {
    let mut screen = working(&[], &[]);
    screen.keys("<alt+up>");
    assert!(text(&screen.draw()).contains("no messages are queued"));
    let mut screen = working(&["a"], &[]);
    screen.keys("<alt+up>");
    queued(&mut screen, &[], &[]);
    assert!(screen.model().overlays.is_empty());
    screen.keys("d");
    assert_eq!(screen.model().composer.text(), "d");
}

#[test]
fn words_typed_at_the_list_are_for_the_draft() {
    for words in
        ["do it now", "send it", "edit the tests", "add tests", "quick", "just do it", "1 more", "/help"]
    {
        let mut screen = working(&["first"], &["second"]);
        screen.keys("<alt+up>");
        screen.keys(words);
        screen.wait(500);
        assert_eq!(screen.model().composer.text(), words);
        assert_eq!(changes(&mut screen), [], "{words}");
    }
    let mut screen = working(&["first"], &[]);
    screen.keys("<alt+up>d");
    screen.send(Msg::Paste("elete it".to_owned()));
    assert_eq!(screen.model().composer.text(), "delete it");
    assert_eq!(changes(&mut screen), []);
}

#[test]
fn an_enter_for_a_list_that_has_just_gone_sends_no_draft() {
    let mut screen = working(&["a"], &[]);
    screen.keys("my draft<alt+up>");
    queued(&mut screen, &[], &[]);
    screen.take_effects();
    screen.keys("<enter>");
    assert_eq!((screen.model().composer.text(), screen.take_effects()), ("my draft".into(), Vec::new()));
    screen.wait(500);
    screen.keys("<enter>");
    assert_eq!(screen.model().composer.text(), "");
}

#[test]
fn the_selection_stays_on_its_message() {
    let mut screen = working(&["a", "b", "c"], &["x"]);
    screen.keys("<alt+up><up><up>");
    queued(&mut screen, &["b", "c"], &["x"]);
    screen.keys("d");
    screen.wait(500);
    assert_eq!(changes(&mut screen), [(at(Queue::Steer, 0, "b"), QueueChange::Remove)]);
    queued(&mut screen, &["c"], &["x"]);
    screen.keys("<tab>");
    let requeue = QueueChange::Requeue { queue: Queue::FollowUp };
    assert_eq!(changes(&mut screen), [(at(Queue::Steer, 0, "c"), requeue)]);
    queued(&mut screen, &[], &["x", "c"]);
    screen.keys("<shift+up>");
    assert_eq!(changes(&mut screen), [(at(Queue::FollowUp, 1, "c"), QueueChange::Move { by: -1 })]);
}

#[test]
fn an_edit_can_be_left_and_the_draft_comes_back() {
    let mut screen = working(&["a"], &[]);
    screen.keys("my draft<alt+up><enter>b");
    assert_eq!(screen.model().composer.text(), "ab");
    assert!(text(&screen.draw()).contains("queued message · enter saves · esc leaves it as it was"));
    screen.keys("<esc>");
    assert_eq!(screen.model().composer.text(), "my draft");
    assert_eq!(changes(&mut screen), []);
    screen.keys("<alt+up><enter>c<enter>");
    assert_eq!(changes(&mut screen), [(at(Queue::Steer, 0, "a"), replace("ac"))]);
    assert_eq!(screen.model().composer.text(), "my draft");
}

#[test]
fn a_message_that_the_agent_takes_while_it_is_edited_stays_in_the_composer() {
    let mut screen = working(&["a", "b"], &[]);
    screen.keys("my draft<alt+up><enter>!");
    queued(&mut screen, &["b"], &[]);
    screen.keys("?");
    queued(&mut screen, &[], &[]);
    assert_eq!(screen.model().composer.text(), "b!?");
    let shown = text(&screen.draw());
    assert!(shown.contains("the message is no longer queued"), "{shown}");
    screen.take_effects();
    screen.keys("<enter>");
    let sent = screen.take_effects();
    assert!(
        sent.iter().any(
            |effect| matches!(effect, Effect::Agent(AgentCommand::Run(RunCommand::Prompt { text, .. })) if text == "b!?")
        )
    );
    screen.keys("<ctrl+s>");
    assert_eq!(screen.model().composer.text(), "my draft");
}

#[test]
fn an_edit_that_comes_too_late_is_kept() {
    let mut screen = working(&["a"], &[]);
    screen.keys("my draft<alt+up><enter>b<enter>");
    let (message, change) = changes(&mut screen).remove(0);
    screen.agent(QueueEvent::QueueChangeFailed { message, change });
    assert_eq!(screen.model().composer.text(), "ab");
    assert!(text(&screen.draw()).contains("no longer queued"));
    screen.keys("<ctrl+c><ctrl+s>");
    assert_eq!(screen.model().composer.text(), "my draft");
}

#[test]
fn recalling_ends_with_the_draft() {
    let mut screen = Screen::new();
    screen.keys("one<enter>two<enter>a draft<up><up><down><down>");
    assert_eq!(screen.model().composer.text(), "a draft");
}

#[test]
fn what_is_recalled_and_edited_is_not_lost() {
    let mut screen = Screen::new();
    screen.keys("first prompt<enter><up> edited<down>");
    assert_eq!(screen.model().composer.text(), "");
    screen.keys("<up>");
    assert_eq!(screen.model().composer.text(), "first prompt edited");
    screen.keys("<ctrl+c>see: ");
    screen.send(Msg::Paste("line\n".repeat(30)));
    screen.keys("<enter>a draft<ctrl+r>see<enter>");
    assert_eq!(screen.model().composer.text(), "see: [paste #1 +30 lines]");
    screen.keys("<ctrl+c><ctrl+s>");
    assert_eq!(screen.model().composer.text(), "a draft");
}

/// Another screen, or the agent, may take the selected message at the moment of the key.
#[test]
fn a_key_for_a_message_that_has_just_gone_changes_no_other() {
    for key in ["d", "<delete>", "s", "<tab>", "<shift+up>", "<enter>"] {
        let mut screen = working(&[], &["a", "b", "c"]);
        screen.keys("<alt+up>");
        screen.wait(500);
        queued(&mut screen, &[], &["a", "b"]);
        screen.wait(100);
        screen.keys(key);
        screen.wait(500);
        assert_eq!(changes(&mut screen), [], "{key}");
        assert!(text(&screen.draw()).contains("is no longer queued"), "{key}");
        screen.wait(500);
        screen.keys("d");
        screen.wait(500);
        assert_eq!(changes(&mut screen), [(at(Queue::FollowUp, 1, "b"), QueueChange::Remove)], "{key}");
    }
    // One after another, by the same user.
    let mut screen = working(&[], &["a", "b"]);
    screen.keys("<alt+up><delete>");
    queued(&mut screen, &[], &["a"]);
    screen.keys("<delete>");
    let removed = |index: usize, text: &str| (at(Queue::FollowUp, index, text), QueueChange::Remove);
    assert_eq!(changes(&mut screen), [removed(1, "b"), removed(0, "a")]);
}
