//! The rows around the composer: the activity, the footer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::geometry::Motion;
use crate::app::status::{Activity, AgentRun, UsageKnown};
use crate::app::time_format::seconds;
use crate::app::token_count::tokens;
use crate::app::transcript::EntryBody;

/// The spinner's pictures, one each tenth of a second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// In a window of this many columns everything is shown.
const WIDE: usize = 80;
/// Cells that stay for the directory, and for the name of the model.
const LEAST_PLACE: usize = 16;
const LEAST_NAME: usize = 10;

/// Whether the agent is working.
pub(crate) fn has_activity(model: &Model) -> bool {
    model.status.run.is_some()
}

/// What the agent is doing, for how long, and how to stop it.
pub(crate) fn draw_activity(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(run) = model.status.run.as_ref().filter(|_| area.height > 0) else { return };
    let picture = match model.motion {
        Motion::Animated => SPINNER.get((model.now.max(0) / 100 % 10) as usize).copied(),
        Motion::Still => None,
    };
    let picture = picture.unwrap_or("·");
    let left = vec![
        Span::styled(format!("{picture} "), theme.style(ThemeToken::Accent)),
        Span::styled(activity(model, run), theme.style(ThemeToken::Status)),
    ];
    // While a command has the keyboard, the key goes to the command.
    let key = model.keymap.hint(Action::Cancel).filter(|_| model.jobs.owner().is_none());
    let stops = key.map(|key| format!(" · {key} stops")).unwrap_or_default();
    let total = format!("{}{stops}", seconds(model.clock() - run.since));
    let right = vec![Span::styled(total, theme.style(ThemeToken::Muted))];
    buffer.set_line(area.x, area.y, &both_ends(left, right, area.width), area.width);
}

fn activity(model: &Model, run: &AgentRun) -> String {
    let spent = seconds(model.clock() - run.activity_since);
    if run.stopping {
        return "stopping".to_owned();
    }
    match &run.activity {
        Activity::Waiting => format!("waiting for the model {spent}"),
        Activity::Thinking => format!("thinking {spent}"),
        Activity::Answering => format!("answering {spent}"),
        Activity::Calling(name) => format!("calling {} {spent}", name.as_str()),
        Activity::Running(calls) => {
            let names: Vec<&str> = calls.iter().map(|(_, name)| name.as_str()).collect();
            format!("running {} {spent}", names.join(", "))
        }
        Activity::Retrying { until, attempt, of, error } => {
            format!("retrying in {}, {attempt} of {of}: {}", seconds(*until - model.clock()), error.as_str())
        }
        Activity::Silent { since, until } => {
            let (silence, left) = (seconds(model.clock() - since), seconds(*until - model.clock()));
            format!("no data for {silence} · timing out in {left}")
        }
        Activity::SummarizingBranch => format!("summarizing the branch you left {spent}"),
        Activity::Compacting => format!("compacting the conversation {spent}"),
    }
}

/// The directory, what has been used, the model.
pub fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let style = theme.style(ThemeToken::Footer);
    let left = Span::styled(format!(" {}", place(model)), style);
    let width = usize::from(area.width);
    let remark = model.remark.as_ref().map(|(text, _)| text.as_str().to_owned());
    let right = match remark.or_else(|| panel_keys(model)) {
        Some(text) => {
            let remark = Span::styled(text.clone(), theme.style(ThemeToken::Accent));
            // Where both do not fit, the remark is what is read now.
            if wrap::cells(&text) + LEAST_PLACE > width {
                let remark = Span::styled(format!(" {text}"), remark.style);
                buffer.set_line(area.x, area.y, &wrap::truncate_line(remark.into(), area.width), area.width);
                return;
            }
            remark
        }
        None => Span::styled(usage(model, width), style),
    };
    buffer.set_line(area.x, area.y, &both_ends(vec![left], vec![right], area.width), area.width);
}

/// What keys do to the selected panel.
fn panel_keys(model: &Model) -> Option<String> {
    let entry = model.transcript.selected_entry()?;
    let hint = |action, does: &str| model.keymap.hint(action).map(|key| format!("{key} {does}"));
    let fold = if model.transcript.is_open(entry) { "collapses" } else { "expands" };
    let fold = hint(Action::PanelFold, fold).filter(|_| entry.body.folds());
    let made = matches!(entry.body, EntryBody::Tool(_) | EntryBody::Command(_));
    let command = hint(Action::PanelCopyCommand, "its command").filter(|_| made);
    let keys = [
        fold,
        hint(Action::PanelCopy, "copies"),
        command,
        hint(Action::PanelOpen, "opens"),
        hint(Action::PanelLeave, "leaves"),
    ];
    Some(keys.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn place(model: &Model) -> String {
    let branch = model.status.branch.as_ref().map(|name| format!(" ({})", name.as_str())).unwrap_or_default();
    let name = model.status.session.name.as_deref().map(|name| format!(" · {name}")).unwrap_or_default();
    let text = format!("{}{branch}{name}", model.boot.place);
    crate::app::printable::printable_line(&text).into_owned()
}

/// The right end of the footer of a window of that width. From 80 columns on everything is shown and
/// the name of the model gives way; in a narrower one, parts are left out from the front.
fn usage(model: &Model, width: usize) -> String {
    let status = &model.status;
    let mut parts: Vec<String> = Vec::new();
    let total = &status.total;
    if status.usage_known != UsageKnown::Counting {
        if total.input + total.output > 0 {
            let sent = total.input + total.cache_read + total.cache_write;
            parts.push(format!("↑{} ↓{}", tokens(sent), tokens(total.output)));
        }
        match (total.cost.total > 0.0, status.priced) {
            (true, true) => parts.push(format!("${:.3}", total.cost.total)),
            (true, false) => parts.push(format!("${:.3}+?", total.cost.total)),
            (false, false) => parts.push("$?".to_owned()),
            (false, true) => {}
        }
    }
    if let Some(ai) = &status.model {
        parts.push(match status.context_percent() {
            Some(percent) => format!("{percent}% of {}", tokens(ai.context_window)),
            None => "? ctx".to_owned(),
        });
    }
    let (name, level) = who(model);
    let whole = |parts: &[String], name: &str| {
        let named = [name].into_iter().chain(level);
        parts.iter().map(String::as_str).chain(named).collect::<Vec<_>>().join(" · ")
    };
    if width < WIDE {
        while !parts.is_empty() && wrap::cells(&whole(&parts, &name)) > width / 2 {
            parts.remove(0);
        }
    }
    let most = if width < WIDE { width / 2 } else { width - LEAST_PLACE };
    let over = wrap::cells(&whole(&parts, &name)).saturating_sub(most);
    let room = wrap::cells(&name).saturating_sub(over).max(LEAST_NAME);
    whole(&parts, &wrap::truncate(&name, u16::try_from(room).unwrap_or(u16::MAX)))
}

/// The name of the model, and its thinking level if it has any.
fn who(model: &Model) -> (String, Option<&'static str>) {
    let Some(ai) = &model.status.model else {
        let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
        return (format!("no model ({key})"), None);
    };
    let name = if ai.name.is_empty() { &ai.id } else { &ai.name };
    let level = ai.reasoning.then(|| model.status.thinking.name());
    (crate::app::printable::printable_line(name).into_owned(), level)
}
