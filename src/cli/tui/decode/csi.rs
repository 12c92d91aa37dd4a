//! The meaning of control sequences: xterm's numbers and the kitty keyboard protocol.

use super::super::event::TerminalEvent;
use tau_app::key::{Key, KeyCode, Mods, Mouse, MouseButton, MouseKind};
use tau_tools::vt::sequence::Csi;

/// The meaning of a control sequence; `None` for releases of keys and for unknown sequences.
pub fn meaning(csi: &Csi<'_>) -> Option<TerminalEvent> {
    let (parameters, last) = (csi.parameters, u8::try_from(csi.last).ok()?);
    if let Some(mouse) = parameters.strip_prefix('<') {
        return sgr_mouse(mouse, last).map(TerminalEvent::Mouse);
    }
    if parameters.starts_with(['?', '>', '=']) || !csi.intermediates.is_empty() {
        return None;
    }
    match (last, parameters) {
        (b'I', "") => return Some(TerminalEvent::FocusGained),
        (b'O', "") => return Some(TerminalEvent::FocusLost),
        _ => {}
    }
    key(&Fields::read(parameters), last).map(TerminalEvent::Key)
}

/// Parameters: up to three fields, the first two with subfields.
#[derive(Debug, Default)]
struct Fields {
    number: u32,
    /// The key's character with shift.
    shifted: Option<u32>,
    /// The key's character on a US keyboard, where different.
    base: Option<u32>,
    modifiers: u32,
    /// 1 press, 2 repeat, 3 release.
    kind: u32,
    third: u32,
}

impl Fields {
    fn read(parameters: &str) -> Fields {
        let mut fields = parameters.split(';').map(|field| {
            let mut numbers = field.split(':').map(|number| number.parse::<u32>().ok());
            [(); 3].map(|()| numbers.next().flatten())
        });
        let [number, shifted, base] = fields.next().unwrap_or_default();
        let [modifiers, kind, _] = fields.next().unwrap_or_default();
        let [third, ..] = fields.next().unwrap_or_default();
        Fields {
            number: number.unwrap_or(1),
            shifted,
            base,
            modifiers: modifiers.unwrap_or(1).saturating_sub(1),
            kind: kind.unwrap_or(1),
            third: third.unwrap_or(0),
        }
    }

    fn mods(&self) -> Mods {
        modifiers(
            self.modifiers,
            &[(1, Mods::SHIFT), (2, Mods::ALT), (4, Mods::CTRL), (8, Mods::SUPER), (32, Mods::ALT)],
        )
    }
}

fn modifiers(bits: u32, table: &[(u32, Mods)]) -> Mods {
    let held = table.iter().filter(|(bit, _)| bits & bit != 0);
    held.fold(Mods::NONE, |mods, (_, held)| mods.with(*held))
}

fn key(fields: &Fields, last: u8) -> Option<Key> {
    if fields.kind == 3 {
        return None;
    }
    let mods = fields.mods();
    match last {
        b'u' => unicode(fields, mods),
        // xterm's modifyOtherKeys: the code is the third field.
        b'~' if fields.number == 27 => unicode(&Fields { number: fields.third, ..Fields::default() }, mods),
        b'~' => tilde(fields.number).map(|code| Key::new(code, mods)),
        b'Z' => Some(Key::new(KeyCode::Tab, mods.with(Mods::SHIFT))),
        // Any other first number is a report, such as the cursor's position.
        _ if fields.number != 1 => None,
        _ => letter(last).map(|code| Key::new(code, mods)),
    }
}

/// Keys whose sequence ends in a letter.
pub fn letter(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

/// Keys whose sequence is a number and a tilde.
fn tilde(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        // The gaps in the numbers come from the VT220's keyboard.
        11..=15 => function(number - 10)?,
        17..=21 => function(number - 11)?,
        23..=26 => function(number - 12)?,
        28..=29 => function(number - 13)?,
        31..=34 => function(number - 14)?,
        _ => return None,
    })
}

fn function(number: u32) -> Option<KeyCode> {
    u8::try_from(number).ok().filter(|number| (1..=24).contains(number)).map(KeyCode::F)
}

/// A key by its code point; the private ones are the kitty protocol's functional keys.
fn unicode(fields: &Fields, mods: Mods) -> Option<Key> {
    let code = match fields.number {
        9 => KeyCode::Tab,
        13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        number @ 57_344..=63_743 => functional(number)?,
        _ => return character_key(fields, mods),
    };
    Some(Key::new(code, mods))
}

/// A key that types. With shift, its shifted character counts, and shift itself only if that does not show
/// it.
fn character_key(fields: &Fields, mods: Mods) -> Option<Key> {
    let visible = |number| char::from_u32(number).filter(|c| !c.is_control());
    let own = visible(fields.number)?;
    if let Some(base) = fields.base.and_then(visible).filter(|base| is_chord_of_base(own, *base, mods)) {
        return Some(Key::new(KeyCode::Char(base), mods));
    }
    match fields.shifted.and_then(visible).filter(|_| mods.has(Mods::SHIFT)) {
        Some(other) => Some(Key::new(KeyCode::Char(other), mods.without(Mods::SHIFT))),
        None => Some(Key::new(KeyCode::Char(own), mods)),
    }
}

/// Whether a chord is named by the key's place on a US keyboard: Ctrl+C is C's key where that types с
/// (Cyrillic) or ב. A layout with the Latin letter elsewhere, such as Dvorak, keeps its own.
fn is_chord_of_base(own: char, base: char, mods: Mods) -> bool {
    const LATIN_END: char = '\u{250}';
    [Mods::CTRL, Mods::ALT, Mods::SUPER].iter().any(|held| mods.has(*held))
        && base.is_ascii()
        && !own.is_ascii_alphanumeric()
        && (base.is_ascii_alphabetic() || own >= LATIN_END)
}

fn functional(number: u32) -> Option<KeyCode> {
    const KEYPAD: [KeyCode; 18] = [
        KeyCode::Char('.'),
        KeyCode::Char('/'),
        KeyCode::Char('*'),
        KeyCode::Char('-'),
        KeyCode::Char('+'),
        KeyCode::Enter,
        KeyCode::Char('='),
        KeyCode::Char(','),
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Insert,
        KeyCode::Delete,
    ];
    match number {
        57_376..=57_398 => function(number - 57_376 + 13),
        57_399..=57_408 => char::from_digit(number - 57_399, 10).map(KeyCode::Char),
        57_409..=57_426 => KEYPAD.get(usize::try_from(number - 57_409).ok()?).copied(),
        _ => None,
    }
}

/// `CSI < button ; column ; row M` (pressed) or `m` (released); positions count from 1.
fn sgr_mouse(parameters: &str, last: u8) -> Option<Mouse> {
    let mut numbers = parameters.split(';').map(|number| number.parse::<u16>().ok());
    let bits = numbers.next()??;
    let column = numbers.next()??.checked_sub(1)?;
    let row = numbers.next()??.checked_sub(1)?;
    match last {
        b'M' => mouse(bits, column, row),
        b'm' => {
            let kind = MouseKind::Up(button(bits)?);
            Some(Mouse { kind, column, row, mods: mouse_mods(bits) })
        }
        _ => None,
    }
}

/// `CSI M` and three bytes; a release does not give its button.
pub(crate) fn old_mouse(bytes: [u8; 3]) -> Option<Mouse> {
    let [bits, column, row] = bytes.map(u16::from);
    let (bits, column, row) = (bits.checked_sub(32)?, column.checked_sub(33)?, row.checked_sub(33)?);
    if bits & 0b110_0011 == 3 {
        let kind = MouseKind::Up(MouseButton::Left);
        return Some(Mouse { kind, column, row, mods: mouse_mods(bits) });
    }
    mouse(bits, column, row)
}

fn mouse(bits: u16, column: u16, row: u16) -> Option<Mouse> {
    let kind = match bits & 0b1110_0011 {
        64 => MouseKind::ScrollUp,
        65 => MouseKind::ScrollDown,
        66 => MouseKind::ScrollLeft,
        67 => MouseKind::ScrollRight,
        0..=2 => MouseKind::Down(button(bits)?),
        // A movement; irrelevant without a button.
        32..=34 => MouseKind::Drag(button(bits)?),
        _ => return None,
    };
    Some(Mouse { kind, column, row, mods: mouse_mods(bits) })
}

fn button(bits: u16) -> Option<MouseButton> {
    match bits & 0b1100_0011 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    }
}

fn mouse_mods(bits: u16) -> Mods {
    modifiers(bits.into(), &[(4, Mods::SHIFT), (8, Mods::ALT), (16, Mods::CTRL)])
}
