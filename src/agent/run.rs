//! Under construction: run.
