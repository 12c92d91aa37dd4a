//! Credentials of clouds, as the clouds' own tools find them: from variables, profiles, logins of their
//! command lines, and the machine's role.
//!
//! `aws` is for Amazon Bedrock, `google` for Vertex AI, `azure` for Azure OpenAI. All are asked for a short-lived
//! credential, which is kept until shortly before it expires. Nothing is written.

mod aws;
mod aws_files;
mod azure;
mod google;
mod google_federation;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;

use super::{EnvLookup, key_command};
use crate::provider::http::{Http, Network, ProxyChoice};
use crate::provider::{Failure, FailureKind, Headers};
use crate::secrets::Secret;
use tau_protocol::model::Model;
use tau_tools::times::seconds_now as now;
use tau_tools::user_error::UserError;

/// The maximum size of an answer or a file, in bytes.
const MAX_SIZE: usize = 256 * 1024;
/// The time limit of an answer.
const WITHIN: Duration = Duration::from_secs(20);
/// The time limit of an answer of the machine's own metadata service, which most machines do not have.
const AT_HAND: Duration = Duration::from_secs(2);
/// The time before expiry at which credentials are asked for again, in seconds.
const BEFORE: i64 = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cloud {
    Aws,
    Google,
    Azure,
}

impl Cloud {
    pub(crate) fn of(provider: &str) -> Option<Self> {
        match provider {
            "amazon-bedrock" => Some(Cloud::Aws),
            "google-vertex" => Some(Cloud::Google),
            "azure" => Some(Cloud::Azure),
            _ => None,
        }
    }

    /// The name of its credentials, for display.
    pub(crate) fn place(self) -> &'static str {
        match self {
            Cloud::Aws => "AWS credentials",
            Cloud::Google => "Google Cloud credentials",
            Cloud::Azure => "Entra ID",
        }
    }

    /// How to set it up, as part of a sentence.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Cloud::Aws => "set AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK",
            Cloud::Google => "run `gcloud auth application-default login` and set GOOGLE_CLOUD_PROJECT",
            Cloud::Azure => "set AZURE_OPENAI_ENDPOINT",
        }
    }

    /// Whether the environment says that it is used. Reads no file and asks nobody.
    pub(crate) fn is_set_up(self, env: &EnvLookup) -> bool {
        let is_set = |names: &[&str]| names.iter().any(|name| env(name).is_some());
        match self {
            Cloud::Aws => is_set(&[
                "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            ]),
            Cloud::Google => is_set(&[
                "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
                "ANTHROPIC_VERTEX_PROJECT_ID",
            ]),
            Cloud::Azure => is_set(&["AZURE_OPENAI_ENDPOINT"]),
        }
    }
}

/// A credential, and the end of its life in seconds since 1970.
struct ExpiringKey {
    key: Secret,
    expires: Option<i64>,
}

/// Finds credentials.
pub(crate) struct Clouds {
    finder: Finder,
    held: Mutex<HashMap<Cloud, ExpiringKey>>,
}

/// Where credentials are looked for.
struct Finder {
    env: EnvLookup,
    http: Arc<Http>,
    /// For the machine's own services, which are never behind a proxy.
    here: Http,
}

impl Clouds {
    pub(crate) fn new(env: EnvLookup, http: Arc<Http>) -> Self {
        let here = Http::new(Network { proxy: ProxyChoice::Never, ..http.network().clone() });
        Clouds { finder: Finder { env, http, here }, held: Mutex::default() }
    }

    /// A credential for the next request. A command that prints one does not see the variables in `hidden`.
    /// The error says what to do if none is found.
    pub(crate) async fn key(&self, cloud: Cloud, hidden: &[String]) -> Result<Secret, Failure> {
        let mut held = self.held.lock().await;
        let lasts =
            |granted: &ExpiringKey, before| granted.expires.is_none_or(|expires| now() < expires - before);
        if let Some(granted) = held.get(&cloud).filter(|granted| lasts(granted, BEFORE)) {
            return Ok(granted.key.clone());
        }
        let found = match cloud {
            Cloud::Aws => aws::find(&self.finder, hidden).await,
            Cloud::Google => google::find(&self.finder, hidden).await,
            Cloud::Azure => azure::find(&self.finder, hidden).await,
        };
        if found.is_err()
            && let Some(granted) = held.get(&cloud).filter(|granted| lasts(granted, 0))
        {
            return Ok(granted.key.clone());
        }
        let granted = found.map_err(|why| {
            let failure = Failure::new(FailureKind::Config, format!("no {}: {why}", cloud.place()));
            // A reason can have its own advice, and a cloud that is set up has no use for that of others.
            let has_advice = cloud.is_set_up(&self.finder.env) || why.to_string().contains("run `");
            if has_advice { failure } else { failure.hint(cloud.advice()) }
        })?;
        let key = granted.key.clone();
        held.insert(cloud, granted);
        Ok(key)
    }

    /// Forgets a credential that was refused.
    pub(crate) async fn forget(&self, cloud: Cloud) {
        self.held.lock().await.remove(&cloud);
    }

    /// The address for requests to a model, if the environment names it.
    pub(crate) fn address(&self, cloud: Cloud, model: &Model) -> Option<String> {
        match cloud {
            Cloud::Aws => aws::address(&self.finder, model),
            Cloud::Google => google::address(&self.finder, model),
            Cloud::Azure => azure::address(&self.finder, model),
        }
    }
}

impl Finder {
    fn var(&self, name: &str) -> Option<String> {
        (self.env)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The first of these variables that is set.
    fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.var(name))
    }

    /// A path below the home folder.
    fn home(&self, path: &str) -> Option<PathBuf> {
        Some(PathBuf::from(self.var("HOME")?).join(path))
    }

    /// Sends a request; the answer has to be JSON with a status of 200. The error is the reason, as part of a
    /// sentence, without secrets of the request.
    async fn json(&self, request: http::Request<Vec<u8>>, within: Duration) -> Result<Value, UserError> {
        let text = self.text(request, within).await?;
        serde_json::from_str(&text).map_err(|_| "the answer is not JSON".to_owned().into())
    }

    /// Like [`Finder::json`], for any text.
    async fn text(&self, request: http::Request<Vec<u8>>, within: Duration) -> Result<String, UserError> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let sent = secrets_of(&request);
        let http = if within == AT_HAND { &self.here } else { &*self.http };
        let answer = http.exchange(request, MAX_SIZE, within).await.map_err(|failure| failure.message)?;
        let body = String::from_utf8_lossy(answer.body()).into_owned();
        if answer.status().as_u16() != 200 {
            let value: Value = serde_json::from_str(&body).unwrap_or_default();
            let said = ["error_description", "message", "Message", "error"]
                .iter()
                .find_map(|field| value.get(field)?.as_str())
                .or_else(|| value.pointer("/error/message")?.as_str())
                .map(|said| {
                    format!(
                        ": {}",
                        super::login::without(said, &sent.iter().map(String::as_str).collect::<Vec<_>>())
                    )
                });
            return Err(format!(
                "{host} answered with status {}{}",
                answer.status().as_u16(),
                said.unwrap_or_default()
            )
            .into());
        }
        Ok(body)
    }
}

/// A request with these headers.
fn request(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Result<http::Request<Vec<u8>>, UserError> {
    let builder = http::Request::builder().method(method).uri(url);
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(body.into()).map_err(|_| format!("the request to {url} cannot be written").into())
}

/// The secrets in the headers and the form of a request.
fn secrets_of(request: &http::Request<Vec<u8>>) -> Vec<String> {
    let secret_fields = *tau_tools::words!(
        "client_secret refresh_token assertion client_assertion subject_token WebIdentityToken"
    );
    let fields = url::form_urlencoded::parse(request.body()).into_owned();
    let fields = fields.filter(|(name, _)| secret_fields.contains(&name.as_str())).map(|(_, value)| value);
    let headers = request.headers().iter().filter(|(name, _)| Headers::may_hold_key(name.as_str()));
    fields.chain(headers.filter_map(|(_, value)| Some(value.to_str().ok()?.to_owned()))).collect()
}

/// The output of a command of a cloud's own tools. The error is the reason, as part of a sentence.
async fn command_output(command: &str, name: &str, hidden: &[String]) -> Result<Secret, UserError> {
    command_output_within(command, name, hidden, &[], key_command::TIME_LIMIT).await
}

/// Like [`command_output`], with further variables and another time limit. The error is the reason, as part of a
/// sentence.
async fn command_output_within(
    command: &str,
    name: &str,
    hidden: &[String],
    env: &[(&str, &str)],
    limit: Duration,
) -> Result<Secret, UserError> {
    let failed = |failure: Failure| UserError::new(failure.message.replace("the command for the key", name));
    key_command::run_within(command, hidden, env, limit).await.map_err(failed)
}

fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// The content of a small file.
fn file(path: &std::path::Path) -> Result<String, UserError> {
    let read = crate::settings::private_files::read_capped(path, MAX_SIZE as u64);
    let bytes = read.map_err(|error| format!("{}: {error}", path.display()))?;
    String::from_utf8(bytes).map_err(|_| format!("{}: not text", path.display()).into())
}

/// A token in an answer of OAuth, with `expires_in` or `expires_on`.
fn bearer(answer: &Value) -> Result<ExpiringKey, UserError> {
    let token = answer.get("access_token").or_else(|| answer.get("accessToken")).and_then(Value::as_str);
    let token = token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
    let token = token.ok_or("the answer has no usable token")?;
    let number = |field: &str| {
        let value = answer.get(field)?;
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    };
    let expires = number("expires_on").or_else(|| Some(now() + number("expires_in")?));
    Ok(ExpiringKey { key: Secret::new(token), expires })
}
