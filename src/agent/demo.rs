//! Under construction: demo.
