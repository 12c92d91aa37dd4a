//! The server itself: health, metrics, models.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::super::app::App;
use super::super::types::{Health, ModelList, ModelRow};

/// Whether the server works. Needs no token.
#[cfg_attr(test, utoipa::path(get, path = "/health", tag = "server", security(()), responses(
    (status = 200, description = "It works", body = Health),
)))]
pub(super) async fn health(State(app): State<App>) -> Json<Health> {
    let status = if app.hub().is_closing() { "closing" } else { "ok" };
    Json(Health { status, version: env!("CARGO_PKG_VERSION") })
}

/// Counters in the text format of Prometheus.
#[cfg_attr(test, utoipa::path(get, path = "/metrics", tag = "server", responses(
    (status = 200, description = "The counters", body = String, content_type = "text/plain"),
)))]
pub(super) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, app.metrics().text(app.hub().counts()))
}

/// The available models.
#[cfg_attr(test, utoipa::path(get, path = "/api/models", tag = "server", responses(
    (status = 200, description = "The models", body = ModelList),
)))]
pub(super) async fn models(State(app): State<App>) -> Json<ModelList> {
    let row = |model: std::sync::Arc<tau_protocol::model::Model>| ModelRow {
        id: model.id.clone(),
        name: model.name.clone(),
        provider: model.provider.clone(),
        context_window: model.context_window,
        max_tokens: model.max_tokens,
        input: model.input.clone(),
        thinking: model.levels().iter().map(|level| level.name().to_owned()).collect(),
    };
    Json(ModelList { models: app.hub().models().into_iter().map(row).collect() })
}
