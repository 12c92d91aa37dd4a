//! The sandbox as users and models see it: flags, settings, exit codes, messages.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use tau::tools::sandbox::{SandboxLevel, SandboxPolicy, SandboxRule};
use tau::tools::{Details, ToolError};

use super::{Place, has_landlock, has_mounts, text};
use crate::support::tool_bench::Bench;

#[test]
fn the_exit_code_of_the_command_is_passed_on() {
    needs!(has_landlock());
    let place = Place::new();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("exit 255", 255)] {
        assert_eq!(place.script(&[], script).status.code(), Some(code), "{script}");
    }
    let output = super::run(place.command(&[], &["no-such-program".as_ref()]));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no-such-program"), "{}", text(&output.stderr));
    let output = super::run(place.command(&["--network", "maybe"], &["true".as_ref()]));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_command_gets_the_environment_without_its_secrets() {
    needs!(has_landlock());
    let place = Place::new();
    fs::write(place.home.join("auth.json"), r#"{"openai": {"type": "api_key", "key": "hunter2-password"}}"#)
        .unwrap();
    fs::write(place.home.join("config.toml"), "pass_env = [\"PASSED_TOKEN\"]\n").unwrap();
    let mut command = place.command(&[], &["env".as_ref()]);
    let hidden = [
        ("ANTHROPIC_API_KEY", "a-key"),
        ("DB_PASS", "correcthorse"),
        ("GITHUB_PAT", "pat"),
        ("DATABASE_URL", "postgres://app:pw@db/x"),
        ("HEADER", "Bearer hunter2-password"),
    ];
    let shown = [
        ("PASSED_TOKEN", "shown"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("CARGO_HOME", "/c"),
        ("GPG_TTY", "/dev/x"),
    ];
    command.envs(hidden).envs(shown);
    let printed = text(&super::run(command).stdout);
    for (name, _) in hidden {
        assert!(!printed.contains(&format!("{name}=")), "{name}: {printed}");
    }
    for (name, value) in shown {
        assert!(printed.lines().any(|line| line == format!("{name}={value}")), "{name}: {printed}");
    }
}

#[test]
fn settings_say_what_flags_do_not() {
    needs!(has_mounts());
    let place = Place::new();
    let write = "echo x > $OUT/f";
    assert!(!place.script(&[], write).status.success(), "off in the settings is workspace-write here");
    fs::write(place.home.join("config.toml"), "[sandbox]\nlevel = \"read-only\"\nnetwork = \"off\"\n")
        .unwrap();
    assert!(!place.script(&[], "echo x > f").status.success());
    assert!(place.script(&["--sandbox", "workspace-write"], "echo x > f").status.success());
    let writable = format!("[sandbox]\nlevel = \"workspace-write\"\nwritable = [{:?}]\n", place.outside);
    fs::write(place.home.join("config.toml"), writable).unwrap();
    assert!(place.script(&[], write).status.success());
}

fn bench(policy: SandboxPolicy) -> Bench {
    let mut bench = Bench::new();
    bench.context.sandbox = Arc::new(policy.in_workspace(&bench.context.cwd));
    bench
}

#[tokio::test]
async fn the_model_is_told_what_the_sandbox_refused() {
    needs!(has_landlock());
    let place = Place::new();
    let policy =
        SandboxPolicy { level: SandboxLevel::WorkspaceWrite, network: false, ..SandboxPolicy::off() };
    let bench = bench(policy);
    let target = place.outside.join("f");
    let command = format!("echo x > {}", target.display());
    let Err(ToolError::Refused { message, details }) = bench.call("bash", json!({"command": command})).await
    else {
        panic!("it worked");
    };
    assert!(
        message.contains("not the program but tau's sandbox") && message.contains("sandbox.writable"),
        "{message}"
    );
    let Details::Terminal(output) = *details else { panic!() };
    let denial = output.blocked.unwrap();
    assert_eq!((denial.rule, denial.path.as_deref()), (SandboxRule::Outside, target.to_str()));
    let text = bench.text("bash", json!({"command": "exec 3<>/dev/tcp/127.0.0.1/9"})).await;
    assert!(text.contains("It blocked the network"), "{text}");
}

#[tokio::test]
async fn the_model_is_told_what_is_renamed_in_a_repository() {
    needs!(has_landlock());
    let bench = bench(SandboxPolicy { level: SandboxLevel::WorkspaceWrite, ..SandboxPolicy::off() });
    let git = bench.context.cwd.join(".git");
    for folder in ["objects", "refs"] {
        fs::create_dir_all(git.join(folder)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let text = bench.text("bash", json!({"command": "echo x >.git/commondir"})).await;
    assert!(
        text.contains("tau's sandbox blocked writing ")
            && text.contains("it was renamed to commondir.blocked-"),
        "{text}"
    );
    assert!(!text.contains("probably") && !git.join("commondir").exists(), "{text}");
    let text = bench.text("bash", json!({"command": "echo fine > f && cat f"})).await;
    assert!(text.starts_with("fine") && !text.contains("sandbox"), "{text}");
    let text = bench.text("bash", json!({"command": "cat missing"})).await;
    assert!(!text.contains("sandbox"), "{text}");
}

#[tokio::test]
async fn without_a_sandbox_nothing_is_said_of_it() {
    let place = Place::new();
    let bench = bench(SandboxPolicy::off());
    let command = format!("echo x > {}", place.outside.join("f").display());
    let output = bench.call("bash", json!({"command": command})).await.unwrap();
    assert!(place.outside.join("f").exists());
    assert!(!serde_json::to_string(&output.details).unwrap().contains("blocked"));
}
