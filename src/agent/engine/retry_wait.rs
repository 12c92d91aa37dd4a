//! The wait before a request is retried, which survives a restart.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::attend::attend_unless_stopped;
use super::state::Engine;
use crate::engine::base::clock::now;
use crate::engine::base::retry::Retries;
use tau_protocol::run::RetryMode;

/// The type of the entries that record until when a provider accepts no requests.
const QUOTA_ENTRY: &str = "tau.quotaWait";
/// Time between two looks at what was spent elsewhere: by helpers, or by other processes.
const LOOKS: Duration = Duration::from_secs(1);
/// Shorter waits are not recorded.
const KEPT_MS: u64 = 30_000;

/// Records in the session until when the provider accepts no requests, for the next start.
pub(crate) fn keep(engine: &mut Engine, delay_ms: u64) {
    let provider = engine.config.model.as_ref().map(|model| model.provider.clone());
    if engine.config.retry_mode != RetryMode::WaitForQuota || delay_ms < KEPT_MS {
        return;
    }
    let until = now().saturating_add(i64::try_from(delay_ms).unwrap_or(i64::MAX));
    let data = json!({ "provider": provider, "until": until });
    let kept = engine.config.session.append_custom(QUOTA_ENTRY, data);
    engine.report_save_result(kept);
}

/// The remaining milliseconds of a wait that an earlier run began on this branch.
pub(crate) fn remaining_wait(engine: &Engine) -> Option<u64> {
    if engine.config.retry_mode != RetryMode::WaitForQuota {
        return None;
    }
    let provider = &engine.config.model.as_ref()?.provider;
    let path = engine.config.session.tree().branch();
    let kept = path.iter().rev().find_map(|entry| entry.custom_data(QUOTA_ENTRY))?;
    let is_same = kept["provider"].as_str() == Some(provider);
    let left = u64::try_from(kept["until"].as_i64()?.saturating_sub(now())).unwrap_or(0);
    (is_same && left > 0).then_some(left)
}

/// The outcome of a wait.
pub(crate) enum WaitEnd {
    Elapsed,
    /// Money or tokens were used up elsewhere in the meantime: the request is not to be sent.
    Limited,
    /// The user ended the wait: the request has failed.
    GivenUp,
    /// The run is to stop.
    Stopped,
}

/// Waits before a retry while serving commands.
pub(crate) async fn wait(engine: &mut Engine, delay_ms: u64) -> WaitEnd {
    let given_up = CancellationToken::new();
    engine.current.retry_wait = given_up.clone();
    let meter = engine.meters.used.clone();
    let limited = async move {
        while meter.spent_limit().is_none() {
            tokio::time::sleep(LOOKS).await;
        }
    };
    let wait = async move {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay_ms)) => WaitEnd::Elapsed,
            () = given_up.cancelled() => WaitEnd::GivenUp,
            () = limited => WaitEnd::Limited,
        }
    };
    engine.goal.waits_for_provider = true;
    let end = attend_unless_stopped(engine, wait).await.unwrap_or(WaitEnd::Stopped);
    engine.goal.waits_for_provider = false;
    end
}

/// The retries of one request.
pub(crate) fn retries(engine: &Engine) -> Retries {
    let max = if engine.auto_retry { engine.config.max_retries } else { 0 };
    Retries::with_random_seed(max, engine.config.retry_mode)
}
