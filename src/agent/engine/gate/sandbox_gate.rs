//! The sandbox's part of the gate: asks about refused access, and repeats allowed calls.
//!
//! The write of a file tool is known in advance, so the user is asked before. The access of a command is only
//! known when the kernel has refused it: then the command runs a second time if the user allows it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::engine::base::approvals::{Decision, Review};
use crate::engine::behavior::OnAsk;
use crate::engine::state::Engine;
use crate::extensions::hooks::HookPermission;
use crate::permissions::{Judgement, Verdict};
use tau_protocol::approval::{ApprovalReason, PermissionMode, RuleScope, SANDBOX_RULE};
use tau_tools::prepared::{with_note, with_terminal};
use tau_tools::sandbox::support::{Enforcement, Support};
use tau_tools::sandbox::{SandboxDenial, SandboxPolicy};
use tau_tools::user_error::UserError;
use tau_tools::{Access, ApprovedPart, Details, Preview, ToolError, ToolOutput};

/// The enforcement in force for the model's commands.
pub(in crate::engine) fn in_force(engine: &Engine) -> Enforcement {
    let policy = &engine.config.behavior.sandbox.policy;
    if policy.is_off() { Enforcement::default() } else { Support::here().enforcement(policy) }
}

/// How an allowed call runs. In the modes in which other calls need approval, a command that is allowed
/// because it is known to be read-only is confined: its safety then does not depend on that knowledge.
pub(in crate::engine) fn approved_part(engine: &Engine, judgement: &Judgement) -> ApprovedPart {
    let behavior = &engine.config.behavior;
    let asks = match behavior.permission_mode {
        PermissionMode::Auto => false,
        PermissionMode::Ask | PermissionMode::Edits => behavior.on_ask == OnAsk::Ask,
        PermissionMode::Plan => true,
    };
    let confines = asks && judgement.unasked && Support::here().confines_unasked_commands();
    let sandbox =
        confines.then(|| behavior.sandbox.unasked_command_policy(engine.cwd(), &behavior.permissions));
    ApprovedPart { sandbox, ..ApprovedPart::all() }
}

/// The judgement on a call that the sandbox refuses: the user decides, unless a rule has.
pub(in crate::engine) fn judge(judgement: Judgement, blocked: Option<&SandboxDenial>) -> Judgement {
    let Some(denial) = blocked.filter(|_| judgement.verdict != Verdict::Deny) else { return judgement };
    let reason = ApprovalReason {
        text: format!("the sandbox blocks {denial}"),
        path: denial.path.as_ref().map(PathBuf::from),
        ..ApprovalReason::default()
    };
    let reasons = [reason].into_iter().chain(judgement.reasons).collect();
    Judgement { verdict: Verdict::Ask, reasons, unasked: false, ..judgement }
}

/// The rule that would let the sandbox allow this, if there is a sound one.
pub(in crate::engine) fn suggested_rule(denial: &SandboxDenial) -> Option<String> {
    let existing = denial.to_add().and_then(|path| path.ancestors().find(|path| path.exists()));
    let folder = existing.filter(|path| path.parent().is_some())?;
    Some(format!("{SANDBOX_RULE}({})", folder.display()))
}

/// The result of a write that the sandbox refuses, if there is no user to ask.
pub(in crate::engine) fn refusal(denial: &SandboxDenial) -> ToolError {
    ToolError::refused(format!("not run: tau's sandbox blocks {denial}. Do not try to get around it"))
}

/// The access that the sandbox refused to a finished command.
pub(in crate::engine) fn find_denial(result: &Result<ToolOutput, ToolError>) -> Option<SandboxDenial> {
    match result {
        Err(ToolError::Refused { details, .. }) => match &**details {
            Details::Terminal(output) => output.blocked.clone(),
            _ => None,
        },
        _ => None,
    }
}

/// Asks whether to repeat a command that was refused some access.
pub(in crate::engine) fn again(
    access: Access,
    preview: Preview,
    edited: Option<String>,
    blocked: SandboxDenial,
    decide: oneshot::Sender<Decision>,
) -> Review {
    let (access, preview) = match edited {
        Some(command) => (Access::command(command.clone()), Preview::Command { command }),
        None => (access, preview),
    };
    Review {
        access,
        preview,
        proposed_text: None,
        blocked: Some(blocked),
        again: true,
        changed: None,
        permission: HookPermission::None,
        decide,
    }
}

/// The result of the second run, with a note that it was one.
pub(in crate::engine) fn with_rerun_note(
    result: Result<ToolOutput, ToolError>,
) -> Result<ToolOutput, ToolError> {
    const NOTE: &str = "The sandbox refused a part of this command. The user allowed it, and it was run a second \
        time, from its beginning:";
    with_terminal(with_note(NOTE, result), |output| output.ran_again = true)
}

/// The result of the only run, with the user's answer.
pub(in crate::engine) fn with_refusal(
    result: Result<ToolOutput, ToolError>,
    refusal: &ToolError,
) -> Result<ToolOutput, ToolError> {
    match result {
        Err(ToolError::Refused { message, details }) => {
            Err(ToolError::Refused { message: format!("{message}\n{refusal}"), details })
        }
        other => other,
    }
}

/// The path in a rule of the sandbox: `sandbox_writable(/srv/data)`.
pub(in crate::engine) fn path_of(rule: &str) -> Option<&str> {
    rule.trim().strip_prefix(SANDBOX_RULE)?.strip_prefix('(')?.strip_suffix(')').map(str::trim)
}

/// Switches to another policy. Paths that the user has added in this session stay writable.
pub(in crate::engine) fn set_policy(engine: &mut Engine, policy: SandboxPolicy) {
    let sandbox = &mut engine.config.behavior.sandbox;
    let policy = sandbox.granted.iter().fold(policy, |policy, path| policy.with_writable(path));
    sandbox.policy = Arc::new(policy);
}

/// Makes a path writable, from now on or once, and returns the resulting policy for the session's directory.
/// Fails when the rule is invalid or cannot be saved.
pub(in crate::engine) fn add_writable(
    engine: &mut Engine,
    rule: &str,
    scope: RuleScope,
) -> Result<Arc<SandboxPolicy>, UserError> {
    let given = path_of(rule).ok_or_else(|| format!("write {SANDBOX_RULE}(PATH), or allow it once"))?;
    let path = tau_tools::paths::resolve(engine.cwd(), given);
    if !path.exists() {
        return Err(format!("{} does not exist", path.display()).into());
    }
    let sandbox = &mut engine.config.behavior.sandbox;
    match scope {
        RuleScope::Once => {
            let policy = sandbox.policy.with_writable(&path);
            return Ok(Arc::new(policy.in_workspace(engine.cwd())));
        }
        RuleScope::Session => sandbox.granted.push(path.clone()),
        RuleScope::Project | RuleScope::Local => {
            return Err(UserError::new("a project cannot change the sandbox")
                .remedy("choose this session or everywhere"));
        }
        RuleScope::User => engine.config.behavior.host().save_writable(&path)?,
    }
    let sandbox = &mut engine.config.behavior.sandbox;
    sandbox.policy = Arc::new(sandbox.policy.with_writable(&path));
    Ok(engine.config.behavior.sandbox.in_directory(engine.cwd()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::engine::behavior::Sandboxing;
    use tau_tools::sandbox::SandboxRule;

    fn words(path: &Path) -> String {
        let path = Some(path.display().to_string());
        let denial = SandboxDenial { rule: SandboxRule::Outside, path, unasked: false, renamed: None };
        suggested_rule(&denial).unwrap_or_default()
    }

    #[test]
    fn paths_that_were_added_for_a_session_end_with_it() {
        let policy = SandboxPolicy::off().with_writable(Path::new("/of-settings"));
        let granted = vec!["/granted".into(), "/of-settings".into()];
        let with = granted.iter().fold(policy.clone(), |policy, path: &PathBuf| policy.with_writable(path));
        let mut sandbox = Sandboxing { policy: with.into(), granted, ..Sandboxing::default() };
        assert!(sandbox.end_session());
        assert_eq!(*sandbox.policy, policy);
        assert!(!sandbox.end_session());
    }

    #[test]
    fn the_suggested_path_exists_and_is_not_everything() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        assert_eq!(words(&deep), format!("sandbox_writable({})", folder.path().display()));
        assert_eq!(words(Path::new("/no-such-directory/x")), "", "the root is not suggested");
        assert_eq!(path_of(" sandbox_writable( /a b ) "), Some("/a b"));
        assert_eq!(path_of("bash(ls)"), None);
    }
}
