//! An agent with a tool of its own: `cargo run --example embed [BASE_URL MODEL]`; without a server the scripted demo
//! model answers, which calls no tool.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use tau_agent::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    /// The city.
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather = function("weather", "Tells the weather in a city.", |args: Weather, _| async move {
        Ok(format!("It rains in {}.", args.city))
    });
    let mut arguments = std::env::args().skip(1);
    let model = match (arguments.next(), arguments.next()) {
        (Some(base_url), Some(id)) => Model::openai_compatible(base_url, id),
        _ => tau_agent::catalogue::demo(),
    };
    let agent = Agent::builder().model(model).tool(weather.read_only()).system("You are brief.").start();
    println!("{}", agent.run("Do I need an umbrella in Bergen?").await?.text());
    Ok(())
}
