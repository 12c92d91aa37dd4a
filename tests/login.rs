//! Logins with the account of a subscription: the real program, the authorization servers of every login on
//! loopback, and an obedient browser.

mod server;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use self::server::{Manner, Server};
use crate::screen::Screen as Terminal;
use crate::support::login::{Login, all_text, fetch};
use crate::support::program::{Ended, bare, run};
use crate::time_limit::InTime;

/// A home folder whose logins take place at this server.
fn home(server: &Server) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let url = server.url();
    let mut text = String::new();
    for (provider, base) in [
        ("openai-codex", Some("/codex")),
        ("github-copilot", None),
        ("openrouter", Some("/or/api/v1")),
        ("kimi-coding", Some("/coding/v1")),
        ("qwen-code", None),
    ] {
        if let Some(base) = base {
            text += &format!("[vendors.{provider}]\nbase_url = \"{url}{base}\"\n");
        }
        text += &format!("[vendors.{provider}.login]\nurl = \"{url}\"\ncallback_port = 0\n");
    }
    std::fs::write(config.join("models.toml"), text).unwrap();
    place
}

/// The program with `place` as its home.
fn tau(place: &Path, arguments: &[&str]) -> Command {
    let mut command = bare(place);
    command.env("TAU_HOME", place.join("config")).env("TAU_LOCAL_SERVERS", "false").args(arguments);
    command
}

async fn ended(place: &Path, arguments: &[&str]) -> Ended {
    run(&mut tau(place, arguments), None).await
}

/// Logs in with a code for any device.
async fn log_in(place: &Path, name: &str) {
    let ended = ended(place, &["login", name, "--device", "--no-browser"]).await;
    assert!(ended.code == 0 && ended.out.contains("logged in to "), "{ended:?}");
}

/// The entry of a provider in `auth.json`.
fn entry(place: &Path, provider: &str) -> Value {
    let text = std::fs::read_to_string(place.join("config/auth.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[provider].clone()
}

/// Makes the saved tokens expire.
fn expire(place: &Path, provider: &str) {
    let file = place.join("config/auth.json");
    let mut all: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    all[provider]["expires"] = json!(1000);
    std::fs::write(&file, all.to_string()).unwrap();
}

/// A prompt that is answered.
async fn answered(place: &Path, model: &str) {
    let ended = ended(place, &["-p", "--model", model, "hello"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "Hello from the plan.\n"), "{model}: {ended:?}");
}

fn none_wrong(server: &Server) {
    assert_eq!(server.known().wrong, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn chatgpt_in_the_browser() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    let login = Login::start(&mut tau(place.path(), &["login", "chatgpt", "--no-browser"])).await;
    let target = login.target().await.replace("localhost", "127.0.0.1");
    // A page that another site has made up changes nothing.
    let foreign = format!("{}?code=x&state=y", target.split('?').next().unwrap());
    assert_eq!(fetch(&foreign).await.0, 400);
    assert_eq!(fetch(&target.replace("/auth/callback", "/callback")).await.0, 404);
    let (status, _, body) = fetch(&target).await;
    assert!(status == 200 && body.contains("<h1>tau is logged in</h1>"), "{status} {body}");
    let end = login.end().await;
    assert!(end.code == 0 && end.out.contains("logged in to ChatGPT (Plus, Pro, Business)"), "{end:?}");
    assert!(end.out.contains("try it: tau --model openai-codex/gpt-"), "{end:?}");
    let mode = std::fs::metadata(place.path().join("config/auth.json")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    answered(place.path(), "openai-codex/gpt-6.1-sol").await;
    let asked = server.last();
    let header = |name: &str| asked.headers.get(name).map(String::as_str);
    assert_eq!(asked.path, "/codex/responses");
    assert_eq!(header("chatgpt-account-id"), Some("account-of-the-user"));
    assert_eq!((header("originator"), header("openai-beta")), (Some("tau"), Some("responses=experimental")));
    assert!(header("session-id").is_some_and(|id| !id.is_empty()));
    assert_eq!((&asked.body["store"], &asked.body["stream"]), (&json!(false), &json!(true)));
    assert!(asked.body["instructions"].as_str().is_some_and(|text| text.len() > 100), "{}", asked.body);
    assert_eq!(asked.body["input"][0]["role"], "user", "{}", asked.body);
    assert_eq!(asked.body.get("max_output_tokens"), None);
    assert_eq!(asked.body["include"], json!(["reasoning.encrypted_content"]));
    none_wrong(&server);

    let list = ended(place.path(), &["login"]).await;
    let row = list.out.lines().find(|line| line.starts_with("chatgpt")).unwrap();
    assert!(list.code == 0 && row.ends_with("openai-codex    logged in"), "{list:?}");
    let list = ended(place.path(), &["auth"]).await;
    let row = list.out.lines().find(|line| line.starts_with("openai-codex")).unwrap();
    assert!(row.ends_with("yes         login"), "{list:?}");
    let removed = ended(place.path(), &["auth", "remove", "openai-codex"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    // Servers on this machine may need no login.
    std::fs::remove_file(place.path().join("config/models.toml")).unwrap();
    let ended = ended(place.path(), &["-p", "--model", "openai-codex/gpt-6.1-sol", "hello"]).await;
    assert!(ended.code == 3 && ended.err.contains("run `tau login chatgpt`"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_over_ssh_shows_a_code() {
    let polls = vec!["authorization_pending", "authorization_pending"];
    let server = Server::start(Manner { polls, ..Manner::default() }).await;
    let place = home(&server);
    let mut command = tau(place.path(), &["login", "chatgpt"]);
    // No browser is opened: the user would not see it.
    command.env("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22").env("BROWSER", "touch opened");
    let end = run(&mut command, None).await;
    assert!(end.code == 0 && end.out.contains("/codex/device\n") && end.out.contains("ABCD-1234"), "{end:?}");
    assert!(!place.path().join("opened").exists());
    assert_eq!(server.known().grants, ["authorization_code"]);
    answered(place.path(), "openai-codex/gpt-6.1-sol").await;
    none_wrong(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_pasted_ends_a_login() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    let mut login = Login::start(&mut tau(place.path(), &["login", "chatgpt", "--no-browser"])).await;
    let target = login.target().await + "\n";
    login.child.stdin.take().unwrap().write_all(target.as_bytes()).await.unwrap();
    assert_eq!(login.end().await.code, 0);
    let mut login = Login::start(&mut tau(place.path(), &["login", "chatgpt", "--no-browser"])).await;
    // What is wrong is said, and the login waits on.
    let (other, target) = (target.replace("state=", "state=x"), login.target().await);
    let mut input = login.child.stdin.take().unwrap();
    input.write_all(format!("{other}hello\n{target}\n").as_bytes()).await.unwrap();
    let end = login.end().await;
    assert_eq!((end.code, end.err.matches("does not belong to this login").count()), (0, 2), "{end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_was_used_gives_nothing() {
    let server = Server::start(Manner { is_replayed: true, ..Manner::default() }).await;
    let place = home(&server);
    let login = Login::start(&mut tau(place.path(), &["login", "chatgpt", "--no-browser"])).await;
    let target = login.target().await.replace("localhost", "127.0.0.1");
    let (status, _, body) = fetch(&target).await;
    assert!(status == 400 && body.contains("The login has failed"), "{status} {body}");
    let end = login.end().await;
    let why = "not logged in to ChatGPT (Plus, Pro, Business): there are no tokens: invalid_grant: sent by the server";
    assert!(end.code == 1 && end.err.contains(why) && !end.err.contains("the-code"), "{end:?}");
    assert!(!place.path().join("config/auth.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_wait_as_long_as_the_server_says() {
    for (name, model, path) in [
        ("copilot", "github-copilot/gemini-3.8-flash", "/copilot/chat/completions"),
        ("kimi", "kimi-coding/k3", "/coding/v1/chat/completions"),
        ("qwen", "qwen-code/coder-model", "/qwen/v1/chat/completions"),
    ] {
        let polls = vec!["authorization_pending", "slow_down", "authorization_pending"];
        let server = Server::start(Manner { polls, ..Manner::default() }).await;
        let place = home(&server);
        let end = ended(place.path(), &["login", name, "--no-browser"]).await;
        assert!(end.code == 0 && end.out.contains("WXYZ-5678") && end.out.contains("/device\n"), "{end:?}");
        answered(place.path(), model).await;
        assert_eq!(server.last().path, path);
        none_wrong(&server);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_code_is_refused_or_expires() {
    let cases = [
        (vec!["access_denied"], 60.0, "the login was refused"),
        (vec!["expired_token"], 60.0, "the code has expired; log in again for a new one"),
        (vec!["authorization_pending"; 20], 1.0, "the code has expired; log in again for a new one"),
        (vec!["unknown_error"], 60.0, "unknown_error"),
    ];
    for (polls, code_life, why) in cases {
        let server = Server::start(Manner { polls, code_life, ..Manner::default() }).await;
        let place = home(&server);
        for name in ["copilot", "qwen"] {
            let end = ended(place.path(), &["login", name, "--no-browser"]).await;
            assert!(
                end.code == 1 && end.err.contains(why) && !end.err.contains("the-device-code"),
                "{end:?}"
            );
            server.again();
        }
        assert!(!place.path().join("config/auth.json").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copilot_is_asked_as_it_expects() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    log_in(place.path(), "copilot").await;
    assert_eq!(server.known().grants[1..], ["copilot"]);
    for (model, path) in [
        ("github-copilot/claude-sonnet-5.5", "/copilot/v1/messages"),
        ("github-copilot/gpt-6.1-sol", "/copilot/responses"),
        ("github-copilot/gemini-3.8-flash", "/copilot/chat/completions"),
    ] {
        answered(place.path(), model).await;
        let asked = server.last();
        let header = |name: &str| asked.headers.get(name).map(String::as_str);
        assert_eq!(asked.path, path);
        assert!(header("authorization").is_some_and(|value| value.contains("copilot-token-")), "{asked:?}");
        assert_eq!(
            (header("x-initiator"), header("openai-intent")),
            (Some("user"), Some("conversation-edits"))
        );
        assert_eq!(header("copilot-integration-id"), Some("vscode-chat"));
        assert!(header("editor-version").is_some() && header("x-api-key").is_none(), "{asked:?}");
        assert_eq!(header("copilot-vision-request"), None);
    }
    // The short token is exchanged again, the login itself stays.
    expire(place.path(), "github-copilot");
    answered(place.path(), "github-copilot/gemini-3.8-flash").await;
    assert_eq!(server.known().grants[1..], ["copilot", "copilot"]);
    none_wrong(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_in_place_of_an_answer_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let page = || async { axum::response::Html("<!doctype html><title>Blocked by policy</title>") };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(page)).await });
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("config")).unwrap();
    let text = format!("[vendors.kimi-coding.login]\nurl = \"{url}\"\n");
    std::fs::write(place.path().join("config/models.toml"), text).unwrap();
    let named = "a web page answered, not the API: Blocked by policy (status 200)";
    let end = ended(place.path(), &["login", "kimi", "--no-browser"]).await;
    assert!(end.code == 1 && end.err.contains(named), "{end:?}");
    let mut command = tau(place.path(), &["add", "npm:x", "--yes"]);
    command.env("npm_config_registry", &url);
    let end = run(&mut command, None).await;
    let named = named.replace("API", "file");
    assert!(end.code == 3 && end.err.contains(&named), "{end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_copilot_is_told_so() {
    let why = "Contact your organization for Copilot.";
    let server = Server::start(Manner { no_plan: Some(why), ..Manner::default() }).await;
    let place = home(&server);
    let end = ended(place.path(), &["login", "copilot", "--no-browser"]).await;
    assert!(end.code == 1 && end.err.contains(why), "{end:?}");
    // Neither does a new login help once the plan has ended.
    let held = json!({"github-copilot": {"type": "oauth", "access": "old", "refresh": "gho-the-github-token", "expires": 1}});
    std::fs::write(place.path().join("config/auth.json"), held.to_string()).unwrap();
    let end = ended(place.path(), &["-p", "--model", "github-copilot/gemini-3.8-flash", "hello"]).await;
    assert!(end.code != 0 && end.err.contains(why) && !end.err.contains("log in again"), "{end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn openrouter_gives_a_key() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    let login = Login::start(&mut tau(place.path(), &["login", "openrouter", "--no-browser"])).await;
    let target = login.target().await.replace("localhost", "127.0.0.1");
    // There is no state, so the path is a secret.
    let (start, _) = target.split_once("/callback/").unwrap();
    assert_eq!(fetch(&format!("{start}/callback?code=the-code")).await.0, 404);
    assert_eq!(fetch(&format!("{start}/callback/x?code=the-code")).await.0, 404);
    assert_eq!(fetch(&target).await.0, 200);
    assert_eq!(login.end().await.code, 0);
    assert_eq!(entry(place.path(), "openrouter"), json!({"type": "api_key", "key": "sk-or-v1-the-key"}));
    answered(place.path(), "openrouter/openai/gpt-oss-120b").await;
    none_wrong(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_claude_is_pasted() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    let wrong = run(&mut tau(place.path(), &["login", "claude"]), Some("sk-ant-api03-key\n")).await;
    assert!(wrong.code == 2 && wrong.err.contains("claude setup-token"), "{wrong:?}");
    assert!(!wrong.err.contains("api03") && !place.path().join("config/auth.json").exists());
    let right = run(&mut tau(place.path(), &["login", "claude"]), Some("sk-ant-oat01-the-token\n")).await;
    assert!(
        right.code == 0
            && right.out.contains("saved the token for Claude")
            && right.out.contains("tau auth check anthropic"),
        "{right:?}"
    );
    server.known().access = vec!["sk-ant-oat01-the-token".to_owned()];
    let mut command = tau(place.path(), &["-p", "--model", "anthropic/claude-haiku-4-5", "hello"]);
    let said = run(command.env("ANTHROPIC_BASE_URL", server.url()), None).await;
    assert_eq!((said.code, said.out.as_str()), (0, "Hello from the plan.\n"), "{said:?}");
    let asked = server.last();
    assert!(
        asked.headers["anthropic-beta"].contains("oauth-2025-04-20")
            && !asked.headers.contains_key("x-api-key")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_renewed_and_replaced() {
    for (name, provider, model) in [
        ("kimi", "kimi-coding", "kimi-coding/k3"),
        ("qwen", "qwen-code", "qwen-code/coder-model"),
        ("chatgpt", "openai-codex", "openai-codex/gpt-6.1-sol"),
    ] {
        let server = Server::start(Manner::default()).await;
        let place = home(&server);
        log_in(place.path(), name).await;
        let first = entry(place.path(), provider)["refresh"].clone();
        // Before they expire.
        expire(place.path(), provider);
        answered(place.path(), model).await;
        let second = entry(place.path(), provider);
        assert!(second["refresh"] != first && second["expires"].as_i64().unwrap() > 1000, "{second}");
        // When the service does not accept them any more.
        server.known().access.clear();
        answered(place.path(), model).await;
        let third = entry(place.path(), provider);
        assert!(third["refresh"] != second["refresh"], "{third}");
        let renewals = server.known().grants.iter().filter(|grant| *grant == "refresh_token").count();
        assert_eq!(renewals, 2);
        none_wrong(&server);
        // And when they cannot be renewed.
        server.known().refresh = None;
        expire(place.path(), provider);
        let end = ended(place.path(), &["-p", "--model", model, "hello"]).await;
        let hint = format!("log in again with `tau login {name}`");
        assert!(end.code != 0 && end.err.contains("cannot be renewed") && end.err.contains(&hint), "{end:?}");
        assert!(!end.err.contains("-token-"), "{end:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_programs_renew_tokens_once() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    log_in(place.path(), "kimi").await;
    expire(place.path(), "kimi-coding");
    server.known().manner.takes = Duration::from_millis(400);
    let both = [answered(place.path(), "kimi-coding/k3"), answered(place.path(), "kimi-coding/k3")];
    futures_util::future::join_all(both).in_time("both answers").await;
    let renewals = server.known().grants.iter().filter(|grant| *grant == "refresh_token").count();
    assert_eq!(renewals, 1);
    none_wrong(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_ends_before_the_program() {
    let prompt = "{\"type\":\"prompt\",\"message\":\"hello\"}\n";
    for (arguments, input, signal) in [
        (&["-p", "hello"][..], "", Signal::INT),
        (&["-p", "hello"], "", Signal::TERM),
        (&["--json", "hello"], "", Signal::INT),
        (&["--mode", "rpc"], prompt, Signal::TERM),
    ] {
        let server = Server::start(Manner::default()).await;
        let place = home(&server);
        log_in(place.path(), "kimi").await;
        expire(place.path(), "kimi-coding");
        let begun = server.known().begun;
        server.known().manner.takes = Duration::from_millis(700);
        let mut command = tau(place.path(), &[&["--model", "kimi-coding/k3"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // A prompt is read to its end, and the other waits for more.
        let mut writer = child.stdin.take().filter(|_| !input.is_empty());
        if let Some(writer) = &mut writer {
            writer.write_all(input.as_bytes()).await.unwrap();
        }
        async {
            while server.known().begun == begun {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        .in_time(&format!("a renewal by {arguments:?}"))
        .await;
        let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        child.wait_with_output().in_time("the end").await.unwrap();
        let kept = entry(place.path(), "kimi-coding")["refresh"].as_str().map(str::to_owned);
        let known = server.known().refresh.clone();
        let given = server.known().given;
        assert_eq!((kept, given), (known, 2), "{arguments:?}");
        answered(place.path(), "kimi-coding/k3").await;
        none_wrong(&server);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_spent_when_its_replacement_could_not_be_saved() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    // No file can be written.
    let limited = async |arguments: &[&str]| {
        let mut command = tau(place.path(), &[]);
        let script = format!("ulimit -f 0; exec {} \"$@\"", env!("CARGO_BIN_EXE_tau"));
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, "sh"]).args(arguments).env_clear().current_dir(place.path());
        shell.envs(command.as_std_mut().get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        run(&mut shell, None).await
    };
    let end = limited(&["login", "kimi", "--device", "--no-browser"]).await;
    assert!(end.code != 0 && end.err.contains("cannot write auth.json"), "{end:?}");
    assert!(end.out.is_empty() && server.known().device.is_none(), "{end:?}");

    log_in(place.path(), "kimi").await;
    expire(place.path(), "kimi-coding");
    let end = limited(&["-p", "--model", "kimi-coding/k3", "hello"]).await;
    let said = "was not renewed: ";
    assert!(
        end.code != 0 && end.err.contains(said) && end.err.contains("auth.json cannot be written"),
        "{end:?}"
    );
    assert!(
        end.err.contains("make that file and its folder writable") && !end.err.contains("log in again"),
        "{end:?}"
    );
    answered(place.path(), "kimi-coding/k3").await;
    none_wrong(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_a_plan_is_not_waited_for() {
    let body = json!({"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached",
        "plan_type": "plus", "resets_in_seconds": 7500}});
    let server = Server::start(Manner { service: Some((429, body)), ..Manner::default() }).await;
    let place = home(&server);
    log_in(place.path(), "chatgpt").await;
    let end = ended(place.path(), &["-p", "--model", "openai-codex/gpt-6.1-sol", "hello"]).await;
    assert!(end.code == 1 && end.err.contains("the limit of your plan ends in 2 h 5 min"), "{end:?}");
    assert_eq!(server.known().asked.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_nowhere_but_in_their_file() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    log_in(place.path(), "kimi").await;
    log_in(place.path(), "copilot").await;
    server.known().refresh = Some("refresh-token-1".to_owned());
    expire(place.path(), "kimi-coding");
    let mut command = tau(place.path(), &["-p", "--model", "kimi-coding/k3", "--verbose", "hello"]);
    let end = run(command.env("TAU_LOG", "trace"), None).await;
    assert_eq!(end.code, 0, "{end:?}");
    server.known().access.clear();
    server.known().refresh = None;
    let mut command = tau(place.path(), &["-p", "--model", "kimi-coding/k3", "hello"]);
    let refused = run(command.env("TAU_LOG", "trace"), None).await;
    assert_ne!(refused.code, 0);
    let text = format!(
        "{}{}{}{}{}",
        end.out,
        end.err,
        refused.out,
        refused.err,
        all_text(place.path(), "auth.json")
    );
    for secret in
        ["access-token-", "refresh-token-", "copilot-token-", "gho-the-github-token", "the-device-code"]
    {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("hello"), "the session was searched");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_cannot_be_is_refused() {
    let server = Server::start(Manner::default()).await;
    let place = home(&server);
    let cases: [(&[&str], i32, &str); 4] = [
        (&["login", "chatgtp"], 3, "no login \"chatgtp\"; did you mean chatgpt?"),
        (&["login", "nothing-like-it"], 3, "run `tau login` to see the logins"),
        (&["login", "openrouter", "--device"], 2, "OpenRouter has no codes for other devices"),
        (&["login", "chatgpt", "extra"], 2, "unexpected argument"),
    ];
    for (arguments, code, why) in cases {
        let end = ended(place.path(), arguments).await;
        assert!(end.code == code && end.err.contains(why), "{arguments:?}: {end:?}");
    }
    let insecure = "[vendors.kimi-coding.login]\nurl = \"http://auth.example\"\n";
    std::fs::write(place.path().join("config/models.toml"), insecure).unwrap();
    let end = ended(place.path(), &["login", "kimi"]).await;
    assert!(end.code == 1 && end.err.contains("it is not encrypted; use https://"), "{end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_on_the_screen() {
    let polls = vec!["authorization_pending"; 3];
    let server = Server::start(Manner { polls, ..Manner::default() }).await;
    let place = home(&server);
    let models = std::fs::read_to_string(place.path().join("config/models.toml")).unwrap();
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; cat >\"$TAU_HOME/models.toml\" <<'E'\n{models}\nE\nexport BROWSER=true"
    );
    let screen = Terminal::prepared(&script, "", 100, 30);
    screen.type_keys("/login kimi\r");
    screen.wait_for("WXYZ-5678");
    screen.wait_for("Log in to Kimi Code");
    screen.wait_for("logged in to Kimi Code");
    let auth = std::fs::read_to_string(screen.tau_home().join("auth.json")).unwrap();
    assert!(auth.contains("\"kimi-coding\"") && auth.contains("\"oauth\""), "{auth}");
    // Escape ends a login that waits.
    screen.type_keys("/login chatgpt\r");
    screen.wait_for("Your browser opens this page");
    screen.type_keys("\x1b");
    screen.wait_until("no login", |cells| !cells.contents().contains("Log in to ChatGPT"));
    screen.type_keys("hello\r");
    screen.wait_for("Hello from the plan.");
    none_wrong(&server);
}

/// Seconds since 1970, this long from now.
fn later(seconds: i64) -> i64 {
    jiff::Timestamp::now().as_second() + seconds
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_the_plan_are_shown() {
    let limits = vec![
        ("anthropic-ratelimit-unified-5h-utilization", "0.42".to_owned()),
        ("anthropic-ratelimit-unified-5h-reset", later(2 * 3600 + 30).to_string()),
        ("anthropic-ratelimit-unified-7d-utilization", "0.13".to_owned()),
    ];
    let server = Server::start(Manner { limits, ..Manner::default() }).await;
    server.known().access = vec!["sk-ant-oat01-of-the-environment".to_owned()];
    let (url, service) = (server.url(), server.clone());
    // The token of `claude setup-token`, where no key is set.
    let script =
        format!("export ANTHROPIC_BASE_URL={url} CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-of-the-environment");
    let screen = Terminal::prepared(&script, "--model anthropic/claude-haiku-4-5", 120, 30);
    screen.type_keys("hello\r");
    screen.wait_for("Hello from the plan.");
    screen.wait_for("plan 42% (5h)");
    screen.type_keys("/usage\r");
    screen.wait_for("plan: 5h 42% used, resets in 2h0");
    screen.wait_for("week 13% used");
    // A refusal tells them too.
    let refusal = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "too much"}});
    service.known().manner.service = Some((429, refusal));
    service.known().manner.limits[0].1 = "1.0".to_owned();
    screen.type_keys("again\r");
    screen.wait_for("plan 100% (5h)");
    screen.type_keys("\x1b");
    screen.wait_for("stopped");
    // Another provider has other limits.
    screen.type_keys("/model demo\r");
    screen.wait_until("no plan", |cells| !cells.contents().contains("(5h)"));
    assert!(server.last().headers["anthropic-beta"].contains("oauth-2025-04-20"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_counts_before_the_token_of_claude() {
    let server = Server::start(Manner::default()).await;
    server.known().access = vec!["the-auth-token".to_owned()];
    let place = home(&server);
    let asked = |variables: &[(&str, &str)]| {
        let mut command = tau(place.path(), &["-p", "--model", "anthropic/claude-haiku-4-5", "hello"]);
        command.env("ANTHROPIC_BASE_URL", server.url()).envs(variables.iter().copied());
        command
    };
    let token = ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-of-the-environment");
    run(&mut asked(&[token, ("ANTHROPIC_API_KEY", "the-key")]), None).await;
    assert_eq!(server.last().headers["x-api-key"], "the-key");
    let said = run(&mut asked(&[token, ("ANTHROPIC_AUTH_TOKEN", "the-auth-token")]), None).await;
    assert_eq!((said.code, server.last().headers["authorization"].as_str()), (0, "Bearer the-auth-token"));
}
