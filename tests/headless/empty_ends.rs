//! Empty answers, calls written as text, and thinking sent as text.

use serde_json::json;

use super::*;

fn thinks(text: &str) -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": {"reasoning_content": text}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

/// A run that ends without an answer is not a success, in each front end.
#[tokio::test]
async fn an_end_without_text_is_no_success() {
    let ls = || calls("bash", &json!({"command": "true"}));
    let ends = [
        vec![ls(), says(" \n")],
        vec![says("\n\n")],
        vec![thinks("hm")],
        vec![ls(), says("<think>only this")],
    ];
    for acts in ends {
        for mode in ["text", "json"] {
            let place = Place::new(acts.clone()).await;
            let ended = run(&mut place.tau(&["--permission-mode", "auto", "--mode", mode, "go"]), None).await;
            assert_eq!(ended.code, 1, "{mode}: {ended:?}");
            let told =
                if mode == "json" { ended.records().pop().unwrap()["error"].to_string() } else { ended.err };
            assert!(told.contains("the model ended without an answer"), "{mode}: {told}");
        }
    }
}

#[tokio::test]
async fn thinking_that_comes_as_text_is_no_answer() {
    for text in ["<think>quiet</think>\n\nLoud.", "<thinking>\nquiet\n</thinking>Loud."] {
        let place = Place::new(vec![says(text), says("on")]).await;
        let ended = run(&mut place.tau(&["-p", "go"]), None).await;
        assert_eq!((ended.code, ended.out.as_str()), (0, "Loud.\n"), "{ended:?}");
        let later = run(&mut place.tau(&["-p", "--continue", "more"]), None).await;
        assert_eq!(later.code, 0, "{later:?}");
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains("Loud.") && !request.contains("quiet"), "{request}");
    }
    // Several blocks, and one whose opening tag was in the server's prompt.
    for text in ["<think>quiet</think>\n\n<think>quiet</think>Loud.", "quiet\n</think>\n\nLoud."] {
        let place = Place::new(vec![says(text), says("on")]).await;
        let ended = run(&mut place.tau(&["-p", "go"]), None).await;
        assert_eq!((ended.code, ended.out.as_str()), (0, "Loud.\n"), "{ended:?}");
        run(&mut place.tau(&["-p", "--continue", "more"]), None).await;
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains("Loud.") && !request.contains("quiet"), "{request}");
    }
    let place = Place::new(vec![says("Write `<think>` there.")]).await;
    assert_eq!(run(&mut place.tau(&["-p", "go"]), None).await.out, "Write `<think>` there.\n");
}

#[tokio::test]
async fn a_call_that_is_written_as_text_is_asked_for() {
    let written = "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"true\"}}\n</tool_call>";
    let made = calls("bash", &json!({"command": "true"}));
    let place = Place::new(vec![says(written), made, says("done")]).await;
    let ended = run(&mut place.tau(&["--permission-mode", "auto", "-p", "go"]), None).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "done\n"), "{ended:?}");
    assert!(ended.err.contains("wrote a call of bash as text"), "{ended:?}");
    assert!(place.server.requests()[1].contains("make it as a tool call"), "the model is asked");
    for other in [
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{\"command\":\
         \"true\"}<|tool_call_end|><|tool_calls_section_end|>",
        "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>true</arg_value>\n</tool_call>",
    ] {
        let place = Place::new(vec![says(other), says("done")]).await;
        let ended = run(&mut place.tau(&["--permission-mode", "auto", "-p", "go"]), None).await;
        assert!(ended.err.contains("wrote a call of bash as text"), "{other}: {ended:?}");
    }
    // A model that does not learn is left alone.
    let place = Place::new(vec![says(written)]).await;
    let ended = run(&mut place.tau(&["--permission-mode", "auto", "-p", "go"]), None).await;
    assert_eq!(place.server.requests().len(), 3, "{ended:?}");
    assert!(ended.err.contains("try another model"), "{ended:?}");
    // Calls that are only mentioned are not calls.
    let place = Place::new(vec![says(&format!("Models write this:\n```\n{written}\n```\nand so on."))]).await;
    let ended = run(&mut place.tau(&["-p", "go"]), None).await;
    assert_eq!((ended.code, ended.err.as_str(), place.server.requests().len()), (0, "", 1), "{ended:?}");
}

#[tokio::test]
async fn an_output_that_cannot_be_written_is_told_before_the_run() {
    for (path, why) in [("/nope/x", "No such file"), ("sub", "directory"), ("sub/nope/x", "No such file")] {
        for mode in ["text", "json"] {
            let place = Place::new(vec![says("never")]).await;
            std::fs::create_dir(place.dir.path().join("sub")).unwrap();
            let ended = run(&mut place.tau(&["--mode", mode, "-o", path, "go"]), None).await;
            assert_eq!(ended.code, 3, "{path}: {ended:?}");
            assert!(ended.err.contains(&format!("cannot write the answer to {path}")), "{ended:?}");
            assert!(ended.err.to_lowercase().contains(&why.to_lowercase()), "{ended:?}");
            assert!(place.server.requests().is_empty(), "{path}");
        }
    }
    let place = Place::new(vec![says("new")]).await;
    std::fs::write(place.dir.path().join("old.txt"), "old").unwrap();
    let ended = run(&mut place.tau(&["-p", "-o", "old.txt", "go"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(std::fs::read_to_string(place.dir.path().join("old.txt")).unwrap(), "new\n");
}

#[tokio::test]
async fn an_unknown_provider_is_told() {
    let place = Place::new(vec![says("never")]).await;
    let mut tau = bare(place.dir.path());
    let ended = run(tau.args(["-p", "hi", "--provider", "nope", "--api-key", "x"]), None).await;
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.err.contains("--provider: there is no provider \"nope\""), "{ended:?}");
    let mut tau = bare(place.dir.path());
    let ended = run(tau.args(["-p", "hi", "--provider", "antropic"]), None).await;
    assert!(ended.err.contains("did you mean anthropic"), "{ended:?}");
}

/// The exit code shows that one of several messages failed.
#[tokio::test]
async fn the_code_tells_of_a_message_that_failed() {
    let refused =
        || Act::Send(crate::support::server::answer("401 No", "", b"{\"error\":{\"message\":\"who?\"}}"));
    let lines = "{\"type\":\"message\",\"content\":\"one\"}\n{\"type\":\"message\",\"content\":\"two\"}\n";
    for (acts, code) in
        [(vec![refused(), says("fine")], 1), (vec![says("fine"), refused()], 1), (vec![says("fine")], 0)]
    {
        let place = Place::new(acts).await;
        let ended = run(&mut place.tau(&["--mode", "json"]), Some(lines)).await;
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(place.server.requests().len(), 2, "a line after a failure is still sent: {ended:?}");
        assert_eq!(ended.records().pop().unwrap()["exitCode"], json!(code));
    }
}

#[tokio::test]
async fn a_long_wait_is_told() {
    let slow = crate::support::server::answer(
        "429 Slow", "retry-after: 7200\r\n", b"{\"error\":{\"message\":\"quota\"}}",
    );
    let place = Place::new(vec![Act::Send(slow)]).await;
    let mut tau = place.tau(&["-p", "--wait-for-quota", "--timeout", "3", "go"]);
    let ended = run(&mut tau, None).await;
    assert_eq!(ended.code, 5, "{ended:?}");
    assert!(ended.err.contains("quota") && ended.err.contains("takes requests again, in 2 h"), "{ended:?}");
}
