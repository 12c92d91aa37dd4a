//! The question whether to turn on something not decided yet.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, TextQuestion, inner_width};
use super::list::choice_mark;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use tau_app::overlays::offer::{Offer, OfferView};
use tau_app::printable::{decision_line, printable_line};
use tau_tools::counted::pluralize;

/// Draws the question.
pub(crate) fn draw(view: &OfferView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let width = inner_width(area);
    let (title, keys) = match view.offer {
        Offer::Hooks(_) => ("Hooks", "↑↓ enter chooses · esc: not now"),
        Offer::Web(_) => ("Web", "↑↓ enter chooses · esc: send it without"),
    };
    let again = "not all was shown; enter again runs them";
    let (question, text) = (question(view, theme, width), commands(view, theme, width));
    let question = TextQuestion { title, keys, again, question, text, answers: answers(view, theme) };
    question.draw(&view.reading, theme, area, buffer)
}

/// The commands of hooks: no part of one may hide behind the border.
fn commands(view: &OfferView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let Offer::Hooks(offer) = &view.offer else { return Vec::new() };
    let rows = |(event, command): &(String, String)| {
        let text = format!("{}: {}", printable_line(event), decision_line(command).as_str());
        let span = Span::styled(text, theme.style(ThemeToken::Muted));
        wrap::wrap_at(&[span], width, 2, Break::Verbatim)
    };
    offer.hooks.iter().flat_map(rows).collect()
}

fn answers(view: &OfferView, theme: &Theme) -> Vec<Line<'static>> {
    let answers = view.answers();
    let row = |(index, (_, text)): (usize, &(_, &'static str))| {
        let (mark, token) = choice_mark(index == view.selected);
        Line::styled(format!("{mark}{} {text}", index + 1), theme.style(token))
    };
    answers.iter().enumerate().map(row).collect()
}

fn question(view: &OfferView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let muted = theme.style(ThemeToken::Muted);
    match &view.offer {
        Offer::Hooks(offer) => {
            let files = printable_line(&offer.files.join(", ")).into_owned();
            let count = pluralize(offer.hooks.len(), "hook");
            let text = format!("{files} has {count} of Claude Code that tau can run. Run them?");
            let mut rows = wrap::wrap(&Line::raw(text), width, 0);
            if let Some(fault) = &offer.fault {
                let text = format!("tau then asks before every call: {}", printable_line(fault));
                rows.extend(wrap::wrap(&Line::raw(text), width, 0));
            }
            rows
        }
        Offer::Web(offer) => {
            let text = match &offer.search {
                Some((_, name)) if offer.only_search => {
                    format!("Let the model search the web with {}?", printable_line(name))
                }
                Some((_, name)) => {
                    let name = printable_line(name);
                    format!("Let the model fetch web pages, and search the web with {name}?")
                }
                None => "Let the model fetch web pages?".to_owned(),
            };
            let mut rows = wrap::wrap(&Line::raw(text), width, 0);
            let note = "Your message is sent after your answer. Permissions apply to each call.";
            rows.extend(wrap::wrap(&Line::styled(note, muted), width, 0));
            rows
        }
    }
}
