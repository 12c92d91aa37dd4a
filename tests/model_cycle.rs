//! Stepping through models: favourites and recent ones, for this session; only the list saves.

use std::sync::Arc;

use tau::agent::AgentCommand;
use tau::agent::protocol::chosen::ChosenModels;
use tau::agent::protocol::command::SettingsCommand;
use tau::agent::protocol::event::SettingsEvent;
use tau::agent::protocol::model::{Api, Model as AiModel};
use tau::app::effect::{Effect, SavedSetting};
use tau::app::msg::Msg;
use tau::app::request::{ModelList, ScreenReply};

use crate::harness::{Screen, ai, text};
use crate::screen::Screen as Terminal;

/// As many models as one key of a large provider gives access to.
fn models() -> Vec<Arc<AiModel>> {
    let named = |number| Arc::new(AiModel { id: format!("m{number}"), name: format!("M{number}"), ..ai() });
    (0..63).map(named).collect()
}

fn reference(number: usize) -> String {
    models()[number].reference()
}

/// A screen with these favourites and recent models, after a key that requests the models.
fn screen(key: &str, favourites: &[usize], recent: &[usize], current: usize) -> Screen {
    let names = |numbers: &[usize]| numbers.iter().map(|number| reference(*number)).collect();
    let chosen = ChosenModels { favourites: names(favourites), recent: names(recent) };
    stepping(key, ModelList { usable: models(), chosen, ..ModelList::default() }, current)
}

fn stepping(key: &str, list: ModelList, current: usize) -> Screen {
    let mut screen = Screen::new();
    screen.agent(SettingsEvent::ModelChanged { model: models()[current].clone() });
    screen.take_effects();
    screen.keys(key);
    let Some(Effect::Ask(ticket, _)) = screen.take_effects().pop() else { panic!("no request") };
    screen.send(Msg::Finished(ticket, ScreenReply::Models(list)));
    screen
}

/// The models reached by the keys, one after the other. Nothing is saved.
fn walked(screen: &mut Screen, keys: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for key in keys {
        screen.keys(key);
        for effect in screen.take_effects() {
            match effect {
                Effect::Agent(AgentCommand::Settings(SettingsCommand::SetModel { model })) => {
                    names.push(model.id.clone());
                    screen.agent(SettingsEvent::ModelChanged { model });
                }
                Effect::Save(saved) => panic!("{key} saves {saved:?}"),
                _ => {}
            }
        }
    }
    names
}

#[test]
fn a_step_leads_to_a_favourite_or_a_recent_model_and_saves_nothing() {
    let mut shown = screen("<ctrl+p>", &[40, 7], &[7, 12], 3);
    assert_eq!(walked(&mut shown, &["", "<ctrl+p>", "<ctrl+p>", "<ctrl+p>"]), ["m40", "m7", "m12", "m3"]);
    assert_eq!(walked(&mut shown, &["<alt+p>"; 4]), ["m12", "m7", "m40", "m3"]);
    assert!(text(&shown.draw()).contains("m3, in this session"), "{}", text(&shown.draw()));
    // Models that no longer exist are skipped.
    let mut gone = screen("<alt+p>", &[5], &[6], 6);
    assert_eq!(walked(&mut gone, &["", "<alt+p>"]), ["m5", "m6"]);
}

/// The demo is stepped to only if it is marked.
#[test]
fn a_step_leads_to_the_demo_if_it_is_a_favourite() {
    for (favourites, recent, reached) in [
        (vec!["demo/demo".to_owned(), reference(7)], vec![], ["demo", "m7", "m3", "demo"]),
        (vec![reference(7)], vec!["demo/demo".to_owned()], ["m7", "m3", "m7", "m3"]),
    ] {
        let demo = AiModel { id: "demo".into(), provider: "demo".into(), api: Api::Scripted, ..ai() };
        let mut list = ModelList { usable: models(), ..ModelList::default() };
        list.usable.push(Arc::new(demo));
        list.chosen = ChosenModels { favourites, recent };
        let mut shown = stepping("<ctrl+p>", list, 3);
        assert_eq!(walked(&mut shown, &["", "<ctrl+p>", "<ctrl+p>", "<ctrl+p>"]), reached);
    }
}

#[test]
fn without_favourites_a_step_says_how_to_mark_one() {
    let mut shown = screen("<ctrl+p>", &[], &[], 3);
    assert!(walked(&mut shown, &["", "<ctrl+p>", "<alt+p>"]).is_empty());
    let frame = text(&shown.draw());
    assert!(frame.contains("no other favourite or recent model; ctrl+l lists all"), "{frame}");
}

#[test]
fn the_list_saves_what_is_chosen_and_marks_with_space() {
    let mut shown = screen("<ctrl+l>", &[61], &[], 3);
    shown.keys("<home>");
    let frame = text(&shown.draw());
    let row = |text: &str| frame.lines().position(|row| row.contains(text)).unwrap();
    assert!(frame.contains("m61 ★") && row("m61 ★") < row("/m62 "), "favourites come first: {frame}");
    let saved = |screen: &mut Screen| match screen.take_effects().pop() {
        Some(Effect::Save(saved)) => saved,
        other => panic!("{other:?}"),
    };
    shown.keys(" ");
    assert_eq!(saved(&mut shown), SavedSetting::Favourite(reference(61), false));
    shown.keys("m62<down><up> ");
    assert_eq!(saved(&mut shown), SavedSetting::Favourite(reference(62), true));
    assert!(text(&shown.draw()).contains("m62 ★"), "{}", text(&shown.draw()));
    // While something is typed, it is part of that.
    shown.keys("x y");
    assert!(shown.take_effects().is_empty() && text(&shown.draw()).contains("m62x y"));
    shown.keys("<backspace><backspace><backspace><enter>");
    let effects = shown.take_effects();
    assert!(effects.contains(&Effect::Save(SavedSetting::Model(reference(62)))), "{effects:?}");
}

/// Also if neither was ever chosen before.
#[test]
fn a_step_leads_back_to_the_model_before_the_one_chosen_in_the_list() {
    let mut shown = screen("<ctrl+l>", &[], &[], 3);
    shown.keys("m62<enter>");
    for effect in shown.take_effects() {
        if let Effect::Agent(AgentCommand::Settings(SettingsCommand::SetModel { model })) = effect {
            shown.agent(SettingsEvent::ModelChanged { model });
        }
    }
    assert_eq!(walked(&mut shown, &["<ctrl+p>"; 3]), ["m3", "m62", "m3"]);
}

#[test]
fn favourites_are_kept_for_the_next_start_and_a_step_is_not() {
    let again = "export ANTHROPIC_API_KEY=unused; m=anthropic/claude-haiku-4-5; \"$TAU_BIN\" --model $m; clear; \
                 echo again";
    let screen = Terminal::prepared(again, "--model anthropic/claude-haiku-4-5", 100, 24);
    screen.wait_for("Claude Haiku 4.5");
    screen.type_keys("\x10");
    screen.wait_for("no other favourite or recent model; ctrl+l lists all, space marks one");
    screen.type_keys("\x0c");
    screen.type_keys("claude-opus-4-5");
    screen.wait_for("anthropic/claude-opus-4-5-20251101");
    screen.type_keys("\x1b[B\x1b[A ");
    screen.wait_for("claude-opus-4-5 ★");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("★"));
    screen.type_keys("\x10");
    screen.wait_for("model: anthropic/claude-opus-4-5, in this session");
    let config = std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap_or_default();
    assert!(!config.contains("model"), "{config}");
    let kept = || std::fs::read_to_string(screen.tau_home().join("logs/models.json")).unwrap_or_default();
    assert_eq!(kept(), r#"{"favourites":["anthropic/claude-opus-4-5"],"recent":[]}"#);
    screen.type_keys("\x04");
    screen.wait_until("the second start", |cells| {
        cells.alternate_screen() && !cells.contents().contains("Opus 4.5")
    });
    screen.wait_for("Claude Haiku 4.5");
    screen.type_keys("\x10");
    screen.wait_for("model: anthropic/claude-opus-4-5, in this session");
}
