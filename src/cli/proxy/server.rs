//! The HTTP side of `tau proxy`: the stream of answers and the facts on a token. `POST /api/stream` is the
//! one that [`tau_agent::provider::proxy`] sends.
//!
//! `/v1/…` are the formats of other programs (`compat`).
//!
//! The model is looked up in the server's own catalogue. An address, a price or a header that a client sends
//! is never used: a key would be sent to it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ledger::{Denial, Ledger, Tally};
use super::tokens::{TokenFile, TokenRow};
use crate::serve::strangers::Stranger;
use tau_agent::catalogue::Catalogue;
use tau_agent::catalogue::keys::{KeySource, Keys};
use tau_agent::provider::proxy::ProxyCall;
use tau_agent::provider::proxy::wire::WireWriter;
use tau_agent::provider::{EventStream, ModelRequest, StreamEvent, Transport};
use tau_agent::secrets::Secret;
use tau_agent::settings::private_files::write_private;
use tau_protocol::event::Delta;
use tau_protocol::message::Usage;
use tau_protocol::model::{Api, Model};
pub(super) use tau_tools::times::seconds_now as now;
use tau_tools::user_error::UserError;

/// Maximum size of a request, in bytes: conversations hold pictures.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Maximum number of an answer's lines that wait for its client.
pub(super) const LINES: usize = 64;
/// Time limit for reading an answer whose client has left.
const LEFT_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of text that count as a token where a provider did not report a number.
const BYTES_PER_TOKEN: u64 = 4;

/// The server's state.
pub struct Serving {
    pub tokens: Mutex<TokenFile>,
    pub accounts: Accounts,
    pub catalogue: Arc<Catalogue>,
    pub keys: Arc<Keys>,
    /// The target of forwarded requests.
    pub upstream: Arc<dyn Transport>,
    /// Cancelled when the server ends: answers are cut.
    pub ending: CancellationToken,
    /// The running answers, including ones whose clients have left.
    pub answers: TaskTracker,
}

/// The ledger, and its file.
pub struct Accounts {
    ledger: Mutex<Ledger>,
    file: PathBuf,
    changed: Notify,
    /// Held while the file is written, so that older usage never replaces newer.
    saving: Mutex<()>,
}

impl Accounts {
    /// A ledger read from `file`.
    pub fn new(ledger: Ledger, file: PathBuf) -> Self {
        Accounts { ledger: Mutex::new(ledger), file, changed: Notify::new(), saving: Mutex::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Ledger) -> T) -> T {
        work(&mut self.ledger.lock())
    }

    /// Writes the file. The error is the file system's errors, with the name of the file.
    pub fn save(&self) -> Result<(), UserError> {
        let _saving = self.saving.lock();
        let text = self.with(|ledger| serde_json::to_vec_pretty(ledger));
        let saved = text.map_err(std::io::Error::from).and_then(|text| write_private(&self.file, &text));
        saved.map_err(|error| format!("cannot save what was used to {}: {error}", self.file.display()).into())
    }

    /// Waits until usage was counted.
    pub async fn wait_for_change(&self) {
        self.changed.notified().await;
    }
}

/// The routes of the server; `more` are further ones behind the same check of tokens.
pub fn routes(serving: Arc<Serving>, more: Router<Arc<Serving>>) -> Router {
    Router::new()
        .route("/api/stream", post(answer))
        .route("/api/models", get(models))
        .route("/api/usage", get(usage))
        .route("/v1/models", get(list_models))
        .route("/v1/models/{*id}", get(get_model))
        .merge(more)
        // Before any part of a body is read.
        .route_layer(from_fn_with_state(Arc::clone(&serving), check_token))
        .route("/health", get(async || "ok\n"))
        .fallback(nothing_there)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(serving)
}

async fn nothing_there(address: Uri) -> ErrorResponse {
    let text = format!(
        "tau proxy has nothing at {}; it answers /v1/messages, /v1/chat/completions, /v1/responses and /v1/models",
        address.path()
    );
    ErrorResponse::new(StatusCode::NOT_FOUND, "not_found_error", text)
}

/// An answer that is an error: the status, and a text for the user in the form that providers use.
pub(super) struct ErrorResponse {
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) wait: Option<i64>,
}

impl ErrorResponse {
    pub(super) fn new(status: StatusCode, kind: &'static str, text: impl Into<String>) -> Self {
        ErrorResponse { status, kind, text: text.into(), wait: None }
    }
}

impl From<Denial> for ErrorResponse {
    fn from(denied: Denial) -> Self {
        let Denial { text, wait } = denied;
        ErrorResponse { wait, ..ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", text) }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        tracing::info!(status = self.status.as_u16(), reason = self.text, "refused");
        // Both OpenAI's and Anthropic's clients find what they look for.
        let error = json!({ "type": self.kind, "message": self.text, "code": null, "param": null });
        let body = Json(json!({ "type": "error", "error": error }));
        let mut response = (self.status, body).into_response();
        if let Some(wait) = self.wait {
            response.headers_mut().insert(header::RETRY_AFTER, wait.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Refuses a request without a known token; handlers find its owner.
async fn check_token(
    State(serving): State<Arc<Serving>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ErrorResponse> {
    let client = serving.client(request.headers())?;
    if let Some(stranger) = request.extensions().get::<Stranger>() {
        stranger.is_known();
    }
    request.extensions_mut().insert(client);
    Ok(next.run(request).await)
}

/// The owner of a request's token.
#[derive(Clone)]
pub(super) struct Client {
    name: String,
    limits: TokenRow,
}

impl Serving {
    fn client(&self, headers: &HeaderMap) -> Result<Client, ErrorResponse> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| value.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        // As Anthropic's clients send their keys.
        let token = token.or_else(|| headers.get("x-api-key")?.to_str().ok());
        let mut tokens = self.tokens.lock();
        let table = tokens.current().map_err(|error| {
            // The file's content must not leak to the client.
            tracing::error!(%error, "cannot read the tokens");
            let text = "tau proxy cannot read its tokens; ask its administrator";
            ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", text)
        })?;
        let owner = token.and_then(|token| table.owner(token.trim()));
        let (name, limits) = owner.ok_or_else(|| {
            let text = match token {
                Some(_) => "wrong token: tau proxy does not know it",
                None => "no token: set TAU_PROXY_TOKEN, or pass --proxy-token",
            };
            ErrorResponse::new(StatusCode::UNAUTHORIZED, "authentication_error", text)
        })?;
        Ok(Client { name: name.clone(), limits: limits.clone() })
    }

    /// This server's definition of the model, if it is served to this client.
    fn model(&self, wanted: &Model, client: &Client) -> Result<Arc<Model>, ErrorResponse> {
        let missing = |text: String| ErrorResponse::new(StatusCode::NOT_FOUND, "not_found_error", text);
        let known = self.catalogue.get(&wanted.provider, &wanted.id);
        let model = known.ok_or_else(|| missing(format!("there is no model {} here", wanted.reference())))?;
        self.check_served(model, client)
    }

    /// The model with this name, if it is served to this client: `provider/id`, or an id alone.
    pub(super) fn find_model(&self, name: &str, client: &Client) -> Result<Arc<Model>, ErrorResponse> {
        let named = name.split_once('/').and_then(|(provider, id)| self.catalogue.get(provider, id));
        let by_id = || {
            let mut models = self.catalogue.usable_models(&self.keys).into_iter();
            models.find(|model| model.id == name && client.limits.allows(model))
        };
        let model = named.or_else(by_id).ok_or_else(|| {
            let text = format!("there is no model {name} here; GET /v1/models lists them");
            ErrorResponse::new(StatusCode::NOT_FOUND, "not_found_error", text)
        })?;
        self.check_served(model, client)
    }

    fn check_served(&self, model: Arc<Model>, client: &Client) -> Result<Arc<Model>, ErrorResponse> {
        let missing = |text: String| ErrorResponse::new(StatusCode::NOT_FOUND, "not_found_error", text);
        if !client.limits.allows(&model) {
            let text = format!("this token is not for {}", model.reference());
            return Err(ErrorResponse::new(StatusCode::FORBIDDEN, "permission_error", text));
        }
        let has_key =
            model.api == Api::Scripted || self.catalogue.usable(&self.keys).contains(&model.provider);
        let text = || missing(format!("{} is not served: there is no key for it here", model.reference()));
        has_key.then(|| Arc::clone(&model)).ok_or_else(text)
    }
}

/// Whether the cost of an answer is known. The demo costs nothing.
fn is_priced(model: &Model) -> bool {
    model.cost.is_some() || model.api == Api::Scripted
}

async fn answer(
    State(serving): State<Arc<Serving>>,
    Extension(client): Extension<Client>,
    body: axum::body::Bytes,
) -> Result<Response, ErrorResponse> {
    let call: ProxyCall = serde_json::from_slice(&body).map_err(|error| {
        let text = format!("the request is not valid: {error}");
        ErrorResponse::new(StatusCode::BAD_REQUEST, "invalid_request_error", text)
    })?;
    let model = serving.model(&call.model, &client)?;
    let max_tokens = call.options.max_tokens;
    let request = |model, key| call.into_request(model, key);
    let (events, counted) = begin(&serving, client, model, body.len(), max_tokens, request).await?;
    let (sender, lines) = mpsc::channel(LINES);
    let mut writer = WireWriter::default();
    let write = move |event: Option<StreamEvent>| writer.data(event?).map(|data| Event::default().data(data));
    serving.answers.spawn(forward(events, counted, write, sender));
    let lines = futures_util::stream::unfold(lines, async |mut lines| Some((lines.recv().await?, lines)));
    Ok(Sse::new(lines.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::default()).into_response())
}

/// Admits a request of so many bytes, and begins its answer.
pub(super) async fn begin(
    serving: &Arc<Serving>,
    client: Client,
    model: Arc<Model>,
    bytes: usize,
    max_tokens: Option<u64>,
    request: impl FnOnce(Arc<Model>, Option<Secret>) -> ModelRequest,
) -> Result<(EventStream, AnswerMeter), ErrorResponse> {
    let key = serving.keys.key(&model).await.map_err(|failure| {
        tracing::error!(error = %failure, provider = model.provider, "no key");
        let text = format!("the key for {} cannot be read here", model.provider);
        ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", text)
    })?;
    if client.limits.dollars_per_day.is_some() && !is_priced(&model) {
        let text = "the price of this model is not known, and this token has a limit in dollars";
        return Err(ErrorResponse::new(StatusCode::FORBIDDEN, "permission_error", text));
    }
    let admitted = |ledger: &mut Ledger| ledger.admit(&client.name, &client.limits, now());
    serving.accounts.with(admitted)?;
    tracing::info!(token = client.name, model = model.reference(), bytes, "request");
    let counted = AnswerMeter {
        serving: Arc::clone(serving),
        name: client.name,
        model: Arc::clone(&model),
        asked: u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN,
        budget: max_tokens.unwrap_or(model.max_tokens),
        said: 0,
        usage: Usage::default(),
        is_whole: false,
        is_left: false,
    };
    let events = serving.upstream.stream(request(model, key), serving.ending.child_token());
    Ok((events, counted))
}

/// A model in the lists of OpenAI and of Anthropic.
fn model_json(model: &Model) -> Value {
    json!({
        "id": model.reference(),
        "object": "model",
        "type": "model",
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "owned_by": model.provider,
        "display_name": model.name,
    })
}

async fn list_models(
    State(serving): State<Arc<Serving>>,
    Extension(client): Extension<Client>,
) -> Json<Value> {
    let models = serving.catalogue.usable_models(&serving.keys);
    let rows = models.iter().filter(|model| client.limits.allows(model)).map(|model| model_json(model));
    let rows: Vec<Value> = rows.collect();
    let id = |row: Option<&Value>| row.and_then(|row| row.get("id")).cloned();
    let (first, last) = (id(rows.first()), id(rows.last()));
    Json(json!({ "object": "list", "data": rows, "has_more": false, "first_id": first, "last_id": last }))
}

async fn get_model(
    State(serving): State<Arc<Serving>>,
    Extension(client): Extension<Client>,
    axum::extract::Path(id): axum::extract::Path<String>,
) -> Result<Json<Value>, ErrorResponse> {
    Ok(Json(model_json(&*serving.find_model(&id, &client)?)))
}

/// The longest silence before an answer begins: proxies in between take a longer one for the end of a connection.
const SILENCE: Duration = Duration::from_secs(10);

/// Passes the events on as they are written, counting them on their way; `None` is such a silence. An answer whose
/// client has left is read to its end, since only then its cost is known.
pub(super) async fn forward<T, I: IntoIterator<Item = T>>(
    mut events: EventStream,
    mut counted: AnswerMeter,
    mut write: impl FnMut(Option<StreamEvent>) -> I,
    sender: mpsc::Sender<T>,
) {
    let (mut silence, mut is_long) = (std::pin::pin!(tokio::time::sleep(SILENCE)), false);
    'written: loop {
        let event = tokio::select! {
            event = events.next() => match event {
                Some(event) => Some(event),
                None => return,
            },
            () = &mut silence, if !is_long => {
                is_long = true;
                None
            }
            () = sender.closed() => break,
        };
        if let Some(event) = &event {
            counted.note(event);
        }
        for written in write(event) {
            if sender.send(written).await.is_err() {
                break 'written;
            }
        }
    }
    counted.is_left = true;
    if !read_rest(events, |event| counted.note(&event), LEFT_TIMEOUT).await {
        tracing::info!("an answer that its client left did not end");
    }
}

/// Reads an answer that its client has left; returns whether it ended within the time.
async fn read_rest(
    events: impl Stream<Item = StreamEvent>,
    mut note: impl FnMut(StreamEvent),
    limit: Duration,
) -> bool {
    let mut events = std::pin::pin!(events);
    let rest = async {
        while let Some(event) = events.next().await {
            note(event);
        }
    };
    tokio::time::timeout(limit, rest).await.is_ok()
}

/// A running answer; its usage is counted on drop.
pub(super) struct AnswerMeter {
    serving: Arc<Serving>,
    name: String,
    model: Arc<Model>,
    /// The approximate number of tokens in the request.
    asked: u64,
    /// Maximum number of tokens in the answer.
    budget: u64,
    /// Bytes of text received.
    said: u64,
    /// The provider's last report.
    usage: Usage,
    /// The provider has ended the answer, so its report is complete.
    is_whole: bool,
    /// The client has left.
    pub(super) is_left: bool,
}

impl AnswerMeter {
    pub(super) fn note(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Usage(usage) => self.usage = *usage,
            StreamEvent::Delta(
                Delta::TextDelta { delta, .. }
                | Delta::ThinkingDelta { delta, .. }
                | Delta::ToolCallDelta { delta, .. },
            ) => self.said = self.said.saturating_add(u64::try_from(delta.len()).unwrap_or(u64::MAX)),
            StreamEvent::Stop(_) => self.is_whole = true,
            // A failure before any output costs nothing.
            StreamEvent::Failed(_) => self.is_whole = self.said == 0,
            _ => {}
        }
    }

    /// The usage. An answer that was cut before its provider reported it is counted by its size; one that the
    /// client left, and that did not end afterwards, by its possible cost. Otherwise clients could use models
    /// for less by leaving in time.
    fn billable_usage(&self) -> Usage {
        let mut usage = self.usage;
        if !self.is_whole {
            let asked = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
            usage.input = if asked == 0 { self.asked } else { usage.input };
            let said = self.said.div_ceil(BYTES_PER_TOKEN);
            usage.output = usage.output.max(if self.is_left { said.max(self.budget) } else { said });
        }
        usage
    }
}

impl Drop for AnswerMeter {
    fn drop(&mut self) {
        let usage = self.billable_usage();
        let dollars = self.model.cost.map_or(0.0, |price| price.of(&usage).total);
        self.serving.accounts.with(|ledger| ledger.settle(&self.name, &usage, dollars, now()));
        self.serving.accounts.changed.notify_one();
        tracing::info!(
            token = self.name,
            model = self.model.reference(),
            input = usage.input,
            output = usage.output,
            dollars,
            whole = self.is_whole,
            "answer"
        );
    }
}

/// The models that the token is for.
async fn models(State(serving): State<Arc<Serving>>, Extension(client): Extension<Client>) -> Json<Value> {
    let models = serving.catalogue.usable_models(&serving.keys);
    let rows = models.iter().filter(|model| client.limits.allows(model)).map(|model| {
        json!({
            "provider": model.provider,
            "id": model.id,
            "name": model.name,
            "api": model.api,
            "reasoning": model.reasoning,
            "input": model.input,
            "thinkingLevels": model.thinking_levels,
            "contextWindow": model.context_window,
            "maxTokens": model.max_tokens,
            "cost": model.cost,
        })
    });
    Json(json!({ "models": rows.collect::<Vec<_>>() }))
}

/// The usage of the token, and its limits.
async fn usage(State(serving): State<Arc<Serving>>, Extension(client): Extension<Client>) -> Json<Value> {
    let account = serving.accounts.with(|ledger| ledger.accounts.get(&client.name).cloned());
    let account = account.unwrap_or_default();
    let shown = |tally: Tally| json!(tally);
    let limits = TokenRow { sha256: String::new(), ..client.limits };
    let mut limits = json!(limits);
    limits.as_object_mut().map(|limits| limits.remove("sha256"));
    Json(json!({
        "name": client.name,
        "limits": limits,
        "today": shown(account.today(now())),
        "total": shown(account.total),
    }))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn an_answer_whose_client_left_is_read_to_its_end_or_for_some_time() {
        let usage = |output| StreamEvent::Usage(Usage { output, ..Usage::default() });
        let events = || stream::iter([1, 2].map(usage));
        let mut seen = Vec::new();
        let mut note = |event| {
            if let StreamEvent::Usage(usage) = event {
                seen.push(usage.output);
            }
        };
        assert!(read_rest(events(), &mut note, LEFT_TIMEOUT).await);
        assert!(!read_rest(events().chain(stream::pending()), &mut note, Duration::from_millis(20)).await);
        assert_eq!(seen, [1, 2, 1, 2]);
    }
}
