//! Logins at servers: the real program, an authorization server, and an obedient browser.

mod server;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

use self::server::{Manner, Servers};
use super::printed_in;
use crate::support::login::{Login, all_text, fetch};
use crate::support::program::{Ended, bare, calls, last_result, offered_tools, run, says};
use crate::time_limit::InTime;

/// A home folder with this `config.toml`.
fn home(config: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), config);
    place
}

fn write(place: &Path, config: &str) {
    std::fs::create_dir_all(place.join("config")).unwrap();
    std::fs::write(place.join("config/config.toml"), config).unwrap();
}

/// `tau mcp …` with `place` as its home.
fn mcp(place: &Path, arguments: &[&str]) -> Command {
    let mut command = bare(place);
    command.env("TAU_HOME", place.join("config")).arg("mcp").args(arguments);
    command
}

async fn ended(place: &Path, arguments: &[&str]) -> Ended {
    run(&mut mcp(place, arguments), None).await
}

/// A `tau mcp login` that waits for the browser.
async fn start_login(place: &Path, more: &[&str]) -> Login {
    Login::start(mcp(place, &["login", "far", "--no-browser"]).args(more)).await
}

/// The end of a login: its exit code, and what it said.
async fn end_login(login: Login) -> (i32, String) {
    let ended = login.end().await;
    (ended.code, ended.err)
}

/// Logs in as a user would.
async fn log_in(place: &Path) {
    let login = start_login(place, &[]).await;
    let (status, _, body) = fetch(&login.target().await).await;
    assert!(status == 200 && body.contains("<h1>tau is logged in</h1>"), "{status} {body}");
    assert_eq!(end_login(login).await, (0, String::new()));
}

/// The file of the login.
fn file(place: &Path) -> PathBuf {
    let folder = place.join("config/mcp-logins");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().unwrap() == "json").collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn saved(place: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file(place)).unwrap()).unwrap()
}

/// Makes the saved tokens expire.
fn expire(place: &Path) {
    let mut saved = saved(place);
    saved["login"]["credentials"]["token_received_at"] = json!(1000);
    std::fs::write(file(place), saved.to_string()).unwrap();
}

/// The result of a call to the server's tools.
async fn called(place: &Path, config: &str, tool: &str) -> (Ended, String) {
    let acts = vec![calls(&format!("mcp__far__{tool}"), &json!({})), says("Finished.")];
    let (ended, requests) = printed_in(place, config, acts, &[]).await;
    let result = last_result(&requests);
    (ended, result)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_in_the_browser_gives_tools() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    let browser = place.path().join("browser");
    let opened = place.path().join("opened");
    let script =
        format!("#!/bin/sh\nprintf '%s' \"$1\" >{0}.new\nenv >{0}.env\nmv {0}.new {0}\n", opened.display());
    std::fs::write(&browser, script).unwrap();
    let mut command = mcp(place.path(), &["login", "far"]);
    command.env("BROWSER", format!("sh {}", browser.display())).env("SOME_API_KEY", "sk-not-for-browsers");
    let child = command.spawn().unwrap();
    let look = || async {
        while !opened.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    look().in_time("the browser").await;
    let page = std::fs::read_to_string(&opened).unwrap();
    let env = std::fs::read_to_string(opened.with_extension("env")).unwrap();
    assert!(env.contains("HOME=") && !env.contains("sk-not-for-browsers"), "{env}");
    let (_, target, _) = fetch(&page).await;
    assert_eq!(fetch(&target.unwrap()).await.0, 200);
    let output = child.wait_with_output().in_time("the end of the login").await.unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(out.contains("logged in to far; `tau mcp test far` lists its tools\n"), "{out}");

    let registered = servers.known().registrations[0].clone();
    assert_eq!(registered["client_name"], "tau");
    assert_eq!(registered["token_endpoint_auth_method"], "none");
    let redirect = registered["redirect_uris"][0].as_str().unwrap();
    assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/callback"), "{redirect}");
    assert!(page.contains("scope=files"), "{page}");

    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = file(place.path());
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("access-token-1") && !text.contains("who-the-user-is"), "{text}");

    let (ended, result) = called(place.path(), &config, "add").await;
    assert!(!ended.err.contains("MCP") && result == "added far away", "{result} {}", ended.err);
    assert_eq!(servers.grants(), ["authorization_code"]);
    let listed = self::ended(place.path(), &["list"]).await;
    assert!(listed.out.starts_with("far  logged in  http://127.0.0.1:"), "{listed:?}");

    let out = self::ended(place.path(), &["logout", "far"]).await;
    assert_eq!((out.code, out.out.as_str()), (0, "logged out of far\n"), "{out:?}");
    assert!(!file.exists());
    let again = self::ended(place.path(), &["logout", "far"]).await;
    assert!(again.code == 2 && again.err.contains("not logged in to far"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_logged_in_is_told_what_to_run() {
    for is_silent in [false, true] {
        let servers = Servers::start(Manner { is_silent, ..Manner::default() }).await;
        let config = servers.config("");
        let place = home(&config);
        let listed = ended(place.path(), &["list"]).await;
        assert!(listed.out.starts_with("far  on  "), "{listed:?}");
        let tried = ended(place.path(), &["test", "far"]).await;
        let why = "far cannot be used: it needs a login; run `tau mcp login far`";
        assert!(tried.code == 1 && tried.err.contains(why), "{tried:?}");
        let (ended_by, requests) = printed_in(place.path(), &config, vec![says("Finished.")], &[]).await;
        assert_eq!(ended_by.out.trim(), "Finished.");
        assert!(ended_by.err.contains(why), "{}", ended_by.err);
        assert_eq!(offered_tools(&requests[0]).len(), 6);
        let listed = ended(place.path(), &["list"]).await;
        assert!(listed.out.starts_with("far  needs login  "), "{listed:?}");
        assert!(listed.out.ends_with("far needs login: run `tau mcp login far`\n"), "{listed:?}");
        log_in(place.path()).await;
        let (_, result) = called(place.path(), &config, "add").await;
        assert_eq!(result, "added far away");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_have_expired_are_renewed() {
    for gives_secrets in [false, true] {
        let servers = Servers::start(Manner { gives_secrets, ..Manner::default() }).await;
        let config = servers.config("");
        let place = home(&config);
        log_in(place.path()).await;
        expire(place.path());
        let before = servers.known().calls;
        let (ended, result) = called(place.path(), &config, "add").await;
        assert!(!ended.err.contains("MCP") && result == "added far away", "{result} {}", ended.err);
        assert_eq!(servers.grants(), ["authorization_code", "refresh_token"]);
        assert!(servers.known().calls > before);
        let saved = saved(place.path()).to_string();
        assert!(saved.contains("access-token-2") && saved.contains("refresh-token-2"), "{saved}");
        assert!(!saved.contains("token-1\""), "{saved}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cannot_be_renewed_is_used_until_it_expires() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    log_in(place.path()).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut saved = saved(place.path());
    let credentials = &mut saved["login"]["credentials"];
    // It is valid for 40 seconds.
    credentials["token_received_at"] = json!(now - 3560);
    credentials["token_response"].as_object_mut().unwrap().remove("refresh_token").unwrap();
    std::fs::write(file(place.path()), saved.to_string()).unwrap();
    let (ended, result) = called(place.path(), &config, "add").await;
    assert!(!ended.err.contains("MCP") && result == "added far away", "{result} {}", ended.err);
    assert_eq!(servers.grants(), ["authorization_code"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_not_accepted_any_more_are_renewed_once() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    log_in(place.path()).await;
    // The call itself invalidates the token, so the next one meets a server that refuses it.
    let acts =
        vec![calls("mcp__far__expire", &json!({})), calls("mcp__far__add", &json!({})), says("Finished.")];
    let (ended, requests) = printed_in(place.path(), &config, acts, &[]).await;
    assert!(!ended.err.contains("MCP") && last_result(&requests) == "added far away", "{}", ended.err);
    assert_eq!(servers.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_programs_renew_a_token_once() {
    let servers = Servers::start(Manner::default()).await;
    let place = home(&servers.config(""));
    log_in(place.path()).await;
    expire(place.path());
    servers.known().manner.takes = Duration::from_millis(500);
    let mut programs = Vec::new();
    for _ in 0..3 {
        let child = mcp(place.path(), &["test", "far"]).spawn().unwrap();
        programs.push(child);
    }
    for child in programs {
        let output = child.wait_with_output().in_time("the end of a test").await.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(servers.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_was_revoked_has_to_be_made_again() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    log_in(place.path()).await;
    {
        let mut known = servers.known();
        known.access.clear();
        known.refresh = None;
    }
    let tried = ended(place.path(), &["test", "far"]).await;
    assert!(tried.code == 1 && tried.err.contains("it needs a login; run `tau mcp login far`"), "{tried:?}");
    let listed = ended(place.path(), &["list"]).await;
    assert!(listed.out.contains("far needs login: run `tau mcp login far`"), "{listed:?}");
    assert!(!saved(place.path()).to_string().contains("token-1"));
    // Nothing is requested repeatedly.
    let tried = ended(place.path(), &["test", "far"]).await;
    assert_eq!((tried.code, servers.grants().len()), (1, 2));
    log_in(place.path()).await;
    assert_eq!(called(place.path(), &config, "add").await.1, "added far away");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_fails_for_now_keeps_the_login() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    log_in(place.path()).await;
    expire(place.path());
    // A redirect is not followed either: the token would go elsewhere.
    for answer in [(503, "busy refresh-token-1"), (307, ""), (200, "{\"access_token\": 7}")] {
        servers.known().manner.answers = Some(answer);
        let tried = ended(place.path(), &["test", "far"]).await;
        assert!(tried.code == 1 && tried.err.contains("its tokens cannot be renewed: "), "{tried:?}");
        assert!(!tried.err.contains("refresh-token-1"), "{tried:?}");
    }
    servers.known().manner.answers = None;
    assert_eq!(called(place.path(), &config, "add").await.1, "added far away");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_answer_to_this_login_counts() {
    let servers = Servers::start(Manner::default()).await;
    let place = home(&servers.config(""));
    let login = start_login(place.path(), &[]).await;
    let target = login.target().await;
    let (callback, _) = target.split_once('?').unwrap();
    for wrong in ["?code=c&state=another", "?code=c", "?error=access_denied", "?error=x&state=another", ""] {
        let (status, _, body) = fetch(&format!("{callback}{wrong}")).await;
        assert!(
            status == 400 && body.contains("This is not the login that tau waits for"),
            "{wrong}: {body}"
        );
    }
    let other = callback.replace("/callback", "/favicon.ico");
    assert_eq!(fetch(&other).await.0, 404);
    // An opened but unused connection blocks no one.
    let address = callback.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let idle = TcpStream::connect(address).in_time("a connection").await.unwrap();
    assert_eq!(servers.grants(), [""; 0]);
    assert_eq!(fetch(&target).await.0, 200);
    drop(idle);
    assert_eq!(end_login(login).await, (0, String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_is_refused_says_so_here_and_there() {
    let refuses = "access_denied&error_description=%3Cb%3Enot+you%1B%5B31m";
    let servers = Servers::start(Manner { refuses: Some(refuses), ..Manner::default() }).await;
    let place = home(&servers.config(""));
    let login = start_login(place.path(), &[]).await;
    let (status, _, body) = fetch(&login.target().await).await;
    assert!(status == 400 && body.contains("access_denied: &lt;b&gt;not you"), "{status} {body}");
    let (code, err) = end_login(login).await;
    assert!(code == 1 && err.contains("not logged in to far: the login was refused: access_denied"), "{err}");
    assert!(!err.contains('\u{1b}'), "{err:?}");
    assert!(!place.path().join("config/mcp-logins").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_fails_is_reported_without_the_code() {
    let body = "{\"error\": \"invalid_grant\", \"error_description\": \"the-code-0 is not one\"}";
    let servers = Servers::start(Manner { answers: Some((400, body)), ..Manner::default() }).await;
    let place = home(&servers.config(""));
    let login = start_login(place.path(), &[]).await;
    let (status, _, body) = fetch(&login.target().await).await;
    assert!(status == 400 && body.contains("The login has failed"), "{body}");
    let (code, err) = end_login(login).await;
    assert!(code == 1 && err.contains("invalid_grant") && err.contains("[redacted] is not one"), "{err}");
    assert!(!err.contains("the-code-0") && !body.contains("the-code-0"), "{err} {body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_be_pasted_where_the_browser_is_elsewhere() {
    let servers = Servers::start(Manner::default()).await;
    let place = home(&servers.config(""));
    let mut login = start_login(place.path(), &[]).await;
    let target = login.target().await;
    let mut input = login.child.stdin.take().unwrap();
    input.write_all(format!("\n{target}\n").as_bytes()).await.unwrap();
    assert_eq!(end_login(login).await, (0, String::new()));
    let mut login = start_login(place.path(), &[]).await;
    let mut input = login.child.stdin.take().unwrap();
    let own = login.target().await;
    input.write_all(format!("{target}\n{own}\n").as_bytes()).await.unwrap();
    let (code, err) = end_login(login).await;
    assert!(code == 0 && err.contains("does not belong to this login"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_can_be_stopped() {
    let servers = Servers::start(Manner::default()).await;
    let place = home(&servers.config(""));
    let login = start_login(place.path(), &[]).await;
    let pid = rustix::process::Pid::from_raw(login.child.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, err) = end_login(login).await;
    assert!(code == 130 && err.contains("not logged in to far: stopped"), "{code} {err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_publish_what_they_should_not_get_no_login() {
    let text = |text: &str| Some(json!(text));
    let cases = [
        ("issuer", "issuer", text("https://elsewhere.example"), "mismatch"),
        ("issuer", "issuer", None, "missing required issuer"),
        ("resource", "resource", text("https://elsewhere.example/mcp"), "mismatch"),
        (
            "resource",
            "authorization_servers",
            Some(json!(["http://elsewhere.example"])),
            "http://elsewhere.example is not reached over HTTPS",
        ),
        (
            "issuer",
            "token_endpoint",
            text("http://elsewhere.example/t"),
            "elsewhere.example is not reached over",
        ),
        ("issuer", "authorization_endpoint", text("file:///etc/passwd"), "is not reached over HTTPS"),
        ("issuer", "registration_endpoint", text("http://10.1.1.1/r"), "is not reached over HTTPS"),
        (
            "issuer",
            "registration_endpoint",
            text("https://10.1.1.1/r"),
            "an address of this machine or its network",
        ),
        (
            "issuer",
            "code_challenge_methods_supported",
            Some(json!(["plain"])),
            "does not support PKCE with S256",
        ),
        ("issuer", "filler", text(&"x".repeat(1_000_000)), "is larger than 256 KB"),
        (
            "issuer",
            "registration_endpoint",
            None,
            "takes registered clients only; register tau there, and set `oauth = { client_id = \"…\" }`",
        ),
    ];
    for (document, field, value, why) in cases {
        let publishes = Some((document, field, value));
        let servers = Servers::start(Manner { publishes, ..Manner::default() }).await;
        let place = home(&servers.config(""));
        let tried = ended(place.path(), &["login", "far", "--no-browser"]).await;
        assert!(tried.code == 1 && tried.err.contains("not logged in to far: "), "{why}: {tried:?}");
        assert!(tried.err.contains(why), "{why}: {tried:?}");
        assert_eq!(servers.grants(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_are_for_servers_at_an_address_that_want_them() {
    let config = "[mcp.program]\ncommand = \"x\"\n[mcp.plain]\nurl = \"http://far.example/mcp\"\n\
                  [mcp.token]\nurl = \"https://far.example/mcp\"\nheaders = { authorization = \"Bearer x\" }\n\
                  [mcp.unset]\nurl = \"https://far.example/mcp\"\noauth = { client_id = \"$NOT_SET_HERE\" }\n";
    let place = home(config);
    for (name, why) in [
        ("program", "it is a program; only servers at a URL have logins"),
        ("plain", "http://far.example is not reached over HTTPS"),
        ("token", "its `headers` set Authorization"),
        ("unset", "the variable NOT_SET_HERE is not set"),
    ] {
        let tried = ended(place.path(), &["login", name]).await;
        assert!(tried.code == 1 && tried.err.contains(why), "{tried:?}");
    }
    let tried = ended(place.path(), &["login", "nobody"]).await;
    assert!(tried.code == 2 && tried.err.contains("no server is called \"nobody\""), "{tried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_client_is_used_with_its_secret() {
    let publishes = Some(("issuer", "registration_endpoint", None));
    let manner = Manner { publishes, ..Manner::default() };
    let servers = Servers::start(manner).await;
    let oauth = "oauth = { client_id = \"mine\", client_secret = \"$MY_SECRET\", scopes = [\"a\", \"b\"] }";
    let place = home(&servers.config(oauth));
    let mut command = mcp(place.path(), &["login", "far", "--no-browser"]);
    let mut child = command.env("MY_SECRET", "word").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let page = loop {
        let line = lines.next_line().in_time("the address").await.unwrap().expect("an address");
        if line.starts_with("http") {
            break line;
        }
    };
    assert!(page.contains("client_id=mine") && page.contains("scope=a+b"), "{page}");
    let (_, target, _) = fetch(&page).await;
    assert_eq!(fetch(&target.unwrap()).await.0, 200);
    assert_eq!(child.wait().in_time("the end").await.unwrap().code(), Some(0));
    expire(place.path());
    let tried = run(mcp(place.path(), &["test", "far"]).env("MY_SECRET", "word"), None).await;
    assert_eq!(tried.code, 0, "{tried:?}");
    let known = servers.known();
    assert!(known.registrations.is_empty());
    let sent =
        |name: &str| known.token_requests.iter().map(|request| request[name].as_str()).collect::<Vec<_>>();
    assert_eq!((sent("client_id"), sent("client_secret")), (vec!["mine"; 2], vec!["word"; 2]));
    assert!(!saved(place.path()).to_string().contains("word"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_in_their_file_only() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    let mut command = mcp(place.path(), &["login", "far", "--no-browser"]);
    let mut child = command.env("TAU_LOG", "trace,rmcp=trace").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut out = String::new();
    while let Some(line) = lines.next_line().in_time("its output").await.unwrap() {
        out += &line;
        if line.starts_with("http") {
            let (_, target, _) = fetch(&line).await;
            fetch(&target.unwrap()).await;
        }
    }
    assert_eq!(child.wait().in_time("the end").await.unwrap().code(), Some(0));
    expire(place.path());
    let acts = vec![
        calls("mcp__far__add", &json!({})),
        calls("bash", &json!({"command": "env"})),
        says("Finished."),
    ];
    let (ended, requests) = printed_in(place.path(), &config, acts, &["--verbose"]).await;
    assert_eq!(servers.grants().len(), 2);
    let everything =
        all_text(place.path(), "mcp-logins") + &out + &ended.out + &ended.err + &json!(requests).to_string();
    assert!(everything.contains("mcp__far__add"), "nothing was looked at");
    for secret in ["access-token-", "refresh-token-", "the-code-"] {
        assert!(!everything.contains(secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_login_is_reported_without_what_is_in_it() {
    let servers = Servers::start(Manner::default()).await;
    let place = home(&servers.config(""));
    log_in(place.path()).await;
    let path = file(place.path());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"access-token-1\"", "access-token-1")).unwrap();
    let tried = ended(place.path(), &["test", "far"]).await;
    assert!(tried.code == 1 && tried.err.contains("remove the file and log in again"), "{tried:?}");
    assert!(!tried.err.contains("token-1"), "{tried:?}");
    log_in(place.path()).await;
    assert_eq!(ended(place.path(), &["test", "far"]).await.code, 0);
    let removed = ended(place.path(), &["remove", "far"]).await;
    assert!(removed.out.ends_with("config.toml and forgot its login\n"), "{removed:?}");
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_needs_no_login_leaves_nothing_behind() {
    let servers = Servers::start(Manner { is_open: true, ..Manner::default() }).await;
    let place = home(&servers.config(""));
    assert_eq!(ended(place.path(), &["test", "far"]).await.code, 0);
    assert!(!place.path().join("config/mcp-logins").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_tau_uses_a_login_with_the_next_prompt() {
    let servers = Servers::start(Manner::default()).await;
    let config = servers.config("");
    let place = home(&config);
    let acts = vec![says("First."), says("Second."), calls("mcp__far__add", &json!({})), says("Finished.")];
    let model = crate::support::server::Server::start(acts).await;
    let mut client = super::client::Client::start(place.path(), &config, &model.url());
    for _ in 0..2 {
        client.ask(json!({"type": "prompt", "message": "go"})).await;
        client.event("agent_settled").await;
    }
    assert!(!model.requests()[1].contains("mcp__far__add"), "there is no login yet");
    log_in(place.path()).await;
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.event("agent_settled").await;
    let last = model.requests().pop().unwrap();
    assert!(last.contains("added far away"), "{last}");
}
