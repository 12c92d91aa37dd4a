//! What prompts look like.

use super::*;

#[test]
fn a_command() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    frames(&mut screen, "approval-command");
    crate::harness::frame(&mut screen, "approval-command", 30, 16);
    // What is asked about is on the screen once, and the rows that say why and how are there.
    for (width, height) in [(30, 16), (40, 12), (80, 24), (120, 40)] {
        screen.send(Msg::Resized(Size { width, height }));
        let shown = text(&screen.draw());
        assert_eq!(shown.matches("rm -rf").count(), 1, "{shown}");
        has(&mut screen, &["$ cd /tmp && rm -rf build", "Run this command?", "removes files", "no sandbox"]);
    }
    // Whoever scrolls away still reads what is asked.
    screen.send(Msg::Resized(Size { width: 80, height: 16 }));
    (0..40).for_each(|n| screen.user(&format!("message {n}")));
    also(&mut screen, command_request("c2", "make clean", (0, 4)));
    screen.keys("<right><pageup><pageup>");
    let shown = text(&screen.draw());
    assert!(!shown.contains("$ make clean"), "{shown}");
    has(&mut screen, &["Run this command?  bash  make clean"]);
}

#[test]
fn a_change_with_a_hunk_that_is_not_applied() {
    let mut screen = waiting(change_request("c1", change(3)));
    screen.keys("<down> ");
    frames(&mut screen, "approval-change");
}

#[test]
fn a_rule() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("a<tab>");
    let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Query { ticket, .. }) => Some(ticket),
        _ => None,
    });
    let titles = QueryAnswer::Titles(vec!["rm -rf build".into(), "rm -rf build && make".into()]);
    screen.agent(AgentEvent::Answered { ticket: ticket.unwrap(), answer: Ok(titles) });
    frames(&mut screen, "approval-rule");
}

#[test]
fn a_reason() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("nuse `cargo clean` instead, it knows what belongs to the build");
    frames(&mut screen, "approval-reason");
}

#[test]
fn another_command_is_typed() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("e");
    frames(&mut screen, "approval-edit");
}

#[test]
fn a_change_in_the_editor() {
    let mut screen = waiting(change_request("c1", change(1)));
    screen.keys("e");
    frames(&mut screen, "approval-editor");
}

#[test]
fn several_calls() {
    let mut screen = waiting(command_request("c1", "rm one", (0, 2)));
    also(&mut screen, change_request("c2", change(2)));
    also(&mut screen, command_request("c3", "rm three", (0, 2)));
    screen.keys("<right>");
    frames(&mut screen, "approval-list");
}

#[test]
fn a_command_longer_than_the_screen() {
    let script: String = (1..60).map(|n| format!("echo line {n}\n")).collect();
    let mut screen = waiting(command_request("c1", &script, (0, 11)));
    frames(&mut screen, "approval-long");
    has(&mut screen, &["⋯ 47 more rows"]);
    // Nothing of a command is left out unsaid, wherever it is wrapped.
    let long = "rm -rf build && git status && ".repeat(4) + "make install";
    let mut low = waiting(command_request("c1", &long, (0, 12)));
    low.send(Msg::Resized(Size { width: 40, height: 12 }));
    has(&mut low, &["Run this command?", "$ rm -rf build", "⋯ 1 more row ", "y once"]);
    screen.keys("<pagedown>");
    has(&mut screen, &["echo line 25", "y once"]);
}
