//! Very long sessions: opening one, going to its start, finding a distant match, and memory. The same for
//! short ones, to show what grows with the length.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{self, Usage};
use crate::terminal::Terminal;
use crate::{Subject, changes, echo, milliseconds, percentile, row};

/// The numbers of entries of the measured sessions.
const COUNTS: [usize; 3] = [10, 1_000, 100_000];
/// The number of keys measured in each.
const KEYS: usize = 200;
/// The number of messages from one prompt to the next.
const RUN: usize = 20;
const TOP: &str = "\x1b[1;5H";
const TAIL: &str = "\x1b[1;5F";
const PREVIOUS_PROMPT: &str = "\x1b[1;5A";
const FIND: &str = "\x06";

/// All figures, for each length.
pub fn measure(tau: &Subject) {
    let dir = tempfile::tempdir().unwrap();
    for count in COUNTS {
        let path = dir.path().join(format!("{count}.jsonl"));
        write(&path, count);
        measure_one(tau, count, &path);
        std::fs::remove_file(&path).unwrap();
    }
}

/// Writes a session with this many messages: runs of calls, whose results are most of it.
pub fn write(path: &Path, count: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let cwd = std::env::temp_dir();
    let header = json!({"type": "session", "version": 3, "id": "long", "timestamp": "2026-01-02T03:04:05.678Z",
        "cwd": cwd});
    writeln!(file, "{header}").unwrap();
    for at in 0..count {
        let parent = at.checked_sub(1).map(|at| format!("e{at:07}"));
        let entry = json!({"type": "message", "id": format!("e{at:07}"), "parentId": parent,
            "timestamp": "2026-01-02T03:04:09.010Z", "message": message(at, at + 1 == count)});
        writeln!(file, "{entry}").unwrap();
    }
}

fn message(at: usize, is_last: bool) -> Value {
    let (run, step) = (at / RUN, at % RUN);
    let call = format!("c{run}-{}", step.div_ceil(2));
    let answer = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": [content], "api": "openai-completions", "provider": "p",
            "model": "m", "usage": {"input": 900, "output": 40, "cacheRead": 0, "cacheWrite": 0,
            "totalTokens": 940, "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0,
            "total": 0.001}}, "stopReason": stop, "timestamp": 1})
    };
    match step {
        _ if is_last => answer(json!({"type": "text", "text": "the very last words"}), "stop"),
        0 => {
            let text = format!("prompt {run}: why is the build red?");
            json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})
        }
        step if step + 1 == RUN => answer(
            json!({"type": "text", "text": format!("Answer {run}. {}", "It was a matter of taste. ".repeat(20))}),
            "stop",
        ),
        step if step % 2 == 1 => answer(
            json!({"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": format!("cat part-{run}-{step}.log")}}),
            "toolUse",
        ),
        _ => {
            let line = format!("{at}: the quick brown fox jumps over the lazy dog and does not look back\n");
            json!({"role": "toolResult", "toolCallId": call, "toolName": "bash",
                "content": [{"type": "text", "text": line.repeat(95)}], "isError": false, "timestamp": 1})
        }
    }
}

fn measure_one(tau: &Subject, count: usize, path: &Path) {
    let name = format!("{count} entries");
    let path = path.to_string_lossy().into_owned();
    let mut args = tau.args.clone();
    args.extend(["--session", &path]);
    let mut times = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        let mut terminal = Terminal::start(&tau.path, &args);
        if wait(&mut terminal, "the very last words") {
            times.push(start.elapsed());
        }
    }
    row("tau", &format!("{name}, on the screen, p50"), milliseconds(percentile(&mut times, 50)));
    let mut terminal = Terminal::start(&tau.path, &args);
    wait(&mut terminal, "the very last words");
    timed(&mut terminal, &format!("{name}, Ctrl+Home at once"), TOP, "prompt 0:");
    timed(&mut terminal, &format!("{name}, Ctrl+End"), TAIL, "the very last words");
    timed(&mut terminal, &format!("{name}, Ctrl+Home again"), TOP, "prompt 0:");
    timed(&mut terminal, &format!("{name}, Ctrl+End"), TAIL, "the very last words");
    if count > RUN {
        let run = (count - 1) / RUN;
        timed(&mut terminal, &format!("{name}, Ctrl+Up"), PREVIOUS_PROMPT, &format!("prompt {run}:"));
    }
    terminal.type_keys(FIND);
    wait(&mut terminal, "find");
    let middle = format!("\x1b[200~prompt {}:\x1b[201~", count / 2 / RUN);
    timed(&mut terminal, &format!("{name}, find in the middle"), &middle, "1 of 1");
    let nowhere = "\x15\x1b[200~nowhere\x1b[201~";
    timed(&mut terminal, &format!("{name}, find nothing"), nowhere, "no matches");
    terminal.type_keys("\r\x1b");
    terminal.wait_quiet(Duration::from_millis(200), Duration::from_secs(2));
    row("tau", &format!("{name}, resident"), Usage::of(terminal.pid()).resident());
    terminal.type_keys(TAIL);
    terminal.wait_quiet(Duration::from_millis(300), Duration::from_secs(2));
    echo(&mut terminal, tau, KEYS, &name);
    // There and back, as a session of 10 entries has few pages.
    let pages: Vec<&str> = ["\x1b[5~", "\x1b[6~"].into_iter().cycle().take(KEYS).collect();
    changes(&mut terminal, tau, &pages, &format!("{name}, page up or down"));
    for _ in 0..400 {
        terminal.type_keys("\x1b[5~");
        terminal.wait_quiet(Duration::from_millis(3), Duration::from_secs(1));
    }
    terminal.wait_quiet(Duration::from_millis(300), Duration::from_secs(2));
    row("tau", &format!("{name}, resident, 400 pages up"), Usage::of(terminal.pid()).resident());
    row("tau", &format!("{name}, most"), format!("{:.1} MB", process::peak(terminal.pid()) as f64 / 1024.0));
}

fn timed(terminal: &mut Terminal, figure: &str, keys: &str, awaited: &str) {
    terminal.wait_quiet(Duration::from_millis(30), Duration::from_secs(2));
    let start = Instant::now();
    terminal.type_keys(keys);
    let value = if wait(terminal, awaited) { milliseconds(start.elapsed()) } else { "never".to_owned() };
    row("tau", figure, value);
}

fn wait(terminal: &mut Terminal, awaited: &str) -> bool {
    terminal.wait_until(Duration::from_secs(60), |screen| screen.contents().contains(awaited))
}
