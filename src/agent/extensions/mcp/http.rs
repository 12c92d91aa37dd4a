//! Servers at an address (streamable HTTP), over tau's own HTTP client.
//!
//! It has tau's proxies and certificates and follows no redirects, so headers are sent to the configured
//! address only.

use std::collections::BTreeMap;
use std::error::Error;

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{StreamableHttpClientTransport, WorkerTransport};

use super::McpContext;
use super::oauth::client::{LoginClient, tokens};
use crate::provider::Headers;
use crate::provider::http::ClientError;
use crate::settings::mcp_servers::OauthClient;
use crate::settings::mcp_variables::{Forms, expand};
use tau_tools::user_error::UserError;

/// A connection to the server at `url`, established with the first message. The error is the reason, as part
/// of a sentence: an unset variable, or an invalid address or header.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    oauth: &OauthClient,
    around: &McpContext,
) -> Result<StreamableHttpClientTransport<impl StreamableHttpClient + use<>>, UserError> {
    let lookup = |name: &str| std::env::var(name).ok();
    let url = expand(url, Forms::Braces, &lookup)?;
    let header = |(name, value): (&String, &String)| Ok((name.clone(), expand(value, Forms::All, &lookup)?));
    let mut headers: BTreeMap<_, _> = headers.iter().map(header).collect::<Result<_, UserError>>()?;
    // Of a variable that is not set.
    headers.retain(|_, text| !text.is_empty());
    // No login is needed if this header is set.
    let logins = around.logins.as_ref().filter(|_| !has_authorization(&headers));
    let logins = logins.map(|store| tokens(&url, oauth, store, &around.http, &around.tasks)).transpose()?;
    let headers = Headers(headers.into_iter().collect());
    let (client, headers) = around.http.bare(&url, &headers).map_err(|failure| failure.message)?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .reinit_on_expired_session(true);
    Ok(WorkerTransport::with_client(LoginClient::new(client, logins), config))
}

/// Whether the headers include an authorization.
pub(super) fn has_authorization(headers: &BTreeMap<String, String>) -> bool {
    headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// The innermost source of an error: `Connection refused` rather than `error sending request`.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    match error.downcast_ref::<StreamableHttpError<ClientError>>() {
        Some(StreamableHttpError::Auth(AuthError::TokenRefreshFailed(text))) => return text.clone(),
        Some(StreamableHttpError::InsufficientScope(asked)) => {
            let scope = asked.required_scope.as_deref().unwrap_or("another scope");
            return format!("the login does not cover this: it takes {scope}; log in again");
        }
        _ => {}
    }
    // It does not expose its source.
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<ClientError>>()
    {
        current = error;
    }
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
