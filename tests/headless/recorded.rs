//! Recorded streams, served over loopback to the program in json mode: it must report the expected message.

use std::path::{Path, PathBuf};

use futures_util::{StreamExt, stream};
use serde_json::Value;
use tau::agent::protocol::message::AssistantMessage;

use super::*;
use crate::providers::corpus_folder;
use crate::providers::expected::{check, read_json};
use crate::providers::recordings::recordings;
use crate::support::server::answer;

/// One in this many streams of the corpus is served; all truncated ones are.
const SAMPLE: usize = 8;

/// An answer, and the message that the program must report.
struct Served {
    name: String,
    api: String,
    answer: Vec<u8>,
    expected: Value,
}

fn has_calls(expected: &Value) -> bool {
    expected["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
}

async fn serve(served: Served) {
    let Served { name, api, answer: first, mut expected } = served;
    let is_empty = |field: &str| expected[field].as_str().is_none_or(str::is_empty);
    if !expected["error"].is_null() && is_empty("text") && is_empty("thinking") && !has_calls(&expected) {
        // An answer that fails before any content is requested again, and the next one is reported.
        expected["usage"] = Value::Null;
    }
    // The server's answer after a call or a failure ends it.
    let after = answer("400 Bad Request", "content-type: application/json\r\n", b"{\"error\":\"no more\"}");
    let place = Place::new(vec![Act::Send(first), Act::Send(after)]).await;
    let ended = run(&mut place.tau(&["--mode", "json", "--api", &api, "hello"]), None).await;
    let records = ended.records();
    assert_eq!(records[0]["type"], "session", "{name}: {ended:?}");
    for record in &records {
        assert!(record["timestamp"].is_string(), "{name}: {record}");
    }
    let end = records.last().unwrap();
    assert_eq!((&end["type"], &end["exitCode"]), (&"end".into(), &ended.code.into()), "{name}");
    let message = records
        .iter()
        .find(|record| record["type"] == "message_end" && record["message"]["role"] == "assistant");
    let message = message.unwrap_or_else(|| panic!("{name}: no answer: {ended:?}"))["message"].clone();
    let message: AssistantMessage = serde_json::from_value(message).unwrap();
    check(&name, &message, &expected);
}

async fn serve_all(all: Vec<Served>) {
    stream::iter(all).map(serve).buffer_unordered(4).collect::<Vec<()>>().await;
}

/// Every truncated or failed stream, every stream of a real server, and a sample of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_streams_are_reported_as_they_are() {
    let ours = recordings().into_iter().filter(|recording| recording.api().is_some()).enumerate();
    let chosen = ours.filter(|(index, recording)| {
        index % 4 == 0
            || ["/local-", "/cut", "/done-only", "/error"].iter().any(|part| recording.name.contains(part))
    });
    let served = chosen.map(|(_, recording)| Served {
        name: recording.name.clone(),
        api: recording.format.to_owned(),
        answer: recording.http(),
        expected: recording.expected,
    });
    let served: Vec<Served> = served.collect();
    assert!(served.len() > 40, "{} recordings", served.len());
    serve_all(served).await;
}

fn of_corpus(path: &Path) -> Served {
    let meta = read_json(&path.with_extension("meta.json"));
    let body = std::fs::read(path).unwrap();
    let status = meta["http_status"].as_u64().unwrap_or(200);
    Served {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        api: meta["api"].as_str().unwrap().to_owned(),
        answer: if status == 200 {
            answer("200 OK", "content-type: text/event-stream\r\n", &body)
        } else {
            answer(&format!("{status} Error"), "content-type: application/json\r\n", &body)
        },
        expected: read_json(&path.with_extension("expected.json")),
    }
}

/// The same with streams that others recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_the_corpus_are_reported_as_they_are() {
    let Some(folder) = corpus_folder() else { return };
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "sse")).collect();
    paths.sort();
    let cut = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("derived");
    let chosen = paths.iter().enumerate().filter(|(index, path)| index % SAMPLE == 0 || cut(path));
    let served: Vec<Served> = chosen.map(|(_, path)| of_corpus(path)).collect();
    assert!(served.len() > 30, "{} streams", served.len());
    serve_all(served).await;
}
