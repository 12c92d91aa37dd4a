//! Servers with so many tools that their schemas are not sent with every request.

use serde_json::{Value, json};

use super::{printed, printed_in, server};
use crate::support::program::{calls, last_result, offered_tools, says};

fn description<'a>(request: &'a Value, name: &str) -> &'a str {
    let tools = request["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == name).expect(name);
    tool["function"]["description"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tools_are_found_when_they_are_needed() {
    let config = server::config("demo", "many", "");
    let acts = vec![
        calls("tool_search", &json!({"query": "tool that says"})),
        calls("tool_call", &json!({"name": "mcp__demo__echo", "arguments": {"text": "hello"}})),
        says("Finished."),
    ];
    let (ended, requests) = printed(&config, acts, &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    assert_eq!(
        offered_tools(&requests[0]),
        ["read", "bash", "jobs", "edit", "write", "ask_user", "tool_search", "tool_call"]
    );
    let list = description(&requests[0], "tool_search");
    assert!(
        list.contains("\nmcp__demo__echo: Says what it is told\n")
            && list.contains("\nmcp__demo__more_150: ")
    );
    let found = last_result(&requests[..2]);
    assert!(
        found.contains("\"name\":\"mcp__demo__echo\"") && found.contains("\"properties\":{\"text\":"),
        "{found}"
    );
    assert_eq!(last_result(&requests), "many said: hello");
    assert_eq!(requests[0]["tools"], requests[2]["tools"], "what is sent begins the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_about_the_tool_that_is_called() {
    let config = server::config("demo", "many", "") + "[permissions]\ndeny = [\"mcp__demo__echo\"]\n";
    let call = json!({"name": "mcp__demo__echo", "arguments": {"text": "hello"}});
    let acts =
        vec![calls("tool_call", &call), calls("mcp__demo__echo", &json!({"text": "x"})), says("Finished.")];
    let (_, requests) = printed(&config, acts, &[]).await;
    for requests in [&requests[..2], &requests] {
        let denied = last_result(requests);
        assert!(denied.contains("denied") && denied.contains("mcp__demo__echo"), "{denied}");
    }
    let acts = vec![calls("tool_call", &json!({"name": "nothing", "arguments": {}})), says("Finished.")];
    let (_, requests) = printed(&server::config("demo", "many", ""), acts, &[]).await;
    let unknown = last_result(&requests);
    assert!(unknown.contains("unknown tool \"nothing\"") && unknown.contains("tool_search"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_of_the_model_decides() {
    for (server, window, searched) in [("many", 10_000_000, false), ("usual", 2_000, true)] {
        let place = tempfile::tempdir().unwrap();
        let facts = format!("[[vendors.local.models]]\nid = \"m\"\ncontext_window = {window}\n");
        std::fs::create_dir_all(place.path().join("config")).unwrap();
        std::fs::write(place.path().join("config/models.toml"), facts).unwrap();
        let config = server::config("demo", server, "");
        let (_, requests) = printed_in(place.path(), &config, vec![says("Finished.")], &[]).await;
        assert_eq!(offered_tools(&requests[0]).contains(&"tool_search"), searched, "{server}");
    }
}
