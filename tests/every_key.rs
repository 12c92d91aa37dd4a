//! Every row of the table of actions, pressed in a terminal: each default key does what the row says.
//!
//! A case is an arm of [`check`], so the compiler requires one for every new action.

use tau::app::action::{Action, TABLE};
use tau::app::key::{Key, KeyCode};

use crate::screen::{Screen, composer};

mod keyboard;
mod panels;

/// The number of parts into which the actions are divided among parallel tests.
const SHARES: usize = 4;

/// The demo at full speed.
const FAST: &str = "export TAU_DEMO_SPEED=max";
/// An API key that is never used, so that there are models with thinking levels to choose from.
const KEYED: &str = "export ANTHROPIC_API_KEY=unused";
const HAIKU: &str = "--model anthropic/claude-haiku-4-5 --thinking low";

#[test]
fn keys_do_what_their_rows_say_1() {
    press_share(0);
}

#[test]
fn keys_do_what_their_rows_say_2() {
    press_share(1);
}

#[test]
fn keys_do_what_their_rows_say_3() {
    press_share(2);
}

#[test]
fn keys_do_what_their_rows_say_4() {
    press_share(3);
}

fn press_share(share: usize) {
    for row in TABLE.iter().skip(share).step_by(SHARES) {
        assert!(!row.keys.is_empty(), "{}: a case presses its keys", row.name);
        for key in row.keys {
            eprintln!("{} with {key}", row.name);
            check(row.action, &sent_for(key));
        }
    }
}

/// The bytes that a terminal sends for a key: the common ones if they exist, otherwise the kitty protocol's.
fn sent_for(key: &str) -> String {
    if let Some((leader, second)) = key.split_once(' ') {
        return sent_for(leader) + &sent_for(second);
    }
    let Key { code, .. } = key.parse().unwrap();
    let held = |name: &str, value: u8| if key.contains(name) { value } else { 0 };
    let number = 1 + held("shift+", 1) + held("alt+", 2) + held("ctrl+", 4);
    let letter = |end: char| match number {
        1 => format!("\x1b[{end}"),
        number => format!("\x1b[1;{number}{end}"),
    };
    let tilde = |code: u8| match number {
        1 => format!("\x1b[{code}~"),
        number => format!("\x1b[{code};{number}~"),
    };
    let unicode = |code: u32| format!("\x1b[{code};{number}u");
    match (code, number) {
        (KeyCode::Char(c @ ('a'..='z' | ']' | '_')), 5) => char::from(c as u8 & 0x1f).to_string(),
        (KeyCode::Char(c @ 'a'..='z'), 3) => format!("\x1b{c}"),
        (KeyCode::Char(c), _) => unicode(u32::from(c)),
        (KeyCode::Enter, 1) => "\r".into(),
        (KeyCode::Enter, _) => unicode(13),
        (KeyCode::Esc, _) => "\x1b".into(),
        (KeyCode::Tab, 1) => "\t".into(),
        (KeyCode::Tab, _) => "\x1b[Z".into(),
        (KeyCode::Backspace, 1) => "\x7f".into(),
        (KeyCode::Backspace, _) => unicode(127),
        (KeyCode::Up, _) => letter('A'),
        (KeyCode::Down, _) => letter('B'),
        (KeyCode::Right, _) => letter('C'),
        (KeyCode::Left, _) => letter('D'),
        (KeyCode::Home, _) => letter('H'),
        (KeyCode::End, _) => letter('F'),
        (KeyCode::Insert, _) => tilde(2),
        (KeyCode::Delete, _) => tilde(3),
        (KeyCode::PageUp, _) => tilde(5),
        (KeyCode::PageDown, _) => tilde(6),
        (KeyCode::F(n @ 1..=4), 1) => format!("\x1bO{}", char::from(b'O' + n)),
        (KeyCode::F(_), _) => panic!("{key}: no action has such a key yet"),
    }
}

/// Presses the key of an action where it applies, and waits for its effect.
fn check(action: Action, key: &str) {
    match action {
        Action::Send | Action::FollowUp | Action::EditQueue | Action::Cancel => running(action, key),
        Action::FoldPlan => {
            let screen = Screen::start(&[], 100, 24);
            screen.wait_for("ask for something");
            screen.type_keys(key);
            screen.wait_for("no plan was accepted in this session");
        }
        Action::Clear | Action::Exit | Action::Suspend => leaving(action, key),
        Action::Background => crate::live::left_running(key),
        Action::Board | Action::Jobs | Action::MoveToBackground => keyboard::running(action, key),
        Action::Answer | Action::Mode => keyboard::permissions(action, key),
        Action::GiveKeyboard | Action::TakeKeyboard => keyboard::keyboard(action, key),
        Action::Undo
        | Action::Redo
        | Action::Yank
        | Action::NewLine
        | Action::KillToEnd
        | Action::KillToStart
        | Action::KillWordBack
        | Action::KillWordForward
        | Action::DeleteBack
        | Action::DeleteForward
        | Action::WordLeft
        | Action::WordRight
        | Action::LineStart
        | Action::LineEnd => editing(action, key),
        Action::Editor
        | Action::Complete
        | Action::Stash
        | Action::Paste
        | Action::HistorySearch
        | Action::HistoryPrevious
        | Action::HistoryNext => composing(action, key),
        Action::Models | Action::Thinking | Action::NextModel | Action::PreviousModel => models(action, key),
        Action::ToggleTools
        | Action::ToggleThinking
        | Action::ToggleDiff
        | Action::CopyAnswer
        | Action::Palette
        | Action::Help => showing(action, key),
        Action::SelectPanel
        | Action::PanelUp
        | Action::PanelDown
        | Action::PanelFold
        | Action::PanelCopy
        | Action::PanelCopyCommand
        | Action::PanelOpen
        | Action::PanelReveal
        | Action::PanelRerun
        | Action::PanelLeave => panels::check(action, key),
        Action::Find => finding(key),
        Action::PreviousPrompt | Action::NextPrompt => prompts(action, key),
        Action::PageUp | Action::PageDown | Action::RowUp | Action::RowDown | Action::Top | Action::Tail => {
            scrolling(action, key);
        }
    }
}

fn wait_for_both(screen: &Screen, shown: &str, gone: &str) {
    screen.wait_until(&format!("{shown:?} without {gone:?}"), |cells| {
        let text = cells.contents();
        text.contains(shown) && !text.contains(gone)
    });
}

/// A demo that is working on its slow answer.
fn at_work() -> Screen {
    let screen = Screen::prepared("", "", 80, 24);
    screen.type_keys("slow\r");
    screen.wait_for("answering");
    screen
}

fn running(action: Action, key: &str) {
    match action {
        Action::Send => {
            let screen = Screen::prepared(FAST, "", 80, 40);
            screen.type_keys("table");
            screen.wait_for_composer("table");
            screen.type_keys(key);
            wait_for_both(&screen, "▌ table", "> table");
            screen.wait_for("A table, from the script");
            let screen = at_work();
            screen.type_keys("turn left");
            screen.type_keys(key);
            screen.wait_for("steer: turn left");
        }
        Action::FollowUp => {
            let screen = at_work();
            screen.type_keys("turn left");
            screen.type_keys(key);
            screen.wait_for("then: turn left");
        }
        Action::EditQueue => {
            let screen = at_work();
            screen.type_keys("turn left\r");
            screen.wait_for("steer: turn left");
            screen.wait_for("alt+up edits");
            screen.type_keys(key);
            screen.wait_for("Queued messages");
            screen.type_keys("\r");
            screen.wait_for_composer("turn left");
            screen.type_keys(" twice\r");
            screen.wait_for("steer: turn left twice");
            // Up in an empty composer, another kind, and gone.
            screen.type_keys("\x1b[A");
            screen.wait_for("Queued messages");
            screen.type_keys("\t\x1b");
            screen.wait_for("then: turn left twice");
            screen.type_keys("\x1b[Ad");
            screen.wait_until("an empty queue", |cells| !cells.contents().contains("twice"));
        }
        Action::Cancel => {
            let screen = at_work();
            screen.type_keys(key);
            screen.wait_until("the end of the run", |cells| !cells.contents().contains("answering"));
            screen.wait_for("ask for something");
            screen.type_keys(key);
            std::thread::sleep(std::time::Duration::from_millis(100));
            screen.type_keys(key);
            screen.wait_for("Session tree");
        }
        other => panic!("{other:?}"),
    }
}

fn leaving(action: Action, key: &str) {
    match action {
        Action::Clear => {
            let mut screen = Screen::prepared("", "", 80, 24);
            screen.type_keys("words");
            screen.wait_for_composer("words");
            screen.type_keys(key);
            wait_for_both(&screen, "cleared", "> words");
            screen.type_keys(key);
            screen.wait_for("press ctrl+c again to quit");
            screen.type_keys(key);
            assert_eq!(screen.wait_exit().code(), Some(0));
        }
        Action::Exit => {
            let mut screen = Screen::prepared("", "", 80, 24);
            screen.type_keys("ab\x1b[H");
            screen.wait_for_composer("ab");
            screen.type_keys(key);
            screen.wait_for_composer("b");
            screen.type_keys("\x7f\x1b[3~");
            screen.wait_for("ask for something");
            screen.type_keys(key);
            assert_eq!(screen.wait_exit().code(), Some(0));
        }
        Action::Suspend => {
            let script = "set -m; \"$TAU_BIN\"; echo is stopped; read answer; fg";
            let screen = Screen::program(std::path::Path::new("/bin/bash"), &["-c", script], 80, 24);
            screen.wait_for("ask for something");
            screen.type_keys(key);
            screen.wait_for("is stopped");
            screen.type_keys("\n");
            screen.wait_for("ask for something");
        }
        other => panic!("{other:?}"),
    }
}

/// Text, preceding keys, and the composer's content after the key and an `X`.
fn editing(action: Action, key: &str) {
    let (text, before, after) = match action {
        Action::Undo => ("one two", "\x17", "one twoX"),
        Action::Redo => ("one two", "\x17\x1f", "one X"),
        Action::Yank => ("one two", "\x17\x1b[H", "twoXone"),
        Action::NewLine => ("one", "", "one\nX"),
        Action::KillToEnd => ("one two", "\x1b[H\x1bf", "oneX"),
        Action::KillToStart => ("one two", "\x1bb", "Xtwo"),
        Action::KillWordBack => ("one two", "", "one X"),
        Action::KillWordForward => ("one two", "\x1b[H", "X two"),
        Action::DeleteBack => ("abc", "", "abX"),
        Action::DeleteForward => ("abc", "\x1b[H", "Xbc"),
        Action::WordLeft => ("one two", "", "one Xtwo"),
        Action::WordRight => ("one two", "\x1b[H", "oneX two"),
        Action::LineStart => ("abc", "", "Xabc"),
        Action::LineEnd => ("abc", "\x1b[H", "abcX"),
        other => panic!("{other:?}"),
    };
    let screen = Screen::prepared("", "", 80, 24);
    screen.type_keys(text);
    screen.wait_for_composer(text);
    screen.type_keys(before);
    screen.type_keys(key);
    screen.type_keys("X");
    screen.wait_for_composer(after);
}

fn composing(action: Action, key: &str) {
    let screen =
        Screen::prepared(&format!("{FAST}\nexport EDITOR='echo edited >'; touch notes.txt"), "", 80, 30);
    let said = |text: &str| {
        screen.type_keys(&format!("{text}\r"));
        screen.wait_for(&format!("▌ {text}"));
        screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
    };
    match action {
        Action::Editor => {
            screen.type_keys("draft");
            screen.wait_for_composer("draft");
            screen.type_keys(key);
            screen.wait_for_composer("edited");
        }
        Action::Complete => {
            for (typed, completed) in
                [("/hotk", "/hotkeys"), ("@notes", "@notes.txt"), ("see no", "see notes.txt")]
            {
                screen.type_keys(typed);
                screen.wait_for_composer(typed);
                // The list of files is loaded asynchronously.
                screen.wait_until("the list", |cells| {
                    !typed.starts_with('@') || cells.contents().contains("  notes.txt")
                });
                screen.type_keys(key);
                screen.wait_for_composer(completed);
                screen.type_keys("\x03");
                screen.wait_for_composer("ask for something, or !command");
            }
            screen.type_keys(key);
            screen.wait_for("nothing to select yet");
        }
        Action::Stash => {
            screen.type_keys("a draft");
            screen.wait_for_composer("a draft");
            screen.type_keys(key);
            screen.wait_for("draft set aside");
            screen.type_keys("between");
            screen.wait_for_composer("between");
            screen.type_keys(&format!("\x15{key}"));
            screen.wait_for_composer("a draft");
        }
        Action::Paste => {
            screen.type_keys(key);
            screen.wait_for("reading the clipboard");
        }
        Action::HistorySearch => {
            said("code");
            screen.type_keys("!echo hi\r");
            screen.wait_for("│ hi");
            screen.type_keys(key);
            screen.wait_for("Earlier prompts");
            screen.wait_until("the note of the command", tells_commands_from_prompts);
            screen.type_keys("cod\r");
            screen.wait_for_composer("code");
        }
        Action::HistoryPrevious => {
            said("table");
            screen.type_keys("two\nrows");
            screen.wait_for_composer("two\nrows");
            screen.type_keys(key);
            screen.type_keys("X");
            screen.wait_for_composer("twoX\nrows");
            screen.type_keys(key);
            screen.wait_for_composer("table");
        }
        Action::HistoryNext => {
            said("table");
            said("code");
            screen.type_keys("\x1b[A");
            screen.wait_for_composer("code");
            screen.type_keys("\x1b[A");
            screen.wait_for_composer("table");
            screen.type_keys(key);
            screen.wait_for_composer("code");
        }
        other => panic!("{other:?}"),
    }
}

/// True if a list has the command `!echo hi` with a note, and the prompt `code` without.
fn tells_commands_from_prompts(cells: &vt100::Screen) -> bool {
    let shown = cells.contents();
    let row = |text: &str| shown.lines().find(|row| row.contains(text)).unwrap_or_default().to_owned();
    row("  !echo hi").contains("command") && !row("  code").contains("command")
}

/// The footer's text about the model.
fn model_of(cells: &vt100::Screen) -> String {
    let last = cells.rows(0, cells.size().1.get()).last().unwrap_or_default();
    last.rsplit("  ").next().unwrap_or_default().trim().trim_end_matches(" · auto").to_owned()
}

fn models(action: Action, key: &str) {
    let screen = Screen::prepared(KEYED, HAIKU, 100, 24);
    screen.wait_for("Claude Haiku 4.5");
    match action {
        Action::Models => {
            screen.type_keys(key);
            // Also before the list has its rows.
            screen.type_keys("claude-opus-4-5\r");
            screen.wait_until("the model that was chosen", |cells| model_of(cells).contains("Opus 4.5"));
        }
        Action::Thinking => {
            screen.wait_until("the first level", |cells| model_of(cells).ends_with("low"));
            screen.type_keys(key);
            screen.wait_until("the next level", |cells| model_of(cells).ends_with("medium"));
        }
        Action::NextModel | Action::PreviousModel => {
            let is_haiku = |cells: &vt100::Screen| model_of(cells).contains("Claude Haiku 4.5 (latest)");
            screen.wait_until("the first model", is_haiku);
            // A favourite to step to.
            screen.type_keys(&sent_for("ctrl+l"));
            screen.type_keys("claude-opus-4-5");
            screen.wait_for("anthropic/claude-opus-4-5-20251101");
            screen.type_keys("\x1b[B\x1b[A ");
            screen.wait_for("★");
            screen.type_keys("\x1b");
            screen.wait_until("no list", |cells| !cells.contents().contains("★") && is_haiku(cells));
            screen.type_keys(key);
            // The remark about a change briefly takes the place of the model.
            let is_remark = |cells: &vt100::Screen| model_of(cells).starts_with("model: ");
            screen.wait_until("another model", |cells| !is_haiku(cells) && !is_remark(cells));
            let other = screen.screen(model_of);
            // Each leads back to where the other came from.
            screen.type_keys(&sent_for(if action == Action::NextModel { "alt+p" } else { "ctrl+p" }));
            screen.wait_until("the first model again", is_haiku);
            screen.type_keys(key);
            screen.wait_until("the same other model", |cells| model_of(cells) == other);
        }
        other => panic!("{other:?}"),
    }
}

fn showing(action: Action, key: &str) {
    let screen = Screen::prepared(FAST, "", 80, 40);
    match action {
        Action::ToggleTools => {
            screen.type_keys("!seq 70\r");
            let folded = |cells: &vt100::Screen| {
                numbers(cells).first() > Some(&40) && numbers(cells).last() == Some(&70)
            };
            screen.wait_until("the last lines", folded);
            screen.type_keys(key);
            screen.type_keys("\x1b[1;5H");
            screen.wait_until("the first lines", |cells| numbers(cells).starts_with(&[1, 2]));
            screen.type_keys(key);
            screen.wait_until("the last lines again", folded);
        }
        Action::ToggleThinking => {
            screen.type_keys("tour\r");
            screen.wait_for("+ Edits so far: 1");
            screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
            screen.type_keys("\x1b[1;5H");
            screen.wait_for("The script begins here");
            screen.type_keys(key);
            wait_for_both(&screen, "to show", "The script begins here");
            screen.type_keys(key);
            screen.wait_for("The script begins here");
        }
        Action::ToggleDiff => {
            screen.type_keys("tour\r");
            screen.wait_for("+ Edits so far: 1");
            screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
            let beside = |cells: &vt100::Screen| {
                let text = cells.contents();
                text.lines()
                    .any(|line| line.contains("- Edits so far: 0") && line.contains("+ Edits so far: 1"))
            };
            screen.wait_until("one column", |cells| !beside(cells));
            screen.type_keys(key);
            screen.wait_until("two columns", beside);
            screen.type_keys(key);
            screen.wait_until("one column", |cells| !beside(cells));
        }
        Action::CopyAnswer => {
            screen.type_keys("code\r");
            screen.wait_for("for file in");
            screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
            screen.type_keys(key);
            screen.wait_for("copied 18 lines · terminal (OSC 52)");
            let copied = screen.copied();
            assert!(copied[0].starts_with("Some code, from the script:\n\n```rust\n"), "{copied:?}");
        }
        Action::Help => {
            screen.type_keys(key);
            screen.wait_for("Keys and commands");
            screen.wait_for("send, or steer");
            screen.type_keys("fg res");
            screen.wait_until("what matches", |cells| {
                let shown = cells.contents();
                shown.contains("(suspend)") && !shown.contains("send, or steer")
            });
        }
        Action::Palette => {
            screen.type_keys(key);
            screen.wait_for("Commands and actions");
            screen.type_keys("tokens, cost");
            screen.wait_until("one row", |cells| cells.contents().contains(" 1/"));
            screen.type_keys("\r");
            screen.wait_until("what the command shows", |cells| {
                let shown = cells.contents();
                !shown.contains("Commands and actions") && shown.contains("written to cache")
            });
            screen.type_keys(key);
            screen.type_keys("suspend");
            screen.wait_for("suspend tau");
            screen.type_keys("\x15toggle-diff\r");
            screen.wait_for("diffs side by side");
        }
        other => panic!("{other:?}"),
    }
}

/// The numbers visible of a long list of them.
fn numbers(cells: &vt100::Screen) -> Vec<u32> {
    let rows = cells.rows(0, cells.size().1.get());
    rows.filter_map(|row| row.strip_prefix("│ ")?.split_whitespace().next()?.parse().ok()).collect()
}

fn scrolling(action: Action, key: &str) {
    let screen = Screen::prepared("", "", 80, 24);
    screen.type_keys("!seq 200\r");
    screen.wait_until("the last line", |cells| numbers(cells).last() == Some(&200));
    // All lines, to scroll in.
    screen.type_keys("\x0f\x1b[1;5H");
    screen.wait_until("the first lines", |cells| numbers(cells).starts_with(&[1, 2]));
    screen.type_keys("\x1b[1;5F");
    screen.wait_until("the end", |cells| numbers(cells).last() == Some(&200));
    let from_top = matches!(action, Action::PageDown | Action::RowDown | Action::Tail);
    if from_top {
        screen.type_keys("\x1b[1;5H");
        screen.wait_until("the start", |cells| numbers(cells).first() == Some(&1));
    }
    let before = screen.screen(numbers);
    let (first, last) = (before[0], before[before.len() - 1]);
    screen.type_keys(key);
    screen.wait_until(&format!("what {action:?} shows"), |cells| {
        let now = numbers(cells);
        let (Some(now_first), Some(now_last)) = (now.first(), now.last()) else { return false };
        let in_order = now.windows(2).all(|pair| pair[1] == pair[0] + 1);
        in_order
            && match action {
                Action::RowUp => *now_first == first - 1,
                // The start scrolls out first: there are rows above the numbers.
                Action::RowDown => *now_last == last + 1,
                // A page leaves some rows in sight.
                Action::PageUp => *now_first < first - 10 && *now_last >= first,
                Action::PageDown => *now_last > last + 10 && *now_first <= last,
                Action::Top => cells.contents().contains("τ tau") && *now_first == 1,
                _ => *now_last == 200,
            }
    });
    // The composer has not moved.
    assert!(screen.screen(composer).is_some());
}

fn finding(key: &str) {
    let screen = Screen::prepared("", "", 80, 24);
    screen.type_keys("!seq 200\r");
    screen.wait_until("the last line", |cells| numbers(cells).last() == Some(&200));
    screen.type_keys(key);
    screen.wait_for("── find ");
    // The number is in the folded part.
    screen.type_keys("117");
    screen.wait_until("what is sought", |cells| numbers(cells).contains(&117));
    screen.wait_for("1 of 1");
    screen.type_keys("\x1b");
    screen.wait_until("the end again", |cells| {
        numbers(cells).last() == Some(&200)
            && composer(cells).as_deref() == Some("ask for something, or !command")
    });
    assert!(!screen.screen(numbers).contains(&117), "it is folded again");
}

fn prompts(action: Action, key: &str) {
    let screen = Screen::prepared(FAST, "", 80, 14);
    for prompt in ["code", "table", "help"] {
        screen.type_keys(&format!("{prompt}\r"));
        screen.wait_for("ask for something");
        let last = [("code", "for file in"), ("table", "and one below it"), ("help", "--base-url.")];
        let (_, end) = last.iter().find(|(name, _)| *name == prompt).unwrap();
        screen.wait_for(end);
        screen.wait_for("ask for something");
    }
    let at_top = |prompt: &str| {
        screen.wait_until(&format!("{prompt} in the first row"), |cells| {
            cells
                .rows(0, 80)
                .next()
                .is_some_and(|row| row.trim_end_matches(['│', '┃', ' ']) == format!("▌ {prompt}"))
        });
    };
    if action == Action::PreviousPrompt {
        for prompt in ["help", "table", "code"] {
            screen.type_keys(key);
            at_top(prompt);
        }
        screen.type_keys(key);
        screen.wait_for("τ tau");
    } else {
        screen.type_keys("\x1b[1;5H");
        screen.wait_for("τ tau");
        for prompt in ["code", "table", "help"] {
            screen.type_keys(key);
            at_top(prompt);
        }
        screen.type_keys(key);
        screen.wait_for("--base-url.");
    }
}
