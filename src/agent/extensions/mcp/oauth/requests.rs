//! Sends the requests of a login over tau's own HTTP client, without redirects.
//!
//! Proxies and certificates are those of the client. The addresses of a host name are checked when it is
//! resolved for the connection.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthorizationManager, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use url::Url;

use super::{addresses, error_text};
use crate::provider::http::Network;
use crate::provider::http::guarded::{Guard, GuardedHttp, system_lookup};
use tau_tools::user_error::UserError;

/// The maximum size of a document or answer of an authorization server, in bytes.
const MAX_SIZE: usize = 256 * 1024;
/// The time limit of an answer.
const WITHIN: Duration = Duration::from_secs(30);

/// Sends requests to addresses that may take part in the login at `server`.
struct Requests {
    http: GuardedHttp,
    server: Url,
}

impl OAuthHttpClient for Requests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = request.request;
            let failed = |error: UserError| OAuthHttpClientError::from(String::from(error));
            addresses::check_url(&self.server, &request.uri().to_string()).map_err(failed)?;
            self.http
                .exchange(request, MAX_SIZE, WITHIN)
                .await
                .map_err(|failure| failed(failure.message.into()))
        })
    }
}

/// The manager of the authorization server of `server`.
pub(super) async fn manager(server: &Url, network: &Network) -> Result<AuthorizationManager, UserError> {
    let lookup = system_lookup();
    let own = server.domain().map(|name| lookup(name.to_owned()));
    let at = match own {
        Some(found) => found.await.unwrap_or_default(),
        None => Vec::new(),
    };
    let of = server.clone();
    let guard: Guard = Arc::new(move |host, address| addresses::admits(&of, &at, host, address));
    let http = GuardedHttp::new(network.clone(), guard, lookup);
    let requests = Requests { http, server: server.clone() };
    AuthorizationManager::new_with_oauth_http_client(server.as_str(), Arc::new(requests))
        .await
        .map_err(|error| error_text(&error, &[]).into())
}
