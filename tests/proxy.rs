//! `tau proxy` as a program, and `tau --proxy` as its client: the key stays on the server.

mod formats;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::support::dice::Dice;
use crate::support::program::{Ended, bare, body, calls, run, says};
use crate::support::server::{Act, Server, stream};
use crate::time_limit::{InTime, SOON};

const KEY: &str = "the-real-key-of-the-provider";

/// A server with a key, and the provider behind it.
struct Proxy {
    home: TempDir,
    upstream: Server,
    process: Option<Child>,
    url: String,
}

/// models.toml with a provider at `url`.
fn models(url: &str, key: &str) -> String {
    format!(
        "[vendors.own]\nbase_url = \"{url}\"\napi = \"openai-completions\"\napi_key = \"{key}\"\n\
         [[vendors.own.models]]\nid = \"m\"\ncost = {{ input = 1000.0, output = 2000.0 }}\n\
         [[vendors.own.models]]\nid = \"free\"\n"
    )
}

fn proxy_command(home: &Path) -> Command {
    let mut command = bare(home);
    command.env("TAU_HOME", home).arg("proxy");
    command
}

impl Proxy {
    async fn start(acts: Vec<Act>) -> Self {
        let upstream = Server::start(acts).await;
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("models.toml"), models(&upstream.url(), KEY)).unwrap();
        let mut proxy = Proxy { home, upstream, process: None, url: String::new() };
        proxy.serve().await;
        proxy
    }

    async fn serve(&mut self) {
        let mut process = proxy_command(self.home.path()).args(["--listen", "127.0.0.1:0"]).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.next_line().in_time("the address").await.unwrap().expect("an address");
        self.url = line.strip_prefix("listening on ").expect("an address").to_owned();
        self.process = Some(process);
    }

    /// Ends the server; returns its exit code.
    async fn stop(&mut self) -> i32 {
        let mut process = self.process.take().unwrap();
        let pid = i32::try_from(process.id().unwrap()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        process.wait().in_time("the end of the server").await.unwrap().code().unwrap()
    }

    /// Runs `tau proxy` with these arguments.
    async fn tau(&self, arguments: &[&str]) -> Ended {
        run(proxy_command(self.home.path()).args(arguments), None).await
    }

    /// A new token.
    async fn token(&self, arguments: &[&str]) -> String {
        let ended = self.tau(&[&["add"][..], arguments].concat()).await;
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.out.trim().to_owned()
    }

    /// The program as a client, in a separate home, with its models elsewhere.
    fn client(&self, home: &Path, token: &str, arguments: &[&str]) -> Command {
        std::fs::write(home.join("models.toml"), models("http://127.0.0.1:1", "not-a-key")).unwrap();
        let mut command = bare(home);
        command.env("TAU_HOME", home).env("TAU_PROXY_TOKEN", token);
        command.args(["--proxy", &self.url, "--model", "own/m"]).args(arguments);
        command
    }

    async fn ask(&self, token: &str, arguments: &[&str]) -> Ended {
        let home = tempfile::tempdir().unwrap();
        run(&mut self.client(home.path(), token, arguments), None).await
    }

    /// The head and body of an answer.
    async fn get(&self, path: &str, token: &str) -> (String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\n"), "").await
    }

    async fn send(&self, head: &str, body: &str) -> (String, String) {
        let mut socket = TcpStream::connect(self.address()).await.unwrap();
        let length = body.len();
        let request = format!(
            "{head}host: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).in_time("the answer").await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Sends a head, without its last line end, with a body; returns the status of the answer, 0 if there is
    /// none.
    async fn raw(&self, head: &[u8], body: &[u8]) -> u16 {
        let mut socket = TcpStream::connect(self.address()).await.unwrap();
        let rest = format!(
            "\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(&[head, rest.as_bytes(), body].concat()).await.unwrap();
        let mut answer = Vec::new();
        // A server that refuses a body may reset the connection after its answer.
        let _ = socket.read_to_end(&mut answer).in_time("the answer").await;
        let answer = String::from_utf8_lossy(&answer);
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// The usage of the token.
    async fn used(&self, token: &str) -> Value {
        let (head, body) = self.get("/api/usage", token).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        serde_json::from_str(&body).unwrap()
    }
}

/// An answer with this text and usage.
fn uses(text: &str, input: u64, output: u64) -> Act {
    let Act::Send(answer) = says(text) else { unreachable!() };
    let usage = json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}});
    let answer = String::from_utf8(answer).unwrap();
    Act::Send(answer.replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]")).into_bytes())
}

#[tokio::test]
async fn the_key_stays_on_the_server_and_the_token_on_the_way_to_it() {
    let call = calls("bash", &json!({"command": "echo \"<$TAU_PROXY_TOKEN>\""}));
    let proxy = Proxy::start(vec![call, uses("four", 30, 12)]).await;
    let token = proxy.token(&["alice", "--allow", "own/*", "--tokens-per-day", "1000000"]).await;
    assert!(token.starts_with("tau_proxy_"), "{token}");
    let ended = proxy.ask(&token, &["-p", "two and two?"]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "four"), "{}", ended.err);
    let requests = proxy.upstream.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert!(request.contains(&format!("authorization: Bearer {KEY}")), "{request}");
        assert!(!request.contains(&token) && !request.contains("not-a-key"), "{request}");
    }
    assert!(requests[1].contains("<>"), "commands do not see the token: {}", requests[1]);
    let file = std::fs::read_to_string(proxy.home.path().join("proxy.toml")).unwrap();
    assert!(file.contains("[tokens.alice]") && !file.contains(&token), "{file}");
    let used = proxy.used(&token).await;
    assert_eq!((&used["name"], &used["limits"]["models"]), (&json!("alice"), &json!(["own/*"])), "{used}");
    assert_eq!(used["today"]["requests"], 2, "{used}");
    assert_eq!(used["today"]["output"], 12, "{used}");
    // 30 tokens in at $1000 and 12 out at $2000 a million.
    assert!((used["today"]["dollars"].as_f64().unwrap() - 0.054).abs() < 1e-9, "{used}");
    let (_, models) = proxy.get("/api/models", &token).await;
    assert!(models.contains("\"id\":\"m\"") && !models.contains("127.0.0.1"), "{models}");
}

#[tokio::test]
async fn what_a_token_does_not_allow_is_refused_with_the_reason() {
    let mut proxy = Proxy::start(vec![uses("yes", 600, 300)]).await;
    let narrow = proxy.token(&["narrow", "--allow", "own/other"]).await;
    let daily = proxy.token(&["daily", "--tokens-per-day", "900"]).await;
    let dollars = proxy.token(&["dollars", "--dollars-per-day", "1"]).await;
    let minute = proxy.token(&["minute", "--requests-per-minute", "1"]).await;
    assert_eq!(proxy.ask(&daily, &["-p", "go"]).await.code, 0);
    assert_eq!(proxy.ask(&minute, &["-p", "go"]).await.code, 0);
    let unpriced = ["-p", "go", "--model", "own/free"];
    let limited = "this token has used its 900 tokens per day (UTC)";
    let cases: [(&str, &[&str], &str); 6] = [
        ("tau_proxy_wrong", &["-p", "go"], "cannot list the models"),
        (&narrow, &["-p", "go"], "this token is not for own/m"),
        (&daily, &["-p", "go", "--timeout", "8"], limited),
        (&dollars, &unpriced, "the price of this model is not known"),
        (&minute, &["-p", "go", "--timeout", "8"], "this token allows 1 request per minute"),
        (&daily, &["-p", "go", "--model", "anthropic/claude-sonnet-4-5"], "no key for it here"),
    ];
    for (token, arguments, expected) in cases {
        let ended = proxy.ask(token, arguments).await;
        assert!(ended.code != 0 && ended.err.contains(expected), "{expected}: {ended:?}");
        assert!(!ended.err.contains(token), "{}", ended.err);
    }
    // Trying again does not help.
    let request = format!("POST /v1/messages HTTP/1.1\r\nauthorization: Bearer {dollars}\r\n");
    let asked = json!({"model": "own/free", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]});
    let (head, body) = proxy.send(&request, &asked.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 403") && body.contains("price"), "{head} {body}");
    let (head, body) = proxy.get("/api/usage", "").await;
    assert!(head.starts_with("HTTP/1.1 401") && body.contains("TAU_PROXY_TOKEN"), "{head} {body}");
    // With the list of models at hand, the refusal of the token itself is told.
    let (gone, home) = (proxy.token(&["gone"]).await, tempfile::tempdir().unwrap());
    assert_eq!(run(&mut proxy.client(home.path(), &gone, &["-p", "go"]), None).await.code, 0);
    assert_eq!(proxy.tau(&["remove", "gone"]).await.code, 0);
    let ended = run(&mut proxy.client(home.path(), &gone, &["-p", "go"]), None).await;
    let is_told =
        ended.err.contains("wrong token") && ended.err.contains("TAU_PROXY_TOKEN, or --proxy-token");
    assert!(is_told && !ended.err.contains("API key"), "{ended:?}");
    // A removed token is refused while the server runs; another one is not.
    assert_eq!(proxy.tau(&["remove", "narrow"]).await.code, 0);
    assert!(proxy.ask(&narrow, &["-p", "go"]).await.err.contains("wrong token"));
    assert_eq!(proxy.stop().await, 143);
    // The usage is known to the next server and to the list.
    proxy.serve().await;
    let used = proxy.used(&daily).await;
    assert_eq!((&used["total"]["input"], &used["total"]["output"]), (&json!(600), &json!(300)), "{used}");
    let listed = proxy.tau(&["list"]).await.out;
    let row = listed.lines().find(|line| line.starts_with("daily ")).expect("a row");
    let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(row.starts_with("daily all 900 tokens/day 1 request, 900 tokens, $1.20 1 request"), "{row}");
    assert!(!listed.contains("narrow"), "{listed}");
}

#[tokio::test]
async fn an_answer_that_a_client_leaves_is_read_to_its_end_and_counted() {
    let told = Arc::new(tokio::sync::Notify::new());
    let Act::Send(whole) = uses("forty characters of text, more or less..", 100, 900) else { unreachable!() };
    let whole = String::from_utf8(whole).unwrap();
    let (first, rest) = whole.split_once("\n\ndata: ").unwrap();
    let rest = format!("\n\ndata: {rest}").into_bytes();
    let held = Act::Hold(format!("{first}\n\n").into_bytes(), Arc::clone(&told), rest);
    let proxy = Proxy::start(vec![held]).await;
    let token = proxy.token(&["leaver", "--at-once", "1"]).await;
    let home = tempfile::tempdir().unwrap();
    let mut client = proxy.client(home.path(), &token, &["--json", "go"]);
    let mut client = client.spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().in_time("the text").await.unwrap().expect("the text");
        if line.contains("forty characters") {
            break;
        }
    }
    let (head, body) = {
        let call = json!({"model": {"provider": "own", "id": "m"}, "context": {}});
        let head = format!("POST /api/stream HTTP/1.1\r\nauthorization: Bearer {token}\r\n");
        proxy.send(&head, &call.to_string()).await
    };
    assert!(head.starts_with("HTTP/1.1 429") && body.contains("1 request at the same time"), "{head} {body}");
    client.kill().await.unwrap();
    told.notify_one();
    let end = std::time::Instant::now() + SOON;
    loop {
        let used = proxy.used(&token).await;
        if used["total"]["output"] == 900 {
            assert_eq!(used["total"]["input"], 100, "{used}");
            break;
        }
        assert!(std::time::Instant::now() < end, "{used}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A request without a token is refused before its body is read, so it uses no memory.
#[tokio::test]
async fn a_body_without_a_token_is_not_read() {
    let proxy = Proxy::start(vec![says("x")]).await;
    let mut socket = TcpStream::connect(proxy.address()).await.unwrap();
    let head = "POST /api/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                content-length: 60000000\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 64];
    let length = socket.read(&mut answer).in_time("the answer, before the body").await.unwrap();
    assert!(String::from_utf8_lossy(&answer[..length]).starts_with("HTTP/1.1 401"));
}

/// Silent connections do not lock out clients with a token.
#[tokio::test]
async fn connections_without_a_token_are_limited() {
    let proxy = Proxy::start(vec![says("x")]).await;
    let token = proxy.token(&["me"]).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        let mut socket = TcpStream::connect(proxy.address()).await.unwrap();
        socket.write_all(b"GET /api/usage HTTP/1.1\r\nhost: x\r\n").await.unwrap();
        silent.push(socket);
    }
    let closed = silent[0].read(&mut [0; 1]).in_time("the end of the oldest").await;
    assert_eq!(closed.unwrap_or(0), 0);
    assert_eq!(proxy.used(&token).await["name"], "me");
}

#[tokio::test]
async fn mistakes_at_the_start_say_what_to_do() {
    let mut proxy = Proxy::start(vec![Act::Send(stream(""))]).await;
    let cases: [(&[&str], i32, &str); 6] = [
        (&["add", "a b"], 2, "up to 64 letters"),
        (&["add", "x", "--allow", "m"], 2, "PROVIDER/*"),
        (&["add", "x", "--at-once", "0"], 2, "give a whole number above 0"),
        (&["remove", "nobody"], 3, "`tau proxy list`"),
        (&["--listen", "nowhere"], 2, "--listen"),
        (&[], 3, "another tau proxy"),
    ];
    for (arguments, code, expected) in cases {
        let ended = proxy.tau(arguments).await;
        assert!(ended.code == code && ended.err.contains(expected), "{arguments:?}: {ended:?}");
    }
    assert_eq!(proxy.tau(&["list"]).await.out, "no tokens; create one with `tau proxy add NAME`\n");
    let taken = proxy.url.strip_prefix("http://").unwrap().to_owned();
    let other = tempfile::tempdir().unwrap();
    let ended = run(proxy_command(other.path()).args(["--listen", &taken]), None).await;
    assert!(ended.code == 3 && ended.err.contains("choose another with --listen"), "{ended:?}");
    // An invalid file lets no one in, and does not tell strangers why.
    let token = proxy.token(&["me"]).await;
    std::fs::write(proxy.home.path().join("proxy.toml"), "[tokens.me]\nsha = \"secret detail\"\n").unwrap();
    let (head, body) = proxy.get("/api/usage", &token).await;
    assert!(head.starts_with("HTTP/1.1 500") && !body.contains("sha"), "{head} {body}");
    let mut command = bare(other.path());
    let ended = run(command.stdin(Stdio::null()).args(["--proxy", &proxy.url, "-p", "x"]), None).await;
    assert!(ended.code == 2 && ended.err.contains("set TAU_PROXY_TOKEN"), "{ended:?}");
    assert_eq!(proxy.stop().await, 143);
}

/// Changes up to four places: other bytes, extra bytes, the rest cut off.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        match dice.below(3) {
            0 => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
            1 => bytes.truncate(at.max(1)),
            _ => bytes.insert(at, b"{}[]\",:0"[dice.below(8)]),
        }
    }
}

#[tokio::test]
async fn malformed_requests_are_refused_and_the_server_lives() {
    let proxy = Proxy::start(vec![uses("alive", 1, 1)]).await;
    let token = proxy.token(&["me"]).await;
    let head = format!("POST /api/stream HTTP/1.1\r\nauthorization: Bearer {token}\r\n");
    let whole = json!({
        "model": {"provider": "own", "id": "m"},
        "context": {"systemPrompt": "x", "messages": [{"role": "user", "content": "hi", "timestamp": 1}]},
        "options": {"reasoning": "off", "sessionId": "s"},
    })
    .to_string();
    for at in 0..whole.len() {
        let cut = &whole[..at];
        let (answer, body) = proxy.send(&head, cut).await;
        assert!(answer.starts_with("HTTP/1.1 400") && body.contains("not valid"), "{cut}: {answer}");
    }
    for scheme in ["", "Basic x", "Bearer", "Bearer  ", "bearer\u{e9}x"] {
        let head = format!("POST /api/stream HTTP/1.1\r\nauthorization: {scheme}\r\n");
        let (answer, _) = proxy.send(&head, &whole).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{scheme}: {answer}");
    }
    let (answer, body) = proxy.send(&head, &whole).await;
    assert!(answer.starts_with("HTTP/1.1 200") && body.contains("alive"), "{answer} {body}");
}

/// Randomly damaged bodies, heads and tokens: each is answered, or refused as the client's mistake.
#[tokio::test]
async fn a_thousand_malformed_requests_leave_it_alive() {
    let proxy = Proxy::start(vec![uses("alive", 1, 1)]).await;
    let token = proxy.token(&["me"]).await;
    let whole = json!({
        "model": {"provider": "own", "id": "m"},
        "context": {"systemPrompt": "x", "messages": [{"role": "user", "content": "hi", "timestamp": 1}]},
        "options": {"reasoning": "off", "sessionId": "s"},
    })
    .to_string()
    .into_bytes();
    let mut dice = Dice::new(11);
    let (mut refused, mut unauthorized) = (0, 0);
    for n in 0..900 {
        let mut body = whole.clone();
        damage(&mut body, &mut dice);
        let method = ["POST", "POST", "POST", "GET", "DELETE"][dice.below(5)];
        let path = ["/api/stream", "/api/stream", "/api/models", "/api/usage", "/api/x"][dice.below(5)];
        let mut given = token.clone().into_bytes();
        if n % 3 == 0 {
            damage(&mut given, &mut dice);
            given.retain(|byte| !matches!(byte, b'\r' | b'\n'));
        }
        let head =
            [format!("{method} {path} HTTP/1.1\r\nauthorization: Bearer ").as_bytes(), &given].concat();
        let status = proxy.raw(&head, &body).await;
        let what = || format!("{status}: {}: {}", head.escape_ascii(), body.escape_ascii());
        assert!(status == 200 || (400..500).contains(&status), "{}", what());
        refused += usize::from(status == 400);
        unauthorized += usize::from(status == 401);
    }
    assert!(refused > 100 && unauthorized > 50, "{refused} and {unauthorized}");
    let deep = "[".repeat(50_000);
    let deep = format!("{{\"model\":{{\"provider\":\"own\",\"id\":\"m\"}},\"context\":{{\"messages\":{deep}");
    let head = format!("POST /api/stream HTTP/1.1\r\nauthorization: Bearer {token}");
    assert_eq!(proxy.raw(head.as_bytes(), deep.as_bytes()).await, 400);
    // Input that is not even HTTP, damaged further.
    let pieces: [&[u8]; 8] = [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /api/usage HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /api/stream HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST /api/stream HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/models HTTP/1.1\r\nhost: a\r\nauthorization: \xff\xfe\r\nauthorization: b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for n in 0..200 {
        let mut piece = pieces[n % pieces.len()].to_vec();
        if n >= pieces.len() {
            damage(&mut piece, &mut dice);
        }
        let mut socket = TcpStream::connect(proxy.address()).await.unwrap();
        // It may refuse the beginning, and close, before it has everything.
        let _ = socket.write_all(&piece).await;
        let _ = socket.shutdown().await;
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest).in_time("the end of the connection").await;
    }
    let head = format!("POST /api/stream HTTP/1.1\r\nauthorization: Bearer {token}\r\n");
    let (answer, body) = proxy.send(&head, std::str::from_utf8(&whole).unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 200") && body.contains("alive"), "{answer} {body}");
}

/// A client needs no knowledge of the models: the server lists them.
#[tokio::test]
async fn clients_learn_the_models_of_the_server() {
    let mut proxy = Proxy::start(vec![uses("yes", 1, 1)]).await;
    let token = proxy.token(&["alice", "--allow", "own/*"]).await;
    let home = tempfile::tempdir().unwrap();
    let tau = |arguments: &[&str]| {
        let mut command = bare(home.path());
        command.env("TAU_HOME", home.path()).env("TAU_PROXY_TOKEN", &token).args(arguments);
        command
    };
    let listed = run(&mut tau(&["models", "--proxy", &proxy.url, "--json"]), None).await;
    assert_eq!(listed.code, 0, "{listed:?}");
    let rows: Value = serde_json::from_str(&listed.out).unwrap();
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["m", "free"]);
    assert_eq!(
        (&rows[0]["usable"], &rows[0]["cost"]["output"]),
        (&json!(true), &json!(2000.0)),
        "{}",
        rows[0]
    );

    // The list is kept; without a name the first of its models is used.
    for arguments in [&["-p", "hi", "--model", "own/free"][..], &["-p", "hi"]] {
        let ended = run(&mut tau(&[&["--proxy", &proxy.url], arguments].concat()), None).await;
        assert_eq!(
            (ended.code, ended.out.trim(), ended.err.as_str()),
            (0, "yes", ""),
            "{arguments:?}: {ended:?}"
        );
    }
    let models: Vec<String> = proxy
        .upstream
        .requests()
        .iter()
        .map(|request| {
            let body = body(request);
            body["model"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(models, ["free", "m"]);

    // A client that has never asked does so at startup.
    let fresh = tempfile::tempdir().unwrap();
    let mut first = bare(fresh.path());
    first
        .env("TAU_HOME", fresh.path())
        .env("TAU_PROXY_TOKEN", &token)
        .args(["--proxy", &proxy.url, "-p", "hi"]);
    let ended = run(&mut first, None).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "yes"), "{ended:?}");

    proxy.stop().await;
    let gone = run(&mut tau(&["models", "--proxy", &proxy.url]), None).await;
    assert!(gone.code == 1 && gone.err.contains("cannot connect"), "{gone:?}");
}
