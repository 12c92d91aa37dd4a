//! Commands made to take long, or much stack.

use rustix::time::{ClockId, clock_gettime};

use super::*;

#[test]
fn hostile_commands_are_judged_in_time_and_on_a_small_stack() {
    let nested =
        |open: &str, close: &str, count: usize| format!("{}ls{}", open.repeat(count), close.repeat(count));
    let hostile = vec![
        nested("$(", ")", 10_000),
        nested("\"$(", ")\"", 5_000),
        nested("( ", " )", 9_000),
        nested("{ ", ";}", 6_000),
        nested("if ls; then ", "; fi", 1_400),
        nested("while ls; do ", "; done", 1_300),
        nested("! ", "", 9_000),
        nested("coproc ", "", 2_000),
        nested("[[ ! ( ", " ) ]]", 2_000),
        nested("bash -c '", "'", 2_000),
        nested("env ", "", 4_900),
        nested("sudo ", "", 3_900),
        nested("${x:-", "}", 3_000),
        nested("f() { ", ";}", 2_000),
        nested("case x in x) ", ";; esac", 900),
        "a&&".repeat(33_000) + "ls",
        "a&&".repeat(6_000) + "ls",
        "x ".repeat(50_000),
        "x ".repeat(9_900),
        "/a/b ".repeat(3_900),
        "<<a ".repeat(4_000),
        "\"".repeat(19_999),
        "'`$(".repeat(4_000),
        "\\\n".repeat(9_000),
        "é".repeat(9_000),
        "\u{0}\u{1}\u{7f}".repeat(5_000),
        "~99999999999999999999/ 99999999999>x {1..99999999999999999999}".to_owned(),
        "*".repeat(19_000),
        "cat ".to_owned() + &"*".repeat(3_000),
        "((x)); rm y; ".repeat(1_500),
        "( ( ".repeat(3_000) + "rm -rf ~",
        nested("$((a[$(", ")]))", 1_500),
        "`rm $((x))`".repeat(1_500),
        "a=$a$a$b; b=$a$b; ".repeat(1_000) + "rm $a",
        "a=x$a; ".repeat(10) + &"rm $a$a$a$a ".repeat(1_000),
        format!("a=({}); rm {}", "x ".repeat(3_000), "$a ".repeat(3_000)),
        format!("a={}; b={a}; c={a}; rm {}", "x".repeat(1_000), "$c$b ".repeat(900), a = "$a$b$c".repeat(10)),
        "`rm $(echo a b)`".repeat(1_000),
    ];
    let rules = permissions(&[("bash(*a*b*c*d *)", Verdict::Deny), ("read(**/x)", Verdict::Ask)]);
    let work = move || {
        for text in &hostile {
            let start = clock_gettime(ClockId::ThreadCPUTime);
            let shown: String = text.chars().take(20).collect();
            command(&rules, PermissionMode::Ask, text);
            // Of this thread alone: the machine may be busy. Fifty times the limit for a release build, as this is a
            // build without optimisation.
            let taken = clock_gettime(ClockId::ThreadCPUTime) - start;
            assert!(taken.tv_sec * 1_000 + taken.tv_nsec / 1_000_000 < 2_500, "{shown} took {taken:?}");
        }
    };
    // The same size as the stacks of the threads that run the agent.
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}
