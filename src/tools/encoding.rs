//! Detects the encoding of a file and converts between bytes and text.
//!
//! Pure. A byte order mark decides. Otherwise, NUL bytes mean UTF-16 if they are distributed like it, and a
//! binary file if not; text that is mostly valid UTF-8 is UTF-8 with some invalid bytes; the rest is what
//! chardetng detects, as in Firefox.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

/// The maximum number of bytes read to detect an encoding.
const SAMPLE: usize = 64 * 1024;

/// The number of bytes read from the start of a file.
pub(crate) const PROBE: usize = 8 * 1024;

/// The UTF-8 byte order mark.
pub(crate) const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// An encoding of text files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// A pre-Unicode encoding.
    Legacy(&'static encoding_rs::Encoding),
}

/// Windows' Latin-1, in which every byte is a character.
pub const LATIN_1: Encoding = Encoding::Legacy(encoding_rs::WINDOWS_1252);

impl Encoding {
    /// The name of the encoding, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Le => "UTF-16 (little endian)",
            Encoding::Utf16Be => "UTF-16 (big endian)",
            Encoding::Legacy(encoding) if encoding == encoding_rs::WINDOWS_1252 => "Latin-1 (windows-1252)",
            Encoding::Legacy(encoding) => encoding.name(),
        }
    }
}

/// The kind of file that its start suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Not text.
    Binary,
    /// UTF-16, detected by its mark or by the distribution of NUL bytes.
    Wide(Encoding),
    /// One byte per character, or UTF-8.
    Narrow,
}

/// Judges a file by its first bytes; at most [`PROBE`] of them are read.
pub(crate) fn probe(start: &[u8]) -> Probe {
    let start = start.get(..PROBE).unwrap_or(start);
    match start {
        // UTF-32 (little endian) begins like UTF-16 and is not supported.
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

/// Judges bytes known to be narrow: UTF-8, possibly with some invalid bytes, or a legacy encoding.
pub fn narrow(bytes: &[u8]) -> Encoding {
    let (mut sound, mut broken) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        broken += usize::from(!chunk.invalid().is_empty());
        if broken > 0 || !chunk.valid().is_ascii() {
            sound += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        }
    }
    match () {
        () if broken > sound => legacy(bytes, Iso2022JpDetection::Deny),
        // Only escapes distinguish it from ASCII.
        () if sound == 0 && broken == 0 && memchr::memmem::find(bytes, b"\x1B$").is_some() => {
            match legacy(bytes, Iso2022JpDetection::Allow) {
                Encoding::Legacy(found) if found == encoding_rs::ISO_2022_JP => Encoding::Legacy(found),
                _ => Encoding::Utf8,
            }
        }
        () => Encoding::Utf8,
    }
}

/// The encoding of bytes that are not UTF-8.
fn legacy(bytes: &[u8], iso_2022_jp: Iso2022JpDetection) -> Encoding {
    let mut detector = EncodingDetector::new(iso_2022_jp);
    let mut left = SAMPLE;
    // ASCII lines carry no information.
    let says = |line: &&[u8]| !line.is_ascii() || line.contains(&0x1B);
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(says) {
        let line = line.get(..left).unwrap_or(line);
        detector.feed(line, false);
        left -= line.len();
        if left == 0 {
            break;
        }
    }
    detector.feed(b"", true);
    let found = detector.guess(None, Utf8Detection::Deny);
    let text = found.decode_without_bom_handling_and_without_replacement(bytes);
    // Both decode the same, but only GB18030 writes characters of four bytes.
    let found = match &text {
        Some(text) if found == encoding_rs::GBK && found.encode(text).2 => encoding_rs::GB18030,
        _ => found,
    };
    let is_whole = text.is_some();
    // A sample that is cut in the middle of a character may still be in this encoding.
    if is_whole || bytes.len() >= SAMPLE { Encoding::Legacy(found) } else { LATIN_1 }
}

/// The encoding of a text; `None` if the bytes are not text.
pub fn of_text(bytes: &[u8]) -> Option<Encoding> {
    match probe(bytes) {
        Probe::Binary => None,
        Probe::Wide(encoding) => Some(encoding),
        Probe::Narrow => Some(narrow(bytes)),
    }
}

/// The text of bytes in any encoding, without a byte order mark; bytes that are not text are read as UTF-8.
pub fn text(bytes: &[u8]) -> String {
    decode(bytes, of_text(bytes).unwrap_or(Encoding::Utf8)).0
}

/// The text of a command's output: UTF-8 with invalid bytes marked, or UTF-16, which lines of other programs may
/// surround.
pub(crate) fn output(bytes: &[u8]) -> String {
    let (before, rest) = bytes.split_at(wide_start(bytes));
    let lines = String::from_utf8_lossy;
    let found = [Encoding::Utf16Le, Encoding::Utf16Be].into_iter().find_map(|encoding| {
        let (wide, after) = rest.split_at(wide_end(rest, encoding));
        let is_wide = probe(wide) == Probe::Wide(encoding);
        is_wide.then(|| lines(before).into_owned() + &decode(wide, encoding).0 + &lines(after))
    });
    found.unwrap_or_else(|| lines(bytes).into_owned())
}

/// The end of the whole lines of UTF-8 that precede UTF-16; 0 if there are none.
fn wide_start(bytes: &[u8]) -> usize {
    let mark = |mark: &[u8]| memchr::memmem::find(bytes, mark);
    let marks = [mark(b"\xFF\xFE"), mark(b"\xFE\xFF")].into_iter().flatten();
    // The zero is the second byte of a character, or its first one.
    let zeros = memchr::memchr(0, bytes).into_iter().flat_map(|at| [at.saturating_sub(1), at]);
    let is_start = |at: &usize| bytes.get(..*at).is_some_and(is_lines);
    marks.chain(zeros).find(is_start).unwrap_or(0)
}

/// The start of the whole lines of UTF-8 that follow UTF-16; the length if there are none.
fn wide_end(bytes: &[u8], encoding: Encoding) -> usize {
    let zero = memchr::memrchr(0, bytes).unwrap_or(0);
    let end = if encoding == Encoding::Utf16Be { zero + 2 } else { zero + 1 };
    let is_end =
        end.is_multiple_of(2) && bytes.get(end..).is_some_and(|after| !after.is_empty() && is_lines(after));
    if is_end { end } else { bytes.len() }
}

/// Whether these are whole lines of UTF-8.
fn is_lines(bytes: &[u8]) -> bool {
    bytes.last().is_none_or(|last| *last == b'\n')
        && !bytes.contains(&0)
        && std::str::from_utf8(bytes).is_ok()
}

/// The byte order mark of an encoding; empty if it has none.
fn mark_of(encoding: Encoding) -> &'static [u8] {
    match encoding {
        Encoding::Utf8 => UTF8_BOM,
        Encoding::Utf16Le => b"\xFF\xFE",
        Encoding::Utf16Be => b"\xFE\xFF",
        Encoding::Legacy(_) => b"",
    }
}

/// The byte order mark at the start of a text in this encoding, if it has one.
pub(crate) fn mark(bytes: &[u8], encoding: Encoding) -> &'static [u8] {
    let mark = mark_of(encoding);
    if bytes.starts_with(mark) { mark } else { b"" }
}

/// The text of the bytes, without the byte order mark, and whether every byte was valid.
pub fn decode(bytes: &[u8], encoding: Encoding) -> (String, Exact) {
    match encoding {
        Encoding::Utf8 => {
            let bytes = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => (text.to_owned(), Exact::Yes),
                Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Exact::No),
            }
        }
        Encoding::Legacy(encoding) => {
            let (text, broken) = encoding.decode_without_bom_handling(bytes);
            (text.into_owned(), if broken { Exact::No } else { Exact::Yes })
        }
        Encoding::Utf16Le => wide(bytes, b"\xFF\xFE", u16::from_le_bytes),
        Encoding::Utf16Be => wide(bytes, b"\xFE\xFF", u16::from_be_bytes),
    }
}

/// Whether a conversion was lossless.
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

/// The bytes of the text without a byte order mark; `None` if the encoding lacks a character.
pub fn encode(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
    match encoding {
        Encoding::Utf8 => Some(text.as_bytes().to_vec()),
        Encoding::Legacy(encoding) => {
            let (bytes, _, lacks) = encoding.encode(text);
            (!lacks).then(|| bytes.into_owned())
        }
        Encoding::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        Encoding::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_in_utf_16_stands_between_lines_in_utf_8() {
        for (encoding, marked) in [
            (Encoding::Utf16Le, true),
            (Encoding::Utf16Le, false),
            (Encoding::Utf16Be, true),
            (Encoding::Utf16Be, false),
        ] {
            for wide in ["new €\r\ntwo\r\n", "without an end", "x\n"] {
                for (before, after) in
                    [("", ""), ("", "FAILED 3 of 12\n"), ("start\n", ""), ("odd\nné\n", "end\n")]
                {
                    let mark = mark_of(encoding).get(..if marked { 2 } else { 0 }).unwrap();
                    let bytes = encode(wide, encoding).unwrap();
                    let bytes = [before.as_bytes(), mark, &bytes, after.as_bytes()].concat();
                    // Without a mark, so few characters are no sign.
                    if marked || wide.len() > 2 {
                        assert_eq!(output(&bytes), format!("{before}{wide}{after}"), "{encoding:?} {marked}");
                    }
                }
            }
        }
        let chinese = "\u{FEFF}敬請期待\n敬請期待";
        let bytes = encode(chinese, Encoding::Utf16Le).unwrap();
        assert_eq!(output(&bytes), chinese.trim_start_matches('\u{FEFF}'));
    }

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
        assert_eq!(narrow(b"gr\xF6\xDFe"), LATIN_1);
        assert_eq!(
            narrow("größe \u{20ac}".as_bytes().iter().chain(b"\xFF").copied().collect::<Vec<_>>().as_slice()),
            Encoding::Utf8
        );
    }

    #[test]
    fn text_survives_the_way_there_and_back() {
        for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, LATIN_1] {
            let bytes = encode("naïve\r\nüber", encoding).unwrap();
            assert_eq!(decode(&bytes, encoding), ("naïve\r\nüber".into(), Exact::Yes), "{encoding:?}");
        }
        assert_eq!(encode("\u{4e2d}", LATIN_1), None);
        assert_eq!(decode(b"\xFF\xFE\x00\xD8", Encoding::Utf16Le).1, Exact::No);
    }

    #[test]
    fn older_encodings_are_found() {
        let texts = [
            ("GBK", "这个文件是用旧的中文编码保存的。\n请不要改变它的编码。\n"),
            ("GB18030", "这个文件里有少见的字，㐀和𠀀，请不要改变它的编码。\n"),
            ("Big5", "這個檔案是用舊的中文編碼儲存的。\n請不要改變它的編碼。\n"),
            ("Shift_JIS", "このファイルは古い文字コードで保存されています。\n変更しないでください。\n"),
            ("EUC-JP", "このファイルは古い文字コードで保存されています。\n変更しないでください。\n"),
            ("ISO-2022-JP", "このファイルは古い文字コードで保存されています。\n"),
            ("EUC-KR", "이 파일은 오래된 문자 인코딩으로 저장되어 있습니다.\n바꾸지 마십시오.\n"),
            ("windows-1251", "Этот файл сохранён в старой кодировке.\nПожалуйста, не меняйте её.\n"),
            ("KOI8-R", "Этот файл сохранен в старой кодировке.\nПожалуйста, не меняйте ее.\n"),
            ("windows-1253", "Αυτό το αρχείο είναι αποθηκευμένο σε παλιά κωδικοποίηση.\n"),
            ("windows-1252", "Größe, naïve, façade, 5 €\n"),
        ];
        for (name, text) in texts {
            let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).unwrap();
            for text in [text.to_owned(), format!("int main() {{ return 0; }}\n// {text}"), text.repeat(500)]
            {
                let (bytes, _, lacks) = encoding.encode(&text);
                assert!(!lacks, "{name}");
                let found = narrow(&bytes);
                let read = decode(&bytes, found);
                assert_eq!((&*read.0, read.1), (&*text, Exact::Yes), "{name} was taken for {}", found.name());
                assert_eq!(encode(&read.0, found).as_deref(), Some(&*bytes), "{name}");
            }
        }
    }
}
