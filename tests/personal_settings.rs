//! `.tau/config.local.toml`: the settings of one user in a project, beside the shared ones.

use std::path::Path;
use std::process::{Command, Output};

use tau::agent::protocol::trust::Trust;
use tau::agent::settings::trust::Project;

use crate::harness::shared;
use crate::support::opened::Opened;
use crate::support::program::{bare, own_model, run, says};
use crate::support::server::Server;
use crate::support::write;
use crate::time_limit::RunInTime;

/// A project's personal settings take precedence over the shared ones, are named separately, and need trust.
#[test]
fn personal_settings_of_a_project_count_more_and_need_trust() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, kept) = (dir.path().join("work"), dir.path().join("trust.json"));
    write(&folder.join(".tau/config.local.toml"), "thinking = 'low'\n");
    let project = || Project::of(&folder).unwrap();
    assert_eq!(project().names(), [".tau/config.local.toml"]);
    assert_eq!(project().trust(&kept).unwrap(), Trust::Unknown);
    project().answer(&shared(&kept), true).unwrap();
    write(&folder.join(".tau/config.toml"), "thinking = 'high'\nhide_thinking = true\n");
    assert_eq!(project().trust(&kept).unwrap(), Trust::Changed);
    let settings = project().settings().unwrap();
    let shown = format!("{settings:?}");
    assert!(shown.contains("thinking: Some(Low)") && shown.contains("hide_thinking: Some(true)"), "{shown}");
    write(&folder.join(".tau/config.local.toml"), "api_key = 'x'\n");
    let error = project().settings().unwrap_err().to_string();
    assert!(error.contains("config.local.toml:1: a project cannot set `api_key`"), "{error}");
}

fn tau(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(args).current_dir(home.join("work")).env_clear().env("HOME", home);
    command.env("TAU_HOME", home.join("tau")).output_in_time()
}

/// The rules of both files apply, each with its own place; without trust neither do, and nothing is hidden.
#[test]
fn the_rules_of_both_files_hold_and_say_where_they_are() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    write(&work.join(".tau/config.toml"), "[permissions]\nallow = [\"bash(make *)\"]\n");
    write(&work.join(".tau/config.local.toml"), "[permissions]\ndeny = [\"bash(make clean)\"]\n");
    let said = |args: &[&str]| {
        let Output { stdout, stderr, .. } = tau(home.path(), args);
        String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap()
    };
    let trusted = said(&["permissions", "test", "--trust", "--mode", "ask", "make clean"]);
    assert!(trusted.contains("deny") && trusted.contains(".tau/config.local.toml:2"), "{trusted}");
    let trusted = said(&["permissions", "test", "--trust", "--mode", "ask", "make all"]);
    assert!(trusted.contains("allow") && trusted.contains(".tau/config.toml:2"), "{trusted}");
    let not = said(&["permissions", "test", "--mode", "ask", "make all"]);
    assert!(!not.lines().next().unwrap().contains("allow"), "{not}");
    assert!(not.contains(".tau/config.local.toml"), "{not}");
}

/// What was read is handed on: each file is read for the settings, the extensions and the MCP servers, which read it
/// again by themselves when it changes.
#[tokio::test]
async fn a_start_reads_each_settings_file_a_few_times_at_most() {
    let home = tempfile::tempdir().unwrap();
    let at = |folder: &str| home.path().join(folder);
    let folders = [".config/tau", ".claude", "work/.tau"].map(at);
    write(&folders[0].join("config.toml"), "undo_quota = 0\n[permissions]\ndeny = [\"bash(a)\"]\n");
    write(&folders[1].join("settings.json"), "{\"permissions\": {\"deny\": [\"Bash(b)\"]}}");
    write(&folders[2].join("config.local.toml"), "[permissions]\ndeny = [\"bash(c)\"]\n");
    let server = Server::start(vec![says("done")]).await;
    let opened = Opened::watch(&folders.each_ref().map(|folder| folder.as_path()));
    let mut command = bare(home.path());
    command.args(own_model(&server.url())).args(["--trust", "-p", "hello"]).current_dir(at("work"));
    let ended = run(&mut command, None).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "done"), "{}", ended.err);
    let names = opened.files();
    for file in ["config.toml", "settings.json", "config.local.toml"] {
        let times = names.iter().filter(|name| *name == file).count();
        assert!((1..=3).contains(&times), "{file} was opened {times} times: {names:?}");
    }
}
