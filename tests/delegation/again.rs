//! The session of a helper without the call that asked for it: opened again, waited for, killed with its parent.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Asked, Home, bash, delegate};
use crate::background_jobs::wire::Client;
use crate::support::processes::{alive, kill, rare_sleep};
use crate::support::program::{Ended, calls_all, run, says_using};
use crate::support::server::{Act, answer};
use crate::time_limit::{InTime, SOON, until};

const FINDER: &str = "---\nname: finder\ndescription: Finds.\ntools: Read, Bash\n---\nFind it.\n";
const TOOLS: &str = "read,bash,edit,write,delegate";

impl Home {
    async fn command(&self, args: &[&str]) -> Ended {
        run(self.program().args(args), None).await
    }

    /// The id of the last helper of this kind.
    fn helper(&self, kind: &str) -> String {
        let sessions = self.sessions().into_iter().map(|(header, _)| header);
        let mut ids: Vec<String> = sessions
            .filter(|header| header["helper"] == kind)
            .map(|header| header["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids.pop().unwrap()
    }
}

#[tokio::test]
async fn a_helper_that_is_opened_again_keeps_its_part() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => {
            let kind = asked.last().split_whitespace().last().unwrap().to_owned();
            calls_all(&[delegate(json!({ "task": "look around", "kind": kind }))], 10)
        }
        _ => says_using("It is blue.", 10),
    })
    .await;
    let kinds = home.config().join("agents");
    crate::support::write(&kinds.join("finder.md"), &FINDER);
    for (begin, kind) in [("-b", "explore"), ("-p", "review"), ("-p", "finder")] {
        let ended = run(&mut home.tau(&[begin, "--tools", TOOLS, &format!("ask {kind}")]), None).await;
        assert_eq!(ended.code, 0, "{}", ended.err);
        if begin == "-b" {
            assert_eq!(home.command(&["wait", ended.out.trim()]).await.code, 0);
        }
        let id = home.helper(kind);
        let before = home.of_helpers().pop().unwrap();
        let again = |asked: Asked, how: &str| {
            assert_eq!(asked.last(), how);
            assert_eq!((asked.tools(), asked.system()), (before.tools(), before.system()), "{kind}: {how}");
        };
        let sent = home.command(&["send", &id, "by send"]).await;
        assert_eq!(sent.code, 0, "{}", sent.err);
        assert_eq!(home.command(&["wait", &id]).await.code, 0);
        again(home.asked().pop().unwrap(), "by send");
        let printed = home.command(&["-p", "--tools", TOOLS, "--session", &id, "by name"]).await;
        assert_eq!(printed.code, 0, "{}", printed.err);
        again(home.asked().pop().unwrap(), "by name");
    }
    // One of a kind that there is no more only reads.
    std::fs::remove_file(kinds.join("finder.md")).unwrap();
    let printed = home.command(&["-p", "--tools", TOOLS, "--session", &home.helper("finder"), "on"]).await;
    assert_eq!(printed.code, 0, "{}", printed.err);
    assert!(printed.err.contains("no kind of helpers is called finder any more"), "{}", printed.err);
    assert_eq!(home.asked().pop().unwrap().tools(), ["read", "grep", "find", "ls"]);
}

#[tokio::test]
async fn a_helper_that_is_opened_again_has_the_turns_of_its_kind() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "look", "kind": "short" }))], 10),
        (true, _) => calls_all(&[("read", json!({ "path": "." }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    let short = "---\nname: short\ndescription: Is short.\nmaxTurns: 2\n---\nBe short.\n";
    crate::support::write(&home.config().join("agents/short.md"), &short);
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    for how in [&["-p"][..], &["-p", "--max-turns", "7"]] {
        let before = home.asked().len();
        let id = home.helper("short");
        let ended = home.command(&[how, &["--session", &id, "more"]].concat()).await;
        assert!(ended.err.contains("stopped after 2 answers"), "{}", ended.err);
        assert_eq!(home.asked().len() - before, 2);
    }
}

#[tokio::test]
async fn whoever_waits_for_a_helper_learns_how_it_ended() {
    let nap = rare_sleep();
    let command = format!("until test -e go; do sleep {nap}; done");
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "wait" }))], 10),
        (true, 0) => bash(&command),
        _ => says_using("done", 10),
    })
    .await;
    for how in ["done", "stopped", "killed"] {
        let mut parent = home.tau(&["-b", "go"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(parent.wait().in_time("the parent").await.unwrap().success());
        let begun = Instant::now();
        let record = loop {
            assert!(begun.elapsed() < SOON, "no helper is at work");
            if let Some(record) = helper_at_work(&home).filter(|_| !alive(&nap).is_empty()) {
                break record;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let id = record["id"].as_str().unwrap();
        let waiting = home.program().args(["wait", id]).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        if how == "stopped" {
            let stopped = home.command(&["stop", id]).await;
            assert_eq!(stopped.code, 0, "{}", stopped.err);
        } else if how == "killed" {
            let pid = i32::try_from(record["pid"].as_i64().unwrap()).unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        } else {
            std::fs::write(home.work().join("go"), "").unwrap();
        }
        kill(&nap).await;
        let ended = tokio::time::timeout(SOON, waiting.wait_with_output()).await.unwrap().unwrap();
        let (code, err) = (ended.status.code(), String::from_utf8_lossy(&ended.stderr));
        match how {
            "done" => assert_eq!((code, &*err), (Some(0), "")),
            "stopped" => {
                let later = home.command(&["wait", id]).await;
                assert_eq!((code, later.code), (Some(130), 130), "{err} {}", later.err);
            }
            _ => {
                let later = home.command(&["wait", id]).await;
                for (code, err) in [(code, &*err), (Some(later.code), &later.err)] {
                    assert_eq!(code, Some(101), "{err}");
                    assert!(err.contains("ended during its run; to continue: tau send"), "{err}");
                }
            }
        }
        let _ = std::fs::remove_file(home.work().join("go"));
    }
}

#[tokio::test]
async fn the_end_of_a_helper_is_known_later() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.task().as_str(), asked.results().len()) {
        (false, _, 0) => {
            let all = ["works", "fails"].map(|task| delegate(json!({ "task": task, "kind": "explore" })));
            calls_all(&all, 10)
        }
        (true, "fails", _) => Act::Send(answer("400 Bad Request", "", b"no such thing")),
        _ => says_using("done", 10),
    })
    .await;
    assert_eq!(home.print(&["go"]).await.code, 0);
    let helpers = home.sessions().into_iter().filter(|(header, _)| header["helper"].is_string());
    let helpers: Vec<_> = helpers.collect();
    assert_eq!(helpers.len(), 2);
    for (header, text) in helpers {
        let ended = home.command(&["wait", header["id"].as_str().unwrap()]).await;
        let expected = match text.contains("fails") {
            true => (1, "the run has failed: "),
            false => (0, ""),
        };
        assert_eq!((ended.code, ended.err.contains(expected.1)), (expected.0, true), "{}", ended.err);
        assert!(expected.0 == 1 || ended.err.is_empty(), "{}", ended.err);
    }
}

#[tokio::test]
async fn the_depth_of_a_helper_that_is_opened_again_is_that_of_its_session() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.last().as_str()) {
        (false, "go") => calls_all(&[delegate(json!({ "task": "outer" }))], 10),
        (true, "outer" | "again") => calls_all(&[delegate(json!({ "task": "inner" }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    assert_eq!(home.print(&["go"]).await.code, 0);
    let before = home.sessions().len();
    assert_eq!(before, 3);
    let (mut outer, mut inner) = (String::new(), String::new());
    for (header, text) in home.sessions().into_iter().filter(|(header, _)| header["helper"].is_string()) {
        let place = if text.contains("\"delegate\"") { &mut outer } else { &mut inner };
        header["id"].as_str().unwrap().clone_into(place);
    }
    let again = async |id: &str| home.command(&["-p", "--tools", TOOLS, "--session", id, "again"]).await;
    let ended = again(&inner).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let last = home.asked().pop().unwrap();
    assert!(!last.tools().contains(&"delegate".to_owned()), "{:?}", last.tools());
    assert!(last.last().starts_with("unknown tool \"delegate\""), "{}", last.last());
    assert_eq!(home.sessions().len(), before, "the helper of a helper has had one");
    // The outer one may have helpers, and those none.
    assert_eq!(again(&outer).await.code, 0);
    assert_eq!(home.sessions().len(), before + 1);
    assert!(
        !home
            .asked()
            .iter()
            .rfind(|asked| asked.task() == "inner")
            .unwrap()
            .tools()
            .contains(&"delegate".to_owned())
    );
}

#[tokio::test]
async fn a_copy_of_a_helpers_session_keeps_its_part() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.last().as_str()) {
        (false, "go") => calls_all(&[delegate(json!({ "task": "look", "kind": "explore" }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    assert_eq!(home.print(&["go"]).await.code, 0);
    let before = home.of_helpers().pop().unwrap();
    let (id, known) = (home.helper("explore"), home.sessions().len());
    let ended = home.command(&["-p", "--tools", TOOLS, "--fork", &id, "more"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(home.sessions().len(), known + 1);
    let last = home.asked().pop().unwrap();
    assert_eq!(last.last(), "more");
    assert_eq!((last.tools(), last.system()), (before.tools(), before.system()));
    // It is a session like others, and its cost is not counted with that of the helper.
    let copy = home.sessions().into_iter().find(|(header, _)| header["helperPart"] == "explore").unwrap().0;
    assert!(copy["helper"].is_null(), "{copy}");
    let listed = home.command(&["sessions", "--json"]).await;
    assert!(listed.out.contains(copy["id"].as_str().unwrap()), "{}", listed.out);
}

/// The dollars of the sessions, as the last one says.
async fn stats(home: &Home, id: &str) -> f64 {
    let mut client = Client::of(home.tau(&["--mode", "rpc", "--session", id]));
    let stats = client.ask(json!({ "id": "1", "type": "get_session_stats" })).await;
    client.child.kill().in_time("the end").await.unwrap();
    stats["data"]["cost"].as_f64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_continues_without_its_parent_counts_in_it() {
    let gates = ["until test -e one; do sleep 0.02; done", "until test -e two; do sleep 0.02; done"];
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "wait" }))], 10),
        (true, count @ 0..2) => bash(gates[count]),
        _ => says_using("done", 10),
    })
    .await;
    let begun = home.command(&["--model", "own/m", "-b", "go"]).await;
    let parent = begun.out.trim().to_owned();
    until(SOON, || home.of_helpers().len() == 1, || "no helper is at work".to_owned());
    let at_work = || helper_at_work(&home).is_some();
    until(SOON, at_work, || "no helper is listed".to_owned());
    let record = helper_at_work(&home).unwrap();
    let pid = i32::try_from(record["pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // It continues by itself, and its parent hears that.
    let id = record["id"].as_str().unwrap().to_owned();
    let sent = home.command(&["send", &id, "carry on"]).await;
    assert_eq!(sent.code, 0, "{}", sent.err);
    until(SOON, || home.of_helpers().len() == 2, || "it does not continue".to_owned());
    let printed = home.print(&["--session", &parent, "and now?"]).await;
    assert_eq!(printed.code, 0, "{}", printed.err);
    let told = home.parent().results().pop().unwrap();
    assert!(told.contains("another process continues it now") && told.contains(&id), "{told}");
    std::fs::write(home.work().join("two"), "").unwrap();
    assert_eq!(home.command(&["wait", &id]).await.code, 0);
    // What it has used since counts, too: each request costs a cent.
    let (asked, cost) = (home.asked().len() as f64 / 100.0, stats(&home, &parent).await);
    assert!((cost - asked).abs() < 1e-6, "{cost} of {asked}");
}

/// The record of a helper at work.
fn helper_at_work(home: &Home) -> Option<Value> {
    let files = std::fs::read_dir(home.config().join("logs/live")).into_iter().flatten().flatten();
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok();
    files.filter_map(|file| read(file.path())).find(|record| record["parent"].is_string())
}
