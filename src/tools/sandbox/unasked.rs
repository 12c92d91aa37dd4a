//! Restrictions for a command that runs without approval: it can change nothing.
//!
//! Beyond the restrictions of every sandboxed command, it cannot change modes, owners, times and attributes,
//! create sockets of any kind, or read keys and devices. The other policy does not use Landlock's right to read; here a
//! rule allows reading everything except hidden paths. Landlock can only allow, so the rules name every
//! entry beside hidden ones in every directory that leads there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::RulesetCreated;
use seccompiler::BpfProgram;

use super::SandboxPolicy;
use super::file_rules;
use super::support::Support;
use super::system_calls::{self, AllowedCalls};

/// The rules for a command that may change only the contents of `private`; `terminal` is its own. Never blocks. Fails
/// if the kernel rejects a rule.
pub(super) fn ruleset(
    policy: &SandboxPolicy,
    private: &Path,
    terminal: Option<&Path>,
) -> io::Result<RulesetCreated> {
    let mut hidden: Vec<PathBuf> = policy.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    hidden.sort();
    hidden.dedup();
    file_rules::unasked_ruleset(&private.canonicalize()?, &hidden, terminal)
}

/// The system call filters, built once. Fails if there is no filter for this kind of processor.
pub(super) fn filters() -> io::Result<Vec<BpfProgram>> {
    static FILTERS: OnceLock<Vec<BpfProgram>> = OnceLock::new();

    if let Some(filters) = FILTERS.get() {
        return Ok(filters.clone());
    }
    let signals = Support::here().scopes();
    let allowed =
        AllowedCalls { network: false, pairs: false, shared_names: false, signals, metadata: false };
    let filters = system_calls::filters(allowed)?;
    Ok(FILTERS.get_or_init(|| filters).clone())
}
