//! Which encoding a file is in, and how to get from its bytes to text and back.
//!
//! Pure. The rule: a byte order mark decides; NUL bytes mean UTF-16 when they fall like it and
//! a binary file otherwise; text that is mostly valid UTF-8 is UTF-8 with some broken bytes;
//! the rest is Latin-1, in which every byte is a character.

/// How many bytes from the start of a file are looked at.
pub(crate) const PROBE: usize = 8 * 1024;

/// UTF-8's byte order mark.
pub(crate) const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// An encoding that text files come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Latin1,
}

impl Encoding {
    /// Its name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Le => "UTF-16 (little endian)",
            Encoding::Utf16Be => "UTF-16 (big endian)",
            Encoding::Latin1 => "Latin-1",
        }
    }
}

/// What the start of a file shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Not text.
    Binary,
    /// UTF-16, by its mark or by where its NUL bytes fall.
    Wide(Encoding),
    /// One byte or UTF-8 a character.
    Narrow,
}

/// Judges a file by its first bytes (at most [`PROBE`] of them are looked at).
pub(crate) fn probe(start: &[u8]) -> Probe {
    let start = start.get(..PROBE).unwrap_or(start);
    match start {
        // UTF-32 (little endian) begins like UTF-16; nothing here decodes it.
        [0xFF, 0xFE, 0, 0, ..] => Probe::Binary,
        [0xFF, 0xFE, ..] => Probe::Wide(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] => Probe::Wide(Encoding::Utf16Be),
        _ if memchr::memchr(0, start).is_none() => Probe::Narrow,
        _ => wide_without_mark(start),
    }
}

fn wide_without_mark(start: &[u8]) -> Probe {
    let pairs = start.len() / 2;
    let zeros = |at: usize| start.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    // Western text in UTF-16 has a zero in nearly every pair, always on the same side.
    let mostly = |count: usize| count * 10 >= pairs * 7;
    match () {
        () if pairs >= 2 && even == 0 && mostly(odd) => Probe::Wide(Encoding::Utf16Le),
        () if pairs >= 2 && odd == 0 && mostly(even) => Probe::Wide(Encoding::Utf16Be),
        () => Probe::Binary,
    }
}

/// Judges bytes that are known to be narrow: UTF-8, possibly with some broken bytes, or Latin-1.
pub fn narrow(bytes: &[u8]) -> Encoding {
    let (mut sound, mut broken) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        broken += usize::from(!chunk.invalid().is_empty());
        if broken > 0 || !chunk.valid().is_ascii() {
            sound += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        }
    }
    if broken > sound { Encoding::Latin1 } else { Encoding::Utf8 }
}

/// Text of the bytes, and whether every byte had a meaning. The byte order mark is not text.
pub fn decode(bytes: &[u8], encoding: Encoding) -> (String, Exact) {
    match encoding {
        Encoding::Utf8 => {
            let bytes = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => (text.to_owned(), Exact::Yes),
                Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Exact::No),
            }
        }
        Encoding::Latin1 => (bytes.iter().map(|byte| char::from(*byte)).collect(), Exact::Yes),
        Encoding::Utf16Le => wide(bytes, b"\xFF\xFE", u16::from_le_bytes),
        Encoding::Utf16Be => wide(bytes, b"\xFE\xFF", u16::from_be_bytes),
    }
}

/// Whether the conversion lost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    Yes,
    No,
}

fn wide(bytes: &[u8], mark: &[u8], unit: fn([u8; 2]) -> u16) -> (String, Exact) {
    let bytes = bytes.strip_prefix(mark).unwrap_or(bytes);
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut exact = if rest.is_empty() { Exact::Yes } else { Exact::No };
    let text = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .map(|character| {
            character.unwrap_or_else(|_| {
                exact = Exact::No;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, exact)
}

/// Bytes of the text without a byte order mark; `None` if the encoding lacks a character.
pub fn encode(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
    match encoding {
        Encoding::Utf8 => Some(text.as_bytes().to_vec()),
        Encoding::Latin1 => text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect(),
        Encoding::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        Encoding::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_file_tells_its_kind() {
        let cases: &[(&[u8], Probe)] = &[
            (b"plain", Probe::Narrow),
            (b"", Probe::Narrow),
            (b"\xEF\xBB\xBFwith mark", Probe::Narrow),
            (b"\xFF\xFEa\0b\0", Probe::Wide(Encoding::Utf16Le)),
            (b"\xFE\xFF\0a\0b", Probe::Wide(Encoding::Utf16Be)),
            (b"a\0b\0c\0d\0", Probe::Wide(Encoding::Utf16Le)),
            (b"\0a\0b\0c\0d", Probe::Wide(Encoding::Utf16Be)),
            (b"\x7fELF\x02\x01\x01\0\0\0\0", Probe::Binary),
            (b"\0\0\0\0", Probe::Binary),
        ];
        for (bytes, expected) in cases {
            assert_eq!(probe(bytes), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn narrow_text_is_latin_1_only_when_broken_bytes_prevail() {
        assert_eq!(narrow("größe".as_bytes()), Encoding::Utf8);
        assert_eq!(narrow(b"gr\xF6\xDFe"), Encoding::Latin1);
        assert_eq!(
            narrow("größe \u{20ac}".as_bytes().iter().chain(b"\xFF").copied().collect::<Vec<_>>().as_slice()),
            Encoding::Utf8
        );
    }

    #[test]
    fn text_survives_the_way_there_and_back() {
        for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1] {
            let bytes = encode("naïve\r\nüber", encoding).unwrap();
            assert_eq!(decode(&bytes, encoding), ("naïve\r\nüber".into(), Exact::Yes), "{encoding:?}");
        }
        assert_eq!(encode("€", Encoding::Latin1), None);
        assert_eq!(decode(b"\xFF\xFE\x00\xD8", Encoding::Utf16Le).1, Exact::No);
    }
}
