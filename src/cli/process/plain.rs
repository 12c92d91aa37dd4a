//! Foreign text without terminal controls and hidden characters. The screen uses the same table of
//! characters.

use tau_app::printable::is_hidden;

/// `text` as one line, without controls and invisible characters.
pub fn line(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// Like [`line()`], but line breaks and tabs stay.
pub fn text(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_hidden(*c)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_hidden_is_left() {
        let hidden = "a\u{61c}\u{115f}\u{3164}\u{ffa0}\u{180e}\u{202e}\x1b\r\u{7f}\u{9b}b";
        assert_eq!(super::line(hidden), "ab");
        assert_eq!(super::line("é日本\n\tx"), "é日本x");
        assert_eq!(super::text("é日本\n\tx\x07"), "é日本\n\tx");
    }
}
