//! Under construction: read.

use super::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};

/// The tool.
#[derive(Default)]
pub struct Read;

/// Its arguments.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Args {}

impl Tool for Read {
    type Args = Args;

    fn spec(&self) -> &ToolSpec {
        todo!()
    }

    fn title(&self, _args: &serde_json::Value) -> String {
        todo!()
    }

    async fn run(&self, _args: Args, _context: ToolContext) -> Result<ToolOutput, ToolError> {
        todo!()
    }
}
