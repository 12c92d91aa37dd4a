//! The pictures of docs/screens.md: one session as its user sees it, in ten scenes. `TAU_BLESS=1 cargo test
//! screens` redraws them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use tau::agent::protocol::approval::{ApprovalReason, ApprovalRequest};
use tau::agent::protocol::event::{Delta, NoticeLevel, QuestionEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::{AssistantMessage, Block, Cost, Message, StopReason, Usage};
use tau::agent::protocol::model::{Api, Model, Price, ThinkingLevel};
use tau::agent::protocol::outline::{Outline, OutlineRow, RowKind};
use tau::agent::protocol::query::QueryAnswer;
use tau::agent::protocol::session_row::{LastExchange, SessionRow};
use tau::app::Msg;
use tau::app::boot::Boot;
use tau::app::geometry::Size;
use tau::app::request::{KeylessModel, ModelList, ScreenReply, SessionRows};
use tau::tools::{Content, Details, FileDiff, Hunk, ToolOutput};

use crate::approvals::command_request;
use crate::frames::overlays::reply;
use crate::harness::{self, START, Screen, ai, assistant, boot, generated, svg};
use crate::panels::{asks, ends, output, starts};

struct Scene {
    /// The name of the picture's file.
    name: &'static str,
    title: &'static str,
    text: &'static str,
    screen: fn() -> Screen,
    size: Size,
}

const WIDE: Size = Size { width: 100, height: 30 };

const SCENES: [Scene; 10] = [
    Scene {
        name: "start",
        title: "The first start",
        text: "No model is configured, so a scripted demo answers, and says how to connect a real one.",
        screen: first_start,
        size: WIDE,
    },
    Scene {
        name: "answer",
        title: "An answer streams in",
        text: "Markdown is drawn as it comes. You can write the next message meanwhile, or stop the agent with Esc.",
        screen: streaming,
        size: WIDE,
    },
    Scene {
        name: "edit",
        title: "The agent works",
        text: "Reads take one row. Edits show what they change, commands the end of what they write. \
               The last row says what the turn took.",
        screen: edited,
        size: WIDE,
    },
    Scene {
        name: "approval",
        title: "A call waits for you",
        text: "The whole command, with the part that is the reason to ask. It runs when you say so.",
        screen: approval,
        size: WIDE,
    },
    Scene {
        name: "failures",
        title: "Something fails",
        text: "The exit code is in the head of the panel. A request that fails says what to do about it.",
        screen: failures,
        size: WIDE,
    },
    Scene {
        name: "models",
        title: "Choosing a model",
        text: "Models that you have a key for come first. The others say which key they need.",
        screen: models,
        size: WIDE,
    },
    Scene {
        name: "sessions",
        title: "Resuming a session",
        text: "The sessions of this directory, with the end of the selected one. Typing finds what was said.",
        screen: sessions,
        size: WIDE,
    },
    Scene {
        name: "tree",
        title: "Going back",
        text: "The session as a tree: jump to any earlier point and continue from there.",
        screen: tree,
        size: WIDE,
    },
    Scene {
        name: "help",
        title: "All keys",
        text: "F1 lists every key and command in groups. Typing filters them.",
        screen: help,
        size: WIDE,
    },
    Scene {
        name: "narrow",
        title: "A narrow window",
        text: "The same turn at 40 columns.",
        screen: edited,
        size: Size { width: 40, height: 24 },
    },
];

#[test]
fn the_pictures_in_the_documents_are_those_of_this_version() {
    let mut page = String::from(
        "# Screens\n\n\
         What tau looks like, drawn by its own view at 100x30 cells. The tests draw these pictures again and compare,\n\
         so they show this version.\n",
    );
    for Scene { name, title, text, screen, size } in SCENES {
        let mut screen = screen();
        screen.send(Msg::Resized(size));
        screen.draw();
        let (buffer, laid) = harness::draw(screen.model(), &mut harness::memo(), size);
        generated(&format!("docs/screens/{name}.svg"), &svg::svg(&buffer, laid.cursor));
        let _ = write!(page, "\n## {title}\n\n{text}\n\n![{title}](screens/{name}.svg)\n");
    }
    generated("docs/screens.md", &page);
}

/// The model of the session.
fn sonnet() -> Model {
    Model {
        id: "claude-sonnet-5-5".into(),
        name: "Claude Sonnet 5.5".into(),
        provider: "anthropic".into(),
        cost: Some(Price { input: 3.0, output: 15.0, ..Price::default() }),
        ..ai()
    }
}

fn started() -> Boot {
    let version = env!("CARGO_PKG_VERSION").into();
    let model = Some(Arc::new(sonnet()));
    Boot { version, model, place: "~/work/ledger".into(), thinking: ThinkingLevel::Medium, ..boot() }
}

fn first_start() -> Screen {
    let model = Model { name: "Scripted demo".into(), api: Api::Scripted, ..ai() };
    Screen::boot(Boot { demo: true, model: Some(Arc::new(model)), thinking: ThinkingLevel::Off, ..started() })
}

const PROMPT: &str = "The monthly total is wrong when a month has no entries. Find out why and fix it.";

/// A session with this prompt.
fn asked(prompt: &str) -> Screen {
    let mut screen = Screen::boot(started());
    screen.user(prompt);
    screen.run();
    screen.take_effects();
    screen
}

fn streaming() -> Screen {
    let mut screen = asked("How is the total of a month computed? Be brief.");
    screen.at += 2_400;
    screen.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::Stop)) });
    screen.delta(Delta::TextStart { content_index: 0 });
    let delta = "\
## From entry to total

`Ledger::total` adds what `entries_of` finds for the month:

```rust
pub fn total(&self, month: Month) -> Cents {
    self.entries_of(month).map(|entry| entry.amount).sum()
}
```

| Step | Where | Cost |
|---|---|---:|
| find the entries | `src/index.rs` | O(log n) |
| add them | `src/ledger.rs` | O(entries) |
| format | `src/money.rs` | O(1) |

1. The index is sorted by **date**, so a month is a range.
2. Amounts are whole cents: nothing is rounded until it is sh";
    screen.delta(Delta::TextDelta { content_index: 0, delta: delta.into() });
    screen.keys("and where is it tested?");
    screen.wait(400);
    screen
}

/// Two files are read, one is changed, the tests pass.
fn edited() -> Screen {
    let mut screen = asked(PROMPT);
    let edit = json!({"path": "src/ledger.rs"});
    let test = json!({"command": "cargo test --quiet ledger"});
    let paths = ["src/ledger.rs", "src/index.rs"].map(|path| json!({ "path": path }));
    asks(&mut screen, &[("a", "read", paths[0].clone()), ("b", "read", paths[1].clone())]);
    for (id, path) in ["a", "b"].into_iter().zip(&paths) {
        starts(&mut screen, id, "read", path);
        let read = ToolOutput { content: vec![Content::text("…")], details: Details::None };
        ends(&mut screen, id, read, false, Some(1));
    }
    asks(&mut screen, &[("c", "edit", edit.clone())]);
    starts(&mut screen, "c", "edit", &edit);
    ends(&mut screen, "c", ToolOutput::new("Replaced 1 occurrence", Details::Diff(change())), false, Some(3));
    asks(&mut screen, &[("d", "bash", test.clone())]);
    starts(&mut screen, "d", "bash", &test);
    let written =
        "running 14 tests\n..............\ntest result: \u{1b}[32mok\u{1b}[0m. 14 passed; 0 failed\n";
    ends(&mut screen, "d", output(written, 0), false, Some(2_310));
    screen.at += 18_000;
    says(
        &mut screen,
        "A month without entries began at the **next** month's first entry: `partition_point` returns where one \
         *would* be. `total` now stops at the end of the month. All 14 tests pass.",
    );
    screen.settle();
    screen
}

fn change() -> FileDiff {
    let lines = [
        " pub fn total(&self, month: Month) -> Cents {",
        "     let first = self.index.partition_point(|at| at.month() < month);",
        "-    self.entries[first..].iter().take_while(|entry| entry.month() <= month)",
        "+    self.entries[first..].iter().take_while(|entry| entry.month() == month)",
        "         .map(|entry| entry.amount)",
        "         .sum()",
        " }",
    ];
    let hunk = Hunk { old_start: 87, new_start: 87, lines: lines.map(String::from).to_vec() };
    FileDiff { path: "src/ledger.rs".into(), added: 1, removed: 1, hunks: vec![hunk], ..FileDiff::default() }
}

/// The last answer of a run.
fn says(screen: &mut Screen, text: &str) {
    let Message::Assistant(answer) = assistant(vec![Block::text(text)], StopReason::Stop) else { return };
    let cost = Cost { total: 0.031, ..Cost::default() };
    let usage = Usage { input: 9_200, cache_read: 5_100, output: 640, cost, ..Usage::default() };
    let message = Arc::new(Message::Assistant(AssistantMessage { usage, ..answer }));
    screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
    screen.agent(TurnEvent::MessageEnd { message });
}

fn approval() -> Screen {
    let mut screen = asked("Remove the old build and package the release.");
    let command = "cargo build --release && rm -rf dist && mkdir dist && cp target/release/ledger dist/";
    let reason = ApprovalReason {
        text: "removes files".into(),
        span: command.find("rm -rf dist").map(|at| (at, at + "rm -rf dist".len())),
        rule: Some("ask bash(rm *)".into()),
        path: None,
    };
    let request = ApprovalRequest {
        reasons: vec![reason],
        sandbox: "workspace-write, no network".into(),
        suggested_rules: vec!["bash(rm -rf dist)".into()],
        ..command_request("a", command, (0, 0))
    };
    asks(&mut screen, &[("a", "bash", json!({ "command": command }))]);
    screen.agent(QuestionEvent::ApprovalRequested { request: Box::new(request) });
    screen.at += 900;
    screen
}

fn failures() -> Screen {
    let mut screen = asked(PROMPT);
    let test = json!({"command": "cargo test --quiet ledger"});
    asks(&mut screen, &[("a", "bash", test.clone())]);
    starts(&mut screen, "a", "bash", &test);
    let written = "\
running 14 tests
test ledger::an_empty_month ... \u{1b}[31mFAILED\u{1b}[0m

---- ledger::an_empty_month stdout ----
thread 'ledger::an_empty_month' panicked at src/ledger.rs:212:5:
assertion `left == right` failed
  left: Cents(129950)
 right: Cents(0)

test result: \u{1b}[31mFAILED\u{1b}[0m. 13 passed; 1 failed
";
    ends(&mut screen, "a", output(written, 101), true, Some(3_870));
    screen.agent(TaskEvent::Notice {
        level: NoticeLevel::Error,
        text: "Anthropic refused the key (status 401: invalid x-api-key)".into(),
        hint: Some("save another with /login, or set ANTHROPIC_API_KEY and restart tau".into()),
    });
    screen.settle();
    screen
}

fn models() -> Screen {
    let mut screen = edited();
    screen.keys("<ctrl+l>");
    let model = |id: &str, name: &str, provider: &str, price: Option<(f64, f64)>| Model {
        id: id.into(),
        name: name.into(),
        provider: provider.into(),
        cost: price.map(|(input, output)| Price { input, output, ..Price::default() }),
        ..sonnet()
    };
    let usable = [
        model("claude-opus-4-6", "Claude Opus 4.6", "anthropic", Some((5.0, 25.0))),
        sonnet(),
        model("claude-haiku-4-5", "Claude Haiku 4.5", "anthropic", Some((1.0, 5.0))),
        model("qwen3-coder:30b", "qwen3-coder:30b", "ollama", None),
    ];
    let keyless =
        [("openai/gpt-5.4", "OpenAI", "OPENAI_API_KEY"), ("google/gemini-3-pro", "Google", "GEMINI_API_KEY")]
            .map(|(reference, provider, needs)| KeylessModel {
                reference: reference.into(),
                provider: provider.into(),
                needs: Some(needs.into()),
            });
    let usable = usable.into_iter().map(Into::into).collect();
    reply(
        &mut screen,
        ScreenReply::Models(ModelList { usable, keyless: keyless.into(), ..Default::default() }),
    );
    screen
}

const HOUR: i64 = 3_600_000;

fn sessions() -> Screen {
    let mut screen = Screen::boot(started());
    screen.take_effects();
    screen.keys("/resume<enter>");
    let row = |hours: i64, messages: u64, prompt: &str| SessionRow {
        path: format!("/s/{hours}.jsonl").into(),
        first_prompt: prompt.into(),
        modified: START - hours * HOUR,
        messages,
        size: 2_900 * messages,
        ..SessionRow::default()
    };
    let rows = vec![
        row(1, 12, PROMPT),
        row(5, 48, "Add an importer for CSV files of the bank"),
        row(26, 9, "Why does the build take two minutes?"),
        row(75, 131, "Move from f64 to whole cents"),
        row(240, 22, "Write the README"),
    ];
    reply(&mut screen, ScreenReply::Sessions(SessionRows { rows, done: true, troubles: Vec::new() }));
    screen.keys("<down>");
    let words = LastExchange {
        user: "Use the date of booking, not of value.".into(),
        model:
            "Done: `Entry::date` is the booking date now, and the value date is kept beside it. The importer \
                skips what it has seen, so running it twice adds nothing."
                .into(),
    };
    reply(&mut screen, ScreenReply::LastExchange(words));
    screen
}

fn tree() -> Screen {
    let mut screen = edited();
    screen.keys("/tree<enter>");
    let row = |parent: Option<usize>, kind: RowKind, text: &str| (parent, kind, text.to_owned());
    let rows = [
        row(None, RowKind::User, PROMPT),
        row(Some(0), RowKind::Calls, "read src/ledger.rs, src/index.rs"),
        row(Some(1), RowKind::Assistant, "An empty month has no place in the index. I would add one."),
        row(Some(2), RowKind::User, "Rebuild the index with empty months"),
        row(Some(3), RowKind::Tool, "bash cargo test --quiet ledger ✗101"),
        row(Some(2), RowKind::Branch, "Rebuilding the index broke the importer."),
        row(Some(5), RowKind::User, "Leave the index alone; fix the total instead"),
        row(Some(6), RowKind::Tool, "edit src/ledger.rs +1 −1"),
        row(Some(7), RowKind::Tool, "bash cargo test --quiet ledger"),
        row(Some(8), RowKind::Assistant, "A month without entries began at the next month's first entry."),
    ];
    let rows: Vec<OutlineRow> = (0..)
        .zip(rows)
        .map(|(at, (parent, kind, text)): (i64, _)| OutlineRow {
            id: at.to_string(),
            parent,
            kind,
            text,
            label: (at == 2).then(|| "before the index".into()),
            at: START - (20 - at) * 60_000,
            ahead: Some(0),
        })
        .collect();
    let outline = Outline { leaf: Some(rows.len() - 1), rows };
    screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::Outline(outline)) });
    screen
}

fn help() -> Screen {
    let mut screen = edited();
    screen.keys("<f1>");
    screen
}
