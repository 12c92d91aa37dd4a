//! Logins to providers with the account of a subscription, in place of an API key.
//!
//! Every login is a row of data in `rows`; what a row can say is what the engine does: a code that the
//! browser brings to this machine (`browser`, with PKCE), or one that the user types on any device
//! (`device`). `requests` speaks with the authorization server, `tokens` are what it gives and `auth.json`
//! keeps, `renewal` renews them. The local address that the browser returns to (`callback`) is also used by
//! logins at MCP servers.

mod browser;
pub(crate) mod callback;
mod device;
mod renewal;
mod requests;
mod rows;
mod tokens;

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::mpsc;
use url::Url;

use crate::provider::http::Http;
use crate::secrets::{Secret, Secrets};
use browser::BrowserLogin;
pub use callback::PastedAddress;
use device::DeviceLogin;
pub use renewal::finish_renewals;
pub(super) use renewal::{LoginOf, Renewals};
use requests::Requests;
pub(in crate::catalogue) use requests::check_url;
pub use rows::{LOGINS, LoginRow, find_by_name, of_provider};
use tau_tools::budget::shorten;
use tau_tools::user_error::UserError;
pub use tokens::LoginTokens;

/// The maximum length of a server's text in an error, in characters.
const MAX_SAID_LEN: usize = 300;

/// The place of a login, as set in `models.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginPlace {
    /// The address of the authorization server; `None` for the usual one.
    pub url: Option<String>,
    /// The port that the browser returns to; `None` for the usual one, 0 for any.
    pub callback_port: Option<u16>,
}

/// The result of a login.
pub enum LoginCredential {
    /// Tokens, which are renewed.
    Tokens(LoginTokens),
    /// An API key.
    Key(Secret),
}

impl std::fmt::Debug for LoginCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LoginCredential::Tokens(_) => "Tokens(…)",
            LoginCredential::Key(_) => "Key(…)",
        })
    }
}

/// A login that waits for the user. Dropping it ends it.
pub struct ProviderLogin(Way);

enum Way {
    Browser(Box<BrowserLogin>),
    Device(Box<DeviceLogin>),
}

/// Begins a login. `on_device` asks for a code that is typed on any device, where the provider has that. The
/// error is the reason a login is not possible, as part of a sentence.
pub async fn begin(
    row: &'static LoginRow,
    place: &LoginPlace,
    on_device: bool,
    http: &Arc<Http>,
) -> Result<ProviderLogin, UserError> {
    let requests = Requests::new(row, place, http)?;
    Ok(ProviderLogin(match (&row.browser, &row.device) {
        (Some(browser), None) => {
            Way::Browser(Box::new(BrowserLogin::begin(requests, browser, place.callback_port).await?))
        }
        (Some(browser), Some(_)) if !on_device => {
            Way::Browser(Box::new(BrowserLogin::begin(requests, browser, place.callback_port).await?))
        }
        (_, Some(device)) => Way::Device(Box::new(DeviceLogin::begin(requests, device).await?)),
        (None, None) => return Err("it has no login; save its token instead".into()),
    }))
}

impl ProviderLogin {
    /// The address that the user has to open in a browser.
    pub fn page(&self) -> &Url {
        match &self.0 {
            Way::Browser(login) => login.page(),
            Way::Device(login) => login.page(),
        }
    }

    /// The code that the user has to type there; `None` if the browser brings one back.
    pub fn code(&self) -> Option<&str> {
        match &self.0 {
            Way::Browser(_) => None,
            Way::Device(login) => Some(login.code()),
        }
    }

    /// Waits for the user. `pasted` are final addresses of a browser on another machine. The error is the
    /// reason there are no tokens, as part of a sentence.
    pub async fn finish(
        self,
        pasted: &mut mpsc::Receiver<PastedAddress>,
    ) -> Result<LoginCredential, UserError> {
        match self.0 {
            Way::Browser(login) => login.finish(pasted).await,
            Way::Device(login) => login.finish().await,
        }
    }
}

/// The text without these secrets, on one line and shortened.
pub(crate) fn without(text: &str, secrets: &[&str]) -> String {
    let mut known = Secrets::default();
    secrets.iter().for_each(|secret| known.add_exactly(secret));
    shorten(&known.redact(&text.split_whitespace().collect::<Vec<_>>().join(" ")), MAX_SAID_LEN)
}

/// An unguessable word for an address or a verifier (43 characters).
fn random_word() -> Result<String, UserError> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system gives no random numbers".to_owned())?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge (S256) for a verifier of PKCE.
fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_the_hash_of_its_verifier() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let words = [random_word().unwrap(), random_word().unwrap()];
        assert!(words[0] != words[1] && words.iter().all(|word| word.len() == 43), "{words:?}");
    }

    #[test]
    fn a_servers_text_has_no_secret_and_one_line() {
        assert_eq!(without("no\nsuch  token abcdefgh-1", &["abcdefgh-1", ""]), "no such token [redacted]");
        assert_eq!(without(&"a".repeat(400), &[]).chars().count(), MAX_SAID_LEN + 1);
    }
}
