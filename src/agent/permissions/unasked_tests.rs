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
fn reading_that_takes_away_or_starts_something_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/ptmx", folder.path().join("link")).unwrap();
    let place = folder.path().to_str().unwrap();
    let nothing = permissions(&[]);
    let asked = [
        "head -c8 /dev/pts/18",
        "cat < /dev/pts/18",
        "exec 3</dev/pts/18; head -c8 <&3",
        "cat /dev/watchdog",
        "cat /dev/pts/*",
        "cat /dev/p*/1",
        "cd /dev/pts; cat ./1",
        "x=/dev/pts/1; cat $x",
        "cat /dev/$x",
        "cat //dev/../dev/pts/1",
        "find /dev/pts -exec head -c8 {} +",
        "grep -a PRIVATE /dev/vda",
        "cat /proc/kmsg",
        "cat /sys/kernel/tracing/trace_pipe",
        "head -c6 FOLDER/fifo",
        "cat < FOLDER/fifo",
        "wc -c FOLDER/link",
        "cd FOLDER && cat fifo",
        "read -r x < FOLDER/fifo",
        "git diff --no-index /dev/null FOLDER/fifo",
    ];
    let asked: Vec<String> = asked.iter().map(|command| command.replace("FOLDER", place)).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    check(&nothing, PermissionMode::Ask, Verdict::Ask, &asked);
    check(&nothing, PermissionMode::Plan, Verdict::Deny, &asked);
    check(&permissions(&[("bash", Verdict::Allow)]), PermissionMode::Ask, Verdict::Allow, &asked);
    let free = [
        "cat /dev/null x", "head -c8 /dev/urandom", "cat < /dev/zero", "echo x | cat /dev/stdin - /dev/fd/0",
        "cat /proc/self/fd/0 < x", "diff <(ls a) <(ls b)", "cat /dev/shm/x", "ls -l /dev/pts/1 /dev",
        "test -e /dev/kvm", "readlink -f /dev/disk/by-id/x", "lsblk /dev/vda", "find /dev -name 'tty*'",
        "rg /dev/pts src", "df /dev/vda1", "echo /dev/pts/1", "cat $x", "cat dev/pts/1", "stat FOLDER/fifo",
    ];
    let free: Vec<String> = free.iter().map(|command| command.replace("FOLDER", place)).collect();
    check(
        &nothing,
        PermissionMode::Ask,
        Verdict::Allow,
        &free.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let reasons = command(&nothing, PermissionMode::Ask, "cat /dev/pts/1").reasons;
    assert!(reasons[0].text.contains("reading /dev/pts/1, a device or a FIFO"), "{reasons:?}");
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
