//! Encodings, byte order marks, line ends and normal forms: named when read, kept when written, and reported
//! if they cannot be kept.

use std::fs;

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use crate::support::program::{bare, calls, own_model, run, says};
use crate::support::server::Server;
use crate::support::tool_bench::Bench;

const TEXTS: [(&str, &str); 7] = [
    ("GBK", "这个文件是用旧的中文编码保存的。\n请不要改变它的编码。\n"),
    ("GB18030", "这个文件里有少见的字，㐀和𠀀。\n请不要改变它的编码。\n"),
    ("Big5", "這個檔案是用舊的中文編碼儲存的。\n請不要改變它的編碼。\n"),
    ("Shift_JIS", "このファイルは古い文字コードで保存されています。\n変更しないでください。\n"),
    ("EUC-KR", "이 파일은 오래된 문자 인코딩으로 저장되어 있습니다.\n바꾸지 마십시오.\n"),
    ("windows-1251", "Этот файл сохранён в старой кодировке.\nПожалуйста, не меняйте её.\n"),
    ("UTF-16LE", "Both, öäü and 文件.\nThe second line.\n"),
];

fn encoded(name: &str, text: &str) -> Vec<u8> {
    if name == "UTF-16LE" {
        return "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    }
    encoding_rs::Encoding::for_label(name.as_bytes()).unwrap().encode(text).0.into_owned()
}

#[tokio::test]
async fn files_in_older_encodings_are_read_edited_and_replaced_in_them() {
    for (name, text) in TEXTS {
        for ends in ["\n", "\r\n"] {
            let bench = Bench::new();
            let text = text.replace('\n', ends);
            bench.put("f", encoded(name, &text));
            let (first, second) = text.split_once(ends).unwrap();
            let second = second.trim_end();
            let read = bench.text("read", json!({"path": "f"})).await;
            assert!(read.contains(&format!("     1  {first}\n     2  {second}\n")), "{name}: {read}");
            assert!(read.contains("it is not UTF-8; decoded as "), "{name}: {read}");
            assert_eq!(read.contains("its lines end in CRLF"), ends == "\r\n", "{name}: {read}");
            // Two lines, in reverse.
            let edit = json!({"path": "f", "old_string": format!("{first}\n{second}"),
                "new_string": format!("{second}\n{first}")});
            let said = bench.text("edit", edit).await;
            assert!(said.starts_with("Replaced 1"), "{name}: {said}");
            assert_eq!(bench.bytes("f"), encoded(name, &format!("{second}{ends}{first}{ends}")), "{name}");
            let said = bench.text("write", json!({"path": "f", "content": format!("{first}\n")})).await;
            assert!(said.starts_with("Overwrote f (") && said.contains("encoding ("), "{name}: {said}");
            assert_eq!(bench.bytes("f"), encoded(name, &format!("{first}{ends}")), "{name}");
            if name == "UTF-16LE" {
                assert!(said.contains("byte order mark"), "{said}");
                continue;
            }
            if name == "GB18030" {
                continue;
            }
            // A character that the encoding lacks.
            let said = bench.text("write", json!({"path": "f", "content": "\u{1f980}\n"})).await;
            assert!(
                said.contains("which lacks a character of the new text; it is UTF-8 now"),
                "{name}: {said}"
            );
            assert_eq!(bench.bytes("f"), format!("\u{1f980}{ends}").as_bytes(), "{name}");
        }
    }
}

#[tokio::test]
async fn write_keeps_line_ends_and_mark() {
    for (old, new, expected, says) in [
        ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", "Kept its line ends (CRLF)."),
        ("a\r\nb\r\n", "x\r\ny\r\n", "x\r\ny\r\n", "Kept its line ends (CRLF)."),
        ("a\nb\n", "x\r\ny\r\n", "x\ny\n", "Kept its line ends (LF)."),
        ("a\nb\n", "x\ny\n", "x\ny\n", ""),
        ("a\rb\r", "x\ny\n", "x\ry\r", "Kept its line ends (CR)."),
        ("\u{feff}a\n", "x\n", "\u{feff}x\n", "Kept its byte order mark."),
        ("\u{feff}a\r\n", "\u{feff}x\n", "\u{feff}x\r\n", "Kept its byte order mark and line ends (CRLF)."),
        ("a\r\nb\n", "x\ny\n", "x\ny\n", "The old content had different line ends"),
        ("", "x\r\n", "x\r\n", ""),
        ("a", "x\n", "x\n", ""),
    ] {
        let bench = Bench::new();
        bench.put("f", old);
        let said = bench.text("write", json!({"path": "f", "content": new})).await;
        assert_eq!(String::from_utf8(bench.bytes("f")).unwrap(), expected, "{old:?}: {said}");
        let second = said.lines().nth(1).unwrap_or_default();
        assert!(second.starts_with(says) && second.is_empty() == says.is_empty(), "{old:?}: {said}");
    }
}

#[tokio::test]
async fn composed_and_decomposed_characters_match_in_names_and_edits() {
    let forms = |text: &str| [text.nfc().collect::<String>(), text.nfd().collect::<String>()];
    for name in forms("Café.txt") {
        for content in forms("Größe: é\nein Ü\n") {
            for given in forms("Café.txt") {
                for old in forms("Größe: é") {
                    let bench = Bench::new();
                    bench.put(&name, &content);
                    let read = bench.text("read", json!({"path": given})).await;
                    assert!(read.contains("     2  ein"), "{read}");
                    let new = old.replace(':', " =");
                    let edit = json!({"path": given, "old_string": old, "new_string": new});
                    let said = bench.text("edit", edit).await;
                    assert!(said.starts_with("Replaced 1"), "{said}");
                    let expected = content.replace(':', " =");
                    assert_eq!(fs::read_to_string(bench.path(&name)).unwrap(), expected, "it keeps its form");
                    assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), 1);
                }
            }
        }
    }
    // Two that only look the same: neither is meant.
    let bench = Bench::new();
    bench.put("f", "Caf\u{e9} Cafe\u{301}");
    let text = bench.text("edit", json!({"path": "f", "old_string": "\u{c9}", "new_string": "x"})).await;
    assert!(text.starts_with("ERROR"), "{text}");
}

#[tokio::test]
async fn a_long_line_is_read_in_pages() {
    for (text, encoding) in [
        ("0123456789".repeat(9_000), "utf-8"),
        ("йцукенгшщз".repeat(9_000), "utf-8"),
        ("Это длинная строка. ".repeat(4_000), "windows-1251"),
    ] {
        let bench = Bench::new();
        let line = format!("first\n{text}\nlast\n");
        bench.put("f", encoding_rs::Encoding::for_label(encoding.as_bytes()).unwrap().encode(&line).0);
        let mut shown = String::new();
        let mut arguments = json!({"path": "f", "offset": 2, "limit": 1});
        for _ in 0..20 {
            let answer = bench.text("read", arguments).await;
            let row = answer.lines().find(|line| line.starts_with("     2  ")).unwrap();
            shown.push_str(row[8..].split(" [… ").next().unwrap());
            let next = answer.split("its rest: offset 2, column ").nth(1);
            let Some(column) = next.and_then(|rest| rest.split(']').next()) else { break };
            arguments = json!({"path": "f", "offset": 2, "column": column.parse::<u64>().unwrap()});
        }
        assert!(shown == text, "{} of {}", shown.len(), text.len());
    }
}

/// The model's input from instructions, piped input, a named file, and a command.
#[tokio::test]
async fn instructions_pipes_and_commands_may_be_utf_16() {
    let wide = |text: &str| encoded("UTF-16LE", text);
    let server = Server::start(vec![calls("bash", &json!({"command": "cat wide"})), says("done")]).await;
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    crate::support::write(&work.join("AGENTS.md"), &wide("Instructions: größer\n"));
    fs::write(work.join("named"), wide("Named: größer\n")).unwrap();
    fs::write(work.join("wide"), wide("Output: größer\n")).unwrap();
    fs::write(work.join("piped"), wide("Piped: größer\n")).unwrap();
    let mut command = bare(home.path());
    command.current_dir(&work).args(["-p", "--trust"]).args(own_model(&server.url()));
    command.args(["--permission-mode", "auto", "--sandbox", "off"]);
    command.stdin(fs::File::open(work.join("piped")).unwrap());
    let ended = run(command.arg("@named").arg("look"), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let requests = server.requests();
    let (_, body) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let all = body["messages"].to_string();
    for text in ["Instructions: größer", "Named: größer", "Output: größer", "Piped: größer"] {
        assert!(all.contains(text), "{text}: {all}");
    }
}
