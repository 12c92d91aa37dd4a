//! All integration tests in one binary: one link, one module a subject.

mod agent;
mod fake;
mod folds;
mod frames;
mod harness;
mod laws;
mod sessions;
mod settings;
