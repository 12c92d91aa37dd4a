//! Reports what a session had used when it was opened, so that a front end can show it from the
//! start. What comes after that, a front end counts itself.

use std::io;

use tokio::task::spawn_blocking;

use super::state::Engine;
use super::usage_count::UsageCount;
use crate::agent::protocol::event::AgentEvent;
use crate::agent::protocol::model::Api;
use crate::agent::session::usage::UsageSum;

/// Reports the usage of the session that was opened: at once, or when it is counted.
pub(crate) fn start(engine: &mut Engine) {
    engine.usage = UsageCount::default();
    if !engine.config.session.info().resumed {
        return;
    }
    let known = engine.config.session.usage();
    match engine.config.session.unread_file() {
        None => report(engine, known),
        Some(unread) => {
            let counting = Some(spawn_blocking(move || unread.usage()));
            engine.usage = UsageCount { known, counting };
            engine.emit(AgentEvent::SessionUsage { usage: None, priced: true });
        }
    }
}

/// Takes what the rest has used. If it cannot be read, what is known is reported.
pub(crate) fn take(engine: &mut Engine, counted: io::Result<UsageSum>) {
    let mut known = std::mem::take(&mut engine.usage.known);
    match counted {
        Ok(rest) => known.add_sum(rest),
        Err(error) => tracing::warn!(%error, "the usage of the session cannot be counted"),
    }
    report(engine, known);
}

fn report(engine: &mut Engine, sum: UsageSum) {
    let is_free = |(provider, id): &(String, String)| {
        let found = (engine.config.find_model)(provider, id);
        found.is_ok_and(|model| model.cost.is_some() || model.api == Api::Scripted)
    };
    let priced = sum.without_cost.iter().all(is_free);
    engine.emit(AgentEvent::SessionUsage { usage: Some(sum.total), priced });
}
