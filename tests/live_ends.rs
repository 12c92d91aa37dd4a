//! The ends of live sessions: nothing that was acknowledged is lost, and whoever comes later knows how to continue.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::answering;
use crate::live::{Home, command, only_id, other_terminal, texts, wait_for_state};
use crate::live_waits::begun_with;
use crate::screen::{Screen, TIMEOUT};
use crate::support::processes::rare_sleep;
use crate::support::program::{body, calls, models_file, says, says_using, stalls};
use crate::support::server::{Act, Server, stream};
use crate::time_limit::{EndInTime, RunInTime, in_time};

fn record_of(home: &Path, id: &str) -> Value {
    serde_json::from_slice(&fs::read(home.join(format!("tau/logs/live/{id}.json"))).unwrap()).unwrap()
}

/// The socket of the process that has a session open.
fn socket_of(home: &Path, id: &str) -> PathBuf {
    PathBuf::from(record_of(home, id)["address"].as_str().unwrap().strip_prefix("unix:").unwrap())
}

/// The process that has a session open.
pub fn process_of(home: &Path, id: &str) -> Pid {
    let record = record_of(home, id);
    Pid::from_raw(i32::try_from(record["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

fn wait_for_file(path: &Path) {
    crate::time_limit::until(TIMEOUT, || path.exists(), || format!("{} is not made", path.display()));
}

/// The messages of the user in a session.
pub(crate) fn prompts(home: &Home, id: &str) -> Vec<String> {
    prompts_in(home.0.path(), id)
}

fn prompts_in(home: &Path, id: &str) -> Vec<String> {
    let export = ["export", id, "-", "--format", "jsonl"];
    let (_, document, err) = texts(&command(home, &export).output_in_time());
    let entries = document.lines().map(|line| serde_json::from_str::<Value>(line).expect(&err));
    let text = |entry: Value| {
        let message = &entry["message"];
        let content = message["content"].as_str().or_else(|| message["content"][0]["text"].as_str());
        (message["role"] == "user").then(|| content.unwrap().to_owned())
    };
    entries.filter_map(text).collect()
}

#[test]
fn an_acknowledged_message_survives_every_end() {
    let (slow, fast) = (answering(Duration::from_secs(60), "never"), answering(Duration::ZERO, "an answer"));
    for (end, code) in [("stop", 130), ("TERM", 143), ("KILL", 101)] {
        let home = Home::new();
        let id = home.background(&slow, "take your time");
        let (sent, _, err) = home.run(&["send", &id, "one more thing"]);
        assert_eq!(sent, Some(0), "{err}");
        match end {
            "stop" => assert_eq!(home.run(&["stop", &id]).0, Some(0)),
            "TERM" => kill_process(process_of(home.0.path(), &id), Signal::TERM).unwrap(),
            _ => kill_process(process_of(home.0.path(), &id), Signal::KILL).unwrap(),
        }
        assert_eq!(home.run(&["wait", &id]).0, Some(code), "{end}");
        let screen = other_terminal(home.0.path(), &format!("$TAU_BIN --session {id}"));
        screen.wait_for("take your time");
        screen.wait_for("one more thing");
        screen.type_keys("\x04");
        screen.wait_for("exit=");
        let again = ["-b", "--session", &id, "--base-url", &fast, "--model", "m", "carry on"];
        let (begun, _, err) = home.run(&again);
        assert_eq!(begun, Some(0), "{end}: {err}");
        assert_eq!(home.run(&["wait", &id]).0, Some(0), "{end}");
        assert_eq!(prompts(&home, &id), ["take your time", "one more thing", "carry on"], "{end}");
    }
}

/// Esc gives back what was typed on the screen, and leaves what another program was told is kept.
#[test]
fn what_was_sent_to_a_screen_stays_queued_when_esc_stops_its_run() {
    let (slow, fast) = (answering(Duration::from_secs(60), "never"), answering(Duration::ZERO, "an answer"));
    let screen = Screen::prepared("true", &format!("--base-url {slow} --model m"), 80, 24);
    let home = screen.home().to_owned();
    let id = only_id(&home);
    screen.type_keys("take your time\r");
    wait_for_state(&home, &id, "running");
    let (code, _, err) = texts(&command(&home, &["send", &id, "one more thing"]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
    screen.wait_for("one more thing");
    screen.type_keys("of mine\r");
    screen.wait_for("of mine");
    screen.type_keys("\x1b");
    wait_for_state(&home, &id, "idle");
    kill_process(process_of(&home, &id), Signal::KILL).unwrap();
    let again = ["-b", "--session", &id, "--base-url", &fast, "--model", "m", "carry on"];
    let (begun, _, err) = texts(&command(&home, &again).output_in_time());
    assert_eq!(begun, Some(0), "{err}");
    assert_eq!(texts(&command(&home, &["wait", &id]).output_in_time()).0, Some(0));
    assert_eq!(prompts_in(&home, &id), ["take your time", "one more thing", "carry on"]);
}

#[test]
fn messages_sent_at_once_to_a_session_at_rest_all_arrive() {
    let home = Home::new();
    let (code, id, err) = home.run(&["-b", "--model", "demo", "hello there"]);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    let sent: Vec<String> = (0..6).map(|number| format!("message {number}")).collect();
    std::thread::scope(|scope| {
        for text in &sent {
            let home = &home;
            scope.spawn(move || {
                let (code, _, err) = home.run(&["send", id, text]);
                assert_eq!(code, Some(0), "{text}: {err}");
            });
        }
    });
    // Without another session of the same name.
    let (code, out, err) = home.run(&["-b", "--session", id, "the last one"]);
    assert_eq!((code, out.trim()), (Some(0), id), "{err}");
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    let mut found = prompts(&home, id);
    assert_eq!(found.remove(0), "hello there");
    assert_eq!(found.pop().as_deref(), Some("the last one"));
    found.sort();
    assert_eq!(found, sent);
}

/// What a stopped process has received runs once it continues, so it is not sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_to_a_process_that_does_not_answer_is_sent_once() {
    let (home, server) = (Home::new(), Server::start(vec![stalls("begun"), says("done")]).await);
    let id = home.background(&server.url(), "hello there");
    let process = process_of(home.0.path(), &id);
    kill_process(process, Signal::STOP).unwrap();
    let (code, _, err) = home.run(&["-b", "--session", &id, "only once"]);
    kill_process(process, Signal::CONT).unwrap();
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("is suspended") && err.contains("may still arrive"), "{err}");
    home.run(&["stop", &id]);
    home.wait_for_state(&id, "idle");
    let found = prompts(&home, &id);
    assert!(found.iter().filter(|text| *text == "only once").count() <= 1, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_that_cannot_hold_in_a_live_session_are_refused() {
    let (home, server) = (Home::new(), Server::start(vec![stalls("begun"), says("done")]).await);
    let url = server.url();
    let begin = ["-b", "--base-url", &url, "--model", "m", "--max-turns", "9", "--tools", "read", "hello"];
    let (code, id, err) = home.run(&begin);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    for (flags, named) in [
        (
            &["--permission-mode", "plan", "--max-cost", "1"][..],
            "--permission-mode, --max-cost has no effect",
        ),
        (&["--no-tools"], "--no-tools has no effect"),
        (&["-o", "answer.txt"], "--output has no effect"),
    ] {
        let (code, _, err) = home.run(&[&["-b", "--session", id], flags, &["refused"]].concat());
        assert!(code == Some(2) && err.contains(named), "{flags:?}: {code:?} {err}");
    }
    // These rights and limits are its own.
    let same = ["-b", "--session", id, "--max-turns", "9", "--tools", "read", "--model", "demo", "more"];
    let (code, _, err) = home.run(&same);
    assert!(code == Some(0) && err.contains("--model has no effect"), "{code:?} {err}");
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN --session {id} --permission-mode plan"));
    screen.wait_for("--permission-mode has no effect");
    screen.type_keys("\x04");
    screen.wait_for("exit=");
    home.run(&["stop", id]);
    home.wait_for_state(id, "idle");
    assert!(!prompts(&home, id).contains(&"refused".to_owned()));
}

/// It says so, and opens the session again for what is sent.
#[test]
fn a_screen_outlives_the_one_that_it_watched() {
    let mut first = Screen::prepared("export TAU_DEMO_SPEED=max", "--model demo", 80, 24);
    let home = first.home().to_owned();
    let id = only_id(&home);
    first.type_keys("hello there\r");
    wait_for_state(&home, &id, "idle");
    let second = other_terminal(&home, &format!("TAU_DEMO_SPEED=max $TAU_BIN attach {id}"));
    second.wait_for("is yours");
    first.type_keys("\x04");
    assert!(first.wait_exit().success());
    second.wait_for("send something to open it again");
    second.type_keys("hello again\r");
    second.wait_for("▌ hello again");
    second.wait_until("nothing but the prompts", |cells| !cells.contents().contains("trying again"));
    second.type_keys("\x04");
    second.wait_for("exit=0");
}

#[tokio::test(flavor = "multi_thread")]
async fn screens_that_open_a_session_again_at_once_open_it_once() {
    let server = Server::choosing(|at, _| if at == 0 { stalls("begun") } else { says("done") }).await;
    let (home, id) = begun_with(&server.url());
    let line = format!("$TAU_BIN attach {id}");
    let screens = [1, 2, 3].map(|_| other_terminal(home.0.path(), &line));
    screens.iter().for_each(|screen| screen.wait_for("begun"));
    kill_process(process_of(home.0.path(), &id), Signal::KILL).unwrap();
    screens.iter().for_each(|screen| screen.wait_for("send something to open it again"));
    let sent = ["of one", "of two", "of three"];
    screens.iter().zip(sent).for_each(|(screen, text)| screen.type_keys(&format!("{text}\r")));
    for screen in &screens {
        sent.iter().for_each(|text| screen.wait_for(&format!("▌ {text}")));
        assert!(!screen.text().contains("another tau"), "{}", screen.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screen_knows_no_jobs_of_a_process_that_was_killed() {
    let job = json!({ "command": format!("sleep {}", rare_sleep()), "background": true });
    let server = Server::start(vec![calls("bash", &job), says("it has begun"), says("it is gone")]).await;
    let home = Home::new();
    fs::create_dir_all(home.at("tau")).unwrap();
    fs::write(home.at("tau/models.toml"), models_file(&server.url(), "")).unwrap();
    let (code, out, err) = home.run(&["-b", "--model", "own/m", "begin"]);
    assert_eq!(code, Some(0), "{err}");
    let id = out.trim();
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for("it has begun");
    screen.wait_for("1 job");
    let listed = || {
        let jobs: Vec<Value> = serde_json::from_str(&home.run(&["jobs", "--json"]).1).unwrap();
        let own = jobs.into_iter().filter(|job| job["session"] == id).collect::<Vec<_>>();
        assert!(!own.is_empty());
        own
    };
    let process = process_of(home.0.path(), id);
    assert!(listed().iter().all(|job| job["tau"] == process.as_raw_nonzero().get()), "{:?}", listed());
    kill_process(process, Signal::KILL).unwrap();
    screen.wait_for("send something to open it again");
    screen.type_keys("and now?\r");
    screen.wait_for("it is gone");
    screen.wait_until("no job", |cells| !cells.contents().contains("1 job"));
    assert!(!screen.text().contains("cannot connect"), "{}", screen.text());
    screen.type_keys("\x04");
    screen.wait_for("exit=0");
    let left = listed();
    assert!(left.iter().all(|job| job["tau"].is_null()), "{left:?}");
    let left = left.iter().map(|job| job["pid"].to_string());
    let stop: Vec<String> = ["jobs".to_owned(), "--stop".to_owned()].into_iter().chain(left).collect();
    let (code, _, err) = home.run(&stop.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn every_screen_that_is_left_keeps_its_draft() {
    let home = Home::new();
    let id = home.background(&answering(Duration::from_secs(60), "never"), "take your time");
    for (typed, kept) in [("half a thought", ""), (" and the rest", "half a thought")] {
        let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
        screen.wait_for("take your time");
        screen.wait_for(kept);
        screen.type_keys(typed);
        screen.wait_for(typed.trim());
        screen.type_keys("\x18b");
        screen.wait_for(&format!("tau attach {id}"));
        screen.wait_for("exit=0");
    }
    let last = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    last.wait_for("half a thought and the rest");
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
}

/// The system removes the folder of sockets with the last end of a login.
#[test]
fn a_session_whose_socket_is_removed_is_reached_again() {
    let home = Home::new();
    let id = home.background(&answering(Duration::from_secs(60), "never"), "take your time");
    let socket = socket_of(home.0.path(), &id);
    fs::remove_file(&socket).unwrap();
    wait_for_file(&socket);
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
    assert_eq!(home.run(&["wait", &id]).0, Some(130));
}

#[test]
fn a_prompt_in_the_background_that_cannot_be_saved_is_refused() {
    let home = Home::new();
    fs::create_dir_all(home.at("tau")).unwrap();
    fs::write(home.at("tau/sessions"), "in the way").unwrap();
    let url = answering(Duration::from_secs(60), "never");
    let (code, out, err) = home.run(&["-b", "--base-url", &url, "--model", "m", "take your time"]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert!(err.contains("cannot save the session"), "{err}");
    let left: Vec<_> =
        fs::read_dir(home.at("tau/logs/live")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

/// It is saved at once, however long it has to wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_during_a_compaction_is_accepted_and_not_lost() {
    let is_slow = Arc::new(AtomicBool::new(true));
    let slow = Arc::clone(&is_slow);
    let server = Server::choosing(move |_, request| {
        let is_summary = body(request)["messages"][0].to_string().contains("summar");
        match is_summary && slow.load(Ordering::SeqCst) {
            true => stalls("a summary"),
            false => says_using("done", if is_summary { 10 } else { 19_000 }),
        }
    })
    .await;
    let home = Home::new();
    fs::create_dir_all(home.at("tau")).unwrap();
    fs::write(home.at("tau/models.toml"), models_file(&server.url(), "context_window = 20000\n")).unwrap();
    let (code, out, err) = home.run(&["-b", "--model", "own/m", &"a long story ".repeat(2_000)]);
    assert_eq!(code, Some(0), "{err}");
    let id = out.trim();
    crate::time_limit::until(TIMEOUT, || server.requests().len() >= 2, || "it is not compacted".to_owned());
    let (code, _, err) = home.run(&["send", id, "and then?"]);
    assert_eq!(code, Some(0), "{err}");
    kill_process(process_of(home.0.path(), id), Signal::KILL).unwrap();
    assert_eq!(home.run(&["wait", id]).0, Some(101));
    is_slow.store(false, Ordering::SeqCst);
    assert_eq!(home.run(&["send", id, "carry on"]).0, Some(0));
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    assert_eq!(prompts(&home, id)[1..], ["and then?", "carry on"]);
}

/// On a full disk, a session has what it is sent in memory only.
#[test]
fn a_message_that_cannot_be_saved_is_not_said_to_be_sent() {
    let home = Home::new();
    let url = answering(Duration::from_secs(60), "never");
    let plain = home.command(&[]);
    let mut begun = Command::new("bash");
    begun.args(["-c", r#"ulimit -f 8; exec "$0" "$@""#, env!("CARGO_BIN_EXE_tau")]);
    begun.args(["-b", "--base-url", &url, "--model", "m", "take your time"]).current_dir(home.at("work"));
    begun.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (code, out, err) = texts(&begun.output_in_time());
    assert_eq!(code, Some(0), "{err}");
    let id = out.trim();
    assert_eq!(home.run(&["send", id, "one more thing"]).0, Some(0));
    for text in ["x".repeat(20_000).as_str(), "short"] {
        let (code, out, err) = home.run(&["send", id, text]);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
        assert!(
            err.starts_with("tau: the session has it in memory only: cannot save the session: "),
            "{err}"
        );
    }
    assert_eq!(home.run(&["stop", id]).0, Some(0));
    // It tries to save what it has until it is ended.
    kill_process(process_of(home.0.path(), id), Signal::TERM).unwrap();
    assert_eq!(home.run(&["wait", id]).0, Some(130));
}

#[test]
fn the_note_of_a_killed_process_is_removed_by_the_next_process() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let id = home.background(&slow, "take your time");
    let notes = || {
        let folders = fs::read_dir(home.at("tau/sessions")).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
        let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".jsonl.lock")).collect::<Vec<_>>()
    };
    let is_of = |name: &String, id: &str| name.ends_with(&format!("_{id}.jsonl.lock"));
    assert!(matches!(notes().as_slice(), [only] if is_of(only, &id)), "{:?}", notes());
    kill_process(process_of(home.0.path(), &id), Signal::KILL).unwrap();
    assert_eq!(home.run(&["wait", &id]).0, Some(101));
    let next = home.background(&slow, "another");
    crate::time_limit::until(
        TIMEOUT,
        || matches!(notes().as_slice(), [only] if is_of(only, &next)),
        || format!("{:?}", notes()),
    );
    assert_eq!(home.run(&["stop", &next]).0, Some(0));
}

/// Processes of several containers have the same number, and may share the folder of the user.
#[test]
fn sessions_of_containers_with_the_same_numbers_are_reached() {
    let container = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let mut able = Command::new("sh");
    able.args(["-c", r#"unshare "$@" true 2>/dev/null"#, "sh"]).args(container);
    if !able.status_in_time().success() {
        eprintln!("skipped: this machine makes no containers");
        return;
    }
    let home = Home::new();
    let url = answering(Duration::from_secs(60), "never");
    let home_of = home.command(&[]);
    let inside = |script: &str, arguments: &[&str]| {
        let mut inside = Command::new("unshare");
        inside
            .args(container)
            .args(["sh", "-c", script, "sh"])
            .arg(env!("CARGO_BIN_EXE_tau"))
            .args(arguments);
        inside.env_clear().envs(home_of.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.current_dir(home.at("work")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = inside.spawn().unwrap();
        let out = running.stdout.take().unwrap();
        let line = in_time("the first line", move || {
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line).unwrap();
            line
        });
        (line.trim().to_owned(), running)
    };
    let begin = |prompt: &str| {
        let arguments = ["-b", "--base-url", &url, "--model", "m", prompt];
        inside(r#""$@" </dev/null; read -r wait"#, &arguments)
    };
    let all = [begin("one"), begin("other")];
    let ids = [&all[0].0, &all[1].0];
    let [one, other] = ids.map(|id| record_of(home.0.path(), id)["pid"].clone());
    assert_eq!(one, other, "the containers count alike");
    for id in ids {
        let (code, _, err) = home.run(&["stop", id]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert_eq!(home.run(&["wait", id]).0, Some(130));
    }
    let serve = || inside(r#""$@" & read -r wait"#, &["serve", "--listen", "127.0.0.1:0"]);
    let servers = [serve(), serve()];
    assert!(servers.iter().all(|(line, _)| line.starts_with("listening on http://")), "{servers:?}");
    for (_, mut container) in all.into_iter().chain(servers) {
        drop(container.stdin.take());
        container.wait_in_time("the end of the container");
    }
}

#[test]
fn the_socket_of_a_killed_process_is_removed_with_its_record_and_by_the_next_process() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let id = home.background(&slow, "take your time");
    let pid = process_of(home.0.path(), &id);
    let socket = socket_of(home.0.path(), &id);
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(home.run(&["wait", &id]).0, Some(101));
    let is_gone = |look: &dyn Fn()| {
        let end = Instant::now() + TIMEOUT;
        while socket.exists() {
            assert!(Instant::now() < end, "{} is left", socket.display());
            std::thread::sleep(Duration::from_millis(20));
            look();
        }
    };
    is_gone(&|| drop(home.run(&["sessions", "--json"])));
    // One without a record.
    drop(UnixListener::bind(&socket).unwrap());
    let next = home.background(&slow, "another");
    is_gone(&|| ());
    assert_eq!(home.run(&["stop", &next]).0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_a_killed_process_seems_to_wait_for_its_turn() {
    let call = calls("bash", &json!({ "command": "touch made" }));
    let server = Server::start(vec![call]).await;
    let home = Home::new();
    fs::create_dir_all(home.at("tau")).unwrap();
    fs::write(home.at("tau/models.toml"), models_file(&server.url(), "")).unwrap();
    let (code, out, err) = home.run(&["-b", "--permission-mode", "ask", "--model", "own/m", "begin"]);
    assert_eq!(code, Some(0), "{err}");
    let id = out.trim();
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for("Yes");
    kill_process(process_of(home.0.path(), id), Signal::KILL).unwrap();
    screen.wait_for("send something to open it again");
    screen.wait_for("not run");
    assert!(!screen.text().contains("queued"), "{}", screen.text());
}

#[test]
fn whoever_follows_a_session_that_is_killed_learns_how_to_continue() {
    let home = Home::new();
    let id = home.background(&answering(Duration::from_secs(60), "never"), "take your time");
    let pid = process_of(home.0.path(), &id);
    let (code, _, err) = std::thread::scope(|scope| {
        let following = scope.spawn(|| home.run(&["logs", "-f", &id]));
        std::thread::sleep(Duration::from_millis(500));
        kill_process(pid, Signal::KILL).unwrap();
        let followed = following.join();
        followed.unwrap()
    });
    assert_eq!(code, Some(101), "{err}");
    assert!(err.contains(&format!("to continue: tau send {id} continue")), "{err}");
}

#[test]
fn a_goal_is_pursued_after_an_interruption_and_without_a_prompt() {
    let home = Home::new();
    let (slow, fast) = (answering(Duration::from_secs(60), "never"), answering(Duration::ZERO, "an answer"));
    let goal = "test -f made || { touch made; false; }";
    let (code, id, err) =
        home.run(&["-b", "--until", goal, "--base-url", &slow, "--model", "m", "take your time"]);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    kill_process(process_of(home.0.path(), id), Signal::KILL).unwrap();
    assert_eq!(home.run(&["wait", id]).0, Some(101));
    let (code, _, err) = home.run(&["-b", "--session", id, "--base-url", &fast, "--model", "m", "continue"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    assert!(home.at("work/made").exists(), "the goal was dropped");
    let goal = "test -f more || { touch more; false; }";
    let (code, id, err) = home.run(&["-b", "--until", goal, "--base-url", &fast, "--model", "m"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(home.run(&["wait", id.trim()]).0, Some(0));
    assert!(home.at("work/more").exists());
    for blank in ["", "  "] {
        assert_eq!(home.run(&["-b", "--base-url", &fast, "--model", "m", blank]).0, Some(2));
    }
}

#[test]
fn a_goal_that_the_user_has_stopped_is_named_as_paused() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let (_, id, err) = home.run(&["-b", "--until", "test -f it", "--base-url", &slow, "--model", "m", "go"]);
    let id = id.trim();
    assert_eq!(home.run(&["stop", id]).0, Some(0), "{err}");
    assert_eq!(home.run(&["wait", id]).0, Some(130));
    let fast = answering(Duration::ZERO, "an answer");
    let (code, _, err) = home.run(&["-b", "--session", id, "--base-url", &fast, "--model", "m", "carry on"]);
    assert_eq!(code, Some(0));
    assert!(err.contains("is paused; to continue it, pass --until with its command: test -f it"), "{err}");
}

#[test]
fn a_command_of_the_user_continues_when_the_screen_is_left() {
    let script = "\"$TAU_BIN\" --model demo; echo \"exit=$?\"; cat";
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", script], 80, 24);
    screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    let home = screen.home().to_owned();
    let id = only_id(&home);
    screen.type_keys("!until [ -f go ]; do sleep 0.05; done; touch made\r");
    // It has no file yet.
    let record = home.join(format!("tau/logs/live/{id}.json"));
    crate::time_limit::until(
        TIMEOUT,
        || fs::read_to_string(&record).unwrap().contains("\"state\":\"running\""),
        || fs::read_to_string(&record).unwrap(),
    );
    screen.type_keys("\x18b");
    screen.wait_for(&format!("the session continues: tau attach {id}"));
    screen.wait_for("exit=0");
    fs::write(home.join("work/go"), "").unwrap();
    wait_for_file(&home.join("work/made"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_an_answer_that_has_begun_reads_its_beginning() {
    let rest = Arc::new(tokio::sync::Notify::new());
    let line =
        |text: &str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let end = format!("{}data: {end}\n\ndata: [DONE]\n\n", line(" a time."));
    let act = Act::Hold(stream(&line("Once upon")), Arc::clone(&rest), end.into_bytes());
    let url = Server::start(vec![act]).await.url();
    let played = tokio::task::spawn_blocking(move || {
        let screen = Screen::prepared("true", &format!("--base-url {url} --api-key x --model m"), 80, 24);
        screen.wait_for("ask for something");
        let home = screen.home().to_owned();
        let id = only_id(&home);
        screen.type_keys("tell\r");
        screen.wait_for("Once upon");
        let mut following = crate::live::command(&home, &["logs", "-f", &id]);
        let mut following = following.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(following.stdout.take().unwrap());
        let mut told = [0; 9];
        std::io::Read::read_exact(&mut out, &mut told).unwrap();
        rest.notify_one();
        let mut after = String::new();
        std::io::Read::read_to_string(&mut out, &mut after).unwrap();
        let (code, _, err) = texts(&following.output_in_time("the end of the answer"));
        assert_eq!((code, &told, after.as_str(), err.as_str()), (Some(0), b"Once upon", " a time.\n", ""));
    });
    played.await.unwrap();
}
