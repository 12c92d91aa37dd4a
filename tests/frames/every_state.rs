//! Every state of the screen has its frames: a variant of these enums without one is a fault.

use crate::harness::root;

/// A variant, the frame that shows it, and the text that only this frame shows.
type Row = (&'static str, &'static str, &'static str);

/// The enums, by file and name.
const STATES: [(&str, &str, &[Row]); 9] = [
    (
        "src/app/overlays/overlay.rs",
        "Overlay",
        &[
            ("Picker", "themes", "┌ Themes"),
            ("Help", "help", "┌ Keys and commands"),
            ("Login", "login", "┌ API key for"),
            ("SignIn", "sign-in-code", "┌ Log in to"),
            ("Trust", "trust-new", "┌ Trust"),
            ("Tree", "tree", "┌ Session tree"),
            ("Settings", "settings", "┌ Settings"),
            ("Extensions", "extensions", "┌ Extensions"),
            ("Board", "board", "┌ Sessions · 1 waiting for you"),
            ("Jobs", "jobs", "┌ Background jobs · 2 running"),
            ("Worktrees", "worktrees", "┌ Worktrees"),
            ("Attempts", "attempts", "┌ Attempts"),
            ("Leave", "leave", "› Stop"),
            ("Keys", "keys", "┌ Keys ─"),
            ("Rules", "rules", "┌ Permission rules"),
            ("Queue", "queue-list", "┌ Queued messages"),
            ("SideQuestion", "side-question", "┌ Side question"),
            ("Plan", "plan", "┌ Plan"),
            ("Mode", "mode-question", "┌ Permissions"),
            ("Offer", "offer-web", "┌ Web"),
            ("Changes", "changes", "┌ Changes of this session"),
            ("Questions", "user-questions", "┌ The model asks"),
            ("Form", "form", "┌ tracker asks"),
            ("Asked", "question", "› Open it read-only"),
        ],
    ),
    (
        "src/app/overlays/picker.rs",
        "PickerKind",
        &[
            ("Sessions", "sessions", "┌ Sessions of this directory"),
            ("Models", "models", "┌ Models"),
            ("Thinking", "thinking", "┌ Thinking"),
            ("Themes", "themes", "┌ Themes"),
            ("Providers", "providers", "┌ Log in, or add an API key for"),
            ("StoredKeys", "stored-keys", "┌ Remove the API key of"),
            ("Prompts", "prompts", "┌ Earlier prompts"),
            ("Palette", "palette", "┌ Commands and actions"),
            ("Forks", "fork", "┌ Fork"),
            ("Checkpoints", "undo", "┌ Rewind to before"),
            ("UndoScope", "undo-scope", "Files and conversation"),
            ("UndoConflict", "undo-conflict", "Keep yours"),
        ],
    ),
    (
        "src/agent/protocol/event.rs",
        "Question",
        &[
            ("Select", "question", "› Open it read-only"),
            ("Confirm", "confirm", "› Yes"),
            ("User", "user-questions", "┌ The model asks"),
            ("Plan", "plan", "┌ Plan"),
            ("Form", "form", "┌ tracker asks"),
            ("Url", "address", "asks you to open an address"),
        ],
    ),
    (
        "src/app/approval/mod.rs",
        "PromptStage",
        &[
            ("Choice", "approval-command", "1 Yes, once"),
            ("Always", "approval-always", "Always allow what?"),
            ("Reason", "approval-reason", "why not: "),
            ("Rule", "approval-rule", "rule: "),
            ("Command", "approval-edit", "runs it as it is here"),
            ("Editor", "approval-editor", "in your editor"),
        ],
    ),
    (
        "src/app/overlays/tree.rs",
        "TreeStep",
        &[
            ("Browse", "tree", "enter go"),
            ("Label", "tree-label", "label (empty removes it)"),
            ("Leave", "tree-leaving", "› go there and summarize"),
            ("Focus", "tree-focus", "focus of the summary: "),
        ],
    ),
    (
        "src/app/overlays/key_list.rs",
        "KeyStep",
        &[
            ("Choosing", "keys", "enter changes"),
            ("Pressing", "keys-pressing", "press the new key"),
            ("Deciding", "keys-taken", "enter replaces"),
        ],
    ),
    (
        "src/app/status.rs",
        "Activity",
        &[
            ("Waiting", "activity-waiting", "waiting for the model"),
            ("Thinking", "activity-thinking", "thinking 1"),
            ("Answering", "streaming", "answering"),
            ("Calling", "activity-calling", "calling bash"),
            ("Running", "tools", "running bash"),
            ("Retrying", "queue", "retrying in"),
            ("Silent", "stalled", "no data for"),
            ("Compacting", "compacting", "compacting the conversation"),
            ("SummarizingBranch", "activity-summarizing", "summarizing the branch"),
        ],
    ),
    (
        "src/app/transcript/mod.rs",
        "EntryBody",
        &[
            ("Welcome", "start", "τ tau"),
            ("Earlier", "earlier", "earlier messages"),
            ("User", "tools", "▌ fix the failing test"),
            ("Answer", "markdown", "The end."),
            ("Thinking", "streaming", "✻ thought"),
            ("Tool", "tools", "● edit"),
            ("Command", "command", "$ "),
            ("Summary", "summary", "≡ "),
            ("RunEnd", "run-end", "↑"),
            ("Notice", "errors", "✗ "),
        ],
    ),
    (
        "src/app/transcript/call_end.rs",
        "CallState",
        &[
            ("Arriving", "activity-calling", "○ bash"),
            ("Waiting", "calls-not-run", "queued"),
            ("Asked", "approval-command", "waiting for you"),
            ("Running", "tools", "● bash  sleep 60"),
            ("Done", "tools", "● read"),
            ("Failed", "tools", "✗ bash"),
            ("Stopped", "calls-not-run", "■ "),
            ("Skipped", "calls-not-run", "– "),
        ],
    ),
];

/// The sizes of every state; enforced by [`super::states`].
const SIZE: &str = "80x24";

/// The names of the variants in the source of an enum.
fn variants(source: &str, name: &str) -> Vec<String> {
    let start = source.find(&format!("enum {name} {{\n")).unwrap_or_else(|| panic!("no enum {name}"));
    let body = source[start..].split_once("{\n").expect("a body").1;
    let body = body.split_once("\n}").expect("an end").0;
    let variant = |line: &str| {
        let line =
            line.strip_prefix("    ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
        line.map(|line| line.chars().take_while(char::is_ascii_alphanumeric).collect())
    };
    body.lines().filter_map(variant).collect()
}

#[test]
fn every_state_has_its_frames() {
    let mut faults = Vec::new();
    for (file, name, rows) in STATES {
        let source = std::fs::read_to_string(root().join(file)).expect(file);
        let variants = variants(&source, name);
        assert!(variants.len() > 1, "{file}: {name} has {variants:?}");
        for variant in variants.iter().filter(|variant| !rows.iter().any(|(row, ..)| row == variant)) {
            faults.push(format!("{name}::{variant}: draw it with `frames` and name the frame here"));
        }
        for (variant, golden, words) in rows {
            if !variants.iter().any(|known| known == variant) {
                faults.push(format!("{name}::{variant} is not in {file}"));
            }
            let path = root().join(format!("tests/golden/frames/{golden}-{SIZE}.txt"));
            match std::fs::read_to_string(&path) {
                Ok(frame) if frame.contains(words) => {}
                Ok(_) => faults.push(format!("{name}::{variant}: \"{words}\" is not in the frame {golden}")),
                Err(error) => faults.push(format!("{name}::{variant}: {golden}: {error}")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where not all keys of a box have room, whole ones are left out, but never the one that leaves it.
#[test]
fn the_key_that_leaves_a_box_is_shown_at_every_size() {
    let folder = root().join("tests/golden/frames");
    let keys = |name: &str, size: &str| -> Option<Vec<String>> {
        let text = std::fs::read_to_string(folder.join(format!("{name}-{size}.txt"))).ok()?;
        let border = text.lines().rev().find_map(|line| line.split_once("└ ")?.1.split_once(" ─"))?.0;
        Some(border.split(" · ").map(str::to_owned).collect())
    };
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.filter_map(|name| Some(name.to_str()?.strip_suffix("-200x50.txt")?.to_owned()));
    let mut boxes = 0;
    for name in names {
        let leaves = |keys: &[String]| keys.iter().any(|key| key.starts_with("esc"));
        let Some(all) = keys(&name, "200x50").filter(|keys| leaves(keys) && keys.len() > 1) else { continue };
        for size in ["80x24", "40x12"] {
            let Some(keys) = keys(&name, size) else { continue };
            assert!(leaves(&keys), "{name}-{size}: {keys:?} of {all:?}");
            assert!(keys.iter().skip(1).all(|key| !key.ends_with('…')), "{name}-{size}: {keys:?}");
            boxes += 1;
        }
    }
    assert!(boxes > 50, "{boxes}");
}

/// The names in lists with figures behind them, by frame: in a narrow window the figures give way, and of each name
/// there is enough to tell it from others.
const NAMED: [(&str, &[&str]); 8] = [
    ("jobs", &["3 python3 -m", "2 npm run dev", "1 cargo test"]),
    ("attempts", &["1 ✓ succeeded", "2 × goal given up", "3 ✓ succeeded"]),
    ("attempts-running", &["1 ● at work, round 2", "2 × goal given up"]),
    ("board", &["delete the", "↳ review 1:", "make the te", "↳ explore 1", "↳ work 1: a"]),
    ("worktrees", &["fix-parser", "漢字", "old"]),
    ("extensions", &["tickets", "pdf"]),
    ("sessions", &["explain 漢字", "fix the fail", "write ␛[2J d"]),
    ("changes", &["logo.png", "src/main.rs"]),
];

#[test]
fn a_narrow_list_names_what_its_figures_are_about() {
    for (golden, names) in NAMED {
        let frame = std::fs::read_to_string(root().join(format!("tests/golden/frames/{golden}-40x12.txt")));
        let frame = frame.expect(golden);
        for name in names {
            let is_named = frame.lines().any(|line| line.starts_with(" │") && line.contains(name));
            assert!(is_named, "{golden}: no {name}\n{frame}");
        }
    }
}
