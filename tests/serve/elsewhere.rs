//! Sessions that other processes have open: in the background, and in a terminal.

use serde_json::{Value, json};

use super::client::{Served, command, ready};
use crate::screen::Screen;
use crate::support::program::{bare, calls, own_model, run, says, stalls};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

/// A server, and a session in the background beside it, which asks for a command.
async fn beside(acts: Vec<Act>, mode: &str) -> (Served, Server, String) {
    let provider = Server::start(acts).await;
    let dir = tempfile::tempdir().unwrap();
    let mut tau = command(dir.path(), &["--listen", "127.0.0.1:0"], &["--permission-mode", mode]);
    tau.env("TAU_HOME", dir.path());
    let (child, address, token) = ready(tau).await;
    let mut begun = bare(dir.path());
    begun.args(["-b"]).args(own_model(&provider.url())).args(["clean up"]);
    begun.env("TAU_HOME", dir.path()).env("TAU_PERMISSION_MODE", "ask").current_dir(dir.path());
    let output = begun.output().in_time("a session in the background").await.unwrap();
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(id.len(), 36, "{output:?}");
    (Served { child, address, token, dir }, provider, id)
}

/// The row of the session in the list, once it has this state.
async fn row(server: &Served, id: &str, state: &str) -> Value {
    let look = async {
        loop {
            let list = server.send("GET", "/api/sessions?open=true", &Value::Null).await.is(200).json();
            let row = list["sessions"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned();
            if let Some(row) = row.filter(|row| row["state"] == state) {
                return row;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    look.in_time("the state of the session").await
}

/// Nothing runs in a process that is suspended, and it takes no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_session_of_another_tau_is_listed_as_such() {
    let touch = calls("bash", &json!({ "command": "touch made" }));
    let (server, _provider, id) = beside(vec![touch, says("Done.")], "ask").await;
    row(&server, &id, "waiting").await;
    let record = std::fs::read(server.dir.path().join(format!("logs/live/{id}.json"))).unwrap();
    let pid = serde_json::from_slice::<Value>(&record).unwrap()["pid"].as_i64().unwrap();
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    let suspended = row(&server, &id, "suspended").await;
    assert_eq!((&suspended["running"], &suspended["waiting"]), (&json!(false), &json!(0)), "{suspended}");
    let path = format!("/api/sessions/{id}");
    let asked = std::time::Instant::now();
    let refused = [
        server.send("GET", &path, &Value::Null).await,
        server.send("GET", &format!("{path}/history"), &Value::Null).await,
        server.send("POST", &format!("{path}/prompt"), &json!({ "prompt": "x" })).await,
    ];
    assert!(asked.elapsed() < std::time::Duration::from_secs(5), "{:?}", asked.elapsed());
    for reply in refused {
        let problem = reply.is(503).json();
        let text = format!("process {pid}, which has this session open, is suspended; `fg`");
        assert!(problem["detail"].as_str().unwrap().starts_with(&text), "{problem}");
    }
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
    row(&server, &id, "waiting").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_another_tau_is_listed_read_answered_and_steered() {
    let touch = calls("bash", &json!({ "command": "touch made; echo one" }));
    let acts = vec![touch, says("All is clean."), says("Again.")];
    let (server, _provider, id) = beside(acts, "ask").await;
    let listed = row(&server, &id, "waiting").await;
    assert_eq!(
        (&listed["live"], &listed["elsewhere"], &listed["running"], &listed["waiting"]),
        (&json!(true), &json!(true), &json!(true), &json!(1)),
        "{listed}"
    );
    assert_eq!((&listed["firstPrompt"], &listed["model"]), (&json!("clean up"), &json!("local/m")));
    let path = format!("/api/sessions/{id}");
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    let approval = shown["approvals"][0]["id"].as_str().unwrap().to_owned();
    // Nothing is opened here, and it is closed and deleted where it is open.
    server.send("DELETE", &path, &Value::Null).await.is(409);
    let problem = server.send("POST", &format!("{path}/close"), &Value::Null).await.is(409).json();
    assert_eq!(problem["type"], "urn:tau:problem:session-in-use");
    // The mode that this server was started with is the ceiling here, too.
    server.send("PATCH", &path, &json!({ "permissionMode": "auto" })).await.is(422);
    let accepted = json!({ "accepted": true, "mode": "auto" });
    server.send("POST", &format!("{path}/questions/q1"), &accepted).await.is(422);
    let plan = json!({ "planAccepted": { "mode": "auto", "plan": null } });
    for command in [
        json!({ "type": "set_permission_mode", "mode": "auto" }),
        json!({ "type": "answer", "id": "q1", "answer": plan }),
    ] {
        server.send("POST", &format!("{path}/attach/answer"), &command).await.is(422);
    }
    // So are its rules: no client allows more.
    let rule = |list: &str| json!({ "list": list, "rule": "bash", "scope": "session" });
    let listed = json!({ "list": "deny", "rule": "bash", "scope": "session", "inForce": true });
    for (change, status) in [
        (json!({ "add": rule("allow") }), 422),
        (json!({ "remove": listed }), 422),
        // The owner refuses a client without its protocol.
        (json!({ "add": rule("deny") }), 409),
    ] {
        let commands = json!([{ "type": "change_rules", "ticket": 1, "change": change }]);
        let body = json!({ "client": "a", "first": 0, "commands": commands });
        server.send("POST", &format!("{path}/attach"), &body).await.is(status);
    }
    server.send("PATCH", &path, &json!({ "name": "Cleaning" })).await.is(200);
    let mut events = server.events(&id).await;
    let answer = json!({ "decision": "allow" });
    assert!(!server.dir.path().join("made").exists());
    server.send("POST", &format!("{path}/approvals/{approval}"), &answer).await.is(204);
    events.until("agent_settled").await;
    assert!(server.dir.path().join("made").exists());
    let history = server.send("GET", &format!("{path}/history"), &Value::Null).await.is(200).json();
    assert_eq!(history["messages"].as_array().unwrap().len(), 4, "{history}");
    // Calls have the titles of their tools.
    let titles: Vec<&Value> = history["titles"].as_object().unwrap().values().collect();
    assert_eq!(titles, ["touch made; echo one"], "{history}");
    let away = json!({ "archived": true });
    server.send("POST", &format!("{path}/archive"), &away).await.is(409);
    // While a client looks, the process stays; prompts reach it by the path and by the id.
    let body = json!({ "prompt": "and again", "sessionId": id });
    let frames = server.stream("POST", "/api/prompt", "", &body).await.until("done").await;
    assert_eq!(frames.last().unwrap().data["text"], "Again.");
    events.until("agent_settled").await;
    drop(events);
    // At rest it has ended, and this server opens it itself.
    let ended = row(&server, &id, "done").await;
    assert_eq!((&ended["name"], &ended["lastLine"]), (&json!("Cleaning"), &json!("Again.")), "{ended}");
    assert_eq!((&ended["archived"], &ended["parent"]), (&json!(false), &json!(null)), "{ended}");
    let process_ended = async { while row(&server, &id, "done").await["live"] == json!(true) {} };
    process_ended.in_time("the end of its process").await;
    for archived in [true, false] {
        server.send("POST", &format!("{path}/archive"), &json!({ "archived": archived })).await.is(204);
        assert_eq!(row(&server, &id, "done").await["archived"], archived);
    }
    server.send("POST", "/api/sessions/none/archive", &away).await.is(404);
    server.send("POST", &format!("{path}/archive"), &json!({ "archived": 1 })).await.is(400);
}

/// As on the board of a terminal, the row of a parent covers helpers that were interrupted with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_helpers_have_no_rows() {
    let (server, _provider, id) = beside(vec![says("All is clean.")], "ask").await;
    row(&server, &id, "done").await;
    let folders = std::fs::read_dir(server.dir.path().join("sessions")).unwrap();
    let mut files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    // Not the note of the process that has it open.
    let is_session = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(&format!("{id}.jsonl"));
    let file = files.find_map(|file| Some(file.unwrap().path()).filter(is_session)).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let [alone, helper] = [1, 2].map(|number| format!("0199aaaa-0000-7000-8000-00000000000{number}"));
    for (new, parent) in [(&alone, None), (&helper, Some(&id))] {
        std::fs::write(file.to_string_lossy().replace(&id, new), text.replace(&id, new)).unwrap();
        let record = json!({"id": new, "title": "t", "state": "running", "directory": server.dir.path(), "parent": parent});
        let place = server.dir.path().join(format!("logs/live/{new}.json"));
        std::fs::write(place, record.to_string()).unwrap();
    }
    let listed = row(&server, &alone, "failed").await;
    assert_eq!(listed["parent"], Value::Null);
    let list = server.send("GET", "/api/sessions?open=true", &Value::Null).await.is(200).json();
    let ids: Vec<&str> =
        list["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&id.as_str()) && !ids.contains(&helper.as_str()), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_another_tau_is_stopped_and_no_stranger_reaches_it() {
    let (server, _provider, id) =
        beside(vec![calls("bash", &json!({ "command": "touch made" }))], "auto").await;
    row(&server, &id, "waiting").await;
    let path = format!("/api/sessions/{id}");
    let host = format!("host: {}\r\n", server.address);
    assert_eq!(server.raw("GET", &path, &host, b"").await.status, 401);
    // A lower mode is always allowed.
    server.send("PATCH", &path, &json!({ "permissionMode": "plan" })).await.is(200);
    server.send("POST", &format!("{path}/abort"), &Value::Null).await.is(204);
    let ended = row(&server, &id, "idle").await;
    assert_eq!(ended["waiting"], 0, "{ended}");
    assert!(!server.dir.path().join("made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_the_server_is_listed_stopped_and_waited_for_in_a_terminal() {
    let provider = Server::start(vec![stalls("begun"), says("Again.")]).await;
    let server = Served::with_model(&provider).await;
    let tau = async |arguments: &[&str]| {
        let mut command = bare(server.dir.path());
        command.args(arguments).env("TAU_HOME", server.dir.path()).current_dir(server.dir.path());
        run(&mut command, None).await
    };
    let made = server.send("POST", "/api/sessions", &json!({ "model": "own/m" })).await.is(201).json();
    let id = made["id"].as_str().unwrap();
    let path = format!("/api/sessions/{id}");
    let body = json!({ "prompt": "go", "detach": true });
    server.send("POST", &format!("{path}/prompt"), &body).await.is(202);
    let state = async || {
        let rows: Value = serde_json::from_str(&tau(&["sessions", "--json"]).await.out).unwrap();
        rows[0]["state"].clone()
    };
    let runs = async { while state().await != "running" {} };
    runs.in_time("the run").await;
    assert_eq!(tau(&["stop", id]).await.code, 0);
    assert_eq!(tau(&["wait", id]).await.code, 130);
    assert_eq!(state().await, "idle");
    // The mode that a client chooses holds wherever the session is opened again.
    server.send("PATCH", &path, &json!({ "permissionMode": "plan" })).await.is(200);
    server.send("POST", &format!("{path}/close"), &Value::Null).await.is(204);
    let shown = server.send("PATCH", &path, &json!({ "name": "opened" })).await.is(200).json();
    assert_eq!(shown["permissionMode"], "plan", "{shown}");
    // It is listed once, as the server's own.
    let list = server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["sessions"][0]["elsewhere"], false);
}

/// A session in another terminal does not work for the clients of a server that was started with less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_with_a_higher_mode_gets_no_work() {
    let touch = calls("bash", &json!({ "command": "touch made" }));
    let (server, _provider, id) = beside(vec![touch, says("No.")], "plan").await;
    let path = format!("/api/sessions/{id}");
    row(&server, &id, "waiting").await;
    let prompt = json!({ "prompt": "x" });
    let commands = json!({ "type": "prompt", "text": "x", "images": [], "streaming": "steer" });
    for (place, body) in [
        ("prompt", prompt.clone()),
        ("steer", prompt.clone()),
        ("follow-up", prompt),
        ("attempts", json!({ "count": 1, "until": "touch made", "task": "x" })),
        ("attach/answer", commands.clone()),
        ("attach", json!({ "client": "me", "first": 0, "commands": [commands] })),
    ] {
        let refused = server.send("POST", &format!("{path}/{place}"), &body).await.is(422);
        assert!(refused.body.contains("mode ask") && refused.body.contains("plan"), "{place}: {refused:?}");
    }
    server.send("PATCH", &path, &json!({ "permissionMode": "plan" })).await.is(200);
    let until = json!({ "count": 1, "until": "touch made", "task": "x" });
    let refused = server.send("POST", &format!("{path}/attempts"), &until).await.is(422);
    assert!(refused.body.contains("plan mode"), "{refused:?}");
    assert!(!server.dir.path().join("made").exists());
}

/// The server does not have it open, so it has no say in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_at_rest_is_attached_to_without_the_server_and_has_its_time_limit_in_it() {
    let provider = Server::start(vec![says("All is clean."), stalls("begun")]).await;
    let server = Served::with_model(&provider).await;
    let home = server.dir.path();
    let tau = async |arguments: &[&str]| {
        let mut command = bare(home);
        run(command.args(arguments).env("TAU_HOME", home), None).await
    };
    let begun = tau(&["-b", "--model", "own/m", "--timeout", "1", "clean up"]).await;
    let id = begun.out.trim();
    assert_eq!(tau(&["wait", id]).await.code, 0, "{begun:?}");
    let at = home.display();
    let script = format!("export HOME={at} TAU_HOME={at}; cd {at}");
    for name in [id, &id[id.len() - 4..]] {
        let mut screen = Screen::prepared(&script, &format!("attach {name}"), 90, 24);
        screen.wait_for("All is clean.");
        assert!(!screen.text().contains(&server.address), "{}", screen.text());
        screen.type_keys("\x04");
        assert!(screen.wait_exit().success());
    }
    let shown = server.send("GET", &format!("/api/sessions/{id}"), &Value::Null).await.is(200).json();
    assert_eq!(shown["live"], json!(false), "{shown}");
    // The server was started with another model.
    server.send("PATCH", &format!("/api/sessions/{id}"), &json!({ "model": "own/m" })).await.is(200);
    let body = json!({ "prompt": "and again" });
    let path = format!("/api/sessions/{id}/prompt");
    let frames = server.stream("POST", &path, "", &body).await.until("done").await;
    let stopped = frames.iter().find(|frame| frame.name == "run_stopped");
    assert!(stopped.is_some(), "{frames:?}");
    assert_eq!(provider.requests().len(), 2);
}
