//! File tools, while another process swaps directories and links: nothing outside the workspace is written,
//! and nothing but the approved file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tau::tools::ApprovedPart;
use tau::tools::sandbox::{SandboxLevel, SandboxPolicy};

use crate::support::tool_bench::Bench;
use crate::time_limit::JoinInTime;

/// A workspace with a directory and a link to one outside with the same files.
fn place() -> (Bench, PathBuf) {
    let mut bench = Bench::new();
    let policy = SandboxPolicy { level: SandboxLevel::WorkspaceWrite, ..SandboxPolicy::off() };
    bench.context.sandbox = Arc::new(policy.in_workspace(&bench.context.cwd));
    let outside = bench.path("../outside");
    for folder in [&outside, &bench.path("d")] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("f"), "mine\n").unwrap();
    }
    symlink("../outside", bench.path("link")).unwrap();
    (bench, outside)
}

fn calls(dir: &str) -> Vec<(&'static str, Value)> {
    let path = |name: &str| format!("{dir}/{name}");
    vec![
        ("write", json!({"path": path("f"), "content": "evil\n"})),
        ("edit", json!({"path": path("f"), "old_string": "mine", "new_string": "evil"})),
        ("write", json!({"path": path("new"), "content": "evil\n"})),
        ("write", json!({"path": path("deep/new"), "content": "evil\n"})),
    ]
}

fn listed(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> =
        entries.map(|path| (path.clone(), fs::read_to_string(&path).unwrap_or_default())).collect();
    all.sort();
    all
}

#[tokio::test]
async fn no_race_leads_file_tools_outside() {
    let (bench, outside) = place();
    let before = listed(&outside);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let [d, link, spare] = ["d", "link", "spare"].map(|name| bench.path(name));
    let swaps = std::thread::spawn(move || {
        let mut swaps = 0_u32;
        while !stopped.load(Ordering::Relaxed) {
            let moved = fs::rename(&d, &spare).and_then(|()| fs::rename(&link, &d));
            moved.and_then(|()| fs::rename(&d, &link)).and_then(|()| fs::rename(&spare, &d)).ok();
            // A tool may have created the directory that was away.
            if spare.exists() {
                fs::remove_dir_all(&d).ok();
                fs::rename(&spare, &d).ok();
            }
            swaps += 1;
        }
        swaps
    });
    let mut written = 0;
    for round in 0..100 {
        for (tool, arguments) in calls("d") {
            written += usize::from(bench.call(tool, arguments).await.is_ok());
            assert_eq!(listed(&outside), before, "round {round}");
        }
        fs::write(bench.path("d/f"), "mine\n").ok();
        fs::remove_file(bench.path("d/new")).ok();
        fs::remove_dir_all(bench.path("d/deep")).ok();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swaps.join_in_time("the swaps") > 0 && written > 0, "{written}");
}

/// Without a sandbox, too, only the approved content is written.
#[tokio::test]
async fn what_was_approved_is_what_is_written() {
    for (at, (tool, arguments)) in calls("d").into_iter().enumerate() {
        for sandboxed in [true, false] {
            let (mut bench, outside) = place();
            if !sandboxed {
                bench.context.sandbox = Arc::default();
            }
            let before = listed(&outside);
            let prepared = bench.prepared(tool, arguments.clone()).await;
            fs::rename(bench.path("d"), bench.path("spare")).unwrap();
            fs::rename(bench.path("link"), bench.path("d")).unwrap();
            let refused = prepared.apply(ApprovedPart::all()).await.unwrap_err().to_string();
            assert!(refused.contains("a symbolic link on the way to it was changed"), "{at}: {refused}");
            assert_eq!(listed(&outside), before, "{at}");
        }
    }
}
