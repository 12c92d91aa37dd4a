//! Rows of a given width out of styled text: widths, wrapping, cutting.
//!
//! A width is what ratatui draws: the cells of each grapheme cluster (Unicode UAX #29) of each span.
//! Every row that comes out of here is at most as wide as asked for, from one cell up; a character
//! that is wider than the whole row is replaced. Text is expected to be printable already.

use std::borrow::Cow;

use ratatui::buffer::CellWidth;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Where a row may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Between words; a word longer than a row anywhere. Blanks at the break are left out.
    Words,
    /// After any character. Nothing is left out: for code and terminal text.
    Anywhere,
}

/// Cells that `text` takes on a row.
pub fn cells(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(|cluster| usize::from(cluster.cell_width())).sum()
}

/// Cells that the spans take together.
pub fn spans_cells<'a>(spans: impl IntoIterator<Item = &'a Span<'a>>) -> usize {
    spans.into_iter().map(|span| cells(&span.content)).sum()
}

/// `text` cut to `width` cells, with `…` at its end when something was cut.
pub fn truncate(text: &str, width: u16) -> Cow<'_, str> {
    let width = usize::from(width);
    if cells(text) <= width {
        return Cow::Borrowed(text);
    }
    let (mut used, mut end) = (0, 0);
    for (start, cluster) in text.grapheme_indices(true) {
        used += usize::from(cluster.cell_width());
        if used + 1 > width {
            break;
        }
        end = start + cluster.len();
    }
    let kept = text.get(..end).unwrap_or_default();
    Cow::Owned(if width == 0 { String::new() } else { format!("{kept}…") })
}

/// A line cut to `width` cells, with `…` at its end when something was cut.
pub fn truncate_line(line: Line<'_>, width: u16) -> Line<'static> {
    let fits = spans_cells(&line.spans) <= usize::from(width);
    let mut left = width;
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in line.spans {
        let whole = cells(&span.content);
        // The last cell is kept for the mark, unless all fits.
        let room = if fits { left } else { left.saturating_sub(1) };
        if whole <= usize::from(room) {
            left -= whole as u16;
            spans.push(Span::styled(span.content.into_owned(), span.style));
        } else {
            spans.push(Span::styled(
                truncate(&format!("{}\u{20}\u{20}", span.content), left).into_owned(),
                span.style,
            ));
            break;
        }
    }
    Line { spans, style: line.style, alignment: line.alignment }
}

/// Wraps at words. Rows after the first begin with `indent` blanks, as far as there is room.
pub fn wrap(line: &Line<'_>, width: u16, indent: u16) -> Vec<Line<'static>> {
    wrap_at(&line.spans, width, indent, Break::Words)
        .into_iter()
        .map(|row| Line { style: line.style, ..row })
        .collect()
}

/// Wraps as [`Break`] says. At least one row.
pub fn wrap_at(spans: &[Span<'_>], width: u16, indent: u16, at: Break) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    let indent = usize::from(indent).min(width / 2);
    if spans_cells(spans) <= width && at == Break::Anywhere {
        return vec![Line::from(spans.iter().map(owned).collect::<Vec<_>>())];
    }
    let clusters = clusters(spans);
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let margin = if rows.is_empty() { 0 } else { indent };
        let row = next_row(&clusters, start, width - margin, at);
        rows.push(draw(spans, clusters.get(start..row.end).unwrap_or_default(), margin, width - margin));
        start = row.next;
        if start >= clusters.len() {
            return rows;
        }
    }
}

fn owned(span: &Span<'_>) -> Span<'static> {
    Span::styled(span.content.to_string(), span.style)
}

/// What is drawn in one or two cells.
struct Cluster {
    span: usize,
    start: usize,
    end: usize,
    width: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Letter,
    /// A wide character: a row may end before and after it.
    Wide,
    /// A wide character that never begins a row, such as a closing bracket.
    WideCloser,
    /// A wide character that never ends a row, such as an opening bracket.
    WideOpener,
}

fn clusters(spans: &[Span<'_>]) -> Vec<Cluster> {
    let mut clusters = Vec::with_capacity(spans.iter().map(|span| span.content.len()).sum());
    for (index, span) in spans.iter().enumerate() {
        let text = &*span.content;
        if text.is_ascii() {
            clusters.extend(text.bytes().enumerate().map(|(start, byte)| Cluster {
                span: index,
                start,
                end: start + 1,
                width: 1,
                kind: if byte == b' ' { Kind::Blank } else { Kind::Letter },
            }));
        } else {
            clusters.extend(text.grapheme_indices(true).map(|(start, cluster)| {
                let width = usize::from(cluster.cell_width());
                Cluster { span: index, start, end: start + cluster.len(), width, kind: kind(cluster, width) }
            }));
        }
    }
    clusters
}

fn kind(cluster: &str, width: usize) -> Kind {
    match cluster {
        " " | "\u{3000}" => Kind::Blank,
        "、" | "。" | "，" | "．" | "：" | "；" | "！" | "？" | "」" | "』" | "）" | "】" | "〉" | "》"
        | "ー" => Kind::WideCloser,
        "「" | "『" | "（" | "【" | "〈" | "《" => Kind::WideOpener,
        _ if width >= 2 => Kind::Wide,
        _ => Kind::Letter,
    }
}

/// Whether a row may end between two neighbours.
fn breaks_between(left: Kind, right: Kind) -> bool {
    match (left, right) {
        (_, Kind::Blank) | (Kind::WideOpener, _) | (_, Kind::WideCloser) => false,
        (Kind::Letter, Kind::Letter) => false,
        (Kind::Blank, _) | (Kind::Wide | Kind::WideCloser, _) => true,
        (Kind::Letter, Kind::Wide | Kind::WideOpener) => true,
    }
}

struct Row {
    /// Where its text ends.
    end: usize,
    /// Where the next row begins.
    next: usize,
}

fn next_row(clusters: &[Cluster], start: usize, width: usize, at: Break) -> Row {
    let mut used = 0;
    let mut last_break = None;
    let mut before: Option<Kind> = None;
    for (index, cluster) in clusters.iter().enumerate().skip(start) {
        if before.is_some_and(|before| breaks_between(before, cluster.kind)) {
            last_break = Some(index);
        }
        before = Some(cluster.kind);
        used += cluster.width.min(width);
        // Blanks may hang over the end of a row of words: they are left out there.
        let hangs = at == Break::Words && cluster.kind == Kind::Blank;
        if used <= width || hangs {
            continue;
        }
        if at == Break::Anywhere {
            return Row { end: index, next: index };
        }
        let next = last_break.unwrap_or(index).max(start + 1);
        return Row { end: trimmed(clusters, start, next), next };
    }
    let end = clusters.len();
    Row { end: if at == Break::Words { trimmed(clusters, start, end) } else { end }, next: end }
}

/// The end of `start..end` without its last blanks.
fn trimmed(clusters: &[Cluster], start: usize, end: usize) -> usize {
    let row = clusters.get(start..end).unwrap_or_default();
    start + row.iter().rposition(|cluster| cluster.kind != Kind::Blank).map_or(0, |last| last + 1)
}

fn draw(spans: &[Span<'_>], row: &[Cluster], margin: usize, width: usize) -> Line<'static> {
    let mut drawn: Vec<Span<'static>> = Vec::new();
    if margin > 0 {
        drawn.push(Span::raw(" ".repeat(margin)));
    }
    for run in row.chunk_by(|left, right| left.span == right.span && left.width.max(right.width) <= width) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let Some(span) = spans.get(first.span) else { continue };
        let text = match first.width > width {
            true => "\u{FFFD}",
            false => span.content.get(first.start..last.end).unwrap_or_default(),
        };
        drawn.push(Span::styled(text.to_owned(), span.style));
    }
    Line::from(drawn)
}

/// Adds blanks in `style` until the row is `width` cells wide.
pub fn fill(row: &mut Line<'static>, width: u16, style: Style) {
    let missing = usize::from(width).saturating_sub(spans_cells(&row.spans));
    if missing > 0 {
        row.spans.push(Span::styled(" ".repeat(missing), style));
    }
}
