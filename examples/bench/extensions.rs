//! The cost of extensions: the first frame with many of them, a call of an MCP tool, the list of all, and
//! idle servers.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::Usage;
use super::terminal::Terminal;
use super::{Subject, milliseconds, percentile, pipes, row};

/// The number of calls of the echo tool.
const CALLS: usize = 100;
/// Many servers and skills, as a heavy user might have.
const MANY: (usize, usize) = (20, 200);
/// The number of idle servers.
const WAITING: usize = 10;
/// The number of templates, and of skills, that are listed.
const LISTED: usize = 500;

/// Measures everything. `runs` starts count, and servers idle for `idle`.
pub fn measure(subject: &Subject, runs: usize, idle: Duration) {
    measure_start(subject, runs);
    measure_calls(subject);
    measure_list(subject, runs);
    measure_waiting(subject, idle);
}

/// A home with this many servers, skills and templates. The servers are this program.
fn home(servers: usize, skills: usize, templates: usize) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tau");
    let own = std::env::current_exe().unwrap();
    let mut config = String::new();
    for number in 0..servers {
        writeln!(config, "[mcp.server{number}]\ncommand = {own:?}\nargs = [\"--mcp-server\"]").unwrap();
    }
    for number in 0..skills {
        let skill = folder.join(format!("skills/skill-{number}"));
        std::fs::create_dir_all(&skill).unwrap();
        let text = format!(
            "---\nname: skill-{number}\ndescription: Does what number {number} is for. Use it for number {number}.\n\
             ---\n\n# Number {number}\n\n{}",
            "1. Do the first thing, then the next, and look at what has changed.\n".repeat(40)
        );
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
    }
    std::fs::create_dir_all(folder.join("prompts")).unwrap();
    for number in 0..templates {
        let text = format!(
            "---\ndescription: Prompt number {number}\nargument-hint: [file]\n---\nLook at $1 and say what is wrong.\n"
        );
        std::fs::write(folder.join(format!("prompts/prompt-{number}.md")), text).unwrap();
    }
    std::fs::write(folder.join("config.toml"), config).unwrap();
    home
}

/// The first frame, with and without, alternately.
fn measure_start(subject: &Subject, runs: usize) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(1) {
        for (home, times) in [(home(0, 0, 0), &mut without), (home(MANY.0, MANY.1, 0), &mut with)] {
            let start = Instant::now();
            let mut terminal = Terminal::start_in(home, &subject.path, &subject.args);
            if terminal.wait_until(Duration::from_secs(30), |screen| !screen.contents().trim().is_empty()) {
                times.push(start.elapsed());
            }
            // The servers of one run must not slow down the next.
            terminal.type_keys("\x04");
            terminal.wait_until(Duration::from_secs(5), |_| false);
        }
    }
    let (without, with) = (percentile(&mut without, 50), percentile(&mut with, 50));
    row(&subject.name, "first frame, no extensions, p50", milliseconds(without));
    let (servers, skills) = MANY;
    let figure = format!("first frame, {servers} servers, {skills} skills");
    row(&subject.name, &figure, milliseconds(with));
}

/// Calls of an echo tool, one after another, next to the same messages over plain pipes.
fn measure_calls(subject: &Subject) {
    let floor = plain_calls();
    row("floor", "an echo over pipes", milliseconds(floor));
    let address = serve();
    let home = home(1, 0, 0);
    let mut child = Command::new(&subject.path)
        .args(["--json", "--base-url", &format!("http://{address}"), "--api-key", "x", "--model", "m", "go"])
        .env("HOME", home.path())
        .env("TAU_HOME", home.path().join("tau"))
        .env("TAU_PERMISSION_MODE", "auto")
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut begun, mut ended, mut right) = (None, None, 0);
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if line.contains("\"type\":\"tool_execution_start\"") {
            begun = begun.or(Some(Instant::now()));
        } else if line.contains("\"type\":\"tool_execution_end\"") {
            ended = Some(Instant::now());
            right += usize::from(line.contains("said: number"));
        }
    }
    child.wait().unwrap();
    let (Some(begun), Some(ended)) = (begun, ended) else {
        return row(&subject.name, "calls of an MCP tool", "none".to_owned());
    };
    if right != CALLS {
        return row(&subject.name, "calls of an MCP tool", format!("{right} of {CALLS}"));
    }
    let each = ended.duration_since(begun) / CALLS as u32;
    row(&subject.name, "a call of an MCP tool", milliseconds(each));
    row(&subject.name, "a call above the echo", milliseconds(each.saturating_sub(floor)));
}

/// The time of an echo when nothing else is done.
fn plain_calls() -> Duration {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("--mcp-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut ask = |id: usize| {
        let params = json!({"name": "echo", "arguments": {"text": format!("number {id}")}});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        input.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.contains("said: number"), "{answer}");
    };
    ask(0);
    let start = Instant::now();
    (1..=CALLS).for_each(&mut ask);
    let took = start.elapsed() / CALLS as u32;
    drop(input);
    server.wait().unwrap();
    took
}

/// The whole program that lists templates and skills, from exec to exit.
fn measure_list(subject: &Subject, runs: usize) {
    let home = home(0, LISTED, LISTED);
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let mut command = Command::new(&subject.path);
        command.args(["extensions", "--json"]).env("HOME", home.path());
        command.env("TAU_HOME", home.path().join("tau")).current_dir(home.path());
        let start = Instant::now();
        let listed = command.stdin(Stdio::null()).output().unwrap();
        times.push(start.elapsed());
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert!(listed["extensions"].as_array().is_some_and(|rows| rows.len() >= 2 * LISTED));
    }
    let figure = format!("listing {} extensions, p50", 2 * LISTED);
    row(&subject.name, &figure, milliseconds(percentile(&mut times, 50)));
}

/// Resource use while servers are idle, once all of them are ready.
fn measure_waiting(subject: &Subject, idle: Duration) {
    let mut terminal = Terminal::start_in(home(WAITING, 0, 0), &subject.path, &subject.args);
    terminal.wait_quiet(Duration::from_secs(3), Duration::from_secs(20));
    let before = Usage::of(terminal.pid());
    terminal.wait_until(idle, |_| false);
    let after = Usage::of(terminal.pid());
    let busy = after.running.saturating_sub(before.running);
    let figure = format!("idle, {WAITING} servers:");
    row(&subject.name, &format!("{figure} cpu"), milliseconds(busy));
    let wakes = after.wakes_since(&before) / idle.as_secs_f64();
    row(&subject.name, &format!("{figure} wake-ups a second"), format!("{wakes:.2}"));
    terminal.type_keys("/extensions\r");
    let ready = terminal
        .wait_until(Duration::from_secs(5), |screen| screen.contents().matches("1 tool").count() >= WAITING);
    if !ready {
        row(&subject.name, &format!("{figure} ready"), "not all".to_owned());
        println!("{}", terminal.contents());
    }
}

/// Runs as an MCP server with one echo tool, until its input ends.
pub fn mcp_server() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{
                "name": "echo", "description": "Repeats its text",
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            }]}),
            "tools/call" => {
                let text = format!("said: {}", params["arguments"]["text"].as_str().unwrap_or_default());
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ => json!({}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// A model that calls the tool, and says that it is done once it has the results.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            // A client that disconnects does not affect the others.
            let _ = answer(stream, number == 0);
        }
    });
    address
}

fn answer(mut stream: TcpStream, is_first: bool) -> std::io::Result<()> {
    pipes::read_request(&mut stream)?;
    let call = |number: usize| {
        let arguments = json!({"text": format!("number {number}")}).to_string();
        json!({
            "index": number, "id": format!("c{number}"), "type": "function",
            "function": {"name": "mcp__server0__echo", "arguments": arguments},
        })
    };
    let (delta, reason) = match is_first {
        true => (json!({"tool_calls": (0..CALLS).map(call).collect::<Vec<_>>()}), "tool_calls"),
        false => (json!({"content": "done"}), "stop"),
    };
    let delta = json!({"choices": [{"index": 0, "delta": delta}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    stream.write_all(format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n").as_bytes())
}
