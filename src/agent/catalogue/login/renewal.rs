//! Renews the tokens of logins: before they expire, or when the provider refused them.
//!
//! A refresh token can often be used only once. So a lock is held from reading it to saving its replacement, and
//! other processes that waited for the lock use the saved result. A renewal has its own thread, and the process waits
//! for it before it ends: nothing aborts it half-way. None begins while its result could not be saved.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::requests::{NoTokens, Requests, now};
use super::rows::Renewal;
use super::{LoginPlace, LoginRow, LoginTokens};
use crate::catalogue::auth_file::AuthFile;
use crate::provider::http::Http;
use crate::provider::{Failure, FailureKind};
use crate::secrets::Secret;
use crate::settings::private_files::SharedFile;
use tau_tools::paths::reason;
use tau_tools::user_error::UserError;

/// The longest wait for another tau that renews tokens; its requests have shorter limits.
const LOCK_WAIT: Duration = Duration::from_secs(45);

/// Renews what `auth.json` holds.
pub(crate) struct Renewals {
    file: AuthFile,
    /// The lock of renewals. That of the file itself is held only while it is written.
    lock: SharedFile,
    http: Arc<Http>,
    /// Tokens that could not be saved, by provider, with the spent refresh token that the file still has.
    unsaved: Mutex<HashMap<&'static str, (String, LoginTokens)>>,
}

/// The renewals of this process that have spent a refresh token and not saved its replacement yet.
#[derive(Default)]
struct OpenRenewals {
    count: usize,
    /// The process ends: no other begins.
    is_ending: bool,
}

static OPEN: Mutex<OpenRenewals> = Mutex::new(OpenRenewals { count: 0, is_ending: false });
static FINISHED: Condvar = Condvar::new();

/// Lets no renewal of a login begin any more, and waits at most `longest` for those that have begun; returns whether
/// all are finished. Blocks.
pub fn finish_renewals(longest: Duration) -> bool {
    let mut open = OPEN.lock();
    open.is_ending = true;
    !FINISHED.wait_while_for(&mut open, |open| open.count > 0, longest).timed_out()
}

/// A renewal that the end of the process waits for.
struct Spending;

impl Spending {
    /// `None` while the process ends.
    fn begin() -> Option<Self> {
        let mut open = OPEN.lock();
        (!open.is_ending).then(|| {
            open.count += 1;
            Spending
        })
    }
}

impl Drop for Spending {
    fn drop(&mut self) {
        OPEN.lock().count -= 1;
        FINISHED.notify_all();
    }
}

/// The login whose tokens are used.
#[derive(Clone)]
pub(crate) struct LoginOf {
    pub(crate) row: &'static LoginRow,
    pub(crate) place: LoginPlace,
}

impl Renewals {
    pub(crate) fn new(file: AuthFile, lock: SharedFile, http: Arc<Http>) -> Arc<Self> {
        Arc::new(Renewals { file, lock, http, unsaved: Mutex::default() })
    }

    /// The tokens that this process knows in place of these, which are in the file.
    fn latest(&self, provider: &str, stored: &LoginTokens) -> LoginTokens {
        let unsaved = self.unsaved.lock();
        let newer = unsaved.get(provider).filter(|(spent, _)| *spent == stored.refresh);
        newer.map_or(stored, |(_, tokens)| tokens).clone()
    }

    /// The token for the next request, renewed if it expires soon. Fails only when it has expired and cannot
    /// be renewed.
    pub(crate) async fn access(
        self: &Arc<Self>,
        login: LoginOf,
        tokens: LoginTokens,
    ) -> Result<Option<Secret>, Failure> {
        let row = login.row;
        let tokens = self.latest(row.provider, &tokens);
        if !tokens.is_expiring(now()) {
            return Ok(Some(Secret::new(&tokens.access)));
        }
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
        let (sender, renewed) = oneshot::channel();
        // Runs to its end when it is no longer awaited, and when the runtime of the caller ends.
        let started = std::thread::Builder::new().name("renewal".to_owned()).spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            // Nobody may be waiting any more.
            let _ = sender.send(match runtime {
                Ok(runtime) => runtime.block_on(this.renew_to_the_end(&login, &old)),
                Err(error) => Err(NoTokens::Failed(UserError::of(error))),
            });
        });
        let renewed = match started {
            Ok(_) => renewed.await.unwrap_or_else(|_| Err(NoTokens::Failed("it was stopped".into()))),
            Err(error) => Err(NoTokens::Failed(UserError::of(error))),
        };
        renewed.map_err(|error| (error, row))
    }

    async fn renew_to_the_end(&self, login: &LoginOf, old: &str) -> Result<Option<Secret>, NoTokens> {
        let _lock = self.lock.lock_within(LOCK_WAIT).await.map_err(|error| {
            NoTokens::Failed(format!("cannot wait for another tau that renews the tokens: {error}").into())
        })?;
        let provider = login.row.provider;
        let stored = self.file.login(provider).map_err(|error| NoTokens::Failed(UserError::of(error)))?;
        let Some(stored) = stored else { return Ok(None) };
        let held = self.latest(provider, &stored);
        // Another process has renewed them, or the user has logged in again.
        if held.access != old && !held.is_expiring(now()) {
            return Ok(Some(Secret::new(&held.access)));
        }
        // The connections belong to this thread's runtime.
        let http = Arc::new(Http::new(self.http.network().clone()));
        let requests = Requests::new(login.row, &login.place, &http).map_err(NoTokens::Failed)?;
        match login.row.renewal {
            Renewal::RefreshToken => {
                self.file.check_writable().map_err(|error| NoTokens::Unsavable(self.unwritable(&error)))?;
            }
            // It spends nothing.
            Renewal::Copilot(_) => {}
        }
        let spending = Spending::begin();
        let _spending = spending.ok_or_else(|| NoTokens::Failed("tau is ending".into()))?;
        let renewed = requests.renew_tokens(&held).await?;
        self.save(provider, stored.refresh, &renewed);
        Ok(Some(Secret::new(&renewed.access)))
    }

    /// Saves tokens in place of those in the file, whose refresh token was `spent`. If that fails, this process alone
    /// knows them. Blocks.
    fn save(&self, provider: &'static str, spent: String, renewed: &LoginTokens) {
        let saved = self.file.change(|stored| {
            let is_same = stored.get(provider).and_then(LoginTokens::of_entry);
            if is_same.is_some_and(|tokens| tokens.refresh == spent) {
                stored.insert(provider.to_owned(), renewed.entry());
            }
        });
        let mut unsaved = self.unsaved.lock();
        match saved {
            Ok(()) => drop(unsaved.remove(provider)),
            Err(error) => {
                tracing::error!(%error, provider, "cannot save the renewed tokens");
                unsaved.insert(provider, (spent, renewed.clone()));
            }
        }
    }

    fn unwritable(&self, error: &io::Error) -> String {
        format!("{} cannot be written ({})", self.file.path().display(), reason(error))
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
        NoTokens::Unsavable(why) => {
            let text = format!("the login for {} has expired and was not renewed: {why}", row.provider);
            Failure::new(FailureKind::Config, text)
                .hint("make that file and its folder writable, then try again")
        }
        NoTokens::Failed(why) => {
            let text = format!("the login for {} could not be renewed: {why}", row.provider);
            Failure::new(FailureKind::Network, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::http::Network;
    use crate::settings::Paths;

    fn tokens(access: &str, refresh: &str) -> LoginTokens {
        LoginTokens::of_entry(&json!({"type": "oauth", "access": access, "refresh": refresh})).unwrap()
    }

    #[test]
    fn tokens_that_could_not_be_saved_are_known_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::under(folder.path());
        let path = paths.config.join("auth.json");
        std::fs::create_dir_all(&path).unwrap();
        let file = AuthFile::new(paths.shared_file(path.clone()));
        let lock = paths.shared_file(paths.config.join("auth.json.renewing"));
        let renewals = Renewals::new(file, lock, Arc::new(Http::new(Network::default())));
        let (old, new) = (tokens("a1", "r1"), tokens("a2", "r2"));
        let latest = |stored: &LoginTokens| renewals.latest("kimi-coding", stored).access;
        renewals.save("kimi-coding", "r1".to_owned(), &new);
        assert_eq!((latest(&old), latest(&tokens("a9", "r9"))), ("a2".to_owned(), "a9".to_owned()));
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, json!({"kimi-coding": old.entry()}).to_string()).unwrap();
        renewals.save("kimi-coding", "r1".to_owned(), &new);
        let stored = renewals.file.login("kimi-coding").unwrap().unwrap();
        assert_eq!((stored.access.as_str(), latest(&old).as_str()), ("a2", "a1"));
    }
}
