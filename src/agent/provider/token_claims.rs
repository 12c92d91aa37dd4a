//! The claims of a token that is a JSON Web Token.
//!
//! They are not verified: whoever issued the token does that. Here they only say whose it is and how long it
//! lasts.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// The claims; `None` if the token is of another kind.
pub(crate) fn of(token: &str) -> Option<Map<String, Value>> {
    let mut parts = token.split('.');
    let (_, claims, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

pub(super) fn chatgpt_account(token: &str) -> Option<String> {
    let claims = of(token)?;
    let account = claims.get("https://api.openai.com/auth")?.get("chatgpt_account_id")?.as_str()?;
    let is_plain = account.bytes().all(|byte| byte.is_ascii_graphic());
    (is_plain && !account.is_empty()).then(|| account.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_a_claim() {
        let token = |claims: &str| format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(claims));
        let account = token(r#"{"https://api.openai.com/auth":{"chatgpt_account_id":"acc-1"},"exp":7}"#);
        assert_eq!(chatgpt_account(&account).as_deref(), Some("acc-1"));
        assert_eq!(of(&account).unwrap()["exp"], 7);
        for other in ["sk-x", "a.b", "a.b.c", "", &token("[]"), &token("{}"), &format!("{account}.x")] {
            assert_eq!(chatgpt_account(other), None, "{other}");
        }
    }
}
