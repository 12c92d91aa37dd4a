//! The screen as a function of the model.
//!
//! ```text
//! Laid = view(&Model, &mut Memo, frame)
//! ```
//!
//! The cost of a frame depends on the screen, not on the history: the transcript is walked from its anchor
//! until the screen is full. Rendered rows are kept in the [`Memo`], which the shell owns and may drop at
//! any time: a cold memo draws the same cells as a warm one.

#![deny(clippy::wildcard_enum_match_arm)]

pub(crate) mod approval;
pub mod color;
pub(crate) mod completion;
pub(crate) mod composer;
pub mod console;
pub mod contrast;
pub mod diff;
pub(crate) mod find;
pub(crate) mod footer;
pub mod frame;
pub mod highlight;
pub(crate) mod inline;
pub mod layout;
pub mod link;
pub mod markdown;
pub mod memo;
pub mod overlays;
pub mod panel;
pub mod parts;
pub mod picture;
pub(crate) mod pictures;
pub(crate) mod queue;
pub(crate) mod reader;
pub mod row;
pub(crate) mod spelled;
pub(crate) mod status_line;
pub mod terminal_text;
pub mod theme;
pub mod transcript;
pub(crate) mod welcome;
pub(crate) mod width;
pub mod wrap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use frame::Frame;
use layout::Regions;
pub use memo::Memo;
use overlays::{overlay, plan};
use tau_app::Model;
use tau_app::focus::Focus;
use tau_app::geometry::{FrameLayout, ScreenKind, Size};
use tau_app::overlays::overlay::Overlay;
use theme::{Theme, ThemeToken};

/// The results of drawing.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    pub laid: FrameLayout,
    /// The number of rows at the top that are finished: they are printed, and are not part of the next
    /// frame.
    pub finished: u16,
    /// True if more rows are finished than were drawn; the next frame has them.
    pub more: bool,
    /// True if there is a temporary list: it may cover finished rows, which are below it then.
    pub floats: bool,
}

/// Draws the model for its kind of screen. The frame is as large as the screen, and either blank or as drawn
/// before; if only the rows in use are drawn, it is shrunk to them.
pub fn draw(model: &Model, memo: &mut Memo, frame: &mut Frame) -> Drawing {
    match model.boot.screen {
        ScreenKind::Full => Drawing { laid: view(model, memo, frame), ..Drawing::default() },
        ScreenKind::Inline => inline::draw(model, memo, frame),
        ScreenKind::Reader => reader::draw(model, memo, frame),
    }
}

/// Draws the model into a frame that is blank or was drawn before, and returns the layout.
pub fn view(model: &Model, memo: &mut Memo, frame: &mut Frame) -> FrameLayout {
    let area = frame.area();
    memo.begin(model.effective_theme(), &model.keymap);
    let style = memo.theme().style(ThemeToken::Text);
    if is_too_small(area) {
        frame.begin(style, 0..0);
        return too_small(model, memo, area, frame.buffer());
    }
    if console::is_full(model) {
        frame.begin(style, 0..0);
        let cursor = console::draw_full(model, memo.theme(), area, frame.buffer());
        let composer_width = layout::composer_width(area);
        return FrameLayout {
            position: model.transcript.position,
            composer_width,
            cursor,
            ..FrameLayout::default()
        };
    }
    let regions = layout::regions(model, area);
    let cells_from = if console::rows(model).is_some() { regions.composer.top() } else { area.bottom() };
    frame.begin(style, regions.transcript.top()..cells_from);
    let mut laid = transcript::draw(model, memo, regions.transcript, frame);
    let below = draw_below(model, memo.theme(), &regions, frame);
    laid.cursor = laid.cursor.or(below);
    laid.composer_width = layout::composer_width(area);
    if let Some(top) = visible_overlay(model) {
        // The area beside an overlay is inactive.
        frame.flatten();
        let (cursor, page) = overlay::draw(model, top, memo, area, frame.buffer());
        laid.cursor = cursor;
        laid.list_page = page;
        laid.has_overlay = true;
        laid.within = overlay::within(model, memo, area);
    }
    laid
}

/// Draws the part below the transcript and returns the cursor's position.
fn draw_below(model: &Model, theme: &Theme, regions: &Regions, frame: &mut Frame) -> Option<(u16, u16)> {
    let Regions { plan, activity, queue, completion, composer, footer, .. } = *regions;
    frame.put_lines(plan, plan::lines(model, theme, plan));
    frame.put_lines(activity, footer::activity_line(model, theme, activity));
    frame.put_lines(queue, queue::lines(model, theme, queue));
    frame.put_lines(completion, completion::lines(model, theme, completion));
    let is_writing = console::rows(model).is_none() && model.transcript.find.is_none();
    let has_rule = is_writing && composer::has_rules(composer);
    frame.put_lines(footer, [footer::line(model, theme, footer.width, has_rule)]);
    if console::rows(model).is_some() {
        return console::draw(model, theme, composer, frame.buffer());
    }
    let (lines, cursor) = match &model.transcript.find {
        Some(find) => find::lines(model, find, theme, composer),
        None => composer::lines(model, theme, composer),
    };
    frame.put_lines(composer, lines);
    cursor.filter(|_| !matches!(model.focus(), Focus::Panel | Focus::Prompt { is_ready: true }))
}

/// The visible overlay. Keys would bypass one while a command has the keyboard.
fn visible_overlay(model: &Model) -> Option<&Overlay> {
    model.overlays.last().filter(|_| console::rows(model).is_none())
}

fn is_too_small(area: Rect) -> bool {
    Size { width: area.width, height: area.height }.is_too_small()
}

/// Draws a note in a window that is too small. The position is kept.
fn too_small(model: &Model, memo: &Memo, area: Rect, buffer: &mut Buffer) -> FrameLayout {
    let text = wrap::truncate("tau: window too small", area.width);
    if area.height > 0 {
        buffer.set_line(
            area.x,
            area.y,
            &Line::styled(text, memo.theme().style(ThemeToken::Warning)),
            area.width,
        );
    }
    let composer_width = layout::composer_width(area);
    FrameLayout { position: model.transcript.position, composer_width, ..FrameLayout::default() }
}
