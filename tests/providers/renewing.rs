//! Expiring keys: a refused one is requested again, once, and nothing else is sent twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tau::agent::api::KeyFn;
use tau::agent::catalogue::keys::{KeyFuture, KeySource};
use tau::agent::protocol::event::Delta;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::key_refresh::KeyRefresh;
use tau::agent::provider::scripted::{ScriptedTransport, says};
use tau::agent::provider::{Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau::agent::secrets::Secret;
use tokio_util::sync::CancellationToken;

use super::assemble;
use crate::time_limit::InTime;

/// Supplies these keys, one after the other; the last one repeats.
fn keys(list: &'static [&'static str]) -> (Arc<dyn KeySource>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let source = KeyFn::new(move |_| {
        let at = counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(list.get(at).or(list.last()).map(Secret::new)) }
    });
    (Arc::new(source), asked)
}

fn failed(kind: FailureKind) -> Vec<StreamEvent> {
    vec![StreamEvent::Failed(Failure::new(kind, "refused"))]
}

fn request(key: Option<&str>) -> ModelRequest {
    ModelRequest { key: key.map(Secret::new), ..super::request(Api::Scripted) }
}

/// Sends a request with the key `old` to a model that accepts only the keys in `good`; checks the events,
/// and the keys that were sent.
async fn check(
    list: &'static [&'static str],
    good: &'static [&'static str],
    refusal: Vec<StreamEvent>,
) -> (Vec<StreamEvent>, Vec<String>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sent);
    let model = ScriptedTransport::answering(move |request: &ModelRequest| {
        let key = request.key.as_ref().unwrap().expose().to_owned();
        let taken = good.contains(&key.as_str());
        seen.lock().unwrap().push(key);
        if taken { says("taken") } else { refusal.clone() }
    });
    let renewing = KeyRefresh::new(Arc::new(model), keys(list).0);
    let events = renewing
        .stream(request(Some("old")), CancellationToken::new())
        .collect()
        .in_time("the end of the stream")
        .await;
    let sent = sent.lock().unwrap().clone();
    (events, sent)
}

#[tokio::test]
async fn a_refused_key_is_replaced_once() {
    let text = |events: &[StreamEvent]| assemble(Api::Scripted, events).text();
    let refused = || failed(FailureKind::Auth);
    let (events, sent) = check(&["new"], &["new"], refused()).await;
    assert_eq!((text(&events).as_str(), sent), ("taken", vec!["old".into(), "new".into()]));
    assert!(!events.iter().any(|event| matches!(event, StreamEvent::Failed(_))), "{events:?}");

    // Reported silence is not an answer.
    let silent = StreamEvent::Silent { idle_ms: 1, limit_ms: 2 };
    let (events, sent) = check(&["new"], &["new"], [vec![silent.clone()], refused()].concat()).await;
    assert_eq!((text(&events).as_str(), sent.len(), &events[0]), ("taken", 2, &silent));

    // So are the limits of a plan, which the head of a refusal can have.
    let plan = StreamEvent::Plan(Vec::new());
    let (events, sent) = check(&["new"], &["new"], [vec![plan], refused()].concat()).await;
    assert_eq!((text(&events).as_str(), sent.len()), ("taken", 2));

    let cases = [
        ("another is refused too", &["new", "newer"][..], refused(), 2),
        ("there is no other", &["old"], refused(), 1),
        ("another failure", &["new"], failed(FailureKind::RateLimit), 1),
        ("something came before", &["new"], [vec![began()], refused()].concat(), 1),
    ];
    for (what, list, refusal, requests) in cases {
        let (events, sent) = check(list, &[], refusal.clone()).await;
        assert_eq!((events, sent.len()), (refusal, requests), "{what}");
    }
}

fn began() -> StreamEvent {
    StreamEvent::Delta(Delta::TextStart { content_index: 0 })
}

#[tokio::test]
async fn without_a_key_none_is_asked_for() {
    let (keys, asked) = keys(&["new"]);
    let model = ScriptedTransport::answering(|_: &ModelRequest| failed(FailureKind::Auth));
    let renewing = KeyRefresh::new(Arc::new(model), keys);
    let events: Vec<StreamEvent> = renewing
        .stream(request(None), CancellationToken::new())
        .collect()
        .in_time("the end of the stream")
        .await;
    assert_eq!((events, asked.load(Ordering::SeqCst)), (failed(FailureKind::Auth), 0));
}

/// A source whose second key never arrives, or fails.
struct Stuck(Option<Failure>);

impl KeySource for Stuck {
    fn key<'a>(&'a self, _model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async {
            match &self.0 {
                Some(failure) => Err(failure.clone()),
                None => std::future::pending().await,
            }
        })
    }
}

#[tokio::test]
async fn a_source_that_fails_or_hangs() {
    let refusing = || Arc::new(ScriptedTransport::answering(|_: &ModelRequest| failed(FailureKind::Auth)));
    let failure = Failure::new(FailureKind::Config, "the command failed").hint("try it");
    let renewing = KeyRefresh::new(refusing(), Arc::new(Stuck(Some(failure))));
    let events: Vec<StreamEvent> = renewing
        .stream(request(Some("old")), CancellationToken::new())
        .collect()
        .in_time("the end of the stream")
        .await;
    let [StreamEvent::Failed(failure)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(failure.kind, FailureKind::Auth);
    assert_eq!(failure.to_string(), "refused; no other key: the command failed (try it)");

    let cancel = CancellationToken::new();
    let mut stream =
        KeyRefresh::new(refusing(), Arc::new(Stuck(None))).stream(request(Some("old")), cancel.clone());
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let Some(StreamEvent::Failed(failure)) = stream.next().in_time("the next event").await else {
        panic!("no failure")
    };
    assert_eq!((failure.kind, stream.next().in_time("the next event").await), (FailureKind::Aborted, None));
}
