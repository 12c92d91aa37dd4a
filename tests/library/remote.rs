//! Agents over loopback: behind `tau proxy`, and the example that sends events as SSE.

use std::sync::Mutex;

use axum::Router;
use futures_util::stream;
use tau::agent::catalogue::Catalogue;
use tau::agent::catalogue::keys::Keys;
use tau::agent::protocol::event::Delta;
use tau::agent::protocol::model::Api;
use tau::agent::provider::proxy::Proxy;
use tau::agent::provider::scripted::ScriptedTransport;
use tau::agent::provider::{EventStream, Failure, FailureKind, StreamEvent, Transport};
use tau::agent::settings::{Paths, Settings};
use tau::cli::proxy::ledger::Ledger;
use tau::cli::proxy::server::{Accounts, Serving, routes};
use tau::cli::proxy::tokens::{TokenFile, hash};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::*;

#[allow(dead_code, reason = "only its routes are used here")]
#[path = "../../examples/sse_server.rs"]
mod sse_server;

/// Serves `app` on loopback; returns its address.
async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// The server's own model, under the name known to the client.
fn own() -> Arc<Model> {
    let base_url = "http://the.real.address".into();
    Arc::new(Model { api: Api::Scripted, base_url, ..Model::clone(&model("first")) })
}

async fn proxy(upstream: Arc<dyn Transport>) -> String {
    // The server reads its files at startup.
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(home.path().join(name), text).unwrap();
    let provider = "[vendors.fake]\nbase_url = \"http://the.real.address\"\napi = \"anthropic-messages\"";
    write("models.toml", format!("{provider}\n[[vendors.fake.models]]\nid = \"first\"\n"));
    write("proxy.toml", format!("[tokens.me]\nsha256 = \"{}\"\n", hash("let-me-in-please")));
    let (paths, settings) = (Paths::under(home.path()), Settings::default());
    let catalogue = Arc::new(Catalogue::load(&paths, &settings, None).unwrap());
    let keys = Keys::new(&paths, &settings, Arc::clone(&catalogue), Arc::new(|_| None), None);
    let serving = Serving {
        tokens: parking_lot::Mutex::new(TokenFile::open(home.path().join("proxy.toml")).unwrap()),
        accounts: Accounts::new(Ledger::default(), home.path().join("used.json")),
        catalogue,
        keys: Arc::new(keys),
        upstream,
        ending: CancellationToken::new(),
        answers: tokio_util::task::TaskTracker::new(),
    };
    let _kept = home.keep();
    format!("http://{}", serve(routes(Arc::new(serving), axum::Router::new())).await)
}

fn client(address: &str, token: &str) -> AgentBuilder {
    // The address and the headers of the client's model must not matter.
    let reported = Model { base_url: "http://evil".into(), ..Model::clone(&model("first")) };
    let headers = BTreeMap::from([("x-secret".to_owned(), "hidden".to_owned())]);
    let reported = Model { headers, ..reported };
    Agent::builder().model(reported).tools(tools()).retries(0).proxy(Proxy::new(address, token))
}

/// An answer with everything that must survive the transfer: thinking, signatures, a call, usage.
fn rich() -> Vec<StreamEvent> {
    let call = tau::agent::protocol::message::ToolCall {
        id: "a".into(),
        name: "echo".into(),
        arguments: json!({ "text": "日本\u{2028}x" }),
        thought_signature: Some("thought".into()),
    };
    vec![
        StreamEvent::ResponseId("resp_1".into()),
        StreamEvent::Delta(Delta::ThinkingStart { content_index: 0 }),
        StreamEvent::Delta(Delta::ThinkingDelta { content_index: 0, delta: "let me ".into() }),
        StreamEvent::Delta(Delta::ThinkingDelta { content_index: 0, delta: "see\n".into() }),
        StreamEvent::Signature { content_index: 0, signature: "sig".into(), redacted: false },
        StreamEvent::Delta(Delta::ThinkingEnd { content_index: 0, content: "let me see\n".into() }),
        StreamEvent::Delta(Delta::ToolCallStart {
            content_index: 1,
            id: "a".into(),
            tool_name: "echo".into(),
        }),
        StreamEvent::Delta(Delta::ToolCallDelta { content_index: 1, delta: call.arguments.to_string() }),
        StreamEvent::Delta(Delta::ToolCallEnd { content_index: 1, tool_call: call }),
        StreamEvent::Usage(tau::agent::protocol::message::Usage {
            input: 10,
            output: 5,
            ..Default::default()
        }),
        StreamEvent::Stop(StopReason::ToolUse),
    ]
}

/// The messages of a run, without times and estimates.
fn timeless(messages: &[Arc<Message>]) -> Vec<Value> {
    let value = |message: &Arc<Message>| {
        let mut value = serde_json::to_value(message).unwrap();
        for field in ["timestamp", "durationMs"] {
            value.as_object_mut().unwrap().remove(field);
        }
        // Their requests are not of one length.
        if value["usage"]["estimated"] == true {
            value["usage"] = Value::Null;
        }
        value
    };
    messages.iter().map(value).collect()
}

#[tokio::test]
async fn an_agent_behind_a_proxy_is_as_one_in_front_of_it() {
    let scripts = || [rich(), tau::agent::provider::scripted::says("four")];
    let upstream = Arc::new(ScriptedTransport::new(scripts()));
    let address = proxy(upstream.clone()).await;
    let through = client(&address, "let-me-in-please").system("be brief").start();
    assert_eq!(through.run("two and two?").in_time("the end of the run").await.unwrap().text(), "four");
    let direct =
        Agent::builder().model(own()).tools(tools()).transport(ScriptedTransport::new(scripts())).start();
    direct.run("two and two?").in_time("the end of the run").await.unwrap();
    assert_eq!(timeless(&through.state().messages), timeless(&direct.state().messages));
    let requests = upstream.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(
            (request.model.base_url.as_str(), &*request.system),
            ("http://the.real.address", "be brief")
        );
        assert!(request.model.headers.is_empty() && request.key.is_none(), "{request:?}");
        assert_eq!(request.tools.len(), tools().specs().len());
    }
    assert_eq!(
        texts(&requests[1].messages)[1..],
        [
            "assistant ToolUse Thinking { thinking: \"let me see\\n\", thinking_signature: Some(\"sig\"), redacted: false } [a]",
            "result a"
        ]
    );
}

#[tokio::test]
async fn what_goes_wrong_behind_a_proxy_is_told_in_front_of_it() {
    let failure = Failure::new(FailureKind::Overflow, "too long by far");
    let upstream = Arc::new(ScriptedTransport::new([vec![StreamEvent::Failed(failure)]]));
    let address = proxy(upstream).await;
    let token = "let-me-in-please";
    let unknown = model("nosuch");
    let cases = [
        (client(&address, token), "too long by far"),
        (client(&address, "not-that-one"), "wrong token"),
        (client(&address, token).model(unknown), "there is no model fake/nosuch"),
        (client("http://127.0.0.1:1", token), "cannot connect to 127.0.0.1:1"),
    ];
    for (client, expected) in cases {
        let failed = client.start().run("go").in_time("the end of the run").await;
        let Err(AgentError::Failed(text)) = failed else { panic!("{expected}: {failed:?}") };
        assert!(text.contains(expected) && !text.contains("not-that-one"), "{text}");
    }
}

/// A transport that says one thing, then waits, and records when it is dropped.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Vec<&'static str>>>);

struct Noted(Waiting);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().push("dropped");
    }
}

impl Transport for Waiting {
    fn stream(&self, _request: ModelRequest, _cancel: CancellationToken) -> EventStream {
        self.0.lock().unwrap().push("asked");
        let said = tau::agent::provider::scripted::text_block(0, "wait for it");
        let noted = Noted(self.clone());
        let hang = stream::once(async move {
            let _noted = noted;
            std::future::pending().await
        });
        Box::pin(futures_util::StreamExt::chain(stream::iter(said), hang))
    }
}

async fn post(address: &str, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = text.len();
    let head =
        format!("POST /prompt HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all((head + text).as_bytes()).in_time("a reader of the input").await.unwrap();
    stream
}

#[tokio::test]
async fn events_come_over_http_to_their_end() {
    let make: sse_server::MakeAgent = Arc::new(|| builder(&Player::new(Vec::new())).start());
    let address = serve(sse_server::app(make)).await;
    let mut body = String::new();
    let reading =
        async { post(&address, "go").await.read_to_string(&mut body).in_time("the end of the stream").await };
    tokio::time::timeout(crate::time_limit::SOON, reading).await.expect("the stream does not end").unwrap();
    let reported: Vec<AgentEvent> = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let reported = brief(&reported);
    assert_eq!(reported.first().map(String::as_str), Some("agent_start"), "{body}");
    assert_eq!(reported.last().map(String::as_str), Some("settled"), "{body}");
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_agent() {
    let waiting = Waiting::default();
    let transport = waiting.clone();
    let make: sse_server::MakeAgent =
        Arc::new(move || Agent::builder().model(model("first")).transport(transport.clone()).start());
    let address = serve(sse_server::app(make)).await;
    let mut client = post(&address, "go").await;
    let mut seen = String::new();
    while !seen.contains("wait for it") {
        let mut bytes = [0; 1024];
        let count = client.read(&mut bytes).in_time("bytes").await.unwrap();
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    assert_eq!(*waiting.0.lock().unwrap(), ["asked"]);
    drop(client);
    for _ in 0..300 {
        if waiting.0.lock().unwrap().len() > 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(*waiting.0.lock().unwrap(), ["asked", "dropped"]);
}
