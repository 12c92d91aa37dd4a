//! Approving calls: `cargo run --example approvals`.
//!
//! The agent asks before it changes anything. Here a script plays the model, and the user is a function: it
//! allows writing notes and denies everything else.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example talks to its terminal and reads a file"
)]

use serde_json::json;
use tau::agent::api::CodingAgent;
use tau::agent::protocol::approval::{ApprovalAnswer, ApprovalRequest, PermissionMode};
use tau::agent::protocol::event::{QuestionEvent, RunEvent};
use tau::agent::provider::scripted::{ScriptedTransport, calls, says};
use tau::agent::{AgentEvent, catalogue};

/// The user's decision at a prompt.
fn decide(request: &ApprovalRequest) -> ApprovalAnswer {
    let is_note = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "md");
    if !request.access.writes.is_empty() && request.access.writes.iter().all(is_note) {
        return ApprovalAnswer::Allow { hunks: None, edited: None };
    }
    ApprovalAnswer::Deny { reason: Some("only notes may be changed".into()), stop: false }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let script = ScriptedTransport::new([
        calls(&[
            ("call_1", "write", json!({ "path": "notes.md", "content": "remember the milk\n" })),
            ("call_2", "write", json!({ "path": "main.rs", "content": "fn main() {}\n" })),
        ]),
        says("The note is written, the program is not."),
    ]);
    let agent = CodingAgent::builder(place.path())
        .agent(|agent| agent.model(catalogue::demo()).transport(script).permission_mode(PermissionMode::Ask))
        .start();
    let mut events = agent.subscribe();
    agent.prompt("Take a note.", Vec::new()).await?;
    while let Some(event) = events.recv().await {
        match event {
            AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) => {
                let answer = decide(&request);
                println!("{} {}: {answer:?}", request.tool_name, request.title);
                agent.answer_approval(request.id, answer).await?;
            }
            AgentEvent::Run(RunEvent::AgentSettled { .. }) => break,
            _ => {}
        }
    }
    println!("{}", std::fs::read_to_string(place.path().join("notes.md"))?.trim());
    agent.shutdown().await;
    Ok(())
}
