//! The background task: loop, providers, sessions, settings.
//!
//! Two plain enums over bounded channels are the whole boundary: [`AgentCommand`] goes in, [`AgentEvent`]
//! comes out. Both hold only data, so front ends, recordings and tests are serialisations of the same thing.
//! This module knows `tools`; it never knows its listeners.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the agent talks to networks and files"
)]

pub mod api;
pub mod catalogue;
pub mod context;
pub mod demo;
pub mod engine;
pub mod export;
pub mod extensions;
pub mod permissions;
pub mod prelude;
pub mod provider;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod undo;
pub mod web;

pub use tau_protocol as protocol;
pub use tau_protocol::command::{
    AgentCommand, QuestionCommand, QueueCommand, RunCommand, SessionCommand, SettingsCommand, ShellCommand,
    TaskCommand,
};
pub use tau_protocol::event::{
    AgentEvent, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent, TaskEvent,
    TurnEvent,
};

pub use api::{Agent, CodingAgent};
pub use {schemars, serde_json, tau_tools as tools};
