//! The parts of an entry, each laid out by itself: heads, bodies, markdown blocks.

mod picture;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::highlight::Highlighter;
use super::markdown::{self, Room};
use super::memo::{Memo, RowsKey, RowsVersion};
use super::row::{MARGIN, Row, Rows};
use super::theme::{Theme, ThemeToken};
use super::{approval, panel, welcome, wrap};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::blocks::{MarkdownBlock, MarkdownBlocks};
use tau_app::geometry::ScreenKind;
use tau_app::msg::Millis;
use tau_app::printable::Printable;
use tau_app::time_format::{noticeable, seconds};
use tau_app::token_count::tokens;
use tau_app::transcript::panel::CallState;
use tau_app::transcript::run_end::RunCost;
use tau_app::transcript::{EntryBody, TranscriptEntry};
use tau_protocol::event::NoticeLevel;
use tau_tools::counted::pluralize;

/// The number of rows shown of a folded user message.
const USER_ROWS: usize = 24;

/// The number of parts of an entry; at least one.
pub fn count(model: &Model, entry: &TranscriptEntry) -> u32 {
    let open = model.transcript.is_open(entry);
    let parts = match &entry.body {
        EntryBody::Welcome | EntryBody::Earlier { .. } | EntryBody::RunEnd(_) | EntryBody::Notice { .. } => 1,
        EntryBody::User { pictures, .. } => 1 + pictures.len(),
        EntryBody::Answer(blocks) => blocks_count(blocks).max(1),
        EntryBody::Thinking { blocks, .. } | EntryBody::Summary { blocks, .. } => {
            1 + if open { blocks_count(blocks) } else { 0 }
        }
        EntryBody::Tool(tool) => 2 + tool.pictures.len() + approval::extra_parts(model, tool),
        EntryBody::Command(_) => 2,
    };
    u32::try_from(parts).unwrap_or(u32::MAX)
}

/// True if there is a blank row above a part.
pub fn gap(entry: &TranscriptEntry, part: u32) -> bool {
    match (&entry.body, part) {
        (_, 0) => true,
        (EntryBody::Tool(_) | EntryBody::Command(_), _) => false,
        (EntryBody::Answer(blocks), part) => !continues(blocks, part as usize),
        (EntryBody::Thinking { blocks, .. } | EntryBody::Summary { blocks, .. }, part) => {
            part > 1 && !continues(blocks, part as usize - 1)
        }
        _ => false,
    }
}

/// True if a click on the first row of a part folds the entry.
pub(crate) fn is_head(entry: &TranscriptEntry, part: u32) -> bool {
    entry.body.folds() && part == 0
}

/// The rows of a part, without the gap above it.
pub fn rows(model: &Model, memo: &mut Memo, entry: &TranscriptEntry, part: u32, width: u16) -> Rows {
    if let Some(picture) = picture::of_part(entry, part) {
        return picture::rows(model, memo, entry, picture, width);
    }
    let open = model.transcript.is_open(entry);
    let asked = approval::part(model, entry, part);
    let version = if let Some((open, part)) = asked {
        approval::version(model, entry.revision, open, part)
    } else if closed_block(entry, part).is_some() {
        RowsVersion::Closed { epoch: entry.epoch }
    } else if model.transcript.is_grouped(entry) {
        // A group also depends on the entries beside it.
        RowsVersion::Transient
    } else if matches!(entry.body, EntryBody::Command(_))
        && (shows_time(entry, part) || has_keyboard(model, entry))
    {
        // It depends on who has the keyboard, and on newer commands.
        RowsVersion::Transient
    } else if shows_time(entry, part) {
        RowsVersion::Timed { revision: entry.revision, now: model.clock() }
    } else if is_growing(entry) {
        RowsVersion::Growing(entry.revision)
    } else {
        RowsVersion::Revision(entry.revision)
    };
    let key = RowsKey { entry: entry.id, part, version, width, layout: model.text_layout, open };
    memo.rows(key, |theme, highlighter| render(model, entry, part, width, theme, highlighter))
}

/// The source text of a part, for copying; `None` if there are only rows.
pub fn source(entry: &TranscriptEntry, part: u32) -> Option<String> {
    match &entry.body {
        EntryBody::User { text, .. } => Some(text.as_str().to_owned()),
        EntryBody::Welcome
        | EntryBody::Earlier { .. }
        | EntryBody::Answer(_)
        | EntryBody::Thinking { .. }
        | EntryBody::Tool(_)
        | EntryBody::Command(_)
        | EntryBody::Summary { .. }
        | EntryBody::Notice { .. }
        | EntryBody::RunEnd(_) => match closed_block(entry, part)? {
            MarkdownBlock::Markdown(text) => Some(text.trim_end().to_owned()),
            MarkdownBlock::Code { text, .. } => Some(text.trim_end().to_owned()),
        },
    }
}

fn blocks_count(blocks: &MarkdownBlocks) -> usize {
    blocks.closed_blocks().len() + usize::from(blocks.has_open())
}

fn continues(blocks: &MarkdownBlocks, index: usize) -> bool {
    match blocks.closed_blocks().get(index) {
        Some(block) => block.continues(),
        None => blocks.open_continues(),
    }
}

/// The index of an entry's first markdown block, if it has any.
fn blocks_of(entry: &TranscriptEntry) -> Option<(&MarkdownBlocks, u32)> {
    match &entry.body {
        EntryBody::Answer(blocks) => Some((blocks, 0)),
        EntryBody::Thinking { blocks, .. } | EntryBody::Summary { blocks, .. } => Some((blocks, 1)),
        EntryBody::Welcome
        | EntryBody::Earlier { .. }
        | EntryBody::User { .. }
        | EntryBody::Tool(_)
        | EntryBody::Command(_)
        | EntryBody::Notice { .. }
        | EntryBody::RunEnd(_) => None,
    }
}

/// The closed block that a part shows.
pub(crate) fn closed_block(entry: &TranscriptEntry, part: u32) -> Option<&MarkdownBlock> {
    let (blocks, first) = blocks_of(entry)?;
    blocks.closed_blocks().get(part.checked_sub(first)? as usize)
}

/// True if a part shows passing time, and so is rendered again whenever that changes.
fn shows_time(entry: &TranscriptEntry, part: u32) -> bool {
    part == 0
        && match &entry.body {
            EntryBody::Tool(tool) => tool.state == CallState::Running,
            EntryBody::Command(command) => command.end.is_none(),
            EntryBody::Thinking { since, until, .. } => *since > 0 && until.is_none(),
            EntryBody::Welcome
            | EntryBody::Earlier { .. }
            | EntryBody::User { .. }
            | EntryBody::Answer(_)
            | EntryBody::Summary { .. }
            | EntryBody::Notice { .. }
            | EntryBody::RunEnd(_) => false,
        }
}

fn is_growing(entry: &TranscriptEntry) -> bool {
    blocks_of(entry).is_some_and(|(blocks, _)| blocks.has_open())
}

fn render(
    model: &Model,
    entry: &TranscriptEntry,
    part: u32,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let inner = width.saturating_sub(MARGIN + 1).max(1);
    let room = Room { margin: MARGIN, width: inner, layout: model.text_layout };
    let expand = || model.keymap.hint(Action::ToggleTools);
    match &entry.body {
        EntryBody::Welcome => welcome::rows(model, theme, width),
        EntryBody::Earlier { left, failed } => {
            earlier(*left, failed.as_ref(), model.boot.screen, theme, width)
        }
        EntryBody::User { text, pictures } => {
            let open = model.boot.screen != ScreenKind::Full || model.transcript.is_open(entry);
            user(text, pictures.len(), open, expand(), theme, width)
        }
        EntryBody::Notice { level, text, hint } => notice(*level, text, hint.as_ref(), theme, width),
        EntryBody::RunEnd(cost) => run_end(cost, theme, width),
        EntryBody::Tool(_) if model.transcript.is_grouped(entry) => {
            if part > 0 || model.transcript.joins_previous(entry) {
                return Vec::new();
            }
            let calls: Vec<_> = model.transcript.group(entry).collect();
            vec![panel::group_row(&calls, model.clock(), theme, width)]
        }
        EntryBody::Tool(tool) if part == 0 => {
            let asked = approval::open_of(model, tool).is_some_and(|open| open.command.is_some());
            vec![panel::tool_head(tool, asked, model.clock(), theme, highlighter, width)]
        }
        EntryBody::Tool(tool) if approval::part(model, entry, part).is_some() => {
            approval::part(model, entry, part).map_or_else(Vec::new, |(request, part)| {
                approval::rows(model, tool, request, part, width, theme, highlighter)
            })
        }
        EntryBody::Tool(tool) => {
            let open = model.transcript.is_open(entry);
            panel::tool_body(tool, open, expand(), model.text_layout, width, theme, highlighter)
        }
        EntryBody::Command(command) if part == 0 => {
            let (hint, open) = (command_hint(model, entry), model.transcript.is_open(entry));
            panel::command_head(command, &hint, open, expand(), model.clock(), theme, highlighter, width)
        }
        EntryBody::Command(_) if has_keyboard(model, entry) => Vec::new(),
        EntryBody::Command(command) => {
            panel::command_body(command, model.transcript.is_open(entry), expand(), width, theme, highlighter)
        }
        EntryBody::Answer(blocks) => block(blocks, part as usize, room, theme, highlighter),
        EntryBody::Thinking { since, until, .. } if part == 0 => {
            vec![thinking_head(*since, *until, model, entry, theme, width)]
        }
        EntryBody::Summary { title, .. } if part == 0 => {
            let open = model.transcript.is_open(entry);
            vec![summary_head(title, expand().filter(|_| !open), theme, width)]
        }
        EntryBody::Thinking { blocks, .. } => {
            let rows = block(blocks, part as usize - 1, room, theme, highlighter);
            restyle_rows(rows, theme.style(ThemeToken::Thinking))
        }
        EntryBody::Summary { blocks, .. } => block(blocks, part as usize - 1, room, theme, highlighter),
    }
}

/// True if a command's terminal is drawn in the composer's place and not in its panel.
pub(crate) fn has_keyboard(model: &Model, entry: &TranscriptEntry) -> bool {
    model.jobs.owner().is_some_and(|owner| owner.entry == entry.id)
}

/// The actions of keys on a running command.
fn command_hint(model: &Model, entry: &TranscriptEntry) -> String {
    if has_keyboard(model, entry) {
        return "has the keyboard".to_owned();
    }
    let stop = model.keymap.hint(Action::Cancel).map(|key| format!("{key} stops it"));
    // The keyboard would go to the newest command.
    let newest = model.jobs.newest() == Some(entry.id) && model.jobs.owner().is_none();
    let give = model.keymap.hint(Action::GiveKeyboard).filter(|_| newest);
    let give = give.map(|key| format!("{key} types into it"));
    stop.into_iter().chain(give).collect::<Vec<_>>().join(", ")
}

fn block(
    blocks: &MarkdownBlocks,
    index: usize,
    room: Room,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    if let Some(block) = blocks.closed_blocks().get(index) {
        return markdown::render_within(block, room, theme, highlighter);
    }
    let open = blocks.open().map(markdown::close_open_parts);
    open.map_or_else(Vec::new, |block| markdown::render_within(&block, room, theme, highlighter))
}

/// Rows after a margin, drawn in a single style.
fn restyle_rows(mut rows: Vec<Row>, style: Style) -> Vec<Row> {
    for row in &mut rows {
        row.restyle(|line| {
            for span in line.spans.iter_mut().skip(1) {
                span.style = style.add_modifier(span.style.add_modifier);
            }
        });
    }
    rows
}

fn user(
    text: &Printable,
    pictures: usize,
    open: bool,
    expand: Option<String>,
    theme: &Theme,
    width: u16,
) -> Vec<Row> {
    let style = theme.style(ThemeToken::UserText);
    let bar = || Span::styled("▌ ", theme.style(ThemeToken::UserBar));
    let inner = width.saturating_sub(MARGIN + 1).max(1);
    let mut rows: Vec<Row> =
        text.lines().flat_map(|line| wrap::line_rows(&Line::styled(line, style), inner, 0)).collect();
    if pictures > 0 && rows.is_empty() {
        let text = pluralize(pictures, "picture");
        rows.push(Row::mark(Line::styled(text, style)));
    }
    if !open && rows.len() > USER_ROWS {
        let more = rows.len() - USER_ROWS / 2;
        rows.truncate(USER_ROWS / 2);
        let key = expand.map(|key| format!(" · {key} to show")).unwrap_or_default();
        let text = format!("{}{key}", pluralize(more, "more row"));
        rows.push(Row::mark(Line::styled(text, theme.style(ThemeToken::Muted))));
    }
    rows.into_iter().map(|row| row.behind(bar())).collect()
}

/// The row is visible while they are being loaded, so it says so.
fn earlier(left: u64, failed: Option<&Printable>, screen: ScreenKind, theme: &Theme, width: u16) -> Vec<Row> {
    let messages = match left {
        0 => "earlier messages".to_owned(),
        left => pluralize(left, "earlier message"),
    };
    match failed {
        None => {
            let note = if screen == ScreenKind::Full { "loading" } else { "not printed" };
            vec![head("… ", &format!("{messages} · {note}"), theme.style(ThemeToken::Muted), width)]
        }
        Some(why) => {
            let text = Printable::new(&format!("{messages} cannot be read: {}", why.as_str()));
            let hint = Printable::new("scroll up to try again");
            notice(NoticeLevel::Error, &text, Some(&hint), theme, width)
        }
    }
}

fn notice(
    level: NoticeLevel,
    text: &Printable,
    hint: Option<&Printable>,
    theme: &Theme,
    width: u16,
) -> Vec<Row> {
    let (mark, token) = match level {
        NoticeLevel::Info => ("· ", ThemeToken::Muted),
        NoticeLevel::Warning => ("! ", ThemeToken::Warning),
        NoticeLevel::Error => ("✗ ", ThemeToken::Error),
    };
    let style = theme.style(token);
    let inner = width.saturating_sub(MARGIN + 1).max(1);
    let mut rows: Vec<Row> =
        text.lines().flat_map(|line| wrap::line_rows(&Line::styled(line, style), inner, 0)).collect();
    let hint_style = theme.style(ThemeToken::Muted);
    let hints = hint.iter().flat_map(|hint| hint.lines());
    rows.extend(hints.flat_map(|line| wrap::line_rows(&Line::styled(line, hint_style), inner, 0)));
    let marked =
        |(index, row): (usize, Row)| row.behind(Span::styled(if index == 0 { mark } else { "  " }, style));
    rows.into_iter().enumerate().map(marked).collect()
}

fn thinking_head(
    since: Millis,
    until: Option<Millis>,
    model: &Model,
    entry: &TranscriptEntry,
    theme: &Theme,
    width: u16,
) -> Row {
    let key = model.keymap.hint(Action::ToggleThinking).filter(|_| !model.transcript.is_open(entry));
    let fold = key.map(|key| format!(" · {key} to show")).unwrap_or_default();
    let text = match (since, until) {
        (0, None) => format!("thinking{fold}"),
        (since, None) => format!("thinking {}{fold}", seconds(model.clock() - since)),
        (since, Some(until)) => match noticeable(until - since) {
            Some(took) => format!("thought for {took}{fold}"),
            None => format!("thought{fold}"),
        },
    };
    head("✻ ", &text, theme.style(ThemeToken::Thinking), width)
}

/// The time, tokens and cost of a run.
fn run_end(cost: &RunCost, theme: &Theme, width: u16) -> Vec<Row> {
    if cost.is_empty() {
        return Vec::new();
    }
    let mut parts: Vec<String> = cost.took.and_then(noticeable).into_iter().collect();
    let about = if cost.estimated { "~" } else { "" };
    if cost.sent + cost.received > 0 {
        parts.push(format!("{about}↑{} ↓{}", tokens(cost.sent), tokens(cost.received)));
    }
    if cost.cost > 0.0 {
        parts.push(format!("{about}${:.3}", cost.cost));
    }
    vec![head("  ", &parts.join(" · "), theme.style(ThemeToken::Faint), width)]
}

fn summary_head(title: &str, expand: Option<String>, theme: &Theme, width: u16) -> Row {
    let fold = expand.map(|key| format!(" · {key} to show")).unwrap_or_default();
    head("≡ ", &format!("{title}{fold}"), theme.style(ThemeToken::Muted), width)
}

fn head(mark: &'static str, text: &str, style: Style, width: u16) -> Row {
    let line = Line::from(vec![Span::styled(mark, style), Span::styled(text.to_owned(), style)]);
    Row::mark(wrap::truncate_line(line, width))
}
