//! Tab completes paths: the real program in a terminal.

use crate::screen::{Screen, composer};

const FILES: &str = "export TERM=xterm-256color
mkdir -p src 'a folder' deep/er
touch src/parser.rs src/parse_all.rs notes.txt 'a folder/b;c' deep/er/x .hidden ~/elsewhere.md
echo 'from notes' > notes.txt";

fn started() -> Screen {
    Screen::prepared(FILES, "", 120, 24)
}

#[test]
fn a_single_path_is_inserted() {
    let screen = started();
    let work = screen.home().join("work");
    let absolute = work.join("notes.txt").display().to_string();
    let cases = [
        ("see no", "see notes.txt"),
        ("see ./no", "see ./notes.txt"),
        ("see (`no", "see (`notes.txt"),
        ("see de", "see deep/"),
        ("see .hi", "see .hidden"),
        ("see ~/els", "see ~/elsewhere.md"),
        (&format!("see {}", &absolute[..absolute.len() - 5]), &format!("see {absolute}")),
    ];
    for (typed, completed) in cases {
        screen.type_keys(typed);
        screen.wait_for_composer(typed);
        screen.type_keys("\t");
        screen.wait_for_composer(completed);
        // A folder can be completed further; after a file the next word begins.
        screen.type_keys("|");
        let next = if completed.ends_with('/') { "|" } else { " |" };
        screen.wait_for_composer(&format!("{completed}{next}"));
        screen.type_keys("\x03");
        screen.wait_for("cleared");
    }
}

#[test]
fn several_paths_are_listed_until_one_is_chosen_or_the_text_changes() {
    let screen = started();
    screen.type_keys("see src/pa\t");
    screen.wait_for_composer("see src/parse");
    let both = |cells: &vt100::Screen| {
        let text = cells.contents();
        text.contains("  src/parse_all.rs") && text.contains("  src/parser.rs")
    };
    screen.wait_until("both paths", both);
    screen.type_keys("\t");
    screen.wait_for_composer("see src/parse_all.rs");
    screen.wait_until("no list", |cells| !cells.contents().contains("  src/parser.rs"));
    screen.type_keys("and src/pa\t");
    screen.wait_until("both paths again", both);
    screen.type_keys("\x1b[B\r");
    screen.wait_for_composer("see src/parse_all.rs and src/parser.rs");
    screen.type_keys("src/pa\t");
    screen.wait_until("both paths a third time", both);
    screen.type_keys("x");
    screen.wait_until("no list after typing", |cells| !both(cells));
    screen.wait_for_composer("see src/parse_all.rs and src/parser.rs src/parsex");
}

#[test]
fn paths_in_commands_are_one_word_for_the_shell() {
    let screen = started();
    screen.type_keys("!cat no\t");
    screen.wait_for_composer("!cat notes.txt");
    screen.type_keys("\r");
    screen.wait_for("from notes");
    screen.type_keys("!ls a\t");
    screen.wait_for_composer("!ls a\\ folder/");
    screen.type_keys("\t");
    screen.wait_for_composer("!ls a\\ folder/b\\;c");
    screen.type_keys("\x03!!ls>deep/\t");
    screen.wait_for_composer("!!ls>deep/er/");
    screen.type_keys("\x03!cat \t");
    screen.wait_until("the whole folder", |cells| {
        ["  a folder/", "  deep/", "  notes.txt", "  src/"].iter().all(|row| cells.contents().contains(row))
    });
}

#[test]
fn a_path_in_quotes_or_from_the_home_folder_is_completed_as_it_is_begun() {
    let screen = started();
    for (typed, completed) in [
        ("!cat \"a fol", "!cat \"a folder/"),
        ("!cat \"a folder/b", "!cat \"a folder/b;c\""),
        ("!cat 'a folder/b", "!cat 'a folder/b;c'"),
        ("!cat $HOME/els", "!cat $HOME/elsewhere.md"),
        ("!cat \"${HOME}/els", "!cat \"${HOME}/elsewhere.md\""),
    ] {
        screen.type_keys(typed);
        screen.wait_for_composer(typed);
        screen.type_keys("\t");
        screen.wait_for_composer(completed);
        screen.type_keys("\x03");
        screen.wait_for("cleared");
    }
    screen.type_keys("!cat $HOME/zzz\t");
    screen.wait_for("no path starts with $HOME/zzz");
    // In a prompt a completed folder with a space is one word.
    screen.type_keys("\x03see a\t");
    screen.wait_for_composer("see a folder/");
    screen.type_keys("\t");
    screen.wait_for_composer("see a folder/b;c");
}

/// Enter sends what is typed in full, Tab looks into a folder.
#[test]
fn a_message_that_ends_with_a_folder_is_sent() {
    let screen = started();
    for (at, folder) in ["src/", "deep/", "a folder/"].into_iter().enumerate() {
        screen.type_keys(&format!("look {at} @{}", folder.trim_end_matches('/').replace(' ', "")));
        screen.wait_for(&format!("  {folder}"));
        screen.type_keys("\t");
        let sent = format!("look {at} @{folder}");
        screen.wait_for_composer(&sent);
        screen.wait_for(&format!("  {folder}"));
        screen.type_keys("\r");
        screen.wait_for(&format!("▌ {sent}"));
    }
    screen.type_keys("fix @notes.txt");
    screen.wait_for("  notes.txt");
    screen.type_keys("\r");
    screen.wait_for("▌ fix @notes.txt");
    screen.type_keys("see @deep");
    screen.wait_for("  deep/");
    screen.type_keys("\t");
    screen.wait_for_composer("see @deep/");
    screen.wait_for("  deep/er/");
    screen.type_keys("\t\t");
    screen.wait_for_composer("see @deep/er/");
}

/// The argument of a command of tau is one of its values, not a path.
#[test]
fn values_of_commands_are_completed() {
    let screen = Screen::prepared(&format!("{FILES}; mkdir -p data planning high anthology"), "", 120, 24);
    for (typed, completed) in [
        ("/theme da", "/theme dark"),
        ("/mode pl", "/mode plan"),
        ("/thinking hi", "/thinking high"),
        ("/effort hi", "/effort high"),
        ("/login anth", "/login anthropic"),
        ("/model dem", "/model demo/demo"),
    ] {
        screen.type_keys(typed);
        screen.wait_for_composer(typed);
        screen.type_keys("\t");
        screen.wait_for_composer(completed);
        screen.type_keys("\x03");
        screen.wait_until("an empty composer", |cells| {
            composer(cells).is_some_and(|text| text.starts_with("ask for something"))
        });
    }
    screen.type_keys("/theme sr\t");
    screen.wait_for("nothing to choose here starts with sr");
    screen.wait_for_composer("/theme sr");
}

#[test]
fn a_path_that_does_not_exist_is_said_to() {
    let screen = started();
    screen.type_keys("see src/zzz\t");
    screen.wait_for("no path starts with src/zzz");
    screen.wait_for_composer("see src/zzz");
}

/// Hidden files that git tracks, hidden or ignored files named explicitly, and files elsewhere.
#[test]
fn files_are_offered_behind_at_wherever_they_are() {
    let script = "git init -q . && mkdir -p .github/workflows target/debug ../beside
touch .github/workflows/ci.yml .github/notes main.rs target/debug/out ../beside/plan.md ~/own.md
printf 'target/\\n.env\\n' >.gitignore; touch .env $(printf 'cafe\\314\\201.txt')
git add .github/workflows .gitignore main.rs";
    let screen = Screen::prepared(script, "", 100, 30);
    let outside = format!("@{}/beside/pl", screen.home().display());
    for (typed, offered) in [
        ("@ci.y", ".github/workflows/ci.yml"),
        ("@.gith", ".github/"),
        ("@.github/n", ".github/notes"),
        ("@.en", ".env"),
        ("@target/d", "target/debug/"),
        ("@../be", "../beside/"),
        ("@../beside/", "../beside/plan.md"),
        ("@~/ow", "~/own.md"),
        (&outside, "beside/plan.md"),
        ("@caf\u{e9}", "cafe\u{301}.txt"),
    ] {
        screen.type_keys(typed);
        screen.wait_until(offered, |cells| {
            cells.contents().lines().any(|row| row.trim_end().ends_with(offered) && !row.starts_with("> "))
        });
        screen.type_keys("\t");
        let written = |cells: &vt100::Screen| composer(cells).is_some_and(|text| text.contains(offered));
        screen.wait_until("the path in the composer", written);
        screen.type_keys("\x03");
        screen.wait_until("an empty composer", |cells| {
            composer(cells).is_some_and(|text| text.starts_with("ask for something"))
        });
    }
    // Ignored or hidden files are not offered unless named.
    screen.type_keys("@");
    screen.wait_for("main.rs");
    let shown = screen.text();
    assert!(!shown.contains("target") && !shown.contains(".env") && !shown.contains("notes"), "{shown}");
}

/// Files that a rule denies are not offered after `@`.
#[test]
fn denied_files_are_not_offered() {
    let rules = "mkdir -p $TAU_HOME keys; touch sealed.txt seen.txt keys/seed.txt
printf '[permissions]\\ndeny = [\"read(sealed.txt)\", \"read(keys/**)\"]\\n' >$TAU_HOME/config.toml";
    let screen = Screen::prepared(rules, "", 120, 24);
    screen.type_keys("@se");
    screen.wait_for("seen.txt");
    let shown = screen.text();
    assert!(!shown.contains("sealed.txt") && !shown.contains("seed.txt"), "{shown}");
}

#[test]
fn a_file_in_a_folder_with_a_blank_is_completed_after_an_at_sign() {
    let screen = started();
    screen.type_keys("see @afolder");
    screen.wait_for("a folder/");
    screen.type_keys("\t");
    screen.wait_for_composer("see @a folder/");
    screen.type_keys("b");
    screen.wait_for("  a folder/b;c");
    screen.type_keys("\t");
    screen.wait_for_composer("see @a folder/b;c");
}
