//! Calls waiting for the user's decision: the prompt, the keys, and that nothing else changes meanwhile.

use serde_json::json;
use tau::agent::protocol::approval::{
    ApprovalAnswer, ApprovalOutcome, ApprovalReason, ApprovalRequest, RuleScope,
};
use tau::agent::protocol::command::{QuestionCommand, QueueCommand, RunCommand, TaskCommand};
use tau::agent::protocol::event::{QuestionEvent, RunEvent, TaskEvent};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::{AgentCommand, AgentEvent};
use tau::app::geometry::{ScrollPosition, Size};
use tau::app::request::{EditorUse, ScreenReply, ScreenRequest, Ticket};
use tau::app::{Effect, Msg};
use tau::tools::access::{Access, Preview};
use tau::tools::{FileDiff, Hunk};

use crate::harness::{Screen, frames, text};
use crate::panels::{asks, has, shown, starts};

mod elsewhere;
mod hidden;
mod kinds;
mod looks;
mod modes;
mod rules;
mod sandboxed;
pub(crate) mod terminal;
mod typing;
mod unasked;
mod unseen;

/// Slightly longer than a prompt must be on the screen before a key counts.
const SEEN: i64 = 401;

pub fn command_request(id: &str, command: &str, span: (usize, usize)) -> ApprovalRequest {
    ApprovalRequest {
        id: format!("r-{id}"),
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        title: command.lines().next().unwrap_or_default().into(),
        access: Access::command(command),
        preview: Preview::Command { command: command.into() },
        reasons: vec![ApprovalReason {
            text: "removes files".into(),
            span: Some(span),
            rule: Some("ask bash(rm *)".into()),
            path: None,
        }],
        suggested_rules: vec!["bash(rm -rf build)".into()],
        can_allow_exact: true,
        sandbox: "no sandbox".into(),
        blocked: None,
        ran: false,
        helper: None,
    }
}

pub fn change(count: u32) -> FileDiff {
    let hunk = |at: u32| Hunk {
        old_start: 10 * at,
        new_start: 10 * at,
        lines: [" fn parse() {", "-    let a = 1;", &format!("+    let a = {at}2;"), " }"]
            .map(String::from)
            .to_vec(),
    };
    FileDiff {
        path: "src/parser.rs".into(),
        added: count,
        removed: count,
        hunks: (1..=count).map(hunk).collect(),
        ..FileDiff::default()
    }
}

pub fn change_request(id: &str, change: FileDiff) -> ApprovalRequest {
    ApprovalRequest {
        id: format!("r-{id}"),
        tool_call_id: id.into(),
        tool_name: "edit".into(),
        title: "src/parser.rs".into(),
        access: Access::change("/work/parser/src/parser.rs"),
        preview: Preview::Change { change },
        reasons: vec![ApprovalReason {
            text: "ask mode: it changes a file".into(),
            ..ApprovalReason::default()
        }],
        suggested_rules: vec!["edit(src/**)".into()],
        can_allow_exact: true,
        sandbox: "workspace-write, no network".into(),
        blocked: None,
        ran: false,
        helper: None,
    }
}

pub const COMMAND: &str = "cd /tmp && rm -rf build && ls";

/// A run waiting with this request; the prompt has been seen.
pub fn waiting(request: ApprovalRequest) -> Screen {
    let mut screen = Screen::new();
    screen.user("clean up, please");
    screen.run();
    also(&mut screen, request);
    pause(&mut screen);
    screen.take_effects();
    screen
}

/// Waits without typing for as long as a prompt requires.
pub fn pause(screen: &mut Screen) {
    screen.at += SEEN;
    screen.send(Msg::Ticked);
}

/// Another call needs approval.
pub fn also(screen: &mut Screen, request: ApprovalRequest) {
    let args = match &request.preview {
        Preview::Command { command } => json!({ "command": command }),
        _ => json!({ "path": "src/parser.rs", "content": "one\ntwo\n" }),
    };
    asks(screen, &[(&request.tool_call_id, &request.tool_name, args)]);
    screen.agent(QuestionEvent::ApprovalRequested { request: Box::new(request) });
}

pub fn ended(screen: &mut Screen, id: &str, outcome: ApprovalOutcome) {
    screen.agent(QuestionEvent::ApprovalEnded { id: id.into(), outcome });
}

/// The answers that were sent; nothing else may have been.
pub fn answers(screen: &mut Screen) -> Vec<(String, ApprovalAnswer)> {
    let answer = |effect| match effect {
        Effect::Agent(AgentCommand::Questions(QuestionCommand::AnswerApproval { id, answer })) => {
            Some((id, answer))
        }
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(answer).collect()
}

pub fn once() -> ApprovalAnswer {
    ApprovalAnswer::Allow { hunks: None, edited: None }
}

pub fn deny(reason: Option<&str>, stop: bool) -> ApprovalAnswer {
    ApprovalAnswer::Deny { reason: reason.map(str::to_owned), stop }
}

#[track_caller]
pub fn check(screen: &mut Screen, keys: &str, answer: ApprovalAnswer) {
    screen.keys(keys);
    let id = screen.model().approvals.pending()[0].request.id.clone();
    assert_eq!(answers(screen), [(id, answer)], "{keys}");
}

#[test]
fn y_n_and_esc_answer() {
    let request = || command_request("c1", COMMAND, (11, 26));
    check(&mut waiting(request()), "y", once());
    check(&mut waiting(request()), "n<enter>", deny(None, false));
    check(&mut waiting(request()), "nnot <left><left>x<enter>", deny(Some("noxt"), false));
    check(&mut waiting(request()), "<ctrl+c>", deny(None, true));
    let mut screen = waiting(request());
    screen.keys("<esc>");
    let effects = screen.take_effects();
    let stop = AgentCommand::Questions(QuestionCommand::AnswerApproval {
        id: "r-c1".into(),
        answer: deny(None, true),
    });
    // Queued messages come back first, as whenever a run is stopped.
    assert_eq!(effects, [Effect::Agent(AgentCommand::Queue(QueueCommand::TakeQueue)), Effect::Agent(stop)]);
    has(&mut screen, &["stopping"]);
    // Esc in a line goes back to the decision, and decides nothing.
    let mut screen = waiting(request());
    screen.keys("nwhy<esc>");
    assert_eq!(answers(&mut screen), []);
    has(&mut screen, &["1 Yes, once (y)"]);
    screen.keys("y");
    assert_eq!(answers(&mut screen).len(), 1);
    // One answer is enough; later keys are for the composer.
    screen.keys("y");
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "y");
}

#[test]
fn a_prompt_that_was_not_seen_is_not_answered() {
    let mut screen = Screen::new();
    screen.run();
    screen.keys("<f1>");
    also(&mut screen, command_request("c1", COMMAND, (11, 26)));
    screen.at += 10 * SEEN;
    screen.keys("y");
    screen.keys("<esc>y");
    screen.keys("<backspace>");
    assert_eq!(answers(&mut screen), [], "the help was in front of it");
    screen.at += SEEN;
    screen.keys("y");
    assert_eq!(answers(&mut screen).len(), 1);
    // The same for the next one, which appears when this one is answered.
    also(&mut screen, command_request("c2", "rm two", (0, 2)));
    ended(&mut screen, "r-c1", ApprovalOutcome::Allowed);
    screen.keys("y");
    assert_eq!(answers(&mut screen), []);
    screen.at += SEEN;
    screen.keys("yy");
    assert_eq!(answers(&mut screen), [("r-c2".to_owned(), once())]);
}

#[test]
fn a_paste_answers_nothing_and_goes_into_a_line_only() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.send(Msg::Paste("y\ny".into()));
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "y\ny", "it is in the draft");
    screen.at += SEEN;
    screen.keys("<enter>");
    assert_eq!(answers(&mut screen), [], "Enter was to send it");
    screen.keys("n");
    screen.send(Msg::Paste("not like that\nsecond".into()));
    assert_eq!(answers(&mut screen), []);
    check(&mut screen, "<enter>", deny(Some("not like that second"), false));
}

#[test]
fn a_rule_is_shown_edited_and_looked_up() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("a3");
    let asked = |screen: &mut Screen| -> Vec<(u64, String)> {
        let query = |effect| match effect {
            Effect::Agent(AgentCommand::Task(TaskCommand::Query {
                ticket,
                query: Query::RuleCoverage { rule, .. },
            })) => Some((ticket, rule)),
            _ => None,
        };
        screen.take_effects().into_iter().filter_map(query).collect()
    };
    let first = asked(&mut screen);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].1, "bash(rm -rf build)");
    has(&mut screen, &["rule: bash(rm -rf build)", "‹this session›", "looking up earlier calls"]);
    screen.keys("<left><alt+b><ctrl+k>*)");
    let later = asked(&mut screen);
    let (ticket, rule) = later.last().cloned().unwrap();
    assert_eq!(rule, "bash(rm -rf *)");
    let told = |screen: &mut Screen, ticket, answer| {
        screen.agent(TaskEvent::Answered { ticket, answer });
    };
    told(&mut screen, first[0].0, Ok(QueryAnswer::Titles(vec!["of an older rule".into()])));
    has(&mut screen, &["looking up earlier calls"]);
    let titles = ["rm -rf a", "rm -rf b", "rm -rf c", "rm -rf d"].map(String::from).to_vec();
    told(&mut screen, ticket, Ok(QueryAnswer::Titles(titles)));
    has(&mut screen, &["covered 4 earlier calls: rm -rf a · rm -rf b · rm -rf c and 1 more"]);
    screen.keys("(");
    let (ticket, _) = asked(&mut screen).pop().unwrap();
    told(&mut screen, ticket, Err("a rule ends with one bracket".into()));
    has(&mut screen, &["a rule ends with one bracket"]);
    screen.keys("<enter>");
    assert_eq!(answers(&mut screen), [], "what is no rule is not added");
    screen.keys("<backspace>");
    let rule = "bash(rm -rf *)".to_owned();
    check(
        &mut screen,
        "<tab><enter>",
        ApprovalAnswer::AllowAlways { rules: vec![rule], scope: RuleScope::Local, hunks: None },
    );
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    let rule = "bash(rm -rf build)".to_owned();
    check(
        &mut screen,
        "a3<up><enter>",
        ApprovalAnswer::AllowAlways { rules: vec![rule], scope: RuleScope::User, hunks: None },
    );
}

/// The request for the user's editor, and its ticket.
fn editor(screen: &mut Screen) -> (Ticket, String, String, EditorUse) {
    let asked = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Editor { text, ending, purpose }) => {
            Some((ticket, text, ending, purpose))
        }
        _ => None,
    });
    asked.expect("an editor is opened")
}

#[test]
fn a_command_is_edited_in_the_prompt_or_in_an_editor() {
    let mut screen = waiting(command_request("c1", "rm -rf build", (0, 12)));
    screen.keys("e<ctrl+w>target");
    has(&mut screen, &["$ rm -rf target", "enter runs it as it is here"]);
    let edited = |text: &str| ApprovalAnswer::Allow { hunks: None, edited: Some(text.to_owned()) };
    check(&mut screen, "<enter>", edited("rm -rf target"));
    // One with several lines.
    let mut screen = waiting(command_request("c1", "set -e\nrm x", (7, 11)));
    screen.keys("e");
    let (ticket, text, ending, _) = editor(&mut screen);
    assert_eq!((text.as_str(), ending.as_str()), ("set -e\nrm x", ".sh"));
    has(&mut screen, &["in your editor"]);
    screen.keys("y");
    assert_eq!(answers(&mut screen), [], "it is being edited");
    screen.send(Msg::Finished(ticket, ScreenReply::Edited(None)));
    assert_eq!(answers(&mut screen), []);
    screen.at += SEEN;
    screen.keys("e");
    let (ticket, ..) = editor(&mut screen);
    screen.send(Msg::Finished(ticket, ScreenReply::Edited(Some("rm y\n".into()))));
    assert_eq!(answers(&mut screen), [("r-c1".to_owned(), edited("rm y\n"))]);
}

#[test]
fn a_change_is_edited_as_a_whole_file() {
    let mut screen = waiting(change_request("c1", change(2)));
    screen.keys("e");
    let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Task(TaskCommand::Query {
            ticket,
            query: Query::ProposedText { id },
        })) => {
            assert_eq!(id, "r-c1");
            Some(ticket)
        }
        _ => None,
    });
    let text = QueryAnswer::Text("fn parse() {}\n".into());
    screen.agent(TaskEvent::Answered { ticket: ticket.unwrap(), answer: Ok(text) });
    let (ticket, text, ending, purpose) = editor(&mut screen);
    assert_eq!((text.as_str(), ending.as_str(), purpose), ("fn parse() {}\n", ".rs", EditorUse::Approval));
    // The call is gone before the editor is closed: nothing is sent, and the draft stays.
    ended(&mut screen, "r-c1", ApprovalOutcome::Withdrawn);
    screen.send(Msg::Finished(ticket, ScreenReply::Edited(Some("x".into()))));
    assert_eq!(answers(&mut screen), []);
    assert!(screen.model().composer.is_empty());
}

#[test]
fn hunks_are_chosen_one_by_one() {
    let mut screen = waiting(change_request("c1", change(3)));
    has(&mut screen, &["● [x] hunk 1 of 3", "  [x] hunk 2 of 3", "space drops the hunk"]);
    screen.keys("<tab> ");
    has(&mut screen, &["● [ ] hunk 2 of 3 · not applied"]);
    let kept = |hunks: &[usize]| ApprovalAnswer::Allow { hunks: Some(hunks.to_vec()), edited: None };
    check(&mut screen, "yy", kept(&[0, 2]));
    check(&mut waiting(change_request("c1", change(3))), " <tab> <tab><tab> <tab><tab> yy", kept(&[0]));
    check(&mut waiting(change_request("c1", change(2))), "  yy", once());
    let mut screen = waiting(change_request("c1", change(2)));
    screen.keys(" <tab> y");
    assert_eq!(answers(&mut screen), []);
    has(&mut screen, &["no hunk is left to apply"]);
    // One hunk is the whole change, and a truncated change was never seen completely.
    let mut screen = waiting(change_request("c1", change(1)));
    assert!(!shown(&mut screen).contains("drops the hunk"));
    check(&mut screen, " y", once());
    let mut screen = waiting(change_request("c1", FileDiff { cut: true, ..change(3) }));
    has(&mut screen, &["its hunks cannot be chosen"]);
    check(&mut screen, " yy", once());
}

#[test]
fn several_calls_are_answered_one_by_one_or_all_of_a_kind() {
    let three = || {
        let mut screen = waiting(command_request("c1", "rm one", (0, 2)));
        also(&mut screen, change_request("c2", change(2)));
        also(&mut screen, command_request("c3", "rm three", (0, 2)));
        pause(&mut screen);
        screen.take_effects();
        screen
    };
    let mut screen = three();
    has(&mut screen, &["1 of 3", "● bash  rm one", "  edit  src/parser.rs"]);
    has(&mut screen, &["5 Yes to all 2 bash calls (Y)", "6 No to all 2 bash calls (N)"]);
    // The third one is in the list, whole.
    has(&mut screen, &["  bash  rm three"]);
    screen.keys("Y");
    let expected = [("r-c1".to_owned(), once()), ("r-c3".to_owned(), once())];
    assert_eq!(answers(&mut screen), expected);
    has(&mut screen, &["Make this change?"]);
    let mut screen = three();
    screen.keys("N");
    let expected = ["r-c1", "r-c3"].map(|id| (id.to_owned(), deny(None, false)));
    assert_eq!(answers(&mut screen), expected);
    let mut screen = three();
    screen.keys("<right>");
    has(&mut screen, &["2 of 3", "Make this change?", "● [x] hunk 1 of 2"]);
    screen.at += SEEN;
    screen.keys("yy");
    assert_eq!(answers(&mut screen), [("r-c2".to_owned(), once())]);
    has(&mut screen, &["rm three"]);
    // One that is withdrawn meanwhile leaves the list.
    ended(&mut screen, "r-c2", ApprovalOutcome::Allowed);
    ended(&mut screen, "r-c3", ApprovalOutcome::Withdrawn);
    screen.at += SEEN;
    screen.keys("y");
    assert_eq!(answers(&mut screen), [("r-c1".to_owned(), once())]);
}

#[test]
fn the_prompt_stays_in_sight_and_scrolling_works() {
    let mut screen = waiting(change_request("c1", change(9)));
    let first = shown(&mut screen);
    assert!(first.contains("● [x] hunk 1 of 9") && first.contains("1 Yes, once"), "{first}");
    screen.keys("<tab><tab><tab><tab><tab><tab><tab>");
    has(&mut screen, &["● [x] hunk 8 of 9", "1 Yes, once", "Make this change?"]);
    screen.keys("<pageup>");
    let above = shown(&mut screen);
    assert!(!above.contains("hunk 8 of 9") && above.contains("1 Yes, once"), "{above}");
    screen.keys("<ctrl+home>");
    has(&mut screen, &["clean up, please", "1 Yes, once"]);
    screen.keys("<tab>");
    has(&mut screen, &["● [x] hunk 9 of 9"]);
    screen.keys("<pageup>y");
    ended(&mut screen, "r-c1", ApprovalOutcome::Allowed);
    assert_eq!(screen.model().transcript.position, ScrollPosition::Tail, "as before the prompt");
    for (width, height) in [(40, 12), (20, 5), (10, 4), (1, 1), (200, 3), (120, 40)] {
        let mut screen = waiting(change_request("c1", change(9)));
        screen.send(Msg::Resized(Size { width, height }));
        if width >= 20 && height >= 4 {
            has(&mut screen, &["› "]);
            screen.at += SEEN;
            // Most of it was not on the screen.
            screen.keys("<tab>  y");
            assert_eq!(answers(&mut screen), []);
            check(&mut screen, "y", once());
        }
    }
}

#[test]
fn who_reads_above_comes_back_there() {
    let mut screen = Screen::new();
    for at in 0..40 {
        screen.user(&format!("prompt {at}"));
    }
    screen.run();
    screen.keys("<ctrl+home>");
    let before = screen.model().transcript.position;
    let top = |screen: &mut Screen| {
        shown(screen)
            .lines()
            .take(4)
            .map(|row| row.trim_end_matches([' ', '│', '┃']).to_owned())
            .collect::<Vec<_>>()
    };
    also(&mut screen, command_request("c1", COMMAND, (11, 26)));
    let read = [
        "τ tau 0.0.0",
        "  ? keys and commands · ! runs a command · @ names a file · / commands",
        "",
        "▌ prompt 0",
    ];
    has(&mut screen, &["Run this command?", "$ cd /tmp && rm -rf build"]);
    assert_eq!(top(&mut screen), read, "a question does not move a reader");
    pause(&mut screen);
    screen.keys("<down><up>");
    assert_eq!(top(&mut screen), read);
    // A user who scrolls on stays there.
    screen.keys("<pagedown>");
    let read = top(&mut screen);
    also(&mut screen, command_request("c2", "make clean", (0, 4)));
    assert_eq!(top(&mut screen), read);
    screen.keys("<ctrl+home>");
    pause(&mut screen);
    screen.keys("y");
    ended(&mut screen, "r-c1", ApprovalOutcome::Allowed);
    has(&mut screen, &["prompt 0", "$ make clean"]);
    ended(&mut screen, "r-c2", ApprovalOutcome::Withdrawn);
    assert_eq!(screen.model().transcript.position, before);
    has(&mut screen, &["prompt 0"]);
}

#[test]
fn writing_first_is_possible() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("<alt+a>yes, but");
    assert_eq!(answers(&mut screen), []);
    has(&mut screen, &["> yes, but", "alt+a answers", "waiting for you"]);
    screen.keys("<alt+a>");
    screen.at += SEEN;
    screen.keys("y");
    assert_eq!(answers(&mut screen).len(), 1);
    assert_eq!(screen.model().composer.expanded_content().0, "yes, but");
}

#[test]
fn waiting_is_said_and_is_no_time_of_the_call() {
    let mut screen = Screen::new();
    screen.run();
    screen.send(Msg::Focused(false));
    screen.take_effects();
    asks(&mut screen, &[("c1", "bash", json!({ "command": COMMAND }))]);
    starts(&mut screen, "c1", "bash", &json!({ "command": COMMAND }));
    let request = Box::new(command_request("c1", COMMAND, (11, 26)));
    screen.agent(QuestionEvent::ApprovalRequested { request });
    let effects = screen.take_effects();
    let notified =
        |effect: &Effect| matches!(effect, Effect::Notify(text) if text.starts_with("waiting for your"));
    assert_eq!(effects.iter().filter(|effect| notified(effect)).count(), 1, "{effects:?}");
    assert!(screen.model().wants().title.starts_with("waiting for you · tau"));
    has(&mut screen, &["? bash", "Run this command?"]);
    screen.at += 3_600_000;
    screen.keys("y");
    ended(&mut screen, "r-c1", ApprovalOutcome::Allowed);
    screen.wait(2_000);
    let now = shown(&mut screen);
    assert!(now.contains("2.0s") && !now.contains("1h") && !now.contains("60m"), "{now}");
    screen.agent(RunEvent::AgentSettled { aborted: false });
    assert!(!text(&screen.draw()).contains("1h"));
}

#[test]
fn what_is_typed_into_a_prompt_that_goes_away_is_not_sent() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("nbecause");
    ended(&mut screen, "r-c1", ApprovalOutcome::Withdrawn);
    screen.keys(" of<enter>");
    assert_eq!(screen.model().composer.expanded_content().0, "because of", "nor is it lost");
    assert!(
        !screen
            .take_effects()
            .iter()
            .any(|effect| matches!(effect, Effect::Agent(AgentCommand::Run(RunCommand::Prompt { .. }))))
    );
    // A rule or a command is not text for the model.
    let mut screen = waiting(command_request("c1", "rm x", (0, 2)));
    screen.keys("e y");
    ended(&mut screen, "r-c1", ApprovalOutcome::Withdrawn);
    screen.keys("z<enter>");
    assert!(screen.model().composer.is_empty());
    // Nor is a key that was on its way to a choice, when another screen has answered.
    for key in ["y", "1", "<enter>"] {
        let mut screen = waiting(command_request("c1", "rm x", (0, 2)));
        ended(&mut screen, "r-c1", ApprovalOutcome::Allowed);
        screen.keys(key);
        assert!(screen.model().composer.is_empty(), "{key}");
        screen.at += SEEN;
        screen.keys("then");
        assert_eq!(screen.model().composer.expanded_content().0, "then");
    }
    // The end of a run removes its prompts.
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.settle();
    assert!(screen.model().approvals.is_empty());
    screen.keys("y");
    assert_eq!(answers(&mut screen), []);
    assert_eq!(screen.model().composer.expanded_content().0, "y");
}

#[test]
fn a_path_is_said_once() {
    let reason = |text: &str, path: &str| ApprovalReason {
        text: text.into(),
        path: Some(path.into()),
        ..ApprovalReason::default()
    };
    for (text, path, drawn) in [
        ("changes a.txt", "/full/a.txt", "! changes a.txt\n"),
        ("changes src/a.txt", "/full/src/a.txt", "! changes src/a.txt\n"),
        (
            "it writes /full/a.txt: it is protected",
            "/full/a.txt",
            "! it writes /full/a.txt: it is protected\n",
        ),
        ("changes data.txt", "/full/a.txt", "! changes data.txt · /full/a.txt\n"),
        ("it is protected", "/full/a.txt", "! it is protected · /full/a.txt\n"),
    ] {
        let reasons = vec![reason(text, path)];
        let mut screen = waiting(ApprovalRequest { reasons, ..command_request("c1", "ls", (0, 2)) });
        let rows: String = shown(&mut screen).lines().map(|row| format!("{}\n", row.trim())).collect();
        assert!(rows.contains(drawn), "{drawn}:\n{rows}");
    }
}

#[test]
fn foreign_text_is_drawn_safely() {
    let command = "echo \u{1b}[2J\u{202e} && rm\u{7} x";
    let request = ApprovalRequest {
        title: "\u{1b}]0;x\u{7}".into(),
        tool_name: "ba\u{1b}sh".into(),
        sandbox: "\u{9b}31m".into(),
        ..command_request("c1", command, (16, 99))
    };
    let mut screen = waiting(request);
    let drawn = shown(&mut screen);
    assert!(drawn.chars().all(|c| c == '\n' || !c.is_control()), "{drawn:?}");
    assert!(drawn.contains("<U+202E>"), "{drawn}");
    frames(&mut screen, "approval-hostile");
}
