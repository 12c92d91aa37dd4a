//! Tests which commands are confined, and which need approval where they cannot be.

use super::tests::{check, command, permissions};
use super::*;

#[test]
fn what_runs_without_a_question_and_without_a_rule_is_to_be_confined() {
    let rules = permissions(&[("bash(git log *)", Verdict::Allow), ("bash(cargo test *)", Verdict::Allow)]);
    for (text, mode, unasked) in [
        ("ls -la", PermissionMode::Ask, true),
        ("ls | wc -l; git status", PermissionMode::Plan, true),
        ("x=1", PermissionMode::Ask, true),
        ("git log", PermissionMode::Ask, false),
        ("cargo test", PermissionMode::Ask, false),
        ("cargo test 2>&1 | tail -5", PermissionMode::Ask, false),
        ("rm x", PermissionMode::Auto, false),
    ] {
        let judged = command(&rules, mode, text);
        assert_eq!((judged.verdict, judged.unasked), (Verdict::Allow, unasked), "{text}");
    }
    let bare = permissions(&[("bash", Verdict::Allow)]);
    assert!(!command(&bare, PermissionMode::Ask, "ls").unasked, "a rule allows it");
    // The rule that would be offered if the sandbox stopped it.
    let access = Access::command("git status -s");
    let (mode, tool) = (PermissionMode::Ask, "bash");
    let facts =
        CallFacts { mode, tool, access: &access, read_only: false, cwd: Path::new("/work"), home: None };
    assert_eq!(rules.suggested_rules(&facts), ["bash(git status *)"]);
}

#[test]
fn what_reads_is_asked_beside_what_a_rule_lets_run_unconfined() {
    let rules = permissions(&[("bash(cargo test *)", Verdict::Allow), ("edit(src/**)", Verdict::Allow)]);
    let asked =
        ["cargo test; git status", "rg x && cargo test", "git diff > src/x", "cargo test | sed -n 5p"];
    check(&rules, PermissionMode::Ask, Verdict::Ask, &asked);
    let allowed = ["cargo test | tail -5", "cd x && cargo test", "cat a > src/b", "cargo test && echo done"];
    check(&rules, PermissionMode::Ask, Verdict::Allow, &allowed);
    check(&rules, PermissionMode::Auto, Verdict::Allow, &asked);
    let reasons = command(&rules, PermissionMode::Ask, "cargo test; git status").reasons;
    assert!(reasons[0].text.contains("beside what a rule allows"), "{reasons:?}");
}

#[test]
fn where_nothing_can_be_confined_only_the_short_list_runs_unasked() {
    let options = Options { unconfined: true, ..Options::default() };
    let nothing = Permissions::new(Vec::new(), options);
    for mode in [PermissionMode::Ask, PermissionMode::Plan] {
        check(&nothing, mode, Verdict::Allow, &["ls -la | head", "cat x; pwd", "grep -n x y"]);
        check(&nothing, mode, Verdict::Ask, &["git status", "rg x", "ls; find .", "sed -n 1p x"]);
    }
    check(&nothing, PermissionMode::Auto, Verdict::Allow, &["git status", "rm x"]);
    let reasons = command(&nothing, PermissionMode::Ask, "git status").reasons;
    assert!(reasons[0].text.contains("this machine cannot confine it"), "{reasons:?}");
}
