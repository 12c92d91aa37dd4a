//! The extension for VS Code in `examples/vscode`: its manifest, and, with `TAU_NPM=1` where npm can install
//! packages, its vsix and the built extension with the real program.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::root;
use crate::support::program::{bare, calls, run, says, stalls};
use crate::support::server::Server;
use crate::time_limit::{EndInTime, LIMIT};

fn source(name: &str) -> String {
    std::fs::read_to_string(root().join("examples/vscode").join(name)).unwrap()
}

#[test]
fn the_manifest_names_what_the_extension_has() {
    let manifest: Value = serde_json::from_str(&source("package.json")).unwrap();
    let code = source("extension.ts");
    let commands = manifest["contributes"]["commands"].as_array().unwrap();
    for command in commands {
        let registration = format!("registerCommand({}", command["command"]);
        assert!(code.contains(&registration), "{registration}");
    }
    assert_eq!(code.matches("registerCommand(").count(), commands.len());
    let settings = manifest["contributes"]["configuration"]["properties"].as_object().unwrap();
    for key in settings.keys() {
        let key = key.strip_prefix("tau.").unwrap();
        assert!(code.contains(&format!("\"{key}\"")), "nothing reads {key}");
        assert!(source("README.md").contains(&format!("`tau.{key}`")), "README.md lacks {key}");
    }
    let name = format!("{}.{}", manifest["publisher"].as_str().unwrap(), manifest["name"].as_str().unwrap());
    assert!(source("README.md").contains(&format!("--uninstall-extension {name}")));
}

/// Runs npm in the copy; returns its output.
fn npm(dir: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("npm");
    command
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // It downloads packages.
    let done = command.spawn().unwrap().output_within(LIMIT * 10, &format!("the end of npm {arguments:?}"));
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success(), "npm {arguments:?}: {text}");
    text
}

/// A copy of the extension with its packages; `None`, with a message, if that is not wanted or possible.
fn installed(place: &Path) -> Option<std::path::PathBuf> {
    if std::env::var_os("TAU_NPM").is_none() {
        println!("skipped: it downloads packages; run it with TAU_NPM=1");
        return None;
    }
    let Ok(npm_version) = Command::new("npm").arg("--version").stdin(Stdio::null()).spawn() else {
        println!("skipped: npm is not installed");
        return None;
    };
    npm_version.output_in_time("the end of npm --version");
    let dir = place.join("examples/vscode");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::copy(root().join("LICENSE"), place.join("LICENSE")).unwrap();
    for name in ["package.json", "tsconfig.json", "extension.ts", "README.md"] {
        std::fs::write(dir.join(name), source(name)).unwrap();
    }
    npm(&dir, &["install", "--no-fund", "--no-audit"]);
    Some(dir)
}

#[tokio::test]
async fn the_package_can_be_installed_and_asks_about_calls() {
    let place = tempfile::tempdir().unwrap();
    let Some(dir) = installed(place.path()) else { return };
    let listed = npm(&dir, &["run", "package"]);
    for file in ["extension.vsixmanifest", "LICENSE.txt", "package.json", "readme.md", "extension.js"] {
        assert!(listed.contains(file), "no {file}: {listed}");
    }
    assert!(!listed.contains("node_modules") && !listed.contains("extension.ts"), "{listed}");
    assert!(std::fs::read(dir.join("tau.vsix")).unwrap().starts_with(b"PK"));

    let stub = dir.join("node_modules/vscode");
    crate::support::write(&stub.join("index.js"), &include_str!("vscode/stub.js"));

    let call = || calls("bash", &json!({"command": "touch made"}));
    let refused = Server::start(vec![call(), stalls("Then not"), says("It ran on.")]).await;
    let shown = used(&dir, "stop", &refused).await;
    assert!(shown.contains("*bash failed: the user denied this call"), "{shown}");
    assert!(shown.contains("*not sent: and more*") && shown.contains("*stopped*"), "{shown}");
    assert_eq!(refused.requests().len(), 2, "stopping began another run: {shown}");
    assert!(!dir.join("made").exists());

    let allowed = Server::start(vec![call(), says("It is made.")]).await;
    let shown = used(&dir, "drive", &allowed).await;
    let asked = "asked: tau: bash touch made [Allow once|Allow bash(touch made) in this session|Deny]";
    assert!(shown.contains(asked), "{shown}");
    assert!(shown.contains("It is made."), "{shown}");
    assert!(dir.join("made").exists());
}

/// The built extension's output for these actions of the stub's user, with the real program.
async fn used(dir: &Path, how: &str, server: &Server) -> String {
    let url = server.url();
    let arguments = ["--base-url", &url, "--api-key", "x", "--model", "m", "--permission-mode", "ask"];
    let mut node = bare(dir);
    let mut command = tokio::process::Command::new("node");
    for (name, value) in node.as_std_mut().get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let script = format!("require('vscode').{how}(require('./out/extension.js'))");
    command.args(["-e", &script]).current_dir(dir);
    command.env("TAU_PROGRAM", env!("CARGO_BIN_EXE_tau"));
    command.env("TAU_ARGUMENTS", json!(arguments).to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let ended = run(&mut command, None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.out
}
