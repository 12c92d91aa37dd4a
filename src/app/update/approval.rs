//! Calls that await the user's decision: their start, answer and end; the permission mode.

use super::{find, misdirected, notify, place, trust};
use crate::action::Action;
use crate::approval::{Approval, Coverage, PromptStage, PromptStep, QUIET};
use crate::effect::Effect;
use crate::geometry::{ScreenKind, ScrollPosition};
use crate::key::Key;
use crate::model::Model;
use crate::msg::Millis;
use crate::overlays::mode_question::ModeQuestion;
use crate::overlays::overlay::Overlay;
use crate::printable::spell_hidden;
use crate::request::{EditorSource, EditorUse, ScreenRequest, SettingsUpdate, Ticket};
use tau_protocol::approval::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, PermissionMode};
use tau_protocol::chosen::ChosenMode;
use tau_protocol::command::{QuestionCommand, QueueCommand, SettingsCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::model::Api;
use tau_protocol::query::{Query, QueryAnswer};
use tau_protocol::rules::Verdict;
use tau_tools::access::Preview;
use tau_tools::user_error::UserError;

/// Adds a pending call.
pub(super) fn on_request(model: &mut Model, request: &ApprovalRequest, effects: &mut Vec<Effect>) {
    if model.approvals.is_empty() {
        notify::on_wait(model, effects);
        model.approvals.came_from = model.transcript.position;
    }
    model.transcript.on_approval_request(request);
    model.approvals.add(request, model.now);
    place::resume_answers(model);
}

/// Removes a decided call, regardless of who decided.
pub(super) fn on_end(model: &mut Model, id: &str, outcome: ApprovalOutcome) {
    let known = model.approvals.pending().iter().find(|approval| approval.request.id == id);
    let Some(call) = known.map(|approval| approval.request.tool_call_id.clone()) else { return };
    let came_from = model.approvals.came_from;
    let (waited, typed) = model.approvals.remove(id, model.now);
    let now = model.now;
    model.transcript.on_approval_outcome(&call, outcome, now);
    match typed {
        // A message for the model is still the user's text; the Enter meant for it does not send it.
        Some(PromptStage::Reason(line)) => {
            model.composer.paste(line.text());
            model.enter_held = Some(now + QUIET);
        }
        // The user has stopped the run, and expects the prompt to go.
        Some(PromptStage::Choice) if model.status.run.as_ref().is_none_or(|run| run.stopping) => {}
        Some(_) => model.typed_ahead = Some(now + QUIET),
        None => {}
    }
    if let Some(waited) = waited {
        // A user who reads further up stays there.
        if came_from == ScrollPosition::Tail {
            model.transcript.position = came_from;
        }
        model.status.subtract_run_wait(waited, now);
        model.transcript.subtract_run_wait(waited);
    }
}

/// Removes all pending calls: the run is over, or another session is open.
pub(super) fn forget(model: &mut Model) {
    if !model.approvals.is_empty() {
        let ids: Vec<String> = model.approvals.pending().iter().map(|it| it.request.id.clone()).collect();
        ids.iter().for_each(|id| on_end(model, id, ApprovalOutcome::Withdrawn));
    }
}

/// Handles a key while a prompt is open. `None` if it is not for the prompt; otherwise its additional action,
/// if any.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> Option<Option<Action>> {
    let action = model.keymap.action(key);
    if action == Some(Action::Answer) && !model.approvals.is_empty() {
        step_aside(model);
        return Some(None);
    }
    if !model.takes_answer() {
        // An early key is for the draft, and delays the prompt.
        model.approvals.postpone(model.now);
        if key.typed_char().is_some() && model.shows_prompt() {
            model.misdirected.drafts(model.now);
        }
        return None;
    }
    model.quit_armed = None;
    if misdirected::sends_command(model, key) {
        return None;
    }
    model.completion = None;
    if misdirected::ends_ignored_word(model, key) {
        return Some(None);
    }
    // A key after the leader answers nothing.
    let step = if key.is_led() { PromptStep::Ignored } else { model.approvals.key(key) };
    if step != PromptStep::Ignored {
        model.misdirected.answers();
    }
    match step {
        PromptStep::Ignored => return other(model, key, action),
        PromptStep::Handled => {}
        PromptStep::Answer(ApprovalAnswer::Deny { reason: Some(text), .. })
            if misdirected::refuses(model, &text) => {}
        PromptStep::Answer(answer) => answer_open(model, answer, effects),
        PromptStep::AnswerKind(allow) => answer_kind(model, allow, effects),
        PromptStep::Coverage(rule) => ask_coverage(model, rule, effects),
        PromptStep::Edit => edit(model, effects),
        PromptStep::View => view(model, effects),
        // A row of the choices says it.
        PromptStep::Insists(why) => {
            let is_row = model.approvals.open().is_some_and(|open| open.stage == PromptStage::Choice);
            if !is_row || model.boot.screen == ScreenKind::Reader {
                model.remark(why);
            }
        }
        PromptStep::Remark(text) => model.remark(text),
    }
    Some(None)
}

/// Records that a key moved the transcript while a prompt is open, away from `from`.
pub(super) fn note_scroll(model: &mut Model, from: ScrollPosition) {
    if model.transcript.position != from {
        model.approvals.follow = model.transcript.position == ScrollPosition::Tail;
    }
}

/// Handles a paste while a prompt is open: into the line being typed, else into the draft. It answers nothing. True
/// when it was used.
pub(super) fn paste(model: &mut Model, text: &str) -> bool {
    let is_used = model.takes_answer() && model.approvals.paste(text);
    if !is_used && !model.approvals.is_empty() {
        model.approvals.postpone(model.now);
        model.misdirected.drafts(model.now);
    }
    is_used
}

/// Switches between the prompt and the composer.
pub(super) fn step_aside(model: &mut Model) {
    if model.approvals.is_empty() {
        return model.remark("nothing is waiting for your answer");
    }
    model.approvals.aside = !model.approvals.aside;
    model.misdirected.answers();
    model.approvals.look_at_prompt();
    if model.approvals.aside {
        model.transcript.leave_panel();
    }
}

/// Handles a key that the prompt does not use: keys that only navigate or open something work as always.
/// Other typing begins a text, so it goes to the draft, and the prompt waits until typing stops.
fn other(model: &mut Model, key: Key, action: Option<Action>) -> Option<Option<Action>> {
    let elsewhere = [
        Action::Exit,
        Action::Suspend,
        Action::Background,
        Action::Board,
        Action::Jobs,
        Action::MoveToBackground,
        Action::Palette,
        Action::Mode,
        Action::Thinking,
        Action::Models,
        Action::NextModel,
        Action::PreviousModel,
        Action::EditQueue,
        Action::GiveKeyboard,
        Action::TakeKeyboard,
        Action::SelectPanel,
    ];
    let action = action.filter(|action| find::looks_only(*action) || elsewhere.contains(action));
    let takes_none = |open: &Approval| matches!(open.stage, PromptStage::Choice | PromptStage::Editor(_));
    let is_for_draft = key.typed_char().is_some() && model.approvals.open().is_some_and(takes_none);
    if action.is_none() && is_for_draft {
        model.approvals.postpone(model.now);
        model.approvals.is_draft_meant = false;
        model.misdirected.drafts(model.now);
        model.remark("typed into your draft; pause to answer");
        return None;
    }
    if key.typed_char().is_some() {
        model.misdirected.note_ignored_letter(model.now);
    }
    Some(action)
}

fn answer_open(model: &mut Model, answer: ApprovalAnswer, effects: &mut Vec<Effect>) {
    let Some(id) = model.approvals.open().map(|open| open.request.id.clone()) else { return };
    let stops = matches!(answer, ApprovalAnswer::Deny { stop: true, .. });
    if stops {
        effects.push(QueueCommand::TakeQueue.into());
        if let Some(run) = model.status.run.as_mut() {
            run.stopping = true;
        }
    }
    send(model, &id, answer, effects);
}

/// Answers all pending calls like the open one. A reason is requested for single calls only, and a call whose
/// hunks are all rejected stays pending.
fn answer_kind(model: &mut Model, allow: bool, effects: &mut Vec<Effect>) {
    let Some(open) = model.approvals.open() else { return };
    let waiting = model.approvals.pending().iter().filter(|other| other.is_like(open));
    let answer = |approval: &Approval| match allow {
        true => Some(ApprovalAnswer::Allow { hunks: approval.hunks_to_apply()?, edited: None }),
        false => Some(ApprovalAnswer::Deny { reason: None, stop: false }),
    };
    let answers: Vec<(String, ApprovalAnswer)> =
        waiting.filter_map(|it| Some((it.request.id.clone(), answer(it)?))).collect();
    for (id, answer) in answers {
        send(model, &id, answer, effects);
    }
}

fn send(model: &mut Model, id: &str, answer: ApprovalAnswer, effects: &mut Vec<Effect>) {
    // A rule may be refused; then the call is still pending.
    let is_final = !matches!(answer, ApprovalAnswer::AllowAlways { .. } | ApprovalAnswer::AllowExact { .. });
    effects.push(QuestionCommand::AnswerApproval { id: id.to_owned(), answer }.into());
    model.approvals.mark_sent(id);
    if is_final {
        model.approvals.mark_answered(id);
    }
}

fn ask_coverage(model: &mut Model, rule: String, effects: &mut Vec<Effect>) {
    if rule.is_empty() {
        if let Some(PromptStage::Rule(draft)) = model.approvals.open_mut().map(|open| &mut open.stage) {
            draft.coverage = Coverage::Known(Vec::new());
        }
        return;
    }
    let ticket = model.query(Query::RuleCoverage { rule, list: Verdict::Allow }, effects);
    if let Some(open) = model.approvals.open_mut() {
        open.await_coverage(ticket);
    }
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
            let ticket = model.query(Query::ProposedText { id }, effects);
            wait_for(model, ticket);
        }
        Preview::None | Preview::Arguments { .. } => {}
    }
}

fn wait_for(model: &mut Model, ticket: Ticket) {
    if let Some(open) = model.approvals.open_mut() {
        open.stage = PromptStage::Editor(ticket);
    }
}

fn editor(model: &mut Model, text: String, ending: &str, effects: &mut Vec<Effect>) {
    let ending = ending.to_owned();
    let ticket = model.ask(ScreenRequest::Editor { text, ending, purpose: EditorUse::Approval }, effects);
    wait_for(model, ticket);
}

/// Handles the agent's answer to a prompt's query. True when it was one.
pub(super) fn on_answer(
    model: &mut Model,
    ticket: Ticket,
    answer: &Result<QueryAnswer, UserError>,
    effects: &mut Vec<Effect>,
) -> bool {
    if let Some(approval) = model.approvals.by_viewer(ticket) {
        let (id, ending) = (approval.request.id.clone(), ending(approval));
        match answer {
            Ok(QueryAnswer::Text(text)) => show(model, &id, text, &ending, effects),
            Ok(_) => model.remark("nothing more to show"),
            Err(error) => model.remark(error),
        }
        return true;
    }
    let Some(approval) = model.approvals.waiting_for(ticket) else { return false };
    let ending = ending(approval);
    match (&mut approval.stage, answer) {
        (PromptStage::Rule(draft), answer) => draft.coverage = Coverage::of(answer),
        (stage, Ok(QueryAnswer::Text(text))) => {
            let purpose = EditorUse::Approval;
            *stage = PromptStage::Choice;
            let id = approval.request.id.clone();
            let ticket = model.ask(ScreenRequest::Editor { text: text.clone(), ending, purpose }, effects);
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

/// Allows the call with the text from the editor. An unchanged text decides nothing.
pub(super) fn on_editor_reply(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<Option<String>, UserError>,
    effects: &mut Vec<Effect>,
) {
    let Some(approval) = model.approvals.waiting_for(ticket) else { return };
    approval.stage = PromptStage::Choice;
    let id = approval.request.id.clone();
    // The screen is redrawn after the editor.
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
    let id = open.request.id.clone();
    let (text, ending) = match &open.request.preview {
        Preview::Command { command } => (command.clone(), ".sh"),
        // Its hunks are incomplete: the resulting file is shown instead.
        Preview::Change { change } if change.cut => {
            let ticket = model.query(Query::ProposedText { id: id.clone() }, effects);
            return set_viewer(model, &id, ticket);
        }
        Preview::Change { change } => (format!("{}\n{}", change.path, change.to_unified()), ".diff"),
        Preview::Arguments { arguments } => {
            (serde_json::to_string_pretty(arguments).unwrap_or_default(), ".json")
        }
        Preview::None => return model.remark("nothing more to show"),
    };
    show(model, &id, &text, ending, effects);
}

fn show(model: &mut Model, id: &str, text: &str, ending: &str, effects: &mut Vec<Effect>) {
    // Editors hide some characters, too.
    let source = EditorSource::Text { text: spell_hidden(text).into_owned(), ending: ending.to_owned() };
    let ticket = model.ask(ScreenRequest::OpenInEditor { source }, effects);
    set_viewer(model, id, ticket);
}

fn set_viewer(model: &mut Model, id: &str, ticket: Ticket) {
    if let Some(approval) = model.approvals.by_id(id) {
        approval.viewer = Some(ticket);
    }
}

/// Records that an editor was closed that may have shown the call.
pub(super) fn on_viewer_close(model: &mut Model, ticket: Ticket, was_shown: bool) {
    let Some(approval) = model.approvals.by_viewer(ticket) else { return };
    approval.viewer = None;
    if was_shown {
        approval.mark_seen();
    }
    // The screen is redrawn after the editor.
    model.approvals.postpone(model.now);
}

/// The name ending of the file that a call changes.
fn ending(approval: &Approval) -> String {
    let path = approval.request.access.writes.first().and_then(|path| path.extension());
    path.map_or(".txt".to_owned(), |ending| format!(".{}", ending.to_string_lossy()))
}

/// How long a mode chosen by keys stays before it applies to calls that wait: modes on the way to another one must
/// not run or deny them.
const SETTLED: Millis = 1_000;

/// Switches to the next permission mode that can be chosen.
pub(super) fn next_mode(model: &mut Model, effects: &mut Vec<Effect>) {
    let ceiling = model.status.mirror.mode_ceiling;
    let modes: Vec<PermissionMode> =
        PermissionMode::ALL.into_iter().filter(|mode| mode.within(ceiling).is_ok()).collect();
    // Keys may come faster than the agent confirms.
    let now = model.asked_modes.back().copied().unwrap_or(model.status.mirror.mode);
    let now = model.coming_mode.map_or(now, |(mode, _)| mode);
    let at = modes.iter().position(|mode| *mode == now).unwrap_or(0);
    let next = modes.iter().cycle().nth(at + 1).copied().unwrap_or(now);
    if next == now {
        return model.remark(&format!("no other mode than {} can be chosen here", now.name()));
    }
    let waits = model.approvals.pending().iter().any(|waiting| !waiting.is_answered);
    if waits && !is_partly_chosen(model) && model.on_board.is_none() {
        model.coming_mode = Some((next, model.now + SETTLED));
        model.remark(&format!("{}: {}", next.name(), mode_meaning(next)));
        return;
    }
    set_mode(model, next, effects);
}

/// Applies the mode that was chosen by keys.
pub(super) fn apply_coming_mode(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some((mode, _)) = model.coming_mode.take() {
        set_mode(model, mode, effects);
    }
}

/// Whether some hunks of a waiting change are left out.
fn is_partly_chosen(model: &Model) -> bool {
    model.approvals.pending().iter().any(|waiting| !waiting.rejected.is_empty() && !waiting.is_answered)
}

/// Handles `/mode`, with or without the name of a mode.
pub(super) fn set_mode_by_name(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    match PermissionMode::from_name(&name.to_lowercase()) {
        Some(mode) => set_mode(model, mode, effects),
        None if name.is_empty() => next_mode(model, effects),
        None => {
            model.remark(&format!("there is no mode \"{name}\"; the modes are ask, edits, plan and auto"));
        }
    }
}

/// Sets the permission mode; the agent confirms it. Another mode may let a waiting change run as a whole, so not
/// while some of its hunks are left out.
pub(super) fn set_mode(model: &mut Model, mode: PermissionMode, effects: &mut Vec<Effect>) {
    model.coming_mode = None;
    if is_partly_chosen(model) {
        return model.remark("answer this change first: you left out some of its hunks");
    }
    model.asked_modes.push_back(mode);
    effects.push(SettingsCommand::SetPermissionMode { mode }.into());
}

/// Records a mode change.
pub(super) fn on_mode_change(model: &mut Model, former: PermissionMode, mode: PermissionMode) {
    // Another mode than the ones asked for: they were refused, or somebody else chose.
    let confirmed = model.asked_modes.iter().position(|asked| *asked == mode).map(|at| at + 1);
    model.asked_modes.drain(..confirmed.unwrap_or(model.asked_modes.len()));
    if former != mode {
        model.remark(&format!("{}: {}", mode.name(), mode_meaning(mode)));
    }
}

/// The meaning of a mode, in a few words.
fn mode_meaning(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Auto => "tau asks only where rules and protected paths say so",
        PermissionMode::Ask => "tau asks before anything changes",
        PermissionMode::Edits => "tau changes files in this folder, and asks before it runs commands",
        PermissionMode::Plan => "nothing can change; the model makes a plan",
    }
}

/// Asks for the permission mode once a model other than the demo answers, unless one is configured.
pub(super) fn ask_for_mode(model: &mut Model) {
    let is_real = model.status.mirror.model.as_ref().is_some_and(|ai| ai.api != Api::Scripted);
    if is_real && std::mem::take(&mut model.asks_mode) {
        // Below other questions: a question of trust comes first.
        let question = ModeQuestion::new(model.boot.can_sandbox, model.now);
        model.overlays.insert(0, Overlay::Mode(question));
    }
}

/// Applies and stores the chosen mode. A sandboxed one applies together with the sandbox.
pub(super) fn apply_mode_choice(model: &mut Model, chosen: ChosenMode, effects: &mut Vec<Effect>) {
    if chosen.sandbox.is_none() {
        set_mode(model, chosen.mode, effects);
    }
    model.ask(ScreenRequest::ChooseMode { chosen }, effects);
}

/// Handles the result of storing it.
pub(super) fn on_mode_result(
    model: &mut Model,
    chosen: ChosenMode,
    answer: Result<SettingsUpdate, UserError>,
    effects: &mut Vec<Effect>,
) {
    match answer {
        Ok(applied) => trust::apply_settings(model, applied, effects),
        Err(error) => {
            let text = format!("the permission mode was not kept: {error}");
            let hint = chosen.sandbox.map(|_| "tau asks before anything changes; /mode chooses another mode");
            model.transcript.notice(NoticeLevel::Warning, &text, hint);
        }
    }
}

/// Keeps asking about calls, because no mode was chosen.
pub(super) fn postpone_mode(model: &mut Model, effects: &mut Vec<Effect>) {
    set_mode(model, PermissionMode::Ask, effects);
}
