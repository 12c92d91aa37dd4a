//! Skills: found in the folders of all agents, checked, listed for the model, turned on and off.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use tau::agent::extensions::places::Places;
use tau::agent::extensions::registry::LoadedExtensions;
use tau::agent::extensions::{ExtensionOptions, Extensions};
use tau::agent::protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};

use super::{skill, write};
use crate::screen::Screen;
use crate::support::opened::Opened;
use crate::support::program::{bare, own_model, says};
use crate::support::server::Server;
use crate::time_limit::InTime;

fn load(places: &Places) -> LoadedExtensions {
    LoadedExtensions::from_places(places, &ExtensionOptions::default())
}

fn row<'a>(loaded: &'a LoadedExtensions, name: &str) -> &'a ExtensionRow {
    loaded.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name}: {loaded:#?}"))
}

/// The rows of skills.
fn rows(loaded: &LoadedExtensions) -> Vec<&ExtensionRow> {
    loaded.rows.iter().filter(|row| row.kind == ExtensionKind::Skill).collect()
}

/// The user's folders and those of a project that trusts all of its own.
fn places(config: &Path, home: &Path, project: &Path) -> Places {
    let mut places = Places::of_user(config, Some(home));
    places
        .add_project(&project.canonicalize().unwrap(), &[".tau/skills", ".agents/skills", ".claude/skills"]);
    places
}

#[test]
fn skills_are_found_in_the_folders_of_all_agents() {
    let dir = tempfile::tempdir().unwrap();
    let [config, home, project] = ["config", "home", "project"].map(|name| dir.path().join(name));
    for (folder, name) in [
        (config.join("skills"), "own"),
        (home.join(".agents/skills"), "agents"),
        (home.join(".claude/skills"), "claude"),
        (home.join(".claude/skills/group/deeper"), "nested"),
        (project.join(".tau/skills"), "p-own"),
        (project.join(".agents/skills"), "p-agents"),
        (project.join(".claude/skills"), "p-claude"),
    ] {
        skill(&folder, name, "x");
    }
    // Files in a skill belong to it, and hidden folders are not skills.
    skill(&config.join("skills/own/examples"), "inner", "x");
    skill(&config.join("skills/.git"), "hidden", "x");
    let loaded = load(&places(&config, &home, &project));
    let names: Vec<&str> = loaded.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["agents", "claude", "nested", "own", "p-agents", "p-claude", "p-own"]);
    assert!(rows(&loaded).iter().all(|row| row.problems.is_empty() && row.tokens.is_some()), "{loaded:#?}");
    assert_eq!(row(&loaded, "p-own").source, ExtensionSource::Project);
    assert_eq!(row(&loaded, "own").source, ExtensionSource::User);
}

#[test]
fn the_nearest_skill_of_a_name_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let [config, home, project] = ["config", "home", "project"].map(|name| dir.path().join(name));
    skill(&config.join("skills"), "same", "the user's own");
    skill(&home.join(".claude/skills"), "same", "the user's other");
    skill(&project.join(".claude/skills"), "same", "the project's");
    let loaded = load(&places(&config, &home, &project));
    assert_eq!(loaded.skill("same").unwrap().description, "the project's");
    let losers: Vec<&ExtensionRow> =
        loaded.rows.iter().filter(|row| row.source == ExtensionSource::User).collect();
    assert_eq!(losers.len(), 2);
    for loser in losers {
        assert_eq!(loser.state, ExtensionState::Off);
        assert!(loser.problems[0].contains("has the same name and is used instead"), "{loser:?}");
    }
}

#[test]
fn what_is_wrong_with_a_skill_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("skills");
    let check = |name: &str, text: &str, state: ExtensionState, problem: &str| {
        write(&folder.join(name).join("SKILL.md"), text);
        let loaded = load(&Places::of_user(dir.path(), None));
        let row = row(&loaded, name);
        assert_eq!(row.state, state, "{row:?}");
        assert!(row.problems.iter().any(|said| said.contains(problem)), "{problem}: {row:?}");
    };
    let (on, failed) = (ExtensionState::On, ExtensionState::Failed);
    check("bare", "# no front matter\n", failed, "no description");
    check("open", "---\nname: open\n", failed, "is missing");
    check("mute", "---\nname: mute\n---\n", failed, "no description");
    check("unnamed", "---\ndescription: x\n---\n", on, "the name of its folder is used");
    check("UPPER", "---\nname: UPPER\ndescription: x\n---\n", on, "besides a-z, 0-9 and -");
    check("a--b", "---\nname: a--b\ndescription: x\n---\n", on, "two in a row");
    check("spaced", "---\nname: My Skill\ndescription: x\n---\n", on, "is not that of its folder");
    check("with blank", "---\nname: x y\ndescription: x\n---\n", failed, "no skill can have");
    check("colon", "---\nname: colon\ndescription: Use when: x\n---\n", on, "line 3");
    let long = format!("---\nname: long\ndescription: {}\n---\n", "x".repeat(1025));
    check("long", &long, on, "1025 characters");
    let wordy = format!("---\nname: wordy\ndescription: x\ncompatibility: {}\n---\n", "x".repeat(501));
    check("wordy", &wordy, on, "compatibility has 501");
    check("flat", "---\nname: flat\ndescription: x\nmetadata: y\n---\n", on, "metadata");
    let other = "---\nname: other\ndescription: x\n---\n";
    write(&folder.join("moved/SKILL.md"), other);
    let loaded = load(&Places::of_user(dir.path(), None));
    assert!(row(&loaded, "other").problems[0].contains("not that of its folder"));
}

#[test]
fn hostile_skills_are_rows_with_problems() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (project, outside) = (root.join("project"), root.join("outside"));
    let folder = project.join(".claude/skills");
    skill(&outside, "secret", "out of the project");
    skill(&folder, "good", "fine");
    write(&folder.join("large/SKILL.md"), &"x".repeat(10 * 1024 * 1024));
    write(&folder.join("binary/SKILL.md"), "---\nname: binary\0\n---\n");
    std::fs::create_dir_all(folder.join("pipe")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe/SKILL.md"), rustix::fs::Mode::RWXU).unwrap();
    symlink(outside.join("secret"), folder.join("secret")).unwrap();
    std::fs::create_dir_all(folder.join("sneaky")).unwrap();
    symlink(outside.join("secret/SKILL.md"), folder.join("sneaky/SKILL.md")).unwrap();
    symlink(&folder, folder.join("loop")).unwrap();
    symlink(&project, folder.join("wider")).unwrap();
    let mut places = Places::default();
    places.add_project(&project, &[".claude/skills"]);
    let loaded = load(&places);
    assert_eq!(loaded.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["good"]);
    for (name, problem) in
        [("large", "the limit is 256 KB"), ("binary", "binary file"), ("pipe", "not a regular file")]
    {
        let row = row(&loaded, name);
        assert_eq!(row.state, ExtensionState::Failed);
        assert!(row.problems[0].contains(problem), "{row:?}");
    }
    assert_eq!(rows(&loaded).len(), 4, "no link leads back in: {:#?}", loaded.rows);
    let leads_out = loaded.problems.iter().filter(|problem| problem.contains("leads out")).count();
    assert_eq!(leads_out, 2, "{:?}", loaded.problems);
    // The same for the folder itself.
    std::fs::remove_dir_all(project.join(".claude")).unwrap();
    symlink(&outside, project.join(".claude")).unwrap();
    std::fs::rename(outside.join("secret"), outside.join("skills")).unwrap();
    assert_eq!(load(&places).skills, []);
}

#[test]
fn links_of_the_user_are_followed_once() {
    let dir = tempfile::tempdir().unwrap();
    skill(&dir.path().join("elsewhere"), "linked", "x");
    std::fs::create_dir(dir.path().join("skills")).unwrap();
    symlink(dir.path().join("elsewhere/linked"), dir.path().join("skills/linked")).unwrap();
    symlink(dir.path(), dir.path().join("skills/all")).unwrap();
    let loaded = load(&Places::of_user(dir.path(), None));
    assert!(loaded.skill("linked").is_some());
    assert!(loaded.rows.len() < 8, "{:#?}", loaded.rows);
}

#[test]
fn rows_from_elsewhere_are_listed_too() {
    let extensions = Extensions::default();
    let dir = tempfile::tempdir().unwrap();
    skill(&dir.path().join("skills"), "one", "x");
    let row = load(&Places::of_user(dir.path(), None)).rows.remove(0);
    extensions.add_rows(move || vec![row.clone()]);
    assert_eq!(extensions.rows()[0].name, "one");
}

/// The model is told of the user's skills, and of a project's only if it is trusted; otherwise, no file of
/// it is opened.
#[tokio::test]
async fn the_model_is_told_of_skills_that_are_trusted() {
    let server = Server::start(vec![says("one"), says("two"), says("three")]).await;
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    let folder = work.join(".claude/skills");
    skill(&dir.path().join(".agents/skills"), "mine", "For what I do");
    skill(&folder, "theirs", "For what they do");
    // Without undo, which scans the whole directory.
    write(&dir.path().join(".config/tau/config.toml"), "undo_quota = 0\n");
    let opened = Opened::watch(&[&folder, &folder.join("theirs")]);
    let run = async |more: &[&str]| {
        let mut command = bare(dir.path());
        command.args(own_model(&server.url())).args(["-p", "hello"]);
        command.args(more).current_dir(&work);
        command.output().in_time("a prompt").await.unwrap()
    };
    let output = run(&[]).await;
    assert!(opened.files().is_empty(), "nothing is opened before it is trusted");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("ignoring .claude/skills: this directory is not trusted"), "{said}");
    run(&["--trust"]).await;
    assert!(!opened.files().is_empty(), "the watch sees what is opened");
    run(&["--trust", "--tools", "edit"]).await;
    let requests = server.requests();
    let mine = format!("- mine (`{}/.agents/skills/mine/SKILL.md`): For what I do", dir.path().display());
    assert!(requests[0].contains(&mine) && !requests[0].contains("theirs"), "{}", requests[0]);
    assert!(requests[1].contains(&mine) && requests[1].contains("): For what they do"), "{}", requests[1]);
    assert!(!requests[2].contains("# Skills"), "who cannot read files is told of none");
}

/// `/extensions` lists everything, Space turns a skill off and on again, and that is saved.
#[test]
fn a_skill_is_turned_off_in_the_list() {
    let script = "mkdir -p $TAU_HOME/skills/calm $TAU_HOME/skills/mute\n\
                  printf -- '---\\nname: calm\\ndescription: For calm work\\n---\\n' >$TAU_HOME/skills/calm/SKILL.md\n\
                  printf -- '---\\nname: mute\\n---\\n' >$TAU_HOME/skills/mute/SKILL.md\n";
    let screen = Screen::prepared(script, "--model demo", 100, 30);
    screen.type_keys("/extensions\r");
    screen.wait_for("● on      calm  For calm work");
    screen.wait_for("× failed  mute");
    screen.type_keys(" ");
    screen.wait_for("○ off     calm");
    screen.wait_for("skill:calm is off (extensions_off in config.toml)");
    let file = screen.tau_home().join("config.toml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "extensions_off = [\"skill:calm\"]\n");
    screen.type_keys(" ");
    screen.wait_for("● on      calm");
    screen.type_keys("\x1b[B");
    screen.wait_for("no description, so no model would know when to use it");
    screen.type_keys(" ");
    screen.wait_for("it can't be used yet");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("Extensions"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}

/// The list over RPC.
#[tokio::test]
async fn a_client_lists_extensions() {
    let dir = tempfile::tempdir().unwrap();
    skill(&dir.path().join(".claude/skills"), "mine", "For what I do");
    let mut command = bare(dir.path());
    command.args(["--mode", "rpc", "--model", "demo", "--no-session"]);
    command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let line = json!({"id": "1", "type": "get_extensions"}).to_string() + "\n";
    tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes()).await.unwrap();
    drop(input);
    let output = child.wait_with_output().in_time("rpc").await.unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let found = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let answer = found.into_iter().find(|line| line["command"] == "get_extensions").unwrap();
    let row = &answer["data"]["extensions"][0];
    let path = dir.path().join(".claude/skills/mine/SKILL.md");
    assert_eq!((&row["kind"], &row["name"], &row["state"]), (&json!("skill"), &json!("mine"), &json!("on")));
    assert_eq!((&row["source"], &row["path"]), (&json!("user"), &json!(path)));
    assert!(row["tokens"].as_u64().is_some_and(|tokens| tokens > 5), "{row}");
}

/// `tau extensions` prints the list, with problems below it.
#[tokio::test]
async fn the_list_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    skill(&dir.path().join(".claude/skills"), "mine", "For what I do");
    skill(&work.join(".agents/skills"), "theirs", "For what they do");
    write(&dir.path().join(".claude/skills/mute/SKILL.md"), "---\nname: mute\u{1b}[31m\n---\n");
    let run = async |arguments: &[&str]| {
        let mut command = bare(dir.path());
        command.arg("extensions").args(arguments).current_dir(&work);
        let output = command.output().in_time("the list").await.unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]).await;
    assert!(text.starts_with("Skills\n") && text.contains("For what I do"), "{text}");
    assert!(text.contains("mute/SKILL.md: its front matter has no description"), "{text}");
    assert!(!text.contains("theirs") && !text.contains('\u{1b}'), "{text}");
    let json: serde_json::Value = serde_json::from_str(&run(&["--json", "--trust"]).await).unwrap();
    let names: Vec<&str> =
        json["extensions"].as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["mine", "mute", "theirs", "init"]);
}
