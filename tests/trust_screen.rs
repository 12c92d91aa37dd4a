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

/// Files count as seen once their end was on the screen with all rows before it; otherwise Enter is pressed twice.
#[test]
fn files_are_used_once_their_end_was_seen_or_enter_was_pressed_twice() {
    let page = "<pgdn>";
    for (lines, keys, is_used) in [
        (3, &["<up><enter>"][..], true),
        (100, &["<up><enter>"], false),
        (100, &["<up><enter>", "<enter>"], true),
        (100, &["<up><enter>", "<down><up><enter>"], false),
        (100, &[page, "<up><enter>"], false),
        (100, &[page; 8], false),
        (100, &[page, page, page, page, page, page, page, page, page, "<up><enter>"], true),
        (100, &["<down><enter>"], true),
    ] {
        let lines = (0..lines).map(|n| format!("+line {n}")).collect();
        let change = FileChange { file: ".tau/config.toml".into(), kind: ChangeKind::New, lines };
        let folder = Folder { changes: vec![change], trust: Trust::Unknown, ..changed_folder() };
        let mut screen = Screen::boot(Boot { folders: vec![folder], ..boot() });
        screen.take_effects();
        keys.iter().for_each(|keys| screen.keys(keys));
        let asked = screen.take_effects();
        let answered =
            asked.iter().any(|effect| matches!(effect, Effect::Ask(_, ScreenRequest::Trust { .. })));
        let shown = text(&screen.draw());
        assert_eq!(answered, is_used, "{keys:?}: {shown}");
        let insists = !is_used && keys.last().is_some_and(|keys| keys.ends_with("<enter>"));
        assert_eq!(shown.contains("not all was shown; enter again uses them"), insists, "{keys:?}: {shown}");
    }
}

/// Pages that no frame has shown were not seen.
#[test]
fn pages_that_were_skipped_were_not_seen() {
    let lines = (0..100).map(|n| format!("+line {n}")).collect();
    let change = FileChange { file: ".tau/config.toml".into(), kind: ChangeKind::New, lines };
    let folder = Folder { changes: vec![change], trust: Trust::Unknown, ..changed_folder() };
    let mut screen = Screen::boot(Boot { folders: vec![folder], ..boot() });
    screen.take_effects();
    (0..9).for_each(|_| screen.fold(Msg::Key("pgdn".parse().expect("a key"))));
    assert!(text(&screen.draw()).contains("line 99"));
    screen.keys("<up><enter>");
    assert!(screen.take_effects().is_empty() && text(&screen.draw()).contains("not all was shown"));
}

/// Nothing hides in a project's files: characters and blanks are spelled and counted, and nothing is cut.
#[test]
fn nothing_hides_in_the_files_of_a_project() {
    let script = r#"mkdir .tau
        printf '[[hooks.SessionStart]]\ncommand = "sh b\342\200\213u\341\205\241ild.sh%5000s; touch evil"\n' '' >.tau/config.toml
        exec "$TAU_BIN" --model demo"#;
    let screen = crate::screen::Screen::program(Path::new("/bin/sh"), &["-c", script], 100, 24);
    screen.wait_for("never use them");
    let text = screen.text();
    assert!(text.contains("sh b<U+200B>u<U+1161>ild.sh⋯ 5,000 blanks ⋯; touch evil"), "{text}");
}
