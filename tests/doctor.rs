//! `tau doctor` as a program: its findings, its advice, and what it never prints.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::screen::Screen;
use crate::time_limit::EndInTime;

const KEY: &str = "sk-doctor-0123456789";

/// Runs `tau doctor` with these variables; returns its exit code and standard output.
fn doctor(home: &TempDir, arguments: &[&str], env: &[(&str, &str)]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.arg("doctor").args(arguments).env_clear().env("TAU_HOME", home.path()).current_dir(home.path());
    // Regardless of other servers on this machine.
    command.env("TAU_LOCAL_SERVERS", "false");
    command.envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().unwrap().output_in_time("the end of tau doctor");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn json_of(home: &TempDir, env: &[(&str, &str)]) -> (i32, Value) {
    let (code, out) = doctor(home, &["--json"], env);
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}")))
}

fn advice(found: &Value) -> Vec<String> {
    let all = found["advice"].as_array().unwrap().iter();
    all.map(|advice| format!("{}: {}", advice["level"].as_str().unwrap(), advice["text"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_key_is_enough_and_is_never_shown() {
    let home = tempfile::tempdir().unwrap();
    let env = [("ANTHROPIC_API_KEY", KEY), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8")];
    let (code, text) = doctor(&home, &[], &env);
    assert_eq!(code, 0, "{text}");
    for part in ["anthropic (ANTHROPIC_API_KEY)", "256: TERM=xterm-256color", "yes: LANG=C.UTF-8", "OSC 52"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains(KEY) && !text.contains("problem:"), "{text}");
    let (code, found) = json_of(&home, &env);
    assert_eq!((code, &found["usable"]), (0, &json!(true)));
    assert_eq!(found["model"]["keys"], json!({"anthropic": "ANTHROPIC_API_KEY"}));
    assert_eq!((&found["terminal"]["colors"], &found["terminal"]["size"]), (&json!("256"), &Value::Null));
    assert!(
        found["limits"]["open files"].as_u64().unwrap() > 0 && found["disk"]["free"].as_u64().unwrap() > 0
    );
}

#[test]
fn what_keeps_tau_from_working_is_a_problem() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), "thinking = \"hgih\"\n").unwrap();
    let (code, found) = json_of(&home, &[("TERM", "dumb")]);
    assert_eq!((code, &found["usable"]), (3, &json!(false)));
    let advice = advice(&found).join("\n");
    assert!(
        advice.contains("problem: ") && advice.contains("config.toml:1: unknown value `hgih`"),
        "{advice}"
    );
    assert!(advice.contains("advice: this terminal cannot move the cursor"), "{advice}");
    assert!(advice.contains("advice: the locale does not say UTF-8"), "{advice}");
}

/// Answers every request with a list of one model; returns the address for `base_url`.
fn model_server(listener: TcpListener) -> String {
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"mine\\u001b[31m\"}]}");
        }
    });
    address
}

#[test]
fn the_usual_ports_are_asked_unless_the_setting_forbids_it() {
    // If all of them are in use, a server of the machine may answer instead.
    let Some(listener) =
        [1234, 8000, 11434].into_iter().find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok())
    else {
        return println!("skipped: the usual ports of model servers are in use");
    };
    let address = model_server(listener);
    let home = tempfile::tempdir().unwrap();
    let lists = |setting| {
        let (_, found) = json_of(&home, &[("TAU_LOCAL_SERVERS", setting)]);
        let servers = found["model"]["servers"].as_array().unwrap();
        servers.iter().any(|server| server["baseUrl"] == json!(address))
    };
    assert_eq!([lists("true"), lists("false")], [true, false]);
}

#[test]
fn a_server_on_this_machine_is_found_within_its_time() {
    let address = model_server(TcpListener::bind("127.0.0.1:0").unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hangs = format!("http://{}/v1", silent.local_addr().unwrap());
    let home = tempfile::tempdir().unwrap();
    let models =
        format!("[vendors.mine]\nbase_url = \"{address}\"\n[vendors.hangs]\nbase_url = \"{hangs}\"\n");
    std::fs::write(home.path().join("models.toml"), models).unwrap();
    let begun = Instant::now();
    let (code, found) = json_of(&home, &[]);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(code, 0, "{found}");
    let servers = found["model"]["servers"].as_array().unwrap();
    assert!(servers.iter().any(|server| server["baseUrl"] == json!(address)), "{found}");
    assert!(
        advice(&found).iter().any(|text| text.contains(&format!("nothing lists models at {hangs}"))),
        "{found}"
    );
    let (_, text) = doctor(&home, &[], &[]);
    assert!(text.contains(&address) && !text.contains('\x1b'), "{text}");
}

#[test]
fn files_are_counted_and_open_ones_named() {
    let home = tempfile::tempdir().unwrap();
    let sessions = home.path().join("sessions");
    crate::support::write(&sessions.join("a.jsonl"), &[b'x'; 2048]);
    std::fs::write(home.path().join("auth.json"), format!("{{\"openai\":{{\"key\":\"{KEY}\"}}}}")).unwrap();
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&sessions, 0o755);
    mode(&home.path().join("auth.json"), 0o644);
    let (code, found) = json_of(&home, &[]);
    assert_eq!(code, 0, "{found}");
    assert_eq!(found["disk"]["sessions"], json!({"bytes": 2048, "files": 1, "complete": true}));
    // Nothing goes by itself, and tau knows no address for releases.
    assert_eq!(found["disk"]["retention"], 0);
    assert_eq!(found["install"]["update check"], json!({"address": null, "daily": false}));
    std::fs::create_dir_all(home.path().join("undo/0199")).unwrap();
    std::fs::write(home.path().join("undo/0199/journal"), [0; 512]).unwrap();
    std::fs::write(
        home.path().join("config.toml"),
        "retention = 30\nrelease_url = \"https://x.example/tau\"\n",
    )
    .unwrap();
    let (_, text) = doctor(&home, &[], &[]);
    for part in
        ["512 bytes in 1 file", "go to the trash after 30 days", "once a day, at https://x.example/tau"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, off) = json_of(&home, &[("TAU_UPDATE_CHECK", "false")]);
    assert_eq!(off["install"]["update check"], json!({"address": "https://x.example/tau", "daily": false}));
    assert_eq!(
        (&found["paths"]["sessions"]["mode"], &found["model"]["keys"]["openai"]),
        (&json!("0755"), &json!("auth.json"))
    );
    let text = advice(&found).join("\n");
    assert!(text.contains("chmod 600") && text.contains("chmod 700") && !text.contains(KEY), "{text}");
    mode(&sessions, 0o700);
    mode(&home.path().join("auth.json"), 0o600);
    let text = advice(&json_of(&home, &[]).1).join("\n");
    assert!(!text.contains("chmod"), "{text}");
}

#[test]
fn in_a_terminal_it_says_its_size_and_how_soon_keys_are_seen() {
    let script = "export OPENAI_API_KEY=x; \"$TAU_BIN\" doctor; echo \"code $?\"; \"$TAU_BIN\" doctor; \
                  stty -a; echo end; read line";
    let screen = Screen::program(std::path::Path::new("/bin/sh"), &["-c", script], 100, 120);
    screen.press_until(&"\x1b[?62;22c".repeat(5), "ms to the terminal and back");
    screen.wait_for("100x120");
    screen.wait_for("code 0");
    // The second is not answered.
    screen.wait_for("end");
    let text = screen.text();
    assert!(text.contains("the terminal did not answer"), "{text}");
    // The terminal is restored.
    assert!([" echo ", " icanon ", "isig "].iter().all(|mode| text.contains(mode)), "{text}");
}

#[test]
fn the_search_service_is_looked_at() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    let (_, found) = json_of(&home, &[]);
    assert_eq!(found["search"], json!({}), "it is off");
    std::fs::write(&config, "web_search = \"brave\"\n").unwrap();
    let (_, found) = json_of(&home, &[]);
    let missing = "there is no key for Brave Search: set BRAVE_API_KEY, or run `tau auth set brave`";
    assert!(advice(&found).iter().any(|text| text.contains(missing)), "{found}");
    let (_, found) = json_of(&home, &[("BRAVE_API_KEY", KEY)]);
    assert_eq!(
        (&found["search"]["service"], &found["search"]["key"]),
        (&json!("brave"), &json!("BRAVE_API_KEY"))
    );
    assert!(!found.to_string().contains(KEY) && !advice(&found).iter().any(|text| text.contains("Brave")));
    std::fs::write(&config, "web_search = \"searxng\"\n").unwrap();
    let (_, found) = json_of(&home, &[]);
    assert!(advice(&found).iter().any(|text| text.contains("set web_search_url")), "{found}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::fs::write(&config, format!("web_search = \"searxng\"\nweb_search_url = \"{address}\"\n")).unwrap();
    let is_missing = |found: &Value| advice(found).iter().any(|text| text.contains("nothing answers at"));
    let (_, found) = json_of(&home, &[]);
    assert!(!is_missing(&found), "{found}");
    drop(listener);
    let (_, found) = json_of(&home, &[]);
    assert!(is_missing(&found), "{found}");
}

#[test]
fn over_ssh_it_says_how_to_test_the_option_key() {
    let home = tempfile::tempdir().unwrap();
    let (_, text) = doctor(&home, &[], &[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")]);
    assert!(text.contains("option key") && text.contains("press Option+T (Alt+T) in tau"), "{text}");
    let (_, found) = json_of(&home, &[]);
    assert_eq!(found["option key"].is_object(), cfg!(target_os = "macos"), "{found}");
}
