//! From a session to a request: the messages that are sent, and the system prompt.
//!
//! Also the pure half of compaction: where to cut, what to summarize, and how large it is.

pub mod compaction;
mod folder_rules;
mod imports;
pub mod instruction_files;
pub mod prompt_source;
pub mod request;
pub mod system_prompt;
pub mod workspace;
