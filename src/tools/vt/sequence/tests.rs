//! Tests the tokens of well-formed and broken streams, however they are cut.

use proptest::prelude::*;

use super::*;

/// The tokens of the pieces, as text; adjacent text is joined, since cuts may fall within it.
fn tokens(pieces: &[&[u8]]) -> String {
    let mut parser = Parser::default();
    let mut shown: Vec<String> = Vec::new();
    let mut open: Vec<u8> = Vec::new();
    let close = |open: &mut Vec<u8>, shown: &mut Vec<String>| {
        if !open.is_empty() {
            shown.push(String::from_utf8_lossy(open).into_owned());
            open.clear();
        }
    };
    for piece in pieces {
        parser.feed(piece, &mut |token| {
            if let Token::Text(text) = token {
                assert!(!text.is_empty());
                return open.extend_from_slice(text);
            }
            close(&mut open, &mut shown);
            shown.push(match token {
                Token::Control(character) => format!("<{:02x}>", u32::from(character)),
                Token::Escape { intermediates, last } => format!("<ESC {intermediates}{last}>"),
                Token::Csi(Csi { parameters, intermediates, last }) => {
                    format!("<CSI {parameters}|{intermediates}|{last}>")
                }
                Token::String { kind, data, truncated } => {
                    let data = String::from_utf8_lossy(data);
                    format!("<{kind:?} {data}{}>", if truncated { "…" } else { "" })
                }
                Token::Text(_) => unreachable!(),
            });
        });
    }
    close(&mut open, &mut shown);
    shown.concat()
}

/// Checks that `stream` gives these tokens: whole, byte by byte, and cut in two at every place.
#[track_caller]
fn check(stream: impl AsRef<[u8]>, expected: &str) {
    let stream = stream.as_ref();
    assert_eq!(tokens(&[stream]), expected, "whole");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(tokens(&bytes), expected, "byte by byte");
    for at in 0..stream.len() {
        let (one, two) = stream.split_at(at);
        assert_eq!(tokens(&[one, two]), expected, "cut at {at}");
    }
}

#[test]
fn text_and_control_characters() {
    check("", "");
    check("plain text, größer 漢字 👍", "plain text, größer 漢字 👍");
    check("a\0b\x07c\n\r\td\x7fe", "a<00>b<07>c<0a><0d><09>d<7f>e");
    check(
        "0123456789abcdef0123456789abcde\n0123456789abcdef\r",
        "0123456789abcdef0123456789abcde<0a>0123456789abcdef<0d>",
    );
    // CAN and SUB outside of sequences.
    check("a\x18b\x1ac", "a<18>b<1a>c");
}

#[test]
fn c1_controls_count_in_utf8_and_introduce_nothing() {
    check("a\u{80}b\u{85}c\u{9f}d", "a<80>b<85>c<9f>d");
    check("\u{9b}31mred \u{9d}0;x\u{9c}", "<9b>31mred <9d>0;x<9c>");
    // U+00A0 and up begin with the same byte.
    check("\u{a0}\u{a9}\u{bf}x", "\u{a0}\u{a9}\u{bf}x");
    // Raw bytes are invalid text: neither CSI nor ST, and nothing after them is lost.
    check(b"\x9b31mred \x85 \x9c", "\u{fffd}31mred \u{fffd} \u{fffd}");
    check(b"\x1b]0;title\x9cstill\x07text", "<Osc 0;title\u{fffd}still>text");
    // The continuation bytes of characters are not C1 controls: U+015C is C5 9C.
    check("\x1b]0;\u{15c}\u{9c}text", "<Osc 0;\u{15c}>text");
    check(b"\xc2", "");
    check(b"\xc2\x1b[m\xc2\xc2\x80", "\u{fffd}<CSI ||m>\u{fffd}<80>");
}

#[test]
fn escape_sequences() {
    check("\x1b7a\x1bMb\x1bc", "<ESC 7>a<ESC M>b<ESC c>");
    check("\x1b(0x\x1b)B\x1b#8\x1b %G", "<ESC (0>x<ESC )B><ESC #8><ESC  %G>");
    check("\x1b\\a", "<ESC \\>a");
    // Cut by a control character, a non-ASCII character, another ESC.
    check("\x1b\nx", "<0a>x");
    check("\x1b(\rx", "<0d>x");
    check("\x1béx", "éx");
    check("\x1b\x1b\x1b[A", "<CSI ||A>");
    check("\x1b\x7fx", "<7f>x");
    check("\x1b", "");
    check("\x1b(", "");
}

#[test]
fn control_sequences() {
    check("\x1b[mx\x1b[1;31;4:3mx\x1b[2J", "<CSI ||m>x<CSI 1;31;4:3||m>x<CSI 2||J>");
    check("\x1b[?25l\x1b[>4;1m\x1b[=1c\x1b[<0;1;2M", "<CSI ?25||l><CSI >4;1||m><CSI =1||c><CSI <0;1;2||M>");
    check("\x1b[2 q\x1b[!p\x1b[?1$p", "<CSI 2| |q><CSI |!|p><CSI ?1|$|p>");
    // Parameters after intermediates and marks after parameters are malformed: dropped as a whole.
    check("a\x1b[1 2mb\x1b[1?2hc\x1b[! 3 qd", "abcd");
    // Malformed ones end before the character that cut them.
    check("\x1b[31\nx", "<0a>x");
    check("\x1b[31\x18x", "<18>x");
    check("\x1b[31\x1b[32mx", "<CSI 32||m>x");
    check("\x1b[31éx", "éx");
    check("\x1b[1 2\rx", "<0d>x");
    check("\x1b[31\u{85}x", "<85>x");
    check("a\x1b[", "a");
    check("a\x1b[31;", "a");
}

#[test]
fn control_strings() {
    check("\x1b]0;title\x07x", "<Osc 0;title>x");
    check("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "<Osc 8;;http://x>link<Osc 8;;>");
    check(
        "\x1bP1$r0m\x1b\\\x1b_Gi=1\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\",
        "<Dcs 1$r0m><Apc Gi=1><Pm pm><Sos sos>",
    );
    check("\x1b]0;größe 漢字\u{9c}x", "<Osc 0;größe 漢字>x");
    check("\x1b]\x07\x1bP\x1b\\", "<Osc ><Dcs >");
    // Other control characters are data.
    check("\x1b]a\rb\tc\x00\x07", "<Osc a\rb\tc\0>");
    // A line end, CAN, SUB or a new sequence ends an unclosed string; it is dropped.
    check("\x1b]0;never closed\nnext line", "<0a>next line");
    check("\x1bPdata\x18x\x1bPdata\x1ay", "xy");
    check("\x1b]0;title\x1b[31mx\x1b]two\x1b]three\x07", "<CSI 31||m>x<Osc three>");
    check("\x1b]0;title\x1b\x1b\\x", "<ESC \\>x");
    check("\x1b]0;\u{a9}\u{c2}\x07", "<Osc 0;\u{a9}\u{c2}>");
    check(b"\x1b]0;\xc2\x07x", "<Osc 0;\u{fffd}>x");
    check(b"\x1b]0;\xc2\xc2\x9cx", "<Osc 0;\u{fffd}>x");
    check("\x1b]0;open", "");
}

#[test]
fn huge_sequences_and_strings_take_bounded_memory() {
    let long = "1;".repeat(100_000);
    for (stream, expected) in [
        (format!("a\x1b[{long}mb"), "ab".to_owned()),
        (format!("a\x1b[{}mb", "1".repeat(MAX_SEQUENCE)), format!("a<CSI {}||m>b", "1".repeat(MAX_SEQUENCE))),
        (format!("a\x1b[{}mb", "1".repeat(MAX_SEQUENCE + 1)), "ab".to_owned()),
        (format!("a\x1b({}0b", "(".repeat(5_000)), "ab".to_owned()),
        (format!("\x1b]{long}\x07b"), format!("<Osc {}…>b", "1;".repeat(MAX_STRING / 2))),
    ] {
        for size in [1, 7, 1_000, stream.len()] {
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            assert!(tokens(&pieces) == expected, "{:.20} by {size}", stream);
        }
        let mut parser = Parser::default();
        stream.as_bytes().chunks(100).for_each(|piece| {
            parser.feed(piece, &mut |_| {});
            assert!(parser.body.len() <= MAX_STRING);
        });
        assert_eq!(parser, Parser::default(), "nothing is left over");
    }
}

#[test]
fn a_sequence_is_found_in_a_buffer_as_in_a_stream() {
    let csi = |parameters, last| Token::Csi(Csi { parameters, intermediates: "", last });
    let osc = |data| Token::String { kind: StringKind::Osc, data, truncated: false };
    let cases: &[(&[u8], Leading<'_>)] = &[
        (b"", Leading::Incomplete),
        (b"[", Leading::Incomplete),
        (b"[1;5", Leading::Incomplete),
        (b"]11;x\x1b", Leading::Incomplete),
        (b"[1;5Cx", Leading::Complete(csi("1;5", 'C'), 5)),
        (b"]11;x\x07y", Leading::Complete(osc(b"11;x"), 6)),
        (b"]11;x\x1b\\y", Leading::Complete(osc(b"11;x"), 7)),
        (b"]11;\xc2\xc2\x9cy", Leading::Complete(osc(b"11;\xc2"), 7)),
        (b"7x", Leading::Complete(Token::Escape { intermediates: "", last: '7' }, 1)),
        (b"(0x", Leading::Complete(Token::Escape { intermediates: "(", last: '0' }, 2)),
        (b"[1;\rx", Leading::Malformed(3)),
        (b"[1 2mx", Leading::Malformed(5)),
        (b"]11;x\x1b[A", Leading::Malformed(5)),
        (b"]11;x\x18y", Leading::Malformed(6)),
        (b"\nx", Leading::Malformed(0)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(after_escape(bytes), *expected, "{:?}", String::from_utf8_lossy(bytes));
    }
    let long = [b"[".as_slice(), &[b'1'; MAX_SEQUENCE + 1], b"mx"].concat();
    assert_eq!(after_escape(&long), Leading::Malformed(MAX_SEQUENCE + 3));
}

proptest! {
    /// Any bytes give the same tokens however they are cut, and no byte of text is lost or invented.
    #[test]
    fn cutting_changes_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                any::<Vec<u8>>(),
                prop::sample::select(vec![
                    "\x1b", "\x1b[", "\x1b]0;", "\x1bP", "\x07", "\x1b\\", "\u{9c}", "\x18", "1;2", "m", " ",
                    "?", "\n", "text", "é", "\u{9b}", "(", "B",
                ]).prop_map(|text| text.as_bytes().to_vec()),
            ],
            0..16,
        ),
        cut in 1_usize..9,
    ) {
        let stream = parts.concat();
        let pieces: Vec<&[u8]> = stream.chunks(cut).collect();
        prop_assert_eq!(tokens(&[&stream]), tokens(&pieces));
    }

    /// The two readers agree on where a sequence ends.
    #[test]
    fn buffer_and_stream_agree(tail in "[\\[\\]P_(0-9;:?<$ mhA\u{7}\u{18}\n\u{1b}\\\\é]{0,12}") {
        let mut first = None;
        let mut parser = Parser::default();
        let stream = format!("\u{1b}{tail}");
        for (at, byte) in stream.bytes().enumerate() {
            parser.feed(&[byte], &mut |token| {
                first.get_or_insert((at, format!("{token:?}")));
            });
        }
        if let Leading::Complete(token, length) = after_escape(tail.as_bytes()) {
            prop_assert_eq!(first, Some((length, format!("{token:?}"))));
        }
    }
}
