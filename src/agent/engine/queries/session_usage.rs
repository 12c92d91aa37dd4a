//! Reports the usage of a session before it was opened, for display from the start. Front ends count later
//! usage themselves.

use std::sync::Arc;

use serde_json::json;

use super::context_usage;
use crate::context::compaction::size;
use crate::engine::base::meter::Meter;
use crate::engine::base::spending::SessionSpending;
use crate::engine::state::Engine;
use crate::provider::ModelRequest;
use crate::provider::assemble::Assembler;
use crate::session::usage::UsageSum;
use tau_protocol::event::{NoticeLevel, SessionEvent};
use tau_protocol::message::{Message, Usage};
use tau_protocol::model::Api;
use tau_protocol::usage::helper_usage;

/// Takes the usage of the opened session as its cost so far, and reports it: immediately, or after the survey of its unread
/// part. `missing` are results
/// that its file does not have.
pub(crate) fn start(engine: &mut Engine, missing: &[Arc<Message>]) {
    engine.usage = None;
    let mut known = engine.config.session.usage();
    missing.iter().for_each(|message| known.add_message(message));
    let apart = engine.config.session.usage_apart(missing);
    known.add_sum(UsageSum { total: apart, ..UsageSum::default() });
    engine.apart = helper_total(missing, apart);
    // What an earlier session has cost is not this one's.
    let is_limited = engine.config.behavior.spending.session.is_some() && engine.config.helper.is_none();
    let elsewhere = if is_limited { engine.config.session.cost_elsewhere() } else { 0.0 };
    engine.meters.used = meter(engine, known.total.cost.total + elsewhere);
    if !engine.config.session.info().resumed && known == UsageSum::default() {
        return;
    }
    if engine.history.unsurveyed.is_none() {
        return report(engine, known);
    }
    engine.usage = Some(known);
    engine.emit(SessionEvent::SessionUsage { usage: None, priced: true });
}

/// The usage of helpers that these results name, and of those that continue without the session.
fn helper_total(results: &[Arc<Message>], mut apart: Usage) -> Usage {
    let used = results.iter().filter_map(|message| match message.as_ref() {
        Message::ToolResult(result) => helper_usage(&result.details),
        _ => None,
    });
    used.for_each(|usage| apart.add(&usage));
    apart
}

/// Counts what helpers of which no entry tells have used since they were counted last; `results` are not recorded yet.
pub(crate) fn count_apart(engine: &mut Engine, results: &[Arc<Message>]) {
    if results.is_empty() && engine.apart == Usage::default() {
        return;
    }
    let now = helper_total(results, engine.config.session.usage_apart(results));
    let usage = now.since(&engine.apart);
    if usage.total_tokens > 0 || usage.cost.total > 0.0 {
        engine.apart = now;
        engine.meters.used.add_before(usage.cost.total);
        engine.emit(SessionEvent::UsageAdded { usage });
    }
}

/// Adds the usage of the unread part, unless it was reported. If that part could not be read, the known usage
/// is reported.
pub(crate) fn add_unread_usage(engine: &mut Engine, unread: Option<UsageSum>) {
    let Some(mut known) = engine.usage.take() else { return };
    match unread {
        Some(unread) => {
            engine.meters.used.add_before(unread.total.cost.total);
            known.add_sum(unread);
        }
        None => tracing::warn!("the usage of the earlier part of the session is not known"),
    }
    report(engine, known);
}

/// The meter of the next run: of a helper its own, else one of the session, which has cost `before`.
pub(crate) fn meter(engine: &Engine, before: f64) -> Meter {
    let session = || {
        let limits = engine.config.behavior.spending.clone();
        Meter::of_session(SessionSpending::new(limits, before))
    };
    engine.config.helper.as_ref().map_or_else(session, |role| role.meter.clone())
}

/// Counts what was spent outside of the session; whoever spent it has recorded it for the limit of 24 hours.
pub(crate) fn add(engine: &mut Engine, usage: Usage) {
    engine.meters.used.count(&usage);
    keep(engine, usage);
}

/// Counts and keeps the usage of a request without an answer.
pub(crate) fn spend(engine: &mut Engine, usage: Usage) {
    meter_usage(engine, &usage);
    keep(engine, usage);
}

/// Counts the usage of a request, and tells the user, once, if limits depend on an estimate.
pub(crate) fn meter_usage(engine: &mut Engine, usage: &Usage) {
    engine.meters.used.spend(usage);
    if usage.estimated && engine.meters.used.tells_of_estimates() {
        let model = engine.config.model.as_ref().map(|model| model.id.clone()).unwrap_or_default();
        let text = format!("the provider has not said how many tokens {model} has used");
        engine.notice(NoticeLevel::Warning, text, Some("limits are held to an estimate from the texts"));
    }
}

/// Estimated tokens of a request.
pub(crate) fn of_request(request: &ModelRequest) -> u64 {
    let tools = request.tools.iter().map(context_usage::of_tool);
    size::of_text(&request.system) + tools.sum::<u64>() + size::of_messages(&request.messages)
}

/// Estimates the usage of an answer, after a request of `sent` tokens, if the provider has not reported it.
pub(crate) fn estimate_missing(answer: &mut Assembler, sent: u64) {
    if answer.usage().total_tokens == 0 && !answer.is_empty() {
        let received = size::of_message(&Message::Assistant(answer.snapshot()));
        answer.estimate(sent, received);
    }
}

/// Keeps the usage of a request that leaves nothing else in the session, and reports it. The meter has it.
pub(crate) fn keep(engine: &mut Engine, usage: Usage) {
    if usage == Usage::default() {
        return;
    }
    let saved = engine.config.session.append_usage(json!(usage));
    engine.report_save_result(saved);
    engine.emit(SessionEvent::UsageAdded { usage });
}

fn report(engine: &mut Engine, sum: UsageSum) {
    let is_free = |(provider, id): &(String, String)| {
        let found = (engine.config.find_model)(provider, id);
        found.is_ok_and(|model| model.cost.is_some() || model.api == Api::Scripted)
    };
    let priced = sum.without_cost.iter().all(is_free);
    engine.emit(SessionEvent::SessionUsage { usage: Some(sum.total), priced });
}
