//! Questions that come and go while the user types: nothing typed is lost, and nothing answers what it was not
//! meant for.

use serde_json::json;

use tau::agent::AgentCommand;
use tau::agent::protocol::command::{QuestionAnswer, QuestionCommand, RunCommand};
use tau::agent::protocol::event::{CompactionReason, Question, QuestionEvent, RunEvent};
use tau::agent::protocol::form::FormField;
use tau::app::Effect;
use tau::app::overlays::overlay::Overlay;
use tau::app::request::{LoginProvider, ScreenReply, ScreenRequest};
use tau::tools::user::UserQuestion;

use crate::approvals::{COMMAND, command_request, waiting};
use crate::harness::{Screen, plan_question, text};

fn user_question() -> Question {
    let questions = vec![UserQuestion { question: "Which?".into(), choices: Vec::new(), multiple: false }];
    Question::User { questions }
}

/// Each kind of question, with an answer that Enter gives.
fn kinds() -> Vec<Question> {
    let field = FormField::of_schema("name", false, &json!({"type": "string"})).unwrap();
    let form = |fields| Question::Form { server: "db".into(), message: "Delete it?".into(), fields };
    vec![
        Question::Confirm { title: "Continue?".into(), message: "It repeats itself.".into() },
        Question::Url { server: "db".into(), message: "Log in".into(), url: "https://x.example".into() },
        plan_question("- one"),
        form(Vec::new()),
        form(vec![field]),
        user_question(),
    ]
}

/// Nobody has to guess whether the conversation was compacted.
#[test]
fn a_compaction_that_is_stopped_says_so() {
    let mut screen = Screen::new();
    screen.user("explain the parser");
    let reason = CompactionReason::Manual;
    screen.agent(RunEvent::CompactionStart { reason });
    let (result, error_message) = (None, None);
    screen.agent(RunEvent::CompactionEnd { reason, result, aborted: true, will_retry: false, error_message });
    let shown = text(&screen.draw());
    assert!(shown.contains("compaction stopped; the conversation is unchanged"), "{shown}");
}

fn ask(screen: &mut Screen, id: &str, question: Question) {
    screen.agent(QuestionEvent::Asked { id: id.into(), question });
}

/// Whatever is asked, the run waits for the user, not for the model.
#[test]
fn a_run_with_a_question_waits_for_the_user() {
    for question in kinds() {
        let mut screen = Screen::new();
        screen.user("go");
        screen.run();
        ask(&mut screen, "q", question.clone());
        screen.wait(22_000);
        let model = screen.model();
        assert!(model.waits_for_user() && !model.wants().progress, "{question:?}");
        assert!(model.wants().title.starts_with("waiting for you"), "{question:?}");
        assert!(!text(&screen.draw()).contains("waiting for the model"), "{question:?}");
    }
}

fn answers(screen: &mut Screen) -> Vec<QuestionAnswer> {
    let answer = |effect| match effect {
        Effect::Agent(AgentCommand::Questions(QuestionCommand::Answer { answer, .. })) => Some(answer),
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(answer).collect()
}

/// Whoever only looks at what waits can leave it waiting.
#[test]
fn the_key_that_quits_answers_nothing() {
    let typed_into = |question: &Question| matches!(question, Question::Form { .. });
    for question in kinds().into_iter().filter(|question| !typed_into(question)) {
        let mut screen = Screen::new();
        screen.run();
        ask(&mut screen, "q", question.clone());
        screen.at += 1_000;
        screen.take_effects();
        screen.keys("<ctrl+d>");
        assert_eq!(screen.take_effects(), [Effect::Quit], "{question:?}");
    }
    // A key for text that is typed there.
    let mut screen = Screen::new();
    screen.run();
    ask(&mut screen, "q", user_question());
    screen.at += 1_000;
    screen.keys("text<left>");
    screen.take_effects();
    screen.keys("<ctrl+d>");
    assert_eq!(screen.take_effects(), []);
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("<ctrl+d>");
    assert_eq!(screen.take_effects(), [Effect::Quit]);
}

fn prompts(screen: &mut Screen) -> usize {
    screen
        .take_effects()
        .iter()
        .filter(|effect| matches!(effect, Effect::Agent(AgentCommand::Run(_))))
        .count()
}

#[test]
fn what_is_typed_as_a_question_appears_is_for_the_draft() {
    for question in kinds() {
        let mut screen = Screen::new();
        screen.run();
        screen.keys("pl");
        ask(&mut screen, "q", question.clone());
        screen.at += 100;
        screen.keys("ease");
        screen.keys("<enter>");
        assert!(answers(&mut screen).is_empty(), "{question:?}");
        assert_eq!(screen.model().composer.text(), "please", "{question:?}");
    }
}

#[test]
fn a_question_is_below_a_key_that_is_being_typed() {
    for question in kinds() {
        let mut screen = Screen::new();
        screen.run();
        screen.keys("/login<enter>");
        let provider = LoginProvider {
            id: "acme".into(),
            name: "Acme".into(),
            env: "ACME_API_KEY".into(),
            has_key: false,
            login: None,
        };
        let asked = |effect: &Effect| match effect {
            Effect::Ask(ticket, ScreenRequest::Providers {}) => Some(*ticket),
            _ => None,
        };
        let ticket = screen.take_effects().iter().find_map(asked).unwrap();
        screen.send(tau::app::Msg::Finished(ticket, ScreenReply::Providers(vec![provider])));
        screen.keys("<enter>");
        ask(&mut screen, "q", question.clone());
        screen.at += 1_000;
        screen.keys("sk-secret");
        assert!(matches!(screen.model().overlays.last(), Some(Overlay::Login { .. })), "{question:?}");
        assert!(screen.model().composer.is_empty());
        let shown = text(&screen.draw());
        assert!(shown.contains("a question waits for you behind") && !shown.contains("sk-secret"), "{shown}");
        screen.keys("<esc><enter>");
        assert!(answers(&mut screen).is_empty(), "{question:?}");
        assert_eq!(screen.model().overlays.len(), 1, "{question:?}");
    }
}

#[test]
fn a_typed_answer_whose_question_goes_is_kept_and_not_sent() {
    for way in ["answered elsewhere", "the run ends"] {
        let mut screen = Screen::new();
        screen.user("go");
        screen.run();
        ask(&mut screen, "below", Question::Confirm { title: "Continue?".into(), message: String::new() });
        ask(&mut screen, "q", user_question());
        // The first one is answered first.
        screen.at += 1_000;
        screen.keys("<esc>");
        screen.at += 1_000;
        screen.keys("use the one that my colleague ");
        screen.take_effects();
        match way {
            "the run ends" => screen.settle(),
            _ => screen.agent(QuestionEvent::AskWithdrawn { id: "q".into() }),
        }
        screen.at += 50;
        screen.keys("has set up<enter>");
        assert_eq!(screen.model().composer.text(), "use the one that my colleague has set up", "{way}");
        assert_eq!(prompts(&mut screen), 0, "{way}");
        screen.at += 1_000;
        screen.keys("<enter>");
        assert_eq!(prompts(&mut screen), 1, "{way}");
    }
}

#[test]
fn a_message_is_written_below_a_side_question() {
    let mut screen = Screen::new();
    screen.user("go");
    screen.run();
    screen.keys("/btw why a map?<enter>");
    screen.take_effects();
    screen.keys("quit early<enter>");
    let sent = |effect: &Effect| match effect {
        Effect::Agent(AgentCommand::Run(RunCommand::Prompt { text, .. })) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(screen.take_effects().iter().find_map(sent).as_deref(), Some("quit early"));
    assert!(matches!(screen.model().overlays.last(), Some(Overlay::SideQuestion(_))));
    screen.keys("<enter>");
    assert!(screen.model().overlays.is_empty());
}
