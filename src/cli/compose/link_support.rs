//! Whether the terminal opens links (OSC 8), from the environment.

/// Variables set only by terminals that open links.
const VARIABLES: [&str; 4] = ["WT_SESSION", "KITTY_WINDOW_ID", "DOMTERM", "GHOSTTY_RESOURCES_DIR"];
/// Terminals by `TERM_PROGRAM`.
const PROGRAMS: [&str; 9] =
    ["iTerm.app", "WezTerm", "ghostty", "vscode", "Hyper", "rio", "zed", "contour", "terminology"];
/// Terminals by the prefix of `TERM`.
const TERMS: [&str; 7] = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio"];
/// The first version of VTE that opens links without faults (0.50.0), as in `VTE_VERSION`.
const VTE: u32 = 5_000;

/// Whether the terminal is known to open links; `lookup` gives the value of a variable. Within tmux and
/// screen this is unknown, as these may drop links, and an address that is not printed would be lost.
pub(crate) fn opens_links(lookup: impl Fn(&str) -> Option<String>) -> bool {
    let value = |name: &str| lookup(name).unwrap_or_default();
    let is_set = |name: &&str| !value(name).is_empty();
    if ["TMUX", "STY"].iter().any(is_set) || value("TERM") == "dumb" {
        return false;
    }
    let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
    VARIABLES.iter().any(is_set)
        || PROGRAMS.contains(&program.as_str())
        || TERMS.iter().any(|known| term.starts_with(known))
        || value("VTE_VERSION").parse().is_ok_and(|version: u32| version >= VTE)
}

#[cfg(test)]
mod tests {
    use super::opens_links;

    #[test]
    fn known_terminals_open_links() {
        let opens = |env: &[(&str, &str)]| {
            opens_links(|name| {
                env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let yes: [&[(&str, &str)]; 6] = [
            &[("TERM", "xterm-kitty")],
            &[("TERM", "alacritty")],
            &[("TERM_PROGRAM", "iTerm.app"), ("TERM", "xterm-256color")],
            &[("VTE_VERSION", "7600"), ("TERM", "xterm-256color")],
            &[("WT_SESSION", "x")],
            &[("TERM", "foot-extra")],
        ];
        for env in yes {
            assert!(opens(env), "{env:?}");
        }
        let no: [&[(&str, &str)]; 7] = [
            &[],
            &[("TERM", "xterm-256color")],
            &[("TERM_PROGRAM", "Apple_Terminal"), ("TERM", "xterm-256color")],
            &[("VTE_VERSION", "4205")],
            &[("KONSOLE_VERSION", "220401")],
            &[("TMUX", "x"), ("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")],
            &[("TERM", "dumb"), ("WT_SESSION", "x")],
        ];
        for env in no {
            assert!(!opens(env), "{env:?}");
        }
    }
}
