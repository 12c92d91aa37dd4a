//! From the demo to a real model: messages, preselection, and things that stay out of the way.

use std::sync::Arc;

use tau::agent::AgentCommand;
use tau::agent::protocol::command::SettingsCommand;
use tau::agent::protocol::event::{SessionEvent, SessionInfo, SettingsEvent};
use tau::agent::protocol::model::{Api, Model};
use tau::app::boot::Boot;
use tau::app::request::{KeylessModel, LoggedIn, ModelList, ScreenReply};
use tau::app::{Effect, Msg};

use crate::harness::{Screen, ai, boot, frames, text};
use crate::screen::Screen as Terminal;

fn demo() -> Arc<Model> {
    Arc::new(Model {
        id: "demo".into(),
        name: "scripted demo (not an AI)".into(),
        provider: "demo".into(),
        api: Api::Scripted,
        ..ai()
    })
}

fn served() -> Arc<Model> {
    Arc::new(Model {
        id: "/models/qwen3-8b.gguf".into(),
        name: "qwen3-8b".into(),
        provider: "llama.cpp".into(),
        context_window: 0,
        reasoning: false,
        ..ai()
    })
}

/// A start with nothing configured.
fn newcomer() -> Screen {
    let mut screen = Screen::boot(Boot { demo: true, model: Some(demo()), ..boot() });
    screen.take_effects();
    screen
}

fn list() -> ModelList {
    let keyless = |reference: &str, needs: &str| KeylessModel {
        reference: reference.into(),
        provider: reference.split('/').next().unwrap().into(),
        needs: Some(needs.into()),
    };
    ModelList {
        usable: vec![served(), demo()],
        keyless: vec![
            keyless("anthropic/claude-opus-5", "ANTHROPIC_API_KEY"),
            keyless("openai/gpt-5", "OPENAI_API_KEY"),
        ],
        ..ModelList::default()
    }
}

/// Presses a key that requests the models, and answers.
fn with_models(screen: &mut Screen, key: &str) {
    screen.keys(key);
    let Some(Effect::Ask(ticket, _)) = screen.take_effects().pop() else { panic!("no request") };
    screen.send(Msg::Finished(ticket, ScreenReply::Models(list())));
}

fn sets(screen: &mut Screen) -> Option<String> {
    screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Settings(SettingsCommand::SetModel { model })) => Some(model.reference()),
        _ => None,
    })
}

#[test]
fn the_banner_goes_with_the_first_real_model() {
    let mut screen = newcomer();
    let banner = "This is the scripted demo";
    assert!(text(&screen.draw()).contains(banner));
    screen.agent(SettingsEvent::ModelChanged { model: served() });
    assert!(!text(&screen.draw()).contains(banner));
    let session = SessionInfo::default();
    screen.agent(SessionEvent::SessionOpened { session, messages: Vec::new(), titles: Default::default() });
    assert!(!text(&screen.draw()).contains(banner), "after /new");
}

#[test]
fn the_model_of_a_server_that_was_found_is_preselected() {
    let mut screen = newcomer();
    with_models(&mut screen, "<ctrl+l>");
    frames(&mut screen, "models-keyless");
    let shown = text(&screen.draw());
    assert!(shown.contains("Models · 2 more need a key") && shown.contains("llama.cpp/qwen3-8b"), "{shown}");
    assert!(shown.contains("needs ANTHROPIC_API_KEY"), "{shown}");
    screen.keys("<enter>");
    assert_eq!(sets(&mut screen).as_deref(), Some("llama.cpp//models/qwen3-8b.gguf"));
}

#[test]
fn models_without_a_key_come_last_and_ask_for_it() {
    let mut screen = newcomer();
    with_models(&mut screen, "<ctrl+l>");
    screen.keys("opus<enter>");
    assert_eq!(sets(&mut screen), None);
    assert!(text(&screen.draw()).contains("API key for anthropic"));
    let mut screen = newcomer();
    with_models(&mut screen, "<ctrl+l>");
    screen.keys("e<enter>");
    assert!(sets(&mut screen).is_some(), "what can be used comes first");
}

#[test]
fn the_demo_is_not_in_the_cycle() {
    let mut screen = newcomer();
    with_models(&mut screen, "<ctrl+p>");
    assert_eq!(sets(&mut screen).as_deref(), Some("llama.cpp//models/qwen3-8b.gguf"));
    screen.agent(SettingsEvent::ModelChanged { model: served() });
    screen.keys("<ctrl+p>");
    assert_eq!(sets(&mut screen), None, "the only real one");
    assert!(text(&screen.draw()).contains("only one model is available"));
}

/// A server that was found once is found again, even before it has been asked for its models.
#[test]
fn a_model_of_a_server_on_this_machine_is_still_the_model_after_a_restart() {
    let script = "mkdir -p $TAU_HOME && echo 'model = \"llama.cpp/qwen3-8b.gguf\"' > $TAU_HOME/config.toml";
    let screen = Terminal::prepared(script, "", 80, 24);
    screen.wait_for("qwen3-8b · auto");
    screen.type_keys("/reload\r");
    screen.wait_for("nothing changes");
    let contents = screen.text();
    assert!(!contents.contains("no model matches") && !contents.contains("demo"), "{contents}");
}

/// Without the user's models the one in use would be replaced, so nothing is.
#[test]
fn a_reload_names_what_is_wrong_in_the_list_of_models() {
    let script = "mkdir -p $TAU_HOME && printf '[vendors.own]\nbase_url = \"http://127.0.0.1:9/v1\"\napi = \"openai-completions\"\n\
                  api_key = \"x\"\n[[vendors.own.models]]\nid = \"usual\"\n' > $TAU_HOME/models.toml";
    for flags in ["", "--model own/usual"] {
        let config = "echo 'model = \"own/usual\"' > $TAU_HOME/config.toml";
        let screen = Terminal::prepared(&format!("{script}\n{config}"), flags, 80, 24);
        screen.wait_for("usual · auto");
        screen.type_keys("!echo nonsense = 1 >> $TAU_HOME/models.toml; echo broken\r");
        screen.wait_for("│ broken");
        screen.type_keys("/reload\r");
        screen.wait_for("not reloaded: ");
        let contents = screen.text();
        assert!(contents.contains("models.toml:7") && !contents.contains("demo"), "{contents}");
    }
}

#[test]
fn the_real_program_lists_models_that_need_a_key() {
    let screen = Terminal::start(&[], 100, 30);
    screen.wait_for("This is the scripted demo");
    screen.type_keys("\x0c");
    screen.wait_for("more need a key");
    screen.type_keys("claude-haiku-4-5");
    screen.wait_for("anthropic/claude-haiku-4-5");
    screen.wait_for("needs ANTHROPIC_API_KEY");
    screen.type_keys("\r");
    screen.wait_for("API key for ");
    screen.type_keys("\x1b");
    screen.wait_until("the list is closed", |cells| !cells.contents().contains("API key for "));
    screen.type_keys("\x10");
    screen.wait_for("only one model is available");
}

#[test]
fn a_key_says_whether_it_was_checked_and_leaves_the_demo() {
    for demo in [true, false] {
        let mut screen = newcomer();
        if !demo {
            screen.agent(SettingsEvent::ModelChanged { model: served() });
        }
        with_models(&mut screen, "<ctrl+l>");
        screen.keys("opus<enter>");
        screen.keys("sk-key<enter>");
        let Some(Effect::Ask(ticket, _)) = screen.take_effects().pop() else { panic!("no request") };
        let said = "stored the key for anthropic; it could not be checked: no answer within 15 seconds";
        let model = Arc::new(Model { id: "claude-opus-5".into(), provider: "anthropic".into(), ..ai() });
        let reply = ScreenReply::LoggedIn(LoggedIn { said: said.into(), model });
        screen.send(Msg::Finished(ticket, reply));
        let shown = text(&screen.draw());
        assert!(shown.contains("stored the key for anthropic; it could not be checked"), "{shown}");
        assert_eq!(shown.contains("answers now; press ctrl+l to choose another"), demo, "{shown}");
        assert_eq!(sets(&mut screen), demo.then(|| "anthropic/claude-opus-5".to_owned()));
    }
}
