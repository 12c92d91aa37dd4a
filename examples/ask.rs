//! One question, one answer: `cargo run --example ask QUESTION [provider/model]`; without a model
//! the scripted demo answers.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use tau::agent::api::Agent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let question = arguments.next().unwrap_or_else(|| "help".to_owned());
    let model = arguments.next().unwrap_or_else(|| "demo".to_owned());

    let agent = Agent::builder().model_by_name(&model)?.start();
    println!("{}", agent.run(question).await?.text());
    Ok(())
}
