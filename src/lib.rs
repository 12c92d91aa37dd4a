//! tau: a full-screen terminal application in which a developer pairs with a coding agent.
//!
//! The crate is five modules, and the import direction between them is a law
//! (held by `tests/tidy.rs`):
//!
//! ```text
//! tools  <-  agent  <-  app  <-  view  <-  cli
//! ```
//!
//! - [`tools`]: what can be done to the machine: read, write, edit, bash.
//! - [`agent`]: the background task: loop, providers, sessions, settings.
//! - [`app`]: the pure half: model, message, action, effect, update.
//! - [`view`]: the screen as a function of the model.
//! - [`cli`]: the composition root: arguments and front ends.
//!
//! `clippy.toml` bans clocks, files, the environment, processes, cells and locks. The ban
//! is waived below, with its reason, for the three modules that face the outside world; in
//! `app` and `view` an `Instant::now()` does not pass CI.

#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tools act on the machine")]
pub mod tools;

#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the agent talks to networks and files"
)]
pub mod agent;

pub mod app;

pub mod view;

#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the composition root performs effects"
)]
pub mod cli;
