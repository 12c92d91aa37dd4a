//! Under construction: scripted.
