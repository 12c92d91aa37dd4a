//! Permission modes: the key, the command, the plan, the question at the first start.

use std::sync::Arc;

use tau::agent::protocol::approval::PermissionMode;
use tau::agent::protocol::chosen::ChosenMode;
use tau::agent::protocol::command::{QuestionAnswer, QuestionCommand, SessionCommand, SettingsCommand};
use tau::agent::protocol::event::{Question, QuestionEvent, SessionEvent, SettingsEvent};
use tau::agent::protocol::model::{Api, Model};
use tau::app::boot::Boot;
use tau::app::overlays::offer::{HookOffer, Offers};
use tau::tools::plan::WorkPlan;
use tau::tools::user::UserQuestion;

use super::*;
use crate::harness::{ai, boot, plan_question};

fn sent_modes(screen: &mut Screen) -> Vec<PermissionMode> {
    let mode = |effect| match effect {
        Effect::Agent(AgentCommand::Settings(SettingsCommand::SetPermissionMode { mode })) => Some(mode),
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(mode).collect()
}

fn is_now(screen: &mut Screen, mode: PermissionMode) {
    screen.agent(SettingsEvent::PermissionModeChanged { mode, ceiling: PermissionMode::Auto });
}

#[test]
fn a_key_and_a_command_switch_the_mode() {
    use PermissionMode::{Ask, Auto, Edits, Plan};
    let mut screen = Screen::boot(Boot { permission_mode: Ask, ..boot() });
    for (now, next) in [(Ask, Edits), (Edits, Plan), (Plan, Auto), (Auto, Ask)] {
        is_now(&mut screen, now);
        screen.keys("<shift+tab>");
        assert_eq!(sent_modes(&mut screen), [next]);
        has(&mut screen, &[&format!(" · {}", if now == Plan { "◇ plan" } else { now.name() })]);
    }
    for mode in PermissionMode::ALL {
        screen.keys(&format!("/mode {}<enter>", mode.name()));
        assert_eq!(sent_modes(&mut screen), [mode]);
    }
    screen.keys("/mode<enter>");
    assert_eq!(sent_modes(&mut screen), [Ask], "without a name: the next one");
    // The thinking level has its own key.
    screen.keys("<alt+t>");
    assert_eq!(sent_modes(&mut screen), []);
    screen.keys("/mode yolo<enter>");
    assert_eq!(sent_modes(&mut screen), []);
    has(&mut screen, &["there is no mode \"yolo\""]);
    // Also while a call is waiting.
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("<shift+tab>");
    assert_eq!(sent_modes(&mut screen), [], "the next press may choose another");
    screen.wait(1_000);
    assert_eq!(sent_modes(&mut screen), [Ask]);
}

#[test]
fn keys_may_come_faster_than_the_agent_confirms() {
    use PermissionMode::{Ask, Auto, Edits, Plan};
    let mut screen = Screen::boot(Boot { permission_mode: Ask, ..boot() });
    screen.keys("<shift+tab><shift+tab>");
    assert_eq!(sent_modes(&mut screen), [Edits, Plan]);
    is_now(&mut screen, Edits);
    screen.keys("<shift+tab>");
    assert_eq!(sent_modes(&mut screen), [Auto]);
    is_now(&mut screen, Plan);
    is_now(&mut screen, Auto);
    screen.keys("<shift+tab>");
    assert_eq!(sent_modes(&mut screen), [Ask]);
    // What was refused is not where the next step begins.
    is_now(&mut screen, Plan);
    screen.keys("<shift+tab>");
    assert_eq!(sent_modes(&mut screen), [Auto]);
}

/// The key passes by what cannot be chosen.
#[test]
fn the_key_chooses_no_mode_above_the_ceiling() {
    use PermissionMode::{Ask, Plan};
    for (mode, ceiling, next) in [(Ask, Ask, &[Plan][..]), (Plan, Ask, &[Ask]), (Plan, Plan, &[])] {
        let mut screen = Screen::boot(Boot { permission_mode: mode, ..boot() });
        screen.agent(SettingsEvent::PermissionModeChanged { mode, ceiling });
        screen.keys("<shift+tab>");
        assert_eq!(sent_modes(&mut screen), next, "{mode:?} {ceiling:?}");
    }
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.agent(SettingsEvent::PermissionModeChanged { mode: Ask, ceiling: Ask });
    screen.keys("<shift+tab>");
    has(&mut screen, &["◇ plan"]);
}

/// The agent says in which mode a plan is carried out by default, and why an answer was refused.
#[test]
fn a_plan_is_marked_to_continue_in_the_mode_that_was_worked_in() {
    use PermissionMode::{Ask, Auto, Edits, Plan};
    for (mode, number) in [(Auto, 1), (Edits, 2), (Ask, 3)] {
        for (refusal, (width, height)) in
            [(None, (80, 24)), (Some("auto is refused"), (80, 24)), (Some("auto is refused"), (60, 10))]
        {
            let mut screen = Screen::boot(Boot { permission_mode: Plan, ..boot() });
            screen.send(Msg::Resized(Size { width, height }));
            screen.user("plan it");
            screen.run();
            let refusal = refusal.map(str::to_owned);
            let question = Question::Plan { plan: "1. Look.".into(), mode, refusal: refusal.clone() };
            screen.agent(QuestionEvent::Asked { id: "p".into(), question });
            let drawn = text(&screen.draw());
            assert!(drawn.contains(&format!("› {number}. ")), "{mode:?} {drawn}");
            assert_eq!(drawn.contains("auto is refused"), refusal.is_some(), "{drawn}");
        }
    }
}

/// A run in plan mode whose model submits a plan; the dialog has been seen.
fn planned(text: &str) -> Screen {
    let mut screen = Screen::boot(Boot { permission_mode: PermissionMode::Plan, ..boot() });
    screen.user("plan it");
    screen.run();
    screen.answer("I have looked around.", 64);
    screen.agent(QuestionEvent::Asked { id: "q1".into(), question: plan_question(text) });
    screen.at += SEEN;
    screen.take_effects();
    screen
}

const PLAN: &str = "# Plan\n\n1. Read the parser.\n2. Fix `empty`.\n3. Add a test.\n";

/// The commands that were sent.
pub(super) fn sent(screen: &mut Screen) -> Vec<AgentCommand> {
    let command = |effect| match effect {
        Effect::Agent(command) => Some(command),
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(command).collect()
}

/// The answer to the plan, which is the last command.
fn answered(screen: &mut Screen) -> QuestionAnswer {
    match sent(screen).pop() {
        Some(AgentCommand::Questions(QuestionCommand::Answer { id, answer })) if id == "q1" => answer,
        other => panic!("no answer: {other:?}"),
    }
}

/// In a small window half of the rows are the plan, and all answers have their digits.
#[test]
fn a_long_plan_is_read_in_a_small_window() {
    let plan: String = (1..=15).map(|n| format!("{n}. Step number {n}.\n")).collect();
    for width in [40, 60] {
        let mut screen = planned(&plan);
        screen.send(Msg::Resized(Size { width, height: 12 }));
        let shown = text(&screen.draw());
        assert_eq!(shown.matches("Step number").count(), 6, "{shown}");
        for words in ["1. auto", "2. edits", "› 3. ask", "4. edit it", "5. reject", "6. stop", "9 more rows"]
        {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        screen.keys("<pagedown>");
        has(&mut screen, &["Step number 7.", "Step number 12."]);
        screen.keys("<down><down>");
        has(&mut screen, &["› 5. reject"]);
        screen.keys("<enter>");
        has(&mut screen, &["What should change?"]);
    }
}

/// A plan counts as seen once its end was on the screen with all rows before it.
#[test]
fn a_plan_is_accepted_once_its_end_was_seen_or_by_two_keys() {
    let plan: String = (1..=60).map(|n| format!("{n}. Step number {n}.\n")).collect();
    let pages = "<pgdn>".repeat(6);
    for (keys, is_accepted) in [
        (&["<enter>"][..], false),
        (&["<enter>", "<enter>"], true),
        (&["1"], false),
        (&["2", "2"], true),
        (&["<enter>", "<down><up><enter>"], false),
        (&["<pgdn>", "<enter>"], false),
        (&[&pages, "<enter>"], true),
        (&[&pages, "<pgup>", "1"], true),
    ] {
        let mut screen = planned(&plan);
        for keys in keys {
            screen.keys(keys);
            screen.wait(SEEN);
        }
        let shown = shown(&mut screen);
        assert_eq!(
            shown.contains("not all was shown; enter again accepts it"),
            !is_accepted,
            "{keys:?}: {shown}"
        );
        let is_answer = |command: &AgentCommand| matches!(command, AgentCommand::Questions(_));
        assert_eq!(sent(&mut screen).iter().any(is_answer), is_accepted, "{keys:?}: {shown}");
    }
}

#[test]
fn a_plan_is_accepted_edited_rejected_or_left() {
    let accepted =
        |mode, plan: Option<&str>| QuestionAnswer::PlanAccepted { mode, plan: plan.map(str::to_owned) };
    let mut screen = planned(PLAN);
    frames(&mut screen, "plan");
    screen.keys("<enter>");
    assert_eq!(answered(&mut screen), accepted(PermissionMode::Ask, None));
    for (keys, mode) in [
        ("<up><up><enter>", PermissionMode::Auto),
        ("1", PermissionMode::Auto),
        ("<up><enter>", PermissionMode::Edits),
        ("2", PermissionMode::Edits),
        ("3", PermissionMode::Ask),
    ] {
        let mut screen = planned(PLAN);
        screen.keys(keys);
        screen.wait(SEEN);
        assert_eq!(answered(&mut screen), accepted(mode, None));
    }
    // Edited: the model gets the plan as changed.
    let mut screen = planned(PLAN);
    screen.keys("<down><enter>");
    let (ticket, text, ending, purpose) = editor(&mut screen);
    assert_eq!((text.as_str(), ending.as_str(), purpose), (PLAN, ".md", EditorUse::Plan));
    screen.send(Msg::Finished(ticket, ScreenReply::Edited(Some("# Plan\n\n1. Only read.\n".into()))));
    has(&mut screen, &["Plan, as you changed it", "Only read."]);
    screen.at += SEEN;
    screen.keys("<enter>");
    assert_eq!(answered(&mut screen), accepted(PermissionMode::Ask, Some("# Plan\n\n1. Only read.\n")));
    // Rejected: the model gets the comment.
    let mut screen = planned(PLAN);
    screen.keys("<down><down><enter><enter>no tests");
    assert_eq!(sent(&mut screen), [], "a comment has words");
    frames(&mut screen, "plan-comment");
    screen.keys("<enter>");
    assert_eq!(answered(&mut screen), QuestionAnswer::PlanRejected { comment: "no tests".into() });
    // A long one is seen whole, Esc keeps it, and it may have lines.
    let mut screen = planned(PLAN);
    screen.keys(&format!("5{}tail", "word ".repeat(30)));
    has(&mut screen, &["> word word", "│word tail"]);
    screen.keys("<esc>5<ctrl+j>");
    screen.send(Msg::Paste("a\n  b\n".into()));
    has(&mut screen, &["│word tail", "  b"]);
    screen.keys("<enter>");
    let comment = format!("{}tail\na\n  b", "word ".repeat(30));
    assert_eq!(answered(&mut screen), QuestionAnswer::PlanRejected { comment });
    for keys in ["<end><enter>", "<esc>", "6"] {
        let mut screen = planned(PLAN);
        screen.keys(keys);
        screen.wait(SEEN);
        assert_eq!(answered(&mut screen), QuestionAnswer::Cancelled, "{keys}");
        screen.keys("more");
        assert_eq!(screen.model().composer.expanded_content().0, "more");
    }
}

#[test]
fn a_plan_is_not_answered_by_what_was_meant_for_the_composer() {
    let mut screen = planned(PLAN);
    screen.at -= SEEN;
    screen.keys("ok 1<enter><esc>");
    assert_eq!(sent(&mut screen), []);
    has(&mut screen, &["accept it and continue in ask"]);
    assert_eq!(screen.model().composer.expanded_content().0, "ok 1", "it is in the draft");
    // An answer in plan mode is not a plan.
    let mut screen = Screen::boot(Boot { permission_mode: PermissionMode::Plan, ..boot() });
    screen.run();
    screen.answer(PLAN, 64);
    screen.settle();
    assert!(!shown(&mut screen).contains("accept it"));
}

#[test]
fn a_task_behind_plan_is_planned_in_plan_mode() {
    let mut screen = Screen::boot(Boot { permission_mode: PermissionMode::Ask, ..boot() });
    screen.keys("/plan make it better<enter>");
    let commands = sent(&mut screen);
    let mode = SettingsCommand::SetPermissionMode { mode: PermissionMode::Plan };
    assert_eq!(commands.first(), Some(&AgentCommand::Settings(mode)), "{commands:?}");
    let is_prompt = |command: &AgentCommand| format!("{command:?}").contains("\"make it better\"");
    assert!(commands.iter().skip(1).any(is_prompt), "{commands:?}");
    assert_eq!(screen.model().composer.expanded_content().0, "");
}

/// Questions that take no text leave the words of a prompt to the draft, with the digits in them.
#[test]
fn a_prompt_that_is_typed_at_a_question_is_not_lost() {
    let first = Screen::boot(Boot { ask_permission_mode: true, can_sandbox: true, ..boot() });
    for (mut screen, shown) in [(first, "What may the model do"), (planned(PLAN), "accept it")] {
        screen.wait(3_000);
        screen.take_effects();
        screen.keys("fix 2 bugs");
        screen.wait(900);
        screen.keys("<enter>");
        assert_eq!(sent(&mut screen), []);
        has(&mut screen, &[shown, "fix 2 bugs"]);
        assert_eq!(screen.model().composer.expanded_content().0, "fix 2 bugs");
        // After a pause, keys answer.
        screen.wait(1_000);
        screen.keys("2");
        screen.wait(SEEN);
        assert!(!self::shown(&mut screen).contains(shown), "the question is still there");
        assert_eq!(screen.model().composer.expanded_content().0, "fix 2 bugs");
    }
}

/// A number may begin a prompt, so a digit answers only when nothing follows it.
#[test]
fn a_number_that_begins_a_prompt_answers_nothing() {
    let first = || Screen::boot(Boot { ask_permission_mode: true, can_sandbox: true, ..boot() });
    let hooks = HookOffer { files: vec!["f".into()], ..HookOffer::default() };
    let offer = || {
        let offers = Offers { hooks: Some(hooks.clone()), web: None };
        Screen::boot(Boot { offers, ..boot() })
    };
    type Case<'a> = (&'a dyn Fn() -> Screen, &'a str);
    let cases: [Case<'_>; 3] =
        [(&first, "What may the model do"), (&|| planned(PLAN), "accept it"), (&offer, "Run them?")];
    for (start, shown) in cases {
        for typed in ["1 more test", "12 files", "1quick", "quick one", "3 k"] {
            let mut screen = start();
            screen.wait(3_000);
            screen.take_effects();
            screen.keys(typed);
            screen.wait(900);
            screen.keys("<enter>");
            assert_eq!(screen.take_effects(), [], "{shown}: {typed}");
            has(&mut screen, &[shown]);
            assert_eq!(screen.model().composer.expanded_content().0, typed, "{shown}");
        }
        // Alone it answers, at once with Enter.
        for (key, pause) in [("1", SEEN), ("1<enter>", 0)] {
            let mut screen = start();
            screen.wait(3_000);
            screen.keys(key);
            screen.wait(pause);
            assert!(!self::shown(&mut screen).contains(shown), "{shown}: {key}");
        }
    }
}

/// What was typed before the question at the start could be seen is for the draft, and its Enter answers nothing.
#[test]
fn the_first_question_is_not_answered_before_it_is_seen() {
    for (typed, draft) in
        [("4", "4"), ("4 tests", "4 tests"), ("<enter>", ""), ("<esc>", ""), ("fix<enter>", "fix")]
    {
        let mut screen = Screen::boot(Boot { ask_permission_mode: true, can_sandbox: true, ..boot() });
        screen.take_effects();
        screen.wait(150);
        screen.keys(typed);
        screen.wait(2_000);
        assert_eq!(screen.take_effects(), [], "{typed}");
        has(&mut screen, &["What may the model do"]);
        assert_eq!(screen.model().composer.expanded_content().0, draft);
    }
}

/// A run that carries out a plan whose first `done` steps are done.
fn carried_out(done: usize) -> Screen {
    let mut screen = Screen::boot(boot());
    screen.user("plan it");
    screen.run();
    screen.answer("I'm on it.", 64);
    further(&mut screen, done);
    screen
}

fn further(screen: &mut Screen, done: usize) {
    let mut plan = WorkPlan::parse(PLAN);
    plan.finish(&(1..=done).collect::<Vec<_>>()).unwrap();
    screen.agent(SessionEvent::PlanChanged { plan: Some(plan) });
}

#[test]
fn the_steps_of_the_plan_are_above_the_composer_until_they_are_done() {
    let mut screen = carried_out(1);
    frames(&mut screen, "plan-steps");
    has(&mut screen, &["Plan 1 of 3", "✓  1. Read the parser.", "›  2. Fix empty.", "ctrl+q folds"]);
    screen.keys("<ctrl+q>");
    has(&mut screen, &["Plan 1 of 3 · 2. Fix empty.", "ctrl+q unfolds"]);
    assert!(!shown(&mut screen).contains("3. Add a test."));
    screen.keys("<ctrl+q>/plan<enter>");
    has(&mut screen, &["┌ Plan", "☑ Read the parser.", "☐ Add a test.", "d drops the plan"]);
    screen.keys("<esc>");
    further(&mut screen, 3);
    has(&mut screen, &["Plan 3 of 3"]);
    screen.settle();
    assert!(!shown(&mut screen).contains("Plan 3 of 3"), "it is done");
    // Nor does it come back in a later run, or while the conversation is compacted.
    screen.user("what next");
    screen.run();
    assert!(!shown(&mut screen).contains("Plan 3 of 3"), "it was done before");
    screen.settle();
    screen.keys("/plan<enter>");
    has(&mut screen, &["☑ Add a test."]);
    screen.keys("q");
    assert!(!shown(&mut screen).contains("☑ Add a test."));
    // A new one is shown.
    further(&mut screen, 2);
    has(&mut screen, &["Plan 2 of 3"]);
    // Another session has none.
    let mut screen = carried_out(1);
    screen.take_effects();
    screen.keys("/plan<enter>dd");
    assert_eq!(sent(&mut screen), [AgentCommand::Session(SessionCommand::DropPlan)]);
    screen.agent(SessionEvent::PlanChanged { plan: None });
    screen.keys("/plan<enter>");
    has(&mut screen, &["no plan was accepted in this session"]);
}

#[test]
fn the_dialog_of_a_plan_has_the_keys_of_lists() {
    let text: String = (1..80).map(|n| format!("{n}. step\n")).collect();
    let mut screen = planned(&text);
    has(&mut screen, &["› 3. accept it"]);
    for (key, row) in [
        ("j", "› 4. edit it"),
        ("k", "› 3. accept it"),
        ("<ctrl+n>", "› 4. edit it"),
        ("<home>", "› 1. accept it"),
    ] {
        screen.keys(key);
        has(&mut screen, &[row]);
    }
    screen.keys("q");
    screen.wait(SEEN);
    assert!(!shown(&mut screen).contains("accept it"), "closed");
    // The accepted one scrolls by them.
    let mut screen = carried_out(1);
    let mut plan = WorkPlan::parse(&text);
    plan.finish(&[1]).unwrap();
    screen.agent(SessionEvent::PlanChanged { plan: Some(plan) });
    screen.keys("/plan<enter>");
    has(&mut screen, &["☑ step", "more rows: pgdn"]);
    screen.keys("j");
    assert!(!shown(&mut screen).contains("☑ step"), "one row down");
    screen.keys("k");
    has(&mut screen, &["☑ step"]);
}

#[test]
fn nothing_hides_in_a_plan() {
    let text = format!("1. run `rm\u{200B} -rf build`\n2. a\u{202E}bc\n3. x{}; evil", " ".repeat(200));
    let mut screen = planned(&text);
    has(&mut screen, &["rm<U+200B> -rf build", "a<U+202E>bc", "x⋯ 200 blanks ⋯; evil"]);
}

#[test]
fn a_long_plan_scrolls() {
    let text: String = (1..80).map(|n| format!("{n}. step\n")).collect();
    let mut screen = planned(&text);
    has(&mut screen, &["1. step", "accept it and continue in auto", "more rows: pgdn"]);
    screen.keys("<pagedown><pagedown><pagedown><pagedown><pagedown><pagedown>");
    has(&mut screen, &["79. step", "stop here"]);
    for (width, height) in [(20, 5), (10, 4), (40, 12)] {
        screen.send(Msg::Resized(Size { width, height }));
    }
}

/// The screen once its question has been seen.
fn seen(boot: Boot) -> Screen {
    let mut screen = Screen::boot(boot);
    screen.wait(SEEN);
    screen.take_effects();
    screen
}

#[test]
fn the_first_start_asks_for_the_mode_once() {
    let first = || Boot { ask_permission_mode: true, can_sandbox: true, ..boot() };
    let mut screen = Screen::boot(first());
    frames(&mut screen, "mode-question");
    let kept = |screen: &mut Screen| {
        screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Ask(ticket, ScreenRequest::ChooseMode { chosen }) => Some((ticket, chosen)),
            _ => None,
        })
    };
    let plain = |mode| ChosenMode { mode, sandbox: None };
    let (ask, edits, auto) =
        (plain(PermissionMode::Ask), plain(PermissionMode::Edits), plain(PermissionMode::Auto));
    for (can_sandbox, keys, chosen) in [
        (true, "<enter>", ChosenMode::SANDBOXED),
        (true, "<down><enter>", ask),
        (true, "3", edits),
        (true, "<down><down><down><down><enter>", auto),
        (false, "<enter>", ask),
        (false, "<down><enter>", edits),
        (false, "3", auto),
    ] {
        let mut screen = seen(Boot { can_sandbox, ..first() });
        screen.keys(keys);
        screen.wait(SEEN);
        assert_eq!(kept(&mut screen).map(|(_, chosen)| chosen), Some(chosen), "{keys}");
        screen.agent(SettingsEvent::ModelChanged { model: Arc::new(ai()) });
        assert!(!shown(&mut screen).contains("What may the model do"), "asked once");
    }
    // Without a sandbox it applies at once; otherwise, together with the sandbox.
    let mut screen = seen(first());
    screen.keys("4<enter>");
    assert_eq!(sent_modes(&mut screen), [PermissionMode::Auto]);
    let mut screen = seen(first());
    screen.keys("1<enter>");
    let (ticket, _) = kept(&mut screen).unwrap();
    assert_eq!(sent_modes(&mut screen), []);
    screen.send(Msg::Finished(ticket, ScreenReply::Failed("disk full".into())));
    assert_eq!(sent_modes(&mut screen), []);
    has(&mut screen, &["was not kept: disk full", "tau asks before anything changes"]);
    // Nothing chosen: tau asks for now, and stores nothing.
    let mut screen = seen(first());
    screen.keys("<esc>");
    assert_eq!(sent_modes(&mut screen), [PermissionMode::Ask]);
    // The demo changes nothing; the question appears with the first real model.
    let demo = Model { api: Api::Scripted, ..ai() };
    let mut screen = Screen::boot(Boot { demo: true, model: Some(Arc::new(demo)), ..first() });
    assert!(!shown(&mut screen).contains("What may the model do"));
    screen.agent(SettingsEvent::ModelChanged { model: Arc::new(ai()) });
    has(&mut screen, &["What may the model do without asking you?"]);
    assert!(!shown(&mut Screen::new()).contains("What may the model do"), "a mode is set");
}

/// What a window is too small to show is not answered in it.
#[test]
fn a_question_that_is_not_on_the_screen_takes_no_key() {
    let asked = UserQuestion {
        question: "Which?".into(),
        choices: vec!["a".into(), "b".into()],
        ..Default::default()
    };
    let question = Question::User { questions: vec![asked] };
    let mut screens = [planned(PLAN), planned(PLAN)];
    screens[1].agent(QuestionEvent::AskWithdrawn { id: "q1".into() });
    screens[1].agent(QuestionEvent::Asked { id: "q2".into(), question });
    for screen in &mut screens {
        screen.at += SEEN;
        screen.send(Msg::Resized(Size { width: 9, height: 3 }));
        screen.take_effects();
        screen.keys("1");
        screen.wait(SEEN);
        screen.keys("1");
        screen.wait(SEEN);
        assert_eq!(sent(screen), []);
        screen.send(Msg::Resized(Size { width: 80, height: 24 }));
        assert_eq!(screen.model().overlays.len(), 1);
        has(screen, &["11"]);
    }
}
