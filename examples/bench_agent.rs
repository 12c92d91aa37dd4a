//! Figures of the agent: decoding, the cost of a delta, also for an editor, a headless turn, a hundred
//! calls.
//!
//! ```text
//! cargo build --release && cargo run --release --example bench_agent
//! PEER='pi -p --no-session hello' cargo run --release --example bench_agent
//! ```
//!
//! `decode`, `delta`, `acp`, `turn` and `calls` name parts; all are measured if none is named.
//!
//! A turn is measured as whole processes against a server in this program that answers at once; beside it, a
//! program that does nothing, and `PEER`, a shell command in which `{url}` stands for the server's address.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that measures, runs others and prints"
)]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tau::agent::api::{Agent, CodingAgent};
use tau::agent::protocol::event::{Delta, RunEvent};
use tau::agent::protocol::message::StopReason;
use tau::agent::protocol::model::Api;
use tau::agent::provider::reader::AnswerReader;
use tau::agent::provider::scripted::{ScriptedTransport, calls, says};
use tau::agent::provider::{StreamEvent, wire_format};
use tau::agent::{AgentEvent, catalogue};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The size of the decoded body, a long answer, in bytes.
const BODY: usize = 1 << 20;
const ANSWERS: usize = 64;
/// The number of bytes per read.
const READ: usize = 16 << 10;
/// The best of this many runs counts; for processes, the median.
const RUNS: usize = 5;
const PROCESSES: usize = 31;

/// A piece of text as providers send it, and its surroundings in each format.
const WORDS: &str = " and the parser reads on";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|named| named == part);
    if wanted("decode") {
        for name in ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"] {
            let rate = decoding(Api::from_name(name).ok_or("no such format")?)?;
            row(&format!("decode {name}"), format!("{rate:.0} MB/s"));
        }
    }
    if wanted("delta") {
        let short = delta_cost(10_000).await?;
        let long = delta_cost(100_000).await?;
        let more = (long / short - 1.0) * 100.0;
        row("a delta, of 10,000 in a message", format!("{:.0} ns", short * 1e9));
        row("a delta, of 100,000 in a message", format!("{:.0} ns ({more:+.0} %)", long * 1e9));
    }
    if wanted("acp") {
        let cost = acp_delta_cost(20_000)?;
        row("a delta for an editor, with its decoding", format!("{:.1} µs", cost * 1e6));
    }
    if wanted("turn") {
        headless_turns()?;
    }
    if wanted("calls") {
        let time = hundred_calls().await?.as_secs_f64();
        row("100 calls of `true`, one after the other", format!("{time:.2} s"));
    }
    Ok(())
}

fn row(figure: &str, value: String) {
    println!("{figure:<44} {value:>20}");
}

/// One event of an answer's body, with everything that the format's provider sends beside the text.
fn chunk(api: Api) -> String {
    let (name, data) = match api {
        Api::AnthropicMessages => {
            let delta = json!({"type": "text_delta", "text": WORDS});
            (
                "event: content_block_delta\n",
                json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            )
        }
        Api::OpenaiResponses => {
            let place = json!({"type": "response.output_text.delta", "sequence_number": 7,
                "item_id": "msg_0123456789abcdef0123456789abcdef0123456789abcdef", "output_index": 0,
                "content_index": 0, "delta": WORDS, "logprobs": [], "obfuscation": "vxgGcnZ5Hd"});
            ("event: response.output_text.delta\n", place)
        }
        Api::GoogleGenerativeAi => {
            let content = json!({"role": "model", "parts": [{"text": WORDS}]});
            let counts = json!({"promptTokenCount": 12, "candidatesTokenCount": 24, "totalTokenCount": 36,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 12}]});
            let chunk = json!({"candidates": [{"content": content, "index": 0}], "usageMetadata": counts,
                "modelVersion": "gemini-3.5-flash", "responseId": "Vx3gaMnKHd-0nsEPl5yq4Qk"});
            ("", chunk)
        }
        _ => {
            let choice =
                json!({"index": 0, "delta": {"content": WORDS}, "logprobs": null, "finish_reason": null});
            let chunk = json!({"id": "chatcmpl-0123456789abcdefghijklmnopqrs", "object": "chat.completion.chunk",
                "created": 1_790_000_000, "model": "gpt-5-mini-2025-08-07", "service_tier": "default",
                "system_fingerprint": null, "choices": [choice], "usage": null, "obfuscation": "vxgGc"});
            ("", chunk)
        }
    };
    format!("{name}data: {data}\n\n")
}

/// The text that must precede the first piece.
fn opening(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => {
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}\n\n\
             event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
        }
        Api::OpenaiResponses => {
            "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\
             \"item\":{\"type\":\"message\",\"id\":\"msg_0123456789\",\"content\":[]}}\n\n"
        }
        _ => "",
    }
}

/// The number of bytes of text in an event.
fn text_of(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Delta(Delta::TextDelta { delta, .. }) => delta.len(),
        _ => 0,
    }
}

/// The body that one core reads and decodes, in 10^6 bytes per second.
fn decoding(api: Api) -> Outcome<f64> {
    let chunk = chunk(api);
    let body = [opening(api), &chunk.repeat(BODY / chunk.len())].concat().into_bytes();
    let mut best = Duration::MAX;
    let length = BODY / chunk.len() * WORDS.len();
    for _ in 0..RUNS {
        let started = Instant::now();
        for _ in 0..ANSWERS {
            let mut reader = AnswerReader::new(wire_format(api).ok_or("no such format")?.decoder());
            let (mut events, mut received) = (Vec::new(), 0);
            for part in body.chunks(READ) {
                reader.push(part, &mut events);
                received += events.drain(..).map(|event| text_of(&event)).sum::<usize>();
            }
            if received != length {
                return Err("text is missing".into());
            }
        }
        best = best.min(started.elapsed());
    }
    Ok((body.len() * ANSWERS) as f64 / 1e6 / best.as_secs_f64())
}

/// The seconds that a delta takes from the transport to a subscriber, in a message of this many.
async fn delta_cost(deltas: usize) -> Outcome<f64> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let delta = || StreamEvent::Delta(Delta::TextDelta { content_index: 0, delta: WORDS.to_owned() });
        let mut script = vec![StreamEvent::Delta(Delta::TextStart { content_index: 0 })];
        script.extend((0..deltas).map(|_| delta()));
        let content = WORDS.repeat(deltas);
        script.push(StreamEvent::Delta(Delta::TextEnd { content_index: 0, content }));
        script.push(StreamEvent::Stop(StopReason::Stop));
        let agent =
            Agent::builder().model(catalogue::demo()).transport(ScriptedTransport::new([script])).start();
        let mut events = agent.subscribe();
        let started = Instant::now();
        agent.prompt("go", []).await?;
        while let Some(event) = events.recv().await {
            if matches!(event, AgentEvent::Run(RunEvent::AgentSettled { .. })) {
                break;
            }
        }
        best = best.min(started.elapsed());
        agent.shutdown().await;
    }
    Ok(best.as_secs_f64() / deltas as f64)
}

/// A hundred turns of one call of `true` each, through the loop and the real tool.
async fn hundred_calls() -> Outcome<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let call = |n: usize| {
            let id = format!("call_{n}");
            calls(&[(id.as_str(), "bash", json!({ "command": format!("true {n}") }))])
        };
        let script = (0..100).map(call).chain([says("done")]);
        let agent = CodingAgent::builder(std::env::temp_dir())
            .agent(|agent| agent.model(catalogue::demo()).transport(ScriptedTransport::new(script)))
            .start();
        let started = Instant::now();
        agent.run("go").await?;
        best = best.min(started.elapsed());
        agent.shutdown().await;
    }
    Ok(best)
}

/// The seconds from the bytes of a provider to the line read by an editor, for each delta of an answer with
/// this many: `tau acp` as a process.
fn acp_delta_cost(deltas: usize) -> Outcome<f64> {
    let url = server(deltas)?;
    let home = Home::new()?;
    let mut tau = tau(&home)?;
    tau.args(["acp", "--base-url", &url, "--model", "m", "--no-session"]);
    let mut child = tau.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut ask =
        |id: usize, method: &str, params: serde_json::Value| -> Outcome<(serde_json::Value, usize)> {
            writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
            let (mut line, mut chunks) = (String::new(), 0);
            loop {
                line.clear();
                if lines.read_line(&mut line)? == 0 {
                    return Err("tau acp has ended".into());
                }
                if line.contains("agent_message_chunk") {
                    chunks += 1;
                } else if let Ok(mut answer) = serde_json::from_str::<serde_json::Value>(&line)
                    && answer["id"] == id
                {
                    return Ok((answer["result"].take(), chunks));
                }
            }
        };
    ask(1, "initialize", json!({"protocolVersion": 1}))?;
    let (session, _) = ask(2, "session/new", json!({"cwd": home.0, "mcpServers": []}))?;
    let prompt = json!({"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": "go"}]});
    let mut best = Duration::MAX;
    for run in 0..RUNS {
        let started = Instant::now();
        let (_, chunks) = ask(3 + run, "session/prompt", prompt.clone())?;
        best = best.min(started.elapsed());
        if chunks != deltas {
            return Err(format!("{chunks} of {deltas} deltas came").into());
        }
    }
    drop(input);
    child.wait()?;
    Ok(best.as_secs_f64() / deltas as f64)
}

/// A folder as home, without any of the user's configuration, so that runs are comparable.
struct Home(PathBuf);

impl Home {
    fn new() -> Outcome<Self> {
        let home = std::env::temp_dir().join(format!("tau-bench-{}", std::process::id()));
        std::fs::create_dir_all(&home)?;
        Ok(Home(home))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            println!("{} is left behind: {error}", self.0.display());
        }
    }
}

/// The program beside this one.
fn tau(home: &Home) -> Outcome<Command> {
    let folder = std::env::current_exe()?.parent().and_then(|examples| examples.parent()).map(PathBuf::from);
    let tau = folder.ok_or("where am I?")?.join("tau");
    if !tau.exists() {
        return Err("there is no tau beside this program: run `cargo build --release` first".into());
    }
    let mut command = Command::new(tau);
    command.env_clear().env("HOME", &home.0).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    Ok(command)
}

/// Answers chat completions of this many pieces at once, one connection after the other, for as long as we
/// run.
fn server(pieces: usize) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client may disconnect in the middle.
            std::thread::spawn(move || drop(answer(connection, pieces)));
        }
    });
    Ok(url)
}

fn answer(connection: TcpStream, pieces: usize) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let body = format!("{}data: {end}\n\ndata: [DONE]\n\n", chunk(Api::OpenaiCompletions).repeat(pieces));
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
        write!(reader.get_mut(), "{head} {}\r\n\r\n{body}", body.len())?;
    }
}

/// Whole processes: one that does nothing, tau with one prompt, the peer with one.
fn headless_turns() -> Outcome<()> {
    let url = server(1)?;
    let home = Home::new()?;
    let floor = median("true", &mut Command::new("true"))?;
    let mut turn = tau(&home)?;
    turn.args(["-p", "--base-url", &url, "--model", "m", "--no-session", "hello"]);
    let own = median("tau -p", &mut turn)?;
    row(
        "a headless turn over the floor",
        format!("{:.1} ms", (own.saturating_sub(floor)).as_secs_f64() * 1e3),
    );
    if let Ok(peer) = std::env::var("PEER") {
        median("peer", Command::new("sh").args(["-c", &peer.replace("{url}", &url)]))?;
    }
    Ok(())
}

/// The median time of a process from start to end.
fn median(name: &str, command: &mut Command) -> Outcome<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut times = Vec::new();
    for _ in 0..PROCESSES {
        let started = Instant::now();
        let status = command.status()?;
        times.push(started.elapsed());
        if !status.success() {
            return Err(format!("{name} failed: {status}").into());
        }
    }
    times.sort_unstable();
    let median = times.get(PROCESSES / 2).copied().unwrap_or_default();
    row(&format!("{name}: start to end"), format!("{:.1} ms", median.as_secs_f64() * 1e3));
    Ok(median)
}
