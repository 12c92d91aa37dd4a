//! Credentials of Google Cloud: application default credentials, as its own tools find them.
//!
//! Source: cloud.google.com/docs/authentication/application-default-credentials.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::google_federation::SCOPE;
use super::{AT_HAND, ExpiringKey, Finder, WITHIN, bearer, file, form, google_federation, now, request};
use tau_protocol::model::{Api, Model};
use tau_tools::user_error::UserError;

const TOKENS: &str = "https://oauth2.googleapis.com/token";
/// The life of an assertion, in seconds.
const LIFE: i64 = 3600;
/// The base URL that a model has if it is not set.
pub(super) const USUAL: &str = "https://aiplatform.googleapis.com";

pub(super) async fn find(finder: &Finder, hidden: &[String]) -> Result<ExpiringKey, UserError> {
    match credentials(finder)? {
        Some(credentials) if credentials.get("type").and_then(Value::as_str) == Some("external_account") => {
            google_federation::find(finder, &credentials, hidden).await
        }
        Some(credentials) => of_file(finder, &credentials).await,
        None => machine(finder).await.map_err(|why| {
            UserError::new(format!(
                "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS ({why})"
            ))
        }),
    }
}

/// The file of credentials; `None` if there is no such file.
fn credentials(finder: &Finder) -> Result<Option<Value>, UserError> {
    let usual = || {
        let folder =
            finder.var("CLOUDSDK_CONFIG").map(PathBuf::from).or_else(|| finder.home(".config/gcloud"));
        folder.map(|folder| folder.join("application_default_credentials.json")).filter(|path| path.exists())
    };
    let named = finder.var("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from);
    let Some(path) = named.or_else(usual) else { return Ok(None) };
    let value = serde_json::from_str(&file(&path)?).map_err(|_| format!("{} is not JSON", path.display()))?;
    Ok(Some(value))
}

async fn of_file(finder: &Finder, credentials: &Value) -> Result<ExpiringKey, UserError> {
    let get = |name: &str| text(credentials, name);
    let tokens = match get("token_uri") {
        "" => TOKENS,
        uri => uri,
    };
    let body = match get("type") {
        "service_account" => {
            let assertion = assertion(credentials, tokens)?;
            form(&[("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)])
        }
        "authorized_user" => form(&[
            ("grant_type", "refresh_token"),
            ("client_id", get("client_id")),
            ("client_secret", get("client_secret")),
            ("refresh_token", get("refresh_token")),
        ]),
        other => {
            return Err(
                format!(
                    "credentials of type {other:?} are not supported; use a service account or workload identity federation"
                ).into()
            );
        }
    };
    crate::catalogue::login::check_url(tokens)
        .map_err(|why| format!("its token_uri cannot be used: {why}"))?;
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    bearer(&finder.json(request("POST", tokens, &headers, body)?, WITHIN).await?)
}

fn text<'a>(credentials: &'a Value, name: &str) -> &'a str {
    credentials.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The assertion of a service account: a JSON Web Token, signed with its key (RS256).
fn assertion(account: &Value, audience: &str) -> Result<String, UserError> {
    let get = |name: &str| text(account, name);
    let pem: String =
        get("private_key").lines().filter(|line| !line.starts_with("-----")).map(str::trim).collect();
    let der = BASE64_STANDARD.decode(pem).map_err(|_| "its private key is damaged".to_owned())?;
    let pair =
        RsaKeyPair::from_pkcs8(&der).map_err(|error| format!("its private key cannot be used: {error}"))?;
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": get("private_key_id") });
    let issued = now();
    let email = get("client_email");
    let claims =
        json!({ "iss": email, "scope": SCOPE, "aud": audience, "iat": issued, "exp": issued + LIFE });
    let text = [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| "its private key cannot sign".to_owned())?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

/// The service account of a machine.
async fn machine(finder: &Finder) -> Result<ExpiringKey, UserError> {
    let host = finder.var("GCE_METADATA_HOST").unwrap_or_else(|| "169.254.169.254".to_owned());
    let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
    bearer(&finder.json(request("GET", &url, &[("metadata-flavor", "Google")], "")?, AT_HAND).await?)
}

/// The address of Vertex AI for a project, a location and the maker of the model.
pub(super) fn address(finder: &Finder, model: &Model) -> Option<String> {
    if model.base_url != USUAL {
        return None;
    }
    let of_file = || {
        let credentials = credentials(finder).ok().flatten()?;
        let names = ["quota_project_id", "project_id"];
        names.iter().find_map(|name| credentials.get(name)?.as_str().map(str::to_owned))
    };
    let project = finder.first(&["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"]);
    let project = project.or_else(of_file)?;
    let location = finder.first(&["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION"]);
    let location = location.unwrap_or_else(|| "global".to_owned());
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:_".contains(&byte));
    if !is_plain(&project) || !is_plain(&location) {
        return None;
    }
    let host = finder.var("GOOGLE_VERTEX_BASE_URL").unwrap_or_else(|| match location.as_str() {
        "global" => USUAL.to_owned(),
        location => format!("https://{location}-aiplatform.googleapis.com"),
    });
    let maker = if model.api == Api::AnthropicMessages { "anthropic" } else { "google" };
    let host = host.trim_end_matches('/');
    Some(format!("{host}/v1/projects/{project}/locations/{location}/publishers/{maker}"))
}
