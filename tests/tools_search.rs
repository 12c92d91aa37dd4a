//! grep, find and ls: their matches, order, limits, and messages.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tau::tools::{Details, ToolError, Toolbox};

use crate::support::tool_bench::Bench;
use crate::time_limit::SOON;

/// A small project with git's ignore rules.
fn project() -> Bench {
    let bench = Bench::new();
    for folder in [".git", "src/deep", "target", ".config", "docs"] {
        fs::create_dir_all(bench.path(folder)).unwrap();
    }
    bench.put(".gitignore", "target/\n*.log\n");
    bench.put("src/main.rs", "fn main() {\n    run();\n}\n");
    bench.put("src/lib.rs", "pub fn run() {}\n// run fast\n");
    bench.put("src/deep/a.rs", "one\ntwo\nrun three\nfour\nfive\nsix\nseven\nrun eight\n");
    bench.put("src.txt", "run outside\n");
    bench.put("target/out.rs", "run ignored\n");
    bench.put("noise.log", "run ignored\n");
    bench.put(".config/hidden.rs", "run hidden\n");
    bench.put("docs/crlf.md", "we run;\r\nwe stop;\r\n");
    bench.put("docs/blob.bin", b"run\n\0\0\0");
    bench
}

/// Calls of one tool on the project with their whole answers.
async fn check(tool: &str, cases: &[(Value, &str)]) {
    let bench = project();
    for (args, expected) in cases {
        let text = bench.text(tool, args.clone()).await;
        assert_eq!(split(&text).0, *expected, "{tool} {args}");
    }
}

/// An answer without its note about a file with all results, and that file's content.
fn split(text: &str) -> (String, Option<String>) {
    const FILE: &str = "; the full list, unsorted, is in ";
    let Some((front, rest)) = text.split_once(FILE) else { return (text.to_owned(), None) };
    let (path, rest) = rest.split_once(']').unwrap();
    (format!("{front}]{rest}"), Some(fs::read_to_string(path).unwrap()))
}

#[tokio::test]
async fn grep_finds_lines_by_ripgreps_rules_in_order() {
    let all = "docs/crlf.md:1:we run;\nsrc/deep/a.rs:3:run three\nsrc/deep/a.rs:8:run eight\n\
               src/lib.rs:1:pub fn run() {}\nsrc/lib.rs:2:// run fast\nsrc/main.rs:2:    run();\nsrc.txt:1:run outside\n";
    let deep = "src/deep/a.rs-2-two\nsrc/deep/a.rs:3:run three\nsrc/deep/a.rs-4-four\n--\n\
                src/deep/a.rs-7-seven\nsrc/deep/a.rs:8:run eight\n";
    check(
        "grep",
        &[
            (json!({"pattern": "run"}), all),
            (json!({"pattern": "RUN", "ignore_case": true, "path": "."}), all),
            (json!({"pattern": "run()", "literal": true, "path": "src"}), "src/lib.rs:1:pub fn run() {}\nsrc/main.rs:2:    run();\n"),
            (json!({"pattern": "run", "path": "src/deep", "context": 1}), deep),
            (json!({"pattern": "run", "path": "./src/", "glob": "*.rs", "limit": 1}),
             "src/deep/a.rs:3:run three\n[showing 1 of 5 matches; narrow `pattern`, `path` or `glob`, or raise `limit`]\n"),
            (json!({"pattern": "run", "path": "src", "glob": "/deep/*.rs", "limit": 2}),
             "src/deep/a.rs:3:run three\nsrc/deep/a.rs:8:run eight\n"),
            (json!({"pattern": "run", "glob": "!src/**"}), "docs/crlf.md:1:we run;\nsrc.txt:1:run outside\n"),
            (json!({"pattern": "^we.*;$"}), "docs/crlf.md:1:we run;\ndocs/crlf.md:2:we stop;\n"),
            (json!({"pattern": "run", "path": "target"}), "target/out.rs:1:run ignored\n"),
            (json!({"pattern": "run (hidden|ignored)", "all": true}),
             ".config/hidden.rs:1:run hidden\nnoise.log:1:run ignored\ntarget/out.rs:1:run ignored\n"),
            (json!({"pattern": "run", "path": "noise.log"}), "noise.log:1:run ignored\n"),
            (json!({"pattern": "run", "path": "docs/blob.bin"}),
             "[docs/blob.bin: binary file with a match; the first NUL is at byte 4]\n"),
            (json!({"pattern": "absent", "path": "src"}),
             "no matches for absent in src (3 files searched; hidden and ignored files were skipped, set `all` to include them)\n"),
            (json!({"pattern": "absent", "path": "src.txt"}), "no matches for absent in src.txt (1 file searched)\n"),
        ],
    )
    .await;
}

#[tokio::test]
async fn wrong_patterns_are_explained() {
    let bench = project();
    let cases = [
        (
            "grep",
            json!({"pattern": "run("}),
            "unclosed group\nescape literal characters with a backslash, or set `literal` to true",
        ),
        (
            "grep",
            json!({"pattern": "(?=run)"}),
            "look-around, including look-ahead and look-behind, is not supported\nsearch without it",
        ),
        ("grep", json!({"pattern": "(a)\\1"}), "backreferences are not supported\nsearch without it"),
        ("grep", json!({"pattern": "a\nb"}), "`pattern` contains a line end"),
        ("grep", json!({"pattern": ""}), "`pattern` is empty"),
        (
            "grep",
            json!({"pattern": "a", "glob": "[a"}),
            "`glob`: error parsing glob '[a': unclosed character class",
        ),
        ("grep", json!({"pattern": "a", "path": "scr"}), "scr does not exist; did you mean src"),
        (
            "grep",
            json!({"pattern": "a", "path": "/dev/zero"}),
            "/dev/zero is a character device; it cannot be searched",
        ),
        ("grep", json!({"path": "src"}), "the argument `pattern` is missing"),
        ("find", json!({"pattern": "{a"}), "`pattern`: error parsing glob '{a': unclosed alternate group"),
        ("find", json!({"pattern": "/etc/*.conf"}), "is outside of ."),
        ("find", json!({"pattern": "*", "path": "src.txt"}), "src.txt is not a directory"),
        ("ls", json!({"path": "src.txt"}), "src.txt is not a directory but a file; `read` shows it"),
        ("ls", json!({"path": "nowhere"}), "nowhere does not exist"),
    ];
    for (tool, args, expected) in cases {
        let text = bench.text(tool, args.clone()).await;
        assert!(text.starts_with("ERROR ") && text.contains(expected), "{tool} {args}: {text}");
    }
}

#[tokio::test]
async fn find_takes_globs_below_the_path() {
    let none = "nothing in . matches *.c; hidden and ignored files were skipped, set `all` to include them\n";
    check(
        "find",
        &[
            (json!({"pattern": "*.rs"}), "src/deep/a.rs\nsrc/lib.rs\nsrc/main.rs\n"),
            (json!({"pattern": "*.rs", "path": "src/deep"}), "src/deep/a.rs\n"),
            (json!({"pattern": "src/*.rs"}), "src/lib.rs\nsrc/main.rs\n"),
            (json!({"pattern": "**/{a,main}.rs"}), "src/deep/a.rs\nsrc/main.rs\n"),
            (json!({"pattern": "src*"}), "src/\nsrc.txt\n"),
            (json!({"pattern": "hidden.*", "all": true}), ".config/hidden.rs\n"),
            (json!({"pattern": "*.c"}), none),
            (json!({"pattern": "*.rs", "limit": 2}),
             "src/deep/a.rs\nsrc/lib.rs\n[showing 2 of 3 paths; narrow `pattern` or `path`, or raise `limit`]\n"),
        ],
    )
    .await;
    let bench = project();
    let output = bench.call("find", json!({"pattern": "*.rs", "limit": 1})).await.unwrap();
    assert_eq!(output.details, Details::Paths { paths: vec!["src/deep/a.rs".into()], cut: true });
    let absolute = bench.path("src").display().to_string();
    let text = bench.text("find", json!({"pattern": format!("{absolute}/*.rs"), "path": absolute})).await;
    assert_eq!(text, format!("{absolute}/lib.rs\n{absolute}/main.rs\n"));
}

#[tokio::test]
async fn ls_lists_everything_with_marks() {
    let bench = project();
    symlink("src", bench.path("link")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let all = ".config/\n.git/\n.gitignore\ndangling -> nowhere\ndocs/\nfifo (FIFO)\nlink -> src\nnoise.log\nsrc/\nsrc.txt\ntarget/\n";
    assert_eq!(bench.text("ls", json!({})).await, all);
    assert_eq!(bench.text("ls", json!({"path": "link"})).await, "deep/\nlib.rs\nmain.rs\n");
    fs::create_dir(bench.path("empty")).unwrap();
    assert_eq!(bench.text("ls", json!({"path": "empty"})).await, "(empty is empty)\n");
    let text = bench.text("ls", json!({"path": "src", "limit": 2})).await;
    let (text, whole) = split(&text);
    assert_eq!(text, "deep/\nlib.rs\n[showing 2 of 3 entries; raise `limit` to see more]\n");
    assert_eq!(whole.map(|whole| whole.lines().count()), Some(3));
}

#[tokio::test]
async fn names_with_control_characters_are_quoted() {
    const NOTE: &str = "[names in $'…' contain control characters or invalid UTF-8, escaped as in bash]\n";
    let bench = Bench::new();
    let folder = bench.path("two\nlines");
    crate::support::write(&folder.join("a.txt"), "needle\n");
    fs::write(bench.path("\u{1b}[31mred"), "needle\n").unwrap();
    fs::write(bench.context.cwd.join(OsStr::from_bytes(b"gr\xf6n")), "needle\n").unwrap();
    bench.put("plain 'name'", "needle\n");
    symlink("a\tb", bench.path("link")).unwrap();
    let cases = [
        ("ls", json!({}), "$'\\x1b[31mred'\n$'gr\\xf6n'\nlink -> $'a\\tb'\nplain 'name'\n$'two\\nlines'/\n"),
        (
            "find",
            json!({"pattern": "*"}),
            "$'\\x1b[31mred'\n$'gr\\xf6n'\nlink\nplain 'name'\n$'two\\nlines/'\n$'two\\nlines/a.txt'\n",
        ),
        (
            "grep",
            json!({"pattern": "needle"}),
            "$'\\x1b[31mred':1:needle\n$'gr\\xf6n':1:needle\nplain 'name':1:needle\n$'two\\nlines/a.txt':1:needle\n",
        ),
    ];
    for (tool, args, expected) in cases {
        assert_eq!(bench.text(tool, args).await, format!("{expected}{NOTE}"), "{tool}");
    }
    let text = bench.text("find", json!({"pattern": "plain*"})).await;
    assert_eq!(text, "plain 'name'\n", "the note comes with such names only");
    // bash understands the quotes, and JSON has its own escapes for the other tools.
    let text = bench.text("bash", json!({"command": "cat $'two\\nlines/a.txt'"})).await;
    assert!(text.starts_with("needle\n"), "{text}");
    let text = bench.text("read", json!({"path": "two\nlines/a.txt"})).await;
    assert_eq!(text, "     1  needle\n");
}

#[tokio::test]
async fn answers_are_bounded_and_the_same_every_time() {
    let bench = Bench::new();
    for folder in 0..40 {
        fs::create_dir(bench.path(&format!("d{folder:02}"))).unwrap();
        for file in 0..25 {
            let text = format!("needle {folder} {file} {}\n", "x".repeat(900)).repeat(3);
            bench.put(&format!("d{folder:02}/f{file:02}.txt"), text);
        }
    }
    for args in [
        json!({"pattern": "needle", "limit": 5000}),
        json!({"pattern": "needle"}),
        json!({"pattern": "needle", "context": 2, "limit": 7}),
    ] {
        let (first, whole) = split(&bench.text("grep", args.clone()).await);
        assert!(first.len() < 50 * 1024 && first.contains("of 3000 matches; narrow"), "{first:.200}");
        assert_eq!(whole.unwrap().matches(":needle").count(), 3_000);
        let paths: Vec<&str> =
            first.lines().filter(|line| line.starts_with('d')).filter_map(|line| line.get(..11)).collect();
        assert!(paths.is_sorted() && paths[0].starts_with("d00/f00"), "{paths:?}");
        for _ in 0..5 {
            assert!(split(&bench.text("grep", args.clone()).await).0 == first, "{args}");
        }
    }
    let matches = |text: &str| text.lines().filter(|line| line.contains(":needle")).count();
    assert_eq!(matches(&bench.text("grep", json!({"pattern": "needle", "limit": 7})).await), 7);
    let text = bench.text("find", json!({"pattern": "*", "limit": 100_000})).await;
    assert_eq!(text.lines().count(), 1040);
}

#[tokio::test]
async fn odd_places_are_told_and_do_not_stop_the_search() {
    let bench = Bench::new();
    bench.put("good.txt", "needle\n");
    bench.put("long.txt", [b"needle".to_vec(), vec![b'x'; 20 << 20]].concat());
    bench.put(
        "utf16.txt",
        [0xFEFF]
            .into_iter()
            .chain("a needle\n".encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>(),
    );
    bench.put("latin1.txt", b"needle gr\xF6\xDFe\n");
    symlink("loop2", bench.path("loop1")).unwrap();
    symlink("loop1", bench.path("loop2")).unwrap();
    symlink(".", bench.path("self")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let text = bench.text("grep", json!({"pattern": "needle"})).await;
    let expected = "good.txt:1:needle\nlatin1.txt:1:needle gr\u{fffd}\u{fffd}e\nutf16.txt:1:a needle\n\
                    [skipped: long.txt: it has a line over 16 MB]\n";
    assert_eq!(text, expected);
    let text = bench.text("grep", json!({"pattern": "a", "path": "fifo"})).await;
    assert_eq!(text, "ERROR fifo is a FIFO (named pipe); it cannot be searched");
    let text = bench.text("grep", json!({"pattern": "a", "path": "loop1"})).await;
    assert!(text.contains("its symbolic links form a loop"), "{text}");
}

#[tokio::test]
async fn an_abort_is_at_once() {
    let bench = Bench::new();
    let file = fs::File::create(bench.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    for args in [
        json!({"pattern": "needle", "path": "sparse"}),
        json!({"pattern": "needle", "path": "sparse", "all": true}),
    ] {
        let mut context = bench.context.clone();
        context.cancel = context.cancel.child_token();
        let cancel = context.cancel.clone();
        let tools = Toolbox::all();
        let call = tools.get("grep").unwrap().run(args, context);
        let abort = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            cancel.cancel();
            Instant::now()
        };
        let (answer, at) = tokio::join!(call, abort);
        assert!(at.elapsed() < SOON, "{:?}", at.elapsed());
        assert!(matches!(answer, Err(ToolError::Aborted { .. })), "{answer:?}");
    }
}

#[test]
fn tools_are_chosen_by_name() {
    let names =
        |tools: &Toolbox| tools.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ");
    assert_eq!(names(&Toolbox::standard()), "read bash jobs edit write ask_user");
    assert_eq!(names(&Toolbox::all()), "read bash jobs edit write ask_user grep find ls delegate");
    let chosen = Toolbox::from_names(&["grep".into(), "read".into()]).unwrap();
    assert_eq!(names(&chosen), "read grep");
    let error = Toolbox::from_names(&["read".into(), "gerp".into()]).unwrap_err();
    assert_eq!(
        error,
        "unknown tool \"gerp\"; the tools are read, bash, jobs, edit, write, ask_user, grep, find, ls, delegate"
    );
    for spec in Toolbox::all().specs() {
        assert_eq!(spec.read_only, !["bash", "edit", "write"].contains(&spec.name.as_str()), "{}", spec.name);
    }
}
