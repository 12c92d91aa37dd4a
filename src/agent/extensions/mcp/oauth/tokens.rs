//! The tokens of a server: read on demand, renewed before they expire or when rejected.
//!
//! A refresh token can often be used only once. So a lock is held from reading it to saving its replacement,
//! other processes that waited for the lock use the saved result, and nothing aborts a renewal half-way.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::TokenResponse;
use parking_lot::Mutex;
use rmcp::transport::auth::{AuthError, CredentialStore, InMemoryCredentialStore, OAuthClientConfig};
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::spawn_blocking;
use tokio_util::task::TaskTracker;
use url::Url;

use super::store::{LoginStore, Record};
use super::{Login, OwnClient, error_text, requests};
use crate::provider::http::Http;
use tau_tools::user_error::UserError;

/// The time before expiry at which tokens are renewed; half their life, if that is less.
const BEFORE: Duration = Duration::from_secs(60);

/// The tokens of one server.
pub(in super::super) struct Tokens {
    url: Url,
    client: OwnClient,
    store: LoginStore,
    http: Arc<Http>,
    /// Renewals run here, so that they complete even if they are no longer awaited.
    tasks: TaskTracker,
    /// The login that was last read.
    held: AsyncMutex<Option<Login>>,
    /// Whether a login was needed when the server was last used, as saved.
    noted: Mutex<Option<bool>>,
}

/// The reason for a renewal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// They expire soon, or have expired.
    Expiring,
    /// The server did not accept them.
    Rejected,
}

/// The result of a renewal.
enum RenewalOutcome {
    /// New tokens.
    Login(Box<Login>),
    /// A new login is needed; the existing tokens cannot be renewed.
    NotRenewable,
    /// A new login is needed: the authorization server has refused the renewal.
    Refused,
}

impl Tokens {
    pub(super) fn new(
        url: Url,
        client: OwnClient,
        store: LoginStore,
        http: Arc<Http>,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        let (held, noted) = (AsyncMutex::default(), Mutex::default());
        Arc::new(Tokens { url, client, store, http, tasks, held, noted })
    }

    /// The token for the next request; `None` without a login. The error is the reason, as part of a
    /// sentence: the saved login cannot be used, or the token has expired and cannot be renewed now.
    pub(super) async fn access(self: &Arc<Self>) -> Result<Option<String>, UserError> {
        let mut held = self.held.lock().await;
        if held.is_none() {
            *held = self.read().await?;
        }
        let Some(access) = held.as_ref().and_then(Login::access) else { return Ok(None) };
        if !held.as_ref().is_some_and(|login| is_expiring(login, BEFORE)) {
            return Ok(Some(access));
        }
        drop(held);
        self.renew(access, Why::Expiring).await
    }

    /// Another token after the server rejected this one; `None` if a new login is needed.
    pub(super) async fn instead_of(self: &Arc<Self>, rejected: String) -> Result<Option<String>, UserError> {
        self.renew(rejected, Why::Rejected).await
    }

    /// Saves whether the server needs a login, if that has changed.
    pub(super) async fn note(&self, is_needed: bool) {
        let noted = || self.noted.lock();
        if *noted() == Some(is_needed) {
            return;
        }
        match self.save_note(is_needed).await {
            Ok(()) => *noted() = Some(is_needed),
            // It only affects lists.
            Err(error) => tracing::debug!(%error, "cannot save whether a login is needed"),
        }
    }

    async fn save_note(&self, is_needed: bool) -> Result<(), UserError> {
        let is_news =
            |record: &Option<Record>| record.as_ref().is_some_and(|record| record.is_needed) != is_needed;
        // Servers that need no login get no file.
        if !is_news(&self.record().await?) {
            return Ok(());
        }
        let _lock = self.store.lock(&self.url).await?;
        let record = self.record().await?;
        if !is_news(&record) {
            return Ok(());
        }
        self.save(Record {
            url: self.url.to_string(),
            is_needed,
            login: record.and_then(|record| record.login),
        })
        .await
    }

    async fn record(&self) -> Result<Option<Record>, UserError> {
        let (store, url) = (self.store.clone(), self.url.clone());
        spawn_blocking(move || store.read(&url)).await.map_err(UserError::of)?
    }

    async fn save(&self, record: Record) -> Result<(), UserError> {
        let store = self.store.clone();
        spawn_blocking(move || store.write(&record)).await.map_err(UserError::of)?
    }

    async fn read(&self) -> Result<Option<Login>, UserError> {
        Ok(self.record().await?.and_then(|record| record.login))
    }

    async fn write(&self, login: Option<Login>) -> Result<(), UserError> {
        self.save(Record { url: self.url.to_string(), is_needed: login.is_none(), login }).await
    }

    async fn renew(self: &Arc<Self>, old: String, why: Why) -> Result<Option<String>, UserError> {
        let this = Arc::clone(self);
        let renewing = self.tasks.spawn(async move { this.renew_to_the_end(&old, why).await });
        renewing.await.map_err(|_| "the renewal of its tokens was stopped".to_owned())?
    }

    async fn renew_to_the_end(&self, old: &str, why: Why) -> Result<Option<String>, UserError> {
        let mut held = self.held.lock().await;
        // A concurrent request may have done it.
        if let Some(access) = held.as_ref().and_then(|login| another(login, old)) {
            return Ok(Some(access));
        }
        let _lock = self.store.lock(&self.url).await?;
        *held = self.read().await?;
        let Some(login) = held.as_ref() else { return Ok(None) };
        // So may another tau.
        if let Some(access) = another(login, old) {
            return Ok(Some(access));
        }
        let is_usable = why == Why::Expiring && !is_expiring(login, Duration::ZERO);
        match self.request_tokens(login).await {
            Ok(RenewalOutcome::Login(login)) => {
                let access = login.access();
                *held = Some(*login.clone());
                self.write(Some(*login)).await?;
                Ok(access)
            }
            // It is used for as long as it is valid.
            Ok(RenewalOutcome::NotRenewable) if is_usable => Ok(Some(old.to_owned())),
            Ok(RenewalOutcome::NotRenewable) => {
                *held = None;
                Ok(None)
            }
            Ok(RenewalOutcome::Refused) => {
                *held = None;
                self.write(None).await?;
                Ok(None)
            }
            // There is still time to try again.
            Err(_) if is_usable => Ok(Some(old.to_owned())),
            Err(error) => Err(error),
        }
    }

    /// Requests new tokens from the authorization server.
    async fn request_tokens(&self, login: &Login) -> Result<RenewalOutcome, UserError> {
        let Some(renewal) = login.tokens().and_then(|tokens| tokens.refresh_token()) else {
            return Ok(RenewalOutcome::NotRenewable);
        };
        let id = self.client.id.clone().unwrap_or_else(|| login.credentials.client_id.clone());
        let client_secret = self.client.secret.clone().or_else(|| login.client_secret.clone());
        let failed = |error: &AuthError| {
            let secrets = [renewal.secret().as_str(), client_secret.as_deref().unwrap_or_default()];
            format!("its tokens cannot be renewed: {}", error_text(error, &secrets))
        };
        let mut manager = requests::manager(&self.url, self.http.network()).await?;
        if login.resource != self.url.as_str() {
            // The resource of the tokens is found with the metadata, and cannot be set.
            manager.resolve_metadata().await.map_err(|error| failed(&error))?;
        }
        manager.set_metadata(login.metadata.clone());
        let mut config = OAuthClientConfig::new(id, self.url.as_str());
        if let Some(secret) = &client_secret {
            config = config.with_client_secret(secret);
        }
        manager.configure_client(config).map_err(|error| failed(&error))?;
        let kept = InMemoryCredentialStore::new();
        kept.save(login.credentials.clone()).await.map_err(|error| failed(&error))?;
        manager.set_credential_store(kept.clone());
        match manager.refresh_token().await {
            Ok(_) => {}
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                return Ok(RenewalOutcome::Refused);
            }
            // The client that was registered for the login is no longer known.
            Err(AuthError::TokenRefreshFailed(text)) if text.contains("invalid_client") => {
                return Ok(RenewalOutcome::Refused);
            }
            Err(error) => return Err(failed(&error).into()),
        }
        let credentials = kept.load().await.map_err(|error| failed(&error))?;
        let credentials = credentials.ok_or("its tokens cannot be renewed")?;
        Ok(RenewalOutcome::Login(Box::new(Login { credentials, ..login.clone() })))
    }
}

/// The token of a login, if it is not `old` and can be used for a while.
fn another(login: &Login, old: &str) -> Option<String> {
    let access = login.access()?;
    (access != old && !is_expiring(login, BEFORE)).then_some(access)
}

/// Whether the tokens expire within that time; those without an expiry do not.
fn is_expiring(login: &Login, within: Duration) -> bool {
    let (Some(tokens), Some(received)) = (login.tokens(), login.credentials.token_received_at) else {
        return false;
    };
    let Some(life) = tokens.expires_in() else { return false };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.saturating_sub(Duration::from_secs(received));
    life.saturating_sub(age) <= within.min(life / 2)
}
