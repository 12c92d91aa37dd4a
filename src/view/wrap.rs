//! Wraps and cuts styled text into rows of a given width.
//!
//! Widths are those that ratatui draws: the cells of each grapheme cluster (Unicode UAX #29) of each span.
//! Every resulting row is at most as wide as requested, from one cell up; a character wider than the whole
//! row is replaced. Text must already be printable.

use std::borrow::Cow;

use ratatui::buffer::CellWidth;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::link::{Link, LinkedLine};
use super::row::{Row, RowLink};
use super::spelled;
pub use super::width::{cells, spans_cells};

/// The places where a row may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Between words, see [`mark_breaks`]; anywhere in a word longer than a row. Blanks at the break are
    /// left out.
    Words,
    /// After blanks, or anywhere in a word longer than a row. Only blanks that do not fit are left out: for
    /// code and terminal text.
    Verbatim,
}

/// `text` cut to `width` cells, with `…` at its end if it was cut.
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

/// A line cut to `width` cells, with `…` at its end if it was cut.
pub fn truncate_line(line: Line<'_>, width: u16) -> Line<'static> {
    let fits = spans_cells(&line.spans) <= usize::from(width);
    let mut left = width;
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in line.spans {
        let whole = cells(&span.content);
        // The last cell is reserved for the mark, unless everything fits.
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

/// The end of a text that fits.
pub(crate) fn tail(text: &str, room: u16) -> &str {
    let mut left = usize::from(room);
    let mut start = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        let Some(less) = left.checked_sub(cells(cluster)) else { break };
        (left, start) = (less, at);
    }
    text.get(start..).unwrap_or_default()
}

/// Wraps at words. Rows after the first are indented by `indent` blanks, if there is room.
pub fn wrap(line: &Line<'_>, width: u16, indent: u16) -> Vec<Line<'static>> {
    line_rows(line, width, indent).into_iter().map(Row::into_line).collect()
}

/// Wraps according to [`Break`]. Returns at least one row.
pub fn wrap_at(spans: &[Span<'_>], width: u16, indent: u16, at: Break) -> Vec<Line<'static>> {
    rows(spans, width, indent, at).into_iter().map(Row::into_line).collect()
}

/// Like [`wrap`], for rows that know their text.
pub(crate) fn line_rows(line: &Line<'_>, width: u16, indent: u16) -> Vec<Row> {
    let mut rows = rows(&line.spans, width, indent, Break::Words);
    rows.iter_mut().for_each(|row| row.restyle(|drawn| drawn.style = line.style));
    rows
}

/// Like [`wrap_at`], for rows that know their text.
pub(crate) fn rows(spans: &[Span<'_>], width: u16, indent: u16, at: Break) -> Vec<Row> {
    rows_with_links(spans, &[], width, indent, at)
}

/// Wraps a line at words, into rows that know their text and links.
pub(crate) fn wrap_linked(line: &LinkedLine, width: u16, indent: u16) -> Vec<Row> {
    rows_with_links(&line.spans, &line.links, width, indent, Break::Words)
}

fn rows_with_links(
    spans: &[Span<'_>],
    links: &[Option<Link>],
    width: u16,
    indent: u16,
    at: Break,
) -> Vec<Row> {
    let width = usize::from(width.max(1));
    let indent = usize::from(indent).min(width / 2);
    let spans = &*spelled::set_off(spans);
    let ends_blank =
        || spans.iter().rev().find_map(|span| span.content.chars().next_back()).is_some_and(is_blank);
    if spans_cells(spans) <= width && (at == Break::Verbatim || !ends_blank()) {
        return vec![row(spans.iter().map(to_owned_span).enumerate().collect(), links)];
    }
    let clusters = clusters(spans);
    let mut rows: Vec<Row> = Vec::new();
    let (mut start, mut text_end) = (0, 0);
    loop {
        let margin = if rows.is_empty() { 0 } else { indent };
        let extent = next_row(&clusters, start, width - margin, at);
        let drawn = draw(spans, clusters.get(start..extent.end).unwrap_or_default(), width - margin);
        let row = match rows.is_empty() {
            true => row(drawn, links),
            false => row(drawn, links)
                .with_glue(glue_text(spans, clusters.get(text_end..start).unwrap_or_default())),
        };
        let blanks = (margin > 0).then(|| Span::raw(" ".repeat(margin)));
        rows.push(row.with_indent(blanks.into_iter().collect(), 0));
        (start, text_end) = (extent.next, extent.end);
        if start >= clusters.len() {
            return rows;
        }
    }
}

/// The blanks left out between two rows.
fn glue_text(spans: &[Span<'_>], blanks: &[Cluster]) -> Cow<'static, str> {
    let text = |cluster: &Cluster| spans.get(cluster.span)?.content.get(cluster.start..cluster.end);
    match blanks {
        [] => Cow::Borrowed(""),
        [one] if text(one) == Some(" ") => Cow::Borrowed(" "),
        blanks => Cow::Owned(blanks.iter().filter_map(text).collect()),
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\u{3000}')
}

fn to_owned_span(span: &Span<'_>) -> Span<'static> {
    Span::styled(span.content.to_string(), span.style)
}

/// A character drawn in one or two cells.
struct Cluster {
    span: usize,
    start: usize,
    end: usize,
    width: usize,
    is_blank: bool,
    /// True if a row may begin here.
    may_begin: bool,
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
                is_blank: byte == b' ',
                may_begin: false,
            }));
        } else {
            clusters.extend(text.grapheme_indices(true).map(|(start, cluster)| Cluster {
                span: index,
                start,
                end: start + cluster.len(),
                width: usize::from(cluster.cell_width()),
                is_blank: matches!(cluster, " " | "\u{3000}"),
                may_begin: false,
            }));
        }
    }
    mark_breaks(spans, &mut clusters);
    clusters
}

/// Marks where rows may begin: after blanks, and where Unicode's line breaking (UAX #14) allows it
/// next to a character that is not ASCII. Within ASCII text only blanks count, so that paths, flags
/// and identifiers, which UAX #14 breaks at `/` and `-`, stay in one piece.
fn mark_breaks(spans: &[Span<'_>], clusters: &mut [Cluster]) {
    let mut after_blank = false;
    for cluster in clusters.iter_mut() {
        cluster.may_begin = after_blank && !cluster.is_blank;
        after_blank = cluster.is_blank;
    }
    if spans.iter().all(|span| span.content.is_ascii()) {
        return;
    }
    let text: String = spans.iter().map(|span| &*span.content).collect();
    let mut breaks = unicode_linebreak::linebreaks(&text).map(|(at, _)| at).peekable();
    let (mut offset, mut span, mut before_is_ascii, mut after_letter) = (0, 0, true, false);
    for cluster in clusters.iter_mut() {
        while span < cluster.span {
            offset += spans.get(span).map_or(0, |span| span.content.len());
            span += 1;
        }
        let (start, end) = (offset + cluster.start, offset + cluster.end);
        while breaks.next_if(|at| *at < start).is_some() {}
        let drawn = text.get(start..end).unwrap_or_default();
        let is_ascii = drawn.is_ascii();
        let marked = breaks.peek() == Some(&start) && !(before_is_ascii && is_ascii);
        let allowed = marked || (after_letter && is_wide_opener(drawn, cluster.width));
        after_letter = drawn.chars().next().is_some_and(char::is_alphanumeric);
        cluster.may_begin |= allowed && start > 0 && !cluster.is_blank;
        before_is_ascii = is_ascii;
    }
}

/// True for a wide opening bracket. A row may end between a letter and it (rule LB30), which the crate does
/// not know yet.
fn is_wide_opener(drawn: &str, width: usize) -> bool {
    let class = drawn.chars().next().map(|c| unicode_linebreak::break_property(u32::from(c)));
    width == 2 && class == Some(unicode_linebreak::BreakClass::OpenPunctuation)
}

/// The extent of a row in clusters.
struct Extent {
    /// The end of its text.
    end: usize,
    /// The start of the next row.
    next: usize,
}

fn next_row(clusters: &[Cluster], start: usize, width: usize, at: Break) -> Extent {
    let mut used = 0;
    let mut last_break = None;
    for (index, cluster) in clusters.iter().enumerate().skip(start) {
        if index > start && cluster.may_begin {
            last_break = Some(index);
        }
        used += cluster.width.min(width);
        // Blanks may extend past the end of a row of words: they are left out there.
        let hangs = at == Break::Words && cluster.is_blank;
        if used <= width || hangs {
            continue;
        }
        if at == Break::Verbatim {
            if cluster.is_blank {
                let rest = clusters.get(index..).unwrap_or_default();
                let blanks = rest.iter().position(|cluster| !cluster.is_blank).unwrap_or(rest.len());
                return Extent { end: index, next: index + blanks };
            }
            let moved = last_break.filter(|next| word_moves(clusters, start, *next, width));
            let next = moved.unwrap_or(index);
            return Extent { end: next, next };
        }
        let next = last_break.unwrap_or(index).max(start + 1);
        return Extent { end: end_without_blanks(clusters, start, next), next };
    }
    let end = clusters.len();
    Extent { end: if at == Break::Words { end_without_blanks(clusters, start, end) } else { end }, next: end }
}

/// True if the word at `word` moves to the next row as a whole: it fits there, and more than blanks remains
/// on this one.
fn word_moves(clusters: &[Cluster], start: usize, word: usize, width: usize) -> bool {
    let before = clusters.get(start..word).unwrap_or_default();
    let rest = clusters.get(word..).unwrap_or_default();
    let end = rest.iter().skip(1).position(|cluster| cluster.is_blank || cluster.may_begin);
    let word = rest.get(..end.map_or(rest.len(), |end| end + 1)).unwrap_or_default();
    before.iter().any(|cluster| !cluster.is_blank)
        && word.iter().map(|cluster| cluster.width).sum::<usize>() <= width
}

/// The end of `start..end` without its last blanks.
fn end_without_blanks(clusters: &[Cluster], start: usize, end: usize) -> usize {
    let row = clusters.get(start..end).unwrap_or_default();
    start + row.iter().rposition(|cluster| !cluster.is_blank).map_or(0, |last| last + 1)
}

/// A row of spans, numbered by their span in the line, some of which are links.
fn row(drawn: Vec<(usize, Span<'static>)>, links: &[Option<Link>]) -> Row {
    let mut found: Vec<RowLink> = Vec::new();
    if links.iter().any(Option::is_some) {
        let mut column = 0_u16;
        for (index, span) in &drawn {
            let end = column.saturating_add(cells(&span.content) as u16);
            let columns = column..end;
            column = end;
            let Some(link) = links.get(*index).cloned().flatten() else { continue };
            match found.last_mut() {
                Some(last) if last.columns.end == columns.start && last.link == link => {
                    last.columns.end = end;
                }
                _ => found.push(RowLink { columns, link }),
            }
        }
    }
    Row::from(Line::from_iter(drawn.into_iter().map(|(_, span)| span))).with_links(found)
}

/// The spans of a row, numbered by their span in the line.
fn draw(spans: &[Span<'_>], row: &[Cluster], width: usize) -> Vec<(usize, Span<'static>)> {
    let mut drawn = Vec::new();
    for run in row.chunk_by(|left, right| left.span == right.span && left.width.max(right.width) <= width) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let Some(span) = spans.get(first.span) else { continue };
        let text = match first.width > width {
            true => "\u{FFFD}",
            false => span.content.get(first.start..last.end).unwrap_or_default(),
        };
        drawn.push((first.span, Span::styled(text.to_owned(), span.style)));
    }
    drawn
}

/// Adds blanks in `style` until the row is `width` cells wide.
pub fn fill(row: &mut Line<'static>, width: u16, style: Style) {
    let missing = usize::from(width).saturating_sub(spans_cells(&row.spans));
    if missing > 0 {
        row.spans.push(Span::styled(" ".repeat(missing), style));
    }
}
