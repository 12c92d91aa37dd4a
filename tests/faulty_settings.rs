//! Faulty settings in the real program: the screen warns and starts, other front ends refuse.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::screen::Screen;
use crate::support::program::{bare, run};

const SHELL: &str = "/bin/sh";

/// Starts tau on a screen with this `config.toml`, after these shell commands.
fn start(config: &str, before: &str, flags: &str) -> Screen {
    let script = format!(
        "mkdir -p \"$TAU_HOME/themes\"; printf '%s' '{config}' >\"$TAU_HOME/config.toml\"; {before}\n\
         exec \"$TAU_BIN\" {flags}"
    );
    Screen::program(Path::new(SHELL), &["-c", &script], 120, 30)
}

/// The screen without line breaks, so that a long path may be wrapped anywhere.
fn flat(cells: &vt100::Screen) -> String {
    cells.contents().lines().map(str::trim).collect::<Vec<_>>().join("").replace(' ', "")
}

#[track_caller]
fn check(screen: &Screen, parts: &[&str]) {
    for part in parts {
        let part = part.replace(' ', "");
        screen.wait_until(&part, |cells| flat(cells).contains(&part));
    }
    screen.type_keys("still here");
    screen.wait_for("still here");
}

#[test]
fn a_line_that_is_not_understood_is_a_warning_and_the_others_apply() {
    let config =
        "# mine\nthinking = \"hgih\"\nhide_thinking = 1\nmodel = \"demo:low\"\nbash_timeout = \"x\"\n";
    let screen = start(config, "", "");
    check(
        &screen,
        &[
            "config.toml:2: unknown value `hgih`; did you mean `high`?",
            "config.toml:3: `hide_thinking` needs true or false, not the number 1",
            "config.toml:5: `bash_timeout` needs a whole number, 0 or greater, not the text \"x\"",
            "scripted demo (not an AI) · low",
        ],
    );
}

/// Settings whose target is missing, as on a disk that is not mounted, are not as if there were none.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_something_missing_is_a_fault() {
    for (link, flags, is_fault) in [
        ("config/config.toml", "", true),
        ("config", "", true),
        ("project/.tau/config.toml", "--trust", true),
        (".claude/settings.json", "", true),
        ("project/.claude/settings.json", "--trust", true),
        ("project/.tau/config.toml", "", false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(link);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::create_dir_all(dir.path().join("project")).unwrap();
        std::os::unix::fs::symlink("/nowhere/settings", &place).unwrap();
        let mut command = bare(dir.path());
        command.current_dir(dir.path().join("project")).env("TAU_HOME", dir.path().join("config"));
        command.args(["-p", "--model", "demo"]).args(flags.split_whitespace()).arg("hello there");
        let ended = run(&mut command, None).await;
        let stops = ended.code == 3 || ended.err.contains("tau asks before every call");
        let says = ended.err.contains("a link to something that is missing");
        assert_eq!(stops && says, is_fault, "{link} {flags}: {ended:?}");
    }
}

#[test]
fn keys_that_are_not_understood_are_warnings_with_their_lines() {
    let config =
        "thinking = \"low\"\n\n[keys]\nmodels = [\"ctrl+banana\"]\nflurb = [\"f5\"]\ntop = [\"f1\"]\n";
    let screen = start(config, "", "");
    check(
        &screen,
        &[
            "config.toml:5: unknown action \"flurb\"; /keys in tau lists the names",
            "config.toml:4: `ctrl+banana` is not a key",
            "config.toml:6: f1 no longer means \"help\"",
        ],
    );
    screen.type_keys("\x15");
    screen.reload("keys.top = [\"f99\"]\n", "config.toml:1: `f99` is not a key");
}

#[test]
fn a_model_a_tool_or_a_theme_that_is_not_there_is_a_warning() {
    let config = "theme = \"nope\"\nmodel = \"nosuch/model\"\ntools = [\"read\", \"rm\"]\n";
    let screen = start(config, "", "");
    check(
        &screen,
        &[
            "config.toml:1: no theme \"nope\"",
            "config.toml:2: no model matches \"nosuch/model\"",
            "config.toml:3: unknown tool \"rm\"",
            "using auto",
        ],
    );
    let screen = start("", "export TAU_THINKING=hgih", "--theme nope");
    check(&screen, &["--theme: no theme \"nope\"", "TAU_THINKING: `hgih` is not known"]);
}

#[test]
fn a_theme_file_with_a_mistake_is_a_warning_with_its_line() {
    let theme = "printf '[colors]\\nlink = 9\\ntext = \"purplish\"\\n' >\"$TAU_HOME/themes/mine.toml\"";
    let screen = start("theme = \"mine\"\n", theme, "");
    check(&screen, &["mine.toml:3: colors.text:", "using auto"]);
}

#[test]
fn a_terminal_that_moves_no_cursor_is_refused_with_a_hint() {
    let mut screen = start("", "export TERM=dumb", "");
    assert_eq!(screen.wait_exit().code(), Some(3));
    let text = screen.text();
    assert!(text.starts_with("tau: cannot show the screen") && text.contains("use tau -p"), "{text}");
    assert!(!screen.bytes().contains(&0x1b), "{text}");
    let mut screen = start("", "export TERM=dumb", "-p --model demo hello");
    assert_eq!(screen.wait_exit().code(), Some(0));
}

/// A server that refuses every request with this body, and counts them.
fn refusing(body: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 64 * 1024]);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
        }
    });
    (port, count)
}

#[test]
fn a_compaction_that_fails_says_so_and_a_refusal_is_not_retried() {
    let (port, count) =
        refusing("{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"bad thing\"}}");
    let before = "TAU_DEMO_SPEED=max \"$TAU_BIN\" -p --session-id one --model demo hi >answer";
    let screen = start("", before, &format!("--continue --base-url http://127.0.0.1:{port} --model m"));
    screen.wait_for("tau-demo.md is yours");
    screen.type_keys("/compact\r");
    check(&screen, &["compaction failed: bad thing", "the conversation is unchanged; try /compact again"]);
    let once = count.load(Ordering::SeqCst);
    assert!((1..=2).contains(&once), "{once} requests");
    screen.type_keys("\x15again\r");
    screen.wait_until("the error of the prompt", |cells| cells.contents().matches("bad thing").count() >= 2);
    let twice = "once more without the parts that it may have refused, and no more";
    assert_eq!(count.load(Ordering::SeqCst), once + 2, "{twice}");
}

/// Settings that protect the user are in an unreadable file: every call needs approval, even those that only
/// read, `auto` cannot be chosen, and the screen says so until the file is repaired.
#[test]
fn while_settings_cannot_be_read_everything_is_asked() {
    let screen = start("permission_mode = \"auto\"\nsandbox = \n", "", "--model demo");
    check(&screen, &["config.toml:2:", "tau asks before every call", "ask · settings cannot be read"]);
    screen.type_keys("\x15/mode auto\r");
    check(&screen, &["the permission mode cannot be auto while settings cannot be read"]);
    screen.type_keys("\x15");
    screen.reload("permission_mode = \"auto\"\n", "settings can be read again");
    screen.type_keys("/mode auto\r");
    screen.wait_for("tau asks only where rules");
    screen.reload("[permissions]\ndeny = [\"bash(\"]\n", "tau asks before every call");
    screen.wait_for("ask · settings cannot be read");
}

/// No user is present to be asked: it does not start.
#[test]
fn without_a_screen_settings_that_cannot_be_read_are_refused() {
    for config in ["sandbox = \n", "sandbox = \"workspace\"\n", "[[hooks.PreToolUse]]\ncomand = \"x\"\n"] {
        let mut screen = start(config, "", "-p --model demo hello");
        assert_eq!(screen.wait_exit().code(), Some(3), "{config}: {}", screen.text());
        assert!(screen.text().contains("config.toml:"), "{}", screen.text());
    }
}

/// Unreadable rules of another agent may be denials, so every call needs approval: for the user's rules, and
/// those of a trusted project. An untrusted project is named.
#[test]
fn rules_of_another_agent_that_cannot_be_read_ask_about_every_call() {
    let said = |before: &str, flags: &str| {
        let before = format!("unset TAU_PERMISSION_MODE; export TAU_DEMO_SPEED=max; {before}");
        let mut screen = start("", &before, &format!("{flags} -p --model demo hello"));
        assert_eq!(screen.wait_exit().code(), Some(0), "{before}: {}", screen.text());
        screen.text().replace(['\r', '\n'], "")
    };
    let asks = "; tau asks before every call";
    for name in ["settings.json", "settings.local.json"] {
        for (text, why) in [
            ("{\"permissions\": {\"deny\": [\"Bash(curl:*)\"],}}", "this is not JSON: "),
            ("[]", "these settings are not a JSON object"),
            ("{\"permissions\": []}", "`permissions` is not a JSON object"),
            ("{\"permissions\": {\"ask\": 1}}", "permissions.ask is not a list"),
        ] {
            let before = format!("mkdir .claude; printf '%s' '{text}' >.claude/{name}");
            let trusted = said(&before, "--trust");
            let place = format!("work/.claude/{name}:1: ");
            assert!([&place, why, asks].iter().all(|part| trusted.contains(part)), "{text}: {trusted}");
            let ignored = said(&before, "");
            assert!(ignored.contains(&format!("ignoring .claude/{name}")), "{text}: {ignored}");
        }
        let latin = format!("mkdir .claude; printf '{{\"x\": \"\\351\"}}' >.claude/{name}");
        assert!(said(&latin, "--trust").contains("not UTF-8 text; tau asks"));
        let link = format!("mkdir .claude; echo '{{}}' >../{name}; ln -s ../../{name} .claude/{name}");
        assert!(said(&link, "--trust").contains("leads out of the project; tau asks"));
    }
    for text in ["{", "{\"permissions\": {\"deny\": \"Bash\"}}"] {
        let of_user = said(&format!("mkdir ~/.claude; printf '%s' '{text}' >~/.claude/settings.json"), "");
        assert!(of_user.contains(".claude/settings.json:1: ") && of_user.contains(asks), "{of_user}");
    }
    let large = "mkdir .tau; head -c 70000 /dev/zero | tr '\\0' '#' >.tau/config.toml";
    assert!(said(large, "--trust").contains("config.toml:1: larger than 64 KB; tau asks"));
}

#[test]
fn a_trusted_project_that_can_no_longer_be_read_is_asked_about() {
    let rules =
        "mkdir .claude; echo '{\"permissions\": {\"deny\": [\"Bash(curl:*)\"]}}' >.claude/settings.json";
    let screen = start("", rules, "--model demo");
    screen.wait_for("use them, as shown here");
    screen.type_keys("\x1b[A\r");
    screen.wait_for("trusted; ");
    std::fs::write(screen.home().join("work/.claude/settings.json"), "{").unwrap();
    screen.reload("", "this is not JSON");
    check(&screen, &["work/.claude/settings.json:1: this is not JSON", "tau asks before every call"]);
    screen.type_keys("\x15/permissions\r");
    screen.wait_until("the rule", |cells| {
        let asked = |row: &str| row.contains("ask") && row.contains(" * ") && row.contains("settings.json:1");
        cells.contents().lines().any(asked)
    });
}

/// Neither holds anything that protects, so their reason is said, and tau starts.
#[test]
fn files_of_a_project_that_are_not_used_are_named() {
    for (make, why) in [
        ("seq 20000 >.tau/SYSTEM.md", ".tau/SYSTEM.md is not used: larger than 64 KB"),
        ("printf '\\377' >.tau/SYSTEM.md", ".tau/SYSTEM.md is not used: not UTF-8 text"),
        ("seq 20000 >.mcp.json", ".mcp.json is not used: larger than 64 KB"),
        ("ln -s /etc/hostname .mcp.json", ".mcp.json is not used: a link that leads out of the project"),
        ("mkdir .mcp.json", ".mcp.json is not used: not a regular file"),
    ] {
        let mut screen = start("", &format!("mkdir .tau; {make}"), "-p --model demo hello");
        assert_eq!(screen.wait_exit().code(), Some(0), "{make}: {}", screen.text());
        let text = screen.text().replace(['\r', '\n'], "").replace(' ', "");
        assert!(text.contains(&why.replace(' ', "")), "{make}: {}", screen.text());
    }
}

/// A sandbox configured in an unreadable file is not off, for the user's commands either.
#[test]
fn a_sandbox_that_cannot_be_read_has_a_stand_in() {
    needs!(crate::sandbox::has_landlock());
    let outside = crate::sandbox::Place::new();
    let file = outside.outside.join("made");
    let config = "theme = \n[sandbox]\nlevel = \"workspace-write\"\nuser_commands = true\n";
    let screen = start(config, "", "--model demo");
    check(
        &screen,
        &[
            "instead of what cannot be read: sandbox.level = workspace-write, sandbox.user_commands = true",
            "settings cannot be read",
        ],
    );
    let make = format!("\x15!touch {}\r", file.display());
    screen.type_keys(&make);
    screen.wait_for("the sandbox probably blocked");
    // The same once it is readable again, and from then on the configured one.
    screen.reload("[sandbox]\nuser_commands = true\nlevel = workspace-write\n", "tau asks before every call");
    screen.type_keys(&make);
    screen.wait_until("two refusals", |cells| {
        cells.contents().matches("the sandbox probably blocked").count() == 2
    });
    assert!(!file.exists());
    screen.reload("theme = \"dark\"\n", "settings can be read again");
    screen.type_keys(&make);
    screen.wait_until("the file", |_| file.exists());
}
