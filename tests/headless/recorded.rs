//! Recorded streams, served over loopback to the program in json mode: the message it tells is
//! what the vendor's own client made of the stream.

use std::path::PathBuf;

use futures_util::{StreamExt, stream};
use tau::agent::protocol::message::AssistantMessage;

use super::*;
use crate::faults::server::answer;
use crate::providers::corpus::{check, read_json};
use crate::providers::recordings;

/// One recording in this many is served; all that were cut off are.
const SAMPLE: usize = 8;

async fn told(path: PathBuf) {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let meta = read_json(&path.with_extension("meta.json"));
    let body = std::fs::read(&path).unwrap();
    let status = meta["http_status"].as_u64().unwrap_or(200);
    let first = if status == 200 {
        crate::faults::server::stream(&String::from_utf8_lossy(&body))
    } else {
        answer(&format!("{status} Error"), "content-type: application/json\r\n", &body)
    };
    // What follows a call or a failure ends it.
    let after = answer("400 Bad Request", "content-type: application/json\r\n", b"{\"error\":\"no more\"}");
    let place = Place::new(vec![Act::Send(first), Act::Send(after)]).await;
    let api = meta["api"].as_str().unwrap();
    let ended = run(&mut place.tau(&["--mode", "json", "--api", api, "hello"]), None).await;
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
    check(&name, &message, &read_json(&path.with_extension("expected.json")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_streams_are_told_as_they_are() {
    let Some(folder) = recordings() else { return };
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "sse")).collect();
    paths.sort();
    let cut = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("derived");
    let chosen: Vec<PathBuf> = paths
        .into_iter()
        .enumerate()
        .filter(|(index, path)| index % SAMPLE == 0 || cut(path))
        .map(|(_, path)| path)
        .collect();
    assert!(chosen.len() > 30, "{} recordings", chosen.len());
    stream::iter(chosen).map(told).buffer_unordered(4).collect::<Vec<()>>().await;
}
