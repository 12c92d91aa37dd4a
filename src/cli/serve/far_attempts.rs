//! Attempts that an attached screen begins: the process of the session runs them and counts what they cost, whether or
//! not the screen stays.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::live::LiveSession;
use super::problem::Problem;
use crate::attempts::host::FarAttempts;
use crate::services::call::Call;
use tau_app::request::{ScreenReply, Ticket};
use tau_protocol::approval::PermissionMode;
use tau_protocol::attempt::{AttemptNews, AttemptOrder};
use tau_protocol::command::SessionCommand;
use tau_protocol::message::{Cost, Usage};

/// The longest time that a request waits for the end.
const PATIENCE: Duration = Duration::from_secs(20);
/// The refusal for attempts that have ended.
const GONE: &str =
    "the attempts have ended with the process of their session; /attempts lists what they have";

/// Begins attempts. Fails when their permission mode is above the highest of this server, or is plan: their command
/// runs unasked.
pub(super) fn begin(live: &Arc<LiveSession>, order: AttemptOrder) -> Result<ScreenReply, Problem> {
    let ceiling = live.read_facts(|facts, _| facts.mirror.mode_ceiling);
    order.mode.within(ceiling).map_err(Problem::refused)?;
    if order.mode == PermissionMode::Plan {
        return Err(Problem::refused(
            "attempts cannot change anything in plan mode, so their command does not run",
        ));
    }
    let services = live.services();
    if services.hosted.is_at_work() || matches!(*services.hosted.far.borrow(), FarAttempts::AtWork) {
        return Ok(ScreenReply::Failed("attempts are already running; /attempts shows them".into()));
    }
    let order = match services.host_order(order) {
        Ok(order) => order,
        Err(why) => return Ok(ScreenReply::Failed(why)),
    };
    services.hosted.far.send_replace(FarAttempts::AtWork);
    let (live, paths) = (Arc::clone(live), services.setup.lock().paths.clone());
    tokio::spawn(async move {
        let (sender, mut early) = mpsc::channel(1);
        let (asks, _) = mpsc::channel(1);
        let call = Call::new(Ticket::default(), sender, asks);
        let outcome = {
            let mut work = std::pin::pin!(services.hosted.run(&paths, order, &call));
            loop {
                tokio::select! {
                    biased;
                    Some((_, reply)) = early.recv() => {
                        if let ScreenReply::AttemptNews(news) = reply {
                            count(&live, news.dollars).await;
                        }
                    }
                    outcome = &mut work => break outcome,
                }
            }
        };
        if let Ok(news) = &outcome {
            count(&live, news.dollars).await;
        }
        let outcome = outcome.map(|news| AttemptNews { dollars: 0.0, ..news });
        services.hosted.far.send_replace(FarAttempts::Ended(outcome));
        live.is_free();
    });
    Ok(ScreenReply::AttemptNews(AttemptNews::default()))
}

/// Counts a cost in the session.
async fn count(live: &LiveSession, dollars: f64) {
    if dollars > 0.0 {
        let usage = Usage { cost: Cost { total: dollars, ..Cost::default() }, ..Usage::default() };
        // A session that has ended counts nothing.
        let _ = live.send(SessionCommand::AddUsage { usage }).await;
    }
}

/// Stops the attempts of a session that ends, and waits until it has counted them, but not for long.
pub(super) async fn end(live: &LiveSession) {
    let services = live.services();
    let mut far = services.hosted.far.subscribe();
    let is_over = |far: &FarAttempts| !matches!(far, FarAttempts::AtWork);
    let is_at_work = !is_over(&far.borrow());
    if is_at_work && services.hosted.stop() {
        let _ = tokio::time::timeout(PATIENCE, far.wait_for(is_over)).await;
    }
}

/// How the attempts of a session have ended; `None` if they are at work for some time yet.
pub(super) async fn end_of(live: &LiveSession) -> Option<ScreenReply> {
    let services = live.services();
    let mut far = services.hosted.far.subscribe();
    let is_over = |far: &FarAttempts| !matches!(far, FarAttempts::AtWork);
    let ended = tokio::time::timeout(PATIENCE, far.wait_for(is_over)).await.ok()?.ok()?.clone();
    match ended {
        FarAttempts::AtWork => None,
        FarAttempts::Unknown => Some(ScreenReply::Failed(GONE.into())),
        FarAttempts::Ended(Ok(news)) => Some(ScreenReply::AttemptNews(news)),
        FarAttempts::Ended(Err(why)) => Some(ScreenReply::Failed(why)),
    }
}
