//! `tau models` and `tau auth` as programs, and the model lists of servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::screen::{SEEN, Screen};
use crate::time_limit::EndInTime;
use serde_json::{Value, json};
use tau::agent::catalogue::{AdHoc, Catalogue, listing};
use tau::agent::settings::Paths;
use tempfile::TempDir;

/// A server that answers by path, and the requests it got.
fn server(answers: &[(&'static str, &'static str, &'static str)]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answers = answers.to_vec();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut bytes = vec![0; 64 * 1024];
            let size = socket.read(&mut bytes).unwrap_or(0);
            let request = String::from_utf8_lossy(&bytes[..size]).into_owned();
            let known = answers.iter().find(|(start, ..)| request.starts_with(start));
            let (_, status, body) = known.unwrap_or(&("", "404 Not Found", "{}"));
            kept.lock().unwrap().push(request);
            let head =
                format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes()));
        }
    });
    (address, seen)
}

/// The exit of a program: code, standard output, standard error.
struct Ran(i32, String, String);

/// Runs tau with these arguments, variables and standard input.
fn tau(home: &TempDir, line: &str, env: &[(&str, &str)], stdin: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(line.split_whitespace()).env_clear().env("TAU_HOME", home.path()).current_dir(home.path());
    command.envs(env.iter().copied()).env("NO_PROXY", "");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.output_in_time(&format!("the end of tau {line}"));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran(output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn home(models: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("models.toml"), models).unwrap();
    home
}

const LIST: &str = r#"{"data":[{"id":"text-embed-1"},{"id":"big","context_length":131072,"name":"Big One"},
    {"id":"known","context_length":7}]}"#;
const SAYS: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[test]
fn the_table_says_what_is_known() {
    let home = home("");
    let Ran(code, table, _) = tau(&home, "models anthropic/ haiku-4-5", &[("ANTHROPIC_API_KEY", "sk-x")], "");
    assert_eq!(code, 0);
    let row = table.lines().find(|line| line.starts_with("anthropic/claude-haiku-4-5 ")).unwrap();
    assert_eq!(
        row.split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
            .replace("off,minimal,low,medium,high", "…"),
        "200k 64k $1/$5 … yes yes"
    );
    let Ran(code, list, _) = tau(&home, "models --json openrouter/auto", &[], "");
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!((code, &list[0]["cost"], &list[0]["usable"]), (0, &Value::Null, &json!(false)));
    let Ran(code, out, err) = tau(&home, "models claude-hiaku-4-5", &[], "");
    assert!(
        code == 3 && out.is_empty() && err.contains("did you mean") && err.contains("claude-haiku-4-5"),
        "{err}"
    );
    let Ran(code, help, _) = tau(&home, "models --help", &[], "");
    assert!(code == 0 && help.contains("--refresh") && help.contains("Exit codes"), "{help}");
}

#[test]
fn a_refresh_keeps_what_servers_list() {
    let (address, seen) = server(&[("GET /v1/models ", "200 OK", LIST)]);
    let home = home(&format!(
        "[vendors.mine]\nbase_url = \"http://{address}/v1\"\napi_key = \"sk-mine-0123456789\"\n\
         [[vendors.mine.models]]\nid = \"known\"\ncontext_window = 9000\n"
    ));
    let Ran(code, table, err) = tau(&home, "models --refresh mine/", &[], "");
    assert_eq!((code, err.as_str()), (0, "tau: mine: 2 models\n"));
    let rows: Vec<String> =
        table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(rows, ["mine/big 131k ? ? - - yes", "mine/known 9k ? ? - - yes"]);
    assert!(seen.lock().unwrap()[0].contains("authorization: Bearer sk-mine-0123456789\r\n"));
    // The list is kept, only for that address, and may be deleted at any time.
    let Ran(_, again, _) = tau(&home, "models mine/", &[], "");
    assert_eq!(again, table);
    assert_eq!(seen.lock().unwrap().len(), 1);
    std::fs::write(home.path().join("cache/models/mine.json"), "{").unwrap();
    let Ran(code, table, _) = tau(&home, "models mine/", &[], "");
    assert_eq!((code, table.lines().count()), (0, 2));
    let Ran(code, _, err) = tau(&self::home(""), "models --refresh", &[], "");
    assert!(code == 3 && err.contains("tau auth set"), "{err}");
}

#[test]
fn lists_are_of_one_address() {
    let home = home("");
    let paths = Paths::under(home.path());
    let catalogue = |base: &str| {
        let adhoc = AdHoc { provider: Some("mine".into()), base_url: base.into(), ..AdHoc::default() };
        Catalogue::new(Default::default(), Some(adhoc)).with_lists(&paths)
    };
    let first = catalogue("http://127.0.0.1:1/v1");
    let listed = listing::parse(&serde_json::from_str(LIST).unwrap()).unwrap();
    first.lists().keep(&first.endpoint("mine").unwrap(), &listed).unwrap();
    let window = |catalogue: &Catalogue| catalogue.get("mine", "big").map(|model| model.context_window);
    assert_eq!(window(&first), Some(131_072));
    assert_eq!(window(&catalogue("http://127.0.0.1:2/v1")), None);
}

#[test]
fn lists_of_providers_are_understood() {
    let router = json!({"data": [{
        "id": "a/b", "context_length": 10, "top_provider": {"max_completion_tokens": 5},
        "architecture": {"input_modalities": ["text", "image"]}, "supported_parameters": ["reasoning"],
        "pricing": {"prompt": "0.000003", "completion": "0.000015"}
    }, {"id": "a/auto", "pricing": {"prompt": "-1", "completion": "-1"}}]});
    let listed = listing::parse(&router).unwrap();
    let first = &listed[0];
    assert_eq!((first.context_window, first.max_tokens, first.image, first.reasoning), (10, 5, true, true));
    assert_eq!(first.cost.map(|price| (price.input, price.output)), Some((3.0, 15.0)));
    assert_eq!(listed[1].cost, None, "a price that varies is not known");
    let google = json!({"models": [
        {"name": "models/g", "inputTokenLimit": 9, "outputTokenLimit": 3, "thinking": true,
         "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/e", "supportedGenerationMethods": ["embedContent"]}]});
    let listed = listing::parse(&google).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id.as_str(), listed[0].context_window, listed[0].max_tokens), ("g", 9, 3));
}

#[test]
fn a_server_without_a_model_named_is_asked_for_one() {
    let says = ("POST /v1/chat/completions ", "200 OK", SAYS);
    let check = |address: String, code: i32, said: &str| {
        let Ran(ended, out, err) =
            tau(&home(""), &format!("-p hi --no-session --base-url http://{address}/v1"), &[], "");
        assert_eq!(ended, code, "{err}");
        assert!(format!("{out}{err}").contains(said), "{out}{err}");
    };
    let (address, seen) = server(&[("GET /v1/models ", "200 OK", LIST), says]);
    check(address, 0, "hello");
    assert!(seen.lock().unwrap()[1].contains("\"model\":\"big\""));
    let (address, _) = server(&[("GET /v1/models ", "200 OK", "{\"data\":[]}"), says]);
    check(address, 3, "lists no models: load one there, or name one with --model");
    let (address, _) = server(&[("GET /v1/models ", "401 No", "{\"error\":\"who are you\"}"), says]);
    check(address, 3, "who are you");
    let (address, seen) = server(&[says]);
    check(address, 0, "cannot list the models");
    assert!(seen.lock().unwrap()[1].contains("\"model\":\"default\""));
}

/// The model is not one of the user's settings, so a reload of settings does not name it.
#[test]
fn the_model_that_a_server_named_stays_when_settings_are_read_again() {
    let (address, seen) =
        server(&[("GET /v1/models ", "200 OK", LIST), ("POST /v1/chat/completions ", "200 OK", SAYS)]);
    let screen =
        Screen::prepared("unset TAU_PERMISSION_MODE", &format!("--base-url http://{address}/v1"), 80, 24);
    screen.wait_for("What may the model do without asking you?");
    screen.wait_for("Big One · ");
    std::thread::sleep(SEEN);
    screen.type_keys("\r");
    screen.wait_for(" · ask");
    screen.type_keys("/reload\r");
    screen.wait_for("nothing changes");
    screen.type_keys("hi\r");
    screen.wait_for("hello");
    assert!(seen.lock().unwrap().iter().any(|request| request.contains("\"model\":\"big\"")));
    screen.wait_until("the model in the status line", |cells| cells.contents().contains("Big One · "));
}

#[test]
fn keys_are_kept_removed_and_never_shown() {
    const KEY: &str = "sk-ant-very-secret-0123456789";
    let home = home("");
    let Ran(code, out, err) = tau(&home, "auth set anthropic", &[], &format!("{KEY}\n"));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(!out.contains(KEY));
    let stored = std::fs::read_to_string(home.path().join("auth.json")).unwrap();
    assert!(stored.contains(KEY));
    let Ran(_, list, _) = tau(&home, "auth", &[("GROQ_API_KEY", "gsk")], "");
    let row = |provider: &str| {
        let line = list.lines().find(|line| line.starts_with(provider)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("anthropic"), "anthropic Anthropic yes auth.json");
    assert_eq!(row("groq"), "groq Groq yes GROQ_API_KEY");
    assert_eq!(row("openai"), "openai OpenAI - set OPENAI_API_KEY");
    assert!(!list.contains(KEY) && !list.contains("gsk"));
    let Ran(code, out, err) = tau(&home, &format!("auth set openai {KEY}"), &[], "");
    assert!(code == 2 && !format!("{out}{err}").contains(KEY) && err.contains("standard input"), "{err}");
    let Ran(code, _, err) = tau(&home, "auth set antropic", &[], KEY);
    assert!(code == 3 && err.contains("did you mean anthropic"), "{err}");
    let Ran(code, _, err) = tau(&home, "auth set openai", &[], "\n");
    assert!(code == 2 && err.contains("empty"), "{err}");
    assert_eq!(tau(&home, "auth remove anthropic", &[], "").0, 0);
    let Ran(code, _, err) = tau(&home, "auth remove anthropic", &[], "");
    let said = "no key for anthropic in auth.json; run `tau auth list` to see where the keys are";
    assert!(code == 3 && err.contains(said), "{err}");
}

#[test]
fn a_file_of_keys_that_is_torn_is_told_and_left() {
    const TORN: &str = "{\"anthropic\": {\"key\": ";
    let home = home("");
    std::fs::write(home.path().join("auth.json"), TORN).unwrap();
    for said in ["auth", "auth remove anthropic", "models", "-p hello --model demo"] {
        let Ran(code, _, err) = tau(&home, said, &[], "");
        assert!(
            code == 3 && err.contains("auth.json") && err.contains("fix or delete the file"),
            "{said}: {err}"
        );
    }
    assert_eq!(std::fs::read_to_string(home.path().join("auth.json")).unwrap(), TORN);
    for (text, said) in [
        ("\n{bad", "auth.json:2: is not valid JSON (key must be a string); fix or delete the file\n"),
        ("\"sk-unsaid\"", "auth.json:1: is not a JSON object; fix or delete the file\n"),
    ] {
        std::fs::write(home.path().join("auth.json"), text).unwrap();
        let Ran(code, _, err) = tau(&home, "auth", &[], "");
        assert!(code == 3 && err.ends_with(said), "{err}");
    }
}

#[test]
fn a_check_asks_the_provider() {
    let models = |address: &str| {
        format!(
            "[vendors.mine]\nbase_url = \"http://{address}/v1\"\napi_key = \"sk-mine-0123456789\"\n\
             [[vendors.mine.models]]\nid = \"m\"\n"
        )
    };
    let (address, seen) = server(&[("POST /v1/chat/completions ", "200 OK", SAYS)]);
    let Ran(code, out, _) = tau(&home(&models(&address)), "auth check mine", &[], "");
    assert_eq!((code, out.as_str()), (0, "mine: the key works\n"));
    assert!(seen.lock().unwrap()[0].contains("authorization: Bearer sk-mine-0123456789\r\n"));
    let refusal = r#"{"error":{"message":"bad key sk-mine-0123456789"}}"#;
    let (address, _) = server(&[("POST ", "401 Unauthorized", refusal)]);
    let Ran(code, _, err) = tau(&home(&models(&address)), "auth check", &[], "");
    assert_eq!((code, err.as_str()), (1, "tau: mine: the key was rejected: bad key [redacted]\n"));
    let Ran(code, _, err) = tau(&home(""), "auth check", &[], "");
    assert!(code == 3 && err.contains("no API key is configured"), "{err}");
    let Ran(code, _, err) = tau(&home(""), "auth check openai", &[], "");
    assert!(code == 3 && err.contains("set OPENAI_API_KEY"), "{err}");
}

#[test]
fn proxies_of_the_environment_are_used() {
    let (proxy, seen) = server(&[("POST http://model.invalid/v1/chat/completions ", "200 OK", SAYS)]);
    let proxy = format!("http://{proxy}");
    let line = "-p hi --no-session --base-url http://model.invalid/v1 --model m";
    for variable in ["http_proxy", "TAU_PROXY"] {
        let Ran(code, out, err) = tau(&home(""), line, &[(variable, &proxy)], "");
        assert_eq!((code, out.as_str()), (0, "hello\n"), "{variable}: {err}");
    }
    assert_eq!(seen.lock().unwrap().len(), 2);
}
