//! Terminals: output of programs, and the bytes sent for keys, mouse and pastes.

use tau::cli::tui::decode::InputDecoder;
use tau::cli::tui::event::TerminalEvent;
use tau::tools::line_output::{self, Colours};
use tau::tools::vt::{TerminalScreen, ToCursor};

use super::driver::{behavior, cuts, magnitude};
use super::{Target, as_text, pieces, run, texts};

/// Sequences that programs write.
const OUTPUT: &[&str] = &[
    "\u{1b}[", "\u{1b}]0;t\u{7}", "\u{1b}P", "\u{1b}\\", "\u{1b}(0", "\u{1b}(B", "\u{e}", "\u{f}", "\u{1b}7",
    "\u{1b}8", "\u{1b}c", "\u{1b}M", "\u{1b}D", "\u{1b}E", "\u{1b}[?1049h", "\u{1b}[?1049l", "\u{1b}[?6h",
    "\u{1b}[?7l", "\u{1b}[?25l", "\u{1b}[4h", "\u{1b}[20h", "\u{1b}[2;3r", "\u{1b}[r", "\u{1b}[6n",
    "\u{1b}[c", "\u{1b}[2J", "\u{1b}[K", "\u{1b}[1K", "\u{1b}[H", "\u{1b}[9;9H", "\u{1b}[3A", "\u{1b}[3B",
    "\u{1b}[3C", "\u{1b}[3D", "\u{1b}[5G", "\u{1b}[2@", "\u{1b}[2P", "\u{1b}[2X", "\u{1b}[2L", "\u{1b}[2M",
    "\u{1b}[2S", "\u{1b}[2T", "\u{1b}[9b", "\u{1b}[999b", "\u{1b}[31;1m", "\u{1b}[m", "\u{1b}[38;5;9m",
    "\u{1b}[48;2;1;2;3m", "\u{1b}]8;;http://x\u{7}", "\r", "\u{8}", "\t", "漢", "e\u{301}", "\u{9b}1m",
];

/// Program output, and text.
fn output() -> Vec<Vec<u8>> {
    let written = [
        "one\r\ntwo\r\n\u{1b}[2A\u{1b}[Kuno\r\n",
        "a 1%\r\nb 1%\r\n\u{1b}[2Aa 50%\r\nb 50%\r\n\u{1b}[2Aa 100%\r\nb 100%\r\ndone\r\n",
        "shell\u{1b}[?1049h\u{1b}[2J\u{1b}[H editor\u{1b}[?25l\u{1b}[3;1H~\u{1b}[?1049l$ ",
        "\u{1b}[1;31mred\u{1b}[0m and \u{1b}[38;2;1;2;3mrgb\u{1b}[m\r\n\u{1b}]0;title\u{7}after",
        "1\r\n2\r\n3\r\n4\r\n5\u{1b}[2;4r\u{1b}[4;1H\n\n\u{1b}[2;1H\u{1b}Mtop",
        "0123456789012345678漢x\ta\u{8}\u{8}b\u{1b}[6n",
        "10%\r20%\r\u{1b}[K30%\n\u{1b}(0lqqk\u{1b}(B",
    ];
    written.iter().map(|text| text.as_bytes().to_vec()).chain(texts()).collect()
}

/// True if a character must not appear on the screen or in a line of output.
fn is_forbidden(character: char) -> bool {
    character.is_control() && character != '\t'
}

#[test]
fn screen() {
    run(Target { name: "screen", check: check_screen, seeds: output(), words: OUTPUT, cases: 500 });
}

fn check_screen(input: &[u8]) -> u64 {
    let text = as_text(input);
    let mut dice = cuts(input);
    let (columns, rows) = (1 + dice.below(40) as u16, 1 + dice.below(12) as u16);
    let mut whole = TerminalScreen::new(columns, rows);
    whole.write(&text);
    for most in [1, 9, 200] {
        let mut split = TerminalScreen::new(columns, rows);
        pieces(&text, &mut dice, most).iter().for_each(|piece| split.write(piece));
        assert_eq!(seen(&split), seen(&whole), "a split changes the screen");
        let (mut split, mut whole) = (split, whole.clone());
        assert_eq!(split.take_answers(), whole.take_answers());
        assert!(split.take_scrolled_off() == whole.take_scrolled_off(), "a split changes the lines");
    }
    check_shown(&mut whole.clone(), columns, input.len());
    // The window is resized meanwhile.
    let mut resized = TerminalScreen::for_pipe(columns, rows);
    let mut widest = columns;
    for piece in pieces(&text, &mut dice, 60) {
        resized.write(&piece);
        if dice.below(4) == 0 {
            resized.resize(dice.below(50) as u16, dice.below(15) as u16);
            widest = widest.max(resized.size().0);
        }
        check_shown(&mut resized, widest, input.len());
    }
    let modes = whole.modes();
    let switches =
        [modes.application_cursor, modes.bracketed_paste, modes.mouse, modes.mouse_sgr, whole.is_full()];
    behavior((
        switches,
        whole.cursor().map(|(column, _)| column / 8),
        whole.used_rows(),
        text.contains('\u{1b}'),
    ))
}

/// The visible text.
fn seen(screen: &TerminalScreen) -> String {
    let rows: Vec<String> = screen.rows().map(|row| format!("{row:?}")).collect();
    format!("{:?} {:?} {} {}", screen.cursor(), screen.modes(), screen.is_full(), rows.join("\n"))
}

/// The rules of any screen, and its bounds. Takes the lines that have left it. A row keeps its cells when
/// the window becomes narrower, so rows are as wide as the `widest` window.
fn check_shown(screen: &mut TerminalScreen, widest: u16, written: usize) {
    let (columns, rows) = screen.size();
    assert_eq!(screen.rows().count(), usize::from(rows));
    if let Some((column, row)) = screen.cursor() {
        assert!(column < columns && row < rows, "the cursor is on the screen");
    }
    for row in screen.rows() {
        assert!(row.cells().len() <= usize::from(widest), "{} cells in a row", row.cells().len());
        for cell in row.cells() {
            assert!(!cell.text().contains(char::is_control), "{cell:?}");
            assert!(cell.text().len() < 256, "{cell:?}");
        }
    }
    let left = screen.take_scrolled_off();
    let lines = left.iter().chain(&screen.lines(ToCursor::Yes)).cloned().collect::<Vec<_>>();
    for line in &lines {
        assert!(!line.text.contains(is_forbidden), "{line:?}");
        let styled: usize = line.runs.iter().map(|(length, _)| length).sum();
        assert!(styled <= line.text.len() && line.text.is_char_boundary(styled), "{line:?}");
    }
    // One sequence moves out at most a screen of lines.
    assert!(
        left.len() <= (written + 1) * (usize::from(rows) + 1),
        "{} lines from {written} bytes",
        left.len()
    );
    assert!(screen.take_answers().len() <= 1_024, "answers are bounded");
}

#[test]
fn line_output() {
    run(Target {
        name: "line_output",
        check: check_line_output,
        seeds: output(),
        words: OUTPUT,
        cases: 4_000,
    });
}

fn check_line_output(input: &[u8]) -> u64 {
    let text = as_text(input);
    let plain = line_output::plain(&text);
    assert!(!plain.contains(|c| is_forbidden(c) && c != '\n'), "{plain:?}");
    assert_eq!(line_output::plain(&plain), plain, "what is plain stays as it is");
    // Movement pads a line with blanks up to the last reachable column.
    let lines = text.matches('\n').count() + 1;
    assert!(plain.len() <= text.len() + 2_001 * lines, "{} bytes from {}", plain.len(), text.len());
    let coloured = line_output::render(&text, Colours::Keep);
    assert_eq!(line_output::plain(&coloured), plain, "colours change no text");
    let others = coloured.replace("\u{1b}[", "");
    assert!(!others.contains(|c| is_forbidden(c) && c != '\n'), "only colours are kept: {coloured:?}");
    behavior((
        magnitude(plain.len()),
        magnitude(coloured.len() - plain.len().min(coloured.len())),
        magnitude(lines),
    ))
}

/// Bytes that terminals send.
const KEYS: &[&str] = &[
    "\u{1b}", "\u{1b}[", "\u{1b}[A", "\u{1b}[1;5C", "\u{1b}[97;5u", "\u{1b}[97:65:97;2:1u", "\u{1b}[13;2~",
    "\u{1b}[27;5;13~", "\u{1b}OP", "\u{1b}[200~", "\u{1b}[201~", "\u{1b}[<0;10;5M", "\u{1b}[<64;1;1m",
    "\u{1b}[M !!", "\u{1b}[I", "\u{1b}[O", "\u{1b}]11;rgb:1/2/3\u{1b}\\", "\u{1b}]11;x\u{7}",
    "\u{1b}P>|xterm\u{1b}\\", "\u{1b}[?62;4c", "\u{1b}[?0u", "\u{1b}_Gi=1;OK\u{1b}\\", "\r", "\n", "\t",
    "\u{7f}", "\0", "é", "日", "👍", "\u{1b}a", "\u{1b}\u{1b}[A", "\u{1b}[[A",
];

#[test]
fn terminal_input() {
    let keys = KEYS.iter().map(|key| key.as_bytes().to_vec());
    let typed = [
        "hello world\r".to_owned(),
        "\u{1b}[200~pasted\r\ntext\u{1b}[31m\u{1b}[201~typed".to_owned(),
        KEYS.concat(),
    ];
    let typed = typed.into_iter().map(String::into_bytes);
    let seeds = keys.chain(typed).chain(texts().into_iter().take(4)).collect();
    run(Target { name: "terminal_input", check: check_input, seeds, words: KEYS, cases: 8_000 });
}

/// The events of the bytes, fed in these pieces, with a pause at the end.
fn read(input: &[u8], most: usize) -> Vec<TerminalEvent> {
    let mut dice = cuts(input);
    let mut decoder = InputDecoder::default();
    let mut said = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at((1 + dice.below(most)).min(rest.len()));
        decoder.feed(piece, &mut |one| said.push(one));
        rest = tail;
    }
    decoder.pause(&mut |one| said.push(one));
    assert_eq!(decoder.awaited_pause(), None, "a pause decides");
    said
}

fn check_input(input: &[u8]) -> u64 {
    let whole = read(input, input.len().max(1));
    for most in [1, 5, 100] {
        assert_eq!(read(input, most), whole, "a split changes the keys");
    }
    assert!(whole.len() <= input.len(), "{} events from {} bytes", whole.len(), input.len());
    let mut kinds = Vec::new();
    for one in &whole {
        let (kind, text) = match one {
            TerminalEvent::Key(key) => (format!("{:?}", key.mods), ""),
            TerminalEvent::Mouse(mouse) => (format!("{:?}", mouse.kind), ""),
            TerminalEvent::Paste(text) => ("paste".to_owned(), text.as_str()),
            other => (format!("{other:?}"), ""),
        };
        assert!(text.len() <= 3 * input.len(), "{} bytes of text", text.len());
        assert!(!matches!(one, TerminalEvent::Paste(text) if text.contains('\r')), "line ends are unified");
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.truncate(8);
    behavior((kinds, magnitude(whole.len())))
}
