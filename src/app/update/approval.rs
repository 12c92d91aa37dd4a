//! Calls that wait for the user's decision: asked, answered, ended; the permission mode.

use super::{find, notify};
use crate::agent::AgentCommand;
use crate::agent::protocol::approval::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, PermissionMode};
use crate::agent::protocol::model::Api;
use crate::agent::protocol::query::{Query, QueryAnswer};
use crate::agent::protocol::rules::Verdict;
use crate::app::action::Action;
use crate::app::approval::{Approval, Coverage, PromptStage, PromptStep};
use crate::app::effect::Effect;
use crate::app::geometry::{ScreenKind, ScrollPosition};
use crate::app::key::Key;
use crate::app::mode_question::ModeQuestion;
use crate::app::model::Model;
use crate::app::msg::Millis;
use crate::app::overlay::Overlay;
use crate::app::request::{EditorSource, EditorUse, Hidden, ShellRequest, Ticket};
use crate::tools::access::Preview;

/// What is typed this soon after a prompt has gone by itself was meant for the prompt.
const TYPED_AHEAD: Millis = 400;

/// A call waits.
pub(super) fn requested(model: &mut Model, request: &ApprovalRequest, effects: &mut Vec<Effect>) {
    if model.approvals.is_empty() {
        notify::waits(model, effects);
        model.completion = None;
        model.approvals.came_from = model.transcript.position;
    }
    model.transcript.call_asked(request);
    model.approvals.requested(request, model.now);
}

/// A call waits no longer, whoever decided.
pub(super) fn ended(model: &mut Model, id: &str, outcome: ApprovalOutcome) {
    let known = model.approvals.pending().iter().find(|approval| approval.request.id == id);
    let Some(call) = known.map(|approval| approval.request.tool_call_id.clone()) else { return };
    let came_from = model.approvals.came_from;
    let (waited, was_typing) = model.approvals.ended(id, model.now);
    let now = model.now;
    model.transcript.call_judged(&call, outcome, now);
    if was_typing {
        model.typed_ahead = Some(now + TYPED_AHEAD);
    }
    if let Some(waited) = waited {
        model.transcript.position = came_from;
        model.status.waited(waited, now);
        model.transcript.run_waited(waited);
    }
}

/// Nothing waits any more: the run is over, or another session is open.
pub(super) fn forget(model: &mut Model) {
    if !model.approvals.is_empty() {
        let ids: Vec<String> = model.approvals.pending().iter().map(|it| it.request.id.clone()).collect();
        ids.iter().for_each(|id| ended(model, id, ApprovalOutcome::Withdrawn));
    }
}

/// A key while a prompt is open. `None` when it is not for the prompt; otherwise the action that it has
/// besides, if any.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> Option<Option<Action>> {
    let action = model.keymap.action(key);
    if action == Some(Action::Answer) && !model.approvals.is_empty() {
        step_aside(model);
        return Some(None);
    }
    if !model.takes_answer() {
        return None;
    }
    model.quit_armed = None;
    match model.approvals.key(key, model.now) {
        PromptStep::Ignored => return Some(other(model, key, action)),
        PromptStep::Handled => {}
        PromptStep::Early => early(model),
        PromptStep::Answer(answer) => answer_open(model, answer, effects),
        PromptStep::AnswerKind(allow) => answer_kind(model, allow, effects),
        PromptStep::Coverage(rule) => ask_coverage(model, rule, effects),
        PromptStep::Edit => edit(model, effects),
        PromptStep::View => view(model, effects),
        PromptStep::Scroll(rows) => scroll(model, rows),
        PromptStep::Remark(text) => model.remark(text),
    }
    Some(None)
}

/// The transcript was moved by a key while a prompt is open: from where.
pub(super) fn moved(model: &mut Model, from: ScrollPosition) {
    if model.transcript.position != from {
        model.approvals.follow = model.transcript.position == ScrollPosition::Tail;
    }
}

/// A paste while a prompt is open: into the line that is typed. It answers nothing, and the draft stays
/// as it is. True when it was used.
pub(super) fn paste(model: &mut Model, text: &str) -> bool {
    if !model.takes_answer() {
        return false;
    }
    if !model.approvals.paste(text) {
        model.approvals.postpone(model.now);
        model.remark("nothing pasted: the prompt takes keys only");
    }
    true
}

/// Switches between the prompt and the composer.
pub(super) fn step_aside(model: &mut Model) {
    if model.approvals.is_empty() {
        return model.remark("nothing waits for your answer");
    }
    model.approvals.aside = !model.approvals.aside;
    model.approvals.follow = true;
    if model.approvals.aside {
        model.transcript.leave_panel();
    }
}

/// A key that the prompt does not use: what only looks around, or leads somewhere else, works as always.
fn other(model: &mut Model, key: Key, action: Option<Action>) -> Option<Action> {
    let elsewhere = [
        Action::Suspend,
        Action::Palette,
        Action::Mode,
        Action::Models,
        Action::NextModel,
        Action::PreviousModel,
        Action::EditQueue,
        Action::GiveKeyboard,
        Action::TakeKeyboard,
        Action::SelectPanel,
    ];
    let action = action.filter(|action| find::looks_only(*action) || elsewhere.contains(action));
    if action.is_some() || key.typed().is_none() {
        return action;
    }
    if model.approvals.is_early(model.now) {
        early(model);
        return None;
    }
    model.approvals.postpone(model.now);
    match model.keymap.hint(Action::Answer) {
        Some(key) => model.remark(&format!("answer first, or write with {key}")),
        None => model.remark("answer first"),
    }
    None
}

fn early(model: &mut Model) {
    model.approvals.postpone(model.now);
    model.remark("ignored: typed as the prompt appeared");
}

/// On the full screen; elsewhere the terminal scrolls.
fn scroll(model: &mut Model, rows: i32) {
    if model.boot.screen == ScreenKind::Full {
        model.transcript.scroll(rows);
    }
}

fn answer_open(model: &mut Model, answer: ApprovalAnswer, effects: &mut Vec<Effect>) {
    let Some(id) = model.approvals.open().map(|open| open.request.id.clone()) else { return };
    let stops = matches!(answer, ApprovalAnswer::Deny { stop: true, .. });
    if stops {
        effects.push(Effect::Agent(AgentCommand::TakeQueue));
        if let Some(run) = model.status.run.as_mut() {
            run.stopping = true;
        }
    }
    send(model, &id, answer, effects);
}

/// Answers all that wait and are like the open one. A reason is asked for single calls only, and one of
/// which every hunk is rejected keeps waiting.
fn answer_kind(model: &mut Model, allow: bool, effects: &mut Vec<Effect>) {
    let Some(open) = model.approvals.open() else { return };
    let waiting = model.approvals.pending().iter().filter(|other| other.is_like(open));
    let answer = |approval: &Approval| match allow {
        true => Some(ApprovalAnswer::Allow { hunks: approval.kept_hunks()?, edited: None }),
        false => Some(ApprovalAnswer::Deny { reason: None, stop: false }),
    };
    let answers: Vec<(String, ApprovalAnswer)> =
        waiting.filter_map(|it| Some((it.request.id.clone(), answer(it)?))).collect();
    for (id, answer) in answers {
        send(model, &id, answer, effects);
    }
}

fn send(model: &mut Model, id: &str, answer: ApprovalAnswer, effects: &mut Vec<Effect>) {
    // A rule may be refused; the call still waits then.
    let is_final = !matches!(answer, ApprovalAnswer::AllowAlways { .. });
    effects.push(Effect::Agent(AgentCommand::AnswerApproval { id: id.to_owned(), answer }));
    if is_final {
        model.approvals.answered(id);
    }
}

fn ask_coverage(model: &mut Model, rule: String, effects: &mut Vec<Effect>) {
    if rule.is_empty() {
        if let Some(PromptStage::Rule(draft)) = model.approvals.open_mut().map(|open| &mut open.stage) {
            draft.coverage = Coverage::Known(Vec::new());
        }
        return;
    }
    let ticket = model.next_ticket();
    if let Some(open) = model.approvals.open_mut() {
        open.coverage_asked(ticket);
    }
    let query = Query::RuleCoverage { rule, list: Verdict::Allow };
    effects.push(Effect::Agent(AgentCommand::Query { ticket: ticket.0, query }));
}

/// Edits the call: a command of one line in the prompt, anything else in the user's editor.
fn edit(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(open) = model.approvals.open_mut().filter(|open| open.can_edit()) else { return };
    match open.request.preview.clone() {
        Preview::Command { command } if !command.trim_end().contains(['\n', '\r']) => {
            open.edit_command(command.trim_end());
        }
        Preview::Command { command } => editor(model, command, ".sh", effects),
        Preview::Change { .. } => {
            let id = open.request.id.clone();
            let ticket = model.next_ticket();
            wait_for(model, ticket);
            let query = Query::ProposedText { id };
            effects.push(Effect::Agent(AgentCommand::Query { ticket: ticket.0, query }));
        }
        Preview::None => {}
    }
}

fn wait_for(model: &mut Model, ticket: Ticket) {
    if let Some(open) = model.approvals.open_mut() {
        open.stage = PromptStage::Editor(ticket);
    }
}

fn editor(model: &mut Model, text: String, ending: &str, effects: &mut Vec<Effect>) {
    let ending = ending.to_owned();
    let ticket = model.ask(ShellRequest::Editor { text, ending, purpose: EditorUse::Approval }, effects);
    wait_for(model, ticket);
}

/// The agent has answered a query of a prompt. True when it was one.
pub(super) fn answered(
    model: &mut Model,
    ticket: Ticket,
    answer: &Result<QueryAnswer, String>,
    effects: &mut Vec<Effect>,
) -> bool {
    let Some(approval) = model.approvals.waiting_for(ticket) else { return false };
    match (&mut approval.stage, answer) {
        (PromptStage::Rule(draft), answer) => draft.coverage = Coverage::of(answer),
        (stage, Ok(QueryAnswer::Text(text))) => {
            let path = approval.request.access.writes.first().and_then(|path| path.extension());
            let ending = path.map_or(".txt".to_owned(), |ending| format!(".{}", ending.to_string_lossy()));
            let purpose = EditorUse::Approval;
            *stage = PromptStage::Choice;
            let id = approval.request.id.clone();
            let ticket = model.ask(ShellRequest::Editor { text: text.clone(), ending, purpose }, effects);
            if let Some(approval) = model.approvals.by_id(&id) {
                approval.stage = PromptStage::Editor(ticket);
            }
        }
        (stage, Ok(_)) => *stage = PromptStage::Choice,
        (stage, Err(error)) => {
            *stage = PromptStage::Choice;
            model.remark(error);
        }
    }
    true
}

/// What was written in the editor: with it the call is allowed. Without a change nothing is decided.
pub(super) fn edited(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<Option<String>, String>,
    effects: &mut Vec<Effect>,
) {
    let Some(approval) = model.approvals.waiting_for(ticket) else { return };
    approval.stage = PromptStage::Choice;
    let id = approval.request.id.clone();
    // The screen is drawn again after the editor.
    model.approvals.postpone(model.now);
    match answer {
        Ok(Some(text)) => {
            send(model, &id, ApprovalAnswer::Allow { hunks: None, edited: Some(text) }, effects);
        }
        Ok(None) => model.remark("unchanged; nothing decided yet"),
        Err(error) => model.remark(&error),
    }
}

/// Shows the whole command or change in the user's editor.
fn view(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(open) = model.approvals.open() else { return };
    let (text, ending) = match &open.request.preview {
        Preview::Command { command } => (command.clone(), ".sh"),
        Preview::Change { change } => (format!("{}\n{}", change.path, change.unified()), ".diff"),
        Preview::None => return model.remark("nothing more to show"),
    };
    let source = EditorSource::Text { text, ending: ending.to_owned() };
    model.ask(ShellRequest::OpenInEditor { source }, effects);
}

/// Switches to the next permission mode.
pub(super) fn next_mode(model: &mut Model, effects: &mut Vec<Effect>) {
    let modes = PermissionMode::ALL;
    let now = modes.iter().position(|mode| *mode == model.status.permission_mode).unwrap_or(0);
    let next = modes.get((now + 1) % modes.len()).copied().unwrap_or_default();
    set_mode(next, effects);
}

/// `/mode`, with the name of a mode or without.
pub(super) fn named_mode(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    match PermissionMode::from_name(&name.to_lowercase()) {
        Some(mode) => set_mode(mode, effects),
        None if name.is_empty() => next_mode(model, effects),
        None => model.remark(&format!("there is no mode \"{name}\"; the modes are ask, auto and plan")),
    }
}

/// Sets the permission mode; the agent confirms it.
pub(super) fn set_mode(mode: PermissionMode, effects: &mut Vec<Effect>) {
    effects.push(Effect::Agent(AgentCommand::SetPermissionMode { mode }));
}

/// Another mode applies.
pub(super) fn mode_changed(model: &mut Model, mode: PermissionMode) {
    let is_new = model.status.permission_mode != mode;
    model.status.permission_mode = mode;
    if is_new {
        model.remark(&format!("{}: {}", mode.name(), mode_meaning(mode)));
    }
}

/// What a mode means, in a few words.
fn mode_meaning(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Auto => "tau asks only where rules and protected paths say so",
        PermissionMode::Ask => "tau asks before anything changes",
        PermissionMode::Plan => "nothing can change; the model makes a plan",
    }
}

/// Asks which mode is to be used, once a model answers that is not the demo, unless something says so.
pub(super) fn ask_for_mode(model: &mut Model) {
    let is_real = model.status.model.as_ref().is_some_and(|ai| ai.api != Api::Scripted);
    if is_real && std::mem::take(&mut model.asks_mode) {
        // Below what asks already: a question of trust comes first.
        model.overlays.insert(0, Overlay::Mode(ModeQuestion::default()));
    }
}

/// The mode was chosen: it applies, and is stored.
pub(super) fn mode_chosen(model: &mut Model, mode: PermissionMode, effects: &mut Vec<Effect>) {
    set_mode(mode, effects);
    let (key, value) = ("screen_permission_mode".to_owned(), Some(Hidden(mode.name().to_owned())));
    model.ask(ShellRequest::SetSetting { key, value }, effects);
}

/// Nothing was chosen: until that is done, tau asks.
pub(super) fn mode_postponed(effects: &mut Vec<Effect>) {
    set_mode(PermissionMode::Ask, effects);
}
