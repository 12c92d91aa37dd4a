//! A frame as an image.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use tau::view::wrap;

/// The size of a cell, in pixels.
const CELL: (u32, u32) = (9, 19);

/// The frame as SVG.
pub fn svg(buffer: &Buffer, cursor: Option<(u16, u16)>) -> String {
    let (width, height) =
        (u32::from(buffer.area.width) * CELL.0 + 16, u32::from(buffer.area.height) * CELL.1 + 16);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"14.95\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#12141c\"/>\n"
    );
    if let Some((x, y)) = cursor {
        rect(&mut out, x, y, 1, "#d3d8e3");
    }
    for y in 0..buffer.area.height {
        for run in runs(buffer, y) {
            run.draw(&mut out, y);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Adjacent cells with the same style: a word, or a stretch of blanks.
struct Run {
    x: u16,
    cells: u16,
    text: String,
    style: Style,
}

fn runs(buffer: &Buffer, y: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut x = 0;
    while x < buffer.area.width {
        let cell = &buffer[(x, y)];
        let (symbol, style) = (cell.symbol(), cell.style());
        let cells = (wrap::cells(symbol) as u16).max(1);
        let continues = |run: &&mut Run| run.style == style && blank(&run.text) == blank(symbol);
        match runs.last_mut().filter(continues) {
            Some(run) => {
                run.cells += cells;
                run.text.push_str(symbol);
            }
            None => runs.push(Run { x, cells, text: symbol.to_owned(), style }),
        }
        x += cells;
    }
    runs
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

impl Run {
    fn draw(&self, out: &mut String, y: u16) {
        let swapped = self.style.add_modifier.contains(Modifier::REVERSED);
        let (fg, bg) = (self.style.fg.and_then(hex), self.style.bg.and_then(hex));
        let fg = fg.unwrap_or_else(|| "#d3d8e3".to_owned());
        let (fg, bg) =
            if swapped { (bg.unwrap_or_else(|| "#12141c".to_owned()), Some(fg)) } else { (fg, bg) };
        if let Some(color) = bg {
            rect(out, self.x, y, self.cells, &color);
        }
        if blank(&self.text) {
            return;
        }
        let mut looks = String::new();
        for (modifier, look) in [
            (Modifier::BOLD, " font-weight=\"bold\""),
            (Modifier::ITALIC, " font-style=\"italic\""),
            (Modifier::DIM, " opacity=\"0.6\""),
            (Modifier::UNDERLINED, " text-decoration=\"underline\""),
            (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
        ] {
            if self.style.add_modifier.contains(modifier) {
                looks.push_str(look);
            }
        }
        // The length keeps the columns aligned if the font is a different one.
        let (left, base) = (u32::from(self.x) * CELL.0 + 8, u32::from(y) * CELL.1 + 8 + 14);
        let length = u32::from(self.cells) * CELL.0;
        let text = self.text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{base}\" textLength=\"{length}\" fill=\"{fg}\"{looks}>{text}</text>"
        );
    }
}

fn rect(out: &mut String, x: u16, y: u16, cells: u16, color: &str) {
    let (left, top) = (u32::from(x) * CELL.0 + 8, u32::from(y) * CELL.1 + 8);
    let _ = writeln!(
        out,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"{color}\"/>",
        u32::from(cells) * CELL.0,
        CELL.1
    );
}

/// A colour in SVG notation; the terminal's sixteen in typical shades.
fn hex(color: Color) -> Option<String> {
    Some(match color {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Red | Color::LightRed => "#ea7f8b".to_owned(),
        Color::Green | Color::LightGreen => "#9bc98b".to_owned(),
        Color::Yellow | Color::LightYellow => "#e4c481".to_owned(),
        Color::Blue | Color::LightBlue => "#82aaf5".to_owned(),
        Color::Magenta | Color::LightMagenta => "#b9a1ee".to_owned(),
        Color::Cyan | Color::LightCyan => "#86c9d8".to_owned(),
        Color::Gray | Color::White => "#d3d8e3".to_owned(),
        Color::DarkGray => "#616a7f".to_owned(),
        _ => return None,
    })
}
