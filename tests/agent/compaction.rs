//! Compaction: when it happens, what the model sees before and after, and how it fails.

use tau::agent::api::AgentConfig;
use tau::agent::context::compaction::SUMMARY_SYSTEM_PROMPT as SYSTEM;
use tau::agent::context::compaction::size;
use tau::agent::protocol::command::{RunCommand, SessionChange, SessionCommand, TaskCommand};
use tau::agent::protocol::event::{
    CompactionReason, CompactionResult, QueueEvent, RunEvent, TaskEvent, TurnEvent,
};
use tau::agent::protocol::message::Usage;
use tau::agent::protocol::mirror::SessionMirror;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::protocol::run::CompactionSettings;
use tau::agent::provider::scripted::{ScriptedTransport, says};
use tau::agent::provider::{ModelRequest, StreamEvent, wire_format};
use tau::agent::session::entry::Body;

use super::*;

const SUMMARY: [Step; 2] = [Say("what happened so far"), STOP];

/// A text of about this many tokens.
fn long(tokens: usize) -> &'static str {
    "word ".repeat(tokens * 4 / 5).leak()
}

/// A model with a window of 8,000 tokens, half of which is kept free.
fn small(config: &mut AgentConfig) {
    let model = Model::clone(&model("first"));
    config.model = Some(Arc::new(Model { context_window: 8_000, ..model }));
    config.compaction = CompactionSettings { keep: 800, ..CompactionSettings::default() };
}

fn result(events: &[AgentEvent]) -> CompactionResult {
    let result = events.iter().find_map(|event| match event {
        AgentEvent::Run(RunEvent::CompactionEnd { result, .. }) => result.as_deref().cloned(),
        _ => None,
    });
    result.unwrap_or_else(|| panic!("no result in {:?}", brief(events)))
}

async fn compact(bench: &mut Bench, instructions: Option<&str>) -> Vec<AgentEvent> {
    let instructions = instructions.map(str::to_owned);
    bench.send(RunCommand::Compact { instructions }).await;
    bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionEnd { .. }))).await
}

fn requests(player: &Player) -> Vec<ModelRequest> {
    player.requests.lock().unwrap().clone()
}

fn words(request: &ModelRequest) -> String {
    let texts = request.messages.iter().map(|message| match message.as_ref() {
        Message::User(user) => user.content.text(),
        other => crate::fake::said(other),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Checks that every call of a request is directly followed by its result, and that each wire format accepts
/// it.
fn check_valid(request: &ModelRequest) {
    let mut open: Vec<&str> = Vec::new();
    for message in &request.messages {
        match message.as_ref() {
            Message::Assistant(answer) => {
                assert!(open.is_empty(), "{open:?} have no result");
                open = answer.tool_calls().map(|call| call.id.as_str()).collect();
            }
            Message::ToolResult(result) => {
                let at = open.iter().position(|id| *id == result.tool_call_id).expect("a call");
                open.remove(at);
            }
            _ => assert!(open.is_empty(), "{open:?} have no result"),
        }
    }
    for (_, api) in Api::NAMES {
        let model =
            Arc::new(Model { api, base_url: "http://localhost".into(), ..Model::clone(&request.model) });
        let messages = tau::agent::context::request::for_request(&request.messages, &model);
        let request = ModelRequest { model, messages, ..request.clone() };
        wire_format(api).unwrap().encode(&request).unwrap();
    }
}

#[tokio::test]
async fn a_summary_takes_the_place_of_what_was_before() {
    let answers = vec![
        vec![Say("first answer"), STOP],
        vec![Say("second answer"), STOP],
        SUMMARY.to_vec(),
        vec![Say("third answer"), STOP],
        vec![Say("a later summary"), STOP],
    ];
    let player = Player::new(answers);
    let mut bench = Bench::on(player.clone());
    for text in ["the first request", "the second request"] {
        bench.prompt(text).await;
        bench.settled().await;
    }
    let events = compact(&mut bench, Some("mind the colours")).await;
    assert_eq!(brief(&events), ["compacts Manual", "compacted"]);
    let first = result(&events);
    assert!(first.summary.starts_with("what happened so far"), "{first:?}");
    assert!(first.tokens_before > 0 && first.estimated_tokens_after > 0, "{first:?}");
    bench.prompt("the third request").await;
    bench.settled().await;

    let asked = requests(&player);
    let summing = &asked[2];
    assert_eq!((&*summing.system, summing.tools.len(), summing.thinking.name()), (SYSTEM, 0, "off"));
    let text = words(summing);
    for part in ["the first request", "first answer", "mind the colours", "## Next"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let reported = words(&asked[3]);
    assert!(reported.contains("<summary>\nwhat happened so far"), "{reported}");
    assert!(!reported.contains("first answer") && reported.contains("the third request"), "{reported}");
    // The user's last message stays verbatim, wherever the cut point is.
    assert!(reported.contains("the second request"), "{reported}");
    check_valid(&asked[3]);

    // A second one continues the first.
    compact(&mut bench, None).await;
    let again = words(&requests(&player)[4]);
    assert!(again.contains("<earlier-summary>\nwhat happened so far"), "{again}");
    assert!(again.contains("Update it: keep"), "{again}");

    // The file has everything, and a resumed session continues from the summary.
    let (session, _dir) = bench.reopened().await.unwrap();
    let compactions = session.tree().entries().iter().filter(|e| matches!(e.body, Body::Compaction { .. }));
    assert_eq!(compactions.count(), 2);
    let messages = session.context().messages;
    assert!(matches!(&*messages[0], Message::CompactionSummary(s) if s.summary.starts_with("a later")));
}

/// After a compaction, in a session that is opened again, and of a provider that counts nothing, the size is the agent's.
#[tokio::test]
async fn the_size_of_the_context_is_told_where_no_answer_tells_it() {
    let mut counted = says("first");
    counted.insert(0, StreamEvent::Usage(Usage { input: 160_000, output: 10, ..Usage::default() }));
    let answers = [counted, says("what happened so far"), says("uncounted")];
    let mut bench = Bench::on(Arc::new(ScriptedTransport::new(answers)));
    let mut mirror = SessionMirror::default();
    bench.prompt("the first request").await;
    bench.settled().await.iter().for_each(|event| mirror.apply(event));
    assert_eq!(mirror.context, 160_010);
    bench.send(RunCommand::Compact { instructions: None }).await;
    compared(&mut bench, &mut mirror).await;
    bench.prompt(long(500)).await;
    bench.settled().await.iter().for_each(|event| mirror.apply(event));
    compared(&mut bench, &mut mirror).await;
    assert!(mirror.context < 10_000, "{}", mirror.context);
    let before = mirror.context;
    let (session, dir) = bench.reopened().await.unwrap();
    let mut bench = Bench::with(Player::new(Vec::new()), |config| config.session = session);
    let mut mirror = SessionMirror::default();
    compared(&mut bench, &mut mirror).await;
    assert_eq!(mirror.context, before);
    drop(dir);
}

/// Checks the size that events tell against the one that the agent counts.
async fn compared(bench: &mut Bench, mirror: &mut SessionMirror) {
    bench.send(TaskCommand::Query { ticket: 7, query: Query::ContextUsage }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    events.iter().for_each(|event| mirror.apply(event));
    let Some(AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::ContextUsage(usage)), .. })) =
        events.last()
    else {
        panic!("{events:?}")
    };
    assert_eq!(mirror.context, usage.total);
}

#[tokio::test]
async fn without_a_conversation_there_is_nothing_to_compact() {
    let mut bench = Bench::new(Vec::new());
    let events = compact(&mut bench, None).await;
    assert_eq!(brief(&events), ["compacts Manual", "compacted failed: nothing to compact"]);
    bench.prompt("go").await;
    assert!(brief(&bench.settled().await).contains(&"settled".to_owned()));
}

#[tokio::test]
async fn a_conversation_is_compacted_between_turns() {
    let step = |n: &'static str| vec![Call("a", "echo", json!({ "words": 720, "n": n })), USE];
    let answers = vec![
        step("1"),
        step("2"),
        step("3"),
        step("4"),
        step("5"),
        SUMMARY.to_vec(),
        step("6"),
        vec![Say("finished"), STOP],
    ];
    let player = Player::new(answers);
    let mut bench = Bench::with(player.clone(), small);
    bench.prompt("walk far").await;
    let events = bench.settled().await;
    let reported = brief(&events);
    let at = reported.iter().position(|line| line == "compacts Threshold").expect("no compaction");
    assert_eq!(reported[at - 1..at + 3], ["turn_end 1", "compacts Threshold", "compacted", "turn_start"]);
    assert!(reported.contains(&"end assistant Stop finished".to_owned()), "{reported:?}");
    assert_eq!(reported.iter().filter(|line| *line == "agent_start").count(), 1);
    let result = result(&events);
    assert!(result.tokens_before > 4_000 && result.estimated_tokens_after < 2_000, "{result:?}");
    let after = &requests(&player)[6];
    assert!(words(after).contains("walk far"), "the request is lost: {}", words(after));
    requests(&player).iter().for_each(check_valid);
    let (session, _dir) = bench.reopened().await.unwrap();
    let kept = session.tree().get(&result.first_kept_entry_id).expect("the entry is there");
    let Body::Message { message } = &kept.body else { panic!("{kept:?}") };
    assert!(!matches!(**message, Message::ToolResult(_)));
}

#[tokio::test]
async fn a_conversation_is_compacted_once_a_request_was_too_long() {
    let overflow = || vec![Fail(FailureKind::Overflow, None)];
    let talk = || vec![Say(long(300)), STOP];
    let answers = vec![talk(), overflow(), SUMMARY.to_vec(), vec![Say("fits"), STOP]];
    let mut bench = Bench::new(answers);
    bench.prompt("tell me").await;
    bench.settled().await;
    bench.prompt("continue").await;
    let reported = brief(&bench.settled().await);
    let at = reported.iter().position(|line| line == "compacts Overflow").expect("no compaction");
    let expected = [
        "compacts Overflow", "compacted and retries", "start assistant", "update", "end assistant Stop fits",
    ];
    assert_eq!(reported[at..at + 5], expected);
    assert_eq!(reported.iter().filter(|line| *line == "agent_end 2").count(), 1, "{reported:?}");

    let answers = vec![talk(), overflow(), SUMMARY.to_vec(), overflow()];
    let player = Player::new(answers);
    let mut bench = Bench::on(player.clone());
    bench.prompt("tell me").await;
    bench.settled().await;
    bench.prompt("continue").await;
    let reported = brief(&bench.settled().await);
    assert!(reported.contains(&"end assistant Error".to_owned()), "{reported:?}");
    assert_eq!(requests(&player).len(), 4);
}

/// Where the summary is too long as well, the provider's words are said once, without the advice to compact.
#[tokio::test]
async fn a_failure_of_both_is_said_once() {
    let overflow = || vec![Fail(FailureKind::Overflow, None)];
    let answers = vec![vec![Say(long(300)), STOP], overflow(), overflow(), overflow(), overflow()];
    let mut bench = Bench::new(answers);
    bench.prompt("tell me").await;
    bench.settled().await;
    bench.prompt("continue").await;
    let events = bench.settled().await;
    let mut errors = events.iter().filter_map(|event| match event {
        AgentEvent::Turn(TurnEvent::TurnEnd { message, .. }) => match message.as_ref() {
            Message::Assistant(answer) => answer.error_message.clone(),
            _ => None,
        },
        _ => None,
    });
    let error = errors.next_back().expect("an error");
    assert_eq!(error.matches("it broke").count(), 1, "{error}");
    assert!(error.contains("larger context") && error.ends_with("failed in the same way"), "{error}");
    assert!(!error.contains("compact the session"), "{error}");
}

#[tokio::test]
async fn a_huge_result_is_truncated_before_anything_is_summarized() {
    let answers = vec![vec![Call("a", "echo", json!({ "words": 4_000 })), USE], vec![Say("seen"), STOP]];
    let player = Player::new(answers);
    let mut bench = Bench::with(player.clone(), small);
    bench.prompt("look at it").await;
    let reported = brief(&bench.settled().await);
    assert!(reported.iter().any(|line| line.contains("truncated 1 very large tool result")), "{reported:?}");
    assert!(!reported.iter().any(|line| line.starts_with("compact")), "{reported:?}");
    let request = &requests(&player)[1];
    assert!(size::of_messages(&request.messages) < 1_000);
    check_valid(request);
    // The whole result is still in the file.
    let written = std::fs::read_to_string(&files(&bench.dir)[0]).unwrap();
    assert!(written.contains(long(5_000)));
}

#[tokio::test]
async fn two_tries_then_it_says_why() {
    let cases: [(&str, Vec<Vec<Step>>, &str, usize); 4] = [
        ("broken", vec![vec![Fail(FailureKind::Network, Some(1))]; 4], "it broke", 4),
        ("too long a summary", vec![vec![Say(long(5_000)), STOP]; 2], "would still be about", 2),
        ("no key", vec![vec![Fail(FailureKind::Auth, None)]], "it broke", 1),
        ("no words", vec![vec![Say("  "), STOP]; 2], "an empty summary", 2),
    ];
    for (name, tries, why, count) in cases {
        let mut answers = vec![vec![Say("hello"), STOP]];
        answers.extend(tries);
        let player = Player::new(answers);
        let mut bench = Bench::with(player.clone(), small);
        bench.prompt("hi").await;
        bench.settled().await;
        let reported = brief(&compact(&mut bench, None).await);
        let end = reported.last().unwrap();
        assert!(end.starts_with("compacted failed") && end.contains(why), "{name}: {reported:?}");
        assert_eq!(requests(&player).len(), 1 + count, "{name}");
        bench.prompt("and now").await;
        assert_eq!(brief(&bench.settled().await).last().map(String::as_str), Some("settled"), "{name}");
    }
    // One that fails once is retried, and then keeps nothing verbatim.
    let answers = vec![vec![Say("hello"), STOP], vec![Say(" "), STOP], SUMMARY.to_vec()];
    let mut bench = Bench::with(Player::new(answers), small);
    bench.prompt("hi").await;
    bench.settled().await;
    let result = result(&compact(&mut bench, None).await);
    let (session, _dir) = bench.reopened().await.unwrap();
    assert_eq!(*session.tree().leaf().unwrap().id, *result.first_kept_entry_id);
    assert_eq!(session.context().messages.len(), 1);
    assert!(result.summary.contains("verbatim\nhi"), "{result:?}");
}

#[tokio::test]
async fn a_transient_failure_is_waited_for() {
    let failed = vec![Fail(FailureKind::RateLimit, Some(5))];
    let mut bench = Bench::new(vec![vec![Say("hello"), STOP], failed, SUMMARY.to_vec()]);
    bench.prompt("hi").await;
    bench.settled().await;
    let reported = brief(&compact(&mut bench, None).await);
    assert_eq!(reported, ["compacts Manual", "retry 1", "retried 1 true", "compacted"]);
    // A long wait is skipped if no user is present to end it.
    let long = vec![Fail(FailureKind::RateLimit, Some(90_000))];
    let mut bench = Bench::new(vec![vec![Say("hello"), STOP], long]);
    bench.prompt("hi").await;
    bench.settled().await;
    let reported = brief(&compact(&mut bench, None).await);
    assert!(reported.last().unwrap().contains("1 min 30 s"), "{reported:?}");
}

#[tokio::test]
async fn a_compaction_can_be_stopped_and_holds_prompts_back() {
    let answers = vec![vec![Say("hello"), STOP], vec![Hang]];
    let mut bench = Bench::new(answers);
    bench.prompt("hi").await;
    bench.settled().await;
    bench.send(RunCommand::Compact { instructions: None }).await;
    bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionStart { .. }))).await;
    bench.send(RunCommand::Abort).await;
    let reported =
        brief(&bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionEnd { .. }))).await);
    assert_eq!(reported, ["compacted aborted"]);

    let summing = vec![Wait(100), Say("short"), STOP];
    let mut bench = Bench::new(vec![vec![Say("hello"), STOP], summing, vec![Say("later"), STOP]]);
    bench.prompt("hi").await;
    bench.settled().await;
    bench.send(RunCommand::Compact { instructions: None }).await;
    bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionStart { .. }))).await;
    bench.prompt("meanwhile").await;
    let is_listed = |event: &AgentEvent| matches!(event, AgentEvent::Queue(QueueEvent::QueueUpdate { follow_up, steering }) if follow_up.len() + steering.len() == 1);
    let reported = brief(&bench.until(is_listed).await);
    assert!(!reported.contains(&"compacted".to_owned()), "it is shown at once: {reported:?}");
    let reported = brief(&bench.settled().await);
    assert_eq!(reported[..3], ["compacted", "queue [] []", "agent_start"]);
    assert!(reported.contains(&"end user meanwhile".to_owned()), "{reported:?}");
}

#[tokio::test]
async fn a_run_is_ended_before_the_user_compacts() {
    let mut bench = Bench::new(vec![vec![Say("half"), Hang], SUMMARY.to_vec()]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::MessageUpdate { .. }))).await;
    let reported = brief(&compact(&mut bench, None).await);
    assert_eq!(reported[reported.len() - 3..], ["settled aborted", "compacts Manual", "compacted"]);
}

#[tokio::test]
async fn switched_off_it_waits_for_the_user() {
    let answers = vec![vec![Say(long(5_000)), STOP], vec![Fail(FailureKind::Overflow, None)]];
    let mut bench = Bench::with(Player::new(answers), |config| {
        small(config);
        config.compaction.auto = false;
    });
    bench.prompt("talk").await;
    bench.settled().await;
    bench.prompt("more").await;
    let events = bench.settled().await;
    assert!(!brief(&events).iter().any(|line| line.starts_with("compact")), "{:?}", brief(&events));
    let reasons = [CompactionReason::Manual];
    assert!(
        events.iter().all(
            |event| !matches!(event, AgentEvent::Run(RunEvent::CompactionStart { reason }) if !reasons.contains(reason))
        )
    );
    bench.send(SessionCommand::Change(SessionChange::New)).await;
}

/// An answer with only text: its expected result, and the provider's token count.
struct Counted {
    name: String,
    text: String,
    output: u64,
}

impl Counted {
    fn of(name: String, expected: &Value) -> Option<Self> {
        let text = expected["text"].as_str().unwrap_or_default().to_owned();
        let other = expected["thinking"].as_str().is_some_and(|text| !text.is_empty())
            || expected["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
        let output = expected["usage"]["output"].as_u64().unwrap_or_default();
        (!other && output >= 150).then_some(Counted { name, text, output })
    }
}

/// Compares the estimates with providers' counts of their own answers. The total is at least three quarters
/// of what was counted, and at most `most` percent.
fn check_estimates(answers: &[Counted], least: usize, most: u64) {
    let (mut estimated, mut counted) = (0_u64, 0_u64);
    for Counted { name, text, output } in answers {
        let estimate = size::of_text(text);
        estimated += estimate;
        counted += output;
        assert!(estimate <= output * 2, "{estimate} for {output}: {name}");
    }
    println!("{} answers: {estimated} tokens estimated, {counted} counted", answers.len());
    assert!(answers.len() >= least && estimated * 4 > counted * 3 && estimated * 100 < counted * most);
}

#[test]
fn estimated_sizes_are_near_what_providers_count() {
    let ours = crate::providers::recordings::recordings();
    let ours = ours.into_iter().filter_map(|recording| Counted::of(recording.name, &recording.expected));
    check_estimates(&ours.filter(|answer| answer.name.contains("/local-")).collect::<Vec<_>>(), 4, 150);
}

#[test]
fn estimated_sizes_are_near_what_the_corpus_counts() {
    let Some(corpus) = crate::providers::corpus_folder() else { return };
    let mut answers = Vec::new();
    for file in std::fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()) {
        if !file.to_string_lossy().ends_with(".expected.json") {
            continue;
        }
        let expected = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        answers.extend(Counted::of(file.display().to_string(), &expected));
    }
    // Answers with hidden thinking say nothing about their text.
    answers.retain(|answer| size::of_text(&answer.text) * 2 >= answer.output);
    check_estimates(&answers, 11, 133);
}

#[tokio::test]
async fn the_prompt_is_made_again_after_a_compaction_and_not_before() {
    let player = Player::new(vec![
        vec![Say(long(1_200)), STOP],
        vec![Say("second"), STOP],
        SUMMARY.to_vec(),
        vec![Say("third"), STOP],
    ]);
    let mut bench = Bench::with(player.clone(), |config| {
        small(config);
        let hooks = std::mem::take(&mut config.behavior.hooks);
        config.behavior.hooks = hooks.system_prompt(|_| "be brief, and use tabs".into());
    });
    for text in ["first", "second"] {
        bench.prompt(text).await;
        bench.settled().await;
    }
    compact(&mut bench, None).await;
    bench.prompt("third").await;
    bench.settled().await;
    let systems: Vec<String> = requests(&player).iter().map(|request| request.system.to_string()).collect();
    assert_eq!(systems, ["be brief", "be brief", SYSTEM, "be brief, and use tabs"]);
}

/// A failure says nothing about another conversation.
#[tokio::test]
async fn a_session_is_compacted_although_another_could_not_be() {
    let long_answer = || vec![Say(long(5_000)), STOP];
    let fails = vec![Fail(FailureKind::Auth, None)];
    let answers = vec![long_answer(), fails, long_answer(), SUMMARY.to_vec()];
    let mut bench = Bench::with(Player::new(answers), small);
    bench.prompt("first").await;
    let reported = brief(&bench.settled().await);
    assert!(reported.contains(&"compacted failed: it broke".to_owned()), "{reported:?}");
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    bench.prompt("second").await;
    let reported = brief(&bench.settled().await);
    assert!(reported.contains(&"compacted".to_owned()), "{reported:?}");
}
