//! The background task: loop, providers, sessions, settings.
//!
//! Two plain enums over bounded channels are the whole boundary: [`AgentCommand`] goes in,
//! [`AgentEvent`] comes out. Both hold data only, so front ends, recordings and tests are
//! serialisations of the same thing. This module knows `tools`; it never knows who listens.

pub mod assemble;
pub mod catalogue;
pub mod command;
pub mod context;
pub mod demo;
pub mod event;
pub mod history;
pub mod message;
pub mod model;
pub mod partial_json;
pub mod prompt;
pub mod provider;
pub mod run;
pub mod secret;
pub mod session;
pub mod settings;
pub mod shell;
pub mod task;

pub use command::AgentCommand;
pub use event::AgentEvent;
