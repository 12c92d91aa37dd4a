//! `tau export --to`: a session in the format of another agent, read back by the readers of those formats.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tau::agent::protocol::message::{Block, Message};
use tau::agent::session::Session;
use tau::tools::Content;

use crate::support::session_files::{HEADER, entry, line};
use crate::time_limit::RunInTime;

const PICTURE: &str = "iVBORw0KGgo=";

struct Home(tempfile::TempDir);

impl Home {
    /// A home in which the other agents were used, with one session of tau.
    fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        for folder in [".claude", ".codex", ".pi/agent", "tau/sessions", "my shop"] {
            fs::create_dir_all(home.at(folder)).unwrap();
        }
        fs::write(home.at("tau/sessions/own.jsonl"), session(&home.work().to_string_lossy())).unwrap();
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn work(&self) -> PathBuf {
        self.at("my shop")
    }

    fn tau(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(args).current_dir(self.work()).env_clear().env("HOME", self.0.path());
        command.env("TAU_HOME", self.at("tau")).env("MY_TOKEN", "hunter2-hunter2").output_in_time()
    }

    /// Exports to the place of the program; returns the file and the notes.
    fn exported(&self, program: &str) -> (PathBuf, String) {
        let output = self.tau(&["export", "--to", program, "s1"]);
        assert!(output.status.success(), "{output:?}");
        let path = String::from_utf8(output.stdout).unwrap();
        (PathBuf::from(path.trim_end()), String::from_utf8(output.stderr).unwrap())
    }

    fn rows(&self) -> Vec<Value> {
        serde_json::from_slice(&self.tau(&["sessions", "--json"]).stdout).unwrap()
    }
}

/// A session with everything: pictures, thinking, calls, a shell command, a compaction, two branches, a secret.
fn session(cwd: &str) -> String {
    let answer = |content: Value, stop: &str| {
        json!({"message": {"role": "assistant", "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-x", "stopReason": stop, "usage": {"input": 7, "output": 3, "cacheRead": 2,
            "cacheWrite": 1, "totalTokens": 13}, "content": content, "timestamp": 1_767_323_049_000_i64}})
    };
    let calls = answer(
        json!([{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, {"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "call|1", "name": "bash", "arguments": {"command": "ls -la"}},
            {"type": "toolCall", "id": "c2", "name": "read", "arguments": {"path": "a.rs", "limit": 3}}]),
        "toolUse",
    );
    let result = |id: &str, text: &str, is_error: bool| {
        json!({"message": {"role": "toolResult", "toolCallId": id, "toolName": "x", "isError": is_error,
            "content": [{"type": "text", "text": text}], "timestamp": 1_767_323_050_000_i64}})
    };
    let picture = json!({"message": {"role": "user", "timestamp": 1, "content": [
        {"type": "text", "text": "what is this?"}, {"type": "image", "data": PICTURE, "mimeType": "image/png"}]}});
    let shell =
        json!({"message": {"role": "bashExecution", "command": "make", "output": "built", "timestamp": 1}});
    let lines = [
        HEADER.replace("/srv/web", cwd),
        line("a", None, "the oldest prompt"),
        entry("message", "b", Some("a"), answer(json!([{"type": "text", "text": "an old answer"}]), "stop")),
        line("side", Some("b"), "a side branch"),
        line("c", Some("b"), "look with hunter2-hunter2"),
        entry("message", "d", Some("c"), calls),
        entry("message", "e", Some("d"), result("call|1", "a.rs\nb.rs", false)),
        entry("message", "f", Some("e"), result("c2", "no such file", true)),
        entry(
            "compaction",
            "g",
            Some("f"),
            json!({"summary": "we began", "firstKeptEntryId": "c", "tokensBefore": 99}),
        ),
        entry("message", "h", Some("g"), picture),
        entry("message", "i", Some("h"), shell),
        entry("message", "j", Some("i"), answer(json!([{"type": "text", "text": "A pixel."}]), "stop")),
        entry("session_info", "k", Some("j"), json!({"name": "A look around"})),
    ];
    lines.join("\n") + "\n"
}

fn told(message: &Message) -> String {
    let blocks = |blocks: &[Block]| {
        let text = |block: &Block| match block {
            Block::Text { text, .. } => text.clone(),
            Block::ToolCall(call) => format!("<{} {}>", call.name, call.arguments),
            Block::Image { data, .. } => format!("[{data}]"),
            _ => String::new(),
        };
        blocks.iter().map(text).collect::<Vec<_>>().join("|")
    };
    match message {
        Message::User(user) => format!("user:{}", blocks(&user.content.blocks())),
        Message::Assistant(answer) => format!("{}:{}", answer.model, blocks(&answer.content)),
        Message::ToolResult(result) => {
            let text = result.content.iter().filter_map(|part| match part {
                Content::Text { text } => Some(text.as_str()),
                Content::Image { .. } => None,
            });
            format!("result {}:{}", result.tool_call_id, text.collect::<String>())
        }
        Message::BashExecution(run) => format!("shell:{}:{}", run.command, run.output),
        Message::CompactionSummary(summary) => format!("summary:{}", summary.summary),
        other => format!("{other:?}"),
    }
}

fn context(path: &Path) -> Vec<String> {
    let session = Session::copy(path, None, None).unwrap();
    assert_eq!(session.skipped_lines(), 0);
    session.context().messages.iter().map(|message| told(message)).collect()
}

/// The context that every program gets, but for the given messages.
fn expected(id: &str, calls: [&str; 2], picture: &str, shell: &str) -> Vec<String> {
    let [bash, read] = calls;
    [
        "summary:we began",
        "user:look with [redacted]",
        &format!("claude-x:I look.|<bash {bash}>|<read {read}>"),
        &format!("result {id}:a.rs\nb.rs"),
        "result c2:no such file",
        picture,
        shell,
        "claude-x:A pixel.",
    ]
    .map(str::to_owned)
    .into()
}

#[test]
fn claude_code_gets_a_session_that_it_finds() {
    let home = Home::new();
    let (path, notes) = home.exported("claude");
    let folder = home.work().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    assert_eq!(path.parent().unwrap(), home.at(".claude/projects").join(folder));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let id = path.file_stem().unwrap().to_str().unwrap();
    for words in [&format!("claude --resume {id}"), "1 thought", "1 side-branch message", "masked 1 secret"] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    let calls = [r#"{"command":"ls -la"}"#, r#"{"path":"a.rs","limit":3}"#];
    let picture = format!("user:what is this?|[{PICTURE}]");
    assert_eq!(context(&path), expected("call_1", calls, &picture, "shell:make:built"));
    // Every line names the session, its parent and its place.
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut known = vec![Value::Null];
    for line in lines.iter().filter(|line| line["type"] != "custom-title") {
        assert_eq!((&line["sessionId"], &line["cwd"]), (&json!(id), &json!(home.work())), "{line}");
        assert!(known.contains(&line["parentUuid"]) && !known.contains(&line["uuid"]), "{line}");
        known.push(line["uuid"].clone());
    }
    let names = text.matches(r#""name":"Bash""#).count() + text.matches(r#""file_path":"a.rs""#).count();
    assert_eq!(names, 2, "it knows its own tools: {text}");
    let row = home.rows().into_iter().find(|row| row["source"] == "claude").unwrap();
    assert_eq!((&row["title"], &row["id"]), (&json!("A look around"), &json!(id)));
    // Another one is another session.
    assert_ne!(home.exported("claude").0, path);
}

#[test]
fn codex_gets_a_session_that_it_finds() {
    let home = Home::new();
    let (path, notes) = home.exported("codex");
    assert!(path.starts_with(home.at(".codex/sessions/2026/01")), "{path:?}");
    let name = path.file_stem().unwrap().to_str().unwrap();
    let id = &name[name.len() - 36..];
    assert!(name.starts_with("rollout-2026-01-") && notes.contains(&format!("codex resume {id}")), "{notes}");
    let calls = [r#"{"command":"ls -la"}"#, r#"{"path":"a.rs","limit":3}"#];
    let picture = format!("user:what is this?|[{PICTURE}]");
    let shell = "user:I ran this command:\n\nmake\n\nIts output:\n\nbuilt";
    assert_eq!(context(&path), expected("call_1", calls, &picture, shell));
    let row = home.rows().into_iter().find(|row| row["source"] == "codex").unwrap();
    assert_eq!((&row["id"], &row["directory"]), (&json!(id), &json!(home.work())));
    // Its lists show sessions with such an event only.
    assert!(fs::read_to_string(&path).unwrap().contains(r#""type":"user_message""#));
}

/// What is for the model only goes to the model there, too, and names no session.
#[test]
fn what_was_not_shown_is_no_prompt_there() {
    for program in ["codex", "claude"] {
        let home = Home::new();
        let note =
            json!({"customType": "opencode.note", "content": "Called the Read tool", "display": false});
        let branch = json!({"fromId": "a", "summary": "a way that was left"});
        let lines = [
            HEADER.replace("/srv/web", &home.work().to_string_lossy()),
            entry("custom_message", "n", None, note),
            entry("branch_summary", "m", Some("n"), branch),
            line("a", Some("m"), "look at the picture"),
        ];
        fs::write(home.at("tau/sessions/own.jsonl"), lines.join("\n") + "\n").unwrap();
        let (path, _) = home.exported(program);
        let row = home.rows().into_iter().find(|row| row["source"] == program).unwrap();
        assert_eq!(row["title"], json!("look at the picture"), "{program}");
        let session = Session::copy(&path, None, None).unwrap();
        let (mut prompts, mut notes) = (Vec::new(), String::new());
        for message in &session.context().messages {
            match &**message {
                Message::User(_) => prompts.push(told(message)),
                Message::Custom(custom) if !custom.display => notes.push_str(&told(message)),
                other => panic!("{program}: {other:?}"),
            }
        }
        assert_eq!(prompts, ["user:look at the picture"], "{program}");
        assert!(notes.contains("Called the Read tool") && notes.contains("a way that was left"), "{notes}");
    }
}

#[test]
fn pi_gets_the_whole_tree() {
    let home = Home::new();
    let (path, notes) = home.exported("pi");
    assert!(path.starts_with(home.at(".pi/agent/sessions")) && notes.contains("pi --session "), "{path:?}");
    let session = Session::open(&path).unwrap();
    assert_eq!(
        session.tree().entries().len(),
        session.tree().entries().iter().filter(|e| !e.id.is_empty()).count()
    );
    assert_eq!((session.tree().entries().len(), session.info().name.as_deref()), (12, Some("A look around")));
    assert_ne!(session.info().id, "s1");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("a side branch") && !text.contains("hunter2"), "{text}");
}

/// Models without ids of their own count from zero in every turn, and a result may have lost its call.
#[test]
fn ids_of_calls_occur_once_and_results_have_calls() {
    let home = Home::new();
    let mut lines = vec![HEADER.replace("/srv/web", &home.work().to_string_lossy()), line("p", None, "look")];
    for turn in 0..3 {
        let parent = if turn == 0 { "p".to_owned() } else { format!("r{}", turn - 1) };
        let call = json!({"message": {"role": "assistant", "api": "x", "provider": "x", "model": "m",
            "stopReason": "toolUse", "timestamp": 1, "content": [{"type": "toolCall", "id": "functions.bash:0",
            "name": "bash", "arguments": {"command": "ls"}}]}});
        let result = json!({"message": {"role": "toolResult", "toolCallId": "functions.bash:0", "toolName": "bash",
            "content": [{"type": "text", "text": format!("output {turn}")}], "timestamp": 1}});
        lines.push(entry("message", &format!("c{turn}"), Some(&parent), call));
        lines.push(entry("message", &format!("r{turn}"), Some(&format!("c{turn}")), result));
    }
    let lost = json!({"message": {"role": "toolResult", "toolCallId": "gone", "toolName": "bash",
        "content": [{"type": "text", "text": "lost output"}], "timestamp": 1}});
    lines.push(entry("message", "lost", Some("r2"), lost));
    fs::write(home.at("tau/sessions/own.jsonl"), lines.join("\n") + "\n").unwrap();
    for (program, call, result) in [("claude", "id", "tool_use_id"), ("codex", "call_id", "call_id")] {
        let (path, notes) = home.exported(program);
        assert!(notes.contains("1 unmatched tool result"), "{notes}");
        let text = fs::read_to_string(path).unwrap();
        let ids = |kinds: [&str; 2], field: &str| -> Vec<String> {
            let part = |line: &str| {
                let line: Value = serde_json::from_str(line).unwrap();
                let part = line["payload"]
                    .as_object()
                    .or_else(|| line["message"]["content"][0].as_object())?
                    .clone();
                kinds.contains(&part.get("type")?.as_str()?).then(|| part[field].as_str().unwrap().to_owned())
            };
            text.lines().filter_map(part).collect()
        };
        let calls = ids(["tool_use", "function_call"], call);
        assert_eq!(calls, ["functions_bash_0", "functions_bash_0_2", "functions_bash_0_3"]);
        assert_eq!(ids(["tool_result", "function_call_output"], result), calls);
        assert!(text.contains("output 2") && !text.contains("lost output"), "{text}");
    }
}

#[test]
fn it_is_refused_where_it_cannot_be_done_and_overwrites_nothing() {
    let home = Home::new();
    fs::remove_dir_all(home.at(".codex")).unwrap();
    let refused = |args: &[&str], code: i32, words: &str| {
        let output = home.tau(args);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert!(errors.contains(words), "{errors}");
    };
    refused(&["export", "--to", "codex", "s1"], 3, "it was never used here");
    assert!(!home.at(".codex").exists());
    refused(&["export", "--to", "opencode", "s1"], 2, "claude, codex, pi");
    refused(&["export", "--to", "pi", "--format", "md", "s1"], 2, "--format");
    let file = home.at("there.jsonl");
    fs::write(&file, "mine").unwrap();
    refused(&["export", "--to", "codex", "s1", file.to_str().unwrap()], 3, "there.jsonl");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let output = home.tau(&["export", "--to", "codex", "s1", "-"]);
    assert!(output.stdout.starts_with(b"{\"timestamp\""), "{output:?}");
    // A session of another agent goes to a third one.
    let (claude, _) = home.exported("claude");
    let id = claude.file_stem().unwrap().to_str().unwrap();
    let copy = home.at("copy.jsonl");
    let output = home.tau(&["export", "--to", "codex", id, copy.to_str().unwrap()]);
    assert!(output.status.success() && context(&copy).len() == 8, "{output:?}");
}
