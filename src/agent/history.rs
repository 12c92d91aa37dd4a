//! Under construction: history.
