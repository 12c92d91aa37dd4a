//! Performance targets for a release build on an idle machine. Ignored by default: `cargo test --release
//! --test all tools_figures -- --ignored --test-threads=1 --nocapture`.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::tool_bench::Bench;

/// The peak memory of this process, in kB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn report(what: &str, took: Duration) {
    println!("{what}: {took:?}, peak memory {} kB", peak());
}

#[tokio::test]
#[ignore = "a figure, for a release build"]
async fn a_gigabyte_through_bash() {
    let bench = Bench::new();
    for command in ["head -c 1G /dev/zero", "yes 'a line of text' | head -c 1G"] {
        let baseline = Instant::now();
        let piped = format!("{{ {command}; }} | cat >/dev/null");
        Command::new("bash").args(["-c", &piped]).stdin(Stdio::null()).status().unwrap();
        let baseline = baseline.elapsed();
        let started = Instant::now();
        bench.call("bash", json!({"command": command})).await.unwrap();
        report(&format!("{command} (alone {baseline:?})"), started.elapsed());
        assert!(started.elapsed() < baseline * 3);
    }
    assert!(peak() < 40_000);
}

#[tokio::test]
#[ignore = "a figure, for a release build"]
async fn a_window_of_a_gigabyte_and_an_edit_of_ten_megabytes() {
    let bench = Bench::new();
    let mut file = File::create(bench.path("large")).unwrap();
    let block = "this is one line of a large file, of usual length for a line\n".repeat(17_000);
    for _ in 0..1_000 {
        file.write_all(block.as_bytes()).unwrap();
    }
    drop(file);
    let started = Instant::now();
    bench.call("read", json!({"path": "large", "limit": 100})).await.unwrap();
    report("first 100 lines", started.elapsed());
    assert!(started.elapsed() < Duration::from_millis(100));
    let started = Instant::now();
    bench.call("read", json!({"path": "large"})).await.unwrap();
    report("first 5000 lines and the count of all", started.elapsed());
    assert!(peak() < 40_000);
    let ten: String =
        (0..200_000).map(|n| format!("this is line {n} of a file of ten megabytes\n")).collect();
    bench.put("ten", &ten);
    for (old, new) in
        [("line 150000 of", "line x of"), ("  this is line 1000 of a file of ten megabytes", "z")]
    {
        let started = Instant::now();
        bench.call("edit", json!({"path": "ten", "old_string": old, "new_string": new})).await.unwrap();
        report(&format!("edit of ten megabytes ({old})"), started.elapsed());
        assert!(started.elapsed() < Duration::from_millis(100) || old.starts_with(' '));
    }
}

#[tokio::test]
#[ignore = "a figure, for a release build"]
async fn a_hundred_small_commands() {
    let bench = Bench::new();
    let started = Instant::now();
    for _ in 0..100 {
        bench.call("bash", json!({"command": "true"})).await.unwrap();
    }
    report("100 times true", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(1));
}
