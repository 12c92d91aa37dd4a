//! A hook that denies is obeyed, however the model writes the call and whatever the hook writes.

use serde_json::{Value, json};

use super::hooks::{Place, hook};
use super::write;
use crate::support::program::{calls, says};

const READ: &str = "read";

/// A model cannot get past a hook by the spelling of its arguments.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_get_the_arguments_as_the_tool_uses_them() {
    let script = r#"case "$(cat)" in
        *'"command":"touch '*|*'"file_path":"/'*/secret.txt'"'*) echo because >&2; exit 2;; esac"#;
    let place = Place::new(&hook("PreToolUse", "Bash|Read", script));
    let secret = place.path("secret.txt");
    write(&secret, "one\n");
    for (tool, arguments) in [
        ("bash", json!({"cmd": "touch made"})),
        ("bash", json!({"command": ["touch made"], "description": "x"})),
        (READ, json!({"file": "secret.txt"})),
        (READ, json!({"filename": "secret.txt"})),
    ] {
        let (result, _) = place.calls(tool, &arguments).await;
        assert!(!result.contains("one\\n") && !place.path("made").exists(), "{arguments}: {result}");
    }
    let (result, _) = place.calls("bash", &json!({"cmd": "echo fine"})).await;
    assert!(result.contains("fine"), "{result}");
    let place = Place::new(&hook("PreToolUse", "Edit|Write", "echo because >&2; exit 2"));
    let secret = place.path("secret.txt");
    for change in [
        json!({"old_string": "one", "new_string": "two", "edits": []}),
        json!({"edits": [{"old_string": "one", "new_string": "two"}]}),
    ] {
        write(&secret, "one\n");
        let mut arguments = json!({"file": "secret.txt"});
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let acts =
            vec![calls(READ, &json!({"path": "secret.txt"})), calls("edit", &arguments), says("Done.")];
        let (ended, requests) = place.prints(acts, &[]).await;
        assert!(requests[2]["messages"].to_string().contains("because"), "{arguments}: {}", ended.err);
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "one\n", "{arguments}");
    }
}

/// A hook that repeats the call on its output denies calls of any length.
#[tokio::test(flavor = "multi_thread")]
async fn the_length_of_a_call_does_not_keep_a_hook_from_denying() {
    for script in ["cat >&2; exit 2", "cat; exit 2", "cat; exit 0"] {
        let place = Place::new(&hook("PreToolUse", "", script));
        let long = json!({"path": "made", "content": "x".repeat(300_000)});
        let (result, said) = place.calls("write", &long).await;
        assert!(result.contains("hook") && !place.path("made").exists(), "{script}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_no_consent_whatever_a_failure_means() {
    for answer in
        [r#"{"decision": "approve"}{"decision": "bl"#, r#"{"decision": "approve", "continue": "false"}"#]
    {
        let script = format!("echo '{answer}'");
        let mut place = Place::new(&(hook("PreToolUse", "", &script) + "fail = 'open'\n"));
        place.mode = "ask";
        let (_, said) = place.calls("bash", &json!({"command": "touch made"})).await;
        assert!(said.contains("answered") && !place.path("made").exists(), "{answer}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_in_another_encoding_is_no_consent() {
    for script in [
        r#"printf '\377\376'; printf '{"decision":"block"}' | sed 's/./&\x00/g'"#,
        r#"printf '\376\377'; printf '{"decision":"block"}' | sed 's/./\x00&/g'"#,
        r#"printf '{"deci\377sion":"block"}'"#,
    ] {
        let place = Place::new(&hook("PreToolUse", "", script));
        let (result, said) = place.calls("bash", &json!({"command": "touch made"})).await;
        assert!(said.contains("a hook asks") && !place.path("made").exists(), "{script}: {result} {said}");
    }
}

/// Print mode says who stopped the run, and nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_hook_stops_was_not_stopped_by_another_process() {
    let place = Place::new(&hook("PostToolUse", "", r#"echo '{"continue": false, "stopReason": "halt"}'"#));
    let acts = vec![calls("bash", &json!({"command": "echo x"})), says("Done.")];
    let (ended, _) = place.prints(acts, &[]).await;
    assert!(ended.err.contains("a hook stopped the run: halt"), "{}", ended.err);
    assert!(!ended.err.contains("another process"), "{}", ended.err);
}

/// A place with this hook for commands, as Claude Code has them in its settings.
fn with_hook_of_others(event: &str, hook: &Value) -> Place {
    let place = Place::new("claude_hooks = true\n");
    let settings = json!({"hooks": {event: [{"matcher": "Bash|Edit|Write", "hooks": [hook]}]}});
    write(&place.path(".claude/settings.json"), &settings.to_string());
    place
}

/// A hook with arguments is a program: no shell reads them, or the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_a_hook_gets_its_arguments() {
    for arguments in [
        ["-c", "echo \"$1\" >&2; exit 2", "sh", "$(touch ran)"].as_slice(),
        ["${CLAUDE_PROJECT_DIR}/guard file.sh", "$(touch ran)"].as_slice(),
    ] {
        let place = with_hook_of_others("PreToolUse", &json!({"command": "sh", "args": arguments}));
        write(&place.path("guard file.sh"), "echo \"$1\" >&2\nexit 2\n");
        let (result, said) = place.calls("bash", &json!({"command": "echo $(touch ran) >made"})).await;
        assert!(result.contains("denied by a hook") && result.contains("$(touch ran)"), "{result} {said}");
        assert!(!place.path("made").exists() && !place.path("ran").exists(), "{arguments:?}");
    }
}

/// A hook about some calls denies no others.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_with_a_rule_runs_for_the_calls_of_the_rule() {
    let guard = |rule: &str| json!({"command": "echo no >&2; exit 2", "if": rule});
    for (rule, tool, arguments, is_denied) in [
        ("Bash(rm *)", "bash", json!({"command": "echo fine; rm -f x"}), true),
        ("Bash(rm *)", "bash", json!({"cmd": "echo fine"}), false),
        ("Bash(rm *)", "write", json!({"path": "made", "content": "x"}), false),
        ("Edit(*.ts)", "write", json!({"path": "made.ts", "content": "x"}), true),
    ] {
        let place = with_hook_of_others("PreToolUse", &guard(rule));
        let (result, said) = place.calls(tool, &arguments).await;
        assert_eq!(result.contains("denied by a hook"), is_denied, "{rule} {arguments}: {result} {said}");
    }
}

/// Nothing waits for a hook in the background.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_in_the_background_is_not_awaited() {
    let slow = json!({"command": "echo >started; sleep 120; exit 2", "async": true});
    let place = with_hook_of_others("PreToolUse", &slow);
    let wait = json!({"command": "until test -e started; do sleep 0.05; done; echo fine"});
    let (result, said) = place.calls("bash", &wait).await;
    assert!(result.contains("fine") && !said.contains("hook"), "{result} {said}");
}

/// The prompt is not sent without what a hook kept from running.
#[tokio::test(flavor = "multi_thread")]
async fn a_template_whose_command_a_hook_denies_is_not_sent() {
    let place = Place::new(&hook("PreToolUse", "", "echo because >&2; exit 2"));
    write(&place.path("config/prompts/make.md"), "Made: !`touch made`");
    let (ended, requests) = place.prints(vec![says("Done.")], &["/make"]).await;
    assert!(requests.len() == 1 && ended.err.contains("not sent: /make: denied by a hook"), "{}", ended.err);
}

/// A hook before calls that tau cannot run guards nobody: tau says so, and does not start where nobody can be asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_of_another_agent_that_is_not_understood_is_a_fault() {
    let command = json!({"type": "command", "command": "exit 2"});
    for (event, group, is_fault) in [
        ("PreToolUse", json!({"matcher": "^(?!Read|Grep).*$", "hooks": [command]}), true),
        ("PreToolUSe", json!({"hooks": [command]}), true),
        ("PreToolUse", json!({"hooks": [{"type": "http", "url": "http://127.0.0.1/"}]}), true),
        ("PreToolUse", command.clone(), true),
        ("SubagentStop", json!({"hooks": [command]}), false),
    ] {
        let place = Place::new("claude_hooks = true\n");
        write(&place.path(".claude/settings.json"), &json!({"hooks": {event: [group]}}).to_string());
        let (ended, requests) = place.prints(vec![says("Done.")], &[]).await;
        assert_eq!(
            (requests.is_empty(), ended.code == 3),
            (is_fault, is_fault),
            "{event} {group}: {ended:?}"
        );
        assert_eq!(ended.err.contains("settings.json: hook"), is_fault, "{}", ended.err);
    }
}
