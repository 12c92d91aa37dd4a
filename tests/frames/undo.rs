//! Golden frames of going back, and of changes.

use tau::agent::protocol::command::{AgentCommand, SessionCommand, TaskCommand};
use tau::agent::protocol::event::TaskEvent;
use tau::agent::protocol::query::QueryAnswer;
use tau::agent::protocol::undo::{
    ChangeKind, ChangedFile, Checkpoint, NotCovered, SessionChanges, UndoConflict, UndoPlan,
};
use tau::app::Effect;
use tau::tools::{FileDiff, Hunk};

use super::overlays::talked;
use crate::harness::{START, Screen, frames, text};
use tau::tools::user_error::UserError;

/// Answers the latest query.
pub(super) fn answer(screen: &mut Screen, answer: Result<QueryAnswer, UserError>) {
    let ticket = screen.take_effects().into_iter().rev().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Task(TaskCommand::Query { ticket, .. })) => Some(ticket),
        _ => None,
    });
    screen.agent(TaskEvent::Answered { ticket: ticket.expect("a query"), answer });
}

fn checkpoint(id: &str, text: &str, files: &[&str], minutes: i64) -> Checkpoint {
    Checkpoint {
        entry_id: id.into(),
        text: text.into(),
        timestamp: START - minutes * 60_000,
        files: files.iter().map(|path| (*path).to_owned()).collect(),
        restores: 3,
        folders: 1,
    }
}

#[test]
fn going_back() {
    let mut screen = talked();
    screen.keys("/undo<enter>");
    frames(&mut screen, "undo-loading");
    let checkpoints = vec![
        checkpoint("1", "write a parser\nfor the grammar", &["src/parser.rs", "src/lib.rs"], 125),
        checkpoint("2", "explain the 漢字 in it", &[], 60),
        checkpoint("3", "rename it", &["src/grammar.rs"], 2),
    ];
    answer(&mut screen, Ok(QueryAnswer::Checkpoints(checkpoints)));
    frames(&mut screen, "undo");
    screen.keys("<down><down><enter>");
    frames(&mut screen, "undo-scope");
    screen.keys("<enter>");
    let conflict =
        |path: &str, mergeable| UndoConflict { path: path.into(), reason: "changed since".into(), mergeable };
    let plan = UndoPlan {
        entry_id: Some("1".into()),
        files: vec!["src/lib.rs".into()],
        conflicts: vec![conflict("src/parser.rs", true), conflict("src/grammar.rs", false)],
        not_covered: vec![NotCovered { path: "data.bin".into(), reason: "too large (64 MB)".into() }],
    };
    answer(&mut screen, Ok(QueryAnswer::UndoPlan(plan)));
    frames(&mut screen, "undo-conflict");
    screen.keys("merge<enter>");
    frames(&mut screen, "undo-conflict-overlap");
    screen.keys("<enter>");
    let sent = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Session(SessionCommand::Undo { order })) => Some(order),
        _ => None,
    });
    let order = sent.expect("an order");
    assert_eq!(order.entry_id, "1");
    let choices = serde_json::to_value(&order.choices).unwrap();
    assert_eq!(choices, serde_json::json!({"src/parser.rs": "merge", "src/grammar.rs": "keep"}));
}

#[test]
fn a_redo_that_is_not_there_says_so() {
    let mut screen = talked();
    screen.keys("/redo<enter>");
    answer(&mut screen, Err("there is nothing to redo".into()));
    frames(&mut screen, "redo-nothing");
}

fn changes() -> SessionChanges {
    let hunk = |at: u32, lines: &[&str]| Hunk {
        old_start: at,
        new_start: at,
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let hunks = vec![
        hunk(3, &[" fn main() {", "-    old();", "+    new();", " }"]),
        hunk(40, &[" // the end", "+// 漢字"]),
    ];
    let diff = FileDiff { path: "src/main.rs".into(), added: 2, removed: 1, hunks, ..FileDiff::default() };
    let plain = |path: &str| FileDiff { path: path.into(), ..FileDiff::default() };
    SessionChanges {
        files: vec![
            ChangedFile {
                path: "logo.png".into(),
                kind: ChangeKind::Created,
                note: Some("binary, 0 to 1024 bytes".into()),
                diff: plain("logo.png"),
                ..ChangedFile::default()
            },
            ChangedFile {
                path: "src/main.rs".into(),
                version: "1".into(),
                diff,
                changed_since: true,
                ..ChangedFile::default()
            },
            ChangedFile {
                path: "src/old.rs".into(),
                kind: ChangeKind::Removed,
                diff: plain("src/old.rs"),
                ..ChangedFile::default()
            },
        ],
        not_covered: vec![NotCovered { path: "target".into(), reason: "ignored by .gitignore".into() }],
        redo: false,
    }
}

#[test]
fn what_was_changed() {
    let mut screen = talked();
    screen.keys("/diff<enter>");
    frames(&mut screen, "changes-loading");
    answer(&mut screen, Ok(QueryAnswer::Changes(changes())));
    frames(&mut screen, "changes");
    screen.keys("<down><down><down>");
    frames(&mut screen, "changes-hunk");
    screen.keys("r");
    crate::approvals::pause(&mut screen);
    let reverted = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Session(SessionCommand::Revert { order })) => Some(order),
        _ => None,
    });
    let order = reverted.expect("an order");
    assert_eq!((&*order.path, &*order.version, order.hunk), ("src/main.rs", "1", Some(1)));
    screen.keys("<up><enter>");
    frames(&mut screen, "changes-folded");
}

#[test]
fn nothing_was_changed() {
    let mut screen = talked();
    screen.keys("/diff<enter>");
    answer(&mut screen, Ok(QueryAnswer::Changes(SessionChanges::default())));
    frames(&mut screen, "changes-none");
}

/// Moves until the selection does not change any more; the lines of the file in the order in which they came.
fn lines_seen(screen: &mut Screen, key: &str) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut before = String::new();
    loop {
        let shown = text(&screen.draw());
        for line in shown.lines().filter_map(|row| row.split("line-").nth(1)?.split(' ').next()?.parse().ok())
        {
            if !seen.contains(&line) {
                seen.push(line);
            }
        }
        let now = format!("{:?}{shown}", screen.model().overlays);
        if now == before {
            return seen;
        }
        before = now;
        screen.keys(key);
    }
}

#[test]
fn a_hunk_higher_than_the_box_is_read_to_its_end() {
    let lines: Vec<String> = (1..=200).map(|line| format!("+line-{line} ")).collect();
    let hunk = |lines: &[String]| Hunk { old_start: 1, new_start: 1, lines: lines.to_vec() };
    let file = |path: &str, hunks: Vec<Hunk>| ChangedFile {
        path: path.into(),
        kind: ChangeKind::Created,
        diff: FileDiff { path: path.into(), hunks, ..FileDiff::default() },
        ..ChangedFile::default()
    };
    let changes = SessionChanges {
        files: vec![file("a.txt", vec![hunk(&lines)]), file("b.txt", vec![hunk(&["+line-999 ".to_owned()])])],
        not_covered: vec![NotCovered { path: "target".into(), reason: "ignored".into() }],
        redo: false,
    };
    for key in ["<down>", "<pagedown>"] {
        let mut screen = talked();
        screen.keys("/diff<enter>");
        answer(&mut screen, Ok(QueryAnswer::Changes(changes.clone())));
        let expected: Vec<u32> = (1..=200).chain([999]).collect();
        assert_eq!(lines_seen(&mut screen, key), expected, "{key}");
        assert!(text(&screen.draw()).contains("target: ignored"));
    }
    // Up leads back through it, and a whole page of it stays in sight.
    let mut screen = talked();
    screen.keys("/diff<enter>");
    answer(&mut screen, Ok(QueryAnswer::Changes(changes)));
    screen.keys("<down><pagedown><pagedown>");
    let there = text(&screen.draw());
    screen.keys("<pagedown><pageup>");
    assert_eq!(text(&screen.draw()), there);
    screen.keys("<end><end>");
    assert!(text(&screen.draw()).contains("target: ignored"));
    screen.keys("<home>");
    assert!(text(&screen.draw()).contains("A a.txt"));
}
