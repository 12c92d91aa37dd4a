//! MCP servers, as users meet them: the real program, with servers in its `config.toml`.

mod asking;
pub mod client;
mod files;
mod http;
mod login;
mod prompts;
mod resources;
mod screen;
mod search;
pub(crate) mod server;

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::screen::Screen;
use crate::support::program::{
    Ended, bare, calls, last_result, models_file, offered_tools, own_model, run, says,
};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

/// Runs `tau --print` with this `config.toml`, these acts of the model, and additional arguments; returns
/// its end, and the requests to the model.
async fn printed(config: &str, acts: Vec<Act>, arguments: &[&str]) -> (Ended, Vec<Value>) {
    let place = tempfile::tempdir().unwrap();
    printed_in(place.path(), config, acts, arguments).await
}

async fn printed_in(place: &Path, config: &str, acts: Vec<Act>, arguments: &[&str]) -> (Ended, Vec<Value>) {
    printed_with(place, config, acts, &[&["-p", "go"], arguments].concat()).await
}

async fn printed_with(place: &Path, config: &str, acts: Vec<Act>, arguments: &[&str]) -> (Ended, Vec<Value>) {
    let server = Server::start(acts).await;
    let folder = place.join("config");
    crate::support::write(&folder.join("config.toml"), &config);
    let mut command = bare(place);
    command.env("TAU_HOME", &folder).env("TAU_PERMISSION_MODE", "auto");
    command.args(["--base-url", &server.url(), "--api-key", "sk-of-the-user", "--model", "m"]);
    let ended = run(command.args(arguments), None).await;
    let requests = server.requests();
    let body = |request: &String| request.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    let parsed = requests.iter().map(|request| serde_json::from_str(&body(request)).unwrap_or_default());
    (ended, parsed.collect())
}

/// Runs JSON mode with this `config.toml` in `place`, to the end of a prompt; a line with these fields
/// answers the server's question.
async fn answered_by_a_line(place: &Path, config: &str, model: &Server, mut answer: Value) {
    let folder = place.join("config");
    crate::support::write(&folder.join("config.toml"), &config);
    let mut command = bare(place);
    command.env("TAU_HOME", &folder).env("TAU_PERMISSION_MODE", "auto").stdin(Stdio::piped());
    command.args(own_model(&model.url())).args(["--json"]);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    input.write_all(b"{\"type\":\"message\",\"content\":\"go\"}\n").in_time("a reader").await.unwrap();
    while let Some(line) = lines.next_line().in_time("a record").await.unwrap() {
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["type"] == "extension_ui_request" {
            answer["type"] = json!("answer");
            answer["id"] = record["id"].clone();
            input.write_all(format!("{answer}\n").as_bytes()).in_time("a reader").await.unwrap();
        }
        if record["type"] == "agent_settled" {
            break;
        }
    }
    drop(input);
    child.wait().in_time("the end").await.unwrap();
}

/// The result of one call to a tool of a server called `demo`.
async fn called(manner: &str, tool: &str, text: &str) -> String {
    called_of(&server::config("demo", manner, ""), &format!("mcp__demo__{tool}"), &json!({"text": text}))
        .await
}

/// The result of one call with this `config.toml`.
async fn called_of(config: &str, tool: &str, arguments: &Value) -> String {
    let (ended, requests) = printed(config, vec![calls(tool, arguments), says("Finished.")], &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    last_result(&requests)
}

/// A screen with a server called `demo` that offers prompts and resources, and asks.
fn on_screen(url: &str) -> Screen {
    on_screen_with(url, &server::config("demo", "offers", ""))
}

/// A screen with this `config.toml`.
fn on_screen_with(url: &str, config: &str) -> Screen {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; cp {} \"$TAU_HOME/config.toml\"; export TAU_PERMISSION_MODE=auto",
        file.display()
    );
    Screen::prepared(&script, &format!("--base-url {url} --api-key x --model m"), 100, 30)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_of_a_server_are_offered_and_called() {
    let config = server::config("demo", "usual", "");
    let acts = vec![calls("mcp__demo__echo", &json!({"text": "hello"})), says("Finished.")];
    let (ended, requests) = printed(&config, acts, &[]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "Finished."), "{}", ended.err);
    let names = offered_tools(&requests[0]);
    assert_eq!(names[..6], ["read", "bash", "jobs", "edit", "write", "ask_user"]);
    assert!(names.contains(&"mcp__demo__echo"), "{names:?}");
    let mut sorted = names[6..].to_vec();
    sorted.sort_unstable();
    assert_eq!(names[6..], sorted);
    let echo = requests[0]["tools"].as_array().unwrap();
    let echo = echo.iter().find(|tool| tool["function"]["name"] == "mcp__demo__echo").unwrap();
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    assert_eq!(echo["function"]["parameters"], schema, "references are replaced");
    assert_eq!(last_result(&requests), "usual said: hello");
    assert_eq!(requests[0]["tools"], requests[1]["tools"], "what is sent begins the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_errors_are_errors() {
    assert_eq!(called("usual", "fail", "").await, "the disk is full");
    assert_eq!(called("usual", "refuse", "").await, "text must be a number");
    let crashed = called("usual", "crash", "").await;
    assert!(crashed.contains("the MCP server demo ended during the call"), "{crashed}");
    assert!(crashed.contains("out of cheese") && crashed.contains("started again"), "{crashed}");
}

/// A rule on reading holds for a server that reads the file.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_a_rule_denies_is_not_named_to_a_server() {
    let config =
        format!("[permissions]\ndeny = [\"read(**/.env)\"]\n{}", server::config("demo", "usual", ""));
    let arguments = |text: &str| json!({"text": text});
    let denied = called_of(&config, "mcp__demo__echo", &arguments("sub/.env")).await;
    assert!(denied.contains("a rule denies sub/.env"), "{denied}");
    assert_eq!(called_of(&config, "mcp__demo__echo", &arguments("a.env")).await, "usual said: a.env");
}

/// Readable parts of a list and of a result are used; the rest is named.
#[tokio::test(flavor = "multi_thread")]
async fn one_odd_tool_does_not_take_the_others() {
    let config = server::config("demo", "odd", "");
    let acts = vec![calls("mcp__demo__strange", &json!({"text": "x"})), says("Finished.")];
    let (ended, requests) = printed(&config, acts, &[]).await;
    let names = offered_tools(&requests[0]);
    for (name, offered) in
        [("echo", true), ("no_schema", true), ("twice", true), ("bent", false), ("strange", true)]
    {
        assert_eq!(names.contains(&format!("mcp__demo__{name}").as_str()), offered, "{name}: {names:?}");
    }
    let told = last_result(&requests);
    assert!(told.contains("readable") && told.contains("to its end"), "{told}");
    assert!(told.contains("[content of kind \"hologram\" that cannot be read]"), "{told}");
    assert!(told.contains("[content of kind \"image\" that cannot be read]"), "{told}");
    assert_eq!(told.matches("[picture, image/png, ").count(), 2, "by their data: {told}");
    assert!(told.contains("[resource demo://3]") && told.contains("7.25"), "{told}");
    assert_eq!(ended.code, 0, "{}", ended.err);
}

/// A call ends with its answer, also with one that is not quite JSON-RPC 2.0. Characters stand for bytes.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_almost_one_ends_its_call() {
    let text = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#);
    let failure = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":ID,"error":{error}}}"#);
    let cases = [
        (format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{},"error":null}}"#, text("all well")), "all well"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":1,"message":"boom"}}"#.to_owned(), "boom"),
        (failure(r#"{"code":5}"#), r#"{"code":5}"#),
        (failure(r#"{"code":"E1","message":"no such row"}"#), "no such row"),
        (failure(r#""plain words""#), "plain words"),
        (format!(r#"{{"id":ID,"result":{}}}"#, text("no version")), "no version"),
        (answer(&text(r"a\ud83d b \ud83d\ude00 \\ud83d")), "a\u{FFFD} b 😀 \\ud83d"),
        (answer(&text("caf\u{E9}!")), "caf\u{FFFD}!"),
        (answer(r#"{"content":[],"structuredContent":{"n":1e999}}"#), "cannot be read: number out of range"),
        (r#"{"jsonrpc":"2.0","id":ID}"#.to_owned(), "neither a result nor an error"),
        (format!("[{}]", answer(&text("of a batch"))), "of a batch"),
    ];
    for (line, expected) in cases {
        let told = called("odd", "line", &line).await;
        assert!(told.contains(expected), "{line}: {told}");
    }
}

/// An image is not sent a second time as text.
#[tokio::test(flavor = "multi_thread")]
async fn data_is_not_repeated_as_text() {
    let told = called("odd", "repeats", "").await;
    assert!(!told.contains("iVBORw0KGgo"), "{told}");
    assert!(told.contains("[picture, image/png, ") && told.contains("\"width\": 1"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_every_kind_reach_the_model() {
    assert_eq!(called("usual", "steps", "").await, "all steps");
    let mixed = called("usual", "mixed", "").await;
    for part in [
        "[audio, audio/wav, 6 bytes: not shown to the model]",
        "[resource file:///a.txt, a.txt, the first]",
        "[resource demo://1]\ninside",
        "[resource demo://2, application/zip, 3 bytes]",
        "\"answer\": 42",
    ] {
        assert!(mixed.contains(part), "{part}: {mixed}");
    }
    let picture = called("usual", "picture", "").await;
    assert!(picture.contains("a dot") && picture.contains("[picture, image/png, "), "{picture}");
    let large = called("usual", "large", "").await;
    assert!(large.len() < 60_000 && large.contains("bytes left out; all of it is in /"), "{}", large.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_sees_gets_pictures() {
    let place = tempfile::tempdir().unwrap();
    let acts = vec![calls("mcp__demo__picture", &json!({})), says("Finished.")];
    let server = Server::start(acts).await;
    let folder = place.path().join("config");
    crate::support::write(&folder.join("config.toml"), &server::config("demo", "usual", ""));
    std::fs::write(folder.join("models.toml"), vision(&server.url())).unwrap();
    let mut command = bare(place.path());
    command.env("TAU_HOME", &folder).env("TAU_PERMISSION_MODE", "auto");
    let ended = run(command.args(["--model", "own/m", "-p", "go"]), None).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let last = server.requests().pop().unwrap();
    assert!(last.contains("data:image/png;base64,iVBORw0KGgo"), "{last}");
}

/// `models.toml` with a model that accepts images.
fn vision(url: &str) -> String {
    models_file(url, "input = [\"text\", \"image\"]\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ended_is_started_again() {
    let config = server::config("demo", "usual", "");
    let acts = vec![
        calls("mcp__demo__crash", &json!({})),
        calls("mcp__demo__echo", &json!({"text": "again"})),
        says("Finished."),
    ];
    let (ended, requests) = printed(&config, acts, &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    assert_eq!(last_result(&requests), "usual said: again");
    assert!(ended.err.contains("MCP server demo has ended: "), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_cannot_be_used_do_not_keep_tau_from_working() {
    for (manner, more, why) in [
        ("dies", "", "it ended before it was ready: "),
        ("hangs", "start_timeout = 1", "it was not ready within 1 second"),
        ("garbage", "", "what it writes to its standard output is not MCP"),
        ("endless", "", "it sent a message of more than 16 MB"),
    ] {
        let config = server::config("demo", manner, more) + &server::config("other", "usual", "");
        let acts = vec![calls("mcp__other__echo", &json!({"text": "hi"})), says("Finished.")];
        let (ended, requests) = printed(&config, acts, &[]).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "Finished."), "{manner}: {}", ended.err);
        assert_eq!(last_result(&requests), "usual said: hi", "{manner}");
        assert!(!offered_tools(&requests[0]).iter().any(|name| name.contains("demo")), "{manner}");
        let notice = ended.err.lines().find(|line| line.contains("MCP server demo cannot be used: "));
        assert!(notice.is_some_and(|notice| notice.contains(why)), "{manner}: {}", ended.err);
        assert!(manner != "dies" || ended.err.contains("no database at /srv/db"), "{}", ended.err);
    }
    let missing = "[mcp.demo]\ncommand = \"no-such-program-here\"\n[mcp.two]\ncommand = \"x\"\nenv = { A = \"$NOT_SET_HERE\" }\n";
    let (ended, _) = printed(missing, vec![says("Finished.")], &[]).await;
    assert!(ended.err.contains("the program `no-such-program-here` does not exist"), "{}", ended.err);
    assert!(ended.err.contains("the variable NOT_SET_HERE is not set"), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_prints_before_the_protocol_is_left_out() {
    assert_eq!(called("prints", "echo", "hello").await, "prints said: hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_the_file_are_reported_with_their_lines() {
    let config = "[mcp.demo]\ncomand = \"x\"\n";
    let (ended, _) = printed(config, vec![says("Finished.")], &[]).await;
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("config.toml:1: server `demo`: unknown name `comand`"), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_no_keys_but_what_it_is_given() {
    // The provider's key is in the environment of the tests' tau only as a flag; others are hidden by name.
    let place = tempfile::tempdir().unwrap();
    let config = server::config("demo", "usual", "");
    let config = config + "MINE = \"${HOME}/x\"\nGIVEN = \"$SOME_TOKEN\"\n";
    let mut seen = Vec::new();
    for name in ["SOME_TOKEN", "GIVEN", "MINE"] {
        let server =
            Server::start(vec![calls("mcp__demo__env", &json!({"text": name})), says("Finished.")]).await;
        let folder = place.path().join("config");
        crate::support::write(&folder.join("config.toml"), &config);
        let mut command = bare(place.path());
        command.env("TAU_HOME", &folder).env("TAU_PERMISSION_MODE", "auto").env("SOME_TOKEN", "abc123");
        command.args(["--mask-secrets=false", "--base-url", &server.url()]);
        let ended = run(command.args(["--api-key", "x", "--model", "m", "-p", "go"]), None).await;
        assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
        let last = server.requests().pop().unwrap();
        let (_, after) = last.rsplit_once(&format!("{name}=")).unwrap();
        seen.push(after.split('"').next().unwrap().to_owned());
    }
    let home = format!("{}/x", place.path().display());
    assert_eq!(seen, ["(not set)", "abc123", home.as_str()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_description_of_a_tool_is_masked() {
    let config = server::config("demo", "leaky", "");
    let (ended, requests) = printed(&config, vec![says("Finished.")], &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let tools = requests[0]["tools"].to_string();
    assert!(tools.contains("Give it ") && !tools.contains("sk-of-the-user"), "{tools}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_flags_say_which_tools_are_offered() {
    let config = server::config("demo", "usual", "allow_tools = [\"e*\", \"steps\"]\ndeny_tools = [\"env\"]");
    let offered = |requests: &[Value]| -> Vec<String> {
        offered_tools(&requests[0]).into_iter().map(str::to_owned).collect()
    };
    let (_, requests) = printed(&config, vec![says("Finished.")], &[]).await;
    assert_eq!(offered(&requests)[6..], ["mcp__demo__echo", "mcp__demo__steps"]);
    let (_, requests) = printed(&config, vec![says("Finished.")], &["--tools", "read"]).await;
    assert_eq!(offered(&requests), ["read"]);
    let (_, requests) = printed(&config, vec![says("Finished.")], &["--tools", "read,mcp__demo__s*"]).await;
    assert_eq!(offered(&requests), ["read", "mcp__demo__steps"]);
    let (_, requests) = printed(&config, vec![says("Finished.")], &["--no-tools"]).await;
    assert_eq!(offered(&requests), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_hold_for_the_tools_of_servers() {
    let rules = "[permissions]\ndeny = [\"mcp__demo__e*\"]\n";
    let config = server::config("demo", "usual", "") + rules;
    let acts = vec![calls("mcp__demo__echo", &json!({"text": "hi"})), says("Finished.")];
    let (_, requests) = printed(&config, acts, &[]).await;
    let denied = last_result(&requests);
    assert!(denied.contains("denied") && denied.contains("mcp__demo__e*"), "{denied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_floods_is_still_of_use() {
    let config = server::config("demo", "floods", "");
    // It may take longer to be ready than the first prompt waits.
    let acts = vec![
        calls("bash", &json!({"command": "sleep 5"})),
        calls("mcp__demo__echo", &json!({"text": "hello"})),
        says("Finished."),
    ];
    let (_, requests) = printed(&config, acts, &[]).await;
    assert_eq!(last_result(&requests), "floods said: hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_change_are_offered_from_the_next_turn_on() {
    let config = server::config("demo", "changes", "");
    let acts = vec![
        calls("mcp__demo__rename", &json!({})),
        calls("mcp__demo__echo", &json!({"text": "between"})),
        calls("mcp__demo__new", &json!({"text": "hello"})),
        says("Finished."),
    ];
    let (ended, requests) = printed(&config, acts, &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    assert!(
        !offered_tools(&requests[0]).contains(&"mcp__demo__new")
            && offered_tools(&requests[2]).contains(&"mcp__demo__new")
    );
    assert_eq!(last_result(&requests), "changes said: hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_schema_is_written_as_every_provider_takes_it() {
    let config = server::config("demo", "messy", "allow_tools = [\"messy\"]");
    for api in ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"] {
        let (_, requests) =
            printed(&config, vec![says("Finished.")], &["--tools", "mcp__*", "--api", api]).await;
        let written = serde_json::to_string_pretty(&requests[0]["tools"]).unwrap() + "\n";
        crate::harness::golden(&format!("mcp/schema-{api}.json"), &written);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_list_its_tools_is_given_up() {
    let (ended, _) =
        printed(&server::config("demo", "mute", "start_timeout = 1"), vec![says("Finished.")], &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let why = "MCP server demo cannot be used: it did not list its tools within 1 second";
    assert!(ended.err.contains(why), "{}", ended.err);
}
