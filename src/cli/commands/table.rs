//! Tables of text for subcommands.

use std::fmt::Write;

/// Rows with every column as wide as its widest text.
pub fn columns<const N: usize>(table: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in table {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    let mut out = String::new();
    for row in table {
        let mut line = String::new();
        // A column without any text takes no space.
        for (text, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{text:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
