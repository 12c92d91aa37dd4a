//! Numbers with their nouns: `1 line`, `2 lines`, `3 entries`.

use std::fmt::Display;

/// A count with its noun, which is given in the singular.
pub fn pluralize<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
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

/// A number of bytes for people: `1.5 MB`.
pub fn byte_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return pluralize(bytes, "byte");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut unit = 0;
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    format!("{number:.1} {}", UNITS.get(unit).copied().unwrap_or_default())
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
    use super::{byte_size, many, pluralize};

    #[test]
    fn sizes_are_short() {
        let shown = [0, 1023, 1024, 1_572_864, u64::MAX].map(byte_size);
        assert_eq!(shown, ["0 bytes", "1023 bytes", "1.0 KB", "1.5 MB", "16777216.0 TB"]);
    }

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
            assert_eq!(pluralize(count, noun), expected);
        }
        assert_eq!(pluralize(1.0_f32, "second"), "1 second");
        assert_eq!(pluralize(1_usize, "byte"), "1 byte");
    }
}
