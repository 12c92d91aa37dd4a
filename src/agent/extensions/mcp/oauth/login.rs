//! A login: from the server's metadata, through the browser, to tokens on disk.

use oauth2::TokenResponse;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials, VendorExtraTokenFields,
};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use url::Url;

use super::super::http::has_authorization;
use super::store::{LoginStore, Record, address};
use super::{Login, OwnClient, addresses, error_text, requests};
use crate::catalogue::login::callback::{Callback, Mark, PastedAddress, in_time, show_outcome};
use crate::provider::http::Network;
use crate::settings::mcp_servers::{McpServer, McpTransport, OauthClient};
use tau_tools::user_error::UserError;

/// The name under which tau registers itself.
const CLIENT_NAME: &str = "tau";
/// The path that the browser returns to.
const PATH: &str = "/callback";

/// A login that waits for the user. Dropping it ends it.
pub struct BrowserLogin {
    server: Url,
    /// The address that the user has to open.
    page: Url,
    /// The state parameter of answers to this login.
    state: String,
    callback: Callback,
    manager: AuthorizationManager,
    /// The store that the manager puts the tokens in.
    kept: InMemoryCredentialStore,
    metadata: AuthorizationMetadata,
    client_secret: Option<String>,
    resource: String,
    store: LoginStore,
}

/// Asks a server where to log in, registers tau there, and listens for the browser. The error is the reason a
/// login is not possible, as part of a sentence.
pub async fn begin(
    server: &McpServer,
    store: &LoginStore,
    network: Network,
) -> Result<BrowserLogin, UserError> {
    let url = address(server)?;
    let McpTransport::Http { headers, oauth, .. } = &server.transport else {
        return Err("it is a program".into());
    };
    if has_authorization(headers) {
        return Err(UserError::new("its `headers` set Authorization, which is used in place of a login")
            .remedy("remove it first"));
    }
    addresses::check_server(&url)?;
    let own = OwnClient::new(oauth)?;
    let mut manager = requests::manager(&url, &network).await?;
    let kept = InMemoryCredentialStore::new();
    manager.set_credential_store(kept.clone());
    let found = manager.resolve_metadata().await.map_err(|error| error_text(&error, &[]))?;
    if !found.source.is_discovered() {
        return Err("it does not say where to log in; if it takes a token, set it in `headers`".into());
    }
    let metadata = found.metadata;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for endpoint in endpoints.into_iter().chain(&metadata.registration_endpoint) {
        addresses::check_url(&url, endpoint)?;
    }
    manager.set_metadata(metadata.clone());
    let callback = Callback::listen(oauth.callback_port, "127.0.0.1", PATH).await;
    let callback = callback.map_err(|why| match oauth.callback_port {
        Some(_) => format!("{why}; change `callback_port`"),
        None => why.into(),
    })?;
    let client_secret = configure(&mut manager, oauth, own, &callback, &metadata).await?;
    let scopes = scopes(&manager, oauth).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let page = manager.get_authorization_url(&scopes).await.map_err(|error| error_text(&error, &[]))?;
    let page = addresses::check_url(&url, &page)?;
    let value = |wanted: &str| {
        let found = page.query_pairs().filter(|(name, _)| name == wanted).last();
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let (state, resource) = (value("state"), value("resource"));
    let store = store.clone();
    Ok(BrowserLogin {
        server: url,
        page,
        state,
        callback,
        manager,
        kept,
        metadata,
        client_secret,
        resource,
        store,
    })
}

/// The scopes to request.
async fn scopes(manager: &AuthorizationManager, oauth: &OauthClient) -> Vec<String> {
    match &oauth.scopes {
        Some(scopes) => scopes.clone(),
        None => manager.select_initial_scopes(&[]).await,
    }
}

/// Makes tau a client of the authorization server: the one that the user has registered, or a new one.
/// Returns the secret of a new one, if it has one.
async fn configure(
    manager: &mut AuthorizationManager,
    oauth: &OauthClient,
    own: OwnClient,
    callback: &Callback,
    metadata: &AuthorizationMetadata,
) -> Result<Option<String>, UserError> {
    let redirect = callback.address().as_str();
    if let Some(id) = own.id {
        let mut config = OAuthClientConfig::new(id, redirect);
        if let Some(secret) = own.secret {
            config = config.with_client_secret(secret);
        }
        manager.configure_client(config).map_err(|error| error_text(&error, &[]))?;
        return Ok(None);
    }
    if metadata.registration_endpoint.is_none() {
        return Err("its authorization server takes registered clients only; register tau there, and set \
                    `oauth = { client_id = \"…\" }`"
            .to_owned()
            .into());
    }
    let scopes = scopes(manager, oauth).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let registered = manager.register_client(CLIENT_NAME, redirect, &scopes).await;
    Ok(registered.map_err(|error| error_text(&error, &[]))?.client_secret)
}

impl BrowserLogin {
    /// The address that the user has to open in a browser.
    pub fn page(&self) -> &str {
        self.page.as_str()
    }

    /// Waits for the user to log in, and saves the tokens. `pasted` are final addresses of a browser on
    /// another machine. The error is the reason there are no tokens, as part of a sentence.
    pub async fn finish(mut self, pasted: &mut mpsc::Receiver<PastedAddress>) -> Result<(), UserError> {
        let mark = Mark::State(self.state.clone());
        in_time(async {
            let (code, issuer, visitor) = self.callback.code(&mark, pasted).await?;
            show_outcome(visitor, self.exchange(&code, issuer.as_deref()).await).await
        })
        .await
    }

    /// Exchanges a code for tokens, and saves them.
    async fn exchange(&self, code: &str, issuer: Option<&str>) -> Result<(), UserError> {
        let exchanged = self.manager.exchange_code_for_token_with_issuer(code, &self.state, issuer).await;
        let secrets = [code, self.client_secret.as_deref().unwrap_or_default()];
        exchanged.map_err(|error| format!("there are no tokens: {}", error_text(&error, &secrets)))?;
        let credentials = self.kept.load().await.map_err(|error| error_text(&error, &secrets))?;
        let credentials = plain(credentials.ok_or("there are no tokens")?)?;
        let login = Login {
            resource: self.resource.clone(),
            client_secret: self.client_secret.clone(),
            metadata: self.metadata.clone(),
            credentials,
        };
        let record = Record { url: self.server.to_string(), is_needed: false, login: Some(login) };
        let _lock = self.store.lock(&self.server).await?;
        let store = self.store.clone();
        spawn_blocking(move || store.write(&record)).await.map_err(UserError::of)?
    }
}

/// The part of an answer that is saved: the tokens that tau uses, and nothing else.
fn plain(mut credentials: StoredCredentials) -> Result<StoredCredentials, UserError> {
    let tokens = credentials.token_response.as_mut().ok_or("there are no tokens")?;
    tokens.set_extra_fields(VendorExtraTokenFields::default());
    let access = tokens.access_token().secret();
    if access.is_empty() || !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the server's token cannot be used in a header".into());
    }
    Ok(credentials)
}
