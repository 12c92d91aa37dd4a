//! What prompts look like.

use super::*;

#[test]
fn a_command() {
    frames(&mut waiting(command_request("c1", COMMAND, (11, 26))), "approval-command");
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
    screen.keys("<pagedown>");
    has(&mut screen, &["echo line 25", "y once"]);
}
