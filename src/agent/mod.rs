//! The background task: loop, providers, sessions, settings.
//!
//! Two plain enums over bounded channels are the whole boundary: [`AgentCommand`] goes in,
//! [`AgentEvent`] comes out. Both hold data only, so front ends, recordings and tests are
//! serialisations of the same thing. This module knows `tools`; it never knows who listens.

mod act;
pub mod api;
mod ask;
pub mod assemble;
pub mod attachment;
mod branch;
mod calls;
pub mod catalogue;
pub mod command;
pub mod compact;
pub mod conduct;
pub mod context;
pub mod demo;
mod earlier;
pub mod event;
pub mod export;
pub mod files;
mod guard;
pub mod history;
mod inspect;
pub mod limits;
pub mod message;
pub mod model;
mod offer;
mod outbox;
pub mod partial_json;
pub mod prompt;
pub mod provider;
mod queue;
mod retry;
mod run;
pub mod secret;
pub mod session;
pub mod settings;
mod shell;
mod switch;
pub mod task;
mod titles;
mod turn;

pub use command::AgentCommand;
pub use event::AgentEvent;
