//! Under construction: http.
