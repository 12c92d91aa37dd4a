//! The process itself: its exit, output, signals, log.

pub(crate) mod browser;
pub(crate) mod confirmation;
pub mod crash;
pub mod exit;
pub(crate) mod hardening;
pub mod log;
pub(crate) mod masking;
pub(crate) mod outgoing;
pub mod plain;
pub(crate) mod runtime;
pub(crate) mod secret_prompt;
pub mod signals;
pub(crate) mod socket_folder;
pub mod stderr;
pub(crate) mod stopped_jobs;
pub(crate) mod waiter;
