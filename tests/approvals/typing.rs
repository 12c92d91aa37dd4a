//! Keys while a prompt is open: early ones, the choices, and the meanings of "always".

use super::*;
use tau::agent::protocol::command::{QuestionCommand, RunCommand};

#[test]
fn what_is_typed_as_a_prompt_appears_goes_to_the_draft() {
    let mut screen = Screen::new();
    screen.run();
    screen.keys("a draft");
    also(&mut screen, command_request("c1", COMMAND, (11, 26)));
    // Every key that would answer: it types, and puts the prompt off.
    for key in [" ", "y", "n", "a", "e", "1", "2", "Y", "N", "v", "x", "<backspace>"] {
        screen.keys(key);
        screen.at += 300;
    }
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "a draft ynae12YNv");
    has(&mut screen, &["> a draft ynae12YNv", "  1 Yes, once (y)"]);
    // A paste counts as typing, too.
    screen.send(Msg::Paste("pasted".into()));
    screen.at += 399;
    screen.keys("y");
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "a draft ynae12YNvpastedy");
    pause(&mut screen);
    has(&mut screen, &["› 1 Yes, once (y)"]);
    screen.keys("y");
    assert_eq!(answers(&mut screen).len(), 1);
    ended(&mut screen, "r-c1", ApprovalOutcome::Allowed);
    screen.keys("!");
    assert_eq!(
        screen.model().composer.expanded_content().0,
        "a draft ynae12YNvpastedy!",
        "the draft continues"
    );
}

#[test]
fn a_text_that_begins_while_a_prompt_waits_goes_to_the_draft() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("hey, any news");
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "hey, any news");
    pause(&mut screen);
    check(&mut screen, "y", once());
    // Enter sends the typed text, and does not answer.
    let mut screen = Screen::new();
    screen.run();
    screen.keys("use make");
    also(&mut screen, command_request("c1", COMMAND, (11, 26)));
    screen.keys(" instead<enter>");
    let effects = screen.take_effects();
    let sent = |effect: &Effect| matches!(effect, Effect::Agent(AgentCommand::Run(RunCommand::Prompt { text, .. })) if text == "use make instead");
    assert!(effects.iter().any(sent), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(
        effect,
        Effect::Agent(AgentCommand::Questions(QuestionCommand::AnswerApproval { .. }))
    )));
}

#[test]
fn a_list_is_answered_by_arrows_enter_and_digits() {
    let request = || command_request("c1", COMMAND, (11, 26));
    check(&mut waiting(request()), "<enter>", once());
    check(&mut waiting(request()), "1", once());
    check(&mut waiting(request()), "4not now<enter>", deny(Some("not now"), false));
    check(&mut waiting(request()), "<down><down><down><enter><enter>", deny(None, false));
    let mut screen = waiting(request());
    has(&mut screen, &["› 1 Yes, once (y)", "2 Always… (a)", "3 Edit it first (e)", "4 No, and say why (n)"]);
    screen.keys("<down><down>");
    has(&mut screen, &["› 3 Edit it first (e)"]);
    screen.keys("<up><up><up><down><enter>");
    has(
        &mut screen,
        &[
            "Always allow what?",
            "› 1 This exact command, in this session",
            "  2 rm -rf build",
            "  3 Type a rule…",
        ],
    );
    // A digit without a choice is typed.
    let mut screen = waiting(request());
    screen.keys("9");
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "9");
}

#[test]
fn always_always_has_an_answer() {
    let exact = ApprovalAnswer::AllowExact { hunks: None };
    let always = |rules: &[&str], scope| ApprovalAnswer::AllowAlways {
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        scope,
        hunks: None,
    };
    let request = || command_request("c1", COMMAND, (11, 26));
    check(&mut waiting(request()), "a1", exact.clone());
    check(&mut waiting(request()), "a<enter>", exact.clone());
    check(&mut waiting(request()), "a2", always(&["bash(rm -rf build)"], RuleScope::Session));
    check(&mut waiting(request()), "a<down><tab><enter>", always(&["bash(rm -rf build)"], RuleScope::Local));
    check(&mut waiting(request()), "a<down><tab><tab>2", always(&["bash(rm -rf build)"], RuleScope::Project));
    check(
        &mut waiting(request()),
        "a<tab><down><tab><tab><tab>2",
        always(&["bash(rm -rf build)"], RuleScope::User),
    );
    // Every part of a compound command that needed approval.
    let parts = || vec!["bash(cargo test *)".to_owned(), "bash(make)".to_owned()];
    let compound = || ApprovalRequest { suggested_rules: parts(), ..request() };
    let mut screen = waiting(compound());
    screen.keys("a");
    has(&mut screen, &["2 cargo test *  and  make"]);
    check(&mut screen, "2", always(&["bash(cargo test *)", "bash(make)"], RuleScope::Session));
    // Edits: this file, its folder, all of them.
    let edit = || change_request("c1", change(1));
    let mut screen = waiting(edit());
    screen.keys("a");
    has(
        &mut screen,
        &["1 Changes of this file", "2 edit(src/**)", "3 All edits in this folder", "4 Type a rule…"],
    );
    check(&mut screen, "3", always(&["edit(./**)"], RuleScope::Session));
    // If no rule is safe the call itself is offered, and the line to edit is not empty.
    for (command, draft) in [
        ("python3 gen.py", "rule: bash(python3 gen.py)"),
        ("curl https://x.test/a?b=1", "rule: bash("),
        ("sed -i 's/a/b/' x", "rule: bash(sed -i *)"),
        ("node -e 'x()'", "rule: bash(node -e *)"),
        ("rm -r build", "rule: bash(rm -r build)"),
        ("eval \"$x\"", "rule: bash(eval *)"),
        // No rule covers several commands.
        ("cd src && sh x", "for example bash(cargo test *)"),
    ] {
        let request =
            || ApprovalRequest { suggested_rules: Vec::new(), ..command_request("c1", command, (0, 1)) };
        check(&mut waiting(request()), "a1", exact.clone());
        let mut screen = waiting(request());
        screen.keys("a2");
        has(&mut screen, &[draft]);
    }
    // Tab changes no scope that is not shown.
    let mut screen = waiting(ApprovalRequest { suggested_rules: Vec::new(), ..request() });
    screen.keys("a<tab><tab>2");
    has(&mut screen, &["‹this session›"]);
    // A call that is asked about every time is not offered verbatim.
    let mut screen = waiting(ApprovalRequest { can_allow_exact: false, ..request() });
    screen.keys("a");
    has(&mut screen, &["› 1 rm -rf build", "2 Type a rule…"]);
    // Esc goes back step by step, and an unbound key decides nothing.
    screen.keys("2");
    has(&mut screen, &["rule: ", "Always allow what?"]);
    screen.keys("<esc>");
    has(&mut screen, &["› 2 Type a rule…"]);
    screen.keys("x9<esc>");
    assert_eq!(answers(&mut screen), []);
    has(&mut screen, &["1 Yes, once (y)"]);
}
