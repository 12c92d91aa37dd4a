//! Files that no search reveals: denied by a rule, subject to approval, or secret.

use serde_json::json;

use super::*;

const CANARY: &str = "findme-1234";

/// A place with a denied file, one that needs approval, a secret one and a plain one; returns the result of
/// the call for the model.
async fn answer(tool: &str, arguments: &Value) -> String {
    let place = Place::new(vec![calls(tool, arguments), says("done")]).await;
    let config = place.dir.path().join("config");
    for (path, text) in [
        ("config/config.toml", "[permissions]\ndeny = [\"read(**/.env)\"]\nask = [\"read(private/**)\"]\n"),
        ("sub/.env", CANARY),
        ("private/a.txt", CANARY),
        (".ssh/id_rsa", CANARY),
        ("plain.txt", CANARY),
    ] {
        crate::support::write(&place.dir.path().join(path), text);
    }
    let arguments = ["-p", "--tools", "read,grep,find,ls", "--permission-mode", "auto", "look"];
    let ended = run(place.tau(&arguments).env("TAU_HOME", &config), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let requests = place.server.requests();
    let last: Value = serde_json::from_str(
        requests.last().unwrap().split_once("\r\n\r\n").map_or(requests.last().unwrap(), |(_, body)| body),
    )
    .unwrap();
    let messages = last["messages"].as_array().unwrap();
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
    result["content"].to_string()
}

#[tokio::test]
async fn a_search_leaves_out_what_may_not_be_read_and_says_so() {
    for path in [json!("~"), json!("."), json!("/proc/self/cwd")] {
        let found = answer("grep", &json!({ "pattern": "findme", "path": path, "all": true })).await;
        assert_eq!(found.matches(CANARY).count(), 1, "only the plain file: {found}");
        assert!(found.contains("a rule denies reading them (read(**/.env))"), "{found}");
        assert!(found.contains("a rule asks before reading (read(private/**))"), "{found}");
        assert!(found.contains("protected, the keys and settings of ssh"), "{found}");
    }
    let found = answer("grep", &json!({ "pattern": "findme", "glob": ".env", "all": true })).await;
    assert!(!found.contains(CANARY) && found.contains("1 file left out"), "{found}");
    let listed = answer("find", &json!({ "pattern": "*", "all": true })).await;
    assert!(listed.contains("plain.txt") && listed.contains("private/a.txt"), "{listed}");
    assert!(listed.contains("left out: a rule denies reading them (read(**/.env)): sub/.env"), "{listed}");
    let listed = answer("ls", &json!({ "path": "sub" })).await;
    assert!(listed.contains("1 file left out"), "{listed}");
}

#[tokio::test]
async fn a_file_that_a_rule_denies_is_not_attached() {
    let place = Place::new(vec![says("done")]).await;
    let config = place.dir.path().join("config");
    crate::support::write(&config.join("config.toml"), "[permissions]\ndeny = [\"read(**/.env)\"]\n");
    std::fs::write(place.dir.path().join(".env"), CANARY).unwrap();
    let ended = run(place.tau(&["-p", "@./.env", "look"]).env("TAU_HOME", &config), None).await;
    assert_ne!(ended.code, 0, "{ended:?}");
    assert!(ended.err.contains("a rule denies reading it (read(**/.env))"), "{ended:?}");
    assert!(place.server.requests().is_empty());
}
