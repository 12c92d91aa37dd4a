//! The routes, and the processing of every request before and after its handler.

mod answers;
mod archive;
mod attach;
mod attempts;
mod branches;
mod jobs;
mod log;
mod openapi;
mod prompts;
mod reading;
mod server;
mod sessions;

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::app::App;
use super::page;
use super::problem::Problem;
use super::strangers::Stranger;

/// Paths that need no token: they reveal nothing about sessions.
const OPEN: [&str; 3] = ["/", "/health", "/openapi.json"];

pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/page/{file}", get(page::file))
        .route("/health", get(server::health))
        .route("/openapi.json", get(openapi::document))
        .route("/metrics", get(server::metrics))
        .route("/api/models", get(server::models))
        .route("/api/prompt", post(prompts::prompt_anywhere))
        .route("/api/sessions", get(sessions::list).post(sessions::create))
        .route(
            "/api/sessions/{id}",
            get(sessions::show).put(sessions::put).patch(sessions::change).delete(sessions::delete),
        )
        .route("/api/attach", post(attach::find))
        .route("/api/attach/waits", post(attach::other_waits))
        .route("/api/sessions/{id}/attach/waiting", get(attach::waiting))
        .route("/api/sessions/{id}/attach/answer", post(attach::answer))
        .route("/api/sessions/{id}/attach", get(attach::stream).post(attach::commands))
        .route("/api/sessions/{id}/attach/leave", post(attach::leave))
        .route("/api/sessions/{id}/attach/request", post(attach::request))
        .route("/api/sessions/{id}/attach/attempts", get(attach::attempts))
        .route("/api/sessions/{id}/close", post(sessions::close))
        .route("/api/sessions/{id}/archive", post(archive::archive))
        .route("/api/sessions/{id}/prompt", post(prompts::prompt))
        .route("/api/sessions/{id}/steer", post(prompts::steer))
        .route("/api/sessions/{id}/follow-up", post(prompts::follow_up))
        .route("/api/sessions/{id}/abort", post(prompts::abort))
        .route("/api/sessions/{id}/approvals/{approval}", post(answers::approval))
        .route("/api/sessions/{id}/questions/{question}", post(answers::question))
        .route("/api/sessions/{id}/tree", get(branches::tree))
        .route("/api/sessions/{id}/fork", post(branches::fork))
        .route("/api/sessions/{id}/undo", post(branches::undo))
        .route("/api/sessions/{id}/compact", post(branches::compact))
        .route("/api/sessions/{id}/jobs", get(jobs::list))
        .route("/api/sessions/{id}/jobs/{job}", get(jobs::output))
        .route("/api/sessions/{id}/jobs/{job}/stop", post(jobs::stop))
        .route("/api/sessions/{id}/attempts", get(attempts::list).post(attempts::begin))
        .route("/api/sessions/{id}/attempts/stop", post(attempts::stop))
        .route("/api/sessions/{id}/attempts/{attempts}/changes", get(attempts::changes))
        .route("/api/sessions/{id}/attempts/{attempts}/take", post(attempts::take))
        .route("/api/sessions/{id}/attempts/{attempts}/drop", post(attempts::drop_all))
        .route("/api/sessions/{id}/worktree", post(attempts::worktree))
        .route("/api/sessions/{id}/events", get(reading::events))
        .route("/api/sessions/{id}/history", get(reading::history))
        .route("/api/sessions/{id}/commands", get(reading::commands))
        .route("/api/sessions/{id}/export", get(reading::export))
        .fallback(async || Problem::not_found("there is nothing at this path; see /openapi.json"))
        .method_not_allowed_fallback(async || {
            Problem::no_method("this path does not have this method; see /openapi.json")
        })
        .layer(DefaultBodyLimit::max(app.max_body()))
        .layer(from_fn_with_state(app.clone(), around))
        .with_state(app)
}

/// Other routes, with the same checks, headers and limits.
pub(crate) fn with_checks(app: App, others: Router) -> Router {
    others.layer(from_fn_with_state(app, around))
}

/// Wraps every handler: checks, headers, counting, the log.
async fn around(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let (mut response, origin) = match check(&app, &request, client) {
        Ok(origin) if method == Method::OPTIONS && origin.is_some() => {
            (StatusCode::NO_CONTENT.into_response(), origin)
        }
        Ok(origin) => (answer_or_forward(&app, request, next).await, origin),
        Err(problem) => (problem.into_response(), None),
    };
    add_headers(response.headers_mut(), origin);
    let (status, time) = (response.status().as_u16(), started.elapsed());
    app.metrics().request(route.as_deref().unwrap_or("other"), method_label(&method), status, time);
    log::write(app.log(), &log::Line { method: method.as_str(), path: &path, status, time, client });
    response
}

/// The answer to a request that was checked: from here, or from the process that has its session open.
async fn answer_or_forward(app: &App, request: Request, next: Next) -> Response {
    let Some(elsewhere) = app.elsewhere() else { return next.run(request).await };
    let is_here = |id: &str| app.hub().find(id).is_some();
    let (owner, request) = match elsewhere.find(request, is_here, app.max_body()).await {
        Ok(found) => found,
        Err(problem) => return problem.into_response(),
    };
    let Some(owner) = owner else { return next.run(request).await };
    let path = request.uri().path();
    let is_stream = path.ends_with("/events") || path.ends_with("/prompt") || path.ends_with("/attach");
    let counted = match is_stream.then(|| app.open_stream()).transpose() {
        Ok(counted) => counted,
        Err(problem) => return problem.into_response(),
    };
    let (parts, body) = request.into_parts();
    let again = (parts.method == Method::GET).then(|| parts.clone());
    let passed = elsewhere.pass_on(&owner, Request::from_parts(parts, body), app.max_body(), counted).await;
    match (passed, again) {
        (Ok(response), _) => response,
        // It was about to end.
        (Err(_), Some(again)) if elsewhere.leaves(&owner).await => {
            next.run(Request::from_parts(again, Body::empty())).await
        }
        (Err(problem), _) => problem.into_response(),
    }
}

/// Checks the sender of a request; returns the other origin that the response must allow.
fn check(app: &App, request: &Request, client: Option<IpAddr>) -> Result<Option<HeaderValue>, Problem> {
    let (guard, headers) = (app.guard(), request.headers());
    guard.host(headers, request.uri())?;
    let origin = guard.origin(headers)?.and_then(|origin| HeaderValue::from_str(origin).ok());
    let is_preflight = request.method() == Method::OPTIONS && origin.is_some();
    let path = request.uri().path();
    let is_open = OPEN.contains(&path) || path.starts_with(page::FOLDER);
    if !is_preflight && !is_open {
        guard.token(headers)?;
        if let Some(stranger) = request.extensions().get::<Stranger>() {
            stranger.is_known();
        }
    }
    // Last, so that a page elsewhere cannot use up the user's quota.
    guard.rate(client, Instant::now())?;
    Ok(origin)
}

fn add_headers(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let Some(origin) = origin else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let allowed = HeaderValue::from_static("authorization, content-type, last-event-id");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
}

/// The counted name of a method: a client can invent others.
fn method_label(method: &Method) -> &str {
    match method.as_str() {
        name @ ("GET" | "HEAD" | "POST" | "PATCH" | "PUT" | "DELETE" | "OPTIONS") => name,
        _ => "other",
    }
}
