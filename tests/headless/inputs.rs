//! Sources of prompts: arguments, files, pipes, lines of JSON.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;
use crate::support::dice::Dice;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// The last user message of each request.
fn asked(server: &Server) -> Vec<Value> {
    let body = |request: &String| -> Value {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let mut users =
            body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        users.next_back().unwrap()["content"].clone()
    };
    server.requests().iter().map(body).collect()
}

#[tokio::test]
async fn prompts_come_from_arguments_pipes_and_files() {
    for mode in ["text", "json"] {
        let place = Place::new(vec![says("one"), says("two")]).await;
        std::fs::write(place.dir.path().join("a.txt"), "in the file\n").unwrap();
        let mut tau = place.tau(&["--mode", mode, "-o", "last.txt", "@a.txt", "the first", "the second"]);
        let ended = run(&mut tau, Some("piped\n")).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let asked = asked(&place.server);
        assert_eq!(
            asked,
            [json!("piped\n\n\na.txt:\n```\nin the file\n```\n\nthe first"), json!("the second")]
        );
        if mode == "text" {
            assert_eq!((ended.out.as_str(), ended.err.as_str()), ("one\ntwo\n", ""));
        }
        assert_eq!(std::fs::read_to_string(place.dir.path().join("last.txt")).unwrap(), "two\n", "{mode}");
    }
}

#[tokio::test]
async fn words_without_quotes_are_one_prompt() {
    for (arguments, expected) in [
        (&["-p", "fix", "the", "bug"][..], &["fix the bug"][..]),
        (&["-p", "fix", "the bug", "now"], &["fix the bug now"]),
        (&["-p", "do this", "then that"], &["do this", "then that"]),
        (&["--", "-p", "is", "a", "flag"], &["-p is a flag"]),
    ] {
        let place = Place::new(vec![says("done"), says("done")]).await;
        let ended = run(&mut place.tau(arguments), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(asked(&place.server), expected.iter().map(|text| json!(text)).collect::<Vec<_>>());
    }
}

/// So that a rule about a file holds for the file that is read.
#[tokio::test]
async fn files_are_those_of_the_working_directory() {
    for flags in [&["-p"][..], &["--json"], &["-b"], &["-n", "1", "--until", "true"]] {
        let place = Place::new(vec![says("read"), says("read")]).await;
        let at = |name: &str| place.dir.path().join(name);
        for (name, text) in [("a/secret.txt", "SECRET"), ("b/secret.txt", "of b")] {
            crate::support::write(&at(name), text);
        }
        let mut tau = place.tau(&[flags, &["-C", "../b", "@secret.txt", "what is this"]].concat());
        tau.current_dir(at("a")).env("TAU_HOME", at("tau"));
        std::fs::create_dir_all(at("tau")).unwrap();
        let ended = run(&mut tau, None).await;
        let is_copied = flags[0] == "-n";
        assert!(ended.code == 0 || is_copied, "{flags:?} {ended:?}");
        let sent = || place.server.requests();
        let end = std::time::Instant::now() + Duration::from_secs(30);
        while !is_copied && sent().is_empty() && std::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(sent().iter().all(|request| !request.contains("SECRET")), "{flags:?}");
        assert!(is_copied || sent()[0].contains("of b"), "{flags:?}");

        let rule = format!("[permissions]\ndeny = [\"read({}/**)\"]\n", at("b").display());
        std::fs::write(at("tau/config.toml"), rule).unwrap();
        let before = sent().len();
        let mut tau = place.tau(&[flags, &["-C", "../b", "@secret.txt", "what is this"]].concat());
        let ended = run(tau.current_dir(at("a")).env("TAU_HOME", at("tau")), None).await;
        assert!(ended.code == 3 && ended.err.contains("cannot attach secret.txt"), "{flags:?} {ended:?}");
        assert_eq!(sent().len(), before, "{flags:?}");
    }
}

#[tokio::test]
async fn pictures_are_sent_as_such() {
    let place = Place::new(vec![says("seen")]).await;
    std::fs::write(place.dir.path().join("p.png"), PNG).unwrap();
    let blind = run(&mut place.tau(&["-p", "@p.png", "what is it?"]), None).await;
    assert!(blind.code == 0 && blind.err.contains("m may not accept images"), "{blind:?}");
    let mut tau = place.own("input = [\"text\", \"image\"]");
    let ended = run(tau.args(["-p", "@p.png", "what is it?"]), None).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    let asked = asked(&place.server).split_off(1);
    let url = asked[0][1]["image_url"]["url"].as_str().unwrap_or_else(|| panic!("{asked:?}"));
    assert!(url.starts_with("data:image/png;base64,"), "{url}");
}

#[tokio::test]
async fn text_alone_may_be_piped() {
    for mode in ["text", "json"] {
        let place = Place::new(vec![says("hello")]).await;
        let ended = run(&mut place.tau(&["--mode", mode]), Some("what?\nand why?\n")).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(asked(&place.server), [json!("what?\nand why?\n")]);
    }
}

#[tokio::test]
async fn an_input_that_stays_open_is_spoken_of() {
    let place = Place::new(vec![says("hello")]).await;
    let mut child = place.tau(&["-p", "hi"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut complaints = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = timeout(Duration::from_secs(30), complaints.next_line()).await.unwrap().unwrap().unwrap();
    assert!(line.contains("standard input"), "{line}");
    drop(child.stdin.take());
    assert_eq!(child.wait_with_output().in_time("the end of the program").await.unwrap().stdout, b"hello\n");
}

#[tokio::test]
async fn lines_of_json_are_worked_in_order() {
    let place = Place::new(vec![says("one"), says("two"), says("three")]).await;
    let lines = "{\"type\":\"message\",\"content\":\"b\"}\n\n{\"type\":\"message\",\"content\":\"c\"}";
    let ended = run(&mut place.tau(&["--json", "a"]), Some(lines)).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(asked(&place.server), [json!("a"), json!("b"), json!("c")]);
}

/// An input line with random damage, or without meaning.
fn nonsense(dice: &mut Dice) -> Vec<u8> {
    const LINES: [&[u8]; 14] = [
        b"{\"type\":\"message\",\"content\":\"hello\"}",
        b"{\"type\":\"message\",\"content\":\"\\u00e9 and more\"}",
        b"{\"type\":\"message\",\"content\":{\"text\":[]}}",
        b"{\"type\":\"message\"}",
        b"{\"type\":[\"message\"],\"content\":\"x\"}",
        b"{\"type\":\"interrupt\"}",
        b"{\"type\":\"approval\",\"id\":7,\"decision\":\"allow\"}",
        b"{\"type\":\"approval\",\"id\":\"x\",\"decision\":{\"allow\":1}}",
        b"{\"type\":\"answer\"}",
        b"[[[[[[[[",
        b"null",
        b"\"\\ud800\"",
        b"\x00\xff\xfe\x1b[2J",
        b"plain words",
    ];
    let mut line = LINES[dice.below(LINES.len())].to_vec();
    for _ in 0..dice.below(5) {
        let at = dice.below(line.len());
        match dice.below(3) {
            0 => line[at] = u8::try_from(dice.below(256)).unwrap(),
            1 => line.truncate(at.max(1)),
            _ => line.insert(at, b"{}[]\",:0"[dice.below(8)]),
        }
    }
    line.retain(|byte| *byte != b'\n');
    line
}

/// The meaning of a line: a prompt, an interrupt, or an error.
fn meaning(line: &[u8]) -> &'static str {
    let read: Option<Value> = serde_json::from_str(&String::from_utf8_lossy(line)).ok();
    match read.as_ref().map(|value| (value["type"].as_str(), &value["content"])) {
        Some((Some("message"), Value::String(_))) => "agent_start",
        Some((Some("interrupt"), _)) => "interrupted",
        _ => "error",
    }
}

#[tokio::test]
async fn a_thousand_malformed_lines_leave_it_alive() {
    let place = Place::new(vec![says("answered")]).await;
    let mut dice = Dice::new(3);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    while lines.iter().filter(|line| meaning(line) == "error").count() < 1_000 {
        let line = nonsense(&mut dice);
        if !line.trim_ascii().is_empty() {
            lines.push(line);
        }
    }
    lines.push([b"{\"type\":\"message\",\"content\":\"".as_slice(), "[".repeat(50_000).as_bytes()].concat());
    lines.push("{\"a\":".repeat(50_000).into_bytes());
    // The first line determines the kind of input, and the last one shows that it still listens.
    let [first, last] = ["the first", "the last"].map(|text| json!({"type": "message", "content": text}));
    lines.insert(0, first.to_string().into_bytes());
    lines.push(last.to_string().into_bytes());
    let mut child = place.tau(&["--json"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let written = [lines.join(&b'\n'), b"\n".to_vec()].concat();
    let writing = tokio::spawn(async move { input.write_all(&written).await });
    let output = child.wait_with_output().in_time("the end of the program").await.unwrap();
    writing.in_time("a reader of the lines").await.unwrap().unwrap();
    let ended = Ended {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert_eq!(ended.code, 0, "{}", ended.err);
    let records = ended.records();
    let end = records.last().unwrap();
    assert_eq!((&end["type"], &end["reason"]), (&json!("end"), &json!("done")));
    // Requests of interrupted prompts may have been cut.
    assert!(place.server.requests().iter().any(|request| request.contains("\"the last\"")));
    for kind in ["agent_start", "interrupted", "error"] {
        let told = records.iter().filter(|record| record["type"] == kind).count();
        assert_eq!(told, lines.iter().filter(|line| meaning(line) == kind).count(), "{kind}");
    }
}

#[tokio::test]
async fn an_interrupt_is_answered_and_the_next_line_is_worked() {
    let place = Place::new(vec![stalls("so far"), says("whole")]).await;
    let mut child = place.tau(&["--json"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    input
        .write_all(b"{\"type\":\"message\",\"content\":\"a\"}\n")
        .in_time("a reader of the input")
        .await
        .unwrap();
    let mut seen: Vec<String> = Vec::new();
    while let Some(line) = timeout(Duration::from_secs(30), lines.next_line()).await.unwrap().unwrap() {
        let record: Value = serde_json::from_str(&line).unwrap();
        let kind = record["type"].as_str().unwrap().to_owned();
        if kind == "message_update" && !seen.contains(&kind) {
            let rest = b"{\"type\":\"interrupt\"}\n{\"type\":\"message\",\"content\":\"b\"}\n";
            input.write_all(rest).in_time("a reader of the input").await.unwrap();
        }
        seen.push(kind);
        if record["type"] == "agent_settled" && record["aborted"] == false {
            input.shutdown().in_time("the input to be closed").await.unwrap();
            drop(input);
            break;
        }
    }
    let at = |kind: &str| seen.iter().position(|seen| seen == kind).unwrap_or_else(|| panic!("{seen:?}"));
    assert_eq!(at("interrupted"), at("agent_settled") + 1, "{seen:?}");
    let rest = lines.next_line().in_time("a line").await.unwrap().unwrap();
    let end: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&end["type"], &end["reason"]), (&json!("end"), &json!("done")));
    assert_eq!(child.wait().in_time("the end of the program").await.unwrap().code(), Some(0));
}
