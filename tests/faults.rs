//! Faults of networks and providers, from the socket to the agent's events: each ends in a recovery or a
//! clear event, and received data is kept.

pub mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tau::agent::AgentEvent;
use tau::agent::protocol::command::RunCommand;
use tau::agent::protocol::event::{RunEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::Message;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::protocol::run::RetryMode;
use tau::agent::provider::direct::{Direct, IdleLimits};
use tau::agent::provider::http::{Http, Network, ProxyChoice};

use crate::fake::{Bench, brief, said};
use crate::support::server::{self, Act, Server, answer, stream};

/// A piece of text, an end, and both in one answer.
const SAID: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"so far\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const OK: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Short, so that silence ends soon.
const SHORT: IdleLimits = IdleLimits {
    first: Duration::from_millis(2_000),
    idle: Duration::from_millis(1_000),
    report: Duration::from_millis(200),
};

/// An agent whose model is at `base_url`.
fn bench(base_url: &str, network: Network, mode: RetryMode) -> Bench {
    bench_within(SHORT, base_url, network, mode)
}

fn bench_within(limits: IdleLimits, base_url: &str, network: Network, mode: RetryMode) -> Bench {
    let model = Model {
        id: "m".into(),
        provider: "fake".into(),
        api: Api::OpenaiCompletions,
        base_url: base_url.into(),
        ..Model::default()
    };
    Bench::with(Arc::new(Direct::new(Arc::new(Http::new(network)), limits)), |config| {
        config.model = Some(Arc::new(model));
        config.retry_mode = mode;
        config.max_retries = 2;
    })
}

fn direct() -> Network {
    Network { proxy: ProxyChoice::Never, ..Network::default() }
}

/// Everything a run observed.
struct Observed {
    events: Vec<AgentEvent>,
    took: Duration,
}

impl Observed {
    /// The model's answers in short: how each ended, and its text.
    fn answers(&self) -> Vec<String> {
        let ended = self.events.iter().filter_map(|event| match event {
            AgentEvent::Turn(TurnEvent::MessageEnd { message })
                if matches!(**message, Message::Assistant(_)) =>
            {
                Some(said(message).replace("assistant ", ""))
            }
            _ => None,
        });
        ended.collect()
    }

    /// All texts about failures.
    fn words(&self) -> String {
        let words = self.events.iter().filter_map(|event| match event {
            AgentEvent::Run(RunEvent::AutoRetryStart { error_message, .. }) => Some(error_message.clone()),
            AgentEvent::Task(TaskEvent::Notice { text, .. }) => Some(text.clone()),
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => match &**message {
                Message::Assistant(answer) => answer.error_message.clone(),
                Message::ToolResult(result) => result.is_error.then(|| format!("{:?}", result.content)),
                _ => None,
            },
            _ => None,
        });
        words.collect::<Vec<_>>().join("\n")
    }
}

async fn go(mut bench: Bench) -> Observed {
    let began = Instant::now();
    bench.prompt("go").await;
    let events = bench.settled().await;
    Observed { events, took: began.elapsed() }
}

/// The events of one prompt to a model at this address.
pub async fn run(base_url: &str) -> Vec<AgentEvent> {
    go(bench(base_url, direct(), RetryMode::Headless)).await.events
}

/// One fault: the server's behaviour, the ends of the answers, expected words, the number of requests.
struct Case {
    name: &'static str,
    acts: Vec<Act>,
    answers: &'static [&'static str],
    words: &'static str,
    requests: usize,
}

fn case(
    name: &'static str,
    acts: impl IntoIterator<Item = Act>,
    answers: &'static [&'static str],
    words: &'static str,
    requests: usize,
) -> Case {
    Case { name, acts: acts.into_iter().collect(), answers, words, requests }
}

/// Runs the cases in parallel, as most of them wait for a retry.
async fn check(cases: Vec<Case>) {
    let runs = cases.into_iter().map(|case| async move {
        let server = Server::start(case.acts).await;
        let observed = go(bench(&server.url(), direct(), RetryMode::Headless)).await;
        let name = case.name;
        assert_eq!(observed.answers(), case.answers, "{name}: {}", observed.words());
        assert!(observed.words().contains(case.words), "{name}: {}", observed.words());
        assert_eq!(server.requests().len(), case.requests, "{name}: {}", observed.words());
        assert!(observed.took < Duration::from_secs(15), "{name} took {:?}", observed.took);
    });
    futures_util::future::join_all(runs).await;
}

fn ok() -> Act {
    Act::Send(stream(OK))
}

/// An error answer in the format of most providers.
fn error(status: &str, headers: &str, message: &str) -> Act {
    let body = json!({ "error": { "message": message } }).to_string();
    Act::Send(answer(status, headers, body.as_bytes()))
}

#[tokio::test]
async fn statuses() {
    const RETRIED: &[&str] = &["Stop ok"];
    const TOLD: &[&str] = &["Error"];
    let again = "retry-after: 0\r\n";
    let date = "date: Sat, 21 Nov 2026 08:00:00 GMT\r\nretry-after: Sat, 21 Nov 2026 08:00:01 GMT\r\n";
    let far = "date: Sat, 21 Nov 2026 08:00:00 GMT\r\nretry-after: Sat, 21 Nov 2026 11:30:00 GMT\r\n";
    let too_long = "This model's maximum context length is 8192 tokens.";
    let page = b"<html><head><title>Sign in to the network</title></head></html>";
    let page = Act::Send(answer("200 OK", "content-type: text/html\r\n", page));
    check(vec![
        case(
            "429 seconds",
            [error("429 Slow", "retry-after: 1\r\n", "slow down"), ok()],
            RETRIED,
            "slow down",
            2,
        ),
        case("429 date", [error("429 Slow", date, "slow down"), ok()], RETRIED, "slow down", 2),
        case("429 hours", [error("429 Slow", "retry-after: 7200\r\n", "quota")], TOLD, "to wait 2 h:", 1),
        case("429 far date", [error("429 Slow", far, "quota")], TOLD, "to wait 3 h 30 min:", 1),
        case("500", [error("500 Oops", again, "oops"), ok()], RETRIED, "oops", 2),
        case("502", [error("502 Bad", again, "bad"), ok()], RETRIED, "bad", 2),
        case("503", [error("503 Away", again, "away"), ok()], RETRIED, "away", 2),
        case("529", [error("529 Full", again, "overloaded"), ok()], RETRIED, "overloaded", 2),
        case("500 for ever", [error("500 Oops", again, "oops")], TOLD, "oops", 3),
        case("401", [error("401 No", "", "who are you")], TOLD, "who are you (check the API key", 1),
        case("403", [error("403 No", "", "not for you")], TOLD, "not for you (check the API key", 1),
        case("404", [error("404 No", "", "no such model")], TOLD, "no such model (check the model's name", 1),
        case("400 overflow", [error("400 No", "", too_long)], TOLD, too_long, 1),
        case("a page for ever", [page.clone()], TOLD, "a web page answered, not the API: Sign in", 2),
        case("a page once", [page, ok()], RETRIED, "a web page", 2),
    ])
    .await;
}

#[tokio::test]
async fn connections_that_break() {
    const KEPT: &[&str] = &["Error so far", "Stop ok"];
    let half = format!("{SAID}data: {{\"choices\":[{{\"delta\":{{\"content\":\"ha");
    let chunk = format!("{:x}\r\n{SAID}\r\n40\r\ndata: ", SAID.len());
    let chunked = answer("200 OK", "transfer-encoding: chunked\r\n", chunk.as_bytes());
    let short = answer("200 OK", "content-length: 5000\r\n", SAID.as_bytes());
    check(vec![
        case("reset before the first byte", [Act::Reset(Vec::new()), ok()], &["Stop ok"], "127.0.0.1", 2),
        case("closed before the first byte", [Act::Send(Vec::new()), ok()], &["Stop ok"], "127.0.0.1", 2),
        case("reset for ever", [Act::Reset(Vec::new())], &["Error"], "127.0.0.1", 3),
        case("reset in mid-event", [Act::Reset(stream(&half)), ok()], KEPT, "lost mid-answer", 2),
        case("reset between events", [Act::Reset(stream(SAID)), ok()], KEPT, "lost mid-answer", 2),
        case("truncated", [Act::Send(stream(SAID)), ok()], KEPT, "without a finish_reason", 2),
        case("truncated in mid-event", [Act::Send(stream(&half)), ok()], KEPT, "without a finish_reason", 2),
        case("chunks cut", [Act::Send(chunked), ok()], KEPT, "lost mid-answer", 2),
        case("shorter than it said", [Act::Send(short), ok()], KEPT, "lost mid-answer", 2),
        case("silence before the head", [Act::Stall(Vec::new()), ok()], &["Stop ok"], "no data from", 2),
        case("silence in an answer", [Act::Stall(stream(SAID)), ok()], KEPT, "no data from", 2),
        case("silence for ever", [Act::Stall(Vec::new())], &["Error"], "no data from", 2),
        case("an empty body", [Act::Send(stream("")), ok()], &["Stop ok"], "", 2),
    ])
    .await;
}

/// A chunk with tool calls: id and arguments of each.
fn calls(list: &[(&str, &str)]) -> String {
    let list = list.iter().enumerate().map(|(index, (id, arguments))| {
        json!({ "index": index, "id": id, "function": { "name": "echo", "arguments": arguments } })
    });
    let list: Vec<_> = list.collect();
    let chunk = json!({ "choices": [{ "delta": { "tool_calls": list } }] });
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] });
    format!("data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

#[tokio::test]
async fn bodies_that_are_odd() {
    let text = "größe 😀";
    let spoken = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n{END}");
    let broken = format!("{SAID}data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\n\n{END}");
    let strange = format!(
        "event: strange\ndata: {{\"type\":\"strange\",\"choices\":null}}\n\n: ping\n\nretry: 5\n\n{OK}"
    );
    let packed = answer("200 OK", "content-encoding: gzip\r\n", &gzip(OK.as_bytes()));
    let mut cut = packed.clone();
    cut.truncate(packed.len() - 40);
    check(vec![
        case("one byte a read", [Act::Bytewise(stream(&spoken))], &["Stop größe 😀"], "", 1),
        case("a malformed chunk", [Act::Send(stream(&broken)), ok()], &["Error so far", "Stop ok"], "", 2),
        case("an empty answer", [Act::Send(stream(END)), ok()], &["Stop ok"], "empty answer", 2),
        case("unknown events", [Act::Send(stream(&strange))], &["Stop ok"], "", 1),
        case("gzip", [Act::Send(packed)], &["Stop ok"], "", 1),
        case("gzip cut", [Act::Send(cut), ok()], &["Error ok", "Stop ok"], "lost mid-answer", 2),
        case(
            "a call with invalid json",
            [Act::Send(stream(&calls(&[("a", "{\"text\": ")]))), ok()],
            &["ToolUse [a]", "Stop ok"],
            "not a valid JSON object",
            2,
        ),
        case(
            "a call before the provider broke down",
            [Act::Send(stream(&calls(&[("a", "{}")]).replace("\"tool_calls\"}", "\"error\"}"))), ok()],
            &["Error [a]", "Stop ok"],
            "the provider aborted the answer (error)",
            2,
        ),
        case(
            "two calls of one id",
            [Act::Send(stream(&calls(&[("a", "{}"), ("a", "{}")]))), ok()],
            &["ToolUse [a] [a_2]", "Stop ok"],
            "",
            2,
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_argument_of_5_megabytes_arrives_whole() {
    let long = "0123456789abcdef".repeat(5 * 65_536);
    let arguments = json!({ "text": long }).to_string();
    let mut body = String::new();
    for (at, part) in arguments.as_bytes().chunks(8 * 1024).enumerate() {
        let part = String::from_utf8(part.to_vec()).unwrap();
        let function = match at {
            0 => json!({ "name": "echo", "arguments": part }),
            _ => json!({ "arguments": part }),
        };
        let id = (at == 0).then_some("a");
        let call = json!({ "index": 0, "id": id, "function": function });
        body += &format!("data: {}\n\n", json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }));
    }
    body += "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let server = Server::start(vec![Act::Send(stream(&body)), ok()]).await;
    let bench = bench_within(IdleLimits::default(), &server.url(), direct(), RetryMode::Headless);
    let observed = go(bench).await;
    assert_eq!(observed.answers(), ["ToolUse [a]", "Stop ok"], "{}", observed.words());
    let echoed = observed.events.iter().find_map(|event| match event {
        AgentEvent::Turn(TurnEvent::ToolExecutionEnd { result, .. }) => {
            Some(serde_json::to_string(result).unwrap())
        }
        _ => None,
    });
    assert!(echoed.unwrap().contains(&long));
}

/// A gzip file of one stored block (RFC 1951, section 3.2.4; RFC 1952).
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let size = u16::try_from(bytes.len()).unwrap();
    let crc = bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    out.extend(size.to_le_bytes());
    out.extend((!size).to_le_bytes());
    out.extend(bytes);
    out.extend((!crc).to_le_bytes());
    out.extend(u32::from(size).to_le_bytes());
    out
}

#[tokio::test]
async fn addresses_that_lead_nowhere() {
    let (_kept, closed) = server::closed_port();
    let closed = closed.to_string();
    let refused = format!("http://{closed}");
    for (url, words) in
        [(refused.as_str(), closed.as_str()), ("http://no-such-host.invalid", "no-such-host.invalid")]
    {
        let observed = go(bench(url, direct(), RetryMode::Headless)).await;
        assert_eq!(observed.answers(), ["Error"], "{url}");
        assert!(observed.words().contains(&format!("cannot connect to {words}")), "{}", observed.words());
        assert!(brief(&observed.events).contains(&"retry 2".to_owned()), "it is tried again");
    }
}

#[tokio::test]
async fn a_redirect_takes_nothing_along() {
    let other = Server::start(vec![ok()]).await;
    let location = format!("location: {}/x\r\n", other.url());
    let server = Server::start(vec![Act::Send(answer("307 There", &location, b""))]).await;
    let observed = go(bench(&server.url(), direct(), RetryMode::Headless)).await;
    assert_eq!(observed.answers(), ["Error"]);
    assert!(observed.words().contains("redirects to"), "{}", observed.words());
    assert_eq!((server.requests().len(), other.requests().len()), (1, 0));
}

#[tokio::test]
async fn a_wait_is_never_none() {
    let past = "date: Sat, 21 Nov 2026 08:00:00 GMT\r\nretry-after: Sat, 21 Nov 2026 07:00:00 GMT\r\n";
    for header in ["retry-after: 0\r\n", "retry-after: -5\r\n", "retry-after-ms: 0\r\n", past] {
        let server = Server::start(vec![error("429 Slow", header, "slow")]).await;
        let mut bench = bench(&server.url(), direct(), RetryMode::Headless);
        bench.prompt("go").await;
        let observed =
            bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::AutoRetryStart { .. }))).await;
        let Some(AgentEvent::Run(RunEvent::AutoRetryStart { delay_ms, .. })) = observed.last() else {
            panic!("{observed:?}")
        };
        assert!((750..=1_250).contains(delay_ms), "{header}: {delay_ms}");
    }
}

#[tokio::test]
async fn a_long_wait_is_shown_and_can_be_ended() {
    let server = Server::start(vec![error("429 Slow", "retry-after: 7200\r\n", "quota")]).await;
    let mut bench = bench(&server.url(), direct(), RetryMode::Interactive);
    bench.prompt("go").await;
    let waits = bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::AutoRetryStart { .. }))).await;
    let Some(AgentEvent::Run(RunEvent::AutoRetryStart { delay_ms: 7_200_000, error_message, .. })) =
        waits.last()
    else {
        panic!("{waits:?}")
    };
    assert!(error_message.contains("quota"));
    bench.send(RunCommand::AbortRetry).await;
    let observed = Observed { events: bench.settled().await, took: Duration::ZERO };
    assert_eq!(observed.answers(), ["Error"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn silence_is_told_before_it_ends_the_request() {
    for (act, limit) in [(Act::Stall(Vec::new()), 2_000), (Act::Stall(stream(SAID)), 1_000)] {
        let server = Server::start(vec![act, ok()]).await;
        let observed = go(bench(&server.url(), direct(), RetryMode::Headless)).await;
        let stalls = observed.events.iter().filter_map(|event| match event {
            AgentEvent::Run(RunEvent::Stalled { idle_ms, limit_ms }) => Some((*idle_ms, *limit_ms)),
            _ => None,
        });
        let stalls: Vec<(u64, u64)> = stalls.collect();
        assert!(stalls.len() >= 3, "{stalls:?}");
        assert!(
            stalls.is_sorted() && stalls.iter().all(|(idle, of)| *idle >= 200 && *of == limit),
            "{stalls:?}"
        );
        assert_eq!(observed.answers().last().map(String::as_str), Some("Stop ok"));
    }
}

#[tokio::test]
async fn a_proxy_is_used_as_it_is_set() {
    let proxy = Server::start(vec![ok()]).await;
    let network = Network { proxy: ProxyChoice::parse(&proxy.url()), ..Network::default() };
    let observed = go(bench("http://model.invalid/v1", network.clone(), RetryMode::Headless)).await;
    assert_eq!(observed.answers(), ["Stop ok"], "{}", observed.words());
    let first = proxy.requests().remove(0);
    assert!(first.starts_with("POST http://model.invalid/v1/chat/completions HTTP/1.1\r\n"), "{first}");

    // Through a tunnel the proxy learns only the host.
    let tunnel = Server::start(vec![Act::Send(answer("403 No", "", b""))]).await;
    let network = Network { proxy: ProxyChoice::parse(&tunnel.url()), ..network };
    let observed = go(bench("https://model.invalid/v1", network, RetryMode::Headless)).await;
    assert_eq!(observed.answers(), ["Error"]);
    let first = tunnel.requests().remove(0);
    assert!(first.starts_with("CONNECT model.invalid:443 ") && !first.contains("chat"), "{first}");

    // A server on this machine is never reached through a proxy.
    let (near, proxy) = (Server::start(vec![ok()]).await, Server::start(vec![ok()]).await);
    let network = Network { proxy: ProxyChoice::parse(&proxy.url()), ..Network::default() };
    assert_eq!(go(bench(&near.url(), network, RetryMode::Headless)).await.answers(), ["Stop ok"]);
    assert!(proxy.requests().is_empty());
}
