//! The output of a call or command as rows; when folded, a part of it. The row that says how much is
//! hidden is where the hidden lines are: above the end of a command's output, below the start of other text.

use ratatui::text::{Line, Span};

use super::hidden_lines;
use crate::app::printable::Printable;
use crate::app::transcript::panel::PanelOutput;
use crate::view::highlight::Highlighter;
use crate::view::row::Row;
use crate::view::theme::{Theme, ThemeToken};
use crate::view::wrap::{self, Break};
use crate::view::{diff, terminal_text};

/// Lines of text other than a command's output shown while folded.
const TEXT_LINES: usize = 8;
/// Rows of a diff shown while folded.
const DIFF_ROWS: usize = 40;

/// How much of an output is shown, and where.
pub(super) struct Shown {
    pub(super) open: bool,
    /// The key that unfolds it.
    pub(super) expand: Option<String>,
    /// Lines of a command's output while folded.
    pub(super) lines: usize,
    /// A diff is shown side by side.
    pub(super) split: bool,
    pub(super) width: u16,
}

impl Shown {
    fn hidden(&self, count: usize, theme: &Theme) -> Row {
        let expand = self.expand.clone().filter(|_| !self.open);
        hidden_lines(count as u64, expand, theme, self.width)
    }
}

/// The rows of an output, each at most `width` cells wide.
pub(super) fn rows(
    output: &PanelOutput,
    shown: &Shown,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    match output {
        PanelOutput::None => Vec::new(),
        PanelOutput::Text(lines) => text(lines, shown, theme),
        PanelOutput::Diff(change) => {
            // Two columns are for comparing: a new file has nothing to compare with.
            let compares = change.added > 0 && change.removed > 0;
            let mut rows = match shown.split && compares && shown.width >= diff::LEAST_SPLIT {
                true => diff::render_split(change, shown.width, theme, highlighter),
                false => diff::render(change, shown.width, theme, highlighter),
            };
            if !shown.open && rows.len() > DIFF_ROWS + 1 {
                let hidden = rows.len() - DIFF_ROWS;
                rows.truncate(DIFF_ROWS);
                rows.push(shown.hidden(hidden, theme));
            }
            rows
        }
        PanelOutput::Terminal { lines, hidden, .. } => {
            let most = shown.lines;
            // One line more needs no more room than the words that it is hidden.
            let fits = *hidden == 0 && lines.len() <= most + 1;
            let skip = if shown.open || fits { 0 } else { lines.len().saturating_sub(most) };
            let mut rows = terminal_text::render(lines.get(skip..).unwrap_or(&[]), shown.width, theme);
            // Lines of several rows: the last rows, whichever lines they belong to.
            let cut = if shown.open { 0 } else { rows.len().saturating_sub(most + 1) };
            rows.drain(..cut);
            let hidden = *hidden as usize + skip + cut;
            if hidden > 0 {
                rows.insert(0, shown.hidden(hidden, theme));
            }
            rows
        }
        PanelOutput::Picture(note) => {
            vec![Line::styled(note.as_str().to_owned(), theme.style(ThemeToken::Muted)).into()]
        }
    }
}

fn text(lines: &[Printable], shown: &Shown, theme: &Theme) -> Vec<Row> {
    let style = theme.style(ThemeToken::Muted);
    let fits = shown.open || lines.len() <= TEXT_LINES + 1;
    let taken = if fits { lines.len() } else { TEXT_LINES };
    let row =
        |line: &Printable| wrap::rows(&[Span::styled(line.as_str(), style)], shown.width, 0, Break::Verbatim);
    let mut rows: Vec<Row> = lines.iter().take(taken).flat_map(row).collect();
    let cut = if shown.open { 0 } else { rows.len().saturating_sub(2 * TEXT_LINES) };
    rows.truncate(rows.len() - cut);
    let hidden = cut + lines.len() - taken;
    if hidden > 0 {
        rows.push(shown.hidden(hidden, theme));
    }
    rows
}
