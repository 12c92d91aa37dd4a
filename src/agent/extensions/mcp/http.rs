//! Servers at an address (streamable HTTP), over tau's own HTTP client: its proxies, its certificates, and no
//! redirects, so that what is in headers goes to the configured address only.

use std::collections::BTreeMap;
use std::error::Error;

use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{StreamableHttpClientTransport, WorkerTransport};

use super::variables::{Forms, expand};
use crate::agent::provider::Headers;
use crate::agent::provider::http::{ClientError, Http};

/// A connection to the server at `url`. It is made when something is sent.
///
/// # Errors
/// A part of a sentence: a variable that is not set, or an address or a header that cannot be used.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    http: &Http,
) -> Result<StreamableHttpClientTransport<impl StreamableHttpClient + use<>>, String> {
    let lookup = |name: &str| std::env::var(name).ok();
    let unset = |name: String| format!("the variable {name} is not set");
    let url = expand(url, Forms::Braces, &lookup).map_err(unset)?;
    let header = |(name, value): (&String, &String)| {
        Ok((name.clone(), expand(value, Forms::All, &lookup).map_err(unset)?))
    };
    let headers = Headers(headers.iter().map(header).collect::<Result<_, String>>()?);
    let (client, headers) = http.bare(&url, &headers).map_err(|failure| failure.message)?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .reinit_on_expired_session(true);
    Ok(WorkerTransport::with_client(client, config))
}

/// What lies at the bottom of an error: `Connection refused` rather than `error sending request`.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    // It does not say what its source is.
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<ClientError>>()
    {
        current = error;
    }
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
