//! Credentials of AWS, in the order of its own tools: variables, a web identity, a profile (keys, a role,
//! a login with `aws sso login`, a command), the role of a container, the role of a machine.
//!
//! Source: docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::Value;
use url::Url;

use super::aws_files::{Sections, parse, profile};
use super::{AT_HAND, ExpiringKey, Finder, WITHIN, file, form, request};
use crate::provider::aws_key::AwsKey;
use crate::provider::sigv4::{AwsCredentials, Signing, sign};
use tau_protocol::model::Model;
use tau_tools::hashes::hexadecimal;
use tau_tools::shell_word::quote;
use tau_tools::user_error::UserError;

/// The region in the address of the catalogue.
const REGION: &str = "us-east-1";
/// The number of roles that may assume each other.
const MAX_ROLES: usize = 5;
/// The name of the sessions of assumed roles.
const SESSION: &str = "tau";

/// Credentials, and the end of their life in seconds since 1970.
type ExpiringCredentials = (AwsCredentials, Option<i64>);

/// The credentials as a key, with their region.
pub(super) async fn find(finder: &Finder, hidden: &[String]) -> Result<ExpiringKey, UserError> {
    let (credentials, expires) = credentials(finder, hidden).await?;
    // Whoever sets an address has decided where requests go.
    let region = match endpoint(finder, "bedrock_runtime") {
        Some(_) => any_region(finder),
        None => region(finder)?,
    };
    let key = AwsKey { credentials, region }.secret();
    Ok(ExpiringKey { key, expires })
}

/// The address of Bedrock; the path after the host stays.
pub(super) fn address(finder: &Finder, model: &Model) -> Option<String> {
    let usual = format!("https://bedrock-runtime.{REGION}.amazonaws.com");
    let path = model.base_url.strip_prefix(&usual)?;
    let usual = || format!("https://bedrock-runtime.{}.amazonaws.com", any_region(finder));
    let host = endpoint(finder, "bedrock_runtime").unwrap_or_else(usual);
    Some(format!("{}{path}", host.trim_end_matches('/')))
}

/// The address that is set for a service, or for all: in variables, or in the profile.
///
/// Source: docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html.
fn endpoint(finder: &Finder, service: &str) -> Option<String> {
    let profile = Files::read(finder).of_process(finder);
    let ignored = finder.var("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    let ignored = ignored.or_else(|| profile.get("ignore_configured_endpoint_urls").cloned());
    if ignored.is_some_and(|ignored| ignored.eq_ignore_ascii_case("true")) {
        return None;
    }
    let variable = format!("AWS_ENDPOINT_URL_{}", service.to_ascii_uppercase());
    let in_profile =
        || profile.get(&format!("{service}.endpoint_url")).or_else(|| profile.get("endpoint_url"));
    finder.first(&[&variable, "AWS_ENDPOINT_URL"]).or_else(|| in_profile().cloned())
}

/// The region that is set. Fails without one: which region a request goes to is nothing to guess.
pub(super) fn region(finder: &Finder) -> Result<String, UserError> {
    let remedy = || match finder.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]) {
        Some(profile) => format!("set AWS_REGION, or `region` of the profile {profile}"),
        None => "set AWS_REGION, or `region` of your profile".to_owned(),
    };
    let missing = || UserError::new("no region of AWS is set").remedy(remedy());
    find_region(finder).ok_or_else(missing)
}

fn find_region(finder: &Finder) -> Option<String> {
    let named = finder.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
    let of_profile = || Files::read(finder).profile(&profile_name(finder)).get("region").cloned();
    let is_plain = |region: &String| region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    named.or_else(of_profile).filter(is_plain)
}

fn profile_name(finder: &Finder) -> String {
    finder.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]).unwrap_or_else(|| "default".to_owned())
}

/// The two files.
struct Files {
    config: Sections,
    credentials: Sections,
}

impl Files {
    /// A file that cannot be read has no profiles.
    fn read(finder: &Finder) -> Self {
        let read = |variable: &str, usual: &str| {
            let path = finder.var(variable).map(PathBuf::from).or_else(|| finder.home(usual));
            path.and_then(|path| file(&path).ok()).map(|text| parse(&text)).unwrap_or_default()
        };
        Files {
            config: read("AWS_CONFIG_FILE", ".aws/config"),
            credentials: read("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
        }
    }

    fn profile(&self, name: &str) -> BTreeMap<String, String> {
        profile(&self.config, &self.credentials, name)
    }

    /// The profile of this process, with what its `services` say.
    fn of_process(&self, finder: &Finder) -> BTreeMap<String, String> {
        let mut settings = self.profile(&profile_name(finder));
        let services = settings.get("services").and_then(|name| self.config.get(&format!("services {name}")));
        settings.extend(services.cloned().unwrap_or_default());
        settings
    }
}

/// The credentials of this process.
pub(super) async fn credentials(
    finder: &Finder,
    hidden: &[String],
) -> Result<ExpiringCredentials, UserError> {
    if let Some(keys) = environment(finder) {
        return Ok(keys);
    }
    if let (Some(token), Some(role)) = (finder.var("AWS_WEB_IDENTITY_TOKEN_FILE"), finder.var("AWS_ROLE_ARN"))
    {
        return web_identity(finder, &token, &role).await;
    }
    let files = Files::read(finder);
    let name = profile_name(finder);
    if let Some(found) = of_profile(finder, &files, &name, hidden).await? {
        return Ok(found);
    }
    if finder.var("AWS_PROFILE").is_some() {
        return Err(match files.profile(&name).is_empty() {
            true => UserError::new(format!("there is no profile {name}"))
                .remedy("name one of ~/.aws/config or ~/.aws/credentials in AWS_PROFILE"),
            false => format!("the profile {name} has none").into(),
        });
    }
    if let Some(found) = container(finder).await? {
        return Ok(found);
    }
    if finder.var("AWS_EC2_METADATA_DISABLED").as_deref() == Some("true") {
        return Err("no variable, profile or container has them".into());
    }
    machine(finder).await.map_err(|why| {
        UserError::new("no variable, profile or container has them, and this machine has no role")
            .because(why)
    })
}

/// The credentials of a profile; `None` if it has none.
async fn of_profile(
    finder: &Finder,
    files: &Files,
    name: &str,
    hidden: &[String],
) -> Result<Option<ExpiringCredentials>, UserError> {
    // From the profile to the one that its role is assumed with.
    let mut roles = Vec::new();
    let (wanted, mut name) = (name, name.to_owned());
    let mut found = loop {
        let settings = files.profile(&name);
        let get = |key: &str| settings.get(key).cloned().filter(|value| !value.is_empty());
        if let Some(role) = get("role_arn") {
            if roles.len() >= MAX_ROLES {
                return Err(format!("the roles of the profile {name} assume each other without end").into());
            }
            if let Some(token) = get("web_identity_token_file") {
                break web_identity(finder, &token, &role).await?;
            }
            if get("mfa_serial").is_some() {
                return Err(code_needed(&name, wanted));
            }
            roles.push((role, get("external_id"), get("role_session_name")));
            match (get("source_profile"), get("credential_source").as_deref()) {
                (Some(source), _) if source != name => name = source,
                (Some(_), _) => break static_keys(&settings).ok_or("its source profile has no keys")?,
                (None, Some("Environment")) => {
                    break environment(finder)
                        .ok_or("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")?;
                }
                (None, Some("EcsContainer")) => {
                    break container(finder).await?.ok_or("this container has no role")?;
                }
                (None, Some("Ec2InstanceMetadata")) => break machine(finder).await?,
                (None, _) => {
                    return Err(format!("the profile {name} has a role but no source_profile").into());
                }
            }
            continue;
        }
        if let Some(keys) = static_keys(&settings) {
            break keys;
        }
        if get("sso_session").is_some() || get("sso_start_url").is_some() {
            break sso(finder, files, &settings, &name).await?;
        }
        if let Some(command) = get("credential_process") {
            break process(&command, hidden).await?;
        }
        if roles.is_empty() {
            return Ok(None);
        }
        return Err(format!("the profile {name} has none").into());
    };
    for (role, external, session) in roles.into_iter().rev() {
        found = assume(finder, &found.0, &role, external.as_deref(), session.as_deref()).await?;
    }
    Ok(Some(found))
}

/// Why the role of the profile `name` is not assumed: it needs a code (`mfa_serial`), for which AWS's own tool asks.
fn code_needed(name: &str, wanted: &str) -> UserError {
    let profile = quote(wanted);
    UserError::new(format!("the profile {name} needs a code of your MFA device, for which tau cannot ask"))
        .remedy(format!(
            "run `eval \"$(aws configure export-credentials --profile {profile} --format env)\"`, then start \
             tau there"
        ))
}

fn static_keys(settings: &BTreeMap<String, String>) -> Option<ExpiringCredentials> {
    let get = |key: &str| settings.get(key).cloned();
    let session_token = get("aws_session_token").unwrap_or_default();
    let (access_key, secret_key) = (get("aws_access_key_id")?, get("aws_secret_access_key")?);
    Some((AwsCredentials { access_key, secret_key, session_token }, None))
}

/// The keys in variables.
fn environment(finder: &Finder) -> Option<ExpiringCredentials> {
    let (access_key, secret_key) = (finder.var("AWS_ACCESS_KEY_ID")?, finder.var("AWS_SECRET_ACCESS_KEY")?);
    let session_token = finder.var("AWS_SESSION_TOKEN").unwrap_or_default();
    Some((AwsCredentials { access_key, secret_key, session_token }, None))
}

/// Credentials in an answer: the names of their fields differ in their first letter.
fn in_answer(answer: &Value, names: [&str; 4]) -> Result<ExpiringCredentials, UserError> {
    let [access, secret, token, expiration] = names;
    let get = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(access_key), Some(secret_key)) = (get(access), get(secret)) else {
        return Err("the answer has no keys".into());
    };
    let expires = match answer.get(expiration) {
        Some(Value::Number(milliseconds)) => milliseconds.as_i64().map(|milliseconds| milliseconds / 1000),
        Some(Value::String(time)) => time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second),
        _ => None,
    };
    let session_token = get(token).unwrap_or_default();
    Ok((AwsCredentials { access_key, secret_key, session_token }, expires))
}

/// The names of the fields in answers of metadata services and commands.
const METADATA: [&str; 4] = ["AccessKeyId", "SecretAccessKey", "Token", "Expiration"];

/// The credentials of a login with `aws sso login`.
async fn sso(
    finder: &Finder,
    files: &Files,
    settings: &BTreeMap<String, String>,
    profile: &str,
) -> Result<ExpiringCredentials, UserError> {
    let session = settings.get("sso_session");
    let section = session.and_then(|name| files.config.get(&format!("sso-session {name}")));
    if let (Some(name), None) = (session, section) {
        return Err(
            format!("the profile has the sso_session {name}, but ~/.aws/config has no such section").into()
        );
    }
    let get = |key: &str| settings.get(key).or_else(|| section?.get(key)).cloned();
    let missing = |key: &str| format!("the profile has no {key}");
    let start = get("sso_start_url").ok_or_else(|| missing("sso_start_url"))?;
    let region = get("sso_region").ok_or_else(|| missing("sso_region"))?;
    let account = get("sso_account_id").ok_or_else(|| missing("sso_account_id"))?;
    let role = get("sso_role_name").ok_or_else(|| missing("sso_role_name"))?;
    let key = session.unwrap_or(&start);
    let name = hexadecimal(digest(&SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes()));
    let path = finder.home(&format!(".aws/sso/cache/{name}.json")).ok_or("HOME is not set")?;
    let again = match profile {
        "default" => "run `aws sso login`".to_owned(),
        profile => format!("run `aws sso login --profile {profile}`"),
    };
    let cached: Value = file(&path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .ok_or_else(|| format!("nobody is logged in; {again}"))?;
    let expires = cached.get("expiresAt").and_then(Value::as_str).unwrap_or_default();
    let has_expired = expires.parse::<jiff::Timestamp>().is_ok_and(|time| time <= jiff::Timestamp::now());
    let token = cached.get("accessToken").and_then(Value::as_str).filter(|_| !has_expired);
    let token = token.ok_or_else(|| format!("the login has expired; {again}"))?;
    let host =
        endpoint(finder, "sso").unwrap_or_else(|| format!("https://portal.sso.{region}.amazonaws.com"));
    let query = form(&[("role_name", &role), ("account_id", &account)]);
    let url = format!("{}/federation/credentials?{query}", host.trim_end_matches('/'));
    let asked = request("GET", &url, &[("x-amz-sso_bearer_token", token)], "")?;
    let answer = finder.json(asked, WITHIN).await?;
    let answer = answer.get("roleCredentials").unwrap_or(&Value::Null);
    in_answer(answer, ["accessKeyId", "secretAccessKey", "sessionToken", "expiration"])
}

/// The credentials that a command prints.
async fn process(command: &str, hidden: &[String]) -> Result<ExpiringCredentials, UserError> {
    let printed = super::command_output(command, "credential_process", hidden).await?;
    let answer: Value = serde_json::from_str(printed.expose())
        .map_err(|_| "credential_process did not print JSON".to_owned())?;
    let (keys, expires) =
        in_answer(&answer, ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"])?;
    match expires {
        Some(expires) if expires <= super::now() => {
            Err("credential_process printed keys that have expired".into())
        }
        expires => Ok((keys, expires)),
    }
}

/// The region that is set, or the usual one, where any will do: each security token service knows all roles.
fn any_region(finder: &Finder) -> String {
    find_region(finder).unwrap_or_else(|| REGION.to_owned())
}

fn sts(finder: &Finder) -> String {
    let host = endpoint(finder, "sts")
        .unwrap_or_else(|| format!("https://sts.{}.amazonaws.com", any_region(finder)));
    format!("{}/", host.trim_end_matches('/'))
}

/// The credentials in the XML of the security token service.
fn in_xml(xml: &str) -> Result<ExpiringCredentials, UserError> {
    let get = |name: &str| {
        let (_, rest) = xml.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim().to_owned())
    };
    let names = ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"];
    let fields: serde_json::Map<String, Value> =
        names.iter().filter_map(|name| Some(((*name).to_owned(), get(name)?.into()))).collect();
    in_answer(&Value::Object(fields), names)
}

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

async fn web_identity(finder: &Finder, token: &str, role: &str) -> Result<ExpiringCredentials, UserError> {
    let token = file(&PathBuf::from(token))?;
    let session = finder.var("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| SESSION.to_owned());
    let body = form(&[
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role),
        ("RoleSessionName", &session),
        ("WebIdentityToken", token.trim()),
    ]);
    let asked = request("POST", &sts(finder), &[("content-type", FORM)], body)?;
    in_xml(&finder.text(asked, WITHIN).await?)
}

async fn assume(
    finder: &Finder,
    with: &AwsCredentials,
    role: &str,
    external: Option<&str>,
    session: Option<&str>,
) -> Result<ExpiringCredentials, UserError> {
    let mut fields = vec![
        ("Action", "AssumeRole"),
        ("Version", "2011-06-15"),
        ("RoleArn", role),
        ("RoleSessionName", session.unwrap_or(SESSION)),
    ];
    fields.extend(external.map(|external| ("ExternalId", external)));
    let (address, body) = (sts(finder), form(&fields));
    let url = Url::parse(&address).map_err(UserError::of)?;
    let headers = [("content-type".to_owned(), FORM.to_owned())];
    let region = any_region(finder);
    let signing =
        Signing { method: "POST", url: &url, region: &region, service: "sts", body: body.as_bytes() };
    let signed = sign(signing, &headers, with, jiff::Timestamp::now());
    let all: Vec<(&str, &str)> =
        headers.iter().chain(&signed).map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let asked = request("POST", &address, &all, body.clone())?;
    in_xml(&finder.text(asked, WITHIN).await?)
        .map_err(|why| UserError::new(format!("the role {role} cannot be assumed")).because(why))
}

/// The role of a container; `None` outside of one.
async fn container(finder: &Finder) -> Result<Option<ExpiringCredentials>, UserError> {
    let url = match (
        finder.var("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
        finder.var("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    ) {
        (Some(path), _) => format!("http://169.254.170.2{path}"),
        (None, Some(url)) => url,
        (None, None) => return Ok(None),
    };
    let parsed =
        Url::parse(&url).map_err(|_| "AWS_CONTAINER_CREDENTIALS_FULL_URI is not an address".to_owned())?;
    // A token must not leave the machine unencrypted.
    let host = parsed.host_str().unwrap_or_default();
    let is_near = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"].contains(&host)
        || crate::catalogue::is_loopback(&url);
    if parsed.scheme() != "https" && !is_near {
        return Err(format!("AWS_CONTAINER_CREDENTIALS_FULL_URI leads to {host} without TLS").into());
    }
    let token = match finder.var("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => Some(file(&PathBuf::from(path))?.trim().to_owned()),
        None => finder.var("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    };
    let headers: Vec<(&str, &str)> = token.iter().map(|token| ("authorization", token.as_str())).collect();
    let answer = finder.json(request("GET", &url, &headers, "")?, AT_HAND).await?;
    in_answer(&answer, METADATA).map(Some)
}

/// The role of a machine (IMDSv2).
async fn machine(finder: &Finder) -> Result<ExpiringCredentials, UserError> {
    let base = finder.var("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    let base = base.unwrap_or_else(|| "http://169.254.169.254".to_owned());
    let base = base.trim_end_matches('/');
    let life = [("x-aws-ec2-metadata-token-ttl-seconds", "300")];
    let token = finder.text(request("PUT", &format!("{base}/latest/api/token"), &life, "")?, AT_HAND).await?;
    let headers = [("x-aws-ec2-metadata-token", token.trim())];
    let roles = format!("{base}/latest/meta-data/iam/security-credentials/");
    let role = finder.text(request("GET", &roles, &headers, "")?, AT_HAND).await?;
    let role = role.lines().next().unwrap_or_default().trim().to_owned();
    let answer = finder.json(request("GET", &format!("{roles}{role}"), &headers, "")?, AT_HAND).await?;
    in_answer(&answer, METADATA)
}
