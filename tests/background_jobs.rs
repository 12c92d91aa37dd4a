//! Background jobs, through the program itself: headless, in a terminal, and over RPC.

pub(crate) mod screen;
mod sessions;
mod stopped;
pub(crate) mod wire;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::processes::{alive, gone, kill, rare_sleep};
use crate::support::program::{bare, calls, calls_all, own_model, says, text_of};
use crate::support::server::{Act, Server};
use crate::time_limit::{InTime, RunInTime, SOON};

/// A home with a server whose model acts as told.
pub(crate) struct Home {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Server,
}

impl Home {
    pub(crate) async fn new(acts: Vec<Act>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        Home { dir, server: Server::start(acts).await }
    }

    pub(crate) fn tau(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.dir.path());
        command.args(own_model(&self.server.url())).args(arguments);
        command.env("TAU_PERMISSION_MODE", "auto").current_dir(self.dir.path().join("work"));
        command
    }

    /// Runs a prompt; returns the exit code, what was printed, and the complaints.
    async fn print(&self, prompt: &str) -> (Option<i32>, String, String) {
        let output = self.tau(&["-p", prompt]).output().in_time("the end of the program").await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// The messages of a request.
    pub(crate) fn messages(&self, request: usize) -> Vec<Value> {
        let requests = self.server.requests();
        let body: Value = serde_json::from_str(requests[request].split_once("\r\n\r\n").unwrap().1).unwrap();
        body["messages"].as_array().unwrap().clone()
    }

    /// The text of the last message of a request.
    pub(crate) fn last(&self, request: usize) -> String {
        text_of(self.messages(request).last().unwrap())
    }
}

pub(crate) fn bash(command: &str) -> Act {
    calls("bash", &json!({ "command": command }))
}

fn background(command: &str) -> Act {
    calls("bash", &json!({ "command": command, "background": true }))
}

fn jobs(arguments: Value) -> Act {
    calls("jobs", &arguments)
}

/// The file that a result names.
fn file_in(text: &str) -> PathBuf {
    let path = text.split("its output goes to ").nth(1).unwrap_or_else(|| panic!("no file in {text}"));
    PathBuf::from(path.split_whitespace().next().unwrap())
}

/// The processes of `tau jobs --json`.
fn left(home: &Path) -> Vec<Value> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(["jobs", "--json"]).env_clear().env("HOME", home);
    serde_json::from_slice(&command.output_in_time().stdout).unwrap()
}

#[tokio::test]
async fn the_end_names_the_processes_that_it_stops_and_those_that_continue() {
    let nap = rare_sleep();
    let leaving = bash(&format!("sleep {nap} >/dev/null 2>&1 & echo left"));
    let home = Home::new(vec![leaving, says("done")]).await;
    let (code, _, err) = home.print("go").await;
    assert_eq!(code, Some(0), "{err}");
    let pid =
        left(home.dir.path()).iter().find(|row| row["command"] == format!("sleep {nap}")).unwrap()["pid"]
            .clone();
    let line = format!("tau: process {pid} continues: sleep {nap}; `tau jobs --stop {pid}` ends it\n");
    assert!(err.contains(&line), "{err}");
    kill(&nap).await;
    // A command that is waited for.
    let nap = rare_sleep();
    let home = Home::new(vec![bash(&format!("sleep {nap}")), says("done")]).await;
    let program = home.tau(&["-p", "go"]).spawn().unwrap();
    let begun = Instant::now();
    while alive(&nap).is_empty() {
        assert!(begun.elapsed() < SOON, "the command does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(program.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = program.wait_with_output().in_time("the end").await.unwrap();
    let err = String::from_utf8_lossy(&ended.stderr);
    let named = err.lines().any(|line| line.starts_with("tau: stopped process ") && line.ends_with(&nap));
    assert!(named, "{err}");
}

/// The calls of an agent that does not end in time if its session ends with a slow hook: a job, and a command that ends
/// only when it is killed.
pub(crate) fn stubborn(job: &str, command: &str) -> Vec<Act> {
    let waits = bash(&format!("trap '' TERM; sleep {command}"));
    vec![background(&format!("sleep {job}")), waits, says("done")]
}

#[tokio::test]
async fn an_agent_that_does_not_end_in_time_leaves_nothing() {
    let (job, command) = (rare_sleep(), rare_sleep());
    let home = Home::new(stubborn(&job, &command)).await;
    let config = home.dir.path().join(".config/tau");
    std::fs::create_dir_all(&config).unwrap();
    let hook = "[[hooks.SessionEnd]]\ncommand = \"sleep 30\"\n";
    std::fs::write(config.join("config.toml"), hook).unwrap();
    let program = home.tau(&["-p", "go"]).spawn().unwrap();
    let begun = Instant::now();
    while alive(&job).is_empty() || alive(&command).is_empty() {
        assert!(begun.elapsed() < SOON, "the commands do not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(program.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = program.wait_with_output().in_time("the end").await.unwrap();
    assert_eq!((alive(&job), alive(&command)), (Vec::new(), Vec::new()));
    let err = String::from_utf8_lossy(&ended.stderr);
    for nap in [job, command] {
        let named = err
            .lines()
            .any(|line| line.starts_with("tau: stopped process ") && line.ends_with(&format!("sleep {nap}")));
        assert!(named, "{nap}: {err}");
    }
    assert!(!err.contains(" continues: "), "{err}");
}

/// Whatever a process drops, it is named, also after a crash of tau.
#[tokio::test]
async fn a_process_without_environment_and_session_is_named_and_stopped() {
    let nap = rare_sleep();
    let leaving = bash(&format!("env -i setsid sleep {nap} >/dev/null 2>&1 & echo left"));
    let home = Home::new(vec![leaving.clone(), says("done")]).await;
    let (code, _, err) = home.print("go").await;
    assert_eq!(code, Some(0), "{err}");
    stop_named(&home, &nap, &err).await;
    let home = Home::new(vec![leaving, crate::support::program::stalls("thinking")]).await;
    let mut child = home.tau(&["-p", "go"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while alive(&nap).is_empty() || home.server.requests().len() < 2 {
        assert!(begun.elapsed() < SOON, "the command does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    child.kill().await.unwrap();
    let pid = alive(&nap)[0].0;
    stop_named(&home, &nap, &format!("process {pid} continues")).await;
}

/// Stops the process with `tau jobs`, which names its session, as `report` names the process.
async fn stop_named(home: &Home, nap: &str, report: &str) {
    let rows = left(home.dir.path());
    let row = rows.iter().find(|row| row["command"] == format!("sleep {nap}"));
    let row = row.unwrap_or_else(|| panic!("not named: {rows:?}"));
    assert_eq!(row["session"].as_str().map(str::len), Some(36), "{row}");
    let pid = row["pid"].as_i64().unwrap();
    assert!(report.contains(&format!("process {pid} continues")), "{report}");
    let mut stop = std::process::Command::new(env!("CARGO_BIN_EXE_tau"));
    stop.args(["jobs", "--stop", &pid.to_string()]).env_clear().env("HOME", home.dir.path());
    assert!(stop.status_in_time().success());
    gone(nap).await;
}

#[tokio::test]
async fn calls_of_one_answer_start_no_more_jobs_than_may_run() {
    let nap = rare_sleep();
    let call = json!({ "command": format!("exec sleep {nap}"), "background": true });
    let all: Vec<(&str, Value)> = (0..34).map(|_| ("bash", call.clone())).collect();
    let home = Home::new(vec![calls_all(&all, 1), says("done")]).await;
    let (code, _, err) = home.print("go").await;
    assert_eq!(code, Some(0), "{err}");
    let results = home.messages(1);
    let with = |part: &str| results.iter().filter(|result| text_of(result).contains(part)).count();
    assert_eq!(with("running in the background as job "), 32);
    assert_eq!(with("32 jobs are running, which is the most; stop one first"), 2);
    gone(&nap).await;
}

#[tokio::test]
async fn a_background_command_is_looked_at_waited_for_and_stopped_with_the_session() {
    let nap = rare_sleep();
    let home = Home::new(vec![
        background(&format!("echo first; sleep 0.6; echo server is ready; sleep {nap}")),
        jobs(json!({ "job": 1, "wait": 20, "until": "server is re.dy$" })),
        jobs(json!({ "job": 1 })),
        jobs(json!({})),
        jobs(json!({ "job": "7" })),
        jobs(json!({ "job": 1, "wait": 1 })),
        jobs(json!({ "stop": true })),
        says("done"),
    ])
    .await;
    let begun = Instant::now();
    let (code, out, err) = home.print("go").await;
    assert_eq!((code, out.as_str()), (Some(0), "done\n"), "{err}");
    assert!(begun.elapsed() < SOON, "the command was waited for");
    let started = home.last(1);
    assert!(
        started.starts_with("first\nrunning in the background as job 1; its output goes to "),
        "{started}"
    );
    let waited = home.last(2);
    assert!(waited.starts_with("server is ready\njob 1: running for "), "{waited}");
    assert!(home.last(3).starts_with("(no new output)\njob 1: running for "), "{}", home.last(3));
    let list = home.last(4);
    assert!(list.starts_with("job 1: echo first; sleep 0.6;") && list.contains(": running for "), "{list}");
    assert_eq!(home.last(5), "jobs: no job 7; there is 1 job: 1");
    let limited = home.last(6);
    assert!(limited.ends_with("\nthe wait ended after 1 s"), "{limited}");
    assert_eq!(home.last(7), "jobs: name a `job`");
    // The whole output is in a file, and the end names what it stopped.
    assert_eq!(std::fs::read_to_string(file_in(&started)).unwrap(), "first\nserver is ready\n");
    let stopped = err.lines().filter(|line| line.starts_with("tau: stopped process ")).count();
    assert!(stopped >= 1 && err.contains(&format!(" of job 1: sleep {nap}")), "{err}");
    gone(&nap).await;
}

#[tokio::test]
async fn the_model_is_told_once_when_a_job_has_ended() {
    let home = Home::new(vec![
        background("sleep 0.8; echo it broke; exit 3"),
        bash("sleep 1.6"),
        bash("true"),
        says("done"),
    ])
    .await;
    let (code, _, err) = home.print("go").await;
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let told = |request: usize| {
        let texts: Vec<String> = home.messages(request).iter().map(text_of).collect();
        texts.into_iter().filter(|text| text.contains("[tau] job 1 has ended")).collect::<Vec<_>>()
    };
    assert_eq!(told(1), [""; 0]);
    let news = told(2);
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(news[0].starts_with("[tau] job 1 has ended: exit code 3 ("), "{news:?}");
    assert!(
        news[0].ends_with("\ncommand: sleep 0.8; echo it broke; exit 3\nits new output:\nit broke"),
        "{news:?}"
    );
    assert_eq!(told(3), news, "once, at the same place");
}

/// An answer that would end the run is not the end if a job has ended during it; a job that ends later starts
/// nothing.
#[tokio::test]
async fn a_job_that_ends_before_the_run_does_is_told_in_it() {
    let (first, rest) = (
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"waiting\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    let release = std::sync::Arc::new(tokio::sync::Notify::new());
    let held = Act::Hold(first.into(), std::sync::Arc::clone(&release), rest.into());
    let nap = rare_sleep();
    let home = Home::new(vec![
        background("sleep 0.7; echo over"),
        held,
        background(&format!("sleep {nap}")),
        says("end"),
    ])
    .await;
    let later = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        release.notify_one();
    };
    let ((code, out, err), ()) = tokio::join!(home.print("go"), later);
    assert_eq!((code, out.as_str()), (Some(0), "end\n"), "{err}");
    assert!(home.last(2).contains("job 1 has ended: exit code 0"), "{}", home.last(2));
    assert_eq!(home.server.requests().len(), 4, "the running job holds no run");
    gone(&nap).await;
}

#[tokio::test]
async fn a_command_continues_after_its_time_limit() {
    let home = Home::new(vec![
        calls("bash", &json!({ "command": "echo a; sleep 2; echo b", "timeout": 1 })),
        jobs(json!({ "job": 1, "wait": 20 })),
        jobs(json!({ "job": 1, "stop": true })),
        says("done"),
    ])
    .await;
    let (code, _, err) = home.print("go").await;
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let moved = home.last(1);
    assert!(
        moved.starts_with("a\nstill running after 1 s, so it continues in the background as job 1; "),
        "{moved}"
    );
    let ended = home.last(2);
    assert!(ended.starts_with("b\njob 1: exit code 0 ("), "{ended}");
    assert!(home.last(3).ends_with("\nit had already ended"), "{}", home.last(3));
    // Without the tool there is nothing to look at it with, so the command is killed.
    let nap = rare_sleep();
    let home = Home::new(vec![
        calls("bash", &json!({ "command": format!("sleep {nap}"), "timeout": 1 })),
        background("true"),
        says("done"),
    ])
    .await;
    let output = home.tau(&["--tools", "bash", "-p", "go"]).output().in_time("its end").await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(home.last(1).contains("timed out after 1 s and was killed"), "{}", home.last(1));
    assert!(home.last(2).contains("`background` is not possible here"), "{}", home.last(2));
    assert_eq!(alive(&nap), []);
}

/// A command that is over at once is no job, and output is bounded in the result but whole in the file.
#[tokio::test]
async fn short_commands_end_and_large_output_is_kept_in_a_file() {
    let home = Home::new(vec![
        background("echo quick; exit 4"),
        background("seq 1 400000; echo end of it; sleep 30"),
        jobs(json!({ "job": 1, "wait": 20, "until": "end of it" })),
        jobs(json!({ "job": 1, "stop": true })),
        jobs(json!({})),
        says("done"),
    ])
    .await;
    let (code, _, err) = home.print("go").await;
    assert_eq!((code, err.as_str()), (Some(0), ""), "a job that the model stopped is not named at the end");
    assert!(home.last(1).starts_with("quick\nexit code 4 ("), "{}", home.last(1));
    let all = [2, 3, 4].map(|request| home.last(request));
    assert!(all.iter().all(|text| text.len() < 64 * 1024), "{:?}", all.each_ref().map(String::len));
    assert!(all.concat().contains("omitted here"), "something is left out");
    let file = file_in(&all[0]);
    let written = std::fs::read_to_string(&file).unwrap();
    let expected: String = (1..=400_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(written, expected + "end of it\n");
    assert!(all[2].contains("job 1: stopped after "), "{}", all[2]);
    assert!(home.last(5).ends_with(" s") && home.last(5).contains(": stopped after "), "{}", home.last(5));
}

/// A session that is continued does not count on jobs that were stopped.
#[tokio::test]
async fn the_next_run_knows_that_its_jobs_are_gone() {
    let nap = rare_sleep();
    let home = Home::new(vec![
        background(&format!("sleep {nap}")),
        says("it runs"),
        jobs(json!({ "job": 1 })),
        says("oh"),
    ])
    .await;
    let (code, _, err) = home.print("go").await;
    assert_eq!(code, Some(0), "{err}");
    gone(&nap).await;
    let output = home.tau(&["-c", "-p", "and now?"]).output().in_time("its end").await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    let texts: Vec<String> = home.messages(2).iter().map(text_of).collect();
    assert!(texts.iter().any(|text| text.contains("[tau] job 1 has ended: stopped after")), "{texts:?}");
    assert_eq!(home.last(3), "jobs: no job 1; this session has no jobs");
}

/// Neither the command in lists nor the output shows a secret.
#[tokio::test]
async fn secrets_are_masked_as_in_any_call() {
    let secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let home = Home::new(vec![
        background("sleep 0.5; cat token.txt; sleep 30"),
        jobs(json!({ "job": 1, "wait": 20, "until": "after" })),
        background("cat token.txt; exit 1"),
        says("done"),
    ])
    .await;
    std::fs::write(home.dir.path().join("work/token.txt"), format!("{secret}\nafter\n")).unwrap();
    let (code, _, err) = home.print("go").await;
    assert_eq!(code, Some(0), "{err}");
    assert!(home.last(2).contains("[secret "), "{}", home.last(2));
    assert!(!home.server.requests().concat().contains(secret));
    assert!(!err.contains(secret));
}

/// Nothing recognises a part of a secret, so a line that continues is shown whole.
#[tokio::test]
async fn a_line_that_continues_is_shown_again() {
    let wait = "until test -e go$n; do sleep 0.05; done";
    let home = Home::new(vec![
        background(&format!("for n in 1 2 3 4; do {wait}; cat $n.txt; done")),
        bash("touch go1"),
        jobs(json!({ "job": 1, "until": "caf" })),
        bash("touch go2"),
        jobs(json!({ "job": 1, "until": "TOKEN" })),
        jobs(json!({ "job": 1 })),
        bash("touch go3"),
        jobs(json!({ "job": 1, "until": "end" })),
        says("done"),
    ])
    .await;
    let parts = [&b"start\ncaf\xc3"[..], b"\xa9 API_TOKEN=zx81-Q7rr-", b"99aB-77cc-Kd83\nend\n"];
    for (n, part) in parts.iter().enumerate() {
        std::fs::write(home.dir.path().join(format!("work/{}.txt", n + 1)), part).unwrap();
    }
    let (code, _, err) = home.print("go").await;
    assert_eq!(code, Some(0), "{err}");
    let requests = home.server.requests().concat();
    let shown = ["Q7rr", "Kd83", "\u{fffd}"].into_iter().find(|part| requests.contains(part));
    assert_eq!(shown, None, "{requests}");
    let looks = [3, 5, 6, 8].map(|request| home.last(request));
    assert!(looks[0].contains("caf\n"), "{}", looks[0]);
    assert!(looks[1].contains("café API_TOKEN=[secret ") && !looks[1].contains("start"), "{}", looks[1]);
    assert!(looks[2].starts_with("(no new output)"), "{}", looks[2]);
    let whole = looks[3].starts_with("café API_TOKEN=[secret ") && looks[3].contains("\nend\n");
    assert!(whole, "{}", looks[3]);
}

/// What a kill of tau leaves is found and stopped.
#[tokio::test]
async fn jobs_of_a_killed_tau_are_listed_and_stopped() {
    let naps = [rare_sleep(), rare_sleep()];
    let command = format!("sleep {} & sleep {}", naps[0], naps[1]);
    let home = Home::new(vec![background(&command), crate::support::program::stalls("thinking")]).await;
    let mut child = home.tau(&["-p", "go"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while alive(&naps[0]).is_empty() || alive(&naps[1]).is_empty() || home.server.requests().len() < 2 {
        assert!(begun.elapsed() < SOON, "the job does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    child.kill().await.unwrap();
    let of_job = |rows: &[Value], nap: &str| {
        let found = rows.iter().find(|row| row["command"].as_str().unwrap() == format!("sleep {nap}"));
        found.map(|row| (row["pid"].as_i64().unwrap(), row["session"].as_str().unwrap().len()))
    };
    let rows = left(home.dir.path());
    let found: Vec<(i64, usize)> = naps.iter().filter_map(|nap| of_job(&rows, nap)).collect();
    assert_eq!(found.len(), 2, "{rows:?}");
    assert!(found.iter().all(|(_, session)| *session == 36), "{rows:?}");
    let mut stop = std::process::Command::new(env!("CARGO_BIN_EXE_tau"));
    let pids = found.iter().map(|(pid, _)| pid.to_string());
    stop.args(["jobs", "--stop"]).args(pids).env_clear().env("HOME", home.dir.path());
    assert!(stop.status_in_time().success());
    for nap in naps {
        gone(&nap).await;
    }
}

/// Kills at random moments: whatever a session had started can be found and ended.
#[tokio::test]
async fn whenever_tau_is_killed_no_process_is_out_of_sight() {
    for round in 0..6_u32 {
        let nap = rare_sleep();
        let acts = vec![
            background(&format!("sleep {nap}")),
            calls("bash", &json!({ "command": format!("sleep {nap}"), "timeout": 1 })),
            says("end"),
        ];
        let home = Home::new(acts).await;
        let mut child = home.tau(&["-p", "go"]).stderr(Stdio::null()).spawn().unwrap();
        let wait = Duration::from_millis(150 + u64::from(round) * 330);
        tokio::select! {
            _ = child.wait() => {}
            () = tokio::time::sleep(wait) => child.kill().await.unwrap(),
        }
        let known: Vec<i64> = left(home.dir.path()).iter().filter_map(|row| row["pid"].as_i64()).collect();
        let unknown: Vec<_> =
            alive(&nap).into_iter().filter(|(pid, _)| !known.contains(&i64::from(*pid))).collect();
        let unknown: Vec<_> = unknown
            .into_iter()
            .filter(|(pid, _)| alive(&nap).iter().any(|(other, _)| other == pid))
            .collect();
        assert_eq!(unknown, [], "round {round}");
        crate::support::processes::kill(&nap).await;
    }
}
