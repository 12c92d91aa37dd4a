//! All integration tests in one binary: one link, one module a subject.

mod agent;
mod fake;
mod sessions;
mod settings;
