//! Credentials of Azure OpenAI: tokens of Entra ID, where no API key is set.
//!
//! In the order of Azure's own libraries: a client with a secret, a workload identity, a managed identity, the
//! command line. Source: learn.microsoft.com/azure/developer/intro/azure-developer-authentication.

use std::borrow::Cow;
use std::path::PathBuf;

use url::Url;

use super::{AT_HAND, ExpiringKey, Finder, WITHIN, bearer, file, form, request};
use tau_protocol::model::Model;
use tau_tools::user_error::UserError;

const RESOURCE: &str = "https://cognitiveservices.azure.com";
const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

pub(super) async fn find(finder: &Finder, hidden: &[String]) -> Result<ExpiringKey, UserError> {
    let client = finder.var("AZURE_CLIENT_ID");
    if let (Some(tenant), Some(client)) = (finder.var("AZURE_TENANT_ID"), &client) {
        let scope = format!("{RESOURCE}/.default");
        if let Some(secret) = finder.var("AZURE_CLIENT_SECRET") {
            let fields = [
                ("grant_type", "client_credentials"),
                ("client_id", client),
                ("client_secret", &secret),
                ("scope", &scope),
            ];
            return token(finder, &tenant, &form(&fields)).await;
        }
        if let Some(path) = finder.var("AZURE_FEDERATED_TOKEN_FILE") {
            let assertion = file(&PathBuf::from(path))?;
            let fields = [
                ("grant_type", "client_credentials"),
                ("client_id", client),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", assertion.trim()),
                ("scope", &scope),
            ];
            return token(finder, &tenant, &form(&fields)).await;
        }
    }
    if let (Some(endpoint), Some(header)) = (finder.var("IDENTITY_ENDPOINT"), finder.var("IDENTITY_HEADER")) {
        let url = format!("{endpoint}?{}", identity("2019-08-01", client.as_deref()));
        return bearer(
            &finder.json(request("GET", &url, &[("x-identity-header", &header)], "")?, AT_HAND).await?,
        );
    }
    let by_command_line = command_line(hidden).await;
    if by_command_line.is_ok() {
        return by_command_line;
    }
    let host = finder.var("AZURE_POD_IDENTITY_AUTHORITY_HOST");
    let host = host.unwrap_or_else(|| "http://169.254.169.254".to_owned());
    let query = identity("2018-02-01", client.as_deref());
    let url = format!("{}/metadata/identity/oauth2/token?{query}", host.trim_end_matches('/'));
    let answer = finder.json(request("GET", &url, &[("metadata", "true")], "")?, AT_HAND).await;
    bearer(&answer.map_err(|why| format!("set AZURE_OPENAI_API_KEY, or run `az login` ({why})"))?)
}

/// The parameters of a question for a managed identity.
fn identity(version: &str, client: Option<&str>) -> String {
    let mut fields = vec![("api-version", version), ("resource", RESOURCE)];
    fields.extend(client.map(|client| ("client_id", client)));
    form(&fields)
}

async fn token(finder: &Finder, tenant: &str, body: &str) -> Result<ExpiringKey, UserError> {
    let host =
        finder.var("AZURE_AUTHORITY_HOST").unwrap_or_else(|| "https://login.microsoftonline.com".to_owned());
    let url = format!("{}/{tenant}/oauth2/v2.0/token", host.trim_end_matches('/'));
    crate::catalogue::login::check_url(&url)
        .map_err(|why| format!("AZURE_AUTHORITY_HOST cannot be used: {why}"))?;
    bearer(&finder.json(request("POST", &url, &FORM, body)?, WITHIN).await?)
}

/// The token of whoever is logged in with `az login`.
async fn command_line(hidden: &[String]) -> Result<ExpiringKey, UserError> {
    let command = format!("az account get-access-token --resource {RESOURCE} --output json");
    let printed = super::command_output(&command, "az", hidden).await?;
    bearer(&serde_json::from_str(printed.expose()).map_err(|_| "az did not print JSON".to_owned())?)
}

/// The address of the resource, with the version of its interface if one is set.
pub(super) fn address(finder: &Finder, model: &Model) -> Option<String> {
    if !model.base_url.is_empty() {
        return None;
    }
    let endpoint = finder.var("AZURE_OPENAI_ENDPOINT")?;
    // A request says why such an address cannot be used.
    let Some(mut url) = Url::parse(&endpoint).ok().filter(Url::has_host) else { return Some(endpoint) };
    // The portal offers addresses of operations, with a version of an interface that is not this one:
    // /openai/deployments/NAME/chat/completions?api-version=2024-02-01.
    let path = format!("{}/", url.path());
    let (base, operation) = path.split_once("/openai/").unwrap_or((&path, ""));
    let is_version =
        |(name, _): &(Cow<'_, str>, Cow<'_, str>)| name == "api-version" && operation.starts_with("v1/");
    let own = url.query_pairs().find(is_version).map(|(_, version)| version.into_owned());
    let version = finder.first(&["AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"]).or(own);
    let path = format!("{}/openai/v1", base.trim_end_matches('/'));
    url.set_path(&path);
    url.set_query(version.map(|version| form(&[("api-version", &version)])).as_deref());
    url.set_fragment(None);
    Some(url.into())
}
