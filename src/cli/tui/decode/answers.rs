//! The terminal's answers to queries about itself.

use tau_app::background::Background;
use tau_app::terminal_facts::TerminalAnswer;
use tau_tools::vt::sequence::{Csi, StringKind};

/// Maximum length of a terminal's name and version, in characters.
const VERSION_CHARS: usize = 100;

/// A control sequence as an answer; `None` for keys and for answers to queries that tau does not send.
pub fn from_csi(csi: &Csi<'_>) -> Option<TerminalAnswer> {
    if !csi.intermediates.is_empty() {
        return None;
    }
    match csi.last {
        'c' => {
            let mut abilities = csi.parameters.strip_prefix('?')?.split(';');
            Some(TerminalAnswer::Attributes { sixel: abilities.any(|ability| ability == "4") })
        }
        't' => {
            let (height, width) = csi.parameters.strip_prefix("6;")?.split_once(';')?;
            let pixels = |text: &str| text.parse::<u16>().ok().filter(|pixels| *pixels > 0);
            Some(TerminalAnswer::CellPixels { width: pixels(width)?, height: pixels(height)? })
        }
        // In the first row it would be a key: F3 with modifiers.
        'R' => {
            let (row, column) = csi.parameters.split_once(';')?;
            let column = column.parse::<u16>().ok()?.checked_sub(1)?;
            let row = row.parse::<u16>().ok()?.checked_sub(1)?;
            (row > 0).then_some(TerminalAnswer::CursorAt { column, row })
        }
        _ => None,
    }
}

/// A control string as an answer.
pub fn from_string(kind: StringKind, data: &[u8]) -> Option<TerminalAnswer> {
    let data = std::str::from_utf8(data).ok()?;
    match kind {
        StringKind::Osc => Background::from_report(data).map(TerminalAnswer::Background),
        StringKind::Dcs => {
            let version = data.strip_prefix(">|")?.chars().filter(|c| !c.is_control()).take(VERSION_CHARS);
            Some(TerminalAnswer::Version(version.collect()))
        }
        // Control data and a message, such as `Gi=31;OK`.
        StringKind::Apc => {
            let (_, message) = data.strip_prefix("Gi=31")?.split_once(';')?;
            Some(TerminalAnswer::KittyGraphics(message == "OK"))
        }
        StringKind::Sos | StringKind::Pm => None,
    }
}
