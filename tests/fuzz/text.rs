//! Text of models and programs on its way to the screen, partially received arguments, and lines of other
//! programs.

use std::pin::Pin;
use std::task::{Context, Poll};

use serde_json::Value;
use tau::agent::provider::partial_json;
use tau::agent::session::surrogates::repair_json;
use tau::app::ansi;
use tau::app::blocks::{MarkdownBlock, MarkdownBlocks};
use tau::app::printable::{Printable, printable, printable_line};
use tau::cli::rpc::lines::{InputLine, LineReader};
use tokio::io::{AsyncRead, ReadBuf};

use super::driver::{behavior, cuts, magnitude};
use super::{Target, as_text, bodies, pieces, run, texts};
use crate::text::HOSTILE;

#[test]
fn markdown_blocks() {
    run(Target { name: "markdown_blocks", check: check_blocks, seeds: texts(), words: HOSTILE, cases: 500 });
}

fn check_blocks(input: &[u8]) -> u64 {
    let text = as_text(input);
    let whole = MarkdownBlocks::of(&text);
    let mut dice = cuts(input);
    for most in [1, 12, 300] {
        let mut streamed = MarkdownBlocks::default();
        let mut closed: Vec<MarkdownBlock> = Vec::new();
        for piece in pieces(&text, &mut dice, most) {
            streamed.push(&piece);
            assert!(streamed.closed_blocks().starts_with(&closed), "a closed block changed");
            closed.extend_from_slice(&streamed.closed_blocks()[closed.len()..]);
            if dice.below(8) == 0 {
                check_safe(streamed.open().as_slice());
            }
        }
        streamed.finish();
        assert_eq!(streamed.closed_blocks(), whole.closed_blocks(), "a split changes the blocks");
    }
    check_safe(whole.closed_blocks());
    let size: usize = whole.closed_blocks().iter().map(|block| source(block).len()).sum();
    let shown = printable(&text).len();
    assert!(size <= shown, "{size} bytes of blocks from {shown} of text");
    let kinds: Vec<bool> = whole
        .closed_blocks()
        .iter()
        .take(10)
        .map(|block| matches!(block, MarkdownBlock::Code { .. }))
        .collect();
    behavior((kinds, magnitude(whole.closed_blocks().len()), magnitude(shown - size)))
}

fn source(block: &MarkdownBlock) -> &str {
    match block {
        MarkdownBlock::Markdown(source) => source,
        MarkdownBlock::Code { text, .. } => text,
    }
}

fn check_safe(blocks: &[MarkdownBlock]) {
    for block in blocks {
        assert!(!source(block).contains(|c: char| c.is_control() && c != '\n'), "{block:?}");
    }
}

#[test]
fn printable_text() {
    run(Target {
        name: "printable_text",
        check: check_printable,
        seeds: texts(),
        words: HOSTILE,
        cases: 1_000,
    });
}

fn check_printable(input: &[u8]) -> u64 {
    let text = as_text(input);
    let whole = Printable::new(&text);
    let mut dice = cuts(input);
    for most in [1, 10, 200] {
        let mut streamed = Printable::default();
        pieces(&text, &mut dice, most).iter().for_each(|piece| streamed.append(piece));
        assert_eq!(streamed, whole, "a split changes the text");
    }
    assert!(!whole.contains(|c: char| c.is_control() && c != '\n'), "{whole:?}");
    assert_eq!(printable(&text), whole.as_str());
    assert_eq!(printable(&whole), whole.as_str(), "what is safe stays as it is");
    let line = printable_line(&text);
    assert!(!line.contains(char::is_control), "{line:?}");
    // A tab is at most four blanks, and a control character becomes a symbol of three bytes.
    assert!(whole.len() <= 4 * text.len() && line.len() <= 4 * text.len());
    for run in ansi::lines(&text).iter().flatten() {
        assert!(!run.text.is_empty() && !run.text.contains(char::is_control), "{run:?}");
    }
    behavior((
        magnitude(whole.len()),
        magnitude(text.len() - whole.len().min(text.len())),
        line.len() == whole.len(),
    ))
}

#[test]
fn half_arrived_arguments() {
    let json = [
        r#"{"path":"src/main.rs","limit":20,"lines":[1,2.5,-3e2],"deep":{"a":[{"b":null},true,false]}}"#,
        r#"{"text":"q\"uote \\ \u00e9 \ud83d\ude00 \n","empty":"","list":[]}"#,
        "{\"command\":\"echo 'ä'\"",
    ];
    let seeds = json.iter().map(|text| text.as_bytes().to_vec()).chain(bodies("proxy")).collect();
    let words =
        &["\"a\":", "\"", "\\u", "\\ud83d", "\\ude00", "[", "{", "]", "}", "null", "tru", "-", "1e", "\\"];
    run(Target { name: "half_arrived_arguments", check: check_partial, seeds, words, cases: 8_000 });
}

fn check_partial(input: &[u8]) -> u64 {
    let text = as_text(input);
    let arguments = partial_json::arguments(&text);
    assert!(arguments.is_object() || arguments == Value::String(text.clone()), "{arguments}");
    let part = partial_json::partial(&text);
    let size = part.to_string().len();
    // A control character becomes six bytes, and a number is written out.
    assert!(size <= 20 * text.len() + 8, "{size} bytes from {}", text.len());
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        return behavior((magnitude(size), depth(&part)));
    };
    assert_eq!(part, value, "what is whole is read as it is");
    // Serialized again, so that no key occurs twice.
    let text = value.to_string();
    let mut dice = cuts(input);
    for _ in 0..20 {
        let at = dice.below(text.len() + 1);
        let Some(begun) = text.get(..at) else { continue };
        let part = partial_json::partial(begun);
        assert!(is_part(&part, &value), "{begun}: {part} is no part of {value}");
    }
    behavior((magnitude(size), depth(&part), true))
}

/// True if one value is the beginning of another. Truncated numbers count as different.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, _) | (Value::Number(_), Value::Number(_)) => true,
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| is_part(part, whole)))
        }
        (part, whole) => part == whole,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The longest line of the RPC reader here, in bytes.
const LIMIT: usize = 300;

#[test]
fn rpc_lines() {
    let lines = include_str!("../golden/rpc/run.jsonl").as_bytes().to_vec();
    let own = [
        "{\"type\":\"prompt\",\"message\":\"hi\"}\r\n{\"type\":\"abort\",\"id\":\"1\"}\n\n \t\n{",
        "\"\\ud83d\"\n",
    ];
    let seeds =
        own.iter().map(|text| text.as_bytes().to_vec()).chain([lines]).chain(bodies("proxy")).collect();
    let words =
        &["\n", "\r\n", "\\ud83d", "\\ude00", "\\u", "\\\\", "\"", "{\"type\":\"prompt\"}\n", "\u{2028}"];
    run(Target { name: "rpc_lines", check: check_lines, seeds, words, cases: 1_000 });
}

/// Bytes that arrive in pieces of one size.
struct InPieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl AsyncRead for InPieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let (piece, rest) = self.rest.split_at(self.size.min(self.rest.len()).min(buffer.remaining()));
        buffer.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

fn lines(input: &[u8], size: usize) -> Vec<InputLine> {
    let mut reader = LineReader::new(InPieces { rest: input, size }, LIMIT);
    let all = async {
        let mut all = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            all.push(line);
        }
        all
    };
    // The reader above is never pending, so no runtime is needed.
    futures_util::FutureExt::now_or_never(all).expect("it reads on")
}

fn check_lines(input: &[u8]) -> u64 {
    let whole = lines(input, input.len().max(1));
    for size in [1, 3, 100] {
        assert_eq!(lines(input, size), whole, "a split changes the lines");
    }
    assert!(whole.len() <= input.iter().filter(|byte| **byte == b'\n').count() + 1);
    let mut kinds = Vec::new();
    for line in &whole {
        let InputLine::Record(record) = line else {
            kinds.push(0);
            continue;
        };
        assert!(!record.contains('\n') && !record.trim_matches([' ', '\t']).is_empty(), "{record:?}");
        assert!(record.len() <= 3 * LIMIT, "{} bytes", record.len());
        kinds.push(if serde_json::from_str::<Value>(record).is_ok() { 1 } else { 2 });
    }
    for text in as_text(input).lines() {
        let whole = repair_json(text);
        assert!(whole.len() <= text.len(), "{text:?} becomes {whole:?}");
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            assert_eq!(serde_json::from_str::<Value>(&whole).ok(), Some(value), "{text:?} becomes {whole:?}");
        }
        assert_eq!(repair_json(&whole), whole, "{text:?}: what is whole stays as it is");
    }
    kinds.truncate(8);
    behavior((kinds, magnitude(whole.len())))
}
