//! Plans: the effects of answers in the dialog, and the accepted plan.

use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::plan::{PlanChoice, PlanView};
use crate::overlays::quiet::Quiet;
use crate::request::{EditorUse, ScreenRequest, Ticket};
use tau_protocol::command::{QuestionAnswer, QuestionCommand, QueueCommand, SessionCommand};
use tau_tools::plan::WorkPlan;
use tau_tools::user_error::UserError;

/// Records a change of the accepted plan or its progress.
pub(super) fn on_change(model: &mut Model, plan: Option<&WorkPlan>) {
    model.plan = plan.cloned();
    model.is_plan_over = model.status.run.is_none() && model.plan.as_ref().is_some_and(WorkPlan::is_finished);
}

/// Records the end of a run: a plan that is finished stays out of sight from now on.
pub(super) fn on_run_end(model: &mut Model) {
    model.is_plan_over |= model.plan.as_ref().is_some_and(WorkPlan::is_finished);
}

/// Handles `/plan`: shows the plan.
pub(super) fn open(model: &mut Model) {
    match &model.plan {
        Some(plan) => {
            let view = PlanView::accepted(&plan.checklist(), model.now);
            model.overlays.push(Overlay::Plan(Box::new(view)));
        }
        None => model.remark("no plan was accepted in this session; use /mode plan to make one"),
    }
}

/// Shows the steps of the plan, or one row.
pub(super) fn fold(model: &mut Model) {
    match model.plan {
        Some(_) => model.is_plan_folded = !model.is_plan_folded,
        None => model.remark("no plan was accepted in this session"),
    }
}

/// Carries out the user's decision.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: Box<PlanView>,
    choice: PlanChoice,
    effects: &mut Vec<Effect>,
) {
    let answer = match choice {
        PlanChoice::Drop => {
            return effects.push(SessionCommand::DropPlan.into());
        }
        PlanChoice::Edit => {
            let (text, ending) = (view.text.clone(), ".md".to_owned());
            let purpose = EditorUse::Plan;
            view.ticket = Some(model.ask(ScreenRequest::Editor { text, ending, purpose }, effects));
            return model.overlays.push(Overlay::Plan(view));
        }
        PlanChoice::Reject(comment) => QuestionAnswer::PlanRejected { comment },
        PlanChoice::Accept(mode) => {
            let plan = view.is_edited.then(|| view.text.clone());
            QuestionAnswer::PlanAccepted { mode, plan }
        }
    };
    model.is_plan_folded = false;
    send(model, &view, answer, effects);
}

/// Handles a closed dialog: for a proposed plan, stops the run.
pub(super) fn on_close(model: &mut Model, view: &PlanView, effects: &mut Vec<Effect>) {
    if view.id.is_none() {
        return;
    }
    effects.push(QueueCommand::TakeQueue.into());
    if let Some(run) = model.status.run.as_mut() {
        run.stopping = true;
    }
    send(model, view, QuestionAnswer::Cancelled, effects);
}

fn send(model: &mut Model, view: &PlanView, answer: QuestionAnswer, effects: &mut Vec<Effect>) {
    let Some(id) = view.id.clone() else { return };
    model.subtract_run_wait(view.quiet.since);
    model.transcript.show_tail();
    effects.push(QuestionCommand::Answer { id, answer }.into());
}

/// Takes the plan from the editor.
pub(super) fn on_editor_reply(model: &mut Model, ticket: Ticket, answer: Result<Option<String>, UserError>) {
    let now = model.now;
    let open = model.overlays.iter_mut().rev().find_map(|overlay| overlay.as_plan());
    let Some(view) = open.filter(|view| view.ticket == Some(ticket)) else { return };
    view.ticket = None;
    // The screen is redrawn after the editor.
    view.quiet = Quiet::new(now);
    match answer {
        Ok(Some(text)) => view.change(text),
        Ok(None) => model.remark("the plan is unchanged"),
        Err(error) => model.remark(&error),
    }
}
