//! Reports the usage of a session before it was opened, for display from the start. Front ends count later
//! usage themselves.

use std::sync::Arc;

use serde_json::json;

use crate::engine::base::meter::Meter;
use crate::engine::base::spending::SessionSpending;
use crate::engine::state::Engine;
use crate::session::usage::UsageSum;
use tau_protocol::event::SessionEvent;
use tau_protocol::message::{Message, Usage};
use tau_protocol::model::Api;

/// Takes the usage of the opened session as its cost so far, and reports it: immediately, or after the survey of its unread
/// part. `missing` are results
/// that its file does not have.
pub(crate) fn start(engine: &mut Engine, missing: &[Arc<Message>]) {
    engine.usage = None;
    let mut known = engine.config.session.usage();
    missing.iter().for_each(|message| known.add_message(message));
    // What an earlier session has cost is not this one's.
    engine.meters.used = meter(engine, known.total.cost.total);
    if !engine.config.session.info().resumed && known == UsageSum::default() {
        return;
    }
    if engine.history.unsurveyed.is_none() {
        return report(engine, known);
    }
    engine.usage = Some(known);
    engine.emit(SessionEvent::SessionUsage { usage: None, priced: true });
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
    engine.meters.used.spend(&usage);
    keep(engine, usage);
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
