//! Calls that are answered together, and those that must not be: rejected hunks, and sandbox denials.

use tau::agent::protocol::approval::{ApprovalAnswer, ApprovalReason, ApprovalRequest, RuleScope};
use tau::tools::FileDiff;
use tau::tools::sandbox::{SandboxDenial, SandboxRule};

use super::{SEEN, also, answers, change, change_request, check, command_request, once, waiting};
use crate::harness::frames;
use crate::panels::{has, shown};

#[test]
fn answering_a_whole_kind_leaves_rejected_hunks_out() {
    let mut screen = waiting(change_request("c1", change(2)));
    also(&mut screen, change_request("c2", change(2)));
    also(&mut screen, change_request("c3", change(2)));
    screen.at += SEEN;
    // The second hunk of the first change; every hunk of the third one.
    screen.keys("<tab> <left>");
    screen.at += SEEN;
    screen.keys(" <tab> ");
    screen.take_effects();
    screen.keys("YY");
    let kept = ApprovalAnswer::Allow { hunks: Some(vec![0]), edited: None };
    assert_eq!(answers(&mut screen), [("r-c1".to_owned(), kept), ("r-c2".to_owned(), once())]);
    // A rule added with a change does not bring rejected hunks back.
    let mut screen = waiting(change_request("c1", change(2)));
    screen.keys(" a");
    let (rule, scope) = ("edit(src/**)".to_owned(), RuleScope::Session);
    check(&mut screen, "2", ApprovalAnswer::AllowAlways { rules: vec![rule], scope, hunks: Some(vec![1]) });
}

#[test]
fn a_call_that_ran_is_asked_with_other_words_and_alone() {
    let path = Some("/srv/data".into());
    let denial = SandboxDenial { rule: SandboxRule::Outside, path, unasked: false, renamed: None };
    let ran = |id: &str| ApprovalRequest {
        reasons: vec![ApprovalReason {
            text: format!("the sandbox blocks {denial}"),
            path: Some("/srv/data".into()),
            ..ApprovalReason::default()
        }],
        suggested_rules: vec!["sandbox_writable(/srv)".into()],
        sandbox: "workspace-write".into(),
        blocked: Some(denial.clone()),
        ran: true,
        ..command_request(id, "make install", (0, 0))
    };
    let mut screen = waiting(ran("c1"));
    frames(&mut screen, "approval-ran");
    screen.keys("a");
    has(&mut screen, &["rule: sandbox_writable(/srv)", "runs the call again, in the sandbox"]);
    // Without a path there is nothing to add.
    let mut screen = waiting(ApprovalRequest { suggested_rules: Vec::new(), ..ran("c1") });
    has(&mut screen, &["1 Yes, again without the sandbox (y)", "2 Edit it first (e)", "3 No, leave it (n)"]);
    // A call that has not run yet is another kind.
    let mut screen = waiting(ran("c1"));
    also(&mut screen, command_request("c2", "rm two", (0, 2)));
    also(&mut screen, command_request("c3", "rm three", (0, 2)));
    screen.at += SEEN;
    assert!(!shown(&mut screen).contains("to all"));
    screen.keys("<right>");
    super::pause(&mut screen);
    has(&mut screen, &["5 Yes to all 2 bash calls (Y)"]);
    screen.take_effects();
    screen.keys("YY");
    let expected = ["r-c2", "r-c3"].map(|id| (id.to_owned(), once()));
    assert_eq!(answers(&mut screen), expected);
}

#[test]
fn a_new_file_without_content_is_called_empty() {
    let mut screen = waiting(change_request("c1", FileDiff { hunks: Vec::new(), ..change(1) }));
    has(&mut screen, &["Make this change?", "the new file is empty"]);
}
