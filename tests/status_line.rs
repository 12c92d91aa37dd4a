//! The status line: its template, and the user's command for a part of it.

use std::collections::BTreeMap;

use crate::harness::{Screen as Frame, boot, frames, root, text};
use crate::screen::Screen;
use tau::agent::protocol::event::{SessionEvent, SessionInfo};
use tau::agent::protocol::status_template::StatusTemplate;
use tau::app::boot::Boot;
use tau::app::geometry::Size;
use tau::app::request::{ScreenReply, ScreenRequest};
use tau::app::screen_settings::ScreenSettings;
use tau::app::{Effect, Msg};

/// The last row of a screen with this template and a session, at a width.
fn shown(template: &str, width: u16) -> String {
    let status_line = StatusTemplate::parse(template).unwrap();
    let mut screen =
        Frame::boot(Boot { settings: ScreenSettings { status_line, ..ScreenSettings::default() }, ..boot() });
    opened(&mut screen);
    screen.send(Msg::Resized(Size { width, height: 24 }));
    text(&screen.draw()).lines().last().unwrap().to_owned()
}

/// Before the first answer, the size of the context is that of the instructions and tools, marked as an estimate.
#[test]
fn a_new_session_shows_about_what_its_instructions_take() {
    let screen = Screen::prepared("head -c 60000 /dev/zero | tr '\\0' x >AGENTS.md", "--model demo", 100, 24);
    screen.wait_for("~8% of 200k");
    screen.type_keys("/new\r");
    screen.wait_for("~8% of 200k");
    screen.type_keys("/session\r");
    screen.wait_for("context: about 1");
}

/// What an attached screen knows of its own is not that of the session, which has not arrived.
#[test]
fn an_attached_screen_shows_no_model_before_it_has_the_session() {
    let mut screen = Frame::boot(Boot { attached: Some(String::new()), model: None, ..boot() });
    let line = |screen: &mut Frame| text(&screen.draw()).lines().last().unwrap().trim().to_owned();
    assert_eq!(line(&mut screen), "attaching …");
    let session = SessionInfo { id: "s1".into(), ..SessionInfo::default() };
    let (messages, titles) = (Vec::new(), BTreeMap::new());
    screen.agent(SessionEvent::SessionOpened { session, messages, titles });
    assert!(line(&mut screen).contains("no model ("), "{}", line(&mut screen));
}

fn opened(screen: &mut Frame) {
    let session = SessionInfo { id: "s1".into(), name: Some("fix parser".into()), ..SessionInfo::default() };
    screen.agent(SessionEvent::SessionInfoChanged { name: session.name });
}

#[test]
fn parts_are_where_the_template_says() {
    // The permission mode stays, even if a template omits it.
    let path = "Coder/thinking off in ~/work/parser";
    assert_eq!(shown("{model}/{thinking} in {path}", 80), format!(" {path:<74}auto"));
    let row = shown("{session}{fill}{path}[ on {branch}] [[{context}]]", 80);
    assert_eq!(row, format!(" fix parser{:>68}", "~/work/parser [0% of 200k] · auto"));
    assert_eq!(shown("{fill}{provider}", 40), format!("{:>39}", "local · auto"));
    assert_eq!(shown("{permissions}{fill}{provider}", 40), format!(" auto{:>34}", "local"));
    // Without a branch, a mode or a command the brackets are empty.
    assert_eq!(
        shown("[a {branch} ][b {mode} ][c {command} ]{path}", 80),
        format!(" {:<74}auto", "~/work/parser")
    );
}

#[test]
fn where_there_is_no_room_parts_are_left_out_in_order() {
    let template = "{path}{fill}[{provider} · ][{context} · ]{model}";
    assert!(shown(template, 80).ends_with("local · 0% of 200k · Coder · auto"));
    let row = shown(template, 50);
    assert!(row.ends_with("local · 0% of 200k · Coder · auto") && row.contains("parser"), "{row}");
    let row = shown(template, 30);
    assert!(row.ends_with("Coder · auto") && !row.contains("local"), "{row}");
    assert!(shown(template, 20).ends_with("auto"), "{}", shown(template, 20));
}

#[test]
fn that_thinking_is_off_is_said_in_words_or_not_at_all() {
    for width in 20..120 {
        let row = shown("{path}{fill}{model} · {thinking} · {context}", width);
        let said = row.matches("off").count();
        assert_eq!(said, row.matches("thinking off").count(), "{width}: {row}");
    }
    assert!(shown("{path}{fill}{model} · {thinking}", 80).contains("thinking off"));
}

#[test]
fn the_permission_mode_is_shown_in_narrow_windows() {
    let long = "Claude Sonnet 5.5 with a very long name";
    let model = Some(std::sync::Arc::new(tau::agent::protocol::model::Model {
        name: long.into(),
        ..crate::harness::ai()
    }));
    let permission_mode = tau::agent::protocol::approval::PermissionMode::Plan;
    let sandbox = "workspace-write, no network".to_owned();
    let mut screen = Frame::boot(Boot { model, permission_mode, sandbox, ..boot() });
    let mut row = |width| {
        screen.send(Msg::Resized(Size { width, height: 16 }));
        text(&screen.draw()).lines().last().unwrap().to_owned()
    };
    for width in 20..130 {
        let row = row(width);
        assert!(row.contains("◇ plan"), "{width}: {row}");
    }
}

/// A screen whose footer does not fit.
fn full(place: &str, remark: bool) -> Frame {
    let mut screen = Frame::boot(Boot {
        place: place.into(),
        sandbox: "workspace-write, no network".into(),
        permission_mode: tau::agent::protocol::approval::PermissionMode::Edits,
        ..boot()
    });
    if remark {
        screen.keys("/mode nonsense<enter>");
    }
    screen
}

#[test]
fn at_80_columns_project_branch_model_mode_and_context_stay() {
    for place in ["~/parser", "~/work/of/a/rather/long/path/to/the/project/parser"] {
        let mut screen = full(place, false);
        let row = text(&screen.draw()).lines().last().unwrap().to_owned();
        for kept in ["parser", "Coder", "edits", "% of 200k"] {
            assert!(row.contains(kept), "{kept}: {row}");
        }
        assert!(row.contains("sandbox, no network") && !row.contains("workspace-write"), "{row}");
        // A remark leaves them in place: a long one is on the rule above, in full.
        let mut screen = full(place, true);
        for width in [80, 120, 160] {
            screen.send(Msg::Resized(Size { width, height: 24 }));
            let frame = text(&screen.draw());
            let rows: Vec<&str> = frame.lines().rev().take(2).collect();
            for kept in ["parser", "Coder", "edits", "% of 200k"] {
                assert!(rows[0].contains(kept), "{kept}: {frame}");
            }
            let remarks = rows.iter().filter(|row| row.contains("there is no mode \"nonsense\"; ")).count();
            assert_eq!(remarks, 1, "{frame}");
            assert!(width > 80 || rows[1].starts_with("── there is no mode"), "{frame}");
        }
    }
}

/// The input of the command, as JSON.
fn asked(screen: &mut Frame) -> Option<(tau::app::request::Ticket, serde_json::Value)> {
    screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::StatusCommand { facts }) => {
            Some((ticket, serde_json::to_value(&facts).unwrap()))
        }
        _ => None,
    })
}

/// The facts in the documents.
fn documented() -> serde_json::Value {
    let document = std::fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let line = document.lines().find(|line| line.starts_with("{\"session\":")).unwrap();
    serde_json::from_str(line).unwrap()
}

/// The names in a value, including its objects.
fn names(value: &serde_json::Value) -> Vec<String> {
    let inner = |(name, value): (&String, &serde_json::Value)| {
        let inner = names(value).into_iter().map(|inner| format!("{name}.{inner}"));
        std::iter::once(name.clone()).chain(inner).collect::<Vec<_>>()
    };
    value.as_object().into_iter().flatten().flat_map(inner).collect()
}

#[test]
fn the_command_runs_when_facts_change_one_at_a_time_and_not_too_often() {
    let mut screen = Frame::boot(Boot {
        settings: ScreenSettings { status_command: true, ..ScreenSettings::default() },
        ..boot()
    });
    assert!(asked(&mut screen).is_none(), "no session is open yet");
    let session = SessionInfo { id: "s1".into(), cwd: "/work".into(), ..SessionInfo::default() };
    screen.agent(SessionEvent::SessionOpened { session, messages: Vec::new(), titles: BTreeMap::new() });
    let (ticket, facts) = asked(&mut screen).unwrap();
    assert_eq!(facts["session"]["id"], "s1");
    assert_eq!(facts["session"]["cwd"], "/work");
    assert_eq!(facts["model"]["name"], "Coder");
    assert_eq!(facts["context"]["window"], 200_000);
    assert_eq!(facts["running"], false);
    assert_eq!(names(&documented()), names(&facts), "docs/configuration.md shows what it gets");
    screen.run();
    screen.wait(5_000);
    assert!(asked(&mut screen).is_none(), "one is running");
    let printed = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}now\nsecond line\n";
    screen.send(Msg::Finished(ticket, ScreenReply::Done(printed.into())));
    let (ticket, facts) = asked(&mut screen).expect("the run has begun meanwhile");
    assert_eq!(facts["running"], true);
    frames(&mut screen, "status-command");
    let row = text(&screen.draw());
    assert!(row.contains("red now · Coder") && !row.contains("second"), "{row}");
    screen.send(Msg::Finished(ticket, ScreenReply::Failed("status_command failed".into())));
    screen.settle();
    assert!(asked(&mut screen).is_none(), "too early");
    assert!(screen.model().wants().tick.is_some(), "it is due soon");
    screen.wait(1_100);
    assert!(asked(&mut screen).is_some());
    assert!(text(&screen.draw()).contains("status_command failed"));
}

/// The example of the documents, in a terminal.
#[test]
fn the_documented_example_works() {
    let document = std::fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let (_, after) = document.split_once("### The status line").unwrap();
    let (_, after) = after.split_once("```toml\n").unwrap();
    let (example, _) = after.split_once("```").unwrap();
    let script = format!(
        "export TAU_DEMO_SPEED=max; mkdir -p $TAU_HOME; cat >$TAU_HOME/config.toml <<'END'\n{example}\nEND"
    );
    let screen = Screen::prepared(&script, "", 100, 24);
    screen.wait_for("context 0%");
    screen.type_keys("table\r");
    screen.wait_for("A table, from the script");
    screen.wait_for("scripted demo");
    // Only from user settings, live.
    screen.wait_until("the row of the example", |cells| {
        let rows: Vec<String> = cells.rows(0, 100).collect();
        rows.last().is_some_and(|row| row.contains("INSERT ~/work") && row.contains("context 0%"))
    });
}

#[test]
fn a_part_that_does_not_exist_is_a_warning_with_its_line() {
    let script =
        "mkdir -p $TAU_HOME; printf 'mouse = true\\nstatus_line = \"{pth}\"\\n' >$TAU_HOME/config.toml";
    let screen = Screen::prepared(script, "", 120, 30);
    screen.wait_for("config.toml:2");
    screen.wait_for("no part `{pth}`; it has path, branch");
}

#[test]
fn a_project_cannot_set_the_command() {
    let script = "mkdir .tau; printf 'status_command = \"touch $HOME/ran\"\\n' >.tau/config.toml";
    let screen = Screen::prepared(script, "--trust", 100, 24);
    screen.wait_for("a project cannot set `status_command`");
    screen.type_keys("!sleep 0.5; echo wai''ted\r");
    screen.wait_for("waited");
    assert!(!screen.home().join("ran").exists());
}
