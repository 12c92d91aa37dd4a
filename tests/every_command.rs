//! Every row of the table of slash commands, typed in a terminal: each does what the row says.
//!
//! A case is an arm of [`check`], so the compiler requires one for every new command.

use tau::app::slash::{Slash, TABLE};

use crate::screen::Screen;

const FAST: &str = "export TAU_DEMO_SPEED=max";
const KEYED: &str = "export ANTHROPIC_API_KEY=unused";
const HAIKU: &str = "--model anthropic/claude-haiku-4-5 --thinking low";

/// The number of parts into which the commands are divided among parallel tests.
const SHARES: usize = 2;

#[test]
fn commands_do_what_their_rows_say_1() {
    type_share(0);
}

#[test]
fn commands_do_what_their_rows_say_2() {
    type_share(1);
}

fn type_share(share: usize) {
    for row in TABLE.iter().skip(share).step_by(SHARES) {
        eprintln!("/{}", row.name);
        check(row.slash, &row.name, !row.arguments.is_empty());
    }
}

/// Types `/name`, then Enter.
fn enter(screen: &Screen, command: &str) {
    screen.type_keys(command);
    screen.wait_for_composer(command);
    screen.type_keys("\r");
}

/// A session in which the demo has answered.
fn said(word: &str) -> Screen {
    let screen = Screen::prepared(FAST, "", 100, 30);
    screen.type_keys(&format!("{word}\r"));
    screen.wait_for(&format!("▌ {word}"));
    screen.wait_for("ask for something");
    screen
}

fn wait_for_file(path: &std::path::Path, text: &str) {
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || std::fs::read_to_string(path).is_ok_and(|found| found.contains(text)),
        || format!("{} does not hold {text:?}", path.display()),
    );
}

/// Types a command where it applies, and waits for its effect; also with an argument, if it takes one.
fn check(command: Slash, name: &str, takes_argument: bool) {
    let typed = format!("/{name}");
    let with = |argument: &str| {
        assert!(takes_argument, "{typed} takes no argument");
        format!("{typed} {argument}")
    };
    match command {
        Slash::Model | Slash::Thinking | Slash::Theme | Slash::Login | Slash::Trust | Slash::Mode => {
            models(command, &typed, with);
        }
        Slash::Resume | Slash::New | Slash::Name | Slash::Tree | Slash::Fork | Slash::Clone => {
            sessions(command, &typed, with);
        }
        Slash::Context | Slash::Compact | Slash::Copy | Slash::Export | Slash::Import | Slash::Session => {
            told(command, &typed, with);
        }
        Slash::Diff | Slash::Undo | Slash::Redo => undo(command, &typed),
        Slash::Logout
        | Slash::Reload
        | Slash::Settings
        | Slash::Keys
        | Slash::Extensions
        | Slash::Permissions => {
            files(command, &typed, with);
        }
        Slash::Prompt | Slash::Vim => {
            panic!("the table has only built-in commands, and those that are listed")
        }
        Slash::Plan => {
            let screen = Screen::prepared("", "", 100, 24);
            enter(&screen, &typed);
            screen.wait_for("no plan was accepted in this session");
        }
        Slash::SideQuestion => {
            let screen = said("table");
            enter(&screen, &typed);
            screen.wait_for("write the question behind it");
            enter(&screen, &with("what is next?"));
            screen.wait_for("Side question");
            screen.wait_for("not part of the conversation · esc closes");
            screen.type_keys("\x1b");
            screen.wait_until("no box", |cells| !cells.contents().contains("Side question"));
        }
        Slash::Goal => {
            let screen = Screen::prepared(FAST, "", 100, 24);
            enter(&screen, &typed);
            screen.wait_for("no goal; /goal COMMAND works until COMMAND succeeds");
            enter(&screen, &with("true"));
            screen.wait_for("the goal is reached after 0 rounds: true succeeded");
        }
        Slash::Jobs => crate::background_jobs::screen::list_opens(&format!("{typed}\r")),
        Slash::Attempts => {
            let screen = Screen::prepared("", "", 100, 24);
            enter(&screen, &typed);
            screen.wait_for("no attempts here; /attempts 3 --until COMMAND TASK begins some");
            screen.type_keys("q");
            screen.wait_until("no list", |cells| !cells.contents().contains("┌ Attempts"));
            enter(&screen, &with("2 go"));
            screen.wait_for("attempts need a command that decides which of them succeed");
        }
        Slash::Worktree => {
            let _ = with("name");
            crate::worktrees::list_opens(&typed);
        }
        Slash::Board => crate::live::board_shows_this_session(&format!("{typed}\r")),
        Slash::Background => crate::live::left_running(&format!("{typed}\r")),
        Slash::Hotkeys | Slash::Help | Slash::Quit => rest(command, &typed),
    }
}

/// Models, appearance, keys, settings.
fn models(command: Slash, typed: &str, with: impl Fn(&str) -> String) {
    match command {
        Slash::Model => {
            let screen = Screen::prepared(KEYED, HAIKU, 100, 24);
            screen.wait_for("Claude Haiku 4.5");
            enter(&screen, typed);
            screen.wait_for("Models");
            screen.type_keys("\x1b");
            screen.wait_until("no list", |cells| !cells.contents().contains("Models"));
            enter(&screen, &with("anthropic/claude-opus-4-5"));
            screen.wait_for("Claude Opus 4.5");
        }
        Slash::Thinking => {
            let screen = Screen::prepared(KEYED, HAIKU, 100, 24);
            screen.wait_for("· low");
            enter(&screen, typed);
            screen.wait_for("Thinking level");
            screen.type_keys("\x1b");
            screen.wait_until("no list", |cells| !cells.contents().contains("Thinking level"));
            enter(&screen, &with("high"));
            screen.wait_for("· high");
        }
        Slash::Theme => {
            let screen = Screen::prepared("", "", 80, 24);
            enter(&screen, typed);
            screen.wait_for("Themes");
            screen.type_keys("\x1b");
            screen.wait_until("no list", |cells| !cells.contents().contains("Themes"));
            enter(&screen, &with("light"));
            wait_for_file(&screen.tau_home().join("config.toml"), "theme = \"light\"");
            std::fs::write(screen.home().join("evening.toml"), "inherits = \"dark\"\n").unwrap();
            enter(&screen, &with("~/evening.toml"));
            wait_for_file(&screen.tau_home().join("config.toml"), "theme = \"~/evening.toml\"");
        }
        Slash::Login => {
            let screen = Screen::prepared("", "", 80, 24);
            enter(&screen, typed);
            screen.wait_for("Log in, or add an API key for");
            screen.type_keys("\x1b");
            screen.wait_until("no list", |cells| !cells.contents().contains("Log in, or add an API key for"));
            enter(&screen, &with("nosuch"));
            screen.wait_for("no provider \"nosuch\"");
            assert!(!screen.text().contains("API key for nosuch"), "{}", screen.text());
            screen.type_keys("\x1b");
            screen.wait_until("no box", |cells| !cells.contents().contains("nosuch"));
            enter(&screen, &with("anthropic"));
            screen.wait_for("API key for anthropic");
            screen.wait_for("enter saves it to auth.json, which only your user can read");
            screen.type_keys("\x1b");
            screen.wait_until("no box", |cells| !cells.contents().contains("API key for anthropic"));
            claude_token(&screen, || enter(&screen, &with("claude")));
            // The same from the list.
            claude_token(&screen, || {
                enter(&screen, typed);
                screen.wait_for("Log in, or add an API key for");
                screen.type_keys("/setup-token");
                screen.wait_for("1/");
                screen.type_keys("\r");
            });
        }
        Slash::Mode => {
            let screen = Screen::prepared("", "", 100, 24);
            screen.wait_for(" · auto");
            enter(&screen, &with("ask"));
            screen.wait_for(" · ask");
            enter(&screen, typed);
            screen.wait_for(" · edits");
        }
        Slash::Trust => {
            let screen = Screen::prepared("", "", 80, 24);
            enter(&screen, typed);
            screen.wait_for("no project settings here");
        }
        other => panic!("{other:?}"),
    }
}

/// Commands that store to the user's files.
fn files(command: Slash, typed: &str, with: impl Fn(&str) -> String) {
    match command {
        Slash::Logout => {
            let auth =
                r#"{"openai":{"type":"api_key","key":"unused"},"anthropic":{"type":"api_key","key":"x"}}"#;
            let script = format!("{KEYED}; mkdir -p $TAU_HOME; echo '{auth}' >$TAU_HOME/auth.json");
            let screen = Screen::prepared(&script, "", 100, 24);
            enter(&screen, typed);
            screen.wait_for("Remove the API key of");
            screen.wait_for("ANTHROPIC_API_KEY also has a key");
            screen.type_keys("anthropic\r");
            screen.wait_for("removed the key for anthropic from auth.json; ANTHROPIC_API_KEY still has one");
            enter(&screen, &with("openai"));
            screen.wait_for("removed the key for openai from auth.json; no other key for it is set");
            wait_for_file(&screen.tau_home().join("auth.json"), "{}");
            enter(&screen, &with("openai"));
            screen.wait_for("no key for openai in auth.json");
        }
        Slash::Settings => settings(typed),
        Slash::Permissions => {
            let screen = Screen::prepared("", "", 80, 24);
            enter(&screen, typed);
            screen.wait_for("Permission rules");
            screen.wait_for("add a rule");
            screen.type_keys("\r");
            screen.wait_for("Add a rule");
            screen.type_keys("bash(make *)");
            screen.wait_for("would have covered no earlier call");
            screen.type_keys("\r");
            screen.wait_for("saved: allow bash(make *)");
            screen.wait_for("this session");
        }
        Slash::Keys => keys(typed),
        Slash::Extensions => {
            let screen = Screen::prepared(KEYED, HAIKU, 100, 24);
            enter(&screen, typed);
            screen.wait_for("● on      init");
        }
        Slash::Reload => {
            let screen = Screen::prepared(KEYED, HAIKU, 100, 30);
            enter(&screen, typed);
            screen.wait_for("reloaded; nothing changes");
            let home = screen.tau_home();
            std::fs::create_dir_all(&home).unwrap();
            let config = "prose_width = 60\ninline = true\ncolour = 1\n[keys]\nhelp = [\"f9\"]\n";
            std::fs::write(home.join("config.toml"), config).unwrap();
            let models = "[vendors.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n[[vendors.mine.models]]\nid = \"tiny\"\n";
            std::fs::write(home.join("models.toml"), models).unwrap();
            std::fs::write(screen.home().join("work/AGENTS.md"), "Say please.").unwrap();
            enter(&screen, typed);
            screen.wait_for("now in effect: prose_width 60, keys, the list of models");
            screen.wait_for("the system prompt from");
            screen.wait_for("restart: inline");
            screen.wait_for("config.toml:3: ");
            enter(&screen, "/model mine/tiny");
            screen.wait_for("tiny");
        }
        other => panic!("{other:?}"),
    }
}

/// Every kind of setting, changed in the list.
fn keys(typed: &str) {
    let config = "# mine\\n[keys] # other keys\\nhelp = [\"f9\"] # far\\n";
    let script = format!("{KEYED}; mkdir -p $TAU_HOME; printf '{config}' >$TAU_HOME/config.toml");
    let screen = Screen::prepared(&script, HAIKU, 100, 46);
    let file = screen.tau_home().join("config.toml");
    enter(&screen, typed);
    screen.wait_for("choose a model");
    // Filtered, a key that is required, one that is in use, one added.
    screen.type_keys("choose a model\r");
    screen.wait_for("press the new key for \"models\"");
    screen.type_keys("q");
    screen.wait_for("q is needed to type");
    screen.type_keys("\x03");
    screen.wait_for("ctrl+c always clears");
    screen.type_keys("\r");
    screen.wait_for("enter is the only key of \"send\"");
    screen.type_keys("\x10");
    screen.wait_for("ctrl+p is the only key of \"next-model\"; take it for \"models\"?");
    screen.type_keys("\x1b");
    screen.wait_for("enter changes");
    screen.type_keys("\r\x1bOQ");
    screen.wait_for("f2 is a key of \"give-keyboard\"; take it for \"models\"?");
    screen.type_keys("a");
    screen.wait_for("ctrl+l, f2");
    screen.wait_for("saved to config.toml");
    wait_for_file(&file, "models = [\"ctrl+l\", \"f2\"]");
    wait_for_file(&file, "give-keyboard = [\"ctrl+x g\"]");
    wait_for_file(&file, "# mine\n[keys] # other keys\nhelp = [\"f9\"] # far\n");
    // It works at once.
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("enter changes"));
    screen.type_keys("\x1bOQ");
    screen.wait_for("Models");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("Models"));
    // Replaced, then reset to the default.
    enter(&screen, typed);
    screen.type_keys("choose a model\r\x1bOR");
    screen.wait_for("f3 is free: give it to \"models\"?");
    screen.type_keys("\r");
    wait_for_file(&file, "models = [\"f3\"]");
    screen.wait_for("saved to config.toml");
    screen.type_keys("\x1b[3~");
    screen.wait_until("the default key", |cells| {
        cells.contents().lines().any(|line| line.contains("choose a model") && line.contains("ctrl+l"))
    });
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(!written.contains("models") && !written.contains("give-keyboard"), "{written}");
}

fn settings(typed: &str) {
    let config = "# mine\nprose_width = 70 # narrow\n\n[keys]\nhelp = [\"f9\"]\n";
    let script = format!(
        "{KEYED}; mkdir -p $TAU_HOME; printf '{config}' >$TAU_HOME/config.toml; export TAU_PROXY=none"
    );
    let screen = Screen::prepared(&script.replace('\n', "\\n"), HAIKU, 100, 40);
    let file = screen.tau_home().join("config.toml");
    enter(&screen, typed);
    screen.wait_for("config.toml:2");
    // A switch, with Down from the first row; then reset to the default.
    let to = |key: &str| {
        let mut shown = tau::agent::settings::table::TABLE.iter().filter(|row| row.columns.in_files);
        let place = shown.position(|row| row.key == key).unwrap();
        screen.type_keys(&format!("\x1b[H{}", "\x1b[B".repeat(place)));
    };
    to("mouse");
    screen.wait_for("leaves the mouse to the terminal");
    screen.type_keys("\r");
    screen.wait_for("saved; now in effect: mouse false");
    wait_for_file(&file, "mouse = false");
    screen.type_keys("\x1b[3~");
    screen.wait_for("reset; now in effect: mouse true");
    // A choice, applied at once.
    to("diff");
    screen.type_keys("\r");
    screen.wait_for("saved; now in effect: diff unified");
    // A number: refused, then accepted.
    to("prose_width");
    screen.wait_for("Widest prose");
    screen.type_keys("\rx\r");
    screen.wait_for("`70x` is not a whole number");
    screen.type_keys("\x7f\x7f5\r");
    screen.wait_for("saved; now in effect: prose_width 75");
    // A setting fixed by something else.
    to("proxy");
    screen.wait_for("TAU_PROXY sets it; a change here is saved but has no effect now");
    to("thinking");
    screen.type_keys("\r");
    screen.wait_for("saved in config.toml, but --thinking sets thinking");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("enter changes"));
    let written = std::fs::read_to_string(&file).unwrap();
    let expected = "# mine\nprose_width = 75 # narrow\ndiff = \"unified\"\nthinking = \"medium\"\n\n[keys]\nhelp = [\"f9\"]\n";
    assert_eq!(written, expected);
}

/// Commands that open, copy and name sessions.
fn sessions(command: Slash, typed: &str, with: impl Fn(&str) -> String) {
    match command {
        Slash::Resume => {
            let screen = said("table");
            enter(&screen, "/new");
            screen.wait_until("a new session", |cells| !cells.contents().contains("▌ table"));
            enter(&screen, typed);
            screen.wait_for("Sessions of this directory");
            screen.wait_for("1/1");
            screen.type_keys("\r");
            screen.wait_for("▌ table");
        }
        Slash::New => {
            let screen = said("table");
            enter(&screen, typed);
            screen.wait_until("a new session", |cells| {
                !cells.contents().contains("▌ table") && cells.contents().contains("τ tau")
            });
        }
        Slash::Name => {
            let screen = said("table");
            enter(&screen, &with("good start"));
            screen.wait_for("work · good start");
            enter(&screen, typed);
            screen.wait_for("this session is named \"good start\"");
        }
        Slash::Tree => {
            let screen = said("table");
            enter(&screen, typed);
            screen.wait_for("Session tree");
            screen.wait_for("you: table");
        }
        Slash::Fork => {
            let screen = said("table");
            enter(&screen, typed);
            // Also before the list has its rows.
            screen.wait_for("Fork before");
            screen.type_keys("\r");
            screen.wait_for_composer("table");
            screen.wait_until("a new session", |cells| !cells.contents().contains("▌ table"));
        }
        Slash::Clone => {
            let screen = said("table");
            let sessions = || walk(&screen.tau_home().join("sessions"));
            let before = sessions();
            enter(&screen, typed);
            screen.wait_for("you are now in a copy of this session");
            screen.wait_for("▌ table");
            enter(&screen, "code");
            screen.wait_for("for file in");
            assert_eq!((before, sessions()), (1, 2));
        }
        other => panic!("{other:?}"),
    }
}

/// Files written by the tour are listed, removed and restored.
fn undo(command: Slash, typed: &str) {
    let screen = Screen::prepared(FAST, "", 100, 30);
    screen.type_keys("tour\r");
    let file = screen.home().join("work/tau-demo.md");
    wait_for_file(&file, "");
    screen.wait_until("the end of the run", |cells| !cells.contents().contains("esc "));
    match command {
        Slash::Diff => {
            enter(&screen, typed);
            screen.wait_for("A tau-demo.md");
        }
        Slash::Undo | Slash::Redo => {
            enter(&screen, "/undo");
            screen.wait_for("tau-demo.md · now");
            screen.type_keys("\r");
            screen.wait_for("Files only");
            screen.type_keys("only\r");
            screen.wait_for("undid the change to tau-demo.md; /redo restores it");
            assert!(!file.exists());
            if command == Slash::Redo {
                enter(&screen, typed);
                wait_for_file(&file, "");
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Commands that show, copy or write something of a session.
fn told(command: Slash, typed: &str, with: impl Fn(&str) -> String) {
    match command {
        Slash::Context => {
            let screen = said("table");
            enter(&screen, typed);
            screen.wait_for("context: about");
            screen.wait_for("system prompt");
        }
        Slash::Compact => {
            let screen = said("table");
            enter(&screen, &with("keep the numbers"));
            screen.wait_for("≡ ");
        }
        Slash::Copy => {
            let screen = said("code");
            enter(&screen, typed);
            screen.wait_for("copied 18 lines · terminal (OSC 52)");
            assert!(screen.copied()[0].starts_with("Some code, from the script:"));
        }
        Slash::Export => {
            let screen = said("table");
            enter(&screen, &with("out.md"));
            screen.wait_for("exported to");
            wait_for_file(&screen.home().join("work/out.md"), "A table, from the script");
        }
        Slash::Import => {
            let screen = said("table");
            enter(&screen, "/export it's.jsonl");
            screen.wait_for("exported to");
            wait_for_file(&screen.home().join("work/it's.jsonl"), "A table, from the script");
            enter(&screen, "/new");
            screen.wait_until("an empty session", |cells| {
                !cells.contents().contains("A table, from the script")
            });
            enter(&screen, typed);
            screen.wait_for("/import needs the path of a session file");
            enter(&screen, &with("none.jsonl"));
            screen.wait_for("none.jsonl: it does not exist");
            screen.wait_for("check that the file exists");
            enter(&screen, &with("it's.jsonl"));
            screen.wait_for("A table, from the script");
            let home = screen.home();
            std::fs::rename(home.join("work/it's.jsonl"), home.join("kept.jsonl")).unwrap();
            enter(&screen, "/new");
            screen.wait_until("an empty session", |cells| {
                !cells.contents().contains("A table, from the script")
            });
            enter(&screen, &with("~/kept.jsonl"));
            screen.wait_for("A table, from the script");
        }
        Slash::Session => {
            let screen = said("table");
            enter(&screen, typed);
            screen.wait_for("tokens:");
            screen.wait_for(".jsonl");
        }
        other => panic!("{other:?}"),
    }
}

/// Help, and the end.
fn rest(command: Slash, typed: &str) {
    match command {
        Slash::Hotkeys | Slash::Help => {
            let screen = Screen::prepared("", "", 80, 24);
            enter(&screen, typed);
            screen.wait_for("Keys and commands");
        }
        Slash::Quit => {
            let mut screen = Screen::prepared("", "", 80, 24);
            enter(&screen, typed);
            assert_eq!(screen.wait_exit().code(), Some(0));
        }
        other => panic!("{other:?}"),
    }
}

/// The session files below a folder.
fn walk(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    let count = |path: std::path::PathBuf| match path.is_dir() {
        true => walk(&path),
        false => usize::from(path.extension().is_some_and(|end| end == "jsonl")),
    };
    entries.map(|entry| count(entry.path())).sum()
}

/// What asks for a token of Claude says how to get one, and takes no other.
fn claude_token(screen: &Screen, ask: impl Fn()) {
    ask();
    screen.wait_for("Log in to claude");
    screen.wait_for("run `claude setup-token`");
    screen.type_keys("sk-wrong\r");
    screen.wait_for("that is not a token of Claude");
    screen.type_keys("\x1b");
    screen.wait_until("no box", |cells| !cells.contents().contains("Log in to claude"));
}
