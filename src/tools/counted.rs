//! Numbers with their nouns: `1 line`, `2 lines`, `3 entries`.

use std::fmt::Display;

/// A count with its noun, which is given in the singular.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    let before_y = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{count} {stem}ies"),
        None if ["ch", "sh", "s", "x"].iter().any(|end| noun.ends_with(end)) => format!("{count} {noun}es"),
        None => format!("{count} {noun}s"),
    }
}

/// A number with thousands separators.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count greater than one with its noun: `10,000 blanks`.
pub fn many(count: usize, noun: &str) -> String {
    format!("{} {noun}s", thousands(count as u64))
}

#[cfg(test)]
mod tests {
    use super::{counted, many};

    #[test]
    fn large_numbers_have_commas() {
        assert_eq!(many(999, "blank"), "999 blanks");
        assert_eq!(many(1_234_567, "empty line"), "1,234,567 empty lines");
    }

    #[test]
    fn one_has_no_plural() {
        let cases = [
            (0_u64, "line", "0 lines"),
            (1, "line", "1 line"),
            (2, "line", "2 lines"),
            (1, "entry", "1 entry"),
            (2, "entry", "2 entries"),
            (2, "key", "2 keys"),
            (1, "match", "1 match"),
            (3, "match", "3 matches"),
            (2, "older session", "2 older sessions"),
        ];
        for (count, noun, expected) in cases {
            assert_eq!(counted(count, noun), expected);
        }
        assert_eq!(counted(1.0_f32, "second"), "1 second");
        assert_eq!(counted(1_usize, "byte"), "1 byte");
    }
}
