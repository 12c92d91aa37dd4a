//! Background jobs over RPC: events, queries and commands.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{Home, bash};
use crate::support::processes::{alive, gone, rare_sleep};
use crate::support::program::{own_model, says, stalls, text_of};
use crate::time_limit::{InTime, SOON};

pub(crate) struct Client {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(home: &Home) -> Self {
        Self::start_with(home, &[])
    }

    pub(crate) fn start_with(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.tau(&["--mode", "rpc"]);
        command.args(arguments);
        Self::of(command)
    }

    /// The client of this program.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Client { child, lines }
    }

    pub(crate) async fn send(&mut self, command: Value) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(format!("{command}\n").as_bytes()).in_time("a reader of the input").await.unwrap();
    }

    /// The next record that is wanted.
    pub(crate) async fn record(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.next_line().in_time(what).await.unwrap();
            let record: Value =
                serde_json::from_str(&line.unwrap_or_else(|| panic!("tau ended before {what}"))).unwrap();
            if wanted(&record) {
                return record;
            }
        }
    }

    pub(crate) async fn ask(&mut self, command: Value) -> Value {
        self.send(command.clone()).await;
        self.record("an answer", |record| {
            record["type"] == "response" && record["command"] == command["type"]
        })
        .await
    }
}

#[tokio::test]
async fn a_client_lists_reads_moves_and_stops_jobs() {
    let nap = rare_sleep();
    let home = Home::new(vec![bash(&format!("echo begun; sleep {nap}; true")), says("it runs")]).await;
    let mut client = Client::start(&home);
    let none = client.ask(json!({ "id": "1", "type": "get_jobs" })).await;
    assert_eq!(none["data"], json!({ "jobs": [] }));
    client.send(json!({ "id": "2", "type": "prompt", "message": "go" })).await;
    client.record("output", |record| record["type"] == "tool_execution_update").await;
    let moved = client.ask(json!({ "id": "3", "type": "move_to_background" })).await;
    assert_eq!(moved["success"], true, "{moved}");
    let changed = client.record("the event", |record| record["type"] == "jobs_changed").await;
    let job = &changed["jobs"][0];
    assert_eq!((&job["id"], &job["state"]), (&json!(1), &json!("running")), "{changed}");
    client.record("the end of the run", |record| record["type"] == "agent_settled").await;
    assert!(home.last(1).contains("the user moved it to the background"), "{}", home.last(1));
    let listed = client.ask(json!({ "id": "4", "type": "get_jobs" })).await;
    let job = &listed["data"]["jobs"][0];
    assert_eq!(job["lastLine"], "begun", "{listed}");
    assert_eq!(job["processes"].as_array().unwrap().len(), 2, "{listed}");
    assert!(job["memory"].as_u64().unwrap() > 0, "{listed}");
    let output = client.ask(json!({ "id": "5", "type": "get_job_output", "job": 1 })).await;
    assert_eq!(output["data"]["text"], "begun\n", "{output}");
    for refused in [
        json!({ "type": "get_job_output", "job": 9 }),
        json!({ "type": "stop_job", "job": 9 }),
        json!({ "type": "stop_job", "job": "one" }),
        json!({ "type": "keep_jobs" }),
    ] {
        let answer = client.ask(refused.clone()).await;
        assert_eq!(answer["success"], false, "{refused}: {answer}");
    }
    client.send(json!({ "id": "6", "type": "keep_jobs", "kept": true })).await;
    client
        .record("a kept job", |record| record["type"] == "jobs_changed" && record["jobs"][0]["kept"] == true)
        .await;
    client.send(json!({ "id": "7", "type": "stop_job", "job": 1 })).await;
    let ended = client.record("its end", |record| record["jobs"][0]["state"] == "stopped").await;
    assert_eq!(ended["jobs"][0]["processes"].as_array().unwrap().len(), 2, "what was stopped: {ended}");
    gone(&nap).await;
    drop(client.child.stdin.take());
    assert!(client.child.wait().in_time("its end").await.unwrap().success());
}

#[tokio::test]
async fn jobs_end_with_their_client_and_are_named() {
    let nap = rare_sleep();
    let home = Home::new(vec![super::background(&format!("sleep {nap}")), says("it runs")]).await;
    let mut client = Client::start(&home);
    client.send(json!({ "id": "1", "type": "prompt", "message": "go" })).await;
    client.record("the end of the run", |record| record["type"] == "agent_settled").await;
    assert_eq!(alive(&nap).len(), 1);
    drop(client.child.stdin.take());
    client.record("the event", |record| record["jobs"][0]["state"] == "stopped").await;
    assert!(client.child.wait().in_time("its end").await.unwrap().success());
    let mut told = String::new();
    client.child.stderr.take().unwrap().read_to_string(&mut told).in_time("its complaints").await.unwrap();
    assert!(told.contains(&format!("of job 1: sleep {nap}")), "{told}");
    assert_eq!(alive(&nap), []);
}

/// A tau that a command has started has a session of its own.
#[tokio::test]
async fn the_process_of_a_session_that_a_command_began_is_not_left_over() {
    let nap = rare_sleep();
    let home = Home::new(vec![super::background(&format!("sleep {nap}")), stalls("thinking")]).await;
    let mut client = Client::start(&home);
    let own = own_model(&home.server.url()).join(" ");
    let command = format!("{} -b {own} stay", env!("CARGO_BIN_EXE_tau"));
    let begun = client.ask(json!({ "id": "1", "type": "bash", "command": command })).await;
    assert_eq!(begun["data"]["exitCode"], 0, "{begun}");
    drop(client.child.stdin.take());
    assert!(client.child.wait().in_time("its end").await.unwrap().success());
    let mut told = String::new();
    client.child.stderr.take().unwrap().read_to_string(&mut told).in_time("its complaints").await.unwrap();
    assert!(!told.contains(" continues: "), "{told}");
    let started = Instant::now();
    while alive(&nap).is_empty() {
        assert!(started.elapsed() < SOON, "the job does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let rows = super::left(home.dir.path());
    let job = rows.iter().find(|row| row["command"] == format!("sleep {nap}")).unwrap();
    let host = job["tau"].as_i64().unwrap_or_else(|| panic!("left over: {rows:?}"));
    // There are those of other tests, too.
    assert!(rows.iter().all(|row| row["pid"] != host), "{rows:?}");
    let host = rustix::process::Pid::from_raw(i32::try_from(host).unwrap()).unwrap();
    rustix::process::kill_process(host, rustix::process::Signal::TERM).unwrap();
    gone(&nap).await;
}

/// Whoever continues the session learns of the ends that no model was told of.
#[tokio::test]
async fn the_end_of_a_job_is_kept_for_whoever_continues_its_session() {
    for (leaves_session, ends, outcome) in
        [(false, true, "exit code 0"), (true, true, "exit code 0"), (true, false, "stopped after")]
    {
        let waits = super::background("until test -e released; do sleep 0.05; done; echo the result");
        let home = Home::new(vec![waits, says("it runs"), says("I see")]).await;
        let mut client = Client::start(&home);
        client.send(json!({ "id": "1", "type": "prompt", "message": "go" })).await;
        client.record("the end of the run", |record| record["type"] == "agent_settled").await;
        let state = client.ask(json!({ "id": "2", "type": "get_state" })).await;
        let file = state["data"]["sessionFile"].as_str().unwrap().to_owned();
        if leaves_session {
            assert_eq!(client.ask(json!({ "id": "3", "type": "new_session" })).await["success"], true);
        }
        if ends {
            std::fs::write(home.dir.path().join("work/released"), "").unwrap();
            let is_over =
                |record: &Value| record["type"] == "jobs_changed" && record["jobs"][0]["exitCode"] == 0;
            client.record("the end of the job", is_over).await;
        }
        // A session that was left is continued while tau still runs.
        if !(leaves_session && ends) {
            drop(client.child.stdin.take());
            assert!(client.child.wait().in_time("its end").await.unwrap().success());
        }
        let continued =
            home.tau(&["--session", &file, "-p", "and?"]).output().in_time("its end").await.unwrap();
        assert_eq!(continued.status.code(), Some(0), "{}", String::from_utf8_lossy(&continued.stderr));
        let told: Vec<String> = home.messages(2).iter().map(text_of).collect();
        let news: Vec<&String> =
            told.iter().filter(|text| text.contains("[tau] job 1 has ended: ")).collect();
        assert_eq!(news.len(), 1, "{told:?}");
        assert!(news[0].contains(outcome) && (!ends || news[0].contains("the result")), "{news:?}");
    }
}

/// Nothing recognises a part of a secret.
#[tokio::test]
async fn a_last_line_and_a_name_of_a_process_show_no_part_of_a_secret() {
    let secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let nap = rare_sleep();
    // Where the line is cut for lists, and where the part of the output begins in which it is looked for.
    for (before, after) in [(180, 100), (0, 4 * 1024 - 20)] {
        let (before, after) = (".".repeat(before), ".".repeat(after));
        let command = format!("cat line; sh -c 'sleep {nap}; true' {} $(cut -d' ' -f2 line)", "x".repeat(25));
        let home = Home::new(vec![bash(&command), says("it runs")]).await;
        std::fs::write(home.dir.path().join("work/line"), format!("{before} {secret} {after}\n")).unwrap();
        let mut client = Client::start(&home);
        client.send(json!({ "id": "1", "type": "prompt", "message": "go" })).await;
        client.record("output", |record| record["type"] == "tool_execution_update").await;
        client.ask(json!({ "id": "2", "type": "move_to_background" })).await;
        // The command is a job a moment later.
        let begun = Instant::now();
        let job = loop {
            let listed = client.ask(json!({ "id": "3", "type": "get_jobs" })).await;
            match &listed["data"]["jobs"][0] {
                Value::Null => assert!(begun.elapsed() < crate::time_limit::SOON, "{listed}"),
                job => break job.clone(),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let (line, names) = (job["lastLine"].as_str().unwrap(), job["processes"].to_string());
        let shown = format!("{line} {names}");
        assert!(line.contains("...") && names.contains("sleep"), "{shown}");
        assert!(!["ghp_", "A1b2", "5p6Q7r8"].iter().any(|part| shown.contains(part)), "{shown}");
        drop(client.child.stdin.take());
        assert!(client.child.wait().in_time("its end").await.unwrap().success());
        gone(&nap).await;
    }
}
