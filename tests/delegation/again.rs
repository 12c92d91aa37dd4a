//! The session of a helper without the call that asked for it: opened again, waited for, killed with its parent.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Asked, Home, bash, delegate};
use crate::support::processes::{alive, kill, rare_sleep};
use crate::support::program::{Ended, calls_all, run, says_using};
use crate::time_limit::{InTime, SOON};

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
async fn whoever_waits_for_a_helper_learns_how_it_ended() {
    let nap = rare_sleep(571);
    let command = format!("until test -e go; do sleep {nap}; done");
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "wait" }))], 10),
        (true, 0) => bash(&command),
        _ => says_using("done", 10),
    })
    .await;
    for is_killed in [false, true] {
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
        if is_killed {
            let pid = i32::try_from(record["pid"].as_i64().unwrap()).unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        } else {
            std::fs::write(home.work().join("go"), "").unwrap();
        }
        kill(&nap).await;
        let ended = tokio::time::timeout(SOON, waiting.wait_with_output()).await.unwrap().unwrap();
        let (code, err) = (ended.status.code(), String::from_utf8_lossy(&ended.stderr));
        match is_killed {
            false => assert_eq!((code, &*err), (Some(0), "")),
            true => {
                let later = home.command(&["wait", id]).await;
                for (code, err) in [(code, &*err), (Some(later.code), &later.err)] {
                    assert_eq!(code, Some(101), "{err}");
                    assert!(err.contains("ended before its run; to continue: tau send"), "{err}");
                }
            }
        }
        let _ = std::fs::remove_file(home.work().join("go"));
    }
}

/// The record of a helper at work.
fn helper_at_work(home: &Home) -> Option<Value> {
    let files = std::fs::read_dir(home.config().join("logs/live")).into_iter().flatten().flatten();
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok();
    files.filter_map(|file| read(file.path())).find(|record| record["parent"].is_string())
}
