//! The question of trust on the screen: long lines in small windows, and a flag against an answer.

use std::path::Path;

use tau::agent::protocol::trust::{ChangeKind, FileChange, Folder, Trust};
use tau::app::boot::Boot;
use tau::app::request::{ScreenReply, ScreenRequest, SettingsUpdate};
use tau::app::screen_settings::ScreenSettings;
use tau::app::{Effect, Msg};

use crate::harness::{Screen, boot, text};
use crate::trust::{changed_folder, timeout};

/// A small window shows every row of a long line, and returns to the first.
#[test]
fn a_long_line_scrolls_by_rows() {
    let lines = vec![format!("+{}", (0..60).map(|n| format!("word{n:02} ")).collect::<String>())];
    let change = FileChange { file: ".tau/SYSTEM.md".into(), kind: ChangeKind::New, lines };
    let folder = Folder { changes: vec![change], trust: Trust::Unknown, ..changed_folder() };
    let mut screen = Screen::boot(Boot { folders: vec![folder], ..boot() });
    crate::harness::frame(&mut screen, "trust", 40, 12);
    let mut rows: Vec<String> = Vec::new();
    for _ in 0..20 {
        let shown = text(&screen.draw());
        for row in shown.lines().filter(|row| row.contains("word") || row.contains("ord")) {
            let row = row.trim_matches([' ', '│', '─', 'τ', '>']).to_owned();
            rows.extend((!rows.contains(&row)).then_some(row));
        }
        screen.keys("<pgdn>");
    }
    crate::harness::frame(&mut screen, "trust-end", 40, 12);
    let joined = rows.concat();
    for n in 0..60 {
        assert!(joined.contains(&format!("word{n:02}")), "{n}: {joined}");
    }
    screen.keys("<pgup>".repeat(20).as_str());
    assert!(text(&screen.draw()).contains(".tau/SYSTEM.md"));
}

/// The question names the environment variables that a project's servers get.
#[test]
fn variables_for_servers_are_named() {
    let script = r#"echo '{"mcpServers": {"a": {"command": "x", "env": {"T": "${MY_TOKEN}", "U": "$PLAIN"}},
        "b": {"url": "http://127.0.0.1:9/${PART}", "headers": {"A": "Bearer ${OTHER:-x}"}}}}' >.mcp.json
        exec "$TAU_BIN" --model demo"#;
    let screen = crate::screen::Screen::program(Path::new("/bin/sh"), &["-c", script], 100, 24);
    screen.wait_for("its MCP servers get these of your variables: MY_TOKEN, OTHER, PART");
}

/// A flag overrides an answer, and a message says so.
#[test]
fn never_with_the_flag_says_that_the_flag_holds() {
    let script =
        "mkdir .tau; echo 'thinking = \"low\"' >.tau/config.toml; exec \"$TAU_BIN\" --trust --model demo";
    let screen = crate::screen::Screen::program(Path::new("/bin/sh"), &["-c", script], 100, 24);
    screen.wait_for("scripted demo (not an AI) · low");
    screen.type_keys("/trust\r");
    screen.wait_for("never use them");
    screen.type_keys("\x1b[B\r");
    screen.wait_for("--trust keeps these settings for this run");
    assert!(screen.text().contains("scripted demo (not an AI) · low"), "{}", screen.text());
}

#[test]
fn the_settings_of_another_directory_are_applied_and_asked_about() {
    let mut screen = Screen::boot(boot());
    screen.take_effects();
    let command = timeout(Some(9));
    let applied = SettingsUpdate {
        text: "settings of /srv/web: bash_timeout 9".into(),
        commands: vec![command.clone()],
        theme: Some("light".into()),
        ..SettingsUpdate::default()
    };
    let place = "/srv/web".to_owned();
    screen.send(Msg::DirectoryChanged { applied, folders: vec![changed_folder()], place });
    assert_eq!(screen.take_effects(), [Effect::Agent(command)]);
    assert_eq!((screen.model().theme.as_str(), screen.model().place.as_str()), ("light", "/srv/web"));
    let shown = text(&screen.draw());
    assert!(shown.contains("never use them"), "{shown}");
    screen.keys("<esc>");
    assert!(text(&screen.draw()).contains("settings of /srv/web"));
}

#[test]
fn what_follows_from_trust_is_done_and_told() {
    let mut screen = Screen::boot(Boot { folders: vec![changed_folder()], ..boot() });
    screen.take_effects();
    screen.keys("<up><enter>");
    let Some(Effect::Ask(ticket, ScreenRequest::Trust { .. })) = screen.take_effects().pop() else {
        panic!()
    };
    let command = timeout(Some(9));
    let applied = SettingsUpdate {
        text: "trusted; now in effect: theme light".into(),
        commands: vec![command.clone()],
        theme: Some("light".into()),
        screen: Some(ScreenSettings { hide_thinking: true, ..ScreenSettings::default() }),
        ..SettingsUpdate::default()
    };
    screen.send(Msg::Finished(ticket, ScreenReply::Applied(applied)));
    assert!(text(&screen.draw()).contains("now in effect: theme light"));
    assert_eq!(screen.take_effects(), [Effect::Agent(command)], "nothing is saved as the user's own choice");
    assert_eq!(screen.model().theme, "light");
    assert!(screen.model().transcript.thinking_hidden);
}
