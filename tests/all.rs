//! All integration tests in one binary: one link, one module a subject.

mod folds;
mod frames;
mod harness;
mod laws;
