//! Interactions of extensions with each other and with the rest of tau.

use serde_json::{Value, json};
use tau::agent::extensions::ExtensionOptions;
use tau::agent::extensions::places::Places;
use tau::agent::extensions::registry::LoadedExtensions;
use tau::agent::protocol::extension::ExtensionState;

use super::hooks::Place;
use super::write;
use crate::mcp::client::Client;
use crate::support::program::{Ended, bare, calls, models_file, run, says};
use crate::support::server::Server;

/// A tool that writes its input to a file, and does not declare that.
const MAKES: &str = "description = 'Makes a file'\nshell = true\ncommand = 'echo made >\"$arg_path\" && echo it is made'\n\
                     [arguments.path]\n";

fn result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().rfind(|message| message["role"] == "tool").expect("a result")["content"].to_string()
}

async fn tau(place: &Place, arguments: &[&str]) -> Ended {
    let mut command = bare(place.dir.path());
    run(command.env("TAU_HOME", place.path("config")).args(arguments), None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_sees_and_decides_on_a_custom_tool() {
    let acts = vec![calls("make", &json!({"path": "a.txt"})), says("Finished.")];
    let model = Server::start(acts).await;
    let place = Place::new("");
    write(&place.path("config/tools/make.toml"), MAKES);
    let config = "permission_mode = \"ask\"\n";
    let mut client = Client::start_in_mode(place.dir.path(), config, &model.url(), "ask");
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let asked = client.event("approval_requested").await["request"].clone();
    assert_eq!(asked["toolName"], "make", "{asked}");
    assert!(asked.to_string().contains("echo made"), "its command: {asked}");
    client.ask(json!({"type": "answer_approval", "approvalId": asked["id"], "decision": "allow"})).await;
    let ended = client.event("tool_execution_end").await;
    assert_eq!((&ended["toolName"], &ended["isError"]), (&json!("make"), &json!(false)), "{ended}");
    assert!(ended.to_string().contains("it is made"), "{ended}");
    client.event("agent_settled").await;
    assert!(place.path("a.txt").exists());
}

/// True if a call runs in ask mode without anyone to ask, after the model has read the skill.
async fn runs_after_reading(place: &Place, allowed: &str, call: (&str, Value)) -> bool {
    // A separate skill for each: a changed one allows nothing.
    let name: String = allowed.to_lowercase().chars().filter(char::is_ascii_alphabetic).collect();
    let file = place.path(&format!(".agents/skills/{name}/SKILL.md"));
    write(&file, &format!("---\nname: {name}\ndescription: Works\nallowed-tools: {allowed}\n---\nWork.\n"));
    let acts = vec![calls("read", &json!({"path": file})), calls(call.0, &call.1), says("Finished.")];
    let (_, requests) = place.prints(acts, &[]).await;
    let result = result(requests.last().unwrap());
    let is_denied = result.contains("denied");
    assert!(is_denied || result.contains("made"), "{result}");
    !is_denied
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_the_model_reads_allows_what_it_names() {
    let place = Place { mode: "ask", ..Place::new("") };
    let call = |command: &str| ("bash", json!({"command": command}));
    assert!(runs_after_reading(&place, "Bash(touch:*)", call("touch a && echo made")).await);
    assert!(!runs_after_reading(&place, "Bash(touch:*)", call("mkdir b && echo made")).await);
    assert!(!runs_after_reading(&place, "Read", call("touch c && echo made")).await);
    write(&place.path("config/tools/make.toml"), MAKES);
    let call = || ("make", json!({"path": "d.txt"}));
    assert!(!runs_after_reading(&place, "Bash(touch:*)", call()).await);
    assert!(runs_after_reading(&place, "make", call()).await, "a custom tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_names_its_thinking_level() {
    let server = Server::start(vec![says("done")]).await;
    let place = Place::new("");
    let models = models_file(&server.url(), "reasoning = true\n");
    write(&place.path("config/models.toml"), &models);
    write(&place.path(".claude/commands/hard.md"), "---\nthinking: high\n---\nThink.");
    let ended = tau(&place, &["--model", "own/m", "--thinking", "low", "-p", "/hard", "hello there"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let requests = server.requests();
    let level = |at: usize| {
        let body = requests[at].split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str::<Value>(body).unwrap()["reasoning_effort"].clone()
    };
    assert_eq!([level(0), level(1)], [json!("high"), json!("low")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_a_command_hides_is_said_to_be_hidden() {
    let place = Place::new("");
    write(&place.path(".claude/commands/model.md"), "Choose one.");
    let listed = tau(&place, &["extensions"]).await;
    let problem = "model.md: on the screen /model is a command of tau, which hides this one; rename the file";
    assert!(listed.out.contains(problem), "{}", listed.out);
    // Elsewhere these commands do not exist.
    let (_, requests) = place.prints(vec![says("Finished.")], &["/model"]).await;
    assert!(requests[1]["messages"].to_string().contains("Choose one."), "{requests:?}");
    let prompts = Places::of_user(&place.path("config"), Some(place.dir.path())).prompts;
    let places = Places { prompts, ..Places::default() };
    let options = ExtensionOptions { own_commands: vec!["other".into()], ..ExtensionOptions::default() };
    let loaded = LoadedExtensions::from_places(&places, &options);
    let row = loaded.rows.iter().find(|row| row.name == "model").unwrap();
    assert_eq!((row.state, row.problems.len()), (ExtensionState::On, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_explained_for_a_custom_tool() {
    let place = Place::new("[permissions]\ndeny = [\"count(secret/**)\"]\n");
    let tool = "description = 'Counts'\ncommand = ['wc', '-l', '--', '{path}']\n[arguments.path]\n[access]\nreads = ['{path}']\n";
    write(&place.path("config/tools/count.toml"), tool);
    let test = async |arguments: &str| {
        tau(&place, &["permissions", "test", "--mode", "ask", "--tool", "count", arguments]).await
    };
    let ended = test("{\"path\": \"src/a.rs\"}").await;
    assert!(ended.out.contains("in mode ask: allow"), "{}{}", ended.out, ended.err);
    let ended = test("{\"path\": \"secret/a\"}").await;
    assert!(
        ended.out.contains("in mode ask: deny") && ended.out.contains("count(secret/**)"),
        "{}",
        ended.out
    );
    let ended = test("{}").await;
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("path"), "{}", ended.err);
    let ended = test("src").await;
    assert!(ended.code == 2 && ended.err.contains("JSON"), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_the_sandbox_refused_something_is_asked_with_its_command() {
    needs!(crate::sandbox::has_landlock());
    let outside = crate::sandbox::Place::new();
    let file = outside.outside.join("made");
    let model = Server::start(vec![calls("make", &json!({"path": file})), says("Finished.")]).await;
    let place = Place::new("");
    write(&place.path("config/tools/make.toml"), MAKES);
    let mut client = Client::start(place.dir.path(), "sandbox.level = 'workspace-write'\n", &model.url());
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let asked = client.event("approval_requested").await["request"].clone();
    assert!(asked["reasons"].to_string().contains("the sandbox blocks"), "{asked}");
    assert!(asked["preview"]["command"].as_str().is_some_and(|text| text.contains("echo made")), "{asked}");
    assert!(!file.exists());
    client.ask(json!({"type": "answer_approval", "approvalId": asked["id"], "decision": "allow"})).await;
    client.event("agent_settled").await;
    assert!(file.exists());
}

/// A client that was asked about a call, identified by its reasons.
async fn asked(client: &mut Client) -> (Value, String) {
    let request = client.event("approval_requested").await["request"].clone();
    let reasons = request["reasons"].to_string();
    (request["id"].clone(), reasons)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_lost_is_told_to_clients() {
    let model = Server::start(vec![calls("bash", &json!({"command": "rm -rf ~/"})), says("Finished.")]).await;
    let place = Place::new("");
    let mut client = Client::start_in_mode(place.dir.path(), "", &model.url(), "auto");
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let (id, reasons) = asked(&mut client).await;
    assert!(reasons.contains("it removes your home directory"), "{reasons}");
    client.ask(json!({"type": "answer_approval", "approvalId": id, "decision": "deny"})).await;
    client.event("agent_settled").await;
    assert!(place.path("config").exists());
}

/// Permissions granted by a project's skill on its first use, or by a changed skill, apply once the user has
/// allowed such a call, and not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_held_holds_once_it_was_looked_at() {
    let run = |command: &str| calls("bash", &json!({"command": command}));
    let place = Place::new("");
    let work = place.path("work");
    let skill = |name: &str, more: &str| {
        let text =
            format!("---\nname: {name}\ndescription: x\nallowed-tools: Bash(touch:*)\n---\nWork{more}.\n");
        write(&place.path(&format!("work/.tau/skills/{name}/SKILL.md")), &text);
    };
    skill("make", " with do.sh");
    write(&place.path("work/.tau/skills/make/do.sh"), "one");
    let plays = |name: &'static str, expected: Option<&'static str>| {
        let (place, work) = (&place, work.display().to_string());
        async move {
            let acts = vec![run("touch one"), run("touch two"), says("Finished.")];
            let model = Server::start(acts).await;
            let mut client =
                Client::start_with(place.dir.path(), "", &model.url(), "ask", &["--trust", "--cwd", &work]);
            client.ask(json!({"type": "prompt", "message": format!("/skill:{name}")})).await;
            if let Some(why) = expected {
                let (id, reasons) = asked(&mut client).await;
                let grant = format!("skill {name} {why}; if you allow this call, it allows bash(touch:*)");
                assert!(reasons.contains(&grant), "{reasons}");
                client.ask(json!({"type": "answer_approval", "approvalId": id, "decision": "allow"})).await;
            }
            // Nothing more is asked.
            client
                .until(|record| {
                    ["agent_settled", "approval_requested"]
                        .contains(&record["type"].as_str().unwrap_or_default())
                })
                .await;
            assert!(place.path("work/two").exists(), "{name}");
            std::fs::remove_file(place.path("work/two")).unwrap();
        }
    };
    plays("make", Some("was not used before")).await;
    plays("make", None).await;
    write(&place.path("work/.tau/skills/make/other.sh"), "not named");
    plays("make", None).await;
    write(&place.path("work/.tau/skills/make/do.sh"), "two");
    plays("make", Some("changed since it was used last")).await;
    skill("make", " with do.sh, quickly");
    plays("make", Some("changed since it was used last")).await;
    skill("other", "");
    plays("other", Some("was not used before")).await;
}
