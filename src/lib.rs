//! tau: a terminal application for pair programming with a coding agent, and the agent as a library.
//!
//! An [`Agent`] is a model, a system prompt, tools and a conversation. It is driven by method calls, listened
//! to by any number of subscribers, and is independent of the program around it:
//!
//! ```
//! use tau::Agent;
//! use tau::agent::{AgentEvent, TurnEvent, catalogue};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The built-in demo model needs no key; `.model_by_name("anthropic/…")` takes a real one.
//! let agent = Agent::builder().model(catalogue::demo()).system("You are brief.").start();
//! let mut events = agent.subscribe();
//!
//! let answer = agent.run("help").await?;
//! assert!(!answer.text().is_empty());
//!
//! agent.shutdown().await;
//! let mut deltas = 0;
//! while let Some(event) = events.recv().await {
//!     deltas += usize::from(matches!(event, AgentEvent::Turn(TurnEvent::MessageUpdate { .. })));
//! }
//! assert!(deltas > 0);
//! # Ok(())
//! # }
//! ```
//!
//! [`CodingAgent`] adds the tools of the program. More is in `examples/`: `chat` (thirty lines),
//! `custom_tool`, `custom_transport`, `sse_server` and `proxy_client`. An agent's input and output are two
//! plain enums by subject, [`agent::AgentCommand`] and [`agent::AgentEvent`]; below the handle,
//! [`agent::api::spawn`] is all there is.
//!
//! # The public API
//!
//! - [`Agent`] and [`CodingAgent`], their builders, [`agent::api::Events`], [`agent::api::AgentState`],
//!   [`agent::api::AgentError`]: drive an agent and listen to it.
//! - [`agent::protocol`]: the plain data of commands, events, queries, messages and models.
//! - [`tools::Tool`], [`tools::ToolContext`], [`tools::Toolbox`]: custom tools; [`tools::details`]: the
//!   shapes of their answers.
//! - [`agent::provider::Transport`]: a custom way from a request to an answer; the wire formats.
//! - [`agent::catalogue`], [`agent::settings`], [`agent::session`], [`agent::export`]: models and keys,
//!   config.toml, session files.
//!
//! Everything else is public only for tau's own binary and tests. `app`, `view` and `cli` are the program;
//! they are left out of these pages and may change in any version.
//!
//! Each module here is a separate crate; a program that embeds the agent needs only `taucode-agent`. Their
//! `Cargo.toml` files define the dependencies between them:
//!
//! ```text
//! tools  <-  agent/protocol  <-  agent  <---------  cli
//!                            <-  app  <-  view  <-
//! ```
//!
//! `clippy.toml` bans clocks, files, the environment, processes, cells and locks. `tools`, `agent` and `cli` face the
//! outside world and waive the ban; in `app` and `view` an `Instant::now()` does not pass CI.

#[doc(inline)]
pub use tau_agent as agent;
#[doc(hidden)]
pub use tau_app as app;
#[doc(hidden)]
pub use tau_cli as cli;
#[doc(inline)]
pub use tau_tools as tools;
#[doc(hidden)]
pub use tau_view as view;

pub use tau_agent::{Agent, CodingAgent};
