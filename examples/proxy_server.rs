//! The app server of `proxy_client`: `TAU_PROXY_TOKEN=secret cargo run --example proxy_server`.
//!
//! Clients send a token; the keys of the providers stay here. The model is looked up in the
//! server's own catalogue: an address from a client is never used, since a key would go there.

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]
#![allow(clippy::disallowed_methods, reason = "the token comes from the environment")]

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::StreamExt;
use tau::agent::api::EnvKeys;
use tau::agent::catalogue::Catalogue;
use tau::agent::catalogue::keys::KeySource;
use tau::agent::demo::DemoTransport;
use tau::agent::protocol::model::Model;
use tau::agent::provider::Transport;
use tau::agent::provider::direct::Direct;
use tau::agent::provider::proxy::ProxyCall;
use tau::agent::provider::proxy::wire::WireWriter;
use tau::agent::provider::scripted;
use tau::agent::secrets::Secret;
use tokio_util::sync::CancellationToken;

/// Largest request, in bytes: conversations hold pictures.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// What the server needs.
#[derive(Clone)]
pub struct Server {
    /// What clients must send.
    pub token: Secret,
    pub models: Arc<FindServed>,
    pub keys: Arc<dyn KeySource>,
    /// Where requests are forwarded to.
    pub upstream: Arc<dyn Transport>,
}

/// The routes of the server.
pub fn app(server: Server) -> Router {
    let limit = DefaultBodyLimit::max(MAX_BODY);
    Router::new().route("/api/stream", post(answer)).layer(limit).with_state(server)
}

/// Finds a model that is served, by provider and id.
type FindServed = dyn Fn(&str, &str) -> Option<Arc<Model>> + Send + Sync;

type Refusal = (StatusCode, String);

async fn answer(
    State(server): State<Server>,
    headers: HeaderMap,
    Json(call): Json<ProxyCall>,
) -> Result<impl IntoResponse, Refusal> {
    let given = headers.get("authorization").and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if given != server.token.expose() {
        return Err((StatusCode::UNAUTHORIZED, "wrong token".to_owned()));
    }
    let model = (server.models)(&call.model.provider, &call.model.id)
        .ok_or((StatusCode::NOT_FOUND, format!("there is no model {}", call.model.reference())))?;
    let key = server.keys.key(&model).await;
    let key = key.map_err(|failure| (StatusCode::SERVICE_UNAVAILABLE, failure.message))?;
    // The provider's stream ends when this one is dropped, which is when the client leaves.
    let events = server.upstream.stream(call.into_request(model, key), CancellationToken::new());
    let mut writer = WireWriter::default();
    let lines = events.filter_map(move |event| {
        let line = writer.data(event).map(|data| Ok::<_, Infallible>(Event::default().data(data)));
        std::future::ready(line)
    });
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8302".to_owned());
    let token = std::env::var("TAU_PROXY_TOKEN")
        .map_err(|_| "set TAU_PROXY_TOKEN to the token that clients are to send")?;
    let catalogue = Catalogue::new(Default::default(), None);
    let demo = Arc::new(DemoTransport::default());
    let server = Server {
        token: Secret::new(token),
        models: Arc::new(move |provider, id| catalogue.get(provider, id)),
        keys: Arc::new(EnvKeys),
        upstream: Arc::new(scripted::Router::new(demo, Arc::new(Direct::default()))),
    };
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app(server)).await?;
    Ok(())
}
