//! Where prompts come from: arguments, files, pipes, lines of JSON.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// What the last user message of each request says.
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
        let mut tau = place.tau(&["--mode", mode, "-o", "last.txt", "@a.txt", "first", "second"]);
        let ended = run(&mut tau, Some("piped\n")).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let asked = asked(&place.server);
        assert_eq!(asked, [json!("piped\n\n\na.txt:\n```\nin the file\n```\n\nfirst"), json!("second")]);
        if mode == "text" {
            assert_eq!((ended.out.as_str(), ended.err.as_str()), ("one\ntwo\n", ""));
        }
        assert_eq!(std::fs::read_to_string(place.dir.path().join("last.txt")).unwrap(), "two\n", "{mode}");
    }
}

#[tokio::test]
async fn pictures_are_sent_as_such() {
    let place = Place::new(vec![says("seen")]).await;
    std::fs::write(place.dir.path().join("p.png"), PNG).unwrap();
    let blind = run(&mut place.tau(&["-p", "@p.png", "what is it?"]), None).await;
    assert!(blind.code == 0 && blind.err.contains("not known to accept them"), "{blind:?}");
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
