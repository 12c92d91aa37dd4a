//! Recorded runs: each is folded again, and its last frame compared with its golden.
//!
//! Every bug found on the screen can become one: `tau --record FILE`, then a copy here.

use tau::cli::tui::recording::{frame, replay};

use crate::harness::{golden, root};

#[test]
fn recorded_runs_end_as_they_did() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("tests/replays")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        seen += 1;
        let model = replay(&path).expect("a recording");
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        golden(&format!("replays/{name}.txt"), &frame(&model));
    }
    assert!(seen > 0, "there are recordings");
}
