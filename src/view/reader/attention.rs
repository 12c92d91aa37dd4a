//! The screen reader's lines beside the transcript: dialogs, completions, remarks, the queue and activity.
//!
//! Each is a text that is spoken when it is new, including the selected row of a dialog. The cursor is where
//! the next key takes effect.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::speech::words;
use crate::inline::BoxRows;
use crate::memo::Memo;
use crate::overlays::overlay;
use crate::theme::ThemeToken;
use crate::{approval, console, visible_overlay};
use tau_app::Model;
use tau_app::overlays::overlay::Overlay;
use tau_app::overlays::picker::Picker;
use tau_app::status::Activity;

/// The number of rows of a list that are spoken when it opens.
const LISTED: usize = 9;

/// The current focus of attention.
pub(super) struct Attention {
    /// The texts to speak; a text may have several lines.
    pub said: Vec<String>,
    pub prompt: Prompt,
    /// The number of visible rows of a list.
    pub page: u16,
}

/// The target of typing.
pub(super) enum Prompt {
    Composer,
    /// The terminal of a command.
    Console,
    /// A line, with the cursor at its end.
    Line(String),
}

impl Attention {
    /// The current focus.
    pub fn of(model: &Model, memo: &mut Memo, screen: Rect) -> Self {
        match visible_overlay(model) {
            Some(Overlay::Picker { picker, .. }) => of_picker(picker),
            Some(overlay) => of_dialog(model, overlay, memo, screen),
            None if model.shows_prompt() => of_prompt(model),
            None => of_composer(model),
        }
    }
}

/// The prompt of a waiting call.
fn of_prompt(model: &Model) -> Attention {
    let spoken = model.approvals.open().map(|open| approval::spoken(model, open));
    let (mut said, prompt) = spoken.unwrap_or_default();
    said.extend(model.remark.as_ref().map(|(text, _)| text.as_str().to_owned()));
    let prompt = if model.takes_answer() { Prompt::Line(prompt) } else { Prompt::Composer };
    Attention { said, prompt, page: 0 }
}

fn of_picker(picker: &Picker) -> Attention {
    let row = |at: usize| {
        let (row, _) = picker.visible_rows().nth(at)?;
        let current = if row.current { ", current" } else { "" };
        let note = if row.note.is_empty() { String::new() } else { format!(", {}", row.note.as_str()) };
        Some(format!("{}{current}{note}", row.title.as_str()))
    };
    let count = picker.count();
    let listed = (0..LISTED.min(count)).filter_map(|at| Some(format!("{}. {}", at + 1, row(at)?)));
    let head = match (count, picker.loading) {
        (0, true) => format!("{}: loading", picker.title),
        (0, false) => format!("{}: nothing matches", picker.title),
        (count, _) => format!("{}: {count} in the list", picker.title),
    };
    let mut said = vec![std::iter::once(head).chain(listed).collect::<Vec<_>>().join("\n")];
    said.extend(
        row(picker.selected_index()).map(|row| format!("{} of {count}: {row}", picker.selected_index() + 1)),
    );
    let prompt = Prompt::Line(format!("{}, type to filter: {}", picker.title, picker.query()));
    Attention { said, prompt, page: 5 }
}

/// A dialog as drawn, row by row; the selected row last.
fn of_dialog(model: &Model, overlay: &Overlay, memo: &mut Memo, screen: Rect) -> Attention {
    let mut canvas = Buffer::empty(screen);
    let (cursor, page) = overlay::draw(model, overlay, memo, screen, &mut canvas);
    let drawn = BoxRows::cut(canvas, cursor, page);
    let selected = drawn.selected_row(memo.theme().style(ThemeToken::OverlaySelected)).map(|row| words(&row));
    let mut said: Vec<String> = drawn.texts().map(|row| words(&row)).filter(|row| !row.is_empty()).collect();
    said.retain(|row| Some(row) != selected.as_ref());
    let typed = drawn.before_cursor().map(|text| text.trim_start_matches("> ").to_owned());
    let at = typed.or_else(|| selected.clone()).unwrap_or_default();
    let prompt = format!("{}: {at}", said.first().map_or("", String::as_str));
    said.extend(selected.map(|row| format!("selected: {row}")));
    Attention { said, prompt: Prompt::Line(prompt), page }
}

fn of_composer(model: &Model) -> Attention {
    let mut said = Vec::new();
    if let Some(doing) = model.status.run.as_ref().map(|run| &run.activity) {
        said.push(match doing {
            Activity::Retrying { attempt, of, error, .. } => {
                format!("retrying, {attempt} of {of}: {}", error.as_str())
            }
            Activity::Silent { .. } => "no data from the model".to_owned(),
            Activity::Compacting => "compacting the conversation".to_owned(),
            Activity::SummarizingBranch => "summarizing the branch you left".to_owned(),
            Activity::Waiting | Activity::Thinking | Activity::Answering => "working".to_owned(),
            Activity::Calling(_) | Activity::Running(_) => "working".to_owned(),
        });
    }
    let queued = model.status.steering.iter().chain(&model.status.follow_up);
    said.extend(queued.map(|message| format!("queued: {}", message.shown.as_str())));
    if let Some(list) = &model.completion {
        let chosen = list.selected_row().map(|row| format!("{}, {}", row.title.as_str(), row.help.as_str()));
        let of = list.rows.len();
        said.extend(
            chosen.map(|row| format!("{} of {of}: {}", list.selected + 1, row.trim_end_matches(", "))),
        );
    }
    said.extend(model.remark.as_ref().map(|(text, _)| text.as_str().to_owned()));
    let prompt = match console::rows(model) {
        Some(_) => Prompt::Console,
        None => Prompt::Composer,
    };
    Attention { said, prompt, page: 0 }
}
