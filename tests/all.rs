//! All integration tests in one binary: one link, one module a subject.

mod sessions;
mod settings;
