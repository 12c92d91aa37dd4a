//! Malformed arguments, and files reached by several calls or names.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use serde_json::json;

use super::Rack;
use crate::time_limit::RunInTime;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn wrong_arguments_name_the_field() {
    let mut rack = Rack::new();
    rack.put("f", "one\n");
    let wrong = [
        ("bash", json!({"command": "true", "timeout": -1}), "`timeout` must be 0 or more"),
        ("bash", json!({"command": "true", "timeout": 1.5}), "`timeout` must be a whole number"),
        ("bash", json!({"command": "true", "timeout": "soon"}), "`timeout` must be a whole number"),
        ("bash", json!({"command": ["ls", "-l"]}), "`command` must be a string"),
        ("bash", json!({}), "`command` is missing"),
        ("read", json!({"path": {"a": 1}}), "`path` must be a string"),
        ("read", json!({"path": "f", "offset": -3}), "`offset` must be 1 or more"),
        ("read", json!({"path": "f", "offset": "first"}), "`offset` must be a whole number"),
        ("edit", json!({"path": "f", "edits": 7}), "`edits` must be a list"),
        ("edit", json!({"path": "f", "edits": [{"old_string": 1}]}), "`edits[0].new_string` is missing"),
        (
            "edit",
            json!({"path": "f", "old_string": "one", "new_string": "x", "replace_all": "perhaps"}),
            "`replace_all`",
        ),
        ("write", json!({"path": "f"}), "`content` is missing"),
        ("write", json!({"path": "f", "content": {"a": 1}}), "`content` must be a string"),
        ("grep", json!({"pattern": "("}), "is not a regular expression"),
        ("find", json!({"pattern": "["}), "`pattern`"),
        ("ls", json!({"path": "f"}), "not a directory"),
        ("read", json!([1, 2]), "not a valid JSON object"),
        ("read", json!("f"), "not a valid JSON object"),
    ];
    for (tool, args, words) in wrong {
        rack.refused(tool, args, words).await;
    }
    assert_eq!(rack.bytes("f"), b"one\n");
}

#[tokio::test]
async fn slips_that_can_mean_one_thing_are_understood() {
    let mut rack = Rack::new();
    rack.put("f", "one\ntwo\n");
    let most = SECOND * 2;
    for args in [
        json!({"file_path": "f", "limit": "1"}),
        json!({"path": "f", "limit": 1.0, "offset": "1"}),
        json!({"path": "f", "limit": 1, "description": "look at it", "offset": null}),
    ] {
        assert!(rack.fine("read", args, most).await.contains("     1  one\n"));
    }
    let edits = r#"[{"old_string": "two", "new_string": "2"}]"#;
    rack.fine("edit", json!({"file_path": "f", "edits": edits}), most).await;
    assert_eq!(rack.bytes("f"), b"one\n2\n");
    for timeout in [json!(0), json!("5"), json!(u64::MAX / 4), json!(null)] {
        let text = rack.fine("bash", json!({"cmd": "echo ok", "timeout": timeout}), most).await;
        assert!(text.starts_with("ok\n"), "{text}");
    }
}

#[tokio::test]
async fn all_names_of_a_file_keep_leading_to_it() {
    let mut rack = Rack::new();
    rack.put("f", "one\n");
    fs::hard_link(rack.path("f"), rack.path("hard")).unwrap();
    symlink("f", rack.path("soft")).unwrap();
    fs::set_permissions(rack.path("f"), fs::Permissions::from_mode(0o751)).unwrap();
    let inode = fs::metadata(rack.path("f")).unwrap().ino();
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_string": old, "new_string": new});
    rack.fine("edit", edit("hard", "one", "two"), SECOND * 2).await;
    rack.fine("edit", edit("soft", "two", "three"), SECOND * 2).await;
    rack.fine("write", json!({"path": "soft", "content": "four\n"}), SECOND * 2).await;
    for name in ["f", "hard", "soft"] {
        assert_eq!(rack.bytes(name), b"four\n", "{name}");
    }
    let metadata = fs::metadata(rack.path("hard")).unwrap();
    assert_eq!((metadata.ino(), metadata.mode() & 0o777), (inode, 0o751));
    assert!(fs::symlink_metadata(rack.path("soft")).unwrap().is_symlink());
}

#[tokio::test]
async fn calls_on_one_file_in_one_answer_follow_each_other() {
    let mut rack = Rack::new();
    rack.put("f", "a b c d\n");
    symlink("f", rack.path("other")).unwrap();
    let calls = [("f", "a"), ("other", "b"), ("./f", "c"), ("f", "d")].map(|(path, old)| {
        ("edit", json!({"path": path, "old_string": old, "new_string": old.to_uppercase()}))
    });
    rack.begin(&calls).await;
    let answers = rack.end().await;
    assert!(answers.len() == 4 && answers.iter().all(|answer| !answer.failed), "{answers:?}");
    assert_eq!(rack.bytes("f"), b"A B C D\n");
}

#[tokio::test]
async fn utf16_is_read_and_never_half_edited() {
    let mut rack = Rack::new();
    let wide = |text: &str| -> Vec<u8> {
        [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    rack.put("f", wide("one\r\nzwei\r\n"));
    let text = rack.fine("read", json!({"path": "f"}), SECOND * 2).await;
    assert!(text.contains("     2  zwei\n") && text.contains("UTF-16"), "{text}");
    let args = json!({"path": "f", "old_string": "zwei", "new_string": "drei"});
    let answer = rack.call("edit", args).await;
    let expected = if answer.failed { wide("one\r\nzwei\r\n") } else { wide("one\r\ndrei\r\n") };
    assert_eq!(rack.bytes("f"), expected, "{answer}");
}

#[tokio::test]
async fn caps_are_of_lines_bytes_and_tokens() {
    let mut rack = Rack::new();
    let cases = [
        // Short lines, long ones, and few bytes of many tokens each.
        ("seq 1 9000", 2_000),
        ("for i in $(seq 1 400); do printf '%0300d\\n' $i; done", 2_000),
        ("yes 漢字 | head -5000", 2_000),
        ("head -c 200000 /dev/zero | tr '\\0' 7", 3),
    ];
    for (command, lines) in cases {
        let text = rack.fine("bash", json!({"command": command}), SECOND * 5).await;
        assert!(text.lines().count() <= lines + 3, "{command}: {} lines", text.lines().count());
        assert!(
            tau::tools::budget::token_weight(&text) < 50 * 1024,
            "{command}: {}",
            tau::tools::budget::token_weight(&text)
        );
        let (_, path) = text.split_once(") is in ").expect("where the whole is");
        let path = path.split_once(" …]").unwrap().0;
        let whole = fs::read(path).unwrap();
        let direct = std::process::Command::new("bash").arg("-c").arg(command).output_in_time().stdout;
        assert!(whole == direct, "{command}");
    }
    rack.put("many", ("漢".repeat(60) + "\n").repeat(4_000));
    let text = rack.fine("read", json!({"path": "many"}), SECOND * 5).await;
    assert!(text.starts_with("WARNING: File has 4000 lines, showing first "), "{text:.200}");
    assert!(
        tau::tools::budget::token_weight(&text) <= 256_000,
        "{}",
        tau::tools::budget::token_weight(&text)
    );
}
