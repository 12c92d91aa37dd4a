//! The authorization servers of all logins, and the services behind them, in one server on loopback that
//! checks every parameter, refuses replays, slows down, expires, and replaces refresh tokens.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use url::form_urlencoded::parse;

pub type Fields = BTreeMap<String, String>;

/// A request to a service.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
}

/// What the server knows.
#[derive(Default)]
pub struct Known {
    url: String,
    /// The parameters of the request for each code.
    codes: HashMap<String, Fields>,
    /// The parameters of the request for a device code.
    pub device: Option<Fields>,
    polled: Option<Instant>,
    polls: usize,
    /// The accepted tokens, and the refresh token, which is replaced with each renewal.
    pub access: Vec<String>,
    pub refresh: Option<String>,
    pub given: usize,
    pub grants: Vec<String>,
    /// The requests for tokens that have come, answered or not.
    pub begun: usize,
    /// Requests that a correct client does not send.
    pub wrong: Vec<String>,
    pub asked: Vec<Asked>,
    pub manner: Manner,
}

/// How the server behaves.
#[derive(Clone)]
pub struct Manner {
    /// The answers to the first questions about a device code.
    pub polls: Vec<&'static str>,
    /// The time between two questions, in seconds.
    pub interval: f64,
    /// The life of a device code, in seconds.
    pub code_life: f64,
    /// The life of tokens, in seconds.
    pub life: i64,
    /// The duration of a renewal.
    pub takes: Duration,
    /// Codes have been used before they come.
    pub is_replayed: bool,
    /// The answer of the service to a request with a good token.
    pub service: Option<(u16, Value)>,
    /// What Copilot says to an account without a plan.
    pub no_plan: Option<&'static str>,
    /// Headers of its answers, with the limits of the plan.
    pub limits: Vec<(&'static str, String)>,
}

impl Default for Manner {
    fn default() -> Self {
        Manner {
            polls: Vec::new(),
            interval: 0.3,
            code_life: 60.0,
            life: 3600,
            takes: Duration::ZERO,
            is_replayed: false,
            service: None,
            no_plan: None,
            limits: Vec::new(),
        }
    }
}

impl Manner {
    fn with_limits(&self, mut answer: Response) -> Response {
        for (name, value) in &self.limits {
            answer.headers_mut().insert(*name, value.parse().unwrap());
        }
        answer
    }
}

#[derive(Clone)]
pub struct Server(Arc<Mutex<Known>>);

const CHATGPT: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
const COPILOT: &str = "Iv1.b507a08c87ecfe98";
const KIMI: &str = "17e5f671-d194-4dfb-9706-5516cb48c098";
const QWEN: &str = "f0304373b74a44d2b584a3fb70ca9e56";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

impl Server {
    pub async fn start(manner: Manner) -> Self {
        let server = Server(Arc::new(Mutex::new(Known { manner, ..Known::default() })));
        let router = Router::new().fallback(handle).with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        server.known().url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap()
    }

    pub fn url(&self) -> String {
        self.known().url.clone()
    }

    /// Answers questions about device codes from the start.
    pub fn again(&self) {
        let mut known = self.known();
        (known.polls, known.polled) = (0, None);
    }

    /// The last request to a service.
    pub fn last(&self) -> Asked {
        self.known().asked.last().cloned().expect("a request to the service")
    }
}

impl Known {
    fn check(&mut self, what: &str, fields: &Fields, expected: &[(&str, &str)]) -> bool {
        let mut names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let same_names = fields.keys().map(String::as_str).eq(names);
        // A value of `*` may be anything that is not empty.
        let same = |(name, value): &(&str, &str)| {
            fields.get(*name).is_some_and(|given| given == value || *value == "*" && !given.is_empty())
        };
        let is_right = same_names && expected.iter().all(same);
        if !is_right {
            self.wrong.push(format!("{what}: {fields:?}"));
        }
        is_right
    }

    /// New tokens; the old ones are no longer accepted.
    fn tokens(&mut self) -> Value {
        self.given += 1;
        let n = self.given;
        let claims =
            json!({"https://api.openai.com/auth": {"chatgpt_account_id": "account-of-the-user"}, "n": n});
        let access = format!("e30.{}.access-token-{n}", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()));
        let refresh = format!("refresh-token-{n}");
        self.access = vec![access.clone()];
        self.refresh = Some(refresh.clone());
        let host = self.url.strip_prefix("http://").unwrap().to_owned();
        json!({"access_token": access, "refresh_token": refresh, "expires_in": self.manner.life,
            "token_type": "Bearer", "id_token": "who-the-user-is", "resource_url": format!("http://{host}/qwen")})
    }

    fn polls(&mut self, id: &str) -> &'static str {
        let now = Instant::now();
        let least = Duration::from_secs_f64(self.manner.interval);
        if self.polled.is_some_and(|last| now.duration_since(last) < least) {
            self.wrong.push(format!("asked after {:?} already", now.duration_since(self.polled.unwrap())));
        }
        self.polled = Some(now);
        if id != "the-device-code" || self.device.is_none() {
            return "expired_token";
        }
        let answer = self.manner.polls.get(self.polls).copied().unwrap_or("granted");
        self.polls += 1;
        if answer == "slow_down" {
            self.manner.interval += 0.4;
        }
        if answer == "granted" {
            // Used once.
            self.device = None;
        }
        answer
    }
}

fn answer(status: u16, body: Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

fn fields(text: &[u8]) -> Fields {
    parse(text).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

async fn handle(State(server): State<Server>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let query = fields(parts.uri.query().unwrap_or_default().as_bytes());
    let bytes = to_bytes(body, 1 << 24).await.unwrap();
    let headers: HashMap<String, String> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
        .collect();
    let is_json = headers.get("content-type").is_some_and(|value| value.starts_with("application/json"));
    let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let sent = match is_json {
        true => json
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        false => fields(&bytes),
    };
    match path.as_str() {
        "/oauth/authorize" => authorize(&server, query),
        "/auth" => openrouter(&server, query),
        "/api/v1/auth/keys" => key(&server, &sent),
        "/oauth/token" | "/api/oauth/token" | "/api/v1/oauth2/token" | "/login/oauth/access_token" => {
            let takes = {
                let mut known = server.known();
                known.begun += 1;
                known.manner.takes
            };
            tokio::time::sleep(takes).await;
            token(&server, &path, &headers, &sent)
        }
        "/api/accounts/deviceauth/usercode" => {
            let mut known = server.known();
            if !is_json || !known.check("usercode", &sent, &[("client_id", CHATGPT)]) {
                return answer(400, json!({"error": "invalid_request"}));
            }
            known.device = Some(sent);
            let interval = known.manner.interval.to_string();
            answer(
                200,
                json!({"device_auth_id": "the-device-code", "user_code": "ABCD-1234", "interval": interval}),
            )
        }
        "/api/accounts/deviceauth/token" => chatgpt_device(&server, &sent),
        "/login/device/code" | "/api/oauth/device_authorization" | "/api/v1/oauth2/device/code" => {
            device(&server, &path, sent)
        }
        "/copilot_internal/v2/token" => copilot(&server, &headers),
        _ => service(&server, Asked { path, headers, body: json }),
    }
}

fn authorize(server: &Server, asked: Fields) -> Response {
    let mut known = server.known();
    let expected = [
        ("response_type", "code"),
        ("client_id", CHATGPT),
        ("redirect_uri", "*"),
        ("scope", "openid profile email offline_access"),
        ("state", "*"),
        ("code_challenge", "*"),
        ("code_challenge_method", "S256"),
        ("id_token_add_organizations", "true"),
        ("codex_cli_simplified_flow", "true"),
        ("originator", "tau"),
    ];
    if !known.check("authorize", &asked, &expected) || asked["state"].len() < 32 {
        return answer(400, json!({"error": "invalid_request"}));
    }
    let redirect = asked["redirect_uri"].clone();
    if !redirect.starts_with("http://localhost:") || !redirect.ends_with("/auth/callback") {
        known.wrong.push(redirect.clone());
    }
    let code = format!("the-code-{}", known.codes.len());
    let target = format!("{redirect}?code={code}&scope=openid&state={}", asked["state"]);
    if !known.manner.is_replayed {
        known.codes.insert(code, asked);
    }
    Redirect::to(&target).into_response()
}

fn openrouter(server: &Server, asked: Fields) -> Response {
    let mut known = server.known();
    let expected = [("callback_url", "*"), ("code_challenge", "*"), ("code_challenge_method", "S256")];
    if !known.check("auth", &asked, &expected) {
        return answer(400, json!({"error": "invalid_request"}));
    }
    let target = format!("{}?code=the-code", asked["callback_url"]);
    known.codes.insert("the-code".to_owned(), asked);
    Redirect::to(&target).into_response()
}

/// Whether a code is known and belongs to the verifier. It can be used once.
fn fits(known: &mut Known, sent: &Fields) -> bool {
    let Some(code) = known.codes.remove(&sent["code"]) else { return false };
    let hash = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, sent["code_verifier"].as_bytes()));
    code["code_challenge"] == hash && code.get("redirect_uri") == sent.get("redirect_uri")
}

fn key(server: &Server, sent: &Fields) -> Response {
    let mut known = server.known();
    let expected = [("code", "*"), ("code_verifier", "*"), ("code_challenge_method", "S256")];
    if !known.check("keys", sent, &expected) || !fits(&mut known, sent) {
        return answer(403, json!({"error": {"code": 403, "message": "invalid code"}}));
    }
    known.access = vec!["sk-or-v1-the-key".to_owned()];
    answer(200, json!({"key": "sk-or-v1-the-key", "user_id": "user"}))
}

fn device(server: &Server, path: &str, sent: Fields) -> Response {
    let mut known = server.known();
    let qwen = [
        ("client_id", QWEN),
        ("scope", "openid profile email model.completion"),
        ("code_challenge", "*"),
        ("code_challenge_method", "S256"),
    ];
    let expected: &[(&str, &str)] = match path {
        "/login/device/code" => &[("client_id", COPILOT), ("scope", "read:user")],
        "/api/oauth/device_authorization" => &[("client_id", KIMI)],
        _ => &qwen,
    };
    if !known.check("device", &sent, expected) {
        return answer(400, json!({"error": "invalid_request"}));
    }
    known.device = Some(sent);
    let page = format!("{}/device", known.url);
    answer(
        200,
        json!({"device_code": "the-device-code", "user_code": "WXYZ-5678", "verification_uri": page,
            "expires_in": known.manner.code_life, "interval": known.manner.interval}),
    )
}

fn chatgpt_device(server: &Server, sent: &Fields) -> Response {
    let mut known = server.known();
    let expected = [("device_auth_id", "the-device-code"), ("user_code", "ABCD-1234")];
    if !known.check("deviceauth", sent, &expected) {
        return answer(400, json!({"error": "invalid_request"}));
    }
    match known.polls(&sent["device_auth_id"]) {
        "granted" => {
            let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, b"the-verifier"));
            let redirect = format!("{}/deviceauth/callback", known.url);
            let code =
                [("code_challenge".to_owned(), challenge.clone()), ("redirect_uri".to_owned(), redirect)];
            known.codes.insert("the-device-answer".to_owned(), code.into());
            answer(
                200,
                json!({"authorization_code": "the-device-answer", "code_verifier": "the-verifier",
                    "code_challenge": challenge}),
            )
        }
        "authorization_pending" => {
            answer(403, json!({"error": {"code": "deviceauth_authorization_pending"}}))
        }
        error => answer(400, json!({"error": error})),
    }
}

fn token(server: &Server, path: &str, headers: &HashMap<String, String>, sent: &Fields) -> Response {
    let mut known = server.known();
    let grant = sent.get("grant_type").cloned().unwrap_or_default();
    known.grants.push(grant.clone());
    let client = match path {
        "/oauth/token" => CHATGPT,
        "/api/oauth/token" => KIMI,
        "/api/v1/oauth2/token" => QWEN,
        _ => COPILOT,
    };
    let refused =
        |error: &str| answer(400, json!({"error": error, "error_description": "sent \nby the server"}));
    if !headers["content-type"].starts_with("application/x-www-form-urlencoded") {
        known.wrong.push("not a form".to_owned());
    }
    match grant.as_str() {
        "authorization_code" => {
            let expected = [
                ("grant_type", "authorization_code"),
                ("client_id", client),
                ("code", "*"),
                ("code_verifier", "*"),
                ("redirect_uri", "*"),
            ];
            if !known.check("token", sent, &expected) || !fits(&mut known, sent) {
                return refused("invalid_grant");
            }
        }
        "refresh_token" => {
            let expected = [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", "*")];
            let is_right = known.check("refresh", sent, &expected);
            // A reused token ends the login, as it may have been stolen.
            if !is_right || known.refresh.take() != sent.get("refresh_token").cloned() {
                return refused("invalid_grant");
            }
        }
        GRANT => {
            let mut expected =
                vec![("grant_type", GRANT), ("client_id", client), ("device_code", "the-device-code")];
            if client == QWEN {
                expected.push(("code_verifier", "*"));
            }
            if !known.check("poll", sent, &expected) {
                return refused("invalid_request");
            }
            let hash = sent
                .get("code_verifier")
                .map(|verifier| BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes())));
            let is_same =
                known.device.as_ref().is_some_and(|device| device.get("code_challenge") == hash.as_ref());
            let said = known.polls(&sent["device_code"]);
            if said != "granted" {
                // GitHub answers with status 200, and names the new time.
                let interval = known.manner.interval;
                let status = if client == COPILOT { 200 } else { 400 };
                return answer(
                    status,
                    json!({"error": said, "error_description": "wait", "interval": interval}),
                );
            }
            if !is_same {
                return refused("invalid_grant");
            }
            if client == COPILOT {
                known.refresh = Some("gho-the-github-token".to_owned());
                return answer(
                    200,
                    json!({"access_token": "gho-the-github-token", "token_type": "bearer", "scope": ""}),
                );
            }
        }
        _ => return refused("unsupported_grant_type"),
    }
    let tokens = known.tokens();
    answer(200, tokens)
}

fn copilot(server: &Server, headers: &HashMap<String, String>) -> Response {
    let mut known = server.known();
    known.grants.push("copilot".to_owned());
    let is_known = headers.get("authorization").map(String::as_str) == Some("Bearer gho-the-github-token");
    let is_copilot = headers.get("copilot-integration-id").map(String::as_str) == Some("vscode-chat")
        && headers.contains_key("editor-version")
        && headers.contains_key("editor-plugin-version");
    if !is_copilot {
        known.wrong.push(format!("{headers:?}"));
    }
    if !is_known || known.refresh.is_none() {
        return answer(401, json!({"message": "Bad credentials"}));
    }
    if let Some(said) = known.manner.no_plan {
        let details = json!({"message": said, "title": "x"});
        return answer(403, json!({"message": "Resource not accessible", "error_details": details}));
    }
    known.given += 1;
    let token = format!("tid=1;exp=2;copilot-token-{}", known.given);
    known.access = vec![token.clone()];
    let expires = jiff::Timestamp::now().as_second() + known.manner.life;
    answer(
        200,
        json!({"token": token, "expires_at": expires, "refresh_in": 1500,
            "endpoints": {"api": format!("{}/copilot", known.url)}}),
    )
}

fn service(server: &Server, asked: Asked) -> Response {
    let mut known = server.known();
    let given = asked.headers.get("authorization").cloned().unwrap_or_default();
    let is_known = known.access.iter().any(|access| given == format!("Bearer {access}"));
    let path = asked.path.clone();
    known.asked.push(asked);
    if !is_known {
        return answer(
            401,
            json!({"error": {"message": format!("the token {given} has expired"), "type": "x"}}),
        );
    }
    if let Some((status, body)) = known.manner.service.clone() {
        return known.manner.with_limits(answer(status, body));
    }
    let events: Vec<Value> = if path.ends_with("/responses") {
        vec![
            json!({"type": "response.created", "response": {"id": "r1"}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m1",
                "role": "assistant", "content": []}}),
            json!({"type": "response.content_part.added", "item_id": "m1", "output_index": 0, "content_index": 0,
                "part": {"type": "output_text", "text": ""}}),
            json!({"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0,
                "delta": "Hello from the plan."}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "id": "m1",
                "role": "assistant", "content": [{"type": "output_text", "text": "Hello from the plan."}]}}),
            json!({"type": "response.completed", "response": {"id": "r1", "status": "completed",
                "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        ]
    } else if path.ends_with("/messages") {
        vec![
            json!({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": "Hello from the plan."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ]
    } else {
        vec![
            json!({"choices": [{"index": 0, "delta": {"content": "Hello from the plan."}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ]
    };
    let event = |event: &Value| match event.get("type") {
        Some(kind) => format!("event: {}\ndata: {event}\n\n", kind.as_str().unwrap()),
        None => format!("data: {event}\n\n"),
    };
    let body: String = events.iter().map(event).collect();
    known.manner.with_limits(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}
