//! An agent without features: what is left works, and what is missing is named where it is used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tau_agent::engine::behavior::McpBehavior;
use tau_agent::extensions::mcp::{ConfiguredServer, ReadServers};
use tau_agent::prelude::*;
use tau_agent::protocol::approval::ApprovalRequest;
use tau_agent::protocol::command::SessionCommand;
use tau_agent::protocol::undo::UndoOrder;
use tau_agent::provider::scripted::{ScriptedTransport, calls, says};
use tau_agent::serde_json::{Value, json};
use tau_agent::settings::mcp_servers::{McpServer, McpTransport, OauthClient};

/// An agent with the standard tools in `cwd`, whose model makes this call and then says "done".
fn calling(cwd: &Path, tool: &str, arguments: Value) -> AgentBuilder {
    let script = ScriptedTransport::new([calls(&[("a", tool, arguments)]), says("done")]);
    Agent::builder().model(tau_agent::catalogue::demo()).transport(script).tools(Toolbox::standard()).cwd(cwd)
}

/// The first value that `find` sees in the events.
async fn first<T>(events: &mut Events, find: impl Fn(AgentEvent) -> Option<T>) -> T {
    let found = async {
        loop {
            let event = events.recv().await.expect("the agent has ended");
            if let Some(found) = find(event) {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("it came too late")
}

fn result(messages: &[std::sync::Arc<Message>]) -> String {
    let text = |message: &std::sync::Arc<Message>| match message.as_ref() {
        Message::ToolResult(result) => Some(format!("{:?}", result.content)),
        _ => None,
    };
    messages.iter().find_map(text).expect("a result")
}

#[tokio::test]
async fn a_turn_with_a_tool() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.txt"), "what is in it\n").expect("write");
    let agent = calling(dir.path(), "read", json!({ "path": "a.txt" })).start();
    assert_eq!(agent.run("go").await.expect("an answer").text(), "done");
    let read = result(&agent.state().messages);
    assert!(read.contains("what is in it"), "{read}");
}

#[tokio::test]
async fn pictures_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.png"), b"\x89PNG\r\n\x1a\n and more").expect("write");
    let agent = calling(dir.path(), "read", json!({ "path": "a.png" })).start();
    agent.run("go").await.expect("an answer");
    let read = result(&agent.state().messages);
    assert!(read.contains("without the feature `pictures`"), "{read}");
}

#[tokio::test]
async fn commands_are_asked_about() {
    let dir = tempfile::tempdir().expect("a folder");
    let agent = calling(dir.path(), "bash", json!({ "command": "ls" }));
    let agent = agent.permission_mode(PermissionMode::Ask).start();
    let mut events = agent.subscribe();
    agent.prompt("go", []).await.expect("a run");
    let request: Box<ApprovalRequest> = first(&mut events, |event| match event {
        AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) => Some(request),
        _ => None,
    })
    .await;
    let reasons = format!("{:?}", request.reasons);
    assert!(reasons.contains("without the feature `shell`"), "{reasons}");
}

#[tokio::test]
async fn undo_says_why_there_is_none() {
    let agent = Agent::builder().model(tau_agent::catalogue::demo()).start();
    let mut events = agent.subscribe();
    agent.command(SessionCommand::Undo { order: UndoOrder::default() }).await.expect("the agent");
    let error = first(&mut events, |event| match event {
        AgentEvent::Session(SessionEvent::FilesRestored { error, .. }) => error,
        _ => None,
    })
    .await;
    assert!(error.contains("without undo") && error.contains("feature `undo`"), "{error}");
    let error = agent.query(ask::Changes).await.expect_err("no changes are known").to_string();
    assert!(error.contains("feature `undo`"), "{error}");
}

#[tokio::test]
async fn a_configured_server_is_named_as_missing() {
    let transport = McpTransport::Http {
        url: "http://127.0.0.1:9/".to_owned(),
        headers: [].into(),
        oauth: OauthClient::default(),
    };
    let configured = ConfiguredServer {
        server: McpServer::new("tickets", transport),
        path: PathBuf::from("/x"),
        is_project: false,
    };
    let read = ReadServers::new(move |_| vec![configured.clone()]);
    let agent = Agent::builder().model(tau_agent::catalogue::demo());
    let agent =
        agent.behavior(|behavior| behavior.mcp = McpBehavior { read: Some(read), ..McpBehavior::default() });
    let agent = agent.start();
    let mut events = agent.subscribe();
    let (text, hint) = first(&mut events, |event| match event {
        AgentEvent::Task(TaskEvent::Notice { text, hint, .. }) => Some((text, hint)),
        _ => None,
    })
    .await;
    assert_eq!(text, "1 MCP server cannot be used: this program was built without MCP");
    assert!(hint.is_some_and(|hint| hint.contains("feature `mcp`")));
    let rows = agent.query(ask::Extensions).await.expect("the extensions");
    assert!(rows.iter().any(|row| row.name == "tickets" && !row.problems.is_empty()), "{rows:?}");
}
