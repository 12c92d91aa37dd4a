//! Prompts that are not sent, because a hook blocks them or their template cannot be expanded: the front ends
//! without a screen give the reason, and take the next prompt.

use serde_json::json;

use super::*;
use crate::background_jobs::wire::Client;

/// A program whose hook blocks a word, and with two templates that cannot be sent.
fn blocks(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.own("");
    let config = place.dir.path().join("config");
    let hook = "[[hooks.UserPromptSubmit]]\n\
        command = 'grep -q forbidden && { echo \"not this word\" >&2; exit 2; }; exit 0'\n";
    std::fs::write(config.join("config.toml"), hook).unwrap();
    std::fs::create_dir_all(config.join("prompts")).unwrap();
    std::fs::write(config.join("prompts/again.md"), "/again").unwrap();
    std::fs::write(config.join("prompts/nothing.md"), "---\ndescription: nothing\n---\n").unwrap();
    command.args(arguments);
    command
}

const REFUSED: [(&str, &str); 4] = [
    ("forbidden", "a hook blocked the prompt: not this word"),
    ("/again", "the prompt template /again includes itself"),
    ("/agian", "not sent: unknown command /agian: did you mean /again?"),
    ("/nothing", "not sent: the prompt template /nothing is empty"),
];

#[tokio::test]
async fn a_refused_line_fails_and_the_next_one_is_sent() {
    for (text, reason) in REFUSED {
        let place = Place::new(vec![says("heard")]).await;
        let lines: String =
            [text, "ok"].map(|text| json!({"type": "message", "content": text}).to_string() + "\n").concat();
        let ended = run(&mut blocks(&place, &["--json"]), Some(&lines)).await;
        let records = ended.records();
        let refused: Vec<_> = records.iter().filter(|record| record["type"] == "prompt_refused").collect();
        assert!(refused.len() == 1 && refused[0]["text"] == text, "{text}: {refused:?}");
        assert!(refused[0]["reason"].as_str().unwrap().contains(reason), "{refused:?}");
        assert_eq!(place.server.requests().len(), 1, "{text}: the next prompt is sent");
        let end = records.last().unwrap();
        assert_eq!((ended.code, &end["exitCode"], &end["reason"]), (1, &json!(1), &json!("model error")));
        assert!(end["error"].as_str().unwrap().contains(reason), "{end}");

        let ended = run(&mut blocks(&place, &["-p", text]), None).await;
        assert!(ended.code == 1 && ended.err.contains(reason), "{text}: {ended:?}");
        assert!(!ended.err.contains("no answer"), "{text}: {ended:?}");
    }
}

#[tokio::test]
async fn an_empty_line_is_refused_and_the_next_one_is_sent() {
    let place = Place::new(vec![says("heard")]).await;
    let lines: String = ["", " \n\t", "ok"]
        .map(|text| json!({"type": "message", "content": text}).to_string() + "\n")
        .concat();
    let ended = run(&mut blocks(&place, &["--json"]), Some(&lines)).await;
    let records = ended.records();
    let errors: Vec<_> = records.iter().filter(|record| record["type"] == "error").collect();
    assert!(errors.len() == 2 && errors[0]["error"] == "the message is empty: give a text", "{errors:?}");
    assert_eq!((ended.code, place.server.requests().len()), (0, 1), "{ended:?}");
}

#[tokio::test]
async fn a_client_hears_why_its_prompt_was_not_sent() {
    let place = Place::new(vec![says("heard")]).await;
    let mut client = Client::of(blocks(&place, &["--mode", "rpc"]));
    for (text, reason) in REFUSED {
        client.send(json!({"id": "1", "type": "prompt", "message": text})).await;
        let refused = client.record("the reason", |record| record["type"] == "prompt_refused").await;
        assert!(refused["text"] == text && refused["reason"].as_str().unwrap().contains(reason), "{refused}");
        client.record("the end", |record| record["type"] == "agent_settled").await;
    }
    assert!(place.server.requests().is_empty());
    client.child.kill().in_time("the end").await.unwrap();
}
