//! A login with a code that the user types on any device.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use url::Url;

use super::requests::{Answer, NoTokens, Requests, check_url};
use super::rows::{Device, DeviceStyle};
use super::tokens::{seconds, text};
use super::{LoginCredential, LoginTokens, challenge, random_word};
use tau_tools::user_error::UserError;

/// The grant of RFC 8628.
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The time between two questions, if the server names none, in seconds.
const INTERVAL: f64 = 5.0;
/// The addition to it after `slow_down`, in seconds.
const SLOWER: f64 = 5.0;
/// The shortest and the longest time between two questions, in seconds.
const BOUNDS: (f64, f64) = (0.2, 120.0);
/// The life of a code, if the server names none, in seconds.
const LIFE: f64 = 15.0 * 60.0;
/// The longest life of a code, in seconds.
const MAX_LIFE: f64 = 60.0 * 60.0;
/// The number of questions in a row that may stay without an answer.
const LOST: u32 = 3;

/// A login that waits until the user has typed a code.
pub(super) struct DeviceLogin {
    requests: Requests,
    device: &'static Device,
    page: Url,
    /// The code for the user.
    code: String,
    /// The code for the server.
    id: String,
    verifier: String,
    interval: f64,
    deadline: Instant,
}

/// The state of the code, as the server reports it.
enum CodeState {
    Granted(Box<LoginTokens>),
    Pending,
    /// Ask less often; the time between two questions, if the server names it.
    SlowDown(Option<f64>),
    /// A new code is needed.
    Over(String),
}

impl DeviceLogin {
    /// Asks for a code.
    pub(super) async fn begin(requests: Requests, device: &'static Device) -> Result<Self, UserError> {
        let verifier = random_word()?;
        let (client, scope) = (requests.row.client_id, requests.row.scope);
        let answer = match device.style {
            DeviceStyle::ChatGpt { .. } => {
                requests.json(device.start, &json!({ "client_id": client })).await?
            }
            DeviceStyle::Rfc8628 { pkce } => {
                let challenge = challenge(&verifier);
                let mut fields = vec![("client_id", client)];
                if !scope.is_empty() {
                    fields.push(("scope", scope));
                }
                if pkce {
                    fields
                        .extend([("code_challenge", challenge.as_str()), ("code_challenge_method", "S256")]);
                }
                requests.form(device.start, &fields).await?
            }
        };
        if !(200..300).contains(&answer.status) || answer.error().is_some() {
            return Err(format!("the server gives no code: {}", answer.error_text(&[])).into());
        }
        let field = |name: &str| text(&answer.body, name);
        let (id, page) = match device.style {
            DeviceStyle::ChatGpt { page, .. } => (field("device_auth_id"), Some(requests.address(page))),
            DeviceStyle::Rfc8628 { .. } => {
                let page = field("verification_uri_complete").or_else(|| field("verification_uri"));
                (field("device_code"), page.map(str::to_owned))
            }
        };
        let (Some(id), Some(page), Some(code)) = (id, page, field("user_code").or_else(|| field("usercode")))
        else {
            return Err("the server's answer has no code".into());
        };
        let page = check_url(&page).map_err(|why| format!("the server's page cannot be opened: {why}"))?;
        let life = seconds(&answer.body, "expires_in").unwrap_or(LIFE).min(MAX_LIFE);
        let (code, id) = (code.to_owned(), id.to_owned());
        let interval = clamp_interval(seconds(&answer.body, "interval").unwrap_or(INTERVAL));
        let deadline = Instant::now() + Duration::from_secs_f64(life);
        Ok(DeviceLogin { requests, device, page, code, id, verifier, interval, deadline })
    }

    pub(super) fn page(&self) -> &Url {
        &self.page
    }

    pub(super) fn code(&self) -> &str {
        &self.code
    }

    pub(super) async fn finish(self) -> Result<LoginCredential, UserError> {
        let (mut interval, mut lost) = (self.interval, 0);
        loop {
            let next = Instant::now() + Duration::from_secs_f64(interval);
            if next >= self.deadline {
                return Err(UserError::new("the code has expired").remedy("log in again for a new one"));
            }
            sleep(next.saturating_duration_since(Instant::now())).await;
            match self.ask().await {
                Ok(CodeState::Granted(tokens)) => return Ok(LoginCredential::Tokens(*tokens)),
                Ok(CodeState::Over(why)) => return Err(why.into()),
                Ok(CodeState::Pending) => lost = 0,
                Ok(CodeState::SlowDown(named)) => (interval, lost) = (slower(interval, named), 0),
                Err(why) => {
                    lost += 1;
                    if lost >= LOST {
                        return Err(why);
                    }
                    interval = slower(interval, None);
                }
            }
        }
    }

    /// Asks whether the user has typed the code. The error is the reason there was no answer.
    async fn ask(&self) -> Result<CodeState, UserError> {
        match self.device.style {
            DeviceStyle::ChatGpt { callback, .. } => {
                let body = json!({ "device_auth_id": self.id, "user_code": self.code });
                let answer = self.requests.json(self.device.poll, &body).await?;
                match answer.status {
                    200..300 => self.exchange(&answer, callback).await,
                    _ => self.judge(&answer),
                }
            }
            DeviceStyle::Rfc8628 { pkce } => {
                let mut fields = vec![
                    ("grant_type", GRANT),
                    ("client_id", self.requests.row.client_id),
                    ("device_code", self.id.as_str()),
                ];
                if pkce {
                    fields.push(("code_verifier", self.verifier.as_str()));
                }
                let answer = self.requests.form(self.device.poll, &fields).await?;
                // GitHub answers with status 200 in any case.
                if answer.status >= 300 || answer.error().is_some() {
                    return self.judge(&answer);
                }
                code_state(self.requests.tokens_from_answer(&answer, None, &self.secrets()).await)
            }
        }
    }

    /// Exchanges the code that the user's browser would have brought.
    async fn exchange(&self, answer: &Answer, callback: &str) -> Result<CodeState, UserError> {
        let field = |name: &str| text(&answer.body, name);
        let (Some(code), Some(verifier)) = (field("authorization_code"), field("code_verifier")) else {
            return Ok(CodeState::Over("the server's answer has no code".to_owned()));
        };
        let redirect = self.requests.address(callback);
        // The code can be used once, so that a lost answer ends the login.
        Ok(match self.requests.code(code, verifier, &redirect).await {
            Ok(tokens) => CodeState::Granted(Box::new(tokens)),
            Err(error) => CodeState::Over(format!("there are no tokens: {}", error.reason())),
        })
    }

    fn judge(&self, answer: &Answer) -> Result<CodeState, UserError> {
        let is_chatgpt = matches!(self.device.style, DeviceStyle::ChatGpt { .. });
        Ok(match (answer.error(), answer.status) {
            (Some("authorization_pending" | "deviceauth_authorization_pending"), _) => CodeState::Pending,
            (Some("slow_down"), _) => CodeState::SlowDown(seconds(&answer.body, "interval")),
            (Some("expired_token"), _) => {
                CodeState::Over("the code has expired; log in again for a new one".to_owned())
            }
            (Some("access_denied"), _) => CodeState::Over("the login was refused".to_owned()),
            (_, 403 | 404) if is_chatgpt => CodeState::Pending,
            (_, 429 | 500..) => return Err(answer.error_text(&self.secrets()).into()),
            _ => CodeState::Over(answer.error_text(&self.secrets())),
        })
    }

    fn secrets(&self) -> [&str; 2] {
        [&self.id, &self.verifier]
    }
}

/// The state of the code after the exchange for tokens.
fn code_state(tokens: Result<LoginTokens, NoTokens>) -> Result<CodeState, UserError> {
    match tokens {
        Ok(tokens) => Ok(CodeState::Granted(Box::new(tokens))),
        Err(error) => Ok(CodeState::Over(format!("there are no tokens: {}", error.reason()))),
    }
}

fn clamp_interval(seconds: f64) -> f64 {
    seconds.clamp(BOUNDS.0, BOUNDS.1)
}

/// The time between two questions after the server asked for a longer one, and perhaps named it.
fn slower(interval: f64, named: Option<f64>) -> f64 {
    clamp_interval(named.filter(|named| *named > interval).unwrap_or(interval + SLOWER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_become_rarer() {
        assert_eq!(slower(5.0, None), 10.0);
        assert_eq!(slower(5.0, Some(7.0)), 7.0);
        assert_eq!(slower(5.0, Some(1.0)), 10.0, "never more often");
        assert_eq!(slower(119.0, None), 120.0);
        assert_eq!((clamp_interval(0.0), clamp_interval(0.3)), (0.2, 0.3));
    }
}
