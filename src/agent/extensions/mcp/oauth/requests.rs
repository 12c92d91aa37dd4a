//! The requests of a login, over tau's own HTTP client: its proxies, its certificates, and no redirects.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthorizationManager, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use url::Url;

use super::{addresses, said};
use crate::agent::provider::http::Http;

/// Largest document or answer of an authorization server, in bytes.
const LARGEST: usize = 256 * 1024;
/// Longest wait for one answer.
const WITHIN: Duration = Duration::from_secs(30);

/// Sends requests to addresses that may take part in the login at `server`.
struct Requests {
    http: Arc<Http>,
    server: Url,
}

impl OAuthHttpClient for Requests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = request.request;
            let failed = |text: String| OAuthHttpClientError::from(text);
            addresses::checked(&self.server, &request.uri().to_string()).map_err(failed)?;
            self.http.exchange(request, LARGEST, WITHIN).await.map_err(|failure| failed(failure.message))
        })
    }
}

/// What speaks with the authorization server of `server`.
///
/// # Errors
/// A part of a sentence.
pub(super) async fn manager(server: &Url, http: &Arc<Http>) -> Result<AuthorizationManager, String> {
    let requests = Requests { http: Arc::clone(http), server: server.clone() };
    AuthorizationManager::new_with_oauth_http_client(server.as_str(), Arc::new(requests))
        .await
        .map_err(|error| said(&error, &[]))
}
