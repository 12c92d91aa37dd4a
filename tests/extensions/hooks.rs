//! Hooks, as users meet them: the real program, with hooks in its `config.toml`.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::write;
use crate::sandbox::has_landlock;
use crate::screen::Screen;
use crate::support::program::{Ended, bare, calls, calls_all, own_model, run, says};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

/// A folder with settings, in which the program runs.
pub(super) struct Place {
    pub(super) dir: tempfile::TempDir,
    pub(super) mode: &'static str,
}

impl Place {
    pub(super) fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("config/config.toml"), config);
        Place { dir, mode: "auto" }
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Runs `tau --print go` with these acts of the model; returns its end, and the bodies of the requests.
    pub(super) async fn prints(&self, acts: Vec<Act>, arguments: &[&str]) -> (Ended, Vec<Value>) {
        let server = Server::start(acts).await;
        let mut command = bare(self.dir.path());
        command.env("TAU_HOME", self.path("config")).env("TAU_PERMISSION_MODE", self.mode);
        command.env("OPENAI_API_KEY", "sk-of-another");
        command.args([
            "--base-url",
            &server.url(),
            "--api-key",
            "sk-of-the-user",
            "--model",
            "m",
            "-p",
            "begin the work",
        ]);
        let ended = run(command.args(arguments), None).await;
        let body = |request: &String| {
            let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            serde_json::from_str(body).unwrap_or_default()
        };
        (ended, server.requests().iter().map(body).collect())
    }

    /// The result of one call made by the model, and tau's other output.
    pub(super) async fn calls(&self, tool: &str, arguments: &Value) -> (String, String) {
        let (ended, requests) = self.prints(vec![calls(tool, arguments), says("Finished.")], &[]).await;
        let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
        let result = messages.iter().rfind(|message| message["role"] == "tool").expect("a result");
        (result["content"].to_string(), ended.err)
    }
}

/// A hook for this event that runs a script.
pub(super) fn hook(event: &str, matcher: &str, script: &str) -> String {
    format!("[[hooks.{event}]]\nmatcher = '{matcher}'\ncommand = '''{script}'''\ntimeout = 30\n")
}

/// A hook before calls with this decision.
fn decides(decision: &str) -> String {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": "because"}});
    hook("PreToolUse", "", &format!("echo '{answer}'"))
}

fn json_file(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_blocks_a_call_and_tells_the_model_why() {
    // The names that scripts for other agents look for.
    let script = r#"case "$(cat)" in *'"command":"touch '*) echo "no files here" >&2; exit 2;; esac"#;
    let place = Place::new(&hook("PreToolUse", "Bash|Edit", script));
    let (result, _) = place.calls("bash", &json!({"command": "touch made"})).await;
    assert!(result.contains("denied by a hook of the user") && result.contains("no files here"), "{result}");
    assert!(!place.path("made").exists());
    let (result, _) = place.calls("bash", &json!({"command": "echo fine"})).await;
    assert!(result.contains("fine"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_the_document_works() {
    let document = include_str!("../../docs/extending.md");
    let (_, example) = document.split_once("```toml\n# config.toml\n[[hooks.").unwrap();
    let (example, _) = example.split_once("```\n").unwrap();
    let place = Place::new(&format!("[[hooks.{example}"));
    let (result, _) = place.calls("bash", &json!({"command": "git push origin"})).await;
    assert!(result.contains("pushing is up to the user"), "{result}");
    let (result, _) = place.calls("bash", &json!({"command": "echo git push"})).await;
    assert!(!result.contains("pushing is up"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_changes_a_call() {
    let script = r#"cat > /dev/null
echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo changed"}}}'"#;
    let place = Place::new(&hook("PreToolUse", "^Ba.h$", script));
    let (result, _) = place.calls("bash", &json!({"command": "touch made"})).await;
    assert!(
        result.contains("changed the arguments of this call to") && result.contains("echo changed"),
        "{result}"
    );
    assert!(!place.path("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_changed_a_call_says_so_where_the_call_fails() {
    let script = r#"cat > /dev/null
echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "use make",
"updatedInput": {"command": "exit 3"}}}'"#;
    let place = Place::new(&hook("PreToolUse", "^Bash$", script));
    let (result, _) = place.calls("bash", &json!({"command": "touch made"})).await;
    for part in ["exit code 3", "A hook of the user: use make", "changed the arguments of this call to"] {
        assert!(result.contains(part), "{part}: {result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_given_what_scripts_expect_and_no_keys() {
    let config = hook("PreToolUse", "Write", "cat > before.json; env > env.txt")
        + &hook("PostToolUse", "write", "cat > after.json; echo formatted >&2; exit 2");
    let place = Place::new(&config);
    let (result, _) = place.calls("write", &json!({"path": "a.txt", "content": "x\n"})).await;
    assert!(result.contains("A hook of the user: formatted"), "{result}");
    assert!(place.path("a.txt").exists());
    let before = json_file(&place.path("before.json"));
    assert_eq!(before["hook_event_name"], "PreToolUse");
    assert_eq!(before["tool_name"], "Write");
    assert_eq!(before["tool_input"], json!({"file_path": place.path("a.txt"), "content": "x\n"}));
    assert_eq!(before["cwd"], json!(place.path("").to_string_lossy().trim_end_matches('/')));
    assert_eq!(before["permission_mode"], "bypassPermissions");
    assert!(before["session_id"].as_str().is_some_and(|id| !id.is_empty()));
    assert!(before["transcript_path"].as_str().is_some_and(|path| path.ends_with(".jsonl")), "{before}");
    let after = json_file(&place.path("after.json"));
    assert_eq!(after["tool_response"]["success"], true, "{after}");
    assert_eq!(after["tool_use_id"], before["tool_use_id"]);
    let env = std::fs::read_to_string(place.path("env.txt")).unwrap();
    assert!(env.contains("CLAUDE_PROJECT_DIR=/") && !env.contains("sk-of-"), "{env}");
}

/// The actions of hooks are kept with the result, without secrets; problems with one are reported as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_hooks_did_is_kept_with_the_call() {
    let key = format!("ghp_{}", "x8Kq2Vb7Lm4Zt9Rw3Ys6Nd1Hf5Gj0Pc2TaQe");
    let answer = json!({"systemMessage": format!("checked with {key}"),
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo changed"}}});
    let config = hook("PreToolUse", "", &format!("cat >facts.json; echo '{answer}'"))
        + &hook("PostToolUse", "", "exit 3");
    let place = Place::new(&config);
    let (_, err) = place.calls("bash", &json!({"command": "echo"})).await;
    assert!(err.contains("hook PostToolUse exit 3: failed with exit code 3"), "{err}");
    assert!(!err.contains("changed the call"), "{err}");
    let facts = json_file(&place.path("facts.json"));
    let session = std::fs::read_to_string(facts["transcript_path"].as_str().unwrap()).unwrap();
    let lines = session.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let result = lines.into_iter().find(|line| line["message"]["role"] == "toolResult").expect("a result");
    let hooks = result["message"]["hooks"].as_array().unwrap();
    let texts: Vec<&str> = hooks.iter().map(|note| note["text"].as_str().unwrap()).collect();
    assert!(texts[0].starts_with("checked with ") && !texts[0].contains(&key), "{texts:?}");
    assert_eq!(texts[1..], ["changed the call", "failed with exit code 3"]);
    assert!(hooks[0]["hook"].as_str().unwrap().starts_with("PreToolUse cat"), "{hooks:?}");
    assert_eq!((&hooks[1]["isWarning"], &hooks[2]["isWarning"]), (&Value::Null, &json!(true)));
}

/// Calls run at the same time, and their results get numbers when they end.
#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_that_a_hook_repeats_stands_for_no_other_secret() {
    let place = Place::new(&hook("PostToolUse", "", "grep -o '\\[secret [^]]*]' >&2; exit 2"));
    write(&place.path("a.env"), "API_TOKEN=zx81-Q7rr-99aB\n");
    write(&place.path("b.env"), "API_TOKEN=wv52-K3mm-46cD\n");
    let both = ["a.env", "b.env"].map(|name| ("bash", json!({"command": format!("cat {name}")})));
    let (_, requests) = place.prints(vec![calls_all(&both, 1), says("Done.")], &[]).await;
    let messages = requests[1]["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let marks = |result: &Value| -> Vec<String> {
        let text = result["content"].to_string();
        text.split("[secret ").skip(1).map(|rest| rest.split(']').next().unwrap().to_owned()).collect()
    };
    let marks: Vec<Vec<String>> = results.map(marks).collect();
    assert_eq!(marks.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2], "{messages:?}");
    for own_and_repeated in &marks {
        assert!(marks.iter().all(|other| other[0] != own_and_repeated[1]), "{marks:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_spares_a_question_and_nothing_more() {
    let call = json!({"command": "touch made"});
    let mut place = Place::new(&decides("allow"));
    place.mode = "ask";
    place.calls("bash", &call).await;
    assert!(place.path("made").exists(), "nobody had to be asked");
    for (mode, rules) in
        [("ask", "deny = ['bash(touch *)']"), ("auto", "deny = ['bash(touch *)']"), ("plan", "")]
    {
        let mut place = Place::new(&format!("{}[permissions]\n{rules}\n", decides("allow")));
        place.mode = mode;
        let (result, _) = place.calls("bash", &call).await;
        assert!(result.contains("denied") && !place.path("made").exists(), "{mode} {rules}: {result}");
    }
    let mut place = Place::new(&decides("allow"));
    place.mode = "ask";
    let (result, _) = place.calls("write", &json!({"path": ".git/hooks/x", "content": ""})).await;
    assert!(!place.path(".git/hooks/x").exists(), "protected paths stay protected: {result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_denies_or_has_the_user_asked() {
    for decision in ["deny", "ask"] {
        let place = Place::new(&decides(decision));
        let (result, _) = place.calls("bash", &json!({"command": "touch made"})).await;
        assert!(!place.path("made").exists(), "{decision}: {result}");
        assert!(result.contains("because"), "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_counts_whatever_else_a_hook_writes() {
    let deny = r#"{"decision": "block", "reason": "because"}"#;
    for script in [
        format!("echo ready; echo '{deny}'"),
        format!("echo '{deny}'; echo done"),
        format!("echo '{deny}'; echo '{{\"suppressOutput\": true}}'"),
        format!("echo '{deny}'; exit 2"),
        format!("echo ready; echo '{deny}'; exit 1"),
    ] {
        let own = Place::new(&hook("PreToolUse", "", &script));
        let others = Place::new("claude_hooks = true\n");
        let settings =
            json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": script}]}]}});
        write(&others.path(".claude/settings.json"), &settings.to_string());
        for place in [own, others] {
            let (result, said) = place.calls("bash", &json!({"command": "touch made"})).await;
            assert!(
                result.contains("denied by a hook") && result.contains("because"),
                "{script}: {result} {said}"
            );
            assert!(!place.path("made").exists(), "{script}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_says_that_cannot_be_read_is_no_consent() {
    for script in [
        r#"echo "{'decision': 'block'}""#, r#"echo '{"decision": "blok"}'"#, r#"echo '{"decision": "bl'"#,
        r#"echo '{"permission": "deny"}'"#,
    ] {
        let place = Place::new(&hook("PreToolUse", "", script));
        let (result, said) = place.calls("bash", &json!({"command": "touch made"})).await;
        assert!(said.contains("a hook asks") && said.contains("answered"), "{script}: {result} {said}");
        assert!(!place.path("made").exists(), "{script}");
        let open = Place::new(&(hook("PreToolUse", "", script) + "fail = 'open'\n"));
        let (_, said) = open.calls("bash", &json!({"command": "touch made"})).await;
        assert!(said.contains("answered") && open.path("made").exists(), "{script}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_closed_denies() {
    for script in ["exit 1", "kill -9 $$", "/no/such/program", "sleep 60", "echo '{'", "yes | head -c 300000"]
    {
        let closed = hook("PreToolUse", "", script).replace("timeout = 30", "timeout = 1\nfail = 'closed'");
        let place = Place::new(&closed);
        let (result, _) = place.calls("bash", &json!({"command": "touch made"})).await;
        assert!(result.contains("denied by a hook") && result.contains("closed"), "{script}: {result}");
        assert!(!place.path("made").exists(), "{script}");
    }
    let prompt = hook("UserPromptSubmit", "", "exit 1") + "fail = 'closed'\n";
    let (ended, requests) = Place::new(&prompt).prints(vec![says("sent")], &[]).await;
    assert!(requests.is_empty() && ended.err.contains("blocked the prompt"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_are_blocked_or_get_context() {
    let place = Place::new(&hook("UserPromptSubmit", "", "cat > prompt.json; echo not today >&2; exit 2"));
    let (ended, requests) = place.prints(vec![says("Hello.")], &[]).await;
    assert!(requests.is_empty(), "{requests:?}");
    assert!(ended.err.contains("a hook blocked the prompt: not today"), "{}", ended.err);
    assert_ne!(ended.code, 0);
    assert_eq!(json_file(&place.path("prompt.json"))["prompt"], "begin the work");
    let place = Place::new(&hook("UserPromptSubmit", "", "echo it is raining"));
    let (ended, requests) = place.prints(vec![says("Hello.")], &[]).await;
    assert_eq!(ended.out.trim(), "Hello.", "{}", ended.err);
    assert!(requests[0]["messages"].to_string().contains("it is raining"), "{}", requests[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_fail_hang_or_flood_do_not_keep_tau_from_working() {
    for (script, why) in [
        ("echo broken >&2; exit 1", "failed with exit code 1: broken"),
        ("sleep 1000", "did not end within 1 second and was killed"),
        ("trap '' TERM; sleep 1000 & while :; do :; done", "did not end within 1 second and was killed"),
        ("exec no-such-program-anywhere", "failed with exit code 127"),
    ] {
        let place = Place::new(&hook("PreToolUse", "", script).replace("timeout = 30", "timeout = 1"));
        let (result, err) = place.calls("bash", &json!({"command": "echo fine"})).await;
        assert!(result.contains("fine"), "{script}: {result}");
        assert!(err.contains(why), "{script}: {err}");
    }
    let flood = "head -c 1000000000 /dev/zero";
    let place = Place::new(&hook("PreToolUse", "", &format!("{flood} >&2")));
    let (result, err) = place.calls("bash", &json!({"command": "echo fine"})).await;
    assert!(result.contains("fine"), "{result} {err}");
    let place = Place::new(&hook("PreToolUse", "", flood));
    let (_, err) = place.calls("bash", &json!({"command": "echo fine"})).await;
    assert!(err.contains("a hook asks") && err.contains("wrote more than 256 KB"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_a_project_need_trust() {
    let place = Place::new("");
    write(&place.path(".tau/config.toml"), &hook("PreToolUse", "", "touch ran"));
    place.calls("bash", &json!({"command": "echo"})).await;
    assert!(!place.path("ran").exists());
    let acts = vec![calls("bash", &json!({"command": "echo"})), says("Finished.")];
    let (ended, _) = place.prints(acts, &["--trust"]).await;
    assert!(place.path("ran").exists(), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_another_agent_run_if_that_is_set() {
    let settings = json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "touch \"$CLAUDE_PROJECT_DIR\"/ran"}]}]}});
    for (config, runs) in [("", false), ("claude_hooks = true", true)] {
        let place = Place::new(config);
        write(&place.path(".claude/settings.json"), &settings.to_string());
        place.calls("bash", &json!({"command": "echo"})).await;
        assert_eq!(place.path("ran").exists(), runs);
    }
}

/// The hooks of another agent in a project need both: trust, and the user's permission to run such hooks.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_another_agent_in_a_project_need_trust() {
    let hooks = |name: &str| {
        let command = format!("touch \"$CLAUDE_PROJECT_DIR\"/{name}");
        let hooks =
            json!({"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]});
        json!({"permissions": {"allow": ["Bash"]}, "hooks": hooks}).to_string()
    };
    for (config, trust, runs) in [
        ("claude_hooks = true", &["--trust"][..], true),
        ("claude_hooks = true", &[], false),
        ("", &["--trust"], false),
    ] {
        let place = Place::new(config);
        write(&place.path("work/.claude/settings.json"), &hooks("ran"));
        write(&place.path("work/.claude/settings.local.json"), &hooks("ran-too"));
        let acts = vec![calls("bash", &json!({"command": "echo"})), says("Finished.")];
        let work = place.path("work").display().to_string();
        let arguments = [trust, &["--cwd", &work]].concat();
        let (ended, _) = place.prints(acts, &arguments).await;
        assert_eq!(ended.code, 0, "{}", ended.err);
        for name in ["ran", "ran-too"] {
            assert_eq!(place.path("work").join(name).exists(), runs, "{config} {trust:?} {}", ended.err);
        }
        let is_ignored = ended.err.contains("ignoring .claude/settings.json, .claude/settings.local.json");
        assert_eq!(is_ignored, config == "claude_hooks = true" && trust.is_empty(), "{}", ended.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_can_be_turned_off_and_mistakes_are_reported() {
    let off =
        format!("extensions_off = ['hook:PreToolUse touch ran']\n{}", hook("PreToolUse", "", "touch ran"));
    let place = Place::new(&off);
    place.calls("bash", &json!({"command": "echo"})).await;
    assert!(!place.path("ran").exists());
    let place = Place::new("[[hooks.PreToolUse]]\ncomand = \"x\"\n");
    let (ended, requests) = place.prints(vec![says("Hello.")], &[]).await;
    assert!(requests.is_empty() && ended.code != 0);
    assert!(ended.err.contains("config.toml:1: hook PreToolUse: "), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_sandboxed_if_that_is_set() {
    needs!(has_landlock());
    let place = Place::new("");
    let outside = crate::sandbox::Place::new();
    let script = format!("touch {}/made", outside.outside.display());
    let set = |sandboxed: bool| {
        format!(
            "sandbox.level = 'workspace-write'\nsandbox.hooks = {sandboxed}\n{}",
            hook("PreToolUse", "", &script)
        )
    };
    for sandboxed in [true, false] {
        write(&place.path("config/config.toml"), &set(sandboxed));
        place.calls("bash", &json!({"command": "echo"})).await;
        assert_eq!(outside.outside.join("made").exists(), !sandboxed);
    }
}

/// A command could have rewritten such a hook, so it has only the rights of commands.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_from_the_workspace_runs_in_the_sandbox() {
    needs!(has_landlock());
    let place = Place::new("");
    let outside = crate::sandbox::Place::new();
    let made = outside.outside.join("made");
    let script = format!("touch {}", made.display());
    write(&place.path("hook.sh"), &script);
    let elsewhere = outside.outside.join("hook.sh");
    std::fs::write(&elsewhere, &script).unwrap();
    let elsewhere = format!("sh {}", elsewhere.display());
    for (command, runs_outside) in
        [("sh hook.sh", false), ("sh ./hook.sh", false), ("cat hook.sh | sh", false), (&*elsewhere, true)]
    {
        let config = format!("sandbox.level = 'workspace-write'\n{}", hook("PreToolUse", "", command));
        write(&place.path("config/config.toml"), &config);
        place.calls("bash", &json!({"command": "echo"})).await;
        assert_eq!(made.exists(), runs_outside, "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_at_every_moment_of_a_session() {
    let log = |event: &str| hook(event, "", &format!("cat > {event}.json; echo {event} >> events.txt"));
    let mut config: String = ["SessionEnd", "PreToolUse", "PostToolUse"].map(log).concat();
    config += &hook("SessionStart", "startup", "echo SessionStart >> events.txt; echo the sun shines");
    config += &hook("UserPromptSubmit", "", "echo UserPromptSubmit >> events.txt");
    let stop = r#"echo Stop >> events.txt
case "$(cat)" in *'"stop_hook_active":false'*) echo "run the tests first" >&2; exit 2;; esac"#;
    config += &hook("Stop", "", stop);
    let place = Place::new(&config);
    let acts = vec![calls("bash", &json!({"command": "echo"})), says("Done."), says("Tested.")];
    let (ended, requests) = place.prints(acts, &[]).await;
    assert_eq!(ended.out.trim(), "Tested.", "{}", ended.err);
    let events = std::fs::read_to_string(place.path("events.txt")).unwrap();
    let events: Vec<&str> = events.lines().collect();
    let expected =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Stop", "SessionEnd"];
    assert_eq!(events, expected, "{}", ended.err);
    assert!(requests[0]["messages"].to_string().contains("the sun shines"), "{}", requests[0]);
    assert!(requests[2]["messages"].to_string().contains("run the tests first"), "{}", requests[2]);
    assert_eq!(json_file(&place.path("SessionEnd.json"))["reason"], "exit");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_always_has_more_to_do_does_not_keep_a_run_for_ever() {
    let place = Place::new(&hook("Stop", "", "echo more >&2; exit 2"));
    let (ended, requests) = place.prints(vec![says("Done.")], &[]).await;
    assert_eq!((ended.code, requests.len()), (0, 11), "{}", ended.err);
}

/// Sends lines on standard input and returns the output until it contains `until`.
async fn speaks(place: &Place, mut command: Command, lines: &[Value], until: &str) -> String {
    let command = command.env("TAU_HOME", place.path("config")).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut all = String::new();
    while let Some(line) = output.next_line().in_time("a line").await.unwrap() {
        all += &line;
        if line.contains(until) {
            break;
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_blocks_a_compaction() {
    let place = Place::new(&hook("PreCompact", "manual", "cat > compact.json; echo keep it all >&2; exit 2"));
    let server = Server::start(vec![says("Hello.")]).await;
    let mut command = bare(place.dir.path());
    command.args(["--mode", "rpc"]).args(own_model(&server.url()));
    let lines = [json!({"type": "compact", "customInstructions": "be short"})];
    let all = speaks(&place, command, &lines, "compaction_end").await;
    assert!(all.contains("hook blocked it: keep it all"), "{all}");
    let given = json_file(&place.path("compact.json"));
    assert_eq!((&given["trigger"], &given["custom_instructions"]), (&json!("manual"), &json!("be short")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_that_a_call_waits() {
    let script = "cat > waits.new; mv waits.new waits.json";
    let place = Place::new(&hook("Notification", "permission_prompt", script));
    let server = Server::start(vec![calls("bash", &json!({"command": "touch made"})), says("Done.")]).await;
    let mut command = bare(place.dir.path());
    command.args(["--json", "--permission-mode", "ask", "--base-url", &server.url()]);
    command.args(["--api-key", "x", "--model", "m"]).env("TAU_HOME", place.path("config"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"type\":\"message\",\"content\":\"go\"}\n").await.unwrap();
    let waits = place.path("waits.json");
    let exists = async {
        while !waits.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    exists.in_time("the hook").await;
    assert_eq!(json_file(&waits)["message"], "tau needs your permission to use bash");
}

/// The user sees the actions of hooks, gets a blocked prompt back, and finds them in the list.
#[test]
fn hooks_are_shown_on_the_screen() {
    let script = r#"mkdir -p $TAU_HOME; cat >$TAU_HOME/config.toml <<'END'
[[hooks.UserPromptSubmit]]
command = '''case "$(cat)" in *vault*) echo no vaults >&2; exit 2;; esac'''
END
"#;
    let screen = Screen::prepared(script, "--model demo", 100, 30);
    screen.type_keys("open the vault\r");
    screen.wait_for("a hook blocked the prompt: no vaults");
    screen.wait_until("the prompt back", |cells| cells.contents().matches("open the vault").count() == 1);
    screen.type_keys("\x15/extensions\r");
    screen.wait_for("● on      UserPromptSubmit case");
}

/// `sandbox.hooks` applies from the next hook on.
#[test]
fn hooks_are_sandboxed_while_tau_runs_if_that_is_set() {
    needs!(has_landlock());
    let outside = crate::sandbox::Place::new();
    let path = |name: &str| outside.outside.join(name);
    let screen = Screen::prepared("mkdir -p $TAU_HOME", "--model demo", 100, 30);
    let script = format!("echo x >> {}; echo x >> $HOME/ran", path("made").display());
    let config = |sandboxed: bool| {
        let hook = hook("UserPromptSubmit", "", &script);
        format!(
            "sandbox.level = 'workspace-write'\nsandbox.writable = ['~']\nsandbox.hooks = {sandboxed}\n{hook}"
        )
    };
    let lines = |path: &Path| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    screen.reload(&config(false), "now in effect");
    for (count, sandboxed, made) in [(1, false, 1), (2, true, 1), (3, false, 2)] {
        if count > 1 {
            screen.reload(&config(sandboxed), &format!("now in effect: sandbox.hooks {sandboxed}"));
        }
        screen.type_keys(&format!("hello {count}\r"));
        screen.wait_until("the hook", |_| lines(&screen.home().join("ran")) == count);
        screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
        assert_eq!(lines(&path("made")), made, "run {count}");
    }
}

/// The list of extensions shows which programs run in the sandbox: those of the workspace, and all custom
/// tools.
#[test]
fn what_runs_in_the_sandbox_says_so_in_the_list() {
    needs!(has_landlock());
    let script = r#"mkdir -p $TAU_HOME/tools tools
cat >$TAU_HOME/config.toml <<'END'
[[hooks.PreToolUse]]
command = "sh tools/inside.sh"
[[hooks.PreToolUse]]
command = "/bin/true outside"
END
cat >$TAU_HOME/tools/lines.toml <<'END'
description = "Counts lines"
command = ["wc", "-l"]
END
cat >$TAU_HOME/mcp.json <<'END'
{"mcpServers": {"inside": {"command": "./server"}, "outside": {"command": "/bin/false"}}}
END
"#;
    let list = |flags: &str, marked: &[&str]| {
        let screen = Screen::prepared(script, &format!("--model demo {flags}"), 110, 40);
        screen.type_keys("/extensions\r");
        screen.wait_for("Counts lines");
        screen.wait_until("the servers", |cells| cells.contents().matches("× failed").count() == 2);
        let rows = screen.rows();
        for name in ["inside.sh", "true outside", " lines", "failed  inside", "failed  outside"] {
            let row =
                rows.iter().find(|row| row.contains(name)).unwrap_or_else(|| panic!("{name}: {rows:#?}"));
            assert_eq!(row.contains("sandboxed"), marked.contains(&name), "{flags}: {row}");
        }
    };
    list("--sandbox workspace-write", &["inside.sh", " lines", "failed  inside"]);
    list("--sandbox off", &[]);
}
