//! Under construction: handoff.
