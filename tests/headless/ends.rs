//! Exit codes: one for each kind of end, the same in print and in json.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;
use crate::screen::Screen;
use crate::support::server::answer;

/// Checks that both front ends end with this code, and that the last record of json agrees.
async fn check(acts: Vec<Act>, arguments: &[&str], code: i32, reason: &str) {
    for mode in ["text", "json"] {
        let place = Place::new(acts.clone()).await;
        let ended = run(&mut place.tau(&[&["--mode", mode], arguments].concat()), None).await;
        assert_eq!(ended.code, code, "{mode} {arguments:?}: {ended:?}");
        if mode == "json" {
            let end = ended.records().pop().unwrap();
            assert_eq!((&end["type"], &end["reason"]), (&json!("end"), &json!(reason)), "{end}");
            assert_eq!(end["exitCode"], json!(code));
            assert_eq!(end["error"].is_string(), code != 0, "{end}");
        } else if code != 0 {
            assert!(ended.err.starts_with("tau: "), "{ended:?}");
        }
    }
}

fn refusal() -> Act {
    let body = br#"{"error":{"message":"the key is wrong"}}"#;
    Act::Send(answer("401 Unauthorized", "content-type: application/json\r\n", body))
}

fn cut_off() -> Act {
    let end = json!({"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": "length"}]});
    Act::Send(stream(&format!("data: {end}\n\ndata: [DONE]\n\n")))
}

/// `--api-key` has the same forms as `api_key` in files: the key, `$VARIABLE`, or `!command`.
#[tokio::test]
async fn the_key_of_the_command_line_may_be_named() {
    let place = Place::new(vec![says("hello")]).await;
    let tau = |key: &str| {
        let mut command = bare(place.dir.path());
        command.args(["--base-url", &place.server.url(), "--model", "m", "--json", "hi", "--api-key", key]);
        command.env("WORK_KEY", "sk-of-the-variable");
        command
    };
    for (written, sent) in [
        ("sk-as-it-is", "sk-as-it-is"),
        ("$WORK_KEY", "sk-of-the-variable"),
        ("!echo sk-of-the-command", "sk-of-the-command"),
    ] {
        let ended = run(&mut tau(written), None).await;
        assert_eq!(ended.code, 0, "{written}: {ended:?}");
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains(&format!("authorization: Bearer {sent}\r\n")), "{written}: {request}");
    }
    let ended = run(&mut tau("$NO_SUCH_VARIABLE"), None).await;
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.err.contains("the environment variable NO_SUCH_VARIABLE is not set"), "{ended:?}");
    assert_eq!(place.server.requests().len(), 3, "no other key is sent in its place");
}

#[tokio::test]
async fn the_code_says_how_it_ended() {
    let ls = || calls("bash", &json!({"command": "true"}));
    let slow = || calls("bash", &json!({"command": "sleep 60"}));
    check(vec![says("hello")], &["go"], 0, "done").await;
    check(vec![refusal()], &["go"], 1, "model error").await;
    check(vec![refusal(), says("never")], &["one", "two"], 1, "model error").await;
    check(vec![cut_off()], &["go"], 5, "limit reached").await;
    check(vec![ls(), says("never")], &["--max-turns", "1", "go"], 5, "limit reached").await;
    check(vec![ls(), says("done")], &["--max-turns", "2", "go"], 0, "done").await;
    check(vec![slow()], &["--timeout", "1", "go"], 5, "limit reached").await;
    check(vec![says("hello")], &["--timeout", "18446744073709551615", "go"], 0, "done").await;
    check(vec![stalls("so far")], &["--timeout", "1", "go"], 5, "limit reached").await;
    check(vec![ls()], &["go"], 6, "model repeats itself").await;
}

#[tokio::test]
async fn the_output_is_the_final_answer_of_each_prompt() {
    let thinks_aloud = || {
        let function = json!({"name": "ls", "arguments": "{}"});
        let call = json!({"index": 0, "id": "c1", "type": "function", "function": function});
        let delta = json!({"content": "let me look", "tool_calls": [call]});
        let end = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]});
        Act::Send(stream(&format!("data: {end}\n\ndata: [DONE]\n\n")))
    };
    let cases = [
        (vec![says("four\n"), says("six")], "four\nsix\n", 0, ""),
        (vec![thinks_aloud(), says("found"), says("six")], "found\nsix\n", 0, ""),
        (vec![refusal(), says("never")], "", 1, "the key is wrong"),
        (vec![cut_off(), says("never")], "half\n", 5, "reached its output limit"),
    ];
    for (acts, out, code, err) in cases {
        let place = Place::new(acts).await;
        let ended = run(&mut place.tau(&["-p", "-o", "last", "the one", "the other"]), None).await;
        assert_eq!((ended.out.as_str(), ended.code), (out, code), "{ended:?}");
        assert!(ended.err.contains(err) && ended.err.is_empty() == err.is_empty(), "{ended:?}");
        let last = std::fs::read_to_string(place.dir.path().join("last")).ok();
        assert_eq!(last.as_deref(), (code == 0).then_some("six\n"), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_gets_the_answer_as_it_is_and_a_terminal_progress_without_foreign_escapes() {
    let text = "a\x1b]52;c;eA==\x07日本\x1b[31m\u{61c}b";
    let acts = || vec![calls("read", &json!({"path": "\x1b[31m"})), says(text)];
    let place = Place::new(acts()).await;
    let ended = run(&mut place.tau(&["-p", "go"]), None).await;
    assert_eq!((ended.out, ended.err), (format!("{text}\n"), String::new()));
    let place = Place::new(acts()).await;
    let url = place.server.url();
    let arguments = [&own_model(&url)[..], &["-p", "go"]].concat();
    let mut screen = Screen::start(&arguments, 80, 24);
    assert!(screen.wait_exit().success(), "{}", screen.text());
    let written = String::from_utf8(screen.bytes()).unwrap();
    for part in ["• read", "a]52;c;eA==日本[31mb"] {
        assert!(written.contains(part), "{written:?}");
    }
    assert!(!["\x1b[31m", "\x1b]52", "\u{61c}"].iter().any(|part| written.contains(part)), "{written:?}");
}

#[tokio::test]
async fn what_cannot_start_says_so_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], i32, &str); 21] = [
        (&["--modle", "x"], 2, "--model"),
        (&["--mode", "jsno"], 2, "json"),
        (&["-p"], 2, "no prompt"),
        (&["--json"], 2, "no prompt"),
        (&["--json", "@nosuch"], 3, "cannot read nosuch: it does not exist; check the path"),
        (&["-p", "hi", "@nosuch"], 3, "cannot read nosuch: it does not exist; check the path"),
        (
            &["-p", "--model", "demo", "hi", "--system-prompt", "@nosuch"],
            3,
            "cannot read nosuch: it does not exist; check the path",
        ),
        (
            &["-p", "hi", "--cwd", "/nosuch"],
            3,
            "(--cwd): it does not exist; name a directory that you can enter",
        ),
        (
            &["theme", "check", "/nosuch"],
            3,
            "cannot read the theme /nosuch: it does not exist; check the path",
        ),
        (&["-p", "hello"], 3, "ANTHROPIC_API_KEY"),
        (&["--json", "hello"], 3, "ANTHROPIC_API_KEY"),
        (&["--mode", "rpc", "hello"], 2, "takes no prompts"),
        (
            &["-p", "--model", "anthropic/claude-haiku-4-5", "hello"],
            3,
            "set ANTHROPIC_API_KEY, or save one with `tau auth",
        ),
        (
            &["--json", "--model", "openai/gpt-5-mini", "hello"],
            3,
            "set OPENAI_API_KEY, or save one with `tau auth",
        ),
        (&["-p", "--session", "nosuch", "hello"], 3, "no session \"nosuch\""),
        (&["-p", "--model", "nosuch/model", "hello"], 3, "no model matches"),
        (&["-p", "--tools", "rm", "--model", "demo", "hello"], 2, "unknown tool \"rm\""),
        (&["-p", "--max-turns", "none", "hello"], 2, "a whole number above 0"),
        (&["auth", "check"], 3, "no key to check"),
        (&["auth", "bogus"], 2, "Usage: tau auth"),
        (&["export"], 2, "Usage: tau export"),
    ];
    for (arguments, code, hint) in cases {
        let ended = run(bare(dir.path()).args(arguments), None).await;
        assert_eq!((ended.code, ended.out.as_str()), (code, ""), "{arguments:?}: {ended:?}");
        assert!(ended.err.contains(hint), "{arguments:?}: {ended:?}");
        assert!(ended.err.starts_with("tau: ") && !ended.err.contains("/login"), "{arguments:?}: {ended:?}");
        assert_eq!(ended.err.matches("error:").count(), 0, "one prefix: {arguments:?}: {ended:?}");
    }
    for command in ["auth", "export", "models", "doctor", "theme", "man", "completions"] {
        let ended = run(bare(dir.path()).args([command, "--help"]), None).await;
        assert!(ended.code == 0 && ended.out.contains(&format!("Usage: tau {command}")), "{ended:?}");
    }
}

#[tokio::test]
async fn money_is_counted_where_the_price_is_known() {
    let usage = json!({"prompt_tokens": 1_000_000, "completion_tokens": 1_000_000});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": usage});
    let function = json!({"name": "bash", "arguments": "{\"command\":\"true\"}"});
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": function});
    let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let act = || Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")));
    for (most, code) in [("0.5", 5), ("50000", 0)] {
        let place = Place::new(vec![act(), says("done")]).await;
        let mut tau = place.own("cost = { input = 1.0, output = 2.0 }");
        let ended = run(tau.args(["-p", "--max-cost", most, "go"]), None).await;
        assert_eq!(ended.code, code, "{most}: {ended:?}");
    }
}

/// The process of the call, once it has reported its id.
fn pid(place: &Place) -> Option<Pid> {
    let text = std::fs::read_to_string(place.dir.path().join("pid")).ok()?;
    Pid::from_raw(text.trim_end().parse().ok()?)
}

#[tokio::test]
async fn signals_end_it_in_order() {
    let other = "ended by signal n";
    let cases = [
        (Signal::INT, 130, "aborted"),
        (Signal::TERM, 143, "terminated"),
        (Signal::HUP, 129, "hangup"),
        (Signal::QUIT, 131, other),
        (Signal::USR1, 138, other),
    ];
    for (signal, code, reason) in cases {
        let place = Place::new(vec![calls("bash", &json!({"command": "echo $$ >pid; exec sleep 60"}))]).await;
        let mut child = place.tau(&["--json", "go"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut last = Value::Null;
        while let Some(line) = lines.next_line().in_time("a line").await.unwrap() {
            last = serde_json::from_str(&line).unwrap();
            if last["type"] == "tool_execution_start" {
                while pid(&place).is_none() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                kill_process(Pid::from_raw(child.id().unwrap() as i32).unwrap(), signal).unwrap();
            }
        }
        assert_eq!(
            child.wait().in_time("the end of the program").await.unwrap().code(),
            Some(code),
            "{signal:?}"
        );
        assert_eq!((&last["type"], &last["reason"]), (&json!("end"), &json!(reason)));
        let child = pid(&place).unwrap();
        assert!(test_kill_process(child).is_err(), "{signal:?} left a child behind");
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_it_quietly() {
    for mode in ["text", "json"] {
        let place = Place::new(vec![says("hello")]).await;
        let mut command = place.tau(&["--mode", mode, "the one", "the other"]);
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = timeout(Duration::from_secs(30), child.wait_with_output()).await.unwrap().unwrap();
        assert_eq!(output.status.code(), Some(0), "{mode}: {output:?}");
        assert!(output.stderr.is_empty(), "{mode}: {output:?}");
    }
}

#[tokio::test]
async fn a_run_can_wait_for_a_quota_also_after_a_restart() {
    let body = br#"{"error":{"message":"Rate limit reached. Please try again in 2m0s."}}"#;
    let spent = Act::Send(answer("429 Too Many Requests", "content-type: application/json\r\n", body));
    let place = Place::new(vec![spent]).await;
    let ended = run(&mut place.tau(&["-p", "go"]), None).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("wait 2 min") && ended.err.contains("--wait-for-quota"), "{ended:?}");

    let waiting = ["--json", "--wait-for-quota", "--timeout", "2"];
    let mut longest = 120_000;
    // Without a prompt the ended run is continued.
    for (more, requests) in [(&["go"][..], 2), (&["--continue", "continue"][..], 2), (&["--continue"][..], 2)]
    {
        let ended = run(&mut place.tau(&[&waiting, more].concat()), None).await;
        assert_eq!(ended.code, 5, "{ended:?}");
        let records = ended.records();
        let wait = records.iter().find(|record| record["type"] == "auto_retry_start").unwrap();
        let delay = wait["delayMs"].as_u64().unwrap();
        assert!((60_000..=longest).contains(&delay), "{wait}");
        longest = 119_999;
        assert_eq!(place.server.requests().len(), requests, "the second start asks nobody before the time");
    }
}

#[tokio::test]
async fn the_temperature_is_sent() {
    let place = Place::new(vec![says("hello")]).await;
    for (flag, sent) in [("0.25", "\"temperature\":0.25"), ("2", "\"temperature\":2")] {
        let ended = run(&mut place.tau(&["-p", "--temperature", flag, "hi"]), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains(sent), "{request}");
    }
    let ended = run(place.tau(&["-p", "hi"]).env("TAU_TEMPERATURE", "3"), None).await;
    assert!(ended.code != 0 && ended.err.contains("give a number from 0 to 2"), "{ended:?}");
}

#[tokio::test]
async fn commands_that_only_read_run_side_by_side_and_others_in_order() {
    let function =
        |command: &str| json!({"name": "bash", "arguments": json!({"command": command}).to_string()});
    let call = |index: usize, command: &str| json!({"index": index, "id": format!("c{index}"), "type": "function", "function": function(command)});
    for (commands, order) in [
        (["sleep 1; echo a", "sleep 0.1; echo b"], ["c1", "c0"]),
        (["sleep 0.3; echo a >>log", "echo b >>log"], ["c0", "c1"]),
    ] {
        let calls = [call(0, commands[0]), call(1, commands[1])];
        let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
        let both = Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")));
        let place = Place::new(vec![both, says("done")]).await;
        let ended = run(&mut place.tau(&["--json", "go"]), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let records = ended.records();
        let ends = records.iter().filter(|record| record["type"] == "tool_execution_end");
        assert_eq!(ends.map(|record| &record["toolCallId"]).collect::<Vec<_>>(), order);
        let request = place.server.requests().pop().unwrap();
        let at = |id: &str| request.find(&format!("\"tool_call_id\":\"{id}\"")).unwrap();
        assert!(at("c0") < at("c1"), "{request}");
    }
    let ended =
        run(bare(tempfile::tempdir().unwrap().path()).args(["--parallel", "all", "-p", "x"]), None).await;
    assert!(ended.code == 2 && ended.err.contains("--parallel is gone"), "{ended:?}");
}

/// An empty variable of a script, for example.
#[tokio::test]
async fn blank_prompts_are_none() {
    let home = tempfile::tempdir().unwrap();
    for args in [&["-p", "  "][..], &["-p", ""], &["--json", " ", "\n"], &["-b", "\t"]] {
        let ended = run(bare(home.path()).args(args), None).await;
        assert!(ended.code == 2 && ended.err.contains("no prompt"), "{args:?}: {ended:?}");
    }
    let answer = || {
        Act::Send(stream(
            "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"hi\"}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n",
        ))
    };
    let place = Place::new(vec![answer(), answer()]).await;
    let ended = run(&mut place.tau(&["-p", "the one", " ", "the other"]), None).await;
    assert_eq!((ended.code, place.server.requests().len()), (0, 2), "{ended:?}");
}

#[tokio::test]
async fn flags_of_other_agents_are_answered_with_those_of_tau() {
    let home = tempfile::tempdir().unwrap();
    for (flag, instead) in [
        ("--yolo", "--permission-mode auto"),
        ("--full-auto", "--sandbox workspace-write"),
        ("--output-format=json", "--json"),
        ("--allowedTools", "--tools NAMES"),
    ] {
        let ended = run(bare(home.path()).args([flag, "-p", "x"]), None).await;
        assert!(ended.code == 2 && ended.err.contains(instead), "{flag}: {ended:?}");
    }
}

#[tokio::test]
async fn the_end_record_has_the_tokens_and_their_price() {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050});
    let delta = json!({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]});
    let total = json!({"choices": [], "usage": usage});
    let body = format!("data: {delta}\n\ndata: {total}\n\ndata: [DONE]\n\n");
    let place = Place::new(vec![Act::Send(stream(&body))]).await;
    let price = "cost = { input = 2.0, output = 10.0 }";
    let ended = run(place.own(price).args(["--json", "the one", "the other"]), None).await;
    let end = ended.records().pop().unwrap();
    assert_eq!((&end["usage"]["input"], &end["usage"]["output"]), (&json!(2_000), &json!(100)), "{end}");
    assert!((end["cost"].as_f64().unwrap() - 0.005).abs() < 1e-9, "{end}");
    let ended = run(place.own("").args(["--json", "one"]), None).await;
    let end = ended.records().pop().unwrap();
    assert_eq!((&end["usage"]["input"], &end["cost"]), (&json!(1_000), &serde_json::Value::Null), "{end}");
}

#[tokio::test]
async fn a_refused_key_is_named_with_its_provider_its_source_and_what_to_do() {
    let body = r#"{"error":{"message":"no"}}"#;
    let head = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let place = Place::new(vec![Act::Send(head.into_bytes())]).await;
    let ended = run(place.own("").args(["-p", "hello"]), None).await;
    for words in ["own refused the API key from models.toml", "`tau auth set own`", "/login"] {
        assert!(ended.code != 0 && ended.err.contains(words), "{words}: {ended:?}");
    }
    // With an address of its own there is no provider to save a key for.
    let url = place.server.url();
    for (args, words) in [
        (vec!["--api-key", "bad"], "refused the API key from --api-key: start tau with another"),
        (vec![], "no API key was sent: add one with --api-key"),
    ] {
        let mut command = bare(place.dir.path());
        command.args(["-p", "--base-url", &url, "--model", "m", "hello"]).args(args);
        let ended = run(&mut command, None).await;
        assert!(ended.err.contains(words) && !ended.err.contains("tau auth set"), "{words}: {ended:?}");
    }
}
