//! Names of variables, fields and flags that mark their values as secret.

/// The kind of value that a name suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Password,
    Token,
    Secret,
    ApiKey,
    /// Keys of any sort: only values that look generated count.
    Generic,
}

impl Kind {
    /// The name used in placeholders.
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

/// Name endings, without separators, with this last letter. Split by letter, since one table would be
/// searched for every name in a text.
fn ends(last: u8) -> &'static [(&'static str, Kind)] {
    match last {
        b'd' => &[("password", Kind::Password), ("passwd", Kind::Password), ("pwd", Kind::Password)],
        b'e' => &[
            ("passphrase", Kind::Password),
            ("passcode", Kind::Password),
            ("secretkeybase", Kind::Secret),
            ("signature", Kind::Generic),
        ],
        b't' => &[("secret", Kind::Secret)],
        b'n' => &[("token", Kind::Token), ("authorization", Kind::Token)],
        b'y' => &[
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
        ],
        b'l' => &[("credential", Kind::Generic)],
        b's' => &[("credentials", Kind::Generic)],
        b'h' => &[("auth", Kind::Generic)],
        b'r' => &[("bearer", Kind::Token)],
        _ => &[],
    }
}

/// Name endings that only sound secret.
const INNOCENT: &[&str] = crate::words!(
    "nexttoken pagetoken continuationtoken csrftoken xsrftoken canceltoken cancellationtoken stoptoken \
     eostoken bostoken padtoken unktoken maxtoken synctoken starttoken endtoken worktoken \
     othersignature methodsignature functionsignature typesignature currenttoken prevtoken \
     previoustoken lasttoken firsttoken publickey cachekey primarykey foreignkey sortkey partitionkey \
     idempotencykey resumetoken cursortoken storagekey localstoragekey"
);

/// The longest name that is examined, in bytes.
const MAX_LEN: usize = 96;

/// The letters and digits of a name, in lower case.
struct Letters {
    buffer: [u8; MAX_LEN],
    length: usize,
}

impl Letters {
    fn of(name: &[u8]) -> Self {
        let mut letters = Letters { buffer: [0; MAX_LEN], length: 0 };
        letters.add(name);
        letters
    }

    fn add(&mut self, name: &[u8]) {
        for byte in name {
            if let Some(to) = self.buffer.get_mut(self.length).filter(|_| byte.is_ascii_alphanumeric()) {
                *to = byte.to_ascii_lowercase();
                self.length += 1;
            }
        }
    }

    fn all(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }

    /// The longest known ending.
    fn end(&self) -> Option<(&'static str, Kind)> {
        let all = self.all();
        let known = ends(*all.last()?).iter().filter(|(end, _)| all.ends_with(end.as_bytes()));
        known.max_by_key(|(end, _)| end.len()).copied()
    }

    /// True if the name only sounds secret.
    fn is_innocent(&self) -> bool {
        INNOCENT.iter().any(|end| self.all().ends_with(end.as_bytes()))
    }
}

/// The kind of value that the name suggests; `None` if it does not suggest a secret.
pub(super) fn kind(name: &str) -> Option<Kind> {
    let letters = Letters::of(name.as_bytes());
    kind_of_ending(name, &letters).filter(|_| !letters.is_innocent())
}

/// The kind of a key preceded by this word: `Secret access key`.
pub(super) fn kind_of_key(word: &str) -> Option<Kind> {
    let mut letters = Letters::of(word.as_bytes());
    letters.add(b"key");
    letters.end().map(|(_, kind)| kind).filter(|_| !letters.is_innocent())
}

/// The kind suggested by the ending of the name; `letters` are those of the name.
fn kind_of_ending(name: &str, letters: &Letters) -> Option<Kind> {
    let lower = letters.all();
    if lower == b"pass"
        || (lower.ends_with(b"pass")
            && ["_pass", "-pass", ".pass", "_PASS", "Pass"].iter().any(|end| name.ends_with(end)))
    {
        return Some(Kind::Password);
    }
    if lower == b"sig" || lower == b"xamzsignature" {
        return Some(Kind::Generic);
    }
    // A signature is secret only in the parameters of addresses.
    let named = letters.end().filter(|(end, _)| *end != "signature").map(|(_, kind)| kind);
    named.or_else(|| {
        let ends = name.ends_with("_KEY") || name.ends_with("_DSN") || name.ends_with("_CREDENTIALS");
        let capitals = ends && !name.bytes().any(|byte| byte.is_ascii_lowercase());
        capitals.then_some(Kind::Generic)
    })
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
        for name in *crate::words!(
            "max_tokens nextPageToken key bypass compass password_hash public_key token_type monkey"
        ) {
            check(name, None);
        }
    }
}
