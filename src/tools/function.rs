//! A closure as a tool.

use std::future::Future;
use std::marker::PhantomData;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Access, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args};

/// A tool that calls a closure, created by [`function`].
pub struct FunctionTool<A, F> {
    spec: ToolSpec,
    run: F,
    args: PhantomData<fn(A)>,
}

/// A tool that calls `run` with the model's arguments. Their JSON schema and validation are derived from
/// `A`; `description` tells the model what the tool is for. Calls count as changes of anything, so modes
/// that ask for permission ask about each call, unless it is marked [`FunctionTool::read_only`].
///
/// ```
/// use tau_tools::function::function;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     /// The numbers to add.
///     numbers: Vec<f64>,
/// }
///
/// let sum = function("sum", "Adds numbers.", |args: Sum, _| async move {
///     Ok(args.numbers.iter().sum::<f64>().to_string())
/// });
/// # let _ = sum.read_only();
/// ```
pub fn function<A, F, R, O>(name: &str, description: &str, run: F) -> FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send,
    O: Into<ToolOutput>,
{
    FunctionTool { spec: args::spec::<A>(name, description), run, args: PhantomData }
}

impl<A, F> FunctionTool<A, F> {
    /// Marks the closure as one that changes nothing: its calls run without asking, and in parallel.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.spec.read_only = true;
        self
    }
}

impl<A, F> std::fmt::Debug for FunctionTool<A, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FunctionTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<A, F, R, O> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send,
    O: Into<ToolOutput>,
{
    type Args = A;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, _: &Value) -> String {
        self.spec.label.clone()
    }

    fn touches(&self, _: &Value, _: &Path) -> Option<Access> {
        Some(self.access())
    }

    async fn prepare(&self, args: A, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        Ok(PreparedCall::new(self.access(), move |_| async move {
            (self.run)(args, context).await.map(Into::into)
        }))
    }
}

impl<A, F> FunctionTool<A, F> {
    fn access(&self) -> Access {
        if self.spec.read_only { Access::default() } else { Access::unknown() }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        ToolOutput::new(text, Details::None)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
