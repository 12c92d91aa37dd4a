//! Logins at servers with OAuth 2.1, as MCP's authorization specifies.
//!
//! The user logs in once in the browser; tokens are then renewed without the user.
//!
//! The metadata of a server and its authorization server is found and checked by the crate `rmcp` (RFC 9728,
//! RFC 8414, OpenID), and so are registration (RFC 7591), PKCE, `resource` (RFC 8707) and `iss` (RFC 9207).
//! Parts: `addresses` (which may take part), `requests` (over tau's own HTTP client), `login` (from the
//! browser to tokens, whose return `catalogue::login::callback` awaits), `store` (the tokens on disk), `tokens` (using and
//! renewing them), `client` (requests with them).

mod addresses;
pub(super) mod client;
pub(super) mod login;
mod requests;
mod store;
mod tokens;

pub use login::{BrowserLogin, begin};
pub use store::{LoginState, LoginStore};
pub(super) use tokens::Tokens;

use oauth2::TokenResponse;
use rmcp::transport::auth::{AuthError, AuthorizationMetadata, OAuthTokenResponse, StoredCredentials};
use serde::{Deserialize, Serialize};

use crate::catalogue::login::without;
use crate::settings::mcp_servers::OauthClient;
use crate::settings::mcp_variables::{Forms, expand};
use tau_tools::user_error::UserError;

/// The result of a login: everything needed to renew its tokens.
#[derive(Clone, Serialize, Deserialize)]
struct Login {
    /// The resource of the tokens, as sent to the authorization server.
    resource: String,
    /// The secret of the client that was registered for this login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    /// The metadata of the authorization server.
    metadata: AuthorizationMetadata,
    /// The client, the tokens, and the time they were received.
    credentials: StoredCredentials,
}

impl Login {
    fn tokens(&self) -> Option<&OAuthTokenResponse> {
        self.credentials.token_response.as_ref()
    }

    /// The token for requests.
    fn access(&self) -> Option<String> {
        self.tokens().map(|tokens| tokens.access_token().secret().clone())
    }
}

tau_tools::debug_fields!(Login { resource });

/// The client that the user has registered, with the variables in it replaced.
#[derive(Clone, Default)]
struct OwnClient {
    id: Option<String>,
    secret: Option<String>,
}

impl OwnClient {
    /// The error is the reason, as part of a sentence that names an unset variable.
    fn new(oauth: &OauthClient) -> Result<Self, UserError> {
        let expanded = |text: &String| expand(text, Forms::All, &|name| std::env::var(name).ok());
        Ok(OwnClient {
            id: oauth.client_id.as_ref().map(expanded).transpose()?,
            secret: oauth.client_secret.as_ref().map(expanded).transpose()?,
        })
    }
}

/// The command that logs in to a server.
pub fn login_command(name: &str) -> String {
    mcp_command("login", name)
}

/// A command of `tau mcp` for a server, as a shell takes it.
pub fn mcp_command(action: &str, name: &str) -> String {
    let quote = if name.contains(' ') { "'" } else { "" };
    format!("tau mcp {action} {quote}{name}{quote}")
}

/// The error for a server that needs a login, as part of a sentence.
pub(super) fn needs_login(name: &str) -> String {
    format!("it needs a login; run `{}`", login_command(name))
}

/// Describes an error as part of a sentence, without these secrets.
fn error_text(error: &AuthError, secrets: &[&str]) -> String {
    let text = match error {
        AuthError::AuthorizationFailed(text)
        | AuthError::TokenExchangeFailed(text)
        | AuthError::TokenRefreshFailed(text)
        | AuthError::TokenRefreshRejected(text)
        | AuthError::MetadataError(text)
        | AuthError::OAuthError(text) => text.clone(),
        AuthError::RegistrationFailed(text) => format!("tau could not be registered as a client: {text}"),
        AuthError::DiscoveryRequestFailed { url, source } => format!("{url} cannot be read: {source}"),
        AuthError::PkceUnsupported => "its authorization server does not support PKCE with S256".to_owned(),
        other => other.to_string(),
    };
    without(&text, secrets)
}
