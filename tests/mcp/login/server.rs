//! A server that requires a login, and its authorization server: discovery, registration, codes with PKCE,
//! tokens that are renewed and replaced by each renewal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

type Fields = HashMap<String, String>;

/// The shared state of both servers.
#[derive(Default)]
pub struct Known {
    /// The address of the MCP server, and of the authorization server.
    pub resource: String,
    pub issuer: String,
    /// The redirect address and the secret of each client.
    clients: HashMap<String, (String, Option<String>)>,
    /// The parameters of the request for each code.
    codes: HashMap<String, Fields>,
    /// The accepted tokens.
    pub access: Vec<String>,
    /// The refresh token. It is replaced with each renewal.
    pub refresh: Option<String>,
    /// The number of issued tokens.
    given: usize,
    /// The requests to the token endpoint, in order.
    pub token_requests: Vec<Fields>,
    pub registrations: Vec<Value>,
    /// The number of messages to the MCP server, including those without an accepted token.
    pub calls: usize,
    /// Its deviations from correct behaviour.
    pub manner: Manner,
}

/// Deviations of the servers from correct behaviour.
#[derive(Clone, Default)]
pub struct Manner {
    /// A difference in published documents: the document, the field, and its value, or none to leave it out.
    pub publishes: Option<(&'static str, &'static str, Option<Value>)>,
    /// The authorization endpoint's error in place of a code.
    pub refuses: Option<&'static str>,
    /// The token endpoint's answer in place of tokens.
    pub answers: Option<(u16, &'static str)>,
    /// The duration of a renewal.
    pub takes: Duration,
    /// The answer to a request without a token says nothing about logins.
    pub is_silent: bool,
    /// No token is needed.
    pub is_open: bool,
    /// New clients get a secret.
    pub gives_secrets: bool,
}

/// Two servers.
#[derive(Clone)]
pub struct Servers(Arc<Mutex<Known>>);

impl Servers {
    pub async fn start(manner: Manner) -> Self {
        let known = Known { manner, ..Known::default() };
        let servers = Servers(Arc::new(Mutex::new(known)));
        let authorization = Router::new()
            .route("/.well-known/oauth-authorization-server", get(issuer_metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token));
        let issuer = serve(authorization.with_state(servers.clone())).await;
        let mcp = Router::new()
            .route("/.well-known/oauth-protected-resource/mcp", get(resource_metadata))
            .route("/mcp", post(message).get(no_stream));
        let resource = serve(mcp.with_state(servers.clone())).await + "/mcp";
        let mut known = servers.known();
        (known.issuer, known.resource) = (issuer, resource);
        drop(known);
        servers
    }

    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap()
    }

    /// The `config.toml` that names the MCP server.
    pub fn config(&self, more: &str) -> String {
        format!("[mcp.far]\nurl = \"{}\"\n{more}\n", self.known().resource)
    }

    /// The requested grants.
    pub fn grants(&self) -> Vec<String> {
        self.known().token_requests.iter().map(|request| request["grant_type"].clone()).collect()
    }

    fn published(&self, which: &str, mut document: Value) -> Response {
        let fields = document.as_object_mut().unwrap();
        match self.known().manner.publishes.clone() {
            Some((document, field, Some(value))) if document == which => {
                drop(fields.insert(field.into(), value));
            }
            Some((document, field, None)) if document == which => drop(fields.remove(field)),
            _ => {}
        }
        axum::Json(document).into_response()
    }
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn resource_metadata(State(servers): State<Servers>) -> Response {
    let resource = servers.known().resource.clone();
    let issuer = servers.known().issuer.clone();
    let document =
        json!({"resource": resource, "authorization_servers": [issuer], "scopes_supported": ["files"]});
    servers.published("resource", document)
}

async fn issuer_metadata(State(servers): State<Servers>) -> Response {
    let issuer = servers.known().issuer.clone();
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
    });
    servers.published("issuer", document)
}

async fn register(State(servers): State<Servers>, axum::Json(client): axum::Json<Value>) -> Response {
    let mut known = servers.known();
    let id = format!("client-{}", known.clients.len());
    let redirect = client["redirect_uris"][0].as_str().unwrap().to_owned();
    let secret = known.manner.gives_secrets.then(|| format!("secret-of-{id}"));
    known.clients.insert(id.clone(), (redirect.clone(), secret.clone()));
    known.registrations.push(client);
    let answer = json!({"client_id": id, "client_secret": secret, "redirect_uris": [redirect]});
    (StatusCode::CREATED, axum::Json(answer)).into_response()
}

async fn authorize(State(servers): State<Servers>, Query(asked): Query<Fields>) -> Response {
    let mut known = servers.known();
    let value = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let redirect = known.clients.get(&value("client_id")).map(|(redirect, _)| redirect.clone());
    let is_right = value("response_type") == "code"
        && value("code_challenge_method") == "S256"
        && value("code_challenge").len() == 43
        && value("state").len() > 15
        && value("resource") == known.resource
        && redirect.is_none_or(|redirect| redirect == value("redirect_uri"));
    if !is_right {
        return (StatusCode::BAD_REQUEST, format!("{asked:?}")).into_response();
    }
    let answer = match known.manner.refuses {
        Some(error) => format!("error={error}"),
        None => {
            let code = format!("the-code-{}", known.codes.len());
            known.codes.insert(code.clone(), asked.clone());
            format!("code={code}")
        }
    };
    Redirect::to(&format!("{}?{answer}&state={}", value("redirect_uri"), value("state"))).into_response()
}

async fn token(State(servers): State<Servers>, Form(asked): Form<Fields>) -> Response {
    let (takes, answers) = {
        let mut known = servers.known();
        known.token_requests.push(asked.clone());
        (known.manner.takes, known.manner.answers)
    };
    tokio::time::sleep(takes).await;
    if let Some((status, body)) = answers {
        let status = StatusCode::from_u16(status).unwrap();
        let location =
            [(header::CONTENT_TYPE, "application/json"), (header::LOCATION, "http://127.0.0.1:1/")];
        return (status, location, body.to_owned()).into_response();
    }
    let mut known = servers.known();
    let value = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let refused = |error: &str| {
        (StatusCode::BAD_REQUEST, axum::Json(json!({"error": error, "error_description": "no"})))
            .into_response()
    };
    let secret = known.clients.get(&value("client_id")).and_then(|(_, secret)| secret.clone());
    if secret.is_some_and(|secret| secret != value("client_secret")) {
        return refused("invalid_client");
    }
    let is_right = match value("grant_type").as_str() {
        "authorization_code" => known.codes.remove(&value("code")).is_some_and(|code| {
            let hash = digest(&SHA256, value("code_verifier").as_bytes());
            code["code_challenge"] == BASE64_URL_SAFE_NO_PAD.encode(hash)
                && code["redirect_uri"] == value("redirect_uri")
                && code["client_id"] == value("client_id")
        }),
        // A reused token ends the login, as it may have been stolen.
        "refresh_token" => known.refresh.take() == Some(value("refresh_token")),
        _ => false,
    };
    if !is_right || value("resource") != known.resource {
        return refused("invalid_grant");
    }
    known.given += 1;
    let (access, refresh) =
        (format!("access-token-{}", known.given), format!("refresh-token-{}", known.given));
    known.access = vec![access.clone()];
    known.refresh = Some(refresh.clone());
    let tokens = json!({"access_token": access, "token_type": "Bearer", "expires_in": 3600,
        "refresh_token": refresh, "scope": "files", "id_token": "who-the-user-is"});
    axum::Json(tokens).into_response()
}

async fn no_stream(State(servers): State<Servers>, headers: HeaderMap) -> Response {
    match unauthorized(&servers, &headers) {
        Some(refusal) => refusal,
        None => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

/// The answer to a request without an accepted token.
fn unauthorized(servers: &Servers, headers: &HeaderMap) -> Option<Response> {
    let known = servers.known();
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if known.manner.is_open || known.access.iter().any(|access| token == format!("Bearer {access}")) {
        return None;
    }
    if known.manner.is_silent {
        return Some(StatusCode::UNAUTHORIZED.into_response());
    }
    let base = known.resource.trim_end_matches("/mcp");
    let says = format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
    Some((StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, says)]).into_response())
}

async fn message(State(servers): State<Servers>, headers: HeaderMap, body: String) -> Response {
    servers.known().calls += 1;
    if let Some(refusal) = unauthorized(&servers, &headers) {
        return refusal;
    }
    let message: Value = serde_json::from_str(&body).unwrap();
    if message.get("id").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "remote", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}},
            {"name": "expire", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            if message["params"]["name"] == "expire" {
                servers.known().access.clear();
            }
            json!({"content": [{"type": "text", "text": "added far away"}]})
        }
        _ => json!({}),
    };
    axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}
