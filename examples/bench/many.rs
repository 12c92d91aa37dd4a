//! Many sessions at once: how long `tau -b` takes, what sessions cost that wait in the background, how soon a helper
//! asks its model, and the board.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::process::Usage;
use super::terminal::Terminal;
use super::{Options, Subject, TIMEOUT, changes, milliseconds, percentile, pipes, row, stream, wait_ready};

/// The sessions that wait for an answer.
pub const WAITING: usize = 20;
/// The sessions on the board.
const ON_BOARD: usize = 200;
/// Prompts that the server knows; it answers every other one with a word.
const ASK: &str = "ask before you change it";
const DELEGATE: &str = "let a helper look around";
/// The task of the helper.
const TASK: &str = "count the folders";

/// Measures all of it, in one home.
pub fn measure(tau: &Subject, options: &Options) {
    let home = tempfile::tempdir().unwrap();
    let (address, begun) = serve();
    let base = format!("http://{address}");
    let command = |args: &[&str]| {
        let mut command = Command::new(&tau.path);
        command.args(args).env("HOME", home.path()).env("TAU_HOME", home.path().join("tau"));
        command.current_dir(home.path()).stdin(Stdio::null());
        command
    };
    let model = ["--base-url", &base, "--api-key", "x", "--model", "m"];
    let begin = |args: &[&str]| command(&[&["-b"], &model[..], args].concat()).output().unwrap();
    let mut times: Vec<Duration> = (0..ON_BOARD.saturating_sub(WAITING))
        .map(|_| {
            let start = Instant::now();
            let output = begin(&["hello"]);
            assert!(output.status.success(), "{output:?}");
            start.elapsed()
        })
        .collect();
    for percent in [50, 90] {
        row(
            "tau",
            &format!("tau -b, to the prompt, p{percent}"),
            milliseconds(percentile(&mut times, percent)),
        );
    }
    let mut starts: Vec<Duration> = (0..options.runs)
        .map(|_| {
            let asks =
                [&["-p", "--permission-mode", "auto", "--tools", "read,delegate"], &model[..], &[DELEGATE]]
                    .concat();
            assert!(command(&asks).stdout(Stdio::null()).status().unwrap().success());
            begun.recv_timeout(TIMEOUT).unwrap()
        })
        .collect();
    row("tau", "helper, to its first request, p50", milliseconds(percentile(&mut starts, 50)));
    measure_waiting(home.path(), Duration::from_secs(options.idle), || {
        assert!(begin(&["--permission-mode", "ask", ASK]).status.success());
    });
    measure_board(home.path(), tau, options);
}

/// The memory and the CPU of sessions in the background while they wait.
fn measure_waiting(home: &Path, time: Duration, begin: impl Fn()) {
    (0..WAITING).for_each(|_| begin());
    let end = Instant::now() + TIMEOUT;
    let mut pids = Vec::new();
    while pids.len() < WAITING {
        assert!(Instant::now() < end, "only {} sessions wait", pids.len());
        std::thread::sleep(Duration::from_millis(100));
        pids = waiting(home);
    }
    std::thread::sleep(Duration::from_secs(1));
    let cpu = || pids.iter().map(|pid| Usage::of(*pid).cpu).sum::<Duration>();
    let before = cpu();
    std::thread::sleep(time);
    let used = cpu().saturating_sub(before);
    let mut own: Vec<u64> = pids.iter().map(|pid| Usage::own_memory(*pid)).collect();
    own.sort_unstable();
    let half = own.get(WAITING / 2).copied().unwrap_or_default();
    row("tau", &format!("{WAITING} waiting, own memory, p50"), format!("{:.1} MB", half as f64 / 1024.0));
    row("tau", &format!("{WAITING} waiting, cpu of {} s", time.as_secs()), milliseconds(used));
}

/// The processes of sessions that wait for an answer.
fn waiting(home: &Path) -> Vec<u32> {
    let files = std::fs::read_dir(home.join("tau/logs/live")).into_iter().flatten().flatten();
    let records = files.filter_map(|file| serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok());
    let pid = |record: Value| u32::try_from(record.get("pid")?.as_u64()?).ok();
    records.filter(|record: &Value| record["state"] == "waiting").filter_map(pid).collect()
}

fn measure_board(home: &Path, tau: &Subject, options: &Options) {
    let open = || {
        let start = Instant::now();
        let mut board = Terminal::start_at(home, &tau.path, &["board"]);
        let is_open = board.wait_until(TIMEOUT, |screen| screen.contents().contains("hello"));
        assert!(is_open, "{}", board.contents());
        (board, start.elapsed())
    };
    let mut times: Vec<Duration> = (0..options.runs).map(|_| open().1).collect();
    row("tau", &format!("board of {ON_BOARD}, opened, p50"), milliseconds(percentile(&mut times, 50)));
    let (mut board, _) = open();
    wait_ready(&mut board);
    let keys: Vec<&str> = [vec!["j"; 30], vec!["k"; 29]].concat();
    let keys: Vec<&str> = keys.into_iter().cycle().take(options.keys).collect();
    changes(&mut board, tau, &keys, &format!("key in the board of {ON_BOARD}"));
    board.wait_quiet(Duration::from_secs(1), TIMEOUT);
    let (before, time) = (Usage::of(board.pid()), Duration::from_secs(options.idle));
    std::thread::sleep(time);
    let used = Usage::of(board.pid()).cpu.saturating_sub(before.cpu);
    row("tau", &format!("board of {ON_BOARD}, cpu of {} s", time.as_secs()), milliseconds(used));
    for pid in waiting(home) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

/// A model that knows a few prompts. It sends how long after its order a helper has asked.
fn serve() -> (SocketAddr, mpsc::Receiver<Duration>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (send, begun) = mpsc::channel();
    std::thread::spawn(move || {
        let ordered = Mutex::new(None);
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that disconnects does not affect the others.
            let _ = answer(stream, &ordered, &send);
        }
    });
    (address, begun)
}

fn answer(
    mut stream: TcpStream,
    ordered: &Mutex<Option<Instant>>,
    begun: &mpsc::Sender<Duration>,
) -> std::io::Result<()> {
    use std::io::Write as _;
    let accepted = Instant::now();
    let (head, body) = pipes::read_whole_request(&mut stream)?;
    if head.starts_with("GET ") {
        return stream::list_models(&mut stream);
    }
    let body: Value = serde_json::from_str(&body)?;
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.last().cloned().unwrap_or_default();
    let is_last = |text: &str| last["role"] == "user" && last.to_string().contains(text);
    if is_last(TASK)
        && let Some(ordered) = ordered.lock().unwrap().take()
    {
        let _ = begun.send(accepted.saturating_duration_since(ordered));
    }
    let (delta, reason) = match () {
        () if is_last(ASK) => (call("bash", &json!({ "command": "touch changed" })), "tool_calls"),
        () if is_last(DELEGATE) => {
            (call("delegate", &json!({ "task": TASK, "kind": "explore" })), "tool_calls")
        }
        () => (json!({ "content": "done" }), "stop"),
    };
    let event = |delta: &Value, reason: Option<&str>| {
        json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
        })
    };
    let body = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        event(&delta, None),
        event(&json!({}), Some(reason))
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
    if is_last(DELEGATE) {
        *ordered.lock().unwrap() = Some(Instant::now());
    }
    Ok(())
}

fn call(tool: &str, arguments: &Value) -> Value {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] })
}
