//! Moves within a session's tree, and the opening of sessions that need a question.

use tau::agent::protocol::command::{
    BranchSummaryOptions, QuestionAnswer, QuestionCommand, SessionCommand, TaskCommand,
};
use tau::agent::protocol::event::{
    Question, QuestionEvent, QueueEvent, SessionEvent, SettingsEvent, TaskEvent,
};
use tau::agent::protocol::message::Usage;
use tau::agent::protocol::outline::{Outline, OutlineRow, RowKind};
use tau::agent::protocol::query::{ContextUsage, Query, QueryAnswer};
use tau::agent::protocol::session_row::SessionOrigin;
use tau::agent::provider::StreamEvent;
use tau::agent::provider::scripted::{ScriptedTransport, says};
use tau::agent::session::{Access, Session};

use super::*;

async fn query(bench: &mut Bench, query: Query) -> QueryAnswer {
    bench.send(TaskCommand::Query { ticket: 3, query }).await;
    match bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await.pop() {
        Some(AgentEvent::Task(TaskEvent::Answered { ticket: 3, answer: Ok(answer) })) => answer,
        other => panic!("{other:?}"),
    }
}

async fn tree(bench: &mut Bench) -> Outline {
    match query(bench, Query::Outline).await {
        QueryAnswer::Outline(outline) => outline,
        other => panic!("{other:?}"),
    }
}

fn row<'a>(outline: &'a Outline, text: &str) -> &'a tau::agent::protocol::outline::OutlineRow {
    outline.rows.iter().find(|row| row.text.contains(text)).unwrap_or_else(|| panic!("{text}: {outline:?}"))
}

/// The messages of the next opened session, in short.
async fn opened(bench: &mut Bench) -> Vec<String> {
    match bench
        .until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. })))
        .await
        .pop()
    {
        Some(AgentEvent::Session(SessionEvent::SessionOpened { messages, .. })) => {
            messages.iter().map(|message| crate::fake::said(message)).collect()
        }
        other => panic!("{other:?}"),
    }
}

async fn start(answers: Vec<Vec<Step>>) -> Bench {
    let mut bench = Bench::new(answers);
    for text in ["first", "second"] {
        bench.prompt(text).await;
        bench.settled().await;
    }
    bench
}

fn go_to(entry_id: &str, summary: Option<BranchSummaryOptions>) -> AgentCommand {
    AgentCommand::Session(SessionCommand::Change(SessionChange::GoTo {
        entry_id: entry_id.to_owned(),
        summary,
    }))
}

#[tokio::test]
async fn the_tree_is_told_and_gone_about_in() {
    let answers = vec![vec![Say("one"), STOP], vec![Say("two"), STOP], vec![Say("three"), STOP]];
    let mut bench = start(answers).await;
    let outline = tree(&mut bench).await;
    let second = row(&outline, "second").clone();
    assert_eq!((second.kind, row(&outline, "two").kind), (RowKind::User, RowKind::Assistant));
    let parent = &outline.rows[second.parent.unwrap()];
    assert_eq!((parent.text.as_str(), outline.rows[outline.leaf.unwrap()].text.as_str()), ("one", "two"));
    // To before a user message: its text is returned.
    bench.send(go_to(&second.id, None)).await;
    assert_eq!(opened(&mut bench).await, ["user first", "assistant Stop one"]);
    let back =
        bench.until(|event| matches!(event, AgentEvent::Queue(QueueEvent::QueueReturned { .. }))).await;
    assert_eq!(
        back.last(),
        Some(&AgentEvent::Queue(QueueEvent::QueueReturned {
            texts: vec!["second".into()],
            images: Vec::new()
        }))
    );
    bench.prompt("another way").await;
    bench.settled().await;
    let outline = tree(&mut bench).await;
    let children = |id: &str| {
        let at = outline.rows.iter().position(|row| row.id == id);
        let is_said = |row: &&OutlineRow| row.kind != RowKind::Setting;
        outline.rows.iter().filter(is_said).filter(|row| row.parent == at).count()
    };
    assert_eq!(children(&row(&outline, "one").id), 2, "{outline:?}");
    // To an answer: the conversation continues after it.
    bench.send(go_to(&row(&outline, "two").id.clone(), None)).await;
    let messages = opened(&mut bench).await;
    assert_eq!(messages.last().map(String::as_str), Some("assistant Stop two"));
    bench.send(go_to("nowhere", None)).await;
    let refused =
        bench.until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionRefused { .. }))).await;
    assert!(
        brief(&refused).contains(&"notice Error no entry nowhere in this session".to_owned()),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_branch_that_is_left_is_summed_up_if_wanted() {
    let answers = vec![
        vec![Say("one"), STOP],
        vec![Say("two"), STOP],
        vec![Say("it led nowhere"), STOP],
        vec![Fail(FailureKind::Auth, None)],
    ];
    let player = Player::new(answers);
    let mut bench = Bench::on(player.clone());
    for text in ["first", "second"] {
        bench.prompt(text).await;
        bench.settled().await;
    }
    let first = tree(&mut bench).await;
    let summary = Some(BranchSummaryOptions { instructions: Some("the tests above all".into()) });
    bench.send(go_to(&row(&first, "second").id, summary.clone())).await;
    let messages = opened(&mut bench).await;
    assert_eq!(messages.len(), 3, "{messages:?}");
    {
        let requests = player.requests.lock().unwrap();
        let asked = serde_json::to_string(&requests.last().unwrap().messages).unwrap();
        assert!(asked.contains("second") && asked.contains("two") && asked.contains("the tests above all"));
        assert!(!asked.contains("first"), "what stays is not summarized: {asked}");
    }
    let outline = tree(&mut bench).await;
    let written = row(&outline, "it led nowhere");
    assert_eq!(written.kind, RowKind::Branch);
    assert_eq!(outline.rows[written.parent.unwrap()].text, "one");
    // A failed summary changes nothing.
    bench.send(go_to(&row(&first, "first").id, summary)).await;
    bench.until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionRefused { .. }))).await;
    assert_eq!(tree(&mut bench).await, outline);
    let (session, _dir) = bench.reopened().await.unwrap();
    assert_eq!(session.context().messages.len(), 3);
}

#[tokio::test]
async fn labels_are_not_part_of_the_conversation() {
    let mut bench = start(vec![vec![Say("one"), STOP], vec![Say("two"), STOP]]).await;
    let id = row(&tree(&mut bench).await, "one").id.clone();
    bench.send(SessionCommand::Label { entry_id: id.clone(), label: Some(" a\n name ".into()) }).await;
    let outline = tree(&mut bench).await;
    assert_eq!(row(&outline, "one").label.as_deref(), Some("a name"));
    bench.prompt("third").await;
    bench.settled().await;
    let outline = tree(&mut bench).await;
    let third = row(&outline, "third");
    assert_eq!(outline.rows[third.parent.unwrap()].text, "two", "the label is on no branch");
    bench.send(SessionCommand::Label { entry_id: id, label: None }).await;
    assert_eq!(row(&tree(&mut bench).await, "one").label, None);
}

#[tokio::test]
async fn what_fills_the_context_is_listed_largest_first() {
    let mut bench =
        Bench::new(vec![vec![Call("a", "echo", json!({"words": 900})), USE], vec![Say("ok"), STOP]]);
    bench.prompt("go").await;
    bench.settled().await;
    let ContextUsage { parts, total, .. } = context_usage(&mut bench).await;
    assert_eq!((parts[0].name.as_str(), parts[0].count), ("results of echo", 1), "{parts:?}");
    assert!(parts.windows(2).all(|pair| pair[0].tokens >= pair[1].tokens), "{parts:?}");
    assert_eq!(parts.iter().map(|part| part.tokens).sum::<u64>(), total);
    for name in ["system prompt", "tool descriptions", "your messages", "answers and tool calls"] {
        assert!(parts.iter().any(|part| part.name == name), "{name}: {parts:?}");
    }
}

async fn context_usage(bench: &mut Bench) -> ContextUsage {
    match query(bench, Query::ContextUsage).await {
        QueryAnswer::ContextUsage(usage) => usage,
        other => panic!("{other:?}"),
    }
}

/// The provider's count is not the sum of our estimates, but the rows still add up to the total.
#[tokio::test]
async fn the_parts_of_the_context_add_up_to_what_the_provider_counted() {
    let mut answer = says("a short answer");
    let usage = Usage { input: 4_321, output: 56, total_tokens: 4_377, ..Usage::default() };
    answer.insert(0, StreamEvent::Usage(usage));
    let mut bench = Bench::with(Player::new(Vec::new()), |config| {
        config.transport = Arc::new(ScriptedTransport::new([answer]));
    });
    bench.prompt("go").await;
    bench.settled().await;
    let ContextUsage { parts, total, .. } = context_usage(&mut bench).await;
    assert_eq!(total, 4_377);
    assert_eq!(parts.iter().map(|part| part.tokens).sum::<u64>(), total, "{parts:?}");
}

/// A session of another tau that is still open, or in a directory that is gone.
fn other(bench: &Bench, cwd: &std::path::Path) -> Session {
    let dir = bench.dir.path().join("others");
    let mut session = Session::begin(Some(&dir), cwd, None);
    session.append(crate::support::session_files::user("theirs")).unwrap();
    session
}

async fn offered(bench: &mut Bench, path: &std::path::Path, choice: &str) -> String {
    bench
        .send(SessionCommand::Change(SessionChange::Offer {
            path: path.to_owned(),
            source: SessionOrigin::Tau,
        }))
        .await;
    let asked =
        bench.until(|event| matches!(event, AgentEvent::Questions(QuestionEvent::Asked { .. }))).await;
    let Some(AgentEvent::Questions(QuestionEvent::Asked {
        id,
        question: Question::Select { title, options },
    })) = asked.last()
    else {
        panic!("{asked:?}")
    };
    let answer = options.iter().find(|option| option.starts_with(choice)).cloned();
    let answer = answer.map_or(QuestionAnswer::Cancelled, QuestionAnswer::Value);
    bench.send(QuestionCommand::Answer { id: id.clone(), answer }).await;
    title.clone()
}

#[tokio::test]
async fn a_session_in_use_is_looked_at_and_continues_in_a_copy() {
    let mut bench = Bench::new(vec![vec![Say("here"), STOP]]);
    let theirs = other(&bench, bench.dir.path());
    let path = theirs.info().file.clone().unwrap();
    let before = std::fs::read(&path).unwrap();
    bench
        .until(|event| matches!(event, AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. })))
        .await;
    let title = offered(&mut bench, &path, "Open read-only").await;
    let process = format!("process {}", std::process::id());
    assert!(title.contains("in use by another tau") && title.contains(&process), "{title}");
    assert_eq!(opened(&mut bench).await, ["user theirs"]);
    bench.prompt("mine").await;
    let events = bench.settled().await;
    assert!(brief(&events).iter().any(|line| line.contains("continuing in a copy")), "{events:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "theirs is as it was");
    let copy = Session::open_as(&files(&bench.dir)[0], Access::Read).unwrap();
    assert_eq!(crate::support::session_files::texts(&copy), ["user:theirs", "user:mine", "assistant:here"]);
    offered(&mut bench, &path, "Fork").await;
    assert_eq!(opened(&mut bench).await, ["user theirs"]);
    offered(&mut bench, &path, "nothing of this").await;
    assert_eq!(tree(&mut bench).await.rows.iter().filter(|row| row.text == "theirs").count(), 1);
    drop(theirs);
}

#[tokio::test]
async fn a_session_whose_file_is_gone_is_continued_with_what_is_known() {
    let mut bench = Bench::new(vec![vec![Say("here"), STOP]]);
    let mut theirs = other(&bench, bench.dir.path());
    (0..40).for_each(|_| theirs.append(crate::support::session_files::user(&"x".repeat(100_000))).unwrap());
    theirs.append(crate::support::session_files::user("the last")).unwrap();
    let path = theirs.info().file.clone().unwrap();
    bench
        .until(|event| matches!(event, AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. })))
        .await;
    offered(&mut bench, &path, "Open read-only").await;
    opened(&mut bench).await;
    std::fs::remove_file(&path).unwrap();
    drop(theirs);
    bench.prompt("mine").await;
    let events = bench.settled().await;
    assert!(brief(&events).iter().any(|line| line.contains("cannot read the earlier part")), "{events:?}");
    let copy = Session::open_as(&files(&bench.dir)[0], Access::Read).unwrap();
    let texts = crate::support::session_files::texts(&copy);
    assert!(texts.ends_with(&["user:the last".into(), "user:mine".into(), "assistant:here".into()]));
}

#[tokio::test]
async fn a_session_whose_directory_is_gone_is_offered() {
    let mut bench = Bench::new(vec![vec![Say("here"), STOP]]);
    let gone = bench.dir.path().join("gone");
    let path = other(&bench, &gone).info().file.clone().unwrap();
    bench
        .until(|event| matches!(event, AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. })))
        .await;
    let title = offered(&mut bench, &path, "Fork").await;
    assert!(title.contains(&format!("{}, no longer exists", gone.display())), "{title}");
    let reported =
        bench.until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. }))).await;
    let Some(AgentEvent::Session(SessionEvent::SessionOpened { session, messages, .. })) = reported.last()
    else {
        panic!()
    };
    assert_eq!((session.cwd.as_path(), messages.len()), (bench.dir.path(), 1));
    offered(&mut bench, &path, "Continue").await;
    let reported =
        bench.until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. }))).await;
    let Some(AgentEvent::Session(SessionEvent::SessionOpened { session, .. })) = reported.last() else {
        panic!()
    };
    // It moves, with its file.
    let file = session.file.as_ref().unwrap();
    assert_eq!((session.cwd.as_path(), file.file_name()), (bench.dir.path(), path.file_name()));
    assert!(file.exists() && !path.exists());
}
