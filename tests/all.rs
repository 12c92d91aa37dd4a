//! All integration tests in one binary: one link, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::string_slice,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests fail by panicking, and set up the world they look at"
)]

mod agent;
mod fake;
mod sessions;
mod settings;
