//! Decides which values can be secrets: not placeholders, references, code, words, paths, hashes or numbers.

use super::names::Kind;

/// The place of a value, which determines how much it must look like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `NAME=value`, or the password of an address.
    Variable,
    /// Between quotes, or in an element.
    Quoted,
    /// Without quotes, but alone on its line, or directly after `=`.
    Bare,
    /// Somewhere in a sentence or in code.
    Loose,
}

/// Parts of values that mark a placeholder.
const PLACEHOLDERS: &[&str] = &[
    "your", "example", "changeme", "change-me", "change_me", "changeit", "placeholder", "xxxx", "****",
    "....", "redacted", "dummy", "sample", "replace", "insert", "todo", "fixme", "not-a-", "notreal",
    "not-real", "masked", "-here", "_here", "goes-here", "${", "{{", "{}", "%s", "#{", "<%", "\u{2026}",
    "\u{2022}", "[secret ",
];

/// Whole values that are placeholders or meaningless.
const WORDS: &[&str] = crate::words!(
    "password passwd passphrase secret token string null none nil undefined true false admin root guest \
     default user required optional empty postgres mysql redis pass pwd foobar foo bar hidden value \
     function"
);

/// Prefixes of references to the actual value.
const REFERENCES: &[&str] = crate::words!(
    "arn: op:// vault: ref+ ssm: file: env: kms: enc[ enc: sha1: sha256: sha512: sha1- sha256- sha384- \
     sha512- md5: process.env os.environ import.meta secretref secrets. projects/ data:"
);

/// Names of algorithms, whose digits do not suggest a secret.
const ALGORITHMS: &[&str] = &[
    "sha256", "sha512", "sha384", "sha224", "sha1", "base64", "base32", "base58", "utf8", "utf16", "hs256",
    "rs256", "es256", "x509", "aes256", "aes128", "ed25519", "x25519", "p256", "oauth2", "auth0", "md5",
    "pkcs8", "pkcs12", "http2", "http3", "ipv4", "ipv6", "i18n", "win32", "x86_64",
];

/// True if the value is a placeholder for another one.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let angled = lower.starts_with('<') || (lower.contains('<') && lower.contains('>'));
    let tested = lower.starts_with("test") && value.len() < 20 && digits(value) <= 5;
    angled
        || tested
        || WORDS.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|part| lower.contains(part))
        || longest_series(lower.as_bytes()) >= 8.min(value.len())
}

/// The length of the longest run of equal or ascending characters.
fn longest_series(bytes: &[u8]) -> usize {
    let longest = |step: u8| {
        let (mut best, mut now) = (0, 1);
        for pair in bytes.windows(2) {
            let follows = matches!(pair, [a, b] if a.wrapping_add(step) == *b);
            now = if follows { now + 1 } else { 1 };
            best = best.max(now);
        }
        best
    };
    // Five equal characters are rarer in a key than eight in order.
    let same = longest(0);
    (if same >= 5 { 8 } else { same }).max(longest(1))
}

/// The number of digits.
fn digits(value: &str) -> usize {
    value.bytes().filter(u8::is_ascii_digit).count()
}

/// True if it looks like the output of a key generator.
pub(super) fn random(value: &str) -> bool {
    let bytes = value.as_bytes();
    let class = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let changes = bytes.windows(2).filter(|pair| matches!(pair, [a, b] if class(a) != class(b))).count();
    let mut seen = [false; 256];
    bytes.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let mixed = digits(value) >= 2 && letters >= 2;
    bytes.len() >= 12 && mixed && changes * 6 >= bytes.len() && distinct >= 8.min(bytes.len() / 2)
}

/// True if it consists of words, with few digits.
fn wordy(value: &str) -> bool {
    let mut in_words = 0;
    let mut run = 0;
    let mut upper = 0;
    let mut end_of_run = |run: &mut usize, upper: &mut usize| {
        // Words have no capitals inside.
        if *run >= 3 && (*upper == 0 || *upper == *run) {
            in_words += *run;
        }
        (*run, *upper) = (0, 0);
    };
    let mut last_lower = false;
    for c in value.chars() {
        if c.is_alphabetic() {
            // A capital begins a word of a camel-case name.
            if c.is_uppercase() && last_lower {
                end_of_run(&mut run, &mut upper);
            }
            let begins = run == 0;
            run += 1;
            upper += usize::from(c.is_uppercase() && !begins);
            last_lower = c.is_lowercase();
        } else {
            end_of_run(&mut run, &mut upper);
            last_lower = false;
        }
    }
    end_of_run(&mut run, &mut upper);
    let solid = value.chars().filter(|c| c.is_alphanumeric()).count();
    solid == 0 || (in_words * 4 >= solid * 3 && digits(value) <= 2)
}

/// True if the value can only say where the secret is, or what it is made from.
pub(super) fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let path = ["/", "./", "../", "~/", "c:\\"].iter().any(|begin| lower.starts_with(begin));
    let number = value.chars().all(|c| c.is_ascii_digit() || ".,:-+TZ/ ".contains(c));
    value.starts_with(['$', '%', '[', '{', '^'])
        || value.contains("://")
        || value.contains("[a-z")
        || (path && !(value.len() == 40 && random(value)))
        || number
        || REFERENCES.iter().any(|begin| lower.starts_with(begin))
}

/// True if a value without quotes is code: a call, a path of names, a type.
fn is_code(value: &str) -> bool {
    let first = value.chars().next().unwrap_or(' ');
    let marks = ["::", "->", "&&", "||", "?.", "=="].iter().any(|mark| value.contains(mark));
    let name = |part: &str| {
        part.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    let chain = value.split('.').count() >= 2 && value.split('.').all(|part| name(part) && part.len() < 24);
    // `SHARED_KEY_2`, `0x8004400a`
    let capitals = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let constant = value.contains('_') && value.chars().all(capitals);
    marks
        || constant
        || value.starts_with("0x")
        || chain
        || value.contains(['(', '<', '>', '`', '|'])
        || matches!(first, '&' | '*' | '!' | '@' | '\\' | '-')
}

/// True if an identifier has too many digits for a name.
fn has_telling_digits(value: &str) -> bool {
    let mut rest = value.to_ascii_lowercase();
    for name in ALGORITHMS {
        if rest.contains(name) {
            rest = rest.replace(name, "");
        }
    }
    digits(&rest) >= 3 || (random(value) && digits(&rest) >= 2)
}

/// The longest value, in bytes.
const MAX_LEN: usize = 8 * 1024;

/// True if `value` is a secret, given a name of this kind.
pub(super) fn plausible(value: &str, kind: Kind, place: Place) -> bool {
    let password = kind == Kind::Password;
    let least = match (password, place) {
        (true, Place::Variable | Place::Quoted | Place::Bare) => 6,
        (_, Place::Loose) => 12,
        _ => 8,
    };
    let pin =
        password && place == Place::Variable && value.len() >= 6 && value.bytes().all(|b| b.is_ascii_digit());
    if !(least..=MAX_LEN).contains(&value.len()) || is_placeholder(value) || (is_reference(value) && !pin) {
        return false;
    }
    let spaced = value.contains(char::is_whitespace);
    let digit = digits(value) > 0;
    let inner_capital =
        value.chars().skip(1).any(char::is_uppercase) && value.chars().any(char::is_lowercase);
    let symbol =
        value.chars().any(|c| c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '.' | ':' | '/' | ','));
    let mixed = digit || inner_capital || symbol;
    let name = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    match (kind, place) {
        (Kind::Generic, _) => {
            value.len() >= 16 && !spaced && random(value) && !wordy(value) && !is_code(value)
        }
        (Kind::Password, Place::Variable) => !spaced || digit,
        (_, Place::Variable) => !spaced && !wordy(value) && mixed,
        (Kind::Password, Place::Quoted) => !spaced && mixed && (!wordy(value) || (symbol && digit)),
        (_, Place::Quoted) => !spaced && mixed && !wordy(value),
        (_, Place::Bare) => {
            let telling = !name || has_telling_digits(value);
            !spaced && mixed && telling && !is_code(value) && (!wordy(value) || (password && symbol && digit))
        }
        (_, Place::Loose) => {
            !spaced && random(value) && has_telling_digits(value) && !is_code(value) && !wordy(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_what_stands_for_them() {
        let check = |value: &str, kind: Kind, place: Place, expected: bool| {
            assert_eq!(plausible(value, kind, place), expected, "{value} {kind:?} {place:?}");
        };
        check("hunter2", Kind::Password, Place::Variable, true);
        check("correcthorse", Kind::Password, Place::Variable, true);
        check("changeme", Kind::Password, Place::Variable, false);
        check("$DB_PASSWORD", Kind::Password, Place::Variable, false);
        check("Summer2024", Kind::Password, Place::Bare, true);
        check("get_password()", Kind::Password, Place::Bare, false);
        check("next_token2", Kind::Token, Place::Bare, false);
        check("HmacSha256", Kind::Secret, Place::Bare, false);
        check("self.token", Kind::Token, Place::Bare, false);
        check("Passwort", Kind::Password, Place::Quoted, false);
        check("Mot de passe 2", Kind::Password, Place::Quoted, false);
        check("s3cr3t!pw", Kind::Password, Place::Quoted, true);
        check("550e8400-e29b-41d4-a716-446655440000", Kind::Token, Place::Quoted, true);
        check("/run/secrets/token2", Kind::Token, Place::Variable, false);
        check("sha512-abcdef0123456789", Kind::Token, Place::Quoted, false);
        check("12345678", Kind::Password, Place::Variable, false);
        check("48151623", Kind::Password, Place::Variable, true);
        check("48151623", Kind::Token, Place::Bare, false);
        check("your-api-key-here", Kind::ApiKey, Place::Variable, false);
    }
}
