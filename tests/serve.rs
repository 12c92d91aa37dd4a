//! `tau serve`: the real program, driven over HTTP.

mod attach;
mod attach_ends;
mod attach_fake;
mod attach_far;
mod attempts;
mod branches;
mod browser;
pub(crate) mod client;
mod dropping;
mod elsewhere;
mod hostile;
mod jobs;
mod load;
mod mcp;
mod page;
mod page_actions;
mod page_attempts;
mod page_errors;
mod page_layout;
mod page_sync;
mod sharing;
mod tls_front;

use clap::Parser;
use serde_json::{Value, json};
use tau::cli::args::serve::ServeArgs;

use crate::support::program::{bare, run};
use client::{Frame, Served};

fn names(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.name.as_str()).collect()
}

/// Creates a session and returns its id.
async fn create(server: &Served, body: Value) -> String {
    let reply = server.send("POST", "/api/sessions", &body).await.is(201);
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    assert!(reply.head.contains(&format!("location: /api/sessions/{id}")), "{}", reply.head);
    id
}

#[tokio::test]
async fn a_prompt_that_a_hook_stops_ends_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(".config/tau");
    std::fs::create_dir_all(&folder).unwrap();
    let hook = "[[hooks.UserPromptSubmit]]\ncommand = 'echo \"not this word\" >&2; exit 2'\n";
    std::fs::write(folder.join("config.toml"), hook).unwrap();
    let server = Served::in_dir(dir, &[]).await;
    let body = json!({ "prompt": "forbidden" });
    let frames = server.stream("POST", "/api/prompt", "", &body).await.until("done").await;
    assert!(names(&frames).contains(&"prompt_refused"), "{frames:?}");
    assert_eq!(frames.last().unwrap().data["error"], json!("a hook blocked the prompt: not this word"));
}

#[tokio::test]
async fn a_prompt_streams_its_events_up_to_the_answer() {
    let server = Served::start(&[]).await;
    let body = json!({ "prompt": "help" });
    let frames = server.stream("POST", "/api/prompt", "", &body).await.until("done").await;
    let names = names(&frames);
    assert_eq!((names[0], *names.last().unwrap()), ("session", "done"));
    for name in ["agent_start", "message_update", "message_end", "agent_settled"] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    let id = frames[0].data["session"]["id"].as_str().unwrap();
    let done = &frames.last().unwrap().data;
    assert_eq!((&done["sessionId"], &done["stopReason"]), (&json!(id), &json!("stop")));
    let text = done["text"].as_str().unwrap();
    let told = frames.iter().filter_map(|frame| frame.data["assistantMessageEvent"]["delta"].as_str());
    assert_eq!(told.collect::<String>(), text);

    // A second prompt continues the session, whose messages are in its history.
    let body = json!({ "prompt": "help", "sessionId": id, "streaming": "followUp" });
    server.stream("POST", "/api/prompt", "", &body).await.until("done").await;
    let history =
        server.send("GET", &format!("/api/sessions/{id}/history"), &Value::Null).await.is(200).json();
    let roles: Vec<&str> = history["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
}

#[tokio::test]
async fn sessions_are_made_listed_changed_closed_and_deleted() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({ "name": "First", "permissionMode": "ask" })).await;
    let path = format!("/api/sessions/{id}");
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    assert_eq!(
        (&shown["name"], &shown["permissionMode"], &shown["live"]),
        (&json!("First"), &json!("ask"), &json!(true))
    );
    let changed = json!({ "name": "Second", "permissionMode": "plan" });
    let shown = server.send("PATCH", &path, &changed).await.is(200).json();
    assert_eq!((&shown["name"], &shown["permissionMode"]), (&json!("Second"), &json!("plan")));
    let prompt = json!({ "prompt": "help", "detach": true });
    server.send("POST", &format!("{path}/prompt"), &prompt).await.is(202);
    // Answered once nothing is running.
    server.send("POST", &format!("{path}/close"), &Value::Null).await.is(204);
    server.send("POST", &format!("{path}/abort"), &Value::Null).await.is(409);
    let list = server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
    let row = &list["sessions"][0];
    assert_eq!((&row["id"], &row["name"], &row["live"]), (&json!(id), &json!("Second"), &json!(false)));
    assert_eq!(row["firstPrompt"], json!("help"));
    server.send("DELETE", &path, &Value::Null).await.is(204);
    server.send("GET", &path, &Value::Null).await.is(404);
    let list = server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
    assert_eq!(list["sessions"], json!([]));
}

#[tokio::test]
async fn lists_come_in_pages() {
    let server = Served::start(&[]).await;
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(create(&server, json!({ "id": name })).await);
    }
    server.send("POST", "/api/sessions", &json!({ "id": "a" })).await.is(409);
    server.send("PUT", "/api/sessions/a", &json!({})).await.is(200);
    made.push("d".to_owned());
    server.send("PUT", "/api/sessions/d", &json!({})).await.is(201);
    server.send("PUT", "/api/sessions/d", &json!({ "id": "e" })).await.is(422);
    let (mut found, mut path) = (Vec::new(), "/api/sessions?limit=2".to_owned());
    loop {
        let page = server.send("GET", &path, &Value::Null).await.is(200).json();
        let ids =
            page["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned());
        found.extend(ids);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/sessions?limit=2&after={next}");
    }
    found.sort();
    assert_eq!(found, made);
}

#[tokio::test]
async fn models_commands_documents_and_counters_are_read() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    let health = server.raw("GET", "/health", "host: localhost\r\n", b"").await.is(200).json();
    assert_eq!(health["status"], json!("ok"));
    let models = server.send("GET", "/api/models", &Value::Null).await.is(200).json();
    assert!(models["models"].is_array(), "{models}");
    let commands = server.send("GET", &format!("{path}/commands"), &Value::Null).await.is(200).json();
    assert!(commands["commands"].is_array(), "{commands}");
    server.send("GET", &format!("{path}/export"), &Value::Null).await.is(404);
    let body = json!({ "prompt": "help" });
    server.stream("POST", &format!("{path}/prompt"), "", &body).await.until("done").await;
    for (format, begins) in [("html", "<!DOCTYPE html>"), ("md", "#"), ("jsonl", "{\"type\":\"session\"")] {
        let reply = server.send("GET", &format!("{path}/export?format={format}"), &Value::Null).await.is(200);
        assert!(reply.body.starts_with(begins), "{format}: {}", &reply.body[..60]);
        assert!(reply.head.contains(&format!(".{format}\"")), "{}", reply.head);
    }
    let text = server.send("GET", "/metrics", &Value::Null).await.is(200).body;
    for row in ["tau_sessions_live 1", "tau_runs_total 1", "tau_sessions_running 0"] {
        assert!(text.lines().any(|line| line == row), "{row} is missing:\n{text}");
    }
    assert!(text.contains("tau_http_request_seconds_count{route=\"/api/sessions/{id}/export\",method=\"GET\",status=\"200\"} 3"), "{text}");
}

#[tokio::test]
async fn the_history_says_what_stopped_the_last_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut print = bare(dir.path());
    print.args(["-p", "--model", "demo", "--permission-mode", "auto", "--max-turns", "1", "write"]);
    let ended = run(print.env("TAU_DEMO_SPEED", "max"), None).await;
    assert_eq!(ended.code, 5, "{}", ended.err);
    let server = Served::in_dir(dir, &["--log", "off"]).await;
    let get = async |path: &str| server.send("GET", path, &Value::Null).await.is(200).json();
    let id = get("/api/sessions").await["sessions"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{id}");
    let why = "the last run was stopped: it reached its limit of answers; send a message to continue";
    assert_eq!(get(&format!("{path}/history")).await["stopped"], why);
    let body = json!({ "prompt": "help" });
    server.stream("POST", &format!("{path}/prompt"), "", &body).await.until("done").await;
    assert_eq!(get(&format!("{path}/history")).await["stopped"], Value::Null);
}

#[tokio::test]
async fn a_signal_ends_the_server_once_sessions_are_complete() {
    let server = Served::start(&["--grace", "0", "--log", "json"]).await;
    let id = create(&server, json!({})).await;
    let mut events = server.events(&id).await;
    let prompt = json!({ "prompt": "help", "detach": true });
    server.send("POST", &format!("/api/sessions/{id}/prompt"), &prompt).await.is(202);
    events.until("agent_start").await;
    let queued = json!({ "prompt": "more", "streaming": "followUp" });
    let mut answer = server.stream("POST", &format!("/api/sessions/{id}/prompt"), "", &queued).await;
    answer.until("session").await;
    let token = server.token.clone();
    let (code, err) = server.end().await;
    assert_eq!(code, Some(143), "{err}");
    // Otherwise systemd treats every stop as a failure.
    let unit = include_str!("../integrations/server/tau-serve.service");
    assert!(unit.lines().any(|line| line == "SuccessExitStatus=143"), "{unit}");
    for (mut stream, end) in [(events, "session_closed"), (answer, "done")] {
        let last = stream.until(end).await;
        assert_eq!(stream.next().await, None, "{last:?}");
    }
    assert!(!err.contains(&token), "{err}");
    let lines: Vec<Value> = err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let prompted =
        lines.iter().find(|line| line["path"] == json!(format!("/api/sessions/{id}/prompt"))).unwrap();
    assert_eq!((&prompted["method"], &prompted["status"]), (&json!("POST"), &json!(202)));
}

/// The values in a document with this last part of their path.
fn all<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        found.extend(value.as_str().filter(|_| key == name));
        all(value, name, found);
    }
    value.as_array().into_iter().flatten().for_each(|value| all(value, name, found));
}

#[tokio::test]
async fn the_document_describes_every_route_and_refers_to_what_exists() {
    let server = Served::start(&[]).await;
    let document = server.raw("GET", "/openapi.json", "host: localhost\r\n", b"").await.is(200).json();
    assert_eq!(document["openapi"], json!("3.1.0"));
    let mut references = Vec::new();
    all(&document, "$ref", &mut references);
    assert!(references.len() > 50, "{references:?}");
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    // The page names the same requests.
    let page = std::fs::read_to_string(crate::harness::root().join("docs/server.md")).unwrap();
    let mut described = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            described.push(format!("{} {path}", method.to_uppercase()));
            assert!(operation["responses"]["401"].is_object(), "{method} {path}");
        }
    }
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let is_request =
        |row: &String| ["GET", "POST", "PUT", "PATCH", "DELETE"].iter().any(|m| row.starts_with(m));
    let mut named: Vec<String> = page.lines().filter_map(row).filter(is_request).collect();
    named.sort();
    described.sort();
    assert_eq!(named, described);
}

#[test]
fn the_unit_and_the_image_start_the_server_with_arguments_that_it_has() {
    let unit = include_str!("../integrations/server/tau-serve.service");
    let started = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let started: Vec<&str> = started.split(' ').collect();
    assert!(started[0].ends_with("/tau"), "{started:?}");
    let args = ServeArgs::try_parse_from(&started[1..]).unwrap();
    assert_eq!((started[1], args.listen.ip().is_loopback()), ("serve", true));

    let image = include_str!("../integrations/server/Dockerfile");
    let entry = image.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
    let entry: Vec<String> = serde_json::from_str(entry).unwrap();
    assert_eq!(entry[..2], ["tau", "serve"]);
    let port = ServeArgs::try_parse_from(&entry[1..]).unwrap().listen.port();
    for used in
        [format!("EXPOSE {port}"), format!("127.0.0.1:{port}:{port}"), format!("/dev/tcp/127.0.0.1/{port}")]
    {
        assert!(image.contains(&used), "{used}");
    }
}

/// No mode was chosen: clients are asked. Connections count against the limit of open files, which is
/// raised.
#[tokio::test]
async fn without_a_mode_it_asks_and_has_all_open_files() {
    let dir = tempfile::tempdir().unwrap();
    let served = client::command(dir.path(), &["--listen", "127.0.0.1:0"], &[]);
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "ulimit -Sn 100; exec \"$0\" \"$@\""]).arg(env!("CARGO_BIN_EXE_tau"));
    command.args(served.as_std().get_args()).env_clear().kill_on_drop(true);
    let set = served.as_std().get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(set.filter(|(name, _)| *name != "TAU_PERMISSION_MODE"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).current_dir(dir.path());
    let (child, address, token) = client::ready(command).await;
    let server = Served { child, address, token, dir };
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    assert_eq!(server.send("GET", &path, &Value::Null).await.json()["permissionMode"], "ask");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.child.id().unwrap()));
    if let Ok(limits) = limits {
        let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
        let numbers: Vec<&str> = files.split_whitespace().take(2).collect();
        assert_eq!(numbers[0], numbers[1], "{limits}");
    }
}

#[tokio::test]
async fn sessions_of_other_agents_are_listed_and_continued_as_copies() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().canonicalize().unwrap();
    let name = work.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let folder = work.join(".claude/projects").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let id = "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f";
    let file = folder.join(format!("{id}.jsonl"));
    let text =
        include_str!("foreign_sessions/claude.jsonl").replace("/home/dev/shop", &work.to_string_lossy());
    std::fs::write(&file, &text).unwrap();
    let server = Served::in_dir(dir, &[]).await;
    let listed = async || server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
    let list = listed().await;
    let row = &list["sessions"][0];
    assert_eq!((&row["id"], &row["source"], &row["live"]), (&json!(id), &json!("claude"), &json!(false)));
    let shown = server.send("GET", &format!("/api/sessions/{id}"), &Value::Null).await.is(200).json();
    assert_eq!(shown["cwd"], json!(work.to_string_lossy()));
    // It is not tau's to delete.
    server.send("DELETE", &format!("/api/sessions/{id}"), &Value::Null).await.is(409);
    let body = json!({ "prompt": "help", "sessionId": id });
    let frames = server.stream("POST", "/api/prompt", "", &body).await.until("done").await;
    assert_eq!(frames.last().unwrap().data["sessionId"], json!(id));
    let history =
        server.send("GET", &format!("/api/sessions/{id}/history"), &Value::Null).await.is(200).json();
    assert!(history["messages"].to_string().contains("basket"), "{history}");
    let list = listed().await;
    let rows = list["sessions"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["id"], &rows[0]["source"]), (1, &json!(id), &json!("tau")));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    // A part of an id names nothing here.
    server.send("GET", "/api/sessions/5f0a7c1e", &Value::Null).await.is(404);
}
