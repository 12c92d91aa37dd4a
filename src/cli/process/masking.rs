//! Texts as they are shown: without passwords and keys.

use tau_agent::export::Redactor;
use tau_tools::process::secret_variables::secret_name;
use tau_tools::recognise;

/// Shown in place of a value that may be secret.
const HIDDEN: &str = "…";

/// A value as it is shown: variables without their defaults, but nothing that could be a secret.
pub(crate) fn mask(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    let hide = |shown: &mut String, part: &str| {
        if !part.is_empty() && !shown.ends_with(HIDDEN) {
            shown.push_str(HIDDEN);
        }
    };
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        hide(&mut shown, before);
        let plain = name.strip_suffix(":-").unwrap_or(name);
        let is_name = plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name && !before.ends_with('$') {
            shown.push_str(&format!("${{{name}}}"));
        } else {
            hide(&mut shown, name);
        }
        rest = behind;
    }
    hide(&mut shown, rest);
    shown
}

/// The words of a command as they are shown: without values of options whose names suggest secrets, without passwords
/// in addresses, and without keys of known shapes.
pub(crate) fn mask_words(words: &[String]) -> Vec<String> {
    let names_secret = |option: &str| {
        let name = option.trim_start_matches('-');
        option.starts_with('-') && (matches!(name, "H" | "header") || secret_name(name.as_ref()).is_some())
    };
    let mut is_value = false;
    let show =
        |word: &String| match (std::mem::replace(&mut is_value, names_secret(word)), word.split_once('=')) {
            (true, _) if !word.starts_with('-') => mask(word),
            (_, Some((name, value))) if names_secret(name) || secret_name(name.as_ref()).is_some() => {
                is_value = false;
                format!("{name}={}", mask(value))
            }
            _ => mask_address(word),
        };
    words.iter().map(show).collect()
}

/// An address as it is shown: without its password, the values in its query, and keys of known shapes.
pub(crate) fn mask_address(text: &str) -> String {
    let (address, query) = match text.split_once('?').filter(|_| text.contains("://")) {
        Some((address, query)) => (address, Some(query)),
        None => (text, None),
    };
    let mut shown = Redactor::new(&[]).text(&mask_passwords(address));
    if let Some(query) = query {
        let value = |part: &str| match part.split_once('=') {
            Some((name, value)) => format!("{name}={}", mask(value)),
            None => mask(part),
        };
        shown.push_str(&format!("?{}", query.split('&').map(value).collect::<Vec<_>>().join("&")));
    }
    shown
}

/// A message without the passwords of addresses in it, and without the values in their queries that names suggest to
/// be secrets.
pub(crate) fn mask_addresses(text: &str) -> String {
    if !text.contains("://") {
        return text.to_owned();
    }
    let mut shown = String::new();
    for (at, part) in mask_passwords(text).split_inclusive(['?', '&']).enumerate() {
        let end = part.find(|c: char| c.is_whitespace() || "&?#\"'`<>".contains(c)).unwrap_or(part.len());
        let (parameter, rest) = part.split_at(end);
        match parameter.split_once('=') {
            Some((name, value)) if at > 0 && secret_name(name.as_ref()).is_some() => {
                shown.push_str(&format!("{name}={}{rest}", mask(value)));
            }
            _ => shown.push_str(part),
        }
    }
    shown
}

fn mask_passwords(text: &str) -> String {
    recognise::passwords(text).fold(text.to_owned(), |shown, password| {
        shown.replace(&format!(":{password}@"), &format!(":{}@", mask(password)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_password_and_no_key_of_an_address() {
        for (text, shown) in [
            (
                "cannot reach http://bob:pw@127.0.0.1:9: refused",
                "cannot reach http://bob:…@127.0.0.1:9: refused",
            ),
            ("`https://h/x.zip?a=1&token=pw` is no archive", "`https://h/x.zip?a=1&token=…` is no archive"),
            (
                "https://h/?api_key=pw#x and https://h/?access_token=pw",
                "https://h/?api_key=…#x and https://h/?access_token=…",
            ),
            ("http://127.0.0.1:9/v1?limit=10 has no models", "http://127.0.0.1:9/v1?limit=10 has no models"),
            ("no token is known: token=pw?", "no token is known: token=pw?"),
        ] {
            assert_eq!(mask_addresses(text), shown);
        }
    }
}
