//! Each terminal's sequences for keys, and that splitting the bytes changes nothing.

use super::super::event::ClipboardAnswer;
use super::*;
use proptest::prelude::*;

/// The meaning of `bytes` as text: keys by name, the rest in brackets.
fn decode_to_text(pieces: &[&[u8]], ending: Ending) -> String {
    let mut decoder = InputDecoder::default();
    let mut said = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut |one| said.push(one));
    }
    if ending == Ending::Pause {
        decoder.pause(&mut |one| said.push(one));
    }
    let words = said.iter().map(|one| match one {
        TerminalEvent::Key(key) => key.to_string(),
        TerminalEvent::Mouse(mouse) => {
            format!("[{:?} {} {} {}]", mouse.kind, mouse.column, mouse.row, Key::new(KeyCode::Up, mouse.mods))
        }
        other => format!("[{other:?}]"),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy, PartialEq)]
enum Ending {
    Pause,
    Open,
}

/// Checks that `bytes` mean `expected`, whole and byte by byte.
#[track_caller]
fn check(bytes: &str, expected: &str) {
    assert_eq!(decode_to_text(&[bytes.as_bytes()], Ending::Pause), expected, "{bytes:?}");
    let single: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
    assert_eq!(decode_to_text(&single, Ending::Pause), expected, "{bytes:?} byte by byte");
}

#[test]
fn characters_and_controls() {
    check("aB?é日👍", "a B ? é 日 👍");
    check(" \t\r\n\x7f\x08", "space tab enter ctrl+j backspace ctrl+h");
    check("\x00\x01\x1a\x1c\x1d\x1e\x1f", "ctrl+space ctrl+a ctrl+z ctrl+\\ ctrl+] ctrl+^ ctrl+_");
    check(
        "\x1ba\x1bB\x1b\r\x1b\x7f\x1bé\x1b\x01",
        "alt+a alt+shift+b alt+enter alt+backspace alt+é ctrl+alt+a",
    );
    assert_eq!(decode_to_text(&[b"a\xffb\xc3(\xe6\x97"], Ending::Pause), "a b (");
}

#[test]
fn escape_alone_and_before_other_things() {
    check("\x1b", "esc");
    check("\x1b\x1b", "esc esc");
    check("\x1b\x1bx", "esc alt+x");
    check("\x1b[", "alt+[");
    check("\x1bO", "alt+shift+o");
    check("\x1b]", "alt+]");
    check("\x1bP", "alt+shift+p");
    check("\x1b\x1b[A\x1b\x1bOA", "alt+up alt+up");
    check("\x1b\x1b[", "esc alt+[");
}

#[test]
fn keys_of_xterm() {
    check("\x1b[A\x1bOB\x1b[1;5C\x1b[1;2D", "up down ctrl+right shift+left");
    check("\x1b[H\x1b[F\x1bOH\x1b[1~\x1b[4~\x1b[7~\x1b[8~", "home end home home end home end");
    check(
        "\x1b[2~\x1b[3~\x1b[5~\x1b[6~\x1b[3;5~\x1b[5;2~",
        "insert delete pageup pagedown ctrl+delete shift+pageup",
    );
    check(
        "\x1bOP\x1bOS\x1b[11~\x1b[15~\x1b[17~\x1b[21~\x1b[23~\x1b[24~\x1b[34~",
        "f1 f4 f1 f5 f6 f10 f11 f12 f20",
    );
    check("\x1b[1;2P\x1b[1;2R\x1b[[A\x1b[[E", "shift+f1 shift+f3 f1 f5");
    check("\x1b[Z\x1b[1;5Z\x1bOM", "shift+tab ctrl+shift+tab enter");
    check("\x1b[27;2;13~\x1b[27;5;9~\x1b[27;6;80~", "shift+enter ctrl+tab ctrl+shift+p");
}

#[test]
fn keys_of_the_kitty_protocol() {
    check(
        "\x1b[27u\x1b[13;2u\x1b[13;3u\x1b[9;5u\x1b[127;3u",
        "esc shift+enter alt+enter ctrl+tab alt+backspace",
    );
    check("\x1b[111;5u\x1b[112:80;6u\x1b[112;6u\x1b[45:95;6u", "ctrl+o ctrl+shift+p ctrl+shift+p ctrl+_");
    check("\x1b[97:65;2u\x1b[97;1u\x1b[32;5u\x1b[233;3u\x1b[97;9u", "A a ctrl+space alt+é super+a");
    // Repeats are presses, releases are nothing; caps lock and num lock are no modifiers.
    check("\x1b[97;5:2u\x1b[97;5:3u\x1b[1;1:3A\x1b[3;1:3~\x1b[111;69u\x1b[111;133u", "ctrl+a ctrl+o ctrl+o");
    check(
        "\x1b[57399u\x1b[57413u\x1b[57414u\x1b[57417u\x1b[57426u\x1b[57376u\x1b[57387u",
        "0 + enter left delete f13 f24",
    );
    // Bare modifiers, media keys, nonsense.
    check("\x1b[57441;2u\x1b[57428u\x1b[57388u\x1b[99999999u\x1b[1u\x1b[4294967296;5u", "");
}

#[test]
fn chords_of_keyboards_with_another_alphabet_are_those_of_the_key() {
    // Cyrillic, Greek, Hebrew, Arabic, Georgian, Thai, kana: Ctrl+C is where C is.
    for own in ['с', 'ψ', 'ב', 'ؤ', 'ც', 'แ', 'そ'].map(u32::from) {
        check(&format!("\x1b[{own}::99;5u"), "ctrl+c");
        check(&format!("\x1b[{own}::99;3u\x1b[{own}::99;7u"), "alt+c ctrl+alt+c");
        check(&format!("\x1b[{own}::99;5:2u\x1b[{own}::99;5:3u\x1b[{own}::99;69u"), "ctrl+c ctrl+c");
    }
    check("\x1b[1079:1047:112;6u\x1b[1098::93;5u\x1b[1739::55;5u", "ctrl+shift+p ctrl+] ctrl+7");
    // A Hebrew keyboard types punctuation with two keys of letters, a Turkish one has a letter more.
    check("\x1b[39::119;5u\x1b[47::113;5u\x1b[305::105;5u", "ctrl+w ctrl+q ctrl+i");
    // Without a modifier, or with shift only, it is text.
    check("\x1b[1089::99u\x1b[1089:1057:99;2u\x1b[1089::99;1u", "с С с");
    // Where the Latin letter is elsewhere (Dvorak, AZERTY, QWERTZ), it counts; so do accented ones.
    check("\x1b[99::105;5u\x1b[97::113;5u\x1b[122::121;5u\x1b[45:95:39;6u", "ctrl+c ctrl+a ctrl+z ctrl+_");
    check("\x1b[246::59;3u\x1b[232:55:55;6u\x1b[233::50;3u", "alt+ö ctrl+7 alt+é");
    // Fields that are not characters are skipped.
    check("\x1b[1089::;5u\x1b[1089::7;5u\x1b[1089::1099;5u", "ctrl+с ctrl+с ctrl+с");
}

#[test]
fn the_mouse() {
    check("\x1b[<0;1;1M\x1b[<0;1;1m", "[Down(Left) 0 0 up] [Up(Left) 0 0 up]");
    check("\x1b[<34;300;20M\x1b[<18;2;3M", "[Drag(Right) 299 19 up] [Down(Right) 1 2 ctrl+up]");
    check(
        "\x1b[<64;5;6M\x1b[<65;5;6M\x1b[<69;5;6M",
        "[ScrollUp 4 5 up] [ScrollDown 4 5 up] [ScrollDown 4 5 shift+up]",
    );
    // Movement without a button, further buttons, invalid positions.
    check("\x1b[<35;1;1M\x1b[<128;1;1M\x1b[<0;0;1M\x1b[<0;1M\x1b[<0;99999;1M", "");
    check("\x1b[M !!\x1b[M#\"!\x1b[M`!!", "[Down(Left) 0 0 up] [Up(Left) 1 0 up] [ScrollUp 0 0 up]");
}

#[test]
fn focus_and_answers_never_become_text() {
    check("\x1b[I\x1b[O", "[FocusGained] [FocusLost]");
    check("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\x", "[Answer(Background(Dark))] x");
    check("\x1b]11;rgb:f/f/f\x07\x1b]10;rgb:0/0/0\x07", "[Answer(Background(Light))]");
    check(
        "\x1b[?62;4c\x1b[?1;2c",
        "[Answer(Attributes { sixel: true })] [Answer(Attributes { sixel: false })]",
    );
    check(
        "\x1b_Gi=31;OK\x1b\\\x1b_Gi=31;ENODATA:no\x1b\\",
        "[Answer(KittyGraphics(true))] [Answer(KittyGraphics(false))]",
    );
    check(
        "\x1b[6;17;8t\x1b[12;40R",
        "[Answer(CellPixels { width: 8, height: 17 })] [Answer(CursorAt { column: 39, row: 11 })]",
    );
    check("\x1bP>|xterm(390)\x1b\\", "[Answer(Version(\"xterm(390)\"))]");
    check("\x1bP1$r0m\x1b\\\x1b_Gi=1;OK\x1b\\\x1b[6;0;8t\x1b[6;1t\x1b[99999;99999R", "");
    check("\x1b[?7u\x1b[>0;95;0c\x1b[0n\x1b[?2026;2$y\x1b[48;24;80t", "");
    // Broken ones end where they are cut.
    check("\x1b[12\x1b[A\x1b[1;\ra", "up enter a");
    check("\x1b]11;rgb\x1b[Ax", "up x");
    check("\x1b]11;rgb:ff\x03\x1bP>|x\r\x1b]11;y\x7fz\x07", "ctrl+c enter backspace z ctrl+g");
}

#[test]
fn answers_about_the_clipboard() {
    check("\x1b]52;c;aGk=\x1b\\x\x1b]52;;\x07y", "[Clipboard(Text([104, 105]))] x [Clipboard(Text([]))] y");
    check("\x1b]5522;type=read:status=OK\x1b\\\x1b]5522;type=read:status=DONE\x07", "[Clipboard(Done)]");
    check("\x1b[?5522;2$y\x1b[?5522;0$y", "[Clipboard(KnowsTypes(true))] [Clipboard(KnowsTypes(false))]");
    // Broken ones end where they are cut.
    check("\x1b]52;c;aGk=\x1b[Ax\x1b]52;c;ab\rc", "up x enter c");
}

#[test]
fn too_large_a_clipboard_is_unreadable_and_not_kept() {
    let mut decoder = InputDecoder::default();
    let mut said = Vec::new();
    decoder.feed(b"\x1b]52;c;", &mut |one| said.push(one));
    let part = [b'A'; 1 << 20];
    for _ in 0..70 {
        decoder.feed(&part, &mut |one| said.push(one));
        assert!(decoder.pending.len() <= clipboard::MAX_LEN);
    }
    decoder.feed(b"\x1b\\x", &mut |one| said.push(one));
    let expected = [
        TerminalEvent::Clipboard(ClipboardAnswer::Unreadable),
        TerminalEvent::Key(Key::plain(KeyCode::Char('x'))),
    ];
    assert_eq!(said, expected);
}

#[test]
fn pastes() {
    check("\x1b[200~a\rb\r\nc\x1b[201~x", "[Paste(\"a\\nb\\nc\")] x");
    check("\x1b[200~\x1b[A\x03é\x1b[201\x1b[201~", "[Paste(\"\\u{1b}[A\\u{3}é\\u{1b}[201\")]");
    check("\x1b[200~\x1b[201~\x1b[201~y", "[Paste(\"\")] y");
    assert_eq!(decode_to_text(&[b"\x1b[200~never ends\x1b"], Ending::Pause), "[Paste(\"never ends\")]");
}

#[test]
fn a_paste_whose_end_is_lost_does_not_take_the_keys() {
    for (key, name) in [("\x03", "ctrl+c"), ("\x04", "ctrl+d"), ("\x1b[27u", "esc"), ("\x1b[A", "up")] {
        let mut decoder = InputDecoder::default();
        let mut said = Vec::new();
        let mut take = |one: TerminalEvent| {
            said.push(match one {
                TerminalEvent::Key(key) => key.to_string(),
                other => format!("{other:?}"),
            });
        };
        decoder.feed(b"\x1b[200~one\x1b[2", &mut take);
        decoder.feed(b"\x03", &mut take);
        assert_eq!(decoder.awaited_pause(), Some(STALL));
        decoder.pause(&mut take);
        // The rest of a slow one is text.
        decoder.feed(b"two\r", &mut take);
        decoder.pause(&mut take);
        assert_eq!(decoder.awaited_pause(), None, "each part is reported once");
        decoder.feed(key.as_bytes(), &mut take);
        decoder.feed(b"x", &mut take);
        assert_eq!(said, ["Paste(\"one\\u{1b}[2\\u{3}\")", "Paste(\"two\\n\")", name, "x"]);
    }
    let mut decoder = InputDecoder::default();
    let mut said = Vec::new();
    decoder.feed(b"\x1b[200~slow", &mut |one| said.push(one));
    decoder.pause(&mut |one| said.push(one));
    for piece in [&b"\x1b[20"[..], b"1~x"] {
        decoder.feed(piece, &mut |one| said.push(one));
    }
    let paste = |text: &str| TerminalEvent::Paste(text.to_owned());
    assert_eq!(said, [paste("slow"), paste(""), TerminalEvent::Key(Key::plain(KeyCode::Char('x')))]);
}

#[test]
fn an_endless_paste_comes_in_parts_and_loses_nothing() {
    let mut decoder = InputDecoder::default();
    let mut text = String::new();
    let mut parts = 0;
    let mut take = |said| match said {
        TerminalEvent::Paste(part) => {
            text.push_str(&part);
            parts += 1;
        }
        other => panic!("{other:?}"),
    };
    decoder.feed(b"\x1b[200~", &mut take);
    let line = "日本語\r\n".repeat(10_000);
    for _ in 0..200 {
        decoder.feed(line.as_bytes(), &mut take);
    }
    decoder.feed(PASTE_END, &mut take);
    assert!(parts > 1);
    assert!(text == "日本語\n".repeat(2_000_000), "{} bytes", text.len());
}

#[test]
fn an_endless_sequence_is_given_up() {
    let mut decoder = InputDecoder::default();
    let mut said = Vec::new();
    decoder.feed(b"\x1b[", &mut |one| said.push(one));
    for _ in 0..100 {
        decoder.feed(&[b'1'; 100], &mut |one| said.push(one));
        assert!(decoder.pending.len() <= MAX_LEN);
    }
}

proptest! {
    /// Any bytes, split anywhere, mean the same, and nothing is kept forever.
    #[test]
    fn cutting_changes_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                any::<Vec<u8>>(),
                prop::sample::select(vec![
                    "\x1b", "\x1b[", "\x1b[200~", "\x1b[201~", "\x1b[1;5C", "\x1b[<0;1;1M", "\x1bO", "\x1b]11;x\x1b\\", "\x1b]11;rgb", "\x03", "\x1b]52;c;aGk=", "\x07", "\x1b]5522;type=read:status=DONE\x1b\\", "é", "\r", "u", "\x1b[M !!",
                ]).prop_map(|text| text.as_bytes().to_vec()),
            ],
            0..12,
        ),
        cut in 1_usize..7,
    ) {
        let bytes = parts.concat();
        let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
        prop_assert_eq!(decode_to_text(&[&bytes], Ending::Open), decode_to_text(&pieces, Ending::Open));
    }
}
