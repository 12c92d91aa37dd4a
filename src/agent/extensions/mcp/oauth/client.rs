//! Requests to a server with the tokens of its login.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::auth::AuthError;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use tokio_util::task::TaskTracker;
use url::Url;

use super::super::lenient;
use super::store::LoginStore;
use super::{OwnClient, Tokens};
use crate::provider::http::{ClientError, Http};
use crate::settings::mcp_servers::OauthClient;
use tau_tools::user_error::UserError;

type Headers = HashMap<HeaderName, HeaderValue>;

/// A client that adds the tokens of a login to requests, and renews them once if they are not accepted.
#[derive(Clone)]
pub(in super::super) struct LoginClient<C> {
    client: C,
    /// Without tokens requests are sent unchanged.
    tokens: Option<Arc<Tokens>>,
}

impl<C: StreamableHttpClient<Error = ClientError> + Sync> LoginClient<C> {
    /// Sends requests with `client` and these tokens, if any.
    pub(in super::super) fn new(client: C, tokens: Option<Arc<Tokens>>) -> Self {
        LoginClient { client, tokens }
    }

    async fn send<T, F>(
        &self,
        given: Option<String>,
        call: impl Fn(Option<String>) -> F,
    ) -> Result<T, StreamableHttpError<ClientError>>
    where
        F: Future<Output = Result<T, StreamableHttpError<ClientError>>>,
    {
        let Some(tokens) = &self.tokens else { return call(given).await.map_err(challenge) };
        let access = tokens.access().await.map_err(auth_error)?;
        let answer = call(access.clone()).await.map_err(challenge);
        let answer = match (answer, access) {
            (Err(StreamableHttpError::AuthRequired(asked)), Some(rejected)) => {
                match tokens.instead_of(rejected).await.map_err(auth_error)? {
                    Some(access) => call(Some(access)).await.map_err(challenge),
                    None => Err(StreamableHttpError::AuthRequired(asked)),
                }
            }
            (answer, _) => answer,
        };
        match &answer {
            Ok(_) => tokens.note(false).await,
            Err(StreamableHttpError::AuthRequired(_)) => tokens.note(true).await,
            Err(_) => {}
        }
        answer
    }
}

impl<C: StreamableHttpClient<Error = ClientError> + Sync> StreamableHttpClient for LoginClient<C> {
    type Error = ClientError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<ClientError>> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<ClientError>> {
        let call = |token| {
            let (uri, message, session) = (uri.clone(), message.clone(), session.clone());
            let headers = headers.clone();
            self.client.post_message_with_response_limits(uri, message, session, token, headers, limits)
        };
        Ok(match self.send(token, call).await? {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(readable(events), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<ClientError>> {
        let call = |token| self.client.delete_session(uri.clone(), session.clone(), token, headers.clone());
        self.send(token, call).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, StreamableHttpError<ClientError>> {
        let call = |token| {
            let (uri, session, last_event) = (uri.clone(), session.clone(), last_event.clone());
            self.client.get_stream(uri, session, last_event, token, headers.clone())
        };
        Ok(readable(self.send(token, call).await?))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Result<BoxedSseResponse, StreamableHttpError<ClientError>> {
        let call = |token| {
            let (uri, session, last_event) = (uri.clone(), session.clone(), last_event.clone());
            let headers = headers.clone();
            self.client.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, largest)
        };
        Ok(readable(self.send(token, call).await?))
    }
}

/// The events, with messages that are almost JSON-RPC made valid.
fn readable(events: BoxedSseResponse) -> BoxedSseResponse {
    let event = events.map(|event| {
        let mut event = event?;
        let is_valid = |data: &String| serde_json::from_str::<ServerJsonRpcMessage>(data).is_ok();
        if let Some(data) = event.data.as_mut().filter(|data| !is_valid(data))
            && let Some(Ok(message)) = lenient::messages(data.as_bytes()).first().map(serde_json::to_string)
        {
            *data = message;
        }
        Ok(event)
    });
    event.boxed()
}

/// Turns every form of 401 into a request for a login; servers without a challenge are recognized by the
/// status.
fn challenge(error: StreamableHttpError<ClientError>) -> StreamableHttpError<ClientError> {
    let is_refusal = match &error {
        StreamableHttpError::Client(error) => error.status().is_some_and(|status| status.as_u16() == 401),
        StreamableHttpError::UnexpectedServerResponse(text) => text.starts_with("HTTP 401"),
        _ => false,
    };
    if is_refusal { StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())) } else { error }
}

fn auth_error(error: UserError) -> StreamableHttpError<ClientError> {
    StreamableHttpError::Auth(AuthError::TokenRefreshFailed(error.into()))
}

/// The tokens for the server at `url`. The error is the reason, as part of a sentence: the address is
/// invalid, or a variable is not set.
pub(in super::super) fn tokens(
    url: &str,
    oauth: &OauthClient,
    store: &LoginStore,
    http: &Arc<Http>,
    tasks: &TaskTracker,
) -> Result<Arc<Tokens>, UserError> {
    let url = Url::parse(url).map_err(|error| format!("its URL is not valid: {error}"))?;
    Ok(Tokens::new(url, OwnClient::new(oauth)?, store.clone(), Arc::clone(http), tasks.clone()))
}
