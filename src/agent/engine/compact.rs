//! Compaction: the earlier part of a conversation is replaced by a summary when room runs out.
//!
//! Owns when that happens and what counts as success. The whole history stays in the session
//! file; an entry of its own says from where on the context goes on word for word. `plan` makes
//! the request, `ask` sends it, `cut` parts the context, `size` measures it, `shrink` cuts a
//! huge result first, `touched` lists files, `transcript` makes text of messages. `parting` sums up
//! a branch that is left, `weigh` tells what fills a context.

pub(crate) mod branch_summary;
pub(crate) mod context_usage;
mod summarize;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::task::{Agent, Phase};
use crate::agent::context::compaction::cut_point::Keep;
use crate::agent::context::compaction::plan::{Attempt, Plan};
use crate::agent::protocol::event::{AgentEvent, CompactionReason, CompactionResult, NoticeLevel};
use crate::agent::protocol::model::Model;
use crate::agent::provider::FailureKind;
pub use summarize::SYSTEM;

/// When there is too little room, and how much stays word for word. Sizes in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Whether the agent makes room by itself.
    pub auto: bool,
    /// Kept free in the window; at most half of it.
    pub reserve: u64,
    /// How much of the end of the conversation stays as it is.
    pub keep: u64,
}

impl Default for Room {
    fn default() -> Self {
        Room { auto: true, reserve: 20_000, keep: 20_000 }
    }
}

/// How a compaction ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    Done,
    Aborted,
    Failed(String),
}

/// What a window of unknown size is taken for where a size is needed.
const UNKNOWN: u64 = 1 << 40;

/// Compacts because the person asked for it, while nothing else runs.
pub(crate) async fn manual(agent: &mut Agent, instructions: Option<String>) {
    agent.stop = CancellationToken::new();
    agent.phase = Phase::Compacting;
    compact(agent, CompactionReason::Manual, instructions.as_deref()).await;
    agent.record_waiting();
    agent.flush();
    agent.phase = Phase::Idle;
}

/// Makes room when the threshold is crossed. True when a compaction was tried in vain.
pub(crate) async fn when_full(agent: &mut Agent) -> bool {
    let Some(model) = agent.config.model.clone() else { return false };
    if !agent.config.room.auto || size_now(agent) <= limit(agent, &model) {
        return false;
    }
    if shrink(agent, &model) && size_now(agent) <= limit(agent, &model) {
        return false;
    }
    matches!(compact(agent, CompactionReason::Threshold, None).await, Ending::Failed(_))
}

/// Makes room after a provider has refused the request as too long.
pub(crate) async fn on_overflow(agent: &mut Agent) -> Ending {
    if !agent.config.room.auto {
        return Ending::Failed("automatic compaction is off".into());
    }
    let Some(model) = agent.config.model.clone() else { return Ending::Aborted };
    let before = size_now(agent);
    // A result may be cut in vain, as the provider knows its limits better than the catalogue.
    if shrink(agent, &model) && size_now(agent) <= (before / 2).min(limit(agent, &model)) {
        return Ending::Done;
    }
    compact(agent, CompactionReason::Overflow, None).await
}

/// Tokens of the present context.
pub(crate) fn size_now(agent: &Agent) -> u64 {
    crate::agent::context::compaction::size::of_context(agent.config.session.tree(), fixed(agent))
}

/// Tokens of what stands beside the messages: the prompt and the tools.
fn fixed(agent: &Agent) -> u64 {
    let tool = |spec: &crate::tools::ToolSpec| {
        crate::agent::context::compaction::size::of_text(&spec.name)
            + crate::agent::context::compaction::size::of_text(&spec.description)
            + crate::agent::context::compaction::size::of_text(&spec.parameters.to_string())
    };
    crate::agent::context::compaction::size::of_text(&agent.config.system)
        + agent.config.tools.specs().iter().map(tool).sum::<u64>()
}

/// Tokens above which there is too little room.
fn limit(agent: &Agent, model: &Model) -> u64 {
    match model.context_window {
        0 => UNKNOWN,
        window => window - agent.config.room.reserve.min(window / 2),
    }
}

/// Cuts huge results; whether there were any.
fn shrink(agent: &mut Agent, model: &Model) -> bool {
    let room = match limit(agent, model) {
        UNKNOWN => size_now(agent),
        limit => limit,
    };
    let edits = crate::agent::context::compaction::truncate_results::edits(
        &agent.config.session.tree().context_items(),
        room,
    );
    let count = edits.len();
    for edit in edits {
        let written = agent.config.session.append_body(edit);
        agent.written(written);
    }
    if count > 0 {
        let text = format!("{count} very large tool results were cut to make room");
        agent.notice(NoticeLevel::Info, text, Some("they are whole in the session file"));
    }
    count > 0
}

/// One compaction with its events.
async fn compact(agent: &mut Agent, reason: CompactionReason, instructions: Option<&str>) -> Ending {
    agent.emit(AgentEvent::CompactionStart { reason });
    let (result, ending) = match tries(agent, reason, instructions).await {
        Ok(result) => (Some(result), Ending::Done),
        Err(ending) => (None, ending),
    };
    let error_message = match &ending {
        Ending::Failed(why) => Some(why.clone()),
        Ending::Done | Ending::Aborted => None,
    };
    let aborted = ending == Ending::Aborted;
    let will_retry = reason == CompactionReason::Overflow && ending == Ending::Done;
    agent.emit(AgentEvent::CompactionEnd { reason, result, aborted, will_retry, error_message });
    ending
}

/// At most two tries: the second shows the model less and keeps nothing word for word.
async fn tries(
    agent: &mut Agent,
    reason: CompactionReason,
    instructions: Option<&str>,
) -> Result<CompactionResult, Ending> {
    let failed = |why: &str| Err(Ending::Failed(why.to_owned()));
    let Some(model) = agent.config.model.clone() else { return failed("no model is chosen") };
    if !crate::agent::context::compaction::plan::has_words(agent.config.session.tree()) {
        agent.complete();
    }
    let before = size_now(agent);
    let bounds = Bounds::of(agent, &model, reason, before);
    let mut why = String::new();
    for again in [false, true] {
        let effort = bounds.effort(again);
        let Some(plan) =
            crate::agent::context::compaction::plan::plan(agent.config.session.tree(), effort, instructions)
        else {
            return failed("nothing to compact");
        };
        // What stays is known before anything is asked: a summary would be paid for in vain.
        if let (Err(too_large), false) = (bounds.fits(fixed(agent) + plan.kept), again) {
            why = too_large;
            continue;
        }
        let Some(asked) = summarize::patiently(agent, &model, plan.request.clone(), bounds.answer).await
        else {
            return Err(Ending::Aborted);
        };
        match asked {
            Ok(answer) if answer.cut_off && !again => why = "the summary was cut off".into(),
            Ok(answer) => match bounds.accept(&plan, &answer, fixed(agent)) {
                Ok(result) => return Ok(store(agent, &plan, result)),
                Err(too_large) => why = too_large,
            },
            Err(failure) => {
                why = failure.to_string();
                if !matches!(failure.kind, FailureKind::Protocol | FailureKind::Overflow) {
                    break;
                }
            }
        }
    }
    failed(&why)
}

/// What a compaction must keep to.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    before: u64,
    /// Largest outcome that is accepted.
    after: u64,
    /// Most tokens that stay word for word.
    keep: u64,
    /// Most tokens that the model is shown at once.
    shown: u64,
    /// Longest answer.
    answer: u64,
}

impl Bounds {
    fn of(agent: &Agent, model: &Model, reason: CompactionReason, before: u64) -> Self {
        let limit = limit(agent, model);
        let room = agent.config.room;
        let reserve = room.reserve.min(model.context_window.max(2_048) / 2);
        let answer = (reserve * 4 / 5).max(1_024);
        let answer = if model.max_tokens == 0 { answer } else { answer.min(model.max_tokens) };
        let messages = before.saturating_sub(fixed(agent));
        let (after, shown) = match reason {
            // The person may want a summary of a conversation that is smaller than one.
            CompactionReason::Manual => (limit, limit),
            CompactionReason::Threshold => (limit.min(before), limit),
            CompactionReason::Overflow => {
                let fits = limit.min(before.saturating_mul(3) / 4);
                (fits, fits)
            }
        };
        Bounds { before, after, keep: room.keep.min(messages / 4), shown, answer }
    }

    fn effort(&self, again: bool) -> Attempt {
        let halved = |tokens: u64| if again { tokens / 2 } else { tokens };
        Attempt {
            keep: if again { Keep::Nothing } else { Keep::Tokens(self.keep) },
            shown: halved(self.shown),
            verbatim: halved(self.after / 4),
            again,
        }
    }

    /// Whether an outcome of that size has room; why not.
    fn fits(&self, after: u64) -> Result<(), String> {
        if after <= self.after {
            return Ok(());
        }
        Err(format!("the outcome would still be about {after} tokens, and only {} have room", self.after))
    }

    /// The result, if it makes the room that is needed.
    fn accept(
        &self,
        plan: &Plan,
        answer: &summarize::Answer,
        fixed: u64,
    ) -> Result<CompactionResult, String> {
        let summary = plan.summary(&answer.text);
        let after = fixed + crate::agent::context::compaction::size::of_text(&summary) + plan.kept;
        self.fits(after)?;
        let first_kept_entry_id = plan.first_kept.as_deref().unwrap_or_default().to_owned();
        Ok(CompactionResult {
            summary,
            first_kept_entry_id,
            tokens_before: self.before,
            estimated_tokens_after: after,
            usage: (answer.usage.total_tokens > 0).then_some(answer.usage),
            details: Some(plan.touched.details()),
        })
    }
}

/// Writes a compaction down.
fn store(agent: &mut Agent, plan: &Plan, mut result: CompactionResult) -> CompactionResult {
    let kept = plan.first_kept.as_ref().map(Arc::as_ref);
    let (id, written) = agent.config.session.append_compaction(kept, &result);
    agent.written(written);
    if plan.first_kept.is_none() {
        result.first_kept_entry_id = id;
    }
    agent.renew_prompt();
    result
}
