//! Requests to Amazon Bedrock: how they differ from those of the makers of the models.
//!
//! They are signed with the credentials of AWS, unless the key is one of Bedrock itself, which is sent as it is.
//! Claude has its own path and answers in an event stream of AWS (`event_stream`).

use jiff::Timestamp;
use url::Url;

use super::aws_key::AwsKey;
use super::quirks::Quirks;
use super::sigv4::{Signing, sign};
use super::{Failure, FailureKind, HttpRequest, ModelRequest};
use tau_protocol::model::{Api, Model};

/// The name of the service in signatures.
const SERVICE: &str = "bedrock";

/// Whether the answers of this model are an event stream of AWS.
pub(super) fn has_event_stream(model: &Model) -> bool {
    Quirks::of(model).bedrock() && model.api == Api::AnthropicMessages
}

/// Signs a request to Bedrock; other requests are left alone.
pub(super) fn sign_request(
    request: &ModelRequest,
    encoded: &mut HttpRequest,
    now: Timestamp,
) -> Result<(), Failure> {
    if !Quirks::of(&request.model).bedrock() {
        return Ok(());
    }
    let Some(key) = request.key.as_ref().and_then(AwsKey::parse) else { return Ok(()) };
    let failed =
        |why: String| Failure::new(FailureKind::Config, format!("the request cannot be signed: {why}"));
    let url = Url::parse(&encoded.url).map_err(|error| failed(error.to_string()))?;
    let body = serde_json::to_vec(&encoded.body).map_err(|error| failed(error.to_string()))?;
    let signing = Signing { method: "POST", url: &url, region: &key.region, service: SERVICE, body: &body };
    let is_signed = |(name, _): &&(String, String)| name == "content-type";
    let headers: Vec<(String, String)> = encoded.headers.0.iter().filter(is_signed).cloned().collect();
    encoded.headers.0.extend(sign(signing, &headers, &key.credentials, now));
    Ok(())
}
