//! Models of clouds by the credentials of the clouds' own tools: the real program, and the services of the clouds
//! on loopback, which check signatures, assertions and headers.

mod addresses;
mod federation;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::program::{Ended, bare, run};

const SAID: &str = "Hello from the cloud.";

#[derive(Clone, Debug)]
struct Asked {
    method: String,
    path: String,
    query: String,
    headers: HashMap<String, String>,
    body: String,
}

impl Asked {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

#[derive(Clone)]
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server { url, asked: Arc::default() };
        let router = Router::new().fallback(handle).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    fn last(&self) -> Asked {
        self.asked().pop().expect("a request")
    }

    /// The host and the port.
    fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }
}

/// The program with nothing configured but these variables.
fn tau(home: &Path, model: &str, env: &[(&str, &str)]) -> Command {
    let mut command = bare(home);
    command.env("TAU_HOME", home.join("tau")).env("AWS_EC2_METADATA_DISABLED", "true");
    // Not whoever is logged in on this machine.
    command.env("PATH", "/nowhere").envs(env.iter().copied()).args(["-p", "--model", model, "hello"]);
    command
}

async fn ended(home: &Path, model: &str, env: &[(&str, &str)]) -> Ended {
    run(&mut tau(home, model, env), None).await
}

async fn answered(home: &Path, model: &str, env: &[(&str, &str)]) {
    let ended = ended(home, model, env).await;
    assert_eq!((ended.code, ended.out.trim()), (0, SAID), "{ended:?}");
}

fn answer(status: u16, body: Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

fn events(events: &[Value]) -> Response {
    let body: String = events
        .iter()
        .map(|event| match event.get("type").and_then(Value::as_str) {
            Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        })
        .collect();
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn of_claude() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

/// A message of the event stream of AWS.
fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(u32::MAX, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 }
            })
        })
    };
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap());
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let mut bytes = u32::try_from(16 + head.len() + payload.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(&u32::try_from(head.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&crc(&bytes).to_be_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc(&bytes).to_be_bytes());
    bytes
}

fn event_stream(events: &[Value]) -> Response {
    let chunk = |event: &Value| {
        let payload = json!({"bytes": BASE64_STANDARD.encode(event.to_string()), "p": "abcd"}).to_string();
        message(&[(":event-type", "chunk"), (":message-type", "event")], payload.as_bytes())
    };
    let body: Vec<u8> = events.iter().flat_map(chunk).collect();
    ([(header::CONTENT_TYPE, "application/vnd.amazon.eventstream")], body).into_response()
}

/// Whether a request is signed with this secret, computed from what has arrived.
fn is_signed(asked: &Asked, access: &str, secret: &str, region: &str, service: &str) -> bool {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let authorization = asked.header("authorization");
    let part = |name: &str| {
        let (_, rest) = authorization.split_once(&format!("{name}="))?;
        Some(rest.split(", ").next().unwrap().to_owned())
    };
    let (Some(credential), Some(names), Some(signature)) =
        (part("Credential"), part("SignedHeaders"), part("Signature"))
    else {
        return false;
    };
    let time = asked.header("x-amz-date");
    let date = &time[..8];
    let scope = format!("{date}/{region}/{service}/aws4_request");
    // Each byte of the path is encoded once more.
    let path: String = asked.path.replace('%', "%25");
    let headers: String = names.split(';').map(|name| format!("{name}:{}\n", asked.header(name))).collect();
    let hash = hex(digest(&SHA256, asked.body.as_bytes()).as_ref());
    let request = format!("{}\n{path}\n{}\n{headers}\n{names}\n{hash}", asked.method, asked.query);
    let text =
        format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(digest(&SHA256, request.as_bytes()).as_ref()));
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [date, region, service, "aws4_request", text.as_str()] {
        key = hmac::sign(&hmac::Key::new(HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
    }
    credential == format!("{access}/{scope}") && signature == hex(&key) && names.contains("host")
}

const XML: &str = "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>\
    <SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-token</SessionToken>\
    <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";

async fn handle(State(server): State<Server>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, 1 << 24).await.unwrap();
    let headers = parts.headers.iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&bytes).into_owned(),
    };
    server.asked.lock().unwrap().push(asked.clone());
    if let Some(answer) = federation::answered(&asked) {
        return answer;
    }
    let path = asked.path.as_str();
    let keys = |access: &str, secret: &str| {
        json!({"AccessKeyId": access, "SecretAccessKey": secret, "Token": "their-token",
            "Expiration": "2099-01-01T00:00:00Z"})
    };
    match path {
        _ if asked.header("authorization").contains("/xx-refused-1/") => {
            answer(403, json!({"message": "User is not authorized to perform: bedrock:InvokeModel"}))
        }
        _ if path.starts_with("/model/") => event_stream(&of_claude()),
        _ if path.ends_with(":streamRawPredict") => events(&of_claude()),
        _ if path.contains(":streamGenerateContent") => events(&[json!({"candidates": [
            {"content": {"role": "model", "parts": [{"text": SAID}]}, "finishReason": "STOP"}]})]),
        _ if path.ends_with("/chat/completions") => events(&[
            json!({"choices": [{"index": 0, "delta": {"content": SAID}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ]),
        _ if path.ends_with("/responses") => events(&[
            json!({"type": "response.output_item.added", "output_index": 0,
                "item": {"type": "message", "id": "m1", "role": "assistant", "content": []}}),
            json!({"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0,
                "delta": SAID}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "id": "m1",
                "role": "assistant", "content": [{"type": "output_text", "text": SAID}]}}),
            json!({"type": "response.completed", "response": {"id": "r1", "status": "completed"}}),
        ]),
        // The security token service.
        "/" => XML.into_response(),
        "/federation/credentials" if asked.header("x-amz-sso_bearer_token") == "sso-token" => answer(
            200,
            json!({"roleCredentials": {"accessKeyId": "ASIASSO", "secretAccessKey": "sso-secret",
                "sessionToken": "sso-session", "expiration": 4_070_908_800_000_i64}}),
        ),
        "/container" if asked.header("authorization") == "the-container-token" => {
            answer(200, keys("ASIACONTAINER", "container-secret"))
        }
        "/latest/api/token" if asked.method == "PUT" => "imds-token".into_response(),
        "/latest/meta-data/iam/security-credentials/"
            if asked.header("x-aws-ec2-metadata-token") == "imds-token" =>
        {
            "the-role\n".into_response()
        }
        "/latest/meta-data/iam/security-credentials/the-role"
            if asked.header("x-aws-ec2-metadata-token") == "imds-token" =>
        {
            answer(200, keys("ASIAMACHINE", "machine-secret"))
        }
        "/computeMetadata/v1/instance/service-accounts/default/token"
            if asked.header("metadata-flavor") == "Google" =>
        {
            answer(200, json!({"access_token": "ya29.machine", "expires_in": 3600}))
        }
        "/token" => answer(200, json!({"access_token": "ya29.the-token", "expires_in": 3600})),
        "/tenant/oauth2/v2.0/token" => answer(200, json!({"access_token": entra(), "expires_in": 3600})),
        "/identity" if asked.header("x-identity-header") == "the-header" => {
            answer(200, json!({"access_token": entra(), "expires_on": "4070908800"}))
        }
        _ => answer(403, json!({"message": "no such thing"})),
    }
}

/// A token of Entra ID.
fn entra() -> String {
    format!("e30.{}.entra", BASE64_URL_SAFE_NO_PAD.encode(r#"{"aud":"x"}"#))
}

const CLAUDE: &str = "amazon-bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0";

#[tokio::test(flavor = "multi_thread")]
async fn bedrock_with_keys_of_the_environment() {
    let (server, home) = (Server::start().await, tempfile::tempdir().unwrap());
    let env = [
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url.as_str()),
        ("AWS_ACCESS_KEY_ID", "AKIAENV"),
        ("AWS_SECRET_ACCESS_KEY", "env-secret"),
        ("AWS_SESSION_TOKEN", "env-session"),
        ("AWS_REGION", "eu-central-1"),
        // They come before a profile.
        ("AWS_PROFILE", "none"),
    ];
    answered(home.path(), CLAUDE, &env).await;
    let asked = server.last();
    assert!(is_signed(&asked, "AKIAENV", "env-secret", "eu-central-1", "bedrock"), "{asked:?}");
    assert_eq!(
        asked.path,
        "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream"
    );
    assert_eq!(asked.header("x-amz-security-token"), "env-session");
    assert_eq!(asked.header("accept"), "application/vnd.amazon.eventstream");
    let body = asked.json();
    assert_eq!(body["anthropic_version"], "bedrock-2023-05-31");
    assert!(
        body.get("model").is_none() && body.get("stream").is_none() && body["max_tokens"].is_number(),
        "{body}"
    );
    // The OpenAI format, signed as well.
    answered(home.path(), "amazon-bedrock/openai.gpt-oss-20b-1:0", &env).await;
    let asked = server.last();
    assert_eq!(asked.path, "/openai/v1/chat/completions");
    assert!(is_signed(&asked, "AKIAENV", "env-secret", "eu-central-1", "bedrock"), "{asked:?}");
    // A key of Bedrock itself comes first.
    let with_key = [&env[..], &[("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")]].concat();
    answered(home.path(), CLAUDE, &with_key).await;
    assert_eq!(server.last().header("authorization"), "Bearer bedrock-key");
    // Secrets are in nothing that tau writes.
    let mut command = tau(home.path(), CLAUDE, &env);
    let ended = run(command.env("TAU_LOG", "trace"), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let written = text_below(home.path());
    assert!(
        written.contains("hello") && !written.contains("env-secret") && !written.contains("env-session"),
        "{written}"
    );
}

/// Every file below a folder, as text.
fn text_below(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => text_below(&path),
            false => String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned(),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bedrock_with_profiles_and_roles() {
    let (server, home) = (Server::start().await, tempfile::tempdir().unwrap());
    let write = |path: &str, text: &str| {
        crate::support::write(&home.path().join(path), text);
    };
    write(
        ".aws/config",
        "[profile static]\nregion = eu-west-1\n[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = static\n\
         external_id = ex\n[profile sso]\nsso_session = corp\nsso_account_id = 123\nsso_role_name = Dev\nregion = us-west-2\n\
         [sso-session corp]\nsso_start_url = https://corp.example/start\nsso_region = us-east-1\n\
         [profile expired]\ncredential_process = /bin/echo '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\
         \"Expiration\":\"2020-01-01T00:00:00Z\"}'\n\
         [profile process]\ncredential_process = /bin/echo '{\"Version\":1,\"AccessKeyId\":\"AKIAPROCESS\",\"SecretAccessKey\":\"process-secret\"}'\n\
         [profile empty]\nregion = us-east-1\n[profile lost]\nsso_session = nope\n",
    );
    write(
        ".aws/credentials",
        "[static]\naws_access_key_id = AKIASTATIC\naws_secret_access_key = static-secret\n",
    );
    // The name of the file is the SHA-1 of the session's name.
    let sso = ".aws/sso/cache/6c4a33f8c08c1d2b6a9d9f2b4b9c0e0000000000.json";
    let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, b"corp");
    let name: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let sso = sso.replace("6c4a33f8c08c1d2b6a9d9f2b4b9c0e0000000000", &name);
    write(&sso, r#"{"accessToken":"sso-token","expiresAt":"2099-01-01T00:00:00Z"}"#);
    let base = [
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url.as_str()),
        ("AWS_ENDPOINT_URL_STS", server.url.as_str()),
        ("AWS_ENDPOINT_URL_SSO", server.url.as_str()),
    ];
    for (profile, access, secret, region) in [
        ("static", "AKIASTATIC", "static-secret", "eu-west-1"),
        ("role", "ASIAROLE", "role-secret", "us-east-1"),
        ("sso", "ASIASSO", "sso-secret", "us-west-2"),
        ("process", "AKIAPROCESS", "process-secret", "us-east-1"),
    ] {
        let env = [&base[..], &[("AWS_PROFILE", profile), ("PATH", "/bin:/usr/bin")]].concat();
        answered(home.path(), CLAUDE, &env).await;
        let asked = server.last();
        assert!(is_signed(&asked, access, secret, region, "bedrock"), "{profile}: {asked:?}");
    }
    // Without a region and an address, nobody knows where a request is to go.
    let env = [("AWS_PROFILE", "process"), ("PATH", "/bin:/usr/bin")];
    let ended_early = ended(home.path(), CLAUDE, &env).await;
    let why = "no region of AWS is set; set AWS_REGION, or `region` of the profile process";
    assert!(ended_early.code == 3 && ended_early.err.contains(why), "{ended_early:?}");
    let known = [("AWS_ACCESS_KEY_ID", "AKIAENV"), ("AWS_SECRET_ACCESS_KEY", "env-secret")];
    let refusing = [&base[..], &known, &[("AWS_REGION", "xx-refused-1")]].concat();
    let refused = ended(home.path(), CLAUDE, &refusing).await;
    let why = "refused the AWS credentials: give them the right to use ";
    assert!(refused.err.contains(why) && !refused.err.contains("auth set"), "{refused:?}");
    let assumed = server.asked().into_iter().find(|asked| asked.path == "/").expect("a role was assumed");
    assert!(is_signed(&assumed, "AKIASTATIC", "static-secret", "us-east-1", "sts"), "{assumed:?}");
    assert!(
        assumed.body.contains("Action=AssumeRole&") && assumed.body.contains("ExternalId=ex"),
        "{}",
        assumed.body
    );
    let federation = server.asked().into_iter().find(|asked| asked.path.starts_with("/federation")).unwrap();
    assert_eq!(federation.query, "role_name=Dev&account_id=123");
    // Without a login, and without anything.
    write(&sso, r#"{"accessToken":"sso-token","expiresAt":"2001-01-01T00:00:00Z"}"#);
    for (profile, why) in [
        ("sso", "run `aws sso login --profile sso`"),
        ("expired", "credential_process printed keys that have expired"),
        ("empty", "the profile empty has none"),
        ("none", "there is no profile none"),
        ("lost", "the sso_session nope, but ~/.aws/config has no such section"),
    ] {
        let env = [&base[..], &[("AWS_PROFILE", profile), ("PATH", "/bin:/usr/bin")]].concat();
        let ended = ended(home.path(), CLAUDE, &env).await;
        assert!(ended.code == 3 && ended.err.contains(why), "{profile}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bedrock_with_the_role_of_a_container_or_a_machine() {
    let (server, home) = (Server::start().await, tempfile::tempdir().unwrap());
    let bedrock = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url.as_str());
    let full = format!("{}/container", server.url);
    let env = [
        bedrock,
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", full.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "the-container-token"),
    ];
    answered(home.path(), CLAUDE, &env).await;
    assert!(is_signed(&server.last(), "ASIACONTAINER", "container-secret", "us-east-1", "bedrock"));
    assert_eq!(server.last().header("x-amz-security-token"), "their-token");
    let far = [bedrock, ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/x")];
    let ended = ended(home.path(), CLAUDE, &far).await;
    assert!(ended.code == 3 && ended.err.contains("without TLS"), "{ended:?}");
    let env = [
        bedrock,
        ("AWS_EC2_METADATA_DISABLED", "false"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url.as_str()),
        // The machine's own services are never behind a proxy.
        ("HTTP_PROXY", "http://192.0.2.1:1"),
    ];
    answered(home.path(), CLAUDE, &env).await;
    assert!(is_signed(&server.last(), "ASIAMACHINE", "machine-secret", "us-east-1", "bedrock"));
    let token = home.path().join("token");
    std::fs::write(&token, "the-web-identity").unwrap();
    let env = [
        bedrock,
        ("AWS_ENDPOINT_URL_STS", server.url.as_str()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/web"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
    ];
    answered(home.path(), CLAUDE, &env).await;
    assert!(is_signed(&server.last(), "ASIAROLE", "role-secret", "us-east-1", "bedrock"));
    let asked = server.asked().into_iter().find(|asked| asked.path == "/").unwrap();
    assert!(
        asked.body.contains("WebIdentityToken=the-web-identity") && asked.header("authorization").is_empty()
    );
}

/// A key of 2048 bits, made for this test, and its public half.
fn key() -> (String, Vec<u8>) {
    let text = include_str!("clouds/key.pem");
    let public: String =
        include_str!("clouds/public.pem").lines().filter(|line| !line.starts_with('-')).collect();
    // The header of a public key of RSA has 24 bytes.
    (text.to_owned(), BASE64_STANDARD.decode(public).unwrap().split_off(24))
}

#[tokio::test(flavor = "multi_thread")]
async fn vertex_with_application_default_credentials() {
    let (server, home) = (Server::start().await, tempfile::tempdir().unwrap());
    let (private, public) = key();
    let token_uri = format!("{}/token", server.url);
    let account = json!({"type": "service_account", "project_id": "my-project", "private_key_id": "k1",
        "client_email": "tau@my-project.example", "private_key": private, "token_uri": token_uri});
    let file = home.path().join("account.json");
    std::fs::write(&file, account.to_string()).unwrap();
    let env = [
        ("GOOGLE_APPLICATION_CREDENTIALS", file.to_str().unwrap()),
        ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
        ("GOOGLE_VERTEX_BASE_URL", server.url.as_str()),
    ];
    answered(home.path(), "google-vertex/gemini-3.8-flash", &env).await;
    let place = "/v1/projects/my-project/locations/europe-west4/publishers";
    let asked = server.last();
    assert_eq!(asked.path, format!("{place}/google/models/gemini-3.8-flash:streamGenerateContent"));
    assert_eq!(
        (asked.header("authorization"), asked.header("x-goog-api-key")),
        ("Bearer ya29.the-token", "")
    );
    let form = server.asked().into_iter().find(|asked| asked.path == "/token").unwrap();
    let fields: HashMap<String, String> =
        url::form_urlencoded::parse(form.body.as_bytes()).into_owned().collect();
    assert_eq!(fields["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let (text, signature) = fields["assertion"].rsplit_once('.').unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).verify(text.as_bytes(), &signature).unwrap();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!("tau@my-project.example"), &json!(token_uri)));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);

    answered(home.path(), "google-vertex/claude-haiku-4-5@20251001", &env).await;
    let asked = server.last();
    assert_eq!(asked.path, format!("{place}/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict"));
    let body = asked.json();
    assert_eq!((&body["anthropic_version"], &body["stream"]), (&json!("vertex-2023-10-16"), &json!(true)));
    assert!(body.get("model").is_none() && asked.header("x-api-key").is_empty(), "{asked:?}");

    // `gcloud auth application-default login`, and the account of a machine.
    let user = json!({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
        "quota_project_id": "other-project", "token_uri": token_uri});
    std::fs::create_dir_all(home.path().join(".config/gcloud")).unwrap();
    std::fs::write(home.path().join(".config/gcloud/application_default_credentials.json"), user.to_string())
        .unwrap();
    answered(home.path(), "google-vertex/gemini-3.8-flash", &[("GOOGLE_VERTEX_BASE_URL", &server.url)]).await;
    assert!(
        server.last().path.starts_with("/v1/projects/other-project/locations/global/"),
        "{}",
        server.last().path
    );
    let form = server.asked().into_iter().rfind(|asked| asked.path == "/token").unwrap();
    assert_eq!(form.body, "grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=r");
    let bare = tempfile::tempdir().unwrap();
    let env = [
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GCE_METADATA_HOST", server.host()),
        ("GOOGLE_VERTEX_BASE_URL", &server.url),
    ];
    answered(bare.path(), "google-vertex/gemini-3.8-flash", &env).await;
    assert_eq!(server.last().header("authorization"), "Bearer ya29.machine");
}

#[tokio::test(flavor = "multi_thread")]
async fn azure_with_a_key_or_a_token_of_entra() {
    let (server, home) = (Server::start().await, tempfile::tempdir().unwrap());
    let endpoint = ("AZURE_OPENAI_ENDPOINT", server.url.as_str());
    let key = ("AZURE_OPENAI_API_KEY", "azure-key");
    let nowhere = ended(home.path(), "azure/gpt-4.1", &[key]).await;
    assert!(nowhere.code == 1 && nowhere.err.contains("set AZURE_OPENAI_ENDPOINT"), "{nowhere:?}");
    answered(home.path(), "azure/gpt-4.1", &[endpoint, key]).await;
    let asked = server.last();
    assert_eq!((asked.path.as_str(), asked.header("api-key")), ("/openai/v1/responses", "azure-key"));
    assert_eq!(asked.header("authorization"), "");
    let client = [
        endpoint,
        ("AZURE_AUTHORITY_HOST", server.url.as_str()),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_CLIENT_SECRET", "secret"),
        ("AZURE_OPENAI_API_VERSION", "preview"),
    ];
    answered(home.path(), "azure/gpt-4.1", &client).await;
    let asked = server.last();
    assert_eq!(
        (asked.header("api-key"), asked.header("authorization")),
        ("", format!("Bearer {}", entra()).as_str())
    );
    assert_eq!(asked.query, "api-version=preview");
    let form = server.asked().into_iter().find(|asked| asked.path.starts_with("/tenant")).unwrap();
    let fields: HashMap<String, String> =
        url::form_urlencoded::parse(form.body.as_bytes()).into_owned().collect();
    assert_eq!(
        (fields["client_secret"].as_str(), fields["scope"].as_str()),
        ("secret", "https://cognitiveservices.azure.com/.default")
    );
    // As the portal offers them.
    let paths = [
        ("/", ""),
        ("/openai/v1/", ""),
        ("/openai/deployments/x/chat/completions?api-version=2024-02-01", ""),
        ("/openai/v1/responses?api-version=preview", "api-version=preview"),
    ];
    for (path, query) in paths {
        let url = format!("{}{path}", server.url);
        answered(home.path(), "azure/gpt-4.1", &[("AZURE_OPENAI_ENDPOINT", &url), key]).await;
        let asked = server.last();
        assert_eq!((asked.path.as_str(), asked.query.as_str()), ("/openai/v1/responses", query), "{path}");
    }
    // Advice is about what is missing.
    let host = ("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1");
    let no_key = ended(home.path(), "azure/gpt-4.1", &[endpoint, host]).await;
    assert!(
        no_key.err.contains("or run `az login`") && !no_key.err.contains("AZURE_OPENAI_ENDPOINT"),
        "{no_key:?}"
    );
    let profile =
        ended(home.path(), CLAUDE, &[("AWS_PROFILE", "nope"), ("AWS_REGION", "eu-central-1")]).await;
    assert!(
        profile.err.contains("there is no profile nope") && !profile.err.contains("set AWS_PROFILE"),
        "{profile:?}"
    );
    let identity = format!("{}/identity", server.url);
    let env = [endpoint, ("IDENTITY_ENDPOINT", identity.as_str()), ("IDENTITY_HEADER", "the-header")];
    answered(home.path(), "azure/gpt-4.1", &env).await;
    let asked = server.asked().into_iter().find(|asked| asked.path == "/identity").unwrap();
    assert!(asked.query.contains("resource=https%3A%2F%2Fcognitiveservices.azure.com"), "{}", asked.query);
}
