//! The background task: loop, providers, sessions, settings.
//!
//! Two plain enums over bounded channels are the whole boundary: [`AgentCommand`] goes in,
//! [`AgentEvent`] comes out. Both hold data only, so front ends, recordings and tests are
//! serialisations of the same thing. This module knows `tools`; it never knows who listens.

pub mod api;
pub mod catalogue;
pub mod context;
pub mod demo;
pub(crate) mod engine;
pub mod export;
pub mod extensions;
pub mod permissions;
pub mod protocol;
pub mod provider;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod undo;
pub mod web;

pub use protocol::command::{
    AgentCommand, QuestionCommand, QueueCommand, RunCommand, SessionCommand, SettingsCommand, ShellCommand,
    TaskCommand,
};
pub use protocol::event::{
    AgentEvent, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent, TaskEvent,
    TurnEvent,
};
