//! The background task: loop, providers, sessions, settings.
//!
//! Two plain enums over bounded channels are the whole boundary: [`AgentCommand`] goes in, [`AgentEvent`]
//! comes out. Both hold only data, so front ends, recordings and tests are serialisations of the same thing.
//! This module knows `tools`; it never knows its listeners.
//!
//! Each feature of the crate stands for whole modules. Where other modules need their types, `absent` or a file beside
//! them takes their place in a program without the feature, and says so when it is used.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the agent talks to networks and files"
)]
#![cfg_attr(
    not(all(
        feature = "mcp",
        feature = "web",
        feature = "pictures",
        feature = "undo",
        feature = "shell",
        feature = "sqlite"
    )),
    allow(dead_code, reason = "what only a feature uses need not be left out with it")
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
#[cfg(feature = "undo")]
pub mod undo;
#[cfg(not(feature = "undo"))]
#[path = "undo/absent.rs"]
pub mod undo;
#[cfg(feature = "web")]
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
