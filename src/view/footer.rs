//! The rows around the composer: activity and footer.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::status_line;
use super::theme::{Theme, ThemeToken};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::connection::Connection;
use tau_app::geometry::Motion;
use tau_app::status::{Activity, AgentRun};
use tau_app::time_format::seconds;
use tau_app::transcript::EntryBody;

/// The frames of the spinner, ten per second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// True if the agent is working.
pub(crate) fn has_activity(model: &Model) -> bool {
    model.status.run.is_some()
}

/// The agent's activity, how long it has taken, and how to stop it.
pub(crate) fn activity_line(model: &Model, theme: &Theme, area: Rect) -> Option<Line<'static>> {
    let run = model.status.run.as_ref().filter(|_| area.height > 0)?;
    let picture = match model.motion {
        Motion::Animated => SPINNER.get((model.now.max(0) / 100 % 10) as usize).copied(),
        Motion::Still => None,
    };
    let waits = model.waits_for_user();
    let picture = if waits { "?" } else { picture.unwrap_or("·") };
    let left = vec![
        Span::styled(format!("{picture} "), theme.style(ThemeToken::Accent)),
        Span::styled(activity(model, run), theme.style(ThemeToken::Status)),
    ];
    // While a command has the keyboard, or a dialog is open, the key goes there.
    let key = model.keymap.hint(Action::Cancel);
    let key = key.filter(|_| !model.focus().is_elsewhere());
    let stops = key.map(|key| format!("{key} stops"));
    // Time spent waiting for the user does not count as time of the run.
    let spent = (!waits).then(|| seconds(model.clock() - run.since));
    let total = spent.into_iter().chain(stops).collect::<Vec<_>>().join(" · ");
    let right = vec![Span::styled(total, theme.style(ThemeToken::Muted))];
    Some(both_ends(left, right, area.width))
}

/// The number of calls waiting for approval, and how to answer if keys go elsewhere.
fn waiting(model: &Model) -> String {
    let calls = match model.approvals.pending().len() {
        0 | 1 => "waiting for you".to_owned(),
        count => format!("{count} calls are waiting for you"),
    };
    let key = model.keymap.hint(Action::Answer).filter(|_| model.approvals.aside);
    calls + &key.map(|key| format!(" · {key} answers")).unwrap_or_default()
}

fn activity(model: &Model, run: &AgentRun) -> String {
    let spent = seconds(model.clock() - run.activity_since);
    if run.stopping {
        return "stopping".to_owned();
    }
    if model.waits_for_user() {
        return waiting(model);
    }
    match &run.activity {
        Activity::Waiting => format!("waiting for the model {spent}"),
        Activity::Thinking => format!("thinking {spent}"),
        Activity::Answering => format!("answering {spent}"),
        Activity::Calling(name) => format!("calling {} {spent}", name.as_str()),
        Activity::Running(calls) => {
            format!("running {} {spent}", names_with_counts(calls.iter().map(|(_, name)| name.as_str())))
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

/// The status line, with a remark if there is one. A long remark is on the rule above, if that is shown.
pub(crate) fn line(model: &Model, theme: &Theme, columns: u16, has_rule: bool) -> Line<'static> {
    if is_attaching(model) {
        // Its model and mode are not known yet.
        let text = remark(model).unwrap_or_else(|| "attaching …".to_owned());
        return status_line::remark_with(Vec::new(), theme, columns, &text);
    }
    match remark(model) {
        Some(text) if !has_rule || status_line::has_room_for(model, theme, columns, &text) => {
            status_line::with_remark(model, theme, columns, &text)
        }
        Some(_) | None => status_line::line(model, theme, columns),
    }
}

/// Whether the session of an attached screen has not arrived yet.
fn is_attaching(model: &Model) -> bool {
    model.boot.attached.is_some() && model.status.mirror.session.id.is_empty()
}

/// A remark that does not fit in the status line.
pub(crate) fn long_remark(model: &Model, theme: &Theme, columns: u16) -> Option<String> {
    remark(model).filter(|text| !status_line::has_room_for(model, theme, columns, text))
}

fn remark(model: &Model) -> Option<String> {
    let remark = model.remark.as_ref().map(|(text, _)| text.as_str().to_owned());
    remark.or_else(|| connection(model)).or_else(|| waiting_notice(model)).or_else(|| panel_keys(model))
}

/// The calls and questions that wait behind a list.
fn waiting_notice(model: &Model) -> Option<String> {
    model.overlays.last().filter(|top| top.is_list())?;
    let questions = model.overlays.iter().filter(|overlay| overlay.question().is_some()).count();
    Some(match (model.approvals.pending().len(), questions) {
        (0, 0) => return None,
        (0, 1) => "a question waits for you behind this list".to_owned(),
        (0, count) => format!("{count} questions wait for you behind this list"),
        (1, 0) => "a call waits for you behind this list".to_owned(),
        (count, 0) => format!("{count} calls wait for you behind this list"),
        (calls, questions) => {
            format!("{} calls and questions wait for you behind this list", calls + questions)
        }
    })
}

/// The message that the session's server cannot be reached.
fn connection(model: &Model) -> Option<String> {
    match &model.connection {
        Connection::Up => None,
        Connection::Lost { .. } => Some("connection lost, trying again".to_owned()),
        Connection::Down { .. } => Some("not connected".to_owned()),
    }
}

/// The actions of keys on the selected panel.
fn panel_keys(model: &Model) -> Option<String> {
    let entry = model.transcript.selected_entry()?;
    let hint = |action, does: &str| model.keymap.hint(action).map(|key| format!("{key} {does}"));
    let fold = if model.transcript.is_open(entry) { "collapses" } else { "expands" };
    let fold = hint(Action::PanelFold, fold).filter(|_| entry.body.folds());
    let made = matches!(entry.body, EntryBody::Tool(_) | EntryBody::Command(_));
    let command = hint(Action::PanelCopyCommand, "its command").filter(|_| made);
    let secrets = model.transcript.selected_secrets().and_then(|secrets| {
        hint(
            Action::PanelReveal,
            if secrets.revealed_lines().is_empty() { "secrets" } else { "hides secrets" },
        )
    });
    let blocked = matches!(&entry.body, EntryBody::Command(command) if command.blocked.is_some());
    let again = hint(Action::PanelRerun, "without the sandbox").filter(|_| blocked);
    let keys = [
        again,
        fold,
        hint(Action::PanelCopy, "copies"),
        command,
        hint(Action::PanelOpen, "opens"),
        secrets,
        hint(Action::PanelLeave, "leaves"),
    ];
    Some(keys.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

/// The names, each once with the number of times that it is there.
fn names_with_counts<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => counts.push((name, 1)),
        }
    }
    let named = |(name, count)| if count == 1 { String::from(name) } else { format!("{name} ×{count}") };
    counts.into_iter().map(named).collect::<Vec<_>>().join(", ")
}
