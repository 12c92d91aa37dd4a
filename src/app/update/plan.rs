//! Plans: the dialog after a run in plan mode, and what its answers do.

use std::sync::Arc;

use crate::agent::AgentCommand;
use crate::agent::protocol::approval::PermissionMode;
use crate::agent::protocol::command::Queue;
use crate::agent::protocol::message::{Message, StopReason};
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::overlay::Overlay;
use crate::app::plan::{PlanChoice, PlanView};
use crate::app::request::{EditorUse, ShellRequest, Ticket};

use super::{approval, notify};

/// The messages of a run are complete: in plan mode its last answer is the plan.
pub(super) fn run_ended(model: &mut Model, messages: &[Arc<Message>]) {
    let answers = messages.iter().rev().filter_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        Message::User(_)
        | Message::ToolResult(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::Application(_) => None,
    });
    let last = { answers }.next().filter(|answer| answer.stop_reason == StopReason::Stop);
    model.plan = last.map(|answer| answer.text());
}

/// The run is over: the user is asked what becomes of the plan.
pub(super) fn settled(model: &mut Model, aborted: bool, effects: &mut Vec<Effect>) {
    let plan = model.plan.take().filter(|text| !text.trim().is_empty());
    let waits = model.status.queued() > 0 || !model.overlays.is_empty();
    let Some(text) =
        plan.filter(|_| model.status.permission_mode == PermissionMode::Plan && !aborted && !waits)
    else {
        return;
    };
    model.overlays.push(Overlay::Plan(Box::new(PlanView::new(&text, model.now))));
    notify::waits(model, effects);
}

/// What the user decided.
pub(super) fn chosen(
    model: &mut Model,
    mut view: Box<PlanView>,
    choice: PlanChoice,
    effects: &mut Vec<Effect>,
) {
    let text = match choice {
        PlanChoice::Edit => {
            let (text, ending) = (view.text.clone(), ".md".to_owned());
            let purpose = EditorUse::Plan;
            view.ticket = Some(model.ask(ShellRequest::Editor { text, ending, purpose }, effects));
            return model.overlays.push(Overlay::Plan(view));
        }
        PlanChoice::Reject(comment) => comment,
        PlanChoice::Accept(mode) => {
            approval::set_mode(mode, effects);
            match view.is_edited {
                true => format!(
                    "I accept the plan with my changes. Carry it out as it is here:\n\n{}",
                    view.text.trim_end()
                ),
                false => "I accept the plan. Carry it out.".to_owned(),
            }
        }
    };
    model.transcript.show_tail();
    let (images, streaming) = (Vec::new(), Queue::FollowUp);
    effects.push(Effect::Agent(AgentCommand::Prompt { text, images, streaming }));
}

/// The plan as it was written in the editor.
pub(super) fn edited(model: &mut Model, ticket: Ticket, answer: Result<Option<String>, String>) {
    let open = model.overlays.iter_mut().rev().find_map(|overlay| overlay.as_plan());
    let Some(view) = open.filter(|view| view.ticket == Some(ticket)) else { return };
    view.ticket = None;
    match answer {
        Ok(Some(text)) => {
            view.text = text;
            view.is_edited = true;
            view.selected = 1;
        }
        Ok(None) => model.remark("the plan is unchanged"),
        Err(error) => model.remark(&error),
    }
}
