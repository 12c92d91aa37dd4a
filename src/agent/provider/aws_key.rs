//! Credentials of AWS as the key of a request: JSON, with the region.

use serde_json::{Value, json};

use super::sigv4::AwsCredentials;
use crate::secrets::Secret;

/// Credentials of AWS, and the region they are for.
#[derive(Clone, Debug)]
pub(crate) struct AwsKey {
    pub(crate) credentials: AwsCredentials,
    pub(crate) region: String,
}

impl AwsKey {
    /// The credentials as a key.
    pub(crate) fn secret(&self) -> Secret {
        let AwsCredentials { access_key, secret_key, session_token } = &self.credentials;
        let value = json!({
            "access_key": access_key,
            "secret_key": secret_key,
            "session_token": session_token,
            "region": self.region,
        });
        Secret::new(value.to_string())
    }

    /// The values that nobody may see.
    pub(crate) fn secrets(&self) -> [&str; 2] {
        [&self.credentials.secret_key, &self.credentials.session_token]
    }

    /// The credentials in a key; `None` if it is an API key.
    pub(crate) fn parse(key: &Secret) -> Option<Self> {
        let value: Value =
            key.expose().strip_prefix('{').and_then(|_| serde_json::from_str(key.expose()).ok())?;
        let get = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(AwsKey {
            credentials: AwsCredentials {
                access_key: get("access_key")?,
                secret_key: get("secret_key")?,
                session_token: get("session_token").unwrap_or_default(),
            },
            region: get("region")?,
        })
    }
}
