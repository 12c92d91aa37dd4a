//! From a model's arguments to typed ones, with its common slips understood.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ToolError, ToolSpec};

/// Checks `args` against the tool's schema and makes them typed.
///
/// # Errors
/// A refusal that names the field.
pub fn parse<T: DeserializeOwned>(_args: Value, _spec: &ToolSpec) -> Result<T, ToolError> {
    todo!()
}
