//! Completes addresses from resource templates while they are typed.
//!
//! Templates are of RFC 6570, levels 1 and 2 without fragments: `{name}` and `{+name}`.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ArgumentInfo, CompleteRequestParams, CompletionContext, Reference};

use crate::provider::sigv4::UNRESERVED;

/// All characters but the unreserved and the reserved ones.
const RESERVED: AsciiSet = {
    let (mut set, mut reserved) = (UNRESERVED, b":/?#[]@!$&'()*+,;=".as_slice());
    while let [first, rest @ ..] = reserved {
        set = set.remove(*first);
        reserved = rest;
    }
    set
};

/// A completion request for a text that is being typed.
pub(super) struct Completing {
    /// The name of the argument, or of the part of the address.
    pub(super) argument: String,
    pub(super) params: CompleteRequestParams,
    /// The rest of the address around the value.
    pub(super) around: Option<AddressAround>,
}

/// An address without the part that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddressAround {
    before: String,
    /// The text up to the next part.
    after: String,
    /// Whether reserved characters are not encoded.
    is_reserved: bool,
}

impl AddressAround {
    /// The address with this value, up to the next part.
    pub(super) fn with(&self, value: &str) -> String {
        format!("{}{}{}", self.before, percent_encode(value, self.is_reserved), self.after)
    }
}

/// A part of a template: a name in braces, and the text after it.
struct Part<'a> {
    name: &'a str,
    is_reserved: bool,
    text: &'a str,
}

/// The text before the first part, and the parts. `None` if the template has other expressions.
fn parts(template: &str) -> Option<(&str, Vec<Part<'_>>)> {
    let (start, mut rest) = template.split_once('{')?;
    let mut parts = Vec::new();
    loop {
        let (inside, after) = rest.split_once('}')?;
        let (name, is_reserved) = match inside.strip_prefix('+') {
            Some(name) => (name, true),
            None => (inside, false),
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (text, next) = match after.split_once('{') {
            Some((text, next)) => (text, Some(next)),
            None => (after, None),
        };
        if !is_name {
            return None;
        }
        parts.push(Part { name, is_reserved, text });
        match next {
            Some(next) => rest = next,
            None => return Some((start, parts)),
        }
    }
}

/// The completion request if `typed` is the beginning of an address that matches the template.
pub(super) fn template_of(template: &str, typed: &str) -> Option<Completing> {
    let (start, parts) = parts(template)?;
    let mut rest = typed.strip_prefix(start)?;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for part in parts {
        if !part.text.is_empty()
            && let Some((value, after)) = rest.split_once(part.text)
        {
            known.insert(part.name.to_owned(), percent_decode(value));
            rest = after;
            continue;
        }
        let before = typed.get(..typed.len() - rest.len())?.to_owned();
        let info = ArgumentInfo::new(part.name.to_owned(), percent_decode(rest));
        let params = CompleteRequestParams::new(Reference::for_resource(template.to_owned()), info);
        let params = match known.is_empty() {
            true => params,
            false => params.with_context(CompletionContext::with_arguments(known.into_iter().collect())),
        };
        let around = AddressAround { before, after: part.text.to_owned(), is_reserved: part.is_reserved };
        return Some(Completing { argument: part.name.to_owned(), params, around: Some(around) });
    }
    None
}

/// A value encoded for an address.
fn percent_encode(value: &str, is_reserved: bool) -> String {
    utf8_percent_encode(value, if is_reserved { &RESERVED } else { &UNRESERVED }).to_string()
}

/// The decoded value of a part of an address.
fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request: the argument's name, the typed value, the known values, and the address with `x y/z`.
    fn request_parts(template: &str, typed: &str) -> Option<[String; 4]> {
        let found = template_of(template, typed)?;
        let known = found.params.context.and_then(|context| context.arguments).unwrap_or_default();
        let mut known: Vec<String> = known.iter().map(|(name, value)| format!("{name}={value}")).collect();
        known.sort();
        let address = found.around.unwrap().with("x y/z");
        Some([found.argument, found.params.argument.value, known.join(" "), address])
    }

    #[test]
    fn the_part_that_is_being_typed_is_completed() {
        let check = |typed: &str, name: &str, value: &str, known: &str, address: &str| {
            let expected = [name, value, known, address].map(str::to_owned);
            assert_eq!(request_parts("git://{owner}/{repo}/file/{+path}", typed), Some(expected), "{typed}");
        };
        check("git://", "owner", "", "", "git://x%20y%2Fz/");
        check("git://a%20b", "owner", "a b", "", "git://x%20y%2Fz/");
        check("git://a%20b/", "repo", "", "owner=a b", "git://a%20b/x%20y%2Fz/file/");
        check("git://a/b/file/c/d", "path", "c/d", "owner=a repo=b", "git://a/b/file/x%20y/z");
    }

    #[test]
    fn what_is_no_such_address_is_not_completed() {
        for (template, typed) in [
            ("git://{owner}", "gi"),
            ("git://{owner}", "http://a"),
            ("git://all", "git://all"),
            ("git://{a}/end", "git://a/end"),
            ("git://{?a,b}", "git://"),
            ("git://{a", "git://"),
            ("git://{}", "git://"),
        ] {
            assert!(template_of(template, typed).is_none(), "{template} {typed}");
        }
        assert_eq!(percent_decode("%zz%4"), "%zz%4");
    }
}
