//! Aborts at random moments: no orphan, no partial file, memory bounded.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Rack, bounded, full};
use crate::support::processes::{gone, rare_sleep};

/// The number of lines of the constantly changing file; all of them name its version.
const LINES: usize = if cfg!(debug_assertions) { 3_000 } else { 60_000 };

fn version(number: u64) -> String {
    format!("this is version {number} of it\n").repeat(LINES)
}

/// The version of the file, which must be complete.
fn whole_version(text: &str) -> u64 {
    let number = text.split(' ').nth(3).and_then(|number| number.parse().ok()).expect("a version");
    assert!(text == version(number), "the file is a mixture, or cut: {} bytes", text.len());
    number
}

/// The model's calls in a round.
fn calls(round: u64, number: u64, nap: &str) -> Vec<(&'static str, Value)> {
    let change = json!({
        "path": "f", "replace_all": true,
        "old_string": format!("version {number} of"), "new_string": format!("version {} of", number + 1),
    });
    let family = format!("setsid sleep {nap} & (trap '' TERM; sleep {nap}) & seq 100000 | cat; sleep {nap}");
    let write = json!({"path": format!("new/{}", round % 7), "content": "whole\n".repeat(40_000)});
    match round % 4 {
        0 => vec![("edit", change)],
        1 => vec![("write", write), ("edit", change)],
        2 => vec![("bash", json!({"command": family}))],
        _ => vec![
            ("read", json!({"path": "f"})),
            ("grep", json!({"pattern": "version [0-9]+"})),
            ("find", json!({"pattern": "**/*"})),
            ("bash", json!({"command": "cp f copy && rm copy; yes | head -c 30000000"})),
        ],
    }
}

#[test]
fn aborts_at_random_moments_leave_nothing_behind() {
    let name = "torture::aborts::aborts_at_random_moments_leave_nothing_behind";
    bounded(name, 250_000, async {
        let mut rack = Rack::new();
        rack.put("f", version(0));
        let nap = rare_sleep();
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        let (mut done, mut undone) = (0, 0);
        for round in 0..if full() { 200 } else { 40 } {
            let number = whole_version(&fs::read_to_string(rack.path("f")).unwrap());
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let after = Duration::from_micros(random % 120_000);
            let answers = rack.aborted(&calls(round, number, &nap), after).await;
            let after = whole_version(&fs::read_to_string(rack.path("f")).unwrap());
            assert!(after == number || after == number + 1);
            // The result given to the model about the change is true.
            if let (0, Some(answer)) = (round % 4, answers.first()) {
                assert_eq!(answer.failed, after == number, "round {round}: {answer:?}");
            }
            *if after == number { &mut undone } else { &mut done } += 1;
            for written in fs::read_dir(rack.path("new")).into_iter().flatten() {
                assert_eq!(fs::metadata(written.unwrap().path()).unwrap().len(), 240_000, "a partial file");
            }
            gone(&nap).await;
        }
        println!("figure: {name}: {done} rounds with a change, {undone} without");
        let mut left = crate::support::tool_bench::names(&rack.path(""));
        left.retain(|name| !["copy", "f", "new"].contains(&name.as_str()));
        assert!(left.is_empty(), "{left:?}");
        if rack.path("new").exists() {
            let new = crate::support::tool_bench::names(&rack.path("new"));
            assert!(new.iter().all(|name| name.len() == 1), "{new:?}");
        }
        let text = rack.fine("bash", json!({"command": "echo still here"}), Duration::from_secs(2)).await;
        assert!(text.starts_with("still here\n"));
    });
}
