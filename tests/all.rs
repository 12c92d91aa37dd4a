//! All integration tests in one binary: one link, one module a subject.
mod providers;
