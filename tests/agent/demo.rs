//! The demo model on the real loop with the real tools.

use std::path::Path;

use tau::agent::catalogue;
use tau::agent::demo::{DemoTransport, FILE, Pace};
use tau::agent::protocol::event::TurnEvent;

use super::*;

fn bench() -> Bench {
    Bench::with(Arc::new(DemoTransport { pace: Pace::NONE }), |config| {
        config.tools = Toolbox::standard();
        config.model = Some(Arc::new(catalogue::demo()));
    })
}

/// Says this to the demo and returns the calls that ran, the last message, and any errors.
async fn say(bench: &mut Bench, text: &str) -> (Vec<String>, String) {
    bench.prompt(text).await;
    let events = bench.settled().await;
    let mut calls = Vec::new();
    let mut last = String::new();
    for event in &events {
        match event {
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_name, args, .. }) => {
                let subject = args.get("path").or(args.get("command")).and_then(Value::as_str);
                calls.push(format!("{tool_name} {}", subject.unwrap_or_default()));
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { is_error: true, result, .. }) => {
                calls.push(format!("failed: {result:?}"));
            }
            AgentEvent::Turn(TurnEvent::TurnEnd { message, .. }) => {
                if let Message::Assistant(answer) = message.as_ref() {
                    last = answer.text();
                }
            }
            _ => {}
        }
    }
    (calls, last)
}

/// The names and contents of the files.
fn files(dir: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn the_tour_uses_every_tool_and_writes_one_file() {
    let mut bench = bench();
    let dir = bench.dir.path().to_owned();
    std::fs::write(dir.join("README.md"), "# a project\n").unwrap();
    let (calls, last) = say(&mut bench, "hello").await;
    let own = format!("write {FILE}");
    assert_eq!(calls, ["bash ls -p", "read README.md", own.as_str(), &format!("edit {FILE}")]);
    assert!(last.contains("That was the tour"), "{last}");
    let [readme, demo] = files(&dir).try_into().unwrap();
    assert_eq!(readme.1, "# a project\n");
    assert!(demo.0 == FILE && demo.1.contains("Edits so far: 1\n- edit 1"), "{demo:?}");
    let (calls, _) = say(&mut bench, "write").await;
    assert_eq!(calls, ["bash ls -p".to_owned(), format!("read {FILE}"), format!("edit {FILE}")]);
    assert!(files(&dir)[1].1.contains("Edits so far: 2"));
}

#[tokio::test]
async fn a_file_of_somebody_else_is_left_alone() {
    let mut bench = bench();
    let dir = bench.dir.path().to_owned();
    std::fs::write(dir.join(FILE), "mine\n").unwrap();
    let (calls, last) = say(&mut bench, "tour").await;
    assert_eq!(calls, ["bash ls -p".to_owned(), format!("read {FILE}")]);
    assert!(last.contains("did not write"), "{last}");
    assert_eq!(files(&dir), [(FILE.to_owned(), "mine\n".to_owned())]);
}

#[tokio::test]
async fn words_lead_to_their_answers() {
    let mut bench = bench();
    let dir = bench.dir.path().to_owned();
    std::fs::write(dir.join("a.txt"), "one\ntwo\n").unwrap();
    let cases: [(&str, &[&str], &str); 9] = [
        ("help", &[], "| word |"),
        ("show me a table", &[], "日本語"),
        ("some code please", &[], "```python"),
        ("read a.txt", &["read a.txt"], "I am a script"),
        ("list", &["bash ls -p"], "I am a script"),
        ("run pwd", &["bash pwd"], "I am a script"),
        ("run rm -rf /", &[], "should not run just anything"),
        ("long", &[], "not written by an AI"),
        ("what is love?", &[], "scripted demo, not an AI"),
    ];
    for (text, calls, said) in cases {
        let (made, last) = say(&mut bench, text).await;
        assert_eq!(made, calls, "{text}");
        assert!(last.contains(said), "{text}: {last}");
    }
    bench.prompt("error").await;
    let events = bench.settled().await;
    assert!(brief(&events).iter().any(|line| line.starts_with("end assistant Error I start")));
    assert_eq!(files(&dir).len(), 1);
}

#[tokio::test]
async fn without_tools_it_says_so() {
    let mut bench = Bench::with(Arc::new(DemoTransport { pace: Pace::NONE }), |config| {
        config.tools = Toolbox::empty();
    });
    let (calls, last) = say(&mut bench, "hello").await;
    assert!(calls.is_empty() && last.contains("`bash` is disabled"), "{last}");
}
