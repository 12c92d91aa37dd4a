//! A login whose code the browser brings to this machine.

use serde_json::json;
use tokio::sync::mpsc;
use url::Url;

use super::callback::{Callback, Mark, PastedAddress, in_time, show_outcome};
use super::requests::{NoTokens, Requests, check_url};
use super::rows::{Browser, BrowserStyle};
use super::tokens::text;
use super::{LoginCredential, challenge, random_word};
use crate::secrets::Secret;
use tau_tools::user_error::UserError;

/// A login that waits for the browser.
pub(super) struct BrowserLogin {
    requests: Requests,
    style: BrowserStyle,
    callback: Callback,
    page: Url,
    mark: Mark,
    verifier: String,
}

impl BrowserLogin {
    /// Listens for the browser.
    pub(super) async fn begin(
        requests: Requests,
        browser: &Browser,
        port: Option<u16>,
    ) -> Result<Self, UserError> {
        let (verifier, state) = (random_word()?, random_word()?);
        let (mark, path) = match browser.style {
            BrowserStyle::Oauth => (Mark::State(state), browser.callback.to_owned()),
            BrowserStyle::OpenRouter => (Mark::Path, format!("{}/{state}", browser.callback)),
        };
        let port = port.or(browser.port).filter(|port| *port != 0);
        let callback = Callback::listen(port, browser.host, &path).await.map_err(|why| match port {
            Some(_) => format!("{why}; end the program that uses the port, or log in with --device"),
            None => why.into(),
        })?;
        let row = requests.row;
        let mut page = check_url(&requests.address(browser.authorize))?;
        {
            let mut query = page.query_pairs_mut();
            match (browser.style, &mark) {
                (BrowserStyle::Oauth, Mark::State(state)) => {
                    query.append_pair("response_type", "code");
                    query.append_pair("client_id", row.client_id);
                    query.append_pair("redirect_uri", callback.address().as_str());
                    query.append_pair("scope", row.scope);
                    query.append_pair("state", state);
                }
                (_, _) => drop(query.append_pair("callback_url", callback.address().as_str())),
            }
            query.append_pair("code_challenge", &challenge(&verifier));
            query.append_pair("code_challenge_method", "S256");
            query.extend_pairs(browser.parameters);
        }
        Ok(BrowserLogin { style: browser.style, requests, callback, page, mark, verifier })
    }

    pub(super) fn page(&self) -> &Url {
        &self.page
    }

    pub(super) async fn finish(
        mut self,
        pasted: &mut mpsc::Receiver<PastedAddress>,
    ) -> Result<LoginCredential, UserError> {
        in_time(async {
            let (code, _, visitor) = self.callback.code(&self.mark, pasted).await?;
            show_outcome(visitor, self.exchange(&code).await).await
        })
        .await
    }

    async fn exchange(&self, code: &str) -> Result<LoginCredential, UserError> {
        let granted = match self.style {
            BrowserStyle::Oauth => {
                let redirect = self.callback.address().as_str();
                self.requests.code(code, &self.verifier, redirect).await.map(LoginCredential::Tokens)
            }
            BrowserStyle::OpenRouter => self.key(code).await.map(LoginCredential::Key),
        };
        granted.map_err(|error| format!("there are no tokens: {}", error.reason()).into())
    }

    /// Exchanges a code for an API key.
    async fn key(&self, code: &str) -> Result<Secret, NoTokens> {
        let body = json!({ "code": code, "code_verifier": self.verifier, "code_challenge_method": "S256" });
        let answer = self.requests.json(self.requests.row.token, &body).await.map_err(NoTokens::Failed)?;
        if !(200..300).contains(&answer.status) {
            return Err(NoTokens::Refused(answer.error_text(&[code, &self.verifier])));
        }
        let key = text(&answer.body, "key").filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
        key.map(Secret::new).ok_or_else(|| NoTokens::Failed("the server's answer has no usable key".into()))
    }
}
