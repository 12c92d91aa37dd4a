//! Overlays: drawn over the transcript, with the first claim to keys.

use std::borrow::BorrowMut;

use super::attempt_list::AttemptsView;
use super::board::BoardView;
use super::changes::ChangesView;
use super::extension_list::ExtensionsView;
use super::form::FormView;
use super::help::HelpView;
use super::job_list::JobsView;
use super::key_list::{KeyStep, KeysView};
use super::leave::LeaveView;
use super::list_keys::answer_key;
use super::mode_question::ModeQuestion;
use super::offer::OfferView;
use super::picker::Picker;
use super::plan::{DECIDING, PlanView};
use super::queue_list::QueueView;
use super::quiet::Quiet;
use super::reading::Reading;
use super::rule_list::{RuleStage, RulesView};
use super::settings_list::SettingsView;
use super::side_question::SideQuestionView;
use super::tree::{TreeStep, TreeView};
use super::trust::TrustView;
use super::user_questions::QuestionsView;
use super::worktree_list::WorktreesView;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::{HiddenText, SignInPage, Ticket};
use tau_protocol::command::QuestionAnswer;
use tau_protocol::event::Question;

/// A login that waits for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct SignInView {
    /// Its name in the request.
    pub login: String,
    /// The page to open; `None` while it is not known.
    pub page: Option<SignInPage>,
    /// The address that is being pasted.
    pub line: LineEdit,
    /// The request; `None` once it has failed.
    pub ticket: Option<Ticket>,
    pub failed: Option<Printable>,
}

/// An overlay. The ticket names the request that fills it.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    /// A list to choose from.
    Picker { picker: Picker, ticket: Option<Ticket> },
    /// The help on keys and commands.
    Help(HelpView),
    /// The input of a provider's API key.
    Login {
        provider: String,
        line: LineEdit,
        /// How to get the token that is pasted in place of a key.
        how: Option<Printable>,
        ticket: Option<Ticket>,
        failed: Option<Printable>,
    },
    /// A login with the account of a subscription.
    SignIn(SignInView),
    /// The question whether to use a folder's project settings.
    Trust(TrustView),
    /// The session's tree.
    Tree(Box<TreeView>),
    /// The settings.
    Settings(Box<SettingsView>),
    /// The list of skills and other extensions.
    Extensions(Box<ExtensionsView>),
    /// The board of live sessions.
    Board(Box<BoardView>),
    /// The list of background jobs.
    Jobs(Box<JobsView>),
    /// The list of attempts.
    Attempts(Box<AttemptsView>),
    /// The list of worktrees.
    Worktrees(Box<WorktreesView>),
    /// The question about background jobs when the user quits.
    Leave(LeaveView),
    /// The list of actions and their keys.
    Keys(KeysView),
    /// The permission rules.
    Rules(Box<RulesView>),
    /// The queued messages.
    Queue(QueueView),
    /// The question how to proceed with a plan.
    Plan(Box<PlanView>),
    /// A side question and its answer.
    SideQuestion(Box<SideQuestionView>),
    /// The question which permission mode to use.
    Mode(ModeQuestion),
    /// The question whether to turn a feature on.
    Offer(OfferView),
    /// The session's changes.
    Changes(Box<ChangesView>),
    /// Questions from the model.
    Questions(Box<QuestionsView>),
    /// A form from an MCP server.
    Form(Box<FormView>),
    /// A question from the agent; `selected` is an option.
    Asked { id: String, question: Question, selected: usize, quiet: Quiet },
}

/// The state of one kind of overlay.
pub(crate) trait OverlayState {
    /// The state in this overlay, if it is of this kind.
    fn of(overlay: &mut Overlay) -> Option<&mut Self>;

    /// Whether this is the request that fills it, or its pending action.
    fn waits_for(&self, ticket: Ticket) -> bool;
}

macro_rules! states {
    ($($kind:ident: $view:ty = $($($field:ident).+)|+;)*) => {$(
        impl OverlayState for $view {
            fn of(overlay: &mut Overlay) -> Option<&mut Self> {
                if let Overlay::$kind(view) = overlay { Some(view.borrow_mut()) } else { None }
            }

            fn waits_for(&self, ticket: Ticket) -> bool {
                [$(self.$($field).+),+].contains(&Some(ticket))
            }
        }
    )*};
}

states! {
    Attempts: AttemptsView = list.ticket | list.change;
    Board: BoardView = list.ticket | list.change;
    Jobs: JobsView = list.ticket;
    Changes: ChangesView = ticket;
    Extensions: ExtensionsView = ticket | change;
    Keys: KeysView = ticket;
    Rules: RulesView = ticket;
    Settings: SettingsView = list.ticket;
    Worktrees: WorktreesView = list.ticket | list.change;
}

impl Overlay {
    /// Whether the user opened it, to look something up or to choose. A question is not a list: the text
    /// before it may be worth reading.
    pub fn is_list(&self) -> bool {
        self.traits().0
    }

    /// Whether letters are text for it.
    pub(crate) fn takes_words(&self) -> bool {
        self.traits().1
    }

    /// Whether it is a question without a text, and has no use for this key.
    pub(crate) fn is_no_answer(&self, key: Key) -> bool {
        match self.clone() {
            Overlay::Plan(mut view) => {
                view.id.is_some() && view.comment.is_none() && view.key(key, 1) == KeyOutcome::Ignored
            }
            Overlay::Mode(mut view) => view.key(key) == KeyOutcome::Ignored,
            Overlay::Leave(mut view) => view.key(key) == KeyOutcome::Ignored,
            Overlay::Offer(mut view) => view.key(key, 1) == KeyOutcome::Ignored,
            Overlay::Trust(mut view) => view.key(key, 1) == KeyOutcome::Ignored,
            Overlay::Asked { question, mut selected, .. } => {
                dialog_key(&question, &mut selected, key) == KeyOutcome::Ignored
            }
            _ => false,
        }
    }

    /// The letters that act as keys now, with effects that a move cannot undo, although a filter, a typed answer or a
    /// message may begin with them. `None` if nothing can be typed here, or typing has already begun.
    pub(crate) fn held_letters(&self) -> Option<&'static str> {
        let (letters, is_free) = match self {
            Overlay::Picker { picker, .. } => ("q", picker.takes_letters()),
            Overlay::Help(view) => ("q", !view.query.is_typed()),
            Overlay::Tree(view) => ("q", view.step == TreeStep::Browse && !view.query.is_typed()),
            Overlay::Settings(view) => ("q", view.editing.is_none() && view.list.typed_filter().is_none()),
            Overlay::Keys(view) => ("q", view.step == KeyStep::Choosing && !view.query.is_typed()),
            Overlay::Rules(view) => ("q", view.stage == RuleStage::Choosing && !view.query.is_typed()),
            Overlay::Extensions(list) => ("qe", list.typed_filter().is_none()),
            Overlay::Changes(view) => ("qre", !view.query.is_typed()),
            Overlay::Board(view) => ("qamxh", view.message.is_none() && view.list.typed_filter().is_none()),
            Overlay::Jobs(view) => ("qxs", view.tail.is_none() && view.list.typed_filter().is_none()),
            Overlay::Worktrees(view) => ("qmx", view.list.typed_filter().is_none()),
            Overlay::Questions(view) => ("123456789", view.holds_digits()),
            Overlay::Mode(_) | Overlay::Offer(_) | Overlay::Leave(_) => ("q123456789", true),
            Overlay::Trust(_) | Overlay::Asked { .. } => ("q", true),
            Overlay::Plan(view) => (DECIDING, view.id.is_some() && view.comment.is_none()),
            Overlay::Queue(_) => ("qdes", true),
            Overlay::Attempts(view) => {
                ("qatxs", view.changes.is_none() && view.list.typed_filter().is_none())
            }
            _ => ("", false),
        };
        is_free.then_some(letters)
    }

    /// Whether it is a list, whether it takes words, and whether these are secret.
    fn traits(&self) -> (bool, bool, bool) {
        match self {
            Overlay::Login { .. } | Overlay::SignIn(_) => (true, true, true),
            Overlay::Settings(view) => (true, true, view.is_secret()),
            Overlay::Picker { .. }
            | Overlay::Help(_)
            | Overlay::Tree(_)
            | Overlay::Extensions(_)
            | Overlay::Board(_)
            | Overlay::Jobs(_)
            | Overlay::Worktrees(_)
            | Overlay::Attempts(_)
            | Overlay::Keys(_)
            | Overlay::Rules(_)
            | Overlay::Changes(_) => (true, true, false),
            Overlay::Queue(_) | Overlay::SideQuestion(_) => (true, false, false),
            Overlay::Plan(view) => (false, view.comment.is_some(), false),
            Overlay::Questions(_) | Overlay::Form(_) => (false, true, false),
            Overlay::Trust(_)
            | Overlay::Leave(_)
            | Overlay::Mode(_)
            | Overlay::Offer(_)
            | Overlay::Asked { .. } => (false, false, false),
        }
    }

    /// Whether its rows are looked at again from time to time.
    pub(crate) fn is_refreshed(&self) -> bool {
        match self {
            Overlay::Jobs(_) => true,
            // An answer comes when there is something new.
            Overlay::Board(view) => view.list.ticket.is_none(),
            Overlay::Attempts(view) => view.is_running,
            _ => false,
        }
    }

    /// Whether it covers finished entries on the shell's screen: a list, or a question that does not depend
    /// on earlier text.
    pub fn floats(&self) -> bool {
        self.is_list()
            || matches!(self, Overlay::Trust(_) | Overlay::Leave(_) | Overlay::Mode(_) | Overlay::Offer(_))
    }

    /// The dialog of a question that appears now.
    pub(crate) fn of_question(id: &str, question: &Question, now: Millis) -> Self {
        match question {
            Question::Plan { plan, mode, refusal } => {
                Overlay::Plan(Box::new(PlanView::new(id, plan, *mode, refusal.as_deref(), now)))
            }
            Question::User { questions } => {
                Overlay::Questions(Box::new(QuestionsView::new(id, questions, now)))
            }
            Question::Form { server, message, fields } => {
                Overlay::Form(Box::new(FormView::new(id.to_owned(), server, message, fields, now)))
            }
            Question::Select { .. } | Question::Confirm { .. } | Question::Url { .. } => {
                let quiet = Quiet::new(now);
                Overlay::Asked { id: id.to_owned(), question: question.clone(), selected: 0, quiet }
            }
        }
    }

    /// The id of the question, if it is a question's dialog.
    pub fn question(&self) -> Option<&str> {
        match self {
            Overlay::Form(form) => Some(&form.id),
            Overlay::Questions(view) => Some(&view.id),
            Overlay::Plan(view) => view.id.as_deref(),
            Overlay::Asked { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether the key that quits counts over it: over a question into which nothing was typed, or an answer.
    pub(crate) fn can_quit(&self) -> bool {
        match self {
            Overlay::Plan(view) => view.id.is_some() && view.comment.is_none(),
            Overlay::Questions(view) => view.typed_text().is_empty(),
            Overlay::Asked { .. } | Overlay::SideQuestion(_) => true,
            _ => false,
        }
    }

    /// A name that tells it from another question on top.
    pub(crate) fn question_name(&self) -> Option<&str> {
        match self {
            Overlay::Mode(_) => Some("mode"),
            Overlay::Offer(_) => Some("offer"),
            _ => self.question(),
        }
    }

    /// Since when the run is blocked on it.
    pub(crate) fn blocks_since(&self) -> Option<Millis> {
        match self {
            Overlay::Plan(view) => view.id.is_some().then_some(view.quiet.since),
            Overlay::Questions(view) => Some(view.quiet.since),
            Overlay::Form(form) => Some(form.quiet.since),
            Overlay::Asked { quiet, .. } => Some(quiet.since),
            _ => None,
        }
    }

    /// The quiet time, of a question to which keys are an answer.
    pub(crate) fn quiet(&mut self) -> Option<&mut Quiet> {
        match self {
            Overlay::Plan(view) if view.id.is_some() && view.ticket.is_none() => Some(&mut view.quiet),
            Overlay::Questions(view) => Some(&mut view.quiet),
            Overlay::Form(form) => Some(&mut form.quiet),
            Overlay::Offer(view) => Some(&mut view.quiet),
            Overlay::Mode(view) => Some(&mut view.quiet),
            // A choice follows what the user has just done, such as opening a session.
            Overlay::Asked { question: Question::Select { .. }, .. } => None,
            Overlay::Asked { quiet, .. } => Some(quiet),
            _ => None,
        }
    }

    /// Whether current typing was meant for the composer, not for this question. That delays the next key.
    pub(crate) fn is_early(&mut self, now: Millis) -> bool {
        let is_typing = matches!(self, Overlay::Plan(view) if view.comment.is_some());
        !is_typing && self.quiet().is_some_and(|quiet| quiet.is_early(now))
    }

    /// The text that was typed as an answer to the model.
    pub(crate) fn typed_text(&self) -> String {
        match self {
            Overlay::Questions(view) => view.typed_text(),
            Overlay::Plan(view) => {
                view.comment.as_ref().map(|line| line.text().to_owned()).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// Whether typed text must not be recorded or shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.traits().2
    }

    /// The box of a side question, if it is one.
    pub(crate) fn as_side_question(&mut self) -> Option<&mut SideQuestionView> {
        match self {
            Overlay::SideQuestion(view) => Some(view),
            _ => None,
        }
    }

    /// The text that is to be read before it is accepted.
    pub(crate) fn reading(&self) -> Option<&Reading> {
        match self {
            Overlay::Trust(view) => Some(&view.reading),
            Overlay::Plan(view) => Some(&view.reading),
            Overlay::Offer(view) => Some(&view.reading),
            _ => None,
        }
    }

    /// Like [`Self::reading`], to change it.
    pub(crate) fn reading_mut(&mut self) -> Option<&mut Reading> {
        match self {
            Overlay::Trust(view) => Some(&mut view.reading),
            Overlay::Plan(view) => Some(&mut view.reading),
            Overlay::Offer(view) => Some(&mut view.reading),
            _ => None,
        }
    }

    /// The plan's dialog, if it is one.
    pub(crate) fn as_plan(&mut self) -> Option<&mut PlanView> {
        match self {
            Overlay::Plan(view) => Some(view),
            _ => None,
        }
    }
}

/// The outcome of a key press in the input of an API key: at the end, the API key.
pub(crate) fn login_key(line: &mut LineEdit, key: Key) -> KeyOutcome<HiddenText> {
    match (key.code, key.mods) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => KeyOutcome::Closed,
        (KeyCode::Enter, _) if line.text().trim().is_empty() => KeyOutcome::Handled,
        (KeyCode::Enter, _) => KeyOutcome::Done(HiddenText(line.text().trim().to_owned())),
        _ if line.key(key) => KeyOutcome::Handled,
        _ => KeyOutcome::Ignored,
    }
}

/// The displayed options of a question.
pub fn options(question: &Question) -> Vec<String> {
    match question {
        Question::Select { options, .. } => options.clone(),
        Question::Confirm { .. } => vec!["Yes".to_owned(), "No".to_owned()],
        // The address may be anything, so Enter does not default to yes.
        Question::Url { .. } => vec!["No".to_owned(), "Yes, I'll open it in my browser".to_owned()],
        Question::Form { .. } | Question::User { .. } | Question::Plan { .. } => Vec::new(),
    }
}

/// The outcome of a key while the agent asks.
pub(crate) fn dialog_key(question: &Question, selected: &mut usize, key: Key) -> KeyOutcome<QuestionAnswer> {
    let options = options(question);
    if key.code == KeyCode::Enter {
        return KeyOutcome::Done(match question {
            Question::Confirm { .. } => QuestionAnswer::Confirmed(*selected == 0),
            Question::Url { .. } => QuestionAnswer::Confirmed(*selected == 1),
            Question::Form { .. } | Question::User { .. } | Question::Plan { .. } => {
                QuestionAnswer::Cancelled
            }
            Question::Select { .. } => {
                options.get(*selected).cloned().map_or(QuestionAnswer::Cancelled, QuestionAnswer::Value)
            }
        });
    }
    // A letter selects the option that starts with it.
    let begins = |option: &String| {
        let first = option.chars().next().map(|c| c.to_lowercase().to_string());
        first.is_some() && first == key.typed_char().map(|c| c.to_lowercase().to_string())
    };
    if let Some(at) = options.iter().position(begins) {
        *selected = at;
        return KeyOutcome::Handled;
    }
    // A digit only selects, as there is no telling what it leads to.
    match answer_key(key, selected, options.len()) {
        KeyOutcome::Closed => KeyOutcome::Done(QuestionAnswer::Cancelled),
        outcome => outcome,
    }
}
