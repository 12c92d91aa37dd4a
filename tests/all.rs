//! All integration tests in one binary: one link, one module a subject.

mod tools;
mod tools_edit;
mod tools_figures;
mod tools_shell;
