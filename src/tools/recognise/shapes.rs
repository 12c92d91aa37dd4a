//! The formats of provider keys.
//!
//! A shape is a prefix, the characters that may follow, and their number. Sources: the providers'
//! documentation, and keys they issued.

use std::ops::RangeInclusive;

use super::text::{Run, begins_word};
use super::values::{is_placeholder, random};

/// The characters of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// Letters, digits, `-` and `_`.
    Word,
    /// Letters, digits, `-`, `_` and `.`.
    Dotted,
    /// Letters and digits.
    Alnum,
    /// Capitals and digits.
    Upper,
    /// Lower-case hexadecimal digits.
    Hex,
}

impl Set {
    fn holds(self, byte: u8) -> bool {
        match self {
            Set::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Set::Dotted => Set::Word.holds(byte) || byte == b'.',
            Set::Alnum => byte.is_ascii_alphanumeric(),
            Set::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Set::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
        }
    }
}

/// A format of keys.
pub(super) struct Shape {
    /// The prefix.
    pub(super) begin: &'static str,
    /// The kind of secret.
    pub(super) kind: &'static str,
    set: Set,
    /// The minimum number of characters after the prefix.
    least: usize,
    /// The maximum number of characters after the prefix. A longer run is something else.
    most: usize,
}

/// The longest key without a fixed length, in bytes.
const MAX_LEN: usize = 300;

const fn shape(begin: &'static str, kind: &'static str, set: Set, least: usize) -> Shape {
    Shape { begin, kind, set, least, most: MAX_LEN }
}

const fn exact(begin: &'static str, kind: &'static str, set: Set, length: usize) -> Shape {
    Shape { begin, kind, set, least: length, most: length }
}

/// The shapes. A prefix that starts with another one comes before it.
pub(super) const SHAPES: &[Shape] = &[
    shape("sk-ant-", "anthropic key", Set::Word, 20),
    shape("sk-or-", "openrouter key", Set::Word, 20),
    shape("sk-proj-", "openai key", Set::Word, 20),
    shape("sk-", "api key", Set::Dotted, 20),
    shape("sk_live_", "stripe key", Set::Alnum, 16),
    shape("sk_test_", "stripe key", Set::Alnum, 16),
    shape("rk_live_", "stripe key", Set::Alnum, 16),
    shape("rk_test_", "stripe key", Set::Alnum, 16),
    shape("whsec_", "webhook secret", Set::Word, 20),
    shape("gsk_", "groq key", Set::Alnum, 20),
    shape("xai-", "xai key", Set::Word, 20),
    shape("hf_", "hugging face token", Set::Alnum, 20),
    shape("r8_", "replicate token", Set::Alnum, 20),
    shape("pplx-", "perplexity key", Set::Alnum, 20),
    shape("nvapi-", "nvidia key", Set::Word, 20),
    shape("AIza", "google key", Set::Word, 30),
    shape("GOCSPX-", "google client secret", Set::Word, 20),
    shape("ya29.", "google token", Set::Dotted, 20),
    exact("AKIA", "aws key id", Set::Upper, 16),
    exact("ASIA", "aws key id", Set::Upper, 16),
    shape("ghp_", "github token", Set::Alnum, 20),
    shape("gho_", "github token", Set::Alnum, 20),
    shape("ghu_", "github token", Set::Alnum, 20),
    shape("ghs_", "github token", Set::Dotted, 20),
    shape("ghr_", "github token", Set::Alnum, 20),
    shape("github_pat_", "github token", Set::Word, 20),
    shape("glpat-", "gitlab token", Set::Dotted, 16),
    shape("gldt-", "gitlab token", Set::Word, 16),
    shape("glrt-", "gitlab token", Set::Dotted, 16),
    shape("glcbt-", "gitlab token", Set::Word, 16),
    shape("glptt-", "gitlab token", Set::Word, 16),
    shape("xoxb-", "slack token", Set::Word, 16),
    shape("xoxp-", "slack token", Set::Word, 16),
    shape("xoxa-", "slack token", Set::Word, 16),
    shape("xoxs-", "slack token", Set::Word, 16),
    shape("xoxe-", "slack token", Set::Dotted, 16),
    shape("xapp-", "slack token", Set::Word, 16),
    shape("hooks.slack.com/services/", "slack webhook", Set::Word, 8),
    shape("discord.com/api/webhooks/", "discord webhook", Set::Word, 60),
    shape("discordapp.com/api/webhooks/", "discord webhook", Set::Word, 60),
    shape("npm_", "npm token", Set::Alnum, 30),
    shape("pypi-AgE", "pypi token", Set::Word, 40),
    shape("rubygems_", "rubygems key", Set::Hex, 40),
    exact("cio", "crates.io token", Set::Alnum, 32),
    shape("dckr_pat_", "docker token", Set::Word, 20),
    shape("SG.", "sendgrid key", Set::Dotted, 60),
    exact("dop_v1_", "digitalocean token", Set::Hex, 64),
    exact("dapi", "databricks token", Set::Hex, 32),
    shape("shpat_", "shopify token", Set::Alnum, 32),
    shape("shpss_", "shopify secret", Set::Alnum, 32),
    shape("sq0csp-", "square secret", Set::Word, 40),
    shape("lin_api_", "linear key", Set::Alnum, 32),
    shape("ntn_", "notion token", Set::Alnum, 40),
    shape("NRAK-", "new relic key", Set::Upper, 20),
    shape("glsa_", "grafana token", Set::Word, 32),
    shape("sntrys_", "sentry token", Set::Dotted, 40),
    shape("PMAK-", "postman key", Set::Word, 40),
    exact("pul-", "pulumi token", Set::Hex, 40),
    shape("hvs.", "vault token", Set::Word, 24),
    shape("hvb.", "vault token", Set::Word, 24),
    shape("sbp_", "supabase token", Set::Hex, 40),
    shape("sb_secret_", "supabase key", Set::Word, 20),
    shape("tskey-", "tailscale key", Set::Word, 20),
    shape("figd_", "figma token", Set::Word, 30),
    shape("ATATT3", "atlassian token", Set::Dotted, 60),
    shape("LTAI", "alibaba key id", Set::Alnum, 20),
    shape("AGE-SECRET-KEY-1", "age key", Set::Upper, 40),
    shape("tvly-", "tavily key", Set::Word, 24),
    shape("lsv2_pt_", "langsmith key", Set::Word, 32),
    shape("pscale_tkn_", "planetscale token", Set::Word, 20),
    shape("pscale_pw_", "planetscale password", Set::Word, 20),
    shape("sq0atp-", "square token", Set::Word, 20),
    shape("mdb_sa_sk_", "mongodb secret", Set::Word, 20),
    shape("dp.st.", "doppler token", Set::Dotted, 20),
    shape("fm2_", "fly.io token", Set::Word, 20),
    shape("pat-na1-", "hubspot token", Set::Word, 30),
    shape("pat-eu1-", "hubspot token", Set::Word, 30),
    shape("ATBB", "bitbucket password", Set::Alnum, 28),
    shape("bkua_", "buildkite token", Set::Hex, 40),
    shape("CCIPAT_", "circleci token", Set::Word, 30),
];

impl Shape {
    /// The end of a key of this shape that starts at `at`.
    pub(super) fn end(&self, text: &str, at: usize) -> Option<usize> {
        let from = at + self.begin.len();
        if text.get(at..from)? != self.begin || !begins_word(text, at) {
            return None;
        }
        let webhook = self.begin.ends_with('/');
        let holds = |byte: u8| self.set.holds(byte) || (webhook && byte == b'/');
        let run = Run::forward(text, from, self.most + 1, holds);
        let rest = run.text.trim_end_matches('.');
        let key = text.get(at..from + rest.len())?;
        let fits = (self.least..=self.most).contains(&rest.len());
        let mixed = rest.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
        // Words with dashes have no unbroken run of that length.
        let solid = rest.split(['-', '_', '.', '/']).map(str::len).max().unwrap_or(0) >= 10;
        (fits && mixed && solid && !is_placeholder(rest) && !rest.ends_with("EXAMPLE"))
            .then_some(at + key.len())
    }
}

/// The longest token that is examined, in bytes.
const MAX_TOKEN_LEN: usize = 16 * 1024;

/// The end of a JSON web token at `at`: three parts in base64. If there is none, the end of the examined
/// text.
pub(super) fn web_token_end(text: &str, at: usize) -> Result<usize, usize> {
    if text.get(at..at + 3) != Some("eyJ") || !begins_word(text, at) {
        return Err(at);
    }
    let run = Run::forward(text, at, MAX_TOKEN_LEN, |byte| Set::Dotted.holds(byte));
    let token = run.text.trim_end_matches('.');
    let mut parts = token.split('.');
    let long = |part: Option<&str>, least: usize| part.is_some_and(|part| part.len() >= least);
    let whole = long(parts.next(), 12) && long(parts.next(), 6) && long(parts.next(), 10);
    if whole && token.len() > 60 { Ok(at + token.len()) } else { Err(at + run.text.len()) }
}

/// A key with a mark in its middle: the number of characters before and after it.
pub(super) struct MarkedKey {
    pub(super) mark: &'static str,
    kind: &'static str,
    before: RangeInclusive<usize>,
    after: RangeInclusive<usize>,
    others: &'static [u8],
    /// Whether only digits are before it.
    has_number: bool,
}

/// Keys that are recognised by a mark in their middle.
pub(super) const MARKED: &[MarkedKey] = &[
    MarkedKey {
        mark: "8Q~",
        kind: "azure client secret",
        before: 3..=4,
        after: 31..=34,
        others: b"-_.~",
        has_number: false,
    },
    MarkedKey {
        mark: ":AA",
        kind: "telegram token",
        before: 8..=11,
        after: 32..=34,
        others: b"-_",
        has_number: true,
    },
    MarkedKey {
        mark: ".atlasv1.",
        kind: "terraform token",
        before: 14..=14,
        after: 60..=70,
        others: b"",
        has_number: false,
    },
    MarkedKey {
        mark: "JQQJ99",
        kind: "azure key",
        before: 40..=60,
        after: 20..=40,
        others: b"",
        has_number: false,
    },
];

impl MarkedKey {
    /// The start, end and kind of the key around the mark at `at`.
    pub(super) fn range(&self, text: &str, at: usize) -> Option<(usize, usize, &'static str)> {
        let from = at + self.mark.len();
        let holds = |byte: u8| byte.is_ascii_alphanumeric() || self.others.contains(&byte);
        let is_before = |byte: u8| if self.has_number { byte.is_ascii_digit() } else { holds(byte) };
        let before = Run::backward(text, at, self.before.end() + 1, is_before).text.len();
        let after = Run::forward(text, from, self.after.end() + 1, holds).text.len();
        let fits = self.before.contains(&before) && self.after.contains(&after);
        (fits && text.get(at..from)? == self.mark).then_some((at - before, from + after, self.kind))
    }
}

/// The secret that follows an AWS key id ending at `at`, on the same line or the next.
pub(super) fn aws_secret(text: &str, at: usize) -> Option<(usize, usize)> {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let window = Run::forward(text, at, 160, |_| true).text;
    let lines: usize = window.split_inclusive('\n').take(2).map(str::len).sum();
    let window = window.get(..lines)?;
    let mut from = 0;
    for piece in window.split(|c: char| !c.is_ascii() || !base64(c as u8)) {
        let start = at + from;
        from += piece.len() + text.get(start + piece.len()..)?.chars().next().map_or(0, char::len_utf8);
        let cases =
            piece.bytes().any(|b| b.is_ascii_lowercase()) && piece.bytes().any(|b| b.is_ascii_uppercase());
        if piece.len() == 40 && cases && random(piece) {
            return Some((start, start + 40));
        }
    }
    None
}
