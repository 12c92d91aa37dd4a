//! From a session's messages to what a request may hold.
