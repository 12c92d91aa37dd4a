//! Golden frames of Vim modes and of the lists of settings and keys.

use tau::agent::protocol::screen_settings::EditingMode;
use tau::app::boot::Boot;
use tau::app::request::{ScreenReply, SettingList, SettingShown};
use tau::app::screen_settings::ScreenSettings;

use super::overlays::reply;
use crate::harness::{Screen, boot, frames};

fn vim() -> Screen {
    let mut screen = Screen::boot(Boot {
        settings: ScreenSettings { editing_mode: EditingMode::Vim, ..ScreenSettings::default() },
        ..boot()
    });
    screen.keys("replace parse(old, strict) in all callers<ctrl+j>and say what you did");
    screen
}

#[test]
fn vim_modes() {
    let mut screen = vim();
    frames(&mut screen, "vim-insert");
    screen.keys("<esc>2d");
    frames(&mut screen, "vim-normal");
    screen.keys("<esc>k0f(vi(");
    frames(&mut screen, "vim-visual");
    screen.keys("Vj");
    frames(&mut screen, "vim-visual-line");
}

#[test]
fn keys_are_listed_and_asked_for() {
    let mut screen = Screen::new();
    screen.keys("/keys<enter>");
    frames(&mut screen, "keys");
    screen.keys("model<enter>");
    frames(&mut screen, "keys-pressing");
    screen.keys("q");
    frames(&mut screen, "keys-refused");
    screen.keys("<ctrl+p>");
    frames(&mut screen, "keys-taken");
}

#[test]
fn settings_are_listed_and_typed() {
    let row = |key: &str, value: &str, origin: &str, help: &str| SettingShown {
        key: key.into(),
        value: value.into(),
        origin: origin.to_owned().into(),
        help: help.into(),
        ..SettingShown::default()
    };
    let rows = vec![
        row(
            "model",
            "anthropic/claude-haiku-4-5",
            "--model",
            "Model: id, provider/id, or part of a name · text",
        ),
        row(
            "theme",
            "auto",
            "default",
            "auto, a name (`/theme` shows all), or a file · text · default: auto",
        ),
        row("prose_width", "70", "config.toml:2", "Widest prose, in columns; 0 for no limit · number"),
    ];
    let mut screen = Screen::new();
    screen.keys("/settings<enter>");
    let list = SettingList { rows, ..SettingList::default() };
    reply(&mut screen, ScreenReply::Settings(list));
    frames(&mut screen, "settings");
    screen.keys("<end><enter><backspace>5");
    frames(&mut screen, "settings-typing");
}
