//! A custom tool: `cargo run --example custom_tool [provider/model]`.
//!
//! Arguments are a type, from which their JSON schema and validation are derived. Without a model a script
//! plays one that calls the tool.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tau::agent::api::Agent;
use tau::agent::protocol::event::TurnEvent;
use tau::agent::provider::scripted::{ScriptedTransport, calls, says};
use tau::agent::{AgentEvent, catalogue};
use tau::tools::{Access, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args};

/// What the model gives.
#[derive(Deserialize, JsonSchema)]
struct Roll {
    /// Number of dice.
    dice: u32,
    /// Sides of each.
    sides: u32,
}

/// A tool that rolls dice.
struct Dice {
    spec: ToolSpec,
}

impl Tool for Dice {
    type Args = Roll;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        format!("roll {}d{}", args["dice"], args["sides"])
    }

    // Invalid calls are reported here; nothing has happened yet.
    async fn prepare(&self, roll: Roll, _context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        if roll.sides == 0 || roll.dice > 100 {
            return Err(ToolError::refused("dice have at least one side, and 100 of them are enough"));
        }
        // A roll touches nothing.
        Ok(PreparedCall::new(Access::default(), move |_| async move {
            // Loaded, so that the example always prints the same.
            let sum: u32 = (0..roll.dice).map(|n| n * 7 % roll.sides + 1).sum();
            Ok(ToolOutput::new(format!("the sum is {sum}"), Details::None))
        }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = ToolSpec { read_only: true, ..args::spec::<Roll>("roll", "Throws dice and adds them up.") };
    let agent = Agent::builder().tool(Dice { spec }).system("Use your dice.");
    let agent = match std::env::args().nth(1) {
        Some(model) => agent.model_by_name(&model)?.start(),
        None => {
            let call = calls(&[("call_1", "roll", json!({ "dice": 3, "sides": 6 }))]);
            let script = ScriptedTransport::new([call, says("You rolled, and the tool said the sum.")]);
            agent.model(catalogue::demo()).transport(script).start()
        }
    };
    let mut events = agent.subscribe();
    let answer = agent.run("Roll three dice for me.").await?;
    agent.shutdown().await;
    while let Some(event) = events.recv().await {
        if let AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_name, result, .. }) = event {
            println!("{tool_name}: {:?}", result.content);
        }
    }
    println!("{}", answer.text());
    Ok(())
}
