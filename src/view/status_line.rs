//! The status line, laid out by its template and cut to the width of the window.

use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::{terminal_text, wrap};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::geometry::{Anchor, ScrollPosition};
use tau_app::printable::printable_line;
use tau_app::status::UsageCoverage;
use tau_app::token_count::tokens;
use tau_protocol::approval::PermissionMode;
use tau_protocol::goal::GoalState;
use tau_protocol::model::ThinkingLevel;
use tau_protocol::status_template::{StatusAtom, StatusGroup, StatusPart};

/// The width from which everything is shown, with names shortened if necessary.
const WIDE: usize = 80;
/// Cells reserved for the left side, and for the name of the model.
pub(super) const MIN_PLACE: usize = 22;
const MIN_NAME: usize = 10;
/// Cells between the sides, and after the right one.
const BETWEEN: usize = 3;
/// The minimum number of cells beside the right side for it to be drawn: see [`both_ends`].
const MIN_LEFT: usize = 9;

/// In a narrow window: cells reserved for the left side and between the two, and for the name of the model.
const NARROW_PLACE: usize = 9;
const NARROW_NAME: usize = 4;

/// Parts that are left out if there is no room, in this order.
const DROPPED: [StatusPart; 9] = [
    StatusPart::Tokens,
    StatusPart::Cost,
    StatusPart::Plan,
    StatusPart::Provider,
    StatusPart::Command,
    StatusPart::Sandbox,
    StatusPart::Context,
    StatusPart::Thinking,
    StatusPart::Model,
];
/// The number of these parts that may be left out in favour of the left side.
const SPARE: usize = 7;
/// Parts beside a remark, together with the left side; if they leave no room for words, only the mode.
const BESIDE_REMARK: [StatusPart; 3] = [StatusPart::Context, StatusPart::Model, StatusPart::Permissions];
/// The minimum number of cells for a useful remark.
const MIN_REMARK: usize = 20;

/// The whole status line.
pub(super) fn line(model: &Model, theme: &Theme, columns: u16) -> Line<'static> {
    let width = usize::from(columns);
    let full = wrap::cells(&model_name(model));
    let template = &model.status_line.template;
    let right_groups = right_groups(&template.right, &template.left);
    // What to shorten while everything else is shown in full.
    for (without, nouns, short) in [
        (0, true, Short::Nothing),
        (1, true, Short::Nothing),
        (1, false, Short::Nothing),
        (1, false, Short::Path),
        (1, false, Short::Cost),
        (1, false, Short::Rest),
    ] {
        let fit = Fit { without, name: full, nouns, short };
        let left = beginning(theme, spans(model, theme, &template.left, &fit));
        let right = spans(model, theme, &right_groups, &fit);
        if (wrap::spans_cells(&left) + BETWEEN).max(MIN_LEFT) + wrap::spans_cells(&right) <= width {
            return both_ends(left, right, columns);
        }
    }
    let room = match width {
        _ if template.left.is_empty() => width.saturating_sub(MIN_NAME),
        0..WIDE => width / 2,
        width => width - MIN_PLACE,
    };
    let right = fit_groups(model, theme, &right_groups, width, room);
    both_ends(left_side(model, theme, width, &right), right, columns)
}

/// As much of the left side as fits beside `right`.
fn left_side(model: &Model, theme: &Theme, width: usize, right: &[Span]) -> Vec<Span<'static>> {
    let room = width.saturating_sub(wrap::spans_cells(right) + BETWEEN);
    beginning(theme, fit_groups(model, theme, &model.status_line.template.left, width, room))
}

fn beginning(theme: &Theme, spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    std::iter::once(Span::styled(" ", theme.style(ThemeToken::Footer))).chain(spans).collect()
}

/// The groups of the right side, with the permission mode, which no template can omit.
fn right_groups(right: &[StatusGroup], left: &[StatusGroup]) -> Vec<StatusGroup> {
    let mode = StatusAtom::Part(StatusPart::Permissions);
    let is_there = right.iter().chain(left).any(|group| group.contains(&mode));
    let between = if right.is_empty() { "" } else { " · " };
    let added = Some(vec![StatusAtom::Text(between.to_owned()), mode]).filter(|_| !is_there);
    right.iter().cloned().chain(added).collect()
}

/// The status line with a remark, which is cut if it does not fit beside the most important parts.
pub(super) fn with_remark(model: &Model, theme: &Theme, columns: u16, text: &str) -> Line<'static> {
    let (left, right) = beside_remark(model, theme, &BESIDE_REMARK);
    let style = theme.style(ThemeToken::Accent);
    let room = remark_room(columns, &left, &right);
    if room >= wrap::cells(text).min(MIN_REMARK) {
        let text = wrap::truncate(text, u16::try_from(room).unwrap_or(columns)).into_owned();
        let right = std::iter::once(Span::styled(text, style)).chain(right).collect();
        return both_ends(left, right, columns);
    }
    let (_, mode) = beside_remark(model, theme, &[StatusPart::Permissions]);
    remark_with(mode, theme, columns, text)
}

/// The status line with nothing but a remark and what follows it.
pub(super) fn remark_with(
    following: Vec<Span<'static>>,
    theme: &Theme,
    columns: u16,
    text: &str,
) -> Line<'static> {
    let style = theme.style(ThemeToken::Accent);
    let room = usize::from(columns).saturating_sub(wrap::spans_cells(&following) + 2);
    let text = wrap::truncate(text, u16::try_from(room).unwrap_or(columns)).into_owned();
    let spans = std::iter::once(Span::styled(format!(" {text}"), style)).chain(following).collect::<Vec<_>>();
    wrap::truncate_line(Line::from(spans), columns)
}

/// True if the whole remark fits in the status line.
pub(super) fn has_room_for(model: &Model, theme: &Theme, columns: u16, remark: &str) -> bool {
    let (left, right) = beside_remark(model, theme, &BESIDE_REMARK);
    wrap::cells(remark) <= remark_room(columns, &left, &right)
}

/// The short form of the left side, and these parts.
fn beside_remark(
    model: &Model,
    theme: &Theme,
    parts: &[StatusPart],
) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
    let fit = Fit { without: 0, name: MIN_NAME * 2, nouns: false, short: Short::Cost };
    let group = |part: &StatusPart| vec![StatusAtom::Text(" · ".to_owned()), StatusAtom::Part(*part)];
    let right = spans(model, theme, &parts.iter().map(group).collect::<Vec<_>>(), &fit);
    (beginning(theme, spans(model, theme, &model.status_line.template.left, &fit)), right)
}

/// Cells for a remark between the two sides.
fn remark_room(columns: u16, left: &[Span], right: &[Span]) -> usize {
    let place = (wrap::spans_cells(left) + BETWEEN).max(MIN_LEFT);
    usize::from(columns).saturating_sub(place + wrap::spans_cells(right))
}

/// The groups with content, fitted into this many cells: in a wide window the name of the model is shortened
/// first, in a narrow one parts are left out first.
fn fit_groups(
    model: &Model,
    theme: &Theme,
    groups: &[StatusGroup],
    width: usize,
    room: usize,
) -> Vec<Span<'static>> {
    let full = wrap::cells(&model_name(model));
    let short = Short::Rest;
    // The first optional part has given way to the left side before.
    let spelled = spans(model, theme, groups, &Fit { without: 1, name: full, nouns: true, short });
    if wrap::spans_cells(&spelled) <= room {
        return spelled;
    }
    let shown = |without: usize, name: usize| {
        spans(model, theme, groups, &Fit { without, name, nouns: false, short })
    };
    let cells = |without: usize, name: usize| wrap::spans_cells(&shown(without, name));
    let shortened = |without: usize, room: usize, least: usize| {
        let over = cells(without, full).saturating_sub(room);
        full.saturating_sub(over).max(least)
    };
    // The first of them has been shortened before.
    let name = if width < WIDE { full } else { shortened(1, room, MIN_NAME) };
    let without = (1..SPARE).find(|without| cells(*without, name) <= room).unwrap_or(SPARE);
    let name = shortened(without, room, MIN_NAME);
    // Groups that do not fit at all would not be drawn, but the permission mode must be.
    let most = width.saturating_sub(NARROW_PLACE).max(room);
    if cells(without, name) <= most {
        return shown(without, name);
    }
    let mut fits = (SPARE..=DROPPED.len()).map(|without| (without, shortened(without, most, NARROW_NAME)));
    let (without, name) =
        fits.find(|(without, name)| cells(*without, *name) <= most).unwrap_or((DROPPED.len(), 0));
    shown(without, name)
}

/// How parts are fitted into the available room.
struct Fit {
    /// The number of optional parts left out.
    without: usize,
    /// The maximum number of cells of the model's name.
    name: usize,
    /// True if `off` names what is off.
    nouns: bool,
    short: Short,
}

/// The parts shown in short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Short {
    Nothing,
    /// Only the last folder of the path.
    Path,
    /// Also no cents in the cost, and no unknown cost.
    Cost,
    /// Also no size of the context window, and no note behind the model's name.
    Rest,
}

/// The fitted groups.
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

/// The permission mode; plan mode stands out even without colours.
fn permission_mode(model: &Model, theme: &Theme) -> Span<'static> {
    let mode = model.mode();
    if model.settings_fault.is_some() {
        let text = format!("{} · settings cannot be read", mode.name());
        return Span::styled(text, theme.style(ThemeToken::Warning));
    }
    match mode {
        PermissionMode::Plan => Span::styled(format!("◇ {}", mode.name()), theme.style(ThemeToken::Accent)),
        PermissionMode::Ask | PermissionMode::Edits | PermissionMode::Auto => plain(theme, mode.name()),
    }
}

/// The output of the user's command, in its colours.
fn command(model: &Model, theme: &Theme) -> Option<Vec<Span<'static>>> {
    let line = &model.status_line.command.as_ref()?.line;
    let style =
        |run: &tau_app::ansi::AnsiRun| terminal_text::style_over(run.style, theme, ThemeToken::Footer);
    let spans = line.iter().map(|run| Span::styled(run.text.to_string(), style(run))).collect::<Vec<_>>();
    let half = model.size.width / 2;
    (!spans.is_empty()).then(|| wrap::truncate_line(Line::from(spans), half).spans)
}

/// The text of a part; `None` if it is empty.
fn text(model: &Model, part: StatusPart, fit: &Fit) -> Option<String> {
    let status = &model.status;
    let counted = status.usage_known != UsageCoverage::Counting;
    let total = &status.total_with_helpers();
    let about = if total.estimated { "~" } else { "" };
    match part {
        StatusPart::Path if fit.short >= Short::Path => Some(last_folder(&model.place).to_owned()),
        StatusPart::Path => Some(model.place.clone()),
        StatusPart::Branch => status.branch.as_ref().map(|name| name.as_str().to_owned()),
        StatusPart::Session => status.mirror.session.name.clone(),
        StatusPart::Provider => status.mirror.model.as_ref().map(|ai| ai.provider.clone()),
        StatusPart::Model => {
            let most = u16::try_from(fit.name).unwrap_or(u16::MAX);
            let name = model_name(model);
            let bare = name.strip_suffix(" (latest)").filter(|_| fit.short >= Short::Rest);
            Some(wrap::truncate(bare.unwrap_or(&name), most).into_owned())
        }
        StatusPart::Thinking => {
            status.mirror.model.as_ref().filter(|ai| ai.reasoning)?;
            // Without its noun it would say nothing.
            match status.mirror.thinking == ThinkingLevel::Off {
                true => fit.nouns.then(|| "thinking off".to_owned()),
                false => Some(status.mirror.thinking.name().to_owned()),
            }
        }
        StatusPart::Tokens => (counted && total.input + total.output > 0).then(|| {
            let sent = total.input + total.cache_read + total.cache_write;
            format!("{about}↑{} ↓{}", tokens(sent), tokens(total.output))
        }),
        StatusPart::Cost => match (total.cost.total > 0.0, status.priced) {
            _ if !counted => None,
            (true, priced) => {
                let more = if priced { "" } else { "+?" };
                Some(format!("{about}{}{more}", cost(total.cost.total, fit.short)))
            }
            (false, false) => (fit.short < Short::Cost).then(|| "$?".to_owned()),
            (false, true) => None,
        },
        StatusPart::Plan => {
            let windows = status.mirror.plan_windows().iter();
            let fullest = windows.max_by_key(|window| window.usage_percent(model.now))?;
            let name = printable_line(&fullest.name);
            Some(format!("plan {}% ({name})", fullest.usage_percent(model.now)))
        }
        StatusPart::Context => status.mirror.model.as_ref().map(|ai| match status.context_percent() {
            Some(percent) => {
                let about = if status.mirror.context_is_estimate && percent > 0 { "~" } else { "" };
                match fit.short {
                    Short::Rest => format!("{about}{percent}%"),
                    Short::Nothing | Short::Path | Short::Cost => {
                        format!("{about}{percent}% of {}", tokens(ai.context_window))
                    }
                }
            }
            None => "? ctx".to_owned(),
        }),
        StatusPart::Mode => model.composer.vim_mode().map(|(name, _)| name.to_owned()),
        StatusPart::Goal => status.mirror.goal.as_ref().and_then(|goal| match goal.state {
            GoalState::Active if goal.rounds == 0 => Some("goal".to_owned()),
            GoalState::Active => Some(format!("goal {}", goal.progress().replace(" of ", "/"))),
            GoalState::Paused => Some("goal paused".to_owned()),
            GoalState::Reached | GoalState::GivenUp | GoalState::Capped => None,
        }),
        StatusPart::Jobs => {
            let running = status.mirror.running_jobs();
            let jobs = (running > 0).then(|| tau_tools::counted::pluralize(running as u64, "job"));
            let parts: Vec<String> = jobs.into_iter().chain(command_out_of_view(model)).collect();
            (!parts.is_empty()).then(|| parts.join(" · "))
        }
        StatusPart::Sandbox => {
            let words = model.sandbox.replacen("workspace-write", "sandbox", 1);
            Some(words).filter(|words| !words.is_empty())
        }
        StatusPart::Permissions | StatusPart::Command => None,
    }
}

/// The user's command that runs while the head of its panel is out of view.
fn command_out_of_view(model: &Model) -> Option<String> {
    let panel = model.jobs.newest()?;
    let is_head = |anchor: &Anchor| anchor.entry == panel && anchor.part == 0;
    let rows = || model.laid.rows.iter().flatten();
    // A new panel is below the rows of the last frame.
    let is_below = model.transcript.position == ScrollPosition::Tail && rows().all(|row| row.entry < panel);
    let types = model.keymap.hint(Action::GiveKeyboard).map(|key| format!(" ({key} types into it)"));
    let is_hidden = !is_below && !rows().any(is_head);
    is_hidden.then(|| format!("!command running{}", types.unwrap_or_default()))
}

/// The last folder of a path; the home directory and the root are kept.
fn last_folder(place: &str) -> &str {
    place.rsplit('/').find(|part| !part.is_empty()).unwrap_or(place)
}

/// Money in words.
pub(crate) fn cost(dollars: f64, short: Short) -> String {
    match short {
        Short::Cost | Short::Rest if dollars < 1.0 => "<$1".to_owned(),
        Short::Cost | Short::Rest => format!("${dollars:.0}"),
        Short::Nothing | Short::Path => format!("${dollars:.3}"),
    }
}

/// The name of the model, or how to choose one.
fn model_name(model: &Model) -> String {
    let Some(ai) = &model.status.mirror.model else {
        let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
        return format!("no model ({key})");
    };
    let name = if ai.name.is_empty() { &ai.id } else { &ai.name };
    printable_line(name).into_owned()
}
