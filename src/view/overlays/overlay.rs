//! The visible overlay, and the drawing of small ones.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::dialog::{OverlayLayout, draw_question, frame, heading, inner_width, leaving_key};
use super::list::{choice_mark, draw_secret};
use super::{
    attempt_list, board, changes, extensions, form, help, job_list, key_list, mode_question, offer, picker,
    plan, rule_list, settings, side_question, sign_in, tree, trust, user_questions, worktree_list,
};
use crate::frame::Frame;
use crate::memo::Memo;
use crate::theme::{Theme, ThemeToken};
use crate::{queue, transcript, wrap};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::geometry::FrameLayout;
use tau_app::model::Answering;
use tau_app::overlays::overlay::{Overlay, options};
use tau_app::printable::{Printable, printable_line};
use tau_protocol::event::Question;
use tau_tools::counted::pluralize;

/// Draws an overlay; returns the cursor, and how many rows of a list fit.
pub fn draw(
    model: &Model,
    overlay: &Overlay,
    memo: &mut Memo,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    if let (Overlay::Board(_), Some(answering)) = (overlay, &model.answering) {
        return questions(answering, memo, area, buffer).0;
    }
    let (theme, highlighter) = memo.pens();
    match overlay {
        Overlay::Picker { picker, .. } => picker::draw(picker, theme, highlighter, area, buffer),
        Overlay::Tree(view) => tree::draw(model, view, theme, area, buffer),
        Overlay::Help(view) => help::draw(model, view, theme, area, buffer),
        Overlay::Login { .. } => (login(overlay, theme, area, buffer), 0),
        Overlay::SignIn(view) => (sign_in::draw(view, theme, area, buffer), 0),
        Overlay::Extensions(view) => extensions::draw(view, theme, area, buffer),
        Overlay::Board(view) => board::draw(model, view, theme, area, buffer),
        Overlay::Jobs(view) => job_list::draw(model, view, theme, area, buffer),
        Overlay::Worktrees(view) => worktree_list::draw(view, theme, area, buffer),
        Overlay::Attempts(view) => attempt_list::draw(view, theme, area, buffer),
        Overlay::Leave(view) => {
            ask(("Quit", "esc cancels"), &view.question, view.selected, theme, area, buffer);
            (None, 0)
        }
        Overlay::Keys(view) => key_list::draw(model, view, theme, area, buffer),
        Overlay::Settings(view) => settings::draw(view, theme, area, buffer),
        Overlay::Rules(view) => rule_list::draw(model, view, theme, area, buffer),
        Overlay::Changes(view) => {
            let (theme, highlighter, kept) = memo.changes();
            changes::draw(view, theme, highlighter, kept, area, buffer)
        }
        Overlay::Queue(view) => queue::draw_list(model, view, theme, area, buffer),
        Overlay::Trust(view) => trust::draw(view, theme, area, buffer),
        Overlay::SideQuestion(view) => side_question::draw(model, view, memo, area, buffer),
        Overlay::Plan(view) => plan::draw(model, view, memo, area, buffer),
        Overlay::Mode(question) => mode_question::draw(model, question, theme, area, buffer),
        Overlay::Offer(view) => offer::draw(view, theme, area, buffer),
        Overlay::Form(view) => form::draw(model, view, theme, area, buffer),
        Overlay::Questions(view) => user_questions::draw(view, model.on_board.as_ref(), theme, area, buffer),
        Overlay::Asked { question, selected, .. } => {
            let heading = heading(model, question_title(question));
            ask((&heading, leaving_key(model)), question, *selected, theme, area, buffer);
            (None, 0)
        }
    }
}

fn login(overlay: &Overlay, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let Overlay::Login { provider, line, how, ticket, failed } = overlay else { return None };
    let provider = printable_line(provider);
    let title = match how {
        Some(_) => format!("Log in to {provider}"),
        None => format!("API key for {provider}"),
    };
    let inner = frame(&title, "enter stores it · esc closes", 3, theme, area, buffer);
    let cursor = draw_secret(line, inner, inner.y, theme, buffer);
    let (text, token) = match (failed, ticket.is_some()) {
        (_, true) => ("checking…".to_owned(), ThemeToken::Muted),
        (Some(failed), false) => (failed.as_str().to_owned(), ThemeToken::Error),
        (None, false) => {
            let how = how.as_ref().map(|how| format!("{}; ", how.as_str())).unwrap_or_default();
            (format!("{how}enter saves it to auth.json, which only your user can read"), ThemeToken::Muted)
        }
    };
    let rows = wrap::wrap(&Line::styled(text, theme.style(token)), inner.width, 0);
    for (y, row) in (inner.y + 1..inner.bottom()).zip(rows) {
        buffer.set_line(inner.x, y, &row, inner.width);
    }
    Some(cursor)
}

/// Rows of the screen that a box and its borders leave free.
const AROUND: u16 = 4;
/// Windows with fewer rows show each answer in one.
const LOW: u16 = 14;

/// The title of the box of a question. Only opening a session offers options.
/// The layout of the questions of another session, if the board shows them on a screen of this size.
pub(crate) fn within(model: &Model, memo: &mut Memo, area: Rect) -> Option<Box<FrameLayout>> {
    let answering = model.answering.as_ref()?;
    matches!(model.overlays.last(), Some(Overlay::Board(_))).then_some(())?;
    Some(Box::new(questions(answering, memo, area, &mut Buffer::empty(area)).1))
}

/// Draws the questions of another session: the dialog of one, or the prompts of its calls in a box.
fn questions(
    answering: &Answering,
    memo: &mut Memo,
    area: Rect,
    buffer: &mut Buffer,
) -> (OverlayLayout, FrameLayout) {
    let inner = &*answering.model;
    if let Some(top) = inner.overlays.last() {
        let layout = draw(inner, top, memo, area, buffer);
        return (layout, FrameLayout { list_page: layout.1, has_overlay: true, ..FrameLayout::default() });
    }
    let back = inner.keymap.hint(Action::Answer).map(|key| format!("{key} goes back to the sessions"));
    let remark = inner.remark.as_ref().map(|(text, _)| text.as_str().to_owned());
    let hint = remark.or(back).unwrap_or_default();
    let title = inner.on_board.as_ref().map(Printable::as_str).unwrap_or_default();
    let page = Rect { x: 0, y: 0, width: inner_width(area), height: area.height.saturating_sub(4).max(1) };
    let mut canvas = Frame::blank(page);
    canvas.begin(memo.theme().style(ThemeToken::Text), 0..0);
    let mut laid = memo.aside(|memo| transcript::draw(inner, memo, page, &mut canvas));
    let is_used = |y: &u16| canvas.row(*y).iter().any(|cell| cell.symbol() != " ");
    let used = (0..page.height).rfind(is_used).map_or(1, |last| last + 1);
    let room = frame(title, &hint, used, memo.theme(), area, buffer);
    for (y, to) in (0..page.height).zip(room.top()..room.bottom()) {
        for (cell, x) in canvas.row(y).iter().zip(room.left()..room.right()) {
            if let Some(place) = buffer.cell_mut((x, to)) {
                place.clone_from(cell);
            }
        }
    }
    laid.cursor = laid.cursor.map(|(x, y)| (x + room.x, y + room.y));
    ((laid.cursor, 0), laid)
}

fn question_title(question: &Question) -> &'static str {
    match question {
        Question::Select { .. } => "Open session",
        Question::Confirm { .. } => "Confirm",
        Question::User { .. } => "The model asks",
        Question::Plan { .. } => "Plan",
        Question::Form { .. } | Question::Url { .. } => "An MCP server asks",
    }
}

fn ask(
    (heading, leave): (&str, &str),
    question: &Question,
    selected: usize,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (title, text) = match question {
        Question::Select { title, .. } => (title.clone(), String::new()),
        Question::Confirm { title, message } => (title.clone(), message.clone()),
        Question::Url { server, message, url } => {
            (format!("{server} asks you to open an address. {message}"), url.clone())
        }
        Question::Form { server, message, .. } => (server.clone(), message.clone()),
        Question::User { .. } | Question::Plan { .. } => (String::new(), String::new()),
    };
    let width = inner_width(area);
    let wrapped = |text: &str| -> Vec<Line<'static>> {
        let text = Printable::new(text);
        text.trim_end().lines().flat_map(|line| wrap::wrap(&Line::raw(line.to_owned()), width, 0)).collect()
    };
    let (mut rows, mut body) = (wrapped(&title), wrapped(&text));
    // In a low window the request needs the rows.
    let is_low = area.height < LOW;
    let option = |(index, option): (usize, &String)| {
        let (mark, token) = choice_mark(index == selected);
        let line = Line::styled(format!("{mark}{}", printable_line(option)), theme.style(token));
        if is_low { vec![wrap::truncate_line(line, width)] } else { wrap::wrap(&line, width, 2) }
    };
    let options: Vec<Line<'static>> = options(question).iter().enumerate().flat_map(option).collect();
    // The request and the answers stay in sight; the end of a long text does not.
    let room = usize::from(area.height.saturating_sub(AROUND)).saturating_sub(rows.len() + options.len());
    if body.len() > room {
        let shown = room.saturating_sub(1);
        let left = body.len() - shown;
        body.truncate(shown);
        body.push(Line::styled(format!("… {}", pluralize(left, "more row")), theme.style(ThemeToken::Muted)));
    }
    rows.extend(body);
    rows.extend(options);
    draw_question(heading, &format!("↑↓ enter chooses · {leave}"), &rows, theme, area, buffer);
}
