//! The status line as its template says, cut to the width of the window.

use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::terminal_text;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::agent::protocol::approval::PermissionMode;
use crate::agent::protocol::model::ThinkingLevel;
use crate::agent::settings::status_template::{StatusAtom, StatusGroup, StatusPart};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::printable::printable_line;
use crate::app::status::UsageKnown;
use crate::app::token_count::tokens;

/// In a window of this many columns everything is shown as long as names can give way.
const WIDE: usize = 80;
/// Cells that stay for the left side, and for the name of the model.
pub(super) const LEAST_PLACE: usize = 22;
const LEAST_NAME: usize = 10;
/// Cells between the sides, and after the right one.
const BETWEEN: usize = 3;

/// In a narrow window: cells that stay for the left side and between the two, and for the name of the model.
const NARROW_PLACE: usize = 9;
const NARROW_NAME: usize = 4;

/// Parts that are left out where there is no room, the first one first.
const DROPPED: [StatusPart; 8] = [
    StatusPart::Tokens,
    StatusPart::Cost,
    StatusPart::Context,
    StatusPart::Provider,
    StatusPart::Command,
    StatusPart::Sandbox,
    StatusPart::Thinking,
    StatusPart::Model,
];
/// How many of them may be left out for the sake of the left side.
const SPARE: usize = 6;

/// The left side, as far as there is room for it beside `right`.
pub(super) fn left(model: &Model, theme: &Theme, width: usize, right: &[Span]) -> Vec<Span<'static>> {
    let room = width.saturating_sub(wrap::spans_cells(right) + BETWEEN);
    let mut spans = vec![Span::styled(" ", theme.style(ThemeToken::Footer))];
    spans.extend(fitted(model, theme, &model.status_line.template.left, width, room));
    spans
}

/// The right side in a window of that width.
pub(super) fn right(model: &Model, theme: &Theme, width: usize) -> Vec<Span<'static>> {
    let template = &model.status_line.template;
    let room = match width {
        _ if template.left.is_empty() => width.saturating_sub(LEAST_NAME),
        0..WIDE => width / 2,
        width => width - LEAST_PLACE,
    };
    fitted(model, theme, &template.right, width, room)
}

/// The whole status line.
pub(super) fn line(model: &Model, theme: &Theme, width: u16) -> Line<'static> {
    let right = right(model, theme, usize::from(width));
    both_ends(left(model, theme, usize::from(width), &right), right, width)
}

/// The groups that have something to show, in as many cells: in a wide window the name of the model
/// gives way first, in a narrow one parts are left out first.
fn fitted(
    model: &Model,
    theme: &Theme,
    groups: &[StatusGroup],
    width: usize,
    room: usize,
) -> Vec<Span<'static>> {
    let full = wrap::cells(&model_name(model));
    let spelled = spans(model, theme, groups, &Fit { without: 0, name: full, nouns: true });
    if wrap::spans_cells(&spelled) <= room {
        return spelled;
    }
    let shown =
        |without: usize, name: usize| spans(model, theme, groups, &Fit { without, name, nouns: false });
    let cells = |without: usize, name: usize| wrap::spans_cells(&shown(without, name));
    let shortened = |without: usize, room: usize, least: usize| {
        let over = cells(without, full).saturating_sub(room);
        full.saturating_sub(over).max(least)
    };
    let name = if width < WIDE { full } else { shortened(0, room, LEAST_NAME) };
    let without = (0..SPARE).find(|without| cells(*without, name) <= room).unwrap_or(SPARE);
    let name = shortened(without, room, LEAST_NAME);
    // What does not fit at all would not be drawn: the permission mode has to be.
    let most = width.saturating_sub(NARROW_PLACE).max(room);
    if cells(without, name) <= most {
        return shown(without, name);
    }
    let mut fits = (SPARE..=DROPPED.len()).map(|without| (without, shortened(without, most, NARROW_NAME)));
    let (without, name) =
        fits.find(|(without, name)| cells(*without, *name) <= most).unwrap_or((DROPPED.len(), 0));
    shown(without, name)
}

/// How parts are fitted into the room there is.
struct Fit {
    /// How many of the parts that can be left out are.
    without: usize,
    /// Most cells of the model's name.
    name: usize,
    /// `off` says what is off.
    nouns: bool,
}

/// The groups as they fit.
fn spans(model: &Model, theme: &Theme, groups: &[StatusGroup], fit: &Fit) -> Vec<Span<'static>> {
    let dropped = DROPPED.get(..fit.without).unwrap_or(&[]);
    let atom = |atom: &StatusAtom| match atom {
        StatusAtom::Text(text) => Some(vec![plain(theme, text)]),
        StatusAtom::Part(part) if dropped.contains(part) => None,
        StatusAtom::Part(StatusPart::Command) => command(model, theme),
        StatusAtom::Part(StatusPart::Permissions) => Some(vec![permission_mode(model, theme)]),
        StatusAtom::Part(part) => text(model, *part, fit).map(|text| vec![plain(theme, &text)]),
    };
    let group = |group: &StatusGroup| group.iter().map(atom).collect::<Option<Vec<_>>>();
    groups.iter().filter_map(group).flatten().flatten().collect()
}

fn plain(theme: &Theme, text: &str) -> Span<'static> {
    Span::styled(printable_line(text).into_owned(), theme.style(ThemeToken::Footer))
}

/// The permission mode; that of plans stands out, also where there are no colours.
fn permission_mode(model: &Model, theme: &Theme) -> Span<'static> {
    let mode = model.status.permission_mode;
    match mode {
        PermissionMode::Plan => Span::styled(format!("◇ {}", mode.name()), theme.style(ThemeToken::Accent)),
        PermissionMode::Ask | PermissionMode::Auto => plain(theme, mode.name()),
    }
}

/// What the user's command printed, in its colours.
fn command(model: &Model, theme: &Theme) -> Option<Vec<Span<'static>>> {
    let line = &model.status_line.command.as_ref()?.line;
    let style =
        |run: &crate::app::ansi::AnsiRun| terminal_text::style_over(run.style, theme, ThemeToken::Footer);
    let spans = line.iter().map(|run| Span::styled(run.text.to_string(), style(run))).collect::<Vec<_>>();
    let half = model.size.width / 2;
    (!spans.is_empty()).then(|| wrap::truncate_line(Line::from(spans), half).spans)
}

/// The text of a part; `None` for nothing.
fn text(model: &Model, part: StatusPart, fit: &Fit) -> Option<String> {
    let status = &model.status;
    let counted = status.usage_known != UsageKnown::Counting;
    let total = &status.total;
    match part {
        StatusPart::Path => Some(model.place.clone()),
        StatusPart::Branch => status.branch.as_ref().map(|name| name.as_str().to_owned()),
        StatusPart::Session => status.session.name.clone(),
        StatusPart::Provider => status.model.as_ref().map(|ai| ai.provider.clone()),
        StatusPart::Model => {
            let most = u16::try_from(fit.name).unwrap_or(u16::MAX);
            Some(wrap::truncate(&model_name(model), most).into_owned())
        }
        StatusPart::Thinking => {
            let ai = status.model.as_ref().filter(|ai| ai.reasoning);
            let noun = if fit.nouns && status.thinking == ThinkingLevel::Off { "thinking " } else { "" };
            ai.map(|_| format!("{noun}{}", status.thinking.name()))
        }
        StatusPart::Tokens => (counted && total.input + total.output > 0).then(|| {
            let sent = total.input + total.cache_read + total.cache_write;
            format!("↑{} ↓{}", tokens(sent), tokens(total.output))
        }),
        StatusPart::Cost => match (total.cost.total > 0.0, status.priced) {
            _ if !counted => None,
            (true, true) => Some(format!("${:.3}", total.cost.total)),
            (true, false) => Some(format!("${:.3}+?", total.cost.total)),
            (false, false) => Some("$?".to_owned()),
            (false, true) => None,
        },
        StatusPart::Context => status.model.as_ref().map(|ai| match status.context_percent() {
            Some(percent) => format!("{percent}% of {}", tokens(ai.context_window)),
            None => "? ctx".to_owned(),
        }),
        StatusPart::Mode => model.composer.vim_mode().map(|(name, _)| name.to_owned()),
        StatusPart::Sandbox => Some(model.sandbox.clone()).filter(|words| !words.is_empty()),
        StatusPart::Permissions | StatusPart::Command => None,
    }
}

/// The name of the model, or how to choose one.
fn model_name(model: &Model) -> String {
    let Some(ai) = &model.status.model else {
        let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
        return format!("no model ({key})");
    };
    let name = if ai.name.is_empty() { &ai.id } else { &ai.name };
    printable_line(name).into_owned()
}
