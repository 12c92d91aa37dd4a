//! Tool calls: from the answer of the model to their results.

pub(crate) mod call_hooks;
pub(crate) mod call_plan;
pub(crate) mod call_task;
pub(crate) mod exact_calls;
pub mod missing_results;
pub(crate) mod tool_calls;
pub(crate) mod written_calls;
