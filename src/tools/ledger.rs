//! Which versions of which files the model has seen, and a queue for calls on one file.

/// The ledger of a session.
#[derive(Debug, Default)]
pub struct Ledger;
