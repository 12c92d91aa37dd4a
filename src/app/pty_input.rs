//! Encodes keys, pastes and the mouse as a terminal sends them to its program.
//!
//! Pure. The forms are xterm's ("XTerm Control Sequences", its PC-style function keys).

use super::key::{Key, KeyCode, Mods, Mouse, MouseButton, MouseKind};
use tau_tools::vt::Modes;

/// Rows that a turn of the wheel moves in a program without mouse support.
const WHEEL: usize = 3;

/// The terminal's sequence for a key.
pub fn key_sequence(key: Key, modes: Modes) -> String {
    match key.code {
        KeyCode::Char(character) => with_alt(key.mods, &letter(character, key.mods)),
        KeyCode::Enter => with_alt(key.mods, "\r"),
        KeyCode::Esc => with_alt(key.mods, "\u{1b}"),
        KeyCode::Tab if key.mods.has(Mods::SHIFT) => "\u{1b}[Z".to_owned(),
        KeyCode::Tab => with_alt(key.mods, "\t"),
        KeyCode::Backspace if key.mods.has(Mods::CTRL) => with_alt(key.mods, "\u{8}"),
        KeyCode::Backspace => with_alt(key.mods, "\u{7f}"),
        KeyCode::Up => cursor('A', key.mods, modes),
        KeyCode::Down => cursor('B', key.mods, modes),
        KeyCode::Right => cursor('C', key.mods, modes),
        KeyCode::Left => cursor('D', key.mods, modes),
        KeyCode::Home => cursor('H', key.mods, modes),
        KeyCode::End => cursor('F', key.mods, modes),
        KeyCode::Insert => tilde_sequence(2, key.mods),
        KeyCode::Delete => tilde_sequence(3, key.mods),
        KeyCode::PageUp => tilde_sequence(5, key.mods),
        KeyCode::PageDown => tilde_sequence(6, key.mods),
        KeyCode::F(number) => function(number, key.mods),
    }
}

/// The terminal's sequence for pasted text, which cannot end the paste by itself.
pub fn paste_sequence(text: &str, modes: Modes) -> String {
    let text = text.replace('\n', "\r");
    let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\r' | '\t')).collect();
    if modes.bracketed_paste { format!("\u{1b}[200~{text}\u{1b}[201~") } else { text }
}

/// The terminal's sequence for a mouse event, at a column and row of its screen. For a full-screen program
/// without mouse support, the wheel sends cursor keys.
pub(crate) fn mouse_sequence(mouse: Mouse, modes: Modes) -> String {
    let wheel = match mouse.kind {
        MouseKind::ScrollUp => Some(KeyCode::Up),
        MouseKind::ScrollDown => Some(KeyCode::Down),
        _ => None,
    };
    if !modes.mouse {
        return wheel.map(|code| key_sequence(Key::plain(code), modes).repeat(WHEEL)).unwrap_or_default();
    }
    let number = |button| match button {
        MouseButton::Left => 0_u16,
        MouseButton::Middle => 1,
        MouseButton::Right => 2,
    };
    let (button, last) = match mouse.kind {
        MouseKind::Down(button) => (number(button), 'M'),
        MouseKind::Up(button) => (number(button), 'm'),
        MouseKind::Drag(button) => (number(button) + 32, 'M'),
        MouseKind::ScrollUp => (64, 'M'),
        MouseKind::ScrollDown => (65, 'M'),
        MouseKind::ScrollLeft => (66, 'M'),
        MouseKind::ScrollRight => (67, 'M'),
    };
    let held = [(Mods::SHIFT, 4), (Mods::ALT, 8), (Mods::CTRL, 16)];
    let button =
        button + held.iter().filter(|(mods, _)| mouse.mods.has(*mods)).map(|(_, bit)| bit).sum::<u16>();
    let (column, row) = (mouse.column.saturating_add(1), mouse.row.saturating_add(1));
    if modes.mouse_sgr {
        return format!("\u{1b}[<{button};{column};{row}{last}");
    }
    // The old form has no larger numbers, and does not say which button was released.
    let button = if last == 'm' { 3 } else { button };
    let byte = |number: u16| u8::try_from(number + 32).ok().filter(u8::is_ascii).map(char::from);
    match (byte(button), byte(column), byte(row)) {
        (Some(button), Some(column), Some(row)) => format!("\u{1b}[M{button}{column}{row}"),
        _ => String::new(),
    }
}

fn with_alt(mods: Mods, text: &str) -> String {
    if mods.has(Mods::ALT) { format!("\u{1b}{text}") } else { text.to_owned() }
}

fn letter(character: char, mods: Mods) -> String {
    let character = if mods.has(Mods::SHIFT) { character.to_ascii_uppercase() } else { character };
    if !mods.has(Mods::CTRL) {
        return character.to_string();
    }
    let control = match character.to_ascii_uppercase() {
        ' ' | '2' => 0,
        letter @ '@'..='_' => letter as u8 & 0x1f,
        digit @ '3'..='7' => digit as u8 - b'3' + 0x1b,
        '/' => 0x1f,
        '8' | '?' => 0x7f,
        _ => return character.to_string(),
    };
    char::from(control).to_string()
}

/// The number that encodes the modifiers; `None` without modifiers.
fn modifier_code(mods: Mods) -> Option<u8> {
    let bits = [(Mods::SHIFT, 1), (Mods::ALT, 2), (Mods::CTRL, 4)];
    let sum: u8 = bits.iter().filter(|(mod_, _)| mods.has(*mod_)).map(|(_, bit)| bit).sum();
    (sum > 0).then_some(sum + 1)
}

fn cursor(letter: char, mods: Mods, modes: Modes) -> String {
    match modifier_code(mods) {
        Some(held) => format!("\u{1b}[1;{held}{letter}"),
        None if modes.application_cursor => format!("\u{1b}O{letter}"),
        None => format!("\u{1b}[{letter}"),
    }
}

fn tilde_sequence(number: u8, mods: Mods) -> String {
    match modifier_code(mods) {
        Some(held) => format!("\u{1b}[{number};{held}~"),
        None => format!("\u{1b}[{number}~"),
    }
}

fn function(number: u8, mods: Mods) -> String {
    let letter = ["P", "Q", "R", "S"].get(usize::from(number.saturating_sub(1)));
    match (number, letter, modifier_code(mods)) {
        (1..=4, Some(letter), None) => format!("\u{1b}O{letter}"),
        (1..=4, Some(letter), Some(held)) => format!("\u{1b}[1;{held}{letter}"),
        (5..=12, ..) => {
            let numbers = [15, 17, 18, 19, 20, 21, 23, 24];
            numbers
                .get(usize::from(number - 5))
                .map(|number| tilde_sequence(*number, mods))
                .unwrap_or_default()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sent_as_terminals_send_them() {
        let usual = Modes::default();
        let application = Modes { application_cursor: true, ..usual };
        let cases = [
            ("a", usual, "a"),
            ("A", usual, "A"),
            ("한", usual, "한"),
            ("space", usual, " "),
            ("ctrl+space", usual, "\0"),
            ("ctrl+c", usual, "\x03"),
            ("ctrl+d", usual, "\x04"),
            ("ctrl+z", usual, "\x1a"),
            ("ctrl+\\", usual, "\x1c"),
            ("ctrl+_", usual, "\x1f"),
            ("alt+x", usual, "\x1bx"),
            ("alt+shift+x", usual, "\x1bX"),
            ("ctrl+alt+x", usual, "\x1b\x18"),
            ("enter", usual, "\r"),
            ("alt+enter", usual, "\x1b\r"),
            ("esc", usual, "\x1b"),
            ("tab", usual, "\t"),
            ("shift+tab", usual, "\x1b[Z"),
            ("backspace", usual, "\x7f"),
            ("up", usual, "\x1b[A"),
            ("up", application, "\x1bOA"),
            ("ctrl+left", application, "\x1b[1;5D"),
            ("end", usual, "\x1b[F"),
            ("pageup", usual, "\x1b[5~"),
            ("shift+delete", usual, "\x1b[3;2~"),
            ("f1", usual, "\x1bOP"),
            ("f5", usual, "\x1b[15~"),
            ("f12", usual, "\x1b[24~"),
        ];
        for (key, modes, expected) in cases {
            assert_eq!(key_sequence(key.parse().unwrap(), modes), expected, "{key}");
        }
    }

    #[test]
    fn a_paste_cannot_end_itself() {
        let bracketed = Modes { bracketed_paste: true, ..Modes::default() };
        let hostile = "a\nb\t\x1b[201~rm\n";
        assert_eq!(paste_sequence(hostile, Modes::default()), "a\rb\t[201~rm\r");
        assert_eq!(paste_sequence(hostile, bracketed), "\x1b[200~a\rb\t[201~rm\r\x1b[201~");
    }

    #[test]
    fn the_mouse_is_told_as_it_was_asked_for() {
        let mouse = |kind| Mouse { kind, column: 4, row: 0, mods: Mods::NONE };
        let old = Modes { mouse: true, ..Modes::default() };
        let sgr = Modes { mouse_sgr: true, ..old };
        let left = MouseButton::Left;
        let cases = [
            (MouseKind::ScrollUp, Modes::default(), "\x1b[A\x1b[A\x1b[A"),
            (MouseKind::Down(left), Modes::default(), ""),
            (MouseKind::Down(left), sgr, "\x1b[<0;5;1M"),
            (MouseKind::Up(left), sgr, "\x1b[<0;5;1m"),
            (MouseKind::ScrollDown, sgr, "\x1b[<65;5;1M"),
            (MouseKind::Down(left), old, "\x1b[M %!"),
            (MouseKind::Up(left), old, "\x1b[M#%!"),
        ];
        for (kind, modes, expected) in cases {
            assert_eq!(mouse_sequence(mouse(kind), modes), expected, "{kind:?}");
        }
    }
}
