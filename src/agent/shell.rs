//! Under construction: shell.
