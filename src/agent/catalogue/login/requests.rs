//! The requests to an authorization server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::rows::{LoginRow, Renewal};
use super::tokens::{LoginTokens, text};
use super::{LoginPlace, without};
use crate::provider::http::Http;
pub(super) use tau_tools::times::now;
use tau_tools::user_error::UserError;

/// The maximum size of an answer, in bytes.
const MAX_SIZE: usize = 256 * 1024;
/// The time limit of an answer.
const WITHIN: Duration = Duration::from_secs(30);

/// An answer of any status; not JSON is `null`.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    /// The error of OAuth that it holds.
    pub(super) fn error(&self) -> Option<&str> {
        let error = self.body.get("error")?;
        error.as_str().or_else(|| error.get("code")?.as_str()).filter(|error| !error.is_empty())
    }

    /// The error in words, without these secrets.
    pub(super) fn error_text(&self, secrets: &[&str]) -> String {
        let error = self.error();
        let nested = self.body.get("error").and_then(|error| text(error, "message"));
        // GitHub explains the refusal to the user in the details; its `message` is for developers.
        let described = (self.body.get("error_details").and_then(|details| text(details, "message")))
            .or_else(|| text(&self.body, "error_description"))
            .or_else(|| text(&self.body, "message"));
        match (error, described.or(nested)) {
            (Some(error), Some(described)) => without(&format!("{error}: {described}"), secrets),
            (Some(said), None) | (None, Some(said)) => without(said, secrets),
            (None, None) => format!("the server answered with status {}", self.status),
        }
    }
}

/// The reason there are no tokens.
pub(super) enum NoTokens {
    /// The server has refused; a new login is needed.
    Refused(String),
    /// The account may not; a new login is refused, too.
    Denied(String),
    /// The server was not asked: its answer could not be saved.
    Unsavable(String),
    /// It could not be asked, or had no answer.
    Failed(UserError),
}

impl NoTokens {
    /// The reason, as part of a sentence.
    pub(super) fn reason(self) -> String {
        match self {
            NoTokens::Refused(why) | NoTokens::Denied(why) | NoTokens::Unsavable(why) => why,
            NoTokens::Failed(why) => why.into(),
        }
    }
}

/// Asks the authorization server of a login.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) row: &'static LoginRow,
    base: Url,
    http: Arc<Http>,
}

impl Requests {
    /// Fails when the address that the user has set cannot be used.
    pub(super) fn new(
        row: &'static LoginRow,
        place: &LoginPlace,
        http: &Arc<Http>,
    ) -> Result<Self, UserError> {
        let set = place.url.as_deref();
        let base = check_url(set.unwrap_or(row.url))
            .map_err(|why| format!("the login's `url` in models.toml cannot be used: {why}"))?;
        Ok(Requests { row, base, http: Arc::clone(http) })
    }

    /// The address of a path of the server.
    pub(super) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// Whether the server is on this machine, so that what it names may be, too.
    pub(super) fn is_local(&self) -> bool {
        super::super::is_loopback(self.base.as_str())
    }

    /// Sends a form.
    pub(super) async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Result<Answer, UserError> {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.post(path, "application/x-www-form-urlencoded", body.into_bytes()).await
    }

    /// Sends JSON.
    pub(super) async fn json(&self, path: &str, body: &Value) -> Result<Answer, UserError> {
        self.post(path, "application/json", body.to_string().into_bytes()).await
    }

    async fn post(&self, path: &str, content_type: &str, body: Vec<u8>) -> Result<Answer, UserError> {
        let request = http::Request::post(self.address(path)).header("content-type", content_type);
        self.send(request, body).await
    }

    async fn send(&self, request: http::request::Builder, body: Vec<u8>) -> Result<Answer, UserError> {
        let request = request.header("accept", "application/json");
        let request =
            self.row.headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(body).map_err(|_| "the request cannot be written".to_owned())?;
        let answer =
            self.http.exchange(request, MAX_SIZE, WITHIN).await.map_err(|failure| failure.message)?;
        let body = serde_json::from_slice(answer.body()).unwrap_or_default();
        Ok(Answer { status: answer.status().as_u16(), body })
    }

    /// Exchanges a code for tokens.
    pub(super) async fn code(
        &self,
        code: &str,
        verifier: &str,
        redirect: &str,
    ) -> Result<LoginTokens, NoTokens> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", self.row.client_id),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect),
        ];
        let answer = self.form(self.row.token, &fields).await.map_err(NoTokens::Failed)?;
        self.tokens_from_answer(&answer, None, &[code, verifier]).await
    }

    /// The tokens in an answer of the token endpoint; `before` are the ones that they replace.
    pub(super) async fn tokens_from_answer(
        &self,
        answer: &Answer,
        before: Option<&LoginTokens>,
        secrets: &[&str],
    ) -> Result<LoginTokens, NoTokens> {
        if !(200..300).contains(&answer.status) || answer.error().is_some() {
            let said = answer.error_text(secrets);
            return Err(match answer.status {
                429 | 500.. => NoTokens::Failed(said.into()),
                _ => NoTokens::Refused(said),
            });
        }
        let unusable = || NoTokens::Failed("the server's answer has no usable token".into());
        let tokens = LoginTokens::of_answer(&answer.body, before, now()).ok_or_else(unusable)?;
        match self.row.renewal {
            Renewal::RefreshToken => Ok(self.with_safe_address(tokens)),
            Renewal::Copilot(path) => self.copilot(path, &tokens.access).await,
        }
    }

    pub(super) async fn renew_tokens(&self, tokens: &LoginTokens) -> Result<LoginTokens, NoTokens> {
        let refresh = tokens.refresh.as_str();
        if refresh.is_empty() {
            return Err(NoTokens::Refused("it cannot be renewed".to_owned()));
        }
        match self.row.renewal {
            Renewal::Copilot(path) => self.copilot(path, refresh).await,
            Renewal::RefreshToken => {
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("refresh_token", refresh),
                    ("client_id", self.row.client_id),
                ];
                let answer = self.form(self.row.token, &fields).await.map_err(NoTokens::Failed)?;
                self.tokens_from_answer(&answer, Some(tokens), &[refresh, &tokens.access]).await
            }
        }
    }

    /// Copilot's token for the token of a GitHub login, from the host `api.` of the login's own.
    async fn copilot(&self, path: &str, github: &str) -> Result<LoginTokens, NoTokens> {
        let mut base = self.base.clone();
        if let Some(host) = base.domain().filter(|_| !self.is_local()).map(|host| format!("api.{host}")) {
            base.set_host(Some(&host)).map_err(|error| NoTokens::Failed(error.to_string().into()))?;
        }
        let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
        let request = http::Request::get(url).header("authorization", format!("Bearer {github}"));
        let answer = self.send(request, Vec::new()).await.map_err(NoTokens::Failed)?;
        if !(200..300).contains(&answer.status) {
            let said = answer.error_text(&[github]);
            return Err(match answer.status {
                429 | 500.. => NoTokens::Failed(said.into()),
                403 => NoTokens::Denied(said),
                _ => NoTokens::Refused(said),
            });
        }
        let unusable = || NoTokens::Failed("Copilot's answer has no usable token".into());
        let tokens = LoginTokens::of_copilot(&answer.body, github, now()).ok_or_else(unusable)?;
        Ok(self.with_safe_address(tokens))
    }

    /// The tokens without an address that they must not be sent to.
    fn with_safe_address(&self, mut tokens: LoginTokens) -> LoginTokens {
        let is_safe = |address: &String| {
            check_url(address).is_ok() && (self.is_local() || !super::super::is_loopback(address))
        };
        tokens.address = tokens.address.filter(is_safe);
        tokens
    }
}

/// An address that secrets may be sent to: over TLS, or to this machine. The error is the reason, as part of
/// a sentence.
pub(in crate::catalogue) fn check_url(text: &str) -> Result<Url, UserError> {
    let url = Url::parse(text).map_err(|_| "it is not a valid address".to_owned())?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    match url.scheme() {
        "https" if is_plain && url.has_host() => Ok(url),
        "http" if is_plain && super::super::is_loopback(text) => Ok(url),
        "http" => Err(UserError::new("it is not encrypted").remedy("use https://")),
        _ => Err("it does not begin with https://".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_url;

    #[test]
    fn secrets_go_over_tls_or_stay_on_this_machine() {
        for good in
            ["https://github.com", "https://10.0.0.1:8443/x", "http://127.0.0.1:1", "http://localhost:1"]
        {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in
            ["http://github.com", "https://a:b@github.com", "file:///etc/passwd", "x", "javascript:1", ""]
        {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }
}
