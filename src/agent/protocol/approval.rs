//! Permission modes, and what is asked and answered before a call that changes something is run.
//!
//! The agent sends `QuestionEvent::ApprovalRequested`; a front end answers with
//! `QuestionCommand::AnswerApproval` and the same id. `QuestionEvent::ApprovalEnded` follows, whoever
//! answered, and also when nobody did because the run was stopped.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use tau_tools::access::{Access, Preview};
use tau_tools::sandbox::SandboxDenial;

/// What is asked before a call is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionMode {
    /// Nothing is asked, except where a rule or a protected path says so.
    #[default]
    Auto,
    /// Whatever changes something is asked; reading is free.
    Ask,
    /// As `Ask`, but files in the workspace are changed without a question.
    Edits,
    /// Nothing that changes anything can run; the model ends with a plan.
    Plan,
}

impl PermissionMode {
    /// Every mode, in the order in which a key switches them.
    pub const ALL: [PermissionMode; 4] =
        [PermissionMode::Ask, PermissionMode::Edits, PermissionMode::Plan, PermissionMode::Auto];

    /// Its name in settings, on the command line and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::Auto => "auto",
            PermissionMode::Ask => "ask",
            PermissionMode::Edits => "edits",
            PermissionMode::Plan => "plan",
        }
    }

    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        PermissionMode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// How much runs unasked: less in `plan` than in `ask`, more in `edits`, and most in `auto`.
    fn rank(self) -> u8 {
        match self {
            PermissionMode::Plan => 0,
            PermissionMode::Ask => 1,
            PermissionMode::Edits => 2,
            PermissionMode::Auto => 3,
        }
    }

    /// The mode in which less runs unasked.
    pub fn min(self, other: PermissionMode) -> Self {
        if self.rank() <= other.rank() { self } else { other }
    }

    /// Refuses a mode above `ceiling`, the one that the user started a server in.
    ///
    /// # Errors
    /// What the user has to do for it.
    pub fn within(self, ceiling: PermissionMode) -> Result<Self, String> {
        if self.rank() <= ceiling.rank() {
            return Ok(self);
        }
        let (name, ceiling) = (self.name(), ceiling.name());
        Err(format!(
            "the permission mode cannot be raised to {name}: tau was started with {ceiling}, and no client may go \
             above that; the user can start it with --permission-mode {name}"
        ))
    }
}

/// A call that waits for the user's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Names this request in the answer.
    pub id: String,
    pub tool_call_id: String,
    pub tool_name: String,
    /// The title of the call, as on its panel.
    pub title: String,
    /// What the call would touch.
    pub access: Access,
    /// What it would do.
    pub preview: Preview,
    /// Why it is asked: at least one reason.
    pub reasons: Vec<ApprovalReason>,
    /// The rules that together would allow calls like this one from now on; none if there are no sound ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested_rules: Vec<String>,
    /// Whether this exact call can be allowed for the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_allow_exact: bool,
    /// What the call is confined to, in words.
    pub sandbox: String,
    /// What the sandbox refuses of it. Allowed once, it runs without the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<SandboxDenial>,
    /// True if it has run, and the sandbox refused it that: allowed, it runs a second time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
}

impl ApprovalRequest {
    /// Whether "always" makes a path writable in the sandbox, in place of adding a rule for calls.
    pub fn adds_path(&self) -> bool {
        self.blocked.as_ref().is_some_and(|denial| !denial.unasked)
    }
}

/// Why a call is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalReason {
    /// In words: "writes outside the workspace".
    pub text: String,
    /// The part of the command that is the reason: where it starts and ends, in bytes of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// The rule that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The path concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalAnswer {
    /// Run it once.
    Allow {
        /// Only these hunks of a change, by index; without it all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<usize>>,
        /// Another command, or another text for the whole file, in place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<String>,
    },
    /// Run it, and in this session this exact call without a question, as long as nothing else is to be said of it.
    AllowExact {
        /// Of this call only these hunks, by index; without it all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<usize>>,
    },
    /// Run it, and let calls that these rules cover run without a question from now on.
    AllowAlways {
        rules: Vec<String>,
        scope: RuleScope,
        /// Of this call only these hunks, by index; without it all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<usize>>,
    },
    /// Do not run it. The model gets the reason. `stop` ends the run as well.
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default)]
        stop: bool,
    },
}

/// Where a new rule holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    /// Until tau ends.
    #[default]
    Session,
    /// In this directory, for this user only: its `.tau/config.local.toml`.
    Local,
    /// In this directory: its `.tau/config.toml`.
    Project,
    /// For this call only: a path that the sandbox lets it change. Rules have no such scope.
    Once,
    /// Everywhere: the user's config.toml.
    User,
}

/// How a request for approval ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalOutcome {
    Allowed,
    Denied,
    /// Nobody answered: the run was stopped, or the session closed.
    Withdrawn,
}
