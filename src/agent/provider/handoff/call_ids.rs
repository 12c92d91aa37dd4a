//! Call ids in the alphabet and length that a model accepts, each used once.

use std::collections::HashSet;

use tau_protocol::extension::plain_name;
use tau_protocol::model::{Api, Model};
use tau_tools::hashes::{FNV_START, fnv1a};

/// The ids that a model accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Exactly nine letters and digits (Mistral).
    Nine,
    /// Letters, digits, `_` and `-`, at most this many.
    Plain(usize),
    /// Like `Plain`, but the model's own ids are unchanged: some servers give them a meaning
    /// (`functions.read:0`) and train their model on it.
    Own(usize),
}

/// Assigns ids.
#[derive(Debug)]
pub(crate) struct CallIds {
    rule: Rule,
    used: HashSet<String>,
}

impl CallIds {
    /// Ids for conversations with `model`.
    pub(super) fn new(model: &Model) -> Self {
        let nine = model.provider == "mistral" || model.base_url.contains("api.mistral.ai");
        let rule = match model.api {
            Api::OpenaiCompletions if nine => Rule::Nine,
            Api::OpenaiCompletions => Rule::Own(40),
            Api::GoogleGenerativeAi => Rule::Own(64),
            _ => Rule::Plain(64),
        };
        CallIds { rule, used: HashSet::new() }
    }

    /// Ids that every model accepts, for conversations with any.
    pub(crate) fn plain() -> Self {
        CallIds { rule: Rule::Plain(40), used: HashSet::new() }
    }

    /// A valid id for the next call, whose id in the session is `id`; `own` if the model itself assigned it.
    /// The nth call of a conversation always gets the same.
    pub(crate) fn valid(&mut self, id: &str, own: bool) -> String {
        let first = match self.rule {
            Rule::Nine if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                id.to_owned()
            }
            Rule::Nine => letters(hash(id, 0)),
            Rule::Own(_) if own && !id.is_empty() && !id.contains('\0') => id.to_owned(),
            Rule::Own(most) | Rule::Plain(most) => plain(id, most),
        };
        let mut unique = first.clone();
        let mut count = 1;
        while !self.used.insert(unique.clone()) {
            count += 1;
            unique = match self.rule {
                Rule::Nine => letters(hash(id, count)),
                Rule::Own(most) | Rule::Plain(most) => plain(&format!("{first}_{count}"), most),
            };
        }
        unique
    }
}

/// The id in plain characters; one that is too long is cut and gets a hash.
fn plain(id: &str, most: usize) -> String {
    let text = plain_name(id);
    match text.len() {
        0 => "call".to_owned(),
        size if size <= most => text,
        _ => {
            let start: String = text.chars().take(most - 17).collect();
            format!("{start}_{:016x}", hash(id, 0))
        }
    }
}

/// Nine letters and digits from a number.
fn letters(mut number: u64) -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut text = String::new();
    for _ in 0..9 {
        let digit = usize::try_from(number % 36).unwrap_or_default();
        text.push(ALPHABET.get(digit).copied().map_or('a', char::from));
        number /= 36;
    }
    text
}

/// A hash that is the same in every run, unlike that of the standard hasher.
fn hash(id: &str, salt: u64) -> u64 {
    let mixed = fnv1a(FNV_START ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15), id.as_bytes());
    mixed ^ (mixed >> 29)
}
