//! All integration tests in one binary: one link, one module a subject.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::string_slice,
    reason = "tests look from outside: they run programs, read files and wait"
)]

mod pty;
mod screen;
mod tidy;
