//! Faults on the wire: each ends in a clear event within its time, and received data is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tau::agent::protocol::message::{AssistantMessage, StopReason};
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::direct::Direct;
use tau::agent::provider::scripted::{Router, Script, ScriptStep, ScriptedTransport, says};
use tau::agent::provider::{Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau::agent::secrets::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::assemble;
use crate::faults::gzip;
use crate::time_limit::{InTime, SOON};

const KEY: &str = "sk-very-secret-1234";
const SAID: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"so far\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The server's action on a connection once the request has been read.
#[derive(Clone)]
enum Act {
    /// Sends these bytes, closes.
    Send(Vec<u8>),
    /// Sends these bytes, then nothing.
    Stall(Vec<u8>),
    /// Sends the first bytes, then the second ones again and again.
    Drip(Vec<u8>, Vec<u8>),
}

/// A server on loopback; returns its address and the requests it read.
async fn serve(act: Act) -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (act, kept) = (act.clone(), Arc::clone(&kept));
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 * 1024];
                let size = socket.read(&mut bytes).await.unwrap_or(0);
                kept.lock().unwrap().push(String::from_utf8_lossy(&bytes[..size]).into_owned());
                match act {
                    Act::Send(answer) => {
                        let _ = socket.write_all(&answer).in_time("a reader of the input").await;
                        let _ = socket.shutdown().await;
                    }
                    Act::Stall(answer) => {
                        let _ = socket.write_all(&answer).in_time("a reader of the input").await;
                        tokio::time::sleep(Duration::from_secs(60)).await;
                    }
                    Act::Drip(answer, drop) => {
                        let _ = socket.write_all(&answer).in_time("a reader of the input").await;
                        while socket.write_all(&drop).in_time("a reader of the input").await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    }
                }
            });
        }
    });
    (base, seen)
}

fn head(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n")
}

fn stream_of(body: &str) -> Vec<u8> {
    (head("200 OK", "content-type: text/event-stream\r\n") + body).into_bytes()
}

fn request(base: &str) -> ModelRequest {
    let model =
        Model { id: "m".into(), api: Api::OpenaiCompletions, base_url: base.into(), ..Model::default() };
    ModelRequest {
        model: Arc::new(model),
        key: Some(Secret::new(KEY)),
        ..super::request(Api::OpenaiCompletions)
    }
}

fn transport() -> Direct {
    let mut direct = Direct::default();
    direct.limits.first = Duration::from_millis(400);
    direct.limits.idle = Duration::from_millis(200);
    direct
}

async fn run(transport: &dyn Transport, base: &str) -> (AssistantMessage, Option<Failure>) {
    let events: Vec<StreamEvent> = transport
        .stream(request(base), CancellationToken::new())
        .collect()
        .in_time("the end of the stream")
        .await;
    let failure = match events.last() {
        Some(StreamEvent::Failed(failure)) => Some(failure.clone()),
        _ => None,
    };
    (assemble(Api::OpenaiCompletions, &events), failure)
}

/// Runs one request against `act`; returns the result.
async fn fault(act: Act) -> (AssistantMessage, Failure) {
    let (base, _) = serve(act).await;
    let began = Instant::now();
    let (message, failure) = run(&transport(), &base).await;
    assert!(began.elapsed() < SOON);
    (message, failure.expect("a failure"))
}

fn answer(status: &str, headers: &str, body: &str) -> Act {
    Act::Send((head(status, headers) + body).into_bytes())
}

#[tokio::test]
async fn error_answers() {
    let limited = answer("429 Too Many Requests", "retry-after: 7\r\n", "{\"error\":{\"message\":\"slow\"}}");
    let (_, failure) = fault(limited).await;
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::RateLimit, "slow"));
    assert_eq!(failure.retry_after_ms, Some(7_000));

    let page =
        "<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>";
    let (_, failure) = fault(answer("502 Bad Gateway", "content-type: text/html\r\n", page)).await;
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Overloaded, "a web page answered, not the API: 502 Bad Gateway (status 502)")
    );

    let (_, failure) = fault(answer("200 OK", "content-type: text/html\r\n", page)).await;
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.contains("502 Bad Gateway"), "{failure}");

    let observed = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}.\"}}}}");
    let (_, failure) = fault(answer("401 Unauthorized", "", &observed)).await;
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Auth, "Incorrect API key provided: [redacted].")
    );
    let (_, failure) = fault(Act::Send(stream_of(&format!("data: {observed}\n\n")))).await;
    assert_eq!(failure.message, "Incorrect API key provided: [redacted].");

    let long = "x".repeat(300_000);
    let (_, failure) = fault(answer("500 Oops", "", &long)).await;
    assert!(failure.message.len() <= 2048);
    let (_, failure) = fault(answer("200 OK", "", "")).await;
    assert_eq!(failure.kind, FailureKind::Network);
}

/// The server's echo of a request whose model has these headers, in the body of an error status and inside a
/// stream.
async fn echoed(headers: &[(&str, &str)], words: &str) -> [String; 3] {
    let observed = serde_json::json!({ "error": { "message": words } }).to_string();
    let page = format!("<html><title>{words}</title></html>");
    let acts = [
        answer("500 Oops", "", &observed),
        Act::Send(stream_of(&format!("data: {observed}\n\n"))),
        answer("200 OK", "content-type: text/html\r\n", &page),
    ];
    let mut messages = Vec::new();
    for act in acts {
        let (base, _) = serve(act).await;
        let mut request = request(&base);
        let own = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Arc::make_mut(&mut request.model).headers = own.collect();
        let events: Vec<StreamEvent> = transport()
            .stream(request, CancellationToken::new())
            .collect()
            .in_time("the end of the stream")
            .await;
        let Some(StreamEvent::Failed(failure)) = events.last() else { panic!("{events:?}") };
        messages.push(failure.message.clone());
    }
    messages.try_into().unwrap()
}

#[tokio::test]
async fn no_part_of_a_key_is_told() {
    // Across each place where words are cut, and before and after it.
    for before in [0, 170, 185, 195, 2_020, 2_030, 2_040, 2_100] {
        for message in echoed(&[], &format!("{}{KEY} and more", "x".repeat(before))).await {
            assert!(!message.contains("sk-v") && message.len() <= 2_048, "{before}: {message}");
        }
    }
    // Nor the values of the model's own headers, whatever their names.
    let headers = [("x-team", "red"), ("X-Gateway", "gateway-secret"), ("cookie", "Session cookie-secret")];
    let words = format!("team red sent gateway-secret with cookie-secret and {KEY}");
    for message in echoed(&headers, &words).await {
        let expected = "team red sent [redacted] with [redacted] and [redacted]";
        assert!(message.ends_with(expected), "{message}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (other, seen) = serve(Act::Send(stream_of(END))).await;
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let (_, failure) = fault(answer(status, &format!("location: {other}/x?key=1\r\n"), "")).await;
        assert_eq!(failure.kind, FailureKind::Request);
        assert!(failure.message.contains(&other) && !failure.message.contains("key="), "{failure}");
    }
    assert!(seen.lock().unwrap().is_empty(), "the key never goes elsewhere");
}

#[tokio::test]
async fn silence() {
    let (message, failure) = fault(Act::Stall(Vec::new())).await;
    assert_eq!((failure.kind, message.text().as_str()), (FailureKind::Timeout, ""));
    let (message, failure) = fault(Act::Stall(stream_of(SAID))).await;
    assert_eq!((failure.kind, message.text().as_str()), (FailureKind::Timeout, "so far"));
    let (message, failure) = fault(Act::Drip(stream_of(SAID), b": ping\n\n".to_vec())).await;
    assert_eq!(
        (failure.kind, message.text().as_str()),
        (FailureKind::Timeout, "so far"),
        "pings are silence"
    );
}

#[tokio::test]
async fn cuts() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"half";
    for body in [SAID.to_owned(), format!("{SAID}{half}")] {
        let (message, failure) = fault(Act::Send(stream_of(&body))).await;
        assert_eq!((failure.kind, message.text().as_str()), (FailureKind::Network, "so far"), "{body}");
        assert_eq!(message.stop_reason, StopReason::Error);
    }
    let chunked = head("200 OK", "transfer-encoding: chunked\r\n")
        + &format!("{:x}\r\n{SAID}\r\n40\r\ndata: ", SAID.len());
    let (message, failure) = fault(Act::Send(chunked.into_bytes())).await;
    assert_eq!((failure.kind, message.text().as_str()), (FailureKind::Network, "so far"));
    let short = head("200 OK", "content-length: 5000\r\n") + SAID;
    let (message, failure) = fault(Act::Send(short.into_bytes())).await;
    assert_eq!((failure.kind, message.text().as_str()), (FailureKind::Network, "so far"));
    let (_, failure) = fault(Act::Send(b"HTTP/1.1 200".to_vec())).await;
    assert_eq!(failure.kind, FailureKind::Network);
    let (_, failure) = run(&transport(), "http://127.0.0.1:1").await;
    let failure = failure.unwrap();
    assert!(failure.kind == FailureKind::Network && failure.message.contains("127.0.0.1:1"), "{failure}");
    let (_, failure) = run(&transport(), "not an address").await;
    assert_eq!(failure.unwrap().kind, FailureKind::Config);
}

#[tokio::test]
async fn an_answer_that_is_complete_but_for_its_last_mark() {
    let body = format!("{SAID}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n");
    let (base, _) = serve(Act::Stall(stream_of(&body))).await;
    let (message, failure) = run(&transport(), &base).await;
    assert_eq!((failure, message.text().as_str()), (None, "so far"));
}

#[tokio::test]
async fn a_packed_body() {
    // `SAID` and `END` through gzip, level 9.
    let packed = gzip(format!("{SAID}{END}").as_bytes());
    let mut bytes =
        head("200 OK", "content-encoding: gzip\r\ncontent-type: text/event-stream\r\n").into_bytes();
    let begin = bytes.len();
    bytes.extend_from_slice(&packed);
    let (base, seen) = serve(Act::Send(bytes.clone())).await;
    let (message, failure) = run(&transport(), &base).await;
    assert_eq!((failure, message.text().as_str()), (None, "so far"));
    let seen = seen.lock().unwrap().join("");
    assert!(seen.starts_with("POST /chat/completions HTTP/1.1\r\n"));
    assert!(
        seen.contains(&format!("authorization: Bearer {KEY}\r\n")) && seen.contains("accept-encoding: gzip")
    );
    bytes.truncate(begin + 20);
    assert_eq!(fault(Act::Send(bytes)).await.1.kind, FailureKind::Network);
}

#[tokio::test]
async fn stopping_is_at_once() {
    for bytes in [Vec::new(), stream_of(SAID)] {
        let (base, _) = serve(Act::Stall(bytes.clone())).await;
        let cancel = CancellationToken::new();
        let mut stream = Direct::default().stream(request(&base), cancel.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancel.cancel();
        });
        let began = Instant::now();
        let mut events = Vec::new();
        while let Some(event) = stream.next().in_time("the next event").await {
            events.push(event);
        }
        assert!(began.elapsed() < SOON);
        let message = assemble(Api::OpenaiCompletions, &events);
        let wanted = if bytes.is_empty() { "" } else { "so far" };
        assert_eq!((message.stop_reason, message.text().as_str()), (StopReason::Aborted, wanted));
    }
}

#[tokio::test]
async fn scripts() {
    let scripted = Arc::new(ScriptedTransport::new([
        Script::from(says("one")).with_pauses(Duration::from_millis(1)),
        says("two").into(),
    ]));
    let (base, _) = serve(Act::Send(stream_of(&format!("{SAID}{END}")))).await;
    let router = Router::new(scripted.clone(), Arc::new(transport()));
    let mut request = request("");
    Arc::make_mut(&mut request.model).api = Api::Scripted;
    for wanted in ["one", "two"] {
        let events: Vec<StreamEvent> = router
            .stream(request.clone(), CancellationToken::new())
            .collect()
            .in_time("the end of the stream")
            .await;
        assert_eq!(assemble(Api::Scripted, &events).text(), wanted);
    }
    let events: Vec<StreamEvent> = router
        .stream(request.clone(), CancellationToken::new())
        .collect()
        .in_time("the end of the stream")
        .await;
    assert!(matches!(events.last(), Some(StreamEvent::Failed(_))));
    assert_eq!(scripted.requests().len(), 3);
    assert_eq!(run(&router, &base).await.0.text(), "so far");

    scripted.push(Script(vec![ScriptStep::Hang]));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let events: Vec<StreamEvent> =
        router.stream(request.clone(), cancel).collect().in_time("the end of the stream").await;
    assert!(matches!(&events[..], [StreamEvent::Failed(failure)] if failure.kind == FailureKind::Aborted));
    let echo = ScriptedTransport::answering(|request: &ModelRequest| says(&request.session_id));
    let events: Vec<StreamEvent> =
        echo.stream(request, CancellationToken::new()).collect().in_time("the end of the stream").await;
    assert_eq!(assemble(Api::Scripted, &events).text(), "s");
}
