//! The logins, as data.
//!
//! Addresses, ids and parameters are those of the public clients: Codex (github.com/openai/codex), GitHub's
//! Copilot clients, OpenRouter's documentation of OAuth with PKCE, kimi-cli, qwen-code.

/// A login.
#[derive(Debug, PartialEq, Eq)]
pub struct LoginRow {
    /// The provider whose models it is for.
    pub provider: &'static str,
    /// Its short name.
    pub alias: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// The address of the authorization server.
    pub(super) url: &'static str,
    pub(super) client_id: &'static str,
    pub(super) scope: &'static str,
    /// The path that gives tokens for codes and for refresh tokens.
    pub(super) token: &'static str,
    pub(super) browser: Option<Browser>,
    pub(super) device: Option<Device>,
    pub(super) renewal: Renewal,
    /// Headers of every request to the authorization server.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// How to get a token that is pasted, where there is no login.
    pub pasted: Option<&'static str>,
}

/// A login whose code the browser brings to an address of this machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Browser {
    pub(super) authorize: &'static str,
    /// The name of this machine in the address that the browser returns to.
    pub(super) host: &'static str,
    /// The port of that address, where the authorization server accepts only one.
    pub(super) port: Option<u16>,
    pub(super) callback: &'static str,
    pub(super) style: BrowserStyle,
    /// More parameters of the address that the user opens.
    pub(super) parameters: &'static [(&'static str, &'static str)],
}

/// How a browser login speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrowserStyle {
    /// OAuth 2.0 with PKCE.
    Oauth,
    /// OpenRouter's own: it has no clients and no state, and gives an API key.
    OpenRouter,
}

/// A login with a code that the user types on any device.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) start: &'static str,
    /// The path that is asked whether the user has typed the code.
    pub(super) poll: &'static str,
    pub(super) style: DeviceStyle,
}

/// How a device login speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceStyle {
    /// RFC 8628; with PKCE if `pkce`.
    Rfc8628 { pkce: bool },
    /// ChatGPT's own: JSON, and a code that is exchanged as that of a browser would be.
    ChatGpt { page: &'static str, callback: &'static str },
}

/// How an access token is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// With the refresh token, which may be replaced.
    RefreshToken,
    /// Copilot: the token of the login stays, and is exchanged for a short one at this path of `api.HOST`.
    Copilot(&'static str),
}

const NONE: LoginRow = LoginRow {
    provider: "",
    alias: "",
    name: "",
    url: "",
    client_id: "",
    scope: "",
    token: "",
    browser: None,
    device: None,
    renewal: Renewal::RefreshToken,
    headers: &[],
    pasted: None,
};

/// The logins, most used first.
pub static LOGINS: [LoginRow; 6] = [
    LoginRow {
        provider: "openai-codex",
        alias: "chatgpt",
        name: "ChatGPT (Plus, Pro, Business)",
        url: "https://auth.openai.com",
        client_id: "app_EMoamEEZ73f0CkXaXp7hrann",
        scope: "openid profile email offline_access",
        token: "/oauth/token",
        browser: Some(Browser {
            authorize: "/oauth/authorize",
            host: "localhost",
            port: Some(1455),
            callback: "/auth/callback",
            style: BrowserStyle::Oauth,
            parameters: &[
                ("id_token_add_organizations", "true"),
                ("codex_cli_simplified_flow", "true"),
                ("originator", "tau"),
            ],
        }),
        device: Some(Device {
            start: "/api/accounts/deviceauth/usercode",
            poll: "/api/accounts/deviceauth/token",
            style: DeviceStyle::ChatGpt { page: "/codex/device", callback: "/deviceauth/callback" },
        }),
        ..NONE
    },
    LoginRow {
        provider: "github-copilot",
        alias: "copilot",
        name: "GitHub Copilot",
        url: "https://github.com",
        client_id: "Iv1.b507a08c87ecfe98",
        scope: "read:user",
        token: "/login/oauth/access_token",
        device: Some(Device {
            start: "/login/device/code",
            poll: "/login/oauth/access_token",
            style: DeviceStyle::Rfc8628 { pkce: false },
        }),
        renewal: Renewal::Copilot("/copilot_internal/v2/token"),
        headers: &crate::catalogue::providers::COPILOT_HEADERS,
        ..NONE
    },
    LoginRow {
        provider: "anthropic",
        alias: "claude",
        name: "Claude (Pro, Max)",
        pasted: Some("run `claude setup-token` and paste the token that it prints"),
        ..NONE
    },
    LoginRow {
        provider: "openrouter",
        alias: "openrouter",
        name: "OpenRouter",
        url: "https://openrouter.ai",
        token: "/api/v1/auth/keys",
        browser: Some(Browser {
            authorize: "/auth",
            host: "localhost",
            port: None,
            callback: "/callback",
            style: BrowserStyle::OpenRouter,
            parameters: &[],
        }),
        ..NONE
    },
    LoginRow {
        provider: "kimi-coding",
        alias: "kimi",
        name: "Kimi Code",
        url: "https://auth.kimi.com",
        client_id: "17e5f671-d194-4dfb-9706-5516cb48c098",
        token: "/api/oauth/token",
        device: Some(Device {
            start: "/api/oauth/device_authorization",
            poll: "/api/oauth/token",
            style: DeviceStyle::Rfc8628 { pkce: false },
        }),
        ..NONE
    },
    LoginRow {
        provider: "qwen-code",
        alias: "qwen",
        name: "Qwen Code",
        url: "https://chat.qwen.ai",
        client_id: "f0304373b74a44d2b584a3fb70ca9e56",
        scope: "openid profile email model.completion",
        token: "/api/v1/oauth2/token",
        device: Some(Device {
            start: "/api/v1/oauth2/device/code",
            poll: "/api/v1/oauth2/token",
            style: DeviceStyle::Rfc8628 { pkce: true },
        }),
        ..NONE
    },
];

/// The login with this name: that of its provider, or its short one.
pub fn find_by_name(name: &str) -> Option<&'static LoginRow> {
    LOGINS.iter().find(|row| row.provider == name || row.alias == name)
}

/// The login for the models of this provider.
pub fn of_provider(provider: &str) -> Option<&'static LoginRow> {
    LOGINS.iter().find(|row| row.provider == provider)
}

impl LoginRow {
    /// Whether a code can be typed on any device.
    pub fn has_device(&self) -> bool {
        self.device.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::providers;

    #[test]
    fn every_row_is_for_a_known_provider_and_has_a_way() {
        for row in &LOGINS {
            assert!(providers::find_by_id(row.provider).is_some(), "{row:?}");
            let ways = row.browser.is_some() || row.has_device();
            assert!(ways != row.pasted.is_some(), "{row:?}");
            assert!(!ways || row.url.starts_with("https://"), "{row:?}");
            assert_eq!((find_by_name(row.alias), find_by_name(row.provider)), (Some(row), Some(row)));
        }
    }
}
