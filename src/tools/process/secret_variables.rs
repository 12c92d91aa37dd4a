//! Decides which environment variables are secret, by their names and their values.

use std::ffi::OsStr;
use std::path::Path;

use base64::Engine;

use crate::recognise;

/// Parts of words that mark a value as secret.
const PARTS: &[&str] =
    crate::words!("KEY TOKEN SECRET PASSWORD PASSWORT PASSWD PASSWRD PASSPHRASE PASSCODE CREDENTIAL");

/// Word endings that mark a value as secret: `SSHPASS`, `MYSQL_PWD`.
const ENDS: [&str; 12] =
    ["PASS", "PW", "PWD", "PSW", "PSWD", "PSWRD", "PWORD", "PSK", "DSN", "JWT", "JWK", "SESSID"];

/// Whole words that mark a value as secret.
const WORDS: &[&str] =
    crate::words!("BEARER CONTRASENA CRED MNEMONIC PAT PIN SCRT SENHA SK TKN TOK UNSEAL XPRV");
/// Parts of words of passwords, which may be numbers.
const OF_PASSWORDS: [&str; 8] = ["PASS", "PW", "PSW", "PSK", "PIN", "SENHA", "CONTRASENA", "CODE"];

/// Words of names that say nothing by themselves: their value is one if it looks like it.
const UNCERTAIN_WORDS: [&str; 7] = ["API", "BASIC", "MNEMONICS", "NETRC", "OPENAI", "SEED", "SID"];
/// The least number of words in a seed phrase.
const SEED_PHRASE: usize = 12;

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
    "ASKPASS BYPASS COMPASS DONKEY HOCKEY HOTKEY JOCKEY KEYBOARD KEYCLOAK KEYCODE KEYMAP KEYTIMEOUT LESSKEY LESSKEYIN \
     MONKEY MONKEYPATCH OLDPWD SECRETARIAT SECRETARY TOKENIZER TURKEY TRESPASS WHISKEY"
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

/// Whether a variable holds a secret by its name, and its value does not say that it is something else.
pub(super) fn is_secret_variable(name: &OsStr, value: &str) -> bool {
    let upper = words(&name.to_string_lossy());
    match secret_name(name) {
        Some(kind) => !is_setting(kind, &upper, value.trim()),
        None => {
            let is_uncertain = upper.iter().any(|word| is_one_of(&UNCERTAIN_WORDS, word));
            let looks_secret = || {
                recognise::is_telling(value) && !recognise::is_reference(value)
                    || value.split_whitespace().count() >= SEED_PHRASE
            };
            is_uncertain && looks_secret()
        }
    }
}

/// Whether a value is a number, a truth value, a path or an address without a password.
fn is_setting(kind: SecretName, name: &[String], value: &str) -> bool {
    let is_of = |parts: &[&str]| name.iter().any(|word| parts.iter().any(|part| word.contains(part)));
    let number = value.strip_prefix('-').unwrap_or(value);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let may_be_number =
        is_of(&OF_PASSWORDS) && value.len() > 3 || kind == SecretName::Value && value.len() > 9;
    if is_number {
        return !may_be_number;
    }
    let lower = value.to_ascii_lowercase();
    if value.is_empty() || TRUTH.contains(&lower.as_str()) {
        return true;
    }
    if kind == SecretName::Related && value.len() < 3 {
        return true;
    }
    let parts = || value.split(['/', ':', ',']).filter(|part| !part.is_empty());
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-~:, +".contains(&byte));
    if !is_plain || is_of(&["WEBHOOK"]) {
        return false;
    }
    if value.contains("://") {
        return parts().all(|part| part.len() < 24 && !recognise::looks_secret(part));
    }
    let is_path = ["/", "~/", "./", "../"].iter().any(|start| value.starts_with(start));
    is_path && (parts().all(|part| !recognise::looks_secret(part)) || Path::new(value).exists())
}

/// Truth values, and words for nothing.
const TRUTH: &[&str] = crate::words!("true false yes no on off none null nil disabled enabled");

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
        || is_login(value.trim())
        || is_key_alone(value.trim())
}

/// Whether a value is a login as some programs write it: a header, a file of theirs, an address without `//`.
fn is_login(value: &str) -> bool {
    let is_base64 = |text: &str| {
        text.len() >= 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
    };
    let header = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let of_docker = value.contains("\"auths\"") && value.contains("\"auth\"");
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_field =
        |word: Option<&&str>| word.is_some_and(|word| ["login", "account", "password"].contains(word));
    let of_netrc = words.contains(&"password")
        && words.iter().enumerate().any(|(at, word)| match *word {
            "machine" => is_field(words.get(at + 2)),
            "default" => is_field(words.get(at + 1)),
            _ => false,
        });
    // `user/password@host` of Oracle, `user:password@tcp(host)` of Go.
    let oracle = value.split_once(":thin:").or_else(|| value.split_once(":oci:")).is_some_and(|(_, rest)| {
        rest.split_once('@')
            .is_some_and(|(login, _)| login.split_once('/').is_some_and(|(_, word)| !word.is_empty()))
    });
    let go = value.rsplit_once('@').is_some_and(|(login, place)| {
        let has_place = ["tcp(", "tcp6(", "unix("].iter().any(|start| place.starts_with(start));
        has_place && login.split_once(':').is_some_and(|(_, word)| !word.is_empty())
    });
    // A file in base64: a private key, or the settings of an account.
    let decoded = || {
        let text: String = value.split_whitespace().collect();
        let text = text.trim_end_matches('=');
        let bytes = (text.len() >= 40 && is_base64(text)).then(|| {
            let text = text.replace('-', "+").replace('_', "/");
            base64::engine::general_purpose::STANDARD_NO_PAD.decode(text).ok()
        });
        bytes.flatten().and_then(|bytes| String::from_utf8(bytes).ok())
    };
    header.is_some_and(|(_, text)| is_base64(text))
        || of_docker
        || of_netrc
        || oracle
        || go
        || decoded().is_some_and(|text| {
            text.contains("-----BEGIN") || !recognise::find(&text).is_empty() || is_login(&text)
        })
}

/// Keys whose beginning is too common to be looked for within a text: it, and the least length.
const ALONE: [(&str, usize); 6] =
    [("re_", 30), ("1//0", 40), ("SK", 34), ("pat", 82), ("FlyV1 ", 30), ("ops_eyJ", 60)];

/// Whether a value is one of these keys, and nothing else.
fn is_key_alone(value: &str) -> bool {
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+/=,".contains(&byte);
    ALONE.iter().any(|(start, length)| {
        value.len() >= *length
            && value.strip_prefix(start).is_some_and(|rest| {
                rest.bytes().all(is_key)
                    && rest.bytes().any(|byte| byte.is_ascii_digit())
                    && !rest.starts_with('/')
            })
    })
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
    fn what_a_value_says_counts_beside_the_name() {
        let is_secret = |(name, value): &(&str, &str)| is_secret_variable(OsStr::new(name), value);
        for given in [
            ("MAX_TOKENS", "4096"),
            ("TOKEN_EXPIRY", "3600"),
            ("FOREIGN_KEY_CHECKS", "0"),
            ("OAUTH_ENABLED", "true"),
            ("AUTH", "none"),
            ("KEYCLOAK_URL", "http://localhost:8080/auth"),
            ("AUTH_URL", "https://id.example.com/oauth"),
            ("KEY_BINDINGS", "vi"),
            ("SECRETARY", "Ann"),
            ("DONKEY", "1x"),
            ("MONKEYPATCH", "on"),
            ("DB_PASSWORD_FILE", "/run/secrets/db_password"),
            ("SECRETS_PATH", "./config/secrets.yml"),
            ("RANDOM_SEED", "42"),
            ("ORACLE_SID", "ORCL"),
            ("HEROKU_API", "https://api.heroku.com"),
            ("GPIO_PIN", "17"),
            ("WANDB_API", "v1"),
            ("TOKEN_TTL", "1.5"),
            ("SSH_KEY", "~/.ssh/deploy.pem"),
        ] {
            assert!(!is_secret(&given), "{given:?}");
        }
        for given in [
            ("DB_PSWRD", "x"),
            ("DB_PWORD", "x"),
            ("SLACK_TKN", "x"),
            ("API_TOK", "x"),
            ("BOT_TOK", "x"),
            ("APP_SCRT", "x"),
            ("PHPSESSID", "k3j2"),
            ("CARD_PIN", "4711"),
            ("DB_PASS", "12345678"),
            ("API_KEY", "738291047562810934"),
            ("WALLET_SEED", "a b c d e f g h i j k l"),
            ("XPRV", "x"),
            ("MY_JWK", "x"),
            ("STRIPE_SK", "x"),
            ("SK_LIVE", "xyz"),
            ("SENHA", "x"),
            ("CONTRASENA", "x"),
            ("PASSWORT", "x"),
            ("HEROKU_API", "a8f2c91e77b04d"),
            ("SESSION_SID", "q7Rk2Vd9Lx"),
            ("SLACK_WEBHOOK_URL", "https://hooks.example.com/x"),
            ("AUTH", "app:pw"),
            ("SENTRY_DSN", "https://abc@sentry.io/1"),
            ("AWS_SECRET_ACCESS_KEY", "/q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9Lx4Tn8W"),
            ("AUTH_URL", "https://x/?token=abc"),
        ] {
            assert!(is_secret(&given), "{given:?}");
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
            "Basic dXNlcjpwYXNz",
            "{\"auths\":{\"r.example\":{\"auth\":\"dXNlcjpwYXNz\"}}}",
            "eyJhdXRocyI6eyJyLmV4YW1wbGUiOnsiYXV0aCI6ImRYTmxjanB3WVhOeiJ9fX0=",
            "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJna3Foa2lHOXcwQkFRRUZBQVND",
            "jdbc:oracle:thin:scott/pw@//db:1521/x",
            "app:pw@tcp(db:3306)/x",
            "machine example.com login me password pw",
            "pscale_tkn_q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1M",
            "sq0atp-q7Rk2Vd9Lx4Tn8Wp3Zc6Yb",
            "mdb_sa_sk_q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9",
            "dp.st.dev.q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9Lx4Tn8Wp",
            "FlyV1 fm2_lJPECAAAAAAAAq7Rk2Vd9Lx4Tn8Wp3Zc6Yb1M",
            "q7Rk2Vd9Lx4Tn8.atlasv1.q7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9Lx4Tn8",
            "patq7Rk2Vd9Lx4Tn8.9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "pat-na1-7f3c2a1e-9b4d-4c8e-a1f2-3d4e5f6a7b8c",
            "ATBBq7Rk2Vd9Lx4Tn8Wp3Zc6Yb1M4F2A9C1E",
            "bkua_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "CCIPAT_q7Rk2Vd9Lx4Tn8Wp3Zc6Yb_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "re_q7Rk2Vd9_Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9",
            "1//0gq7Rk2Vd9Lx4Tn8Wp3Zc6Yb1Mq7Rk2Vd9Lx4Tn8Wp3",
            "SK9f86d081884c7d659a2feaa0c55ad015",
        ] {
            assert!(is_secret_value(value), "{value}");
        }
        for value in [
            "/usr/bin:/bin",
            "postgres://db/x",
            "postgres://app@db/x",
            "http://proxy:3128",
            "http://localhost:8080/@scope/x",
            "ssh://git@host:22/x",
            "-C target-cpu=native",
            "rs=0:di=01;34:ln=01;36:*.tar=01;31",
            "unix:path=/run/user/1000/bus",
            "en_US.UTF-8",
            "https://discord.com/channels/1/2",
            "https://discord.com/api/v10",
            "https://api.telegram.org/",
            "https://discord.com/api/webhooks/",
            "https://core.telegram.org/bots/api",
            "https://x.example/a?design=b",
            "basic auth",
            "the machine has no password",
            "user@tcp(h)/db",
            "jdbc:oracle:thin:@//db:1521/x",
            "re_export_names",
            "SKIP",
            "pattern",
            "a/b@c",
            "L2hvbWUvbWUvcHJvamVjdHMvdGF1L3RhcmdldC9kZWJ1Zw==",
        ] {
            assert!(!is_secret_value(value), "{value}");
        }
    }
}
