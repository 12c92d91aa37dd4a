//! Compaction: replaces the earlier part of a nearly full context with a summary.
//!
//! Decides when to compact and what counts as success. The complete history stays in the session file; an
//! entry there says where the verbatim context begins. `context::compaction` plans a compaction, `summarize`
//! asks the model, `branch_summary` summarizes an abandoned branch.

pub(crate) mod branch_summary;
mod summarize;

use std::sync::Arc;

use super::state::{Engine, Phase};
use super::{accepted_plan, announce, event_hooks};
use crate::context::compaction::cut_point::Keep;
use crate::context::compaction::plan::{Attempt, Plan, has_user_message, plan};
use crate::context::compaction::{size, truncate_results};
use crate::engine::queries::context_usage::{UNKNOWN, limit, overhead, total};
use crate::engine::queries::session_usage;
use crate::provider::FailureKind;
use summarize::{Summary, summarize};
use tau_protocol::event::{CompactionReason, CompactionResult, NOTHING_TO_COMPACT, NoticeLevel, RunEvent};
use tau_protocol::model::Model;
use tau_tools::user_error::UserError;

/// After a failure, compaction is tried again when the context has grown by one part in this many.
const RETRY_AFTER_GROWTH: u64 = 10;

/// The outcome of a compaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CompactionEnd {
    Done,
    Aborted,
    Failed(String),
}

/// Compacts at the user's request, while nothing else is running.
pub(crate) async fn manual(engine: &mut Engine, instructions: Option<String>) {
    engine.begin();
    engine.current.phase = Phase::Compacting;
    compact(engine, CompactionReason::Manual, instructions.as_deref()).await;
    announce::idle(engine);
}

/// Compacts if the context is too full. Returns true if that was tried and failed.
pub(crate) async fn if_full(engine: &mut Engine) -> bool {
    let Some(model) = engine.config.model.clone() else { return false };
    if !engine.config.compaction.auto
        || total(engine) <= limit(engine, &model)
        || engine.meters.used.spent_limit().is_some()
    {
        return false;
    }
    if truncate_results(engine, &model) && total(engine) <= limit(engine, &model) {
        return false;
    }
    let (reference, size) = (model.reference(), total(engine));
    let is_known = |(failed, at): &(String, u64)| *failed == reference && size < at + at / RETRY_AFTER_GROWTH;
    if engine.conversation.uncompactable.as_ref().is_some_and(is_known) {
        return true;
    }
    let end = compact(engine, CompactionReason::Threshold, None).await;
    let failed = matches!(end, CompactionEnd::Failed(_));
    engine.conversation.uncompactable = failed.then_some((reference, size));
    failed
}

/// Compacts after a provider refused the request as too long.
pub(crate) async fn on_overflow(engine: &mut Engine) -> CompactionEnd {
    if !engine.config.compaction.auto {
        return CompactionEnd::Failed("automatic compaction is off".into());
    }
    let Some(model) = engine.config.model.clone() else { return CompactionEnd::Aborted };
    let before = total(engine);
    // Truncating results may not be enough: the provider knows its limits better than the catalogue.
    if truncate_results(engine, &model) && total(engine) <= (before / 2).min(limit(engine, &model)) {
        return CompactionEnd::Done;
    }
    compact(engine, CompactionReason::Overflow, None).await
}

/// Truncates huge tool results; returns whether there were any.
fn truncate_results(engine: &mut Engine, model: &Model) -> bool {
    let size = match limit(engine, model) {
        UNKNOWN => total(engine),
        limit => limit,
    };
    let edits = truncate_results::edits(&engine.config.session.tree().context_items(), size);
    let count = edits.len();
    for edit in edits {
        let saved = engine.config.session.append_body(edit);
        engine.report_save_result(saved);
    }
    if count > 0 {
        announce::context_size(engine);
        let results = if count == 1 { "result" } else { "results" };
        let text = format!("truncated {count} very large tool {results} to save context");
        engine.notice(NoticeLevel::Info, text, Some("the session file has them in full"));
    }
    count > 0
}

/// Runs one compaction and reports it.
async fn compact(engine: &mut Engine, reason: CompactionReason, instructions: Option<&str>) -> CompactionEnd {
    engine.emit(RunEvent::CompactionStart { reason });
    let tried = match event_hooks::blocks_compaction(engine, reason, instructions).await {
        Some(why) => Err(CompactionEnd::Failed(why)),
        None => try_twice(engine, reason, instructions).await,
    };
    let (result, end) = match tried {
        Ok(result) => (Some(result), CompactionEnd::Done),
        Err(end) => (None, end),
    };
    let error_message = match &end {
        CompactionEnd::Failed(why) => Some(why.clone()),
        CompactionEnd::Done | CompactionEnd::Aborted => None,
    };
    if end == CompactionEnd::Done
        && let Some(note) = accepted_plan::note(engine)
    {
        announce::record_external(engine, Arc::new(note));
    }
    let aborted = end == CompactionEnd::Aborted;
    let will_retry = reason == CompactionReason::Overflow && end == CompactionEnd::Done;
    engine.emit(RunEvent::CompactionEnd {
        reason,
        result: result.map(Box::new),
        aborted,
        will_retry,
        error_message,
    });
    if end == CompactionEnd::Done {
        announce::context_size(engine);
    }
    end
}

/// Makes at most two attempts: the second shows the model less and keeps nothing verbatim.
async fn try_twice(
    engine: &mut Engine,
    reason: CompactionReason,
    instructions: Option<&str>,
) -> Result<CompactionResult, CompactionEnd> {
    let failed = |why: &str| Err(CompactionEnd::Failed(why.to_owned()));
    let Some(model) = engine.config.model.clone() else { return failed("no model selected") };
    if !has_user_message(engine.config.session.tree()) {
        engine.load_all();
    }
    let before = total(engine);
    let bounds = Bounds::new(engine, &model, reason, before);
    let mut why = String::new();
    for again in [false, true] {
        let attempt = bounds.attempt(again);
        let Some(plan) = plan(engine.config.session.tree(), attempt, instructions) else {
            return failed(NOTHING_TO_COMPACT);
        };
        // The size of the kept part is known before asking: a summary would be paid for in vain.
        if let (Err(too_large), false) = (bounds.check(overhead(engine) + plan.kept), again) {
            why = too_large.into();
            continue;
        }
        let Some(asked) = summarize(engine, &model, plan.request.clone(), bounds.summary).await else {
            return Err(CompactionEnd::Aborted);
        };
        match asked {
            Ok(summary) => {
                let accepted = match summary.cut_off && !again {
                    true => Err("the summary was cut off".into()),
                    false => bounds.accept(&plan, &summary, overhead(engine)),
                };
                match accepted {
                    Ok(result) => return Ok(store(engine, &plan, result)),
                    Err(unfit) => why = unfit.into(),
                }
                session_usage::keep(engine, summary.usage);
            }
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

/// The size limits of a compaction, in tokens.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    before: u64,
    /// The largest context that is accepted afterwards.
    after: u64,
    /// The largest part of the conversation that stays verbatim.
    keep: u64,
    /// The longest transcript that the model is shown.
    transcript: u64,
    /// The longest summary.
    summary: u64,
}

impl Bounds {
    fn new(engine: &Engine, model: &Model, reason: CompactionReason, before: u64) -> Self {
        let limit = limit(engine, model);
        let settings = engine.config.compaction;
        let reserve = settings.reserve.min(model.context_window.max(2_048) / 2);
        let summary = (reserve * 4 / 5).max(1_024);
        let summary = if model.max_tokens == 0 { summary } else { summary.min(model.max_tokens) };
        let messages = before.saturating_sub(overhead(engine));
        let (after, transcript) = match reason {
            // The user may want a summary of a conversation that is shorter than its summary.
            CompactionReason::Manual => (limit, limit),
            CompactionReason::Threshold => (limit.min(before), limit),
            CompactionReason::Overflow => {
                let fits = limit.min(before.saturating_mul(3) / 4);
                (fits, fits)
            }
        };
        Bounds { before, after, keep: settings.keep.min(messages / 4), transcript, summary }
    }

    fn attempt(&self, again: bool) -> Attempt {
        let halved = |tokens: u64| if again { tokens / 2 } else { tokens };
        Attempt {
            keep: if again { Keep::Nothing } else { Keep::Tokens(self.keep) },
            shown: halved(self.transcript),
            verbatim: halved(self.after / 4),
            again,
        }
    }

    /// Checks that a context of that size is small enough, or says why it is not.
    fn check(&self, after: u64) -> Result<(), UserError> {
        if after <= self.after {
            return Ok(());
        }
        Err(format!("the result would still be about {after} tokens, more than the limit of {}", self.after)
            .into())
    }

    /// The result, if it is small enough.
    fn accept(&self, plan: &Plan, summary: &Summary, overhead: u64) -> Result<CompactionResult, UserError> {
        let text = plan.summary(&summary.text);
        let after = overhead + size::of_text(&text) + plan.kept;
        self.check(after)?;
        let first_kept_entry_id = plan.first_kept.as_deref().unwrap_or_default().to_owned();
        Ok(CompactionResult {
            summary: text,
            first_kept_entry_id,
            tokens_before: self.before,
            estimated_tokens_after: after,
            usage: (summary.usage.total_tokens > 0).then_some(summary.usage),
            details: Some(plan.touched.details()),
        })
    }
}

/// Records a compaction.
fn store(engine: &mut Engine, plan: &Plan, mut result: CompactionResult) -> CompactionResult {
    let kept = plan.first_kept.as_ref().map(Arc::as_ref);
    let (id, saved) = engine.config.session.append_compaction(kept, &result);
    engine.report_save_result(saved);
    if plan.first_kept.is_none() {
        result.first_kept_entry_id = id;
    }
    engine.refresh_system_prompt();
    result
}
