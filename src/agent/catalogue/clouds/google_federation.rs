//! Workload identity federation of Google Cloud, credentials of type `external_account`: the token of another
//! identity provider is exchanged for one of Google, with which a service account may be impersonated.
//!
//! Source: google.aip.dev/auth/4117.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use url::Url;

use super::{AT_HAND, ExpiringKey, Finder, WITHIN, aws, bearer, file, form, now, request};
use crate::catalogue::login::check_url;
use crate::provider::sigv4::{Signing, host, sign};
use crate::secrets::Secret;
use tau_tools::user_error::UserError;

/// The scope of tokens.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Where tokens are exchanged if the file does not say.
const STS: &str = "https://sts.googleapis.com/v1/token";
/// The question that proves who somebody is at AWS.
const WHO_AM_I: &str = "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";
/// The life of an impersonated token in seconds, if the file does not say.
const LIFE: u64 = 3600;
/// The time limit of a command in milliseconds, if the file does not say, and the most that it may say.
const COMMAND: (u64, u64) = (30_000, 120_000);
/// The command that makes the file.
const AGAIN: &str = "make the file again with `gcloud iam workload-identity-pools create-cred-config`";
const ALLOW: &str = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";

/// The credentials of a file.
struct External<'a> {
    finder: &'a Finder,
    file: &'a Value,
    hidden: &'a [String],
}

/// Exchanges the token that the file leads to. A command that prints it does not see the variables in `hidden`.
pub(super) async fn find(finder: &Finder, file: &Value, hidden: &[String]) -> Result<ExpiringKey, UserError> {
    let external = External { finder, file, hidden };
    let subject = external.subject().await?;
    let granted = external.exchange_token(&subject).await?;
    match text(file, "service_account_impersonation_url") {
        Some(url) => external.impersonate_account(url, &granted.key).await,
        None => Ok(granted),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn missing(name: &str) -> UserError {
    UserError::new(format!("the credentials have no {name}")).remedy(AGAIN)
}

fn unusable(name: &str, why: impl std::fmt::Display) -> UserError {
    UserError::new(format!("{name} of the credentials cannot be used")).because(why)
}

/// Whether an address is on this machine or its network link, where there is no encryption.
fn is_near(url: &str) -> bool {
    let is_link = Url::parse(url)
        .is_ok_and(|url| matches!(url.host(), Some(url::Host::Ipv4(address)) if address.is_link_local()));
    is_link || crate::catalogue::is_loopback(url)
}

impl External<'_> {
    fn required_field(&self, name: &str) -> Result<&str, UserError> {
        text(self.file, name).ok_or_else(|| missing(name))
    }

    /// The token of the other identity provider.
    async fn subject(&self) -> Result<Secret, UserError> {
        let source = self.file.get("credential_source").ok_or_else(|| missing("credential_source"))?;
        if let Some(path) = text(source, "file") {
            let content = file(&PathBuf::from(path))
                .map_err(|why| UserError::new("there is no token to exchange").because(why))?;
            return in_format(source, &content, path);
        }
        if let Some(environment) = text(source, "environment_id") {
            return match environment {
                "aws1" => self.of_aws(source).await,
                other => Err(unusable("environment_id", format!("{other:?} is not known to tau"))),
            };
        }
        if let Some(url) = text(source, "url") {
            return self.of_url(source, url).await;
        }
        match source.get("executable") {
            Some(executable) => self.of_command(executable).await,
            None => {
                let kinds = "it needs a file, a url, an environment_id or an executable";
                Err(unusable("credential_source", kinds).remedy(AGAIN))
            }
        }
    }

    async fn of_url(&self, source: &Value, url: &str) -> Result<Secret, UserError> {
        let within = match is_near(url) {
            true => AT_HAND,
            false => {
                check_url(url).map_err(|why| unusable("credential_source.url", why))?;
                WITHIN
            }
        };
        let headers = source.get("headers").and_then(Value::as_object).into_iter().flatten();
        let headers: Vec<(&str, &str)> =
            headers.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
        let asked = request("GET", url, &headers, "")
            .map_err(|_| unusable("credential_source", "its url or headers are not valid"))?;
        let content = self.finder.text(asked, within).await;
        let content = content.map_err(|why| UserError::new("there is no token to exchange").because(why))?;
        in_format(source, &content, "the answer of credential_source.url")
    }

    /// A signed question to AWS, which Google asks for itself.
    async fn of_aws(&self, source: &Value) -> Result<Secret, UserError> {
        let (credentials, _) = aws::credentials(self.finder, self.hidden)
            .await
            .map_err(|why| UserError::new("there are no AWS credentials to exchange").because(why))?;
        let region = aws::region(self.finder)?;
        let address = text(source, "regional_cred_verification_url").unwrap_or(WHO_AM_I);
        let address = address.replace("{region}", &region);
        let url = Url::parse(&address)
            .map_err(|_| unusable("regional_cred_verification_url", "it is not a valid address"))?;
        let target =
            [("x-goog-cloud-target-resource".to_owned(), self.required_field("audience")?.to_owned())];
        let signing = Signing { method: "POST", url: &url, region: &region, service: "sts", body: b"" };
        let signed = sign(signing, &target, &credentials, jiff::Timestamp::now());
        let host = [("host".to_owned(), host(&url))];
        let headers: Vec<Value> = [&host[..], &target, &signed]
            .concat()
            .iter()
            .map(|(key, value)| json!({ "key": key, "value": value }))
            .collect();
        let question = json!({ "url": address, "method": "POST", "headers": headers }).to_string();
        let encoded: String = url::form_urlencoded::byte_serialize(question.as_bytes()).collect();
        // A space would be `+` there.
        Ok(Secret::new(encoded.replace('+', "%20")))
    }

    async fn of_command(&self, executable: &Value) -> Result<Secret, UserError> {
        if self.finder.var(ALLOW).as_deref() != Some("1") {
            let what =
                "the token to exchange is printed by a command of the file, which tau does not run unasked";
            return Err(UserError::new(what).remedy(format!("set {ALLOW}=1 if you trust the file")));
        }
        let command = text(executable, "command").ok_or_else(|| missing("executable.command"))?;
        let output = text(executable, "output_file");
        let kept = output.and_then(|path| file(&PathBuf::from(path)).ok());
        if let Some(token) = kept.and_then(|kept| parse_token_output(&kept, true).ok()) {
            return Ok(token);
        }
        let mut env = vec![
            ("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", self.required_field("audience")?),
            ("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", self.required_field("subject_token_type")?),
            ("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"),
        ];
        let impersonated = text(self.file, "service_account_impersonation_url");
        let email =
            impersonated.and_then(|url| url.rsplit_once('/')?.1.split_once(':')).map(|(email, _)| email);
        env.extend(email.map(|email| ("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL", email)));
        env.extend(output.map(|output| ("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", output)));
        let limit = executable.get("timeout_millis").and_then(Value::as_u64).unwrap_or(COMMAND.0);
        let limit = Duration::from_millis(limit.min(COMMAND.1));
        let name = "the command of credential_source";
        let printed = super::command_output_within(command, name, self.hidden, &env, limit).await?;
        parse_token_output(printed.expose(), false)
            .map_err(|why| UserError::new(format!("{name} failed")).because(why))
    }

    /// A token of Google for this one.
    async fn exchange_token(&self, subject: &Secret) -> Result<ExpiringKey, UserError> {
        let url = text(self.file, "token_url").unwrap_or(STS);
        check_url(url).map_err(|why| unusable("token_url", why))?;
        let mut fields = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("audience", self.required_field("audience")?),
            ("scope", SCOPE),
            ("subject_token_type", self.required_field("subject_token_type")?),
            ("subject_token", subject.expose()),
        ];
        let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
        let client = text(self.file, "client_id").map(|client| {
            let secret = text(self.file, "client_secret").unwrap_or_default();
            format!("Basic {}", BASE64_STANDARD.encode(format!("{client}:{secret}")))
        });
        headers.extend(client.as_deref().map(|client| ("authorization", client)));
        let project = text(self.file, "workforce_pool_user_project").filter(|_| client.is_none());
        let options = project.map(|project| json!({ "userProject": project }).to_string());
        fields.extend(options.as_deref().map(|options| ("options", options)));
        let answer = self.finder.json(request("POST", url, &headers, form(&fields))?, WITHIN).await;
        answer.and_then(|answer| bearer(&answer)).map_err(|why| {
            UserError::new("the token was not exchanged").because(why).remedy(
                "check audience and subject_token_type of the credentials, and the provider of the pool",
            )
        })
    }

    /// A token of the service account, for one of the pool.
    async fn impersonate_account(&self, url: &str, token: &Secret) -> Result<ExpiringKey, UserError> {
        check_url(url).map_err(|why| unusable("service_account_impersonation_url", why))?;
        let life = self.file.pointer("/service_account_impersonation/token_lifetime_seconds");
        let life = life.and_then(Value::as_u64).unwrap_or(LIFE);
        let body = json!({ "scope": [SCOPE], "lifetime": format!("{life}s") }).to_string();
        let authorization = format!("Bearer {}", token.expose());
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        let answer = self.finder.json(request("POST", url, &headers, body)?, WITHIN).await;
        let granted = answer.and_then(|answer| {
            let expires = text(&answer, "expireTime").and_then(|time| time.parse::<jiff::Timestamp>().ok());
            Ok(ExpiringKey { expires: expires.map(jiff::Timestamp::as_second), ..bearer(&answer)? })
        });
        granted.map_err(|why| {
            UserError::new("the service account was not impersonated")
                .because(why)
                .remedy("give the identity the role roles/iam.workloadIdentityUser on it")
        })
    }
}

/// The token in a text of the format that the file names.
fn in_format(source: &Value, content: &str, place: &str) -> Result<Secret, UserError> {
    let token = match source.pointer("/format/type").and_then(Value::as_str).unwrap_or("text") {
        "text" => content.trim().to_owned(),
        "json" => {
            let name = source.pointer("/format/subject_token_field_name").and_then(Value::as_str);
            let name = name.ok_or_else(|| missing("subject_token_field_name"))?;
            let value: Value =
                serde_json::from_str(content).map_err(|_| format!("{place} is not JSON, as format says"))?;
            let token = text(&value, name).map(str::to_owned);
            token.ok_or_else(|| format!("{place} has no {name}, which should hold the token to exchange"))?
        }
        other => return Err(unusable("format", format!("{other:?} is neither text nor json"))),
    };
    match token.is_empty() {
        true => Err(format!("{place} is empty; it should hold the token to exchange").into()),
        false => Ok(Secret::new(token)),
    }
}

/// The token in what a command has printed, or has kept in its file, where it has to say how long it is good.
fn parse_token_output(printed: &str, is_kept: bool) -> Result<Secret, UserError> {
    let answer: Value = serde_json::from_str(printed).map_err(|_| "it did not print JSON".to_owned())?;
    if answer.get("success").and_then(Value::as_bool) != Some(true) {
        let said = text(&answer, "message").unwrap_or("it did not say why");
        return Err(said.chars().take(200).collect::<String>().into());
    }
    let is_good = match answer.get("expiration_time").and_then(Value::as_i64) {
        Some(expires) => now() < expires,
        None => !is_kept,
    };
    if !is_good {
        return Err("its token has expired".into());
    }
    let is_saml = text(&answer, "token_type").is_some_and(|kind| kind.ends_with(":saml2"));
    let token = text(&answer, if is_saml { "saml_response" } else { "id_token" });
    token.map(Secret::new).ok_or_else(|| "its answer has no token".into())
}
