//! Readability: every foreground on every background it meets, in every theme and number of colours where
//! these are known.

use ratatui::style::{Color, Modifier, Style};
use tau::view::contrast::{Pair, pairs};
use tau::view::theme::{ColorDepth, Theme, ThemeToken};

const KNOWN: [ColorDepth; 2] = [ColorDepth::True, ColorDepth::Ansi256];

/// The built-in themes with their own colours: all but the one that uses the terminal's.
pub fn coloured() -> impl Iterator<Item = (&'static str, Theme)> {
    Theme::names().filter(|name| *name != "system").map(|name| (name, Theme::builtin(name).expect("a theme")))
}

/// The pair that is hardest to read, with its contrast.
pub fn hardest(theme: &Theme) -> Pair {
    pairs(theme).into_iter().min_by(|one, other| one.ratio.total_cmp(&other.ratio)).expect("a pair")
}

#[test]
fn everything_can_be_read_in_every_theme() {
    let mut faults = Vec::new();
    for (name, theme) in coloured() {
        let least = if name.starts_with("high-contrast") { 7.0 } else { 4.5 };
        assert!(theme.contrast() >= least, "{name} promises {}", theme.contrast());
        assert!(theme.background().is_some(), "{name} does not say what background it is for");
        for depth in KNOWN {
            let pairs = pairs(&theme.at_depth(depth));
            // All tokens, code in both kinds of changed lines, and the tokens of a selected row.
            let expected = ThemeToken::ALL.len() + 2 * 12 + 8;
            assert_eq!(pairs.len(), expected, "{name} in {depth:?}: pairs with unknown colours");
            let hard = pairs.iter().filter(|pair| pair.ratio < least);
            faults.extend(hard.map(|pair| format!("{name} in {depth:?}: {pair}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The visible colours of a style, swapped where the terminal swaps them.
fn seen(style: Style) -> (Option<Color>, Option<Color>) {
    match style.add_modifier.contains(Modifier::REVERSED) {
        true => (style.bg, style.fg),
        false => (style.fg, style.bg),
    }
}

#[test]
fn additions_look_different_from_deletions_in_every_number_of_colours() {
    let grey = |color: Color| matches!(color, Color::Indexed(232..) | Color::Gray | Color::DarkGray);
    for name in Theme::names() {
        for depth in [ColorDepth::True, ColorDepth::Ansi256, ColorDepth::Ansi16] {
            let theme = Theme::builtin(name).expect("a theme").at_depth(depth);
            for (added, removed) in [
                (ThemeToken::DiffAdded, ThemeToken::DiffRemoved),
                (ThemeToken::DiffAddedWord, ThemeToken::DiffRemovedWord),
            ] {
                let (added, removed) = (seen(theme.style(added)), seen(theme.style(removed)));
                // They are told apart by the background or, if there is none, by the foreground.
                let tells = |it: (Option<Color>, Option<Color>)| it.1.or(it.0).expect("a colour");
                let (added, removed) = (tells(added), tells(removed));
                assert_ne!(added, removed, "{name} in {depth:?}");
                assert!(!grey(added) && !grey(removed), "{name} in {depth:?}: {added:?} {removed:?}");
            }
            for (line, word) in [
                (ThemeToken::DiffAdded, ThemeToken::DiffAddedWord),
                (ThemeToken::DiffRemoved, ThemeToken::DiffRemovedWord),
            ] {
                let (line, word) = (theme.style(line), theme.style(word));
                assert_ne!(line, word, "{name} in {depth:?}");
                assert!(
                    word.fg.is_some(),
                    "{name} in {depth:?}: a changed word has no foreground of its own"
                );
            }
        }
    }
}

/// A user's theme names only true colours: their replacements are still distinguishable and readable.
#[test]
fn colours_of_a_users_theme_are_replaced_by_some_that_can_be_read() {
    let source = "[colors]\ndiff_added = \"#c5e2bb on #1c2f24\"\ndiff_removed = \"#ecbcc1 on #3a2027\"\n\
                  diff_added_word = \"#75a07f on #1f3a27\"\n";
    let theme = Theme::parse(source).expect("a theme").at_depth(ColorDepth::Ansi256);
    let backgrounds = [ThemeToken::DiffAdded, ThemeToken::DiffRemoved].map(|token| theme.style(token).bg);
    assert_eq!(backgrounds, [Some(Color::Indexed(22)), Some(Color::Indexed(52))]);
    for pair in pairs(&theme) {
        assert!(pair.ratio >= 4.5, "{pair}");
    }
}

#[test]
fn a_theme_has_colours_of_its_own_for_terminals_with_fewer() {
    let source = "inherits = \"dark\"\n[palette]\nink = \"#101010\"\n[palette-256]\nink = 200\n[palette-16]\nink = \"cyan\"\n\
                  [colors]\ntext = \"ink\"\nlink = \"bold ink\"\n[colors-256]\nlink = \"ink on 17\"\n[colors-16]\nlink = \"red\"\n";
    let theme = Theme::parse(source).expect("a theme");
    let look = |depth, token| theme.at_depth(depth).style(token);
    let ink = Style::new().fg(Color::Rgb(16, 16, 16));
    assert_eq!(theme.style(ThemeToken::Text), ink);
    assert_eq!(theme.style(ThemeToken::Link), ink.add_modifier(Modifier::BOLD));
    assert_eq!(look(ColorDepth::Ansi256, ThemeToken::Text), Style::new().fg(Color::Indexed(200)));
    let link = Style::new().fg(Color::Indexed(200)).bg(Color::Indexed(17));
    assert_eq!(look(ColorDepth::Ansi256, ThemeToken::Link), link);
    assert_eq!(look(ColorDepth::Ansi16, ThemeToken::Text), Style::new().fg(Color::Cyan));
    assert_eq!(look(ColorDepth::Ansi16, ThemeToken::Link), Style::new().fg(Color::Red));
    let dark = Theme::builtin("dark").expect("a theme").at_depth(ColorDepth::Ansi16);
    assert_eq!(look(ColorDepth::Ansi16, ThemeToken::DiffAdded), dark.style(ThemeToken::DiffAdded));
}

/// Code in a changed line has its own colour only where that is readable.
#[test]
fn code_in_a_changed_line_can_be_read() {
    let source =
        "[colors]\ndiff_added = \"#ffffff on #005f00\"\ncomment = \"italic #707070\"\nstring = \"#ffff80\"\n";
    let theme = Theme::parse(source).expect("a theme");
    let line = theme.style(ThemeToken::DiffAdded);
    let comment = theme.style_within(line, ThemeToken::Comment);
    assert_eq!(comment, line.add_modifier(Modifier::ITALIC));
    assert_eq!(theme.style_within(line, ThemeToken::String).fg, Some(Color::Rgb(255, 255, 128)));
}

#[test]
fn what_is_wrong_with_a_theme_file_is_found_all_at_once() {
    let source =
        "inherits = \"moon\"\n[colors]\ntext = \"purplish\"\nnothing = \"red\"\n[palette-16]\nx = \"#12\"\n";
    let faults: Vec<String> = Theme::faults(source).iter().map(ToString::to_string).collect();
    let found: Vec<&str> =
        faults.iter().map(|fault| fault.split([' ', '`']).nth(2).unwrap_or_default()).collect();
    assert_eq!(found, ["inherits:", "colors.text:", "colors.nothing:", "palette-16.x:"], "{faults:#?}");
    let source = "inherits = \"dark\"\n\n[colors]\nlink = \"#505050\"\nselection = \"#777777 on #888888\"\n";
    let faults: Vec<String> = Theme::faults(source).iter().map(ToString::to_string).collect();
    assert_eq!(
        faults.first().map(String::as_str),
        Some("line 4: link: #505050 on #1e1e1e is 2.06:1; it needs 4.5:1")
    );
    assert!(
        faults.iter().any(|fault| fault.starts_with("line 5: selection: #777777 on #888888 is 1.2")),
        "{faults:#?}"
    );
    for name in Theme::names() {
        let file = crate::harness::root().join(format!("themes/{name}.toml"));
        let faults = Theme::faults(&std::fs::read_to_string(file).expect("a theme"));
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
}
