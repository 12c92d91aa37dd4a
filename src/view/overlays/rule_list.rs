//! The list of permission rules, and the form for writing one.

use std::path::{Path, PathBuf};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_lines, frame_within, inner_width};
use super::list::{Below, FilterRow, ListBox, report};
use crate::approval::{coverage_words, typed};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::approval::{Coverage, SCOPES};
use tau_app::overlays::rule_list::{RuleForm, RuleRow, RuleStage, RulesView};
use tau_app::printable::printable_line;
use tau_protocol::approval::{PermissionMode, RuleScope};
use tau_protocol::rules::{ListedRule, Verdict};

/// Cells for the verdicts.
const VERDICTS: usize = 7;
/// Rows below the list: details of the selected rule, and a question.
const BELOW: usize = 3;
/// The rows of the form for writing a rule.
const FORM: u16 = 6;
/// The minimum height of a list that has at least this many rows.
const MIN_ROWS: usize = 8;

/// Draws the list; returns the cursor's position and how many rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &RulesView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    match &view.stage {
        RuleStage::Choosing | RuleStage::Removing => list(model, view, theme, area, buffer),
        RuleStage::Writing(form) => (Some(draw_form(view, form, theme, area, buffer)), 0),
    }
}

fn list(model: &Model, view: &RulesView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let is_choosing = view.stage == RuleStage::Choosing;
    let hint = match view.row() {
        _ if !is_choosing => "enter removes it · esc keeps it",
        Some(RuleRow::New) => "type to filter · enter adds a rule · esc closes",
        Some(RuleRow::Rule(rule)) if rule.in_force => {
            "type to filter · enter changes · del removes · esc closes"
        }
        Some(RuleRow::Rule(_) | RuleRow::BuiltIn(_)) | None => "type to filter · esc closes",
    };
    let (rows, width) = (view.rows(), inner_width(area));
    let lines = about(model, view).into_iter().filter(|(text, _)| !text.is_empty());
    let lines = lines.flat_map(|(text, token)| wrap::wrap(&Line::styled(text, theme.style(token)), width, 0));
    let list = ListBox {
        title: "Permission rules",
        hint,
        filter: FilterRow::Always(view.query(), String::new()),
        count: rows.len(),
        most: view.count(),
        least: MIN_ROWS,
        selected: Some(view.selected),
        below: Below { lines: lines.collect(), room: BELOW, fills: false },
        ..ListBox::default()
    };
    let mut row =
        |index: usize| rows.get(index).map(|row| row_line(view, *row, theme, width)).unwrap_or_default();
    let ((cursor, page), _) = list.draw(theme, area, buffer, &mut row);
    (cursor.filter(|_| is_choosing), page)
}

fn token(verdict: Verdict) -> ThemeToken {
    match verdict {
        Verdict::Allow => ThemeToken::Success,
        Verdict::Ask => ThemeToken::Warning,
        Verdict::Deny => ThemeToken::Error,
    }
}

fn row_line(view: &RulesView, row: RuleRow<'_>, theme: &Theme, width: u16) -> Line<'static> {
    let muted = theme.style(ThemeToken::Muted);
    let verdict = |verdict: Verdict, is_on: bool| {
        let style = if is_on { theme.style(token(verdict)) } else { muted };
        Span::styled(format!("{:<VERDICTS$}", verdict.name()), style)
    };
    let (left, right) = match row {
        RuleRow::New if !view.is_loaded() && view.is_refused() => return Line::default(),
        RuleRow::New if !view.is_loaded() => return Line::styled("loading…", muted),
        RuleRow::New => {
            let text = match view.query().trim() {
                "" => "add a rule…".to_owned(),
                query => format!("add a rule: {}", printable_line(query)),
            };
            let mark = Span::styled(format!("{:<VERDICTS$}", "+"), theme.style(ThemeToken::Accent));
            (vec![mark, Span::styled(text, theme.style(ThemeToken::Accent))], String::new())
        }
        RuleRow::Rule(rule) => {
            let text = printable_line(&rule.rule).into_owned();
            let text = if rule.in_force { Span::raw(text) } else { Span::styled(text, muted) };
            (vec![verdict(rule.list, rule.in_force), text], source(rule))
        }
        RuleRow::BuiltIn(rule) => {
            let right = if rule.in_force { "built-in" } else { "switched off" };
            let text = Span::styled(printable_line(&rule.about).into_owned(), muted);
            (vec![verdict(rule.verdict, rule.in_force), text], right.to_owned())
        }
    };
    let all_fits = wrap::spans_cells(&left) + 3 + wrap::cells(&right) <= usize::from(width);
    let right = if all_fits { vec![Span::styled(right, muted)] } else { Vec::new() };
    both_ends(left, right, width)
}

/// The location of a rule, in short.
fn source(rule: &ListedRule) -> String {
    if let Some(of) = &rule.granted_by {
        return printable_line(of).into_owned();
    }
    match rule.scope {
        _ if !rule.in_force => "not trusted".to_owned(),
        RuleScope::Session | RuleScope::Once => "this session".to_owned(),
        RuleScope::Local | RuleScope::Project | RuleScope::User => {
            let place = rule.place.as_ref().map(short_place).unwrap_or_default();
            match rule.scope == RuleScope::User && place.starts_with('.') {
                true => format!("~/{place}"),
                false => place,
            }
        }
    }
}

/// `config.toml:3`; with its folder, as in `.claude/settings.json:3`, if that is hidden.
fn short_place((path, line): &(PathBuf, usize)) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let folder = if folder.starts_with('.') { format!("{folder}/") } else { String::new() };
    printable_line(&format!("{folder}{file}:{line}")).into_owned()
}

/// The notes below the list.
fn about(model: &Model, view: &RulesView) -> Vec<(String, ThemeToken)> {
    match (&view.stage, &view.said, view.row()) {
        (RuleStage::Removing, _, Some(RuleRow::Rule(rule))) => {
            let text = format!("remove this rule? {} {}", rule.list.name(), printable_line(&rule.rule));
            vec![(text, ThemeToken::Warning)]
        }
        (_, Some(said), _) => vec![report(said)],
        (_, None, Some(RuleRow::New)) => {
            let text = "deny wins over ask, and ask over allow".to_owned();
            vec![(text, ThemeToken::Muted), (otherwise(model.status.mirror.mode), ThemeToken::Muted)]
        }
        (_, None, Some(RuleRow::Rule(rule))) => about_rule(view, rule),
        (_, None, Some(RuleRow::BuiltIn(rule))) => {
            vec![(printable_line(&rule.help).into_owned(), ThemeToken::Muted)]
        }
        (_, None, None) => Vec::new(),
    }
}

/// The treatment of calls that no rule covers.
fn otherwise(mode: PermissionMode) -> String {
    let what = match mode {
        PermissionMode::Auto => "runs",
        PermissionMode::Edits => "needs your permission if it changes something but a file in the workspace",
        PermissionMode::Ask => "needs your permission if it changes something",
        PermissionMode::Plan => "is denied if it changes something",
    };
    format!("mode {}: everything else {what}", mode.name())
}

fn about_rule(view: &RulesView, rule: &ListedRule) -> Vec<(String, ThemeToken)> {
    let place = match (&rule.place, &rule.granted_by) {
        (Some((path, line)), _) => {
            let place = format!("{}:{line}", path.display());
            printable_line(&place).into_owned()
        }
        (None, Some(of)) => format!("granted by {} until the end of the run", printable_line(of)),
        (None, None) => "this session, until tau ends".to_owned(),
    };
    if !rule.in_force {
        let text = "not in force: you do not trust the settings of this directory (/trust)".to_owned();
        return vec![(text, ThemeToken::Warning), (place, ThemeToken::Muted)];
    }
    let coverage = view.coverage.as_ref().filter(|(known, _)| known == rule);
    let covered = coverage.map(|(_, coverage)| coverage_text(coverage, rule.list));
    [Some((place, ThemeToken::Muted)), covered].into_iter().flatten().collect()
}

fn coverage_text(coverage: &Coverage, list: Verdict) -> (String, ThemeToken) {
    let verb = match list {
        Verdict::Allow => "covered",
        Verdict::Ask => "asked about",
        Verdict::Deny => "denied",
    };
    coverage_words(coverage, verb)
}

/// Draws the rule being written; returns the cursor's position.
fn draw_form(
    view: &RulesView,
    form: &RuleForm,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> (u16, u16) {
    let hint = "enter saves · ↑↓ what it does · tab scope · esc back";
    let (rows, (row, column)) = typed::rows("rule: ", &form.line, inner_width(area).saturating_sub(1));
    let extra = u16::try_from(rows.len().saturating_sub(1)).unwrap_or_default();
    let most = u16::try_from(view.count().max(MIN_ROWS) + 1 + BELOW).unwrap_or(u16::MAX);
    let title = if form.replaces.is_some() { "Change a rule" } else { "Add a rule" };
    let inner = frame_within(title, hint, FORM + extra, most, theme, area, buffer);
    let mut lines: Vec<Line<'static>> = rows.into_iter().map(Line::raw).collect();
    let lists = Verdict::ALL.map(|list| (list.name(), list == form.list));
    let scopes = SCOPES.map(|(scope, name)| (name, scope == form.scope));
    for choices in [choice("what: ", &lists, theme), choice("for:  ", &scopes, theme)] {
        lines.extend(wrap::wrap(&choices, inner.width, 6));
    }
    let (text, token) = match &view.said {
        Some(said) => report(said),
        None if form.line.text().trim().is_empty() => {
            ("for example bash(cargo test *) or edit(src/**)".to_owned(), ThemeToken::Muted)
        }
        None => coverage_text(&form.coverage, form.list),
    };
    lines.extend(wrap::wrap(&Line::styled(text, theme.style(token)), inner.width, 0));
    draw_lines(&lines, inner, buffer);
    let y = inner.y.saturating_add(u16::try_from(row).unwrap_or_default());
    (inner.x + column.min(inner.width.saturating_sub(1)), y.min(inner.bottom().saturating_sub(1)))
}

/// Names to choose from, with the chosen one marked.
fn choice(label: &str, names: &[(&'static str, bool)], theme: &Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(label.to_owned(), theme.style(ThemeToken::Muted))];
    for (name, is_chosen) in names {
        let token = if *is_chosen { ThemeToken::OverlaySelected } else { ThemeToken::Muted };
        let text = if *is_chosen { format!("‹{name}›") } else { format!(" {name} ") };
        spans.push(Span::styled(text, theme.style(token)));
    }
    Line::from(spans)
}
