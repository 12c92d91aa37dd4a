//! The program around an agent, which has settings files and models.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use crate::permissions::{Permissions, Rule, RuleInForce, Verdict};
use tau_protocol::approval::RuleScope;
use tau_protocol::model::Model;
use tau_tools::user_error::UserError;

/// The program around an agent. The defaults are those of a program without settings files.
pub trait Host: Debug + Send + Sync {
    /// The rules of all files for a session in `cwd`, read again. The error says which file cannot be read:
    /// the rules then stay, and every call needs approval.
    fn read_rules(&self, _cwd: &Path) -> Option<Result<Permissions, UserError>> {
        None
    }

    /// Changes rules in their files, for a session in `cwd`. The error is a sentence for the user.
    fn save_rule(&self, _edit: &RuleEdit, _cwd: &Path) -> Result<SavedRule, UserError> {
        Err("here rules can be added to the session only".into())
    }

    /// The model with any name that users give it. The error says why there is no such model, or what it
    /// needs. Without an answer the current model answers.
    fn model_by_name(&self, _name: &str) -> Option<Result<Arc<Model>, UserError>> {
        None
    }

    /// A much cheaper model of the same provider for simple work, if it has one.
    fn cheap_model(&self, _model: &Model) -> Option<Arc<Model>> {
        None
    }

    /// Adds a path to the user's setting `sandbox.writable`. The error is a sentence for the user.
    fn save_writable(&self, _path: &Path) -> Result<(), UserError> {
        Err("here paths can be added for the session only".into())
    }
}

/// A program without settings files.
#[derive(Debug)]
pub(crate) struct NoHost;

impl Host for NoHost {}

/// A change of the rules in files. Rules of the session are not part of it.
#[derive(Clone, Debug, Default)]
pub struct RuleEdit {
    /// The rule to remove from its file.
    pub remove: Option<RuleInForce>,
    /// The rule to add to a list, and its scope. If it replaces a project's rule, it goes into that rule's
    /// file.
    pub add: Option<(Verdict, Rule, RuleScope)>,
}

/// The result of a change of the rules in files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedRule {
    /// The display name of the file that now has the rule, if one was added.
    pub file: Option<String>,
    /// Another remark for the user.
    pub remark: Option<String>,
}
