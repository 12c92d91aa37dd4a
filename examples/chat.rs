//! A chat: `cargo run --example chat [provider/model]`; without a model the scripted demo answers.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::io::Write;

use tau::agent::AgentEvent;
use tau::agent::api::Agent;
use tau::agent::protocol::event::{Delta, RunEvent, TurnEvent};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).unwrap_or_else(|| "demo".to_owned());
    let agent = Agent::builder().model_by_name(&model)?.system("You like to chat.").start();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await?.filter(|line| !line.trim().is_empty()) {
        let mut events = agent.subscribe();
        agent.prompt(line, []).await?;
        while let Some(event) = events.recv().await {
            match event {
                AgentEvent::Turn(TurnEvent::MessageUpdate {
                    assistant_message_event: Delta::TextDelta { delta, .. },
                    ..
                }) => {
                    print!("{delta}");
                    std::io::stdout().flush()?;
                }
                AgentEvent::Run(RunEvent::AgentSettled { .. }) => break,
                _ => {}
            }
        }
        println!("{}", agent.state().error.map(|error| format!("error: {error}")).unwrap_or_default());
    }
    Ok(())
}
