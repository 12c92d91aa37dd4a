//! Renews the tokens of logins: before they expire, or when the provider refused them.
//!
//! A refresh token can often be used only once. So a lock is held from reading it to saving its replacement,
//! other processes that waited for the lock use the saved result, and nothing aborts a renewal half-way.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::requests::{NoTokens, Requests, now};
use super::{LoginPlace, LoginRow, LoginTokens};
use crate::catalogue::auth_file::AuthFile;
use crate::provider::http::Http;
use crate::provider::{Failure, FailureKind};
use crate::secrets::Secret;
use crate::settings::private_files::SharedFile;

/// The longest wait for another tau that renews tokens; its requests have shorter limits.
const LOCK_WAIT: Duration = Duration::from_secs(45);

/// Renews what `auth.json` holds.
pub(crate) struct Renewals {
    file: AuthFile,
    /// The lock of renewals. That of the file itself is held only while it is written.
    lock: SharedFile,
    http: Arc<Http>,
}

/// The login whose tokens are used.
#[derive(Clone)]
pub(crate) struct LoginOf {
    pub(crate) row: &'static LoginRow,
    pub(crate) place: LoginPlace,
}

impl Renewals {
    pub(crate) fn new(file: AuthFile, lock: SharedFile, http: Arc<Http>) -> Arc<Self> {
        Arc::new(Renewals { file, lock, http })
    }

    /// The token for the next request, renewed if it expires soon. Fails only when it has expired and cannot
    /// be renewed.
    pub(crate) async fn access(
        self: &Arc<Self>,
        login: LoginOf,
        tokens: LoginTokens,
    ) -> Result<Option<Secret>, Failure> {
        if !tokens.is_expiring(now()) {
            return Ok(Some(Secret::new(&tokens.access)));
        }
        let row = login.row;
        match self.renew(login, tokens.access.clone()).await {
            // It can still be used.
            Err((error, _)) if !tokens.has_expired(now()) => {
                tracing::warn!(why = error.reason(), provider = row.provider, "cannot renew the tokens");
                Ok(Some(Secret::new(&tokens.access)))
            }
            renewed => renewed.map_err(|(error, row)| failure(error, row)),
        }
    }

    /// Another token after the provider refused this one; `None` if there is no login any more. Fails when it
    /// cannot be renewed.
    pub(crate) async fn instead_of(
        self: &Arc<Self>,
        login: LoginOf,
        refused: &Secret,
    ) -> Result<Option<Secret>, Failure> {
        let renewed = self.renew(login, refused.expose().to_owned()).await;
        renewed.map_err(|(error, row)| failure(error, row))
    }

    async fn renew(
        self: &Arc<Self>,
        login: LoginOf,
        old: String,
    ) -> Result<Option<Secret>, (NoTokens, &'static LoginRow)> {
        let (this, row) = (Arc::clone(self), login.row);
        // Runs on when it is no longer awaited.
        let renewing = tokio::spawn(async move { this.renew_to_the_end(&login, &old).await });
        let renewed = renewing.await.unwrap_or_else(|_| Err(NoTokens::Failed("it was stopped".into())));
        renewed.map_err(|error| (error, row))
    }

    async fn renew_to_the_end(&self, login: &LoginOf, old: &str) -> Result<Option<Secret>, NoTokens> {
        let _lock = self.lock.lock_within(LOCK_WAIT).await.map_err(|error| {
            NoTokens::Failed(format!("cannot wait for another tau that renews the tokens: {error}").into())
        })?;
        let provider = login.row.provider;
        let held = self.file.login(provider).map_err(|error| NoTokens::Failed(error.to_string().into()))?;
        let Some(held) = held else { return Ok(None) };
        // Another process has renewed them, or the user has logged in again.
        if held.access != old && !held.is_expiring(now()) {
            return Ok(Some(Secret::new(&held.access)));
        }
        let requests = Requests::new(login.row, &login.place, &self.http).map_err(NoTokens::Failed)?;
        let renewed = requests.renew_tokens(&held).await?;
        let (file, entry, used) = (self.file.clone(), renewed.entry(), held.refresh);
        let saving = spawn_blocking(move || {
            file.change(|stored| {
                let is_same = stored.get(provider).and_then(LoginTokens::of_entry);
                if is_same.is_some_and(|tokens| tokens.refresh == used) {
                    stored.insert(provider.to_owned(), entry);
                }
            })
        });
        let saved = saving.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        // The new token works all the same; without it the old refresh token may be lost.
        if let Err(error) = saved {
            tracing::error!(%error, provider, "cannot save the renewed tokens");
        }
        Ok(Some(Secret::new(&renewed.access)))
    }
}

fn failure(error: NoTokens, row: &LoginRow) -> Failure {
    let again = format!("log in again with `tau login {}` or /login", row.alias);
    match error {
        NoTokens::Refused(why) => {
            let text = format!("the login for {} cannot be renewed: {why}", row.provider);
            Failure::new(FailureKind::Auth, text).hint(again)
        }
        NoTokens::Denied(why) => {
            let text = format!("your account may not use {}: {why}", row.provider);
            Failure::new(FailureKind::Auth, text)
        }
        NoTokens::Failed(why) => {
            let text = format!("the login for {} could not be renewed: {why}", row.provider);
            Failure::new(FailureKind::Network, text)
        }
    }
}
