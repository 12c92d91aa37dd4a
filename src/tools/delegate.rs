//! delegate: a task for a helper, an agent of its own within the same program.
//!
//! Owns the tool's arguments, and the report on a helper that users see. The agent runs helpers: the tool sends it
//! a [`HelperRequest`] and waits.

pub mod report;

use std::path::Path;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    Access, OutputLimits, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolProgress, ToolSpec,
    args,
};

pub use report::{HelperReport, HelperState};

/// The tool's name for models.
pub const NAME: &str = "delegate";
/// The kind of a helper if the call names none.
pub const USUAL_KIND: &str = "work";
/// The maximum length of a task, in bytes.
const MAX_TASK: usize = 256 * 1024;
/// The maximum length of a title, in characters.
const MAX_TITLE: usize = 200;
/// The longest time limit, in minutes: a day.
const MAX_MINUTES: u64 = 24 * 60;

/// A task for a helper, and its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HelperOrder {
    pub task: String,
    /// The name of the kind.
    pub kind: String,
    /// Whether it begins with the conversation of its parent.
    pub inherit: bool,
    /// The time limit, in minutes.
    pub minutes: Option<u64>,
    /// The cost limit, in US dollars.
    pub dollars: Option<f64>,
    /// The limit of tokens.
    pub tokens: Option<u64>,
}

/// A request to the agent to run a helper.
#[derive(Debug)]
pub struct HelperRequest {
    pub order: HelperOrder,
    /// The id of the call.
    pub call: String,
    /// The number of the helper.
    pub number: u32,
    pub limits: OutputLimits,
    pub progress: ToolProgress,
    /// Cancelled when the call is aborted.
    pub cancel: CancellationToken,
    /// The result of the call.
    pub reply: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

/// The way from a call to the agent that runs helpers.
#[derive(Clone, Debug)]
pub struct HelperLink {
    pub requests: mpsc::UnboundedSender<HelperRequest>,
    /// The id of the call.
    pub call: String,
    /// The number of its helper: they are numbered in the order of the calls.
    pub number: u32,
}

tool! {
    // The calls of a helper are judged themselves.
    /// The `delegate` tool.
    pub struct Delegate(DelegateArgs, NAME, "delegate.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct DelegateArgs {
    pub task: String,
    /// `work` if not given.
    pub kind: Option<String>,
    /// Begin with this conversation.
    pub inherit: Option<bool>,
    /// Time limit.
    pub minutes: Option<u64>,
    /// Cost limit.
    pub dollars: Option<f64>,
    /// Token limit.
    pub tokens: Option<u64>,
}

impl Delegate {
    /// The tool, which also names these kinds, each with a description.
    pub fn with_kinds(kinds: &[(String, String)]) -> Self {
        let mut tool = Delegate::default();
        for (name, description) in kinds {
            let line: Vec<&str> = description.split_whitespace().collect();
            tool.spec.description.push_str(&format!("\n- `{name}`: {}", line.join(" ")));
        }
        tool
    }
}

impl Tool for Delegate {
    type Args = DelegateArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        let task = args::partial(args, "task").unwrap_or_default();
        let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let line: String = line.chars().take(MAX_TITLE).collect();
        match args::partial(args, "kind").filter(|kind| !kind.is_empty() && *kind != USUAL_KIND) {
            Some(kind) => format!("{kind}: {line}"),
            None => line,
        }
    }

    fn prepares_from_arguments(&self) -> bool {
        true
    }

    fn touches(&self, _: &Value, _: &Path) -> Option<Access> {
        Some(Access::default())
    }

    async fn prepare(&self, args: DelegateArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let refused = |why: &str| ToolError::refused(format!("{NAME}: {why}"));
        let Some(link) = context.helpers.clone() else {
            return Err(refused("there are no helpers here; do it yourself"));
        };
        let order = order(args).map_err(refused)?;
        Ok(PreparedCall::new(Access::default(), async move |_| {
            let (reply, replied) = oneshot::channel();
            let ToolContext { limits, progress, cancel, .. } = context;
            let request = HelperRequest {
                order,
                call: link.call,
                number: link.number,
                limits,
                progress,
                cancel,
                reply,
            };
            // A failed send or a dropped reply means that the agent is ending.
            match link.requests.send(request) {
                Ok(()) => replied.await.unwrap_or_else(|_| Err(ToolError::aborted())),
                Err(_) => Err(ToolError::aborted()),
            }
        }))
    }
}

/// The order in checked arguments, or what is wrong with them.
fn order(args: DelegateArgs) -> Result<HelperOrder, &'static str> {
    if args.task.trim().is_empty() {
        return Err("`task` is empty");
    }
    if args.task.len() > MAX_TASK {
        return Err("`task` is longer than 256 KB: write it to a file and name the file");
    }
    if args.minutes.is_some_and(|minutes| minutes == 0 || minutes > MAX_MINUTES) {
        return Err("`minutes` must be between 1 and 1440");
    }
    if args.dollars.is_some_and(|dollars| !dollars.is_finite() || dollars <= 0.0) {
        return Err("`dollars` must be more than 0");
    }
    if args.tokens == Some(0) {
        return Err("`tokens` must be more than 0");
    }
    Ok(HelperOrder {
        task: args.task,
        kind: args.kind.filter(|kind| !kind.trim().is_empty()).unwrap_or_else(|| USUAL_KIND.to_owned()),
        inherit: args.inherit.unwrap_or_default(),
        minutes: args.minutes,
        dollars: args.dollars,
        tokens: args.tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn titles_name_the_kind_and_the_first_line() {
        let title = |args: Value| Tool::title(&Delegate::default(), &args);
        assert_eq!(title(json!({ "task": "\n  find it\nthen stop", "kind": "explore" })), "explore: find it");
        assert_eq!(title(json!({ "task": "do it", "kind": "work" })), "do it");
        assert_eq!(title(json!(null)), "");
    }

    #[test]
    fn limits_are_checked() {
        let args = |minutes, dollars| DelegateArgs {
            task: "x".to_owned(),
            kind: Some(" ".to_owned()),
            inherit: None,
            minutes,
            dollars,
            tokens: None,
        };
        assert_eq!(order(args(None, None)).map(|order| order.kind), Ok(USUAL_KIND.to_owned()));
        assert!(order(args(Some(0), None)).is_err() && order(args(Some(1441), None)).is_err());
        assert!(order(args(None, Some(0.0))).is_err() && order(args(None, Some(f64::NAN))).is_err());
    }
}
