//! The task of a call: prepares it, has it judged, and applies the approved part.
//!
//! Everything around a call belongs here, and not in a tool: recording its changes for undo, and repeating a
//! command that the sandbox refused something.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call_hooks::{CallHooks, CheckedCall, HookEffects};
use crate::engine::base::approvals::{Decision, Review};
use crate::engine::base::undo_place::CallUndo;
use crate::engine::gate::sandbox_gate;
use tau_protocol::call_ending::UNANSWERED;
use tau_tools::{AnyTool, ApprovedPart, ToolContext, ToolError, ToolOutput};

/// The result of a call, with its effects.
pub(crate) struct CarriedOut {
    pub(crate) result: Result<ToolOutput, ToolError>,
    /// The time it waited for the decision, which is not the tool's time.
    pub(crate) waited: Duration,
    /// Whether the decision, or a hook, denied it.
    pub(crate) is_denied: bool,
    /// Notices for the user about its changes.
    pub(crate) notices: Vec<String>,
    pub(crate) hooks: HookEffects,
}

/// The task of a call: prepares it, sends it to be judged, and applies the approved part.
/// `index` identifies it among the calls of its answer.
pub(crate) async fn carry_out(
    tool: Arc<dyn AnyTool>,
    arguments: Value,
    context: ToolContext,
    index: usize,
    reviews: mpsc::UnboundedSender<(usize, Review)>,
    undo: Option<CallUndo>,
    hooks: Option<CallHooks>,
) -> CarriedOut {
    let stop = context.cancel.clone();
    let mut effects = HookEffects::default();
    let checked = match &hooks {
        Some(hooks) => hooks.before(arguments, &stop, &mut effects).await,
        None => Ok(CheckedCall::new(arguments)),
    };
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            let (waited, notices, is_denied) = (Duration::ZERO, Vec::new(), !stop.is_cancelled());
            return CarriedOut { result: Err(error), waited, is_denied, notices, hooks: effects };
        }
    };
    let mut carried = carry_out_after_hooks(tool, &checked, context, index, reviews, undo).await;
    if let Some(hooks) = hooks {
        carried.result = hooks.after(&checked, carried.result, &stop, &mut effects).await;
    }
    CarriedOut { hooks: effects, ..carried }
}

/// Like [`carry_out`], after the hooks before the call.
async fn carry_out_after_hooks(
    tool: Arc<dyn AnyTool>,
    checked: &CheckedCall,
    context: ToolContext,
    index: usize,
    reviews: mpsc::UnboundedSender<(usize, Review)>,
    undo: Option<CallUndo>,
) -> CarriedOut {
    let (mut waited, mut is_denied, mut notices) = (Duration::ZERO, false, Vec::new());
    let run = async {
        let (stop, sandbox, files) = (context.cancel.clone(), context.sandbox.clone(), context.files.clone());
        let arguments = checked.arguments.clone();
        let prepared = tool.prepare(arguments.clone(), context.clone()).await?;
        let blocked = prepared.access.writes.iter().find_map(|path| sandbox.check_write(path).err());
        let (access, preview) = (prepared.access.clone(), prepared.preview.clone());
        let proposed_text = prepared.proposed_text.clone();
        let (decide, decided) = oneshot::channel();
        let review = Review {
            access: access.clone(),
            preview: preview.clone(),
            proposed_text,
            blocked,
            again: false,
            changed: checked.changed.clone(),
            permission: checked.permission.clone(),
            decide,
        };
        // If it is not received, there is no decision either.
        let _ = reviews.send((index, review));
        let decision = await_decision(decided, &stop, &mut waited).await;
        let decision = decision.unwrap_or_else(|| Err(ToolError::refused(UNANSWERED)));
        is_denied = decision.is_err();
        let approved = decision?;
        let (mut prepared, mut approved, mut edited) = (prepared, approved, None);
        let (mut ran, mut was_asked) = (false, false);
        loop {
            let is_unasked = approved.sandbox.as_ref().is_some_and(|policy| policy.unasked);
            edited = approved.edited.take().or(edited);
            let touched = prepared.access.clone();
            let work = prepared.apply(ApprovedPart { edited: edited.clone(), ..approved });
            // A call that needed no approval cannot have changed anything.
            let undo = undo.clone().filter(|_| !is_unasked);
            let (mut result, told) = CallUndo::around(undo, touched, work).await;
            notices.extend(told.into_iter().chain(files.take_shortfall()));
            if ran {
                result = sandbox_gate::with_rerun_note(result);
            }
            // Once for the sandbox of commands that need no approval, and once for the sandbox of all
            // commands.
            let Some(blocked) = sandbox_gate::find_denial(&result).filter(|_| is_unasked || !was_asked)
            else {
                return result;
            };
            was_asked = !is_unasked;
            let (decide, decided) = oneshot::channel();
            let review =
                sandbox_gate::again(access.clone(), preview.clone(), edited.clone(), blocked, decide);
            let _ = reviews.send((index, review));
            match await_decision(decided, &stop, &mut waited).await {
                Some(Ok(decision)) => approved = decision,
                Some(Err(refusal)) => {
                    is_denied = true;
                    return sandbox_gate::with_refusal(result, &refusal);
                }
                None => return result,
            }
            prepared = tool.prepare(arguments.clone(), context.clone()).await?;
            ran = true;
        }
    };
    let result = run.await;
    CarriedOut { result, waited, is_denied, notices, hooks: HookEffects::default() }
}

/// Waits for a decision and counts the time; `None` if the call is stopped.
async fn await_decision(
    decided: oneshot::Receiver<Decision>,
    stop: &CancellationToken,
    waited: &mut Duration,
) -> Option<Decision> {
    let asked = Instant::now();
    let decision = tokio::select! {
        biased;
        decision = decided => decision.ok(),
        () = stop.cancelled() => None,
    };
    *waited += asked.elapsed();
    decision
}
