//! Tests of values in encoded forms.

use super::*;

const KEY: &str = "zq81/kk2m+44xx-Éa";

fn hide_values(text: &str) -> String {
    let values = EncodedValues::new([KEY].into_iter());
    let mut ranges = values.find(text);
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::new();
    let mut at = 0;
    for range in ranges {
        if range.end <= at {
            continue;
        }
        out.push_str(text.get(at.min(range.start)..range.start).unwrap_or_default());
        out.push('#');
        at = range.end;
    }
    out + text.get(at..).unwrap_or_default()
}

fn encode(bytes: &[u8], symbols: &[u8; 64]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            out.push(char::from(symbols[(word >> (18 - 6 * at) & 63) as usize]));
        }
    }
    out
}

#[test]
fn base64_is_found_in_every_alignment_alphabet_and_width() {
    let standard = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let url = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for symbols in [standard, url] {
        for before in 0..7 {
            for width in [4, 7, 19, 64, 76, 1000] {
                let bytes = [&b"abcdefg"[..before], KEY.as_bytes(), b"tail"].concat();
                let text = encode(&bytes, symbols);
                let lines: Vec<&str> =
                    text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
                let shown = hide_values(&lines.join("\n"));
                let left = shown.chars().filter(|c| *c != '\n').count();
                assert!(shown.contains('#'), "{text}");
                assert!(left <= 1 + 2 + (before + 4) * 8 / 6 + 2, "{shown}");
            }
        }
    }
}

#[test]
fn dumps_escapes_and_reversal_are_found() {
    let bytes = KEY.as_bytes();
    let hex =
        |between: &str| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between);
    for text in [hex(""), hex("").to_uppercase(), hex(" "), hex(":"), hex(", 0x"), hex("\\x"), hex("%")] {
        assert_eq!(hide_values(&format!("> {text} .")), "> # .", "{text}");
    }
    let lines: Vec<String> = bytes
        .chunks(16)
        .enumerate()
        .map(|(at, line)| {
            let pairs: Vec<String> =
                line.chunks(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
            format!("{:08x}: {:<39}  ................", at * 16, pairs.join(" "))
        })
        .collect();
    assert!(!hide_values(&lines.join("\n")).contains("786b"), "as xxd prints it");
    assert!(hide_values(&lines.join("\n")).contains('#'), "{}", lines.join("\n"));
    let canonical: Vec<String> = bytes
        .chunks(16)
        .enumerate()
        .map(|(at, line)| {
            let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            let (one, two) = bytes.split_at(bytes.len().min(8));
            format!("{:08x}  {}  {}  |................|", at * 16, one.join(" "), two.join(" "))
        })
        .collect();
    assert!(hide_values(&canonical.join("\n")).contains('#'), "{}", canonical.join("\n"));
    assert_eq!(
        hide_values(&KEY.chars().rev().collect::<String>().replace('É', "\u{fffd}")),
        KEY.chars().rev().collect::<String>().replace('É', "\u{fffd}"),
        "an invalid reversal is another text"
    );
    assert_eq!(hide_values("x zq81%2Fkk2m%2B44xx-%C3%89a y"), "x # y");
    assert_eq!(hide_values("x zq81%2fkk2m%2b44xx-%c3%89%61 y"), "x # y");
    let plain = EncodedValues::new(["hunter2-password"].into_iter());
    assert_eq!(plain.find("= drowssap-2retnuh"), vec![Range { start: 2, end: 18 }]);
    assert!(EncodedValues::new(["abc"].into_iter()).find("cba YWJj").is_empty());
}

#[test]
fn words_of_every_size_and_texts_encoded_twice_are_found() {
    let key = "sk-live-0123456789abcdefXYZ";
    let values = EncodedValues::new([key].into_iter());
    let standard = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let backwards = |text: &str| text.chars().rev().collect::<String>();
    let wide: Vec<u8> = key.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = key.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let each = |mark: &str| key.bytes().map(|byte| format!("{mark}{byte:02X}")).collect::<String>();
    for text in [
        each("="),
        each("\\u00"),
        each("%25"),
        backwards(&encode(key.as_bytes(), standard)),
        encode(backwards(key).as_bytes(), standard),
        encode(&wide, standard),
        encode(&big, standard),
        hex(&wide),
        hex(&big),
        backwards(&hex(key.as_bytes())),
    ] {
        let found = values.find(&text);
        let covered = found.iter().map(|range| range.len()).max().unwrap_or_default();
        assert!(covered + 8 >= text.len(), "{text}: {found:?}");
    }
    for size in WORDS {
        for before in 0..2 * size {
            for behind in ["", "\n", "tail of it"] {
                let bytes = [&b"abcdefghijklmnop"[..before], key.as_bytes(), behind.as_bytes()].concat();
                let words = |line: &[u8]| {
                    let word = |word: &[u8]| word.iter().rev().map(|byte| format!("{byte:02x}")).collect();
                    line.chunks(size).map(word).collect::<Vec<String>>().join(if size == 2 {
                        "    "
                    } else {
                        " "
                    })
                };
                let lines = bytes.chunks(16).enumerate();
                let dump: Vec<String> =
                    lines.map(|(at, line)| format!("{:07x} {}", at * 16, words(line))).collect();
                let dump = dump.join("\n") + "\n";
                let longest = values.find(&dump).iter().map(|range| range.len()).max().unwrap_or_default();
                assert!(longest >= key.len() * 2 - 4, "{size} {before}\n{dump}");
            }
        }
    }
    let hex_like = EncodedValues::new(["ab12/cd+34/ef"].into_iter());
    assert_eq!(hex_like.find("?key=ab12%2Fcd%2B34%2Fef&").len(), 1, "a sign of equality is no escape there");
    assert!(!hex_like.find("x =61=62=31=\n=32=2F=63=64=2B=33=34=2F=65=66").is_empty());
    let innocent = "0000000 4241 4443 4645\n0000006 the quick brown fox = 41 %2541 and 20 more words\n";
    assert!(values.find(innocent).is_empty());
}

/// As `read`, `grep`, `cat -n`, `git diff` and quotations show files.
#[test]
fn forms_of_several_lines_are_found_behind_numbers_and_signs() {
    let key: String = (0..100).map(|at| char::from(b'!' + (at * 7 % 90) as u8)).collect();
    let values = EncodedValues::new([key.as_str()].into_iter());
    let standard = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let wrapped = |text: &str, width: usize| -> Vec<String> {
        text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    };
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let dump = |(at, line): (usize, &[u8])| {
        let pairs = line.chunks(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect());
        let pairs: Vec<String> = pairs.collect();
        format!("{:08x}: {:<39}  {}", at * 16, pairs.join(" "), String::from_utf8_lossy(line))
    };
    for lines in [
        wrapped(&encode(key.as_bytes(), standard), 76),
        wrapped(&encode(format!("ab{key}").as_bytes(), standard), 64),
        wrapped(&hex, 60),
        key.as_bytes().chunks(16).enumerate().map(dump).collect(),
    ] {
        for prefix in [
            "",
            "> ",
            "> > ",
            "+",
            "-",
            "  @  ",
            "     @\t",
            "@:",
            "@:+",
            "@-",
            "a/b.txt:@:",
            "a.patch:@:+",
            "@ | ",
            "web-1  | ",
            "[12:00:@] ",
            "data: ",
            "^ab12cd3@ (A B 2024-01-@ 10:00:00 +0000 @) ",
        ] {
            let number = |(at, line): (usize, &String)| prefix.replace('@', &(at + 9).to_string()) + line;
            let text = lines.iter().enumerate().map(number).collect::<Vec<_>>().join("\n");
            let found = values.find(&text);
            let is_left = |line: &&String| {
                let at = text.find(line.as_str()).unwrap();
                let (start, end) = (at + 12, at + line.len() - 4);
                !found.iter().any(|range| range.start <= start && range.end >= end)
            };
            assert_eq!(lines.iter().find(is_left), None, "{prefix:?}\n{text}");
        }
    }
}

#[test]
fn a_form_that_has_begun_is_held_back() {
    let values = EncodedValues::new(["hunter2-password"].into_iter());
    // Its base64, its hex form, and reversed.
    for form in
        ["aHVudGVyMi1wYXNzd29yZ", "68756e746572322d70617373776f7264", "drowssap-2retnuh", "%68%75nter2"]
    {
        for end in MIN_BEGUN * 3..form.len() {
            let text = format!("$ {}", form.get(..end).unwrap());
            assert!(values.settled_length(&text) <= 2 + 2, "{text}: {}", values.settled_length(&text));
        }
    }
    assert_eq!(values.settled_length("is hunter2-pass"), 3, "as it is, too");
    for text in ["Continue? [y/n] ", "Password: ", "50% ", "$ ", "drawn"] {
        assert_eq!(values.settled_length(text), text.len(), "{text}");
    }
}
