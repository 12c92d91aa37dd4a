//! Deterministic random text (SplitMix64 by Steele, Lea and Flood).

pub struct Random(u64);

pub const HEX: &str = "0123456789abcdef";
pub const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
pub const DIGITS: &str = "0123456789";

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// This many of these characters.
    pub fn of(&mut self, letters: &str, count: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..count).map(|_| letters[self.below(letters.len())]).collect()
    }

    pub fn word(&mut self) -> &'static str {
        self.pick(&[
            "account", "buffer", "cache", "client", "config", "cursor", "entry", "error", "field", "filter",
            "handler", "header", "index", "input", "item", "layout", "line", "list", "message", "method",
            "model", "node", "number", "option", "output", "panel", "parser", "path", "query", "reader",
            "record", "request", "result", "row", "session", "state", "stream", "table", "text", "user",
            "value", "view", "window", "writer", "token", "key", "author", "pass", "secret",
        ])
    }

    pub fn uuid(&mut self) -> String {
        format!(
            "{}-{}-4{}-a{}-{}",
            self.of(HEX, 8),
            self.of(HEX, 4),
            self.of(HEX, 3),
            self.of(HEX, 3),
            self.of(HEX, 12)
        )
    }
}
