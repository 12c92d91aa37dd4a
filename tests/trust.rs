//! What a folder brings along: its settings wait for trust, its instructions are told at once.

use std::fs;
use std::path::Path;
use std::process::Command;

use tau::agent::prompt::{Instructions, PromptSource};
use tau::agent::settings::Settings;
use tau::agent::settings::trust::{Project, Trust};
use tau::app::boot::Boot;
use tau::app::effect::Request;
use tau::app::{Effect, Model};

use crate::harness::{Screen, boot, text};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn trust_is_for_files_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, kept) = (dir.path().join("work"), dir.path().join("config/trust.json"));
    fs::create_dir(&folder).unwrap();
    assert!(Project::of(&folder).is_none());
    write(&folder.join(".tau/config.toml"), "thinking = 'high'\n");
    let trust = || Project::of(&folder).unwrap().trust(&kept).unwrap();
    assert_eq!(trust(), Trust::Unknown);
    Project::of(&folder).unwrap().answer(&kept, true).unwrap();
    assert_eq!(trust(), Trust::Trusted);
    write(&folder.join(".tau/SYSTEM.md"), "You are somebody else.");
    assert_eq!(trust(), Trust::Changed, "a file more");
    Project::of(&folder).unwrap().answer(&kept, true).unwrap();
    write(&folder.join(".tau/config.toml"), "thinking = 'low'\n");
    assert_eq!(trust(), Trust::Changed, "another content");
    Project::of(&folder).unwrap().answer(&kept, false).unwrap();
    assert_eq!(trust(), Trust::Refused);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&kept).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    fs::write(&kept, "what").unwrap();
    assert!(Project::of(&folder).unwrap().trust(&kept).is_err(), "nothing is trusted by mistake");
    // A link to the folder is the folder; a link out of it is no file of its own.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    assert_eq!(Project::of(&link), Project::of(&folder));
    fs::remove_file(folder.join(".tau/SYSTEM.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join(".tau/SYSTEM.md")).unwrap();
    assert_eq!(Project::of(&folder).unwrap().names(), [".tau/config.toml"]);
}

#[test]
fn a_project_names_no_address_key_or_program() {
    let dir = tempfile::tempdir().unwrap();
    let check = |line: &str, expected: Result<&str, &str>| {
        write(&dir.path().join(".tau/config.toml"), line);
        let project = Project::of(dir.path()).unwrap().settings();
        let settings = project.map(|project| Settings::default().with_project(project));
        match (settings, expected) {
            (Ok(settings), Ok(part)) => {
                assert!(format!("{settings:?}").contains(part), "{line}: {settings:?}");
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{line}: {error}"),
            (other, _) => panic!("{line}: {other:?}"),
        }
    };
    check("model = 'a/b'", Ok("model: Some(\"a/b\")"));
    check("tools = ['read']", Ok("tools: Some([\"read\"])"));
    check("hide_thinking = true", Ok("hide_thinking: true"));
    for key in ["base_url", "api_key", "provider", "shell", "proxy", "ca_file", "session_dir"] {
        check(&format!("{key} = 'x'"), Err("unknown field"));
    }
    check("pass_env = ['HOME']", Err("unknown field"));
    check("keys = {}", Err("unknown field"));
}

#[test]
fn the_prompt_is_made_of_files_and_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (cwd, config) = (dir.path().join("work"), dir.path().join("config"));
    write(&cwd.join("AGENTS.md"), "use tabs");
    write(&config.join("SYSTEM.md"), "My own role.");
    write(&config.join("APPEND_SYSTEM.md"), "My own end.");
    write(&cwd.join(".tau/SYSTEM.md"), "The project's role.");
    let mut source = PromptSource {
        cwd: cwd.clone(),
        config: config.clone(),
        date: "2026-01-02".into(),
        append: Some("And this.".into()),
        ..PromptSource::default()
    };
    let first = source.read();
    assert_eq!(first, source.read(), "the same as long as nothing changes");
    assert!(first.text.starts_with("My own role."), "{}", first.text);
    for part in ["use tabs", "My own end.\n\nAnd this.", "Date: 2026-01-02"] {
        assert!(first.text.contains(part), "{part}: {}", first.text);
    }
    let files = [config.join("SYSTEM.md"), config.join("APPEND_SYSTEM.md"), cwd.join("AGENTS.md")];
    assert_eq!(first.files, files);
    write(&cwd.join("AGENTS.md"), "use spaces");
    assert!(source.read().text.contains("use spaces"));
    source.project = Some(cwd.join(".tau"));
    assert!(source.read().text.starts_with("The project's role."));
    source.role = Some("A flag.".into());
    assert!(source.read().text.starts_with("A flag."));
    source.instructions = Instructions::LeaveOut;
    assert!(!source.read().text.contains("use spaces"));
}

/// Runs the program in a folder whose settings name a model that there is not.
fn run(args: &[&str], trusted: Option<bool>) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let (folder, home) = (dir.path().join("work"), dir.path().join("tau"));
    write(&folder.join(".tau/config.toml"), "model = 'nosuch/model'\n");
    if let Some(trusted) = trusted {
        Project::of(&folder).unwrap().answer(&home.join("trust.json"), trusted).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(["-p", "hello"]).args(args).current_dir(&folder).stdin(std::process::Stdio::null());
    command.env_clear().env("HOME", dir.path()).env("TAU_HOME", &home).env("TAU_DEMO_SPEED", "max");
    let output = command.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn without_a_person_nothing_of_a_folder_is_used_unless_told() {
    let check = |args: &[&str], trusted: Option<bool>, code: i32, says: &str, not: &str| {
        let (status, stderr) = run(args, trusted);
        assert_eq!(status, Some(code), "{args:?} {trusted:?}: {stderr}");
        assert!(stderr.contains(says), "{args:?} {trusted:?}: {stderr}");
        assert!(!stderr.contains(not), "{args:?} {trusted:?}: {stderr}");
    };
    check(&[], None, 3, "no model is configured", "nosuch");
    let told = "not used, as this folder is not trusted: .tau/config.toml; --trust uses them";
    check(&["--model", "demo"], None, 0, told, "nosuch");
    check(&["--model", "demo"], Some(false), 0, "", "trust");
    check(&[], Some(true), 3, "nosuch", "trust");
    check(&["--trust"], None, 3, "nosuch", "not trusted");
    check(&["--trust", "--model", "demo"], None, 0, "", "nosuch");
}

#[test]
fn the_person_is_asked_once_and_by_command() {
    let project = vec![".tau/config.toml".to_owned()];
    let mut screen = Screen::boot(Boot { project: project.clone(), ask_trust: true, ..boot() });
    let shown = text(&screen.draw());
    assert!(shown.contains("This folder has settings of its own: .tau/config.toml"), "{shown}");
    screen.take_effects();
    screen.keys("<enter>");
    assert!(!asked(&screen.take_effects()), "the answer that is there leaves everything as it is");
    for (keys, trusted) in [("<up><enter>", true), ("<down><enter>", false)] {
        screen.keys(&format!("/trust<enter>{keys}"));
        let effects = screen.take_effects();
        let wanted = Request::Trust { trusted };
        assert!(
            effects.iter().any(|effect| matches!(effect, Effect::Ask(_, request) if *request == wanted)),
            "{effects:?}"
        );
    }
    let (model, _) = Model::boot(Boot { project, ..boot() });
    assert!(model.overlays.is_empty(), "an answer is kept");
    let mut screen = Screen::boot(Boot { instructions: vec!["~/AGENTS.md".into()], ..boot() });
    assert!(text(&screen.draw()).contains("instructions: ~/AGENTS.md"));
    screen.keys("/trust<enter>");
    assert!(text(&screen.draw()).contains("no settings of its own"));
}

fn asked(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Ask(_, Request::Trust { .. })))
}
