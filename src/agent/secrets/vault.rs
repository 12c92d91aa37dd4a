//! The vault of detected secrets: their placeholders, and their values.
//!
//! The values stay in the memory of this process. A placeholder has the tag of its vault, so placeholders of
//! other runs are never confused with those of this one.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::Secret;
use super::encoded::EncodedValues;
use super::visible::{self, Visible};
use tau_protocol::placeholder::{self, Placeholder, RevealedSecret, SecretValue};
use tau_tools::ids;
use tau_tools::recognise::{self, SecretMatch};
use tau_tools::secret_cuts::SecretFinder;
use tau_tools::user_error::UserError;

/// The maximum number of secrets with a value. Further ones are masked, but cannot be restored.
const MAX_SECRETS: usize = 10_000;
/// The kind of a value that was known before it was seen.
const OWN: &str = "secret of your environment";
/// The kind of such a value in an encoded form.
const OWN_ENCODED: &str = "encoded secret of your environment";
/// The minimum length of a known value that is searched for, in bytes, and the minimum for one of only
/// letters or only digits: a shorter one would be found in ordinary words.
const MIN_KNOWN: usize = 4;
const MIN_WORD: usize = 8;
/// Stand-ins for a key where a server needs none. They are not secret, and may be the name of the server.
const STAND_INS: [&str; 6] =
    ["dummy-key", "lm-studio", "no-key-required", "not-needed", "sk-no-key-required", "unused-key"];

/// The secrets of one agent.
#[derive(Clone)]
pub struct Vault {
    /// Whether anything is masked.
    pub(crate) is_on: bool,
    tag: String,
    /// The masked secrets, in the order of their numbers.
    seen: Vec<(Secret, &'static str)>,
    numbers: HashMap<String, usize>,
    /// Values that are searched for although nothing near them identifies them.
    known: Vec<(Secret, &'static str)>,
    automaton: Option<AhoCorasick>,
    /// Whether `automaton` lacks some of the known values.
    is_stale: bool,
    encoded: EncodedValues,
}

/// Whether a known secret value can be searched for.
fn can_be_found(value: &str) -> bool {
    let alike = |is: fn(&u8) -> bool| value.bytes().all(|byte| is(&byte));
    let is_word = alike(u8::is_ascii_alphabetic) || alike(u8::is_ascii_digit);
    value.len() >= if is_word { MIN_WORD } else { MIN_KNOWN } && !STAND_INS.contains(&value)
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault({} secrets)", self.seen.len())
    }
}

impl Default for Vault {
    fn default() -> Self {
        Vault::new(true, &[])
    }
}

/// How secrets of several lines are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// With one placeholder.
    Join,
    /// With the same number of lines.
    Keep,
}

impl Vault {
    /// A vault that knows the same secrets, for an agent that finds others: its placeholders are its own.
    pub(crate) fn for_helper(&self) -> Self {
        Vault { tag: tag(), ..self.clone() }
    }

    /// A vault that also searches for `own`: secret values on this machine.
    pub fn new(is_on: bool, own: &[String]) -> Self {
        let mut vault = Vault {
            is_on,
            tag: tag(),
            seen: Vec::new(),
            numbers: HashMap::new(),
            known: Vec::new(),
            automaton: None,
            is_stale: false,
            encoded: EncodedValues::default(),
        };
        let own = own.iter().map(Secret::new).filter(|value| can_be_found(value.expose()));
        vault.known = own.map(|value| (value, OWN)).collect();
        vault.encoded = EncodedValues::new(vault.known.iter().map(|(value, _)| value.expose()));
        vault.build();
        vault
    }

    /// Finds the secrets of texts that are cut before they are masked, by the values that are known now.
    pub(super) fn finder(&self) -> SecretFinder {
        if !self.is_on {
            return SecretFinder::default();
        }
        let searched = Vault {
            is_on: true,
            tag: String::new(),
            seen: Vec::new(),
            numbers: HashMap::new(),
            known: self.known.clone(),
            automaton: self.automaton.clone(),
            is_stale: false,
            encoded: self.encoded.clone(),
        };
        SecretFinder::new(move |text| {
            searched.find(text).into_iter().map(|found| found.start..found.end).collect()
        })
    }

    /// The number of different secrets masked so far.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// The text with placeholders for its secrets; `None` if it has none.
    pub(crate) fn mask(&mut self, text: &str) -> Option<String> {
        self.replace(text, 0, text.len(), Lines::Join)
    }

    /// Like [`Vault::mask`], but keeps the number of lines of multi-line secrets.
    pub(crate) fn mask_lines(&mut self, text: &str) -> Option<String> {
        self.replace(text, 0, text.len(), Lines::Keep)
    }

    /// The part of the text from `from`, with placeholders. Secrets may begin before it.
    pub(super) fn mask_from(&mut self, text: &str, from: usize) -> String {
        let rest = || text.get(from..).unwrap_or_default().to_owned();
        self.replace(text, from, text.len(), Lines::Join).unwrap_or_else(rest)
    }

    fn replace(&mut self, text: &str, from: usize, to: usize, lines: Lines) -> Option<String> {
        if !self.is_on {
            return None;
        }
        let visible = Visible::of(text);
        let seen = visible.as_ref().map_or(text, |visible| visible.text.as_str());
        let secrets = self.find(seen);
        if secrets.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut at = from;
        for secret in secrets {
            let there = seen.get(secret.start..secret.end).unwrap_or_default();
            let range = match &visible {
                Some(visible) => visible.raw(secret.start..secret.end),
                None => secret.start..secret.end,
            };
            if range.end <= from {
                continue;
            }
            out.push_str(text.get(at..range.start.max(at)).unwrap_or_default());
            let value = secret.value.as_deref().unwrap_or(there);
            out.push_str(&self.placeholder(value, secret.kind));
            if lines == Lines::Keep {
                out.push_str(&"\n…".repeat(there.matches('\n').count()));
            }
            if visible.is_some() {
                out.push_str(&visible::sequences(text.get(range.clone()).unwrap_or_default()));
            }
            at = range.end;
        }
        out.push_str(text.get(at..to).unwrap_or_default());
        if self.is_stale {
            self.build();
        }
        Some(out)
    }

    /// Finds recognised and known secrets.
    fn find(&self, text: &str) -> Vec<SecretMatch> {
        let mut found = recognise::find(text);
        let encoded = self.encoded.find(text);
        let Some(automaton) = &self.automaton else { return found };
        let alnum = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = text.as_bytes();
        let whole = |start: usize, end: usize| {
            let at = |index: Option<usize>| alnum(index.and_then(|index| bytes.get(index)));
            let continues = |last: Option<usize>, next: usize| at(last) && at(Some(next));
            !continues(start.checked_sub(1), start) && !continues(end.checked_sub(1), end)
        };
        let known = automaton.find_iter(text).filter_map(|hit| {
            let (value, kind) = self.known.get(hit.pattern().as_usize())?;
            // A word within another is a different word.
            let is_there =
                (*kind == OWN && recognise::is_telling(value.expose())) || whole(hit.start(), hit.end());
            is_there.then_some(SecretMatch { start: hit.start(), end: hit.end(), kind, value: None })
        });
        let count = found.len();
        found.extend(known);
        let of = |range: Range<usize>| SecretMatch {
            start: range.start,
            end: range.end,
            kind: OWN_ENCODED,
            value: None,
        };
        found.extend(encoded.into_iter().map(of));
        if found.len() == count { found } else { recognise::merge_overlapping(found) }
    }

    /// The length of the text that can be shown if it continues: after it a known value may have begun.
    pub(super) fn settled_length(&self, text: &str) -> usize {
        if !self.is_on {
            return text.len();
        }
        recognise::settled_length(text).min(self.encoded.settled_length(text))
    }

    /// The placeholder of a value, the same for each occurrence.
    fn placeholder(&mut self, value: &str, kind: &'static str) -> String {
        let number = match self.numbers.get(value) {
            Some(number) => *number,
            None if self.seen.len() >= MAX_SECRETS => 0,
            None => {
                self.seen.push((Secret(value.to_owned()), kind));
                self.numbers.insert(value.to_owned(), self.seen.len());
                let is_telling = kind != OWN_ENCODED && recognise::is_telling(value);
                // Only values that were known from the start can be known without a number.
                let mut own = self.known.iter().take_while(|(_, kind)| *kind == OWN);
                if is_telling && !own.any(|(known, _)| known.0 == value) {
                    self.known.push((Secret(value.to_owned()), kind));
                    self.is_stale = true;
                }
                self.seen.len()
            }
        };
        let kind = self.kind(number).unwrap_or(kind);
        Placeholder { number: u32::try_from(number).unwrap_or(0), tag: &self.tag, kind }.to_string()
    }

    fn kind(&self, number: usize) -> Option<&'static str> {
        self.seen.get(number.checked_sub(1)?).map(|(_, kind)| *kind)
    }

    /// Rebuilds the search after the values have changed.
    fn build(&mut self) {
        let values = self.known.iter().map(|(value, _)| value.0.as_str());
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
        self.automaton = automaton.ok().filter(|_| !self.known.is_empty());
        self.is_stale = false;
    }

    pub(crate) fn value(&self, placeholder: Placeholder<'_>) -> Option<&Secret> {
        let number = usize::try_from(placeholder.number).ok()?;
        let (value, kind) = self.seen.get(number.checked_sub(1)?)?;
        (placeholder.tag == self.tag && placeholder.kind == *kind).then_some(value)
    }

    /// The values of placeholders, for display to the user.
    pub(crate) fn reveal(&self, placeholders: &[String]) -> Vec<RevealedSecret> {
        let value = |text: &String| {
            let (_, placeholder) = placeholder::find(text).next()?;
            self.value(placeholder).map(|value| SecretValue::new(value.expose()))
        };
        let revealed = |text: &String| RevealedSecret {
            placeholder: text.clone(),
            value: value(text).unwrap_or_default(),
        };
        placeholders.iter().map(revealed).collect()
    }

    /// The text with values for its placeholders; `None` if it has none. The error is the first placeholder
    /// without a known value.
    pub(crate) fn unmask(&self, text: &str) -> Result<Option<String>, UserError> {
        let mut out = String::new();
        let mut at = 0;
        for (range, placeholder) in placeholder::find(text) {
            let value = self.value(placeholder).ok_or_else(|| placeholder.to_string())?;
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(value.expose());
            at = range.end;
        }
        Ok((at > 0).then(|| out + text.get(at..).unwrap_or_default()))
    }
}

/// A short tag that is unique to this run.
fn tag() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let id = ids::id();
    let random = id.as_bytes().iter().rev().take(placeholder::TAG);
    random.filter_map(|byte| LETTERS.get(usize::from(byte % 32))).map(|byte| char::from(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

    #[test]
    fn the_same_value_gets_the_same_placeholder() {
        let mut vault = Vault::default();
        let tag = vault.tag.clone();
        let masked =
            vault.mask(&format!("a {TOKEN}\nPASSWORD=hunter2-x\n{TOKEN} hunter2-x")).unwrap_or_default();
        let expected = format!(
            "a [secret 1-{tag}: github token]\nPASSWORD=[secret 2-{tag}: password]\n\
             [secret 1-{tag}: github token] hunter2-x"
        );
        assert_eq!(masked, expected, "a value is found alone once it is known");
        let again = vault.mask("hunter2-x").unwrap_or_default();
        assert_eq!(again, format!("[secret 2-{tag}: password]"));
        assert_eq!(vault.mask(&masked), Some(expected.replace(" hunter2-x", &format!(" {again}"))));
        assert_eq!(vault.unmask(&again), Ok(Some("hunter2-x".to_owned())));
        assert_eq!(vault.unmask("[secret 1]"), Ok(None));
        assert_eq!(format!("{vault:?}"), "Vault(2 secrets)");
    }

    #[test]
    fn many_secrets_of_one_text_are_known_afterwards() {
        let mut vault = Vault::default();
        let value = |n: usize| format!("zx8{n:05}Q7rr99aB77ccKd");
        let text: String = (0..2_000).map(|n| format!("API_TOKEN={}\n", value(n))).collect();
        let masked = vault.mask(&text).unwrap_or_default();
        // One looks like a placeholder.
        assert_eq!((masked.matches("Q7rr").count(), vault.count()), (1, 1_999));
        let alone: Vec<String> = [0, 1_777, 1_999].map(value).to_vec();
        let masked = vault.mask(&alone.join(" ")).unwrap_or_default();
        assert_eq!(vault.unmask(&masked), Ok(Some(alone.join(" "))));
        let found = vault.finder();
        assert_eq!(found.end(&alone[1], 5), 0, "{found:?}");
    }

    #[test]
    fn a_placeholder_of_another_run_has_no_value() {
        let mut earlier = Vault::default();
        let mut vault = Vault::default();
        (earlier.tag, vault.tag) = ("aaaa".to_owned(), "bbbb".to_owned());
        let masked = earlier.mask(TOKEN).unwrap_or_default();
        vault.mask(&TOKEN.replace('A', "B"));
        assert_eq!(vault.unmask(&masked), Err("[secret 1-aaaa: github token]".into()));
        assert!(vault.reveal(&[masked])[0].value.is_empty());
    }

    #[test]
    fn colours_within_a_secret_do_not_hide_it() {
        let mut vault = Vault { tag: "aaaa".to_owned(), ..Vault::default() };
        let (one, two) = TOKEN.split_at(4);
        let coloured = format!("x \u{1b}[31m{one}\u{1b}[0m\u{1b}[1m{two}\u{1b}[0m y");
        let expected = "x \u{1b}[31m[secret 1-aaaa: github token]\u{1b}[0m\u{1b}[1m\u{1b}[0m y";
        assert_eq!(vault.mask(&coloured).as_deref(), Some(expected));
    }

    #[test]
    fn a_key_file_is_one_secret_however_it_is_read() {
        let mut vault = Vault { tag: "aaaa".to_owned(), ..Vault::default() };
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n-----END PRIVATE KEY-----");
        let numbered: String =
            key.lines().enumerate().map(|(at, line)| format!("{:6}  {line}\n", at + 1)).collect();
        assert_eq!(vault.mask(&numbered).as_deref(), Some("     1  [secret 1-aaaa: private key]\n"));
        assert_eq!(vault.mask(&key).as_deref(), Some("[secret 1-aaaa: private key]"));
        assert_eq!(vault.mask_lines(&key).as_deref(), Some("[secret 1-aaaa: private key]\n…\n…\n…"));
        let cut = format!("{body}\n-----END PRIVATE KEY-----\nx");
        assert_eq!(vault.mask(&cut).as_deref(), Some("[secret 2-aaaa: private key]\nx"));
        let code = "const A: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst B: &str = \"-----END PRIVATE KEY-----\";";
        assert_eq!(vault.mask(code), None);
    }

    #[test]
    fn nothing_is_masked_when_it_is_off() {
        let mut vault = Vault::new(false, &[]);
        assert_eq!(vault.mask(TOKEN), None);
    }

    #[test]
    fn values_of_the_environment_are_known_from_the_start() {
        let own = ["zq81-kk2m-44xx", "correcthorse", "hunter2-password", "pw1!", "word", "1234", "lm-studio"];
        let mut vault = Vault::new(true, &own.map(str::to_owned));
        vault.tag = "aaaa".to_owned();
        let mut check = |text: &str, expected: &str| {
            let masked = vault.mask(text).unwrap_or_else(|| text.to_owned());
            let marks = ["secret of your environment", "encoded secret of your environment"];
            let numbers = (1..9).flat_map(|n| marks.map(|mark| format!("[secret {n}-aaaa: {mark}]")));
            assert_eq!(numbers.fold(masked, |text, mark| text.replace(&mark, "#")), expected);
        };
        check("is zq81-kk2m-44xx, xzq81-kk2m-44xxx", "is #, x#x");
        check("correcthorse and correcthorses, hunter2-password", "# and correcthorses, #");
        check("pw1! word 1234 lm-studio", "# word 1234 lm-studio");
        check("aHVudGVyMi1wYXNzd29yZA== drowssap-2retnuh", "#A== #");
    }
}
