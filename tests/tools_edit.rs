//! edit: matches, written bytes, untouched bytes, and the wording of every refusal.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::{Value, json};
use tau::tools::Details;

use crate::support::tool_bench::{Bench, names};

/// Checks one edit of a file with these bytes.
async fn check(before: impl AsRef<[u8]>, old: &str, new: &str, after: impl AsRef<[u8]>, says: &str) {
    let bench = Bench::new();
    bench.put("f", before.as_ref());
    let text = bench.text("edit", json!({"path": "f", "old_string": old, "new_string": new})).await;
    assert!(text.starts_with(says), "{old:?} -> {new:?} said {text}");
    let bytes = bench.bytes("f");
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        String::from_utf8_lossy(after.as_ref()),
        "{old:?} -> {new:?} in {:?}",
        String::from_utf8_lossy(before.as_ref())
    );
    assert_eq!(bytes, after.as_ref());
}

const ONE: &str = "Replaced 1 occurrence in f (1 line changed)";

#[tokio::test]
async fn bytes_outside_of_the_change_stay() {
    check("a\nb\nc\n", "b", "B", "a\nB\nc\n", ONE).await;
    check("a\nb\nc", "c", "C", "a\nb\nC", ONE).await;
    check("a\nb", "b", "b\nc", "a\nb\nc", "Replaced 1 occurrence in f (2 lines changed)").await;
    check("\u{FEFF}a\nb\n", "a", "A", "\u{FEFF}A\nb\n", ONE).await;
    check("a\nb\nc\n", "b\n", "", "a\nc\n", ONE).await;
    check(
        b"\xFFa\nb\xFE\xE2\x82\xAC\xE2\x82\xAC\n",
        "a",
        "A",
        b"\xFFA\nb\xFE\xE2\x82\xAC\xE2\x82\xAC\n",
        ONE,
    )
    .await;
    check(b"gr\xF6\xDFe\nx\n", "größe", "Größe", b"Gr\xF6\xDFe\nx\n", ONE).await;
    check(b"\xFF\xFEa\0\n\0b\0", "b", "\u{e9}", b"\xFF\xFEa\0\n\0\xE9\0", ONE).await;
}

#[tokio::test]
async fn new_lines_end_like_their_neighbours() {
    check("a\r\nb\r\nc\r\n", "a\nb", "A\nb", "A\r\nb\r\nc\r\n", ONE).await;
    check(
        "a\r\nb\r\n",
        "b",
        "b\nx\ny",
        "a\r\nb\r\nx\r\ny\r\n",
        "Replaced 1 occurrence in f (2 lines changed)",
    )
    .await;
    check("a\r\nb\r\n", "a\r\nb", "a\r\nB", "a\r\nB\r\n", ONE).await;
    check("a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\nd\n", ONE).await;
    check("a\nb\r\nc\n", "a\nb\nc", "A\nb\nC", "A\nb\r\nC\n", "Replaced 1 occurrence in f (2 lines changed)")
        .await;
    check("a\rb\rc\r", "a\nb\n", "a\nB\n", "a\rB\rc\r", ONE).await;
    check("x\ry\nz\n", "z", "Z", "x\ry\nZ\n", ONE).await;
    check("a\nb\n", "b", "b\r\nc", "a\nb\r\nc\n", "Replaced 1 occurrence in f (2 lines changed)").await;
}

#[tokio::test]
async fn lenient_matches_are_said_and_leave_equal_lines_alone() {
    let note = |words: &str, lines: &str| {
        format!(
            "Replaced 1 occurrence in f ({lines} changed)\nThe exact text was not found; it was matched {words}."
        )
    };
    let trailing = note("ignoring trailing space", "1 line");
    check("a  \nb\t\nc\n", "a\nb\nc\n", "a\nB\nc\n", "a  \nB\nc\n", &trailing).await;
    check("a\nb", "a\nb\n", "a\nB\n", "a\nB", &trailing).await;
    let indented =
        note("ignoring indentation, and the new text was re-indented to match the file", "2 lines");
    check(
        "fn f() {\n        if x {\n            y();\n        }\n}\n",
        "if x {\n    y();\n}",
        "if x {\n    z();\n    w();\n}",
        "fn f() {\n        if x {\n            z();\n            w();\n        }\n}\n",
        &indented,
    )
    .await;
    check(
        "\tif x {\n\t\ty\n\t}\n",
        "    if x {\n        y\n    }\n",
        "    if x {\n        y\n        {\n            z\n",
        "\tif x {\n\t\ty\n\t\t{\n\t\t\tz\n",
        &indented,
    )
    .await;
    check("a\n  b\n  c\n", "    b\n    c", "    b\n      x\n    C", "a\n  b\n    x\n  C\n", &indented).await;
    let alike = note("treating look-alike quotes, dashes and spaces as equal", "1 line");
    check(
        "say \u{201C}hi\u{201D} \u{2013} now\n",
        "say \"hi\" - now",
        "say \"hi\" - later",
        "say \u{201C}hi\u{201D} \u{2013} later\n",
        &alike,
    )
    .await;
    check("a\u{00A0}b\nc\n", "a b\nc", "a b\nd", "a\u{00A0}b\nd\n", &alike).await;
}

#[tokio::test]
async fn refusals_tell_what_to_do() {
    let same = "a\nb\na\n";
    check(same, "a", "x", same, "ERROR old_string occurs 2 times in f; include more surrounding lines to identify the one you mean, or set replace_all:\n     1  a\n     3  a\n").await;
    check(same, "", "x", same, "ERROR edit: `old_string` is blank").await;
    check(same, " \n", "x", same, "ERROR edit: `old_string` is blank").await;
    check(same, "b", "b", same, "ERROR edit: `old_string` and `new_string` are the same").await;
    check("", "b", "c", "", "ERROR f is empty, so old_string is not in it; use write to give it content")
        .await;
    check("x  \nx \n", "x\n", "y\n", "x  \nx \n", "ERROR old_string is not in f exactly, but 2 places match ignoring trailing space; give the exact text").await;
    let done = "fn renamed() {}\n";
    check(done, "fn original() {}", "fn renamed() {}", done, "ERROR old_string is not in f, but new_string already is, at line 1: the edit was probably made before").await;
    check(
        "a\nfoo(1)\n",
        "    foo(1)",
        "foo(1)",
        "a\nfoo(1)\n",
        "ERROR old_string is not in f, but new_string already is, at line 2",
    )
    .await;
    let text = "one\nfn compute(a: u32) -> u32 {\n    a + 1\n}\nend\n";
    check(text, "fn compute(a: u64) -> u64 {\n    a + 1\n}", "nothing", text,
        "ERROR old_string is not in f; nothing was changed. The closest text is:\n     2  fn compute(a: u32) -> u32 {\n     3      a + 1\n     4  }\nCopy old_string exactly from the file.").await;
    check(text, "let zebra = 77;", "nothing", text, "ERROR old_string is not in f; nothing was changed. Nothing in it resembles old_string; read the file again.").await;
    check(
        b"gr\xF6\xDFe\n",
        "größe",
        "100 ✓",
        b"gr\xF6\xDFe\n",
        "ERROR f is encoded in Latin-1 (windows-1252), which lacks a character of the new text",
    )
    .await;
    check(b"\0\0\0\x01", "a", "b", b"\0\0\0\x01", "ERROR f is a binary file").await;
}

async fn several(before: &str, args: Value, after: &str, says: &str) {
    let bench = Bench::new();
    bench.put("f", before);
    let mut all = json!({"path": "f"});
    all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
    let text = bench.text("edit", all).await;
    assert!(text.starts_with(says), "{args}: {text}");
    assert_eq!(String::from_utf8(bench.bytes("f")).unwrap(), after, "{args}");
}

#[tokio::test]
async fn several_edits_are_made_all_or_none() {
    let edits = |list: &[(&str, &str)]| {
        let list: Vec<Value> =
            list.iter().map(|(old, new)| json!({"old_string": old, "new_string": new})).collect();
        json!({"edits": list})
    };
    several(
        "a\nb\nc\n",
        edits(&[("c", "a"), ("a", "c")]),
        "c\nb\na\n",
        "Replaced 2 occurrences in f (2 lines changed)",
    )
    .await;
    several(
        "a\nb\nc\n",
        edits(&[("a", "x"), ("zz", "y")]),
        "a\nb\nc\n",
        "ERROR edits[1]: old_string is not in f;",
    )
    .await;
    several(
        "a\nb\nc\n",
        edits(&[("a\nb", "x"), ("b\nc", "y")]),
        "a\nb\nc\n",
        "ERROR two of the edits overlap in f (lines 1 and 2)",
    )
    .await;
    several(
        "a\nb\n",
        edits(&[("a", "x"), ("b", "b")]),
        "a\nb\n",
        "ERROR edit: `edits[1].old_string` and `edits[1].new_string` are the same",
    )
    .await;
    several(
        "a a\na\n",
        json!({"old_string": "a", "new_string": "b", "replace_all": true}),
        "b b\nb\n",
        "Replaced 3 occurrences in f (2 lines changed)",
    )
    .await;
    several(
        "a\r\nx\r\na\r\nx\r\n",
        json!({"old_string": "a\nx", "new_string": "b\nx", "replace_all": true}),
        "b\r\nx\r\nb\r\nx\r\n",
        "Replaced 2 occurrences in f (2 lines changed)",
    )
    .await;
}

#[tokio::test]
async fn the_file_stays_what_it_was() {
    let bench = Bench::new();
    let path = bench.put("real", "a\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real", bench.path("link")).unwrap();
    let output =
        bench.call("edit", json!({"path": "link", "old_string": "a", "new_string": "b"})).await.unwrap();
    assert!(matches!(&output.details, Details::Diff(diff) if diff.path == "link" && diff.added == 1));
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
    assert_eq!((bench.bytes("real"), fs::metadata(&path).unwrap().mode() & 0o7777), (b"b\n".to_vec(), 0o640));
    fs::hard_link(&path, bench.path("hard")).unwrap();
    bench.text("edit", json!({"path": "hard", "old_string": "b", "new_string": "longer"})).await;
    assert_eq!(bench.bytes("real"), b"longer\n");
    assert_eq!(names(&bench.context.cwd), ["hard", "link", "real"]);
    // Only root can give a file away; elsewhere there is nothing to keep.
    if std::os::unix::fs::chown(&path, Some(12_345), Some(12_345)).is_ok() {
        fs::remove_file(bench.path("hard")).unwrap();
        bench.text("edit", json!({"path": "real", "old_string": "longer", "new_string": "x"})).await;
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (12_345, 12_345, 0o640));
    }
}

#[tokio::test]
async fn a_large_file_is_edited_and_its_diff_is_small() {
    let bench = Bench::new();
    let text: String = (0..100_000).map(|n| format!("this is line number {n}\n")).collect();
    bench.put("f", &text);
    let args = json!({"path": "f", "old_string": "line number 77777\n", "new_string": "line number x\n"});
    let output = bench.call("edit", args).await.unwrap();
    assert!(
        matches!(&output.details, Details::Diff(diff) if diff.added == 1 && diff.hunks.len() == 1 && diff.hunks[0].old_start == 77_775)
    );
    assert_eq!(bench.bytes("f"), text.replace("number 77777\n", "number x\n").into_bytes());
}
