//! Questions of tools to the user, and the effects of the answers.

use super::state::Engine;
use super::{accepted_plan, gate};
use crate::engine::calls::call_hooks;
use crate::secrets::vault::Vault;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::QuestionAnswer;
use tau_protocol::event::{Question, QuestionEvent};
use tau_tools::plan::{CHANGED, CLOSED, REJECTED, WorkPlan};
use tau_tools::user::{UserQuestion, UserReply, UserRequest};
use tau_tools::user_error::UserError;

/// The result of a plan that cannot be accepted in this front end.
const NOBODY_ACCEPTS: &str = "nobody can accept a plan here: end with it as your answer";

/// Handles a request. A call that was stopped in the meantime does not wait for a reply.
pub(crate) fn take(engine: &mut Engine, request: UserRequest) {
    let asks = engine.config.behavior.asks_user;
    match request {
        UserRequest::StepsDone { numbers, reply } => {
            let _ = reply.send(accepted_plan::finish(engine, &numbers));
        }
        UserRequest::Ask { reply, .. } if !asks => drop(reply.send(UserReply::Nobody)),
        UserRequest::Plan { reply, .. } if !asks => drop(reply.send(Err(NOBODY_ACCEPTS.into()))),
        UserRequest::Ask { .. } | UserRequest::Plan { .. } => ask(engine, request, None),
    }
}

/// Asks the user; `refusal` is why the last answer could not be used.
fn ask(engine: &mut Engine, request: UserRequest, refusal: Option<UserError>) {
    let mode = engine.work_mode.within(engine.config.behavior.mode_ceiling);
    let vault = &mut engine.config.behavior.masking.vault;
    let question = match &request {
        UserRequest::Ask { questions, .. } => Question::User {
            questions: questions.iter().map(|question| mask_question(vault, question)).collect(),
        },
        UserRequest::Plan { plan, .. } => {
            let text = plan.markdown();
            let refusal = refusal.map(|why| why.to_string());
            Question::Plan { plan: vault.mask(&text).unwrap_or(text), mode, refusal }
        }
        UserRequest::StepsDone { .. } => return,
    };
    let id = engine.questions.open_request(request);
    call_hooks::notify(engine, "elicitation_dialog", "tau has a question for you".to_owned());
    engine.emit(QuestionEvent::Asked { id, question });
}

/// Delivers an answer; one to a question that is not open is dropped.
pub(crate) fn answer(engine: &mut Engine, id: &str, answer: QuestionAnswer) {
    match engine.questions.take_request(id) {
        Some(UserRequest::Ask { reply, .. }) => drop(reply.send(reply_of(answer))),
        Some(UserRequest::Plan { plan, reply }) => {
            let (mut plan, mut changed) = (plan, false);
            match answer {
                QuestionAnswer::PlanAccepted { mode, plan: edited } => {
                    if let Err(why) = carry_out_in(engine, mode) {
                        return ask(engine, UserRequest::Plan { plan, reply }, Some(why));
                    }
                    if let Some(edited) = edited.as_deref().map(WorkPlan::parse).filter(|it| *it != plan) {
                        (plan, changed) = (edited, true);
                    }
                    let _ = reply.send(Ok(acceptance_text(&plan, changed)));
                    accepted_plan::set(engine, Some(plan));
                }
                QuestionAnswer::PlanRejected { comment } => {
                    let _ = reply.send(Err(format!("{REJECTED}: {}", comment.trim()).into()));
                }
                QuestionAnswer::Unavailable => drop(reply.send(Err(NOBODY_ACCEPTS.into()))),
                QuestionAnswer::Value(_)
                | QuestionAnswer::Confirmed(_)
                | QuestionAnswer::Form(_)
                | QuestionAnswer::Answers(_)
                | QuestionAnswer::Declined
                | QuestionAnswer::Cancelled => {
                    let _ = reply.send(Err(CLOSED.into()));
                    // After the reply, so that the call ends with it and not as interrupted.
                    engine.current.stop.cancel();
                }
            }
        }
        Some(UserRequest::StepsDone { .. }) => {}
        None => engine.questions.answer(id, answer),
    }
}

fn reply_of(answer: QuestionAnswer) -> UserReply {
    match answer {
        QuestionAnswer::Answers(answers) => UserReply::Answered(answers),
        QuestionAnswer::Unavailable => UserReply::Nobody,
        QuestionAnswer::Value(_)
        | QuestionAnswer::Confirmed(_)
        | QuestionAnswer::Form(_)
        | QuestionAnswer::PlanAccepted { .. }
        | QuestionAnswer::PlanRejected { .. }
        | QuestionAnswer::Declined
        | QuestionAnswer::Cancelled => UserReply::Declined,
    }
}

/// Leaves plan mode for this mode. The error is the reason it cannot be chosen.
fn carry_out_in(engine: &mut Engine, mode: PermissionMode) -> Result<(), UserError> {
    if mode == PermissionMode::Plan {
        return Err("plans cannot be carried out in plan mode".into());
    }
    engine.config.behavior.choose_mode(mode)?;
    gate::set_mode(engine, mode);
    Ok(())
}

/// The result of an accepted plan.
fn acceptance_text(plan: &WorkPlan, changed: bool) -> String {
    let report = match plan.steps.is_empty() {
        true => "",
        false => " Report its steps with plan_step as they are done.",
    };
    match changed {
        true => format!("{CHANGED} Carry it out as it is here.{report}\n\n{}", plan.markdown()),
        false => format!("The user accepted the plan. Carry it out.{report}"),
    }
}

/// The question without its secrets: placeholders in the arguments were replaced by values.
fn mask_question(vault: &mut Vault, question: &UserQuestion) -> UserQuestion {
    let mut mask = |text: &String| vault.mask(text).unwrap_or_else(|| text.clone());
    UserQuestion {
        question: mask(&question.question),
        choices: question.choices.iter().map(mask).collect(),
        multiple: question.multiple,
    }
}
