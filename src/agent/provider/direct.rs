//! Under construction: direct.
