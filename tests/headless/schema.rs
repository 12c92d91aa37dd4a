//! `--output-schema`: answers that are valid JSON, one repair, and the treatment of invalid ones.

use serde_json::json;

use super::*;

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
const VALID: &str = "```json\n{\"n\": 7}\n```";

/// Runs prompts whose answers must match [`SCHEMA`], once for text and once for events.
async fn both(acts: &[Act], arguments: &[&str]) -> (Place, Ended, Ended) {
    let run_in = async |mode: &str| {
        let place = Place::new(acts.to_vec()).await;
        std::fs::write(place.dir.path().join("s.json"), SCHEMA).unwrap();
        let ended =
            run(&mut place.tau(&[&["--mode", mode, "--output-schema", "s.json"], arguments].concat()), None)
                .await;
        (place, ended)
    };
    let (place, text) = run_in("text").await;
    let (_, json) = run_in("json").await;
    assert_eq!(text.code, json.code, "{text:?} {json:?}");
    (place, text, json)
}

/// The body of a request to the server.
fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn a_valid_answer_is_all_that_is_printed() {
    let (place, text, json) = both(&[says(VALID)], &["-o", "out.json", "go"]).await;
    assert_eq!((text.code, text.out.as_str(), text.err.as_str()), (0, "{\"n\": 7}\n", ""));
    assert_eq!(std::fs::read_to_string(place.dir.path().join("out.json")).unwrap(), "{\"n\": 7}\n");
    let end = json.records().pop().unwrap();
    assert_eq!((&end["output"], &end["outputError"]), (&json!({"n": 7}), &Value::Null), "{end}");
    let requests = place.server.requests();
    assert_eq!(requests.len(), 1);
    let system = body(&requests[0])["messages"][0]["content"].to_string();
    assert!(system.contains("Final answers") && system.contains(r#"\"required\":[\"n\"]"#), "{system}");
}

#[tokio::test]
async fn an_invalid_answer_is_repaired_once() {
    let (place, text, json) = both(&[says("{\"n\": \"x\"}"), says(VALID)], &["go"]).await;
    assert_eq!((text.code, text.out.as_str()), (0, "{\"n\": 7}\n"));
    assert!(
        text.err.contains("asking for a valid answer once more: /n: the value is not of type"),
        "{}",
        text.err
    );
    assert_eq!(json.records().pop().unwrap()["output"], json!({"n": 7}));
    let requests = place.server.requests();
    assert_eq!(requests.len(), 2);
    let (first, second) = (body(&requests[0]), body(&requests[1]));
    assert_eq!(
        first["messages"][0], second["messages"][0],
        "the system prompt stays, for the provider's cache"
    );
    let repair = second["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(repair.contains("- /n: the value is not of type"), "{repair}");
}

#[tokio::test]
async fn an_answer_that_stays_invalid_is_given_and_fails() {
    let acts = [says("{}"), says("It is 7."), says("never")];
    let (place, text, json) = both(&acts, &["-o", "out.json", "go", "next"]).await;
    assert_eq!((text.code, text.out.as_str()), (7, "It is 7.\n"));
    assert!(
        text.err
            .contains("tau: the answer is not valid against the schema of --output-schema: it is not JSON")
    );
    assert!(!place.dir.path().join("out.json").exists());
    assert_eq!(place.server.requests().len(), 2, "one repair, and no further prompt");
    let end = json.records().pop().unwrap();
    assert_eq!(
        (&end["reason"], &end["exitCode"], &end["output"]),
        (&json!("bad answer"), &json!(7), &Value::Null)
    );
    assert!(end["outputError"].as_str().unwrap().contains("it is not JSON"), "{end}");
    assert_eq!(end["error"], end["outputError"]);
}

/// The first answer is not lost when the repair fails for another reason.
#[tokio::test]
async fn a_repair_that_fails_gives_the_answer_before() {
    let refusal = crate::support::server::answer("401 Unauthorized", "", b"{}");
    let (_, text, json) = both(&[says("{}"), Act::Send(refusal)], &["go"]).await;
    assert_eq!((text.code, text.out.as_str()), (1, "{}\n"));
    assert!(
        text.err.contains("/: \"n\" is a required") || text.err.contains("\"n\" is a required"),
        "{}",
        text.err
    );
    assert!(json.records().pop().unwrap()["outputError"].is_string());
}

#[tokio::test]
async fn each_line_is_judged_by_itself() {
    let place = Place::new(vec![says("1"), says("2"), says(VALID)]).await;
    std::fs::write(place.dir.path().join("s.json"), SCHEMA).unwrap();
    let lines = "{\"type\":\"message\",\"content\":\"a\"}\n{\"type\":\"message\",\"content\":\"b\"}\n";
    let ended = run(&mut place.tau(&["--json", "--output-schema", "s.json"]), Some(lines)).await;
    assert_eq!(ended.code, 7, "the end tells of the first: {ended:?}");
    let outputs: Vec<Value> =
        ended.records().into_iter().filter(|record| record["type"] == "output").collect();
    assert_eq!(outputs.len(), 2);
    assert!(outputs[0]["outputError"].is_string() && outputs[0].get("output").is_none(), "{}", outputs[0]);
    assert_eq!(outputs[1]["output"], json!({"n": 7}));
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_before_any_request() {
    let place = Place::new(vec![says(VALID)]).await;
    let file = |name: &str, text: &str| std::fs::write(place.dir.path().join(name), text).unwrap();
    file("text", "no JSON");
    file("bad.json", "{\"type\": \"text\"}");
    file("far.json", "{\"$ref\": \"https://example.com/a.json\"}");
    file("good.json", SCHEMA);
    for (arguments, hint) in [
        (["-p", "--output-schema", "none", "go"], "cannot read none"),
        (["-p", "--output-schema", "text", "go"], "text is not JSON"),
        (["--json", "--output-schema", "bad.json", "go"], "cannot be used as a JSON Schema"),
        (["-p", "--output-schema", "far.json", "go"], "only references within the file are followed"),
        (["--mode", "rpc", "--output-schema", "good.json"], "use it with --print or --json"),
    ] {
        let ended = run(&mut place.tau(&arguments), None).await;
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}: {ended:?}");
        assert!(ended.err.contains(hint), "{arguments:?}: {ended:?}");
    }
    assert!(place.server.requests().is_empty());
}
