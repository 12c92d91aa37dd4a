//! Decides which environment variables are secret, by their names and their values.

use std::ffi::OsStr;

use crate::recognise;

/// Parts of words that mark a value as secret.
const PARTS: &[&str] =
    crate::words!("KEY TOKEN SECRET PASSWORD PASSWD PASSWRD PASSPHRASE PASSCODE CREDENTIAL");

/// Word endings that mark a value as secret: `SSHPASS`, `MYSQL_PWD`.
const ENDS: [&str; 8] = ["PASS", "PW", "PWD", "PSW", "PSWD", "PSK", "DSN", "JWT"];

/// Whole words that mark a value as secret.
const WORDS: [&str; 5] = ["BEARER", "CRED", "MNEMONIC", "PAT", "UNSEAL"];

/// Words whose value may be a secret or a setting: `BASIC_AUTH=app:…`, `AUTH=required`.
const VAGUE_WORDS: [&str; 12] = [
    "AUTH", "AUTHORIZATION", "COOKIE", "HMAC", "HTTPAUTH", "OAUTH", "OTP", "PRIVATE", "SAS", "SIGNING",
    "TOTP", "WEBHOOK",
];

/// Pairs of words that mark a value as secret, also written as one word.
const PHRASES: [[&str; 2]; 6] = [
    ["CONNECTION", "STRING"],
    ["CONN", "STR"],
    ["CONN", "STRING"],
    ["SEED", "PHRASE"],
    ["RECOVERY", "PHRASE"],
    ["RECOVERY", "CODE"],
];

/// Words that only look like one of these.
const HARMLESS_WORDS: &[&str] = crate::words!(
    "ASKPASS BYPASS COMPASS HOTKEY KEYBOARD KEYCODE KEYMAP KEYTIMEOUT LESSKEY LESSKEYIN MONKEY OLDPWD \
     TOKENIZER TURKEY TRESPASS"
);

/// Variables that are passed although their name has such a word: they say where something is, or how to ask
/// for it.
const PASSED: [&str; 4] = [
    "CARGO_REGISTRY_CREDENTIAL_PROVIDER",
    "CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS",
    "PWD",
    "SSH_AUTH_SOCK",
];

/// The beginning of the variables with the names of git's settings.
const SETTING_NAMES: &str = "GIT_CONFIG_KEY_";

/// Variables that hold a key although their name does not say so.
const KEYS: [&str; 1] = ["BW_SESSION"];
const KEY_BEGINNINGS: [&str; 1] = ["OP_SESSION_"];

/// The judgement of a variable's value by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretName {
    /// The value is a secret.
    Value,
    /// The value is related to a secret, or may be one: `KEY_NAME`, `TOKEN_URL`, `BASIC_AUTH`.
    Related,
}

/// Judges a variable by its name; `None` if the name does not suggest a secret.
pub fn secret_name(name: &OsStr) -> Option<SecretName> {
    let name = name.to_string_lossy();
    let upper = name.to_uppercase();
    if PASSED.contains(&upper.as_str()) || upper.starts_with(SETTING_NAMES) {
        return None;
    }
    // Bundler keeps the passwords of hosts under their names: `BUNDLE_GEMS__EXAMPLE__COM`.
    let is_of_host = upper.starts_with("BUNDLE_") && upper.contains("__");
    if is_of_host
        || KEYS.contains(&upper.as_str())
        || KEY_BEGINNINGS.iter().any(|begin| upper.starts_with(begin))
    {
        return Some(SecretName::Value);
    }
    let words = words(&name);
    let vague = || words.iter().any(|word| is_one_of(&VAGUE_WORDS, word)).then_some(SecretName::Related);
    let last = words.iter().rposition(|word| is_secret_word(word));
    let is_phrase = |pair: &[String]| {
        let [first, second] = pair else { return false };
        PHRASES.iter().any(|[one, other]| first == one && is_one_of(&[*other], second))
    };
    let phrase = words.windows(2).rposition(is_phrase);
    let Some(last) = last.max(phrase.map(|at| at + 1)) else { return vague() };
    let is_last = words.get(last + 1..).unwrap_or_default().iter().all(String::is_empty);
    Some(if is_last { SecretName::Value } else { SecretName::Related })
}

/// The words of a name in capitals, without trailing digits: `dbPass_2` becomes `DB`, `PASS` and an empty
/// word.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_uppercase());
        }
    }
    words.iter().map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()).collect()
}

/// A word, and what it may be the plural of.
fn forms(word: &str) -> impl Iterator<Item = &str> {
    [Some(word), word.strip_suffix('S'), word.strip_suffix("ES")].into_iter().flatten()
}

fn is_one_of(known: &[&str], word: &str) -> bool {
    forms(word).any(|form| known.contains(&form))
}

fn is_secret_word(word: &str) -> bool {
    let is_phrase = |form: &str| {
        PHRASES
            .iter()
            .any(|[first, second]| form.strip_suffix(second).is_some_and(|rest| rest.ends_with(first)))
    };
    let is_secret = |form: &str| {
        WORDS.contains(&form)
            || PARTS.iter().any(|part| form.contains(part))
            || ENDS.iter().any(|end| form.ends_with(end))
            || is_phrase(form)
    };
    !is_one_of(HARMLESS_WORDS, word) && forms(word).any(is_secret)
}

/// The names of passwords, keys and signatures within a value: `Server=db;Uid=app;Pwd=…`, `https://…&X-Amz-Signature=…`.
const FIELDS: &[&str] = crate::words!("PASSWORD PASSWD PASS PWD ACCOUNTKEY SHAREDACCESSKEY SIGNATURE SIG");

/// Beginnings of addresses that whoever knows them can use, without `https://`. Their keys may have any form.
const ADDRESSES: &[&str] = crate::words!(
    "hooks.slack.com/ discord.com/api/webhooks/ discordapp.com/api/webhooks/ discord.com/api/v8/webhooks/ \
     discord.com/api/v9/webhooks/ discord.com/api/v10/webhooks/ \
     api.telegram.org/bot webhook.office.com/webhook outlook.office.com/webhook/ hooks.zapier.com/hooks/ \
     maker.ifttt.com/trigger/ chat.googleapis.com/v1/spaces/ hc-ping.com/"
);

/// True if a value is or contains a key: it has the shape of a key, is an address with a password, a private
/// key, a signed address or one of a webhook, or a list of fields with a password.
pub(crate) fn is_secret_value(value: &str) -> bool {
    let field = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let name = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?.to_ascii_uppercase();
        (FIELDS.contains(&name.as_str()) && !value.is_empty()).then_some(())
    };
    recognise::passwords(value).next().is_some()
        || !recognise::find(value).is_empty()
        || ADDRESSES.iter().any(|start| value.split_once(start).is_some_and(|(_, rest)| !rest.is_empty()))
        || value.split([';', '&', '?', ' ', '\n']).any(|part| field(part).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_values_are_secret() {
        let of = |name: &str| secret_name(OsStr::new(name));
        for name in *crate::words!(
            "OPENAI_API_KEY my_token API_KEYS API_KEY_2 OPENAI_KEY1 APIKEY DB_PASS DBPASS SSHPASS \
             dbPass DB_PASSPHRASE MYSQL_PWD PGPASSWORD GITHUB_PAT githubPat PAT AWS_CREDENTIALS \
             GCP_CREDS AWS_SESSION_TOKEN SENTRY_DSN AZURE_STORAGE_CONNECTION_STRING ConnectionString \
             API_BEARER SUPABASE_JWT WALLET_MNEMONIC MAIL_PW LDAP_BINDPW rootpw ADMIN_PASSWRD MY_PSWD SEED_PHRASE RECOVERY_CODES \
             BUNDLE_GEMS__EXAMPLE__COM BW_SESSION OP_SESSION_my GH_PATS JWTS DB_PASSES PWDS DSNS CREDS WIFI_PSK PSK \
             RECOVERY_PHRASE RECOVERY_CODE SEEDPHRASE DBCONNSTR DBPSW VAULT_UNSEAL"
        ) {
            assert_eq!(of(name), Some(SecretName::Value), "{name}");
        }
        for name in *crate::words!(
            "KEY_NAME TOKEN_URL PASSWORD_STORE_DIR NPM_AUTH npm_config__auth BASIC_AUTH \
             AUTHORIZATION HTTP_AUTHORIZATION AUTHS OTPS WEBHOOKS COOKIES \
             DOCKER_AUTH_CONFIG SESSION_COOKIE STORAGE_SAS CODE_SIGNING TLS_PRIVATE SLACK_WEBHOOK_URL"
        ) {
            assert_eq!(of(name), Some(SecretName::Related), "{name}");
        }
    }

    #[test]
    fn names_that_only_sound_secret_are_passed() {
        for name in *crate::words!(
            "PATH HOME PWD OLDPWD SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS VSCODE_GIT_ASKPASS_MAIN GPG_TTY \
             GNUPGHOME XAUTHORITY XDG_SESSION_ID XDG_SESSION_TYPE DBUS_SESSION_BUS_ADDRESS \
             DESKTOP_SESSION KEYBOARD_LAYOUT LESSKEY NODE_PATH MANPATH CARGO_HOME CARGO_TARGET_DIR \
             CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS RUSTFLAGS GOPRIVATE GIT_AUTHOR_NAME GIT_CONFIG_KEY_0 \
             TOKENIZERS_PARALLELISM COMPAT SSL_CERT_FILE PKG_CONFIG_PATH BUNDLE_PATH NPWAIT \
             HOTKEYS MONKEYS BYPASSES GIT_PS1 DNS_SERVERS CLASSES PATH_INFO"
        ) {
            assert_eq!(secret_name(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn values_are_secret_whatever_their_name_is() {
        for value in [
            "postgres://app:pw@db/x",
            "https://x-access-token:abc@github.com/a/b",
            "redis://:hunter2@cache:6379/0",
            "jdbc:sqlserver://db;user=sa;password=x1",
            "Server=db;Uid=app;Pwd=x1",
            "AccountName=a;AccountKey=abc==;EndpointSuffix=x",
            "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
            "https://hooks.slack.com/services/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",
            "https://discord.com/api/webhooks/738291047562810934/q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1M-q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1M_q7Rk2Vd9Lx4",
            "https://discord.com/api/webhooks/7382/q7Rk2Vd9Lx",
            "https://ptb.discord.com/api/v10/webhooks/7382/q7Rk2V",
            "https://api.telegram.org/bot12345:abc/sendMessage",
            "https://api.telegram.org/bot123456789:AAq7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9L/sendMessage",
            "123456789:AAq7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9L",
            "https://x.webhook.office.com/webhookb2/a@b/c",
            "https://b.s3.amazonaws.com/x?X-Amz-Expires=60&X-Amz-Signature=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
            "https://a.blob.core.windows.net/c?sv=2022&sig=k2J%2Bx",
        ] {
            assert!(is_secret_value(value), "{value}");
        }
        for value in [
            "/usr/bin:/bin", "postgres://db/x", "postgres://app@db/x", "http://proxy:3128",
            "http://localhost:8080/@scope/x", "ssh://git@host:22/x", "-C target-cpu=native",
            "rs=0:di=01;34:ln=01;36:*.tar=01;31", "unix:path=/run/user/1000/bus", "en_US.UTF-8",
            "https://discord.com/channels/1/2", "https://discord.com/api/v10", "https://api.telegram.org/",
            "https://discord.com/api/webhooks/", "https://core.telegram.org/bots/api",
            "https://x.example/a?design=b",
        ] {
            assert!(!is_secret_value(value), "{value}");
        }
    }
}
