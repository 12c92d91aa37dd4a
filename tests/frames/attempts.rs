//! Golden frames of attempts: the list, at work and ended, and their changes.

use tau::agent::protocol::attempt::{
    AttemptFile, AttemptHunk, AttemptList, AttemptNews, AttemptPatch, AttemptRow,
};
use tau::agent::protocol::command::{AgentCommand, SessionCommand};
use tau::app::Msg;
use tau::app::effect::Effect;
use tau::app::geometry::Size;
use tau::app::request::{ScreenReply, ScreenRequest};

use super::overlays::reply;
use crate::harness::{Screen, frames};

#[test]
fn attempts() {
    let mut screen = Screen::new();
    screen.keys("/attempts<enter>");
    frames(&mut screen, "attempts-loading");
    let row = |number: u32, outcome: &str, reached, model: &str| AttemptRow {
        number,
        outcome: outcome.into(),
        reached,
        time: "48.0 s".into(),
        cost: "$0.112".into(),
        changed: "2 files +31 -4".into(),
        model: model.into(),
        session: "0198a1b2".into(),
        place: format!("/h/tau-worktrees/app-0123456789abcdef/attempt-a1b2c3-{number}"),
        is_running: false,
    };
    let rows = vec![
        row(1, "succeeded", true, "anthropic/claude-opus-4-6"),
        row(2, "goal given up", false, "漢字/model"),
        row(3, "succeeded", true, "own/\u{1b}[2Jx"),
    ];
    let list = AttemptList {
        id: "a1b2c3".into(),
        task: "fix the\u{202e} parser".into(),
        check: "cargo test".into(),
        rows,
        ..AttemptList::default()
    };
    reply(&mut screen, ScreenReply::Attempts(list));
    frames(&mut screen, "attempts");
    screen.keys("<down><enter>");
    frames(&mut screen, "attempts-changes-loading");
    reply(&mut screen, ScreenReply::AttemptFiles(vec![changes_of(&[2])]));
    frames(&mut screen, "attempts-changes");
    screen.keys("<esc>t");
    crate::approvals::pause(&mut screen);
    let failed = "attempt 2 cannot be applied: x; the files have changed since it began";
    reply(&mut screen, ScreenReply::Failed(failed.into()));
    frames(&mut screen, "attempts-failed");
    screen.keys("<esc>/attempts<enter>");
    reply(&mut screen, ScreenReply::Attempts(AttemptList::default()));
    frames(&mut screen, "attempts-none");
}

/// Changes of attempts to a file, in two places, of which only the first attempt changes the second.
fn changes_of(attempts: &[u32]) -> AttemptFile {
    let hunk = |number: usize, start, text: &str| AttemptHunk {
        number: Some(number),
        start,
        end: start + 3,
        title: format!("@@ -{start},3 +{start},3 @@ fn \u{1b}[2Jmain"),
        text: text.to_owned(),
    };
    let patch = |attempt: &u32| {
        let old = " fn main() {\n-    old\u{1b}[2J(\"漢字\");\n";
        let mut hunks = vec![hunk(1, 1, &format!("{old}+    new_{attempt}();\n }}\n"))];
        if *attempt == attempts[0] {
            hunks.push(hunk(2, 90, "-one\n+eins\n same\n"));
        }
        AttemptPatch { attempt: *attempt, hunks }
    };
    AttemptFile { path: "src/漢\u{1b}[2J.rs".to_owned(), patches: attempts.iter().map(patch).collect() }
}

#[test]
fn changes_of_attempts_are_side_by_side() {
    let mut screen = Screen::new();
    screen.keys("/attempts<enter>");
    let row = |number| AttemptRow { number, outcome: "succeeded".into(), ..AttemptRow::default() };
    let list = AttemptList { id: "a1b2c3".into(), rows: [1, 2, 3].map(row).into(), ..AttemptList::default() };
    reply(&mut screen, ScreenReply::Attempts(list));
    screen.keys("a");
    crate::approvals::pause(&mut screen);
    let new = AttemptHunk {
        end: u64::MAX,
        title: "the whole file".into(),
        text: "new file mode 100644".into(),
        ..AttemptHunk::default()
    };
    let made =
        AttemptFile { path: "made".into(), patches: vec![AttemptPatch { attempt: 3, hunks: vec![new] }] };
    reply(&mut screen, ScreenReply::AttemptFiles(vec![changes_of(&[1, 2, 3]), made]));
    screen.send(Msg::Resized(Size { width: 160, height: 40 }));
    screen.keys("<space><right><down><space>");
    frames(&mut screen, "attempts-side");
    screen.take_effects();
    screen.keys("t");
    let effects = screen.take_effects();
    let [Effect::Ask(ticket, ScreenRequest::TakeAttemptParts { id, parts })] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let parts: Vec<_> = parts.iter().map(|part| (part.attempt, part.hunk)).collect();
    assert_eq!((id.as_str(), parts), ("a1b2c3", vec![(1, Some(1)), (1, Some(2))]));
    let failed =
        "hunk 1 of attempt 1 and hunk 1 of attempt 2 change the same place of x; take one of them only";
    screen.send(Msg::Finished(*ticket, ScreenReply::Failed(failed.into())));
    frames(&mut screen, "attempts-side-failed");
}

#[test]
fn attempts_at_work_are_looked_at_again_and_stopped() {
    let mut screen = Screen::new();
    screen.keys("/attempts 3 --until 'cargo test' --model a,b fix it<enter>");
    let effects = screen.take_effects();
    let begun = effects.iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::BeginAttempts { order }) => Some((*ticket, order.clone())),
        _ => None,
    });
    let (begun, order) = begun.expect("an order");
    assert_eq!((order.count, order.check.as_str(), order.task.as_str()), (3, "cargo test", "fix it"));
    assert_eq!(order.models, ["a", "b"]);
    let list = |rows, id: &str| AttemptList {
        id: id.into(),
        task: "fix it".into(),
        check: "cargo test".into(),
        rows,
        is_running: true,
        is_own: true,
    };
    let listed = effects.iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Attempts {}) => Some(*ticket),
        _ => None,
    });
    screen.send(Msg::Finished(listed.expect("a list"), ScreenReply::Attempts(list(Vec::new(), ""))));
    frames(&mut screen, "attempts-copying");
    screen.take_effects();
    screen.wait(1_100);
    let row = |number: u32, outcome: &str, is_running| AttemptRow {
        number,
        outcome: outcome.into(),
        is_running,
        time: "8.0 s".into(),
        cost: "$0.012".into(),
        ..AttemptRow::default()
    };
    let rows = vec![row(1, "at work, round 2", true), row(2, "goal given up", false)];
    reply(&mut screen, ScreenReply::Attempts(list(rows, "a1b2c3")));
    screen.keys("x");
    crate::approvals::pause(&mut screen);
    frames(&mut screen, "attempts-running");
    screen.take_effects();
    screen.keys("s");
    crate::approvals::pause(&mut screen);
    let effects = screen.take_effects();
    let [Effect::Ask(stopped, ScreenRequest::StopAttempts {})] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    screen.send(Msg::Finished(*stopped, ScreenReply::Done("stopping".into())));
    screen.take_effects();
    let news =
        AttemptNews { ended: true, dollars: 0.5, estimated: false, said: "0 of 3 succeeded, $0.500".into() };
    screen.send(Msg::Finished(begun, ScreenReply::AttemptNews(news)));
    let effects = screen.take_effects();
    let counts = |effect: &Effect| matches!(effect, Effect::Agent(AgentCommand::Session(SessionCommand::AddUsage { usage })) if usage.cost.total == 0.5);
    assert!(effects.iter().any(counts), "{effects:?}");
}

#[test]
fn attempts_are_removed_by_the_same_key_twice() {
    let mut screen = Screen::new();
    screen.keys("/attempts<enter>");
    let row = AttemptRow { number: 1, outcome: "succeeded".into(), ..AttemptRow::default() };
    let list = AttemptList { id: "a1b2c3".into(), rows: vec![row], ..AttemptList::default() };
    reply(&mut screen, ScreenReply::Attempts(list));
    screen.take_effects();
    screen.keys("x<esc>x<down>x");
    crate::approvals::pause(&mut screen);
    assert_eq!(screen.take_effects(), []);
    frames(&mut screen, "attempts-drop");
    screen.keys("x");
    crate::approvals::pause(&mut screen);
    let effects = screen.take_effects();
    let [Effect::Ask(_, request)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(*request, ScreenRequest::DropAttempts { id: "a1b2c3".into() });
}
