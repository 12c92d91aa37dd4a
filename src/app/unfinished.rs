//! Answers to questions that were begun and not given: kept while their screen is left, or their session is out of
//! reach.

use serde::{Deserialize, Serialize};

use super::approval::{Approval, PromptInput};
use super::line_edit::LineEdit;
use super::overlays::form::FieldView;
use super::overlays::overlay::Overlay;
use super::overlays::user_questions::QuestionView;

/// An answer that was begun. It belongs to the question of this id that asks the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum UnfinishedAnswer {
    /// The questions of the model, and the displayed one.
    Questions { id: String, at: usize, questions: Vec<QuestionView> },
    /// The form of an MCP server.
    Form { id: String, selected: usize, fields: Vec<FieldView> },
    /// A plan; the answer is a comment.
    Plan { id: String, plan: String, comment: LineEdit },
    /// A call that waits for a decision.
    Call { call: String, input: PromptInput },
}

impl UnfinishedAnswer {
    /// The answer that was begun in a dialog.
    pub(crate) fn in_dialog(dialog: &Overlay) -> Option<Self> {
        match dialog {
            Overlay::Questions(view) if view.questions.iter().any(QuestionView::is_begun) => {
                let (id, at, questions) = (view.id.clone(), view.at, view.questions.clone());
                Some(UnfinishedAnswer::Questions { id, at, questions })
            }
            Overlay::Form(form) if form.fields.iter().any(FieldView::is_begun) => {
                let (id, selected, fields) = (form.id.clone(), form.selected, form.fields.clone());
                Some(UnfinishedAnswer::Form { id, selected, fields })
            }
            Overlay::Plan(view) => {
                let comment = view.comment.clone().filter(|comment| !comment.text().trim().is_empty())?;
                Some(UnfinishedAnswer::Plan { id: view.id.clone()?, plan: view.text.clone(), comment })
            }
            _ => None,
        }
    }

    /// The answer that was begun at the prompt of a call.
    pub(crate) fn at_call(approval: &Approval) -> Option<Self> {
        let (call, input) = (approval.request.tool_call_id.clone(), approval.input());
        (input != PromptInput::default()).then_some(UnfinishedAnswer::Call { call, input })
    }

    /// Continues it in a dialog; false if that asks something else.
    pub(crate) fn resume_in(&self, dialog: &mut Overlay) -> bool {
        match (self, dialog) {
            (UnfinishedAnswer::Questions { id, at, questions }, Overlay::Questions(view)) => {
                let is_it = view.id == *id && view.asks(questions);
                if is_it {
                    view.at = (*at).min(questions.len().saturating_sub(1));
                    view.questions.clone_from(questions);
                }
                is_it
            }
            (UnfinishedAnswer::Form { id, selected, fields }, Overlay::Form(form)) => {
                let is_it = form.id == *id && form.asks(fields);
                if is_it {
                    (form.selected, form.fields) = (*selected, fields.clone());
                }
                is_it
            }
            (UnfinishedAnswer::Plan { id, plan, comment }, Overlay::Plan(view)) => {
                let is_it = view.id.as_ref() == Some(id) && view.text == *plan;
                if is_it {
                    view.comment = Some(comment.clone());
                }
                is_it
            }
            _ => false,
        }
    }

    /// Continues it at the prompt of a call; false if it is another call.
    pub(crate) fn resume_at(&self, approval: &mut Approval) -> bool {
        match self {
            UnfinishedAnswer::Call { call, input } if *call == approval.request.tool_call_id => {
                approval.take_input(input);
                true
            }
            UnfinishedAnswer::Questions { .. }
            | UnfinishedAnswer::Form { .. }
            | UnfinishedAnswer::Plan { .. }
            | UnfinishedAnswer::Call { .. } => false,
        }
    }

    /// Whether both answer one question.
    pub(crate) fn is_to_the_question_of(&self, other: &Self) -> bool {
        self.question() == other.question()
    }

    /// The id of its question or call.
    fn question(&self) -> &str {
        match self {
            UnfinishedAnswer::Questions { id, .. }
            | UnfinishedAnswer::Form { id, .. }
            | UnfinishedAnswer::Plan { id, .. } => id,
            UnfinishedAnswer::Call { call, .. } => call,
        }
    }

    /// Its words for the model.
    pub(crate) fn words(&self) -> String {
        match self {
            UnfinishedAnswer::Questions { questions, .. } => {
                let texts = questions.iter().map(|question| question.text.text());
                texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n")
            }
            UnfinishedAnswer::Plan { comment, .. } => comment.text().to_owned(),
            UnfinishedAnswer::Call { input, .. } => {
                input.reason.as_ref().map(|reason| reason.text().to_owned()).unwrap_or_default()
            }
            UnfinishedAnswer::Form { .. } => String::new(),
        }
    }
}
