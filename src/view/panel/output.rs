//! The output of a call or command as rows; when folded, a part of it. The row with the number of hidden
//! lines is where they are: above the end of a command's output, around the lines that say why it failed,
//! below the start of other text.

use ratatui::text::{Line, Span};

use super::{failure, hidden_lines_row};
use crate::highlight::Highlighter;
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use crate::{diff, terminal_text};
use tau_app::ansi::AnsiLine;
use tau_app::printable::Printable;
use tau_app::transcript::panel::PanelOutput;
use tau_tools::counted::pluralize;

/// Lines are hidden only if that saves four rows, as a row with their number takes their place.
pub(super) const SLACK: usize = 4;
/// The number of rows shown of one line of a failed command's folded output.
const LINE_ROWS: usize = 4;
/// The number of lines shown of folded text other than a command's output.
const TEXT_LINES: usize = 8;
/// The number of rows shown of a folded diff.
const DIFF_ROWS: usize = 40;

/// The part of an output that is shown.
pub(super) struct OutputView {
    pub(super) open: bool,
    /// The key that unfolds it.
    pub(super) expand: Option<String>,
    /// The number of lines of a command's output when folded.
    pub(super) lines: usize,
    /// The progress of the command.
    pub(super) end: OutputEnd,
    /// True if a diff is shown side by side.
    pub(super) split: bool,
    pub(super) width: u16,
}

/// The progress of a command that writes output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputEnd {
    /// More output may follow.
    Open,
    Done,
    Failed,
}

impl OutputView {
    /// The row for `count` hidden lines, after `earlier` ones that are not kept: the key does not bring those back.
    fn hidden_row(&self, earlier: usize, count: usize, theme: &Theme) -> Row {
        let expand = self.expand.clone().filter(|_| !self.open && count > 0);
        hidden_lines_row(earlier.saturating_add(count) as u64, expand, theme, self.width)
    }
}

/// The rows of an output, each at most `width` cells wide.
pub(super) fn rows(
    output: &PanelOutput,
    shown: &OutputView,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    match output {
        PanelOutput::None => Vec::new(),
        PanelOutput::Text(lines) => text(lines, shown, theme),
        PanelOutput::Helper { lines, .. } if shown.open => text(lines, shown, theme),
        PanelOutput::Helper { doing, .. } => {
            let line = |doing: &Printable| wrap::truncate(doing.as_str(), shown.width).into_owned();
            let row = |doing| Line::styled(line(doing), theme.style(ThemeToken::Muted)).into();
            doing.iter().map(row).collect()
        }
        PanelOutput::Diff(change) => {
            // Two columns are for comparison: a new file has nothing to compare with.
            let compares = change.added > 0 && change.removed > 0;
            let mut rows = match shown.split && compares && shown.width >= diff::MIN_SPLIT {
                true => diff::render_split(change, shown.width, theme, highlighter),
                false => diff::render(change, shown.width, theme, highlighter),
            };
            if !shown.open && rows.len() > DIFF_ROWS + SLACK {
                let hidden = rows.len() - DIFF_ROWS;
                rows.truncate(DIFF_ROWS);
                rows.push(shown.hidden_row(0, hidden, theme));
            }
            rows
        }
        PanelOutput::Terminal { lines, hidden, .. } => {
            let earlier = usize::try_from(*hidden).unwrap_or(usize::MAX);
            match shown.end {
                OutputEnd::Failed if !shown.open => failure_rows(lines, earlier, shown, theme),
                OutputEnd::Open | OutputEnd::Done | OutputEnd::Failed => end(lines, earlier, shown, theme),
            }
        }
        PanelOutput::Picture(note) => {
            vec![Line::styled(note.as_str().to_owned(), theme.style(ThemeToken::Muted)).into()]
        }
    }
}

/// The end of a command's output, of which `earlier` lines are not kept.
fn end(lines: &[AnsiLine], earlier: usize, shown: &OutputView, theme: &Theme) -> Vec<Row> {
    // The panel must not shrink again while it grows: one more line needs no more room than the note that it
    // is hidden.
    let slack = if shown.end == OutputEnd::Open { 1 } else { SLACK };
    let most = shown.lines;
    // If lines are missing anyway, there is a row that says so.
    let fits = most + if earlier > 0 { slack - 1 } else { slack };
    let over = |count: usize| if shown.open || count <= fits { 0 } else { count - most };
    let skip = over(lines.len());
    let mut rows = terminal_text::render(lines.get(skip..).unwrap_or(&[]), shown.width, theme);
    // Lines of several rows: the last rows, whichever lines they belong to.
    let cut = over(rows.len());
    rows.drain(..cut);
    if earlier > 0 || skip + cut > 0 {
        rows.insert(0, shown.hidden_row(earlier, skip + cut, theme));
    }
    rows
}

/// The output of a failed command: what failed, and the end.
fn failure_rows(lines: &[AnsiLine], earlier: usize, shown: &OutputView, theme: &Theme) -> Vec<Row> {
    let kept = failure::squeeze_blank_lines(lines);
    let kept_lines: Vec<&AnsiLine> = kept.iter().filter_map(|index| lines.get(*index)).collect();
    let most = shown.lines.max(failure::FAILED_LINES);
    let mut rows = Vec::new();
    let (mut next, mut earlier) = (0, earlier);
    for range in failure::visible_ranges(&kept_lines, most, SLACK) {
        if earlier > 0 || range.start > next {
            rows.push(shown.hidden_row(earlier, range.start - next, theme));
        }
        (next, earlier) = (range.end, 0);
        for line in kept_lines.get(range).unwrap_or_default() {
            let mut of_line = terminal_text::render(std::slice::from_ref(*line), shown.width, theme);
            let rest = of_line.len().saturating_sub(LINE_ROWS);
            if rest > SLACK {
                of_line.truncate(LINE_ROWS);
                let note = format!("⋯ {} of this line", pluralize(rest, "more row"));
                let note = wrap::truncate(&note, shown.width).into_owned();
                of_line.push(Row::mark(Line::styled(note, theme.style(ThemeToken::Muted))));
            }
            rows.extend(of_line);
        }
    }
    rows
}

fn text(lines: &[Printable], shown: &OutputView, theme: &Theme) -> Vec<Row> {
    let style = theme.style(ThemeToken::Muted);
    let fits = shown.open || lines.len() <= TEXT_LINES + SLACK;
    let taken = if fits { lines.len() } else { TEXT_LINES };
    let row =
        |line: &Printable| wrap::rows(&[Span::styled(line.as_str(), style)], shown.width, 0, Break::Verbatim);
    let mut rows: Vec<Row> = lines.iter().take(taken).flat_map(row).collect();
    let cut =
        if shown.open || rows.len() <= 2 * TEXT_LINES + SLACK { 0 } else { rows.len() - 2 * TEXT_LINES };
    rows.truncate(rows.len() - cut);
    let hidden = cut + lines.len() - taken;
    if hidden > 0 {
        rows.push(shown.hidden_row(0, hidden, theme));
    }
    rows
}
