//! The output of commands: coloured terminal text as rows. Renders `app::ansi`.
//!
//! The 16 colours stay the terminal's own, because the command chose them for it; others are reduced to the
//! terminal's colours.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::color;
use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::wrap::{self, Break};
use tau_app::ansi::{AnsiLine, SgrColor, SgrStyle};

/// The rows of these lines, each at most `width` cells wide.
pub fn render(lines: &[AnsiLine], width: u16, theme: &Theme) -> Vec<Row> {
    lines.iter().flat_map(|line| render_line(line, width, theme)).collect()
}

fn render_line(line: &AnsiLine, width: u16, theme: &Theme) -> Vec<Row> {
    let span = |run: &tau_app::ansi::AnsiRun| Span::styled(run.text.to_string(), style(run.style, theme));
    let spans: Vec<Span<'static>> = line.iter().map(span).collect();
    wrap::rows(&spans, width, 0, Break::Verbatim)
}

/// The style of a run of terminal text in this theme.
pub fn style(sgr: SgrStyle, theme: &Theme) -> Style {
    style_over(sgr, theme, ThemeToken::Muted)
}

/// Like [`style`], with a style for text that the command did not colour.
pub(crate) fn style_over(sgr: SgrStyle, theme: &Theme, plain: ThemeToken) -> Style {
    // If the command chose a colour, the weight of our own text must not dull it.
    let mut style = match resolve_colour(sgr.foreground, theme) {
        Some(foreground) => Style::new().fg(foreground),
        None => theme.style(plain),
    };
    if let Some(background) = resolve_colour(sgr.background, theme) {
        style = style.bg(background);
    }
    let modifiers = [
        (sgr.bold, Modifier::BOLD),
        (sgr.dim, Modifier::DIM),
        (sgr.italic, Modifier::ITALIC),
        (sgr.underline, Modifier::UNDERLINED),
        (sgr.reverse, Modifier::REVERSED),
        (sgr.strike, Modifier::CROSSED_OUT),
    ];
    modifiers
        .into_iter()
        .filter(|(on, _)| *on)
        .fold(style, |style, (_, modifier)| style.add_modifier(modifier))
}

fn resolve_colour(colour: SgrColor, theme: &Theme) -> Option<Color> {
    theme.nearest_color(match colour {
        SgrColor::Default => return None,
        SgrColor::Named(index) => color::ansi_color(index),
        SgrColor::Indexed(index) => Color::Indexed(index),
        SgrColor::Rgb(r, g, b) => Color::Rgb(r, g, b),
    })
}
