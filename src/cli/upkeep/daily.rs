//! Work of once a day, in the background of a screen: asks whether there is a newer version, and moves what is older
//! than the retention to the trash.
//!
//! Nothing starts before the screen has been idle for some seconds, and nothing at all if neither is wanted.

use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use super::PAUSE;
use super::due::Due;
use super::origin::Origin;
use super::release;
use super::retention::Old;
use tau_agent::provider::http::Http;
use tau_agent::settings::{Paths, Settings};

/// Says when the last run was.
const DAILY: Due = Due { file: "daily.json", interval: Duration::from_hours(24) };

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
        let due = tokio::task::spawn_blocking(move || DAILY.begin(&place)).await;
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

    #[tokio::test]
    async fn without_an_address_and_a_retention_nothing_is_started() {
        let paths = Paths::under(std::path::Path::new("/nonexistent"));
        let (sender, mut news) = mpsc::channel(1);
        start(&Settings::default(), &paths, sender);
        assert_eq!(news.recv().await, None);
    }
}
