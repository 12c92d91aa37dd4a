//! Helpers, through the program itself: headless, and in a terminal.

mod again;
mod caps;
mod elsewhere;
mod ends;
mod kinds;
mod screen;
mod spending;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::processes::{alive, gone, rare_sleep};
use crate::support::program::{Ended, bare, calls_all, run, says_using, text_of};
use crate::support::server::{Act, Server};
use crate::time_limit::{InTime, SOON};

/// What a model sees of a request.
struct Asked {
    body: Value,
}

impl Asked {
    fn of(request: &str) -> Self {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        Asked { body: serde_json::from_str(body).unwrap() }
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().unwrap()
    }

    fn system(&self) -> String {
        text_of(&self.messages()[0])
    }

    fn is_helper(&self) -> bool {
        self.system().contains("You are a helper")
    }

    /// The first message after the system prompt.
    fn task(&self) -> String {
        text_of(&self.messages()[1])
    }

    fn last(&self) -> String {
        text_of(self.messages().last().unwrap())
    }

    /// The results of calls so far.
    fn results(&self) -> Vec<String> {
        self.messages().iter().filter(|message| message["role"] == "tool").map(text_of).collect()
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn delegate(arguments: Value) -> (&'static str, Value) {
    ("delegate", arguments)
}

fn bash(command: &str) -> Act {
    calls_all(&[("bash", json!({ "command": command }))], 10)
}

/// A home with a model whose price is known, and that acts as `choose` says.
struct Home {
    dir: tempfile::TempDir,
    server: Server,
}

impl Home {
    async fn new(choose: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let server = Server::choosing(move |_, request| choose(&Asked::of(request))).await;
        let home = Home { dir, server };
        std::fs::create_dir(home.config()).unwrap();
        std::fs::write(home.config().join("config.toml"), "[helpers]\nenabled = true\n").unwrap();
        let url = home.server.url();
        let models = format!(
            "[vendors.own]\nbase_url = \"{url}\"\napi = \"openai-completions\"\napi_key = \"x\"\n\
             [[vendors.own.models]]\nid = \"m\"\ncontext_window = 100000\ncost = {{ input = 1000.0, output = 0.0 }}\n\
             [[vendors.own.models]]\nid = \"small\"\ncost = {{ input = 1.0, output = 0.0 }}\n"
        );
        std::fs::write(home.config().join("models.toml"), models).unwrap();
        home
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// tau without arguments.
    fn program(&self) -> Command {
        let mut command = bare(self.dir.path());
        command.env("TAU_HOME", self.config());
        command.env("TAU_PERMISSION_MODE", "auto").current_dir(self.work());
        command
    }

    fn tau(&self, arguments: &[&str]) -> Command {
        let mut command = self.program();
        command.args(["--model", "own/m"]).args(arguments);
        command
    }

    async fn print(&self, arguments: &[&str]) -> Ended {
        run(&mut self.tau(&[&["-p"], arguments].concat()), None).await
    }

    fn asked(&self) -> Vec<Asked> {
        self.server.requests().iter().map(|request| Asked::of(request)).collect()
    }

    /// The requests of helpers.
    fn of_helpers(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(Asked::is_helper).collect()
    }

    /// The last request that is not of a helper.
    fn parent(&self) -> Asked {
        self.asked().into_iter().rfind(|asked| !asked.is_helper()).unwrap()
    }

    /// The session files: headers and all lines.
    fn sessions(&self) -> Vec<(Value, String)> {
        let mut found = Vec::new();
        collect(&self.config(), &mut found);
        found
    }
}

fn collect(folder: &Path, found: &mut Vec<(Value, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            let text = std::fs::read_to_string(path).unwrap();
            let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            if header["type"] == "session" {
                found.push((header, text));
            }
        }
    }
}

#[tokio::test]
async fn two_helpers_work_side_by_side_and_their_answers_are_the_results() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(
            &[
                delegate(json!({ "task": "find the lamp", "kind": "explore" })),
                delegate(json!({ "task": "light it" })),
                delegate(json!({ "task": "see it" })),
            ],
            100,
        ),
        (false, _) => says_using("all done", 100),
        // Each waits until the other one has begun.
        (true, 0) if asked.task() == "light it" => {
            bash("touch lit; for n in $(seq 200); do [ -e seen ] && exit; sleep 0.1; done; exit 7")
        }
        (true, 0) if asked.task() == "see it" => {
            bash("touch seen; for n in $(seq 200); do [ -e lit ] && exit; sleep 0.1; done; exit 7")
        }
        (true, 0) => calls_all(&[("ls", json!({ "path": "." }))], 10),
        (true, _) if asked.task() == "find the lamp" => says_using("the lamp is in src/lamp.rs:3", 20),
        (true, _) => says_using(&format!("lit: {}", asked.last()), 20),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "all done\n"), "{}", ended.err);
    let results = home.parent().results();
    assert!(
        results[0].starts_with("the lamp is in src/lamp.rs:3\n\n[explore 1: 1 call, 30 tokens, "),
        "{results:?}"
    );
    for (result, name) in [(&results[1], "work 2"), (&results[2], "work 3")] {
        assert!(!result.contains("exit code 7"), "one after the other: {result}");
        assert!(result.contains(&format!("\n\n[{name}: 1 call, 30 tokens, $0.0300, session ")), "{result}");
    }
    let of = |task: &str| home.of_helpers().into_iter().find(|asked| asked.task() == task).unwrap();
    let (explore, work) = (of("find the lamp"), of("light it"));
    assert_eq!(explore.tools(), ["read", "grep", "find", "ls"]);
    assert!(explore.system().contains("Your tools: read, grep, find, ls.\n"), "{}", explore.system());
    assert!(explore.system().contains("You cannot change anything."));
    assert!(work.tools().contains(&"bash".to_owned()) && work.tools().contains(&"delegate".to_owned()));
    // Each has a session of its own, under that of its parent.
    let sessions = home.sessions();
    assert_eq!(sessions.len(), 4);
    let own = sessions.iter().find(|(header, _)| header["helper"].is_null()).unwrap();
    let helpers: Vec<&(Value, String)> =
        sessions.iter().filter(|(header, _)| header["helper"].is_string()).collect();
    for (header, _) in &helpers {
        let parent = header["parentSession"].as_str().unwrap();
        assert!(parent.contains(own.0["id"].as_str().unwrap()), "{header}");
    }
    let lit = helpers
        .iter()
        .find(|(header, text)| header["helper"] == "work" && text.contains("light it"))
        .unwrap();
    assert!(results[1].contains(lit.0["id"].as_str().unwrap()), "{results:?}");
    // The latest session is the user's, whichever file was written last.
    let ended = home.print(&["-c", "more"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let continued = home.parent();
    assert!(
        continued.messages().iter().any(|message| text_of(message) == "go"),
        "another session was continued"
    );
}

#[tokio::test]
async fn what_helpers_use_counts_in_the_limits_of_the_run() {
    // The helper of a helper, too; each answer costs 1 cent for 10 tokens.
    let choose = |asked: &Asked| match (asked.is_helper(), asked.task().as_str(), asked.results().len()) {
        (false, _, 0) => calls_all(&[delegate(json!({ "task": "outer" }))], 10),
        (true, "outer", 0) => calls_all(&[delegate(json!({ "task": "inner" }))], 10),
        (true, "inner", n) if n < 3 => calls_all(&[("bash", json!({ "command": "true" }))], 100),
        _ => says_using("done", 10),
    };
    let home = Home::new(choose).await;
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    // 10 + 10 + 3 · 100 + 10 + 10 + 10
    let result = home.parent().results()[0].clone();
    assert!(result.contains("[work 1: 1 call, 330 tokens, $0.3300, session "), "{result}");
    for limit in [["--max-tokens", "150"], ["--max-cost", "0.15"]] {
        let home = Home::new(choose).await;
        let ended = home.print(&[limit[0], limit[1], "go"]).await;
        assert_eq!(ended.code, 5, "{limit:?}: {}", ended.err);
        // 10 + 10 + 100 + 100: nobody asks once the limit is reached.
        assert_eq!(home.asked().len(), 4, "{limit:?}");
    }
    // A limit of one helper ends only that one.
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x", "tokens": 150 }))], 10),
        (true, n) if n < 5 => calls_all(&[("bash", json!({ "command": "true" }))], 100),
        _ => says_using("done", 10),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "done\n"), "{}", ended.err);
    let result = home.parent().results()[0].clone();
    let why = "has not finished: stopped: this helper has reached its token limit (200 tokens so far)";
    assert!(result.contains(why), "{result}");
    assert_eq!(home.of_helpers().len(), 2);
}

#[tokio::test]
async fn depth_number_and_kinds_are_limited() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.task().as_str(), asked.results().len()) {
        (false, _, 0) => calls_all(
            &[
                delegate(json!({ "task": "outer" })),
                delegate(json!({ "task": "x", "kind": "sing" })),
                delegate(json!({ "task": " " })),
            ],
            10,
        ),
        (true, "outer", 0) => calls_all(&[delegate(json!({ "task": "inner" }))], 10),
        (true, "inner", 0) => calls_all(&[delegate(json!({ "task": "innermost" }))], 10),
        (true, "inner", _) => says_using(&asked.last(), 10),
        _ => says_using("done", 10),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let results = home.parent().results();
    assert_eq!(results[1], "delegate: no kind \"sing\"; the kinds are explore, work, review");
    assert_eq!(results[2], "delegate: `task` is empty");
    let inner = home.of_helpers().into_iter().rfind(|asked| asked.task() == "inner").unwrap();
    assert!(!inner.tools().contains(&"delegate".to_owned()));
    assert!(inner.last().starts_with("unknown tool \"delegate\""), "{}", inner.last());
    // The number of helpers of a run, and how many work at once.
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => {
            let all: Vec<(&str, Value)> =
                (0..4).map(|n| delegate(json!({ "task": format!("task {n}") }))).collect();
            calls_all(&all, 10)
        }
        (true, 0) => bash("mkdir busy || exit 9; sleep 0.3; rmdir busy"),
        (true, _) => says_using(&asked.last(), 10),
        _ => says_using("done", 10),
    })
    .await;
    std::fs::write(home.config().join("config.toml"), "[helpers]\nenabled = true\nat_once = 1\ntotal = 3\n")
        .unwrap();
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let results = home.parent().results();
    assert!(results.iter().all(|result| !result.contains("exit code 9")), "two at once: {results:?}");
    let refused = "delegate: this run has had 3 helpers, the limit; do the rest yourself";
    assert_eq!(results.iter().filter(|result| *result == refused).count(), 1, "{results:?}");
    assert_eq!(results.iter().filter(|result| result.contains("[work ")).count(), 3, "{results:?}");
}

#[tokio::test]
async fn an_abort_ends_the_whole_tree() {
    let nap = rare_sleep();
    let command = format!("sleep {nap}; true");
    let home = Home::new(move |asked| match (asked.is_helper(), asked.task().as_str()) {
        (false, _) => {
            calls_all(&[delegate(json!({ "task": "outer" })), delegate(json!({ "task": "inner" }))], 10)
        }
        (true, "outer") => calls_all(&[delegate(json!({ "task": "inner" }))], 10),
        _ => bash(&command),
    })
    .await;
    let mut command = home.tau(&["-p", "go"]);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while alive(&nap).len() < 4 {
        assert!(begun.elapsed() < SOON, "{:?}", alive(&nap));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().in_time("the end").await.unwrap();
    assert_eq!(ended.status.code(), Some(130));
    gone(&nap).await;
    // Five answers: two by the parent's helper, and one by each other agent.
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(err.contains("stopped process ") && err.contains("this session has cost $0.0"), "{err}");
    // What it did is in the sessions of all four.
    assert_eq!(home.sessions().len(), 4);
}

/// The user's rules hold for helpers, and where nobody can be asked, they ask nobody.
#[tokio::test]
async fn a_helper_has_the_rights_of_its_parent() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x" }))], 10),
        (true, 0) => calls_all(
            &[
                ("bash", json!({ "command": "touch denied" })),
                ("write", json!({ "path": "free", "content": "x" })),
                ("ask_user", json!({ "questions": [{ "question": "really?" }] })),
            ],
            10,
        ),
        (true, _) => says_using(&asked.results().join("\n"), 10),
        _ => says_using("done", 10),
    })
    .await;
    let rules = "[helpers]\nenabled = true\n[permissions]\ndeny = [\"bash(touch *)\"]\n";
    std::fs::write(home.config().join("config.toml"), rules).unwrap();
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let result = home.parent().results()[0].clone();
    assert!(result.contains("denied, the call was not run"), "{result}");
    assert!(result.contains("no user is present"), "{result}");
    assert!(!home.work().join("denied").exists() && home.work().join("free").exists());
    // In plan mode it changes nothing.
    std::fs::remove_file(home.work().join("free")).unwrap();
    let ended = home.print(&["--permission-mode", "plan", "go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!home.work().join("free").exists());
    // A task is text, also if it looks like a command of the user.
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "/harm now", "kind": "explore" }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    let prompts = home.config().join("prompts");
    crate::support::write(&prompts.join("harm.md"), "expanded: !`touch harmed`\n");
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(home.of_helpers()[0].task(), "/harm now");
    assert!(!home.work().join("harmed").exists());
}

/// A helper that inherits sends what its parent sent, so that the provider's cache holds.
#[tokio::test]
async fn a_helper_can_begin_with_the_conversation() {
    let home = Home::new(|asked| {
        let inherits = asked.messages().iter().any(|message| text_of(message).contains("You are a helper"));
        match (inherits, asked.results().len()) {
            (false, 0) => calls_all(&[("bash", json!({ "command": "echo first result" }))], 10),
            (false, 1) => calls_all(
                &[delegate(json!({ "task": "count them", "kind": "explore", "inherit": true }))],
                10,
            ),
            (true, 1) => calls_all(&[("write", json!({ "path": "made", "content": "x" }))], 10),
            (true, _) => says_using(&asked.last(), 10),
            _ => says_using("done", 10),
        }
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let asked = home.asked();
    let (parent, helper) = (&asked[1], &asked[2]);
    assert_eq!(helper.body["tools"], parent.body["tools"]);
    let shared = parent.messages().len();
    assert_eq!(helper.messages()[..shared], parent.messages()[..]);
    assert_eq!(helper.messages().len(), shared + 1);
    assert!(helper.last().ends_with("\n\ncount them"), "{}", helper.last());
    // Its kind still decides what it may do.
    assert!(
        asked[3].last().starts_with("this helper may not call write; it may call "),
        "{}",
        asked[3].last()
    );
    assert!(!home.work().join("made").exists());
    // The copies were paid for once.
    let result = home.parent().results()[1].clone();
    assert!(result.contains("[explore 1: 1 call, 20 tokens, $0.0200, "), "{result}");
}

#[tokio::test]
async fn an_exploring_helper_has_the_model_that_is_set_for_it() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x", "kind": "explore" }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    let set = |model: &str| format!("[helpers]\nenabled = true\nexplore_model = \"{model}\"\n");
    std::fs::write(home.config().join("config.toml"), set("own/small")).unwrap();
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(home.of_helpers()[0].body["model"], "small");
    assert_eq!(home.parent().body["model"], "m");
    std::fs::write(home.config().join("config.toml"), set("own/gone")).unwrap();
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let result = home.parent().results()[0].clone();
    assert!(result.starts_with("delegate: the model of the kind explore: no model matches"), "{result}");
}

/// Without the setting the tool is not there, and named tools are all there are.
#[tokio::test]
async fn the_tool_is_off_unless_it_is_asked_for() {
    let home = Home::new(|_| says_using("done", 10)).await;
    let offers = |home: &Home| home.parent().tools().contains(&"delegate".to_owned());
    assert_eq!(home.print(&["go"]).await.code, 0);
    assert!(offers(&home));
    assert_eq!(home.print(&["--tools", "read", "go"]).await.code, 0);
    assert!(!offers(&home));
    std::fs::write(home.config().join("config.toml"), "").unwrap();
    assert_eq!(home.print(&["go"]).await.code, 0);
    assert!(!offers(&home));
    assert_eq!(home.print(&["--tools", "read,delegate", "go"]).await.code, 0);
    assert!(offers(&home));
}

#[tokio::test]
async fn the_answer_of_a_helper_that_had_finished_survives_a_kill() {
    let nap = rare_sleep();
    let command = format!("sleep {nap}");
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(
            &[delegate(json!({ "task": "be quick" })), delegate(json!({ "task": "take your time" }))],
            10,
        ),
        (true, 0) if asked.task() == "take your time" => bash(&command),
        (true, _) => says_using("it is blue", 10),
        (false, _) => says_using("well", 10),
    })
    .await;
    let mut child = home.tau(&["-p", "go"]).spawn().unwrap();
    let begun = Instant::now();
    while alive(&nap).is_empty() || !home.sessions().iter().any(|(_, text)| text.contains("it is blue")) {
        assert!(begun.elapsed() < SOON, "they do not begin");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    child.kill().await.unwrap();
    crate::support::processes::kill(&nap).await;
    let ended = home.print(&["-c", "continue"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let results = home.parent().results();
    assert_eq!(results[0], "it is blue");
    assert!(results[1].contains("tau ended before the helper had"), "{results:?}");
}
