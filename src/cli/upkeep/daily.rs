//! Work of once a day, in the background of a screen: asks whether there is a newer version, and moves what is older
//! than the retention to the trash.
//!
//! Nothing starts before the screen has been idle for some seconds, and nothing at all if neither is wanted.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::PAUSE;
use super::origin::Origin;
use super::release;
use super::retention::Old;
use tau_agent::provider::http::Http;
use tau_agent::settings::private_files::{read_capped, write_private};
use tau_agent::settings::{Paths, Settings};

/// The time between two runs, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// The file in the state folder that says when the last run was.
const FILE: &str = "daily.json";
/// The size limit of the file, in bytes.
const MAX_BYTES: u64 = 4 * 1024;

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct LastRun {
    /// Milliseconds since 1970.
    at: i64,
}

/// Starts the work, if any is wanted; it sends messages for the user. Must be called in a runtime.
pub(crate) fn start(settings: &Settings, paths: &Paths, news: mpsc::Sender<String>) {
    let address = release::address(settings).filter(|_| settings.update_check());
    if address.is_none() && settings.retention() == 0 {
        return;
    }
    let (settings, paths) = (settings.clone(), paths.clone());
    tokio::spawn(async move {
        tokio::time::sleep(PAUSE).await;
        let place = paths.clone();
        let due = tokio::task::spawn_blocking(move || is_due(&place)).await;
        if !due.unwrap_or(false) {
            return;
        }
        if let Some(address) = address
            && let Some(text) = newer(&settings, &address).await
        {
            let _ = news.send(text).await;
        }
        let discarded = tokio::task::spawn_blocking(move || {
            Old::find(&settings, &paths, SystemTime::now()).discard(settings.retention())
        });
        if let Ok(Some(text)) = discarded.await {
            let _ = news.send(text).await;
        }
    });
}

/// Whether the last run was a day ago. Notes this one, before it begins, so that a failure is not repeated at every
/// start, and two screens do not both run.
fn is_due(paths: &Paths) -> bool {
    let file = paths.shared_file(paths.state.join(FILE));
    let Ok(_held) = file.lock() else { return false };
    let now = jiff::Timestamp::now().as_millisecond();
    let last: LastRun = read_capped(file.path(), MAX_BYTES)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    // A clock that was set back does not stop it for longer than a day.
    if (0..DAY).contains(&now.saturating_sub(last.at)) {
        return false;
    }
    let run = serde_json::to_vec(&LastRun { at: now }).unwrap_or_default();
    write_private(file.path(), &run).is_ok()
}

/// The message about a newer version; nothing if this one is the newest or the server does not answer.
async fn newer(settings: &Settings, address: &str) -> Option<String> {
    let http = Http::new(settings.network());
    let version = match release::newest(&http, address).await {
        Ok(release) if release.file().is_none() => return None,
        Ok(release) => release.version,
        Err(error) => {
            tracing::info!(%error, "cannot check for a newer version");
            return None;
        }
    };
    let own = release::own_version()?;
    let command = Origin::here().update_command();
    release::is_update(&version, &own)
        .then(|| format!("tau {version} is available, you have {own}; to update: {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_run() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        assert!(is_due(&paths) && !is_due(&paths));
        let file = paths.state.join(FILE);
        let now = jiff::Timestamp::now().as_millisecond();
        for (at, due) in [(now - DAY + 60_000, false), (now - DAY - 1, true), (now + 60_000, true)] {
            std::fs::write(&file, serde_json::to_vec(&LastRun { at }).unwrap()).unwrap();
            assert_eq!(is_due(&paths), due, "{at}");
        }
        std::fs::write(&file, "{").unwrap();
        assert!(is_due(&paths), "a damaged file counts as none");
    }

    #[tokio::test]
    async fn without_an_address_and_a_retention_nothing_is_started() {
        let paths = Paths::under(std::path::Path::new("/nonexistent"));
        let (sender, mut news) = mpsc::channel(1);
        start(&Settings::default(), &paths, sender);
        assert_eq!(news.recv().await, None);
    }
}
