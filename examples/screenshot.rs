//! Draws the last frame of a recording as SVG, for the README:
//! `cargo run --example screenshot -- tests/replays/demo.jsonl > docs/screen.svg`.

use std::fmt::Write as _;
use std::path::Path;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use tau::cli::tui::recording::replay;
use tau::view::color::ColorDepth;
use tau::view::{Memo, view, wrap};

/// Size of a cell, in pixels.
const CELL: (u32, u32) = (9, 19);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: screenshot RECORDING > FILE.svg")?;
    let model = replay(Path::new(&path))?;
    let area = Rect::new(0, 0, model.size.width, model.size.height);
    let mut buffer = Buffer::empty(area);
    let laid = view(&model, &mut Memo::new(ColorDepth::True, Default::default()), area, &mut buffer);
    std::io::Write::write_all(&mut std::io::stdout(), svg(&buffer, laid.cursor).as_bytes())?;
    Ok(())
}

fn svg(buffer: &Buffer, cursor: Option<(u16, u16)>) -> String {
    let (width, height) =
        (u32::from(buffer.area.width) * CELL.0 + 16, u32::from(buffer.area.height) * CELL.1 + 16);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"15\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#12141c\"/>\n"
    );
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            let cell = &buffer[(x, y)];
            let cells = (wrap::cells(cell.symbol()) as u16).max(1);
            draw(&mut out, cell, x, y, cells);
            x += cells;
        }
    }
    if let Some((x, y)) = cursor {
        rect(&mut out, x, y, 1, "#d3d8e3");
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, cell: &Cell, x: u16, y: u16, cells: u16) {
    let style = cell.style();
    if let Some(color) = style.bg.and_then(hex) {
        rect(out, x, y, cells, &color);
    }
    let symbol = cell.symbol();
    if symbol.trim().is_empty() {
        return;
    }
    let color = style.fg.and_then(hex).unwrap_or_else(|| "#d3d8e3".to_owned());
    let mut looks = String::new();
    for (modifier, look) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
    ] {
        if style.add_modifier.contains(modifier) {
            looks.push_str(look);
        }
    }
    let (left, base) = (u32::from(x) * CELL.0 + 8, u32::from(y) * CELL.1 + 8 + 14);
    let text = symbol.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "<text x=\"{left}\" y=\"{base}\" fill=\"{color}\"{looks}>{text}</text>");
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

/// A colour as SVG writes it; the terminal's own sixteen in usual shades.
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
