//! The web tools through the real program: offered tools, approval, and requests.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::screen::Screen as Terminal;
use crate::support::program::{Ended, bare, calls, last_result, offered_tools, run, says};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

/// A web server of this machine; its port, and the requests it got: method, address and key, and the body.
struct Site {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn start() -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let router = Router::new().fallback(move |request: Request| {
            let noted = Arc::clone(&noted);
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 10_000).await.unwrap();
                let header = |name: &str| {
                    let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
                    value.map(|value| format!(" {name}={value}")).unwrap_or_default()
                };
                let keys = header("authorization") + &header("x-subscription-token");
                let body = String::from_utf8_lossy(&body).into_owned();
                noted
                    .lock()
                    .unwrap()
                    .push(format!("{} {}{keys} {body}", parts.method, parts.uri).trim_end().to_owned());
                site_answer(parts.uri.path())
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Site { port, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn site_answer(path: &str) -> Response {
    let found = json!([{"title": "The  \u{1b}]0;x\u{7}Book", "url": "https://doc.example/book", "content": "All of it.", "description": "All of it."}]);
    match path {
        "/brave" => axum::Json(json!({"web": {"results": found}})).into_response(),
        "/tavily" | "/search" => axum::Json(json!({"results": found})).into_response(),
        "/refuses" => {
            (axum::http::StatusCode::UNAUTHORIZED, "the key tvly-secret-key-123 is wrong").into_response()
        }
        _ => Html("<title>Guide</title><h1>Start here</h1><p>Run <code>make</code>.\u{1b}[31m\u{9b}2J</p>")
            .into_response(),
    }
}

/// A home with this `config.toml`, and the program in it.
fn program(place: &Path, config: &str, model: &Server) -> Command {
    let folder = place.join("config");
    crate::support::write(&folder.join("config.toml"), &config);
    let mut command = bare(place);
    command.env("TAU_HOME", &folder);
    command.args(["--base-url", &model.url(), "--api-key", "sk-of-the-user", "--model", "m"]);
    command
}

/// Runs `tau --print`; returns its exit, and the requests to the model.
async fn printed(config: &str, acts: Vec<Act>, arguments: &[&str]) -> (Ended, Vec<Value>) {
    let place = tempfile::tempdir().unwrap();
    let model = Server::start(acts).await;
    let mut command = program(place.path(), config, &model);
    let ended = run(command.args(["-p", "go"]).args(arguments), None).await;
    (ended, bodies(&model))
}

fn bodies(model: &Server) -> Vec<Value> {
    let body = |request: &String| request.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    model.requests().iter().map(|request| serde_json::from_str(&body(request)).unwrap_or_default()).collect()
}

/// Fetching from this machine is on.
const ON: &str = "web_fetch = true\nweb_allow_private = [\"127.0.0.1\"]\n";

fn fetches(url: &str) -> Vec<Act> {
    vec![calls("web_fetch", &json!({ "url": url })), says("Finished.")]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_are_offered_when_they_are_on() {
    let offered = async |config: &str, arguments: &[&str]| {
        let (ended, requests) = printed(config, vec![says("Finished.")], arguments).await;
        assert_eq!(ended.code, 0, "{}", ended.err);
        offered_tools(&requests[0]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let usual = ["read", "bash", "jobs", "edit", "write", "ask_user"];
    assert_eq!(offered("", &[]).await, usual);
    assert_eq!(offered(ON, &[]).await, [&usual[..], &["web_fetch"]].concat());
    assert_eq!(offered("web_search = \"brave\"\n", &["--web-fetch"]).await[6..], ["web_fetch", "web_search"]);
    assert_eq!(
        offered(ON, &["--web-search", "tavily", "--tools", "web_search,read"]).await,
        ["read", "web_search"]
    );
    assert_eq!(offered(ON, &["--no-tools"]).await, [""; 0]);
    for (config, arguments, why) in [
        ("", ["--tools", "web_fetch"], "--tools: web_fetch is off; set web_fetch = true in config.toml"),
        ("tools = [\"web_search\"]\n", ["--verbose", ""], "web_search is off; name a service"),
        ("web_search = \"altavista\"\n", ["--tools", "read"], "config.toml:1: "),
        ("web_allow_private = [\"a b\"]\n", ["--tools", "read"], "`a b` is not a host"),
    ] {
        let arguments: Vec<&str> =
            arguments.into_iter().filter(|text| !matches!(*text, "" | "--verbose")).collect();
        let (ended, _) = printed(config, vec![says("Finished.")], &arguments).await;
        assert!(ended.code != 0 && ended.err.contains(why), "{config}: {}", ended.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_cannot_turn_them_on() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join(".tau")).unwrap();
    std::fs::write(place.path().join(".tau/config.toml"), "web_fetch = true\n").unwrap();
    let model = Server::start(vec![says("Finished.")]).await;
    let mut command = program(place.path(), "", &model);
    let ended = run(command.args(["--trust", "-p", "go"]), None).await;
    assert!(ended.err.contains("web_fetch"), "{}", ended.err);
    assert!(bodies(&model).iter().all(|request| !offered_tools(request).contains(&"web_fetch")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reaches_the_model() {
    let site = Site::start().await;
    let (ended, requests) = printed(ON, fetches(&site.url("/guide#part")), &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let text = last_result(&requests);
    assert!(text.starts_with(&format!("{} (HTTP 200, text/html, ", site.url("/guide"))), "{text}");
    assert!(text.contains("Title: Guide\n\n# Start here\n\nRun `make`."), "{text}");
    assert_eq!(site.seen(), ["GET /guide"]);
    let (_, requests) = printed("web_fetch = true\n", fetches(&site.url("/guide")), &[]).await;
    let refused = last_result(&requests);
    assert!(
        refused.contains("private or local address") && refused.contains("web_allow_private"),
        "{refused}"
    );
    let (_, requests) = printed(ON, fetches(&site.url("/guide")), &["--network", "off"]).await;
    assert!(last_result(&requests).contains("turned the network off"), "{}", last_result(&requests));
    assert_eq!(site.seen().len(), 1, "nothing else was asked for");
}

/// The example in the document allows fetching pages of this machine without approval.
#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_document_works() {
    let document = include_str!("../docs/extending.md");
    let (_, section) = document.split_once("\n## The web\n").unwrap();
    let (_, block) = section.split_once("```toml\n").unwrap();
    let (example, _) = block.split_once("```").unwrap();
    let site = Site::start().await;
    let config = format!("permission_mode = \"ask\"\n{example}");
    let (_, requests) = printed(&config, fetches(&site.url("/x")), &[]).await;
    assert!(last_result(&requests).contains("# Start here"), "{}", last_result(&requests));
    assert!(offered_tools(&requests[0]).contains(&"web_search"));
    let (_, requests) = printed(&config, fetches("https://example.com/"), &[]).await;
    assert!(last_result(&requests).contains("it was not run"), "{}", last_result(&requests));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_name_hosts() {
    let site = Site::start().await;
    for (mode, rules, is_fetched) in [
        ("ask", "allow = [\"web_fetch(127.0.0.1)\"]", true),
        ("ask", "allow = [\"web_fetch(domain:127.0.0.1)\"]", true),
        ("ask", "allow = [\"web_fetch\"]", true),
        ("plan", "allow = [\"web_fetch(127.0.0.1)\"]", true),
        ("ask", "allow = [\"web_fetch(example.com)\", \"bash\", \"read\"]", false),
        ("plan", "allow = [\"web_fetch(example.com)\"]", false),
        ("auto", "deny = [\"web_fetch(0x7f.1)\"]", false),
        ("auto", "deny = [\"web_fetch(example.com)\"]", true),
        ("auto", "deny = [\"web_fetch\"]\nallow = [\"web_fetch(127.0.0.1)\"]", false),
    ] {
        let before = site.seen().len();
        let config = format!("permission_mode = \"{mode}\"\n{ON}[permissions]\n{rules}\n");
        let (_, requests) = printed(&config, fetches(&site.url("/x")), &[]).await;
        let text = last_result(&requests);
        assert_eq!(site.seen().len() - before, usize::from(is_fetched), "{mode} {rules}: {text}");
        assert_eq!(text.contains("# Start here"), is_fetched, "{mode} {rules}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_service_is_asked_in_its_way() {
    let site = Site::start().await;
    for (service, path, variable, expected) in [
        (
            "brave",
            "/brave",
            "BRAVE_API_KEY",
            "GET /brave?q=the+book+%26+more&text_decorations=false&count=3 x-subscription-token=key-of-search-1",
        ),
        (
            "tavily",
            "/tavily",
            "TAVILY_API_KEY",
            "POST /tavily authorization=Bearer key-of-search-1 {\"query\":\"the book & more\",\"max_results\":3}",
        ),
        ("searxng", "", "NOTHING", "GET /search?q=the+book+%26+more&format=json"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let acts =
            vec![calls("web_search", &json!({"query": "the book & more", "limit": 3})), says("Finished.")];
        let model = Server::start(acts).await;
        let config = format!("web_search = \"{service}\"\nweb_search_url = \"{}\"\n", site.url(path));
        let mut command = program(place.path(), &config, &model);
        let ended = run(command.env(variable, "key-of-search-1").args(["-p", "go"]), None).await;
        assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
        let text = last_result(&bodies(&model));
        assert!(
            text.contains("1. The ") && text.contains("\n   https://doc.example/book\n   All of it.\n"),
            "{text}"
        );
        assert_eq!(site.seen().last().unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_service_is_kept_where_keys_are() {
    let site = Site::start().await;
    let place = tempfile::tempdir().unwrap();
    let search = || vec![calls("web_search", &json!({"query": "x"})), says("Finished.")];
    let config = format!("web_search = \"tavily\"\nweb_search_url = \"{}\"\n", site.url("/refuses"));
    let model = Server::start(search()).await;
    let ended = run(program(place.path(), &config, &model).args(["-p", "go"]), None).await;
    let text = last_result(&bodies(&model));
    assert!(
        text.contains("there is no key for Tavily; the user can set TAVILY_API_KEY"),
        "{text} {}",
        ended.err
    );
    let home = place.path().join("config");
    let set = run(
        bare(place.path()).env("TAU_HOME", &home).args(["auth", "set", "tavily"]),
        Some("tvly-secret-key-123\n"),
    )
    .await;
    assert_eq!(set.out, "saved the key for tavily to auth.json\n", "{}", set.err);
    let list = run(bare(place.path()).env("TAU_HOME", &home).args(["auth", "list"]), None).await;
    assert!(
        list.out.lines().any(|line| line.starts_with("tavily") && line.contains("auth.json")),
        "{}",
        list.out
    );
    let model = Server::start(search()).await;
    run(program(place.path(), &config, &model).args(["-p", "go"]), None).await;
    assert_eq!(
        site.seen(),
        ["POST /refuses authorization=Bearer tvly-secret-key-123 {\"query\":\"x\",\"max_results\":8}"]
    );
    let text = last_result(&bodies(&model));
    assert!(text.starts_with("cannot search with Tavily: ") && !text.contains("tvly-secret"), "{text}");
    for file in walk(&home) {
        let is_auth = file.ends_with("auth.json");
        let bytes = std::fs::read(&file).unwrap();
        assert!(is_auth || !String::from_utf8_lossy(&bytes).contains("tvly-secret"), "{}", file.display());
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_approves_a_page() {
    let site = Site::start().await;
    let place = tempfile::tempdir().unwrap();
    let model = Server::start(fetches(&site.url("/x"))).await;
    let mut command = program(place.path(), &format!("permission_mode = \"ask\"\n{ON}"), &model);
    let mut child = command.args(["--mode", "rpc"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async |wanted: &str| loop {
        let line = lines.next_line().in_time(wanted).await.unwrap().expect("a record");
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["type"] == wanted {
            return record;
        }
    };
    input.write_all(b"{\"type\":\"prompt\",\"message\":\"go\"}\n").await.unwrap();
    let request = next("approval_requested").await["request"].clone();
    assert_eq!(request["access"]["network"], json!(["127.0.0.1"]), "{request}");
    assert_eq!(request["suggestedRules"], json!(["web_fetch(127.0.0.1)"]));
    assert_eq!(request["title"], site.url("/x").as_str());
    assert!(site.seen().is_empty(), "not before it is approved");
    let rule = json!({"type": "answer_approval", "approvalId": request["id"], "decision": "allow_always",
        "rules": ["web_fetch(127.0.0.1)"], "scope": "user"});
    input.write_all(format!("{rule}\n").as_bytes()).await.unwrap();
    let end = next("tool_execution_end").await;
    assert!(end.to_string().contains("# Start here"), "{end}");
    next("agent_settled").await;
    drop(input);
    child.wait().in_time("its end").await.unwrap();
    let config = std::fs::read_to_string(place.path().join("config/config.toml")).unwrap();
    assert!(config.contains("allow = [\"web_fetch(127.0.0.1)\"]"), "{config}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_as_lines_hold_the_page() {
    let site = Site::start().await;
    let (ended, _) = printed(ON, fetches(&site.url("/x")), &["--mode", "json"]).await;
    let records: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = records.iter().find(|record| record["type"] == "tool_execution_end").unwrap().to_string();
    assert!(end.contains("# Start here") && end.contains("\"kind\":\"text\""), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_asks_and_shows_the_page() {
    let site = Site::start().await;
    let model = Server::start(fetches(&site.url("/guide"))).await;
    let (base, url) = (model.url(), site.url("/guide"));
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; printf '%s' '{ON}' > \"$TAU_HOME/config.toml\"\n\
         exec \"$TAU_BIN\" --permission-mode ask --base-url {base} --api-key x --model m"
    );
    let screen = Terminal::program(Path::new("/bin/sh"), &["-c", &script], 100, 30);
    screen.wait_for("ask for something");
    screen.type_keys("go\r");
    screen.wait_for("1 Yes, once");
    let asked = screen.text();
    assert!(asked.contains(&url) && asked.contains("no rule allows 127.0.0.1"), "{asked}");
    // Keys typed at once do not count.
    std::thread::sleep(Duration::from_millis(450));
    screen.type_keys("y");
    screen.wait_for("Finished.");
    screen.wait_for("# Start here");
    assert_eq!(site.seen(), ["GET /guide"]);
}
