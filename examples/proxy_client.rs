//! An agent whose requests go through `tau proxy`, with a token created by `tau proxy add me`:
//! `TAU_PROXY_TOKEN=TOKEN cargo run --example proxy_client [prompt] [provider/model] [address]`.
//!
//! The loop and the tools run here; only requests to the model go through the server.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]
#![allow(clippy::disallowed_methods, reason = "the token comes from the environment")]

use tau::agent::api::Agent;
use tau::agent::provider::proxy::Proxy;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let prompt = arguments.next().unwrap_or_else(|| "help".to_owned());
    let model = arguments.next().unwrap_or_else(|| "demo".to_owned());
    let address = arguments.next().unwrap_or_else(|| "http://127.0.0.1:8302".to_owned());
    let token = std::env::var("TAU_PROXY_TOKEN").map_err(|_| "set TAU_PROXY_TOKEN to the server's token")?;
    let agent = Agent::builder().model_by_name(&model)?.proxy(Proxy::new(&address, token)).start();
    println!("{}", agent.run(prompt).await?.text());
    Ok(())
}
