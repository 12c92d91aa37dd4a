//! Permission modes: the key, the command, the plan, the question of the first start.

use std::sync::Arc;

use tau::agent::protocol::approval::PermissionMode;
use tau::agent::protocol::message::{Block, StopReason};
use tau::agent::protocol::model::{Api, Model};
use tau::app::boot::Boot;

use super::*;
use crate::harness::{ai, assistant, boot};

fn sent_modes(screen: &mut Screen) -> Vec<PermissionMode> {
    let mode = |effect| match effect {
        Effect::Agent(AgentCommand::SetPermissionMode { mode }) => Some(mode),
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(mode).collect()
}

fn is_now(screen: &mut Screen, mode: PermissionMode) {
    screen.agent(AgentEvent::PermissionModeChanged { mode });
}

#[test]
fn a_key_and_a_command_switch_the_mode() {
    use PermissionMode::{Ask, Auto, Plan};
    let mut screen = Screen::boot(Boot { permission_mode: Ask, ..boot() });
    for (now, next) in [(Ask, Auto), (Auto, Plan), (Plan, Ask)] {
        is_now(&mut screen, now);
        screen.keys("<alt+m>");
        assert_eq!(sent_modes(&mut screen), [next]);
    }
    screen.keys("/mode plan<enter>");
    assert_eq!(sent_modes(&mut screen), [Plan]);
    screen.keys("/mode<enter>");
    assert_eq!(sent_modes(&mut screen), [Ask], "without a name: the next one");
    screen.keys("/mode yolo<enter>");
    assert_eq!(sent_modes(&mut screen), []);
    has(&mut screen, &["there is no mode \"yolo\""]);
    // Also while a call waits.
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("<alt+m>");
    assert_eq!(sent_modes(&mut screen), [Plan]);
}

/// A run in plan mode that ended with a plan; the dialog has been seen.
fn planned(text: &str) -> Screen {
    let mut screen = Screen::boot(Boot { permission_mode: PermissionMode::Plan, ..boot() });
    screen.user("plan it");
    screen.run();
    screen.answer(text, 64);
    let message = Arc::new(assistant(vec![Block::text(text)], StopReason::Stop));
    screen.agent(AgentEvent::AgentEnd { messages: vec![message], will_retry: false });
    screen.settle();
    screen.at += SEEN;
    screen.take_effects();
    screen
}

const PLAN: &str = "# Plan\n\n1. Read the parser.\n2. Fix `empty`.\n3. Add a test.\n";

fn sent(screen: &mut Screen) -> Vec<AgentCommand> {
    let command = |effect| match effect {
        Effect::Agent(command) => Some(command),
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(command).collect()
}

fn prompt_of(commands: &[AgentCommand]) -> String {
    match commands.last() {
        Some(AgentCommand::Prompt { text, .. }) => text.clone(),
        other => panic!("no prompt: {other:?}"),
    }
}

#[test]
fn a_plan_is_accepted_edited_rejected_or_left() {
    let mut screen = planned(PLAN);
    frames(&mut screen, "plan");
    screen.keys("<enter>");
    let commands = sent(&mut screen);
    assert_eq!(commands[0], AgentCommand::SetPermissionMode { mode: PermissionMode::Ask });
    assert_eq!(prompt_of(&commands), "I accept the plan. Carry it out.");
    let mut screen = planned(PLAN);
    screen.keys("<up><enter>");
    assert_eq!(sent(&mut screen)[0], AgentCommand::SetPermissionMode { mode: PermissionMode::Auto });
    // Edited: the model gets the plan as it is now.
    let mut screen = planned(PLAN);
    screen.keys("<down><enter>");
    let (ticket, text, ending, purpose) = editor(&mut screen);
    assert_eq!((text.as_str(), ending.as_str(), purpose), (PLAN, ".md", EditorUse::Plan));
    screen.send(Msg::Finished(ticket, ShellReply::Edited(Some("# Plan\n\nOnly read.\n".into()))));
    has(&mut screen, &["Plan, as you changed it", "Only read."]);
    screen.at += SEEN;
    screen.keys("<enter>");
    let text = prompt_of(&sent(&mut screen));
    assert!(text.starts_with("I accept the plan with my changes.") && text.ends_with("Only read."), "{text}");
    // Rejected: the comment is the next prompt, and the mode stays.
    let mut screen = planned(PLAN);
    screen.keys("<down><down><enter><enter>no tests");
    assert_eq!(sent(&mut screen), [], "a comment has words");
    frames(&mut screen, "plan-comment");
    screen.keys("<enter>");
    let commands = sent(&mut screen);
    assert_eq!((commands.len(), prompt_of(&commands)), (1, "no tests".to_owned()));
    let mut screen = planned(PLAN);
    screen.keys("<end><esc>more");
    assert_eq!(sent(&mut screen), []);
    assert_eq!(screen.model().composer.expanded().0, "more");
}

#[test]
fn a_plan_is_not_answered_by_what_was_meant_for_the_composer() {
    let mut screen = planned(PLAN);
    screen.at -= SEEN;
    screen.keys("ok<enter><enter>");
    assert_eq!(sent(&mut screen), []);
    has(&mut screen, &["accept it, and continue in ask"]);
    // Only an answer in plan mode is a plan.
    let mut screen = planned("");
    assert!(!shown(&mut screen).contains("accept it"));
    let mut screen = Screen::new();
    screen.run();
    screen.answer(PLAN, 64);
    screen.settle();
    assert!(!shown(&mut screen).contains("accept it"));
}

#[test]
fn a_long_plan_scrolls() {
    let text: String = (1..80).map(|n| format!("{n}. step\n")).collect();
    let mut screen = planned(&text);
    has(&mut screen, &["1. step", "accept it, and continue in auto", "pgdn scroll"]);
    screen.keys("<pagedown><pagedown><pagedown><pagedown><pagedown><pagedown>");
    has(&mut screen, &["79. step", "close this"]);
    for (width, height) in [(20, 5), (10, 4), (40, 12)] {
        screen.send(Msg::Resized(Size { width, height }));
    }
}

#[test]
fn the_first_start_asks_for_the_mode_once() {
    let first =
        || Boot { ask_permission_mode: true, sandbox: "workspace-write, no network".into(), ..boot() };
    let mut screen = Screen::boot(first());
    frames(&mut screen, "mode-question");
    screen.take_effects();
    screen.keys("<down><enter>");
    let effects = screen.take_effects();
    let stored = |effect: &Effect| {
        matches!(effect, Effect::Ask(_, ShellRequest::SetSetting { key, value: Some(value) })
            if key == "screen_permission_mode" && value.0 == "auto")
    };
    assert!(effects.iter().any(stored), "{effects:?}");
    let auto = Effect::Agent(AgentCommand::SetPermissionMode { mode: PermissionMode::Auto });
    assert!(effects.contains(&auto));
    screen.agent(AgentEvent::ModelChanged { model: Arc::new(ai()) });
    assert!(!shown(&mut screen).contains("What may the model do"), "asked once");
    // Nothing chosen: tau asks for now, and stores nothing.
    let mut screen = Screen::boot(first());
    screen.take_effects();
    screen.keys("<esc>");
    assert_eq!(sent_modes(&mut screen), [PermissionMode::Ask]);
    // The demo changes nothing; the question comes with the first real model.
    let demo = Model { api: Api::Scripted, ..ai() };
    let mut screen = Screen::boot(Boot { demo: true, model: Some(Arc::new(demo)), ..first() });
    assert!(!shown(&mut screen).contains("What may the model do"));
    screen.agent(AgentEvent::ModelChanged { model: Arc::new(ai()) });
    has(&mut screen, &["What may the model do without asking you?"]);
    assert!(!shown(&mut Screen::new()).contains("What may the model do"), "a mode is set");
}
