//! The appearance of prompts.

use super::*;
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::TaskEvent;

#[test]
fn a_command() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    frames(&mut screen, "approval-command");
    crate::harness::frame(&mut screen, "approval-command", 30, 16);
    // The subject is on the screen once, with the rows for the reason and the choices.
    for (width, height) in [(30, 16), (40, 12), (80, 24), (120, 40)] {
        screen.send(Msg::Resized(Size { width, height }));
        let shown = text(&screen.draw());
        assert_eq!(shown.matches("rm -rf").count(), 1, "{shown}");
        has(&mut screen, &["$ cd /tmp && rm -rf build", "Run this command?", "removes files"]);
        assert!(!shown.contains("sandbox") && shown.matches("waiting for you").count() < 2, "{shown}");
    }
    // A user who scrolls away still sees the subject.
    screen.send(Msg::Resized(Size { width: 80, height: 16 }));
    (0..40).for_each(|n| screen.user(&format!("message {n}")));
    also(&mut screen, command_request("c2", "make clean", (0, 4)));
    screen.keys("<right><pageup><pageup>");
    let shown = text(&screen.draw());
    assert!(shown.contains("$ make clean"), "{shown}");
    has(&mut screen, &["Run this command?  bash  make clean"]);
}

#[test]
fn a_change_with_a_hunk_that_is_not_applied() {
    let mut screen = waiting(change_request("c1", change(3)));
    screen.keys("<tab> ");
    frames(&mut screen, "approval-change");
}

#[test]
fn a_rule() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("a3<tab>");
    let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Agent(AgentCommand::Task(TaskCommand::Query { ticket, .. })) => Some(ticket),
        _ => None,
    });
    let titles = QueryAnswer::Titles(vec!["rm -rf build".into(), "rm -rf build && make".into()]);
    screen.agent(TaskEvent::Answered { ticket: ticket.unwrap(), answer: Ok(titles) });
    frames(&mut screen, "approval-rule");
}

#[test]
fn what_always_means() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("a");
    let first = shown(&mut screen);
    assert!(first.contains("in this session") && !first.contains("for: "), "{first}");
    screen.keys("<down>");
    frames(&mut screen, "approval-always");
}

#[test]
fn a_reason() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("nuse `cargo clean` instead, it knows what belongs to the build");
    frames(&mut screen, "approval-reason");
}

#[test]
fn another_command_is_typed() {
    let mut screen = waiting(command_request("c1", COMMAND, (11, 26)));
    screen.keys("e");
    frames(&mut screen, "approval-edit");
}

#[test]
fn a_change_in_the_editor() {
    let mut screen = waiting(change_request("c1", change(1)));
    screen.keys("e");
    frames(&mut screen, "approval-editor");
}

#[test]
fn several_calls() {
    let mut screen = waiting(command_request("c1", "rm one", (0, 2)));
    also(&mut screen, change_request("c2", change(2)));
    also(&mut screen, command_request("c3", "rm three", (0, 2)));
    screen.keys("<right>");
    frames(&mut screen, "approval-list");
    // One cursor only: neither the list of calls nor the hunks have one of their own.
    for (width, height) in [(40, 12), (80, 24), (120, 40)] {
        screen.send(Msg::Resized(Size { width, height }));
        let shown = text(&screen.draw());
        assert!(shown.matches('›').count() <= 1, "{shown}");
    }
}

#[test]
fn a_command_longer_than_the_screen() {
    let script: String = (1..60).map(|n| format!("echo line {n}\n")).collect();
    let mut screen = waiting(command_request("c1", &script, (0, 11)));
    frames(&mut screen, "approval-long");
    // No part of a command is omitted without saying so, wherever it is wrapped.
    let long = "rm -rf build && git status && ".repeat(9) + "make install";
    let mut low = waiting(command_request("c1", &long, (0, 12)));
    low.send(Msg::Resized(Size { width: 40, height: 12 }));
    has(&mut low, &["Run this command?", "$ rm -rf build", "more row", "1 Yes, once"]);
    screen.keys("<pagedown>");
    has(&mut screen, &["echo line 25", "1 Yes, once"]);
}

/// In a small window the reasons share a row, which counts those that do not fit.
#[test]
fn reasons_that_do_not_fit_are_counted() {
    let why = |n: usize| ApprovalReason { text: format!("reason number {n}"), ..ApprovalReason::default() };
    let request =
        ApprovalRequest { reasons: (1..=7).map(why).collect(), ..command_request("c1", "rm x", (0, 2)) };
    let mut screen = waiting(request);
    screen.send(Msg::Resized(Size { width: 40, height: 12 }));
    has(&mut screen, &["! reason number 1 · 6 more"]);
    let long = ApprovalReason { text: "it writes what nobody knows ".repeat(9), ..ApprovalReason::default() };
    let request = ApprovalRequest { reasons: vec![long, why(2)], ..command_request("c1", "rm x", (0, 2)) };
    let mut screen = waiting(request);
    screen.send(Msg::Resized(Size { width: 40, height: 12 }));
    has(&mut screen, &["! it writes", "… · 1 more"]);
}

/// The rows of a frame that show the subject: they start with the bar, above the prompt.
fn subject(screen: &mut Screen) -> Vec<String> {
    let shown = text(&screen.draw());
    let rows = shown.lines().take_while(|row| !row.contains("Run this command?"));
    rows.filter(|row| row.starts_with("┃ ")).map(str::to_owned).collect()
}

#[test]
fn the_subject_comes_first() {
    // Sixteen rows at 80x24, whatever is beside them.
    let lines: String = (1..=16).map(|n| format!("echo {n}\n")).collect();
    let why = |text: &str| ApprovalReason { text: text.into(), ..ApprovalReason::default() };
    let reasons = vec![why("removes files"), why(&"it writes what nobody knows ".repeat(9))];
    for drafted in ["", "one\ntwo\nthree\nfour"] {
        for others in [0, 4] {
            let mut screen = Screen::new();
            screen.run();
            screen.send(Msg::Paste(drafted.into()));
            let request = command_request("c1", lines.trim_end(), (0, 6));
            also(
                &mut screen,
                ApprovalRequest { reasons: reasons.clone(), sandbox: "workspace-write".into(), ..request },
            );
            for other in 0..others {
                also(&mut screen, command_request(&format!("d{other}"), "make", (0, 4)));
            }
            pause(&mut screen);
            assert_eq!(subject(&mut screen).len(), 16, "{}", text(&screen.draw()));
            has(&mut screen, &["! removes files · it writes", "› 1 Yes, once"]);
        }
    }
    // At 40x12 half of the rows, even if it is longer.
    for count in [6, 16, 400] {
        let lines: String = (1..=count).map(|n| format!("echo {n}\n")).collect();
        let request = command_request("c1", lines.trim_end(), (0, 6));
        let mut screen = waiting(ApprovalRequest { reasons: reasons.clone(), ..request });
        also(&mut screen, command_request("c2", "make", (0, 4)));
        screen.send(Msg::Resized(Size { width: 40, height: 12 }));
        pause(&mut screen);
        assert!(subject(&mut screen).len() >= 6, "{}", text(&screen.draw()));
        has(&mut screen, &["echo 1", "› 1 Yes, once"]);
    }
}

#[test]
fn what_is_the_reason_is_not_among_the_hidden_rows() {
    let lines: Vec<String> = (1..=200).map(|n| format!("echo {n}")).collect();
    for (width, height) in [(80, 24), (40, 12), (120, 40)] {
        for marked in [[0, 199], [7, 150], [60, 61], [198, 199]] {
            let mut lines = lines.clone();
            marked.iter().for_each(|at| lines[*at] = format!("rm -rf mark{at}x"));
            let command = lines.join("\n");
            let span = |at: usize| {
                let name = format!("rm -rf mark{at}x");
                let from = command.find(&name).unwrap();
                let span = Some((from, from + name.len()));
                ApprovalReason { text: "removes files".into(), span, ..ApprovalReason::default() }
            };
            let reasons = marked.iter().map(|at| span(*at)).collect();
            let mut screen = waiting(ApprovalRequest { reasons, ..command_request("c1", &command, (0, 1)) });
            screen.send(Msg::Resized(Size { width, height }));
            for at in marked {
                has(&mut screen, &[&format!("rm -rf mark{at}x"), "more row"]);
            }
            // Its end is visible, and yet it was not seen as a whole.
            screen.keys("y");
            assert_eq!(answers(&mut screen), []);
        }
    }
}

/// A reader who scrolls up keeps reading there, above a question of which the subject has half of the rows.
#[test]
fn the_subject_has_half_of_a_small_screen_for_a_reader_too() {
    let lines: Vec<String> = (1..=16).map(|n| format!("echo {n}")).collect();
    let command = format!("{}\nrm -rf x\n{}", lines.join("\n"), lines.join("\n"));
    let at = command.find("rm -rf x").unwrap();
    let mut screen = Screen::new();
    screen.run();
    (0..30).for_each(|n| screen.user(&format!("message {n}")));
    screen.send(Msg::Resized(Size { width: 40, height: 12 }));
    also(&mut screen, command_request("c1", &command, (at, at + 8)));
    pause(&mut screen);
    let mut read = String::new();
    for _ in 0..40 {
        screen.keys("<pageup>");
        let shown = text(&screen.draw());
        let is_reading = shown.starts_with("▌ message");
        read.push_str(shown.lines().next().unwrap());
        // Until then the command itself is scrolled through.
        if is_reading {
            assert!(subject(&mut screen).len() >= 6, "{shown}");
            has(&mut screen, &["$ echo 1", "rm -rf x", "› 1 Yes, once", "more row"]);
        } else {
            assert!(subject(&mut screen).len() >= 5, "{shown}");
        }
    }
    for n in 10..29 {
        assert!(read.contains(&format!("message {n}")), "{n} is skipped: {read}");
    }
}

/// Parts of a command that are asked for one reason name it once.
#[test]
fn a_reason_of_several_parts_is_shown_once() {
    let touches = |span| ApprovalReason {
        text: "touch may change something".into(),
        span: Some(span),
        ..ApprovalReason::default()
    };
    let request = command_request("c1", "touch a && touch b", (0, 7));
    let reasons = vec![touches((0, 7)), touches((11, 18))];
    let mut screen = waiting(ApprovalRequest { reasons, ..request });
    let shown = text(&screen.draw());
    assert_eq!(shown.matches("touch may change something").count(), 1, "{shown}");
}

/// The note about hidden rows names the key that shows them, and no row is skipped by it.
#[test]
fn a_page_of_a_long_command_follows_the_page_before() {
    let lines: Vec<String> = (1..=60).map(|n| format!("echo number {n};")).collect();
    for (width, height) in [(80, 24), (40, 12), (120, 40)] {
        let mut screen = Screen::new();
        screen.run();
        (0..3).for_each(|n| screen.user(&format!("message {n}")));
        also(&mut screen, command_request("c1", &lines.join("\n"), (0, 1)));
        screen.send(Msg::Resized(Size { width, height }));
        pause(&mut screen);
        has(&mut screen, &[if width > 40 { "more rows: pagedown" } else { "more rows" }]);
        let mut seen = String::new();
        for _ in 0..60 {
            seen.push_str(&text(&screen.draw()));
            screen.keys("<pagedown>");
        }
        for line in &lines {
            assert!(seen.contains(line.as_str()), "{line} is never shown at {width}x{height}");
        }
    }
}

/// Every row of a command is in sight or counted, also if most of them are reasons for the question.
#[test]
fn the_first_row_stays_and_the_others_are_counted() {
    let lines: Vec<String> = (1..=15).map(|n| format!("echo {n} >out{n}")).collect();
    let command = format!("set -e\n{}", lines.join("\n"));
    let starts = lines.iter().map(|line| command.find(line.as_str()).unwrap());
    let reasons = starts.zip(&lines).map(|(at, line)| ApprovalReason {
        text: "it writes".into(),
        span: Some((at, at + line.len())),
        ..ApprovalReason::default()
    });
    let reasons: Vec<ApprovalReason> = reasons.collect();
    for height in 8..=24 {
        let request = ApprovalRequest { reasons: reasons.clone(), ..command_request("c1", &command, (0, 1)) };
        let mut screen = waiting(request);
        screen.send(Msg::Resized(Size { width: 40, height }));
        let shown = text(&screen.draw());
        assert!(shown.contains("$ set -e"), "{shown}");
        let is_seen = |line: &&String| {
            shown.lines().any(|row| {
                let row = row.split('⋯').next().unwrap().trim_end_matches(['│', '┃', ' ']);
                row == format!("┃   {line}")
            })
        };
        let seen = lines.iter().filter(is_seen).count() + 1;
        let counts =
            shown.split('⋯').skip(1).filter_map(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
        assert_eq!(seen + counts.sum::<usize>(), 16, "{height}: {shown}");
    }
}

/// A gap is counted and named even if no row beside it has free cells, and paging shows what it stands for.
#[test]
fn no_row_is_left_out_without_a_mark() {
    let wide = format!("echo '{}' > 出力.txt && rm -rf '{}'", "漢字テスト".repeat(40), "あ".repeat(30));
    let twice = |c: &str, count: usize| format!("echo '{0}' && touch zz && echo '{0}'", c.repeat(count));
    let words: Vec<String> = (0..90).map(|n| format!("word{n}")).collect();
    let commands = [
        (wide, "rm -rf '"),
        (twice("漢", 150), "touch zz"),
        (twice("字", 500), "touch zz"),
        (twice("x", 900), "touch zz"),
        (format!("echo '{}' > out.txt && rm -rf zzz", words.join(" ")), "rm -rf zzz"),
    ];
    for (command, why) in commands {
        let at = command.find(why).unwrap();
        for (width, height) in [(40, 12), (80, 24), (40, 10), (60, 14)] {
            let waiting_at = |height: u16| {
                let mut screen = Screen::new();
                screen.send(Msg::Resized(Size { width, height }));
                screen.run();
                also(&mut screen, command_request("c1", &command, (at, at + why.len())));
                pause(&mut screen);
                screen
            };
            let all = subject(&mut waiting_at(200));
            let mut screen = waiting_at(height);
            for key in ["", "y"] {
                screen.keys(key);
                let (mut rows, mut left_out) = (0, 0);
                let shown = text(&screen.draw());
                for row in shown.lines().filter(|row| row.starts_with("┃ ")) {
                    let (before, mark) = row.split_once('⋯').unwrap_or((row, ""));
                    let before = before.trim_end_matches(['│', '┃', ' ']);
                    rows += usize::from(all.iter().any(|row| row.starts_with(before)) && !before.is_empty());
                    if !mark.is_empty() {
                        assert!(mark.contains(" more row"), "{shown}");
                        left_out += mark.split_whitespace().next().unwrap().parse::<usize>().unwrap();
                    }
                }
                assert_eq!(rows + left_out, all.len(), "{width}x{height} after {key:?}: {shown}");
                // What was seen whole is allowed by one key.
                if left_out == 0 {
                    break;
                }
            }
            screen.keys("<esc>");
            let mut screen = waiting_at(height);
            let (mut read, mut before) = (String::new(), String::new());
            loop {
                let shown = text(&screen.draw());
                if shown == before {
                    break;
                }
                read.push_str(&shown);
                before = shown;
                screen.keys("<pagedown>");
            }
            for row in all {
                assert!(
                    read.contains(row.trim_end_matches(['│', '┃', ' '])),
                    "{row} is never shown at {width}x{height}"
                );
            }
        }
    }
}

/// The mark of what is above a selected hunk names the way there.
#[test]
fn what_is_above_a_selected_hunk_is_said_to_be_above() {
    let mut screen = waiting(change_request("c1", change(12)));
    screen.keys("<tab><tab><tab><tab><tab><tab>");
    has(&mut screen, &["rows above: pageup"]);
}

/// The mark for omitted rows never covers keys.
#[test]
fn the_mark_of_what_does_not_fit_covers_no_key() {
    let command = (0..9).map(|line| format!("echo line {line}")).collect::<Vec<_>>().join("\n");
    let mut marked = 0;
    for (width, height) in (16..=60).step_by(4).flat_map(|width| (4..=16).map(move |height| (width, height)))
    {
        let mut screen = waiting(command_request("c1", &command, (0, 4)));
        screen.send(Msg::Resized(Size { width, height }));
        let shown = text(&screen.draw());
        if !shown.contains(" \u{22ef} ") {
            continue;
        }
        marked += 1;
        // The choices are visible from the first on, in words or by their letters.
        for (first, others) in [("› 1 Yes", ["2 Always", "3 Edit", "4 No"]), ("› y", ["  a", "  e", "  n"])]
        {
            let Some(at) = shown.find(first) else { continue };
            for choice in others {
                assert!(shown[at..].contains(choice), "{width}x{height}: {choice} is covered: {shown}");
            }
        }
    }
    assert!(marked > 10, "{marked}");
}
