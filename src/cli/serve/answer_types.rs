//! The types of answers to what waits: decisions on calls, and answers to questions.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::types::{ModeName, same_variants};
use tau_protocol::approval::{ApprovalAnswer, RuleScope};
use tau_protocol::command::QuestionAnswer;
use tau_tools::user::UserAnswer;

/// The decision on a pending call.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum ApprovalDecision {
    /// Run it once.
    Allow {
        /// Only these hunks of a change, by index.
        hunks: Option<Vec<usize>>,
        /// A replacement for the command, or for the text of the whole file.
        edited: Option<String>,
    },
    /// Run it, and run this exact call without asking in this session.
    AllowExact {
        /// Only these hunks of this call.
        hunks: Option<Vec<usize>>,
    },
    /// Run it, and run calls covered by these rules without asking from now on.
    AllowAlways {
        rules: Vec<String>,
        scope: ScopeName,
        /// Only these hunks of this call.
        hunks: Option<Vec<usize>>,
    },
    /// Do not run it.
    Deny {
        /// The reason that the model gets.
        reason: Option<String>,
        /// Also stop the run.
        #[serde(default)]
        stop: bool,
    },
}

impl From<ApprovalDecision> for ApprovalAnswer {
    fn from(decision: ApprovalDecision) -> Self {
        match decision {
            ApprovalDecision::Allow { hunks, edited } => ApprovalAnswer::Allow { hunks, edited },
            ApprovalDecision::AllowExact { hunks } => ApprovalAnswer::AllowExact { hunks },
            ApprovalDecision::AllowAlways { rules, scope, hunks } => {
                ApprovalAnswer::AllowAlways { rules, scope: scope.into(), hunks }
            }
            ApprovalDecision::Deny { reason, stop } => ApprovalAnswer::Deny { reason, stop },
        }
    }
}

same_variants!(ScopeName => RuleScope: Session, Local, Project, User);

/// The scope of a new rule.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeName {
    /// Until the session is closed.
    Session,
    /// In this directory, for this user only.
    Local,
    /// In this directory.
    Project,
    /// Everywhere.
    User,
}

/// The answer to a question; exactly one of the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AnswerQuestion {
    /// The chosen option.
    pub value: Option<String>,
    /// Yes or no.
    pub confirmed: Option<bool>,
    /// The values of a form, by the names of its fields.
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    pub values: Option<Map<String, Value>>,
    /// The answers to the model's questions, in order.
    pub answers: Option<Vec<AnswerOfUser>>,
    /// Whether a plan is accepted.
    pub accepted: Option<bool>,
    /// The mode for an accepted plan.
    pub mode: Option<ModeName>,
    /// The plan, if changed.
    pub plan: Option<String>,
    /// The reason for rejecting a plan.
    pub comment: Option<String>,
    /// The user does not want to answer.
    pub declined: Option<bool>,
    /// The user has not answered.
    pub cancelled: Option<bool>,
}

impl AnswerQuestion {
    /// The answer, if valid.
    pub fn answer(self) -> Option<QuestionAnswer> {
        let is = |flag: Option<bool>| flag == Some(true);
        match self {
            answer if is(answer.cancelled) => Some(QuestionAnswer::Cancelled),
            answer if is(answer.declined) => Some(QuestionAnswer::Declined),
            AnswerQuestion { value: Some(value), .. } => Some(QuestionAnswer::Value(value)),
            AnswerQuestion { values: Some(values), .. } => Some(QuestionAnswer::Form(values)),
            AnswerQuestion { accepted: Some(true), mode, plan, .. } => {
                Some(QuestionAnswer::PlanAccepted { mode: mode?.into(), plan })
            }
            AnswerQuestion { accepted: Some(false), comment, .. } => {
                Some(QuestionAnswer::PlanRejected { comment: comment.unwrap_or_default() })
            }
            AnswerQuestion { answers: Some(answers), .. } => {
                Some(QuestionAnswer::Answers(answers.into_iter().map(UserAnswer::from).collect()))
            }
            AnswerQuestion { confirmed: Some(confirmed), .. } => Some(QuestionAnswer::Confirmed(confirmed)),
            _ => None,
        }
    }
}

/// The answer to a question of the model.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AnswerOfUser {
    /// The chosen options, by index.
    pub choices: Vec<usize>,
    /// In the user's own words.
    pub text: String,
}

impl From<AnswerOfUser> for UserAnswer {
    fn from(answer: AnswerOfUser) -> Self {
        UserAnswer { choices: answer.choices, text: answer.text }
    }
}
