//! Words that users bring along: other names of commands, and words typed at a question or a list, which
//! never reach the model by accident.

use std::path::Path;

use tau::agent::AgentCommand;
use tau::agent::protocol::approval::ApprovalAnswer;
use tau::agent::protocol::command::{
    QuestionAnswer, QuestionCommand, QueueCommand, RunCommand, SessionChange, SessionCommand,
};
use tau::agent::protocol::event::{Question, QuestionEvent};
use tau::app::Effect;
use tau::app::slash::{ALIASES, TABLE, unlisted_commands};
use tau::tools::user::UserQuestion;

use crate::approvals::{COMMAND, answers, change, change_request, command_request, pause, waiting};
use crate::harness::{Screen as Folded, plan_question, text};
use crate::queue_list::working;
use crate::screen::Screen;

#[test]
fn other_names_do_what_the_command_does() {
    for (alias, name) in ALIASES {
        let outcome = |name: &str| {
            let mut screen = Folded::new();
            screen.keys("a<enter>");
            screen.take_effects();
            screen.keys(&format!("/{name}<enter>"));
            let model = screen.model();
            (
                screen.model().overlays.clone(),
                model.remark.clone(),
                text(&screen.draw()),
                screen.take_effects(),
            )
        };
        assert_eq!(outcome(alias), outcome(name), "/{alias}");
    }
    let mut screen = Folded::new();
    screen.keys("/vim<enter>");
    assert!(format!("{:?}", screen.take_effects()).contains("editing_mode"));
}

/// Words behind a command filter the list that it opens, or it is not run and says so; none are dropped.
#[test]
fn words_behind_a_command_are_used_or_refused() {
    for row in TABLE.iter().filter(|row| row.arguments.is_empty()) {
        let mut screen = Folded::new();
        let shows = |screen: &mut Folded, words: &str| text(&screen.draw()).contains(words);
        screen.keys(&format!("/{} zxcv<enter>", row.name));
        let refusal = format!("/{} takes no arguments", row.name);
        let refused = shows(&mut screen, &refusal);
        let filtered = !screen.model().overlays.is_empty() && shows(&mut screen, "zxcv");
        assert!(refused != filtered, "{}: {}", row.name, text(&screen.draw()));
    }
    let mut screen = Folded::new();
    screen.keys("/help thinking<enter>");
    let help = text(&screen.draw());
    assert!(help.contains("/thinking") && !help.contains("/export"), "{help}");
}

#[test]
fn other_names_are_completed_and_not_listed() {
    let mut screen = Folded::new();
    screen.keys("/");
    let rows = |screen: &Folded| -> Vec<String> {
        let rows = screen.model().completion.iter().flat_map(|list| &list.rows);
        rows.map(|row| row.insert.trim().to_owned()).collect()
    };
    let listed = rows(&screen);
    for (row, _) in unlisted_commands() {
        let name = format!("/{}", row.name);
        assert!(!listed.contains(&name), "{name} is listed");
        let mut screen = Folded::new();
        screen.keys(&name[..name.len() - 1]);
        assert!(rows(&screen).contains(&name), "{name} is not completed: {:?}", rows(&screen));
        screen.keys(&name[name.len() - 1..]);
        assert_eq!(rows(&screen)[0], name);
    }
    // The help finds them.
    let mut screen = Folded::new();
    screen.keys("<f1>rewind");
    assert!(text(&screen.draw()).contains("/undo"));
}

/// Types each key of a word 50 ms after the one before, then Enter.
fn type_word(screen: &mut Folded, word: &str) {
    for c in word.chars() {
        screen.at += 50;
        screen.keys(&c.to_string());
    }
    screen.at += 50;
    screen.keys("<enter>");
}

/// The texts sent to the model or a command.
fn sent(screen: &mut Folded) -> Vec<String> {
    let texts = screen.take_effects().into_iter().filter_map(|effect| match effect {
        Effect::Agent(AgentCommand::Run(RunCommand::Prompt { text, .. })) => Some(text),
        Effect::Agent(AgentCommand::Questions(QuestionCommand::AnswerApproval { answer, .. })) => {
            match answer {
                ApprovalAnswer::Deny { reason, .. } => reason,
                ApprovalAnswer::Allow { edited, .. } => edited,
                other => Some(format!("{other:?}")),
            }
        }
        Effect::Agent(AgentCommand::Questions(QuestionCommand::Answer { answer, .. })) => {
            Some(format!("{answer:?}"))
        }
        _ => None,
    });
    texts.collect()
}

fn asked(question: Question) -> Folded {
    let mut screen = Folded::new();
    screen.user("go");
    screen.run();
    screen.agent(QuestionEvent::Asked { id: "q".into(), question });
    pause(&mut screen);
    screen
}

fn ask_user(choices: &[&str], multiple: bool) -> Folded {
    let choices = choices.iter().map(|text| (*text).to_owned()).collect();
    asked(Question::User { questions: vec![UserQuestion { question: "Which?".into(), choices, multiple }] })
}

/// A digit chooses or marks, unless a word follows it: then it is the beginning of an answer of one's own.
#[test]
fn an_answer_of_ones_own_begins_with_a_digit_of_any_question() {
    for multiple in [false, true] {
        let answers = |keys: &[(&str, i64)]| {
            let mut screen = ask_user(&["a", "b", "c"], multiple);
            for (keys, pause) in keys {
                screen.at += pause;
                screen.keys(keys);
            }
            sent(&mut screen)
        };
        let own = ["Answers([UserAnswer { choices: [], text: \"2 of them\" }])"];
        let typed: Vec<(&str, i64)> =
            vec![("2", 50), ("<space>", 50), ("of", 50), ("<space>", 50), ("them<enter>", 50)];
        assert_eq!(answers(&typed), own, "{multiple}");
        let chosen = if multiple { "[0, 2]" } else { "[2]" };
        let keys: &[(&str, i64)] =
            if multiple { &[("1", 50), ("3", 50), ("<enter>", 50)] } else { &[("3", 50), ("<enter>", 50)] };
        assert_eq!(answers(keys), [format!("Answers([UserAnswer {{ choices: {chosen}, text: \"\" }}])")]);
    }
    // Later, a word is another part of the answer.
    let mut screen = ask_user(&["a", "b", "c"], true);
    screen.keys("2");
    screen.at += 1_000;
    screen.keys("and more<enter>");
    assert_eq!(sent(&mut screen), ["Answers([UserAnswer { choices: [1], text: \"and more\" }])"]);
}

/// The help scrolls back from its end with the first key, however often it was scrolled beyond.
#[test]
fn the_help_scrolls_back_at_once() {
    let mut screen = Folded::new();
    screen.keys("<f1>");
    screen.draw();
    let mut press = |key: &str| {
        screen.keys(key);
        text(&screen.draw())
    };
    let end = press("<end>");
    assert!(press("<pgup>") != end);
    for _ in 0..20 {
        press("<pgdn>");
    }
    assert_eq!(press("<down>"), end);
    assert!(press("<up>") != end);
}

const WORDS: [&str; 21] = [
    "yes", "no", "y", "n", "ok", "nope", "never", "always", "allow", "edit", "exit", "quit", "stop",
    "continue", "wait", "abort", "you", "1", "10", "/claer", "view",
];

#[test]
fn a_word_at_a_prompt_sends_nothing_but_its_choice() {
    let prompts: [fn() -> Folded; 3] = [
        || waiting(command_request("c1", COMMAND, (11, 26))),
        || waiting(change_request("c1", change(2))),
        || {
            let mut screen = Folded::new();
            screen.run();
            crate::approvals::also(&mut screen, command_request("c1", COMMAND, (11, 26)));
            // At once: it is not ready yet.
            screen.take_effects();
            screen
        },
    ];
    for (index, prompt) in prompts.iter().enumerate() {
        for word in WORDS {
            let mut screen = prompt();
            type_word(&mut screen, word);
            assert_eq!(sent(&mut screen), [""; 0], "{index}: {word}");
        }
        // A waiting draft is not sent with it.
        for word in ["yes", "no", "1", "y", "stop", "allow"] {
            let mut screen = Folded::new();
            screen.keys("a draft");
            screen.run();
            crate::approvals::also(&mut screen, command_request("c1", COMMAND, (11, 26)));
            pause(&mut screen);
            screen.take_effects();
            type_word(&mut screen, word);
            assert_eq!(sent(&mut screen), [""; 0], "{word} with a draft");
            assert!(screen.model().composer.text().starts_with("a draft"), "{word}");
        }
    }
}

#[test]
fn a_word_that_is_a_choice_leaves_nothing_behind() {
    let cases = [
        ("yes", ApprovalAnswer::Allow { hunks: None, edited: None }),
        ("y", ApprovalAnswer::Allow { hunks: None, edited: None }),
        ("1", ApprovalAnswer::Allow { hunks: None, edited: None }),
        ("no", ApprovalAnswer::Deny { reason: None, stop: false }),
        ("no, use make", ApprovalAnswer::Deny { reason: Some("use make".into()), stop: false }),
    ];
    for (word, expected) in cases {
        let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
        type_word(&mut screen, word);
        let answers: Vec<ApprovalAnswer> =
            crate::approvals::answers(&mut screen).into_iter().map(|(_, answer)| answer).collect();
        assert_eq!(answers, [expected], "{word}");
        assert_eq!(screen.model().composer.text(), "", "{word}");
    }
}

#[test]
fn a_command_at_a_prompt_runs() {
    for word in ["exit", "/exit", "/quit"] {
        let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
        // `exit` begins with a key of the prompt.
        screen.keys(" ");
        type_word(&mut screen, word);
        assert_eq!(sent(&mut screen), [""; 0], "{word}");
    }
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    for c in "/quit".chars() {
        screen.keys(&c.to_string());
    }
    screen.keys("<enter>");
    assert!(screen.take_effects().contains(&Effect::Quit));
}

/// Enter means the same however long one thinks before it.
#[test]
fn a_command_typed_at_a_question_is_run_and_answers_nothing() {
    let question = || waiting(command_request("c1", COMMAND, (11, 26)));
    let plan = || asked(plan_question("1. Read"));
    for (name, prompt) in [("question", &question as &dyn Fn() -> Folded), ("plan", &plan)] {
        for wait in [50, 700, 5_000] {
            let mut screen = prompt();
            for letter in "/clear".chars() {
                screen.at += 50;
                screen.keys(&letter.to_string());
            }
            screen.at += wait;
            screen.keys("<enter>");
            let effects = screen.take_effects();
            let is_new =
                |effect: &Effect| *effect == Effect::Agent(SessionCommand::Change(SessionChange::New).into());
            assert!(effects.iter().any(is_new), "{name}, {wait}: {effects:?}");
            let answers = |effect: &Effect| matches!(effect, Effect::Agent(AgentCommand::Questions(_)));
            assert!(!effects.iter().any(answers), "{name}, {wait}: {effects:?}");
        }
    }
}

#[test]
fn a_word_at_a_question_loses_no_letter() {
    for word in ["keep it", "just a word", "/help"] {
        let mut screen = asked(plan_question("1. Read"));
        for letter in word.chars() {
            screen.at += 50;
            screen.keys(&letter.to_string());
        }
        assert_eq!(screen.model().composer.text(), word);
    }
}

/// A key that came too early for the dialog is in the draft; Enter then answers what was chosen or typed since.
#[test]
fn enter_answers_a_dialog_after_an_early_key() {
    let early = |question: Question| {
        let mut screen = Folded::new();
        screen.user("go");
        screen.run();
        screen.agent(QuestionEvent::Asked { id: "q".into(), question });
        screen.keys("x");
        pause(&mut screen);
        screen
    };
    let question = |choices: &[&str]| Question::User {
        questions: vec![UserQuestion {
            question: "Which?".into(),
            choices: choices.iter().map(|text| (*text).to_owned()).collect(),
            multiple: false,
        }],
    };
    let plan = || plan_question("1. Read");
    let cases = [
        (question(&[]), "main<enter>", "main"),
        (question(&["a", "b"]), "2<enter>", "choices: [1]"),
        (question(&["a", "b"]), "other<enter>", "other"),
        (plan(), "5more tests<enter>", "more tests"),
        (plan(), "k<enter>", "Accepted"),
    ];
    for (question, keys, expected) in cases {
        let mut screen = early(question);
        let (first, rest) = keys.split_at(1);
        screen.keys(first);
        pause(&mut screen);
        screen.keys(rest);
        let answers = sent(&mut screen);
        assert!(answers.len() == 1 && answers[0].contains(expected), "{keys}: {answers:?}");
        assert_eq!(screen.model().composer.text(), "x", "{keys}");
    }
    // Without a key for it, the Enter was to send the draft.
    let mut screen = early(question(&["a", "b"]));
    screen.keys("<enter>");
    assert_eq!(sent(&mut screen), [""; 0]);
}

#[test]
fn a_name_that_begins_no_command_runs_none() {
    for (typed, said) in [
        ("/rm", "unknown command /rm"),
        ("/cat", "unknown command /cat"),
        ("/tmp", "unknown command /tmp"),
        ("/mdel", "did you mean /model?"),
        ("/contents", "did you mean /context?"),
        ("/quota", "unknown command /quota\n"),
        ("/memory", "instructions are in AGENTS.md"),
        ("/review", "review my changes"),
        ("/doctor", "!tau doctor"),
    ] {
        let mut screen = Folded::new();
        screen.keys(&format!("{typed}<enter>"));
        assert!(text(&screen.draw()).contains(said), "{typed}: {}", text(&screen.draw()));
        assert!(screen.model().overlays.is_empty(), "{typed}");
    }
    // What begins one is taken.
    for typed in ["/sett", "/sessio", "/st"] {
        let mut screen = Folded::new();
        screen.keys(&format!("{typed}<enter>"));
        assert!(!text(&screen.draw()).contains("unknown command"), "{typed}");
    }
}

#[test]
fn a_word_at_a_question_answers_nothing_by_accident() {
    let confirm = || asked(Question::Confirm { title: "Continue?".into(), message: String::new() });
    let plan = || asked(plan_question("1. Read\n2. Write"));
    let select =
        || asked(Question::Select { title: "Which?".into(), options: vec!["alpha".into(), "beta".into()] });
    for word in ["no", "stop", "exit", "/clear", "wait", "cancel"] {
        for (name, mut screen) in [("confirm", confirm()), ("plan", plan()), ("select", select())] {
            type_word(&mut screen, word);
            assert_eq!(sent(&mut screen), [""; 0], "{name}: {word}");
        }
    }
    // Pressed once more, Enter accepts the selection; a letter selects.
    let mut screen = confirm();
    type_word(&mut screen, "no");
    screen.keys("<enter>");
    assert_eq!(sent(&mut screen), [format!("{:?}", QuestionAnswer::Confirmed(false))]);
}

#[test]
fn a_command_is_no_answer_until_enter_is_pressed_again() {
    for word in ["exit", "/clear", "/new", "/clera", "quit"] {
        for choices in [&[][..], &["a", "b"]] {
            let mut screen = ask_user(choices, false);
            if !choices.is_empty() {
                screen.keys("3");
            }
            type_word(&mut screen, word);
            assert_eq!(sent(&mut screen), [""; 0], "{word}");
            screen.keys("<enter>");
            let answers = sent(&mut screen);
            assert!(answers.len() == 1 && answers[0].contains(word), "{word}: {answers:?}");
        }
        let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
        screen.keys("4");
        type_word(&mut screen, word);
        assert_eq!(sent(&mut screen), [""; 0], "{word} as a reason");
        screen.keys("<enter>");
        assert_eq!(sent(&mut screen), [word]);
        let mut screen = asked(plan_question("1. Read"));
        let reject = tau::app::overlays::plan::ANSWERS
            .iter()
            .position(|(answer, _)| *answer == tau::app::overlays::plan::PlanAnswer::Reject)
            .unwrap();
        screen.keys(&(reject + 1).to_string());
        type_word(&mut screen, word);
        assert_eq!(sent(&mut screen), [""; 0], "{word} as a comment");
    }
    // Other words are answers.
    let mut screen = ask_user(&[], false);
    type_word(&mut screen, "main");
    assert_eq!(sent(&mut screen).len(), 1);
}

#[test]
fn a_word_at_a_list_sends_nothing() {
    let lists = *tau::tools::words!(
        "/model<enter> /resume<enter> /theme<enter> /settings<enter> /help<enter> <alt+x> <ctrl+r>"
    );
    for list in lists {
        for word in ["exit", "/clear", "yes", "no", "hello", "q"] {
            let mut screen = Folded::new();
            screen.keys("a draft");
            screen.keys("<ctrl+s>");
            screen.keys(list);
            assert!(!screen.model().overlays.is_empty(), "{list}");
            type_word(&mut screen, word);
            assert_eq!(sent(&mut screen), [""; 0], "{list}: {word}");
        }
    }
    // In the list of queued messages `e` moves one into the composer.
    let mut screen = working(&["one"], &["two"]);
    screen.keys("<alt+up>");
    type_word(&mut screen, "exit");
    let effects = screen.take_effects();
    let changes = |effect: &Effect| {
        matches!(effect, Effect::Agent(AgentCommand::Queue(QueueCommand::ChangeQueued { .. })))
    };
    assert!(!effects.iter().any(changes), "{effects:?}");
}

#[test]
fn a_message_that_was_begun_before_the_question_is_sent() {
    let mut screen = Folded::new();
    screen.run();
    screen.keys("use ma");
    crate::approvals::also(&mut screen, command_request("c1", COMMAND, (11, 26)));
    screen.take_effects();
    type_word(&mut screen, "ke");
    assert_eq!(sent(&mut screen), ["use make"]);
    // So is one that is written after the question, in its own time.
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("y");
    pause(&mut screen);
    screen.take_effects();
    type_word(&mut screen, "next");
    assert_eq!(sent(&mut screen), ["next"]);
}

/// Typed in a terminal, as by a user of another program.
#[test]
fn words_from_elsewhere_work_in_a_terminal() {
    let mut screen = Screen::prepared("export TAU_DEMO_SPEED=max", "", 100, 40);
    let enter = |screen: &Screen, typed: &str| {
        screen.type_keys(typed);
        screen.wait_for_composer(typed);
        screen.type_keys("\r");
    };
    // A session without messages is cleared, too.
    enter(&screen, "/status");
    screen.wait_for("mode: auto");
    enter(&screen, "/clear");
    screen.wait_until("no page", |cells| !cells.contents().contains("mode: auto"));
    enter(&screen, "table");
    // The page is below the answer, not above what is still arriving.
    screen.wait_for("↓");
    for (count, typed) in ["/cost", "/usage", "/status"].into_iter().enumerate() {
        enter(&screen, typed);
        screen.wait_until("the page", |cells| cells.contents().matches("mode: auto").count() == count + 1);
    }
    enter(&screen, "/clear");
    screen.wait_until("an empty session", |cells| !cells.contents().contains("▌ table"));
    enter(&screen, "/vim");
    screen.wait_for("editing_mode vim");
    enter(&screen, "/vim");
    screen.wait_for("editing_mode emacs");
    enter(&screen, "/modle");
    screen.wait_for("unknown command /modle: did you mean /model?");
    screen.type_keys("\x15");
    enter(&screen, "exit");
    assert_eq!(screen.wait_exit().code(), Some(0));
}

/// Until an editor opens, or if none can, words go to the draft: `exit`, whose first letter edits the call.
#[test]
fn words_typed_while_an_editor_is_opened_are_for_the_draft() {
    let mut screen = waiting(change_request("c1", change(1)));
    screen.keys("exit<enter>");
    assert_eq!(screen.model().composer.text(), "xit");
    assert_eq!(answers(&mut screen), [], "nothing is decided");
}

/// Until tau has the terminal, that makes Enter the end of a line.
#[test]
fn what_is_typed_before_tau_has_the_terminal_is_typed_in_tau() {
    let typed = |keys: &str| {
        let script =
            "stty sane; printf begun; until [ -e typed ]; do sleep 0.1; done; exec \"$TAU_BIN\" --model demo";
        let screen = Screen::program(Path::new("/bin/sh"), &["-c", script], 80, 24);
        screen.wait_for("begun");
        screen.type_keys(keys);
        // The terminal echoes what it has taken.
        screen.wait_for(keys.split('\r').find(|line| !line.is_empty()).unwrap());
        std::fs::write(screen.home().join("work/typed"), "").unwrap();
        screen
    };
    typed("/resume\r").wait_for("Sessions of this directory");
    let screen = typed("one\rtwo\r");
    screen.wait_until("a draft", |cells| cells.contents().contains("> one\n  two"));
}
