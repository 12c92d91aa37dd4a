//! Calls that need approval, with and without a user to approve them.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

fn touches() -> Vec<Act> {
    vec![calls("bash", &json!({ "command": "touch made" })), says("done")]
}

#[tokio::test]
async fn with_nobody_to_ask_a_call_is_denied_with_its_exit_code() {
    for mode in ["text", "json"] {
        let place = Place::new(touches()).await;
        let arguments = ["--mode", mode, "--permission-mode", "ask", "make it"];
        let ended = run(&mut place.tau(&arguments), None).await;
        assert_eq!(ended.code, 4, "{ended:?}");
        assert!(!place.dir.path().join("made").exists());
        let said = format!("{}{}", ended.out, ended.err);
        assert!(said.contains("nobody is there to approve it"), "{said}");
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains("--permission-mode auto"), "the model is told: {request}");
    }
}

#[tokio::test]
async fn without_a_mode_scripts_work_as_ever_and_a_setting_changes_that() {
    let place = Place::new(touches()).await;
    let ended = run(&mut place.tau(&["-p", "make it"]), None).await;
    assert!(ended.code == 0 && place.dir.path().join("made").exists(), "{ended:?}");
    for (mode, code) in [("plan", 0), ("ask", 4), ("auto", 0)] {
        let place = Place::new(touches()).await;
        let ended = run(place.tau(&["-p", "make it"]).env("TAU_PERMISSION_MODE", mode), None).await;
        assert_eq!(ended.code, code, "{mode}: {ended:?}");
        assert_eq!(place.dir.path().join("made").exists(), mode == "auto", "{mode}");
    }
}

/// The answer at the first start concerns the screen: scripts work as before.
#[tokio::test]
async fn chosen_tools_are_the_only_ones_in_every_mode() {
    for mode in ["auto", "plan"] {
        let place = Place::new(vec![says("done")]).await;
        let ended =
            run(&mut place.tau(&["-p", "--permission-mode", mode, "--tools", "read", "hello"]), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let request = crate::support::program::body(&place.server.requests()[0]);
        assert_eq!(crate::support::program::offered_tools(&request), ["read"], "{mode}");
    }
}

#[tokio::test]
async fn the_mode_of_the_screen_is_not_that_of_scripts() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    for ((name, text), code) in [
        (file("logs/permission-mode.json", "{\"mode\":\"ask\"}"), 0),
        (file("config.toml", "permission_mode = \"ask\"\n"), 4),
        (file("config.toml", "permission_mode = \"edits\"\n"), 4),
    ] {
        let place = Place::new(touches()).await;
        let home = place.dir.path().join("config");
        std::fs::create_dir_all(home.join("logs")).unwrap();
        std::fs::write(home.join(name), &text).unwrap();
        let ended = run(place.tau(&["-p", "make it"]).env("TAU_HOME", &home), None).await;
        assert_eq!(ended.code, code, "{text}: {ended:?}");
        assert_eq!(place.dir.path().join("made").exists(), code == 0, "{text}");
    }
    // A renamed key is refused, with its current name.
    let place = Place::new(touches()).await;
    let home = place.dir.path().join("config");
    crate::support::write(&home.join("config.toml"), "screen_permission_mode = \"plan\"\n");
    let ended = run(place.tau(&["-p", "make it"]).env("TAU_HOME", &home), None).await;
    assert!(ended.code == 3 && ended.err.contains("permission_mode"), "{ended:?}");
}

#[tokio::test]
async fn a_line_of_input_decides_in_json_mode() {
    for (decision, made) in [("allow", true), ("deny", false)] {
        let place = Place::new(touches()).await;
        let mut command = place.tau(&["--json", "--permission-mode", "ask"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        input.write_all(b"{\"type\":\"message\",\"content\":\"make it\"}\n").await.unwrap();
        let mut types = Vec::new();
        while let Some(line) = lines.next_line().in_time("a record").await.unwrap() {
            let record: Value = serde_json::from_str(&line).unwrap();
            types.push(record["type"].as_str().unwrap_or_default().to_owned());
            if record["type"] == "approval_requested" {
                let request = &record["request"];
                assert_eq!(request["preview"], json!({ "kind": "command", "command": "touch made" }));
                let answer = json!({ "type": "approval", "id": request["id"], "decision": decision });
                input.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
            if record["type"] == "agent_settled" {
                break;
            }
        }
        drop(input);
        let status = child.wait().in_time("its end").await.unwrap();
        assert!(status.success(), "{decision}: {status:?}");
        assert!(types.iter().any(|kind| kind == "approval_ended"), "{types:?}");
        assert_eq!(place.dir.path().join("made").exists(), made, "{decision}");
    }
}

#[tokio::test]
async fn a_decision_or_an_answer_for_what_does_not_wait_is_an_error() {
    let place = Place::new(touches()).await;
    let lines = [
        json!({ "type": "message", "content": "make it" }),
        json!({ "type": "approval", "id": "nobody", "decision": "allow" }),
        json!({ "type": "answer", "id": "nobody\n", "values": {} }),
    ];
    let input = lines.map(|line| format!("{line}\n")).concat();
    let ended = run(&mut place.tau(&["--json"]), Some(&input)).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let records = ended.records();
    let errors: Vec<&Value> =
        records.iter().filter(|record| record["type"] == "error").map(|record| &record["error"]).collect();
    assert_eq!(
        errors,
        [
            &json!("no call with the id \"nobody\" is waiting for a decision"),
            &json!("no question with the id \"nobody\\n\" is waiting for an answer"),
        ]
    );
}

#[tokio::test]
async fn a_call_that_waits_when_the_input_ends_is_denied() {
    let place = Place::new(touches()).await;
    let mut command = place.tau(&["--json", "--permission-mode", "ask"]);
    let ended = run(&mut command, Some("{\"type\":\"message\",\"content\":\"make it\"}\n")).await;
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(!place.dir.path().join("made").exists());
}

/// Irreversible commands are denied if no one can be asked, in every mode and without any, and the message
/// says what would be lost. A rule that names the command lets it run.
#[tokio::test]
async fn what_cannot_be_taken_back_is_denied_with_what_would_be_lost() {
    let command = "git clean -fdx; rm -rf \"$NOTHING\"/; touch made";
    let acts = || vec![calls("bash", &json!({ "command": command })), says("done")];
    for arguments in [&["-p", "x"][..], &["-p", "--permission-mode", "auto", "x"]] {
        let place = Place::new(acts()).await;
        std::fs::write(place.dir.path().join("untracked"), "x").unwrap();
        let ended = run(&mut place.tau(arguments), None).await;
        let request = place.server.requests().pop().unwrap();
        let said = "git clean removes untracked and ignored files, which are nowhere else";
        assert!(request.contains(said), "{ended:?}\n{request}");
        assert!(!place.dir.path().join("made").exists() && place.dir.path().join("untracked").exists());
    }
    let command = "git clean -n; git stash clear; touch made";
    let place = Place::new(vec![calls("bash", &json!({ "command": command })), says("done")]).await;
    let home = place.dir.path().join("config");
    std::fs::create_dir_all(&home).unwrap();
    let rules = "[permissions]\nallow = [\"bash(git stash clear)\"]\n";
    std::fs::write(home.join("config.toml"), rules).unwrap();
    let ended = run(place.tau(&["-p", "x"]).env("TAU_HOME", &home), None).await;
    assert!(place.dir.path().join("made").exists(), "{ended:?}");
}

/// What a command gives to a removal or to a shell is judged, however it is given.
#[tokio::test]
async fn what_a_command_supplies_is_judged_before_it_runs() {
    for (command, runs) in [
        ("xargs rm -rf <<< \"$HOME\"", false),
        ("echo $HOME > l; xargs rm -rf < l", false),
        ("[[ $HOME =~ .* ]]; rm -rf \"${BASH_REMATCH[0]}\"", false),
        ("rm -rf $(cat <<< \"$HOME\")", false),
        ("yes 'rm -rf ~' | head -1 | sh", false),
        ("echo 'xrm -rf ~' | cut -c2- | sh", false),
        ("ls -A ~ | sed 's,^,rm -rf ~/,' | sh", false),
        ("awk 'BEGIN{print \"rm -rf \" ENVIRON[\"HOME\"] | \"sh\"}'", false),
        ("echo old > l; xargs rm -rf < l; ls old | sed 's,^,rm -rf old/,' | sh; touch made", true),
    ] {
        let place = Place::new(vec![calls("bash", &json!({ "command": command })), says("done")]).await;
        let home = place.dir.path().join("home");
        crate::support::write(&home.join("kept"), "x");
        crate::support::write(&place.dir.path().join("old/a"), "x");
        let arguments = ["-p", "--permission-mode", "auto", "x"];
        let ended = run(place.tau(&arguments).env("HOME", &home), None).await;
        let request = place.server.requests().pop().unwrap();
        assert!(home.join("kept").exists(), "{command}: {ended:?}");
        assert_eq!(place.dir.path().join("made").exists(), runs, "{command}: {request}");
        assert_eq!(place.dir.path().join("old").exists(), !runs, "{command}: {request}");
        assert_eq!(request.contains("it removes") || request.contains("nobody has read"), !runs, "{request}");
    }
}

/// A rule that denies a command cannot be bypassed by a command that runs it.
#[tokio::test]
async fn a_denied_command_is_denied_behind_what_runs_it() {
    for command in [
        "env a-b=1 touch made", "flock lock touch made", "git -c alias.x='!touch made' x",
        "some-program --do='touch made'",
    ] {
        let place = Place::new(vec![calls("bash", &json!({ "command": command })), says("done")]).await;
        let home = place.dir.path().join("config");
        std::fs::create_dir_all(&home).unwrap();
        let rules = "[permissions]\ndeny = [\"bash(touch *)\"]\n";
        std::fs::write(home.join("config.toml"), rules).unwrap();
        let arguments = ["-p", "--permission-mode", "auto", "x"];
        let ended = run(place.tau(&arguments).env("TAU_HOME", &home), None).await;
        assert!(!place.dir.path().join("made").exists(), "{command}: {ended:?}");
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains("a rule denies it"), "{command}: {request}");
    }
}

/// The permissions of Claude Code apply, and those of a project once it is trusted; unsupported ones are
/// reported.
#[tokio::test]
async fn permissions_of_another_agent_hold() {
    let settings = |permissions: Value| json!({ "permissions": permissions }).to_string();
    let denies = || settings(json!({ "deny": ["Bash(touch:*)"], "defaultMode": "plan" }));
    for (folder, arguments, denied) in
        [(".claude", &["--trust"][..], true), (".claude", &[], false), ("home/.claude", &[], true)]
    {
        let place = Place::new(touches()).await;
        let folder = place.dir.path().join(folder);
        crate::support::write(&folder.join("settings.json"), &denies());
        let home = place.dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let arguments = [&["-p", "--permission-mode", "auto", "make it"], arguments].concat();
        let ended = run(place.tau(&arguments).env("HOME", &home), None).await;
        assert_eq!(place.dir.path().join("made").exists(), !denied, "{folder:?} {arguments:?}: {ended:?}");
        if denied {
            assert!(place.server.requests().pop().unwrap().contains("a rule denies it"), "{ended:?}");
            assert!(ended.err.contains("permissions.defaultMode is not used by tau"), "{ended:?}");
        }
    }
}

/// A skill that changed since its last use allows nothing.
#[tokio::test]
async fn a_changed_template_allows_nothing_until_it_was_looked_at() {
    let place = Place::new([touches(), touches(), touches()].concat()).await;
    let home = place.dir.path().join("config");
    std::fs::create_dir_all(home.join("prompts")).unwrap();
    let template = home.join("prompts/make.md");
    let text = |more: &str| format!("---\nallowed-tools: Bash(touch made{more})\n---\nMake it.\n");
    let made = place.dir.path().join("made");
    for (more, allowed) in [("", true), ("", true), (":*", false)] {
        std::fs::write(&template, text(more)).unwrap();
        let arguments = ["-p", "--permission-mode", "ask", "/make"];
        let ended = run(place.tau(&arguments).env("TAU_HOME", &home), None).await;
        assert_eq!(made.exists(), allowed, "{more}: {ended:?}");
        let said =
            ended.err.contains("/make changed since it was used last, so what it allows does not hold");
        assert_eq!(said, !allowed, "{ended:?}");
        let _ = std::fs::remove_file(&made);
    }
}

/// Also for a model that only the server names: the rules do not come with the model.
#[tokio::test]
async fn rules_hold_whoever_names_the_model() {
    let models = crate::support::server::answer(
        "200 OK", "content-type: application/json\r\n", br#"{"data":[{"id":"served"}]}"#,
    );
    let place = Place::new([vec![Act::Send(models)], touches()].concat()).await;
    let home = place.dir.path();
    crate::support::write(&home.join("tau/config.toml"), "[permissions]\ndeny = [\"bash(touch *)\"]\n");
    let mut command = bare(home);
    command.env("TAU_HOME", home.join("tau")).args(["--base-url", &place.server.url(), "--api-key", "x"]);
    let ended = run(command.args(["-p", "make it"]), None).await;
    assert!(!home.join("made").exists(), "{ended:?}");
    let request = place.server.requests().pop().unwrap();
    assert!(request.contains("touch *"), "the model is told of the rule: {request}");
}

/// What is in tau's folders can raise the mode and the rights of sessions, or answer for the user.
#[tokio::test]
async fn nothing_in_the_folders_of_tau_is_changed_or_read_without_a_question() {
    let bash = |command: &str| ("bash", json!({ "command": command }));
    let mode = r#"{\"mode\":\"auto\"}"#;
    let given = [
        bash(&format!("echo {mode} > ~/.local/state/tau/permission-mode.json")),
        bash(&format!("cd ~/.local/state/tau && echo {mode} > perm*.json")),
        bash(&format!("python3 -c 'open(\"../.local/state/tau/rights/s.json\", \"w\").write(\"{mode}\")'")),
        bash("rm -rf ~/.local/state/tau"),
        bash("rm -rf ~/.cache/tau/*"),
        bash("cp x $XDG_RUNTIME_DIR/tau/1.sock"),
        bash("cat ~/.local/state/tau/servers/a.json"),
        ("write", json!({ "path": "../.local/state/tau/permission-mode.json", "content": "{}" })),
        ("write", json!({ "path": "../.local/state/tau/used-extensions.json", "content": "{}" })),
        (
            "edit",
            json!({ "path": "../.local/state/tau/permission-mode.json",
                    "edits": [{ "old_string": "ask", "new_string": "auto" }] }),
        ),
        ("read", json!({ "path": "../.local/state/tau/servers/a.json" })),
    ];
    for flags in
        [&["--permission-mode", "auto"][..], &["--permission-mode", "edits"], &["--permission-mode", "ask"]]
    {
        let acts = given.iter().map(|(tool, arguments)| calls(tool, arguments)).chain([says("done")]);
        let place = Place::new(acts.collect()).await;
        let (state, work) = (place.dir.path().join(".local/state/tau"), place.dir.path().join("work"));
        for folder in
            [&work, &state.join("servers"), &state.join("rights"), &place.dir.path().join("run/tau")]
        {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(state.join("permission-mode.json"), r#"{"mode":"ask"}"#).unwrap();
        std::fs::write(state.join("servers/a.json"), "a-token").unwrap();
        let mut tau = place.tau(flags);
        tau.args(["-p", "go"]).current_dir(&work).env("XDG_RUNTIME_DIR", place.dir.path().join("run"));
        let ended = run(&mut tau, None).await;
        assert_eq!(ended.code, 4, "{flags:?}: {ended:?}");
        let sent = crate::support::program::body(place.server.requests().last().unwrap());
        let messages = sent["messages"].as_array().unwrap();
        let results: Vec<String> = messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].to_string())
            .collect();
        assert_eq!(results.len(), given.len(), "{flags:?}");
        for (result, call) in results.iter().zip(&given) {
            assert!(
                result.contains("approve") && !result.contains("a-token"),
                "{flags:?} {call:?}: {result}"
            );
        }
        let kept = std::fs::read_to_string(state.join("permission-mode.json")).unwrap();
        assert_eq!(kept, r#"{"mode":"ask"}"#, "{flags:?}");
        let names = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| name != "used-extensions.json") && work.exists());
    }
}
