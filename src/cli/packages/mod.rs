//! Packages of extensions: where they come from, and what they contain.
//!
//! `source` reads what the user has typed, `fetch` brings the files into a folder, `archive` unpacks archives,
//! `summary` says what a package would do.

mod archive;
pub(crate) mod fetch;
pub(crate) mod source;
pub(crate) mod summary;
