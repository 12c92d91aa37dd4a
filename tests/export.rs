//! Sessions as documents: no content is markup, secret or fetched.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tau::agent::export::{Document, Format, coloured_document};
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::TaskEvent;
use tau::agent::protocol::message::StopReason;
use tau::agent::protocol::query::{Query, QueryAnswer, SessionSource};
use tau::agent::session::{Access, Session};
use tau::agent::{AgentCommand, AgentEvent};
use tau::app::Effect;
use tau::app::request::ScreenRequest;

use crate::fake::Step::{Say, Stop};
use crate::fake::{Bench, Player};
use crate::harness::{Screen, text};
use crate::support::session_files::{Folder, HEADER, entry, line};
use crate::time_limit::{EndInTime, RunInTime};

/// The session as a document, without colours in code.
fn document(session: &Session, format: Format, secrets: &[String]) -> Document {
    coloured_document(session, format, secrets, &mut |_, _| Vec::new())
}

const KEY: &str = "sk-ant-api03-A1b2C3d4E5f6G7h8I9j0K1l2";

/// A session with every kind of content, hostile where possible.
fn session() -> String {
    let answer = json!({"message": {"role": "assistant", "api": "x", "provider": "p", "model": "<m>", "stopReason": "toolUse",
        "content": [
            {"type": "thinking", "thinking": "hm </details><script>alert(1)</script>"},
            {"type": "text", "text": "**bold** <script>alert(2)</script> [x](javascript:alert(3)) ![p](http://evil/p.png)\n\n```\n<b>\n```\n"},
            {"type": "toolCall", "id": "c1", "name": "ed\"it", "arguments": {"path": "a.rs", "key": KEY}}]}});
    let diff = json!({"kind": "diff", "path": "a.rs", "added": 1, "removed": 1,
        "hunks": [{"oldStart": 1, "newStart": 1, "lines": [" same", "-old <i>", "+new & \u{1b}[2J"]}]});
    let result = json!({"message": {"role": "toolResult", "toolCallId": "c1", "toolName": "edit",
        "content": [{"type": "text", "text": "replaced"}], "details": diff, "isError": false}});
    let picture = json!({"message": {"role": "toolResult", "toolCallId": "c2", "toolName": "read",
        "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": "\" onerror=\"alert(4)", "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "text/html"}], "isError": true}});
    let odd = json!({"message": {"role": "user", "content": "other <b>branch</b>", "timestamp": 5}});
    [
        HEADER.to_owned(),
        line("a", None, "my value is hunter2-hunter2 </div><img src=x onerror=alert(5)>"),
        entry("message", "b", Some("a"), answer),
        entry("message", "\"><script>", Some("a"), odd),
        entry("message", "c", Some("b"), result),
        entry("message", "d", Some("c"), picture),
        entry("label", "l", Some("d"), json!({"targetId": "a", "label": "<start>"})),
        entry("session_info", "n", Some("l"), json!({"name": "Title <x>"})),
    ]
    .join("\n")
        + "\n"
}

/// A page in which a model has worked: its calls, in rows.
#[test]
fn a_page_has_a_row_for_each_call() {
    let usage = json!({"input": 1200, "output": 30, "cacheRead": 0, "cacheWrite": 0,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.0123}});
    let text = "See https://example.org/a_b, then:\n\n```rust\nfn main() {}\n```\n\n| a | b |\n| - | - |\n| Risk | 1 |\n";
    let answer = json!({"message": {"role": "assistant", "api": "x", "provider": "p", "model": "m", "stopReason": "toolUse",
        "usage": usage, "content": [{"type": "text", "text": text},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "python3 -m unittest\necho $?"}},
            {"type": "toolCall", "id": "c2", "name": "read", "arguments": {"path": "src/a.rs"}}]}});
    let failed = json!({"message": {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": true,
        "content": [{"type": "text", "text": "E: no\nexit code 1"}], "durationMs": 1240,
        "details": {"kind": "terminal", "text": "E: no", "exitCode": 1}}});
    let stray = json!({"message": {"role": "toolResult", "toolCallId": "c9", "toolName": "ls", "content": [], "isError": false, "durationMs": 240}});
    let lines = [
        HEADER.to_owned(),
        line("a", None, "Look at\u{20}the tests. Then go."),
        entry("message", "b", Some("a"), answer),
        entry("message", "c", Some("b"), failed),
        entry("message", "d", Some("c"), stray),
    ];
    let session = Session::from_lines(&(lines.join("\n") + "\n")).unwrap();
    let mut tokens = |language: &str, code: &str| {
        let known = language == "rust" && code.starts_with("fn main");
        if known { vec![vec![(0..2, "keyword")]] } else { Vec::new() }
    };
    let page = coloured_document(&session, Format::Html, &[], &mut tokens).text;
    for part in [
        "<title>Look at the tests</title>",
        "<details class=\"call failed\"><summary><b>bash</b> <code>python3 -m unittest…</code>\
         <span class=\"end\"> ✗1 1.2s</span></summary><pre>python3 -m unittest\necho $?</pre><pre>E: no\nexit code 1</pre></details>",
        "<summary><b>read</b> <code>src/a.rs</code><span class=\"end\"></span></summary>",
        "<summary><b>ls</b><span class=\"end\"></span></summary></details>",
        "<a href=\"https://example.org/a_b\">https://example.org/a_b</a>, then",
        "<pre><code><span class=\"keyword\">fn</span> main() {}</code></pre>",
        "<td>Risk</td>",
        "m · 1200 tokens in, 30 out · $0.0123",
    ] {
        assert!(page.contains(part), "{part}:\n{}", page.split_once("<main>").unwrap().1);
    }
    assert_eq!(page.matches("E: no").count(), 1, "the result is in the row of its call alone");
}

fn written(format: Format) -> (String, usize) {
    let folder = Folder::new();
    let path = folder.file(session());
    let session = Session::open_as(&path, Access::Read).unwrap();
    let document = document(&session, format, &["hunter2-hunter2".to_owned()]);
    assert!(!document.text.contains("hunter2") && !document.text.contains(KEY), "{}", document.text);
    (document.text, document.masked)
}

/// Including fields of other programs: exported lines form a session as good as the first.
#[test]
fn lines_keep_the_fields_that_are_not_known() {
    let usage = json!({"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "reasoning": 1});
    let answer = json!({"message": {"role": "assistant", "content": [], "api": "x", "provider": "p", "model": "m",
        "usage": usage, "stopReason": "deferred", "timestamp": 5, "diagnostics": [{"why": KEY}]}});
    let result = json!({"message": {"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": [],
        "details": {"weird": [1]}, "isError": false, "nestedCalls": [], "timestamp": 6}});
    let summary = json!({"fromId": "b", "summary": "s", "fromHook": false});
    let lines = [
        HEADER.to_owned(),
        entry("message", "a", None, answer),
        entry("message", "b", Some("a"), result),
        entry("branch_summary", "c", Some("a"), summary),
    ];
    let folder = Folder::new();
    let path = folder.file(lines.join("\n") + "\n");
    let exported = document(&Session::open_as(&path, Access::Read).unwrap(), Format::Jsonl, &[]);
    assert_eq!((exported.masked, exported.text.contains(KEY)), (1, false));
    let masked = exported.text.lines().nth(1).unwrap().split("\"why\":\"").nth(1).unwrap();
    let masked = masked.split('"').next().unwrap();
    assert_eq!(exported.text.replace(masked, KEY), lines.join("\n") + "\n");
}

#[test]
fn a_page_holds_everything_and_no_markup_of_others() {
    let (page, masked) = written(Format::Html);
    assert_eq!(masked, 2);
    assert_eq!(page.matches("<script>").count(), 1, "only our own");
    for hostile in [
        "alert(1)</script>", "<img src=x", "=\"javascript:", "<b>branch", "<i>", "text/html;base64",
        "=\"http://evil",
    ] {
        assert!(!page.contains(hostile), "{hostile}");
    }
    assert_eq!(page.matches("onerror=\"").count(), 0);
    assert!(!page.contains('\u{1b}'));
    for part in [
        "<title>Title &lt;x&gt;</title>",
        "<strong>bold</strong>",
        "&lt;script&gt;alert(2)",
        "<b>ed&quot;it</b> <code>a.rs</code><span class=\"end\"> +1 −1</span>",
        "<span class=\"del\">-old &lt;i&gt;</span>",
        "<span class=\"add\">+new &amp; \u{fffd}[2J</span>",
        "data:image/png;base64,AAAA",
        "other branches (1 entry)",
        "other &lt;b&gt;branch",
        "[&lt;start&gt;]",
        "2 secrets masked",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part}:\n{page}");
    }
    let links: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for link in links.iter().filter(|link| link.starts_with('e')) {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link} leads nowhere");
    }
    assert!(links.len() >= 4, "{links:?}");
}

/// The page's policy names its script by digest; a digest of something else would stop it.
#[test]
fn the_digest_is_that_of_the_script() {
    let (page, _) = written(Format::Html);
    let script = page.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    let digest = page.split_once("script-src 'sha256-").unwrap().1.split_once('\'').unwrap().0;
    let openssl = Command::new("sh")
        .args(["-c", "openssl dgst -sha256 -binary | base64"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut openssl = openssl.unwrap();
    openssl.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let found = String::from_utf8(openssl.output_in_time("openssl(1)").stdout).unwrap();
    if found.trim().is_empty() {
        return println!("skipped: no openssl(1)");
    }
    assert_eq!(found.trim(), digest);
}

#[test]
fn markdown_and_lines_say_the_same() {
    let (text, masked) = written(Format::Markdown);
    assert_eq!(masked, 2);
    for part in
        ["# Title <x>", "## You", "**Call of `ed\"it`**", "```diff\n same\n-old <i>", "# Other branches"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let (lines, masked) = written(Format::Jsonl);
    assert_eq!(masked, 2);
    let folder = Folder::new();
    let copy = Session::open(&folder.file(&lines)).unwrap();
    let original = Folder::new();
    let original = Session::open(&original.file(session())).unwrap();
    assert_eq!((copy.skipped_lines(), copy.tree().entries().len()), (0, original.tree().entries().len()));
    let ids = |session: &Session| -> Vec<String> {
        session.tree().entries().iter().map(|entry| entry.id.to_string()).collect()
    };
    assert_eq!(ids(&copy), ids(&original));
}

/// An answer as it came, and pictures by name.
#[test]
fn markdown_keeps_the_order_and_names_pictures() {
    let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let asked = json!({"message": {"role": "user", "timestamp": 5,
        "content": [{"type": "text", "text": "look"}, picture]}});
    let answer = json!({"message": {"role": "assistant", "api": "x", "provider": "p", "model": "m", "stopReason": "toolUse",
        "content": [{"type": "thinking", "thinking": "I think first"}, {"type": "text", "text": "then I sp"},
            {"type": "text", "text": "eak"}, {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}},
            {"type": "text", "text": "and wait"}]}});
    let lines =
        [HEADER.to_owned(), entry("message", "a", None, asked), entry("message", "b", Some("a"), answer)];
    let folder = Folder::new();
    let session = Session::open(&folder.file(&(lines.join("\n") + "\n"))).unwrap();
    let text = document(&session, Format::Markdown, &[]).text;
    let answer = "## You\n\nlook\n[a picture]\n\n## m\n\n*Thinking:*\n\n> I think first\n\nthen I speak\n\n\
        **Call of `ls`**\n\n```json\n{}\n```\n\nand wait\n";
    assert!(text.ends_with(answer), "{text}");
}

/// The output of `/export` for a session opened read-only: its lines, with every field, including unknown
/// ones.
#[test]
fn a_session_opened_read_only_keeps_unknown_fields() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/srv","theirs":1}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","mark":[1,2],"message":{"role":"user","content":"hi","timestamp":0,"mood":"good"}}"#,
        r#"{"type":"label","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:05.678Z","targetId":"a","label":"x","color":"red"}"#,
    ];
    let folder = Folder::new();
    let path = folder.file(&(lines.join("\n") + "\n"));
    let session = Session::open_tail(&path, Access::Read, 1 << 20).unwrap();
    assert!(session.is_read_only());
    let Some(SessionSource::Lines(text)) = session.source() else { panic!("it has lines") };
    let copy = Session::from_lines(&text).unwrap();
    let exported = document(&copy, Format::Jsonl, &[]);
    assert_eq!(exported.text.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn the_ending_says_the_format() {
    let check =
        |name: &str, expected: Option<Format>| assert_eq!(Format::of(Path::new(name)), expected, "{name}");
    check("a.html", Some(Format::Html));
    check("a.HTM", Some(Format::Html));
    check("x/a.md", Some(Format::Markdown));
    check("a.jsonl", Some(Format::Jsonl));
    check("a.txt", None);
    check("html", None);
}

#[test]
fn the_command_writes_a_file_and_says_how_many_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("tau/sessions/--srv-web--");
    crate::support::write(&sessions.join("x_s1.jsonl"), &session());
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.arg("export").args(args).current_dir(dir.path()).env_clear().env("HOME", dir.path());
        command
            .env("TAU_HOME", dir.path().join("tau"))
            .env("MY_PASSWORD", "hunter2-hunter2")
            .env("TZ", "UTC");
        let output = command.output_in_time();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, stdout, stderr) = run(&["s1"]);
    assert_eq!((code, stdout.as_str()), (Some(0), "./2026-01-02-title-x.html\n"), "{stderr}");
    assert_eq!(stderr, "tau: masked 2 secrets in the file\n");
    let page = fs::read_to_string(dir.path().join("2026-01-02-title-x.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("hunter2"));
    assert_eq!(run(&["s1"]).1, "./2026-01-02-title-x-s1.html\n", "nothing is overwritten");
    assert_eq!(run(&["s1", "out.md"]).0, Some(0));
    assert!(fs::read_to_string(dir.path().join("out.md")).unwrap().starts_with("# Title"));
    let (code, stdout, _) = run(&["s1", "-"]);
    assert_eq!(code, Some(0));
    assert!(stdout.starts_with("<!DOCTYPE html>"));
    let (code, _, stderr) = run(&["s1", "out.txt"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("must end in .html, .md or .jsonl; or choose one with --format"), "{stderr}");
    assert_eq!(run(&["s1", "out.txt", "--format", "md"]).0, Some(0));
    assert!(fs::read_to_string(dir.path().join("out.txt")).unwrap().starts_with("# Title"));
    for (format, begins) in
        [("html", "<!DOCTYPE html>"), ("md", "# Title"), ("jsonl", "{\"type\":\"session\"")]
    {
        let (code, stdout, _) = run(&["s1", "-", "--format", format]);
        assert!(code == Some(0) && stdout.starts_with(begins), "{format}: {stdout}");
    }
    assert_eq!(run(&["s1", "--format", "jsonl"]).1, "./2026-01-02-title-x.jsonl\n");
    let (code, _, stderr) = run(&["s1", "-", "--format", "pdf"]);
    assert!(code == Some(2) && stderr.contains("[possible values: html, md, jsonl]"), "{stderr}");
    for format in [&[][..], &["--format", "html"]] {
        let (code, _, stderr) = run(&[&["s1", "tau/sessions/--srv-web--/x_s1.jsonl"], format].concat());
        assert!(code == Some(3) && stderr.contains("is the session itself"), "{stderr}");
        assert_eq!(fs::read_to_string(sessions.join("x_s1.jsonl")).unwrap(), session(), "it is kept");
    }
    // What is not an export stays, and an export is written again.
    for name in ["README.md", "page.html", "rows.jsonl"] {
        fs::write(dir.path().join(name), "mine\n").unwrap();
        let (code, _, stderr) = run(&["s1", name]);
        assert!(code == Some(3) && stderr.contains("it is not an exported session"), "{stderr}");
        assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), "mine\n");
        fs::write(dir.path().join(name), "").unwrap();
        assert_eq!((run(&["s1", name]).0, run(&["s1", name]).0), (Some(0), Some(0)), "{name}");
    }
    assert_eq!(run(&["s1", "--session-dir=~/tau/sessions", "~/at-home.md"]).0, Some(0));
    assert!(dir.path().join("at-home.md").exists() && !dir.path().join("~").exists());
    assert_eq!(run(&["nosuch"]).0, Some(3));
    let before: Value = serde_json::from_str(HEADER).unwrap();
    assert_eq!(before["id"], "s1");
}

/// Titles, links and rows of calls are cut after their secrets were masked.
#[test]
fn no_part_of_a_secret_is_left_where_text_is_cut() {
    let token = "q7Zr2mXw9Kd4Tb6Lp1Vs8Nc3Hf5Jg0YyRaEoUiQtWzBxMvCnGkDlSjFhPq2w4e6r8t";
    let asked = |id: &str, letters: usize| line(id, None, &format!("{} {token}", "a".repeat(letters)));
    let command = format!("{} {token}", "b".repeat(66));
    let answer = json!({"message": {"role": "assistant", "api": "x", "provider": "p", "model": "m", "stopReason": "toolUse",
        "content": [{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": command}}]}});
    let key = ["-----BEGIN PRIVATE KEY-----", "mykeymaterial", "-----END PRIVATE KEY-----"]
        .map(|line| format!("+{line}"));
    let diff = json!({"kind": "diff", "path": "k", "added": 3, "removed": 0,
        "hunks": [{"oldStart": 1, "newStart": 1, "lines": key}]});
    let result = json!({"message": {"role": "toolResult", "toolCallId": "c", "toolName": "bash",
        "content": [], "details": diff, "isError": false}});
    let lines = [
        HEADER.to_owned(),
        asked("a", 29),
        asked("b", 139),
        entry("message", "c", Some("b"), answer),
        entry("message", "d", Some("c"), result),
    ];
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("tau/sessions/--srv-web--");
    fs::create_dir_all(&sessions).unwrap();
    fs::write(sessions.join("x_s1.jsonl"), lines.join("\n") + "\n").unwrap();
    for format in ["html", "md", "jsonl"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["export", "s1", "--format", format]).current_dir(dir.path()).env_clear();
        command.env("HOME", dir.path()).env("TAU_HOME", dir.path().join("tau")).env("DEPLOY_TOKEN", token);
        let name = String::from_utf8(command.output_in_time().stdout).unwrap();
        let text = name.clone() + &fs::read_to_string(dir.path().join(name.trim())).unwrap();
        assert!(text.contains("[redacted]") && !text.contains("mykeymaterial"), "{format}: {text}");
        for part in token.to_lowercase().as_bytes().windows(8) {
            let part = std::str::from_utf8(part).unwrap();
            assert!(!text.to_lowercase().contains(part), "{part} in {format}: {text}");
        }
    }
}

#[test]
fn the_screen_asks_for_a_file() {
    let mut screen = Screen::new();
    screen.take_effects();
    let asked = |screen: &mut Screen| {
        screen.keys("/export \"x y.md\"<enter>");
        let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Agent(AgentCommand::Task(TaskCommand::Query { ticket, query: Query::Source })) => {
                Some(ticket)
            }
            _ => None,
        });
        ticket.expect("the agent is asked where the session can be read")
    };
    let ticket = asked(&mut screen);
    screen.agent(TaskEvent::Answered { ticket, answer: Err("nothing to export".into()) });
    assert!(text(&screen.draw()).contains("nothing to export"));
    let source = SessionSource::Lines("the lines".into());
    let ticket = asked(&mut screen);
    screen.agent(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::Source(source.clone())) });
    let wanted = ScreenRequest::Export { session: source, file: Some("x y.md".into()) };
    let effects = screen.take_effects();
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Ask(_, request) if *request == wanted)),
        "{effects:?}"
    );
}

/// Content that is only in memory is written from there: a session without a file, and one with an
/// incomplete file.
#[tokio::test]
async fn a_session_in_memory_can_be_written_too() {
    for broken in [false, true] {
        let mut bench =
            Bench::with(Player::new(vec![vec![Say("the answer"), Stop(StopReason::Stop)]]), |config| {
                let taken = config.place.cwd.join("taken");
                fs::write(&taken, "").unwrap();
                config.session =
                    Session::begin(broken.then_some(&*taken), &config.place.cwd, Some("mine".into()));
            });
        let ask = AgentCommand::Task(TaskCommand::Query { ticket: 7, query: Query::Source });
        bench.send(ask.clone()).await;
        let found = async |bench: &mut Bench| {
            let events =
                bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
            let Some(AgentEvent::Task(TaskEvent::Answered { ticket: 7, answer })) = events.into_iter().last()
            else {
                panic!()
            };
            answer
        };
        assert!(found(&mut bench).await.unwrap_err().contains("nothing to export"));
        bench.prompt("the question").await;
        bench.settled().await;
        bench.send(ask).await;
        let QueryAnswer::Source(SessionSource::Lines(lines)) = found(&mut bench).await.unwrap() else {
            panic!("it is in no file")
        };
        let session = Session::from_lines(&lines).unwrap();
        assert_eq!((session.info().id.as_str(), session.skipped_lines()), ("mine", 0));
        let page = document(&session, Format::Markdown, &[]).text;
        assert!(page.contains("the question") && page.contains("the answer"), "{page}");
        assert_eq!(document(&session, Format::Jsonl, &[]).text, lines);
    }
    assert!(Session::from_lines("what").is_err());
}

/// In a file every character stays; a terminal is given none that would control it.
#[test]
fn an_export_to_the_terminal_controls_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("tau/sessions/--srv-web--");
    fs::create_dir_all(&sessions).unwrap();
    let text = format!("{HEADER}\n{}\n", line("a", None, "red \u{1b}]0;pwned\u{7}end"));
    fs::write(sessions.join("x_s1.jsonl"), text).unwrap();
    let tau = format!("{} export s1 - --format md", env!("CARGO_BIN_EXE_tau"));
    for (program, arguments, is_clean) in
        [("sh", vec!["-c", &tau], false), ("script", vec!["-qec", &tau, "/dev/null"], true)]
    {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output_in_time();
        if !found.status.success() {
            println!("skipped: no {program}");
            continue;
        }
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).env("HOME", dir.path());
        let output = command.env("TAU_HOME", dir.path().join("tau")).output_in_time();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("red ") && shown.contains("pwned"), "{shown:?}");
        assert_eq!(shown.contains('\u{1b}'), !is_clean, "{program}: {shown:?}");
    }
}

/// Messages stay as they are; what the document says of itself controls nothing.
#[test]
fn the_heading_is_one_line_without_controls() {
    let named = |name: &str, cwd: &str| {
        let header = HEADER.replace("/srv/web", cwd);
        let name = entry("session_info", "n", Some("a"), json!({ "name": name }));
        [header, line("a", None, "a message"), name].join("\n") + "\n"
    };
    let folder = Folder::new();
    let path = folder.file(named("red \u{1b}]0;pwned\u{7}\nend\u{202e}", "/srv/\\u001b[2Jweb"));
    let session = Session::open_as(&path, Access::Read).unwrap();
    for format in [Format::Markdown, Format::Html] {
        let text = document(&session, format, &[]).text;
        let hostile = text.find(['\u{1b}', '\u{7}', '\u{202e}']);
        assert_eq!(hostile, None, "{format:?}: {text}");
    }
    let text = document(&session, Format::Markdown, &[]).text;
    assert!(text.starts_with("# red \u{fffd}]0;pwned\u{fffd} end\u{fffd}\n\nSession "), "{text}");
}
