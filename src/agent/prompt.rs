//! Under construction: prompt.
