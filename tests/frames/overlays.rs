//! Golden frames of lists and dialogs that are answered by the shell or the agent.

use serde_json::{Value, json};
use tau::agent::protocol::command::{AgentCommand, QuestionAnswer, QuestionCommand};
use tau::agent::protocol::event::{Question, QuestionEvent};
use tau::agent::protocol::form::FormField;
use tau::app::boot::Boot;
use tau::app::request::{
    KeylessModel, LoginProvider, ModelList, ScreenReply, ScreenRequest, SignInPage, SignInStep,
};
use tau::app::{Effect, Msg};
use tau::tools::user::{UserAnswer, UserQuestion};

use crate::harness::{Screen, ai, boot, frames, text};

/// Answers the latest request.
pub fn reply(screen: &mut Screen, reply: ScreenReply) {
    let asked = screen.take_effects().into_iter().rev().find_map(|effect| match effect {
        Effect::Ask(ticket, _) => Some(ticket),
        _ => None,
    });
    screen.send(Msg::Finished(asked.expect("a request"), reply));
}

/// A screen with something behind the overlay.
pub(super) fn talked() -> Screen {
    let mut screen = Screen::new();
    screen.user("explain the parser");
    screen.answer("It reads **tokens** and makes a tree of them.", 3);
    screen.take_effects();
    screen
}

#[test]
fn model_picker() {
    let mut screen = talked();
    screen.keys("<ctrl+l>");
    let other =
        tau::agent::protocol::model::Model { id: "large".into(), name: "Large 漢字".into(), ..ai() };
    let keyless = KeylessModel {
        reference: "acme/huge".into(),
        provider: "Acme".into(),
        needs: Some("ACME_API_KEY".into()),
    };
    let models =
        ModelList { usable: vec![ai().into(), other.into()], keyless: vec![keyless], ..Default::default() };
    reply(&mut screen, ScreenReply::Models(models));
    frames(&mut screen, "models");
    screen.keys("nosuchmodel");
    frames(&mut screen, "models-none");
}

#[test]
fn thinking_picker() {
    let mut screen = talked();
    screen.keys("/thinking<enter>");
    frames(&mut screen, "thinking");
}

#[test]
fn theme_picker() {
    let mut screen = talked();
    screen.keys("/theme<enter><down>");
    frames(&mut screen, "themes");
}

#[test]
fn login() {
    let mut screen = talked();
    screen.keys("/login<enter>");
    let provider = |id: &str, has_key| LoginProvider {
        id: id.into(),
        name: id.to_uppercase(),
        env: format!("{}_API_KEY", id.to_uppercase()),
        has_key,
        login: None,
    };
    reply(&mut screen, ScreenReply::Providers(vec![provider("acme", true), provider("other", false)]));
    frames(&mut screen, "providers");
    screen.keys("<enter>secret");
    frames(&mut screen, "login");
    screen.keys("<enter>");
    reply(&mut screen, ScreenReply::Failed("the key was refused (401)".into()));
    frames(&mut screen, "login-refused");
}

#[test]
fn sign_in() {
    let mut screen = talked();
    screen.keys("/login<enter>");
    let login = LoginProvider {
        id: "acme".into(),
        name: "log in to Acme (Plus)".into(),
        env: String::new(),
        has_key: false,
        login: Some("acme".into()),
    };
    reply(&mut screen, ScreenReply::Providers(vec![login]));
    frames(&mut screen, "sign-in-list");
    screen.keys("<enter>");
    let asked = screen.take_effects().into_iter().rev().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::SignIn { login }) => Some((ticket, login)),
        _ => None,
    });
    let (ticket, login) = asked.expect("a login");
    assert_eq!(login, "acme");
    let page = |code: Option<&str>| {
        ScreenReply::SignIn(SignInStep::Waits(SignInPage {
            name: "Acme (Plus)".into(),
            page: "https://auth.example/authorize?response_type=code&client_id=tau&state=1234567890".into(),
            code: code.map(str::to_owned),
            is_open: code.is_none(),
        }))
    };
    screen.send(Msg::Finished(ticket, page(None)));
    // Without text, Enter copies the address, which may be longer than the box is wide.
    screen.keys("<enter>");
    let copied = screen.take_effects().into_iter().any(
        |effect| matches!(effect, Effect::Copy(text) if text.starts_with("https://auth.example/authorize?") && text.ends_with("890")),
    );
    assert!(copied);
    screen.keys("http");
    frames(&mut screen, "sign-in-browser");
    screen.keys("<enter>");
    let pasted = screen.take_effects().into_iter().any(|effect| {
        matches!(effect, Effect::Ask(_, ScreenRequest::PasteSignIn { address }) if address.0 == "http")
    });
    assert!(pasted);
    screen.send(Msg::Finished(ticket, page(Some("ABCD-1234"))));
    frames(&mut screen, "sign-in-code");
    let failed = ScreenReply::Failed("the code has expired; log in again for a new one".into());
    screen.send(Msg::Finished(ticket, failed));
    frames(&mut screen, "sign-in-failed");
    screen.keys("<esc>");
    assert!(!crate::harness::text(&screen.draw()).contains("expired"));
}

#[test]
fn stored_keys() {
    let mut screen = talked();
    screen.keys("/logout<enter>");
    let stored = LoginProvider {
        id: "acme".into(),
        name: "Acme".into(),
        env: String::new(),
        has_key: true,
        login: None,
    };
    reply(&mut screen, ScreenReply::Providers(vec![stored]));
    frames(&mut screen, "stored-keys");
}

#[test]
fn earlier_prompts() {
    let mut screen = Screen::new();
    let history = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::History {}) => Some(ticket),
        _ => None,
    });
    let prompts = ["fix the test", "!cargo test", "two\nlines"].map(String::from).to_vec();
    screen.send(Msg::Finished(history.expect("asked at the start"), ScreenReply::History(prompts)));
    screen.keys("<ctrl+r>");
    frames(&mut screen, "prompts");
}

#[test]
fn trust() {
    let mut screen = Screen::boot(Boot { folders: vec![crate::trust::changed_folder()], ..boot() });
    frames(&mut screen, "trust-changed");
}

#[test]
fn questions_of_the_agent() {
    let mut screen = talked();
    let question = Question::Select {
        title: "Session in use".into(),
        options: ["Open it read-only", "Take it over", "Cancel"].map(String::from).to_vec(),
    };
    screen.agent(QuestionEvent::Asked { id: "q".into(), question });
    frames(&mut screen, "question");
    screen.at += 1_000;
    screen.keys("<esc>");
    let question =
        Question::Confirm { title: "Continue?".into(), message: "The model repeats itself.".into() };
    screen.agent(QuestionEvent::Asked { id: "r".into(), question });
    frames(&mut screen, "confirm");
}

#[test]
fn questions_of_the_model() {
    let mut screen = talked();
    let question = |question: &str, choices: &[&str], multiple| UserQuestion {
        question: question.into(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        multiple,
    };
    let long = "Which \x1b[31mdatabase should the tests use? The machine that checks changes has no \
                PostgreSQL, and production runs on nothing else.";
    let questions = vec![
        question(
            long,
            &["SQLite in memory: fast, but some migrations cannot be tested with it", "PostgreSQL"],
            false,
        ),
        question("Which checks?", &["fmt", "clippy", "漢字"], true),
        question("What is the branch called?", &[], false),
    ];
    screen.agent(QuestionEvent::Asked { id: "q".into(), question: Question::User { questions } });
    screen.at += 1_000;
    frames(&mut screen, "user-questions");
    screen.keys("2");
    screen.wait(500);
    screen.keys("<space><down>");
    frames(&mut screen, "user-questions-several");
    screen.keys("<enter>");
    screen.at += 500;
    screen.keys("<enter>");
    frames(&mut screen, "user-questions-text");
    // Further lines stand below the first one.
    screen.send(Msg::Paste("one\ntwo".into()));
    let shown = text(&screen.draw());
    let column =
        |word: &str| shown.lines().find_map(|row| row.find(word).map(|at| row[..at].chars().count()));
    assert_eq!(column("one").filter(|_| shown.contains("› one")), column("two"), "{shown}");
}

/// The choices and the text of an answer.
type Given = (&'static [usize], &'static str);

/// Keys at two questions with choices, a `.` for a pause, and the answers.
const DIGITS: [(&str, &[Given]); 9] = [
    ("5432<enter>.1.", &[(&[], "5432"), (&[0], "")]),
    ("1024<enter>.2.", &[(&[], "1024"), (&[1], "")]),
    ("22<enter>.1<enter>", &[(&[], "22"), (&[0], "")]),
    ("2 of them<enter>.1.", &[(&[], "2 of them"), (&[0], "")]),
    ("1.2.", &[(&[0], ""), (&[1], "")]),
    ("1<backspace>2.1.", &[(&[1], ""), (&[0], "")]),
    ("3none<enter>.32<enter>", &[(&[], "none"), (&[], "32")]),
    // An Enter too many answers nothing.
    ("1<enter><enter>.2<enter>", &[(&[0], ""), (&[1], "")]),
    ("3.9<enter>.80<ctrl+j>81<enter>", &[(&[], "9"), (&[], "80\n81")]),
];

#[test]
fn an_answer_may_begin_with_a_digit() {
    for (keys, expected) in DIGITS {
        let mut screen = talked();
        let choices = ["8080", "3000"].map(str::to_owned).to_vec();
        let question = UserQuestion { question: "Which port?".into(), choices, multiple: false };
        let questions = vec![question.clone(), question];
        screen.agent(QuestionEvent::Asked { id: "q".into(), question: Question::User { questions } });
        screen.at += 1_000;
        screen.take_effects();
        for part in keys.split_inclusive('.') {
            screen.keys(part.trim_end_matches('.'));
            if part.ends_with('.') {
                screen.wait(500);
            }
        }
        let answers = screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Agent(AgentCommand::Questions(QuestionCommand::Answer { answer, .. })) => Some(answer),
            _ => None,
        });
        let expected = expected
            .iter()
            .map(|(choices, text)| UserAnswer { choices: choices.to_vec(), text: (*text).to_owned() });
        assert_eq!(answers, Some(QuestionAnswer::Answers(expected.collect())), "{keys}");
        assert!(screen.model().composer.is_empty(), "{keys}");
    }
}

/// The time until an answer is not that of the run, wherever it is given.
#[test]
fn a_question_that_is_answered_elsewhere_takes_no_time_of_the_run() {
    let mut screen = Screen::new();
    screen.user("go");
    screen.run();
    let questions = vec![UserQuestion { question: "Which?".into(), choices: Vec::new(), multiple: false }];
    screen.agent(QuestionEvent::Asked { id: "q".into(), question: Question::User { questions } });
    screen.wait(3_600_000);
    screen.agent(QuestionEvent::AskWithdrawn { id: "q".into() });
    screen.wait(2_000);
    let shown = text(&screen.draw());
    assert!(shown.contains("2.0s") && !shown.contains("1h"), "{shown}");
}

#[test]
fn questions_of_an_mcp_server() {
    let mut screen = talked();
    let field = |name: &str, required, schema: Value| FormField::of_schema(name, required, &schema).unwrap();
    let question = Question::Form {
        server: "tracker".into(),
        message: "Where does the \x1b[31mticket go?".into(),
        fields: vec![
            field("title", true, json!({"type": "string", "description": "One line"})),
            field("points", false, json!({"type": "integer", "minimum": 1, "default": 3})),
            field("urgent", true, json!({"type": "boolean"})),
            field("board", false, json!({"type": "string", "enum": ["client", "server"]})),
            field("labels", false, json!({"type": "array", "items": {"enum": ["bug", "docs", "漢字"]}})),
        ],
    };
    screen.agent(QuestionEvent::Asked { id: "q".into(), question });
    frames(&mut screen, "form");
    screen.at += 1_000;
    screen.keys("<down><down><down><down><down><enter>");
    frames(&mut screen, "form-missing");
    screen.keys("<esc>");
    let question = Question::Url {
        server: "tracker".into(),
        message: "Log in to continue".into(),
        url: "https://tracker.example/login?state=4f1c9a2be7d84c".into(),
    };
    screen.agent(QuestionEvent::Asked { id: "r".into(), question });
    frames(&mut screen, "address");
}

#[test]
fn find() {
    let mut screen = talked();
    screen.keys("<ctrl+f>tokens");
    frames(&mut screen, "find");
    screen.keys("<ctrl+f>nowhere<enter>");
    frames(&mut screen, "find-none");
}

#[test]
fn files() {
    let mut screen = talked();
    screen.keys("look at @src/p");
    reply(&mut screen, ScreenReply::Files(vec!["src/parser.rs".into(), "src/printer.rs".into()]));
    frames(&mut screen, "files");
}

#[test]
fn scrolled_up() {
    let mut screen = Screen::new();
    screen.user("count, please");
    let answer: String = (0..120).map(|at| format!("row {at}\n\n")).collect();
    screen.answer(&answer, 500);
    screen.keys("<ctrl+home><pagedown>");
    frames(&mut screen, "scrolled");
}

#[test]
fn selected_call() {
    let mut screen = super::tools();
    screen.keys("<alt+o><up>");
    frames(&mut screen, "selected-call");
}
