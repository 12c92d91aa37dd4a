//! Nothing is hidden in a question: invisible characters are spelled out, long text says so, and one key
//! does not allow unseen text.

use serde_json::json;
use tau::agent::AgentCommand;
use tau::agent::protocol::approval::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, RuleScope};
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::TaskEvent;
use tau::agent::protocol::query::QueryAnswer;
use tau::app::approval::PromptStage;
use tau::app::geometry::Size;
use tau::app::request::{EditorSource, ScreenReply, ScreenRequest};
use tau::app::{Effect, Msg};
use tau::tools::{FileDiff, Hunk, Preview};

use super::{SEEN, also, answers, change, change_request, check, command_request, ended, once, waiting};
use crate::harness::Screen;
use crate::panels::{has, shown};

/// Some characters that are invisible, or look like a space.
const HIDDEN: &str = "\u{AD}\u{34F}\u{115F}\u{1160}\u{17B4}\u{180E}\u{200B}\u{200D}\u{2060}\u{2800}\u{3164}\u{FE0F}\u{FEFF}\u{E0041}\u{A0}\u{3000}\u{202E}";

fn of_arguments(arguments: serde_json::Value) -> ApprovalRequest {
    ApprovalRequest {
        tool_name: "mcp_db_query".into(),
        title: "query".into(),
        preview: Preview::Arguments { arguments },
        ..command_request("c1", "", (0, 0))
    }
}

fn of_line(line: &str) -> ApprovalRequest {
    let hunk = Hunk { old_start: 1, new_start: 1, lines: vec![format!("+{line}")] };
    change_request("c1", FileDiff { hunks: vec![hunk], ..change(1) })
}

#[test]
fn what_is_invisible_is_spelled_wherever_it_stands() {
    for c in HIDDEN.chars() {
        let name = format!("bu{c}ild");
        let spelled = format!("bu<U+{:04X}>ild", u32::from(c));
        let path = FileDiff { path: name.clone(), ..change(1) };
        let requests = [
            command_request("c1", &format!("sh {name}"), (0, 2)),
            of_line(&name),
            ApprovalRequest { title: name.clone(), ..change_request("c1", path) },
            of_arguments(json!({"url": "https://x.test", "deep": [{"q": name}], name.clone(): 1})),
            of_arguments(json!({ name.clone(): "x" })),
            ApprovalRequest { sandbox: name.clone(), ..command_request("c1", "ls", (0, 2)) },
            ApprovalRequest { tool_name: name.clone(), ..command_request("c1", "ls", (0, 2)) },
        ];
        for request in requests {
            let mut screen = waiting(request);
            has(&mut screen, &[&spelled]);
        }
    }
}

#[test]
fn arguments_are_shown_in_full() {
    let mut screen = waiting(of_arguments(json!({
        "sql": "drop table users", "limit": 7, "options": {"force": true, "lines": "one\ntwo"},
    })));
    has(&mut screen, &["sql: drop table users", "limit: 7", "options.force: true", "options.lines:", "two"]);
    check(&mut screen, "y", once());
}

#[test]
fn no_line_of_a_text_passes_for_an_argument_and_no_end_of_a_name_is_lost() {
    let mut screen =
        waiting(of_arguments(json!({ "note": "hello\npath: README.md", "path": "/etc/passwd" })));
    let shown = shown(&mut screen);
    let column =
        |text: &str| shown.lines().find_map(|row| row.find(text)).unwrap_or_else(|| panic!("{shown}"));
    let [line, name, argument] = ["path: README.md", "note:", "path: /etc/passwd"].map(column);
    assert!(line > argument && name == argument, "{shown}");
    let path = FileDiff { path: "x.py ".into(), ..change(1) };
    let mut screen = waiting(ApprovalRequest { title: "x.py ".into(), ..change_request("c1", path) });
    has(&mut screen, &["x.py<U+0020>"]);
}

#[test]
fn blanks_are_counted_and_what_is_behind_them_is_shown() {
    let line = format!("x = 1{}; evil()", " ".repeat(10_000));
    for request in
        [command_request("c1", &line, (0, 1)), of_line(&line), of_arguments(json!({ "code": line }))]
    {
        let mut screen = waiting(request);
        has(&mut screen, &["⋯ 10,000 blanks ⋯; evil()"]);
        check(&mut screen, "y", once());
    }
    // A carriage return is part of the name of a file that a shell runs.
    for end in ["\r\ntrue", "\r"] {
        let mut screen = waiting(command_request("c1", &format!("sh build.sh{end}"), (0, 2)));
        has(&mut screen, &["$ sh build.sh␍"]);
    }
    let mut screen = waiting(command_request("c1", &format!("ls{}rm -r x", "\n".repeat(500)), (0, 2)));
    has(&mut screen, &["⋯ 499 empty lines ⋯", "rm -r x"]);
}

/// Calls that need more rows than there are.
fn long() -> [ApprovalRequest; 5] {
    let lines = (0..300).map(|n| format!("echo {n}\n")).collect::<String>();
    [
        command_request("c1", &lines, (0, 4)),
        command_request("c1", &"true; ".repeat(3_000), (0, 4)),
        change_request("c1", change(60)),
        of_arguments(json!({ "script": lines })),
        ApprovalRequest { ran: true, suggested_rules: Vec::new(), ..command_request("c1", &lines, (0, 4)) },
    ]
}

#[test]
fn a_key_allows_what_was_seen_to_its_end_or_is_pressed_twice() {
    for request in long() {
        // Twice, and anything between two presses cancels the first one.
        let mut screen = waiting(request.clone());
        shown(&mut screen);
        screen.keys("y");
        assert_eq!(answers(&mut screen), []);
        has(&mut screen, &["! not all of it was shown", "v views"]);
        screen.keys("n<esc>y");
        assert_eq!(answers(&mut screen), []);
        check(&mut screen, "y", once());
        // Scrolled to the end.
        let mut screen = waiting(request.clone());
        shown(&mut screen);
        for _ in 0..60 {
            screen.keys("<pagedown>");
            shown(&mut screen);
        }
        check(&mut screen, "y", once());
        // Also from the meanings of "always": they do not move there.
        let mut screen = waiting(request.clone());
        shown(&mut screen);
        screen.keys("a");
        for _ in 0..60 {
            screen.keys("<pagedown>");
            shown(&mut screen);
        }
        if let PromptStage::Always(list) = &screen.model().approvals.open().unwrap().stage {
            assert_eq!(list.selected, 0);
        }
        screen.keys("<esc>");
        check(&mut screen, "y", once());
        // In an editor, once it is closed.
        for (reply, is_seen) in [
            (ScreenReply::Done(String::new()), true),
            (ScreenReply::Failed("no editor is set".into()), false),
        ] {
            let mut screen = waiting(request.clone());
            shown(&mut screen);
            screen.keys("v");
            let ticket = asked_editor(&mut screen);
            screen.send(Msg::Finished(ticket, reply));
            assert_eq!(shown(&mut screen).contains("no editor is set"), !is_seen);
            screen.at += SEEN;
            screen.keys("y");
            assert_eq!(answers(&mut screen).len(), usize::from(is_seen));
        }
    }
}

/// The end alone is not all of a change.
#[test]
fn hunks_that_were_passed_over_are_not_seen() {
    let hunk = |at: u32| {
        let lines = (0..12).map(|row| format!("+line {at}.{row}")).collect();
        Hunk { old_start: 100 * at, new_start: 112 * at, lines }
    };
    let request = change_request("c1", FileDiff { hunks: (1..=9).map(hunk).collect(), ..change(1) });
    // From the first hunk back to the last one.
    let mut screen = waiting(request.clone());
    shown(&mut screen);
    screen.keys("<shift+tab>");
    has(&mut screen, &["line 9.11"]);
    screen.keys("y");
    assert_eq!(answers(&mut screen), []);
    check(&mut screen, "y", once());
    // Each of them was on the screen.
    let mut screen = waiting(request);
    for _ in 0..80 {
        shown(&mut screen);
        screen.keys("<pagedown>");
    }
    shown(&mut screen);
    screen.keys("<shift+tab>");
    has(&mut screen, &["line 9.11"]);
    check(&mut screen, "y", once());
}

/// The ticket of the requested editor.
#[track_caller]
fn asked_editor(screen: &mut Screen) -> tau::app::request::Ticket {
    let opened = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::OpenInEditor { source: EditorSource::Text { .. } }) => {
            Some(ticket)
        }
        _ => None,
    });
    opened.expect("an editor")
}

#[test]
fn every_way_to_allow_is_held_to_it() {
    let [request, ..] = long();
    let request = ApprovalRequest { suggested_rules: vec!["bash(echo *)".into()], ..request };
    // A rule that is added.
    let mut screen = waiting(request.clone());
    shown(&mut screen);
    screen.keys("a2");
    assert_eq!(answers(&mut screen), []);
    let (rule, scope) = ("bash(echo *)".to_owned(), RuleScope::Session);
    check(&mut screen, "2", ApprovalAnswer::AllowAlways { rules: vec![rule], scope, hunks: None });
    let mut screen = waiting(request.clone());
    shown(&mut screen);
    screen.keys("a1");
    assert_eq!(answers(&mut screen), []);
    check(&mut screen, "1", ApprovalAnswer::AllowExact { hunks: None });
    // The command in the line where it can be changed.
    let command = "true; ".repeat(3_000);
    let mut screen = waiting(command_request("c1", &command, (0, 4)));
    shown(&mut screen);
    screen.keys("e<enter>");
    assert_eq!(answers(&mut screen), []);
    let edited = Some(command.trim().to_owned());
    check(&mut screen, "<enter>", ApprovalAnswer::Allow { hunks: None, edited });
    // Others of the same kind.
    let mut screen = waiting(command_request("c1", "ls", (0, 2)));
    also(&mut screen, ApprovalRequest { id: "r-c2".into(), tool_call_id: "c2".into(), ..request });
    screen.at += SEEN;
    shown(&mut screen);
    screen.keys("Y");
    assert_eq!(answers(&mut screen), []);
    screen.keys("Y");
    assert_eq!(answers(&mut screen).len(), 2);
    // Denying takes one press.
    let mut screen = waiting(long()[0].clone());
    shown(&mut screen);
    screen.keys("<esc>");
    assert_eq!(answers(&mut screen).len(), 1);
}

/// Short commands are whole in the list of what waits, so one key allows all of them.
#[test]
fn calls_that_are_listed_whole_are_seen() {
    let call = |at: usize, command: &str| ApprovalRequest {
        id: format!("r-c{at}"),
        tool_call_id: format!("c{at}"),
        ..command_request("c1", command, (0, 2))
    };
    let long = format!("touch {}", "x".repeat(200));
    for (last, at_once) in [("touch a3.txt", true), (&*long, false), ("touch a3.txt\nrm x", false)] {
        let mut screen = waiting(call(1, "touch a1.txt"));
        screen.send(Msg::Resized(Size { width: 120, height: 40 }));
        also(&mut screen, call(2, "touch a2.txt"));
        also(&mut screen, call(3, last));
        screen.at += SEEN;
        shown(&mut screen);
        screen.keys("Y");
        if !at_once {
            assert_eq!(answers(&mut screen), [], "{last}");
            // A row says it, so no remark does, and it ends with the question.
            assert_eq!(shown(&mut screen).matches("not all of these calls").count(), 1);
            screen.keys("Y");
        }
        assert_eq!(answers(&mut screen).len(), 3, "{last}");
        for at in 1..=3 {
            ended(&mut screen, &format!("r-c{at}"), ApprovalOutcome::Allowed);
        }
        assert!(!shown(&mut screen).contains("not all of these calls"), "{last}");
    }
}

/// A remark about a question is gone with it.
#[test]
fn a_remark_about_a_question_does_not_outlive_it() {
    let mut screen = waiting(command_request("c1", "ls", (0, 2)));
    screen.keys("words");
    screen.wait(1_000);
    screen.keys("<enter>");
    has(&mut screen, &["enter again takes the selected row"]);
    check(&mut screen, "<enter>", once());
    assert!(!shown(&mut screen).contains("enter again"), "{}", shown(&mut screen));
}

#[test]
fn a_change_that_is_cut_is_shown_as_the_text_that_would_be_written() {
    let mut screen = waiting(change_request("c1", FileDiff { cut: true, ..change(1) }));
    shown(&mut screen);
    screen.keys("y");
    assert_eq!(answers(&mut screen), []);
    screen.keys("v");
    let query = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Task(TaskCommand::Query { ticket, .. })) => Some(ticket),
        _ => None,
    });
    let ticket = query.expect("the text is asked for");
    screen.agent(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::Text("all of it".into())) });
    let ticket = asked_editor(&mut screen);
    screen.send(Msg::Finished(ticket, ScreenReply::Done(String::new())));
    screen.at += SEEN;
    check(&mut screen, "y", once());
}
