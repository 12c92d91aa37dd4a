//! Events of an agent over HTTP: `cargo run --example sse_server [address]`, then
//! `curl -N -d 'help' http://127.0.0.1:8301/prompt`.
//!
//! Every request gets a separate agent. The agent lives in the stream of the answer: when the client
//! disconnects, the stream is dropped, and with it the agent and everything it started.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::post;
use futures_util::{Stream, StreamExt, stream};
use tau::agent::AgentEvent;
use tau::agent::api::Agent;
use tau::agent::protocol::event::RunEvent;

/// Creates the agent of a request.
pub type MakeAgent = Arc<dyn Fn() -> Agent + Send + Sync>;

/// The routes of the server.
pub fn app(make: MakeAgent) -> Router {
    Router::new().route("/prompt", post(prompt)).with_state(make)
}

async fn prompt(
    State(make): State<MakeAgent>,
    text: String,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, StatusCode> {
    let agent = make();
    let events = agent.subscribe();
    agent.prompt(text, []).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    // The agent goes with the events; events after the run are not waited for.
    let stream = stream::unfold(Some((agent, events)), |running| async {
        let (agent, mut events) = running?;
        let event = events.recv().await?;
        let last = matches!(event, AgentEvent::Run(RunEvent::AgentSettled { .. }));
        Some((event, (!last).then_some((agent, events))))
    });
    let written = stream.map(|event| {
        let data = serde_json::to_string(&event).unwrap_or_default();
        Ok(Event::default().data(data))
    });
    Ok(Sse::new(written).keep_alive(KeepAlive::default()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8301".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let make: MakeAgent = Arc::new(|| Agent::builder().model(tau::agent::catalogue::demo()).start());
    axum::serve(listener, app(make)).await?;
    Ok(())
}
