//! Names of variables, fields and flags that say that their value is secret.

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Password,
    Token,
    Secret,
    ApiKey,
    /// Keys of any sort: only what looks generated counts.
    Generic,
}

impl Kind {
    /// What placeholders say.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Password => "password",
            Kind::Token => "token",
            Kind::Secret => "secret",
            Kind::ApiKey => "api key",
            Kind::Generic => "key",
        }
    }
}

/// Ends of names, without separators.
const ENDS: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("pwd", Kind::Password),
    ("secret", Kind::Secret),
    ("secretkeybase", Kind::Secret),
    ("signature", Kind::Generic),
    ("token", Kind::Token),
    ("apikey", Kind::ApiKey),
    ("accesskey", Kind::ApiKey),
    ("secretkey", Kind::Secret),
    ("privatekey", Kind::Secret),
    ("encryptionkey", Kind::Secret),
    ("signingkey", Kind::Secret),
    ("masterkey", Kind::Secret),
    ("authkey", Kind::ApiKey),
    ("accountkey", Kind::ApiKey),
    ("sharedkey", Kind::Secret),
    ("storagekey", Kind::Generic),
    ("servicekey", Kind::Generic),
    ("servicerolekey", Kind::ApiKey),
    ("credential", Kind::Generic),
    ("credentials", Kind::Generic),
    ("authorization", Kind::Token),
    ("auth", Kind::Generic),
    ("bearer", Kind::Token),
];

/// Ends of names that only sound secret.
const INNOCENT: &[&str] = &[
    "nexttoken",
    "pagetoken",
    "continuationtoken",
    "csrftoken",
    "xsrftoken",
    "canceltoken",
    "cancellationtoken",
    "stoptoken",
    "eostoken",
    "bostoken",
    "padtoken",
    "unktoken",
    "maxtoken",
    "synctoken",
    "starttoken",
    "endtoken",
    "worktoken",
    "othersignature",
    "methodsignature",
    "functionsignature",
    "typesignature",
    "currenttoken",
    "prevtoken",
    "previoustoken",
    "lasttoken",
    "firsttoken",
    "publickey",
    "cachekey",
    "primarykey",
    "foreignkey",
    "sortkey",
    "partitionkey",
    "idempotencykey",
    "resumetoken",
    "cursortoken",
    "storagekey",
    "localstoragekey",
];

/// Longest name that is examined, in bytes.
const LONGEST: usize = 96;

/// What the name says, or `None` if it says nothing of secrets.
pub(super) fn kind(name: &str) -> Option<Kind> {
    let mut buffer = [0; LONGEST];
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    let length = buffer.iter_mut().zip(letters).map(|(to, from)| *to = from).count();
    let lower = std::str::from_utf8(buffer.get(..length)?).ok()?;
    said(name, lower).filter(|_| !INNOCENT.iter().any(|end| lower.ends_with(end)))
}

/// What the end of the name says; `lower` are its letters and digits.
fn said(name: &str, lower: &str) -> Option<Kind> {
    if lower == "pass" || ["_pass", "-pass", ".pass", "_PASS", "Pass"].iter().any(|end| name.ends_with(end)) {
        return Some(Kind::Password);
    }
    if lower == "sig" || lower == "xamzsignature" {
        return Some(Kind::Generic);
    }
    let last = lower.bytes().next_back();
    // Most are told apart by their last letter.
    let named = ENDS.iter().filter(|(end, _)| end.bytes().next_back() == last && lower.ends_with(end));
    let named = named.max_by_key(|(end, _)| end.len()).map(|(_, kind)| *kind);
    let capitals = !name.bytes().any(|b| b.is_ascii_lowercase());
    let generic =
        capitals && (name.ends_with("_KEY") || name.ends_with("_DSN") || name.ends_with("_CREDENTIALS"));
    // A signature is secret in the parameters of addresses only.
    named.filter(|_| !lower.ends_with("signature")).or(generic.then_some(Kind::Generic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let check = |name: &str, expected: Option<Kind>| assert_eq!(kind(name), expected, "{name}");
        check("DB_PASSWORD", Some(Kind::Password));
        check("smtpPass", Some(Kind::Password));
        check("x-api-key", Some(Kind::ApiKey));
        check("AWS_SECRET_ACCESS_KEY", Some(Kind::ApiKey));
        check("clientSecret", Some(Kind::Secret));
        check("GITHUB_TOKEN", Some(Kind::Token));
        check("STRIPE_KEY", Some(Kind::Generic));
        for name in [
            "max_tokens",
            "nextPageToken",
            "key",
            "bypass",
            "compass",
            "password_hash",
            "public_key",
            "token_type",
            "monkey",
        ] {
            check(name, None);
        }
    }
}
