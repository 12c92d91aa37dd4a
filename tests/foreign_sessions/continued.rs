//! Sessions of other agents: listed beside tau's own, and continued in a copy. The original keeps
//! every byte, and nothing appears beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;

use crate::support::program::{Ended, bare, models_file, run, says};
use crate::support::server::Server;

/// The directory in the recordings.
const RECORDED: &str = "/home/dev/shop";

/// What opencode wrote, as statements.
pub(super) const OPENCODE: &str = include_str!("opencode.sql");

/// A home with sessions of other agents, and a server.
pub(super) struct Place {
    home: tempfile::TempDir,
    server: Server,
}

impl Place {
    pub(super) async fn new() -> Self {
        let place =
            Place { home: tempfile::tempdir().unwrap(), server: Server::start(vec![says("well")]).await };
        fs::create_dir_all(place.work()).unwrap();
        let config = place.at("tau");
        fs::create_dir_all(&config).unwrap();
        let models = models_file(&place.server.url(), "input = [\"text\", \"image\"]\n");
        fs::write(config.join("models.toml"), models).unwrap();
        place
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// The directory of the sessions, without links on the way.
    pub(super) fn work(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap().join("shop")
    }

    /// Puts a recording in its place, as if it had been made in this directory.
    pub(super) fn put(&self, path: &str, recording: &str) -> PathBuf {
        let work = self.work().to_string_lossy().into_owned();
        let path = self.at(&path.replace("DIR", &work.replace(|c: char| !c.is_ascii_alphanumeric(), "-")));
        crate::support::write(&path, &recording.replace(RECORDED, &work));
        path
    }

    pub(super) fn claude(&self) -> PathBuf {
        let path = ".claude/projects/DIR/5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl";
        self.put(path, include_str!("claude.jsonl"))
    }

    pub(super) fn codex(&self) -> PathBuf {
        let path = ".codex/sessions/2026/03/03/rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl";
        self.put(path, include_str!("codex.jsonl"))
    }

    pub(super) fn pi(&self) -> PathBuf {
        let work = self.work().to_string_lossy().trim_start_matches('/').replace('/', "-");
        let name = "2026-03-05T09-00-00-000Z_019f0000-8f0e-7a53-9d3c-1b2f3c4d5e70.jsonl";
        self.put(&format!(".pi/agent/sessions/--{work}--/{name}"), include_str!("pi.jsonl"))
    }

    /// The database of opencode, made from these statements.
    pub(super) fn opencode(&self, statements: &str) -> PathBuf {
        let path = self.at(".local/share/opencode/opencode.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = Connection::open(&path).unwrap();
        // As opencode has it: the mode stays in the file when the log is gone.
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(&statements.replace(RECORDED, &self.work().to_string_lossy())).unwrap();
        path
    }

    pub(super) fn into_home(self) -> tempfile::TempDir {
        self.home
    }

    pub(super) async fn run(&self, args: &[&str]) -> Ended {
        let mut command = bare(&self.work());
        command.env("HOME", self.home.path()).env("TAU_HOME", self.at("tau")).args(args);
        run(&mut command, None).await
    }

    pub(super) async fn rows(&self, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = ["sessions", "--json"].iter().chain(args).copied().collect();
        let ended = self.run(&args).await;
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
        serde_json::from_str(&ended.out).unwrap()
    }

    pub(super) async fn say(&self, args: &[&str]) -> Ended {
        let args: Vec<&str> = ["--model", "own/m", "-p", "continue"].iter().chain(args).copied().collect();
        self.run(&args).await
    }

    /// The last request: a line a message, without the system prompt.
    pub(super) fn sent(&self) -> Vec<String> {
        let requests = self.server.requests();
        let body = requests.last().unwrap().split_once("\r\n\r\n").unwrap().1;
        let body: Value = serde_json::from_str(body).unwrap();
        body["messages"].as_array().unwrap().iter().skip(1).map(told).collect()
    }

    /// Every file of other agents, with its bytes.
    pub(super) fn originals(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for place in [".claude", ".codex", ".pi", ".local/share/opencode"] {
            files(&self.at(place), &mut found);
        }
        found
    }

    /// The newest session of tau: its lines.
    pub(super) async fn own(&self) -> Vec<Value> {
        let rows = self.rows(&["--print", "--all"]).await;
        let row = rows.iter().find(|row| row["source"] == "tau").expect("a session of tau");
        let text = fs::read_to_string(row["path"].as_str().unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
}

/// A message of a request in short.
fn told(message: &Value) -> String {
    let part = |part: &Value| match part["type"].as_str() {
        Some("image_url") => "[picture]".to_owned(),
        _ => part["text"].as_str().unwrap_or_default().to_owned(),
    };
    let content = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => String::new(),
    };
    let call = |call: &Value| {
        let function = &call["function"];
        format!(" <{} {}>", function["name"].as_str().unwrap(), function["arguments"].as_str().unwrap())
    };
    let calls: String = message["tool_calls"].as_array().into_iter().flatten().map(call).collect();
    format!("{}: {content}{calls}", message["role"].as_str().unwrap())
}

#[tokio::test]
async fn sessions_of_all_agents_are_in_one_list() {
    let place = Place::new().await;
    let (claude, codex, pi) = (place.claude(), place.codex(), place.pi());
    place.opencode(OPENCODE);
    place.run(&["--model", "own/m", "-p", "hello", "--name", "own"]).await;
    let rows = place.rows(&[]).await;
    let work = place.work().to_string_lossy().into_owned();
    let facts: Vec<[&str; 5]> = rows
        .iter()
        .map(|row| {
            ["source", "id", "title", "directory", "updated"].map(|field| row[field].as_str().unwrap())
        })
        .collect();
    assert_eq!(facts.len(), 6, "{facts:?}");
    assert_eq!((facts[0][0], facts[0][2], facts[0][3]), ("tau", "own", work.as_str()));
    let id = "019f0000-8f0e-7a53-9d3c-1b2f3c4d5e70";
    assert_eq!(facts[1], ["pi", id, "Sort the list", &work, "2026-03-05T09:00:04.000Z"]);
    // Those of helpers, and what was archived, are not listed; nor is a title that says nothing.
    let mut both = [facts[2], facts[3]];
    both.sort_unstable();
    let time = "2026-03-04T10:01:00.000Z";
    assert_eq!(both[0], ["opencode", "ses_compacted0001", "the long story", &work, time]);
    assert_eq!(both[1], ["opencode", "ses_dedf2efa9ffegSA7jeLOJkQRV2", "Colours of the shop", &work, time]);
    let id = "01a2120d-07f4-7b43-8a4d-62225e4e10ef";
    assert_eq!(facts[4], ["codex", id, "Make the tests pass", &work, "2026-03-03T10:00:22.000Z"]);
    let id = "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f";
    assert_eq!(facts[5], ["claude", id, "Basket lost at login", &work, "2026-03-02T09:00:21.000Z"]);
    assert!(rows.iter().all(|row| row["state"] == "idle"), "{rows:?}");
    let counts = rows.iter().map(|row| (row["id"].as_str().unwrap(), row["messages"].as_u64().unwrap()));
    let counts: std::collections::BTreeMap<&str, u64> = counts.collect();
    assert_eq!((counts["ses_compacted0001"], counts["ses_dedf2efa9ffegSA7jeLOJkQRV2"]), (7, 5), "{counts:?}");
    let whole = |path: &Path| path.canonicalize().unwrap();
    let path = |at: usize| whole(Path::new(rows[at]["path"].as_str().unwrap()));
    assert_eq!([path(1), path(4), path(5)], [whole(&pi), whole(&codex), whole(&claude)]);
    let table = place.run(&["sessions"]).await.out;
    for words in ["claude", "codex", "tau", "pi", "opencode", "Basket lost at login"] {
        assert!(table.contains(words), "no {words:?} in {table}");
    }
    // Somewhere else there are none of them, but all are in the list of all.
    fs::create_dir_all(place.work().join("below")).unwrap();
    let mut command = bare(&place.work().join("below"));
    command.env("HOME", place.home.path()).env("TAU_HOME", place.at("tau"));
    assert_eq!(run(command.args(["sessions", "--json"]), None).await.out, "[]\n");
    assert_eq!(place.rows(&["--all"]).await.len(), 6);
    // The latest session of the directory is one of tau's, whatever others did since.
    place.claude();
    assert_eq!(place.say(&["--continue"]).await.code, 0);
    assert_eq!(place.sent().len(), 3, "{:?}", place.sent());
}

#[tokio::test]
async fn a_session_of_claude_code_is_continued_in_a_copy() {
    let place = Place::new().await;
    let path = place.claude();
    let before = place.originals();
    // A part of the id is enough, as for tau's own.
    let ended = place.say(&["--session", "4d5e6f"]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "well"), "{ended:?}");
    let left_out = "not carried over from Claude Code: 1 file checkpoint, 2 subagent messages";
    assert!(ended.err.contains(left_out), "{}", ended.err);
    assert!(ended.err.contains("skipped 1 unreadable line"), "{}", ended.err);
    let work = place.work().to_string_lossy().into_owned();
    let expected = [
        "user: Why is the basket empty after login?[picture]",
        "assistant: I look at both files. <bash {\"command\":\"cat login.py\"}> <read {\"path\":\"DIR/basket.py\"}>",
        "tool: def login(): rotate()",
        "tool: File does not exist.",
        "assistant: The basket is kept under the old id.",
        "user: Keep the basket, please.",
        "assistant:  <edit {\"path\":\"DIR/login.py\",\"old_string\":\"rotate()\",\
         \"new_string\":\"move_basket(rotate())\",\"replace_all\":false}>",
        "tool: The file login.py has been updated.",
        "user: Images of the tool results above:[picture]",
        "user: Ran `git diff --stat`\n```\nlogin.py | 2 +-\n```",
        "assistant: The basket moves along now.",
        "user: continue",
    ];
    let expected: Vec<String> = expected.iter().map(|line| line.replace("DIR", &work)).collect();
    assert_eq!(place.sent(), expected);
    assert_eq!(place.originals(), before);
    // The copy has everything, also what the model does not get, and names where it comes from.
    let lines = place.own().await;
    let header = &lines[0];
    assert_eq!(
        (header["parentSource"].as_str(), header["cwd"].as_str()),
        (Some("claude"), Some(work.as_str()))
    );
    assert_eq!(Path::new(header["parentSession"].as_str().unwrap()), path);
    let of =
        |id: &str| lines.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("{id}: {lines:?}"));
    let answer = &of("a-1")["message"];
    assert_eq!(answer["content"][0]["thinking"], "The session id changes on login.");
    assert_eq!((&answer["model"], &answer["usage"]["cacheRead"]), (&"claude-sonnet-4-5".into(), &100.into()));
    assert_eq!(of("a-6")["message"]["content"][0]["text"], "a review that was taken back");
    assert_eq!(of("u-3")["timestamp"], "2026-03-02T09:00:16.000Z");
    assert!(lines.iter().any(|line| line["name"] == "Basket lost at login"), "{lines:?}");
    // Nobody continued it on the screen, so only the original is listed, which commands for tau's own name.
    let rows = place.rows(&[]).await;
    assert_eq!((rows.len(), &rows[0]["source"]), (1, &"claude".into()), "{rows:?}");
    let logs = place.run(&["logs", rows[0]["id"].as_str().unwrap()]).await;
    assert!(logs.code == 3 && logs.err.contains("of Claude Code; `tau --session "), "{logs:?}");
    // It is an ordinary session from now on.
    assert_eq!(place.say(&["--continue"]).await.code, 0);
    assert_eq!(place.sent().len(), expected.len() + 2);
    assert_eq!(place.originals(), before);
}

/// The program writes limits, errors and interruptions as answers of a model that is none.
#[tokio::test]
async fn errors_that_claude_code_wrote_leave_the_model() {
    let place = Place::new().await;
    let line = |id: &str, parent: &str, kind: &str, more: &str| {
        let head = r#""sessionId":"88aa7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f","cwd":"/home/dev/shop","timestamp":"2026-03-02T09:00:01.000Z""#;
        format!(r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},{head},{more}}}"#)
    };
    let answer = |id: &str, model: &str, text: &str| {
        format!(
            r#""message":{{"id":"{id}","role":"assistant","model":"{model}","content":[{{"type":"text","text":"{text}"}}]}}"#
        )
    };
    let error = answer("m2", "<synthetic>", "API Error: overloaded") + r#","isApiErrorMessage":true"#;
    let lines = [
        line("u1", "null", "user", r#""message":{"role":"user","content":"begin"}"#),
        line("a1", r#""u1""#, "assistant", &answer("m1", "claude-sonnet-4-5", "begun")),
        line("a2", r#""a1""#, "assistant", &error),
    ];
    place.put(".claude/projects/DIR/88aa7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl", &(lines.join("\n") + "\n"));
    let ended = place.say(&["--session", "88aa7c1e"]).await;
    assert!(ended.code == 0 && !ended.err.contains("<synthetic>"), "{ended:?}");
    assert_eq!(place.sent(), ["user: begin", "assistant: begun", "user: continue"]);
    let text = place.run(&["export", "88aa7c1e", "-", "--format", "md"]).await.out;
    assert_eq!(text.matches("API Error: overloaded").count(), 1, "{text}");
    assert!(text.contains("## Error") && !text.contains("synthetic"), "{text}");
}

#[tokio::test]
async fn a_session_of_codex_is_continued_in_a_copy() {
    let place = Place::new().await;
    let path = place.codex();
    let renamed = path.with_file_name("renamed.jsonl");
    fs::rename(&path, &renamed).unwrap();
    assert_eq!(place.say(&["--session", "62225e4e10ef"]).await.code, 0);
    fs::rename(&renamed, &path).unwrap();
    let before = place.originals();
    let ended = place.say(&["--session", &path.to_string_lossy()]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "well"), "{ended:?}");
    assert!(ended.err.contains("not carried over from Codex: 1 encrypted thought"), "{}", ended.err);
    let expected = [
        "user: Make the tests pass[picture]",
        "assistant: Running the tests. <bash {\"command\":\"cargo test\"}> <bash {\"command\":\"ls tests\"}>",
        "tool: Chunk ID: 1\nProcess exited with code 101\nOutput:\ntest parser ... FAILED\n",
        "tool: parser.rs\n",
        "assistant:  <apply_patch {\"input\":\"*** Begin Patch\\n*** End Patch\\n\"}>",
        "tool: Success.",
        "assistant: The tests pass.",
        "user: Thanks. What was it?",
        "assistant: A missing comma.",
        "user: continue",
    ];
    assert_eq!(place.sent(), expected);
    assert_eq!(place.originals(), before);
    let lines = place.own().await;
    assert_eq!(lines[0]["parentSource"], "codex");
    let answer = &lines.iter().find(|line| line["message"]["role"] == "assistant").unwrap()["message"];
    assert_eq!(answer["content"][0]["thinking"], "I run them first.");
    let usage = &answer["usage"];
    assert_eq!(
        (&usage["input"], &usage["cacheRead"], &answer["model"]),
        (&200.into(), &1000.into(), &"gpt-5.5".into())
    );
    let taken_back = lines.iter().any(|line| line["message"]["content"] == "a question that was taken back");
    assert!(taken_back, "{lines:?}");
}

#[tokio::test]
async fn a_session_of_opencode_is_continued_in_a_copy() {
    let place = Place::new().await;
    place.opencode(OPENCODE);
    let before = place.originals();
    let short = place.rows(&[]).await;
    let short = short.iter().find(|row| row["title"] == "Colours of the shop").unwrap()["shortId"].clone();
    assert_eq!(short, "QRV2");
    let ended = place.say(&["--session", "QRV2"]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "well"), "{ended:?}");
    assert!(ended.err.contains("not carried over from opencode: 1 document"), "{}", ended.err);
    let work = place.work().to_string_lossy().into_owned();
    let expected = [
        "user: What is in this picture?[picture]",
        "assistant: One moment. <bash {\"command\":\"ls\"}> \
         <edit {\"path\":\"DIR/shop.css\",\"old_string\":\"red\",\"new_string\":\"blue\"}>",
        "tool: shop.css",
        "tool: oldString not found",
        "assistant: A red square.",
        "assistant:  <webfetch {\"url\":\"https://example.com\"}>",
        "tool: no result: the call was interrupted",
        "user: And now?",
        "assistant: Still red.",
        "user: continue",
    ];
    let expected: Vec<String> = expected.iter().map(|line| line.replace("DIR", &work)).collect();
    assert_eq!(place.sent(), expected);
    // Neither a log nor shared memory has appeared beside the database.
    assert_eq!(place.originals(), before);
    let lines = place.own().await;
    assert_eq!(lines[0]["parentSource"], "opencode");
    let answer = &lines.iter().find(|line| line["message"]["role"] == "assistant").unwrap()["message"];
    assert_eq!(answer["content"][0]["thinking"], "I look it up.");
    let usage = &answer["usage"];
    assert_eq!((&usage["output"], &usage["cost"]["total"]), (&10.into(), &0.25.into()));
    let result = &lines.iter().find(|line| line["message"]["role"] == "toolResult").unwrap()["message"];
    assert_eq!(result["durationMs"], 150);
    // The path that the list gives is as good as the id.
    let path = place.at(".local/share/opencode/opencode.db/ses_dedf2efa9ffegSA7jeLOJkQRV2");
    assert_eq!(place.say(&["--fork", &path.to_string_lossy()]).await.code, 0);
    assert_eq!(place.sent(), expected);
}

#[tokio::test]
async fn a_database_that_is_in_use_is_read_with_its_newest_messages() {
    let place = Place::new().await;
    let path = place.opencode(OPENCODE);
    let opencode = Connection::open(&path).unwrap();
    opencode.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let newest = "INSERT INTO message VALUES('msg_9999','ses_dedf2efa9ffegSA7jeLOJkQRV2',1772618500000,1772618500000,\
                  '{\"role\":\"user\",\"time\":{\"created\":1772618500000}}');\
                  INSERT INTO part VALUES('prt_9999','msg_9999','ses_dedf2efa9ffegSA7jeLOJkQRV2',1,1,\
                  '{\"type\":\"text\",\"text\":\"only in the log\"}');";
    opencode.execute_batch(newest).unwrap();
    let before = place.originals();
    assert_eq!(before.len(), 3, "the database, its log, its shared memory");
    let ended = place.say(&["--session", "ses_dedf"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(place.sent().contains(&"user: only in the log".to_owned()), "{:?}", place.sent());
    assert_eq!(place.originals(), before);
    // After a crash it may be that only opencode itself can tell what counts.
    let crashed = Place::new().await;
    let folder = crashed.at(".local/share/opencode");
    fs::create_dir_all(&folder).unwrap();
    for (path, bytes) in before.iter().filter(|(path, _)| !path.to_string_lossy().ends_with("-shm")) {
        fs::write(folder.join(path.file_name().unwrap()), bytes).unwrap();
    }
    let before = crashed.originals();
    let ended = crashed
        .say(&["--session", &folder.join("opencode.db/ses_dedf2efa9ffegSA7jeLOJkQRV2").to_string_lossy()])
        .await;
    assert!(ended.code == 3 && ended.err.contains("start it once"), "{ended:?}");
    assert_eq!(crashed.originals(), before);
}

#[tokio::test]
async fn what_an_older_opencode_wrote_in_files_is_read() {
    let place = Place::new().await;
    let work = place.work();
    let storage = place.at(".local/share/opencode/storage");
    let put = |path: &str, value: Value| {
        crate::support::write(&storage.join(path), &value.to_string());
    };
    let time = serde_json::json!({"created": 1772618400000_i64, "updated": 1772618460000_i64});
    let session = serde_json::json!({"id": "ses_1", "directory": work, "title": "Files", "time": time});
    put("session/p/ses_1.json", session);
    put("message/ses_1/msg_1.json", serde_json::json!({"id": "msg_1", "role": "user", "time": time}));
    put("part/msg_1/prt_1.json", serde_json::json!({"type": "text", "text": "from a file"}));
    put("message/ses_1/msg_2.json", serde_json::json!({"id": "msg_2", "role": "assistant", "time": time}));
    put("part/msg_2/prt_2.json", serde_json::json!({"type": "text", "text": "read"}));
    let before = place.originals();
    let rows = place.rows(&[]).await;
    assert_eq!((&rows[0]["source"], &rows[0]["title"]), (&"opencode".into(), &"Files".into()), "{rows:?}");
    assert_eq!(place.say(&["--session", "ses_1"]).await.code, 0);
    assert_eq!(place.sent(), ["user: from a file", "assistant: read", "user: continue"]);
    assert_eq!(place.originals(), before);
}

#[tokio::test]
async fn a_session_of_pi_is_continued_in_a_copy() {
    let place = Place::new().await;
    let path = place.pi();
    // What the file is called does not matter.
    fs::rename(&path, path.with_file_name("renamed.jsonl")).unwrap();
    let before = place.originals();
    let ended = place.say(&["--session", "4d5e70"]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "well"), "{ended:?}");
    let expected = [
        "user: Sort the list[picture]",
        "assistant:  <bash {\"command\":\"sort list\"}>",
        "tool: a\nb",
        "assistant: Sorted.",
        "user: continue",
    ];
    assert_eq!(place.sent(), expected);
    assert_eq!(place.originals(), before);
    let lines = place.own().await;
    assert_eq!(lines[0]["parentSource"], "pi");
    assert!(lines.iter().any(|line| line["message"]["ownField"] == 7), "{lines:?}");
}

#[tokio::test]
async fn a_message_to_a_session_of_another_agent_continues_it_in_a_copy() {
    let place = Place::new().await;
    place.claude();
    fs::write(place.at("tau/config.toml"), "model = \"own/m\"\n").unwrap();
    let before = place.originals();
    let sent = place.run(&["send", "4d5e6f", "continue"]).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    let id = sent.out.trim();
    assert_eq!(place.run(&["wait", id]).await.code, 0, "{sent:?}");
    assert_eq!(place.sent().last().unwrap(), "user: continue");
    assert_eq!(place.originals(), before);
    for word in ["wait", "stop", "logs"] {
        let refused = place.run(&[word, "4d5e6f"]).await;
        assert!(refused.code == 3 && refused.err.contains("is of Claude Code"), "{refused:?}");
    }
}

/// The recordings that others made: one session of each program.
#[tokio::test]
async fn recorded_sessions_of_each_program_are_continued() {
    let places = ["../shared", "../../shared"]
        .map(|place| Path::new(env!("CARGO_MANIFEST_DIR")).join(place).join("sessions"));
    let Some(shared) = places.into_iter().find(|place| place.is_dir()) else {
        println!("notice: no recorded sessions here; our own are checked by other tests");
        return;
    };
    let read = |start: &str| {
        let file = fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().path());
        let mut file = file.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(start));
        fs::read_to_string(file.next().unwrap()).unwrap()
    };
    let place = Place::new().await;
    let work = place.work().to_string_lossy().trim_start_matches('/').replace('/', "-");
    place.put(".claude/projects/DIR/a4bb51b5-d02e-4eeb-af51-59b76c1e25c7.jsonl", &read("claude"));
    let id = "01a2120d-07f4-7b43-8a4d-62225e4e10ef";
    place.put(&format!(".codex/sessions/2026/11/25/rollout-2026-11-25T09-32-53-{id}.jsonl"), &read("codex"));
    place.put(&format!(".pi/agent/sessions/--{work}--/x_1.jsonl"), &read("pi"));
    place.opencode(&read("opencode"));
    let before = place.originals();
    let rows = place.rows(&[]).await;
    let sources: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["source"].as_str().unwrap()).collect();
    assert_eq!(sources.into_iter().collect::<Vec<_>>(), ["claude", "codex", "opencode", "pi"]);
    for row in &rows {
        let ended = place.say(&["--session", row["id"].as_str().unwrap()]).await;
        assert_eq!(ended.code, 0, "{row}: {ended:?}");
        let sent = place.sent();
        let source = &row["source"];
        assert!(sent[0].contains("please fix the parser"), "{source}: {sent:?}");
        let calls = sent.iter().filter(|line| line.contains(" <")).count();
        let results = sent.iter().filter(|line| line.starts_with("tool: ")).count();
        assert_eq!((calls, results), (4, 4), "{source}: {sent:?}");
        assert!(sent.iter().any(|line| line.ends_with("ZTOOLS4Q")), "{source}: {sent:?}");
        let end = &sent[sent.len() - 3..];
        assert!(end[0].contains("and now the second question"), "{source}: {sent:?}");
        assert_eq!(end[1..], ["assistant: second answer", "user: continue"], "{source}");
    }
    assert_eq!(place.originals(), before);
}

#[tokio::test]
async fn what_was_compacted_stays_so() {
    let place = Place::new().await;
    place.opencode(OPENCODE);
    let claude = ".claude/projects/DIR/77aa7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl";
    place.put(claude, include_str!("claude-compacted.jsonl"));
    let codex =
        ".codex/sessions/2026/03/03/rollout-2026-03-03T11-00-00-01a2120d-aaaa-7b43-8a4d-62225e4e10aa.jsonl";
    place.put(codex, include_str!("codex-compacted.jsonl"));
    for (id, words) in [
        ("77aa7c1e", "Summary: the basket moves along."),
        ("ses_compacted0001", "Summary: the square is red."),
        ("01a2120d-aaaa", "the long story\n\nAnother model wrote this summary: a comma was missing."),
    ] {
        let ended = place.say(&["--session", id]).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let sent = place.sent();
        assert!(sent[0].contains("<summary>") && sent[0].contains(words), "{sent:?}");
        assert_eq!(sent[1..], ["user: and after it?", "assistant: All is well.", "user: continue"]);
        let lines = place.own().await;
        assert!(!lines.iter().any(|line| line.to_string().contains("is told twice")), "{lines:?}");
        // What was said before is in the file.
        assert!(place.own().await.iter().any(|line| line["message"]["content"] == "the long story"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_read_of_an_exported_session_is_said() {
    let place = Place::new().await;
    let path = place.claude();
    let helpers = path.with_extension("").join("subagents");
    crate::support::write(&helpers.join("agent-1.jsonl"), "{}\n");
    fs::create_dir_all(place.at(".codex")).unwrap();
    let ended = place.run(&["export", "--to", "codex", "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f", "-"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let (whose, what) = ("not carried over from Claude Code: ", "1 subagent transcript\n");
    assert!(ended.err.contains(whose) && ended.err.contains(what), "{ended:?}");
}
