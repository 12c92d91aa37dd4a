//! Permission modes, and the approval of calls that change something.
//!
//! The agent sends `QuestionEvent::ApprovalRequested`; a front end answers with
//! `QuestionCommand::AnswerApproval` and the same id. `QuestionEvent::ApprovalEnded` follows, whoever
//! answered, and also if no one did because the run was stopped.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use tau_tools::access::{Access, Preview};
use tau_tools::sandbox::SandboxDenial;
use tau_tools::user_error::UserError;

/// The rule for which calls need approval.
#[derive(EnumString, IntoStaticStr)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum PermissionMode {
    /// None, unless a rule or a protected path requires it.
    #[default]
    Auto,
    /// Every call that changes something; reading needs none.
    Ask,
    /// Like `Ask`, but files in the workspace are changed without asking.
    Edits,
    /// Nothing that changes anything can run; the model ends with a plan.
    Plan,
}

impl PermissionMode {
    /// Every mode, in the order in which a key cycles through them.
    pub const ALL: [PermissionMode; 4] =
        [PermissionMode::Ask, PermissionMode::Edits, PermissionMode::Plan, PermissionMode::Auto];

    /// Its name in settings, on the command line and on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The mode with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// How permissive the mode is: less in `plan` than in `ask`, more in `edits`, and most in `auto`.
    fn rank(self) -> u8 {
        match self {
            PermissionMode::Plan => 0,
            PermissionMode::Ask => 1,
            PermissionMode::Edits => 2,
            PermissionMode::Auto => 3,
        }
    }

    /// The stricter of two modes.
    pub fn min(self, other: PermissionMode) -> Self {
        if self.rank() <= other.rank() { self } else { other }
    }

    /// Rejects a mode more permissive than `ceiling`, which the user has set at the start.
    pub fn within(self, ceiling: PermissionMode) -> Result<Self, UserError> {
        if self.rank() <= ceiling.rank() {
            return Ok(self);
        }
        let (name, ceiling) = (self.name(), ceiling.name());
        Err(format!(
            "the permission mode cannot be raised to {name}: this session was started for {ceiling} at most; choose \
             that or a stricter one"
        )
        .into())
    }
}

/// The name of the rules that let the sandbox write a path: `sandbox_writable(/srv/data)`.
pub const SANDBOX_RULE: &str = "sandbox_writable";

/// Whether a rule, which may be incomplete, is one of the sandbox.
pub fn is_sandbox_rule(rule: &str) -> bool {
    rule.trim_start().strip_prefix(SANDBOX_RULE).is_some_and(|rest| rest.starts_with('('))
}

/// A call waiting for the user's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The id that the answer refers to.
    pub id: String,
    pub tool_call_id: String,
    pub tool_name: String,
    /// The title of the call, as on its panel.
    pub title: String,
    /// The files, commands and hosts that the call would touch.
    pub access: Access,
    /// The operation of the call.
    pub preview: Preview,
    /// The reasons for asking; at least one.
    pub reasons: Vec<ApprovalReason>,
    /// The rules that together would allow calls like this one from now on; empty if there are no safe ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested_rules: Vec<String>,
    /// True if this exact call can be allowed for the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_allow_exact: bool,
    /// A description of the sandbox; it begins with [`NO_SANDBOX`](tau_tools::sandbox::support::NO_SANDBOX) if
    /// the call runs without a sandbox.
    pub sandbox: String,
    /// The sandbox denial of this call. If allowed once, the call runs without the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<SandboxDenial>,
    /// True if the call has already run and was denied this by the sandbox: if allowed, it runs a second
    /// time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
    /// The name of the helper whose call it is; `tool_call_id` is then the call that asked for the helper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<String>,
}

impl ApprovalRequest {
    /// True if "always" makes a path writable in the sandbox instead of adding a rule for calls.
    pub fn adds_path(&self) -> bool {
        self.blocked.as_ref().is_some_and(|denial| !denial.unasked)
    }
}

/// A reason why approval is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalReason {
    /// The reason in words: "writes outside the workspace".
    pub text: String,
    /// The part of the command that is the reason: its start and end, in bytes of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// The rule that requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The path concerned.
    #[serde(with = "tau_tools::path_text", skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// The rule for all files in the working directory.
pub const ALL_EDITS: &str = "edit(./**)";

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalAnswer {
    /// Run it once.
    Allow {
        /// The hunks of the change to apply, by index; all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<usize>>,
        /// A command or a text of the whole file that replaces the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<String>,
    },
    /// Run it, and run this exact call in this session without asking, unless there is another reason to
    /// ask.
    AllowExact {
        /// The hunks of this call to apply, by index; all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<usize>>,
    },
    /// Run it, and from now on run calls covered by these rules without asking.
    AllowAlways {
        rules: Vec<String>,
        scope: RuleScope,
        /// The hunks of this call to apply, by index; all if absent.
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

/// The scope of a new rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    /// Until tau ends.
    #[default]
    Session,
    /// In this directory, only for this user: its `.tau/config.local.toml`.
    Local,
    /// In this directory: its `.tau/config.toml`.
    Project,
    /// Only for this call: a path that the sandbox lets it change. Rules have no such scope.
    Once,
    /// Everywhere: the user's config.toml.
    User,
}

/// The outcome of a request for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalOutcome {
    Allowed,
    Denied,
    /// Unanswered: the run was stopped, or the session closed.
    Withdrawn,
}
