//! The terminal's background, dark or light, and its detection.

use serde::{Deserialize, Serialize};

/// The name of the theme that follows the terminal's background.
pub const AUTO: &str = "auto";

/// The terminal's background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    #[default]
    Dark,
    Light,
}

impl Background {
    /// From a terminal's answer to OSC 11, such as `11;rgb:ffff/ffff/ffff`; `None` for anything else.
    pub fn from_report(report: &str) -> Option<Background> {
        let color = report.strip_prefix("11;")?;
        let channels = color.strip_prefix("rgb:").or_else(|| color.strip_prefix("rgba:"))?;
        let mut shares = channels.split('/').map(share);
        let (red, green, blue) = (shares.next()??, shares.next()??, shares.next()??);
        let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
        Some(if brightness > 0.5 { Background::Light } else { Background::Dark })
    }

    /// From the variable `COLORFGBG`, such as `15;0`: the last number is the background, one of the 16
    /// colours. `None` if it names none of them.
    pub fn from_colorfgbg(value: &str) -> Option<Background> {
        match value.rsplit(';').next()?.parse::<u8>().ok()? {
            0..=6 | 8 => Some(Background::Dark),
            7 | 9..=15 => Some(Background::Light),
            16.. => None,
        }
    }

    /// The name of the theme for this background.
    pub fn theme(self) -> &'static str {
        match self {
            Background::Dark => "dark",
            Background::Light => "light",
        }
    }
}

/// One to four hexadecimal digits as a fraction of the largest such number.
fn share(digits: &str) -> Option<f64> {
    let is_hex = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    Some(f64::from(value) / f64::from(16_u32.pow(digits.len() as u32) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_terminals_are_understood() {
        for (report, expected) in [
            ("11;rgb:ffff/ffff/ffff", Some(Background::Light)),
            ("11;rgb:0000/0000/0000", Some(Background::Dark)),
            ("11;rgb:fd/f6/e3", Some(Background::Light)),
            ("11;rgb:0/2/3", Some(Background::Dark)),
            ("11;rgba:1e1e/1e1e/2e2e/ffff", Some(Background::Dark)),
            ("11;rgb:ffff/ffff", None),
            ("11;rgb:fffff/0/0", None),
            ("11;rgb:+f/0/0", None),
            ("11;rgb:", None),
            ("10;rgb:ffff/ffff/ffff", None),
            ("", None),
        ] {
            assert_eq!(Background::from_report(report), expected, "{report}");
        }
    }

    #[test]
    fn the_variable_is_understood() {
        for (value, expected) in [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("0;default;7", Some(Background::Light)),
            ("12;8", Some(Background::Dark)),
            ("15;default", None),
            ("0;200", None),
            ("", None),
        ] {
            assert_eq!(Background::from_colorfgbg(value), expected, "{value}");
        }
    }
}
