//! The terminal's way to show pictures, from the settings and the environment.

use tau_agent::settings::images::ImageProtocol;
use tau_app::picture::{PictureFormat, PictureSupport};

/// Terminals with inline files, by `TERM_PROGRAM`.
const ITERM2: [&str; 3] = ["iTerm.app", "WezTerm", "mintty"];
/// Terminals that draw pictures over placeholders, by the beginning of `TERM`.
const KITTY: [&str; 2] = ["xterm-kitty", "xterm-ghostty"];

/// The support for pictures; `lookup` gives the value of a variable. Sequences that depend on the position of
/// the cursor cannot pass through tmux or screen, so there pictures are half blocks, or sixel where tmux
/// reports support.
pub(crate) fn pictures(protocol: ImageProtocol, lookup: impl Fn(&str) -> Option<String>) -> PictureSupport {
    let value = |name: &str| lookup(name).unwrap_or_default();
    let known = PictureSupport::Known;
    let within = ["TMUX", "STY"].iter().any(|name| !value(name).is_empty());
    match protocol {
        ImageProtocol::Off => PictureSupport::Off,
        ImageProtocol::Blocks => known(PictureFormat::Blocks),
        ImageProtocol::Kitty => known(PictureFormat::Kitty),
        ImageProtocol::Sixel => known(PictureFormat::Sixel),
        ImageProtocol::Iterm2 if within => known(PictureFormat::Blocks),
        ImageProtocol::Iterm2 => known(PictureFormat::Iterm2),
        ImageProtocol::Auto if within => PictureSupport::Asked,
        ImageProtocol::Auto => {
            let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
            let kitty = KITTY.iter().any(|known| term.starts_with(known)) || program == "ghostty";
            if kitty || !value("KITTY_WINDOW_ID").is_empty() {
                known(PictureFormat::Kitty)
            } else if ITERM2.contains(&program.as_str()) || value("LC_TERMINAL") == "iTerm2" {
                known(PictureFormat::Iterm2)
            } else {
                PictureSupport::Asked
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_what_the_terminal_is_known_to_show() {
        let auto = |env: &[(&str, &str)]| {
            pictures(ImageProtocol::Auto, |name| {
                env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let known = PictureSupport::Known;
        assert_eq!(auto(&[("TERM", "xterm-kitty")]), known(PictureFormat::Kitty));
        assert_eq!(
            auto(&[("TERM_PROGRAM", "ghostty"), ("TERM", "xterm-256color")]),
            known(PictureFormat::Kitty)
        );
        assert_eq!(auto(&[("TERM_PROGRAM", "iTerm.app")]), known(PictureFormat::Iterm2));
        assert_eq!(auto(&[("TERM_PROGRAM", "WezTerm")]), known(PictureFormat::Iterm2));
        assert_eq!(auto(&[("TERM", "foot")]), PictureSupport::Asked);
        assert_eq!(auto(&[("TMUX", "x"), ("KITTY_WINDOW_ID", "1")]), PictureSupport::Asked);
        let set = |protocol, tmux: bool| {
            pictures(protocol, |name| (tmux && name == "TMUX").then(|| "x".to_owned()))
        };
        assert_eq!(set(ImageProtocol::Off, false), PictureSupport::Off);
        assert_eq!(set(ImageProtocol::Kitty, true), known(PictureFormat::Kitty));
        assert_eq!(set(ImageProtocol::Iterm2, true), known(PictureFormat::Blocks));
        assert_eq!(set(ImageProtocol::Sixel, true), known(PictureFormat::Sixel));
    }
}
