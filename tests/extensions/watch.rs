//! Extensions that change on disk while the screen is open.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use tau::agent::extensions::places::Places;
use tau::agent::extensions::watched::{Interest, directories};

use super::{skill, write};
use crate::screen::Screen;

/// Waits until the initial extensions are loaded: `/init` is one of them.
fn wait_for_load(screen: &Screen) {
    screen.type_keys("/ini");
    screen.wait_for("analyse");
    screen.type_keys("\x15");
    screen.wait_for("ask for something, or !command");
}

/// Waits until the text is on the screen this many times.
fn wait_for_times(screen: &Screen, text: &str, times: usize) {
    screen.wait_until(&format!("{times} times {text:?}"), |cells| {
        cells.contents().matches(text).count() == times
    });
}

/// Every kind of extension is reloaded when its file is written, and the user sees which.
#[test]
fn what_is_saved_is_used_at_once() {
    let screen = Screen::prepared("mkdir -p $TAU_HOME/skills $TAU_HOME/prompts", "--model demo", 120, 40);
    let home = screen.tau_home();
    wait_for_load(&screen);
    // Notices, one below the other, each of which is waited for.
    skill(&home.join("skills"), "careful", "For careful work");
    screen.wait_for("reloaded: added skill careful");
    screen.wait_for("the model gets the new list of skills with /reload");
    write(&home.join("prompts/git/fix.md"), "Fix $1\n");
    screen.wait_for("reloaded: added prompt template git:fix");
    screen.type_keys("/git");
    screen.wait_for("Fix $1");
    screen.type_keys("\x15");
    screen.wait_for("ask for something, or !command");
    write(&home.join("prompts/git/fix.md"), "---\ndescription: Fixes it\n---\nFix $1 now\n");
    screen.wait_for("reloaded: changed prompt template git:fix");
    write(&home.join("config.toml"), "[[hooks.Stop]]\ncommand = 'true'\n");
    screen.wait_for("reloaded: added hook Stop true");
    write(&home.join("mcp.json"), r#"{"mcpServers": {"absent": {"command": "/nowhere/server"}}}"#);
    screen.wait_for("reloaded: added MCP server absent");
    // A folder that disappears, and reappears.
    std::fs::remove_dir_all(home.join("skills")).unwrap();
    screen.wait_for("reloaded: removed skill careful");
    skill(&home.join("skills"), "careful", "For careful work");
    wait_for_times(&screen, "reloaded: added skill careful", 2);
    skill(&home.join("skills"), "mute", "");
    screen.wait_for("/extensions shows the problems");
}

/// The open list follows changes on disk, and servers that start.
#[test]
fn the_open_list_follows() {
    let screen = Screen::prepared("mkdir -p $TAU_HOME/skills", "--model demo", 120, 40);
    let home = screen.tau_home();
    screen.type_keys("/extensions\r");
    screen.wait_for("on      init");
    skill(&home.join("skills"), "careful", "For careful work");
    screen.wait_for("● on      careful");
    let server = home.join("server");
    let script = "read -r line\n\
        until [ -e \"$0.go\" ]; do sleep 0.02; done\n\
        printf '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\
        \"capabilities\":{},\"serverInfo\":{\"name\":\"slow\",\"version\":\"1\"}}}\\n'\n\
        cat >/dev/null\n";
    write(&server, script);
    let config = serde_json::json!({"mcpServers": {"slow": {"command": "bash", "args": [server]}}});
    write(&home.join("mcp.json"), &config.to_string());
    screen.wait_for("starting slow");
    write(&home.join("server.go"), "");
    screen.wait_for("● on      slow");
}

/// Thousands of files at once are one change, and the screen accepts keys meanwhile.
#[test]
fn a_flood_of_files_is_survived() {
    let screen = Screen::prepared("mkdir -p $TAU_HOME/prompts", "--model demo", 120, 40);
    let folder = screen.tau_home().join("prompts");
    for number in 0..10_000 {
        std::fs::write(folder.join(format!("many{number}.md")), "x").unwrap();
    }
    screen.wait_for("only the first 4096 prompt templates are used");
    screen.type_keys("still here");
    screen.wait_for_composer("still here");
}

/// In an untrusted directory nothing is watched, opened or loaded.
#[test]
fn what_is_not_trusted_stays_out() {
    let script = "mkdir -p $TAU_HOME/skills work/.claude/skills && cd work";
    let screen = Screen::prepared(script, "--model demo", 120, 40);
    screen.wait_for("not now; ask again next time");
    screen.type_keys("\x1b");
    screen.wait_until("no question", |cells| !cells.contents().contains("not now; ask again"));
    wait_for_load(&screen);
    let project = std::fs::read_link(format!("/proc/{}/cwd", screen.pid().as_raw_nonzero())).unwrap();
    skill(&project.join(".claude/skills"), "theirs", "For what they do");
    skill(&screen.tau_home().join("skills"), "mine", "For what I do");
    screen.wait_for("reloaded: added skill mine");
    assert!(!screen.text().contains("theirs"), "{}", screen.text());
}

/// Settings that are gone have not changed: there is nothing left to trust.
#[test]
fn settings_that_are_gone_need_no_trust() {
    let script = "mkdir -p .tau/prompts; echo Ship it >.tau/prompts/ship.md; echo 'thinking = \"low\"' >.tau/config.toml";
    let screen = Screen::prepared(script, "--model demo --trust", 120, 40);
    wait_for_load(&screen);
    let work = screen.home().join("work");
    std::fs::rename(work.join(".tau"), work.join("gone")).unwrap();
    screen.wait_for("reloaded: removed prompt template ship");
    assert!(!screen.text().contains("trusted any more"), "{}", screen.text());
}

fn names(names: &[&str], contents: bool) -> Option<Interest> {
    let names: BTreeSet<OsString> = names.iter().map(OsString::from).collect();
    Some(Interest::Names { names, contents })
}

/// The watched directories: those that are searched, and for missing ones the nearest ancestor.
#[test]
fn only_directories_that_count_are_watched() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (home, work, config) = (root.join("home"), root.join("work"), root.join("home/.config/tau"));
    skill(&home.join(".claude/skills"), "mine", "For what I do");
    write(&home.join(".claude/skills/mine/scripts/run.sh"), "");
    write(&home.join(".claude/commands/git/fix.md"), "x");
    skill(&work.join(".claude/skills"), "theirs", "For what they do");
    skill(&root.join("elsewhere"), "far", "x");
    std::os::unix::fs::symlink(root.join("elsewhere/far"), work.join(".claude/skills/far")).unwrap();
    let mut places = Places::of_user(&config, Some(&home));
    places.files = vec![config.join("config.toml")];
    let found = directories(&places);
    let of = |path: &str| found.get(&root.join(path)).cloned();
    for all in [".claude/skills", ".claude/skills/mine", ".claude/commands", ".claude/commands/git"] {
        assert_eq!(of(&format!("home/{all}")), Some(Interest::All), "{all}");
    }
    assert_eq!(of("home/.claude"), names(&["commands", "skills"], false));
    assert_eq!(of("home"), names(&[".agents", ".codex", ".config", ".pi"], false));
    assert_eq!(found.keys().filter(|path| path.starts_with(root.join("work"))).count(), 0);
    assert_eq!(of("home/.claude/skills/mine/scripts"), None, "it belongs to the skill");
    places.add_project(&work, &[".claude/skills"]);
    let found = directories(&places);
    assert_eq!(found.get(&work.join(".claude/skills/theirs")), Some(&Interest::All));
    let outside = |path: &&std::path::PathBuf| path.ends_with("far") || path.ends_with("elsewhere");
    assert_eq!(found.keys().find(outside), None, "it leads out of the project");
    assert!(!Interest::All.includes(Some(Path::new(".x.swp").as_os_str())), "what editors leave");
}
