//! Golden frames of vim's modes and of the lists of settings and keys: at the four sizes in all colours,
//! at 80x24 also in 256 and in 16.

use std::collections::HashMap;

use tau::agent::settings::editing_mode::EditingMode;
use tau::app::boot::Boot;
use tau::app::request::{SettingList, SettingShown, ShellReply, ShellRequest};
use tau::app::{Effect, Msg};
use tau::view::Memo;
use tau::view::color::ColorDepth;

use crate::harness::{Screen, boot, frame, frames, memo};

fn in_all_colours(screen: &mut Screen, name: &str) {
    frames(screen, name);
    for (depth, suffix) in [(ColorDepth::Ansi256, "256"), (ColorDepth::Ansi16, "16")] {
        screen.memo = Memo::new(depth, HashMap::new());
        frame(screen, &format!("{name}-{suffix}"), 80, 24);
    }
    screen.memo = memo();
}

fn vim() -> Screen {
    let mut screen = Screen::boot(Boot { editing_mode: EditingMode::Vim, ..boot() });
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
    in_all_colours(&mut screen, "vim-visual");
    screen.keys("Vj");
    frames(&mut screen, "vim-visual-line");
}

#[test]
fn keys_are_listed_and_asked_for() {
    let mut screen = Screen::new();
    screen.keys("/keys<enter>");
    in_all_colours(&mut screen, "keys");
    screen.keys("model<enter>");
    frames(&mut screen, "keys-pressing");
    screen.keys("q");
    frames(&mut screen, "keys-refused");
    screen.keys("<ctrl+p>");
    in_all_colours(&mut screen, "keys-taken");
}

#[test]
fn settings_are_listed_and_typed() {
    let row = |key: &str, value: &str, origin: &str, help: &str| SettingShown {
        key: key.into(),
        value: value.into(),
        origin: origin.into(),
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
        row("theme", "auto", "default", "dark, light, high-contrast, or a file · text · default: auto"),
        row("prose_width", "70", "config.toml:2", "Widest prose, in columns; 0 for no limit · number"),
    ];
    let mut screen = Screen::new();
    screen.keys("/settings<enter>");
    let asked = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ShellRequest::Settings {}) => Some(ticket),
        _ => None,
    });
    let list = SettingList { rows, ..SettingList::default() };
    screen.send(Msg::Finished(asked.unwrap(), ShellReply::Settings(list)));
    in_all_colours(&mut screen, "settings");
    screen.keys("<end><enter><backspace>5");
    frames(&mut screen, "settings-typing");
}
