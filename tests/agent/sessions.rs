//! The session behind the agent: saved in time, changed, resumed, repaired.

use super::*;
use crate::time_limit::InTime;
use tau::agent::protocol::command::{RunCommand, SessionCommand, SettingsCommand, TaskCommand};
use tau::agent::protocol::event::{
    QueueEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent, TaskEvent, TurnEvent,
};

#[tokio::test]
async fn a_message_is_on_disk_before_its_end_is_told() {
    let answers = vec![vec![Say("the answer"), Call("a", "echo", text("the result")), USE]];
    let mut bench = Bench::new(answers);
    bench.prompt("the question").await;
    let mut ends = 0;
    loop {
        match bench.next().await {
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                ends += 1;
                let written = std::fs::read_to_string(&files(&bench.dir)[0]).unwrap();
                let messages: Vec<Message> = written
                    .lines()
                    .filter_map(|line| serde_json::from_str::<Value>(line).unwrap().get("message").cloned())
                    .map(|message| serde_json::from_value(message).unwrap())
                    .collect();
                assert!(messages.contains(&message), "{message:?} is not in {written}");
            }
            AgentEvent::Run(RunEvent::AgentSettled { .. }) => break,
            _ => {}
        }
    }
    assert_eq!(ends, 4);
}

/// However quickly commands follow each other, a command after a prompt that would end its run ends it.
#[tokio::test]
async fn a_command_that_arrives_with_a_prompt_ends_its_run() {
    for command in [
        AgentCommand::Session(SessionCommand::Change(SessionChange::New)),
        AgentCommand::Run(RunCommand::Compact { instructions: None }),
    ] {
        let mut bench = Bench::new(vec![vec![Hang]]);
        // Nothing runs in between, so the agent finds both.
        bench.prompt("go").await;
        bench.send(command.clone()).await;
        let reported = brief(&bench.settled().await);
        assert_eq!(reported.last().map(String::as_str), Some("settled aborted"), "{command:?}: {reported:?}");
    }
    let mut bench = Bench::new(vec![vec![Say("hello"), STOP], vec![Hang]]);
    bench.prompt("hi").await;
    bench.settled().await;
    bench.send(RunCommand::Compact { instructions: None }).await;
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    let reported =
        brief(&bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionEnd { .. }))).await);
    assert_eq!(reported, ["compacts Manual", "compacted aborted"]);

    // After a name, which waits for the compaction and ends nothing.
    let mut bench = Bench::new(vec![vec![Say("hello"), STOP], vec![Hang], vec![Hang]]);
    bench.prompt("hi").await;
    bench.settled().await;
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::TurnStart))).await;
    bench.send(RunCommand::Compact { instructions: None }).await;
    bench.send(SessionCommand::Change(SessionChange::Name { name: "a name".into() })).await;
    bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionStart { .. }))).await;
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    let reported =
        brief(&bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::CompactionEnd { .. }))).await);
    assert_eq!(reported, ["compacted aborted"]);
}

#[tokio::test]
async fn sessions_change_after_the_run_has_ended() {
    let mut bench = Bench::new(vec![vec![Hang]]);
    bench.prompt("in the first").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::TurnStart))).await;
    bench.send(SettingsCommand::SetModel { model: model("second") }).await;
    bench.send(SessionCommand::Change(SessionChange::Name { name: " a\nname ".into() })).await;
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    bench.prompt("in the second").await;
    let first = bench.settled().await;
    assert!(
        first
            .contains(&AgentEvent::Session(SessionEvent::SessionInfoChanged { name: Some("a name".into()) }))
    );
    assert_eq!(brief(&first).last().map(String::as_str), Some("settled aborted"));
    let second = bench.settled().await;
    assert!(
        matches!(&second[0], AgentEvent::Session(SessionEvent::SessionOpened { messages, .. }) if messages.is_empty())
    );
    assert!(brief(&second).contains(&"end user in the second".to_owned()));
    let [one, two] = files(&bench.dir).try_into().unwrap();
    let paths = [one, two];
    bench.send(SettingsCommand::SetModel { model: model("third") }).await;
    let with = |text: &str| {
        paths.iter().find(|path| std::fs::read_to_string(path).unwrap().contains(text)).unwrap().clone()
    };
    bench.send(SessionCommand::Change(SessionChange::Open { path: with("in the first") })).await;
    let opened =
        bench.until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. }))).await;
    let Some(AgentEvent::Session(SessionEvent::SessionOpened { session, messages, .. })) = opened.last()
    else {
        panic!()
    };
    assert_eq!((session.name.as_deref(), messages.len()), (Some("a name"), 2));
    assert!(matches!(bench.next().await, AgentEvent::Session(SessionEvent::ContextSize { .. })));
    assert!(matches!(
        bench.next().await,
        AgentEvent::Session(SessionEvent::SessionUsage { usage: Some(_), .. })
    ));
    let restored = bench.next().await;
    assert!(
        matches!(&restored, AgentEvent::Settings(SettingsEvent::ModelChanged { model }) if model.id == "second"),
        "{restored:?}"
    );
    let missing = bench.dir.path().join("none.jsonl");
    bench.send(SessionCommand::Change(SessionChange::Open { path: missing })).await;
    assert!(brief(&[bench.next().await])[0].starts_with("notice Error cannot open the session"));
}

#[tokio::test]
async fn a_killed_session_is_repaired_when_it_continues() {
    let mut bench = Bench::new(vec![vec![Call("a", "deaf", json!({})), Call("b", "echo", json!({})), USE]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. }))).await;
    bench.agent.task.abort();
    while bench.agent.events.recv().in_time("an event").await.is_some() {}
    let path = files(&bench.dir)[0].clone();
    let left = std::fs::read_to_string(&path).unwrap();
    let mut next = Bench::new(vec![vec![Say("on"), STOP]]);
    next.send(AgentCommand::Session(SessionCommand::Change(SessionChange::Open { path: path.clone() })))
        .await;
    next.next().await;
    let opened =
        next.until(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. }))).await;
    let Some(AgentEvent::Session(SessionEvent::SessionOpened { messages, .. })) = opened.last() else {
        panic!()
    };
    let reported: Vec<String> = messages.iter().map(|message| crate::fake::said(message)).collect();
    assert_eq!(reported[2..], ["result a failed", "result b failed"]);
    let kept = || std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept(), left, "looking at a session writes nothing");
    next.send(AgentCommand::Run(RunCommand::Continue)).await;
    assert!(brief(&next.settled().await).contains(&"end assistant Stop on".to_owned()));
    assert!(kept().starts_with(&left));
    let added = kept().split_off(left.len());
    let added = added.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let roles: Vec<String> = added
        .filter_map(|line| line.pointer("/message/role").and_then(Value::as_str).map(str::to_owned))
        .collect();
    assert_eq!(roles, ["toolResult", "toolResult", "assistant"]);
}

#[tokio::test]
async fn continuing_needs_something_to_continue_from() {
    let mut bench = Bench::new(vec![vec![Say("half"), Hang], vec![Say("rest"), STOP]]);
    bench.send(RunCommand::Continue).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Notice { .. }))).await;
    assert_eq!(brief(&events), ["notice Warning nothing to continue from"]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::MessageUpdate { .. }))).await;
    bench.send(RunCommand::Abort).await;
    bench.settled().await;
    bench.send(RunCommand::Continue).await;
    assert!(brief(&bench.settled().await).contains(&"end assistant Stop rest".to_owned()));
}

#[tokio::test]
async fn shutdown_during_a_run_completes_the_session() {
    let mut bench = Bench::new(vec![vec![Say("some"), Hang]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::MessageUpdate { .. }))).await;
    bench.send(TaskCommand::Shutdown).await;
    let events = brief(&bench.until(|event| *event == AgentEvent::Task(TaskEvent::Stopped)).await);
    let expected = ["end assistant Aborted some", "turn_end 0", "agent_end 2", "settled aborted", "stopped"];
    let ended: Vec<&str> = events.iter().map(String::as_str).filter(|line| *line != "update").collect();
    assert_eq!(ended, expected);
}

#[tokio::test]
async fn without_a_model_the_text_comes_back() {
    let mut bench = Bench::with(Player::new(Vec::new()), |config| config.model = None);
    bench.prompt("lost?").await;
    let events =
        bench.until(|event| matches!(event, AgentEvent::Queue(QueueEvent::QueueReturned { .. }))).await;
    assert_eq!(brief(&events), ["notice Error no model selected", r#"returned ["lost?"]"#]);
}

#[tokio::test]
async fn a_session_that_cannot_be_written_is_told_once_and_continues() {
    let answers = vec![vec![Call("a", "echo", text("x")), USE], vec![Say("ok"), STOP]];
    let mut bench = Bench::with(Player::new(answers), |config| {
        let file = config.place.cwd.join("a-file");
        std::fs::write(&file, "").unwrap();
        config.session = tau::agent::session::Session::begin(Some(&file), &config.place.cwd, None);
    });
    bench.prompt("go").await;
    let events = brief(&bench.settled().await);
    let reported = events.iter().filter(|line| line.starts_with("notice Error cannot save the session"));
    assert_eq!(reported.count(), 1, "{events:?}");
    assert!(events.contains(&"end assistant Stop ok".to_owned()), "{events:?}");
}

/// Records the file's contents whenever a request is sent.
struct Looking(std::path::PathBuf, std::sync::Mutex<Vec<String>>);

impl tau::agent::provider::Transport for Looking {
    fn stream(
        &self,
        request: tau::agent::provider::ModelRequest,
        cancel: tokio_util::sync::CancellationToken,
    ) -> tau::agent::provider::EventStream {
        let mut files = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let file = files.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
        self.1.lock().unwrap().push(std::fs::read_to_string(file).unwrap());
        Player::new(vec![vec![Say("ok"), STOP]]).stream(request, cancel)
    }
}

#[tokio::test]
async fn the_message_is_on_disk_before_the_request_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let transport = Arc::new(Looking(dir.path().to_owned(), Default::default()));
    let mut bench = Bench::with(transport.clone(), |config| {
        config.session = tau::agent::session::Session::begin(Some(dir.path()), dir.path(), None);
    });
    for text in ["the first words", "the second words"] {
        bench.prompt(text).await;
        bench.settled().await;
        assert!(transport.1.lock().unwrap().last().unwrap().contains(text), "{text}");
    }
}

/// A session runs in its own directory, so the prompt must name that.
#[tokio::test]
async fn the_prompt_is_that_of_the_directory_of_the_session() {
    let elsewhere = tempfile::tempdir().unwrap();
    let header =
        crate::support::session_files::HEADER.replace("/srv/web", elsewhere.path().to_str().unwrap());
    let path = elsewhere.path().join("other.jsonl");
    std::fs::write(&path, format!("{header}\n{}\n", crate::support::session_files::line("a", None, "one")))
        .unwrap();
    let player = Player::new(Vec::new());
    let mut bench = Bench::with(player.clone(), |config| {
        let hooks = std::mem::take(&mut config.behavior.hooks);
        config.behavior.hooks = hooks.system_prompt(|cwd| format!("in {}", cwd.display()).into());
    });
    let here = bench.dir.path().to_owned();
    let say = async |bench: &mut Bench, command: Option<SessionChange>| {
        if let Some(command) = command {
            bench.send(SessionCommand::Change(command)).await;
        }
        bench.prompt("go").await;
        bench.settled().await;
        player.requests.lock().unwrap().last().unwrap().system.to_string()
    };
    assert_eq!(say(&mut bench, None).await, "be brief", "as it was given");
    assert_eq!(say(&mut bench, Some(SessionChange::New)).await, "be brief", "the same directory");
    let elsewhere_named = format!("in {}", elsewhere.path().display());
    assert_eq!(say(&mut bench, Some(SessionChange::Open { path })).await, elsewhere_named);
    assert_eq!(say(&mut bench, Some(SessionChange::New)).await, format!("in {}", here.display()));
}

/// What the user ran in a session is in it, and in no other, although the change of session stopped it.
#[tokio::test]
async fn what_a_command_of_the_user_said_stays_in_its_session() {
    let mut bench = Bench::new(vec![vec![Say("one"), STOP], vec![Say("two"), STOP]]);
    bench.prompt("in the first").await;
    bench.settled().await;
    bench.send(bash_in("b", "echo marker; sleep 60", None)).await;
    bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashExecutionUpdate { .. }))).await;
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    bench.prompt("in the second").await;
    bench.settled().await;
    let found: Vec<(bool, bool)> = files(&bench.dir)
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .map(|text| (text.contains("in the first"), text.contains(r#""output":"marker"#)))
        .collect();
    assert!(found.contains(&(true, true)) && found.contains(&(false, false)), "{found:?}");
}
