//! Our own recordings, `tests/recordings/`: every stream of every wire format decodes to the expected
//! result, however its bytes are split. The `README.md` there describes each and its origin.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use serde_json::Value;
use tau::agent::protocol::message::{AssistantMessage, StopReason};
use tau::agent::protocol::model::Api;
use tau::agent::provider::classify::from_status;
use tau::agent::provider::proxy::{Proxy, wire};
use tau::agent::provider::reader::AnswerReader;
use tau::agent::provider::{AnswerDecoder, Failure, StreamEvent, Transport, wire_format};
use tau::agent::secrets::Secrets;
use tokio_util::sync::CancellationToken;

use super::expected::{check, check_rules, faults, read_json};
use super::{assemble, decode_with, read_with, request, sizes};
use crate::support::dice::Dice;
use crate::support::server::{Act, Server, answer};

/// The wire formats, including that of an app server.
pub const FORMATS: [&str; 5] =
    ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "proxy"];

/// The cases recorded for every format.
const CASES: &[&str] = tau::tools::words!(
    "text tool-call parallel-calls length error-in-stream cut cut-in-event done-only crlf comments \
     unknown nul http-"
);

/// The additional cases recorded for the formats of providers.
const PROVIDER_CASES: [&str; 3] = ["usage-with-cache", "error-bare-json", "local-"];

/// A recorded answer and its expected result.
pub struct Recording {
    /// The format and name: `openai-completions/text`.
    pub name: String,
    pub format: &'static str,
    pub body: Vec<u8>,
    pub expected: Value,
}

impl Recording {
    /// The wire format; `None` for that of an app server.
    pub fn api(&self) -> Option<Api> {
        Api::from_name(self.format)
    }

    pub fn status(&self) -> u16 {
        self.expected["status"].as_u64().unwrap_or(200) as u16
    }

    /// The answer as a server sends it.
    pub fn http(&self) -> Vec<u8> {
        match self.status() {
            200 => answer("200 OK", "content-type: text/event-stream\r\n", &self.body),
            status => answer(&format!("{status} Error"), "content-type: application/json\r\n", &self.body),
        }
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        match self.api() {
            Some(api) => wire_format(api).unwrap().decoder(),
            None => Box::new(wire::WireDecoder::default()),
        }
    }

    /// The events if the body arrives in parts of these sizes.
    pub fn decode(&self, sizes: &[usize]) -> Vec<StreamEvent> {
        decode_with(self.decoder(), &self.body, sizes)
    }

    /// The events if the body arrives at once and pieces that arrive together are joined.
    fn decode_joined(&self) -> Vec<StreamEvent> {
        read_with(AnswerReader::new(self.decoder()).joining(true), &self.body, &[self.body.len()])
    }

    pub fn assemble(&self, events: &[StreamEvent]) -> AssistantMessage {
        assemble(self.api().unwrap_or(Api::Scripted), events)
    }

    /// The faults of a failure. The expected words are the provider's and part of the message; if they are
    /// empty the words are ours.
    fn faults_of(&self, failure: &Failure) -> Vec<String> {
        let mut faults = Vec::new();
        let kind = serde_json::to_value(failure.kind).unwrap();
        let others = self.expected["accept"].as_array().into_iter().flatten().map(|other| &other["kind"]);
        let kinds: Vec<&Value> = std::iter::once(&self.expected["kind"]).chain(others).collect();
        if !kinds.contains(&&kind) {
            faults.push(format!("kind: found {kind}, wanted {kinds:?}"));
        }
        let words = self.expected["error"].as_str().unwrap_or_default();
        if !failure.message.contains(words) {
            faults.push(format!("error: found {:?}, wanted {words:?}", failure.message));
        }
        faults
    }

    /// The faults of the events: their last one, and the assembled message.
    fn faults(&self, events: &[StreamEvent]) -> Vec<String> {
        let mut faults = faults(&self.assemble(events), &self.expected);
        match events.last() {
            Some(StreamEvent::Failed(failure)) => faults.extend(self.faults_of(failure)),
            Some(StreamEvent::Stop(_)) => {}
            last => faults.push(format!("it ends with {last:?}")),
        }
        faults
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// All recordings, by name.
pub fn recordings() -> Vec<Recording> {
    let mut all = Vec::new();
    for format in FORMATS {
        let entries = std::fs::read_dir(folder().join(format)).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
        paths.sort();
        for path in paths {
            let name = format!("{format}/{}", path.file_stem().unwrap().to_string_lossy());
            let expected = read_json(&path.with_extension("expected.json"));
            all.push(Recording { name, format, body: std::fs::read(&path).unwrap(), expected });
        }
    }
    all
}

#[test]
fn every_stream_decodes_to_what_is_expected_however_it_is_split() {
    let mut dice = Dice::new(7);
    let streams: Vec<Recording> =
        recordings().into_iter().filter(|recording| recording.status() == 200).collect();
    let mut report = Vec::new();
    for recording in &streams {
        let name = &recording.name;
        let whole = recording.decode(&[recording.body.len()]);
        // An app server itself guarantees the order of its events.
        if recording.api().is_some() {
            check_rules(name, &whole);
        }
        report.extend(recording.faults(&whole).into_iter().map(|fault| format!("{name}: {fault}")));
        for most in [1, 2, 3, 5, 7, 17, 41, 90, 200, 500, 900, 2_000] {
            let sizes = sizes(&mut dice, most);
            assert!(recording.decode(&sizes) == whole, "{name}: a split changes the events ({sizes:?})");
        }
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
    assert!(streams.len() > 150, "{} streams", streams.len());
}

#[test]
fn pieces_that_are_joined_make_the_same_answer() {
    let mut fewer = 0;
    for recording in recordings().iter().filter(|recording| recording.status() == 200) {
        let (whole, joined) = (recording.decode(&[recording.body.len()]), recording.decode_joined());
        assert_eq!(recording.assemble(&joined), recording.assemble(&whole), "{}", recording.name);
        assert_eq!(joined.last(), whole.last(), "{}", recording.name);
        for pair in joined.windows(2) {
            if let [StreamEvent::Delta(one), StreamEvent::Delta(other)] = pair {
                assert!(!one.clone().join(other, usize::MAX), "{}: {pair:?}", recording.name);
            }
        }
        fewer += usize::from(joined.len() < whole.len());
    }
    assert!(fewer > 40, "{fewer} streams have pieces that are joined");
}

#[test]
fn every_error_answer_is_understood() {
    let mut count = 0;
    for recording in recordings().iter().filter(|recording| recording.status() != 200) {
        let body = String::from_utf8(recording.body.clone()).unwrap();
        let failure = from_status(&Secrets::default(), recording.status(), &[], &body, 0);
        assert_eq!(recording.expected["stop_reason"], "error", "{}", recording.name);
        assert!(recording.faults_of(&failure).is_empty(), "{}: {failure:?}", recording.name);
        count += 1;
    }
    assert!(count > 10, "{count} error answers");
}

/// A server that sends only the end mark has given no answer.
#[test]
fn a_stream_without_an_answer_is_tried_again() {
    let mut marks = recordings();
    marks.retain(|recording| recording.name.ends_with("/done-only"));
    assert_eq!(marks.len(), FORMATS.len());
    for recording in &marks {
        match recording.decode(&[100]).last() {
            Some(StreamEvent::Failed(failure)) => assert!(failure.retryable(), "{}", recording.name),
            other => panic!("{}: {other:?}", recording.name),
        }
    }
}

#[test]
fn every_format_has_every_case_and_every_recording_is_described() {
    let names: BTreeSet<String> = recordings().into_iter().map(|recording| recording.name).collect();
    for format in FORMATS {
        let besides = if format == "proxy" { &[][..] } else { &PROVIDER_CASES };
        for case in CASES.iter().chain(besides) {
            let start = format!("{format}/{case}");
            let found =
                names.iter().any(|name| *name == start || case.ends_with('-') && name.starts_with(&start));
            assert!(found, "no recording {start}");
        }
    }
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut described = BTreeSet::new();
    let mut format = "";
    for line in readme.lines().skip_while(|line| *line != "## The recordings") {
        format = line.strip_prefix("### ").unwrap_or(format);
        if let Some((name, _)) = line.strip_prefix("| `").and_then(|row| row.split_once("` |")) {
            described.insert(format!("{format}/{name}"));
        }
    }
    assert_eq!(names, described, "recordings, and the rows of their README.md");
    for format in FORMATS {
        for entry in std::fs::read_dir(folder().join(format)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let name = file.strip_suffix(".sse").or(file.strip_suffix(".expected.json"));
            let name = format!("{format}/{}", name.unwrap_or_else(|| panic!("what is {file}?")));
            assert!(names.contains(&name), "{name} has no .sse");
        }
    }
}

/// The format of an app server, from a real connection to the message.
#[tokio::test]
async fn answers_of_an_app_server_arrive_as_they_were_sent() {
    for recording in recordings().iter().filter(|recording| recording.format == "proxy") {
        let server = Server::start(vec![Act::Send(recording.http())]).await;
        let proxy = Proxy::new(&server.url(), "token");
        let stream = proxy.stream(request(Api::Scripted), CancellationToken::new());
        let seconds = std::time::Duration::from_secs(20);
        let events: Vec<StreamEvent> =
            tokio::time::timeout(seconds, stream.collect()).await.expect("the stream ends");
        let message = recording.assemble(&events);
        if recording.status() == 200 {
            check(&recording.name, &message, &recording.expected);
        } else {
            assert_eq!(message.stop_reason, StopReason::Error, "{}", recording.name);
        }
        assert!(server.requests()[0].contains("authorization: Bearer token"), "{}", server.requests()[0]);
    }
}
