//! read and write, arguments and titles, as the agent calls them: JSON in, text out.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tau::tools::{Content, Details, OutputLimits, ToolError, Toolbox};
use tokio_util::sync::CancellationToken;

use crate::support::tool_bench::{Bench, names, text_of};
use crate::time_limit::SOON;

fn utf16(text: &str) -> Vec<u8> {
    [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[tokio::test]
async fn read_numbers_the_lines_and_notes_what_is_special() {
    let bench = Bench::new();
    let cases: &[(&[u8], Value, &str)] = &[
        (b"one\ntwo\n", json!({}), "     1  one\n     2  two\n"),
        (b"one\ntwo", json!({}), "     1  one\n     2  two\n"),
        (b"one\r\ntwo\r\n", json!({}), "     1  one\n     2  two\n[f: its lines end in CRLF]\n"),
        (
            b"one\r\ntwo\nthree\r\n",
            json!({}),
            "     1  one\n     2  two\n     3  three\n\
             [f: its line ends are mixed: CRLF in 2 of 3 lines, LF in the others]\n",
        ),
        (
            b"one\ntwo\r\nthree\n",
            json!({}),
            "     1  one\n     2  two\n     3  three\n\
             [f: its line ends are mixed: CRLF in 1 of 3 lines, LF in the others]\n",
        ),
        (b"", json!({}), "(f is empty)"),
        (b"\n", json!({}), "     1  \n"),
        (b"a\nb\nc\nd\n", json!({"offset": 3}), "     3  c\n     4  d\n"),
        (
            b"a\nb\nc\nd\n",
            json!({"offset": 2, "limit": 2}),
            "     2  b\n     3  c\n[f: more lines follow; continue with offset 4]\n",
        ),
        (b"a\nb\n", json!({"offset": 9}), "ERROR offset 9 is past the end: f has 2 lines"),
        (b"a", json!({"offset": 2}), "ERROR offset 2 is past the end: f has 1 line"),
        (b"", json!({"offset": 2}), "ERROR offset 2 is past the end: f has 0 lines"),
        (
            b"a\nb\n",
            json!({"offset": 0, "limit": "1"}),
            "     1  a\n[f: more lines follow; continue with offset 2]\n",
        ),
        (
            b"\xEF\xBB\xBFx\n",
            json!({}),
            "     1  x\n[f: it starts with a UTF-8 byte order mark, which is not shown]\n",
        ),
        (
            b"gr\xF6\xDFe\n",
            json!({}),
            "     1  größe\n[f: it is not UTF-8; decoded as Latin-1 (windows-1252)]\n",
        ),
        ("größe \u{20ac}\n".as_bytes(), json!({}), "     1  größe \u{20ac}\n"),
        (b"a\rb\r", json!({}), "     1  a\n     2  b\n[f: its lines end in CR only]\n"),
        (
            &utf16("h\u{e9}\nx\n"),
            json!({}),
            "     1  h\u{e9}\n     2  x\n[f: it is not UTF-8; decoded as UTF-16 (little endian), with a byte order mark]\n",
        ),
        (
            b"\x7fELF\0\0",
            json!({}),
            "ERROR f is a binary file (6 bytes); inspect it with bash: `file f` or `xxd f | head`",
        ),
    ];
    for (bytes, more, expected) in cases {
        bench.put("f", bytes);
        let mut args = json!({"path": "f"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(bench.text("read", args).await, *expected, "{bytes:?} {more}");
    }
}

#[tokio::test]
async fn read_warns_first_when_a_file_is_longer_than_an_answer() {
    let bench = Bench::new();
    bench.put("long", (1..=7_000).map(|n| format!("{n}\n")).collect::<String>());
    let text = bench.text("read", json!({"path": "long"})).await;
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(
            "WARNING: File has 7000 lines, showing first 5000. Use offset and limit parameters to read more."
        )
    );
    assert_eq!(lines.next(), Some(""));
    assert_eq!(lines.next(), Some("     1  1"));
    assert_eq!(lines.nth(4_998), Some("  5000  5000"));
    assert_eq!(lines.next(), Some("[long: more lines follow; continue with offset 5001]"));
    let text = bench.text("read", json!({"path": "long", "offset": 1001, "limit": 5500})).await;
    assert!(text.starts_with("WARNING: File has 7000 lines, showing 5000 from line 1001 on."), "{text:.100}");
    let text = bench.text("read", json!({"path": "long", "offset": 6999})).await;
    assert_eq!(text, "  6999  6999\n  7000  7000\n");
    // Bytes limit an answer as well as lines.
    bench.put("wide", format!("{}\n", "x".repeat(999)).repeat(3_000));
    let text = bench.text("read", json!({"path": "wide"})).await;
    assert!(text.len() <= bench.context.limits.file_weight(), "{}", text.len());
    assert!(text.starts_with("WARNING: File has 3000 lines, showing first 2"), "{text:.100}");
    bench.put("line", "y".repeat(100_000));
    let text = bench.text("read", json!({"path": "line"})).await;
    assert!(text.len() < 3_000 && text.contains("[… 98000 more bytes in this line, cut …]"));
}

#[tokio::test]
async fn read_returns_five_thousand_lines_unless_they_exceed_a_quarter_of_the_window() {
    let mut bench = Bench::new();
    bench.put("long", format!("{}\n", "word ".repeat(12)).repeat(7_000));
    let mut lines = async |window: u64| {
        bench.context.limits = OutputLimits::default().within_window(window);
        let text = bench.text("read", json!({"path": "long"})).await;
        assert!(tau::tools::budget::token_weight(&text) as u64 <= window, "{window}");
        text.lines().filter(|line| line.ends_with("word ")).count()
    };
    assert_eq!(lines(1_000_000).await, 5_000);
    assert_eq!(lines(400_000).await, 5_000);
    let (small, smaller) = (lines(200_000).await, lines(8_000).await);
    assert!((2_000..5_000).contains(&small) && (50..200).contains(&smaller), "{small} {smaller}");
}

#[tokio::test]
async fn details_say_what_was_done() {
    let bench = Bench::new();
    let path = |name: &str| bench.path(name).display().to_string();
    bench.put("f", "one\ntwo\ntwo\n");
    bench.put("empty", "");
    let long = "x".repeat(5_000);
    bench.put("long", &long);
    let kept = format!("{}…", "x".repeat(4_096));
    let cases = [
        (
            "read",
            json!({"path": "f", "offset": 2, "limit": 1}),
            json!({"kind": "lines", "filePath": path("f"), "totalLines": 3, "linesRead": 1, "offset": 2, "truncated": true}),
        ),
        (
            "read",
            json!({"path": "f"}),
            json!({"filePath": path("f"), "totalLines": 3, "linesRead": 3, "offset": 1, "truncated": false}),
        ),
        ("read", json!({"path": "empty"}), json!({"totalLines": 0, "linesRead": 0, "truncated": false})),
        (
            "edit",
            json!({"path": "f", "old_string": "two", "new_string": "2\n3", "replace_all": true}),
            json!({
                "kind": "diff", "path": "f", "filePath": path("f"), "oldString": "two", "newString": "2\n3",
                "matchCount": 2, "linesChanged": 4,
            }),
        ),
        (
            "edit",
            json!({"path": "long", "old_string": long, "new_string": "short"}),
            json!({"oldString": kept, "newString": "short", "matchCount": 1, "linesChanged": 1}),
        ),
        (
            "write",
            json!({"path": "new", "content": "é\n"}),
            json!({"kind": "diff", "filePath": path("new"), "size": 3, "isNew": true}),
        ),
        ("write", json!({"path": "new", "content": "e\n"}), json!({"size": 2, "isNew": false})),
        (
            "bash",
            json!({"command": "echo hi"}),
            json!({"kind": "terminal", "command": "echo hi", "exitCode": 0}),
        ),
    ];
    for (tool, args, expected) in cases {
        let details = serde_json::to_value(bench.call(tool, args.clone()).await.unwrap().details).unwrap();
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&details[field], value, "{tool} {args}: {field}");
        }
        let read: Details = serde_json::from_value(details.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), details, "as stored");
    }
    let failed = bench.call("bash", json!({"command": "sleep 0.2; exit 3"})).await.unwrap_err();
    let ToolError::Refused { details, .. } = failed else { panic!("{failed:?}") };
    let details = serde_json::to_value(*details).unwrap();
    assert_eq!((&details["exitCode"], &details["command"]), (&json!(3), &json!("sleep 0.2; exit 3")));
    assert!(details["duration"].as_u64().unwrap() >= 200, "{details}");
}

#[test]
fn every_tool_has_a_label_and_read_says_its_bounds() {
    let labels: Vec<String> = Toolbox::all().specs().into_iter().map(|spec| spec.label).collect();
    let known = ["Read", "Bash", "Jobs", "Edit", "Write", "Ask user", "Grep", "Find", "Ls", "Delegate"];
    assert_eq!(labels, known);
    let tools = Toolbox::all();
    let properties = &tools.get("read").unwrap().spec().parameters["properties"];
    assert_eq!(properties["offset"]["minimum"], 1);
    assert_eq!(
        (&properties["limit"]["minimum"], &properties["limit"]["maximum"]),
        (&json!(1), &json!(5_000))
    );
}

#[tokio::test]
async fn read_refuses_at_once_what_is_no_file() {
    let bench = Bench::new();
    fs::create_dir(bench.path("dir")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    bench.put("Main.rs", "x");
    let cases = [
        ("dir", "dir is a directory, not a file; list it with bash and ls"),
        ("fifo", "fifo is a FIFO (named pipe), not a file"),
        ("socket", "socket is a socket, not a file"),
        ("/dev/zero", "/dev/zero is a character device, not a file"),
        ("loop", "cannot read loop: its symbolic links form a loop"),
        ("dangling", "dangling is a symbolic link to nowhere, which does not exist"),
        ("main.rs", "main.rs does not exist; did you mean Main.rs?"),
        ("Main.ts", "Main.ts does not exist; did you mean Main.rs?"),
        ("dirr/x", "dirr/x does not exist, nor does its directory; the nearest existing directory is"),
        ("Main.rs/x", "cannot read Main.rs/x: a part of the path is a file, not a directory"),
        ("", "`path` is empty"),
    ];
    let text = bench.text("write", json!({"path": "loop", "content": "x"})).await;
    assert!(text.starts_with("ERROR cannot ") && text.contains("symbolic links form a loop"), "{text}");
    for (path, expected) in cases {
        for tool in ["read", "edit"] {
            let args = if tool == "read" {
                json!({"path": path})
            } else {
                json!({"path": path, "old_string": "a", "new_string": "b"})
            };
            let started = Instant::now();
            let text = bench.text(tool, args).await;
            assert!(text.starts_with(&format!("ERROR {expected}")), "{tool} {path}: {text}");
            assert!(started.elapsed() < SOON, "{tool} {path}");
        }
    }
}

#[tokio::test]
async fn pictures_go_to_models_that_see_and_are_made_small_enough() {
    let mut bench = Bench::new();
    let picture = |width, height| {
        let mut bytes = Vec::new();
        let image = image::DynamicImage::new_rgb8(width, height);
        image.write_to(&mut std::io::Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
        bytes
    };
    bench.put("small.png", picture(20, 10));
    bench.put("large.png", picture(2_400, 240));
    bench.put("broken.png", &picture(20, 10)[..40]);
    let text = bench.text("read", json!({"path": "small.png"})).await;
    assert!(text.contains("20x10 pixels") && text.ends_with("this model does not support images"), "{text}");
    bench.context.limits.images = true;
    for (name, note) in [("small.png", "20x10 pixels"), ("large.png", "shown at 2000x200")] {
        let output = bench.call("read", json!({"path": name})).await.unwrap();
        assert!(text_of(&output).contains(note), "{}", text_of(&output));
        assert!(
            matches!(output.content.get(1), Some(Content::Image { mime_type, .. }) if mime_type == "image/png")
        );
        assert!(matches!(output.details, Details::Image { .. }));
    }
    let text = bench.text("read", json!({"path": "broken.png"})).await;
    assert!(text.starts_with("ERROR broken.png looks like image/png but cannot be decoded"), "{text}");
}

#[tokio::test]
async fn write_creates_and_replaces_and_keeps_what_the_file_is() {
    let bench = Bench::new();
    let args = |path: &str, content: &str| json!({"path": path, "content": content});
    assert_eq!(
        bench.text("write", args("a/b/new.txt", "hi\n")).await,
        "Created new file a/b/new.txt (3 bytes)"
    );
    assert_eq!(bench.bytes("a/b/new.txt"), b"hi\n");
    let output = bench.call("write", args("a/b/new.txt", "ho\n")).await.unwrap();
    assert_eq!(text_of(&output), "Overwrote a/b/new.txt (3 bytes)");
    assert!(matches!(&output.details, Details::Diff(diff) if (diff.added, diff.removed) == (1, 1)));
    assert_eq!(names(&bench.path("a/b")), ["new.txt"]);
    assert_eq!(
        bench.text("write", args("a/b/new.txt", "ho\n")).await,
        "ERROR a/b/new.txt already has this content; nothing was written"
    );
    assert_eq!(bench.text("write", args("empty", "")).await, "Created new file empty (0 bytes)");

    let script = bench.put("script", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("script", bench.path("link")).unwrap();
    assert_eq!(bench.text("write", args("link", "new")).await, "Overwrote link (3 bytes)");
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
    assert_eq!(
        (bench.bytes("script"), fs::metadata(&script).unwrap().mode() & 0o7777),
        (b"new".to_vec(), 0o751)
    );

    symlink("later", bench.path("early")).unwrap();
    assert_eq!(bench.text("write", args("early", "x")).await, "Created new file early (1 byte)");
    assert_eq!(bench.bytes("later"), b"x");

    let one = bench.put("one", "shared, and longer");
    fs::hard_link(&one, bench.path("two")).unwrap();
    bench.text("write", args("one", "both")).await;
    assert_eq!((bench.bytes("one"), bench.bytes("two")), (b"both".to_vec(), b"both".to_vec()));

    let locked = bench.put("locked", "keep");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).unwrap();
    fs::create_dir(bench.path("dir")).unwrap();
    let refusals = [
        ("locked", "locked is read-only (mode 0444)"),
        ("dir", "dir is a directory, not a file"),
        ("new/", "new/ is the path of a directory"),
        ("/dev/null", "/dev/null is a character device"),
        ("one/x", "cannot write one/x: a part of the path is a file, not a directory"),
    ];
    for (path, expected) in refusals {
        let text = bench.text("write", args(path, "no")).await;
        assert!(text.starts_with(&format!("ERROR {expected}")), "{path}: {text}");
    }
    assert_eq!(bench.bytes("locked"), b"keep");
}

#[tokio::test]
async fn a_file_changed_since_it_was_seen_is_refused_with_the_change() {
    let bench = Bench::new();
    bench.put("f", "a\nb\nc\n");
    let write = json!({"path": "f", "content": "mine\n"});
    let edit = json!({"path": "f", "old_string": "c", "new_string": "C"});
    for args in [("write", write), ("edit", edit)] {
        bench.put("f", "a\nb\nc\n");
        bench.text("read", json!({"path": "f"})).await;
        bench.put("f", "a\nB\nc\n");
        let refused = bench.call(args.0, args.1.clone()).await.unwrap_err();
        let text = refused.to_string();
        assert!(
            text.starts_with("f has changed since you last saw it; nothing was written. What changed:\n@@"),
            "{text}"
        );
        assert!(text.contains("-b\n+B\n"), "{text}");
        let shows_nothing =
            matches!(refused, ToolError::Refused { details, .. } if *details == Details::None);
        assert!(shows_nothing, "a change of somebody else is not that of the call");
        assert_eq!(bench.bytes("f"), b"a\nB\nc\n");
        // The change was shown, so the model knows the file now.
        assert!(bench.call(args.0, args.1.clone()).await.is_ok());
    }
    // Its own writes do not count as a change, nor does a new time on the same bytes.
    bench.text("write", json!({"path": "f", "content": "x\ny\n"})).await;
    bench.put("f", "x\ny\n");
    assert!(bench.call("edit", json!({"path": "f", "old_string": "x", "new_string": "z"})).await.is_ok());
    assert!(bench.call("edit", json!({"path": "f", "old_string": "z", "new_string": "x"})).await.is_ok());
}

#[tokio::test]
async fn slips_in_arguments_are_understood_and_mistakes_named() {
    let bench = Bench::new();
    bench.put("f", "a\nb\n");
    let fine = [
        ("read", json!({"file_path": "f", "offset": "2"}), "     2  b\n"),
        ("read", json!({"path": "f", "offset": 2.0, "limit": null}), "     2  b\n"),
        ("read", json!("{\"path\": \"f\", \"offset\": 2}"), "     2  b\n"),
        (
            "edit",
            json!({"path": "f", "oldText": "a", "newText": "A"}),
            "Replaced 1 occurrence in f (1 line changed)",
        ),
        (
            "edit",
            json!({"path": "f", "edits": "[{\"old_str\": \"A\", \"new_str\": \"a\"}]"}),
            "Replaced 1 occurrence in f (1 line changed)",
        ),
        (
            "edit",
            json!({"path": "f", "edits": {"old_string": "a", "new_string": "A"}}),
            "Replaced 1 occurrence in f (1 line changed)",
        ),
        (
            "edit",
            json!({"path": "f", "old_string": "A", "new_string": "a", "replace_all": "true", "edits": []}),
            "Replaced 1 occurrence in f (1 line changed)",
        ),
        (
            "write",
            json!({"path": "n", "content": 42, "description": "a number"}),
            "Created new file n (2 bytes)",
        ),
    ];
    for (tool, args, expected) in fine {
        assert_eq!(bench.text(tool, args.clone()).await, expected, "{args}");
    }
    let wrong = [
        ("read", json!({}), "read: the argument `path` is missing"),
        ("read", json!(null), "read: the argument `path` is missing"),
        ("read", json!({"path": ["f"]}), "read: `path` must be a string, not [\"f\"]"),
        ("read", json!({"path": "f", "offset": "two"}), "read: `offset` must be a whole number, not \"two\""),
        ("read", json!({"path": "f", "offset": -1}), "read: `offset` must be 1 or more, not -1"),
        (
            "read",
            json!({"path": "f", "ofset": 1}),
            "read: unknown argument `ofset`; the arguments are: path, offset, limit",
        ),
        ("read", json!([1]), "read: the arguments must be an object, not [1]"),
        (
            "edit",
            json!({"path": "f", "edits": [{"old_string": "a"}]}),
            "edit: the argument `edits[0].new_string` is missing",
        ),
        ("edit", json!({"path": "f", "edits": "no list"}), "edit: `edits` must be a list, not \"no list\""),
        ("edit", json!({"path": "f", "old_string": "a"}), "edit: the argument `new_string` is missing"),
        ("edit", json!({"path": "f"}), "edit: give `old_string` and `new_string`, or `edits`"),
        (
            "bash",
            json!({"command": "true", "timeout": "soon"}),
            "bash: `timeout` must be a whole number, not \"soon\"",
        ),
        ("bash", json!({"command": " "}), "`command` is empty"),
    ];
    for (tool, args, expected) in wrong {
        let text = bench.text(tool, args.clone()).await;
        assert!(text.starts_with(&format!("ERROR {expected}")), "{args}: {text}");
    }
}

#[test]
fn schemas_are_flat_and_titles_work_on_half_arrived_arguments() {
    let tools = Toolbox::standard();
    let names: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["read", "bash", "jobs", "edit", "write", "ask_user"]);
    for spec in tools.specs() {
        let text = spec.parameters.to_string();
        assert!(!text.contains("$ref") && !text.contains("$schema") && !text.contains("null"), "{text}");
        assert_eq!(spec.parameters["type"], "object");
        assert_eq!(spec.parameters["additionalProperties"], false, "{text}");
        assert!(spec.description.len() > 100);
    }
    let read = &tools.get("read").unwrap().spec().parameters;
    assert_eq!(read["properties"]["offset"]["type"], "integer");
    assert_eq!(read["required"], json!(["path"]));
    let titles = [
        ("read", json!(null), ""),
        ("read", json!({"path": "a.rs"}), "a.rs"),
        ("read", json!({"file_path": "a.rs", "offset": 5, "limit": 10}), "a.rs:5-14"),
        ("read", json!({"path": "a.rs", "offset": 5}), "a.rs:5-"),
        ("write", json!({"path": "a.rs", "content": "half"}), "a.rs"),
        ("bash", json!({"command": "make\nmake install"}), "make …"),
        ("bash", json!({"command": "ls -l"}), "ls -l"),
    ];
    for (tool, args, expected) in titles {
        assert_eq!(tools.get(tool).unwrap().title(&args), expected, "{args}");
    }
}

#[tokio::test]
async fn calls_on_one_file_queue_up_and_none_is_lost() {
    let bench = Arc::new(Bench::new());
    bench.put("f", (0..40).map(|n| format!("line-{n:02}\n")).collect::<String>());
    bench.text("read", json!({"path": "f"})).await;
    symlink("f", bench.path("alias")).unwrap();
    let calls = (0..40).map(|n| {
        let bench = Arc::clone(&bench);
        let path = if n % 2 == 0 { "f" } else { "alias" };
        let args =
            json!({"path": path, "old_string": format!("line-{n:02}"), "new_string": format!("done-{n:02}")});
        tokio::spawn(async move { bench.text("edit", args).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let text = call.await.unwrap();
        assert!(text.starts_with("Replaced 1 occurrence"), "{text}");
    }
    assert_eq!(bench.bytes("f"), (0..40).map(|n| format!("done-{n:02}\n")).collect::<String>().into_bytes());
    assert_eq!(names(&bench.context.cwd), ["alias", "f"]);
}

#[tokio::test]
async fn an_aborted_change_is_made_whole_or_not_at_all() {
    let bench = Bench::new();
    let (old, new) = ("old\n".repeat(20_000), "new line\n".repeat(20_000));
    for delay in 0..30 {
        bench.put("f", &old);
        let mut context = bench.context.clone();
        context.cancel = CancellationToken::new();
        context.file_versions = Arc::default();
        let cancel = context.cancel.clone();
        let tools = Toolbox::standard();
        let call = tools.get("write").unwrap().run(json!({"path": "f", "content": new}), context);
        let abort = async {
            tokio::time::sleep(Duration::from_micros(delay * 200)).await;
            cancel.cancel();
        };
        let (answer, ()) = tokio::join!(call, abort);
        let expected = match answer {
            Ok(_) => &new,
            Err(ToolError::Aborted { .. }) => &old,
            Err(error) => panic!("{error}"),
        };
        assert!(bench.bytes("f") == expected.as_bytes(), "after {delay}");
        assert_eq!(names(&bench.context.cwd), ["f"]);
    }
}
